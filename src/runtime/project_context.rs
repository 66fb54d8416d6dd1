//! The instructions and skills of the project and the user, as main knows them, and their changes.
//!
//! A change is sent as a note with the next prompt while the system prompt stays the same: a new
//! one would invalidate the provider's cache of the whole conversation. Once a summary has replaced
//! the conversation, or the provider has rejected a message, the notes may be gone, so the system
//! prompt is rebuilt.

use std::path::Path;
use std::sync::Arc;

use super::parts::RuntimeParts;
use crate::agent::Agent;
use crate::agent::system_prompt::{EnvironmentInfo, SystemPrompt};
use crate::commands::{self, CommandProblem, CommandSet};
use crate::markdown::Fingerprint;
use crate::memory::{Memory, MemorySources};
use crate::protocol::{EventSink, NoticeLevel};
use crate::subagent::SharedContext;
use crate::tool::{Tool, ToolSpec};

/// The main agent's built-in system prompt.
const MAIN_PROMPT: &str = include_str!("../../assets/prompts/main.md");

/// The memory of a session's main agent, and the skills that all its agents may load.
pub(super) struct ProjectContext {
    parts: Arc<RuntimeParts>,
    environment: EnvironmentInfo,
    commands: LoadedCommands,
    /// As it was last read.
    memory: Memory,
    /// As the conversation contains it, in the system prompt or in notes.
    known: Memory,
    /// How often messages had been taken out of the conversation when the last note was sent.
    removals_at_note: Option<u32>,
    /// A summary of the repository's state, until the first prompt takes it.
    repository: Option<String>,
    /// The state before the last note.
    before_note: Option<NoteState>,
}

/// The state that a rejected prompt restores.
struct NoteState {
    known: Memory,
    removals_at_note: Option<u32>,
    repository: Option<String>,
}

impl ProjectContext {
    /// Reads the files, except `commands` that were just read, and reports problems with them. May
    /// block.
    pub fn read(
        parts: &Arc<RuntimeParts>,
        environment: EnvironmentInfo,
        repository: Option<String>,
        commands: Option<LoadedCommands>,
        events: &EventSink,
    ) -> Self {
        let memory = read_memory(parts);
        report_problems(&memory, None, events);
        let commands = commands.unwrap_or_else(|| LoadedCommands::read(parts));
        commands.report_problems(None, events);
        let (parts, known) = (parts.clone(), memory.clone());
        Self {
            parts,
            environment,
            commands,
            memory,
            known,
            removals_at_note: None,
            repository,
            before_note: None,
        }
    }

    /// Returns the part that new agents receive.
    pub fn for_agents(&self) -> SharedContext {
        let skill = self.commands.skill_tool.clone();
        let skill = skill.filter(|tool| self.parts.agents.allows(&tool.spec().name));
        SharedContext { memory: self.memory_text(), skill }
    }

    /// Returns the memory's text with keys masked.
    fn memory_text(&self) -> String {
        self.parts.agents.redactor.without_keys(self.memory.text())
    }

    /// Returns main's system prompt.
    pub fn system(&self) -> String {
        let prompt = SystemPrompt {
            base: self.parts.system_prompt.as_deref().unwrap_or(MAIN_PROMPT),
            append: self.parts.append_system_prompt.as_deref(),
            environment: &self.environment,
            memory: &self.memory_text(),
        };
        prompt.assemble()
    }

    /// Rereads changed files, except `commands` that were just read, and reports them. Returns
    /// whether the skills have changed. May block.
    pub fn refresh(&mut self, commands: Option<LoadedCommands>, events: &EventSink) -> bool {
        self.refresh_memory(events);
        let commands = match commands {
            Some(commands) if commands.fingerprint != self.commands.fingerprint => commands,
            None if self.parts.custom.fingerprint() != self.commands.fingerprint => {
                LoadedCommands::read(&self.parts)
            }
            _ => return false,
        };
        commands.report_problems(Some(&self.commands), events);
        let has_changed = commands.skill_spec() != self.commands.skill_spec();
        self.commands = commands;
        has_changed
    }

    fn refresh_memory(&mut self, events: &EventSink) {
        if self.memory.is_current() {
            return;
        }
        let memory = read_memory(&self.parts);
        report_problems(&memory, Some(&self.memory), events);
        let changed = memory.changed_since(&self.memory);
        let names: Vec<String> = changed.iter().map(|path| self.display_path(path)).collect();
        if !names.is_empty() {
            events.notice(NoticeLevel::Info, format!("reloaded: {}", names.join(", ")));
        }
        self.memory = memory;
    }

    /// Takes the news for main's next prompt: the state of the repository with the first one, and the
    /// changes that the system prompt does not contain.
    pub(super) fn take_news(&mut self, main: &mut Agent) -> Option<String> {
        let before = NoteState {
            known: self.known.clone(),
            removals_at_note: self.removals_at_note,
            repository: self.repository.take(),
        };
        let changes = self.take_changes(main);
        let news: Vec<String> = before.repository.clone().into_iter().chain(changes).collect();
        self.before_note = Some(before);
        (!news.is_empty()).then(|| news.join("\n\n"))
    }

    fn take_changes(&mut self, main: &mut Agent) -> Option<String> {
        if self.removals_at_note.is_some_and(|before| before != main.removals()) {
            main.set_system(self.system());
            self.known = self.memory.clone();
            self.removals_at_note = None;
            return None;
        }
        let changes = self.memory.update_since(&self.known)?;
        self.known = self.memory.clone();
        self.removals_at_note = Some(main.removals());
        Some(changes)
    }

    /// Makes the news that were taken last news again: their prompt was rejected.
    pub(super) fn put_back_news(&mut self) {
        if let Some(before) = self.before_note.take() {
            let NoteState { known, removals_at_note, repository } = before;
            (self.known, self.removals_at_note) = (known, removals_at_note);
            self.repository = repository;
        }
    }

    fn display_path(&self, path: &Path) -> String {
        path.strip_prefix(&self.parts.cwd).unwrap_or(path).display().to_string()
    }
}

/// The commands and skills as they were last read.
pub(super) struct LoadedCommands {
    pub set: CommandSet,
    skill_tool: Option<Arc<dyn Tool>>,
    /// The fingerprint of the skills' files, taken just before.
    fingerprint: Fingerprint,
}

impl LoadedCommands {
    /// Reads the files. May block.
    pub fn read(parts: &RuntimeParts) -> Self {
        let fingerprint = parts.custom.fingerprint();
        let set = CommandSet::load(&parts.custom);
        let skill_tool = commands::skill_tool(&parts.custom, &set);
        Self { set, skill_tool, fingerprint }
    }

    fn skill_spec(&self) -> Option<&ToolSpec> {
        self.skill_tool.as_deref().map(Tool::spec)
    }

    /// Reports errors of files that are ignored, except those already reported.
    fn report_problems(&self, before: Option<&Self>, events: &EventSink) {
        for problem in self.set.problems() {
            let is_known = before.is_some_and(|it| it.set.problems().contains(problem));
            if matches!(problem, CommandProblem::Refused { .. }) && !is_known {
                events.notice(NoticeLevel::Warning, problem.error().to_string());
            }
        }
    }
}

fn read_memory(parts: &RuntimeParts) -> Memory {
    let sources = MemorySources {
        dir: &parts.cwd,
        own: &parts.user_dir,
        claude: parts.claude_dir.as_deref(),
        home: parts.agents.builtin.home.as_deref(),
        scope: &parts.scope,
        project: parts.setting_sources.project,
        local: parts.setting_sources.local,
    };
    let hidden = parts.agents.builtin.hidden.for_reading(&parts.cwd);
    Memory::read(&sources, &|file| hidden.contain(file))
}

/// Reports problems with files, except those already reported.
fn report_problems(memory: &Memory, before: Option<&Memory>, events: &EventSink) {
    for notice in &memory.notices {
        if !before.is_some_and(|before| before.notices.contains(notice)) {
            events.notice(NoticeLevel::Warning, notice.clone());
        }
    }
}
