//! The permission question, drawn over the transcript.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::{Access, Question, Target};
use crate::tui::composer::Buffer as Typed;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::model::question::{OpenQuestion, Stage};
use crate::tui::model::{Extent, Model, Questions};
use crate::tui::text::{diff_lines, one_line, sanitize, wrap_hanging, wrap_text};
use crate::tui::theme::Theme;

use super::paint::{Pen, frame, put};
use super::prompt::Draft;

/// Lines of a diff in a question; the rest is in the reader.
const DIFF_LINES: usize = 500;

/// What was drawn of the question.
pub struct Drawn {
    pub extent: Extent,
    /// Where each answer stands, for the mouse.
    pub answers: Vec<(Rect, u8)>,
    /// Where the cursor stands while a line is typed.
    pub cursor: Option<Position>,
    pub area: Rect,
}

/// Draws the open question at the end of `area`.
pub fn draw(model: &Model, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) -> Option<Drawn> {
    let (open, waiting) = model.questions.shown()?;
    let question = &waiting.question;
    let theme = pen.theme;
    let width = area.width.saturating_sub(4).max(1);
    let what = what_lines(question, width, theme);
    let lower = lower_lines(open, question, width, theme);
    let needed = u16::try_from(what.len() + lower.lines.len() + 2).unwrap_or(u16::MAX);
    let height = needed.min(area.height);
    let area = Rect::new(area.x, area.bottom() - height, area.width, height);
    let (place, all) = model.questions.place(open.id);
    let who = if question.path.depth() > 1 {
        format!("{} (depth {})", question.agent, question.path.depth())
    } else {
        question.agent.clone()
    };
    let title = format!("{} {who} asks · {place} of {all}", theme.glyphs.asks);
    let style = if open.keyboard { theme.question } else { theme.dim };
    let inner = frame(buffer, area, theme, style, &title, &foot(open, &model.keymap));

    let lower_rows = lower.lines.len().min(usize::from(inner.height));
    let upper_rows = usize::from(inner.height) - lower_rows;
    let top = open.scroll.min(what.len().saturating_sub(upper_rows));
    for (row, line) in what.iter().skip(top).take(upper_rows).enumerate() {
        put(buffer, inner, row, line);
    }
    if what.len() > upper_rows + top && upper_rows > 0 {
        let more = format!("⋮ {} more lines · PgDn", what.len() - upper_rows - top + 1);
        put(
            buffer,
            inner,
            upper_rows - 1,
            &Line::styled(format!("{more:<width$}", width = usize::from(inner.width)), theme.dim),
        );
    }
    let mut answers = Vec::new();
    let mut cursor = None;
    for (at, line) in lower.lines.iter().take(lower_rows).enumerate() {
        put(buffer, inner, upper_rows + at, line);
        let y = inner.y + u16::try_from(upper_rows + at).unwrap_or(0);
        if let Some(digit) = lower.digits.get(at).copied().flatten() {
            answers.push((Rect::new(inner.x, y, inner.width, 1), digit));
        }
        if let Some((row, column)) = lower.cursor
            && row == at
        {
            cursor = Some(Position { x: inner.x + column, y });
        }
    }
    let extent = Extent { total: what.len(), height: upper_rows, top, ..Extent::default() };
    Some(Drawn { extent, answers, cursor: cursor.filter(|_| open.keyboard), area })
}

fn foot(open: &OpenQuestion, keymap: &Keymap) -> String {
    let hint = |action, words| keymap.hint(Context::Prompt, action, words);
    let fixed = |words: &str| Some(words.to_owned());
    let words = match (&open.stage, open.keyboard) {
        (_, false) => {
            let key = keymap.label(Context::Prompt, Action::Next);
            [key.map(|key| format!("{key}: answer")), fixed("the draft has the keyboard"), None]
        }
        (Stage::Choose, true) => {
            [fixed("Esc no"), hint(Action::Next, "next"), hint(Action::Reader, "in full")]
        }
        (Stage::Reason(_), true) => [hint(Action::Submit, "says no"), fixed("Esc back"), None],
        (Stage::Rule(_), true) => [hint(Action::Submit, "writes"), fixed("Esc back"), None],
    };
    words.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The call itself, why it is asked, and what is special about it.
fn what_lines(question: &Question, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let head = format!("{} in {}:", question.tool, question.cwd.display());
    let mut lines = plain(&head, width, theme.text);
    let subject = match &question.access {
        Access::Command { line, .. } => line.clone(),
        Access::Read { paths } | Access::Write { paths } => {
            paths.iter().map(place).collect::<Vec<_>>().join("\n")
        }
        Access::Fetch { url } => url.clone(),
        Access::Agent { name } | Access::Skill { name } => name.clone(),
        Access::Nothing | Access::Other => {
            serde_json::to_string_pretty(&question.input).unwrap_or_default()
        }
    };
    for line in plain(&subject, width.saturating_sub(2), theme.accent) {
        lines.push(super::items::indented(line));
    }
    if let Some(preview) = &question.preview {
        lines.extend(diff_lines(preview, width, DIFF_LINES, theme));
    }
    for warning in &question.warnings {
        lines.extend(plain(&format!("! {}", one_line(warning)), width, theme.question));
    }
    lines.extend(plain(&format!("asked because {}", one_line(&question.reason)), width, theme.dim));
    lines
}

/// A file or folder as the call names it, and where that leads when a link is on the way.
fn place(target: &Target) -> String {
    let written = target.written.display();
    match target.detour() {
        Some(resolved) => format!("{written} (a link to {})", resolved.display()),
        None => written.to_string(),
    }
}

/// Text whose control characters are visible: nothing in it can hide.
fn plain(text: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    let shown: String = text
        .chars()
        .map(|letter| if letter.is_control() && letter != '\n' { visible(letter) } else { letter })
        .collect();
    wrap_text(&sanitize(&shown), width, style)
}

/// The sign that stands for a control character, so that it cannot act on the terminal or hide.
fn visible(control: char) -> char {
    match u32::from(control) {
        code @ 0..=31 => char::from_u32(0x2400 + code).unwrap_or('?'),
        127 => '␡',
        _ => '\u{fffd}',
    }
}

#[derive(Default)]
struct Lower {
    lines: Vec<Line<'static>>,
    digits: Vec<Option<u8>>,
    cursor: Option<(usize, u16)>,
}

impl Lower {
    fn push(&mut self, line: Line<'static>, digit: Option<u8>) {
        self.lines.push(line);
        self.digits.push(digit);
    }

    /// A line that is being typed.
    fn push_input(&mut self, typed: &Typed, width: u16, theme: &Theme) {
        let mut draft = Draft::default();
        draft.refresh(typed, usize::from(width.saturating_sub(3)));
        let (row, column) = draft.cursor();
        self.cursor = Some((self.lines.len() + row, column));
        for line in draft.lines(typed, 0, theme) {
            self.push(line, None);
        }
    }
}

fn lower_lines(open: &OpenQuestion, question: &Question, width: u16, theme: &Theme) -> Lower {
    let mut lower = Lower::default();
    match &open.stage {
        Stage::Choose => answers(&mut lower, open, question, width, theme),
        Stage::Reason(reason) => {
            let words = format!("what should {} do instead? (empty: just no)", question.agent);
            for line in wrap_text(&words, width, theme.text) {
                lower.push(line, None);
            }
            lower.push_input(reason, width, theme);
        }
        Stage::Rule(rules) => {
            let added = rules.text().lines().map(str::trim).collect::<Vec<_>>().join(", ");
            let words =
                format!("adds {added} to allow in .caliban/config.local.toml (you, this project)");
            for line in wrap_text(&words, width, theme.text) {
                lower.push(line, None);
            }
            lower.push_input(rules, width, theme);
        }
    }
    lower
}

fn answers(lower: &mut Lower, open: &OpenQuestion, question: &Question, width: u16, theme: &Theme) {
    let agent = &question.agent;
    let main = question.path.is_root();
    let rules = question.rules.join(", ");
    let rules = rules
        .strip_prefix(&format!("{}(", question.tool))
        .and_then(|rest| rest.strip_suffix(')'))
        .map_or(rules.clone(), str::to_owned);
    let does = match question.tool.as_str() {
        "Edit" | "Write" => "edit",
        "Read" | "Grep" | "Glob" => "read",
        "WebFetch" => "fetch",
        "AgentTool" => "start",
        _ => "run",
    };
    for digit in Questions::choices(question) {
        let words = match (digit, main) {
            (1, _) => "yes, once".to_owned(),
            (2, true) => format!("yes, and main may {does} {rules} for this session"),
            (2, false) => format!("yes, and {agent} may {does} {rules} until it ends"),
            (3, _) => "yes, always in this project (shows the rule first)".to_owned(),
            (4, _) => format!("no, and tell {agent} what to do instead"),
            (_, true) => "no, and stop main".to_owned(),
            (_, false) => format!("no, and cancel {agent}"),
        };
        let chosen = open.selected == Some(*digit);
        let look = if chosen { theme.selection } else { theme.text };
        let mark = if chosen { theme.glyphs.focus } else { " " };
        let number = if open.keyboard { theme.question } else { theme.dim };
        let first = Line::from(vec![
            Span::styled(digit.to_string(), number),
            Span::styled(mark, theme.accent),
            Span::raw(" "),
        ]);
        let words = Line::styled(one_line(&words), look);
        for line in wrap_hanging(&words, width, &first, &Line::raw("   ")) {
            lower.push(line, Some(*digit));
        }
    }
    if question.rules.is_empty() {
        lower.push(
            Line::styled("no safe rule covers this call, so there is no 2 and 3", theme.dim),
            None,
        );
    }
}
