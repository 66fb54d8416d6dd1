//! The conversation of one agent on the screen: a list of items, the same for the main agent and
//! sub-agents.

pub mod call_state;
pub mod draw;
pub mod expand;
mod item;
mod item_lines;
pub mod layout;
mod scroll;
mod tool_calls;
pub mod update;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::ToolUseId;
pub use item::{
    AnswerText, BatchForm, FinishFact, ItemId, ItemKind, ToolCallItem, ToolCallResult,
    TranscriptItem,
};
use item::{MAX_CALL_OUTPUT, kept_end, truncate_front};
pub use scroll::{Extent, Scroll, SearchDirection, SearchHit, SearchResult};

/// Number of changes remembered, so that a view can update its cache without checking every item.
const MAX_RECENT_CHANGES: usize = 64;

/// Tools whose consecutive calls share one line.
pub(super) const GROUPED_TOOLS: [&str; 5] = ["Read", "Grep", "Glob", "LS", "WebFetch"];

/// The tool whose calls update one list.
pub(super) const TODO_TOOL: &str = "TodoWrite";

/// The items of a conversation in order, optionally bounded in size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TranscriptState {
    items: VecDeque<TranscriptItem>,
    /// Id of the item at the front.
    first: ItemId,
    /// Approximate number of bytes of text in the items.
    bytes: usize,
    /// Upper bound for `bytes`; 0 means none.
    limit: usize,
    /// Items dropped so far.
    dropped: usize,
    /// Increases with each change of any item.
    revision: u64,
    recent: VecDeque<(u64, ItemId)>,
    /// The text or thinking item that is still growing.
    growing: Option<ItemId>,
    /// The first item of the running request; `Retrying` makes the text from here on void.
    request: ItemId,
    /// Whether the request has void text, which the next answer replaces.
    has_void: bool,
    /// The void text that an answer has begun to replace.
    replaced: Vec<(ItemId, ItemKind)>,
    /// Calls without a result, with their items.
    open_calls: Vec<(ToolUseId, ItemId)>,
    /// The item with the to-do list of the turn, which later lists update.
    todo_list: Option<ItemId>,
    /// The calls of the current answer, each with its subject.
    announced: Vec<(ToolUseId, String)>,
}

impl TranscriptState {
    /// Creates a transcript that drops its oldest items when the text exceeds `limit` bytes.
    pub fn bounded(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// All items with their ids, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (ItemId, &TranscriptItem)> {
        (self.first..).zip(self.items.iter())
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Approximate number of bytes of text in the items.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Ids of the existing items.
    pub fn ids(&self) -> std::ops::Range<ItemId> {
        self.first..self.first + self.items.len() as u64
    }

    pub fn get(&self, id: ItemId) -> Option<&TranscriptItem> {
        self.items.get(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    /// Increases with each change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The items that changed after `revision`, or `None` when that is too long ago to know.
    pub fn changed_since(&self, revision: u64) -> Option<Vec<ItemId>> {
        if revision == self.revision {
            return Some(Vec::new());
        }
        let oldest = self.recent.front()?.0;
        if revision + 1 < oldest {
            return None;
        }
        Some(self.recent.iter().filter(|(at, _)| *at > revision).map(|(_, id)| *id).collect())
    }

    /// Adds an item. Text that is still growing goes on above it, unless the item is a prompt, which the
    /// agent reads between its answers.
    pub fn push(&mut self, kind: ItemKind) -> ItemId {
        if let ItemKind::Prompt { .. } = kind {
            self.finish_growing();
        }
        self.append(kind)
    }

    /// Adds a whole text, which is no part of the agent's stream.
    pub fn push_text(&mut self, whole: impl Into<Arc<str>>) {
        let whole = whole.into();
        if !whole.trim().is_empty() {
            let text = AnswerText::Whole(shared_part(&whole, whole.trim()));
            self.append(ItemKind::Text { text, done: true, edition: 0 });
        }
    }

    /// The last markdown text, if any.
    pub fn last_text(&self) -> Option<&str> {
        self.items.iter().rev().filter(|item| !item.is_void).find_map(|item| match &item.kind {
            ItemKind::Text { text, .. } if !text.trim().is_empty() => Some(&**text),
            _ => None,
        })
    }

    /// The text or reasoning that is still growing.
    pub fn growing(&self) -> Option<ItemId> {
        self.growing
    }

    /// Appends to the text of the answer.
    pub fn text_delta(&mut self, more: &str) {
        if let Some(id) = self.growing
            && let Some(TranscriptItem {
                kind: ItemKind::Text { text: AnswerText::Partial(text), .. },
                ..
            }) = self.item(id)
        {
            text.push_str(more);
            self.bytes += more.len();
            self.mark_changed(id);
            return self.enforce_limit();
        }
        if more.trim().is_empty() {
            return;
        }
        self.finish_growing();
        let id = self.append(ItemKind::Text {
            text: AnswerText::Partial(more.trim_start_matches('\n').to_owned()),
            done: false,
            edition: 0,
        });
        self.growing = Some(id);
    }

    /// Appends to the reasoning.
    pub fn thinking_delta(&mut self, more: &str, at: Duration) {
        if let Some(id) = self.growing
            && let Some(TranscriptItem { kind: ItemKind::Thinking { text, .. }, .. }) =
                self.item(id)
        {
            text.push_str(more);
            self.bytes += more.len();
            self.mark_changed(id);
            return self.enforce_limit();
        }
        self.finish_growing();
        let kind = ItemKind::Thinking { text: more.to_owned(), since: at, took: None };
        self.growing = Some(self.append(kind));
    }

    /// Completes a text block: replaces the deltas before it.
    pub fn text_finished(&mut self, whole: impl Into<Arc<str>>) {
        let whole = whole.into();
        let grown = self.growing.filter(|id| {
            matches!(self.get(*id), Some(TranscriptItem { kind: ItemKind::Text { .. }, .. }))
        });
        let Some(id) = grown else {
            self.finish_growing();
            return self.push_text(whole);
        };
        let before = self.bytes;
        if let Some(TranscriptItem { kind: ItemKind::Text { text, done, edition }, .. }) =
            self.item(id)
        {
            let old = text.len();
            let shown = whole.trim_start_matches('\n');
            // The deltas usually add up to the same text.
            *edition += u32::from(**text != *shown);
            *text = AnswerText::Whole(shared_part(&whole, shown));
            *done = true;
            self.bytes = (before + shown.len()).saturating_sub(old);
        }
        self.growing = None;
        self.mark_changed(id);
    }

    /// Completes a thinking block.
    pub fn thinking_finished(&mut self, whole: &str, at: Duration) {
        if whole.trim().is_empty() {
            return self.finish_growing_at(at);
        }
        let grown = self.growing.is_some_and(|id| {
            matches!(self.get(id), Some(TranscriptItem { kind: ItemKind::Thinking { .. }, .. }))
        });
        if !grown {
            self.thinking_delta(whole, at);
        }
        self.finish_growing_at(at);
    }

    /// Marks the start of a request: later items are discarded if it is retried.
    pub fn request_started(&mut self) {
        self.finish_growing();
        self.announced.clear();
        self.request = self.ids().end;
        self.has_void = false;
        self.replaced.clear();
    }

    /// Ends a request whose answer is whole.
    pub fn request_finished(&mut self, at: Duration) {
        self.finish_growing_at(at);
        self.replaced.clear();
    }

    /// Makes the text of the running request void, because it is retried. The user may be reading it,
    /// so it stays until there is an answer in its place.
    pub fn void_request(&mut self) {
        self.finish_growing();
        self.announced.clear();
        for id in self.request.max(self.first)..self.ids().end {
            if let Some(item) = self.item(id)
                && matches!(item.kind, ItemKind::Text { .. } | ItemKind::Thinking { .. })
            {
                item.is_void = true;
                self.has_void = true;
                self.mark_changed(id);
            }
        }
    }

    /// Hides the void text of the running request, since its answer comes.
    fn hide_void(&mut self) {
        self.has_void = false;
        for id in self.request.max(self.first)..self.ids().end {
            if let Some(item) = self.item(id).filter(|item| item.is_void) {
                let kind = std::mem::replace(&mut item.kind, ItemKind::Hidden);
                self.replaced.push((id, kind));
                self.mark_changed(id);
            }
        }
    }

    /// Ends a request that was stopped. If its answer had replaced more text than there is of it, the user
    /// was reading that, so it is there again.
    pub fn request_stopped(&mut self) {
        self.finish_growing();
        self.close_calls();
        let replaced = std::mem::take(&mut self.replaced);
        let lost: usize = replaced.iter().map(|(_, kind)| kind.len()).sum();
        let of_request = self.request.max(self.first)..self.ids().end;
        let shown: usize = of_request.filter_map(|id| Some(self.get(id)?.kind.len())).sum();
        if lost <= shown {
            return;
        }
        for (id, kind) in replaced {
            self.change(id, |item| item.kind = kind);
        }
    }

    /// Changes one item.
    pub fn change(&mut self, id: ItemId, change: impl FnOnce(&mut TranscriptItem)) {
        if let Some(item) = self.item(id) {
            change(item);
            self.mark_changed(id);
        }
    }

    /// Appends output of the user's `!` command to the last shell item.
    pub fn shell_output(&mut self, more: &str) {
        let Some(id) = self.running_shell() else { return };
        self.change(id, |item| {
            if let ItemKind::Shell { text, .. } = &mut item.kind {
                text.push_str(more);
                truncate_front(text, MAX_CALL_OUTPUT);
            }
        });
    }

    /// Ends the user's `!` command.
    pub fn shell_finished(&mut self, line: String, printed: &str, status: String) {
        let id = match self.running_shell() {
            Some(id) => id,
            None => self.push(ItemKind::Shell { line, text: String::new(), status: None }),
        };
        self.change(id, |item| {
            if let ItemKind::Shell { text, status: ended, .. } = &mut item.kind {
                *text = kept_end(printed, MAX_CALL_OUTPUT).into_owned();
                *ended = Some(status);
            }
        });
    }

    /// Completes the growing item, if any.
    pub fn finish_growing(&mut self) {
        let Some(id) = self.growing.take() else { return };
        if let Some(item) = self.item(id) {
            match &mut item.kind {
                ItemKind::Text { done, .. } => *done = true,
                ItemKind::Thinking { took, .. } => *took = took.or(Some(Duration::ZERO)),
                _ => {}
            }
        }
        self.mark_changed(id);
    }

    /// Like [`Self::finish_growing`], and sets how long the thinking took.
    pub fn finish_growing_at(&mut self, at: Duration) {
        if let Some(id) = self.growing
            && let Some(TranscriptItem { kind: ItemKind::Thinking { since, took, .. }, .. }) =
                self.item(id)
        {
            *took = Some(at.saturating_sub(*since));
        }
        self.finish_growing();
    }

    /// Removes all items, for another conversation. Ids are not reused, so that views don't mistake
    /// new items for old ones.
    pub fn clear(&mut self) {
        *self = Self {
            first: self.ids().end,
            limit: self.limit,
            revision: self.revision + 1,
            ..Self::default()
        };
    }

    /// Drops all items and leaves one line in their place.
    pub fn drop_all(&mut self) {
        self.dropped += self.items.len();
        self.first = self.ids().end;
        self.items.clear();
        self.bytes = 0;
        self.growing = None;
        let items = self.dropped;
        self.append(ItemKind::Dropped { items });
    }

    fn running_shell(&self) -> Option<ItemId> {
        let open =
            |item: &TranscriptItem| matches!(item.kind, ItemKind::Shell { status: None, .. });
        let back = self.items.iter().rev().take(MAX_RECENT_CHANGES).position(open)?;
        Some(self.ids().end - 1 - back as u64)
    }

    fn item(&mut self, id: ItemId) -> Option<&mut TranscriptItem> {
        self.items.get_mut(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    fn append(&mut self, kind: ItemKind) -> ItemId {
        let answers =
            matches!(kind, ItemKind::Text { .. } | ItemKind::Thinking { .. } | ItemKind::Tools(_));
        if self.has_void && answers {
            self.hide_void();
        }
        if let ItemKind::Prompt { .. } = kind {
            self.todo_list = None;
        }
        let id = self.ids().end;
        self.bytes += kind.len();
        let (version, expanded, folded, is_void) = (0, false, false, false);
        self.items.push_back(TranscriptItem { version, expanded, folded, is_void, kind });
        self.mark_changed(id);
        self.enforce_limit();
        id
    }

    fn mark_changed(&mut self, id: ItemId) {
        self.revision += 1;
        let revision = self.revision;
        if let Some(item) = self.item(id) {
            item.version += 1;
        }
        if let Some(last) = self.recent.back_mut()
            && last.1 == id
        {
            last.0 = revision;
            return;
        }
        if self.recent.len() == MAX_RECENT_CHANGES {
            self.recent.pop_front();
        }
        self.recent.push_back((revision, id));
    }

    /// Drops the oldest items while there is too much text. Keeps the last item whatever its size.
    fn enforce_limit(&mut self) {
        if self.limit == 0 || self.bytes <= self.limit {
            return;
        }
        while self.bytes > self.limit / 4 * 3 && self.items.len() > 2 {
            if let Some(item) = self.items.pop_front() {
                self.bytes = self.bytes.saturating_sub(item.kind.len());
                self.first += 1;
                self.dropped += usize::from(!matches!(item.kind, ItemKind::Dropped { .. }));
            }
        }
        let items = self.dropped;
        if let Some(front) = self.items.front_mut() {
            self.dropped += 1;
            front.kind = ItemKind::Dropped { items: items + 1 };
        }
        // All positions have moved: invalidate all caches.
        self.recent.clear();
        self.revision += 1;
    }
}

/// A part of a text, which is shared if it is all of it.
fn shared_part(whole: &Arc<str>, part: &str) -> Arc<str> {
    if part.len() == whole.len() { whole.clone() } else { part.into() }
}

#[cfg(test)]
mod tests;
