//! Sub-agents as requirements: each test is named after the one that it shows.

mod background;
mod channels;
mod comms;
mod definitions;
mod delegate;
mod designs;
mod edges;
mod ends;
mod env;
mod errors;
mod fault;
mod flood;
mod fork;
mod frames;
mod guide;
mod host;
mod hostile;
mod invariants;
mod lifecycle;
mod limits;
mod log;
mod looking;
mod malformed;
mod mention;
mod models;
mod reload;
mod resume;
mod rights;
mod rules;
mod tool;
mod traps;
mod worktree;

use serde_json::{Value, json};

use crate::support::record::{Recorded, ToolResult};
use crate::support::run::Finished;
use crate::support::scene::{PARENT, Scene};
use crate::support::script::Reply;

/// The tools that a file-reading, command-running child has by default.
const AGENT_TOOLS: &[&str] = &["AgentTool", "Agent", "Task"];

/// The main agent's second request: the one that carries the children's results.
fn after_calls(scene: &Scene) -> Recorded {
    scene.server.requests_of(PARENT)[1].clone()
}

/// The frames of one kind: `assistant`, or `system/task_started`.
fn frames_of(run: &Finished, kind: &str) -> Vec<Value> {
    let (kind, subtype) = kind.split_once('/').map_or((kind, None), |(k, s)| (k, Some(s)));
    let fits = |frame: &Value| {
        frame["type"] == kind && subtype.is_none_or(|subtype| frame["subtype"] == subtype)
    };
    run.frames().into_iter().filter(fits).collect()
}

/// The log records of one event.
fn log_of(scene: &Scene, event: &str) -> Vec<Value> {
    let log = scene.world.log();
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    records.map(flat).filter(|record| record["event"] == event).collect()
}

/// The fields of a record, wherever the formatter put them.
fn flat(mut record: Value) -> Value {
    if let Some(Value::Object(fields)) = record.get_mut("fields").map(Value::take) {
        for (name, value) in fields {
            record[name] = value;
        }
    }
    record
}

/// The lifecycle tools beside the plain one.
const LIFECYCLE: &str = "[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n";

/// The JSON object that a lifecycle tool answers with.
#[track_caller]
fn answer(result: &ToolResult) -> Value {
    serde_json::from_str(&result.text).unwrap_or_else(|error| panic!("{error}: {result:?}"))
}

/// The ids of the agents that the results of a conversation name, each once, in order.
fn ids(request: &Recorded) -> Vec<String> {
    let body = request.text();
    let mut ids: Vec<String> = Vec::new();
    for rest in body.split("\\\"agent_id\\\":\\\"").skip(1) {
        let id: String = rest.chars().take(36).collect();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// The input of a spawn whose conversation is scripted under `word`.
fn task(word: &str) -> Value {
    json!({ "prompt": format!("{word} look around") })
}

/// One message that spawns these agents.
fn spawns<'a>(words: impl IntoIterator<Item = &'a str>) -> Reply {
    words.into_iter().fold(Reply::stream(), |reply, word| reply.tool_use("agent_spawn", task(word)))
}

/// One agent's request, by its number.
fn request(scene: &Scene, word: &str, index: usize) -> Recorded {
    scene.server.requests_of(word)[index].clone()
}
