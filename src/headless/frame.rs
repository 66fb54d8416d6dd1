//! The frames of `stream-json`, in the format of the Claude Agent SDK.

use std::collections::HashMap;
use std::time::Instant;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::control::McpInventory;
use super::info::{SessionInfo, SessionState, StateReader};
use super::input::PromptInput;
use super::result::{self, Totals, millis};
use super::stream_event;
use crate::protocol::{
    AgentEvent, AgentInfo, AgentPath, AgentReport, CompactionState, ContentBlock, EventKind,
    HookRunInfo, NoticeLevel, ResultBlock, RunEnd, RunOutcome, Sender, SessionId, ToolDetails,
    ToolUseId, Usage,
};

/// The text of the frame after an answer that the user has stopped.
const INTERRUPTED: &str = "[Request interrupted by user]";

/// Converts events to frames. Tracks which call started which agent.
#[derive(Debug)]
pub struct Frames {
    info: SessionInfo,
    /// The servers and tools for the first frame.
    inventory: McpInventory,
    session: Option<SessionId>,
    agents: HashMap<AgentPath, TaskProgress>,
    /// The ids of incomplete answers: retrying a request voids their frames.
    open: HashMap<AgentPath, String>,
}

/// A block of an answer, with the answer's fields for its frame.
struct FrameBlock<'a> {
    message_id: &'a str,
    model: &'a str,
    block: ContentBlock,
    usage: &'a Usage,
}

/// The progress of one sub-agent.
#[derive(Debug)]
struct TaskProgress {
    info: AgentInfo,
    began: Instant,
    tool_uses: u32,
    tokens: u64,
}

impl TaskProgress {
    fn usage(&self) -> Value {
        json!({
            "total_tokens": self.tokens,
            "tool_uses": self.tool_uses,
            "duration_ms": millis(self.began.elapsed()),
        })
    }
}

impl Frames {
    /// Creates the converter for a session that is about to be opened.
    pub fn new(info: SessionInfo) -> Self {
        Self {
            info,
            inventory: McpInventory::default(),
            session: None,
            agents: HashMap::new(),
            open: HashMap::new(),
        }
    }

    /// Sets the servers and tools for the first frame.
    pub fn set_inventory(&mut self, inventory: McpInventory) {
        self.inventory = inventory;
    }

    /// Returns the display name of an agent.
    pub fn agent_name(&self, path: &AgentPath) -> &str {
        self.agents.get(path).map_or("main", |track| &track.info.name)
    }

    /// Converts an event to frames; none for events that only a screen shows.
    pub fn encode(&mut self, event: &AgentEvent) -> Vec<Value> {
        let path = &event.path;
        match &event.kind {
            EventKind::SessionOpened { id, .. } => self.opened(*id),
            EventKind::Started(info) => vec![self.task_started(path, info)],
            // The driving program knows its own prompts.
            EventKind::PromptRead { text, from, .. }
                if !path.is_root() || *from != Sender::Person =>
            {
                vec![self.message(path, "user", &json!({"role": "user", "content": text}))]
            }
            EventKind::Streamed(event) => {
                let body = json!({"event": stream_event::to_json(event, &self.info)});
                vec![self.frame("stream_event", path, body)]
            }
            EventKind::TurnStarted { .. } => {
                self.open.remove(path);
                Vec::new()
            }
            // For the first frame of the next session.
            EventKind::ModelChanged { model, .. } if path.is_root() => {
                self.info.model.clone_from(model);
                Vec::new()
            }
            EventKind::ModeChanged { mode } if path.is_root() => {
                self.info.mode = *mode;
                Vec::new()
            }
            EventKind::BlockFinished { message_id, model, block, usage } => {
                self.open.insert(path.clone(), message_id.clone());
                self.assistant(path, FrameBlock { message_id, model, block: block.clone(), usage })
            }
            EventKind::BlockCut { message_id, model, text, usage } => {
                let block = ContentBlock::text(text.clone());
                self.assistant(path, FrameBlock { message_id, model, block, usage })
            }
            EventKind::Retrying { attempt, limit, wait, reason, .. } => {
                let void = self.open.remove(path);
                let body = json!({
                    "subtype": "api_retry", "attempt": attempt, "max_retries": limit,
                    "retry_delay_ms": millis(*wait), "error": reason, "void_message_id": void,
                });
                vec![self.frame("system", path, body)]
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
            EventKind::HookStarted(_) | EventKind::HookFinished { .. } if !self.is_open() => {
                Vec::new()
            }
            EventKind::ToolStarted { name, summary, .. } => self.task_progress(path, name, summary),
            EventKind::ToolFinished { id, is_error, content, details, .. } => {
                let block = json!({
                    "type": "tool_result", "tool_use_id": id,
                    "content": result_content(content), "is_error": is_error,
                });
                vec![self.tool_result(path, &block, details.as_ref())]
            }
            EventKind::Finished(outcome) if !path.is_root() => self.task_ended(path, outcome),
            EventKind::Finished(outcome) => self.interrupted(&outcome.end),
            other => {
                let body = system_body(path, other);
                body.map(|body| self.frame("system", path, body)).into_iter().collect()
            }
        }
    }

    /// Whether a session is open.
    pub fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// Returns the last frame of a prompt.
    pub fn result(&self, outcome: &RunOutcome, totals: &Totals, origin: Option<&Value>) -> Value {
        let body = result::to_json(outcome, totals, &self.info);
        self.frame("result", &AgentPath::root(), with_origin(body, origin))
    }

    /// Returns the result frame of a prompt that could not be read.
    pub fn refusal(&self, why: &str, totals: &Totals, origin: Option<&Value>) -> Value {
        let body = result::refusal(why, totals, &self.info);
        self.frame("result", &AgentPath::root(), with_origin(body, origin))
    }

    /// Returns the frame of an answer that no model has given.
    pub fn own_answer(&self, text: &str) -> Value {
        let message = json!({
            "id": Uuid::now_v7(), "type": "message", "role": "assistant", "model": "<synthetic>",
            "content": [{"type": "text", "text": text}], "stop_reason": null,
            "usage": Usage::default(),
        });
        self.message(&AgentPath::root(), "assistant", &message)
    }

    /// Returns the frame that reports the state of the run.
    pub(super) fn state(&self, state: SessionState, reader: StateReader) -> Value {
        let mut body = json!({"subtype": "session_state_changed", "state": state});
        // The SDK forwards frames without this mark.
        if reader == StateReader::Sdk {
            body["sdk_host_only"] = json!(true);
        }
        self.frame("system", &AgentPath::root(), body)
    }

    /// Starts a session. A previous one ends with a frame that says so.
    fn opened(&mut self, id: SessionId) -> Vec<Value> {
        let replaces = self.session.is_some_and(|before| before != id);
        let reset = replaces.then(|| {
            let body = json!({"new_conversation_id": id});
            self.frame("conversation_reset", &AgentPath::root(), body)
        });
        self.session = Some(id);
        reset.into_iter().chain([self.init()]).collect()
    }

    /// Returns the frame that repeats a prompt, with its sender's id.
    pub(super) fn replay(&self, prompt: &PromptInput) -> Value {
        let message = json!({"role": "user", "content": prompt.content()});
        let mut frame = self.message(&AgentPath::root(), "user", &message);
        frame["isReplay"] = true.into();
        if let Some(uuid) = &prompt.uuid {
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
        let tools = tools.iter().chain(&self.inventory.tools);
        let tools: Vec<_> = tools.map(|tool| self.info.tool_name(tool)).collect();
        let slash_commands: Vec<_> = slash_commands.iter().map(|command| &command.name).collect();
        let servers = self.inventory.servers.iter();
        let servers: Vec<_> = servers
            .map(|server| json!({"name": server.name, "status": server.state.label()}))
            .collect();
        self.frame(
            "system",
            &AgentPath::root(),
            json!({
                "subtype": "init", "cwd": cwd, "tools": tools, "agents": agents, "mcp_servers": servers,
                "model": model, "permissionMode": mode, "slash_commands": slash_commands, "skills": skills,
                "apiKeySource": key_source, "output_style": output_style,
                // The version of this program; the SDK expects it under that name.
                "claude_code_version": env!("CARGO_PKG_VERSION"),
            }),
        )
    }

    /// Returns the frame of a block. Text and thinking of sub-agents may be left out.
    fn assistant(&self, path: &AgentPath, block: FrameBlock<'_>) -> Vec<Value> {
        let FrameBlock { message_id, model, block, usage } = block;
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

    fn tool_result(&self, path: &AgentPath, block: &Value, details: Option<&ToolDetails>) -> Value {
        let mut frame = self.message(path, "user", &json!({"role": "user", "content": [block]}));
        if let Some(details) = details.and_then(tool_use_result) {
            frame["tool_use_result"] = details;
        }
        frame
    }

    /// Returns the frame that programs expect when the user has stopped a run.
    fn interrupted(&self, end: &RunEnd) -> Vec<Value> {
        let RunEnd::Cancelled { .. } = end else { return Vec::new() };
        let content = json!([{"type": "text", "text": INTERRUPTED}]);
        let message = json!({"role": "user", "content": content});
        vec![self.message(&AgentPath::root(), "user", &message)]
    }

    fn task_started(&mut self, path: &AgentPath, info: &AgentInfo) -> Value {
        let track =
            TaskProgress { info: info.clone(), began: Instant::now(), tool_uses: 0, tokens: 0 };
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

    fn task_ended(&mut self, path: &AgentPath, outcome: &RunOutcome) -> Vec<Value> {
        let Some(track) = self.agents.get(path) else { return Vec::new() };
        let status = match outcome.end {
            RunEnd::Completed => "completed",
            RunEnd::Cancelled { .. } => "stopped",
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
        // This is its last event. Drop it, because a session may start many agents; resuming starts it again.
        self.agents.remove(path);
        self.open.remove(path);
        frames
    }

    /// Returns a frame that carries a message.
    fn message(&self, path: &AgentPath, kind: &str, message: &Value) -> Value {
        self.frame(kind, path, json!({"message": message}))
    }

    /// Returns a frame with the fields that all frames share.
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

/// Adds the origin of the prompt, if its program gave one.
fn with_origin(mut body: Value, origin: Option<&Value>) -> Value {
    if let Some(origin) = origin {
        body["origin"] = origin.clone();
    }
    body
}

/// Returns the body of a frame that needs nothing but its event.
fn system_body(path: &AgentPath, event: &EventKind) -> Option<Value> {
    let notice = |level, text: &str| json!({"subtype": "notice", "level": level, "text": text});
    Some(match event {
        EventKind::HookStarted(run) => hook_body("hook_started", run),
        EventKind::HookFinished { hook, outcome, stdout, stderr, exit_code } => {
            let mut body = hook_body("hook_response", hook);
            body["outcome"] = json!(outcome);
            body["output"] = json!(format!("{stdout}{stderr}"));
            body["stdout"] = json!(stdout);
            body["stderr"] = json!(stderr);
            body["exit_code"] = json!(exit_code);
            body
        }
        EventKind::Compaction { by_hand, state } => match state {
            CompactionState::Done { before_tokens, after_tokens } => json!({
                "subtype": "compact_boundary",
                "compact_metadata": {
                    "trigger": if *by_hand { "manual" } else { "auto" },
                    "pre_tokens": before_tokens, "post_tokens": after_tokens,
                },
            }),
            CompactionState::Failed { why } => {
                let text = format!("The conversation was not compacted: {why}");
                notice(NoticeLevel::Warning, &text)
            }
            CompactionState::Started | CompactionState::Cancelled => return None,
        },
        EventKind::Notice { level, text } if *level != NoticeLevel::Info => notice(*level, text),
        EventKind::AnswerRefused { why, .. } | EventKind::SessionFailed { why } => {
            notice(NoticeLevel::Error, why)
        }
        EventKind::Verbatim { name, text } => {
            json!({"subtype": "agent_text", "name": name, "text": text})
        }
        EventKind::MovedToBackground => json!({
            "subtype": "task_updated", "task_id": path.id(), "patch": {"is_backgrounded": true},
        }),
        _ => return None,
    })
}

/// Returns the fields that all frames about a hook share.
fn hook_body(subtype: &str, run: &HookRunInfo) -> Value {
    json!({
        "subtype": subtype, "hook_id": run.id, "hook_name": run.name,
        "hook_event": run.event.name(),
    })
}

/// Converts a block to the SDK's format.
fn assistant_block(block: ContentBlock, info: &SessionInfo) -> Value {
    match block {
        ContentBlock::ToolUse { id, name, input, .. } => {
            let name = info.call_name(&name);
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        // The SDK requires a signature, which other wires do not have.
        ContentBlock::Thinking { thinking, signature } => {
            json!({"type": "thinking", "thinking": thinking, "signature": signature})
        }
        other => json!(other),
    }
}

/// Converts a result: a single text becomes a string, everything else a list of blocks.
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
        ResultBlock::Document { source, .. } => json!({
            "type": "document",
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
        // The result's text contains it.
        ToolDetails::Reported { .. } | ToolDetails::Denied(_) | ToolDetails::ForModel => {
            return None;
        }
        ToolDetails::Diff { .. }
        | ToolDetails::Todos { .. }
        | ToolDetails::Command { .. }
        | ToolDetails::Background { .. }
        | ToolDetails::Plan { .. } => {
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

fn status_word(end: &RunEnd) -> &'static str {
    match end {
        RunEnd::Completed => "completed",
        RunEnd::Cancelled { .. } => "cancelled",
        _ => "failed",
    }
}

#[cfg(test)]
mod tests;
