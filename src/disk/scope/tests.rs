use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

/// A repository `repo` that tracks its `docs/style.md`, seen from `repo/lib`, where somebody else's
/// files lie.
struct ScopeFixture {
    dir: tempfile::TempDir,
}

impl ScopeFixture {
    fn new() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        for file in ["repo/docs/style.md", "repo/README", "repo/lib/AGENTS.md", "extra/x.md"] {
            bench.write(file);
        }
        bench.git(&["init", "-q"]);
        bench.git(&["add", "-A"]);
        for file in ["repo/.env", "repo/docs/draft.md", "repo/lib/.env", "repo/AGENTS.md", "key"] {
            bench.write(file);
        }
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(path)
    }

    fn write(&self, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "text").unwrap();
    }

    /// A link to a path from the folder that it lies in.
    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.path("repo")).env_clear();
        let path = std::env::var_os("PATH").unwrap();
        assert!(git.env("PATH", path).env("HOME", self.path("home")).status().unwrap().success());
    }

    fn scope(&self) -> ProjectScope {
        let folders = [self.path("repo/lib"), self.path("repo")];
        ProjectScope::new(&folders, &[self.path("extra")])
    }

    /// Returns where an import leads, or why it is refused.
    fn import(&self, path: &str, importer: &str) -> Result<PathBuf, String> {
        let importer = FoundFile::new(&self.path(importer)).unwrap();
        self.locate(path, Some(&importer))
    }

    /// Does the same for a file in its place.
    fn find(&self, path: &str) -> Result<PathBuf, String> {
        self.locate(path, None)
    }

    fn locate(&self, path: &str, importer: Option<&FoundFile>) -> Result<PathBuf, String> {
        let found = self.scope().files().locate(&self.path(path), importer);
        found.map(|found| found.path().to_owned()).map_err(|why| why.to_string())
    }

    #[track_caller]
    fn refuses(&self, found: Result<PathBuf, String>, words: &str) {
        let why = found.expect_err(words);
        assert!(why.contains(words), "{why}");
    }
}

const UNTRACKED: &str = "outside of the working directories, and git does not track it: ";

#[test]
fn an_import_reaches_the_working_directories_the_importers_folder_and_what_git_tracks() {
    let bench = ScopeFixture::new();
    let theirs = "repo/lib/AGENTS.md";
    for (path, importer) in [
        ("repo/lib/.env", theirs),
        ("repo/docs/style.md", theirs),
        ("extra/x.md", theirs),
        ("repo/.env", "repo/AGENTS.md"),
        ("repo/docs/draft.md", "repo/docs/style.md"),
    ] {
        assert_eq!(bench.import(path, importer), Ok(bench.path(path)), "{path}");
    }
    bench.refuses(bench.import("repo/.env", theirs), UNTRACKED);
    bench.refuses(bench.import("repo/docs/draft.md", theirs), UNTRACKED);
    bench.refuses(bench.import("repo/.env", "repo/docs/style.md"), UNTRACKED);
    bench.refuses(bench.import("repo/.git/config", theirs), UNTRACKED);
    bench.refuses(bench.import("key", theirs), "lies outside the project");
    let advice = format!("add its folder with --add-dir {}", bench.path("repo").display());
    bench.refuses(bench.import("repo/.env", theirs), &advice);
}

#[test]
fn a_link_reaches_no_more_than_an_import_from_its_folder() {
    let bench = ScopeFixture::new();
    bench.link("repo/lib/leak.md", "../.env");
    bench.link("repo/lib/out.md", "../../key");
    bench.link("repo/lib/style.md", "../docs/style.md");
    bench.link("repo/lib/docs", "../docs");
    bench.refuses(bench.find("repo/lib/leak.md"), "it is a link to ");
    bench.refuses(bench.find("repo/lib/leak.md"), UNTRACKED);
    bench.refuses(bench.find("repo/lib/out.md"), "it is a link that leads out of the project");
    bench.refuses(bench.find("repo/lib/docs/draft.md"), UNTRACKED);
    let style = bench.path("repo/docs/style.md");
    assert_eq!(bench.find("repo/lib/style.md"), Ok(style.clone()));
    assert_eq!(bench.find("repo/lib/docs/style.md"), Ok(style));
    // The file above may name its neighbour, and still not by their link.
    bench.refuses(bench.import("repo/lib/leak.md", "repo/AGENTS.md"), UNTRACKED);
    // A file that a link brings imports from where the link is, and from where it really lies.
    bench.refuses(bench.import("repo/.env", "repo/lib/style.md"), UNTRACKED);
    bench.refuses(bench.import("repo/docs/draft.md", "repo/lib/style.md"), UNTRACKED);
    bench.link("repo/first.md", "second.md");
    bench.link("repo/second.md", "lib/leak.md");
    bench.refuses(bench.find("repo/first.md"), UNTRACKED);
    bench.write("repo/shared/SKILL.md");
    let skill = bench.path("repo/shared/SKILL.md");
    for program in [".claude", ".agents"] {
        bench.link(&format!("repo/{program}/skills/s"), "../../shared");
        assert_eq!(bench.find(&format!("repo/{program}/skills/s/SKILL.md")), Ok(skill.clone()));
    }
    for program in [".claude", ".agents"] {
        let leak = format!("repo/{program}/skills/t/SKILL.md");
        bench.link(&leak, "../../../.env");
        bench.refuses(bench.find(&leak), UNTRACKED);
    }
    bench.link("repo/.claude/commands/all/s.md", "../s.md");
    bench.write("repo/.claude/commands/s.md");
    let command = bench.path("repo/.claude/commands/s.md");
    assert_eq!(bench.find("repo/.claude/commands/all/s.md"), Ok(command));
}

#[test]
fn who_works_in_a_folder_of_configuration_works_on_a_folder_like_any_other() {
    let bench = ScopeFixture::new();
    for file in ["s/AGENTS.md", "s/notes/x.md", "t/key.md"] {
        bench.write(&format!("repo/.claude/skills/{file}"));
    }
    bench.link("repo/.claude/skills/s/leak.md", "../t/key.md");
    let [skill, other] = ["s", "t"].map(|name| bench.path(&format!("repo/.claude/skills/{name}")));
    let leads = |dir: &str| {
        let scope = ProjectScope::new(&[bench.path(dir), bench.path("repo")], &[]);
        let files = scope.files();
        let importer = FoundFile::new(&skill.join("AGENTS.md")).unwrap();
        [
            files.locate(&skill.join("leak.md"), None).is_ok(),
            files.locate(&other.join("key.md"), Some(&importer)).is_ok(),
        ]
    };
    assert_eq!(leads("repo/.claude/skills/s/notes"), [false, false]);
    assert_eq!(leads("repo/lib"), [true, false]);
}

#[test]
fn what_takes_the_place_of_a_tracked_file_is_not_that_file() {
    let bench = ScopeFixture::new();
    let theirs = "repo/lib/AGENTS.md";
    fs::remove_file(bench.path("repo/README")).unwrap();
    bench.link("repo/README", ".env");
    bench.refuses(bench.import("repo/README", theirs), UNTRACKED);
    fs::rename(bench.path("repo/docs"), bench.path("repo/private")).unwrap();
    bench.link("repo/docs", "private");
    bench.refuses(bench.import("repo/docs/style.md", theirs), UNTRACKED);
    bench.git(&["add", "README"]);
    bench.refuses(bench.import("repo/README", theirs), UNTRACKED);
    // A link into a folder beside, and back by its name.
    bench.link("repo/lib/up", "../private/deep");
    fs::create_dir(bench.path("repo/private/deep")).unwrap();
    bench.refuses(bench.import("repo/lib/up/../draft.md", theirs), UNTRACKED);
    bench.refuses(bench.import("repo/lib/up/../../.env", theirs), UNTRACKED);
}

#[test]
fn a_folder_is_entered_where_it_holds_files_that_may_be_read() {
    let bench = ScopeFixture::new();
    bench.write("repo/private/x.md");
    bench.link("repo/lib/tracked", "../docs");
    bench.link("repo/lib/private", "../private");
    bench.link("repo/lib/all", "..");
    bench.link("repo/lib/out", "../../extra/..");
    bench.link("repo/lib/extra", "../../extra");
    let scope = bench.scope();
    let enters = |path: &str| scope.files().enter(&bench.path(path)).is_ok();
    let entered = ["tracked", "private", "all", "out", "extra"].map(|name| {
        let folder = format!("repo/lib/{name}");
        enters(&folder)
    });
    assert_eq!(entered, [true, false, false, false, true]);
    assert!(enters("repo/docs") && enters("repo/lib"));
}

#[test]
fn where_the_index_is_not_understood_nothing_counts_as_tracked() {
    let bench = ScopeFixture::new();
    let theirs = "repo/lib/AGENTS.md";
    let unknown = |words: &str| {
        let words = format!("whether git tracks it is unknown, since {words}");
        bench.refuses(bench.import("repo/docs/style.md", theirs), &words);
    };
    bench.git(&["update-index", "--split-index"]);
    unknown("git's index ");
    bench.git(&["update-index", "--no-split-index"]);
    bench.import("repo/docs/style.md", theirs).unwrap();
    for version in ["2", "3", "4"] {
        bench.git(&["update-index", "--index-version", version]);
        bench.import("repo/docs/style.md", theirs).unwrap();
    }
    bench.git(&["config", "core.worktree", "../.."]);
    unknown("the repository's setting core.worktree leads to another folder");
    bench.git(&["config", "--unset", "core.worktree"]);
    fs::write(bench.path("repo/.git/index"), "DIRC").unwrap();
    unknown("git's index has a form that is not understood");
    fs::remove_file(bench.path("repo/.git/index")).unwrap();
    bench.refuses(bench.import("repo/docs/style.md", theirs), UNTRACKED);
}

#[test]
fn the_index_is_read_for_nothing_but_what_lies_above() {
    let bench = ScopeFixture::new();
    let scope = bench.scope();
    let files = scope.files();
    let importer = FoundFile::new(&bench.path("repo/lib/AGENTS.md")).unwrap();
    files.locate(&bench.path("repo/lib/.env"), Some(&importer)).unwrap();
    files.locate(&bench.path("key"), Some(&importer)).unwrap_err();
    files.locate(&bench.path("repo/AGENTS.md"), None).unwrap();
    assert_eq!(files.index(), None);
    files.locate(&bench.path("repo/.env"), Some(&importer)).unwrap_err();
    assert_eq!(files.index(), Some(bench.path("repo/.git/index")));
}

#[test]
fn a_scope_of_no_project_holds_nothing() {
    let bench = ScopeFixture::new();
    for scope in [ProjectScope::default(), ProjectScope::new(&[], &[])] {
        assert!(!scope.contains(&bench.path("key")));
        assert!(scope.files().locate(&bench.path("key"), None).is_err());
    }
}

#[test]
fn an_importer_keeps_the_folder_that_it_was_read_in() {
    let bench = ScopeFixture::new();
    bench.write("repo/lib/sub/AGENTS.md");
    let importer = FoundFile::new(&bench.path("repo/lib/sub/AGENTS.md")).unwrap();
    fs::rename(bench.path("repo/lib/sub"), bench.path("repo/lib/moved")).unwrap();
    bench.link("repo/lib/sub", "..");
    bench.refuses(bench.locate("repo/.env", Some(&importer)), UNTRACKED);
}

#[test]
fn a_file_that_was_read_as_the_projects_is_never_the_users() {
    let bench = ScopeFixture::new();
    bench.write("repo/lib/agents/a.md");
    bench.write("away/a.md");
    bench.link("home/agents", "../repo/lib/agents");
    let scope = bench.scope().within_checkouts(None);
    let files = scope.files();
    let own = bench.path("home/agents");
    let found = files.locate_user_file(&own.join("a.md"), Some(&own)).unwrap();
    fs::rename(bench.path("repo/lib/agents"), bench.path("repo/lib/moved")).unwrap();
    bench.link("repo/lib/agents", "../../away");
    assert!(files.is_from_project(&found));
    assert!(!files.leads_into_project(&own), "what another look says now");
}
