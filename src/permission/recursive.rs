//! Commands that show files below a folder, which no word of theirs names: searches, packers and
//! copies, and git, which shows what it tracks and what earlier commits hold.
//!
//! Programs are listed, since most that are given a folder show little of it: linters, test
//! runners, package managers. Build tools and interpreters are left out on purpose: they read
//! whatever their input says, named or not.

use std::path::{Path, PathBuf};

use super::git_store;
use super::mentions::Files;
use super::path::{Places, Target};
use super::pattern::PathPattern;
use super::script::{SimpleCommand, Word};
use super::starts::Starts;
use super::wrapper::{self, base_name};
use crate::disk::checkout_root;

mod git;
mod silent;
mod tree;

pub use git::is_plain_path;
pub use tree::{Search, find};

/// What a command shows of a folder without naming it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The program, for messages.
    program: String,
    folder: Target,
    content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Content {
    /// Files below it; `hidden` says that names that begin with a dot are among them.
    Files { hidden: bool },
    /// Files below it that git tracks.
    Tracked,
    /// Files of any commit of the repository around it.
    History,
    /// Changes of any of its files, unless they are named or counted alone.
    Changes,
}

/// What one command does.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    content: Content,
    here: Here,
}

/// When a program reads the folder in which it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Here {
    Never,
    /// Unless its words certainly are a pattern and paths.
    WithoutPath,
    /// Unless one of its words is a file or folder.
    WithoutAny,
    Always,
}

/// When a program goes into folders.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// With one of these letters behind a dash, or one of these long options.
    With(&'static str, &'static str),
    /// With one of these letters or words in the first argument, dash or not, or one of these long options.
    Mode(&'static str, &'static str),
    /// With one of these words.
    Word(&'static str),
}

/// Programs, separated by blanks, when they read folders, and whether also the one in which they run.
const READERS: &[(&str, When, Here)] = &[
    (
        "grep egrep fgrep zgrep bzgrep xzgrep zstdgrep",
        When::With("rRd", "--recursive --dereference-recursive --directories"),
        Here::WithoutPath,
    ),
    ("rg rgrep ag ack ack-grep ugrep ug pt sift", When::Always, Here::WithoutPath),
    ("diff colordiff sdiff", When::Always, Here::Never),
    ("cp gcp scp rsync", When::With("rRa", "--recursive --archive"), Here::Never),
    ("tar bsdtar gtar", When::Mode("cru", "--create --append --update"), Here::Never),
    ("zip", When::With("rR", "--recurse-paths --recurse-patterns"), Here::Never),
    ("7z 7za 7zr 7zz rar", When::Mode("au", ""), Here::Never),
    ("jar", When::Mode("cu", "--create --update"), Here::Never),
    ("pax dar ctags etags gtags cscope", When::Always, Here::WithoutAny),
    ("mksquashfs mkisofs genisoimage xorriso borg restic duplicity", When::Always, Here::Never),
    ("repomix files-to-prompt code2prompt gitingest", When::Always, Here::WithoutAny),
    ("find", When::Word("-exec -execdir -ok -okdir"), Here::WithoutAny),
    ("fd fdfind", When::With("xX", "--exec --exec-batch"), Here::WithoutAny),
    ("rclone", When::Word("copy copyto sync move moveto cat"), Here::Never),
    ("aws gsutil gcloud", When::Word("cp sync rsync mv"), Here::Never),
    ("docker podman nerdctl kubectl oc", When::Word("cp"), Here::Never),
];

/// Options of searches that take no value: letters, those that only grep has so, and long ones.
const FLAGS: &str = "acFhHiIlLnNopPqsSuUvwxz.";
const GREP_FLAGS: &str = "EGrR";
const LONG_FLAGS: &str = "--recursive --ignore-case --line-number --word-regexp --fixed-strings --extended-regexp \
                          --files-with-matches --count --hidden --no-ignore --smart-case --no-heading --heading";

/// Letters of options of searches that take a number or a name, or the pattern itself.
const VALUES: &str = "ABCgmtT";
const PATTERNS: &str = "ef";

/// What the command shows of folders: those among `named`, the files of each of its arguments, and
/// those in which it may run.
pub fn shown(command: &SimpleCommand, named: &[Files], bases: &[PathBuf]) -> Vec<Shown> {
    let mut shown = Vec::new();
    let exists = |word: &Word| bases.iter().any(|base| base.join(&word.text).exists());
    for words in wrapper::views(command) {
        let Some((program, arguments)) = words.split_first() else { continue };
        let name = base_name(&program.text);
        let reading = match name {
            "git" => git::reading(arguments, bases),
            _ => reading(name, arguments),
        };
        let Some(Reading { content, here }) = reading else { continue };
        // Behind a runner all words count, so that none is missed.
        let paths = match here {
            Here::WithoutPath if words.len() == command.words.len() => paths(name, arguments),
            _ => None,
        };
        let is_path = |place: usize| paths.as_ref().is_none_or(|paths| paths.contains(&place));
        let reads_here = match (here, &paths) {
            (Here::Never, _) => false,
            (Here::WithoutAny, _) => !arguments.iter().any(exists),
            (Here::WithoutPath, Some(paths)) => {
                let is_there = |word: &Word| exists(word) || !word.literal;
                paths.is_empty() || !paths.iter().all(|place| is_there(&arguments[*place]))
            }
            (Here::Always | Here::WithoutPath, _) => true,
        };
        let here = bases.iter().filter(|_| reads_here).map(|base| Target::new(base, base));
        let files = named.iter().enumerate().filter(|(place, _)| is_path(*place));
        let targets = files.flat_map(|(_, files)| &files.targets);
        // What leads nobody knows where is a doubt of its own.
        let is_folder = |target: &&Target| target.resolved.as_deref().is_some_and(Path::is_dir);
        let folders = targets.filter(is_folder).cloned().chain(here);
        shown.extend(folders.map(|folder| Shown { program: name.to_owned(), folder, content }));
    }
    shown
}

fn reading(name: &str, arguments: &[Word]) -> Option<Reading> {
    let lists = |list: &str, text: &str| list.split_whitespace().any(|known| known == text);
    let (_, when, here) = READERS.iter().find(|(names, ..)| lists(names, name))?;
    let long = |list: &str| {
        arguments.iter().any(|word| {
            let text = word.text.split('=').next().unwrap_or_default();
            let may_be = |known: &str| text.len() > 3 && known.starts_with(text);
            text.starts_with("--") && list.split_whitespace().any(may_be)
        })
    };
    let reads = match when {
        When::Always => true,
        When::With(letters, options) => {
            long(options) || arguments.iter().any(|word| has_letter(word, letters))
        }
        When::Mode(letters, options) => {
            let first = arguments.first().is_some_and(|word| {
                !word.text.starts_with("--") && word.text.contains(|c| letters.contains(c))
            });
            first || long(options) || arguments.iter().any(|word| has_letter(word, letters))
        }
        When::Word(list) => arguments.iter().any(|word| lists(list, &word.text)),
    };
    // A search for names shows no content.
    let is_list = name == "rg" && arguments.iter().any(|word| word.text == "--files");
    // A glob also finds hidden files, and may ignore case.
    let skips_hidden = name == "rg"
        && !arguments.iter().any(|word| {
            has_letter(word, ".u")
                || ["--hid", "--unr", "--ig", "--glob-"].iter().any(|it| word.text.starts_with(it))
        });
    let content = Content::Files { hidden: !skips_hidden };
    (reads && !is_list).then_some(Reading { content, here: *here })
}

/// Whether one of the letters is among those behind a single dash.
fn has_letter(word: &Word, letters: &str) -> bool {
    let short = word.text.strip_prefix('-').filter(|text| !text.starts_with('-'));
    short.is_some_and(|text| text.contains(|c| letters.contains(c)))
}

/// The places of the paths behind the pattern of a search; `None` when its options do not tell
/// which words these are.
fn paths(name: &str, arguments: &[Word]) -> Option<Vec<usize>> {
    let more = match name {
        "rg" => "",
        name if name.ends_with("grep") && name != "ugrep" => GREP_FLAGS,
        _ => return None,
    };
    let is_flag = |c: char| FLAGS.contains(c) || more.contains(c);
    let lists = |list: &str, text: &str| list.split_whitespace().any(|known| known == text);
    let (mut pattern, mut at) = (false, 0);
    let mut paths: Vec<usize> = Vec::new();
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        at += 1;
        if text == "--" {
            paths.extend(at..arguments.len());
            break;
        } else if text.starts_with("--") {
            pattern |= ["--regexp=", "--file="].iter().any(|start| text.starts_with(start));
            if !text.contains('=') && !lists(LONG_FLAGS, text) {
                return None;
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let flags = letters.trim_start_matches(is_flag);
            let Some(value) = flags.chars().next() else { continue };
            if !VALUES.contains(value) && !PATTERNS.contains(value) {
                return None;
            }
            pattern |= PATTERNS.contains(value);
            at += usize::from(flags.len() == 1);
        } else {
            paths.push(at - 1);
        }
    }
    if !pattern && !paths.is_empty() {
        paths.remove(0);
    }
    Some(paths)
}

impl Shown {
    /// Why the command may show files of the pattern, if it may.
    pub fn doubt(&self, pattern: &PathPattern, starts: &Starts, places: &Places) -> Option<String> {
        let Self { program, folder, content } = self;
        let real = folder.resolved.as_deref()?;
        match content {
            // What lies in a git folder is every file that git keeps.
            Content::Files { .. } if git_store::may_hold(real, real, pattern, starts) => {
                Some(format!("`{program}` may show such a file, which git keeps in a folder that it reads"))
            }
            Content::Files { hidden } => {
                let is_apart = !pattern.may_lie_in(real, starts)
                    && !pattern.may_lie_in(&folder.written, starts);
                if is_apart {
                    return None;
                }
                match tree::find(folder, *hidden, pattern, starts) {
                    tree::Search::Nothing => None,
                    tree::Search::Found(file) => Some(format!(
                        "`{program}` may show {}, which is in a folder that it reads",
                        places.show(&file)
                    )),
                    tree::Search::TooMany => Some(format!(
                        "`{program}` reads a folder with more files than are looked at"
                    )),
                }
            }
            Content::Tracked => git::tracked(real, pattern, starts)
                .then(|| "git may show such a file, which it tracks".to_owned()),
            Content::History => pattern
                .may_lie_in(&checkout_root(real), starts)
                .then(|| "git may show such a file out of a commit".to_owned()),
            Content::Changes => pattern.may_lie_in(&checkout_root(real), starts).then(|| {
                "git may show such a file out of a commit; it does not with `--stat`, or when the command names \
                 the files to show"
                    .to_owned()
            }),
        }
    }
}

#[cfg(test)]
mod tests;
