//! The git commands that show content of files they do not name.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::behavior::{CwdCondition, ReadBehavior, SettingScope, ShownContent};
use crate::disk::{checkout_around, checkout_root, has_dot_git, named_git_dirs, normalize, tracks};
use crate::permission::path::PathTarget;
use crate::permission::pattern::PathPattern;
use crate::permission::pattern_roots::PatternRoots;
use crate::permission::program::{base_name, sub_command};
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::wrapper;

mod forms;
mod refs;
mod settings;

use forms::{FORMS, Form, FormContent, FormWords, WordKind};
use refs::References;
pub use settings::ShowingSettings;

/// Options before the sub-command that change nothing of what it shows.
const GLOBAL_OPTIONS: [&str; 3] = ["-P", "--no-optional-locks", "--no-pager"];

/// Sub-commands that make no reference which git finds before a branch of its name. What else runs
/// git rests on the rule that allows it.
const KEEPS_NAMES: &str = "add blame branch checkout cherry-pick clean commit config describe diff log ls-files ls-tree \
                           merge-base mv push rebase reflog reset restore rev-list rev-parse revert rm shortlog show \
                           stash status switch version";

/// Whether none of the git commands makes a reference by which the name of a branch may become that
/// of something else.
pub fn keep_names<'a>(commands: impl IntoIterator<Item = &'a SimpleCommand>) -> bool {
    commands.into_iter().flat_map(wrapper::possible_commands).all(|words| {
        let is_git = words.first().is_some_and(|word| base_name(&word.text) == "git");
        let name = words.get(sub_command(words)).map_or("", |word| &word.text);
        !is_git || KEEPS_NAMES.split_whitespace().any(|known| known == name)
    })
}

/// The content that a git command with these arguments may show besides what it names: anything that
/// git keeps, unless it has one of the [`FORMS`]. Of a line with a command that does not
/// [keep the names](keep_names) of references, only `HEAD` is a commit.
pub fn reading(arguments: &[Word], bases: &[PathBuf], keeps_names: bool) -> Option<ReadBehavior> {
    let everything = |content| Some(ReadBehavior { content, reads_cwd: CwdCondition::Always });
    let mut at = 0;
    while let Some(option) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
        at += match option.text.as_str() {
            "--version" | "-v" if arguments.len() == 1 => return None,
            "-C" if option.literal && arguments.get(at + 1).is_some_and(|it| it.literal) => 2,
            text if option.literal && GLOBAL_OPTIONS.contains(&text) => 1,
            _ => return everything(ShownContent::History),
        };
    }
    let (sub_command, words) = arguments.get(at..)?.split_first()?;
    let command = GitArguments { words, bases, keeps_names, references: OnceCell::new() };
    let name = sub_command.text.as_str();
    match command.form(name).filter(|_| sub_command.literal) {
        Some((form, words)) => Some(behavior(form, &words)),
        None if matches!(name, "diff" | "log" | "show") => everything(ShownContent::Changes),
        None => everything(ShownContent::History),
    }
}

/// Returns the content that a command of this form shows.
fn behavior(form: &Form, words: &FormWords<'_>) -> ReadBehavior {
    let of_paths = |content| ReadBehavior { content, reads_cwd: CwdCondition::Never };
    let everything = |content| ReadBehavior { content, reads_cwd: CwdCondition::Always };
    let mut paths = words.before.iter().chain(&words.behind).peekable();
    match form.shows {
        FormContent::None => everything(ShownContent::WithSetting(SettingScope::Any)),
        FormContent::WithSetting(scope) => everything(ShownContent::WithSetting(scope)),
        FormContent::Merged => everything(ShownContent::Merged),
        // Git takes other words for patterns, some of which exclude what they name.
        FormContent::Tracked if paths.peek().is_some() && paths.all(|path| is_plain_path(path)) => {
            of_paths(ShownContent::TrackedBelow)
        }
        FormContent::Tracked => everything(ShownContent::Tracked),
        FormContent::Paths => of_paths(ShownContent::ChangesBelow),
    }
}

/// The words after a sub-command that runs in one of `bases`.
struct GitArguments<'a> {
    words: &'a [Word],
    bases: &'a [PathBuf],
    keeps_names: bool,
    /// Those of the repository around each base, if all are known; read on demand.
    references: OnceCell<Option<Vec<References>>>,
}

impl<'a> GitArguments<'a> {
    /// The form of the command, with its words.
    fn form(&self, name: &str) -> Option<(&'static Form, FormWords<'a>)> {
        let first = self.words.first().filter(|word| word.literal);
        FORMS.iter().find_map(|form| {
            let words = match form.name.split_once(' ') {
                None if form.name == name => self.words,
                Some((own, next)) if own == name && first.is_some_and(|it| it.text == next) => {
                    &self.words[1..]
                }
                _ => return None,
            };
            let words = form.read(words)?;
            self.fit(&words, form.words).then_some((form, words))
        })
    }

    /// Whether the words are certainly of the kind.
    fn fit(&self, words: &FormWords<'_>, kind: WordKind) -> bool {
        let FormWords { before, behind, has_mark, commits } = words;
        let is_path = |word: &&Word| self.is_path(word);
        // Without a mark, the first certain path ends the commits.
        let (named, paths) = match has_mark {
            true => (before.as_slice(), behind.as_slice()),
            false => before.split_at(before.iter().position(is_path).unwrap_or(before.len())),
        };
        let are_commits = || match named {
            [] => self.is_commit("HEAD"),
            words => words.iter().all(|word| self.are_commits(word)),
        };
        let are_paths = || match has_mark {
            true => paths.iter().all(|word| is_plain_path(word)),
            false => paths.iter().all(is_path),
        };
        let fits = match kind {
            WordKind::None => before.is_empty() && behind.is_empty(),
            WordKind::Any => true,
            WordKind::Names => before.iter().chain(behind).all(|word| is_name(word)),
            WordKind::Source => match named {
                [] => *has_mark || are_paths(),
                [_] if paths.is_empty() && !has_mark => true,
                [first, ..] => self.are_commits(first),
            },
            WordKind::Commits => are_commits() && are_paths(),
            WordKind::CommitsOfPaths => {
                !paths.is_empty() && are_commits() && are_paths() && !self.leave_checkout(paths)
            }
            WordKind::Paths => {
                named.is_empty() && (*has_mark || are_paths()) && !self.leave_checkout(paths)
            }
            WordKind::Blobs => {
                !has_mark && !before.is_empty() && before.iter().all(|word| self.is_blob(word))
            }
        };
        fits && commits.iter().all(|name| self.is_commit(name))
    }

    fn references(&self) -> Option<&Vec<References>> {
        let read = || self.bases.iter().map(|base| References::around(base)).collect();
        self.references.get_or_init(read).as_ref().filter(|all| !all.is_empty())
    }

    /// Whether git certainly takes the word for a file or folder: there is one in each folder that
    /// it may run in, and no reference of this name.
    fn is_path(&self, word: &Word) -> bool {
        let exists = |base: &PathBuf| base.join(&word.text).symlink_metadata().is_ok();
        let is_reference = |all: &Vec<References>| all.iter().any(|it| it.has(&word.text));
        is_plain_path(word)
            && self.bases.iter().all(exists)
            && self.references().is_some_and(|all| !is_reference(all))
    }

    /// Whether the word is a commit or a range of commits. The name of another object could show any
    /// file that git keeps.
    fn are_commits(&self, word: &Word) -> bool {
        let mut names = word.text.split("..").map(|name| name.trim_start_matches('.'));
        word.literal
            && !self.is_file(&word.text)
            && names.all(|name| self.is_commit(if name.is_empty() { "HEAD" } else { name }))
    }

    fn is_commit(&self, name: &str) -> bool {
        let is_commit = |all: &Vec<References>| all.iter().all(|it| it.is_commit(name));
        let is_kept = self.keeps_names || refs::is_head(name);
        is_kept && !self.is_file(name) && self.references().is_some_and(is_commit)
    }

    /// Whether a file in one of the folders has this name.
    fn is_file(&self, name: &str) -> bool {
        self.bases.iter().any(|base| base.join(name).symlink_metadata().is_ok())
    }

    /// Whether the word names a file in a commit, which is compared like other names.
    fn is_blob(&self, word: &Word) -> bool {
        word.literal
            && !self.is_file(&word.text)
            && word.text.split_once(':').is_some_and(|(commit, path)| {
                // Other signs are those of a pattern.
                path.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c))
                    && !has_parent_after_name(Path::new(path))
                    && self.is_commit(commit)
            })
    }

    /// Whether git may take one of the paths for a file outside the repository, and compares that,
    /// tracked or not.
    fn leave_checkout(&self, paths: &[&Word]) -> bool {
        let leaves = |path: &Path, base: &PathBuf| {
            let is_in = |checkout| normalize(&base.join(path)).starts_with(checkout);
            has_parent_after_name(path) || !checkout_around(base).is_some_and(is_in)
        };
        paths.iter().any(|word| self.bases.iter().any(|base| leaves(Path::new(&word.text), base)))
    }
}

/// Whether the word is the plain name of a remote or a branch, and no address or pair of names.
fn is_name(word: &Word) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "._/-".contains(c);
    word.literal && word.text.chars().all(is_plain)
}

/// Whether a rebase that applies patches is under way in the repository around the folder.
pub fn is_applying(folder: &Path) -> bool {
    let (own, _) = named_git_dirs(&checkout_root(folder));
    own.join("rebase-apply").symlink_metadata().is_ok()
}

/// Whether a `..` follows a name in the path. Git drops the name with the `..`; the
/// system goes up from where a link leads.
pub fn has_parent_after_name(path: &Path) -> bool {
    let mut parts = path.components().skip_while(|part| !matches!(part, Component::Normal(_)));
    parts.any(|part| part == Component::ParentDir)
}

/// Whether git takes the word for the name of one file or folder.
pub fn is_plain_path(word: &Word) -> bool {
    word.literal && !word.text.contains([':', '*', '?', '[', '\\'])
}

/// Whether git tracks a file of the pattern in the repository around the folder. One that caliban
/// cannot read may track any file.
pub fn tracks_match(folder: &Path, pattern: &PathPattern, starts: &PatternRoots) -> bool {
    tracks_in(&checkout_root(folder), pattern, starts, |_| true)
}

/// Whether git tracks such a file that has one of these names, or lies below one.
pub fn tracks_below(target: &PathTarget, pattern: &PathPattern, starts: &PatternRoots) -> bool {
    target.names().any(|name| {
        let mut roots = name.ancestors().filter(|folder| has_dot_git(folder));
        roots.any(|root| tracks_in(root, pattern, starts, |file| file.starts_with(name)))
    })
}

fn tracks_in(
    root: &Path,
    pattern: &PathPattern,
    starts: &PatternRoots,
    is_shown: impl Fn(&Path) -> bool,
) -> bool {
    let is_meant = |name: &[u8]| {
        let file = root.join(OsStr::from_bytes(name));
        is_shown(&file) && pattern.restricts_name(&file, starts)
    };
    has_dot_git(root) && pattern.may_lie_in(root, starts) && tracks(root, is_meant).unwrap_or(true)
}

#[cfg(test)]
mod tests;
