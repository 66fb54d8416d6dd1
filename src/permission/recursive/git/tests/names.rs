//! Words of git commands: commits, paths and patterns.

use super::*;

#[test]
fn git_finds_files_from_the_top_of_the_checkout() {
    let bench = bench(&["secret/key", ".env"]).deny("Read(/secret/**)").deny("Read(.env)");
    for line in
        ["git show HEAD:secret/key", "git show HEAD:./secret/key", "git blame HEAD -- secret/key"]
    {
        assert_eq!(bench.bash(line), Deny, "{line}");
    }
    assert_eq!(bench.bash_in("src", "git show HEAD:secret/key").decision, Deny);
    assert_eq!(bench.bash_in("secret", "git show HEAD:./key").decision, Deny);
}

#[test]
fn a_name_is_that_of_a_commit_only_if_it_leads_to_nothing_else() {
    let bench = bench(&[".env"]).deny("Read(/.env)");
    let project = bench.root.join("project");
    for branch in ["loose", "feature/x", "same", "linked"] {
        git(&project, &["branch", branch]);
    }
    git(&project, &["pack-refs", "--all"]);
    for branch in ["y", "new/z"] {
        git(&project, &["branch", branch]);
    }
    git(&project, &["tag", "same"]);
    git(&project, &["tag", "blob", "HEAD:.env"]);
    git(&project, &["symbolic-ref", "refs/heads/other", "refs/tags/blob"]);
    let heads = project.join(".git/refs/heads");
    std::os::unix::fs::symlink("../tags/blob", heads.join("link")).unwrap();
    fs::write(project.join("linked"), "x").unwrap();
    let line = |name: &str| format!("git show --stat {name}");
    bench.allows(
        ["main", "loose", "feature/x~1", "y^", "new/z", "HEAD~2", "@", "main..y", "y..."].map(line),
    );
    bench.asks(
        ["same", "blob", "other", "link", "linked", "none", "y..blob", "blob..", "^y"].map(line),
    );
    let id = fs::read_to_string(heads.join("y")).unwrap();
    bench.asks([line(id.trim()), line(&id[..7])]);
    bench.allows(["git show --stat"]);
    git(&project, &["checkout", "-q", "--detach"]);
    bench.allows(["git show --stat", "git show --stat HEAD"]);
    // Git prints the file.
    git(&project, &["symbolic-ref", "HEAD", "refs/heads/other"]);
    bench.asks([
        "git show --stat",
        "git show -s",
        "git show --name-only HEAD",
        "git show HEAD:src/a",
    ]);
    bench.asks(["git show -- docs/b", "git checkout HEAD -- src/a", "git restore -s HEAD src/a"]);
    git(&project, &["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    bench.asks(["git show --stat"]);
}

#[test]
fn a_branch_of_a_name_that_git_takes_for_another_reference_is_no_commit() {
    let bench = bench(&[".env"]).deny("Read(/.env)");
    let project = bench.root.join("project");
    let names = [
        "main-worktree/FETCH_HEAD",
        "main-worktree/x",
        "worktrees/a/HEAD",
        "FETCH_HEAD",
        "AUTO_MERGE",
    ];
    for name in names {
        git(&project, &["update-ref", &format!("refs/heads/{name}"), "HEAD"]);
    }
    bench.asks(names.map(|name| format!("git show --stat {name}")));
    bench.asks(names.map(|name| format!("git restore --source={name} -- src/a")));
    bench.asks(names.map(|name| format!("git log -p {name} -- docs/b")));
    git(&project, &["branch", "worktrees-x"]);
    git(&project, &["branch", "WIP"]);
    bench.allows(["git show --stat worktrees-x", "git show --stat WIP"]);
}

#[test]
fn a_line_that_may_write_references_leaves_only_head_a_commit() {
    let bench = bench(&[".env"]).deny("Read(/.env)");
    git(&bench.root.join("project"), &["branch", "topic"]);
    for first in ["git tag topic 9eed597f", "git -C . tag topic 9eed597f", "git fetch", "git pull"]
    {
        for join in ["&&", "&", ";"] {
            bench.asks([
                format!("{first} {join} git show --stat topic"),
                format!("{first} {join} git log -p topic~1 -- docs/b"),
            ]);
        }
    }
    bench.asks(["git show --stat topic & git tag topic 9eed597f"]);
    bench.allows([
        "git fetch && git show --stat HEAD",
        "git fetch && git log -p -- docs/b",
        "git fetch && git log --oneline HEAD..origin/main",
        "git tag v9 && git show --stat && git diff --stat topic",
        "git add . && git commit -m x && git show --stat topic",
        "git checkout -q topic && git show --stat topic",
        "git status && git log -p topic -- docs/b",
    ]);
}

#[test]
fn a_name_that_is_a_file_now_may_be_a_folder_to_git() {
    let bench = bench(&["conf/.env"]).deny("Read(.env)");
    let project = bench.root.join("project");
    doubts(&bench, &["git diff conf", "git diff -- conf/", "git diff docs conf"]);
    fs::remove_dir_all(project.join("conf")).unwrap();
    fs::write(project.join("conf"), "x\n").unwrap();
    doubts(
        &bench,
        &["git diff conf", "git diff -- conf", "git log -p -- conf", "git diff HEAD conf"],
    );
    bench.allows(["git diff src", "git diff docs/b", "git log --stat -- conf"]);
    // Git has files of such names, too.
    fs::write(project.join("config"), "x\n").unwrap();
    bench.allows(["git diff config"]);
}

#[test]
fn git_compares_untracked_files_too_where_it_may_take_a_path_for_another() {
    let bench = bench(&[]).deny("Read(.env)");
    fs::create_dir(bench.root.join("project/src/deep")).unwrap();
    std::os::unix::fs::symlink("src/deep", bench.root.join("project/dl")).unwrap();
    // `dl/../..` is the project to the system, and the folder above it to git.
    bench.asks(["git diff dl/../.. docs", "git diff docs dl/../..", "git diff docs -- dl/../../."]);
    bench.allows(["git diff src docs", "git diff ./src docs", "git diff docs dl"]);
    assert_eq!(bench.bash_in("src", "git diff ../docs deep").decision, Allow);
    // Without a repository, git tracks nothing and compares everything.
    fs::remove_dir_all(bench.root.join("project/.git")).unwrap();
    fs::write(bench.root.join("project/src/.env"), "").unwrap();
    bench.asks(["git diff docs src"]);
}

#[test]
fn a_pattern_that_git_takes_for_paths_is_no_list_of_names() {
    let patterns = [
        "':!a'",
        "':^a'",
        "':(icase).ENV'",
        "':(top).e*v'",
        "':(attr:!x)'",
        "'.en\\v'",
        "'*nv'",
        "'?env'",
    ];
    let (untracked, tracked) = (bench(&[]).deny("Read(.env)"), bench(&[".env"]).deny("Read(.env)"));
    for pattern in patterns {
        for command in ["git diff", "git diff --cached", "git diff HEAD"] {
            let line = format!("{command} -- {pattern}");
            assert_ne!(tracked.bash(&line), Allow, "{line}");
        }
    }
    assert_eq!(untracked.bash("git diff -- ':!src/a'"), Allow);
    tracked.allows(["git diff -- src/a", "git diff -- docs/b src"]);
}
