//! Whether a command takes its arguments as data (texts, patterns, names of files, packages or
//! commits), or runs what they say.

use super::danger;
use super::program::{base_name, sub_command};
use super::script::Word;
use super::spelling::{Spelling, spell};
use super::wrapper::{self, InnerCommand};

/// Programs, separated by blanks, followed by those of their sub-commands that take data; empty if all do.
const DATA: &[(&str, &str)] = &[
    (
        "echo printf cat ls head tail wc grep egrep fgrep zgrep rg ag sort uniq cut tr tee diff cmp comm column",
        "",
    ),
    (
        "test [ which whereis type man whatis apropos mkdir rmdir touch cp mv rm ln stat file du df tree jq",
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
    ("shellcheck shfmt bat batcat", ""),
];

/// Programs that run their words in a container or on another machine, and those of their
/// sub-commands that do; empty if all do. Separated by blanks.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "docker podman nerdctl docker-compose podman-compose",
        "exec run create container compose build buildx image images pull push tag rmi",
    ),
    ("kubectl oc", "exec run debug rsh"),
    ("lxc incus", "exec"),
    ("heroku", "run"),
    ("ssh", ""),
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
    // A word that is known only at run time may be an option by which it starts one.
    let may_be_option = |word: &Word| {
        let mut spelled = spell(std::slice::from_ref(word)).into_iter();
        !word.literal && spelled.any(|it| matches!(&*it.beginning(), "" | "-"))
    };
    let may_start = || danger::knows(words) && words.iter().any(may_be_option);
    is_in(DATA, name, words) && !danger::has_certain(words) && !may_start()
}

/// Whether the table has the program with its sub-command.
fn is_in(table: &[(&str, &str)], name: &str, words: &[Word]) -> bool {
    let sub_command = words.get(sub_command(words)).map_or("", |word| &word.text);
    let lists = |list: &str, name: &str| list.split_whitespace().any(|known| known == name);
    table.iter().any(|(names, sub_commands)| {
        lists(names, name) && (sub_commands.is_empty() || lists(sub_commands, sub_command))
    })
}

/// Whether an argument is known only at run time and may be a program that the command starts here.
pub fn may_start_unknown(words: &[Word], line: &str) -> bool {
    danger::run_time::has_unknown_program(words, line) && !takes_data(words)
}

/// Whether an argument names a shell that the command may start here. One that the command takes as
/// data, or starts in a container or on another machine, does not count.
pub fn may_start_shell(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    arguments.iter().any(may_name_shell)
        && !is_in(ELSEWHERE, base_name(&program.text), words)
        && !takes_data(words)
}

/// Programs whose words are never programs.
const NO_RUNNERS: [&str; 5] = ["gh", "git", "glab", "gmake", "make"];

/// Wrappers whose names are ordinary words, too: of sub-commands, scripts and machines.
const ORDINARY_WORDS: &str = "command env exec i386 linux32 linux64 nice script time watch x86_64";

/// Longer names of wrappers and shells are not looked for behind letters. Characters.
const MAX_NAME: usize = 32;

/// Programs of packages whose first word is the program to run, rather than a sub-command.
const FIRST_IS_PROGRAM: [&str; 4] = ["bunx", "npx", "pnpx", "uvx"];

/// Runners whose `run` or `exec` takes the name of a program, and not of a script of the project.
const PROGRAM_RUNNERS: [&str; 11] = [
    "bundle",
    "conda",
    "direnv",
    "hatch",
    "micromamba",
    "pdm",
    "pipenv",
    "pixi",
    "poetry",
    "rye",
    "uv",
];

/// Whether the word is the first behind `run` or `exec`, options with their values aside.
fn is_behind_run(words: &[Word], place: usize) -> bool {
    let before = &words[..place];
    let Some(run) = before.iter().position(|word| matches!(&*word.text, "run" | "exec")) else {
        return false;
    };
    let is_option = |word: &Word| word.text.starts_with('-');
    before[run..].windows(2).all(|pair| is_option(&pair[1]) || is_option(&pair[0]))
}

/// The position up to which a rule must name the command, because it may start a wrapper, such as
/// `sudo` or `env`, that starts another program; `usize::MAX` if no rule can name that.
pub fn place_behind_wrapper(words: &[Word]) -> Option<usize> {
    let name = base_name(&words.first()?.text);
    if NO_RUNNERS.contains(&name) || is_in(ELSEWHERE, name, words) || takes_data(words) {
        return None;
    }
    let last_line = words.iter().rposition(may_be_line).unwrap_or_default();
    (1..words.len()).filter_map(|place| place_behind(name, words, place, last_line)).max()
}

/// The same for the word at `place`; `last_line` is the last word that may be a command line.
fn place_behind(program: &str, words: &[Word], place: usize, last_line: usize) -> Option<usize> {
    let spelled = spell(std::slice::from_ref(&words[place]));
    let names = spelled.iter().filter_map(|word| Some(base_name(word.exact()?).to_owned()));
    let wrapper = names.into_iter().find(|name| wrapper::is_runner(name))?;
    if !ORDINARY_WORDS.split_whitespace().any(|known| known == wrapper) {
        return match wrapper::inner_command(&words[place..]) {
            InnerCommand::From(inner) if words[place].literal => Some(place + inner),
            _ => Some(usize::MAX),
        };
    }
    // It starts a shell even without a command.
    if wrapper == "script" && PROGRAM_RUNNERS.contains(&program) && is_behind_run(words, place) {
        return Some(usize::MAX);
    }
    let before = words[place - 1].text.as_str();
    let is_script = matches!(program, "npm" | "pnpm" | "yarn")
        && matches!(before, "run" | "run-script" | "rum" | "urn");
    let is_sub_command = place == 1 && !FIRST_IS_PROGRAM.contains(&program);
    (!is_script && !is_sub_command && place < last_line).then_some(usize::MAX)
}

/// Whether the word may be a command line to a wrapper before it, alone or joined with an option.
fn may_be_line(word: &Word) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "@%_+=:,./*{}~-".contains(c);
    let starts = |text: &str| {
        let name = base_name(text);
        wrapper::evaluates(name) || wrapper::is_runner(name)
    };
    let text = word.text.as_str();
    let joined = match text.strip_prefix("--") {
        Some(long) => long.split_once('=').is_some_and(|(_, value)| starts(value)),
        // Any of the letters may take the rest.
        None => text.strip_prefix('-').is_some_and(|letters| {
            let ends = letters.char_indices().skip(1).map(|(at, _)| &letters[at..]);
            let mut ends = ends.skip(letters.chars().count().saturating_sub(MAX_NAME));
            letters.contains('/') && starts(letters) || ends.any(starts)
        }),
    };
    !word.literal || !text.chars().all(is_plain) || joined
}

/// Whether the word is a shell or an option with one as its value, or may become one.
fn may_name_shell(word: &Word) -> bool {
    let is_shell = |text: &str| wrapper::is_shell(base_name(text));
    let names_shell = |text: &str| {
        let value = text.strip_prefix('-').and_then(|option| option.rsplit_once('='));
        is_shell(value.map_or(text, |(_, value)| value))
    };
    if word.literal {
        return names_shell(&word.text);
    }
    let is_spelled = |word: &Spelling<'_>| {
        word.exact().is_some_and(names_shell) || word.base().exact().is_some_and(is_shell)
    };
    // What an expansion makes of its text is unknown: `$(command -v sh)`, `${x:-sh}`.
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_./@".contains(c);
    let mut parts = word.raw.split(|c: char| !is_part(c));
    let is_open = word.raw.contains(['$', '`']);
    spell(std::slice::from_ref(word)).iter().any(is_spelled)
        || is_open && parts.any(|part| matches!(part, "BASH" | "SHELL") || is_shell(part))
        || word.raw.contains("$0")
        || word.raw.contains("${0")
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
