//! A shell that remembers its directory from command to command.
//!
//! Where a command starts is decided before it is judged, by [`Shell::start_directory`], and the
//! command starts there or not at all: the directory is entered without following a link.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::background::{BackgroundShell, Started};
use super::directory;
use super::env::child_env;
use super::follow::{Leave, follow};
use super::group::{Group, ShellCommand};
use super::outcome::{ShellOutcome, ShellState};
use super::pump::Pump;
use super::sandbox::{Confinement, Sandbox};
use super::supervisor::Supervisor;
use crate::disk::{Folder, resolve};
use crate::protocol::{EnvOverlay, ReadOnly};

/// Runs commands, each in the directory where the one before ended. One per agent, and one for the person.
#[derive(Debug)]
pub struct Shell {
    base: Arc<Path>,
    secrets: Arc<[String]>,
    state: Mutex<State>,
    confine: Option<Confinement>,
    /// Confines commands that only read.
    sandbox: Option<Sandbox>,
    supervisor: Option<Supervisor>,
}

/// Where a shell is.
#[derive(Debug)]
struct State {
    cwd: PathBuf,
    /// The directory that it was in and that is gone, until a command has told of it.
    lost: Option<PathBuf>,
    /// Which of the commands that started together has moved it.
    moved_by: Option<usize>,
}

/// Variables by which bash does not read the text that we start it with, or starts in another way.
const BASH_MODES: [&str; 3] = ["BASHOPTS", "POSIXLY_CORRECT", "SHELLOPTS"];

/// How deep bash is in other shells. The first one below a login over ssh may read other files at its start.
const SHELL_LEVEL: &str = "1";

/// Variables that name files of the user's which programs read at their start. What a command that
/// only reads is judged by does not depend on them.
const START_FILES: [&str; 2] = ["BASH_ENV", "RIPGREP_CONFIG_PATH"];

/// Where a command starts.
#[derive(Clone, Copy, Debug)]
pub struct ShellStart<'a> {
    /// Absolute, without links.
    pub directory: &'a Path,
    /// Its place among the commands that start together: of those that change the directory, the
    /// last one counts, whichever ends last.
    pub order: usize,
}

/// One command.
#[derive(Clone, Copy, Debug)]
pub struct ShellCall<'a> {
    pub line: &'a str,
    /// The caller's environment; keys of providers are taken out of it.
    pub env: &'a EnvOverlay,
    /// Hops of the calling agent below the main agent.
    pub depth: u32,
    /// How long it may take.
    pub limit: Option<Duration>,
    pub cancel: &'a CancellationToken,
    /// The bounds of a command that nobody has allowed but for reading, kept where the system can
    /// see to that.
    pub read_only: Option<&'a ReadOnly>,
}

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("The directory {} is gone. Create it again, or start elsewhere.", .0.display())]
    NoDirectory(PathBuf),
    #[error("Cannot start in {}: {source}.", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("Cannot start the shell: {0}. Is /bin/sh there, and the command shorter than 128 KB?")]
    Spawn(io::Error),
    #[error("Lost track of the shell: {0}. Its processes were killed.")]
    Wait(io::Error),
}

impl ShellCall<'_> {
    fn leave(&self) -> Leave {
        Leave { began: Instant::now(), limit: self.limit, cancel: self.cancel.clone() }
    }
}

impl Shell {
    /// A shell that begins in `base`. `secrets` are names of variables that commands must not see.
    #[must_use]
    pub fn new(base: Arc<Path>, secrets: Arc<[String]>) -> Self {
        let state = State { cwd: base.to_path_buf(), lost: None, moved_by: None };
        Self {
            base,
            secrets,
            state: Mutex::new(state),
            confine: None,
            sandbox: None,
            supervisor: None,
        }
    }

    /// This shell, in which commands that only read can do nothing else, if there is a sandbox.
    #[must_use]
    pub fn with_sandbox(self, sandbox: Option<&Sandbox>) -> Self {
        Self { sandbox: sandbox.cloned(), ..self }
    }

    /// This shell, able to write only there.
    #[must_use]
    pub fn confined(self, confine: Confinement) -> Self {
        Self { confine: Some(confine), ..self }
    }

    /// This shell, whose commands leave nothing behind: each runs below such a supervisor, if there is one.
    #[must_use]
    pub fn supervised(self, supervisor: Option<Supervisor>) -> Self {
        Self { supervisor, ..self }
    }

    /// Where the next command will run.
    #[must_use]
    pub fn cwd(&self) -> PathBuf {
        self.lock().cwd.clone()
    }

    /// Where the next commands start: the present directory, or the base when that one is gone or
    /// has become a link. Ask for all commands that run at the same time before the first of them
    /// starts.
    #[must_use]
    pub fn start_directory(&self) -> PathBuf {
        let mut state = self.lock();
        state.moved_by = None;
        let stays = state.cwd.is_dir() && resolve(&state.cwd).as_deref() == Some(&state.cwd);
        if !stays && *state.cwd != *self.base {
            let lost = std::mem::replace(&mut state.cwd, self.base.to_path_buf());
            state.lost = Some(lost);
        }
        state.cwd.clone()
    }

    /// Runs one command to its end, where the one before ended. `show` gets the output while it
    /// comes, clean of terminal sequences.
    ///
    /// Whatever the command leaves running in its group ends with it. When the future is dropped,
    /// all is killed.
    pub async fn run(
        &self,
        call: ShellCall<'_>,
        show: impl FnMut(String) + Send,
    ) -> Result<ShellOutcome, ExecError> {
        let directory = self.start_directory();
        self.run_at(ShellStart { directory: &directory, order: 0 }, call, show).await
    }

    /// Runs one command to its end, as [`Shell::run`] does, from a given start.
    pub async fn run_at(
        &self,
        start: ShellStart<'_>,
        call: ShellCall<'_>,
        show: impl FnMut(String) + Send,
    ) -> Result<ShellOutcome, ExecError> {
        let leave = call.leave();
        let Started { mut group, cwd, lost } = self.spawn(&call, start.directory)?;
        let words = group.take_words();
        let mut pump = Pump::new(group.take_output(), show);
        let exit = follow(&mut group, &mut pump, &leave).await?;
        // What runs in the command could say any folder.
        let may_stand = |end: &PathBuf| {
            let bounds = call.read_only.map(|bounds| &bounds.folders);
            bounds.is_none_or(|folders| folders.iter().any(|folder| end.starts_with(folder)))
        };
        if let Some(end) = words.and_then(directory::ended_in).filter(may_stand)
            && end != cwd
        {
            self.move_to(end, start.order);
        }
        let output = pump.finish();
        Ok(ShellOutcome { exit, output, cwd: self.cwd(), took: leave.began.elapsed(), lost })
    }

    /// Starts one command in the background, in a given directory. It does not change the shell's
    /// own. `tell` gets [`ShellState::Running`] first and how it ended last. Must be called within
    /// a runtime.
    pub fn start(
        &self,
        directory: &Path,
        call: ShellCall<'_>,
        tell: impl FnMut(ShellState) + Send + 'static,
    ) -> Result<BackgroundShell, ExecError> {
        let leave = call.leave();
        Ok(BackgroundShell::follow(self.spawn(&call, directory)?, leave, tell))
    }

    fn spawn(&self, call: &ShellCall<'_>, cwd: &Path) -> Result<Started, ExecError> {
        // Held until the shell has started, so that it starts in this very folder.
        let folder = Folder::open(cwd).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ExecError::NoDirectory(cwd.to_owned()),
            _ => ExecError::Directory { path: cwd.to_owned(), source },
        })?;
        let read_only = self.sandbox.as_ref().zip(call.read_only);
        let read_only = read_only.map(|(sandbox, bounds)| sandbox.read_only(bounds.clone()));
        let confine = read_only.as_ref().or(self.confine.as_ref());
        let mut env = child_env(call.env, call.depth, &self.secrets).without(BASH_MODES);
        if call.read_only.is_some() {
            env = env.without(START_FILES);
        }
        let env = confine.map_or_else(|| env.clone(), |confine| confine.env(&env));
        // The shell takes this name for where it is, and no other that the user's own shell had.
        let env = env.with([("PWD", cwd.as_os_str()), ("SHLVL", OsStr::new(SHELL_LEVEL))]);
        let start = directory::start_text(&env);
        let command = ShellCommand {
            line: call.line,
            cwd: &folder.path(),
            env: &env,
            start: &start,
            confine,
            supervisor: self.supervisor.as_ref(),
        };
        let group = Group::spawn(command).map_err(ExecError::Spawn)?;
        Ok(Started { group, cwd: cwd.to_owned(), lost: self.take_lost(cwd) })
    }

    /// The directory that is gone, for the first command that starts in the base instead.
    fn take_lost(&self, cwd: &Path) -> Option<PathBuf> {
        if cwd == &*self.base { self.lock().lost.take() } else { None }
    }

    fn move_to(&self, end: PathBuf, order: usize) {
        let mut state = self.lock();
        if state.moved_by.is_none_or(|by| by <= order) {
            state.cwd = end;
            state.moved_by = Some(order);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::unix::pipe;

    use super::*;
    use crate::exec::Exit;

    struct Place {
        folder: tempfile::TempDir,
        shell: Shell,
        env: EnvOverlay,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let base = folder.path().canonicalize().unwrap();
            let shell = Shell::new(base.into(), Arc::from(["SECRET".to_owned()]));
            let env = EnvOverlay::from_iter([("PATH", "/usr/local/bin:/usr/bin:/bin")]);
            Self { folder, shell, env }
        }

        fn base(&self) -> PathBuf {
            self.folder.path().canonicalize().unwrap()
        }

        fn call<'a>(&'a self, line: &'a str, cancel: &'a CancellationToken) -> ShellCall<'a> {
            ShellCall { line, env: &self.env, depth: 0, limit: None, cancel, read_only: None }
        }

        async fn run(&self, line: &str) -> ShellOutcome {
            self.run_with(line, None, &CancellationToken::new()).await
        }

        async fn run_with(
            &self,
            line: &str,
            limit: Option<Duration>,
            cancel: &CancellationToken,
        ) -> ShellOutcome {
            let call = ShellCall { limit, ..self.call(line, cancel) };
            self.shell.run(call, |_| {}).await.unwrap()
        }

        /// A pipe whose reader sees the end once no process holds fd 9 of the command any more.
        fn witness(&self) -> pipe::Receiver {
            let path = self.folder.path().join("fifo");
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
            pipe::OpenOptions::new().open_receiver(path).unwrap()
        }
    }

    /// Reads what the command's processes say, up to the moment when all of them are gone.
    async fn all_gone(mut witness: pipe::Receiver) -> String {
        let mut said = String::new();
        let read = witness.read_to_string(&mut said);
        tokio::time::timeout(Duration::from_secs(2), read).await.expect("processes left").unwrap();
        said
    }

    async fn ready(witness: &mut pipe::Receiver) {
        witness.readable().await.unwrap();
        assert_eq!(witness.read_u8().await.unwrap(), b'!');
    }

    #[tokio::test]
    async fn both_outputs_come_in_order_and_the_exit_code_is_told() {
        let place = Place::new();
        let outcome = place.run("echo one; echo two >&2; echo three; exit 3").await;
        assert_eq!(outcome.report(), "one\ntwo\nthree\nexit code 3");
        assert_eq!(outcome.exit, Exit::Code(3));
        assert_eq!(place.run("true").await.report(), "(no output)");
        assert_eq!(place.run("kill -KILL $$").await.report(), "ended by SIGKILL");
    }

    #[tokio::test]
    async fn there_is_nothing_to_read_and_no_terminal() {
        let place = Place::new();
        assert_eq!(place.run("cat; (: </dev/tty) 2>/dev/null || echo none").await.report(), "none");
    }

    #[tokio::test]
    async fn the_directory_is_kept_and_leaves_no_trace() {
        let place = Place::new();
        let base = place.base();
        place.run("mkdir -p 'a b'/c && cd 'a b'").await;
        assert_eq!(place.shell.cwd(), base.join("a b"));
        assert_eq!(place.run("set -eux; cd c; exit 0").await.report(), "+ cd c\n+ exit 0");
        assert_eq!(place.shell.cwd(), base.join("a b/c"));
        assert_eq!(place.run("set -C; cd ..; false").await.report(), "exit code 1");
        assert_eq!(place.shell.cwd(), base.join("a b"));
        place.run("(cd c)").await;
        assert_eq!(place.shell.cwd(), base.join("a b"));
        let inside = place.run("echo $# \"${BASH_ENV-unset}\"; bash -c 'trap -p EXIT'").await;
        assert_eq!(inside.report(), "0 unset");
    }

    #[tokio::test]
    async fn a_directory_that_is_gone_falls_back_to_the_base() {
        let place = Place::new();
        place.run("mkdir a; cd a; rmdir ../a").await;
        assert_eq!(place.shell.cwd(), place.base());
        place.run("mkdir b; cd b").await;
        std::fs::remove_dir(place.base().join("b")).unwrap();
        let outcome = place.run("pwd").await;
        assert_eq!(outcome.lost, Some(place.base().join("b")));
        let base = place.base();
        let expected = format!(
            "{}\n[{} is gone; this ran in the base directory]",
            base.display(),
            base.join("b").display()
        );
        assert_eq!(outcome.report(), expected);
    }

    #[tokio::test]
    async fn a_directory_that_was_given_is_the_one_or_nothing_runs() {
        let place = Place::new();
        let base = place.base();
        place.run("mkdir -p a b outside; ln -s outside link").await;
        let cancel = CancellationToken::new();
        let run = async |directory: &Path, order: usize, line: &str| {
            let call = place.call(line, &cancel);
            place.shell.run_at(ShellStart { directory, order }, call, |_| {}).await
        };
        let gone = run(&base.join("gone"), 0, "touch ran").await.unwrap_err().to_string();
        assert!(gone.contains("is gone"), "{gone}");
        let link = run(&base.join("link"), 0, "touch ran").await.unwrap_err().to_string();
        assert!(link.contains("symbolic link"), "{link}");
        assert!(!base.join("ran").exists() && !base.join("outside/ran").exists());
        // Of those that start together the last one counts, whichever ends last.
        run(&base, 1, "cd b").await.unwrap();
        run(&base, 0, "cd a").await.unwrap();
        assert_eq!(place.shell.cwd(), base.join("b"));
        assert_eq!(place.shell.start_directory(), base.join("b"));
        run(&base, 0, "cd a").await.unwrap();
        assert_eq!(place.shell.cwd(), base.join("a"));
    }

    #[tokio::test]
    async fn cd_goes_where_its_argument_says() {
        let mut place = Place::new();
        let base = place.base();
        place.run("mkdir -p a/deep/er own other/own; ln -s a/deep/er link").await;
        let other = base.join("other").display().to_string();
        std::fs::write(base.join("start"), format!("CDPATH={other}; cd {other}\n")).unwrap();
        place.env = place.env.with([
            ("CDPATH", other.clone()),
            ("OLDPWD", other),
            ("PWD", base.join("link/..").display().to_string()),
            ("BASHOPTS", "cdable_vars".to_owned()),
            ("nowhere", "/".to_owned()),
        ]);
        for env in [place.env.clone(), place.env.with([("BASH_ENV", base.join("start"))])] {
            place.env = env;
            assert_eq!(place.run("pwd").await.report(), base.to_str().unwrap());
            let own = place.run("(cd own && pwd)").await.report();
            assert_eq!(own, base.join("own").to_str().unwrap());
            let up = place.run("(cd link/.. && pwd)").await.report();
            assert_eq!(up, base.join("a/deep").to_str().unwrap());
            let missing = place.run("(cd nowhere) 2>/dev/null || echo none").await.report();
            assert_eq!(missing, "none");
            assert_eq!(
                place.run("echo $# ${CDPATH-unset} ${CALIBAN_START-unset}").await.report(),
                "0 unset unset"
            );
        }
    }

    #[tokio::test]
    async fn bash_starts_as_the_gate_assumes_whatever_the_users_start_file_sets() {
        let mut place = Place::new();
        let start = place.base().join("start");
        let text =
            "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=me MARK=1\n";
        std::fs::write(&start, text).unwrap();
        // Bash reads `.bashrc` in place of any other file where it takes itself for the shell of a login.
        std::fs::write(place.base().join(".bashrc"), "export MARK=2\n").unwrap();
        place.env = place.env.with([
            ("BASH_ENV", start.into_os_string()),
            ("HOME", place.base().into_os_string()),
            ("SSH_CLIENT", "127.0.0.1 1 2".into()),
            ("SHLVL", "0".into()),
            ("POSIXLY_CORRECT", "1".into()),
            ("SHELLOPTS", "posix".into()),
        ]);
        let line = "echo $MARK; git config user.name; git config core.fsmonitor";
        assert_eq!(place.run(line).await.report(), "1\nme\nfalse");
        // A command that only reads does without.
        let read_only = ReadOnly { folders: [place.base()].into(), uses_git: false };
        let cancel = CancellationToken::new();
        let call = ShellCall {
            read_only: Some(&read_only),
            ..place.call("echo ${MARK-none} ${BASH_ENV-none}", &cancel)
        };
        assert_eq!(place.shell.run(call, |_| {}).await.unwrap().report(), "none none");
    }

    #[tokio::test]
    async fn the_environment_is_the_given_one_without_secrets() {
        let mut place = Place::new();
        place.env = place.env.with([("OPENAI_API_KEY", "k"), ("SECRET", "s"), ("MINE", "m")]);
        let names = place.run("env | cut -d= -f1 | sort").await;
        let allowed = ["CALIBAN_DEPTH", "MINE", "OLDPWD", "PATH", "PWD", "SHLVL", "_"];
        let is_allowed = |name: &str| allowed.contains(&name) || name.starts_with("GIT_");
        assert!(names.output.text.lines().all(is_allowed), "{names:?}");
        assert_eq!(place.run("echo $MINE $CALIBAN_DEPTH").await.report(), "m 1");
    }

    #[tokio::test]
    async fn a_background_process_neither_holds_the_call_nor_outlives_it() {
        let place = Place::new();
        let witness = place.witness();
        let outcome = place.run("exec 9>fifo; sleep 1000 & echo started").await;
        assert_eq!(outcome.report(), "started");
        assert!(outcome.took < Duration::from_secs(10));
        all_gone(witness).await;
    }

    #[tokio::test]
    async fn a_cancel_ends_nested_processes_also_with_a_session_of_their_own() {
        let place = Place::new();
        let mut witness = place.witness();
        let cancel = CancellationToken::new();
        let line = "exec 9>fifo; echo partial; (trap '' TERM; sleep 1000 & sleep 1000) & \
                    setsid sleep 1000 & printf '!' >&9; wait";
        let stop = async {
            ready(&mut witness).await;
            cancel.cancel();
            Instant::now()
        };
        let (outcome, cancelled) = tokio::join!(place.run_with(line, None, &cancel), stop);
        assert!(cancelled.elapsed() < Duration::from_secs(2));
        assert_eq!(outcome.exit, Exit::Cancelled);
        assert!(outcome.report().starts_with("partial\n[cancelled after"), "{outcome:?}");
        all_gone(witness).await;
    }

    #[tokio::test]
    async fn a_timeout_keeps_the_last_words_of_the_command() {
        let place = Place::new();
        let limit = Some(Duration::from_millis(1500));
        let line = "trap 'echo bye; exit' TERM; echo hi; sleep 1000 & wait";
        let outcome = place.run_with(line, limit, &CancellationToken::new()).await;
        assert_eq!(outcome.report(), "hi\nbye\n[timed out after 1.5s, all its processes ended]");
    }

    #[tokio::test]
    async fn dropping_the_run_kills_the_group() {
        let place = Place::new();
        let mut witness = place.witness();
        let cancel = CancellationToken::new();
        tokio::select! {
            outcome = place.run_with("exec 9>fifo; sleep 1000 & printf '!' >&9; wait", None, &cancel) => {
                panic!("{outcome:?}");
            }
            () = ready(&mut witness) => {}
        }
        all_gone(witness).await;
    }

    #[tokio::test]
    async fn a_process_that_has_left_the_group_does_not_hold_the_call() {
        let place = Place::new();
        place.witness();
        let line = "mkfifo up; setsid sh -c 'echo > up; exec cat fifo' & read -r _ < up; \
                    mkdir a; cd a; echo $!";
        let outcome = place.run(line).await;
        assert_eq!(place.shell.cwd(), place.base().join("a"));
        let pid: i32 = outcome.report().parse().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL)
            .unwrap();
    }

    #[tokio::test]
    async fn a_background_command_goes_on_until_it_is_dropped() {
        let place = Place::new();
        let mut witness = place.witness();
        let cancel = CancellationToken::new();
        let line = "exec 9>fifo; sleep 1000 & printf '!' >&9; wait";
        let call = place.call(line, &cancel);
        let shell = place.shell.start(&place.base(), call, |_| {}).unwrap();
        ready(&mut witness).await;
        assert_eq!(shell.state(), ShellState::Running);
        drop(shell);
        all_gone(witness).await;
    }

    #[tokio::test]
    async fn endless_output_is_cut_and_shown_in_bounded_pieces() {
        let place = Place::new();
        let (mut longest, mut last) = (0, String::new());
        let cancel = CancellationToken::new();
        let line = "head -c 3000000 /dev/zero | tr '\\0' 'x'; echo; echo end";
        let call = place.call(line, &cancel);
        let show = |text: String| {
            longest = longest.max(text.len());
            last = text;
        };
        let outcome = place.shell.run(call, show).await.unwrap();
        assert_eq!(outcome.output.left_out.chars, 3_000_005 - 30_000);
        assert!(outcome.report().ends_with("xxx\nend"));
        assert!(longest <= 64 * 1024, "{longest}");
        assert!(last.ends_with("end\n"));
    }
}
