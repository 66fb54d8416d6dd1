//! Applies an agent's events to its transcript.

use std::borrow::Cow;
use std::time::Duration;

use crate::protocol::{
    CompactionState, ContentBlock, EXIT_PLAN_TOOL, EventKind, NoticeLevel, ResultBlock, ToolDetails,
};
use crate::tui::labels;
use crate::tui::transcript::{ItemKind, ToolCallResult, TranscriptState};

/// Applies an event of an agent to its transcript.
pub fn transcribe(transcript: &mut TranscriptState, kind: EventKind, now: Duration) {
    match kind {
        EventKind::TurnStarted { .. } => transcript.request_started(),
        EventKind::TextDelta { text } => transcript.text_delta(&text),
        EventKind::ThinkingDelta { text } => transcript.thinking_delta(&text, now),
        EventKind::BlockFinished { block, .. } => match block {
            ContentBlock::Text { text, .. } => transcript.text_finished(text),
            ContentBlock::Thinking { thinking, .. } => transcript.thinking_finished(&thinking, now),
            ContentBlock::ToolUse { id, input, .. } => {
                transcript.call_announced(id, labels::call_subject("", &input).trim().to_owned());
            }
            _ => {}
        },
        EventKind::Retrying { .. } => transcript.void_request(),
        EventKind::TurnFinished { whole: true, .. } => transcript.request_finished(now),
        EventKind::Note { text } => {
            transcript.push(ItemKind::Notice { level: NoticeLevel::Info, text });
        }
        EventKind::TurnFinished { .. } => transcript.finish_growing_at(now),
        EventKind::ToolStarted { id, name, summary } => transcript.call_started(id, name, summary),
        EventKind::ToolProgress { id, text } => transcript.call_progress(&id, &text),
        EventKind::ToolFinished { id, name, is_error, summary, content, details, took } => {
            if let Some(ToolDetails::Denied(denial)) = &details {
                transcript.call_denied(&id, &name, labels::denial_label(denial));
            }
            let text = screen_text(&content, details.as_ref());
            let result = ToolCallResult { is_error, summary, details, took };
            transcript.call_finished(&id, &name, &text, result);
        }
        EventKind::PermissionDenied { id, tool, input, denial } => {
            // A hook may have changed the input.
            let subject = labels::call_subject("", &input).trim().to_owned();
            transcript.call_announced(id.clone(), subject);
            transcript.call_denied(&id, &tool, labels::denial_label(&denial));
            if let Some(plan) = input["plan"].as_str().filter(|_| tool == EXIT_PLAN_TOOL) {
                transcript.plan_refused(&id, plan);
            }
        }
        EventKind::Compaction { by_hand, state } => compaction(transcript, by_hand, state),
        EventKind::ImageRead { label } => {
            transcript
                .push(ItemKind::Notice { level: NoticeLevel::Info, text: format!("[{label}]") });
        }
        EventKind::Notice { level, text } => {
            transcript.push(ItemKind::Notice { level, text });
        }
        _ => {}
    }
}

/// Adds the line about a compaction. One stopped together with its run has only the run's line.
fn compaction(transcript: &mut TranscriptState, by_hand: bool, state: CompactionState) {
    // Retrying the summary request must not discard anything.
    transcript.request_started();
    let (level, text) = match state {
        CompactionState::Done { before_tokens, after_tokens } => {
            (NoticeLevel::Info, labels::compaction_label(before_tokens, after_tokens))
        }
        CompactionState::Cancelled if by_hand => {
            (NoticeLevel::Info, "not compacted: stopped by you".to_owned())
        }
        CompactionState::Failed { why } => (NoticeLevel::Warning, format!("not compacted: {why}")),
        CompactionState::Started | CompactionState::Cancelled => return,
    };
    transcript.push(ItemKind::Notice { level, text });
}

/// The text of a result for the user. What only the model needs is left out.
fn screen_text(content: &[ResultBlock], details: Option<&ToolDetails>) -> String {
    match details {
        Some(ToolDetails::Plan { plan }) => plan.clone(),
        Some(
            ToolDetails::ForModel | ToolDetails::Background { .. } | ToolDetails::Reported { .. },
        ) => String::new(),
        _ => result_text(content),
    }
}

fn result_text(content: &[ResultBlock]) -> String {
    let texts: Vec<Cow<'_, str>> = content
        .iter()
        .map(|block| match block {
            ResultBlock::Text { text } => text.into(),
            ResultBlock::Image { .. } | ResultBlock::Document { .. } => block.label().into(),
        })
        .collect();
    texts.join("\n")
}
