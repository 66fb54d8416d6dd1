//! caliban: a terminal coding agent whose sub-agents run live, side by side, on your screen.
//!
//! The modules, from the bottom up (see `docs/architecture.md`):
//!
//! - [`protocol`]: the plain data that flows between the parts
//! - [`disk`]: resolved paths, and files opened without following links
//! - [`config`]: layered configuration, the environment, the model catalogue
//! - [`spanned`]: values with their lines, from JSON and front matter
//! - [`markdown`]: files that users write for agents
//! - [`media`]: images, PDFs and notebooks for models
//! - [`provider`]: model APIs, one file per wire
//! - [`exec`], [`tool`]: child processes, and the tools that models call
//! - [`git`]: our own calls of git
//! - [`commands`]: commands and skills that users write
//! - [`memory`]: the instructions that projects keep for agents
//! - [`permission`]: rules, and the gate that asks
//! - [`hook`]: user commands that are notified of what agents do and can intervene
//! - [`budget`]: spending limits
//! - [`agent`]: the loop: ask the model, run its tools, repeat
//! - [`subagent`]: the tool whose body is another agent's loop
//! - [`session`]: transcripts on disk
//! - [`runtime`]: commands in, events out
//! - [`tui`], [`headless`], [`command`]: the three front ends
//! - [`app`]: puts all of it together

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod agent;
pub mod app;
pub mod budget;
pub mod cli;
pub mod command;
pub mod commands;
pub mod config;
pub mod disk;
pub mod exec;
pub mod git;
pub mod headless;
pub mod hook;
pub mod markdown;
pub mod media;
pub mod memory;
pub mod permission;
pub mod protocol;
pub mod provider;
pub mod runtime;
pub mod session;
pub mod spanned;
pub mod subagent;
pub mod tool;
pub mod tui;
