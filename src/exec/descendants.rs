//! Processes that a command started and that left its group: a group signal misses them, their ancestry does not.

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// A process at one moment; the start time tells it from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    started: u64,
    /// It is a zombie.
    dead: bool,
}

impl Process {
    /// Returns its number.
    pub fn pid(self) -> i32 {
        self.pid
    }

    /// Returns the same process as it is now; `None` once it is gone.
    fn refresh(self) -> Option<Self> {
        read_process(self.pid).filter(|now| now.started == self.started)
    }
}

/// Returns all processes below `roots`, read from `/proc`; empty where there is none.
pub fn descendants_of(roots: impl IntoIterator<Item = i32>) -> Vec<Process> {
    let all = all_processes().unwrap_or_default();
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

/// Returns the processes of a session that still run.
pub fn in_session(session: i32) -> Vec<Process> {
    let all = all_processes().unwrap_or_default();
    all.into_iter().filter(|process| process.session == session && !process.dead).collect()
}

/// Sends a signal to those of `processes` that are still the same processes.
pub fn signal(processes: &[Process], signal: Signal) {
    for process in processes.iter().filter(|process| process.refresh().is_some()) {
        // It may have ended in between.
        let _ = kill(Pid::from_raw(process.pid), signal);
    }
}

/// Sends a signal to the commands that a shell runs, or to the shell itself if it has become its
/// command.
pub fn signal_command(shell: i32, with: Signal) {
    let below = descendants_of([shell]);
    if below.is_empty() {
        // It may have ended just now.
        let _ = kill(Pid::from_raw(shell), with);
    }
    signal(&below, with);
}

/// Kills those of `processes` that are still the same processes and have left `group`.
pub fn kill_outside(group: i32, processes: &[Process]) {
    let outside: Vec<_> = processes
        .iter()
        .filter(|process| process.refresh().is_some_and(|now| now.group != group))
        .copied()
        .collect();
    signal(&outside, Signal::SIGKILL);
}

/// Whether any process of `group` or of `strays` still runs.
pub fn any_remain(group: i32, strays: &[Process]) -> bool {
    let runs = |stray: &Process| stray.refresh().is_some_and(|now| !now.dead);
    // Signal 0 also finds zombies, which can stay for long if nobody reaps them.
    let in_group = || {
        killpg(Pid::from_raw(group), None).is_ok()
            && all_processes()
                .is_none_or(|all| all.iter().any(|one| one.group == group && !one.dead))
    };
    strays.iter().any(runs) || in_group()
}

/// Returns all processes; `None` where there is no `/proc`.
fn all_processes() -> Option<Vec<Process>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(pids.filter_map(read_process).collect())
}

/// Returns the parent of a process; `None` where it cannot be seen.
pub fn parent_of(pid: i32) -> Option<i32> {
    read_process(pid).map(|process| process.parent)
}

fn read_process(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the fields that matter come after the last one.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    // Fields 3 to 6 and 22.
    let dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let started = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, group, session, started, dead })
}
