//! The screen: a pure update and view over plain data, and the loop that feeds them.

pub mod terminal;
pub mod text;
pub mod theme;
