//! Reads a command in each way that bash may read it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::names::{GlobName, is_harmless, pattern_text};
use crate::permission::danger;
use crate::permission::mentions::lookup::{FileLookup, is_blank, value_of_name, without_marks};
use crate::permission::mentions::values::has_glob;
use crate::permission::script::{Script, SimpleCommand, Word};
use crate::permission::spelling::{
    Piece, escaped, fits, globbed, has_open_bracket, spell, with_open_brackets,
};
use crate::permission::wrapper::starters;

/// Maximum names of a glob that are read one by one; of more, only the form counts.
const MAX_NAMES: usize = 256;
/// Maximum commands that the words of one may make.
pub(super) const MAX_COMMANDS: usize = 1024;
/// Maximum texts that the values of variables make of one word.
const MAX_TEXTS: usize = 2048;
/// Maximum commands that are made of those of one line where each is looked at by itself, and words of
/// one.
const MAX_EXPANDED: usize = 128;
/// Maximum words of all commands that are made of those of one line.
const MAX_WORDS: usize = 20_000;

/// The commands that bash may make of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// None if all its words are certain.
    pub commands: Vec<SimpleCommand>,
    /// Whether one of its words may be something else, and not even its form is harmless.
    pub is_open: bool,
}

/// A word that bash may make of another.
enum Reading {
    /// These words.
    Words(Vec<String>),
    /// The word itself: one of unknown text, or many names that are harmless by their form.
    Same,
    /// Anything.
    Open,
}

/// The names in folders, each with whether it is a link.
type FolderNames = BTreeMap<PathBuf, Vec<(OsString, bool)>>;

/// The readings of each command of the script; its names are relative to `bases`, or to any folder
/// if these are not all.
pub fn readings(
    script: &Script,
    bases: &[PathBuf],
    is_all: bool,
    home: Option<&Path>,
) -> Vec<Readings> {
    let mut reader = ScriptReader::new(script, bases, is_all, home);
    script.commands.iter().map(|command| reader.command(command)).collect()
}

/// The commands that bash may make of those of the script and of its nested ones, as far as the line
/// gives their words; `None` if they are too many.
pub fn expanded_commands(
    script: &Script,
    bases: &[PathBuf],
    home: Option<&Path>,
) -> Option<Vec<SimpleCommand>> {
    let mut commands = script.all_commands();
    commands.retain(|command| command.words.iter().any(|word| !word.literal));
    if commands.is_empty() {
        return Some(Vec::new());
    }
    let mut reader = ScriptReader::new(script, bases, true, home);
    let mut expanded = Vec::new();
    for command in commands {
        if command.words.len() > MAX_EXPANDED {
            return None;
        }
        expanded.extend(reader.command(command).commands);
        if expanded.len() > MAX_EXPANDED {
            return None;
        }
    }
    Some(expanded)
}

pub(super) struct ScriptReader<'a> {
    pub(super) lookup: FileLookup<'a>,
    is_all: bool,
    /// Whether a `--` stands before the word, which ends the options.
    is_behind_mark: bool,
    /// Whether the command may start any program that its words name.
    pub(super) takes_programs: bool,
    /// Whether a variable has names of a glob that are not among its values.
    has_long_list: bool,
    pub(super) folders: FolderNames,
    /// Words left to make.
    pub(super) left: usize,
}

impl<'a> ScriptReader<'a> {
    pub(super) fn new(
        script: &Script,
        bases: &[PathBuf],
        is_all: bool,
        home: Option<&'a Path>,
    ) -> Self {
        let mut real: Vec<PathBuf> = Vec::new();
        for base in bases {
            let base = fs::canonicalize(base).unwrap_or_else(|_| base.clone());
            if !real.contains(&base) {
                real.push(base);
            }
        }
        let lookup = FileLookup::new(script, real, home);
        let mut reader = Self {
            lookup,
            is_all,
            is_behind_mark: false,
            takes_programs: false,
            has_long_list: false,
            folders: FolderNames::new(),
            left: MAX_WORDS,
        };
        reader.add_names_to_values();
        reader
    }

    /// Adds the names that a loop makes of a glob to the values of its variable.
    fn add_names_to_values(&mut self) {
        for name in self.lookup.values.keys().cloned().collect::<Vec<_>>() {
            let values = self.lookup.values.get(&name).cloned().unwrap_or_default();
            let parts = values.iter().flat_map(|text| text.split(is_blank));
            let mut parts: Vec<Vec<Piece>> = parts.map(<[Piece]>::to_vec).collect();
            let mut added: Vec<Vec<Piece>> = Vec::new();
            let mut at = 0;
            while let Some(part) = parts.get(at).cloned() {
                at += 1;
                if !has_glob(&part) || part.contains(&Piece::Any) || part.contains(&Piece::Limit) {
                    continue;
                }
                match self.names(&part) {
                    Some(names) if names.len() <= MAX_NAMES => {
                        for name in names {
                            let own = value_of_name(&name.text);
                            if added.contains(&own) {
                                continue;
                            }
                            // A loop over the variable takes such a name for a glob.
                            let mut again = vec![globbed(&own)];
                            again.retain(|part| has_glob(part));
                            parts.extend(again);
                            added.push(own);
                        }
                    }
                    Some(names) if names.iter().all(GlobName::is_harmless) => {
                        self.has_long_list = true;
                    }
                    None if is_harmless(&beginning(&part)) => self.has_long_list = true,
                    _ => added.push(vec![Piece::Limit]),
                }
            }
            self.lookup.values.entry(name).or_default().extend(added);
        }
    }

    fn command(&mut self, command: &SimpleCommand) -> Readings {
        let open = Readings { commands: Vec::new(), is_open: true };
        if command.words.iter().all(|word| word.literal) {
            return Readings::default();
        }
        let mut all: Vec<Vec<Word>> = vec![Vec::new()];
        // Its options only say how it prints.
        let is_echo = command.words.first().is_some_and(|word| word.text == "echo");
        self.is_behind_mark = false;
        self.takes_programs = command.words.iter().any(danger::run_time::takes_programs);
        for (place, word) in command.words.iter().enumerate() {
            self.is_behind_mark |= word.literal && word.text == "--";
            if is_echo || danger::is_message_at(&command.words, place) {
                all.iter_mut().for_each(|words| words.push(word.clone()));
                continue;
            }
            let Some(readings) = self.word(word) else { return open };
            let length: usize = readings.iter().map(Vec::len).sum();
            let made = all.len() * length + all.iter().map(Vec::len).sum::<usize>();
            if all.len() * readings.len() > MAX_COMMANDS || made > self.left {
                return open;
            }
            let with = |words: &Vec<Word>| -> Vec<Vec<Word>> {
                readings.iter().map(|own| [words.as_slice(), own].concat()).collect()
            };
            all = all.iter().flat_map(with).collect();
        }
        self.left = self.left.saturating_sub(all.iter().map(Vec::len).sum());
        let commands = all.into_iter().map(|words| SimpleCommand { words, ..command.clone() });
        Readings { commands: commands.collect(), is_open: false }
    }

    /// The lists of words that bash may make of this one; `None` if it may be anything.
    pub(super) fn word(&mut self, word: &Word) -> Option<Vec<Vec<Word>>> {
        let same = || vec![word.clone()];
        if word.literal {
            return Some(vec![same()]);
        }
        let mut all: Vec<Vec<Word>> = vec![Vec::new()];
        // Braces make several words of one.
        for spelled in spell(std::slice::from_ref(word)) {
            let mut own: Vec<Vec<Word>> = Vec::new();
            let pieces = spelled.into_pieces();
            let has_dash = beginning(&pieces).starts_with('-');
            for reading in self.readings(&pieces, is_one_word(&word.raw), has_dash) {
                let words = match reading {
                    Reading::Words(texts) => texts.into_iter().map(literal_word).collect(),
                    Reading::Same => same(),
                    Reading::Open => return None,
                };
                if !own.contains(&words) {
                    own.push(words);
                }
                if own.len() > MAX_COMMANDS {
                    return None;
                }
            }
            if all.len() * own.len() > MAX_COMMANDS {
                return None;
            }
            let with = |words: &Vec<Word>| -> Vec<Vec<Word>> {
                own.iter().map(|own| [words.as_slice(), own].concat()).collect()
            };
            all = all.iter().flat_map(with).collect();
        }
        Some(all)
    }

    /// The words that bash may make of the pieces of one; in quotes, they stay one. The word as
    /// written may begin with a dash of its own.
    fn readings(&mut self, pieces: &[Piece], is_quoted: bool, has_dash: bool) -> Vec<Reading> {
        let has_variable = pieces.iter().any(|piece| matches!(piece, Piece::Variable(_)));
        let mut readings = Vec::new();
        let texts = self.lookup.substituted(pieces, MAX_TEXTS);
        let is_within = self.lookup.spend(texts.len());
        for text in texts {
            if text.contains(&Piece::Limit) || !is_within {
                return vec![Reading::Open];
            }
            if text.iter().any(is_unknown) {
                let parts = text.split(|piece| is_blank(piece) && !is_quoted);
                let is_option = !self.is_behind_mark
                    && parts.enumerate().any(|(at, part)| {
                        // Unknown text may be empty, and the value of an option of its own is no other one.
                        let certain = part.iter().find(|piece| !is_unknown(piece));
                        certain == Some(&Piece::Char('-')) && !(at == 0 && has_dash)
                    });
                match is_option {
                    true => readings.push(Reading::Open),
                    false => self.add_unknown(&text, &mut readings),
                }
                continue;
            }
            if !has_variable {
                self.expand(&text, &mut readings);
                continue;
            }
            // In quotes it stays as it is.
            let whole = without_marks(&text);
            let is_joined = !matches!(base(pieces), [Piece::Variable(_)]);
            if has_glob(&whole) && !self.is_known_glob(&whole, is_joined) {
                return vec![Reading::Open];
            }
            readings.push(Reading::Words(vec![pattern_text(&whole)]));
            if is_quoted {
                continue;
            }
            let parts = text.split(is_blank).filter(|part| !part.is_empty());
            let escaped: Vec<Vec<Piece>> = parts.clone().filter_map(escaped).collect();
            let parts: Vec<Vec<Piece>> = parts.map(globbed).collect();
            if parts.len() > 1 {
                if !escaped.is_empty() {
                    return vec![Reading::Open];
                }
                let mut words = Vec::new();
                for part in parts {
                    let mut own = Vec::new();
                    self.expand(&part, &mut own);
                    match own.pop() {
                        Some(Reading::Words(texts)) if own.is_empty() => words.extend(texts),
                        // Several folders, or too many names.
                        _ => return vec![Reading::Open],
                    }
                }
                readings.push(Reading::Words(words));
            } else if let Some(part) = parts.first() {
                self.expand(part, &mut readings);
                escaped.iter().for_each(|part| self.expand(part, &mut readings));
            }
        }
        readings
    }

    /// Adds what bash may make of a word with unknown text.
    fn add_unknown(&mut self, text: &[Piece], readings: &mut Vec<Reading>) {
        if !has_glob(text) && !has_open_bracket(text) {
            readings.push(Reading::Same);
        } else if self.is_harmless(text) {
            readings.push(Reading::Same);
            // The unknown text may be any part of the names.
            let any = |piece: &Piece| if is_unknown(piece) { Piece::Star } else { piece.clone() };
            let text = with_open_brackets(text, &Piece::Star);
            self.expand(&text.iter().map(any).collect::<Vec<_>>(), readings);
        } else {
            readings.push(Reading::Open);
        }
    }

    /// Whether the values of the variables in a word are known well enough, one of which is this glob.
    fn is_known_glob(&mut self, whole: &[Piece], is_joined: bool) -> bool {
        // Each of many names is known, but not what other text in the word makes of it.
        let is_open =
            self.has_long_list && is_joined && (self.takes_programs || may_be_program(whole));
        !is_open && (self.is_harmless(whole) || self.names(whole).is_some_and(|it| !it.is_empty()))
    }

    /// Adds what bash makes of a word with globs and nothing else that is uncertain.
    fn expand(&mut self, text: &[Piece], readings: &mut Vec<Reading>) {
        if !has_glob(text) {
            readings.push(Reading::Words(vec![pattern_text(text)]));
            return;
        }
        let is_harmless = self.is_harmless(text);
        if !self.is_all {
            readings.push(if is_harmless { Reading::Same } else { Reading::Open });
            return;
        }
        for base in self.lookup.bases.clone() {
            let names = self.glob(&base, text);
            // Bash may find no name.
            let is_certain = |name: &GlobName| name.is_certain;
            if names.as_ref().is_some_and(|it| !it.is_empty() && !it.iter().any(is_certain)) {
                readings.push(Reading::Words(vec![pattern_text(text)]));
            }
            let reading = match names {
                None => Reading::Open,
                // It stays as it is.
                Some(names) if names.is_empty() && is_harmless => {
                    Reading::Words(vec![pattern_text(text)])
                }
                Some(names) if names.is_empty() => Reading::Open,
                Some(names) if names.len() <= MAX_NAMES => {
                    let texts = names.into_iter().map(|name| name.text.into_string());
                    texts.collect::<Result<_, _>>().map_or(Reading::Open, Reading::Words)
                }
                Some(names) if names.iter().all(GlobName::is_harmless) => Reading::Same,
                Some(_) => Reading::Open,
            };
            readings.push(reading);
        }
    }

    /// Whether a word with this glob is harmless whatever it matches.
    fn is_harmless(&self, text: &[Piece]) -> bool {
        let beginning = beginning(text);
        is_harmless(&beginning) || beginning.is_empty() && self.is_behind_mark
    }

    /// The names that the text matches in any of the folders; `None` if they are not all known.
    fn names(&mut self, text: &[Piece]) -> Option<Vec<GlobName>> {
        if !has_glob(text) {
            return Some(Vec::new());
        }
        let mut all = Vec::new();
        for base in self.lookup.bases.clone() {
            all.extend(self.glob(&base, text).filter(|_| self.is_all)?);
        }
        Some(all)
    }
}

/// Whether the word, as written, is in one pair of double quotes.
fn is_one_word(raw: &str) -> bool {
    let inside = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.is_some_and(|text| !text.contains(['"', '\\', '`', '@']) && !text.contains("$("))
}

fn is_unknown(piece: &Piece) -> bool {
    matches!(piece, Piece::Any | Piece::Variable(_))
}

fn beginning(text: &[Piece]) -> String {
    let certain = |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
    text.iter().map_while(certain).collect()
}

/// The pieces behind the last slash.
fn base(text: &[Piece]) -> &[Piece] {
    let slash = text.iter().rposition(|piece| *piece == Piece::Char('/'));
    &text[slash.map_or(0, |at| at + 1)..]
}

/// Whether the text may be the name of a program that starts others.
fn may_be_program(text: &[Piece]) -> bool {
    // A version may follow.
    let is_version = |piece: &Piece| matches!(piece, Piece::Char('0'..='9' | '.' | '-'));
    let name = base(text);
    let length = name.iter().rposition(|piece| !is_version(piece)).map_or(0, |last| last + 1);
    let fits = |own: &str| fits(&name[..length], &own.chars().collect::<Vec<_>>());
    starters().any(fits)
}

fn literal_word(text: String) -> Word {
    Word { raw: text.clone(), text, literal: true }
}
