//! The project around the working directory: its root, and the folder that holds its configuration.

use std::path::{Path, PathBuf};

use crate::protocol::RuleFile;

/// Where the working directory belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// From the working directory up to the repository's root (the folder with `.git`), nearest first.
    /// Outside of a repository: the working directory alone.
    pub folders: Vec<PathBuf>,
    /// The nearest of `folders` with a `.caliban` configuration; the root when none has one.
    pub config_root: PathBuf,
}

impl Project {
    /// Looks from `cwd` upward. Reads no file.
    #[must_use]
    pub fn discover(cwd: &Path) -> Self {
        let repository = cwd.ancestors().find(|folder| folder.join(".git").exists());
        let root = repository.unwrap_or(cwd);
        let folders: Vec<PathBuf> = cwd
            .ancestors()
            .take_while(|folder| folder.starts_with(root))
            .map(Path::to_owned)
            .collect();
        let configured = folders.iter().find(|folder| {
            [RuleFile::Shared, RuleFile::Local].iter().any(|file| path(folder, *file).is_file())
        });
        let config_root = configured.cloned().unwrap_or_else(|| root.to_owned());
        Self { folders, config_root }
    }

    /// The repository's root, or the working directory outside of one.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.folders.last().unwrap_or(&self.config_root)
    }

    /// The project's configuration file of this kind, whether it is there or not.
    #[must_use]
    pub fn file(&self, file: RuleFile) -> PathBuf {
        path(&self.config_root, file)
    }
}

fn path(folder: &Path, file: RuleFile) -> PathBuf {
    folder.join(match file {
        RuleFile::Shared => ".caliban/config.toml",
        RuleFile::Local => ".caliban/config.local.toml",
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_configuration_up_to_the_repository_root_counts_and_none_above_it() {
        let top = tempfile::tempdir().unwrap();
        let repo = top.path().join("repo");
        let deep = repo.join("a/b");
        for folder in [&deep.join("c"), &repo.join(".git"), &top.path().join(".caliban")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(top.path().join(".caliban/config.toml"), "").unwrap();

        let bare = Project::discover(&deep);
        assert_eq!(bare.folders, [deep.clone(), repo.join("a"), repo.clone()]);
        assert_eq!((bare.root(), &bare.config_root), (repo.as_path(), &repo));

        for (folder, file) in [(&repo, "config.toml"), (&deep, "config.local.toml")] {
            fs::create_dir_all(folder.join(".caliban")).unwrap();
            fs::write(folder.join(".caliban").join(file), "").unwrap();
            assert_eq!(Project::discover(&deep.join("c")).config_root, **folder);
        }
    }

    #[test]
    fn outside_of_a_repository_only_the_working_directory_counts() {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("below");
        fs::create_dir_all(top.path().join(".caliban")).unwrap();
        fs::create_dir(&below).unwrap();
        fs::write(top.path().join(".caliban/config.toml"), "").unwrap();
        let project = Project::discover(&below);
        assert_eq!((project.root(), &project.config_root), (below.as_path(), &below));
    }
}
