//! What the caller tells the screen at start, and what it gets back at the end.

use crate::protocol::{EnvOverlay, Mode, NoticeLevel, SessionId};

use super::host::LocalServer;
use super::theme::Glyphs;

/// The `[tui]` section, with what the terminal says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuiSettings {
    /// Name of a theme, or empty for the one that fits the terminal.
    pub theme: String,
    pub panes: Panes,
    pub motion: Motion,
    pub mouse: bool,
    /// Whether the terminal is told about questions and long turns that end while its window has no focus.
    pub notifications: bool,
    pub no_color: bool,
    /// What the terminal says about itself.
    pub env: EnvOverlay,
}

impl TuiSettings {
    /// The characters that the terminal can show.
    #[must_use]
    pub fn glyphs(&self) -> &'static Glyphs {
        Glyphs::for_terminal(&self.env)
    }
}

/// Where agents are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Panes {
    /// By the size of the screen.
    #[default]
    Auto,
    Right,
    Below,
    Rows,
}

/// How much moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    #[default]
    Full,
    /// No spinner, text twice a second, clocks every ten seconds.
    Reduced,
}

/// What the first frame shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartInfo {
    pub session: Option<SessionId>,
    /// The working directory as a short label.
    pub cwd: String,
    /// The git branch, if it is known already; else the host is asked.
    pub branch: Option<String>,
    /// The model as a short label.
    pub model: String,
    pub mode: Mode,
    pub version: String,
    /// Whether the built-in scripted model answers.
    pub scripted: bool,
    pub context_window: Option<u64>,
    /// Set when there is no model to talk to.
    pub first_run: Option<FirstRun>,
    /// What stands behind the name on the first line, such as `AGENTS.md read`.
    pub notes: Vec<String>,
    /// Lines to begin the transcript with, such as what is wrong in a definition.
    pub notices: Vec<(NoticeLevel, String)>,
    /// Permission rules in force, one per line.
    pub rules: Vec<String>,
    /// A prompt to send at once.
    pub prompt: Option<String>,
    /// Whether the session is stored, so that it can be gone on with.
    pub resumable: bool,
    /// Whether the list of stored sessions opens first.
    pub pick_session: bool,
}

/// What is known when no model is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstRun {
    /// Servers on this machine that answered; `None` until they were looked for.
    pub found: Option<Vec<LocalServer>>,
}

/// How the screen ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// What the normal screen shows afterwards; empty when nothing was sent.
    pub farewell: Vec<String>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
}
