//! How a shell says in which directory it ended, without a trace in its output.

use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::protocol::EnvOverlay;

/// A private folder for one command: the start file that bash reads, and the file where it leaves its directory.
/// Gone when this is dropped; the command's watchdog removes it when this program is killed.
pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// Where such folders are made: in TMPDIR if that is the absolute path of a folder, else in `/tmp`.
    pub fn root(env: &EnvOverlay) -> PathBuf {
        let own = env.non_empty("TMPDIR").map(PathBuf::from);
        own.filter(|folder| folder.is_absolute() && folder.is_dir())
            .unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// Makes the folder under `root`. A start file that the person has set is read first, as bash would.
    pub fn new(root: &Path, env: &EnvOverlay) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let folder = builder
            .prefix("caliban-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(root)?;
        let scratch = Self { folder };
        let own = match env.get("BASH_ENV") {
            Some(own) => format!("BASH_ENV={}\n. \"$BASH_ENV\"", quoted(own)),
            None => "unset BASH_ENV".to_owned(),
        };
        let end = scratch.end_file();
        // Tracing is off and errors are silent in there: a command's output holds nothing of ours.
        let leave = format!(
            "{{ set +x; builtin pwd -P >|{} || :; }} 2>/dev/null",
            quoted(&end.to_string_lossy())
        );
        std::fs::write(
            scratch.path().join("start"),
            format!("{own}\ntrap {} EXIT\n", quoted(&leave)),
        )?;
        Ok(scratch)
    }

    /// The folder. Bash reads `start` in it first and leaves `end`.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The directory in which the shell ended, unless it was killed, replaced by another program or left in none.
    pub fn end_directory(&self) -> Option<PathBuf> {
        let mut path = std::fs::read(self.end_file()).ok()?;
        if path.pop() != Some(b'\n') || path.is_empty() {
            return None;
        }
        let path = PathBuf::from(OsString::from_vec(path));
        path.is_dir().then_some(path)
    }

    fn end_file(&self) -> PathBuf {
        self.folder.path().join("end")
    }
}

/// `text` as one word of shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
