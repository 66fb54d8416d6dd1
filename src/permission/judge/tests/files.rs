//! Rules about files: every name of a file, wherever it leads.

use super::*;

#[test]
fn a_path_rule_holds_for_every_name_of_a_file_and_for_commands_that_name_it() {
    let bench =
        JudgeFixture::new().deny("Read(secrets/**)").deny("Read(.env)").deny("Edit(src/**)");
    fs::create_dir_all(bench.root.join("project/secrets")).unwrap();
    symlink("secrets/key", bench.root.join("project/innocent")).unwrap();
    for path in
        ["project/secrets/key", "project/src/../secrets/key", "project/innocent", "project/a/.env"]
    {
        assert_eq!(bench.read(path), Deny, "{path}");
    }
    bench.denies([
        "cat secrets/key",
        "cat innocent",
        "head < .env",
        "cd secrets && cat key",
        "grep -f=.env x",
        "git show HEAD:.env",
        "bash -c 'cat .env'",
        "echo x > src/a",
        "tee src/a",
        "sudo cp b src/a",
    ]);
    assert_eq!((bench.read("project/src/a"), bench.bash("cat src/a")), (Allow, Allow));
    assert_eq!(bench.write("project/src/a"), Deny);
    let search = bench.judge("Grep", &reading(&bench.root.join("project/secrets")));
    assert_eq!(search.decision, Deny);
}

#[test]
fn what_shows_more_than_it_names_is_asked_about_while_a_rule_restricts_reading() {
    // A rule for the program allows the last four if there is no such file; what commits contain is not checked.
    let lines =
        ["git log -p", "git show HEAD", "git show HEAD:a", "git diff", "rg x", "grep -r x ."];
    let project = || {
        let bench = JudgeFixture::new();
        let heads = bench.root.join("project/.git/refs/heads");
        fs::create_dir_all(&heads).unwrap();
        fs::write(heads.join("main"), "9eed597f9eed597f9eed597f9eed597f9eed597f\n").unwrap();
        bench
    };
    for (at, line) in lines.into_iter().enumerate() {
        for bench in [project().deny("Read(.env)"), project().ask("Read(.env)")] {
            let judgement = bench.bash_judgement(line);
            assert_eq!(judgement.decision, Ask, "{line}");
            let reason = if at < 2 { "from a commit" } else { "it may show files that" };
            let rule = "rule Read(.env) in .caliban/config.toml";
            assert!(judgement.why.contains(reason), "{}", judgement.why);
            assert!(judgement.why.contains(rule), "{}", judgement.why);
            let allowed = bench.allow("Bash(git:*)").allow("Bash(rg:*)").allow("Bash(grep:*)");
            let expected = if at < 2 { Ask } else { Allow };
            assert_eq!(allowed.bash(line), expected, "{line}");
        }
        assert_eq!(JudgeFixture::new().bash(line), Allow, "{line}");
    }
    let bench = JudgeFixture::new().deny("Read(.env)");
    bench.allows(["ls -la", "git status", "cat src/a", "head -n 1 src/a"]);
    assert_eq!(JudgeFixture::new().ask("Read").bash("cat src/a"), Ask);
}

#[test]
fn a_deny_rule_holds_for_the_home_of_a_user_by_name() {
    let root = nix::unistd::User::from_uid(0.into()).unwrap().unwrap();
    let rule = format!("Read(/{}/.ssh/**)", root.dir.display());
    let bench = JudgeFixture::new().deny(&rule).mode(PermissionMode::BypassPermissions);
    let name = root.name;
    for line in [
        format!("cat ~{name}/.ssh/id"),
        format!("cp a.txt ~{name}/.ssh/id && cat < ~{name}/.ssh/id"),
        format!("x=~{name}/.ssh/id; cat $x"),
    ] {
        assert_eq!(bench.bash(&line), Deny, "{line}");
    }
    assert_eq!(bench.bash(&format!("cat ~{name}/other")), Allow);
}

#[test]
fn a_name_that_leads_nobody_knows_where_is_a_doubt_for_every_rule_about_files() {
    let project = |bench: &JudgeFixture| bench.root.join("project");
    let rooted = |bench: &JudgeFixture| format!("/proc/self/root{}", project(bench).display());
    let bench =
        || JudgeFixture::new().deny("Read(.env)").deny("Read(~/.ssh/**)").deny("Edit(secrets/**)");
    let programs =
        |bench: JudgeFixture| bench.allow("Bash(cat:*)").allow("Bash(head:*)").allow("Edit");
    let lines = [
        "cat /proc/self/cwd/.env".to_owned(),
        "cat /proc/thread-self/cwd/.env".to_owned(),
        "cat /proc/1/cwd/.env".to_owned(),
        "head -1 /dev/fd/../cwd/.env".to_owned(),
        "cat < /proc/self/cwd/.env".to_owned(),
        "cd /proc/self/root/etc && cat x".to_owned(),
        "x=/proc/self/cwd/.env; cat $x".to_owned(),
        "echo new > /proc/self/cwd/secrets/a".to_owned(),
        format!("cat {}/.env", rooted(&JudgeFixture::new())),
    ];
    for line in lines {
        for bench in [
            programs(bench()),
            bench().allow("Bash"),
            bench().mode(PermissionMode::BypassPermissions),
            bench().allow("Bash").mode(PermissionMode::BypassPermissions),
        ] {
            let judgement = bench.bash_judgement(&line);
            assert_eq!(judgement.decision, Ask, "{line}: {}", judgement.why);
            let alone = JudgeFixture { interactive: false, ..bench };
            assert_eq!(alone.bash(&line), Deny, "{line}");
        }
    }
    let unknown = reading(Path::new("/proc/self/cwd/.env"));
    let bypass = bench().mode(PermissionMode::BypassPermissions);
    assert_eq!(bypass.judge("Read", &unknown).decision, Ask);
    // The line that opens a file by its process descriptor shows what it opens.
    for line in ["cat /dev/stdin < a", "cat /dev/fd/0 < a", "echo x > /dev/stderr"] {
        assert_eq!(bench().allow("Bash").bash(line), Allow, "{line}");
    }
    let long = format!("cat a && echo '{}'", "x ".repeat(400));
    assert_eq!(bench().bash(&long), Allow, "no file has such a name");
}

#[test]
fn a_file_that_leads_nobody_knows_where_is_protected() {
    let edits = JudgeFixture::new().allow("Edit").mode(PermissionMode::AcceptEdits);
    edits.asks([
        "echo x > /proc/self/cwd/githooks/pre-commit".to_owned(),
        format!("echo x > /proc/self/root{}/a", edits.root.join("project").display()),
    ]);
    assert_eq!(edits.bash("echo x > githooks/pre-commit"), Allow);
    assert_eq!(edits.bash("echo x > /dev/stderr"), Allow);
}

#[test]
fn an_edit_rule_counts_every_program_that_is_not_known_to_only_read_as_a_writer() {
    let lines = [
        ("tar -xf x.tar -C secrets", Ask),
        ("unzip -d secrets x.zip", Deny),
        ("git mv x secrets/z", Deny),
        ("git -C . mv x secrets/z", Deny),
        ("git checkout secrets/a", Deny),
        ("git restore -- secrets/a", Deny),
        ("gzip secrets/a", Deny),
        ("split x secrets/a", Ask),
        ("csplit -f secrets/a x 1", Ask),
        ("gcc -o secrets/a x.c", Deny),
        ("gcc -osecrets/a x.c", Deny),
        ("sort x -o secrets/a", Deny),
        ("sort x --outp=secrets/a", Deny),
        ("curl -o secrets/a example.org", Deny),
        ("git diff --output=secrets/a", Deny),
        ("sponge secrets/a", Deny),
        ("ed secrets/a", Deny),
        ("vim secrets/a", Deny),
        ("mktemp -p secrets", Deny),
        ("find secrets -delete", Deny),
        ("sometool secrets/a", Ask),
        ("sudo sometool secrets/a", Ask),
        ("cat secrets/a", Allow),
        ("ls -la secrets", Allow),
        ("grep -rn x secrets", Allow),
        ("git diff secrets/a", Allow),
        ("git log -- secrets", Allow),
        ("git add secrets/a", Allow),
        ("pytest secrets", Allow),
        ("cargo test secrets", Allow),
        ("gcc secrets/a -o x", Allow),
        ("sort secrets/a", Allow),
    ];
    for (line, expected) in lines {
        let program = line.split(' ').next().unwrap();
        let bench = JudgeFixture::new().deny("Edit(secrets/**)");
        fs::create_dir_all(bench.root.join("project/secrets")).unwrap();
        fs::write(bench.root.join("project/secrets/a"), "").unwrap();
        let rule = match program {
            "sudo" => "Bash(sudo sometool:*)".to_owned(),
            // Rules that name an output option cover it.
            _ if expected == Ask => format!("Bash({line} *)"),
            program => format!("Bash({program}:*)"),
        };
        let judgement = bench.allow(&rule).bash_judgement(line);
        assert_eq!(judgement.decision, expected, "{line}: {}", judgement.why);
        let all = JudgeFixture::new().deny("Edit(secrets/**)").allow("Bash").bash(line);
        assert_eq!(all, if expected == Deny { Deny } else { Allow }, "{line}");
    }
}

#[test]
fn a_restricting_rule_for_one_tool_holds_for_all_with_the_same_effect() {
    for rule in ["Grep(.env)", "Glob(.env)", "Read(.env)"] {
        let bench = JudgeFixture::new().allow("Bash(cat:*)").deny(rule);
        assert_eq!((bench.read("project/.env"), bench.bash("cat .env")), (Deny, Deny), "{rule}");
        assert_eq!(JudgeFixture::new().ask(rule).read("project/.env"), Ask, "{rule}");
        let bound = JudgeFixture::new().bound(&[], &[rule]);
        assert_eq!(bound.read("project/.env"), Deny, "{rule}");
    }
    let bench = JudgeFixture::new().allow("Bash(tee:*)").deny("Write(src/**)");
    let edit = bench.judge("Edit", &writing(&bench.root.join("project/src/a")));
    assert_eq!((edit.decision, bench.bash("tee src/a")), (Deny, Deny));
    // A rule for one tool allows no other.
    let outside = reading(Path::new("/etc/hosts"));
    let bench = JudgeFixture::new().allow("Grep(//etc/**)");
    assert_eq!(bench.judge("Grep", &outside).decision, Allow);
    assert_eq!(bench.judge("Read", &outside).decision, Ask);
}

#[test]
fn a_rule_against_reading_sees_what_globs_braces_and_variables_name() {
    let bench =
        JudgeFixture::new().allow("Bash(cat:*)").allow("Bash(git log:*)").deny("Read(.env)");
    for name in [".env", "src/.env", "a"] {
        fs::write(bench.root.join("project").join(name), "").unwrap();
    }
    bench.denies([
        "cat .e*",
        "cat .{env,x}",
        "cat .e{nv,} a",
        "cat src/.???",
        "cat */.env",
        "cat .[e]nv",
        "git log -p -- '.e*'",
        "x=.env; cat $x",
        "for f in a .env; do cat $f; done",
        "for f in .*; do cat $f; done",
        "cat $'.env'",
    ]);
    bench.allows(["cat a*", "cat {a,b}", "cat src/*.rs", "x=a; cat $x"]);
}

#[test]
fn allow_rules_count_by_where_a_path_really_leads_and_not_for_protected_files_they_do_not_name() {
    let bench = JudgeFixture::new()
        .allow("Edit(src/**)")
        .allow("Edit(escape/**)")
        .allow("Edit(.git/info/*)")
        .allow("Write");
    assert_eq!(bench.write("project/src/a"), Allow);
    assert_eq!(bench.write("project/.git/info/exclude"), Allow);
    let only_edit = JudgeFixture::new().allow("Edit(src/**)").allow("Edit(escape/**)");
    assert_eq!(only_edit.write("project/escape/a"), Ask);
    assert_eq!(only_edit.write("project/src/dangling"), Ask);
    assert_eq!(only_edit.bash("echo hi > src/a"), Allow);
    only_edit.asks(["echo x > src/HEAD", "echo x > src/a && echo ../a > src/commondir"]);
    for rule in ["Edit(**)", "Edit(*)"] {
        let bench = JudgeFixture::new().allow(rule);
        assert_eq!(bench.write("project/src/a"), Allow, "{rule}");
        assert_eq!(bench.write("outside/a"), Ask, "{rule}");
    }
    assert_eq!(JudgeFixture::new().allow("Edit").write("outside/a"), Allow);
    let all = JudgeFixture::new().allow("Edit");
    assert_eq!((all.write("project/a"), all.write("project/.git/config")), (Allow, Ask));
}

#[test]
fn rules_do_not_follow_a_working_directory_that_becomes_a_link() {
    let bench = JudgeFixture::new().allow("Edit(src/**)").allow("Edit(**)");
    let project = bench.root.join("project");
    let anchored = format!("Edit(/{}/src/**)", project.display());
    let bench = bench.allow(&anchored);
    assert_eq!(bench.write("project/src/a"), Allow);
    fs::rename(&project, bench.root.join("moved")).unwrap();
    fs::create_dir_all(bench.root.join("outside/src")).unwrap();
    std::os::unix::fs::symlink("outside", &project).unwrap();
    assert_eq!(bench.write("project/src/a"), Ask);
}

#[test]
fn a_write_through_a_link_is_judged_by_where_the_link_really_leads() {
    let bench = JudgeFixture::new().mode(PermissionMode::AcceptEdits);
    bench.allows(["echo x > src/a"]);
    bench.asks(["echo x > src/HEAD", "echo x > src/HEAD; echo ../a > src/commondir"]);
    let project = bench.root.join("project");
    fs::create_dir_all(project.join("src/deep/er")).unwrap();
    symlink("src/deep/er", project.join("d")).unwrap();
    symlink(bench.root.join("outside"), project.join("out")).unwrap();
    // Lexically the first one leads into the home.
    symlink("d/../../home/x", project.join("inside.txt")).unwrap();
    symlink("out/../home/x", project.join("outside.txt")).unwrap();
    assert_eq!(bench.write("project/inside.txt"), Allow);
    let judgement = bench.judge("Write", &writing(&project.join("outside.txt")));
    assert_eq!(judgement.decision, Ask);
    let leads = format!("it leads to {}", bench.root.join("home/x").display());
    assert!(judgement.warnings[0].contains(&leads), "{:?}", judgement.warnings);
}

#[test]
fn a_file_that_an_output_reads_from_counts_as_written() {
    let edits = JudgeFixture::new().mode(PermissionMode::AcceptEdits);
    for line in [
        "echo x 2< .envrc > /dev/stderr",
        "echo x 1< .envrc >> /dev/stdout",
        "{ echo x > /dev/stderr; } 2< .envrc",
        "for a in b; do echo x > /dev/stderr; done 2< .envrc",
        "echo x < .envrc 2>&0 > /dev/stderr",
        "echo x < .envrc >&0 > /dev/stdout",
        "echo x 2<> .envrc > /dev/stderr",
        "exec 3< .envrc; echo x 2<&3 > /dev/stderr",
        "exec {v}< .envrc; echo x 2<&$v > /dev/stderr",
    ] {
        assert_eq!(edits.bash(line), Ask, "{line}");
        assert_ne!(JudgeFixture::new().bash(line), Allow, "{line}");
        assert_ne!(JudgeFixture::new().allow("Bash(echo:*)").bash(line), Allow, "{line}");
        let all = JudgeFixture::new().allow("Bash").deny("Edit(.envrc)").bash(line);
        assert_ne!(all, Allow, "{line}");
    }
    let free = JudgeFixture::new();
    for line in ["cat < a", "cat 0< a", "cat a 2>&1", "cat a >&2", "cat a 2>&-", "cat <&-"] {
        assert_eq!(free.bash(line), Allow, "{line}");
    }
}

#[test]
fn an_output_that_is_read_is_a_doubt_for_rules_about_reading() {
    let bench = JudgeFixture::new().mode(PermissionMode::AcceptEdits).deny("Read(.env)");
    for line in ["cat 2>> .env < /dev/stderr", "{ cat < /dev/stdout; } >> .env"] {
        assert_ne!(bench.bash(line), Allow, "{line}");
    }
}

#[test]
fn a_quoted_sign_of_the_home_is_a_name_as_it_stands() {
    let bench = JudgeFixture::new().deny("Read(.env)").deny("Edit(/src/gen.c)").allow("Bash(rm:*)");
    for folder in ["~", "$HOME", "\"", "~x"] {
        fs::create_dir_all(bench.root.join("project").join(folder)).unwrap();
    }
    bench.denies([
        r#"cat "~/../.env""#,
        r"cat \~/../.env",
        r"cat '$HOME/../.env'",
        r#"head '"/../.env'"#,
        r"cat '~x/../.env'",
        r#"rm "~/../src/gen.c""#,
        "curl file://127.0.0.1$PWD/.env",
    ]);
    let address = format!("curl file://127.0.0.1{}/project/.env", bench.root.display());
    bench.denies([&*address]);
}
