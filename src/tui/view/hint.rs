//! The hint line: what the keys would do now, by the names that they have in the person's keymap.

use crate::tui::keymap::{Action, Context};
use crate::tui::model::overlay::{Overlay, Wish};
use crate::tui::model::question::Stage;
use crate::tui::model::{Agent, Model, QuestionFrame, Step};
use crate::tui::words;

/// What Ctrl+C and Esc would do now, and what else is at hand; the most telling first. `frame` is
/// the question in the frame that these words are for.
pub fn words(model: &Model, frame: Option<&QuestionFrame>) -> Vec<String> {
    match &model.overlay {
        Some(overlay) => overlay_hint(model, overlay),
        None => question_hint(model, frame).unwrap_or_else(|| prompt_hint(model)),
    }
}

/// Words that name no key, or one that cannot be changed.
fn fixed(words: &str) -> Option<String> {
    Some(words.to_owned())
}

fn overlay_hint(model: &Model, overlay: &Overlay) -> Vec<String> {
    let keymap = &model.keymap;
    let list = |action, words| keymap.hint(Context::List, action, words);
    let arrows = || keymap.labels(Context::List, &[Action::Up, Action::Down]);
    let pieces = match overlay {
        Overlay::Agents(shown) => return shown.keys(model),
        Overlay::Reader(reader) if reader.typing.is_some() => {
            vec![keymap.hint(Context::Prompt, Action::Submit, "searches"), fixed("Esc closes")]
        }
        Overlay::Reader(_) => return reader_hint(model),
        Overlay::Which(which) => {
            let all = match which.wish {
                Wish::Cancel => "a or Ctrl+C all",
                Wish::Background => "a all",
            };
            vec![Some(which.keys(model)), fixed(all), fixed("Esc nobody")]
        }
        Overlay::Picker(_) => {
            let take = list(Action::Submit, "take");
            vec![fixed("type to filter"), arrows(), take, fixed("Esc closes")]
        }
        Overlay::History(_) => {
            let older = keymap.label(Context::List, Action::SearchHistory);
            let moves: Vec<String> = arrows().into_iter().chain(older).collect();
            let moves = (!moves.is_empty()).then(|| moves.join(" or "));
            vec![fixed("type to search"), moves, list(Action::Submit, "take"), fixed("Esc closes")]
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

fn reader_hint(model: &Model) -> Vec<String> {
    let keymap = &model.keymap;
    let hint = |action, words| keymap.hint(Context::Reader, action, words);
    let labels = |actions: &[Action]| keymap.labels(Context::Reader, actions);
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

fn prompt_hint(model: &Model) -> Vec<String> {
    let keymap = &model.keymap;
    let hint = |action, words| keymap.hint(Context::Prompt, action, words);
    if model.composer.menu.is_some() {
        let arrows = keymap.labels(Context::Prompt, &[Action::Up, Action::Down]);
        let pieces = [
            arrows.map(|arrows| format!("{arrows} choose")),
            hint(Action::Submit, "take"),
            hint(Action::Next, "complete"),
            fixed("Esc closes"),
        ];
        return pieces.into_iter().flatten().collect();
    }
    if let Some(agent) = model.focused() {
        return focus_hint(model, agent, &model.interrupt_step());
    }
    let waiting = !model.questions.waiting.is_empty() && model.questions.open.is_none();
    let mut words = Vec::new();
    if waiting {
        let one = model.questions.waiting.len() == 1;
        let shows = hint(Action::Next, if one { "shows it" } else { "shows them" });
        words.push(words::joined(&words::waiting(model), shows));
    }
    let draft = !model.composer.is_empty();
    match outs(model) {
        Some(outs) => words.extend(outs),
        None if model.main_works() => words.push("stopping".to_owned()),
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
    if model.main_works() {
        let queues = if draft { "queues it" } else { "queues a message" };
        words.extend(hint(Action::Submit, queues));
    } else if !draft {
        words.push("? keys".to_owned());
    }
    words
}

/// What Ctrl+C and Esc do on the prompt; `None` when that is nothing of note.
fn outs(model: &Model) -> Option<Vec<String>> {
    let (interrupt, escape) = (model.interrupt_step(), model.escape_step());
    let stops = (escape == Step::Stop).then(|| match model.agents.foreground().next() {
        Some(_) => "Esc stops all".to_owned(),
        None => "Esc stops main".to_owned(),
    });
    let agents = model.keymap.hint(Context::Prompt, Action::Next, "agents");
    let pieces = match (&interrupt, &escape) {
        (Step::Stop, Step::Stop) => vec![fixed("Esc or Ctrl+C stop main")],
        (Step::ClearDraft, Step::Stop) => {
            vec![fixed("Esc stops main"), fixed("Ctrl+C clears the draft")]
        }
        (Step::ClearDraft, Step::PutBack) => vec![fixed("Esc puts it back")],
        (Step::Cancel(path), _) => {
            vec![Some(format!("Ctrl+C cancel {}", model.name(path))), stops, agents]
        }
        (Step::AskWhich, _) => vec![fixed("Ctrl+C asks which to cancel"), stops, agents],
        (Step::AlreadyCancelling(path), _) => {
            vec![Some(format!("{} is being cancelled", model.name(path))), stops]
        }
        (Step::KillShell, _) => vec![fixed("Esc or Ctrl+C kill the command")],
        _ => return None,
    };
    Some(pieces.into_iter().flatten().collect())
}

fn focus_hint(model: &Model, agent: &Agent, interrupt: &Step) -> Vec<String> {
    let hint = |action, words| model.keymap.hint(Context::Prompt, action, words);
    let cancel = match interrupt {
        Step::Cancel(_) => format!("Ctrl+C cancel {}", agent.info.name),
        Step::AlreadyCancelling(_) => format!("{} is being cancelled", agent.info.name),
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
    // The way back stays when there is little room.
    let next = next.filter(|_| model.size.0 >= 80);
    [Some(cancel), enter, next, fixed("Esc back")].into_iter().flatten().collect()
}

fn question_hint(model: &Model, frame: Option<&QuestionFrame>) -> Option<Vec<String>> {
    let (open, waiting) = model.questions.shown()?;
    let hint = |action, words| model.keymap.hint(Context::Prompt, action, words);
    let dead = frame.is_some_and(|frame| frame.live.is_empty());
    let pieces = match (&open.stage, open.keyboard) {
        (_, false) => {
            let takes = "Esc or Ctrl+C: answer the question";
            let next = model.keymap.label(Context::Prompt, Action::Next);
            let takes = next.map_or_else(|| takes.to_owned(), |key| format!("{key}, {takes}"));
            [Some(takes), hint(Action::Submit, "sends the draft")]
        }
        (Stage::Choose, true) if frame.is_some_and(|frame| frame.too_large) => {
            [fixed("too large to allow it here"), fixed("4, 5 and Esc say no")]
        }
        (Stage::Choose, true) if frame.is_some_and(QuestionFrame::cramped) => {
            [fixed("enlarge the window to allow it"), fixed("4, 5 and Esc say no")]
        }
        (Stage::Choose, true) if frame.is_some_and(|frame| frame.held && frame.end) => {
            [Some(super::dialog::shows_answers(&model.keymap)), fixed("4, 5 and Esc say no")]
        }
        (Stage::Choose, true) if dead => [
            Some(super::dialog::rest(&waiting.question, &model.keymap)),
            fixed("4, 5 and Esc say no"),
        ],
        (Stage::Choose, true) => {
            let digits = match (&waiting.question.rules[..], frame.map(|frame| &frame.live[..])) {
                ([], _) | (_, Some([1])) => "1, 4 or 5",
                (_, Some([1, 3])) => "1, 3, 4 or 5",
                (_, Some([1, 2])) => "1, 2, 4 or 5",
                _ => "1–5",
            };
            let answer = format!("{digits} answer");
            [Some(answer), fixed("typing leaves the question waiting")]
        }
        (Stage::Reason(_), true) => {
            [hint(Action::Submit, "says no with this reason"), fixed("Esc back")]
        }
        (Stage::Rule(_), true) if frame.is_some_and(|frame| frame.rules.is_none()) => {
            [fixed("enlarge the window to see the whole rule"), fixed("Esc back")]
        }
        (Stage::Rule(_), true) => [hint(Action::Submit, "writes the rule"), fixed("Esc back")],
    };
    Some(pieces.into_iter().flatten().collect())
}
