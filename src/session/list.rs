//! What can be said of a session without reading all of it: its first lines, its last line, and its folder.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::record::{AgentHeader, Record, SessionHeader};
use super::writer::lines_back;
use crate::protocol::{
    AgentId, ChildMeta, ContentBlock, Cost, Message, Outcome, Role, SessionId, Usage, lossy_path,
};

/// Lines at the top among which the first prompt is looked for.
const TOP_LINES: usize = 20;
/// Characters of the first prompt that are shown.
const PROMPT_CHARS: usize = 200;

/// One stored session.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SessionSummary {
    pub id: SessionId,
    #[serde(serialize_with = "lossy_path::serialize")]
    pub cwd: PathBuf,
    pub model: String,
    pub started: Timestamp,
    pub last: Timestamp,
    /// The beginning of the first prompt, on one line.
    pub first_prompt: String,
    pub messages: u64,
    /// Sub-agents of any depth.
    pub agents: usize,
}

/// One stored sub-agent.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct AgentSummary {
    pub meta: ChildMeta,
    /// Of its file.
    #[serde(skip)]
    pub version: u32,
    pub started: Timestamp,
    pub last: Timestamp,
    /// How its last run ended; absent when it still runs, or was cut off.
    pub end: Option<Outcome>,
    pub messages: u64,
}

/// Sums a session up.
pub fn session(dir: &Path) -> io::Result<SessionSummary> {
    let path = dir.join("transcript.jsonl");
    let mut lines = BufReader::new(File::open(&path)?);
    let header = header(&mut lines)?;
    let first_prompt = first_prompt(&mut lines);
    let (last, messages, _) = bottom(&path)?;
    Ok(SessionSummary {
        id: header.id,
        cwd: header.cwd,
        model: header.model,
        started: header.created,
        last: last.unwrap_or(header.created),
        first_prompt,
        messages,
        agents: agent_files(dir).len(),
    })
}

/// The first line of a session and when its file was last written.
pub fn header_and_age(dir: &Path) -> io::Result<(SessionHeader, std::time::SystemTime)> {
    let file = File::open(dir.join("transcript.jsonl"))?;
    let modified = file.metadata()?.modified()?;
    Ok((header(&mut BufReader::new(file))?, modified))
}

/// Sums the sub-agents of a session up, in the order in which they were started.
pub fn agents(dir: &Path) -> Vec<AgentSummary> {
    let mut all: Vec<AgentSummary> =
        agent_files(dir).iter().filter_map(|path| agent(path).ok()).collect();
    all.sort_by_key(|agent| (agent.started, agent.meta.id));
    all
}

/// Sums one sub-agent up.
pub fn agent(path: &Path) -> io::Result<AgentSummary> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).read_until(b'\n', &mut line)?;
    let header = match serde_json::from_slice(&line) {
        Ok(Record::Agent(header)) => *header,
        // The top of the file was lost; what stands beside it says the same.
        _ => serde_json::from_slice::<AgentHeader>(&fs::read(path.with_extension("meta.json"))?)?,
    };
    let (last, messages, end) = bottom(path)?;
    let last = last.unwrap_or(header.created);
    let AgentHeader { version, created: started, agent: meta } = header;
    Ok(AgentSummary { meta, version, started, last, end, messages })
}

/// The cost of one agent's requests in all of its runs, without those of agents below it.
pub fn spent(path: &Path) -> io::Result<(Usage, Cost)> {
    /// The part of a line that tells of money. Whole messages need not be read for that.
    #[derive(serde::Deserialize)]
    struct Line {
        usage: Option<Usage>,
        cost: Option<Cost>,
    }
    let mut lines = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    let (mut usage, mut cost) = (Usage::default(), Cost::default());
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Ok(line) = serde_json::from_slice::<Line>(&line) {
            usage += line.usage.unwrap_or_default();
            cost += line.cost.unwrap_or_default();
        }
        line.clear();
    }
    Ok((usage, cost))
}

/// The ids of a session's sub-agents, by the names of their files.
pub fn agent_ids(dir: &Path) -> Vec<AgentId> {
    let files = agent_files(dir);
    files.iter().filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).collect()
}

/// The transcripts of sub-agents.
fn agent_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir.join("agents")) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

fn header(lines: &mut impl BufRead) -> io::Result<SessionHeader> {
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line)?;
    match serde_json::from_slice(&line)? {
        Record::Session(header) => Ok(header),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the first line is not a session's")),
    }
}

fn first_prompt(lines: &mut impl BufRead) -> String {
    let mut line = Vec::new();
    for _ in 0..TOP_LINES {
        line.clear();
        if lines.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
            break;
        }
        let Ok(Record::Message { message, .. }) = serde_json::from_slice(&line) else { continue };
        let text = one_line(&message);
        if message.role == Role::User && !text.is_empty() {
            return text;
        }
    }
    String::new()
}

/// What a person has written, on one line.
fn one_line(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text, aside: false, .. } => Some(text),
        _ => None,
    });
    let words: Vec<&str> = texts.flat_map(|text| text.split_whitespace()).collect();
    let words = words.join(" ");
    words.chars().take(PROMPT_CHARS).collect()
}

/// What the last line tells: its time, the number of messages, and the end of the run if it is one.
fn bottom(path: &Path) -> io::Result<(Option<Timestamp>, u64, Option<Outcome>)> {
    let record = last_record(path)?;
    let count = match record.as_ref().and_then(Record::count) {
        Some(count) => count,
        None => count_lines(path)?,
    };
    let last = record.as_ref().and_then(Record::at);
    let end = match record {
        Some(Record::End { outcome, .. }) => Some(outcome),
        _ => None,
    };
    Ok((last, count, end))
}

/// The last record of a file, if that line can be read. Costs that were booked behind the end of a
/// run do not hide it: the run has ended all the same.
fn last_record(path: &Path) -> io::Result<Option<Record>> {
    let mut last = None;
    for line in lines_back(path)? {
        let record: Option<Record> = serde_json::from_slice(&line?).ok();
        match record {
            Some(Record::Spent { .. }) => last = last.or(record),
            Some(Record::End { .. }) => return Ok(record),
            _ => return Ok(last.or(record)),
        }
    }
    Ok(last)
}

/// Message lines of a file whose last line does not say.
fn count_lines(path: &Path) -> io::Result<u64> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    let mut count = 0;
    while lines.read_until(b'\n', &mut line)? > 0 {
        if matches!(serde_json::from_slice(&line), Ok(Record::Message { .. })) {
            count += 1;
        }
        line.clear();
    }
    Ok(count)
}
