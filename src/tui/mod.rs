//! The terminal interface: a pure update and view over plain data, and the loop that drives them.

pub mod composer;
pub mod event_loop;
mod exit_summary;
pub mod format;
pub mod host;
mod keyboard;
pub mod keymap;
pub mod labels;
pub mod model;
pub mod msg;
pub mod settings;
pub mod terminal;
pub mod text;
pub mod theme;
mod trust;
pub mod update;
pub mod view;

pub use event_loop::{TuiError, TuiIo, run};
pub use host::ScreenHost;
pub use keyboard::PendingInput;
pub use keymap::{Keymap, KeymapError};
pub use settings::{FirstRun, MotionMode, PaneLayout, ScreenExit, StartInfo, TuiSettings};
pub use trust::{TrustAnswer, TrustItem, TrustQuestion, ask_trust};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
