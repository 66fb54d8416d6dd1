//! Summaries, and thoughts that only their own model gets back.

use super::*;

#[tokio::test]
async fn a_compacted_session_goes_on_from_its_summary_and_keeps_all_for_the_person() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let summary = Message::user(vec![ContentBlock::summary("summary")]);
    let go = Message::user_text("go");
    journal.append(&go, None).await.unwrap();
    journal.spent(spent(1, 0.5)).await.unwrap();
    journal.append(&call("c1"), Some("m")).await.unwrap();
    journal.append(&result("c1", "ok", false), None).await.unwrap();
    let kept = [summary.clone(), call("c1"), result("c1", "ok", false)];
    journal.spent(spent(2, 0.5)).await.unwrap();
    let compaction =
        Compaction { messages: &kept, before_tokens: 900, after_tokens: 70, model: Some("m") };
    journal.compacted(compaction).await.unwrap();
    // Nothing follows yet: what is kept is the whole conversation.
    assert_eq!(bench.load(id).messages, kept);
    journal.spent(spent(4, 0.5)).await.unwrap();
    journal.append(&said("done"), Some("m")).await.unwrap();
    journal.finish(&outcome()).await.unwrap();
    let transcript = bench.load(id);
    assert_eq!(transcript.messages, [&kept[..], &[said("done")]].concat());
    let message = |message: &Message| TranscriptEntry::Message(message.clone());
    let mark = TranscriptEntry::Compacted { before_tokens: 900, after_tokens: 70 };
    let past = [message(&go), message(&kept[1]), message(&kept[2]), mark, message(&said("done"))];
    assert_eq!(transcript.past(), past);
    assert_eq!((transcript.turns(), transcript.tool_uses()), (2, 1));
    assert_eq!((transcript.usage.output_tokens, transcript.cost.usd), (7, 1.5));
    assert_eq!(transcript.warnings, Vec::<String>::new());
    assert_eq!(bench.store.list()[0].messages, 4);
    drop(journal);
    // A fork begins with the summary.
    let fork = SessionId::generate();
    let opened = bench.store.fork(id, bench.session(fork), &worded).unwrap();
    opened.journal.append(&Message::user_text("more"), None).await.unwrap();
    assert_eq!(bench.load(fork).messages[0], summary);
}

#[tokio::test]
async fn a_summary_that_is_joined_with_the_next_prompt_hides_none_of_it() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let (go, next) = (Message::user_text("go"), Message::user_text("next"));
    journal.append(&go, None).await.unwrap();
    journal.append(&said("done"), None).await.unwrap();
    let messages = &[Message::user_text("summary")];
    let compaction = Compaction { messages, before_tokens: 9, after_tokens: 7, model: None };
    journal.compacted(compaction).await.unwrap();
    journal.append(&next, None).await.unwrap();
    let transcript = bench.load(id);
    assert_eq!(transcript.messages.len(), 1);
    let mark = TranscriptEntry::Compacted { before_tokens: 9, after_tokens: 7 };
    let past = [
        TranscriptEntry::Message(go),
        TranscriptEntry::Message(said("done")),
        mark,
        TranscriptEntry::Message(next),
    ];
    assert_eq!(transcript.past(), past);
}

#[tokio::test]
async fn a_summary_without_a_mark_is_known_by_its_place_in_a_compaction() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let prompt = Message::user_text("summary");
    journal.append(&prompt, None).await.unwrap();
    journal.append(&said("done"), None).await.unwrap();
    assert_eq!(bench.load(id).messages[0], prompt, "nothing was compacted yet");
    let messages = &[Message::user_text("summary"), Message::user_text("kept")];
    let compaction = Compaction { messages, before_tokens: 9, after_tokens: 7, model: None };
    journal.compacted(compaction).await.unwrap();
    let blocks = vec![ContentBlock::summary("summary"), ContentBlock::text("kept")];
    assert_eq!(bench.load(id).messages, [Message::user(blocks)]);
}

fn thought(model: &str, text: &str) -> Message {
    let thinking = format!("a thought of {model}");
    let thinking = ContentBlock::Thinking { thinking, signature: "signed".to_owned() };
    Message::assistant(vec![thinking, ContentBlock::text(text)])
}

fn has_thoughts(transcript: &Transcript) -> bool {
    let mut blocks = transcript.messages.iter().flat_map(|message| &message.content);
    blocks.any(|block| matches!(block, ContentBlock::Thinking { .. }))
}

#[tokio::test]
async fn the_past_stays_whole_after_a_summary_and_a_change_of_the_model() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let (go, kept) = (Message::user_text("go"), thought("m", "kept"));
    journal.append(&go, None).await.unwrap();
    journal.append(&kept, Some("m")).await.unwrap();
    let messages = &[Message::user_text("summary"), kept.clone()];
    let compaction = Compaction { messages, before_tokens: 9, after_tokens: 7, model: Some("m") };
    journal.compacted(compaction).await.unwrap();
    let later = [Message::user_text("on"), said("first"), Message::user_text("more"), said("last")];
    for message in &later {
        let model = (message.role == Role::Assistant).then_some("other");
        journal.append(message, model).await.unwrap();
    }
    let transcript = bench.load(id);
    assert!(!has_thoughts(&transcript), "the other model does not get them");
    let message = |message: &Message| TranscriptEntry::Message(message.clone());
    let mark = TranscriptEntry::Compacted { before_tokens: 9, after_tokens: 7 };
    let mut past = vec![message(&go), message(&kept), mark];
    past.extend(later.iter().map(message));
    assert_eq!(transcript.past(), past);
    assert_eq!((transcript.turns(), transcript.messages.len()), (3, 6));
}

#[tokio::test]
async fn a_fork_remembers_whose_thoughts_its_history_holds() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&thought("m", "hm"), Some("m")).await.unwrap();
    let copy = SessionId::generate();
    let opened = bench.store.fork(id, bench.session(copy), &worded).unwrap();
    opened.journal.append(&Message::user_text("on"), None).await.unwrap();
    assert!(has_thoughts(&bench.load(copy)), "the same model may have them");
    assert_eq!(bench.load(copy).model.as_deref(), Some("m"));
    opened.journal.append(&said("other"), Some("other")).await.unwrap();
    assert!(!has_thoughts(&bench.load(copy)));
}

#[tokio::test]
async fn a_long_session_shows_its_end_before_it_is_read() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    assert!(bench.store.preview(id).is_none(), "a short one is read at once");
    for number in 0..10 {
        journal.append(&said(&"word ".repeat(30_000)), None).await.unwrap();
        journal.append(&Message::user_text(format!("prompt {number}")), None).await.unwrap();
    }
    let texts: Vec<String> = (bench.store.preview(id).unwrap().into_iter())
        .filter_map(|event| match event.kind {
            EventKind::PromptRead { text, .. } => Some(text.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["prompt 9"], "the last answer is larger than what is read");
}
