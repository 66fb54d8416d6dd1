use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct FoldersFixture {
    _top: tempfile::TempDir,
    root: PathBuf,
}

impl FoldersFixture {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(top.path()).unwrap();
        for folder in ["project", "home/bin"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        Self { _top: top, root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn folders(&self, dirs: &[&str]) -> ProjectFolders {
        ProjectFolders::new(dirs.iter().map(|dir| self.path(dir)), Some(&self.path("home")))
    }

    /// Returns `path` without the folders of a session in `dirs`.
    fn kept(&self, dirs: &[&str], path: &str) -> String {
        let env = EnvOverlay::from_iter([("PATH", path)]);
        self.folders(dirs).without_programs(&env).get("PATH").unwrap().to_owned()
    }
}

#[test]
fn a_path_has_absolute_folders_outside_of_the_project_alone() {
    let bench = FoldersFixture::new();
    symlink(bench.path("project/bin"), bench.path("linked")).unwrap();
    symlink("/usr/bin", bench.path("project/tools")).unwrap();
    symlink(bench.path("project/later"), bench.path("dangling")).unwrap();
    let own = format!("/usr/bin:{}", bench.path("home/bin").display());
    for entry in ["", ".", "bin", "./x", "node_modules/.bin", "~/bin"] {
        assert_eq!(bench.kept(&["project"], &format!("{entry}:{own}")), own, "{entry:?}");
        assert_eq!(bench.kept(&["project"], &format!("{own}:{entry}")), own, "{entry:?}");
    }
    for inside in [
        "project/bin",
        "project/tools",
        "project/new/bin",
        "project",
        "home/../project/bin",
        "linked",
        "dangling",
        "dangling/bin",
    ] {
        let path = format!("{}:{own}", bench.path(inside).display());
        assert_eq!(bench.kept(&["project"], &path), own, "{inside}");
    }
    assert_eq!(bench.kept(&["project"], ".:"), SYSTEM_PATH);
    assert_eq!(bench.kept(&["home"], &own), own, "programs below a home are the user's");
}

#[test]
fn a_checkout_around_any_working_directory_counts() {
    let bench = FoldersFixture::new();
    for folder in ["one/.git", "one/sub", "two/.git", "two/deep/sub"] {
        fs::create_dir_all(bench.path(folder)).unwrap();
    }
    let [one, two] = ["one/bin", "two/node_modules/.bin"].map(|it| bench.path(it));
    let path = format!("{}:{}:/usr/bin", one.display(), two.display());
    assert_eq!(bench.kept(&["one/sub", "two/deep/sub"], &path), "/usr/bin");
    let without_two = format!("{}:/usr/bin", two.display());
    assert_eq!(bench.kept(&["one/sub"], &path), without_two);
    let env = EnvOverlay::from_iter([("PATH", path)]);
    let all = bench.folders(&["one/sub"]).with(&bench.path("two/deep"));
    assert_eq!(all.without_programs(&env).get("PATH"), Some("/usr/bin"));
}

#[test]
fn a_folder_cannot_name_a_repository_of_the_users_as_its_own() {
    let bench = FoldersFixture::new();
    for folder in ["nvm/.git/objects", "nvm/.git/refs", "nvm/bin"] {
        fs::create_dir_all(bench.path(folder)).unwrap();
    }
    fs::write(bench.path("nvm/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(bench.path("project/.git"), "gitdir: ../nvm/.git\n").unwrap();
    let path = format!("{}:/usr/bin", bench.path("nvm/bin").display());
    assert_eq!(bench.kept(&["project"], &path), path);
}

#[test]
fn neither_a_library_nor_a_start_file_of_the_project_is_loaded() {
    let bench = FoldersFixture::new();
    let own = bench.path("project/lib").display().to_string();
    let env = EnvOverlay::from_iter([
        ("LD_LIBRARY_PATH", format!("{own}:/opt/libs")),
        ("LD_PRELOAD", format!("{own}/x.so libz.so")),
    ]);
    let kept = bench.folders(&["project"]).without_programs(&env);
    assert_eq!(kept.get("LD_LIBRARY_PATH"), Some("/opt/libs"));
    assert_eq!(kept.get("LD_PRELOAD"), Some("libz.so"));
    for (file, stays) in [("/etc/bashrc", true), ("./rc", false), ("", true)] {
        let env = EnvOverlay::from_iter([("BASH_ENV", file)]);
        let kept = bench.folders(&["project"]).without_programs(&env);
        assert_eq!(kept.get("BASH_ENV").is_some(), stays, "{file:?}");
    }
}
