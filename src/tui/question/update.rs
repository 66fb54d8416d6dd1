//! Keys on the open permission question, and when a question opens by itself.

use std::time::Duration;

use crossterm::event::KeyEvent;
use serde_json::Value;

use crate::protocol::{
    AgentPath, Allowance, Answer, Command, NoticeLevel, PermissionMode, Question, QuestionId,
    RuleFile,
};
use crate::tui::agents::picker::update as picker;
use crate::tui::composer::edit::edit_text;
use crate::tui::composer::image_path::ImagePath;
use crate::tui::composer::paste::{NO_IMAGE, PASTE_TOO_LARGE};
use crate::tui::composer::{TextBuffer, draft};
use crate::tui::interrupt::stop;
use crate::tui::keymap::{Action, KeyContext, Keymap, plain_char};
use crate::tui::labels;
use crate::tui::model::{DrawUrgency, NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::question::form::{FormOutcome, FormScroll};
use crate::tui::question::{
    AnsweredQuestion, LeftQuestion, QUIET_TIME, QuestionStage, RECEIPT_TIME, UnreadTime, is_plan,
};
use crate::tui::session::ScreenRule;
use crate::tui::text::{one_line, sanitize, truncate};
use crate::tui::theme::Glyph;
use crate::tui::transcript::ItemKind;

/// The most bytes of rules to paste into.
const MAX_RULES: usize = 4000;

/// How long a question waits in a window without the focus before a notification is sent.
const NOTIFY_AFTER: Duration = Duration::from_secs(3);

/// Adds a new question.
pub fn add_question(model: &mut TuiModel, mut question: Question) {
    // Named as everywhere on the screen.
    if let Some(agent) = model.agents.get(&question.path) {
        question.agent = agent.label();
    }
    let name = question.agent.clone();
    let now = model.now;
    model.questions.ask(question, now);
    schedule_notification(model);
    // An open question itself shows how many there are.
    if model.questions.open.is_none() && (model.overlay.is_some() || !may_open(model)) {
        let waiting = model.questions.waiting.len();
        model.say_while(
            NoticeCause::Questions,
            if waiting > 1 {
                labels::waiting_label(model)
            } else {
                format!("{} {name} needs you", Glyph::Asks.sign(model.settings.glyphs(), None))
            },
        );
    }
}

/// Sets the time of the next notification: once the user has looked elsewhere for a while and there
/// is a question that they were not notified of.
pub fn schedule_notification(model: &mut TuiModel) {
    let is_new = model.questions.waiting.iter().any(|waiting| !waiting.notified);
    let is_due = is_new && !model.focused_window;
    model.questions.notify_at = is_due.then_some(model.now + NOTIFY_AFTER);
}

fn may_open(model: &TuiModel) -> bool {
    model.question_opens_at().is_some_and(|at| at <= model.now)
}

/// Shows the next question when the user is not typing and nothing else is open.
pub fn open_if_due(model: &mut TuiModel) {
    if !may_open(model) {
        return;
    }
    if let Some(id) = model.questions.next() {
        let keyboard = model.composer.is_empty();
        let left = model.questions.left.take();
        model.questions.show(id, keyboard);
        // One whose answer was refused is known.
        if let Some(open) = model.questions.open.as_mut().filter(|open| open.problem.is_none()) {
            open.unread = Some(UnreadTime::new(model.now));
            let left = left.map(|left| left.at);
            open.follows = left.filter(|left| model.now <= *left + QUIET_TIME);
        }
        model.draw = DrawUrgency::Now;
    }
}

/// Closes a question: the answer given here was applied, or no answer is needed any more.
pub fn closed(model: &mut TuiModel, id: QuestionId, allowed: Option<bool>) {
    if let Some(answered) = model.questions.take_answered(id) {
        if allowed == Some(true) {
            keep_rules(model, &answered);
        }
        return;
    }
    let shown = model.questions.open.as_ref().filter(|open| open.id == id);
    let had_keyboard = shown.map(|open| open.keyboard && model.overlay.is_none());
    let Some(waiting) = model.questions.remove(id) else { return };
    if let Some(had_keyboard) = had_keyboard {
        // The user may be about to press a key for it, which must do nothing else.
        model.questions.pause_until = Some(model.now + QUIET_TIME);
        let left = LeftQuestion { at: model.now, answered: false };
        model.questions.left = had_keyboard.then_some(left);
    }
    if matches!(model.overlay, Some(Overlay::Question { id: read, .. }) if read == id) {
        model.overlay = None;
    }
    let agent = waiting.question.agent;
    match allowed {
        Some(true) => {
            model.also_settled += 1;
            let allowed = model.also_settled;
            model.say(format!("{allowed} more allowed by the new rule"));
        }
        Some(false) => {
            model.say(format!("denied without asking: {} ({agent})", waiting.question.tool));
        }
        // The notice about the stop says how many agents it has cancelled.
        None if model.run.cancelling => {}
        None => model.say(format!("withdrawn: {agent} was cancelled")),
    }
}

/// Stores the rules that come with an answer that allowed the call.
fn keep_rules(model: &mut TuiModel, answered: &AnsweredQuestion) {
    let question = &answered.waiting.question;
    match &answered.answer {
        Answer::Always { rules, file } => {
            let added = rules.iter().map(|rule| ScreenRule::always(rule, *file));
            model.session.rules.extend(added);
            model.say(format!("allowed always: {}", rules.join(", ")));
        }
        Answer::Session => {
            let grants = question.rules.iter().map(|rule| (question.path.clone(), rule.clone()));
            model.session.grants.extend(grants);
            let rules = question.rules.join(", ");
            let until = if question.path.is_root() { "in this session" } else { "until it ends" };
            model.say(format!("allowed for {} {until}: {rules}", question.agent));
        }
        _ => {}
    }
}

/// Reopens a question whose answer could not be applied.
pub fn refused(model: &mut TuiModel, id: QuestionId, why: String) {
    let text = format!("not allowed: {why}");
    if !model.questions.reopen(id, why) {
        model.main.push(ItemKind::Notice { level: NoticeLevel::Error, text });
        return;
    }
    model.say(text);
}

/// Withdraws the questions of an ended agent. Those below it have their own ends: main's turn ends
/// while agents in the background work on.
pub fn withdraw(model: &mut TuiModel, path: &AgentPath) {
    let gone = model.questions.waiting.iter().filter(|waiting| waiting.question.path == *path);
    let gone: Vec<QuestionId> = gone.map(|waiting| waiting.question.id).collect();
    model.questions.answered.retain(|known| known.waiting.question.path != *path);
    for id in gone {
        closed(model, id, None);
    }
}

/// Handles a key while the question has the keyboard.
pub fn press(model: &mut TuiModel, keys: &Keymap, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    if model.questions.form().is_some() {
        return press_form(model, keys, key, effects);
    }
    let choosing =
        model.questions.open.as_ref().is_some_and(|open| open.stage == QuestionStage::Choose);
    if !choosing {
        return edit(model, keys, key, effects);
    }
    if let Some(letter) = plain_char(key) {
        return match letter.to_digit(10).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => choose(model, digit, effects),
            None => letter_typed(model, letter, effects),
        };
    }
    match keys.action(KeyContext::Prompt, key) {
        Some(Action::Up) => select(model, false),
        Some(Action::Down) => select(model, true),
        Some(Action::Submit) => {
            if let Some(digit) = model.questions.open.as_ref().and_then(|open| open.selected) {
                choose(model, digit, effects);
            }
        }
        action => press_common(model, action, effects),
    }
}

/// Handles a key on a form.
fn press_form(model: &mut TuiModel, keys: &Keymap, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    let Some((_, waiting)) = model.questions.current() else { return };
    let input = waiting.question.input.clone();
    let frame = model.question_frame().map(|frame| (frame.tab, frame.available.clone()));
    let Some(form) = model.questions.form_mut() else { return };
    let visible = frame.filter(|(tab, _)| *tab == form.tab).map(|(_, visible)| visible);
    let outcome = form.press(keys, key, &input, visible.as_deref());
    finish_form(model, outcome, effects);
}

/// Does what a key or click on a form leads to.
pub(super) fn finish_form(
    model: &mut TuiModel,
    outcome: FormOutcome,
    effects: &mut Vec<ScreenEffect>,
) {
    match outcome {
        FormOutcome::Done => {}
        FormOutcome::Answered(given) => answer(model, given, effects),
        FormOutcome::Remark(words) => model.reply(words),
        FormOutcome::Letter(letter) => letter_typed(model, letter, effects),
        FormOutcome::Other(action) => press_common(model, action, effects),
    }
}

/// Handles a key that does the same on every question.
fn press_common(model: &mut TuiModel, action: Option<Action>, effects: &mut Vec<ScreenEffect>) {
    match action {
        Some(Action::Next) => next(model),
        Some(Action::PageUp) => page(model, false),
        Some(Action::PageDown) => page(model, true),
        Some(Action::Home) => scroll(model, isize::MIN / 2),
        Some(Action::End) => scroll(model, isize::MAX / 2),
        Some(Action::Reader) => show_in_full(model),
        Some(Action::BackgroundOrLeft) if model.composer.is_empty() => {
            picker::choose_background(model, effects);
        }
        Some(Action::Agent(number)) => go_to_agent(model, usize::from(number)),
        Some(Action::DeleteOrQuit) => model.reply(quit_words(model)),
        Some(Action::Redraw) => effects.push(ScreenEffect::Redraw),
        Some(Action::Suspend) => effects.push(ScreenEffect::Suspend),
        _ => {}
    }
}

/// Shows the question of the agent with this number, or says how to reach the agent while a question has
/// the keys.
fn go_to_agent(model: &mut TuiModel, number: usize) {
    let agents = model.agents.visible();
    let Some(agent) = agents.into_iter().find(|agent| agent.number == number) else {
        return model.reply(format!("there is no agent {number} here"));
    };
    let (path, name) = (agent.path.clone(), agent.label());
    let asked = model.questions.waiting.iter().find(|waiting| waiting.question.path == path);
    if let Some(id) = asked.map(|waiting| waiting.question.id) {
        return model.questions.show(id, true);
    }
    let key = model.keymap.hint(KeyContext::Prompt, Action::Next, "puts the question off");
    model.reply(labels::with_detail(&format!("{name} asks nothing"), key));
}

/// `a question waits · Tab puts it off, then Ctrl+D quits`.
fn quit_words(model: &TuiModel) -> String {
    let hint = |action, words| model.keymap.hint(KeyContext::Prompt, action, words);
    let keys = [hint(Action::Next, "puts it off"), hint(Action::DeleteOrQuit, "quits")];
    let keys = keys.into_iter().flatten().collect::<Vec<_>>().join(", then ");
    labels::with_detail("a question waits", Some(keys))
}

/// Gives the keys back to the question below a page or list that has closed, unless a draft has them.
pub fn uncovered(model: &mut TuiModel) {
    if model.overlay.is_some() || !model.composer.is_empty() {
        return;
    }
    let now = model.now;
    if let Some(open) = model.questions.open.as_mut().filter(|open| !open.keyboard) {
        open.keyboard = true;
        open.unread = Some(UnreadTime::new(now));
    }
}

/// Shows the content of the question on the whole screen.
fn show_in_full(model: &mut TuiModel) {
    if let Some((open, _)) = model.questions.current() {
        model.overlay = Some(Overlay::Question { id: open.id, scroll: 0 });
    }
}

/// Types a letter into the draft, which takes the keyboard; the question stays open.
fn letter_typed(model: &mut TuiModel, letter: char, effects: &mut Vec<ScreenEffect>) {
    if let Some(open) = &mut model.questions.open {
        open.keyboard = false;
        open.selected = None;
    }
    if letter == '?' && model.composer.is_empty() {
        return;
    }
    draft::type_letter(model, letter, effects);
}

/// Selects the next or previous available answer, wrapping around.
fn select(model: &mut TuiModel, down: bool) {
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

/// Tab: shows the next question; with none left, postpones all until the next Tab on the prompt.
fn next(model: &mut TuiModel) {
    if let Some(id) = model.questions.next_after_open() {
        model.questions.show(id, true);
        return;
    }
    for waiting in &mut model.questions.waiting {
        waiting.postponed = true;
    }
    // The hint shows how many are waiting, and which key shows them.
    model.questions.open = None;
}

fn page(model: &mut TuiModel, forward: bool) {
    let content = model.question_frame().map(|frame| frame.content).unwrap_or_default();
    let step = content.page_step();
    scroll(model, if forward { step } else { -step });
}

/// Scrolls the content, no further than its end. In a frame that holds back the answers, a step down
/// shows them: the end of the content was visible until the user moved on.
pub fn scroll(model: &mut TuiModel, lines: isize) {
    let Some(frame) = model.question_frame().cloned() else { return };
    let last = frame.content.last_top();
    if let Some(form) = model.questions.form_mut() {
        let top = frame.content.top.saturating_add_signed(lines).min(last);
        form.scroll = FormScroll::At(top);
        return;
    }
    let Some(open) = &mut model.questions.open else { return };
    open.scroll = open.scroll.min(last).saturating_add_signed(lines).min(last);
    if frame.end && (lines > 0 || !frame.held) {
        open.seen_width = Some(frame.width);
    }
    if frame.end && frame.held && lines > 0 {
        // The answers may take lines from the content; its end stays in view.
        open.scroll = usize::MAX;
    }
}

/// Counts the end of the content as seen if the user acts while the last frame showed it on the whole
/// screen.
pub fn mark_end_seen(model: &mut TuiModel) {
    if !matches!(model.overlay, Some(Overlay::Question { .. })) {
        return;
    }
    let seen = model.question_frame().filter(|frame| frame.end).map(|frame| frame.width);
    if let (Some(width), Some(open)) = (seen, &mut model.questions.open) {
        open.seen_width = Some(width);
        open.scroll = usize::MAX;
    }
}

fn choose(model: &mut TuiModel, digit: u8, effects: &mut Vec<ScreenEffect>) {
    if !model.answers().contains(&digit) {
        if let Some(open) = &mut model.questions.open {
            open.selected = None;
        }
        return;
    }
    let Some((_, waiting)) = model.questions.current() else { return };
    let question = &waiting.question;
    let rules = question.rules.join("\n");
    let (path, reason) = (question.path.clone(), waiting.reason.clone());
    let plan = is_plan(question).then(|| question.input.clone());
    if let (Some(input), 1..=3) = (plan, digit) {
        return match digit {
            1 => answer(model, approve_plan(input, PermissionMode::Default), effects),
            2 => answer(model, approve_plan(input, PermissionMode::AcceptEdits), effects),
            _ => edit_plan(model, &input, effects),
        };
    }
    match digit {
        1 => answer(model, Answer::Once, effects),
        2 => answer(model, Answer::Session, effects),
        3 => set_stage(model, QuestionStage::Rule(TextBuffer::from(rules.as_str()))),
        4 => set_stage(model, QuestionStage::Reason(reason)),
        _ => {
            // The cancel goes first: after the denial alone the agent would continue, and might
            // finish before the cancel arrives.
            let mut no = Vec::new();
            answer(model, Answer::No { reason: None }, &mut no);
            // The others of this agent go with it.
            model.questions.pause_until = Some(model.now + RECEIPT_TIME);
            if path.is_root() {
                stop::stop(model, effects);
            } else {
                stop::cancel(model, &path, effects);
            }
            effects.append(&mut no);
        }
    }
}

/// The answer that approves a plan, with the mode that follows.
fn approve_plan(mut input: Value, mode: PermissionMode) -> Answer {
    input["mode"] = mode.name().into();
    Answer::Allowed(Box::new(Allowance { input: Some(input), ..Allowance::default() }))
}

/// Opens the plan in the user's editor.
fn edit_plan(model: &mut TuiModel, input: &Value, effects: &mut Vec<ScreenEffect>) {
    if let Some(open) = &mut model.questions.open {
        open.editing = true;
    }
    let plan = input["plan"].as_str().unwrap_or_default().to_owned();
    effects.push(ScreenEffect::Edit(plan));
}

/// Takes the plan from the editor: it is shown again, and can then be approved. Returns false if no plan
/// was edited.
pub fn plan_edited(model: &mut TuiModel, text: Option<&str>) -> bool {
    let Some(open) = model.questions.open.as_mut().filter(|open| open.editing) else {
        return false;
    };
    open.editing = false;
    let id = open.id;
    let text = text.map(str::trim_end).filter(|text| !text.trim().is_empty());
    let waiting = model.questions.waiting.iter_mut().find(|waiting| waiting.question.id == id);
    if let (Some(text), Some(waiting)) = (text, waiting) {
        waiting.question.input["plan"] = text.into();
        (open.seen_width, open.scroll, open.selected) = (None, 0, None);
        // The last frame showed the old one.
        model.metrics.question = None;
    }
    true
}

/// Goes back from a reason or a rule to the answers. The words of a reason are there again with the next 4,
/// and a rule that was refused is gone for good.
pub fn back_to_answers(model: &mut TuiModel) {
    let Some(open) = &mut model.questions.open else { return };
    let stage = std::mem::replace(&mut open.stage, QuestionStage::Choose);
    let id = open.id;
    let waiting = model.questions.waiting.iter_mut().find(|waiting| waiting.question.id == id);
    match (stage, waiting) {
        (QuestionStage::Reason(reason), Some(waiting)) => waiting.reason = reason,
        (QuestionStage::Rule(_), Some(waiting)) => {
            waiting.refused = None;
            open.problem = None;
        }
        _ => {}
    }
}

fn set_stage(model: &mut TuiModel, stage: QuestionStage) {
    if let Some(open) = &mut model.questions.open {
        open.stage = stage;
    }
}

/// Answers the shown question. Its receipt is shown for a moment before the next one opens; an answer
/// with rules has a receipt only once they apply.
pub fn answer(model: &mut TuiModel, answer: Answer, effects: &mut Vec<ScreenEffect>) {
    let Some(open) = model.questions.open.clone() else { return };
    let id = open.id;
    let Some(waiting) = model.questions.remove(id) else { return };
    let question = &waiting.question;
    let call = labels::call_subject(&question.tool, &question.input);
    // The keys have room beside it.
    let call = truncate(&call, usize::from(model.size.0 / 3).clamp(20, 40));
    let agent = &question.agent;
    let receipt = match &answer {
        Answer::Allowed(_) if is_plan(question) => Some(format!("plan approved ({agent})")),
        Answer::No { .. } if is_plan(question) => Some(format!("plan refused ({agent})")),
        Answer::Allowed(_) if let Some(form) = &waiting.form => {
            Some(format!("answered: {} ({agent})", truncate(&one_line(&form.receipt()), 40)))
        }
        Answer::No { .. } if waiting.form.is_some() => Some(format!("not answered ({agent})")),
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
        QuestionStage::Rule(rules) => Some(rules),
        _ => None,
    };
    if is_plan(&waiting.question) && matches!(answer, Answer::No { .. }) {
        let plan = waiting.question.input["plan"].clone();
        model.questions.refused_plan = Some((waiting.question.tool_use_id.clone(), plan));
    }
    let (kept, seen_at) = (answer.clone(), open.seen_width);
    model.questions.answered.push(AnsweredQuestion {
        waiting,
        answer: kept,
        typed,
        seen_width: seen_at,
    });
    model.also_settled = 0;
    let settles_others = matches!(answer, Answer::Session | Answer::Always { .. });
    model.questions.pause_until = settles_others.then(|| model.now + RECEIPT_TIME);
    model.questions.left = Some(LeftQuestion { at: model.now, answered: true });
    model.questions.notify_at = None;
    effects.push(ScreenEffect::Send(Command::Answer { id, answer }));
}

/// Handles a key while a reason or a rule is being typed.
fn edit(model: &mut TuiModel, keys: &Keymap, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    let Some(open) = &mut model.questions.open else { return };
    let buffer = match &mut open.stage {
        QuestionStage::Reason(buffer) | QuestionStage::Rule(buffer) => buffer,
        QuestionStage::Choose => return,
    };
    if let Some(letter) = plain_char(key) {
        buffer.type_char(letter);
        return;
    }
    match keys.action(KeyContext::Prompt, key) {
        Some(Action::Submit) => finish_edit(model, effects),
        Some(Action::PasteImage) => model.reply(NO_IMAGE),
        Some(action) if !edit_text(buffer, action) => model.say(PASTE_TOO_LARGE),
        _ => {}
    }
}

fn finish_edit(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(open) = &model.questions.open else { return };
    let given = match &open.stage {
        QuestionStage::Choose => return,
        QuestionStage::Reason(reason) => {
            let reason = sanitize(reason.full_text().trim()).into_owned();
            Answer::No { reason: Some(reason).filter(|reason| !reason.is_empty()) }
        }
        QuestionStage::Rule(rules) => {
            let visible = model.question_frame().and_then(|frame| frame.rules.as_deref());
            if visible != Some(rules.text()) {
                model.reply("not written: the rule is not fully visible");
                return;
            }
            let lines = rules.text().lines().map(str::trim).filter(|line| !line.is_empty());
            Answer::Always { rules: lines.map(str::to_owned).collect(), file: RuleFile::Local }
        }
    };
    if matches!(&given, Answer::Always { rules, .. } if rules.is_empty()) {
        model.reply("no rule left to write · Esc back");
        return;
    }
    answer(model, given, effects);
}

/// Pastes into the text field of the question. Returns false when there is none.
pub fn paste(model: &mut TuiModel, text: &str) -> bool {
    let before = model.notice.clone();
    let is_pasted = paste_text(model, text);
    if is_pasted && model.notice == before && !ImagePath::parse_all(text).is_empty() {
        model.reply(NO_IMAGE);
    }
    is_pasted
}

fn paste_text(model: &mut TuiModel, text: &str) -> bool {
    if model.questions.open.as_ref().is_some_and(|open| open.keyboard)
        && let Some(form) = model.questions.form_mut()
        && let Some(fits) = form.paste(text)
    {
        if !fits {
            model.say(PASTE_TOO_LARGE);
        }
        return true;
    }
    let Some(open) = model.questions.open.as_mut().filter(|open| open.keyboard) else {
        return false;
    };
    match &mut open.stage {
        QuestionStage::Reason(buffer) => {
            if !buffer.paste(text) {
                model.say(PASTE_TOO_LARGE);
            }
        }
        QuestionStage::Rule(buffer) if buffer.text().len() + text.len() <= MAX_RULES => {
            buffer.insert(text);
        }
        QuestionStage::Rule(_) => model.say("not pasted: too long for a rule"),
        QuestionStage::Choose => {
            open.keyboard = false;
            return false;
        }
    }
    true
}
