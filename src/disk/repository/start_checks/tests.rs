use super::*;
use crate::disk::testing::git;
use crate::protocol::EnvOverlay;

/// A repository with a submodule `lib`, both with addresses elsewhere.
fn with_submodule(root: &Path) -> PathBuf {
    let [library, project] = ["library", "project"].map(|name| root.join(name));
    for dir in [&library, &project] {
        git(root, &["init", "-q", "-b", "main", dir.to_str().unwrap()]);
        git(dir, &["commit", "-q", "--allow-empty", "-m", "first"]);
    }
    git(&project, &["submodule", "--quiet", "add", library.to_str().unwrap(), "lib"]);
    git(&project, &["config", "submodule.lib.url", "https://example.org/lib.git"]);
    git(&project.join("lib"), &["remote", "set-url", "origin", "https://example.org/lib.git"]);
    project
}

fn check(project: &Path, user: &EnvOverlay) -> Result<(), String> {
    check_starts_nothing(project, None, &GitConfigPaths::new(user))
}

#[test]
fn submodules_start_as_little_as_the_repository_around_them() {
    let root = tempfile::tempdir().unwrap();
    let project = with_submodule(&fs::canonicalize(root.path()).unwrap());
    let nobody = EnvOverlay::default();
    assert_eq!(check(&project, &nobody), Ok(()));
    let module = project.join(".git/modules/lib");
    git(&project.join("lib"), &["config", "core.sshCommand", "x"]);
    let why = check(&project, &nobody).unwrap_err();
    assert!(why.contains("core.sshcommand"), "{why}");
    git(&project.join("lib"), &["config", "--unset", "core.sshCommand"]);
    fs::write(module.join("hooks/post-checkout"), "").unwrap();
    assert_eq!(
        check(&project, &nobody),
        Err("the repository has hooks that git may start, such as post-checkout".to_owned())
    );
    // Not checked out: git would check it out from there.
    fs::remove_dir_all(project.join("lib")).unwrap();
    std::os::unix::fs::symlink(root.path(), project.join("lib")).unwrap();
    let why = check(&project, &nobody).unwrap_err();
    assert!(why.contains("a link in the place of a submodule"), "{why}");
    fs::remove_file(project.join("lib")).unwrap();
    fs::create_dir(project.join("lib")).unwrap();
    let why = check(&project, &nobody).unwrap_err();
    assert!(why.contains("a submodule that is not checked out"), "{why}");
    fs::remove_dir_all(&module).unwrap();
    assert_eq!(check(&project, &nobody), Ok(()));
    // By the name of a submodule, one lies in another.
    fs::create_dir_all(module.join("other/objects")).unwrap();
    fs::write(module.join("other/HEAD"), "").unwrap();
    assert!(check(&project, &nobody).is_err());
}

#[test]
fn a_repository_within_counts_before_git_knows_it() {
    let root = tempfile::tempdir().unwrap();
    let project = fs::canonicalize(root.path()).unwrap().join("project");
    let inner = project.join("a/b");
    git(root.path(), &["init", "-q", project.to_str().unwrap()]);
    git(root.path(), &["init", "-q", inner.to_str().unwrap()]);
    let config = GitConfigPaths::default();
    assert_eq!(check_starts_nothing(&project, None, &config), Ok(()));
    git(&inner, &["config", "filter.x.clean", "x"]);
    let why = check_starts_nothing(&project, None, &config).unwrap_err();
    assert!(why.contains("filter.clean"), "{why}");
}

#[test]
fn settings_of_the_user_lead_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let project = root.join("project");
    git(&root, &["init", "-q", project.to_str().unwrap()]);
    let user = EnvOverlay::from_iter([("HOME", root.as_path())]);
    let with = |settings: &str| {
        fs::write(root.join(".gitconfig"), settings).unwrap();
        check(&project, &user)
    };
    let blame = "[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n";
    assert_eq!(with(blame), Ok(()));
    fs::write(root.join("secret"), "").unwrap();
    fs::write(project.join("revs"), "").unwrap();
    std::os::unix::fs::symlink("revs", project.join(".git-blame-ignore-revs")).unwrap();
    assert_eq!(with(blame), Ok(()));
    fs::remove_file(project.join("revs")).unwrap();
    std::os::unix::fs::symlink("../secret", project.join("revs")).unwrap();
    let why = with(blame).unwrap_err();
    assert!(why.contains("blame.ignorerevsfile names a link"), "{why}");
    for base in [
        "/srv/",
        "file:",
        "",
        "x:",
        "./a",
        "ext::",
        "ssh://localhost/",
        "git@[::1]:",
        "http://127.0.0.1:3000/",
    ] {
        for key in ["insteadOf", "pushInsteadOf"] {
            let why = with(&format!("[url \"{base}\"]\n\t{key} = work:\n")).unwrap_err();
            assert!(why.contains("a repository on this machine"), "{base}: {why}");
        }
    }
    for base in ["git@github.com:", "https://github.com/", "ssh://git@h/", "git://h/", "https://"] {
        assert_eq!(with(&format!("[url \"{base}\"]\n\tinsteadOf = gh:\n")), Ok(()), "{base}");
    }
}

#[test]
fn a_remote_without_an_address_is_a_path() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let project = root.join("project");
    git(&root, &["init", "-q", project.to_str().unwrap()]);
    fs::write(root.join(".gitconfig"), "[remote \"up\"]\n\tprune = true\n").unwrap();
    let user = EnvOverlay::from_iter([("HOME", root.as_path())]);
    assert_eq!(check(&project, &user), Ok(()));
    fs::create_dir(project.join("up")).unwrap();
    fs::write(project.join("up/HEAD"), "").unwrap();
    let why = check(&project, &user).unwrap_err();
    assert!(why.contains("project/up for a remote"), "{why}");
    git(&project, &["config", "remote.up.url", "https://example.org/up"]);
    assert_eq!(check(&project, &user), Ok(()));
    git(&project, &["config", "remote.other.fetch", "+refs/heads/*:refs/remotes/o/*"]);
    let why = check(&project, &user).unwrap_err();
    assert!(why.contains("\"other\", which is not a remote with an address"), "{why}");
}

#[test]
fn a_remote_that_the_user_chooses_may_be_a_folder_of_the_project() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let project = root.join("project");
    git(&root, &["init", "-q", project.to_str().unwrap()]);
    let user = EnvOverlay::from_iter([("HOME", root.as_path())]);
    for (setting, folder) in [
        ("[remote]\n\tpushDefault = fork\n", "fork"),
        ("[remote]\n\tpushDefault = fork\n", "fork.git"),
        ("[branch \"main\"]\n\tremote = fork\n", "fork"),
        ("[branch \"main\"]\n\tpushRemote = fork\n", "fork"),
    ] {
        fs::write(root.join(".gitconfig"), setting).unwrap();
        assert_eq!(check(&project, &user), Ok(()));
        fs::create_dir(project.join(folder)).unwrap();
        fs::write(project.join(folder).join("HEAD"), "").unwrap();
        let why = check(&project, &user).unwrap_err();
        assert!(why.contains("for a remote"), "{why}");
        fs::remove_dir_all(project.join(folder)).unwrap();
    }
}

#[test]
fn a_folder_that_cannot_be_listed_may_hold_a_repository() {
    let root = tempfile::tempdir().unwrap();
    let project = fs::canonicalize(root.path()).unwrap().join("project");
    git(root.path(), &["init", "-q", project.to_str().unwrap()]);
    // Root lists every folder; nobody lists a file.
    let links = project.join("f");
    fs::write(&links, "").unwrap();
    assert_eq!(checkouts_below(&project), Ok(vec![project]));
    assert!(checkouts_below(&links).unwrap_err().contains("cannot be listed"));
}

#[test]
fn a_git_folder_among_the_files_of_the_project_is_not_gits_alone() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let project = root.join("project");
    for (store, is_allowed) in [(root.join("store"), true), (project.join("store"), false)] {
        let words = ["init", "-q", "--separate-git-dir", store.to_str().unwrap()];
        git(&root, &[&words[..], &[project.to_str().unwrap()]].concat());
        git(&project, &["config", "core.worktree", project.to_str().unwrap()]);
        let checked = check(&project, &EnvOverlay::default());
        assert_eq!(checked.is_ok(), is_allowed, "{checked:?}");
        fs::remove_dir_all(&project).unwrap();
    }
}

#[test]
fn a_worktree_and_its_place_name_each_other() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let project = with_submodule(&root);
    git(&project, &["worktree", "add", "-q", "../tree"]);
    for checkout in [&project, &root.join("tree")] {
        assert_eq!(check(checkout, &EnvOverlay::default()), Ok(()));
    }
    fs::write(
        project.join(".git/worktrees/tree/gitdir"),
        root.join("x/.git").as_os_str().as_encoded_bytes(),
    )
    .unwrap();
    let why = check(&project, &EnvOverlay::default()).unwrap_err();
    assert!(why.contains("its worktree tree"), "{why}");
}

#[test]
fn what_is_left_of_a_command_counts() {
    let root = tempfile::tempdir().unwrap();
    let project = fs::canonicalize(root.path()).unwrap().join("project");
    git(root.path(), &["init", "-q", "-b", "main", project.to_str().unwrap()]);
    fs::write(project.join("f"), "one").unwrap();
    git(&project, &["add", "f"]);
    git(&project, &["commit", "-qm", "first"]);
    git(&project, &["checkout", "-q", "-b", "other"]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "second"]);
    git(&project, &["merge", "-q", "--no-commit", "--no-ff", "main"]);
    assert_eq!(check(&project, &EnvOverlay::default()), Ok(()));
    for file in [
        "rebase-apply/apply-opt",
        "rebase-merge/git-rebase-todo",
        "sequencer/todo",
        "MERGE_RR",
        "info/attributes",
    ] {
        let file = project.join(".git").join(file);
        let had_folder = file.parent().unwrap().exists();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "x").unwrap();
        let why = check(&project, &EnvOverlay::default()).unwrap_err();
        assert!(why.contains("than a clone brings"), "{why}");
        match had_folder {
            true => fs::remove_file(file).unwrap(),
            false => fs::remove_dir_all(file.parent().unwrap()).unwrap(),
        }
    }
}

#[test]
fn hooks_in_the_checkout_count_also_where_the_users_settings_name_them() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let project = root.join("project");
    git(&root, &["init", "-q", project.to_str().unwrap()]);
    fs::create_dir(root.join("hooks")).unwrap();
    fs::write(root.join("hooks/pre-commit"), "").unwrap();
    for (folder, is_allowed) in [(root.join("hooks"), true), (".githooks".into(), false)] {
        let settings = format!("[core]\nhooksPath = {}\n", folder.display());
        fs::write(root.join(".gitconfig"), settings).unwrap();
        let user = EnvOverlay::from_iter([("HOME", root.as_path())]);
        // Also one that is not there: a checkout may bring it.
        assert_eq!(check(&project, &user).is_ok(), is_allowed, "{}", folder.display());
    }
    let nobody = EnvOverlay::default();
    let through_proc = ["/dev/fd/../cwd/hk", "/proc/self/cwd/hk", "/dev/../dev/fd/./../cwd"];
    for folder in [".git/hooks", "../hooks", "checks"].into_iter().chain(through_proc) {
        git(&project, &["config", "core.hooksPath", folder]);
        let checked = check(&project, &nobody);
        assert_eq!(checked.is_ok(), folder == ".git/hooks", "{folder}: {checked:?}");
    }
    git(&project, &["config", "--unset", "core.hooksPath"]);
    fs::remove_dir_all(project.join(".git/hooks")).unwrap();
    std::os::unix::fs::symlink("../checks", project.join(".git/hooks")).unwrap();
    assert!(check(&project, &nobody).is_err());
}
