//! The hint line: what the keys would do now, as the user's keymap names them, and notices.

use ratatui::text::{Line, Span};

use crate::tui::first_run::draw as first_run;
use crate::tui::format::count;
use crate::tui::interrupt::{self, InterruptAction};
use crate::tui::keymap::{Action, KeyContext, fixed_hint};
use crate::tui::model::{Metrics, TuiModel};
use crate::tui::overlay::Overlay;
use crate::tui::page::{draw as page, work};
use crate::tui::paint::{Painter, two_ends};
use crate::tui::picker::draw as picker;
use crate::tui::question::draw::BACK_TO_ANSWERS;
use crate::tui::question::hint as question;
use crate::tui::text::{truncate, width};
use crate::tui::{focus, labels, slash};

/// Maximum clauses of the hints on the prompt, of which one piece may have two.
const MAX_CLAUSES: usize = 3;

/// Cells between the keys and a notice beside them, including the blanks at the edges.
const NOTICE_GAP: usize = 5;

/// Hints for Ctrl+C, Esc and other keys, most important first. The sizes are those of the frame being
/// drawn.
fn hint_pieces(model: &TuiModel, metrics: &Metrics) -> Vec<String> {
    let frame = metrics.question.as_ref();
    match &model.overlay {
        Some(overlay) => overlay_hint(model, overlay, metrics),
        None => {
            question::hint(model, frame).filter(|_| !menu_has_keys(model)).unwrap_or_else(|| {
                let mut clauses = 0;
                let mut pieces = prompt_hint(model);
                pieces.retain(|piece| {
                    clauses += piece.split(" · ").count();
                    clauses <= MAX_CLAUSES
                });
                pieces
            })
        }
    }
}

/// Whether the keys go to the completion menu: it is open, and no question has the keyboard.
fn menu_has_keys(model: &TuiModel) -> bool {
    let asked = model.questions.open.as_ref().is_some_and(|open| open.keyboard);
    model.composer.menu.is_some() && !asked
}

/// Hints for the keys of an overlay, most important first.
fn overlay_hint(model: &TuiModel, overlay: &Overlay, metrics: &Metrics) -> Vec<String> {
    match overlay {
        Overlay::Agents(list) => list.hint(model),
        Overlay::Picker(_) => picker::hint(model),
        Overlay::Help { .. } => page::hint(model, metrics.page, "Esc closes"),
        Overlay::Page(opened) => {
            let keys = page::hint(model, metrics.page, "Esc closes");
            work::hint(opened).into_iter().chain(keys).collect()
        }
        Overlay::Question { .. } => page::hint(model, metrics.page, BACK_TO_ANSWERS),
        Overlay::History(_) => picker::history_hint(model),
        Overlay::Reader(reader) => reader.hint(&model.keymap),
        Overlay::AgentPicker(which) => which.hint(model),
    }
}

fn prompt_hint(model: &TuiModel) -> Vec<String> {
    let keymap = &model.keymap;
    let hint = |action, words| keymap.hint(KeyContext::Prompt, action, words);
    if model.composer.menu.is_some() {
        let arrows = keymap.labels(KeyContext::Prompt, &[Action::Up, Action::Down]);
        let pieces = [
            // With a question below the list, it matters more what Esc closes.
            arrows
                .filter(|_| model.questions.open.is_none())
                .map(|arrows| format!("{arrows} choose")),
            hint(Action::Submit, "selects"),
            hint(Action::Next, "complete"),
            fixed_hint("Esc closes"),
        ];
        return pieces.into_iter().flatten().collect();
    }
    if model.escape_action() == InterruptAction::EndSelection {
        let interrupt = match model.interrupt_action() {
            InterruptAction::Cancel(path) => Some(format!("Ctrl+C cancels {}", model.label(&path))),
            InterruptAction::ClearDraft => fixed_hint("Ctrl+C clears the draft"),
            InterruptAction::KillShell => fixed_hint("Ctrl+C kills the command"),
            InterruptAction::PickAgent => fixed_hint("Ctrl+C asks which to cancel"),
            _ => None,
        };
        let pieces =
            [fixed_hint("Esc ends the selection"), interrupt, fixed_hint("typing replaces it")];
        return pieces.into_iter().flatten().collect();
    }
    if let Some(first) = model.session.first_run.as_ref().filter(|_| model.shows_setup()) {
        return first_run::hint(model, first);
    }
    if model.session.read_only && model.focused().is_none() {
        let words = match model.session.growth.left {
            true => "resumes it here",
            false => "continues in a copy, as --fork-session does",
        };
        let copies = hint(Action::Submit, words);
        let pieces = [copies, fixed_hint("/resume another"), fixed_hint("Ctrl+D quits")];
        return pieces.into_iter().flatten().collect();
    }
    if let Some(agent) = model.focused() {
        return focus::hint(model, agent, &model.interrupt_action());
    }
    let waiting = !model.questions.waiting.is_empty() && model.questions.open.is_none();
    let mut words = Vec::new();
    if waiting {
        let one = model.questions.waiting.len() == 1;
        let shows = hint(Action::Next, if one { "shows it" } else { "shows them" });
        words.push(labels::with_detail(&labels::waiting_label(model), shows));
    }
    let draft = !model.composer.is_empty();
    match interrupt::hint(model) {
        Some(ways) => words.extend(ways),
        None if model.main_is_busy() => words.push("stopping".to_owned()),
        None if draft => {
            let runs = model.composer.is_shell_line();
            let no_model = model.session.first_run.is_some() && slash::builtin(model).is_none();
            match (runs, no_model) {
                (true, _) => words.extend(hint(Action::Submit, "runs it")),
                (false, true) => words.push("no model yet".to_owned()),
                (false, false) => words.extend(hint(Action::Submit, "sends")),
            }
            words.push("Ctrl+C clears the draft".to_owned());
            words.extend(hint(Action::Newline, "new line"));
        }
        None => {
            let mut jobs = model.jobs.strip();
            let output = jobs.next().map(|job| match jobs.next() {
                None => format!("/agents shows {}", job.id),
                Some(_) => "/agents shows the commands".to_owned(),
            });
            let pieces = [
                fixed_hint("? keys"),
                output.is_none().then(|| hint(Action::Previous, "mode")).flatten(),
                output,
                hint(Action::DeleteOrQuit, "quits"),
            ];
            return pieces.into_iter().flatten().collect();
        }
    }
    if model.main_is_busy() {
        let queues = match draft {
            true if model.composer.is_shell_line() => Some("runs it"),
            true => match slash::builtin(model) {
                Some(name) if slash::WAITS.contains(&name) => None,
                Some(_) => Some("runs it"),
                None => Some("queues it"),
            },
            // On the empty prompt, it acts on what waits already.
            false if model.queue.has_waiting() => None,
            false => Some("queues a message"),
        };
        words.extend(queues.and_then(|queues| hint(Action::Submit, queues)));
    }
    if words.is_empty() || !draft && !model.main_is_busy() {
        words.push("? keys".to_owned());
    }
    words
}

/// The hint line: the hints for the keys, and the current notice at the right end. If both do not fit, a
/// question's keys take precedence over the notice, and the notice over all other keys.
pub fn draw(model: &TuiModel, metrics: &Metrics, room: u16, painter: Painter<'_>) -> Line<'static> {
    let theme = painter.theme;
    let room = usize::from(room);
    let alone =
        |text: &str, style| Line::styled(truncate(&format!(" {text}"), room).into_owned(), style);
    if model.closing {
        return alone(&closing_words(model), theme.question);
    }
    let pieces = hint_pieces(model, metrics);
    let Some(notice) = &model.notice else { return alone(&fitting(&pieces, room), theme.dim) };
    let notice = &notice.text;
    let beside = room.saturating_sub(width(notice) + NOTICE_GAP);
    let first = pieces.first().map_or(0, |piece| width(piece) + 2);
    if first == 0 || first > beside {
        let asked = model.overlay.is_none() && model.questions.open.is_some();
        return match asked {
            true => alone(&fitting(&pieces, room), theme.dim),
            false => alone(notice, theme.accent),
        };
    }
    let keys = Span::styled(format!(" {}", fitting(&pieces, beside)), theme.dim);
    let notice = Span::styled(format!("{notice} "), theme.accent);
    two_ends(vec![keys], vec![notice], room, None)
}

/// Joins as many pieces as fit, from the first on.
fn fitting(pieces: &[String], room: usize) -> String {
    let mut text = String::new();
    for piece in pieces {
        let longer = if text.is_empty() { piece.clone() } else { format!("{text} · {piece}") };
        if width(&longer) + 2 > room && !text.is_empty() {
            break;
        }
        text = longer;
    }
    text
}

fn closing_words(model: &TuiModel) -> String {
    let commands = model.run.tools.len()
        + usize::from(model.shell.is_some())
        + model.jobs.alive().count()
        + model.agents.alive().map(|agent| agent.run.tools.len()).sum::<usize>();
    if commands == 0 {
        return "closing · Ctrl+C quits now".to_owned();
    }
    let verb = if commands == 1 { "is" } else { "are" };
    format!("closing: {} {verb} still stopping · Ctrl+C quits now", count(commands, "command"))
}
