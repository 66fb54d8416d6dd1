//! Looks at processes from outside, through `/proc`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use super::DEADLINE;

/// Sends a signal to one process, which may have ended a moment ago.
pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    match kill(pid, signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("cannot send {signal} to {pid}: {error}"),
    }
}

/// A time for `sleep` that no other test asks for, nor another run of the tests beside this one: it
/// marks a process.
pub fn marked_seconds(seconds: u32) -> String {
    format!("{seconds}.{:07}", std::process::id())
}

/// The processes whose command line has this unique text.
pub fn with_argument(marker: &str) -> Vec<u32> {
    all().filter(|pid| command_line(*pid).contains(marker)).collect()
}

/// Waits until no process has this unique text in its command line, for at most `limit`; answers
/// with those left. Nothing tells of the end of processes that are not our own children, so they
/// are looked for again and again.
pub async fn left_after(limit: Duration, marker: &str) -> Vec<u32> {
    let until = Instant::now() + limit;
    loop {
        let left = with_argument(marker);
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until a look from outside sees what is expected: where nothing tells of it, one looks
/// again and again.
pub async fn eventually(seen: impl Fn() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !seen() {
        assert!(Instant::now() < until, "waited in vain");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    all().filter(|candidate| parent(*candidate) == Some(pid)).collect()
}

/// The working directories of a process's threads: Linux lets each have its own.
pub fn cwds(pid: u32) -> BTreeSet<PathBuf> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    // A thread may end between the two looks.
    threads.filter_map(|thread| std::fs::read_link(thread.ok()?.path().join("cwd")).ok()).collect()
}

/// How long a process has been on a processor, itself and in the kernel, in clock ticks of 10 ms.
pub fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let times = after_name.split_whitespace().skip(11).take(2);
    times.map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Empty for a process that has gone, or is dead and waits to be reaped.
fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

/// A pipe that a command writes to when it has begun, so that nobody needs to look for it again and again.
#[derive(Debug)]
pub struct Fifo {
    closed: tokio::sync::oneshot::Receiver<Instant>,
}

impl Fifo {
    pub fn new(path: &Path) -> Self {
        mkfifo(path, Mode::S_IRWXU).unwrap();
        let (tell, closed) = tokio::sync::oneshot::channel();
        let path = path.to_owned();
        // Opening to read waits until somebody opens to write.
        std::thread::spawn(move || {
            let _ = std::fs::read(path).map(|_| tell.send(Instant::now()));
        });
        Self { closed }
    }

    /// Waits until a command has written to it.
    pub async fn opened(self) {
        self.closed().await;
    }

    /// Waits until no process holds it open for writing any more; says when that was.
    pub async fn closed(self) -> Instant {
        let waited = tokio::time::timeout(DEADLINE, self.closed).await;
        waited.expect("no command came to the pipe, or one holds it still").unwrap()
    }
}

/// The sockets of a process by their inodes: those that others could connect to, and how many there
/// are in all.
pub fn sockets(pid: u32) -> (Vec<String>, usize) {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let inode = |link: PathBuf| {
        let target = std::fs::read_link(link).ok()?;
        Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    let own: BTreeSet<_> = links.filter_map(|link| inode(link.ok()?.path())).collect();
    let table =
        |name: &str| std::fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default();
    let mut listening = Vec::new();
    for name in ["tcp", "tcp6", "unix"] {
        for line in table(name).lines().skip(1) {
            let columns: Vec<_> = line.split_whitespace().collect();
            // The state and the inode of a TCP socket; the flags and the inode of a local one.
            let (listens, inode) = match name {
                "unix" => (columns[3] == "00010000", columns[6]),
                _ => (columns[3] == "0A", columns[9]),
            };
            if listens && own.contains(inode) {
                listening.push(line.to_owned());
            }
        }
    }
    (listening, own.len())
}
