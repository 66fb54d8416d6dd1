//! Answers control requests while agents work.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::info::{SessionInfo, SlashCommand};
use super::context::Context;
use super::request::{Ask, Request};
use crate::protocol::{AgentEvent, AgentId, Command, EventKind, McpStatus, Mode};

/// What only the composition root knows.
#[async_trait]
pub trait Backstage: Send + Sync {
    /// Whether a model of this name can answer; the error is one line.
    async fn check_model(&self, name: &str) -> Result<(), String>;

    /// Whether agents may be in this mode; the error is one line.
    fn check_mode(&self, _mode: Mode) -> Result<(), String> {
        Ok(())
    }

    /// The MCP servers and their state, in the shape that the SDK reads.
    fn mcp_servers(&self) -> Vec<Value>;

    /// The commands and skills that can be called now.
    async fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    /// Whether a prompt calls a command or skill, be it a broken one.
    async fn expands(&self, _prompt: &str) -> bool {
        false
    }

    /// What servers offer, once they are up or have failed, or after a few seconds at the latest.
    async fn served(&self) -> Served {
        Served::default()
    }
}

/// What the first frame tells of MCP servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    pub servers: Vec<McpStatus>,
    /// The names of their tools, as models see them.
    pub tools: Vec<String>,
}

/// What is known of the session to answer requests with.
pub(in crate::headless) struct Desk {
    commands: mpsc::Sender<Command>,
    backstage: Arc<dyn Backstage>,
    context: Context,
    /// The model of the start.
    model: String,
    /// Sub-agents that have not ended.
    running: HashSet<AgentId>,
}

impl Desk {
    /// A desk for a session that begins like this.
    pub fn new(
        commands: mpsc::Sender<Command>,
        backstage: Arc<dyn Backstage>,
        info: &SessionInfo,
    ) -> Self {
        let model = info.model.clone();
        let context = Context::new(model.clone(), info.limits.clone());
        Self { commands, backstage, context, model, running: HashSet::new() }
    }

    /// What only the composition root knows.
    pub fn backstage(&self) -> Arc<dyn Backstage> {
        self.backstage.clone()
    }

    /// How full the main agent's window is, in words.
    pub fn context(&self) -> String {
        self.context.text()
    }

    /// Keeps what a later request may ask for.
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

    /// Does what a request asks for. The error says why it cannot be done.
    pub async fn answer(&mut self, request: &Request) -> Result<Value, String> {
        match request.ask()? {
            Ask::Initialize => {
                return Err("initialize must be the first line of stdin".to_owned());
            }
            Ask::Interrupt => self.send(Command::CancelTurn).await,
            Ask::SetPermissionMode(mode) => {
                self.backstage.check_mode(mode)?;
                self.send(Command::SetMode(mode)).await;
            }
            Ask::SetModel(name) => {
                let model = name.unwrap_or_else(|| self.model.clone());
                self.backstage.check_model(&model).await?;
                self.send(Command::SetModel { provider: None, model }).await;
            }
            Ask::McpStatus => return Ok(json!({"mcpServers": self.backstage.mcp_servers()})),
            Ask::ContextUsage => return Ok(self.context.report()),
            Ask::StopTask(task) => {
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
        // A closed channel means that the runtime is gone, which the caller watches.
        let _ = self.commands.send(command).await;
    }
}
