//! Names that bash makes of brackets, quotes, backslashes, tildes and variables.

use std::fs;
use std::process::Command;

use super::super::super::judge::Decision::{Allow, Deny};
use super::super::super::judge::testing::JudgeFixture;

/// Lines that are compared with bash.
const LINES: usize = 600;

/// A project with files that a rule denies.
fn bench() -> JudgeFixture {
    let bench = JudgeFixture::new().deny("Read(/secrets/key)").deny("Read(.env)");
    let bench = bench.deny("Read(/secrets/é)");
    let project = bench.root.join("project");
    fs::create_dir_all(project.join("secrets")).unwrap();
    for name in ["secrets/key", "secrets/é", ".env", "a.txt"] {
        fs::write(project.join(name), "").unwrap();
    }
    bench
}

#[test]
fn a_bracket_ends_where_bash_ends_it() {
    let bench = bench().allow("Bash");
    bench.denies([
        "cat s[[.e.]]crets/key",
        "x='/key'; cat s[[.e.]]crets$x",
        "x=key; cat s[[=e=]]crets/$x",
        "for x in key; do cat se[[=c=]]*//./$x; done",
        "x=key; cat s[[.hyphen.]e]crets/$x",
        "x=key; cat s['e']crets/$x",
        "x=key; cat s[\"e\"x]crets/$x",
        "x=key; cat s[\\e\\]]crets/$x",
        "x=key; cat s['!'e]crets/$x",
        "x=key; cat s[[:alpha:]]c*/$x",
        "x=key; cat s[[:nothing:]e]crets/$x",
        "x=e; cat s[$x]crets/key",
        "x='e]crets/ke'; cat s[$x[y]",
        "x='.]e]crets'; cat s[[.$x/key",
    ]);
    bench.asks(["x='['; cat ${x}s]ecrets/key", "x='[!'; cat $x[a]ecrets/key"]);
    let bench = JudgeFixture::new().allow("Bash").deny("Read(/app/[[]slug]/key)");
    let folder = bench.root.join("project/app/[slug]");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("key"), "").unwrap();
    bench.denies(["cat app/[slug]/key", "x=key; cat app/[slug]/$x", "x=key; cat app/['slu'g]/$x"]);
}

#[test]
fn what_a_bracket_of_unknown_text_matches_is_a_doubt() {
    let bench = bench().allow("Bash(cat:*)");
    for line in ["cat [$y]", "cat s['!'$y]crets/key", "cat s[$(true)]crets/key", "cat [$y/.env"] {
        assert_ne!(bench.bash(line), Allow, "{line}");
    }
    bench.allows(["cat a[.]txt", "cat [a]*"]);
}

#[test]
fn a_backslash_quotes_in_the_value_of_a_variable_with_a_glob() {
    let bench = bench().allow("Bash").deny("Edit(/secrets/key)");
    bench.denies([
        "f='.[e]\\nv'; cat $f",
        "f='secre[t]s/k\\ey'; cat $f",
        "for f in '.?n\\v'; do cat $f; done",
        "f='\\.[e]nv'; cat $f",
        "f='.\\e'; cat ${f}n?",
        "f='.e[\\n]v'; cat $f",
        "f='a.txt .e[n]\\v'; cat $f",
        "f='secret[s]/\\key'; rm $f",
    ]);
    bench.allows(["grep '\\.env' a.txt", "grep \"a\\.*\\.txt\" a.txt"]);
}

#[test]
fn a_tilde_expands_in_an_assignment() {
    let mut bench = bench().allow("Bash");
    let home = bench.root.join("home");
    fs::create_dir_all(home.join("s")).unwrap();
    fs::write(home.join("s/id"), "").unwrap();
    bench = bench.deny("Read(~/s/id)");
    bench.denies([
        "x=~+/secrets/key; cat $x",
        "x=~+; cat ${x}/secrets/key",
        "x=q:~/s/id; dd if=$x",
        "x=q; x+=:~+/secrets/key; dd if=$x",
        "for x in q=~+/secrets/key; do dd $x; done",
        "dd if=~+/secrets/key",
        "dd if=~0/secrets/key",
        "dd if=~/s/id",
        "x={a,~}/s/id; cat ~/s/id",
    ]);
    for line in ["export x=q:~+/secrets/key; dd if=$x", "declare x=q:~+/secrets/key; dd if=$x"] {
        assert_eq!(bench.bash(line), Deny, "{line}");
    }
    bench.allows(["x=~+/a.txt; cat $x", "cat ~+/a.txt"]);
}

/// Words of obfuscated names, always the same ones.
struct WordSource(u64);

impl WordSource {
    fn number(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.number(of.len())]
    }

    /// A name whose letters are written as globs and escapes, and in quotes if these may be parsed.
    fn name(&mut self, name: &str, takes_quotes: bool) -> String {
        let mut text = String::new();
        for c in name.chars() {
            let plain = ["C", "C", "C", "C"];
            let globs = [
                "?",
                "??",
                "*",
                "[C]",
                "[C-C]",
                "[!0]",
                "[^0]",
                "[[:graph:]]",
                "[]C]",
                "[C-]",
                "[-C]",
                "[!]]",
                "[[.C.]]",
                "[[=C=]]",
                "[C[]",
                "[+-C]",
                "[[.hyphen.]C]",
                "[[:no:]C]",
                "[C.]",
                "\\C",
                "[\\C]",
                "[\\]C]",
                "[!\\C]C",
                "[C",
            ];
            let quotes = [
                "'C'",
                "\"C\"",
                "['C']",
                "[\"C\"]",
                "[']'C]",
                "['!'C]",
                "[a'-'C]",
                "[\"[:\"C]",
                "$'C'",
                "[$'C']",
                "[C'-'z]",
                "[[':graph:'C]",
                "\"[\"C",
            ];
            let form = match self.number(12) {
                _ if c == '/' => self.one(&["/", "/", "//", "/./"]),
                0..=2 => self.one(&globs),
                3 if takes_quotes => self.one(&quotes),
                _ => self.one(&plain),
            };
            text.push_str(&form.replace('C', &c.to_string()));
        }
        text
    }

    /// Commands that print the words of a line, and the line with `cat` in their place.
    fn line(&mut self) -> (String, String) {
        let name =
            self.one(&["secrets/key", "secrets/é", ".env", "./secrets/key", "secrets/../.env"]);
        let tilde = self.one(&["", "", "", "~+/", "~/../project/"]);
        let with = |setup: &str, word: &str| {
            let print = "printf '%s\\n'";
            (format!("{setup}{print} {word}"), format!("{setup}cat {word}"))
        };
        let text = self.name(name, false);
        let cut = self.number(text.chars().count() + 1);
        let (start, end): (String, String) =
            (text.chars().take(cut).collect(), text.chars().skip(cut).collect());
        match self.number(8) {
            0 => with(&format!("x='{text}'; "), "$x"),
            1 => with(&format!("x='{start}'; y='{end}'; "), "$x$y"),
            2 => with(&format!("x='{end}'; "), &format!("{start}$x")),
            3 => with(&format!("x='{start}'; "), &format!("${{x}}{end}")),
            4 => with(&format!("x='a.txt {text}'; "), "$x"),
            5 => with(&format!("x={tilde}'{text}'; "), "$x"),
            6 => {
                let (setup, cat) = with("", "${x}");
                let each = format!("for x in {tilde}{text}; do ");
                (format!("{each}{setup}; done"), format!("{each}{cat}; done"))
            }
            _ => with("", &format!("{tilde}{}", self.name(name, true))),
        }
    }
}

#[test]
fn no_name_that_bash_makes_of_a_word_is_overlooked() {
    let bench = bench().allow("Bash(cat:*)");
    let project = bench.root.join("project");
    let mut source = WordSource(7);
    let lines: Vec<(String, String)> = (0..LINES).map(|_| source.line()).collect();
    let script = "for line; do (eval \"$line\") 2>/dev/null; printf '\\1'; done";
    let secrets = ["secrets/key", "secrets/é", ".env"].map(|name| project.join(name));
    let is_secret =
        |name: &str| fs::canonicalize(project.join(name)).is_ok_and(|path| secrets.contains(&path));
    let mut found: Vec<&str> = Vec::new();
    for locale in ["C", "C.UTF-8"] {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "--noprofile", "-c", script, "bash"]);
        bash.args(lines.iter().map(|(printed, _)| printed)).current_dir(&project);
        bash.env("HOME", bench.root.join("home")).env("LC_ALL", locale);
        let output = String::from_utf8_lossy(&bash.output().unwrap().stdout).into_owned();
        let named: Vec<&str> = output.split('\u{1}').collect();
        assert_eq!(named.len(), lines.len() + 1);
        let here = lines.iter().zip(named).filter(|(_, names)| names.lines().any(is_secret));
        found.extend(here.map(|((_, line), _)| line.as_str()));
    }
    assert!(found.len() > LINES / 2, "only {} lines name a denied file", found.len());
    let missed: Vec<_> = found.iter().filter(|line| bench.bash(line) == Allow).collect();
    assert!(missed.is_empty(), "{} of {}: {missed:#?}", missed.len(), found.len());
}
