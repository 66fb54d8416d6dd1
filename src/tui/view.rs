//! Draws the model. Holds all state that is kept between frames: text layouts, and where things
//! were drawn.

mod hit_test;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::protocol::{AgentPath, MotionMode};
use crate::tui::agents::live::LiveItems;
use crate::tui::agents::pane_area::{PaneArea, PaneAreas};
use crate::tui::agents::{AgentState, batch, panes, zoom};
use crate::tui::background::draw as background;
use crate::tui::composer::draw as prompt;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::layout::{LayoutInput, MAX_PROSE_WIDTH, ScreenLayout};
use crate::tui::model::{Metrics, TuiModel};
use crate::tui::msg::HitKind;
use crate::tui::overlay::Overlay;
use crate::tui::page::draw::{self as page, ChangesLayout};
use crate::tui::paint::{Painter, clear, narrow_joined, paint_ground, put, put_all};
use crate::tui::picker::draw as picker;
use crate::tui::popup::DrawnList;
use crate::tui::question::content::QuestionContent;
use crate::tui::question::draw as question;
use crate::tui::question::place;
use crate::tui::queue::draw as queue;
use crate::tui::reader::draw::ReaderLayout;
use crate::tui::text::Highlighter;
use crate::tui::theme::{TerminalBackground, Theme, ThemeError};
use crate::tui::themes::ThemeSet;
use crate::tui::transcript::draw::{ItemStyle, lines};
use crate::tui::transcript::layout::{LayoutCache, RenderContext};
use crate::tui::transcript::{Extent, Scroll, TranscriptItem};
use crate::tui::{agents, chrome, hint};

/// Number of sub-agent transcripts whose layout is kept though they are not on the screen.
const SPARE_AGENT_LAYOUTS: usize = 8;

/// The drawing side of the screen.
pub struct View {
    theme: Arc<Theme>,
    /// All themes, and the name and the background of the shown one; `None` for a fixed theme.
    themes: Option<(ThemeSet, String, TerminalBackground)>,
    highlighter: Highlighter,
    draft: prompt::DraftLayout,
    question: QuestionContent,
    changes: ChangesLayout,
    main: LayoutCache,
    /// The layouts of agents, each with the number of the last frame that used it.
    agents: HashMap<AgentPath, (u64, LayoutCache)>,
    frame: u64,
    /// The transcripts in the panes of the last frame.
    panes: Vec<(AgentPath, Rect)>,
    reader: ReaderLayout,
    /// Targets of the last frame by area; later entries lie on top.
    hit_areas: Vec<(Rect, HitKind)>,
    metrics: Metrics,
    areas: FrameAreas,
    selected: String,
}

/// Where the parts of the last frame are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameAreas {
    pub body: Rect,
    pub queue: Rect,
    pub prompt: Rect,
    pub hint: Rect,
    pub status: Rect,
    pub cursor: Option<Position>,
}

/// The layout of a frame.
struct FrameLayout {
    screen: ScreenLayout,
    /// The layout before a question moved the panel: the question's place follows from it.
    before_move: ScreenLayout,
    is_panel_moved: bool,
}

impl View {
    /// Creates a view with an empty cache.
    pub fn new(theme: Theme, highlighter: Highlighter) -> Self {
        Self {
            theme: Arc::new(theme),
            themes: None,
            question: QuestionContent::new(highlighter.clone()),
            changes: ChangesLayout::new(highlighter.clone()),
            highlighter,
            draft: prompt::DraftLayout::default(),
            main: LayoutCache::default(),
            agents: HashMap::new(),
            frame: 0,
            panes: Vec::new(),
            reader: ReaderLayout::default(),
            hit_areas: Vec::new(),
            metrics: Metrics::default(),
            areas: FrameAreas::default(),
            selected: String::new(),
        }
    }

    /// Creates a view that shows the theme that the model names.
    ///
    /// # Errors
    /// When there is no such theme.
    pub fn with_themes(
        themes: ThemeSet,
        model: &TuiModel,
        highlighter: Highlighter,
    ) -> Result<Self, ThemeError> {
        let (name, background) = wanted_theme(model);
        let theme = themes.get(&name, background)?;
        Ok(Self { themes: Some((themes, name, background)), ..Self::new(theme, highlighter) })
    }

    /// Takes the theme that the model names, if it is another one now.
    fn follow_theme(&mut self, model: &TuiModel) {
        let Some((themes, name, background)) = &mut self.themes else { return };
        let wanted = wanted_theme(model);
        if (&wanted.0, wanted.1) == (&*name, *background) {
            return;
        }
        (*name, *background) = wanted;
        if let Ok(theme) = themes.get(name, *background) {
            self.theme = Arc::new(theme);
        }
    }

    /// The theme of the last frame.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Where the parts of the last frame are.
    pub fn areas(&self) -> &FrameAreas {
        &self.areas
    }

    /// Targets of the last frame by area; later ones lie on top.
    pub fn hit_areas(&self) -> impl Iterator<Item = &(Rect, HitKind)> {
        self.hit_areas.iter()
    }

    /// The lines of an item of a transcript, other than its text.
    pub fn item_lines(
        &self,
        model: &TuiModel,
        item: &TranscriptItem,
        width: u16,
    ) -> Vec<Line<'static>> {
        lines(item, &item_style(model, &self.theme, &self.highlighter, width, width))
    }

    /// Sizes of the parts of the last frame.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The text selected with the mouse, as the last frame showed it.
    pub fn selected(&self) -> &str {
        &self.selected
    }

    /// Drops all layouts, so that code drawn plain is highlighted.
    pub fn highlighting_ready(&mut self) {
        let agents = self.agents.values_mut().map(|(_, layout)| layout);
        agents.chain([&mut self.main]).for_each(LayoutCache::invalidate);
        self.reader.invalidate();
        self.question.invalidate();
        self.changes.invalidate();
    }

    /// Draws one frame.
    pub fn draw(&mut self, model: &TuiModel, frame: &mut Frame<'_>) {
        self.begin_frame(model);
        let theme = Arc::clone(&self.theme);
        let painter = Painter { theme: &theme, frame: spinner(model) };
        let layout = self.layout(model, frame.area());
        let buffer = frame.buffer_mut();
        if !model.settings.screen_reader {
            self.draw_transcripts(model, &layout, painter, buffer);
        }
        let cursor = self.draw_overlay(model, &layout.before_move, painter, buffer);
        draw_rows(model, &layout.screen, &self.metrics, painter, buffer);
        let draft = self.draw_prompt(model, &layout.screen, painter, buffer);
        let cursor = cursor.or(draft);
        paint_ground(buffer, &theme);
        theme.glyphs.replace_non_ascii(buffer);
        self.take_selection(model, buffer);
        // What the user is asked to allow is shown as it is written.
        let question = self.overlay_area().filter(|_| self.metrics.question.is_some());
        narrow_joined(buffer, question.unwrap_or_default());
        let ScreenLayout { body, queue, prompt, hint, status, .. } = layout.screen;
        self.areas = FrameAreas { body, queue, prompt, hint, status, cursor };
        if let Some(cursor) = cursor {
            frame.set_cursor_position(cursor);
        }
    }

    /// Forgets where the parts of the last frame were.
    fn begin_frame(&mut self, model: &TuiModel) {
        self.follow_theme(model);
        self.hit_areas.clear();
        self.panes.clear();
        self.frame += 1;
        self.metrics = Metrics::default();
        self.draft.refresh(&model.composer.buffer, model.prompt_width());
    }

    /// Lays out the frame. A question that covers the transcript ends it there, and may move the panel
    /// above itself.
    fn layout(&mut self, model: &TuiModel, area: Rect) -> FrameLayout {
        let agents = model.agents.panel().len();
        let before_move = ScreenLayout::new(LayoutInput {
            width: area.width,
            height: area.height,
            agents,
            focused: model.focused().is_some_and(|agent| agent.in_panel),
            trouble: agents::row::in_trouble(model, &model.agents.panel()),
            prompt: self.draft.height(),
            background: background::count(model),
            queued: u16::try_from(model.queue.visible().count()).unwrap_or(u16::MAX),
            work: chrome::works(model),
            own_status: model.status_line.text.is_some(),
            zoom: model.zoomed().is_some(),
            panes: model.settings.panes,
        });
        let covered = match &model.overlay {
            None => place::area(model, &before_move, &mut self.question, &self.theme),
            Some(_) => None,
        };
        let mut screen = before_move;
        let Some(covered) = covered else {
            return FrameLayout { screen, before_move, is_panel_moved: false };
        };
        let asker = model.questions.current().map(|(_, waiting)| &waiting.question.path);
        let asker = asker.and_then(|path| model.agents.get(path)).is_some_and(|it| it.in_panel);
        let is_panel_moved = screen.move_panel_above(covered, agents, asker);
        screen.end_transcript_above(covered, is_panel_moved);
        FrameLayout { screen, before_move, is_panel_moved }
    }

    /// Draws the body, the panel and what runs in the background.
    fn draw_transcripts(
        &mut self,
        model: &TuiModel,
        layout: &FrameLayout,
        painter: Painter<'_>,
        buffer: &mut Buffer,
    ) {
        self.draw_body(model, &layout.screen, painter, buffer);
        if let Some(panel) = &layout.screen.panel {
            if layout.is_panel_moved {
                let header = panel.header.unwrap_or(panel.area);
                let all = header.union(panel.area).union(panel.open.unwrap_or(header));
                clear(buffer, all);
            }
            let areas = panes::draw(model, panel, painter, buffer);
            let panes = areas.len().saturating_sub(usize::from(panel.open.is_some()));
            let columns = usize::from(panel.columns);
            self.metrics.pane_rows = (columns > 1).then(|| panes.div_ceil(columns));
            self.draw_panes(model, areas, buffer);
        }
        let areas = background::draw(model, layout.screen.background, painter, buffer);
        self.draw_panes(model, areas.agents, buffer);
        let jobs = areas.jobs.into_iter();
        self.hit_areas.extend(jobs.map(|(area, id)| (area, HitKind::JobRow(id))));
    }

    /// Draws the prompt and its menu. Returns the cursor, unless an overlay has the keys.
    fn draw_prompt(
        &mut self,
        model: &TuiModel,
        layout: &ScreenLayout,
        painter: Painter<'_>,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let cursor = prompt::draw(model, &mut self.draft, layout.prompt, painter, buffer);
        self.hit_areas.push((layout.prompt, HitKind::Prompt(0)));
        if model.overlay.is_some() {
            return None;
        }
        let (bottom, width) = (layout.background.y, buffer.area.width);
        let question = self.overlay_area();
        let menu = prompt::draw_menu(model, bottom, width, question, painter, buffer);
        if let Some((area, menu)) = menu {
            self.metrics.list_top = menu.top;
            self.hit_areas.push((area, HitKind::Overlay));
            let rows = menu.rows.into_iter().map(|(area, row)| (area, HitKind::MenuRow(row)));
            self.hit_areas.extend(rows);
        }
        cursor
    }

    /// The area of the overlay or of the question.
    fn overlay_area(&self) -> Option<Rect> {
        let overlay = self.hit_areas.iter().find(|(_, kind)| *kind == HitKind::Overlay);
        overlay.map(|(area, _)| *area)
    }

    /// Highlights the text that the mouse has selected, and keeps it.
    fn take_selection(&mut self, model: &TuiModel, buffer: &mut Buffer) {
        self.selected.clear();
        let Some(selection) = &model.selection else { return };
        let question = self.metrics.question.as_ref();
        let signs = question.map(|question| &*question.signs).unwrap_or_default();
        let rows = selection.highlight(buffer, self.theme.selection, signs);
        self.selected = selection.text(&rows);
        self.metrics.selected = rows;
    }

    /// Draws the transcripts of panes, each followed by what its agent does now.
    fn draw_panes(&mut self, model: &TuiModel, panes: PaneAreas, buffer: &mut Buffer) {
        for PaneArea { area, path, text, live } in panes {
            self.hit_areas.push((area, HitKind::Pane(path.clone())));
            let Some(agent) = model.agents.get(&path).filter(|_| !text.is_empty()) else {
                continue;
            };
            let height = text.height - u16::from(live.is_some());
            let inner = Rect { height, ..text };
            let extent = self.draw_agent(model, agent, inner, true, Some(buffer));
            if let Some(live) = live {
                put(buffer, text, extent.total.min(usize::from(height)), &live);
            }
            if height == 0 {
                continue;
            }
            self.draw_unread(model, &path, agent.scroll, extent, inner, buffer);
            self.panes.push((path.clone(), inner));
            self.metrics.panes.push((path, extent));
        }
        if self.agents.len() > self.panes.len() + SPARE_AGENT_LAYOUTS {
            let frame = self.frame;
            self.agents.retain(|_, (used, _)| *used == frame);
        }
    }

    /// Draws `↓ 12 new · End` at the lower edge of a scrolled transcript; without the key if that scrolls
    /// another one.
    fn draw_unread(
        &self,
        model: &TuiModel,
        path: &AgentPath,
        scroll: Scroll,
        extent: Extent,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        // It would be a part of the text of a selection.
        let selects = model.selection.as_ref().is_some_and(|selection| !selection.is_empty());
        if scroll.top.is_none() || extent.is_at_end() || area.is_empty() || selects {
            return;
        }
        let new = extent.grown.saturating_sub(scroll.seen);
        let new = (new > 0).then(|| format!("{new} new"));
        // In a draft, the key moves the cursor.
        let down = if model.composer.is_empty() { Action::End } else { Action::PageDown };
        let end = model.keymap.label(KeyContext::Prompt, down);
        let end = end.filter(|_| model.key_target() == *path);
        let words: Vec<String> = new.into_iter().chain(end).collect();
        let words = format!(" {} {}", self.theme.glyphs.down, words.join(" · "));
        let words = format!("{} ", words.trim_end());
        let width = u16::try_from(crate::tui::text::width(&words)).unwrap_or(0).min(area.width);
        let edge = Rect::new(area.right() - width, area.bottom() - 1, width, 1);
        let covers =
            (edge.left()..edge.right()).any(|x| !buffer[(x, edge.y)].symbol().trim().is_empty());
        if covers && edge.x > area.x {
            buffer.set_string(edge.x - 1, edge.y, "…", self.theme.dim);
        }
        put(buffer, edge, 0, &Line::styled(words, self.theme.selection));
    }

    /// Draws main's transcript, or the zoomed agent with its header.
    fn draw_body(
        &mut self,
        model: &TuiModel,
        layout: &ScreenLayout,
        painter: Painter<'_>,
        buffer: &mut Buffer,
    ) {
        let area = layout.transcript;
        self.hit_areas.push((area, HitKind::Body));
        let extent = match model.zoomed() {
            Some(agent) => {
                let most = if layout.small { 1 } else { 3 }.min(area.height);
                let head = zoom::header(model, agent, area.width, most, painter);
                let lines = u16::try_from(head.len()).unwrap_or(most).min(most);
                put_all(buffer, Rect { height: lines, ..area }, &head);
                let below = Rect { y: area.y + lines, height: area.height - lines, ..area };
                self.draw_agent(model, agent, below, false, Some(buffer))
            }
            None => self.draw_main(model, area, layout.prose, buffer),
        };
        self.metrics.body = extent;
        let scroll = model.zoomed().map_or(model.main_scroll, |agent| agent.scroll);
        let path = model.zoomed().map_or_else(AgentPath::root, |agent| agent.path.clone());
        self.draw_unread(model, &path, scroll, extent, area, buffer);
    }

    fn draw_main(
        &mut self,
        model: &TuiModel,
        area: Rect,
        prose: u16,
        buffer: &mut Buffer,
    ) -> Extent {
        let theme = &self.theme;
        let painter = Painter { theme, frame: spinner(model) };
        let rest = rest_action(model, &AgentPath::root());
        let style =
            ItemStyle { rest, ..item_style(model, theme, &self.highlighter, area.width, prose) };
        let transcript = &model.main;
        let cx = RenderContext {
            head: chrome::session_header(model, theme, area.width),
            live: &|item| batch::live_lines(model, item, area.width, true, painter),
            live_items: model.batch_item.into_iter().collect(),
            caret: model.settings.motion == MotionMode::Full,
            spinner: spinner(model),
            ..RenderContext::new(style, &self.highlighter, transcript, model.main_scroll)
        };
        self.main.draw(&cx, area.as_position(), area.height, buffer)
    }

    /// Draws the transcript of an agent, in a pane or in the whole body. Only measures it without a
    /// buffer.
    fn draw_agent(
        &mut self,
        model: &TuiModel,
        agent: &AgentState,
        area: Rect,
        pane: bool,
        buffer: Option<&mut Buffer>,
    ) -> Extent {
        let (used, layout) = self.agents.entry(agent.path.clone()).or_default();
        *used = self.frame;
        let prose = if pane { area.width } else { area.width.min(MAX_PROSE_WIDTH) };
        let rest = rest_action(model, &agent.path);
        let theme = &self.theme;
        let style =
            ItemStyle { rest, ..item_style(model, theme, &self.highlighter, area.width, prose) };
        let painter = Painter { theme, frame: spinner(model) };
        let items = LiveItems::new(model, agent, painter, pane.then_some(area.height));
        let cx = RenderContext {
            live: &|item| items.lines(item, area.width),
            live_items: items.ids(),
            dense: pane,
            caret: model.settings.motion == MotionMode::Full,
            spinner: spinner(model),
            ..RenderContext::new(style, &self.highlighter, &agent.transcript, agent.scroll)
        };
        match buffer {
            Some(buffer) => layout.draw(&cx, area.as_position(), area.height, buffer),
            None => layout.measure(&cx, area.height),
        }
    }

    /// Draws what covers the body or the transcript. Returns the cursor if it has a text field.
    fn draw_overlay(
        &mut self,
        model: &TuiModel,
        layout: &ScreenLayout,
        painter: Painter<'_>,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let body = layout.body;
        let mut list = DrawnList::default();
        let extent = match &model.overlay {
            Some(Overlay::Reader(reader)) => {
                let drawn =
                    self.reader.draw(model, reader, &self.highlighter, body, painter, buffer);
                (self.metrics.reader, self.metrics.search) = drawn;
                Extent::default()
            }
            Some(Overlay::Question { id, scroll }) => {
                let content = &mut self.question;
                let frame =
                    question::draw_content(model, *id, *scroll, body, content, painter, buffer);
                let extent = frame.as_ref().map(|frame| frame.content).unwrap_or_default();
                self.metrics.question = frame;
                extent
            }
            Some(Overlay::Help { scroll }) => {
                page::draw_help(&model.keymap, *scroll, body, painter, buffer)
            }
            Some(Overlay::Page(shown)) => {
                page::draw(model, shown, body, &mut self.changes, painter, buffer)
            }
            Some(Overlay::Agents(agents)) => {
                list = agents::list::draw::draw(model, agents, body, painter, buffer);
                Extent::default()
            }
            Some(Overlay::AgentPicker(which)) => {
                list = agents::picker::draw::draw(model, which, body, painter, buffer);
                Extent::default()
            }
            Some(Overlay::Picker(shown)) => {
                list = picker::draw(
                    shown,
                    model.keys.clicked_top(),
                    body,
                    painter,
                    &self.highlighter,
                    buffer,
                );
                Extent::default()
            }
            Some(Overlay::History(search)) => {
                list = picker::draw_history(model, search, body, painter, buffer);
                Extent::default()
            }
            None => {
                let drawn = question::draw(model, layout, &mut self.question, painter, buffer)?;
                self.metrics.question = Some(drawn.frame);
                self.hit_areas.push((drawn.area, HitKind::Overlay));
                let answers = drawn.answers.into_iter();
                self.hit_areas.extend(answers.map(|(area, digit)| (area, HitKind::Answer(digit))));
                let tabs = drawn.tabs.into_iter();
                self.hit_areas.extend(tabs.map(|(area, tab)| (area, HitKind::FormTab(tab))));
                return drawn.cursor;
            }
        };
        self.metrics.page = extent;
        (self.metrics.list, self.metrics.list_top) = (list.lines, list.top);
        self.hit_areas.push((body, HitKind::Overlay));
        self.hit_areas
            .extend(list.rows.into_iter().map(|(area, row)| (area, HitKind::ListRow(row))));
        list.cursor
    }
}

/// Draws the rows around the prompt: the queue, the work, the rule, the hint and the status.
fn draw_rows(
    model: &TuiModel,
    layout: &ScreenLayout,
    metrics: &Metrics,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) {
    let width = buffer.area.width;
    let queue = queue::draw(model, usize::from(layout.queue.height), width, painter);
    put_all(buffer, layout.queue, &queue);
    if !layout.work.is_empty() {
        put(buffer, layout.work, 0, &chrome::work(model, width, painter));
    }
    put(buffer, layout.rule, 0, &chrome::rule(model, layout, painter));
    put(buffer, layout.hint, 0, &hint::draw(model, metrics, width, painter));
    put(buffer, layout.status, 0, &chrome::status(model, width, painter));
}

/// The name of the theme to show, in a list of themes the selected one, and the background.
fn wanted_theme(model: &TuiModel) -> (String, TerminalBackground) {
    let preview = match &model.overlay {
        Some(Overlay::Picker(picker)) => picker.theme(),
        _ => None,
    };
    let background =
        model.themes.background.or_else(|| TerminalBackground::from_env(&model.settings.env));
    (preview.unwrap_or_else(|| model.settings.theme.clone()), background.unwrap_or_default())
}

/// The style of a transcript that fits into the rest of the screen.
fn item_style<'a>(
    model: &'a TuiModel,
    theme: &'a Theme,
    highlighter: &'a Highlighter,
    width: u16,
    prose: u16,
) -> ItemStyle<'a> {
    let (prose, keymap) = (prose.min(width), &*model.keymap);
    let rest = Some(Action::Reader);
    ItemStyle { theme, width, prose, full: false, keymap, rest, highlighter }
}

/// The action whose key shows the rest of folded items in a transcript on the screen: none unless the
/// keys act on that transcript.
fn rest_action(model: &TuiModel, path: &AgentPath) -> Option<Action> {
    (model.key_target() == *path).then_some(Action::Expand)
}

/// The spinner's frame; `None` with reduced motion.
fn spinner(model: &TuiModel) -> Option<usize> {
    let steps = model.now.as_millis() / 200;
    (model.settings.motion == MotionMode::Full).then(|| usize::try_from(steps % 1000).unwrap_or(0))
}
