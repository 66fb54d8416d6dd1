//! What the project and the person have written down for agents, as main knows it, and what has
//! changed since.
//!
//! A change comes as a note with the next prompt, and the system prompt stays: it stands before the
//! whole conversation, so that another one would have the provider read all of that anew. Once a
//! summary has replaced the conversation there is nothing left to save, and the notes may be gone:
//! then the system prompt is made anew.

use std::path::Path;
use std::sync::Arc;

use super::assemble::{MAIN_PROMPT, Parts};
use crate::agent::Agent;
use crate::agent::prompt::{Facts, SystemPrompt};
use crate::custom::{self, Customs, Problem};
use crate::markdown::Fingerprint;
use crate::memory::{Memory, MemorySources};
use crate::protocol::{EventSink, NoticeLevel};
use crate::tool::Tool;

/// The memory of a session's main agent, and the skills that all its agents may load.
pub(super) struct Brought {
    parts: Arc<Parts>,
    facts: Facts,
    skills: Skills,
    /// As it was read last.
    memory: Memory,
    /// As the conversation has it, in the system prompt or in notes.
    told: Memory,
    /// How many summaries the conversation had seen when something was told in a note.
    noted: Option<u32>,
}

impl Brought {
    /// Reads the files, and says what is wrong with them. It may block.
    pub fn read(parts: &Arc<Parts>, facts: Facts, events: &EventSink) -> Self {
        let memory = read(parts);
        tell_problems(&memory, None, events);
        let skills = Skills::read(parts);
        for error in skills.refused(None) {
            events.notice(NoticeLevel::Warning, error);
        }
        let (parts, told) = (parts.clone(), memory.clone());
        Self { parts, facts, skills, memory, told, noted: None }
    }

    /// What new agents get of it.
    pub fn for_agents(&self) -> Told {
        let skill = self.skills.tool.clone();
        let skill = skill.filter(|tool| self.parts.allows(&tool.spec().name));
        Told { memory: self.memory_text(), skill }
    }

    /// The memory's text as models may read it.
    fn memory_text(&self) -> String {
        self.parts.redactor.without_keys(self.memory.text())
    }

    /// Main's system prompt.
    pub fn system(&self) -> String {
        let prompt = SystemPrompt {
            base: self.parts.system_prompt.as_deref().unwrap_or(MAIN_PROMPT),
            append: self.parts.append_system_prompt.as_deref(),
            facts: &self.facts,
            memory: &self.memory_text(),
        };
        prompt.assemble()
    }

    /// Reads files again that have changed, and says so. Answers whether the skills are others. It may block.
    pub fn renew(&mut self, events: &EventSink) -> bool {
        self.renew_memory(events);
        if self.parts.custom.fingerprint() == self.skills.seen {
            return false;
        }
        let skills = Skills::read(&self.parts);
        for error in skills.refused(Some(&self.skills)) {
            events.notice(NoticeLevel::Warning, error);
        }
        let spec = |skills: &Skills| skills.tool.as_ref().map(|tool| tool.spec().clone());
        let changed = spec(&skills) != spec(&self.skills);
        self.skills = skills;
        changed
    }

    fn renew_memory(&mut self, events: &EventSink) {
        if self.memory.is_current() {
            return;
        }
        let memory = read(&self.parts);
        tell_problems(&memory, Some(&self.memory), events);
        let changed = memory.changed_since(&self.memory);
        let names: Vec<String> = changed.iter().map(|path| self.shown(path)).collect();
        if !names.is_empty() {
            events.notice(NoticeLevel::Info, format!("read again: {}", names.join(", ")));
        }
        self.memory = memory;
    }

    /// What main has to be told with its next prompt, if it is not told by its system prompt.
    pub(super) fn news(&mut self, main: &mut Agent) -> Option<String> {
        if self.noted.is_some_and(|before| before != main.summaries()) {
            main.set_system(self.system());
            self.told = self.memory.clone();
            self.noted = None;
            return None;
        }
        let news = self.memory.news_since(&self.told)?;
        self.told = self.memory.clone();
        self.noted = Some(main.summaries());
        Some(news)
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.parts.cwd).unwrap_or(path).display().to_string()
    }
}

/// What every agent of a session is told.
#[derive(Clone, Default)]
pub(super) struct Told {
    /// For system prompts.
    pub memory: String,
    /// The tool that loads skills; absent when there are none, and where the person left it out.
    pub skill: Option<Arc<dyn Tool>>,
}

/// The skills as they were read last.
struct Skills {
    customs: Customs,
    tool: Option<Arc<dyn Tool>>,
    /// What their files looked like just before that.
    seen: Fingerprint,
}

impl Skills {
    fn read(parts: &Parts) -> Self {
        let seen = parts.custom.fingerprint();
        let customs = Customs::load(&parts.custom);
        let tool = custom::tool(&parts.custom, &customs);
        Self { customs, tool, seen }
    }

    /// The files that do not count, as far as that was not said before.
    fn refused(&self, before: Option<&Self>) -> Vec<String> {
        let said = |problem: &&Problem| {
            before.is_some_and(|before| before.customs.problems().contains(problem))
        };
        let refused = |problem: &&Problem| matches!(problem, Problem::Refused { .. });
        let problems = self.customs.problems().iter().filter(refused).filter(|it| !said(it));
        problems.map(|problem| problem.error().to_string()).collect()
    }
}

fn read(parts: &Parts) -> Memory {
    let sources = MemorySources {
        dir: &parts.cwd,
        own: &parts.user_dir,
        claude: parts.claude_dir.as_deref(),
        home: parts.builtin.home.as_deref(),
        scope: &parts.scope,
        project: parts.setting_sources.project,
        local: parts.setting_sources.local,
    };
    let hidden = parts.builtin.hidden.from_reading(&parts.cwd);
    Memory::read(&sources, &|file| hidden.contain(file))
}

/// Says what is wrong with files, as far as it was not said before.
fn tell_problems(memory: &Memory, before: Option<&Memory>, events: &EventSink) {
    for notice in &memory.notices {
        if !before.is_some_and(|before| before.notices.contains(notice)) {
            events.notice(NoticeLevel::Warning, notice.clone());
        }
    }
}
