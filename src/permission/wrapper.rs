//! Programs that run other programs: a rule never covers them unless it names the program they run.

use super::program::base_name;
use super::script::{SimpleCommand, Word};

mod runner_options;

use runner_options::RunnerStart;

/// Programs that run the words after them, separated by blanks.
const RUNNERS: &str = "\
    env xargs sudo doas su timeout gtimeout nohup nice ionice time setsid stdbuf command builtin exec coproc chroot \
    unshare nsenter flock watch strace ltrace script parallel sem busybox toybox runuser taskset chrt systemd-run \
    dbus-run-session caffeinate setarch catchsegv setpriv prlimit linux32 linux64 i386 x86_64 uname26 choom fakeroot \
    fakechroot faketime bwrap firejail proot tini tini-static dumb-init catatonit proxychains proxychains4 torsocks \
    torify tsocks xvfb-run valgrind uftrace hyperfine entr watchexec unbuffer pkexec sg numactl cpulimit cgexec \
    eatmydata chronic ifne rlwrap setuidgid gosu su-exec chpst envdir softlimit systemd-inhibit dbus-launch \
    ddtrace-run trickle daemonize start-stop-daemon ssh-agent sshpass";

/// Those of them whose first non-option word is the program.
const PLAIN_RUNNERS: &str = "\
    nohup nice time setsid command builtin exec coproc sudo doas xargs strace ltrace catchsegv linux32 linux64 i386 \
    x86_64 fakeroot firejail tini tini-static dumb-init catatonit proxychains proxychains4 torsocks torify tsocks \
    xvfb-run dbus-run-session valgrind entr unbuffer eatmydata chronic ifne rlwrap systemd-inhibit ddtrace-run \
    ssh-agent";

/// Shells. A version may follow the name: `bash-5.2`, `ksh93`.
const SHELLS: &str = "\
    sh bash dash ash zsh ksh mksh lksh oksh pdksh yash posh hush osh ysh fish csh tcsh rbash rksh rzsh pwsh \
    powershell nu elvish xonsh";

/// Builtins that run a text as a script, a file in the current shell, or change what later words mean.
const EVALUATORS: &str = "eval source . trap alias enable complete compgen bind mapfile readarray";

/// Commands of perf that start no program; most others do.
const PERF_READS: &str = "annotate buildid-list diff evlist help list report version";

/// Runners that split an argument into words, or pass it to a shell.
const SPLITTERS: &str = "env su runuser watch script flock parallel";

/// Options of git that precede its sub-command and take a value.
const GIT_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];

/// No rule has more words than this; keeps the work linear in the length of the line.
const MAX_TAIL: usize = 64;
/// Maximum arguments of an evaluator that are examined.
const MAX_TEXTS: usize = 16;
/// Maximum evaluators in one command that are examined.
const MAX_STARTS: usize = 4;

/// The command that another one runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerCommand {
    /// None: an ordinary program.
    Nothing,
    /// The program at this position.
    From(usize),
    /// Something that its words do not determine.
    Unclear,
}

/// Returns the command that this one runs, if any.
pub fn inner_command(words: &[Word]) -> InnerCommand {
    let program = words.first().map_or("", |word| base_name(&word.text));
    let text = |place: usize| words.get(place).map_or("", |word| word.text.as_str());
    let place = match program {
        "perf" if !text(1).is_empty() && !lists(PERF_READS, text(1)) => Some(2),
        "gdb" => words.iter().position(|word| matches!(word.text.as_str(), "--args" | "-args")),
        _ => None,
    };
    if place.is_none() && !is_runner(program) {
        return if is_ordinary(words) { InnerCommand::Nothing } else { InnerCommand::Unclear };
    }
    let is_option = |place: usize| words.get(place).is_none_or(|word| word.text.starts_with('-'));
    let place = match program {
        "perf" => 2,
        "gdb" => place.map_or(1, |args| args + 1),
        "env" => 1 + words.iter().skip(1).take_while(|word| word.text.contains('=')).count(),
        "timeout" | "gtimeout" | "faketime" if !is_option(1) => 2,
        name if lists(PLAIN_RUNNERS, name) => 1,
        _ => return InnerCommand::Unclear,
    };
    // Runners of runners are not examined: the inner one may run anything.
    if is_option(place) || !is_ordinary(words.get(place..).unwrap_or_default()) {
        return InnerCommand::Unclear;
    }
    InnerCommand::From(place)
}

/// Whether the words are a program that runs no other.
fn is_ordinary(words: &[Word]) -> bool {
    let Some(program) = words.first().map(|word| base_name(&word.text)) else { return false };
    let runs = |word: &Word| {
        !word.literal || matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
    };
    match program {
        "find" => !words.iter().any(runs),
        name => !is_runner(name) && !evaluates(name),
    }
}

/// The positions at which the command starts a program, in order: its first word, and if that is a
/// runner the program after its options, and so on. The second value is false if there may be
/// others, because the position of a runner's program is uncertain.
pub fn program_starts(words: &[Word]) -> (Vec<usize>, bool) {
    let (mut starts, mut certain, mut next) = (vec![0], true, 0);
    while let Some(&at) = starts.get(next) {
        next += 1;
        let rest = words.get(at..).unwrap_or_default();
        let program = base_name(rest.first().map_or("", |word| &word.text));
        let found = match program {
            "find" => find_exec_places(rest),
            _ if !is_runner(program) => continue,
            _ => match runner_options::find(program, rest) {
                RunnerStart::None => continue,
                RunnerStart::At(place) => vec![place],
                RunnerStart::Perhaps(place) => {
                    certain = false;
                    vec![place]
                }
                RunnerStart::Unknown => {
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

/// The positions of the programs that find runs; one more than the limit shows that there are others.
fn find_exec_places(words: &[Word]) -> Vec<usize> {
    let runs = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    (1..words.len()).filter(|&place| runs(&words[place - 1])).take(MAX_TAIL + 1).collect()
}

/// Whether the program only runs the words after it.
pub fn is_runner(program: &str) -> bool {
    lists(RUNNERS, program)
}

fn lists(names: &str, name: &str) -> bool {
    // The first condition alone settles most of many names.
    names.contains(name) && names.split_whitespace().any(|known| known == name)
}

/// Every run of words in the command that may be a command of its own: the whole, and for programs
/// that run other programs the beginning of each tail.
pub fn possible_commands(command: &SimpleCommand) -> Vec<&[Word]> {
    let words = command.words.as_slice();
    let whole = std::iter::once(words);
    if inner_command(words) == InnerCommand::Nothing {
        return whole.collect();
    }
    let tail = |start: usize| &words[start..words.len().min(start + MAX_TAIL)];
    whole.chain((1..words.len()).map(tail)).collect()
}

/// Whether the program runs a text as a script, or a file in the current shell.
pub fn evaluates(program: &str) -> bool {
    is_shell(program) || lists(EVALUATORS, program)
}

/// Names of the programs that start others: shells, without a version, and runners.
pub fn starters() -> impl Iterator<Item = &'static str> {
    SHELLS.split_whitespace().chain(RUNNERS.split_whitespace())
}

/// Whether the name without its folder is a shell's.
pub fn is_shell(program: &str) -> bool {
    let name = program.strip_suffix(".exe").unwrap_or(program);
    let is_version = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let bare = package_name(name).trim_end_matches(is_version);
    lists(SHELLS, bare)
}

/// The arguments that the command, or one it runs, takes as a script. The second value is false if there are more.
pub fn script_texts(command: &SimpleCommand) -> (Vec<String>, bool) {
    let words = &command.words;
    let mut texts = split_texts(words);
    let places = places(words, evaluates);
    let is_short = |place: &usize| words.len() - place <= MAX_TAIL;
    let mut is_all = texts.len() <= MAX_TEXTS && places.len() <= MAX_STARTS;
    is_all &= places.iter().all(is_short);
    texts.truncate(MAX_TEXTS);
    for place in places.into_iter().take(MAX_STARTS) {
        // The text that find or xargs substitutes for braces is a file name, and no script unless
        // `-c` precedes it. For find, a semicolon ends the command.
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

/// The positions at which the command starts one of these programs; if uncertain, the first word that is one of them.
fn places(words: &[Word], is_one: impl Fn(&str) -> bool) -> Vec<usize> {
    let is = |place: &usize| is_one(base_name(&words[*place].text));
    let (starts, certain) = program_starts(words);
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
    let Some(&place) = places(words, |name| lists(SPLITTERS, name)).first() else {
        return Vec::new();
    };
    let is_env = base_name(&words[place].text) == "env";
    let texts = words[place + 1..].iter().map(|word| {
        let text = word.text.as_str();
        match text.strip_prefix("--").map(|option| option.split_once('=')) {
            Some(value) => value.map_or(text, |(_, value)| value),
            // The letter may follow others, as in `-iS`.
            None if text.starts_with('-') => text.split_once(['S', 'c']).map_or(text, |it| it.1),
            None => text,
        }
    });
    let texts = texts.filter(|text| text.contains(char::is_whitespace)).map(str::to_owned);
    let texts = texts.chain(is_env.then(|| env_texts(words, place)).into_iter().flatten());
    texts.take(MAX_TEXTS + 1).collect()
}

/// The commands that `env` at this position makes of an option `-S` and the words after it.
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
    (place + 1..words.len()).filter_map(text).take(MAX_TEXTS + 1).collect()
}

/// The value of `env -S` with its own escapes as a shell would write them: `\_` is a blank, `\c` ends the text.
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

/// The words that restrictions compare: the program without its folder, and without the options
/// that may precede a sub-command.
pub fn strip_wrappers(words: &[Word]) -> Vec<&str> {
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
        // Only options: keep them, so that rules on them still match.
        plain.extend(arguments.iter().map(|word| word.text.as_str()));
    } else {
        plain.extend(rest);
    }
    plain
}

/// The name of a package without the version that a runner takes along, such as `eslint@8` or `twine==5`.
pub fn package_name(name: &str) -> &str {
    let end = name.find('@').or_else(|| name.find("=="));
    end.filter(|end| *end > 0).map_or(name, |end| &name[..end])
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
            ("git diff", InnerCommand::Nothing),
            ("timeout 60 cargo test", InnerCommand::From(2)),
            ("env A=1 B=2 make", InnerCommand::From(3)),
            ("sudo apt install x", InnerCommand::From(1)),
            ("sudo -u root rm x", InnerCommand::Unclear),
            ("timeout 5 bash x.sh", InnerCommand::Unclear),
            ("timeout 5 ksh93 x.sh", InnerCommand::Unclear),
            ("fakeroot make", InnerCommand::From(1)),
            ("setpriv --reuid 1 make", InnerCommand::Unclear),
            ("perf report x", InnerCommand::Nothing),
            ("perf stat make", InnerCommand::From(2)),
            ("perf stat -e x make", InnerCommand::Unclear),
            ("gdb --args make x", InnerCommand::From(2)),
            ("gdb -q --args make x", InnerCommand::From(3)),
            ("hyperfine make", InnerCommand::Unclear),
            ("nohup sudo rm x", InnerCommand::Unclear),
            ("bash x.sh", InnerCommand::Unclear),
            ("find . -name x", InnerCommand::Nothing),
            ("find . -exec rm {} ;", InnerCommand::Unclear),
        ] {
            assert_eq!(inner_command(&words(line)), expected, "{line}");
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
            assert_eq!(program_starts(&words(line)), (places, certain), "{line}");
        }
        let many = format!("find .{}", " -exec true ;".repeat(MAX_TAIL + 1));
        assert!(!program_starts(&words(&many)).1);
    }

    #[test]
    fn restrictions_see_through_folders_and_global_options() {
        for (line, expected) in [
            ("/usr/bin/rm -rf x", "rm -rf x"),
            ("git -C sub -c a=b --no-pager push origin", "git push origin"),
            ("cargo +nightly publish", "cargo publish"),
            ("git --version", "git"),
        ] {
            assert_eq!(strip_wrappers(&words(line)).join(" "), expected, "{line}");
        }
    }
}
