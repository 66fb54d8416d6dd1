//! Many agents that stream at once, and a terminal that does not keep up.

use super::after_calls;
use crate::support::pty::Screen;
use crate::support::record::StreamEnd;
use crate::support::scene::{DONE, PARENT, Scene, agent};
use crate::support::script::{Reply, text};

const WORDS: [&str; 8] =
    ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D", "CHILD-E", "CHILD-F", "CHILD-G", "CHILD-H"];

/// A long answer in many pieces, with a last line of its own.
fn flood(word: &str) -> Reply {
    let line = format!("{word} {}\n", "lorem ipsum dolor ".repeat(4));
    (0..600)
        .fold(text(line.clone()), |reply, _| reply.more(line.clone()))
        .more(format!("END-OF-{word}"))
}

#[tokio::test]
async fn eight_fast_agents_do_not_wait_for_a_slow_terminal_and_no_end_is_lost() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_children_per_agent = 8\nresult_max_chars = 300\n");
    scene.parent_calls(WORDS.map(agent));
    for word in WORDS {
        scene.server.when(word).reply(flood(word).gate("all"));
    }
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 60);
    scene.server.reached_by("all", 8).await;
    // From here on the terminal takes nothing: what the agents still do, they do without it.
    screen.slow(true);
    scene.server.open("all");
    for word in WORDS {
        assert_eq!(scene.server.ended(word).await.0, StreamEnd::Whole);
    }
    scene.server.wait_for_of(PARENT, 2).await;
    screen.slow(false);
    screen.wait_for(DONE);
    screen.wait_for("8 agents ✓ 8");
    let results = after_calls(&scene).tool_results();
    assert_eq!(results.len(), 8);
    assert!(
        results.iter().all(|result| !result.is_error && result.text.contains("characters shown"))
    );
    scene.server.finish();
}

#[tokio::test]
async fn without_a_screen_every_frame_of_eight_fast_agents_is_whole() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_children_per_agent = 8\n");
    scene.parent_calls(WORDS.map(agent));
    for word in WORDS {
        scene.server.when(word).reply(flood(word));
    }
    let run = scene.go().await;
    for word in WORDS {
        let end = format!("END-OF-{word}");
        let whole = run.frames().iter().any(|frame| {
            frame["type"] == "assistant"
                && frame["message"]["content"][0]["text"]
                    .as_str()
                    .is_some_and(|text| text.ends_with(&end))
        });
        assert!(whole, "{word}");
    }
    scene.server.finish();
}
