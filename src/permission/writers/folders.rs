//! Commands that change, move or link the contents of a folder that they name.

use std::cell::OnceCell;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::copies::CopiedTree;
use super::{FIXES, git_command, lists};
use crate::disk::checkout_root;
use crate::permission::mentions::named::NamedFiles;
use crate::permission::path::PathTarget;
use crate::permission::program::{base_name, sub_command};
use crate::permission::recursive::{FolderLinks, is_plain_path};
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::wrapper;

/// A folder or file that a command handles with everything below it.
#[derive(Clone, Debug, PartialEq)]
pub struct HandledPath {
    /// The program, for messages.
    pub program: String,
    pub target: PathTarget,
    pub how: PathChange,
    /// Where the links below it lead; looked up on demand.
    links: OnceCell<FolderLinks>,
}

impl HandledPath {
    /// Where the links below it lead.
    pub fn links(&self) -> &FolderLinks {
        self.links.get_or_init(|| FolderLinks::below(&self.target, true))
    }
}

/// The fate of a folder and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    Removed,
    /// It has another name afterwards.
    Moved,
    /// It has a second name afterwards.
    Linked,
    /// Files below it may be changed.
    Changed,
    /// Other files may be put into it.
    Filled,
    /// Files whose names no word of the command says are put into it.
    Downloaded,
}

/// Long options of `mv`, `cp` and the like that take a value. They may be abbreviated.
const VALUE_OPTIONS: [&str; 2] = ["target-directory", "suffix"];
/// Programs that change the contents of a folder with one of the letters after a dash.
const RECURSIVE_WRITERS: &str =
    "chmod chown chgrp chattr chcon setfacl gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma";

/// Words of `find` that choose no files by more than their type.
const NO_TESTS: &str = "-delete -depth -mount -print -type -xdev";

/// Programs that write files of their own choice into the folder in which they run.
const DOWNLOADERS: &str = "aria2c wget";

/// The folders and files that the command handles with everything below them; `named` are the files
/// of its arguments, and git matches its own patterns in `bases`.
pub fn handled_paths(
    command: &SimpleCommand,
    named: &[NamedFiles],
    bases: &[PathBuf],
) -> Vec<HandledPath> {
    let mut all = Vec::new();
    for (name, call) in writer_commands(command, named, bases) {
        let found = if name == "git" { call.git_changes() } else { call.program_changes() };
        all.extend(found.into_iter().map(|(target, how)| HandledPath {
            program: name.to_owned(),
            target,
            how,
            links: OnceCell::new(),
        }));
    }
    all
}

/// The trees that the command copies or moves into others; `named` and `bases` as in
/// [`handled_paths`].
pub fn copied_trees(
    command: &SimpleCommand,
    named: &[NamedFiles],
    bases: &[PathBuf],
) -> Vec<CopiedTree> {
    let commands = writer_commands(command, named, bases);
    let copying = commands.filter(|(_, call)| call.copies_trees());
    copying.flat_map(|(name, call)| call.copied_trees(name)).collect()
}

/// The commands that the words may start, each with the name of its program; of git, its sub-command.
fn writer_commands<'a>(
    command: &'a SimpleCommand,
    named: &'a [NamedFiles],
    bases: &'a [PathBuf],
) -> impl Iterator<Item = (&'a str, WriterCommand<'a>)> {
    let commands = wrapper::possible_commands(command).into_iter().enumerate();
    commands.filter_map(move |(start, words)| {
        let name = base_name(&words.first()?.text);
        let at = if name == "git" { sub_command(words) } else { 0 };
        let call = WriterCommand {
            name: if at > 0 { git_command(words) } else { name },
            is_git: at > 0,
            words: words.get(at + 1..).unwrap_or_default(),
            named: named.get(start + at..).unwrap_or_default(),
            bases,
        };
        Some((name, call))
    })
}

/// An option of a command that takes a value.
struct ValueOption {
    /// It names the folder to put files into.
    is_destination: bool,
    /// The value is in the same word.
    is_joined: bool,
}

/// A command from its arguments on.
struct WriterCommand<'a> {
    name: &'a str,
    /// The name is that of a sub-command of git.
    is_git: bool,
    words: &'a [Word],
    named: &'a [NamedFiles],
    bases: &'a [PathBuf],
}

impl WriterCommand<'_> {
    fn program_changes(&self) -> Vec<(PathTarget, PathChange)> {
        let recursive = self.has(&['r', 'R'], "--recursive");
        match self.name {
            "rm" if recursive => self.each_operand(PathChange::Removed),
            "find" if self.words.iter().any(|word| word.text == "-delete") => self.find_changes(),
            name if recursive && lists(RECURSIVE_WRITERS, name) => {
                self.each_operand(PathChange::Changed)
            }
            "mv" => self.to_destination(Some(PathChange::Moved)),
            "ln" => self.to_destination(Some(PathChange::Linked)),
            "cp" | "gcp" if self.has(&['s'], "--symbolic-link") => {
                self.to_destination(Some(PathChange::Linked))
            }
            "rsync" if self.words.iter().any(|word| word.text.starts_with("--remove")) => {
                self.to_destination(Some(PathChange::Changed))
            }
            "cp" | "gcp" | "install" | "rsync" | "scp" => self.to_destination(None),
            "zip" if self.has(&['m'], "--move") => self.each_operand(PathChange::Changed),
            _ if self.words.iter().any(|word| changes_in_place(&word.text)) => {
                self.each_operand(PathChange::Changed)
            }
            name if lists(DOWNLOADERS, name) => self.each_base(PathChange::Downloaded),
            _ => Vec::new(),
        }
    }

    /// Returns the targets of `find -delete`, which removes everything below its folders unless it has a test.
    fn find_changes(&self) -> Vec<(PathTarget, PathChange)> {
        let starts = self.words.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']));
        let starts = starts.count();
        let is_test =
            |word: &Word| word.text.starts_with(['-', '(', '!']) && !lists(NO_TESTS, &word.text);
        match self.words.iter().any(is_test) {
            true => self.each_operand(PathChange::Changed),
            false if starts == 0 => self.each_base(PathChange::Removed),
            false => {
                let targets = (0..starts).flat_map(|at| self.targets(at));
                targets.map(|target| (target.clone(), PathChange::Removed)).collect()
            }
        }
    }

    fn git_changes(&self) -> Vec<(PathTarget, PathChange)> {
        let is_index = self.has(&['S'], "--staged") && !self.has(&['W'], "--worktree");
        match self.name {
            "mv" => self.to_destination(Some(PathChange::Moved)),
            "rm" if self.has(&['r'], "--recursive") || self.has_patterns() => {
                self.paths(PathChange::Removed)
            }
            "checkout" => self.paths(PathChange::Changed),
            "restore" if !is_index => self.paths(PathChange::Changed),
            "clean" if self.operands().is_empty() => self.each_base(PathChange::Changed),
            "clean" => self.paths(PathChange::Changed),
            "stash" => self.stash_changes(),
            _ => Vec::new(),
        }
    }

    /// The paths that `git stash push` puts back; without one it names no file.
    fn stash_changes(&self) -> Vec<(PathTarget, PathChange)> {
        let skipped = match self.words.first() {
            Some(word) if word.text == "push" => 1,
            Some(word) if !word.literal || word.text.starts_with('-') => 0,
            _ => return Vec::new(),
        };
        let named = self.named.get(skipped..).unwrap_or_default();
        Self { words: &self.words[skipped..], named, ..*self }.paths(PathChange::Changed)
    }

    fn has(&self, letters: &[char], long: &str) -> bool {
        self.words.iter().any(|word| match word.text.strip_prefix("--") {
            Some(_) => word.text.len() > 3 && long.starts_with(&word.text),
            None => word.text.strip_prefix('-').is_some_and(|text| text.contains(letters)),
        })
    }

    /// The positions of the non-option words.
    fn operands(&self) -> Vec<usize> {
        let takes_values = self.name != "rsync";
        let takes_next =
            |word: &Word| self.parse_value_option(&word.text).is_some_and(|it| !it.is_joined);
        let is_value = |at: usize| takes_values && at > 0 && takes_next(&self.words[at - 1]);
        let end = self.words.iter().position(|word| word.text == "--").unwrap_or(self.words.len());
        let is_operand = |at: &usize| {
            *at > end || *at != end && !self.words[*at].text.starts_with('-') && !is_value(*at)
        };
        (0..self.words.len()).filter(is_operand).collect()
    }

    fn targets(&self, at: usize) -> &[PathTarget] {
        self.named.get(at).map_or(&[], |files| files.targets.as_slice())
    }

    fn each_operand(&self, how: PathChange) -> Vec<(PathTarget, PathChange)> {
        let targets = self.operands().into_iter().flat_map(|at| self.targets(at));
        targets.map(|target| (target.clone(), how)).collect()
    }

    fn each_base(&self, how: PathChange) -> Vec<(PathTarget, PathChange)> {
        self.bases.iter().map(|base| (PathTarget::new(base, base), how)).collect()
    }

    /// The paths of a git command. One of git's own patterns may match any file.
    fn paths(&self, how: PathChange) -> Vec<(PathTarget, PathChange)> {
        let mut all = self.each_operand(how);
        if self.has_patterns() {
            let tops = self.bases.iter().map(|base| checkout_root(base));
            all.extend(tops.map(|top| (PathTarget::new(&top, &top), how)));
        }
        all
    }

    /// Whether git may take an operand for anything but the name of one file or folder.
    fn has_patterns(&self) -> bool {
        self.operands().iter().any(|at| !is_plain_path(&self.words[*at]))
    }

    /// The sources, and the corresponding paths in the destination.
    fn to_destination(&self, sources_are: Option<PathChange>) -> Vec<(PathTarget, PathChange)> {
        let mut sources = self.operands();
        let into = self.destination_option();
        let destination: Vec<&PathTarget> = match into {
            Some(at) => self.targets(at).iter().collect(),
            // The link gets the name of its target.
            None if self.name == "ln" && sources.len() == 1 => Vec::new(),
            None => sources.pop().map(|at| self.targets(at)).unwrap_or_default().iter().collect(),
        };
        let mut all = Vec::new();
        if into.is_none() && destination.is_empty() && self.name == "ln" {
            let names = sources.iter().flat_map(|at| self.targets(*at));
            let names = names.filter_map(|source| source.written.file_name());
            let links = names.flat_map(|name| {
                self.bases.iter().map(|base| PathTarget::new(base, Path::new(name)))
            });
            all.extend(links);
        }
        for (folder, at) in
            destination.iter().flat_map(|folder| sources.iter().map(move |at| (folder, *at)))
        {
            let is_folder = folder.resolved.as_deref().is_some_and(Path::is_dir)
                && !self.has(&['T'], "--no-target-directory");
            let joins = is_folder && !self.is_content(at);
            all.extend(self.targets(at).iter().map(|source| {
                let name = source.written.file_name().filter(|_| joins).map(Path::new);
                name.map_or_else(
                    || (*folder).clone(),
                    |name| PathTarget::new(&folder.written, name),
                )
            }));
            if self.keeps_folders() {
                all.push((*folder).clone());
            }
        }
        let mut all: Vec<_> = all.into_iter().map(|target| (target, PathChange::Filled)).collect();
        let folders = destination.iter().filter_map(|to| to.resolved.as_deref());
        let folders = folders.flat_map(|to| std::iter::once(to).chain(to.parent()));
        let targets = folders.flat_map(|folder| match sources_are {
            Some(PathChange::Linked) => self.link_targets(&sources, folder),
            _ => self.moved_links(&sources, folder),
        });
        all.extend(targets.map(|target| (target, PathChange::Linked)));
        if let Some(how) = sources_are {
            let sources = sources.into_iter().flat_map(|at| self.targets(at));
            all.extend(sources.map(|source| (source.clone(), how)));
        }
        all
    }

    /// Whether the command puts folders with all below them elsewhere.
    fn copies_trees(&self) -> bool {
        match self.name {
            "mv" => true,
            "cp" | "gcp" => self.has(&['r', 'R', 'a'], "--recursive") || self.has(&[], "--archive"),
            "scp" => self.has(&['r'], "--recursive"),
            "rsync" => {
                let is_list = |word: &Word| word.text.starts_with("--f");
                self.has(&['r', 'a', 'd'], "--recursive")
                    || self.has(&[], "--archive")
                    || self.has(&[], "--dirs")
                    || self.has(&[], "--old-dirs")
                    || self.words.iter().any(is_list)
            }
            _ => false,
        }
    }

    /// Each folder among the sources, with each place in the destination where it may land.
    fn copied_trees(&self, program: &str) -> Vec<CopiedTree> {
        let mut sources = self.operands();
        let destination = match self.destination_option() {
            Some(at) => self.targets(at),
            None => sources.pop().map(|at| self.targets(at)).unwrap_or_default(),
        };
        let follows = self.has(&['L', 'k'], "--dereference")
            || self.words.iter().any(|word| word.text.starts_with("--copy"));
        let is_folder = |target: &PathTarget| target.resolved.as_deref().is_some_and(Path::is_dir);
        let sources = sources.iter().flat_map(|at| self.targets(*at).iter().map(|it| (*at, it)));
        let sources = sources.filter(|(_, target)| is_folder(target));
        let pairs = sources.flat_map(|from| destination.iter().map(move |to| (from, to)));
        let places = pairs.flat_map(|((at, from), to)| {
            let word = &self.words[at];
            let is_whole = !self.has(&['T'], "--no-target-directory")
                && (self.name == "rsync" || is_folder(to));
            let is_own = is_whole && !self.is_content(at);
            // Some versions of cp take a folder with a slash for its contents.
            let is_certain = word.literal && (self.name == "rsync" || !word.text.ends_with('/'));
            let names = from.written.ancestors().enumerate().filter(|(above, _)| {
                self.keeps_folders() || (*above == usize::from(is_own)) || *above < 2 && !is_certain
            });
            let names = names.filter_map(|(_, above)| from.written.strip_prefix(above).ok());
            let places = names.map(|name| (from.clone(), PathTarget::new(&to.written, name)));
            places.collect::<Vec<_>>()
        });
        let program = program.to_owned();
        let tree = |(from, to)| CopiedTree { program: program.clone(), from, to, follows };
        places.map(tree).collect()
    }

    /// The targets of links in `folder` with the text of these operands: the system resolves a
    /// relative one from there.
    fn link_targets(&self, operands: &[usize], folder: &Path) -> Vec<PathTarget> {
        let is_relative = |at: &&usize| !self.words[**at].text.starts_with(['/', '~']);
        let written = operands.iter().filter(is_relative).flat_map(|at| self.targets(*at));
        let texts = written
            .flat_map(|target| self.bases.iter().map(|base| relative(base, &target.written)));
        texts.map(|text| PathTarget::new(folder, &text)).collect()
    }

    /// The targets that relative links among these operands get in `folder`.
    fn moved_links(&self, operands: &[usize], folder: &Path) -> Vec<PathTarget> {
        let sources = operands.iter().flat_map(|at| self.targets(*at));
        let texts = sources.filter_map(|source| fs::read_link(&source.written).ok());
        let texts = texts.filter(|text| text.is_relative());
        texts.map(|text| PathTarget::new(folder, &text)).collect()
    }

    /// Whether the source stands for its contents: `x/.` and, for rsync, `x/`.
    fn is_content(&self, at: usize) -> bool {
        let text = self.words[at].text.as_str();
        matches!(text, "." | "..")
            || ["/.", "/.."].iter().any(|end| text.ends_with(end))
            || self.name == "rsync" && text.ends_with('/')
    }

    /// Whether the source keeps the folders of its name in the destination.
    fn keeps_folders(&self) -> bool {
        match self.name {
            "rsync" => self.has(&['R'], "--relative"),
            "cp" | "gcp" => self.has(&[], "--parents"),
            _ => false,
        }
    }

    /// The position of the value of `-t`, or of the word with the joined value.
    fn destination_option(&self) -> Option<usize> {
        if self.name == "rsync" {
            return None;
        }
        let end = self.words.iter().position(|word| word.text == "--").unwrap_or(self.words.len());
        self.words[..end].iter().enumerate().find_map(|(at, word)| {
            match self.parse_value_option(&word.text)? {
                ValueOption { is_destination: true, is_joined } => {
                    Some(at + usize::from(!is_joined))
                }
                ValueOption { is_destination: false, .. } => None,
            }
        })
    }

    /// The option with a value in a word such as `-t`, `-rt`, `-rtDIR` or `--target=DIR`.
    fn parse_value_option(&self, word: &str) -> Option<ValueOption> {
        if self.is_git {
            // The values of others may count as paths.
            let is_short = !word.starts_with("--") && word.starts_with('-') && word.ends_with('m');
            let is_long = word.len() > 2 && "--message".starts_with(word);
            let is_message = self.name == "stash" && (is_short || is_long);
            return is_message.then_some(ValueOption { is_destination: false, is_joined: false });
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, is_joined) =
                long.split_once('=').map_or((long, false), |(it, _)| (it, true));
            let full =
                VALUE_OPTIONS.iter().find(|full| !name.is_empty() && full.starts_with(name))?;
            return Some(ValueOption { is_destination: *full == "target-directory", is_joined });
        }
        let letters = word.strip_prefix('-')?;
        let takes = if self.name == "install" { "gmoSt" } else { "St" };
        let at = letters.find(|letter| takes.contains(letter))?;
        let is_joined = at + 1 < letters.len();
        Some(ValueOption { is_destination: letters[at..].starts_with('t'), is_joined })
    }
}

/// Whether a program with this option changes or removes the files that it is given.
fn changes_in_place(option: &str) -> bool {
    lists(FIXES, option)
        || ["--remove", "--delete", "-sdel"].iter().any(|it| option.starts_with(it))
}

/// The path that leads from `base` to `path`.
fn relative(base: &Path, path: &Path) -> PathBuf {
    let shared = base.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let up = base.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(path.components().skip(shared)).collect()
}
