//! Replaces images for models that read none.

use std::borrow::Cow;

use crate::protocol::{ContentBlock, Message, ResultBlock};

/// Returns the messages with a line of text in place of each image and document.
pub(super) fn without_images(messages: &[Message]) -> Cow<'_, [Message]> {
    let has_images = |message: &Message| message.content.iter().any(has_image);
    if !messages.iter().any(has_images) {
        return Cow::Borrowed(messages);
    }
    let mut messages = messages.to_vec();
    for block in messages.iter_mut().flat_map(|message| &mut message.content) {
        match block {
            ContentBlock::Image { label, .. } => *block = ContentBlock::text(line(label)),
            ContentBlock::ToolResult { content, .. } => {
                for piece in content.iter_mut().filter(|piece| is_image(piece)) {
                    *piece = ResultBlock::text(line(piece.label().trim_matches(['[', ']'])));
                }
            }
            _ => {}
        }
    }
    Cow::Owned(messages)
}

fn has_image(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Image { .. } => true,
        ContentBlock::ToolResult { content, .. } => content.iter().any(is_image),
        _ => false,
    }
}

fn is_image(piece: &ResultBlock) -> bool {
    matches!(piece, ResultBlock::Image { .. } | ResultBlock::Document { .. })
}

fn line(label: &str) -> String {
    format!("[An image that you cannot see: {label}]")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::{ImageSource, ToolUseId};

    #[test]
    fn a_line_of_text_stands_for_each_image() {
        let source = ImageSource { media_type: "image/png".into(), data: "AAAA".into() };
        let shown = vec![ResultBlock::text("a"), ResultBlock::Image { source: source.clone() }];
        let messages = [
            Message::user(vec![ContentBlock::text("see"), ContentBlock::image(source)]),
            Message::user(vec![ContentBlock::result(ToolUseId::new("x"), shown, false)]),
        ];
        let line = "[An image that you cannot see: image/png · 3 bytes]";
        let pieces = vec![ResultBlock::text("a"), ResultBlock::text(line)];
        let expected = [
            Message::user(vec![ContentBlock::text("see"), ContentBlock::text(line)]),
            Message::user(vec![ContentBlock::result(ToolUseId::new("x"), pieces, false)]),
        ];
        assert_eq!(*without_images(&messages), expected);
        assert!(matches!(without_images(&[Message::user_text("x")]), Cow::Borrowed(_)));
    }
}
