//! Commands that take their arguments as data: as texts, patterns and names of files, packages or commits.

use crate::permission::danger;
use crate::permission::program::Program;
use crate::permission::script::Word;
use crate::permission::wrapper::{self, base_name};

/// Programs, separated by blanks, followed by those of their sub-commands that take data; empty if all do.
const DATA: &[(&str, &str)] = &[
    (
        "echo printf cat ls head tail wc grep egrep fgrep zgrep rg ag sort uniq cut tr tee diff cmp comm column",
        "",
    ),
    (
        "test [ which whereis type man whatis apropos mkdir rmdir touch cp mv ln stat file du df tree jq",
        "",
    ),
    (
        "basename dirname realpath readlink pwd cd true false sleep date seq chmod chown ps pgrep pkill killall",
        "",
    ),
    ("find fd fdfind curl wget pytest py.test ctest dpkg rpm pacman apk apt-cache", ""),
    (
        "git",
        "commit log grep show diff add branch tag status stash checkout switch restore rm mv reset blame help \
         rev-parse ls-files describe shortlog reflog merge cherry-pick revert",
    ),
    ("cargo", "install add search remove test build check clippy bench doc tree"),
    ("npm pnpm yarn bun", "install i add search view info remove uninstall ls list outdated why"),
    ("pip pip3 pipx", "install search show download uninstall list inject"),
    ("uv poetry", "pip add remove"),
    (
        "apt apt-get aptitude dnf yum brew",
        "install search show info list remove reinstall upgrade uninstall",
    ),
    ("go", "test build vet list get install doc"),
    ("gh glab", "pr mr issue release search label repo"),
];

/// Programs whose first two non-option words are both names of sub-commands.
const TWO_LEVELS: &[&str] =
    &["aws", "az", "gcloud", "gh", "glab", "docker", "podman", "kubectl", "oc", "helm"];

/// Whether the command, apart from its runners, takes its words as data.
pub fn takes_data(words: &[Word]) -> bool {
    let (starts, certain) = wrapper::program_starts(words);
    let behind = match starts.as_slice() {
        [only] => std::slice::from_ref(only),
        [_, behind @ ..] => behind,
        [] => return false,
    };
    certain
        && behind.iter().all(|&start| {
            let words = words.get(start..).unwrap_or_default();
            let name = base_name(words.first().map_or("", |word| &word.text));
            wrapper::is_runner(name) && Some(&start) != behind.last() || is_data(words)
        })
}

fn is_data(words: &[Word]) -> bool {
    let Some(name) = words.first().map(|word| base_name(&word.text)) else { return false };
    if matches!(name, "command") {
        // The command it runs is examined by itself; with `-v` it runs nothing.
        return true;
    }
    let sub_command = words.get(sub_command(words)).map_or("", |word| &word.text);
    let fits = DATA.iter().any(|(names, sub_commands)| {
        names.split_whitespace().any(|known| known == name)
            && (sub_commands.is_empty()
                || sub_commands.split_whitespace().any(|known| known == sub_command))
    });
    fits && !danger::has_certain(words)
}

/// The position of the first word that is no option of the program.
pub fn sub_command(words: &[Word]) -> usize {
    let known = words.first().and_then(|word| Program::named(&word.text));
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with(['-', '+'])) {
        let option = known.and_then(|known| known.global_option(&word.text));
        at += option.map_or(1, |option| option.words);
    }
    at
}

/// Whether the word at `place` is the name of a sub-command rather than of a program.
pub fn is_sub_command(words: &[Word], place: usize) -> bool {
    let Some(first) = words.first() else { return false };
    // The first argument of npx and the like is a program; the others run what they have no command for.
    let is_runner =
        matches!(base_name(&first.text), "npx" | "bunx" | "uvx" | "pipx" | "pnpm" | "yarn" | "bun");
    if is_runner || !Program::named(&first.text).is_some_and(Program::has_sub_commands) {
        return false;
    }
    let at = sub_command(words);
    let runs = |word: &Word| matches!(word.text.as_str(), "exec" | "run" | "debug" | "x" | "dlx");
    place == at
        || place == at + 1
            && TWO_LEVELS.contains(&base_name(&first.text))
            && !words.get(at).is_some_and(runs)
}
