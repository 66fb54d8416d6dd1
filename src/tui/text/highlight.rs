//! Colours for code: syntect's syntaxes, mapped to a handful of roles that every theme has.
//!
//! The syntaxes take a while to load, so that happens on a thread of its own when the first fence
//! needs them; until then code is plain.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use super::markdown::row::{Face, Role};

/// Bytes of a line beyond which it is not worth its colours.
const LINE_LIMIT: usize = 2000;
/// Lines of one fence that get colours; the parser is too slow for whole files.
const FENCE_LIMIT: usize = 1000;

/// Finds the colours of code. Cheap to clone; all clones share one set of syntaxes.
#[derive(Clone)]
pub struct Highlighter(Option<Arc<Shared>>);

struct Shared {
    syntaxes: OnceLock<Syntaxes>,
    requested: AtomicBool,
    /// Told once, from the loading thread, when the syntaxes are there.
    notify: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Highlighter").field("ready", &self.ready()).finish()
    }
}

impl Highlighter {
    /// A highlighter that calls `notify` when code that was drawn plain can be drawn again.
    #[must_use]
    pub fn new(notify: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Shared {
            syntaxes: OnceLock::new(),
            requested: AtomicBool::new(false),
            notify: Box::new(notify),
        })))
    }

    /// One that never has any colours.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// The syntaxes are loaded.
    #[must_use]
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

    fn syntaxes(&self) -> Option<&Syntaxes> {
        self.0.as_ref()?.syntaxes.get()
    }

    /// The start of a block of code; `None` for a language that is not known.
    pub(super) fn start(&self, language: &str) -> Option<CodeState> {
        let syntaxes = self.syntaxes()?;
        let syntax = syntaxes.set.find_syntax_by_token(language)?;
        Some(CodeState { parser: ParseState::new(syntax), scopes: ScopeStack::new(), lines: 0 })
    }
}

/// What the lines before have to say about the next one.
#[derive(Clone, Debug)]
pub(super) struct CodeState {
    parser: ParseState,
    scopes: ScopeStack,
    lines: usize,
}

impl CodeState {
    /// The runs of the next line of code.
    pub(super) fn line(&mut self, text: &str, highlighter: &Highlighter) -> Vec<(usize, Face)> {
        let plain =
            || if text.is_empty() { Vec::new() } else { vec![(text.len(), Role::Code.into())] };
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

fn push_run(runs: &mut Vec<(usize, Face)>, from: &mut usize, to: usize, role: Role) {
    if to <= *from {
        return;
    }
    *from = to;
    let face = Face::from(role);
    match runs.last_mut() {
        Some((end, last)) if *last == face => *end = to,
        _ => runs.push((to, face)),
    }
}

/// Scope prefixes and what they are to us; the first that fits counts.
const ROLES: [(&str, Role); 22] = [
    ("comment", Role::Comment),
    ("constant.character.escape", Role::Number),
    ("punctuation.definition.comment", Role::Comment),
    ("punctuation.definition.string", Role::String),
    ("string", Role::String),
    ("constant", Role::Number),
    ("entity.name.function", Role::Function),
    ("support.function", Role::Function),
    ("variable.function", Role::Function),
    ("entity.name.tag", Role::Keyword),
    ("entity.name.section", Role::Function),
    ("entity.name", Role::Type),
    ("entity.other.attribute-name", Role::Function),
    ("entity.other.inherited-class", Role::Type),
    ("support.type", Role::Type),
    ("support.class", Role::Type),
    ("keyword.operator", Role::Text),
    ("keyword", Role::Keyword),
    ("storage", Role::Keyword),
    ("markup.inserted", Role::String),
    ("markup.deleted", Role::Number),
    ("source", Role::Text),
];

struct Syntaxes {
    set: SyntaxSet,
    roles: Vec<(Scope, Role)>,
}

impl Syntaxes {
    fn load() -> Self {
        let roles = ROLES.iter().filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role)));
        Self { set: two_face::syntax::extra_newlines(), roles: roles.collect() }
    }

    /// The role of the innermost scope that has one.
    fn role(&self, scopes: &ScopeStack) -> Role {
        let of = |scope: &Scope| {
            self.roles.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, role)| *role)
        };
        scopes.as_slice().iter().rev().find_map(of).unwrap_or(Role::Text)
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

    fn roles<'a>(text: &'a str, runs: &[(usize, Face)]) -> Vec<(&'a str, Role)> {
        let mut from = 0;
        let mut out = Vec::new();
        for (end, face) in runs {
            out.push((text[from..*end].trim(), face.role));
            from = *end;
        }
        assert_eq!(from, text.len());
        out.retain(|(text, role)| !text.is_empty() && *role != Role::Text);
        out
    }

    #[test]
    fn code_gets_its_roles_across_lines_once_the_syntaxes_are_loaded() {
        let highlighter = loaded();
        assert!(highlighter.ready());
        let mut state = highlighter.start("rust").unwrap();
        let first = r#"fn main() { let x: u8 = 42; /* one"#;
        let seen = roles(first, &state.line(first, &highlighter));
        for expected in [("fn", Role::Keyword), ("main", Role::Function), ("42", Role::Number)] {
            assert!(seen.contains(&expected), "{expected:?} in {seen:?}");
        }
        let second = r#"two */ call("text");"#;
        let seen = roles(second, &state.line(second, &highlighter));
        assert_eq!(seen[0], ("two */", Role::Comment));
        assert!(seen.contains(&("\"text\"", Role::String)), "{seen:?}");
        for language in ["rs", "python", "ts", "bash", "sh", "json", "toml", "go", "diff"] {
            assert!(highlighter.start(language).is_some(), "{language}");
        }
        assert!(highlighter.start("no such language").is_none());

        let long = "x ".repeat(LINE_LIMIT);
        assert_eq!(state.line(&long, &highlighter), [(long.len(), Role::Code.into())]);
    }

    #[test]
    fn a_highlighter_that_is_off_never_loads() {
        let off = Highlighter::off();
        off.request();
        assert!(!off.ready() && off.start("rust").is_none());
    }
}
