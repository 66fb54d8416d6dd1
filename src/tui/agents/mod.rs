//! The sub-agents of the session: their state, numbers and order on the screen.

mod background;
pub mod batch;
pub mod grid;
mod gutter;
pub mod list;
pub mod live;
pub mod pane_area;
pub mod panes;
pub mod picker;
pub mod result;
pub mod row;
mod run;
pub mod update;
pub mod zoom;

pub use run::{HISTORY_START, RunPhase, RunState};

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use crate::protocol::{AgentId, AgentInfo, AgentPath, Cost, RunEnd, RunOutcome, WorktreeInfo};
use crate::tui::theme::Glyph;
use crate::tui::transcript::{ItemKind, Scroll, TranscriptState};

/// Bytes of text kept per sub-agent.
const MAX_AGENT_TEXT: usize = 1024 * 1024;

/// How long the pane of an agent that has ended keeps its height.
pub const ENDED_PANE_TIME: Duration = Duration::from_millis(1500);

/// Number of ended sub-agents whose transcripts stay in memory; older ones are only on disk.
const MAX_LOADED_ENDED: usize = 64;

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
/// Before an agent is resumed, its conversation is read, so new text follows the old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptLocation {
    /// In its transcript.
    Loaded,
    /// In its file; the transcript only has the task and the final text.
    OnDisk,
    /// In its file, and requested.
    Requested,
    /// Not stored: only its outcome is known.
    Missing,
}

/// One sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentState {
    pub path: AgentPath,
    pub id: AgentId,
    /// Belongs to this agent alone, for the whole session.
    pub number: usize,
    pub info: AgentInfo,
    pub run: RunState,
    pub transcript: TranscriptState,
    pub location: TranscriptLocation,
    pub outcome: Option<RunOutcome>,
    /// Whether it ended because main was stopped.
    pub stopped_with_main: bool,
    /// Whether it was cancelled together with another agent above it.
    pub stopped_with_parent: bool,
    /// Scroll position in its pane.
    pub scroll: Scroll,
    /// Number of its batch: agents of one batch are shown and folded together.
    pub batch: usize,
    /// Whether it has a slot in the panel.
    pub in_panel: bool,
    /// Index into the colours for agents.
    pub colour: usize,
    /// Whether it or an ancestor is in the background, so main's turn does not wait for it.
    pub in_background: bool,
    /// Whether it has a row among the background agents.
    pub in_strip: bool,
    /// Whether its parent has read its result.
    pub result_read: bool,
    /// Its git worktree, if it works in one of its own or has left work there.
    pub worktree: Option<Box<WorktreeInfo>>,
    /// The folders of all worktrees that it has worked in, also of those that are gone.
    pub worktree_dirs: Vec<PathBuf>,
    /// The cost of its requests that the session has paid for.
    pub paid: Cost,
    /// The prompt with which the program last resumed it.
    pub resume_prompt: Option<String>,
    /// Its first run, once it was resumed.
    pub first_run: Option<Box<FirstRun>>,
}

/// An agent as its first run left it, for its batch after it was resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstRun {
    /// Without the transcript.
    pub agent: AgentState,
    /// Number of agents that the session had had when it was resumed.
    pub agents: usize,
}

impl AgentState {
    /// The name in hints, notices and questions: `agent 2`.
    pub fn label(&self) -> String {
        format!("agent {}", self.number)
    }

    pub fn alive(&self) -> bool {
        self.run.alive()
    }

    /// Whether it is alive and not just queued.
    pub fn running(&self) -> bool {
        self.run.alive() && !self.run.queued()
    }

    /// Whether it has ended and left work in a worktree of its own.
    pub fn has_work(&self) -> bool {
        !self.alive() && self.worktree.is_some()
    }

    /// Itself, or its first run if it was resumed since.
    pub fn in_batch(&self) -> &Self {
        self.first_run.as_ref().map_or(self, |first| &first.agent)
    }

    /// Whether another session has paid for it, of which this one is a copy.
    pub fn is_copied(&self) -> bool {
        self.location == TranscriptLocation::Missing
            && self.paid == Cost::default()
            && self.run.cost != Cost::default()
    }

    /// Whether it has ended and can be resumed from its transcript.
    pub fn resumable(&self) -> bool {
        self.location != TranscriptLocation::Missing
            && matches!(&self.run.phase, RunPhase::Ended(end) if *end != RunEnd::Cancelled { before_start: true })
    }
}

/// All sub-agents of the session, in order of start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSet {
    list: Vec<AgentState>,
    by_path: HashMap<AgentPath, usize>,
    /// Positions in `list` of each agent and all agents below it, so that drawing a row does not
    /// scan all agents.
    within: HashMap<AgentPath, Vec<usize>>,
    /// Number of the current (or last) batch.
    batch: usize,
    started: usize,
    folded_batches: VecDeque<usize>,
}

/// Number of agents per state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentTally {
    pub all: usize,
    pub running: usize,
    /// Alive in the background; not among the running and queued ones.
    pub in_background: usize,
    pub queued: usize,
    /// At work in another program.
    pub elsewhere: usize,
    pub done: usize,
    pub cancelled: usize,
    pub failed: usize,
    pub partial: usize,
    pub empty: usize,
}

impl AgentSet {
    pub fn get(&self, path: &AgentPath) -> Option<&AgentState> {
        self.list.get(*self.by_path.get(path)?)
    }

    pub fn get_mut(&mut self, path: &AgentPath) -> Option<&mut AgentState> {
        self.list.get_mut(*self.by_path.get(path)?)
    }

    /// All agents of the session, in order of start.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &AgentState> {
        self.list.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut AgentState> {
        self.list.iter_mut()
    }

    /// An agent and all agents below it, in order of start; all agents for the root.
    pub fn within(&self, top: &AgentPath) -> impl Iterator<Item = &AgentState> {
        self.within.get(top).into_iter().flatten().filter_map(|at| self.list.get(*at))
    }

    /// An agent of a batch and the agents below it, each below its parent, as the batch shows them:
    /// after an agent was resumed, its first run, without agents started since.
    pub fn of_batch(&self, top: &AgentPath) -> Vec<&AgentState> {
        let first = self.get(top).and_then(|agent| agent.first_run.as_ref());
        let known = first.map_or(usize::MAX, |first| first.agents);
        let places = self.within.get(top).into_iter().flatten().filter(move |at| **at < known);
        tree_order(places.filter_map(|at| self.list.get(*at)).map(AgentState::in_batch).collect())
    }

    pub fn alive(&self) -> impl Iterator<Item = &AgentState> {
        self.list.iter().filter(|agent| agent.alive())
    }

    /// Whether some agent of the session has a number of two or more digits, so that a digit may be a
    /// part of one. It need not run: who types its number means it all the same.
    pub fn has_long_numbers(&self) -> bool {
        self.list.iter().any(|agent| agent.number > 9)
    }

    pub fn running(&self) -> impl Iterator<Item = &AgentState> {
        self.list.iter().filter(|agent| agent.running())
    }

    /// Agents that are alive, or those that have ended, sorted by number, children below their parent.
    pub fn listed(&self, alive: bool) -> Vec<&AgentState> {
        tree_order(self.list.iter().filter(|agent| agent.alive() == alive).collect())
    }

    /// Agents in the panel, sorted by number, children below their parent.
    pub fn panel(&self) -> Vec<&AgentState> {
        tree_order(self.list.iter().filter(|agent| agent.in_panel).collect())
    }

    /// When the panes next change their height.
    pub fn next_shrink(&self, now: Duration) -> Option<Duration> {
        let ended = self.list.iter().filter(|agent| agent.in_panel && !agent.alive());
        let times = ended.filter_map(|agent| Some(agent.run.ended? + ENDED_PANE_TIME));
        times.filter(|at| *at > now && *at < HISTORY_START).min()
    }

    /// Number of the current or last batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Adds an agent that has just started. Starts a new batch when nothing of the last one is shown,
    /// unless the agent starts in the background.
    pub fn start(&mut self, path: AgentPath, info: AgentInfo, at: Duration) -> &mut AgentState {
        let aside = self.starts_aside(&path, &info);
        let present = |agent: &AgentState| agent.in_panel && agent.batch == self.batch;
        if !aside && (!self.list.iter().any(present) || self.is_folded()) {
            self.begin_batch();
        }
        let number = self.number_for(&info);
        let mut transcript = TranscriptState::bounded(MAX_AGENT_TEXT);
        transcript.push(ItemKind::Prompt { text: info.prompt.as_str().into(), task: true });
        let mut run = RunState { last_activity: at, ..RunState::default() };
        run.phase = RunPhase::Starting;
        run.since = at;
        run.limit = Some(info.max_turns).filter(|limit| *limit > 0);
        let id = path.id().unwrap_or_else(AgentId::generate);
        self.by_path.insert(path.clone(), self.list.len());
        for top in std::iter::successors(Some(path.clone()), AgentPath::parent) {
            self.within.entry(top).or_default().push(self.list.len());
        }
        let colour = self.started;
        self.started += 1;
        self.list.push(AgentState {
            path,
            id,
            number,
            info,
            run,
            transcript,
            location: TranscriptLocation::Loaded,
            outcome: None,
            stopped_with_main: false,
            stopped_with_parent: false,
            scroll: Scroll::default(),
            batch: if aside { 0 } else { self.batch },
            in_panel: !aside,
            colour,
            in_background: aside,
            in_strip: aside,
            result_read: false,
            resume_prompt: None,
            first_run: None,
            worktree: None,
            worktree_dirs: Vec::new(),
            paid: Cost::default(),
        });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// Whether an agent starts in the background, itself or below another one.
    pub fn starts_aside(&self, path: &AgentPath, info: &AgentInfo) -> bool {
        let above = path.parent().and_then(|parent| self.get(&parent));
        info.background || above.is_some_and(|parent| parent.in_background)
    }

    /// The number of a new agent: its own, or the next one if it has none, as in an old session.
    fn number_for(&self, info: &AgentInfo) -> usize {
        let mut last = 0;
        for agent in &self.list {
            last = last.max(agent.number);
        }
        let is_new =
            info.number > last || self.list.iter().all(|agent| agent.number != info.number);
        if info.number > 0 && is_new { info.number } else { last + 1 }
    }

    /// Whether the last batch has been folded, even if it was reopened for reading.
    pub fn is_folded(&self) -> bool {
        self.folded_batches.contains(&self.batch)
    }

    fn begin_batch(&mut self) {
        self.batch += 1;
        for agent in &mut self.list {
            agent.in_panel &= agent.alive();
        }
        self.folded_batches.clear();
        let ended: Vec<usize> = (0..self.list.len()).filter(|at| !self.list[*at].alive()).collect();
        for old in ended.iter().rev().skip(MAX_LOADED_ENDED) {
            if self.list[*old].transcript.ids().count() > 1 {
                self.list[*old].transcript.drop_all();
                self.list[*old].location = TranscriptLocation::OnDisk;
            }
        }
    }

    /// Removes the ended agents from the panel if none is alive. Returns whether the batch is folded now.
    pub fn fold(&mut self) -> bool {
        if self.list.iter().any(|agent| agent.in_panel && agent.alive()) {
            return false;
        }
        for agent in &mut self.list {
            agent.in_panel = false;
        }
        self.folded_batches.push_back(self.batch);
        true
    }

    /// The agents of the panel (or of the last batch, once folded), then those in the background.
    pub fn latest(&self) -> Vec<&AgentState> {
        let mut latest = self.panel();
        if latest.is_empty() {
            let of_batch = |agent: &&AgentState| {
                self.batch > 0 && agent.batch == self.batch && !agent.in_strip
            };
            latest = self.list.iter().filter(of_batch).collect();
        }
        latest.extend(self.strip());
        latest
    }

    /// Shows the agents of the last batch again. Returns whether there are any.
    pub fn reopen(&mut self) -> bool {
        let batch = self.batch;
        for agent in &mut self.list {
            agent.in_panel |= batch > 0 && agent.batch == batch && !agent.in_strip;
        }
        self.list.iter().any(|agent| agent.in_panel)
    }

    /// Removes a reopened batch from the panel.
    pub fn close(&mut self) {
        if self.is_folded() {
            self.list.iter_mut().for_each(|agent| agent.in_panel &= agent.alive());
        }
    }

    /// Shows an agent's batch again, or its row in the background, so that it can have the focus.
    pub fn reveal(&mut self, path: &AgentPath) {
        let Some(agent) = self.get(path) else { return };
        if agent.in_background {
            return self.add_to_strip(path);
        }
        let batch = agent.batch;
        for agent in &mut self.list {
            agent.in_panel = !agent.in_strip && (agent.alive() || agent.batch == batch);
        }
    }

    /// Removes all agents, for another session.
    pub fn clear(&mut self) {
        *self = Self { started: 0, ..Self::default() };
    }

    /// Counts a set of agents by state.
    pub fn tally<'a>(agents: impl Iterator<Item = &'a AgentState>) -> AgentTally {
        let mut tally = AgentTally::default();
        for agent in agents {
            tally.all += 1;
            let slot = match &agent.run.phase {
                RunPhase::Ended(end) => match Glyph::of_end(end) {
                    Glyph::Done => &mut tally.done,
                    Glyph::Partial => &mut tally.partial,
                    Glyph::Cancelled => &mut tally.cancelled,
                    Glyph::Failed => &mut tally.failed,
                    _ => &mut tally.empty,
                },
                RunPhase::Elsewhere => &mut tally.elsewhere,
                _ if agent.in_background => &mut tally.in_background,
                RunPhase::Queued { .. } => &mut tally.queued,
                _ => &mut tally.running,
            };
            *slot += 1;
        }
        tally
    }
}

/// Sorts agents by number, children below their parent.
fn tree_order(mut agents: Vec<&AgentState>) -> Vec<&AgentState> {
    agents.sort_by_key(|agent| agent.number);
    if agents.iter().all(|agent| agent.path.depth() == 1) {
        return agents;
    }
    let known: HashSet<&AgentPath> = agents.iter().map(|agent| &agent.path).collect();
    let mut below: HashMap<AgentPath, Vec<&AgentState>> = HashMap::new();
    let mut tops = Vec::new();
    for agent in &agents {
        match agent.path.parent().filter(|above| known.contains(above)) {
            Some(above) => below.entry(above).or_default().push(agent),
            None => tops.push(*agent),
        }
    }
    let mut ordered = Vec::with_capacity(agents.len());
    tops.reverse();
    while let Some(agent) = tops.pop() {
        ordered.push(agent);
        tops.extend(below.remove(&agent.path).into_iter().flatten().rev());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::{agent_info, finish};

    fn start(agents: &mut AgentSet, name: &str) -> AgentPath {
        let path = AgentPath::root().child(AgentId::generate());
        agents.start(path.clone(), agent_info(name, "task"), Duration::ZERO);
        path
    }

    fn end(agents: &mut AgentSet, path: &AgentPath) {
        let kind = finish(RunEnd::Completed, "");
        agents.get_mut(path).unwrap().run.apply(&kind, Duration::ZERO);
    }

    #[test]
    fn a_number_means_one_agent_for_the_whole_session() {
        let mut agents = AgentSet::default();
        let first = start(&mut agents, "explore-1");
        let second = start(&mut agents, "explore-2");
        end(&mut agents, &first);
        end(&mut agents, &second);
        assert!(agents.fold());
        let next = start(&mut agents, "explore-3");
        assert_eq!(agents.get(&next).unwrap().number, 3);
        assert_eq!(agents.panel().len(), 1);
        let mut numbered = |number| {
            let path = AgentPath::root().child(AgentId::generate());
            let info = AgentInfo { number, ..agent_info("explore-4", "task") };
            agents.start(path, info, Duration::ZERO).number
        };
        assert_eq!(numbered(7), 7, "the session has counted it");
        assert_eq!(numbered(5), 5, "an agent that began later");
        assert_eq!(numbered(7), 8, "a number is given once");
    }

    #[test]
    fn children_stand_under_their_parent() {
        let mut agents = AgentSet::default();
        let plan = start(&mut agents, "plan-1");
        start(&mut agents, "review-1");
        let child = plan.child(AgentId::generate());
        agents.start(child, agent_info("explore-1", "task"), Duration::ZERO);
        let names: Vec<&str> = agents.panel().iter().map(|a| a.info.name.as_str()).collect();
        assert_eq!(names, ["plan-1", "explore-1", "review-1"]);
    }

    #[test]
    fn a_folded_batch_opens_again_and_goes_when_new_agents_start() {
        let mut agents = AgentSet::default();
        let first = start(&mut agents, "explore-1");
        end(&mut agents, &first);
        agents.fold();
        assert!(agents.panel().is_empty());
        assert!(agents.reopen());
        start(&mut agents, "explore-2");
        let names: Vec<&str> = agents.panel().iter().map(|a| a.info.name.as_str()).collect();
        assert_eq!(names, ["explore-2"]);
    }
}
