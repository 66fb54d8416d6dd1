//! The files that patterns of paths mean on disk, looked up once for a judgement or a search: under the
//! names that the pattern spells, where its links lead, and in a checkout of the agent's own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::places::Places;
use crate::disk::{checkout_root, link_names};

/// A file or folder with which a pattern begins.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternRoot {
    /// Its name on disk.
    pub folder: PathBuf,
    /// The names that the pattern has for it, counted from its start.
    pub names: PathBuf,
}

/// Where the beginning of one pattern leads, by every name. Clones share them.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternRoots(Arc<[PatternRoot]>);

/// The folders in which patterns of restricting rules start for one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRoots {
    /// First the project, under all its names, then where the agent works.
    all: Vec<PathBuf>,
    of_project: usize,
    checkout: Option<AgentCheckout>,
    /// Where patterns without a place of their own begin.
    anywhere: PatternRoots,
}

/// An agent's own checkout. To every restricting rule, a file in it is the repository's file of the
/// same name, even if the rule names the repository by an absolute path.
#[derive(Clone, Debug, PartialEq)]
struct AgentCheckout {
    /// The names of its folder.
    folder: Vec<PathBuf>,
    /// The names of the repository's.
    repository: Vec<PathBuf>,
}

impl AgentRoots {
    /// The starts for an agent that works in `cwd`: its folder, the project, each working
    /// directory, and `more`. Every decision on a restricting rule uses these.
    pub fn new(places: &Places, cwd: &Path, more: &[PathBuf]) -> Self {
        let projects = unique([&places.project].into_iter().chain(&*places.roots));
        let checkout = AgentCheckout::find(places, &projects, cwd);
        let cwd = cwd.to_owned();
        let dirs = places.dirs.iter().chain(&*places.starts);
        let all = unique(projects.iter().chain([&cwd]).chain(dirs).chain(more));
        let anywhere = PatternRoots::new(&all, Path::new(""), checkout.as_ref());
        Self { all, of_project: projects.len(), checkout, anywhere }
    }

    /// Where a pattern that begins with `names`, wherever the agent works, leads.
    pub fn relative(&self, names: &Path) -> PatternRoots {
        match names.as_os_str().is_empty() {
            true => self.anywhere.clone(),
            false => PatternRoots::new(&self.all, names, self.checkout.as_ref()),
        }
    }

    /// The same for one that begins in `folder`.
    pub fn below(&self, folder: &Path, names: &Path) -> PatternRoots {
        PatternRoots::new([folder], names, self.checkout.as_ref())
    }

    /// The same for one that begins in the project, which is `folder` or one of the equivalents in
    /// its other rule files.
    pub fn within_project(&self, folder: &Path, names: &Path) -> PatternRoots {
        let others = self.all[..self.of_project].iter().map(PathBuf::as_path);
        PatternRoots::new([folder].into_iter().chain(others), names, self.checkout.as_ref())
    }
}

impl AgentCheckout {
    /// The checkout of an agent in `cwd`, if it works in one of its own.
    fn find(places: &Places, projects: &[PathBuf], cwd: &Path) -> Option<Self> {
        let repository = projects.iter().min_by_key(|root| root.as_os_str().len())?;
        let elsewhere = || (!cwd.starts_with(repository)).then(|| checkout_root(cwd));
        let folder = places.bound.clone().or_else(elsewhere)?;
        Some(Self { folder: link_names(&folder), repository: link_names(repository) })
    }

    /// The roots in the checkout that correspond to one in the repository, or above it.
    fn copies(&self, root: &PatternRoot) -> Vec<PatternRoot> {
        let mut copies = Vec::new();
        for repository in &self.repository {
            let (below, names) = match root.folder.strip_prefix(repository) {
                Ok(below) => (below, root.names.clone()),
                Err(_) => match repository.strip_prefix(&root.folder) {
                    Ok(more) => (Path::new(""), root.names.join(more)),
                    Err(_) => continue,
                },
            };
            let folders = self.folder.iter().flat_map(|folder| link_names(&folder.join(below)));
            copies.extend(folders.map(|folder| PatternRoot { folder, names: names.clone() }));
        }
        copies
    }
}

impl PatternRoots {
    /// Follows the first `names` of a pattern from each start, and carries what they mean over to
    /// the agent's own checkout. Nothing else does: a rule means the same files there.
    fn new(
        starts: impl IntoIterator<Item = impl AsRef<Path>>,
        names: &Path,
        checkout: Option<&AgentCheckout>,
    ) -> Self {
        let on_disk = starts.into_iter().flat_map(|start| link_names(&start.as_ref().join(names)));
        let mut roots: Vec<PatternRoot> =
            on_disk.map(|folder| PatternRoot { folder, names: names.to_owned() }).collect();
        if let Some(checkout) = checkout {
            let copies: Vec<_> = roots.iter().flat_map(|root| checkout.copies(root)).collect();
            roots.extend(copies);
        }
        Self(unique(&roots).into())
    }
}

/// Each item once, in order.
fn unique<'a, T: Clone + PartialEq + 'a>(items: impl IntoIterator<Item = &'a T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for item in items {
        if !kept.contains(item) {
            kept.push(item.clone());
        }
    }
    kept
}

impl std::ops::Deref for PatternRoots {
    type Target = [PatternRoot];

    fn deref(&self) -> &[PatternRoot] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{AgentRoots, Path, PathBuf};
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
        let own = AgentRoots::new(&bench.places, &checkout, &[]);
        let own: Vec<_> = own.anywhere.iter().map(|root| root.folder.clone()).collect();
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
        let starts = AgentRoots::new(&bench.places, &checkout, &[]);
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

    #[test]
    fn a_deny_rule_through_a_link_holds_in_a_checkout_of_the_agents_own() {
        let mut bench = JudgeFixture::new();
        let (root, checkout) = (bench.root.clone(), bench.root.join("home/checkout"));
        let project = root.join("project");
        bench.places.bound = Some(checkout.clone());
        for folder in [&project, &checkout] {
            fs::create_dir_all(folder.join("secrets")).unwrap();
            fs::create_dir_all(folder.join(".git")).unwrap();
            fs::create_dir_all(folder.join("open")).unwrap();
            fs::write(folder.join(".env"), "x").unwrap();
            fs::write(folder.join("secrets/key"), "x").unwrap();
            symlink("secrets", folder.join("alias")).unwrap();
        }
        // What the commit has may differ from what lies in the project.
        symlink("alias", project.join("moved")).unwrap();
        symlink("open", checkout.join("moved")).unwrap();
        fs::write(checkout.join("open/key"), "x").unwrap();
        symlink(&root, root.join("home/code")).unwrap();
        symlink("code/project/moved", root.join("home/far")).unwrap();
        let absolute = |rule: &str| rule.replace("ROOT", &root.display().to_string());
        for (rule, file) in [
            ("Read(~/code/project/.env)", ".env"),
            ("Read(/ROOT/home/code/project/.env)", ".env"),
            ("Read(~/code/*/.env)", ".env"),
            ("Read(~/code/**/.env)", ".env"),
            ("Read(~/code/**)", "open/key"),
            ("Read(~/code/project/alias/**)", "secrets/key"),
            ("Read(~/code/project/alias/**)", "alias/key"),
            ("Read(/ROOT/project/alias/**)", "secrets/key"),
            ("Read(/ROOT/project/alias/key)", "secrets/key"),
            ("Read(/alias/key)", "secrets/key"),
            ("Read(alias/**)", "secrets/key"),
            // It means both what it spells there and what it leads to here.
            ("Read(~/far/key)", "moved/key"),
            ("Read(~/far/key)", "open/key"),
            ("Read(~/far/key)", "secrets/key"),
        ] {
            bench.rules = RuleSet::default();
            bench = bench.deny(&absolute(rule));
            // Also after the agent has left its checkout.
            for cwd in [&checkout, &root] {
                let roots = AgentRoots::new(&bench.places, cwd, &[]);
                let pattern = bench.rules.deny[0].read_pattern().unwrap();
                let starts = pattern.roots(&roots);
                let target = PathTarget::new(&checkout, Path::new(file));
                assert_eq!(pattern.restricts(&target, &starts), Restriction::Yes, "{rule} {file}");
                assert!(pattern.may_lie_in(&checkout, &starts), "{rule}");
                let other = PathTarget::new(&checkout, Path::new("open/other"));
                let is_meant = rule.ends_with("code/**)");
                let expected = Restriction::certain(is_meant);
                assert_eq!(pattern.restricts(&other, &starts), expected, "{rule}");
            }
        }
    }

    #[test]
    fn a_relative_pattern_starts_in_a_directory_of_the_session_in_a_checkout_too() {
        let bench = JudgeFixture::new();
        let (root, project) = (bench.root.clone(), bench.root.join("project"));
        let checkout = root.join("checkout");
        for folder in [project.join("lib"), checkout.join("lib")] {
            fs::create_dir_all(folder).unwrap();
        }
        let mut places = bench.places;
        places.starts = vec![project.clone(), project.join("lib")].into();
        (places.dirs, places.bound) = (vec![checkout.clone()].into(), Some(checkout.clone()));
        let roots = AgentRoots::new(&places, &checkout, &[]).relative(Path::new("s"));
        let folders: Vec<PathBuf> = roots.iter().map(|root| root.folder.clone()).collect();
        assert!(folders.contains(&checkout.join("lib/s")), "{folders:?}");
    }
}
