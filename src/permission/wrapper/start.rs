//! Where the options of a runner end and its program begins.

use crate::permission::script::Word;
use crate::permission::spelling::{Spelling, spell};

/// The options of a runner. An option that is not listed may take the next word as its value or may
/// not, in one version or another, so that the place of the program is a guess behind it.
struct Runner {
    /// Separated by blanks.
    names: &'static str,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options that take the rest of the word, or else the next word.
    values: &'static str,
    /// Letters of options that take the rest of the word, and never the next one.
    joined: &'static str,
    /// Long options; a trailing `=` marks one with a value. The value of any other can only stand behind `=`.
    long: &'static str,
    /// How many words stand before the program.
    before: usize,
}

const PLAIN: Runner = Runner { names: "", flags: "", values: "", joined: "", long: "", before: 0 };

const STARTS: &[Runner] = &[
    Runner {
        names: "env",
        flags: "i0v",
        values: "uCaP",
        long: "--ignore-environment --null --debug --list-signal-handling --block-signal --default-signal \
            --ignore-signal --unset= --chdir= --argv0=",
        ..PLAIN
    },
    Runner {
        names: "xargs",
        flags: "0oprtx",
        values: "adEIJLnPRsS",
        joined: "eil",
        long: "--null --open-tty --interactive --no-run-if-empty --verbose --exit --eof --replace --max-lines \
            --arg-file= --delimiter= --max-args= --max-procs= --max-chars= --process-slot-var=",
        ..PLAIN
    },
    Runner {
        names: "sudo",
        flags: "AbBEHkKnNPS",
        values: "aCcDghpRrTtUu",
        long: "--askpass --background --bell --preserve-env --set-home --reset-timestamp --no-update \
            --non-interactive --preserve-groups --stdin --user= --group= --host= --prompt= --chdir= --chroot= \
            --close-from= --role= --type= --other-user= --command-timeout=",
        ..PLAIN
    },
    Runner { names: "doas", flags: "nL", values: "uCa", ..PLAIN },
    Runner {
        names: "timeout gtimeout",
        flags: "vfp",
        values: "ks",
        long: "--foreground --preserve-status --verbose --kill-after= --signal=",
        before: 1,
        ..PLAIN
    },
    Runner { names: "nohup builtin busybox catchsegv coproc", ..PLAIN },
    Runner { names: "command", flags: "pvV", ..PLAIN },
    Runner { names: "setsid", flags: "cfw", long: "--ctty --fork --wait", ..PLAIN },
    Runner {
        names: "time",
        flags: "apqvV",
        values: "fo",
        long: "--append --portability --quiet --verbose --format= --output=",
        ..PLAIN
    },
    Runner { names: "nice", flags: "0123456789", values: "n", long: "--adjustment=", ..PLAIN },
    Runner {
        names: "ionice",
        flags: "t",
        values: "cn",
        long: "--ignore --class= --classdata=",
        ..PLAIN
    },
    Runner { names: "stdbuf", values: "ioe", long: "--input= --output= --error=", ..PLAIN },
    Runner { names: "exec", flags: "cl", values: "a", ..PLAIN },
    Runner { names: "chroot", long: "--skip-chdir --userspec= --groups=", before: 1, ..PLAIN },
    Runner { names: "taskset", flags: "ac", long: "--all-tasks --cpu-list", before: 1, ..PLAIN },
    Runner { names: "chrt", flags: "abfioRrv", before: 1, ..PLAIN },
    Runner { names: "caffeinate", flags: "dimsu", values: "tw", ..PLAIN },
    Runner {
        names: "watch",
        flags: "bcegtwx",
        values: "nq",
        long: "--beep --color --differences --errexit --chgexit --no-title --no-wrap --exec --interval=",
        ..PLAIN
    },
    Runner { names: "strace", flags: "cCdDfFhikqrtTvwxyz", values: "aebEIoOpPsSuUX", ..PLAIN },
];

/// Where a runner starts its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It starts none.
    None,
    /// At this word.
    At(usize),
    /// Probably at this word: an option before it is not known.
    Perhaps(usize),
    /// Nothing is known of the options of the runner.
    Unknown,
}

/// Reads the words of a runner, from its name on.
pub fn find(program: &str, words: &[Word]) -> Start {
    let mut runners = STARTS.iter();
    let Some(runner) = runners.find(|it| it.names.split_whitespace().any(|name| name == program))
    else {
        return Start::Unknown;
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
        // It only says where the program is.
        if program == "command" && option.contains(['v', 'V']) {
            return Start::None;
        }
        let is_one = matches!(spell(std::slice::from_ref(word)).as_slice(), [Spelling::Plain(_)]);
        match runner.words_of(option).filter(|_| is_one) {
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
        (true, true) => Start::At(at),
        (true, false) => Start::Perhaps(at),
        (false, true) => Start::None,
        (false, false) => Start::Unknown,
    }
}

impl Runner {
    /// How many words the option takes, with itself; `None` for one that is not listed.
    fn words_of(&self, option: &str) -> Option<usize> {
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
