//! Records the minimum cost of each pending request in a small file beside the transcript. The file
//! is written once the input is known, rewritten with each complete block, and removed when the
//! cost is booked. A leftover file means that the program was killed meanwhile.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::record::Record;
use super::writer::{self, LineAppender, Truncate};
use crate::protocol::AgentPath;

/// The extension of these files.
const REQUEST_EXTENSION: &str = "request";

/// Returns the file for a request of the agent with this transcript, or of one whose costs are booked there.
pub(super) fn request_file(transcript: &Path, agent: Option<&AgentPath>) -> PathBuf {
    match agent.and_then(AgentPath::id) {
        Some(id) => transcript.with_extension(format!("{id}.{REQUEST_EXTENSION}")),
        None => transcript.with_extension(REQUEST_EXTENSION),
    }
}

/// Atomically writes the file of a request: a kill leaves the previous one.
pub(super) fn write_request(file: &Path, line: &[u8]) -> io::Result<()> {
    let new = file.with_extension("new");
    writer::write_small(&new, line)?;
    fs::rename(new, file)
}

/// Books the requests that were pending when the program was killed, in the files of main and of
/// its agents. `tail` is the open end of `main`, main's file.
pub(super) fn book_leftovers<F: Truncate>(
    dir: &Path,
    main: &Path,
    tail: &mut LineAppender<F>,
) -> io::Result<()> {
    for (file, record) in leftover_requests(dir) {
        append_request(main, tail, &record)?;
        fs::remove_file(file)?;
    }
    for (file, record) in leftover_requests(&dir.join("agents")) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let agent = name.split('.').next().unwrap_or_default();
        let transcript = file.with_file_name(format!("{agent}.jsonl"));
        if !transcript.exists() {
            continue;
        }
        match writer::open(&transcript, true) {
            Ok((mut tail, _)) => append_request(&transcript, &mut tail, &record)?,
            // It works in this process.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => continue,
            Err(error) => return Err(error),
        }
        fs::remove_file(file)?;
    }
    Ok(())
}

/// Returns the records of main's requests in `dir` that no file has booked. Changes nothing.
pub(super) fn pending(dir: &Path, main: &Path) -> Vec<Record> {
    let records = leftover_requests(dir).into_iter().map(|(_, record)| record);
    records.filter(|record| is_booked(main, record).is_ok_and(|booked| !booked)).collect()
}

/// Books a request in a transcript, unless it is booked already.
fn append_request<F: Truncate>(
    transcript: &Path,
    tail: &mut LineAppender<F>,
    request: &Record,
) -> io::Result<()> {
    if is_booked(transcript, request)? {
        return Ok(());
    }
    tail.append(&request.to_line()?)
}

/// Whether a transcript contains the cost of this attempt. Its file remains if the program was
/// killed before removing it, and if the cost could only be written later.
fn is_booked(transcript: &Path, request: &Record) -> io::Result<bool> {
    /// The part of a line that identifies an attempt.
    #[derive(serde::Deserialize)]
    struct AttemptLine {
        attempt: Option<Uuid>,
    }
    // Old files have none.
    let Record::Spent { attempt: Some(attempt), .. } = request else { return Ok(false) };
    let mut lines = BufReader::new(File::open(transcript)?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let read = serde_json::from_slice::<AttemptLine>(&line);
        if read.is_ok_and(|line| line.attempt.as_ref() == Some(attempt)) {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

/// Returns the request files in a folder, each with its record for a transcript. Unreadable ones are skipped.
fn leftover_requests(folder: &Path) -> Vec<(PathBuf, Record)> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files =
        files.filter(|file| file.extension().is_some_and(|ending| ending == REQUEST_EXTENSION));
    files
        .filter_map(|file| {
            let record: Record = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
            matches!(record, Record::Spent { .. }).then_some((file, record))
        })
        .collect()
}
