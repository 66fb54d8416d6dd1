//! Notifications and the user's own status line.

use super::{BYPASS, NOTHING, send};
use crate::support::process::Fifo;
use crate::support::pty::Screen;
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{text, tool_use};

const FOCUS_LOST: &str = "\x1b[O";

/// A question that nobody looks at.
fn question_in_the_background(scene: &Scene) -> Screen {
    scene.server.when(PARENT).reply(tool_use("Bash", bash("touch made.txt"))).then(text(DONE));
    let screen = Screen::start(&scene.world, NOTHING, 100, 30);
    screen.wait_for("? keys");
    screen.keys(FOCUS_LOST);
    send(&screen, "PARENT-1 go");
    screen.wait_for("1  Yes");
    screen
}

#[tokio::test]
async fn a_question_notifies_in_the_way_that_the_settings_name() {
    for (settings, tmux, expected) in [
        ("", "", "\x1b]9;caliban: main needs you: Bash\x1b\\\x07"),
        ("notifications = \"osc777\"", "", "\x1b]777;notify;caliban;caliban: main needs you: Bash"),
        ("notifications = \"osc99\"", "x", "\x1bPtmux;\x1b\x1b]99;;caliban: main needs you: Bash"),
    ] {
        let mut scene = Scene::new();
        scene.world.config(&format!("[tui]\n{settings}\n"));
        scene.world.env("TMUX", tmux);
        question_in_the_background(&scene).wait_written(expected);
    }
}

#[tokio::test]
async fn the_users_command_notifies_and_says_once_that_it_cannot() {
    let scene = Scene::new();
    let note = scene.world.root().join("note");
    let command = format!("pwd >{0}; echo \"$1\" >>{0}; echo broken >&2; exit 3", note.display());
    scene.world.config(&format!("[tui]\nnotify_command = '{command}'\n"));
    let screen = question_in_the_background(&scene);
    screen.wait_written("\x1b]9;caliban: main needs you: Bash");
    let note = std::fs::read_to_string(note).unwrap();
    let (folder, text) = note.split_once('\n').unwrap();
    assert_eq!(text, "main needs you: Bash\n");
    assert!(!folder.starts_with(scene.world.project_dir().to_str().unwrap()), "{folder}");
    screen.keys("1");
    screen.wait_for(DONE);
    let shown = screen.wait_for("notify_command failed: exit 3: broken");
    assert!(shown.contains("config.toml:2"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn the_status_line_is_what_the_users_command_prints() {
    let scene = Scene::new();
    let input = scene.world.root().join("input.json");
    let command = format!(
        "cat >{0}; printf \"\\033[31mMINE-77\\033[0m \\033]0;EVIL-66\\007%s\\nmore\" \"$(grep -c 'session_id\":\"' {0})\"",
        input.display()
    );
    scene.world.config(&format!("[tui]\nstatus_line = '''{command}'''\n"));
    scene.server.when(PARENT).reply(text(DONE));
    let screen = Screen::start(&scene.world, NOTHING, 100, 30);
    screen.wait_for("MINE-77");
    send(&screen, "PARENT-1 go");
    screen.wait_for(DONE);
    // The first line is of the time before the session.
    let shown = screen.wait_for("MINE-77 1");
    assert!(!shown.contains("more") && screen.row(29).starts_with(" MINE-77 1"), "{shown}");
    assert!(!String::from_utf8_lossy(&screen.raw()).contains("EVIL-66"));
    let given: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(input).unwrap()).unwrap();
    assert_eq!(given["permission_mode"], "default", "{given}");
    assert!(given["session_id"].is_string(), "{given}");
    scene.server.finish();
}

#[tokio::test]
async fn a_status_line_that_hangs_or_fails_is_named_and_the_usual_one_shown() {
    for (command, why) in [
        ("sleep 1000", "status_line did not end within 3 s and was stopped"),
        ("nosuchtool-77", "status_line failed: exit 127"),
    ] {
        let scene = Scene::new();
        scene.world.config(&format!("[tui]\nstatus_line = '{command}'\n"));
        let screen = Screen::start(&scene.world, [BYPASS], 120, 30);
        let shown = screen.wait_for(why);
        assert!(shown.contains("config.toml:2"), "{shown}");
        assert!(screen.row(29).contains("bypassPermissions · "), "{shown}");
    }
}

#[tokio::test]
async fn a_project_that_is_not_trusted_starts_no_command() {
    let scene = Scene::new();
    let line =
        "status_line = \"touch made.txt; echo EVIL-66\"\nnotify_command = \"touch made.txt\"";
    scene.world.write(".caliban/config.toml", &format!("[tui]\n{line}\n"));
    scene.server.when(PARENT).reply(text(DONE));
    let screen = Screen::start(&scene.world, NOTHING, 100, 30);
    let shown = screen.wait_for("2  not now");
    assert!(shown.contains("tui.status_line: touch made.txt; echo EVIL-66"), "{shown}");
    screen.keys("2");
    screen.wait_for("? keys");
    send(&screen, "PARENT-1 go");
    let shown = screen.wait_for(DONE);
    assert!(!screen.row(29).contains("EVIL-66") && !scene.world.exists("made.txt"), "{shown}");
    drop(screen);
    scene.world.trust();
    let screen = Screen::start(&scene.world, NOTHING, 100, 30);
    let status = |shown: &str| shown.lines().nth(29).is_some_and(|row| row.contains("EVIL-66"));
    screen.wait_until("its line", status);
    assert!(scene.world.exists("made.txt"), "it starts in the project");
    scene.server.finish();
}

#[tokio::test]
async fn paths_are_links_where_the_terminal_has_them_and_nobody_else_makes_one() {
    for term in ["xterm-kitty", "xterm-256color"] {
        let mut scene = Scene::new();
        scene.world.env("TERM", term);
        let said = "see src/my.rs:7 and \x1b]8;;http://evil.test\x1b\\this\x1b]8;;\x1b\\ now";
        scene.server.when(PARENT).reply(text(said));
        let screen = Screen::start(&scene.world, NOTHING, 100, 30);
        screen.wait_for("? keys");
        send(&screen, "PARENT-1 go");
        screen.wait_for("see src/my.rs:7 and this now");
        screen.wait_for("done in");
        let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
        let links: Vec<&str> =
            raw.split("\x1b]8;;").skip(1).filter(|it| !it.starts_with('\x1b')).collect();
        if term == "xterm-kitty" {
            let file = format!("{}/src/my.rs\x1b\\", scene.world.project_dir().display());
            assert!(links.iter().any(|link| link.contains(&file)), "{links:?}");
            assert!(links.iter().all(|link| link.starts_with("file://")), "{links:?}");
        } else {
            assert!(links.is_empty(), "{links:?}");
        }
        scene.server.finish();
    }
}

#[tokio::test]
async fn the_terminals_own_cursor_is_in_the_prompt_where_an_input_method_looks_for_it() {
    let scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 80, 24);
    screen.wait_for("? keys");
    screen.keys("a日本é");
    screen.wait_for("› a日本é");
    screen.wait_for_cursor(21, 2 + 1 + 2 + 2 + 1);
    screen.keys("\x1b[D\x1b[D");
    screen.wait_for_cursor(21, 2 + 1 + 2);
}

#[tokio::test]
async fn a_terminal_that_does_not_read_holds_up_neither_agents_nor_the_end() {
    let scene = Scene::new();
    let long = "word ".repeat(20_000);
    let called = Fifo::new(&scene.world.project_dir().join("called.fifo"));
    scene.server.when(PARENT).reply(tool_use("Bash", bash("echo >called.fifo"))).then(text(&long));
    let screen = Screen::start(&scene.world, [BYPASS], 200, 60);
    screen.wait_for("? keys");
    screen.slow(true);
    send(&screen, "PARENT-1 go");
    called.opened().await;
    // More frames than the terminal holds. Nothing says when one is made, because none is read.
    for size in 0..40 {
        screen.resize(150 + size, 60);
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    screen.signal(nix::sys::signal::Signal::SIGTERM);
    screen.wait_ended();
    screen.slow(false);
    assert_eq!(screen.exit().exit, Ok(143));
    scene.server.finish();
}

#[tokio::test]
async fn a_theme_file_with_a_mistake_is_named_at_the_start_only_if_it_is_in_use() {
    let scene = Scene::new();
    scene.server.offer(&["claude-sonnet-5"]);
    let themes = scene.world.settings_dir().join("themes");
    std::fs::create_dir_all(&themes).unwrap();
    std::fs::write(themes.join("mine.toml"), "acccent = \"red\"\n").unwrap();
    for (theme, is_named) in [("dark", false), ("mine", true)] {
        scene.world.config(&format!("[tui]\ntheme = \"{theme}\"\n"));
        let screen = Screen::start(&scene.world, NOTHING, 160, 24);
        let shown = screen.wait_for("? keys");
        assert_eq!(shown.contains("not used as a theme"), is_named, "{shown}");
        let doctor = scene.world.run(["doctor"]).finish().await;
        assert!(doctor.stdout.contains("not used as a theme"), "{doctor}");
    }
}

#[tokio::test]
async fn an_unknown_theme_in_a_file_is_named_with_those_that_there_are_and_does_no_harm() {
    let scene = Scene::new();
    scene.world.config("[tui]\ntheme = \"neon\"\n");
    let screen = Screen::start(&scene.world, NOTHING, 160, 24);
    let shown = screen.wait_for("unknown theme \"neon\"; choose one of auto, dark");
    assert!(shown.contains("config.toml:2:") && shown.contains("Using auto"), "{shown}");
    screen.wait_for("? keys");
    let left = Screen::start(&scene.world, ["--theme", "neon"], 160, 24).exit();
    assert_eq!(left.exit, Ok(2));
}
