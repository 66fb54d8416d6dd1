//! Texts that bash computes otherwise than the judge might: characters, blanks, names that are no text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::*;

/// Expansions other than `$x`, `${x}` and `${#x}`, none of which the judge computes.
const OTHERS: &str = "${x%?} ${x%%?} ${x#?} ${x##?} ${x-a} ${x:-a} ${x+a} ${x:+a} ${x=a} ${x:=a} ${x?a} ${x:?a} \
                      ${x/a/b} ${x:1} ${x^} ${x,} ${x@Q} ${!x} ${x[0]} ${#x[0]} ${x[@]}";

/// A project with a file of these bytes, and what it holds or where it leads.
fn with_link(bench: &JudgeFixture, name: &[u8], to: &Path) {
    symlink(to, bench.root.join("project").join(OsStr::from_bytes(name))).unwrap();
}

#[test]
fn an_expansion_that_is_not_plain_asks_whatever_rules_there_are() {
    let all = || OTHERS.split_whitespace();
    let benches = [
        JudgeFixture::new(),
        JudgeFixture::new().allow("Bash(own:*)").allow("Bash(cat:*)").allow("Bash(uv run:*)"),
        JudgeFixture::new().allow("Bash(cat:*)").deny("Read(.env)"),
        JudgeFixture::new().allow("Bash(own:*)").deny("Bash(rm:*)").deny("Edit(a)"),
    ];
    for bench in benches {
        for other in all() {
            for line in ["x=a; own @", "cat @", "echo \"@\"", "uv run \"/bin/@\"", "x=a@"] {
                let judgement = bench.bash_judgement(&line.replace('@', other));
                assert_eq!(judgement.decision, Ask, "{line} {other}: {}", judgement.why);
            }
            for line in ["for f in a; do cat @; done", "cat <<E\n@\nE\n", "cat <<< @", "cat < @"] {
                let judgement = bench.bash_judgement(&line.replace('@', other));
                assert_eq!(judgement.decision, Ask, "{line} {other}: {}", judgement.why);
            }
        }
    }
    let why = JudgeFixture::new().allow("Bash(own:*)").bash_judgement("own ${x%.c}").why;
    assert!(why.contains("an expansion other than `$name`, `${name}` and `${#name}`"), "{why}");
    let bench = JudgeFixture::new().allow("Bash(own:*)").allow("Bash(echo:*)");
    bench.allows(["x=a; own $x ${x} \"${#x}\"", "echo ${#x}"]);
}

#[test]
fn a_program_that_an_expansion_makes_asks_under_each_rule_for_commands() {
    let bench = JudgeFixture::new().allow("Bash").deny("Bash(rm:*)");
    for other in OTHERS.split_whitespace() {
        bench.asks(["x=a; @ v", "nice @ v", "\"@\" v"].map(|line| line.replace('@', other)));
    }
}

#[test]
fn a_locale_that_the_line_sets_asks() {
    let bench = JudgeFixture::new().allow("Bash(own:*)").allow("Bash(cat:*)").deny("Read(.env)");
    for name in ["LC_ALL", "LC_CTYPE", "LC_COLLATE", "LANG", "LANGUAGE"] {
        for line in ["@=C; own a", "export @=C; own a", "@=C own a", "@=C.UTF-8 cat a"] {
            bench.asks([line.replace('@', name)]);
        }
    }
}

#[test]
fn a_glob_counts_more_names_where_characters_are_not_plain() {
    let mut bench =
        JudgeFixture::new().allow("Bash").deny("Read(/secrets/**)").deny("Edit(/src/é)");
    let project = bench.root.join("project");
    fs::create_dir_all(project.join("secrets")).unwrap();
    fs::write(project.join("secrets/é.key"), "").unwrap();
    fs::write(project.join("src/é"), "").unwrap();
    let secrets = project.join("secrets");
    with_link(&bench, b"\xf0\x9f\x98", &secrets);
    with_link(&bench, b"\xffq", &secrets.join("é.key"));
    bench.denies([
        "cat ./???/x",
        "cat secrets/??.key",
        "cat secrets/[^a][^a].key",
        "cat ??q",
        "cat ?q",
        "cat [!a]q",
        "x='?q'; cat $x",
        "for f in ?q; do cat $f; done",
        "rm src/??",
        "x='src/?'; rm $x",
    ]);
    bench.rules.deny.clear();
    bench = bench.deny("Read(/src/é.key)");
    bench.asks(["cd $d; cat ??.key", "cd $d; cat [!a].key"]);
}

#[test]
fn a_rule_for_all_projects_covers_no_glob_that_matches_a_link_with_an_odd_name() {
    let mut bench = JudgeFixture::new();
    bench.allow_everywhere(&["Bash(tac:*)", "Bash(cp:*)"]);
    let outside = bench.root.join("outside");
    fs::write(outside.join("note"), "").unwrap();
    fs::write(bench.root.join("project/a.txt"), "").unwrap();
    for name in [&b"\xf0\x9f\x98"[..], b"\xfe", "é".as_bytes()] {
        with_link(&bench, name, &outside);
    }
    bench.asks([
        "tac ./???/note",
        "for f in ./???/note; do tac $f; done",
        "cp a.txt ./???/n[o]te",
        "tac ./??/note",
        "tac ./?/note",
        "cp a.txt ./?/new",
        "tac $'\\xfe/note'",
        "tac -- $'\\xfe'",
        "for x in $'\\xfe'; do tac $x; done",
        "cp a.txt $'\\xfe'/new.txt",
    ]);
}

#[test]
fn no_glob_with_an_odd_name_starts_a_shell() {
    let bench = JudgeFixture::new().allow("Bash(uv run:*)");
    let project = bench.root.join("project");
    let folder = project.join(OsStr::from_bytes(b"\xfed"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("sh"), "").unwrap();
    bench.asks(["uv run ./?d/s[h] -c x", "uv run ./?d/s? -c x", "uv run ./??/s[h]"]);
}

#[test]
fn an_escape_for_a_byte_that_is_no_plain_text_asks() {
    let bench = JudgeFixture::new().allow("Bash").deny("Read(.env)").deny("Bash(rm:*)");
    for escape in [
        "xff",
        "377",
        "x7f",
        "u00e9",
        "U0001f600",
        "ufffd",
        "x1b",
        "e",
        "a",
        "b",
        "f",
        "r",
        "v",
        "cA",
        "0",
        "x00",
        "x{41}",
        "q",
        "xz",
        "u",
    ] {
        bench.asks([format!("cat $'a\\{escape}'"), format!("x=$'\\{escape}'; cat $x")]);
    }
    bench.asks(["cat a\u{fffd}", "cat <<'E'\n\u{fffd}\nE\n"]);
    bench.allows(["cat $'a\\nb\\tc\\'d\\\"\\\\\\x41\\101\\u0041'", "echo $'é'"]);
    bench.denies(["cat $'\\x2eenv'"]);
}

#[test]
fn names_that_a_command_takes_from_its_input_ask_whatever_they_are() {
    let bench = JudgeFixture::new().allow("Bash(xargs cat:*)").allow("Bash(xargs rm:*)");
    let bench = bench.allow("Bash(xargs mv:*)").deny("Read(.env)").deny("Edit(/src/b)");
    bench.asks([
        "echo '.e\\nv' | xargs cat",
        "echo -e '\\x2eenv' | xargs cat",
        "x='\\.env'; xargs cat <<< \"$x\"",
        "x='.\"env\"'; xargs cat <<< $x",
        "xargs cat <<< $'.en\\'v\\''",
        "echo a | xargs cat",
        "xargs rm -r <<< src",
        "echo src | xargs rm -r",
        "xargs mv <<< 'src s9'",
    ]);
    let mut bench = JudgeFixture::new();
    bench.allow_everywhere(&["Bash(xargs cat:*)"]);
    bench.asks(["echo -e '\\x6ck' | xargs cat", "xargs cat <<< a"]);
    let bench = JudgeFixture::new().allow("Bash(xargs cat:*)").deny("Bash(rm:*)");
    bench.allows(["echo a | xargs cat"]);
}

#[test]
fn a_glob_that_begins_with_a_dot_may_match_the_folder_above() {
    let bench = JudgeFixture::new().allow("Bash(cat:*)").allow("Bash(uv run:*)");
    let bench = bench.deny("Read(/secrets/key)");
    fs::create_dir_all(bench.root.join("project/secrets")).unwrap();
    fs::write(bench.root.join("project/secrets/key"), "").unwrap();
    bench.denies([
        "cat src/.?/secrets/key",
        "cat src/.*/secrets/key",
        "cat src/.[.]/secrets/key",
        "x='src/.?/secrets/key'; cat $x",
        "cat .[.]/project/secrets/key",
    ]);
    fs::write(bench.root.join("sh"), "").unwrap();
    bench.asks(["uv run .?/s[h] -c x", "uv run ./.?/s[h] -c x"]);
    let mut bench = JudgeFixture::new();
    bench.allow_everywhere(&["Bash(tac:*)"]);
    bench.asks(["cd src && tac .?/escape/note", "tac src/.*/escape/note"]);
}

#[test]
fn a_value_behind_any_number_of_letters_is_a_name() {
    let bench = JudgeFixture::new().allow("Bash").deny("Read(.env)");
    for letters in [1, 16, 17, 40, 300] {
        let letters = "u".repeat(letters);
        bench.denies([format!("date -{letters}f.env"), format!("own -{letters}.env")]);
    }
    bench.denies(["curl -#K.env", "rg -.f.env x", "own -1@.env"]);
    let long = "u".repeat(20_000);
    bench.asks([format!("date -{long}f.env")]);
}

#[test]
fn the_folder_is_not_known_where_a_variable_says_it() {
    let bench = JudgeFixture::new().allow("Bash").deny("Read(/secrets/key)");
    fs::create_dir_all(bench.root.join("project/secrets")).unwrap();
    fs::write(bench.root.join("project/secrets/key"), "").unwrap();
    for line in [
        "HOME=secrets cd; cat key",
        "HOME=secrets; cd; cat key",
        "HOME=secrets; cd ~; cat key",
        "HOME=secrets; cat ~/key",
        "HOME=secrets; cat $HOME/key",
        "read HOME <<< secrets; cat ~/key",
        "printf -v HOME secrets; cat ~/key",
        "for HOME in secrets; do cat ~/key; done",
        "OLDPWD=secrets; cd -; cat key",
        "OLDPWD=secrets cd -; cat key",
        "OLDPWD=secrets; cat $OLDPWD/key",
        "PWD=secrets; cat $PWD/key",
        "cd; cat key",
        "cd ~; cat key",
        "cd -; cat key",
        "IFS=_; x=a_secrets/key; cat $x",
        "unshare --wd=secrets cat key",
    ] {
        assert_ne!(bench.bash(line), Allow, "{line}");
    }
    bench.allows(["set -e; cat $HOME/x ~/y", "x=a; cat $x", "cd src && cat a", "cd ~ && make"]);
}

#[test]
fn what_lies_past_a_limit_of_words_asks() {
    let bench = JudgeFixture::new().allow("Bash(uv run:*)").allow("Bash(valgrind:*)");
    let many = "-v ".repeat(300);
    bench.asks([format!("uv run {many} sort -o f a")]);
    let bench = JudgeFixture::new().allow("Bash").deny("Bash(rm -rf:*)").deny("Read(/s/key)");
    let words = "a ".repeat(70);
    bench.asks([
        format!("own rm {words} -rf x"),
        format!("own 'rm {words} -rf x'"),
        format!("own '{}; rm -rf x'", "rm x; ".repeat(70)),
        format!("bash {} -c \"$x\"", "-x ".repeat(70)),
        format!("env {}", (0..20).map(|at| format!("-S 'a{at} b' ")).collect::<String>()),
        format!("env -i{} cat key", "C".repeat(20)),
    ]);
    let bench = JudgeFixture::new().allow("Bash(git:*)");
    bench.asks([format!("git commit -{}F/etc/x", "a".repeat(40))]);
}

#[test]
fn blanks_of_a_value_are_not_lost() {
    let bench = JudgeFixture::new().allow("Bash(cat:*)").allow("Bash(own:*)");
    let bench = bench.deny("Read(/secrets/key)");
    let project = bench.root.join("project");
    fs::create_dir_all(project.join("secrets")).unwrap();
    fs::write(project.join("secrets/key"), "").unwrap();
    for name in ["l\tk", "l\nk", "l\u{a0}k", "l\u{3000}k"] {
        with_link(&bench, name.as_bytes(), &project.join("secrets/key"));
        let (start, end) = name.split_at(name.len() - 1);
        let start = start.replace('\t', "\\t").replace('\n', "\\n");
        for line in [
            format!("x=$'{start}{end}'; cat \"$x\""),
            format!("x=$'{start}{end}'; cat \"./$x\""),
            format!("x=$'{start}'; cat \"${{x}}{end}\""),
        ] {
            assert_ne!(bench.bash(&line), Allow, "{line:?}");
        }
        assert_ne!(bench.bash("for f in l?k; do cat \"$f\"; done"), Allow, "{name:?}");
    }
    bench.allows(["x='a b'; own \"$x\"", "x='a b'; own $x"]);
    let bench = JudgeFixture::new().allow("Bash(own:*)");
    bench.allows(["x=$'a\\nb'; own $x"]);
    bench.asks(["x=$'a\\tb'; own \"./$x\""]);
    bench.asks(["x=$'a\\t--output=f'; own $x", "x=$'a\\n--output=f'; own $x"]);
}

#[test]
fn a_value_that_bash_joins_or_splits_in_its_own_way_is_never_allowed() {
    let prefix = JudgeFixture::new().allow("Bash(cat:*)").allow("Bash(own:*)");
    for bench in [prefix, JudgeFixture::new().allow("Bash")] {
        let bench = bench.deny("Read(.env)").deny("Read(/secrets/key)").deny("Read(/k f)");
        for line in [
            "x=.; for y in e n v; do x=$x$y; done; cat $x",
            "x=a; for i in 1 2; do y=$x; x=secrets; done; cat $y/key",
            "y='secrets src'; for x in $y; do cat $x/key; done",
            "y='a e b'; for x in $y; do cat .${x}nv; done",
            "y=' secrets '; for x in $y; do cat \"$x/key\"; done",
            "x='k '; y='f z'; cat \"$x\"$y",
            "x=' '; z='a k'; cat $z\"$x\"f",
            "x='['; cat .$x'!'e]nv",
            "x='[z'; cat sec${x}'-'r]ets/key",
            "cat x[a[b]]=~+/secrets/key",
            "cat x[\"a]\"]=~+/secrets/key",
        ] {
            let judgement = bench.bash_judgement(line);
            assert_ne!(judgement.decision, Allow, "{line}: {}", judgement.why);
        }
    }
    let bench = JudgeFixture::new().allow("Bash").deny("Read(/secrets/key)");
    bench.asks(["x=cd; $x secrets; cat key", "x='cd secrets'; $x; cat key"]);
    let bench = JudgeFixture::new().allow("Bash(own:*)");
    bench.asks([
        "x=da; for i in s h; do x=$x$i; done; own \"$x\" -c 'echo a'",
        "x=a; for i in 1 2; do y=$x; x=sh; done; own $y -c 'echo a'",
        "y='a sh b'; for x in $y; do own \"/bin/$x\" -c 'echo a'; done",
        "y='a s b'; for x in $y; do own ${x}h -c 'echo a'; done",
    ]);
    bench.allows(["for x in a b; do own $x; done", "x=a; own $x/b", "x='a b'; own \"$x\""]);
}

#[test]
fn no_rule_for_a_command_lets_a_line_tell_a_value_or_which_files_there_are_elsewhere() {
    let lines = [
        "case $GITHUB_TOKEN in ghp_a*) make test;; esac",
        "case \"${GITHUB_TOKEN}\" in ghp_a*) make test;; esac",
        "case ${#GITHUB_TOKEN} in 40) make test;; esac",
        "case a in $GITHUB_TOKEN) make test;; esac",
        "x=$GITHUB_TOKEN; case $x in g*) make test;; esac",
        "case ~root in /r*) make test;; esac",
        "case $RUST_LOG in a*) make test;; esac; RUST_LOG=x",
        "CI=1 make test; case $CI in a*) make test;; esac",
        "for x in $GITHUB_TOKEN; do make test; done",
        "for f in /home/me/.ssh/id_ed*; do make test; done",
        "for f in ~/.ssh/*; do make test; done",
        "for f in $HOME/.ssh/*; do make test; done",
        "for f in \"$HOME\"/.ssh/*; do make test; done",
        "for f in ../*; do make test; done",
        "for f in /*; do make test; done",
        "x=/home/me/.ssh; for f in $x/*; do make test; done",
        "x='/home/me/.ssh/*'; for f in $x; do make test; done",
        "for f in escape/*; do make test; done",
        "for f in e*/id_ed*; do make test; done",
        "for f in e*/; do make test; done",
    ];
    for rule in ["Bash(make test)", "Bash(make:*)"] {
        let bench = JudgeFixture::new().allow(rule);
        bench.asks(lines);
        bench.allows([
            "for f in a b; do make test; done",
            "for f in *.txt; do make test; done",
            "for f in \"src\"/*.rs; do make test; done",
            "for f in \"$HOME\"/a; do make test; done",
            "v='a b'; for f in $v; do make test; done",
            "case a in a) make test;; esac",
        ]);
    }
    let bench = JudgeFixture::new().allow("Edit(src/**)");
    bench.asks(["case $GITHUB_TOKEN in a*) > src/a;; b*) > src/b;; esac"]);
    bench.allows(["case a in a*) > src/a;; b*) > src/b;; esac", "> src/a"]);
    // The author of the very line knows what it tells.
    let line = "for x in $GITHUB_TOKEN; do make test; done";
    JudgeFixture::new().allow(&format!("Bash({line})")).allows([line]);
    JudgeFixture::new().allow("Bash").allows(lines);
}

#[test]
fn an_input_without_a_command_tells_no_value() {
    let bench = JudgeFixture::new();
    bench.asks([
        "<<< $GITHUB_TOKEN",
        "x=aaaa; <<< $x$x$GITHUB_TOKEN",
        "[ -f a.txt ] <<EOF\n$GITHUB_TOKEN\nEOF",
    ]);
    let edits = JudgeFixture::new().mode(PermissionMode::AcceptEdits);
    edits.asks(["<<< $GITHUB_TOKEN > src/a", "> src/a <<EOF\n$GITHUB_TOKEN\nEOF"]);
    edits.allows(["<<< abc > src/a"]);
    bench.allows(["<<< abc", "[ -f a.txt ] <<EOF\nabc\nEOF"]);
}

#[test]
fn options_and_folders_that_the_line_gives_otherwise_are_never_allowed() {
    let prefix = ["rm", "grep", "cp", "mv", "rsync", "chmod", "cat"];
    let prefix = prefix
        .into_iter()
        .fold(JudgeFixture::new(), |bench, name| bench.allow(&format!("Bash({name}:*)")));
    for (bench, is_whole) in [(prefix, false), (JudgeFixture::new().allow("Bash"), true)] {
        let bench = bench.deny("Edit(/src/b)").deny("Read(/secrets/key)");
        let project = bench.root.join("project");
        for folder in ["src", "secrets", "d"] {
            fs::create_dir_all(project.join(folder)).unwrap();
        }
        for file in ["src/b", "secrets/key", "d/b", "-r"] {
            fs::write(project.join(file), "").unwrap();
        }
        let all = [
            "rm {-r,src}",
            "x=-r; rm $x src",
            "for x in -r; do rm $x src; done",
            "u=r; rm -f$u src",
            "x=-R; chmod $x 0 src",
            "mv {secrets,zz}",
            "mv {-t,q,secrets}",
            "x='secrets zz'; mv $x",
            "mv {src,zz}",
            "cp -r {d/.,src}",
            "chmod -R {0,src}",
        ];
        let shown = [
            "x=-r; cp $x secrets zz",
            "grep {-r,.} secrets",
            "x=-r; grep $x . secrets",
            "grep . *",
        ];
        for line in all.iter().chain(shown.iter().filter(|_| !is_whole)) {
            let judgement = bench.bash_judgement(line);
            assert_ne!(judgement.decision, Allow, "{line}: {}", judgement.why);
        }
    }
}

#[test]
fn options_of_wrappers_and_of_find_that_variables_give_are_never_allowed() {
    let fixture = || {
        let bench = JudgeFixture::new().allow("Bash").deny("Bash(rm:*)");
        let project = bench.root.join("project");
        for folder in ["src", "secrets"] {
            fs::create_dir_all(project.join(folder)).unwrap();
        }
        for file in ["src/b", "secrets/key"] {
            fs::write(project.join(file), "").unwrap();
        }
        bench.deny("Edit(/src/b)").deny("Read(/secrets/key)")
    };
    let bench = fixture();
    let lines = [
        "x=-exec; find . $x rm {} +",
        "x=-exec; find . \"$x\" rm {} \\;",
        "for x in -exec; do find . $x rm {} +; done",
        "x='-exec rm'; find . $x {} +",
        "read x <<< -exec; find . $x rm {} +",
        "x=-x; fd . $x rm",
        "x=--exec; fd $x rm",
        "x=-C; env $x secrets cat key",
        "x=--chdir=secrets; env $x cat key",
        "x='-C secrets'; env $x cat key",
        "x='-C secrets'; tar $x -cf - key",
        "env {-C,secrets} cat key",
        "env X=secrets bash -c 'mv $X zz'",
        "env X=src bash -c 'rm -r $X'",
        "env X=src/b bash -c 'tee $X'",
        "env \"X=src/b\" bash -c 'tee $X'",
        "y=src; env X=$y/b bash -c 'tee $X'",
        "sudo X=src/b sh -c 'tee $X'",
        "gcc -wrapper rm,a x.c",
        "unshare -w secrets cat key",
        "find src -delete",
        "setfacl -R -m u:x:r src",
        "chattr -R +i src",
    ];
    let run = lines.into_iter().filter(|line| bench.bash(line) == Allow).collect::<Vec<_>>();
    assert_eq!(run, [""; 0]);
    let project = bench.root.join("project");
    assert_eq!(fixture().bash("find src -type f -delete"), Deny);
    assert_eq!(
        bench.bash_in(&project.join("src").display().to_string(), "find -delete").decision,
        Deny
    );
    let prefix = JudgeFixture::new().allow("Bash(rsync:*)").deny("Read(key)");
    fs::write(prefix.root.join("project/src/key"), "").unwrap();
    prefix.asks(["rsync -d src/ zz", "rsync --old-dirs src/ zz", "rsync --dir src/ zz"]);
    let bench = fixture();
    bench.allows([
        "x=-name; find . $x a",
        "d=sub; find $d -name '*.rs'",
        "d=sub; find \"$d\" -name '*.rs' -exec cat {} +",
        "x=-C; env $x sub cat key",
        "env X=a bash -c 'tee $X'",
        "find . -name '*.pyc' -delete",
        "m='a message'; git commit -m \"$m\"",
    ]);
}
