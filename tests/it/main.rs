//! The integration tests: one binary, so that the harness is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::needless_pass_by_value)]

mod cancel;
mod documents;
mod headless;
mod layering;
mod packages;
mod permission;
mod pty;
mod server;
mod session;
mod subagents;
mod support;
mod wire;
