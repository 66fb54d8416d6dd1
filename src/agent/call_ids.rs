//! Ids of tool calls. Some servers give one twice, for which every later request would be refused:
//! each call gets a unique id as it arrives, so that nothing after the stream sees the other.

use std::collections::HashSet;

use crate::protocol::{BlockStart, Message, StreamEvent, ToolUseId};

/// The ids in use: those of a conversation and of the answer coming in.
#[derive(Debug, Default)]
pub(super) struct CallIds(HashSet<ToolUseId>);

impl CallIds {
    /// Collects the ids of a conversation.
    pub fn from_history(history: &[Message]) -> Self {
        Self(history.iter().flat_map(Message::tool_use_ids).cloned().collect())
    }

    /// Renames the call that begins with this event if its id is in use. Later events name the
    /// block, not the id.
    pub fn make_unique(&mut self, event: &mut StreamEvent) {
        let StreamEvent::BlockStart { block: BlockStart::ToolUse { id, .. }, .. } = event else {
            return;
        };
        let given = id.clone();
        let mut number = 2_u32;
        while !self.0.insert(id.clone()) {
            *id = ToolUseId::new(format!("{given}-{number}"));
            number = number.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(id: &str) -> StreamEvent {
        let block = BlockStart::ToolUse { id: ToolUseId::new(id), name: "Read".to_owned() };
        StreamEvent::BlockStart { index: 0, block }
    }

    #[test]
    fn a_repeated_id_gets_a_number_and_a_fresh_one_stays() {
        let mut ids = CallIds::default();
        for (given, expected) in [
            ("call_0", "call_0"),
            ("call_1", "call_1"),
            ("call_0", "call_0-2"),
            ("call_0", "call_0-3"),
        ] {
            let mut event = start(given);
            ids.make_unique(&mut event);
            assert_eq!(event, start(expected));
        }
    }
}
