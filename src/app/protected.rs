//! The protected files and folders of a session, whose edits always need approval.

use std::path::{Path, PathBuf};

use super::setup::Setup;
use crate::config::{self, ConfigSources, MCP_FILE};
use crate::permission::{ProtectedPlace, ProtectionReason};
use crate::protocol::EnvOverlay;

/// Entries of caliban's own folders that control what runs. Agents may work elsewhere in them, for
/// example in a worktree.
const OWN_ENTRIES: &[&str] = &[
    "agents",
    "choices.json",
    "choices.lock",
    "commands",
    "config.toml",
    "keymap.toml",
    "models.toml",
    "skills",
    "themes",
    "trust.json",
    "trust.lock",
];

/// Such entries of `.caliban`, `.claude` and `.agents` folders.
const CONFIG_ENTRIES: &[&str] = &[
    "agents",
    "commands",
    "config.local.toml",
    "config.toml",
    "hooks",
    "settings.json",
    "settings.local.json",
    "skills",
];

impl Setup {
    /// Returns caliban's own folders, and all sources of this session's rules, hooks, servers and
    /// definitions, whether they exist or not. Does not access the disk.
    pub(crate) fn protected(&self) -> Vec<ProtectedPlace> {
        let mut places = Vec::new();
        let mut own = vec![&self.dirs.config, &self.dirs.data, &self.dirs.state];
        own.dedup();
        for folder in own {
            places.extend(folder_places(folder, OWN_ENTRIES, &ProtectionReason::Own));
        }
        let home = self.home();
        let agent_folders =
            home.iter().flat_map(|home| [".claude", ".agents"].map(|name| home.join(name)));
        let agent_folders =
            agent_folders.chain(self.dirs.claude.clone()).chain(self.dirs.shared.clone());
        let folders = &self.loaded.project.folders;
        let project = folders
            .iter()
            .flat_map(|folder| [".caliban", ".claude", ".agents"].map(|name| folder.join(name)));
        for folder in agent_folders.chain(project) {
            places.extend(folder_places(&folder, CONFIG_ENTRIES, &ProtectionReason::Config));
        }
        let files = self.rule_files().into_iter();
        let files = files.chain(folders.iter().map(|folder| folder.join(MCP_FILE)));
        let files = files.chain(home.map(|home| home.join(".claude.json")));
        places.extend(files.map(|file| ProtectedPlace::always(file, ProtectionReason::Config)));
        let env = self.command_env();
        let programs = env.program_folders().map(PathBuf::from);
        // Startup files of programs control what they run.
        let files = ["BASH_ENV", "RIPGREP_CONFIG_PATH", "GIT_CONFIG_GLOBAL"];
        let files = files.into_iter().filter_map(|name| env.get_os(name));
        let files = files.map(|file| self.as_bash_expands(Path::new(file)));
        let libraries = env.library_paths().map(PathBuf::from);
        let starting = programs.chain(libraries).chain(files);
        let starting = starting.filter(|path| path.is_absolute());
        places.extend(starting.map(|path| ProtectedPlace::below(path, ProtectionReason::Startup)));
        places
    }

    /// Returns a path of a variable as bash expands it in the folder of the session.
    fn as_bash_expands(&self, file: &Path) -> PathBuf {
        let below = |starts: &[&str]| starts.iter().find_map(|start| file.strip_prefix(start).ok());
        match (below(&["~", "$HOME", "${HOME}"]), below(&["$PWD", "${PWD}"]), self.home()) {
            (Some(below), _, Some(home)) => home.join(below),
            (_, Some(below), _) => self.cwd.join(below),
            _ => self.cwd.join(file),
        }
    }

    /// Returns the environment of commands.
    pub(crate) fn command_env(&self) -> EnvOverlay {
        self.loaded.variables.apply_to(&self.env)
    }

    /// Returns the files that this session reads rules or servers from, including those of the command line.
    fn rule_files(&self) -> Vec<PathBuf> {
        let Self { dirs, cwd, env, overrides, trust, .. } = self;
        let sources = ConfigSources { dirs, cwd, env, overrides, trust };
        let servers = overrides.mcp_config.iter();
        let servers = servers.filter(|value| !value.trim_start().starts_with('{'));
        let servers = servers.map(|path| cwd.join(path));
        config::rule_files(&sources, &self.loaded.project).into_iter().chain(servers).collect()
    }
}

/// Returns a folder, and its entries that are protected even from an agent that works in the folder.
fn folder_places<'a>(
    folder: &'a Path,
    entries: &'a [&str],
    reason: &'a ProtectionReason,
) -> impl Iterator<Item = ProtectedPlace> + 'a {
    let whole = ProtectedPlace::unless_inside(folder.to_owned(), reason.clone());
    let entry = |name: &&str| ProtectedPlace::always(folder.join(name), reason.clone());
    std::iter::once(whole).chain(entries.iter().map(entry))
}
