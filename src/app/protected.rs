//! The files and folders of a session where edits are always asked about.

use std::path::{Path, PathBuf};

use super::Setup;
use crate::config::{self, MCP_FILE, Sources};
use crate::permission::{ProtectedPlace, Reason};
use crate::protocol::EnvOverlay;

/// Entries of caliban's own folders that decide what runs. An agent may work elsewhere in them, as
/// in a worktree.
const OWN: &[&str] = &[
    "agents",
    "commands",
    "config.toml",
    "keymap.toml",
    "models.toml",
    "skills",
    "trust.json",
    "trust.lock",
];

/// The same for `.caliban` and `.claude`, whoever writes there.
const CONFIG: &[&str] = &[
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
    /// Caliban's own folders, and all that this session reads rules, hooks, servers or definitions
    /// from, whether it is there or not. Touches nothing.
    pub(super) fn protected(&self) -> Vec<ProtectedPlace> {
        let mut places = Vec::new();
        let mut own = vec![&self.dirs.config, &self.dirs.data, &self.dirs.state];
        own.dedup();
        for folder in own {
            places.extend(folder_places(folder, OWN, &Reason::Own));
        }
        let home = self.home();
        let claude = home.iter().map(|home| home.join(".claude"));
        let claude = claude.chain(self.dirs.claude.clone());
        let folders = &self.loaded.project.folders;
        let project = folders
            .iter()
            .flat_map(|folder| [".caliban", ".claude"].map(|program| folder.join(program)));
        for folder in claude.chain(project) {
            places.extend(folder_places(&folder, CONFIG, &Reason::Config));
        }
        let files = self.rule_files().into_iter();
        let files = files.chain(folders.iter().map(|folder| folder.join(MCP_FILE)));
        let files = files.chain(home.map(|home| home.join(".claude.json")));
        places.extend(files.map(|file| ProtectedPlace::always(file, Reason::Config)));
        let env = self.command_env();
        let programs = env.program_folders().map(PathBuf::from);
        // What programs read at their start says what they start.
        let files = ["BASH_ENV", "RIPGREP_CONFIG_PATH", "GIT_CONFIG_GLOBAL"];
        let files = files.into_iter().filter_map(|name| env.get_os(name));
        let files = files.map(|file| self.as_bash_expands(Path::new(file)));
        let libraries = env.library_paths().map(PathBuf::from);
        let starting = programs.chain(libraries).chain(files);
        let starting = starting.filter(|path| path.is_absolute());
        places.extend(starting.map(|path| ProtectedPlace::below(path, Reason::Startup)));
        places
    }

    /// A path in a variable as bash expands it in the folder of the session.
    fn as_bash_expands(&self, file: &Path) -> PathBuf {
        let below = |starts: &[&str]| starts.iter().find_map(|start| file.strip_prefix(start).ok());
        match (below(&["~", "$HOME", "${HOME}"]), below(&["$PWD", "${PWD}"]), self.home()) {
            (Some(below), _, Some(home)) => home.join(below),
            (_, Some(below), _) => self.cwd.join(below),
            _ => self.cwd.join(file),
        }
    }

    /// The environment of commands.
    pub(super) fn command_env(&self) -> EnvOverlay {
        self.loaded.variables.over(&self.env)
    }

    /// The files that this session reads rules or servers from, also those that the command line names.
    fn rule_files(&self) -> Vec<PathBuf> {
        let Self { dirs, cwd, env, overrides, trust, .. } = self;
        let sources = Sources { dirs, cwd, env, overrides, trust };
        let servers = overrides.mcp_config.iter();
        let servers = servers.filter(|value| !value.trim_start().starts_with('{'));
        let servers = servers.map(|path| cwd.join(path));
        config::rule_files(&sources, &self.loaded.project).into_iter().chain(servers).collect()
    }
}

/// A folder, and its entries that are protected even for an agent that works in the folder.
fn folder_places<'a>(
    folder: &'a Path,
    entries: &'a [&str],
    reason: &'a Reason,
) -> impl Iterator<Item = ProtectedPlace> + 'a {
    let whole = ProtectedPlace::unless_inside(folder.to_owned(), reason.clone());
    let entry = |name: &&str| ProtectedPlace::always(folder.join(name), reason.clone());
    std::iter::once(whole).chain(entries.iter().map(entry))
}
