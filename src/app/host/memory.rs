//! Where the files of instructions are, and their names on the screen.

use std::path::{Path, PathBuf};

use crate::config::SettingSources;
use crate::disk::ProjectScope;
use crate::memory::{Memory, MemorySources};
use crate::permission::Gate;
use crate::protocol::printable_path;

/// Where the instructions for agents are.
#[derive(Clone)]
pub struct MemoryPlaces {
    /// The user's configuration folder and `.claude` folder.
    pub own: PathBuf,
    pub claude: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub scope: ProjectScope,
    pub sources: SettingSources,
    /// Hides files that no agent may read.
    pub gate: Gate,
}

impl MemoryPlaces {
    /// The files that are read. May block.
    pub fn read(&self, cwd: &Path) -> Vec<PathBuf> {
        let sources = MemorySources {
            dir: cwd,
            own: &self.own,
            claude: self.claude.as_deref(),
            home: self.home.as_deref(),
            scope: &self.scope,
            project: self.sources.project,
            local: self.sources.local,
        };
        let unreadable = self.gate.unreadable(cwd, None);
        let memory = Memory::read(&sources, &|file| unreadable.contains(file));
        memory.files().map(Path::to_owned).collect()
    }

    /// A path as the user would name it.
    pub fn name(&self, path: &Path, cwd: &Path) -> String {
        let at_home = || Some(Path::new("~").join(path.strip_prefix(self.home.as_ref()?).ok()?));
        match path.strip_prefix(cwd) {
            Ok(below) => printable_path(below),
            Err(_) => printable_path(&at_home().unwrap_or_else(|| path.to_owned())),
        }
    }
}
