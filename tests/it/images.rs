//! Images that a headless prompt names, and those in frames.

use std::fs;

use serde_json::json;

use crate::support::picture::{outline, png};
use crate::support::record::Wire;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

/// Puts an image into the project.
fn picture(scene: &Scene, name: &str, bytes: &[u8]) {
    fs::write(scene.world.project_dir().join(name), bytes).unwrap();
}

/// The texts and images of the last message of the newest request.
fn last_message(scene: &Scene) -> Vec<String> {
    let request = scene.server.requests().pop().unwrap();
    outline(&request.messages().last().unwrap()["content"])
}

#[tokio::test]
async fn a_mentioned_image_is_sent_at_its_place() {
    let scene = Scene::new();
    picture(&scene, "a.png", &png(20, 10));
    picture(&scene, "b c.png", &png(2000, 2000));
    scene.server.when(PARENT).reply(text(DONE));
    let prompt = "PARENT-1 is @a.png, in @\"b c.png\"? And @none.png";
    let run = scene.world.run(["-p", prompt]).finish().await;
    assert_eq!(run.assert_code(0).stdout.trim(), DONE);
    let message = last_message(&scene);
    let expected = [
        "PARENT-1 is @a.png",
        "<image 20x10>",
        ", in @\"b c.png\"",
        "<image 1072x1072>",
        "? And @none.png",
    ];
    assert_eq!(message[message.len() - 5..], expected);
    // For the user, the text is whole.
    let id = scene.world.session().file_name().unwrap().to_str().unwrap().to_owned();
    for words in [&["show"][..], &["export", "--format", "markdown"]] {
        let args = ["sessions"].iter().chain(words).copied().chain([id.as_str()]);
        let shown = scene.world.run(args).finish().await.stdout;
        assert!(shown.contains(prompt), "{shown}");
        assert!(shown.contains("[a.png · 20×10 · "), "{shown}");
        assert!(shown.contains("[b c.png · 1072×1072 · "), "{shown}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_bad_image_is_one_clear_line_and_nothing_is_sent() {
    let scene = Scene::new();
    picture(&scene, "cut.png", &png(20, 10)[..40]);
    picture(&scene, "text.png", b"plain text");
    fs::create_dir(scene.world.project_dir().join("folder.png")).unwrap();
    let large = fs::File::create(scene.world.project_dir().join("large.gif")).unwrap();
    std::io::Write::write_all(&mut &large, b"GIF89a").unwrap();
    large.set_len(50_000_000).unwrap();
    for (name, why) in [
        ("cut.png", "a broken PNG image: "),
        ("text.png", "not an image that models can read: convert it to PNG, JPEG, GIF or WebP"),
        ("folder.png", "a folder"),
        ("large.gif", "an image of 50.0 MB; at most 30.0 MB can be read: make it smaller"),
    ] {
        let run = scene.world.run(["-p", &format!("PARENT-1 see @{name}")]).finish().await;
        assert_ne!(run.code, Some(0), "{run}");
        assert!(run.stderr.contains(&format!("{name}: {why}")), "{run}");
    }
    let elsewhere = scene.world.settings_dir().join("elsewhere.png");
    fs::write(&elsewhere, png(2, 2)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, scene.world.project_dir().join("link.png")).unwrap();
    let run = scene.world.run(["-p", "PARENT-1 see @link.png"]).finish().await;
    let why = format!("link.png is a link to {}: name that path", elsewhere.display());
    assert!(run.stderr.contains(&why), "{run}");
    // A link above the folder of work, in the same repository.
    let sub = scene.world.project_dir().join("sub");
    fs::create_dir(&sub).unwrap();
    fs::create_dir_all(scene.world.project_dir().join(".git")).unwrap();
    let run = scene.world.run(["-p", "PARENT-1 see @../link.png"]).within(&sub).finish().await;
    assert!(run.stderr.contains(&format!("is a link to {}: name", elsewhere.display())), "{run}");
    // A link of another checkout.
    let other = scene.world.settings_dir().join("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, other.join("link.png")).unwrap();
    let prompt = format!("PARENT-1 see @{}/link.png", other.display());
    let run = scene.world.run(["-p", &prompt]).finish().await;
    assert!(run.stderr.contains(&format!("is a link to {}: name", elsewhere.display())), "{run}");
    picture(&scene, "secret.png", &png(2, 2));
    for rules in
        ["deny = [\"Read(secret.png)\"]", "ask = [\"Read(secret.png)\"]", "deny = [\"Read\"]"]
    {
        scene.world.config(&format!("[permissions]\n{rules}\n"));
        let run = scene.world.run(["-p", "PARENT-1 see @secret.png"]).finish().await;
        assert!(run.stderr.contains("a rule for Read hides it"), "{run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn what_is_piped_in_names_no_image() {
    let scene = Scene::new();
    picture(&scene, "a.png", &png(20, 10));
    picture(&scene, "b.png", &png(30, 10));
    scene.server.when(PARENT).reply(text(DONE)).then(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 is @a.png"]).stdin("see @b.png\n").finish().await;
    run.assert_code(0);
    let message = last_message(&scene);
    let expected = ["PARENT-1 is @a.png", "<image 20x10>", "\n\nsee @b.png\n"];
    assert_eq!(message[message.len() - 3..], expected);
    let run = scene.world.run(["-p"]).stdin("PARENT-1 see @b.png\n").finish().await;
    run.assert_code(0);
    assert_eq!(last_message(&scene).last().unwrap(), "PARENT-1 see @b.png\n");
    scene.server.finish();
}

#[tokio::test]
async fn every_wire_takes_an_image_in_a_prompt() {
    for scene in Scene::on_each() {
        picture(&scene, "a.png", &png(20, 10));
        scene.server.when(PARENT).reply(text(DONE));
        let run = scene.world.run(["-p", "PARENT-1 see @a.png please"]).finish().await;
        assert_eq!(run.assert_code(0).stdout.trim(), DONE);
        let body = scene.server.requests()[0].body.to_string();
        assert!(body.contains("iVBORw0KGgo"), "{body}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn an_image_in_a_frame_is_sent() {
    use base64::Engine as _;

    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    let data = base64::engine::general_purpose::STANDARD.encode(png(3000, 100));
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    let content = json!([
        {"type": "text", "text": "PARENT-1 see"},
        {"type": "image", "source": source},
    ]);
    let frame = json!({"type": "user", "message": {"role": "user", "content": content}});
    let formats = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"];
    let run = scene.world.run(["-p"]).args(formats).stdin(format!("{frame}\n")).finish().await;
    run.assert_code(0);
    assert_eq!(last_message(&scene).last().unwrap(), "<image 1568x52>");
    scene.server.finish();
}

#[tokio::test]
async fn a_model_that_reads_no_images_gets_a_line_of_text_and_the_user_a_notice() {
    let scene = Scene::new();
    scene.world.models("[models.blind]\nimages = false\n");
    picture(&scene, "a.png", &png(20, 10));
    scene.server.when(PARENT).reply(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 see @a.png", "--model", "blind"]).finish().await;
    assert!(run.assert_code(0).stderr.contains("blind reads no images"), "{run}");
    let message = last_message(&scene);
    let last = message.last().unwrap();
    assert!(last.starts_with("[An image that you cannot see: a.png · 20×10 · "), "{last}");
    scene.server.finish();
}

#[tokio::test]
async fn a_pdf_is_a_document_on_the_wires_that_have_one() {
    for wire in Wire::ALL {
        let scene = Scene::on(wire);
        picture(&scene, "a.pdf", PDF);
        let read = tool_use("Read", json!({"file_path": "a.pdf"}));
        scene.server.when(PARENT).reply(read).then(text(DONE));
        let run = scene.world.run(["-p", "PARENT-1 read it"]).finish().await;
        assert_eq!(run.assert_code(0).stdout.trim(), DONE);
        let body = scene.server.requests()[1].body.to_string();
        let shown = match wire {
            Wire::Chat => "The PDF cannot be shown: this provider takes none.",
            _ => "JVBERi0xLj",
        };
        assert!(body.contains(shown), "{wire:?}: {body}");
        scene.server.finish();
    }
}

/// A PDF of one empty page.
const PDF: &[u8] = b"%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj
trailer<</Root 1 0 R>>
%%EOF
";
