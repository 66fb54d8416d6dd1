//! What goes into `update`, and what comes out of it.

use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;

use crate::protocol::{AgentEvent, Command};

use super::host::{HostReply, HostRequest};
use super::model::{Extent, Metrics};

/// Something that happened. Times count from the start of the screen.
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
        /// What lay under the pointer in the last frame.
        under: Under,
        at: Duration,
    },
    Resize {
        width: u16,
        height: u16,
    },
    /// The terminal window gained or lost the focus.
    Window {
        focused: bool,
    },
    Events {
        events: Vec<AgentEvent>,
        at: Duration,
    },
    Host {
        reply: HostReply,
        at: Duration,
    },
    /// Time passed.
    Tick {
        at: Duration,
    },
    /// A frame was drawn.
    Drawn(Box<Metrics>),
}

/// What a mouse event points at, and where that is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Under {
    pub target: Target,
    pub area: Rect,
    /// How much there is to scroll, if it is a pane.
    pub pane: Extent,
}

/// What lies at a place of the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Target {
    #[default]
    Nothing,
    Body,
    Pane(crate::protocol::AgentPath),
    /// The answer with this digit.
    Answer(u8),
    Overlay,
    Prompt,
}

/// What the loop has to do after an update.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Send(Command),
    Ask(HostRequest),
    /// Put into the terminal's clipboard.
    Copy(String),
    /// The same with the text that the mouse has chosen on the screen.
    CopySelection,
    /// Tell the person through the terminal.
    Notify(String),
    /// Open the draft in an editor.
    Edit(String),
    /// Take or release the mouse.
    Mouse(bool),
    /// Draw everything anew.
    Redraw,
    Suspend,
    Quit,
}
