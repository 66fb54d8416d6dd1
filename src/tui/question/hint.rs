//! Hints for the keys on the open question, in its border and on the hint line.

use crate::protocol::Question;
use crate::tui::format::count;
use crate::tui::keymap::{Action, KeyContext, Keymap, fixed_hint};
use crate::tui::layout;
use crate::tui::model::TuiModel;
use crate::tui::question::form::AnswerForm;
use crate::tui::question::{
    NO_DIGIT, QuestionFrame, QuestionQueue, QuestionStage, WaitingQuestion, is_plan,
};
use crate::tui::text::width;

/// The hint while keys are not meant for the question yet.
const UNREAD_HINT: &str = "answers work in a moment";

/// The hint about other keys than those of the answers.
const TYPING_HINT: &str = "typing leaves the question waiting";

/// Hints for the hint line; `None` if no question is shown. `frame` is the question in the frame being
/// drawn.
pub fn hint(model: &TuiModel, frame: Option<&QuestionFrame>) -> Option<Vec<String>> {
    let (open, waiting) = model.questions.current()?;
    let hint = |action, words| model.keymap.hint(KeyContext::Prompt, action, words);
    // A draft takes the keys at once.
    if model.questions.is_unread() && open.keyboard {
        return Some(vec![UNREAD_HINT.to_owned()]);
    }
    if let Some(form) = waiting.form.as_deref().filter(|_| open.keyboard) {
        return Some(form_hint(model, form));
    }
    let dead = frame.is_some_and(|frame| frame.available.is_empty());
    let pieces = match (&open.stage, open.keyboard) {
        (_, false) => {
            let takes = "Esc or Ctrl+C: to the question";
            let next = model.keymap.label(KeyContext::Prompt, Action::Next);
            let takes = next.map_or_else(|| takes.to_owned(), |key| format!("{key}, {takes}"));
            let sends = hint(Action::Submit, "sends the draft");
            [Some(takes), sends.filter(|_| !model.composer.is_empty())]
        }
        (QuestionStage::Choose, true) if frame.is_some_and(|frame| frame.too_large) => {
            [fixed_hint("too large to allow it here"), fixed_hint("4, 5 and Esc say no")]
        }
        (QuestionStage::Choose, true) if frame.is_some_and(QuestionFrame::cramped) => {
            [fixed_hint("enlarge the window to allow it"), fixed_hint("4, 5 and Esc say no")]
        }
        (QuestionStage::Choose, true) if frame.is_some_and(|frame| frame.held && frame.end) => {
            [Some(answers_hint(&model.keymap)), fixed_hint("4, 5 and Esc say no")]
        }
        (QuestionStage::Choose, true) if dead => {
            let held = frame.is_some_and(|frame| frame.held);
            let rest = rest_hint(&waiting.question, held, &model.keymap);
            [Some(rest), fixed_hint("4, 5 and Esc say no")]
        }
        (QuestionStage::Choose, true) => {
            let digits =
                match (&waiting.question.rules[..], frame.map(|frame| &frame.available[..])) {
                    ([], _) if !is_plan(&waiting.question) => "1, 4 or 5",
                    (_, Some([1])) => "1, 4 or 5",
                    (_, Some([1, 3])) => "1, 3, 4 or 5",
                    (_, Some([1, 2])) => "1, 2, 4 or 5",
                    _ => "1–5",
                };
            let answer = Some(format!("{digits} answer"));
            let enter = hint(Action::Submit, "gives the marked answer");
            match enter.filter(|_| open.selected.is_some()) {
                Some(enter) => [Some(enter), answer],
                None => [answer, fixed_hint(TYPING_HINT)],
            }
        }
        (QuestionStage::Reason(_), true) => {
            [hint(Action::Submit, "says no with this reason"), fixed_hint("Esc back")]
        }
        (QuestionStage::Rule(_), true) if frame.is_some_and(|frame| frame.rules.is_none()) => {
            [fixed_hint("enlarge the window to see the whole rule"), fixed_hint("Esc back")]
        }
        (QuestionStage::Rule(_), true) => {
            [hint(Action::Submit, "writes the rule"), fixed_hint("Esc back")]
        }
    };
    let covers = open.keyboard
        && open.stage == QuestionStage::Choose
        && frame.is_some_and(|frame| frame.covers)
        && model.questions.next_after_open().is_none();
    let uncovers = hint(Action::Next, "shows what it covers").filter(|_| covers);
    // Typing is said in the border.
    let pieces = pieces.into_iter().flatten().filter(|piece| !covers || *piece != TYPING_HINT);
    Some(pieces.chain(uncovers).collect())
}

/// The hints in the question's lower border, without the last ones if not all fit; `names_esc` if the answers
/// have Esc among them.
pub fn footer(model: &TuiModel, drawn: &QuestionFrame, names_esc: bool, room: u16) -> String {
    let Some((open, WaitingQuestion { question, .. })) = model.questions.current() else {
        return String::new();
    };
    let keymap = &*model.keymap;
    let hint = |action, words| keymap.hint(KeyContext::Prompt, action, words);
    let words = match (&open.stage, open.keyboard) {
        (_, false) => {
            let key = keymap.label(KeyContext::Prompt, Action::Next);
            [key.map(|key| format!("{key}: answer")), fixed_hint("typing edits the draft"), None]
        }
        (QuestionStage::Choose, true) if drawn.too_large => {
            [fixed_hint("too large to allow it here"), None, None]
        }
        (QuestionStage::Choose, true) if drawn.cramped() => {
            [fixed_hint("too small to allow it"), None, None]
        }
        (QuestionStage::Choose, true) if drawn.held && drawn.end => {
            [Some(answers_hint(keymap)), fixed_hint("Esc no"), hint(Action::Reader, "in full")]
        }
        (QuestionStage::Choose, true) if !drawn.clipped.is_empty() => {
            [Some(cut_hint(drawn)), fixed_hint("Esc no"), hint(Action::Reader, "in full")]
        }
        (QuestionStage::Choose, true) if drawn.available.is_empty() => {
            let below = drawn.call.saturating_sub(drawn.content.top + drawn.content.height);
            let below = match below {
                0 => "⋮ the reason is below".to_owned(),
                lines => format!("⋮ {} and the reason below", count(lines, "line")),
            };
            let (width, height) = model.size;
            // Otherwise the hint line has the keys.
            let keys = layout::is_tiny(width, height);
            let keys = keys.then(|| rest_hint(question, drawn.held, keymap));
            [Some(below), keys, None]
        }
        (QuestionStage::Choose, true) => {
            let no = fixed_hint("Esc no").filter(|_| !names_esc);
            let more = model.questions.next_after_open().is_some();
            let next = hint(Action::Next, if more { "next" } else { "later" });
            [no, next, hint(Action::Reader, "in full")]
        }
        (QuestionStage::Reason(_), true) => {
            [hint(Action::Submit, "says no"), fixed_hint("Esc back"), None]
        }
        (QuestionStage::Rule(_), true) if drawn.rules.is_none() => {
            [fixed_hint("too small to show the rule"), fixed_hint("Esc back"), None]
        }
        (QuestionStage::Rule(_), true) => {
            [hint(Action::Submit, "writes"), fixed_hint("Esc back"), None]
        }
    };
    fitting(words.to_vec(), room)
}

/// Joins hints for a border, without the last ones if not all fit.
fn fitting(mut pieces: Vec<Option<String>>, room: u16) -> String {
    loop {
        let words = pieces.iter().flatten().cloned().collect::<Vec<_>>().join(" · ");
        if width(&words) + 6 <= usize::from(room) || pieces.pop().is_none() {
            return words;
        }
    }
}

/// Hints for the hint line while a form has the keyboard.
fn form_hint(model: &TuiModel, form: &AnswerForm) -> Vec<String> {
    let enter = |words| model.keymap.hint(KeyContext::Prompt, Action::Submit, words);
    let goes_on = if form.has_summary() { "goes on" } else { "answers" };
    let pieces = match form.current() {
        None => [enter("sends the answers"), fixed_hint("a digit changes that answer")],
        Some(question) if question.is_typing() => {
            [enter(goes_on), fixed_hint("Esc leaves the text field")]
        }
        Some(question) => {
            let does = if question.asked.multi_select { "tick" } else { "choose" };
            let digits = format!("1–{} {does}", question.text_row() + 1);
            [Some(digits), fixed_hint("typing leaves the question waiting")]
        }
    };
    pieces.into_iter().flatten().collect()
}

/// The hints in a form's lower border, without the least important if not all fit.
pub fn form_footer(model: &TuiModel, form: &AnswerForm, keyboard: bool, room: u16) -> String {
    let keymap = &model.keymap;
    let hint = |action, words| keymap.hint(KeyContext::Prompt, action, words);
    if !keyboard {
        let key = keymap.label(KeyContext::Prompt, Action::Next);
        let key = key.map(|key| format!("{key}: answer · "));
        return format!("{}typing edits the draft", key.unwrap_or_default());
    }
    let goes_on = if form.has_summary() { "goes on" } else { "answers" };
    let arrows = keymap.labels(KeyContext::Prompt, &[Action::Left, Action::Right]);
    let turns = arrows.filter(|_| form.has_summary()).map(|keys| format!("{keys} questions"));
    let more = model.questions.next_after_open().is_some();
    let next = hint(Action::Next, if more { "next" } else { "later" });
    let declines = fixed_hint("Esc declines");
    let mut pieces = match form.current() {
        None => vec![hint(Action::Submit, "sends"), declines, turns, next],
        Some(question) if question.is_typing() => {
            let rows = keymap.labels(KeyContext::Prompt, &[Action::Up, Action::Down]);
            let rows = rows.map(|keys| format!("{keys} options"));
            vec![hint(Action::Submit, goes_on), rows, fixed_hint("Esc back")]
        }
        Some(question) if question.asked.multi_select => {
            let ticks = fixed_hint("Space ticks");
            vec![ticks, hint(Action::Submit, goes_on), declines, turns, next]
        }
        Some(_) => vec![declines, hint(Action::Submit, goes_on), turns, next],
    };
    let choosing = form.current().filter(|question| !question.is_typing());
    let previews = choosing.is_some_and(|question| {
        let mut options = question.asked.options.iter();
        options.any(|option| option.preview.as_deref().is_some_and(|text| !text.trim().is_empty()))
    });
    if previews {
        pieces.insert(0, hint(Action::Reader, "previews"));
    }
    fitting(pieces, room)
}

/// `End shows the answers`.
fn answers_hint(keymap: &Keymap) -> String {
    let keys = [Action::End, Action::PageDown];
    let key = keys.into_iter().find_map(|action| keymap.label(KeyContext::Prompt, action));
    format!("{} shows the answers", key.as_deref().unwrap_or("the wheel"))
}

/// `2 and 3 do not fit here; 1 works`.
fn cut_hint(drawn: &QuestionFrame) -> String {
    let list = |digits: &[u8]| {
        let digits: Vec<String> = digits.iter().map(u8::to_string).collect();
        digits.join(" and ")
    };
    let fit = if drawn.clipped.len() == 1 { "does not fit" } else { "do not fit" };
    let work = if drawn.available.len() == 1 { "works" } else { "work" };
    format!("{} {fit} here; {} {work}", list(&drawn.clipped), list(&drawn.available))
}

/// `PgDn or End shows the rest · then 1–3`; without a rule, 1 is the only yes. Answers that are `held`
/// back come after another press.
fn rest_hint(question: &Question, held: bool, keymap: &Keymap) -> String {
    let keys = [Action::PageDown, Action::End];
    let keys: Vec<String> =
        keys.into_iter().filter_map(|action| keymap.label(KeyContext::Prompt, action)).collect();
    let keys = if keys.is_empty() { "the wheel".to_owned() } else { keys.join(" or ") };
    if held {
        return format!("{keys} shows the rest, then answers");
    }
    let last = QuestionQueue::choices(question).iter().filter(|digit| **digit < NO_DIGIT).max();
    let yes = match last {
        None | Some(1) => "1".to_owned(),
        Some(last) => format!("1–{last}"),
    };
    format!("{keys} shows the rest · then {yes}")
}
