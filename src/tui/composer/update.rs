//! Keys on the prompt: editing, sending, and everything that needs no overlay.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::prompt::mentioned_paths;
use crate::protocol::{AgentPath, Command, PermissionMode, PromptTiming, QueuedPrompt};
use crate::tui::agents::AgentState;
use crate::tui::agents::picker::update as picker;
use crate::tui::composer::edit::edit_text;
use crate::tui::composer::image_path::ImagePath;
use crate::tui::composer::image_request;
use crate::tui::composer::menu::MENU_ROWS;
use crate::tui::composer::past_prompt::PastPrompt;
use crate::tui::composer::paste::PASTE_TOO_LARGE;
use crate::tui::composer::{MenuKind, Movement, draft, mention};
use crate::tui::first_run::update as first_run;
use crate::tui::host::{CommandChoice, HostRequest};
use crate::tui::interrupt::{QUIT_CONFIRM_TIME, stop};
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::labels::with_detail;
use crate::tui::model::{Notice, NoticeCause, RunningShell, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, move_selection};
use crate::tui::picker::HistorySearch;
use crate::tui::queue::{MessageState, update as queue};
use crate::tui::reader::update as reader;
use crate::tui::slash::{self, update as commands};
use crate::tui::transcript::{ItemKind, Scroll, expand};
use crate::tui::{focus, turn};

/// Handles a key on the prompt.
pub fn press(model: &mut TuiModel, keys: &Keymap, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    if let Some(action) = keys.action(KeyContext::Prompt, key) {
        handle_action(model, action, effects);
        return;
    }
    if let KeyCode::Char(letter) = key.code
        && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        && !first_run::type_letter(model, letter, effects)
    {
        draft::type_letter(model, letter, effects);
    }
}

fn handle_action(model: &mut TuiModel, action: Action, effects: &mut Vec<ScreenEffect>) {
    if menu_action(model, action, effects) {
        return;
    }
    if first_run::handle_action(model, action, effects) {
        return;
    }
    let empty = model.composer.is_empty();
    let focused = model.focus.is_some();
    match action {
        Action::Submit => submit(model, effects),
        Action::Up if focused && empty => focus::focus_below(model, false),
        Action::Down if focused && empty => focus::focus_below(model, true),
        Action::Left if focused && empty => focus::focus_beside(model, false),
        Action::Right if focused && empty => focus::focus_beside(model, true),
        Action::Up => handle_up(model, effects),
        Action::Down => {
            let width = model.prompt_width();
            if !model.composer.buffer.move_cursor(Movement::Down { width })
                && model.composer.newer()
            {
                image_request::request_past(model, effects);
            }
        }
        Action::SelectUp => {
            let width = model.prompt_width();
            model.composer.buffer.select(Movement::Up { width });
            draft::edited(model, effects);
        }
        Action::SelectDown => {
            let width = model.prompt_width();
            model.composer.buffer.select(Movement::Down { width });
            draft::edited(model, effects);
        }
        Action::Home if empty => focus::scroll_to_end(model, false),
        Action::End if empty => focus::scroll_to_end(model, true),
        Action::PageUp => focus::page(model, false),
        Action::PageDown => focus::page(model, true),
        Action::Next => handle_tab(model, effects),
        Action::Previous if focused => focus::focus_next(model, false),
        Action::Previous => next_mode(model, effects),
        Action::Agent(number) => focus::focus_number(model, usize::from(number)),
        Action::Reader => reader::open(model, effects),
        Action::Expand => expand::toggle_last(model),
        Action::SearchHistory => model.overlay = Some(Overlay::History(HistorySearch::default())),
        Action::PasteImage => image_request::request(model, None, effects),
        Action::Edit => {
            let text = model.composer.buffer.full_text();
            model.composer.buffer.keep_numbers();
            effects.push(ScreenEffect::Edit(text));
        }
        Action::Redraw => effects.push(ScreenEffect::Redraw),
        Action::Suspend => effects.push(ScreenEffect::Suspend),
        Action::BackgroundOrLeft if empty => picker::choose_background(model, effects),
        Action::DeleteOrQuit if empty => end_of_input(model, effects),
        edit => {
            change(model, edit);
            draft::edited(model, effects);
        }
    }
}

/// Applies an editing key to the draft.
fn change(model: &mut TuiModel, action: Action) {
    let text = matches!(
        action,
        Action::Newline | Action::Backspace | Action::Delete | Action::Yank | Action::Undo
    );
    if text {
        model.keys.text = Some(model.now);
    }
    if !edit_text(&mut model.composer.buffer, action) {
        model.say(PASTE_TOO_LARGE);
    }
}

/// Handles keys of an open menu. Returns false for other keys.
fn menu_action(model: &mut TuiModel, action: Action, effects: &mut Vec<ScreenEffect>) -> bool {
    let Some(menu) = &mut model.composer.menu else { return false };
    if move_selection(&mut menu.selected, menu.items.len(), MENU_ROWS, action) {
        return true;
    }
    match action {
        Action::Next => complete(model, effects),
        Action::Submit => take_menu_row(model, effects),
        _ => return false,
    }
    true
}

/// Enter on the menu: puts the selected row into the draft, and runs it if it is a command.
pub fn take_menu_row(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let is_command =
        model.composer.menu.as_ref().is_some_and(|menu| menu.kind == MenuKind::Command);
    complete(model, effects);
    if is_command {
        submit(model, effects);
    }
}

/// Puts the selected row of the menu into the draft, and requests the image that it names.
fn complete(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(kind) = model.composer.menu.as_ref().map(|menu| menu.kind) else { return };
    let item = model.composer.take_menu_item().filter(|_| kind == MenuKind::Mention);
    let mention = item.as_ref().and_then(|item| {
        let (mark, path) = mentioned_paths(&item.insert).next()?;
        ImagePath::from_mention(mark, path)
    });
    if let Some(path) = mention {
        image_request::request(model, Some(path), effects);
    }
}

/// Tab: completes, or goes to the waiting question, or to the first (or next) pane.
fn handle_tab(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    if model.composer.has_path() {
        if !model.composer.complete_path() {
            return model.say_while(NoticeCause::Draft, "Tab completes no name in a quote");
        }
        model.composer.dismissed = None;
        return draft::refresh_menu(model, effects);
    }
    if model.composer.trigger().is_some() && model.composer.dismissed.is_some() {
        model.composer.dismissed = None;
        draft::refresh_menu(model, effects);
        if model.composer.menu.is_some() {
            return;
        }
    }
    if let Some(open) = &mut model.questions.open {
        open.keyboard = true;
        return;
    }
    if model.focus.is_some() {
        return focus::focus_next(model, true);
    }
    if let Some(first) = model.questions.waiting.front() {
        let id = first.question.id;
        model.questions.clear_postponed();
        model.questions.show(id, true);
        return;
    }
    focus::enter_panes(model);
}

/// Shift+Tab: switches to the next of the modes that are safe to cycle through.
fn next_mode(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    // This key may come before the answer to the one before it.
    let mode = match model.keys.mode.unwrap_or(model.session.mode) {
        PermissionMode::Default => PermissionMode::AcceptEdits,
        PermissionMode::AcceptEdits => PermissionMode::Plan,
        PermissionMode::Plan | PermissionMode::DontAsk | PermissionMode::BypassPermissions => {
            PermissionMode::Default
        }
    };
    model.keys.mode = Some(mode);
    effects.push(ScreenEffect::Send(Command::SetMode { mode, answers: false }));
}

fn handle_up(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    // As the notice about a cleared draft says.
    let cleared = |notice: &Notice| notice.cause == NoticeCause::EmptyPrompt;
    let is_cleared = model.notice.as_ref().is_some_and(cleared);
    if model.composer.is_empty() && !is_cleared && queue::take_back(model, effects) {
        return;
    }
    let width = model.prompt_width();
    if model.composer.buffer.move_cursor(Movement::Up { width }) {
        return;
    }
    // An earlier prompt in its place would take it out of the queue unseen.
    if model.recalled_is_awaited() {
        return model.reply("a queued message is in the prompt · Esc puts it back");
    }
    if model.composer.older() {
        image_request::request_past(model, effects);
    }
}

/// Ctrl+D on the empty prompt: quits; needs a second press while something is running.
fn end_of_input(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let armed = model.keys.quit_by_eof.is_some_and(|until| model.now <= until);
    let jobs = model.jobs.alive().count() + usize::from(model.shell.is_some());
    let Some((who, them)) = stop::quit_label(model, jobs).filter(|_| !armed) else {
        return stop::quit(model, effects);
    };
    let until = model.now + QUIT_CONFIRM_TIME;
    model.keys.quit_by_eof = Some(until);
    let words = format!("again stops {them} and quits");
    let again = model.keymap.hint(KeyContext::Prompt, Action::DeleteOrQuit, &words);
    let cause = NoticeCause::Quit;
    let text = with_detail(&who, again);
    model.notice = Some(Notice { text, until, cause });
}

/// Enter: sends or runs the draft.
pub fn submit(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let text = model.composer.buffer.full_text();
    if model.composer.images.is_reading() {
        model.composer.images.sends = true;
        model.say_while(NoticeCause::ImageRead, "sent once the image is read");
        return;
    }
    if text.trim().is_empty() {
        return submit_nothing(model, effects);
    }
    let draft = model.composer.text();
    if draft.ends_with('\\') && model.composer.buffer.cursor() == draft.len() {
        let start = draft.len() - 1;
        model.composer.buffer.replace_before(start, "\n");
        return;
    }
    // Not a text that begins so within a large paste, which is one character here.
    if model.session.read_only && (model.composer.is_shell_line() || !slash::is_local(model)) {
        return effects.push(ScreenEffect::Send(Command::Fork));
    }
    if let Some(line) = text.strip_prefix('!').filter(|_| model.composer.is_shell_line()) {
        return run_shell(model, line.trim(), effects);
    }
    if let Some(line) = model.composer.command_line().map(str::to_owned) {
        if commands::run(model, &line, effects) {
            return;
        }
    } else if let Some(name) = slash::builtin(model) {
        return refuse_command(model, name);
    }
    if image_request::request_mentions(model, effects) {
        return;
    }
    if model.session.first_run.is_some() {
        model.say_while(NoticeCause::NoModel, "No model yet: your text stays here · /model");
        return;
    }
    let ended = model.focused().filter(|agent| !agent.alive()).map(AgentState::label);
    if let Some(name) = ended {
        let again = model.keys.send_to_main.take();
        if again.is_none_or(|draft| draft != text) {
            let sends =
                model.keymap.hint(KeyContext::Prompt, Action::Submit, "again sends it to main");
            model.keys.send_to_main = Some(text);
            model.reply(with_detail(&format!("{name} has ended"), sends));
            return;
        }
        focus::leave(model);
    }
    model.composer.buffer.note_agent();
    if model.focus.is_none() && mention::reject_unknown(model, &text, effects) {
        return;
    }
    send(model, &text, effects);
}

/// Says why a command in the draft has not run.
pub fn refuse_command(model: &mut TuiModel, name: &str) {
    let text = format!("/{name} was not run: type it, or paste it as one line");
    model.say_while(NoticeCause::Draft, text);
}

/// Stores the custom commands. Sends a draft that waits for them, or reports its command as unknown.
pub fn commands_known(
    model: &mut TuiModel,
    commands: Vec<CommandChoice>,
    effects: &mut Vec<ScreenEffect>,
) {
    model.commands = Some(commands);
    let waits =
        model.unknown_command.take().filter(|draft| model.composer.buffer.full_text() == *draft);
    match waits {
        Some(draft) => {
            match slash::is_prompt(model, slash::command_name(&draft).unwrap_or_default()) {
                true => submit(model, effects),
                false => {
                    let name = slash::command_name(&draft).unwrap_or_default();
                    let text = format!("unknown command /{name} · /help lists the commands");
                    model.say_while(NoticeCause::Draft, text);
                }
            }
        }
        None => draft::refresh_menu(model, effects),
    }
}

/// Enter on the empty prompt: zooms, toggles the newest queued message, or retries a failed turn.
fn submit_nothing(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    if model.focus.is_some() && !model.zoom {
        model.zoom = true;
        return;
    }
    if queue::toggle_newest(model, effects) {
        return;
    }
    if model.session.read_only && model.focus.is_none() {
        return effects.push(ScreenEffect::Send(Command::Fork));
    }
    if model.can_retry && !model.main_is_busy() && model.focus.is_none() {
        if model.rejected_by.as_deref() == Some(model.session.model.as_str()) {
            let back = model.keymap.hint(KeyContext::Prompt, Action::Up, "brings the prompt back");
            model.reply(with_detail("the same would be rejected again", back));
            return;
        }
        turn::withdraw_retry(model);
        model.stopped_at = None;
        effects.push(ScreenEffect::Send(Command::Retry));
    }
}

fn run_shell(model: &mut TuiModel, line: &str, effects: &mut Vec<ScreenEffect>) {
    if line.is_empty() {
        return;
    }
    if model.shell.is_some() {
        model.reply("one command at a time · Ctrl+C kills the running one");
        return;
    }
    let line = line.to_owned();
    draft::remember(model, effects);
    model.shell = Some(RunningShell { line: line.clone(), since: model.now });
    let kind = ItemKind::Shell { line: line.clone(), text: String::new(), status: None };
    model.main.push(kind);
    model.main_scroll = Scroll::default();
    // Its output is in main's transcript.
    model.zoom = false;
    effects.push(ScreenEffect::Send(Command::Shell { line }));
}

fn send(model: &mut TuiModel, text: &str, effects: &mut Vec<ScreenEffect>) {
    let to = model.focus.clone().unwrap_or_else(AgentPath::root);
    let busy = if to.is_root() { model.main_is_busy() } else { true };
    let state = if busy { MessageState::Waiting } else { MessageState::Sent };
    let when = model.composer.recalled.as_ref().map_or(PromptTiming::NextStep, |taken| taken.when);
    let past = PastPrompt { text: text.to_owned(), images: model.composer.buffer.past_images() };
    let id = model.queue.add(to.clone(), past, when, state);
    let images = model.composer.buffer.images();
    let agent_mentions = model.composer.buffer.agent_mentions();
    if busy {
        model.queue.last = model.now;
    }
    if model.composer.is_empty() {
        effects.push(ScreenEffect::Ask(HostRequest::Remember(text.into())));
    } else {
        draft::remember(model, effects);
    }
    if to.is_root() {
        model.session.prompts += 1;
        model.main_scroll = Scroll::default();
        turn::withdraw_retry(model);
        if !busy {
            model.stopped_at = None;
        }
        focus::leave(model);
    } else if let Some(agent) = model.agents.get_mut(&to) {
        agent.scroll = Scroll::default();
    }
    model.queue.returned = (0, 0);
    model.notice = None;
    let prompt = QueuedPrompt { images, agent_mentions, ..QueuedPrompt::typed(id, text, when) };
    effects.push(ScreenEffect::Send(Command::Prompt { to, prompt }));
}
