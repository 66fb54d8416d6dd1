//! The screen: a pure update and view over plain data, and the loop that feeds them.

pub mod composer;
pub mod figures;
pub mod host;
pub mod keymap;
pub mod model;
pub mod msg;
pub mod settings;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod update;
pub mod view;
pub mod words;

#[cfg(test)]
mod testing;
