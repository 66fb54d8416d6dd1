use super::*;

fn spelled(raw: &str) -> Vec<String> {
    let word = Word { text: raw.to_owned(), raw: raw.to_owned(), literal: false };
    let piece = |piece: &Piece| match piece {
        Piece::Char(c) => *c,
        Piece::One | Piece::Set(_) => '?',
        Piece::Star | Piece::Variable(_) | Piece::Any | Piece::Limit => '*',
    };
    let show = |word: &Spelling<'_>| match word {
        Spelling::Plain(text) => text.to_string(),
        Spelling::Open(pieces) => {
            let text: String = pieces.iter().map(piece).collect();
            format!("<{text}>")
        }
    };
    spell(&[word]).iter().map(show).collect()
}

#[test]
fn a_word_is_read_as_bash_reads_it() {
    for (raw, expected) in [
        ("$'rm'", "rm"),
        ("$'\\x72\\155'", "rm"),
        ("r$'\\u006d'", "rm"),
        ("r\\\nm", "rm"),
        ("r\"\"m", "rm"),
        ("r''\\m", "rm"),
        ("$\"rm\"", "rm"),
        ("{rm,-rf,x}", "rm -rf x"),
        ("{r,}m", "rm m"),
        ("{a,{b,c}}d", "ad bd cd"),
        ("'{a,b}'", "{a,b}"),
        ("a{b}c", "a{b}c"),
        ("{}", "{}"),
        ("r{a..c}", "ra rb rc"),
        ("r{m..m}", "rm"),
        ("r{8..11}", "r8 r9 r10 r11"),
        ("r{1..9999}", "<r*>"),
        ("r{a..c..2}", "<r*>"),
        ("r{a..C}", "<r*>"),
        ("{{a,b}", "{a {b"),
        ("{a,b}}", "a} b}"),
        ("/bin/r?", "</bin/r?>"),
        ("r[l-n]", "<r?>"),
        ("$RM", "<*>"),
        ("r${x}m", "<r*m>"),
        ("\"$(a \"b\")\"/rm", "<*/rm>"),
        ("~+/x", "<*/x>"),
        ("${x:-{a,b}}y", "<*y>"),
        ("\"a\\$b\"", "a$b"),
        ("$'it\\'s'", "it's"),
    ] {
        assert_eq!(spelled(raw).join(" "), expected, "{raw}");
    }
    assert!(spelled(&"{a,b}".repeat(40)).len() <= 2 * MAX_ALTERNATIVES);
    for odd in ["'", "\"", "$'", "${", "$(", "\\", "$", "{", "`", "[", "~", "$'\\", "{a,"] {
        assert!(spelled(odd).len() < 3 && unquoted(odd).len() <= odd.len(), "{odd}");
    }
}

#[test]
fn an_open_word_may_be_what_its_known_parts_allow() {
    let may_be = |raw: &str, text: &str| {
        let word = Word { text: String::new(), raw: raw.to_owned(), literal: false };
        spell(&[word])[0].base().may_be(text)
    };
    for (raw, expected) in
        [("/bin/r?", true), ("r*", true), ("$x/rm", true), ("?", false), ("s*", false)]
    {
        assert_eq!(may_be(raw, "rm"), expected, "{raw}");
    }
}

#[test]
fn quotes_do_not_hide_a_word_of_a_line() {
    assert_eq!(unquoted("r\\\nm $'\\x72m' \"r\"'m' \\rm"), "rm rm rm rm");
}

#[test]
fn a_file_in_the_home_is_known_and_anything_else_is_not() {
    let home = Path::new("/home/ann");
    for (raw, file) in [
        ("~", Some("/home/ann")),
        ("~/", Some("/home/ann")),
        ("~/.bashrc", Some("/home/ann/.bashrc")),
        ("~//a", Some("/home/ann/a")),
        ("\"$HOME\"/'a b'", Some("/home/ann/a b")),
        ("${HOME}", Some("/home/ann")),
        ("\"$HOME\"x", None),
        ("~bob/a", None),
        ("~/*", None),
        ("~/{a,b}", None),
        ("x~/a", None),
        ("$OLDPWD/a", None),
    ] {
        let word = Word { text: raw.to_owned(), raw: raw.to_owned(), literal: false };
        assert_eq!(file_in_home(&word, Some(home)).as_deref(), file.map(Path::new), "{raw}");
        assert_eq!(file_in_home(&word, None), None, "{raw}");
    }
}
