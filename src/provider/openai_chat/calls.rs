//! Assembles tool calls from pieces, from servers that number, name and split them in different ways.

use serde::Deserialize;
use serde_json::Value;

use crate::protocol::{BlockStart, Delta, StreamEvent, ToolUseId};

/// One piece of a call, as on the wire.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CallDelta {
    pub index: Option<usize>,
    pub id: Option<String>,
    pub function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionDelta {
    pub name: Option<String>,
    /// JSON text in pieces, or from some servers the object itself.
    pub arguments: Option<Value>,
}

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(Vec<OpenCall>);

#[derive(Debug)]
struct OpenCall {
    /// The number that the server gives it; not always unique.
    slot: usize,
    /// The server's id; empty if there is none.
    id: String,
    name: String,
    scan: JsonScanner,
    /// Its block, once its name is known.
    block: Option<usize>,
    /// Arguments that came before the name.
    early: String,
}

impl OpenCalls {
    /// Whether the answer calls any tool.
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Adds one piece. `position` is its place in its list, used if it has no index; `next_block`
    /// is the number of the next block.
    pub fn push(
        &mut self,
        piece: CallDelta,
        position: usize,
        next_block: &mut usize,
        out: &mut Vec<StreamEvent>,
    ) {
        let slot = piece.index.unwrap_or(position);
        let id = piece.id.unwrap_or_default();
        let FunctionDelta { name, arguments } = piece.function.unwrap_or_default();
        let name = name.unwrap_or_default();
        let arguments = match arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(object) => object.to_string(),
        };
        let known = self.0.iter().rposition(|call| call.slot == slot);
        let at = match known.filter(|at| !self.0[*at].is_followed_by(&id, &name, &arguments)) {
            Some(at) => at,
            None => {
                let id = self.unused(id);
                self.0.push(OpenCall::new(slot, id));
                self.0.len() - 1
            }
        };
        let call = &mut self.0[at];
        if call.name.is_empty() {
            call.name = name;
        }
        call.scan.push(&arguments);
        if call.block.is_none() {
            call.early.push_str(&arguments);
            if !call.name.is_empty() {
                call.start(next_block, out);
            }
        } else if let Some(index) = call.block.filter(|_| !arguments.is_empty()) {
            out.push(StreamEvent::BlockDelta { index, delta: Delta::Input(arguments) });
        }
    }

    /// Ends all calls. One that never got a name becomes a call of nothing, which the model gets an error for.
    pub fn end(&mut self, next_block: &mut usize, out: &mut Vec<StreamEvent>) {
        for call in &mut self.0 {
            if call.block.is_none() {
                call.start(next_block, out);
            }
            out.extend(call.block.map(|index| StreamEvent::BlockStop { index }));
        }
    }

    /// Returns the id, unless it is taken: results of two calls that share one would be ambiguous.
    fn unused(&self, id: String) -> String {
        if self.0.iter().any(|call| call.id == id) { String::new() } else { id }
    }
}

impl OpenCall {
    fn new(slot: usize, id: String) -> Self {
        Self {
            slot,
            id,
            name: String::new(),
            scan: JsonScanner::default(),
            block: None,
            early: String::new(),
        }
    }

    /// Whether a piece for the same slot begins another call. A piece without a name never does:
    /// some servers make up a new id for every piece.
    fn is_followed_by(&self, id: &str, name: &str, arguments: &str) -> bool {
        if name.is_empty() || self.name.is_empty() {
            return false;
        }
        if id.is_empty() || self.id.is_empty() {
            return self.scan.is_whole() || name != self.name;
        }
        id != self.id || (self.scan.is_whole() && !arguments.is_empty())
    }

    fn start(&mut self, next_block: &mut usize, out: &mut Vec<StreamEvent>) {
        let index = *next_block;
        *next_block += 1;
        self.block = Some(index);
        let id = if self.id.is_empty() {
            ToolUseId::generate()
        } else {
            ToolUseId::new(self.id.as_str())
        };
        let block = BlockStart::ToolUse { id, name: self.name.clone() };
        out.push(StreamEvent::BlockStart { index, block });
        let early = std::mem::take(&mut self.early);
        if !early.is_empty() {
            out.push(StreamEvent::BlockDelta { index, delta: Delta::Input(early) });
        }
    }
}

/// Detects the end of a JSON object, looking at each byte once.
#[derive(Clone, Copy, Debug, Default)]
struct JsonScanner {
    begun: bool,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl JsonScanner {
    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => {
                    self.begun = true;
                    self.depth += 1;
                }
                b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_whole(self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests;
