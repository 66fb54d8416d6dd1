//! The list of stored sessions: what its filter finds, and the choice of one.

use std::path::PathBuf;

use crossterm::event::KeyCode;

use crate::protocol::{Command, Cost, EventKind, SessionId};
use crate::tui::host::{HostRequest, SessionChoice, SessionEnd, SessionHits};
use crate::tui::msg::ScreenEffect;
use crate::tui::testing::TestScreen;

use super::overlays::{reply, snapshots, talked};
use super::pictures::picture;

fn stored(title: &str, folder: &str, branch: Option<&str>) -> SessionChoice {
    SessionChoice {
        id: SessionId::generate(),
        title: title.to_owned(),
        age: "2 min ago".to_owned(),
        agents: 2,
        folder: PathBuf::from(folder),
        elsewhere: folder != "/code/shop",
        branch: branch.map(str::to_owned),
        open: false,
        end: SessionEnd::default(),
    }
}

/// The requests that the screen has made since the last call.
fn asked(screen: &mut TestScreen) -> Vec<HostRequest> {
    let effects = std::mem::take(&mut screen.effects).into_iter();
    let asked = effects.filter_map(|effect| match effect {
        ScreenEffect::Ask(request) => Some(request),
        _ => None,
    });
    asked.collect()
}

#[test]
fn a_filter_also_finds_sessions_by_their_texts() {
    let mut screen = talked();
    let sessions =
        ["slow login", "dark theme", "a login page"].map(|it| stored(it, "/code/shop", None));
    let ids = sessions.each_ref().map(|session| session.id);
    screen.write("/resume").enter();
    reply(
        &mut screen,
        HostRequest::Sessions { everywhere: false, most: None, sessions: sessions.into() },
    );
    asked(&mut screen);
    screen.write("login");
    let query = "login".to_owned();
    let search = |query: &str, hits| {
        let query = query.to_owned();
        HostRequest::SearchSessions { query, everywhere: false, hits }
    };
    assert_eq!(asked(&mut screen).last(), Some(&search(&query, SessionHits::default())));
    // What an earlier search says late does not count.
    let old = SessionHits { ids: ids.to_vec(), cut: false };
    reply(&mut screen, search("log", old));
    let shown = picture(&mut screen, 100, 24);
    assert!(shown.contains("slow login") && !shown.contains("dark theme"), "{shown}");
    reply(&mut screen, search("login", SessionHits { ids: vec![ids[1]], cut: true }));
    let shown = picture(&mut screen, 100, 24);
    let rows = ["slow login", "dark theme", "a login page"].map(|row| shown.find(row).unwrap());
    assert!(rows.is_sorted(), "{shown}");
    assert!(shown.contains("older sessions were not searched"), "{shown}");
    screen.key(KeyCode::Down).enter();
    assert_eq!(screen.sent(), [Command::Resume(ids[1])]);
}

#[test]
fn a_key_lists_the_sessions_of_all_directories_and_one_of_another_is_resumed_there() {
    let mut screen = talked();
    screen.write("/resume").enter();
    let here = stored("slow login", "/code/shop", Some("fix-login"));
    reply(
        &mut screen,
        HostRequest::Sessions { everywhere: false, most: None, sessions: vec![here.clone()] },
    );
    asked(&mut screen);
    screen.ctrl('a');
    let request = HostRequest::Sessions { everywhere: true, most: Some(200), sessions: Vec::new() };
    assert_eq!(asked(&mut screen), [request]);
    let other = stored("dark theme", "/code/my site", Some("main"));
    let sessions = vec![here, other.clone()];
    reply(&mut screen, HostRequest::Sessions { everywhere: true, most: None, sessions });
    let end = SessionEnd { cost: Some(Cost::known(0.61)), answer: "Done: it is dark.".to_owned() };
    let (ids, previews) = (vec![other.id], vec![end]);
    reply(&mut screen, HostRequest::SessionPreviews { ids, previews });
    screen.key(KeyCode::Down);
    snapshots("resume_all", &mut screen);
    screen.effects.clear();
    screen.enter();
    let command = format!("cd '/code/my site' && caliban --resume {}", other.id);
    assert_eq!(screen.effects, [ScreenEffect::Copy(command.clone())]);
    let shown = picture(&mut screen, 100, 24);
    assert!(shown.contains(&command), "the command is cut: {shown}");
    let shown = picture(&mut screen, 160, 24);
    assert!(shown.contains("That session works in /code/my site"), "{shown}");
}

#[test]
fn the_first_sessions_keep_their_ends_when_the_rest_follows() {
    let mut screen = talked();
    screen.write("/resume").enter();
    let [one, two, three] = ["one", "two", "three"].map(|it| stored(it, "/code/shop", None));
    let listed = |most, sessions| HostRequest::Sessions { everywhere: false, most, sessions };
    asked(&mut screen);
    reply(&mut screen, listed(Some(2), vec![one.clone(), two.clone()]));
    assert_eq!(asked(&mut screen)[0], listed(None, Vec::new()));
    let end = |answer: &str| SessionEnd { cost: None, answer: answer.to_owned() };
    let (ids, previews) = (vec![one.id, two.id], vec![end("ANSWER-1"), end("ANSWER-2")]);
    reply(&mut screen, HostRequest::SessionPreviews { ids, previews });
    screen.key(KeyCode::Down);
    // In another order, and with the same one selected.
    reply(&mut screen, listed(None, vec![three, two, one]));
    let shown = picture(&mut screen, 120, 24);
    assert!(shown.contains("ANSWER-2"), "{shown}");
    screen.key(KeyCode::Down);
    let shown = picture(&mut screen, 120, 24);
    assert!(shown.contains("ANSWER-1"), "{shown}");
}

#[test]
fn a_long_prompt_leaves_the_branch_its_column_or_takes_all_of_it() {
    for (width, is_shown) in [(60, false), (80, true), (100, true), (120, true)] {
        let mut screen = talked();
        let long =
            "Find out why login is slow, fix it, and write down what you have found ".repeat(3);
        let sessions = vec![
            stored(&long, "/code/shop", Some("fix/login")),
            stored("short", "/code/shop", Some("main")),
        ];
        let request = HostRequest::Sessions { everywhere: false, most: None, sessions };
        reply(screen.write("/resume").enter(), request);
        let shown = picture(&mut screen, width, 24);
        let row = |words: &str| shown.lines().find(|line| line.contains(words)).unwrap();
        let (first, second) = (row("Find out why login"), row("short"));
        assert!(first.contains("…  ") && first.contains("2 agents"), "{shown}");
        assert_eq!(first.contains("fix/login"), is_shown, "{width}: {shown}");
        assert_eq!(second.contains("main"), is_shown, "{width}: {shown}");
        assert_eq!(first.matches('…').count(), 1, "{width}: {shown}");
    }
}

#[test]
fn a_name_that_arrives_while_status_is_open_is_filled_in() {
    let mut screen = TestScreen::new();
    let id = SessionId::generate();
    screen.main(EventKind::SessionOpened { id, history: Vec::new(), forked: false });
    screen.write("/status").enter();
    let name = Some("Slow login".to_owned());
    reply(&mut screen, HostRequest::SessionName { session: id, name });
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains(&format!("Slow login · {id}")), "{shown}");
    reply(&mut screen, HostRequest::Branch(Some("topic".to_owned())));
    let shown = picture(&mut screen, 120, 40);
    assert!(shown.contains("branch      topic"), "{shown}");
    screen.esc().write("/cost").enter();
    reply(&mut screen, HostRequest::SessionName { session: id, name: None });
    assert!(!picture(&mut screen, 120, 40).contains("permissions "), "it is another page");
}
