//! The files that the words of a shell line may name. A word counts as bash spells it out: braces, the variables that
//! the line itself sets, and the files that its globs match. What cannot be told that way is a doubt, never a no.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use url::Url;

use super::path::Target;
use super::recursive::{self, Shown};
use super::script::{Script, SimpleCommand, Word};
use super::spelling::{Piece, Spelling, filled, fits, globbed, spell};
use super::wrapper;
use super::writers::{self, Writes};

/// Programs that show nothing of the files they are given.
const SHOW_NOTHING: &[&str] = &[
    ":", "[", "basename", "cd", "chmod", "dirname", "echo", "exit", "export", "false", "kill",
    "ls", "mkdir", "printf", "pwd", "readlink", "realpath", "return", "rm", "rmdir", "seq",
    "sleep", "test", "touch", "true", "type", "unlink", "wait", "which",
];

/// Programs that can set variables, or run what does.
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

/// Entries of folders and steps of paths that are looked at for one line, all its words together.
const MAX_STEPS: usize = 50_000;
/// Bytes of a value that is read.
const MAX_VALUE: usize = 256;
/// Characters in a word behind which a file may be named, as in `--file=a`, `f=@a`, `f=<a`, `file:a` and `a,b`.
const MARKS: &str = "=:@<,;+%|";
/// One-letter options in one word that are looked behind.
const MAX_LETTERS: usize = 6;
/// Texts that the variables in one word make of it.
const MAX_TEXTS: usize = 64;

/// Files named on a command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mentioned {
    /// By any command.
    pub all: Files,
    /// By a command that is known to change files.
    pub by_writers: Files,
    /// By a program that is not known to only read them, with its name.
    pub by_unknown: Vec<(String, Target)>,
    /// What commands show of folders besides what they name.
    pub shown: Vec<Shown>,
}

/// Files, and why there may be more of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    pub targets: Vec<Target>,
    /// A word that is only known when the line runs.
    pub open: Option<String>,
    /// Whether there is more than is looked at.
    pub unbounded: bool,
}

impl Files {
    fn add(&mut self, files: &Self, counts_doubt: bool) {
        self.targets.extend(files.targets.iter().cloned());
        if counts_doubt {
            self.unbounded |= files.unbounded;
            if self.open.is_none() {
                self.open.clone_from(&files.open);
            }
        }
    }
}

impl Mentioned {
    /// Looks up the files of a script, whose relative names are meant in `bases`.
    pub fn of(script: &Script, bases: &[PathBuf], home: Option<&Path>) -> Self {
        let mut mentioned = Self::default();
        let mut lookup = Lookup { bases, home, values: values(script), left: Some(MAX_STEPS) };
        for command in script.all_commands() {
            let writes = writers::writes(command);
            let shows = !SHOW_NOTHING.contains(&wrapper::base_name(command.program()));
            let mut named: Vec<Files> = Vec::new();
            for (at, word) in command.arguments().iter().enumerate() {
                let files = lookup.files(word);
                mentioned.all.add(&files, shows && !is_message(command, at + 1));
                if writes == Writes::Yes || writers::is_output(command, at + 1) {
                    mentioned.by_writers.add(&files, true);
                }
                named.push(files);
            }
            if writes == Writes::Maybe {
                let program = wrapper::base_name(command.program());
                let with_program = |target: &Target| (program.to_owned(), target.clone());
                let targets = named.iter().flat_map(|files| &files.targets);
                mentioned.by_unknown.extend(targets.map(with_program));
            }
            mentioned.shown.extend(recursive::shown(command, &named, bases));
        }
        // A value that is only known later is a doubt where it is used.
        for value in script.all_values() {
            mentioned.all.add(&lookup.files(&value.word), false);
        }
        let (writes, reads) = script.all_redirects();
        for word in reads {
            mentioned.all.add(&lookup.files(word), true);
        }
        for word in writes {
            mentioned.by_writers.add(&lookup.files(word), true);
        }
        let is_unbounded =
            lookup.left.is_none() || script.all_commands().into_iter().any(changes_globs);
        mentioned.all.unbounded |= is_unbounded;
        mentioned.by_writers.unbounded |= is_unbounded;
        mentioned
    }
}

/// Whether the command may change which files a glob in the line stands for.
fn changes_globs(command: &SimpleCommand) -> bool {
    let is = |words: &&[Word]| {
        let program = words.first().map_or("", |word| wrapper::base_name(&word.text));
        program == "shopt" || program == "bash" && words.iter().any(|word| word.text.contains('O'))
    };
    wrapper::views(command).iter().any(is)
}

/// Whether the word at this place is the text of a message, such as that of a commit, and no file.
fn is_message(command: &SimpleCommand, at: usize) -> bool {
    let text = |at: usize| command.words.get(at).map_or("", |word| word.text.as_str());
    let (program, before) = (wrapper::base_name(command.program()), text(at - 1));
    let is_short =
        |letter| before.starts_with('-') && !before.starts_with("--") && before.ends_with(letter);
    match (program, text(1)) {
        ("git", "commit" | "merge" | "notes" | "stash" | "tag") => {
            before == "--message" || is_short('m') || text(at).starts_with("--message=")
        }
        ("gh", _) => {
            matches!(before, "--title" | "--body" | "--notes") || is_short('t') || is_short('b')
        }
        _ => false,
    }
}

type Values = BTreeMap<String, Vec<Vec<Piece>>>;

/// The values of the variables that get theirs in the line and nowhere else: none when a command may set some too.
fn values(script: &Script) -> Values {
    let mut values = Values::new();
    let sets = |words: &[Word]| {
        let program = words.first().map_or("", |word| wrapper::base_name(&word.text));
        let has_target = || words.iter().any(|word| word.text.starts_with("-v"));
        SETTERS.contains(&program) || program == "printf" && has_target()
    };
    if script
        .all_commands()
        .into_iter()
        .any(|command| wrapper::views(command).into_iter().any(sets))
    {
        return values;
    }
    for value in script.all_values() {
        if value.word.raw.len() > MAX_VALUE {
            values.insert(value.name.clone(), vec![vec![Piece::Limit]]);
            continue;
        }
        let texts = spell(std::slice::from_ref(&value.word));
        let known = values.entry(value.name.clone()).or_default();
        known.extend(texts.into_iter().map(|text| {
            let pieces = text.into_pieces();
            let is_known = |piece: &Piece| match piece {
                Piece::Any | Piece::Limit | Piece::Variable(_) => false,
                // Unquoted, it becomes several words.
                Piece::Char(c) => !c.is_whitespace(),
                _ => true,
            };
            if pieces.iter().all(is_known) { pieces } else { vec![Piece::Any] }
        }));
    }
    values
}

struct Lookup<'a> {
    bases: &'a [PathBuf],
    home: Option<&'a Path>,
    values: Values,
    /// Steps that may still be made; absent once there were too many.
    left: Option<usize>,
}

impl Lookup<'_> {
    /// The files that a word may name: the whole of it, what follows one of [`MARKS`] or one-letter options in it, up to
    /// the end or to the next mark, and what an address of a file names. Globs count also in quotes: many programs
    /// expand them by themselves.
    fn files(&mut self, word: &Word) -> Files {
        let mut files = Files::default();
        if self.left.is_none() {
            return files;
        }
        let written = expand_home(word.text.trim_matches('"'), self.home);
        self.parts(&written.chars().map(Piece::Char).collect::<Vec<_>>(), &mut files.targets);
        let mut texts = Vec::new();
        if !word.literal {
            texts.extend(spell(std::slice::from_ref(word)).into_iter().map(Spelling::into_pieces));
            // `${name:-file}` names a file, whatever the value of the variable.
            if let Some(raw) = filled(&word.raw) {
                let filled = Word { text: raw.clone(), raw, literal: false };
                texts.extend(spell(&[filled]).into_iter().map(Spelling::into_pieces));
            }
        }
        self.spend(texts.iter().map(Vec::len).sum::<usize>() / 8);
        for text in texts.iter().flat_map(|text| self.substituted(text)).collect::<Vec<_>>() {
            if text.contains(&Piece::Limit) {
                files.unbounded = true;
            } else if text.contains(&Piece::Any) {
                files.open.get_or_insert_with(|| word.raw.chars().take(60).collect());
            } else {
                self.parts(&text, &mut files.targets);
            }
        }
        // Some programs expand braces by themselves.
        if word.text.contains('{') && self.spend(word.text.len()) {
            let bare = Word { text: String::new(), raw: word.text.clone(), literal: false };
            for text in spell(&[bare]).into_iter().map(Spelling::into_pieces) {
                let is_unknown =
                    |piece: &Piece| matches!(piece, Piece::Any | Piece::Limit | Piece::Variable(_));
                if !text.iter().any(is_unknown) {
                    self.parts(&text, &mut files.targets);
                }
            }
        }
        files
    }

    /// The texts that the known values of variables make of one; what is not known stays open.
    fn substituted(&self, text: &[Piece]) -> Vec<Vec<Piece>> {
        let mut texts: Vec<Vec<Piece>> = vec![Vec::new()];
        for (at, piece) in text.iter().enumerate() {
            let Piece::Variable(name) = piece else {
                texts.iter_mut().for_each(|text| text.push(piece.clone()));
                continue;
            };
            let chars = |text: &str| vec![text.chars().map(Piece::Char).collect::<Vec<_>>()];
            let values = match (self.values.get(name), name.as_str(), self.home) {
                (Some(values), ..) => values.clone(),
                (None, "HOME", Some(home)) => chars(&home.to_string_lossy()),
                (None, "PWD", _) if at == 0 => chars("."),
                _ => vec![vec![Piece::Any]],
            };
            if texts.len() * values.len() > MAX_TEXTS {
                return vec![vec![Piece::Limit]];
            }
            let with = |text: &Vec<Piece>| -> Vec<Vec<Piece>> {
                values.iter().map(|value| [text.as_slice(), value].concat()).collect()
            };
            texts = texts.iter().flat_map(with).collect();
        }
        texts
    }

    fn parts(&mut self, text: &[Piece], targets: &mut Vec<Target>) {
        let is_mark = |piece: &Piece| matches!(piece, Piece::Char(c) if MARKS.contains(*c));
        let marks: Vec<usize> = (0..text.len()).filter(|&at| is_mark(&text[at])).collect();
        let mut starts = vec![0];
        if text.first() == Some(&Piece::Char('-')) {
            let is_letter = |piece: &&Piece| matches!(piece, Piece::Char(c) if c.is_alphanumeric());
            let letters = text[1..].iter().take_while(is_letter).take(MAX_LETTERS).count();
            starts.extend((2..2 + letters).filter(|start| *start < text.len()));
        }
        starts.extend(marks.iter().map(|at| at + 1));
        for start in starts {
            if !self.spend(1 + text.len() / 64) {
                return;
            }
            self.paths(&text[start..], targets);
            let next = marks[marks.partition_point(|&at| at < start)..].first();
            if let Some(&end) = next {
                self.paths(&text[start..end], targets);
            }
            // A quote that the shell leaves to the program.
            let quote = text.get(start).filter(|it| matches!(it, Piece::Char('"' | '\'')));
            if let Some(quote) = quote {
                let inner = &text[start + 1..];
                let end = inner.iter().position(|piece| piece == quote).unwrap_or(inner.len());
                self.paths(&inner[..end], targets);
            }
        }
        self.address(text, targets);
    }

    /// The file that a `file:` address in the text names.
    fn address(&mut self, text: &[Piece], targets: &mut Vec<Target>) {
        let char = |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
        let Some(text) = text.iter().map(char).collect::<Option<String>>() else { return };
        let Some(at) = text.to_ascii_lowercase().find("file:") else { return };
        let url = text.get(at..).and_then(|text| Url::parse(text).ok());
        let path = url.and_then(|mut url| {
            url.set_host(None).ok()?;
            url.to_file_path().ok()
        });
        if let Some(path) = path {
            self.target(Path::new("/"), &path, targets);
        }
    }

    /// The file of this name and, with globs in it, those that it matches.
    fn paths(&mut self, text: &[Piece], targets: &mut Vec<Target>) {
        let char = |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
        let plain: Option<String> = text.iter().map(char).collect();
        if text.is_empty() {
            return;
        }
        let text = globbed(text);
        let has_glob = text.iter().any(|piece| char(piece).is_none());
        for base in self.bases {
            if let Some(plain) = &plain {
                let plain = match plain.strip_prefix("~/") {
                    Some(below) => self.home.map_or_else(|| plain.into(), |home| home.join(below)),
                    None => PathBuf::from(plain),
                };
                self.target(base, &plain, targets);
            }
            if has_glob {
                for path in self.matches(base, &text) {
                    self.target(base, &path, targets);
                }
            }
        }
    }

    fn target(&mut self, base: &Path, path: &Path, targets: &mut Vec<Target>) {
        if self.spend(base.components().count() + path.components().count()) {
            targets.push(Target::new(base, path));
        }
    }

    /// The files and folders that a pattern below `base` matches, hidden ones too. Only the pattern is one: a bracket in
    /// the name of `base` is a bracket.
    fn matches(&mut self, base: &Path, pattern: &[Piece]) -> Vec<PathBuf> {
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
                for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                    if !self.spend(1 + part.len() / 16) {
                        return next;
                    }
                    let name = entry.file_name().to_string_lossy().chars().collect::<Vec<_>>();
                    if fits(part, &name) {
                        next.push(entry.path());
                    }
                }
            }
            found = next;
        }
        found
    }

    /// Takes steps from those that are left.
    fn spend(&mut self, steps: usize) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(steps));
        self.left.is_some()
    }
}

fn expand_home(text: &str, home: Option<&Path>) -> String {
    let below = ["~/", "$HOME/", "${HOME}/"].into_iter().find_map(|start| text.strip_prefix(start));
    match (below, home) {
        (Some(below), Some(home)) => home.join(below).to_string_lossy().into_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
