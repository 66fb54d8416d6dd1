//! The project around the working directory: its root, and the folder that holds its configuration.

use std::path::{Path, PathBuf};

use super::setting_sources::SettingSources;
use crate::disk::repository_root;
use crate::protocol::RuleFile;

/// The settings that other agents share with this one, below a folder: those that come with the
/// project, and the person's own for it.
pub(super) const SETTINGS: &str = ".claude/settings.json";
pub(super) const LOCAL_SETTINGS: &str = ".claude/settings.local.json";

/// Where the working directory belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// From the working directory up to the repository's root (the folder with `.git`), nearest first.
    /// Outside of a repository: the working directory alone.
    pub folders: Vec<PathBuf>,
    /// The nearest of `folders` with a `.caliban` configuration; the root when none has one.
    pub config_root: PathBuf,
    /// The nearest of `folders` with settings in `.claude` that are read; the root when none has any.
    pub claude_root: PathBuf,
    /// Which files of other programs are read.
    pub sources: SettingSources,
}

impl Project {
    /// Looks from `cwd` upward, for all there is. Reads no file. A repository that holds the user's
    /// `home` is none.
    #[must_use]
    pub fn discover(cwd: &Path, home: Option<&Path>) -> Self {
        Self::of(cwd, home, SettingSources::default())
    }

    /// The same, as if what `sources` leaves out were not there.
    #[must_use]
    pub fn of(cwd: &Path, home: Option<&Path>, sources: SettingSources) -> Self {
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
            [RuleFile::Shared, RuleFile::Local].iter().any(|file| path(folder, *file).is_file())
        });
        let claude_root = nearest(&|folder| {
            let files = [(SETTINGS, sources.project), (LOCAL_SETTINGS, sources.local)];
            files.iter().any(|(file, is_read)| *is_read && folder.join(file).is_file())
        });
        Self { folders, config_root, claude_root, sources }
    }

    /// The folder that the user's own programs know as the project: the nearest one with
    /// configuration of either kind, else the root. Nothing starts there on its account: whoever
    /// puts a file into a folder decides about it.
    #[must_use]
    pub fn home(&self) -> &Path {
        let both = [&self.config_root, &self.claude_root];
        // Both lie on one way up, so the longer path is the nearer one.
        both.into_iter().max_by_key(|folder| folder.as_os_str().len()).unwrap_or(&self.config_root)
    }

    /// The repository's root, or the working directory outside of one.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.folders.last().unwrap_or(&self.config_root)
    }

    /// The folders that are the project to one of its files or to the user, each once: nobody who
    /// puts a file into one of them decides alone where a rule starts.
    #[must_use]
    pub fn roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.root().to_owned()];
        for folder in [&self.claude_root, &self.config_root] {
            if !roots.contains(folder) {
                roots.push(folder.clone());
            }
        }
        roots
    }

    /// Configuration files further up that are not read because a nearer folder has one of their
    /// kind, each with that folder.
    #[must_use]
    pub fn hidden(&self) -> Vec<(PathBuf, &Path)> {
        let own = [RuleFile::Shared, RuleFile::Local].map(|file| (path(Path::new(""), file), true));
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
        assert_eq!(Project::discover(&package, None).home(), repo);
        fs::write(repo.join(".caliban/config.toml"), "").unwrap();
        fs::write(package.join(".claude/settings.local.json"), "{}").unwrap();
        let project = Project::discover(&package.join("src"), None);
        assert_eq!((project.claude_root.as_path(), project.home()), (&*package, &*package));
        assert_eq!(Project::discover(&repo, None).home(), repo);
    }
}
