//! Main's tools for sub-agents. They are built from the definitions, and rebuilt when those change.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::parts::RuntimeParts;
use crate::commands;
use crate::markdown::Fingerprint;
use crate::protocol::{EventSink, NoticeLevel};
use crate::subagent::registry::{DefinitionProblem, Definitions};
use crate::subagent::{Factory, ParentContext, SharedContext, Spawner, SubagentSettings, tools};
use crate::tool::{Tool, ToolRegistry};

/// Main's tools for sub-agents, and the definitions they were built from.
#[derive(Clone)]
pub(super) struct SubagentTools {
    parts: Arc<RuntimeParts>,
    main: ParentContext,
    /// Main's other tools. They are kept, because they know which files main has read.
    other_tools: ToolRegistry,
    /// The fingerprint of the definitions, taken just before they were loaded.
    fingerprint: Fingerprint,
    factory: Arc<Factory>,
    /// The definitions at startup: only the hooks and servers in them take effect.
    first_definitions: Definitions,
}

impl SubagentTools {
    /// Loads the definitions and reports problems with them. May block.
    pub fn new(
        parts: &Arc<RuntimeParts>,
        main: ParentContext,
        other_tools: ToolRegistry,
        factory: impl FnOnce(Definitions) -> Factory,
        events: &EventSink,
    ) -> Self {
        let (parts, fingerprint) = (parts.clone(), parts.definitions.fingerprint());
        let first_definitions = load_definitions(&parts);
        report_problems(&first_definitions, None, events);
        let factory = Arc::new(factory(first_definitions.clone()));
        Self { parts, main, other_tools, fingerprint, factory, first_definitions }
    }

    /// Returns the spawner of main's agents.
    pub fn spawner(&self) -> Spawner {
        Spawner::new(self.factory.clone(), self.main.clone())
    }

    /// Returns all tools of main.
    pub fn tools(&self) -> ToolRegistry {
        let spawner = self.spawner();
        let mut tools = self.parts.with_servers(&self.other_tools);
        if self.settings().may_start(0) {
            let agent_tools = tools::agent_tools(&spawner).into_iter();
            agent_tools
                .filter(|tool| self.parts.agents.allows(&tool.spec().name))
                .for_each(|tool| tools.insert(tool));
        } else {
            tools = tools.with_hidden(tools::limit_tools(&spawner));
        }
        tools.withholding(|name| self.parts.agents.gate.denies_tool(name))
    }

    /// Returns the current definitions.
    pub fn definitions(&self) -> &Definitions {
        &self.factory.definitions
    }

    /// Returns the configuration of sub-agents.
    pub fn settings(&self) -> &SubagentSettings {
        &self.factory.parts.settings
    }

    /// Reloads the definitions if their files have changed, and reports the differences. Running
    /// agents keep the definition and the context they started with. May block.
    pub fn refresh(&mut self, shared: SharedContext, new_skills: bool, events: &EventSink) -> bool {
        let fingerprint = self.parts.definitions.fingerprint();
        let before = self.factory.clone();
        if fingerprint == self.fingerprint && shared.memory == before.shared.memory && !new_skills {
            return false;
        }
        self.other_tools = with_skills(&self.other_tools, shared.skill.clone());
        let mut definitions = before.definitions.clone();
        if fingerprint != self.fingerprint {
            self.fingerprint = fingerprint;
            let (now, held) =
                load_definitions(&self.parts).limited_to_start(&self.first_definitions);
            definitions = now;
            if !held.is_empty() && describe_changes(&before.definitions, &definitions).is_some() {
                let names = held.join(", ");
                let text = format!(
                    "{names}: new hooks, servers, variables, providers, permissions and limits take effect at the next start"
                );
                events.notice(NoticeLevel::Warning, text);
            }
            report_problems(&definitions, Some(&before.definitions), events);
            let known = before.definitions.untrusted();
            let new = definitions.untrusted().iter().filter(|item| !known.contains(item));
            if let Some(text) = self.parts.definitions.notice(&new.cloned().collect::<Vec<_>>()) {
                events.notice(NoticeLevel::Warning, text);
            }
            if let Some(text) = describe_changes(&before.definitions, &definitions) {
                events.notice(NoticeLevel::Info, text);
            }
        }
        self.factory = Arc::new(Factory { shared, definitions, ..(*before).clone() });
        true
    }
}

/// Loads the definitions that rules allow agents to read.
fn load_definitions(parts: &RuntimeParts) -> Definitions {
    let hidden = parts.agents.builtin.hidden.for_reading(&parts.cwd);
    Definitions::load(&parts.definitions).without_hidden(|file| hidden.contain_either(file))
}

/// Returns the tools with this skill tool, or without one.
pub(super) fn with_skills(tools: &ToolRegistry, skill: Option<Arc<dyn Tool>>) -> ToolRegistry {
    let mut tools = tools.filtered(|name| name != commands::SKILL_TOOL);
    if let Some(skill) = skill {
        tools.insert(skill);
    }
    tools
}

/// The maximum number of problems to show: a collection of definitions may have hundreds.
const MAX_PROBLEM_NOTICES: usize = 8;

/// Reports problems with definitions, except those already reported.
fn report_problems(definitions: &Definitions, before: Option<&Definitions>, events: &EventSink) {
    let is_new = |problem: &&DefinitionProblem| {
        // Untrusted definitions have their own notice.
        !matches!(problem, DefinitionProblem::Untrusted(_))
            && !before.is_some_and(|it| it.problems().contains(problem))
    };
    let problems: Vec<_> = definitions.problems().iter().filter(is_new).collect();
    for problem in problems.iter().take(MAX_PROBLEM_NOTICES) {
        events.notice(NoticeLevel::Warning, problem.error().to_string());
    }
    if let Some(more) = problems.len().checked_sub(MAX_PROBLEM_NOTICES).filter(|more| *more > 0) {
        let text = format!("agents: {more} more problems; `caliban agents check` lists them");
        events.notice(NoticeLevel::Warning, text);
    }
}

/// Lists added, changed and removed definitions: `agents: +reviewer ~scout −old`. Returns `None` if
/// nothing changed.
fn describe_changes(before: &Definitions, now: &Definitions) -> Option<String> {
    let names = |all: &Definitions| all.iter().map(|it| it.name.clone()).collect::<BTreeSet<_>>();
    let (had, has) = (names(before), names(now));
    let changed = |name: &&String| before.get(name) != now.get(name);
    let added = has.difference(&had).map(|name| format!("+{name}"));
    let edited = has.intersection(&had).filter(changed).map(|name| format!("~{name}"));
    let removed = had.difference(&has).map(|name| format!("−{name}"));
    let all: Vec<_> = added.chain(edited).chain(removed).collect();
    (!all.is_empty()).then(|| format!("agents: {}", all.join(" ")))
}
