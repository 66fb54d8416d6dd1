//! The files that the words of a shell line may name. A word counts as bash spells it out: braces,
//! the variables that the line itself sets, and the files that its globs match. What cannot be told
//! that way is a doubt, never a no.

use std::path::{Path, PathBuf};

use super::path::Target;
use super::recursive::{self, Shown};
use super::restriction::{doubt, is_sub_command};
use super::script::{Script, SimpleCommand, Word};
use super::spelling::Piece;
use super::wrapper;
use super::writers::{self, Handled, How, Writes};

mod input;
mod lookup;

pub use lookup::Lookup;

/// Programs that show nothing of the files they are given.
const SHOW_NOTHING: &[&str] = &[
    ":", "[", "basename", "cd", "chmod", "dirname", "echo", "exit", "export", "false", "kill",
    "ls", "mkdir", "printf", "pwd", "readlink", "realpath", "return", "rm", "rmdir", "seq",
    "sleep", "test", "touch", "true", "type", "unlink", "wait", "which",
];

/// Files named on a command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mentioned {
    /// By any command.
    pub all: Files,
    /// By a command that is known to change files.
    pub by_writers: Files,
    /// By a program that is not known to only read them, with its name.
    pub by_unknown: Vec<(String, Target)>,
    /// By what a command gets as its input, which may take it for names.
    pub in_input: Files,
    /// Those of them that such a command may change.
    pub changed_in_input: Files,
    /// Folders and files that commands handle with all below them.
    pub handled: Vec<Handled>,
    /// What commands show of folders besides what they name.
    pub shown: Vec<Shown>,
    /// Whether a redirect leads to or from a file that is only known when the line runs.
    pub has_open_redirect: bool,
}

/// Files, and why there may be more of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    pub targets: Vec<Target>,
    /// The last parts of relative names.
    pub names: Vec<Vec<Piece>>,
    /// A word that is only known when the line runs.
    pub open: Option<String>,
    /// Whether there is more than is looked at.
    pub unbounded: bool,
}

impl Files {
    fn add(&mut self, files: &Self, counts_doubt: bool) {
        self.targets.extend(files.targets.iter().cloned());
        if counts_doubt {
            let is_option = |name: &Vec<Piece>| name.first() == Some(&Piece::Char('-'));
            self.names.extend(files.names.iter().filter(|name| !is_option(name)).cloned());
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
        let mut lookup = Lookup::new(script, bases.to_vec(), home);
        for command in script.all_commands() {
            mentioned.add_command(command, &mut lookup);
        }
        // A value that is only known later is a doubt where it is used.
        for value in script.all_values() {
            mentioned.all.add(&lookup.files(&value.word), false);
        }
        let (writes, reads) = script.all_redirects();
        for word in reads {
            let files = lookup.files(word);
            mentioned.has_open_redirect |= files.open.is_some();
            mentioned.all.add(&files, true);
        }
        for word in writes {
            let files = lookup.files(word);
            mentioned.has_open_redirect |= files.open.is_some();
            mentioned.by_writers.add(&files, true);
        }
        let (reads, changes) = (input::is_read(script), input::is_changed(script));
        let printed = if reads { input::printed(script) } else { Vec::new() };
        let inputs = script.all_inputs().into_iter().filter(|_| reads).chain(&printed);
        for word in inputs {
            let files = lookup.files(word);
            mentioned.in_input.add(&files, false);
            if changes {
                mentioned.changed_in_input.add(&files, false);
            }
        }
        let is_unbounded = lookup.is_exhausted() || doubt(script).is_some();
        mentioned.all.unbounded |= is_unbounded;
        mentioned.by_writers.unbounded |= is_unbounded;
        mentioned
    }

    fn add_command(&mut self, command: &SimpleCommand, lookup: &mut Lookup<'_>) {
        let writes = writers::writes(command);
        let shows = !SHOW_NOTHING.contains(&wrapper::base_name(command.program()));
        let mut named: Vec<Files> = Vec::new();
        // A value may hold a whole command.
        for word in command.words.first().into_iter().filter(|word| !word.literal) {
            let files = lookup.files(word);
            self.all.add(&files, false);
            self.by_writers.add(&files, false);
        }
        for (at, word) in command.arguments().iter().enumerate() {
            let mut files = lookup.files(word);
            if is_sub_command(&command.words, at + 1) {
                files.names.clear();
            }
            self.all.add(&files, shows && !is_message(command, at + 1));
            if writes == Writes::Yes || writers::is_output(command, at + 1) {
                self.by_writers.add(&files, true);
            }
            named.push(files);
        }
        if writes == Writes::Maybe {
            let program = wrapper::base_name(command.program());
            let with_program = |target: &Target| (program.to_owned(), target.clone());
            let targets = named.iter().flat_map(|files| &files.targets);
            self.by_unknown.extend(targets.map(with_program));
        }
        for handled in writers::handled(command, &named, &lookup.bases) {
            if handled.how == How::Filled {
                self.by_writers.targets.push(handled.target.clone());
            }
            self.handled.push(handled);
        }
        self.shown.extend(recursive::shown(command, &named, &lookup.bases));
    }
}

/// Whether the command may change which files a glob in the line stands for.
pub(super) fn changes_globs(command: &SimpleCommand) -> bool {
    let is = |words: &&[Word]| {
        let program = words.first().map_or("", |word| wrapper::base_name(&word.text));
        let is_option = |word: &&Word| word.text.starts_with(['-', '+']);
        let mut options = words.iter().skip(1).take_while(is_option);
        program == "shopt" || program == "bash" && options.any(|word| word.text.contains('O'))
    };
    wrapper::views(command).iter().any(is)
}

/// Whether the word at this place is the text of a message, such as that of a commit, and no file.
fn is_message(command: &SimpleCommand, at: usize) -> bool {
    let text = |at: usize| command.words.get(at).map_or("", |word| word.text.as_str());
    let (program, before) =
        (wrapper::base_name(command.program()), at.checked_sub(1).map_or("", text));
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

#[cfg(test)]
mod tests;
