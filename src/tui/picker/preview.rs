//! The preview beside the rows of a picker: a theme's colours, a session's last answer.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::protocol::printable_path;
use crate::tui::host::SessionChoice;
use crate::tui::paint::Painter;
use crate::tui::picker::rows::{PickerChoice, PickerRow};
use crate::tui::picker::{Picker, PickerRows, SessionRows};
use crate::tui::text::{self, Highlighter, MarkdownStream, Widths, one_line, truncate, whole_diff};

/// Minimum width of a picker with a preview beside its rows.
const MIN_WIDTH: u16 = 100;

/// Width of the sample of a theme.
const SAMPLE_WIDTH: u16 = 54;

/// The most lines of a last answer.
const ANSWER_LINES: usize = 14;

/// Lines beside the rows of a picker, and their width.
pub struct PickerPreview {
    pub width: u16,
    pub lines: Vec<Line<'static>>,
    /// The most lines that it needs for any row, so that the box does not jump with the selection.
    pub most: usize,
}

impl PickerPreview {
    /// The preview for the selected row, if the picker has one and `room` cells are enough for both.
    pub fn new(
        picker: &Picker,
        chosen: Option<&PickerRow>,
        room: u16,
        painter: Painter<'_>,
        highlighter: &Highlighter,
    ) -> Option<Self> {
        if room < MIN_WIDTH {
            return None;
        }
        match &picker.rows {
            PickerRows::Themes(_) => {
                let lines = theme_sample(painter);
                Some(Self { width: SAMPLE_WIDTH, most: lines.len(), lines })
            }
            PickerRows::Sessions(sessions) if !sessions.choices.is_empty() => {
                let width = room * 2 / 5;
                let chosen = chosen.and_then(|row| {
                    let is_chosen =
                        |session: &&SessionChoice| row.choice == PickerChoice::Session(session.id);
                    sessions.choices.iter().find(is_chosen)
                });
                let answer = chosen.map(|session| session.end.answer.as_str()).unwrap_or_default();
                let place =
                    chosen.map(|session| place(session, sessions.everywhere)).unwrap_or_default();
                let widths = Widths { prose: width, wide: width };
                let mut lines = MarkdownStream::whole(answer, highlighter)
                    .lines(widths, painter.theme)
                    .to_vec();
                if lines.is_empty() {
                    lines.push(Line::styled("no preview", painter.theme.dim));
                }
                if lines.len() > ANSWER_LINES {
                    lines.truncate(ANSWER_LINES - 1);
                    lines.push(Line::styled("…", painter.theme.dim));
                }
                if !place.is_empty() {
                    let place = truncate(&place, usize::from(width)).into_owned();
                    lines.insert(0, Line::styled(place, painter.theme.dim));
                    lines.insert(1, Line::default());
                }
                let most = most_lines(sessions, width);
                Some(Self { width, lines, most })
            }
            _ => None,
        }
    }
}

/// The most lines that the preview of any of these sessions needs, without drawing them: as many as those
/// of the answer fill, and those of its place.
fn most_lines(sessions: &SessionRows, width: u16) -> usize {
    let needed = |session: &SessionChoice| {
        let lines = session.end.answer.lines();
        let rows = lines.map(|line| text::width(line).div_ceil(usize::from(width)).max(1)).sum();
        let place = place(session, sessions.everywhere);
        ANSWER_LINES.min(rows) + if place.is_empty() { 0 } else { 2 }
    };
    sessions.choices.iter().map(needed).max().unwrap_or_default()
}

/// Where a session was: its directory if there are several, and its branch.
fn place(session: &SessionChoice, everywhere: bool) -> String {
    let folder = everywhere.then(|| printable_path(&session.folder));
    let branch = session.branch.as_deref().map(one_line);
    folder.into_iter().chain(branch).collect::<Vec<_>>().join(" · ")
}

/// A few lines in the theme's colours, to choose one by.
fn theme_sample(painter: Painter<'_>) -> Vec<Line<'static>> {
    let theme = painter.theme;
    let glyphs = theme.glyphs;
    let word = |text: &str, style| Span::styled(text.to_owned(), style);
    let agents = ["1 map the routes  ", "2 find the query  ", "3 run the tests"];
    let agents = agents.into_iter().enumerate().map(|(at, name)| word(name, theme.agent(None, at)));
    let diff = "@@ -8 +8 @@\n-  if count > bulk_from {\n+  if count >= bulk_from {\n";
    let mut lines = vec![
        Line::from(vec![
            word(glyphs.prompt, theme.accent),
            word(" find out why login is slow", theme.text),
        ]),
        Line::default(),
        Line::from(vec![
            word(&format!("{} ", glyphs.tool), theme.good),
            word("Read src/session.rs", theme.text),
            word("  88 lines", theme.dim),
        ]),
        Line::from(vec![
            word(&format!("{} ", glyphs.tool), theme.bad),
            word("Bash cargo test", theme.text),
            word(&format!("  {} exit 1", glyphs.failed), theme.bad),
        ]),
        Line::from(vec![
            word(&format!("{} ", glyphs.asks), theme.question),
            word("main wants to edit ", theme.text),
            word("src/session.rs", theme.text.add_modifier(Modifier::BOLD)),
        ]),
        Line::default(),
        Line::from(vec![
            word("It is read twice, by ", theme.text),
            word("fn guard()", theme.code),
            word(" and the handler.", theme.text),
        ]),
        Line::from(vec![
            word("let ", theme.keyword),
            word("row", theme.text),
            word(" = ", theme.text),
            word("query", theme.function),
            word("(", theme.text),
            word("\"sessions\"", theme.string),
            word(", ", theme.text),
            word("1", theme.number),
            word("); ", theme.text),
            word("// twice", theme.comment),
        ]),
    ];
    lines.extend(whole_diff(diff, None, SAMPLE_WIDTH, theme));
    lines.push(Line::default());
    lines.push(agents.collect());
    lines
}
