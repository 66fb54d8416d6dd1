//! Arranges conversations for the wires: user and assistant in turn, no empty blocks, tool results first.

use crate::protocol::{ContentBlock, ImageSource, Message, ResultBlock, Role};

/// Consecutive messages of one role, merged.
#[derive(Debug, PartialEq)]
pub(super) struct Turn<'a> {
    pub role: Role,
    pub blocks: Vec<&'a ContentBlock>,
}

/// Merges messages into turns. Leaves out blank texts, blocks that `keep` rejects, and empty turns.
pub(super) fn turns(messages: &[Message], keep: impl Fn(&ContentBlock) -> bool) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in messages {
        let kept = message.content.iter().filter(|block| !is_blank(block) && keep(block));
        let blocks: Vec<_> = kept.collect();
        if blocks.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(last) if last.role == message.role => last.blocks.extend(blocks),
            _ => turns.push(Turn { role: message.role, blocks }),
        }
    }
    for turn in &mut turns {
        // Stable: results keep their order, and so does the rest.
        turn.blocks.sort_by_key(|block| !matches!(block, ContentBlock::ToolResult { .. }));
    }
    turns
}

fn is_blank(block: &ContentBlock) -> bool {
    block.as_text().is_some_and(|text| text.trim().is_empty())
}

/// Returns the pieces of a tool result that are not blank.
pub(super) fn result_pieces(content: &[ResultBlock]) -> impl Iterator<Item = &ResultBlock> {
    content.iter().filter(|piece| match piece {
        ResultBlock::Text { text } => !text.trim().is_empty(),
        ResultBlock::Image { .. } | ResultBlock::Document { .. } => true,
    })
}

/// Encodes an image as a `data:` URL.
pub(super) fn data_url(source: &ImageSource) -> String {
    format!("data:{};base64,{}", source.media_type, source.data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ToolUseId;

    fn result(id: &str) -> ContentBlock {
        ContentBlock::result(ToolUseId::new(id), Vec::new(), false)
    }

    #[test]
    fn neighbours_of_one_role_merge_and_results_come_first() {
        let messages = [
            Message::user_text("one"),
            Message::assistant(vec![ContentBlock::text(" \n")]),
            Message::user(vec![ContentBlock::text("two"), result("a")]),
            Message::user(vec![result("b"), ContentBlock::text("three")]),
        ];
        let turns = turns(&messages, |_| true);
        let expected = [result("a"), result("b")]
            .into_iter()
            .chain(["one", "two", "three"].map(ContentBlock::text))
            .collect::<Vec<_>>();
        assert_eq!(turns.len(), 1);
        assert_eq!(turns[0].blocks, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_turn_of_refused_blocks_vanishes() {
        let thought = ContentBlock::Thinking { thinking: "hm".into(), signature: String::new() };
        let messages = [Message::user_text("one"), Message::assistant(vec![thought])];
        let kept = turns(&messages, |block| !matches!(block, ContentBlock::Thinking { .. }));
        assert_eq!(kept.len(), 1);
    }
}
