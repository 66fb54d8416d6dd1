//! Images in prompts: dropped, from the clipboard, mentioned.

use std::fs;

use super::{NOTHING, send};
use crate::support::picture::{outline, png};
use crate::support::pty::{BACKSPACE, ENTER, Screen, UP};
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::text;

const CTRL_V: &str = "\x16";

/// Puts an image into the project and returns its path.
fn picture(scene: &Scene, name: &str, width: u32, height: u32) -> String {
    let file = scene.world.project_dir().join(name);
    fs::write(&file, png(width, height)).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The texts and images of the last message of the newest request.
fn last_message(scene: &Scene) -> Vec<String> {
    let request = scene.server.requests().pop().unwrap();
    outline(&request.messages().last().unwrap()["content"])
}

#[tokio::test]
async fn a_dropped_image_is_one_token_and_sent_at_its_place() {
    let scene = Scene::new();
    let path = picture(&scene, "my shot.png", 3000, 1000);
    scene.server.when(PARENT).reply(text(DONE)).then(text("and again"));
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 in ");
    screen.paste(&path.replace(' ', "\\ "));
    screen.wait_for("› PARENT-1 in [Image #1]");
    screen.keys(BACKSPACE);
    screen.wait_gone("Image");
    screen.paste(&format!("'{path}'"));
    screen.wait_for("› PARENT-1 in [Image #2]");
    send(&screen, " look");
    let shown = screen.wait_for(DONE);
    assert!(shown.contains("[Image #2 · 1568×522 · "), "{shown}");
    let message = last_message(&scene);
    let at = message.iter().position(|piece| piece == "<image 1568x522>").unwrap();
    assert_eq!(message[at - 1], "PARENT-1 in [Image #2: my shot.png]");
    assert_eq!(message[at + 1], " look");
    // Resumed, it is there again.
    screen.quit_when_idle();
    screen.wait_ended();
    let screen = Screen::start(&scene.world, ["--continue"], 120, 30);
    let shown = screen.wait_for("[Image #2 · 1568×522 · ");
    assert!(shown.contains("] look"), "{shown}");
    send(&screen, "and now?");
    screen.wait_for("and again");
    let request = scene.server.requests().pop().unwrap();
    assert!(outline(&request.messages()[0]["content"]).contains(&"<image 1568x522>".to_owned()));
    scene.server.finish();
}

#[tokio::test]
async fn what_is_no_image_stays_in_the_draft_as_it_was_pasted() {
    let scene = Scene::new();
    let broken = picture(&scene, "broken.png", 20, 20);
    let bytes = fs::read(&broken).unwrap();
    fs::write(&broken, &bytes[..40]).unwrap();
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.paste(&broken);
    let shown = screen.wait_for("broken.png: a broken PNG image: ");
    assert!(shown.contains(&format!("› {broken}")), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn the_clipboard_is_read_through_the_program_of_the_desktop() {
    let wayland = "case \"$*\" in\n--list-types) printf 'text/plain\\nimage/png\\n';;\n\
                   '--no-newline --type image/png') cat clip;;\n*) exit 1;;\nesac\n";
    let x11 = "case \"$*\" in\n'-selection clipboard -t TARGETS -o') echo image/png;;\n\
               '-selection clipboard -t image/png -o') cat clip;;\n*) exit 1;;\nesac\n";
    for (variable, program, script) in
        [("WAYLAND_DISPLAY", "wl-paste", wayland), ("DISPLAY", "xclip", x11)]
    {
        let mut scene = Scene::new();
        let path = picture(&scene, "clip.png", 30, 20);
        scene.world.env(variable, "9");
        scene.world.program(program, &script.replace("cat clip", &format!("cat '{path}'")));
        scene.server.when(PARENT).reply(text(DONE));
        let screen = Screen::start(&scene.world, NOTHING, 120, 30);
        screen.wait_for("? keys");
        screen.keys("PARENT-1 ");
        screen.keys(CTRL_V);
        screen.wait_for("› PARENT-1 [Image #1]");
        screen.keys(ENTER);
        screen.wait_for(DONE);
        assert_eq!(last_message(&scene).last().unwrap(), "<image 30x20>");
        scene.server.finish();
    }
}

#[tokio::test]
async fn without_a_desktop_or_an_image_one_line_says_so() {
    let mut scene = Scene::new();
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.keys(CTRL_V);
    screen.wait_for("no clipboard here: paste or drop the path of an image instead");
    drop(screen);
    scene.world.env("DISPLAY", "9");
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.keys(CTRL_V);
    screen.wait_for("xclip is not installed: install it, or paste a path");
    drop(screen);
    scene.world.program("xclip", "echo TARGETS\necho UTF8_STRING\n");
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.keys(CTRL_V);
    screen.wait_for("no image in the clipboard");
    scene.server.finish();
}

#[tokio::test]
async fn a_clipboard_that_hangs_is_given_up_and_the_draft_stays() {
    let mut scene = Scene::new();
    scene.world.env("WAYLAND_DISPLAY", "wayland-9");
    scene.world.program("wl-paste", "sleep 1000\n");
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.keys("keep this");
    screen.keys(CTRL_V);
    screen.keys(" typed meanwhile");
    screen.wait_for("› keep this typed meanwhile");
    let shown = screen.wait_for("wl-paste did not answer within 2 s");
    assert!(shown.contains("› keep this typed meanwhile"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn an_image_that_a_paste_mentions_is_not_sent_and_one_of_the_argument_is() {
    let scene = Scene::new();
    let path = picture(&scene, "shot.png", 30, 20);
    scene.server.when(PARENT).reply(text("FIRST-77")).then(text(DONE));
    let screen = Screen::start(&scene.world, ["PARENT-1 see @shot.png"], 120, 30);
    screen.wait_for("FIRST-77");
    assert_eq!(last_message(&scene).last().unwrap(), "<image 30x20>");
    screen.wait_for("Ctrl+D quits");
    let lines: String = (0..40).map(|line| format!("line {line}\n")).collect();
    screen.paste(&format!("see @{path} now\n{lines}"));
    screen.wait_for("line 39");
    send(&screen, "what is it?");
    screen.wait_for(DONE);
    let message = last_message(&scene);
    assert!(message.iter().all(|piece| !piece.starts_with("<image")), "{message:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_mentioned_image_becomes_a_token_and_is_sent_when_enter_comes_early() {
    let scene = Scene::new();
    picture(&scene, "shot.png", 30, 20);
    scene.server.when(PARENT).reply(text(DONE));
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.keys("PARENT-1 see @sho");
    screen.wait_for("@shot.png");
    screen.keys(ENTER);
    screen.keys(ENTER);
    screen.wait_for(DONE);
    let message = last_message(&scene);
    assert_eq!(message[message.len() - 1], "<image 30x20>");
    assert!(message.contains(&"PARENT-1 see [Image #1: shot.png] ".to_owned()), "{message:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_prompt_of_an_earlier_session_comes_back_with_its_image() {
    let scene = Scene::new();
    let path = picture(&scene, "shot.png", 30, 20);
    scene.server.when(PARENT).reply(text(DONE)).then(text("and again"));
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.paste(&path);
    screen.wait_for("› [Image #1]");
    send(&screen, " PARENT-1");
    screen.wait_for(DONE);
    screen.quit_when_idle();
    screen.wait_ended();
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.keys(UP);
    screen.wait_for("› [Image #1] PARENT-1");
    screen.keys(ENTER);
    screen.wait_for("and again");
    assert!(last_message(&scene).contains(&"<image 30x20>".to_owned()));
    scene.server.finish();
}

#[tokio::test]
async fn an_image_of_another_kind_is_said_to_need_a_conversion() {
    let scene = Scene::new();
    scene.world.write("drawing.bmp", "BM and so on");
    let screen = Screen::start(&scene.world, NOTHING, 120, 30);
    screen.wait_for("? keys");
    screen.paste("drawing.bmp");
    screen.wait_for("not an image that models can read: convert it to PNG, JPEG, GIF or WebP");
    screen.wait_for("› drawing.bmp");
    scene.server.finish();
}
