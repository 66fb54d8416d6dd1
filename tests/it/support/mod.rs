//! What the integration tests stand on: a strict scripted model server, the real binary in a clean
//! world, and the real binary on a real pseudo-terminal.

use std::io::Write;
use std::time::Duration;

pub mod client;
mod http;
pub mod picture;
mod player;
pub mod process;
pub mod pty;
pub mod record;
mod restoration;
pub mod run;
pub mod scene;
pub mod script;
pub mod server;
mod watched;
mod wire;
pub mod world;

/// How long anything may be waited for before the test fails: generous, because tests share a slow machine.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Says on the terminal that a test did not run, and why: a quiet pass would look like a test.
pub fn skip(test: &str, why: &str) {
    // The harness captures what goes through `print!`, and not what is written like this.
    let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
}
