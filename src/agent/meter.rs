//! Measures what a request has used, even while it runs and if its final figures never come.

use crate::protocol::{Delta, StreamEvent, Usage};

/// Characters of an answer per token, the average of tokenizers.
const CHARS_PER_TOKEN: u64 = 4;

/// The meter of one answer.
#[derive(Debug)]
pub(super) struct UsageMeter {
    /// Input tokens, as estimated before it was sent.
    input: u64,
    /// Characters of the answer so far, including thinking and calls.
    chars: u64,
    /// Whether any of an answer came: a refused request costs nothing.
    began: bool,
}

impl UsageMeter {
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

    /// The best known usage: what was `reported`, and an estimate of what was not. `whole`: no more
    /// figures come.
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
        usage.output_tokens = usage.output_tokens.max(self.chars.div_ceil(CHARS_PER_TOKEN));
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(meter: &mut UsageMeter, text: &str) {
        let delta = Delta::Text(text.to_owned());
        meter.push(&StreamEvent::BlockDelta { index: 0, delta });
    }

    #[test]
    fn what_was_not_reported_is_estimated() {
        let mut meter = UsageMeter::new(50);
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
}
