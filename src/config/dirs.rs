//! The user's folders: configuration, sessions, logs.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use super::env;
use super::error::ConfigError;
use crate::protocol::EnvOverlay;

/// The roots of the user's files. With `CALIBAN_HOME`, our own three are the same folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// `config.toml`, `keymap.toml`, `models.toml`, `agents/`.
    pub config: PathBuf,
    /// `sessions/`, `worktrees/`.
    pub data: PathBuf,
    /// `logs/`.
    pub state: PathBuf,
    /// `.claude` in the user's home, shared with another program. If absent, nothing of it is read.
    pub claude: Option<PathBuf>,
    /// `.agents` in the user's home, shared by several programs. If absent, nothing of it is read.
    pub shared: Option<PathBuf>,
}

impl Dirs {
    /// Returns the roots that the system defines: `XDG_*_HOME`, or the Library folder on a Mac.
    /// `CALIBAN_HOME` wins. It and `HOME` are resolved against `cwd` if relative. Touches no files.
    /// Meant for the start of the program: the system's rules are not in `overlay`.
    pub fn new(overlay: &EnvOverlay, cwd: &Path) -> Result<Self, ConfigError> {
        let set = |name: &str| overlay.get_os(name).filter(|value| !value.is_empty());
        let in_home = |name: &str| set("HOME").map(|home| cwd.join(home).join(name));
        let (claude, shared) = (in_home(".claude"), in_home(".agents"));
        if let Some(home) = set("CALIBAN_HOME") {
            let root = cwd.join(home);
            return Ok(Self {
                config: root.clone(),
                data: root.clone(),
                state: root,
                claude,
                shared,
            });
        }
        env::project_dirs()
            .map(|dirs| Self { claude, shared, ..Self::from_project_dirs(&dirs) })
            .ok_or(ConfigError::NoHome)
    }

    fn from_project_dirs(dirs: &ProjectDirs) -> Self {
        Self {
            config: dirs.config_dir().to_owned(),
            data: dirs.data_dir().to_owned(),
            // Not every system knows a place for state.
            state: dirs.state_dir().unwrap_or(dirs.data_dir()).to_owned(),
            claude: None,
            shared: None,
        }
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The user's additions to the model catalogue.
    pub fn models_file(&self) -> PathBuf {
        self.config.join("models.toml")
    }

    /// The user's keymap.
    pub fn keymap_file(&self) -> PathBuf {
        self.config.join("keymap.toml")
    }

    /// The user's theme files.
    pub fn themes(&self) -> PathBuf {
        self.config.join("themes")
    }

    /// The user's sub-agent definitions.
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// The worktrees of sub-agents.
    pub fn worktrees(&self) -> PathBuf {
        self.data.join("worktrees")
    }

    /// The folder of the log files.
    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(variables: &[(&str, &str)]) -> Result<Dirs, ConfigError> {
        let env: EnvOverlay = variables.iter().copied().collect();
        Dirs::new(&env, Path::new("/project"))
    }

    #[test]
    fn caliban_home_is_one_folder_for_all_and_relative_to_the_working_directory() {
        let dirs = dirs(&[("HOME", "/home/ann"), ("CALIBAN_HOME", "box")]).unwrap();
        assert_eq!(dirs.config_file(), Path::new("/project/box/config.toml"));
        assert_eq!(dirs.logs(), Path::new("/project/box/logs"));
        assert_eq!((&dirs.data, &dirs.state), (&dirs.config, &dirs.config));
        assert_eq!(dirs.claude.as_deref(), Some(Path::new("/home/ann/.claude")));
    }

    #[test]
    fn a_relative_home_counts_from_the_working_directory() {
        let dirs = dirs(&[("HOME", "ann"), ("CALIBAN_HOME", "box")]).unwrap();
        assert_eq!(dirs.claude.as_deref(), Some(Path::new("/project/ann/.claude")));
    }

    #[test]
    fn without_caliban_home_each_kind_of_file_has_the_place_that_the_system_gives_it() {
        let dirs = dirs(&[("CALIBAN_HOME", "")]).unwrap();
        for folder in [&dirs.config, &dirs.data, &dirs.state] {
            assert!(folder.is_absolute() && folder.ends_with("caliban"), "{folder:?}");
        }
        assert_eq!(dirs.config_file(), dirs.config.join("config.toml"));
    }
}
