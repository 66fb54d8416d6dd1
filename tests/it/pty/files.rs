//! Commands that show or write files: changes, exports, instructions, hooks and skills.

use std::fs;
use std::process::Command;

use super::{NOTHING, send};
use crate::support::process::eventually;
use crate::support::pty::{CTRL_D, ENTER, ESC, Screen};
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{text, tool_use};

fn git(scene: &Scene, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
    let status = git.current_dir(scene.world.project_dir()).env_clear();
    let status = status.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nowhere");
    assert!(status.status().unwrap().success(), "git {words:?}");
}

#[tokio::test]
async fn the_changes_of_the_checkout_are_shown_as_diffs() {
    let scene = Scene::new();
    scene.world.write("kept.txt", "one\ntwo\n");
    git(&scene, &["init", "-q"]);
    git(&scene, &["add", "-A"]);
    git(&scene, &["commit", "-q", "-m", "first"]);
    scene.world.write("kept.txt", "one\nSECOND-LINE\n");
    scene.world.write("fresh.txt", "FRESH-TEXT\n");
    let screen = Screen::start(&scene.world, NOTHING, 100, 40);
    screen.wait_for("? keys");
    send(&screen, "/diff ");
    let shown = screen.wait_for("FRESH-TEXT");
    for part in ["2 files", "kept.txt", "SECOND-LINE", "fresh.txt  untracked", "two"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn an_export_is_a_new_file_that_nobody_else_can_read() {
    use std::os::unix::fs::PermissionsExt as _;

    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    send(&screen, "PARENT-1 go");
    screen.wait_for(DONE);
    screen.wait_for("done in");
    send(&screen, "/export talk.md");
    screen.wait_for("exported to ");
    let file = scene.world.project_dir().join("talk.md");
    let exported = fs::read_to_string(&file).unwrap();
    assert!(exported.contains("PARENT-1 go") && exported.contains(DONE), "{exported}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    send(&screen, "/export talk.md");
    screen.wait_for("talk.md exists: name another file");
    assert_eq!(fs::read_to_string(&file).unwrap(), exported);
    scene.server.finish();
}

#[tokio::test]
async fn an_export_says_of_a_call_that_goes_on_that_it_is_running() {
    let scene = Scene::new();
    let command = bash("mkfifo next; read -r _ < next");
    scene.server.when(PARENT).reply(tool_use("Bash", command)).then(text(DONE));
    let arguments = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, arguments, 120, 30);
    screen.wait_for("mkfifo next");
    let next = scene.world.project_dir().join("next");
    eventually(|| next.exists()).await;
    send(&screen, "/export talk.md");
    screen.wait_for("exported to ");
    let exported = scene.world.read("talk.md");
    assert!(exported.contains("still running when this was read"), "{exported}");
    assert!(!exported.contains("interrupted"), "{exported}");
    tokio::task::spawn_blocking(move || fs::write(next, "go\n")).await.unwrap().unwrap();
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn instructions_are_edited_in_the_editor_and_read_with_the_next_prompt() {
    let mut scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    scene.world.write("editor.sh", "echo RULE-FROM-THE-EDITOR >\"$1\"\n");
    scene.world.env("EDITOR", "sh ./editor.sh");
    let screen = Screen::start(&scene.world, NOTHING, 100, 30);
    screen.wait_for("? keys");
    send(&screen, "/memory ");
    screen.wait_for("new: instructions for this project");
    screen.keys(ENTER);
    screen.wait_for("takes effect with the next prompt");
    send(&screen, "PARENT-1 go");
    screen.wait_for(DONE);
    let request = scene.server.requests()[0].body.to_string();
    assert!(request.contains("RULE-FROM-THE-EDITOR"), "{request}");
    scene.server.finish();
}

#[tokio::test]
async fn a_session_is_named_and_resumed_by_its_name() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE)).then(text("said again"));
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    send(&screen, "/rename too early");
    screen.wait_for("nothing to name yet");
    send(&screen, "PARENT-1 go");
    screen.wait_for("done in");
    send(&screen, "/rename Slow login");
    screen.wait_for("this session is now named Slow login");
    screen.keys(CTRL_D);
    screen.wait_ended();
    let listed = scene.world.run(["sessions"]).finish().await;
    assert!(listed.stdout.contains("Slow login"), "{listed}");
    let shown = scene.world.run(["sessions", "show", "slow login"]).finish().await;
    assert!(shown.assert_code(0).stdout.contains(DONE), "{shown}");
    let screen = Screen::start(&scene.world, ["--resume", "slow login"], 120, 30);
    screen.wait_for(DONE);
    send(&screen, "/status ");
    screen.wait_for("Slow login · ");
    screen.keys(ESC);
    screen.wait_gone("Slow login · ");
    send(&screen, "/clear");
    screen.wait_for("this is a new session");
    send(&screen, "PARENT-1 go");
    screen.wait_for("said again");
    send(&screen, "/rename slow  LOGIN");
    screen.wait_for("another session has the name slow  LOGIN: choose another one");
    scene.server.finish();
}

#[tokio::test]
async fn hooks_and_skills_are_listed_with_their_files() {
    let scene = Scene::new();
    scene.world.config("[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = \"guard --now\"\n");
    let skill = "---\nname: pdf\ndescription: reads forms\n---\nDo it.\n";
    scene.world.write(".caliban/skills/pdf/SKILL.md", skill);
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    send(&screen, "/hooks ");
    let shown = screen.wait_for("guard --now");
    assert!(shown.contains("PreToolUse(Bash)") && shown.contains("config.toml:1"), "{shown}");
    screen.keys(ESC);
    screen.wait_gone("guard --now");
    send(&screen, "/skills ");
    let shown = screen.wait_for("reads forms");
    assert!(shown.contains("pdf") && shown.contains("SKILL.md"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn a_review_is_a_prompt_with_what_the_user_names() {
    let scene = Scene::new();
    scene.server.when("the last two commits").reply(text(DONE));
    let screen = Screen::start(&scene.world, NOTHING, 100, 30);
    screen.wait_for("? keys");
    send(&screen, "/review the last two commits");
    screen.wait_for(DONE);
    let prompt = scene.server.requests()[0].first_user_text();
    assert!(prompt.contains("What to review: the last two commits"), "{prompt}");
    scene.server.finish();
}

#[tokio::test]
async fn a_link_among_the_files_with_instructions_is_shown_with_its_target() {
    let scene = Scene::new();
    let outside = scene.world.project_dir().with_file_name("victim.sh");
    std::os::unix::fs::symlink(&outside, scene.world.project_dir().join("AGENTS.md")).unwrap();
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    send(&screen, "/memory ");
    let shown = screen.wait_for("new: your instructions");
    assert!(!shown.contains("new: instructions for this project"), "{shown}");
    let link = shown.lines().find(|row| row.contains("not read: a link to "));
    assert!(link.is_some_and(|row| row.contains("victim.sh")), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn a_link_is_shown_with_its_target_under_any_name_that_is_read_and_only_if_it_leads_out() {
    let scene = Scene::new();
    let project = scene.world.project_dir();
    let outside = project.with_file_name("victim.md");
    std::fs::write(project.join("AGENTS.md"), "Be brief.").unwrap();
    std::os::unix::fs::symlink("AGENTS.md", project.join("CLAUDE.md")).unwrap();
    std::fs::create_dir(project.join(".claude")).unwrap();
    std::os::unix::fs::symlink(&outside, project.join(".claude/CLAUDE.md")).unwrap();
    std::fs::write(&outside, "Obey.").unwrap();
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    send(&screen, "/memory ");
    let shown = screen.wait_for("new: your instructions");
    let rows: Vec<&str> = shown.lines().filter(|row| row.contains(".md ")).collect();
    let link = rows.iter().find(|row| row.contains(".claude/CLAUDE.md"));
    assert!(link.is_some_and(|row| row.contains("not read: a link to ")), "{shown}");
    assert_eq!(shown.matches("not read: a link to ").count(), 1, "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn a_prompt_that_no_money_is_left_for_stays_in_the_draft() {
    let scene = Scene::new();
    let dear = text("so far").tool_use("Bash", bash("true")).usage(1000, 120_000);
    scene.server.when(PARENT).reply(dear);
    let args =
        ["--model", "claude-sonnet-5", "--max-budget-usd", "1.00", "--allowed-tools", "Bash(true)"];
    let screen = Screen::start(&scene.world, args, 120, 30);
    screen.wait_for("? keys");
    send(&screen, "PARENT-1 go");
    screen.wait_for("budget $1.00 spent");
    screen.wait_for("quit, then `caliban -c --max-budget-usd USD` resumes with a higher limit");
    send(&screen, "and more of it");
    screen.wait_for("The budget of $1.00 is spent: quit, then");
    let shown = screen.wait_for("Refused · your text is back in the prompt");
    assert_eq!(shown.matches("and more of it").count(), 1, "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn files_that_are_refused_are_counted_at_the_start() {
    let scene = Scene::new();
    scene.world.write(".caliban/agents/broken.md", "---\nname: broken\n---\nDo it.\n");
    scene.world.write(".caliban/skills/odd/SKILL.md", "---\nname: odd\n---\nDo it.\n");
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    let shown = screen.wait_for("refused: /doctor");
    assert!(shown.contains(" · 2 files refused: /doctor"), "{shown}");
    scene.server.finish();
}
