//! The folders that patterns of paths start from, resolved once for a judgement or a search.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::path::resolve;
use super::places::Places;
use crate::disk::checkout_root;

/// A folder under both of its names.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternRoot {
    pub written: PathBuf,
    /// Without links; absent if unknown.
    pub resolved: Option<PathBuf>,
}

/// The folders that relative patterns of restricting rules start from. Clones share them.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternRoots {
    all: Arc<[PatternRoot]>,
    /// How many of the first are the project, under all its names.
    of_project: usize,
    /// The agent's own checkout, if it works in one.
    checkout: Option<Arc<AgentCheckout>>,
    /// Where the beginning of a pattern leads through a link, after the pattern's name for it.
    links: Arc<[(PathBuf, PathBuf)]>,
}

/// An agent's own checkout. To every restricting rule, a file in it is the repository's file of the
/// same name, even if the rule names the repository by an absolute path.
#[derive(Clone, Debug, PartialEq)]
struct AgentCheckout {
    folder: PatternRoot,
    repository: PatternRoot,
}

impl PatternRoot {
    fn new(folder: &Path) -> Self {
        Self { written: folder.to_owned(), resolved: resolve(folder) }
    }

    fn names(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.written.as_path()).chain(self.resolved.as_deref())
    }
}

impl PatternRoots {
    /// Resolves these folders, each once.
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut starts: Vec<PatternRoot> = Vec::new();
        for folder in folders {
            if starts.iter().all(|start| start.written != folder) {
                starts.push(PatternRoot::new(folder));
            }
        }
        Self { all: starts.into(), of_project: 0, checkout: None, links: Arc::default() }
    }

    /// The same for a pattern that begins with these names, which may be links.
    pub fn through_links(self, names: &Path) -> Self {
        if names.as_os_str().is_empty() {
            return self;
        }
        let link = |start: &PatternRoot| {
            let written = start.written.join(names);
            let resolved = resolve(&written).filter(|it| *it != written)?;
            let is_new = start.resolved.as_ref().is_none_or(|start| start.join(names) != resolved);
            is_new.then_some((written, resolved))
        };
        let links = self.all.iter().filter_map(link).collect();
        Self { links, ..self }
    }

    /// The targets that the beginning of the pattern reaches through links.
    pub fn link_targets(&self) -> impl Iterator<Item = &Path> {
        self.links.iter().map(|(_, resolved)| resolved.as_path())
    }

    /// Other names of the file that a pattern may refer to: in the repository, if it is in the
    /// agent's own checkout, and through the links that the pattern names.
    pub fn other_names(&self, file: &Path) -> Vec<PathBuf> {
        let mut names = self.in_repository(file);
        for (written, resolved) in self.links.iter() {
            names.extend(file.strip_prefix(resolved).ok().map(|below| written.join(below)));
        }
        names
    }

    /// The start of a pattern that names its folder itself.
    pub fn single(&self, folder: &Path) -> Self {
        Self { checkout: self.checkout.clone(), ..Self::new([folder]) }
    }

    /// The names in the repository of a file in the agent's own checkout.
    fn in_repository(&self, file: &Path) -> Vec<PathBuf> {
        let Some(checkout) = &self.checkout else { return Vec::new() };
        let below = checkout.folder.names().filter_map(|folder| file.strip_prefix(folder).ok());
        below.flat_map(|below| checkout.repository.names().map(move |it| it.join(below))).collect()
    }

    /// The places in the agent's own checkout that correspond to a place in the repository, or above it.
    pub fn in_checkout(&self, place: &Path) -> Vec<PathBuf> {
        let Some(checkout) = &self.checkout else { return Vec::new() };
        let below = checkout.repository.names().filter_map(|repository| {
            let is_above = repository.starts_with(place).then_some(Path::new(""));
            place.strip_prefix(repository).ok().or(is_above)
        });
        below.flat_map(|below| checkout.folder.names().map(move |it| it.join(below))).collect()
    }

    /// The starts for an agent that works in `cwd`: its folder, the project, each working
    /// directory, and `more`. Every decision on a restricting rule uses these.
    pub fn for_agent(places: &Places, cwd: &Path, more: &[PathBuf]) -> Self {
        let (projects, own) = project_folders(places, cwd);
        let dirs = places.dirs.iter().chain(more).map(PathBuf::as_path);
        let all = projects.iter().map(PathBuf::as_path).chain([cwd]).chain(dirs);
        let checkout = own.map(|(folder, repository)| {
            let (folder, repository) = (PatternRoot::new(&folder), PatternRoot::new(&repository));
            Arc::new(AgentCheckout { folder, repository })
        });
        Self { of_project: projects.len(), checkout, ..Self::new(all) }
    }

    /// The starts of a pattern that begins in the project, which is `folder` or one of the
    /// equivalents in its other rule files and the agent's own checkout.
    pub fn within_project(&self, folder: &Path) -> Self {
        let others = self.all[..self.of_project].iter().map(|start| start.written.as_path());
        Self { checkout: self.checkout.clone(), ..Self::new([folder].into_iter().chain(others)) }
    }
}

/// The folders that are the project to an agent in `cwd`, each once, and if that is in its own
/// checkout, this with the repository. The checkout contains the same folders.
fn project_folders(places: &Places, cwd: &Path) -> (Vec<PathBuf>, Option<(PathBuf, PathBuf)>) {
    let mut all = vec![places.project.clone()];
    all.extend(places.roots.iter().cloned());
    let repository = all.iter().min_by_key(|root| root.as_os_str().len()).cloned();
    let repository = repository.filter(|repository| !cwd.starts_with(repository));
    let own = repository.map(|repository| (checkout_root(cwd), repository));
    if let Some((checkout, repository)) = &own {
        let below = |root: &PathBuf| Some(checkout.join(root.strip_prefix(repository).ok()?));
        let copies: Vec<PathBuf> = all.iter().filter_map(below).collect();
        all.extend(copies);
    }
    let mut seen = Vec::with_capacity(all.len());
    all.retain(|folder| {
        !seen.contains(folder) && {
            seen.push(folder.clone());
            true
        }
    });
    (all, own)
}

impl std::ops::Deref for PatternRoots {
    type Target = [PatternRoot];

    fn deref(&self) -> &[PatternRoot] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{Path, PatternRoots};
    use crate::permission::judge::Decision::Allow;
    use crate::permission::judge::testing::JudgeFixture;
    use crate::permission::path::PathTarget;
    use crate::permission::pattern::Restriction;
    use crate::permission::rule::RuleSet;

    #[test]
    fn a_deny_rule_holds_from_each_folder_that_is_the_project_and_in_a_checkout_of_it() {
        let mut bench = JudgeFixture::new().deny("Read(/conf/**)").deny("Read(sub/.env)");
        let (root, project) = (bench.root.clone(), bench.root.join("project"));
        let checkout = root.join("checkout");
        for file in ["project/conf/key", "project/sub/.env", "project/sub/conf/key"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        fs::create_dir_all(checkout.join(".git")).unwrap();
        bench.denies(["cat conf/key", "cat sub/.env"]);
        assert_eq!(bench.bash("cat sub/conf/key"), Allow);
        // A nearer folder is the project of its own file, and removes nothing.
        bench.places.project = project.join("sub");
        bench.places.roots = [project.clone()].into();
        bench.places.dirs = vec![project].into();
        bench.denies(["cat ../conf/key", "cat .env", "cat conf/key"]);
        // The same folders in the agent's own checkout.
        let (own, _) = super::project_folders(&bench.places, &checkout);
        assert!(own.contains(&checkout) && own.contains(&checkout.join("sub")), "{own:?}");
    }

    #[test]
    fn a_deny_rule_that_names_a_link_is_about_where_it_leads() {
        let bench = JudgeFixture::new();
        let root = bench.root.clone();
        fs::create_dir_all(root.join("project/real/keys")).unwrap();
        fs::write(root.join("project/real/keys/a"), "x").unwrap();
        symlink(root.join("project"), root.join("link")).unwrap();
        symlink("real", root.join("project/alias")).unwrap();
        let absolute = format!("Read(/{}/link/real/keys/**)", root.display());
        let mut bench = bench;
        for rule in [absolute.as_str(), "Read(alias/keys/a)"] {
            bench.rules = RuleSet::default();
            bench = bench.deny(rule);
            bench.denies(["cat real/keys/a", "cat alias/keys/a"]);
            bench.asks(["grep -r x ."]);
        }
    }

    #[test]
    fn a_deny_rule_with_an_absolute_path_holds_in_a_checkout_of_the_agents_own() {
        let bench = JudgeFixture::new();
        let (root, checkout) = (bench.root.clone(), bench.root.join("checkout"));
        for folder in ["checkout/.git", "checkout/keys/a", "project/keys/a", "checkout/src"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["checkout/keys/a/b", "checkout/src/c"] {
            fs::write(root.join(file), "x").unwrap();
        }
        let mut bench = bench.deny(&format!("Read(/{}/project/keys/**)", root.display()));
        bench.places.dirs = vec![checkout.clone()].into();
        let starts = PatternRoots::for_agent(&bench.places, &checkout, &[]);
        let pattern = bench.rules.deny[0].read_pattern().unwrap();
        let starts = pattern.roots(&starts);
        let restricts =
            |name: &str| pattern.restricts(&PathTarget::new(&checkout, Path::new(name)), &starts);
        assert_eq!(restricts("keys/a/b"), Restriction::Yes);
        assert_eq!(restricts("src/c"), Restriction::No);
        assert!(
            pattern.may_lie_in(&checkout, &starts)
                && pattern.may_lie_in(&checkout.join("keys"), &starts)
        );
        assert!(!pattern.may_lie_in(&checkout.join("src"), &starts));
    }
}
