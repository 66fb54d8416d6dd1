//! Finds the files that one word may name.

use crate::permission::program::base_name;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use url::Url;

use super::lists::holds_input;
use super::named::NamedFiles;
use crate::disk::checkout_root;
use crate::permission::path::PathTarget;
use crate::permission::script::{Script, Word, printf_sets};
use crate::permission::shell::has_other_expansion;
use crate::permission::spelling::{
    Piece, Spelling, escaped, fits, globbed, has_open_bracket, separate_defaults, spell,
    with_open_brackets,
};
use crate::permission::{variables, wrapper};

/// Programs that can set variables, or run something that does.
const SETTERS: &[&str] = &[
    ".",
    "alias",
    "builtin",
    "command",
    "coproc",
    "declare",
    "env",
    "eval",
    "exec",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "set",
    "source",
    "trap",
    "typeset",
    "unset",
    "wait",
];

/// Programs that set variables to what they read.
const READERS: [&str; 3] = ["mapfile", "read", "readarray"];

/// Variables that the shell itself reads: a line that sets one may mean any file by it.
const SPECIAL: [&str; 4] = ["HOME", "IFS", "OLDPWD", "PWD"];

/// Maximum folder entries and path steps examined for one line, all its words together.
const MAX_STEPS: usize = 50_000;
/// Maximum bytes of a value that is read.
const MAX_VALUE: usize = 256;
/// Characters in a word that a file name may follow, as in `--file=a`, `f=@a`, `f=<a`, `file:a` and `a,b`.
const MARKS: &str = "=:@<,;+%|";
/// Characters besides letters and digits that are options of their own, as in `curl -#K file`.
const OPTION_SIGNS: &str = "#.@!?:^~$%&*+,";
/// Maximum texts that the variables in one word may produce.
const MAX_TEXTS: usize = 64;

type KnownValues = BTreeMap<String, Vec<Vec<Piece>>>;

/// The values of the variables that the line sets. If a command may set some too, each may have another.
fn known_values(script: &Script, home: Option<&Path>) -> KnownValues {
    let mut values = KnownValues::new();
    let sets = |words: &[Word]| {
        let program = words.first().map_or("", |word| base_name(&word.text));
        SETTERS.contains(&program) || program == "printf" && printf_sets(words)
    };
    let commands = script.all_commands();
    let setters: Vec<&[Word]> = commands
        .into_iter()
        .flat_map(wrapper::possible_commands)
        .filter(|words| sets(words))
        .collect();
    let is_set = !setters.is_empty();
    // A variable that a command sets may hold any text, besides the values in the line.
    let other = is_set.then(|| vec![Piece::Any]);
    let is_known = |piece: &Piece| !matches!(piece, Piece::Any | Piece::Variable(_));
    for (name, texts) in variables::variable_texts(script) {
        let texts = texts.iter().flat_map(|text| expand_shell_variables(text, home));
        let known = texts.map(|text| match text {
            text if text.len() > MAX_VALUE || text.contains(&Piece::Limit) => vec![Piece::Limit],
            text if text.iter().all(is_known) => text,
            _ => vec![Piece::Any],
        });
        // Unquoted, it becomes several words. If the line sets it later, or never, it is empty.
        let known = known.map(|text| text.into_iter().map(mark_blank).collect());
        let known = std::iter::once(Vec::new()).chain(known).chain(other.clone());
        values.insert(name, known.collect());
    }
    // These decide where bash splits a value, and in which folder it is.
    let names = |word: &Word, name: &str| {
        let text = word.text.strip_prefix("-v").unwrap_or(&word.text);
        text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    for name in SPECIAL {
        if setters.iter().copied().flatten().any(|word| names(word, name)) {
            values.entry(name.to_owned()).or_default();
        }
    }
    let splits = values.contains_key("IFS");
    for (_, texts) in values.iter_mut().filter(|(name, _)| splits || SPECIAL.contains(&&***name)) {
        *texts = vec![vec![Piece::Limit]];
    }
    values
}

/// The variables that `read` and its like set, and those that get their values from these.
fn read_variables(script: &Script) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for words in script.all_commands().into_iter().flat_map(wrapper::possible_commands) {
        let program = words.first().map_or("", |word| base_name(&word.text));
        if READERS.contains(&program) {
            names.extend(["MAPFILE", "REPLY"].map(str::to_owned));
            names.extend(words[1..].iter().map(|word| word.text.clone()));
        }
    }
    if names.is_empty() {
        return names;
    }
    for (name, texts) in variables::variable_texts(script) {
        let is_read = |piece: &Piece| matches!(piece, Piece::Variable(own) if names.contains(own));
        if texts.iter().flatten().any(is_read) {
            names.insert(name);
        }
    }
    names
}

/// The white space at which bash splits a value, and what stands for it there: no line has these.
const BLANKS: [(char, char); 3] = [(' ', '\u{1}'), ('\t', '\u{2}'), ('\n', '\u{3}')];

/// The piece of a value, marked if bash may split the value there.
pub(super) fn mark_blank(piece: Piece) -> Piece {
    let blank = BLANKS.iter().find(|(blank, _)| piece == Piece::Char(*blank));
    blank.map_or(piece, |(_, mark)| Piece::Char(*mark))
}

/// Whether bash may split a value at this piece of it.
pub(super) fn is_blank(piece: &Piece) -> bool {
    BLANKS.iter().any(|(_, mark)| *piece == Piece::Char(*mark))
}

/// The text with its white space as it is in quotes.
pub(super) fn without_marks(text: &[Piece]) -> Vec<Piece> {
    let plain = |piece: &Piece| {
        let blank = BLANKS.iter().find(|(_, mark)| *piece == Piece::Char(*mark));
        blank.map_or_else(|| piece.clone(), |(blank, _)| Piece::Char(*blank))
    };
    text.iter().map(plain).collect()
}

/// The value that a name of a file is. One that is no plain text may be anything.
pub(super) fn value_of_name(name: &OsStr) -> Vec<Piece> {
    match name.to_str().filter(|text| !text.contains(char::is_control)) {
        Some(text) => text.chars().map(Piece::Char).map(mark_blank).collect(),
        None => vec![Piece::Limit],
    }
}

/// The text with the variables that the shell sets itself substituted. The shell's current folder
/// begins a relative name; behind other text it also counts as unknown.
fn expand_shell_variables(text: &[Piece], home: Option<&Path>) -> Vec<Vec<Piece>> {
    let chars = |text: &str| text.chars().map(Piece::Char).collect::<Vec<_>>();
    let home = home.and_then(Path::to_str);
    let is_working_dir = |piece: &Piece| matches!(piece, Piece::Variable(name) if name == "PWD");
    let piece = |piece: &Piece| match (piece, home) {
        (Piece::Variable(name), Some(home)) if name == "HOME" => chars(home),
        _ if is_working_dir(piece) => chars("."),
        _ => vec![piece.clone()],
    };
    let is_within = text.iter().skip(1).any(is_working_dir);
    let unknown = is_within.then(|| vec![Piece::Any]);
    std::iter::once(text.iter().flat_map(piece).collect()).chain(unknown).collect()
}

/// The text with `one` for `{one}`; `None` if it has no such part.
fn without_single_braces(text: &str) -> Option<String> {
    let mut plain = String::new();
    let (mut rest, mut found) = (text, false);
    while let Some((before, behind)) = rest.split_once('{') {
        plain.push_str(before);
        rest = behind;
        match behind.split_once('}') {
            Some((inner, after)) if !before.ends_with('$') && !inner.contains(['{', ',']) => {
                plain.push_str(inner);
                (rest, found) = (after, true);
            }
            _ => plain.push('{'),
        }
    }
    found.then(|| plain + rest)
}

/// Finds files for the words of one line.
pub struct FileLookup<'a> {
    /// Folders that relative names refer to.
    pub bases: Vec<PathBuf>,
    home: Option<&'a Path>,
    pub(super) values: KnownValues,
    /// Variables that get their values from what a command reads.
    read: BTreeSet<String>,
    /// Steps left; absent once the limit was exceeded.
    left: Option<usize>,
}

impl<'a> FileLookup<'a> {
    /// Reads the variables of the script; its names are relative to `bases`.
    pub fn new(script: &Script, bases: Vec<PathBuf>, home: Option<&'a Path>) -> Self {
        let values = known_values(script, home);
        let read = match holds_input(script) {
            true => read_variables(script),
            false => BTreeSet::new(),
        };
        let mut lookup = Self { bases, home, values, read, left: Some(MAX_STEPS) };
        lookup.add_glob_names();
        lookup
    }

    /// Whether a word had more files than the limit.
    pub fn is_exhausted(&self) -> bool {
        self.left.is_none()
    }

    /// The files that a word may name: the whole word, the text after one of [`MARKS`] or
    /// one-letter options in it, up to the end or to the next mark, and the target of a file
    /// address. Quoted globs count as well: many programs expand them themselves.
    pub fn files(&mut self, word: &Word) -> NamedFiles {
        let mut files = NamedFiles::default();
        if self.is_exhausted() {
            return files;
        }
        if word.has_positional() || !word.literal && self.is_read(word) {
            files.unbounded = true;
        }
        let written = expand_home(word.text.trim_matches('"'), self.home);
        self.parts(&written.chars().map(Piece::Char).collect::<Vec<_>>(), &mut files);
        if written != word.text {
            // Quoted, it is a name as it stands.
            self.parts(&word.text.chars().map(Piece::Char).collect::<Vec<_>>(), &mut files);
        }
        for text in self.texts(word) {
            if text.contains(&Piece::Limit) {
                files.unbounded = true;
            } else if text.contains(&Piece::Any) {
                files.open.get_or_insert_with(|| word.raw.chars().take(60).collect());
                let widest = with_open_brackets(&text, &Piece::Star);
                if has_open_bracket(&text) && !widest.contains(&Piece::Any) {
                    self.parts(&widest, &mut files);
                }
            } else {
                self.parts(&text, &mut files);
            }
        }
        // The text in an expansion of any form names a file as well.
        if !word.literal && has_other_expansion(&word.raw) {
            for text in separate_defaults(&word.text).split([' ', '}']).skip(1) {
                self.parts(&text.chars().map(Piece::Char).collect::<Vec<_>>(), &mut files);
            }
        }
        // Some programs expand braces themselves, curl also `{one}`.
        if word.text.contains('{') && self.spend(word.text.len()) {
            if let Some(text) = without_single_braces(&word.text) {
                self.parts(&text.chars().map(Piece::Char).collect::<Vec<_>>(), &mut files);
            }
            let bare = Word { text: String::new(), raw: word.text.clone(), literal: false };
            for text in spell(&[bare]).into_iter().map(Spelling::into_pieces) {
                let is_unknown =
                    |piece: &Piece| matches!(piece, Piece::Any | Piece::Limit | Piece::Variable(_));
                if !text.iter().any(is_unknown) {
                    self.parts(&text, &mut files);
                }
            }
        }
        files
    }

    /// Whether a part of the word is what a command reads.
    fn is_read(&self, word: &Word) -> bool {
        let is_it =
            |piece: &Piece| matches!(piece, Piece::Variable(name) if self.read.contains(name));
        !self.read.is_empty()
            && spell(std::slice::from_ref(word))
                .into_iter()
                .any(|text| text.into_pieces().iter().any(is_it))
    }

    /// The folders that the word may name from each base, and whether there may be others.
    pub fn folders(&mut self, word: &Word) -> (Vec<PathBuf>, bool) {
        let mut folders = Vec::new();
        let texts = match word.literal {
            true => vec![word.text.chars().map(Piece::Char).collect()],
            false => self.texts(word),
        };
        let is_open = |piece: &Piece| matches!(piece, Piece::Any | Piece::Limit);
        for text in texts.iter().filter(|text| !text.iter().any(is_open)) {
            for base in self.bases.clone() {
                folders.extend(self.matches(&base, text));
            }
        }
        let is_all = !texts.iter().flatten().any(is_open) && !self.is_exhausted();
        (folders, is_all)
    }

    /// The possible texts of a word known only at run time, as far as the values of variables determine them.
    fn texts(&mut self, word: &Word) -> Vec<Vec<Piece>> {
        let mut texts = Vec::new();
        if !word.literal {
            texts.extend(spell(std::slice::from_ref(word)).into_iter().map(Spelling::into_pieces));
        }
        self.spend(texts.iter().map(Vec::len).sum::<usize>() / 8);
        let mut all: Vec<Vec<Piece>> = Vec::new();
        for text in texts.iter().flat_map(|text| self.substituted(text, MAX_TEXTS)) {
            let parts: Vec<&[Piece]> = text.split(is_blank).collect();
            if parts.len() > 1 {
                let parts = parts.into_iter().filter(|part| !part.is_empty());
                all.extend(parts.map(<[Piece]>::to_vec));
                // Quoted, it is one word.
                all.push(without_marks(&text));
            } else {
                all.push(text);
            }
        }
        all
    }

    /// The texts that the known values of variables make of one, up to a limit; unknown variables
    /// stay open.
    pub(super) fn substituted(&self, text: &[Piece], limit: usize) -> Vec<Vec<Piece>> {
        let mut texts: Vec<Vec<Piece>> = vec![Vec::new()];
        for (at, piece) in text.iter().enumerate() {
            let Piece::Variable(name) = piece else {
                texts.iter_mut().for_each(|text| text.push(piece.clone()));
                continue;
            };
            let chars = |text: &str| vec![text.chars().map(Piece::Char).collect::<Vec<_>>()];
            let home = self.home.and_then(Path::to_str);
            let values = match (self.values.get(name), name.as_str(), home) {
                (Some(values), ..) => values.clone(),
                (None, "HOME", Some(home)) => chars(home),
                (None, "PWD", _) if at == 0 => chars("."),
                // The value of an option, perhaps.
                (None, "PWD", _) => vec![vec![Piece::Char('.')], vec![Piece::Any]],
                // One of the folders in which names are looked up, or none if no `cd` succeeded.
                (None, "OLDPWD", _) if at == 0 => {
                    vec![vec![Piece::Char('.')], vec![Piece::Any]]
                }
                _ => vec![vec![Piece::Any]],
            };
            // Quotes decide how bash splits a value that stands beside other text, and where a bracket
            // ends.
            let is_certain = |piece: &Piece| !is_blank(piece) && *piece != Piece::Char('[');
            let is_split = text.len() > 1 && !values.iter().flatten().all(is_certain);
            if is_split || texts.len() * values.len() > limit {
                return vec![vec![Piece::Limit]];
            }
            let with = |text: &Vec<Piece>| -> Vec<Vec<Piece>> {
                values.iter().map(|value| [text.as_slice(), value].concat()).collect()
            };
            texts = texts.iter().flat_map(with).collect();
        }
        texts
    }

    fn parts(&mut self, text: &[Piece], files: &mut NamedFiles) {
        let is_mark = |piece: &Piece| matches!(piece, Piece::Char(c) if MARKS.contains(*c));
        let marks: Vec<usize> = (0..text.len()).filter(|&at| is_mark(&text[at])).collect();
        let mut starts = vec![0];
        if text.first() == Some(&Piece::Char('-')) {
            let is_letter = |piece: &&Piece| matches!(piece, Piece::Char(c) if c.is_alphanumeric() || OPTION_SIGNS.contains(*c));
            let letters = text[1..].iter().take_while(is_letter).count();
            starts.extend((2..2 + letters).filter(|start| *start < text.len()));
        }
        starts.extend(marks.iter().map(|at| at + 1));
        for start in starts {
            if !self.spend(1 + text.len() / 64) {
                return;
            }
            self.paths(&text[start..], files);
            if start > 0 && text[start - 1] == Piece::Char(':') {
                self.paths_in_commits(&text[start..], files);
            }
            let next = marks[marks.partition_point(|&at| at < start)..].first();
            if let Some(&end) = next {
                self.paths(&text[start..end], files);
            }
            // A quote that the shell leaves to the program.
            let quote = text.get(start).filter(|it| matches!(it, Piece::Char('"' | '\'')));
            if let Some(quote) = quote {
                let inner = &text[start + 1..];
                let end = inner.iter().position(|piece| piece == quote).unwrap_or(inner.len());
                self.paths(&inner[..end], files);
            }
        }
        self.address(text, files);
    }

    /// The file named by a `file:` address in the text.
    fn address(&mut self, text: &[Piece], files: &mut NamedFiles) {
        let char = |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
        let Some(text) = text.iter().map(char).collect::<Option<String>>() else { return };
        files.unbounded |= makes_addresses(&text);
        let Some(at) = text.to_ascii_lowercase().find("file:") else { return };
        let url = text.get(at..).and_then(|text| Url::parse(text).ok());
        // A program may take any host for this machine.
        let path = url.and_then(|url| {
            Url::parse(&format!("file://{}", url.path())).ok()?.to_file_path().ok()
        });
        if let Some(path) = path {
            self.target(Path::new("/"), &path, &mut files.targets);
        }
    }

    /// Adds the file that git finds by `HEAD:NAME`, from the top of the checkout.
    fn paths_in_commits(&mut self, text: &[Piece], files: &mut NamedFiles) {
        let tops: Vec<PathBuf> = self.bases.iter().map(|base| checkout_root(base)).collect();
        let bases = std::mem::replace(&mut self.bases, tops);
        self.bases.retain(|top| !bases.contains(top));
        self.paths(text, files);
        self.bases = bases;
    }

    /// Adds the file of this name and, for globs, those that it matches.
    fn paths(&mut self, text: &[Piece], files: &mut NamedFiles) {
        if text.is_empty() {
            return;
        }
        let plain = as_written(text);
        for base in self.bases.clone() {
            let Some(plain) = &plain else { break };
            // A program may expand it, too; quoted, bash takes it for a folder of that name.
            if let Some((below, home)) = plain.strip_prefix("~/").zip(self.home) {
                self.target(&base, &home.join(below), &mut files.targets);
            } else if let Some(path) = user_path(plain) {
                self.target(&base, &path, &mut files.targets);
            }
            self.target(&base, Path::new(plain), &mut files.targets);
        }
        for text in std::iter::once(globbed(text)).chain(escaped(text)) {
            self.matching_paths(&text, files);
        }
    }

    /// Adds the files that a glob matches, and the name of any word.
    fn matching_paths(&mut self, text: &[Piece], files: &mut NamedFiles) {
        if text.first() != Some(&Piece::Char('/')) {
            let name = text.rsplit(|piece| *piece == Piece::Char('/')).next();
            files.names.extend(name.map(<[Piece]>::to_vec));
        }
        if text.iter().all(|piece| matches!(piece, Piece::Char(_))) {
            return;
        }
        for base in self.bases.clone() {
            for path in self.matches(&base, text) {
                self.target(&base, &path, &mut files.targets);
            }
        }
    }

    fn target(&mut self, base: &Path, path: &Path, targets: &mut Vec<PathTarget>) {
        if self.spend(base.components().count() + path.components().count()) {
            targets.push(PathTarget::new(base, path));
        }
    }

    /// The files and folders that a pattern below `base` matches, including hidden ones. Brackets
    /// in the name of `base` are literal.
    pub(super) fn matches(&mut self, base: &Path, pattern: &[Piece]) -> Vec<PathBuf> {
        let is_absolute = pattern.first() == Some(&Piece::Char('/'));
        let mut found = vec![if is_absolute { PathBuf::from("/") } else { base.to_owned() }];
        for part in pattern.split(|piece| *piece == Piece::Char('/')) {
            let char = |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
            if part.is_empty() {
                continue;
            }
            if let Some(name) = part.iter().map(char).collect::<Option<String>>() {
                found.iter_mut().for_each(|folder| folder.push(&name));
                continue;
            }
            let mut next = Vec::new();
            for folder in &found {
                if !self.spend(1) {
                    return next;
                }
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                let entries = entries.map(|entry| entry.file_name());
                for name in entries.chain(folders_by_dot(part)) {
                    if !self.spend(1 + part.len() / 16) {
                        return next;
                    }
                    if fits(part, &name.to_string_lossy().chars().collect::<Vec<_>>()) {
                        next.push(folder.join(name));
                    }
                }
            }
            found = next;
        }
        // A pattern with a trailing slash matches only folders.
        if pattern.last() == Some(&Piece::Char('/')) {
            found.retain(|path| path.is_dir());
        }
        found
    }

    /// Takes steps from those left.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(steps));
        self.left.is_some()
    }
}

/// Whether a program such as curl may make addresses of the text that no glob of a shell does: brackets
/// beside an encoded character, or a range of numbers with several digits. One whose scheme is that of a
/// network is no file.
fn makes_addresses(text: &str) -> bool {
    let is_of_network = |scheme: &str| {
        ["http", "https", "ssh", "git", "ftp", "ws", "wss"].iter().any(|it| {
            let before = scheme.strip_suffix(it);
            before.is_some_and(|before| before.is_empty() || before.ends_with(['=', ' ']))
        })
    };
    let Some((scheme, path)) = text.split_once(":/") else { return false };
    let has_range = || {
        path.split('[').skip(1).any(|set| {
            let range = set.split(']').next().unwrap_or_default();
            range.as_bytes().windows(2).any(|pair| pair.iter().all(u8::is_ascii_digit))
        })
    };
    !is_of_network(scheme) && (path.contains('%') && path.contains('[') || has_range())
}

/// The folders that a part of a glob with a dot at its start may match before bash 5.2.
pub(super) fn folders_by_dot(part: &[Piece]) -> impl Iterator<Item = OsString> {
    let names = if part.first() == Some(&Piece::Char('.')) { &[".", ".."][..] } else { &[] };
    names.iter().map(OsString::from)
}

/// The text of a word that matches no file; a star or question mark matches that of its own.
fn as_written(text: &[Piece]) -> Option<String> {
    let text = text.iter().map(|piece| match piece {
        Piece::Char(c) => Some(c.to_string()),
        Piece::Set(set) => Some(set.text.clone()),
        _ => None,
    });
    text.collect()
}

fn expand_home(text: &str, home: Option<&Path>) -> String {
    let below = ["~/", "$HOME/", "${HOME}/"].into_iter().find_map(|start| text.strip_prefix(start));
    match (below, home) {
        (Some(below), Some(home)) => home.join(below).to_string_lossy().into_owned(),
        _ => user_path(text).map_or_else(|| text.to_owned(), |path| path.to_string_lossy().into()),
    }
}

/// The path that bash makes of `~NAME/…`: below the home of the user of this name.
fn user_path(text: &str) -> Option<PathBuf> {
    let (name, below) = text.strip_prefix('~')?.split_once('/')?;
    let user = nix::unistd::User::from_name(name).ok()??;
    Some(user.dir.join(below))
}
