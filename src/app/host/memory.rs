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
        name_from(path, cwd, self.home.as_deref())
    }
}

/// A path from the working directory, in it and in the folders above, else from home.
fn name_from(path: &Path, cwd: &Path, home: Option<&Path>) -> String {
    let at_home = || Some(Path::new("~").join(path.strip_prefix(home?).ok()?));
    let above = || {
        let folder = path.parent().filter(|folder| Some(*folder) != home)?;
        let levels = cwd.strip_prefix(folder).ok()?.components();
        let up: PathBuf = levels.map(|_| Path::new("..")).collect();
        Some(up.join(path.file_name()?))
    };
    match path.strip_prefix(cwd) {
        Ok(below) => printable_path(below),
        Err(_) => printable_path(&above().or_else(at_home).unwrap_or_else(|| path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_the_working_directory_or_from_home() {
        for (path, cwd, name) in [
            ("/srv/shop/AGENTS.md", "/srv/shop", "AGENTS.md"),
            ("/srv/shop/AGENTS.md", "/srv/shop/src", "../AGENTS.md"),
            ("/srv/shop/AGENTS.md", "/srv/shop/src/a", "../../AGENTS.md"),
            ("/home/ann/AGENTS.md", "/home/ann/shop", "~/AGENTS.md"),
            ("/home/ann/.config/caliban/AGENTS.md", "/srv", "~/.config/caliban/AGENTS.md"),
            ("/etc/AGENTS.md", "/srv", "/etc/AGENTS.md"),
        ] {
            let home = Some(Path::new("/home/ann"));
            assert_eq!(name_from(Path::new(path), Path::new(cwd), home), name);
        }
    }
}
