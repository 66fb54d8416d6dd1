//! The conversation of one agent as the screen keeps it: a list of items, the same for the main
//! agent and sub-agents.

use std::collections::VecDeque;
use std::time::Duration;

use crate::protocol::ToolUseId;

use super::item::{Call, CallResult, Item, ItemId, ItemKind, OUTPUT_KEPT, end_of, keep_end};

/// How many changes are remembered, so that a view can bring its cache up to date without looking
/// at every item.
const RECENT: usize = 64;

/// Tools whose calls in a row share one line.
const GROUPED: [&str; 5] = ["Read", "Grep", "Glob", "LS", "WebFetch"];

/// A transcript: items in order, bounded in size when asked to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    items: VecDeque<Item>,
    /// Id of the item at the front.
    first: ItemId,
    /// Bytes of text in the items, about.
    bytes: usize,
    /// Upper bound for `bytes`; 0 means none.
    limit: usize,
    /// Items given up so far.
    dropped: usize,
    /// Counts up with each change of any item.
    revision: u64,
    recent: VecDeque<(u64, ItemId)>,
    /// The text or thinking item that grows.
    growing: Option<ItemId>,
    /// The first item of the running request: what `Retrying` makes void.
    request: ItemId,
    /// Calls without a result, with their items.
    open_calls: Vec<(ToolUseId, ItemId)>,
    /// The calls of the present answer, each with what it is called on.
    announced: Vec<(ToolUseId, String)>,
}

impl Transcript {
    /// A transcript that gives up its oldest items when their texts exceed `limit` bytes.
    #[must_use]
    pub fn bounded(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// All items with their ids, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (ItemId, &Item)> {
        (self.first..).zip(self.items.iter())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes of text in the items, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Ids of the items that exist.
    #[must_use]
    pub fn ids(&self) -> std::ops::Range<ItemId> {
        self.first..self.first + self.items.len() as u64
    }

    #[must_use]
    pub fn get(&self, id: ItemId) -> Option<&Item> {
        self.items.get(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    /// Counts up with each change.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The items that changed after `revision`, or `None` when that is too long ago to tell.
    #[must_use]
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

    /// Adds an item and ends the one that grew.
    pub fn push(&mut self, kind: ItemKind) -> ItemId {
        self.settle();
        self.append(kind)
    }

    /// The last markdown text, if any.
    #[must_use]
    pub fn last_text(&self) -> Option<&str> {
        self.items.iter().rev().find_map(|item| match &item.kind {
            ItemKind::Text { text, .. } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
    }

    /// The end of what the agent wrote last, at most `bytes` long and beginning at a character's start.
    #[must_use]
    pub fn tail(&self, bytes: usize) -> &str {
        let text = self.last_text().unwrap_or_default();
        let mut start = text.len().saturating_sub(bytes);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        &text[start..]
    }

    /// More of the answer's text.
    pub fn text_delta(&mut self, more: &str) {
        if let Some(id) = self.growing
            && let Some(Item { kind: ItemKind::Text { text, .. }, .. }) = self.item(id)
        {
            text.push_str(more);
            self.bytes += more.len();
            self.touch(id);
            return self.bound();
        }
        if more.trim().is_empty() {
            return;
        }
        self.settle();
        let id = self.append(ItemKind::Text {
            text: more.trim_start_matches('\n').to_owned(),
            done: false,
            edition: 0,
        });
        self.growing = Some(id);
    }

    /// More of the reasoning.
    pub fn thinking_delta(&mut self, more: &str, at: Duration) {
        if let Some(id) = self.growing
            && let Some(Item { kind: ItemKind::Thinking { text, .. }, .. }) = self.item(id)
        {
            text.push_str(more);
            self.bytes += more.len();
            self.touch(id);
            return self.bound();
        }
        self.settle();
        let kind = ItemKind::Thinking { text: more.to_owned(), since: at, took: None };
        self.growing = Some(self.append(kind));
    }

    /// A whole text block: stands for the deltas before it.
    pub fn text_finished(&mut self, whole: &str) {
        let grown = self
            .growing
            .filter(|id| matches!(self.get(*id), Some(Item { kind: ItemKind::Text { .. }, .. })));
        let Some(id) = grown else {
            if !whole.trim().is_empty() {
                self.push(ItemKind::Text { text: whole.trim().to_owned(), done: true, edition: 0 });
            }
            return;
        };
        let before = self.bytes;
        if let Some(Item { kind: ItemKind::Text { text, done, edition }, .. }) = self.item(id) {
            let old = text.len();
            let whole = whole.trim_start_matches('\n');
            // Deltas have said the same already, as a rule; only a difference needs the copy.
            if text != whole {
                whole.clone_into(text);
                *edition += 1;
            }
            *done = true;
            self.bytes = (before + whole.len()).saturating_sub(old);
        }
        self.growing = None;
        self.touch(id);
    }

    /// A whole thinking block.
    pub fn thinking_finished(&mut self, whole: &str, at: Duration) {
        if whole.trim().is_empty() {
            return self.settle_at(at);
        }
        let grown = self.growing.is_some_and(|id| {
            matches!(self.get(id), Some(Item { kind: ItemKind::Thinking { .. }, .. }))
        });
        if !grown {
            self.thinking_delta(whole, at);
        }
        self.settle_at(at);
    }

    /// A request begins: what follows is void when it is repeated.
    pub fn request_started(&mut self) {
        self.settle();
        self.announced.clear();
        self.request = self.ids().end;
    }

    /// The running request is repeated: takes back what it had said.
    pub fn void_request(&mut self) {
        self.growing = None;
        self.announced.clear();
        for id in self.request.max(self.first)..self.ids().end {
            let void = matches!(
                self.get(id),
                Some(Item { kind: ItemKind::Text { .. } | ItemKind::Thinking { .. }, .. })
            );
            if void && let Some(item) = self.item(id) {
                item.kind = ItemKind::Hidden;
                self.touch(id);
            }
        }
    }

    /// A call runs now.
    pub fn call_started(&mut self, id: ToolUseId, name: String, summary: String) {
        self.settle();
        let call = Call::new(id.clone(), name, summary);
        let grouped = GROUPED.contains(&call.name.as_str());
        let last = self.ids().end.wrapping_sub(1);
        let joins = grouped
            && matches!(self.get(last), Some(Item { kind: ItemKind::Tools(calls), .. })
            if calls.iter().all(|call| {
                GROUPED.contains(&call.name.as_str()) && call.denied.is_none()
            }));
        let item = if joins {
            if let Some(Item { kind: ItemKind::Tools(calls), .. }) = self.item(last) {
                calls.push(call);
            }
            self.touch(last);
            last
        } else {
            self.append(ItemKind::Tools(vec![call]))
        };
        self.open_calls.push((id, item));
    }

    /// The answer has a call, which may never run. `summary` is what it is called on.
    pub fn call_announced(&mut self, id: ToolUseId, summary: String) {
        self.announced.retain(|(announced, _)| *announced != id);
        self.announced.push((id, summary));
    }

    /// A call was denied. What was said about it first stays.
    pub fn call_denied(&mut self, id: &ToolUseId, name: &str, words: String) {
        if self.open_item(id).is_none() {
            self.settle();
            let call = self.unstarted(id, name);
            let item = self.append(ItemKind::Tools(vec![call]));
            self.open_calls.push((id.clone(), item));
        }
        let Some(item) = self.open_item(id) else { return };
        if let Some(call) = self.call(item, id) {
            call.denied.get_or_insert(words);
        }
        self.touch(item);
    }

    /// A call that has not started, with what is known of it.
    fn unstarted(&self, id: &ToolUseId, name: &str) -> Call {
        let announced = self.announced.iter().find(|(announced, _)| announced == id);
        let summary = announced.map(|(_, summary)| summary.clone()).unwrap_or_default();
        Call::new(id.clone(), name.to_owned(), summary)
    }

    /// A running call printed something.
    pub fn call_progress(&mut self, id: &ToolUseId, more: &str) {
        let Some(item) = self.open_item(id) else { return };
        let mut added = 0;
        if let Some(call) = self.call(item, id) {
            let before = call.output.len();
            call.output.push_str(more);
            keep_end(&mut call.output, OUTPUT_KEPT);
            added = call.output.len().saturating_sub(before);
        }
        self.bytes += added;
        self.touch(item);
        self.bound();
    }

    /// A call has its result. One that never started appears with it.
    pub fn call_finished(&mut self, id: &ToolUseId, name: &str, output: &str, result: CallResult) {
        if self.open_item(id).is_none() {
            let Call { id, name, summary, .. } = self.unstarted(id, name);
            self.call_started(id, name, summary);
        }
        let Some(item) = self.open_item(id) else { return };
        self.open_calls.retain(|(open, _)| open != id);
        if let Some(call) = self.call(item, id) {
            if !output.is_empty() && call.denied.is_none() {
                end_of(output, OUTPUT_KEPT).clone_into(&mut call.output);
            }
            call.result = Some(result);
        }
        self.bytes += output.len().min(OUTPUT_KEPT);
        self.touch(item);
        self.bound();
    }

    /// The call that started an agent: the item becomes `kind`, or disappears where another item
    /// stands for it.
    pub fn replace_call(&mut self, id: &ToolUseId, kind: ItemKind) -> Option<ItemId> {
        let found = self.open_item(id)?;
        self.item(found)?.kind = kind;
        self.touch(found);
        Some(found)
    }

    /// The call started something that is shown elsewhere: its line is drawn anew.
    pub fn touch_call(&mut self, id: &ToolUseId) {
        if let Some(item) = self.open_item(id) {
            self.touch(item);
        }
    }

    /// Changes one item.
    pub fn change(&mut self, id: ItemId, change: impl FnOnce(&mut Item)) {
        if let Some(item) = self.item(id) {
            change(item);
            self.touch(id);
        }
    }

    /// Output of the person's own command: grows the last shell item.
    pub fn shell_output(&mut self, more: &str) {
        let Some(id) = self.running_shell() else { return };
        self.change(id, |item| {
            if let ItemKind::Shell { text, .. } = &mut item.kind {
                text.push_str(more);
                keep_end(text, OUTPUT_KEPT);
            }
        });
    }

    /// The person's own command ended.
    pub fn shell_finished(&mut self, line: String, printed: &str, status: String) {
        let id = match self.running_shell() {
            Some(id) => id,
            None => self.push(ItemKind::Shell { line, text: String::new(), status: None }),
        };
        self.change(id, |item| {
            if let ItemKind::Shell { text, status: ended, .. } = &mut item.kind {
                end_of(printed, OUTPUT_KEPT).clone_into(text);
                *ended = Some(status);
            }
        });
    }

    /// Nothing grows any more: the last text is whole, the last thinking over.
    pub fn settle(&mut self) {
        let Some(id) = self.growing.take() else { return };
        if let Some(item) = self.item(id) {
            match &mut item.kind {
                ItemKind::Text { done, .. } => *done = true,
                ItemKind::Thinking { took, .. } => *took = took.or(Some(Duration::ZERO)),
                _ => {}
            }
        }
        self.touch(id);
    }

    /// As [`Self::settle`], and says how long the thinking took.
    pub fn settle_at(&mut self, at: Duration) {
        if let Some(id) = self.growing
            && let Some(Item { kind: ItemKind::Thinking { since, took, .. }, .. }) = self.item(id)
        {
            *took = Some(at.saturating_sub(*since));
        }
        self.settle();
    }

    /// Calls that never got a result end with the run: shows them as stopped.
    pub fn close_calls(&mut self) {
        for (id, item) in std::mem::take(&mut self.open_calls) {
            if let Some(call) = self.call(item, &id) {
                call.result.get_or_insert_with(|| CallResult {
                    is_error: true,
                    summary: "stopped".to_owned(),
                    details: None,
                    took: Duration::ZERO,
                });
            }
            self.touch(item);
        }
    }

    /// Removes all items, for another conversation. Ids are not reused, so that no view takes old
    /// items for new ones.
    pub fn clear(&mut self) {
        *self = Self {
            first: self.ids().end,
            limit: self.limit,
            revision: self.revision + 1,
            ..Self::default()
        };
    }

    /// Gives up all items, and says so in one line.
    pub fn forget(&mut self) {
        self.dropped += self.items.len();
        self.first = self.ids().end;
        self.items.clear();
        self.bytes = 0;
        self.growing = None;
        let items = self.dropped;
        self.append(ItemKind::Dropped { items });
    }

    fn running_shell(&self) -> Option<ItemId> {
        let open = |item: &Item| matches!(item.kind, ItemKind::Shell { status: None, .. });
        let back = self.items.iter().rev().take(RECENT).position(open)?;
        Some(self.ids().end - 1 - back as u64)
    }

    fn open_item(&self, id: &ToolUseId) -> Option<ItemId> {
        self.open_calls.iter().find(|(open, _)| open == id).map(|(_, item)| *item)
    }

    fn call(&mut self, item: ItemId, id: &ToolUseId) -> Option<&mut Call> {
        match &mut self.item(item)?.kind {
            ItemKind::Tools(calls) => calls.iter_mut().find(|call| call.id == *id),
            _ => None,
        }
    }

    fn item(&mut self, id: ItemId) -> Option<&mut Item> {
        self.items.get_mut(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    fn append(&mut self, kind: ItemKind) -> ItemId {
        let id = self.ids().end;
        self.bytes += kind.len();
        self.items.push_back(Item { version: 0, open: false, kind });
        self.touch(id);
        self.bound();
        id
    }

    fn touch(&mut self, id: ItemId) {
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
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((revision, id));
    }

    /// Gives up the oldest items while there is too much text. The last item stays whatever its size.
    fn bound(&mut self) {
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
        // Every position moved: caches have to start again.
        self.recent.clear();
        self.revision += 1;
    }
}

#[cfg(test)]
mod tests;
