//! Figures of `caliban -p`: whole processes, from start to exit.

use std::time::Duration;

use super::model::{Answer, ModelServer};
use super::process::{ProcessUsage, usage};
use super::workspace::{Workspace, program};

fn run(server: &ModelServer) -> ProcessUsage {
    let workspace = Workspace::new(&server.url());
    usage(&program(), &["-p", "go"], &workspace.env(), &workspace.project())
}

fn text(pieces: impl Iterator<Item = String> + Send + 'static, pause: Duration) -> Answer {
    Answer::Text { pieces: Box::new(pieces), pause }
}

fn word(word: &str, pause: Duration) -> Answer {
    text(std::iter::once(word.to_owned()), pause)
}

pub fn one_answer() -> Vec<(&'static str, f64)> {
    let server = ModelServer::start(|_, _| word("hello", Duration::ZERO));
    let used = run(&server);
    vec![("ms", used.wall_ms), ("ms CPU", used.cpu_ms), ("MB peak", used.peak_mb)]
}

pub fn fifty_agents() -> Vec<(&'static str, f64)> {
    let server = ModelServer::start(|first, turn| match (first.contains("child"), turn) {
        (true, _) => word("done", Duration::from_millis(300)),
        (false, 0) => Answer::Agents((0..50).map(|n| format!("child {n} of many")).collect()),
        (false, _) => word("all done", Duration::ZERO),
    });
    let used = run(&server);
    vec![("ms", used.wall_ms), ("MB peak", used.peak_mb)]
}

pub fn list_lines() -> Vec<(&'static str, f64)> {
    let server = ModelServer::start(|_, _| {
        let line = |n| format!("- item {n} of the list, with a few words and some `code`\n");
        text((0..2_000).map(line), Duration::ZERO)
    });
    let used = run(&server);
    vec![("ms", used.wall_ms), ("ms CPU", used.cpu_ms), ("MB peak", used.peak_mb)]
}
