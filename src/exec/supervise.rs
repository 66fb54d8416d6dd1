//! The supervisor of one command: runs it, adopts what it leaves behind, and ends as it has ended,
//! after all else.
//!
//! Its states, of which each also goes to the next ones below it:
//!
//! - *running*: the command runs. A byte on the leash asks everything below to end.
//! - *draining*: the command has ended. What it has left has `DRAIN` to end by itself: the last
//!   words of `> >(tee log)` come after the end of the shell. Once everything was asked to end, it
//!   has as long as the leash is held.
//! - *killing*: the leash is closed, because the command is over for the one who holds it or
//!   because that one is gone, or the time to drain is over. Everything below is killed, again and
//!   again, until nothing is left.
//! - *gone*: there is no process below. The supervisor ends with the command's exit code or by its signal.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, raise};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, close, dup2_stderr, dup2_stdin, dup2_stdout};

use super::descendants;
use super::supervisor::WORD;
use crate::protocol::EnvOverlay;

/// How long the rest may run on after the command has ended.
const DRAIN: Duration = Duration::from_millis(100);
/// The time between the first two rounds of killing, and the longest between two of them.
const ROUND: Duration = Duration::from_millis(2);
const LONGEST_ROUND: Duration = Duration::from_millis(100);
/// How long processes are killed that do not go: they hang in the kernel, and the signal waits for
/// them there.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// Something that happens to the supervisor.
enum Event {
    /// Everything is asked to end.
    Terminate,
    /// Everything has to end.
    Kill,
    /// The command has ended.
    Ended(WaitStatus),
    /// There is no process below any more.
    Gone,
}

/// The command's words and the variables that it gets; `None` when there are no words.
#[must_use]
pub fn command_of(env: &EnvOverlay) -> Option<(Vec<OsString>, EnvOverlay)> {
    let names = (0..).map(|number| format!("{WORD}{number}"));
    let words: Vec<(String, OsString)> =
        names.map_while(|name| env.get_os(&name).map(|word| (name, word.to_owned()))).collect();
    let plain = env.without(words.iter().map(|(name, _)| name.as_str()));
    (!words.is_empty()).then(|| (words.into_iter().map(|(_, word)| word).collect(), plain))
}

/// Supervises a command. Answers with its exit code; one that was ended by a signal ends this process too.
///
/// # Errors
/// When the command cannot be started.
pub fn supervise(words: &[OsString], env: &EnvOverlay, leash: Option<RawFd>) -> io::Result<u8> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    let is_stdin = leash.is_none();
    let leash = match leash {
        // Opened anew, as only that closes on exec.
        Some(number) => File::open(format!("/dev/fd/{number}")).and_then(|leash| {
            close(number)?;
            Ok(leash)
        })?,
        None => File::from(io::stdin().as_fd().try_clone_to_owned()?),
    };
    // Before the command starts, which may send them.
    let mask = block_signals()?;
    let pid = spawn(words, env, &mask, is_stdin)?;
    release_streams()?;
    let (events, seen) = sync_channel(4);
    let told = events.clone();
    thread::spawn(move || listen(leash, &told));
    thread::spawn(move || reap(pid, &events));
    Ok(end_as(attend(pid, &seen)))
}

/// Lets signals pass that ask a program to end: `pkill` may find this one beside others. Answers
/// with the mask before that, which is for the command.
fn block_signals() -> io::Result<SigSet> {
    let signals = SigSet::from_iter([Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM]);
    Ok(signals.thread_swap_mask(SigmaskHow::SIG_BLOCK)?)
}

/// Starts the command with these variables and this mask of signals, with an empty stdin if
/// `is_silent`. The standard library's `Command` would hand our own mask down.
fn spawn(words: &[OsString], env: &EnvOverlay, mask: &SigSet, is_silent: bool) -> io::Result<Pid> {
    let text = |text: &OsStr| CString::new(text.as_bytes());
    let words = words.iter().map(|word| text(word)).collect::<Result<Vec<_>, _>>()?;
    let variables = env.iter().map(|(name, value)| {
        text(&[name, OsStr::new("="), value].into_iter().collect::<OsString>())
    });
    let variables = variables.collect::<Result<Vec<_>, _>>()?;
    let program = words.first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut actions = PosixSpawnFileActions::init()?;
    if is_silent {
        actions.add_open(0, "/dev/null", OFlag::O_RDONLY, Mode::empty())?;
    }
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
    )?;
    // A group of its own: signals to it do not come here.
    attributes.set_pgroup(Pid::from_raw(0))?;
    attributes.set_sigmask(mask)?;
    // Every Rust program ignores it.
    attributes.set_sigdefault(&SigSet::from_iter([Signal::SIGPIPE]))?;
    Ok(posix_spawnp(program, &actions, &attributes, &words, &variables)?)
}

/// Gives the command's streams up: whoever reads them sees when the command closes them.
fn release_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok(dup2_stderr(&null)?)
}

/// Reads the leash to its end.
fn listen(mut leash: File, events: &SyncSender<Event>) {
    loop {
        let event = match leash.read(&mut [0]) {
            Ok(1..) => Event::Terminate,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => Event::Kill,
        };
        let is_last = matches!(event, Event::Kill);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Takes back every process that ends below, until there is none.
fn reap(command: Pid, events: &SyncSender<Event>) {
    loop {
        let event = match waitpid(None, None) {
            Ok(status) if status.pid() == Some(command) => Event::Ended(status),
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => Event::Gone,
        };
        let is_last = matches!(event, Event::Gone);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Goes through the states to the last one. Answers with how the command ended, if it did.
fn attend(command: Pid, events: &Receiver<Event>) -> Option<WaitStatus> {
    let mut status = None;
    let mut asked = false;
    // When the next round of killing is, and how long after it another.
    let mut next: Option<Instant> = None;
    let mut pause = ROUND;
    let mut killing_since: Option<Instant> = None;
    loop {
        let event = match next {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match event {
            Ok(Event::Gone) | Err(RecvTimeoutError::Disconnected) => return status,
            Ok(Event::Ended(ended)) => {
                status = Some(ended);
                if !asked {
                    next = next.or_else(|| Some(Instant::now() + DRAIN));
                }
            }
            Ok(Event::Terminate) => {
                asked = true;
                if killing_since.is_none() {
                    next = None;
                }
                descendants::signal(&below(), Signal::SIGTERM);
            }
            Ok(Event::Kill) | Err(RecvTimeoutError::Timeout) => {
                let since = *killing_since.get_or_insert_with(Instant::now);
                if since.elapsed() > KILL_LIMIT {
                    return status;
                }
                if status.is_none() {
                    // All at once, so that it cannot grow faster than it is killed.
                    let _ = killpg(command, Signal::SIGKILL);
                }
                descendants::signal(&below(), Signal::SIGKILL);
                next = Some(Instant::now() + pause);
                pause = LONGEST_ROUND.min(pause * 2);
            }
        }
    }
}

fn below() -> Vec<descendants::Process> {
    descendants::below([std::process::id().cast_signed()])
}

/// Ends this process as the command has ended: by its signal, or else with the exit code that this
/// answers with.
fn end_as(status: Option<WaitStatus>) -> u8 {
    match status {
        Some(WaitStatus::Exited(_, code)) => u8::try_from(code).unwrap_or(1),
        Some(WaitStatus::Signaled(_, signal, _)) => {
            // It fails for no signal, and then the exit code says it.
            let _ = SigSet::from_iter([signal]).thread_unblock();
            // The first of some signals only takes a handler away that every Rust program has.
            for _ in 0..2 {
                let _ = raise(signal);
            }
            128_u8.saturating_add(u8::try_from(signal as i32).unwrap_or(0))
        }
        _ => 1,
    }
}
