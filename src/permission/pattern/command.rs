//! The commands that a rule for a shell tool covers.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::compare::compare;
use super::restriction::Restriction;
use super::star;
use super::word::wild;
use crate::permission::danger::{self, Danger};
use crate::permission::interpreter::{may_start_shell, may_start_unknown, place_behind_wrapper};
use crate::permission::mentions::readings::Readings;
use crate::permission::program::base_name;
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::wrapper;

/// The shell commands that a rule covers. Each simple command of a line is matched on its own.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandPattern {
    /// Exactly this command.
    Exact(String),
    /// Commands that begin with these words.
    Prefix(String),
    /// A word `*` stands for any words, and another `*` for any text: in a rule that allows, for a part of
    /// one word.
    Wild(String),
}

impl CommandPattern {
    /// Parses the text between the parentheses; `None` is every command.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        let (body, prefix) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(body) => (body.trim(), true),
            None => (text, false),
        };
        if body.contains(":*") {
            return Err("`:*` can only stand at the end, as in Bash(git diff:*)".to_owned());
        }
        if matches!(body, "" | "*") {
            return Ok(None);
        }
        let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Some(match (body.contains('*'), prefix) {
            (true, true) => Self::Wild(format!("{body} *")),
            (true, false) => Self::Wild(body),
            (false, true) => Self::Prefix(body),
            (false, false) => Self::Exact(body),
        }))
    }

    /// How many words of a command the pattern names.
    pub fn words(&self) -> usize {
        match self {
            Self::Exact(_) => usize::MAX,
            Self::Prefix(text) => text.split(' ').count(),
            Self::Wild(text) => text.split(' ').take_while(|word| !word.contains('*')).count(),
        }
    }

    /// How many words of a command say where files are: those that the pattern has, also with a `*`, as
    /// in `python3 scripts/*`.
    pub fn file_words(&self) -> usize {
        match self {
            Self::Exact(_) | Self::Prefix(_) => self.words(),
            Self::Wild(text) => certain_words(text).count(),
        }
    }

    /// Whether the words that say where files are hold a glob, which the pattern has too.
    pub fn has_open_files(&self, command: &SimpleCommand) -> bool {
        let mut words = command.words.iter().take(self.file_words());
        !matches!(self, Self::Exact(_)) && words.any(|word| !word.literal)
    }

    /// Whether the pattern leaves the program itself open.
    pub fn leaves_program_open(&self) -> bool {
        let Self::Wild(text) = self else { return false };
        text.split(' ').next().is_some_and(|word| word.contains('*'))
    }

    /// Whether an allow rule covers the command: every word the rule names must be certain, nothing
    /// may precede the program, and a command that runs another program is covered only by a rule
    /// that names that program too. The command runs in one of `bases`.
    pub fn allows(&self, command: &SimpleCommand, bases: &[PathBuf]) -> bool {
        self.covers(command) && self.unnamed(command, bases).is_none()
    }

    /// Whether the rule covers all commands that bash may make of one that it covers.
    pub fn allows_readings(&self, readings: Option<&Readings>, bases: &[PathBuf]) -> bool {
        let is_covered = |command: &SimpleCommand| {
            let (words, start) = (&command.words, start_of(&command.words));
            let own = words.get(start..).unwrap_or_default();
            let mut dangers = danger::find_in_reading(own, bases);
            dangers.extend(place_behind_wrapper(own).map(Danger::wrapper));
            self.covers(command)
                && dangers.iter().all(|danger| self.names(danger, start, words))
                && !may_start_shell(own)
        };
        let allows =
            |readings: &Readings| !readings.is_open && readings.commands.iter().all(is_covered);
        matches!(self, Self::Exact(_)) || readings.is_some_and(allows)
    }

    /// The dangerous option that alone keeps the rule from covering the command.
    pub fn exception(&self, command: &SimpleCommand, bases: &[PathBuf]) -> Option<Danger> {
        if self.covers(command) { self.unnamed(command, bases) } else { None }
    }

    /// Whether a word known only at run time may stand for a dangerous option that the rule does not name.
    pub fn is_misled(&self, command: &SimpleCommand, line: &str, bases: &[PathBuf]) -> bool {
        let start = start_of(&command.words);
        let own = command.words.get(start..).unwrap_or_default();
        let is_named = |danger: &Danger| self.names(danger, start, &command.words);
        matches!(self, Self::Prefix(_) | Self::Wild(_))
            && (may_start_unknown(own, line)
                || danger::run_time::is_smuggled(&command.words, line, bases, is_named))
    }

    /// The first dangerous option of the command that the rule does not name.
    fn unnamed(&self, command: &SimpleCommand, bases: &[PathBuf]) -> Option<Danger> {
        if matches!(self, Self::Exact(_)) {
            return None;
        }
        let words = &command.words;
        let start = start_of(words);
        let own = words.get(start..).unwrap_or_default();
        let wrapper = place_behind_wrapper(own).map(Danger::wrapper);
        let mut dangers = danger::find(own, bases).into_iter().chain(wrapper);
        dangers
            .find(|danger| !self.names(danger, start, words))
            .or_else(|| may_start_shell(own).then(Danger::shell))
    }

    /// Whether the rule names the dangerous option of the command that begins with the word at
    /// `start`: it is one of the rule's own words, or the value of the option that the rule ends
    /// with. Another option of the same name, or with another value, is not what the user had in
    /// mind.
    fn names(&self, danger: &Danger, start: usize, words: &[Word]) -> bool {
        let place = danger.place.saturating_add(start);
        match self {
            Self::Exact(_) => true,
            Self::Prefix(text) => {
                let count = named_words(words, text);
                let last = text.rsplit(' ').next().filter(|last| last.starts_with('-'));
                place < count || place == count && last.is_some_and(|last| danger.is_named(last))
            }
            // The words from the first `*` on may be anywhere.
            Self::Wild(text) => {
                let open = text.split(' ').skip(self.words()).collect::<Vec<_>>().join(" ");
                place < self.words() || danger.is_named(&open)
            }
        }
    }

    /// Whether the rule covers the command, dangerous options aside.
    fn covers(&self, command: &SimpleCommand) -> bool {
        if !command.assignments.iter().all(|assignment| assignment.harmless) {
            return false;
        }
        let words = &command.words;
        let certain = |count: usize| {
            words.len() >= count && words.iter().take(count).all(|word| word.literal)
        };
        let reaches = |count: usize| match wrapper::inner_command(words) {
            wrapper::InnerCommand::Nothing => true,
            wrapper::InnerCommand::From(inner) => count > inner,
            wrapper::InnerCommand::Unclear => false,
        };
        match self {
            Self::Exact(text) => {
                certain(words.len()) && (raw(words) == *text || same_words(words, text))
            }
            Self::Prefix(text) => {
                let count = self.words();
                certain(count) && reaches(count) && begins_with(words, text)
            }
            Self::Wild(text) => {
                let count = self.words();
                let is_own = raw(words) == *text;
                count > 0
                    && reaches(count)
                    && (is_own && certain(count)
                        || certain(self.file_words()) && fits_words(text, words))
            }
        }
    }

    /// Whether a deny or ask rule applies to these words, however they are written. `appends` says
    /// that the command gets further words.
    pub fn restricts(&self, words: &[Word], appends: bool) -> Restriction {
        let joined = wrapper::strip_wrappers(words).join(" ");
        let (text, meant) = match self {
            Self::Exact(text) => (text, joined == *text || raw(words) == *text),
            Self::Prefix(text) => (text, is_prefix(text, &joined) || is_prefix(text, &raw(words))),
            Self::Wild(text) => (text, wild(text, &joined) || wild(text, &raw(words))),
        };
        match meant {
            true => Restriction::Yes,
            false => compare(text, matches!(self, Self::Exact(_)), words, appends),
        }
    }

    /// The program that the pattern names, without its folder.
    pub fn program(&self) -> Option<&str> {
        let (Self::Exact(text) | Self::Prefix(text) | Self::Wild(text)) = self;
        let program = text.split(' ').next().filter(|program| !program.contains('*'));
        program.map(base_name)
    }

    /// The words after the program, except those that may be anything.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let (Self::Exact(text) | Self::Prefix(text) | Self::Wild(text)) = self;
        text.split(' ').skip(1).filter(|word| *word != "*")
    }

    /// Whether this is the whole line, word for word.
    pub fn is_line(&self, line: &str) -> bool {
        // To bash, other blanks are part of a word.
        let line = line.trim_matches([' ', '\t', '\n']);
        matches!(self, Self::Exact(text) if text == line)
    }

    /// Whether a deny or ask rule applies to the line as a whole, such as `curl * | sh`.
    pub fn restricts_line(&self, line: &str) -> bool {
        let spaced = line.replace('|', " | ").replace(';', " ; ").replace('&', " & ");
        let spaced = spaced.replace("|  |", "||").replace("&  &", "&&");
        [line, &spaced].into_iter().any(|line| self.is_meant_for_line(line))
    }

    fn is_meant_for_line(&self, line: &str) -> bool {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Self::Exact(text) => line == *text,
            Self::Prefix(text) => is_prefix(text, &line),
            Self::Wild(text) => wild(text, &line),
        }
    }
}

/// The words of a pattern up to the first that is a `*` and stands for any words.
fn certain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').take_while(|word| *word != "*")
}

/// Whether the words are those of the text, in which a word `*` stands for any words, and another `*` for
/// a part of one.
fn fits_words(text: &str, words: &[Word]) -> bool {
    // In quotes, a blank separates no words, and a star may be one for the program.
    if text.contains(['"', '\'', '\\']) {
        let (named, is_open) = text.strip_suffix(" *").map_or((text, false), |it| (it, true));
        return raw(words) == named || is_open && is_prefix(named, &raw(words));
    }
    // How many words the pattern may have used.
    let mut used = BTreeSet::from([0]);
    for named in text.split(' ') {
        used = match named {
            "*" => used.first().map_or(BTreeSet::new(), |first| (*first..=words.len()).collect()),
            named => {
                let fits = |at: &usize| words.get(*at).is_some_and(|word| fits_word(named, word));
                used.into_iter().filter(fits).map(|at| at + 1).collect()
            }
        };
    }
    used.contains(&words.len())
}

/// Whether a word fits one of a pattern.
fn fits_word(named: &str, word: &Word) -> bool {
    match named.contains('*') {
        true => word.literal && star::covers(named, &word.text),
        false => word.raw == named || word.text == named && is_plain_word(named),
    }
}

fn raw(words: &[Word]) -> String {
    words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ")
}

/// Whether the words have these values, however they are quoted. Characters of the text that are
/// special to bash must match as written: `'~/x'` is not `~/x`.
fn same_words(words: &[Word], text: &str) -> bool {
    words.iter().map(|word| word.text.as_str()).eq(text.split(' '))
        && text.split(' ').all(is_plain_word)
}

/// Whether bash takes the word as it is.
fn is_plain_word(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,@%+".contains(c);
    // Anywhere but in an option, it may set a variable.
    let may_assign = !word.starts_with('-');
    word.chars().all(|c| is_plain(c) || c == '=' && !may_assign)
}

/// The position of the word with which the command begins, after its runners.
fn start_of(words: &[Word]) -> usize {
    match wrapper::inner_command(words) {
        wrapper::InnerCommand::From(inner) => inner,
        wrapper::InnerCommand::Nothing | wrapper::InnerCommand::Unclear => 0,
    }
}

/// How many of the words are those of the text, which they begin with. A quoted one may contain blanks.
fn named_words(words: &[Word], text: &str) -> usize {
    let count = text.split(' ').count();
    if words.len() >= count && same_words(&words[..count], text) {
        return count;
    }
    let mut length = 0;
    let is_within = |word: &&Word| {
        length += word.raw.len() + 1;
        length <= text.len() + 1
    };
    words.iter().take_while(is_within).count()
}

fn begins_with(words: &[Word], text: &str) -> bool {
    let count = text.split(' ').count();
    words.len() >= count && same_words(&words[..count], text) || is_prefix(text, &raw(words))
}

fn is_prefix(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
