//! The content of a question: the whole call, its directory, the reason for asking, and warnings.
//!
//! Nothing of a call is left out or cut, and characters that a terminal would not show get a
//! visible sign. A call too large to show like that cannot be allowed.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use serde_json::Value;

use crate::protocol::{
    Access, MAX_SHOWN_BYTES, PathTarget, Question, QuestionId, ToolUseId, UserQuestion, quoted,
    quoted_name,
};
use crate::tui::format::{count, tool_label};
use crate::tui::model::TuiModel;
use crate::tui::question::is_plan;
use crate::tui::text::{
    DiffFile, Highlighter, count_changes, reveal, reveal_line, sanitize, unjoined, whole_diff,
    width, wrap_text, wrap_written,
};
use crate::tui::theme::Theme;
use crate::tui::transcript::draw::indented;

/// Cells of a title around the sentence: the border, the sign, and the place in the queue, `1 of 2`.
const TITLE_MARGIN: usize = 16;
/// Maximum number of lines of a call that a question shows.
const MAX_LINES: usize = 50_000;
/// Maximum characters of a path, warning or reason beside a call too large to show.
const MAX_SIDE_TEXT: usize = 500;

/// The open question's content, cached by width.
pub struct QuestionContent {
    highlighter: Highlighter,
    key: Option<(QuestionId, ToolUseId, u64, u64)>,
    too_large: bool,
    /// By width, and whether it is in full.
    by_width: Vec<((u16, bool), WrappedContent)>,
}

/// The content at one width.
#[derive(Default)]
pub struct WrappedContent {
    pub lines: Vec<Line<'static>>,
    /// How many of the lines are the call; the others are warnings and the reason.
    pub call: usize,
    /// Lines that the call adds and removes.
    pub changes: (usize, usize),
}

/// Facts about a question that the screen adds to it.
#[derive(Clone, Copy)]
pub struct QuestionContext<'a> {
    /// The working directory of the session.
    folder: &'a Path,
    /// The asking agent's task in a few words.
    task: Option<&'a str>,
    /// Whether the question is said, in lines for screen readers.
    spoken: bool,
    /// Whether it fills the screen, with paths in full.
    full: bool,
}

impl<'a> QuestionContext<'a> {
    pub fn new(model: &'a TuiModel, question: &Question) -> Self {
        let agent = model.agents.get(&question.path);
        let task = agent.map(|agent| agent.info.description.as_str());
        Self {
            folder: &model.session.folder,
            task: task.filter(|task| !task.is_empty()),
            spoken: model.settings.screen_reader,
            full: false,
        }
    }

    /// The same on the whole screen.
    pub fn in_full(self) -> Self {
        Self { full: true, ..self }
    }
}

impl QuestionContent {
    pub fn new(highlighter: Highlighter) -> Self {
        Self { highlighter, key: None, too_large: false, by_width: Vec::new() }
    }

    /// Drops the wrapped content, so that a plain command is highlighted.
    pub fn invalidate(&mut self) {
        self.by_width.clear();
    }

    /// The content wrapped to a width.
    pub fn wrapped(
        &mut self,
        question: &Question,
        context: QuestionContext<'_>,
        width: u16,
        theme: &Theme,
    ) -> &WrappedContent {
        self.set_question(question, theme);
        let form = (width, context.full);
        let at = match self.by_width.iter().position(|(known, _)| *known == form) {
            Some(at) => at,
            None => {
                // One screen size has at most three widths: transcript, body and reader.
                if self.by_width.len() > 2 {
                    self.by_width.clear();
                }
                let wrapped = match self.too_large {
                    true => too_large_content(question, width, theme),
                    false => wrap_content(question, context, width, &self.highlighter, theme),
                };
                self.by_width.push((form, wrapped));
                self.by_width.len() - 1
            }
        };
        &self.by_width[at].1
    }

    /// Whether the call is too large to show, and so cannot be allowed.
    pub fn is_too_large(&mut self, question: &Question, theme: &Theme) -> bool {
        self.set_question(question, theme);
        self.too_large
    }

    fn set_question(&mut self, question: &Question, theme: &Theme) {
        // The user can edit a plan.
        let mut plan = DefaultHasher::new();
        question.input.get("plan").filter(|_| is_plan(question)).hash(&mut plan);
        let key = (question.id, question.tool_use_id.clone(), theme.id(), plan.finish());
        if self.key.as_ref() != Some(&key) {
            let mut size = ContentSize::default();
            size.add_question(question);
            (self.key, self.by_width) = (Some(key), Vec::new());
            self.too_large = size.bytes > MAX_SHOWN_BYTES || size.lines > MAX_LINES;
        }
    }
}

/// The size of a call when shown.
#[derive(Default)]
struct ContentSize {
    bytes: usize,
    lines: usize,
}

impl ContentSize {
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

    /// Adds a value as [`pretty_value`] prints it.
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

/// The asking agent, with its depth if another sub-agent started it.
pub fn asker(question: &Question) -> String {
    let agent = reveal_line(&question.agent);
    match question.path.depth() {
        depth @ 2.. => format!("{agent} (depth {depth})"),
        _ => agent,
    }
}

/// Whether a title of this many cells can hold the whole sentence. A title that is said is without the
/// signs of frames, so a path, which may have such signs, is in the content instead.
pub fn fits_title(question: &Question, room: u16, spoken: bool, theme: &Theme) -> bool {
    if spoken && !request(question).1.is_empty() {
        return false;
    }
    width(&theme.glyphs.number_in_line(&sentence(question))) + TITLE_MARGIN <= usize::from(room)
}

/// The request as a sentence: `agent 2 wants to edit src/main.rs`.
fn sentence(question: &Question) -> String {
    let (verb, object) = request(question);
    format!("{} {verb}{object}", asker(question))
}

/// The request without the name of what it is about, which the content has.
pub fn spoken_request(question: &Question) -> &'static str {
    match &question.access {
        Access::Write { .. } if question.tool == "Write" => "wants to write a file",
        Access::Write { .. } => "wants to edit a file",
        Access::Read { .. } => "wants to read a file",
        Access::Command { .. } => "wants to run a command",
        Access::Fetch { .. } => "wants to fetch from the web",
        Access::Agent { .. } => "wants to start an agent",
        Access::Skill { .. } => "wants to use a skill",
        _ => "needs you",
    }
}

/// The verb of the request, and what it is about: `wants to edit ` and the path.
pub fn request(question: &Question) -> (String, String) {
    if let Some(asked) = UserQuestion::from_input(&question.input)
        && let Access::AskUser { .. } = question.access
    {
        let several = count(asked.len(), "question");
        return (
            if asked.len() == 1 { "has a question".to_owned() } else { format!("has {several}") },
            String::new(),
        );
    }
    if is_plan(question) {
        return ("has a plan".to_owned(), String::new());
    }
    let (verb, object) = wanted_action(question);
    (format!("wants to {verb}"), object)
}

/// The verb and the object of a call that needs permission.
fn wanted_action(question: &Question) -> (String, String) {
    let tool = reveal_line(&quoted_name(&question.tool));
    let with = |usual: &[&str]| match usual.contains(&question.tool.as_str()) {
        true => String::new(),
        false => format!(" with {tool}"),
    };
    match &question.access {
        Access::Command { .. } => ("run a command".to_owned(), with(&["Bash"])),
        Access::Write { paths } => {
            let verb = if question.tool == "Write" { "write " } else { "edit " };
            let with = with(&["Edit", "Write"]);
            (verb.to_owned(), format!("{}{with}", files_label(question, paths)))
        }
        Access::Read { paths } => match question.tool.as_str() {
            "Grep" | "Glob" => ("search ".to_owned(), files_label(question, paths)),
            _ => {
                let with = with(&["Read"]);
                ("read ".to_owned(), format!("{}{with}", files_label(question, paths)))
            }
        },
        Access::Fetch { .. } => ("fetch from the web".to_owned(), with(&["WebFetch"])),
        Access::Agent { name } => ("start the agent ".to_owned(), reveal_line(&quoted_name(name))),
        Access::Skill { name } => ("use the skill ".to_owned(), reveal_line(&quoted_name(name))),
        Access::Nothing | Access::AskUser { .. } | Access::ExitPlan { .. } | Access::Other => {
            // By the name that its calls have in the transcript.
            let label = match tool_label(&question.tool) {
                Cow::Owned(label) => reveal_line(&label),
                Cow::Borrowed(_) => tool,
            };
            ("use ".to_owned(), label)
        }
    }
}

/// Names one file by its path, several by their number.
fn files_label(question: &Question, paths: &[PathTarget]) -> String {
    match paths {
        [path] => reveal_line(&target_label(path, &question.cwd)),
        _ => count(paths.len(), "file"),
    }
}

/// A path as the call names it, with its target if it goes through a link.
fn target_label(target: &PathTarget, cwd: &Path) -> String {
    let written = relative_path(&target.written, cwd);
    let written = quoted_name(&written);
    match target.link_target() {
        Some(resolved) => {
            format!("{written} (a link to {})", quoted_name(&resolved.display().to_string()))
        }
        None => written.into_owned(),
    }
}

/// A path relative to the call's directory; absolute if outside of it.
fn relative_path(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn wrap_content(
    question: &Question,
    context: QuestionContext<'_>,
    width: u16,
    highlighter: &Highlighter,
    theme: &Theme,
) -> WrappedContent {
    let mut lines = Vec::new();
    if !fits_title(question, width.saturating_add(4), context.spoken, theme) {
        // What is said in place of the title lacks only the object.
        let object = Some(request(question).1).filter(|object| !object.is_empty());
        let object = object.filter(|_| context.spoken && spoken_request(question) != "needs you");
        let words = object.unwrap_or_else(|| sentence(question));
        lines.extend(side_lines(&words, width, theme.text, theme));
    }
    let titled = lines.len();
    if let Some(asked) = UserQuestion::from_input(&question.input)
        && let Access::AskUser { .. } = question.access
    {
        lines.extend(all_questions(&asked, width, theme));
        return WrappedContent { call: lines.len(), lines, changes: (0, 0) };
    }
    if is_plan(question) {
        let plan = question.input["plan"].as_str().unwrap_or_default();
        let plan = plan_lines(&printable(plan, theme), highlighter, theme);
        lines.extend(plan.iter().flat_map(|line| call_rows(line, width, theme)));
        let call = lines.len();
        lines.extend(reason_lines(question, context, width, theme));
        return WrappedContent { lines, call, changes: (0, 0) };
    }
    if let Access::Command { line, .. } = &question.access {
        let code = highlighter.code_lines(&printable(line, theme), "bash", theme);
        lines.extend(code.iter().flat_map(|line| call_rows(line, width, theme)));
    }
    let rows = |text: &str, style| -> Vec<Line<'static>> {
        let row = |line| call_rows(&Line::styled(line, style), width, theme);
        printable(text, theme).lines().flat_map(row).collect()
    };
    match &question.access {
        Access::Fetch { url } => {
            lines.extend(rows(&reveal_line(&theme.glyphs.number(url)), theme.link));
        }
        Access::Read { paths } | Access::Write { paths } if paths.len() != 1 => {
            for path in paths {
                let label = target_label(path, &question.cwd);
                lines.extend(rows(&reveal_line(&theme.glyphs.number(&label)), theme.code));
            }
        }
        _ => {}
    }
    let file = match &question.access {
        Access::Write { paths } => paths.first(),
        _ => None,
    };
    let file = file.map(|file| DiffFile { path: &file.written, highlighter });
    let diff = question.preview.as_deref();
    let diff = diff.map(|diff| preview_lines(diff, file, width, theme)).unwrap_or_default();
    // A diff shows everything in an edit's input; other text says why there is none.
    let changes = question.preview.as_deref().map_or((0, 0), count_changes);
    let is_diff = changes != (0, 0);
    let (reason, diff) = if is_diff { (Vec::new(), diff) } else { (diff, Vec::new()) };
    lines.extend(reason);
    if !is_diff || !matches!(question.access, Access::Write { .. }) {
        for (name, value) in other_fields(question) {
            match value {
                Value::String(text) if is_file_text(question, &name) && !text.is_empty() => {
                    lines.extend(new_text(text, file, width, theme));
                }
                // It has line ends of its own.
                Value::String(text) if !text.is_empty() => {
                    lines.extend(field_rows(&format!("{name}{text}"), width, theme));
                }
                value => lines.extend(rows(&format!("{name}{}", pretty_value(value)), theme.text)),
            }
        }
    }
    lines.extend(diff);
    if lines.len() == titled {
        lines.extend(side_lines("without arguments", width, theme.dim, theme));
    }
    let call = lines.len();
    for warning in &question.warnings {
        let warning = format!("! {warning}");
        lines.extend(side_lines(&warning, width, theme.question, theme));
    }
    lines.extend(reason_lines(question, context, width, theme));
    WrappedContent { lines, call, changes }
}

/// Whether this field is the text of a file to write.
fn is_file_text(question: &Question, name: &str) -> bool {
    let is_write = question.tool == "Write" && matches!(question.access, Access::Write { .. });
    is_write && name == "content: "
}

/// The text of a file whose write would fail, in numbered lines as that of any other.
fn new_text(
    text: &str,
    file: Option<DiffFile<'_>>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let added: String = text.split_inclusive('\n').map(|line| format!("+{line}")).collect();
    let diff = format!("@@ -0,0 +1,{} @@\n{added}\n", text.lines().count());
    whole_diff(&diff, file, width, theme)
}

/// The lines of a plan as they are written: rendered Markdown would leave out what the user approves, such
/// as the title of a link.
fn plan_lines(plan: &str, highlighter: &Highlighter, theme: &Theme) -> Vec<Line<'static>> {
    if highlighter.ready() {
        return highlighter.code_lines(plan, "markdown", theme);
    }
    // Prose is not code.
    highlighter.request();
    plan.lines().map(|line| Line::styled(line.to_owned(), theme.text)).collect()
}

/// An agent's own questions with all options and previews.
fn all_questions(asked: &[UserQuestion], width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let bold = theme.text.add_modifier(Modifier::BOLD);
    for (number, asked) in asked.iter().enumerate() {
        if number > 0 {
            lines.push(Line::default());
        }
        lines.extend(plain_lines(&asked.question, width, bold, theme));
        for option in &asked.options {
            let label = format!("{} {}", theme.glyphs.bullet, option.label);
            lines.extend(plain_lines(&label, width, theme.text, theme));
            let inner = width.saturating_sub(4).max(1);
            let preview = option.preview.as_deref().unwrap_or_default();
            for text in [option.description.trim_end(), preview.trim_end()] {
                let below = plain_lines(text, inner, theme.dim, theme);
                lines.extend(below.into_iter().map(indented).map(indented));
            }
        }
    }
    lines
}

/// `in /p/shop · no rule allows psql · task: "find the slow query"`, in as many lines as these parts need.
/// The directory is left out for files if it is the session's.
fn reason_lines(
    question: &Question,
    context: QuestionContext<'_>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let cwd = match &question.access {
        Access::Command { cwd, .. } => Some(cwd),
        _ => Some(&question.cwd).filter(|cwd| cwd.as_path() != context.folder),
    };
    let cwd = cwd.map(|cwd| place_label(question, cwd, context.full));
    // The call may say what it is for in the same words.
    let said = question.input.get("description").and_then(Value::as_str);
    let task = context.task.filter(|task| said != Some(*task));
    let task = task.map(|task| format!("task: {}", quoted(&unjoined(task))));
    let parts = [cwd, Some(question.reason.clone()), task];
    let lines = joined_parts(parts.into_iter().flatten(), usize::from(width));
    lines.iter().flat_map(|line| side_lines(line, width, theme.dim, theme)).collect()
}

/// `in its worktree`, or `in src of its worktree`, where the gate has found that the folder lies there; in
/// full, also its path.
fn place_label(question: &Question, cwd: &Path, full: bool) -> String {
    let path = quoted_name(&cwd.display().to_string()).into_owned();
    let below = question.worktree.as_deref().and_then(|root| cwd.strip_prefix(root).ok());
    let label = match below {
        None => return format!("in {path}"),
        Some(below) if below.as_os_str().is_empty() => "in its worktree".to_owned(),
        Some(below) => format!("in {} of its worktree", quoted_name(&below.display().to_string())),
    };
    if full { format!("{label}, {path}") } else { label }
}

/// Joins parts to lines that fit, with a dot between two on one line, so that no line breaks beside one. A
/// part that is too long has a line of its own.
fn joined_parts(parts: impl Iterator<Item = String>, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let cells = width(&reveal_line(&part)) + width(" · ");
        match lines.last_mut() {
            Some(line) if width(&reveal_line(line)) + cells <= room => {
                line.push_str(" · ");
                line.push_str(&part);
            }
            _ => lines.push(part),
        }
    }
    lines
}

/// The content for a call too large to show.
fn too_large_content(question: &Question, width: u16, theme: &Theme) -> WrappedContent {
    let cut = |text: &str| text.chars().take(MAX_SIDE_TEXT).collect::<String>();
    let mut lines = side_lines(&cut(&sentence(question)), width, theme.text, theme);
    let words = "This call is too large to show, with more than 1 MB or 50,000 lines, so it cannot be allowed here. \
                 Say no, and ask for smaller steps.";
    lines.extend(wrap_text(words, width, theme.question));
    let call = lines.len();
    for warning in question.warnings.iter().take(3) {
        let warning = format!("! {}", cut(warning));
        lines.extend(side_lines(&warning, width, theme.question, theme));
    }
    lines.extend(side_lines(&cut(&question.reason), width, theme.dim, theme));
    WrappedContent { lines, call, changes: (0, 0) }
}

/// The lines of a preview: a diff, or plain text.
fn preview_lines(
    preview: &str,
    file: Option<DiffFile<'_>>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let lines = whole_diff(preview, file, width, theme);
    if lines.is_empty() && !preview.trim().is_empty() {
        let rows = |line| call_rows(&Line::styled(line, theme.text), width, theme);
        return printable(preview, theme).lines().flat_map(rows).collect();
    }
    lines
}

/// The input's fields that are not already shown as the subject, each with its name and a colon.
fn other_fields(question: &Question) -> Vec<(String, &Value)> {
    let Value::Object(fields) = &question.input else {
        return vec![(String::new(), &question.input)];
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
    others.map(|(name, value)| (format!("{}: ", reveal_line(name)), value)).collect()
}

/// The rows of a field that is text. Each line end is a sign, and what follows it a row that continues the
/// field, so that no line of the text looks like another field or a line of caliban's own.
fn field_rows(field: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let (text, rest) = (printable(field, theme).replace('\n', "␊\n"), continued(theme));
    let rows = |(at, line): (usize, &str)| {
        let first = if at == 0 { Line::raw("  ") } else { rest.clone() };
        let line = Line::styled(line.to_owned(), theme.text);
        wrap_written(&line, width, &first, &rest, theme.dim)
    };
    text.lines().enumerate().flat_map(rows).collect()
}

fn pretty_value(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "(empty)".to_owned(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// Wraps one line of a call behind a margin, where a sign stands beside each further row. No text
/// of a call is in the margin, so no line of it can look like such a row, or a row like a line.
fn call_rows(line: &Line<'_>, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    wrap_written(line, width, &Line::raw("  "), &continued(theme), theme.dim)
}

/// Wraps a line beside a call: who wants it, a warning, or the reason. The sign beside each further row
/// tells it from a line, wherever a path in it wraps.
fn side_lines(text: &str, width: u16, style: Style, theme: &Theme) -> Vec<Line<'static>> {
    let line = Line::styled(reveal_line(&theme.glyphs.number_in_line(text)), style);
    wrap_written(&line, width, &Line::default(), &continued(theme), theme.dim)
}

/// Stands before a row that continues a line.
fn continued(theme: &Theme) -> Line<'static> {
    Span::styled(format!("{} ", theme.glyphs.continued), theme.dim).into()
}

/// Returns the column of the sign beside a row that continues a line.
pub fn sign_column(row: &Line<'_>, theme: &Theme) -> Option<u16> {
    let margin = &row.spans.first()?.content;
    let column = margin.find(theme.glyphs.continued)?;
    (margin.trim() == theme.glyphs.continued).then(|| u16::try_from(column).ok())?
}

/// Wraps text of which nothing can hide.
pub fn plain_lines(text: &str, width: u16, style: Style, theme: &Theme) -> Vec<Line<'static>> {
    let none = Line::default();
    let wrap = |line| wrap_written(&Line::styled(line, style), width, &none, &none, style);
    printable(text, theme).lines().flat_map(wrap).collect()
}

/// Text with visible signs for control characters and tabs, so that nothing in it can hide.
fn printable(text: &str, theme: &Theme) -> String {
    sanitize(&reveal(&theme.glyphs.number(text)).replace('\t', "␉")).into_owned()
}
