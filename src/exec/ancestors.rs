//! The processes above this one, and whether an agent is among them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::descendants::parent_of;
use crate::protocol::DEPTH_VARIABLE;

/// The name of this program as the kernel shows it.
const PROGRAM: &str = "caliban";

/// More processes than this are never above one another.
const LIMIT: usize = 1_000;

/// Whether a process above this one is caliban, or has inherited the environment of an agent's command.
///
/// Always false where there is no `/proc`. A daemon has left its ancestors behind and is not recognized.
#[must_use]
pub fn agent_above() -> bool {
    let own = i32::try_from(std::process::id()).ok();
    let above = std::iter::successors(own, |pid| parent_of(*pid).filter(|parent| *parent > 0));
    above.skip(1).take(LIMIT).any(|pid| is_agent(Path::new("/proc"), pid))
}

fn is_agent(proc: &Path, pid: i32) -> bool {
    let folder = proc.join(pid.to_string());
    let environ = fs::read(folder.join("environ")).unwrap_or_default();
    is_caliban(&folder) || environ.split(|byte| *byte == 0).any(is_depth)
}

/// Any value but the zero of a program that no agent has started.
fn is_depth(variable: &[u8]) -> bool {
    let value =
        variable.strip_prefix(DEPTH_VARIABLE.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
    value.is_some_and(|value| !value.is_empty() && value != b"0")
}

/// Whether the process is this program. A script that is only named like it, such as a launcher, is not: its
/// interpreter can be read, while the file of a running caliban cannot, except by root.
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

    /// A process of `/proc` with this name and environment, and a link to its program.
    fn process(comm: &str, environ: &str, exe: Option<&str>) -> bool {
        let proc = tempfile::tempdir().unwrap();
        let folder = proc.path().join("7");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("environ"), environ).unwrap();
        if let Some(exe) = exe {
            symlink(exe, folder.join("exe")).unwrap();
        }
        is_agent(proc.path(), 7)
    }

    #[test]
    fn an_agent_is_known_by_its_program_or_by_the_environment_it_hands_on() {
        assert!(process("caliban", "", None), "the link of a hidden process cannot be read");
        assert!(process("caliban", "", Some("/usr/bin/caliban")));
        assert!(process("caliban", "", Some("/usr/bin/caliban (deleted)")));
        assert!(process("bash", "A=1\0CALIBAN_DEPTH=2\0", Some("/bin/bash")));
        assert!(!process("caliban", "", Some("/bin/bash")), "a launcher script");
        assert!(!process("bash", "A=CALIBAN_DEPTH=1\0XCALIBAN_DEPTH=1\0", Some("/bin/bash")));
        assert!(!process("bash", "CALIBAN_DEPTH=0\0", Some("/bin/bash")));
    }
}
