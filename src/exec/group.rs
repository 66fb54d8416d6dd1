//! A command with everything it starts, ended together.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::descendants::{self, Process};
use super::sandbox::Confinement;
use super::supervise::Supervisor;
use crate::disk::{is_system_program, programs_named};
use crate::protocol::{BashVersion, EnvOverlay};

/// Begins with its pipe at descriptor 3: a watchdog that kills the whole group as soon as the pipe
/// closes, at the end of the command or when this program dies. In the second case the command
/// is still there, and the watchdog also kills processes below it that are in groups of their own,
/// where `/proc` shows them.
macro_rules! watchdog {
    () => {
        r#"
( read -r _ <&3
if [ -e /proc/$$ ]; then
    read -r me _ </proc/self/stat
    pairs= doomed=" $me $$ " more=1
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" && set -- ${line%% *} ${line##*) } && pairs="$pairs $1:$3"
    done
    while [ -n "$more" ]; do
        more=
        for pair in $pairs; do
            case $doomed in
                *" ${pair%:*} "*) ;;
                *" ${pair#*:} "*) doomed="$doomed${pair%:*} " more=1 ;;
            esac
        done
    done
    kill -KILL ${doomed#" $me "}
fi
kill -KILL 0 ) >/dev/null 2>&1 &
trap - HUP INT TERM
"#
    };
}

/// The end of a script that starts bash with one pipe for both outputs and empty stdin. `$1` is the
/// text that bash reads first, which finds the pipe to us at descriptor 5; the words that start
/// bash follow.
macro_rules! start {
    () => {
        r#"exec 3<&- 4<<END 5>&2 2>&1
$1
END
shift
BASH_ENV=/dev/fd/4; export BASH_ENV
exec "$@"
"#
    };
}

/// Starts bash beside its watchdog.
const START: &str = concat!("trap '' HUP INT TERM\nexec 3<&0 </dev/null", watchdog!(), start!());

/// Starts bash below a supervisor.
const START_SUPERVISED: &str = start!();

/// Starts a program with its three streams unchanged, beside its watchdog. `$1` is the descriptor
/// of the pipe; the program follows.
const SERVE: &str = concat!(
    "trap '' HUP INT TERM\nexec 3</dev/fd/$1\nshift",
    watchdog!(),
    r#"exec 3<&-
exec "$@"
"#
);

/// Starts a program below a supervisor: through a shell, which also runs scripts that name no interpreter.
const SERVE_SUPERVISED: &str = r#"exec "$@""#;

/// Usual paths of bash: by name alone, one could be found in a folder of the project that is on
/// `PATH`. On a Mac, those of package managers are newer than the system's.
const BASH_PATHS: &[&str] = match cfg!(target_os = "macos") {
    true => &["/opt/homebrew/bin/bash", "/usr/local/bin/bash", "/opt/local/bin/bash", "/bin/bash"],
    false => {
        &["/bin/bash", "/usr/bin/bash", "/run/current-system/sw/bin/bash", "/usr/local/bin/bash"]
    }
};

/// How often to poll whether a killed group is gone: the system doesn't notify about processes that
/// are not our children.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A command that leads its own process group. Dropping it before its end kills the whole group.
pub struct ProcessGroup {
    /// The command, or its supervisor.
    child: Box<dyn ChildWrapper>,
    pid: i32,
    reaper: GroupReaper,
    status: Option<ExitStatus>,
}

/// The process that kills what the command leaves behind. It waits on a pipe that is open for as
/// long as the command may run, and closes even if we crash.
enum GroupReaper {
    /// A shell in the group.
    Watchdog {
        pipe: Option<OwnedFd>,
        /// Processes seen below the command when it was asked to end, in its group or not.
        strays: Vec<Process>,
    },
    /// The parent of the command. It ends after everything that has started below it.
    Supervisor { pipe: Option<File> },
}

/// A bash command to start.
#[derive(Clone, Copy)]
pub struct ShellCommand<'a> {
    pub line: &'a str,
    pub cwd: &'a Path,
    /// The complete environment.
    pub env: &'a EnvOverlay,
    /// Text that bash reads first.
    pub start: &'a str,
    pub confine: Option<&'a Confinement>,
    pub supervisor: Option<&'a Supervisor>,
}

/// A program to start, which we talk to over its standard streams.
#[derive(Clone, Copy, Debug)]
pub struct ServiceCommand<'a> {
    pub program: &'a str,
    pub args: &'a [OsString],
    pub cwd: &'a Path,
    /// The complete environment.
    pub env: &'a EnvOverlay,
    /// Limits for it and everything it starts.
    pub confinement: Option<&'a Confinement>,
    /// The supervisor that it runs below, which adopts and ends the processes that the program leaves behind.
    pub supervisor: Option<&'a Supervisor>,
}

/// The version of the bash that commands get, as it reports it; the oldest if it reports none.
pub static BASH_VERSION: LazyLock<BashVersion> = LazyLock::new(|| {
    let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
    let said = bash(&env).and_then(|bash| {
        let mut command = std::process::Command::new(bash);
        command.args(["--norc", "--noprofile", "-c", "echo ${BASH_VERSINFO[@]:0:2}"]);
        command.env_clear().current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
        command.output().ok()
    });
    let said = said.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let mut parts = said.split_whitespace().map(|part| part.parse().unwrap_or_default());
    BashVersion { major: parts.next().unwrap_or_default(), minor: parts.next().unwrap_or_default() }
});

/// Returns the bash for commands with this environment: the usual path, or else one of the system's
/// found on `PATH`.
pub fn bash(env: &EnvOverlay) -> Option<PathBuf> {
    let known = BASH_PATHS.iter().map(PathBuf::from).find(|bash| bash.exists());
    known.or_else(|| bash_on_path(env))
}

fn bash_on_path(env: &EnvOverlay) -> Option<PathBuf> {
    let folders = env.program_folders().filter(|folder| folder.is_absolute());
    programs_named("bash", folders.map(Path::to_owned)).find(|bash| is_system_program(bash))
}

impl ProcessGroup {
    /// Starts a bash command.
    pub fn spawn(start: ShellCommand<'_>) -> io::Result<Self> {
        let ShellCommand { line, cwd, env, start, confine, supervisor } = start;
        let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no bash");
        let bash = bash(env).ok_or_else(missing)?;
        let mut words = vec![start.into()];
        let (launcher, _open) = launcher(confine)?;
        words.extend(launcher);
        words.push(bash.into());
        words.extend(["-c", line].map(OsString::from));
        let script = if supervisor.is_some() { START_SUPERVISED } else { START };
        let mut child = spawn(command(bash_args(script, words), env, supervisor, None), cwd)?;
        let pipe = child.stdin().take().map(ChildStdin::into_owned_fd).transpose()?;
        Self::new(child, GroupReaper::new(pipe, supervisor))
    }

    /// Starts a program that we talk to over its three streams, and hands out its stdin.
    pub fn serve(start: ServiceCommand<'_>) -> io::Result<(Self, ChildStdin)> {
        let ServiceCommand { program, args, cwd, env, confinement, supervisor } = start;
        let confined_env = confinement.map(|confinement| confinement.env(env));
        let env = confined_env.as_ref().unwrap_or(env);
        let (theirs, ours) = io::pipe()?;
        // Only the program's end of the pipe outlives the start: another process that holds it can only read.
        fcntl(&theirs, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let number = theirs.as_raw_fd();
        let (mut words, _open) = launcher(confinement)?;
        words.push(program.into());
        words.extend(args.iter().cloned());
        let command = match supervisor {
            Some(_) => command(bash_args(SERVE_SUPERVISED, words), env, supervisor, Some(number)),
            None => {
                words.insert(0, number.to_string().into());
                command(bash_args(SERVE, words), env, None, None)
            }
        };
        let mut child = spawn(command, cwd)?;
        let stdin = child.stdin().take();
        let stdin = stdin.ok_or_else(|| io::Error::other("the program has no pipes"))?;
        Ok((Self::new(child, GroupReaper::new(Some(ours.into()), supervisor))?, stdin))
    }

    fn new(child: Box<dyn ChildWrapper>, keeper: GroupReaper) -> io::Result<Self> {
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let Some(pid) = pid else { return Err(io::Error::other("the process has no id")) };
        Ok(Self { child, pid, reaper: keeper, status: None })
    }

    /// Takes the command's output; only once.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// Takes the pipe on which the start text reports to us; only once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr().take()
    }

    /// Waits for the command itself, not for processes it left behind; below a supervisor also for
    /// those, which have little time. Safe to drop at any point.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.status = Some(status);
        Ok(status)
    }

    /// Whether the command itself is known to have ended.
    fn has_ended(&self) -> bool {
        self.status.is_some()
    }

    /// Records the processes below the command, so that its end also ends those that have left the
    /// group, even if the command ends by itself before. A supervisor needs no record.
    pub fn scan_descendants(&mut self) {
        // The pid of a command already waited for may have been reused.
        if let GroupReaper::Watchdog { strays, .. } = &mut self.reaper
            && self.status.is_none()
        {
            strays.extend(descendants::descendants_of([self.pid]));
        }
    }

    /// Asks the whole group to end; below a supervisor, everything started there.
    pub fn terminate(&mut self) {
        self.scan_descendants();
        match &mut self.reaper {
            GroupReaper::Watchdog { .. } => self.signal(Signal::SIGTERM),
            // A supervisor that has ended needs no message.
            GroupReaper::Supervisor { pipe } => {
                let _ = pipe.as_mut().map(|pipe| pipe.write_all(b"t"));
            }
        }
    }

    /// Kills the rest of the group, and waits up to `limit` until it is gone: a process that hangs
    /// in the kernel keeps the signal pending.
    pub async fn end(&mut self, limit: Duration) {
        self.kill();
        let gone = async {
            if !self.has_ended() {
                // If it cannot be waited for, it is gone.
                let _ = self.wait().await;
            }
            while self.remains() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        if tokio::time::timeout(limit, gone).await.is_err() {
            tracing::warn!(group = self.pid, "killed processes are still there");
        }
    }

    /// Whether anything is left after the end of the command. Processes that lost their supervisor are killed.
    fn remains(&self) -> bool {
        match &self.reaper {
            GroupReaper::Watchdog { strays, .. } => descendants::any_remain(self.pid, strays),
            // A supervisor that a signal has ended may not have finished its work: its session shows what is left.
            GroupReaper::Supervisor { .. }
                if self.status.is_some_and(|end| end.signal().is_some()) =>
            {
                let lost = descendants::in_session(self.pid);
                descendants::signal(&lost, Signal::SIGKILL);
                !lost.is_empty()
            }
            GroupReaper::Supervisor { .. } => false,
        }
    }

    fn kill(&mut self) {
        let running = self.status.is_none().then_some(self.pid);
        match &mut self.reaper {
            GroupReaper::Watchdog { pipe, strays } => {
                if running.is_some() || !strays.is_empty() {
                    let roots = running.into_iter().chain(strays.iter().map(|stray| stray.pid()));
                    let below = descendants::descendants_of(roots);
                    strays.extend(below);
                }
                if running.is_some() {
                    // The group may have ended by itself.
                    let _ = killpg(Pid::from_raw(self.pid), Signal::SIGKILL);
                }
                // Not those in the group: the watchdog is one of them, and it also knows what was started since.
                descendants::kill_outside(self.pid, strays);
                // The pid of a command already waited for may have been reused: there only the watchdog kills.
                *pipe = None;
            }
            GroupReaper::Supervisor { pipe } => *pipe = None,
        }
    }

    fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            // The group may have ended by itself.
            let _ = killpg(Pid::from_raw(self.pid), signal);
        }
    }
}

impl GroupReaper {
    fn new(pipe: Option<OwnedFd>, supervisor: Option<&Supervisor>) -> Self {
        match supervisor {
            Some(_) => Self::Supervisor { pipe: pipe.map(File::from) },
            None => Self::Watchdog { pipe, strays: Vec::new() },
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // A supervisor notices that its pipe is closed.
        if let GroupReaper::Watchdog { pipe: Some(_), .. } = self.reaper
            && self.status.is_none()
        {
            self.kill();
        }
    }
}

/// Builds the words that run a shell script with these arguments.
fn bash_args(script: &str, arguments: Vec<OsString>) -> Vec<OsString> {
    let mut words = ["/bin/sh", "-c", script, "caliban"].map(OsString::from).to_vec();
    words.extend(arguments);
    words
}

/// Builds the command of these words, below a supervisor if there is one.
fn command(
    words: Vec<OsString>,
    env: &EnvOverlay,
    supervisor: Option<&Supervisor>,
    pipe: Option<RawFd>,
) -> Command {
    if let Some(supervisor) = supervisor {
        return supervisor.command(words, env, pipe);
    }
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).env_clear().envs(env.iter());
    command
}

/// Returns the words that start the launcher, if the command is confined, and what must be open meanwhile.
fn launcher(confinement: Option<&Confinement>) -> io::Result<(Vec<OsString>, Option<OwnedFd>)> {
    let launcher = confinement.map(Confinement::launcher).transpose()?;
    Ok(launcher.map_or_else(Default::default, |(words, file)| (words, Some(file))))
}

/// Starts a command with three pipes, as the leader of a session.
fn spawn(mut command: Command, cwd: &Path) -> io::Result<Box<dyn ChildWrapper>> {
    command.current_dir(cwd);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(CommandWrap::from(command).wrap(ProcessSession).spawn()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::time::Duration;

    use nix::fcntl::OFlag;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// Waits until no process holds the output any more.
    async fn closed(mut output: ChildStdout) {
        let end = output.read_u8();
        let end = tokio::time::timeout(Duration::from_secs(2), end).await.expect("still there");
        assert!(end.is_err());
    }

    #[test]
    fn path_finds_no_bash_but_the_systems() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/sh", folder.path().join("bash")).unwrap();
        let found = |path: String| bash_on_path(&EnvOverlay::from_iter([("PATH", path)]));
        let own = folder.path().display();
        assert_eq!(found(format!("{own}:.:")), None);
        let system = found(format!("{own}:/bin")).unwrap();
        assert_eq!(system, Path::new("/bin/bash"));
    }

    fn spawn_bash(line: &str) -> ProcessGroup {
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
        let (cwd, env, start) = (Path::new("/"), &env, "");
        let command = ShellCommand { line, cwd, env, start, confine: None, supervisor: None };
        ProcessGroup::spawn(command).unwrap()
    }

    fn let_go(group: &mut ProcessGroup) {
        let GroupReaper::Watchdog { pipe, .. } = &mut group.reaper else { panic!("a supervisor") };
        *pipe = None;
    }

    #[tokio::test]
    async fn what_starts_while_the_group_ends_is_killed_too() {
        let line = "trap 'sleep 1000 & exit' TERM; printf '!'; sleep 1000 & wait";
        let mut group = spawn_bash(line);
        let mut output = group.take_output().unwrap();
        assert_eq!(output.read_u8().await.unwrap(), b'!');
        group.terminate();
        group.wait().await.unwrap();
        group.kill();
        closed(output).await;
    }

    #[tokio::test]
    async fn nothing_of_the_group_is_left_when_its_end_was_waited_for() {
        for line in ["sleep 1000 & sleep 1000 &", "setsid sleep 1000 & printf '!'; wait"] {
            let mut group = spawn_bash(line);
            let mut output = group.take_output().unwrap();
            if line.contains('!') {
                assert_eq!(output.read_u8().await.unwrap(), b'!');
                group.terminate();
            }
            group.wait().await.unwrap();
            group.end(Duration::from_secs(2)).await;
            // Reading a pipe that is still open elsewhere has no end yet and returns an error.
            let mut output = std::fs::File::from(output.into_owned_fd().unwrap());
            fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
            assert_eq!(output.read(&mut [0]).expect("still there"), 0);
        }
    }

    #[tokio::test]
    async fn the_group_dies_when_nobody_holds_its_pipe() {
        let line = "trap '' TERM; sleep 1000 & printf '!'; wait";
        let mut group = spawn_bash(line);
        let mut output = group.take_output().unwrap();
        assert_eq!(output.read_u8().await.unwrap(), b'!');
        // As when this program is killed: only its pipes close.
        let_go(&mut group);
        closed(output).await;
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn sessions_of_their_own_die_too_when_nobody_holds_the_pipe() {
        let line = "setsid sh -c 'sleep 1000 & sleep 1000 & printf !; wait' & wait";
        let mut group = spawn_bash(line);
        let mut output = group.take_output().unwrap();
        assert_eq!(output.read_u8().await.unwrap(), b'!');
        let_go(&mut group);
        closed(output).await;
    }
}
