//! A model answer as a stream, the same for every provider, and its assembly into a whole message.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::ToolUseId;
use super::message::ContentBlock;
use super::usage::Usage;

/// One step of an answer. Blocks are numbered by the provider and may interleave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The answer begins. `usage` is as known so far.
    MessageStart {
        id: String,
        model: String,
        usage: Usage,
    },
    BlockStart {
        index: usize,
        block: BlockStart,
    },
    BlockDelta {
        index: usize,
        delta: Delta,
    },
    BlockStop {
        index: usize,
    },
    /// News about the whole message; `usage` holds running totals, not increments.
    MessageDelta {
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// The answer is complete. A stream that ends without this was cut off.
    MessageStop,
}

/// The kind of block that begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockStart {
    Text,
    Thinking,
    RedactedThinking { data: String },
    ToolUse { id: ToolUseId, name: String },
}

/// More of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    Text(String),
    Thinking(String),
    /// The whole signature of a thinking block.
    Signature(String),
    /// A piece of the call's input, as JSON text.
    Input(String),
}

impl Delta {
    /// Appends `next` if both are pieces of one text.
    pub fn join(&mut self, next: &Self) -> bool {
        match (self, next) {
            (Self::Text(text), Self::Text(more))
            | (Self::Thinking(text), Self::Thinking(more))
            | (Self::Input(text), Self::Input(more)) => {
                text.push_str(more);
                true
            }
            _ => false,
        }
    }
}

/// The reason why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    /// A server-side tool needs another round: send the conversation back unchanged.
    PauseTurn,
    Refusal,
    ModelContextWindowExceeded,
    #[serde(untagged)]
    Other(String),
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub id: String,
    pub model: String,
    pub content: Vec<ContentBlock>,
    pub stop_reason: StopReason,
    pub usage: Usage,
}

/// Builds a [`Reply`] from stream events. Also gives the partial answer when a stream is cut off.
#[derive(Debug, Default)]
pub struct Accumulator {
    id: String,
    model: String,
    blocks: Vec<OpenBlock>,
    stop_reason: Option<StopReason>,
    usage: Usage,
    whole: bool,
}

#[derive(Debug)]
struct OpenBlock {
    index: usize,
    block: PartialBlock,
    closed: bool,
}

#[derive(Debug)]
enum PartialBlock {
    Text(String),
    Thinking { thinking: String, signature: String },
    Redacted(String),
    ToolUse { id: ToolUseId, name: String, json: String },
}

impl Accumulator {
    /// Takes one event; returns the block that it completed, if any. Drops deltas for blocks that
    /// never began, and of the wrong kind.
    pub fn push(&mut self, event: &StreamEvent) -> Option<ContentBlock> {
        match event {
            StreamEvent::MessageStart { id, model, usage } => {
                self.id.clone_from(id);
                self.model.clone_from(model);
                self.usage = *usage;
            }
            StreamEvent::BlockStart { index, block } => {
                self.blocks.push(OpenBlock {
                    index: *index,
                    block: PartialBlock::new(block),
                    closed: false,
                });
            }
            StreamEvent::BlockDelta { index, delta } => {
                if let Some(open) = self.open(*index) {
                    open.block.extend(delta);
                }
            }
            StreamEvent::BlockStop { index } => {
                let open = self.open(*index)?;
                open.closed = true;
                return open.block.finish();
            }
            StreamEvent::MessageDelta { stop_reason, usage } => {
                if stop_reason.is_some() {
                    self.stop_reason.clone_from(stop_reason);
                }
                self.usage = *usage;
            }
            StreamEvent::MessageStop => self.whole = true,
        }
        None
    }

    /// Returns the id of the answer; empty before it began.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the text of the block that is still open; `None` if it is blank or not text.
    pub fn open_text(&self) -> Option<&str> {
        let open = self.blocks.iter().rev().find(|open| !open.closed)?;
        match &open.block {
            PartialBlock::Text(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    /// Whether the answer is complete.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the usage reported so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the text so far, including open blocks.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|open| match &open.block {
            PartialBlock::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the whole answer, without empty blocks, because no wire accepts them back.
    pub fn into_reply(self) -> Reply {
        let content: Vec<_> = self.blocks.iter().filter_map(|open| open.block.finish()).collect();
        let calls = content.iter().any(|block| matches!(block, ContentBlock::ToolUse { .. }));
        let implied = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
        Reply {
            id: self.id,
            model: self.model,
            content,
            stop_reason: self.stop_reason.unwrap_or(implied),
            usage: self.usage,
        }
    }

    fn open(&mut self, index: usize) -> Option<&mut OpenBlock> {
        self.blocks.iter_mut().rev().find(|open| open.index == index && !open.closed)
    }
}

impl PartialBlock {
    fn new(start: &BlockStart) -> Self {
        match start {
            BlockStart::Text => Self::Text(String::new()),
            BlockStart::Thinking => {
                Self::Thinking { thinking: String::new(), signature: String::new() }
            }
            BlockStart::RedactedThinking { data } => Self::Redacted(data.clone()),
            BlockStart::ToolUse { id, name } => {
                Self::ToolUse { id: id.clone(), name: name.clone(), json: String::new() }
            }
        }
    }

    fn extend(&mut self, delta: &Delta) {
        match (self, delta) {
            (Self::Text(text), Delta::Text(more)) => text.push_str(more),
            (Self::Thinking { thinking, .. }, Delta::Thinking(more)) => thinking.push_str(more),
            (Self::Thinking { signature, .. }, Delta::Signature(whole)) => {
                signature.clone_from(whole);
            }
            (Self::ToolUse { json, .. }, Delta::Input(more)) => json.push_str(more),
            _ => {}
        }
    }

    fn finish(&self) -> Option<ContentBlock> {
        match self {
            Self::Text(text) if text.trim().is_empty() => None,
            Self::Text(text) => Some(ContentBlock::text(text.clone())),
            Self::Thinking { thinking, signature }
                if thinking.is_empty() && signature.is_empty() =>
            {
                None
            }
            Self::Thinking { thinking, signature } => Some(ContentBlock::Thinking {
                thinking: thinking.clone(),
                signature: signature.clone(),
            }),
            Self::Redacted(data) => Some(ContentBlock::RedactedThinking { data: data.clone() }),
            Self::ToolUse { id, name, json } => {
                let (input, malformed) = parse_input(json);
                let (id, name, input) = (id.clone(), name.clone(), Box::new(input));
                Some(ContentBlock::ToolUse { id, name, input, malformed })
            }
        }
    }
}

/// Parses the input of a call: an object, or for anything else an empty one with the original beside it.
fn parse_input(json: &str) -> (Value, Option<String>) {
    if json.trim().is_empty() {
        return (Value::Object(Map::new()), None);
    }
    match serde_json::from_str(json) {
        Ok(input @ Value::Object(_)) => (input, None),
        _ => (Value::Object(Map::new()), Some(json.to_owned())),
    }
}
