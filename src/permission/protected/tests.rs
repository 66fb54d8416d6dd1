use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::permission::path::PathTarget;
use crate::permission::pattern::PathPattern;
use crate::permission::places::Places;
use crate::protocol::EnvOverlay;

mod git;

/// Folders on disk, and the places protected there. No name on the path to them begins with a dot.
struct ProtectedFixture {
    _dir: tempfile::TempDir,
    root: PathBuf,
    places: Places,
}

impl ProtectedFixture {
    /// One working directory, below the temporary folder.
    fn new(dir: &str) -> Self {
        let temporary = tempfile::Builder::new().prefix("caliban-").tempdir().unwrap();
        let root = fs::canonicalize(temporary.path()).unwrap();
        let places = Places {
            dirs: vec![root.join(dir)].into(),
            home: Some(root.join("home")),
            project: root.join(dir),
            ..Places::default()
        };
        Self { _dir: temporary, root, places }
    }

    fn with(mut self, places: impl Fn(&Path) -> Vec<ProtectedPlace>) -> Self {
        self.places.protected = Arc::new(ProtectedPlaces::new(places(&self.root)));
        self
    }

    fn folders(self, folders: &[&str]) -> Self {
        for folder in folders {
            fs::create_dir_all(self.root.join(folder)).unwrap();
        }
        self
    }

    fn link(self, target: &str, link: &str) -> Self {
        symlink(self.root.join(target), self.root.join(link)).unwrap();
        self
    }

    fn file(self, path: &str, text: &str) -> Self {
        fs::write(self.root.join(path), text).unwrap();
        self
    }

    fn target(&self, path: &str) -> PathTarget {
        PathTarget::new(&self.root, Path::new(path))
    }

    fn protects(&self, path: &str) -> bool {
        self.places.protects(&self.target(path))
    }

    /// Checks the protection of paths in a table.
    fn assert(&self, table: &[(&str, bool)]) {
        for (path, expected) in table {
            let protections = self.places.protections(&self.target(path));
            assert_eq!(!protections.is_empty(), *expected, "{path}: {protections:?}");
        }
    }
}

#[test]
fn names_count_from_the_working_directory_that_holds_the_file() {
    let mut bench = ProtectedFixture::new("p");
    let dirs = vec![bench.root.join("p"), bench.root.join("p/.caliban/worktrees/a")];
    bench.places.dirs = dirs.into();
    bench.assert(&[
        ("p/.git/config", true),
        ("p/sub/.GIT/hooks/x", true),
        ("p/.caliban/config.toml", true),
        ("p/src/main.rs", false),
        ("p/.caliban/worktrees/a/src/x.rs", false),
        ("p/.caliban/worktrees/a/.git", true),
        ("p/.caliban/worktrees/b/src/x.rs", true),
        ("home/.bashrc", true),
        ("elsewhere/.ssh/config", true),
        ("elsewhere/notes.txt", false),
    ]);
}

#[test]
fn files_that_run_by_being_there_are_protected_and_ordinary_files_are_not() {
    let bench = ProtectedFixture::new("p");
    for name in [
        ".bash_aliases",
        ".npmrc",
        ".yarnrc.yml",
        ".pnpmfile.cjs",
        ".envrc",
        ".env",
        ".cargo/config.toml",
        ".config/nextest.toml",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        "lefthook-local.yaml",
        ".lefthook/pre-push/x.sh",
        ".devcontainer/devcontainer.json",
        ".devcontainer.json",
        ".github/workflows/ci.yml",
        ".github/actions/x/action.yml",
        ".github/agents/helper.md",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        ".buildkite/pipeline.yml",
        "Jenkinsfile",
        "Jenkinsfile.nightly",
        "azure-pipelines.yml",
        "mise.toml",
        ".node-version",
        ".nvmrc",
        "rust-toolchain",
        "web/rust-toolchain.toml",
        "global.json",
        "mise.local.toml",
        "mise/config.toml",
        "mise/config.ci.toml",
        "mise/conf.d/tools.toml",
        "mise/tasks/build",
        "mise/tasks/tasks",
        "mise-tasks/build",
        "pixi.toml",
        "Procfile.dev",
        "buildkite/pipeline.yml",
        "captain-definition",
        "mise-tasks/db/reset.sh",
        "devbox.json",
        "devenv.nix",
        "prek.toml",
        "common/git-hooks/pre-commit",
        "flake.lock",
        "hk.pkl",
        "captainhook.json",
        "grumphp.yml",
        "grumphp.yaml",
        "grumphp.yml.dist",
        "lint-staged.config.mjs",
        "circle.yml",
        "cirrus.star",
        "jitpack.yml",
        "semaphore.yml",
        "x.sublime-workspace",
        "bitrise.yml",
        "zuul.d/jobs.yaml",
        "ci/build.gocd.yaml",
        "ios/ci_scripts/ci_post_clone.sh",
        "render.yaml",
        "App.code-workspace",
        "devfile.yaml",
        "opencode.json",
        "netlify.toml",
        "Procfile",
        "wrangler.jsonc",
        "vercel.json",
        "wercker.yml",
        ".mise.toml",
        ".tool-versions",
        ".gitattributes",
        ".gitmodules",
        ".husky/pre-commit",
        ".vscode/tasks.json",
        ".zed/tasks.json",
        ".exrc",
        ".nvim.lua",
        ".vim/vimrc",
        ".eslintrc.js",
        ".mcp.json",
        ".cursor/mcp.json",
        ".netrc",
        ".tmux.conf",
        ".gdbinit",
        ".Rprofile",
        ".well-known/.git/config",
        ".\u{17f}sh/config",
        "deep/down/.envrc",
    ] {
        assert!(bench.protects(&format!("p/{name}")), "{name}");
    }
    for name in [
        "src/main.rs",
        "Cargo.toml",
        "package.json",
        "Makefile",
        "conftest.py",
        "AGENTS.md",
        "CLAUDE.md",
        ".gitignore",
        ".dockerignore",
        "web/.gitkeep",
        ".editorconfig",
        ".env.example",
        ".github/CONTRIBUTING.md",
        ".github/ISSUE_TEMPLATE/bug.yml",
        ".changeset/brave-cats.md",
        ".well-known/security.txt",
        "mise/notes.md",
        "mise/tools.toml",
        "src/mise/tasks",
        "mise-tasks.md",
        "hk.rs",
        "devbox.rs",
        "circle.rs",
        "config.toml",
        "jenkins.md",
    ] {
        assert!(!bench.protects(&format!("p/{name}")), "{name}");
    }
}

#[test]
fn a_place_is_protected_under_every_name_and_so_is_what_links_in_it_lead_to() {
    let bench = ProtectedFixture::new("p")
        .folders(&["p/box/agents", "p/prompts", "p/rules"])
        .link("p/box", "p/alias")
        .link("p/rules/mine.toml", "p/box/config.toml")
        .link("p/prompts", "p/box/agents/team")
        .with(|root| {
            let own = |name: &str| root.join("p/box").join(name);
            vec![
                ProtectedPlace::unless_inside(own(""), ProtectionReason::Own),
                ProtectedPlace::always(own("config.toml"), ProtectionReason::Own),
                ProtectedPlace::always(own("agents"), ProtectionReason::Own),
            ]
        });
    bench.assert(&[
        ("p/box/anything", true),
        ("p/alias/anything", true),
        ("p/Box/anything", true),
        ("p/src/../box/x", true),
        ("p/rules/mine.toml", true),
        ("p/rules/other.toml", false),
        ("p/prompts/a.md", true),
        ("p/boxes/x", false),
    ]);
}

#[test]
fn an_agent_that_works_inside_caliban_s_folders_is_free_but_for_the_files_that_decide() {
    let bench = |dir: &str| {
        ProtectedFixture::new(dir).folders(&["own/worktrees/a", "own/project"]).with(|root| {
            let own = root.join("own/project/..");
            let config = ProtectedPlace::always(own.join("config.toml"), ProtectionReason::Own);
            vec![ProtectedPlace::unless_inside(own, ProtectionReason::Own), config]
        })
    };
    bench("own/worktrees/a").assert(&[
        ("own/worktrees/a/x.rs", false),
        ("own/worktrees/a/.git", true),
        ("own/worktrees/b/x.rs", true),
    ]);
    bench("own/project").assert(&[("own/project/x.rs", false), ("own/config.toml", true)]);
    bench("own").assert(&[("own/notes", true), ("own/config.toml", true)]);
    bench("").assert(&[("own/worktrees/a/x.rs", true), ("p/x.rs", false)]);
}

#[test]
fn the_home_directory_brings_its_programs_and_what_its_dot_links_lead_to() {
    let bench = |dir: &str| {
        ProtectedFixture::new(dir)
            .folders(&["home/.config", "home/code/.old", "home/bin", "home/dots/nvim", "data/p"])
            .link("home/dots/bashrc", "home/.bashrc")
            .link("home/dots/nvim", "home/.config/nvim")
            .link("home", "home/.self")
            .link("data", "home/.data")
            .link("home/dots/ignored", "home/.gitignore")
            .link("home/dots/readme", "home/readme")
    };
    bench("home").assert(&[
        ("home/.profile", true),
        ("home/bin/ls", true),
        ("home/Library/LaunchAgents/x.plist", true),
        ("home/dots/bashrc", true),
        ("home/dots/nvim/init.lua", true),
        ("home/dots/readme", false),
        ("home/dots/ignored", false),
        ("home/code/a.rs", false),
        ("home/code/.old/a.rs", true),
    ]);
    bench("home/bin").assert(&[("home/bin/ls", false), ("home/bin/.envrc", true)]);
    bench("data/p").assert(&[("data/p/a.rs", false)]);
    bench("home/dots").assert(&[("home/dots/bashrc", true), ("home/dots/readme", false)]);
}

#[test]
fn dot_links_of_the_folders_above_count_in_a_folder_that_they_lead_into() {
    let bench = ProtectedFixture::new("p/tools")
        .folders(&["p/.git", "p/tools/gh", "p/.vscode", "p/.forgejo/workflows", "outside"])
        .link("p/tools/hooks.yaml", "p/.pre-commit-config.yaml")
        .link("p/tools/gh", "p/.github")
        .link("p/tools/tasks", "p/.vscode/tasks.json")
        .link("p/tools/build", "p/.forgejo/workflows/ci.yml")
        .link("p/tools/far", ".far");
    bench.assert(&[
        ("p/tools/hooks.yaml", true),
        ("p/tools/gh/x.yml", true),
        ("p/tools/tasks", true),
        ("p/tools/build", true),
        ("p/tools/a.rs", false),
        ("p/tools/far", false),
    ]);
}

#[test]
fn a_dot_link_to_a_folder_around_it_gives_every_file_there_a_dot_name() {
    for (dir, link) in [("p", "p/.vscode"), ("p/sub", "p/.vscode"), ("p", "p/.dev/up")] {
        let bench = ProtectedFixture::new(dir).folders(&["p/.git", "p/.dev", "p/sub"]);
        let bench = bench.link(dir, link);
        bench.assert(&[(&format!("{dir}/tasks.json"), true)]);
        let folder = bench.root.join(dir);
        let rule = format!("/{}/**", folder.display());
        let pattern = PathPattern::parse(&rule, &bench.places.project, None).unwrap();
        let target = bench.target(&format!("{dir}/tasks.json"));
        let protections = bench.places.protections(&target);
        assert!(!protections.iter().all(|it| pattern.names(it)), "{rule}");
    }
}

#[test]
fn a_folder_with_a_long_path_protects_everything_around() {
    let long = vec!["x".repeat(200); 12].join("/");
    let bench = ProtectedFixture::new("p").folders(&[&format!("p/long/{long}"), "p/.git"]);
    bench.assert(&[("p/a.rs", false)]);
    let bench = bench.link(&format!("p/long/{long}"), "p/.husky");
    bench.places.renew_protected();
    bench.assert(&[("p/a.rs", true)]);
}

#[test]
fn a_dot_link_to_an_additional_folder_gives_its_files_a_dot_name() {
    let mut bench = ProtectedFixture::new("p").folders(&["p", "q"]).link("q", "p/.vscode");
    bench.assert(&[("p/a.rs", false)]);
    bench.places.dirs = vec![bench.root.join("p"), bench.root.join("q")].into();
    bench.assert(&[("q/tasks.json", true), ("p/a.rs", false)]);
}

#[test]
fn a_folder_on_path_that_nobody_can_follow_protects_everything_around() {
    let bench = ProtectedFixture::new("p")
        .folders(&["p/t"])
        .with(|root| vec![ProtectedPlace::below(root.join("p/bin"), ProtectionReason::Startup)]);
    bench.assert(&[("p/t/mk", false)]);
    let bench = ProtectedFixture::new("p")
        .folders(&["p/t"])
        .with(|root| vec![ProtectedPlace::below(root.join("p/bin"), ProtectionReason::Startup)]);
    symlink("/proc/self/cwd/t", bench.root.join("p/bin")).unwrap();
    bench.assert(&[("p/t/mk", true)]);
}

#[test]
fn a_link_that_nobody_can_follow_protects_everything_around() {
    let far = format!("/proc/{}self/cwd/scripts", "sys/../".repeat(45));
    let config = |root: &Path| {
        let files = ["p/.claude/settings.json", "p/.caliban/hooks"];
        let place = |file| ProtectedPlace::always(root.join(file), ProtectionReason::Config);
        files.map(place).into()
    };
    for link in [".envrc", ".dot/x", ".git/hooks/pre-commit", ".claude", ".caliban/hooks/lib/x"] {
        let folders = ["p/.git/hooks", "p/.dot", "p/scripts", "p/.caliban/hooks/lib"];
        let bench = ProtectedFixture::new("p").folders(&folders).with(config);
        bench.assert(&[("p/scripts/a.sh", false)]);
        let bench = ProtectedFixture::new("p").folders(&folders).with(config);
        symlink(&far, bench.root.join("p").join(link)).unwrap();
        bench.assert(&[("p/scripts/a.sh", true), ("p/a.rs", true)]);
    }
}

#[test]
fn what_links_lead_to_is_protected_as_deep_as_definitions_are_read() {
    let agents = |root: &Path| {
        vec![ProtectedPlace::always(root.join("p/.claude/agents"), ProtectionReason::Config)]
    };
    let folders = ["p/.claude/agents/a/b/c/d", "p/docs", "p/team", "p/more"];
    let bench = ProtectedFixture::new("p").folders(&folders).with(agents);
    let bench = bench
        .link("p/docs/deep.md", "p/.claude/agents/a/b/c/d/x.md")
        .link("p/team", "p/.claude/agents/team")
        .link("p/.claude", "p/.claude/agents/up")
        .link("p/more", "p/.claude/agents/a/more")
        .link("p/docs/up.md", "p/more/x.md")
        .link("p/docs/team.md", "p/team/x.md");
    bench.assert(&[
        ("p/docs/deep.md", true),
        ("p/docs/team.md", true),
        ("p/docs/up.md", true),
        ("p/team/new.md", true),
        ("p/docs/other.md", false),
    ]);
}

#[test]
fn what_protects_everything_leaves_other_protection_as_it_was() {
    let bench = ProtectedFixture::new("p")
        .folders(&["p/.git", "p/hk"])
        .file("p/.git/config", "[core]\nhooksPath = hk\n[include]\npath = ~ann/x\n");
    let rule = format!("/{}/**", bench.places.project.display());
    let pattern = PathPattern::parse(&rule, &bench.places.project, None).unwrap();
    for path in ["p/hk/pre-commit", "p/a.rs"] {
        let protections = bench.places.protections(&bench.target(path));
        assert!(!protections.iter().all(|it| pattern.names(it)), "{path}: {protections:?}");
    }
}

const SETTINGS: &str = r#"
[core] hooksPath = "checks"
[include]
    path = ../shared/gitconfig
[submodule "src"]
    path = src
"#;

#[test]
fn the_working_directory_itself_can_be_the_folder_of_hooks() {
    for folder in [".", "/proc/self/cwd"] {
        let settings = format!("[core]\nhooksPath = {folder}\n");
        let bench = ProtectedFixture::new("p").folders(&["p/.git", "p/src"]);
        let bench = bench.file("p/.git/config", &settings);
        bench.assert(&[("p/pre-commit", true), ("p/src/a.rs", false)]);
    }
}

#[test]
fn links_below_a_linked_dot_folder_count() {
    let bench = ProtectedFixture::new("p").folders(&["p/r"]);
    let bench = bench.link("p/r", "p/.husky").link("p/check", "p/r/pre-commit");
    bench.assert(&[("p/check", true), ("p/r/x", true), ("p/src/a.rs", false)]);
}

#[test]
fn a_folder_with_too_many_entries_to_search_protects_the_whole_checkout() {
    let bench = ProtectedFixture::new("p").folders(&["p/.git", "p/.d"]);
    for n in 0..50_001 {
        fs::File::create(bench.root.join(format!("p/.d/{n}"))).unwrap();
    }
    bench.assert(&[("p/src/a.rs", true)]);
}

#[test]
fn a_working_directory_that_is_a_link_stays_what_it_was_when_the_agent_got_it() {
    let mut bench = ProtectedFixture::new("link").folders(&["one", "two"]).link("one", "link");
    bench.places.dirs = vec![bench.root.join("link")].into();
    fs::remove_file(bench.root.join("link")).unwrap();
    symlink(bench.root.join("two"), bench.root.join("link")).unwrap();
    let is_inside = |path: &str| bench.target(path).is_inside(&bench.places);
    assert!(is_inside("one/x") && !is_inside("two/x"));
}

#[test]
fn places_that_come_or_go_later_are_protected_too() {
    let bench =
        ProtectedFixture::new("p").folders(&["p/scripts"]).link("p/scripts/old.sh", "p/.envrc");
    let is_protected = |path: &str| {
        bench.places.renew_protected();
        bench.protects(path)
    };
    assert!(is_protected("p/scripts/old.sh") && !is_protected("p/scripts/new.sh"));
    let link = bench.root.join("p/.envrc");
    fs::remove_file(&link).unwrap();
    symlink("scripts/new.sh", link).unwrap();
    assert!(is_protected("p/scripts/old.sh") && is_protected("p/scripts/new.sh"));
}

#[test]
fn a_rule_covers_a_protected_file_when_it_names_what_protects_it() {
    let bench = ProtectedFixture::new("p").folders(&["p/box"]).with(|root| {
        let own =
            ProtectedPlace::unless_inside(root.join("home/.config/caliban"), ProtectionReason::Own);
        vec![ProtectedPlace::unless_inside(root.join("p/box"), ProtectionReason::Own), own]
    });
    let home = bench.root.join("home");
    let names = |rule: &str, path: &str| {
        let pattern = PathPattern::parse(rule, &bench.places.project, Some(&home)).unwrap();
        let target = bench.target(path);
        assert!(pattern.allows(&target, &bench.places.project), "{rule}");
        bench.places.protections(&target).iter().all(|protection| pattern.names(protection))
    };
    for (rule, path, expected) in [
        ("**", "p/.npmrc", false),
        (".npmrc", "p/.npmrc", true),
        (".NPMRC", "p/.NPMRC", true),
        (".env*", "p/.env.local", true),
        (".*", "p/.env.local", false),
        (".github/**", "p/.github/workflows/ci.yml", true),
        (".github/**", "p/.github/.git/hooks/x", false),
        ("ci.yml", "p/.github/workflows/ci.yml", false),
        ("box/**", "p/box/config.toml", true),
        ("config.toml", "p/box/config.toml", false),
        ("~/**", "home/.bashrc", false),
        ("~/.config/**", "home/.config/fish/x", true),
        ("~/.config/**", "home/.config/caliban/config.toml", false),
        ("~/.config/caliban/**", "home/.config/caliban/config.toml", true),
        ("lefthook.yml", "p/lefthook.yml", true),
        ("src/**", "p/src/a.rs", true),
    ] {
        assert_eq!(names(rule, path), expected, "{rule} {path}");
    }
}
