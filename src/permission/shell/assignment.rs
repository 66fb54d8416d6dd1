//! Assignments, and which variables may be set before or beside a command that a rule allows.

use tree_sitter::Node;

use super::{Splitter, expansion, named_children};
use crate::permission::script::{Assignment, SimpleCommand, VariableValue, Word, printf_sets};
use crate::protocol::LINE_VARIABLES;

/// These change a program's output, not its effects: colors, logging, time zone, number of threads.
/// A locale is none of them: it says what bash takes for a character.
const HARMLESS: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "FORCE_COLOR",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TZ",
];

/// Whether the assignment may precede a command or be exported, so that programs see it.
fn is_harmless(name: &str, value: &Word) -> bool {
    // No file of its own choosing, and nothing that a program may expand or evaluate, as make does with the
    // variables of its environment.
    let marks = if matches!(name, "RUST_LOG" | "TZ") { "_.,:=+-" } else { "_." };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    HARMLESS.contains(&name) && value.literal && value.text.chars().all(is_plain)
}

/// Whether a variable is private to the line: no program gets it from outside. Others may already be
/// exported, so setting them changes the effects of programs.
pub fn is_private(name: &str) -> bool {
    matches!(name.as_bytes(), [b'a'..=b'z']) || LINE_VARIABLES.contains(&name)
}

/// Whether bash takes the text for the name of a variable.
fn is_name(text: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(letters) && text.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

/// The value that a runner such as `env` gives a variable of the scripts that it runs, if the word is of
/// this form.
pub(super) fn given_value(word: &Word) -> Option<VariableValue> {
    let (name, text) = word.text.split_once('=').filter(|(name, _)| is_name(name))?;
    let raw = match word.raw.split_once('=') {
        Some((start, rest)) if start == name => rest.to_owned(),
        Some((start, rest)) if start.strip_prefix('"') == Some(name) => format!("\"{rest}"),
        _ => text.to_owned(),
    };
    let word = Word { text: text.to_owned(), raw, literal: word.literal };
    Some(VariableValue { name: name.to_owned(), word, appends: false, is_listed: false })
}

/// Whether a builtin may set a variable by the words of the command, or evaluate a subscript in one
/// of them, as in `printf -v 'a[$(b)]'`.
pub fn sets_variables(command: &SimpleCommand) -> bool {
    let arguments = command.arguments();
    let some = |is: fn(&Word) -> bool| arguments.iter().any(is);
    let is_option = |word: &Word| word.text.starts_with('-') || !word.literal;
    let is_foreign = |word: &Word| !word.literal || !is_private(&word.text);
    match command.program() {
        "let" => true,
        "printf" => printf_sets(arguments) || arguments.first().is_some_and(|it| !it.literal),
        "hash" | "wait" => some(is_option),
        "getopts" | "mapfile" | "read" | "readarray" => {
            // `read -aNAME` sets an array.
            let joined =
                |word: &Word| match word.text.strip_prefix('-').map(|it| it.split_once('a')) {
                    Some(Some((_, name))) => !name.is_empty() && !is_private(name),
                    Some(None) => false,
                    None => is_foreign(word),
                };
            arguments.iter().any(joined)
        }
        "[" | "declare" | "export" | "local" | "readonly" | "test" | "typeset" | "unset" => {
            some(|word| word.text.contains('['))
        }
        _ => false,
    }
}

impl Splitter<'_> {
    /// `export`, `local` and the like: other programs see the variables too.
    pub(super) fn declaration(&mut self, node: Node<'_>) {
        self.check_gaps(node);
        if named_children(node).next().is_none() {
            self.script.set_unclear("the command prints every variable");
        }
        for child in named_children(node) {
            match child.kind() {
                "variable_assignment" => {
                    let Assignment { name, harmless } = self.assignment(child);
                    if !harmless {
                        self.script.set_unclear(format!("the command sets {name}"));
                    }
                }
                "comment" => self.visit(child),
                kind => {
                    self.script.set_unclear("the command changes how variables work");
                    if kind != "variable_name" {
                        let word = self.word(child);
                        if !word.literal || word.text.contains('=') {
                            self.script.set_unread("which variable the command sets is unclear");
                        }
                    }
                }
            }
        }
    }

    /// An assignment on its own, for the rest of the line.
    pub(super) fn own_assignment(&mut self, node: Node<'_>) {
        let Assignment { name, harmless } = self.assignment(node);
        if !harmless && !is_private(&name) {
            self.script.set_unclear(format!("the command sets {name}"));
        }
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) -> Assignment {
        self.check_contiguous(node);
        let name = node.child_by_field_name("name");
        let value = node.child_by_field_name("value");
        let plain_name = name.is_some_and(|name| name.kind() == "variable_name");
        let name = name.map_or("", |name| self.text(name)).to_owned();
        if !is_name(&name) || !plain_name {
            // A subscript is evaluated, and anything that is no name is run as a program. Bash
            // looks up programs in arrays of its own.
            let why = "the command has an assignment to what is no variable";
            match name.starts_with("BASH_") || name.contains(['$', '`']) || !name.contains('[') {
                true => self.script.set_unread(why),
                false => self.script.set_unclear(why),
            }
        }
        let value = match value {
            Some(value) if value.kind() == "array" => {
                self.script.set_unclear("the command sets an array");
                for element in named_children(value) {
                    let word = self.word(element);
                    self.script.values.push(VariableValue {
                        name: name.clone(),
                        word,
                        appends: true,
                        is_listed: false,
                    });
                }
                return Assignment { name, harmless: false };
            }
            Some(value) => {
                let word = self.word(value);
                // Doubled a few times, its length is revealed by the running time.
                if !word.literal {
                    self.told.extend(expansion::variables(&word.raw));
                }
                word
            }
            None => Word { text: String::new(), raw: String::new(), literal: true },
        };
        let appends = self.text(node).starts_with(&format!("{name}+="));
        let harmless = !appends && is_harmless(&name, &value);
        let value = VariableValue { name: name.clone(), word: value, appends, is_listed: false };
        self.script.values.push(value);
        Assignment { name, harmless }
    }
}
