//! The screen as a person meets it: keys and events in, commands and pictures out.

mod agent_list;
mod background;
mod flows;
mod keys;
mod outs;
mod pictures;
mod questions;
mod room;
mod seen;
