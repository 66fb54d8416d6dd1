//! The user's settings: where git reads them, and the programs that they name.

use super::*;

/// More files than are read.
const MANY: usize = 200;

/// Gives the user's settings this one alone.
fn set(bench: &RepositoryFixture, section: &str, key: &str, value: &str) {
    bench.write("home/.gitconfig", &format!("[{section}]\n\t{key} = {value}\n"));
}

#[test]
fn a_program_of_the_users_that_may_run_files_of_the_project_is_refused() {
    let bench = RepositoryFixture::new();
    let check = |shows| bench.check_command("a", shows);
    for (kind, key) in [
        ("filter", "clean"),
        ("filter", "smudge"),
        ("filter", "process"),
        ("diff", "textconv"),
        ("diff", "command"),
    ] {
        let section = format!("{kind} \"x\"");
        for plain in ["cat -- %f", "/usr/bin/sort", ""] {
            set(&bench, &section, key, plain);
            assert_eq!(check(true), Ok(()), "{key} {plain}: it takes nothing but data");
        }
        for command in ["./cat", "cat; ./x", "npx x", "$(./x)", "cat `x`", "no-such", "/tmp/cat"] {
            set(&bench, &section, key, &format!("'{command}'"));
            let why = check(true).unwrap_err();
            let start = format!("your git setting {kind}.x.{key} starts a program that may run");
            assert!(why.starts_with(&start), "{command}: {why}");
        }
        assert_eq!(check(false).is_ok(), kind == "diff", "{key}: without contents");
    }
    set(&bench, "merge \"x\"", "driver", "npx x");
    assert_eq!(check(true), Ok(()), "nothing merges");
    set(&bench, "diff", "external", "cat");
    assert_eq!(check(true), Ok(()));
    set(&bench, "diff", "external", "python3 -m x");
    assert!(check(true).is_err() && check(false).is_ok());
    set(&bench, "filter \"x\"", "clean", "sort %f");
    assert!(check(true).is_err(), "the name of a file may be an option");
    for (program, is_refused) in [("od", true), ("cat", false)] {
        set(&bench, "diff \"x\"", "textconv", program);
        assert_eq!(check(true), Ok(()), "{program}");
        bench.write("a/@odd", "");
        bench.git("a", &["add", "@odd"]);
        assert_eq!(check(true).is_err(), is_refused, "{program}");
        bench.git("a", &["rm", "-qf", "@odd"]);
    }
}

#[test]
fn signatures_are_shown_where_only_the_systems_own_programs_check_them() {
    let bench = RepositoryFixture::new();
    let shows = [
        ("log", "showSignature", "true"),
        ("log", "showsignature", "1"),
        ("format", "pretty", "%h %G?"),
        ("pretty", "own", "%GS"),
        ("branch", "sort", "-signature:grade"),
        ("tag", "sort", "signature"),
    ];
    for (section, key, value) in shows {
        let file = |program: &str| {
            let programs =
                format!("[gpg]\n\tprogram = {program}\n[gpg \"x509\"]\n\tprogram = no-such\n");
            bench.write("home/.gitconfig", &format!("[{section}]\n\t{key} = {value}\n{programs}"));
        };
        file("/usr/bin/env");
        assert_eq!(bench.check_command("a", true), Ok(()), "{key}");
        for program in ["./gpg", "/tmp/gpg"] {
            file(program);
            let why = bench.check_command("a", true).unwrap_err();
            assert_eq!(bench.check_command("a", false).is_ok(), key != "sort", "{key}");
            let key = key.to_lowercase();
            assert!(
                why.starts_with(&format!("your git setting {section}.{key} starts a")),
                "{why}"
            );
        }
    }
    for line in
        ["[log] showSignature\n", "[format]\n\tpretty = %h %+G?\n", "[pretty]\n\ta = % GS\n"]
    {
        bench.write("home/.gitconfig", &format!("{line}[gpg]\n\tprogram = ./gpg\n"));
        assert!(bench.check_command("a", true).is_err(), "{line}");
    }
    for (section, key, value) in [("log", "showSignature", "no"), ("branch", "sort", "-refname")] {
        let file = format!("[{section}]\n\t{key} = {value}\n[gpg]\n\tprogram = ./gpg\n");
        bench.write("home/.gitconfig", &file);
        assert_eq!(bench.check_command("a", true), Ok(()), "{key} = {value}");
    }
}

#[test]
fn settings_in_a_file_that_is_too_long_are_not_known() {
    let bench = RepositoryFixture::new();
    set(&bench, "include", "path", "long");
    assert_eq!(bench.check_command("a", true), Ok(()), "no such file");
    let long = format!("{}\n[diff]\n\texternal = x\n", "#".repeat(2 << 20));
    bench.write("home/long", &long);
    assert!(bench.check_command("a", true).unwrap_err().contains("that only git reads"));
    set(&bench, "include", "path", "/dev/null");
    assert_eq!(bench.check_command("a", true), Ok(()));
}

#[test]
fn settings_that_only_git_reads_are_refused() {
    let bench = RepositoryFixture::new();
    for value in ["~ann/x", "%(prefix)/x"] {
        set(&bench, "include", "path", value);
        let why = bench.check_command("a", true).unwrap_err();
        assert!(why.contains("that only git reads"), "{value}");
    }
    set(&bench, "user", "name", "Ann");
    let home = bench.path("home");
    for (name, why) in [
        ("GIT_EXTERNAL_DIFF", "your git setting diff.external"),
        ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_PARAMETERS"),
        ("GIT_DIR", "that only git reads"),
        ("GIT_EXEC_PATH", "that only git reads"),
        ("GIT_TEMPLATE_DIR", "that only git reads"),
        ("XDG_CONFIG_HOME", "that only git reads"),
        ("GIT_CONFIG_GLOBAL", "that only git reads"),
    ] {
        let env = EnvOverlay::from_iter([("HOME", home.as_os_str()), (name, OsStr::new("x"))]);
        let found = check_repository(&bench.path("a"), None, &GitConfigPaths::new(&env), true);
        assert!(found.unwrap_err().contains(why), "{name}");
    }
}

#[test]
fn a_program_of_the_repository_that_fetches_for_a_filter_is_refused() {
    let bench = RepositoryFixture::new();
    // A filter downloads what is missing with the program that the repository names for a fetch.
    bench.git("a", &["config", "core.sshCommand", "x"]);
    bench.write("home/.gitconfig", "[filter \"x\"]\n\tsmudge = cat\n");
    assert_eq!(bench.check_command("a", true), Ok(()));
    bench.write("home/.gitconfig", "[filter \"x\"]\n\tsmudge = cat\n[diff]\n\texternal = cat\n");
    assert!(bench.check_command("a", true).is_err_and(|why| why.contains("core.sshcommand")));
    assert_eq!(bench.check_command("a", false), Ok(()));
}

#[test]
fn settings_count_in_each_file_that_the_environment_names() {
    let bench = RepositoryFixture::new();
    bench.write("a/.husky/post-index-change", "");
    for file in ["xdg/git/config", "prefix/etc/gitconfig"] {
        bench.write(file, "[core]\n\thooksPath = .husky\n");
    }
    let home = bench.path("home");
    for (name, value) in [
        ("XDG_CONFIG_HOME", "xdg"),
        ("GIT_CONFIG_GLOBAL", "xdg/git/config"),
        ("GIT_CONFIG_SYSTEM", "xdg/git/config"),
        ("PATH", "prefix/bin"),
    ] {
        let env = EnvOverlay::from_iter([("HOME", &home)]).with([(name, bench.path(value))]);
        let why = check_repository(&bench.path("a"), Some(&home), &GitConfigPaths::new(&env), true);
        assert!(why.is_err_and(|why| why.contains("post-index-change")), "{name}");
    }
    let included = bench.path("xdg/git/config").display().to_string();
    for (key, value) in [("core.hooksPath", ".husky"), ("include.path", &included)] {
        let env = EnvOverlay::from_iter([
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "Ann"),
            ("GIT_CONFIG_KEY_1", key),
            ("GIT_CONFIG_VALUE_1", value),
        ]);
        let why = check_repository(&bench.path("a"), Some(&home), &GitConfigPaths::new(&env), true);
        assert!(why.is_err_and(|why| why.contains("post-index-change")));
    }
    assert_eq!(bench.check("a"), Ok(()));
}

#[test]
fn files_of_settings_that_include_many_others_come_to_an_end() {
    let bench = RepositoryFixture::new();
    let name = |n: usize| format!("path = {n}\npath = {}\n", n + 1);
    for n in 0..MANY {
        bench.write(&format!("home/{n}"), &format!("[include]\n{}", name(n)));
    }
    bench.write("home/.gitconfig", "[include]\npath = 0\n");
    let settings = |home: &str| GitConfigPaths::with_home(Some(&bench.path(home))).settings();
    let has = |file: usize| settings("home").files.contains(&bench.path(&format!("home/{file}")));
    assert!(has(9) && !has(10), "git goes no deeper");
    let all: String = (0..MANY).map(name).collect();
    bench.write("wide/.gitconfig", &format!("[include]\n{all}"));
    assert!(settings("wide").files.len() < MANY, "and there is an end to their number");
}
