//! The reader: a whole transcript with plain keys, and search in it.

use crossterm::event::KeyEvent;

use crate::protocol::{AgentPath, ToolDetails};
use crate::tui::composer::Buffer;
use crate::tui::figures::count;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::model::overlay::Reader;
use crate::tui::model::{
    Extent, Item, ItemId, ItemKind, Model, Overlay, Scroll, Search, Seek, Transcript,
};
use crate::tui::msg::Effect;

use super::{focus, lists, outs};

/// Opens the reader on what is shown: the focused agent's transcript, else main's. Releases the mouse.
pub fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let path = model.focus.clone().unwrap_or_else(AgentPath::root);
    let scroll = Scroll::default();
    let reader = Reader {
        path,
        scroll,
        typing: None,
        query: String::new(),
        at: None,
        seek: None,
        hit: None,
    };
    model.overlay = Some(Overlay::Reader(reader));
    if model.settings.mouse {
        effects.push(Effect::Mouse(false));
    }
}

/// Shows the content of the question with all the room there is.
pub fn open_question(model: &mut Model) {
    if let Some((open, _)) = model.questions.shown() {
        model.overlay = Some(Overlay::Question { id: open.id, scroll: 0 });
    }
}

/// One key in the reader.
pub fn press(model: &mut Model, keys: &Keymap, key: KeyEvent, effects: &mut Vec<Effect>) {
    let Some(Overlay::Reader(reader)) = &mut model.overlay else { return };
    if let Some(buffer) = &mut reader.typing {
        if let Some(letter) = lists::letter(key) {
            buffer.type_char(letter);
            return;
        }
        match keys.action(Context::Prompt, key) {
            Some(Action::Submit) => {
                let query = buffer.take();
                reader.typing = None;
                search(model, query);
            }
            Some(Action::Redraw) => effects.push(Effect::Redraw),
            Some(Action::Suspend) => effects.push(Effect::Suspend),
            Some(action) => super::question::edit_line(buffer, action),
            None => {}
        }
        return;
    }
    let Some(action) = keys.action(Context::Reader, key) else { return };
    let extent = model.metrics.reader;
    let mut by = |lines: isize| {
        if let Some(Overlay::Reader(reader)) = &mut model.overlay {
            focus::move_by(&mut reader.scroll, extent, lines);
            (reader.at, reader.hit) = (None, None);
        }
    };
    match action {
        Action::Up => by(-1),
        Action::Down => by(1),
        Action::PageUp => by(-focus::page_of(extent)),
        Action::PageDown => by(focus::page_of(extent)),
        Action::Home => by(isize::MIN / 2),
        Action::End => by(isize::MAX / 2),
        Action::Search => {
            if let Some(Overlay::Reader(reader)) = &mut model.overlay {
                reader.typing = Some(Buffer::default());
            }
        }
        Action::FindNext => find(model, Seek::Forward),
        Action::FindPrevious => find(model, Seek::Backward),
        Action::MarkNext => mark(model, true),
        Action::MarkPrevious => mark(model, false),
        Action::Copy => copy(model, effects),
        Action::Expand => expand(model),
        Action::Next => turn(model, true),
        Action::Previous => turn(model, false),
        Action::Close => outs::close_overlay(model, effects),
        Action::Redraw => effects.push(Effect::Redraw),
        Action::Suspend => effects.push(Effect::Suspend),
        _ => {}
    }
}

fn reader(model: &Model) -> Option<&Reader> {
    match &model.overlay {
        Some(Overlay::Reader(reader)) => Some(reader),
        _ => None,
    }
}

fn goto(model: &mut Model, item: ItemId) {
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        reader.scroll = Scroll { top: Some(0), goto: Some(item), seen: 0 };
        (reader.at, reader.hit) = (Some(item), None);
    }
}

fn search(model: &mut Model, query: String) {
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        reader.query = query;
        (reader.at, reader.hit) = (None, None);
    }
    find(model, Seek::Forward);
}

/// The next or previous line that contains the search text, round and round. The frame finds it:
/// lines are known there.
fn find(model: &mut Model, seek: Seek) {
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        reader.seek = (!reader.query.trim().is_empty()).then_some(seek);
    }
}

/// A frame has found a line, or none: the reader stays where the frame was.
pub fn found(reader: &mut Reader, search: Search, extent: Extent) {
    if !search.sought {
        return;
    }
    reader.seek = None;
    if let Some(hit) = search.hit {
        (reader.at, reader.hit) = (Some(hit.item), Some(hit));
        reader.scroll = Scroll { top: Some(extent.top), goto: None, seen: extent.grown };
    }
}

/// The next or previous prompt; in an agent, tool call.
fn mark(model: &mut Model, forward: bool) {
    let Some(reader) = reader(model) else { return };
    let main = reader.path.is_root();
    let transcript = model.transcript(&reader.path);
    let from = current(model, reader);
    let wanted = |item: &Item| match item.kind {
        ItemKind::Prompt { .. } => main,
        ItemKind::Tools(_) => !main,
        _ => false,
    };
    if let Some(item) = round(transcript, from, forward, wanted) {
        goto(model, item);
    }
}

/// The first wanted item after (or before) `from`, going round at the ends.
fn round(
    transcript: &Transcript,
    from: ItemId,
    forward: bool,
    wanted: impl Fn(&Item) -> bool,
) -> Option<ItemId> {
    let ids = transcript.ids();
    let fits = |id: &ItemId| transcript.get(*id).is_some_and(&wanted);
    let from = from.clamp(ids.start, ids.end);
    if forward {
        (from + 1..ids.end).chain(ids.start..from.min(ids.end)).find(fits)
    } else {
        (ids.start..from).rev().chain((from..ids.end).rev()).find(fits)
    }
}

/// What copy sees of an item.
fn text_of(item: &Item) -> String {
    match &item.kind {
        ItemKind::Prompt { text, .. }
        | ItemKind::Text { text, .. }
        | ItemKind::Thinking { text, .. }
        | ItemKind::Notice { text, .. } => text.clone(),
        ItemKind::Report { head, text } => format!("{head}\n{text}"),
        ItemKind::Shell { line, text, .. } => format!("! {line}\n{text}"),
        ItemKind::Tools(calls) => calls
            .iter()
            .map(|call| format!("{} {}\n{}", call.name, call.summary, call.output))
            .collect::<Vec<_>>()
            .join("\n"),
        ItemKind::Batch { .. } | ItemKind::Dropped { .. } | ItemKind::Hidden => String::new(),
    }
}

/// The item that keys act on: the one gone to, else the one at the top.
fn current(model: &Model, reader: &Reader) -> ItemId {
    reader.at.unwrap_or(model.metrics.reader.item)
}

/// Expands or folds the current item.
fn expand(model: &mut Model) {
    let Some(reader) = reader(model) else { return };
    let (path, item) = (reader.path.clone(), current(model, reader));
    let transcript = match model.agents.get_mut(&path) {
        Some(agent) => &mut agent.transcript,
        None => &mut model.main,
    };
    if !transcript.get(item).is_some_and(folds) {
        model.say("nothing to fold here");
        return;
    }
    transcript.change(item, |item| item.open = !item.open);
    goto(model, item);
}

/// Whether an item has a part that can be folded.
fn folds(item: &Item) -> bool {
    match &item.kind {
        ItemKind::Thinking { .. } | ItemKind::Report { .. } | ItemKind::Shell { .. } => true,
        ItemKind::Tools(calls) => calls.iter().any(|call| {
            let details = call.result.as_ref().and_then(|result| result.details.as_ref());
            match details {
                Some(ToolDetails::Todos { .. }) => false,
                Some(ToolDetails::Diff { .. }) => true,
                _ => !call.output.trim().is_empty(),
            }
        }),
        _ => false,
    }
}

/// Copies the current item.
fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(reader) = reader(model) else { return };
    let transcript = model.transcript(&reader.path);
    let Some(item) = transcript.get(current(model, reader)) else { return };
    let text = text_of(item);
    model.say(format!("copied {}", count(text.lines().count(), "line")));
    effects.push(Effect::Copy(text));
}

/// The transcript of the next or previous agent; main is among them.
fn turn(model: &mut Model, forward: bool) {
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
