//! Choices made on the screen: the next start begins with them, unless something else is named.

use super::{NOTHING, send};
use crate::support::pty::{CTRL_D, SHIFT_TAB, Screen};
use crate::support::scene::Scene;
use crate::support::script::text;

fn start<'a>(scene: &Scene, args: impl IntoIterator<Item = &'a str>) -> Screen {
    let screen = Screen::start(&scene.world, args, 120, 30);
    screen.wait_for("Ctrl+D quits");
    screen
}

fn quit(screen: Screen) {
    screen.keys(CTRL_D);
    assert_eq!(screen.exit().exit, Ok(0));
}

fn stored(scene: &Scene) -> String {
    std::fs::read_to_string(scene.world.settings_dir().join("choices.json")).unwrap_or_default()
}

/// Chooses a model, an effort, a theme and plan mode.
fn choose_all(scene: &Scene) {
    let screen = start(scene, NOTHING);
    send(&screen, "/model claude-opus-5-5");
    screen.wait_for("model: claude-opus-5-5, from the next request on");
    send(&screen, "/effort low");
    screen.wait_for("effort: low, from the next request on");
    send(&screen, "/theme contrast");
    screen.wait_for("theme contrast, for later sessions too");
    screen.keys(SHIFT_TAB);
    screen.wait_for("mode: acceptEdits");
    screen.keys(SHIFT_TAB);
    screen.wait_for("mode: plan");
    quit(screen);
}

#[tokio::test]
async fn the_next_start_in_the_project_begins_with_what_was_chosen() {
    let scene = Scene::new();
    choose_all(&scene);
    scene.server.when("HELLO-1").reply(text("said-1"));
    let screen = start(&scene, NOTHING);
    let shown = screen.wait_for("claude-opus-5-5");
    assert!(shown.contains(" plan · "), "{shown}");
    send(&screen, "HELLO-1");
    screen.wait_for("said-1");
    let request = &scene.server.requests()[0];
    assert_eq!(request.body["model"], "claude-opus-5-5");
    assert_eq!(request.body["output_config"]["effort"], "low");
    send(&screen, "/theme");
    let shown = screen.wait_for("in use");
    let row = shown.lines().find(|line| line.contains("in use")).unwrap();
    assert!(row.contains("contrast"), "{shown}");
}

#[tokio::test]
async fn another_project_has_the_theme_alone() {
    let scene = Scene::new();
    choose_all(&scene);
    let other = scene.world.root().join("other");
    std::fs::create_dir(&other).unwrap();
    let screen = start(&scene, ["-C", other.to_str().unwrap()]);
    let shown = screen.wait_for("claude-sonnet");
    assert!(shown.contains(" default · "), "{shown}");
    send(&screen, "/theme");
    let shown = screen.wait_for("in use");
    let row = shown.lines().find(|line| line.contains("in use")).unwrap();
    assert!(row.contains("contrast"), "{shown}");
}

#[tokio::test]
async fn options_and_files_take_precedence_and_the_screen_says_so() {
    let scene = Scene::new();
    choose_all(&scene);
    let args = ["--model", "claude-haiku-5-5", "--permission-mode", "default"];
    let screen = start(&scene, args);
    let shown = screen.wait_for("claude-haiku-5-5");
    assert!(shown.contains(" default · "), "{shown}");
    let before = stored(&scene);
    send(&screen, "/model claude-sonnet-5");
    screen.wait_for("model claude-sonnet-5 for this session · not kept, since --model was given");
    screen.keys(SHIFT_TAB);
    screen.wait_for("mode: acceptEdits");
    screen.keys(SHIFT_TAB);
    screen.wait_for("plan mode for this session · not kept, since --permission-mode was given");
    quit(screen);
    assert_eq!(stored(&scene), before);
    scene.world.config("[model]\nname = \"claude-sonnet-5\"\n");
    let screen = start(&scene, ["--theme", "dark"]);
    screen.wait_for("claude-sonnet-5");
    send(&screen, "/model claude-haiku-5-5");
    screen.wait_for("model claude-haiku-5-5 for this session");
    screen.wait_for("config.toml:2 sets it");
    send(&screen, "/theme light");
    let shown = screen.wait_for("theme light for this session · not kept, since --theme was given");
    assert!(!shown.contains("for later sessions too"), "{shown}");
    quit(screen);
    assert_eq!(stored(&scene), before);
}

#[tokio::test]
async fn a_model_that_is_chosen_says_nothing_about_an_effort_that_nobody_chose() {
    let scene = Scene::new();
    scene.world.config("[model]\nname = \"claude-sonnet-5\"\neffort = \"low\"\n");
    let screen = start(&scene, NOTHING);
    screen.wait_for("claude-sonnet-5");
    send(&screen, "/model claude-opus-5-5");
    screen.wait_for("model claude-opus-5-5 for this session");
    send(&screen, "/effort high");
    let shown = screen.wait_for("effort high for this session");
    assert!(!shown.contains("effort low"), "{shown}");
}

#[tokio::test]
async fn a_session_that_is_not_stored_keeps_choices_all_the_same() {
    let scene = Scene::new();
    let screen = start(&scene, ["--no-session"]);
    send(&screen, "/effort low");
    screen.wait_for("effort: low, from the next request on");
    quit(screen);
    assert!(stored(&scene).contains("\"low\""), "{}", stored(&scene));
}

#[tokio::test]
async fn no_freer_mode_is_kept() {
    let scene = Scene::new();
    choose_all(&scene);
    let screen = start(&scene, NOTHING);
    screen.wait_for(" plan · ");
    screen.keys(SHIFT_TAB);
    screen.wait_for("mode: default");
    screen.keys(SHIFT_TAB);
    screen.wait_for("mode: acceptEdits");
    quit(screen);
    let screen = start(&scene, NOTHING);
    screen.wait_for(" default · ");
    assert!(!stored(&scene).contains("acceptEdits"));
}

#[tokio::test]
async fn a_session_keeps_the_model_that_was_chosen_in_it() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("said-1"));
    let screen = start(&scene, ["HELLO-1"]);
    screen.wait_for("said-1");
    screen.wait_for("done in");
    send(&screen, "/model claude-opus-5-5");
    screen.wait_for("model: claude-opus-5-5");
    quit(screen);
    let screen = start(&scene, ["-c"]);
    screen.wait_for("claude-opus-5-5");
    quit(screen);
    // A session that began with another one keeps that.
    scene.server.when("HELLO-2").reply(text("said-2"));
    let screen = start(&scene, ["--model", "claude-haiku-5-5", "HELLO-2"]);
    screen.wait_for("said-2");
    screen.wait_for("done in");
    quit(screen);
    let screen = start(&scene, ["-c"]);
    screen.wait_for("claude-haiku-5-5");
}

#[tokio::test]
async fn a_choice_in_another_session_changes_no_resumed_one_and_a_line_says_so() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("said-1")).then(text("said-2"));
    let screen = start(&scene, ["HELLO-1"]);
    screen.wait_for("done in");
    quit(screen);
    let first = scene.world.session();
    let screen = start(&scene, NOTHING);
    send(&screen, "/model claude-opus-5-5");
    screen.wait_for("model: claude-opus-5-5");
    quit(screen);
    let screen = start(&scene, ["--resume", first.file_name().unwrap().to_str().unwrap()]);
    let shown = screen.wait_for("This session keeps claude-sonnet");
    assert!(shown.contains("New sessions use claude-opus-5-5"), "{shown}");
    send(&screen, "HELLO-1 again");
    screen.wait_for("said-2");
    let asked = scene.server.requests();
    assert_eq!(asked[0].body["model"], asked[1].body["model"]);
}

#[tokio::test]
async fn a_broken_file_costs_one_line_and_is_replaced_by_the_next_choice() {
    let scene = Scene::new();
    let file = scene.world.settings_dir().join("choices.json");
    for broken in ["{\"theme\": 3", "7", "\0\u{1b}[2J"] {
        std::fs::write(&file, broken).unwrap();
        let screen = start(&scene, NOTHING);
        let shown = screen.wait_for("choices.json");
        assert!(shown.contains("claude-sonnet"), "{shown}");
        send(&screen, "/theme light");
        screen.wait_for("theme light, for later sessions too");
        quit(screen);
        assert!(stored(&scene).contains("\"theme\": \"light\""), "{}", stored(&scene));
    }
    std::fs::write(&file, "{\"theme\": \"gone\"}").unwrap();
    let screen = start(&scene, NOTHING);
    screen.wait_for("Using auto");
}

#[tokio::test]
async fn a_model_that_cannot_be_used_any_more_is_named_and_passed_over() {
    let mut scene = Scene::new();
    choose_all(&scene);
    scene.world.unset("ANTHROPIC_API_KEY");
    let screen = start(&scene, NOTHING);
    screen.wait_for("claude-opus-5-5, is not used: ANTHROPIC_API_KEY is not set");
}
