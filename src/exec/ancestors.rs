//! Finds the agents among the processes above this one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::descendants::parent_of;
use super::supervise::{COMMAND, DEPTH};
use crate::protocol::DEPTH_VARIABLE;

/// The name of this program as the kernel shows it; `main` sets it.
const PROGRAM: &str = "caliban";

/// Upper bound on the number of processes in one chain of ancestors.
const MAX_ANCESTORS: usize = 1_000;

/// Returns the depth that the processes above this one report: the greatest depth that one of them
/// was started with, or 0 if no agent is above or there is no `/proc`.
///
/// Reads each process's environment where that is allowed. A supervisor also shows the depth of its
/// command among its arguments, which anybody may read. A caliban that shows nothing is the first
/// one.
pub fn depth_above() -> u32 {
    let own = i32::try_from(std::process::id()).ok();
    let above = std::iter::successors(own, |pid| parent_of(*pid).filter(|parent| *parent > 0));
    let depths = above.skip(1).take(MAX_ANCESTORS).map(|pid| depth_below(Path::new("/proc"), pid));
    depths.max().unwrap_or(0)
}

/// Returns the depth of a program that this process starts, as far as it is shown.
fn depth_below(proc: &Path, pid: i32) -> u32 {
    let folder = proc.join(pid.to_string());
    let environ = fs::read(folder.join("environ")).unwrap_or_default();
    let inherited = environ.split(|byte| *byte == 0).filter_map(depth_of).max();
    let own = is_caliban(&folder).then(|| supervised(&folder).unwrap_or(1));
    inherited.max(own).unwrap_or(0)
}

/// Parses the depth that a variable names. A value that is not a number was an agent's too.
fn depth_of(variable: &[u8]) -> Option<u32> {
    let value = variable
        .strip_prefix(DEPTH_VARIABLE.as_bytes())
        .and_then(|rest| rest.strip_prefix(b"="))?;
    match str::from_utf8(value).ok().and_then(|text| text.parse().ok()) {
        Some(depth) => Some(depth),
        None => (!value.is_empty()).then_some(1),
    }
}

/// Returns the depth of a supervisor's command; `None` if the process is not a supervisor.
fn supervised(folder: &Path) -> Option<u32> {
    let line = fs::read_to_string(folder.join("cmdline")).ok()?;
    let words: Vec<&str> = line.split('\0').collect();
    match words[..] {
        [_, COMMAND, DEPTH, depth, ..] => depth.parse().ok(),
        _ => None,
    }
}

/// Whether the process is this program. A script that only shares the name, such as a launcher, is
/// not: its interpreter can be read, while the file of a running caliban cannot, except by root.
fn is_caliban(folder: &Path) -> bool {
    let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
    if name.trim_end() != PROGRAM {
        return false;
    }
    let Ok(file) = fs::read_link(folder.join("exe")) else { return true };
    file.file_name().map(OsStr::as_bytes).is_some_and(|name| name.starts_with(PROGRAM.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns the depth shown by a process of `/proc` with this name, environment and program.
    fn shown(comm: &str, environ: &str, exe: Option<&str>, cmdline: &str) -> u32 {
        let proc = tempfile::tempdir().unwrap();
        let folder = proc.path().join("7");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("environ"), environ).unwrap();
        fs::write(folder.join("cmdline"), cmdline).unwrap();
        if let Some(exe) = exe {
            symlink(exe, folder.join("exe")).unwrap();
        }
        depth_below(proc.path(), 7)
    }

    #[test]
    fn an_agent_is_known_by_its_program_or_by_the_environment_it_hands_on() {
        let bash = |environ: &str| shown("bash", environ, Some("/bin/bash"), "bash\0");
        assert_eq!(shown("caliban", "", None, ""), 1, "the link of a hidden process is closed");
        assert_eq!(shown("caliban", "", Some("/usr/bin/caliban"), "caliban\0-p\0"), 1);
        assert_eq!(shown("caliban", "", Some("/usr/bin/caliban (deleted)"), ""), 1);
        assert_eq!(shown("caliban", "CALIBAN_DEPTH=2\0", None, ""), 2);
        assert_eq!(shown("caliban", "", Some("/bin/bash"), ""), 0, "a launcher script");
        assert_eq!(bash("A=1\0CALIBAN_DEPTH=2\0"), 2);
        assert_eq!(bash("CALIBAN_DEPTH=x\0"), 1);
        assert_eq!(bash("A=CALIBAN_DEPTH=1\0XCALIBAN_DEPTH=1\0CALIBAN_DEPTH=\0"), 0);
        assert_eq!(bash("CALIBAN_DEPTH=0\0"), 0);
    }

    #[test]
    fn a_supervisor_shows_the_depth_of_its_command_to_everybody() {
        let line = "caliban\0supervise\0--depth\x003\0";
        assert_eq!(shown("caliban", "", None, line), 3);
        assert_eq!(shown("bash", "", Some("/bin/bash"), line), 0);
        assert_eq!(shown("caliban", "", None, "caliban\0supervise\0--depth\0x\0"), 1);
    }
}
