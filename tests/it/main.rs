//! The integration tests: one binary, so that the harness is built and linked once.

// Most tests start agents, or look at what they do: without those only the others are left, which
// use less of the support.
#![cfg_attr(not(feature = "sub-agents"), allow(dead_code))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::needless_pass_by_value)]

#[cfg(feature = "sub-agents")]
mod bad_input;
#[cfg(feature = "sub-agents")]
mod budget;
#[cfg(feature = "sub-agents")]
mod cancel;
#[cfg(feature = "sub-agents")]
mod catalogue;
#[cfg(feature = "sub-agents")]
mod command;
#[cfg(feature = "sub-agents")]
mod compaction;
#[cfg(feature = "sub-agents")]
mod config_set;
#[cfg(feature = "sub-agents")]
mod custom;
#[cfg(feature = "sub-agents")]
mod directory;
#[cfg(feature = "sub-agents")]
mod doctor;
mod documents;
#[cfg(feature = "sub-agents")]
mod driven;
#[cfg(feature = "sub-agents")]
mod foreign_git;
#[cfg(feature = "sub-agents")]
mod git_folder;
mod git_snapshot;
#[cfg(feature = "sub-agents")]
mod headless;
#[cfg(feature = "sub-agents")]
mod hooks;
#[cfg(feature = "sub-agents")]
mod ignore_files;
#[cfg(feature = "sub-agents")]
mod images;
#[cfg(feature = "sub-agents")]
mod journal;
mod layering;
#[cfg(feature = "sub-agents")]
mod mcp;
#[cfg(feature = "sub-agents")]
mod memory;
mod offers;
#[cfg(feature = "sub-agents")]
mod options;
mod packages;
#[cfg(feature = "sub-agents")]
mod permission;
#[cfg(feature = "sub-agents")]
mod pictures;
mod prefix_rules;
#[cfg(feature = "sub-agents")]
mod project_programs;
#[cfg(feature = "sub-agents")]
mod prompting;
#[cfg(feature = "sub-agents")]
mod protected;
mod providers;
#[cfg(feature = "sub-agents")]
mod pty;
#[cfg(feature = "sub-agents")]
mod random_runs;
#[cfg(feature = "sub-agents")]
mod read_only;
mod rejected;
#[cfg(feature = "sub-agents")]
mod retention;
mod retry;
#[cfg(feature = "sub-agents")]
mod scope;
#[cfg(feature = "sub-agents")]
mod secrets;
mod server;
#[cfg(feature = "sub-agents")]
mod session;
#[cfg(feature = "sub-agents")]
mod settings;
mod shell_fuzz;
#[cfg(feature = "sub-agents")]
mod shells;
#[cfg(feature = "sub-agents")]
mod start_folder;
#[cfg(feature = "sub-agents")]
mod stream_input;
#[cfg(feature = "sub-agents")]
mod subagents;
#[cfg(feature = "sub-agents")]
mod supervisor;
mod support;
#[cfg(feature = "sub-agents")]
mod terminal;
#[cfg(feature = "sub-agents")]
mod trust;
mod wire;
mod wires;
#[cfg(not(feature = "sub-agents"))]
mod without_agents;
#[cfg(feature = "sub-agents")]
mod worktree;
