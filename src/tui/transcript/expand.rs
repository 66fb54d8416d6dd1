//! Expands and folds the output of calls in the transcript that the keys act on.

use crate::protocol::ToolDetails;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels::with_detail;
use crate::tui::layout::MAX_PROSE_WIDTH;
use crate::tui::model::TuiModel;
use crate::tui::transcript::draw::{REPORT_LINES, SHELL_LINES, is_long_prompt};
use crate::tui::transcript::tool_calls::{DIFF_LINES, preview_lines};
use crate::tui::transcript::{ItemId, ItemKind, TranscriptItem};

/// Expands or folds an item of the focused transcript. The lines above it stay where they are.
pub fn toggle(model: &mut TuiModel, id: ItemId) {
    let (extent, prose) = (model.key_extent(), prose_width(model));
    let (transcript, scroll) = match model.agents.get_mut(&model.key_target()) {
        Some(agent) => (&mut agent.transcript, &mut agent.scroll),
        None => (&mut model.main, &mut model.main_scroll),
    };
    let Some(item) = transcript.get(id).filter(|item| can_toggle(item, prose)) else { return };
    if !item.expanded && scroll.top.is_none() {
        (scroll.top, scroll.seen) = (Some(extent.top), extent.grown);
    }
    transcript.change(id, |item| item.expanded = !item.expanded);
}

/// Expands the last folded item on the screen, so that the next call goes on above it. If none is folded
/// there, folds all that are expanded, from the top of the screen on.
pub fn toggle_last(model: &mut TuiModel) {
    let transcript = model.transcript(&model.key_target());
    let (extent, ids, prose) = (model.key_extent(), transcript.ids(), prose_width(model));
    let from = extent.item.clamp(ids.start, ids.end);
    // An agent that is only a line shows nothing of its transcript.
    let end = if extent.height == 0 { from } else { extent.last.saturating_add(1) };
    let shown = from..end.clamp(from, ids.end);
    let expanded = |id: &ItemId| transcript.get(*id).is_some_and(|item| item.expanded);
    let folded = |id: &ItemId| {
        transcript.get(*id).is_some_and(|item| can_toggle(item, prose)) && !expanded(id)
    };
    if let Some(last) = shown.rev().find(folded) {
        return toggle(model, last);
    }
    let open: Vec<ItemId> = (from..ids.end).filter(expanded).collect();
    if open.is_empty() {
        let all = model.keymap.hint(KeyContext::Prompt, Action::Reader, "shows everything");
        return model.reply(with_detail("nothing to expand on the screen", all));
    }
    for id in open {
        toggle(model, id);
    }
}

/// The width of prompts in the body.
fn prose_width(model: &TuiModel) -> u16 {
    model.size.0.min(MAX_PROSE_WIDTH)
}

/// Whether an item is expanded, or hides lines while it is folded.
fn can_toggle(item: &TranscriptItem, prose: u16) -> bool {
    let longer = |text: &str, lines: usize| text.trim().lines().nth(lines).is_some();
    let hides = match &item.kind {
        ItemKind::Thinking { text, .. } => longer(text, 0),
        ItemKind::Prompt { text, task: false } => is_long_prompt(text, prose),
        ItemKind::Report { text, .. } => longer(text, REPORT_LINES),
        ItemKind::Shell { text, .. } => longer(text, SHELL_LINES),
        ItemKind::Tools(calls) => calls.iter().any(|call| {
            let details = call.result.as_ref().and_then(|result| result.details.as_ref());
            match details {
                Some(ToolDetails::Diff { diff, .. }) => longer(diff, DIFF_LINES),
                _ if preview_lines(call, true) == 0 => false,
                _ => match preview_lines(call, false) {
                    0 => longer(&call.output, 0),
                    // A single line more is shown.
                    kept => longer(&call.output, kept + 1),
                },
            }
        }),
        _ => false,
    };
    is_foldable(item, prose) && (item.expanded || hides)
}

/// Whether an item has a part that can be folded, where prompts are this wide.
pub fn is_foldable(item: &TranscriptItem, prose: u16) -> bool {
    match &item.kind {
        ItemKind::Thinking { .. } | ItemKind::Report { .. } | ItemKind::Shell { .. } => true,
        ItemKind::Prompt { text, task } => !task && is_long_prompt(text, prose),
        ItemKind::Tools(calls) => calls.iter().any(|call| {
            let details = call.result.as_ref().and_then(|result| result.details.as_ref());
            match details {
                Some(ToolDetails::Todos { .. }) => false,
                Some(ToolDetails::Diff { .. }) => true,
                _ => !call.output.trim().is_empty(),
            }
        }),
        _ => false,
    }
}
