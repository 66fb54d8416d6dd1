//! The instructions and skills of the project and the user, as main knows them, and their changes.
//!
//! A change is sent as a note with the next prompt while the system prompt stays the same: a new
//! one would invalidate the provider's cache of the whole conversation. Once a summary has replaced
//! the conversation, there is no cache to keep and the notes may be gone, so the system prompt is
//! rebuilt.

use std::path::Path;
use std::sync::Arc;

use super::assemble::{MAIN_PROMPT, RuntimeParts};
use crate::agent::Agent;
use crate::agent::system_prompt::{EnvironmentInfo, SystemPrompt};
use crate::commands::{self, CommandProblem, CommandSet};
use crate::markdown::Fingerprint;
use crate::memory::{Memory, MemorySources};
use crate::protocol::{EventSink, NoticeLevel};
use crate::tool::Tool;

/// The memory of a session's main agent, and the skills that all its agents may load.
pub(super) struct ProjectContext {
    parts: Arc<RuntimeParts>,
    facts: EnvironmentInfo,
    skills: LoadedSkills,
    /// As it was last read.
    memory: Memory,
    /// As the conversation contains it, in the system prompt or in notes.
    known: Memory,
    /// The number of summaries in the conversation when the last note was sent.
    summaries_at_note: Option<u32>,
}

impl ProjectContext {
    /// Reads the files and reports problems with them. May block.
    pub fn read(parts: &Arc<RuntimeParts>, facts: EnvironmentInfo, events: &EventSink) -> Self {
        let memory = read_memory(parts);
        tell_problems(&memory, None, events);
        let skills = LoadedSkills::read(parts);
        for error in skills.new_problems(None) {
            events.notice(NoticeLevel::Warning, error);
        }
        let (parts, told) = (parts.clone(), memory.clone());
        Self { parts, facts, skills, memory, known: told, summaries_at_note: None }
    }

    /// Returns the part that new agents receive.
    pub fn for_agents(&self) -> SharedContext {
        let skill = self.skills.tool.clone();
        let skill = skill.filter(|tool| self.parts.allows(&tool.spec().name));
        SharedContext { memory: self.memory_text(), skill }
    }

    /// Returns the memory's text with keys masked.
    fn memory_text(&self) -> String {
        self.parts.redactor.without_keys(self.memory.text())
    }

    /// Returns main's system prompt.
    pub fn system(&self) -> String {
        let prompt = SystemPrompt {
            base: self.parts.system_prompt.as_deref().unwrap_or(MAIN_PROMPT),
            append: self.parts.append_system_prompt.as_deref(),
            environment: &self.facts,
            memory: &self.memory_text(),
        };
        prompt.assemble()
    }

    /// Rereads changed files and reports them. Returns whether the skills have changed. May block.
    pub fn refresh(&mut self, events: &EventSink) -> bool {
        self.refresh_memory(events);
        if self.parts.custom.fingerprint() == self.skills.fingerprint {
            return false;
        }
        let skills = LoadedSkills::read(&self.parts);
        for error in skills.new_problems(Some(&self.skills)) {
            events.notice(NoticeLevel::Warning, error);
        }
        let spec = |skills: &LoadedSkills| skills.tool.as_ref().map(|tool| tool.spec().clone());
        let changed = spec(&skills) != spec(&self.skills);
        self.skills = skills;
        changed
    }

    fn refresh_memory(&mut self, events: &EventSink) {
        if self.memory.is_current() {
            return;
        }
        let memory = read_memory(&self.parts);
        tell_problems(&memory, Some(&self.memory), events);
        let changed = memory.changed_since(&self.memory);
        let names: Vec<String> = changed.iter().map(|path| self.display_path(path)).collect();
        if !names.is_empty() {
            events.notice(NoticeLevel::Info, format!("reloaded: {}", names.join(", ")));
        }
        self.memory = memory;
    }

    /// Takes the changes for main's next prompt; `None` if the system prompt already contains them.
    pub(super) fn take_news(&mut self, main: &mut Agent) -> Option<String> {
        if self.summaries_at_note.is_some_and(|before| before != main.summaries()) {
            main.set_system(self.system());
            self.known = self.memory.clone();
            self.summaries_at_note = None;
            return None;
        }
        let news = self.memory.update_since(&self.known)?;
        self.known = self.memory.clone();
        self.summaries_at_note = Some(main.summaries());
        Some(news)
    }

    fn display_path(&self, path: &Path) -> String {
        path.strip_prefix(&self.parts.cwd).unwrap_or(path).display().to_string()
    }
}

/// The context that every agent of a session receives.
#[derive(Clone, Default)]
pub(super) struct SharedContext {
    /// For system prompts.
    pub memory: String,
    /// The tool that loads skills; absent if there are none, or if the user excluded it.
    pub skill: Option<Arc<dyn Tool>>,
}

/// The skills as they were last read.
struct LoadedSkills {
    customs: CommandSet,
    tool: Option<Arc<dyn Tool>>,
    /// The fingerprint of their files, taken just before.
    fingerprint: Fingerprint,
}

impl LoadedSkills {
    fn read(parts: &RuntimeParts) -> Self {
        let seen = parts.custom.fingerprint();
        let customs = CommandSet::load(&parts.custom);
        let tool = commands::skill_tool(&parts.custom, &customs);
        Self { customs, tool, fingerprint: seen }
    }

    /// Returns errors of files that are ignored, except those already reported.
    fn new_problems(&self, before: Option<&Self>) -> Vec<String> {
        let said = |problem: &&CommandProblem| {
            before.is_some_and(|before| before.customs.problems().contains(problem))
        };
        let refused = |problem: &&CommandProblem| matches!(problem, CommandProblem::Refused { .. });
        let problems = self.customs.problems().iter().filter(refused).filter(|it| !said(it));
        problems.map(|problem| problem.error().to_string()).collect()
    }
}

fn read_memory(parts: &RuntimeParts) -> Memory {
    let sources = MemorySources {
        dir: &parts.cwd,
        own: &parts.user_dir,
        claude: parts.claude_dir.as_deref(),
        home: parts.builtin.home.as_deref(),
        scope: &parts.scope,
        project: parts.setting_sources.project,
        local: parts.setting_sources.local,
    };
    let hidden = parts.builtin.hidden.for_reading(&parts.cwd);
    Memory::read(&sources, &|file| hidden.contain(file))
}

/// Reports problems with files, except those already reported.
fn tell_problems(memory: &Memory, before: Option<&Memory>, events: &EventSink) {
    for notice in &memory.notices {
        if !before.is_some_and(|before| before.notices.contains(notice)) {
            events.notice(NoticeLevel::Warning, notice.clone());
        }
    }
}
