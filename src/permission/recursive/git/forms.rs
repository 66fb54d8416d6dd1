//! The everyday forms of git commands that are known to show no content of files, or only that of
//! some. Any other command, any other option and any word of another kind may show any file.

use crate::permission::danger::is_quoted_as_one;
use crate::permission::recursive::behavior::SettingScope;
use crate::permission::script::Word;
/// The form of a git command.
pub struct Form {
    /// The sub-command, with the word after it where that counts.
    pub name: &'static str,
    /// Its options, separated by blanks. A mark behind one says what value it takes: `?` only a joined
    /// one or none, `:` a joined one, `=` a joined one or else the next word, `@` the same for a
    /// commit. `-#` is a number.
    options: &'static str,
    /// Lists of options that it shares with others.
    shared: &'static [&'static str],
    /// The command has one of these options; any if empty.
    needs: &'static str,
    pub words: WordKind,
    pub shows: FormContent,
}

/// The kind of a form's words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WordKind {
    /// There are none.
    None,
    /// Anything: none of them makes the command show content.
    Any,
    /// Names of remotes and branches.
    Names,
    /// One word of any kind; or else commits, followed by anything, or paths.
    Source,
    /// Commits, which `HEAD` is without one, and paths.
    Commits,
    /// The same with at least one path.
    CommitsOfPaths,
    /// Paths.
    Paths,
    /// Files of commits, as in `HEAD:src/a`.
    Blobs,
}

/// The content that a form shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FormContent {
    None,
    /// None, unless git has a setting for such commands.
    WithSetting(SettingScope),
    /// Changes of what git tracks.
    Tracked,
    /// Lines of what git tracks, where it restores changes or applies patches.
    Merged,
    /// The content of the paths in commits.
    Paths,
}

/// The words and options of a command that has a form.
#[derive(Debug, Default)]
pub struct FormWords<'a> {
    /// Those before a `--`.
    pub before: Vec<&'a Word>,
    /// Those behind it.
    pub behind: Vec<&'a Word>,
    pub has_mark: bool,
    /// Values of options that must be commits.
    pub commits: Vec<&'a str>,
}

/// A command that shows no content, whatever its words are.
const fn form(name: &'static str, options: &'static str) -> Form {
    let (words, shows) = (WordKind::Any, FormContent::None);
    Form { name, options, shared: &[], needs: "", words, shows }
}

/// A command that shows changes of the files that it names.
const fn of_paths(name: &'static str, shared: &'static [&'static str]) -> Form {
    form(name, "").shared(shared).words(WordKind::CommitsOfPaths).shows(FormContent::Paths)
}

impl Form {
    const fn shared(self, shared: &'static [&'static str]) -> Self {
        Self { shared, ..self }
    }

    const fn needs(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }

    const fn words(self, words: WordKind) -> Self {
        Self { words, ..self }
    }

    const fn shows(self, shows: FormContent) -> Self {
        Self { shows, ..self }
    }
}

/// Options that make git show which files differ, but not how. Not `-q`, which is another option to
/// `git diff`.
const SUMMARY: &str = "-s --compact-summary --dirstat? --name-only --name-status --no-patch --numstat --raw \
                       --shortstat --stat? --summary";

/// Options of a comparison that say what counts as a difference.
const COMPARISON: &str = "-b -w -z --color? --diff-algorithm: --diff-filter: --exit-code --histogram \
                          --ignore-all-space --ignore-blank-lines --ignore-space-change --minimal --no-color \
                          --no-ext-diff --no-renames --no-textconv --patience";

/// Options of a patch that say how it looks.
const PATCH: &str =
    "-p -u -U? -W --color-words? --function-context --no-prefix --patch --unified: --word-diff?";

/// Options that choose and print commits.
const COMMITS: &str = "-# -n= --abbrev-commit --abbrev: --author: --committer: --date-order --date: --decorate? \
                       --first-parent --format: --graph --grep: --max-count: --merges --no-abbrev-commit \
                       --no-decorate --no-merges --oneline --pretty? --reverse --since: --after: --until: \
                       --before: --skip: --topo-order";

/// The same for commands whose words may be anything: references of all kinds, and values in words
/// of their own.
const HISTORY: &str = "-i --all --author= --branches? --committer= --follow --grep= --left-right --max-count= \
                       --remotes? --simplify-by-decoration --since= --after= --until= --before= --skip= --tags?";

/// Options that choose what a comparison compares.
const SIDES: &str = "--cached --merge-base --staged";

/// Options of a stash of all changes. It applies a patch to stash a part of them.
const STASH: &str = "-a -k -m= -q -u --all --include-untracked --keep-index --message= --quiet";

/// Options with which a command that merges goes on or ends.
const STEPS: &str = "--abort --continue --quit --skip";

/// The forms; of several with one name, the first that fits counts.
pub const FORMS: &[Form] = &[
    form(
        "status",
        "-b -s -z -u? --ahead-behind --branch --ignored? --long --no-ahead-behind \
         --no-renames --porcelain? --short --show-stash --untracked-files?",
    ),
    form(
        "add",
        "-A -f -n -N -u -v --all --chmod= --dry-run --force --ignore-errors --intent-to-add \
         --no-all --refresh --renormalize --update --verbose",
    ),
    form(
        "commit",
        "-a -m= -n -q -s --all --allow-empty --allow-empty-message --amend --author= \
         --date= --dry-run --message= --no-edit --no-gpg-sign --no-verify --quiet \
         --reset-author --short --signoff --trailer=",
    )
    .shows(FormContent::WithSetting(SettingScope::Commit)),
    form(
        "push",
        "-d -f -n -q -u -v --all --delete --dry-run --follow-tags --force \
         --force-with-lease? --no-verify --quiet --set-upstream --tags --verbose",
    )
    .words(WordKind::Names),
    form(
        "fetch",
        "-f -p -q -t -v --all --depth= --dry-run --force --no-tags --prune --prune-tags \
         --quiet --tags --unshallow --verbose",
    )
    .words(WordKind::Names),
    form(
        "checkout",
        "-b= -B= -d -f -q -t --detach --force --guess --no-guess --no-progress --no-track \
         --orphan= --ours --progress --quiet --theirs --track",
    )
    .words(WordKind::Source),
    form(
        "switch",
        "-c= -C= -d -f -q -t --create= --detach --discard-changes --force --force-create= \
         --guess --no-guess --no-track --orphan= --quiet --track",
    ),
    form("restore", "-q -s@ -S -W --ours --quiet --source@ --staged --theirs --worktree"),
    form("reset", "-N -q --hard --intent-to-add --keep --mixed --quiet --soft")
        .words(WordKind::Source),
    form(
        "branch",
        "-a -c -C -d -D -f -i -l -m -M -q -r -t -u= -v --all --color? --contains --copy \
         --delete --force --ignore-case --list --merged --move --no-color --no-contains \
         --no-merged --no-track --points-at= --quiet --remotes --set-upstream-to= \
         --show-current --sort= --track --unset-upstream --verbose",
    ),
    form(
        "tag",
        "-a -d -f -i -l -m= -s --annotate --contains --delete --force --ignore-case --list \
         --merged --message= --no-contains --no-merged --points-at= --sign --sort=",
    ),
    form("log", "").shared(&[SUMMARY, COMPARISON, COMMITS, HISTORY]),
    of_paths("log", &[SUMMARY, COMPARISON, COMMITS, PATCH]),
    form("show", "")
        .shared(&[SUMMARY, COMPARISON, COMMITS])
        .needs(SUMMARY)
        .words(WordKind::Commits),
    of_paths("show", &[SUMMARY, COMPARISON, COMMITS, PATCH]),
    form("show", "").words(WordKind::Blobs),
    form("diff", "").shared(&[SUMMARY, COMPARISON, SIDES]).needs(SUMMARY),
    form("diff", "--quiet").shared(&[SIDES, "--exit-code"]).needs("--quiet"),
    form("diff", "")
        .shared(&[SUMMARY, COMPARISON, PATCH])
        .words(WordKind::Paths)
        .shows(FormContent::Tracked),
    of_paths("diff", &[SUMMARY, COMPARISON, PATCH, SIDES]),
    form("stash", STASH).words(WordKind::None),
    form("stash push", STASH).words(WordKind::None),
    form("stash list", "").words(WordKind::None),
    form("stash drop", "-q --quiet"),
    form("stash apply", "-q --quiet").shows(FormContent::Merged),
    form("stash pop", "-q --quiet").shows(FormContent::Merged),
    form(
        "merge",
        "-m= -n -q -v --commit --ff --ff-only --no-commit --no-edit --no-ff --no-stat \
         --quiet --signoff --squash --stat --verbose",
    )
    .shared(&[STEPS])
    .shows(FormContent::Merged),
    form(
        "pull",
        "-p -q -v --autostash --ff --ff-only --no-edit --no-ff --no-rebase --prune --quiet \
         --rebase? --tags --verbose",
    )
    .words(WordKind::Names)
    .shows(FormContent::Merged),
    form("rebase", "-q --autostash --no-stat --onto= --quiet --stat")
        .shared(&[STEPS])
        .shows(FormContent::Merged),
    form("cherry-pick", "-m= -n -s -x --allow-empty --no-commit --signoff")
        .shared(&[STEPS])
        .shows(FormContent::Merged),
    form("revert", "-m= -n -s --no-commit --no-edit --signoff")
        .shared(&[STEPS])
        .shows(FormContent::Merged),
    form("rm", "-f -n -q -r --cached --dry-run --force --ignore-unmatch --quiet"),
    form("mv", "-f -k -n -v --dry-run --force --verbose"),
    form("clean", "-d -f -n -q -x -X --dry-run --force --quiet"),
    form("init", "-b= -q --bare --initial-branch= --quiet"),
    form(
        "config",
        "-l -z --add --bool --default= --get --get-all --get-regexp --global --int --list \
         --local --name-only --null --replace-all --show-origin --show-scope --system \
         --type= --unset --unset-all --worktree",
    ),
    form("remote", "-v --verbose"),
    form(
        "rev-parse",
        "-q --abbrev-ref? --absolute-git-dir --all --branches? --git-common-dir --git-dir \
         --is-bare-repository --is-inside-git-dir --is-inside-work-tree \
         --is-shallow-repository --quiet --remotes? --short? --show-cdup --show-prefix \
         --show-toplevel --symbolic --symbolic-full-name --tags? --verify",
    ),
    form("rev-list", "--count").shared(&[COMMITS, HISTORY]),
    form(
        "ls-files",
        "-c -d -i -k -m -o -s -t -u -v -z --cached --deduplicate --deleted --directory \
         --error-unmatch --exclude-standard --full-name --ignored --killed --modified \
         --no-empty-directory --others --stage --unmerged",
    ),
    form("ls-tree", "-d -l -r -t -z --full-name --full-tree --long --name-only --name-status"),
    form("ls-remote", "-q -h -t --heads --quiet --refs --tags").words(WordKind::Names),
    form("merge-base", "-a --all --fork-point --independent --is-ancestor --octopus"),
    form(
        "describe",
        "--abbrev: --all --always --contains --dirty? --exact-match --first-parent --long \
         --match= --tags",
    ),
    form(
        "blame",
        "-e -f -l -L= -n -p -s -t -w --line-porcelain --porcelain --show-email --show-name \
         --show-number",
    )
    .shows(FormContent::WithSetting(SettingScope::Blame)),
    form("reflog", "-# -n=").words(WordKind::None),
    form("shortlog", "-c -e -n -s --email --no-merges --numbered --summary").shared(&[HISTORY]),
    form("version", ""),
];

/// How an option takes its value.
#[derive(Clone, Copy, PartialEq)]
enum OptionValue {
    None,
    /// Joined, or none.
    Optional,
    /// Joined.
    Joined,
    /// Joined, or the next word.
    Needed,
    /// The same, and it is a commit.
    Commit,
}

impl Form {
    /// The words of a command, if all its options are those of the form.
    pub fn read<'a>(&self, words: &'a [Word]) -> Option<FormWords<'a>> {
        let mut read = FormWords::default();
        let mut has_needed = self.needs.is_empty();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            let is_option = text.starts_with('-') && text != "-";
            // Git may take the mark for the value of an option before it, or hand what is behind it
            // to another command without it.
            if read.has_mark && is_option {
                return None;
            }
            if !is_option {
                is_operand(word).then_some(())?;
                let list = if read.has_mark { &mut read.behind } else { &mut read.before };
                list.push(word);
            } else if text == "--" && word.literal {
                read.has_mark = true;
            } else {
                let (value, joined) = self.option(word)?;
                let name = text.split('=').next().unwrap_or_default();
                let mut needed = self.needs.split_whitespace().map(|it| it.trim_end_matches('?'));
                has_needed |= needed.any(|needed| needed == name);
                let takes_next = matches!(value, OptionValue::Needed | OptionValue::Commit);
                let value_text = match joined {
                    Some(joined) => joined,
                    None if takes_next => {
                        let next = rest.next()?;
                        (next.literal || is_quoted_as_one(&next.raw)).then_some(())?;
                        &next.text
                    }
                    None => continue,
                };
                if value == OptionValue::Commit {
                    read.commits.push(value_text);
                }
            }
        }
        has_needed.then_some(read)
    }

    /// How the option takes its value, or the last letter of joined ones, and the joined value.
    fn option<'a>(&self, word: &'a Word) -> Option<(OptionValue, Option<&'a str>)> {
        let text = word.text.as_str();
        if text.starts_with("--") {
            let (name, value) = text.split_once('=').unzip();
            let name = name.unwrap_or(text);
            let raw = word.raw.strip_prefix(name).and_then(|raw| raw.strip_prefix('='));
            let is_certain = || word.literal || raw.is_some_and(is_quoted_as_one);
            let kind = self.values(name).find(|kind| match kind {
                OptionValue::None => value.is_none(),
                OptionValue::Joined => value.is_some(),
                _ => true,
            })?;
            let is_commit = kind == OptionValue::Commit;
            return (is_certain() && (word.literal || !is_commit)).then_some((kind, value));
        }
        let letters = text.strip_prefix('-').filter(|_| word.literal)?;
        if letters.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.values("-#").next().map(|kind| (kind, None));
        }
        for (at, letter) in letters.char_indices() {
            let kind = self.values(&format!("-{letter}")).next()?;
            if kind != OptionValue::None {
                let value = &letters[at + letter.len_utf8()..];
                return Some((kind, Some(value).filter(|value| !value.is_empty())));
            }
        }
        Some((OptionValue::None, None))
    }

    /// How the form lists an option: not at all, or in more than one way.
    fn values(&self, name: &str) -> impl Iterator<Item = OptionValue> {
        let lists = std::iter::once(&self.options).chain(self.shared);
        let options = lists.flat_map(|list| list.split_whitespace());
        options.filter_map(move |option| {
            Some(match option.strip_prefix(name)? {
                "" => OptionValue::None,
                "?" => OptionValue::Optional,
                ":" => OptionValue::Joined,
                "=" => OptionValue::Needed,
                "@" => OptionValue::Commit,
                _ => return None,
            })
        })
    }
}

/// Whether the word is certainly one or more words that are no options: it is certain, or a list of
/// names that begin as it does.
fn is_operand(word: &Word) -> bool {
    let begins = word.raw.starts_with(|c: char| c.is_alphanumeric() || "._/@".contains(c));
    word.literal || begins && !word.raw.contains(['$', '`', '(', '~'])
}
