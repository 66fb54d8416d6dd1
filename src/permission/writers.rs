//! Programs that change the files they are given. One that is not known to only read them is a doubt.

use super::program::{base_name, is_git_command, sub_command};
use super::script::{SimpleCommand, Word};
use super::wrapper;

pub mod copies;
pub mod folders;

/// Programs that change the files they are given.
const WRITERS: &str = "chattr chcon chmod chown cp dd install ln mkdir mv patch perl rm rmdir rsync sed setfacl shred tee touch truncate unlink \
                       bunzip2 bzip2 chgrp ed emacs ex gunzip gzip lzma mkfifo mknod mktemp nano nvim rename sponge unlzma \
                       unxz vi vim xz";

/// Git commands that do so.
const GIT_WRITERS: &str = "bundle checkout clean clone init mv restore rm stash submodule worktree";

/// Programs that only read the files they are given, apart from options that name their output.
const READERS: &str = ": . [ ag alias ack base64 basename break cal cat cd cksum cmp colordiff column comm command continue curl \
                       cut date df diff dig dirname du echo egrep env exit export expr false fd fdfind fgrep file find fmt fold \
                       getconf gh glab grep groups hash head hexdump host hostname id jobs join jq kill ldd less ls lsof man md5sum \
                       more nl nm objdump od paste pgrep pidof ping pkill printenv printf ps pwd read readelf readlink realpath \
                       return rev rg sdiff seq set sha1sum sha256sum sha512sum shasum shift shuf sleep sort source ssh stat \
                       strings sum tac tail tail test time top tr tree true tty type uname unset uptime wait wc wget which who \
                       whoami xargs zcat zgrep zless";

/// Build tools, test runners, compilers, linters and interpreters. Their input decides what they
/// write, not their words: a rule for such a program allows as much.
const CODE_RUNNERS: &str = "R Rscript ansible-playbook awk bash bazel bun bundle c++ cargo cc clang clang++ clippy-driver cmake \
                               composer csh ctest dart dash deno docker docker-compose dotnet elixir eslint eval fish flake8 g++ \
                               gawk gcc go gradle gradlew helm iex java javac jest julia just kotlin kotlinc kubectl ksh lua make \
                               mawk meson mix mocha mvn mvnw mypy ninja node nodejs nox npm oc osascript php phpunit pip pip3 \
                               pipx playwright pnpm podman poetry psql pylint pyright pytest python python2 python3 rake ruby \
                               rspec rustc rustup sbt scala sh shellcheck stylelint swift swiftc terraform tox tsc tsx \
                               turbo uv uvx vitest yarn zsh";

/// Options that make such a program write the files that it is given.
const FIXES: &str = "--apply --autofix --fix --in-place --write";

/// Options, by program or command of git, that name a file or folder to write.
const OUTPUTS: &[(&str, &str)] = &[
    (
        "as base64 c++ cc clang clang++ g++ gcc git go javac ld rustc sdiff shuf sort tree",
        "-o --output --output-directory -d",
    ),
    (
        "curl",
        "-o --output --output-dir -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --libcurl",
    ),
    ("git/am git/apply", "--include"),
    ("wget", "-O --output-document -o --output-file -a --append-output -P --directory-prefix"),
    ("find", "-fprint -fprint0 -fprintf -fls"),
    ("less", "-o -O --log-file --LOG-FILE"),
    ("unzip", "-d"),
];

/// Whether a command changes the files that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteEffect {
    No,
    /// The program is unknown.
    Maybe,
    Yes,
}

/// Whether the command, or one that it may run, changes the files that it names.
pub fn write_effect(command: &SimpleCommand) -> WriteEffect {
    if wrapper::possible_commands(command).into_iter().any(is_writer) {
        return WriteEffect::Yes;
    }
    let (starts, certain) = wrapper::program_starts(&command.words);
    let is_reader = |start: usize| {
        let words = command.words.get(start..).unwrap_or_default();
        let name = base_name(words.first().map_or("", |word| &word.text));
        wrapper::is_runner(name) && Some(&start) != starts.last() || is_reader(name, words)
    };
    match certain && starts.iter().all(|&start| is_reader(start)) {
        true => WriteEffect::No,
        false => WriteEffect::Maybe,
    }
}

fn lists(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

/// Whether the program is a build tool, a test runner or an interpreter.
pub fn runs_code(name: &str) -> bool {
    lists(CODE_RUNNERS, name)
}

/// Whether the program only reads the files that it is given, apart from options that name its output.
pub fn only_reads(name: &str) -> bool {
    lists(READERS, name)
}

fn is_writer(words: &[Word]) -> bool {
    let Some(program) = words.first() else { return false };
    match base_name(&program.text) {
        "git" => lists(GIT_WRITERS, git_command(words)),
        "find" => words.iter().any(|word| word.text == "-delete"),
        name => lists(WRITERS, name),
    }
}

fn is_reader(name: &str, words: &[Word]) -> bool {
    match name {
        "git" => is_git_command(git_command(words)),
        // What these run is no more known to only read than the program itself.
        name if runs_program(name, words).is_some() => {
            let inner = runs_program(name, words).unwrap_or_default();
            inner
                .first()
                .is_some_and(|first| !is_writer(inner) && is_reader(base_name(&first.text), inner))
        }
        name if runs_code(name) => !words.iter().any(|word| lists(FIXES, &word.text)),
        name => only_reads(name),
    }
}

/// The words that a runner of a project's programs runs as a command.
fn runs_program<'a>(name: &str, words: &'a [Word]) -> Option<&'a [Word]> {
    let first = match name {
        "npx" | "bunx" | "uvx" | "pipx" => 1,
        "bundle" | "bun" | "hatch" | "mise" | "npm" | "pdm" | "pipenv" | "pnpm" | "poetry"
        | "rye" | "uv" | "yarn" => {
            let starts = |word: &Word| matches!(word.text.as_str(), "run" | "exec" | "x" | "dlx");
            words.iter().position(starts)? + 1
        }
        name if name.starts_with("python") => words.iter().position(|word| word.text == "-m")? + 1,
        _ => return None,
    };
    let rest = words.get(first..)?;
    let program = rest.iter().position(|word| !word.text.starts_with('-')).unwrap_or(rest.len());
    rest.get(program..)
}

fn git_command(words: &[Word]) -> &str {
    words.get(sub_command(words)).map_or("", |word| &word.text)
}

/// Whether the word at `place` names an output file of the command, or of one that it may run.
pub fn is_output(command: &SimpleCommand, place: usize) -> bool {
    let text = |at: usize| command.words.get(at).map_or("", |word| word.text.as_str());
    let names_output = |option: &str| {
        let (word, before) = (text(place), text(place - 1));
        let long = word.split_once('=').map(|(name, _)| name);
        before == option
            || option.len() == 2 && word.len() > 2 && word.starts_with(option)
            // Long options may be abbreviated.
            || long.is_some_and(|name| name.len() > 4 && option.starts_with(name))
            || before.starts_with("--") && before.len() > 4 && option.starts_with(before)
    };
    wrapper::possible_commands(command).into_iter().any(|words| {
        let name = base_name(words.first().map_or("", |program| &program.text));
        let sub_command = (name == "git").then(|| format!("git/{}", git_command(words)));
        let is_own = |names: &str| {
            lists(names, name) || sub_command.as_deref().is_some_and(|it| lists(names, it))
        };
        let mut known = OUTPUTS.iter().filter(|(names, _)| is_own(names));
        known.any(|(_, options)| options.split_whitespace().any(names_output))
    })
}

#[cfg(test)]
mod tests;
