//! Commands that show files below a folder without naming them: searches, archivers and copies, and
//! git, which shows tracked files and the content of earlier commits.
//!
//! Programs are listed, since most that take a folder show little of it: linters, test runners,
//! package managers. Build tools and interpreters are left out on purpose: they read whatever their
//! input says, named or not.

use super::program::base_name;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::git_store;
use super::mentions::harmless::shows_nothing;
use super::mentions::named::NamedFiles;
use super::path::PathTarget;
use super::pattern::{PathPattern, Restriction};
use super::pattern_roots::PatternRoots;
use super::places::Places;
use super::script::{SimpleCommand, Word};
use super::wrapper;
use super::writers;
use crate::disk::checkout_root;

mod behavior;
mod git;
mod tree;
mod whitelist;

use behavior::{CwdCondition, ReadBehavior, SettingScope, ShownContent};
use git::ShowingSettings;
pub use git::{has_parent_after_name, is_plain_path, keep_names};
pub use tree::{FolderLinks, SearchOutcome, find};

/// Folder content that a command shows without naming it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownFolder {
    /// The program, for messages.
    program: String,
    folder: PathTarget,
    content: ShownContent,
    /// Looked up on demand, as are the settings of git there.
    links: OnceCell<FolderLinks>,
    settings: OnceCell<ShowingSettings>,
}

/// When a program descends into folders.
#[derive(Clone, Copy)]
enum RecursionCondition {
    Always,
    /// With one of these letters after a dash, or one of these long options.
    With(&'static str, &'static str),
    /// With one of these letters or words in the first argument, dash or not, or one of these long options.
    Mode(&'static str, &'static str),
    /// With one of these words.
    Word(&'static str),
}

/// Programs, separated by blanks, when they read folders, and when they also read the one they run in.
const READERS: &[(&str, RecursionCondition, CwdCondition)] = &[
    (
        "grep egrep fgrep zgrep bzgrep xzgrep zstdgrep",
        RecursionCondition::With("rRd", "--recursive --dereference-recursive --directories"),
        CwdCondition::WithoutPath,
    ),
    (
        "rg rgrep ag ack ack-grep ugrep ug pt sift",
        RecursionCondition::Always,
        CwdCondition::WithoutPath,
    ),
    ("diff colordiff sdiff", RecursionCondition::Always, CwdCondition::Never),
    ("cp gcp scp", RecursionCondition::With("rRa", "--recursive --archive"), CwdCondition::Never),
    (
        "rsync",
        RecursionCondition::With("rRad", "--recursive --archive --dirs --old-dirs"),
        CwdCondition::Never,
    ),
    (
        "tar bsdtar gtar",
        RecursionCondition::Mode("cru", "--create --append --update"),
        CwdCondition::Never,
    ),
    (
        "zip",
        RecursionCondition::With("rR", "--recurse-paths --recurse-patterns"),
        CwdCondition::Never,
    ),
    ("7z 7za 7zr 7zz rar", RecursionCondition::Mode("au", ""), CwdCondition::Never),
    ("jar", RecursionCondition::Mode("cu", "--create --update"), CwdCondition::Never),
    ("pax dar ctags etags gtags cscope", RecursionCondition::Always, CwdCondition::WithoutAny),
    (
        "mksquashfs mkisofs genisoimage xorriso borg restic duplicity",
        RecursionCondition::Always,
        CwdCondition::Never,
    ),
    (
        "repomix files-to-prompt code2prompt gitingest",
        RecursionCondition::Always,
        CwdCondition::WithoutAny,
    ),
    ("find", RecursionCondition::Word("-exec -execdir -ok -okdir"), CwdCondition::WithoutAny),
    ("fd fdfind", RecursionCondition::With("xX", "--exec --exec-batch"), CwdCondition::WithoutAny),
    ("rclone", RecursionCondition::Word("copy copyto sync move moveto cat"), CwdCondition::Never),
    ("aws gsutil gcloud", RecursionCondition::Word("cp sync rsync mv"), CwdCondition::Never),
    ("docker podman nerdctl kubectl oc", RecursionCondition::Word("cp"), CwdCondition::Never),
    ("zcat zless zmore", RECURSIVE, CwdCondition::Never),
];

/// When a program that is not known reads folders.
const RECURSIVE: RecursionCondition =
    RecursionCondition::With("rR", "--recursive --dereference-recursive");

/// Search options that take no value: letters, letters only of grep, and long ones.
const FLAGS: &str = "acFhHiIlLnNopPqsSuUvwxz.";
const GREP_FLAGS: &str = "EGrR";
const LONG_FLAGS: &str = "--recursive --ignore-case --line-number --word-regexp --fixed-strings --extended-regexp \
                          --files-with-matches --count --hidden --no-ignore --smart-case --no-heading --heading";

/// Letters of search options that take a number, a name or the pattern itself.
const VALUES: &str = "ABCgmtT";
const PATTERNS: &str = "ef";

/// The folder content that the command shows: of the folders among `named`, the files of each of
/// its arguments, and of those it may run in. For `keeps_names`, see [`keep_names`].
pub fn shown_folders(
    command: &SimpleCommand,
    named: &[NamedFiles],
    bases: &[PathBuf],
    keeps_names: bool,
) -> Vec<ShownFolder> {
    let mut shown = Vec::new();
    let exists = |word: &Word| bases.iter().any(|base| base.join(&word.text).exists());
    let (starts, certain) = wrapper::program_starts(&command.words);
    for (start, words) in wrapper::possible_commands(command).into_iter().enumerate() {
        let Some((program, arguments)) = words.split_first() else { continue };
        let name = base_name(&program.text);
        let is_program = !certain || starts.contains(&start);
        let reading = match name {
            "git" => git::reading(arguments, bases, keeps_names),
            _ => read_behavior(name, arguments, is_program),
        };
        let Some(ReadBehavior { content, reads_cwd: here }) = reading else { continue };
        // After a runner all words count, so that none is missed.
        let paths = match here {
            CwdCondition::WithoutPath if words.len() == command.words.len() => {
                paths(name, arguments)
            }
            _ => None,
        };
        let is_path = |place: usize| paths.as_ref().is_none_or(|paths| paths.contains(&place));
        let reads_here = match (here, &paths) {
            (CwdCondition::Never, _) => false,
            (CwdCondition::WithoutAny, _) => !arguments.iter().any(exists),
            (CwdCondition::WithoutPath, Some(paths)) => {
                let is_there = |word: &Word| exists(word) || !word.literal;
                paths.is_empty() || !paths.iter().all(|place| is_there(&arguments[*place]))
            }
            (CwdCondition::Always | CwdCondition::WithoutPath, _) => true,
        };
        let here = bases.iter().filter(|_| reads_here).map(|base| PathTarget::new(base, base));
        let files = named.iter().enumerate().filter(|(place, _)| is_path(*place));
        let targets = files.flat_map(|(_, files)| &files.targets);
        // A path with an unknown target is a doubt of its own. What is a file now may be a folder in
        // a commit.
        let is_of_git = matches!(content, ShownContent::TrackedBelow | ShownContent::ChangesBelow);
        let is_folder = |target: &&PathTarget| {
            is_of_git || target.resolved.as_deref().is_some_and(Path::is_dir)
        };
        let folders = targets.filter(is_folder).cloned().chain(here);
        shown.extend(folders.map(|folder| ShownFolder {
            program: name.to_owned(),
            folder,
            content,
            links: OnceCell::new(),
            settings: OnceCell::new(),
        }));
    }
    shown
}

/// The files that a program other than git reads. One that is not known (`is_program`, unless the name
/// may be an argument of another one) descends if an option says so.
fn read_behavior(name: &str, arguments: &[Word], is_program: bool) -> Option<ReadBehavior> {
    let lists = |list: &str, text: &str| list.split_whitespace().any(|known| known == text);
    let known = READERS.iter().find(|(names, ..)| lists(names, name));
    let (when, here) = match known {
        Some((_, when, here)) => (when, here),
        None if is_program && !is_known_otherwise(name) => (&RECURSIVE, &CwdCondition::Never),
        None => return None,
    };
    let long = |list: &str| {
        arguments.iter().any(|word| {
            let text = word.text.split('=').next().unwrap_or_default();
            let may_be = |known: &str| text.len() > 3 && known.starts_with(text);
            text.starts_with("--") && list.split_whitespace().any(may_be)
        })
    };
    let reads = match when {
        RecursionCondition::Always => true,
        RecursionCondition::With(letters, options) => {
            long(options) || arguments.iter().any(|word| has_letter(word, letters))
        }
        RecursionCondition::Mode(letters, options) => {
            let first = arguments.first().is_some_and(|word| {
                !word.text.starts_with("--") && word.text.contains(|c| letters.contains(c))
            });
            first || long(options) || arguments.iter().any(|word| has_letter(word, letters))
        }
        RecursionCondition::Word(list) => arguments.iter().any(|word| lists(list, &word.text)),
    };
    // A search for names shows no content.
    let is_list = name == "rg" && arguments.iter().any(|word| word.text == "--files");
    // A glob also finds hidden files, and may ignore case.
    let skips_hidden = name == "rg"
        && !arguments.iter().any(|word| {
            has_letter(word, ".u")
                || ["--hid", "--unr", "--ig", "--glob-"].iter().any(|it| word.text.starts_with(it))
        });
    let content = ShownContent::Files { hidden: !skips_hidden };
    (reads && !is_list).then_some(ReadBehavior { content, reads_cwd: *here })
}

/// Whether the program certainly shows nothing below the folders that it is given, or is one whose input
/// says what it reads.
fn is_known_otherwise(name: &str) -> bool {
    shows_nothing(name)
        || wrapper::is_runner(name)
        || writers::only_reads(name)
        || writers::runs_code(name)
}

/// Whether one of the letters follows a single dash.
fn has_letter(word: &Word, letters: &str) -> bool {
    let short = word.text.strip_prefix('-').filter(|text| !text.starts_with('-'));
    short.is_some_and(|text| text.contains(|c| letters.contains(c)))
}

/// The positions of the paths after the pattern of a search; `None` if its options do not tell which words these are.
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

impl ShownFolder {
    /// Why the command may show files of the pattern, if it may.
    pub fn doubt(
        &self,
        pattern: &PathPattern,
        starts: &PatternRoots,
        places: &Places,
    ) -> Option<String> {
        let Self { program, folder, content, links, .. } = self;
        let real = folder.resolved.as_deref()?;
        match content {
            // The content of a git folder is every file that git keeps.
            ShownContent::Files { .. } if git_store::may_hold(real, real, pattern, starts) => {
                Some(format!(
                    "`{program}` may show such a file, which git keeps in a folder that it reads"
                ))
            }
            ShownContent::Files { hidden } => {
                let is_near =
                    pattern.may_lie_in(real, starts) || pattern.may_lie_in(&folder.written, starts);
                let below = match is_near {
                    true => tree::find(folder, *hidden, pattern, starts),
                    false => SearchOutcome::Nothing,
                };
                let behind_links = || {
                    let links = links.get_or_init(|| FolderLinks::below(folder, *hidden));
                    links.find(*hidden, pattern, starts)
                };
                let found = match below {
                    SearchOutcome::Nothing => behind_links(),
                    found => found,
                };
                match found {
                    SearchOutcome::Nothing => None,
                    SearchOutcome::Found(file) => Some(format!(
                        "`{program}` may show {}, which is in a folder that it reads",
                        places.show(&file)
                    )),
                    SearchOutcome::TooMany => {
                        Some(format!("`{program}` reads a folder with too many files to check"))
                    }
                }
            }
            content => self.doubt_of_git(*content, pattern, starts, places),
        }
    }

    /// The same for git.
    fn doubt_of_git(
        &self,
        content: ShownContent,
        pattern: &PathPattern,
        starts: &PatternRoots,
        places: &Places,
    ) -> Option<String> {
        let real = self.folder.resolved.as_deref()?;
        let is_near = || pattern.may_lie_in(&checkout_root(real), starts);
        let by_setting = |scope: SettingScope| {
            let read = || ShowingSettings::around(real, &places.git);
            let is_meant = |file: &PathTarget| pattern.restricts(file, starts) != Restriction::No;
            let mut settings = self.settings.get_or_init(read).of(scope);
            let found = settings.find(|it| match &it.files {
                Some(files) => files.iter().any(is_meant),
                None => is_near(),
            });
            found.map(|it| format!("git may show such a file: {}", it.why))
        };
        let tracked =
            |tracks: bool| tracks.then(|| "git may show such a file, which it tracks".to_owned());
        match content {
            ShownContent::Files { .. } => None,
            ShownContent::Tracked => tracked(git::tracks_match(real, pattern, starts))
                .or_else(|| by_setting(SettingScope::Diff)),
            ShownContent::TrackedBelow => tracked(git::tracks_below(&self.folder, pattern, starts))
                .or_else(|| by_setting(SettingScope::Diff)),
            ShownContent::Merged => tracked(git::tracks_match(real, pattern, starts))
                .or_else(|| by_setting(SettingScope::Merge))
                .or_else(|| {
                    let is_shown = is_near() && git::is_applying(real);
                    is_shown
                        .then(|| "git may show such a file from a patch that it applies".to_owned())
                }),
            ShownContent::WithSetting(scope) => by_setting(scope),
            ShownContent::History => {
                is_near().then(|| "git may show such a file from a commit".to_owned())
            }
            ShownContent::Changes => is_near().then(|| {
                "git may show such a file from a commit; it does not with `--stat`".to_owned()
            }),
            ShownContent::ChangesBelow => {
                let is_shown = self.folder.names().any(|name| pattern.may_lie_in(name, starts));
                let by_commit = is_shown.then(|| {
                    "git may show such a file from a commit in which it lies below a name of the \
                     command; it does not with `--stat`"
                        .to_owned()
                });
                by_commit.or_else(|| by_setting(SettingScope::History))
            }
        }
    }
}

#[cfg(test)]
mod tests;
