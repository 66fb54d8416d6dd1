//! Looks at processes from outside, through `/proc`.

use std::path::{Path, PathBuf};

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

/// The processes whose command line has this unique text.
pub fn with_argument(marker: &str) -> Vec<u32> {
    all().filter(|pid| command_line(*pid).contains(marker)).collect()
}

/// The children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    all().filter(|candidate| parent(*candidate) == Some(pid)).collect()
}

/// The working directory of a process.
pub fn cwd(pid: u32) -> PathBuf {
    std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap()
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
    opened: tokio::sync::oneshot::Receiver<()>,
}

impl Fifo {
    pub fn new(path: &Path) -> Self {
        mkfifo(path, Mode::S_IRWXU).unwrap();
        let (tell, opened) = tokio::sync::oneshot::channel();
        let path = path.to_owned();
        // Opening to read waits until somebody opens to write.
        std::thread::spawn(move || {
            let _ = std::fs::read(path).map(|_| tell.send(()));
        });
        Self { opened }
    }

    /// Waits until a command has written to it.
    pub async fn opened(self) {
        let waited = tokio::time::timeout(DEADLINE, self.opened).await;
        waited.expect("no command came to the pipe").unwrap();
    }
}
