//! The folders, settings and hooks of git.

use super::*;

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
fn a_whole_checkout_is_protected_with_the_reason_why_its_git_is_unknown() {
    let why = |settings: &str| {
        let bench = ProtectedFixture::new("p").folders(&["p/.git"]).file("p/.git/config", settings);
        let bench = bench.link("p/loop", "p/loop");
        let protections = bench.places.protections(&bench.target("p/a.txt"));
        let reasons: Vec<_> = protections.iter().map(|it| it.reason.to_string()).collect();
        reasons.join("; ").replace(&bench.root.display().to_string(), "")
    };
    let unresolved = "git may read /p/loop/hooks, and where that leads cannot be looked up";
    assert_eq!(why("[core]\nhooksPath = loop/hooks"), unresolved);
    let unread = "your git settings have values that only git reads";
    assert_eq!(why("[core]\nhooksPath = %(prefix)/hooks"), unread);
    assert_eq!(why(""), "");
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
fn settings_that_only_git_reads_protect_the_whole_checkout() {
    for path in ["~ann/x", "%(prefix)/../home/ann/p/checks"] {
        assert!(protects_tools(&format!("[core]\nhooksPath = {path}\n")), "{path}");
        assert!(protects_tools(&format!("[include]\npath = {path}\n")), "{path}");
    }
}

#[test]
fn settings_with_other_blanks_than_gits_are_not_known() {
    for blank in ["\u{a0}", "\u{c}", "\u{b}", "\u{3000}", "\u{85}"] {
        assert!(protects_tools(&format!("[core]\nhooksPath = checks{blank}\n")), "{blank:?}");
    }
    let bench = ProtectedFixture::new("p").folders(&["p/.git"]);
    fs::write(bench.root.join("p/.git/config"), b"[include]\npath = ../inc\xff\n").unwrap();
    bench.assert(&[("p/a.rs", true)]);
    // Names of people are plain.
    assert!(!protects_tools("[user]\n\tname = Jos\u{e9} \u{5f20}\r\n"));
}

#[test]
fn a_file_of_settings_counts_under_each_of_its_names() {
    let bench = ProtectedFixture::new("p")
        .folders(&["p/.git", "p/x", "p/y"])
        .file("p/.git/config", "[include]\npath = ../x/inc\npath = ../y/inc\n")
        .file("p/x/inc", "[include]\npath = sub.cfg\n")
        .file("p/y/sub.cfg", "[core]\nhooksPath = hk\n")
        .link("p/x/inc", "p/y/inc");
    bench.assert(&[("p/y/sub.cfg", true), ("p/hk/pre-commit", true), ("p/a.rs", false)]);
}

#[test]
fn a_checkout_within_has_the_hooks_that_its_settings_name() {
    let moved = "gitdir: ../.git/worktrees/w\n";
    for (dot_git, is_link) in [(moved, false), ("gitdir: ../.git\n", false), ("p/.git", true)] {
        let bench = ProtectedFixture::new("p").folders(&["p/.git/worktrees/w", "p/w2/hk", "p/w"]);
        let bench = bench
            .file("p/.git/config", "[core]\nhooksPath = hk\n")
            .file("p/.git/HEAD", "ref: refs/heads/main\n")
            .file("p/.git/worktrees/w/gitdir", "../../../w/.git\n")
            .file("p/.git/worktrees/w/commondir", "../..\n");
        let bench = match is_link {
            true => bench.link(dot_git, "p/w2/.git"),
            false => bench.file("p/w2/.git", dot_git),
        };
        bench.assert(&[("p/w2/hk/pre-commit", true), ("p/w2/src/a.rs", false)]);
    }
}

#[test]
fn each_checkout_of_a_repository_may_have_settings_of_its_own() {
    let bench = ProtectedFixture::new("p/wt")
        .folders(&["p/.git/worktrees/wt", "p/wt/hk"])
        .file("p/.git/config.worktree", "[core]\nhooksPath = wt/hk\n")
        .file("p/wt/.git", "gitdir: ../.git/worktrees/wt\n")
        .file("p/.git/worktrees/wt/commondir", "../..\n")
        .file("p/.git/worktrees/wt/gitdir", "../../../wt/.git\n");
    bench.assert(&[("p/wt/hk/pre-commit", true), ("p/wt/a.rs", false)]);
    // The working directory may be named by a link.
    let mut bench = ProtectedFixture::new("l").folders(&["p/.git", "p/sub"]).link("p/sub", "l");
    bench = bench.file("p/.git/config", "[core]\nhooksPath = sub/hk\n");
    bench.places.dirs = vec![bench.root.join("l")].into();
    bench.assert(&[("p/sub/hk/pre-commit", true), ("p/sub/a.rs", false)]);
}

#[test]
fn a_dot_git_that_git_skips_or_reads_otherwise_hides_nothing() {
    // An empty folder is no repository: git uses that around it.
    let bench = ProtectedFixture::new("p/sub")
        .folders(&["p/.git", "p/sub/.git", "p/sub/hk"])
        .file("p/.git/config", "[core]\nhooksPath = sub/hk\n")
        .link("p/sub/env.sh", "p/.envrc");
    bench.assert(&[("p/sub/hk/pre-commit", true), ("p/sub/env.sh", true), ("p/sub/a.rs", false)]);
    // Git trims line ends before it cuts at the NUL.
    let bench = ProtectedFixture::new("p").folders(&["p/g\n"]).file("p/.git", "gitdir: g\n\0x");
    bench.file("p/g\n/config", "[core]\nhooksPath = hk\n").assert(&[("p/hk/pre-commit", true)]);
    // A common folder that cannot be told may be any.
    let bench = ProtectedFixture::new("p").folders(&["p/.git"]).file("p/.git/commondir", "g\n\0x");
    bench.assert(&[("p/hk/pre-commit", true)]);
    // Git's own folders are no checkouts.
    let bench = ProtectedFixture::new("p")
        .folders(&["p/.git", "p/r/objects", "p/r/refs", "p/r/hooks/.git", "p/r/wt/.git"])
        .file("p/r/HEAD", "ref: refs/heads/main\n");
    bench.assert(&[("p/r/hooks/pre-receive", true), ("p/r/wt/a.rs", false)]);
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
