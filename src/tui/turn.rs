//! The end of a turn of main: how it ended, and what it brought: agents, changed files, tests,
//! tokens and cost.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::protocol::{Failure, RAISE_BUDGET, RunEnd, RunOutcome, without_retry_advice};
use crate::tui::agents::{AgentSet, AgentState, HISTORY_START, RunState};
use crate::tui::format::{clock, count, money, tokens};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::theme::Glyph;
use crate::tui::transcript::{FinishFact, ItemKind};

/// The agents that have worked for the current or last turn, also those that have gone on in the
/// background from it.
pub fn agents(model: &TuiModel) -> impl Iterator<Item = &AgentState> {
    let began = model.run.started.unwrap_or_default();
    // A stored history has later times than everything since.
    let is_history = |at: Duration| at >= HISTORY_START;
    let mut members = HashSet::new();
    for id in &model.turn_batches {
        if let Some(ItemKind::Batch { members: own, .. }) = model.main.get(*id).map(|it| &it.kind) {
            members.extend(own);
        }
    }
    model.agents.iter().map(AgentState::in_batch).filter(move |agent| {
        // One that was cancelled in the queue has no start of its own.
        let at = agent.run.started.unwrap_or(agent.run.since);
        at >= began
            && is_history(at) == is_history(began)
            && (!agent.in_background || members.contains(&agent.path))
    })
}

/// The last line of a turn.
pub fn finish_item(model: &TuiModel, outcome: &RunOutcome) -> ItemKind {
    let took = model.run.elapsed(model.now).unwrap_or_default();
    let mut facts: Vec<FinishFact> =
        ending(outcome, took).into_iter().map(FinishFact::from).collect();
    let tally = AgentSet::tally(agents(model));
    if tally.all > 0 {
        let ends = labels::end_counts(tally, model.settings.glyphs(), " ");
        facts.push(format!("{} {ends}", count(tally.all, "agent")).trim_end().to_owned().into());
        if tally.in_background > 0 {
            // The line stays when these have ended.
            facts.push(format!("{} continued in the background", tally.in_background).into());
        }
    }
    facts.extend(changes_labels(model).into_iter().map(FinishFact::from));
    facts.extend(tests_fact(model));
    let (mut used, mut cost) = labels::sum_usage(agents(model));
    used += model.run.usage.counted();
    cost += model.run.cost;
    if used > 0 {
        facts.push(format!("{} tokens", tokens(used)).into());
    }
    if cost.usd > 0.0 {
        facts.push(money(cost).into());
    }
    let advice = advice(model, outcome);
    let retry = match outcome.end {
        RunEnd::Failed { failure, .. } if !outcome.rejected && is_passing(failure) => {
            retry_hint(model)
        }
        _ => None,
    };
    ItemKind::Finish { end: Glyph::of_end(&outcome.end), facts, advice, retry }
}

/// Whether the same request may succeed later, or after a change of the settings.
fn is_passing(failure: Failure) -> bool {
    !matches!(failure, Failure::Auth | Failure::ContextFull)
}

/// The key that tries again. With a draft in the prompt, it sends that instead.
fn retry_hint(model: &TuiModel) -> Option<String> {
    let hint = model.keymap.hint(KeyContext::Prompt, Action::Submit, "tries again")?;
    Some(match model.composer.is_empty() {
        true => hint,
        false => format!("clear the draft, then {hint}"),
    })
}

/// Keeps the offer to try again true while the draft changes.
pub fn refresh_retry(model: &mut TuiModel) {
    if !model.can_retry {
        return;
    }
    let hint = retry_hint(model);
    let outdated = model.main.iter().find_map(|(id, item)| match &item.kind {
        ItemKind::Finish { retry: retry @ Some(_), .. } => (*retry != hint).then_some(id),
        _ => None,
    });
    if let Some(id) = outdated {
        model.main.change(id, |item| {
            if let ItemKind::Finish { retry, .. } = &mut item.kind {
                *retry = hint;
            }
        });
    }
}

/// Notes that Enter no longer tries again.
pub fn withdraw_retry(model: &mut TuiModel) {
    model.can_retry = false;
    let offers = model
        .main
        .iter()
        .filter(|(_, item)| matches!(item.kind, ItemKind::Finish { retry: Some(_), .. }));
    for id in offers.map(|(id, _)| id).collect::<Vec<_>>() {
        model.main.change(id, |item| {
            if let ItemKind::Finish { retry, .. } = &mut item.kind {
                *retry = None;
            }
        });
    }
}

/// How a turn ended, and how long it took.
fn ending(outcome: &RunOutcome, took: Duration) -> Vec<String> {
    let time = clock(took);
    let end = &outcome.end;
    let words = match end {
        RunEnd::Completed => return vec![format!("done in {time}")],
        RunEnd::Cancelled { .. } => return vec![format!("stopped after {time}")],
        // When the program ended is not known.
        RunEnd::Interrupted => return vec!["interrupted".to_owned()],
        RunEnd::MaxTurns { limit } => format!("turn limit {limit} reached"),
        RunEnd::Budget { what } => format!("budget {what} spent"),
        RunEnd::MaxTokens { .. } => end.describe(),
        RunEnd::TimeLimit { limit } => format!("time limit {} reached", clock(*limit)),
        RunEnd::Failed { failure, .. } => {
            labels::failure_label(*failure, outcome.api_error.as_ref())
        }
        RunEnd::Refused | RunEnd::Empty => end.describe(),
    };
    vec![words, time]
}

/// The whole error of a failed turn, and what to do now.
fn advice(model: &TuiModel, outcome: &RunOutcome) -> Option<String> {
    match &outcome.end {
        RunEnd::MaxTurns { .. } | RunEnd::TimeLimit { .. } | RunEnd::MaxTokens { .. } => {
            Some("say \"go on\" to continue".to_owned())
        }
        RunEnd::Empty => Some("say \"go on\", or choose another model: /model".to_owned()),
        RunEnd::Budget { .. } => Some(match model.session.resumable {
            true => format!("quit, then {RAISE_BUDGET}"),
            false => "start again with a higher --max-budget-usd".to_owned(),
        }),
        RunEnd::Failed { failure, message } => {
            let message = message.trim_end_matches('.');
            let resume = model.session.id.filter(|_| model.session.resumable);
            if let (Failure::Auth, Some(id)) = (failure, resume) {
                return Some(format!("{message}, then start again:\ncaliban --resume {id}"));
            }
            // Enter follows that advice.
            let message = without_retry_advice(message);
            let left_out = outcome.rejected.then(|| "your next prompt goes without it".to_owned());
            Some(labels::with_detail(message, left_out))
        }
        _ => None,
    }
}

/// `3 files +41 −12` and `worktrees: 1 file +2 −1`: what main and its agents have changed, if anything. What
/// is in worktrees of agents has changed nothing for the user yet.
fn changes_labels(model: &TuiModel) -> Vec<String> {
    let worktrees: Vec<&Path> =
        agents(model).flat_map(|agent| &agent.worktree_dirs).map(PathBuf::as_path).collect();
    let is_apart = |file: &Path| worktrees.iter().any(|folder| file.starts_with(folder));
    let label = |apart: bool| {
        let (mut files, mut added, mut removed) = (BTreeSet::new(), 0, 0);
        let changes = runs(model).flat_map(|run| &run.changes);
        for (file, lines) in changes.filter(|(file, _)| is_apart(file) == apart) {
            files.insert(file);
            (added, removed) = (added + lines.0, removed + lines.1);
        }
        let words = format!("{} +{added} −{removed}", count(files.len(), "file"));
        (!files.is_empty()).then_some(words)
    };
    let apart = label(true).map(|words| format!("worktrees: {words}"));
    label(false).into_iter().chain(apart).collect()
}

/// `214 tests green` or `2 of 214 tests red`: the tests that ran last.
pub fn tests_fact(model: &TuiModel) -> Option<FinishFact> {
    let last = runs(model).filter_map(|run| run.tests).max_by_key(|(_, at)| *at)?;
    let (counts, _) = last;
    let unit = if counts.packages { "test package" } else { "test" };
    let all = count(counts.passed + counts.failed, unit);
    let text = match counts.failed {
        0 => format!("{all} green"),
        failed => format!("{failed} of {all} red"),
    };
    Some(FinishFact { text, good: Some(counts.failed == 0) })
}

/// The runs of main and its agents in this turn.
fn runs(model: &TuiModel) -> impl Iterator<Item = &RunState> {
    agents(model).map(|agent| &agent.run).chain([&model.run])
}
