//! Windows of all sizes, with something open: nothing breaks, and what is needed stays in sight.

use crate::support::pty::{ENTER, ESC, Screen};
use crate::support::scene::Scene;

const END: &str = "\x1b[F";

const NOTHING: [&str; 0] = [];

/// Down to nothing and up again, faster than frames are drawn.
fn storm(screen: &Screen) {
    for (cols, rows) in [(20, 5), (10, 3), (1, 1), (200, 60), (33, 7), (19, 40), (3, 2), (120, 4)] {
        screen.resize(cols, rows);
    }
}

/// Opens what the command opens, and takes it through all sizes.
fn opened(scene: &Scene, command: &str, shown: &str, small: &str) {
    let screen = Screen::start(&scene.world, NOTHING, 100, 30);
    screen.wait_for("Shift+Tab mode");
    // A page shows what is so when it opens.
    screen.wait_for("MCP server notes:");
    screen.keys(command);
    screen.wait_for(&format!("› {command}"));
    screen.keys(ENTER);
    screen.wait_for(shown);
    for _ in 0..3 {
        storm(&screen);
    }
    screen.resize(20, 5);
    screen.wait_until(&format!("{command} at 20x5"), |screen| {
        screen.lines().count() == 5 && screen.contains(small) && screen.contains("› ")
    });
    screen.resize(100, 30);
    screen.wait_for(shown);
    screen.keys(ESC);
    screen.wait_for("Shift+Tab mode");
    screen.keys("x");
    screen.wait_for("› x");
}

#[tokio::test]
async fn lists_and_pages_stand_in_every_size_and_come_back_whole() {
    let scene = Scene::new();
    scene.server.offer(&["claude-opus-4-8", "claude-sonnet-5"]);
    scene.world.config("[mcp_servers.notes]\ncommand = \"/nowhere/notes\"\n");
    opened(&scene, "/mcp", "program not found: /nowhere", "notes");
    opened(&scene, "/doctor", "doctor", "Esc closes");
    opened(&scene, "/model", "claude-opus", "claude-");
    opened(&scene, "/help", "keys and commands", "Enter");
    opened(&scene, "/agents", "general-purpose", "Esc closes");
    scene.server.finish();
}

#[tokio::test]
async fn the_trust_question_can_be_read_and_answered_in_twenty_by_five() {
    let scene = Scene::new();
    let rules = "[permissions]\nallow = [\"Bash(touch:*)\", \"Bash(mkdir:*)\"]\n";
    scene.world.write(".caliban/config.toml", rules);
    let screen = Screen::start(&scene.world, NOTHING, 100, 30);
    screen.wait_for("1  trust this");
    for _ in 0..3 {
        storm(&screen);
    }
    screen.resize(20, 5);
    let is_drawn_anew = |screen: &str| {
        screen.lines().count() == 5
            && ["more: PgDn", "2  not now"].iter().all(|text| screen.contains(text))
    };
    screen.wait_until("the end has to be seen again at 20x5", is_drawn_anew);
    screen.keys(END);
    screen.wait_for("1  trust this");
    screen.resize(100, 30);
    screen.wait_for("1  trust this, now and in later sessions");
    screen.resize(20, 5);
    screen.wait_until("the end has to be seen again at 20x5", is_drawn_anew);
    screen.keys(END);
    screen.wait_for("1  trust this");
    screen.keys("1");
    // A new size before the key is read would ask for the end to be seen again.
    screen.wait_gone("1  trust this");
    screen.resize(80, 24);
    screen.wait_for("Shift+Tab mode");
    assert!(scene.world.settings_dir().join("trust.json").exists());
}

#[tokio::test]
async fn what_was_never_on_the_screen_is_not_trusted() {
    let scene = Scene::new();
    let rules = "[permissions]\nallow = [\"Bash(touch:*)\", \"Bash(mkdir:*)\"]\n";
    scene.world.write(".caliban/config.toml", rules);
    let screen = Screen::start(&scene.world, NOTHING, 20, 5);
    screen.wait_for("more: PgDn");
    // As much time as answers need, and still none that trusts.
    screen.keys("1");
    screen.wait_gone("2  not now");
    screen.wait_for("2  not now");
    screen.keys(END);
    screen.wait_for("1  trust this");
    screen.resize(80, 24);
    screen.keys("2");
    screen.wait_for("Shift+Tab mode");
    assert!(!scene.world.settings_dir().join("trust.json").exists());
}
