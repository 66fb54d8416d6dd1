//! Services the screen needs besides agents: files, definitions, stored sessions, an editor.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::protocol::{
    AgentEvent, AgentPath, Cost, McpStatus, MergedWork, SessionId, SizedImage, WorkingTreeChanges,
    WorktreeInfo,
};

use super::composer::draft_id::DraftId;
use super::composer::image_path::ImagePath;
use super::composer::past_prompt::PastPrompt;
use super::page::PageLine;

/// Answers the requests of the screen, which must not touch the machine itself.
#[async_trait]
pub trait ScreenHost: Send + Sync {
    /// Fills in the reply. Must be cancel safe.
    async fn answer(&self, request: &mut HostRequest);

    /// Ends the user's editor: the program is about to exit. [`Self::answer`] returns once the editor
    /// has ended.
    fn end_editor(&self);
}

/// The maximum number of files that a search finds.
pub const MAX_FILES_FOUND: usize = 50;

/// A request to the host. It holds its own reply: empty on the way there, filled in on the way back.
#[derive(Clone, Debug, PartialEq)]
pub enum HostRequest {
    /// Paths below the working directory that match the query, best first, up to [`MAX_FILES_FOUND`].
    Files { query: String, paths: Vec<String> },
    /// Sub-agent definitions.
    Agents(Vec<AgentChoice>),
    /// Commands and skills of the user and the project, by name.
    Commands(Vec<CommandChoice>),
    /// Stored sessions of this directory, or of all, newest first; with `most`, only so many.
    Sessions { everywhere: bool, most: Option<usize>, sessions: Vec<SessionChoice> },
    /// The ends of stored sessions.
    SessionPreviews { ids: Vec<SessionId>, previews: Vec<SessionEnd> },
    /// The sessions whose texts have all words of the query.
    SearchSessions { query: String, everywhere: bool, hits: SessionHits },
    /// The events of a session that another process writes to, a list for each file with main's first,
    /// once they have another size than this together; the new size. Without any after a while, or once
    /// it is no longer as this says whether the process has left.
    SessionGrowth { session: SessionId, size: u64, left: bool, files: Option<Vec<Vec<AgentEvent>>> },
    /// Models that can be picked.
    Models(ModelList),
    /// Model servers on this machine that respond on their usual ports.
    LocalServers(Vec<LocalServer>),
    /// The lines of a page.
    Page(InfoPage, Vec<PageLine>),
    /// Files with instructions for agents.
    Memory(Vec<MemoryChoice>),
    /// A file that the user edited in an editor, and how that went. The terminal is in its normal
    /// state meanwhile.
    EditFile { path: PathBuf, result: Result<(), String> },
    /// The MCP servers of the session and their states, for the page that was opened then: as soon as
    /// they differ from the ones that it shows, or after a while.
    McpServers { opened: Duration, servers: McpServers },
    /// The user's name for a session.
    SessionName { session: SessionId, name: Option<String> },
    /// A new name for a session, blank for none, and the name as it is stored.
    Rename { session: SessionId, name: String, result: Result<Option<String>, String> },
    /// The git branch of the working directory.
    Branch(Option<String>),
    /// Notes for the first line of the session, such as `AGENTS.md read`.
    Notes(Vec<String>),
    /// The draft, replaced by the text that the user saved in an editor or by an error message. The
    /// terminal is in its normal state meanwhile.
    Edit(Result<String, String>),
    /// The changes in the working tree since the last commit, or why they are unknown.
    Changes(Result<Arc<WorkingTreeChanges>, String>),
    /// The changes in the worktree of an ended agent, or why they are unknown.
    WorktreeChanges {
        agent: AgentPath,
        worktree: Box<WorktreeInfo>,
        changes: Result<Arc<WorkingTreeChanges>, String>,
    },
    /// The work of an ended agent, to be merged into the user's files, and how that went.
    MergeWorktree {
        agent: AgentPath,
        worktree: Box<WorktreeInfo>,
        result: Result<MergedWork, String>,
    },
    /// The worktree of an ended agent, to be removed. Returns the commit that still holds its files.
    DiscardWorktree {
        agent: AgentPath,
        worktree: Box<WorktreeInfo>,
        result: Result<String, String>,
    },
    /// The session as a file: the path that the user named, if any, and the file that was written.
    Export { session: SessionId, path: String, result: Result<PathBuf, String> },
    /// An image for the draft: a file that the draft names, or else what the clipboard has. `Ok(None)`
    /// if there is no such file.
    Image { path: Option<ImagePath>, draft: DraftId, image: Result<Option<SizedImage>, String> },
    /// A prompt to keep in the history.
    Remember(PastPrompt),
    /// A choice that later sessions begin with, or why it is only for this one: another place sets it.
    Keep { choice: KeptChoice, result: Result<Option<String>, String> },
    /// A text of which the user's command notifies, and how that went.
    Notify { text: String, result: Result<(), String> },
    /// The state of the session for the user's command, and the line that it prints.
    StatusLine { input: String, line: Result<String, String> },
}

/// A choice that later sessions begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptChoice {
    /// The theme, for all projects; the others are for this one.
    Theme(String),
    Model {
        provider: String,
        name: String,
    },
    /// An effort level; `None` for the model's default.
    Effort(Option<String>),
    /// Whether the mode is plan mode. No freer mode is kept.
    Plan(bool),
}

/// A page whose lines the host knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoPage {
    /// The results of the checks of `/doctor`.
    Doctor,
    Hooks,
    Skills,
}

impl InfoPage {
    /// The title of the page.
    pub fn title(self) -> &'static str {
        match self {
            Self::Doctor => "doctor",
            Self::Hooks => "hooks",
            Self::Skills => "skills",
        }
    }
}

/// A file with instructions for agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryChoice {
    /// Absolute.
    pub path: PathBuf,
    /// The path as the user would name it.
    pub name: String,
    /// Whose it is, and whether it exists.
    pub about: String,
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
#[derive(Clone, Debug, PartialEq)]
pub struct SessionChoice {
    pub id: SessionId,
    /// Its name, or else its first prompt, on one line.
    pub title: String,
    /// Such as `2 min ago`.
    pub age: String,
    /// Number of its sub-agents.
    pub agents: usize,
    /// Its working directory.
    pub folder: PathBuf,
    /// Whether that is another directory than this one.
    pub elsewhere: bool,
    /// The git branch at its beginning.
    pub branch: Option<String>,
    /// Whether a program has it open.
    pub open: bool,
    /// How it ended, once that is known.
    pub end: SessionEnd,
}

/// The end of a stored session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionEnd {
    /// Cost of all its requests; `None` if adding them up would take too long.
    pub cost: Option<Cost>,
    /// The end of the last answer, as Markdown.
    pub answer: String,
}

/// The sessions that a search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionHits {
    pub ids: Vec<SessionId>,
    /// Whether the search was ended before it had seen all.
    pub cut: bool,
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
