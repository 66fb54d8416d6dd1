//! How a shell reports the directory in which it ended: over a separate pipe, with no trace in its
//! output or on disk.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tokio::process::ChildStderr;

use super::env::GIT_SETTINGS;
use crate::protocol::{EnvOverlay, LINE_VARIABLES};

/// The descriptor of the pipe while a command runs: higher than any a script picks by hand.
const PIPE: u8 = 19;

/// More than the longest path, in bytes.
const MAX_PATH_BYTES: u64 = 16 * 1024;

/// Makes `cd` go where its argument says, as the gate assumes: a `..` leaves the folder that a link
/// leads to, and neither a search path nor the value of a variable nor a near match stands in for
/// the path as written. `~-` is not a folder of the shell that started caliban.
const PLAIN_CD: &str = "set -P\nunset -v CDPATH OLDPWD\nshopt -u cdable_vars cdspell";

/// Goes back to where the shell was before it read a start file.
const STAY: &str = r#"[ "$PWD" = "$CALIBAN_START" ] || builtin cd -- "$CALIBAN_START" || exit
unset -v CALIBAN_START"#;

/// Returns the file that the user has bash read before each command. A relative one would be a file
/// of the folder in which the command starts, and is not read.
pub fn start_file(env: &EnvOverlay) -> Option<&str> {
    env.get("BASH_ENV").filter(|file| file.starts_with('/'))
}

/// Returns the text that bash reads before the command. It gets this text at descriptor 4 and the
/// pipe at 5, and closes both. A start file that the user has set is read too, as bash would; it
/// does not decide where the command runs.
pub fn start_text(env: &EnvOverlay) -> String {
    let own = match start_file(env) {
        Some(own) => format!(
            "CALIBAN_START=$PWD BASH_ENV={}\n. \"$BASH_ENV\"\n{PLAIN_CD}\n{}\n{STAY}\n{}",
            quoted(own),
            keep_line_variables(),
            git_settings(),
        ),
        None => format!("unset BASH_ENV\n{PLAIN_CD}\n{}", keep_line_variables()),
    };
    // Turn tracing and errors off: a command's output must hold nothing of ours.
    let leave = format!("{{ set +x; builtin pwd -P >&{PIPE} || :; }} 2>/dev/null");
    format!("exec {PIPE}>&5 5>&- 4<&-\n{own}\ntrap {} EXIT", quoted(&leave))
}

/// Hands the variables that a line sets for itself to no program, and their values from elsewhere to no
/// line, also where the environment or the start file exports them.
fn keep_line_variables() -> String {
    let names = LINE_VARIABLES.join(" ");
    // One that the start file makes read-only keeps its value.
    format!("set +a\nexport -n {{a..z}} {names}\nunset -v {{a..z}} {names} 2>/dev/null")
}

/// Sets our git settings once more: a start file that sets some of its own replaces all of them.
fn git_settings() -> String {
    let set = GIT_SETTINGS.iter().enumerate().map(|(number, (key, value))| {
        let at = format!("$((${{GIT_CONFIG_COUNT:-0}}+{number}))");
        format!("export \"GIT_CONFIG_KEY_{at}={key}\" \"GIT_CONFIG_VALUE_{at}={value}\"\n")
    });
    let count = GIT_SETTINGS.len();
    set.chain([format!("export GIT_CONFIG_COUNT=$((${{GIT_CONFIG_COUNT:-0}}+{count}))")]).collect()
}

/// Returns the directory in which the shell ended, unless it was killed, replaced by another
/// program or left in none. Does not wait for processes that still hold the pipe.
pub fn read_end_directory(pipe: ChildStderr) -> Option<PathBuf> {
    let pipe = File::from(pipe.into_owned_fd().ok()?);
    // A process that has left the group may hold the other end forever.
    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
    let mut path = Vec::new();
    // While the pipe is still open elsewhere, running out of data is an error.
    let _ = pipe.take(MAX_PATH_BYTES).read_to_end(&mut path);
    if path.pop() != Some(b'\n') || path.is_empty() {
        return None;
    }
    let path = PathBuf::from(OsString::from_vec(path));
    path.is_dir().then_some(path)
}

/// Quotes `text` as one shell word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
