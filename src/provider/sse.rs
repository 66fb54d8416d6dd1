//! Decodes server-sent events from bytes, wherever the bytes are split.

/// Maximum size of a line, and of one event's data, in bytes. A whole file as a tool's input fits.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One event: its data lines joined by line breaks. The event's name is dropped: every wire repeats
/// it in the data, or uses none.
pub(super) type EventData = String;

/// An event outgrew the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {} MB", MAX_EVENT_BYTES / (1024 * 1024))]
pub(super) struct EventTooLong;

/// Decodes bytes to events, looking at each byte once.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a CR: an LF right after it ends the same line.
    after_cr: bool,
    past_first_line: bool,
}

impl SseDecoder {
    /// Adds bytes and appends the events that they complete.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut Vec<EventData>,
    ) -> Result<(), EventTooLong> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&bytes[..end])?;
            events.extend(self.end_line()?);
            let ended_by_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if ended_by_cr {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.extend_line(bytes)
    }

    /// Returns the event that lacks only the blank line at its end, once the bytes are over.
    pub fn finish(&mut self) -> Result<Option<EventData>, EventTooLong> {
        let event = self.end_line()?;
        Ok(event.or_else(|| self.take_event()))
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        if self.line.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<EventData>, EventTooLong> {
        let mut line = self.line.as_slice();
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.line.clear();
            return Ok(self.take_event());
        }
        if let Some(value) = data_of(line) {
            if self.data.len() + value.len() > MAX_EVENT_BYTES {
                return Err(EventTooLong);
            }
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(value);
        }
        self.line.clear();
        Ok(None)
    }

    fn take_event(&mut self) -> Option<EventData> {
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let data = std::mem::take(&mut self.data);
        Some(
            String::from_utf8(data)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }
}

/// Returns the value of a `data` line. Other fields and comments are ignored.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<EventData> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk, &mut events).unwrap();
        }
        events.extend(decoder.finish().unwrap());
        events
    }

    fn whole(text: &str) -> Vec<EventData> {
        decode([text.as_bytes()])
    }

    #[test]
    fn fields_comments_and_line_ends_follow_the_standard() {
        assert_eq!(whole("data: a\n\ndata:b\n\n"), ["a", "b"]);
        assert_eq!(whole("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), ["a", "b", "c"]);
        assert_eq!(whole("\u{feff}data: a\n\n"), ["a"]);
        assert_eq!(whole(": ping\n\nevent: x\nid: 1\ndata: a\nretry: 3\n\n"), ["a"]);
        assert_eq!(whole("data: a\ndata:  b\ndata\ndata: c\n\n"), ["a\n b\n\nc"]);
        assert_eq!(whole("event: ping\n\n\n\n"), Vec::<EventData>::new());
        assert_eq!(whole("database: a\ndat: b\n\n"), Vec::<EventData>::new());
        assert_eq!(whole("data:\n\n"), [""]);
    }

    #[test]
    fn an_event_without_its_last_line_break_still_counts() {
        assert_eq!(whole("data: a\n\ndata: b\n"), ["a", "b"]);
        assert_eq!(whole("data: a\n\ndata: b"), ["a", "b"]);
        assert_eq!(whole("data: a\r\n\r"), ["a"]);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut decoder = SseDecoder::default();
        let chunk = vec![b'x'; MAX_EVENT_BYTES / 4];
        let mut pushed = 0;
        while decoder.push(&chunk, &mut Vec::new()).is_ok() {
            pushed += chunk.len();
            assert!(pushed <= MAX_EVENT_BYTES);
        }
        assert_eq!(EventTooLong.to_string(), "an event of more than 16 MB");
    }

    #[test]
    fn data_lines_without_end_are_refused() {
        let mut decoder = SseDecoder::default();
        let mut line = b"data: ".to_vec();
        line.resize(MAX_EVENT_BYTES / 2, b'x');
        line.push(b'\n');
        let mut push = || decoder.push(&line, &mut Vec::new());
        assert_eq!((push(), push(), push()), (Ok(()), Ok(()), Err(EventTooLong)));
    }

    #[test]
    fn a_cut_at_any_byte_changes_nothing() {
        let text = "\u{feff}data: ä\r\n\r\n: c\r\rdata: 🦀\rdata: b\n\ndata: last";
        let expected = whole(text);
        assert_eq!(expected, ["ä", "🦀\nb", "last"]);
        for at in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(at);
            assert_eq!(decode([left, right]), expected, "cut at {at}");
        }
        assert_eq!(decode(text.as_bytes().chunks(1)), expected);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_events(
            pieces in prop::collection::vec("(data: ?|: |\r|\n|\r\n|[a-zä🦀 ]{0,4})", 0..40),
            cuts in prop::collection::vec(1_usize..7, 1..40),
        ) {
            let text = pieces.concat();
            let mut rest = text.as_bytes();
            let mut chunks = Vec::new();
            for cut in cuts {
                let (chunk, tail) = rest.split_at(cut.min(rest.len()));
                chunks.push(chunk);
                rest = tail;
            }
            chunks.push(rest);
            prop_assert_eq!(decode(chunks), whole(&text));
        }
    }
}
