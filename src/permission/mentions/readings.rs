//! The commands that bash may make of one with words known only at run time. A glob counts as the
//! names that it matches now, and a variable as the values that the line gives it.

mod globs;
mod names;
mod programs;
mod reader;

pub use programs::program_readings;
pub use reader::{Readings, expanded_commands, readings};
