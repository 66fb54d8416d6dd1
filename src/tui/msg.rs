//! Input and output of `update`: messages and effects.

use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;

use crate::protocol::{AgentEvent, AgentPath, Command};

use super::host::HostRequest;
use crate::tui::model::Metrics;
use crate::tui::theme::TerminalBackground;
use crate::tui::transcript::{Extent, ItemId};

/// An event for `update`. Times are relative to the start of the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum Msg {
    Key {
        key: KeyEvent,
        at: Duration,
    },
    Paste {
        text: String,
        at: Duration,
    },
    Mouse {
        event: MouseEvent,
        /// The target under the pointer in the last frame.
        hit: HitTarget,
        at: Duration,
    },
    Resize {
        width: u16,
        height: u16,
    },
    /// The terminal window gained or lost the focus.
    Window {
        focused: bool,
        at: Duration,
    },
    Events {
        events: Vec<AgentEvent>,
        at: Duration,
    },
    /// The host has filled in the reply to a request.
    Host {
        reply: HostRequest,
        at: Duration,
    },
    /// Time passed.
    Tick {
        at: Duration,
    },
    /// The terminal has said what its background is.
    TerminalBackground(TerminalBackground),
    /// A frame was drawn.
    Drawn(Box<Metrics>),
}

/// The target of a mouse event and its area.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HitTarget {
    pub kind: HitKind,
    pub area: Rect,
    /// Scroll extent, if it is a pane.
    pub pane: Extent,
    /// The item of a pane's transcript that a click here expands or folds.
    pub output: Option<ItemId>,
}

/// The kind of element at a position on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HitKind {
    #[default]
    Nothing,
    Body,
    /// An item of the transcript in the body.
    Item(ItemId),
    Pane(AgentPath),
    /// The row of an agent in main's transcript.
    AgentRow(AgentPath),
    /// The row of the background command with this id.
    JobRow(String),
    /// The answer with this digit.
    Answer(u8),
    /// The tab of a form with this number.
    FormTab(usize),
    Overlay,
    /// The row at this place of an open list, counted as it is shown.
    ListRow(usize),
    /// The row at this place of the completion menu.
    MenuRow(usize),
    /// The prompt, at this byte position of the draft.
    Prompt(usize),
}

/// A side effect for the event loop to perform after an update.
#[derive(Clone, Debug, PartialEq)]
pub enum ScreenEffect {
    Send(Command),
    Ask(HostRequest),
    /// Copy to the terminal's clipboard.
    Copy(String),
    /// Copy the text selected with the mouse.
    CopySelection,
    /// Notify the user through the terminal.
    Notify(String),
    /// Open the draft in an editor.
    Edit(String),
    /// Open a file in an editor.
    EditFile(PathBuf),
    /// Take or release the mouse.
    Mouse(bool),
    /// Redraw everything.
    Redraw,
    Suspend,
    Quit,
}
