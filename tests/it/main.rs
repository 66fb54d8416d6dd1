//! The integration tests: one binary, so that the harness is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::needless_pass_by_value)]

mod bad_input;
mod budget;
mod cancel;
mod command;
mod compaction;
mod documents;
mod headless;
mod layering;
mod options;
mod packages;
mod permission;
mod pictures;
mod prompting;
mod providers;
mod pty;
mod retry;
mod server;
mod session;
mod shells;
mod stream_input;
mod subagents;
mod support;
mod terminal;
mod wire;
mod worktree;
