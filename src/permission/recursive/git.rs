//! The git commands that show content of files they do not name.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::behavior::{CwdCondition, ReadBehavior, ShownContent};
use super::silent::is_silent;
use crate::disk::{
    GitConfigPaths, checkout_around, checkout_root, common_git_dir, has_dot_git, named_git_dirs,
    normalize, tracks,
};
use crate::permission::pattern::PathPattern;
use crate::permission::pattern_roots::PatternRoots;
use crate::permission::program::{Program, mark_ends_git_options};
use crate::permission::script::Word;

/// Options that make git show which files differ, but not how.
const SUMMARIES: &str = "--compact-summary --dirstat --name-only --name-status --no-patch --numstat --quiet --raw \
                         --shortstat --stat --summary -s -q";

/// Options that show no content either.
const HARMLESS: &str = "--abbrev-commit --all --author --branches --cached --committer --date --date-order --decorate \
                        --exit-code --first-parent --follow --format --graph --grep --left-right --max-count \
                        --merge-base --merges --no-abbrev-commit --no-color --no-decorate --no-ext-diff --no-merges \
                        --no-renames --no-textconv --oneline --pretty --remotes --reverse --simplify-by-decoration \
                        --since --after --until --before --staged --tags --topo-order --color -i -n -z --";

/// Options with which a command shows only the commits and files that it names: the form of the
/// diff, and the order of commits.
const NARROW: &str = "--abbrev --abbrev-commit --color --color-words --date --date-order --decorate --diff-algorithm \
                      --exit-code --first-parent --format --function-context --graph --histogram --ignore-all-space \
                      --ignore-blank-lines --ignore-space-change --indent-heuristic --max-count --minimal --no-color \
                      --no-ext-diff --no-merges --no-patch --no-prefix --no-renames --no-textconv --oneline --patch \
                      --patch-with-stat --patience --pretty --reverse --since --after --until --before --topo-order \
                      --unified --word-diff -W -b -n -p -s -u -w -z --";

/// Options of `git am` that apply none of the patches which it has been given.
const AM_ENDS: &str = "--abort --quit";

/// Search options that limit it to tracked files; long ones only in full.
const GREP: &str = "--all-match --and --break --cached --color --column --context --count --extended-regexp \
                    --files-with-matches --files-without-match --fixed-strings --full-name --heading --ignore-case \
                    --invert-match --line-number --max-count --max-depth --name-only --no-color --only-matching \
                    --perl-regexp --quiet --show-function --text --word-regexp --";

/// Letters of such options that take no value.
const GREP_LETTERS: &str = "aEFGhHiIlLnopPqrvwWz";

/// The content that a git command with these arguments shows besides what it names.
pub fn reading(arguments: &[Word], bases: &[PathBuf]) -> Option<ReadBehavior> {
    let known = Program::named("git");
    let (mut at, mut elsewhere) = (0, false);
    while let Some(option) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
        elsewhere |= ["-C", "--git-dir", "--work-tree", "--icase-pathspecs"]
            .iter()
            .any(|it| option.text.starts_with(it));
        at += known.and_then(|git| git.global_option(&option.text)).map_or(1, |it| it.words);
    }
    let sub_command = arguments.get(at)?;
    let words = &arguments[at + 1..];
    let is = |text: &str| words.iter().any(|word| word.text == text);
    let operands = GitOperands::new(words, bases);
    let name = sub_command.text.as_str();
    let history = ReadBehavior { content: ShownContent::History, reads_cwd: CwdCondition::Always };
    match name {
        // What is behind the mark goes to another command of git, without the mark.
        _ if has_option_behind_mark(name, words) => Some(history),
        // What it takes from another tree may be any file by the name of one.
        "checkout" | "reset" | "restore" if !takes_from_commits(name, words, &operands, bases) => {
            Some(history)
        }
        // It moves the files of one side to other names.
        _ if words.iter().any(|word| word.text.contains("subtree")) => Some(history),
        // It applies a patch, and shows lines of it that end in blanks.
        "stash" if applies_patch(words, bases) => Some(history),
        _ if is_silent(name, words) => by_setting(name, elsewhere),
        // What a patch names by its id may be any file.
        "am" if !words.is_empty() && words.iter().all(|word| lists(AM_ENDS, &word.text)) => None,
        "grep" if is("--no-index") => Some(ReadBehavior {
            content: ShownContent::Files { hidden: true },
            reads_cwd: CwdCondition::Always,
        }),
        // The first word is the search pattern.
        "grep" if operands.revisions.len() <= 1 && is_plain_search(words) => {
            Some(ReadBehavior { content: ShownContent::Searched, reads_cwd: CwdCondition::Always })
        }
        "stash" if !shows_stash(words) => Some(history),
        // Git compares files that are not in the repository as with `--no-index`: tracked or not.
        "diff" | "difftool" if is("--no-index") || operands.leave_checkout => Some(ReadBehavior {
            content: ShownContent::Files { hidden: true },
            reads_cwd: CwdCondition::Never,
        }),
        // By the name of an object, `show` prints a file whatever the options say.
        "show" if is_summary(words) && !names_refs(words) && operands.are_commits(bases) => None,
        "diff" | "difftool" if is_summary(words) => None,
        "diff" | "difftool" | "show"
            if is_narrow(words, &["--cached", "--staged"])
                && operands.are_files
                && operands.are_commits(bases) =>
        {
            None
        }
        // It compares the files with what git tracks now. A commit may hold others.
        "diff" | "difftool" if is_narrow(words, &[]) && operands.revisions.is_empty() => {
            let here = match operands.are_plain && !elsewhere {
                true => CwdCondition::Never,
                false => CwdCondition::Always,
            };
            Some(ReadBehavior { content: ShownContent::Tracked, reads_cwd: here })
        }
        "show" | "cat-file" if is_narrow(words, &["-e", "-t"]) && operands.are_blobs(bases) => None,
        "log" | "reflog" | "shortlog" | "stash" | "whatchanged"
            if is_harmless(words) || is_narrow(words, &[]) && operands.are_files =>
        {
            by_setting(name, elsewhere)
        }
        // They go through the changes of the files that they name.
        "add" | "stage" | "checkout" | "reset" | "restore" if operands.are_files => None,
        "add" | "stage" => {
            Some(ReadBehavior { content: ShownContent::Tracked, reads_cwd: CwdCondition::Always })
        }
        "diff" | "difftool" | "show" | "log" | "whatchanged" => {
            Some(ReadBehavior { content: ShownContent::Changes, reads_cwd: CwdCondition::Always })
        }
        _ => Some(history),
    }
}

/// Whether `git stash` takes only a part of the changes, other than those of files that it names.
fn applies_patch(words: &[Word], bases: &[PathBuf]) -> bool {
    let mut is_message = false;
    let mut options_ended = false;
    let (mut command, mut files) = (None, Vec::new());
    for word in words {
        let text = word.text.as_str();
        if std::mem::take(&mut is_message) {
            continue;
        }
        match text {
            "--" if !options_ended => options_ended = true,
            "-m" | "--message" if !options_ended => is_message = true,
            _ if !options_ended && text.starts_with('-') => {
                let letters = text.strip_prefix('-').filter(|it| !it.starts_with(['-', 'm']));
                if letters.is_some_and(|it| it.contains('S')) || text.starts_with("--s") {
                    return true;
                }
                is_message = letters.is_some_and(|it| it.ends_with('m'));
            }
            _ if command.is_none() && !options_ended => command = Some(text),
            _ => files.push(word),
        }
    }
    // The words after any other are no files.
    let is_file = |word: &Word| {
        is_plain_path(word) && bases.iter().all(|base| base.join(&word.text).is_file())
    };
    matches!(command, None | Some("push")) && !files.into_iter().all(is_file)
}

/// Whether `git stash` lists or shows entries, or has no sub-command.
fn shows_stash(words: &[Word]) -> bool {
    let command = words.iter().find(|word| !word.text.starts_with('-'));
    command.is_none_or(|word| word.literal && matches!(word.text.as_str(), "list" | "show"))
}

/// Settings by which a search goes through files that git does not track here.
pub const SEARCH_SETTINGS: &[(&str, &str)] =
    &[("grep", "fallbacktonoindex"), ("submodule", "recurse")];

/// Commands that merge, unless a setting makes them apply patches.
const MERGERS: [&str; 4] = ["merge", "pull", "rebase", "submodule"];

/// Settings by which they apply patches.
pub const PATCH_SETTINGS: &[(&str, &str)] = &[("rebase", "backend"), ("stash", "index")];

/// Settings by which a command shows content that it otherwise does not.
const SHOWING_SETTINGS: &[(&str, &[(&str, &str)])] = &[
    ("annotate", &[("blame", "ignorerevsfile")]),
    ("blame", &[("blame", "ignorerevsfile")]),
    ("commit", &[("commit", "template"), ("commit", "verbose")]),
    ("stash", &[("stash", "index"), ("stash", "showpatch")]),
];

/// The content that an otherwise silent command shows by its settings, which may be those of a
/// repository `elsewhere`.
fn by_setting(name: &str, elsewhere: bool) -> Option<ReadBehavior> {
    let settings = SHOWING_SETTINGS.iter().find(|(command, _)| *command == name);
    let content = match settings {
        Some((_, settings)) => ShownContent::WithSetting(settings),
        None if MERGERS.contains(&name) => ShownContent::Patches,
        None => return None,
    };
    let content = if elsewhere { ShownContent::History } else { content };
    Some(ReadBehavior { content, reads_cwd: CwdCondition::Always })
}

/// Whether a rebase that applies patches is under way in the repository around the folder.
pub fn is_applying(folder: &Path) -> bool {
    let (own, _) = named_git_dirs(&checkout_root(folder));
    own.join("rebase-apply").symlink_metadata().is_ok()
}

/// Whether git has one of the settings in this folder.
pub fn has_setting(folder: &Path, settings: &[(&str, &str)], git: &GitConfigPaths) -> bool {
    let root = checkout_root(folder);
    let own = [Some(named_git_dirs(&root).0), common_git_dir(&root)].into_iter().flatten();
    let own = own.flat_map(|git| ["config", "config.worktree"].map(|file| git.join(file)));
    let all = git.settings_with(own);
    settings.iter().any(|name| all.may_have(*name))
}

fn has_option_behind_mark(name: &str, words: &[Word]) -> bool {
    let next = words.first().map_or("", |word| word.text.as_str());
    if mark_ends_git_options(&[name, next]) {
        return false;
    }
    let behind = words.iter().skip_while(|word| word.text != "--").skip(1);
    behind.into_iter().any(|word| word.text.starts_with('-') || !word.literal)
}

/// The non-option words of a git command.
struct GitOperands<'a> {
    /// Those that are no files or folders.
    revisions: Vec<&'a str>,
    /// Whether there are paths, and each names one file or folder: git takes others for patterns,
    /// some of which exclude what they name.
    are_plain: bool,
    /// Whether it is limited to files that it names.
    are_files: bool,
    /// Whether git may take one for a file outside the repository.
    leave_checkout: bool,
}

impl<'a> GitOperands<'a> {
    fn new(words: &'a [Word], bases: &[PathBuf]) -> Self {
        let end = words.iter().position(|word| word.text == "--");
        let (before, behind) = words.split_at(end.unwrap_or(words.len()));
        let is_any = |word: &Word, fits: fn(&Path) -> bool| {
            bases.iter().any(|base| fits(&base.join(&word.text)))
        };
        let before = before.iter().filter(|word| !word.text.starts_with('-'));
        let (mut paths, revisions): (Vec<&Word>, Vec<&Word>) =
            before.partition(|word| is_any(word, Path::exists));
        paths.extend(behind.iter().skip(1));
        let are_plain = !paths.is_empty() && paths.iter().all(|word| is_plain_path(word));
        let are_files = are_plain && paths.iter().all(|word| is_any(word, Path::is_file));
        let leaves = |path: &Path, base: &PathBuf| {
            let is_in = |checkout| normalize(&base.join(path)).starts_with(checkout);
            has_parent_after_name(path) || !checkout_around(base).is_some_and(is_in)
        };
        let leave_checkout =
            paths.iter().any(|word| bases.iter().any(|base| leaves(Path::new(&word.text), base)));
        let revisions = revisions.iter().map(|word| word.text.as_str()).collect();
        Self { revisions, are_plain, are_files, leave_checkout }
    }

    /// Whether the words before the files are certainly commits: a blob's name could show any file that git keeps.
    fn are_commits(&self, bases: &[PathBuf]) -> bool {
        let is_commit = |name: &str| name.is_empty() || is_commit(name, bases);
        self.revisions.iter().all(|it| it.split("..").all(|it| is_commit(it.trim_matches('.'))))
    }

    /// Whether all are names of files in a commit, such as `HEAD:src/a`: those are compared like other names.
    fn are_blobs(&self, bases: &[PathBuf]) -> bool {
        let is_blob = |text: &&str| {
            text.split_once(':').is_some_and(|(commit, path)| {
                (commit.is_empty() || is_commit(commit, bases))
                    // Other signs are those of a pattern.
                    && path.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c))
            })
        };
        !self.revisions.is_empty() && self.revisions.iter().all(is_blob)
    }
}

/// Whether the name is certainly one of a commit: `HEAD` or a branch, or one of those before it.
fn is_commit(name: &str, bases: &[PathBuf]) -> bool {
    let start = name.split(['~', '^']).next().unwrap_or_default();
    let is_before = name[start.len()..].chars().all(|c| matches!(c, '~' | '^' | '0'..='9'));
    let name = if start == "@" { "HEAD" } else { start };
    is_before && !bases.is_empty() && bases.iter().all(|base| has_branch(base, name))
}

/// Whether a command that takes files from a commit is certainly given no other tree.
fn takes_from_commits(
    name: &str,
    words: &[Word],
    operands: &GitOperands<'_>,
    bases: &[PathBuf],
) -> bool {
    let end = words.iter().position(|word| word.text == "--");
    let before = &words[..end.unwrap_or(words.len())];
    if name == "restore" {
        let mut sources = before.iter().enumerate().filter_map(|(at, word)| {
            let text = word.text.as_str();
            let next = || before.get(at + 1).map_or("", |word| word.text.as_str());
            match text.strip_prefix("--") {
                // It may be abbreviated, but for one letter.
                Some(long) if long.starts_with("so") => {
                    Some(long.split_once('=').map_or_else(next, |(_, value)| value))
                }
                Some(_) => None,
                None => {
                    let (_, value) = text.strip_prefix('-')?.split_once('s')?;
                    Some(if value.is_empty() { next() } else { value })
                }
            }
        });
        return sources.all(|source| is_commit(source, bases));
    }
    // With a new branch, or with one word, it takes a commit and no files.
    let creates = |word: &Word| {
        let is_letter = |c| matches!(c, 'b' | 'B' | 'd' | 't');
        let letters = word.text.strip_prefix('-').filter(|text| !text.starts_with('-'));
        let letters = letters.map(|text| text.trim_start_matches(['f', 'q']));
        word.literal
            && (letters.is_some_and(|it| it.chars().next().is_some_and(is_letter))
                || matches!(word.text.as_str(), "--orphan" | "--track" | "--detach"))
    };
    let words_before = before.iter().filter(|word| !word.text.starts_with('-')).count();
    name == "checkout" && end.is_none() && before.iter().any(creates)
        || end.is_none() && words_before <= 1 && before.iter().all(|word| word.literal)
        || operands.are_commits(bases) && before.iter().all(|word| word.literal)
}

/// Whether an option names references, which may lead to any object.
fn names_refs(words: &[Word]) -> bool {
    let refs = ["--all", "--branches", "--remotes", "--tags"];
    words.iter().any(|word| refs.iter().any(|option| word.text.starts_with(option)))
}

/// Whether the name is that of a local branch or of `HEAD`, which git keeps at a commit, and of
/// nothing else in the repository around the folder.
fn has_branch(folder: &Path, name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "._/-".contains(c));
    // Git takes such a name for that of an object.
    let is_id = name.len() >= 40 && name.chars().all(|c| c.is_ascii_hexdigit());
    if name.is_empty() || !is_plain || is_id || name.contains("..") {
        return false;
    }
    let root = checkout_root(folder);
    let (own, Some(common)) = (named_git_dirs(&root).0, common_git_dir(&root)) else {
        return false;
    };
    let packed = fs::read_to_string(common.join("packed-refs")).unwrap_or_default();
    let is_packed = |reference: &str| {
        packed.lines().any(|line| line.split_once(' ').is_some_and(|(_, own)| own == reference))
    };
    let has = |reference: &str| {
        is_packed(reference)
            || [&own, &common].iter().any(|git| git.join(reference).symlink_metadata().is_ok())
    };
    // Git looks for other references of this name first.
    let is_other = name != "HEAD" && has(name);
    if is_other || has(&format!("refs/{name}")) || has(&format!("refs/tags/{name}")) {
        return false;
    }
    // A symbolic reference may lead to anything, and so may a link.
    let text = |file: PathBuf| {
        let is_file = file.symlink_metadata().is_ok_and(|it| it.file_type().is_file());
        is_file.then(|| fs::read_to_string(&file).ok()).flatten()
    };
    let is_commit = |text: &str| text.trim_end().chars().all(|c| c.is_ascii_hexdigit());
    let branch = match name {
        "HEAD" => match text(own.join("HEAD")) {
            Some(head) if is_commit(&head) => return true,
            Some(head) => match head.trim_end().strip_prefix("ref: refs/heads/") {
                Some(branch) => branch.to_owned(),
                None => return false,
            },
            None => return false,
        },
        name => name.to_owned(),
    };
    let reference = format!("refs/heads/{branch}");
    match text(common.join(&reference)) {
        Some(id) => is_commit(&id),
        // The branch of `HEAD` may have no commit yet.
        None => is_packed(&reference) || name == "HEAD" && !has(&reference),
    }
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

fn is_summary(words: &[Word]) -> bool {
    is_harmless(words) && words.iter().any(|word| lists(SUMMARIES, &word.text))
}

/// Whether every option is known to show no content.
fn is_harmless(words: &[Word]) -> bool {
    all_options(words, |text| {
        lists(SUMMARIES, text) || lists(HARMLESS, text) || is_number(text, &["-n"])
    })
}

/// Whether every option is one of these, or is known to show only what the command names.
fn is_narrow(words: &[Word], others: &[&str]) -> bool {
    all_options(words, |text| {
        others.contains(&text)
            || lists(SUMMARIES, text)
            || lists(NARROW, text)
            || is_number(text, &["-n", "-U"])
    })
}

/// Whether a search looks for its first word, and every option is known to limit it to tracked files.
fn is_plain_search(words: &[Word]) -> bool {
    let is_letters = |text: &str| {
        let letters = text.strip_prefix('-').unwrap_or_default();
        let number = letters.trim_end_matches(|c: char| c.is_ascii_digit());
        let flags = match number.len() < letters.len() {
            true => number.trim_end_matches(['A', 'B', 'C', 'm']),
            false => letters,
        };
        !letters.is_empty() && flags.chars().all(|letter| GREP_LETTERS.contains(letter))
    };
    all_options(words, |text| is_letters(text) || lists(GREP, text))
}

/// Whether all options before the files are known; a word known only at run time may be another.
fn all_options(words: &[Word], is_known: impl Fn(&str) -> bool) -> bool {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let mut options =
        words[..end].iter().filter(|word| word.text.starts_with('-') || !word.literal);
    options.all(|word| word.literal && is_known(&word.text))
}

/// Whether the text is a number after a dash or one of the letters.
fn is_number(text: &str, letters: &[&str]) -> bool {
    let behind = letters.iter().find_map(|letter| text.strip_prefix(letter));
    let digits = behind.unwrap_or_else(|| text.trim_start_matches('-'));
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn lists(list: &str, option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    list.split_whitespace().any(|known| known == name)
}

/// Whether git tracks a file of the pattern in the repository around the folder. One that caliban
/// cannot read may track any file.
pub fn tracks_match(folder: &Path, pattern: &PathPattern, starts: &PatternRoots) -> bool {
    let root = checkout_root(folder);
    let is_meant = |name: &[u8]| {
        pattern.restricts_name(&root.join(String::from_utf8_lossy(name).as_ref()), starts)
    };
    has_dot_git(&root)
        && pattern.may_lie_in(&root, starts)
        && tracks(&root, is_meant).unwrap_or(true)
}
