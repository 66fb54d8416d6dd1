//! Images in the draft, as the update handles them.

use crossterm::event::KeyCode;
use pretty_assertions::assert_eq;

use crate::protocol::{Command, EventKind, ImageSource, PromptId, PromptImage, SizedImage};
use crate::tui::composer::Composer;
use crate::tui::composer::image_path::ImagePath;
use crate::tui::composer::past_prompt::{PastImage, PastPrompt};
use crate::tui::composer::paste::MAX_IMAGES;
use crate::tui::host::HostRequest;
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::testing::TestScreen;
use crate::tui::transcript::ItemKind;

fn image() -> SizedImage {
    let source = ImageSource { media_type: "image/png".into(), data: "AAAA".into() };
    SizedImage { source, width: 1280, height: 720, bytes: 84_000 }
}

fn paste(screen: &mut TestScreen, text: &str) {
    let (text, at) = (text.to_owned(), screen.at);
    screen.send(Msg::Paste { text, at });
}

/// The paths of the images that the screen has asked for.
fn asked(screen: &mut TestScreen) -> Vec<Option<String>> {
    let asked = screen.effects.drain(..).filter_map(|effect| match effect {
        ScreenEffect::Ask(HostRequest::Image { path, .. }) => Some(path.map(|path| path.path)),
        _ => None,
    });
    asked.collect()
}

fn arrive(screen: &mut TestScreen, path: Option<&str>, image: Result<Option<SizedImage>, String>) {
    let path = path.map(|path| ImagePath::parse(path).unwrap());
    let (draft, at) = (screen.model.composer.images.draft(), screen.at);
    screen.send(Msg::Host { reply: HostRequest::Image { path, draft, image }, at });
}

/// Answers all requests for images with an image.
fn answer_all(screen: &mut TestScreen) {
    let at = screen.at;
    let asked: Vec<_> = screen.effects.drain(..).collect();
    for effect in asked {
        if let ScreenEffect::Ask(HostRequest::Image { mut path, draft, .. }) = effect {
            if let Some(path) = &mut path {
                path.file = Some(format!("/p/{}", path.path.trim_start_matches("/p/")));
                path.path = path.path.trim_start_matches("/p/").to_owned();
            }
            let reply = HostRequest::Image { path, draft, image: Ok(Some(image())) };
            screen.send(Msg::Host { reply, at });
        }
    }
}

/// Answers for a mention as it is written.
fn arrive_mention(screen: &mut TestScreen, mark: &str, image: Result<Option<SizedImage>, String>) {
    let path = mark.trim_matches(['@', '"']);
    let (path, at) = (ImagePath::from_mention(mark, path), screen.at);
    let draft = screen.model.composer.images.draft();
    screen.send(Msg::Host { reply: HostRequest::Image { path, draft, image }, at });
}

fn draft(screen: &TestScreen) -> String {
    screen.model.composer.buffer.full_text()
}

/// The prompt that was sent: its text, and the marks of its images.
fn sent(screen: &mut TestScreen) -> (PromptId, String, Vec<String>) {
    let Some(Command::Prompt { prompt, .. }) = screen.sent().pop() else { panic!("nothing sent") };
    let mark = |image: PromptImage| image.mark;
    (prompt.id, prompt.text, prompt.images.into_iter().map(mark).collect())
}

#[test]
fn a_pasted_path_becomes_a_token_where_it_stands_and_undo_brings_it_back() {
    let mut screen = TestScreen::new();
    screen.write("see ");
    paste(&mut screen, "/tmp/a.png");
    assert_eq!(asked(&mut screen), [Some("/tmp/a.png".to_owned())]);
    screen.write(" now");
    arrive(&mut screen, Some("/tmp/a.png"), Ok(Some(image())));
    assert_eq!(draft(&screen), "see [Image #1: /tmp/a.png] now");
    screen.write("!").key(KeyCode::Home).key(KeyCode::Delete);
    assert_eq!(draft(&screen), "ee [Image #1: /tmp/a.png] now!");
    screen.ctrl('_').ctrl('_').ctrl('_');
    assert_eq!(draft(&screen), "see /tmp/a.png now");
    screen.enter();
    assert_eq!(sent(&mut screen).2, Vec::<String>::new());
}

#[test]
fn an_image_chosen_from_the_menu_becomes_a_token_whatever_its_name_and_the_draft() {
    for (before, key) in [("", KeyCode::Enter), ("some pasted words", KeyCode::Tab)] {
        for name in ["shot.png", "zed two.png"] {
            let mut screen = TestScreen::new();
            paste(&mut screen, before);
            screen.write(" look @");
            let (query, paths) = (String::new(), vec![name.to_owned()]);
            let reply = HostRequest::Files { query, paths };
            screen.send(Msg::Host { reply, at: screen.at }).effects.clear();
            screen.key(key);
            answer_all(&mut screen);
            assert_eq!(draft(&screen), format!("{before} look [Image #1: {name}] "));
            screen.enter();
            assert_eq!(sent(&mut screen).2.len(), 1, "{name}");
        }
    }
}

#[test]
fn enter_sends_once_the_image_is_there_unless_the_draft_changes_or_it_is_none() {
    let mut screen = TestScreen::new();
    screen.write("see ").ctrl('v').enter();
    assert_eq!(asked(&mut screen), [None]);
    arrive(&mut screen, None, Ok(Some(image())));
    let (_, text, marks) = sent(&mut screen);
    assert_eq!((text.as_str(), marks), ("see [Image #1]", vec!["[Image #1]".to_owned()]));

    screen.write("more ").ctrl('v').enter().write("!");
    arrive(&mut screen, None, Ok(Some(image())));
    assert_eq!(screen.sent(), [], "it was edited after Enter");
    assert_eq!(draft(&screen), "more ![Image #2]");

    screen.ctrl('v').enter();
    arrive(&mut screen, None, Ok(None));
    assert_eq!(screen.sent(), []);
    assert_eq!(screen.notice(), "no image in the clipboard");
    assert_eq!(draft(&screen), "more ![Image #2]");
}

#[test]
fn a_pasted_text_that_looks_like_the_mark_of_an_image_stays_text_however_it_comes_back() {
    let with_image = || {
        let mut screen = TestScreen::new();
        screen.prompt("go").write("see ").ctrl('v');
        arrive(&mut screen, None, Ok(Some(image())));
        screen.enter();
        assert_eq!(sent(&mut screen).2, ["[Image #1]"]);
        paste(&mut screen, "log [Image #1] end");
        screen
    };
    type Way = (&'static str, fn(&mut TestScreen));
    let ways: [Way; 6] = [
        ("as it is", |_| {}),
        ("killed and yanked", |screen| {
            screen.ctrl('u').ctrl('y');
        }),
        ("from the history", |screen| {
            screen.ctrl('c').key(KeyCode::Up);
        }),
        ("found in the history", |screen| {
            screen.ctrl('c').ctrl('r').write("log").enter();
        }),
        ("from the editor", |screen| {
            let text = screen.model.composer.buffer.full_text();
            let at = screen.at;
            screen.send(Msg::Host { reply: HostRequest::Edit(Ok(text)), at });
        }),
        ("set aside", |screen| {
            screen.key(KeyCode::Up).key(KeyCode::Down);
        }),
    ];
    for (way, go) in ways {
        let mut screen = with_image();
        go(&mut screen);
        assert_eq!(draft(&screen), "log [Image #1] end", "{way}");
        screen.enter();
        let (_, text, marks) = sent(&mut screen);
        assert_eq!((&*text, marks), ("log [Image #1] end", Vec::new()), "{way}");
    }
    // In the queue, taken back, and put back by Esc.
    let mut screen = with_image();
    screen.enter();
    let id = sent(&mut screen).0;
    screen.key(KeyCode::Up);
    let text = "log [Image #1] end".to_owned();
    screen.main(EventKind::PromptReturned { id, text });
    assert_eq!(draft(&screen), "log [Image #1] end");
    screen.key(KeyCode::Esc);
    assert_eq!(sent(&mut screen).2, Vec::<String>::new());
}

#[test]
fn an_image_survives_the_kill_buffer_the_history_and_the_queue() {
    let mut screen = TestScreen::new();
    screen.write("see ").ctrl('v');
    arrive(&mut screen, None, Ok(Some(image())));
    screen.ctrl('u').ctrl('y').key(KeyCode::Backspace);
    assert_eq!(draft(&screen), "see ", "it is one character again");
    screen.ctrl('_').enter();
    let (id, text, marks) = sent(&mut screen);
    assert_eq!((text.as_str(), marks.len()), ("see [Image #1]", 1));
    screen.main(EventKind::PromptRefused { id, text, why: "no".to_owned() });
    assert_eq!(draft(&screen), "see [Image #1]");
    screen.key(KeyCode::Backspace);
    assert_eq!(draft(&screen), "see ");
    screen.ctrl('u').key(KeyCode::Up).enter();
    assert_eq!(sent(&mut screen).2, ["[Image #1]"], "from the history");
}

#[test]
fn what_is_no_image_or_too_many_stays_as_it_was() {
    let mut screen = TestScreen::new();
    paste(&mut screen, "notes.png");
    arrive(&mut screen, Some("notes.png"), Ok(None));
    assert_eq!((draft(&screen).as_str(), screen.notice()), ("notes.png", ""));
    arrive(&mut screen, Some("notes.png"), Err("notes.png: a folder".to_owned()));
    assert_eq!((draft(&screen).as_str(), screen.notice()), ("notes.png", "notes.png: a folder"));
    screen.ctrl('u');
    for _ in 0..=MAX_IMAGES {
        arrive(&mut screen, None, Ok(Some(image())));
    }
    assert_eq!(screen.notice(), "not added: a prompt takes 20 images at most");
    assert_eq!(draft(&screen).matches("[Image #").count(), MAX_IMAGES);
    paste(&mut screen, "and text");
    assert!(draft(&screen).ends_with("[Image #20]and text"), "{}", draft(&screen));
}

#[test]
fn in_a_shell_line_a_path_is_a_path() {
    let mut screen = TestScreen::new();
    screen.write("!open ");
    paste(&mut screen, "/tmp/a.png");
    assert_eq!(asked(&mut screen), Vec::<Option<String>>::new());
}

#[test]
fn numbers_go_on_after_those_of_the_session_and_its_images_are_lines() {
    let mut screen = TestScreen::new();
    let read = |number: usize| EventKind::ImageRead { label: format!("Image #{number} · 1×1") };
    let main = crate::protocol::AgentPath::root();
    screen.opened(vec![(&main, read(1)), (&main, read(2))]);
    screen.ctrl('v');
    arrive(&mut screen, None, Ok(Some(image())));
    assert_eq!(draft(&screen), "[Image #3]");
    let lines = screen.model.main.iter().filter_map(|(_, item)| match &item.kind {
        ItemKind::Notice { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(lines.collect::<Vec<_>>(), ["[Image #1 · 1×1]", "[Image #2 · 1×1]"]);
}

#[test]
fn a_typed_mention_is_read_when_its_word_ends_and_with_enter() {
    let mut screen = TestScreen::new();
    screen.write("see @a.png, ");
    assert_eq!(asked(&mut screen), [], "a comma is no end");
    screen.key(KeyCode::Backspace).key(KeyCode::Backspace).write(" ");
    assert_eq!(asked(&mut screen), [Some("a.png".to_owned())]);
    arrive_mention(&mut screen, "@a.png", Ok(Some(image())));
    assert_eq!(draft(&screen), "see [Image #1: a.png] ");
    screen.write("and @none.png or @\"b c.png\"").key(KeyCode::Esc).enter();
    let paths =
        |paths: &[&str]| -> Vec<_> { paths.iter().map(|path| Some((*path).to_owned())).collect() };
    assert_eq!(asked(&mut screen), paths(&["none.png"]));
    arrive_mention(&mut screen, "@none.png", Ok(None));
    assert_eq!(asked(&mut screen), paths(&["b c.png", "none.png"]));
    arrive_mention(&mut screen, "@\"b c.png\"", Ok(Some(image())));
    arrive_mention(&mut screen, "@none.png", Ok(None));
    assert_eq!(asked(&mut screen), paths(&["none.png"]), "the text is another one");
    arrive_mention(&mut screen, "@none.png", Ok(None));
    let (_, text, marks) = sent(&mut screen);
    assert_eq!(text, "see [Image #1: a.png] and @none.png or [Image #2: b c.png]");
    assert_eq!(marks, ["[Image #1: a.png]", "[Image #2: b c.png]"]);
}

#[test]
fn what_a_paste_mentions_is_text_however_it_comes_back() {
    let pasted = "log\nsee @/home/me/secret.png now\n";
    let asks = |screen: &mut TestScreen| {
        let asked = asked(screen);
        assert_eq!(asked, [], "{}", draft(screen));
    };
    let mut screen = TestScreen::new();
    paste(&mut screen, pasted);
    screen.write("what is this?").enter();
    asks(&mut screen);
    // From the history.
    screen.key(KeyCode::Up).enter();
    asks(&mut screen);
    // Deleted and brought back.
    paste(&mut screen, pasted);
    screen.ctrl('u').ctrl('u').ctrl('u').ctrl('u').ctrl('u');
    assert_eq!(draft(&screen), "");
    for _ in 0..5 {
        screen.ctrl('_');
    }
    screen.enter();
    asks(&mut screen);
    // Through the editor.
    paste(&mut screen, pasted);
    let (text, at) = (format!("{pasted}more"), screen.at);
    screen.send(Msg::Host { reply: HostRequest::Edit(Ok(text)), at });
    screen.enter();
    asks(&mut screen);
    // With what is typed right behind it.
    for end in ["", "\n"] {
        paste(&mut screen, &format!("log\nsee @/home/me/secret.png{end}"));
        screen.write(" what is it?").enter();
        asks(&mut screen);
    }
    screen.key(KeyCode::Up).write(" ");
    asks(&mut screen);
    screen.ctrl('c');
    // After it, a typed one counts again.
    screen.write("@a.png").enter();
    assert_eq!(asked(&mut screen), [Some("a.png".to_owned())]);
}

/// A screen that begins with a history.
fn with_history(prompts: &[PastPrompt]) -> TestScreen {
    let mut screen = TestScreen::new();
    screen.model.composer = Composer::new(prompts.to_vec());
    screen
}

fn past(text: &str, images: &[(&str, Option<&str>)]) -> PastPrompt {
    let image = |(mark, file): &(&str, Option<&str>)| PastImage {
        mark: (*mark).to_owned(),
        file: file.map(str::to_owned),
    };
    PastPrompt { text: text.to_owned(), images: images.iter().map(image).collect() }
}

#[test]
fn a_prompt_of_an_earlier_process_has_its_images_again() {
    let older = past("first", &[]);
    let with_image = past("see [Image #4: a.png]", &[("[Image #4: a.png]", Some("/p/a.png"))]);
    let mut screen = with_history(&[older, with_image]);
    screen.key(KeyCode::Up);
    answer_all(&mut screen);
    assert_eq!(draft(&screen), "see [Image #1: a.png]");
    assert_eq!(screen.model.composer.text().chars().count(), 5, "a token");
    screen.key(KeyCode::Up);
    assert_eq!(draft(&screen), "first", "Up goes on from there");
    screen.key(KeyCode::Down).enter();
    let kept = screen.effects.iter().rev().find_map(|effect| match effect {
        ScreenEffect::Ask(HostRequest::Remember(prompt)) => Some(prompt.clone()),
        _ => None,
    });
    let expected = past("see [Image #1: a.png]", &[("[Image #1: a.png]", Some("/p/a.png"))]);
    assert_eq!(kept, Some(expected));
    assert_eq!(sent(&mut screen).2, ["[Image #1: a.png]"]);
}

#[test]
fn an_image_that_is_gone_is_said_and_a_text_like_a_mark_is_never_read() {
    let clip = past("[Image #3] what?", &[("[Image #3]", None)]);
    let pasted = past("log: [Image #1: /etc/secret.png]", &[]);
    let mut screen = with_history(&[pasted, clip]);
    screen.key(KeyCode::Up);
    assert_eq!(screen.notice(), "Image #3 is no longer there: it stays text");
    assert_eq!(asked(&mut screen), []);
    screen.key(KeyCode::Up);
    assert_eq!(draft(&screen), "log: [Image #1: /etc/secret.png]");
    assert_eq!(screen.notice(), "", "that was about another prompt");
    assert_eq!(asked(&mut screen), []);
    // A file that is no longer there.
    let lost = past("[Image #2: a.png]", &[("[Image #2: a.png]", Some("/p/a.png"))]);
    let mut screen = with_history(&[lost]);
    screen.key(KeyCode::Up);
    let (path, at) = (Some(ImagePath::from_past("[Image #2: a.png]", "/p/a.png")), screen.at);
    let draft = screen.model.composer.images.draft();
    screen.send(Msg::Host { reply: HostRequest::Image { path, draft, image: Ok(None) }, at });
    assert_eq!(screen.notice(), "Image #2 is no longer there: it stays text");
}

#[test]
fn only_the_images_of_the_draft_count_for_the_limit() {
    let mut screen = TestScreen::new();
    for _ in 0..3 {
        arrive(&mut screen, None, Ok(Some(image())));
    }
    screen.write(" send").enter();
    for _ in 0..MAX_IMAGES {
        arrive(&mut screen, None, Ok(Some(image())));
    }
    assert_eq!(screen.notice(), "");
    assert_eq!(draft(&screen).matches("[Image #").count(), MAX_IMAGES);
}

#[test]
fn an_image_belongs_to_the_draft_that_asked_for_it() {
    let mut screen = TestScreen::new();
    paste(&mut screen, "/tmp/big.png");
    let Some(ScreenEffect::Ask(mut reply)) = screen.effects.pop() else { panic!("nothing asked") };
    if let HostRequest::Image { image: found, .. } = &mut reply {
        *found = Ok(Some(image()));
    }
    screen.ctrl('c').write("new draft");
    let at = screen.at;
    screen.send(Msg::Host { reply, at });
    assert_eq!(draft(&screen), "new draft");
    screen.enter();
    assert_eq!(sent(&mut screen).1, "new draft", "nothing is being read for it");
}

#[test]
fn several_dropped_files_are_images_numbered_by_their_places() {
    let mut screen = TestScreen::new();
    paste(&mut screen, "/p/b.png '/p/c d.png' /p/a/b.png");
    assert_eq!(screen.notice(), "reading the image …");
    answer_all(&mut screen);
    let expected = "[Image #1: b.png] [Image #2: c d.png] [Image #3: a/b.png]";
    assert_eq!((draft(&screen).as_str(), screen.notice()), (expected, ""));
}

#[test]
fn the_clipboard_is_said_to_be_read_and_enter_waits_for_it() {
    let mut screen = TestScreen::new();
    screen.ctrl('v');
    assert_eq!(screen.notice(), "reading the clipboard …");
    screen.enter();
    assert_eq!(screen.notice(), "sent once the image is read");
    answer_all(&mut screen);
    assert_eq!(sent(&mut screen).1, "[Image #1]");
}

#[test]
fn the_words_of_an_answer_take_no_image_and_say_so() {
    let mut screen = TestScreen::new();
    let root = crate::protocol::AgentPath::root();
    screen.prompt("go").asks(&root, 1, "main", "cargo test").wait(2_000).draw();
    screen.write("4").ctrl('v');
    assert_eq!(screen.notice(), "an answer has no images: add the image to a prompt");
    assert_eq!(asked(&mut screen), []);
}

#[test]
fn the_mark_of_an_image_in_a_paste_sends_none() {
    let mut screen = TestScreen::new();
    screen.ctrl('v');
    arrive(&mut screen, None, Ok(Some(image())));
    assert_eq!(draft(&screen), "[Image #1]");
    screen.key(KeyCode::Backspace);
    let long = "[Image #1]\n".repeat(121);
    for pasted in ["see [Image #1]", &long] {
        paste(&mut screen, pasted);
        screen.write(" what").enter();
        assert_eq!(sent(&mut screen).2, Vec::<String>::new(), "{pasted}");
    }
    // Through the queue, a large paste is one piece as before.
    paste(&mut screen, &long);
    screen.write(" more").enter();
    let (id, text, marks) = sent(&mut screen);
    assert_eq!(marks, Vec::<String>::new());
    screen.main(EventKind::PromptReturned { id, text });
    screen.enter();
    assert_eq!(sent(&mut screen).2, Vec::<String>::new());
}
