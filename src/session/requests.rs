//! Requests under way: what each has cost at least, in a small file beside the transcript. The file
//! is written once the input is known, anew with each block that is whole, and removed when the
//! cost is booked. A file that is left tells of a program that was killed meanwhile.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::record::Record;
use super::writer::{self, Lines, Tail};
use crate::protocol::AgentPath;

/// How the names of these files end.
const ENDING: &str = "request";

/// The file for a request of the agent with this transcript, or of one whose costs are booked there.
pub(super) fn file(transcript: &Path, agent: Option<&AgentPath>) -> PathBuf {
    match agent.and_then(AgentPath::id) {
        Some(id) => transcript.with_extension(format!("{id}.{ENDING}")),
        None => transcript.with_extension(ENDING),
    }
}

/// Writes the file of a request, in one step: a kill leaves the one before.
pub(super) fn write(file: &Path, line: &[u8]) -> io::Result<()> {
    let new = file.with_extension("new");
    writer::write_small(&new, line)?;
    fs::rename(new, file)
}

/// Books what was under way in a session when the program was killed, in the files of main and of
/// its agents. `tail` is the open end of `main`, main's file.
pub(super) fn book<F: Lines>(dir: &Path, main: &Path, tail: &mut Tail<F>) -> io::Result<()> {
    for (file, record) in left(dir) {
        append(main, tail, &record)?;
        fs::remove_file(file)?;
    }
    for (file, record) in left(&dir.join("agents")) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let agent = name.split('.').next().unwrap_or_default();
        let transcript = file.with_file_name(format!("{agent}.jsonl"));
        if !transcript.exists() {
            continue;
        }
        match writer::open(&transcript, true) {
            Ok((mut tail, _)) => append(&transcript, &mut tail, &record)?,
            // It works in this very process.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => continue,
            Err(error) => return Err(error),
        }
        fs::remove_file(file)?;
    }
    Ok(())
}

/// Books a request in a transcript that does not have it yet.
fn append<F: Lines>(transcript: &Path, tail: &mut Tail<F>, request: &Record) -> io::Result<()> {
    if is_booked(transcript, request)? {
        return Ok(());
    }
    tail.append(&request.to_line()?)
}

/// Whether a transcript has the cost of this attempt. Its file is left beside that when the program
/// was killed before it could remove it, and when the cost could only be written later.
fn is_booked(transcript: &Path, request: &Record) -> io::Result<bool> {
    /// The part of a line that names an attempt.
    #[derive(serde::Deserialize)]
    struct Line {
        attempt: Option<Uuid>,
    }
    // Old files name none.
    let Record::Spent { attempt: Some(attempt), .. } = request else { return Ok(false) };
    let mut lines = BufReader::new(File::open(transcript)?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let read = serde_json::from_slice::<Line>(&line);
        if read.is_ok_and(|line| line.attempt.as_ref() == Some(attempt)) {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

/// The files in a folder, each with its record for a transcript. What cannot be read has none.
fn left(folder: &Path) -> Vec<(PathBuf, Record)> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.filter(|file| file.extension().is_some_and(|ending| ending == ENDING));
    files
        .filter_map(|file| {
            let record: Record = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
            matches!(record, Record::Spent { .. }).then_some((file, record))
        })
        .collect()
}
