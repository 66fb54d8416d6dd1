//! Keys while the draft has the keyboard: editing, sending, and everything that needs no overlay.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::{AgentPath, Command, Mode, QueuedPrompt, When};
use crate::tui::composer::{Menu, MenuKind};
use crate::tui::figures::count;
use crate::tui::host::HostRequest;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::model::overlay::HistorySearch;
use crate::tui::model::step::QUIT_ARMED;
use crate::tui::model::{Model, Notice, NoticeCause, Overlay, QueuedState, RunningShell, Scroll};
use crate::tui::msg::Effect;
use crate::tui::words::joined;

use super::{background, focus, mention, question, queue, reader, slash};

/// One key on the prompt.
pub fn press(model: &mut Model, keys: &Keymap, key: KeyEvent, effects: &mut Vec<Effect>) {
    if let Some(action) = keys.action(Context::Prompt, key) {
        act(model, action, effects);
        return;
    }
    if let KeyCode::Char(letter) = key.code
        && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    {
        // A digit between two questions is meant for the next one, which nobody has seen yet.
        let meant = letter.is_ascii_digit() && model.composer.is_empty();
        if !(meant && model.questions.between()) {
            type_letter(model, letter, effects);
        }
    }
}

/// A letter goes into the draft, whatever has the focus.
pub fn type_letter(model: &mut Model, letter: char, effects: &mut Vec<Effect>) {
    if letter == '?' && model.composer.is_empty() {
        model.overlay = Some(Overlay::Help { scroll: 0 });
        return;
    }
    model.keys.text = Some(model.now);
    model.composer.buffer.type_char(letter);
    edited(model, effects);
}

fn act(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    if menu_takes(model, action, effects) {
        return;
    }
    let empty = model.composer.is_empty();
    let focused = model.focus.is_some();
    match action {
        Action::Submit => submit(model, effects),
        Action::Up if focused && empty => focus::turn(model, false),
        Action::Down if focused && empty => focus::turn(model, true),
        Action::Left if focused && empty => focus::turn(model, false),
        Action::Right if focused && empty => focus::turn(model, true),
        Action::Up => up(model, effects),
        Action::Down => {
            if !model.composer.buffer.down(model.prompt_width()) {
                model.composer.newer();
            }
        }
        Action::Home if empty => focus::to_end(model, false),
        Action::End if empty => focus::to_end(model, true),
        Action::PageUp => focus::page(model, false),
        Action::PageDown => focus::page(model, true),
        Action::Next => next(model, effects),
        Action::Previous if focused => focus::turn(model, false),
        Action::Previous => next_mode(model, effects),
        Action::Agent(number) => focus::to_number(model, usize::from(number)),
        Action::Reader => reader::open(model, effects),
        Action::SearchHistory => model.overlay = Some(Overlay::History(HistorySearch::default())),
        Action::Edit => effects.push(Effect::Edit(model.composer.text().to_owned())),
        Action::Redraw => effects.push(Effect::Redraw),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::BackgroundOrLeft if empty => background::press(model, effects),
        Action::DeleteOrQuit if empty => end_of_input(model, effects),
        edit => {
            change(model, edit);
            edited(model, effects);
        }
    }
}

/// Editing keys: they change the draft or its cursor, nothing else.
fn change(model: &mut Model, action: Action) {
    let text = matches!(
        action,
        Action::Newline | Action::Backspace | Action::Delete | Action::Yank | Action::Undo
    );
    if text {
        model.keys.text = Some(model.now);
    }
    question::edit_line(&mut model.composer.buffer, action);
}

/// The keys that an open menu takes.
fn menu_takes(model: &mut Model, action: Action, effects: &mut Vec<Effect>) -> bool {
    let Some(menu) = &model.composer.menu else { return false };
    let command = menu.kind == MenuKind::Command;
    match action {
        Action::Up | Action::Down => model.composer.move_menu(action == Action::Down),
        Action::Next => {
            model.composer.take_menu_item();
        }
        Action::Submit => {
            model.composer.take_menu_item();
            if command {
                submit(model, effects);
            }
        }
        _ => return false,
    }
    true
}

/// Tab: completes, else the waiting question, else the first (or next) pane.
fn next(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.composer.complete_path() {
        model.composer.dismissed = None;
        return refresh_menu(model, effects);
    }
    if model.composer.trigger().is_some() && model.composer.dismissed.is_some() {
        model.composer.dismissed = None;
        refresh_menu(model, effects);
        if model.composer.menu.is_some() {
            return;
        }
    }
    if let Some(open) = &mut model.questions.open {
        open.keyboard = true;
        return;
    }
    if model.focus.is_some() {
        return focus::turn(model, true);
    }
    if let Some(first) = model.questions.waiting.front() {
        let id = first.question.id;
        model.questions.take_up();
        model.questions.show(id, true);
        return;
    }
    focus::enter_panes(model);
}

/// Shift+Tab: the next of the modes that are safe to walk through.
fn next_mode(model: &mut Model, effects: &mut Vec<Effect>) {
    let mode = match model.session.mode {
        Mode::Default => Mode::AcceptEdits,
        Mode::AcceptEdits => Mode::Plan,
        Mode::Plan | Mode::DontAsk | Mode::BypassPermissions => Mode::Default,
    };
    effects.push(Effect::Send(Command::SetMode(mode)));
}

fn up(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.composer.is_empty() && queue::take_back(model, effects) {
        return;
    }
    if !model.composer.buffer.up(model.prompt_width()) {
        model.composer.older();
    }
}

/// Ctrl+D on the empty prompt: quits, while something works only when pressed twice.
fn end_of_input(model: &mut Model, effects: &mut Vec<Effect>) {
    let armed = model.keys.quit_by_eof.is_some_and(|until| model.now <= until);
    let (agents, jobs) = (model.agents.alive().count(), model.jobs.alive().count());
    if armed || !(model.something_works() || jobs > 0) {
        return super::quit(model, effects);
    }
    let who = match (agents, jobs) {
        (0, 1) if !model.main_works() => "1 command runs".to_owned(),
        (0, more) if more > 0 && !model.main_works() => format!("{} run", count(more, "command")),
        (0, _) => "main works".to_owned(),
        (1, 0) => "1 agent works".to_owned(),
        (more, 0) => format!("{} work", count(more, "agent")),
        (agents, jobs) => {
            format!("{} and {} work", count(agents, "agent"), count(jobs, "command"))
        }
    };
    let until = model.now + QUIT_ARMED;
    model.keys.quit_by_eof = Some(until);
    let again =
        model.keymap.hint(Context::Prompt, Action::DeleteOrQuit, "again stops them and quits");
    let cause = NoticeCause::Event;
    model.notice = Some(Notice { text: joined(&who, again), until, cause });
}

/// After every change of the draft: the menu follows it.
pub fn edited(model: &mut Model, effects: &mut Vec<Effect>) {
    model.composer.edited();
    model.queue.returned = (0, 0);
    look_up(model, effects);
    refresh_menu(model, effects);
}

/// Asks for what the menu may offer besides files. Only when the draft was changed: an answer asks
/// for nothing.
fn look_up(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(trigger) = model.composer.trigger() else { return };
    match trigger.kind {
        MenuKind::Command => slash::look_up(model, &trigger.query, effects),
        MenuKind::Mention => mention::look_up(model, &trigger.query, effects),
        MenuKind::Path => {}
    }
}

/// Opens, fills or closes the menu for what stands at the cursor.
pub fn refresh_menu(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(trigger) = model.composer.trigger() else {
        model.composer.menu = None;
        model.composer.dismissed = None;
        return;
    };
    if model.composer.dismissed == Some(trigger.start) {
        return;
    }
    let items = match trigger.kind {
        MenuKind::Command => {
            slash::matching(model.commands.as_deref().unwrap_or_default(), &trigger.query)
        }
        MenuKind::Mention => {
            effects.push(Effect::Ask(HostRequest::Files(trigger.query.clone())));
            mention::items(model, &trigger.query, &[])
        }
        MenuKind::Path => {
            effects.push(Effect::Ask(HostRequest::Files(trigger.query.clone())));
            Vec::new()
        }
    };
    let kind = trigger.kind;
    let menu = Menu { kind, start: trigger.start, query: trigger.query, items, selected: 0 };
    model.composer.menu = Some(menu).filter(|menu| !menu.items.is_empty());
}

/// The host has found files for a mention.
pub fn files_found(model: &mut Model, query: &str, paths: &[String]) {
    let Some(trigger) = model.composer.trigger() else { return };
    let current = trigger.kind != MenuKind::Command && trigger.query == query;
    if !current || model.composer.dismissed == Some(trigger.start) {
        return;
    }
    let items = match trigger.kind {
        MenuKind::Path => paths.iter().map(|path| mention::file(path.clone())).collect(),
        _ => mention::items(model, query, paths),
    };
    let selected = model.composer.menu.as_ref().map_or(0, |menu| menu.selected);
    let selected = selected.min(items.len().saturating_sub(1));
    let menu =
        Menu { kind: trigger.kind, start: trigger.start, query: trigger.query, items, selected };
    model.composer.menu = Some(menu).filter(|menu| !menu.items.is_empty());
}

/// Enter.
pub fn submit(model: &mut Model, effects: &mut Vec<Effect>) {
    let text = model.composer.text().to_owned();
    if text.trim().is_empty() {
        return submit_nothing(model, effects);
    }
    if let Some(before) = text.strip_suffix('\\')
        && model.composer.buffer.cursor() == text.len()
    {
        model.composer.buffer.set(&format!("{before}\n"));
        return;
    }
    if let Some(line) = text.strip_prefix('!') {
        return run_shell(model, line.trim(), effects);
    }
    if slash::run(model, &text, effects) {
        return;
    }
    if model.session.first_run.is_some() {
        model.say_while(NoticeCause::NoModel, "No model yet: your text stays here · /model");
        return;
    }
    if let Some(agent) = model.focused()
        && !agent.alive()
    {
        let sends = model.keymap.hint(Context::Prompt, Action::Submit, "sends it to main");
        let sends = sends.map(|sends| format!("Esc, then {sends}"));
        model.say(joined(&format!("{} has ended", agent.info.name), sends));
        return;
    }
    if model.focus.is_none() && mention::refuses(model, &text, effects) {
        return;
    }
    send(model, &text, effects);
}

/// Enter on the empty prompt: zoom, change the newest queued message, or try a failed turn again.
fn submit_nothing(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.focus.is_some() && !model.zoom {
        model.zoom = true;
        return;
    }
    if queue::toggle_newest(model, effects) {
        return;
    }
    if model.can_retry && !model.main_works() && model.focus.is_none() {
        model.can_retry = false;
        model.stopped_at = None;
        effects.push(Effect::Send(Command::Retry));
    }
}

fn run_shell(model: &mut Model, line: &str, effects: &mut Vec<Effect>) {
    if line.is_empty() {
        return;
    }
    if model.shell.is_some() {
        model.say("one command at a time · Ctrl+C kills the running one");
        return;
    }
    let line = line.to_owned();
    remember(model, effects);
    model.shell = Some(RunningShell { line: line.clone(), since: model.now });
    let kind = crate::tui::model::ItemKind::Shell {
        line: line.clone(),
        text: String::new(),
        status: None,
    };
    model.main.push(kind);
    model.main_scroll = Scroll::default();
    effects.push(Effect::Send(Command::Shell { line }));
}

/// Empties the prompt and keeps its text in the history.
pub fn remember(model: &mut Model, effects: &mut Vec<Effect>) {
    let text = model.composer.take();
    effects.push(Effect::Ask(HostRequest::Remember(text)));
}

fn send(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let to = model.focus.clone().unwrap_or_else(AgentPath::root);
    let busy = if to.is_root() { model.main_works() } else { true };
    let state = if busy { QueuedState::Waiting } else { QueuedState::Sent };
    let when = model.composer.taken.as_ref().map_or(When::NextStep, |taken| taken.when);
    let id = model.queue.add(to.clone(), text, when, state);
    if busy {
        model.queue.last = model.now;
    }
    if model.composer.is_empty() {
        effects.push(Effect::Ask(HostRequest::Remember(text.to_owned())));
    } else {
        remember(model, effects);
    }
    if to.is_root() {
        model.session.prompts += 1;
        model.main_scroll = Scroll::default();
        model.can_retry = false;
        if !busy {
            model.stopped_at = None;
        }
        focus::leave(model);
    } else if let Some(agent) = model.agents.get_mut(&to) {
        agent.scroll = Scroll::default();
    }
    model.queue.returned = (0, 0);
    model.notice = None;
    let prompt = QueuedPrompt::typed(id, text, when);
    effects.push(Effect::Send(Command::Prompt { to, prompt }));
}
