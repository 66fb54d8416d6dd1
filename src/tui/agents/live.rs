//! The end of an agent's transcript while it works: running calls with their time, reasoning as it
//! comes, and the agents that it started.

use std::collections::HashMap;

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::protocol::{NoticeLevel, RunEnd, ToolUseId};
use crate::tui::agents::result::result_line;
use crate::tui::agents::row::{AgentColumns, AgentGroup, Emphasis, state_style};
use crate::tui::agents::{AgentState, RunPhase};
use crate::tui::format::{clock, tool_label};
use crate::tui::labels;
use crate::tui::labels::StatusLabel;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, two_ends};
use crate::tui::text::{one_line, sanitize, tail_lines, truncate, width};
use crate::tui::theme::Glyph;
use crate::tui::transcript::draw::indented;
use crate::tui::transcript::{ItemId, ItemKind, ToolCallItem, TranscriptItem};

/// Maximum lines of reasoning, and of output of a running call.
const MAX_TAIL_LINES: u16 = 4;

/// Bytes of a text read for its last lines, or up to twice as many.
const TAIL_BYTES: usize = 4096;

/// The items of one agent's transcript that change without an event.
pub struct LiveItems<'a> {
    model: &'a TuiModel,
    agent: &'a AgentState,
    painter: Painter<'a>,
    /// In a pane, where running calls and reasoning are shown in detail: the lines of their tails.
    tail: Option<usize>,
    /// The agents that it started and waits for, by their calls.
    children: HashMap<&'a ToolUseId, &'a AgentState>,
}

impl<'a> LiveItems<'a> {
    /// The items in a pane with this many lines, or in the body.
    pub fn new(
        model: &'a TuiModel,
        agent: &'a AgentState,
        painter: Painter<'a>,
        pane: Option<u16>,
    ) -> Self {
        let tail = pane.map(|height| usize::from((height / 3).min(MAX_TAIL_LINES)));
        let below = model.agents.within(&agent.path).filter(|child| !child.in_background);
        let depth = agent.path.depth() + 1;
        let children = below.filter(|child| child.path.depth() == depth);
        let children = children.map(|child| (&child.info.tool_use_id, child)).collect();
        Self { model, agent, painter, tail, children }
    }

    /// The ids of the items to draw anew in each frame.
    pub fn ids(&self) -> Vec<ItemId> {
        let transcript = &self.agent.transcript;
        let mut ids: Vec<ItemId> = transcript.open_items().collect();
        ids.dedup();
        ids.extend(transcript.growing().filter(|_| self.tail.is_some()));
        ids
    }

    /// The lines of an item that is shown otherwise than in a finished transcript; `None` for others.
    pub fn lines(&self, item: &TranscriptItem, room: u16) -> Option<Vec<Line<'static>>> {
        match &item.kind {
            ItemKind::Thinking { text, took: None, .. }
                if self.tail.is_some() && !item.expanded =>
            {
                Some(self.thinking(text, room))
            }
            // On one line, so that no pane begins in the middle of a task.
            ItemKind::Prompt { text, task: true } if self.tail.is_some() => {
                let text = one_line(text);
                let rest = without_headline(&text, &self.agent.info.description);
                let words = format!("  task: {rest}");
                let words = truncate(&words, usize::from(room)).into_owned();
                let line = Line::styled(words, self.painter.theme.dim);
                Some(Some(line).filter(|_| !rest.is_empty()).into_iter().collect())
            }
            // Such as the path of a worktree.
            ItemKind::Notice { level: NoticeLevel::Info, text } if self.tail.is_some() => {
                let words = format!("  {}", one_line(text));
                let words = truncate(&words, usize::from(room)).into_owned();
                Some(vec![Line::styled(words, self.painter.theme.dim)])
            }
            // Their own panes are below, and the live line counts them.
            ItemKind::Tools(calls) if self.tail.is_some() && self.has_panes(calls) => {
                Some(Vec::new())
            }
            ItemKind::Tools(calls) => {
                let child = |call: &ToolCallItem| self.children.contains_key(&call.id);
                let running = |call: &ToolCallItem| call.result.is_none() && call.denied.is_none();
                let tail = self.tail.is_some() && !item.expanded;
                let live = calls.iter().any(|call| child(call) || (tail && running(call)));
                live.then(|| calls.iter().flat_map(|call| self.call(call, room)).collect())
            }
            _ => None,
        }
    }

    /// Whether all calls have started agents that have panes of their own.
    fn has_panes(&self, calls: &[ToolCallItem]) -> bool {
        calls.iter().all(|call| self.children.get(&call.id).is_some_and(|child| child.in_panel))
    }

    fn thinking(&self, text: &str, room: u16) -> Vec<Line<'static>> {
        let theme = self.painter.theme;
        let sign = self.painter.sign(Glyph::Spinner);
        let head = vec![
            Span::styled(format!("{sign} "), self.painter.style(Glyph::Spinner)),
            Span::styled("thinking", theme.dim),
        ];
        let tail = self.tail(text.trim(), room);
        std::iter::once(Line::from(head)).chain(tail).collect()
    }

    /// The last lines of a text, dim and indented. Reads only its end, from a place that rarely moves
    /// while it grows.
    fn tail(&self, text: &str, room: u16) -> Vec<Line<'static>> {
        let lines = self.tail.unwrap_or_default();
        let inner = room.saturating_sub(2).max(1);
        let mut start = text.len().saturating_sub(TAIL_BYTES) / TAIL_BYTES * TAIL_BYTES;
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let tail = sanitize(&text[start..]);
        let tail = tail_lines(&tail, inner, lines, self.painter.theme.dim);
        tail.into_iter().map(indented).collect()
    }

    fn call(&self, call: &ToolCallItem, room: u16) -> Vec<Line<'static>> {
        let cells = usize::from(room);
        if let Some(child) = self.children.get(&call.id) {
            let agents: Vec<&AgentState> = self.children.values().copied().collect();
            let group = AgentGroup { model: self.model, agents: &agents, painter: self.painter };
            let state = labels::agent_status(self.model, child);
            let columns = AgentColumns::behind_spinner(group, cells.saturating_sub(2));
            let line = columns.line(group, child, &state, Vec::new(), Emphasis::Normal);
            return vec![indented(line)];
        }
        let theme = self.painter.theme;
        let (glyph, right) = match (&call.result, &call.denied) {
            (_, Some(words)) => (Glyph::Failed, Span::styled(one_line(words), theme.bad)),
            (Some(result), _) if result.is_error => {
                (Glyph::Failed, Span::styled(one_line(&result.summary), theme.bad))
            }
            (Some(result), _) => (Glyph::Done, Span::styled(one_line(&result.summary), theme.dim)),
            (None, _) => {
                let running = self.agent.run.tools.iter().find(|tool| tool.id == call.id);
                let time = running.map(|tool| self.model.now.saturating_sub(tool.since));
                (Glyph::Spinner, Span::styled(time.map(clock).unwrap_or_default(), theme.dim))
            }
        };
        let mut lines =
            vec![step_line(self.painter, glyph, &call.name, &call.summary, right, cells)];
        if call.result.is_none() {
            lines.extend(self.tail(call.output.trim_end(), room));
        }
        lines
    }
}

/// A task without the headline, if it begins with that: the headline stands above it.
fn without_headline<'t>(task: &'t str, headline: &str) -> &'t str {
    let mut rest = task.chars();
    for letter in one_line(headline).chars() {
        let same = |other: char| other.to_lowercase().eq(letter.to_lowercase());
        if !rest.next().is_some_and(same) {
            return task;
        }
    }
    match rest.as_str().strip_prefix(char::is_alphanumeric) {
        Some(_) => task,
        None => rest.as_str().trim_start_matches([' ', '.', ',', ':', ';', '?', '!']),
    }
}

/// `⠹ Grep "fn route"      0:02`.
fn step_line(
    painter: Painter<'_>,
    glyph: Glyph,
    verb: &str,
    subject: &str,
    mut right: Span<'static>,
    room: usize,
) -> Line<'static> {
    let theme = painter.theme;
    let left = vec![
        Span::styled(format!("{} ", painter.sign(glyph)), painter.style(glyph)),
        Span::styled(one_line(&tool_label(verb)), theme.text.add_modifier(Modifier::BOLD)),
        Span::styled(format!(" {}", one_line(subject)), theme.text),
    ];
    right.content = truncate(&right.content, room / 2).into_owned().into();
    two_ends(left, vec![right], room, None)
}

/// The last line of a pane: what the agent does now, or how it ended. `None` if the end of the
/// transcript says it; `alone` without a transcript above.
pub fn live_line(
    group: AgentGroup<'_>,
    agent: &AgentState,
    state: &StatusLabel,
    room: usize,
    alone: bool,
) -> Option<Line<'static>> {
    let AgentGroup { model, painter, .. } = group;
    let theme = painter.theme;
    let mut state = state.clone();
    let mut right = Span::raw("");
    match &agent.run.phase {
        RunPhase::Ended(RunEnd::Completed) => {
            let result = result_line(agent).filter(|_| alone)?;
            return Some(Line::styled(
                truncate(&format!("  {result}"), room).into_owned(),
                theme.dim,
            ));
        }
        RunPhase::Ended(end) => {
            // The header says that it failed.
            let words = labels::agent_end_label(agent, end);
            let words = words.strip_prefix("failed: ").unwrap_or(&words);
            state = StatusLabel::new(state.glyph, words);
            if let RunEnd::Cancelled { before_start: false } = end {
                let note = labels::partial_text_note(model, agent);
                right = Span::styled(note.unwrap_or_default(), theme.dim);
            } else if model.can_resume(agent) && !matches!(end, RunEnd::Budget { .. }) {
                right = Span::styled("/agents resumes", theme.dim);
            }
        }
        // The header says it.
        RunPhase::Queued { .. } if state.glyph == Glyph::Queued => return None,
        _ if state.glyph == Glyph::Asks => {
            return question_line(group, agent, room);
        }
        RunPhase::Tools if state.glyph == Glyph::Spinner && agent.run.waits.is_empty() => {
            let last = agent.run.tools.last().filter(|_| !agent.run.cancelling);
            if let Some(tool) = last.filter(|_| alone) {
                let time = clock(model.now.saturating_sub(tool.since));
                let right = Span::styled(time, theme.dim);
                let (name, subject) = (&tool.name, &tool.summary);
                return Some(step_line(painter, state.glyph, name, subject, right, room));
            }
            if last.is_some() && agent.transcript.open_items().next().is_some() {
                return None;
            }
        }
        RunPhase::Writing | RunPhase::Thinking
            if state.glyph == Glyph::Spinner
                && agent.transcript.growing().is_some()
                && agent.run.waits.is_empty()
                && !agent.run.cancelling
                && !labels::is_silent(&agent.run, model.now) =>
        {
            return None;
        }
        _ => {}
    }
    let sign = Span::styled(format!("{} ", painter.sign(state.glyph)), painter.style(state.glyph));
    let style = state_style(painter, agent, &state);
    let full = room.saturating_sub(2);
    if width(&state.text) + width(&right.content) + 2 > full {
        right = Span::raw("");
    }
    let words = Span::styled(state.fitted(full), style);
    Some(two_ends(vec![sign, words], vec![right], room, None))
}

/// `⚑ Bash psql shop -c 'EXPLAIN …'      asks 0:08`.
fn question_line(group: AgentGroup<'_>, agent: &AgentState, room: usize) -> Option<Line<'static>> {
    let AgentGroup { model, painter, .. } = group;
    let questions = &model.questions.waiting;
    let at = questions.iter().position(|waiting| waiting.question.path == agent.path)?;
    let waiting = questions.get(at)?;
    let time = clock(model.now.saturating_sub(waiting.since));
    let open = model.questions.open.as_ref();
    let is_open = open.is_some_and(|open| open.id == waiting.question.id);
    let asks = match at {
        0 => format!("asks {time}"),
        _ if is_open => format!("asks {time}"),
        _ => format!("asks, {}", labels::queue_label(at + 1)),
    };
    let style = painter.style(Glyph::Asks);
    let question = &waiting.question;
    let subject = labels::call_subject("", &question.input);
    let right = Span::styled(asks, style);
    Some(step_line(painter, Glyph::Asks, &question.tool, subject.trim(), right, room))
}
