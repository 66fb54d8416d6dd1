//! The project around the working directory: its root and its configuration folder.

use std::path::{Path, PathBuf};

use super::setting_sources::SettingSources;
use crate::disk::repository_root;
use crate::protocol::RuleFile;

/// Settings files shared with other agents, below a folder: those of the project, and the user's own for it.
pub(super) const SETTINGS: &str = ".claude/settings.json";
pub(super) const LOCAL_SETTINGS: &str = ".claude/settings.local.json";

/// The project that the working directory belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// From the working directory up to the repository's root (the folder with `.git`), nearest
    /// first. Outside a repository only the working directory.
    pub folders: Vec<PathBuf>,
    /// The nearest of `folders` with a `.caliban` configuration, or the root.
    pub config_root: PathBuf,
    /// The nearest of `folders` with settings in `.claude` that are read, or the root.
    pub claude_root: PathBuf,
    /// Which files of other programs are read.
    pub sources: SettingSources,
}

impl Project {
    /// Searches upward from `cwd`, with all sources enabled. Reads no file. A repository that
    /// contains the user's `home` does not count.
    pub fn discover(cwd: &Path, home: Option<&Path>) -> Self {
        Self::with_sources(cwd, home, SettingSources::default())
    }

    /// Like [`Self::discover`], ignoring the files that `sources` excludes.
    pub fn with_sources(cwd: &Path, home: Option<&Path>, sources: SettingSources) -> Self {
        let root = repository_root(cwd, home).unwrap_or(cwd);
        let folders: Vec<PathBuf> = cwd
            .ancestors()
            .take_while(|folder| folder.starts_with(root))
            .map(Path::to_owned)
            .collect();
        let nearest = |is_there: &dyn Fn(&PathBuf) -> bool| {
            folders.iter().find(|folder| is_there(folder)).map_or(root, |folder| folder).to_owned()
        };
        let config_root = nearest(&|folder| {
            [RuleFile::Shared, RuleFile::Local]
                .iter()
                .any(|file| rule_file_path(folder, *file).is_file())
        });
        let claude_root = nearest(&|folder| {
            let files = [(SETTINGS, sources.project), (LOCAL_SETTINGS, sources.local)];
            files.iter().any(|(file, is_read)| *is_read && folder.join(file).is_file())
        });
        Self { folders, config_root, claude_root, sources }
    }

    /// Returns the folder given to the user's programs as the project: the nearest one with
    /// configuration of either kind, else the root. Nothing may start there because of that: anyone
    /// who can put a file into a folder could choose it.
    pub fn project_dir(&self) -> &Path {
        let both = [&self.config_root, &self.claude_root];
        // Both are ancestors of `cwd`, so the longer path is the nearer one.
        both.into_iter().max_by_key(|folder| folder.as_os_str().len()).unwrap_or(&self.config_root)
    }

    /// Returns the repository's root, or the working directory outside a repository.
    pub fn root(&self) -> &Path {
        self.folders.last().unwrap_or(&self.config_root)
    }

    /// Returns the folders that one of its files or the user may regard as the project, without
    /// duplicates: whoever puts a file into one of them must not decide alone where a rule starts.
    pub fn roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.root().to_owned()];
        for folder in [&self.claude_root, &self.config_root] {
            if !roots.contains(folder) {
                roots.push(folder.clone());
            }
        }
        roots
    }

    /// Returns configuration files further up that are ignored, each with the nearer folder that takes precedence.
    pub fn hidden_files(&self) -> Vec<(PathBuf, &Path)> {
        let own = [RuleFile::Shared, RuleFile::Local]
            .map(|file| (rule_file_path(Path::new(""), file), true));
        let settings = [(SETTINGS, self.sources.project), (LOCAL_SETTINGS, self.sources.local)]
            .map(|(file, is_read)| (PathBuf::from(file), is_read));
        let mut hidden = Vec::new();
        for (nearest, files) in [(&self.config_root, &own), (&self.claude_root, &settings)] {
            let is_above = |folder: &&PathBuf| nearest.starts_with(folder) && *folder != nearest;
            for folder in self.folders.iter().filter(is_above) {
                let files = files.iter().filter(|(_, is_read)| *is_read);
                let files = files.map(|(file, _)| folder.join(file)).filter(|file| file.is_file());
                hidden.extend(files.map(|file| (file, nearest.as_path())));
            }
        }
        hidden
    }

    /// Returns the path of the project's configuration file of this kind, existing or not.
    pub fn file(&self, file: RuleFile) -> PathBuf {
        rule_file_path(&self.config_root, file)
    }
}

fn rule_file_path(folder: &Path, file: RuleFile) -> PathBuf {
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

        let bare = Project::discover(&deep, None);
        assert_eq!(bare.folders, [deep.clone(), repo.join("a"), repo.clone()]);
        assert_eq!((bare.root(), &bare.config_root), (repo.as_path(), &repo));

        for (folder, file) in [(&repo, "config.toml"), (&deep, "config.local.toml")] {
            fs::create_dir_all(folder.join(".caliban")).unwrap();
            fs::write(folder.join(".caliban").join(file), "").unwrap();
            assert_eq!(Project::discover(&deep.join("c"), None).config_root, **folder);
        }
    }

    #[test]
    fn outside_of_a_repository_only_the_working_directory_counts() {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("below");
        fs::create_dir_all(top.path().join(".caliban")).unwrap();
        fs::create_dir(&below).unwrap();
        fs::write(top.path().join(".caliban/config.toml"), "").unwrap();
        let project = Project::discover(&below, None);
        assert_eq!((project.root(), &project.config_root), (below.as_path(), &below));
        // Nor does a home that is a repository make one of all that lies in it.
        fs::create_dir(top.path().join(".git")).unwrap();
        let root = |dir: &Path| Project::discover(dir, Some(top.path())).root().to_owned();
        assert_eq!((root(&below), root(top.path())), (below.clone(), top.path().to_owned()));
        assert_eq!(Project::discover(&below, None).root(), top.path());
        let unknown = Some(Path::new(""));
        let root = |dir: &Path| Project::discover(dir, unknown).root().to_owned();
        assert_eq!((root(&below), root(top.path())), (below.clone(), top.path().to_owned()));
    }

    #[test]
    fn the_project_is_named_by_the_nearest_configuration_of_either_kind() {
        let top = tempfile::tempdir().unwrap();
        let repo = top.path().join("repo");
        let package = repo.join("package");
        for folder in [repo.join(".git"), repo.join(".caliban"), package.join(".claude")] {
            fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(Project::discover(&package, None).project_dir(), repo);
        fs::write(repo.join(".caliban/config.toml"), "").unwrap();
        fs::write(package.join(".claude/settings.local.json"), "{}").unwrap();
        let project = Project::discover(&package.join("src"), None);
        assert_eq!((project.claude_root.as_path(), project.project_dir()), (&*package, &*package));
        assert_eq!(Project::discover(&repo, None).project_dir(), repo);
    }
}
