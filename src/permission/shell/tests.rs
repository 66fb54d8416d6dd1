use super::*;

/// The commands of a line, separated by `|`, with a leading `?` if the line is unclear, and its redirections.
fn picture(line: &str) -> String {
    let script = split(line);
    let commands = script.commands.iter().map(|command| {
        let words = command
            .words
            .iter()
            .map(|word| if word.literal { word.text.clone() } else { format!("<{}>", word.raw) });
        words.collect::<Vec<_>>().join(" ")
    });
    let mut text = commands.collect::<Vec<_>>().join(" | ");
    for word in &script.writes {
        text.push_str(&format!(" >{}", word.text));
    }
    for word in &script.reads {
        text.push_str(&format!(" <{}", word.text));
    }
    if script.unclear.is_some() { format!("? {text}") } else { text }
}

#[test]
fn every_command_of_a_line_is_found() {
    for (line, expected) in [
        ("git diff --stat", "git diff --stat"),
        ("a && b || c; d & e", "a | b | c | d | e"),
        ("a | b |& c", "a | b | c"),
        ("(a; b) && { c; }", "a | b | c"),
        ("! a", "a"),
        ("a $(b $(c)) \"d $(e)\"", "b <$(c)> | c | e | a <$(b $(c))> <\"d $(e)\">"),
        ("a <(b) >(c)", "b | c | a <<(b)> <>(c)>"),
        ("if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"),
        ("for f in x $(a); do b $f; done", "a | b <$f>"),
        ("case x in a) b;; *) c;; esac", "b | c"),
        ("r''m \"-rf\" 'a b'", "rm -rf a b"),
        ("\\rm x", "rm x"),
        ("a ~/x *.rs {b,c} $'d'", "a <~/x> <*.rs> <{b,c}> <$'d'>"),
        ("a ${x} ${#x} $((1+2))", "a <${x}> <${#x}> <$((1+2))>"),
        ("x=1; for f in *.rs; do a $f; done", "a <$f> <."),
        ("find . -name '*.rs'", "find . -name *.rs"),
        ("a \\\n  b", "a b"),
        ("a # && b\nc", "a | c"),
        ("x=$(a) && b", "a | b"),
        ("[ -f a ] && b", "b <a"),
        ("a - <<'EOF'\nb\nEOF", "a -"),
        ("a 2>&1 >/dev/null", "a"),
        ("a > b 2>> c < d", "a >b >c <d"),
        ("> a", " >a"),
        ("RUST_LOG=debug a", "a"),
        (
            "git commit -m \"$(cat <<'EOF'\nit's $(fine)\nEOF\n)\"",
            "cat | git commit -m <\"$(cat <<'EOF'\nit's $(fine)\nEOF\n)\">",
        ),
        ("cat <<EOF\n$a ${b}\nEOF\nb", "cat | b"),
        ("cat <<'EOF'\n$(a) `b`\nEOF\nb", "cat | b"),
    ] {
        let mut found: Vec<String> = picture(line).split(" | ").map(str::to_owned).collect();
        let mut wanted: Vec<String> = expected.split(" | ").map(str::to_owned).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{line}");
    }
}

#[test]
fn what_bash_might_read_otherwise_is_unclear() {
    let lines = [
        "a \\ b",                  // the grammar takes an escaped blank for a separator
        "git diff --out\\\nput=x", // bash joins the two
        "ls > a b",                // `b` is an argument
        "a\rb",                    // a carriage return is part of bash's word
        "a\u{a0}b",
        "a\u{b}b",
        "$x",
        "$(a) b",
        "`a` b",
        "a${x}",
        "*/bin x",
        "PATH=/tmp; git diff",
        "http_proxy=x; git fetch",
        "export PATH=/tmp",
        "for PATH in /tmp; do git diff; done",
        "unset HOME",
        "git() { rm x; }; git diff",
        "function f { a; }",
        "a ${x:=y}",
        "a ${!x}",
        "a ${x@P}",
        "a ${x[$(b)]}",
        "a $((x[1]))",
        "((x=1))",
        "for ((i=0;i<3;i++)); do a; done",
        "[[ $x -eq 1 ]]",
        "[ -v 'a[$(b)]' ]",
        "a > $x",
        "a > *",
        "a <> b",
        "a >&$x",
        "exec 3<>/dev/tcp/host/80",
        "a < /dev/tcp/host/80",
        // Expansions that the grammar does not see, and a variable that a redirection names.
        "a \"$ $[x]\"",
        "a \"$ $x\"",
        "y=$'\\\\'; a #'",
        "b $'\\\\'; a #'",
        "a {b[x]}>&1",
        "a {b[x]}<<<c",
        "a {b}>/dev/null",
        // Arithmetic, which the grammar may take for subshells.
        "! ((a -x))",
        "if ! ((a)); then b; fi",
        "a | ! ((b))",
        "a $( ! ((b)))",
        "x=<((cat <<'E'\n) )\na\nE\n) )",
        "a >((b) )",
        "x=$((cat <<'E'\n) )\na\nE\n) )",
        "a `b`",
        "a \"`b`\"",
        "a `b \\`c\\``",
        // Expansions and documents in which the grammar sees no command.
        "x=${PWD%$(a)}",
        "x=${x-`a`}",
        "x='a[$(b)]'; a ${y:x}",
        "x=${y%<(a)}",
        "for x in ${PWD#$(a)}; do b; done",
        "case ${PWD%$(a)} in b) c;; esac",
        "a <<<${PWD%$(b)}",
        "TZ=${PWD%$(a)} b",
        "cat <<EOF\n`a`\nEOF",
        "cat <<EOF\n $(a)\nEOF",
        "cat <<EOF\nE$(a)\nEOF",
        "cat <<EOF\n$(a)\nEOF\nb",
        "cat <<EOF\n${x-$(a)}\nEOF",
        "cat <<EOF\n$[a[1]]\nEOF",
        "a $[1]",
        "a \"$\\\n(b)\"",
        "a \"${x\\\n-$(b)}\"",
        "a \"b \\\n c\"",
        "a $\"b\"",
        "x=(a b)",
        "x[1]=a",
        "x+=a; y=b; declare -i x",
        "printf -v 'a[$(b)]' x",
        "test -v 'a[$(b)]'",
        "printf -v PATH b",
        "printf $x PATH b",
        "read -r PATH <<< b",
        "mapfile PATH",
        "hash -p ./b ls",
        "export",
        "declare",
        // For bash a line end closes the test, but the grammar reads on.
        "[ -f\n./a ]",
        "[ ! -f\n./a ]",
        "[\n-f a ]",
        "[ -f a\n]",
        "[[ -f\n./a ]]",
        "if [ -e\n./a ]; then b; fi",
        "a - b - <<'EOF' c\nd\nEOF",
        "unset 'a[$(b)]'",
        // Variables that a program may read.
        "export prefix=b",
        "prefix=b; a",
        "for prefix in b; do a; done",
        // Loops that need not end.
        "while a; do b; done",
        "until a; do b; done",
        "select x in a; do b; done",
        "for x in a; do for y in b; do c; done; done",
        "for x in {1..999999999}; do a; done",
        "a >&19",
        "a >&1-",
        "a >&b",
        "a 19>&1",
        "cat <<EOF | sh\nrm x\nEOF",
        "cat <<-EOF\n\tx\n\tEOF",
        "cat <<E\\OF\nx\nEOF",
        "cat <<A <<B\nx\nA\ny\nB",
        "cat <<EOF\nx\\\nEOF\nEOF",
        "a && ",
        "a \"",
        "a )",
        "if a; then",
        "\\ a",     // the blank is a part of the word, also at the start
        "a\n\\\nb", // the line end before the joined one still ends `a`
        "x=\\\n a",
        "a -e2>&1", // `-e2` is an argument
        "a >&b\\'",
        "2x=a",
        "![[ -f a ]]",
        "[[[ -f a ]]",
        "a && {}",
        "git$\"push\"",
        "<<<$ a",
        "a# b\n=",
        "x=]\\#! a",
    ];
    let clear: Vec<_> = lines.iter().filter(|line| split(line).unclear.is_none()).collect();
    assert!(clear.is_empty(), "{clear:#?}");
    assert!(split(&format!("a {}", "b ".repeat(40_000))).unclear.is_some());
    assert!(split(&format!("{}a{}", "$(".repeat(5_000), ")".repeat(5_000))).unclear.is_some());
}

#[test]
fn scripts_inside_arguments_are_seen_by_restrictions() {
    for line in [
        "bash -c 'rm -rf x'",
        "sh -ec 'a; rm x'",
        "eval rm x",
        "eval 'r''m x'",
        "env A=1 bash -c 'sudo rm x'",
        "sudo bash -c \"bash -c 'rm x'\"",
        "f() { rm x; }",
        "trap 'rm x' EXIT",
    ] {
        let script = split(line);
        let views: Vec<&[Word]> =
            script.all_commands().into_iter().flat_map(wrapper::possible_commands).collect();
        assert!(views.iter().any(|words| words[0].text == "rm"), "{line}: {script:?}");
    }
}

#[test]
fn assignments_before_a_command_are_kept_with_it() {
    let harmless = |line: &str| {
        let script = split(line);
        let command = script.commands.iter().find(|command| command.program() == "a");
        command.unwrap().assignments.iter().all(|assignment| assignment.harmless)
    };
    assert!(harmless("RUST_BACKTRACE=1 NO_COLOR= a"));
    assert!(harmless("RUST_LOG=debug,hyper::client=off TZ=UTC+1 a"));
    for line in [
        "CI='$(shell touch x)' a",
        "CI='a[$(touch x)]' a",
        "NO_COLOR='`touch x`' a",
        "TZ=x[0] a",
        "CI='a b' a",
        "CI=PATH=1 a",
        "x=1 a",
        "prefix=b a",
        "npm_config_script_shell=./x a",
        "LC_ALL=ja_JP.SJIS a",
        "PATH=. a",
        "LD_PRELOAD=x a",
        "GIT_PAGER='sh x' a",
        "LC_ALL=/tmp/x a",
        "TZ=$(b) a",
    ] {
        assert!(!harmless(line), "{line}");
    }
}

#[test]
fn words_that_touch_are_one_as_bash_has_it() {
    for (line, word) in [("echo $x\\m v", "$x\\m"), ("echo ${x}\\m$y v", "${x}\\m$y")] {
        let script = split(line);
        assert_eq!(script.commands[0].words[1].raw, word);
        assert_eq!(script.commands[0].words.len(), 3, "{line}");
        assert!(script.unclear.is_some(), "{line}");
    }
}

#[test]
fn words_of_a_list_that_touch_are_not_read() {
    for list in ["\".\"\\env", "'.en'\\v", ".e\"n\"\\v", "\".\"\\e*", "$x\\m"] {
        for line in [
            format!("for a in {list}; do cat $a; done"),
            format!("case {list} in a) b;; esac"),
            format!("export {list}"),
            format!("cat <<< {list}"),
        ] {
            assert!(split(&line).unread.is_some(), "{line}");
        }
    }
}

#[test]
fn a_line_with_more_commands_than_are_looked_up_is_unread() {
    let line = |count: usize| "ls;".repeat(count);
    assert!(split(&line(MAX_COMMANDS)).unread.is_none());
    let script = split(&line(MAX_COMMANDS + 1));
    assert_eq!(script.unread.as_deref(), Some("the line has too many commands to check"));
    assert_eq!(script.commands.len(), MAX_COMMANDS);
    let nested = format!("bash -c '{}';", line(MAX_COMMANDS / 2)).repeat(2);
    let redirects = "<a;".repeat(MAX_COMMANDS + 1);
    for line in [nested, redirects] {
        assert!(split(&line).unread.is_some(), "{line}");
    }
}
