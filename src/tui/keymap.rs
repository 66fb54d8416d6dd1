//! Maps keys to named actions. The built-in map is `config/keymap.toml`; the user's keymap overrides
//! it. Ctrl+C and Esc are fixed and not part of it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

mod chord;

use chord::Chord;

const BUILT_IN_KEYMAP: &str = include_str!("../../config/keymap.toml");

/// The action name that disables a key.
const NO_ACTION: &str = "none";

/// An error in a keymap, with its line, counted from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {problem}")]
pub struct KeymapError {
    pub line: usize,
    pub problem: KeymapProblem,
}

/// The kind of error in a keymap.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeymapProblem {
    #[error("not valid TOML: {0}")]
    Toml(String),
    #[error(
        "unknown section [{0}]: use [prompt], [list] or [reader], with lines such as undo = [\"ctrl+z\"]"
    )]
    Section(String),
    #[error("unknown action {name:?} in [{section}]: use one of {known}")]
    Action { name: String, section: &'static str, known: String },
    #[error("{0} needs a list of keys, such as [\"ctrl+j\", \"f2\"]")]
    Keys(String),
    #[error("unknown key {0:?}: write it like \"ctrl+j\", \"alt+left\", \"f2\" or \"pageup\"")]
    Key(String),
    #[error("{0:?} cannot be changed: Ctrl+C and Esc are fixed. Remove it")]
    Fixed(String),
    #[error("{0:?} types text here: add ctrl+ or alt+, or use a key that types nothing")]
    Letter(String),
    #[error("{key:?} is bound to {first} and to {second} in [{section}]: keep one")]
    Duplicate { key: String, first: String, second: String, section: &'static str },
}

/// The context in which a key is pressed, and the name of its section in a keymap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum KeyContext {
    Prompt,
    List,
    Reader,
}

/// An action of a key. Keymaps write its name in kebab case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Action {
    Submit,
    Newline,
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Home,
    End,
    Backspace,
    Delete,
    BackgroundOrLeft,
    DeleteOrQuit,
    KillWordLeft,
    KillWordRight,
    SelectLeft,
    SelectRight,
    SelectUp,
    SelectDown,
    SelectWordLeft,
    SelectWordRight,
    SelectLineStart,
    SelectLineEnd,
    KillLineLeft,
    KillLineRight,
    Yank,
    Undo,
    SearchHistory,
    Next,
    Previous,
    PageUp,
    PageDown,
    Reader,
    PasteImage,
    Edit,
    Redraw,
    Suspend,
    Search,
    FindNext,
    FindPrevious,
    MarkPrevious,
    MarkNext,
    Copy,
    Expand,
    All,
    Close,
    #[strum(to_string = "agent-{0}")]
    Agent(u8),
}

/// A key and its action.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Binding {
    context: KeyContext,
    chord: Chord,
    /// `None`: the key does nothing.
    action: Option<Action>,
}

/// The key bindings. If an action has several keys, hints name the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Keymap {
    /// The built-in keymap.
    ///
    /// # Errors
    /// Never, as long as the built-in keymap is valid.
    pub fn built_in() -> Result<Self, KeymapError> {
        Self::default().merge(BUILT_IN_KEYMAP)
    }

    /// Adds the bindings of a TOML text before the present ones. A rebound key loses its old action.
    ///
    /// # Errors
    /// On the first error in the text; none of it is used then.
    pub fn merge(mut self, text: &str) -> Result<Self, KeymapError> {
        let mut new = self.parse_bindings(text)?;
        self.bindings.retain(|old| !new.iter().any(|new| new.matches(old.context, old.chord)));
        new.append(&mut self.bindings);
        Ok(Self { bindings: new })
    }

    /// The action of a key, if any.
    pub fn action(&self, context: KeyContext, key: KeyEvent) -> Option<Action> {
        let chord = Chord::from_key(key);
        self.bindings.iter().find(|binding| binding.matches(context, chord))?.action
    }

    /// The key for an action as shown in hints, such as `Ctrl+O`, if it has one.
    pub fn label(&self, context: KeyContext, action: Action) -> Option<String> {
        let mut bindings = self.bindings.iter().filter(|binding| binding.context == context);
        bindings.find(|binding| binding.action == Some(action)).map(|found| found.chord.to_string())
    }

    /// A hint such as `Ctrl+O read`, or `None` if no key has the action.
    pub fn hint(&self, context: KeyContext, action: Action, words: &str) -> Option<String> {
        self.label(context, action).map(|key| format!("{key} {words}"))
    }

    /// The keys for several actions, such as `↑↓` or `j k`.
    pub fn labels(&self, context: KeyContext, actions: &[Action]) -> Option<String> {
        let labels: Vec<String> =
            actions.iter().filter_map(|action| self.label(context, *action)).collect();
        match labels.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => None,
            ["Up", "Down"] => Some("↑↓".to_owned()),
            ["Up"] => Some("↑".to_owned()),
            ["Left", "Right"] => Some("←→".to_owned()),
            _ => Some(labels.join(" ")),
        }
    }

    fn parse_bindings(&self, text: &str) -> Result<Vec<Binding>, KeymapError> {
        let at = |offset: usize, problem| KeymapError { line: line_of(text, offset), problem };
        let table = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            at(offset, KeymapProblem::Toml(error.message().to_owned()))
        })?;
        let mut new: Vec<Binding> = Vec::new();
        for (section, actions) in table.get_ref() {
            let name = section.get_ref();
            let (Ok(context), DeValue::Table(actions)) = (name.parse(), actions.get_ref()) else {
                return Err(at(section.span().start, KeymapProblem::Section(name.to_string())));
            };
            for (name, keys) in actions {
                let offset = name.span().start;
                let action =
                    self.action_named(context, name.get_ref()).map_err(|why| at(offset, why))?;
                let keys = key_list(name.get_ref(), keys).map_err(|why| at(offset, why))?;
                for key in keys {
                    let binding = new_binding(context, action, key.get_ref(), &new);
                    new.push(binding.map_err(|why| at(key.span().start, why))?);
                }
            }
        }
        Ok(new)
    }

    /// The action with this name. The built-in map defines which actions a section has.
    fn action_named(
        &self,
        context: KeyContext,
        name: &str,
    ) -> Result<Option<Action>, KeymapProblem> {
        if name == NO_ACTION {
            return Ok(None);
        }
        let known: Vec<Action> = self
            .bindings
            .iter()
            .filter(|binding| binding.context == context)
            .filter_map(|binding| binding.action)
            .collect();
        let action = match name.strip_prefix("agent-") {
            Some(number) => number.parse().ok().map(Action::Agent),
            None => name.parse().ok(),
        };
        match action {
            Some(action) if known.is_empty() || known.contains(&action) => Ok(Some(action)),
            _ => {
                let mut names: Vec<String> = known.iter().map(Action::to_string).collect();
                names.dedup();
                names.push(NO_ACTION.to_owned());
                let (name, section) = (name.to_owned(), context.into());
                Err(KeymapProblem::Action { name, section, known: names.join(", ") })
            }
        }
    }
}

impl Binding {
    fn matches(&self, context: KeyContext, chord: Chord) -> bool {
        self.context == context && self.chord == chord
    }
}

/// The line number of a byte position, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// The list of keys of an action.
fn key_list<'a>(
    name: &str,
    keys: &'a Spanned<DeValue<'_>>,
) -> Result<Vec<Spanned<&'a str>>, KeymapProblem> {
    let none = || KeymapProblem::Keys(name.to_owned());
    let DeValue::Array(keys) = keys.get_ref() else { return Err(none()) };
    let keys = keys.iter().map(|key| match key.get_ref() {
        DeValue::String(text) => Ok(Spanned::new(key.span(), text.as_ref())),
        _ => Err(none()),
    });
    keys.collect()
}

fn new_binding(
    context: KeyContext,
    action: Option<Action>,
    key: &str,
    before: &[Binding],
) -> Result<Binding, KeymapProblem> {
    let chord = Chord::parse(key).ok_or_else(|| KeymapProblem::Key(key.to_owned()))?;
    if chord.is_fixed() {
        return Err(KeymapProblem::Fixed(key.to_owned()));
    }
    if context != KeyContext::Reader && chord.is_text() {
        return Err(KeymapProblem::Letter(key.to_owned()));
    }
    let name = |action: Option<Action>| {
        action.map_or_else(|| NO_ACTION.to_owned(), |action| action.to_string())
    };
    match before.iter().find(|other| other.matches(context, chord)) {
        Some(other) => Err(KeymapProblem::Duplicate {
            key: key.to_owned(),
            first: name(other.action),
            second: name(action),
            section: context.into(),
        }),
        None => Ok(Binding { context, chord, action }),
    }
}

/// The character of a key without Ctrl or Alt.
pub fn plain_char(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(letter)
            if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
        {
            Some(letter)
        }
        _ => None,
    }
}

/// A hint without a key, or with one that cannot be rebound.
pub fn fixed_hint(words: &str) -> Option<String> {
    Some(words.to_owned())
}

#[cfg(test)]
mod tests;
