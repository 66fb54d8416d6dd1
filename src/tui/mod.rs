//! The screen: a pure update and view over plain data, and the loop that feeds them.

pub mod composer;
mod escape;
pub mod event_loop;
mod farewell;
pub mod figures;
pub mod host;
mod keyboard;
pub mod keymap;
pub mod model;
pub mod msg;
pub mod settings;
pub mod surface;
pub mod terminal;
pub mod text;
pub mod theme;
mod trust;
pub mod update;
pub mod view;
pub mod words;

pub use event_loop::{TuiError, TuiIo, run};
pub use host::Host;
pub use keyboard::Typed;
pub use keymap::{Keymap, KeymapError};
pub use settings::{Exit, FirstRun, Motion, Panes, StartInfo, TuiSettings};
pub use trust::{TrustAnswer, TrustQuestion, TrustThing, ask_trust};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
