//! Agents in worktrees of their own, over the parts that the product is made of: git, the shell,
//! and the real binary as the launcher that confines it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use caliban::disk::ProjectFolders;
use caliban::exec::{
    BlockingPools, CommandExit, Sandbox, Shell, ShellCall, ShellOutcome, ShellReach,
};
use caliban::protocol::{AgentId, EnvOverlay};
use caliban::subagent::worktree::{NewWorktree, Worktree, WorktreeOutcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::process::Fifo;
use crate::support::scene::{PARENT, Scene, agent};
use crate::support::script::{dynamic, text, tool_use};
use crate::support::skip;

mod creation;
mod launcher;
mod merging;

const PROGRAM: &str = env!("CARGO_BIN_EXE_caliban");

/// A repository, a worktree made from it, and the shell that the agent in there gets.
struct Place {
    _folder: tempfile::TempDir,
    base: PathBuf,
    main: PathBuf,
    tree: Worktree,
    shell: Shell,
    env: EnvOverlay,
}

/// A repository of which worktrees are made.
struct Source {
    folder: tempfile::TempDir,
    base: PathBuf,
    main: PathBuf,
    env: EnvOverlay,
    sandbox: Sandbox,
}

impl Source {
    /// `None`, said aloud, where the kernel cannot confine.
    fn new(test: &str) -> Option<Self> {
        let Some(sandbox) = Sandbox::new(Path::new(PROGRAM)) else {
            skip(test, "this kernel has no Landlock, or an old one");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let main = base.join("main");
        for folder in ["main/src", "home", "elsewhere"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(main.join("src/a.txt"), "one\n").unwrap();
        std::fs::write(base.join("elsewhere/file"), "outside\n").unwrap();
        let author = "[user]\nname = A\nemail = a@example.com\n";
        std::fs::write(base.join("home/.gitconfig"), author).unwrap();
        let path = std::env::var("PATH").unwrap();
        let env = EnvOverlay::from_iter([
            ("PATH", OsString::from(path)),
            ("HOME", base.join("home").into()),
            // As when the program was started by a hook of the main checkout.
            ("GIT_DIR", main.join(".git").into()),
            ("GIT_INDEX_FILE", main.join(".git/index").into()),
        ]);
        for words in ["init -q -b main", "add -A", "commit -qm first", "branch other"] {
            let mut git = Command::new("git");
            git.args(words.split(' ')).current_dir(&main).env("HOME", base.join("home"));
            assert!(git.status().unwrap().success(), "git {words}");
        }
        Some(Self { folder, base, main, env, sandbox })
    }

    /// The same with a filter in the user's settings, which holds for `*.txt`, and more files in
    /// the repository.
    fn with_filter(test: &str, clean: &str, smudge: &str, files: &[(&str, &str)]) -> Option<Self> {
        let source = Self::new(test)?;
        for (name, text) in [(".gitattributes", "*.txt filter=f\n")].iter().chain(files) {
            std::fs::write(source.main.join(name), text).unwrap();
        }
        for words in ["add -A", "commit -qm second"] {
            let mut git = Command::new("git");
            git.args(words.split(' ')).current_dir(&source.main);
            assert!(git.env("HOME", source.base.join("home")).status().unwrap().success());
        }
        source.set_filter(clean, smudge);
        Some(source)
    }

    /// Adds the filter to the user's settings.
    fn set_filter(&self, clean: &str, smudge: &str) {
        let settings = self.base.join("home/.gitconfig");
        let text = std::fs::read_to_string(&settings).unwrap();
        let filter =
            format!("[filter \"f\"]\nclean = {clean}\nsmudge = {smudge}\nrequired = true\n");
        std::fs::write(settings, format!("{text}{filter}")).unwrap();
    }

    fn wish(&self) -> NewWorktree {
        NewWorktree {
            cwd: self.main.clone(),
            project: ProjectFolders::default(),
            root: self.base.join("worktrees"),
            name: "child".to_owned(),
            id: AgentId::generate(),
            env: self.env.clone(),
            secrets: ["MY_KEY".to_owned()].into(),
            sandbox: Some(self.sandbox.clone()),
            pool: BlockingPools::default().git,
            stop: CancellationToken::new(),
        }
    }

    /// How many worktrees git knows, and how many entries their folder has.
    fn left(&self) -> (usize, usize) {
        let count = |folder: &Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
        (count(&self.main.join(".git/worktrees")), count(&self.base.join("worktrees")))
    }
}

impl Place {
    /// `None`, said aloud, where the kernel cannot confine.
    async fn new(test: &str) -> Option<Self> {
        let source = Source::new(test)?;
        let tree = Worktree::create(source.wish()).await.unwrap();
        let Source { folder, base, main, env, .. } = source;
        let ShellReach::Confined(confine) = tree.shell() else { panic!("{:?}", tree.shell()) };
        let shell = Shell::new(tree.cwd().into(), [].into()).confined(confine);
        Some(Self { _folder: folder, base, main, tree, shell, env })
    }

    async fn run(&self, line: &str) -> ShellOutcome {
        self.run_until(line, None, &CancellationToken::new()).await
    }

    async fn run_until(
        &self,
        line: &str,
        limit: Option<Duration>,
        cancel: &CancellationToken,
    ) -> ShellOutcome {
        let names = self.env.with([
            ("MAIN", self.main.as_os_str()),
            ("BASE", self.base.as_os_str()),
            ("TREE", self.tree.path().as_os_str()),
        ]);
        let call = ShellCall { line, env: &names, depth: 1, limit, cancel, read_only: None };
        self.shell.run(call, |_| {}).await.unwrap()
    }

    /// The output of a command that works.
    async fn says(&self, line: &str) -> String {
        let outcome = self.run(line).await;
        assert_eq!(outcome.exit, CommandExit::Code(0), "{line}: {}", outcome.report());
        outcome.output.text
    }

    /// All that lies outside the worktree and is not for its commits: name and content of each file.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let shared = ["objects", "refs/heads/caliban", "logs/refs/heads/caliban"];
        let own = Path::new("worktrees").join(self.tree.path().file_name().unwrap());
        let mut ours: Vec<_> = shared.map(|path| self.main.join(".git").join(path)).into();
        ours.push(self.main.join(".git").join(own));
        ours.push(self.base.join("worktrees"));
        let mut found = BTreeMap::new();
        let mut folders = vec![self.base.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    folders.extend((!ours.contains(&path)).then_some(path));
                } else {
                    let content = std::fs::read(&path).unwrap_or_default();
                    found.insert(path, content);
                }
            }
        }
        found
    }
}

#[tokio::test]
async fn no_command_leaves_the_worktree() {
    let Some(place) = Place::new("no_command_leaves_the_worktree").await else { return };
    let before = place.outside();
    assert!(before.contains_key(&place.main.join(".git/index")), "{:?}", before.keys());
    place.says("echo changed > src/a.txt; git add -A; echo again >> src/a.txt").await;
    for escape in [
        // Plain writing, by every name of the place.
        "echo x > $MAIN/src/a.txt",
        "echo x >> ../../main/src/a.txt",
        "cd $MAIN && rm src/a.txt",
        "cd $MAIN && echo x > new.txt",
        "mkdir $MAIN/new",
        "mv $MAIN/src/a.txt $MAIN/src/b.txt",
        "ln -s $MAIN/src out && echo x > out/a.txt",
        "ln $MAIN/src/a.txt hard && echo x > hard",
        "truncate -s 0 $MAIN/src/a.txt",
        "perl -e 'truncate($ENV{MAIN}.\"/src/a.txt\", 0) or exit 9'",
        "cp src/a.txt $BASE/elsewhere/file",
        "echo x > /proc/self/root$MAIN/src/a.txt",
        "mv src/a.txt $BASE/elsewhere/",
        "sed -i s/one/two/ $MAIN/src/a.txt",
        "echo x > $HOME/.bashrc",
        "echo x > /tmp/caliban-escape-$$",
        "rm -rf $TREE/../../elsewhere",
        // Git, told to work elsewhere.
        "git -C $MAIN commit -qam escaped",
        "git -C $MAIN add -A --force",
        "git --git-dir=$MAIN/.git --work-tree=. commit -qam escaped",
        "git --work-tree=$MAIN checkout -f HEAD~0 -- src/a.txt",
        "GIT_DIR=$MAIN/.git git commit -qam escaped",
        "GIT_WORK_TREE=$MAIN git reset -q --hard",
        "git -C $MAIN reset -q --hard HEAD",
        "git -C $MAIN checkout -q other",
        "git branch -f other caliban",
        "git branch -D other",
        "git update-ref refs/heads/main HEAD",
        "git push -q $MAIN HEAD:refs/heads/pushed",
        "git config core.hooksPath /tmp",
        "git config --global alias.x y",
        "git -C $MAIN worktree add $BASE/elsewhere/tree",
        "git worktree add $BASE/elsewhere/tree",
        "git stash",
        "git tag escaped",
        "printf '#!/bin/sh\\n' > $MAIN/.git/hooks/post-checkout",
        // Another process, another session, another user's rights.
        "setsid -w bash -c 'echo x > $MAIN/src/a.txt'",
        "(echo x > $MAIN/src/a.txt) & wait $!",
        "env -i bash -c \"echo x > $MAIN/src/a.txt\"",
        "mount --bind $MAIN $TREE/src",
        // The last, because it takes the worktree's own files away.
        "git -C $MAIN worktree remove --force $TREE",
    ] {
        let outcome = place.run(&format!("cd $TREE; {escape}")).await;
        assert_ne!(outcome.exit, CommandExit::Code(0), "{escape}: {}", outcome.report());
        let after = place.outside();
        let changed: Vec<_> =
            after.iter().filter(|(path, now)| before.get(*path) != Some(now)).collect();
        assert!(changed.is_empty() && after.len() == before.len(), "{escape}: {changed:?}");
    }
    let finished = place.tree.finish().await;
    assert!(
        matches!(finished, WorktreeOutcome::Unclear { .. }),
        "git's own part is gone: {finished}"
    );
}

#[tokio::test]
async fn work_in_the_worktree_goes_on_as_anywhere() {
    let test = "work_in_the_worktree_goes_on_as_anywhere";
    let Some(place) = Place::new(test).await else { return };
    assert_eq!(place.says("pwd").await.trim(), place.tree.path().to_str().unwrap());
    assert_eq!(place.says("cat $MAIN/src/a.txt").await, "one\n", "reading is free");
    place.says("echo two > src/a.txt; mkdir new; mv src/a.txt new/b.txt; echo x 2>/dev/null").await;
    place.says("echo out > /dev/stdout; echo err > /dev/stderr; echo yes | head -n 1").await;
    assert!(place.says("git diff --stat").await.contains("src/a.txt"));
    place.says("git add -A && git commit -qm second && git status --porcelain").await;
    assert_eq!(place.says("git log --oneline | wc -l").await.trim(), "2");
    place.says("git checkout -q -b caliban/more && git commit -q --allow-empty -m third").await;
    place.says("git rebase -q --force-rebase HEAD~1 && git log --oneline | wc -l").await;
    place.says("git checkout -q - && git reset -q --hard HEAD && cat <<< word").await;
    let temp = place.says("mktemp -d && echo $TMPDIR").await;
    let temp: Vec<_> = temp.lines().map(PathBuf::from).collect();
    assert!(temp[0].starts_with(&temp[1]) && temp[0].is_dir(), "{temp:?}");
    assert!(!temp[1].starts_with(place.tree.path()), "it is no change of the worktree");
    let (path, branch) = (place.tree.path().to_owned(), place.tree.branch().to_owned());
    let finished = place.tree.finish().await;
    assert_eq!(
        finished,
        WorktreeOutcome::Kept { path, branch: branch.clone(), files: 0, commits: 1 }
    );
    assert!(!temp[1].exists());
    let main = place.main.to_str().unwrap();
    let shown = output("git", &["-C", main, "show", &format!("{branch}:new/b.txt")]);
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "two\n");
}

#[tokio::test]
async fn a_confined_command_ends_with_all_it_started() {
    let test = "a_confined_command_ends_with_all_it_started";
    let Some(place) = Place::new(test).await else { return };
    let (started, held) = ("started.fifo", "held.fifo");
    let begin = Fifo::new(&place.tree.path().join(started));
    let end = Fifo::new(&place.tree.path().join(held));
    let cancel = CancellationToken::new();
    let line = "exec 9>held.fifo; (trap '' TERM; sleep 71.5128 & sleep 71.5128) & \
                setsid sleep 71.5128 & echo go > started.fifo; wait";
    let stop = async {
        begin.opened().await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(place.run_until(line, None, &cancel), stop);
    assert_eq!(outcome.exit, CommandExit::Cancelled);
    end.closed().await;
    let limit = Some(Duration::from_millis(500));
    let outcome = place.run_until("sleep 72.5128", limit, &CancellationToken::new()).await;
    assert!(matches!(outcome.exit, CommandExit::TimedOut(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_confined_command_signals_nobody_outside() {
    let test = "a_confined_command_signals_nobody_outside";
    let Some(place) = Place::new(test).await else { return };
    if !kernel_is_at_least(6, 12) {
        return skip(test, "this kernel does not confine signals");
    }
    let mut bystander = Command::new("sleep").arg("1000").spawn().unwrap();
    let outcome = place.run(&format!("kill -KILL {}", bystander.id())).await;
    assert_eq!(outcome.exit, CommandExit::Code(1), "{}", outcome.report());
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn two_worktrees_are_closed_to_one_another() {
    let test = "two_worktrees_are_closed_to_one_another";
    let Some(place) = Place::new(test).await else { return };
    let other = Worktree::create(NewWorktree {
        cwd: place.main.clone(),
        project: ProjectFolders::default(),
        root: place.base.join("worktrees"),
        name: "other".to_owned(),
        id: AgentId::generate(),
        env: place.env.clone(),
        secrets: [].into(),
        sandbox: None,
        pool: BlockingPools::default().git,
        stop: CancellationToken::new(),
    });
    let other = other.await.unwrap();
    assert!(matches!(other.shell(), ShellReach::Withheld), "no shell where none can be confined");
    let there = other.path().display().to_string();
    for line in [
        format!("echo x > {there}/src/a.txt"),
        format!("git -C {there} commit -qm x --allow-empty"),
    ] {
        let outcome = place.run(&line).await;
        assert_ne!(outcome.exit, CommandExit::Code(0), "{line}: {}", outcome.report());
    }
    assert_eq!(other.finish().await, WorktreeOutcome::Removed);
    assert_eq!(place.tree.finish().await, WorktreeOutcome::Removed);
}

#[tokio::test]
async fn two_children_that_edit_one_file_are_told_and_no_edit_is_lost() {
    let scene = Scene::new();
    scene.world.write("list.txt", "alpha\nbeta\n");
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    let read = || tool_use("Read", json!({ "file_path": "list.txt" }));
    for (word, old, new) in [("CHILD-A", "alpha", "ALPHA-77"), ("CHILD-B", "beta", "BETA-77")] {
        let edit = move || {
            let input = json!({ "file_path": "list.txt", "old_string": old, "new_string": new });
            text("x").gate("both have read").tool_use("Edit", input)
        };
        let script = scene.server.when(word).reply(read()).then(edit());
        // The one that comes second is told so, looks again and edits again.
        script.then(dynamic(move |request| match request.tool_result() {
            result if result.is_error => read(),
            _ => text("edited at once"),
        }));
        scene.server.when(word).forever(dynamic(move |request| {
            match request.tool_result().text.starts_with("Edited") {
                true => text("edited in the end"),
                false => edit(),
            }
        }));
    }
    let running = scene.run().start();
    scene.server.reached_by("both have read", 2).await;
    scene.server.open("both have read");
    running.wait().await.assert_code(0);
    assert_eq!(scene.world.read("list.txt"), "ALPHA-77\nBETA-77\n");
    let edits = ["CHILD-A", "CHILD-B"].map(|word| scene.server.requests_of(word)[2].tool_result());
    let told: Vec<_> = edits.iter().filter(|result| result.is_error).collect();
    assert_eq!(told.len(), 1, "{edits:?}");
    assert!(told[0].text.contains("changed on disk since it was read"), "{told:?}");
    let mut ends: Vec<_> = scene.server.requests_of(PARENT)[1].tool_results();
    ends.sort_by(|a, b| a.text.cmp(&b.text));
    let ends: Vec<_> = ends.iter().map(|end| end.text.as_str()).collect();
    assert_eq!(ends, ["edited at once", "edited in the end"]);
}

fn output(program: &str, words: &[&str]) -> Output {
    Command::new(program).args(words).stdin(Stdio::null()).output().unwrap()
}

fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(first)), Some(Ok(second))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (first, second) >= (major, minor)
}

#[tokio::test]
async fn links_that_an_agent_leaves_for_git_to_write_through_are_gone_at_its_end() {
    let Some(place) = Place::new("links_that_an_agent_leaves_are_gone").await else { return };
    let branch = place.tree.branch().to_owned();
    let victim = place.base.join("victim");
    std::fs::write(&victim, "precious\n").unwrap();
    let line = "touch new && git add new && git commit -qm x && cd \"$MAIN/.git\" && \
                ln -sf \"$BASE/victim\" logs/refs/heads/$(git -C \"$TREE\" branch --show-current) && \
                ln -sf \"$BASE/victim\" worktrees/*/logs/HEAD";
    let outcome = place.run(line).await;
    assert_eq!(outcome.exit, CommandExit::Code(0), "{}", outcome.report());
    let main = place.main.clone();
    let finished = place.tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Kept { commits: 1, .. }), "{finished}");
    assert!(main.join(".git/logs/refs/heads").join(branch).symlink_metadata().is_err());
    let own = std::fs::read_dir(main.join(".git/worktrees")).unwrap().next().unwrap().unwrap();
    assert!(own.path().join("logs/HEAD").symlink_metadata().is_err());
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious\n");
}
