//! Fetches what the screen may not access itself: files, definitions, stored sessions, models, an editor.

mod editor;
pub(super) mod history;
mod image;
mod memory;
mod pages;
mod project;
mod sessions;
mod worktrees;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::choices::ChoiceStore;
use super::models::Models;
use super::own_command::OwnCommand;
use super::session_search::SessionSearch;
use crate::command::doctor::Doctor;
use crate::commands::CommandSources;
use crate::config::HookConfig;
use crate::disk::{ProjectFolders, branch};
use crate::exec::{BlockingPool, Sandbox, child_env};
use crate::git::{GitContext, changes};
use crate::protocol::{EnvOverlay, WorkingTreeChanges};
use crate::session::SessionStore;
use crate::subagent::registry::DefinitionSources;
use crate::tool::mcp::Mcp;
use crate::tui::composer::past_prompt::PastPrompt;
use crate::tui::host::{
    HostRequest, InfoPage, KeptChoice, LocalServer, McpServers, ModelList, ScreenHost,
};

pub(super) use memory::MemoryPlaces;

/// Time limits of the user's commands.
const NOTIFY_LIMIT: Duration = Duration::from_secs(10);
const STATUS_LINE_LIMIT: Duration = Duration::from_secs(3);

/// The pause between two looks at the states of servers, and how many there are for one reply.
const SERVER_PAUSE: Duration = Duration::from_millis(200);
const SERVER_LOOKS: usize = 10;

/// The screen's access to the machine.
pub(super) struct LocalHost {
    pub cwd: Arc<Path>,
    /// The folders of the session, whose programs are not the user's.
    pub project: ProjectFolders,
    pub env: EnvOverlay,
    pub definitions: DefinitionSources,
    pub memory: MemoryPlaces,
    pub custom: CommandSources,
    pub doctor: Doctor,
    pub store: SessionStore,
    pub search: Arc<SessionSearch>,
    /// The source of models; absent if there is only one, as in the demo.
    pub models: Option<Arc<Models>>,
    /// Names of variables that hold keys: the editor does not get them.
    pub secrets: Vec<String>,
    /// The file of the prompt history; absent if nothing is stored.
    pub history: Option<PathBuf>,
    pub mcp: Mcp,
    pub hooks: Vec<HookConfig>,
    /// The folder of the worktrees of agents, and the threads that wait for git there.
    pub worktrees: PathBuf,
    pub git: BlockingPool,
    /// The user's commands that notify and that print the status line.
    pub notify: Option<OwnCommand>,
    pub status_line: Option<OwnCommand>,
    /// Where choices are kept; absent in the demo.
    pub choices: Option<ChoiceStore>,
    /// Ends the user's editor.
    pub closing: CancellationToken,
}

impl LocalHost {
    async fn models(&self) -> ModelList {
        match &self.models {
            Some(models) => models.list().await,
            None => ModelList::default(),
        }
    }

    async fn local_servers(&self) -> Vec<LocalServer> {
        match &self.models {
            Some(models) => models.local_servers().await,
            None => Vec::new(),
        }
    }

    /// Waits until the servers differ from the ones that are shown, up to a limit; not if none are.
    async fn follow_servers(&self, servers: &mut McpServers) {
        if servers.running.is_empty() {
            servers.notes = self.doctor.mcp_notes().await;
            servers.running = self.mcp.status();
            return;
        }
        for _ in 0..SERVER_LOOKS {
            let running = self.mcp.status();
            if running != servers.running {
                servers.running = running;
                return;
            }
            tokio::time::sleep(SERVER_PAUSE).await;
        }
    }

    async fn branch(&self) -> Option<String> {
        let cwd = self.cwd.clone();
        tokio::task::spawn_blocking(move || branch(&cwd)).await.ok()?
    }

    async fn changes(&self) -> Result<WorkingTreeChanges, String> {
        let (cwd, stop) = (self.cwd.clone(), CancellationToken::new());
        let _stop_when_dropped = stop.clone().drop_guard();
        let env = self.project.without_programs(&child_env(&self.env, 0, &self.secrets));
        let find = move || {
            let sandbox = Sandbox::for_this_program();
            changes(&cwd, sandbox.as_ref(), &GitContext { env, stop })
        };
        let found = tokio::task::spawn_blocking(find).await;
        found.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    async fn keep(&self, choice: &KeptChoice) -> Result<Option<String>, String> {
        let Some(store) = self.choices.clone() else { return Ok(None) };
        if let Some(place) = store.take(choice) {
            return Ok(Some(place));
        }
        let kept = tokio::task::spawn_blocking(move || store.write()).await;
        kept.map_err(|error| error.to_string())?.map(|()| None)
    }

    async fn remember(&self, prompt: &PastPrompt) {
        let (Some(path), prompt) = (self.history.clone(), prompt.clone()) else { return };
        let write = tokio::task::spawn_blocking(move || history::append(&path, &prompt)).await;
        if let Ok(Err(error)) = write {
            tracing::warn!(%error, "the prompt history could not be written");
        }
    }
}

#[async_trait]
impl ScreenHost for LocalHost {
    async fn answer(&self, request: &mut HostRequest) {
        match request {
            HostRequest::Files { query, paths } => *paths = self.files(query).await,
            HostRequest::Agents(definitions) => *definitions = self.agents().await,
            HostRequest::Commands(commands) => *commands = self.commands().await,
            HostRequest::Sessions { everywhere, most, sessions } => {
                *sessions = self.sessions(*everywhere, *most).await;
            }
            HostRequest::SessionPreviews { ids, previews } => {
                *previews = self.session_previews(ids).await;
            }
            HostRequest::SearchSessions { query, everywhere, hits } => {
                *hits = self.search_sessions(query, *everywhere).await;
            }
            HostRequest::SessionGrowth { session, size, left, files } => {
                *files = self.session_growth(*session, size, left).await;
            }
            HostRequest::Models(models) => *models = self.models().await,
            HostRequest::LocalServers(servers) => *servers = self.local_servers().await,
            HostRequest::Page(InfoPage::Doctor, lines) => *lines = self.doctor.page().await,
            HostRequest::Page(InfoPage::Hooks, lines) => *lines = pages::hooks(&self.hooks),
            HostRequest::Page(InfoPage::Skills, lines) => *lines = self.skills().await,
            HostRequest::Memory(files) => *files = self.memory_files().await,
            HostRequest::EditFile { path, result } => *result = self.edit_file(path).await,
            HostRequest::McpServers { servers, .. } => self.follow_servers(servers).await,
            HostRequest::Changes(changes) => *changes = self.changes().await.map(Arc::new),
            HostRequest::WorktreeChanges { worktree, changes, .. } => {
                *changes = self.worktree_changes(worktree).await;
            }
            HostRequest::MergeWorktree { worktree, result, .. } => {
                *result = self.merge_worktree(worktree).await;
            }
            HostRequest::DiscardWorktree { worktree, result, .. } => {
                *result = self.discard_worktree(worktree).await;
            }
            HostRequest::Export { session, path, result } => {
                *result = self.export(*session, path).await;
            }
            HostRequest::SessionName { session, name } => *name = self.session_name(*session).await,
            HostRequest::Rename { session, name, result } => {
                *result = self.rename(*session, name).await;
            }
            HostRequest::Branch(branch) => *branch = self.branch().await,
            HostRequest::Notes(notes) => *notes = self.notes().await,
            HostRequest::Edit(text) => {
                if let Ok(draft) = text {
                    *text = self.edit(draft).await;
                }
            }
            HostRequest::Image { path, image, .. } => {
                *image = match path {
                    Some(path) => self.image_at(path).await,
                    None => self.image_in_clipboard().await,
                };
            }
            HostRequest::Remember(prompt) => self.remember(prompt).await,
            HostRequest::Keep { choice, result } => *result = self.keep(choice).await,
            HostRequest::Notify { text, result } => {
                if let Some(command) = &self.notify {
                    *result = command.run(b"", Some(text), NOTIFY_LIMIT).await.map(drop);
                }
            }
            HostRequest::StatusLine { input, line } => {
                if let Some(command) = &self.status_line {
                    *line = command.run(input.as_bytes(), None, STATUS_LINE_LIMIT).await;
                }
            }
        }
    }

    fn end_editor(&self) {
        self.closing.cancel();
    }
}
