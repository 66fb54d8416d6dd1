//! Texts that bash computes otherwise than the judge might: characters, blanks, names that are no text.

use super::*;

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
