//! Processes that a command started and that left its group: a group signal misses them, their ancestry does not.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// One process at one moment; the start time tells it from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    started: u64,
}

impl Process {
    /// Its number.
    pub fn pid(self) -> i32 {
        self.pid
    }
}

/// All processes below `roots`, read from `/proc`; empty where there is none.
pub fn below(roots: impl IntoIterator<Item = i32>) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<Process> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(look_up)
        .collect();
    let mut found = Vec::new();
    let mut parents: Vec<i32> = roots.into_iter().collect();
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.pid);
            found.push(*child);
        }
    }
    found
}

/// Kills those of `processes` that still are the same processes and have left `group`.
pub fn kill_outside(group: i32, processes: &[Process]) {
    for process in processes {
        let now = look_up(process.pid);
        if now.is_some_and(|now| now.started == process.started && now.group != group) {
            // It may end by itself in between.
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
    }
}

fn look_up(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the fields that matter come after the last one.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
    // Fields 4, 5 and 22.
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(Process { pid, parent, group, started })
}
