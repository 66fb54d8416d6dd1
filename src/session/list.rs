//! Summarizes sessions without reading them fully: from first lines, last line and folder.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::name;
use super::record::{AgentHeader, MessageRecord, Record, SessionHeader};
use super::writer::reverse_lines;
use crate::protocol::{
    AgentId, ChildMeta, ContentBlock, Cost, Message, Role, RunOutcome, SessionId, lossy_path,
};

/// Maximum number of lines to search for the first prompt.
const TOP_LINES: usize = 20;
/// Maximum bytes of whole lines to search for the last answer: turns that were stopped have none.
const TAIL_BYTES: usize = 256 << 10;
/// Maximum characters of the first prompt to show.
const PROMPT_CHARS: usize = 200;

/// One stored session.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SessionSummary {
    pub id: SessionId,
    #[serde(serialize_with = "lossy_path::serialize")]
    pub cwd: PathBuf,
    /// The user's name for it.
    pub name: Option<String>,
    pub model: String,
    /// The git branch of its working directory at the beginning.
    pub branch: Option<String>,
    pub started: Timestamp,
    pub last: Timestamp,
    /// The beginning of the first prompt, on one line.
    pub first_prompt: String,
    pub messages: u64,
    /// Sub-agents of any depth.
    pub agents: usize,
}

impl SessionSummary {
    /// Its name, or else its first prompt.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.first_prompt)
    }
}

/// The end of a stored session, for a list to choose from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPreview {
    /// The last answer; empty if it is not near the end.
    pub answer: String,
    /// The cost of all its requests; `None` if its files are too large to add it up.
    pub cost: Option<Cost>,
}

/// One stored sub-agent.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct AgentSummary {
    pub meta: ChildMeta,
    /// Version of its file.
    #[serde(skip)]
    pub version: u32,
    pub started: Timestamp,
    pub last: Timestamp,
    /// How its last run ended; absent if it still runs, or was cut off.
    pub end: Option<RunOutcome>,
    pub messages: u64,
}

/// Summarizes a session.
pub fn summarize_session(dir: &Path) -> io::Result<SessionSummary> {
    let summary = summarize_session_if(dir, |_| true)?;
    summary.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Summarizes a session if it is wanted.
pub fn summarize_session_if(
    dir: &Path,
    is_wanted: impl Fn(&SessionHeader) -> bool,
) -> io::Result<Option<SessionSummary>> {
    let path = dir.join("transcript.jsonl");
    let mut lines = BufReader::new(File::open(&path)?);
    let header = read_header(&mut lines)?;
    if !is_wanted(&header) {
        return Ok(None);
    }
    let first_prompt = first_prompt(&mut lines);
    let (last, messages, _) = summarize_tail(&path)?;
    Ok(Some(SessionSummary {
        id: header.id,
        cwd: header.cwd,
        name: name::read(dir),
        model: header.model,
        branch: header.branch,
        started: header.created,
        last: last.unwrap_or(header.created),
        first_prompt,
        messages,
        agents: agent_files(dir).len() + header.copied_agents,
    }))
}

/// Returns the first line of a session, and when its file was last written.
pub fn header_and_age(dir: &Path) -> io::Result<(SessionHeader, std::time::SystemTime)> {
    let file = File::open(dir.join("transcript.jsonl"))?;
    let modified = file.metadata()?.modified()?;
    Ok((read_header(&mut BufReader::new(file))?, modified))
}

/// Returns the provider and the model that main used last, or began with.
pub fn last_model(dir: &Path) -> io::Result<(String, String)> {
    let mut lines = BufReader::new(File::open(dir.join("transcript.jsonl"))?);
    let header = read_header(&mut lines)?;
    let (mut last, mut line) = ((header.provider, header.model), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        // Most lines are messages, which need not be parsed.
        if line.starts_with(br#"{"type":"model""#)
            && let Ok(Record::Model { provider, name, .. }) = Record::parse(&line)
        {
            last = (provider, name);
        }
        line.clear();
    }
    Ok(last)
}

/// Summarizes the sub-agents of a session, in the order in which they were started.
pub fn summarize_agents(dir: &Path) -> Vec<AgentSummary> {
    let mut all: Vec<AgentSummary> =
        agent_files(dir).iter().filter_map(|path| summarize_agent(path).ok()).collect();
    all.sort_by_key(|agent| (agent.started, agent.meta.id));
    all
}

/// Summarizes one sub-agent.
pub fn summarize_agent(path: &Path) -> io::Result<AgentSummary> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).read_until(b'\n', &mut line)?;
    let header = match serde_json::from_slice(&line) {
        Ok(Record::Agent(header)) => *header,
        // The top of the file was lost; the file beside it has the same data.
        _ => serde_json::from_slice::<AgentHeader>(&fs::read(path.with_extension("meta.json"))?)?,
    };
    let (last, messages, end) = summarize_tail(path)?;
    let last = last.unwrap_or(header.created);
    let AgentHeader { version, created: started, agent: meta } = header;
    Ok(AgentSummary { meta, version, started, last, end, messages })
}

/// Returns the last answer of a session's main agent, if it is near the end.
pub fn last_answer(dir: &Path) -> Option<String> {
    let lines = reverse_lines(&dir.join("transcript.jsonl")).ok()?;
    let mut read = 0;
    for line in lines {
        if read > TAIL_BYTES {
            break;
        }
        let line = line.ok()?;
        read += line.len();
        let Ok(Record::Message(MessageRecord { message, .. })) = Record::parse(&line) else {
            continue;
        };
        let texts = message.content.iter().filter_map(|block| match block {
            ContentBlock::Text { text, .. } => Some(text.trim()),
            _ => None,
        });
        let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        if message.role == Role::Assistant && !text.is_empty() {
            return Some(text);
        }
    }
    None
}

/// Returns the sizes of a session's files together, in bytes.
pub fn total_size(dir: &Path) -> u64 {
    let size = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let files = agent_files(dir).into_iter().chain([dir.join("transcript.jsonl")]);
    files.map(size).sum()
}

/// Returns the cost of all agents of a session. Reads all of its files.
pub fn session_cost(dir: &Path) -> Cost {
    let files = agent_files(dir).into_iter().chain([dir.join("transcript.jsonl")]);
    let mut sum = Cost::default();
    for cost in files.filter_map(|path| agent_cost(&path).ok()) {
        sum += cost;
    }
    sum
}

/// Returns the cost of one agent's requests in all of its runs, without agents below it.
pub fn agent_cost(path: &Path) -> io::Result<Cost> {
    /// The cost of a line, so that whole messages need not be parsed.
    #[derive(serde::Deserialize)]
    struct CostLine {
        cost: Option<Cost>,
    }
    let mut lines = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    let mut cost = Cost::default();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Ok(line) = serde_json::from_slice::<CostLine>(&line) {
            cost += line.cost.unwrap_or_default();
        }
        line.clear();
    }
    Ok(cost)
}

/// Returns the ids of a session's sub-agents, from their file names.
pub fn agent_ids(dir: &Path) -> Vec<AgentId> {
    let files = agent_files(dir);
    files.iter().filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).collect()
}

/// Lists the transcripts of sub-agents.
pub(super) fn agent_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir.join("agents")) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

fn read_header(lines: &mut impl BufRead) -> io::Result<SessionHeader> {
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line)?;
    match serde_json::from_slice(&line)? {
        Record::Session(header) => Ok(header),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the first line is no session header")),
    }
}

fn first_prompt(lines: &mut impl BufRead) -> String {
    let mut line = Vec::new();
    for _ in 0..TOP_LINES {
        line.clear();
        if lines.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
            break;
        }
        let Ok(Record::Message(MessageRecord { message, .. })) = Record::parse(&line) else {
            continue;
        };
        let text = prompt_line(&message);
        if message.role == Role::User && !text.is_empty() {
            return text;
        }
    }
    String::new()
}

/// Returns the text that the user wrote, on one line.
fn prompt_line(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text, aside: false, .. } => Some(text),
        _ => None,
    });
    let words: Vec<&str> = texts.flat_map(|text| text.split_whitespace()).collect();
    let words = words.join(" ");
    words.chars().take(PROMPT_CHARS).collect()
}

/// Reads the last line: its time, the number of messages, and the outcome if it ends a run.
fn summarize_tail(path: &Path) -> io::Result<(Option<Timestamp>, u64, Option<RunOutcome>)> {
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

/// Returns the last record of a file, if it can be parsed. Costs booked after the end of a run do not hide the end.
fn last_record(path: &Path) -> io::Result<Option<Record>> {
    let mut last = None;
    for line in reverse_lines(path)? {
        let record: Option<Record> = serde_json::from_slice(&line?).ok();
        match record {
            Some(Record::Spent { .. }) => last = last.or(record),
            Some(Record::End { .. }) => return Ok(record),
            _ => return Ok(last.or(record)),
        }
    }
    Ok(last)
}

/// Counts the message lines of a file whose last line has no count.
fn count_lines(path: &Path) -> io::Result<u64> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    let mut count = 0;
    while lines.read_until(b'\n', &mut line)? > 0 {
        if matches!(Record::parse(&line), Ok(Record::Message(_))) {
            count += 1;
        }
        line.clear();
    }
    Ok(count)
}
