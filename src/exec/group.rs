//! One command with all that it starts, ended together.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::descendants::{self, Process};
use super::sandbox::Confinement;
use super::service::ServiceCommand;
use crate::protocol::EnvOverlay;

/// Begins with its leash at descriptor 3: a watchdog that kills the whole group as soon as that pipe closes, at the end
/// of the command, or when this program dies in whatever way. In the second case the command is still there, and the
/// watchdog also kills what stands below it in groups of its own, where `/proc` tells of them.
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

/// Starts bash with one pipe for both outputs and nothing to read, beside its watchdog. `$1` is the text that bash reads
/// first, which finds the pipe to us at descriptor 5; then comes what starts bash.
const START: &str = concat!(
    "trap '' HUP INT TERM\nexec 3<&0 </dev/null",
    watchdog!(),
    r#"exec 3<&- 4<<END 5>&2 2>&1
$1
END
shift
BASH_ENV=/dev/fd/4; export BASH_ENV
exec "$@"
"#
);

/// Starts a program with its three streams as they are, beside its watchdog. `$1` is the descriptor of the leash; then
/// comes the program.
const SERVE: &str = concat!(
    "trap '' HUP INT TERM\nexec 3</dev/fd/$1\nshift",
    watchdog!(),
    r#"exec 3<&-
exec "$@"
"#
);

/// Bash where Linux has it: the name alone could be found in a folder of the project that is on `PATH`. Elsewhere the
/// user's own is newer than the system's.
const BASH: &[&str] = if cfg!(target_os = "linux") { &["/bin/bash", "/usr/bin/bash"] } else { &[] };

/// How often it is looked whether a killed group is gone: nobody tells of the end of processes that are not our own.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A command that leads its own session and process group. Dropped before its end, it is killed with all of its group.
pub struct Group {
    child: Box<dyn ChildWrapper>,
    pid: i32,
    /// Held open while the command may run. Its end, also by a crash of ours, makes the group's watchdog kill the rest.
    leash: Option<OwnedFd>,
    /// Processes seen below the command when it was told to end, in its group or not.
    strays: Vec<Process>,
    status: Option<ExitStatus>,
}

impl Group {
    /// Starts the bash command `line`, confined if that is said. Bash reads `start` first; the environment is exactly
    /// `env`.
    pub fn spawn(
        line: &str,
        cwd: &Path,
        env: &EnvOverlay,
        start: &str,
        confine: Option<&Confinement>,
    ) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", START, "caliban", start])
            .args(confine.map(Confinement::launcher).unwrap_or_default())
            .args([
                BASH.iter().find(|bash| Path::new(bash).exists()).unwrap_or(&"bash"),
                "-c",
                line,
            ])
            .current_dir(cwd)
            .env_clear()
            .envs(env.iter())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?.into_inner();
        let leash = child.stdin().take().map(ChildStdin::into_owned_fd).transpose()?;
        Self::of(child, leash)
    }

    /// Starts a program that we speak to over its three streams, of which its input is handed out.
    pub fn serve(start: ServiceCommand<'_>) -> io::Result<(Self, ChildStdin)> {
        let (theirs, ours) = io::pipe()?;
        // Only the program's end of the leash outlives the start: whoever holds it too can but read.
        fcntl(&theirs, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SERVE, "caliban", &theirs.as_raw_fd().to_string(), start.program])
            .args(start.args)
            .current_dir(start.cwd)
            .env_clear()
            .envs(start.env.iter())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?.into_inner();
        let stdin = child.stdin().take();
        let stdin = stdin.ok_or_else(|| io::Error::other("the program has no pipes"))?;
        Ok((Self::of(child, Some(ours.into()))?, stdin))
    }

    fn of(child: Box<dyn ChildWrapper>, leash: Option<OwnedFd>) -> io::Result<Self> {
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let Some(pid) = pid else { return Err(io::Error::other("the process has no id")) };
        Ok(Self { child, pid, leash, strays: Vec::new(), status: None })
    }

    /// The command's output; only once.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// What the text at the start says to us; only once.
    pub fn take_words(&mut self) -> Option<ChildStderr> {
        self.child.stderr().take()
    }

    /// Waits for the command itself, not for what it left behind. Safe to drop at any point.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.status = Some(status);
        Ok(status)
    }

    /// Whether the command itself is known to have ended.
    fn has_ended(&self) -> bool {
        self.status.is_some()
    }

    /// Notes what stands below the command, so that its end is also the end of what has left the group, even when the
    /// command ends by itself before.
    pub fn look_below(&mut self) {
        // The number of one that was waited for may belong to somebody else.
        if !self.has_ended() {
            self.strays.extend(descendants::below([self.pid]));
        }
    }

    /// Asks all of the group to end.
    pub fn terminate(&mut self) {
        self.look_below();
        self.signal(Signal::SIGTERM);
    }

    /// Kills what is left of the group, and waits for at most `limit` until it is gone: a process that hangs in the
    /// kernel keeps the signal.
    pub async fn end(&mut self, limit: Duration) {
        self.kill();
        let gone = async {
            if !self.has_ended() {
                // It cannot be waited for: then it is gone.
                let _ = self.wait().await;
            }
            while descendants::remain(self.pid, &self.strays) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        if tokio::time::timeout(limit, gone).await.is_err() {
            tracing::warn!(group = self.pid, "killed processes are still there");
        }
    }

    /// Kills what is left of the group.
    fn kill(&mut self) {
        if self.status.is_none() || !self.strays.is_empty() {
            let running = self.status.is_none().then_some(self.pid);
            let roots = running.into_iter().chain(self.strays.iter().map(|stray| stray.pid()));
            self.strays.extend(descendants::below(roots));
        }
        self.signal(Signal::SIGKILL);
        // Not those in the group: the watchdog is one of them, and it knows also what was started since.
        descendants::kill_outside(self.pid, &self.strays);
        // The number of a command that was waited for may belong to somebody else: there only the watchdog kills.
        self.leash = None;
    }

    fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            // The group may have ended by itself.
            let _ = killpg(Pid::from_raw(self.pid), signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.leash.is_some() && self.status.is_none() {
            self.kill();
        }
    }
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

    #[tokio::test]
    async fn what_starts_while_the_group_ends_is_killed_too() {
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
        let line = "trap 'sleep 1000 & exit' TERM; printf '!'; sleep 1000 & wait";
        let mut group = Group::spawn(line, Path::new("/"), &env, "", None).unwrap();
        let mut output = group.take_output().unwrap();
        assert_eq!(output.read_u8().await.unwrap(), b'!');
        group.terminate();
        group.wait().await.unwrap();
        group.kill();
        closed(output).await;
    }

    #[tokio::test]
    async fn nothing_of_the_group_is_left_when_its_end_was_waited_for() {
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
        for line in ["sleep 1000 & sleep 1000 &", "setsid sleep 1000 & printf '!'; wait"] {
            let mut group = Group::spawn(line, Path::new("/"), &env, "", None).unwrap();
            let mut output = group.take_output().unwrap();
            if line.contains('!') {
                assert_eq!(output.read_u8().await.unwrap(), b'!');
                group.terminate();
            }
            group.wait().await.unwrap();
            group.end(Duration::from_secs(2)).await;
            // A pipe that somebody still holds has no end yet, and reading it is an error.
            let mut output = std::fs::File::from(output.into_owned_fd().unwrap());
            fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
            assert_eq!(output.read(&mut [0]).expect("still there"), 0);
        }
    }

    #[tokio::test]
    async fn the_group_dies_when_nobody_holds_its_leash() {
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
        let line = "trap '' TERM; sleep 1000 & printf '!'; wait";
        let mut group = Group::spawn(line, Path::new("/"), &env, "", None).unwrap();
        let mut output = group.take_output().unwrap();
        assert_eq!(output.read_u8().await.unwrap(), b'!');
        // As when this program is killed: nothing is done but that its pipes close.
        group.leash = None;
        closed(output).await;
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn sessions_of_their_own_die_too_when_nobody_holds_the_leash() {
        let env = EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]);
        let line = "setsid sh -c 'sleep 1000 & sleep 1000 & printf !; wait' & wait";
        let mut group = Group::spawn(line, Path::new("/"), &env, "", None).unwrap();
        let mut output = group.take_output().unwrap();
        assert_eq!(output.read_u8().await.unwrap(), b'!');
        group.leash = None;
        closed(output).await;
    }
}
