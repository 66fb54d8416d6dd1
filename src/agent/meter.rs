//! What a request has used, also while it runs and when its final figures never come.

use crate::protocol::{ContentBlock, Delta, Message, ResultBlock, StreamEvent, Usage};
use crate::tool::ToolSpec;

/// Bytes of text, and characters of an answer, that make one token: what tokenizers come to on average.
const PER_TOKEN: u64 = 4;

/// About what the largest image that models look at comes to.
const IMAGE_TOKENS: u64 = 1600;

/// One answer's meter.
#[derive(Debug)]
pub(super) struct Meter {
    /// Tokens, as estimated before it was sent.
    input: u64,
    /// Characters of the answer so far, thinking and calls included.
    chars: u64,
    /// Whether anything of an answer came: a request that was refused costs nothing.
    began: bool,
}

impl Meter {
    pub fn new(input: u64) -> Self {
        Self { input, chars: 0, began: false }
    }

    pub fn push(&mut self, event: &StreamEvent) {
        self.began = true;
        if let StreamEvent::BlockDelta { delta, .. } = event {
            let (Delta::Text(text) | Delta::Thinking(text) | Delta::Input(text)) = delta else {
                return;
            };
            self.chars += text.chars().count() as u64;
        }
    }

    /// The best that is known: what was `reported`, and an estimate of what was not. `whole`: no more figures come.
    pub fn usage(&self, reported: Usage, whole: bool) -> Usage {
        let silent = reported == Usage::default();
        if !self.began || (whole && !silent) {
            return reported;
        }
        let mut usage = reported;
        let input_is_reported = usage.context() > usage.output_tokens;
        if !input_is_reported {
            usage.input_tokens = self.input;
        }
        usage.output_tokens = usage.output_tokens.max(self.chars.div_ceil(PER_TOKEN));
        usage
    }
}

/// How long a conversation was when its size was last reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Messages.
    pub messages: usize,
    /// Tokens that they and what stands before them come to.
    pub tokens: u64,
}

/// About how many tokens the next request's input has.
pub(super) fn input_tokens(
    system: &str,
    tools: &[ToolSpec],
    history: &[Message],
    measured: Option<Measured>,
) -> u64 {
    // A conversation that became shorter is another one.
    if let Some(known) = measured.filter(|known| known.messages <= history.len()) {
        return known.tokens + tokens_of(&history[known.messages..]);
    }
    let schemas = tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len());
    let fixed = system.len() + schemas.sum::<usize>();
    (fixed as u64).div_ceil(PER_TOKEN) + tokens_of(history)
}

fn tokens_of(messages: &[Message]) -> u64 {
    messages.iter().flat_map(|message| &message.content).map(block_tokens).sum()
}

fn block_tokens(block: &ContentBlock) -> u64 {
    let text = |bytes: usize| (bytes as u64).div_ceil(PER_TOKEN);
    match block {
        ContentBlock::Text { text: words } => text(words.len()),
        ContentBlock::Thinking { thinking, signature } => text(thinking.len() + signature.len()),
        ContentBlock::RedactedThinking { data } => text(data.len()),
        ContentBlock::ToolUse { name, input, .. } => text(name.len() + input.to_string().len()),
        ContentBlock::ToolResult { content, .. } => content
            .iter()
            .map(|piece| match piece {
                ResultBlock::Text { text: words } => text(words.len()),
                ResultBlock::Image { .. } => IMAGE_TOKENS,
            })
            .sum(),
        ContentBlock::Image { .. } => IMAGE_TOKENS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(meter: &mut Meter, text: &str) {
        let delta = Delta::Text(text.to_owned());
        meter.push(&StreamEvent::BlockDelta { index: 0, delta });
    }

    #[test]
    fn t15_what_was_not_reported_is_estimated() {
        let mut meter = Meter::new(50);
        let nothing = Usage::default();
        assert_eq!(meter.usage(nothing, false), nothing, "no answer began");
        started(&mut meter, "éééé ééé");
        let estimate = Usage { input_tokens: 50, output_tokens: 2, ..nothing };
        assert_eq!(meter.usage(nothing, false), estimate);
        assert_eq!(meter.usage(nothing, true), estimate, "a server that reports nothing");
        let cached = Usage { cache_read_input_tokens: 70, output_tokens: 1, ..nothing };
        let usage = meter.usage(cached, false);
        assert_eq!(usage, Usage { output_tokens: 2, ..cached }, "the input was reported");
        assert_eq!(meter.usage(cached, true), cached, "the final figures stand");
    }

    #[test]
    fn a_known_size_counts_and_only_what_came_since_is_estimated() {
        let history = [Message::user_text("x".repeat(400)), Message::user_text("y".repeat(40))];
        assert_eq!(input_tokens("12345678", &[], &history, None), 2 + 100 + 10);
        let measured = |messages| Some(Measured { messages, tokens: 7 });
        assert_eq!(input_tokens("12345678", &[], &history, measured(1)), 7 + 10);
        assert_eq!(input_tokens("12345678", &[], &history, measured(3)), 112, "it was shortened");
    }
}
