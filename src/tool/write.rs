//! `Write`: writes a whole file.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::api::{PreparedCall, Preview, Tool, ToolContext, ToolError, ToolOutcome};
use super::diff::FileDiff;
use super::file::{self, FileToolState};
use super::path;
use super::spec::{InvalidInput, ToolSpec};
use crate::protocol::{Access, count};

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<WriteInput>(
        "Write",
        "Creates or overwrites a file, with parent folders. Prefer Edit for existing files.",
    )
});

/// The tool.
#[derive(Debug)]
pub struct Write {
    files: FileToolState,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteInput {
    file_path: String,
    content: String,
}

impl Write {
    /// Creates a writer that overwrites only files that were read.
    pub fn new(files: FileToolState) -> Self {
        Self { files }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: WriteInput = SPEC.parse(input)?;
        Ok(Box::new(WriteCall { tool: self, input }))
    }
}

/// A call with a valid input.
struct WriteCall {
    tool: Arc<Write>,
    input: WriteInput,
}

#[async_trait]
impl PreparedCall for WriteCall {
    fn summary(&self) -> String {
        self.tool.files.paths.display(&self.input.file_path)
    }

    fn access(&self, cwd: &Path) -> Access {
        Access::Write { paths: vec![self.tool.files.paths.target(&self.input.file_path, cwd)] }
    }

    async fn preview(&self, access: &Access) -> Preview {
        let content = self.input.content.clone();
        let ledger = self.tool.files.ledger.clone();
        file::preview(access, "write", move |on_disk| {
            on_disk.check(&ledger, None)?;
            let old = on_disk.content().unwrap_or_default();
            Ok(FileDiff::whole(&String::from_utf8_lossy(old), &content))
        })
        .await
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let target = cx.target()?.clone();
        let (guard, asked) = (cx.file_guard()?.clone(), cx.approved_content);
        let cwd = cx.cwd.clone();
        cx.blocking(move |_| {
            let Self { tool, input } = *self;
            let on_disk = file::load(&target)?;
            on_disk.check(&tool.files.ledger, asked)?;
            on_disk.replace(input.content.as_bytes(), &tool.files, &guard)?;
            let path = target.written.as_path();
            let old = on_disk.content().map(String::from_utf8_lossy);
            let did = if old.is_some() { "Overwrote" } else { "Created" };
            let diff = FileDiff::new(old.as_deref().unwrap_or_default(), &input.content);
            let text = format!(
                "{did} {} ({}).",
                path::display_path(path, &cwd),
                count(input.content.lines().count(), "line")
            );
            let summary = diff.summary();
            Ok(ToolOutcome::text(text, summary).with_details(diff.details(path)))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::super::ToolContext;
    use super::super::testing::{ToolFixture, mode};
    use crate::protocol::ToolDetails;

    fn input(path: &str, content: &str) -> Value {
        json!({"file_path": path, "content": content})
    }

    #[tokio::test]
    async fn a_new_file_gets_its_folders_and_may_be_written_again() {
        let bench = ToolFixture::new();
        let text = bench.text("Write", input("a/b/c.txt", "x\ny\n")).await;
        assert_eq!(text, "Created a/b/c.txt (2 lines).");
        let outcome = bench.call("Write", input("a/b/c.txt", "x\nz\n")).await.unwrap();
        assert_eq!(outcome.summary, "+1 −1");
        let diff = "@@ -1,2 +1,2 @@\n x\n-y\n+z\n".to_owned();
        let path = bench.path("a/b/c.txt");
        assert_eq!(outcome.details, Some(ToolDetails::Diff { path, diff, added: 1, removed: 1 }));
        assert_eq!(bench.content("a/b/c.txt"), "x\nz\n");
    }

    #[tokio::test]
    async fn an_existing_file_must_have_been_read_by_this_agent_and_be_unchanged() {
        let mut bench = ToolFixture::new();
        bench.file("f", "old");
        let unread = "f has not been read yet. Read it first.";
        assert_eq!(bench.error("Write", input("f", "new")).await, unread);
        bench.text("Read", json!({"file_path": "f"})).await;
        bench.file("f", "own");
        assert_eq!(
            bench.error("Write", input("f", "new")).await,
            "f has changed on disk since it was read. Read it again first."
        );
        bench.text("Read", json!({"file_path": "f"})).await;
        bench.next_agent();
        assert_eq!(bench.error("Write", input("f", "new")).await, unread);
        assert_eq!(bench.content("f"), "own");
    }

    #[tokio::test]
    async fn mode_and_links_stay() {
        let bench = ToolFixture::new();
        let path = bench.file("real/run.sh", "old");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
        symlink("real/run.sh", bench.path("link")).unwrap();
        bench.text("Read", json!({"file_path": "link"})).await;
        bench.text("Write", input("link", "new")).await;
        assert_eq!(bench.content("real/run.sh"), "new");
        assert_eq!(mode(&path), 0o750);
        assert!(bench.path("link").is_symlink());
        assert_eq!(std::fs::read_dir(bench.path("real")).unwrap().count(), 1);
        bench.text("Write", input("real/run.sh", "newer")).await;
        symlink("real/later", bench.path("dangling")).unwrap();
        bench.text("Write", input("dangling", "x")).await;
        assert_eq!(bench.content("real/later"), "x");
    }

    #[tokio::test]
    async fn a_link_that_comes_after_the_judgement_is_not_followed() {
        let bench = ToolFixture::new();
        bench.file("out/f", "secret");
        bench.file("sub/f", "mine");
        let calls = [
            ("Write", input("sub/new/x", "x")),
            ("Read", json!({"file_path": "sub/f"})),
            ("Grep", json!({"pattern": "secret", "path": "sub"})),
            ("Glob", json!({"pattern": "sub/*"})),
        ];
        let judged = calls
            .map(|(name, input)| (name, bench.access(name, &input), bench.prepare(name, &input)));
        std::fs::remove_dir_all(bench.path("sub")).unwrap();
        symlink("out", bench.path("sub")).unwrap();
        for (name, access, call) in judged {
            let file_guard = Some(bench.lock.hold().await);
            let context = ToolContext { file_guard, ..bench.context(access) };
            let result = call.run(context).await;
            let error = result.unwrap_err().to_string();
            let told = error.contains("symbolic link") || error.contains("There is no directory");
            assert!(told, "{name}: {error}");
        }
        assert_eq!(std::fs::read_dir(bench.path("out")).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn what_is_no_file_is_refused() {
        let bench = ToolFixture::new();
        std::fs::create_dir(bench.path("dir")).unwrap();
        bench.file("file", "");
        assert_eq!(bench.error("Write", input("dir", "")).await, "dir is a directory, not a file.");
        let below = bench.error("Write", input("file/x", "")).await;
        assert!(below.starts_with("Cannot read file/x: Not a directory"), "{below}");
    }

    #[tokio::test]
    async fn the_preview_of_a_call_that_would_fail_says_why() {
        let bench = ToolFixture::new();
        bench.file("f", "a\n");
        let input = input("f", "b\n");
        let access = bench.access("Write", &input);
        let preview = bench.prepare("Write", &input).preview(&access).await;
        let text = preview.text.unwrap();
        assert!(
            text.starts_with("This write would fail: ") && text.contains("not been read"),
            "{text}"
        );
        let input = json!({"file_path": "f", "old_string": "a", "new_string": "b"});
        let preview = bench.prepare("Edit", &input).preview(&access).await;
        let text = preview.text.unwrap();
        assert!(
            text.starts_with("This edit would fail: ") && text.contains("not been read"),
            "{text}"
        );
        std::fs::create_dir(bench.path("folder")).unwrap();
        for (path, why) in [("missing", "does not exist"), ("folder", "is a directory")] {
            let input = json!({"file_path": path, "old_string": "a", "new_string": "b"});
            let access = bench.access("Edit", &input);
            let preview = bench.prepare("Edit", &input).preview(&access).await;
            let text = preview.text.unwrap_or_default();
            assert!(text.starts_with("This edit would fail: ") && text.contains(why), "{text}");
        }
    }

    #[tokio::test]
    async fn the_preview_is_the_diff_and_changes_nothing() {
        let bench = ToolFixture::new();
        bench.file("f", "a\n");
        bench.text("Read", json!({"file_path": "f"})).await;
        let input = input("f", "b\n");
        let access = bench.access("Write", &input);
        let preview = bench.prepare("Write", &input).preview(&access).await;
        assert_eq!(preview.text.as_deref(), Some("@@ -1 +1 @@\n-a\n+b\n"));
        assert_eq!(bench.content("f"), "a\n");
    }

    #[tokio::test]
    async fn the_preview_of_a_long_file_is_whole() {
        let bench = ToolFixture::new();
        let text: String = (1..=3000).map(|line| format!("line {line}, and then some\n")).collect();
        let input = input("f", &text);
        let access = bench.access("Write", &input);
        let preview = bench.prepare("Write", &input).preview(&access).await.text.unwrap();
        assert_eq!(preview.lines().count(), 3001, "with the line that says where");
        assert!(preview.ends_with("+line 3000, and then some\n"));
    }
}
