//! Lists to choose from.

pub mod draw;
pub mod update;
