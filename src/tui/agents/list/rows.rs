//! The rows of `/agents` that match the filter, and what the keys do with the selected one.

use crate::protocol::AgentPath;
use crate::tui::agents::AgentState;
use crate::tui::agents::list::AgentList;
use crate::tui::background::Job;
use crate::tui::host::AgentChoice;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::TuiModel;
use crate::tui::text::TextFilter;

/// One row of the list of agents.
#[derive(Clone, Debug, PartialEq)]
pub enum ListRow {
    Agent(AgentPath),
    /// A background command, by its id.
    Job(String),
    Definition(AgentChoice),
}

/// The parts of the list, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentListSection {
    Running,
    Session,
    Definitions,
}

impl AgentListSection {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Session => "this session",
            Self::Definitions => "definitions",
        }
    }
}

impl ListRow {
    /// The section of the row.
    pub fn section(&self, model: &TuiModel) -> AgentListSection {
        let alive = match self {
            Self::Definition(_) => return AgentListSection::Definitions,
            Self::Agent(path) => model.agents.get(path).is_some_and(AgentState::alive),
            Self::Job(id) => model.jobs.get(id).is_some_and(Job::alive),
        };
        if alive { AgentListSection::Running } else { AgentListSection::Session }
    }

    /// The agent in the row, if it is one.
    pub fn agent<'a>(&self, model: &'a TuiModel) -> Option<&'a AgentState> {
        match self {
            Self::Agent(path) => model.agents.get(path),
            _ => None,
        }
    }

    /// The name shown in the row.
    pub fn name<'a>(&'a self, model: &'a TuiModel) -> &'a str {
        match self {
            Self::Agent(path) => model.name(path),
            Self::Job(id) => id,
            Self::Definition(definition) => &definition.name,
        }
    }
}

impl AgentList {
    /// The rows that match the filter.
    pub fn rows(&self, model: &TuiModel) -> Vec<ListRow> {
        let mut filter = TextFilter::new(self.filter.text());
        let mut rows = Vec::new();
        for alive in [true, false] {
            let agents = filter.matching(model.agents.listed(alive), |agent: &&AgentState| {
                (&*agent.info.name, &*agent.info.description)
            });
            rows.extend(agents.into_iter().map(|agent| ListRow::Agent(agent.path.clone())));
            let jobs = model.jobs.iter().filter(|job| job.alive() == alive).collect();
            let jobs = filter.matching(jobs, |job: &&Job| (&*job.id, &*job.command));
            rows.extend(jobs.into_iter().map(|job| ListRow::Job(job.id.clone())));
        }
        let definitions = self.definitions.iter().flatten().collect();
        let fitting = filter
            .matching(definitions, |found: &&AgentChoice| (&*found.name, &*found.description));
        rows.extend(fitting.into_iter().map(|found| ListRow::Definition(found.clone())));
        rows
    }

    /// The selected row.
    pub fn selected_row(&self, model: &TuiModel) -> Option<ListRow> {
        let mut rows = self.rows(model);
        let at = self.selected.min(rows.len().checked_sub(1)?);
        Some(rows.swap_remove(at))
    }

    /// Hints for the keys that do something now: what Enter and a letter do with the row, how to close the
    /// list, and the keys for all rows.
    pub fn hint(&self, model: &TuiModel) -> Vec<String> {
        let row = self.selected_row(model);
        let opens = match row {
            Some(ListRow::Definition(_)) => "mentions it",
            Some(ListRow::Agent(_) | ListRow::Job(_)) | None => "open",
        };
        let open = model.keymap.hint(KeyContext::List, Action::Submit, opens);
        let open = open.filter(|_| row.is_some());
        if self.filtering {
            let typed = Some("type to filter".to_owned());
            let ends = match self.filter.is_empty() {
                true => "Esc ends the filter",
                false => "Esc clears the filter",
            };
            return typed.into_iter().chain(open).chain(Some(ends.to_owned())).collect();
        }
        let mut keys: Vec<String> = open.into_iter().collect();
        match row {
            Some(ListRow::Agent(path)) => {
                if let Some(agent) = model.agents.get(&path) {
                    let moves = agent.running() && !agent.in_background;
                    let acts = match (agent.alive(), moves) {
                        (true, true) => Some("x cancel, b background"),
                        (true, false) => Some("x cancel"),
                        (false, _) => model.can_resume(agent).then_some("r resume, at a cost"),
                    };
                    keys.extend(agent.has_work().then(|| "d work".to_owned()));
                    keys.extend(acts.map(str::to_owned));
                }
            }
            Some(ListRow::Job(id)) => {
                let alive = model.jobs.get(&id).is_some_and(Job::alive);
                keys.extend(alive.then(|| "x kill".to_owned()));
            }
            Some(ListRow::Definition(_)) | None => {}
        }
        keys.push("Esc closes".to_owned());
        if model.agents.alive().next().is_some() {
            keys.push("a twice cancels all".to_owned());
        }
        keys.push("/ filter".to_owned());
        keys
    }
}
