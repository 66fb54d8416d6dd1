//! Where the person's files are: configuration, sessions, logs.

use std::path::{Path, PathBuf};

use super::ConfigError;
use crate::protocol::EnvOverlay;

/// The three roots. With `CALIBAN_HOME` they are one and the same folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// `config.toml`, `models.toml`, `agents/`.
    pub config: PathBuf,
    /// `sessions/`.
    pub data: PathBuf,
    /// `logs/`.
    pub state: PathBuf,
}

impl Dirs {
    /// The roots by the rules of the platform: `XDG_*_HOME`, or the Library folder of a Mac. `CALIBAN_HOME` wins;
    /// a relative one is taken from `cwd`. Touches no files.
    pub fn new(env: &EnvOverlay, cwd: &Path) -> Result<Self, ConfigError> {
        if let Some(home) = env.get_os("CALIBAN_HOME").filter(|home| !home.is_empty()) {
            let root = cwd.join(home);
            return Ok(Self { config: root.clone(), data: root.clone(), state: root });
        }
        let home = absolute(env, "HOME").ok_or(ConfigError::NoHome)?;
        if cfg!(target_os = "macos") {
            let root = home.join("Library/Application Support/caliban");
            return Ok(Self { config: root.clone(), data: root.clone(), state: root });
        }
        let root = |variable: &str, default: &str| {
            absolute(env, variable).unwrap_or_else(|| home.join(default)).join("caliban")
        };
        Ok(Self {
            config: root("XDG_CONFIG_HOME", ".config"),
            data: root("XDG_DATA_HOME", ".local/share"),
            state: root("XDG_STATE_HOME", ".local/state"),
        })
    }

    /// The person's own configuration file.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The person's additions to the model catalogue.
    #[must_use]
    pub fn models_file(&self) -> PathBuf {
        self.config.join("models.toml")
    }

    /// The person's own sub-agent definitions.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// The folder of the log files.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }
}

/// A variable that must hold an absolute path; the XDG rules say to ignore any other.
fn absolute(env: &EnvOverlay, variable: &str) -> Option<PathBuf> {
    env.get_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(variables: &[(&str, &str)]) -> Result<Dirs, ConfigError> {
        let env: EnvOverlay = variables.iter().copied().collect();
        Dirs::new(&env, Path::new("/work"))
    }

    #[test]
    fn caliban_home_is_one_folder_for_all_and_relative_to_the_working_directory() {
        let dirs = dirs(&[("HOME", "/home/ann"), ("CALIBAN_HOME", "box")]).unwrap();
        assert_eq!(dirs.config_file(), Path::new("/work/box/config.toml"));
        assert_eq!(dirs.logs(), Path::new("/work/box/logs"));
        assert_eq!((&dirs.data, &dirs.state), (&dirs.config, &dirs.config));
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn xdg_variables_count_when_they_are_absolute() {
        let dirs = dirs(&[
            ("HOME", "/home/ann"),
            ("XDG_CONFIG_HOME", "/etc/ann"),
            ("XDG_DATA_HOME", "here"),
            ("CALIBAN_HOME", ""),
        ])
        .unwrap();
        assert_eq!(dirs.config, Path::new("/etc/ann/caliban"));
        assert_eq!(dirs.data, Path::new("/home/ann/.local/share/caliban"));
        assert_eq!(dirs.state, Path::new("/home/ann/.local/state/caliban"));
    }

    #[test]
    fn without_any_home_the_error_says_what_to_set() {
        let error = dirs(&[]).unwrap_err().to_string();
        assert_eq!(error, "There is no home directory to keep files in: set HOME or CALIBAN_HOME.");
    }
}
