//! Requests under way: what each has cost so far, in a small file beside the transcript, from the
//! first that is known of it until it is booked. A file that is left tells of a program that was
//! killed meanwhile.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

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

/// Books what was under way in a session when the program was killed, in the files of main and of
/// its agents. `main` is the open end of main's file.
pub(super) fn book<F: Lines>(dir: &Path, main: &mut Tail<F>) -> io::Result<()> {
    for (file, line) in left(dir) {
        main.append(&line)?;
        fs::remove_file(file)?;
    }
    for (file, line) in left(&dir.join("agents")) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let agent = name.split('.').next().unwrap_or_default();
        let transcript = file.with_file_name(format!("{agent}.jsonl"));
        if !transcript.exists() {
            continue;
        }
        match writer::open(&transcript, true) {
            Ok((mut tail, _)) => tail.append(&line)?,
            // It works in this very process.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => continue,
            Err(error) => return Err(error),
        }
        fs::remove_file(file)?;
    }
    Ok(())
}

/// The files in a folder, each with its line for a transcript. What cannot be read has none.
fn left(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.filter(|file| file.extension().is_some_and(|ending| ending == ENDING));
    files
        .filter_map(|file| {
            let record: Record = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
            matches!(record, Record::Spent { .. }).then_some((file, record.to_line().ok()?))
        })
        .collect()
}
