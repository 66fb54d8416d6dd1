//! Programs that run other programs: they never ride on a rule that does not name what they run.

use super::script::{SimpleCommand, Word};

/// Run the words after them.
const RUNNERS: &[&str] = &[
    "env",
    "xargs",
    "sudo",
    "doas",
    "su",
    "timeout",
    "nohup",
    "nice",
    "ionice",
    "time",
    "setsid",
    "stdbuf",
    "command",
    "builtin",
    "exec",
    "coproc",
    "chroot",
    "unshare",
    "nsenter",
    "flock",
    "watch",
    "strace",
    "ltrace",
    "script",
    "parallel",
    "busybox",
    "runuser",
    "taskset",
    "chrt",
    "systemd-run",
    "dbus-run-session",
    "caffeinate",
    "gtimeout",
    "setarch",
    "catchsegv",
];

/// Of these, the ones whose first word that is no option is the program.
const PLAIN_RUNNERS: &[&str] = &[
    "nohup", "nice", "time", "setsid", "command", "builtin", "exec", "coproc", "sudo", "doas",
    "xargs",
];

/// Run a text as a script, or a file into the running shell.
const EVALUATORS: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "ash",
    "csh",
    "tcsh",
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "enable",
    "complete",
    "bind",
    "mapfile",
    "readarray",
];

/// Runners that split an argument into words, or hand it to a shell.
const SPLITTERS: &[&str] = &["env", "su", "runuser", "watch", "script", "flock", "parallel"];

/// Options of git that stand before its sub-command and take a value.
const GIT_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];

/// No rule is longer than this many words; keeps the work linear in the length of the line.
const MAX_TAIL: usize = 64;
/// Arguments of an evaluator that are looked into.
const MAX_TEXTS: usize = 16;

/// What a command runs besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapped {
    /// It is an ordinary program.
    Nothing,
    /// The program at this word.
    From(usize),
    /// Something that cannot be told from its words.
    Unclear,
}

/// Whether the command runs another one, and where that begins.
#[must_use]
pub fn wrapped(words: &[Word]) -> Wrapped {
    let program = words.first().map_or("", |word| base_name(&word.text));
    if !RUNNERS.contains(&program) {
        return if is_ordinary(words) { Wrapped::Nothing } else { Wrapped::Unclear };
    }
    let is_option = |place: usize| words.get(place).is_none_or(|word| word.text.starts_with('-'));
    let place = match program {
        "env" => 1 + words.iter().skip(1).take_while(|word| word.text.contains('=')).count(),
        "timeout" | "gtimeout" if !is_option(1) => 2,
        name if PLAIN_RUNNERS.contains(&name) => 1,
        _ => return Wrapped::Unclear,
    };
    // Runners of runners are not looked into: the inner one may run anything.
    if is_option(place) || !is_ordinary(words.get(place..).unwrap_or_default()) {
        return Wrapped::Unclear;
    }
    Wrapped::From(place)
}

/// Whether the words are a program that runs no other.
fn is_ordinary(words: &[Word]) -> bool {
    let Some(program) = words.first().map(|word| base_name(&word.text)) else { return false };
    let runs = |word: &Word| {
        !word.literal || matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
    };
    match program {
        "find" => !words.iter().any(runs),
        name => !RUNNERS.contains(&name) && !EVALUATORS.contains(&name),
    }
}

/// Every run of words in the command that may be a command of its own: the whole, and for programs that run other
/// programs the beginning of each of its tails.
#[must_use]
pub fn views(command: &SimpleCommand) -> Vec<&[Word]> {
    let words = command.words.as_slice();
    let whole = std::iter::once(words);
    if wrapped(words) == Wrapped::Nothing {
        return whole.collect();
    }
    let tail = |start: usize| &words[start..words.len().min(start + MAX_TAIL)];
    whole.chain((1..words.len()).map(tail)).collect()
}

/// Whether the program runs a text as a script, or a file into the running shell.
#[must_use]
pub fn evaluates(program: &str) -> bool {
    EVALUATORS.contains(&program)
}

/// The arguments that the command, or one it runs, takes as a script.
#[must_use]
pub fn script_texts(command: &SimpleCommand) -> Vec<String> {
    let mut texts = split_texts(&command.words);
    let Some(place) =
        command.words.iter().position(|word| EVALUATORS.contains(&base_name(&word.text)))
    else {
        return texts;
    };
    if place > 0 && wrapped(&command.words) == Wrapped::Nothing {
        return texts;
    }
    let arguments = &command.words[place + 1..];
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|word| word.text.as_str())
        .filter(|text| !text.starts_with('-'))
        .collect();
    texts.extend(arguments.iter().take(MAX_TEXTS).map(|&text| text.to_owned()));
    if arguments.len() > 1 {
        // `eval` joins its arguments.
        texts.push(arguments.join(" "));
    }
    texts
}

/// The arguments that runners split into words themselves: `env -S 'rm x'`, `su -c 'rm x'`, `watch 'rm x'`.
fn split_texts(words: &[Word]) -> Vec<String> {
    let is_splitter = |word: &Word| SPLITTERS.contains(&base_name(&word.text));
    let Some(place) = words.iter().position(is_splitter) else { return Vec::new() };
    if place > 0 && wrapped(words) == Wrapped::Nothing {
        return Vec::new();
    }
    let texts = words[place + 1..].iter().map(|word| {
        let text = word.text.as_str();
        let joined = ["--split-string=", "--command=", "-S", "-c"];
        joined.iter().find_map(|option| text.strip_prefix(option)).unwrap_or(text)
    });
    let texts = texts.filter(|text| text.contains(char::is_whitespace));
    texts.take(MAX_TEXTS).map(str::to_owned).collect()
}

/// The words as a restriction compares them: the program without its folder, and without the options that may stand
/// before a sub-command.
#[must_use]
pub fn undressed(words: &[Word]) -> Vec<&str> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let program = base_name(&program.text);
    let mut rest = arguments.iter().map(|word| word.text.as_str()).peekable();
    let mut plain = vec![program];
    let has_sub_command = matches!(program, "git" | "cargo" | "npm" | "docker" | "kubectl" | "gh");
    while let Some(option) = rest.next_if(|word| has_sub_command && word.starts_with(['-', '+'])) {
        if program == "git" && GIT_VALUES.contains(&option) {
            rest.next();
        }
    }
    if rest.peek().is_none() && arguments.len() > 1 {
        // Options alone: keep them, so that rules on them still match.
        plain.extend(arguments.iter().map(|word| word.text.as_str()));
    } else {
        plain.extend(rest);
    }
    plain
}

/// The program's name without its folder.
#[must_use]
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        text.split(' ').map(Word::literal).collect()
    }

    #[test]
    fn what_a_runner_runs_is_found_or_said_to_be_unclear() {
        for (line, expected) in [
            ("git diff", Wrapped::Nothing),
            ("timeout 60 cargo test", Wrapped::From(2)),
            ("env A=1 B=2 make", Wrapped::From(3)),
            ("sudo apt install x", Wrapped::From(1)),
            ("sudo -u root rm x", Wrapped::Unclear),
            ("timeout 5 bash x.sh", Wrapped::Unclear),
            ("nohup sudo rm x", Wrapped::Unclear),
            ("bash x.sh", Wrapped::Unclear),
            ("find . -name x", Wrapped::Nothing),
            ("find . -exec rm {} ;", Wrapped::Unclear),
        ] {
            assert_eq!(wrapped(&words(line)), expected, "{line}");
        }
    }

    #[test]
    fn restrictions_see_through_folders_and_global_options() {
        for (line, expected) in [
            ("/usr/bin/rm -rf x", "rm -rf x"),
            ("git -C sub -c a=b --no-pager push origin", "git push origin"),
            ("cargo +nightly publish", "cargo publish"),
            ("git --version", "git"),
        ] {
            assert_eq!(undressed(&words(line)).join(" "), expected, "{line}");
        }
    }
}
