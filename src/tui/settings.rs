//! The screen's settings and start information, and its result on exit.

use crate::protocol::{EnvOverlay, MotionMode, NoticeLevel, NotificationMethod, PaneLayout};

use super::session::ScreenSession;
use super::theme::Glyphs;
use super::themes::ThemeSource;

/// The `[tui]` section, with the terminal's environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuiSettings {
    /// Name of a theme, or empty to choose one for the terminal.
    pub theme: String,
    /// The place in a file that names the theme: there, an unknown one only causes a notice.
    pub theme_place: Option<String>,
    /// The user's theme files.
    pub theme_files: Vec<ThemeSource>,
    pub panes: PaneLayout,
    pub motion: MotionMode,
    pub mouse: bool,
    /// How to notify of questions and ends of long turns while the window has no focus.
    pub notifications: NotificationMethod,
    /// Whether a command of the user notifies instead of the terminal.
    pub notify_command: bool,
    /// Whether the screen is a sequence of lines for screen readers.
    pub screen_reader: bool,
    /// Whether a command of the user prints the status line.
    pub status_line: bool,
    pub no_color: bool,
    /// The name of this machine.
    pub host: String,
    /// Environment variables about the terminal.
    pub env: EnvOverlay,
}

impl TuiSettings {
    /// The glyphs the terminal can show.
    pub fn glyphs(&self) -> &'static Glyphs {
        Glyphs::for_terminal(&self.env)
    }
}

/// Data for the first frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartInfo {
    pub session: ScreenSession,
    /// Lines at the start of the transcript, such as errors in a definition.
    pub notices: Vec<(NoticeLevel, String)>,
    /// A prompt to send at once.
    pub prompt: Option<String>,
    /// Whether the list of stored sessions opens first.
    pub pick_session: bool,
}

/// Result of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenExit {
    /// The summary to print afterwards; empty if no prompt was sent.
    pub summary: Vec<String>,
    /// Whether the user chose the demo.
    pub demo: bool,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
}
