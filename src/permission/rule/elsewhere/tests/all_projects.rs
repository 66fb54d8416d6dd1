//! Rules in the user's own files, which hold for all projects.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::disk::{GitConfigPaths, ProjectFolders};
use crate::permission::judge::Decision::{Allow, Ask};
use crate::permission::judge::testing::JudgeFixture;
use crate::protocol::{Access, EnvOverlay, PathTarget};

/// A project with these rules in the user's settings, which apply to all projects.
pub(super) fn for_all_projects(rules: &[&str]) -> JudgeFixture {
    let mut bench = JudgeFixture::new();
    bench.allow_everywhere(rules);
    bench
}

/// A program of this name in a folder of the project that precedes the others in `PATH`.
fn put_before_yours(bench: &mut JudgeFixture, program: &str) {
    let bin = bench.root.join("project/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join(program), "").unwrap();
    fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    let others = bench.places.programs.clone();
    bench.places.programs = std::iter::once(bin).chain(others.iter().cloned()).collect();
}

/// The settings of git with these variables, in a home of the bench.
fn git_with(bench: &JudgeFixture, variables: &[(&str, &str)]) -> GitConfigPaths {
    let home = bench.root.join("home").display().to_string();
    let usual = [("HOME", home.as_str()), ("PATH", "/usr/bin:/bin")];
    GitConfigPaths::new(&EnvOverlay::from_iter(usual.into_iter().chain(variables.iter().copied())))
}

#[test]
fn a_rule_for_all_projects_follows_no_link_of_the_one_at_hand() {
    let lines = [
        "make > all.txt",
        "make < src/in.txt",
        "tar cf all.txt src",
        "tar -c --file=all.txt src",
        "sort -oall.txt a.txt",
        "date > ../project/all.txt",
        "sh -c 'date > all.txt'",
        "o=all.txt; date > $o",
        "date > $PWD/all.txt",
        "date > \"$PWD\"/all.txt",
        "cat < $PWD/src/in.txt",
        "cat ${PWD}/src/in.txt",
        "cat al?.txt",
        "eval 'date > all.txt'",
    ];
    let rules = lines.map(|line| format!("Bash({line})"));
    let bench = for_all_projects(&rules.each_ref().map(String::as_str));
    bench.allows(lines);
    let (project, outside) = (bench.root.join("project"), bench.root.join("outside"));
    std::os::unix::fs::symlink(outside.join("all.txt"), project.join("all.txt")).unwrap();
    std::os::unix::fs::symlink(outside.join("in.txt"), project.join("src/in.txt")).unwrap();
    bench.asks(lines);
}

#[test]
fn a_rule_for_all_projects_sees_links_before_dots_above_the_shell_and_behind_many_files() {
    let lines = ["tee build/../log", "> ../log", "sort many/* -o out.txt"];
    let rules = lines.map(|line| format!("Bash({line})"));
    let mut bench = for_all_projects(&rules.each_ref().map(String::as_str));
    let project = bench.root.join("project");
    let outside = bench.root.join("outside");
    fs::create_dir_all(outside.join("sub")).unwrap();
    fs::create_dir_all(project.join("many")).unwrap();
    bench.allows(["tee build/../log", "sort many/* -o out.txt"]);
    std::os::unix::fs::symlink(outside.join("sub"), project.join("build")).unwrap();
    bench.asks(["tee build/../log"]);
    bench.places.dirs = vec![project.join("src")].into();
    std::os::unix::fs::symlink(outside.join("log"), project.join("log")).unwrap();
    assert_eq!(bench.bash_in("src", "> ../log").decision, Ask);
    bench.places.dirs = vec![project.clone()].into();
    // More than the limit, so the other word's target is unknown.
    for name in 0..50_001 {
        fs::write(project.join("many").join(name.to_string()), "").unwrap();
    }
    let judgement = bench.bash_judgement("sort many/* -o out.txt");
    assert_eq!(judgement.decision, Ask);
    assert!(judgement.why.contains("cannot tell which files"), "{}", judgement.why);
}

#[test]
fn a_rule_for_all_projects_covers_no_word_that_may_be_a_link_of_the_one_at_hand() {
    let bench = for_all_projects(&["Bash(tac:*)"]);
    let (project, outside) = (bench.root.join("project"), bench.root.join("outside"));
    fs::create_dir_all(project.join("sub")).unwrap();
    for file in ["project/plain.x", "project/plain", "project/lk.x", "outside/note"] {
        fs::write(bench.root.join(file), "").unwrap();
    }
    fs::remove_file(project.join("escape")).unwrap();
    fs::remove_file(project.join("src/dangling")).unwrap();
    let unknown = [
        "tac \"$w\"lk",
        "tac lk\"$w\"",
        "tac l\"$w\"k",
        "tac lk$(true)",
        "tac \"lk$(true)\"",
        "tac l*\"$w\"",
        "a=lk; b=$a$w; tac \"$b\"",
    ];
    let known = [
        "v=l; tac ${v}k",
        "v=k; tac \"l$v\"",
        "for f in lk; do tac \"$f\"; done",
        "for f in l*; do tac $f; done",
        "v='a lk'; for f in $v; do tac $f; done",
        "for v in ./[[]l]k; do tac $v; done",
    ];
    fs::write(project.join("[l]k"), "").unwrap();
    bench.allows(unknown.iter().chain(&known));
    bench.allows(["cd sub && tac ~-/plain"]);
    std::os::unix::fs::symlink(outside.join("note"), project.join("lk")).unwrap();
    bench.asks(["tac lk"].iter().chain(&unknown).chain(&known));
    bench.asks(["cd sub && tac ~-/lk", "cd ./sub && tac ~-/lk"]);
    bench.allows(["tac plain", "v=plain.x; tac $v", "for f in pl*.x; do tac $f; done"]);
    let why = bench.bash_judgement("tac lk$(true)").why;
    assert!(why.contains("a link of the project may lead `lk$(true)`"), "{why}");
    // A link that stays in the project may be meant, and the project's own rules vouch for a word.
    fs::remove_file(project.join("lk")).unwrap();
    std::os::unix::fs::symlink("plain", project.join("lk")).unwrap();
    bench.allows(unknown);
    fs::remove_file(project.join("lk")).unwrap();
    std::os::unix::fs::symlink(outside.join("note"), project.join("sub/deep")).unwrap();
    bench.asks(unknown);
    bench.allow("Bash(tac:*)").allows(["tac lk$(true)"]);
}

#[test]
fn a_rule_for_all_projects_follows_no_link_into_a_checkout_around_the_project() {
    let mut bench = for_all_projects(&["Bash(cp a build.log)"]);
    let around = bench.root.join("around");
    let lib = around.join("vendor/lib");
    for folder in [&around.join(".git"), &lib] {
        fs::create_dir_all(folder).unwrap();
    }
    bench.places.project = lib.clone();
    bench.places.dirs = vec![lib.clone()].into();
    bench.places.session = ProjectFolders::new([lib.clone()], bench.places.home.as_deref());
    bench.allows(["cp a build.log"]);
    std::os::unix::fs::symlink("../../run.sh", lib.join("build.log")).unwrap();
    bench.asks(["cp a build.log"]);
}

#[test]
fn rules_of_a_project_hold_in_all_of_it_wherever_the_session_works() {
    let mut bench =
        JudgeFixture::new().allow("Bash(cd:*)").allow("Bash(./run.sh)").allow("Read(docs/**)");
    let project = bench.root.join("project");
    for file in ["run.sh", "docs/x"] {
        fs::create_dir_all(project.join(file).parent().unwrap()).unwrap();
        fs::write(project.join(file), "").unwrap();
    }
    bench.places.dirs = vec![project.join("src")].into();
    let line = format!("cd {} && ./run.sh", project.display());
    let judgement = bench.bash_in("src", &line);
    assert_eq!(judgement.decision, Allow, "{}", judgement.why);
    let target = PathTarget::new(&project.join("src"), Path::new("../docs/x"));
    assert_eq!(bench.judge("Read", &Access::Read { paths: vec![target] }).decision, Allow);
}

#[test]
fn a_rule_for_all_projects_covers_no_redirect_to_a_file_that_only_the_line_tells() {
    let bench = for_all_projects(&["Bash(date > $(pwd)/new.txt)", "Bash(cat < $NOTES)"]);
    bench.asks(["date > $(pwd)/new.txt", "cat < $NOTES"]);
    let bench = JudgeFixture::new().allow("Bash(date > $(pwd)/new.txt)");
    bench.allows(["date > $(pwd)/new.txt"]);
}

#[test]
fn a_rule_for_all_projects_has_its_conditions_also_where_it_names_the_whole_line() {
    let with_git = [
        "gh pr create",
        "git stash",
        "ls -la; git tag x",
        "sh -c 'git stash'",
        "trap 'git stash' EXIT",
    ];
    let rules = with_git.map(|line| format!("Bash({line})"));
    let mut bench = for_all_projects(&rules.each_ref().map(String::as_str));
    bench.allow_everywhere(&["Bash(echo $(date))"]);
    bench.allows(with_git.into_iter().take(3).chain(["echo $(date)"]));
    // No attribute selects it yet: a checked-out one may.
    let settings = bench.root.join("home/.gitconfig");
    let filter = "[filter \"x\"]\n\tclean = python3 -m x\n";
    let git = git_with(&bench, &[]);
    let plain = std::mem::replace(&mut bench.places.git, git);
    fs::write(&settings, filter).unwrap();
    bench.asks(["git stash"]);
    fs::write(&settings, filter.replace("python3 -m x", "cat")).unwrap();
    bench.allows(["git stash"]);
    bench.places.git = plain;
    let hooks = bench.root.join("project/.git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("reference-transaction"), "").unwrap();
    bench.asks(with_git);
    bench.allows(["echo $(date)"]);
}

#[test]
fn a_rule_for_all_projects_trusts_no_variable_that_leads_git_elsewhere() {
    let mut bench =
        for_all_projects(&["Bash(git fetch)", "Bash(git init sub)", "Bash(gh pr create)"]);
    let lines = ["git fetch", "git init sub", "gh pr create"];
    bench.places.git = git_with(&bench, &[]);
    bench.allows(lines);
    for (name, value) in [
        ("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='x'"),
        ("GIT_DIR", "other/.git"),
        ("GIT_EXEC_PATH", "x"),
        ("GIT_TEMPLATE_DIR", "x"),
        ("GIT_WORK_TREE", "x"),
    ] {
        bench.places.git = git_with(&bench, &[(name, value)]);
        for line in lines {
            let judgement = bench.bash_judgement(line);
            assert_eq!(judgement.decision, Ask, "{name}: {line}: {}", judgement.why);
        }
    }
}

#[test]
fn what_works_with_git_by_itself_has_the_conditions_of_git() {
    let front_ends = "cz gh glab gt hub husky jj lefthook pre-commit prek repo stg tig";
    for program in front_ends.split(' ').chain(["git-absorb", "git"]) {
        let line = format!("{program} x");
        let bench = for_all_projects(&[&format!("Bash({line})")]);
        bench.allows([&line]);
        let hooks = bench.root.join("project/.git/hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::write(hooks.join("pre-commit"), "").unwrap();
        bench.asks([&line]);
    }
}

#[test]
fn a_rule_for_all_projects_has_its_conditions_also_where_there_is_no_repository() {
    let mut bench = for_all_projects(&["Bash(git:*)"]);
    let project = bench.places.project.clone();
    fs::remove_dir_all(project.join(".git")).unwrap();
    let home = bench.root.join("home");
    let elsewhere = format!("core hooksPath {}", home.join("hooks").display());
    for (setting, is_allowed) in [
        ("user name Ann", true),
        ("diff external python3 -m x", false),
        ("include path ~ann/x", false),
        ("core hooksPath .githooks", false),
        (&elsewhere, true),
    ] {
        let (section, setting) = setting.split_once(' ').unwrap();
        let (key, value) = setting.split_once(' ').unwrap();
        let settings = format!("[{section}]\n\t{key} = {value}\n");
        fs::write(home.join(".gitconfig"), settings).unwrap();
        bench.places.git = git_with(&bench, &[]);
        for line in ["git diff a b", "git apply x.diff"] {
            let judgement = bench.bash_judgement(line);
            assert_eq!(judgement.decision == Allow, is_allowed, "{setting}: {}", judgement.why);
        }
    }
    // `git init sub` makes a repository of a folder that already has hooks.
    fs::create_dir_all(project.join("sub/.git/hooks")).unwrap();
    fs::write(project.join("sub/.git/hooks/reference-transaction"), "").unwrap();
    bench.asks(["git diff a b"]);
}

#[test]
fn a_rule_for_all_projects_trusts_no_hooks_and_no_settings_of_the_one_at_hand() {
    let (general, own) = (
        for_all_projects(&["Bash(git commit:*)"]),
        JudgeFixture::new().allow("Bash(git commit:*)"),
    );
    let git = |bench: &JudgeFixture| bench.root.join("project/.git");
    for bench in [&general, &own] {
        assert_eq!(bench.bash("git commit -m x"), Allow, "a plain repository");
        fs::create_dir(git(bench).join("hooks")).unwrap();
        fs::write(git(bench).join("hooks/pre-commit.sample"), "").unwrap();
        assert_eq!(bench.bash("git commit -m x"), Allow, "with git's examples");
        fs::write(git(bench).join("hooks/pre-commit"), "").unwrap();
    }
    let judgement = general.bash_judgement("git commit -m x");
    assert_eq!(judgement.decision, Ask);
    let why = "hooks that git may start, such as pre-commit";
    assert!(judgement.why.contains(why), "{}", judgement.why);
    assert_eq!(own.bash("git commit -m x"), Allow);
    fs::remove_file(git(&general).join("hooks/pre-commit")).unwrap();
    fs::create_dir_all(general.root.join("home/x/hooks")).unwrap();
    fs::write(general.root.join("home/x/hooks/pre-commit"), "").unwrap();
    let config = git(&general).join("config");
    for settings in ["[core]\n\thooksPath = ~/x/hooks\n", "[filter \"f\"]\n\tclean = ./x\n"] {
        fs::write(&config, settings).unwrap();
        assert_eq!(general.bash("git commit -m x"), Ask, "{settings}");
    }
    // Programs that only a command with changes starts.
    for settings in ["[core]\n\teditor = ./x\n", "[remote \"origin\"]\n\turl = ./up.git\n"] {
        fs::write(&config, settings).unwrap();
        assert_eq!(general.bash("git commit -m x"), Ask, "{settings}");
        assert_eq!(general.bash("git status"), Allow, "{settings}");
    }
    // In place of a remote that no setting names.
    fs::write(&config, "").unwrap();
    assert_eq!(general.bash("git commit -m x"), Allow);
    fs::create_dir_all(general.root.join("project/origin/hooks")).unwrap();
    assert_eq!(general.bash("git commit -m x"), Ask);
}

#[test]
fn a_rule_for_all_projects_runs_no_program_of_the_one_at_hand() {
    let mut bench = for_all_projects(&["Bash(git commit:*)", "Bash(timeout 60 git:*)"]);
    bench.allows(["git commit -m x", "timeout 60 git commit -m x"]);
    put_before_yours(&mut bench, "git");
    bench.asks(["timeout 60 git commit -m x"]);
    let why = bench.bash_judgement("git commit -m x").why;
    assert!(why.contains("the project has a program git that PATH finds before yours"), "{why}");
}

#[test]
fn a_rule_for_all_projects_holds_in_no_folder_that_is_unknown_and_with_no_library_of_the_project() {
    let lines = ["git commit -m x", "date", "timeout 9 /usr/bin/date", "/usr/bin/date"];
    let rules = [
        "Bash(git commit:*)",
        "Bash(date)",
        "Bash(/usr/bin/date)",
        "Bash(timeout 9 /usr/bin/date)",
    ];
    let mut bench = for_all_projects(&rules);
    bench.allows(lines);
    bench.asks(["date; echo CDPATH", "git commit -m x; echo CDPATH"]);
    bench.places.has_start_file = true;
    bench.asks(lines);
    bench.places.has_start_file = false;
    bench.places.libraries = [bench.root.join("project/lib")].into();
    bench.asks(lines);
}
