use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::permission::path::PathTarget;
use crate::permission::pattern::PathPattern;
use crate::permission::places::Places;
use crate::protocol::EnvOverlay;

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
        .link("p/tools", "p/.tools")
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

const SETTINGS: &str = r#"
[core] hooksPath = "checks"
[include]
    path = ../shared/gitconfig
[submodule "src"]
    path = src
"#;

#[test]
fn git_folders_are_known_by_what_is_in_them_and_by_the_file_that_names_them() {
    let bench = |dir: &str| {
        ProtectedFixture::new(dir)
            .folders(&["p/lib.git/objects", "p/lib.git/main/src", "p/store", "p/tests/HEAD"])
            .file("p/lib.git/HEAD", "ref: refs/heads/main\n")
            .file("p/lib.git/main/.git", "gitdir: ../worktrees/main\n")
            .file("p/.git", "gitdir: store\n")
            .file("p/store/config", SETTINGS)
    };
    bench("p").assert(&[
        ("p/.git", true),
        ("p/store/config", true),
        ("p/store/HEAD", true),
        ("p/checks/pre-commit", true),
        ("p/shared/gitconfig", true),
        ("p/shared/notes", false),
        ("p/src/a.rs", false),
        ("p/lib.git/config", true),
        ("p/lib.git/hooks/post-checkout", true),
        ("p/lib.git/main/src/a.rs", false),
        ("p/lib.git/main/.git", true),
        ("p/tests/a.rs", false),
    ]);
    bench("p/lib.git/main").assert(&[("p/lib.git/main/src/a.rs", false)]);
    let inside = ProtectedFixture::new("q/.git/hooks").folders(&["q/.git/objects", "q/.git/hooks"]);
    inside.file("q/.git/HEAD", "ref: x\n").assert(&[("q/.git/hooks/pre-commit", true)]);
}

/// Whether the hooks folder `tools` in the project is protected with these settings of its repository.
fn protects_tools(settings: &str) -> bool {
    let bench =
        ProtectedFixture::new("p").folders(&["p/.git", "p/more"]).file("p/.git/config", settings);
    bench.protects("p/tools/pre-commit")
}

#[test]
fn settings_of_git_are_read_as_git_reads_them() {
    for settings in [
        "[core]\nhooksPath = tools",
        "[core]\n\thooksPath = tools # our hooks",
        "[core]\nhooksPath = tools; those of [ours]",
        "[core]\nhooksPath = \"tools\" ; \"ours\"",
        "[core]\nhooksPath = to\"ol\"s",
        "[core]\nhooksPath = to\\\nols",
        "[core]\r\nhooksPath = tools\r\n",
        "\u{feff}[core] hooksPath=tools",
        "[core] # first ]\nhooksPath = tools",
        "[core \"a]\\\"b\"] hooksPath = tools",
        "# a \" in a comment\n[core]\nbare\n; another \"\nHOOKSPATH\t=\ttools",
        "[alias]\nx = \"!f() { echo [#]; }\"\n[core]\nhooksPath = tools",
    ] {
        assert!(protects_tools(settings), "{settings}");
    }
    for settings in [
        "[core]\n# hooksPath = tools",
        "[core]\nx = y # \\\nz = a",
        "[core]\nx = \"# hooksPath\" \"= tools\"",
        "[core]\nhooksPath =",
        "[core]\nhooksPath",
    ] {
        assert!(!protects_tools(settings), "{settings}");
    }
    let odd = ProtectedFixture::new("p").folders(&["p/.git"]);
    let odd = odd.file("p/.git/config", "[core]\nhooksPath = a[b]#c\n[x] y = \"#\"\n");
    odd.assert(&[("p/a[b]/pre-commit", true), ("p/a[b]#c/x", false)]);
    let quoted = ProtectedFixture::new("p").folders(&["p/.git"]);
    let quoted = quoted.file("p/.git/config", "[core]\nhooksPath = \"a[b]#c; d\"\n");
    quoted.assert(&[("p/a[b]#c; d/pre-commit", true)]);
}

#[test]
fn files_that_settings_of_git_include_are_read_too() {
    let bench = ProtectedFixture::new("p").folders(&["p/.git", "p/more", "home"]);
    let mut bench = bench
        .file("p/.git/config", "[includeIf \"gitdir:[a-z]/\"] path = ../more/0\n")
        .file("home/.gitconfig", "[include]\npath = ~/own\n")
        .file("home/own", "[core]\nhooksPath = checks\n");
    for n in 0..9 {
        let text = format!("[include]\npath = {}\npath = {n}\n", n + 1);
        bench = bench.file(&format!("p/more/{n}"), &text);
    }
    bench = bench.file("p/more/9", "[core]\nhooksPath = tools\n");
    bench.assert(&[
        ("p/tools/pre-commit", true),
        ("p/more/5", true),
        ("p/more/9", true),
        ("p/checks/pre-push", true),
        ("p/more/notes", false),
    ]);
}

#[test]
fn what_links_among_git_hooks_lead_to_is_protected() {
    let bench = |hooks: &str| {
        let folders = ["p/.git", "p/scripts/lib", "p/githooks", "p/checks"];
        let bench = ProtectedFixture::new("p").folders(&folders).folders(&[hooks]);
        bench.link("p/scripts/pre-commit", &format!("{hooks}/pre-commit"))
    };
    let linked = [
        ("p/scripts/pre-commit", true),
        ("p/scripts/PRE-COMMIT", true),
        ("p/scripts/lib/a.sh", false),
        ("p/scripts", false),
        ("p/githooks/pre-push", false),
    ];
    bench("p/.git/hooks").assert(&linked);
    let named = bench("p/checks").file("p/.git/config", "[core]\nhooksPath = checks\n");
    named.assert(&linked);
    let both = bench("p/githooks").link("p/githooks", "p/.git/hooks");
    both.assert(&[
        ("p/scripts/pre-commit", true),
        ("p/githooks/pre-push", true),
        ("p/githooks/not-yet-there", true),
        ("p/scripts/other", false),
    ]);
    let gone = bench("p/checks").link("p/later", "p/.git/hooks");
    gone.assert(&[("p/later/pre-commit", true), ("p/scripts/pre-commit", false)]);
    let all = bench("p/.git/hooks").link("p", "p/.git/hooks/here");
    all.assert(&[("p/src/a.rs", false), ("p/scripts/pre-commit", true)]);
    let settings = bench("p/checks").link("p/later/settings", "p/.git/config");
    settings.assert(&[("p/later/settings", true), ("p/later/a", false)]);
}

#[test]
fn git_finds_its_hooks_and_settings_through_proc_and_links_to_it() {
    let bench = |settings: &str| {
        let folders = ["p/.git/hooks", "p/checks"];
        let bench = ProtectedFixture::new("p").folders(&folders).file("p/.git/config", settings);
        bench.link("/proc/self/cwd", "p/here")
    };
    for folder in ["/proc/self/cwd/checks", "here/checks", "/dev/fd/../cwd/checks"] {
        let named = bench(&format!("[core]\nhooksPath = {folder}\n"));
        named.assert(&[("p/checks/pre-commit", true), ("p/src/a.rs", false)]);
        let more = folder.replace("checks", "more").replace("here/", "../here/");
        let included = bench(&format!("[include]\npath = {more}\n"));
        included.assert(&[("p/more", true), ("p/src/a.rs", true)]);
    }
    let linked = bench("")
        .link("p/here/scripts/a", "p/.git/hooks/pre-push")
        .link("p/here/b", "p/.mise.toml");
    linked.assert(&[("p/scripts/a", true), ("p/b", true), ("p/scripts/b", false)]);
}

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
fn a_relative_folder_of_hooks_is_one_in_each_worktree() {
    let bench = ProtectedFixture::new("p").folders(&["p/.git/worktrees/w", "p/w", "p/other/hk"]);
    let bench = bench
        .file("p/.git/config", "[core]\nhooksPath = hk\nworktree = ../other\n")
        .file("p/.git/worktrees/w/gitdir", "../../../w/.git\n")
        .file("p/w/.git", "gitdir: ../.git/worktrees/w\n");
    bench.assert(&[
        ("p/hk/pre-commit", true),
        ("p/w/hk/pre-commit", true),
        ("p/other/hk/pre-commit", true),
        ("p/w/src/a.rs", false),
        ("p/other/a.rs", false),
    ]);
}

#[test]
fn links_below_a_linked_dot_folder_count() {
    let bench = ProtectedFixture::new("p").folders(&["p/r"]);
    let bench = bench.link("p/r", "p/.husky").link("p/check", "p/r/pre-commit");
    bench.assert(&[("p/check", true), ("p/r/x", true), ("p/src/a.rs", false)]);
}

#[test]
fn what_git_copies_into_new_repositories_is_protected() {
    let bench = ProtectedFixture::new("p").folders(&["p/.git", "p/tpl/hooks", "home"]);
    let bench = bench.file("home/.gitconfig", "[init]\n\ttemplateDir = ~/../p/tpl\n");
    bench.assert(&[("p/tpl/config", true), ("p/tpl/hooks/x", true), ("p/src/a.rs", false)]);
    // A relative one is in every folder in which git creates a repository.
    assert!(protects_tools("[init]\n\ttemplateDir = tpl\n"));
    assert!(!protects_tools("[init]\n\ttemplateDir =\n"));
}

#[test]
fn a_value_ends_for_git_at_its_first_nul() {
    assert!(protects_tools("[core]\nhooksPath = tools\0x\n"));
    let bench = ProtectedFixture::new("p").folders(&["p/own", "p/comm/hooks"]);
    let bench = bench.file("p/.git", "gitdir: own\0x\n").file("p/own/commondir", "../comm\0\n");
    bench.assert(&[("p/comm/hooks/pre-commit", true), ("p/own/config", true)]);
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
fn settings_that_only_git_reads_protect_the_whole_checkout() {
    for path in ["~ann/x", "%(prefix)/../home/ann/p/checks"] {
        assert!(protects_tools(&format!("[core]\nhooksPath = {path}\n")), "{path}");
        assert!(protects_tools(&format!("[include]\npath = {path}\n")), "{path}");
    }
}

#[test]
fn a_linked_worktree_has_the_hooks_of_its_repository() {
    let bench = ProtectedFixture::new("w").folders(&[
        "w/tools",
        "main/.git/worktrees/w",
        "main/.git/hooks",
    ]);
    let bench = bench
        .file("w/.git", "gitdir: ../main/.git/worktrees/w\n")
        .file("main/.git/worktrees/w/commondir", "../..\n")
        .link("w/tools/check", "main/.git/hooks/pre-push");
    bench.assert(&[("w/tools/check", true), ("w/tools/other", false)]);
}

#[test]
fn blanks_belong_to_the_names_of_git_folders() {
    for name in ["comm ", "comm\u{a0}", "co\nmm"] {
        let bench = ProtectedFixture::new("p").folders(&["p/own", &format!("p/{name}/hooks")]);
        let bench = bench
            .file("p/.git", "gitdir: own\n")
            .file("p/own/commondir", &format!("../{name}{}", "\n".repeat(70_000)));
        bench.assert(&[(&format!("p/{name}/hooks/pre-commit"), true), ("p/comm/hooks/x", false)]);
    }
}

#[test]
fn the_settings_of_git_are_those_of_the_environment_of_commands() {
    let hooks = "[core]\nhooksPath = checks\n";
    let including = "[includeIf \"gitdir:x\"]\npath = more/hooks\n[include]\npath = ~/tilde\n";
    for (name, value, file) in [
        ("XDG_CONFIG_HOME", "p/xdg", "p/xdg/git/config"),
        ("GIT_CONFIG_GLOBAL", "p/xdg/git/config", "p/xdg/git/config"),
        ("GIT_CONFIG_SYSTEM", "p/xdg/git/config", "p/xdg/git/config"),
        ("HOME", "p/xdg", "p/xdg/.gitconfig"),
        ("HOME", "p/xdg", "p/xdg/.config/git/config"),
    ] {
        let bench = |text: &str| {
            let folders = ["p/.git", "p/xdg/git", "p/xdg/.config/git", "p/xdg/tilde"];
            let mut bench = ProtectedFixture::new("p").folders(&folders).file(file, text);
            // Lookups from before the environment was known no longer count.
            assert!(!bench.protects("p/checks/pre-commit"), "{name}");
            let home = bench.root.join("elsewhere");
            let env =
                EnvOverlay::from_iter([("HOME", &home)]).with([(name, bench.root.join(value))]);
            bench.places = bench.places.with_env(&env);
            bench
        };
        let plain = [("p/checks/pre-commit", true), (file, true), ("p/xdg/a.rs", false)];
        bench(hooks).assert(&plain);
        let folder = Path::new(file).parent().unwrap().display();
        let more = format!("{folder}/more");
        let bench = bench(including).folders(&[&more]).file(&format!("{more}/hooks"), hooks);
        bench.assert(&[("p/checks/pre-commit", true), (&format!("{more}/hooks"), true)]);
    }
}

#[test]
fn the_users_hooks_are_protected_without_a_repository_around_them() {
    let bench =
        ProtectedFixture::new("home").folders(&["home/xdg/git", "home/hooks", "home/tools"]);
    let bench = bench.file("home/.gitconfig", "[core]\nhooksPath = ~/hooks\n");
    let bench = bench.link("home/tools/check", "home/hooks/pre-commit");
    bench.assert(&[
        ("home/hooks/pre-push", true),
        ("home/tools/check", true),
        ("home/tools/other", false),
    ]);
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

#[test]
fn the_file_that_completes_a_repository_is_protected_whichever_it_is() {
    let bench = ProtectedFixture::new("p").folders(&[
        "p/a/objects",
        "p/b",
        "p/c/refs",
        "p/d/config",
        "p/e",
    ]);
    let bench = bench.file("p/b/HEAD", "ref: refs/heads/main\n").file("p/e/commondir", "../b\n");
    bench.assert(&[
        ("p/a/HEAD", true),
        ("p/a/config", false),
        ("p/a/objects/info/alternates", false),
        ("p/b/config", true),
        ("p/b/objects/info/alternates", true),
        ("p/b/refs/heads/x", true),
        ("p/b/COMMONDIR", true),
        ("p/b/notes.txt", false),
        ("p/c/HEAD", true),
        ("p/c/head", true),
        ("p/d/HEAD", true),
        ("p/e/HEAD", true),
        ("p/src/HEAD", true),
        ("p/src/commondir", true),
        ("p/src/HEAD/a.rs", false),
        ("p/config/objects/refs", false),
    ]);
    // Git ignores a `.git` that is no repository.
    let bench =
        ProtectedFixture::new("p").folders(&["p/a/.git", "p/a/objects"]).file("p/a/HEAD", "");
    bench.assert(&[("p/a/config", true), ("p/a/src/a.rs", true), ("p/a/src/.git/x", true)]);
}
