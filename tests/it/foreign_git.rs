//! Git folders that somebody else has prepared: what git alone would show or start there, and that
//! it does not happen.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use caliban::exec::Sandbox;
use serde_json::{Value, json};

use crate::support::run::Finished;
use crate::support::scene::{PARENT, Scene, agent_with, bash};
use crate::support::script::{Reply, text};
use crate::support::skip;

const PROGRAM: &str = env!("CARGO_BIN_EXE_caliban");
const SECRET: &str = "HIDDEN-1\nHIDDEN-2 = x\n";

/// Git, with all that it prints.
fn git_says(scene: &Scene, dir: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
        .args(args)
        .current_dir(dir)
        .env("HOME", scene.world.home_dir())
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn git(scene: &Scene, dir: &Path, args: &[&str]) {
    let (is_done, said) = git_says(scene, dir, args);
    assert!(is_done, "git {args:?}: {said}");
}

/// A repository with one commit in a folder of the project; an empty name is the project itself.
fn repository(scene: &Scene, name: &str) -> PathBuf {
    let dir = scene.world.project_dir().join(name);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("a.txt"), "one\n").unwrap();
    for words in ["init -q -b main", "add a.txt", "commit -qm first"] {
        git(scene, &dir, &words.split(' ').collect::<Vec<_>>());
    }
    dir
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn append(path: &Path, content: &str) {
    let before = fs::read_to_string(path).unwrap();
    fs::write(path, before + content).unwrap();
}

/// A program that leaves a file behind.
fn script(path: &Path, mark: &Path) {
    write(path, &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn link(path: &Path, target: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}

/// Copies a folder, so that git alone can be tried in the copy.
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(done.success());
}

/// Runs these lines in one message, with nobody to ask.
async fn run_lines(scene: &Scene, lines: &[String]) -> Finished {
    let calls =
        lines.iter().fold(Reply::stream(), |reply, line| reply.tool_use("Bash", bash(line)));
    scene.server.when("TASK-1").reply(calls).then(text("ok"));
    let run = scene.world.run(["-p", "TASK-1 go", "--output-format", "stream-json"]).finish().await;
    run.assert_code(0);
    run
}

fn denials(run: &Finished) -> Vec<Value> {
    run.result()["permission_denials"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_a_link_in_a_git_folder_leads_to_is_not_shown() {
    let scene = Scene::new();
    // A line with `cd` is judged in the folder where it starts, too.
    repository(&scene, "");
    let secret = scene.world.root().join("secret");
    fs::write(&secret, SECRET).unwrap();
    let rebase =
        [("rebase-merge/head-name", "refs/heads/main\n"), ("rebase-merge/interactive", "")];
    let rebase = &[rebase[0], rebase[1], ("rebase-merge/onto", "x\n")][..];
    let mut lines = Vec::new();
    for (at, (entry, others, command)) in [
        ("info/grafts", &[][..], "log"),
        ("packed-refs", &[], "log"),
        ("shallow", &[], "log"),
        ("rebase-apply/head-name", &[], "status"),
        ("rebase-merge/head-name", &rebase[1..], "status"),
        ("rebase-merge/done", rebase, "status"),
        ("rebase-merge/git-rebase-todo", rebase, "status"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("p{at}");
        let dir = repository(&scene, &name);
        for (path, content) in others {
            write(&dir.join(".git").join(path), content);
        }
        link(&dir.join(".git").join(entry), &secret);
        let (_, said) = git_says(&scene, &dir, &[command]);
        assert!(said.contains("HIDDEN-"), "git alone shows it through {entry}: {said}");
        lines.push(format!("cd {name} && git {command}"));
    }
    let run = run_lines(&scene, &lines).await;
    for (line, result) in lines.iter().zip(scene.server.requests()[1].tool_results()) {
        assert!(result.is_error && !result.text.contains("HIDDEN-"), "{line}: {result:?}");
        assert!(result.text.contains("its .git holds a symbolic link"), "{line}: {result:?}");
    }
    assert_eq!(denials(&run).len(), lines.len(), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_git_folder_with_hooks_that_are_links_is_as_free_as_any() {
    let scene = Scene::new();
    let dir = repository(&scene, "");
    link(&dir.join(".git/hooks/pre-commit"), Path::new("../../checks/commit"));
    let lines = ["git status", "git log -p", "git diff", "git branch -a"].map(str::to_owned);
    let run = run_lines(&scene, &lines).await;
    assert_eq!(denials(&run).len(), 0, "{run}");
    scene.server.finish();
}

/// A clone without the contents of its files, which git fetches from a folder in it, and two packs
/// so that each fetch ends with a tidying that starts the program of `more` and the hook in
/// `hooks`.
fn partial_clone(scene: &Scene, name: &str, more: &str, hooks: &str, mark: &Path) -> PathBuf {
    let source = repository(scene, &format!("{name}-source"));
    git(scene, &source, &["config", "uploadpack.allowFilter", "true"]);
    git(scene, &source, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let dir = scene.world.project_dir().join(name);
    let (url, to) = (format!("file://{}", source.display()), dir.display().to_string());
    let base = source.parent().unwrap();
    git(scene, base, &["clone", "-q", "--no-checkout", "--filter=blob:none", &url, &to]);
    fs::rename(&source, dir.join("vendor")).unwrap();
    for message in ["second", "third"] {
        git(scene, &dir, &["commit", "-q", "--allow-empty", "-m", message]);
        git(scene, &dir, &["repack", "-q"]);
    }
    let settings = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = ./vendor\n\
        [gc]\n\tautoPackLimit = 1\n\tautoDetach = false\n[maintenance]\n\tautoDetach = false\n";
    fs::write(dir.join(".git/config"), format!("{settings}{more}")).unwrap();
    // An old object that nothing refers to: tidying asks the program of the settings about such.
    write(&dir.join("lost"), "lost\n");
    let (_, id) = git_says(scene, &dir, &["hash-object", "-w", "lost"]);
    let (folder, name) = id.trim().split_at(2);
    let lost = dir.join(".git/objects").join(folder).join(name);
    let done = Command::new("touch").args(["-d", "2001-01-01"]).arg(lost).status().unwrap();
    assert!(done.success());
    if !hooks.is_empty() {
        script(&dir.join(hooks).join("pre-auto-gc"), mark);
    }
    dir
}

#[tokio::test]
async fn a_partial_clone_fetches_nothing_and_starts_nothing_unasked() {
    let scene = Scene::new();
    repository(&scene, "");
    let mark = scene.world.root().join("started");
    let recent =
        format!("[gc]\n\tpruneExpire = now\n\trecentObjectsHook = touch {}\n", mark.display());
    let mut lines = Vec::new();
    for (name, more, hooks) in [
        ("hook", "", ".git/hooks"),
        ("checks", "[core]\n\thooksPath = .githooks\n", ".githooks"),
        ("recent", recent.as_str(), ""),
    ] {
        let dir = partial_clone(&scene, name, more, hooks, &mark);
        let alone = scene.world.root().join(name);
        copy(&dir, &alone);
        let (_, said) = git_says(&scene, &alone, &["log", "-p"]);
        assert!(mark.exists(), "git alone starts it in {name}: {said}");
        fs::remove_file(&mark).unwrap();
        lines.extend(
            ["status", "log -p", "diff", "show"].map(|it| format!("cd {name} && git {it}")),
        );
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    port.set_nonblocking(true).unwrap();
    let dir = partial_clone(&scene, "port", "", "", &mark);
    let of = format!("[remote \"./vendor\"]\n\turl = http://{}/x\n", port.local_addr().unwrap());
    append(&dir.join(".git/config"), &of);
    lines.push("cd port && git log -p".to_owned());
    let run = run_lines(&scene, &lines).await;
    assert!(!mark.exists(), "{run}");
    let caller = port.accept().map(|(_, caller)| caller).map_err(|error| error.kind());
    assert_eq!(caller, Err(ErrorKind::WouldBlock), "{run}");
    assert_eq!(denials(&run).len(), lines.len(), "{run}");
    let results = scene.server.requests()[1].tool_results();
    let why = |name: &str| {
        let at = lines.iter().position(|line| line.contains(name)).unwrap();
        results[at].text.clone()
    };
    assert!(why("hook").contains("the repository is a partial clone"), "{}", why("hook"));
    assert!(why("recent").contains("gc.recentobjectshook"), "{}", why("recent"));
    scene.server.finish();
}

#[tokio::test]
async fn a_fetch_that_is_allowed_does_not_tidy_up() {
    let scene = Scene::new();
    let mark = scene.world.root().join("started");
    let dir = partial_clone(&scene, "p", "", ".git/hooks", &mark);
    let alone = scene.world.root().join("alone");
    copy(&dir, &alone);
    git(&scene, &alone, &["fetch", "-q", "./vendor", "main"]);
    assert!(mark.exists(), "git alone starts the hook");
    fs::remove_file(&mark).unwrap();
    let line = "cd p && git fetch -q ./vendor main && echo fetched";
    scene
        .server
        .when("TASK-1")
        .reply(Reply::stream().tool_use("Bash", bash(line)))
        .then(text("ok"));
    let run = scene.world.run(["-p", "TASK-1 go", "--dangerously-skip-permissions"]).finish().await;
    run.assert_code(0);
    let result = scene.server.requests()[1].tool_result();
    assert!(result.text.contains("fetched") && !mark.exists(), "{result:?}");
    scene.server.finish();
}

/// An agent that works in a worktree is called for the project. Returns the result of the call, and
/// whether the agent was started.
async fn call_isolated(scene: &Scene) -> (String, bool) {
    let about =
        "name: tidy\ndescription: Tidies up, apart from everybody else.\nisolation: worktree";
    scene.world.agent("tidy", &format!("---\n{about}\n---\nTidy.\n"));
    scene.parent_calls([agent_with("CHILD-A", "agent", json!("tidy"))]);
    scene.server.when("CHILD-A").forever(text("tidied"));
    scene.go().await;
    let result = scene.server.requests_of(PARENT)[1].tool_result().text;
    (result, !scene.server.requests_of("CHILD-A").is_empty())
}

#[tokio::test]
async fn a_link_in_the_git_folder_means_no_worktree_and_no_write_behind_it() {
    for (at, entry) in
        ["refs/heads/caliban", "logs/refs/heads/caliban", "worktrees"].into_iter().enumerate()
    {
        let scene = Scene::new();
        let dir = repository(&scene, "");
        let [out, other] = ["out", "other"].map(|it| scene.world.root().join(it));
        fs::create_dir(&out).unwrap();
        fs::create_dir_all(dir.join(".git/logs/refs/heads")).unwrap();
        symlink(&out, dir.join(".git").join(entry)).unwrap();
        if at == 0 {
            let to = other.display().to_string();
            git(&scene, &dir, &["worktree", "add", "-q", "-b", "caliban/x", &to]);
            assert!(out.join("x").exists(), "git alone writes behind the link");
            git(&scene, &dir, &["worktree", "remove", "--force", &to]);
            fs::remove_file(out.join("x")).unwrap();
        }
        let (result, is_started) = call_isolated(&scene).await;
        assert!(result.contains("its .git holds a symbolic link"), "{entry}: {result}");
        assert!(result.contains(entry) && !is_started, "{entry}: {result}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "{entry}");
    }
}

#[test]
fn the_launcher_follows_no_link_to_a_folder_for_writing() {
    let test = "the_launcher_follows_no_link_to_a_folder_for_writing";
    if Sandbox::new(Path::new(PROGRAM)).is_none() {
        return skip(test, "this kernel has no Landlock, or an old one");
    }
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("out")).unwrap();
    symlink(base.join("out"), base.join("link")).unwrap();
    for path in ["link", "link/new"] {
        let line = format!("touch {0}/out/a {0}/out/new/a", base.display());
        let output = Command::new(PROGRAM)
            .args(["sandbox", "--write"])
            .arg(base.join(path))
            .args(["--", "sh", "-c", &line])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(126), "{path}: {said}");
        assert!(said.contains("symbolic link"), "{path}: {said}");
        assert_eq!(fs::read_dir(base.join("out")).unwrap().count(), 0, "{path}");
    }
}

#[tokio::test]
async fn a_filter_of_the_user_starts_no_program_of_the_repository_for_a_worktree() {
    for (key, value) in [
        ("credential.helper", "!touch MARK; true"),
        ("credential.https://example.org.helper", "!touch MARK; true"),
        ("core.sshCommand", "touch MARK; false"),
    ] {
        let scene = Scene::new();
        let mark = scene.world.root().join("started");
        let dir = repository(&scene, "");
        git(&scene, &dir, &["remote", "add", "origin", "ssh://example.invalid/x"]);
        write(&dir.join(".gitattributes"), "*.txt filter=large\n");
        git(&scene, &dir, &["add", "-A"]);
        git(&scene, &dir, &["commit", "-qm", "second"]);
        // As a filter for large files does: it asks git for credentials, and goes to the repository's remote.
        let filter = scene.world.home_dir().join("filter");
        write(
            &filter,
            "#!/bin/sh\ncat\nprintf 'protocol=https\\nhost=example.org\\n\\n' | git credential fill\n\
             git ls-remote origin\nexit 0\n",
        );
        fs::set_permissions(&filter, fs::Permissions::from_mode(0o755)).unwrap();
        let filter = filter.display();
        let settings =
            format!("[filter \"large\"]\n\tclean = cat\n\tsmudge = {filter} 2>/dev/null\n");
        scene.world.home(".gitconfig", &settings);
        let value = value.replace("MARK", &mark.display().to_string());
        git(&scene, &dir, &["config", key, &value]);
        let other = scene.world.root().join("other").display().to_string();
        git(&scene, &dir, &["worktree", "add", "-q", &other]);
        assert!(mark.exists(), "git alone starts {key}");
        fs::remove_file(&mark).unwrap();
        let (result, is_started) = call_isolated(&scene).await;
        let named =
            format!("{}.{}", key.split('.').next().unwrap(), key.rsplit('.').next().unwrap());
        let named = named.to_lowercase();
        assert!(result.contains(&format!("{named} may start a program")), "{key}: {result}");
        assert!(!mark.exists() && !is_started, "{key}: {result}");
    }
}

#[tokio::test]
async fn a_worktree_of_a_partial_clone_fetches_nothing() {
    let scene = Scene::new();
    let dir = repository(&scene, "");
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    port.set_nonblocking(true).unwrap();
    let url = format!("https://{}/x", port.local_addr().unwrap());
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", url.as_str()),
        ("remote.origin.promisor", "true"),
    ] {
        git(&scene, &dir, &["config", key, value]);
    }
    let (result, is_started) = call_isolated(&scene).await;
    assert!(is_started && result.starts_with("tidied"), "nothing is missing yet: {result}");
    let (_, id) = git_says(&scene, &dir, &["rev-parse", "HEAD:a.txt"]);
    let (folder, name) = id.trim().split_at(2);
    fs::remove_file(dir.join(".git/objects").join(folder).join(name)).unwrap();
    scene.server.when("PARENT-2").reply(
        Reply::stream().tool_use("AgentTool", agent_with("CHILD-B", "agent", json!("tidy"))),
    );
    scene.server.when("PARENT-2").reply(text("done"));
    let again =
        scene.world.run(["-p", "PARENT-2", "--dangerously-skip-permissions"]).finish().await;
    again.assert_code(0);
    let result = scene.server.requests_of("PARENT-2")[1].tool_result();
    assert!(result.is_error && result.text.contains("git says"), "{result:?}");
    let caller = port.accept().map(|(_, caller)| caller).map_err(|error| error.kind());
    assert_eq!(caller, Err(ErrorKind::WouldBlock), "{result:?}");
    scene.server.finish();
}
