//! The screen as the user sees it: keys and events in, commands and pictures out.

mod agent_list;
mod background;
mod flows;
mod interrupt;
mod keys;
mod pictures;
mod prompt;
mod questions;
mod room;
mod seen;
