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

/// Runners, the letters of their options that take a value in the next word, their long options of that kind, and how
/// many words stand before the program.
const STARTS: &[(&str, &str, &str, usize)] = &[
    ("env", "uC", "--unset --chdir", 0),
    (
        "xargs",
        "adEILnPs",
        "--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var",
        0,
    ),
    (
        "sudo",
        "ughpCDRTUrt",
        "--user --group --host --prompt --chdir --chroot --close-from --role --type",
        0,
    ),
    ("doas", "uC", "", 0),
    ("timeout gtimeout", "ks", "--kill-after --signal", 1),
    ("nohup setsid time command builtin busybox catchsegv coproc", "", "", 0),
    ("nice", "n", "--adjustment", 0),
    ("ionice", "cn", "--class --classdata", 0),
    ("stdbuf", "ioe", "--input --output --error", 0),
    ("exec", "a", "", 0),
    ("chroot taskset chrt", "", "", 1),
    ("caffeinate", "tw", "", 0),
    ("watch", "nq", "--interval", 0),
    ("strace", "aebEIoOpPsSuX", "", 0),
];

/// The places at which the command certainly starts a program: its first word, and where that is a runner the program
/// behind its options, and so on. The second value is false where the words of a
/// runner do not tell where its program stands.
#[must_use]
pub fn starts(words: &[Word]) -> (Vec<usize>, bool) {
    let (mut starts, mut at) = (vec![0], 0);
    loop {
        let rest = words.get(at..).unwrap_or_default();
        let program = base_name(rest.first().map_or("", |word| &word.text));
        if program == "find" {
            let runs =
                |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
            let places = (1..rest.len()).filter(|&place| runs(&rest[place - 1]));
            let mut certain = true;
            for place in places.take(MAX_STARTS) {
                let (inner, known) = self::starts(&rest[place..]);
                starts.extend(inner.into_iter().map(|start| at + place + start));
                certain &= known;
            }
            return (starts, certain);
        }
        if !RUNNERS.contains(&program) {
            return (starts, true);
        }
        match start(program, rest) {
            Some(0) => return (starts, true),
            Some(place) => at += place,
            None => return (starts, false),
        }
        starts.push(at);
    }
}

/// Whether the program only runs the words after it.
#[must_use]
pub fn is_runner(program: &str) -> bool {
    RUNNERS.contains(&program)
}

/// The place of the program that the runner starts; 0 where it starts none.
fn start(program: &str, words: &[Word]) -> Option<usize> {
    let (_, letters, long, before) =
        STARTS.iter().find(|(names, ..)| names.split_whitespace().any(|name| name == program))?;
    let mut at = 1;
    while let Some(option) = words.get(at).map(|word| word.text.as_str()) {
        if option == "--" {
            at += 1;
            break;
        }
        if program == "command" && matches!(option, "-v" | "-V") {
            return Some(0);
        }
        let Some(cluster) = option.strip_prefix('-') else { break };
        if option.starts_with("--") {
            if !option.contains('=') && long.split_whitespace().any(|known| known == option) {
                at += 1;
            }
        } else if cluster
            .find(|c| letters.contains(c))
            .is_some_and(|place| place + 1 == cluster.len())
        {
            at += 1;
        }
        at += 1;
    }
    at += before;
    while matches!(program, "env" | "sudo")
        && words.get(at).is_some_and(|word| word.text.contains('='))
    {
        at += 1;
    }
    (at < words.len()).then_some(at).or(Some(0))
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
    let words = &command.words;
    let mut texts = split_texts(words);
    for place in places(words, EVALUATORS) {
        let arguments: Vec<&str> = words[place + 1..]
            .iter()
            .map(|word| word.text.as_str())
            .filter(|text| !text.starts_with('-'))
            .collect();
        texts.extend(arguments.iter().take(MAX_TEXTS).map(|&text| text.to_owned()));
        if arguments.len() > 1 {
            // `eval` joins its arguments.
            texts.push(arguments.join(" "));
        }
    }
    texts
}

/// Where the command starts one of these programs; where that is not certain, the first word that is one of them.
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
    places.truncate(MAX_STARTS);
    places
}

/// The arguments that runners split into words themselves: `env -S 'rm x'`, `su -c 'rm x'`, `watch 'rm x'`.
fn split_texts(words: &[Word]) -> Vec<String> {
    let Some(&place) = places(words, SPLITTERS).first() else { return Vec::new() };
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
