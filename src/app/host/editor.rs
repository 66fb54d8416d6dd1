//! Opens files in the user's editor.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::process::{Child, Command};

use super::LocalHost;
use crate::exec::{child_env, signal_command};
use crate::protocol::printable_path;

/// How long an editor may take to end after SIGTERM.
const END_WAIT: Duration = Duration::from_secs(2);

/// The editors that are tried if no variable names one.
const USUAL_EDITORS: [&str; 2] = ["vi", "nano"];

/// The exit code of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

impl LocalHost {
    /// Opens a file, which need not exist.
    pub(super) async fn edit_file(&self, path: &Path) -> Result<(), String> {
        if let Some(folder) = path.parent() {
            tokio::fs::create_dir_all(folder)
                .await
                .map_err(|error| format!("cannot create {}: {error}", printable_path(folder)))?;
        }
        self.run_editor(path).await
    }

    /// Opens a draft and returns the text that the user saved.
    pub(super) async fn edit(&self, draft: &str) -> Result<String, String> {
        let file =
            tempfile::Builder::new().prefix("caliban-").suffix(".md").tempfile_in(self.temp_dir());
        let file = file.map_err(|error| format!("no file for the editor: {error}"))?;
        tokio::fs::write(file.path(), format!("{draft}\n"))
            .await
            .map_err(|error| error.to_string())?;
        self.run_editor(file.path()).await?;
        let text = tokio::fs::read_to_string(file.path()).await;
        text.map(|text| text.trim_end().to_owned()).map_err(|error| error.to_string())
    }

    /// Opens a file in the user's editor and waits for its end.
    async fn run_editor(&self, file: &Path) -> Result<(), String> {
        // A project's program with the name of an editor must not run.
        let env = self.project.without_programs(&child_env(&self.env, 0, &self.secrets));
        let editor = self.env.non_empty("VISUAL").or_else(|| self.env.non_empty("EDITOR"));
        let is_installed = |name: &&str| {
            env.program_folders().any(|folder| folder.is_absolute() && folder.join(name).is_file())
        };
        let editor = editor.or_else(|| USUAL_EDITORS.into_iter().find(is_installed));
        let editor = editor.ok_or("no editor: set VISUAL or EDITOR")?;
        let mut shell = Command::new("/bin/sh")
            .args(["-c", &format!("{editor} \"$1\""), "sh"])
            .arg(file)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(env.iter())
            .stdin(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("{editor} could not be started: {error}"))?;
        let status = tokio::select! {
            status = shell.wait() => status,
            () = self.closing.cancelled() => end(&mut shell).await,
        };
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) if status.code() == Some(NOT_FOUND) => {
                let program = editor.split_whitespace().next().unwrap_or(editor);
                Err(format!(
                    "there is no program {program}: set VISUAL or EDITOR to one that you have"
                ))
            }
            Ok(status) => Err(format!("{editor} ended with {status}")),
            Err(error) => Err(format!("{editor}: {error}")),
        }
    }

    fn temp_dir(&self) -> PathBuf {
        self.env.non_empty("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }
}

/// Asks the editor that a shell runs to end, so that it can save what is typed, and kills it if it
/// does not.
async fn end(shell: &mut Child) -> io::Result<ExitStatus> {
    let Some(id) = shell.id().and_then(|id| i32::try_from(id).ok()) else {
        return shell.wait().await;
    };
    signal_command(id, Signal::SIGTERM);
    if let Ok(status) = tokio::time::timeout(END_WAIT, shell.wait()).await {
        return status;
    }
    signal_command(id, Signal::SIGKILL);
    // Its command may be more than the editor.
    shell.start_kill()?;
    shell.wait().await
}
