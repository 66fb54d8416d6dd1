//! Fetches what the screen may not access itself: files, definitions, stored sessions, models, an editor.

mod editor;
pub(super) mod history;
mod pages;
mod worktrees;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ignore::overrides::Override;
use jiff::Timestamp;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};
use tokio_util::sync::CancellationToken;

use super::choices::ChoiceStore;
use super::models::Models;
use super::own_command::OwnCommand;
use super::session_search::SessionSearch;
use crate::cli::ExportFormat;
use crate::command::doctor::Doctor;
use crate::command::sessions::export_session;
use crate::commands::{CommandOrigin, CommandSet, CommandSources};
use crate::config::{HookConfig, SettingSources};
use crate::disk::{ProjectFolders, ProjectScope, branch, resolve};
use crate::exec::{BlockingPool, Sandbox, child_env};
use crate::git::{GitContext, changes};
use crate::memory::{Memory, MemorySources};
use crate::permission::Gate;
use crate::protocol::{
    AgentEvent, EnvOverlay, SessionId, WorkingTreeChanges, count, lossy_path, printable_path,
};
use crate::session::{SessionPreview, SessionStore, SessionSummary, StoreError};
use crate::subagent::definition::{Definition, DefinitionSource};
use crate::subagent::registry::{DefinitionSources, Definitions};
use crate::tool::mcp::Mcp;
use crate::tool::{IgnoreFiles, walk};
use crate::tui::host::{
    AgentChoice, CommandChoice, HostRequest, InfoPage, KeptChoice, LocalServer, MemoryChoice,
    ModelList, ScreenHost, SessionChoice, SessionEnd, SessionHits,
};
use crate::tui::page::PageLine;
use crate::tui::slash::update::NOTHING_TO_NAME;

/// The maximum number of files to search.
const FILES_SEARCHED: usize = 50_000;

/// The maximum number of search results.
const FILES_SHOWN: usize = 50;

/// The most bytes of session files that are read to add up costs.
const PREVIEW_BYTES: u64 = 24 << 20;

/// The most characters of a last answer.
const ANSWER_CHARS: usize = 1_200;

/// The file of instructions that `/memory` offers to create.
const MEMORY_FILE: &str = "AGENTS.md";

/// Where the instructions for agents are.
#[derive(Clone)]
pub(super) struct MemoryPlaces {
    /// The user's configuration folder and `.claude` folder.
    pub own: PathBuf,
    pub claude: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub scope: ProjectScope,
    pub sources: SettingSources,
    /// Hides files that no agent may read.
    pub gate: Gate,
}

impl MemoryPlaces {
    /// The files that are read. May block.
    fn read(&self, cwd: &Path) -> Vec<PathBuf> {
        let sources = MemorySources {
            dir: cwd,
            own: &self.own,
            claude: self.claude.as_deref(),
            home: self.home.as_deref(),
            scope: &self.scope,
            project: self.sources.project,
            local: self.sources.local,
        };
        let unreadable = self.gate.unreadable(cwd, None);
        let memory = Memory::read(&sources, &|file| unreadable.contains(file));
        memory.files().map(Path::to_owned).collect()
    }

    /// A path as the user would name it.
    fn name(&self, path: &Path, cwd: &Path) -> String {
        let at_home = || Some(Path::new("~").join(path.strip_prefix(self.home.as_ref()?).ok()?));
        match path.strip_prefix(cwd) {
            Ok(below) => printable_path(below),
            Err(_) => printable_path(&at_home().unwrap_or_else(|| path.to_owned())),
        }
    }
}

/// How often the file of a session that another process writes to is looked at, and the time between.
const GROWTH_LOOKS: usize = 10;
const GROWTH_PAUSE: Duration = Duration::from_millis(500);

/// Reading such a file takes at most one part of the time in so many.
const READING_PART: u32 = 5;

/// Time limits of the user's commands.
const NOTIFY_LIMIT: Duration = Duration::from_secs(10);
const STATUS_LINE_LIMIT: Duration = Duration::from_secs(3);

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

/// The answer to `/export` while nothing is stored.
const NOTHING_TO_EXPORT: &str = "nothing to export yet: it is stored with its first prompt";

impl LocalHost {
    async fn files(&self, query: &str) -> Vec<String> {
        let (cwd, query) = (self.cwd.clone(), query.to_owned());
        tokio::task::spawn_blocking(move || best_files(&cwd, &query)).await.unwrap_or_default()
    }

    async fn agents(&self) -> Vec<AgentChoice> {
        let definitions = self.definitions.clone();
        let list = move || {
            let definitions = Definitions::load(&definitions);
            let choices = definitions.iter().map(|definition| AgentChoice {
                name: definition.name.clone(),
                description: definition.description.clone(),
                tools: tools_of(definition),
                model: definition.model.clone().unwrap_or_else(|| "inherited".to_owned()),
                origin: definition.source.to_string(),
            });
            choices.collect()
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    /// Says what was found in the project: instructions, and definitions of agents.
    async fn notes(&self) -> Vec<String> {
        let (cwd, memory) = (self.cwd.clone(), self.memory.clone());
        let definitions = self.definitions.clone();
        let find = move || {
            let name = |path: &Path| memory.name(path, &cwd);
            let files = match &memory.read(&cwd)[..] {
                [] => None,
                [file] => Some(format!("{} read", name(file))),
                [first, second] => Some(format!("{} and {} read", name(first), name(second))),
                more => Some(format!("{} read", count(more.len(), "instruction file"))),
            };
            let definitions = Definitions::load(&definitions);
            let own =
                definitions.iter().filter(|it| it.source != DefinitionSource::BuiltIn).count();
            let agents = (own > 0).then(|| format!("{} defined", count(own, "agent")));
            files.into_iter().chain(agents).collect()
        };
        tokio::task::spawn_blocking(find).await.unwrap_or_default()
    }

    async fn commands(&self) -> Vec<CommandChoice> {
        let sources = self.custom.clone();
        let list = move || {
            let commands = CommandSet::load(&sources);
            let written =
                commands.callable().filter(|command| command.origin != CommandOrigin::BuiltIn);
            let choices = written.map(|command| CommandChoice {
                name: command.name.clone(),
                description: command.description.clone(),
                argument_hint: command.argument_hint.clone(),
            });
            choices.collect()
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    async fn sessions(&self, everywhere: bool, most: Option<usize>) -> Vec<SessionChoice> {
        let (store, cwd) = (self.store.clone(), self.cwd.clone());
        let list = move || {
            let here = (!everywhere).then_some(&*cwd);
            let listed = store.newest(here, most.unwrap_or(usize::MAX));
            let now = Timestamp::now();
            let choice = |session: SessionSummary| SessionChoice {
                id: session.id,
                title: session.title().to_owned(),
                age: age(now, session.last),
                agents: session.agents,
                elsewhere: !lossy_path::is_same(&session.cwd, &cwd),
                folder: session.cwd,
                branch: session.branch,
                open: store.check_unused(session.id).is_err(),
                end: SessionEnd::default(),
            };
            listed.into_iter().map(choice).collect()
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    async fn session_previews(&self, ids: &[SessionId]) -> Vec<SessionEnd> {
        let (store, ids) = (self.store.clone(), ids.to_vec());
        let end = |preview: SessionPreview| SessionEnd {
            cost: preview.cost,
            answer: preview.answer.chars().take(ANSWER_CHARS).collect(),
        };
        let read = move || store.previews(&ids, PREVIEW_BYTES).into_iter().map(end).collect();
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    /// Waits until the files of a session have another size, and reads them then, or until the process
    /// that writes to them has left, or another has come. Looks no more often than it takes to read them
    /// several times.
    async fn session_growth(
        &self,
        id: SessionId,
        size: &mut u64,
        left: &mut bool,
    ) -> Option<Vec<Vec<AgentEvent>>> {
        for _ in 0..GROWTH_LOOKS {
            let (store, before) = (self.store.clone(), *size);
            let began = Instant::now();
            let read = move || {
                let (left, size) = (store.check_unused(id).is_ok(), store.size(id));
                (left, (size != before).then(|| (size, store.events_so_far(id))))
            };
            let (is_left, read) = tokio::task::spawn_blocking(read).await.ok()?;
            let was_left = std::mem::replace(left, is_left);
            if let Some((grown, files)) = read {
                *size = grown;
                // At first nothing is shown yet.
                if before > 0 {
                    tokio::time::sleep(began.elapsed() * READING_PART).await;
                }
                return files.ok();
            }
            if is_left != was_left {
                return None;
            }
            tokio::time::sleep(GROWTH_PAUSE).await;
        }
        None
    }

    async fn search_sessions(&self, query: &str, everywhere: bool) -> SessionHits {
        let (store, query, search) = (self.store.clone(), query.to_owned(), self.search.clone());
        let cwd = (!everywhere).then(|| self.cwd.clone());
        let run = move || search.run(&store, cwd.as_deref(), &query);
        tokio::task::spawn_blocking(run).await.unwrap_or_default()
    }

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

    /// Writes the session to the named file, or to one beside the project's; returns its path.
    async fn export(&self, session: SessionId, path: &str) -> Result<PathBuf, String> {
        let named = Path::new(path);
        let format = match named.extension().is_some_and(|extension| extension == "json") {
            true => ExportFormat::Json,
            false => ExportFormat::Markdown,
        };
        let file = match path.is_empty() {
            true => self.cwd.join(format!("caliban-{session}.md")),
            false => self.cwd.join(named),
        };
        let store = self.store.clone();
        let write = move || {
            if !store.transcript(session).exists() {
                return Err(NOTHING_TO_EXPORT.to_owned());
            }
            let text =
                export_session(session, &store, format).map_err(|error| error.to_string())?;
            write_new(&file, &text).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => {
                    format!("{} exists: name another file", printable_path(&file))
                }
                _ => format!("cannot write {}: {error}", printable_path(&file)),
            })?;
            Ok(file)
        };
        tokio::task::spawn_blocking(write).await.map_err(|error| error.to_string())?
    }

    async fn session_name(&self, session: SessionId) -> Option<String> {
        let store = self.store.clone();
        tokio::task::spawn_blocking(move || store.name(session)).await.ok()?
    }

    /// Names a session, or takes its name away.
    async fn rename(&self, session: SessionId, name: &str) -> Result<Option<String>, String> {
        let (store, name) = (self.store.clone(), name.to_owned());
        let rename = move || {
            let others = || store.named(&name).into_iter().filter(|id| *id != session);
            match !name.trim().is_empty() && others().next().is_some() {
                true => Err(format!("another session has the name {name}: choose another one")),
                false => Ok(store.rename(session, &name)),
            }
        };
        let renamed = tokio::task::spawn_blocking(rename).await;
        renamed.map_err(|error| error.to_string())??.map_err(|error| match error {
            StoreError::Write { source, .. } if source.kind() == ErrorKind::NotFound => {
                NOTHING_TO_NAME.to_owned()
            }
            error => error.to_string(),
        })
    }

    /// Lists the skills with who can load each.
    async fn skills(&self) -> Vec<PageLine> {
        let sources = self.custom.clone();
        let list = move || {
            let commands = CommandSet::load(&sources);
            pages::skills(&commands.all_skills().collect::<Vec<_>>())
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    /// Lists the files with instructions: those that are read, and the usual ones that do not exist.
    async fn memory_files(&self) -> Vec<MemoryChoice> {
        let (cwd, memory) = (self.cwd.clone(), self.memory.clone());
        let list = move || {
            let read = memory.read(&cwd);
            let missing = [
                (&*cwd, "new: instructions for this project"),
                (&*memory.own, "new: your instructions for all projects"),
            ];
            // A link that leads out of the project is not read, but the editor would follow it.
            let about_link = |path: &Path| {
                path.read_link().ok()?;
                let target = resolve(path).map(|target| memory.name(&target, &cwd));
                Some(format!("not read: a link to {}", target.unwrap_or("nowhere".to_owned())))
            };
            let missing = missing.map(|(folder, about)| {
                let has_one = read.iter().any(|path| path.starts_with(folder));
                let path = folder.join(MEMORY_FILE);
                let about = about_link(&path).unwrap_or(about.to_owned());
                (!has_one).then_some((path, about))
            });
            let about = "read before each prompt";
            let read = read.iter().map(|path| (path.clone(), about.to_owned()));
            let choice = |(path, about): (PathBuf, String)| MemoryChoice {
                name: memory.name(&path, &cwd),
                about,
                path,
            };
            read.chain(missing.into_iter().flatten()).map(choice).collect()
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    async fn keep(&self, choice: &KeptChoice) -> Result<Option<String>, String> {
        let Some(store) = self.choices.clone() else { return Ok(None) };
        if let Some(place) = store.take(choice) {
            return Ok(Some(place));
        }
        let kept = tokio::task::spawn_blocking(move || store.write()).await;
        kept.map_err(|error| error.to_string())?.map(|()| None)
    }

    async fn remember(&self, prompt: &str) {
        let (Some(path), prompt) = (self.history.clone(), prompt.to_owned()) else { return };
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
            HostRequest::McpServers(servers) => {
                servers.notes = self.doctor.mcp_notes().await;
                servers.running = self.mcp.status();
            }
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

/// Describes the tools: `Read, Grep`, or `its parent's tools, without Bash`.
fn tools_of(definition: &Definition) -> String {
    let named = definition.tools.as_ref().map(|tools| tools.join(", "));
    let mut words = named.unwrap_or_else(|| "its parent's tools".to_owned());
    if !definition.disallowed_tools.is_empty() {
        words.push_str(&format!(", without {}", definition.disallowed_tools.join(", ")));
    }
    words
}

/// Writes a file that only the user can read, unless there is one.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create_new(true).write(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Returns how long ago something was: `2 min ago`, after a week the date.
fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        172_800..604_800 => format!("{} days ago", seconds / 86_400),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

/// Returns the files that match a query best, as paths below `cwd`.
fn best_files(cwd: &Path, query: &str) -> Vec<String> {
    let Ok(root) = cwd.canonicalize() else { return Vec::new() };
    let walk = walk(&root, IgnoreFiles::for_user(&root), Override::empty());
    let files = walk
        .build()
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .take(FILES_SEARCHED)
        .filter_map(|entry| Some(entry.path().strip_prefix(&root).ok()?.to_str()?.to_owned()));
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let matches = pattern.match_list(files, &mut matcher);
    matches.into_iter().take(FILES_SHOWN).map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_the_largest_unit() {
        let now: Timestamp = "2026-05-20T12:00:00Z".parse().unwrap();
        let ago =
            |seconds: i64| age(now, Timestamp::from_second(now.as_second() - seconds).unwrap());
        assert_eq!(ago(-5), "just now", "the clock was set back");
        assert_eq!((ago(59), ago(60)), ("just now".to_owned(), "1 min ago".to_owned()));
        assert_eq!((ago(7_300), ago(90_000)), ("2 h ago".to_owned(), "yesterday".to_owned()));
        assert_eq!(
            (ago(200_000), ago(864_000)),
            ("2 days ago".to_owned(), "2026-05-10".to_owned())
        );
    }
}
