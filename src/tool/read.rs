//! `Read`: a file's lines with their numbers, an image, pages of a PDF, or a notebook.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::api::{PreparedCall, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};
use super::file::{self, FileToolState, MAX_BYTES};
use super::ledger::ReadLedger;
use super::spec::{InvalidInput, ToolSpec};
use crate::media::{self, ImageError, MAX_FILE_BYTES, PdfPages, image_type, is_pdf};
use crate::protocol::{Access, ImageSource, PathTarget, ResultBlock, byte_size, count};

const DEFAULT_LINES: usize = 2000;
/// Maximum characters shown of a line.
const LINE_CHARS: usize = 2000;
/// Maximum bytes of a result.
const RESULT_BYTES: usize = 100_000;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<ReadInput>(
        "Read",
        "Reads a file as numbered lines (2000 by default), an image, a PDF or a notebook. Needed before Edit, and before Write to an existing file.",
    )
});

/// The tool.
#[derive(Debug)]
pub struct Read {
    files: FileToolState,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadInput {
    file_path: String,
    /// First line, from 1
    offset: Option<usize>,
    limit: Option<usize>,
    /// Of a PDF: 3 or 1-5
    pages: Option<String>,
}

impl Read {
    /// Creates a reader that records the files it has shown.
    pub fn new(files: FileToolState) -> Self {
        Self { files }
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: ReadInput = SPEC.parse(input)?;
        if input.limit == Some(0) {
            return Err(InvalidInput("limit must be 1 or more.".to_owned()));
        }
        if let Some(pages) = &input.pages {
            media::parse_pages(pages).map_err(InvalidInput)?;
        }
        Ok(Box::new(ReadCall { tool: self, input }))
    }
}

/// A call with a valid input.
struct ReadCall {
    tool: Arc<Read>,
    input: ReadInput,
}

#[async_trait]
impl PreparedCall for ReadCall {
    fn summary(&self) -> String {
        let Self { tool, input } = self;
        let path = tool.files.paths.display(&input.file_path);
        if let Some(pages) = &input.pages {
            return format!("{path} pages {pages}");
        }
        match (input.offset, input.limit) {
            (None, None) => path,
            (from, None) => format!("{path} from line {}", from.unwrap_or(1)),
            (from, Some(limit)) => {
                let from = from.unwrap_or(1).max(1);
                format!("{path} lines {from}-{}", from.saturating_add(limit) - 1)
            }
        }
    }

    fn access(&self, cwd: &Path) -> Access {
        Access::Read { paths: vec![self.tool.files.paths.target(&self.input.file_path, cwd)] }
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let target = cx.target()?.clone();
        cx.blocking(move |cancel| read(&target, &self.input, &self.tool.files.ledger, cancel)).await
    }
}

fn read(
    target: &PathTarget,
    input: &ReadInput,
    ledger: &ReadLedger,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, ToolError> {
    let (path, real) = (target.written.as_path(), file::resolved(target)?);
    let broken = |error: io::Error| file::failed("read", path, &error);
    let missing = || broken(nix::errno::Errno::ENOENT.into());
    let (opened, metadata) = file::open(target)?.ok_or_else(missing)?;
    if metadata.is_dir() {
        let text = format!("{} is a directory. List it with Glob.", path.display());
        return Err(ToolError::failed(text));
    }
    let mut reader = BufReader::with_capacity(64 * 1024, opened);
    let start = reader.fill_buf().map_err(broken)?;
    if image_type(start).is_some() {
        return image(path, reader, metadata.len());
    }
    if is_pdf(start) {
        return pdf(path, reader, metadata.len(), input.pages.as_deref());
    }
    if input.pages.is_some() {
        let text = format!("{} is no PDF: read it without pages.", path.display());
        return Err(ToolError::failed(text));
    }
    if start.iter().take(8192).any(|&byte| byte == 0) {
        return Err(ToolError::failed(format!(
            "{} is binary ({}). Inspect it with Bash and a suitable program.",
            path.display(),
            byte_size(metadata.len())
        )));
    }
    if metadata.len() > MAX_BYTES {
        if input.offset.is_none() && input.limit.is_none() {
            return Err(ToolError::failed(format!(
                "{} has {}: too much at once. Give offset and limit, or search it with Grep.",
                path.display(),
                byte_size(metadata.len())
            )));
        }
        ledger.note(real, &metadata, None);
        return number(path, input, reader, cancel);
    }
    let mut content = Vec::new();
    reader.take(MAX_BYTES).read_to_end(&mut content).map_err(broken)?;
    ledger.note(real, &metadata, Some(&content));
    let is_notebook = path.extension().is_some_and(|extension| extension == "ipynb");
    if is_notebook && input.offset.is_none() && input.limit.is_none() {
        return notebook(path, &content);
    }
    number(path, input, content.as_slice(), cancel)
}

/// Numbers the requested lines.
fn number(
    path: &Path,
    input: &ReadInput,
    mut reader: impl BufRead,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, ToolError> {
    let first = input.offset.unwrap_or(1).max(1);
    let limit = input.limit.unwrap_or(DEFAULT_LINES);
    let (mut text, mut line, mut seen) = (String::new(), Vec::new(), 0);
    let mut more = false;
    loop {
        if cancel.is_cancelled() {
            return Err(ToolError::soft(SoftKind::Cancelled, "Cancelled."));
        }
        let wanted = seen + 1 >= first;
        let keep = if wanted { LINE_CHARS * 4 + 4 } else { 0 };
        let there = next_line(&mut reader, &mut line, keep)
            .map_err(|error| file::failed("read", path, &error))?;
        if !there {
            break;
        }
        if wanted && (seen + 1 - first >= limit || text.len() > RESULT_BYTES) {
            more = true;
            break;
        }
        seen += 1;
        if wanted {
            let _ = writeln!(text, "{seen:>6}\t{}", cut(&line));
        }
    }
    if seen == 0 {
        return Ok(ToolOutcome::text("(the file is empty)", "empty"));
    }
    if seen < first {
        let text = format!("{} has only {}.", path.display(), count(seen, "line"));
        return Err(ToolError::failed(text));
    }
    let shown = seen + 1 - first;
    if more {
        let _ = writeln!(text, "(more lines follow; continue with offset {})", seen + 1);
    }
    Ok(ToolOutcome::text(text, format!("{shown} line{}", if shown == 1 { "" } else { "s" })))
}

/// Reads one line into `line`, up to `keep` bytes of it, without its end. False at the end of the file.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>, keep: usize) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let ready = reader.fill_buf()?;
        if ready.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = ready.iter().position(|&byte| byte == b'\n');
        let piece = &ready[..end.unwrap_or(ready.len())];
        let fits = piece.len().min(keep.saturating_sub(line.len()));
        line.extend_from_slice(&piece[..fits]);
        let used = piece.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

fn cut(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.strip_suffix('\r').unwrap_or(&line);
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}… (line cut)", &line[..end]),
        None => line.to_owned(),
    }
}

fn image(path: &Path, reader: impl io::Read, len: u64) -> Result<ToolOutcome, ToolError> {
    let unreadable = |why: ImageError| ToolError::failed(format!("{} is {why}.", path.display()));
    if len > MAX_FILE_BYTES {
        return Err(unreadable(ImageError::TooManyBytes(len)));
    }
    let bytes = whole(path, reader)?;
    let image = media::prepare(&bytes).map_err(unreadable)?;
    let kind = image.source.media_type.trim_start_matches("image/");
    Ok(ToolOutcome {
        summary: format!("{kind}, {}", image.size()),
        content: vec![ResultBlock::Image { source: image.source }],
        ..ToolOutcome::default()
    })
}

fn pdf(
    path: &Path,
    reader: impl io::Read,
    len: u64,
    pages: Option<&str>,
) -> Result<ToolOutcome, ToolError> {
    let unreadable = |why: String| ToolError::failed(format!("{} is {why}.", path.display()));
    if len > MAX_FILE_BYTES {
        let (len, most) = (byte_size(len), byte_size(MAX_FILE_BYTES));
        return Err(unreadable(format!("a PDF of {len}; at most {most} can be read")));
    }
    let pages = pages.map(media::parse_pages).transpose().map_err(ToolError::failed)?;
    let read = media::read_pages(whole(path, reader)?, pages);
    let PdfPages { bytes, pages } = read.map_err(|error| unreadable(error.to_string()))?;
    let data = STANDARD.encode(&bytes).into();
    let source = ImageSource { media_type: "application/pdf".to_owned(), data };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(ToolOutcome {
        content: vec![ResultBlock::Document { source, name, pages }],
        summary: count(pages as usize, "page"),
        ..ToolOutcome::default()
    })
}

fn notebook(path: &Path, content: &[u8]) -> Result<ToolOutcome, ToolError> {
    let read = media::read_notebook(content, RESULT_BYTES).map_err(|why| {
        let path = path.display();
        ToolError::failed(format!("{path} is {why}. Read it as text with offset 1."))
    })?;
    let summary = count(read.cells, "cell");
    Ok(ToolOutcome { content: read.blocks, summary, ..ToolOutcome::default() })
}

fn whole(path: &Path, reader: impl io::Read) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    let read = reader.take(MAX_FILE_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| file::failed("read", path, &error))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::super::testing::ToolFixture;
    use super::*;

    #[tokio::test]
    async fn lines_are_numbered_and_counted() {
        let bench = ToolFixture::new();
        bench.file("a.txt", "one\r\ntwo\nthree");
        let outcome = bench.call("Read", json!({"file_path": "a.txt"})).await.unwrap();
        let expected = ToolOutcome::text("     1\tone\n     2\ttwo\n     3\tthree\n", "3 lines");
        assert_eq!(outcome, expected);
        let part = json!({"file_path": "a.txt", "offset": 2, "limit": 1});
        assert_eq!(
            bench.text("Read", part).await,
            "     2\ttwo\n(more lines follow; continue with offset 3)\n"
        );
    }

    #[tokio::test]
    async fn long_files_and_long_lines_are_cut_and_say_so() {
        let bench = ToolFixture::new();
        bench.file("many", "x\n".repeat(2001));
        let text = bench.text("Read", json!({"file_path": "many"})).await;
        assert!(text.ends_with("  2000\tx\n(more lines follow; continue with offset 2001)\n"));
        bench.file("wide", format!("{}\nshort\n", "é".repeat(5000)));
        let text = bench.text("Read", json!({"file_path": "wide"})).await;
        let expected = format!("     1\t{}… (line cut)\n     2\tshort\n", "é".repeat(2000));
        assert_eq!(text, expected);
        bench.file("big", format!("{}\n", "y".repeat(1000)).repeat(1000));
        let text = bench.text("Read", json!({"file_path": "big"})).await;
        assert!(text.len() < RESULT_BYTES + 2000 && text.contains("continue with offset 101"));
    }

    #[tokio::test]
    async fn what_cannot_be_shown_is_refused_with_a_reason() {
        let bench = ToolFixture::new();
        let error = async |name: &str| bench.error("Read", json!({"file_path": name})).await;
        assert_eq!(
            error("none").await,
            "Cannot read none: No such file or directory (os error 2)."
        );
        std::fs::create_dir(bench.path("dir")).unwrap();
        assert_eq!(error("dir").await, "dir is a directory. List it with Glob.");
        bench.file("bin", b"a\0b");
        assert_eq!(
            error("bin").await,
            "bin is binary (3 bytes). Inspect it with Bash and a suitable program."
        );
        assert_eq!(
            error("/dev/zero").await,
            "/dev/zero is not a regular file but a device, pipe or socket."
        );
        bench.file("short", "a\n");
        let beyond = json!({"file_path": "short", "offset": 5});
        assert_eq!(bench.error("Read", beyond).await, "short has only 1 line.");
        bench.file("empty", "");
        let empty = bench.text("Read", json!({"file_path": "empty"})).await;
        assert_eq!(empty, "(the file is empty)");
    }

    #[tokio::test]
    async fn a_huge_file_is_read_only_in_parts() {
        let bench = ToolFixture::new();
        let path = bench.file("huge", "line\n".repeat(2000));
        std::fs::File::options().append(true).open(&path).unwrap().set_len(3 << 30).unwrap();
        assert_eq!(
            bench.error("Read", json!({"file_path": "huge"})).await,
            "huge has 3.2 GB: too much at once. Give offset and limit, or search it with Grep."
        );
    }

    #[test]
    fn only_the_asked_lines_of_a_stream_are_read() {
        let endless = BufReader::new(io::repeat(b'\n'));
        let input =
            ReadInput { file_path: String::new(), offset: Some(3), limit: Some(2), pages: None };
        let outcome = number(Path::new("f"), &input, endless, &CancellationToken::new()).unwrap();
        let expected = "     3\t\n     4\t\n(more lines follow; continue with offset 5)\n";
        assert_eq!(outcome, ToolOutcome::text(expected, "2 lines"));
    }

    #[tokio::test]
    async fn an_image_is_shown_as_it_is_or_refused_with_the_reason() {
        let bench = ToolFixture::new();
        let png = media::sample_png(4, 3);
        bench.file("a.png", &png);
        let outcome = bench.call("Read", json!({"file_path": "a.png"})).await.unwrap();
        let source = media::prepare(&png).unwrap().source;
        assert_eq!(outcome.content, [ResultBlock::Image { source }]);
        assert_eq!(outcome.summary, format!("png, 4×3 · {} bytes", png.len()));
        bench.file("cut.png", &png[..40]);
        let error = bench.error("Read", json!({"file_path": "cut.png"})).await;
        assert!(error.starts_with("cut.png is a broken PNG image: "), "{error}");
        let path = bench.file("large.gif", b"GIF89a");
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_len(MAX_FILE_BYTES + 1).unwrap();
        assert_eq!(
            bench.error("Read", json!({"file_path": "large.gif"})).await,
            "large.gif is an image of 30.0 MB; at most 30.0 MB can be read: make it smaller."
        );
    }

    #[tokio::test]
    async fn pages_of_a_pdf_are_shown_as_a_document() {
        let bench = ToolFixture::new();
        bench.file("a.pdf", media::sample_pdf(30));
        let part = json!({"file_path": "a.pdf", "pages": "2-4"});
        let outcome = bench.call("Read", part).await.unwrap();
        let [ResultBlock::Document { source, name, pages: 3 }] = &outcome.content[..] else {
            panic!("{outcome:?}");
        };
        assert_eq!((source.media_type.as_str(), name.as_str()), ("application/pdf", "a.pdf"));
        assert_eq!(outcome.summary, "3 pages");
        assert_eq!(
            bench.error("Read", json!({"file_path": "a.pdf"})).await,
            "a.pdf is a PDF of 30 pages: give `pages`, such as \"1-10\", at most 20 at once."
        );
        bench.file("a.txt", "text");
        let no_pdf = json!({"file_path": "a.txt", "pages": "1"});
        assert_eq!(bench.error("Read", no_pdf).await, "a.txt is no PDF: read it without pages.");
    }

    #[tokio::test]
    async fn a_notebook_is_shown_as_cells_or_with_an_offset_as_text() {
        let bench = ToolFixture::new();
        let cell = json!({"cell_type": "code", "source": "1 + 1", "outputs": []});
        bench.file("a.ipynb", json!({"cells": [cell]}).to_string());
        let outcome = bench.call("Read", json!({"file_path": "a.ipynb"})).await.unwrap();
        let text = "<cell id=\"cell-0\" type=\"code\">\n1 + 1\n</cell>\n";
        assert_eq!(outcome, ToolOutcome::text(text, "1 cell"));
        let raw = bench.text("Read", json!({"file_path": "a.ipynb", "offset": 1})).await;
        assert!(raw.starts_with("     1\t{\"cells\""), "{raw}");
    }
}
