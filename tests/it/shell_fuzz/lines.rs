//! Shell lines for the fuzzer: ordinary ones, changed at random, with a payload worked in.

use fastrand::Rng;

/// Lines that the gate allows as they are, one for each form that it accepts.
pub const SEEDS: &[&str] = &[
    "ls -la src",
    "cat src/a.txt | head -n 5",
    "echo hi && wc -l a.txt",
    "cd src && ls",
    "rg -n needle src",
    "safe \"a b\" 'c' d\\ e",
    "safe $'a\\nb' {a,b} *.txt ~/x",
    "x=1; safe $x \"$x\"",
    "x=a.txt y=$x; safe $y ${x} ${#x} \"$x.o\"",
    "for f in a b *.txt; do safe $f; done",
    "if safe; then echo a; elif safe b; then echo c; else echo d; fi",
    "case x in a|b) safe;; *.txt) echo b;; *) echo c;; esac",
    "safe <<EOF\nhello $x ${y}\nEOF\nsafe a",
    "cat <<'EOF'\n$(a) `b`\nEOF\necho a",
    "safe \"$(cat <<'EOF'\nit's \"so\"\nEOF\n)\"",
    "safe <<< word",
    "safe <<<\"$x\"",
    "safe $(safe a $(echo b))",
    "safe \"$(safe \"b c\")\"",
    "safe <(echo a) < a.txt",
    "safe $((1+2*(3-1)))",
    "safe 2>&1 >/dev/null",
    "safe # comment's\nsafe",
    "{ safe; echo a; } && (safe; echo b)",
    "! safe || echo a",
    "[ -f a.txt ] && safe; [[ -d src ]] && safe",
    "NO_COLOR=1 RUST_LOG=debug safe",
    "export NO_COLOR=1; safe & echo a",
    "safe a \\\n  b",
    "git status --short; git log --oneline -5",
];

/// What leaves a mark when it runs: programs on `PATH` and in the working directory, and a builtin
/// that writes.
const PAYLOADS: &[&str] = &["pwn", "./pwn", "pwn x", "touch new", "echo a >new"];

/// Ways to run a payload, which stands at `@`.
const FORMS: &[&str] = &[
    "$(@)",
    "`@`",
    "\"$(@)\"",
    "\"`@`\"",
    "<(@)",
    ">(@)",
    ";@",
    "\n@",
    "&&@",
    "|@",
    "&@",
    "(@)",
    "{ @; }",
    "${x:-$(@)}",
    "${x-`@`}",
    "${PWD%$(@)}",
    "${PWD#`@`}",
    "${PWD%<(@)}",
    "${PWD/$(@)/b}",
    "${x:$(@)}",
    "${x[$(@)]}",
    "$((x[$(@)]))",
    "$[x[$(@)]]",
    "$(( $(@) ))",
    "x='a[$(@)]'",
    "'a[$(@)]'",
    "${y:x}",
    "${y:a[$(@)]}",
    "$((x))",
    "((x))",
    "x='a[$(@)]'; y=\"$ $[x]\"",
    "x='a[$(@)]'; safe {b[x]}>&1",
    "$'\\\\'; @ #'",
    "x='a[$(@)]'; ((x))",
    "x='a[$(@)]'; ! ((safe -x))",
    "x='a[$(@)]'; safe | ((x))",
    "<((cat <<'E'\n) )\n@\nE\n) )",
    ">((cat <<'E'\n) )\n@\nE\n) )",
    "$((cat <<'E'\n) )\n@\nE\n) )",
    "[[ $x -eq 1 ]]",
    "[[ -v 'a[$(@)]' ]]",
    "[ -f\n@ ]",
    "[[ ! -e\n@ ]]",
    "x=(${PWD%$(@)})",
    "x[$(@)]=1",
    "declare -i y=x",
    "PS4='$(@)'; set -x",
    "<<EOF\n$(@)\nEOF\n",
    "<<EOF\nE$(@) `@`\nEOF\n",
    "<<-EOF\n\t$(@)\n\tEOF\n",
    "<<EOF\n$\\\n(@)\nEOF\n",
    "<<<$(@)",
    "case $(@) in a) b;; esac",
    "case a in $(@)) b;; esac",
    "f() { @; }; f",
    "trap '@' EXIT",
    "eval '@'",
    "coproc @",
    "time @",
    "exec @",
    "command @",
    "alias safe=@\nsafe",
    "$'\\n'@",
    "$\"$(@)\"",
    "> new",
    ">>new",
    "&>new",
    ">|new",
    "<>new",
    ">&new",
    "{fd}>new",
    "2>new",
];

/// Pieces that change how what follows is read.
const PIECES: &[&str] = &[
    "'",
    "\"",
    "\\",
    "$",
    "`",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "|",
    "&",
    ";",
    "\n",
    " ",
    "\t",
    "#",
    "!",
    "=",
    "~",
    "*",
    "?",
    ":",
    "%",
    "^",
    ",",
    "@",
    "+",
    "-",
    "/",
    "\\\n",
    "\\\\",
    "\\'",
    "\\\"",
    "\\$",
    "$'",
    "$\"",
    "${",
    "${x",
    "$(",
    "$((",
    "<((",
    "((",
    "! ((",
    "))",
    "[[",
    "]]",
    "<<",
    "<<-",
    "<<<",
    "<&",
    ">&",
    "EOF",
    "'EOF'",
    "\nEOF\n",
    ";;",
    ";&",
    " in ",
    " do ",
    "; done",
    "; then ",
    "; fi",
    " esac",
    "case ",
    "for ",
    "if ",
    "while ",
    "function f ",
    "f()",
    "time ",
    "x=",
    "x+=",
    "a[",
    "# ",
    "''",
    "\"\"",
    "{a,",
    "..",
    "é",
    "\u{a0}",
    "\r",
    "1",
    "pwn",
    "@(",
    "!(",
    "+=",
    "&&",
    "||",
    "|&",
    "!=",
    "=~",
    "%%",
    "##",
    ":-",
];

/// Makes the next line.
pub fn next(random: &mut Rng) -> String {
    let mut line = choose(random, SEEDS).to_owned();
    for _ in 0..=random.usize(0..4) {
        change(&mut line, random);
    }
    line
}

/// Puts a form with a payload at one place of a seed, and nothing else: each pair of the two turns
/// up by itself.
pub fn plain(random: &mut Rng) -> String {
    let mut line = choose(random, SEEDS).to_owned();
    line.insert_str(place(&line, random), &form(random));
    line
}

fn change(line: &mut String, random: &mut Rng) {
    let (start, end) = range(line, random);
    match random.u8(0..8) {
        0..=2 => line.insert_str(start, &form(random)),
        3 | 4 => line.insert_str(start, choose(random, PIECES)),
        5 => line.replace_range(start..end, choose(random, PIECES)),
        6 => line.replace_range(start..end, ""),
        _ => {
            let other = choose(random, SEEDS);
            let (from, to) = range(other, random);
            line.insert_str(start, &other[from..to]);
        }
    }
}

fn form(random: &mut Rng) -> String {
    let payload = choose(random, PAYLOADS);
    choose(random, FORMS).replace('@', payload)
}

fn choose(random: &mut Rng, all: &[&'static str]) -> &'static str {
    random.choice(all).copied().unwrap_or_default()
}

/// A place between two characters.
fn place(line: &str, random: &mut Rng) -> usize {
    let mut at = random.usize(0..=line.len());
    while !line.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A short stretch of the line, possibly empty.
fn range(line: &str, random: &mut Rng) -> (usize, usize) {
    let start = place(line, random);
    let end = line[start..].char_indices().nth(random.usize(0..12));
    (start, end.map_or(line.len(), |(at, _)| start + at))
}
