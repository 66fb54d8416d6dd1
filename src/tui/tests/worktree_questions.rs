//! Questions of agents that work in a worktree of their own.

use std::path::{Path, PathBuf};

use crossterm::event::KeyCode;

use crate::protocol::{Access, AgentPath, EventKind, PathTarget, Question};
use crate::tui::testing::TestScreen;

use super::pictures::picture;

const WORKTREE: &str = "/home/ann/.local/state/caliban/worktrees/tidy-1-4d4426c0";

fn edit(agent: &AgentPath, file: &str, change: impl FnOnce(&mut Question)) -> EventKind {
    let EventKind::PermissionAsked(mut question) = TestScreen::question(agent, 1, "tidy-1", "")
    else {
        panic!()
    };
    let path = Path::new(WORKTREE).join(file);
    question.tool = "Write".to_owned();
    question.input = serde_json::json!({ "file_path": file, "content": "one\n" });
    question.access =
        Access::Write { paths: vec![PathTarget { written: path.clone(), resolved: Some(path) }] };
    question.cwd = WORKTREE.into();
    question.worktree = Some(WORKTREE.into());
    question.reason = format!("no rule allows writing {file}");
    question.rules = vec![format!("Edit(./{file})")];
    question.preview = Some("@@ -0,0 +1 @@\n+one\n".to_owned());
    change(&mut question);
    EventKind::PermissionAsked(question)
}

fn asked(change: impl FnOnce(&mut Question)) -> TestScreen {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agent = screen.agent(&AgentPath::root(), "tidy-1", "level one");
    let question = edit(&agent, "level1.md", change);
    screen.wait(2000).event(&agent, question);
    screen
}

#[test]
fn a_question_names_the_worktree_and_only_in_full_its_path() {
    for (width, height) in [(160, 45), (120, 40), (80, 24), (60, 15)] {
        let mut screen = asked(|_| {});
        let shown = picture(&mut screen, width, height);
        assert!(shown.contains("in its worktree · no rule allows writing level1.md"), "{shown}");
        assert!(!shown.contains("/home/ann") && !shown.contains("blank"), "{shown}");
        screen.ctrl('o');
        let full = picture(&mut screen, width, height).replace(['\n', '│', '↪', ' '], "");
        assert!(full.contains(&format!("initsworktree,{WORKTREE}")), "{full}");
    }
}

#[test]
fn a_place_that_is_not_in_the_worktree_has_its_path() {
    for (cwd, worktree, label) in [
        (format!("{WORKTREE}/src"), Some(WORKTREE), "in src of its worktree".to_owned()),
        (format!("{WORKTREE}/src"), None, format!("in {WORKTREE}/src")),
        ("/etc".to_owned(), Some(WORKTREE), "in /etc".to_owned()),
        (format!("{WORKTREE}-2"), Some(WORKTREE), format!("in {WORKTREE}-2")),
    ] {
        let mut screen = asked(|question| {
            question.access = Access::Command { line: "make".to_owned(), cwd: cwd.clone().into() };
            question.cwd = cwd.clone().into();
            question.worktree = worktree.map(PathBuf::from);
        });
        let shown = picture(&mut screen, 160, 45);
        assert!(shown.contains(&format!("│ {label} ")), "{label}\n{shown}");
    }
}

#[test]
fn no_row_begins_with_a_dot_between_two_parts() {
    for length in 1..80 {
        let mut screen = asked(|question| {
            question.cwd = format!("/{}", "x".repeat(length)).into();
            question.worktree = None;
        });
        let shown = picture(&mut screen, 80, 40);
        assert!(!shown.contains("blank"), "{shown}");
    }
}

#[test]
fn there_is_no_third_answer_for_a_rule_about_a_worktree_that_is_gone_with_its_agent() {
    let mut screen = asked(|question| {
        question.rules = vec![format!("Edit(/{WORKTREE}/part/**)")];
        question.offers_always = false;
    });
    let shown = picture(&mut screen, 120, 40);
    assert!(!shown.contains("always"), "{shown}");
    assert!(shown.contains("4  No"), "{shown}");
    screen.wait(1000).key(KeyCode::Char('3'));
    assert!(!picture(&mut screen, 120, 40).contains("adds Edit"));
    // The rule of an agent in a worktree is one for the project.
    let mut screen = asked(|_| {});
    screen.wait(1000).draw().key(KeyCode::Char('3'));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("this project and its agents' worktrees)"), "{shown}");
}
