//! A clean world for the real binary: a home, a settings folder and a project, all thrown away afterwards.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::run::Run;
use super::server::Server;

/// The key that the binary is given; must never turn up in any output.
pub const KEY: &str = "sk-test-0123456789abcdef";

/// The directories and variables that runs of the binary share.
#[derive(Debug)]
pub struct World {
    root: tempfile::TempDir,
    env: Vec<(String, String)>,
    /// What the user's `config.toml` says of providers, whatever else a test writes into it.
    providers: String,
}

impl World {
    /// A world whose model APIs are the given server.
    pub fn new(server: &Server) -> Self {
        Self::at(&server.url())
    }

    /// A world whose model APIs are at this URL.
    pub fn at(url: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "settings", "project"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        let mut world = Self { root, env: Vec::new(), providers: String::new() };
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let home = world.root.path().join("home").display().to_string();
        let settings = world.settings_dir().display().to_string();
        world.env("PATH", &path);
        world.env("HOME", &home);
        world.env("CALIBAN_HOME", &settings);
        world.env("TERM", "xterm-256color");
        world.env("LANG", "C.UTF-8");
        world.env("ANTHROPIC_BASE_URL", url);
        world.env("ANTHROPIC_API_KEY", KEY);
        world.env("OPENAI_BASE_URL", &format!("{url}/v1"));
        world.env("OPENAI_API_KEY", KEY);
        world
    }

    /// Sets a variable of the binary's environment.
    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.unset(name).env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn unset(&mut self, name: &str) -> &mut Self {
        self.env.retain(|(other, _)| other != name);
        self
    }

    /// All variables of the binary's environment.
    pub fn variables(&self) -> &[(String, String)] {
        &self.env
    }

    /// The folder that holds all others.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The working directory of the binary.
    pub fn project_dir(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// What `HOME` names.
    pub fn home_dir(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// What `CALIBAN_HOME` names.
    pub fn settings_dir(&self) -> PathBuf {
        self.root.path().join("settings")
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, content: &str) {
        write(&self.project_dir().join(path), content);
    }

    /// Reads a file of the project.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.project_dir().join(path)).unwrap()
    }

    pub fn exists(&self, path: &str) -> bool {
        self.project_dir().join(path).exists()
    }

    /// Writes the user's `config.toml`.
    pub fn config(&self, toml: &str) {
        let toml = format!("{toml}{}", self.providers);
        write(&self.settings_dir().join("config.toml"), &toml);
    }

    /// Adds tables of providers to the user's `config.toml`, in which they stay last.
    pub fn providers(&mut self, toml: &str) {
        self.providers.push_str(toml);
        self.config("");
    }

    /// Writes the user's `models.toml`.
    pub fn models(&self, toml: &str) {
        write(&self.settings_dir().join("models.toml"), toml);
    }

    /// Writes a file below the user's home.
    pub fn home(&self, path: &str, content: &str) {
        write(&self.home_dir().join(path), content);
    }

    /// Writes a program of the user's, a shell script, which `PATH` finds first.
    pub fn program(&mut self, name: &str, script: &str) {
        let bin = self.root.path().join("tools/bin");
        executable(&bin.join(name), script);
        let path = self.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        let path = path.filter(|path| !path.starts_with(bin.to_str().unwrap()));
        if let Some(path) = path {
            self.env("PATH", &format!("{}:{path}", bin.display()));
        }
    }

    /// Writes a sub-agent definition of the user.
    pub fn agent(&self, name: &str, definition: &str) {
        write(&self.settings_dir().join(format!("agents/{name}.md")), definition);
    }

    /// Accepts what the project brings, and that the user's own entries start in it.
    pub fn trust(&self) {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_caliban"));
        command.arg("trust").current_dir(self.project_dir()).env_clear();
        let done = command.envs(self.env.iter().cloned()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    /// A run of the binary with these arguments.
    pub fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Run<'_> {
        Run::new(self, args)
    }

    /// The folders of the stored sessions, oldest first.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.settings_dir().join("sessions")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut folders: Vec<_> = paths.filter(|path| path.is_dir()).collect();
        folders.sort();
        folders
    }

    /// The one stored session.
    pub fn session(&self) -> PathBuf {
        let sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "expected one session: {sessions:?}");
        sessions[0].clone()
    }

    /// The transcripts of the one session's sub-agents.
    pub fn child_transcripts(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.session().join("agents")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|ext| ext == "jsonl")).collect();
        files.sort();
        files
    }

    /// All that was logged.
    pub fn log(&self) -> String {
        let mut all = String::new();
        if let Ok(entries) = std::fs::read_dir(self.settings_dir().join("logs")) {
            for entry in entries {
                all += &std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
            }
        }
        all
    }
}

/// Writes a shell script that can be started.
pub fn executable(path: &Path, script: &str) {
    write(path, &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
