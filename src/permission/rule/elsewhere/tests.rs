//! Allow rules and commands that run in another folder, repository or project.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::disk::{GitConfigPaths, ProjectFolders};
use crate::permission::judge::Decision::{Allow, Ask};
use crate::permission::judge::testing::JudgeFixture;
use crate::protocol::{Access, EnvOverlay, PathTarget};

fn repository(at: &Path) {
    for folder in ["objects", "refs"] {
        fs::create_dir_all(at.join(".git").join(folder)).unwrap();
    }
    fs::write(at.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
}

fn bench() -> JudgeFixture {
    let bench = JudgeFixture::new();
    let project = bench.root.join("project");
    let files = ["run.sh", "check.py", "unpacked/run.sh", "unpacked/check.py", "src/a"];
    for file in files.into_iter().chain(["build.mk", "unpacked/build.mk"]) {
        fs::create_dir_all(project.join(file).parent().unwrap()).unwrap();
        fs::write(project.join(file), "").unwrap();
    }
    repository(&project.join("unpacked"));
    [
        "./run.sh",
        "python3 check.py",
        "make -f build.mk",
        "python3 src",
        "node ./tools/build",
        "npm test",
        "git commit:*",
        "git push:*",
        "ssh-agent git:*",
        "prlimit sh -c 'cd .; git gc'",
        "for f in a; do ./run.sh; done",
    ]
    .into_iter()
    .fold(bench, |bench, rule| bench.allow(&format!("Bash({rule})")))
}

#[test]
fn a_rule_means_the_files_and_the_repository_of_the_project() {
    let bench = bench();
    for line in ["./run.sh", "python3 check.py", "git commit -m x", "for f in a; do ./run.sh; done"]
    {
        assert_eq!(bench.bash(line), Allow, "{line}");
        let judgement = bench.bash_in("unpacked", line);
        assert_eq!(judgement.decision, Ask, "{line}: {}", judgement.why);
        assert_eq!(bench.bash(&format!("cd unpacked && {line}")), Ask, "{line}");
    }
    fs::create_dir_all(bench.root.join("project/unpacked/src")).unwrap();
    bench.asks(["cd new && ./run.sh", "cd new && git commit -m x"]);
    assert_eq!(bench.bash("make -f build.mk"), Allow);
    bench.asks(["make -f build.mk; echo CDPATH"]);
    assert_eq!(bench.bash("cd new && npm test"), Allow);
    for line in ["python3 src", "node ./tools/build"] {
        assert_eq!(bench.bash(line), Allow, "{line}");
        assert_eq!(bench.bash_in("unpacked", line).decision, Ask, "{line}");
    }
    fs::create_dir_all(bench.root.join("project/unpacked/sub")).unwrap();
    std::os::unix::fs::symlink("unpacked/sub", bench.root.join("project/link")).unwrap();
    bench.asks(["cd link && git commit -m x", "git -C link commit"]);
    assert_eq!(bench.bash("cd link && git status"), Allow);
    let filter = "[filter \"f\"]\n\tclean = ./x\n";
    fs::write(bench.root.join("project/unpacked/.git/config"), filter).unwrap();
    bench.asks(["cd link && git status", "cd link && git commit -m x", "git commit -m x"]);
    bench.asks(["cd src && git commit -m x"]);
    fs::write(bench.root.join("project/unpacked/.git/config"), "").unwrap();
    for line in ["ssh-agent git push", "prlimit sh -c 'cd .; git gc'"] {
        assert_eq!(bench.bash(line), Allow, "{line}");
        assert_eq!(bench.bash_in("unpacked", line).decision, Ask, "{line}");
    }
    let why = bench.bash_in("unpacked", "git push").why;
    assert!(why.contains("unpacked is a repository of its own (--add-dir "), "{why}");
    let why = bench.bash_in("unpacked", "./run.sh").why;
    assert!(why.contains("./run.sh is not the project's own there"), "{why}");
}

#[test]
fn no_rule_holds_in_a_folder_whose_name_a_makefile_would_expand() {
    let bench = bench().allow("Bash(make -C /tmp/p:*)");
    let project = bench.root.join("project");
    for name in
        ["$(shell touch x)", "`touch x`", "a;touch x", "a -v b", "a \nb", "a|b", "x>y", "a "]
    {
        fs::create_dir_all(project.join(name).join("src")).unwrap();
        for line in ["npm test", "make -C /tmp/p test"] {
            for folder in [name.to_owned(), format!("{name}/src")] {
                let judgement = bench.bash_in(&folder, line);
                assert_eq!(judgement.decision, Ask, "{folder}: {}", judgement.why);
                let line = format!("cd '{folder}' && {line}");
                assert_eq!(bench.bash(&line), Ask, "{line}");
            }
        }
    }
    for name in ["src", "a b", "Ümlaut", "x.y-z_1", "@scope", "~b", "c++"] {
        fs::create_dir_all(project.join(name)).unwrap();
        assert_eq!(bench.bash_in(name, "npm test").decision, Allow, "{name}");
        assert_eq!(bench.bash(&format!("cd '{name}' && npm test")), Allow, "{name}");
    }
}

#[test]
fn no_rule_holds_where_the_path_to_the_project_is_not_plain_text() {
    let names =
        ["$(shell touch x)", "`x`", "a'b", "a\"b", "a;b", "a&b", "a(b)", "a -b", "-x", "a\nb"];
    let plain = ["My Projects", "José", "Jose\u{301}", "日本 語", "O’Brien", "x.y-z_1"];
    let all = names.map(|name| (name, Ask)).into_iter().chain(plain.map(|name| (name, Allow)));
    for (name, decision) in all {
        for is_last in [false, true] {
            let mut bench = bench().allow("Bash(make $(cat x))");
            let above = bench.root.join(name);
            let project = if is_last { above } else { above.join("project") };
            fs::create_dir_all(project.join("src")).unwrap();
            let tops = [bench.places.project.clone(), project.clone()];
            bench.places.session = ProjectFolders::new(tops.clone(), None);
            // An additional directory, or the project itself.
            bench.places.dirs = tops.into_iter().collect::<Vec<_>>().into();
            for is_project in [false, true] {
                if is_project {
                    bench.places.project = project.clone();
                }
                for folder in ["", "src"] {
                    let folder = project.join(folder);
                    let folder = folder.to_str().unwrap();
                    let judgement = bench.bash_in(folder, "npm test");
                    assert_eq!(judgement.decision, decision, "{folder}: {}", judgement.why);
                    let says = judgement.why.contains("programs may take the name of");
                    assert_eq!(says, decision == Ask, "{folder}: {}", judgement.why);
                    assert_eq!(bench.bash_in(folder, "ls").decision, Allow, "{folder}");
                }
                let line = bench.bash_in(project.to_str().unwrap(), "make $(cat x)");
                assert_eq!(line.decision, decision, "{name}: {}", line.why);
            }
        }
    }
}

#[test]
fn a_rule_for_git_holds_in_none_of_gits_own_folders() {
    let bench = bench();
    let project = bench.root.join("project");
    repository(&project);
    fs::create_dir_all(project.join(".git/hooks")).unwrap();
    std::os::unix::fs::symlink(".git/hooks", project.join("hooks")).unwrap();
    for folder in [".git", ".git/hooks", "hooks"] {
        let judgement = bench.bash_in(folder, "git commit -m x");
        assert_eq!(judgement.decision, Ask, "{folder}");
        assert!(judgement.why.contains("is one of git's own folders"), "{}", judgement.why);
        assert_eq!(bench.bash(&format!("cd {folder} && git commit -m x")), Ask, "{folder}");
    }
    assert_eq!(bench.bash("cd src && git commit -m x"), Allow);
    // The git folder of a checkout can lie anywhere.
    fs::rename(project.join(".git"), project.join("store")).unwrap();
    fs::write(project.join(".git"), "gitdir: store\n").unwrap();
    assert_eq!(bench.bash_in("store/hooks", "git commit -m x").decision, Ask);
    assert_eq!(bench.bash_in("src", "git commit -m x").decision, Allow);
}

#[test]
fn a_name_without_its_end_and_a_folder_with_a_star_are_the_projects_own() {
    let bench = bench()
        .allow("Bash(node build)")
        .allow("Bash(python3 -m tool)")
        .allow("Bash(python3 scripts/*)");
    let project = bench.root.join("project");
    for file in ["build.js", "tool.py", "unpacked/build.js", "unpacked/tool.py"] {
        fs::write(project.join(file), "").unwrap();
    }
    fs::create_dir_all(project.join("unpacked/scripts")).unwrap();
    for line in ["node build", "python3 -m tool", "python3 scripts/a.py -v"] {
        assert_eq!(bench.bash(line), Allow, "{line}");
        assert_eq!(bench.bash_in("unpacked", line).decision, Ask, "{line}");
    }
    bench.asks(["python3 scripts/../unpacked/tool.py", "python3 scripts/../../x.py"]);
    // A link that leads out of the project.
    let bench = bench.allow("Bash(python3 scripts/one.py:*)");
    fs::create_dir_all(project.join("scripts")).unwrap();
    for file in ["outside/x.py", "project/scripts/one.py", "project/scripts/own.py"] {
        fs::write(bench.root.join(file), "").unwrap();
    }
    bench.allows(["python3 scripts/one.py -v", "python3 scripts/own.py"]);
    std::os::unix::fs::symlink(bench.root.join("outside"), project.join("scripts/t")).unwrap();
    fs::remove_file(project.join("scripts/one.py")).unwrap();
    let target = bench.root.join("outside/x.py");
    std::os::unix::fs::symlink(target, project.join("scripts/one.py")).unwrap();
    bench.asks(["python3 scripts/t/x.py", "python3 scripts/one.py -v"]);
    bench.allows(["python3 scripts/own.py"]);
}

#[test]
fn a_line_that_repeats_the_star_of_a_rule_means_the_projects_own_files() {
    let bench = bench().allow("Bash(python3 scripts/*)");
    let project = bench.root.join("project");
    for folder in ["scripts", "lib/scripts"] {
        fs::create_dir_all(project.join(folder)).unwrap();
        fs::write(project.join(folder).join("a.py"), "").unwrap();
    }
    bench.allows(["python3 scripts/*"]);
    bench.asks(["cd lib; python3 scripts/*"]);
    assert_eq!(bench.bash_in("lib", "python3 scripts/*").decision, Ask);
    let (outside, link) = (bench.root.join("outside/x.py"), project.join("scripts/0.py"));
    fs::create_dir_all(outside.parent().unwrap()).unwrap();
    fs::write(&outside, "").unwrap();
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    bench.asks(["python3 scripts/*", "python3 scripts/0.py"]);
    fs::remove_file(&link).unwrap();
    bench.allows(["python3 scripts/*"]);
    for at in 0..300 {
        fs::write(project.join(format!("scripts/{at}.py")), "").unwrap();
    }
    bench.asks(["python3 scripts/*"]);
}

#[test]
fn a_name_that_is_joined_with_an_option_or_a_mark_is_the_projects_own() {
    let bench = bench()
        .allow("Bash(make -fbuild.mk:*)")
        .allow("Bash(own --config=conf/x:*)")
        .allow("Bash(own @conf/x:*)")
        .allow("Bash(own a=conf/x:*)")
        .allow("Bash(own -j4 --name=x:*)");
    let project = bench.root.join("project");
    for folder in ["conf", "unpacked/conf"] {
        fs::create_dir_all(project.join(folder)).unwrap();
        fs::write(project.join(folder).join("x"), "").unwrap();
    }
    for line in ["make -fbuild.mk all", "own --config=conf/x", "own @conf/x", "own a=conf/x b"] {
        assert_eq!(bench.bash(line), Allow, "{line}");
        assert_eq!(bench.bash(&format!("cd unpacked && {line}")), Ask, "{line}");
    }
    assert_eq!(bench.bash("cd unpacked && own -j4 --name=x"), Allow);
}

#[test]
fn a_name_that_an_interpreter_resolves_is_the_projects_own_also_with_an_option_and_as_a_dot() {
    let lines = [
        "node .",
        "python3 ..",
        "python3 -mtests.run",
        "python3 -Bmtool",
        "python3 -Im tool",
        "node --require=./a -e 1",
        "make -kfbuild.mk",
        "pytest tests/run.py::test_a",
        "own run.py:app",
    ];
    let rules = lines.map(|line| format!("Bash({line})"));
    let bench = rules.iter().fold(bench(), |bench, rule| bench.allow(rule));
    let project = bench.root.join("project");
    for folder in ["", "unpacked"] {
        fs::create_dir_all(project.join(folder).join("tests")).unwrap();
        for file in ["index.js", "a.js", "tool.py", "tests/run.py", "run.py"] {
            fs::write(project.join(folder).join(file), "").unwrap();
        }
    }
    for line in lines {
        assert_eq!(bench.bash(line), Allow, "{line}");
        assert_eq!(bench.bash_in("unpacked", line).decision, Ask, "{line}");
        assert_eq!(bench.bash(&format!("cd unpacked && {line}")), Ask, "{line}");
    }
    let bench = bench.allow("Bash(python3 -u -m unittest)").allow("Bash(make V=1 CC=gcc-13)");
    let bench = bench.allow("Bash(npm run test:unit)").allow("Bash(cargo test -- --nocapture)");
    for line in [
        "python3 -u -m unittest",
        "make V=1 CC=gcc-13",
        "npm run test:unit",
        "cargo test -- --nocapture",
    ] {
        let judgement = bench.bash_in("unpacked", line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
    }
}

#[test]
fn a_word_that_is_no_plain_name_holds_in_the_projects_own_folder_alone() {
    let lines = [
        "sh -c 'sh run.sh'",
        "bash -c \"source run.sh\"",
        "eval \"sh run.sh\"",
        "env -S \"sh run.sh\"",
        "trap 'sh run.sh' EXIT",
        "awk 'BEGIN{system(\"sh run.sh\")}'",
        "find . -exec sh -c 'sh run.sh' \\;",
        "pytest -k \"a and b\"",
        "own \"a?\"",
    ];
    let rules = lines.map(|line| format!("Bash({line})"));
    let bench = rules.iter().fold(bench(), |bench, rule| bench.allow(rule));
    let long = format!("own {}", "a=".repeat(20));
    let bench = bench.allow(&format!("Bash({long})")).allow("Bash(own 'a b':*)");
    for line in lines.into_iter().chain([long.as_str(), "own 'a b' c"]) {
        assert_eq!(bench.bash(line), Allow, "{line}");
        for judgement in
            [bench.bash_in("unpacked", line), bench.bash_judgement(&format!("cd src; {line}"))]
        {
            assert_eq!(judgement.decision, Ask, "{line}: {}", judgement.why);
            let says = "is not a plain name, so it may name any file there";
            assert!(judgement.why.contains(says), "{}", judgement.why);
        }
    }
    // The rule names the folder as well.
    let bench = bench.allow("Bash(cd src && pytest -k 'a or b')");
    bench.allows(["cd src && pytest -k 'a or b'"]);
    assert_eq!(bench.bash_in("unpacked", "cd src && pytest -k 'a or b'").decision, Ask);
}

#[test]
fn a_rule_for_a_whole_line_follows_no_link_that_came_later() {
    let lines = ["make > build.log", "make | tee build.log", "tee build.log"];
    let rules = lines.map(|line| format!("Bash({line})"));
    let bench = rules.iter().fold(JudgeFixture::new(), |bench, rule| bench.allow(rule));
    bench.allows(lines);
    let outside = bench.root.join("outside");
    fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(outside.join("x"), bench.root.join("project/build.log")).unwrap();
    bench.asks(lines);
}

#[test]
fn a_rule_holds_in_the_folders_of_the_project_and_in_additional_directories() {
    let mut bench = bench();
    for line in ["git commit -m x", "npm test", "../run.sh"] {
        let judgement = bench.bash_in("src", line);
        assert_eq!(judgement.decision == Allow, line != "../run.sh", "{line}: {}", judgement.why);
    }
    assert_eq!(bench.bash("cd src && git commit -m x && git push"), Allow);
    assert_eq!(bench.bash_in("unpacked", "npm test").decision, Allow);
    let project = bench.root.join("project");
    bench.places.dirs = vec![project.clone(), project.join("unpacked")].into();
    for line in ["./run.sh", "python3 check.py", "git commit -m x"] {
        let judgement = bench.bash_in("unpacked", line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
    }
}

/// A project with these rules in the user's settings, which apply to all projects.
fn for_all_projects(rules: &[&str]) -> JudgeFixture {
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
fn no_rule_trusts_a_repository_within_which_a_command_may_make_a_submodule() {
    let rule = "Bash(git commit:*)";
    for bench in [for_all_projects(&[rule]), JudgeFixture::new().allow(rule)] {
        let inner = bench.root.join("project/src");
        repository(&inner);
        assert_eq!(bench.bash("git commit -m x"), Allow);
        fs::write(inner.join(".git/config"), "[filter \"f\"]\n\tclean = ./x\n").unwrap();
        assert_eq!(bench.bash("git commit -m x"), Ask);
    }
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
