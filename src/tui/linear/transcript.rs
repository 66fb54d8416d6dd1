//! Says the items of a transcript, each once it is complete; text, line by line as it comes.

use std::collections::BTreeMap;

use ratatui::text::Line;

use super::speech::Speech;
use super::words::clean_rows;
use crate::tui::format::count;
use crate::tui::text::MarkdownWords;
use crate::tui::transcript::draw::is_running;
use crate::tui::transcript::{ItemId, ItemKind, TranscriptItem, TranscriptState};

/// Items of a transcript that are said when it is opened.
const LAST_ITEMS: u64 = 20;

/// How far a transcript was read.
#[derive(Default)]
pub(super) struct TranscriptLog {
    /// The first item that was not seen yet; `None` before the first time.
    next: Option<ItemId>,
    /// Items that are not complete.
    open: BTreeMap<ItemId, OpenItem>,
}

/// How far an unfinished item has been read out.
#[derive(Default)]
struct OpenItem {
    /// Bytes of its text that were read.
    read: usize,
    words: MarkdownWords,
    /// Whether the name of its agent was said.
    named: bool,
}

impl OpenItem {
    /// Says the new whole lines of a text, or all of it.
    fn say(&mut self, text: &str, done: bool, name: &str, speech: &mut Speech) {
        if !text.is_char_boundary(self.read) {
            *self = Self::default();
        }
        let end = if done { text.len() } else { text.rfind('\n').map_or(0, |at| at + 1) };
        let mut new = self.words.read(text.get(self.read..end).unwrap_or_default());
        self.read = end.max(self.read);
        if done {
            new.extend(self.words.finish());
        }
        if new.is_empty() {
            return;
        }
        let head = if self.named { String::new() } else { format!("{name}: ") };
        self.named = true;
        speech.text(&head, &new.join("\n"));
    }
}

impl TranscriptLog {
    /// Says what is new. `drawn` draws an item other than text.
    pub fn say(
        &mut self,
        transcript: &TranscriptState,
        name: &str,
        drawn: impl Fn(&TranscriptItem) -> Vec<Line<'static>>,
        speech: &mut Speech,
    ) {
        let ids = transcript.ids();
        // After a switch of conversations, ids continue from higher numbers.
        let seen = |next: &ItemId| ids.start < *next && *next <= ids.end;
        let next = self.next.filter(seen).unwrap_or_else(|| {
            let first = ids.start.max(ids.end.saturating_sub(LAST_ITEMS));
            if let Ok(older @ 1..) = usize::try_from(first - ids.start) {
                speech.line(&format!("{}; Ctrl+O reads them all.", count(older, "older entry")));
            }
            first
        });
        let open: Vec<ItemId> = self.open.keys().copied().collect();
        for id in open.into_iter().chain(next..ids.end) {
            let mut open = self.open.remove(&id).unwrap_or_default();
            let Some(item) = transcript.get(id) else { continue };
            match &item.kind {
                ItemKind::Text { text, done, .. } => {
                    open.say(text, *done, name, speech);
                    if !done {
                        self.open.insert(id, open);
                    }
                }
                ItemKind::Thinking { .. } | ItemKind::Batch { .. } | ItemKind::Hidden => {}
                ItemKind::Shell { status: None, .. } => drop(self.open.insert(id, open)),
                ItemKind::Tools(_) if is_running(item) => drop(self.open.insert(id, open)),
                ItemKind::Prompt { text, task } => {
                    let who = if *task { "Task" } else { "You" };
                    speech.text(&format!("{who}: "), text);
                }
                _ => {
                    let rows: Vec<String> = drawn(item).iter().map(Line::to_string).collect();
                    let rows = clean_rows(rows.iter().map(String::as_str));
                    rows.iter().for_each(|row| speech.row(&row.text));
                }
            }
        }
        self.next = Some(ids.end);
    }
}
