//! A model that plays a scenario: no key, no network, the same words every time.
//!
//! It holds no state: its next reply follows from the conversation in the request, so one instance
//! serves all agents. Its reports quote the real results of real tools.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};

use crate::protocol::{
    BlockStart, ContentBlock, Delta, Message, ResultBlock, StopReason, StreamEvent, ToolUseId,
    Usage,
};

use super::api::{EventStream, ModelRequest, Provider};

mod play;
mod scenario;
mod template;

use play::FilledReply;
use scenario::Scenario;
pub use scenario::ScenarioError;

/// The name of the only model.
pub const MODEL: &str = "scripted";

/// A provider that plays one scenario.
#[derive(Clone, Debug)]
pub struct Scripted {
    name: Arc<str>,
    scenario: Arc<Scenario>,
    speed: f64,
}

impl Scripted {
    /// Parses a scenario. `path` is only for errors.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        let scenario = Arc::new(Scenario::parse(text, path)?);
        Ok(Self { name: MODEL.into(), scenario, speed: 1.0 })
    }

    /// Sets the provider's name in the configuration.
    pub fn with_name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the speed: 2 is twice as fast as the scenario says, 0 plays without any waiting.
    pub fn with_speed(mut self, speed: f64) -> Self {
        self.speed = speed;
        self
    }

    /// Returns the prompt that starts the show; empty if the scenario has none.
    pub fn prompt(&self) -> &str {
        &self.scenario.prompt
    }

    /// Converts a time of the scenario to this speed.
    fn wait(&self, seconds: f64) -> Duration {
        if self.speed <= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(seconds / self.speed).unwrap_or_default()
    }

    /// Returns the time per word.
    fn word(&self) -> Duration {
        if self.scenario.pace <= 0.0 {
            return Duration::ZERO;
        }
        self.wait(1.0 / self.scenario.pace)
    }

    fn beats(&self, line: &FilledReply, request: &ModelRequest<'_>) -> Vec<TimedEvent> {
        let mut usage = Usage { input_tokens: tokens(request_bytes(request)), ..Usage::default() };
        let id = format!("msg_{}", uuid::Uuid::now_v7().simple());
        let model = request.model.to_owned();
        let mut beats = TimedEvents::default();
        beats.push(StreamEvent::MessageStart { id, model, usage });
        beats.delay(self.wait(line.pause));
        beats.words(BlockStart::Thinking, &line.thinking, self.word(), Delta::Thinking);
        beats.words(BlockStart::Text, &line.text, self.word(), Delta::Text);
        let mut written = line.thinking.len() + line.text.len();
        for (name, input) in &line.calls {
            let json = input.to_string();
            written += name.len() + json.len();
            let block = BlockStart::ToolUse { id: ToolUseId::generate(), name: name.clone() };
            beats.block(block, [Delta::Input(json)], self.word());
        }
        usage.output_tokens = tokens(written);
        let stop_reason =
            Some(if line.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse });
        beats.push(StreamEvent::MessageDelta { stop_reason, usage });
        beats.push(StreamEvent::MessageStop);
        beats.all
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: &ModelRequest<'_>) -> EventStream {
        let line = play::next_reply(&self.scenario, request.messages);
        let beats = self.beats(&line, request).into_iter();
        let events = stream::unfold(beats, async |mut beats| {
            let beat = beats.next()?;
            if !beat.after.is_zero() {
                tokio::time::sleep(beat.after).await;
            }
            Some((Ok(beat.event), beats))
        });
        events.boxed()
    }
}

/// An event and the pause before it.
#[derive(Debug)]
struct TimedEvent {
    after: Duration,
    event: StreamEvent,
}

/// The events of an answer under construction.
#[derive(Default)]
struct TimedEvents {
    all: Vec<TimedEvent>,
    blocks: usize,
    rest: Duration,
}

impl TimedEvents {
    fn push(&mut self, event: StreamEvent) {
        let after = std::mem::take(&mut self.rest);
        self.all.push(TimedEvent { after, event });
    }

    /// Waits before the next event.
    fn delay(&mut self, time: Duration) {
        self.rest += time;
    }

    fn block(
        &mut self,
        block: BlockStart,
        deltas: impl IntoIterator<Item = Delta>,
        each: Duration,
    ) {
        let index = self.blocks;
        self.blocks += 1;
        self.push(StreamEvent::BlockStart { index, block });
        for delta in deltas {
            self.delay(each);
            self.push(StreamEvent::BlockDelta { index, delta });
        }
        self.push(StreamEvent::BlockStop { index });
    }

    fn words(&mut self, block: BlockStart, text: &str, each: Duration, delta: fn(String) -> Delta) {
        if !text.is_empty() {
            let words = text.split_inclusive(char::is_whitespace);
            self.block(block, words.map(|word| delta(word.to_owned())), each);
        }
    }
}

/// Estimates about four bytes per token: close enough for the numbers on the screen.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

fn request_bytes(request: &ModelRequest<'_>) -> usize {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len());
    let messages = request.messages.iter().map(message_bytes);
    request.system.len() + tools.chain(messages).sum::<usize>()
}

fn message_bytes(message: &Message) -> usize {
    let blocks = message.content.iter().map(|block| match block {
        ContentBlock::Text { text, .. } => text.len(),
        ContentBlock::Thinking { thinking, .. } => thinking.len(),
        ContentBlock::ToolUse { name, input, .. } => name.len() + input.to_string().len(),
        ContentBlock::ToolResult { content, .. } => content
            .iter()
            .map(|block| match block {
                ResultBlock::Text { text } => text.len(),
                ResultBlock::Image { .. } | ResultBlock::Document { .. } => 0,
            })
            .sum(),
        ContentBlock::RedactedThinking { .. } | ContentBlock::Image { .. } => 0,
    });
    blocks.sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::models::Thinking;
    use crate::protocol::Accumulator;

    use super::super::api::ToolChoice;
    use super::*;

    const PLAY: &str = r#"
        pace = 10
        says = { unmatched = "-", stuck = "-", aside = "-" }
        [[agent]]
        match = "go"
        [[agent.reply]]
        pause = 2.0
        thinking = "hm"
        text = "one two\nthree"
        [[agent.reply.call]]
        tool = "Read"
        as = "source"
        input = { file_path = "a", limit = 3 }
    "#;

    fn beats(speed: f64) -> Vec<TimedEvent> {
        let model = Scripted::from_toml(PLAY, Path::new("play.toml")).unwrap().with_speed(speed);
        let messages = [Message::user_text("go")];
        let request = ModelRequest {
            model: "scripted",
            system: "12345678",
            messages: &messages,
            tools: &[],
            tool_choice: ToolChoice::Auto,
            max_tokens: 100,
            thinking: Thinking::Off,
            effort: None,
        };
        model.beats(&play::next_reply(&model.scenario, &messages), &request)
    }

    fn seconds(speed: f64) -> f64 {
        beats(speed).iter().map(|beat| beat.after).sum::<Duration>().as_secs_f64()
    }

    #[test]
    fn a_reply_is_a_whole_answer_with_estimated_usage() {
        let mut whole = Accumulator::default();
        for beat in beats(1.0) {
            whole.push(&beat.event);
        }
        assert!(whole.is_whole());
        let reply = whole.into_reply();
        assert_eq!(reply.stop_reason, StopReason::ToolUse);
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (3, 12));
        let message = Message::assistant(reply.content);
        assert_eq!(message.text(), "one two\nthree");
        let Some(ContentBlock::ToolUse { name, input, .. }) = message.content.last() else {
            panic!("no call in {message:?}");
        };
        assert_eq!((name.as_str(), &**input), ("Read", &json!({"file_path": "a", "limit": 3})));
    }

    #[test]
    fn words_come_at_the_pace_of_the_scenario() {
        let words = beats(1.0).into_iter().filter(|beat| {
            matches!(beat.event, StreamEvent::BlockDelta { delta: Delta::Text(_), .. })
        });
        assert_eq!(words.map(|beat| beat.after.as_millis()).collect::<Vec<_>>(), [100; 3]);
        assert!((seconds(1.0) - 2.5).abs() < 1e-6);
        assert!((seconds(2.0) - 1.25).abs() < 1e-6);
        assert!(seconds(0.0) == 0.0);
    }
}
