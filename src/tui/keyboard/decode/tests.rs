use crossterm::event::{KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;

use super::*;

/// The events of bytes after which nothing more comes.
fn events(bytes: &[u8]) -> Vec<Event> {
    let mut typed = PendingInput::default();
    let now = Instant::now();
    typed.push(bytes, now);
    typed.expire(now + SEQUENCE_TIMEOUT);
    drain(&mut typed)
}

fn drain(typed: &mut PendingInput) -> Vec<Event> {
    let inputs = std::iter::from_fn(|| typed.take());
    let event = |input| if let Input::Event(event) = input { Some(event) } else { None };
    inputs.filter_map(event).collect()
}

fn letters(text: &str) -> Vec<Event> {
    text.chars().map(character).collect()
}

#[test]
fn each_key_has_the_event_that_it_should_have() {
    let none = KeyModifiers::NONE;
    let control = KeyModifiers::CONTROL;
    let table: &[(&[u8], KeyCode, KeyModifiers)] = &[
        (b"a", KeyCode::Char('a'), none),
        (b"A", KeyCode::Char('A'), KeyModifiers::SHIFT),
        ("ß".as_bytes(), KeyCode::Char('ß'), none),
        ("🦀".as_bytes(), KeyCode::Char('🦀'), none),
        (b"\r", KeyCode::Enter, none),
        (b"\n", KeyCode::Char('j'), control),
        (b"\t", KeyCode::Tab, none),
        (b"\x7f", KeyCode::Backspace, none),
        (b"\x00", KeyCode::Char(' '), control),
        (b"\x08", KeyCode::Char('h'), control),
        (b"\x1f", KeyCode::Char('7'), control),
        (b"\x1b", KeyCode::Esc, none),
        (b"\x1bb", KeyCode::Char('b'), KeyModifiers::ALT),
        (b"\x1b\x7f", KeyCode::Backspace, KeyModifiers::ALT),
        ("\x1bö".as_bytes(), KeyCode::Char('ö'), KeyModifiers::ALT),
        (b"\x1b[A", KeyCode::Up, none),
        (b"\x1bOA", KeyCode::Up, none),
        (b"\x1b\x1b[A", KeyCode::Up, KeyModifiers::ALT),
        (b"\x1b[1;5C", KeyCode::Right, control),
        (b"\x1b[Z", KeyCode::BackTab, KeyModifiers::SHIFT),
        (b"\x1b[3~", KeyCode::Delete, none),
        (b"\x1b[5;3~", KeyCode::PageUp, KeyModifiers::ALT),
        (b"\x1b[15~", KeyCode::F(5), none),
        (b"\x1b[24~", KeyCode::F(12), none),
        (b"\x1b[[B", KeyCode::F(2), none),
        (b"\x1bOS", KeyCode::F(4), none),
        (b"\x1b[27u", KeyCode::Esc, none),
        (b"\x1b[99;5u", KeyCode::Char('c'), control),
        (b"\x1b[13;2u", KeyCode::Enter, KeyModifiers::SHIFT),
        (b"\x1b[9;2u", KeyCode::BackTab, KeyModifiers::SHIFT),
        (b"\x1b[57406u", KeyCode::Char('7'), none),
        (b"\x1b[98;131u", KeyCode::Char('b'), KeyModifiers::ALT),
    ];
    for (bytes, code, modifiers) in table {
        let text = String::from_utf8_lossy(bytes).replace('\x1b', "␛");
        assert_eq!(events(bytes), [key(*code, *modifiers)], "{text}");
    }
}

#[test]
fn a_key_that_is_held_or_let_go_says_so() {
    for (bytes, kind) in
        [("\x1b[27;1:2u", KeyEventKind::Repeat), ("\x1b[27;1:3u", KeyEventKind::Release)]
    {
        let escape = KeyEvent::new_with_kind(KeyCode::Esc, KeyModifiers::NONE, kind);
        assert_eq!(events(bytes.as_bytes()), [Event::Key(escape)]);
    }
}

#[test]
fn the_mouse_the_focus_and_a_paste_are_events() {
    let mouse = |kind, modifiers| Event::Mouse(MouseEvent { kind, column: 9, row: 4, modifiers });
    let none = KeyModifiers::NONE;
    let left = MouseButton::Left;
    assert_eq!(events(b"\x1b[<0;10;5M"), [mouse(MouseEventKind::Down(left), none)]);
    assert_eq!(events(b"\x1b[<0;10;5m"), [mouse(MouseEventKind::Up(left), none)]);
    assert_eq!(events(b"\x1b[<32;10;5M"), [mouse(MouseEventKind::Drag(left), none)]);
    assert_eq!(events(b"\x1b[<68;10;5M"), [mouse(MouseEventKind::ScrollUp, KeyModifiers::SHIFT)]);
    assert_eq!(events(b"\x1b[M\x20\x2a\x25"), [mouse(MouseEventKind::Down(left), none)]);
    assert_eq!(events(b"\x1b[<0;0;0Mx"), letters("x"), "there is no column 0");
    assert_eq!(events(b"\x1b[I\x1b[O"), [Event::FocusGained, Event::FocusLost]);
    let pasted = Event::Paste("one\x1b[A\ntwo".to_owned());
    assert_eq!(events(b"\x1b[200~one\x1b[A\ntwo\x1b[201~"), [pasted]);
}

#[test]
fn what_nobody_asked_for_is_dropped_alone() {
    for said in [
        "\x1b[?2026;2$y",
        "\x1b[?997;1n",
        "\x1b[?62;22c",
        "\x1b[?0u",
        "\x1b[12;40R",
        "\x1b[57358u",
        "\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
        "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
        "\x1bP1$r0m\x1b\\",
        "\x1bOz",
    ] {
        assert_eq!(events(format!("{said}abc").as_bytes()), letters("abc"), "{said:?}");
    }
    // A sequence that is cut off takes nothing with it either.
    assert_eq!(events(b"\x1b[1;\rabc")[1..], letters("abc"));
    assert_eq!(events(b"\x1b]11;rgb\rabc")[1..], letters("abc"));
    assert_eq!(events(b"\xff\xc3abc"), letters("abc"));
}

#[test]
fn the_background_is_an_input_and_rubbish_in_its_place_is_nothing() {
    let inputs = |bytes: &[u8]| {
        let mut typed = PendingInput::default();
        typed.push(bytes, Instant::now());
        std::iter::from_fn(|| typed.take()).collect::<Vec<_>>()
    };
    for end in ["\x07", "\x1b\\"] {
        let dark = format!("a\x1b]11;rgb:1e1e/1e1e/2e2e{end}b");
        let letter = |letter| Input::Event(character(letter));
        let expected =
            [letter('a'), Input::TerminalBackground(TerminalBackground::Dark), letter('b')];
        assert_eq!(inputs(dark.as_bytes()), expected);
        let light = format!("\x1b]11;#fffff0{end}");
        assert_eq!(
            inputs(light.as_bytes()),
            [Input::TerminalBackground(TerminalBackground::Light)]
        );
        for rubbish in ["", "?", "rgb:", "rgb:zz/zz/zz", "1;2;3", "rubbish, ä!"] {
            assert_eq!(inputs(format!("\x1b]11;{rubbish}{end}").as_bytes()), [], "{rubbish:?}");
        }
    }
}

#[test]
fn a_late_or_endless_answer_about_the_background_types_nothing() {
    let mut typed = PendingInput::default();
    let now = Instant::now();
    let after = |millis| now + Duration::from_millis(millis);
    let pieces = ["\x1b]1", "1;rgb:1e", "1e/1e1e/2e", "2e\x1b", "\\"];
    for (at, piece) in pieces.iter().enumerate() {
        typed.push(piece.as_bytes(), after(at as u64 * 900));
        typed.expire(after(at as u64 * 900 + 800));
    }
    assert_eq!(typed.take(), Some(Input::TerminalBackground(TerminalBackground::Dark)));
    assert_eq!(typed.take(), None);
    // One without an end is dropped after a second.
    typed.push(b"\x1b]11;rgb:1e1e", now);
    typed.expire(now + BACKGROUND_REPLY_TIMEOUT);
    typed.push(b"abc", now);
    assert_eq!(drain(&mut typed), letters("abc"));
    // Who types on does not lose more for it.
    typed.push(b"\x1b]11;rgb:", now);
    typed.push(&[b'x'; MAX_BACKGROUND_REPLY], now);
    assert_eq!(typed.deadline(), Some(now + SEQUENCE_TIMEOUT));
    typed.expire(now + SEQUENCE_TIMEOUT);
    typed.push(b"abc", now);
    assert_eq!(drain(&mut typed), letters("abc"));
}

#[test]
fn a_sequence_that_never_ends_is_given_up() {
    let mut typed = PendingInput::default();
    let now = Instant::now();
    typed.push(b"\x1b[1;", now);
    assert_eq!(typed.deadline(), Some(now + SEQUENCE_TIMEOUT));
    typed.expire(now + SEQUENCE_TIMEOUT);
    assert_eq!(drain(&mut typed), []);
    typed.push(b"\x1bP", now);
    typed.expire(now + SEQUENCE_TIMEOUT);
    assert_eq!(drain(&mut typed), [key(KeyCode::Char('P'), KeyModifiers::ALT)]);
    assert_eq!(typed.deadline(), None);
}

/// Input that contains the first part of a paste, with nothing after it for as long as that may take.
fn stalled_paste(now: Instant) -> PendingInput {
    let mut typed = PendingInput::default();
    typed.push(b"\x1b[200~half", now);
    typed.expire(now + PASTE_TIMEOUT / 2);
    assert_eq!(drain(&mut typed), []);
    assert_eq!(typed.deadline(), Some(now + PASTE_TIMEOUT));
    typed.expire(now + PASTE_TIMEOUT);
    assert_eq!(drain(&mut typed), [Event::Paste("half".to_owned())]);
    assert_eq!(typed.deadline(), None);
    typed
}

#[test]
fn a_key_after_a_paste_without_an_end_is_a_key() {
    let control_c = key(KeyCode::Char('c'), KeyModifiers::CONTROL);
    for (bytes, event) in [
        (&b"\x03"[..], control_c.clone()),
        (b"\x1b[99;5u", control_c),
        (b"\x1b", key(KeyCode::Esc, KeyModifiers::NONE)),
        (b"\x1b[A", key(KeyCode::Up, KeyModifiers::NONE)),
        ("ä".as_bytes(), character('ä')),
    ] {
        let now = Instant::now();
        let mut typed = stalled_paste(now);
        typed.push(bytes, now);
        typed.expire(now + ESC_TIMEOUT);
        typed.push(b"ab", now);
        let expected = [vec![event], letters("ab")].concat();
        assert_eq!(drain(&mut typed), expected, "{bytes:?}");
    }
}

#[test]
fn the_rest_of_a_paste_that_stalled_is_no_keys() {
    let now = Instant::now();
    let mut typed = stalled_paste(now);
    typed.push(b" more\r1\r", now);
    assert_eq!(drain(&mut typed), []);
    typed.push(b"y\x1b[201~x", now);
    let expected = [vec![Event::Paste(" more\r1\ry".to_owned())], letters("x")].concat();
    assert_eq!(drain(&mut typed), expected);
    // The part before the pause was all of it.
    let mut typed = stalled_paste(now);
    typed.push(b"\x1b[201~x", now);
    assert_eq!(drain(&mut typed), letters("x"));
}

#[test]
fn a_paste_without_an_end_takes_no_more_memory_than_a_text_field_accepts() {
    let now = Instant::now();
    let mut typed = PendingInput::default();
    typed.push(b"\x1b[200~", now);
    let chunk = [b'x'; 1 << 20];
    for _ in 0..40 {
        typed.push(&chunk, now);
    }
    let kept = typed.bytes.len();
    assert!(kept < MAX_PASTED + 100, "{kept} bytes");
    // The end may arrive in pieces.
    typed.push(b"\x1b[20", now);
    typed.push(b"1~y", now);
    let events = drain(&mut typed);
    let [Event::Paste(text), rest] = &events[..] else { panic!("{} events", events.len()) };
    assert!(text.len() > MAX_PASTED, "text fields refuse it");
    assert_eq!(*rest, character('y'));
}

#[test]
fn an_esc_waits_ten_milliseconds_for_the_rest_of_a_sequence() {
    let mut typed = PendingInput::default();
    let now = Instant::now();
    let after = |millis| now + Duration::from_millis(millis);
    typed.push(b"\x1b", now);
    assert_eq!(typed.deadline(), Some(after(10)));
    typed.expire(after(9));
    assert_eq!(drain(&mut typed), []);
    typed.push(b"[", after(9));
    typed.expire(after(19));
    typed.push(b"A", after(50));
    assert_eq!(drain(&mut typed), [key(KeyCode::Up, KeyModifiers::NONE)]);
    typed.push(b"\x1b", now);
    typed.expire(after(10));
    typed.push(b"[", after(10));
    let escape = key(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(drain(&mut typed), [escape, key(KeyCode::Char('['), KeyModifiers::NONE)]);
}

#[test]
fn an_esc_before_anything_but_a_key_is_the_key() {
    let escape = key(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(events(b"\x1b\x1b[I"), [escape.clone(), Event::FocusGained]);
    assert_eq!(events(b"\x1b\x1b[?0ua"), [escape.clone(), character('a')]);
    let pasted = Event::Paste("p".to_owned());
    assert_eq!(events(b"\x1b\x1b[200~p\x1b[201~"), [escape, pasted]);
}

/// This would take minutes if each piece caused a search from the start.
#[test]
fn a_long_paste_in_pieces_is_one_event() {
    let text = "line\n".repeat(800_000);
    let mut typed = PendingInput::default();
    for piece in format!("\x1b[200~{text}\x1b[201~after").as_bytes().chunks(4096) {
        typed.push(piece, Instant::now());
    }
    let pasted = typed.take().map(|input| match input {
        Input::Event(event) => event,
        Input::TerminalBackground(_) => panic!("{input:?}"),
    });
    assert!(matches!(pasted, Some(Event::Paste(pasted)) if pasted == text));
    assert_eq!(drain(&mut typed), letters("after"));
}

#[test]
fn two_esc_are_two_keys() {
    let escape = key(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(events(b"\x1b\x1b"), [escape.clone(), escape.clone()]);
    assert_eq!(events(b"\x1b\x1b\x1b"), [escape.clone(), escape.clone(), escape]);
}

/// Sequences whose events do not depend on where a chunk ends.
fn sequence() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "Ä",
        "漢",
        "\r",
        "\x1b[A",
        "\x1b[1;5C",
        "\x1b[27;1:3u",
        "\x1b[<0;10;5M",
        "\x1b[200~p\x1b[Aq\x1b[201~",
        "\x1b[?997;1n",
    ])
}

proptest! {
    #[test]
    fn where_a_chunk_ends_changes_nothing(
        sequences in prop::collection::vec(sequence(), 1..12),
        cuts in prop::collection::vec(1usize..9, 1..40),
    ) {
        let bytes = sequences.concat().into_bytes();
        let mut typed = PendingInput::default();
        let now = Instant::now();
        let (mut from, mut cuts) = (0, cuts.into_iter().cycle());
        while from < bytes.len() {
            let to = (from + cuts.next().unwrap()).min(bytes.len());
            typed.push(&bytes[from..to], now);
            from = to;
        }
        prop_assert_eq!(drain(&mut typed), events(&bytes));
    }

    #[test]
    fn any_bytes_end_and_none_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut typed = PendingInput::default();
        let now = Instant::now();
        typed.push(&bytes, now);
        typed.expire(now + SEQUENCE_TIMEOUT);
        drain(&mut typed);
        typed.push(b"x", now);
        prop_assert_eq!(drain(&mut typed), letters("x"));
    }
}
