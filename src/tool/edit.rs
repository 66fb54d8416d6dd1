//! `Edit`: replaces an exact passage of a file.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::api::{PreparedCall, Preview, Tool, ToolContext, ToolError, ToolOutcome};
use super::diff::FileDiff;
use super::file::{self, DiskFile, FileToolState};
use super::ledger::{ContentHash, ReadLedger};
use super::path;
use super::replace::{self, Replacement};
use super::spec::{InvalidInput, ToolSpec};
use crate::protocol::Access;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<EditInput>(
        "Edit",
        "Replaces old_string, copied exactly from the file without line numbers, with new_string. It must occur once, unless replace_all.",
    )
});

/// The tool.
#[derive(Debug)]
pub struct Edit {
    files: FileToolState,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditInput {
    file_path: String,
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

impl Edit {
    /// Creates an editor that changes only files that were read.
    pub fn new(files: FileToolState) -> Self {
        Self { files }
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: EditInput = SPEC.parse(input)?;
        if input.old_string.is_empty() {
            let text =
                "old_string is empty. Give the passage to replace, or create a file with Write.";
            return Err(InvalidInput(text.to_owned()));
        }
        if input.old_string == input.new_string {
            let text = "old_string and new_string are the same: there is nothing to change.";
            return Err(InvalidInput(text.to_owned()));
        }
        Ok(Box::new(EditCall { tool: self, input }))
    }
}

/// A call with a valid input.
struct EditCall {
    tool: Arc<Edit>,
    input: EditInput,
}

#[async_trait]
impl PreparedCall for EditCall {
    fn summary(&self) -> String {
        self.tool.files.paths.display(&self.input.file_path)
    }

    fn access(&self, cwd: &Path) -> Access {
        Access::Write { paths: vec![self.tool.files.paths.target(&self.input.file_path, cwd)] }
    }

    async fn preview(&self, access: &Access) -> Preview {
        let (input, ledger) = (self.input.clone(), self.tool.files.ledger.clone());
        file::preview(access, "edit", move |on_disk| {
            let (old, new) = edited(on_disk, &ledger, None, &input)?;
            Ok(FileDiff::whole(old, &new.text))
        })
        .await
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let target = cx.target()?.clone();
        let (guard, asked) = (cx.file_guard()?.clone(), cx.approved_content);
        let cwd = cx.cwd.clone();
        cx.blocking(move |_| {
            let Self { tool, input } = *self;
            let path = target.written.as_path();
            let on_disk = file::load(&target)?;
            let (old, new) = edited(&on_disk, &tool.files.ledger, asked, &input)?;
            on_disk.replace(new.text.as_bytes(), &tool.files, &guard)?;
            Ok(report(path, &cwd, &input, old, &new))
        })
        .await
    }
}

/// The text of a file, and that after the edit. Fails where the call does.
fn edited<'c>(
    on_disk: &'c DiskFile,
    ledger: &ReadLedger,
    asked: Option<ContentHash>,
    input: &EditInput,
) -> Result<(&'c str, Replacement), ToolError> {
    let path = on_disk.target.written.as_path();
    let Some(content) = on_disk.content() else {
        let text = format!("{} does not exist. Create it with Write.", path.display());
        return Err(ToolError::failed(text));
    };
    on_disk.check(ledger, asked)?;
    let old = file::text(path, content)?;
    Ok((old, apply(path, old, input)?))
}

fn apply(path: &Path, text: &str, input: &EditInput) -> Result<Replacement, ToolError> {
    let all = input.replace_all.unwrap_or(false);
    replace::replace(text, &input.old_string, &input.new_string, all)
        .map_err(|missed| ToolError::failed(missed.message(path)))
}

fn report(path: &Path, cwd: &Path, input: &EditInput, old: &str, new: &Replacement) -> ToolOutcome {
    let diff = FileDiff::new(old, &new.text);
    let places = match new.places {
        1 => String::new(),
        places => format!(" in {places} places; the first"),
    };
    let passage = diff.passage(&new.text, input.new_string.lines().count());
    let text = format!("Edited {}{places}:\n{passage}", path::display_path(path, cwd));
    let summary = diff.summary();
    ToolOutcome::text(text, summary).with_details(diff.details(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::super::testing::{ToolFixture, mode, text};
    use crate::protocol::ToolDetails;

    fn input(old: &str, new: &str) -> Value {
        json!({"file_path": "f", "old_string": old, "new_string": new})
    }

    async fn with_file(content: impl AsRef<[u8]>) -> ToolFixture {
        let bench = ToolFixture::new();
        bench.file("f", content);
        bench.text("Read", json!({"file_path": "f"})).await;
        bench
    }

    #[tokio::test]
    async fn an_edit_shows_the_passage_and_the_diff() {
        let bench = with_file("one\ntwo\nthree\n").await;
        std::fs::set_permissions(bench.path("f"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let outcome = bench.call("Edit", input("two", "2\n2b")).await.unwrap();
        assert_eq!(bench.content("f"), "one\n2\n2b\nthree\n");
        assert_eq!(mode(&bench.path("f")), 0o755);
        assert_eq!(
            text(&outcome),
            "Edited f:\n     1\tone\n     2\t2\n     3\t2b\n     4\tthree\n"
        );
        let diff = "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n".to_owned();
        let details = ToolDetails::Diff { path: bench.path("f"), diff, added: 2, removed: 1 };
        assert_eq!(outcome.details, Some(details));
        bench.text("Edit", input("2b", "again")).await;
    }

    #[tokio::test]
    async fn all_places_are_replaced_when_asked() {
        let bench = with_file("a b a").await;
        let mut all = input("a", "x");
        all["replace_all"] = json!(true);
        let text = bench.text("Edit", all).await;
        assert!(text.starts_with("Edited f in 2 places; the first:\n"), "{text}");
        assert_eq!(bench.content("f"), "x b x");
    }

    #[tokio::test]
    async fn line_ends_of_the_file_stay() {
        let bench = with_file("one\r\ntwo\r\nthree\r\n").await;
        bench.text("Edit", input("one\ntwo", "1\n2")).await;
        assert_eq!(bench.content("f"), "1\r\n2\r\nthree\r\n");
    }

    #[tokio::test]
    async fn every_error_says_what_to_do() {
        let bench = with_file("a\nb\nb\n").await;
        let error = async |old: &str, new: &str| bench.error("Edit", input(old, new)).await;
        assert_eq!(
            error("zzz", "x").await,
            "old_string is not in f. Read the file again and copy the passage exactly."
        );
        assert_eq!(
            error("b", "x").await,
            "old_string is in f 2 times (lines 2, 3). Include more surrounding lines, or set replace_all."
        );
        assert_eq!(
            error("b", "b").await,
            "old_string and new_string are the same: there is nothing to change."
        );
        assert_eq!(
            error("", "b").await,
            "old_string is empty. Give the passage to replace, or create a file with Write."
        );
        bench.file("f", "changed\n");
        assert_eq!(
            error("changed", "x").await,
            "f has changed on disk since it was read. Read it again first."
        );
        std::fs::remove_file(bench.path("f")).unwrap();
        assert_eq!(error("a", "x").await, "f does not exist. Create it with Write.");
    }

    #[tokio::test]
    async fn only_text_that_was_read_is_edited() {
        let bench = ToolFixture::new();
        bench.file("f", "a\n");
        let unread = bench.error("Edit", input("a", "b")).await;
        assert_eq!(unread, "f has not been read yet. Read it first.");
        let bench = with_file(b"a\xff\n").await;
        assert_eq!(
            bench.error("Edit", input("a", "b")).await,
            "f is not UTF-8 text. Change it with Bash instead."
        );
    }

    #[tokio::test]
    async fn edits_of_one_file_at_once_are_all_kept() {
        let bench = with_file("a b c").await;
        let (one, two, three) = tokio::join!(
            bench.call("Edit", input("a", "1")),
            bench.call("Edit", input("b", "2")),
            bench.call("Edit", input("c", "3")),
        );
        assert!(one.is_ok() && two.is_ok() && three.is_ok());
        assert_eq!(bench.content("f"), "1 2 3");
    }

    #[tokio::test]
    async fn the_preview_is_the_diff_or_why_the_edit_would_fail() {
        let bench = ToolFixture::new();
        bench.file("f", "a\n");
        bench.text("Read", json!({"file_path": "f"})).await;
        let access = bench.access("Edit", &input("a", "b"));
        let preview = bench.prepare("Edit", &input("a", "b")).preview(&access).await;
        assert_eq!(preview.text.as_deref(), Some("@@ -1 +1 @@\n-a\n+b\n"));
        let missing = bench.prepare("Edit", &input("x", "b"));
        let text = missing.preview(&access).await.text.unwrap();
        let path = bench.path("f");
        let fails = format!("This edit would fail: old_string is not in {}", path.display());
        assert!(text.starts_with(&fails), "{text}");
        assert_eq!(bench.content("f"), "a\n");
    }
}
