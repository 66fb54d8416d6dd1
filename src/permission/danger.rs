//! Options that make a program run another one, or write a file of the caller's choice. No prefix
//! and no `*` of an allow rule covers them: the rule must name them.
//!
//! A list of such options is never complete, and a list of harmless ones for every program would
//! prompt for lines that the user allowed in good faith. So there are three forms, from the
//! strictest to the most lenient:
//!
//! - For programs most of whose options name files or programs, a rule covers only the options known
//!   to do neither: [`known`], and the sub-commands in [`sub_command`].
//! - For programs that most users allow by prefix, a rule covers everything except the options in
//!   [`table`] and the words found by [`operand`] and its sibling modules.
//! - For every program, a rule covers no option whose name says that it runs a program or writes a
//!   file: [`form::telling_option`] and [`table::ANYWHERE`].
//!
//! A rule covers any option that is unknown here.

use std::path::PathBuf;

use super::script::Word;
use super::spelling::{Piece, Spelling, spell};
use super::wrapper;

mod built_in;
mod clone;
mod compiler;
mod dotnet;
mod entry;
mod form;
mod git_config;
mod known;
mod make;
mod open;
mod operand;
mod package_runner;
mod place;
mod read_file;
mod remote;
pub mod run_time;
mod strategy;
mod sub_command;
mod table;
mod tar;

use super::program::{Program, base_name, mark_ends_git_options};
use entry::{OptionEntry, entries, has_option_files, rows, values_of};
use table::ANYWHERE;

pub use entry::{flags, letters_with_value};

/// An option that a rule must name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    /// As in the table.
    pub option: String,
    /// As in the command, without a value after `=`.
    pub written: String,
    /// Its position among the words; `usize::MAX` if unknown.
    pub place: usize,
    /// Letters that take the rest of a word as their value.
    values: &'static str,
}

impl Danger {
    fn new(option: impl Into<String>, written: impl Into<String>, place: usize) -> Self {
        Self { option: option.into(), written: written.into(), place, values: "" }
    }

    /// Stands for an option that words known only at run time may turn out to be.
    pub fn unknown_words() -> Self {
        Self::new(OPEN_WORDS, "", usize::MAX)
    }

    /// Stands for a shell, of which no rule can name what it runs.
    pub fn shell() -> Self {
        Self::new(SHELL, SHELL, usize::MAX)
    }

    /// Stands for a wrapper among the words, of which a rule must name all up to what it starts.
    pub fn wrapper(place: usize) -> Self {
        Self::new(WRAPPER, "", place)
    }

    /// Whether one of the words of a rule names the option.
    pub fn is_named(&self, rule: &str) -> bool {
        let letter = self.option.strip_prefix('-').filter(|letter| letter.chars().count() == 1);
        rule.split(' ').any(|word| {
            let name = word.split(['=', '*']).next().unwrap_or_default();
            let cluster = name.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            !name.is_empty() && (name == self.option || name == self.written)
                || word == self.written
                || letter.is_some_and(|letter| {
                    cluster.is_some_and(|letters| {
                        is_cluster(letters) && flags(letters, self.values).contains(letter)
                    })
                })
        })
    }
}

/// Finds the dangerous options of a command that runs in one of `bases`; its first word is the program.
pub fn find(words: &[Word], bases: &[PathBuf]) -> Vec<Danger> {
    find_within(words, bases, Search::default())
}

/// The same for a command that bash may make of one that was searched: only its words are new.
pub fn find_in_reading(words: &[Word], bases: &[PathBuf]) -> Vec<Danger> {
    find_within(words, bases, Search { is_reading: true, ..Search::default() })
}

/// How a command is searched.
#[derive(Clone, Copy, Default)]
struct Search {
    /// How many runners stand before it.
    runners: usize,
    /// The files that no word shows are already known.
    is_reading: bool,
}

impl Search {
    fn behind_runner(self) -> Self {
        Self { runners: self.runners + 1, ..self }
    }
}

fn find_within(words: &[Word], bases: &[PathBuf], search: Search) -> Vec<Danger> {
    let Some(program) = words.first() else { return Vec::new() };
    if search.runners > MAX_RUNNERS {
        return vec![Danger::unknown_words()];
    }
    let name = listed_name(&program.text);
    let spelled = spell(words);
    if spelled.len() != words.len() {
        return match expanded(words) {
            Some(words) => find_within(&words, bases, search),
            None => vec![Danger::unknown_words()],
        };
    }
    let mut dangers = sub_command::find(name, &spelled);
    dangers.extend(git_config::find(name, words, &spelled));
    dangers.extend(git_operands(name, &spelled, bases, search));
    dangers.extend(operand::find(name, &spelled, bases));
    dangers.extend(clone::find_handed_on(name, words, &spelled, bases));
    let mut end = end_of_options(name, &spelled);
    dangers.extend(known::find(name, &spelled, end));
    if let Some(place) = operand::npx_command(name, &spelled) {
        end = place;
        let inner = find_within(&words[place..], bases, search.behind_runner()).into_iter();
        dangers.extend(
            inner.map(|danger| Danger { place: danger.place.saturating_add(place), ..danger }),
        );
    }
    let is_listed = |name: &str, words: &[Spelling<'_>]| is_listed(listed_name(name), words);
    // If one of these is an option's value, the program is the next word.
    for place in operand::runner_commands(name, &spelled, is_listed) {
        // `npm exec prettier -- --check .`: the runner takes the mark out.
        let mut inner = words[place..].to_vec();
        let mark = inner.iter().position(|word| word.literal && word.text == "--");
        mark.map(|mark| inner.remove(mark));
        let behind = |at: usize| usize::from(mark.is_some_and(|mark| at >= mark));
        let found = find_within(&inner, bases, search.behind_runner()).into_iter();
        dangers.extend(found.map(|danger| {
            let at = danger.place.saturating_add(behind(danger.place));
            Danger { place: at.saturating_add(place), ..danger }
        }));
    }
    if operand::has_too_many_words(name, &spelled) {
        dangers.push(Danger::unknown_words());
    }
    dangers.extend(operand::script_options(name, &spelled, is_listed));
    let rows: Vec<&'static str> = rows(name, &spelled).collect();
    let words = CommandWords { name, words, spelled: &spelled, rows: &rows, bases };
    dangers.extend(words.options(end, &dangers));
    // The text after the mark may be an address as well.
    for (place, word) in spelled.iter().enumerate().skip(end) {
        let option = word.exact().and_then(|text| form::address(name, text));
        dangers.extend(option.map(|option| Danger::new(option.clone(), option, place)));
    }
    let values = rows.into_iter().map(values_of).find(|values| !values.is_empty());
    for danger in dangers.iter_mut().filter(|danger| danger.values.is_empty()) {
        danger.values = values.unwrap_or_default();
    }
    dangers
}

/// The words after brace expansion. `None` if one is known only at run time or is empty: bash drops
/// the empty words of `{,}`.
fn expanded(words: &[Word]) -> Option<Vec<Word>> {
    let mut all = Vec::with_capacity(words.len());
    for word in words {
        let spelled = spell(std::slice::from_ref(word));
        if let [_] = spelled[..] {
            all.push(word.clone());
            continue;
        }
        for spelling in spelled {
            let is_open = spelling.exact().is_none();
            let begins = spelling.beginning();
            if begins.is_empty() || is_open && begins.starts_with('-') {
                return None;
            }
            let pieces = spelling.clone().into_pieces();
            if pieces.iter().any(|piece| matches!(piece, Piece::Variable(_) | Piece::Any)) {
                return None;
            }
            // Names matched by a glob begin as it does.
            all.push(Word { literal: !is_open, ..literal_word(&spelling.outline()) });
        }
    }
    Some(all)
}

/// Operands and strategies of git, which depend on its sub-command.
fn git_operands(
    name: &str,
    spelled: &[Spelling<'_>],
    bases: &[PathBuf],
    search: Search,
) -> Vec<Danger> {
    let place = Program::named(name)
        .filter(|_| name == "git")
        .and_then(|program| git_config::sub_command(program, spelled));
    let Some(place) = place else { return Vec::new() };
    let name = spelled[place].exact().unwrap_or_default();
    let git = GitCommand { name, place, words: spelled, bases };
    let mut dangers = remote::find(git);
    dangers.extend(strategy::find(git));
    dangers.extend(clone::find(git));
    dangers.extend(read_file::find(git));
    if !search.is_reading {
        dangers.extend(read_file::find_unseen(git));
    }
    dangers
}

/// A command of git.
#[derive(Clone, Copy)]
struct GitCommand<'a> {
    /// The sub-command.
    name: &'a str,
    /// Its position among the words.
    place: usize,
    words: &'a [Spelling<'a>],
    bases: &'a [PathBuf],
}

impl<'a> GitCommand<'a> {
    /// The words after the sub-command, with their positions.
    fn arguments(self) -> impl Iterator<Item = (usize, &'a Spelling<'a>)> {
        self.words.iter().enumerate().skip(self.place + 1)
    }
}

/// A command whose words are examined one by one.
struct CommandWords<'a> {
    name: &'a str,
    words: &'a [Word],
    spelled: &'a [Spelling<'a>],
    /// The rows of the table for the program and its sub-command.
    rows: &'a [&'static str],
    bases: &'a [PathBuf],
}

impl CommandWords<'_> {
    /// The dangerous options before `end`, except where a danger was already found.
    fn options(&self, end: usize, found: &[Danger]) -> Vec<Danger> {
        let hidden = hidden_options(self.words);
        let mut entries: Vec<OptionEntry> = entries(self.name, self.spelled).collect();
        let is_listed = is_listed(self.name, self.spelled);
        let anywhere = ANYWHERE.split_whitespace().filter(|option| !option.starts_with('!'));
        let anywhere = anywhere.filter(|option| !self.is_harmless(option));
        let anywhere = anywhere.map(|option| OptionEntry {
            program: self.name,
            option,
            row: ANYWHERE,
            is_known: false,
        });
        entries.extend(anywhere);
        let mut dangers = Vec::new();
        for (place, word) in self.spelled.iter().enumerate().take(end).skip(1) {
            if found.iter().any(|danger| danger.place == place) {
                continue;
            }
            let mut values = "";
            let option = match word {
                Spelling::Open(_) => {
                    let may_be = is_listed && hidden.get(place).copied().unwrap_or(true);
                    self.hides_option(place, &entries, may_be).then(|| OPEN_WORDS.to_owned())
                }
                Spelling::Plain(text) => {
                    let following = &self.spelled[place + 1..];
                    let next = following.first().and_then(Spelling::exact);
                    let entry = entries.iter().find(|entry| entry.is(text, next, place));
                    let entry =
                        entry.filter(|_| !built_in::is_built_in(self.name, text, following));
                    values = entry.map_or("", |entry| entry.values());
                    let before = &self.spelled[..place];
                    let option = entry.map(|entry| entry.show());
                    option
                        .or_else(|| form::find(self.name, word, before, self.bases))
                        .or_else(|| self.telling_option(text))
                }
            };
            let written = word.exact().unwrap_or_default();
            let written = match is_list(self.name, written) {
                true => written,
                false => written.split('=').next().unwrap_or_default(),
            };
            let danger = |option| Danger { values, ..Danger::new(option, written, place) };
            dangers.extend(option.map(danger));
        }
        dangers
    }

    /// Whether the open word at `place` may turn out to be a dangerous option.
    fn hides_option(&self, place: usize, entries: &[OptionEntry<'_>], may_be_any: bool) -> bool {
        let word = &self.spelled[place];
        let beginning = word.beginning();
        let before = &self.spelled[..place];
        // A lone dash may begin a long option.
        let is_open_name =
            beginning == "-" || beginning.starts_with("--") && !beginning.contains('=');
        is_open_name
            || entries.iter().any(|entry| entry.may_be_in(&beginning, place))
            || may_be_any && !is_message(self.name, self.spelled, self.words, place)
            || compiler::find_open(self.name, word, before, self.bases)
            || form::find_open(self.name, word, before, self.bases)
            || self.telling_option(&beginning).is_some()
    }

    fn telling_option(&self, word: &str) -> Option<String> {
        form::telling_option(word).filter(|option| !self.is_harmless(option))
    }

    /// Whether the table lists an option of this name as harmless.
    fn is_harmless(&self, option: &str) -> bool {
        let is_option = |word: &str| word.strip_prefix('!') == Some(option);
        self.rows.iter().any(|row| row.split_whitespace().any(is_option))
    }
}

/// Whether a dangerous option appears literally in the command.
pub fn has_certain(words: &[Word]) -> bool {
    find(words, &[]).iter().any(|danger| danger.option != OPEN_WORDS)
}

/// Whether the table knows the program with its sub-command.
pub fn knows(words: &[Word]) -> bool {
    let name = listed_name(words.first().map_or("", |word| &word.text));
    is_listed(name, &spell(words))
}

/// Whether the tables list options for the program and its sub-command, or it runs other programs.
fn is_listed(name: &str, spelled: &[Spelling<'_>]) -> bool {
    known::has(name) || operand::is_runner(name) || entries(name, spelled).next().is_some()
}

/// The program's name in the tables: `x86_64-linux-gnu-gcc-12` is a gcc.
fn listed_name(program: &str) -> &str {
    // A runner of packages takes a version along: `eslint@8`.
    let name = wrapper::package_name(base_name(program));
    let is_version = |end: &str| end.chars().all(|c| c.is_ascii_digit() || c == '.');
    let bare = match name.rsplit_once('-') {
        Some((start, end)) if !end.is_empty() && is_version(end) => start,
        _ => name,
    };
    let tool = bare.rsplit('-').next().unwrap_or(bare);
    [name, bare, tool].into_iter().find(|name| has_option_files(name)).unwrap_or(name)
}

/// Maximum runners before a command that are looked through.
const MAX_RUNNERS: usize = 3;

/// A shell that stands among the words of another program.
const SHELL: &str = "a shell among its words";

/// A program that starts another one and stands among the words of a third.
const WRAPPER: &str = "a program among its words that starts another one";

/// Stands for an option that no rule can name.
const OPEN_WORDS: &str = "words known only at run time";

/// For each word that [`spell`] makes of these, whether it may become an option whatever its variables hold.
fn hidden_options(words: &[Word]) -> Vec<bool> {
    let mut hidden = Vec::with_capacity(words.len());
    for word in words {
        if word.literal {
            hidden.push(false);
        } else if word.raw.contains('{') && !word.raw.contains("${") {
            // Brace expansion makes several words of one.
            let expands = word.raw.contains(['$', '`']);
            for spelling in spell(std::slice::from_ref(word)) {
                hidden.push(expands || spelling.beginning().is_empty());
            }
        } else {
            let spelled = spell(std::slice::from_ref(word)).len();
            let may_be = spelled != 1 || open::may_be_option(&word.raw);
            hidden.extend(std::iter::repeat_n(may_be, spelled));
        }
    }
    hidden
}

/// Programs, each with a word that must be in the command, and the options whose next word is free text.
const MESSAGES: &[(&str, &str)] = &[
    ("git/commit git/tag git/merge", "-m -am -sm --message"),
    ("gh/create gh/edit gh/comment", "-t -b --title --body --notes"),
];

/// Options without a value that may precede one of [`MESSAGES`].
const FLAGS: &str =
    "-a -s -q -v -n --all --amend --allow-empty --no-verify --no-edit --quiet --signoff --draft";

/// Whether the word at this place is a message that is quoted as a whole.
pub fn is_message_at(words: &[Word], place: usize) -> bool {
    let name = words.first().map_or("", |word| listed_name(&word.text));
    let is_quoted = words.get(place).is_some_and(|word| word.raw.starts_with('"'));
    is_quoted && matches!(name, "git" | "gh") && is_message(name, &spell(words), words, place)
}

/// Whether a word, as written, is in double quotes and stays one word.
pub fn is_quoted_as_one(raw: &str) -> bool {
    raw.len() > 1 && raw.starts_with('"') && raw.ends_with('"') && open::is_one_word(raw)
}

/// Whether the word, quoted as a whole, is the message after `-m` or the like.
fn is_message(name: &str, spelled: &[Spelling<'_>], words: &[Word], place: usize) -> bool {
    let is_one = words.get(place).is_some_and(|word| is_quoted_as_one(&word.raw));
    if spelled.len() != words.len() || !is_one {
        return false;
    }
    let sub_command = spelled.get(1).and_then(Spelling::exact);
    let options = MESSAGES.iter().find(|(names, _)| {
        names.split_whitespace().filter_map(|entry| entry.split_once('/')).any(|(own, part)| {
            own == name
                && (sub_command == Some(part)
                    || name == "gh" && spelled.get(2).and_then(Spelling::exact) == Some(part))
        })
    });
    let Some((_, options)) = options else { return false };
    let is = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let is_option = |place: usize| {
        spelled.get(place).and_then(Spelling::exact).is_some_and(|word| is(options, word))
    };
    // All words from the sub-command on are read, so the option is not another one's value.
    let mut at = 2;
    while at < place {
        if is_option(at) {
            if at + 1 == place {
                return true;
            }
            at += 2;
            continue;
        }
        let Some(word) = spelled[at].exact() else { return false };
        if word.starts_with('-') && !is(FLAGS, word) {
            return false;
        }
        at += 1;
    }
    false
}

fn literal_word(text: &str) -> Word {
    Word { text: text.to_owned(), raw: text.to_owned(), literal: true }
}

/// Programs for which words after `--` can be as dangerous as those before it.
const IGNORES_DASHES: &[&str] = &[
    "find", "cargo", "cmake", "make", "gmake", "mvn", "mvnw", "ed", "sqlite3", "psql", "mysql",
    "mariadb",
];

/// The position of the `--` that ends the options. One after an option may be that option's value, which ends nothing.
fn end_of_options(name: &str, words: &[Spelling<'_>]) -> usize {
    // find has no such mark, arguments that cargo passes on to tests can write a file, and the
    // others run their arguments as variables, goals or statements. Option files are read before
    // any mark is.
    if IGNORES_DASHES.contains(&name) || has_option_files(name) || hands_on_options(name, words) {
        return words.len();
    }
    let is_option = |place: usize| {
        words[place].exact().is_none_or(|text| text.starts_with('-') && !text.contains('='))
    };
    let mut places = (1..words.len()).filter(|&place| words[place].exact() == Some("--"));
    places.find(|&place| !is_option(place - 1)).unwrap_or(words.len())
}

/// Whether git may hand what is behind a `--` to another of its commands.
fn hands_on_options(name: &str, words: &[Spelling<'_>]) -> bool {
    let place = Program::named(name)
        .filter(|_| name == "git")
        .and_then(|program| git_config::sub_command(program, words));
    place.is_some_and(|place| {
        let text = |word: &Spelling<'_>| word.exact().unwrap_or_default().to_owned();
        let texts: Vec<String> = words[place..].iter().take(2).map(text).collect();
        !mark_ends_git_options(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

/// Whether the word holds several options or properties: a rule that names the first does not name the others.
fn is_list(name: &str, word: &str) -> bool {
    match compiler::listed(word) {
        Some(list) => list.contains(','),
        None => matches!(name, "dotnet" | "msbuild") && word.contains([';', ',']),
    }
}

fn is_cluster(letters: &str) -> bool {
    !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests;
