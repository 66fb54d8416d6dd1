//! The folders that patterns of paths start from, resolved once for a judgement or a search.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::path::{Places, Target, resolve};
use super::pattern::PathPattern;
use super::restriction::Restriction;
use crate::disk::checkout_root;

/// A folder under both of its names.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub written: PathBuf,
    /// Without links; absent when that cannot be told.
    pub resolved: Option<PathBuf>,
}

/// The folders that relative patterns of restricting rules start from. Clones share them.
#[derive(Clone, Debug, PartialEq)]
pub struct Starts {
    all: Arc<[Start]>,
    /// How many of the first are the project, by all the names that it goes by.
    of_project: usize,
}

impl Starts {
    /// Resolves these folders, each once.
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut starts: Vec<Start> = Vec::new();
        for folder in folders {
            if starts.iter().all(|start| start.written != folder) {
                starts.push(Start { written: folder.to_owned(), resolved: resolve(folder) });
            }
        }
        Self { all: starts.into(), of_project: 0 }
    }

    /// The starts for an agent that works in `cwd`: its folder, the project, each working
    /// directory, and `more`. Every question about a restricting rule is answered with these.
    pub fn of(places: &Places, cwd: &Path, more: &[PathBuf]) -> Self {
        let projects = projects(places, cwd);
        let dirs = places.dirs.iter().chain(more).map(PathBuf::as_path);
        let all = projects.iter().map(PathBuf::as_path).chain([cwd]).chain(dirs);
        Self { of_project: projects.len(), ..Self::new(all) }
    }

    /// The starts of a pattern that begins in the project, which is `folder` or one of those that
    /// its other files and the agent's own checkout make it.
    pub fn within_project(&self, folder: &Path) -> Self {
        let others = self.all[..self.of_project].iter().map(|start| start.written.as_path());
        Self::new([folder].into_iter().chain(others))
    }
}

/// The folders that are the project to an agent in `cwd`, each once. A checkout of its own has the
/// same folders in it.
fn projects(places: &Places, cwd: &Path) -> Vec<PathBuf> {
    let mut all = vec![places.project.clone()];
    all.extend(places.roots.iter().cloned());
    let repository = all.iter().min_by_key(|root| root.as_os_str().len()).cloned();
    if let Some(repository) = repository.filter(|repository| !cwd.starts_with(repository)) {
        let checkout = checkout_root(cwd);
        let below = |root: &PathBuf| Some(checkout.join(root.strip_prefix(&repository).ok()?));
        let own: Vec<PathBuf> = all.iter().filter_map(below).collect();
        all.extend(own);
    }
    let mut seen = Vec::with_capacity(all.len());
    all.retain(|folder| {
        !seen.contains(folder) && {
            seen.push(folder.clone());
            true
        }
    });
    all
}

impl std::ops::Deref for Starts {
    type Target = [Start];

    fn deref(&self) -> &[Start] {
        &self.all
    }
}

/// The files that an agent's rules keep it from reading, for tools that come upon files while they search.
#[derive(Debug)]
pub struct Unreadable {
    cwd: PathBuf,
    relative: Starts,
    patterns: Vec<(PathPattern, Starts)>,
}

impl Unreadable {
    /// No files yet, for an agent that works in `cwd`.
    pub(super) fn new(places: &Places, cwd: &Path) -> Self {
        let relative = Starts::of(places, cwd, &[]);
        Self { cwd: cwd.to_owned(), relative, patterns: Vec::new() }
    }

    /// Adds the files of these patterns, but for the patterns that `asked` is among: the user has
    /// answered for those.
    pub(super) fn add<'a>(
        &mut self,
        patterns: impl IntoIterator<Item = &'a PathPattern>,
        asked: Option<&Target>,
    ) {
        for pattern in patterns {
            let starts = pattern.starts(&self.relative);
            let is_meant = |asked| pattern.restricts(asked, &starts) == Restriction::Yes;
            if !asked.is_some_and(is_meant) {
                self.patterns.push((pattern.clone(), starts));
            }
        }
    }

    /// Whether the file is one of them.
    #[must_use]
    pub fn contains(&self, file: &Path) -> bool {
        if self.patterns.is_empty() {
            return false;
        }
        let target = Target::new(&self.cwd, file);
        self.patterns
            .iter()
            .any(|(pattern, starts)| pattern.restricts(&target, starts) != Restriction::No)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::permission::judge::Decision::Allow;
    use crate::permission::judge::testing::Bench;

    #[test]
    fn a_deny_rule_holds_from_each_folder_that_is_the_project_and_in_a_checkout_of_it() {
        let mut bench = Bench::new().deny("Read(/conf/**)").deny("Read(sub/.env)");
        let (root, project) = (bench.root.clone(), bench.root.join("project"));
        let checkout = root.join("checkout");
        for file in ["project/conf/key", "project/sub/.env", "project/sub/conf/key"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        fs::create_dir_all(checkout.join(".git")).unwrap();
        bench.denies(["cat conf/key", "cat sub/.env"]);
        assert_eq!(bench.bash("cat sub/conf/key"), Allow);
        // A nearer folder is the project of its own file, and takes nothing away.
        bench.places.project = project.join("sub");
        bench.places.roots = [project.clone()].into();
        bench.places.dirs = vec![project].into();
        bench.denies(["cat ../conf/key", "cat .env", "cat conf/key"]);
        // The same folders of a checkout of the agent's own.
        let own = super::projects(&bench.places, &checkout);
        assert!(own.contains(&checkout) && own.contains(&checkout.join("sub")), "{own:?}");
    }
}
