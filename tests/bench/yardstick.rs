//! What the machine itself takes at this minute: figures mean little without it.

use std::process::Command;
use std::time::Instant;

use portable_pty::CommandBuilder;

use super::figures::spread;
use super::terminal::Terminal;

/// Runs of each part.
const RUNS: usize = 30;

/// Three things that every figure contains in some way.
pub struct Yardstick {
    /// Starting and ending the smallest program.
    start_ms: Vec<f64>,
    /// A key through a pseudo-terminal and `cat`.
    echo_ms: Vec<f64>,
    /// A fixed calculation on one core.
    calculation_ms: Vec<f64>,
}

impl Yardstick {
    pub fn measure() -> Self {
        let timed = |work: &mut dyn FnMut()| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        };
        let start = &mut || {
            let _ = Command::new("true").status();
        };
        let start_ms = (0..RUNS).map(|_| timed(start)).collect();
        let calculation_ms = (0..RUNS).map(|_| timed(&mut calculate)).collect();
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", "stty raw -echo; echo ready; exec cat"]);
        let mut terminal = Terminal::run(command);
        terminal.wait_for(b"ready", 0);
        Self { start_ms, echo_ms: terminal.echoes(RUNS), calculation_ms }
    }

    pub fn print(&self) {
        println!(
            "| yardstick: `true`; a key through `cat`; a calculation, ms | {}; {}; {} | |",
            spread(&self.start_ms),
            spread(&self.echo_ms),
            spread(&self.calculation_ms)
        );
    }
}

/// Ten million steps of a generator whose steps depend on each other.
fn calculate() {
    let mut state = 1_u64;
    for _ in 0..10_000_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    std::hint::black_box(state);
}
