//! Says what a background command prints while its page is open.

use super::speech::Speech;
use crate::tui::background::Job;
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::overlay::Overlay;
use crate::tui::page::{Page, PageBody};

/// How far the output on the open page was said.
#[derive(Default)]
pub(super) struct JobLog {
    /// The command, and where its page was scrolled to.
    page: Option<(String, usize)>,
    /// Characters of the whole output that were said.
    said: u64,
    alive: bool,
}

impl JobLog {
    /// Whether the page is open where it was, so that all that is new on it is output.
    pub fn follows(&self, model: &TuiModel) -> bool {
        let page = open_page(model);
        page.is_some() && page == self.page.as_ref().map(|(id, scroll)| (id.as_str(), *scroll))
    }

    /// Says the new whole lines of the command, and its end. What a page shows when it opens is said with it.
    pub fn say(&mut self, model: &TuiModel, speech: &mut Speech) {
        let page = open_page(model);
        let Some((id, job)) = page.and_then(|(id, _)| Some((id, model.jobs.get(id)?))) else {
            self.page = None;
            return;
        };
        let is_new = self.page.as_ref().is_none_or(|(known, _)| known != id);
        self.page = page.map(|(id, scroll)| (id.to_owned(), scroll));
        if is_new {
            (self.said, self.alive) = (whole(job), job.alive());
            return;
        }
        let end = whole(job);
        let kept = job.output.total.saturating_sub(chars(&job.output.text));
        if self.said < kept {
            speech.line("Earlier output is not kept.");
            self.said = kept;
        }
        let at = |offset: u64| usize::try_from(offset.saturating_sub(kept)).unwrap_or(usize::MAX);
        let new = job.output.text.chars().skip(at(self.said));
        let new: String = new.take(at(end).saturating_sub(at(self.said))).collect();
        new.lines().for_each(|line| speech.row(line));
        self.said = self.said.max(end);
        if self.alive && !job.alive() {
            speech.line(&format!("Command {id}: {}", labels::job_status(job).text));
        }
        self.alive = job.alive();
    }
}

/// The command whose page is open, and where that is scrolled to.
fn open_page(model: &TuiModel) -> Option<(&str, usize)> {
    match &model.overlay {
        Some(Overlay::Page(Page { body: PageBody::Job(id), scroll, .. })) => Some((id, *scroll)),
        _ => None,
    }
}

/// Characters of the output up to the end of its last whole line.
fn whole(job: &Job) -> u64 {
    let text = &job.output.text;
    let rest = if job.alive() { text.rsplit('\n').next().unwrap_or_default() } else { "" };
    job.output.total.saturating_sub(chars(rest))
}

fn chars(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}
