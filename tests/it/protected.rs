//! Files that decide what runs: edits there are asked about wherever the files lie, and what they
//! allow waits for the next start.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::pty::{ENTER, ESC, Screen};
use crate::support::run::Finished;
use crate::support::scene::{Scene, bash};
use crate::support::script::{Reply, text, tool_use};
use crate::support::skip;

const EDITS: [&str; 2] = ["--permission-mode", "acceptEdits"];
const ALLOW_ALL: &str = "[permissions]\nallow = [\"Bash\"]\n";

fn write(path: &Path, content: &str) -> Value {
    json!({ "file_path": path, "content": content })
}

/// A headless run with these calls, one message for each.
async fn run(scene: &Scene, calls: impl IntoIterator<Item = Reply>, args: &[&str]) -> Finished {
    for call in calls {
        scene.server.when("TASK-1").reply(call);
    }
    scene.server.when("TASK-1").reply(text("done"));
    let base = ["-p", "TASK-1 go", "--output-format", "stream-json"];
    let run = scene.world.run(base).args(args.iter().copied()).finish().await;
    run.assert_code(0);
    run
}

/// The errors of the results that the last request holds, by call.
fn errors(scene: &Scene) -> Vec<Option<String>> {
    let results = scene.server.requests().pop().unwrap().tool_results();
    results.into_iter().map(|result| result.is_error.then_some(result.text)).collect()
}

fn git(dir: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(args);
    let done = git.current_dir(dir).env("HOME", dir).output().unwrap();
    assert!(done.status.success(), "{args:?}: {done:?}");
}

#[tokio::test]
async fn in_the_home_directory_edits_of_rules_and_of_start_files_are_asked_about() {
    let mut scene = Scene::new();
    let home = scene.world.project_dir();
    scene.world.env("HOME", home.to_str().unwrap()).unset("CALIBAN_HOME");
    let own = ".config/caliban/config.toml";
    let files = [
        own,
        ".claude.json",
        ".bash_aliases",
        ".npmrc",
        ".config/fish/config.fish",
        ".local/bin/ls",
        "bin/ls",
        ".local/share/caliban/trust.json",
        "src/.envrc",
    ];
    let writes = files.iter().fold(Reply::stream(), |reply, file| {
        reply.tool_use("Write", write(&home.join(file), ALLOW_ALL))
    });
    let writes = writes.tool_use("Write", write(&home.join("src/main.rs"), "fn main() {}\n"));
    let run =
        run(&scene, [writes, tool_use("Bash", bash("echo '[]' > .condarc; touch made"))], &EDITS)
            .await;
    for file in files.iter().chain(&["made", ".condarc"]) {
        assert!(!scene.world.exists(file), "{file}\n{run}");
    }
    assert!(scene.world.exists("src/main.rs"), "{run}");
    let results = scene.server.requests()[1].tool_results();
    for (file, result) in files.iter().zip(&results) {
        assert!(result.text.contains(&format!("{file} is protected: ")), "{}", result.text);
    }
    scene.server.finish();
}

#[tokio::test]
async fn with_its_home_in_the_project_caliban_asks_and_what_was_accepted_waits_for_the_next_start()
{
    let mut scene = Scene::new();
    let own = scene.world.project_dir().join("box");
    scene.world.env("CALIBAN_HOME", own.to_str().unwrap());
    let config = own.join("config.toml");
    scene
        .server
        .when("TASK-1")
        .reply(tool_use("Write", write(&config, ALLOW_ALL)))
        .then(tool_use("Bash", bash("touch made")))
        .then(text("I see"));
    let screen = Screen::start(&scene.world, EDITS.iter().copied().chain(["TASK-1 go"]), 120, 40);
    let shown = screen.wait_for("1  Yes");
    assert!(shown.contains("box/config.toml is protected"), "{shown}");
    screen.keys("1");
    let shown = screen.wait_for("touch made");
    assert!(std::fs::read_to_string(&config).unwrap().contains("Bash"), "{shown}");
    screen.wait_for("1  Yes");
    screen.keys(ESC);
    screen.wait_for("I see");
    assert!(!scene.world.exists("made"));
    drop(screen);
    // From the next start it counts, because the user accepted it.
    run(&scene, [tool_use("Bash", bash("touch made"))], &[]).await;
    assert!(scene.world.exists("made"));
    scene.server.finish();
}

#[tokio::test]
async fn rules_behind_a_link_keep_what_they_deny() {
    for (link, file, text) in [
        (".caliban", "config.toml", "[permissions]\ndeny = [\"Bash(touch:*)\"]\n"),
        (".claude", "settings.json", r#"{"permissions": {"deny": ["Bash(touch:*)"]}}"#),
    ] {
        let scene = Scene::new();
        let real = scene.world.project_dir().join("shared");
        scene.world.write(&format!("shared/{file}"), text);
        symlink("shared", scene.world.project_dir().join(link)).unwrap();
        let empty = if file.ends_with("json") { "{}" } else { "" };
        // The second call takes the rules away by a way that no rule sees.
        let calls = tool_use("Write", write(&real.join(file), empty))
            .tool_use("Bash", bash(&format!("rm shared/{file}")));
        let args = [&EDITS[..], &["--allowed-tools", "Bash(touch:*),Bash(rm:*)"]].concat();
        let touch = tool_use("Bash", bash("touch made"));
        run(&scene, [calls, touch], &args).await;
        assert!(!scene.world.exists("made"), "{link}");
        let first = scene.server.requests()[1].tool_results();
        assert!(first[0].is_error && first[0].text.contains("is protected"), "{link} {first:?}");
        assert!(!first[1].is_error, "{first:?}");
        let denied = errors(&scene).pop().flatten().unwrap();
        assert!(denied.contains("rule Bash(touch:*) in "), "{denied}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn gits_own_folders_are_protected_wherever_they_lie() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    git(&project, &["init", "-q", "--separate-git-dir=store", "."]);
    git(&project, &["init", "-q", "--bare", "vendor/lib.git"]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&project, &["worktree", "add", "-q", "trees/side"]);
    git(&project, &["config", "core.hooksPath", "checks"]);
    let files = [
        "store/config",
        "store/hooks/pre-commit",
        "store/worktrees/side/config.worktree",
        "vendor/lib.git/hooks/post-receive",
        "vendor/lib.git/config",
        "trees/side/.git",
        "checks/pre-commit",
    ];
    let before: Vec<_> = files.map(|file| std::fs::read(project.join(file)).ok()).into();
    let writes = files.iter().fold(Reply::stream(), |reply, file| {
        reply.tool_use("Write", write(&project.join(file), "x"))
    });
    let writes = writes.tool_use("Write", write(&project.join("trees/side/a.txt"), "x"));
    run(&scene, [writes], &EDITS).await;
    let after: Vec<_> = files.map(|file| std::fs::read(project.join(file)).ok()).into();
    assert_eq!(after, before, "{:?}", errors(&scene));
    for (file, error) in files.iter().zip(errors(&scene)) {
        assert!(error.is_some_and(|error| error.contains("is protected")), "{file}");
    }
    assert!(scene.world.exists("trees/side/a.txt"), "a checkout of it is free");
    scene.server.finish();
}

#[tokio::test]
async fn what_git_hooks_lead_to_is_protected_whichever_settings_name_them() {
    let mut scene = Scene::new();
    let project = scene.world.project_dir();
    scene.world.env("XDG_CONFIG_HOME", project.join("settings").to_str().unwrap());
    scene.world.write("settings/git/config", "[include]\n\tpath = more\n");
    scene.world.write("settings/git/more", "[core]\n\thooksPath = checks\n");
    git(&project, &["init", "-q"]);
    let _ = std::fs::remove_dir_all(project.join(".git/hooks"));
    symlink("../githooks", project.join(".git/hooks")).unwrap();
    std::fs::create_dir_all(project.join("githooks")).unwrap();
    symlink("../scripts/lint", project.join("githooks/pre-commit")).unwrap();
    symlink("/proc/self/cwd/scripts/push", project.join("githooks/pre-push")).unwrap();
    let files = [
        "settings/git/config",
        "checks/pre-push",
        "githooks/post-merge",
        "scripts/lint",
        "scripts/push",
    ];
    let writes = files.iter().chain(&["scripts/other"]).fold(Reply::stream(), |reply, file| {
        reply.tool_use("Write", write(&project.join(file), "x"))
    });
    run(&scene, [writes], &EDITS).await;
    for (file, error) in files.iter().zip(errors(&scene)) {
        assert!(error.is_some_and(|error| error.contains("is protected: git reads")), "{file}");
    }
    assert!(scene.world.exists("scripts/other"), "what no hook leads to is free");
    scene.server.finish();
}

#[tokio::test]
async fn a_repository_written_file_by_file_is_not_completed_unasked() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    let (head, config) = ("ref: refs/heads/main\n", "[core]\n\tbare = true\n");
    // Held in each group: the file that git looks for first, and the second of `objects` and `refs`.
    let groups = [
        [("a/refs/x", "x"), ("a/objects/info/x", "x"), ("a/config", config), ("a/HEAD", head)],
        [("b/HEAD", head), ("b/config", config), ("b/objects/info/x", "x"), ("b/refs/x", "x")],
    ];
    let files: Vec<_> = groups.into_iter().flatten().collect();
    let writes =
        files.iter().map(|(file, content)| tool_use("Write", write(&project.join(file), content)));
    let run = run(&scene, writes, &EDITS).await;
    let made: Vec<bool> = files.iter().map(|(file, _)| scene.world.exists(file)).collect();
    assert_eq!(made, [true, false, true, false, false, true, true, false], "{run}");
    let request = scene.server.requests().remove(4);
    let error = request.tool_results().pop().unwrap().text;
    assert!(error.contains("a/HEAD is protected: git reads settings and hooks"), "{error}");
    scene.server.finish();
}

#[tokio::test]
async fn what_a_dot_link_leads_to_is_protected_in_a_repository_of_dotfiles() {
    let scene = Scene::new();
    let (project, home) = (scene.world.project_dir(), scene.world.home_dir());
    for file in ["bashrc", "nvim/init.lua", "ssh-config", "readme.md"] {
        scene.world.write(file, "old\n");
    }
    std::fs::create_dir_all(home.join(".config")).unwrap();
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    symlink(project.join("bashrc"), home.join(".bashrc")).unwrap();
    symlink(project.join("nvim"), home.join(".config/nvim")).unwrap();
    symlink(project.join("ssh-config"), home.join(".ssh/config")).unwrap();
    symlink("editor", project.join(".vscode")).unwrap();
    let files = ["bashrc", "nvim/init.lua", "nvim/lua/x.lua", "ssh-config", "editor/tasks.json"];
    let writes = files.iter().chain(&["readme.md"]).fold(Reply::stream(), |reply, file| {
        reply.tool_use("Write", write(&project.join(file), "new\n"))
    });
    run(&scene, [writes], &EDITS).await;
    let errors = errors(&scene);
    for (file, error) in files.iter().zip(&errors) {
        let error = error.as_deref().unwrap_or_default();
        assert!(error.contains(&format!("{file} is protected: ")), "{file}: {error}");
    }
    // It was never read, so that replacing it fails for another reason than the gate.
    assert!(!errors[files.len()].as_deref().unwrap_or_default().contains("protected"));
    scene.server.finish();
}

#[tokio::test]
async fn a_running_session_takes_over_what_a_rule_file_restricts_and_nothing_that_it_allows() {
    let settings = ".claude/settings.json";
    let toml = |list: &str, rules: &str| format!("[permissions]\n{list} = [{rules}]\n");
    let json = |list: &str, rules: &str| format!(r#"{{"permissions": {{"{list}": [{rules}]}}}}"#);
    for own in [true, false] {
        let scene = Scene::new();
        let put = |list: &str, rules: &str| match own {
            true => scene.world.config(&toml(list, rules)),
            false => scene.world.home(settings, &json(list, rules)),
        };
        put("allow", r#""Bash(touch:*)", "Bash(ln:*)""#);
        let calls = |reply: Reply, names: &[&str]| {
            names.iter().fold(reply, |reply, name| reply.tool_use("Bash", bash(name)))
        };
        let first = calls(Reply::stream().gate("one"), &["touch a", "mkdir b", "ln -s x c"]);
        let second = calls(Reply::stream().gate("two"), &["touch d", "mkdir e"]);
        scene.server.when("TASK-1").reply(first).then(second).then(text("done"));
        let run = scene.world.run(["-p", "TASK-1 go"]).start();
        scene.server.reached("one").await;
        put("allow", r#""Bash(touch:*)", "Bash(mkdir:*)", "Bash""#);
        scene.server.open("one");
        scene.server.reached("two").await;
        put("deny", r#""Bash(touch:*)""#);
        scene.server.open("two");
        let run = run.wait().await;
        run.assert_code(0);
        let made = ["a", "b", "c", "d", "e"].map(|name| scene.world.exists(name));
        assert_eq!(made, [true, false, false, false, false], "{own} {run}");
        let told: Vec<&str> =
            run.stderr.lines().filter(|line| line.contains("next start")).collect();
        let [told] = told[..] else { panic!("one line: {run}") };
        for rule in ["Bash(mkdir:*)", "Bash "] {
            assert!(told.contains(rule), "{told}");
        }
        assert!(!told.contains("Bash(touch:*)"), "{told}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_restriction_that_is_taken_away_holds_until_the_next_start_and_is_named() {
    let scene = Scene::new();
    scene.world.config("[permissions]\ndeny = [\"Bash(touch:*)\"]\nask = [\"Bash(mkdir:*)\"]\n");
    let calls = Reply::stream().gate("changed").tool_use("Bash", bash("touch a"));
    let calls = calls.tool_use("Bash", bash("mkdir b"));
    scene.server.when("TASK-1").reply(calls).then(text("done"));
    let args = ["-p", "TASK-1 go", "--allowed-tools", "Bash"];
    let run = scene.world.run(args).start();
    scene.server.reached("changed").await;
    scene.world.config("");
    scene.server.open("changed");
    let run = run.wait().await;
    run.assert_code(0);
    assert!(!scene.world.exists("a") && !scene.world.exists("b"), "{run}");
    let told: Vec<&str> = run.stderr.lines().filter(|line| line.contains("next start")).collect();
    let [told] = told[..] else { panic!("one line: {run}") };
    assert!(told.contains("deny rule Bash(touch:*)"), "{told}");
    assert!(told.contains("ask rule Bash(mkdir:*)"), "{told}");
    scene.server.finish();
}

#[tokio::test]
async fn a_rule_of_the_users_own_always_counts_also_after_its_file_changes() {
    let scene = Scene::new();
    let again = Reply::stream().gate("changed").tool_use("Bash", bash("touch a.txt"));
    scene
        .server
        .when("TASK-1")
        .reply(tool_use("Bash", bash("touch a.txt")))
        .then(again)
        .then(text("all done"));
    let screen = Screen::start(&scene.world, ["TASK-1 go"], 100, 30);
    screen.wait_for("1  Yes");
    screen.keys("3");
    screen.wait_for("config.local.toml");
    screen.keys(ENTER);
    scene.server.reached("changed").await;
    let file = ".caliban/config.local.toml";
    let rules = scene.world.read(file);
    scene.world.write(file, &format!("# another line\n{rules}"));
    std::fs::remove_file(scene.world.project_dir().join("a.txt")).unwrap();
    scene.server.open("changed");
    screen.wait_for("all done");
    assert!(scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_link_counts_in_a_folder_that_can_be_entered_and_not_listed() {
    for folder in [".git/hooks", ".husky", ".dot/in"] {
        let scene = Scene::new();
        let project = scene.world.project_dir();
        git(&project, &["init", "-q"]);
        let (folder, target) = (project.join(folder), project.join("scripts/hook.sh"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir(project.join("scripts")).unwrap();
        std::fs::write(&target, "old\n").unwrap();
        symlink(&target, folder.join("pre-commit")).unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o311)).unwrap();
        scene.server.when("TASK-1").reply(tool_use("Write", write(&target, "new\n")));
        scene.server.when("TASK-1").reply(text("done"));
        let run = scene.world.run(["-p", "TASK-1 go"]).args(EDITS);
        let Some(run) = run.by_ordinary_user() else {
            return skip("a_link_counts_in_a_folder", "there is no setpriv");
        };
        run.finish().await.assert_code(0);
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "old\n", "{}", folder.display());
    }
}
