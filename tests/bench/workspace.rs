//! A throw-away home, settings folder and project, and the binary to measure.

use std::path::{Path, PathBuf};

/// The settings that all figures share: room for a thousand sub-agents, and nothing is asked.
const CONFIG: &str = r#"
[model]
provider = "anthropic"
name = "claude-sonnet-5"
[subagents]
max_children_per_agent = 2000
max_concurrent_agents = 2000
max_children_total = 5000
max_concurrent_ops = 2000
"#;

/// The folders of one run. Dropping it removes them.
pub struct Workspace {
    root: tempfile::TempDir,
    url: String,
}

impl Workspace {
    /// Creates folders whose settings name the model server at this address.
    pub fn new(url: &str) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["home", "settings", "project"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        std::fs::write(root.path().join("settings/config.toml"), CONFIG).expect("the settings");
        Self { root, url: url.to_owned() }
    }

    /// The working directory of the program.
    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// The folder that `CALIBAN_HOME` names.
    pub fn settings(&self) -> PathBuf {
        self.root.path().join("settings")
    }

    /// The whole environment of the program.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        let path = |folder: &str| self.root.path().join(folder).display().to_string();
        vec![
            ("PATH", std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned())),
            ("HOME", path("home")),
            ("CALIBAN_HOME", path("settings")),
            ("TERM", "xterm-256color".to_owned()),
            ("COLORTERM", "truecolor".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("ANTHROPIC_BASE_URL", self.url.clone()),
            ("ANTHROPIC_API_KEY", "sk-bench".to_owned()),
        ]
    }
}

/// The binary to measure.
pub fn program() -> PathBuf {
    std::env::var_os("CALIBAN_BENCH_PROGRAM")
        .map_or_else(|| Path::new(env!("CARGO_BIN_EXE_caliban")).to_owned(), PathBuf::from)
}
