//! The content of a question: the whole call, where it would run, why it is asked, and what is
//! special about it.
//!
//! Nothing of a call is left out or cut, and what a terminal would not show has a visible sign. A
//! call that is too large to be shown like that cannot be allowed.

use std::path::Path;

use ratatui::style::Style;
use ratatui::text::Line;
use serde_json::Value;

use crate::protocol::{Access, MAX_SHOWN, Question, QuestionId, Target, ToolUseId};
use crate::tui::figures::count;
use crate::tui::text::{one_line, reveal, sanitize, whole_diff, width, wrap_text};
use crate::tui::theme::Theme;
use crate::tui::view::items::indented;

/// Cells of a title that are not the sentence: the edge, the sign, and the place in the queue, ` · 1 of 2`.
const AROUND_TITLE: usize = 15;

/// Lines of a call that a question can show.
const MAX_LINES: usize = 50_000;
/// Letters of a path, warning or reason beside a call that is too large to be shown.
const MAX_BESIDE: usize = 500;

/// The content of the open question at the widths that it was drawn at.
#[derive(Default)]
pub struct Content {
    of: Option<(QuestionId, ToolUseId, u64)>,
    too_large: bool,
    by_width: Vec<(u16, Vec<Line<'static>>)>,
}

impl Content {
    /// The content in lines of a width.
    pub fn lines(&mut self, question: &Question, width: u16, theme: &Theme) -> &[Line<'static>] {
        self.turn_to(question, theme);
        let at = match self.by_width.iter().position(|(known, _)| *known == width) {
            Some(at) => at,
            None => {
                // The widths of transcript, body and reader are all that one size of the screen has.
                if self.by_width.len() > 2 {
                    self.by_width.clear();
                }
                let lines = match self.too_large {
                    true => refusal(question, width, theme),
                    false => lines(question, width, theme),
                };
                self.by_width.push((width, lines));
                self.by_width.len() - 1
            }
        };
        &self.by_width[at].1
    }

    /// Whether the call is too large to be shown: then there is no end of it to see, and it cannot
    /// be allowed.
    pub fn is_too_large(&mut self, question: &Question, theme: &Theme) -> bool {
        self.turn_to(question, theme);
        self.too_large
    }

    fn turn_to(&mut self, question: &Question, theme: &Theme) {
        let key = (question.id, question.tool_use_id.clone(), theme.id());
        if self.of.as_ref() != Some(&key) {
            let mut size = Size::default();
            size.add_question(question);
            (self.of, self.by_width) = (Some(key), Vec::new());
            self.too_large = size.bytes > MAX_SHOWN || size.lines > MAX_LINES;
        }
    }
}

/// How much there is to show of a call.
#[derive(Default)]
struct Size {
    bytes: usize,
    lines: usize,
}

impl Size {
    fn add_question(&mut self, question: &Question) {
        self.add_value(&question.input, 0);
        for text in question.preview.iter().chain(&question.warnings).chain([&question.reason]) {
            self.add_text(text);
        }
    }

    fn add_text(&mut self, text: &str) {
        self.bytes += text.len();
        self.lines += text.bytes().filter(|byte| *byte == b'\n').count();
    }

    /// A value as [`pretty`] writes it.
    fn add_value(&mut self, value: &Value, depth: usize) {
        self.bytes += 2 * depth + 8;
        self.lines += 1;
        match value {
            Value::String(text) => self.add_text(text),
            Value::Array(values) => {
                values.iter().for_each(|value| self.add_value(value, depth + 1));
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.add_text(name);
                    self.add_value(value, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The asker, with the depth of one that another agent started.
pub fn asker(question: &Question) -> String {
    match question.path.depth() {
        depth @ 2.. => format!("{} (depth {depth})", question.agent),
        _ => question.agent.clone(),
    }
}

/// Whether a title of this many cells can hold the whole sentence.
pub fn fits_title(question: &Question, room: u16) -> bool {
    width(&sentence(question)) + AROUND_TITLE <= usize::from(room)
}

/// Who wants what: `explore-2 wants to edit src/main.rs`.
pub fn sentence(question: &Question) -> String {
    let tool = one_line(&reveal(&question.tool));
    let with = |usual: &[&str]| match usual.contains(&question.tool.as_str()) {
        true => String::new(),
        false => format!(" with {tool}"),
    };
    let wants = match &question.access {
        Access::Command { .. } => format!("run a command{}", with(&["Bash"])),
        Access::Write { paths } => {
            let verb = if question.tool == "Write" { "write" } else { "edit" };
            format!("{verb} {}{}", files(question, paths), with(&["Edit", "Write"]))
        }
        Access::Read { paths } => match question.tool.as_str() {
            "Grep" | "Glob" => format!("search {}", files(question, paths)),
            _ => format!("read {}{}", files(question, paths), with(&["Read"])),
        },
        Access::Fetch { .. } => format!("fetch from the web{}", with(&["WebFetch"])),
        Access::Agent { name } => format!("start the agent {}", one_line(&reveal(name))),
        Access::Skill { name } => format!("use the skill {}", one_line(&reveal(name))),
        Access::Nothing | Access::Other => format!("use {tool}"),
    };
    format!("{} wants to {wants}", asker(question))
}

/// One file by its path, several by their number.
fn files(question: &Question, paths: &[Target]) -> String {
    match paths {
        [path] => one_line(&reveal(&place(path, &question.cwd))),
        _ => count(paths.len(), "file"),
    }
}

/// A file or folder as the call names it, and where that leads when a link is on the way.
fn place(target: &Target, cwd: &Path) -> String {
    let written = relative(&target.written, cwd);
    match target.detour() {
        Some(resolved) => format!("{written} (a link to {})", resolved.display()),
        None => written,
    }
}

/// A path as it is from where the call runs; one outside in full.
fn relative(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn lines(question: &Question, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if !fits_title(question, width.saturating_add(4)) {
        lines.extend(wrap_text(&sanitize(&sentence(question)), width, theme.text));
    }
    let inner = width.saturating_sub(2).max(1);
    let mut push = |text: &str, style| {
        lines.extend(plain(text, inner, style).into_iter().map(indented));
    };
    match &question.access {
        Access::Command { line, .. } => push(line, theme.accent),
        Access::Fetch { url } => push(url, theme.accent),
        Access::Read { paths } | Access::Write { paths } if paths.len() != 1 => {
            for path in paths {
                push(&place(path, &question.cwd), theme.accent);
            }
        }
        _ => {}
    }
    let diff = question.preview.as_deref().map(|preview| change(preview, width, theme));
    let diff = diff.unwrap_or_default();
    // A diff says all that is in the input of an edit.
    if diff.is_empty() || !matches!(question.access, Access::Write { .. }) {
        for field in fields(question) {
            push(&field, theme.text);
        }
    }
    lines.extend(diff);
    for warning in &question.warnings {
        lines.extend(plain(&format!("! {}", one_line(&reveal(warning))), width, theme.question));
    }
    let place = match &question.access {
        Access::Command { cwd, .. } => cwd,
        _ => &question.cwd,
    };
    let why = format!("in {} · {}", place.display(), one_line(&reveal(&question.reason)));
    lines.extend(plain(&why, width, theme.dim));
    lines
}

/// The content of a call that is too large to be shown.
fn refusal(question: &Question, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let cut = |text: &str| text.chars().take(MAX_BESIDE).collect::<String>();
    let mut lines = wrap_text(&sanitize(&cut(&sentence(question))), width, theme.text);
    let words = "This call is too large to show: it has more than 1 MB or 50,000 lines. So it cannot be allowed here. \
                 Say no, and ask for smaller steps.";
    lines.extend(wrap_text(words, width, theme.question));
    for warning in question.warnings.iter().take(3) {
        let warning = format!("! {}", one_line(&reveal(&cut(warning))));
        lines.extend(plain(&warning, width, theme.question));
    }
    let why = one_line(&reveal(&cut(&question.reason)));
    lines.extend(plain(&why, width, theme.dim));
    lines
}

/// A preview: a diff, or any other text.
fn change(preview: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let lines = whole_diff(preview, width, theme);
    if lines.is_empty() && !preview.trim().is_empty() {
        return plain(preview, width, theme.text);
    }
    lines
}

/// The fields of the input that are not on the screen as the subject already.
fn fields(question: &Question) -> Vec<String> {
    let Value::Object(fields) = &question.input else {
        return vec![pretty(&question.input)];
    };
    let is_subject = |value: &Value| match (value.as_str(), &question.access) {
        (None, _) => false,
        (Some(text), Access::Command { line, .. }) => text == line,
        (Some(text), Access::Fetch { url }) => text == url,
        (Some(text), Access::Agent { name } | Access::Skill { name }) => text == name,
        (Some(text), Access::Read { paths } | Access::Write { paths }) => {
            paths.iter().any(|path| question.cwd.join(text) == path.written)
        }
        _ => false,
    };
    let others = fields.iter().filter(|(_, value)| !is_subject(value));
    others.map(|(name, value)| format!("{name}: {}", pretty(value))).collect()
}

fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "(empty)".to_owned(),
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// Text in which nothing hides: control characters and tabs have a visible sign.
pub fn plain(text: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    wrap_text(&sanitize(&reveal(text).replace('\t', "␉")), width, style)
}
