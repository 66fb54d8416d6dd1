//! The integration tests: one binary, so that the harness is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::needless_pass_by_value)]

mod headless;
mod layering;
mod packages;
mod permission;
mod server;
mod support;
mod wire;
