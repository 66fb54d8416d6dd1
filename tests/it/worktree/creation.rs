//! What git starts while it makes a worktree.

use std::path::Path;
use std::time::Duration;

use caliban::subagent::worktree::{Finished, Worktree};

use super::Source;

/// A filter that tries to write and read where an agent may not be asked about, and changes the
/// worktree's links.
const ESCAPE: &str = "exec 2> /dev/null\n\
    echo x >> ran.log\n\
    touch $HOME/escaped\n\
    cat $HOME/.gitconfig $HOME/key >> ran.log\n\
    git=$(sed 's/gitdir: //' .git) && echo /nowhere > $git/commondir\n\
    cat\n";

#[tokio::test]
async fn a_filter_that_git_runs_in_a_worktree_does_not_leave_it() {
    let test = "a_filter_that_git_runs_in_a_worktree_does_not_leave_it";
    // The repository brings the file that the user's settings name. Git writes it after those that it is for.
    let files = [(".gitignore", "ran.log\n"), ("filter.sh", ESCAPE), ("z.txt", "z\n")];
    let Some(source) = Source::with_filter(test, "sh ./filter.sh", "sh ./filter.sh || cat", &files)
    else {
        return;
    };
    std::fs::write(source.base.join("home/key"), "KEY-13\n").unwrap();
    let escaped = source.base.join("home/escaped");
    let tree = Worktree::create(source.wish()).await.unwrap();
    let log = tree.path().join("ran.log");
    let seen = std::fs::read_to_string(&log).expect("git writes the files with the filter");
    assert!(seen.contains("[filter") && !seen.contains("KEY-13"), "{seen}");
    assert!(!escaped.exists(), "on the way in");
    let known = tree.checkout();
    let links = || {
        let own = std::fs::read_to_string(known.path.join(".git")).unwrap();
        let own = own.trim().strip_prefix("gitdir: ").unwrap().to_owned();
        std::fs::read_to_string(Path::new(&own).join("commondir")).unwrap()
    };
    assert_eq!(links(), "../..\n");
    std::fs::remove_file(&log).unwrap();
    drop(tree);
    let tree = Worktree::reopen(source.wish(), known.clone()).await.unwrap().unwrap();
    assert!(!escaped.exists(), "on the way back in");
    // Git has to look into the file, and there is a change that keeps it.
    std::fs::write(tree.path().join("src/a.txt"), "one\n").unwrap();
    std::fs::write(tree.path().join("new"), "").unwrap();
    let finished = tree.finish().await;
    assert!(matches!(finished, Finished::Kept { files: 1, commits: 0, .. }), "{finished}");
    assert!(log.exists(), "git asks the filter whether the file has changed");
    assert!(!escaped.exists(), "at the end");
    assert_eq!(links(), "../..\n", "whoever looks later reaches the repository");
}

#[tokio::test]
async fn a_filter_that_may_load_what_lies_in_the_worktree_does_not_run() {
    let test = "a_filter_that_may_load_what_lies_in_the_worktree_does_not_run";
    let files = [(".gitignore", "ran.log\n"), ("filter.sh", ESCAPE)];
    let Some(source) = Source::with_filter(test, "cat", "cat", &files) else { return };
    let settings =
        "[filter \"f\"]\nclean = sh ./filter.sh\nsmudge = sh ./filter.sh\nrequired = true\n";
    std::fs::write(source.base.join("home/.gitconfig"), settings).unwrap();
    let tree = Worktree::create(source.wish()).await.unwrap();
    assert_eq!(std::fs::read_to_string(tree.path().join("src/a.txt")).unwrap(), "one\n");
    // Git has to look into the file.
    std::fs::write(tree.path().join("src/a.txt"), "one\n").unwrap();
    let log = tree.path().join("ran.log");
    assert!(!log.exists());
    assert_eq!(tree.finish().await, Finished::Removed);
}

#[tokio::test]
async fn a_worktree_that_a_filter_fails_in_is_kept() {
    let test = "a_worktree_that_a_filter_fails_in_is_kept";
    let clean = "test ! -e bad && cat";
    let Some(source) = Source::with_filter(test, clean, "cat", &[]) else { return };
    let tree = Worktree::create(source.wish()).await.unwrap();
    std::fs::write(tree.path().join("src/a.txt"), "one\n").unwrap();
    std::fs::write(tree.path().join("bad"), "").unwrap();
    let path = tree.path().to_owned();
    let finished = tree.finish().await;
    assert!(matches!(finished, Finished::Unclear { .. }), "{finished}");
    assert!(path.join("bad").exists());
}

#[tokio::test]
async fn programs_that_git_starts_see_no_keys() {
    let test = "programs_that_git_starts_see_no_keys";
    let Some(mut source) = Source::with_filter(test, "cat", "env > seen; cat", &[]) else { return };
    let keys = [("ANTHROPIC_API_KEY", "KEY-77"), ("MY_KEY", "KEY-88"), ("LANG", "C")];
    source.env = source.env.with(keys);
    let tree = Worktree::create(source.wish()).await.unwrap();
    let seen = std::fs::read_to_string(tree.path().join("seen")).unwrap();
    assert!(seen.contains("LANG=C") && !seen.contains("KEY-"), "{seen}");
    // Git tells its filters where it works.
    let main = format!("GIT_DIR={}\n", source.main.join(".git").display());
    assert!(!seen.contains(&main), "nor where its parent's git works: {seen}");
}

#[tokio::test]
async fn a_creation_that_nobody_waits_for_ends_git_and_leaves_nothing() {
    let test = "a_creation_that_nobody_waits_for_ends_git_and_leaves_nothing";
    // Every process of the checkout holds the pipe, to read: a filter writes nowhere else.
    let smudge = "exec 9<$HELD; sleep 1000; cat";
    let Some(mut source) = Source::with_filter(test, "cat", smudge, &[]) else { return };
    // Where a filter may read: among the user's programs.
    let pipe = source.base.join("bin/held.fifo");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    source.env = source.env.with([("HELD", pipe.display().to_string())]);
    let mut create = Box::pin(Worktree::create(source.wish()));
    // There is no sender before somebody reads.
    let opened = async {
        loop {
            match tokio::net::unix::pipe::OpenOptions::new().open_sender(&pipe) {
                Ok(sender) => return sender,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let held = tokio::select! {
        made = &mut create => panic!("{made:?}"),
        held = opened => held,
    };
    assert_eq!(source.left(), (1, 2));
    drop(create);
    let gone = async {
        while source.left() != (0, 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), gone).await;
    assert!(waited.is_ok(), "{:?} is left", source.left());
    let error = held.try_write(b"x").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "no process is left");
}
