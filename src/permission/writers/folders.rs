//! Commands that change, move or link what lies below a folder that they name.

use std::path::{Path, PathBuf};

use super::{git_command, lists};
use crate::disk::checkout_root;
use crate::permission::mentions::Files;
use crate::permission::path::Target;
use crate::permission::recursive::is_plain_path;
use crate::permission::restriction::sub_command;
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::wrapper::{self, base_name};

/// A folder or file that a command handles with all below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Handled {
    /// The program, for messages.
    pub program: String,
    pub target: Target,
    pub how: How,
}

/// What becomes of a folder and of all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Removed,
    /// It has another name afterwards.
    Moved,
    /// It has a second name afterwards.
    Linked,
    /// Files below it may be changed.
    Changed,
    /// Other files may be put into it.
    Filled,
}

/// Long options of `mv`, `cp` and the like that take a value. They may be cut short.
const VALUES: [&str; 2] = ["target-directory", "suffix"];
/// Programs that change what lies below a folder with one of the letters behind a dash.
const DESCENDERS: &str = "chmod chown chgrp gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma";

/// The folders and files that the command handles with all below them; `named` are the files of its
/// arguments, and git takes patterns of its own from `bases`.
pub fn handled(command: &SimpleCommand, named: &[Files], bases: &[PathBuf]) -> Vec<Handled> {
    let mut all = Vec::new();
    for (start, words) in wrapper::views(command).into_iter().enumerate() {
        let Some(program) = words.first() else { continue };
        let name = base_name(&program.text);
        let at = if name == "git" { sub_command(words) } else { 0 };
        let call = Call {
            name: if at > 0 { git_command(words) } else { name },
            words: words.get(at + 1..).unwrap_or_default(),
            named: named.get(start + at..).unwrap_or_default(),
            bases,
        };
        let found = if name == "git" { call.of_git() } else { call.of_program() };
        all.extend(found.into_iter().map(|(target, how)| Handled {
            program: name.to_owned(),
            target,
            how,
        }));
    }
    all
}

/// An option of a command with its value.
struct Valued {
    /// It names the folder into which files are put.
    is_destination: bool,
    /// The value stands in the same word.
    is_joined: bool,
}

/// A command without what stands before its arguments.
struct Call<'a> {
    name: &'a str,
    words: &'a [Word],
    named: &'a [Files],
    bases: &'a [PathBuf],
}

impl Call<'_> {
    fn of_program(&self) -> Vec<(Target, How)> {
        let recursive = self.has(&['r', 'R'], "--recursive");
        match self.name {
            "rm" if recursive => self.each(How::Removed),
            "find" if self.words.iter().any(|word| word.text == "-delete") => {
                self.each(How::Changed)
            }
            name if recursive && lists(DESCENDERS, name) => self.each(How::Changed),
            "mv" => self.to_destination(Some(How::Moved)),
            "ln" => self.to_destination(Some(How::Linked)),
            "cp" | "gcp" | "install" | "rsync" => self.to_destination(None),
            _ => Vec::new(),
        }
    }

    fn of_git(&self) -> Vec<(Target, How)> {
        let is_index = self.has(&['S'], "--staged") && !self.has(&['W'], "--worktree");
        match self.name {
            "mv" => self.to_destination(Some(How::Moved)),
            "rm" if self.has(&['r'], "--recursive") || self.has_patterns() => {
                self.paths(How::Removed)
            }
            "checkout" => self.paths(How::Changed),
            "restore" if !is_index => self.paths(How::Changed),
            "clean" if self.operands().is_empty() => self.here(How::Changed),
            "clean" => self.paths(How::Changed),
            _ => Vec::new(),
        }
    }

    fn has(&self, letters: &[char], long: &str) -> bool {
        self.words.iter().any(|word| match word.text.strip_prefix("--") {
            Some(_) => word.text.len() > 3 && long.starts_with(&word.text),
            None => word.text.strip_prefix('-').is_some_and(|text| text.contains(letters)),
        })
    }

    /// The places of the words that are no options.
    fn operands(&self) -> Vec<usize> {
        let takes_values = self.name != "rsync";
        let takes_next = |word: &Word| self.valued(&word.text).is_some_and(|it| !it.is_joined);
        let is_value = |at: usize| takes_values && at > 0 && takes_next(&self.words[at - 1]);
        let end = self.words.iter().position(|word| word.text == "--").unwrap_or(self.words.len());
        let is_operand = |at: &usize| {
            *at > end || *at != end && !self.words[*at].text.starts_with('-') && !is_value(*at)
        };
        (0..self.words.len()).filter(is_operand).collect()
    }

    fn targets(&self, at: usize) -> &[Target] {
        self.named.get(at).map_or(&[], |files| files.targets.as_slice())
    }

    fn each(&self, how: How) -> Vec<(Target, How)> {
        let targets = self.operands().into_iter().flat_map(|at| self.targets(at));
        targets.map(|target| (target.clone(), how)).collect()
    }

    fn here(&self, how: How) -> Vec<(Target, How)> {
        self.bases.iter().map(|base| (Target::new(base, base), how)).collect()
    }

    /// The paths of a git command. A pattern of its own may mean any file.
    fn paths(&self, how: How) -> Vec<(Target, How)> {
        let mut all = self.each(how);
        if self.has_patterns() {
            let tops = self.bases.iter().map(|base| checkout_root(base));
            all.extend(tops.map(|top| (Target::new(&top, &top), how)));
        }
        all
    }

    /// Whether an operand is none that git takes for the name of one file or folder.
    fn has_patterns(&self) -> bool {
        self.operands().iter().any(|at| !is_plain_path(&self.words[*at]))
    }

    /// The sources, and what they are in the destination.
    fn to_destination(&self, sources_are: Option<How>) -> Vec<(Target, How)> {
        let mut sources = self.operands();
        let into = self.destination_option();
        let destination: Vec<&Target> = match into {
            Some(at) => self.targets(at).iter().collect(),
            // The link gets the name of what it leads to.
            None if self.name == "ln" && sources.len() == 1 => Vec::new(),
            None => sources.pop().map(|at| self.targets(at)).unwrap_or_default().iter().collect(),
        };
        let mut all = Vec::new();
        for (folder, at) in
            destination.iter().flat_map(|folder| sources.iter().map(move |at| (folder, *at)))
        {
            let is_folder = folder.resolved.as_deref().is_some_and(Path::is_dir)
                && !self.has(&['T'], "--no-target-directory");
            let joins = is_folder && !self.is_content(at);
            all.extend(self.targets(at).iter().map(|source| {
                let name = source.written.file_name().filter(|_| joins).map(Path::new);
                name.map_or_else(|| (*folder).clone(), |name| Target::new(&folder.written, name))
            }));
        }
        let mut all: Vec<_> = all.into_iter().map(|target| (target, How::Filled)).collect();
        if let Some(how) = sources_are {
            let sources = sources.into_iter().flat_map(|at| self.targets(at));
            all.extend(sources.map(|source| (source.clone(), how)));
        }
        all
    }

    /// Whether the source stands for all in it: `x/.` and, for rsync, `x/`.
    fn is_content(&self, at: usize) -> bool {
        let text = self.words[at].text.as_str();
        matches!(text, "." | "..")
            || ["/.", "/.."].iter().any(|end| text.ends_with(end))
            || self.name == "rsync" && text.ends_with('/')
    }

    /// The place of the value of `-t`, or of the word that has it joined.
    fn destination_option(&self) -> Option<usize> {
        if self.name == "rsync" {
            return None;
        }
        let end = self.words.iter().position(|word| word.text == "--").unwrap_or(self.words.len());
        self.words[..end].iter().enumerate().find_map(|(at, word)| {
            match self.valued(&word.text)? {
                Valued { is_destination: true, is_joined } => Some(at + usize::from(!is_joined)),
                Valued { is_destination: false, .. } => None,
            }
        })
    }

    /// The option with a value in a word such as `-t`, `-rt`, `-rtDIR` or `--target=DIR`.
    fn valued(&self, word: &str) -> Option<Valued> {
        if let Some(long) = word.strip_prefix("--") {
            let (name, is_joined) =
                long.split_once('=').map_or((long, false), |(it, _)| (it, true));
            let full = VALUES.iter().find(|full| !name.is_empty() && full.starts_with(name))?;
            return Some(Valued { is_destination: *full == "target-directory", is_joined });
        }
        let letters = word.strip_prefix('-')?;
        let takes = if self.name == "install" { "gmoSt" } else { "St" };
        let at = letters.find(|letter| takes.contains(letter))?;
        let is_joined = at + 1 < letters.len();
        Some(Valued { is_destination: letters[at..].starts_with('t'), is_joined })
    }
}
