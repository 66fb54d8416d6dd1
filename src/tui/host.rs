//! Services the screen needs besides agents: files, definitions, stored sessions, an editor.

use async_trait::async_trait;

use crate::protocol::{McpStatus, SessionId};

/// Provides data that the screen must not fetch itself. All calls must be cancel safe.
#[async_trait]
pub trait ScreenHost: Send + Sync {
    /// Paths below the working directory that match the query, best first, up to 50.
    async fn files(&self, query: &str) -> Vec<String>;
    /// Sub-agent definitions.
    async fn agents(&self) -> Vec<AgentChoice>;
    /// Commands and skills of the user and the project, by name.
    async fn commands(&self) -> Vec<CommandChoice>;
    /// Stored sessions of this project, newest first.
    async fn sessions(&self) -> Vec<SessionChoice>;
    /// Models that can be picked.
    async fn models(&self) -> ModelList;
    /// Model servers on this machine that respond on their usual ports.
    async fn local_servers(&self) -> Vec<LocalServer>;
    /// Results of the checks of `/doctor`, one per line.
    async fn doctor(&self) -> Vec<String>;
    /// The MCP servers of the session and their states.
    async fn mcp_servers(&self) -> McpServers;
    /// The git branch of the working directory.
    async fn branch(&self) -> Option<String>;
    /// Opens the draft in the user's editor and returns the saved text or an error message. The terminal
    /// is in its normal state meanwhile.
    async fn edit(&self, draft: &str) -> Result<String, String>;
    /// Keeps a prompt in the history.
    async fn remember(&self, prompt: &str);
}

/// A sub-agent definition for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentChoice {
    pub name: String,
    pub description: String,
    /// Its tools, as text.
    pub tools: String,
    /// Its model, as text.
    pub model: String,
    /// Where it was found, such as `built in` or a file.
    pub origin: String,
}

/// A custom command or skill for the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandChoice {
    /// The name after the slash.
    pub name: String,
    pub description: String,
    /// A hint for the arguments.
    pub argument_hint: Option<String>,
}

/// A stored session for the picker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionChoice {
    pub id: SessionId,
    /// Its first prompt, on one line.
    pub title: String,
    /// Age and size, such as `2026-05-06 09:30Z · 6 messages`.
    pub detail: String,
}

/// A model for the picker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    pub provider: String,
    pub name: String,
    pub detail: String,
}

/// The models that can be picked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelList {
    pub choices: Vec<ModelChoice>,
    /// Reasons why some may be missing, one per line.
    pub notes: Vec<String>,
}

/// A model server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Its common name, such as `llama.cpp`.
    pub name: String,
    pub models: Vec<String>,
    /// The provider of its models.
    pub provider: String,
}

/// MCP servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServers {
    /// The servers of the session.
    pub running: Vec<McpStatus>,
    /// Notes on other servers, one line each: not trusted, or with errors in the definition.
    pub notes: Vec<String>,
}

/// A request from `update` to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostRequest {
    Files(String),
    Agents,
    Commands,
    Sessions,
    Models,
    LocalServers,
    Doctor,
    McpServers,
    Branch,
    Remember(String),
}

/// The host's reply to a [`HostRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostReply {
    Files { query: String, paths: Vec<String> },
    Agents(Vec<AgentChoice>),
    Commands(Vec<CommandChoice>),
    Sessions(Vec<SessionChoice>),
    Models(ModelList),
    LocalServers(Vec<LocalServer>),
    Doctor(Vec<String>),
    McpServers(McpServers),
    Branch(Option<String>),
    Edited(Result<String, String>),
    Remembered,
}

/// Sends a request to the host and returns its reply.
pub async fn ask_host(host: &dyn ScreenHost, request: HostRequest) -> HostReply {
    match request {
        HostRequest::Files(query) => {
            let paths = host.files(&query).await;
            HostReply::Files { query, paths }
        }
        HostRequest::Agents => HostReply::Agents(host.agents().await),
        HostRequest::Commands => HostReply::Commands(host.commands().await),
        HostRequest::Sessions => HostReply::Sessions(host.sessions().await),
        HostRequest::Models => HostReply::Models(host.models().await),
        HostRequest::LocalServers => HostReply::LocalServers(host.local_servers().await),
        HostRequest::Doctor => HostReply::Doctor(host.doctor().await),
        HostRequest::McpServers => HostReply::McpServers(host.mcp_servers().await),
        HostRequest::Branch => HostReply::Branch(host.branch().await),
        HostRequest::Remember(prompt) => {
            host.remember(&prompt).await;
            HostReply::Remembered
        }
    }
}
