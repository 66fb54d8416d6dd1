//! Tests of what is kept beside a summary and left out of an excerpt.

use std::sync::Arc;

use serde_json::json;

use super::SUMMARY_HEADER;
use super::keep::{excerpt, newest_messages};
use super::size::{fits, tokens};
use crate::config::models::ModelInfo;
use crate::protocol::{ContentBlock, ImageSource, Message, ResultBlock, ToolUseId};
use crate::provider::{EventStream, Model, ModelRequest, Provider, RetryPolicy};

/// A conversation from letters: `p` prompt, `s` summary, `a` answer, `c` answer with a thought and
/// a call, `r` result, `q` result with a queued prompt; each text has 400 bytes.
fn conversation(letters: &str) -> Vec<Message> {
    let filler = "x".repeat(400);
    let message = |(at, letter): (usize, char)| match letter {
        'p' => Message::user_text(format!("prompt{at} {filler}")),
        's' => Message::user(vec![ContentBlock::summary(format!("{SUMMARY_HEADER} {filler}"))]),
        'a' => Message::assistant(vec![ContentBlock::text(format!("answer{at} {filler}"))]),
        'c' => Message::assistant(vec![
            ContentBlock::Thinking { thinking: filler.clone(), signature: "sig".to_owned() },
            ContentBlock::ToolUse {
                id: ToolUseId::new(format!("call{at}")),
                name: "Read".to_owned(),
                input: Box::new(json!({})),
                malformed: None,
            },
        ]),
        letter => {
            let result = ContentBlock::result(
                ToolUseId::new(format!("call{}", at - 1)),
                vec![ResultBlock::text(filler.clone())],
                false,
            );
            let queued =
                (letter == 'q').then(|| ContentBlock::text(format!("queued{at} {filler}")));
            Message::user([result].into_iter().chain(queued).collect())
        }
    };
    letters.chars().enumerate().map(message).collect()
}

#[test]
fn the_newest_messages_are_kept_whole_and_in_pairs() {
    let everything = 100_000;
    for (letters, limit, expected) in [
        ("papcr", everything, vec![2, 3, 4]),
        ("papcrcr", 450, vec![2, 5, 6]),
        ("pcrcr", 250, vec![0]),
        ("pcr", 150, vec![0]),
        ("pcr", 50, vec![]),
        ("papa", everything, vec![2, 3]),
        ("papa", 50, vec![]),
        ("pap", 10, vec![2]),
        ("scr", everything, vec![1, 2]),
        ("scrpcr", everything, vec![3, 4, 5]),
        ("scrp", 10, vec![3]),
        ("s", everything, vec![]),
        ("", everything, vec![]),
    ] {
        let history = conversation(letters);
        let place = |kept: &Message| history.iter().position(|message| message == kept).unwrap();
        let kept: Vec<usize> = newest_messages(&history, limit).iter().map(place).collect();
        assert_eq!(kept, expected, "{letters} within {limit}");
    }
}

#[test]
fn what_was_said_beside_results_stays_with_the_prompt_and_always_without_an_answer() {
    for (letters, limit, expected) in [
        // All of it fits, so it stays in place.
        ("pcq", 100_000, vec!["prompt0", "call1", "result", "queued2"]),
        // The call and its result are summarized, both prompts stay.
        ("pcq", 210, vec!["prompt0", "queued2"]),
        ("pcqcr", 210, vec!["prompt0", "queued2"]),
        ("pcqcr", 450, vec!["prompt0", "queued2", "call3", "result"]),
        // An unanswered prompt stays whatever its size.
        ("pcq", 10, vec!["queued2"]),
        ("scq", 10, vec!["queued2"]),
        ("cq", 10, vec!["queued1"]),
        ("pcqcr", 10, vec![]),
        // An answered prompt goes with its answer.
        ("pcqa", 10, vec![]),
        ("pcqa", 320, vec!["prompt0", "queued2", "answer3"]),
    ] {
        let kept = newest_messages(&conversation(letters), limit);
        let word = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        let blocks = kept.iter().flat_map(|message| &message.content);
        let words: Vec<_> = blocks
            .filter_map(|block| match block {
                ContentBlock::Text { text, .. } => Some(word(text)),
                ContentBlock::ToolUse { id, .. } => Some(id.as_str().to_owned()),
                ContentBlock::ToolResult { .. } => Some("result".to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(words, expected, "{letters} within {limit}");
    }
}

#[test]
fn remarks_of_our_own_beside_results_are_no_prompt() {
    let mut history = conversation("pcr");
    history[2].content.push(ContentBlock::aside("a hook says"));
    assert_eq!(newest_messages(&history, 150), history[..1]);
}

#[test]
fn of_a_summary_that_was_joined_with_a_prompt_only_the_prompt_is_kept() {
    let blocks = vec![
        ContentBlock::summary(format!("{SUMMARY_HEADER} old")),
        ContentBlock::text("the prompt"),
    ];
    let history = [Message::user(blocks), conversation("a").remove(0)];
    let kept = newest_messages(&history, 100_000);
    assert_eq!(kept, [Message::user_text("the prompt"), history[1].clone()]);
}

#[test]
fn a_prompt_that_begins_like_a_summary_is_kept() {
    let mut history = conversation("pa");
    history.push(Message::user_text(format!("{SUMMARY_HEADER}\n\nTASK-1")));
    assert_eq!(newest_messages(&history, 10), history[2..]);
    // Even as the first one.
    let mut history = conversation("pcr");
    history[0] = Message::user_text(format!("{SUMMARY_HEADER}\n\nTASK-1"));
    assert_eq!(newest_messages(&history, 100_000), history);
}

#[test]
fn an_excerpt_cuts_results_first_and_then_leaves_out_the_oldest() {
    let mut history = conversation("pcrcr");
    assert_eq!(excerpt(&history, None), history);
    assert_eq!(excerpt(&history, Some(10_000)), history);
    let ContentBlock::ToolResult { content, .. } = &mut history[2].content[0] else { panic!() };
    *content = vec![ResultBlock::text("é".repeat(20_000))];
    let cut = excerpt(&history, Some(2_000));
    assert_eq!(cut.len(), history.len());
    assert!(tokens(&cut) < 2_000);
    assert!(format!("{:?}", cut[2]).contains("[… 38000 more bytes]"));
    // The first prompt and the newest pair.
    let short = excerpt(&history, Some(450));
    assert_eq!((short.len(), &short[0], &short[2..]), (4, &history[0], &history[3..]));
    let nothing = excerpt(&history, Some(20));
    assert_eq!(nothing.len(), 1);
}

struct SilentProvider;

impl Provider for SilentProvider {
    fn name(&self) -> &str {
        "nobody"
    }

    fn stream(&self, _: &ModelRequest<'_>) -> EventStream {
        Box::pin(futures_util::stream::empty())
    }
}

#[test]
fn a_history_fits_when_it_leaves_the_model_room_for_an_answer() {
    let model = |context_window| Model {
        provider: Arc::new(SilentProvider),
        name: "m".to_owned(),
        info: ModelInfo {
            known: true,
            context_window,
            max_output: Some(1_000),
            ..ModelInfo::default()
        },
        wanted_tokens: Some(8_000),
        fallback: None,
        effort: None,
        retry: RetryPolicy::default(),
    };
    // 85 % of what the answer leaves.
    let history = vec![Message::user_text("x".repeat(4 * 7_600))];
    assert!(fits(&model(10_000), "", &[], &history));
    assert!(!fits(&model(10_000), &"x".repeat(4 * 100), &[], &history));
    assert!(!fits(&model(9_900), "", &[], &history));
    // An answer as large as the window leaves half of it.
    assert!(fits(&model(1_000), "", &[], &[Message::user_text("x".repeat(4 * 400))]));
    let data = "A".repeat(400_000).into();
    let image = ContentBlock::image(ImageSource { media_type: "image/png".to_owned(), data });
    assert!(fits(&model(10_000), "", &[], &[Message::user(vec![image])]));
}
