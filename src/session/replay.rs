//! Replays a stored session as the events that its agents emitted, so that front ends need only one way to show it.
//!
//! A file is read from the top. A message or an answer opens a run, and an end closes it:
//!
//! | record | no run is open | a run is open |
//! |---|---|---|
//! | user message | a run begins; a sub-agent that has run before starts again | its results and prompts |
//! | user message behind another one, in main's file | – | the program was killed: the run ends as interrupted, the next begins |
//! | answer | a run begins (a retry) | a turn, with the requests paid for since the last one |
//! | spent | kept for the answer or summary that follows | the same |
//! | summary | made by hand | made by the agent |
//! | note | shown as it is | the same |
//! | end | – | a turn without an answer if one was paid for, then the end |
//! | end of the file | what was paid for since then | main: interrupted; a sub-agent always has an end, which the resume writes |
//!
//! Single results are skipped: the message with all results follows, or the resume makes it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::list::AgentSummary;
use super::record::{MessageRecord, Record};
use crate::protocol::{
    AgentEvent, AgentId, AgentInfo, AgentPath, CompactionState, ContentBlock, Cost, EXIT_PLAN_TOOL,
    EventKind, Message, ResultBlock, Role, RunEnd, RunOutcome, Sender, ShellEnd, ShellId,
    ShellNotice, ShellRun, ToolDetails, ToolUseId, Usage, call_subject, remark,
};

mod agents;
mod shells;

/// Turns the records of one file into events.
pub(super) struct Replay<'a> {
    path: AgentPath,
    /// Of a sub-agent.
    info: Option<AgentInfo>,
    /// The sub-agents that have files.
    agents: &'a [AgentSummary],
    /// The same, by id; and those of main, by the call that started each.
    by_id: HashMap<AgentId, &'a AgentSummary>,
    by_call: HashMap<&'a ToolUseId, &'a AgentSummary>,
    /// Number of messages at the top that come from another agent.
    inherited: usize,
    /// The times of the first and the last record. Events never go back in time, even if the clock did.
    started: Timestamp,
    at: Timestamp,
    /// The time of the last message, when the next request was sent.
    asked: Timestamp,
    /// Whether a run is open, and whether there has been one.
    open: bool,
    begun: bool,
    /// The role of the last message in the open run.
    last: Option<Role>,
    turns: u32,
    /// Requests paid for since the last answer.
    paid: Vec<EventKind>,
    calls: HashMap<ToolUseId, ReplayCall>,
    /// The commands in the background whose end is not known, each with the index in `events` of the result
    /// that names it.
    shells: BTreeMap<ShellId, usize>,
    /// The worktree that the agent worked in last.
    worktree: Option<PathBuf>,
    events: Vec<AgentEvent>,
}

/// A call, as needed for the agent that it started.
struct ReplayCall {
    name: String,
    title: String,
    prompt: Option<String>,
    /// The command that it runs, and the one that it kills.
    command: Option<String>,
    kills: Option<ShellId>,
    /// The index of its start in `events`.
    event: usize,
    /// The sub-agent whose end its result reports.
    end_of: Option<AgentId>,
    /// The input of a call that shows a plan.
    plan: Option<Box<Value>>,
}

impl<'a> Replay<'a> {
    /// Creates the replay of main's file. `agents` are those with files of their own.
    pub fn for_main(agents: &'a [AgentSummary]) -> Self {
        Self::new(AgentPath::root(), None, agents)
    }

    /// Creates the replay of a sub-agent's file.
    pub fn for_agent(agent: &AgentSummary, info: AgentInfo, agents: &'a [AgentSummary]) -> Self {
        let mut replay = Self::new(agent.meta.path.clone(), Some(info.clone()), agents);
        replay.inherited = agent.meta.inherited;
        (replay.started, replay.at, replay.asked) = (agent.started, agent.started, agent.started);
        replay.push(EventKind::Started(Box::new(info)));
        replay
    }

    fn new(path: AgentPath, info: Option<AgentInfo>, agents: &'a [AgentSummary]) -> Self {
        Self {
            path,
            info,
            agents,
            by_id: agents.iter().map(|agent| (agent.meta.id, agent)).collect(),
            by_call: agents
                .iter()
                .filter(|agent| agent.meta.path.depth() == 1)
                .map(|agent| (&agent.meta.tool_use_id, agent))
                .collect(),
            inherited: 0,
            started: Timestamp::MIN,
            at: Timestamp::MIN,
            asked: Timestamp::MIN,
            open: false,
            begun: false,
            last: None,
            turns: 0,
            paid: Vec::new(),
            calls: HashMap::new(),
            shells: BTreeMap::new(),
            worktree: None,
            events: Vec::new(),
        }
    }

    /// Processes the next record of the file.
    pub fn add_record(&mut self, record: &Record) {
        if let Record::End { at, outcome, .. } = record {
            return self.end_run(*at, outcome);
        }
        if let Record::Message(_) = record
            && self.inherited > 0
        {
            self.inherited -= 1;
            return;
        }
        let closing = matches!(record, Record::Message(MessageRecord { closing: true, .. }));
        if let Record::Message(MessageRecord { message, .. }) = record
            && self.path.is_root()
            && message.role == Role::User
            && self.last == Some(Role::User)
        {
            self.interrupt_run();
        }
        let at = match closing && self.path.is_root() {
            true => record.at().map(|at| self.last_stored(at)),
            false => record.at(),
        };
        if let Some(at) = at {
            self.at = self.at.max(at);
        }
        match record {
            Record::Message(MessageRecord { message, usage, cost, model, .. }) => {
                self.add_cost(*usage, *cost, model.as_deref());
                match message.role {
                    Role::User => self.add_user_message(message),
                    Role::Assistant => self.add_answer(message),
                }
                self.last = Some(message.role);
                self.asked = self.at;
            }
            Record::Compacted { before_tokens, after_tokens, usage, cost, model, .. } => {
                self.add_cost(*usage, *cost, model.as_deref());
                self.flush_costs();
                let (before_tokens, after_tokens) = (*before_tokens, *after_tokens);
                let state = CompactionState::Done { before_tokens, after_tokens };
                self.push(EventKind::Compaction { by_hand: !self.open, state });
            }
            Record::Note { text, .. } => self.push(EventKind::Note { text: text.clone() }),
            Record::Worktree { checkout, .. } => {
                self.worktree = Some(checkout.path.clone());
                self.push(EventKind::WorktreeEntered(Box::new(checkout.clone())));
            }
            Record::Spent { usage, cost, model, agent: Some(path), .. } => {
                let kind = turn_finished(*usage, *cost, model.as_deref());
                self.events.push(event(path.clone(), self.at, kind));
            }
            Record::Spent { usage, cost, model, agent: None, .. } => {
                self.add_cost(Some(*usage), Some(*cost), model.as_deref());
            }
            _ => {}
        }
    }

    /// Returns the time just after the last that main's agents have stored before `until`, when a
    /// resume closed the calls that had started them.
    fn last_stored(&self, until: Timestamp) -> Timestamp {
        let stored = self.agents.iter().map(|agent| match &agent.end {
            Some(RunOutcome { end: RunEnd::Interrupted, took, .. }) => {
                agent.started.checked_add(*took).unwrap_or(agent.started)
            }
            _ => agent.last,
        });
        let last = stored.filter(|at| *at <= until).max();
        let just_after = |at: Timestamp| at.checked_add(Duration::from_nanos(1)).unwrap_or(at);
        last.map_or(self.at, just_after)
    }

    fn add_cost(&mut self, usage: Option<Usage>, cost: Option<Cost>, model: Option<&str>) {
        if usage.is_some() || cost.is_some() {
            let (usage, cost) = (usage.unwrap_or_default(), cost.unwrap_or_default());
            self.paid.push(turn_finished(usage, cost, model));
        }
    }

    fn flush_costs(&mut self) {
        for kind in std::mem::take(&mut self.paid) {
            self.push(kind);
        }
    }

    fn push(&mut self, kind: EventKind) {
        self.events.push(event(self.path.clone(), self.at, kind));
    }

    /// Opens a run if none is open. Returns whether an ended agent resumes.
    fn open_run(&mut self) -> bool {
        if std::mem::replace(&mut self.open, true) {
            return false;
        }
        (self.turns, self.last) = (0, None);
        let again = std::mem::replace(&mut self.begun, true);
        match self.info.clone() {
            Some(info) if again => {
                let info = AgentInfo { background: true, ..info };
                self.push(EventKind::Started(Box::new(info)));
                true
            }
            _ => false,
        }
    }

    fn add_user_message(&mut self, message: &Message) {
        // The prompt of a resumed agent comes from the program, not from the user.
        let goes_on = self.open_run();
        for block in message.joined_content().iter() {
            match block {
                ContentBlock::Text { text, shell: Some(run), .. } => {
                    let ShellRun { line, status, began } = run.clone();
                    let text = run.printed(text).to_owned();
                    let finished = EventKind::ShellFinished { line, text, status };
                    // The screen shows it where it began, such as above the end of the turn then.
                    let at = began.map_or(self.at, |began| began.min(self.at));
                    self.events.push(event(self.path.clone(), at, finished));
                }
                ContentBlock::Text { text, aside: true, .. } if remark::is_remark(text) => {}
                ContentBlock::Text { text, aside: true, .. } => {
                    self.push(EventKind::Aside { text: text.to_string() });
                }
                ContentBlock::Text { text, report, .. } if !goes_on => {
                    let from = match (report, ShellNotice::parse(text)) {
                        (Some(id), _) => self.sender(*id),
                        (None, Some(notice)) => {
                            let name = notice.id.to_string();
                            if let Some(end) = ShellEnd::parse(&notice.end) {
                                self.shell_ended(notice.id, end);
                            }
                            Sender::Job { name }
                        }
                        (None, None) => Sender::Person,
                    };
                    self.push(EventKind::PromptRead { id: None, text: text.clone(), from });
                }
                ContentBlock::Image { source, label, .. } => {
                    self.push(EventKind::ImageRead { label: source.label_or(label) });
                }
                ContentBlock::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                    call,
                    summary,
                    details,
                } => {
                    self.set_call_summary(tool_use_id, call);
                    self.add_result(tool_use_id, content, *is_error, summary, details.as_deref());
                }
                _ => {}
            }
        }
    }

    /// Shows a call as it was shown at its start, if its result says how.
    fn set_call_summary(&mut self, id: &ToolUseId, words: &str) {
        let started = self.calls.get(id).and_then(|call| self.events.get_mut(call.event));
        if let Some(AgentEvent { kind: EventKind::ToolStarted { summary, .. }, .. }) = started
            && !words.is_empty()
        {
            words.clone_into(summary);
        }
    }

    fn add_result(
        &mut self,
        id: &ToolUseId,
        content: &[ResultBlock],
        is_error: bool,
        summary: &str,
        details: Option<&ToolDetails>,
    ) {
        let report = match details {
            Some(ToolDetails::Agent(report)) => Some(report),
            _ => None,
        };
        let name = self.calls.get(id).map(|call| call.name.clone()).unwrap_or_default();
        if let Some(report) = report.filter(|_| self.path.is_root())
            && !self.by_id.contains_key(&report.agent_id)
        {
            let info = Box::new(self.info_from_report(id, report));
            let outcome = Box::new(agents::outcome(report, content));
            let path = self.path.child(report.agent_id);
            self.events.push(event(path, self.at, EventKind::Reported { info, outcome }));
        }
        let plan = self.calls.get(id).and_then(|call| call.plan.clone());
        if let (Some(ToolDetails::Denied(denial)), Some(input)) = (details, plan) {
            let (id, tool, denial) = (id.clone(), name.clone(), denial.clone());
            let input = *input;
            self.push(EventKind::PermissionDenied { id, tool, input, denial });
        }
        self.add_shell_result(id, &name, content, is_error, summary, details);
        let end_of = report.map(|report| report.agent_id);
        self.add_move(id, end_of);
        if let Some(call) = self.calls.get_mut(id) {
            call.end_of = end_of;
        }
        self.push(EventKind::ToolFinished {
            id: id.clone(),
            name,
            is_error,
            summary: summary.to_owned(),
            content: content.to_vec(),
            details: details.cloned(),
            took: Duration::ZERO,
        });
    }

    fn add_answer(&mut self, message: &Message) {
        self.open_run();
        self.turn_started();
        for block in &message.content {
            match block {
                ContentBlock::Text { .. } | ContentBlock::Thinking { .. } => {
                    self.push(EventKind::BlockFinished {
                        message_id: String::new(),
                        model: String::new(),
                        block: block.clone(),
                        usage: Usage::default(),
                    });
                }
                ContentBlock::ToolUse { id, name, input, .. } => {
                    let text = |field: &str| Some(input.get(field)?.as_str()?.to_owned());
                    let summary = call_subject(input).unwrap_or_default().to_owned();
                    let (title, prompt) = (text("description"), text("prompt"));
                    let (command, kills) = (text("command"), text("shell_id"));
                    let call = ReplayCall {
                        name: name.clone(),
                        title: title.or_else(|| prompt.clone()).unwrap_or_default(),
                        prompt,
                        command,
                        kills: kills.filter(|_| name == "KillShell").map(|id| ShellId::new(&id)),
                        event: self.events.len(),
                        end_of: None,
                        plan: (name == EXIT_PLAN_TOOL).then(|| input.clone()),
                    };
                    self.calls.insert(id.clone(), call);
                    let (id, name) = (id.clone(), name.clone());
                    self.push(EventKind::ToolStarted { id, name, summary });
                }
                _ => {}
            }
        }
        self.flush_costs();
    }

    fn turn_started(&mut self) {
        self.turns += 1;
        let limit = self.info.as_ref().map(|info| info.max_turns).filter(|limit| *limit > 0);
        let kind = EventKind::TurnStarted { turn: self.turns, limit };
        self.events.push(event(self.path.clone(), self.asked, kind));
    }

    /// Closes the last request of a run that ends without an answer.
    fn close_turn(&mut self, turns: u32) {
        if self.turns < turns || !self.paid.is_empty() {
            self.turn_started();
            self.flush_costs();
        }
    }

    fn end_run(&mut self, at: Timestamp, outcome: &RunOutcome) {
        self.open = false;
        let finished = EventKind::Finished(Box::new(outcome.clone()));
        if outcome.end == RunEnd::Interrupted {
            // Written by the resume, with the results of open calls.
            let at = self.started.checked_add(outcome.took).unwrap_or(at);
            // Results that the resume has written were never sent.
            let is_asking = self.last == Some(Role::User) && self.asked <= at;
            (self.at, self.asked) = (self.at.min(at), self.asked.min(at));
            self.close_turn(self.turns + u32::from(is_asking));
            self.end_agents_shells();
            self.push(finished);
        } else {
            self.close_turn(outcome.turns);
            self.at = self.at.max(at);
            self.end_agents_shells();
            self.push(finished);
        }
    }

    fn interrupt_run(&mut self) {
        if std::mem::replace(&mut self.open, false) {
            self.close_turn(0);
            let outcome = RunOutcome::without_work(RunEnd::Interrupted);
            self.push(EventKind::Finished(Box::new(outcome)));
        }
    }

    /// Returns the events of this file alone, once all of it was read.
    pub fn into_events(mut self) -> Vec<AgentEvent> {
        if self.open {
            self.close_turn(0);
        }
        // A turn would show an ended agent as running.
        self.flush_costs();
        // One without work in it was removed, as was one whose work was merged or discarded.
        if self.worktree.take().is_some_and(|path| !path.is_dir()) {
            self.push(EventKind::WorktreeRemoved);
        }
        self.events
    }
}

fn event(path: AgentPath, at: Timestamp, kind: EventKind) -> AgentEvent {
    AgentEvent { path, seq: 0, at, kind }
}

fn turn_finished(usage: Usage, cost: Cost, model: Option<&str>) -> EventKind {
    EventKind::TurnFinished {
        usage,
        cost,
        model: model.unwrap_or_default().to_owned(),
        api_time: Duration::ZERO,
        whole: true,
    }
}
