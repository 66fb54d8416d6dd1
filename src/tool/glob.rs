//! `Glob`: finds files by the pattern of their path.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use async_trait::async_trait;
use globset::GlobSet;
use ignore::overrides::Override;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::api::{PreparedCall, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};
use super::file;
use super::ignore_files::{IgnoreFiles, walk};
use super::path::{self, Paths};
use super::search::{AnchoredGlob, HiddenFiles, HiddenRules, SearchedFile, SearchedFileReader};
use super::spec::{InvalidInput, ToolSpec};
use crate::disk::Folder;
use crate::protocol::{Access, PathTarget};

/// Maximum files in a result.
const MAX_FILES: usize = 100;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<GlobInput>(
        "Glob",
        "Finds files by path pattern, such as src/**/*.rs; newest first, gitignored ones left out.",
    )
});

/// The tool.
#[derive(Debug)]
pub struct Glob {
    paths: Paths,
    hidden: HiddenRules,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobInput {
    pattern: String,
    path: Option<String>,
}

/// A file's rank in the result: the newest is the greatest, then the first by name.
type RankedFile = (SystemTime, Reverse<PathBuf>);

impl Glob {
    /// Creates a finder with these paths, which skips hidden files.
    pub fn new(paths: Paths, hidden: HiddenRules) -> Self {
        Self { paths, hidden }
    }

    fn anchored(&self, input: &GlobInput, cwd: &Path) -> AnchoredGlob {
        let folder = self.paths.resolve(input.path.as_deref().unwrap_or("."), cwd);
        match (&self.paths.home, input.pattern.strip_prefix("~/")) {
            (Some(home), Some(rest)) => AnchoredGlob::new(&format!("./{rest}"), home),
            _ => AnchoredGlob::new(&input.pattern, &folder),
        }
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: GlobInput = SPEC.parse(input)?;
        Ok(Box::new(GlobCall { tool: self, input }))
    }
}

/// A call with a valid input.
struct GlobCall {
    tool: Arc<Glob>,
    input: GlobInput,
}

#[async_trait]
impl PreparedCall for GlobCall {
    fn summary(&self) -> String {
        let Self { tool, input } = self;
        match &input.path {
            Some(path) => format!("\"{}\" in {}", input.pattern, tool.paths.display(path)),
            None => format!("\"{}\"", input.pattern),
        }
    }

    fn access(&self, cwd: &Path) -> Access {
        let root = self.tool.anchored(&self.input, cwd).root;
        Access::Read { paths: vec![PathTarget::new(cwd, &root)] }
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Self { tool, input } = *self;
        let matcher = tool.anchored(&input, &cx.cwd).matcher();
        let (target, cwd) = (cx.target()?.clone(), cx.cwd.clone());
        let hidden = tool.hidden.for_search(&cwd, &target);
        cx.blocking(move |cancel| {
            let place = GlobScope { target: &target, cwd: &cwd, hidden: &hidden };
            find(&place, &matcher?, cancel)
        })
        .await
    }
}

/// The folder and files of a search.
struct GlobScope<'a> {
    target: &'a PathTarget,
    cwd: &'a Path,
    hidden: &'a HiddenFiles,
}

fn find(
    place: &GlobScope<'_>,
    matcher: &GlobSet,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, ToolError> {
    let GlobScope { target, cwd, hidden } = place;
    let root = file::resolved(target)?;
    if Folder::open(root).is_err() {
        let root = target.written.display();
        return Err(ToolError::failed(format!("There is no directory {root}.")));
    }
    let mut finds = SearchedFileReader::default();
    let mut newest: BinaryHeap<Reverse<RankedFile>> = BinaryHeap::new();
    let mut total = 0_usize;
    let ignored = IgnoreFiles::for_agent((*hidden).clone());
    for entry in walk(root, ignored, Override::empty()).build().flatten() {
        if cancel.is_cancelled() {
            return Err(ToolError::soft(SoftKind::Cancelled, "Cancelled."));
        }
        let inside = entry.path().strip_prefix(root).unwrap_or(entry.path());
        if entry.file_type().is_none_or(|kind| kind.is_dir()) || !matcher.is_match(inside) {
            continue;
        }
        let found = SearchedFile::new(target, entry.path());
        if hidden.contain_found(&found) {
            continue;
        }
        // A file that cannot be read any more is gone.
        let Ok(modified) = finds.modified(&found.real) else { continue };
        total += 1;
        newest.push(Reverse((modified, Reverse(found.written))));
        if newest.len() > MAX_FILES {
            newest.pop();
        }
    }
    Ok(list(newest, total, cwd))
}

fn list(newest: BinaryHeap<Reverse<RankedFile>>, total: usize, cwd: &Path) -> ToolOutcome {
    if total == 0 {
        return ToolOutcome::text("No files found.", "0 files");
    }
    let mut lines: Vec<String> = newest
        .into_sorted_vec()
        .into_iter()
        .map(|Reverse((_, Reverse(path)))| path::display_path(&path, cwd))
        .collect();
    if total > MAX_FILES {
        lines.push(format!("(and {} older files; narrow the pattern)", total - MAX_FILES));
    }
    let summary = format!("{total} file{}", if total == 1 { "" } else { "s" });
    ToolOutcome::text(lines.join("\n"), summary)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use serde_json::json;

    use super::super::testing::ToolFixture;
    use super::*;

    fn aged(bench: &ToolFixture, name: &str, age: u64) {
        let path = bench.file(name, "");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    #[tokio::test]
    async fn the_newest_come_first_and_ignored_files_not_at_all() {
        let bench = ToolFixture::new();
        bench.file(".gitignore", "target\n");
        for (name, age) in [
            ("src/a.rs", 3),
            ("src/deep/b.rs", 1),
            ("c.rs", 2),
            ("target/d.rs", 0),
            (".git/e.rs", 0),
            (".ci/f.rs", 4),
        ] {
            aged(&bench, name, age);
        }
        let glob = async |pattern: &str| bench.text("Glob", json!({"pattern": pattern})).await;
        assert_eq!(glob("*.rs").await, "src/deep/b.rs\nc.rs\nsrc/a.rs\n.ci/f.rs");
        assert_eq!(glob("src/*.rs").await, "src/a.rs");
        assert_eq!(glob("src/**/*.rs").await, "src/deep/b.rs\nsrc/a.rs");
        assert_eq!(glob("*.{md,txt}").await, "No files found.");
        let inside = json!({"pattern": "*.rs", "path": "src/deep"});
        assert_eq!(bench.text("Glob", inside).await, "src/deep/b.rs");
    }

    #[tokio::test]
    async fn hidden_files_are_not_listed() {
        let mut bench = ToolFixture::new();
        bench.file("a.txt", "");
        bench.file("secret/b.txt", "");
        let all = json!({"pattern": "**/*.txt"});
        assert_eq!(bench.text("Glob", all.clone()).await.lines().count(), 2);
        bench.settings.hidden = HiddenRules::new(|cwd, _| {
            let folder = cwd.join("secret");
            move |file| file.starts_with(&folder)
        });
        bench.next_agent();
        assert_eq!(bench.text("Glob", all).await, "a.txt");
    }

    #[tokio::test]
    async fn a_long_list_is_cut_and_says_so() {
        let bench = ToolFixture::new();
        for n in 0..103 {
            aged(&bench, &format!("{n:03}.txt"), n);
        }
        let outcome = bench.call("Glob", json!({"pattern": "*.txt"})).await.unwrap();
        let text = super::super::testing::text(&outcome);
        assert_eq!(text.lines().count(), 101);
        assert!(text.starts_with("000.txt\n001.txt\n"));
        assert!(text.ends_with("099.txt\n(and 3 older files; narrow the pattern)"));
        assert_eq!(outcome.summary, "103 files");
    }

    #[tokio::test]
    async fn bad_input_and_a_cancel_are_told() {
        let bench = ToolFixture::new();
        let nowhere = json!({"pattern": "*", "path": "none"});
        let error = bench.call("Glob", nowhere).await.unwrap_err().to_string();
        assert_eq!(error, format!("There is no directory {}.", bench.path("none").display()));
        let error = bench.error("Glob", json!({"pattern": "a{b"})).await;
        assert!(error.starts_with("Bad glob pattern: unclosed alternate group"), "{error}");
        let deep = format!("{}d{}", "{a,".repeat(200), "}".repeat(200));
        let error = bench.error("Glob", json!({ "pattern": deep })).await;
        assert!(error.starts_with("Bad glob pattern: "), "{error}");
        bench.file("a", "");
        bench.cancel.cancel();
        assert_eq!(bench.error("Glob", json!({"pattern": "*"})).await, "Cancelled.");
    }
}
