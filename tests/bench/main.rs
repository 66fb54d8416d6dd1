//! The speed figures of the program: `cargo bench` measures all of them on the real binary, with a
//! model server on loopback and a real pseudo-terminal. `docs/performance.md` says how.
//!
//! Arguments are words: only figures whose name contains one of them are measured. Two variables:
//! `CALIBAN_BENCH_RUNS` is the number of runs of each (5), `CALIBAN_BENCH_PROGRAM` another binary.

#![allow(clippy::expect_used, clippy::panic)]

mod figures;
mod headless;
mod model;
mod process;
mod record;
mod terminal;
mod workspace;
mod yardstick;

use std::process::ExitCode;

use figures::{FIGURES, Figure};
use yardstick::Yardstick;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some((process::USAGE_FLAG, command)) = args.split_first().map(|(f, c)| (f.as_str(), c)) {
        return process::report_usage(command);
    }
    let words: Vec<&String> = args.iter().filter(|word| !word.starts_with('-')).collect();
    let runs = std::env::var("CALIBAN_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok());
    let runs: usize = runs.unwrap_or(5).max(1);
    println!("| figure | median of {runs} (least to most) | to reach |\n|---|---|---|");
    Yardstick::measure().print();
    let named = |figure: &&Figure| {
        words.is_empty() || words.iter().any(|word| figure.name.contains(word.as_str()))
    };
    for figure in FIGURES.iter().filter(named) {
        figure.measure(runs).print();
    }
    Yardstick::measure().print();
    ExitCode::SUCCESS
}
