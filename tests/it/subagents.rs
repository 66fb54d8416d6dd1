//! Sub-agents as requirements: each test is named after the one that it shows.

mod background;
mod channels;
mod comms;
mod definitions;
mod ends;
mod env;
mod errors;
mod fault;
mod flood;
mod frames;
mod guide;
mod host;
mod hostile;
mod invariants;
mod log;
mod mention;
mod models;
mod reload;
mod resume;
mod rights;
mod tool;
mod traps;
mod worktree;

use serde_json::Value;

use crate::support::record::Recorded;
use crate::support::run::Finished;
use crate::support::scene::{PARENT, Scene};

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
