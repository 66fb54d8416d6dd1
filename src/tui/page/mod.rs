//! Pages of lines above the prompt: the help, and what commands such as `/cost` show.

mod changes;
pub mod draw;
mod help;
pub mod job;
pub mod update;
pub mod work;

use std::sync::Arc;

use crate::protocol::{AgentPath, WorkingTreeChanges};

/// An open page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub title: String,
    pub body: PageBody,
    pub scroll: usize,
    /// On the page about the work of an isolated agent.
    pub work: Option<WorkPage>,
}

/// The agent that a page is about, with what its keys have begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPage {
    pub agent: AgentPath,
    /// The last letter, if it acts when pressed once more.
    pub pending: Option<char>,
    /// Whether the changes are still to come. Letters wait for them.
    pub loading: bool,
    /// Whether the work was merged or discarded here.
    pub is_done: bool,
}

impl WorkPage {
    pub fn new(agent: &AgentPath) -> Self {
        Self { agent: agent.clone(), pending: None, loading: true, is_done: false }
    }
}

/// The content of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageBody {
    Lines(Vec<PageLine>),
    /// Changed files with their diffs.
    Changes(Arc<WorkingTreeChanges>),
    /// A background command, by its id, with what it prints.
    Job(String),
}

impl From<Vec<PageLine>> for PageBody {
    fn from(lines: Vec<PageLine>) -> Self {
        Self::Lines(lines)
    }
}

/// A line of a page, in pieces. The last one is wrapped, and hangs under its own start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageLine(pub Vec<(String, Tone)>);

/// The look of a piece of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Dim,
    Strong,
    Good,
    Bad,
}

impl PageLine {
    /// A line with pieces before its text.
    pub fn row<'a>(
        before: impl IntoIterator<Item = (&'a str, Tone)>,
        text: impl Into<String>,
    ) -> Self {
        let before = before.into_iter().map(|(text, tone)| (text.to_owned(), tone));
        Self(before.chain([(text.into(), Tone::Plain)]).collect())
    }

    /// A line in one tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self(vec![(text.into(), tone)])
    }
}

impl<T: Into<String>> From<T> for PageLine {
    fn from(text: T) -> Self {
        Self::toned(text, Tone::Plain)
    }
}
