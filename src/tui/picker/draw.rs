//! Draws the lists to choose from, and their hints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::tui::interrupt::stop;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{Painter, cut_spans, put_all, spans_width, two_ends};
use crate::tui::picker::preview::PickerPreview;
use crate::tui::picker::rows::{PickerChoice, PickerRow};
use crate::tui::picker::{HistorySearch, Picker, PickerRows};
use crate::tui::popup::{self, DrawnList, PopupTitle, draw_rows};
use crate::tui::text::{
    Highlighter, TextFilter, column_width, one_line, padded, width, wrap_hanging,
};
use crate::tui::theme::Theme;

/// Maximum width of the labels beside details, in cells.
const MAX_LABEL_WIDTH: usize = 60;

/// Cells between two columns.
const GAP: usize = 2;

/// Cells before a row, for the mark of the selection.
const MARK: usize = 2;

/// Cells between the rows and a preview, with a line in the middle.
const PREVIEW_GAP: u16 = 3;

/// Minimum width of a row with figures at its end, in cells.
const MIN_FIGURES_WIDTH: usize = 30;

/// The most cells that a row gives to the branch of a session where its prompt is long, and the least
/// that it keeps for the prompt.
const MAX_BRANCH_WIDTH: usize = 24;
const MIN_PROMPT_WIDTH: usize = 24;

/// Minimum width of the rows, in cells.
const MIN_WIDTH: usize = 36;

/// The most rows above or below the selected one that fit on any screen.
const MAX_ROWS_AROUND: usize = 500;

/// Draws a picker, from the line `top` on if the selected row is visible then.
pub fn draw(
    picker: &Picker,
    top: Option<usize>,
    area: Rect,
    painter: Painter<'_>,
    highlighter: &Highlighter,
    buffer: &mut Buffer,
) -> DrawnList {
    let theme = painter.theme;
    let (rows, all) = (picker.matching(), picker.all());
    let selected = picker.selected.min(rows.len().saturating_sub(1));
    let room = popup::room(area).0;
    let chosen = rows.get(selected);
    let preview = PickerPreview::new(picker, chosen, room, painter, highlighter);
    let beside = preview.as_ref().map_or(0, |preview| preview.width + PREVIEW_GAP);
    let columns = Columns::new(&all);
    let least = if all.is_empty() { width(empty_words(picker)) } else { longest_heading(&all) };
    // A preview must not take the room of the figures of short rows.
    let cells = (columns.cells.max(least) + MARK).max(MIN_WIDTH) + usize::from(beside);
    let cells = cells.min(usize::from(room));
    let list_room = cells.saturating_sub(usize::from(beside) + MARK);
    let (lines, row_of) = list_lines(picker, &rows, selected, &columns, list_room, theme);
    let at = row_of.iter().position(|row| *row == Some(selected)).unwrap_or(usize::MAX);
    let notes = notes(picker, room, theme);
    let least = preview.as_ref().map_or(0, |preview| preview.lines.len().max(preview.most));
    let wanted = lines.len().max(unfiltered_lines(&all)).max(least) + notes.len();
    let widest = notes.iter().map(Line::width).max().unwrap_or(0).max(cells);
    let area = popup::place(area, widest, wanted);
    let height = area.height.saturating_sub(2);
    // Reserve up to a third of the height for notes, and what the rows leave.
    let left = height.saturating_sub(u16::try_from(lines.len()).unwrap_or(u16::MAX));
    let kept = u16::try_from(notes.len()).unwrap_or(u16::MAX).min(left.max(height / 3));
    let (is_cut, filtered) = (rows.len() > usize::from(height - kept), !picker.filter.is_empty());
    let note = popup::position(selected, rows.len(), is_cut, filtered);
    let title = PopupTitle { name: &picker.title, filter: Some(&picker.filter), note };
    let (inner, cursor) = popup::draw(&title, area, painter, buffer);
    let whole = Rect { height: inner.height.saturating_sub(kept), ..inner };
    let list = Rect { width: whole.width.saturating_sub(beside), ..whole };
    if let Some(preview) = preview {
        for y in list.top()..list.bottom() {
            buffer.set_string(list.right() + 1, y, theme.glyphs.vertical, theme.dim);
        }
        let x = list.right() + PREVIEW_GAP;
        let right = Rect { x, width: whole.right().saturating_sub(x), ..whole };
        put_all(buffer, right, &preview.lines);
    }
    let visible = draw_rows(lines, at, top, list, painter, buffer);
    put_all(buffer, Rect { y: whole.bottom(), height: kept, ..inner }, &notes);
    let rows = visible.rows(|line| row_of.get(line).copied().flatten());
    DrawnList { cursor, lines: visible.room, top: visible.top, rows }
}

/// The lines of the rows with their headings, and for each line the row that it is.
fn list_lines(
    picker: &Picker,
    rows: &[PickerRow],
    selected: usize,
    columns: &Columns,
    room: usize,
    theme: &Theme,
) -> (Vec<Line<'static>>, Vec<Option<usize>>) {
    let mut filter = TextFilter::new(picker.filter.text());
    let (mut lines, mut row_of, mut section) = (Vec::new(), Vec::new(), None);
    for (index, row) in rows.iter().enumerate() {
        if row.section != section {
            section = row.section;
            lines.extend((!lines.is_empty()).then(Line::default));
            lines.push(Line::styled(section.unwrap_or_default(), theme.dim));
            row_of.resize(lines.len(), None);
        }
        row_of.push(Some(index));
        // A row far from the selected one is not on the screen.
        let is_near = index.abs_diff(selected) <= MAX_ROWS_AROUND;
        lines.push(match is_near {
            true => columns.line(row, &mut filter, room, theme),
            false => Line::default(),
        });
    }
    if rows.is_empty() {
        lines.push(Line::styled(empty_words(picker), theme.dim));
    }
    (lines, row_of)
}

/// The number of lines without a filter. The box keeps that size, so that it does not move while a
/// filter is typed.
fn unfiltered_lines(all: &[PickerRow]) -> usize {
    let headed = all.iter().any(|row| row.section.is_some());
    all.len() + if headed { 2 } else { 0 }
}

/// The words of a picker without rows.
fn empty_words(picker: &Picker) -> &'static str {
    match &picker.rows {
        PickerRows::Loading => "loading …",
        _ if !picker.filter.is_empty() => "no match",
        PickerRows::Sessions(sessions) if sessions.everywhere => "no other sessions",
        PickerRows::Sessions(_) => "no other sessions in this directory",
        PickerRows::Models(_) => "no known models · /model NAME takes any name your provider knows",
        PickerRows::Memory(_)
        | PickerRows::Efforts(_)
        | PickerRows::Ways(_)
        | PickerRows::Permissions { .. }
        | PickerRows::Themes(_) => "",
    }
}

/// The notes, below a blank line.
fn notes(picker: &Picker, room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let rest = Line::raw("  ");
    let wrap = |note: &String| {
        wrap_hanging(&Line::styled(one_line(note), theme.dim), room, &Line::default(), &rest)
    };
    let blank = (!picker.notes.is_empty()).then(Line::default);
    blank.into_iter().chain(picker.notes.iter().flat_map(wrap)).collect()
}

fn longest_heading(rows: &[PickerRow]) -> usize {
    rows.iter().filter_map(|row| row.section).map(width).max().unwrap_or(0)
}

/// The widths of the columns of all rows. Each kind of row has its own.
struct Columns {
    kinds: Vec<(Option<&'static str>, KindColumns)>,
    /// Cells of the widest row.
    cells: usize,
}

struct KindColumns {
    lead: usize,
    label: usize,
    detail: usize,
    figures: Vec<usize>,
}

impl KindColumns {
    /// The cells of the labels of sessions where `room` is left for them and the branches, and whether
    /// there is room for the branches.
    fn prompt(&self, room: usize) -> (usize, bool) {
        let left = room.saturating_sub(self.detail.min(MAX_BRANCH_WIDTH) + GAP);
        match left >= self.label.min(MIN_PROMPT_WIDTH) {
            true => (self.label.min(left), true),
            false => (room, false),
        }
    }
}

impl Columns {
    fn new(rows: &[PickerRow]) -> Self {
        let mut kinds: Vec<(Option<&'static str>, KindColumns)> = Vec::new();
        let mut cells = 0;
        for section in [None, rows.iter().find_map(|row| row.section)] {
            let of = || rows.iter().filter(move |row| row.section == section);
            if kinds.iter().any(|(known, _)| *known == section) || of().next().is_none() {
                continue;
            }
            let with_details = of().any(|row| !row.detail.is_empty());
            let most = if with_details { MAX_LABEL_WIDTH } else { usize::MAX };
            let count = of().map(|row| row.figures.len()).max().unwrap_or(0);
            let figure =
                |at: usize| of().filter_map(|row| row.figures.get(at)).map(|it| width(it)).max();
            let columns = KindColumns {
                lead: column_width(of().map(|row| &*row.lead), 28),
                label: column_width(of().map(|row| &*row.label), most),
                detail: of().map(|row| width(&row.detail)).max().unwrap_or(0),
                figures: (0..count).map(|at| figure(at).unwrap_or(0)).collect(),
            };
            let gap = |cells: usize| if cells > 0 { cells + GAP } else { 0 };
            let figures: usize = columns.figures.iter().map(|cells| gap(*cells)).sum();
            // `two_ends` leaves a blank before them.
            let figures = figures + usize::from(figures > 0);
            cells = cells.max(gap(columns.lead) + columns.label + gap(columns.detail) + figures);
            kinds.push((section, columns));
        }
        Self { kinds, cells }
    }

    fn line(
        &self,
        row: &PickerRow,
        filter: &mut TextFilter,
        room: usize,
        theme: &Theme,
    ) -> Line<'static> {
        let Some((_, columns)) = self.kinds.iter().find(|(section, _)| *section == row.section)
        else {
            return Line::default();
        };
        let mut left = Vec::new();
        if columns.lead > 0 {
            left.push(Span::styled(padded(&row.lead, columns.lead + GAP), theme.dim));
        }
        let hit = |style: Style| style.patch(theme.accent).add_modifier(Modifier::BOLD);
        let named = !row.filtered().0.is_empty();
        let mut label = match named {
            true => filter.name_spans(&row.label, theme.text, hit(theme.text)),
            false => filter.rest_spans(&row.label, theme.text, hit(theme.text)),
        };
        let has_room = room >= MIN_FIGURES_WIDTH;
        let figures = columns.figures.iter().enumerate();
        let figures = figures.filter(|(_, cells)| **cells > 0 && has_room);
        let figures = figures.map(|(at, cells)| {
            let text = row.figures.get(at).map(String::as_str).unwrap_or_default();
            Span::styled(format!("{}{text}", padded("", GAP + cells - width(text))), theme.dim)
        });
        let figures: Vec<Span<'static>> = figures.collect();
        let before = spans_width(&left) + spans_width(&figures);
        let free = room.saturating_sub(before + usize::from(!figures.is_empty()));
        let (cells, is_shown) = match row.choice {
            PickerChoice::Session(_) => columns.prompt(free),
            _ => (columns.label, true),
        };
        if !row.detail.is_empty() && is_shown {
            cut_spans(&mut label, cells);
            let blanks = cells.saturating_sub(spans_width(&label)) + GAP;
            label.push(Span::raw(" ".repeat(blanks)));
            label.extend(filter.rest_spans(&row.detail, theme.dim, hit(theme.dim)));
        }
        left.extend(label);
        two_ends(left, figures, room, None)
    }
}

/// Hints for the keys of a picker.
pub fn hint(model: &TuiModel) -> Vec<String> {
    if let Some(Overlay::Picker(picker)) = &model.overlay
        && let Some(words) = confirm_hint(model, picker)
    {
        return vec![words, "Esc closes".to_owned()];
    }
    let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
    let arrows = arrows.map(|arrows| format!("{arrows} choose"));
    let Some(Overlay::Picker(picker)) = &model.overlay else { return Vec::new() };
    let words = match &picker.rows {
        PickerRows::Ways(ways) => {
            let rows = picker.matching();
            let chosen = rows.get(picker.selected).map(|row| &row.label);
            let way = ways.iter().find(|way| chosen.is_some_and(|label| label == way.label));
            way.map_or("selects", |way| way.action)
        }
        _ => "selects",
    };
    let take = model.keymap.hint(KeyContext::List, Action::Submit, words);
    let keys = arrows.into_iter().chain(take).filter(|_| picker.has_match());
    let all = match &picker.rows {
        PickerRows::Sessions(sessions) => {
            let words = if sessions.everywhere { "this directory" } else { "all directories" };
            model.keymap.hint(KeyContext::List, Action::All, words)
        }
        _ => None,
    };
    let keys = keys.chain(all);
    keys.chain(["Esc closes".to_owned()]).collect()
}

/// Draws the history search, the newest match at the bottom, next to the prompt.
pub fn draw_history(
    model: &TuiModel,
    search: &HistorySearch,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> DrawnList {
    let theme = painter.theme;
    let found = model.composer.search(search.query.text());
    let all = model.composer.search("").len();
    let mut filter = TextFilter::new(search.query.text());
    let hit = theme.accent.add_modifier(Modifier::BOLD);
    let lines: Vec<Line<'static>> = found
        .iter()
        .rev()
        .map(|prompt| Line::from(filter.rest_spans(&one_line(prompt), theme.text, hit)))
        .collect();
    let selected = found.len().saturating_sub(1 + search.selected);
    let area = popup::place(area, usize::from(area.width), all.max(1));
    let is_cut = found.len() > usize::from(area.height.saturating_sub(2));
    let note = popup::position(search.selected, found.len(), is_cut, !search.query.is_empty());
    let title = PopupTitle { name: "history", filter: Some(&search.query), note };
    let (inner, cursor) = popup::draw(&title, area, painter, buffer);
    if lines.is_empty() {
        let none = vec![Line::styled("no match", theme.dim)];
        let lines = draw_rows(none, usize::MAX, None, inner, painter, buffer).room;
        return DrawnList { cursor, lines, ..DrawnList::default() };
    }
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(inner.height);
    let low = Rect { y: inner.bottom() - height, height, ..inner };
    let count = lines.len();
    let visible = draw_rows(lines, selected, model.keys.clicked_top(), low, painter, buffer);
    let rows = visible.rows(|line| (line < count).then_some(line));
    DrawnList { cursor, lines: visible.room, top: visible.top, rows }
}

/// Hints for the keys of the history search.
pub fn history_hint(model: &TuiModel) -> Vec<String> {
    let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
    let older = model.keymap.label(KeyContext::List, Action::SearchHistory);
    let moves: Vec<String> = arrows.into_iter().chain(older).collect();
    let moves = (!moves.is_empty()).then(|| moves.join(" or "));
    let take = model.keymap.hint(KeyContext::List, Action::Submit, "selects");
    let before = ["type to search".to_owned()].into_iter().chain(moves).chain(take);
    before.chain(["Esc closes".to_owned()]).collect()
}

/// The effect of a second Enter on a row that needs it.
fn confirm_hint(model: &TuiModel, picker: &Picker) -> Option<String> {
    let (what, does) = match &picker.rows {
        _ if !picker.confirms => return None,
        PickerRows::Sessions(_) => {
            let (who, them) = stop::session_work_label(model)?;
            (who, format!("again stops {them} and resumes this session"))
        }
        _ => ("runs everything without asking".to_owned(), "turns it on".to_owned()),
    };
    let enter = model.keymap.hint(KeyContext::List, Action::Submit, &does);
    Some(labels::with_detail(&what, enter))
}
