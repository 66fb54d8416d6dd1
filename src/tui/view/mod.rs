//! Draws the model. Everything that is remembered between frames is here: layouts of text, and
//! where things were drawn.

mod agent_list;
mod background;
mod batch;
mod chrome;
mod dialog;
mod first_run;
mod help;
mod hint;
mod items;
mod layout;
mod lists;
mod paint;
mod panes;
mod prompt;
mod transcript;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::protocol::AgentPath;

use super::figures::count;
use super::keymap::{Action, Context};
use super::model::{Agent, Extent, Item, ItemKind, Metrics, Model, Overlay, Search};
use super::msg::{Target, Under};
use super::settings::Motion;
use super::text::Highlighter;
use super::theme::Theme;
use layout::{Layout, Needs};
use paint::{Pen, put_all};
pub(super) use paint::{frame as boxed, put};
use transcript::{Find, Laid, Sight};

pub use chrome::title;

/// Transcripts of sub-agents whose layout is kept.
const LAID_KEPT: usize = 8;

/// The drawing side of the screen.
pub struct View {
    theme: Arc<Theme>,
    highlighter: Highlighter,
    draft: prompt::Draft,
    question: dialog::Content,
    main: Laid,
    agents: HashMap<AgentPath, Laid>,
    reader: Option<(AgentPath, Laid)>,
    /// What lies where in the last frame; later entries lie on top.
    places: Vec<(Rect, Target)>,
    metrics: Metrics,
    selected: String,
}

impl View {
    /// A view with a theme.
    #[must_use]
    pub fn new(theme: Theme, highlighter: Highlighter) -> Self {
        Self {
            theme: Arc::new(theme),
            highlighter,
            draft: prompt::Draft::default(),
            question: dialog::Content::default(),
            main: Laid::default(),
            agents: HashMap::new(),
            reader: None,
            places: Vec::new(),
            metrics: Metrics::default(),
            selected: String::new(),
        }
    }

    /// Sizes of what the last frame showed.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What lies at a cell of the last frame. A pane is measured, if it is to be scrolled.
    #[must_use]
    pub fn under(&mut self, model: &Model, at: Position, scrolls: bool) -> Under {
        let found = self.places.iter().rev().find(|(area, _)| area.contains(at));
        let Some((area, target)) = found.cloned() else { return Under::default() };
        let Target::Pane(path) = &target else {
            return Under { area, target, pane: Extent::default() };
        };
        let inner = inside(area);
        let agent = model.agents.get(path).filter(|_| scrolls && inner.height > 1);
        let pane = agent.map(|agent| self.agent_transcript(model, agent, inner, inner.width, None));
        Under { area: inner, target, pane: pane.unwrap_or_default() }
    }

    /// The text that the mouse has chosen, as the last frame showed it.
    #[must_use]
    pub fn selected(&self) -> &str {
        &self.selected
    }

    /// Code that was drawn plain can be drawn again.
    pub fn highlighting_ready(&mut self) {
        let reader = self.reader.iter_mut().map(|(_, laid)| laid);
        self.agents.values_mut().chain(reader).chain([&mut self.main]).for_each(Laid::forget);
    }

    /// Draws one frame.
    pub fn draw(&mut self, model: &Model, frame: &mut Frame<'_>) {
        let area = frame.area();
        let theme = Arc::clone(&self.theme);
        let pen = Pen { theme: &theme, frame: spinner(model) };
        self.places.clear();
        self.metrics = Metrics::default();
        self.draft.refresh(&model.composer.buffer, model.prompt_width());
        let layout = Layout::of(Needs {
            width: area.width,
            height: area.height,
            agents: model.agents.shown().len(),
            prompt: self.draft.height(),
            background: background::count(model),
            queued: u16::try_from(model.queue.shown().count()).unwrap_or(u16::MAX),
            zoom: model.zoomed().is_some(),
            panes: model.settings.panes,
        });
        let buffer = frame.buffer_mut();
        self.body(model, &layout, pen, buffer);
        if let Some(panel) = &layout.panel {
            let places = panes::draw(model, panel, pen, buffer);
            self.scrolled_panes(model, &places, buffer);
            self.places.extend(places.into_iter().map(|(area, path)| (area, Target::Pane(path))));
        }
        let aside = background::draw(model, layout.background, pen, buffer);
        self.places.extend(aside.into_iter().map(|(area, path)| (area, Target::Pane(path))));
        let mut cursor = self.cover(model, &layout, pen, buffer);
        put_all(
            buffer,
            layout.queue,
            &chrome::queue(model, usize::from(layout.queue.height), area.width, pen),
        );
        put(buffer, layout.rule, 0, &chrome::rule(model, area.width, layout.small, pen));
        put(buffer, layout.hint, 0, &chrome::hint(model, &self.metrics, area.width, pen));
        put(buffer, layout.status, 0, &chrome::status(model, area.width, pen));
        let draft = prompt::draw(model, &self.draft, layout.prompt, pen, buffer);
        self.places.push((layout.prompt, Target::Prompt));
        if model.overlay.is_none() {
            prompt::draw_menu(model, layout.background.y, area.width, pen, buffer);
            cursor = cursor.or(draft);
        }
        theme.glyphs.tame(buffer);
        self.selected = match &model.selection {
            Some(selection) => paint::select(buffer, selection, theme.selection),
            None => String::new(),
        };
        if let Some(cursor) = cursor {
            frame.set_cursor_position(cursor);
        }
    }

    /// Main's transcript, or the zoomed agent with its header.
    fn body(&mut self, model: &Model, layout: &Layout, pen: Pen<'_>, buffer: &mut Buffer) {
        let area = layout.transcript;
        self.places.push((area, Target::Body));
        let extent = match model.zoomed() {
            Some(agent) => {
                put(
                    buffer,
                    Rect { height: area.height.min(1), ..area },
                    0,
                    &panes::zoom_header(model, agent, area.width, pen),
                );
                let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
                self.agent_transcript(model, agent, below, area.width.min(100), Some(buffer))
            }
            None => self.main_transcript(model, area, layout.prose, buffer),
        };
        self.metrics.body = extent;
        let scroll = model.zoomed().map_or(model.main_scroll, |agent| agent.scroll);
        if scroll.top.is_some() && area.height > 0 {
            let new = extent.grown.saturating_sub(scroll.seen);
            let new = (new > 0).then(|| format!("{new} new"));
            let end = model.keymap.label(Context::Prompt, Action::End);
            let words: Vec<String> = new.into_iter().chain(end).collect();
            let words = format!(" {} {} ", self.theme.glyphs.down, words.join(" · "));
            let width = u16::try_from(super::text::width(&words)).unwrap_or(0).min(area.width);
            let edge = Rect::new(area.right() - width, area.bottom() - 1, width, 1);
            put(buffer, edge, 0, &Line::styled(words, self.theme.selection));
        }
    }

    fn main_transcript(
        &mut self,
        model: &Model,
        area: Rect,
        prose: u16,
        buffer: &mut Buffer,
    ) -> Extent {
        let theme = &self.theme;
        let pen = Pen { theme, frame: spinner(model) };
        let width = area.width;
        let live = |item: &Item| match &item.kind {
            ItemKind::Batch { members, folded } => {
                Some(batch::lines(model, members, *folded, width, pen))
            }
            _ => None,
        };
        let sight = Sight {
            theme,
            highlighter: &self.highlighter,
            transcript: &model.main,
            scroll: model.main_scroll,
            head: head(model, theme, width),
            live: &live,
            live_item: model.batch_item,
            prose,
            full: false,
            keymap: &model.keymap,
            caret: model.settings.motion == Motion::Full,
            find: None,
        };
        self.main.draw(&sight, area, buffer)
    }

    fn agent_transcript(
        &mut self,
        model: &Model,
        agent: &Agent,
        area: Rect,
        prose: u16,
        buffer: Option<&mut Buffer>,
    ) -> Extent {
        if self.agents.len() >= LAID_KEPT && !self.agents.contains_key(&agent.path) {
            self.agents.clear();
        }
        let laid = self.agents.entry(agent.path.clone()).or_default();
        let sight = Sight {
            theme: &self.theme,
            highlighter: &self.highlighter,
            transcript: &agent.transcript,
            scroll: agent.scroll,
            head: Vec::new(),
            live: &|_| None,
            live_item: None,
            prose: prose.min(area.width),
            full: false,
            keymap: &model.keymap,
            caret: model.settings.motion == Motion::Full,
            find: None,
        };
        match buffer {
            Some(buffer) => laid.draw(&sight, area, buffer),
            None => laid.measure(&sight, area),
        }
    }

    /// A pane shows its transcript instead of its tail while it is scrolled; a focused one is
    /// measured at least.
    fn scrolled_panes(&mut self, model: &Model, panes: &panes::Places, buffer: &mut Buffer) {
        for (area, path) in panes {
            let Some(agent) = model.agents.get(path) else { continue };
            let scrolled = agent.scroll.top.is_some();
            if area.height <= 3 || (!scrolled && model.focus.as_ref() != Some(path)) {
                continue;
            }
            let inner = inside(*area);
            let buffer = scrolled.then(|| {
                paint::clear(buffer, inner);
                &mut *buffer
            });
            let extent = self.agent_transcript(model, agent, inner, inner.width, buffer);
            self.metrics.panes.push((path.clone(), extent));
        }
    }

    /// What covers the body or the transcript. Answers with the cursor, if a line in it is typed.
    fn cover(
        &mut self,
        model: &Model,
        layout: &Layout,
        pen: Pen<'_>,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        match &model.overlay {
            Some(Overlay::Reader(reader)) => {
                self.places.push((layout.body, Target::Overlay));
                self.read(model, reader, layout.body, buffer);
                None
            }
            Some(Overlay::Question { id, scroll }) => {
                let question = &mut self.question;
                self.metrics.question =
                    dialog::read(model, *id, *scroll, layout.body, question, pen, buffer);
                let content = self.metrics.question.as_ref().map(|frame| frame.content);
                self.metrics.page = content.unwrap_or_default();
                self.places.push((layout.body, Target::Overlay));
                None
            }
            Some(_) => {
                let extent = lists::draw(model, layout.body, pen, buffer);
                self.metrics.page = extent;
                self.places.push((layout.body, Target::Overlay));
                None
            }
            None => {
                let drawn = dialog::draw(model, layout, &mut self.question, pen, buffer)?;
                self.metrics.question = Some(drawn.frame);
                self.places.push((drawn.area, Target::Overlay));
                let answers = drawn.answers.into_iter();
                self.places.extend(answers.map(|(area, digit)| (area, Target::Answer(digit))));
                drawn.cursor
            }
        }
    }

    fn read(
        &mut self,
        model: &Model,
        reader: &super::model::overlay::Reader,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        paint::clear(buffer, area);
        let theme = &self.theme;
        let pen = Pen { theme, frame: spinner(model) };
        let width = area.width;
        if self.reader.as_ref().is_none_or(|(path, _)| *path != reader.path) {
            self.reader = Some((reader.path.clone(), Laid::default()));
        }
        let Some((_, laid)) = &mut self.reader else { return };
        let live = |item: &Item| match &item.kind {
            ItemKind::Batch { members, folded } => {
                Some(batch::lines(model, members, *folded, width, pen))
            }
            _ => None,
        };
        let sight = Sight {
            theme,
            highlighter: &self.highlighter,
            transcript: model.transcript(&reader.path),
            scroll: reader.scroll,
            head: Vec::new(),
            live: &live,
            live_item: model.batch_item.filter(|_| reader.path.is_root()),
            prose: width,
            full: true,
            keymap: &model.keymap,
            caret: false,
            find: Some(Find { query: &reader.query, hit: reader.hit, seek: reader.seek }),
        };
        let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let extent = laid.draw(&sight, below, buffer);
        paint::highlight(buffer, below, &reader.query, theme.selection);
        self.metrics.reader = extent;
        self.metrics.search = laid.found();
        let name = model.name(&reader.path);
        let shown = (extent.top + extent.height).min(extent.total);
        let mut words = format!("{name} · {} · line {shown}", count(extent.total, "line"));
        if let Some(typed) = &reader.typing {
            words = format!("{name} · search: {}", typed.text());
        } else if !reader.query.is_empty() {
            let found = match laid.found() {
                Some(Search { total: 0, .. }) | None => "not found".to_owned(),
                Some(Search { number: 0, total, .. }) => format!("{total} found"),
                Some(Search { number, total, .. }) => format!("{number} of {total}"),
            };
            words.push_str(&format!(" · /{} · {found}", reader.query));
        }
        let left = vec![Span::styled(words, theme.accent)];
        let line = paint::two_ends(
            left,
            Vec::new(),
            usize::from(width),
            Some((theme.glyphs.rule, theme.dim)),
        );
        put(buffer, area, 0, &line);
    }
}

/// The part of a slot in which its text stands.
fn inside(area: Rect) -> Rect {
    let (x, y) = (3.min(area.width), 2.min(area.height));
    Rect::new(area.x + x, area.y + y, area.width - x, area.height - y)
}

/// The spinner's step; `None` with reduced motion.
fn spinner(model: &Model) -> Option<usize> {
    let steps = model.now.as_millis() / 200;
    (model.settings.motion == Motion::Full).then(|| usize::try_from(steps % 1000).unwrap_or(0))
}

/// The first line of a session, and what to do when there is no model.
fn head(model: &Model, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let session = &model.session;
    let mut words = format!("  caliban · {}", chrome::place(model));
    for note in &session.notes {
        words.push_str(&format!(" · {note}"));
    }
    let mut lines = vec![Line::styled(words, theme.dim)];
    if let Some(first) = &session.first_run {
        lines.extend(first_run::lines(first, theme.text, width));
    }
    lines
}
