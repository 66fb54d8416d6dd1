//! The files that the words of a shell line may name. A word counts as bash expands it: braces, the
//! variables that the line itself sets, and the files matched by its globs. Anything that cannot be
//! determined that way is a doubt, never a no.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::doubt::doubt;
use super::path::PathTarget;
use super::program::{base_name, is_sub_command};
use super::recursive::{self, ShownFolder};
use super::script::{Script, SimpleCommand};
use super::shell::has_other_expansion;
use super::wrapper;
use super::writers::copies::CopiedTree;
use super::writers::folders::{HandledPath, PathChange, copied_trees, handled_paths};
use super::writers::{self, WriteEffect};
use crate::disk::list_folder;

pub mod harmless;
mod lists;
pub mod lookup;
pub mod named;
pub mod readings;
mod values;

use harmless::{is_message, opens_nothing, shows_nothing};
use lookup::FileLookup;
use named::NamedFiles;

/// Maximum entries of a moved folder that are searched for links; a larger one counts as having some.
const MAX_MOVED_ENTRIES: usize = 2000;

/// Files named on a command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MentionedFiles {
    /// Named by any command.
    pub all: NamedFiles,
    /// Named by a command known to change files.
    pub by_writers: NamedFiles,
    /// Named to a program not known to only read them, with its name.
    pub by_unknown: Vec<(String, PathTarget)>,
    /// The word by which a command takes names of files that it may read from a list, if one does.
    pub read_list: Option<String>,
    /// The same for files that it may change.
    pub changed_list: Option<String>,
    /// Whether the line may hold such a list itself.
    pub holds_input: bool,
    /// Folders and files that commands handle with everything below them.
    pub handled_paths: Vec<HandledPath>,
    /// Folders that commands put elsewhere with everything below them.
    pub copied_trees: Vec<CopiedTree>,
    /// Folder content that commands show besides the files they name.
    pub shown_folders: Vec<ShownFolder>,
    /// The first word known only at run time that a command may open, however harmlessly.
    pub open_word: Option<String>,
    /// Whether a redirect leads to or from a file known only at run time.
    pub has_open_redirect: bool,
}

impl MentionedFiles {
    /// Looks up the files of a script, whose relative names refer to `bases`.
    pub fn from_script(script: &Script, bases: &[PathBuf], home: Option<&Path>) -> Self {
        let mut mentioned = Self { holds_input: lists::holds_input(script), ..Self::default() };
        let mut lookup = FileLookup::new(script, bases.to_vec(), home);
        let (mut makes_links, mut moves) = (false, false);
        let made = readings::program_readings(script, bases, home);
        let has_too_many = made.is_none();
        let made = made.unwrap_or_default();
        // A variable, a glob or braces may give an option, or several words.
        let expanded = readings::expanded_commands(script, bases, home);
        let has_too_many = has_too_many || expanded.is_none();
        let expanded = expanded.unwrap_or_default();
        let commands = || script.all_commands().into_iter().chain(&made).chain(&expanded);
        let keeps_names = recursive::keep_names(commands());
        for command in commands() {
            let from = mentioned.handled_paths.len();
            mentioned.add_command(command, &mut lookup, keeps_names);
            let handled = &mentioned.handled_paths[from..];
            let is_link = handled.iter().any(|it| it.how == PathChange::Linked);
            makes_links |= is_link;
            let fills = |it: &HandledPath| matches!(it.how, PathChange::Moved | PathChange::Filled);
            moves |= !is_link && handled.iter().any(fills);
        }
        // A link means another file in another folder, and what has not been made cannot be looked at.
        if makes_links && moves {
            mentioned.all.unbounded = true;
            mentioned.by_writers.unbounded = true;
        }
        // A value known only later is a doubt where it is used.
        for value in script.all_values() {
            mentioned.all.add(&lookup.files(&value.word), false);
        }
        let (writes, reads) = script.all_redirects();
        for word in reads {
            let files = lookup.files(word);
            mentioned.has_open_redirect |= files.open.is_some();
            mentioned.note_open(&files);
            mentioned.all.add(&files, true);
        }
        for word in writes {
            let files = lookup.files(word);
            mentioned.has_open_redirect |= files.open.is_some();
            mentioned.note_open(&files);
            mentioned.by_writers.add(&files, true);
        }
        let is_unbounded = has_too_many
            || lookup.is_exhausted()
            || doubt(script).is_some()
            || script.all_commands().into_iter().any(computes_program);
        mentioned.all.unbounded |= is_unbounded;
        mentioned.by_writers.unbounded |= is_unbounded;
        mentioned
    }

    fn note_open(&mut self, files: &NamedFiles) {
        if self.open_word.is_none() {
            self.open_word.clone_from(&files.open);
        }
    }

    fn add_command(
        &mut self,
        command: &SimpleCommand,
        lookup: &mut FileLookup<'_>,
        keeps_names: bool,
    ) {
        let writes = writers::write_effect(command);
        let shows = !shows_nothing(base_name(command.program()));
        let opens = !opens_nothing(base_name(command.program()));
        let mut named: Vec<NamedFiles> = Vec::new();
        self.add_lists(command, writes, &lookup.bases);
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
            let is_message = is_message(command, at + 1);
            if opens && !is_message {
                self.note_open(&files);
            }
            self.all.add(&files, shows && !is_message);
            if writes == WriteEffect::Yes || writers::is_output(command, at + 1) {
                self.by_writers.add(&files, true);
            }
            named.push(files);
        }
        if writes == WriteEffect::Maybe {
            let program = base_name(command.program());
            let with_program = |target: &PathTarget| (program.to_owned(), target.clone());
            let targets = named.iter().flat_map(|files| &files.targets);
            self.by_unknown.extend(targets.map(with_program));
        }
        for handled in handled_paths(command, &named, &lookup.bases) {
            if handled.how == PathChange::Moved && has_relative_link(&handled.target) {
                self.all.unbounded = true;
                self.by_writers.unbounded = true;
            }
            if matches!(handled.how, PathChange::Filled | PathChange::Linked) {
                self.by_writers.targets.push(handled.target.clone());
            }
            if handled.how == PathChange::Linked {
                self.all.targets.push(handled.target.clone());
            }
            self.handled_paths.push(handled);
        }
        self.copied_trees.extend(copied_trees(command, &named, &lookup.bases));
        let shown = recursive::shown_folders(command, &named, &lookup.bases, keeps_names);
        self.shown_folders.extend(shown);
    }

    /// Notes names that the command takes from a list or an archive: they are known only at run time.
    fn add_lists(&mut self, command: &SimpleCommand, writes: WriteEffect, bases: &[PathBuf]) {
        if let Some(word) = lists::list_word(command, bases) {
            let (starts, _) = wrapper::program_starts(&command.words);
            let program = starts.last().and_then(|start| command.words.get(*start));
            if !shows_nothing(base_name(program.map_or("", |word| &word.text))) {
                self.read_list.get_or_insert_with(|| word.to_owned());
            }
            if writes != WriteEffect::No {
                self.changed_list.get_or_insert_with(|| word.to_owned());
            }
        }
        if let Some(program) = lists::unpacker(command) {
            self.by_writers.open.get_or_insert_with(|| program.to_owned());
        }
    }
}

/// Whether an expansion such as `${name%word}` may compute a program that the command starts.
fn computes_program(command: &SimpleCommand) -> bool {
    let (starts, certain) = wrapper::program_starts(&command.words);
    let mut words = command.words.iter().enumerate();
    words.any(|(at, word)| {
        (!certain || starts.contains(&at)) && !word.literal && has_other_expansion(&word.raw)
    })
}

/// Whether a moved folder may contain a link that means another file in another place.
fn has_relative_link(folder: &PathTarget) -> bool {
    let mut left = MAX_MOVED_ENTRIES;
    let mut folders: Vec<PathBuf> = folder.resolved.clone().into_iter().collect();
    while let Some(folder) = folders.pop() {
        let Some(entries) = list_folder(&folder) else { return true };
        for entry in entries {
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => return true,
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_symlink() => {
                    let text = fs::read_link(entry.path()).unwrap_or_default();
                    if text.components().any(|part| part == Component::ParentDir) {
                        return true;
                    }
                }
                _ => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests;
