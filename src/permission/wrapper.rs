//! Programs that run other programs: they never ride on a rule that does not name what they run.

use super::script::{SimpleCommand, Word};

mod start;

use start::Start;

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
    "compgen",
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
/// Evaluators in one command that are looked into.
const MAX_STARTS: usize = 4;

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

/// The places at which the command starts a program, in their order: its first word, and where that
/// is a runner the program behind its options, and so on. The second value is false where there may
/// be others, because the words of a runner do not tell where its program stands.
#[must_use]
pub fn starts(words: &[Word]) -> (Vec<usize>, bool) {
    let (mut starts, mut certain, mut next) = (vec![0], true, 0);
    while let Some(&at) = starts.get(next) {
        next += 1;
        let rest = words.get(at..).unwrap_or_default();
        let program = base_name(rest.first().map_or("", |word| &word.text));
        let found = match program {
            "find" => executed(rest),
            _ if !RUNNERS.contains(&program) => continue,
            _ => match start::find(program, rest) {
                Start::None => continue,
                Start::At(place) => vec![place],
                Start::Perhaps(place) => {
                    certain = false;
                    vec![place]
                }
                Start::Unknown => {
                    certain = false;
                    continue;
                }
            },
        };
        for place in found {
            if starts.len() >= MAX_TAIL {
                certain = false;
            } else if !starts.contains(&(at + place)) {
                starts.push(at + place);
            }
        }
    }
    starts.sort_unstable();
    (starts, certain)
}

/// The places of the programs that find runs; one more than are looked at shows that there are others.
fn executed(words: &[Word]) -> Vec<usize> {
    let runs = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    (1..words.len()).filter(|&place| runs(&words[place - 1])).take(MAX_TAIL + 1).collect()
}

/// Whether the program only runs the words after it.
#[must_use]
pub fn is_runner(program: &str) -> bool {
    RUNNERS.contains(&program)
}

/// Every run of words in the command that may be a command of its own: the whole, and for programs
/// that run other programs the beginning of each of its tails.
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

/// The arguments that the command, or one it runs, takes as a script. The second value is false
/// where there are more.
#[must_use]
pub fn script_texts(command: &SimpleCommand) -> (Vec<String>, bool) {
    let words = &command.words;
    let mut texts = split_texts(words);
    let places = places(words, EVALUATORS);
    let mut is_all = places.len() <= MAX_STARTS;
    for place in places.into_iter().take(MAX_STARTS) {
        // What find or xargs puts in the place of braces is the name of a file, and no script
        // unless `-c` precedes it. A semicolon ends the command for find.
        let is_script = |at: &usize| {
            let (before, text) = (words[at - 1].text.as_str(), words[*at].text.as_str());
            let is_behind_c = before.starts_with('-') && before.contains('c');
            !text.starts_with('-') && text != ";" && (text != "{}" || is_behind_c)
        };
        let arguments = (place + 1..words.len()).filter(is_script);
        let arguments: Vec<&str> = arguments.map(|at| words[at].text.as_str()).collect();
        is_all &= arguments.len() <= MAX_TEXTS;
        texts.extend(arguments.iter().take(MAX_TEXTS).map(|&text| text.to_owned()));
        if arguments.len() > 1 {
            // `eval` joins its arguments.
            texts.push(arguments.join(" "));
        }
    }
    (texts, is_all)
}

/// Where the command starts one of these programs; where that is not certain, the first word that
/// is one of them.
fn places(words: &[Word], programs: &[&str]) -> Vec<usize> {
    let is = |place: &usize| programs.contains(&base_name(&words[*place].text));
    let (starts, certain) = starts(words);
    let mut places: Vec<usize> =
        starts.into_iter().filter(|place| *place < words.len()).filter(is).collect();
    if !certain && places.is_empty() {
        // A dot is too often the name of the folder.
        let mut rest = (1..words.len()).filter(|&place| words[place].text != ".");
        places.extend(rest.find(is));
    }
    places
}

/// The arguments that runners split into words themselves: `env -S 'rm x'`, `su -c 'rm x'`, `watch 'rm x'`.
fn split_texts(words: &[Word]) -> Vec<String> {
    let Some(&place) = places(words, SPLITTERS).first() else { return Vec::new() };
    let is_env = base_name(&words[place].text) == "env";
    let texts = words[place + 1..].iter().map(|word| {
        let text = word.text.as_str();
        match text.strip_prefix("--").map(|option| option.split_once('=')) {
            Some(value) => value.map_or(text, |(_, value)| value),
            // The letter may stand behind others, as in `-iS`.
            None if text.starts_with('-') => text.split_once(['S', 'c']).map_or(text, |it| it.1),
            None => text,
        }
    });
    let texts = texts.filter(|text| text.contains(char::is_whitespace)).map(str::to_owned);
    let texts = texts.chain(is_env.then(|| env_texts(words, place)).into_iter().flatten());
    texts.take(MAX_TEXTS).collect()
}

/// The commands that `env` at this place makes of an option `-S` and of the words behind it.
fn env_texts(words: &[Word], place: usize) -> Vec<String> {
    let value = |at: usize| {
        let option = words[at].text.as_str();
        let joined = match option.strip_prefix("--") {
            Some(long) if long.starts_with('s') => long.split_once('=').map(|it| it.1),
            Some(_) => return None,
            None => Some(option.strip_prefix('-')?.split_once('S')?.1),
        };
        match joined.filter(|value| !value.is_empty()) {
            Some(value) => Some((value, at + 1)),
            None => Some((words.get(at + 1)?.text.as_str(), at + 2)),
        }
    };
    let text = |at: usize| {
        let (value, next) = value(at)?;
        let rest = words.get(next..words.len().min(next + MAX_TAIL)).unwrap_or_default();
        let rest = rest.iter().map(|word| word.raw.as_str());
        Some(std::iter::once(&*env_decoded(value)).chain(rest).collect::<Vec<_>>().join(" "))
    };
    (place + 1..words.len()).filter_map(text).take(MAX_TEXTS).collect()
}

/// The value of `env -S` with its own escapes as a shell would write them: `\_` is a blank, `\c`
/// ends the text.
fn env_decoded(value: &str) -> String {
    let mut text = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('\\', Some('c')) => break,
            ('\\', Some('_' | 'f' | 'n' | 'r' | 't' | 'v')) => {
                chars.next();
                text.push(' ');
            }
            ('\\', Some(next)) => {
                chars.next();
                text.extend(['\\', next]);
            }
            _ => text.push(c),
        }
    }
    text
}

/// The words as a restriction compares them: the program without its folder, and without the
/// options that may stand before a sub-command.
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
    fn the_program_of_a_runner_is_certain_only_behind_options_that_are_known() {
        for (line, places, certain) in [
            ("env A=1 -u", vec![0, 2], true),
            ("env -iu X rm", vec![0, 3], true),
            ("env - rm", vec![0, 2], true),
            ("env --chdir x rm", vec![0, 3], true),
            ("env --chd x rm", vec![0, 2], false),
            ("env --block-signal=INT rm", vec![0, 2], true),
            ("xargs -0i rm", vec![0, 2], true),
            ("xargs -n1 -P 4 rm", vec![0, 4], true),
            ("xargs --process-slot x rm", vec![0, 2], false),
            ("/usr/bin/time -f x rm", vec![0, 3], true),
            ("strace --trace file rm", vec![0, 2], false),
            ("strace -fe file rm", vec![0, 3], true),
            ("nice -5 rm", vec![0, 2], true),
            ("sudo --promp x env -i rm", vec![0, 2], false),
            ("command -pv rm", vec![0], true),
            ("timeout --odd 5 rm", vec![0, 3], false),
            ("timeout --odd", vec![0], false),
            ("flock x rm", vec![0], false),
            ("find . -exec env rm ; -exec ls ;", vec![0, 3, 4, 7], true),
        ] {
            assert_eq!(starts(&words(line)), (places, certain), "{line}");
        }
        let many = format!("find .{}", " -exec true ;".repeat(MAX_TAIL + 1));
        assert!(!starts(&words(&many)).1);
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
