//! The sub-agents of the session: who they are, how they are numbered, and in which order they are shown.

mod background;
mod stored;

pub use background::LINGER;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::protocol::{AgentId, AgentInfo, AgentPath, End, Outcome};

use super::item::ItemKind;
use super::run::{Phase, Run};
use super::transcript::Transcript;

/// Bytes of text that are kept of one sub-agent.
const TEXT_KEPT: usize = 1024 * 1024;

/// Ended sub-agents whose transcripts stay in memory; older ones are on disk only.
const ENDED_KEPT: usize = 64;

/// Location of an agent's conversation.
///
/// | from | by | to |
/// |---|---|---|
/// | – | its start | here |
/// | here | the start of a later batch, when too many are here | on disk |
/// | – | the opening of a stored session | on disk, or gone if it was not stored |
/// | on disk | its first frame on the screen | asked for |
/// | on disk, asked for | its events from the file | here |
///
/// Before an agent is resumed, its conversation is read, so that new text follows the old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In its transcript.
    Here,
    /// In its file; the transcript holds the task and the final text.
    OnDisk,
    /// In its file, and on its way.
    AskedFor,
    /// Nowhere: only its end is known.
    Gone,
}

/// One sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    pub path: AgentPath,
    pub id: AgentId,
    /// Lowest number that was free when it started; stays.
    pub number: usize,
    pub info: AgentInfo,
    pub run: Run,
    pub transcript: Transcript,
    pub kept: Kept,
    pub outcome: Option<Outcome>,
    /// Whether it ended because main was stopped.
    pub with_main: bool,
    /// The lines scrolled up from its end in its pane, if not following.
    pub scroll: super::Scroll,
    /// Counts batches: agents of one batch are shown and folded together.
    pub batch: usize,
    /// Whether it has a slot in the panel.
    pub shown: bool,
    /// Index into the colours for agents.
    pub colour: usize,
    /// Main's turn does not wait for it: it, or one above it, is in the background.
    pub aside: bool,
    /// Whether it has a row among the background agents.
    pub in_strip: bool,
    /// Its parent has read its result.
    pub read: bool,
}

impl Agent {
    #[must_use]
    pub fn alive(&self) -> bool {
        self.run.alive()
    }

    /// Whether it is alive and not just queued.
    #[must_use]
    pub fn running(&self) -> bool {
        self.run.alive() && !self.run.queued()
    }

    /// Whether it can go on after its end: it has a transcript to go on with.
    #[must_use]
    pub fn resumable(&self) -> bool {
        self.kept != Kept::Gone
            && matches!(&self.run.phase, Phase::Ended(end) if *end != End::Cancelled { before_start: true })
    }
}

/// All sub-agents of the session, in order of start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agents {
    list: Vec<Agent>,
    by_path: HashMap<AgentPath, usize>,
    /// Positions in `list` of each agent and all agents below it, so that drawing one row does not
    /// scan all agents.
    within: HashMap<AgentPath, Vec<usize>>,
    /// Number of the present (or last) batch.
    batch: usize,
    started: usize,
    forgotten: VecDeque<usize>,
}

/// How many agents of a set are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub all: usize,
    pub running: usize,
    /// Alive in the background; not among the running and queued ones.
    pub aside: usize,
    pub queued: usize,
    pub done: usize,
    pub cancelled: usize,
    pub failed: usize,
    pub partial: usize,
    pub empty: usize,
}

impl Agents {
    #[must_use]
    pub fn get(&self, path: &AgentPath) -> Option<&Agent> {
        self.list.get(*self.by_path.get(path)?)
    }

    pub fn get_mut(&mut self, path: &AgentPath) -> Option<&mut Agent> {
        self.list.get_mut(*self.by_path.get(path)?)
    }

    /// All agents of the session, in order of start.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Agent> {
        self.list.iter()
    }

    /// An agent and all agents below it, in order of start; all agents for the root.
    pub fn within(&self, top: &AgentPath) -> impl Iterator<Item = &Agent> {
        self.within.get(top).into_iter().flatten().filter_map(|at| self.list.get(*at))
    }

    pub fn alive(&self) -> impl Iterator<Item = &Agent> {
        self.list.iter().filter(|agent| agent.alive())
    }

    /// The number of agents that wait for a slot.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.alive().filter(|agent| agent.run.queued()).count()
    }

    pub fn running(&self) -> impl Iterator<Item = &Agent> {
        self.list.iter().filter(|agent| agent.running())
    }

    /// Those with a slot in the panel, sorted by number, children under their parent.
    #[must_use]
    pub fn shown(&self) -> Vec<&Agent> {
        in_order(self.list.iter().filter(|agent| agent.shown).collect())
    }

    /// The batch that is or was shown last.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Adds an agent that has just started. Begins a batch when nothing of the last one is shown,
    /// but not for one that begins in the background.
    pub fn start(&mut self, path: AgentPath, info: AgentInfo, at: Duration) -> &mut Agent {
        let above = path.parent().and_then(|parent| self.get(&parent));
        let aside = info.background || above.is_some_and(|parent| parent.aside);
        let present = |agent: &Agent| agent.shown && agent.batch == self.batch;
        if !aside && (!self.list.iter().any(present) || self.folded()) {
            self.begin_batch();
        }
        let number = self.free_number();
        let mut transcript = Transcript::bounded(TEXT_KEPT);
        transcript.push(ItemKind::Prompt { text: info.prompt.clone(), task: true });
        let mut run = Run { last_sign: at, ..Run::default() };
        run.phase = Phase::Starting;
        run.since = at;
        run.limit = Some(info.max_turns).filter(|limit| *limit > 0);
        let id = path.id().unwrap_or_else(AgentId::generate);
        self.by_path.insert(path.clone(), self.list.len());
        for top in std::iter::successors(Some(path.clone()), AgentPath::parent) {
            self.within.entry(top).or_default().push(self.list.len());
        }
        let colour = self.started;
        self.started += 1;
        self.list.push(Agent {
            path,
            id,
            number,
            info,
            run,
            transcript,
            kept: Kept::Here,
            outcome: None,
            with_main: false,
            scroll: super::Scroll::default(),
            batch: if aside { 0 } else { self.batch },
            shown: !aside,
            colour,
            aside,
            in_strip: aside,
            read: false,
        });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// The lowest number that nothing on the screen has.
    fn free_number(&self) -> usize {
        let on_screen = self.list.iter().filter(|agent| agent.shown || agent.in_strip);
        let taken: Vec<usize> = on_screen.map(|agent| agent.number).collect();
        (1..).find(|number| !taken.contains(number)).unwrap_or(usize::MAX)
    }

    /// Whether the last batch has been folded and was opened again for reading.
    fn folded(&self) -> bool {
        self.forgotten.contains(&self.batch)
    }

    fn begin_batch(&mut self) {
        self.batch += 1;
        for agent in &mut self.list {
            agent.shown &= agent.alive();
        }
        self.forgotten.clear();
        let ended: Vec<usize> = (0..self.list.len()).filter(|at| !self.list[*at].alive()).collect();
        for old in ended.iter().rev().skip(ENDED_KEPT) {
            if self.list[*old].transcript.ids().count() > 1 {
                self.list[*old].transcript.forget();
                self.list[*old].kept = Kept::OnDisk;
            }
        }
    }

    /// Takes the ended agents out of the panel. Answers whether the whole batch is folded now.
    pub fn fold(&mut self) -> bool {
        if self.list.iter().any(|agent| agent.shown && agent.alive()) {
            return false;
        }
        for agent in &mut self.list {
            agent.shown = false;
        }
        self.forgotten.push_back(self.batch);
        true
    }

    /// The agents of the panel, or, once that is folded, those of the last batch; and those in the
    /// background.
    #[must_use]
    pub fn latest(&self) -> Vec<&Agent> {
        let mut latest = self.shown();
        if latest.is_empty() {
            let of_batch =
                |agent: &&Agent| self.batch > 0 && agent.batch == self.batch && !agent.in_strip;
            latest = self.list.iter().filter(of_batch).collect();
        }
        latest.extend(self.strip());
        latest
    }

    /// Shows the agents of the last batch again. Answers whether there are any.
    pub fn reopen(&mut self) -> bool {
        let batch = self.batch;
        for agent in &mut self.list {
            agent.shown |= batch > 0 && agent.batch == batch && !agent.in_strip;
        }
        self.list.iter().any(|agent| agent.shown)
    }

    /// Takes what was opened again out of the panel.
    pub fn close(&mut self) {
        if self.folded() {
            self.list.iter_mut().for_each(|agent| agent.shown &= agent.alive());
        }
    }

    /// Shows one agent's batch again, or its row in the background, so that the agent can have the focus.
    pub fn reveal(&mut self, path: &AgentPath) {
        let Some(agent) = self.get(path) else { return };
        if agent.aside {
            return self.put_in_strip(path);
        }
        let batch = agent.batch;
        for agent in &mut self.list {
            agent.shown = !agent.in_strip && (agent.alive() || agent.batch == batch);
        }
    }

    /// Forgets all agents, for another session.
    pub fn clear(&mut self) {
        *self = Self { started: 0, ..Self::default() };
    }

    /// Counts a set of agents by state.
    #[must_use]
    pub fn tally<'a>(agents: impl Iterator<Item = &'a Agent>) -> Tally {
        let mut tally = Tally::default();
        for agent in agents {
            tally.all += 1;
            let slot = match &agent.run.phase {
                phase if agent.aside && !matches!(phase, Phase::Ended(_)) => &mut tally.aside,
                Phase::Queued { .. } => &mut tally.queued,
                Phase::Ended(end) => match end {
                    End::Completed => &mut tally.done,
                    End::MaxTurns { .. } | End::Budget { .. } | End::TimeLimit { .. } => {
                        &mut tally.partial
                    }
                    End::Cancelled { .. } | End::Interrupted => &mut tally.cancelled,
                    End::Failed { .. } | End::Refused => &mut tally.failed,
                    End::Empty => &mut tally.empty,
                },
                _ => &mut tally.running,
            };
            *slot += 1;
        }
        tally
    }
}

/// Sorted by number, children under their parent.
fn in_order(mut agents: Vec<&Agent>) -> Vec<&Agent> {
    agents.sort_by_key(|agent| agent.number);
    let mut ordered = Vec::with_capacity(agents.len());
    for top in agents.iter().filter(|agent| !has_parent_in(agent, &agents)) {
        push_with_children(top, &agents, &mut ordered);
    }
    ordered
}

fn has_parent_in(agent: &Agent, shown: &[&Agent]) -> bool {
    agent.path.parent().is_some_and(|above| shown.iter().any(|other| other.path == above))
}

fn push_with_children<'a>(agent: &'a Agent, shown: &[&'a Agent], ordered: &mut Vec<&'a Agent>) {
    ordered.push(agent);
    for child in shown {
        if child.path.parent().as_ref() == Some(&agent.path) {
            push_with_children(child, shown, ordered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::{agent_info, finish};

    fn start(agents: &mut Agents, name: &str) -> AgentPath {
        let path = AgentPath::root().child(AgentId::generate());
        agents.start(path.clone(), agent_info(name, "task"), Duration::ZERO);
        path
    }

    fn end(agents: &mut Agents, path: &AgentPath) {
        let kind = finish(End::Completed, "");
        agents.get_mut(path).unwrap().run.follow(&kind, Duration::ZERO);
    }

    #[test]
    fn a_number_stays_until_the_batch_folds_and_is_the_lowest_free_one_then() {
        let mut agents = Agents::default();
        let first = start(&mut agents, "explore-1");
        let second = start(&mut agents, "explore-2");
        end(&mut agents, &first);
        let third = start(&mut agents, "explore-3");
        assert_eq!(agents.get(&second).unwrap().number, 2);
        assert_eq!(agents.get(&third).unwrap().number, 3);
        assert!(!agents.fold());
        end(&mut agents, &second);
        end(&mut agents, &third);
        assert!(agents.fold());
        let next = start(&mut agents, "explore-4");
        assert_eq!(agents.get(&next).unwrap().number, 1);
        assert_eq!(agents.shown().len(), 1);
    }

    #[test]
    fn children_stand_under_their_parent() {
        let mut agents = Agents::default();
        let plan = start(&mut agents, "plan-1");
        start(&mut agents, "review-1");
        let child = plan.child(AgentId::generate());
        agents.start(child, agent_info("explore-1", "task"), Duration::ZERO);
        let names: Vec<&str> = agents.shown().iter().map(|a| a.info.name.as_str()).collect();
        assert_eq!(names, ["plan-1", "explore-1", "review-1"]);
    }

    #[test]
    fn a_folded_batch_opens_again_and_goes_when_new_agents_start() {
        let mut agents = Agents::default();
        let first = start(&mut agents, "explore-1");
        end(&mut agents, &first);
        agents.fold();
        assert!(agents.shown().is_empty());
        assert!(agents.reopen());
        start(&mut agents, "explore-2");
        let names: Vec<&str> = agents.shown().iter().map(|a| a.info.name.as_str()).collect();
        assert_eq!(names, ["explore-2"]);
    }
}
