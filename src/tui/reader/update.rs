//! Keys in the reader.

use crossterm::event::KeyEvent;

use crate::protocol::AgentPath;
use crate::tui::composer::TextBuffer;
use crate::tui::composer::edit::edit_text;
use crate::tui::format::count;
use crate::tui::keymap::{Action, KeyContext, Keymap, plain_char};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::reader::Reader;
use crate::tui::text::{one_line, truncate};
use crate::tui::transcript::expand::is_foldable;
use crate::tui::transcript::{
    Extent, ItemId, ItemKind, Scroll, SearchDirection, SearchResult, TranscriptItem,
    TranscriptState,
};

/// Notices of a search or a jump that wraps around.
const PAST_END: &str = "past the end · on from the top";
const PAST_TOP: &str = "past the top · on from the end";

/// Opens the reader on the focused agent's transcript, or main's, where that is scrolled to. Releases the
/// mouse.
pub fn open(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let path = model.key_target();
    let scroll = model.agents.get(&path).map_or(model.main_scroll, |agent| agent.scroll);
    let reader = Reader {
        path,
        scroll: scroll.in_other_view(model.key_extent()),
        typing: None,
        query: String::new(),
        at: None,
        seek: None,
        hit: None,
    };
    model.overlay = Some(Overlay::Reader(reader));
    if model.settings.mouse {
        effects.push(ScreenEffect::Mouse(false));
    }
}

/// Closes the reader and captures the mouse again.
pub fn close(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    model.overlay = None;
    if model.settings.mouse {
        effects.push(ScreenEffect::Mouse(true));
    }
}

/// Handles a key in the reader.
pub fn press(model: &mut TuiModel, keys: &Keymap, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    let Some(Overlay::Reader(reader)) = &mut model.overlay else { return };
    if let Some(buffer) = &mut reader.typing {
        if let Some(letter) = plain_char(key) {
            buffer.type_char(letter);
            return;
        }
        match keys.action(KeyContext::Prompt, key) {
            Some(Action::Submit) => {
                let query = buffer.take();
                reader.typing = None;
                search(model, query);
            }
            Some(Action::Redraw) => effects.push(ScreenEffect::Redraw),
            Some(Action::Suspend) => effects.push(ScreenEffect::Suspend),
            Some(action) => {
                edit_text(buffer, action);
            }
            None => {}
        }
        return;
    }
    let Some(action) = keys.action(KeyContext::Reader, key) else {
        if plain_char(key).is_some() {
            model.reply("no such key here · Esc goes back to the prompt");
        }
        return;
    };
    let extent = model.metrics.reader;
    let mut by = |lines: isize| {
        if let Some(Overlay::Reader(reader)) = &mut model.overlay {
            reader.scroll.scroll_by(extent, lines);
            (reader.at, reader.hit) = (None, None);
        }
    };
    match action {
        Action::Up => by(-1),
        Action::Down => by(1),
        Action::PageUp => by(-extent.page_step()),
        Action::PageDown => by(extent.page_step()),
        Action::Home => by(isize::MIN / 2),
        Action::End => by(isize::MAX / 2),
        Action::Search => {
            if let Some(Overlay::Reader(reader)) = &mut model.overlay {
                reader.typing = Some(TextBuffer::default());
            }
        }
        Action::FindNext => find(model, SearchDirection::Forward),
        Action::FindPrevious => find(model, SearchDirection::Backward),
        Action::MarkNext => jump_to_mark(model, true),
        Action::MarkPrevious => jump_to_mark(model, false),
        Action::Copy => copy(model, effects),
        Action::Expand => expand(model),
        Action::Next => show_next_agent(model, true),
        Action::Previous => show_next_agent(model, false),
        Action::Close => close(model, effects),
        Action::Redraw => effects.push(ScreenEffect::Redraw),
        Action::Suspend => effects.push(ScreenEffect::Suspend),
        _ => {}
    }
}

fn reader(model: &TuiModel) -> Option<&Reader> {
    match &model.overlay {
        Some(Overlay::Reader(reader)) => Some(reader),
        _ => None,
    }
}

fn scroll_to_item(model: &mut TuiModel, item: ItemId) {
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        reader.scroll = Scroll::at_item(item);
        (reader.at, reader.hit) = (Some(item), None);
    }
}

fn search(model: &mut TuiModel, query: String) {
    // What it says is about the search before.
    model.notice = None;
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        reader.query = query;
        (reader.at, reader.hit) = (None, None);
    }
    find(model, SearchDirection::Forward);
}

/// Searches for the next or previous line with the search text, wrapping around. The next frame
/// performs it, since only the view knows the lines.
fn find(model: &mut TuiModel, seek: SearchDirection) {
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        reader.seek = (!reader.query.trim().is_empty()).then_some(seek);
    }
}

/// Applies the search result of a frame: the reader stays at that position.
pub fn found(model: &mut TuiModel, search: SearchResult, extent: Extent) {
    let Some(Overlay::Reader(reader)) = &mut model.overlay else { return };
    let Some(seek) = reader.seek.take_if(|_| search.requested) else { return };
    let Some(hit) = search.hit else { return };
    (reader.at, reader.hit) = (Some(hit.item), Some(hit));
    reader.scroll = Scroll { top: Some(extent.top), seen: extent.grown, ..Scroll::default() };
    if search.wrapped {
        let words = match seek {
            _ if search.total == 1 => "the only match",
            SearchDirection::Forward => PAST_END,
            SearchDirection::Backward => PAST_TOP,
        };
        model.reply(words);
    }
}

/// Jumps to the next or previous prompt, or tool call in an agent.
fn jump_to_mark(model: &mut TuiModel, forward: bool) {
    let Some(reader) = reader(model) else { return };
    let main = reader.path.is_root();
    let transcript = model.transcript(&reader.path);
    let from = current(model, reader);
    let is_mark = |item: &TranscriptItem| match item.kind {
        ItemKind::Prompt { .. } => main,
        ItemKind::Tools(_) => !main,
        _ => false,
    };
    let found = find_round(transcript, from, forward, is_mark);
    if let Some(item) = found {
        scroll_to_item(model, item);
    }
    let words = match (found, main) {
        (Some(item), true) if item == from => "the only prompt",
        (Some(item), false) if item == from => "the only tool call",
        (Some(item), _) if forward && item < from => PAST_END,
        (Some(item), _) if !forward && item > from => PAST_TOP,
        (Some(_), _) => return,
        (None, true) => "no prompt here",
        (None, false) => "no tool call here",
    };
    model.reply(words);
}

/// The first matching item after (or before) `from`, wrapping around up to `from` itself.
fn find_round(
    transcript: &TranscriptState,
    from: ItemId,
    forward: bool,
    matches: impl Fn(&TranscriptItem) -> bool,
) -> Option<ItemId> {
    let ids = transcript.ids();
    let fits = |id: &ItemId| transcript.get(*id).is_some_and(&matches);
    let from = from.clamp(ids.start, ids.end);
    if forward {
        (from + 1..ids.end).chain(ids.start..ids.end.min(from + 1)).find(fits)
    } else {
        (ids.start..from).rev().chain((from..ids.end).rev()).find(fits)
    }
}

/// The text of an item for copying.
fn copy_text(item: &TranscriptItem) -> String {
    match &item.kind {
        ItemKind::Prompt { text, .. } => text.to_string(),
        ItemKind::Text { text, .. } => text.to_string(),
        ItemKind::Thinking { text, .. } | ItemKind::Notice { text, .. } => text.clone(),
        ItemKind::Report { head, text, .. } => format!("{head}\n{text}"),
        ItemKind::Shell { line, text, .. } => format!("! {line}\n{text}"),
        ItemKind::Tools(calls) => calls
            .iter()
            .map(|call| format!("{} {}\n{}", call.name, call.summary, call.output))
            .collect::<Vec<_>>()
            .join("\n"),
        ItemKind::Finish { facts, advice, .. } => {
            let advice = advice.iter().map(|advice| format!("\n{advice}"));
            let facts: Vec<_> = facts.iter().map(|fact| fact.text.as_str()).collect();
            facts.join(" · ") + &advice.collect::<String>()
        }
        ItemKind::Batch { .. } | ItemKind::Dropped { .. } | ItemKind::Hidden => String::new(),
    }
}

/// The name of what was copied.
fn item_name(item: &TranscriptItem) -> String {
    match &item.kind {
        ItemKind::Prompt { task: false, .. } => "the prompt".to_owned(),
        ItemKind::Prompt { task: true, .. } => "the task".to_owned(),
        ItemKind::Text { .. } => "the text".to_owned(),
        ItemKind::Thinking { .. } => "the thinking".to_owned(),
        ItemKind::Report { .. } => "the report".to_owned(),
        ItemKind::Shell { line, .. } => truncate(&format!("! {}", one_line(line)), 30).into_owned(),
        ItemKind::Tools(calls) => match &calls[..] {
            [call] => {
                truncate(&one_line(&format!("{} {}", call.name, call.summary)), 30).into_owned()
            }
            calls => count(calls.len(), "call"),
        },
        ItemKind::Finish { .. } => "the last line of the turn".to_owned(),
        ItemKind::Notice { .. } => "the notice".to_owned(),
        ItemKind::Batch { .. } | ItemKind::Dropped { .. } | ItemKind::Hidden => {
            "nothing".to_owned()
        }
    }
}

/// The item that keys act on: the one jumped to, or the one at the top.
fn current(model: &TuiModel, reader: &Reader) -> ItemId {
    reader.at.unwrap_or(model.metrics.reader.item)
}

/// Expands or folds the current item.
fn expand(model: &mut TuiModel) {
    let Some(reader) = reader(model) else { return };
    let (path, item, width) = (reader.path.clone(), current(model, reader), model.size.0);
    let transcript = match model.agents.get_mut(&path) {
        Some(agent) => &mut agent.transcript,
        None => &mut model.main,
    };
    if !transcript.get(item).is_some_and(|item| is_foldable(item, width)) {
        model.reply("nothing to fold here");
        return;
    }
    transcript.change(item, |item| item.folded = !item.folded);
    scroll_to_item(model, item);
}

/// Copies the current item.
fn copy(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(reader) = reader(model) else { return };
    let transcript = model.transcript(&reader.path);
    let Some(item) = transcript.get(current(model, reader)) else { return };
    let (text, name) = (copy_text(item), item_name(item));
    model.say(format!("copied {name}: {}", count(text.lines().count(), "line")));
    effects.push(ScreenEffect::Copy(text));
}

/// Shows the transcript of the next or previous agent, including main.
fn show_next_agent(model: &mut TuiModel, forward: bool) {
    let Some(reader) = reader(model) else { return };
    let mut all = vec![AgentPath::root()];
    all.extend(model.agents.latest().iter().map(|agent| agent.path.clone()));
    let at = all.iter().position(|path| *path == reader.path).unwrap_or(0);
    let next = if forward { at + 1 } else { at + all.len() - 1 } % all.len();
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        reader.path = all[next].clone();
        reader.scroll = Scroll::default();
        (reader.at, reader.hit, reader.seek) = (None, None, None);
    }
}
