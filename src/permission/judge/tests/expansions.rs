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
