//! Stdin line by line, behind a thread of its own: reading it cannot be stopped, and agents must
//! not wait for it.

use std::io::{self, BufRead, Read};

use tokio::sync::mpsc;

/// Longer lines are not read to their end: so much may a server say in one message, wherever it lives. Bytes.
const LINE_LIMIT: u64 = 16 << 20;

/// How much is kept of a longer line, to tell what it is and whom it concerns. Bytes.
const HEAD: usize = 64 << 10;

/// How many lines may wait before they are left in the pipe.
const CAPACITY: usize = 4;

/// One line of stdin, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawLine {
    Whole(Vec<u8>),
    /// It is longer than so many megabytes, and this is how it begins.
    Cut(u64, Vec<u8>),
    /// Why nothing more can be read.
    Failed(String),
}

/// Starts the thread. It ends at the end of stdin, or with the process. The channel closes at the
/// end of stdin.
pub(super) fn start() -> mpsc::Receiver<RawLine> {
    let (lines, receiver) = mpsc::channel(CAPACITY);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let line = match next(&mut stdin, LINE_LIMIT) {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(error) => {
                    // The other side is gone only when the program is ending anyway.
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

/// The next line; `None` at the end. A line over the limit is skipped to its end.
fn next(reader: &mut impl BufRead, limit: u64) -> io::Result<Option<RawLine>> {
    let mut line = Vec::new();
    if reader.by_ref().take(limit + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > limit {
        reader.skip_until(b'\n')?;
        return Ok(Some(RawLine::Cut(limit >> 20, line[..HEAD.min(line.len())].to_vec())));
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
