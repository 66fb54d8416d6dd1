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
    /// The checkout of its own that the agent works in.
    checkout: Option<Arc<Checkout>>,
    /// Where the beginning of a pattern leads through a link, behind the name that the pattern has for it.
    links: Arc<[(PathBuf, PathBuf)]>,
}

/// A checkout of an agent's own. A file in it is the repository's file of the same name to every
/// restricting rule, also to one that names the repository by an absolute path.
#[derive(Clone, Debug, PartialEq)]
struct Checkout {
    folder: Start,
    repository: Start,
}

impl Start {
    fn new(folder: &Path) -> Self {
        Self { written: folder.to_owned(), resolved: resolve(folder) }
    }

    fn names(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.written.as_path()).chain(self.resolved.as_deref())
    }
}

impl Starts {
    /// Resolves these folders, each once.
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut starts: Vec<Start> = Vec::new();
        for folder in folders {
            if starts.iter().all(|start| start.written != folder) {
                starts.push(Start::new(folder));
            }
        }
        Self { all: starts.into(), of_project: 0, checkout: None, links: Arc::default() }
    }

    /// The same for a pattern that begins with these names, which may be links.
    pub fn through_links(self, names: &Path) -> Self {
        if names.as_os_str().is_empty() {
            return self;
        }
        let link = |start: &Start| {
            let written = start.written.join(names);
            let resolved = resolve(&written).filter(|it| *it != written)?;
            let is_new = start.resolved.as_ref().is_none_or(|start| start.join(names) != resolved);
            is_new.then_some((written, resolved))
        };
        let links = self.all.iter().filter_map(link).collect();
        Self { links, ..self }
    }

    /// Where the beginning of the pattern leads through links.
    pub fn link_targets(&self) -> impl Iterator<Item = &Path> {
        self.links.iter().map(|(_, resolved)| resolved.as_path())
    }

    /// Other names of the file that a pattern may mean: in the repository, where it lies in the
    /// agent's own checkout, and through the links on the way that the pattern names.
    pub fn other_names(&self, file: &Path) -> Vec<PathBuf> {
        let mut names = self.in_repository(file);
        for (written, resolved) in self.links.iter() {
            names.extend(file.strip_prefix(resolved).ok().map(|below| written.join(below)));
        }
        names
    }

    /// The start of a pattern that names its folder itself.
    pub fn at(&self, folder: &Path) -> Self {
        Self { checkout: self.checkout.clone(), ..Self::new([folder]) }
    }

    /// The names of the file in the repository that a file in the agent's own checkout stands for.
    fn in_repository(&self, file: &Path) -> Vec<PathBuf> {
        let Some(checkout) = &self.checkout else { return Vec::new() };
        let below = checkout.folder.names().filter_map(|folder| file.strip_prefix(folder).ok());
        below.flat_map(|below| checkout.repository.names().map(move |it| it.join(below))).collect()
    }

    /// The places in the agent's own checkout that a place in the repository, or above it, stands for.
    pub fn in_checkout(&self, place: &Path) -> Vec<PathBuf> {
        let Some(checkout) = &self.checkout else { return Vec::new() };
        let below = checkout.repository.names().filter_map(|repository| {
            let is_above = repository.starts_with(place).then_some(Path::new(""));
            place.strip_prefix(repository).ok().or(is_above)
        });
        below.flat_map(|below| checkout.folder.names().map(move |it| it.join(below))).collect()
    }

    /// The starts for an agent that works in `cwd`: its folder, the project, each working
    /// directory, and `more`. Every question about a restricting rule is answered with these.
    pub fn of(places: &Places, cwd: &Path, more: &[PathBuf]) -> Self {
        let (projects, own) = projects(places, cwd);
        let dirs = places.dirs.iter().chain(more).map(PathBuf::as_path);
        let all = projects.iter().map(PathBuf::as_path).chain([cwd]).chain(dirs);
        let checkout = own.map(|(folder, repository)| {
            let (folder, repository) = (Start::new(&folder), Start::new(&repository));
            Arc::new(Checkout { folder, repository })
        });
        Self { of_project: projects.len(), checkout, ..Self::new(all) }
    }

    /// The starts of a pattern that begins in the project, which is `folder` or one of those that
    /// its other files and the agent's own checkout make it.
    pub fn within_project(&self, folder: &Path) -> Self {
        let others = self.all[..self.of_project].iter().map(|start| start.written.as_path());
        Self { checkout: self.checkout.clone(), ..Self::new([folder].into_iter().chain(others)) }
    }
}

/// The folders that are the project to an agent in `cwd`, each once, and where that is in a checkout
/// of its own, this with the repository. It has the same folders in it.
fn projects(places: &Places, cwd: &Path) -> (Vec<PathBuf>, Option<(PathBuf, PathBuf)>) {
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
    use std::os::unix::fs::symlink;

    use super::{Path, Restriction, Starts, Target};
    use crate::permission::judge::Decision::Allow;
    use crate::permission::judge::testing::Bench;
    use crate::permission::rule::RuleSet;

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
        let (own, _) = super::projects(&bench.places, &checkout);
        assert!(own.contains(&checkout) && own.contains(&checkout.join("sub")), "{own:?}");
    }

    #[test]
    fn a_deny_rule_that_names_a_link_is_about_where_it_leads() {
        let bench = Bench::new();
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
        let bench = Bench::new();
        let (root, checkout) = (bench.root.clone(), bench.root.join("checkout"));
        for folder in ["checkout/.git", "checkout/keys/a", "project/keys/a", "checkout/src"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["checkout/keys/a/b", "checkout/src/c"] {
            fs::write(root.join(file), "x").unwrap();
        }
        let mut bench = bench.deny(&format!("Read(/{}/project/keys/**)", root.display()));
        bench.places.dirs = vec![checkout.clone()].into();
        let starts = Starts::of(&bench.places, &checkout, &[]);
        let pattern = bench.rules.deny[0].read_pattern().unwrap();
        let starts = pattern.starts(&starts);
        let restricts =
            |name: &str| pattern.restricts(&Target::new(&checkout, Path::new(name)), &starts);
        assert_eq!(restricts("keys/a/b"), Restriction::Yes);
        assert_eq!(restricts("src/c"), Restriction::No);
        assert!(
            pattern.may_lie_in(&checkout, &starts)
                && pattern.may_lie_in(&checkout.join("keys"), &starts)
        );
        assert!(!pattern.may_lie_in(&checkout.join("src"), &starts));
    }
}
