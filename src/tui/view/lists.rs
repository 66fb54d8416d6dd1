//! What covers the body: the list of agents, pickers, history search, "Cancel which?", help, pages of lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::figures::{clock, money};
use crate::tui::model::overlay::{AgentList, AgentRow, CancelWhich, HistorySearch, Picker, Rows};
use crate::tui::model::{Extent, Model, Overlay};
use crate::tui::text::{one_line, padded, sanitize, width, wrap_hanging, wrap_text};
use crate::tui::update::{COMMANDS, agent_rows};
use crate::tui::words;

use super::paint::{Pen, cut_spans, frame, put, two_ends};

/// Keys and what they do, for the help.
const KEYS: [(&str, &str); 21] = [
    ("Enter", "send; while main works: queue · on an agent: zoom"),
    ("Ctrl+J, \\ Enter", "new line"),
    ("Ctrl+C", "cancel one agent, else clear the draft, else stop main; twice when idle: quit"),
    ("Esc", "one step out; at the outermost step it stops the turn"),
    ("Tab", "complete, else the question, else the agents; there: the next one"),
    ("Shift+Tab", "next permission mode; among agents: the previous one"),
    ("Alt+1…9", "straight to an agent"),
    ("Up, Down", "lines of the draft, then history; empty: take a queued message back"),
    ("Ctrl+R", "search the history"),
    ("PgUp, PgDn", "scroll; Home and End with an empty draft: its ends"),
    ("Ctrl+O", "read and search the whole transcript, with the mouse released"),
    ("@", "a file or an agent"),
    ("/", "commands"),
    ("!", "run a shell command yourself"),
    ("?", "this help, on an empty prompt"),
    ("Ctrl+A E B F P N", "move as readline does; Alt+B F by words"),
    ("Ctrl+D H W U K Y", "delete, kill and yank as readline does; Alt+D a word"),
    ("Ctrl+_", "undo"),
    ("Ctrl+G", "write the draft in your editor"),
    ("Ctrl+L, Ctrl+Z", "draw anew, suspend"),
    ("Ctrl+D", "quit on an empty prompt; twice while something works"),
];

/// Draws what covers the body, but for the reader. Answers with what was scrolled.
pub fn draw(model: &Model, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) -> Extent {
    match &model.overlay {
        Some(Overlay::Agents(list)) => agents(model, list, area, pen, buffer),
        Some(Overlay::Picker(picker)) => pick(picker, area, pen, buffer),
        Some(Overlay::History(search)) => history(model, search, area, pen, buffer),
        Some(Overlay::CancelWhich(which)) => cancel_which(model, which, area, pen, buffer),
        Some(Overlay::Help { scroll }) => {
            return page(
                "keys and commands",
                &help(area.width.saturating_sub(4), pen),
                *scroll,
                area,
                pen,
                buffer,
            );
        }
        Some(Overlay::Page { title, lines, scroll }) => {
            let room = area.width.saturating_sub(4);
            let wrapped: Vec<Line<'static>> = lines
                .iter()
                .flat_map(|line| wrap_text(&sanitize(line), room, pen.theme.text))
                .collect();
            return page(title, &wrapped, *scroll, area, pen, buffer);
        }
        Some(Overlay::Reader(_)) | None => {}
    }
    Extent::default()
}

fn help(room: u16, pen: Pen<'_>) -> Vec<Line<'static>> {
    let theme = pen.theme;
    let row = |key: &str, words: &str| {
        let first = Line::from(Span::styled(format!("{key:<18}"), theme.accent));
        let rest = Line::from(" ".repeat(18));
        wrap_hanging(&Line::from(words.to_owned()), room, &first, &rest)
    };
    let mut lines: Vec<_> = KEYS.iter().flat_map(|(key, words)| row(key, words)).collect();
    lines.push(Line::default());
    lines.extend(COMMANDS.iter().flat_map(|(name, words)| row(&format!("/{name}"), words)));
    lines
}

fn page(
    title: &str,
    lines: &[Line<'static>],
    scroll: usize,
    area: Rect,
    pen: Pen<'_>,
    buffer: &mut Buffer,
) -> Extent {
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, title, "Esc closes");
    let height = usize::from(inner.height);
    let top = scroll.min(lines.len().saturating_sub(height));
    for (row, line) in lines.iter().skip(top).take(height).enumerate() {
        put(buffer, inner, row, line);
    }
    Extent { total: lines.len(), height, top, ..Extent::default() }
}

/// Rows with one chosen, scrolled so that it is seen.
fn rows(lines: Vec<Line<'static>>, selected: usize, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) {
    let height = usize::from(area.height);
    let first = (selected + 1).saturating_sub(height);
    for (at, line) in lines.into_iter().enumerate().skip(first).take(height) {
        let chosen = at == selected;
        let mark = if chosen { pen.theme.glyphs.focus } else { " " };
        let mut spans = vec![Span::styled(mark, pen.theme.accent), Span::raw(" ")];
        spans.extend(line.spans);
        cut_spans(&mut spans, usize::from(area.width));
        let mut line = Line::from(spans);
        if chosen {
            line = line.patch_style(pen.theme.selection);
        }
        put(buffer, area, at - first, &line);
    }
}

fn agents(model: &Model, list: &AgentList, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) {
    let title = if list.filtering {
        format!("agents · filter: {}", list.filter.text())
    } else {
        "agents".to_owned()
    };
    let foot = "Enter open · x cancel · a cancel all · / filter · Esc";
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, foot);
    let found = agent_rows(model, list);
    let names = found.iter().map(|row| width(name_of(model, row))).max().unwrap_or(0).min(24);
    let mut lines: Vec<Line<'static>> =
        found.iter().map(|row| agent_row(model, row, names, inner.width, pen)).collect();
    if lines.is_empty() {
        let words =
            if list.definitions.is_none() { "looking for definitions" } else { "nothing fits" };
        lines.push(Line::styled(words, pen.theme.dim));
    }
    let selected = list.selected.min(lines.len() - 1);
    rows(lines, selected, inner, pen, buffer);
}

fn name_of<'a>(model: &'a Model, row: &'a AgentRow) -> &'a str {
    match row {
        AgentRow::Agent(path) => model.name(path),
        AgentRow::Definition(definition) => &definition.name,
    }
}

fn agent_row(
    model: &Model,
    row: &AgentRow,
    names: usize,
    room: u16,
    pen: Pen<'_>,
) -> Line<'static> {
    let theme = pen.theme;
    let pad = |name: &str| format!("{}  ", padded(name, names));
    match row {
        AgentRow::Definition(definition) => Line::from(vec![
            Span::styled("@ ", theme.dim),
            Span::raw(pad(&definition.name)),
            Span::styled(one_line(&definition.description), theme.dim),
            Span::styled(format!("  {}", definition.origin), theme.dim),
        ]),
        AgentRow::Agent(path) => {
            let Some(agent) = model.agents.get(path) else { return Line::default() };
            let state = words::agent_state(model, agent);
            let (_, cost) = words::spent(&model.agents, path);
            let time = agent.run.elapsed(model.now).map_or("–".to_owned(), clock);
            let left = vec![
                Span::styled(format!("{} ", pen.sign(state.glyph)), pen.style(state.glyph)),
                Span::raw(pad(&agent.info.name)),
                Span::styled(format!("{}  ", one_line(&agent.info.description)), theme.dim),
                Span::raw(state.words),
            ];
            let right = vec![Span::styled(format!("{time} {}", money(cost)), theme.dim)];
            two_ends(left, right, usize::from(room).saturating_sub(2), None)
        }
    }
}

fn pick(picker: &Picker, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) {
    let title = if picker.filter.is_empty() {
        picker.title.clone()
    } else {
        format!("{} · {}", picker.title, picker.filter.text())
    };
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, "Enter take · Esc closes");
    let found = picker.matching();
    let names = found.iter().map(|row| width(&row.label)).max().unwrap_or(0).min(60);
    let mut lines: Vec<Line<'static>> = found
        .iter()
        .map(|row| {
            Line::from(vec![
                Span::raw(format!("{}  ", padded(&one_line(&row.label), names))),
                Span::styled(one_line(&row.detail), pen.theme.dim),
            ])
        })
        .collect();
    if lines.is_empty() {
        let words = match &picker.rows {
            Rows::Loading => "looking",
            _ if !picker.filter.is_empty() => "nothing fits",
            Rows::Sessions(_) => "no session of this directory is stored",
            Rows::Models(_) => {
                "nothing is known to pick · /model NAME takes any name of your provider"
            }
            Rows::Modes(_) => "",
        };
        lines.push(Line::styled(words, pen.theme.dim));
    }
    let selected = picker.selected.min(lines.len() - 1);
    let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(1);
    rows(lines, selected, inner, pen, buffer);
    let below = inner.height.saturating_sub(used);
    let area = Rect { y: inner.bottom() - below, height: below, ..inner };
    for (at, note) in picker.notes.iter().enumerate() {
        put(buffer, area, at, &Line::styled(one_line(note), pen.theme.dim));
    }
}

/// The newest match stands lowest, next to the prompt.
fn history(model: &Model, search: &HistorySearch, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) {
    let title = format!("history: {}", search.query.text());
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, "Enter take · Esc closes");
    let found = model.composer.search(search.query.text());
    let lines: Vec<Line<'static>> =
        found.iter().rev().map(|prompt| Line::raw(one_line(prompt))).collect();
    if lines.is_empty() {
        return rows(vec![Line::styled("nothing fits", pen.theme.dim)], 0, inner, pen, buffer);
    }
    let selected = lines.len() - 1 - search.selected.min(lines.len() - 1);
    let height = usize::from(inner.height).min(lines.len());
    let low = Rect::new(
        inner.x,
        inner.bottom() - u16::try_from(height).unwrap_or(0),
        inner.width,
        u16::try_from(height).unwrap_or(0),
    );
    let first = if selected + height > lines.len() { lines.len() - height } else { selected };
    let window: Vec<Line<'static>> = lines.into_iter().skip(first).take(height).collect();
    rows(window, selected - first, low, pen, buffer);
}

fn cancel_which(model: &Model, which: &CancelWhich, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) {
    let height = u16::try_from(which.rows.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect::new(area.x, area.bottom() - height, area.width, height);
    let foot = "1–9 or Enter one · a or Ctrl+C all · Esc nobody";
    let inner = frame(buffer, area, pen.theme, pen.theme.question, "Cancel which?", foot);
    let lines = which
        .rows
        .iter()
        .enumerate()
        .map(|(at, path)| {
            let Some(agent) = model.agents.get(path) else { return Line::default() };
            let state = words::agent_state(model, agent);
            let look = if agent.alive() { pen.theme.text } else { pen.theme.dim };
            Line::from(vec![
                Span::styled(format!("{:<3}", at + 1), pen.theme.question),
                Span::styled(agent.info.name.clone(), look),
                Span::styled(format!(" · {}  ", one_line(&agent.info.description)), pen.theme.dim),
                Span::styled(format!("{} ", pen.sign(state.glyph)), pen.style(state.glyph)),
                Span::styled(state.words, look),
            ])
        })
        .collect();
    rows(lines, which.selected, inner, pen, buffer);
}
