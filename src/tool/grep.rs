//! `Grep`: searches the content of files.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::TypesBuilder;
use ignore::{DirEntry, Walk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::api::{PreparedCall, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};
use super::file;
use super::grep_sink::{CancellableReader, FileSink, HitFormat, Hits};
use super::ignore_files::{IgnoreFiles, walk};
use super::path::{self, Paths};
use super::search::{HiddenFiles, HiddenRules, SearchedFile, SearchedFileReader};
use super::spec::{InvalidInput, ToolSpec};
use crate::protocol::{Access, PathTarget};

/// Default number of entries in a result.
const DEFAULT_LIMIT: usize = 250;
/// Maximum bytes of a result.
const MAX_BYTES: usize = 30_000;
/// Maximum bytes of one file in memory: a whole file with `multiline`, else its longest line.
const MAX_HEAP_BYTES: usize = 64 * 1024 * 1024;
/// Maximum lines around a match.
const MAX_CONTEXT: usize = 100;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<GrepInput>(
        "Grep",
        "Searches file contents by regular expression (Rust syntax); gitignored files are left out. -A, -B, -C and -n go with output_mode content.",
    )
});

/// The tool.
#[derive(Debug)]
pub struct Grep {
    paths: Paths,
    hidden: HiddenRules,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepInput {
    pattern: String,
    path: Option<String>,
    /// Only files like *.ts
    glob: Option<String>,
    /// Only this language: rust, py, js, …
    r#type: Option<String>,
    /// Default files_with_matches
    output_mode: Option<GrepMode>,
    #[serde(rename = "-i")]
    ignore_case: Option<bool>,
    #[serde(rename = "-n")]
    numbers: Option<bool>,
    #[serde(rename = "-A")]
    after: Option<usize>,
    #[serde(rename = "-B")]
    before: Option<usize>,
    #[serde(rename = "-C")]
    around: Option<usize>,
    /// Matches may span lines
    multiline: Option<bool>,
    /// Most entries to show, default 250
    head_limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrepMode {
    FilesWithMatches,
    Content,
    Count,
}

impl Grep {
    /// Creates a searcher with these paths, which skips hidden files.
    pub fn new(paths: Paths, hidden: HiddenRules) -> Self {
        Self { paths, hidden }
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: GrepInput = SPEC.parse(input)?;
        if input.pattern.is_empty() {
            return Err(InvalidInput("pattern is empty: give a regular expression.".to_owned()));
        }
        Ok(Box::new(GrepCall { tool: self, input }))
    }
}

/// A call with a valid input.
struct GrepCall {
    tool: Arc<Grep>,
    input: GrepInput,
}

#[async_trait]
impl PreparedCall for GrepCall {
    fn summary(&self) -> String {
        let Self { tool, input } = self;
        let path = input.path.as_deref().map(|path| tool.paths.display(path));
        match path.as_ref().or(input.glob.as_ref()) {
            Some(place) => format!("\"{}\" in {place}", input.pattern),
            None => format!("\"{}\"", input.pattern),
        }
    }

    fn access(&self, cwd: &Path) -> Access {
        let path = self.input.path.as_deref().unwrap_or(".");
        Access::Read { paths: vec![self.tool.paths.target(path, cwd)] }
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let target = cx.target()?.clone();
        let (hidden, cwd) = (self.tool.hidden.for_search(&cx.cwd, &target), cx.cwd.clone());
        let place = GrepScope { target, cwd, hidden };
        cx.blocking(move |cancel| search(&place, &self.input, cancel)).await
    }
}

/// The folder and files of a search.
struct GrepScope {
    target: PathTarget,
    cwd: Arc<Path>,
    hidden: HiddenFiles,
}

impl GrepScope {
    /// Returns the entry of a walk, if it is a file to search.
    fn file(&self, entry: &DirEntry) -> Option<SearchedFile> {
        let found = SearchedFile::new(&self.target, entry.path());
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        (is_file && !self.hidden.contain_found(&found)).then_some(found)
    }
}

fn search(
    place: &GrepScope,
    input: &GrepInput,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, ToolError> {
    let root = file::resolved(&place.target)?;
    if file::open(&place.target)?.is_none() {
        let root = place.target.written.display();
        return Err(ToolError::failed(format!("There is no file or directory {root}.")));
    }
    let matcher = matcher(input)?;
    let mut searcher = searcher(input);
    let show = match input.output_mode.unwrap_or(GrepMode::FilesWithMatches) {
        GrepMode::FilesWithMatches => HitFormat::Files,
        GrepMode::Content => HitFormat::Lines { numbers: input.numbers.unwrap_or(true) },
        GrepMode::Count => HitFormat::Counts,
    };
    let limit = input.head_limit.filter(|&limit| limit > 0).unwrap_or(DEFAULT_LIMIT);
    let mut hits = Hits::new(limit, MAX_BYTES);
    let mut finds = SearchedFileReader::default();
    for entry in files(root, input, &place.hidden)?.flatten() {
        if let Some(found) = place.file(&entry) {
            let name = path::display_path(&found.written, &place.cwd);
            let mut sink = FileSink::new(&name, show, &mut hits);
            // Skip files that cannot be read, as grep -s does.
            if let Ok(inner) = finds.open(&found.real) {
                let reader = CancellableReader { inner, cancel };
                let _ = searcher.search_reader(&matcher, reader, &mut sink);
            }
            sink.close();
        }
        if cancel.is_cancelled() {
            return Err(ToolError::soft(SoftKind::Cancelled, "Cancelled."));
        }
        if hits.full {
            break;
        }
    }
    Ok(outcome(hits, show))
}

fn matcher(input: &GrepInput) -> Result<RegexMatcher, ToolError> {
    let multiline = input.multiline.unwrap_or(false);
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(input.ignore_case.unwrap_or(false))
        .dot_matches_new_line(multiline);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&input.pattern).map_err(|error| {
        let hint = match (multiline, input.pattern.contains(r"\n") || input.pattern.contains('\n'))
        {
            (false, true) => " To match over line ends, set multiline.",
            _ => "",
        };
        ToolError::failed(format!("Bad regular expression: {error}.{hint}"))
    })
}

fn searcher(input: &GrepInput) -> Searcher {
    let context = |own: Option<usize>| own.or(input.around).unwrap_or(0).min(MAX_CONTEXT);
    let content = input.output_mode == Some(GrepMode::Content);
    SearcherBuilder::new()
        .line_number(content)
        .multi_line(input.multiline.unwrap_or(false))
        .before_context(if content { context(input.before) } else { 0 })
        .after_context(if content { context(input.after) } else { 0 })
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_HEAP_BYTES))
        .build()
}

fn files(root: &Path, input: &GrepInput, hidden: &HiddenFiles) -> Result<Walk, ToolError> {
    let only = match &input.glob {
        None => Override::empty(),
        Some(glob) => {
            let mut only = OverrideBuilder::new(root);
            let bad = |error| ToolError::failed(format!("Bad glob: {error}."));
            only.add(glob).map_err(bad)?;
            only.build().map_err(bad)?
        }
    };
    let mut builder = walk(root, IgnoreFiles::for_agent(hidden.clone()), only);
    if let Some(language) = &input.r#type {
        let mut types = TypesBuilder::new();
        types.add_defaults().select(language);
        let types = types.build().map_err(|_| {
            ToolError::failed(format!(
                "Unknown type {language:?}. Use a name such as rust, py, js, ts, go, or glob instead."
            ))
        })?;
        builder.types(types);
    }
    Ok(builder.build())
}

fn outcome(hits: Hits, show: HitFormat) -> ToolOutcome {
    if hits.hits == 0 {
        return ToolOutcome::text("No matches found.", "0 hits");
    }
    let (count, noun) = match show {
        HitFormat::Files => (hits.files, "file"),
        HitFormat::Lines { .. } | HitFormat::Counts => (hits.hits, "hit"),
    };
    let plural = if count == 1 { "" } else { "s" };
    let more = if hits.full { "+" } else { "" };
    let mut text = hits.text;
    if hits.full {
        text.push_str("(there is more; narrow the search or raise head_limit)");
    }
    ToolOutcome::text(text.trim_end(), format!("{count}{more} {noun}{plural}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::ToolFixture;
    use super::*;

    fn place() -> ToolFixture {
        let bench = ToolFixture::new();
        bench.file(".gitignore", "ignored\n");
        bench.file("b.rs", "fn two() {\n    one();\n}\n");
        bench.file("a/a.rs", "fn one() {}\nfn One() {}\n");
        bench.file("a/notes.md", "one\n");
        bench.file("ignored", "one\n");
        bench.file(".git/config", "one\n");
        bench.file("binary", b"one\0\n");
        bench
    }

    async fn grep(bench: &ToolFixture, mut input: Value) -> (String, String) {
        let fields = input.as_object_mut().unwrap();
        fields.entry("pattern").or_insert_with(|| json!("one"));
        let outcome = bench.call("Grep", input).await.unwrap();
        (super::super::testing::text(&outcome), outcome.summary)
    }

    fn expect(text: &str, summary: &str) -> (String, String) {
        (text.to_owned(), summary.to_owned())
    }

    #[tokio::test]
    async fn files_are_named_in_a_stable_order_without_ignored_ones() {
        let bench = place();
        assert_eq!(grep(&bench, json!({})).await, expect("a/a.rs\na/notes.md\nb.rs", "3 files"));
        let counts = json!({"output_mode": "count", "-i": true});
        assert_eq!(grep(&bench, counts).await, expect("a/a.rs:2\na/notes.md:1\nb.rs:1", "4 hits"));
        assert_eq!(
            grep(&bench, json!({"pattern": "nowhere"})).await,
            expect("No matches found.", "0 hits")
        );
    }

    #[tokio::test]
    async fn glob_type_and_path_narrow_the_search() {
        let bench = place();
        assert_eq!(grep(&bench, json!({"glob": "*.md"})).await.0, "a/notes.md");
        assert_eq!(grep(&bench, json!({"type": "rust"})).await.0, "a/a.rs\nb.rs");
        assert_eq!(grep(&bench, json!({"path": "a", "glob": "!*.md"})).await.0, "a/a.rs");
        assert_eq!(grep(&bench, json!({"path": "b.rs"})).await.0, "b.rs");
    }

    #[tokio::test]
    async fn hidden_files_are_not_searched() {
        let mut bench = place();
        bench.settings.hidden = HiddenRules::new(|cwd, _| {
            let folder = cwd.join("a");
            move |file| file.starts_with(&folder)
        });
        bench.next_agent();
        assert_eq!(grep(&bench, json!({})).await.0, "b.rs");
        assert_eq!(grep(&bench, json!({"path": "a"})).await.0, "No matches found.");
    }

    #[tokio::test]
    async fn a_link_is_searched_under_its_own_name_and_hides_what_either_name_hides() {
        let mut bench = place();
        std::os::unix::fs::symlink("a", bench.path("link")).unwrap();
        let input = || json!({"path": "link"});
        assert_eq!(grep(&bench, input()).await.0, "link/a.rs\nlink/notes.md");
        assert_eq!(grep(&bench, json!({"path": "link/a.rs"})).await.0, "link/a.rs");
        assert_eq!(bench.text("Glob", json!({"pattern": "link/*.md"})).await, "link/notes.md");
        for hidden in ["link/a.rs", "a/a.rs"] {
            bench.settings.hidden = HiddenRules::new(move |cwd, _| {
                let hidden = cwd.join(hidden);
                move |file| file == hidden
            });
            bench.next_agent();
            assert_eq!(grep(&bench, input()).await.0, "link/notes.md", "{hidden}");
            let glob = bench.text("Glob", json!({"pattern": "link/*"})).await;
            assert_eq!(glob, "link/notes.md", "{hidden}");
        }
    }

    #[tokio::test]
    async fn content_comes_with_numbers_and_context() {
        let bench = place();
        let content = json!({"output_mode": "content", "path": "b.rs", "-B": 1, "-A": 0});
        let expected = expect("b.rs-1-fn two() {\nb.rs:2:    one();", "1 hit");
        assert_eq!(grep(&bench, content).await, expected);
        let bare = json!({"output_mode": "content", "path": "b.rs", "-n": false, "-C": 1});
        assert_eq!(grep(&bench, bare).await.0, "b.rs-fn two() {\nb.rs:    one();\nb.rs-}");
        let over_lines =
            json!({"output_mode": "content", "pattern": r"\{\n.*one", "multiline": true});
        assert_eq!(grep(&bench, over_lines).await.0, "b.rs:1:fn two() {\nb.rs:2:    one();");
    }

    #[tokio::test]
    async fn a_long_result_is_cut_and_says_so() {
        let bench = ToolFixture::new();
        bench.file("many", "one\n".repeat(1000));
        let limited = json!({"output_mode": "content", "head_limit": 2});
        assert_eq!(
            grep(&bench, limited).await.0,
            "many:1:one\nmany:2:one\n(there is more; narrow the search or raise head_limit)"
        );
        bench.file("many", format!("one{}\n", "x".repeat(10_000)).repeat(1000));
        let wide = grep(&bench, json!({"output_mode": "content"})).await.0;
        assert!(wide.len() < MAX_BYTES + 100 && wide.contains("xxx… (line cut)\n"));
    }

    #[tokio::test]
    async fn bad_input_and_a_cancel_are_told() {
        let bench = place();
        let start = async |input: Value| bench.error("Grep", input).await;
        let error = start(json!({"pattern": "a("})).await;
        assert!(error.starts_with("Bad regular expression: "), "{error}");
        let error = start(json!({"pattern": r"a\nb"})).await;
        assert!(error.ends_with("To match over line ends, set multiline."), "{error}");
        let error = start(json!({"pattern": "a", "type": "klingon"})).await;
        assert!(error.starts_with("Unknown type \"klingon\"."), "{error}");
        let error = start(json!({"pattern": "a", "path": "none"})).await;
        assert_eq!(error, "There is no file or directory none.");
        let error = start(json!({"pattern": "a", "-Z": 1})).await;
        assert!(error.contains("unknown field `-Z`"), "{error}");
        bench.cancel.cancel();
        assert_eq!(start(json!({"pattern": "a"})).await, "Cancelled.");
    }
}
