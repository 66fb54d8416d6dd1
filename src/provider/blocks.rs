//! Numbers the blocks of an answer, for wires that do not.

use uuid::Uuid;

use crate::protocol::{BlockStart, Delta, StreamEvent, Usage};

/// The kind of a block that is written piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thinking,
}

/// Writes texts and thoughts into blocks: a piece goes to the open block if that is of its kind,
/// else to a new one.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    started: bool,
    open: Option<(usize, BlockKind)>,
    /// The number of the next block.
    pub next: usize,
}

impl BlockWriter {
    /// Starts the answer. Later calls do nothing.
    pub fn start(&mut self, id: Option<String>, model: Option<String>, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let given = id.filter(|id| !id.is_empty());
        let id = given.unwrap_or_else(|| format!("msg_{}", Uuid::now_v7().simple()));
        let model = model.unwrap_or_default();
        out.push(StreamEvent::MessageStart { id, model, usage: Usage::default() });
    }

    /// Whether a block of that kind is open.
    pub fn is_open(&self, kind: BlockKind) -> bool {
        self.open.is_some_and(|(_, open)| open == kind)
    }

    /// Writes a piece.
    pub fn write(&mut self, kind: BlockKind, text: String, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        if !self.is_open(kind) {
            self.begin(kind, out);
        }
        let delta = match kind {
            BlockKind::Text => Delta::Text(text),
            BlockKind::Thinking => Delta::Thinking(text),
        };
        self.push(delta, out);
    }

    /// Ends the open block and begins another.
    pub fn begin(&mut self, kind: BlockKind, out: &mut Vec<StreamEvent>) {
        self.close(out);
        let index = self.next;
        self.next += 1;
        self.open = Some((index, kind));
        let block = match kind {
            BlockKind::Text => BlockStart::Text,
            BlockKind::Thinking => BlockStart::Thinking,
        };
        out.push(StreamEvent::BlockStart { index, block });
    }

    /// Adds to the open block.
    pub fn push(&self, delta: Delta, out: &mut Vec<StreamEvent>) {
        out.extend(self.open.map(|(index, _)| StreamEvent::BlockDelta { index, delta }));
    }

    /// Ends the open block.
    pub fn close(&mut self, out: &mut Vec<StreamEvent>) {
        out.extend(self.open.take().map(|(index, _)| StreamEvent::BlockStop { index }));
    }
}
