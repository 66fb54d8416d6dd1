//! Clicks on a question: on its answers, on the rows of a form, and on its tabs.

use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::question::update::finish_form;

/// Handles a click on an answer: the question takes the keyboard, and the answer is selected if it is
/// available. Otherwise nothing is selected, so that Enter does not give an earlier choice.
pub fn click_answer(model: &mut TuiModel, digit: u8, effects: &mut Vec<ScreenEffect>) {
    if model.questions.form().is_some() {
        return click_form(model, digit, effects);
    }
    let can = model.answers().contains(&digit);
    if let Some(open) = &mut model.questions.open {
        open.keyboard = true;
        open.selected = can.then_some(digit);
    }
}

fn click_form(model: &mut TuiModel, digit: u8, effects: &mut Vec<ScreenEffect>) {
    let row = usize::from(digit);
    let again = model.keys.click(row, 0) && !model.questions.is_unread();
    let Some((_, waiting)) = model.questions.current() else { return };
    let input = waiting.question.input.clone();
    let frame = model.question_frame().map(|frame| (frame.tab, frame.available.clone()));
    take_keyboard(model);
    let Some(form) = model.questions.form_mut() else { return };
    let visible = frame.filter(|(tab, _)| *tab == form.tab).map(|(_, visible)| visible);
    let outcome = form.click(digit, again, &input, visible.as_deref().unwrap_or_default());
    if again {
        model.keys.clicked = None;
    }
    finish_form(model, outcome, effects);
}

/// Handles a click on a tab of a form.
pub fn click_tab(model: &mut TuiModel, tab: usize) {
    model.keys.clicked = None;
    take_keyboard(model);
    if let Some(form) = model.questions.form_mut() {
        form.show_tab(tab);
    }
}

fn take_keyboard(model: &mut TuiModel) {
    if let Some(open) = &mut model.questions.open {
        open.keyboard = true;
    }
}
