//! The frames of `stream-json`, in the shape that the Claude Agent SDK reads.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::control::Served;
use super::conversation::{State, StateReader};
use super::info::SessionInfo;
use super::input::Asked;
use super::totals::Totals;
use super::{result, step};
use crate::protocol::event::{AgentReport, HookRun};
use crate::protocol::{
    AgentEvent, AgentInfo, AgentPath, CompactionState, ContentBlock, End, EventKind, NoticeLevel,
    Outcome, ResultBlock, Sender, SessionId, ToolDetails, ToolUseId, Usage,
};

/// The text of the frame behind an answer that the user has stopped.
const INTERRUPTED: &str = "[Request interrupted by user]";

/// Makes frames of events. Knows which call started which agent.
#[derive(Debug)]
pub struct Frames {
    info: SessionInfo,
    /// What is known of servers.
    served: Served,
    session: Option<SessionId>,
    agents: HashMap<AgentPath, Track>,
    /// The answers that are not whole yet, by their ids: a repeated request makes their frames void.
    open: HashMap<AgentPath, String>,
}

/// A block of an answer, and what its frame tells of the answer.
struct Block<'a> {
    message_id: &'a str,
    model: &'a str,
    block: ContentBlock,
    usage: &'a Usage,
}

/// What is known of one sub-agent.
#[derive(Debug)]
struct Track {
    info: AgentInfo,
    began: Instant,
    tool_uses: u32,
    tokens: u64,
}

impl Track {
    fn usage(&self) -> Value {
        json!({
            "total_tokens": self.tokens,
            "tool_uses": self.tool_uses,
            "duration_ms": millis(self.began.elapsed()),
        })
    }
}

impl Frames {
    /// Frames for a session that is about to be opened.
    #[must_use]
    pub fn new(info: SessionInfo) -> Self {
        let served = Served::default();
        Self { info, served, session: None, agents: HashMap::new(), open: HashMap::new() }
    }

    /// What the first frame will tell of servers.
    pub fn serve(&mut self, served: Served) {
        self.served = served;
    }

    /// The name of an agent, for a person.
    #[must_use]
    pub fn agent_name(&self, path: &AgentPath) -> &str {
        self.agents.get(path).map_or("main", |track| &track.info.name)
    }

    /// The frames that tell of an event; none for what only a screen shows.
    pub fn of(&mut self, event: &AgentEvent) -> Vec<Value> {
        let path = &event.path;
        match &event.kind {
            EventKind::SessionOpened { id, .. } => self.opened(*id),
            EventKind::Started(info) => vec![self.task_started(path, info)],
            // The program that drives us knows what it sent itself.
            EventKind::PromptRead { text, from, .. }
                if !path.is_root() || *from != Sender::Person =>
            {
                vec![self.message(path, "user", &json!({"role": "user", "content": text}))]
            }
            EventKind::Streamed(event) => {
                vec![self.frame(
                    "stream_event",
                    path,
                    json!({"event": step::of(event, &self.info)}),
                )]
            }
            EventKind::TurnStarted { .. } => {
                self.open.remove(path);
                Vec::new()
            }
            EventKind::BlockFinished { message_id, model, block, usage } => {
                self.open.insert(path.clone(), message_id.clone());
                self.assistant(path, Block { message_id, model, block: block.clone(), usage })
            }
            EventKind::BlockCut { message_id, model, text, usage } => {
                let block = ContentBlock::text(text.clone());
                self.assistant(path, Block { message_id, model, block, usage })
            }
            EventKind::Retrying { attempt, limit, wait, reason } => {
                let void = self.open.remove(path);
                vec![self.frame(
                    "system",
                    path,
                    json!({
                        "subtype": "api_retry", "attempt": attempt, "max_retries": limit,
                        "retry_delay_ms": millis(*wait), "error": reason, "void_message_id": void,
                    }),
                )]
            }
            EventKind::TurnFinished { usage, whole, .. } => {
                if let Some(track) = self.agents.get_mut(path) {
                    track.tokens += usage.counted();
                }
                if *whole {
                    self.open.remove(path);
                }
                Vec::new()
            }
            // Nothing is written before the first frame.
            EventKind::HookStarted(run) if self.is_open() => {
                vec![self.frame("system", path, hook_body("hook_started", run))]
            }
            EventKind::HookFinished { hook, outcome, stdout, stderr, exit_code }
                if self.is_open() =>
            {
                let mut frame = self.frame("system", path, hook_body("hook_response", hook));
                frame["outcome"] = json!(outcome);
                frame["output"] = json!(format!("{stdout}{stderr}"));
                frame["stdout"] = json!(stdout);
                frame["stderr"] = json!(stderr);
                frame["exit_code"] = json!(exit_code);
                vec![frame]
            }
            EventKind::ToolStarted { name, summary, .. } => self.task_progress(path, name, summary),
            EventKind::ToolFinished { id, is_error, content, details, .. } => {
                let block = json!({
                    "type": "tool_result", "tool_use_id": id,
                    "content": result_content(content), "is_error": is_error,
                });
                let mut frame =
                    self.message(path, "user", &json!({"role": "user", "content": [block]}));
                if let Some(details) = details.as_ref().and_then(tool_use_result) {
                    frame["tool_use_result"] = details;
                }
                vec![frame]
            }
            EventKind::Compaction { by_hand, state } => self.compaction(path, *by_hand, state),
            EventKind::Notice { level, text } if *level != NoticeLevel::Info => {
                vec![self.notice(path, *level, text)]
            }
            EventKind::AnswerRefused { why, .. } => {
                vec![self.notice(path, NoticeLevel::Error, why)]
            }
            EventKind::Verbatim { name, text } => {
                let body = json!({"subtype": "agent_text", "name": name, "text": text});
                vec![self.frame("system", path, body)]
            }
            EventKind::MovedToBackground => self.task_moved(path),
            EventKind::SessionFailed { why } => vec![self.notice(path, NoticeLevel::Error, why)],
            EventKind::Finished(outcome) if !path.is_root() => self.task_ended(path, outcome),
            EventKind::Finished(outcome) => self.interrupted(&outcome.end),
            _ => Vec::new(),
        }
    }

    /// Whether there is a session to speak of.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// The last frame of a prompt that was worked on.
    #[must_use]
    pub fn result(&self, outcome: &Outcome, totals: &Totals, origin: Option<&Value>) -> Value {
        let body = result::of(outcome, totals, &self.info);
        self.frame("result", &AgentPath::root(), with_origin(body, origin))
    }

    /// The frame that answers a prompt which could not be read.
    #[must_use]
    pub fn refusal(&self, why: &str, totals: &Totals, origin: Option<&Value>) -> Value {
        let body = result::refusal(why, totals, &self.info);
        self.frame("result", &AgentPath::root(), with_origin(body, origin))
    }

    /// The frame of an answer that no model has made.
    #[must_use]
    pub fn own_answer(&self, text: &str) -> Value {
        let message = json!({
            "id": Uuid::now_v7(), "type": "message", "role": "assistant", "model": "<synthetic>",
            "content": [{"type": "text", "text": text}], "stop_reason": null,
            "usage": Usage::default(),
        });
        self.message(&AgentPath::root(), "assistant", &message)
    }

    /// The frame that tells what the run does.
    #[must_use]
    pub(super) fn state(&self, state: State, reader: StateReader) -> Value {
        let mut body = json!({"subtype": "session_state_changed", "state": state.word()});
        // The SDK hands on what has no such mark.
        if reader == StateReader::Sdk {
            body["sdk_host_only"] = json!(true);
        }
        self.frame("system", &AgentPath::root(), body)
    }

    /// A session is open. Where there was another, its last frame says that its conversation is gone.
    fn opened(&mut self, id: SessionId) -> Vec<Value> {
        let replaces = self.session.is_some_and(|before| before != id);
        let reset = replaces.then(|| {
            let body = json!({"new_conversation_id": id});
            self.frame("conversation_reset", &AgentPath::root(), body)
        });
        self.session = Some(id);
        reset.into_iter().chain([self.init()]).collect()
    }

    /// The frame that repeats a prompt, under the id that its sender gave it.
    #[must_use]
    pub(super) fn replay(&self, asked: &Asked) -> Value {
        let message = json!({"role": "user", "content": asked.content()});
        let mut frame = self.message(&AgentPath::root(), "user", &message);
        frame["isReplay"] = true.into();
        if let Some(uuid) = &asked.uuid {
            frame["uuid"] = uuid.as_str().into();
        }
        frame
    }

    fn init(&self) -> Value {
        let SessionInfo {
            cwd,
            model,
            mode,
            tools,
            agents,
            slash_commands,
            skills,
            key_source,
            output_style,
            ..
        } = &self.info;
        let tools = tools.iter().chain(&self.served.tools);
        let tools: Vec<_> = tools.map(|tool| self.info.tool_name(tool)).collect();
        let slash_commands: Vec<_> = slash_commands.iter().map(|command| &command.name).collect();
        let servers = self.served.servers.iter();
        let servers: Vec<_> = servers
            .map(|server| json!({"name": server.name, "status": server.state.word()}))
            .collect();
        self.frame(
            "system",
            &AgentPath::root(),
            json!({
                "subtype": "init", "cwd": cwd, "tools": tools, "agents": agents, "mcp_servers": servers,
                "model": model, "permissionMode": mode, "slash_commands": slash_commands, "skills": skills,
                "apiKeySource": key_source, "output_style": output_style,
                // Of this program; the SDK looks for it under that name.
                "claude_code_version": env!("CARGO_PKG_VERSION"),
            }),
        )
    }

    fn compaction(&self, path: &AgentPath, by_hand: bool, state: &CompactionState) -> Vec<Value> {
        let body = match state {
            CompactionState::Done { before_tokens, after_tokens } => json!({
                "subtype": "compact_boundary",
                "compact_metadata": {
                    "trigger": if by_hand { "manual" } else { "auto" },
                    "pre_tokens": before_tokens, "post_tokens": after_tokens,
                },
            }),
            CompactionState::Failed { why } => json!({
                "subtype": "notice", "level": NoticeLevel::Warning,
                "text": format!("The conversation was not compacted: {why}"),
            }),
            CompactionState::Started | CompactionState::Cancelled => return Vec::new(),
        };
        vec![self.frame("system", path, body)]
    }

    /// The frame of a block. Of sub-agents, what they write and think may stay out.
    fn assistant(&self, path: &AgentPath, block: Block<'_>) -> Vec<Value> {
        let Block { message_id, model, block, usage } = block;
        let is_call = matches!(block, ContentBlock::ToolUse { .. });
        if !path.is_root() && !is_call && !self.info.subagent_text {
            return Vec::new();
        }
        vec![self.message(
            path,
            "assistant",
            &json!({
                "id": message_id, "type": "message", "role": "assistant", "model": model,
                "content": [assistant_block(block, &self.info)], "stop_reason": null, "usage": usage,
            }),
        )]
    }

    /// What programs look for where the user has stopped a run.
    fn interrupted(&self, end: &End) -> Vec<Value> {
        let End::Cancelled { .. } = end else { return Vec::new() };
        let content = json!([{"type": "text", "text": INTERRUPTED}]);
        let message = json!({"role": "user", "content": content});
        vec![self.message(&AgentPath::root(), "user", &message)]
    }

    fn task_started(&mut self, path: &AgentPath, info: &AgentInfo) -> Value {
        let track = Track { info: info.clone(), began: Instant::now(), tool_uses: 0, tokens: 0 };
        self.agents.insert(path.clone(), track);
        self.frame(
            "system",
            path,
            json!({
                "subtype": "task_started", "task_id": path.id(), "tool_use_id": info.tool_use_id,
                "description": info.description, "task_type": "local_agent",
                "subagent_type": info.agent, "prompt": info.prompt,
                "is_backgrounded": info.background,
            }),
        )
    }

    fn task_progress(&mut self, path: &AgentPath, tool: &str, summary: &str) -> Vec<Value> {
        let Some(track) = self.agents.get_mut(path) else { return Vec::new() };
        let tool = self.info.call_name(tool);
        track.tool_uses += 1;
        let body = json!({
            "subtype": "task_progress", "task_id": path.id(),
            "tool_use_id": track.info.tool_use_id, "description": format!("{tool} {summary}"),
            "usage": track.usage(), "last_tool_name": tool,
        });
        vec![self.frame("system", path, body)]
    }

    fn task_moved(&mut self, path: &AgentPath) -> Vec<Value> {
        let body = json!({
            "subtype": "task_updated", "task_id": path.id(), "patch": {"is_backgrounded": true},
        });
        vec![self.frame("system", path, body)]
    }

    fn task_ended(&mut self, path: &AgentPath, outcome: &Outcome) -> Vec<Value> {
        let Some(track) = self.agents.get(path) else { return Vec::new() };
        let status = match outcome.end {
            End::Completed => "completed",
            End::Cancelled { .. } => "stopped",
            _ => "failed",
        };
        let tool_use_id = track.info.tool_use_id.clone();
        let updated = json!({
            "subtype": "task_updated", "task_id": path.id(),
            "patch": {"status": status, "end_time": Timestamp::now().as_millisecond()},
        });
        let notification = json!({
            "subtype": "task_notification", "task_id": path.id(), "tool_use_id": tool_use_id,
            "status": status, "output_file": "", "summary": outcome.text, "usage": track.usage(),
        });
        let frames =
            vec![self.frame("system", path, updated), self.frame("system", path, notification)];
        // Its last event: a session that starts many agents must not keep them all. A resume starts it anew.
        self.agents.remove(path);
        self.open.remove(path);
        frames
    }

    /// A frame that carries a message.
    fn message(&self, path: &AgentPath, kind: &str, message: &Value) -> Value {
        self.frame(kind, path, json!({"message": message}))
    }

    fn notice(&self, path: &AgentPath, level: NoticeLevel, text: &str) -> Value {
        let body = json!({"subtype": "notice", "level": level, "text": text});
        self.frame("system", path, body)
    }

    /// A frame with the fields that all frames have.
    fn frame(&self, kind: &str, path: &AgentPath, body: Value) -> Value {
        let mut frame = Map::new();
        frame.insert("type".to_owned(), kind.into());
        if let Value::Object(body) = body {
            frame.extend(body);
        }
        let parent: Option<&ToolUseId> = self.agents.get(path).map(|track| &track.info.tool_use_id);
        frame.insert("parent_tool_use_id".to_owned(), json!(parent));
        frame.insert("session_id".to_owned(), json!(self.session));
        frame.insert("uuid".to_owned(), json!(Uuid::now_v7()));
        frame.insert("timestamp".to_owned(), json!(Timestamp::now()));
        Value::Object(frame)
    }
}

/// A result that says whose prompt it answers, where its program has said so.
fn with_origin(mut body: Value, origin: Option<&Value>) -> Value {
    if let Some(origin) = origin {
        body["origin"] = origin.clone();
    }
    body
}

/// What frames about a hook have in common.
fn hook_body(subtype: &str, run: &HookRun) -> Value {
    json!({
        "subtype": subtype, "hook_id": run.id, "hook_name": run.name,
        "hook_event": run.event.name(),
    })
}

/// A block as the SDK reads it.
fn assistant_block(block: ContentBlock, info: &SessionInfo) -> Value {
    match block {
        ContentBlock::ToolUse { id, name, input, .. } => {
            let name = info.call_name(&name);
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        // The SDK demands a signature, which other wires do not have.
        ContentBlock::Thinking { thinking, signature } => {
            json!({"type": "thinking", "thinking": thinking, "signature": signature})
        }
        other => json!(other),
    }
}

/// One text stays a string; everything else is a list of blocks.
fn result_content(content: &[ResultBlock]) -> Value {
    if let [ResultBlock::Text { text }] = content {
        return json!(text);
    }
    let blocks = content.iter().map(|block| match block {
        ResultBlock::Text { text } => json!({"type": "text", "text": text}),
        ResultBlock::Image { source } => json!({
            "type": "image",
            "source": {"type": "base64", "media_type": source.media_type, "data": source.data},
        }),
    });
    blocks.collect()
}

fn tool_use_result(details: &ToolDetails) -> Option<Value> {
    let report = match details {
        ToolDetails::Agent(report) => report.as_ref(),
        ToolDetails::Violation { violation, depth, limit } => {
            let boundary = json!({"kind": violation, "depth": depth, "limit": limit});
            return Some(json!({"autonomy_boundary": boundary}));
        }
        // The result's text says it.
        ToolDetails::Reported { .. } | ToolDetails::Denied(_) => return None,
        ToolDetails::Diff { .. } | ToolDetails::Todos { .. } | ToolDetails::Command { .. } => {
            return serde_json::to_value(details).ok();
        }
    };
    let AgentReport { agent_id, name, status, turns, tool_uses, usage, cost, duration_ms, .. } =
        report;
    Some(json!({
        "status": status_word(status), "end": status, "agentId": agent_id, "name": name,
        "totalDurationMs": duration_ms, "totalTokens": usage.counted(),
        "totalToolUseCount": tool_uses, "turns": turns, "usage": usage, "costUSD": cost.usd,
        "shown": report.shown, "total": report.total,
    }))
}

fn status_word(end: &End) -> &'static str {
    match end {
        End::Completed => "completed",
        End::Cancelled { .. } => "cancelled",
        _ => "failed",
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
