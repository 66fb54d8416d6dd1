//! The hint line: what the keys would do now, as the user's keymap names them.

use crate::tui::agents::AgentState;
use crate::tui::interrupt::InterruptAction;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::overlay::{AgentAction, Overlay};
use crate::tui::question::{QuestionFrame, QuestionStage, draw};

/// Hints for Ctrl+C, Esc and other keys, most important first. `frame` is the question in the frame
/// being drawn.
pub fn hint_pieces(model: &TuiModel, frame: Option<&QuestionFrame>) -> Vec<String> {
    match &model.overlay {
        Some(overlay) => overlay_hint(model, overlay),
        None => question_hint(model, frame).unwrap_or_else(|| prompt_hint(model)),
    }
}

/// A hint without a key, or with one that cannot be rebound.
fn fixed(words: &str) -> Option<String> {
    Some(words.to_owned())
}

fn overlay_hint(model: &TuiModel, overlay: &Overlay) -> Vec<String> {
    let keymap = &model.keymap;
    let list = |action, words| keymap.hint(KeyContext::List, action, words);
    let arrows = || keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
    let pieces = match overlay {
        Overlay::Agents(shown) => return shown.key_hints(model),
        Overlay::Reader(reader) if reader.typing.is_some() => {
            vec![keymap.hint(KeyContext::Prompt, Action::Submit, "searches"), fixed("Esc closes")]
        }
        Overlay::Reader(_) => return reader_hint(model),
        Overlay::AgentPicker(which) => {
            let all = match which.action {
                AgentAction::Cancel => "a or Ctrl+C all",
                AgentAction::Background => "a all",
            };
            vec![Some(which.key_hints(model)), fixed(all), fixed("Esc none")]
        }
        Overlay::Picker(_) => {
            let take = list(Action::Submit, "selects");
            vec![fixed("type to filter"), arrows(), take, fixed("Esc closes")]
        }
        Overlay::History(_) => {
            let older = keymap.label(KeyContext::List, Action::SearchHistory);
            let moves: Vec<String> = arrows().into_iter().chain(older).collect();
            let moves = (!moves.is_empty()).then(|| moves.join(" or "));
            vec![
                fixed("type to search"),
                moves,
                list(Action::Submit, "selects"),
                fixed("Esc closes"),
            ]
        }
        Overlay::Question { .. } => {
            vec![arrows().map(|arrows| format!("{arrows} scroll")), fixed("Esc back")]
        }
        Overlay::Help { .. } | Overlay::Page { .. } => {
            vec![arrows().map(|arrows| format!("{arrows} scroll")), fixed("Esc closes")]
        }
    };
    pieces.into_iter().flatten().collect()
}

fn reader_hint(model: &TuiModel) -> Vec<String> {
    let keymap = &model.keymap;
    let hint = |action, words| keymap.hint(KeyContext::Reader, action, words);
    let labels = |actions: &[Action]| keymap.labels(KeyContext::Reader, actions);
    let moves: Vec<String> = [
        [Action::Down, Action::Up],
        [Action::PageDown, Action::PageUp],
        [Action::Home, Action::End],
    ]
    .iter()
    .filter_map(|pair| labels(pair))
    .collect();
    let finds = labels(&[Action::FindNext, Action::FindPrevious]);
    let search = hint(Action::Search, "search");
    let search = search.into_iter().chain(finds).collect::<Vec<_>>().join(", ");
    let marks = labels(&[Action::MarkPrevious, Action::MarkNext]);
    let pieces = [
        Some(moves.join(", ")).filter(|words| !words.is_empty()),
        Some(search).filter(|words| !words.is_empty()),
        marks.map(|keys| format!("{keys} jump")),
        hint(Action::Expand, "expand"),
        hint(Action::Copy, "copy"),
        hint(Action::Next, "next agent"),
        fixed("Esc back"),
    ];
    pieces.into_iter().flatten().collect()
}

fn prompt_hint(model: &TuiModel) -> Vec<String> {
    let keymap = &model.keymap;
    let hint = |action, words| keymap.hint(KeyContext::Prompt, action, words);
    if model.composer.menu.is_some() {
        let arrows = keymap.labels(KeyContext::Prompt, &[Action::Up, Action::Down]);
        let pieces = [
            arrows.map(|arrows| format!("{arrows} choose")),
            hint(Action::Submit, "selects"),
            hint(Action::Next, "complete"),
            fixed("Esc closes"),
        ];
        return pieces.into_iter().flatten().collect();
    }
    if let Some(agent) = model.focused() {
        return focus_hint(model, agent, &model.interrupt_action());
    }
    let waiting = !model.questions.waiting.is_empty() && model.questions.open.is_none();
    let mut words = Vec::new();
    if waiting {
        let one = model.questions.waiting.len() == 1;
        let shows = hint(Action::Next, if one { "shows it" } else { "shows them" });
        words.push(labels::with_detail(&labels::waiting_label(model), shows));
    }
    let draft = !model.composer.is_empty();
    match interrupt_hint(model) {
        Some(outs) => words.extend(outs),
        None if model.main_is_busy() => words.push("stopping".to_owned()),
        None if draft => {
            words.extend(hint(Action::Submit, "sends"));
            words.push("Ctrl+C clears the draft".to_owned());
            words.extend(hint(Action::Newline, "new line"));
        }
        None => {
            let pieces = [
                fixed("? keys"),
                hint(Action::Previous, "mode"),
                hint(Action::DeleteOrQuit, "quits"),
            ];
            return pieces.into_iter().flatten().collect();
        }
    }
    if model.main_is_busy() {
        let queues = if draft { "queues it" } else { "queues a message" };
        words.extend(hint(Action::Submit, queues));
    } else if !draft {
        words.push("? keys".to_owned());
    }
    words
}

/// Hints for Ctrl+C and Esc on the prompt; `None` if they do nothing notable.
fn interrupt_hint(model: &TuiModel) -> Option<Vec<String>> {
    let (interrupt, escape) = (model.interrupt_action(), model.escape_action());
    let stops = (escape == InterruptAction::Stop).then(|| match model.agents.foreground().next() {
        Some(_) => "Esc stops all".to_owned(),
        None => "Esc stops main".to_owned(),
    });
    let agents = model.keymap.hint(KeyContext::Prompt, Action::Next, "agents");
    let pieces = match (&interrupt, &escape) {
        (InterruptAction::Stop, InterruptAction::Stop) => vec![fixed("Esc to stop")],
        (InterruptAction::ClearDraft, InterruptAction::Stop) => {
            vec![fixed("Esc stops main"), fixed("Ctrl+C clears the draft")]
        }
        (InterruptAction::ClearDraft, InterruptAction::Requeue) => vec![fixed("Esc puts it back")],
        (InterruptAction::Cancel(path), _) => {
            vec![Some(format!("Ctrl+C cancels {}", model.name(path))), stops, agents]
        }
        (InterruptAction::PickAgent, _) => {
            vec![fixed("Ctrl+C asks which to cancel"), stops, agents]
        }
        (InterruptAction::AlreadyCancelling(path), _) => {
            vec![Some(format!("{} is being cancelled", model.name(path))), stops]
        }
        (InterruptAction::KillShell, _) => vec![fixed("Esc or Ctrl+C kills the command")],
        _ => return None,
    };
    Some(pieces.into_iter().flatten().collect())
}

fn focus_hint(model: &TuiModel, agent: &AgentState, interrupt: &InterruptAction) -> Vec<String> {
    let hint = |action, words| model.keymap.hint(KeyContext::Prompt, action, words);
    let cancel = match interrupt {
        InterruptAction::Cancel(_) => format!("Ctrl+C cancels {}", agent.info.name),
        InterruptAction::AlreadyCancelling(_) => format!("{} is being cancelled", agent.info.name),
        _ => format!("{} has ended", agent.info.name),
    };
    let several = model.agents.visible().len() > 1;
    let next = hint(Action::Next, "next").filter(|_| several);
    if model.zoom {
        let reads = hint(Action::Reader, "read and search");
        let pieces = [fixed("Esc all agents"), next, Some(cancel), reads];
        return pieces.into_iter().flatten().collect();
    }
    let enter = match (model.composer.is_empty(), agent.alive()) {
        (true, _) => hint(Action::Submit, "zoom"),
        (false, true) => hint(Action::Submit, "sends it there"),
        (false, false) => {
            hint(Action::Submit, "sends it to main").map(|sends| format!("Esc, then {sends}"))
        }
    };
    // Keep "Esc back" when there is little room.
    let next = next.filter(|_| model.size.0 >= 80);
    [Some(cancel), enter, next, fixed("Esc back")].into_iter().flatten().collect()
}

fn question_hint(model: &TuiModel, frame: Option<&QuestionFrame>) -> Option<Vec<String>> {
    let (open, waiting) = model.questions.shown()?;
    let hint = |action, words| model.keymap.hint(KeyContext::Prompt, action, words);
    let dead = frame.is_some_and(|frame| frame.available.is_empty());
    let pieces = match (&open.stage, open.keyboard) {
        (_, false) => {
            let takes = "Esc or Ctrl+C: answer the question";
            let next = model.keymap.label(KeyContext::Prompt, Action::Next);
            let takes = next.map_or_else(|| takes.to_owned(), |key| format!("{key}, {takes}"));
            [Some(takes), hint(Action::Submit, "sends the draft")]
        }
        (QuestionStage::Choose, true) if frame.is_some_and(|frame| frame.too_large) => {
            [fixed("too large to allow it here"), fixed("4, 5 and Esc say no")]
        }
        (QuestionStage::Choose, true) if frame.is_some_and(QuestionFrame::cramped) => {
            [fixed("enlarge the window to allow it"), fixed("4, 5 and Esc say no")]
        }
        (QuestionStage::Choose, true) if frame.is_some_and(|frame| frame.held && frame.end) => {
            [Some(draw::answers_hint(&model.keymap)), fixed("4, 5 and Esc say no")]
        }
        (QuestionStage::Choose, true) if dead => {
            [Some(draw::rest_hint(&waiting.question, &model.keymap)), fixed("4, 5 and Esc say no")]
        }
        (QuestionStage::Choose, true) => {
            let digits =
                match (&waiting.question.rules[..], frame.map(|frame| &frame.available[..])) {
                    ([], _) | (_, Some([1])) => "1, 4 or 5",
                    (_, Some([1, 3])) => "1, 3, 4 or 5",
                    (_, Some([1, 2])) => "1, 2, 4 or 5",
                    _ => "1–5",
                };
            let answer = format!("{digits} answer");
            [Some(answer), fixed("typing leaves the question waiting")]
        }
        (QuestionStage::Reason(_), true) => {
            [hint(Action::Submit, "says no with this reason"), fixed("Esc back")]
        }
        (QuestionStage::Rule(_), true) if frame.is_some_and(|frame| frame.rules.is_none()) => {
            [fixed("enlarge the window to see the whole rule"), fixed("Esc back")]
        }
        (QuestionStage::Rule(_), true) => {
            [hint(Action::Submit, "writes the rule"), fixed("Esc back")]
        }
    };
    Some(pieces.into_iter().flatten().collect())
}
