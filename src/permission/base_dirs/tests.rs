use std::fs;

use crate::permission::judge::Decision::{Ask, Deny};
use crate::permission::judge::testing::JudgeFixture;
use crate::protocol::PermissionMode;

/// A project with `a/b/keep`, where every command is allowed.
fn bench() -> JudgeFixture {
    let bench = JudgeFixture::new();
    let project = bench.root.join("project");
    for folder in ["a/b/c", "b"] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    fs::write(project.join("a/b/keep"), "x\n").unwrap();
    bench.allow("Bash")
}

#[test]
fn no_walk_through_folders_leads_past_a_rule_for_a_file() {
    let mut bench = bench().deny("Read(a/b/keep)").deny("Read(~/.aws/credentials)");
    let lines = [
        "cd a && cd b && cat keep",
        "cd a; cd b; cat < keep",
        "cd a && cd b && cd c && cat ../keep",
        "pushd a; cd b; cat keep",
        "pushd a && pushd b && cat keep",
        "cd a; (cd b; cat keep)",
        "cd a; for i in 1; do cd b; cat keep; done",
        "for d in a b; do cd $d; done; cat keep",
        "d=a; cd $d; cd b; cat keep",
        "x=a; x+=/b; cd $x; cat keep",
        "cd {a/b,}; cat keep",
        "cd a/?; cat keep",
        "cd */b; cat keep",
        "cd ~+/a/b; cat keep",
        "cd $PWD/a/b; cat keep",
        "cd -P a/b; cat keep",
        "cd -- a/b; cat keep",
        "command cd a/b; cat keep",
        "builtin cd a; builtin cd b; cat keep",
        "bash -c 'cd a; cd b; cat keep'",
        "cd a/b; cd -; cat a/b/keep",
        "cd a/b; cd ..; cat b/keep",
        "cat ~+/a/b/keep",
        "cd a; cat $OLDPWD/a/b/keep",
        "cd ~ && cd .aws && cat credentials",
        "git -C a blame b/keep",
        "git -C a -C b blame keep",
        "env --chdir=a cat b/keep",
        "env --chd a cat b/keep",
        "env -Ca cat b/keep",
        "make -C a/b keep",
        "tar --directory a/b -cf - keep",
    ];
    for mode in [PermissionMode::Default, PermissionMode::BypassPermissions] {
        bench = bench.mode(mode);
        for line in lines {
            assert_eq!(bench.bash(line), Deny, "{line} in {mode:?}");
        }
    }
}

#[test]
fn no_walk_through_folders_leads_past_a_rule_for_edits() {
    let bench = bench().deny("Edit(a/b/keep)");
    bench.denies([
        "cd a && cd b && rm keep",
        "cd a && cd b && echo x > keep",
        "cd a; cd b; sed -i s/x/y/ keep",
        "cd a && cd b && tee keep <<< x",
        "cd a; cd ..; rm a/b/keep",
    ]);
}

#[test]
fn a_name_in_a_folder_that_is_not_known_is_a_doubt_in_every_mode() {
    let mut bench = bench().deny("Read(a/b/keep)").deny("Edit(a/b/keep)");
    let long = format!("{}cat keep", (0..7).map(|n| format!("cd f{n}; ")).collect::<String>());
    for mode in [PermissionMode::Default, PermissionMode::BypassPermissions] {
        bench = bench.mode(mode);
        for line in [
            "cd $(echo a/b); cat keep",
            "cd \"$1\" && cat keep",
            "read d; cd $d; rm keep",
            "CDPATH=a; cd b; cat keep",
            "CDPATH=a cd b; cat keep",
            "popd; cat keep",
            "cd -; cat < keep",
            "cd $d; cat k*",
            long.as_str(),
        ] {
            assert_eq!(bench.bash(line), Ask, "{line} in {mode:?}");
            bench.interactive = false;
            assert_eq!(bench.bash(line), Deny, "{line} in {mode:?}");
            bench.interactive = true;
        }
        bench.allows([
            "cd $d && cargo build",
            "cd \"$(git rev-parse --show-toplevel)\" && make test",
            "cd $d && cat other",
            "for d in a b; do (cd $d && cargo test); done",
            "for d in a b; do cd $d; ls; cd ..; done",
            "cd a && make && cd - && make",
            "cd a && cd b && ls",
            "cd a; cat keep",
            "git -C a status",
            "grep -C 3 x a/other",
        ]);
    }
}

#[test]
fn an_option_for_a_folder_may_stand_behind_other_letters() {
    let bench = JudgeFixture::new().allow("Bash").deny("Read(~/.ssh/**)").deny("Read(/secret)");
    bench.denies(["tar czC ~ .ssh/id", "tar -czC ~ .ssh/id", "env -iC src cat ../secret"]);
    bench.allows(["tar czf a.tgz src", "grep -C 3 x src/a"]);
}
