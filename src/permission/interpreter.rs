//! Whether a command takes its arguments as data (texts, patterns, names of files, packages or
//! commits), or runs what they say.

use super::danger;
use super::program::{base_name, sub_command};
use super::script::Word;
use super::wrapper;

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

/// Programs that run commands from their arguments, their input or a file, and the words that make
/// them do so; empty if any call may. Separated by blanks.
const INTERPRETERS: &[(&str, &str)] = &[
    (
        "awk gawk mawk nawk sed perl ruby node nodejs deno php lua luajit osascript tclsh expect Rscript R julia",
        "",
    ),
    ("python python2 python3 pypy pypy3 ipython", ""),
    ("vi vim nvim view ex ed emacs nano gdb lldb sqlite3 psql mysql mariadb", ""),
    (
        "ssh tmux screen at batch crontab entr watchexec hash nix-shell direnv fakeroot proot firejail bwrap toybox",
        "",
    ),
    ("make gmake just", "--eval SHELL="),
    ("tar rsync scp sftp zip man less", ""),
    ("git", "-c --config-env foreach bisect rebase filter-branch difftool"),
    ("docker podman nerdctl", "exec run compose"),
    ("kubectl oc", "exec run debug"),
    ("npm pnpm yarn bun", "exec dlx"),
    ("npx uvx bunx pipx", ""),
    ("uv poetry bundle", "run exec"),
    ("go", "generate -exec -toolexec"),
];

/// Whether the command may run text that it is given.
pub fn interprets(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let name = base_name(&program.text);
    if wrapper::evaluates(name) {
        return true;
    }
    let known = |names: &str| names.split_whitespace().any(|known| known == name);
    INTERPRETERS.iter().any(|(names, needs)| {
        let needed = |word: &Word| {
            needs
                .split_whitespace()
                .any(|need| word.text == need || need.ends_with('=') && word.text.starts_with(need))
        };
        known(names) && (needs.is_empty() || arguments.iter().any(needed))
    })
}
