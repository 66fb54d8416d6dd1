//! Words known only at run time, through the judge: they count as all that they stand for now.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::super::super::judge::testing::JudgeFixture;

fn with_files(rule: &str, files: &[&str]) -> JudgeFixture {
    let bench = JudgeFixture::new().allow(rule);
    for file in files {
        fs::write(bench.places.project.join(file), "").unwrap();
    }
    bench
}

#[test]
fn a_glob_is_each_option_that_it_matches() {
    let rows: [(&str, &str, &[&str]); 17] = [
        ("Bash(git rebase:*)", "a --exec=x", &["for f in a*; do git rebase $f; done"]),
        ("Bash(git rebase:*)", "-xid>x", &["for f in -*; do git rebase feat \"$f\"; done"]),
        ("Bash(git rebase:*)", "-xid>x", &["git rebase feat -*", "git rebase feat -x*"]),
        ("Bash(git rebase:*)", "-xid>x", &["x=-*; git rebase feat $x", "git rebase feat {-,a}*"]),
        ("Bash(git log:*)", "--output=x", &["for f in --*; do git log \"$f\"; done"]),
        ("Bash(npm run test:*)", "--script-shell=x", &["for f in a --*; do npm run test $f; done"]),
        ("Bash(cargo test:*)", "--config=x", &["for f in -*; do cargo test \"$f\"; done"]),
        ("Bash(make test:*)", "--eval=$(shell id)", &["for f in -*; do make test \"$f\"; done"]),
        ("Bash(tar:*)", "--use-compress-program=sh s", &["for f in --*; do tar cf x \"$f\"; done"]),
        ("Bash(sort:*)", "--compress-program=x", &["for f in -*; do sort \"$f\"; done"]),
        ("Bash(rg:*)", "--pre=x", &["for f in -*; do rg a \"$f\"; done"]),
        ("Bash(own:*)", "--exec=x", &["own -*", "for f in -*; do own \"$f\"; done", "own *"]),
        ("Bash(ssh:*)", "-oProxyCommand=id>x", &["ssh -o* host", "ssh -oP* host"]),
        ("Bash(mvn test:*)", "-Dmaven.ext.class.path=x.jar", &["mvn test -D*"]),
        ("Bash(go build:*)", "-ldflags=-extld=x", &["go build -l*"]),
        ("Bash(pytest:*)", "-pplug", &["pytest -p*"]),
        ("Bash(dotnet build:*)", "p", &["dotnet build -p*"]),
    ];
    for (rule, file, lines) in rows {
        with_files(rule, &[file]).asks(lines);
    }
    // Without such a file, a name that begins like an option may still become one.
    let bench = with_files("Bash(git rebase:*)", &[]).allow("Bash(git commit:*)");
    bench.asks(["git rebase feat -*", "git commit -q*", "for f in -*; do git rebase \"$f\"; done"]);
}

#[test]
fn a_glob_is_each_assignment_goal_and_sub_command_that_it_matches() {
    let files = ["SHELL=sh", "x:=$(shell id>x)", "y$(file >x,hello)=1", "run", "p:PreBuild=x"];
    let bench = with_files("Bash(make test:*)", &files).allow("Bash(git bisect:*)");
    let bench = bench.allow("Bash(dotnet build:*)").allow("Bash(uniq:*)").allow("Bash(xxd:*)");
    bench.asks([
        "make test S*",
        "make test x*",
        "make test y*",
        "make test -- S*",
        "make test [A-Z]*",
        "make test SHE??=*",
        "for f in x*; do make test \"$f\"; done",
        "x=S; make test $x*",
        "git bisect r*",
        "git bisect ru?",
        "uniq [rx]*",
        "xxd [rx]*",
        "uniq {r,x}*",
        "cd src; make test ../S*",
    ]);
    fs::write(bench.places.project.join("src/a.c"), "").unwrap();
    bench.allows(["make test src/*.c", "for f in src/a; do make test \"$f.c\"; done", "uniq r*"]);
}

#[test]
fn a_glob_is_each_link_that_it_matches() {
    let rules = ["blame", "apply", "am", "grep", "config", "bisect", "diff", "ls-files", "add"];
    let mut bench = JudgeFixture::new();
    for rule in rules {
        bench = bench.allow(&format!("Bash(git {rule}:*)"));
    }
    let project = bench.places.project.clone();
    fs::write(project.join("a.txt"), "").unwrap();
    fs::write(bench.root.join("outside/secret"), "").unwrap();
    symlink(bench.root.join("outside/secret"), project.join("lsec")).unwrap();
    bench.asks([
        "git blame --contents ls* a.txt",
        "git apply ls*",
        "git am ls*",
        "git grep -f ls*",
        "git config -lf ls*",
        "git bisect replay ls*",
        "git diff --no-index a.txt l*",
        "git diff --no-index a.txt ./l*",
        "for f in ls*; do git blame a.txt --contents \"$f\"; done",
        "for f in ls*; do git blame a.txt --contents=\"$f\"; done",
        "for f in l; do git blame a.txt --contents \"$f\"*; done",
        // The value of an option may be in its word.
        "git blame -lSlsec a.txt",
        "git blame -Slsec a.txt",
        "git ls-files -oXlsec",
        "git config -lflsec",
        "git config -zflsec x.y z",
        "git config -f lsec x.y z",
        "git blame --contents=lsec a.txt",
        "for f in ls*; do git blame -lS\"$f\" a.txt; done",
    ]);
    bench.allows(["git blame --contents a* a.txt", "git blame -Sa.txt a.txt", "git add a*"]);
}

#[test]
fn too_many_names_count_by_their_form() {
    let bench = JudgeFixture::new().allow("Bash(git add:*)").allow("Bash(rustfmt:*)");
    let bench = bench.allow("Bash(make test:*)").allow("Bash(own:*)");
    let project = bench.places.project.clone();
    for at in 0..300 {
        fs::write(project.join(format!("src/f{at}.rs")), "").unwrap();
    }
    let lines = [
        "git add src/*.rs",
        "for f in src/*.rs; do rustfmt \"$f\"; done",
        "for f in src/*.rs; do rustfmt \"$f\" --check; done",
        "cd src && own f*.rs",
    ];
    bench.allows(lines);
    fs::write(project.join("src/f=1.rs"), "").unwrap();
    bench.asks(["cd src && own f*.rs", "cd src && make test f*.rs"]);
    bench.allows(["cd src && own f1*.rs"]);
}

#[test]
fn what_other_commands_put_into_a_variable_may_be_an_option() {
    let bench = with_files("Bash(git rebase:*)", &[]).allow("Bash(make test:*)");
    bench.asks([
        "read -r x < f; git rebase feat \"$x\"",
        "mapfile -t x < f; git rebase feat \"${x[@]}\"",
        "for f in $(git ls-files); do git rebase feat \"$f\"; done",
        "for f in $(git ls-files); do make test \"$f\"; done",
        "for f in -* $(git ls-files); do make test \"$f\"; done",
        "git rebase feat -\"$(cat f)\"",
        "git rebase feat {-,$(cat f)}x",
    ]);
}

#[test]
fn everyday_lines_stay_allowed() {
    let mut bench = JudgeFixture::new();
    for rule in [
        "git add",
        "git commit",
        "git worktree",
        "git clone",
        "git init",
        "cargo test",
        "npm run test",
        "make test",
        "pytest",
        "rustfmt",
        "eslint",
        "own",
        "npm install",
        "pnpm",
        "yarn",
    ] {
        bench = bench.allow(&format!("Bash({rule}:*)"));
    }
    let project = bench.places.project.clone();
    fs::create_dir(project.join("tests")).unwrap();
    for file in ["src/a.rs", "src/b.rs", "tests/test_a.py", "tests/test_b.py", "a.js", "b.js"] {
        fs::write(project.join(file), "").unwrap();
    }
    bench.allows([
        "ls src",
        "rg x src",
        "git status",
        "git diff src/a.rs",
        "cat src/a.rs | head -3",
        "cd src && ls",
        "git add src/*.rs",
        "git add ./src/*.rs",
        "cd src && git add a*.rs",
        "git commit -m \"fix: it\"",
        "cargo test -p x name",
        "npm run test",
        "npm run test -- --coverage",
        "npm run test --silent --workspace web",
        "npm install --save-dev --no-audit --no-fund x",
        "pnpm -r --filter web test",
        "pnpm install --frozen-lockfile",
        "yarn add -D x",
        "make test V=1 -j4",
        "make test -k -j 4 VERBOSE=1 src/a.o",
        "make test -j4 2>&1 | tail -20",
        "pytest tests/test_*.py",
        "pytest -q tests/test_*.py -k name",
        "for f in src/*.rs; do rustfmt \"$f\"; done",
        "for f in src/a src/b; do rustfmt \"$f.rs\"; done",
        "for d in src tests; do git add \"$d\"/*.rs; done",
        "for f in a b; do eslint \"$f.js\" --fix; done",
        "own a*.js out-*.js",
        "own --include=*.js x",
        "git clone https://example.com/o/r.git",
        "git clone --depth 1 https://example.com/o/r sub/r",
        "git init sub",
        "git worktree add ../x -b y",
    ]);
}

#[test]
fn a_folder_of_many_names_is_read_once() {
    let mut bench = JudgeFixture::new();
    for at in 0..40 {
        bench = bench.allow(&format!("Bash(own{at}:*)"));
    }
    let bench = bench.allow("Bash(own:*)");
    for at in 0..10_000 {
        fs::write(bench.places.project.join(format!("src/f{at}")), "").unwrap();
    }
    let timed = |line: &str| {
        let start = Instant::now();
        bench.allows([line]);
        start.elapsed()
    };
    timed("own src/f*");
    let (one, five) =
        (timed("own src/f*"), timed("own src/f1* src/f2* src/f*; own src/f3*; own src/f9?9"));
    // For each word and rule, it would be two hundred times as long.
    assert!(five < one * 30 + Duration::from_millis(50), "{one:?} {five:?}");
}

#[test]
fn a_dash_of_the_line_in_front_of_unknown_text_may_begin_an_option() {
    let bench = JudgeFixture::new().allow("Bash(own:*)").allow("Bash(python3 -m own:*)");
    let bench = bench.allow("Bash(npx own:*)").allow("Bash(git commit:*)").allow("Bash(echo:*)");
    for own in ["own", "python3 -m own", "npx own"] {
        let lines = [
            "y=--; own \"$y$(echo output=/x)\"",
            "y=-; own $y$(echo -output=/x)",
            "for y in --; do own \"$y$(echo output=/x)\"; done",
            "for y in -- a; do own \"$y$z\"; done",
            "own \"$nope--output=/y\"",
            "own \"$a$b--anything\"",
            "own \"$(echo)-x\"",
            "y='a --'; own $y$(echo output=/x)",
            "y='a --any=/x b'; own $y$x",
        ];
        bench.asks(lines.map(|line| line.replace("own", own)));
    }
    bench.allows([
        "own \"$x\" $y \"$x$y\" \"$x/a-b\" a-$x",
        "own --name=$x --name=\"$(echo a)\" -f$x",
        "own -- \"$x-y\"",
        "y=-n; own $y",
        "for f in src/a.c src/my-file.c; do own \"$f\" \"$f.o\"; done",
        "git commit -m \"$x-fix: y\"",
        "git commit -m \"$(echo a)-b\"",
        "echo \"$x-y\"",
    ]);
    bench.asks(["git commit -m \"a\"$x\"b\"", "git commit -m \"$@\" --amend"]);
}

#[test]
fn none_of_too_many_names_may_begin_with_a_dash() {
    let mut bench = JudgeFixture::new();
    for program in ["own", "npx own", "xz", "cp"] {
        bench = bench.allow(&format!("Bash({program}:*)"));
    }
    let project = bench.places.project.clone();
    for at in 0..300 {
        fs::write(project.join(format!("src/f{at}")), "").unwrap();
    }
    let lines = ["cd src; own *", "cd src; npx own *", "cd src; xz *", "cd src; cp * .."];
    bench.asks(["cd src; own *"]);
    fs::remove_file(project.join("src/dangling")).unwrap();
    bench.allows(lines);
    for name in ["--output=p9", "--x", "-x=y", "-"] {
        fs::write(project.join("src").join(name), "").unwrap();
        bench.asks(lines);
        fs::remove_file(project.join("src").join(name)).unwrap();
    }
}
