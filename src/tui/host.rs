//! What the screen needs from outside besides agents: files, definitions, stored sessions, an editor.

use async_trait::async_trait;

use crate::protocol::{McpStatus, SessionId};

/// Serves what the screen may not fetch itself. All calls may be dropped before they are done.
#[async_trait]
pub trait Host: Send + Sync {
    /// Paths below the working directory that fit the query, best first, at most fifty.
    async fn files(&self, query: &str) -> Vec<String>;
    /// Sub-agent definitions.
    async fn agents(&self) -> Vec<AgentChoice>;
    /// Commands and skills of the person and the project, by name.
    async fn commands(&self) -> Vec<CommandChoice>;
    /// Stored sessions of this project, newest first.
    async fn sessions(&self) -> Vec<SessionChoice>;
    /// Models that can be picked.
    async fn models(&self) -> ModelList;
    /// Model servers on this machine that answer on the ports that they usually take.
    async fn local_servers(&self) -> Vec<LocalServer>;
    /// What works and what does not, one line each.
    async fn examine(&self) -> Vec<String>;
    /// The MCP servers of the session and how each stands.
    async fn mcp_servers(&self) -> McpServers;
    /// The git branch of the working directory.
    async fn branch(&self) -> Option<String>;
    /// Opens the draft in the person's editor and answers with what was saved, or why it could not be.
    /// The terminal is in its normal state meanwhile.
    async fn edit(&self, draft: &str) -> Result<String, String>;
    /// Keeps a prompt in the history.
    async fn remember(&self, prompt: &str);
}

/// A sub-agent definition as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentChoice {
    pub name: String,
    pub description: String,
    /// The tools that it gets, in words.
    pub tools: String,
    /// The model that it works with, in words.
    pub model: String,
    /// Where it was found, such as `built in` or a file.
    pub origin: String,
}

/// A command or skill that people have written, as the menu shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandChoice {
    /// What stands behind the slash.
    pub name: String,
    pub description: String,
    /// What may follow the name.
    pub argument_hint: Option<String>,
}

/// A stored session as the picker shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionChoice {
    pub id: SessionId,
    /// Its first prompt, on one line.
    pub title: String,
    /// Age and size, such as `2026-05-06 09:30Z · 6 messages`.
    pub detail: String,
}

/// A model as the picker shows it.
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
    /// Why some may be missing, one a line.
    pub notes: Vec<String>,
}

/// A model server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// As a person calls it, such as `llama.cpp`.
    pub name: String,
    pub models: Vec<String>,
    /// The provider of its models.
    pub provider: String,
}

/// MCP servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServers {
    /// Those of the session.
    pub running: Vec<McpStatus>,
    /// What there is to say of others, one line each: not trusted, or wrongly defined.
    pub notes: Vec<String>,
}

/// What `update` asks of the host.
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

/// What came of it.
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

/// Asks the host and packs its answer.
pub async fn ask(host: &dyn Host, request: HostRequest) -> HostReply {
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
        HostRequest::Doctor => HostReply::Doctor(host.examine().await),
        HostRequest::McpServers => HostReply::McpServers(host.mcp_servers().await),
        HostRequest::Branch => HostReply::Branch(host.branch().await),
        HostRequest::Remember(prompt) => {
            host.remember(&prompt).await;
            HostReply::Remembered
        }
    }
}
