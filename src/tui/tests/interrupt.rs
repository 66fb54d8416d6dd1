//! Ctrl+C and Esc, case by case.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::protocol::{
    AgentEvent, AgentPath, Answer, Command, EventKind, PromptId, PromptTiming, QuestionId, RunEnd,
    Sender,
};
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::overlay::Overlay;
use crate::tui::testing::{TestScreen, agent_choice, finish};

use super::{busy, root};

#[test]
fn an_overlay_closes_first_with_either_key() {
    for escape in [true, false] {
        let mut screen = busy();
        screen.write("?");
        assert!(screen.model.overlay.is_some());
        if escape {
            screen.esc()
        } else {
            screen.ctrl('c')
        };
        assert_eq!(screen.model.overlay, None);
        assert_eq!(screen.sent(), []);
    }
}

#[test]
fn cancel_which_takes_ctrl_c_as_all_and_esc_as_nobody() {
    let mut screen = busy();
    let first = screen.agent(&root(), "explore-1", "one").id().unwrap();
    let second = screen.agent(&root(), "explore-2", "two").id().unwrap();
    screen.ctrl('c');
    assert!(matches!(screen.model.overlay, Some(Overlay::AgentPicker(_))));
    screen.esc();
    assert_eq!((screen.sent(), screen.notice()), (vec![], "nothing cancelled"));
    screen.wait(300).ctrl('c').wait(1000).ctrl('c');
    assert_eq!(screen.sent(), [Command::Cancel(first), Command::Cancel(second)]);
    assert_eq!(screen.notice(), "2 agents cancelled");
}

#[test]
fn in_cancel_which_rows_never_shift_and_an_ended_agent_cannot_be_picked() {
    let mut screen = busy();
    let first = screen.agent(&root(), "explore-1", "one");
    let second = screen.agent(&root(), "explore-2", "two");
    screen.agent(&root(), "explore-3", "three");
    screen.ctrl('c').event(&first, finish(RunEnd::Completed, ""));
    screen.write("1");
    assert_eq!(screen.sent(), []);
    screen.write("2");
    assert_eq!(screen.sent(), [Command::Cancel(second.id().unwrap())]);
    assert_eq!(screen.notice(), "agent 2 cancelled · partial text goes to main");
}

#[test]
fn both_keys_say_no_to_a_question_that_has_the_keyboard() {
    for escape in [true, false] {
        let mut screen = busy();
        let agent = screen.agent(&root(), "explore-2", "query");
        screen.asks(&agent, 7, "explore-2", "psql shop");
        if escape {
            screen.esc()
        } else {
            screen.ctrl('c')
        };
        let answer = Answer::No { reason: None };
        assert_eq!(screen.sent(), [Command::Answer { id: QuestionId(7), answer }]);
        assert_eq!(screen.notice(), "denied: Bash psql shop (agent 1)");
    }
}

#[test]
fn a_draft_gives_the_keyboard_to_the_question_before_anything_is_decided() {
    let mut screen = busy();
    screen.write("draft").wait(1500).asks(&root(), 7, "main", "psql");
    assert!(!screen.model.questions.open.as_ref().unwrap().keyboard);
    screen.ctrl('c');
    assert!(screen.model.questions.open.as_ref().unwrap().keyboard);
    assert_eq!(screen.sent(), []);
}

#[test]
fn a_message_taken_back_goes_back_with_esc() {
    let mut screen = busy();
    screen.write("also this").enter();
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
    screen.key(KeyCode::Up);
    assert_eq!(screen.sent(), [Command::TakeBack { to: root(), id: prompt.id }]);
    screen.main(EventKind::PromptReturned { id: prompt.id, text: prompt.text });
    assert_eq!(screen.model.composer.text(), "also this");
    screen.esc();
    assert_eq!(screen.model.composer.text(), "");
    assert_eq!(screen.notice(), "back in the queue");
    assert!(
        matches!(&screen.sent()[..], [Command::Prompt { prompt, .. }] if prompt.text == "also this")
    );
}

#[test]
fn a_message_for_an_agent_that_was_taken_back_is_still_for_that_agent() {
    let mut screen = busy();
    let agent = screen.agent(&root(), "explore-1", "watch the logs");
    screen.key(KeyCode::Tab).write("look").enter();
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
    screen.event(&agent, EventKind::PromptQueued { id: prompt.id });
    let shown = super::pictures::picture(&mut screen, 120, 40);
    assert!(!shown.contains("↑ edit"), "it would leave for another pane: {shown}");
    screen.esc();
    let shown = super::pictures::picture(&mut screen, 120, 40);
    assert!(shown.contains("↑ edit"), "{shown}");
    screen.key(KeyCode::Up);
    screen.event(&agent, EventKind::PromptReturned { id: prompt.id, text: prompt.text });
    assert_eq!((screen.model.composer.text(), screen.model.focus.as_ref()), ("look", Some(&agent)));
    screen.sent();
    screen.write(" here").enter();
    let sent = screen.sent();
    let [Command::Prompt { to, prompt }] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((to, &*prompt.text), (&agent, "look here"));
}

#[test]
fn esc_never_sends_a_changed_message_that_was_taken_back() {
    let mut screen = busy();
    screen.write("delete the old files").enter();
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
    screen.key(KeyCode::Up);
    screen.main(EventKind::PromptReturned { id: prompt.id, text: prompt.text }).sent();
    screen.write(", but keep").esc();
    assert_eq!(screen.notice(), "back in the queue as it was");
    let sent = screen.sent();
    assert!(
        matches!(&sent[..], [Command::Prompt { prompt, .. }] if prompt.text == "delete the old files"),
        "{sent:?}"
    );
    screen.ctrl('r').write("but keep");
    let output = super::pictures::picture(&mut screen, 100, 30);
    assert!(output.contains("delete the old files, but keep"), "it is in the history: {output}");
}

#[test]
fn a_message_taken_back_is_a_draft_once_its_agent_has_stopped() {
    let mut screen = busy();
    screen.write("also this").enter();
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
    screen.key(KeyCode::Up);
    screen.main(EventKind::PromptReturned { id: prompt.id, text: prompt.text });
    let output = super::pictures::picture(&mut screen, 100, 30);
    assert!(output.contains("Esc puts it back in the queue · Enter queues it"), "{output}");
    screen.main(finish(RunEnd::Completed, "")).sent();
    let output = super::pictures::picture(&mut screen, 100, 30);
    assert!(output.contains("Enter sends · Ctrl+C clears the draft"), "{output}");
    screen.wait(300).esc();
    assert_eq!(screen.sent(), [], "nothing is sent by the way out");
    assert_eq!(screen.model.composer.text(), "also this");
}

#[test]
fn ctrl_c_cancels_the_focused_agent_and_keeps_the_focus() {
    let mut screen = busy();
    screen.agent(&root(), "explore-1", "one");
    let second = screen.agent(&root(), "explore-2", "two");
    screen.key(KeyCode::Tab).key(KeyCode::Tab).ctrl('c');
    assert_eq!(screen.sent(), [Command::Cancel(second.id().unwrap())]);
    assert_eq!(screen.notice(), "agent 2 cancelled · partial text goes to main");
    screen.event(&second, finish(RunEnd::Cancelled { before_start: false }, ""));
    assert_eq!(screen.model.focus.as_ref(), Some(&second));
    screen.wait(300).ctrl('c');
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.notice(), "agent 2 has ended (cancelled by you) · Esc back");
}

#[test]
fn a_queued_agent_is_cancelled_before_it_started() {
    let mut screen = busy();
    screen.agent(&root(), "explore-1", "one");
    let queued = screen.queued_agent(&root(), "explore-4", "four");
    screen.event(&queued, EventKind::Queued { place: 1 });
    screen.chord(KeyCode::Char('2'), KeyModifiers::ALT).ctrl('c');
    assert_eq!(screen.sent(), [Command::Cancel(queued.id().unwrap())]);
    assert_eq!(screen.notice(), "agent 2 cancelled before it started");
}

#[test]
fn esc_steps_from_the_zoom_to_the_panes_to_the_prompt_and_cancels_nobody() {
    let mut screen = busy();
    screen.agent(&root(), "explore-1", "one");
    screen.key(KeyCode::Tab).enter();
    assert!(screen.model.zoom);
    screen.esc();
    assert!(!screen.model.zoom && screen.model.focus.is_some());
    // Leaving a view again is harmless, so it needs no pause; stopping everything does.
    screen.wait(100).esc();
    assert_eq!(screen.model.focus, None);
    screen.wait(100).esc().wait(200).esc();
    assert_eq!(screen.sent(), []);
    screen.wait(300).esc();
    assert_eq!(screen.sent(), [Command::CancelTurn]);
}

#[test]
fn the_panel_folds_when_the_user_has_cancelled_all_its_agents() {
    let mut screen = busy();
    let paths = ["explore-1", "explore-2"].map(|name| screen.agent(&root(), name, "one"));
    screen.ctrl('c').write("aa");
    assert_eq!(screen.sent().len(), 2);
    let cancelled = || finish(RunEnd::Cancelled { before_start: false }, "");
    screen.event(&paths[0], cancelled());
    assert_eq!(screen.model.agents.panel().len(), 2);
    screen.event(&paths[1], cancelled());
    assert_eq!(screen.model.agents.panel().len(), 0);
}

#[test]
fn both_keys_kill_the_persons_own_command() {
    let mut screen = TestScreen::new();
    screen.write("!cargo test").enter();
    assert_eq!(screen.sent(), [Command::Shell { line: "cargo test".to_owned() }]);
    screen.ctrl('c');
    assert_eq!(
        (screen.sent(), screen.notice()),
        (vec![Command::CancelShell], "stopped: cargo test")
    );
}

#[test]
fn without_focus_ctrl_c_cancels_the_only_running_agent_and_keeps_the_draft() {
    let mut screen = busy();
    let running = screen.agent(&root(), "explore-1", "one");
    let queued = screen.queued_agent(&root(), "explore-2", "two");
    screen.event(&queued, EventKind::Queued { place: 1 });
    screen.write("draft").ctrl('c');
    assert_eq!(screen.sent(), [Command::Cancel(running.id().unwrap())]);
    assert_eq!(screen.model.composer.text(), "draft");
}

#[test]
fn when_all_agents_queue_ctrl_c_asks_which() {
    let mut screen = busy();
    let queued = screen.queued_agent(&root(), "explore-2", "two");
    screen.event(&queued, EventKind::Queued { place: 1 }).ctrl('c');
    assert!(matches!(screen.model.overlay, Some(Overlay::AgentPicker(_))));
}

#[test]
fn esc_stops_main_with_its_agents_and_says_how_many() {
    let mut screen = busy();
    screen.agent(&root(), "explore-1", "one");
    screen.esc();
    assert_eq!(
        (screen.sent(), screen.notice()),
        (vec![Command::CancelTurn], "Stopped: main and 1 agent")
    );
    let mut screen = busy();
    for number in 1..=12 {
        screen.agent(&root(), &format!("explore-{number}"), "one");
    }
    screen.esc();
    assert_eq!(screen.notice(), "Stopped: main and 12 agents · partial texts kept");
}

#[test]
fn esc_after_a_no_stops_nobody_for_a_second() {
    let mut screen = busy();
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.asks(&agent, 1, "explore-1", "ls").wait(1200);
    screen.esc();
    assert!(matches!(screen.sent()[..], [Command::Answer { .. }]));
    for pause in [300, 600] {
        screen.wait(pause).esc();
        assert_eq!(screen.sent(), []);
    }
    screen.wait(1000).esc();
    assert_eq!(screen.sent(), [Command::CancelTurn]);
}

#[test]
fn with_a_draft_ctrl_c_clears_it_and_esc_stops_main() {
    let mut screen = busy();
    screen.write("draft").ctrl('c');
    assert_eq!((screen.sent(), screen.notice()), (vec![], "draft cleared · Up brings it back"));
    screen.key(KeyCode::Up);
    assert_eq!(screen.model.composer.text(), "draft");
    screen.esc();
    assert_eq!((screen.sent(), screen.notice()), (vec![Command::CancelTurn], "Stopped"));
    assert_eq!(screen.model.composer.text(), "draft");
}

#[test]
fn messages_that_nobody_has_read_are_named_before_quitting_and_stand_on_the_last_screen() {
    let lines = |screen: &TestScreen| crate::tui::exit_summary::exit_summary(&screen.model);
    for (by_key, warning) in [
        (true, "main is working · 2 messages unread · Ctrl+D again stops it and quits"),
        (false, "main is working · 2 messages unread · /quit again stops it"),
    ] {
        let quit = |screen: &mut TestScreen| match by_key {
            true => screen.ctrl('d').sent(),
            false => screen.write("/quit").enter().sent(),
        };
        let mut screen = busy();
        screen.model.session.prompts = 1;
        let texts = ["first", "second\nline"];
        let ids = texts.map(|text| {
            let (text, at) = (text.to_owned(), screen.at);
            screen.send(Msg::Paste { text, at }).enter();
            let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!() };
            prompt.id
        });
        quit(&mut screen);
        assert_eq!(screen.notice(), warning);
        quit(&mut screen);
        let unread = ["2 messages were not read. Up in the prompt brings them back:"];
        let unread = unread.into_iter().chain(["  first", "  second", "  line"]);
        let unread: Vec<String> = unread.map(str::to_owned).collect();
        assert!(lines(&screen).windows(4).any(|lines| lines == unread), "{:?}", lines(&screen));
        // The runtime gives back those that main has not read.
        for (id, text) in ids.into_iter().zip(texts) {
            screen.main(EventKind::PromptReturned { id, text: text.to_owned() });
            assert!(lines(&screen).windows(4).any(|lines| lines == unread), "{:?}", lines(&screen));
        }
        // Without a store, there is no history.
        screen.model.session.resumable = false;
        let said = lines(&screen);
        assert!(said.contains(&"2 messages were not read:".to_owned()), "{said:?}");
    }
}

#[test]
fn a_ctrl_c_that_stopped_main_is_not_the_first_of_the_two_that_quit() {
    for ends in [true, false] {
        let mut screen = busy();
        screen.ctrl('c');
        assert_eq!((screen.sent(), screen.notice()), (vec![Command::CancelTurn], "Stopped"));
        if ends {
            screen.main(finish(RunEnd::Cancelled { before_start: false }, ""));
        }
        screen.wait(350).ctrl('c');
        assert!(!screen.effects.contains(&ScreenEffect::Quit));
        assert_eq!((screen.sent(), screen.notice()), (vec![], "Ctrl+C again quits"));
        screen.wait(350).ctrl('c');
        let quits = |screen: &TestScreen| screen.effects.contains(&ScreenEffect::Quit);
        assert!(quits(&screen) || screen.model.closing);
    }
}

#[test]
fn a_ctrl_c_that_cancelled_an_agent_does_not_arm_quitting() {
    let mut screen = busy();
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.ctrl('c').event(&agent, finish(RunEnd::Cancelled { before_start: false }, ""));
    screen.main(finish(RunEnd::Completed, "")).wait(400).ctrl('c');
    assert!(!screen.effects.contains(&ScreenEffect::Quit));
    assert_eq!(screen.notice(), "Ctrl+C again quits");
}

#[test]
fn idle_and_empty_ctrl_c_quits_only_within_two_seconds() {
    let mut screen = TestScreen::new();
    screen.ctrl('c');
    assert_eq!(screen.notice(), "Ctrl+C again quits");
    screen.wait(2100).ctrl('c');
    assert!(!screen.effects.contains(&ScreenEffect::Quit));
    screen.wait(100).ctrl('c');
    assert!(screen.effects.contains(&ScreenEffect::Quit));
}

#[test]
fn a_drummed_key_leaves_the_views_and_stops_nothing() {
    let mut screen = busy();
    screen.agent(&root(), "explore-1", "one");
    screen.key(KeyCode::Tab).enter();
    for _ in 0..10 {
        screen.esc().wait(200);
    }
    assert!(!screen.model.zoom && screen.model.focus.is_none());
    assert_eq!(screen.sent(), []);
    screen.wait(250).esc();
    assert_eq!(screen.sent(), [Command::CancelTurn]);
}

#[test]
fn ctrl_d_quits_an_empty_prompt_and_asks_twice_while_something_works() {
    let mut screen = TestScreen::new();
    screen.write("x").ctrl('d');
    assert!(!screen.effects.contains(&ScreenEffect::Quit));
    screen.ctrl('c').ctrl('d');
    assert!(screen.effects.contains(&ScreenEffect::Quit));
    let mut screen = busy();
    for number in 1..=3 {
        screen.agent(&root(), &format!("explore-{number}"), "one");
    }
    screen.ctrl('d');
    assert_eq!(
        screen.notice(),
        "main and 3 agents are working · Ctrl+D again stops them and quits"
    );
    screen.wait(500).ctrl('d');
    assert_eq!(screen.sent(), [Command::Quit]);
    assert!(screen.model.closing);
    screen.ctrl('c');
    assert!(screen.effects.contains(&ScreenEffect::Quit));
}

#[test]
fn stopping_puts_queued_messages_before_the_draft_oldest_first() {
    let mut screen = busy();
    screen.write("one").enter().write("two").enter().write("draft").esc();
    let ids: Vec<PromptId> = screen
        .sent()
        .into_iter()
        .filter_map(|command| match command {
            Command::Prompt { prompt, .. } => Some(prompt.id),
            _ => None,
        })
        .collect();
    screen.main(EventKind::PromptReturned { id: ids[0], text: "one".to_owned() });
    screen.main(EventKind::PromptReturned { id: ids[1], text: "two".to_owned() });
    assert_eq!(screen.model.composer.text(), "one\ntwo\ndraft");
    assert_eq!(screen.notice(), "Stopped · 2 queued messages are back in the prompt");
    assert_eq!(screen.model.queue.visible().count(), 0);
}

#[test]
fn enter_on_the_empty_prompt_makes_the_newest_a_follow_up_but_not_at_once() {
    let mut screen = busy();
    screen.write("also").enter();
    screen.sent();
    screen.wait(100).enter();
    assert_eq!(screen.sent(), []);
    screen.wait(300).enter();
    assert_eq!(
        screen.sent(),
        [Command::Requeue { to: root(), id: PromptId(1), when: PromptTiming::Done }]
    );
}

#[test]
fn what_cannot_be_resumed_is_not_promised_to_be() {
    for resumable in [true, false] {
        let mut screen = busy();
        screen.model.session.resumable = resumable;
        screen.model.session.id = Some(crate::protocol::SessionId::generate());
        screen.model.session.prompts = 1;
        screen.model.exit_in_turn = true;
        let agent = screen.agent(&root(), "review-1", "check");
        screen.event(&agent, finish(RunEnd::MaxTurns { limit: 2 }, ""));
        let ended = screen.model.agents.get(&agent).unwrap();
        assert_eq!(screen.model.can_resume(ended), resumable);
        let lines = crate::tui::exit_summary::exit_summary(&screen.model);
        assert_eq!(lines.iter().any(|line| line.contains("resume")), resumable, "{lines:?}");
    }
}

#[test]
fn the_farewell_of_a_resumed_session_counts_all_of_its_prompts() {
    let mut screen = TestScreen::new();
    let read = |text: &str, from: Sender| AgentEvent {
        path: root(),
        seq: 0,
        at: jiff::Timestamp::now(),
        kind: EventKind::PromptRead { id: None, text: text.into(), from },
    };
    let agent = Sender::Agent { name: "explore-1".to_owned() };
    let history =
        vec![read("one", Sender::Person), read("a report", agent), read("two", Sender::Person)];
    let id = crate::protocol::SessionId::generate();
    screen.main(EventKind::SessionOpened { id, history, forked: false });
    let summary = |screen: &TestScreen| crate::tui::exit_summary::exit_summary(&screen.model);
    assert_eq!(summary(&screen), [format!("caliban --resume {id}")], "nothing was sent");
    screen.write("three").enter();
    screen.main(read("three", Sender::Person).kind).main(finish(RunEnd::Completed, "well"));
    let lines = summary(&screen);
    assert!(lines.iter().any(|line| line.starts_with("session: 3 prompts")), "{lines:?}");
    let other = crate::protocol::SessionId::generate();
    screen.main(EventKind::SessionOpened { id: other, history: Vec::new(), forked: false });
    assert_eq!(summary(&screen), [""; 0], "a new session has nothing to resume");
}

#[test]
fn agents_that_ended_because_main_was_stopped_say_so() {
    let mut screen = busy();
    let agent = screen.agent(&root(), "explore-1", "one");
    screen.esc().event(&agent, finish(RunEnd::Cancelled { before_start: false }, ""));
    let agent = screen.model.agents.get(&agent).unwrap();
    let words = crate::tui::labels::agent_status(&screen.model, agent).text;
    assert_eq!(words, "cancelled with main");
}

#[test]
fn what_else_is_done_disarms_quitting() {
    let others: [fn(&mut TestScreen); 5] = [
        |screen| {
            screen.write("x").key(KeyCode::Backspace);
        },
        |screen| {
            screen.write("?").esc();
        },
        |screen| {
            screen.esc();
        },
        |screen| {
            screen.key(KeyCode::PageUp);
        },
        |screen| {
            let at = screen.at;
            screen.send(Msg::Paste { text: "x".to_owned(), at }).key(KeyCode::Backspace);
        },
    ];
    for other in others {
        let mut screen = TestScreen::new();
        screen.ctrl('c').wait(300);
        assert_eq!(screen.notice(), "Ctrl+C again quits");
        other(&mut screen);
        assert_eq!(screen.notice(), "");
        screen.wait(300).ctrl('c');
        assert!(!screen.effects.contains(&ScreenEffect::Quit));
        assert_eq!(screen.notice(), "Ctrl+C again quits");
    }
}

#[test]
fn the_text_of_a_cancelled_agent_goes_to_its_parent_unless_that_was_stopped_too() {
    let main = AgentPath::root();
    let cancelled = || finish(RunEnd::Cancelled { before_start: false }, "some");
    let mut screen = TestScreen::new();
    screen.prompt("go");
    let parent = screen.agent(&main, "general-purpose-1", "plan");
    let child = screen.agent(&parent, "explore-1", "one");
    let other = screen.agent(&parent, "explore-2", "two");
    let partial = |screen: &TestScreen, path: &AgentPath| {
        let agent = screen.model.agents.get(path).unwrap();
        crate::tui::labels::partial_text_note(&screen.model, agent)
    };
    screen.event(&child, cancelled());
    let to_parent = Some("partial text goes to agent 1".to_owned());
    assert_eq!(partial(&screen, &child), to_parent);
    screen.event(&other, cancelled()).event(&parent, cancelled());
    assert_eq!(partial(&screen, &other), None, "nobody reads it");
    let to_main = Some("partial text goes to main".to_owned());
    assert_eq!(partial(&screen, &parent), to_main);
    screen.main(finish(RunEnd::Completed, ""));
    assert_eq!(partial(&screen, &parent), None, "the call of main's turn returned it");
    screen.prompt("go on");
    let last = screen.agent(&main, "explore-3", "three");
    screen.esc().event(&last, cancelled());
    assert_eq!(partial(&screen, &last), None, "main was stopped");
}

#[test]
fn killing_a_command_gives_back_the_messages_that_wait_for_it() {
    for ctrl in [false, true] {
        let mut screen = TestScreen::new();
        screen.write("!make").enter();
        for (id, text) in [(1, "fix it"), (2, "and test it")] {
            screen.write(text).enter().main(EventKind::PromptQueued { id: PromptId(id) });
        }
        let shown = super::pictures::picture(&mut screen, 100, 30);
        assert!(shown.contains("kills the command and gives your messages back"), "{shown}");
        screen.sent();
        if ctrl {
            screen.ctrl('c')
        } else {
            screen.esc()
        };
        let back = |id| Command::TakeBack { to: AgentPath::root(), id: PromptId(id) };
        assert_eq!(screen.sent(), [back(1), back(2), Command::CancelShell]);
        for (id, text) in [(1, "fix it"), (2, "and test it")] {
            screen.main(EventKind::PromptReturned { id: PromptId(id), text: text.into() });
        }
        assert_eq!(screen.model.composer.text(), "fix it\nand test it");
        assert_eq!(screen.notice(), "Stopped · 2 queued messages are back in the prompt");
        assert_eq!(screen.model.queue.visible().count(), 0);
    }
}

#[test]
fn with_a_menu_esc_closes_it_and_ctrl_c_clears_the_draft() {
    for draft in ["/mod", "see @explore"] {
        let mut screen = TestScreen::new();
        screen.model.definitions = Some(vec![agent_choice("explore")]);
        screen.write(draft).esc();
        assert!(screen.model.composer.menu.is_none());
        assert_eq!(screen.model.composer.text(), draft);
        screen.write("x").key(KeyCode::Backspace).ctrl('u').write(draft);
        assert!(screen.model.composer.menu.is_some(), "{draft}");
        screen.ctrl('c');
        assert_eq!((screen.model.composer.text(), &screen.model.composer.menu), ("", &None));
        screen.key(KeyCode::Up);
        assert_eq!(screen.model.composer.text(), draft);
    }
}
