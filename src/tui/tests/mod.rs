//! The screen as the user sees it: keys and events in, commands and pictures out.

mod agent_list;
mod around;
mod background;
mod blocks;
mod commands;
mod early;
mod ends;
mod expand;
mod finish;
mod flows;
mod forms;
mod images;
mod interrupt;
mod keys;
mod linear;
mod mouse;
mod overlays;
mod pane_content;
mod panes;
mod pictures;
mod plan;
mod prompt;
mod question_parts;
mod question_words;
mod questions;
mod quitting;
mod reader;
mod reports;
mod room;
mod seen;
mod sessions;
mod themes;
mod typed;
mod which;
mod work;
mod work_line;
mod worktree_questions;
mod written;

use crate::protocol::AgentPath;
use crate::tui::testing::TestScreen;

fn root() -> AgentPath {
    AgentPath::root()
}

/// A screen with main at work.
fn busy() -> TestScreen {
    let mut screen = TestScreen::new();
    screen.prompt("go").says(&root(), "working");
    screen
}
