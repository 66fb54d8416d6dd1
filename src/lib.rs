//! caliban: a terminal coding agent whose sub-agents run live, side by side, on your screen.
//!
//! The map of modules, from the bottom up (`docs/architecture.md` tells the whole story):
//!
//! - [`protocol`]: what flows between the parts, as plain data
//! - [`disk`]: where paths lead, and files opened there without following a link
//! - [`config`]: layered configuration, the environment, the model catalogue
//! - [`markdown`]: the files that people write for agents
//! - [`provider`]: model APIs, one file per wire
//! - [`exec`], [`tool`]: child processes, and the tools that models call
//! - [`custom`]: commands and skills that people write
//! - [`memory`]: the instructions that projects keep for agents
//! - [`permission`]: what may run, and who is asked
//! - [`hook`]: commands of the person that hear of what agents do and have a say
//! - [`budget`]: what may be spent
//! - [`agent`]: the loop: ask the model, run its tools, repeat
//! - [`subagent`]: the tool whose body is another agent's loop
//! - [`session`]: transcripts on disk
//! - [`runtime`]: commands in, events out
//! - [`tui`], [`headless`], [`command`]: the three faces
//! - [`app`]: puts all of it together

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod agent;
pub mod app;
pub mod budget;
pub mod cli;
pub mod command;
pub mod config;
pub mod custom;
pub mod disk;
pub mod exec;
pub mod headless;
pub mod hook;
pub mod markdown;
pub mod memory;
pub mod permission;
pub mod protocol;
pub mod provider;
pub mod runtime;
pub mod session;
pub mod subagent;
pub mod tool;
pub mod tui;
