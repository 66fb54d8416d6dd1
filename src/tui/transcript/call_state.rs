//! The tool calls of a transcript, from their announcement to their result.

use std::time::Duration;

use crate::protocol::{Todo, TodoStatus, ToolDetails, ToolUseId};
use crate::tui::transcript::item::{MAX_CALL_OUTPUT, kept_end, truncate_front};
use crate::tui::transcript::{
    GROUPED_TOOLS, ItemId, ItemKind, TODO_TOOL, ToolCallItem, ToolCallResult, TranscriptItem,
    TranscriptState,
};

/// A list is updated in its place if at most this many items from its own on are at the end.
const NEAR_ITEMS: u64 = 5;

/// The step of a to-do list that an agent works on, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoStep {
    pub number: usize,
    pub steps: usize,
    pub name: String,
}

/// The to-do list that a call has written.
fn to_do_items(call: &ToolCallItem) -> Option<&Vec<Todo>> {
    match call.result.as_ref()?.details.as_ref()? {
        ToolDetails::Todos { items } => Some(items),
        _ => None,
    }
}

impl TranscriptState {
    /// The items with a call that has no result yet.
    pub fn open_items(&self) -> impl Iterator<Item = ItemId> {
        self.open_calls.iter().map(|(_, item)| *item)
    }

    /// Adds a running call.
    pub fn call_started(&mut self, id: ToolUseId, name: String, summary: String) {
        self.finish_growing();
        let call = ToolCallItem::new(id.clone(), name, summary);
        if call.name == TODO_TOOL
            && let Some(list) = self.near_todo_list()
        {
            if let Some(TranscriptItem { kind: ItemKind::Tools(calls), .. }) = self.item(list) {
                calls.push(call);
            }
            self.mark_changed(list);
            return self.open_calls.push((id, list));
        }
        let grouped = GROUPED_TOOLS.contains(&call.name.as_str());
        let last = self.ids().end.wrapping_sub(1);
        let joins = grouped
            && matches!(self.get(last), Some(TranscriptItem { kind: ItemKind::Tools(calls), .. })
            if calls.iter().all(|call| {
                GROUPED_TOOLS.contains(&call.name.as_str()) && call.denied.is_none()
            }));
        let item = if joins {
            if let Some(TranscriptItem { kind: ItemKind::Tools(calls), .. }) = self.item(last) {
                calls.push(call);
            }
            self.mark_changed(last);
            last
        } else {
            self.append(ItemKind::Tools(vec![call]))
        };
        self.open_calls.push((id, item));
    }

    /// Records a call of the answer, which may never run. `summary` is its subject.
    pub fn call_announced(&mut self, id: ToolUseId, summary: String) {
        self.announced.retain(|(announced, _)| *announced != id);
        self.announced.push((id, summary));
    }

    /// Marks a call as denied. The first reason is kept.
    pub fn call_denied(&mut self, id: &ToolUseId, name: &str, words: String) {
        if self.open_item(id).is_none() {
            self.finish_growing();
            let call = self.unstarted_call(id, name);
            let item = self.append(ItemKind::Tools(vec![call]));
            self.open_calls.push((id.clone(), item));
        }
        let Some(item) = self.open_item(id) else { return };
        if let Some(call) = self.call(item, id) {
            call.denied.get_or_insert(words);
        }
        self.mark_changed(item);
    }

    /// Keeps the plan of a denied call.
    pub fn plan_refused(&mut self, id: &ToolUseId, plan: &str) {
        let Some(item) = self.open_item(id) else { return };
        if let Some(call) = self.call(item, id) {
            call.output = kept_end(plan, MAX_CALL_OUTPUT).into_owned();
        }
        self.bytes += plan.len().min(MAX_CALL_OUTPUT);
        self.mark_changed(item);
    }

    /// Creates a call that has not started, with its announced subject.
    fn unstarted_call(&self, id: &ToolUseId, name: &str) -> ToolCallItem {
        let announced = self.announced.iter().find(|(announced, _)| announced == id);
        let summary = announced.map(|(_, summary)| summary.clone()).unwrap_or_default();
        ToolCallItem::new(id.clone(), name.to_owned(), summary)
    }

    /// Appends output of a running call.
    pub fn call_progress(&mut self, id: &ToolUseId, more: &str) {
        let Some(item) = self.open_item(id) else { return };
        let mut added = 0;
        if let Some(call) = self.call(item, id) {
            let before = call.output.len();
            call.output.push_str(more);
            truncate_front(&mut call.output, MAX_CALL_OUTPUT);
            added = call.output.len().saturating_sub(before);
        }
        self.bytes += added;
        self.mark_changed(item);
        self.enforce_limit();
    }

    /// Sets the result of a call. Adds the call if it never started.
    pub fn call_finished(
        &mut self,
        id: &ToolUseId,
        name: &str,
        output: &str,
        result: ToolCallResult,
    ) {
        let is_unstarted = self.open_item(id).is_none();
        if is_unstarted {
            let ToolCallItem { id, name, summary, .. } = self.unstarted_call(id, name);
            self.call_started(id, name, summary);
        }
        let Some(item) = self.open_item(id) else { return };
        self.open_calls.retain(|(open, _)| open != id);
        if let Some(call) = self.call(item, id) {
            if !output.is_empty() && call.denied.is_none() {
                call.output = kept_end(output, MAX_CALL_OUTPUT).into_owned();
            }
            call.result = Some(result);
        }
        self.bytes += output.len().min(MAX_CALL_OUTPUT);
        self.mark_changed(item);
        if name == TODO_TOOL {
            self.update_todo_list(item, id);
        }
        if is_unstarted {
            self.move_to_place(item);
        }
        self.enforce_limit();
    }

    /// Moves a call that failed before it started in front of those that were made after it: the last one of an
    /// answer may be told first.
    fn move_to_place(&mut self, mut item: ItemId) {
        let place = |transcript: &Self, id: ItemId| {
            let ItemKind::Tools(calls) = &transcript.get(id)?.kind else { return None };
            let [call] = &calls[..] else { return None };
            call.result.as_ref().filter(|result| result.is_error)?;
            transcript.announced.iter().position(|(announced, _)| *announced == call.id)
        };
        while let Some(before) = item.checked_sub(1)
            && let (Some(other), Some(own)) = (place(self, before), place(self, item))
            && other > own
        {
            let at = |id: ItemId| usize::try_from(id - self.first).unwrap_or_default();
            self.items.swap(at(before), at(item));
            self.mark_changed(before);
            self.mark_changed(item);
            item = before;
        }
    }

    /// The item with the turn's to-do list, if it is so near the end that it is still in view.
    fn near_todo_list(&self) -> Option<ItemId> {
        self.todo_list.filter(|list| self.ids().end.saturating_sub(*list) <= NEAR_ITEMS)
    }

    /// The step of the turn's to-do list that is in progress.
    pub fn current_step(&self) -> Option<TodoStep> {
        let ItemKind::Tools(calls) = &self.get(self.todo_list?)?.kind else { return None };
        let items = calls.iter().rev().find_map(to_do_items)?;
        let at = items.iter().position(|item| item.status == TodoStatus::InProgress)?;
        Some(TodoStep { number: at + 1, steps: items.len(), name: items.get(at)?.content.clone() })
    }

    /// Puts a list in the place of the one before it. A call without a list gets an item of its own, and
    /// an empty list has none.
    fn update_todo_list(&mut self, item: ItemId, id: &ToolUseId) {
        let Some(TranscriptItem { kind: ItemKind::Tools(calls), .. }) = self.item(item) else {
            return;
        };
        let Some(at) = calls.iter().position(|call| call.id == *id) else { return };
        if let Some(items) = to_do_items(&calls[at]) {
            let is_empty = items.is_empty();
            calls.retain(|call| call.id == *id);
            let before = self.todo_list.replace(item).filter(|before| *before != item);
            if let Some(before) = before {
                self.change(before, |item| item.kind = ItemKind::Hidden);
            }
            if is_empty {
                self.todo_list = None;
                self.change(item, |item| item.kind = ItemKind::Hidden);
            }
        } else if calls.len() > 1 {
            let failed = calls.remove(at);
            self.append(ItemKind::Tools(vec![failed]));
        }
    }

    /// Replaces the item of a call that started an agent with `kind`, which is hidden if another item
    /// shows the agent.
    pub fn replace_call(&mut self, id: &ToolUseId, kind: ItemKind) -> Option<ItemId> {
        let found = self.open_item(id)?;
        self.item(found)?.kind = kind;
        self.mark_changed(found);
        Some(found)
    }

    /// Redraws the line of a call that started something shown elsewhere.
    pub fn mark_call_changed(&mut self, id: &ToolUseId) {
        if let Some(item) = self.open_item(id) {
            self.mark_changed(item);
        }
    }

    /// Marks calls without a result as stopped when the run ends.
    pub fn close_calls(&mut self) {
        for (id, item) in std::mem::take(&mut self.open_calls) {
            if let Some(call) = self.call(item, &id) {
                call.result.get_or_insert_with(|| ToolCallResult {
                    is_error: true,
                    summary: "stopped".to_owned(),
                    details: None,
                    took: Duration::ZERO,
                });
            }
            self.mark_changed(item);
        }
    }

    fn open_item(&self, id: &ToolUseId) -> Option<ItemId> {
        self.open_calls.iter().find(|(open, _)| open == id).map(|(_, item)| *item)
    }

    fn call(&mut self, item: ItemId, id: &ToolUseId) -> Option<&mut ToolCallItem> {
        match &mut self.item(item)?.kind {
            ItemKind::Tools(calls) => calls.iter_mut().find(|call| call.id == *id),
            _ => None,
        }
    }
}
