//! What main is offered of sub-agents. It is made from the definitions, and made anew when those
//! have changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Runtime;
use super::assemble::{self, Parts, Shared};
use super::brought::{Brought, Told};
use crate::agent::Agent;
use crate::custom;
use crate::markdown::Fingerprint;
use crate::protocol::{EventSink, NoticeLevel};
use crate::subagent::registry::{Definitions, Problem};
use crate::subagent::{Caller, Executor, Factory, Settings, faces};
use crate::tool::{Tool, ToolRegistry};

/// The agents' tools of main, and the definitions that they were made from.
#[derive(Clone)]
pub(super) struct Offer {
    parts: Arc<Parts>,
    caller: Caller,
    /// Main's tools but for those of agents: they know what main has read, so they stay.
    others: ToolRegistry,
    /// What the definitions looked like just before they were loaded.
    seen: Fingerprint,
    factory: Arc<Factory>,
    /// The definitions as they were at first: what they start counts.
    start: Definitions,
}

impl Offer {
    /// Loads the definitions, and says what is wrong with them. It may block.
    pub fn new(
        parts: &Arc<Parts>,
        caller: Caller,
        others: ToolRegistry,
        factory: impl FnOnce(Definitions) -> Arc<Factory>,
        events: &EventSink,
    ) -> Self {
        let seen = parts.definitions.fingerprint();
        let start = load(parts);
        let factory = factory(start.clone());
        tell_problems(&factory.definitions, None, events);
        Self { parts: parts.clone(), caller, others, seen, factory, start }
    }

    /// What starts main's agents.
    pub fn executor(&self) -> Executor {
        Executor::new(self.factory.clone(), self.caller.clone())
    }

    /// All tools of main.
    pub fn tools(&self) -> ToolRegistry {
        let executor = self.executor();
        let mut tools = self.parts.with_servers(&self.others);
        if !self.settings().may_start(0) {
            tools = tools.with_hidden(faces::at_limit(&executor));
        } else {
            let offered = faces::offered(&executor).into_iter();
            offered
                .filter(|face| self.parts.allows(&face.spec().name))
                .for_each(|face| tools.insert(face));
        }
        tools.withholding(|name| self.factory.gate.withholds(name))
    }

    /// The definitions that count now.
    pub fn definitions(&self) -> &Definitions {
        &self.factory.definitions
    }

    /// What the configuration says about sub-agents.
    pub fn settings(&self) -> &Settings {
        &self.factory.settings
    }

    /// Loads the definitions again when their files have changed, and says what is different. What
    /// runs keeps the definition that it was started with, and what it was told. It may block.
    fn renew(&mut self, told: Told, new_skills: bool, events: &EventSink) -> bool {
        let seen = self.parts.definitions.fingerprint();
        let before = self.factory.clone();
        if seen == self.seen && told.memory == before.memory && !new_skills {
            return false;
        }
        self.others = with_skills(&self.others, told.skill.clone());
        let mut definitions = before.definitions.clone();
        if seen != self.seen {
            self.seen = seen;
            let (now, held) = load(&self.parts).with_starts_of(&self.start);
            definitions = now;
            if !held.is_empty() && difference(&before.definitions, &definitions).is_some() {
                let names = held.join(", ");
                let text = format!(
                    "{names}: hooks, servers, variables, another provider and wider rights or limits count from the next start on"
                );
                events.notice(NoticeLevel::Warning, text);
            }
            tell_problems(&definitions, Some(&before.definitions), events);
            let known = before.definitions.inert();
            let new = definitions.inert().iter().filter(|thing| !known.contains(thing));
            if let Some(told) = self.parts.definitions.notice(&new.cloned().collect::<Vec<_>>()) {
                events.notice(NoticeLevel::Warning, told);
            }
            if let Some(text) = difference(&before.definitions, &definitions) {
                events.notice(NoticeLevel::Info, text);
            }
        }
        self.factory = assemble::factory(
            &self.parts,
            Shared {
                tree: before.tree.clone(),
                operations: before.operations.clone(),
                hooks: before.hooks.clone(),
            },
            before.facts.clone(),
            told,
            definitions,
        );
        true
    }
}

impl Runtime {
    /// Looks at the files that tell agents something, and gives main its agents' tools anew when
    /// one of them has changed since they were made.
    pub(super) async fn renew(&mut self, agent: &mut Agent) {
        let (mut offer, mut brought) = (self.offer.take(), self.brought.take());
        let events = self.events.clone();
        let renewing = tokio::task::spawn_blocking(move || {
            let new_skills = brought.as_mut().is_some_and(|brought| brought.renew(&events));
            let told = brought.as_ref().map(Brought::for_agents).unwrap_or_default();
            let renew = |offer: &mut Offer| offer.renew(told, new_skills, &events);
            let new_offer = offer.as_mut().is_some_and(renew);
            (new_offer, new_skills, offer, brought)
        });
        // The closure only fails by panicking, and then there is nothing better than to pass that on.
        let (new_offer, new_skills) = match renewing.await {
            Ok((new_offer, new_skills, offer, brought)) => {
                (self.offer, self.brought) = (offer, brought);
                (new_offer, new_skills)
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        match &self.offer {
            Some(offer) if new_offer => agent.set_tools(offer.tools()),
            None if new_skills => {
                let skill = self.brought.as_ref().and_then(|brought| brought.for_agents().skill);
                let tools = with_skills(agent.tools(), skill);
                agent.set_tools(tools.withholding(|name| self.parts.gate.withholds(name)));
            }
            _ => {}
        }
    }
}

/// Reads the definitions that rules let agents read.
fn load(parts: &Parts) -> Definitions {
    let hidden = parts.builtin.hidden.from_reading(&parts.cwd);
    Definitions::load(&parts.definitions).without_hidden(|file| hidden.contain_either(file))
}

/// The tools with this one for skills, or without any.
fn with_skills(tools: &ToolRegistry, skill: Option<Arc<dyn Tool>>) -> ToolRegistry {
    let mut tools = tools.filtered(|name| name != custom::TOOL);
    if let Some(skill) = skill {
        tools.insert(skill);
    }
    tools
}

/// Of how many definitions the screen says what is wrong with them: a collection may bring hundreds.
const TOLD_PROBLEMS: usize = 8;

/// Says what is wrong with definitions, as far as it was not said before.
fn tell_problems(definitions: &Definitions, before: Option<&Definitions>, events: &EventSink) {
    // What is not trusted has a notice of its own.
    let told = |problem: &&Problem| !matches!(problem, Problem::Untrusted(_));
    let new = |problem: &&Problem| !before.is_some_and(|it| it.problems().contains(problem));
    let problems: Vec<_> = definitions.problems().iter().filter(told).filter(new).collect();
    for problem in problems.iter().take(TOLD_PROBLEMS) {
        events.notice(NoticeLevel::Warning, problem.error().to_string());
    }
    if let Some(more) = problems.len().checked_sub(TOLD_PROBLEMS).filter(|more| *more > 0) {
        let text = format!("agents: {more} more problems; `caliban agents check` lists them");
        events.notice(NoticeLevel::Warning, text);
    }
}

/// Which definitions came, went and changed: `agents: +reviewer ~scout −old`. `None` when all are the same.
fn difference(before: &Definitions, now: &Definitions) -> Option<String> {
    let names = |all: &Definitions| all.iter().map(|it| it.name.clone()).collect::<BTreeSet<_>>();
    let (had, has) = (names(before), names(now));
    let changed = |name: &&String| before.get(name) != now.get(name);
    let added = has.difference(&had).map(|name| format!("+{name}"));
    let edited = has.intersection(&had).filter(changed).map(|name| format!("~{name}"));
    let removed = had.difference(&has).map(|name| format!("−{name}"));
    let all: Vec<_> = added.chain(edited).chain(removed).collect();
    (!all.is_empty()).then(|| format!("agents: {}", all.join(" ")))
}
