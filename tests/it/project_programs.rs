//! Programs that lie in the project and that `PATH` would find first: none of them takes the place
//! of one that caliban starts by itself.

use crate::support::pty::{CTRL_C, Screen};
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{text, tool_use};
use crate::support::world::executable;

/// A scene whose project has programs of these names, which `PATH` finds first. Each leaves a mark.
fn scene_with(programs: &[&str]) -> Scene {
    let mut scene = Scene::new();
    let bin = scene.world.project_dir().join("bin");
    for program in programs {
        executable(&bin.join(program), "echo > \"${0%/*}/ran\"");
    }
    let path = std::env::var("PATH").unwrap();
    scene.world.env("PATH", &format!("{}:{path}", bin.display()));
    scene
}

#[tokio::test]
async fn bash_is_not_looked_for_in_the_project() {
    let scene = scene_with(&["bash", "sh", "env"]);
    let call = tool_use("Bash", bash("echo SHELL-77; type -P bash"));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let args = ["-p", "PARENT-1 go", "--allowed-tools", "Bash"];
    scene.world.run(args).finish().await.assert_code(0);
    let result = scene.server.requests()[1].tool_result();
    // The command itself has the user's `PATH`.
    assert!(
        result.text.contains("SHELL-77") && result.text.contains("project/bin/bash"),
        "{result:?}"
    );
    assert!(!scene.world.exists("bin/ran"));
    scene.server.finish();
}

/// Opens a draft in an editor that adds EDITED-77 to it. No program of the project runs.
fn edited(scene: &Scene) -> Screen {
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("? keys");
    screen.keys("draft");
    screen.wait_for("› draft");
    screen.keys("\x07");
    screen.wait_for("and EDITED-77");
    assert!(!scene.world.exists("bin/ran"));
    screen
}

#[tokio::test]
async fn the_editor_is_not_looked_for_in_the_project() {
    let mut scene = scene_with(&["my-editor"]);
    let editor = scene.world.root().join("tools/my-editor");
    executable(&editor, "printf ' and EDITED-77' >> \"$1\"");
    let bin = scene.world.project_dir().join("bin");
    let path = format!("{}:{}:/usr/bin:/bin", bin.display(), editor.parent().unwrap().display());
    scene.world.env("PATH", &path).env("VISUAL", "my-editor");
    let screen = edited(&scene);
    screen.keys(CTRL_C);
    screen.wait_gone("EDITED-77");
    screen.keys("\x04");
    screen.exit().assert_restored();
    scene.server.finish();
}

#[tokio::test]
async fn without_a_variable_the_usual_editors_are_tried_outside_of_the_project() {
    let mut scene = scene_with(&["vi", "nano"]);
    let editor = scene.world.root().join("tools/nano");
    executable(&editor, "printf ' and EDITED-77' >> \"$1\"");
    let bin = scene.world.project_dir().join("bin");
    let path = format!("{}:{}", bin.display(), editor.parent().unwrap().display());
    scene.world.env("PATH", &path);
    edited(&scene);
    scene.server.finish();
}

#[tokio::test]
async fn the_doctor_starts_no_program_of_the_project_and_hands_on_no_key() {
    let mut scene = scene_with(&["git"]);
    let git = scene.world.root().join("tools/git");
    executable(&git, "env > \"${0%/*}/seen\"; echo git version 2.50.0");
    let bin = scene.world.project_dir().join("bin");
    let path = format!("{}:{}:/usr/bin:/bin", bin.display(), git.parent().unwrap().display());
    scene.world.env("PATH", &path).env("MY_TOKEN", "TOKEN-77");
    scene.server.offer(&["claude-sonnet-5"]);
    let run = scene.world.run(["doctor"]).finish().await;
    assert!(run.stdout.contains("2.50.0"), "{run}");
    assert!(!scene.world.exists("bin/ran"));
    let seen = std::fs::read_to_string(git.with_file_name("seen")).unwrap();
    assert!(seen.contains("HOME="), "{seen}");
    assert!(!seen.contains("API_KEY") && !seen.contains("TOKEN-77"), "{seen}");
    scene.server.finish();
}
