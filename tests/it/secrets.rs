//! The keys of a session: no command reads them, and no model, transcript or log gets to see them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::support::pty::{ENTER, Screen};
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent_with, bash};
use crate::support::script::{text, tool_use};
use crate::support::skip;
use crate::support::world::KEY;

/// Looks for the key in all that a command can read of its parent and of every other process, as
/// hexadecimal digits: no mask knows those.
const LOOK: &str = r#"
echo "parent=$(cat /proc/$PPID/comm)"
for file in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do
    cat "$file" 2>/dev/null | od -An -v -tx1 | tr -d ' \n' | grep -q -f key.hex && echo "read $file"
done
ps eww -A 2>/dev/null | od -An -v -tx1 | tr -d ' \n' | grep -q -f key.hex && echo "read ps"
for file in mem maps environ; do
    (exec 3<"/proc/$PPID/$file") 2>/dev/null && echo "opened $file"
done
ls "/proc/$PPID/fd" >/dev/null 2>&1 && echo "opened fd"
echo looked
"#;

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_command_of_an_ordinary_user_cannot_read_the_key_out_of_the_process() {
    let scene = Scene::new();
    scene.world.write("look.sh", LOOK);
    scene.world.write("key.hex", &hex(KEY));
    let look = tool_use("Bash", bash(". ./look.sh"));
    scene.server.when(PARENT).reply(look).then(text(DONE));
    let Some(run) = scene.run().by_ordinary_user() else {
        return skip("a_command_of_an_ordinary_user", "there is no setpriv");
    };
    run.finish().await.assert_code(0);
    let result = scene.server.requests_of(PARENT)[1].tool_result().text;
    assert_eq!(result.trim(), "parent=caliban\nlooked");
    scene.server.finish();
}

#[tokio::test]
async fn what_needs_our_own_descriptors_works_for_an_ordinary_user() {
    let scene = Scene::new();
    let git = |words: &str| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=A", "-c", "user.email=a@b"]).args(words.split(' '));
        assert!(git.current_dir(scene.world.project_dir()).status().unwrap().success());
    };
    scene.world.write("a.txt", "one\n");
    ["init -q -b main", "add -A", "commit -qm first"].iter().for_each(|words| git(words));
    let definition = "---\ndescription: Works apart.\nisolation: worktree\n---\nYou work.";
    scene.world.agent("apart", definition);
    scene.parent_calls([agent_with("CHILD-A", "agent", "apart".into())]);
    let write = tool_use("Write", json!({"file_path": "new/b.txt", "content": "two\n"}))
        .tool_use("Bash", bash("echo three > c.txt && cat c.txt; echo no > /var/tmp/caliban-test"));
    scene.server.when("CHILD-A").reply(write).then(text("done"));
    let Some(run) = scene.run().by_ordinary_user() else {
        return skip("what_needs_our_own_descriptors", "there is no setpriv");
    };
    run.finish().await.assert_code(0);
    let results = scene.server.requests_of("CHILD-A")[1].tool_results();
    assert!(!results[0].is_error, "{}", results[0].text);
    assert!(results[1].text.starts_with("three\n"), "{}", results[1].text);
    assert!(!Path::new("/var/tmp/caliban-test").exists());
    scene.server.finish();
}

/// The key is in nothing that was sent to a model, stored, printed or logged.
fn assert_hidden(scene: &Scene, finished: &Finished) {
    let sent: String = scene.server.requests().iter().map(|request| request.text()).collect();
    let mut all = format!("{finished}{}{sent}", scene.world.log());
    for folder in scene.world.sessions() {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        for file in files.chain(scene.world.child_transcripts()).filter(|path| path.is_file()) {
            all.push_str(&fs::read_to_string(file).unwrap());
        }
    }
    let found: Vec<_> = all.lines().filter(|line| line.contains(KEY)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn a_key_in_a_result_reaches_neither_the_model_nor_the_transcript() {
    let scene = Scene::new();
    scene.world.config("[log]\nlevel = \"debug\"\n");
    scene.world.write("key.env", &format!("A=1\nKEY={KEY}\n"));
    scene.world.write("half.sh", &format!("printf %s {}; echo {}", &KEY[..9], &KEY[9..]));
    let calls = tool_use("Read", json!({"file_path": "key.env"}))
        .tool_use("Bash", bash("cat key.env; bash half.sh"))
        .tool_use("Bash", bash("cat key.env >&2; exit 3"))
        .tool_use("Grep", json!({"pattern": "KEY", "output_mode": "content"}))
        .tool_use(
            "Edit",
            json!({"file_path": "key.env", "old_string": "A=1", "new_string": "A=2"}),
        );
    scene.server.when(PARENT).reply(calls).then(text(DONE));
    let finished = scene.go().await;
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    for result in &results[..4] {
        assert!(result.text.contains("KEY=***"), "{}", result.text);
        assert!(result.text.contains("do not write *** in its place"), "{}", result.text);
    }
    assert_eq!(scene.world.read("key.env"), format!("A=2\nKEY={KEY}\n"));
    assert_hidden(&scene, &finished);
    scene.server.finish();
}

#[tokio::test]
async fn a_key_in_memory_in_a_hooks_words_or_in_a_childs_results_stays_here() {
    let scene = Scene::new();
    scene.world.write("AGENTS.md", &format!("Use the key {KEY}.\n"));
    scene.world.write("key.env", KEY);
    let hook = |event: &str| {
        let command = json!(format!("echo \"{event}: $(cat \"$CALIBAN_PROJECT_DIR/key.env\")\""));
        format!("[[hooks.{event}]]\ncommand = {command}\n")
    };
    let events = ["SessionStart", "UserPromptSubmit"];
    scene.world.config(&events.map(hook).concat());
    scene.parent_calls([agent_with("CHILD-A", "agent", "general-purpose".into())]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("cat key.env"))).then(text("done"));
    let finished = scene.go().await;
    let first = scene.server.requests_of(PARENT)[0].text();
    assert!(first.contains("Use the key ***."), "{first}");
    for event in events {
        assert!(first.contains(&format!("{event}: ***")), "{first}");
    }
    assert!(scene.server.requests_of("CHILD-A")[1].tool_result().text.starts_with("***"));
    assert_hidden(&scene, &finished);
    scene.server.finish();
}

#[tokio::test]
async fn a_key_in_a_prompt_a_description_or_the_name_of_a_folder_stays_here() {
    let scene = Scene::new();
    let skill = format!("---\nname: look\ndescription: Looks with {KEY} at it.\n---\nLook.\n");
    scene.world.write(".claude/skills/look/SKILL.md", &skill);
    let scout =
        format!("---\nname: scout\ndescription: Searches with {KEY}.\n---\nPROMPT {KEY} end.\n");
    scene.world.write(".claude/agents/scout.md", &scout);
    scene.world.write(&format!("deep/{KEY}/a.txt"), "a\n");
    scene.parent_calls([agent_with("CHILD-A", "agent", "scout".into())]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("cd deep/*"))).then(text("done"));
    let finished = scene.go().await;
    let first = &scene.server.requests_of(PARENT)[0];
    let offered = json!(first.tools()).to_string();
    for description in ["Looks with *** at it.", "Searches with ***."] {
        assert!(offered.contains(description), "{offered}");
    }
    let child = &scene.server.requests_of("CHILD-A")[0];
    assert!(child.system().contains("PROMPT *** end."), "{}", child.system());
    let bodies: String = scene.server.requests().iter().map(|it| it.body.to_string()).collect();
    assert!(!bodies.contains(KEY), "{bodies}");
    assert!(finished.stdout.contains("deep/***"), "{finished}");
    assert_hidden(&scene, &finished);
    scene.server.finish();
}

#[tokio::test]
async fn a_key_that_an_agent_writes_into_a_call_is_in_no_frame_and_the_call_runs_as_it_is() {
    let scene = Scene::new();
    scene.parent_calls([agent_with("CHILD-A", "agent", "general-purpose".into())]);
    let write = tool_use("Bash", bash(&format!("echo {KEY} > key.txt")));
    scene.server.when("CHILD-A").reply(write).then(text(format!("wrote {KEY}")));
    let finished = scene.go().await;
    assert_eq!(scene.world.read("key.txt"), format!("{KEY}\n"));
    assert!(finished.stdout.contains("echo *** > key.txt"), "{finished}");
    assert!(!finished.to_string().contains(KEY), "{finished}");
    scene.server.finish();
}

#[tokio::test]
async fn a_key_that_the_users_own_command_prints_is_neither_shown_nor_sent() {
    let scene = Scene::new();
    scene.world.write("key.env", &format!("KEY={KEY}\n"));
    scene.server.when("LOOK-1").reply(text("seen"));
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("? keys");
    let send = |text: &str| {
        screen.keys(text);
        screen.wait_for(text);
        screen.keys(ENTER);
    };
    send("!cat key.env");
    screen.wait_for("KEY=***");
    send("LOOK-1 what was that?");
    screen.wait_for("seen");
    let sent = scene.server.requests_of("LOOK-1")[0].text();
    assert!(sent.contains("KEY=***") && !sent.contains(KEY), "{sent}");
    assert!(!screen.contents().contains(KEY));
    scene.server.finish();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// All below a folder, itself included.
fn below(path: &Path) -> Vec<std::path::PathBuf> {
    let mut all = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        all.extend(entries.flat_map(|entry| below(&entry.unwrap().path())));
    }
    all
}

#[tokio::test]
async fn logs_and_transcripts_are_their_owners_alone_also_those_of_before() {
    let scene = Scene::new();
    let logs = scene.world.settings_dir().join("logs");
    fs::create_dir(&logs).unwrap();
    let old = logs.join("caliban.2020-01-01.ndjson");
    fs::write(&old, "{}\n").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).unwrap();
    scene.world.config("[log]\nlevel = \"debug\"\n");
    scene.parent_calls([agent_with("CHILD-A", "agent", "general-purpose".into())]);
    scene.server.when("CHILD-A").reply(text("done"));
    scene.go().await;
    let sessions = scene.world.settings_dir().join("sessions");
    let written: Vec<_> = [logs, sessions].iter().flat_map(|folder| below(folder)).collect();
    assert!(written.len() > 6, "{written:?}");
    for path in written {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}: {:o}", path.display(), mode(&path));
    }
    scene.server.finish();
}

#[tokio::test]
async fn what_arguments_and_files_say_is_printed_without_acting_on_the_terminal() {
    let scene = Scene::new();
    let evil = "x\u{1b}]0;title\u{7}\u{202e}\u{200b}\u{2028}\u{e0041}";
    let flag = format!("--{evil}");
    for args in [
        vec![flag.as_str()],
        vec!["-p", "hello", "--model", "m", "-C", evil],
        vec!["-p", "hello", "--mcp-config", evil],
        vec!["-p", "hello", "--resume", evil],
        vec!["agents", "show", evil],
        vec!["sessions", "show", evil],
        vec!["mcp", "get", evil],
        vec!["permissions", "test", evil],
        vec!["completions", evil],
    ] {
        let run = scene.world.run(args.iter().copied()).finish().await;
        let said = format!("{}{}", run.stdout, run.stderr);
        let raw: Vec<_> =
            evil.chars().skip(1).filter(|c| !c.is_ascii() || c.is_control()).collect();
        assert!(!said.contains(raw.as_slice()), "{args:?}: {said:?}");
        let shown = "\\u{202e}\\u{200b}\\u{2028}\\u{e0041}";
        assert!(said.contains(shown), "{args:?}: {said:?}");
    }
    scene.server.finish();
}
