//! The sub-commands that print something and end.

pub mod demo;
