//! The git commands that show no file content, with the options for which that is known. Any other
//! command, and any other option, may show the content of commits.

use crate::permission::script::Word;

/// A git command that shows no content.
struct SilentCommand {
    /// Separated by blanks.
    names: &'static str,
    /// Applies only if one of these is the first non-option word; empty for any.
    words: &'static str,
    options: SilentOptions,
}

enum SilentOptions {
    Any,
    Known {
        /// Letters without a value.
        flags: &'static str,
        /// Letters that take the rest of the word, or else the next word.
        values: &'static str,
        /// Letters that take the rest of the word, and never the next one.
        joined: &'static str,
        /// Long options; a trailing `=` marks one that takes the next word as its value.
        long: &'static str,
    },
}

const fn any(names: &'static str) -> SilentCommand {
    SilentCommand { names, words: "", options: SilentOptions::Any }
}

const fn words(names: &'static str, words: &'static str) -> SilentCommand {
    SilentCommand { names, words, options: SilentOptions::Any }
}

const fn known(
    names: &'static str,
    flags: &'static str,
    values: &'static str,
    joined: &'static str,
    long: &'static str,
) -> SilentCommand {
    SilentCommand {
        names,
        words: "",
        options: SilentOptions::Known { flags, values, joined, long },
    }
}

const SILENT: &[SilentCommand] = &[
    any(
        "annotate blame bugreport check-attr check-ignore check-mailmap check-ref-format cherry cherry-pick clean \
         column commit-graph count-objects describe fetch fetch-pack gc help init \
         init-db interpret-trailers ls-files ls-remote ls-tree maintenance merge merge-base \
         multi-pack-index mv name-rev pack-refs patch-id prune prune-packed pull push remote repack rev-list rev-parse \
         revert rm send-pack show-branch show-ref sparse-checkout stripspace switch symbolic-ref update-ref \
         update-server-info var verify-commit verify-pack verify-tag version write-tree",
    ),
    // Not with an object that it is given: any content may be added under another name by its id.
    known(
        "update-index",
        "gqz",
        "",
        "",
        "--add --again --assume-unchanged --chmod --force-remove --force-untracked-cache --ignore-missing \
        --ignore-submodules --no-assume-unchanged --no-skip-worktree --no-split-index --no-untracked-cache \
        --really-refresh --refresh --remove --skip-worktree --split-index --stdin --unmerged --untracked-cache \
        --verbose",
    ),
    known("hash-object", "w", "", "", "--no-filters --path --stdin --stdin-paths"),
    words("bisect", "start bad good new old reset skip log terms next replay"),
    words("lfs", "env fetch install ls-files prune pull push status track untrack version"),
    words("rerere", "clear forget gc remaining status"),
    words("submodule", "absorbgitdirs add deinit init set-branch set-url status sync update"),
    words("worktree", "list lock move prune remove repair unlock"),
    known(
        "status",
        "bsz",
        "",
        "u",
        "--ahead-behind --branch --column --find-renames --ignore-submodules --ignored --long \
        --no-ahead-behind --no-column --no-renames --porcelain --renames --short --show-stash --untracked-files",
    ),
    known(
        "add stage",
        "AfnNuv",
        "",
        "",
        "--all --chmod --dry-run --force --ignore-errors --ignore-missing --ignore-removal \
        --intent-to-add --no-all --no-ignore-removal --refresh --renormalize --sparse --update --verbose",
    ),
    known(
        "commit",
        "aeinoqsz",
        "cCFmt",
        "Su",
        "--all --allow-empty --allow-empty-message --amend --author= --branch --cleanup= \
        --date= --dry-run --edit --file= --fixup= --gpg-sign --include --long --message= --no-edit --no-gpg-sign \
        --no-post-rewrite --no-signoff --no-status --no-verify --null --only --porcelain --quiet --reedit-message= \
        --reset-author --reuse-message= --short --signoff --squash= --status --template= --trailer= --untracked-files",
    ),
    known(
        "branch",
        "aCcDdfilMmqrtuv",
        "",
        "",
        "--abbrev --all --color --column --contains --copy --create-reflog --delete \
        --edit-description --force --ignore-case --list --merged --move --no-abbrev --no-color --no-column --no-contains \
        --no-merged --no-track --points-at --quiet --remotes --set-upstream-to= --show-current --sort= --track \
        --unset-upstream --verbose",
    ),
    known(
        "tag",
        "adfils",
        "Fmu",
        "n",
        "--annotate --cleanup= --color --column --contains --create-reflog --delete --file= \
        --force --ignore-case --list --local-user= --merged --message= --no-column --no-contains --no-merged --no-sign \
        --points-at --sign --sort= --trailer=",
    ),
    known(
        "for-each-ref",
        "",
        "",
        "",
        "--contains --count --ignore-case --merged --no-contains --no-merged --points-at --sort=",
    ),
    known(
        "checkout",
        "2dfmqtl3",
        "bB",
        "",
        "--conflict= --detach --force --guess --ignore-other-worktrees --merge --no-guess \
        --no-overlay --no-progress --no-recurse-submodules --no-track --orphan= --ours --overlay --overwrite-ignore \
        --progress --quiet --recurse-submodules --theirs --track",
    ),
    known(
        "reset",
        "Nq",
        "",
        "",
        "--hard --intent-to-add --keep --merge --mixed --no-recurse-submodules --no-refresh --quiet \
        --recurse-submodules --refresh --soft",
    ),
    known(
        "restore",
        "23mqSW",
        "s",
        "",
        "--conflict= --ignore-skip-worktree-bits --ignore-unmerged --merge --no-overlay \
        --no-progress --ours --overlay --progress --quiet --recurse-submodules --source= --staged --theirs --worktree",
    ),
    // Not by patches, of which it shows lines that end in blanks.
    known(
        "rebase",
        "fimnqrv",
        "sxX",
        "S",
        "--abort --autosquash --autostash --committer-date-is-author-date \
        --continue --edit-todo --empty= --exec= --force-rebase --fork-point --gpg-sign --ignore-date --interactive \
        --keep-base --keep-empty --merge --no-autosquash --no-autostash --no-ff --no-fork-point --no-gpg-sign \
        --no-keep-empty --no-rebase-merges --no-rerere-autoupdate --no-stat --no-update-refs --no-verify --onto= --quiet \
        --quit --rebase-merges --reset-author-date --rerere-autoupdate --root --signoff --skip --stat --strategy= \
        --strategy-option= --update-refs --verbose --verify",
    ),
    // Not with the index of a stash, which it applies as a patch.
    SilentCommand {
        words: "apply clear create drop pop push save store",
        ..known(
            "stash",
            "akqSu",
            "m",
            "",
            "--all --include-untracked --keep-index --message= --no-keep-index --quiet --staged",
        )
    },
    known(
        "config",
        "elz",
        "",
        "",
        "--add --all --append --bool --comment= --default= --edit --expiry-date --fixed-value \
        --get --get-all --get-color= --get-colorbool= --get-regexp --get-urlmatch --global --includes --int --list --local \
        --name-only --no-includes --no-type --null --path --regexp --remove-section --rename-section --replace-all \
        --show-names --show-origin --show-scope --system --type= --unset --unset-all --url= --value= --worktree",
    ),
    known(
        "fsck",
        "v",
        "",
        "",
        "--cache --connectivity-only --dangling --full --no-dangling --no-full --no-progress \
        --no-reflogs --progress --strict --tags --unreachable --verbose",
    ),
];

/// Whether a git command with these words shows no content of files that it does not name.
pub fn is_silent(name: &str, words: &[Word]) -> bool {
    let lists = |list: &str, text: &str| list.split_whitespace().any(|it| it == text);
    let first = || words.iter().find(|word| !word.text.starts_with('-'));
    SILENT.iter().filter(|silent| lists(silent.names, name)).any(|silent| {
        let fits = silent.words.is_empty()
            || first().is_some_and(|word| word.literal && lists(silent.words, &word.text));
        fits && silent.options.cover(words)
    })
}

impl SilentOptions {
    /// Whether every option among the words is listed. A word known only at run time may be any option.
    fn cover(&self, words: &[Word]) -> bool {
        let Self::Known { flags, values, joined, long } = self else { return true };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if text == "--" {
                return true;
            }
            let may_be_option = text.starts_with('-')
                || !word.literal && word.raw.starts_with(['$', '`', '"', '{', '*', '?', '[']);
            if !may_be_option || text == "-" {
                continue;
            }
            if !word.literal && !text.contains('=') && !text.starts_with("-m") {
                return false;
            }
            let taken = match text.strip_prefix("--") {
                Some(_) => takes_next(text, long),
                None => takes_next_letter(&text[1..], flags, values, joined),
            };
            match taken {
                None => return false,
                Some(true) => drop(rest.next()),
                Some(false) => {}
            }
        }
        true
    }
}

/// Whether the option takes the next word; `None` if it is not listed.
fn takes_next(option: &str, long: &str) -> Option<bool> {
    let (name, is_joined) =
        option.split_once('=').map_or((option, false), |(name, _)| (name, true));
    let is_it = |entry: &&str| entry.strip_suffix('=').unwrap_or(entry) == name;
    let entry = long.split_whitespace().find(is_it)?;
    Some(entry.ends_with('=') && !is_joined)
}

/// The same for letters after one dash.
fn takes_next_letter(letters: &str, flags: &str, values: &str, joined: &str) -> Option<bool> {
    for (at, letter) in letters.char_indices() {
        if values.contains(letter) {
            return Some(at + letter.len_utf8() == letters.len());
        }
        if joined.contains(letter) {
            return Some(false);
        }
        if !flags.contains(letter) {
            return None;
        }
    }
    Some(false)
}
