//! Files outside the repository that git reads or writes because a word names them. A rule for a
//! git command covers only its repository.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::place::leads_out;
use super::sub_command::is_everyday;
use super::{Danger, GitCommand, Spelling};
use crate::disk::{
    checkout_root, has_entry_behind_link, has_link_out, named_git_dirs, normalize, resolve,
};
use crate::permission::spelling::Piece;

/// A sub-command that takes its message from a file.
struct MessageCommand {
    name: &'static str,
    /// Letters that take the rest of the word or the next one as a value.
    values: &'static str,
    /// The subset whose value is a file.
    files: &'static str,
}

const READERS: &[MessageCommand] = &[
    MessageCommand { name: "commit", values: "cCFmStu", files: "Ft" },
    MessageCommand { name: "merge", values: "FmsSX", files: "F" },
    MessageCommand { name: "notes", values: "cCFm", files: "F" },
    MessageCommand { name: "tag", values: "Fmnu", files: "F" },
];

/// Sub-commands that reject a path outside the repository, or whose repository is checked elsewhere.
const REFUSES: &str =
    "add checkout commit fetch pull push reset restore sparse-checkout stage stash status switch";

/// Sub-commands that neither read the content of files in the checkout nor hand their names on.
const NO_CONTENT: &str = "branch cat-file config describe fetch for-each-ref help log ls-files ls-remote ls-tree \
    notes push reflog remote reset rev-list rev-parse shortlog show show-branch show-ref status tag";

/// Sub-commands of which a path may not lead through a link. They refuse it only while the index does
/// not name what is behind the link.
const BEHIND_NO_LINK: &str = "add checkout commit reset restore stage stash switch";

/// How a file begins that lists other files with mail.
const SERIES: &[u8] = b"# This series applies on GIT commit";

/// Sub-commands whose operands are files or revisions, relative to the folder that git starts in.
/// Git resolves many other names from the top of the checkout.
const IN_FOLDER: &str = "annotate apply archive blame cat-file check-attr check-ignore clean describe diff \
    diff-files diff-index diff-tree grep log ls-files ls-tree mv rev-list rm shortlog show update-index whatchanged";

/// Letters that take a text, by sub-command. It may look like a path.
const TEXTS: &[(&str, &str)] = &[
    ("commit tag merge notes", "m"),
    ("log show diff rev-list shortlog whatchanged", "SGL"),
    ("grep", "e"),
];

/// Long options that take a text.
const LONG_TEXTS: &str = "--message --grep --author --committer --format --pretty --date --trailer --line-prefix --since --until --after --before";

/// Maximum letters of one word that are read as options with a file.
const MAX_LETTERS: usize = 32;

/// Finds words of an everyday sub-command that name a file which may be outside the repository, or
/// outside the bases if the sub-command takes its message from there.
pub fn find(git: GitCommand<'_>) -> Vec<Danger> {
    let GitCommand { name: sub_command, place, words, bases } = git;
    let reader = READERS.iter().find(|reader| reader.name == sub_command);
    let mut dangers = own_files(git);
    let with_tops = with_tops(bases);
    let is_open = is_everyday("git", sub_command, words.get(place + 1))
        && !REFUSES.split_whitespace().any(|known| known == sub_command);
    for (at, word) in git.arguments() {
        let text = word.outline();
        // A `--` may be the value of the option before it, and so ends nothing.
        if let Some((option, value)) = file(&text, reader) {
            let is_outside = match value {
                Some(value) => leads_out(value, word, &with_tops),
                None => words
                    .get(at + 1)
                    .is_none_or(|next| leads_out(&next.outline(), next, &with_tops)),
            };
            let is_stdin = value.or_else(|| words.get(at + 1)?.exact()) == Some("-");
            if is_outside && !is_stdin {
                let written = text.split('=').next().unwrap_or_default().to_owned();
                dangers.push(Danger::new(option, written, at));
            }
            continue;
        }
        let is_text = is_text_behind(&words[at - 1], sub_command);
        let is_in_folder = is_operand(words, at) && is_listed(IN_FOLDER, sub_command);
        let bases = if is_in_folder { bases } else { &with_tops };
        let is_behind_link = || {
            is_listed(BEHIND_NO_LINK, sub_command)
                && word.exact().is_some_and(|text| is_behind_link(text, bases))
        };
        if !is_text && (is_open && is_outside(word, sub_command, bases) || is_behind_link()) {
            let written = text.split('=').next().unwrap_or_default();
            dangers.push(Danger::new(written, written, at));
        }
    }
    dangers
}

/// The folders, and the top folders of the checkouts around them.
fn with_tops(bases: &[PathBuf]) -> Vec<PathBuf> {
    let tops = bases.iter().map(|base| checkout_root(base));
    bases.iter().cloned().chain(tops).collect()
}

fn is_listed(list: &str, sub_command: &str) -> bool {
    list.split_whitespace().any(|known| known == sub_command)
}

/// Whether the word is not an option, nor possibly the value of one before it.
fn is_operand(words: &[Spelling<'_>], at: usize) -> bool {
    let is_option = |word: &Spelling<'_>| {
        word.exact() != Some("--") && word.beginning().starts_with('-') || word.is_unknown()
    };
    !is_option(&words[at]) && !is_option(&words[at - 1])
}

/// Sub-commands that write where a patch says, with the options that keep each from following a link
/// that the index does not name. git refuses such a link only while it does not apply to the index.
const PATCHERS: &[(&str, &str)] = &[
    (
        "apply",
        "--allow-empty --cached --check --inaccurate-eof --no-add --numstat --quiet --recount --reject --reverse --stat \
         --summary --unidiff-zero --verbose --whitespace -R -p0 -p1 -p2 -p3 -q -v -z",
    ),
    // The backend that merges.
    (
        "rebase",
        "--abort --autosquash --autostash --committer-date-is-author-date --continue --edit-todo --empty --exec \
         --force-rebase --fork-point --interactive --keep-base --keep-empty --merge --no-autosquash --no-autostash \
         --no-ff --no-fork-point --no-keep-empty --no-stat --no-update-refs --no-verify --onto --quiet --quit \
         --reapply-cherry-picks --rebase-merges --rerere-autoupdate --reset-author-date --root --show-current-patch \
         --signoff --skip --stat --strategy --strategy-option --update-refs --verbose --verify -f -i -m -n -q -r \
         -v",
    ),
    ("am", "--abort --quit --show-current-patch"),
];

/// Whether the command may write through a link that the index does not name.
fn patches(git: GitCommand<'_>) -> bool {
    let Some((_, options)) = PATCHERS.iter().find(|(name, _)| *name == git.name) else {
        return false;
    };
    let is_known = |word: &Spelling<'_>| {
        let text = word.exact().unwrap_or_default();
        let takes_rest = ["-S", "-X", "-s", "-x"].iter().any(|start| text.starts_with(start));
        takes_rest && git.name == "rebase"
            || is_listed(options, text.split('=').next().unwrap_or_default())
    };
    match git.name {
        // It needs no option to apply to the index.
        "am" => !git.arguments().any(|(_, word)| is_known(word)),
        _ => git.arguments().any(|(_, word)| is_dashed(word) && !is_known(word)),
    }
}

/// Finds files that no word shows: git finds them in the index, and follows a link that has replaced
/// a folder, or they are named in a patch. Only a rule for the whole line can name them.
pub fn find_unseen(git: GitCommand<'_>) -> Option<Danger> {
    let GitCommand { name: sub_command, bases, .. } = git;
    let has_way_out = |base: &PathBuf| has_link_out(&checkout_root(base));
    if patches(git) && bases.iter().any(has_way_out) {
        return Some(Danger::new(
            "a link that a patch may follow out of the checkout",
            "",
            usize::MAX,
        ));
    }
    let is_searched =
        !matches!(sub_command, "help" | "mv" | "am") && !is_listed(NO_CONTENT, sub_command);
    let has_link = |base: &PathBuf| has_entry_behind_link(&checkout_root(base));
    let found = is_searched && bases.iter().any(has_link);
    found.then(|| Danger::new("a folder that has become a link", "", usize::MAX))
}

/// Finds files that git names itself, and words that are git's own files.
fn own_files(git: GitCommand<'_>) -> Vec<Danger> {
    let GitCommand { words, bases, .. } = git;
    let rest = || git.arguments();
    let danger = |option: &str, at: usize| vec![Danger::new(option, "", at)];
    match git.name {
        // No word shows them, so only a rule for the whole line can name them.
        "format-patch" if !is_for_stdout(words, git.place) => {
            danger("files that git names", usize::MAX)
        }
        "help" => {
            let mut pages = rest().filter(|(_, word)| word.outline().contains('/'));
            pages.next().map_or(Vec::new(), |(at, _)| danger("a manual page by its path", at))
        }
        "mv" => {
            let mut own = rest().filter(|(_, word)| is_of_git(word, bases));
            own.next().map_or(Vec::new(), |(at, _)| danger("git's own files", at))
        }
        "am" => {
            let is_list = |at: usize, word: &Spelling<'_>| {
                is_other_mail_format(word, words.get(at + 1))
                    || !is_dashed(word) && lists_mail(word, bases)
            };
            let mut lists = rest().filter(|(at, word)| is_list(*at, word));
            lists.next().map_or(Vec::new(), |(at, _)| danger("a list of files with mail", at))
        }
        _ => Vec::new(),
    }
}

/// Whether `git format-patch` certainly prints its patches.
fn is_for_stdout(words: &[Spelling<'_>], place: usize) -> bool {
    let own = &words[place + 1..];
    let is_count = |word: &str| {
        word.strip_prefix('-').is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_flag = |word: &Spelling<'_>| word.exact().is_some_and(is_count) || !is_dashed(word);
    let at = own.iter().position(|word| word.exact() == Some("--stdout"));
    let is_revoked = own.iter().any(|word| word.beginning().starts_with("--no-st"));
    !is_revoked && at.is_some_and(|at| own[..at].iter().all(is_flag))
}

/// Whether the word begins with a dash, or may do so.
fn is_dashed(word: &Spelling<'_>) -> bool {
    word.beginning().starts_with('-') || word.exact().is_none()
}

/// Whether the word names or leads to a git folder or something in one.
pub fn is_of_git(word: &Spelling<'_>, bases: &[PathBuf]) -> bool {
    let has_git = |path: &Path| path.components().any(|part| is_git_folder(part.as_os_str()));
    let text = word.outline();
    let is_own = |base: &PathBuf| {
        let (own, common) = named_git_dirs(&checkout_root(base));
        let dirs: Vec<PathBuf> =
            [Some(own), common].into_iter().flatten().filter_map(|dir| resolve(&dir)).collect();
        readings(&text, base).into_iter().any(|real| {
            real.is_none_or(|real| has_git(&real) || dirs.iter().any(|dir| real.starts_with(dir)))
        })
    };
    word.exact().is_none() || has_git(Path::new(&text)) || bases.iter().any(is_own)
}

/// Whether the word may be a folder with mail, or a file that lists files with mail.
fn lists_mail(word: &Spelling<'_>, bases: &[PathBuf]) -> bool {
    let Some(text) = word.exact() else { return true };
    bases.iter().any(|base| match fs::metadata(base.join(text)) {
        Ok(found) if found.is_file() => {
            fs::read(base.join(text)).is_ok_and(|mail| mail.starts_with(SERIES))
        }
        Ok(_) => true,
        Err(_) => false,
    })
}

/// Whether the word is the option for a format of mail other than mbox.
fn is_other_mail_format(word: &Spelling<'_>, next: Option<&Spelling<'_>>) -> bool {
    let text = word.outline();
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text.as_str(), next.and_then(Spelling::exact)),
    };
    name.len() > 2 && "--patch-format".starts_with(name) && value != Some("mbox")
}

/// Whether the path is one in the checkout to git, but a link on the way leads elsewhere.
fn is_behind_link(text: &str, bases: &[PathBuf]) -> bool {
    let Some(folder) = Path::new(text).parent() else { return false };
    bases.iter().any(|base| {
        let (Some(root), Some(base)) = (resolve(&checkout_root(base)), resolve(base)) else {
            return true;
        };
        let folder = normalize(&base.join(folder));
        folder.starts_with(&root) && resolve(&folder).is_none_or(|real| !real.starts_with(&root))
    })
}

/// Where the path leads from the folder, as the system reads it and as git does: git takes `..` for
/// the folder before it in the text, even if that is a link.
fn readings(path: &str, base: &Path) -> [Option<PathBuf>; 2] {
    let Some(base) = resolve(base) else { return [None, None] };
    [resolve(&base.join(path)), resolve(&normalize(&base.join(path)))]
}

/// Whether the name is a git folder's on some file system: case-insensitive, or with short names.
fn is_git_folder(name: &OsStr) -> bool {
    [".git", "git~1"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// The option in the word that names a file to read, and its value if joined.
fn file<'a>(word: &'a str, reader: Option<&MessageCommand>) -> Option<(String, Option<&'a str>)> {
    if word.starts_with("--") {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        // Git accepts abbreviated options.
        let is_meant = |option: &&&str| name.len() > 3 && option.starts_with(name);
        let own: &[&str] = if reader.is_some() { &["--file", "--template"] } else { &[] };
        let option = own.iter().chain(&["--pathspec-from-file"]).find(is_meant)?;
        return Some(((*option).to_owned(), value));
    }
    let (cluster, reader) = (word.strip_prefix('-')?, reader?);
    let at = cluster.find(|letter| reader.values.contains(letter))?;
    let letter = cluster[at..].chars().next().filter(|letter| reader.files.contains(*letter))?;
    let value = &cluster[at + letter.len_utf8()..];
    Some((format!("-{letter}"), (!value.is_empty()).then_some(value)))
}

/// Whether the word is an option whose text is the next word.
fn is_text_behind(option: &Spelling<'_>, sub_command: &str) -> bool {
    let Some(text) = option.exact() else { return false };
    match text.strip_prefix('-') {
        Some(_) if text.starts_with("--") => is_long_text(text),
        Some(cluster) => cluster.ends_with(|letter| takes_text(letter, sub_command)),
        None => false,
    }
}

fn is_long_text(name: &str) -> bool {
    LONG_TEXTS.split_whitespace().any(|known| known == name)
}

fn takes_text(letter: char, sub_command: &str) -> bool {
    let is_own = |names: &str| names.split_whitespace().any(|own| own == sub_command);
    TEXTS.iter().any(|(names, letters)| is_own(names) && letters.contains(letter))
}

/// Whether the word is or ends with a path that leads outside the repository around one of `bases`.
/// Text after an option that takes text does not count.
fn is_outside(word: &Spelling<'_>, sub_command: &str, bases: &[PathBuf]) -> bool {
    let text = word.outline();
    let path = match (text.strip_prefix('-'), text.split_once('=')) {
        (None, _) => text.as_str(),
        (Some(_), Some((name, _))) if is_long_text(name) => return false,
        (Some(_), Some((name, _))) if name.starts_with("--") && has_unknown_text(word) => {
            return true;
        }
        (Some(_), Some((name, value))) if name.starts_with("--") => value,
        (Some(cluster), _) => {
            let end = cluster.find(|letter: char| !letter.is_ascii_alphabetic());
            let letters = &cluster[..end.unwrap_or(cluster.len())];
            let text_at = letters.find(|letter| takes_text(letter, sub_command));
            // Any of the letters may take the rest of the word as the name of a file.
            let is_letter = |(_, c): &(usize, char)| c.is_ascii_alphanumeric();
            let letters_before = cluster.char_indices().take_while(is_letter);
            if text_at.is_none() && letters_before.clone().count() > MAX_LETTERS {
                return true;
            }
            let mut values = letters_before
                .take(text_at.unwrap_or(MAX_LETTERS))
                .map(|(at, _)| &cluster[at + 1..]);
            let leads_out = |value: &str| {
                let exists = |base: &PathBuf| {
                    let first = value.split('/').next().unwrap_or_default();
                    !first.is_empty() && base.join(first).symlink_metadata().is_ok()
                };
                bases.iter().any(|base| exists(base) && leads_out_of_checkout(value, base))
            };
            if word.exact().is_some() && values.any(leads_out) {
                return true;
            }
            if text_at.is_some() {
                return false;
            }
            if has_unknown_text(word) {
                return true;
            }
            &cluster[letters.len()..]
        }
    };
    let leaves = path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
    match word {
        _ if path == "/dev/null" => false,
        Spelling::Open(_) => leaves,
        Spelling::Plain(_) => bases.iter().any(|base| leads_out_of_checkout(path, base)),
    }
}

/// Whether a part of the word may be any text: no name of the line, nor one that a glob matches.
fn has_unknown_text(word: &Spelling<'_>) -> bool {
    let is_unknown = |piece: &Piece| matches!(piece, Piece::Any | Piece::Limit);
    matches!(word, Spelling::Open(pieces) if pieces.iter().any(is_unknown))
}

fn leads_out_of_checkout(path: &str, base: &Path) -> bool {
    let Some(root) = resolve(&checkout_root(base)) else { return true };
    // Where it is unknown, as through `/proc`, it may be anywhere.
    let is_outside = |real: Option<PathBuf>| real.is_none_or(|real| !real.starts_with(&root));
    readings(path, base).into_iter().any(is_outside)
}
