//! Updates the model for each message and returns the effects to perform. Pure: no clock, no files.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyEvent, KeyEventKind};

use crate::protocol::printable_path;
use crate::tui::composer::image_path::ImagePath;
use crate::tui::composer::paste::{self, PASTE_TOO_LARGE};
use crate::tui::composer::{as_prompt, draft, update as prompt};
use crate::tui::composer::{image, image_request};
use crate::tui::first_run::update as first_run;
use crate::tui::host::{HostRequest, KeptChoice};
use crate::tui::interrupt::{interrupt_key, update as interrupt};
use crate::tui::keymap::{Action, KeyContext, Keymap, plain_char};
use crate::tui::model::{ACTED_TIME, DrawUrgency, InterruptKey, Metrics, NoticeCause, TuiModel};
use crate::tui::msg::{Msg, ScreenEffect};
use crate::tui::notify::{self, notify};
use crate::tui::overlay::{Overlay, update as overlay};
use crate::tui::page::{PageBody, PageLine, update as page, work};
use crate::tui::picker::{PickerRows, open, sessions, update as picker};
use crate::tui::question::{early, update as question};
use crate::tui::reader::update as reader;
use crate::tui::slash::{self, update as commands};
use crate::tui::transcript::{Extent, Scroll};
use crate::tui::{choices, events, growth, mouse, replay, status_line, turn};

/// Applies a message to the model. Nothing else changes the model.
pub fn update(model: &mut TuiModel, msg: Msg) -> Vec<ScreenEffect> {
    let mut effects = Vec::new();
    let changed = !matches!(msg, Msg::Tick { .. } | Msg::Window { .. });
    let covered = model.overlay.is_some();
    match msg {
        Msg::Drawn(metrics) => {
            frame_drawn(model, *metrics);
            return effects;
        }
        Msg::Key { key, at } => {
            model.now = model.now.max(at);
            model.draw = DrawUrgency::Now;
            let selected = model.selection.take().is_some_and(|it| !it.is_empty());
            question::mark_end_seen(model);
            let keys = Arc::clone(&model.keymap);
            model.questions.expire_unread(model.now);
            end_notice(model);
            early::release_digits(model, key, &mut effects);
            let ends_selection = selected && interrupt_key(key) == Some(InterruptKey::Escape);
            let has_dialog = covered || model.questions.open.is_some();
            if ends_selection && !has_dialog || early::drop_key(model, key) {
                // It does nothing else.
            } else if early::comes_before(model, key) {
                let press = |model: &mut TuiModel| press(model, &keys, key, &mut effects);
                early::press_before(model, press);
            } else {
                press(model, &keys, key, &mut effects);
            }
        }
        Msg::Paste { text, at } => {
            model.now = model.now.max(at);
            model.draw = DrawUrgency::Now;
            paste(model, &text, &mut effects);
        }
        Msg::Mouse { event, hit: under, at } => {
            model.now = model.now.max(at);
            mouse::handle_mouse(model, event, under, &mut effects);
        }
        Msg::Resize { width, height } => {
            model.selection = None;
            model.size = (width, height);
            // Nothing was drawn at this size yet.
            model.metrics.question = None;
            model.draw = DrawUrgency::Now;
        }
        Msg::Window { focused, at } => {
            model.now = model.now.max(at);
            model.focused_window = focused;
            question::schedule_notification(model);
        }
        Msg::Events { events, at } => {
            model.now = model.now.max(at);
            events::apply_events(model, events, &mut effects);
            commands::refresh_cost(model);
        }
        Msg::Host { reply, at } => {
            model.now = model.now.max(at);
            if is_visible_change(model, &reply) {
                model.draw = DrawUrgency::Now;
            }
            apply_reply(model, reply, &mut effects);
        }
        Msg::TerminalBackground(background) => {
            model.themes.background = Some(background);
            model.draw = DrawUrgency::Now;
        }
        Msg::Tick { at } => {
            model.now = model.now.max(at);
            mouse::pull_selection(model);
            if model.animated() {
                model.draw = DrawUrgency::Now;
            }
        }
    }
    expire(model, &mut effects);
    replay::request_transcripts(model, &mut effects);
    growth::request(model, &mut effects);
    if covered {
        question::uncovered(model);
    }
    question::open_if_due(model);
    status_line::refresh(model, changed, &mut effects);
    choices::refresh(model, &mut effects);
    turn::refresh_retry(model);
    end_notice(model);
    if model.closing && !model.is_busy() && !effects.contains(&ScreenEffect::Quit) {
        effects.push(ScreenEffect::Quit);
    }
    effects
}

/// Removes the notice once it is over, and what it has said about the next key.
fn end_notice(model: &mut TuiModel) {
    if model.notice_is_over() {
        model.notice = None;
        model.draw = DrawUrgency::Now;
    }
    model.disarm_letter();
}

/// Performs the initial requests, after the first frame.
pub fn start(
    model: &mut TuiModel,
    prompt: Option<String>,
    pick_session: bool,
) -> Vec<ScreenEffect> {
    let mut effects = Vec::new();
    if model.session.branch.is_none() {
        effects.push(ScreenEffect::Ask(HostRequest::Branch(None)));
    }
    if model.session.notes.is_empty() {
        effects.push(ScreenEffect::Ask(HostRequest::Notes(Vec::new())));
    }
    if model.session.first_run.is_some() {
        effects.push(ScreenEffect::Ask(HostRequest::LocalServers(Vec::new())));
    }
    if pick_session {
        open::sessions(model, "", &mut effects);
    }
    if let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) {
        let prompt = as_prompt(&prompt);
        model.composer.buffer.set_typed(&prompt);
        // Nobody has seen it yet: others may have written it.
        match slash::builtin(model).filter(|_| !model.composer.is_whole_line()) {
            Some(name) => {
                model.composer.buffer.set(&(*prompt).into());
                prompt::refuse_command(model, name);
            }
            None => prompt::submit(model, &mut effects),
        }
    }
    effects
}

fn press(model: &mut TuiModel, keys: &Keymap, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    if key.kind == KeyEventKind::Release {
        return;
    }
    model.notice.take_if(|notice| notice.cause == NoticeCause::LastKey);
    model.keys.clicked = None;
    if is_pressed_again(model, key) {
        return;
    }
    let notice = model.notice.clone();
    let covered = model.overlay.is_some();
    press_one(model, keys, key, effects);
    // What the notice said was about the screen before.
    if !covered && model.overlay.is_some() && model.notice == notice {
        model.notice = None;
    }
}

/// Handles a key that counts.
fn press_one(model: &mut TuiModel, keys: &Keymap, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    let which = interrupt_key(key);
    // A user who does something else in between does not mean to quit.
    let eof = model.keymap.action(KeyContext::Prompt, key) == Some(Action::DeleteOrQuit);
    if which != Some(InterruptKey::Interrupt) && !eof {
        model.disarm_quit();
    }
    if let Some(which) = which {
        if key.kind == KeyEventKind::Press {
            interrupt::handle_interrupt(model, which, effects);
        }
        return;
    }
    press_in_focus(model, keys, key, effects);
}

/// Whether a key is another press of the letter that has just acted: on what is open now, it would do
/// something else.
fn is_pressed_again(model: &mut TuiModel, key: KeyEvent) -> bool {
    let now = model.now;
    let acted = model.keys.acted.take();
    let again = acted.filter(|(letter, until)| plain_char(key) == Some(*letter) && now < *until);
    model.keys.acted = again.map(|(letter, _)| (letter, now + ACTED_TIME));
    again.is_some()
}

/// Hands a key to what has the keyboard.
fn press_in_focus(
    model: &mut TuiModel,
    keys: &Keymap,
    key: KeyEvent,
    effects: &mut Vec<ScreenEffect>,
) {
    if model.overlay.is_some() {
        overlay::press(model, keys, key, effects);
    } else if model.questions.open.as_ref().is_some_and(|open| open.keyboard) {
        question::press(model, keys, key, effects);
    } else {
        prompt::press(model, keys, key, effects);
    }
}

fn paste(model: &mut TuiModel, text: &str, effects: &mut Vec<ScreenEffect>) {
    model.disarm_quit();
    if model.overlay.is_some() && overlay::paste(model, text, effects) {
        return;
    }
    if question::paste(model, text) {
        return;
    }
    let text = paste::clean(text);
    let is_first = model.composer.buffer.paste_start() == 0;
    let text = if is_first { as_prompt(&text).into_owned() } else { text };
    if !model.composer.buffer.paste(&text) {
        return model.say(PASTE_TOO_LARGE);
    }
    draft::edited(model, effects);
    let is_shell_line = model.composer.is_shell_line();
    let paths = if is_shell_line { Vec::new() } else { ImagePath::parse_all(&text) };
    // The last of equal ones is replaced first.
    for path in paths.into_iter().rev() {
        image_request::request(model, Some(path), effects);
    }
}

/// Stores the sizes of the frame, and keeps scroll positions within them.
fn frame_drawn(model: &mut TuiModel, metrics: Metrics) {
    let settle = |scroll: &mut Scroll, extent: Extent| {
        if extent.height > 0 && (scroll.goto.take().is_some() || scroll.top.is_some()) {
            scroll.top = Some(extent.top);
        }
    };
    if let Some(Overlay::Reader(reader)) = &mut model.overlay {
        settle(&mut reader.scroll, metrics.reader);
    }
    if let Some(search) = metrics.search {
        reader::found(model, search, metrics.reader);
    }
    // At its end, a transcript follows it.
    let follow = |scroll: &mut Scroll, extent: Extent| {
        settle(scroll, extent);
        scroll.top = scroll.top.filter(|_| extent.height == 0 || !extent.is_at_end());
    };
    let zoomed = model.focus.clone().filter(|_| model.zoom);
    match zoomed.and_then(|path| model.agents.get_mut(&path)) {
        Some(agent) => follow(&mut agent.scroll, metrics.body),
        None => follow(&mut model.main_scroll, metrics.body),
    }
    for (path, extent) in &metrics.panes {
        if let Some(agent) = model.agents.get_mut(path) {
            follow(&mut agent.scroll, *extent);
        }
    }
    model.metrics = metrics;
    if let Some(selection) = &mut model.selection {
        selection.is_drawn = true;
    }
}

/// Removes what has expired.
fn expire(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
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
    if changed {
        model.disarm_quit();
    }
    changed |= over(&mut model.questions.pause_until);
    changed |= model.questions.expire_unread(now);
    if let Some(Overlay::AgentPicker(which)) = &mut model.overlay {
        changed |= over(&mut which.unread_until);
    }
    changed |= model.agents.expire(now, model.focus.as_ref());
    changed |= model.jobs.expire(now);
    if over(&mut model.questions.notify_at) {
        notify_question(model, effects);
    }
    if over(&mut model.closing_until) {
        effects.push(ScreenEffect::Quit);
    }
    if changed {
        model.draw = DrawUrgency::Now;
    }
}

/// Notifies the user of the first new question; the others are on the screen beside it.
fn notify_question(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let mut new = model.questions.waiting.iter_mut().filter(|waiting| !waiting.notified);
    let Some(first) = new.next() else { return };
    let text = format!("{} needs you: {}", first.question.agent, first.question.tool);
    first.notified = true;
    new.for_each(|waiting| waiting.notified = true);
    notify(model, text, effects);
}

/// Whether a reply changes anything visible.
fn is_visible_change(model: &TuiModel, reply: &HostRequest) -> bool {
    match reply {
        HostRequest::Remember(_) | HostRequest::StatusLine { .. } => false,
        HostRequest::SessionGrowth { left, files, .. } => {
            files.is_some() || *left != model.session.growth.left
        }
        HostRequest::Keep { choice: KeptChoice::Theme(_), .. } => true,
        HostRequest::Keep { result, .. } => *result != Ok(None),
        HostRequest::Notify { result, .. } => result.is_err(),
        HostRequest::Branch(branch) => *branch != model.session.branch,
        HostRequest::Notes(notes) => *notes != model.session.notes,
        _ => true,
    }
}

fn apply_reply(model: &mut TuiModel, reply: HostRequest, effects: &mut Vec<ScreenEffect>) {
    match reply {
        HostRequest::Files { query, paths } => draft::files_found(model, &query, &paths),
        HostRequest::Agents(definitions) => {
            if let Some(Overlay::Agents(list)) = &mut model.overlay {
                list.definitions = Some(definitions.clone());
            }
            model.definitions = Some(definitions);
            draft::refresh_menu(model, effects);
        }
        HostRequest::Commands(commands) => prompt::commands_known(model, commands, effects),
        HostRequest::Page(about, lines) => page::fill(model, about.title(), lines),
        HostRequest::Memory(files) => picker::fill(model, PickerRows::Memory(files)),
        HostRequest::EditFile { path, result: Ok(()) } => {
            model.say(format!("{} takes effect with the next prompt", printable_path(&path)));
        }
        HostRequest::EditFile { result: Err(problem), .. } => model.say(problem),
        HostRequest::Sessions { everywhere, most, sessions } => {
            sessions::listed(model, everywhere, most, sessions, effects);
        }
        HostRequest::SessionPreviews { ids, previews } => {
            sessions::previewed(model, &ids, previews);
        }
        HostRequest::SearchSessions { query, everywhere, hits } => {
            sessions::searched(model, &query, everywhere, hits);
        }
        HostRequest::SessionGrowth { session, size, left, files } => {
            growth::grown(model, session, (size, left), files);
        }
        HostRequest::Models(list) => picker::fill_models(model, list),
        HostRequest::LocalServers(servers) => first_run::servers_found(model, servers),
        HostRequest::McpServers { opened, servers } => {
            commands::servers_changed(model, opened, servers, effects);
        }
        HostRequest::Changes(Ok(changes)) => {
            page::fill(model, commands::DIFF_TITLE, PageBody::Changes(changes));
        }
        HostRequest::Changes(Err(why)) => {
            page::fill(model, commands::DIFF_TITLE, vec![PageLine::from(why)]);
        }
        HostRequest::WorktreeChanges { agent, changes, .. } => work::fill(model, &agent, changes),
        HostRequest::MergeWorktree { agent, result, .. } => {
            work::merged(model, &agent, result, effects);
        }
        HostRequest::DiscardWorktree { agent, result, .. } => {
            work::discarded(model, &agent, result, effects);
        }
        HostRequest::Export { result: Ok(path), .. } => {
            model.say(format!("exported to {}", printable_path(&path)));
        }
        HostRequest::Export { result: Err(why), .. } => model.say(why),
        HostRequest::SessionName { session, name } if Some(session) == model.session.id => {
            model.session.name = name;
            commands::refresh_status(model);
        }
        HostRequest::SessionName { .. } => {}
        HostRequest::Rename { session, result: Ok(name), .. } => {
            if Some(session) == model.session.id {
                model.session.name.clone_from(&name);
            }
            model.say(match name {
                Some(name) => format!("this session is now named {name}"),
                None => "this session has no name now".to_owned(),
            });
        }
        HostRequest::Rename { result: Err(why), .. } => model.say(why),
        HostRequest::Branch(branch) => {
            model.session.branch = branch;
            commands::refresh_status(model);
        }
        HostRequest::Notes(notes) => {
            model.session.notes = notes;
            commands::refresh_status(model);
        }
        HostRequest::Edit(edited) if question::plan_edited(model, edited.as_deref().ok()) => {
            if let Err(problem) = edited {
                model.say(format!("{problem} · the plan is unchanged"));
            }
        }
        HostRequest::Edit(Ok(text)) => {
            model.composer.replace_typed(text.trim_end_matches('\n'));
            draft::edited(model, effects);
        }
        HostRequest::Edit(Err(problem)) => {
            model.say(format!("{problem} · the draft is unchanged"));
        }
        HostRequest::Image { path, draft, image } => {
            if image::arrived(model, path.as_ref(), draft, image, effects) {
                prompt::submit(model, effects);
            }
        }
        HostRequest::Remember(_) => {}
        HostRequest::Keep { choice, result } => choices::kept(model, &choice, result),
        HostRequest::Notify { text, result } => {
            notify::command_ended(model, text, result, effects);
        }
        HostRequest::StatusLine { line, .. } => status_line::printed(model, line),
    }
}
