//! The folder that accepted entries start in: it comes with the entry, wherever below the project
//! caliban is started.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent_with, bash};
use crate::support::script::{text, tool_use};

/// A folder that somebody else has filled, with no `.git` of its own.
const VENDOR: &str = "vendor/lib";

/// Programs that the project and the folder of the other both have.
const PROGRAMS: [&str; 4] = ["lint.sh", "tools/srv.sh", "key.sh", ".claude/hooks/check.sh"];

const SHARED: &str = ".caliban/config.toml";
const SETTINGS: &str = ".claude/settings.json";
const DEFINITION: &str = ".claude/agents/worker.md";

/// Entries, and the file in the other's folder that must not move them there.
#[derive(Default)]
struct Row<'a> {
    /// Of the project, at its root.
    project: &'a [(&'a str, &'a str)],
    /// The user's `config.toml`.
    config: &'a str,
    /// The user's `~/.claude/settings.json`.
    settings: &'a str,
    /// The user's definition of the agent `worker`.
    worker: &'a str,
    nearer: Option<(&'a str, &'a str)>,
    /// Programs that run.
    runs: &'a [&'a str],
}

/// Programs that write down their name and the folders that they know into a file of this name.
fn programs(scene: &Scene, below: &str, log: &str) {
    let log = scene.world.project_dir().join(log);
    for name in PROGRAMS {
        let line = "echo sk-of-a-command\n";
        let script = format!(
            "#!/bin/sh\necho \"{name} $(pwd -P) $CALIBAN_PROJECT_DIR $CLAUDE_PROJECT_DIR\" >>'{}'\n{}",
            log.display(),
            if name == "key.sh" { line } else { "" }
        );
        let path = format!("{below}/{name}");
        scene.world.write(&path, &script);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(scene.world.project_dir().join(path), mode).unwrap();
    }
}

/// The notes of the programs, each once.
fn notes(scene: &Scene, log: &str) -> Vec<String> {
    let path = scene.world.project_dir().join(log);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines
}

fn expected(programs: &[&str], folder: &Path) -> Vec<String> {
    let folder = folder.canonicalize().unwrap().display().to_string();
    let mut lines: Vec<_> =
        programs.iter().map(|name| format!("{name} {folder} {folder} {folder}")).collect();
    lines.sort();
    lines
}

/// A run in the other's folder in which main and the agent `worker`, where there is one, call Bash.
async fn run(scene: &Scene, has_worker: bool, args: &[&str]) -> Finished {
    if has_worker {
        scene.parent_calls([agent_with("CHILD-A", "agent", "worker".into())]);
        let call = tool_use("Bash", bash("true"));
        scene.server.when("CHILD-A").reply(call).then(text("done"));
    } else {
        scene.server.when(PARENT).reply(tool_use("Bash", bash("true"))).then(text(DONE));
    }
    let run = scene.world.run(["-p", "PARENT-1 go", "--dangerously-skip-permissions"]);
    let run = run.args(["-C", VENDOR, "--provider", "anthropic"]).args(args.iter().copied());
    let run = run.finish().await;
    run.assert_code(0);
    run
}

fn hook(command: &str) -> String {
    let hook = json!({ "type": "command", "command": command });
    json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] } }).to_string()
}

fn server(command: &str) -> String {
    json!({ "mcpServers": { "srv": { "command": command, "args": ["x"] } } }).to_string()
}

/// A definition with a hook and a server; `cwd` is the line that asks for the project.
fn worker(cwd: [&str; 2]) -> String {
    let [of_hook, of_server] = cwd;
    format!(
        "---\nname: worker\ndescription: Works with care.\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - command: ./lint.sh\n{of_hook}mcpServers:\n  - srv:\n      command: ./tools/srv.sh\n{of_server}---\nWork.\n"
    )
}

#[tokio::test]
async fn accepted_entries_start_in_the_folder_they_were_accepted_for_wherever_caliban_is_started() {
    const TOML_HOOK: &str = "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = \"./lint.sh\"\n";
    const TOML_SERVER: &str = "[mcp_servers.srv]\ncommand = \"sh\"\nargs = [\"tools/srv.sh\"]\n";
    const KEY: &str = "[providers.anthropic]\napi_key_command = \"./key.sh\"\n";
    let settings = Some((SETTINGS, "{}"));
    let shared = Some((SHARED, "\n"));
    let (lint, check) = (hook("./lint.sh"), hook("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.sh"));
    let (words, named) = (server("./tools/srv.sh"), server("${CLAUDE_PROJECT_DIR}/tools/srv.sh"));
    let theirs = worker([""; 2]);
    let own = worker(["          cwd: project\n", "      cwd: project\n"]);
    let asks = format!("{TOML_HOOK}cwd = \"project\"\n{TOML_SERVER}cwd = \"project\"\n");
    let rows = [
        Row {
            project: &[(SHARED, TOML_HOOK)],
            nearer: settings,
            runs: &["lint.sh"],
            ..Row::default()
        },
        Row { project: &[(SETTINGS, &lint)], nearer: shared, runs: &["lint.sh"], ..Row::default() },
        Row {
            project: &[(SETTINGS, &check)],
            nearer: shared,
            runs: &[".claude/hooks/check.sh"],
            ..Row::default()
        },
        Row {
            project: &[(".claude/settings.local.json", &lint)],
            nearer: shared,
            runs: &["lint.sh"],
            ..Row::default()
        },
        Row { project: &[(SHARED, TOML_SERVER)], runs: &["tools/srv.sh"], ..Row::default() },
        Row { project: &[(".mcp.json", &words)], runs: &["tools/srv.sh"], ..Row::default() },
        Row {
            project: &[(".mcp.json", &named)],
            nearer: settings,
            runs: &["tools/srv.sh"],
            ..Row::default()
        },
        Row { project: &[(SHARED, KEY)], runs: &["key.sh"], ..Row::default() },
        Row {
            project: &[(DEFINITION, &theirs)],
            nearer: settings,
            runs: &["lint.sh", "tools/srv.sh"],
            ..Row::default()
        },
        Row {
            config: &asks,
            nearer: settings,
            runs: &["lint.sh", "tools/srv.sh"],
            ..Row::default()
        },
        Row { settings: &lint, nearer: settings, runs: &["lint.sh"], ..Row::default() },
        Row { worker: &own, nearer: shared, runs: &["lint.sh", "tools/srv.sh"], ..Row::default() },
    ];
    for (index, row) in rows.iter().enumerate() {
        let mut scene = Scene::new();
        let root = scene.world.project_dir();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        programs(&scene, ".", "good");
        row.project.iter().for_each(|(file, content)| scene.world.write(file, content));
        if !row.config.is_empty() {
            scene.world.config(row.config);
        }
        if !row.settings.is_empty() {
            scene.world.home(SETTINGS, row.settings);
        }
        if !row.worker.is_empty() {
            scene.world.agent("worker", row.worker);
        }
        if row.runs == ["key.sh"] {
            scene.world.unset("ANTHROPIC_API_KEY");
        }
        scene.world.trust();
        programs(&scene, VENDOR, "bad");
        if let Some((file, content)) = row.nearer {
            scene.world.write(&format!("{VENDOR}/{file}"), content);
        }
        let has_worker = !row.worker.is_empty() || row.project.iter().any(|it| it.0 == DEFINITION);
        let run = run(&scene, has_worker, &[]).await;
        assert_eq!(notes(&scene, "bad"), [""; 0], "row {index}\n{run}");
        assert_eq!(notes(&scene, "good"), expected(row.runs, &root), "row {index}\n{run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_file_that_puts_one_of_the_project_out_of_force_is_named_at_the_start() {
    for file in [SHARED, SETTINGS] {
        let scene = Scene::new();
        let root = scene.world.project_dir().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let empty = if file == SHARED { "" } else { "{}" };
        scene.world.write(file, empty);
        scene.world.write(&format!("{VENDOR}/README"), "");
        let told = format!("{} is ignored because ", root.join(file).display());
        let quiet = run(&scene, false, &[]).await;
        assert!(!quiet.stderr.contains("is not read"), "{quiet}");
        scene.world.write(&format!("{VENDOR}/{file}"), empty);
        let run = run(&scene, false, &[]).await;
        assert_eq!(run.stderr.matches(&told).count(), 1, "{run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn entries_of_the_command_line_start_in_the_working_directory() {
    let agents = json!({ "worker": { "description": "Works.", "prompt": "Work.",
        "hooks": { "PreToolUse": [{ "hooks": [{ "command": "./lint.sh" }] }] } } });
    let rows = [
        ("--settings", hook("./lint.sh"), "lint.sh"),
        ("--mcp-config", server("${CALIBAN_PROJECT_DIR}/tools/srv.sh"), "tools/srv.sh"),
        ("--agents", agents.to_string(), "lint.sh"),
    ];
    for (option, value, program) in rows {
        let scene = Scene::new();
        std::fs::create_dir_all(scene.world.project_dir().join(".git")).unwrap();
        programs(&scene, ".", "root");
        programs(&scene, VENDOR, "here");
        let run = run(&scene, option == "--agents", &[option, &value]).await;
        assert_eq!(notes(&scene, "root"), [""; 0], "{option}\n{run}");
        let here = scene.world.project_dir().join(VENDOR);
        assert_eq!(notes(&scene, "here"), expected(&[program], &here), "{option}\n{run}");
        scene.server.finish();
    }
}
