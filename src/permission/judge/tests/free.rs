//! Commands that run without a rule because they only read.

use std::ffi::OsStr;
use std::sync::LazyLock;

use super::*;
use crate::disk::ProjectFolders;
use crate::permission::rule::{RuleBase, RuleList, RuleOrigin};
use crate::protocol::{BashVersion, EnvOverlay};

#[test]
fn a_rule_for_all_projects_unbinds_nothing_that_is_free_without_it() {
    let mut bench = JudgeFixture::new();
    bench.allow_everywhere(&["Bash(git:*)"]);
    let is_confined = |bench: &JudgeFixture, line: &str| {
        let judgement = bench.bash_judgement(line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
        judgement.read_only.is_some()
    };
    assert!(is_confined(&bench, "git status"));
    assert!(is_confined(&bench, "git diff | head"));
    let bench = bench.mode(PermissionMode::AcceptEdits);
    for line in ["git tag x", "git diff > src/a", "git tag x && git status"] {
        assert!(!is_confined(&bench, line), "{line}");
    }
    let own = JudgeFixture::new().allow("Bash(git:*)");
    assert!(!is_confined(&own, "git status"));
}

#[test]
fn a_redirect_that_the_mode_allows_is_confined_to_the_folder_of_its_file() {
    let bench = JudgeFixture::new().mode(PermissionMode::AcceptEdits);
    let (project, src) = (bench.root.join("project"), bench.root.join("project/src"));
    fs::create_dir_all(&src).unwrap();
    symlink(&src, project.join("alias")).unwrap();
    let written = |bench: &JudgeFixture, line: &str| {
        let judgement = bench.bash_judgement(line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
        judgement.read_only.map(|bounds| bounds.write.to_vec())
    };
    for (line, folders) in [
        ("echo x > src/a", vec![&src]),
        ("cat > alias/a <<'E'\nx\nE", vec![&src]),
        ("cat src/a > b; > src/c", vec![&project, &src]),
        ("echo x > none/a", vec![]),
        ("cat src/a", vec![]),
    ] {
        assert_eq!(written(&bench, line), Some(folders.into_iter().cloned().collect()), "{line}");
    }
    // A rule lifts it, for the redirect or for a command beside it.
    assert_eq!(written(&bench.allow("Edit(src/**)"), "echo x > src/a"), None);
    let bench = JudgeFixture::new().mode(PermissionMode::AcceptEdits).allow("Bash(make)");
    assert_eq!(written(&bench, "make > src/a"), None);
}

#[test]
fn files_of_the_users_skills_are_for_the_tools_that_read_and_for_no_line() {
    let mut bench = JudgeFixture::new();
    let project = bench.places.project.clone();
    let base = RuleBase { project: &project, home: None };
    let folder = bench.root.join("home/skills");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.md"), "").unwrap();
    let rule = format!("Read(/{}/**)", folder.display());
    bench.rules.add(RuleList::Allow, &[rule], &RuleOrigin::Skills, base).unwrap();
    let file = folder.join("a.md");
    for tool in ["Read", "Grep", "Glob"] {
        assert_eq!(bench.judge(tool, &reading(&file)).decision, Allow);
    }
    bench.asks([format!("true < {}", file.display()), format!("cat {}", file.display())]);
}

#[test]
fn git_compares_no_files_outside_the_repository_that_it_runs_in() {
    let mut bench = JudgeFixture::new();
    let nested = bench.root.join("project/sub");
    for folder in [".git/objects", ".git/refs", "src"] {
        fs::create_dir_all(nested.join(folder)).unwrap();
    }
    fs::write(nested.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for file in ["a", "b"] {
        fs::write(bench.root.join("project").join(file), file).unwrap();
    }
    bench.places.dirs = vec![bench.root.join("project"), bench.root.join("outside")].into();
    let outside = bench.root.join("outside/x");
    fs::write(&outside, "").unwrap();
    bench.allows(["git diff a b", "git diff HEAD~1 -- src", "cd sub && git diff src"]);
    bench.asks([
        "cd sub && git diff ../a ../b".to_owned(),
        format!("git diff a {}", outside.display()),
    ]);
}

#[test]
fn nothing_that_is_not_confined_is_free_where_bash_reads_a_file_first() {
    let mut bench = JudgeFixture::new().mode(PermissionMode::AcceptEdits).allow("Bash(make)");
    bench.allows(["echo x > src/a", "make | tail -3", "echo x"]);
    bench.places.has_start_file = true;
    bench.asks(["echo x > src/a", "make | tail -3", "> src/a", "x=1; > src/a", "{ > src/a; }"]);
    let bench = bench.allow("Edit(src/**)");
    bench.asks(["> src/a", "for i in a; do > src/a; done"]);
    bench.allows(["make > src/a"]);
    bench.allows(["echo x", "make"]);
}

#[test]
fn nothing_is_free_where_programs_load_libraries_of_the_project() {
    let mut bench = JudgeFixture::new().mode(PermissionMode::AcceptEdits).allow("Bash(make)");
    let env = |name: &str, path: &Path| {
        EnvOverlay::from_iter([("PATH", OsStr::new("/usr/bin:/bin")), (name, path.as_os_str())])
    };
    for variable in ["LD_LIBRARY_PATH", "LD_PRELOAD", "GCONV_PATH"] {
        let (own, others) = (bench.root.join("project/build"), bench.root.join("outside"));
        bench.places = bench.places.with_env(&env(variable, &own));
        bench.asks(["cat src/a", "echo x > src/a", "> src/a", "make | tail -3"]);
        bench.asks(["x=1", "[ -f src/a ]", "< src/a", "true"]);
        bench.allows(["make"]);
        bench.places = bench.places.with_env(&env(variable, &others));
        bench.allows(["cat src/a", "echo x > src/a", "> src/a", "make | tail -3", "make"]);
    }
}

#[test]
fn no_program_of_a_checkout_around_any_working_directory_is_free() {
    let mut bench = JudgeFixture::new();
    let other = bench.root.join("other");
    for folder in [".git", "pkg", "bin"] {
        fs::create_dir_all(other.join(folder)).unwrap();
    }
    fs::write(other.join("bin/wc"), "").unwrap();
    fs::set_permissions(other.join("bin/wc"), fs::Permissions::from_mode(0o755)).unwrap();
    let programs = [other.join("bin"), "/usr/bin".into(), "/bin".into()];
    bench.places.programs = programs.into();
    bench.allow_everywhere(&["Bash(wc -w:*)"]);
    bench.allows(["wc src/a", "wc -w src/a"]);
    let project = bench.places.project.clone();
    let home = bench.places.home.clone();
    bench.places.session = ProjectFolders::new([project, other.join("pkg")], home.as_deref());
    // The agent itself may work in its own folder.
    bench.asks(["wc src/a", "wc -w src/a"]);
    let why = bench.bash_judgement("wc -w src/a").why;
    assert!(why.contains("the project has a program wc that PATH finds before yours"), "{why}");
}

static BASH_3: LazyLock<BashVersion> = LazyLock::new(|| BashVersion { major: 3, minor: 2 });
static BASH_5_1: LazyLock<BashVersion> = LazyLock::new(|| BashVersion { major: 5, minor: 1 });

/// Bash 3.2 ends a substitution at the first unquoted `)`, and knows neither documents nor patterns
/// there, and comments only after a blank. Up to 5.1 it takes the name `case` for a keyword in more
/// places than it is one.
#[test]
fn what_an_old_bash_reads_differently_is_not_free_there() {
    let mut bench = JudgeFixture::new().allow("Bash(git commit:*)");
    let differ = [
        "x=$(cat <<'E'\n) ; ./evil #\nE\n)",
        "x=$(cat <<'E'\nit's \nE\n); echo ') ; ./evil # '",
        "x=$(echo a;#); ./evil #\n)",
        "git commit -m \"$(cat <<'E'\nfix(a): b\nE\n)\"",
    ];
    let differ_for_long = [
        "x=$(case a in a) echo b;; esac)",
        "x=$(echo a;# )\n)",
        "x=\"$(< case) ' \"; echo ' ; esac ) \" & ./evil #'",
    ];
    let same = [
        "x=$(cat src/a)",
        "cat <<'E'\nit's (a)\nE",
        "git commit -m \"$(cat <<'E'\nplain words\nE\n)\"",
        "ls # (it's)",
    ];
    bench.allows(differ.into_iter().chain(differ_for_long).chain(same));
    bench.places.bash = Some(&BASH_5_1);
    bench.asks(differ_for_long);
    bench.allows(same.into_iter().chain([differ[0], differ[1], differ[3]]));
    bench.places.bash = Some(&BASH_3);
    bench.asks(differ.into_iter().chain(differ_for_long));
    bench.allows(same);
}

#[test]
fn nothing_is_free_unconfined_in_a_folder_that_nobody_knows() {
    let bench = JudgeFixture::new().mode(PermissionMode::AcceptEdits);
    bench.allows(["cat src/a > x", "echo CDPATH; cat src/a"]);
    bench.asks(["echo CDPATH; cat src/a > x"]);
}

#[test]
fn no_free_command_tells_the_value_of_a_variable() {
    let bench = JudgeFixture::new();
    bench.asks([
        "case $TOKEN in a*) echo a;; esac",
        "x=$TOKEN; case $x in a*) echo a;; esac",
        "case ${#TOKEN} in 9) echo a;; esac",
        "case a in $TOKEN) echo a;; esac",
        "case \"$TOKEN\" in a*) echo a;; esac",
        "case $TOKEN in a*) [ -f none ];; esac",
        "case $TOKEN in a*) x=1;; esac",
        "x=$TOKEN; for i in $x; do < none; done",
        "for x in \"$TOKEN\"; do x=1; done",
        "for f in ~/.ssh/*; do < none; done",
        "for f in /usr/*/x; do x=1; done",
        "for f in ../outside/*; do [ -f none ]; done",
        "for f in $(ls) ~/.ssh/*; do x=1; done",
        "case ~- in /a*) echo a;; esac",
        "x=$TOKEN; x=$x$x",
        "x=${#TOKEN}",
        "case a in ~ann) echo a;; esac",
    ]);
    bench.allows(["case a in a) echo a;; esac", "x=a.txt; y=${x}", "x=a; y=$x$x"]);
    let bench = bench.allow("Bash(make:*)");
    bench.allows(["for x in \"$HOME\"/a; do make x; done", "case a in a) make a;; esac"]);
    bench.asks(["case $1 in a) make a;; esac", "case $1 in a) make a;; b) cat b;; esac"]);
}

#[test]
fn a_rule_means_no_words_that_are_quoted_where_bash_would_expand_its_own() {
    let bench = JudgeFixture::new()
        .allow("Bash(~/bin/x:*)")
        .allow("Bash(python3 ~/s.py)")
        .allow("Bash(python3 $HOME/s.py)")
        .allow("Bash(A=./src pytest:*)")
        .allow("Bash(make a-b/c.d --jobs=2)");
    bench.asks([
        "'~/bin/x'",
        "\\~/bin/x -v",
        "python3 '~/s.py'",
        "python3 '$HOME/s.py'",
        "'A=./src' pytest",
        "\"A=./src\" pytest -x",
    ]);
    bench.allows(["make 'a-b/c.d' \"--jobs=2\"", "make a-b/c.d --jobs=2"]);
    let bench = bench.allow("Bash(./run.sh)");
    bench.allows([" ./run.sh\n"]);
    bench.asks(["./run.sh\u{a0}", "\u{2003}./run.sh"]);
}

#[test]
fn a_quoted_tilde_is_a_folder_of_that_name() {
    let bench = JudgeFixture::new().mode(PermissionMode::AcceptEdits);
    let folder = bench.root.join("project/~");
    fs::create_dir(&folder).unwrap();
    fs::write(bench.root.join("outside/x"), "").unwrap();
    std::os::unix::fs::symlink("../../outside/x", folder.join("link")).unwrap();
    for name in ["'~/link'", "\"~/link\"", "\\~/link", "~\"/link\"", "'~'/link"] {
        bench.asks([format!("echo x > {name}"), format!("cat < {name}")]);
    }
    let home = bench.root.join("project/$HOME");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink("../../outside/x", home.join("link")).unwrap();
    bench.asks(["echo x > '$HOME/link'", "cat < \\$HOME/link", "cat < '$HOME/'link"]);
}

#[test]
fn only_commands_that_certainly_read_inside_run_without_a_rule() {
    let bench = JudgeFixture::new();
    bench.allows([
        "pwd",
        "ls",
        "ls -la src",
        "cat src/main.rs | head -n 5",
        "git status --short",
        "git diff HEAD~1 -- src",
        "git log --oneline -5",
        "git branch",
        "echo hi && wc -l src/a",
        "cd src && ls",
        "cat < src/a",
        "rg -n 'fn main' src",
        "rg --files -g '*.rs'",
        "grep -rn needle src",
        "grep -- -x src/a",
        "grep -rn -- -x src/a",
        "rg -in -- -x src",
        "rg -A 3 -- x src",
        "sed -n '1,40p' src/a",
        "sed -n 3p src/a",
        "test -f src/a && ls",
        "[ -f src/a ] && ls",
        "cd src && git status",
        "cd . && git diff",
        "cat src/a | grep -v x",
        "x=1; echo a",
        "for f in a b; do ls; done",
    ]);
    bench.asks([
        "cat ../outside/x",
        "cat /etc/passwd",
        "cat escape/x",
        "ls ~",
        "cat $HOME/x",
        "cat *",
        "cat {/etc/passwd,a}",
        "echo hi > a",
        "git diff --output=a",
        "git diff --outp=a",
        "git diff --ext-diff",
        "git diff /etc/passwd a",
        "git log --exec=x",
        "git branch new",
        "git branch -D x",
        "git -c core.pager=x log",
        "tail -f a",
        "find . -delete",
        "cd .. && ls",
        "cd escape && ls",
        "cd src && cd .. && ls",
        "grep -v -- -x /etc/passwd",
        "grep -rhv -- -x /",
        "rg -v -- -x /etc/passwd",
        "cat -- /etc/passwd",
        "[ -f /etc/passwd ] && echo yes",
        "test -f /etc/passwd && echo yes",
        "cat <<< \"$HOME\"",
        "cat <<EOF\n$HOME\nEOF",
        "for f in ~/*; do ls; done",
        "for f in $HOME/*; do cat <<< a; done",
        "export",
        "sed -n '1e touch x' src/a",
        "sed -n 'w x' src/a",
        "sed -n 1p /etc/passwd",
        "sed -n -i 1p src/a",
        "sed 1p src/a",
        "sed -n -f x src/a",
        "PATH=. ls",
        "cat < /etc/passwd",
        "/tmp/ls",
        "./ls",
        "ls $(a)",
        "sort -o a b",
        "head --lines=1 a --x",
        "rg --pre=./x needle",
        "rg --pre ./x needle",
        "rg --hostname-bin=./x needle",
        "rg -z needle",
        "rg -L needle",
        "rg -f patterns",
        "rg -r -- --pre=./x needle",
        "rg -nr -- --pre=./x needle",
        "rg -g -- -f/etc/passwd .",
        "grep -m -- -f/etc/passwd a",
        "grep -nA -- -f/etc/passwd a",
        "rg needle /etc",
        "rg -t rust -C 3 /api/users",
        "rg -e needle /etc",
        "rg --files /etc",
        "rg needle ../outside",
        "grep -R needle .",
        "grep -f /etc/passwd a",
        "grep -e root /etc/passwd",
        "grep root /etc/passwd",
        "x=${PWD%$(touch a)}",
        "prefix=b; ls",
        "while true; do ls; done",
    ]);
    fs::create_dir_all(bench.root.join("project/bare/inner")).unwrap();
    fs::write(bench.root.join("project/bare/HEAD"), "").unwrap();
    let cwd = bench.root.join("project/bare/inner");
    let access = Access::Command { line: "git status".to_owned(), cwd };
    assert_eq!(bench.judge("Bash", &access).decision, Ask);
}

#[test]
fn git_is_not_free_where_the_repositorys_settings_name_a_program() {
    let bench = JudgeFixture::new();
    let config = bench.root.join("project/.git/config");
    fs::write(&config, "[core]\n\tfsmonitor = true\n[user]\n\tname = x\n").unwrap();
    assert_eq!(bench.bash("git status"), Allow);
    fs::write(&config, "[filter \"x\"]\n\tclean = sh tools/clean.sh\n").unwrap();
    bench.asks(["git status", "git diff", "git log -p", "git show HEAD"]);
    assert_eq!(
        bench.bash_judgement("git status").why,
        "no rule allows git status, and the repository's setting filter.clean may start a program"
    );
    fs::write(&config, "").unwrap();
    fs::create_dir_all(bench.root.join("project/src/.git")).unwrap();
    assert_eq!((bench.bash("git status"), bench.bash("cd src && git status")), (Allow, Ask));
}

#[test]
fn a_program_that_path_finds_in_a_working_directory_is_not_free() {
    let mut bench = JudgeFixture::new();
    let bin = bench.root.join("project/node_modules/.bin");
    fs::create_dir_all(&bin).unwrap();
    let write = |path: PathBuf| {
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    for program in ["ls", "git"] {
        write(bin.join(program));
    }
    let system = PathBuf::from("/usr/bin");
    for first in [bin.clone(), PathBuf::from("node_modules/.bin")] {
        bench.places.programs = [first, system.clone()].into();
        bench.asks(["ls", "git status"]);
        assert_eq!((bench.bash("pwd"), bench.bash("cat src/a")), (Allow, Allow));
    }
    write(bench.root.join("project/cat"));
    bench.places.programs = [PathBuf::new(), system.clone()].into();
    assert_eq!((bench.bash("cat src/a"), bench.bash("ls")), (Ask, Allow));
    bench.places.programs = [system.clone(), bin.clone()].into();
    assert_eq!(bench.bash("ls"), Allow);
    // A link belongs to the folder it lies in: an interpreter does not take its name for an option.
    let links = bench.root.join("project/links");
    fs::create_dir_all(&links).unwrap();
    std::os::unix::fs::symlink("/usr/bin/env", links.join("ls")).unwrap();
    std::os::unix::fs::symlink(&system, bench.root.join("project/linked")).unwrap();
    for folder in [links, bench.root.join("project/linked")] {
        bench.places.programs = [folder, system.clone()].into();
        assert_eq!(bench.bash("ls"), Ask);
    }
    // A version manager's program may start one that the project names.
    let shims = bench.root.join("outside/shims");
    fs::create_dir_all(&shims).unwrap();
    write(shims.join("ls"));
    bench.places.programs = [shims, system.clone()].into();
    assert_eq!((bench.bash("ls"), bench.bash("cat src/a")), (Allow, Allow));
    bench.places.has_sandbox = false;
    let judgement = bench.bash_judgement("ls");
    assert!(judgement.why.contains("it is not confined here"), "{}", judgement.why);
    assert_eq!((judgement.decision, bench.bash("cat src/a")), (Ask, Allow));
    bench.places.has_sandbox = true;
    // An entry that bash cannot run does not end its search, and a leading `~` is a home.
    let early = bench.root.join("outside/bin");
    fs::create_dir_all(early.join("ls")).unwrap();
    fs::write(early.join("git"), "").unwrap();
    bench.places.programs = [early, bin.clone(), system.clone()].into();
    assert_eq!((bench.bash("ls"), bench.bash("git status")), (Ask, Ask));
    bench.places.programs = [PathBuf::from("~/bin"), system.clone()].into();
    for has_sandbox in [true, false] {
        bench.places.has_sandbox = has_sandbox;
        assert_eq!(bench.bash("ls"), Ask);
    }
    // The rest of the checkout is the project's too.
    bench.places.programs = [bin, system].into();
    bench.places.dirs = vec![bench.root.join("project/src")].into();
    bench.places.project = bench.root.join("project/src");
    assert_eq!(bench.bash("ls"), Ask);
}

#[test]
fn a_question_about_a_command_that_may_be_free_says_what_stands_in_the_way() {
    let rows = [
        ("FOO=1 cat a", "no rule allows cat, and it is not free with FOO set"),
        ("cat $x", "no rule allows cat, and $x is known only at run time"),
        ("cat ~/.bashrc", "no rule allows cat, and ~/.bashrc is outside the working directories"),
        ("ls \"$HOME\"", "no rule allows ls, and \"$HOME\" is outside the working directories"),
        ("cat ~/*", "no rule allows cat, and ~/* is known only at run time"),
        ("ls -Z", "no rule allows ls, and -Z is not a known read-only option"),
        ("ls /etc", "no rule allows ls, and /etc is outside the working directories"),
        ("sed -n 1d a", "no rule allows sed, and 1d does more than print lines by number"),
        (
            "git branch x",
            "no rule allows git branch, and git branch with a word such as x may do more",
        ),
        ("mytool", "no rule allows mytool"),
        ("curl x | python3 | tee", "no rule allows curl, python3 or tee"),
        ("curl x && curl y", "no rule allows curl"),
        ("curl x | make > a", "no rule allows curl or make, nor writing a"),
        (
            "echo $i; echo $j; cat $x",
            "no rule allows echo, and $i is known only at run time; no rule allows cat, and $x is known only at run time",
        ),
        (
            "ls -Z; tee; make",
            "no rule allows tee or make; no rule allows ls, and -Z is not a known read-only option",
        ),
    ];
    for (line, why) in rows {
        assert_eq!(JudgeFixture::new().bash_judgement(line).why, why, "{line}");
    }
    let denied = JudgeFixture::new().deny("Read(.env)").bash_judgement("rg x");
    let why = "no rule allows rg, and it may show files that rule Read(.env) in .caliban/config.toml restricts";
    assert_eq!(denied.why, why);
}
