//! The terminal interface: a pure update and view over plain data, and the loop that drives them.

mod agents;
mod background;
mod choices;
mod chrome;
pub mod composer;
pub mod event_loop;
mod events;
mod exit_summary;
mod first_run;
mod focus;
pub mod format;
mod growth;
mod hint;
pub mod host;
mod interrupt;
mod keyboard;
pub mod keymap;
pub mod labels;
mod layout;
mod linear;
pub mod model;
mod mouse;
pub mod msg;
mod notify;
mod overlay;
pub mod page;
mod paint;
mod picker;
mod popup;
mod question;
mod queue;
mod reader;
mod replay;
mod selection;
pub mod session;
pub mod settings;
pub mod slash;
mod status_line;
pub mod terminal;
mod test_counts;
pub mod text;
pub mod theme;
pub mod themes;
mod transcript;
mod trust;
mod turn;
pub mod update;
pub mod view;

pub use event_loop::{TuiError, TuiIo, check_theme, run, theme_problems};
pub use first_run::FirstRun;
pub use host::ScreenHost;
pub use keyboard::PendingInput;
pub use keymap::{Keymap, KeymapError};
pub use settings::{ScreenExit, StartInfo, TuiSettings};
pub use trust::ask::ask_trust;
pub use trust::{TrustAnswer, TrustItem, TrustQuestion};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
