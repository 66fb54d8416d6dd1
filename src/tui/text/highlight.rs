//! Syntax highlighting with syntect, mapped to a few roles that every theme has.
//!
//! Syntaxes are slow to load, so a separate thread loads them when the first fence needs them. Until
//! then code is plain.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ratatui::text::{Line, Span};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use super::styled::{RoleStyle, TextRole};
use crate::tui::theme::Theme;

/// Maximum bytes of a highlighted line.
const LINE_LIMIT: usize = 2000;
/// Maximum highlighted lines of a fence; the parser is too slow for whole files.
const FENCE_LIMIT: usize = 1000;

/// Highlights code. Cheap to clone; all clones share one set of syntaxes.
#[derive(Clone)]
pub struct Highlighter(Option<Arc<HighlighterShared>>);

struct HighlighterShared {
    syntaxes: OnceLock<Syntaxes>,
    requested: AtomicBool,
    /// Called once, from the loading thread, when the syntaxes are loaded.
    notify: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Highlighter").field("ready", &self.ready()).finish()
    }
}

impl Highlighter {
    /// Creates a highlighter that calls `notify` once plain code can be redrawn with colours.
    pub fn new(notify: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(HighlighterShared {
            syntaxes: OnceLock::new(),
            requested: AtomicBool::new(false),
            notify: Box::new(notify),
        })))
    }

    /// Creates a highlighter without colours.
    pub fn off() -> Self {
        Self(None)
    }

    /// Whether the syntaxes are loaded.
    pub fn ready(&self) -> bool {
        self.syntaxes().is_some()
    }

    /// Starts loading, the first time it is called.
    pub fn request(&self) {
        let Some(shared) = &self.0 else { return };
        if shared.requested.swap(true, Ordering::Relaxed) {
            return;
        }
        let shared = Arc::clone(shared);
        let load = move || {
            shared.syntaxes.get_or_init(Syntaxes::load);
            (shared.notify)();
        };
        if let Err(error) = std::thread::Builder::new().name("syntaxes".into()).spawn(load) {
            tracing::warn!(%error, "code stays without colours");
        }
    }

    /// Colours printable code; plain code if the language is unknown or its syntax not loaded yet.
    pub fn code_lines(&self, code: &str, language: &str, theme: &Theme) -> Vec<Line<'static>> {
        self.request();
        let mut state = self.start(language);
        let line = |text: &str| {
            let Some(state) = &mut state else { return Line::styled(text.to_owned(), theme.code) };
            let mut from = 0;
            let runs = state.line(text, self).into_iter();
            let spans = runs.map(|(end, role)| {
                let span = Span::styled(text[from..end].to_owned(), role.style(theme));
                from = end;
                span
            });
            spans.collect()
        };
        code.lines().map(line).collect()
    }

    fn syntaxes(&self) -> Option<&Syntaxes> {
        self.0.as_ref()?.syntaxes.get()
    }

    /// Starts a block of code; `None` if the language is unknown.
    pub(super) fn start(&self, language: &str) -> Option<CodeState> {
        let syntaxes = self.syntaxes()?;
        let syntax = syntaxes.set.find_syntax_by_token(language)?;
        Some(CodeState { parser: ParseState::new(syntax), scopes: ScopeStack::new(), lines: 0 })
    }
}

/// Parser state between the lines of a block of code.
#[derive(Clone, Debug)]
pub(super) struct CodeState {
    parser: ParseState,
    scopes: ScopeStack,
    lines: usize,
}

impl CodeState {
    /// Parses the next line of code into runs.
    pub(super) fn line(
        &mut self,
        text: &str,
        highlighter: &Highlighter,
    ) -> Vec<(usize, RoleStyle)> {
        let plain =
            || if text.is_empty() { Vec::new() } else { vec![(text.len(), TextRole::Code.into())] };
        self.lines += 1;
        let Some(syntaxes) = highlighter.syntaxes() else { return plain() };
        if text.len() > LINE_LIMIT || self.lines > FENCE_LIMIT {
            return plain();
        }
        let line = format!("{text}\n");
        let Ok(operations) = self.parser.parse_line(&line, &syntaxes.set) else { return plain() };
        let mut runs = Vec::new();
        let mut from = 0;
        for (at, operation) in operations {
            push_run(&mut runs, &mut from, at.min(text.len()), syntaxes.role(&self.scopes));
            if self.scopes.apply(&operation).is_err() {
                break;
            }
        }
        push_run(&mut runs, &mut from, text.len(), syntaxes.role(&self.scopes));
        runs
    }
}

fn push_run(runs: &mut Vec<(usize, RoleStyle)>, from: &mut usize, to: usize, role: TextRole) {
    if to <= *from {
        return;
    }
    *from = to;
    let face = RoleStyle::from(role);
    match runs.last_mut() {
        Some((end, last)) if *last == face => *end = to,
        _ => runs.push((to, face)),
    }
}

/// Scope prefixes and their roles; the first match wins.
const SCOPE_ROLES: [(&str, TextRole); 27] = [
    ("comment", TextRole::Comment),
    ("constant.character.escape", TextRole::Number),
    ("punctuation.definition.comment", TextRole::Comment),
    ("punctuation.definition.string", TextRole::String),
    ("string", TextRole::String),
    ("constant", TextRole::Number),
    ("entity.name.function", TextRole::Function),
    ("support.function", TextRole::Function),
    ("variable.function", TextRole::Function),
    ("entity.name.tag", TextRole::Keyword),
    ("entity.name.section.markdown", TextRole::Heading),
    ("entity.name.section", TextRole::Function),
    ("entity.name", TextRole::Type),
    ("entity.other.attribute-name", TextRole::Function),
    ("entity.other.inherited-class", TextRole::Type),
    ("support.type", TextRole::Type),
    ("support.class", TextRole::Type),
    ("keyword.operator", TextRole::Text),
    ("keyword", TextRole::Keyword),
    ("storage", TextRole::Keyword),
    ("markup.inserted", TextRole::String),
    ("markup.deleted", TextRole::Number),
    ("markup.heading", TextRole::Heading),
    ("markup.bold", TextRole::Keyword),
    ("markup.raw", TextRole::Code),
    ("markup.underline.link", TextRole::Link),
    ("source", TextRole::Text),
];

struct Syntaxes {
    set: SyntaxSet,
    roles: Vec<(Scope, TextRole)>,
}

impl Syntaxes {
    fn load() -> Self {
        let roles =
            SCOPE_ROLES.iter().filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role)));
        Self { set: two_face::syntax::extra_newlines(), roles: roles.collect() }
    }

    /// The role of the innermost scope that has one.
    fn role(&self, scopes: &ScopeStack) -> TextRole {
        let of = |scope: &Scope| {
            self.roles.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, role)| *role)
        };
        scopes.as_slice().iter().rev().find_map(of).unwrap_or(TextRole::Text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn loaded() -> Highlighter {
        let (sender, done) = mpsc::sync_channel(1);
        let highlighter = Highlighter::new(move || {
            let _ = sender.send(());
        });
        assert!(!highlighter.ready());
        highlighter.request();
        highlighter.request();
        done.recv().unwrap();
        highlighter
    }

    fn roles<'a>(text: &'a str, runs: &[(usize, RoleStyle)]) -> Vec<(&'a str, TextRole)> {
        let mut from = 0;
        let mut out = Vec::new();
        for (end, face) in runs {
            out.push((text[from..*end].trim(), face.role));
            from = *end;
        }
        assert_eq!(from, text.len());
        out.retain(|(text, role)| !text.is_empty() && *role != TextRole::Text);
        out
    }

    #[test]
    fn code_gets_its_roles_across_lines_once_the_syntaxes_are_loaded() {
        let highlighter = loaded();
        assert!(highlighter.ready());
        let mut state = highlighter.start("rust").unwrap();
        let first = r#"fn main() { let x: u8 = 42; /* one"#;
        let seen = roles(first, &state.line(first, &highlighter));
        for expected in
            [("fn", TextRole::Keyword), ("main", TextRole::Function), ("42", TextRole::Number)]
        {
            assert!(seen.contains(&expected), "{expected:?} in {seen:?}");
        }
        let second = r#"two */ call("text");"#;
        let seen = roles(second, &state.line(second, &highlighter));
        assert_eq!(seen[0], ("two */", TextRole::Comment));
        assert!(seen.contains(&("\"text\"", TextRole::String)), "{seen:?}");
        for language in ["rs", "python", "ts", "bash", "sh", "json", "toml", "go", "diff"] {
            assert!(highlighter.start(language).is_some(), "{language}");
        }
        assert!(highlighter.start("no such language").is_none());

        let long = "x ".repeat(LINE_LIMIT);
        assert_eq!(state.line(&long, &highlighter), [(long.len(), TextRole::Code.into())]);
    }

    #[test]
    fn a_highlighter_that_is_off_never_loads() {
        let off = Highlighter::off();
        off.request();
        assert!(!off.ready() && off.start("rust").is_none());
    }
}
