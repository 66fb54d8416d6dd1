//! The report of a finished sub-agent to its parent: the final text, cut to size, and how it ended.

use unicode_segmentation::UnicodeSegmentation;

use super::sanitize::sanitize;
use crate::protocol::{AgentId, AgentReport, RunEnd, RunOutcome, count};

/// Separates the text from the bracketed line.
const NOTE_SEPARATOR: &str = "\n\n";

/// Makes the report of one agent, cut to its parent's limit.
#[derive(Clone, Copy, Debug)]
pub struct Reporter<'a> {
    pub id: AgentId,
    pub name: &'a str,
    /// Its number in the session.
    pub number: usize,
    /// Characters (Unicode scalar values), including the bracketed line; 0 is no limit.
    pub max_chars: usize,
    /// Whether its transcript is stored, so that the rest can be read there.
    pub kept: bool,
    /// A note for its parent, such as where its changes are.
    pub note: Option<&'a str>,
}

/// How an agent ended, and the texts that report it.
#[derive(Clone, Debug)]
pub struct Completion {
    pub outcome: RunOutcome,
    pub report: AgentReport,
    /// The result of a call that waits for it.
    pub text: String,
    /// The message for its parent if no call waits for it.
    pub message: String,
    /// The message without the report, for a parent that has had it.
    pub brief: String,
}

impl Reporter<'_> {
    /// Describes an end for callers that wait for it, and in a message for a parent that does not.
    pub fn completion(&self, outcome: RunOutcome) -> Completion {
        let (text, report) = self.report(&outcome);
        let Self { id, name, .. } = self;
        let words = end_text(&outcome.end);
        let brief = format!("[{name} ({id}) has ended: {words}.]");
        let message = format!("[{name} ({id}) has ended: {words}. Its report:]\n\n{text}");
        Completion { outcome, report, text, message, brief }
    }

    /// Returns only the final text if the agent completed and the text fits; otherwise the text as
    /// far as it fits and one bracketed line: how it ended, how much is shown, and where the rest
    /// is.
    pub fn report(&self, outcome: &RunOutcome) -> (String, AgentReport) {
        let whole = sanitize(&outcome.text);
        let total = whole.chars().count();
        let is_whole = self.max_chars == 0 || total <= self.max_chars;
        let plain = is_whole && outcome.end == RunEnd::Completed && self.note.is_none();
        let (text, shown) =
            if plain { (whole, total) } else { self.with_note(outcome, &whole, total) };
        (text, self.figures(outcome, shown, total))
    }

    fn with_note(&self, outcome: &RunOutcome, text: &str, total: usize) -> (String, usize) {
        let fits = |line: &str| {
            self.max_chars == 0
                || total + line.chars().count() + NOTE_SEPARATOR.len() <= self.max_chars
        };
        let whole = if total == 0 { "no final text".to_owned() } else { count(total, "character") };
        let line = self.note_line(outcome, &whole);
        if total == 0 {
            return (line, 0);
        }
        if fits(&line) {
            return (format!("{text}{NOTE_SEPARATOR}{line}"), total);
        }
        // Leave room for the longest number; the final one is not longer.
        let part =
            |shown: usize| self.note_line(outcome, &format!("{shown} of {total} characters shown"));
        let room =
            self.max_chars.saturating_sub(part(total).chars().count() + NOTE_SEPARATOR.len());
        let text = truncate(text, room);
        let shown = text.chars().count();
        (format!("{text}{NOTE_SEPARATOR}{}", part(shown)), shown)
    }

    fn note_line(&self, outcome: &RunOutcome, shown: &str) -> String {
        let Self { id, name, .. } = self;
        let RunOutcome { turns, tool_uses, .. } = outcome;
        let words = end_text(&outcome.end);
        let detail = match &outcome.end {
            RunEnd::Failed { message, .. } => {
                let message = sanitize(message);
                let message: Vec<_> = message.split_whitespace().collect();
                format!(" ({})", truncate(&message.join(" "), 200))
            }
            _ => String::new(),
        };
        let rest = if self.kept { format!(" · transcript {id}") } else { String::new() };
        let note = self.note.map(|note| format!(" · {note}")).unwrap_or_default();
        let turns = count(*turns as usize, "turn");
        let calls = count(*tool_uses as usize, "tool call");
        format!("[{name}: {words}{detail} · {turns}, {calls} · {shown}{rest}{note}]")
    }

    fn figures(&self, outcome: &RunOutcome, shown: usize, total: usize) -> AgentReport {
        AgentReport {
            agent_id: self.id,
            name: self.name.to_owned(),
            number: self.number,
            status: outcome.end.clone(),
            turns: outcome.turns,
            tool_uses: outcome.tool_uses,
            usage: outcome.usage,
            cost: outcome.cost,
            duration_ms: u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
            shown,
            total,
            with_parent: false,
        }
    }
}

/// Says how a run ended, in the words of the screen.
pub fn end_text(end: &RunEnd) -> String {
    match end {
        RunEnd::Budget { what } => format!("budget {what} used up, partial"),
        RunEnd::MaxTokens { .. } => format!("{}, partial", end.describe()),
        RunEnd::Cancelled { before_start: false } => "cancelled, partial".to_owned(),
        RunEnd::Interrupted => "interrupted, partial".to_owned(),
        RunEnd::Empty => "ended without a final text".to_owned(),
        other => other.describe(),
    }
}

/// The longest prefix of at most `limit` characters that ends between two graphemes.
pub(super) fn truncate(text: &str, limit: usize) -> &str {
    let mut count = 0;
    for (start, grapheme) in text.grapheme_indices(true) {
        count += grapheme.chars().count();
        if count > limit {
            return &text[..start];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::protocol::{Cost, Failure, Usage};

    fn outcome(end: RunEnd, text: &str) -> RunOutcome {
        RunOutcome {
            end,
            api_error: None,
            rejected: false,
            text: text.to_owned(),
            turns: 3,
            tool_uses: 2,
            usage: Usage::default(),
            cost: Cost::default(),
            took: Duration::ZERO,
        }
    }

    fn text_of(end: RunEnd, text: &str, max_chars: usize) -> String {
        let (id, name) = (AgentId::generate(), "explore-1");
        let reporter = Reporter { id, name, number: 1, max_chars, kept: true, note: None };
        reporter.report(&outcome(end, text)).0
    }

    #[test]
    fn a_text_of_exactly_the_limit_is_untouched() {
        let text = "é".repeat(5000);
        assert_eq!(text_of(RunEnd::Completed, &text, 5000), text);
    }

    #[test]
    fn one_character_more_is_cut_and_the_cap_holds_with_the_marker() {
        let shown = text_of(RunEnd::Completed, &"x".repeat(5001), 5000);
        assert!(shown.chars().count() <= 5000, "{}", shown.chars().count());
        assert!(shown.contains(" of 5001 characters shown · transcript "), "{shown}");
    }

    #[test]
    fn no_text_is_said_and_never_an_empty_block() {
        let shown = text_of(RunEnd::Empty, "", 5000);
        assert!(
            shown.starts_with("[explore-1: ended without a final text · 3 turns, 2 tool calls"),
            "{shown}"
        );
    }

    #[test]
    fn a_failure_says_why_after_the_partial_text() {
        let end = RunEnd::Failed { failure: Failure::RateLimit, message: "HTTP 429".to_owned() };
        let shown = text_of(end, "half", 5000);
        assert!(
            shown.starts_with("half\n\n[explore-1: failed: rate limit (HTTP 429) · "),
            "{shown}"
        );
    }

    proptest! {
        #[test]
        fn the_cut_never_splits_a_grapheme(
            pieces in prop::collection::vec(prop::sample::select(vec!["👨‍👩‍👧", "e\u{301}", "語", "a", "🇩🇪"]), 0..400),
        ) {
            let text = pieces.concat();
            let shown = text_of(RunEnd::MaxTurns { limit: 20 }, &text, 300);
            prop_assert!(shown.chars().count() <= 300);
            let body = shown.rsplit_once('[').map_or("", |(body, _)| body.trim_end_matches('\n'));
            prop_assert!(text.starts_with(body));
            prop_assert!(text.grapheme_indices(true).any(|(start, _)| start == body.len()) || body.len() == text.len());
        }
    }
}
