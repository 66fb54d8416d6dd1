//! The work of isolated agents: its page, its keys, and what is said of it.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::KeyCode;

use super::overlays::{reply, styled};
use super::pictures::picture;
use crate::protocol::{
    AgentId, AgentPath, ChangeKind, Command, DiffText, EventKind, FileChange, MergedWork, RunEnd,
    ToolDetails, ToolUseId, WorkingTreeChanges, WorktreeInfo,
};
use crate::tui::agents::list::rows::ListRow;
use crate::tui::host::HostRequest;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::testing::{TestScreen, agent_info, finish};

fn worktree() -> Box<WorktreeInfo> {
    Box::new(WorktreeInfo {
        path: PathBuf::from("/data/worktrees/tidy-1a2b"),
        branch: "caliban/tidy-1a2b".to_owned(),
        start: "1a2b3c4".to_owned(),
    })
}

/// Drains the effects and returns the requests about work among them.
fn asked(screen: &mut TestScreen) -> Vec<HostRequest> {
    let asked = screen.effects.drain(..).filter_map(|effect| match effect {
        ScreenEffect::Ask(asked @ HostRequest::MergeWorktree { .. })
        | ScreenEffect::Ask(asked @ HostRequest::DiscardWorktree { .. })
        | ScreenEffect::Ask(asked @ HostRequest::WorktreeChanges { .. }) => Some(asked),
        _ => None,
    });
    asked.collect()
}

/// A screen with `/agents` open on an ended agent that has left work.
fn ended() -> (TestScreen, AgentPath) {
    let mut screen = TestScreen::new();
    let path = AgentPath::root().child(AgentId::generate());
    let started = EventKind::Started(Box::new(agent_info("tidy-1", "map the routes")));
    screen.opened(vec![
        (&path, started),
        (&path, EventKind::WorktreeEntered(worktree())),
        (&path, finish(RunEnd::Completed, "done")),
    ]);
    screen.write("/agents").enter();
    (screen, path)
}

/// The same, with the page of the work open.
fn opened() -> (TestScreen, AgentPath) {
    let (mut screen, path) = ended();
    screen.write("d");
    let diff = "@@ -1,2 +1,2 @@\n fn a() {}\n-fn b() {}\n+fn c() {}\n".to_owned();
    let file = FileChange {
        path: "src/a.rs".to_owned(),
        kind: ChangeKind::Modified,
        diff,
        text: DiffText::Plain,
        mode: None,
    };
    let changes = Arc::new(WorkingTreeChanges { files: vec![file], is_cut: false });
    let (agent, worktree) = (path.clone(), worktree());
    reply(&mut screen, HostRequest::WorktreeChanges { agent, worktree, changes: Ok(changes) });
    asked(&mut screen);
    (screen, path)
}

#[test]
fn letters_wait_for_the_changes() {
    let (mut screen, _) = ended();
    screen.write("dmmx ");
    assert!(matches!(screen.model.overlay, Some(Overlay::Page(_))), "it stays open");
    assert_eq!(screen.model.composer.text(), "");
    let requests = asked(&mut screen);
    assert!(matches!(requests[..], [HostRequest::WorktreeChanges { .. }]), "{requests:?}");
}

#[test]
fn the_page_of_an_agents_work_shows_its_changes_and_its_keys() {
    let (mut screen, _) = opened();
    for (width, height) in [(60, 15), (80, 24)] {
        let shown = styled(&mut screen, width, height);
        insta::assert_snapshot!(format!("work_{width}x{height}"), shown);
    }
}

#[test]
fn a_letter_acts_when_pressed_twice_and_a_word_is_typed() {
    let (mut screen, _) = opened();
    screen.write("m");
    assert!(picture(&mut screen, 80, 24).contains("m again merges 1 file into yours"));
    screen.write("ore");
    assert_eq!(screen.model.composer.text(), "more");
    assert!(asked(&mut screen).is_empty(), "nothing is merged");
    for (keys, merges) in [("mm", true), ("xx", false)] {
        let (mut screen, path) = opened();
        screen.write(keys);
        match &asked(&mut screen)[..] {
            [HostRequest::MergeWorktree { agent, .. }] if merges => assert_eq!(*agent, path),
            [HostRequest::DiscardWorktree { agent, .. }] if !merges => assert_eq!(*agent, path),
            other => panic!("{keys}: {other:?}"),
        }
    }
}

#[test]
fn a_letter_that_was_pressed_once_is_forgotten_with_its_notice_or_with_another_key() {
    for letter in ["m", "x"] {
        let (mut screen, _) = opened();
        screen.write(letter).wait(4000).write(letter);
        assert!(asked(&mut screen).is_empty(), "{letter} 4 s later");
        screen.key(KeyCode::PageDown).write(letter);
        assert!(asked(&mut screen).is_empty(), "{letter} after another key");
        screen.write("j").write(letter);
        assert!(asked(&mut screen).is_empty(), "{letter} after a letter that scrolls");
        screen.model.say("something else");
        screen.wait(0).write(letter);
        assert!(asked(&mut screen).is_empty(), "{letter} after another notice");
        screen.wait(3999).write(letter);
        assert_eq!(asked(&mut screen).len(), 1, "{letter} within its time");
    }
}

#[test]
fn the_other_letter_is_as_good_as_the_first_one() {
    let (mut screen, path) = opened();
    screen.write("xm");
    assert!(screen.notice().starts_with("m again merges 1 file"), "{}", screen.notice());
    assert!(matches!(screen.model.overlay, Some(Overlay::Page(_))));
    screen.write("m");
    let asks = asked(&mut screen);
    let [HostRequest::MergeWorktree { agent, .. }] = &asks[..] else { panic!("{asks:?}") };
    assert_eq!((agent, screen.model.composer.text()), (&path, ""));
}

#[test]
fn after_a_merge_or_a_discard_the_list_is_open_at_the_next_work_and_more_presses_do_nothing() {
    for letter in ["m", "x"] {
        let (mut screen, _) = opened();
        let next = screen.background(&AgentPath::root(), "tidy-2", "rename the helper");
        screen.event(&next, EventKind::WorktreeEntered(worktree()));
        screen.event(&next, finish(RunEnd::Completed, "done"));
        screen.write(&letter.repeat(2)).wait(100).write(letter).wait(400).write(letter);
        let chosen = match &screen.model.overlay {
            Some(Overlay::Agents(list)) => list.selected_row(&screen.model),
            other => panic!("{other:?}"),
        };
        assert_eq!(chosen, Some(ListRow::Agent(next.clone())), "{letter}");
        assert_eq!(screen.model.composer.text(), "");
        assert_eq!(asked(&mut screen).len(), 1);
        screen.wait(600).write("d");
        assert_eq!(asked(&mut screen).len(), 1, "another letter acts at once");
    }
}

#[test]
fn merged_work_is_gone_from_the_list_and_failed_work_stays() {
    let (mut screen, path) = opened();
    screen.write("mm");
    let (agent, worktree) = (path.clone(), worktree());
    let failed = Err("nothing has changed: there are conflicts in a.rs".to_owned());
    reply(
        &mut screen,
        HostRequest::MergeWorktree {
            agent: agent.clone(),
            worktree: worktree.clone(),
            result: failed,
        },
    );
    assert!(picture(&mut screen, 100, 24).contains("agent 1 · not merged"));
    let noted = screen.sent().into_iter().any(|command| {
        let why =
            "the work of agent 1 is not merged: nothing has changed: there are conflicts in a.rs";
        matches!(command, Command::Note { text } if text == why)
    });
    assert!(noted, "it names the commit, which the user may need later");
    assert!(screen.model.agents.get(&path).unwrap().has_work());
    let merged = Ok(MergedWork { files: 2, commit: "5d6e7f8".to_owned() });
    reply(&mut screen, HostRequest::MergeWorktree { agent, worktree, result: merged });
    assert!(picture(&mut screen, 100, 24).contains("merged 2 files of agent 1"));
    assert!(!screen.model.agents.get(&path).unwrap().has_work());
}

#[test]
fn an_agent_without_work_has_no_key_for_it() {
    let (mut screen, path) = ended();
    assert!(picture(&mut screen, 80, 24).contains("d work"));
    screen.event(&path, EventKind::WorktreeRemoved);
    assert!(!picture(&mut screen, 80, 24).contains("d work"));
    asked(&mut screen);
    screen.write("d");
    assert!(asked(&mut screen).is_empty());
}

#[test]
fn the_last_line_counts_the_files_in_worktrees_apart() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let path = screen.agent(&AgentPath::root(), "tidy-1", "round the discount");
    screen.event(&path, EventKind::WorktreeEntered(worktree()));
    let edited = |file: &str| EventKind::ToolFinished {
        id: ToolUseId::new(file),
        name: "Edit".to_owned(),
        is_error: false,
        summary: "+2 −1".to_owned(),
        content: Vec::new(),
        details: Some(ToolDetails::Diff {
            path: PathBuf::from(file),
            diff: String::new(),
            added: 2,
            removed: 1,
        }),
        took: std::time::Duration::ZERO,
    };
    screen.event(&path, edited("/data/worktrees/tidy-1a2b/src/shop.py"));
    // Also when the work was merged or discarded meanwhile, as in a session that is resumed later.
    screen.event(&path, EventKind::WorktreeRemoved);
    screen.event(&path, finish(RunEnd::Completed, "done")).main(finish(RunEnd::Completed, ""));
    let shown = picture(&mut screen, 120, 30);
    let line = shown.lines().find(|line| line.contains("done in")).unwrap();
    assert!(line.contains(" · worktrees: 1 file +2 −1"), "{shown}");
    assert!(!line.contains(" · 1 file"), "{shown}");
}

#[test]
fn what_was_discarded_is_not_among_what_the_turn_brought() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let path = screen.agent(&AgentPath::root(), "tidy-1", "round the discount");
    screen.event(&path, EventKind::WorktreeEntered(worktree()));
    let file = PathBuf::from("/data/worktrees/tidy-1a2b/src/shop.py");
    let diff = ToolDetails::Diff { path: file, diff: String::new(), added: 2, removed: 1 };
    screen.event(
        &path,
        EventKind::ToolFinished {
            id: ToolUseId::new("e"),
            name: "Edit".to_owned(),
            is_error: false,
            summary: "+2 −1".to_owned(),
            content: Vec::new(),
            details: Some(diff),
            took: std::time::Duration::ZERO,
        },
    );
    screen.event(&path, finish(RunEnd::Completed, "done"));
    let result = Ok("1a2b3c4".to_owned());
    let (agent, worktree) = (path, worktree());
    reply(&mut screen, HostRequest::DiscardWorktree { agent, worktree, result });
    screen.main(finish(RunEnd::Completed, ""));
    let shown = picture(&mut screen, 120, 30);
    let line = shown.lines().find(|line| line.contains("done in")).unwrap();
    assert!(!line.contains("worktrees"), "{shown}");
}

#[test]
fn agents_that_were_interrupted_can_be_resumed_in_the_list() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let path = screen.agent(&AgentPath::root(), "tidy-1", "one");
    screen.turn_done(&path, 2_100, 0.01).wait(7_000);
    screen.event(&path, finish(RunEnd::Interrupted, "half"));
    screen.main(finish(RunEnd::Interrupted, ""));
    let shown = picture(&mut screen, 120, 30);
    assert!(shown.contains("/agents resumes what ended early"), "{shown}");
    // Nothing has noted for how long they worked.
    screen.write("/agents").enter();
    let list = picture(&mut screen, 120, 30);
    for shown in [shown, list] {
        let row = shown.lines().rfind(|line| line.contains("1 one")).unwrap();
        assert!(row.contains("interrupted") && row.contains("$0.01"), "{shown}");
        assert!(!row.contains("0:0"), "{shown}");
    }
}

#[test]
fn the_list_marks_the_agents_that_have_left_work() {
    let (mut screen, path) = ended();
    let shown = picture(&mut screen, 100, 24);
    assert!(shown.contains("✓ left work · done"), "{shown}");
    screen.model.agents.get_mut(&path).unwrap().worktree = None;
    let shown = picture(&mut screen, 100, 24);
    assert!(shown.contains("✓ done"), "{shown}");
}

#[test]
fn the_end_of_a_turn_names_the_list_once() {
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let agents = [("tidy-1", "one"), ("tidy-2", "two")]
        .map(|(name, task)| screen.agent(&AgentPath::root(), name, task));
    screen.event(&agents[0], EventKind::WorktreeEntered(worktree()));
    screen.event(&agents[0], finish(RunEnd::Completed, "done"));
    screen.event(&agents[1], finish(RunEnd::MaxTurns { limit: 20 }, "half"));
    screen.says(&AgentPath::root(), "That is all.");
    screen.main(finish(RunEnd::Completed, "That is all."));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("/agents resumes what ended early and shows their work"), "{shown}");
    assert_eq!(shown.matches("/agents").count(), 1, "{shown}");
}
