//! Changes the model for each thing that happens, and says what has to be done outside. Pure: no
//! clock, no files.

mod agent_list;
mod background;
mod events;
mod focus;
mod history;
mod lists;
mod mention;
mod mouse;
mod outs;
mod prompt;
mod question;
mod queue;
mod reader;
mod slash;

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::protocol::Command;

use super::host::{HostReply, HostRequest, ModelList};
use super::keymap::Keymap;
use super::model::overlay::{Choice, Rows};
use super::model::{Draw, Extent, Metrics, Model, Overlay, Scroll, StepKey};
use super::msg::{Effect, Msg};

pub use slash::COMMANDS;

/// How long closing waits for what is being ended.
const CLOSING_LIMIT: Duration = Duration::from_secs(6);

/// The only way in which the model changes.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let mut effects = Vec::new();
    match msg {
        Msg::Drawn(metrics) => {
            drawn(model, *metrics);
            return effects;
        }
        Msg::Key { key, at } => {
            model.now = model.now.max(at);
            model.draw = Draw::Now;
            model.selection = None;
            question::read_on(model);
            let keys = Arc::clone(&model.keymap);
            press(model, &keys, key, &mut effects);
        }
        Msg::Paste { text, at } => {
            model.now = model.now.max(at);
            model.draw = Draw::Now;
            paste(model, &text, &mut effects);
        }
        Msg::Mouse { event, under, at } => {
            model.now = model.now.max(at);
            mouse::react(model, event, under, &mut effects);
        }
        Msg::Resize { width, height } => {
            model.selection = None;
            model.size = (width, height);
            // Nothing is on a screen of this size yet.
            model.metrics.question = None;
            model.draw = Draw::Now;
        }
        Msg::Window { focused } => model.focused_window = focused,
        Msg::Events { events, at } => {
            model.now = model.now.max(at);
            events::follow(model, events, &mut effects);
        }
        Msg::Host { reply, at } => {
            model.now = model.now.max(at);
            if changes_something(model, &reply) {
                model.draw = Draw::Now;
            }
            hear(model, reply, &mut effects);
        }
        Msg::Tick { at } => {
            model.now = model.now.max(at);
            if model.animated() {
                model.draw = Draw::Now;
            }
        }
    }
    expire(model, &mut effects);
    history::fetch(model, &mut effects);
    question::open_if_due(model);
    if model.notice_is_over() {
        model.notice = None;
        model.draw = Draw::Now;
    }
    if model.closing && !model.something_works() && !effects.contains(&Effect::Quit) {
        effects.push(Effect::Quit);
    }
    effects
}

/// What a start does by itself, once the first frame stands.
pub fn start(model: &mut Model, prompt: Option<String>, pick_session: bool) -> Vec<Effect> {
    let mut effects = Vec::new();
    if model.session.branch.is_none() {
        effects.push(Effect::Ask(HostRequest::Branch));
    }
    if model.session.first_run.is_some() {
        effects.push(Effect::Ask(HostRequest::LocalServers));
    }
    if pick_session {
        slash::pick_session(model, &mut effects);
    }
    if let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) {
        model.composer.buffer.set(&prompt);
        prompt::submit(model, &mut effects);
    }
    effects
}

fn press(model: &mut Model, keys: &Keymap, key: KeyEvent, effects: &mut Vec<Effect>) {
    if key.kind == KeyEventKind::Release {
        return;
    }
    let interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    if interrupt || key.code == KeyCode::Esc {
        if key.kind == KeyEventKind::Press {
            let which = if interrupt { StepKey::Interrupt } else { StepKey::Escape };
            outs::step_out(model, which, effects);
        }
        return;
    }
    if model.overlay.is_some() {
        lists::press(model, keys, key, effects);
    } else if model.questions.open.as_ref().is_some_and(|open| open.keyboard) {
        question::press(model, keys, key, effects);
    } else {
        prompt::press(model, keys, key, effects);
    }
}

fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    if model.overlay.is_some() {
        lists::paste(model, text);
        return;
    }
    if question::paste(model, text) {
        return;
    }
    model.composer.buffer.insert(text);
    prompt::edited(model, effects);
}

/// Keeps the sizes of the frame, and no view beyond its end.
fn drawn(model: &mut Model, metrics: Metrics) {
    let settle = |scroll: &mut Scroll, extent: Extent| {
        if extent.height > 0 && (scroll.goto.take().is_some() || scroll.top.is_some()) {
            scroll.top = Some(extent.top);
        }
    };
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        settle(&mut reader.scroll, metrics.reader);
        if let Some(search) = metrics.search {
            reader::found(reader, search, metrics.reader);
        }
    }
    let zoomed = model.focus.clone().filter(|_| model.zoom);
    match zoomed.and_then(|path| model.agents.get_mut(&path)) {
        Some(agent) => settle(&mut agent.scroll, metrics.body),
        None => settle(&mut model.main_scroll, metrics.body),
    }
    for (path, extent) in &metrics.panes {
        if let Some(agent) = model.agents.get_mut(path) {
            settle(&mut agent.scroll, *extent);
        }
    }
    model.metrics = metrics;
}

/// Takes away what has had its time.
fn expire(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    let over = |until: &mut Option<Duration>| {
        if until.is_some_and(|time| time <= now) {
            *until = None;
            return true;
        }
        false
    };
    let mut changed = over(&mut model.keys.quit_by_interrupt);
    changed |= over(&mut model.keys.quit_by_eof);
    changed |= over(&mut model.questions.pause_until);
    changed |= model.agents.expire(now, model.focus.as_ref());
    changed |= model.jobs.expire(now);
    if over(&mut model.questions.notify_at) {
        notify_question(model, effects);
    }
    if over(&mut model.closing_until) {
        effects.push(Effect::Quit);
    }
    if changed {
        model.draw = Draw::Now;
    }
}

fn notify_question(model: &Model, effects: &mut Vec<Effect>) {
    if let Some(waiting) = model.questions.waiting.front()
        && !model.focused_window
        && model.settings.notifications
    {
        effects.push(Effect::Notify(format!("{} asks", waiting.question.agent)));
    }
}

/// Whether there is anything new to see in a reply.
fn changes_something(model: &Model, reply: &HostReply) -> bool {
    match reply {
        HostReply::Remembered => false,
        HostReply::Branch(branch) => *branch != model.session.branch,
        _ => true,
    }
}

fn hear(model: &mut Model, reply: HostReply, effects: &mut Vec<Effect>) {
    match reply {
        HostReply::Files { query, paths } => prompt::files_found(model, &query, &paths),
        HostReply::Agents(definitions) => {
            if let Some(Overlay::Agents(list)) = &mut model.overlay {
                list.definitions = Some(definitions.clone());
            }
            model.definitions = Some(definitions);
            prompt::refresh_menu(model, effects);
        }
        HostReply::Commands(commands) => slash::known(model, commands, effects),
        HostReply::Doctor(found) => slash::examined(model, found),
        HostReply::Sessions(mut sessions) => {
            sessions.retain(|session| Some(session.id) != model.session.id);
            fill(model, Rows::Sessions(sessions));
        }
        HostReply::Models(ModelList { choices, notes }) => {
            fill(model, Rows::Models(choices));
            note(model, notes);
        }
        HostReply::LocalServers(servers) => {
            if let Some(first) = &mut model.session.first_run {
                first.found = Some(servers);
            }
        }
        HostReply::McpServers(servers) => slash::show_servers(model, &servers),
        HostReply::Branch(branch) => model.session.branch = branch,
        HostReply::Edited(Ok(text)) => {
            model.composer.buffer.set(text.trim_end_matches('\n'));
            prompt::edited(model, effects);
        }
        HostReply::Edited(Err(problem)) => model.say(problem),
        HostReply::Remembered => {}
    }
}

/// The rows of an open picker have arrived.
fn fill(model: &mut Model, rows: Rows) {
    if let Some(Overlay::Picker(picker)) = &mut model.overlay
        && picker.rows == Rows::Loading
    {
        picker.rows = rows;
    }
}

/// What is to be said of the rows of the open picker of models.
fn note(model: &mut Model, notes: Vec<String>) {
    if let Some(Overlay::Picker(picker)) = &mut model.overlay
        && matches!(picker.rows, Rows::Models(_))
    {
        picker.notes = notes;
    }
}

/// A row of a picker was taken.
fn choose(choice: Choice, effects: &mut Vec<Effect>) {
    match choice {
        Choice::Session(id) => effects.push(Effect::Send(Command::Resume(id))),
        Choice::Model(choice) => {
            let provider = Some(choice.provider);
            effects.push(Effect::Send(Command::SetModel { provider, model: choice.name }));
        }
        Choice::Mode(mode) => effects.push(Effect::Send(Command::SetMode(mode))),
    }
}

/// Leaves, at once or when everything has ended.
fn quit(model: &mut Model, effects: &mut Vec<Effect>) {
    model.exit_in_turn = model.main_works();
    effects.push(Effect::Send(Command::Quit));
    if model.something_works() {
        model.closing = true;
        model.closing_until = Some(model.now + CLOSING_LIMIT);
        model.draw = Draw::Now;
        return;
    }
    effects.push(Effect::Quit);
}
