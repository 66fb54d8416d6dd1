//! The rule's program among the arguments of a command, which may run it.

use super::placeholder::{self, APPENDERS};
use crate::permission::danger;
use crate::permission::interpreter::takes_data;
use crate::permission::pattern::{CommandPattern, Restriction};
use crate::permission::program::{base_name, is_sub_command};
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::spelling::{separate_defaults, spell, unquoted};
use crate::permission::wrapper;

/// Maximum words after a mention that are compared.
const MAX_TAIL: usize = 64;

/// How often the words of the command name the program, excluding substitutions in them.
pub fn count(command: &SimpleCommand, program: &str) -> usize {
    command.words.iter().map(|word| occurrences(&own_text(word), program)).sum()
}

/// The unquoted word, up to its first substitution.
fn own_text(word: &Word) -> String {
    let starts = ["$(", "`", "<(", ">("];
    let end = starts.iter().filter_map(|start| word.raw.find(start)).min();
    separate_defaults(&unquoted(&word.raw[..end.unwrap_or(word.raw.len())]))
}

/// Whether the word names the program, also in a text, after `=`, or joined with an option.
pub fn holds(word: &Word, program: &str) -> bool {
    // `-Orm`, and `-vO'rm x'`, which is a text for a shell.
    let joined = |text: &str| {
        let Some(cluster) = text.strip_prefix('-') else { return false };
        let letters = cluster.chars().take_while(char::is_ascii_alphabetic).count();
        let most = if text.contains(char::is_whitespace) { letters } else { letters.min(1) };
        (1..=most).any(|at| {
            cluster[at..]
                .strip_prefix(program)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    let text = own_text(word);
    occurrences(&text, program) > 0
        || joined(&text)
        || word.literal && occurrences(&word.text, program) > 0
        || !word.literal && is_spelled(word, program)
}

/// Whether braces in the word can produce the program's name.
fn is_spelled(word: &Word, program: &str) -> bool {
    let words = spell(std::slice::from_ref(word));
    words.iter().any(|word| word.exact().is_some_and(|text| occurrences(text, program) > 0))
}

/// Whether the program is in the command where no program is certain to start, and in no text that
/// is judged as a script of its own.
pub fn is_argument(command: &SimpleCommand, program: &str) -> bool {
    !arguments(command, program).is_empty()
}

/// The positions of the arguments that name the program.
fn arguments(command: &SimpleCommand, program: &str) -> Vec<usize> {
    let words = &command.words;
    let (starts, _) = wrapper::program_starts(words);
    let from = starts.last().copied().unwrap_or_default();
    let (scripts, _) = wrapper::script_texts(command);
    let is_script = |word: &Word| {
        scripts.iter().any(|text| text.contains(' ') && *text == word.text)
            && !word.text.contains("<<")
    };
    (1..words.len())
        .filter(|place| holds(&words[*place], program) && !starts.contains(place))
        .filter(|&place| !is_script(&words[place]))
        .filter(|&place| place < from || !is_sub_command(&words[from..], place - from))
        .collect()
}

/// Whether the command gets values of variables and may run them.
pub fn sees_values(command: &SimpleCommand) -> bool {
    let is_set = command.assignments.iter().any(|assignment| !assignment.harmless);
    let is_open = command.words.iter().any(|word| !word.literal);
    let (starts, _) = wrapper::program_starts(&command.words);
    let start = starts.last().copied().unwrap_or_default();
    let knows = || danger::knows(command.words.get(start..).unwrap_or_default());
    is_set || is_open && (!takes_data(&command.words) || knows())
}

/// Compares the rule with the words after each mention of its program among the arguments, unless
/// the command takes them as data.
pub fn in_arguments(
    pattern: &CommandPattern,
    program: &str,
    command: &SimpleCommand,
) -> Restriction {
    let words = &command.words;
    if takes_data(words) {
        return Restriction::No;
    }
    let runner = base_name(command.program());
    let appends = APPENDERS.contains(&runner);
    let why = || {
        Restriction::Maybe(format!("`{runner}` may run `{program}`, which is among its arguments"))
    };
    let opened = placeholder::open(words, words);
    for place in arguments(command, program) {
        let rest = &opened[place + 1..words.len().min(place + MAX_TAIL)];
        let found = place + MAX_TAIL < words.len()
            || tails(&words[place], program).into_iter().any(|tail| match tail {
                None => true,
                Some(mut tail) => {
                    let appends = appends || rest.is_empty() && tail.len() == 1;
                    tail.extend_from_slice(rest);
                    pattern.restricts(&tail, appends) != Restriction::No
                }
            });
        if found {
            return why();
        }
    }
    Restriction::No
}

/// The words of the argument from each mention of the program on; `None` if they are unknown.
fn tails(word: &Word, program: &str) -> Vec<Option<Vec<Word>>> {
    let text = if word.literal { word.text.clone() } else { own_text(word) };
    let is_plain = |c: char| c.is_alphanumeric() || " -_./=:@,+%".contains(c);
    let whole = |text: &str| Word { text: text.to_owned(), raw: text.to_owned(), literal: true };
    if !word.literal || !text.chars().all(is_plain) {
        return vec![None];
    }
    let ends: Vec<usize> = text
        .match_indices(program)
        .filter(|(place, _)| occurrences(&text[*place..], program) > 0)
        .map(|(place, _)| place)
        .take(MAX_TAIL + 1)
        .collect();
    // Some options take a command with commas: `gcc -wrapper rm,a`.
    let words = |place: usize| text[place..].split([' ', ',']).filter(|word| !word.is_empty());
    let is_long = |place: &usize| words(*place).nth(MAX_TAIL).is_some();
    if ends.len() > MAX_TAIL || ends.iter().any(is_long) {
        return vec![None];
    }
    let tail = |place: usize| {
        let mut words = words(place);
        let name = words.next().map(wrapper::package_name);
        name.into_iter().chain(words).map(whole).collect()
    };
    ends.into_iter().map(|place| Some(tail(place))).collect()
}

/// How often the name is in the text as a word, alone or after a folder.
pub fn occurrences(text: &str, name: &str) -> usize {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@');
    let is_word = |&(place, _): &(usize, &str)| {
        let before = text[..place].chars().next_back();
        let after = text[place + name.len()..].chars().next();
        // A version may follow: `name@1`.
        let goes_on = |c: char| c != '@' && inside(c) || c == '/';
        !before.is_some_and(inside) && !after.is_some_and(goes_on)
    };
    if name.is_empty() { 0 } else { text.match_indices(name).filter(is_word).count() }
}
