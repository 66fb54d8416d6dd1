//! The page about a background command: how it goes, and the end of what it prints, which the page follows
//! as a transcript does.

use crate::protocol::{Command, ShellId};
use crate::tui::agents::HISTORY_START;
use crate::tui::background::Job;
use crate::tui::format::clock;
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::page::{Page, PageBody, PageLine, Tone};

/// Opens the page at the end of the output, and asks for what is new of it.
pub fn open(model: &mut TuiModel, id: &str, effects: &mut Vec<ScreenEffect>) {
    let Some(job) = model.jobs.get(id) else { return };
    if job.alive() {
        // What is known may be old.
        effects.push(ScreenEffect::Send(Command::ReadShell { id: ShellId::new(id), seen: 0 }));
    }
    let body = PageBody::Job(id.to_owned());
    model.overlay =
        Some(Overlay::Page(Page { title: id.to_owned(), body, scroll: usize::MAX, work: None }));
}

/// Whether the page of this command is open.
pub fn is_open(model: &TuiModel, id: &str) -> bool {
    matches!(&model.overlay, Some(Overlay::Page(Page { body: PageBody::Job(open), .. })) if open == id)
}

/// The lines of the page.
pub fn lines(model: &TuiModel, id: &str) -> Vec<PageLine> {
    let Some(job) = model.jobs.get(id) else {
        return vec![PageLine::toned("not known any more", Tone::Dim)];
    };
    let mut lines = vec![status_line(model, job)];
    lines.extend(job.command.lines().map(|line| PageLine::row([("$ ", Tone::Dim)], line)));
    lines.push(PageLine::default());
    let output = &job.output;
    let kept = u64::try_from(output.text.chars().count()).unwrap_or(u64::MAX);
    if kept < output.total {
        lines.push(PageLine::toned("… earlier output is not kept", Tone::Dim));
    }
    lines.extend(output.text.trim_end().lines().map(PageLine::from));
    if output.text.trim().is_empty() {
        let none = match job.since >= HISTORY_START {
            true => "its output is not stored",
            false if job.alive() => "no output yet",
            false => "no output",
        };
        lines.push(PageLine::toned(none, Tone::Dim));
    }
    lines
}

/// `running · main · 0:12`, or `failed · exit code 3 · main · 0:12`.
fn status_line(model: &TuiModel, job: &Job) -> PageLine {
    let state = labels::job_status(job).text;
    let (state, tone) = match (job.failed(), job.alive()) {
        (true, _) => (format!("failed · {state}"), Tone::Bad),
        (false, true) => (state, Tone::Strong),
        (false, false) => (state, Tone::Good),
    };
    let time = job.elapsed(model.now).map_or(String::new(), |time| format!(" · {}", clock(time)));
    let rest = format!(" · {}{time}", model.label(&job.path));
    PageLine(vec![(state, tone), (rest, Tone::Dim)])
}
