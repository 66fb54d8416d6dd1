//! Where the options of a runner end and its program begins.

use crate::permission::script::Word;
use crate::permission::spelling::{Spelling, spell};

/// The options of a runner. An unlisted option may or may not take the next word as its value,
/// depending on the version, so the program's position after it is a guess.
struct RunnerOptions {
    /// Separated by blanks.
    names: &'static str,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options that take the rest of the word, or else the next word.
    values: &'static str,
    /// Letters of options that take the rest of the word, and never the next one.
    joined: &'static str,
    /// Long options; a trailing `=` marks one with a value. The value of any other can only follow `=`.
    long: &'static str,
    /// How many words precede the program.
    before: usize,
}

const NO_OPTIONS: RunnerOptions =
    RunnerOptions { names: "", flags: "", values: "", joined: "", long: "", before: 0 };

const RUNNER_OPTIONS: &[RunnerOptions] = &[
    RunnerOptions {
        names: "env",
        flags: "i0v",
        values: "uCaP",
        long: "--ignore-environment --null --debug --list-signal-handling --block-signal --default-signal \
            --ignore-signal --unset= --chdir= --argv0=",
        ..NO_OPTIONS
    },
    RunnerOptions {
        names: "xargs",
        flags: "0oprtx",
        values: "adEIJLnPRsS",
        joined: "eil",
        long: "--null --open-tty --interactive --no-run-if-empty --verbose --exit --eof --replace --max-lines \
            --arg-file= --delimiter= --max-args= --max-procs= --max-chars= --process-slot-var=",
        ..NO_OPTIONS
    },
    RunnerOptions {
        names: "sudo",
        flags: "AbBEHkKnNPS",
        values: "aCcDghpRrTtUu",
        long: "--askpass --background --bell --preserve-env --set-home --reset-timestamp --no-update \
            --non-interactive --preserve-groups --stdin --user= --group= --host= --prompt= --chdir= --chroot= \
            --close-from= --role= --type= --other-user= --command-timeout=",
        ..NO_OPTIONS
    },
    RunnerOptions { names: "doas", flags: "nL", values: "uCa", ..NO_OPTIONS },
    RunnerOptions {
        names: "timeout gtimeout",
        flags: "vfp",
        values: "ks",
        long: "--foreground --preserve-status --verbose --kill-after= --signal=",
        before: 1,
        ..NO_OPTIONS
    },
    RunnerOptions { names: "nohup builtin busybox catchsegv coproc", ..NO_OPTIONS },
    RunnerOptions { names: "command", flags: "pvV", ..NO_OPTIONS },
    RunnerOptions { names: "setsid", flags: "cfw", long: "--ctty --fork --wait", ..NO_OPTIONS },
    RunnerOptions {
        names: "time",
        flags: "apqvV",
        values: "fo",
        long: "--append --portability --quiet --verbose --format= --output=",
        ..NO_OPTIONS
    },
    RunnerOptions {
        names: "nice",
        flags: "0123456789",
        values: "n",
        long: "--adjustment=",
        ..NO_OPTIONS
    },
    RunnerOptions {
        names: "ionice",
        flags: "t",
        values: "cn",
        long: "--ignore --class= --classdata=",
        ..NO_OPTIONS
    },
    RunnerOptions {
        names: "stdbuf",
        values: "ioe",
        long: "--input= --output= --error=",
        ..NO_OPTIONS
    },
    RunnerOptions { names: "exec", flags: "cl", values: "a", ..NO_OPTIONS },
    RunnerOptions {
        names: "chroot",
        long: "--skip-chdir --userspec= --groups=",
        before: 1,
        ..NO_OPTIONS
    },
    RunnerOptions {
        names: "taskset",
        flags: "ac",
        long: "--all-tasks --cpu-list",
        before: 1,
        ..NO_OPTIONS
    },
    RunnerOptions { names: "chrt", flags: "abfioRrv", before: 1, ..NO_OPTIONS },
    RunnerOptions { names: "caffeinate", flags: "dimsu", values: "tw", ..NO_OPTIONS },
    RunnerOptions {
        names: "watch",
        flags: "bcegtwx",
        values: "nq",
        long: "--beep --color --differences --errexit --chgexit --no-title --no-wrap --exec --interval=",
        ..NO_OPTIONS
    },
    RunnerOptions {
        names: "strace",
        flags: "cCdDfFhikqrtTvwxyz",
        values: "aebEIoOpPsSuUX",
        ..NO_OPTIONS
    },
];

/// Where a runner starts its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerStart {
    /// It starts none.
    None,
    /// At this position.
    At(usize),
    /// Probably at this position: an option before it is unknown.
    Perhaps(usize),
    /// The options of the runner are unknown.
    Unknown,
}

/// Parses the words of a runner, starting with its name.
pub fn find(program: &str, words: &[Word]) -> RunnerStart {
    let mut runners = RUNNER_OPTIONS.iter();
    let Some(runner) = runners.find(|it| it.names.split_whitespace().any(|name| name == program))
    else {
        return RunnerStart::Unknown;
    };
    let (mut at, mut certain) = (1, true);
    while let Some(word) = words.get(at) {
        let option = word.text.as_str();
        if option == "--" {
            at += 1;
            break;
        }
        if !option.starts_with('-') || option == "-" && program != "env" {
            break;
        }
        // It only prints where the program is.
        if program == "command" && option.contains(['v', 'V']) {
            return RunnerStart::None;
        }
        let is_one = matches!(spell(std::slice::from_ref(word)).as_slice(), [Spelling::Plain(_)]);
        match runner.option_words(option).filter(|_| is_one) {
            Some(count) => at += count,
            None => (at, certain) = (at + 1, false),
        }
    }
    at += runner.before;
    while matches!(program, "env" | "sudo")
        && words.get(at).is_some_and(|word| word.text.contains('='))
    {
        at += 1;
    }
    match (at < words.len(), certain) {
        (true, true) => RunnerStart::At(at),
        (true, false) => RunnerStart::Perhaps(at),
        (false, true) => RunnerStart::None,
        (false, false) => RunnerStart::Unknown,
    }
}

impl RunnerOptions {
    /// How many words the option takes, including itself; `None` if it is not listed.
    fn option_words(&self, option: &str) -> Option<usize> {
        if option.starts_with("--") {
            let (name, has_value) = match option.split_once('=') {
                Some((name, _)) => (name, true),
                None => (option, false),
            };
            let known = |entry: &&str| entry.strip_suffix('=').unwrap_or(entry) == name;
            let entry = self.long.split_whitespace().find(known)?;
            return Some(1 + usize::from(entry.ends_with('=') && !has_value));
        }
        let mut letters = option[1..].chars();
        while let Some(letter) = letters.next() {
            if self.joined.contains(letter) {
                return Some(1);
            }
            if self.values.contains(letter) {
                return Some(1 + usize::from(letters.as_str().is_empty()));
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(1)
    }
}
