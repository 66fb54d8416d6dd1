//! Conversations that fill the model's window: replaced by a summary, by themselves and by hand.

use std::path::PathBuf;

use nix::sys::signal::Signal;

use crate::support::pty::{ENTER, ESC, Screen};
use crate::support::record::{Recorded, StreamEnd};
use crate::support::run::{Finished, Run};
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{Reply, error, text, thinking, tool_use};

/// Room for about 30,000 tokens of conversation.
const SMALL: &str = "[models.small]\ncontext_window = 40_000\nmax_output = 4_000\n";
const MODEL: [&str; 2] = ["--model", "small"];
const HEAD: &str = "[Summary of the conversation so far]";
/// Holds the word by which the script is found.
const SUMMARY: &str = "PARENT-1 SUMMARY-77";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.world.models(SMALL);
    scene
}

fn run(scene: &Scene) -> Run<'_> {
    scene.run().args(MODEL)
}

fn go_on(scene: &Scene) -> Run<'_> {
    scene.world.run(["-c", "-p", "GO-ON-77"]).args(MODEL)
}

async fn good(run: Run<'_>) -> Finished {
    let finished = run.finish().await;
    finished.assert_code(0);
    finished
}

/// A call after which the window is nearly full.
fn filling() -> Reply {
    let answer = thinking("hm", "sig-77").text("FIRST-77");
    answer.tool_use("Bash", bash("echo OUT-77")).usage(32_000, 100)
}

fn too_long() -> Reply {
    error(400, "invalid_request_error", "prompt is too long: 50000 tokens > 40000 maximum")
}

fn transcript(scene: &Scene) -> PathBuf {
    scene.world.session().join("transcript.jsonl")
}

fn records(path: &PathBuf, kind: &str) -> usize {
    let file = std::fs::read_to_string(path).unwrap();
    file.lines().filter(|line| line.starts_with(&format!("{{\"type\":\"{kind}\""))).count()
}

fn begins_with_summary(request: &Recorded) -> bool {
    request.first_user_text().starts_with(HEAD)
}

async fn show(scene: &Scene) -> String {
    let id = scene.world.session().file_name().unwrap().to_str().unwrap().to_owned();
    good(scene.world.run(["sessions", "show", &id])).await.stdout
}

#[tokio::test]
async fn a_window_that_is_nearly_full_is_compacted_before_the_next_request() {
    let scene = scene();
    let summary = text(SUMMARY).tool_use("Bash", bash("touch called")).usage(33_000, 50);
    scene.server.when(PARENT).reply(filling()).then(summary).then(text(DONE));
    let run = good(run(&scene)).await;
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 3);
    let [first, summary, next] = &requests[..] else { panic!("three requests") };
    // What the provider has in its cache is asked for again, byte by byte.
    for part in ["system", "tools", "model"] {
        assert_eq!(summary.body[part].to_string(), first.body[part].to_string(), "{part}");
    }
    assert_eq!(summary.messages().len(), 3);
    assert_eq!(summary.tool_result().text, "OUT-77");
    assert!(begins_with_summary(next));
    let text = next.first_user_text();
    assert!(text.contains("SUMMARY-77") && text.ends_with("PARENT-1 go"), "{text}");
    assert_eq!(next.messages().len(), 3, "the newest call and its result are kept");
    assert_eq!(next.tool_result().text, "OUT-77");
    assert!(!scene.world.exists("called"), "calls beside a summary are ignored");
    // The summary is nobody's answer, but it is paid for.
    let shown = run
        .frames()
        .iter()
        .any(|frame| frame["type"] == "assistant" && frame.to_string().contains("SUMMARY-77"));
    assert!(!shown, "{run}");
    let boundary: Vec<_> =
        run.frames().into_iter().filter(|frame| frame["subtype"] == "compact_boundary").collect();
    assert_eq!(boundary.len(), 1);
    let figures = &boundary[0]["compact_metadata"];
    assert_eq!(figures["trigger"], "auto");
    assert!(figures["pre_tokens"].as_u64() > Some(32_000), "{figures}");
    assert!(figures["post_tokens"].as_u64() < Some(20_000), "{figures}");
    let result = run.result();
    assert_eq!((&result["result"], &result["num_turns"]), (&DONE.into(), &2.into()));
    assert_eq!(result["usage"]["input_tokens"], 32_000 + 33_000 + 100);
    assert_eq!(result["modelUsage"]["small"]["outputTokens"], 100 + 50 + 10);
    scene.server.finish();
}

#[tokio::test]
async fn a_long_run_is_compacted_again_when_it_has_filled_the_window_again() {
    let scene = scene();
    let again = tool_use("Bash", bash("echo AGAIN-77")).usage(32_000, 100);
    scene
        .server
        .when(PARENT)
        .reply(filling())
        .then(text(SUMMARY))
        .then(text("x").tool_use("Bash", bash("true")).usage(9_000, 10))
        .then(again)
        .then(text("PARENT-1 SECOND-77"))
        .then(text(DONE));
    good(run(&scene)).await;
    let last = scene.server.requests().pop().unwrap();
    assert!(begins_with_summary(&last) && last.text().contains("SECOND-77"));
    assert!(!last.text().contains("SUMMARY-77"), "{}", last.text());
    assert_eq!(records(&transcript(&scene), "compacted"), 2);
    scene.server.finish();
}

#[tokio::test]
async fn the_chat_wire_compacts_too() {
    let scene = Scene::on_chat();
    scene.world.models(SMALL);
    let first = tool_use("Bash", bash("echo OUT-77")).usage(32_000, 100);
    scene.server.when(PARENT).reply(first).then(text(SUMMARY)).then(text(DONE));
    good(run(&scene)).await;
    let last = scene.server.requests().pop().unwrap();
    assert!(begins_with_summary(&last));
    assert_eq!(last.tool_result().text, "OUT-77");
    scene.server.finish();
}

#[tokio::test]
async fn a_summary_that_fails_leaves_the_conversation_and_is_not_tried_again() {
    let scene = scene();
    let again = tool_use("Bash", bash("echo AGAIN-77")).usage(33_000, 100);
    let refused = error(400, "invalid_request_error", "no summaries today");
    scene.server.when(PARENT).reply(filling()).then(refused).then(again).then(text(DONE));
    let run = good(run(&scene)).await;
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[3].messages().len(), 5, "all of the conversation");
    let notices: Vec<_> =
        run.frames().into_iter().filter(|frame| frame["subtype"] == "notice").collect();
    assert!(notices[0]["text"].as_str().unwrap().contains("no summaries today"), "{notices:?}");
    assert_eq!(records(&transcript(&scene), "compacted"), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_summary_without_a_text_leaves_the_conversation() {
    let scene = scene();
    let empty = tool_use("Bash", bash("touch called"));
    scene.server.when(PARENT).reply(filling()).then(empty).then(text(DONE));
    good(run(&scene)).await;
    assert!(!begins_with_summary(&scene.server.requests()[2]));
    assert!(!scene.world.exists("called"));
    scene.server.finish();
}

#[tokio::test]
async fn a_conversation_that_the_provider_finds_too_long_is_compacted_and_asked_again() {
    let scene = scene();
    let large = tool_use("Bash", bash("seq 1 3000"));
    scene.server.when(PARENT).reply(large).then(too_long()).then(text(SUMMARY)).then(text(DONE));
    let run = good(run(&scene)).await;
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 4);
    let (refused, summary) = (requests[1].tool_result(), requests[2].tool_result());
    assert!(summary.text.len() < refused.text.len() / 2, "the summary is made of less");
    assert!(begins_with_summary(&requests[3]));
    assert!(requests[3].text().contains("PARENT-1 go"));
    assert_eq!(run.result()["num_turns"], 2);
    scene.server.finish();
}

#[tokio::test]
async fn an_answer_that_the_window_cut_is_followed_by_a_summary() {
    let scene = scene();
    let cut = tool_use("Bash", bash("touch called")).usage(39_900, 100);
    let cut = cut.stop("model_context_window_exceeded");
    scene.server.when(PARENT).reply(cut).then(text(SUMMARY)).then(text(DONE));
    good(run(&scene)).await;
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 3);
    assert!(begins_with_summary(&requests[2]));
    assert!(!scene.world.exists("called"));
    scene.server.finish();
}

#[tokio::test]
async fn a_failed_request_for_a_summary_is_repeated_and_paid_for_once() {
    let scene = scene();
    scene.world.config("[providers.anthropic]\nmax_retries = 1\n");
    let overloaded = error(529, "overloaded_error", "busy").header("retry-after-ms", "1");
    let main = scene.server.when(PARENT).reply(filling()).then(overloaded);
    main.then(text(SUMMARY).usage(33_000, 50)).then(text(DONE));
    let run = good(run(&scene)).await;
    assert_eq!(run.result()["usage"]["output_tokens"], 100 + 50 + 10);
    let file = std::fs::read_to_string(transcript(&scene)).unwrap();
    let lines = file.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let booked = lines.map(|line| line["usage"]["output_tokens"].as_u64().unwrap_or(0));
    assert_eq!(booked.sum::<u64>(), 100 + 50 + 10, "{file}");
    scene.server.finish();
}

#[tokio::test]
async fn what_is_too_long_even_for_a_summary_fails_and_says_what_to_do() {
    let scene = scene();
    scene.server.when(PARENT).reply(tool_use("Bash", bash("seq 1 3000"))).forever(too_long());
    let args = ["-p", "PARENT-1 go", "--dangerously-skip-permissions"];
    let run = scene.world.run(args).args(MODEL).finish().await;
    run.assert_code(1);
    assert!(run.stderr.contains("too long even for a summary"), "{run}");
    assert!(run.stderr.contains("larger window"), "{run}");
    assert_eq!(scene.server.requests().len(), 5);
    // A prompt alone is nothing that could be summarized.
    let alone = scene.world.run(["-p", "PARENT-1 alone"]).args(MODEL).finish().await;
    alone.assert_code(1);
    assert_eq!(scene.server.requests().len(), 6);
    scene.server.finish();
}

#[tokio::test]
async fn a_signal_during_the_summary_stops_the_run_and_leaves_the_conversation() {
    let scene = scene();
    scene.server.when(PARENT).reply(filling()).then(text(SUMMARY).gate("held")).then(text(DONE));
    let running = run(&scene).start();
    scene.server.reached("held").await;
    running.signal(Signal::SIGINT);
    running.wait().await.assert_code(130);
    assert_eq!(scene.server.ended(PARENT).await.0, StreamEnd::ClosedByClient);
    assert_eq!(records(&transcript(&scene), "compacted"), 0);
    good(go_on(&scene)).await;
    let last = scene.server.requests().pop().unwrap();
    assert!(last.first_user_text().ends_with("PARENT-1 go"), "{}", last.first_user_text());
    assert!(last.text().contains("FIRST-77") && last.text().contains("GO-ON-77"));
    scene.server.finish();
}

#[tokio::test]
async fn a_summary_that_cannot_be_written_ends_the_run_and_leaves_the_conversation() {
    let scene = scene();
    let long = format!("{SUMMARY} {}", "x".repeat(40_000));
    scene.server.when(PARENT).reply(filling()).then(text(long)).then(text(DONE));
    let args = ["-p", "PARENT-1 go", "--dangerously-skip-permissions"];
    let full = scene.world.run(args).args(MODEL).file_limit(32).finish().await;
    full.assert_code(1);
    assert!(full.stderr.contains("free some space"), "{full}");
    assert_eq!(records(&transcript(&scene), "compacted"), 0);
    good(go_on(&scene)).await;
    let last = scene.server.requests().pop().unwrap();
    assert!(!begins_with_summary(&last) && last.text().contains("FIRST-77"));
    scene.server.finish();
}

#[tokio::test]
async fn a_compacted_session_goes_on_from_its_summary_and_shows_all_of_it() {
    let scene = scene();
    scene.server.when(PARENT).reply(filling()).then(text(SUMMARY)).then(text(DONE)).then(text("x"));
    good(run(&scene)).await;
    good(go_on(&scene)).await;
    let last = scene.server.requests().pop().unwrap();
    assert!(begins_with_summary(&last));
    let roles: Vec<_> = last.messages().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    let shown = show(&scene).await;
    for once in ["› PARENT-1 go", "FIRST-77", "[compacted: 3", DONE, "GO-ON-77"] {
        assert_eq!(shown.matches(once).count(), 1, "{once}: {shown}");
    }
    assert!(!shown.contains("SUMMARY-77"), "{shown}");
    scene.server.finish();
}

/// A session whose file ends with the record of its compaction, because the program was killed there.
async fn killed_behind_the_record(scene: &Scene) {
    let held = text("lost").before_headers("held");
    scene.server.when(PARENT).reply(filling()).then(text(SUMMARY)).then(held).then(text(DONE));
    let running = run(scene).start();
    scene.server.reached("held").await;
    running.signal(Signal::SIGKILL);
    running.wait().await;
    let file = std::fs::read_to_string(transcript(scene)).unwrap();
    assert!(file.lines().last().unwrap().starts_with("{\"type\":\"compacted\""), "{file}");
}

#[tokio::test]
async fn killed_right_behind_the_record_it_goes_on_from_the_summary() {
    let scene = scene();
    killed_behind_the_record(&scene).await;
    good(go_on(&scene)).await;
    let last = scene.server.requests().pop().unwrap();
    assert!(begins_with_summary(&last));
    assert_eq!(last.tool_result().text, "OUT-77");
    assert!(last.messages().last().unwrap().to_string().contains("GO-ON-77"));
    scene.server.finish();
}

#[tokio::test]
async fn killed_in_the_middle_of_the_record_it_goes_on_with_all_of_the_conversation() {
    let scene = scene();
    killed_behind_the_record(&scene).await;
    let file = std::fs::OpenOptions::new().write(true).open(transcript(&scene)).unwrap();
    file.set_len(file.metadata().unwrap().len() - 20).unwrap();
    good(go_on(&scene)).await;
    let last = scene.server.requests().pop().unwrap();
    assert!(last.first_user_text().ends_with("PARENT-1 go") && !begins_with_summary(&last));
    assert!(last.text().contains("FIRST-77"));
    scene.server.finish();
}

#[tokio::test]
async fn compacting_main_leaves_a_childs_transcript_byte_by_byte_and_readable() {
    let scene = scene();
    let summary = text(SUMMARY).before_headers("held");
    let parent = scene.server.when(PARENT).reply(calls([agent("CHILD-A")]).usage(32_000, 10));
    parent.then(summary).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-77"));
    let running = run(&scene).start();
    scene.server.reached("held").await;
    let child = scene.world.child_transcripts().remove(0);
    let (before, meta) = (std::fs::read(&child).unwrap(), child.with_extension("meta.json"));
    let meta_before = std::fs::read(&meta).unwrap();
    scene.server.open("held");
    running.wait().await.assert_code(0);
    assert_eq!(records(&transcript(&scene), "compacted"), 1);
    assert_eq!(std::fs::read(&child).unwrap(), before);
    assert_eq!(std::fs::read(&meta).unwrap(), meta_before);
    let shown = show(&scene).await;
    let id = child.file_stem().unwrap().to_str().unwrap();
    let below = shown.split_once(id).unwrap().1;
    assert!(below.contains("CHILD-A look around") && below.contains("REPORT-77"), "{shown}");
    // Going on with the session does not touch it either.
    scene.server.when(PARENT).reply(text("x"));
    good(go_on(&scene)).await;
    assert_eq!(std::fs::read(&child).unwrap(), before);
    scene.server.finish();
}

#[tokio::test]
async fn a_child_compacts_its_own_conversation_and_main_does_not_notice() {
    let scene = scene();
    scene.parent_calls([agent("CHILD-A")]);
    let child = scene.server.when("CHILD-A").reply(filling());
    child.then(text("CHILD-A SUMMARY-66")).then(text("REPORT-77"));
    let run = good(run(&scene)).await;
    let (parents, children) =
        (scene.server.requests_of(PARENT), scene.server.requests_of("CHILD-A"));
    assert_eq!((parents.len(), children.len()), (2, 3));
    assert!(begins_with_summary(&children[2]));
    assert!(children[2].text().contains("CHILD-A look around"), "its task is kept");
    assert_eq!(parents[1].tool_result().text, "REPORT-77");
    assert!(!parents[1].text().contains("SUMMARY-66"));
    assert_eq!(records(&transcript(&scene), "compacted"), 0);
    assert_eq!(records(&scene.world.child_transcripts()[0], "compacted"), 1);
    let boundary: Vec<_> =
        run.frames().into_iter().filter(|frame| frame["subtype"] == "compact_boundary").collect();
    assert!(boundary.len() == 1 && boundary[0]["parent_tool_use_id"].is_string(), "{boundary:?}");
    scene.server.finish();
}

#[tokio::test]
async fn siblings_of_a_child_that_compacts_go_on() {
    let scene = scene();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    let child = scene.server.when("CHILD-A").reply(filling());
    child.then(text("CHILD-A SUMMARY-66").before_headers("held")).then(text("REPORT-A"));
    let sibling = scene.server.when("CHILD-B").reply(tool_use("Bash", bash("true")));
    sibling.then(text("REPORT-B"));
    let running = run(&scene).start();
    scene.server.reached("held").await;
    scene.server.wait_for_of("CHILD-B", 2).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    let results = scene.server.requests_of(PARENT)[1].tool_results();
    let texts: Vec<_> = results.iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts, ["REPORT-A", "REPORT-B"]);
    scene.server.finish();
}

fn send(screen: &Screen, prompt: &str) {
    screen.keys(prompt);
    screen.wait_for(prompt);
    screen.keys(ENTER);
}

fn screen(scene: &Scene) -> Screen {
    let args = ["--dangerously-skip-permissions", "--model", "small", "PARENT-1 go"];
    Screen::start(&scene.world, args, 110, 36)
}

#[tokio::test]
async fn a_prompt_that_was_read_with_results_is_kept_beside_the_summary() {
    let scene = scene();
    // The call and its result are too long to be kept.
    let held = "until [ -e go ]; do sleep 0.01; done; seq 1 4000";
    let call = tool_use("Bash", bash(held)).usage(32_000, 100);
    let main = scene.server.when(PARENT).reply(call);
    main.then(text(SUMMARY)).then(text("ANSWER-77"));
    let screen = screen(&scene);
    screen.wait_for("until [ -e go ]");
    send(&screen, "QUEUED-77 too");
    screen.wait_for("↳ main, ");
    scene.world.write("go", "");
    screen.wait_for("ANSWER-77");
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 3, "it was read with the result");
    let last = &requests[2];
    assert!(begins_with_summary(last) && last.tool_results().is_empty(), "{}", last.text());
    let text = last.first_user_text();
    let (first, queued) = (text.find("PARENT-1 go").unwrap(), text.find("QUEUED-77 too").unwrap());
    assert!(first < queued, "{text}");
    scene.server.finish();
}

#[tokio::test]
async fn by_hand_it_takes_a_wish_and_the_next_prompt_goes_on_from_the_summary() {
    let scene = scene();
    let main = scene.server.when(PARENT).reply(text("ONE-77").usage(20_000, 10).gate("busy"));
    main.then(text(SUMMARY).gate("held")).then(text("TWO-77"));
    let screen = screen(&scene);
    screen.wait_for("ONE-77");
    send(&screen, "/compact");
    screen.wait_for("/compact must wait: main is working");
    screen.keys("\x15");
    scene.server.open("busy");
    screen.wait_gone("writing");
    send(&screen, "/compact keep WISH-77");
    scene.server.reached("held").await;
    send(&screen, "and then");
    screen.wait_for("↳ main, ");
    scene.server.open("held");
    screen.wait_for("continues from a summary");
    let summary = scene.server.requests().remove(1);
    assert!(summary.messages().last().unwrap().to_string().contains("keep WISH-77"));
    screen.wait_for("TWO-77");
    let last = scene.server.requests().pop().unwrap();
    assert!(begins_with_summary(&last));
    assert!(last.messages().last().unwrap().to_string().contains("and then"));
    let shown = screen.contents();
    assert!(shown.contains("ONE-77") && !shown.contains("SUMMARY-77"), "{shown}");
    scene.server.finish();
}

#[tokio::test]
async fn esc_stops_a_compaction_by_hand_and_nothing_is_lost() {
    let scene = scene();
    let main = scene.server.when(PARENT).reply(text("ONE-77").usage(20_000, 10));
    main.then(text(SUMMARY).gate("held")).then(text("TWO-77"));
    let screen = screen(&scene);
    screen.wait_for("ONE-77");
    screen.wait_gone("writing");
    send(&screen, "/compact");
    screen.wait_for("compacting");
    scene.server.reached("held").await;
    send(&screen, "and then");
    screen.wait_for("↳ main, ");
    screen.keys(ESC);
    screen.wait_for("not compacted: stopped by you");
    screen.wait_for("back in the prompt");
    assert_eq!(scene.server.ended(PARENT).await.0, StreamEnd::ClosedByClient);
    assert_eq!(records(&transcript(&scene), "compacted"), 0);
    screen.wait_for("› and then");
    screen.keys(ENTER);
    screen.wait_for("TWO-77");
    let last = scene.server.requests().pop().unwrap();
    assert_eq!((last.messages().len(), begins_with_summary(&last)), (3, false));
    scene.server.finish();
}
