//! What the machine brings: git, a kernel that can confine, room on the disk.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::statvfs::statvfs;
use tokio::process::Command;
use tokio::time::timeout;

use super::Finding;
use crate::exec::sandbox::available;
use crate::protocol::EnvOverlay;

/// With less than this nothing can be relied on to be kept. Bytes.
const LITTLE: u64 = 100 << 20;

/// Less than this is worth a word. Bytes.
const SOME: u64 = 1 << 30;

/// How long a program may take that only tells its version.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a program prints. The error is in words.
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

/// Whether git is there, and knows this folder. `env` holds no keys.
pub async fn git(env: EnvOverlay, cwd: PathBuf) -> Vec<Finding> {
    // A version manager's git would look for another one from the folder where it starts.
    let root = Path::new("/");
    let version = match output_of("git", &["--version"], &env, root, PATIENCE).await {
        Ok(text) => text.trim().trim_start_matches("git version ").to_owned(),
        Err(why) => {
            let advice = "install it: agents look at changes with it, and those with a worktree of their own need it";
            return vec![Finding::note("git", format!("git cannot be run ({why}); {advice}"))];
        }
    };
    let cwd = cwd.to_string_lossy();
    let look = ["-C", &cwd, "rev-parse", "--show-toplevel"];
    let inside = output_of("git", &look, &env, root, PATIENCE).await;
    vec![match inside {
        Ok(root) => Finding::ok("git", format!("{version}, repository {}", root.trim())),
        Err(why) if why.contains("not a git repository") => {
            Finding::ok("git", format!("{version}; this folder is in no repository"))
        }
        Err(why) => Finding::wrong("git", format!("git cannot read this repository: {why}")),
    }]
}

/// Whether the kernel can keep commands to reading, and an agent inside its worktree.
#[must_use]
pub fn sandbox() -> Finding {
    match available() {
        true => Finding::ok("sandbox", "the kernel can confine commands (Landlock)"),
        false => Finding::note(
            "sandbox",
            "this system cannot confine commands: commands that run without a question are checked but not confined, and agents with \
             `isolation: worktree` get no shell; it takes Linux 6.2 or newer, with Landlock",
        ),
    }
}

/// Whether sessions and logs can be kept in these folders.
#[must_use]
pub fn disk(folders: &[PathBuf]) -> Vec<Finding> {
    let mut seen = Vec::new();
    let fresh = folders.iter().filter(|folder| {
        let is_new = !seen.contains(*folder);
        seen.push((*folder).clone());
        is_new
    });
    fresh.map(|folder| room(folder)).collect()
}

fn room(folder: &Path) -> Finding {
    let shown = folder.display();
    let there = folder.ancestors().find(|above| above.is_dir()).unwrap_or(folder);
    // A file that vanishes at once says more than any permission bit.
    if let Err(error) = tempfile::Builder::new().prefix(".caliban-doctor-").tempfile_in(there) {
        return Finding::wrong("disk", format!("nothing can be written in {shown}: {error}"));
    }
    let free = match statvfs(there) {
        Ok(found) => found.blocks_available().saturating_mul(found.fragment_size()),
        Err(error) => return Finding::note("disk", format!("{shown}: {error}")),
    };
    let text = format!("{} free in {shown}", size(free));
    match free {
        0..LITTLE => {
            Finding::wrong("disk", format!("{text}: sessions may not be kept; free some room"))
        }
        LITTLE..SOME => Finding::note("disk", format!("{text}: free some room")),
        _ => Finding::ok("disk", text),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..SOME => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_folder_that_takes_no_file_is_wrong_and_each_is_looked_at_once() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("not/there/yet");
        let found = disk(&[folder.clone(), folder]);
        assert_eq!(found.len(), 1);
        assert_ne!(found[0].state, State::Wrong, "{found:?}");
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0, "nothing is left");
        assert_eq!(room(Path::new("/proc/self")).state, State::Wrong);
        assert_eq!((size(5 << 20), size(3 << 30)), ("5 MB".to_owned(), "3 GB".to_owned()));
    }

    #[tokio::test]
    async fn git_that_is_not_there_is_told_of_and_is_no_failure() {
        let top = tempfile::tempdir().unwrap();
        let env: EnvOverlay = [("PATH", top.path().to_str().unwrap())].into_iter().collect();
        let found = git(env, top.path().to_owned()).await;
        assert_eq!(found[0].state, State::Note, "{found:?}");
    }
}
