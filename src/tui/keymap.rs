//! From keys to named actions. The built-in map is `config/keymap.toml`, and the person's own lies
//! on top of it; Ctrl+C and Esc are fixed and not part of it.

use crossterm::event::KeyEvent;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

mod chord;

use chord::Chord;

const BUILT_IN: &str = include_str!("../../config/keymap.toml");

/// The action of a key that is to do nothing.
const NONE: &str = "none";

/// Why a keymap cannot be used: where, from line 1, and what is wrong there.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {problem}")]
pub struct KeymapError {
    pub line: usize,
    pub problem: KeymapProblem,
}

/// What is wrong in a keymap.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeymapProblem {
    #[error("this is not valid TOML: {0}")]
    Toml(String),
    #[error(
        "there is no section [{0}]: use [prompt], [list] or [reader], with lines such as undo = [\"ctrl+z\"]"
    )]
    Section(String),
    #[error("there is no action {name:?} in [{section}]: use one of {known}")]
    Action { name: String, section: &'static str, known: String },
    #[error("{0} needs a list of keys, such as [\"ctrl+j\", \"f2\"]")]
    Keys(String),
    #[error("there is no key {0:?}: write it like \"ctrl+j\", \"alt+left\", \"f2\" or \"pageup\"")]
    Key(String),
    #[error("{0:?} cannot be changed: Ctrl+C and Esc always do the same. Remove it here")]
    Fixed(String),
    #[error(
        "{0:?} is typed here: take one with ctrl+ or alt+ before it, or a key without a letter"
    )]
    Letter(String),
    #[error("{key:?} stands for {first} and for {second} in [{section}]: keep one")]
    Twice { key: String, first: String, second: String, section: &'static str },
}

/// Where a key is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    Prompt,
    List,
    Reader,
}

macro_rules! actions {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// What a key can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action { $($variant),+, Agent(u8) }

        impl Action {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => name.strip_prefix("agent-")?.parse().ok().map(Self::Agent),
                }
            }

            fn name(self) -> String {
                match self {
                    $(Self::$variant => $name.to_owned(),)+
                    Self::Agent(number) => format!("agent-{number}"),
                }
            }
        }
    };
}

actions! {
    Submit = "submit", Newline = "newline", Left = "left", Right = "right", Up = "up", Down = "down",
    WordLeft = "word-left", WordRight = "word-right", LineStart = "line-start", LineEnd = "line-end",
    Home = "home", End = "end", Backspace = "backspace", Delete = "delete",
    BackgroundOrLeft = "background-or-left", DeleteOrQuit = "delete-or-quit", KillWordLeft = "kill-word-left", KillWordRight = "kill-word-right",
    KillLineLeft = "kill-line-left", KillLineRight = "kill-line-right", Yank = "yank", Undo = "undo",
    SearchHistory = "search-history", Next = "next", Previous = "previous", PageUp = "page-up",
    PageDown = "page-down", Reader = "reader", Edit = "edit", Redraw = "redraw", Suspend = "suspend",
    Search = "search", FindNext = "find-next", FindPrevious = "find-previous",
    MarkPrevious = "mark-previous", MarkNext = "mark-next", Copy = "copy", Expand = "expand", Close = "close",
}

/// One key and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Binding {
    context: Context,
    chord: Chord,
    /// `None`: nothing.
    action: Option<Action>,
}

/// Which action each key stands for. Of two keys for one action, hints name the one that stands first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Context {
    const ALL: [Self; 3] = [Self::Prompt, Self::List, Self::Reader];

    /// The name of its section.
    fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::List => "list",
            Self::Reader => "reader",
        }
    }
}

impl Keymap {
    /// The map that comes with the program.
    ///
    /// # Errors
    /// Never, as long as that one is valid.
    pub fn built_in() -> Result<Self, KeymapError> {
        Self::default().with(BUILT_IN)
    }

    /// This map with the keys of a TOML text before its own. What has a new meaning loses its old one.
    ///
    /// # Errors
    /// The first thing that is wrong in it; none of it counts then.
    pub fn with(mut self, text: &str) -> Result<Self, KeymapError> {
        let mut new = self.bindings_of(text)?;
        self.bindings.retain(|old| !new.iter().any(|new| new.meets(old.context, old.chord)));
        new.append(&mut self.bindings);
        Ok(Self { bindings: new })
    }

    /// What the key does there, if anything.
    #[must_use]
    pub fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        let chord = Chord::of(key);
        self.bindings.iter().find(|binding| binding.meets(context, chord))?.action
    }

    /// The key for this, as hints name it: `Ctrl+O`. `None`: there is none any more.
    #[must_use]
    pub fn label(&self, context: Context, action: Action) -> Option<String> {
        let mut bindings = self.bindings.iter().filter(|binding| binding.context == context);
        bindings.find(|binding| binding.action == Some(action)).map(|found| found.chord.to_string())
    }

    /// `Ctrl+O read`, or nothing where no key does that.
    #[must_use]
    pub fn hint(&self, context: Context, action: Action, words: &str) -> Option<String> {
        self.label(context, action).map(|key| format!("{key} {words}"))
    }

    /// The keys for these, with nothing between signs and a space between names: `↑↓`, `j k`.
    #[must_use]
    pub fn labels(&self, context: Context, actions: &[Action]) -> Option<String> {
        let labels: Vec<String> =
            actions.iter().filter_map(|action| self.label(context, *action)).collect();
        match labels.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => None,
            ["Up", "Down"] => Some("↑↓".to_owned()),
            _ => Some(labels.join(" ")),
        }
    }

    fn bindings_of(&self, text: &str) -> Result<Vec<Binding>, KeymapError> {
        let at = |place: usize, problem| KeymapError { line: line_of(text, place), problem };
        let table = DeTable::parse(text).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            at(place, KeymapProblem::Toml(error.message().to_owned()))
        })?;
        let mut new: Vec<Binding> = Vec::new();
        for (section, actions) in table.get_ref() {
            let name = section.get_ref();
            let context = Context::ALL.into_iter().find(|context| context.name() == name);
            let (Some(context), DeValue::Table(actions)) = (context, actions.get_ref()) else {
                return Err(at(section.span().start, KeymapProblem::Section(name.to_string())));
            };
            for (name, keys) in actions {
                let place = name.span().start;
                let action = self.named(context, name.get_ref()).map_err(|why| at(place, why))?;
                let keys = listed(name.get_ref(), keys).map_err(|why| at(place, why))?;
                for key in keys {
                    let binding = binding(context, action, key.get_ref(), &new);
                    new.push(binding.map_err(|why| at(key.span().start, why))?);
                }
            }
        }
        Ok(new)
    }

    /// The action of this name. A section knows those that the built-in map has there; that one
    /// makes them known.
    fn named(&self, context: Context, name: &str) -> Result<Option<Action>, KeymapProblem> {
        if name == NONE {
            return Ok(None);
        }
        let known: Vec<Action> = self
            .bindings
            .iter()
            .filter(|binding| binding.context == context)
            .filter_map(|binding| binding.action)
            .collect();
        match Action::named(name) {
            Some(action) if known.is_empty() || known.contains(&action) => Ok(Some(action)),
            _ => {
                let mut names: Vec<String> = known.into_iter().map(Action::name).collect();
                names.dedup();
                names.push(NONE.to_owned());
                let (name, section) = (name.to_owned(), context.name());
                Err(KeymapProblem::Action { name, section, known: names.join(", ") })
            }
        }
    }
}

impl Binding {
    fn meets(&self, context: Context, chord: Chord) -> bool {
        self.context == context && self.chord == chord
    }
}

/// The line of a place in a text, from 1.
fn line_of(text: &str, place: usize) -> usize {
    1 + text.bytes().take(place).filter(|byte| *byte == b'\n').count()
}

/// The keys of an action.
fn listed<'a>(
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

fn binding(
    context: Context,
    action: Option<Action>,
    key: &str,
    before: &[Binding],
) -> Result<Binding, KeymapProblem> {
    let chord = Chord::parse(key).ok_or_else(|| KeymapProblem::Key(key.to_owned()))?;
    if chord.is_fixed() {
        return Err(KeymapProblem::Fixed(key.to_owned()));
    }
    if context != Context::Reader && chord.is_text() {
        return Err(KeymapProblem::Letter(key.to_owned()));
    }
    let name = |action: Option<Action>| action.map_or_else(|| NONE.to_owned(), Action::name);
    match before.iter().find(|other| other.meets(context, chord)) {
        Some(other) => Err(KeymapProblem::Twice {
            key: key.to_owned(),
            first: name(other.action),
            second: name(action),
            section: context.name(),
        }),
        None => Ok(Binding { context, chord, action }),
    }
}

#[cfg(test)]
mod tests;
