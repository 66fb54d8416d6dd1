//! Reads stdin line by line on its own thread: reading cannot be cancelled, and agents must not wait for it.

use std::io::{self, BufRead, Read};

use tokio::sync::mpsc;

/// The maximum length of a line, in bytes. Also the limit for messages of MCP servers.
const LINE_LIMIT: u64 = 16 << 20;

/// The number of bytes kept of a longer line, to find its type and recipient.
const HEAD_BYTES: usize = 64 << 10;

/// The number of queued lines after which the rest is left in the pipe.
const LINE_CAPACITY: usize = 4;

/// One line of stdin, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawLine {
    Whole(Vec<u8>),
    /// A line longer than this many megabytes, and its beginning.
    Cut(u64, Vec<u8>),
    /// The error that ended reading.
    Failed(String),
}

/// Starts the thread. It ends at the end of stdin, which closes the channel, or with the process.
pub(super) fn start() -> mpsc::Receiver<RawLine> {
    let (lines, receiver) = mpsc::channel(LINE_CAPACITY);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let line = match next(&mut stdin, LINE_LIMIT) {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(error) => {
                    // The receiver is gone only when the program exits anyway.
                    let _ =
                        lines.blocking_send(RawLine::Failed(format!("cannot be read: {error}")));
                    return;
                }
            };
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Reads the next line; `None` at the end. Skips the rest of a line over the limit.
fn next(reader: &mut impl BufRead, limit: u64) -> io::Result<Option<RawLine>> {
    let mut line = Vec::new();
    if reader.by_ref().take(limit + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > limit {
        reader.skip_until(b'\n')?;
        return Ok(Some(RawLine::Cut(limit >> 20, line[..HEAD_BYTES.min(line.len())].to_vec())));
    }
    Ok(Some(RawLine::Whole(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_one_that_is_too_long_hides_no_other() {
        let long = "x".repeat(40);
        let text = format!("one\n\n{long}\n{}\nlast", "y".repeat(20));
        let mut reader = io::BufReader::with_capacity(7, text.as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = next(&mut reader, 20).unwrap() {
            lines.push(line);
        }
        let whole = |text: &str| RawLine::Whole(text.into());
        let too_long = RawLine::Cut(0, "x".repeat(21).into());
        assert_eq!(
            lines,
            [whole("one"), whole(""), too_long, whole(&"y".repeat(20)), whole("last")]
        );
    }
}
