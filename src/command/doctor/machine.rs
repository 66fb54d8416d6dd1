//! Checks the machine: git, sandbox support of the kernel, free disk space.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::statvfs::statvfs;
use tokio::process::Command;
use tokio::time::timeout;

use super::finding::{Finding, FindingState};
use crate::exec::sandbox::available;
use crate::protocol::EnvOverlay;

/// Free bytes below which storing may fail.
const LOW_SPACE: u64 = 100 << 20;

/// Free bytes below which to print a note.
const ENOUGH_SPACE: u64 = 1 << 30;

/// The timeout of a program that prints its version.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns the output of a program. The error is a few words.
pub(super) async fn output_of(
    program: &str,
    args: &[&str],
    env: &EnvOverlay,
    cwd: &Path,
    wait: Duration,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(cwd).env_clear().envs(env.iter());
    command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let output =
        timeout(wait, command.output()).await.map_err(|_| "it does not answer".to_owned())?;
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Checks that git is installed and can read this folder. `env` must not contain keys.
pub async fn git(env: EnvOverlay, cwd: PathBuf) -> Vec<Finding> {
    // A version manager's shim chooses git by the folder where it starts.
    let root = Path::new("/");
    let version = match output_of("git", &["--version"], &env, root, COMMAND_TIMEOUT).await {
        Ok(text) => text.trim().trim_start_matches("git version ").to_owned(),
        Err(why) => {
            let advice = "install it: agents use it to inspect changes, and worktrees need it";
            return vec![Finding::note("git", format!("git cannot be run ({why}); {advice}"))];
        }
    };
    let cwd = cwd.to_string_lossy();
    let look = ["-C", &cwd, "rev-parse", "--show-toplevel"];
    let inside = output_of("git", &look, &env, root, COMMAND_TIMEOUT).await;
    vec![match inside {
        Ok(root) => Finding::ok("git", format!("{version}, repository {}", root.trim())),
        Err(why) if why.contains("not a git repository") => {
            Finding::ok("git", format!("{version}; this folder is not in a repository"))
        }
        Err(why) => Finding::wrong("git", format!("git cannot read this repository: {why}")),
    }]
}

/// Checks that the kernel can restrict commands to reading, and an agent to its worktree.
pub fn sandbox() -> Finding {
    match available() {
        true => Finding::ok("sandbox", "the kernel can confine commands (Landlock)"),
        false => Finding::note(
            "sandbox",
            "this system cannot confine commands: commands that run without a question are checked but not confined, and agents with \
             `isolation: worktree` get no shell; this needs Linux 6.2 or newer with Landlock",
        ),
    }
}

/// Checks that sessions and logs can be stored in these folders. Of those on one disk, which all have
/// the same room, names only the first, unless something is wrong with another.
pub fn disk(folders: &[PathBuf]) -> Vec<Finding> {
    let mut disks = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    for folder in folders {
        let disk = existing(folder).metadata().ok().map(|found| found.dev());
        let found = check_space(folder);
        let known = disk.is_some() && disks.contains(&disk);
        if !known || found.state == FindingState::Wrong && !findings.contains(&found) {
            findings.push(found);
        }
        disks.push(disk);
    }
    findings
}

/// Returns the folder, or the closest one above it that exists.
fn existing(folder: &Path) -> &Path {
    folder.ancestors().find(|above| above.is_dir()).unwrap_or(folder)
}

fn check_space(folder: &Path) -> Finding {
    let shown = folder.display();
    let there = existing(folder);
    // Writing a temporary file is more reliable than checking permission bits.
    if let Err(error) = tempfile::Builder::new().prefix(".caliban-doctor-").tempfile_in(there) {
        return Finding::wrong("disk", format!("cannot write to {shown}: {error}"));
    }
    let free = match statvfs(there) {
        Ok(found) => found.blocks_available().saturating_mul(found.fragment_size()),
        Err(error) => return Finding::note("disk", format!("{shown}: {error}")),
    };
    let text = format!("{} free in {shown}", size(free));
    match free {
        0..LOW_SPACE => {
            Finding::wrong("disk", format!("{text}: storing sessions may fail; free some space"))
        }
        LOW_SPACE..ENOUGH_SPACE => Finding::note("disk", format!("{text}: free some space")),
        _ => Finding::ok("disk", text),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..ENOUGH_SPACE => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_takes_no_file_is_wrong_and_each_is_looked_at_once() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("not/there/yet");
        let found = disk(&[folder.clone(), folder]);
        assert_eq!(found.len(), 1);
        assert_ne!(found[0].state, FindingState::Wrong, "{found:?}");
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0, "nothing is left");
        assert_eq!(check_space(Path::new("/proc/self")).state, FindingState::Wrong);
        assert_eq!((size(5 << 20), size(3 << 30)), ("5 MB".to_owned(), "3 GB".to_owned()));
    }

    #[tokio::test]
    async fn git_that_is_not_there_is_told_of_and_is_no_failure() {
        let top = tempfile::tempdir().unwrap();
        let env: EnvOverlay = [("PATH", top.path().to_str().unwrap())].into_iter().collect();
        let found = git(env, top.path().to_owned()).await;
        assert_eq!(found[0].state, FindingState::Note, "{found:?}");
    }
}
