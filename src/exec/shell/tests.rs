//! Commands in a real bash.

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

use super::*;
use crate::exec::{CommandExit, RecentOutput};

struct ShellFixture {
    folder: tempfile::TempDir,
    shell: Shell,
    env: EnvOverlay,
}

impl ShellFixture {
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

    /// Returns a pipe whose reader sees the end once no process holds fd 9 of the command any more.
    fn witness(&self) -> pipe::Receiver {
        let path = self.folder.path().join("fifo");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        pipe::OpenOptions::new().open_receiver(path).unwrap()
    }
}

/// Reads the output of the command's processes until all of them are gone.
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
    let place = ShellFixture::new();
    let outcome = place.run("echo one; echo two >&2; echo three; exit 3").await;
    assert_eq!(outcome.report(), "one\ntwo\nthree\nexit code 3");
    assert_eq!(outcome.exit, CommandExit::Code(3));
    assert_eq!(place.run("true").await.report(), "(no output)");
    assert_eq!(place.run("kill -KILL $$").await.report(), "killed by SIGKILL");
}

#[tokio::test]
async fn there_is_nothing_to_read_and_no_terminal() {
    let place = ShellFixture::new();
    assert_eq!(place.run("cat; (: </dev/tty) 2>/dev/null || echo none").await.report(), "none");
}

#[tokio::test]
async fn the_directory_is_kept_and_leaves_no_trace() {
    let place = ShellFixture::new();
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
    let place = ShellFixture::new();
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
    let place = ShellFixture::new();
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
    let mut place = ShellFixture::new();
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
async fn no_program_gets_a_variable_that_a_line_sets_for_itself() {
    let mut place = ShellFixture::new();
    std::fs::write(place.base().join("start"), "export x=start word=start; set -a\n").unwrap();
    place.env = place.env.with([("dir", "out"), ("x", "out"), ("other", "out")]);
    for env in [place.env.clone(), place.env.with([("BASH_ENV", place.base().join("start"))])] {
        place.env = env;
        let line = "dir=in; x=in; word=in; item=in; for name in in; do env; done";
        let seen = place.run(&format!("{line} | grep -E '^(dir|x|word|item|name|other)='")).await;
        assert_eq!(seen.report(), "other=out");
        let own = place.run("echo ${dir-none} ${x-none} ${word-none} ${other-none}").await;
        assert_eq!(own.report(), "none none none out");
    }
}

#[tokio::test]
async fn bash_starts_as_the_gate_assumes_whatever_the_users_start_file_sets() {
    let mut place = ShellFixture::new();
    let start = place.base().join("start");
    let text =
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=me MARK=1\n";
    std::fs::write(&start, text).unwrap();
    // Bash reads `.bashrc` in place of any other file where it takes itself for a login shell.
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
    let read_only =
        ReadOnly { folders: [place.base()].into(), uses_git: false, ..ReadOnly::default() };
    let cancel = CancellationToken::new();
    let call = ShellCall {
        read_only: Some(&read_only),
        ..place.call("echo ${MARK-none} ${BASH_ENV-none}", &cancel)
    };
    assert_eq!(place.shell.run(call, |_| {}).await.unwrap().report(), "none none");
}

/// Git writes a text that it has converted to a reference of its own, which would start a hook.
#[tokio::test]
async fn git_starts_no_hook_in_a_command_that_only_reads() {
    let mut place = ShellFixture::new();
    place.env = place.env.with([("HOME", place.base().into_os_string())]);
    let settings = "[user]\n\tname = a\n\temail = a@example.org\n\
        [diff \"hex\"]\n\ttextconv = od -c\n\tcachetextconv = true\n";
    std::fs::write(place.base().join(".gitconfig"), settings).unwrap();
    let made = place
        .run(
            "git init -q . && echo '*.bin diff=hex' > .gitattributes && echo x > a.bin \
            && git add a.bin .gitattributes && git commit -qm one && mkdir -p .git/hooks \
            && printf '#!/bin/sh\necho ran >> \"$HOME/ran\"\n' > .git/hooks/reference-transaction \
            && chmod +x .git/hooks/reference-transaction",
        )
        .await;
    assert_eq!(made.exit, CommandExit::Code(0), "{}", made.report());
    let read_only =
        ReadOnly { folders: [place.base()].into(), uses_git: true, ..ReadOnly::default() };
    let cancel = CancellationToken::new();
    let call = ShellCall { read_only: Some(&read_only), ..place.call("git show", &cancel) };
    let shown = place.shell.run(call, |_| {}).await.unwrap().report();
    assert!(shown.contains("0000000"), "{shown}");
    assert!(!place.base().join("ran").exists());
    // Without bounds, the hook runs: the test would see it.
    place.run("git update-ref refs/notes/textconv/hex HEAD").await;
    assert!(place.base().join("ran").exists());
}

#[tokio::test]
async fn the_environment_is_the_given_one_without_secrets() {
    let mut place = ShellFixture::new();
    place.env = place.env.with([("OPENAI_API_KEY", "k"), ("SECRET", "s"), ("MINE", "m")]);
    let names = place.run("env | cut -d= -f1 | sort").await;
    let allowed = ["CALIBAN_DEPTH", "MINE", "OLDPWD", "PATH", "PWD", "SHLVL", "_"];
    let is_allowed = |name: &str| allowed.contains(&name) || name.starts_with("GIT_");
    assert!(names.output.text.lines().all(is_allowed), "{names:?}");
    assert_eq!(place.run("echo $MINE $CALIBAN_DEPTH").await.report(), "m 1");
}

#[tokio::test]
async fn a_background_process_neither_holds_the_call_nor_outlives_it() {
    let place = ShellFixture::new();
    let witness = place.witness();
    let outcome = place.run("exec 9>fifo; sleep 1000 & echo started").await;
    assert_eq!(outcome.report(), "started");
    assert!(outcome.took < Duration::from_secs(10));
    all_gone(witness).await;
}

#[tokio::test]
async fn a_cancel_ends_nested_processes_also_with_a_session_of_their_own() {
    let place = ShellFixture::new();
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
    assert_eq!(outcome.exit, CommandExit::Cancelled);
    assert!(outcome.report().starts_with("partial\n[cancelled after"), "{outcome:?}");
    all_gone(witness).await;
}

#[tokio::test]
async fn a_timeout_keeps_the_last_words_of_the_command() {
    let place = ShellFixture::new();
    let limit = Some(Duration::from_millis(1500));
    let line = "trap 'echo bye; exit' TERM; echo hi; sleep 1000 & wait";
    let outcome = place.run_with(line, limit, &CancellationToken::new()).await;
    assert_eq!(outcome.report(), "hi\nbye\n[timed out after 1.5 s, all its processes ended]");
}

#[tokio::test]
async fn dropping_the_run_kills_the_group() {
    let place = ShellFixture::new();
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
    let place = ShellFixture::new();
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
    let place = ShellFixture::new();
    let mut witness = place.witness();
    let cancel = CancellationToken::new();
    let line = "exec 9>fifo; sleep 1000 & printf '!' >&9; wait";
    let call = place.call(line, &cancel);
    let shell = place.shell.start(&place.base(), call, |_, _| {}).unwrap();
    ready(&mut witness).await;
    assert_eq!(shell.state(), ShellState::Running);
    drop(shell);
    all_gone(witness).await;
}

#[tokio::test]
async fn the_end_of_what_a_command_in_the_background_prints_can_be_read_as_it_comes() {
    let place = ShellFixture::new();
    let cancel = CancellationToken::new();
    let line = "mkfifo next; printf 'one\\n'; read -r _ < next; printf 'two\\n'; exit 3";
    let (ended, is_ended) = std::sync::mpsc::channel();
    let tell = move |state, recent: RecentOutput| {
        let _ = ended.send((state, recent.masked(|text| text)));
    };
    let shell = place.shell.start(&place.base(), place.call(line, &cancel), tell).unwrap();
    let first = shell.recent_after(0).await;
    assert_eq!((&*first.clone().masked(|text| text), first.total), ("one\n", 4));
    // What an agent has read stays for the user.
    assert_eq!(shell.unread().0.text, "one\n");
    let next = place.base().join("next");
    let writer = tokio::task::spawn_blocking(move || std::fs::write(next, "go\n"));
    let second = shell.recent_after(first.total).await;
    writer.await.unwrap().unwrap();
    assert_eq!((&*second.clone().masked(|text| text), second.total), ("one\ntwo\n", 8));
    let end = shell.wait_end().await;
    assert_eq!(shell.recent_after(second.total).await, second, "nothing more comes");
    let told: Vec<_> = is_ended.try_iter().collect();
    assert_eq!(told, [(ShellState::Running, String::new()), (end, "one\ntwo\n".to_owned())]);
}

#[tokio::test]
async fn endless_output_is_cut_and_shown_in_bounded_pieces() {
    let place = ShellFixture::new();
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
