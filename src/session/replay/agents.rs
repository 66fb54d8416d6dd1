//! The agents of a session: what main's file says about them, and the figures of their own files.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::{Replay, event};
use crate::protocol::{
    AgentEvent, AgentId, AgentInfo, AgentReport, ChildMeta, Cost, EventKind, ResultBlock,
    RunOutcome, Sender, ToolUseId, Usage,
};
use crate::session::record::Record;
use crate::session::writer::agent_file;

impl Replay<'_> {
    /// Returns the events of main's file and those of each agent's, to which another process adds: more
    /// records only add events. The conversations of the agents are not parsed.
    pub fn into_events_so_far(mut self, dir: &Path) -> Vec<Vec<AgentEvent>> {
        let main = std::mem::take(&mut self.events);
        let lives = self.agents.iter().map(|agent| {
            let mut replay = Self::for_agent(agent, self.agent_info(&agent.meta), &[]);
            // An unreadable file still leaves the agent's name.
            let _ = replay_figures(&agent_file(dir, agent.meta.id, "jsonl"), &mut replay);
            replay.events
        });
        std::iter::once(main).chain(lives).collect()
    }

    /// Returns the events of the whole session once main's file was read, and the total cost of the
    /// agents with files. Those files contribute starts, turns, costs, commands in the background and ends
    /// only; their conversations are not parsed, but for those commands.
    pub fn into_session(mut self, dir: &Path) -> (Vec<AgentEvent>, (Usage, Cost)) {
        self.interrupt_run();
        self.close_turn(0);
        self.end_shells();
        let mut events = std::mem::take(&mut self.events);
        let mut spent = (Usage::default(), Cost::default());
        let place = |call: &ToolUseId| self.calls.get(call).map_or(usize::MAX, |call| call.event);
        // Agents are numbered in the order of their starts, which is that of their calls.
        let mut lives = Vec::new();
        for event in &events {
            if let EventKind::Reported { info, .. } = &event.kind {
                let call = place(&info.tool_use_id);
                let at = events.get(call).map_or(event.at, |call| call.at);
                lives.push((call, vec![AgentEvent { at, ..event.clone() }]));
            }
        }
        events.retain(|event| !matches!(event.kind, EventKind::Reported { .. }));
        for agent in self.agents {
            let mut replay = Self::for_agent(agent, self.agent_info(&agent.meta), &[]);
            // An unreadable file still leaves the agent's name.
            let _ = replay_figures(&agent_file(dir, agent.meta.id, "jsonl"), &mut replay);
            let life = replay.into_events();
            for event in &life {
                if let EventKind::TurnFinished { usage, cost, .. } = &event.kind {
                    spent.0 += *usage;
                    spent.1 += *cost;
                }
            }
            let nested = agent.meta.path.depth() > 1;
            let call = if nested { usize::MAX } else { place(&agent.meta.tool_use_id) };
            lives.push((call, life));
        }
        lives.sort_by_key(|(call, _)| *call);
        let mut last = Timestamp::MIN;
        for (call, mut life) in lives {
            // One without a file started after those that were called before it.
            if let [AgentEvent { at, kind: EventKind::Reported { .. }, .. }] = &mut life[..] {
                *at = last.max(*at);
            } else if let Some(start) = life.first().filter(|_| call < usize::MAX) {
                last = last.max(start.at);
            }
            events.extend(life);
        }
        // A call is written before its agent starts, and its result after the agent's end.
        events.sort_by_key(|event| event.at);
        (events, spent)
    }

    /// Describes a sub-agent, from its file and the call that started it, if that is main's.
    fn agent_info(&self, meta: &ChildMeta) -> AgentInfo {
        let call = self.calls.get(&meta.tool_use_id).filter(|_| meta.path.depth() == 1);
        let prompt = call.and_then(|call| call.prompt.clone());
        let waited_for = call.and_then(|call| call.end_of) == Some(meta.id);
        AgentInfo {
            prompt: prompt.unwrap_or_else(|| meta.description.clone()),
            max_turns: meta.max_turns.unwrap_or_default(),
            color: meta.color.clone(),
            background: meta.background.unwrap_or(meta.path.depth() == 1 && !waited_for),
            ..AgentInfo::from(meta)
        }
    }

    /// Adds the move of an agent to the background, if main's call returned without the agent's end.
    pub(super) fn add_move(&mut self, call: &ToolUseId, end_of: Option<AgentId>) {
        let Some(meta) = self.by_call.get(call).map(|agent| &agent.meta) else { return };
        let own = self.path.is_root() && meta.background == Some(false);
        if own && self.calls.contains_key(call) && end_of != Some(meta.id) {
            self.events.push(event(meta.path.clone(), self.at, EventKind::MovedToBackground));
        }
    }

    /// Describes an agent without a file, from the report of its end.
    pub(super) fn info_from_report(&self, call: &ToolUseId, report: &AgentReport) -> AgentInfo {
        let name = report.name.clone();
        let call_of = self.calls.get(call);
        let description = call_of.map(|call| call.title.clone()).unwrap_or_default();
        AgentInfo {
            agent: name
                .rsplit_once('-')
                .map_or_else(|| name.clone(), |(agent, _)| agent.to_owned()),
            prompt: call_of.and_then(|call| call.prompt.clone()).unwrap_or_default(),
            description,
            model: String::new(),
            tool_use_id: call.clone(),
            max_turns: 0,
            max_usd: None,
            color: None,
            background: false,
            number: report.number,
            name,
        }
    }

    pub(super) fn sender(&self, id: AgentId) -> Sender {
        let known = self.by_id.get(&id);
        let name = known.map_or_else(|| "an agent".to_owned(), |agent| agent.meta.name.clone());
        Sender::Agent { name }
    }
}

/// Returns the outcome of an agent without a file. Its text is the part that its parent received.
pub(super) fn outcome(report: &AgentReport, content: &[ResultBlock]) -> RunOutcome {
    let text = content.iter().find_map(|block| match block {
        ResultBlock::Text { text } => Some(text.chars().take(report.shown).collect()),
        ResultBlock::Image { .. } | ResultBlock::Document { .. } => None,
    });
    RunOutcome {
        end: report.status.clone(),
        api_error: None,
        rejected: false,
        text: text.unwrap_or_default(),
        turns: report.turns,
        tool_uses: report.tool_uses,
        usage: report.usage,
        cost: report.cost,
        took: Duration::from_millis(report.duration_ms),
    }
}

/// Reads the figures of a file and skips lines that cannot be parsed.
fn replay_figures(path: &Path, replay: &mut Replay<'_>) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    let mut has_shells = false;
    while lines.read_until(b'\n', &mut line)? > 0 {
        // Any later line may say how a command in the background has ended.
        has_shells |= str::from_utf8(&line).is_ok_and(|line| line.contains(IN_BACKGROUND));
        let record = match has_shells {
            true => Record::parse(&line).ok(),
            false => Record::without_text(&line),
        };
        if let Some(record) = record {
            replay.add_record(&record);
        }
        line.clear();
    }
    if has_shells {
        replay.events.retain(|event| is_figure(&event.kind));
    }
    Ok(())
}

/// The key of a call that starts a command in the background. In a text, its quotes would be escaped.
const IN_BACKGROUND: &str = "\"run_in_background\":";

/// Whether an event is one of those that an agent's file contributes to its session.
fn is_figure(kind: &EventKind) -> bool {
    match kind {
        EventKind::Started(_)
        | EventKind::TurnStarted { .. }
        | EventKind::TurnFinished { .. }
        | EventKind::Compaction { .. }
        | EventKind::WorktreeEntered(_)
        | EventKind::BackgroundShellStarted { .. }
        | EventKind::BackgroundShellEnded { .. }
        | EventKind::Finished(_) => true,
        EventKind::ToolFinished { details: Some(details), .. } => details.has_figures(),
        _ => false,
    }
}
