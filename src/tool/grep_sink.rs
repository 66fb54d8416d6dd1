//! Collects the matches of a search, up to what a model can use.

use std::fmt::Write as _;
use std::io::{self, Read};

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use tokio_util::sync::CancellationToken;

/// Maximum characters shown of a line.
const LINE_CHARS: usize = 400;

/// How matches are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitFormat {
    Files,
    Lines { numbers: bool },
    Counts,
}

/// The result of a search as it grows.
#[derive(Debug)]
pub struct Hits {
    pub text: String,
    /// Number of matching lines in all files so far.
    pub hits: usize,
    pub files: usize,
    /// Number of entries: files or lines, depending on the mode.
    entries: usize,
    limit: usize,
    max_bytes: usize,
    /// Whether something did not fit.
    pub full: bool,
}

impl Hits {
    /// Creates an empty result, limited to `limit` entries and `max_bytes` of text.
    pub fn new(limit: usize, max_bytes: usize) -> Self {
        Self { text: String::new(), hits: 0, files: 0, entries: 0, limit, max_bytes, full: false }
    }

    /// Adds an entry, or records that there are more.
    fn add(&mut self, line: &str) {
        if self.entries >= self.limit || self.text.len() + line.len() > self.max_bytes {
            self.full = true;
            return;
        }
        self.entries += 1;
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// Receives the matches of one file.
pub struct FileSink<'h> {
    pub name: &'h str,
    pub show: HitFormat,
    pub total: &'h mut Hits,
    count: usize,
}

impl<'h> FileSink<'h> {
    /// Creates a sink for the file shown as `name`.
    pub fn new(name: &'h str, show: HitFormat, total: &'h mut Hits) -> Self {
        Self { name, show, total, count: 0 }
    }

    /// Adds entries that need the end of the file.
    pub fn close(self) {
        if self.count == 0 {
            return;
        }
        self.total.files += 1;
        match self.show {
            HitFormat::Files => self.total.add(self.name),
            HitFormat::Counts => self.total.add(&format!("{}:{}", self.name, self.count)),
            HitFormat::Lines { .. } => {}
        }
    }

    fn lines(&mut self, bytes: &[u8], first: Option<u64>, mark: char) {
        let HitFormat::Lines { numbers } = self.show else { return };
        for (index, line) in String::from_utf8_lossy(bytes).lines().enumerate() {
            let mut entry = format!("{}{mark}", self.name);
            if let (true, Some(first)) = (numbers, first) {
                let _ = write!(entry, "{}{mark}", first + index as u64);
            }
            match line.char_indices().nth(LINE_CHARS) {
                Some((end, _)) => {
                    entry.push_str(&line[..end]);
                    entry.push_str("… (line cut)");
                }
                None => entry.push_str(line),
            }
            self.total.add(&entry);
        }
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        // A match over several lines is one hit.
        self.count += 1;
        self.total.hits += 1;
        self.lines(found.bytes(), found.line_number(), ':');
        Ok(self.show != HitFormat::Files && !self.total.full)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.lines(around.bytes(), around.line_number(), '-');
        Ok(!self.total.full)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if matches!(self.show, HitFormat::Lines { .. }) && !self.total.full {
            self.total.text.push_str("--\n");
        }
        Ok(true)
    }
}

/// A file whose reads stop when the call is cancelled.
pub struct CancellableReader<'c, R> {
    pub inner: R,
    pub cancel: &'c CancellationToken,
}

impl<R: Read> Read for CancellableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.inner.read(buffer)
    }
}
