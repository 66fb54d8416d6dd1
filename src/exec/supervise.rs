//! Supervisors: our own binary between this program and the command of an agent.
//!
//! Linux hands a process that has lost its parent to the nearest supervisor above it. So everything
//! a command starts, also in sessions of its own, stays below the command's supervisor and ends
//! with it. This program supervises nothing itself: it waits for its own children only.
//!
//! A supervisor runs one command, adopts the processes it leaves behind, and ends the way it ended,
//! after everything else. Its states; from each it can move to any later one:
//!
//! - *running*: the command runs. A byte on the pipe asks everything below to end.
//! - *draining*: the command has ended. Remaining processes have `DRAIN` to end by themselves: the
//!   last output of `> >(tee log)` comes after the end of the shell. After a request to end, they
//!   have as long as the pipe is held.
//! - *killing*: the pipe is closed, because its holder is done with the command or gone, or the
//!   time to drain is over. Everything below is killed, repeatedly, until nothing is left.
//! - *gone*: no process is left below. The supervisor ends with the command's exit code or by its signal.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
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
use tokio::process::Command;

use super::descendants;
use crate::protocol::{DEPTH_VARIABLE, EnvOverlay};

/// The hidden sub-command.
pub const COMMAND: &str = "supervise";
/// The option for the depth of the command. The supervisor ignores it: it is there for programs
/// further below, which can read the arguments of a process above them even when they cannot read
/// its environment.
pub const DEPTH: &str = "--depth";
/// The option for the descriptor of the pipe that holds the supervisor; without it, that is stdin.
pub const PIPE: &str = "--pipe";
/// Prefix of the variables that hold the words of the command, numbered from 0. They are not
/// arguments, because `pkill -f` would find the supervisor by them.
const WORD_PREFIX: &str = "CALIBAN_WORD_";

/// How long other processes may run on after the command has ended.
const DRAIN: Duration = Duration::from_millis(100);
/// The pause between the first two rounds of killing, and the longest pause.
const FIRST_KILL_PAUSE: Duration = Duration::from_millis(2);
const MAX_KILL_PAUSE: Duration = Duration::from_millis(100);
/// How long to keep killing processes that hang in the kernel, where the signal stays pending.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// Starts commands below a supervisor. Only Linux has them.
#[derive(Clone, Debug)]
pub struct Supervisor {
    program: Arc<Path>,
}

impl Supervisor {
    /// Supervisors that are this very program, even if its file is replaced while it runs.
    pub fn for_this_program() -> Option<Self> {
        Self::new(Path::new("/proc/self/exe"))
    }

    /// Supervisors that are the caliban at `program`.
    pub fn new(program: &Path) -> Option<Self> {
        cfg!(target_os = "linux").then(|| Self { program: program.into() })
    }

    /// Builds a supervisor command that runs `words` with exactly the variables `env`.
    pub(super) fn command(
        &self,
        words: Vec<OsString>,
        env: &EnvOverlay,
        pipe: Option<RawFd>,
    ) -> Command {
        let mut command = Command::new(&*self.program);
        command.arg0("caliban").arg(COMMAND);
        command.arg(DEPTH).arg(env.get_os(DEPTH_VARIABLE).unwrap_or("0".as_ref()));
        if let Some(pipe) = pipe {
            command.arg(PIPE).arg(pipe.to_string());
        }
        let words = words.into_iter().enumerate();
        let words = words.map(|(number, word)| (format!("{WORD_PREFIX}{number}"), word));
        command.env_clear().envs(env.iter()).envs(words);
        command
    }
}

/// Something that happens to the supervisor.
enum SupervisorEvent {
    /// Ask everything to end.
    Terminate,
    /// Kill everything.
    Kill,
    /// The command has ended.
    Ended(WaitStatus),
    /// No process is left below.
    Gone,
}

/// Returns the command's words and its variables; `None` if there are no words.
pub fn take_command(env: &EnvOverlay) -> Option<(Vec<OsString>, EnvOverlay)> {
    let names = (0..).map(|number| format!("{WORD_PREFIX}{number}"));
    let words: Vec<(String, OsString)> =
        names.map_while(|name| env.get_os(&name).map(|word| (name, word.to_owned()))).collect();
    let plain = env.without(words.iter().map(|(name, _)| name.as_str()));
    (!words.is_empty()).then(|| (words.into_iter().map(|(_, word)| word).collect(), plain))
}

/// Supervises a command and returns its exit code; if a signal ended it, this process ends by the same signal.
///
/// # Errors
///
/// When the command cannot be started.
pub fn supervise(words: &[OsString], env: &EnvOverlay, pipe: Option<RawFd>) -> io::Result<u8> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    let is_stdin = pipe.is_none();
    let pipe = match pipe {
        // Reopened because only a new descriptor gets close-on-exec.
        Some(number) => File::open(format!("/dev/fd/{number}")).and_then(|pipe| {
            close(number)?;
            Ok(pipe)
        })?,
        None => File::from(io::stdin().as_fd().try_clone_to_owned()?),
    };
    // Before the command starts, which may send them.
    let mask = block_signals()?;
    let pid = spawn(words, env, &mask, is_stdin)?;
    release_streams()?;
    let (events, seen) = sync_channel(4);
    let told = events.clone();
    thread::spawn(move || watch_pipe(pipe, &told));
    thread::spawn(move || reap(pid, &events));
    Ok(end_as(kill_loop(pid, &seen)))
}

/// Blocks signals that ask a program to end: `pkill` may find this one beside others. Returns the
/// previous mask, which is for the command.
fn block_signals() -> io::Result<SigSet> {
    let signals = SigSet::from_iter([Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM]);
    Ok(signals.thread_swap_mask(SigmaskHow::SIG_BLOCK)?)
}

/// Starts the command with these variables and this signal mask, with an empty stdin if
/// `is_silent`. The standard library's `Command` would pass our own mask on.
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

/// Closes our copies of the command's streams, so that their reader sees when the command closes them.
fn release_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok(dup2_stderr(&null)?)
}

/// Reads the pipe to its end.
fn watch_pipe(mut pipe: File, events: &SyncSender<SupervisorEvent>) {
    loop {
        let event = match pipe.read(&mut [0]) {
            Ok(1..) => SupervisorEvent::Terminate,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => SupervisorEvent::Kill,
        };
        let is_last = matches!(event, SupervisorEvent::Kill);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Reaps every process that ends below, until there is none.
fn reap(command: Pid, events: &SyncSender<SupervisorEvent>) {
    loop {
        let event = match waitpid(None, None) {
            Ok(status) if status.pid() == Some(command) => SupervisorEvent::Ended(status),
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => SupervisorEvent::Gone,
        };
        let is_last = matches!(event, SupervisorEvent::Gone);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Goes through the states to the last one. Returns how the command ended, if it did.
fn kill_loop(command: Pid, events: &Receiver<SupervisorEvent>) -> Option<WaitStatus> {
    let mut status = None;
    let mut asked = false;
    // The time of the next round of killing, and the pause after it.
    let mut next: Option<Instant> = None;
    let mut pause = FIRST_KILL_PAUSE;
    let mut killing_since: Option<Instant> = None;
    loop {
        let event = match next {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match event {
            Ok(SupervisorEvent::Gone) | Err(RecvTimeoutError::Disconnected) => return status,
            Ok(SupervisorEvent::Ended(ended)) => {
                status = Some(ended);
                if !asked {
                    next = next.or_else(|| Some(Instant::now() + DRAIN));
                }
            }
            Ok(SupervisorEvent::Terminate) => {
                asked = true;
                if killing_since.is_none() {
                    next = None;
                }
                descendants::signal(&descendants(), Signal::SIGTERM);
            }
            Ok(SupervisorEvent::Kill) | Err(RecvTimeoutError::Timeout) => {
                let since = *killing_since.get_or_insert_with(Instant::now);
                if since.elapsed() > KILL_LIMIT {
                    return status;
                }
                if status.is_none() {
                    // All at once, so that it cannot grow faster than it is killed.
                    let _ = killpg(command, Signal::SIGKILL);
                }
                descendants::signal(&descendants(), Signal::SIGKILL);
                next = Some(Instant::now() + pause);
                pause = MAX_KILL_PAUSE.min(pause * 2);
            }
        }
    }
}

fn descendants() -> Vec<descendants::Process> {
    descendants::descendants_of([std::process::id().cast_signed()])
}

/// Ends this process as the command has ended: by its signal, or else returns the exit code to use.
fn end_as(status: Option<WaitStatus>) -> u8 {
    match status {
        Some(WaitStatus::Exited(_, code)) => u8::try_from(code).unwrap_or(1),
        Some(WaitStatus::Signaled(_, signal, _)) => {
            // If it fails, the exit code says it.
            let _ = SigSet::from_iter([signal]).thread_unblock();
            // For some signals, the first only removes a handler that every Rust program has.
            for _ in 0..2 {
                let _ = raise(signal);
            }
            128_u8.saturating_add(u8::try_from(signal as i32).unwrap_or(0))
        }
        _ => 1,
    }
}
