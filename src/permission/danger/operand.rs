//! Words that are not options and still write a file or run a program: sed scripts, second files,
//! and the command that npx runs.

use std::path::PathBuf;

use super::{Danger, OPEN_WORDS, Spelling, package_runner};

/// Finds such words after the name of the program, which runs in one of `bases`.
pub fn find(name: &str, words: &[Spelling<'_>], bases: &[PathBuf]) -> Vec<Danger> {
    match name {
        "sed" | "gsed" => sed_scripts(words),
        // These read one file and write the other.
        "uniq" => second_file(words, "fsw", &["--skip-fields", "--skip-chars", "--check-chars"]),
        "xxd" => second_file(words, "cglonsR", &["-cols", "-groupsize", "-len", "-name", "-seek"]),
        "tar" | "bsdtar" | "gtar" => super::tar::find(words, bases),
        _ => Vec::new(),
    }
}

/// Whether the program starts the program of a package, as npx does.
pub fn is_package_starter(name: &str) -> bool {
    matches!(name, "bunx" | "npx" | "pnpx")
}

/// The position of the command that npx starts. The options after it are the command's own.
pub fn npx_command(name: &str, words: &[Spelling<'_>]) -> Option<usize> {
    if !is_package_starter(name) {
        return None;
    }
    let is_option = |word: &Spelling<'_>| word.exact().is_none_or(|text| text.starts_with('-'));
    let place = words.iter().skip(1).position(|word| !is_option(word))? + 1;
    // The word after an option may be its value.
    let is_flag = |word: &Spelling<'_>| {
        word.exact().is_some_and(|text| {
            text.contains('=') || matches!(text, "--yes" | "-y" | "--no" | "--no-install" | "--")
        })
    };
    words[1..place].iter().all(is_flag).then_some(place)
}

/// Programs that run a program of the project's environment, named among their first words.
const RUNNERS: &[&str] = &[
    "asdf",
    "bun",
    "bundle",
    "conda",
    "devbox",
    "direnv",
    "hatch",
    "mamba",
    "micromamba",
    "mise",
    "nix",
    "npm",
    "pdm",
    "pipenv",
    "pixi",
    "pnpm",
    "poetry",
    "pyenv",
    "rbenv",
    "rye",
    "uv",
    "uvx",
    "volta",
    "yarn",
];

/// Whether the program runs one that is named among its words.
pub fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name)
}

/// Programs that run the module named after `-m`.
const MODULE_RUNNERS: &[&str] = &["coverage", "pypy", "python"];

/// Sub-commands of runners whose words are packages.
const PACKAGES: &[&str] =
    &["add", "i", "info", "install", "list", "outdated", "remove", "uninstall", "view", "why"];

/// Words of a runner that are searched for the program; with more, it may be any.
const MAX_RUNNER: usize = 256;

/// The positions at which a runner may start a program that `is_listed` knows: two at most. The
/// options after it are the program's own.
pub fn runner_commands(
    name: &str,
    words: &[Spelling<'_>],
    is_listed: impl Fn(&str, &[Spelling<'_>]) -> bool,
) -> Vec<usize> {
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_module_runner = MODULE_RUNNERS.contains(&family);
    if !is_module_runner && !RUNNERS.contains(&family) {
        return Vec::new();
    }
    let names_packages =
        words.get(1).and_then(Spelling::exact).is_some_and(|it| PACKAGES.contains(&it));
    if names_packages && !is_module_runner {
        return Vec::new();
    }
    let is_behind = |place: usize| !is_module_runner || words[place - 1].exact() == Some("-m");
    let is_program = |place: &usize| {
        let is_known = |text: &str| is_listed(text, &words[*place..]);
        words[*place].exact().is_some_and(is_known) && is_behind(*place)
    };
    (1..words.len().min(MAX_RUNNER)).filter(is_program).take(2).collect()
}

/// Whether a runner has more words than are searched for the program.
pub fn has_too_many_words(name: &str, words: &[Spelling<'_>]) -> bool {
    words.len() > MAX_RUNNER && !runner_commands(name, words, |_, _| true).is_empty()
}

/// Options that runners of tests, linters and bundlers take and that name no file and no program, by
/// their names without a value.
const SCRIPT_OPTIONS: &str = "--all --bail --check --ci --color --coverage --detectOpenHandles --dry-run --exact --fix \
                              --forbid-only --forceExit --force-exit --format --grep --headed --headless --help \
                              --host --invert --json --lib --list --listTests --maxWorkers --max-warnings --minify \
                              --mode --name --no-color --no-coverage --no-watch --noEmit --only --onlyChanged \
                              --only-changed --open --parallel --pass-with-no-tests --passWithNoTests --port \
                              --pretty --prod --production --quiet --retries --retry --run --runInBand \
                              --shard --silent --sourcemap --strict --test-name-pattern --test-only \
                              --testNamePattern --testPathPattern --testPathPatterns --timeout --update \
                              --updateSnapshot --verbose --version --watch --watchAll --workers -g -h \
                              -q -s -t -v -w";

/// Finds options of npm, pnpm and yarn, and what they hand a script on: which program gets it, only
/// the script says, so a rule covers no option that may name a file or a program. `is_listed` knows
/// the programs that have a table of their own.
pub fn script_options(
    name: &str,
    words: &[Spelling<'_>],
    is_listed: impl Fn(&str, &[Spelling<'_>]) -> bool,
) -> Vec<Danger> {
    let exact = |place: usize| words.get(place).and_then(Spelling::exact);
    let is_package_runner = matches!(name, "bun" | "npm" | "pnpm" | "yarn");
    let is_operand = |place: &usize| {
        exact(*place).is_some_and(|text| !text.starts_with('-'))
            && !(is_package_runner && package_runner::is_value(words, *place))
    };
    let mut operands = (1..words.len()).filter(is_operand);
    let first = operands.next();
    let sub_command = first.and_then(exact).unwrap_or_default();
    let runs = matches!(sub_command, "run" | "run-script" | "rum" | "urn");
    let starts = matches!(sub_command, "exec" | "dlx" | "x");
    let script = if runs || starts { operands.next() } else { first };
    let is_own = PACKAGES.contains(&sub_command)
        || matches!(sub_command, "create" | "config" | "workspace")
        || name == "bun" && matches!(sub_command, "test" | "build");
    let mut dangers = Vec::new();
    if is_package_runner || is_package_starter(name) {
        dangers = package_runner::shell_text(words);
    }
    if is_package_starter(name) {
        dangers.extend(package_runner::find_before_program(words));
    }
    if name == "bun" {
        let start = script.filter(|_| !is_own);
        dangers.extend(package_runner::find_bun(words, start));
    }
    if matches!(name, "npm" | "pnpm" | "yarn") {
        let hands_on = !is_own || matches!(sub_command, "create" | "workspace");
        let end = package_runner::own_words(name, words, script.filter(|_| hands_on));
        dangers.extend(package_runner::find(words, end));
    }
    let Some(script) = script else { return dangers };
    let is_script = match name {
        "npm" => runs || matches!(sub_command, "test" | "t" | "tst" | "start" | "stop" | "restart"),
        "pnpm" | "yarn" | "bun" => {
            !is_own && !starts && !is_listed(exact(script).unwrap_or_default(), &words[script..])
        }
        _ => false,
    };
    if !is_script {
        return dangers;
    }
    // npm keeps what stands before the mark.
    let start = match name {
        "npm" => (script..words.len()).find(|place| exact(*place) == Some("--")).map(|it| it + 1),
        _ => Some(script + 1),
    };
    let is_harmless = |text: &str| {
        let option = text.split('=').next().unwrap_or_default();
        !text.starts_with('-')
            || matches!(text, "-" | "--")
            || SCRIPT_OPTIONS.split_whitespace().any(|known| known == option)
    };
    let handed_on = start.unwrap_or(words.len())..words.len();
    // npm hands on these without a mark: to make, one sets a variable.
    let settings = (script + 1..words.len()).filter_map(|place| {
        let text = exact(place).filter(|text| !text.starts_with('-') && text.contains('='))?;
        Some(danger(text.split('=').next().unwrap_or_default(), place))
    });
    let found = handed_on.filter_map(|place| match exact(place) {
        Some(text) => {
            let option = text.split('=').next().unwrap_or_default();
            (!is_harmless(text)).then(|| danger(option, place))
        }
        None => {
            let beginning = words[place].beginning();
            (beginning.is_empty() || beginning.starts_with('-')).then(|| danger(OPEN_WORDS, place))
        }
    });
    dangers.extend(settings.chain(found));
    dangers
}

fn danger(option: &str, place: usize) -> Danger {
    Danger::new(option, option, place)
}

/// The second non-option word, which names a file to write. `letters` and `options` take the next word as their value.
fn second_file(words: &[Spelling<'_>], letters: &str, options: &[&str]) -> Vec<Danger> {
    let (mut files, mut ended, mut place) = (0, false, 1);
    while let Some(word) = words.get(place) {
        let text = word.exact();
        match text {
            Some("--") if !ended => ended = true,
            Some(text) if !ended && text.len() > 1 && text.starts_with(['-', '+']) => {
                let cluster = text.strip_prefix('-').unwrap_or_default();
                let takes_value = options.contains(&text)
                    || cluster.len() == 1 && cluster.chars().all(|c| letters.contains(c));
                place += usize::from(takes_value);
            }
            _ => files += 1,
        }
        if files > 1 {
            return vec![danger("a second file, which is written", place)];
        }
        place += 1;
    }
    Vec::new()
}

const SCRIPT: &str = "a script that may write a file or run a command";

/// sed scripts that do more than edit text: the words after `-e`, or else the first non-option word.
fn sed_scripts(words: &[Spelling<'_>]) -> Vec<Danger> {
    let exact = |place: usize| words.get(place).and_then(Spelling::exact);
    let (mut scripts, mut operand, mut place) = (Vec::new(), None, 1);
    while place < words.len() {
        match exact(place).map_or(SedWord::Operand, parse_sed_word) {
            SedWord::End => {
                operand = operand.or(Some(place + 1));
                break;
            }
            SedWord::Operand => operand = operand.or(Some(place)),
            SedWord::Script(text) => scripts.push((place, Some(text))),
            SedWord::ScriptNext => {
                place += 1;
                scripts.push((place, exact(place)));
            }
            SedWord::ValueNext => place += 1,
            SedWord::Unclear => return vec![danger(SCRIPT, place)],
            SedWord::Flags => {}
        }
        place += 1;
    }
    if scripts.is_empty() {
        scripts.extend(operand.filter(|place| *place < words.len()).map(|at| (at, exact(at))));
    }
    let found = scripts.into_iter().filter_map(|(place, script)| match script {
        None => Some(danger(OPEN_WORDS, place)),
        Some(script) => (!only_edits(script)).then(|| danger(SCRIPT, place)),
    });
    found.collect()
}

/// A word of a sed command.
enum SedWord<'a> {
    Operand,
    /// The `--` after which all words are operands.
    End,
    Flags,
    Script(&'a str),
    /// The next word is a script.
    ScriptNext,
    /// The next word is some other value.
    ValueNext,
    /// The next word is a value in some versions of sed, and a script in others.
    Unclear,
}

fn parse_sed_word(word: &str) -> SedWord<'_> {
    if word == "--" {
        return SedWord::End;
    }
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let is = |option: &str| option.starts_with(name);
        return match value {
            Some(script) if is("expression") => SedWord::Script(script),
            None if is("expression") => SedWord::ScriptNext,
            None if is("file") || is("line-length") => SedWord::ValueNext,
            _ => SedWord::Flags,
        };
    }
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return SedWord::Operand;
    };
    // The rest of the word after such a letter is its value; after `i` it is the suffix of a backup.
    let value = letters.find(['e', 'f', 'i', 'l']);
    match value.map(|at| (letters.as_bytes()[at], &letters[at + 1..])) {
        // In some versions it takes the rest as well.
        Some((b'l', _)) => SedWord::Unclear,
        Some((b'e', "")) => SedWord::ScriptNext,
        Some((b'e', script)) => SedWord::Script(script),
        Some((b'f', "")) => SedWord::ValueNext,
        _ => SedWord::Flags,
    }
}

/// Whether a sed script consists of addresses and commands that only print and edit text. Anything
/// else, such as a label, inserted text or a group, is not parsed and counts as more.
fn only_edits(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';']);
        if rest.is_empty() {
            return true;
        }
        let Some(command) = behind_addresses(rest) else { return false };
        let mut letters = command.chars();
        let behind = match letters.next() {
            Some('p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=') => {
                letters.as_str()
            }
            Some('q' | 'Q' | 'l') => {
                letters.as_str().trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
            }
            Some('s') => match substitution(letters.as_str()) {
                Some(behind) => behind,
                None => return false,
            },
            Some('y') => match parts(letters.as_str()) {
                Some(behind) => behind,
                None => return false,
            },
            _ => return false,
        };
        rest = behind.trim_start_matches([' ', '\t']);
        if !(rest.is_empty() || rest.starts_with([';', '\n'])) {
            return false;
        }
    }
}

/// The text after the addresses: numbers, `$` and `/patterns/`.
fn behind_addresses(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = match rest.chars().next()? {
            '/' => {
                let behind = behind_delimiter(&rest[1..], '/')?;
                behind.trim_start_matches(['I', 'M'])
            }
            c if c.is_ascii_digit() || "$,~+! ".contains(c) => &rest[1..],
            _ => return Some(rest),
        };
    }
}

/// The text after `/pattern/text/flags`, if no flag runs the text or writes a file.
fn substitution(text: &str) -> Option<&str> {
    let behind = parts(text)?;
    let flags = behind.chars().take_while(|c| c.is_ascii_alphanumeric()).count();
    let (flags, behind) = behind.split_at(flags);
    flags.chars().all(|flag| "gpiImM".contains(flag) || flag.is_ascii_digit()).then_some(behind)
}

/// The text after `/one/two/`, with any delimiter.
fn parts(text: &str) -> Option<&str> {
    let is_delimiter = |c: &char| c.is_ascii_punctuation() && *c != '\\';
    let delimiter = text.chars().next().filter(is_delimiter)?;
    let behind = behind_delimiter(&text[1..], delimiter)?;
    behind_delimiter(behind, delimiter)
}

/// Returns the rest of the text after the next unescaped delimiter. Some versions of sed accept a
/// delimiter inside brackets and others do not, so `None` if a bracket is still open there.
fn behind_delimiter(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next().filter(|(_, c)| *c != '\n') {
        if c == delimiter {
            return closes_brackets(&text[..at]).then(|| &text[at + c.len_utf8()..]);
        }
        if c == '\\' {
            chars.next().filter(|(_, c)| *c != '\n')?;
        }
    }
    None
}

/// Whether all versions of sed find the end of every bracket expression.
fn closes_brackets(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['[', '\\']) {
        let (sign, behind) = rest[at..].split_at(1);
        if sign == "\\" {
            rest =
                behind.get(behind.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
            continue;
        }
        match behind_bracket(behind) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    true
}

/// Returns the rest of the text after a bracket expression, whose `[` the caller has removed. A
/// leading `]` does not close it, and neither does one in a class such as `[:alpha:]`.
fn behind_bracket(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('^').unwrap_or(text);
    let mut rest = inside.strip_prefix(']').unwrap_or(inside);
    loop {
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match (c, rest.chars().next()) {
            (']', _) => return Some(rest),
            ('[', Some(kind @ (':' | '.' | '='))) => {
                let (_, behind) = rest[1..].split_once(&format!("{kind}]"))?;
                rest = behind;
            }
            ('\\', next) if !next.is_some_and(|c| c.is_ascii_alphanumeric()) => return None,
            _ => {}
        }
    }
}
