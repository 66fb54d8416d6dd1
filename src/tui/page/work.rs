//! The page about the work of an isolated agent: its changes, and the keys that merge or discard them.

use std::sync::Arc;

use crate::protocol::{AgentPath, Command, MergedWork, NoticeLevel, WorkingTreeChanges, quoted};
use crate::tui::format::count;
use crate::tui::host::HostRequest;
use crate::tui::labels;
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::page::{Page, PageBody, PageLine, WorkPage};
use crate::tui::text::one_line;
use crate::tui::transcript::ItemKind;

/// Opens the page and requests the changes. Does nothing for an agent without a worktree.
pub fn open(model: &mut TuiModel, path: &AgentPath, effects: &mut Vec<ScreenEffect>) {
    let Some(agent) = model.agents.get(path) else { return };
    let Some(worktree) = agent.worktree.clone() else { return };
    let title = format!("work of {} · {}", agent.label(), quoted(&agent.info.description));
    let body = PageBody::Lines(vec!["asking git …".into()]);
    let work = Some(WorkPage::new(path));
    model.overlay = Some(Overlay::Page(Page { title, body, scroll: 0, work }));
    effects.push(ScreenEffect::Ask(HostRequest::WorktreeChanges {
        agent: path.clone(),
        worktree,
        changes: Ok(Arc::default()),
    }));
}

/// Hints for the keys of the page.
pub fn hint(page: &Page) -> Vec<String> {
    match page.work.is_some() && matches!(page.body, PageBody::Changes(_)) {
        true => ["m twice merges", "x twice discards"].map(str::to_owned).to_vec(),
        false => Vec::new(),
    }
}

/// Handles a letter: `m` merges and `x` discards when pressed twice, so that no word that is typed over
/// the page does. After one of them, the other one begins anew. Returns what is left to type: the letter,
/// behind one that has done nothing.
pub fn press(model: &mut TuiModel, letter: char, effects: &mut Vec<ScreenEffect>) -> Vec<char> {
    let Some(Overlay::Page(page)) = &mut model.overlay else { return vec![letter] };
    if page.work.as_ref().is_some_and(|work| work.loading) {
        // It is meant for the changes, which nobody has seen.
        return Vec::new();
    }
    let (Some(work), PageBody::Changes(changes)) = (&mut page.work, &page.body) else {
        return vec![letter];
    };
    let files = count(changes.files.len(), "file");
    match (work.pending.take(), letter) {
        (Some(first), second) if first == second => act(model, second, effects),
        (_, 'm' | 'x') => {
            work.pending = Some(letter);
            model.say_while(
                NoticeCause::Confirm,
                match letter {
                    'm' => format!("m again merges {files} into yours, without a commit"),
                    _ => format!("x again discards the changes of {files}"),
                },
            );
        }
        (first, letter) => return first.into_iter().chain([letter]).collect(),
    }
    Vec::new()
}

fn act(model: &mut TuiModel, letter: char, effects: &mut Vec<ScreenEffect>) {
    let Some(Overlay::Page(Page { work: Some(work), .. })) = &mut model.overlay else { return };
    work.is_done = true;
    let agent = work.agent.clone();
    let Some(found) = model.agents.get(&agent) else { return };
    let (Some(worktree), label) = (found.worktree.clone(), found.label()) else { return };
    model.mark_acted(letter);
    let merges = letter == 'm';
    effects.push(ScreenEffect::Ask(match merges {
        true => {
            let result = Ok(MergedWork::default());
            HostRequest::MergeWorktree { agent, worktree, result }
        }
        false => HostRequest::DiscardWorktree { agent, worktree, result: Ok(String::new()) },
    }));
    let verb = if merges { "merging" } else { "discarding" };
    model.say(format!("{verb} the work of {label} …"));
}

/// Fills the page of this agent, if it is still open.
pub fn fill(
    model: &mut TuiModel,
    agent: &AgentPath,
    changes: Result<Arc<WorkingTreeChanges>, String>,
) {
    if let Some(Overlay::Page(page)) = &mut model.overlay
        && let Some(work) = page.work.as_mut().filter(|work| work.agent == *agent)
    {
        work.loading = false;
        page.body = match changes {
            Ok(changes) => PageBody::Changes(changes),
            Err(why) => vec![PageLine::from(why)].into(),
        };
    }
}

/// Takes note that the work of an agent was merged, or says why not.
pub fn merged(
    model: &mut TuiModel,
    path: &AgentPath,
    result: Result<MergedWork, String>,
    effects: &mut Vec<ScreenEffect>,
) {
    let label = label(model, path);
    match result {
        Ok(MergedWork { files, commit }) => {
            forget(model, path);
            let done = match files {
                0 => format!("your files had all of the work of {label}"),
                _ => format!("merged {} of {label}", count(files, "file")),
            };
            note(model, format!("{done}: its files are kept as the commit {commit}"), effects);
            model.say(format!("{done} · /diff"));
        }
        Err(why) => {
            // It names a commit, which the box has only until it is closed.
            note(model, format!("the work of {label} is not merged: {}", one_line(&why)), effects);
            say_failure(model, path, &format!("{label} · not merged"), why);
        }
    }
}

/// Takes note that the work of an agent was discarded, or says why not.
pub fn discarded(
    model: &mut TuiModel,
    path: &AgentPath,
    result: Result<String, String>,
    effects: &mut Vec<ScreenEffect>,
) {
    let label = label(model, path);
    match result {
        Ok(commit) => {
            forget_changes(model, path);
            forget(model, path);
            let done = format!("discarded the work of {label}");
            note(model, format!("{done}: `git branch NAME {commit}` brings it back"), effects);
            // A resumed agent must not count on what is gone.
            let resumes = model.agents.get(path).is_some_and(|agent| model.can_resume(agent));
            let from = resumes.then(|| "resumed, it starts from the last commit".to_owned());
            model.say(labels::with_detail(&done, from));
        }
        Err(why) => say_failure(model, path, &format!("{label} · not discarded"), why),
    }
}

/// Writes into main's transcript and the stored session what the user may need later.
fn note(model: &mut TuiModel, text: String, effects: &mut Vec<ScreenEffect>) {
    effects.push(ScreenEffect::Send(Command::Note { text: text.clone() }));
    model.main.push(ItemKind::Notice { level: NoticeLevel::Info, text });
}

/// Shows what the user has to do, which takes more than the line for notices; there, if another page or
/// list is open, or if the user types in the list of agents.
fn say_failure(model: &mut TuiModel, path: &AgentPath, title: &str, why: String) {
    // It says that this has begun.
    model.notice = None;
    let work = match &model.overlay {
        None => None,
        Some(Overlay::Agents(list)) if !list.filtering => Some(WorkPage::new(path)),
        Some(_) => return model.say(format!("{title}: {why}")),
    };
    let (title, body) = (title.to_owned(), vec![PageLine::from(why)].into());
    model.overlay = Some(Overlay::Page(Page { title, body, scroll: 0, work }));
}

fn label(model: &TuiModel, path: &AgentPath) -> String {
    model.agents.get(path).map_or_else(|| "the agent".to_owned(), |agent| agent.label())
}

/// Leaves the discarded changes out of what the turn brought.
fn forget_changes(model: &mut TuiModel, path: &AgentPath) {
    if let Some(agent) = model.agents.get_mut(path)
        && let Some(worktree) = &agent.worktree
    {
        agent.run.changes.retain(|file, _| !file.starts_with(&worktree.path));
    }
}

fn forget(model: &mut TuiModel, path: &AgentPath) {
    if let Some(agent) = model.agents.get_mut(path) {
        agent.worktree = None;
    }
}
