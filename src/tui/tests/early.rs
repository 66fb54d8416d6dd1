//! Keys just before a question opens and just after one has gone.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::protocol::{AgentPath, Answer, Command, EventKind, QuestionId, RunEnd};
use crate::tui::overlay::Overlay;
use crate::tui::question::QuestionStage;
use crate::tui::testing::{TestScreen, finish};

use super::pictures::picture;
use super::questions::{answer, asked};
use super::root;

/// Keys that answer a question or stop work.
fn answering_keys() -> [(KeyCode, KeyModifiers); 6] {
    let plain = [KeyCode::Esc, KeyCode::Enter, KeyCode::Tab, KeyCode::Char('1')];
    let ctrl = ['c', 'd'].map(|letter| (KeyCode::Char(letter), KeyModifiers::CONTROL));
    let [esc, enter, tab, digit] = plain.map(|code| (code, KeyModifiers::NONE));
    [esc, enter, tab, digit, ctrl[0], ctrl[1]]
}

/// Two agents, the first one zoomed, and a question of the second that has just opened.
fn unread() -> (TestScreen, AgentPath) {
    let mut screen = TestScreen::new();
    screen.unread = true;
    screen.prompt("go");
    let first = screen.agent(&AgentPath::root(), "explore-1", "map the routes");
    let second = screen.agent(&AgentPath::root(), "explore-2", "query");
    screen.wait(2000).key(KeyCode::Tab).enter();
    assert_eq!((screen.model.focus.as_ref(), screen.model.zoom), (Some(&first), true));
    screen.asks(&second, 1, "explore-2", "psql shop");
    assert!(picture(&mut screen, 100, 30).contains("answers work in a moment"));
    (screen, first)
}

#[test]
fn a_key_behind_an_answer_neither_stops_anything_nor_answers_the_next_question() {
    for (code, modifiers) in answering_keys() {
        for draft in ["", "a draft"] {
            let (mut screen, _) = asked();
            screen.asks(&root(), 2, "main", "ls");
            if !draft.is_empty() {
                screen.write(draft).wait(1000).key(KeyCode::Tab).draw();
            }
            screen.unread = true;
            screen.esc().wait(300).draw();
            assert_eq!(screen.sent(), [answer(1, Answer::No { reason: None })]);
            // The first begins the half second anew.
            for _ in 0..2 {
                screen.chord(code, modifiers).wait(349).draw();
            }
            let open = screen.model.questions.open.as_ref().map(|open| open.id);
            assert_eq!((screen.sent(), open), (vec![], Some(QuestionId(2))), "{code}");
            assert_eq!(screen.model.composer.text().trim_end_matches('1'), draft);
            assert!(screen.model.overlay.is_none() && screen.model.keys.quit_by_eof.is_none());
        }
    }
}

#[test]
fn a_key_while_the_next_question_is_not_shown_yet_does_nothing_and_says_so() {
    for (code, modifiers) in answering_keys() {
        let (mut screen, _) = asked();
        screen.asks(&root(), 2, "main", "ls").write("2").wait(300);
        assert_eq!(screen.sent(), [answer(1, Answer::Session)]);
        screen.chord(code, modifiers);
        assert_eq!(screen.notice(), "the next question opens in a moment", "{code}");
        screen.wait(100);
        assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], ""));
        assert!(screen.model.overlay.is_none() && screen.model.questions.open.is_some());
    }
    let (mut screen, _) = asked();
    screen.asks(&root(), 2, "main", "ls").write("2").wait(100).write("and texts");
    screen.key(KeyCode::Backspace).esc();
    assert_eq!(screen.sent(), [answer(1, Answer::Session)], "the question is still to come");
    assert_eq!(screen.model.composer.text(), "and text");
    screen.enter();
    let [Command::Prompt { prompt, .. }] = &screen.sent()[..] else { panic!("not sent") };
    assert_eq!(prompt.text, "and text");
}

#[test]
fn a_key_for_a_question_that_has_just_gone_by_itself_stops_nothing() {
    let gone = || {
        let (mut screen, agent) = asked();
        let closed = EventKind::QuestionClosed { id: QuestionId(1), allowed: None };
        screen.draw().event(&agent, closed);
        screen
    };
    for (code, modifiers) in answering_keys() {
        let mut screen = gone();
        screen.wait(400).chord(code, modifiers);
        assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], ""), "{code}");
        assert_eq!(screen.notice(), "the question is gone: no answer is needed");
        assert!(screen.model.overlay.is_none() && screen.model.focus.is_none());
    }
    let mut screen = gone();
    screen.wait(1001).esc();
    assert_eq!(screen.sent(), [Command::CancelTurn]);
}

#[test]
fn no_key_stops_the_turn_as_a_question_opens() {
    let esc = (KeyCode::Esc, KeyModifiers::NONE);
    for (code, modifiers) in [esc, (KeyCode::Char('c'), KeyModifiers::CONTROL)] {
        let mut screen = TestScreen::new();
        screen.unread = true;
        screen.prompt("go").wait(2000).asks(&root(), 1, "main", "ls");
        screen.wait(300).chord(code, modifiers).wait(499).draw();
        assert_eq!(screen.sent(), []);
        screen.wait(1).draw().esc();
        assert_eq!(screen.sent(), [answer(1, Answer::No { reason: None })]);
    }
}

#[test]
fn a_key_on_its_way_when_a_question_opens_does_what_it_would_have_done_before() {
    let (mut screen, first) = unread();
    screen.esc();
    assert!(!screen.model.zoom && screen.sent().is_empty());
    screen.wait(300).ctrl('c');
    let Command::Cancel(cancelled) = &screen.sent()[..][0] else { panic!() };
    assert_eq!(Some(*cancelled), first.id());
    screen.wait(399).key(KeyCode::Tab).draw();
    let open = screen.model.questions.open.as_ref();
    assert!(open.is_some_and(|open| open.keyboard), "it was not put off");
    screen.wait(300).write("1");
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], ""));
    // Later than another one of the same burst.
    screen.wait(151).draw().write("1");
    assert_eq!(screen.sent(), [answer(1, Answer::Once)]);
}

#[test]
fn an_arrow_as_a_question_opens_recalls_no_prompt_that_enter_would_send_again() {
    for code in [KeyCode::Up, KeyCode::Down] {
        let mut screen = TestScreen::new();
        screen.unread = true;
        screen.prompt("go").wait(2000).asks(&root(), 1, "main", "ls").draw();
        screen.wait(300).key(code).draw().wait(300).enter();
        assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], ""), "{code}");
        // Half a second later it selects an answer.
        screen.wait(500).draw().key(KeyCode::Down).enter();
        assert!(matches!(screen.sent()[..], [Command::Answer { .. }]), "{:?}", screen.sent());
    }
}

#[test]
fn what_is_typed_as_a_question_opens_is_a_draft_and_enter_does_not_answer() {
    let (mut screen, _) = unread();
    screen.write("no 1");
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "no 1"));
    screen.wait(600).draw();
    assert!(!screen.model.questions.open.as_ref().unwrap().keyboard);
    let (mut screen, _) = unread();
    screen.esc().enter().wait(499);
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.model.questions.open.as_ref().unwrap().selected, None);
}

#[test]
fn the_next_question_is_new_as_well_and_one_that_the_user_asks_for_is_not() {
    let (mut screen, _) = unread();
    screen.asks(&AgentPath::root(), 2, "main", "ls").wait(500).draw().write("1");
    assert_eq!(screen.sent(), [answer(1, Answer::Once)]);
    screen.wait(400).draw().write("1").wait(499).write("1");
    assert_eq!(screen.sent(), []);
    screen.wait(151).draw().write("1");
    assert_eq!(screen.sent(), [answer(2, Answer::Once)]);
    let (mut screen, _) = unread();
    screen.asks(&AgentPath::root(), 2, "main", "ls").wait(500).draw().key(KeyCode::Tab).draw();
    screen.write("1");
    assert_eq!(screen.sent(), [answer(2, Answer::Once)]);
}

#[test]
fn a_key_meant_for_a_question_that_goes_by_itself_does_not_answer_the_next_one() {
    let closed = |allowed| EventKind::QuestionClosed { id: QuestionId(1), allowed };
    let ended = finish(RunEnd::Cancelled { before_start: false }, "");
    for event in [closed(None), closed(Some(true)), closed(Some(false)), ended] {
        let (mut screen, agent) = asked();
        screen.asks(&AgentPath::root(), 2, "main", "rm x").draw().event(&agent, event).draw();
        screen.write("1");
        assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], ""));
        screen.wait(999).draw().write("1");
        assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], ""));
        screen.wait(1).draw().write("1");
        assert_eq!(screen.sent(), [answer(2, Answer::Once)]);
    }
}

#[test]
fn tab_before_a_question_can_have_been_read_gives_the_draft_to_nobody() {
    let mut screen = TestScreen::new();
    screen.unread = true;
    screen.prompt("go");
    let agent = screen.agent(&AgentPath::root(), "explore-1", "map the routes");
    screen.write("please also look").wait(1000);
    screen.asks(&agent, 1, "explore-1", "psql shop");
    screen.key(KeyCode::Tab);
    assert_eq!(screen.model.focus, None);
    assert!(screen.model.questions.open.is_some());
}

#[test]
fn a_user_who_presses_quickly_answers_after_a_second() {
    for pause in [160, 200, 350, 450] {
        // The last one quits.
        for (code, modifiers) in &answering_keys()[..5] {
            let mut screen = TestScreen::new();
            screen.unread = true;
            screen.prompt("go").wait(2000).asks(&root(), 1, "main", "ls");
            let opened = screen.at;
            while (screen.at - opened).as_millis() + u128::from(pause) < 1000 {
                screen.wait(pause).draw().chord(*code, *modifiers);
                assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], ""));
            }
            screen.wait(pause).draw();
            assert!(!picture(&mut screen, 100, 30).contains("answers work in a moment"));
            screen.write("1");
            assert_eq!(screen.sent(), [answer(1, Answer::Once)], "{code} every {pause} ms");
        }
    }
}

#[test]
fn keys_that_show_more_of_a_question_work_at_once_and_hold_no_answer_back() {
    let long = |screen: &mut TestScreen| {
        screen.model.size = (100, 30);
        screen.prompt("go").wait(2000).asks(&root(), 1, "main", &"ls\n".repeat(200)).draw();
    };
    let top = |screen: &TestScreen| screen.model.questions.open.as_ref().unwrap().scroll;
    let mut screen = TestScreen::new();
    screen.unread = true;
    long(&mut screen);
    screen.wait(100).key(KeyCode::PageDown).draw().wait(100).key(KeyCode::PageDown).draw();
    let two = top(&screen);
    screen.key(KeyCode::PageUp).draw();
    let one = top(&screen);
    assert!(0 < one && one < two, "{one} {two}");
    screen.key(KeyCode::End).draw();
    assert!(top(&screen) > two);
    screen.key(KeyCode::Home).draw();
    assert_eq!(top(&screen), 0);
    screen.wait(300).draw().write("4");
    let reason = |screen: &TestScreen| {
        matches!(screen.model.questions.open.as_ref().unwrap().stage, QuestionStage::Reason(_))
    };
    assert!(reason(&screen), "half a second is over");
    let mut screen = TestScreen::new();
    screen.unread = true;
    long(&mut screen);
    screen.wait(100).ctrl('o').draw();
    assert!(matches!(screen.model.overlay, Some(Overlay::Question { .. })));
    screen.wait(50).key(KeyCode::PageDown).draw().wait(50).esc().draw();
    assert!(screen.model.overlay.is_none() && screen.sent().is_empty());
}

#[test]
fn a_digit_that_begins_a_sentence_as_a_question_opens_is_in_the_draft() {
    let (mut screen, _) = unread();
    screen.wait(100).write("2").wait(150).write("0").wait(150).write(" files please");
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "20 files please"));
    let shown = picture(&mut screen, 100, 30);
    assert!(!shown.contains("answers work in a moment"), "{shown}");
    assert!(shown.contains("to the question"), "{shown}");
    // Behind the half second, too.
    let (mut screen, _) = unread();
    screen.wait(450).write("2").wait(400).write("0").wait(400).write("x");
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "20x"));
    // One that was meant as an answer is not.
    for (pause, between) in [(1000, None), (100, Some(KeyCode::Home))] {
        let (mut screen, _) = unread();
        screen.write("1").wait(pause);
        between.map(|key| screen.key(key));
        screen.draw().write("please");
        assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "please"));
    }
}

#[test]
fn a_held_digit_and_a_fast_burst_of_digits_never_answer() {
    for (pause, number) in [(30, 100), (130, 12), (130, 40)] {
        let (mut screen, _) = unread();
        for digit in "314252".chars().cycle().take(number) {
            screen.wait(pause).draw().key(KeyCode::Char(digit));
        }
        assert_eq!(screen.sent(), [], "{number} digits every {pause} ms");
        assert!(screen.model.questions.open.is_some());
        // Once the burst is over, a digit is an answer.
        screen.wait(600).draw().write("1");
        assert_eq!(screen.sent(), [answer(1, Answer::Once)]);
    }
}

#[test]
fn what_is_typed_on_a_page_over_a_question_answers_nothing() {
    for words in ["/cost", "/help"] {
        let mut screen = TestScreen::new();
        screen.unread = true;
        screen.prompt("go").wait(2000).asks(&root(), 1, "main", "ls").draw();
        screen.wait(100).write(words).enter().wait(2000).draw();
        assert!(screen.model.overlay.is_some() && screen.model.questions.open.is_some());
        screen.write("/").wait(1000).draw().write("1");
        assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], "/1"), "{words}");
        screen.key(KeyCode::Backspace).draw().key(KeyCode::Down).enter();
        assert!(!screen.sent().iter().any(|it| matches!(it, Command::Answer { .. })), "{words}");
    }
    // The page closes within the time in which no key answers.
    let (mut screen, _) = asked();
    screen.unread = true;
    screen.write("/help").enter().draw().wait(1000).esc().wait(100).draw().write("1");
    assert_eq!((screen.sent(), screen.model.composer.text()), (vec![], ""));
}
