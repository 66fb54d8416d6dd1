//! The screen as lines for screen readers: no frames, no columns, nothing that moves. What happens
//! is said once, in order, and stays; below it is the line that keys go to.
//!
//! Keys and state are those of the other screen. What covers the body there is drawn aside, and its
//! text becomes lines.

mod agents;
mod job;
mod queue;
mod setup;
mod speech;
mod transcript;
mod words;

use std::collections::HashMap;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Margin, Position, Rect};

use crate::protocol::{AgentPath, PermissionMode, QuestionId};
use crate::tui::agents::{RunPhase, RunState};
use crate::tui::chrome;
use crate::tui::interrupt::stop_hint;
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::msg::HitKind;
use crate::tui::overlay::Overlay;
use crate::tui::terminal::PromptRows;
use crate::tui::text::one_line;
use crate::tui::transcript::Extent;
use crate::tui::view::View;

use agents::AgentLog;
use job::JobLog;
use queue::QueueLog;
use setup::SetupLog;
use speech::Speech;
use transcript::TranscriptLog;
use words::{CoverParts, DrawnRow};
pub use words::{Row, RowPart, clean_row, lines};

/// Widest line that is drawn aside, and the lines that fit: a question should be whole.
const MAX_WIDTH: u16 = 100;
const MIN_WIDTH: u16 = 40;
const HEIGHT: u16 = 60;

/// Reasons to say more than what happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameCause {
    /// A key was pressed or an answer came, so what covers the body may have changed.
    pub input: bool,
    /// The user asks where they are.
    pub asked: bool,
}

/// The lines to print.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearFrame {
    pub lines: Vec<String>,
    pub prompt: PromptRows,
}

/// The state as it was last said.
#[derive(Default)]
pub struct LinearScreen {
    aside: Option<Terminal<TestBackend>>,
    started: bool,
    transcripts: HashMap<AgentPath, TranscriptLog>,
    agents: AgentLog,
    setup: SetupLog,
    queue: QueueLog,
    job: JobLog,
    /// The agent whose transcript is read.
    reading: Option<AgentPath>,
    focus: Option<AgentPath>,
    mode: PermissionMode,
    busy: bool,
    /// The attempts that were said, by agent.
    attempts: HashMap<AgentPath, u32>,
    notice: String,
    /// The open question, once it was said.
    question: Option<QuestionId>,
    /// The overlay, and its rows.
    cover: Option<String>,
    rows: Vec<words::Row>,
}

impl LinearScreen {
    /// The size in which things are drawn aside on a terminal of this width.
    pub fn size(width: u16) -> (u16, u16) {
        (width.clamp(MIN_WIDTH, MAX_WIDTH), HEIGHT)
    }

    /// Says what is new, and shows the line that keys go to.
    pub fn frame(
        &mut self,
        model: &TuiModel,
        view: &mut View,
        width: u16,
        cause: FrameCause,
    ) -> LinearFrame {
        let columns = width;
        let (width, height) = Self::size(width);
        let rows = self.draw_aside(model, view, Rect::new(0, 0, width, height));
        let mut speech = Speech::default();
        if !std::mem::replace(&mut self.started, true) {
            self.say_start(model, view, width, &mut speech);
        }
        self.say_mode(model, &mut speech);
        if !self.waits_for_answer(model) {
            self.say_work(model, &mut speech);
            self.say_transcript(model, view, width, &mut speech);
            self.agents.say(model, &mut speech);
        }
        self.say_focus(model, &mut speech);
        if !self.waits_for_answer(model) || cause.input {
            self.queue.say(model, self.reading.as_ref(), &mut speech);
            self.say_notice(model, &mut speech);
        }
        self.setup.say(model, cause.asked, &mut speech);
        self.say_cover(model, view, &rows, cause, &mut speech);
        if !self.waits_for_answer(model) {
            self.job.say(model, &mut speech);
        }
        self.question = model.questions.open.as_ref().map(|open| open.id);
        let prompt = prompt(model, view, &rows);
        if cause.asked {
            self.say_place(model, view, &rows, &mut speech);
            // The line that keys go to may be the hint.
            if let [row] = &prompt.rows[..] {
                speech.take_back(row);
            }
        }
        LinearFrame { lines: speech.into_lines(columns), prompt }
    }

    /// Whether a question that was said waits for its answer. Nothing is said beside it: what others
    /// wrote must not stand between the question and the key.
    fn waits_for_answer(&self, model: &TuiModel) -> bool {
        let open = model.questions.open.as_ref();
        open.is_some_and(|open| self.question == Some(open.id))
    }

    fn say_start(&mut self, model: &TuiModel, view: &View, width: u16, speech: &mut Speech) {
        let head = chrome::session_header(model, view.theme(), width);
        head.iter().for_each(|line| speech.line(&clean_row(&line.to_string()).text));
        let model_name = Some(model.session.model.as_str()).filter(|name| !name.is_empty());
        let (name, mode) = (model_name.unwrap_or("none"), model.session.mode);
        speech.line(&format!("Model {name}, mode {}.", mode.name()));
        speech.line("Lines for screen readers. ? lists the keys, Ctrl+L says where you are.");
        self.mode = mode;
    }

    /// Draws what the other screen has besides transcripts and panes, and returns its rows.
    fn draw_aside(&mut self, model: &TuiModel, view: &mut View, area: Rect) -> Vec<DrawnRow> {
        if self.aside.as_ref().is_none_or(|aside| aside.backend().buffer().area != area) {
            self.aside = Terminal::new(TestBackend::new(area.width, area.height)).ok();
        }
        let Some(aside) = &mut self.aside else { return Vec::new() };
        // Drawing into memory cannot fail.
        let _ = aside.draw(|frame| view.draw(model, frame));
        let buffer = aside.backend().buffer();
        let row = |y| {
            let mut behind = 0;
            let cells = (0..area.width).map(|x| {
                let symbol = if behind > 0 { "" } else { buffer[(x, y)].symbol() };
                behind = usize::max(behind, crate::tui::text::width(symbol)).saturating_sub(1);
                symbol.to_owned()
            });
            DrawnRow(cells.collect())
        };
        (0..area.height).map(row).collect()
    }

    fn say_work(&mut self, model: &TuiModel, speech: &mut Speech) {
        let busy = model.main_is_busy();
        if busy && !self.busy {
            let stop = stop_hint(model).map_or("", |_| " Esc stops it.");
            speech.line(&format!("Main is working.{stop}"));
        }
        self.busy = busy;
        self.say_attempt(&AgentPath::root(), "Main", &model.run, speech);
        for agent in model.agents.alive() {
            self.say_attempt(&agent.path, &agents::title(agent), &agent.run, speech);
        }
    }

    /// Says why a request is made again: what was read of its answer begins anew.
    fn say_attempt(&mut self, path: &AgentPath, name: &str, run: &RunState, speech: &mut Speech) {
        let RunPhase::Retrying { attempt, limit, cause, .. } = &run.phase else {
            self.attempts.remove(path);
            return;
        };
        if self.attempts.insert(path.clone(), *attempt) != Some(*attempt) {
            let name = name.replace("agent ", "Agent ");
            speech.line(&format!("{name}: {cause}; trying again, {attempt} of {limit}."));
        }
    }

    fn say_mode(&mut self, model: &TuiModel, speech: &mut Speech) {
        if self.mode != model.session.mode {
            self.mode = model.session.mode;
            speech.line(&format!("Mode {}: {}.", self.mode.name(), labels::mode_label(self.mode)));
        }
    }

    fn say_transcript(&mut self, model: &TuiModel, view: &View, width: u16, speech: &mut Speech) {
        let agent = model.zoomed();
        let path = agent.map_or_else(AgentPath::root, |agent| agent.path.clone());
        if self.reading.as_ref().is_some_and(|before| *before != path) {
            speech.line(&match agent {
                Some(agent) => format!("Transcript of {}:", agents::title(agent)),
                None => "Transcript of main:".to_owned(),
            });
        }
        let name = agent.map_or("main", |agent| &agent.info.name);
        let log = self.transcripts.entry(path.clone()).or_default();
        log.say(model.transcript(&path), name, |item| view.item_lines(model, item, width), speech);
        self.reading = Some(path);
    }

    fn say_focus(&mut self, model: &TuiModel, speech: &mut Speech) {
        if self.focus == model.focus {
            return;
        }
        self.focus.clone_from(&model.focus);
        speech.line(&match model.focused() {
            Some(agent) => {
                let state = labels::agent_status(model, agent).text;
                format!("Messages go to {}: {state}.", agents::title(agent))
            }
            None => "Messages go to main.".to_owned(),
        });
    }

    /// Says what covers the body when it opens, and what a key has changed in it.
    fn say_cover(
        &mut self,
        model: &TuiModel,
        view: &View,
        rows: &[DrawnRow],
        cause: FrameCause,
        speech: &mut Speech,
    ) {
        let cover = cover(model);
        let opened = cover != self.cover;
        if !opened && !cause.input {
            return;
        }
        let rows = match cover {
            Some(_) => words::rows(rows, view.areas().body, &cover_parts(model, view)),
            None => Vec::new(),
        };
        if opened && let Some(cover) = &cover {
            speech.line(&cover_name(cover));
        }
        let before = if opened { Vec::new() } else { std::mem::take(&mut self.rows) };
        // What a command prints is said as it comes.
        let followed = !opened && self.job.follows(model);
        let new = rows.iter().filter(|row| !followed && row.is_new(&before));
        let goes_on = before.iter().any(|row| row.part == RowPart::Answers);
        let new = words::lines(new, goes_on);
        match cover.as_deref().is_some_and(|cover| !is_question(cover)) {
            true => new.iter().for_each(|line| speech.row(line)),
            false => new.iter().for_each(|line| speech.line(line)),
        }
        (self.cover, self.rows) = (cover, rows);
    }

    fn say_notice(&mut self, model: &TuiModel, speech: &mut Speech) {
        let text = model.notice.as_ref().map(|notice| notice.text.as_str()).unwrap_or_default();
        if self.notice != text {
            text.clone_into(&mut self.notice);
            speech.row(&clean_row(text).text);
        }
    }

    /// Says what works, what is open and what is selected in it, what waits and what the keys do. The rest
    /// of what is open was said when it opened.
    fn say_place(&self, model: &TuiModel, view: &View, rows: &[DrawnRow], speech: &mut Speech) {
        let areas = view.areas();
        let working = model.agents.alive().map(|agent| {
            format!("{}: {}", agents::title(agent), labels::agent_status(model, agent).text)
        });
        let main = labels::main_label(model);
        speech.line(&format!("Main: {}", if main.is_empty() { "idle" } else { &main }));
        working.for_each(|line| speech.line(&line));
        for job in model.jobs.alive() {
            let state = labels::job_status(job).text;
            speech.line(&format!("Command {}: {state}, {}", job.id, one_line(&job.command)));
        }
        if let Some(cover) = &self.cover {
            speech.line(&cover_name(cover));
            let title = self.rows.first().filter(|row| !row.selected);
            let selected = self.rows.iter().filter(|row| row.selected);
            title.into_iter().chain(selected).for_each(|row| speech.line(&row.line()));
        }
        for area in [areas.queue, areas.status, areas.hint] {
            let rows = words::rows(rows, area, &CoverParts::default());
            words::lines(rows.iter(), false).iter().for_each(|line| speech.line(line));
        }
    }
}

/// The name of the question's content over the whole body.
const IN_FULL: &str = "The question in full";

/// Whether this cover is the open question. Its content is indented, its title and answers are not.
fn is_question(cover: &str) -> bool {
    cover == IN_FULL || cover.starts_with("Question#")
}

/// The name of what covers the body; behind `#`, what makes it another one.
fn cover(model: &TuiModel) -> Option<String> {
    Some(match &model.overlay {
        Some(Overlay::Reader(_)) => "Reader".to_owned(),
        Some(Overlay::Question { .. }) => IN_FULL.to_owned(),
        Some(Overlay::Help { .. }) => "Help".to_owned(),
        Some(Overlay::Page(page)) => format!("Page {}", page.title),
        Some(Overlay::Agents(_)) => "List of agents".to_owned(),
        Some(Overlay::AgentPicker(_)) => "Choose an agent".to_owned(),
        Some(Overlay::Picker(picker)) => format!("List {}", picker.title),
        Some(Overlay::History(_)) => "Search in the prompts".to_owned(),
        None => match &model.questions.open {
            Some(open) => format!("Question#{}", open.id.0),
            None if model.composer.menu.is_some() => "Suggestions".to_owned(),
            None => return None,
        },
    })
}

/// The line before what covers the body.
fn cover_name(cover: &str) -> String {
    format!("{}:", cover.split('#').next().unwrap_or_default())
}

/// Where the parts of what covers the body are.
fn cover_parts(model: &TuiModel, view: &View) -> CoverParts {
    let (metrics, body) = (view.metrics(), view.areas().body);
    let rows = |from: u16, extent: Extent| {
        let height = u16::try_from(extent.height).unwrap_or(u16::MAX);
        (from..from.saturating_add(height).min(body.bottom()), extent.top)
    };
    let scrolled = match (&metrics.question, &model.overlay) {
        (Some(question), _) => rows(question.content_area.y, question.content),
        // Below its title.
        (None, Some(Overlay::Reader(_))) => rows(body.y + 1, metrics.reader),
        // In a box at the lower edge.
        (None, _) => {
            let height = u16::try_from(metrics.page.height).unwrap_or(u16::MAX);
            rows(body.bottom().saturating_sub(height.saturating_add(1)), metrics.page)
        }
    };
    let content = metrics.question.as_ref().map(|question| question.content_area);
    let open = model.questions.open.as_ref().and_then(|open| model.questions.get(open.id));
    let is_form = open.is_some_and(|waiting| waiting.form.is_some());
    let call = metrics.question.as_ref().filter(|_| !is_form).map(|question| {
        let Extent { top, height, .. } = question.content;
        let height = height.min(question.call.saturating_sub(top));
        rows(question.content_area.y, Extent { height, ..question.content }).0
    });
    let answers = view.hit_areas().filter_map(|(area, kind)| match kind {
        HitKind::Answer(digit) => Some((*area, *digit)),
        _ => None,
    });
    let shown = metrics.question.is_some();
    let mut boxes = view.hit_areas().filter(|(_, kind)| shown && *kind == HitKind::Overlay);
    let inside = boxes.next().map(|(area, _)| area.inner(Margin::new(2, 1)));
    CoverParts {
        inside: inside.unwrap_or_default(),
        content: content.unwrap_or_default(),
        call,
        answers: answers.collect(),
        scrolled,
    }
}

/// The line that keys go to: a text field of what covers the body, the draft, or what the keys do.
fn prompt(model: &TuiModel, view: &View, rows: &[DrawnRow]) -> PromptRows {
    let areas = view.areas();
    let text = |y: u16| {
        let row = rows.get(usize::from(y)).map(DrawnRow::text).unwrap_or_default();
        row.trim_end().to_owned()
    };
    // Digits answer an open question; the draft gets all other keys.
    let answers = model.composer.is_empty()
        && model.questions.open.as_ref().is_some_and(|open| open.keyboard);
    let in_draft = |cursor: &Position| areas.prompt.contains(*cursor);
    match areas.cursor.filter(|cursor| !answers || !in_draft(cursor)) {
        Some(Position { x, y }) if areas.prompt.contains(Position { x, y }) => {
            let area = areas.prompt;
            let draft = |y: u16| text(y).chars().skip(1).collect::<String>();
            let mut rows: Vec<String> = (area.y..area.bottom()).map(draft).collect();
            if model.composer.is_empty() {
                rows = vec![" ".to_owned()];
            }
            rows[0].insert(0, '>');
            rows.iter_mut().skip(1).for_each(|row| row.insert(0, ' '));
            PromptRows { rows, row: y - area.y, column: x }
        }
        Some(Position { x, y }) => {
            let plain = |c: char| match c {
                '\u{2500}'..='\u{259f}' => ' ',
                '›' => '>',
                c => c,
            };
            let field: String = text(y).chars().map(plain).collect();
            PromptRows { rows: vec![field.trim_end().to_owned()], row: 0, column: x }
        }
        None => {
            let hint = clean_row(&text(areas.hint.y)).text;
            let column = u16::try_from(crate::tui::text::width(&hint)).unwrap_or_default();
            PromptRows { rows: vec![hint], row: 0, column }
        }
    }
}
