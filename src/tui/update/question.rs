//! The permission question that has the keyboard, and when one opens by itself.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::event::NoticeLevel;
use crate::protocol::{AgentPath, Answer, Command, Question, QuestionId, RuleFile};
use crate::tui::composer::Buffer;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::model::question::{Answered, QUIET, RECEIPT, Stage};
use crate::tui::model::{Draw, ItemKind, Model, NoticeCause, Overlay};
use crate::tui::msg::Effect;
use crate::tui::text::{one_line, truncate};
use crate::tui::words;

use super::{background, focus, prompt, reader};

/// How long a question waits before the terminal of an unfocused window is told.
const NOTIFY_AFTER: Duration = Duration::from_secs(3);

/// A question has come.
pub fn ask(model: &mut Model, question: Question) {
    let name = question.agent.clone();
    let now = model.now;
    model.questions.ask(question, now);
    model.questions.notify_at = (!model.focused_window).then_some(now + NOTIFY_AFTER);
    // An open question says itself how many there are.
    if model.questions.open.is_none() && (model.overlay.is_some() || !quiet(model)) {
        let waiting = model.questions.waiting.len();
        model.say_while(
            NoticeCause::Questions,
            if waiting > 1 {
                words::waiting(model)
            } else {
                format!("{} {name} asks", words::Glyph::Asks.sign(model.settings.glyphs(), None))
            },
        );
    }
}

fn quiet(model: &Model) -> bool {
    model.question_opens_at().is_some_and(|at| at <= model.now)
}

/// Shows the next question when nobody types and nothing else is open.
pub fn open_if_due(model: &mut Model) {
    if !quiet(model) {
        return;
    }
    if let Some(id) = model.questions.next() {
        let keyboard = model.composer.is_empty();
        model.questions.show(id, keyboard);
        model.draw = Draw::Now;
    }
}

/// The question needs no answer any more: the one that was given here counts now, or nobody gave one.
pub fn closed(model: &mut Model, id: QuestionId, allowed: Option<bool>) {
    if let Some(answered) = model.questions.take_answered(id) {
        if allowed == Some(true) {
            keep_rules(model, &answered);
        }
        return;
    }
    let shown = model.questions.open.as_ref().is_some_and(|open| open.id == id);
    let Some(waiting) = model.questions.remove(id) else { return };
    if shown {
        // The user may be about to press a key for it, which must not answer the next one.
        model.questions.pause_until = Some(model.now + QUIET);
    }
    if matches!(model.overlay, Some(Overlay::Question { id: read, .. }) if read == id) {
        model.overlay = None;
    }
    let agent = waiting.question.agent;
    match allowed {
        Some(true) => {
            model.judged += 1;
            let allowed = model.judged;
            model.say(format!("{allowed} more allowed by the new rule"));
        }
        Some(false) => {
            model.say(format!("denied without you: {} ({agent})", waiting.question.tool));
        }
        None => model.say(format!("withdrawn: {agent} was cancelled")),
    }
}

/// The call was allowed by rules that count from now on.
fn keep_rules(model: &mut Model, answered: &Answered) {
    let question = &answered.waiting.question;
    match &answered.answer {
        Answer::Always { rules, .. } => {
            model.session.rules.extend(rules.iter().map(|rule| format!("allow {rule}")));
            model.say(format!("allowed always: {}", rules.join(", ")));
        }
        Answer::Session => {
            let grants = question.rules.iter().map(|rule| (question.path.clone(), rule.clone()));
            model.session.grants.extend(grants);
            let rules = question.rules.join(", ");
            model.say(format!("allowed until it ends: {rules} ({})", question.agent));
        }
        _ => {}
    }
}

/// The answer could not be carried out: the question needs another one.
pub fn refused(model: &mut Model, id: QuestionId, why: String) {
    let text = format!("not allowed: {why}");
    if !model.questions.reopen(id, why) {
        model.main.push(ItemKind::Notice { level: NoticeLevel::Error, text });
        return;
    }
    model.say(text);
}

/// An agent has ended: nothing that it, or one below it, asked needs an answer any more.
pub fn withdraw(model: &mut Model, path: &AgentPath) {
    let gone =
        model.questions.waiting.iter().filter(|waiting| waiting.question.path.is_within(path));
    let gone: Vec<QuestionId> = gone.map(|waiting| waiting.question.id).collect();
    model.questions.answered.retain(|known| !known.waiting.question.path.is_within(path));
    for id in gone {
        closed(model, id, None);
    }
}

/// One key while the question has the keyboard.
pub fn press(model: &mut Model, keys: &Keymap, key: KeyEvent, effects: &mut Vec<Effect>) {
    let choosing = model.questions.open.as_ref().is_some_and(|open| open.stage == Stage::Choose);
    if !choosing {
        return edit(model, keys, key, effects);
    }
    if let KeyCode::Char(letter) = key.code
        && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    {
        return match letter.to_digit(10).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => choose(model, digit, effects),
            None => letter_typed(model, letter, effects),
        };
    }
    match keys.action(Context::Prompt, key) {
        Some(Action::Up) => select(model, false),
        Some(Action::Down) => select(model, true),
        Some(Action::Submit) => {
            if let Some(digit) = model.questions.open.as_ref().and_then(|open| open.selected) {
                choose(model, digit, effects);
            }
        }
        Some(Action::Next) => next(model),
        Some(Action::PageUp) => page(model, false),
        Some(Action::PageDown) => page(model, true),
        Some(Action::Home) => scroll(model, isize::MIN / 2),
        Some(Action::End) => scroll(model, isize::MAX / 2),
        Some(Action::Reader) => reader::open_question(model),
        Some(Action::BackgroundOrLeft) if model.composer.is_empty() => {
            background::press(model, effects);
        }
        Some(Action::Redraw) => effects.push(Effect::Redraw),
        Some(Action::Suspend) => effects.push(Effect::Suspend),
        _ => {}
    }
}

/// Letters are typing: the draft takes the keyboard, the question stays.
fn letter_typed(model: &mut Model, letter: char, effects: &mut Vec<Effect>) {
    if let Some(open) = &mut model.questions.open {
        open.keyboard = false;
        open.selected = None;
    }
    if letter == '?' && model.composer.is_empty() {
        return;
    }
    prompt::type_letter(model, letter, effects);
}

/// The next or previous answer that can be given, round and round.
fn select(model: &mut Model, down: bool) {
    let answers = model.answers();
    let Some(open) = &mut model.questions.open else { return };
    let at = open.selected.and_then(|digit| answers.iter().position(|answer| *answer == digit));
    let next = match (at, down) {
        (None, true) => answers.first(),
        (None, false) => answers.last(),
        (Some(at), true) => answers.get((at + 1) % answers.len()),
        (Some(at), false) => answers.get((at + answers.len() - 1) % answers.len()),
    };
    open.selected = next.copied();
}

/// A click on an answer: the question takes the keyboard, and the answer is selected if it can be
/// given. A click on another one selects nothing, so that Enter does not give an earlier choice.
pub fn point_at(model: &mut Model, digit: u8) {
    let can = model.answers().contains(&digit);
    if let Some(open) = &mut model.questions.open {
        open.keyboard = true;
        open.selected = can.then_some(digit);
    }
}

/// Tab: the next question; with none left, all wait until the next Tab on the prompt.
fn next(model: &mut Model) {
    if let Some(id) = model.questions.after_open() {
        model.questions.show(id, true);
        return;
    }
    for waiting in &mut model.questions.waiting {
        waiting.later = true;
    }
    // The hint says how many wait, and which key shows them.
    model.questions.open = None;
}

fn page(model: &mut Model, forward: bool) {
    let content = model.question_frame().map(|frame| frame.content).unwrap_or_default();
    let step = focus::page_of(content);
    scroll(model, if forward { step } else { -step });
}

/// Scrolls the content, no further than its end on the screen. From a frame that holds the answers
/// back, a step down shows them: the end of the content stood there until the user moved on.
pub fn scroll(model: &mut Model, lines: isize) {
    let Some(frame) = model.question_frame().cloned() else { return };
    let Some(open) = &mut model.questions.open else { return };
    let last = frame.content.total.saturating_sub(frame.content.height);
    open.scroll = open.scroll.min(last).saturating_add_signed(lines).min(last);
    if frame.end && (lines > 0 || !frame.held) {
        open.seen_at = Some(frame.width);
    }
    if frame.end && frame.held && lines > 0 {
        // The answers may take lines from the content; its end stays in view.
        open.scroll = usize::MAX;
    }
}

/// The user acts while the content has the whole screen: its end counts as seen if the frame before
/// that showed it.
pub fn read_on(model: &mut Model) {
    if !matches!(model.overlay, Some(Overlay::Question { .. })) {
        return;
    }
    let seen = model.question_frame().filter(|frame| frame.end).map(|frame| frame.width);
    if let (Some(width), Some(open)) = (seen, &mut model.questions.open) {
        open.seen_at = Some(width);
        open.scroll = usize::MAX;
    }
}

fn choose(model: &mut Model, digit: u8, effects: &mut Vec<Effect>) {
    if !model.answers().contains(&digit) {
        if let Some(open) = &mut model.questions.open {
            open.selected = None;
        }
        return;
    }
    let Some((_, waiting)) = model.questions.shown() else { return };
    let question = &waiting.question;
    let rules = question.rules.join("\n");
    let path = question.path.clone();
    match digit {
        1 => answer(model, Answer::Once, effects),
        2 => answer(model, Answer::Session, effects),
        3 => stage(model, Stage::Rule(Buffer::from(rules.as_str()))),
        4 => stage(model, Stage::Reason(Buffer::default())),
        _ => {
            // The cancel goes first: after a no alone the asker would go on, and might end well
            // before it comes.
            let mut no = Vec::new();
            answer(model, Answer::No { reason: None }, &mut no);
            if path.is_root() {
                super::outs::stop(model, effects);
            } else {
                super::outs::cancel(model, &path, effects);
            }
            effects.append(&mut no);
        }
    }
}

fn stage(model: &mut Model, stage: Stage) {
    if let Some(open) = &mut model.questions.open {
        open.stage = stage;
    }
}

/// Answers the shown question; its receipt stands for a moment before the next one opens. Where
/// rules come with the answer there is a receipt only once they count.
pub fn answer(model: &mut Model, answer: Answer, effects: &mut Vec<Effect>) {
    let Some(open) = model.questions.open.clone() else { return };
    let id = open.id;
    let Some(waiting) = model.questions.remove(id) else { return };
    let question = &waiting.question;
    let call = words::call_subject(&question.tool, &question.input);
    let call = truncate(&call, 40);
    let agent = &question.agent;
    let receipt = match &answer {
        Answer::Once | Answer::Allowed(_) => Some(format!("allowed once: {call} ({agent})")),
        Answer::Session | Answer::Always { .. } => None,
        Answer::No { .. } | Answer::Denied { .. } | Answer::Stop { .. } => {
            Some(format!("denied: {call} ({agent})"))
        }
    };
    match receipt {
        Some(receipt) => model.say(receipt),
        None => model.notice = None,
    }
    let typed = match open.stage {
        Stage::Rule(rules) => Some(rules),
        _ => None,
    };
    let (kept, seen_at) = (answer.clone(), open.seen_at);
    model.questions.answered.push(Answered { waiting, answer: kept, typed, seen_at });
    model.judged = 0;
    model.questions.pause_until = Some(model.now + RECEIPT);
    model.questions.notify_at = None;
    effects.push(Effect::Send(Command::Answer { id, answer }));
}

/// Keys while a reason or a rule is typed.
fn edit(model: &mut Model, keys: &Keymap, key: KeyEvent, effects: &mut Vec<Effect>) {
    let Some(open) = &mut model.questions.open else { return };
    let buffer = match &mut open.stage {
        Stage::Reason(buffer) | Stage::Rule(buffer) => buffer,
        Stage::Choose => return,
    };
    if let KeyCode::Char(letter) = key.code
        && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    {
        buffer.type_char(letter);
        return;
    }
    match keys.action(Context::Prompt, key) {
        Some(Action::Submit) => finish_edit(model, effects),
        Some(action) => edit_line(buffer, action),
        None => {}
    }
}

/// The editing keys: they change a text or its cursor, nothing else.
pub fn edit_line(buffer: &mut Buffer, action: Action) {
    match action {
        Action::Newline => buffer.insert("\n"),
        Action::Left | Action::BackgroundOrLeft => buffer.left(),
        Action::Right => buffer.right(),
        Action::Up => {
            buffer.up(usize::MAX);
        }
        Action::Down => {
            buffer.down(usize::MAX);
        }
        Action::WordLeft => buffer.word_left(),
        Action::WordRight => buffer.word_right(),
        Action::LineStart | Action::Home => buffer.line_start(),
        Action::LineEnd | Action::End => buffer.line_end(),
        Action::Backspace => buffer.backspace(),
        Action::Delete | Action::DeleteOrQuit => buffer.delete(),
        Action::KillWordLeft => buffer.kill_word_left(),
        Action::KillWordRight => buffer.kill_word_right(),
        Action::KillLineLeft => buffer.kill_line_left(),
        Action::KillLineRight => buffer.kill_line_right(),
        Action::Yank => buffer.yank(),
        Action::Undo => buffer.undo(),
        _ => {}
    }
}

fn finish_edit(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(open) = &model.questions.open else { return };
    let given = match &open.stage {
        Stage::Choose => return,
        Stage::Reason(reason) => {
            let reason = one_line(reason.text());
            Answer::No { reason: Some(reason).filter(|reason| !reason.is_empty()) }
        }
        Stage::Rule(rules) => {
            let shown = model.question_frame().and_then(|frame| frame.rules.as_deref());
            if shown != Some(rules.text()) {
                model.say("not written: the rule is not on the screen in full");
                return;
            }
            let lines = rules.text().lines().map(str::trim).filter(|line| !line.is_empty());
            Answer::Always { rules: lines.map(str::to_owned).collect(), file: RuleFile::Local }
        }
    };
    if matches!(&given, Answer::Always { rules, .. } if rules.is_empty()) {
        model.say("no rule is left to write · Esc back");
        return;
    }
    answer(model, given, effects);
}

/// A paste goes to the line that is typed in the question. Answers false when there is none.
pub fn paste(model: &mut Model, text: &str) -> bool {
    let Some(open) = model.questions.open.as_mut().filter(|open| open.keyboard) else {
        return false;
    };
    match &mut open.stage {
        Stage::Reason(buffer) | Stage::Rule(buffer) => buffer.insert(text),
        Stage::Choose => {
            open.keyboard = false;
            return false;
        }
    }
    true
}
