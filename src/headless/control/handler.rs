//! Answers control requests while agents work.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::info::{LimitsLookup, SessionInfo, SlashCommand};
use super::request::{ControlAction, ControlRequest};
use crate::protocol::{
    AgentEvent, AgentId, Command, CompactionState, EventKind, McpStatus, PermissionMode,
};

/// The services that the composition root provides.
#[async_trait]
pub trait ControlBackend: Send + Sync {
    /// Whether a model of this name can answer; the error is one line.
    async fn check_model(&self, name: &str) -> Result<(), String>;

    /// Whether agents may be in this mode; the error is one line.
    fn check_mode(&self, _mode: PermissionMode) -> Result<(), String> {
        Ok(())
    }

    /// Returns the MCP servers and their state, in the SDK's format.
    fn mcp_servers(&self) -> Vec<Value>;

    /// Returns the commands and skills that can be called now.
    async fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    /// Whether a prompt calls a command or skill, even a broken one.
    async fn is_command(&self, _prompt: &str) -> bool {
        false
    }

    /// Returns the servers and their tools, once all are up or have failed, or after a few seconds.
    async fn mcp_inventory(&self) -> McpInventory {
        McpInventory::default()
    }
}

/// The MCP servers and tools that the first frame lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpInventory {
    pub servers: Vec<McpStatus>,
    /// The names of their tools, as models see them.
    pub tools: Vec<String>,
}

/// The state of the session for answering control requests.
pub struct ControlHandler {
    commands: mpsc::Sender<Command>,
    backend: Arc<dyn ControlBackend>,
    context: ContextUsage,
    /// The initial model.
    model: String,
    /// Sub-agents that have not ended.
    running: HashSet<AgentId>,
}

impl ControlHandler {
    /// Creates the handler of a new session.
    pub fn new(
        commands: mpsc::Sender<Command>,
        backend: Arc<dyn ControlBackend>,
        info: &SessionInfo,
    ) -> Self {
        let model = info.model.clone();
        let context = ContextUsage::new(model.clone(), info.limits.clone());
        Self { commands, backend, context, model, running: HashSet::new() }
    }

    /// The services that the composition root provides.
    pub fn backend(&self) -> Arc<dyn ControlBackend> {
        self.backend.clone()
    }

    /// Describes the main agent's context usage in one line.
    pub fn context(&self) -> String {
        self.context.text()
    }

    /// Records what a later request may need.
    pub fn event(&mut self, event: &AgentEvent) {
        let Some(id) = event.path.id() else { return self.context.event(event) };
        match &event.kind {
            EventKind::Started(_) => {
                self.running.insert(id);
            }
            EventKind::Finished(_) => {
                self.running.remove(&id);
            }
            _ => {}
        }
    }

    /// Carries out a request. The error says why it failed.
    pub async fn answer(&mut self, request: &ControlRequest) -> Result<Value, String> {
        match request.action()? {
            ControlAction::Initialize => {
                return Err("initialize must be the first line of stdin".to_owned());
            }
            ControlAction::Interrupt => self.send(Command::CancelTurn).await,
            ControlAction::SetPermissionMode(mode) => {
                self.backend.check_mode(mode)?;
                self.send(Command::SetMode { mode, answers: true }).await;
            }
            ControlAction::SetModel(name) => {
                let model = name.unwrap_or_else(|| self.model.clone());
                self.backend.check_model(&model).await?;
                self.send(Command::SetModel { provider: None, model }).await;
            }
            ControlAction::McpStatus => {
                return Ok(json!({"mcpServers": self.backend.mcp_servers()}));
            }
            ControlAction::ContextUsage => return Ok(self.context.report()),
            ControlAction::StopTask(task) => {
                let id = task.parse().ok().filter(|id| self.running.contains(id));
                let id = id.ok_or_else(|| {
                    format!("stop_task: no task `{}` is running", task.escape_debug())
                })?;
                self.send(Command::Cancel(id)).await;
            }
        }
        Ok(json!({}))
    }

    async fn send(&self, command: Command) {
        // A closed channel means that the runtime is gone; the caller notices that.
        let _ = self.commands.send(command).await;
    }
}

/// The context usage reported by the main agent's last request.
#[derive(Debug)]
struct ContextUsage {
    model: String,
    /// Tokens, as counted by the provider; 0 before the first answer.
    used: u64,
    limits: LimitsLookup,
}

impl ContextUsage {
    /// Starts with an empty conversation.
    pub fn new(model: String, limits: LimitsLookup) -> Self {
        Self { model, used: 0, limits }
    }

    /// Updates the usage from an event of the main agent.
    pub fn event(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::TurnFinished { usage, model, whole: true, .. } => {
                self.model.clone_from(model);
                self.used = usage.context();
            }
            EventKind::SessionOpened { history, .. } => {
                self.used = 0;
                history
                    .iter()
                    .filter(|event| event.path.is_root())
                    .for_each(|event| self.event(event));
            }
            EventKind::ModelChanged { model, .. } => self.model.clone_from(model),
            EventKind::Compaction { state: CompactionState::Done { after_tokens, .. }, .. } => {
                self.used = *after_tokens;
            }
            _ => {}
        }
    }

    /// Describes the usage in one line.
    pub fn text(&self) -> String {
        let Self { model, used, .. } = self;
        let window = self.limits.get(model).context_window;
        let percent = (used * 100).checked_div(window).unwrap_or(0);
        format!("Context: {used} of {window} tokens ({percent} %), model {model}")
    }

    /// Returns the usage in the SDK's format. Providers report one number for the whole
    /// conversation, so it has one category.
    pub fn report(&self) -> Value {
        let window = self.limits.get(&self.model).context_window;
        let free = window.saturating_sub(self.used);
        // Two decimals are enough.
        #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^52 tokens")]
        let percentage = match window {
            0 => 0.0,
            _ => (self.used as f64 * 10_000.0 / window as f64).round() / 100.0,
        };
        json!({
            "categories": [
                {"name": "Conversation", "tokens": self.used, "color": "blue"},
                {"name": "Free space", "tokens": free, "color": "gray"},
            ],
            "totalTokens": self.used, "maxTokens": window, "rawMaxTokens": window,
            "percentage": percentage, "model": self.model, "isAutoCompactEnabled": true,
            "memoryFiles": [], "mcpTools": [], "agents": [], "gridRows": [],
        })
    }
}
