use proptest::prelude::*;
use ratatui::style::Modifier;

use super::*;
use crate::tui::text::width;

fn theme() -> Theme {
    Theme::default()
}

/// The lines with their styles marked: `*bold*`, `/italic/`, `` `code` ``, `_underlined_`.
fn picture(lines: &[Line<'_>]) -> String {
    let code = theme().code;
    let mut out = String::new();
    for line in lines {
        for span in &line.spans {
            let marks = [
                (Modifier::BOLD, '*'),
                (Modifier::ITALIC, '/'),
                (Modifier::UNDERLINED, '_'),
                (Modifier::CROSSED_OUT, '~'),
            ];
            let mut around: String = marks
                .iter()
                .filter(|(modifier, _)| span.style.add_modifier.contains(*modifier))
                .map(|(_, mark)| *mark)
                .collect();
            if span.style.fg == code.fg {
                around.push('`');
            }
            out.push_str(&around);
            out.push_str(&span.content);
            out.extend(around.chars().rev());
        }
        out.push('\n');
    }
    out
}

fn rendered(text: &str, width: u16) -> String {
    let mut stream = MarkdownStream::whole(text, &Highlighter::off());
    let lines = stream.lines(width, &theme());
    picture(lines)
}

const DOCUMENT: &str = "\
# A title

A paragraph with **bold**, *italic*, `code`, ~~old~~ and a [link](http://a.b/c) that is long enough to wrap.
A second line of it.

- one
- two with `code`
  - nested and long enough to wrap over to the next line
    continued
  1. first
  1. second

     a paragraph in it
- [ ] open
- [x] done

> a quote
> - with an item
lazily continued

```rust
fn main() {

    println!(\"a line of code that is far too long for this width\");
}
```
    indented code

| name | count |
|:-----|------:|
| a    |     1 |
| a longer name | 22 |

Setext
------
***
5. five
6. six
<b>html</b> &amp; 2 * 3 * snake_case
";

#[test]
fn a_document_looks_as_it_should() {
    insta::assert_snapshot!("document_50", rendered(DOCUMENT, 50));
    insta::assert_snapshot!("document_24", rendered(DOCUMENT, 24));
}

#[test]
fn blocks_follow_each_other_as_in_the_source() {
    let cases = [
        ("a\nb", "a\nb\n"),
        ("a\n\n\n\nb", "a\n\nb\n"),
        ("text:\n- x\n- y", "text:\n• x\n• y\n"),
        ("- x\n\n- y", "• x\n\n• y\n"),
        ("1. a\n\n   ```\n   c\n   ```\n2. b", "1. a\n\n     `c`\n2. b\n"),
        ("1. a\n1. b\n1. c", "1. a\n2. b\n3. c\n"),
        ("- a\n\ntext\n\n- b", "• a\n\ntext\n\n• b\n"),
        ("> a\n\n> b", "│ a\n\n│ b\n"),
        ("> a\n>\n> b", "│ a\n│ \n│ b\n"),
        ("- - a", "• • a\n"),
        ("-\n- a", "• \n• a\n"),
        ("    code\n\n    more", "  `code`\n\n  `more`\n"),
        ("```\nopen", "  `open`\n"),
        ("a\n***\nb", "a\n──────────\nb\n"),
        ("a\n2. b", "a\n2. b\n"),
        ("**a\nb** c", "*a*\n*b* c\n"),
        ("a\\\nb  \nc", "a\nb\nc\n"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(rendered(text, 10), expected, "{text:?}");
    }
}

#[test]
fn escapes_never_reach_the_screen_however_they_come() {
    let mut stream = MarkdownStream::new(&Highlighter::off());
    for delta in ["a\x1b", "[3", "1mb\x1b]0;ti", "tle\x07c &#27;[2J `\x1b[1m` \u{202e}\r\nd\r"] {
        stream.push(delta);
        let lines = stream.lines(80, &theme());
        assert!(!picture(lines).contains('\x1b'));
    }
    stream.finish();
    assert_eq!(picture(stream.lines(80, &theme())), "abc [2J `` ⟨U+202E⟩\nd\n");
}

#[test]
fn text_on_its_way_already_looks_as_it_will() {
    let cases = [
        ("some **bold te", "some *bold te*\n"),
        ("some `co", "some `co`\n"),
        ("- a\n-", "• a\n"),
        ("- a\n- b", "• a\n• b\n"),
        ("text\n--", "text\n"),
        ("```\ncode\n``", "  `code`\n"),
        ("1. a\n2", "1. a\n"),
        ("para", "para\n"),
    ];
    for (text, expected) in cases {
        let mut stream = MarkdownStream::new(&Highlighter::off());
        stream.push(text);
        assert_eq!(picture(stream.lines(30, &theme())), expected, "{text:?}");
    }
}

#[test]
fn deep_nesting_is_capped() {
    let deep = format!("{} x", ">".repeat(10_000));
    let mut stream = MarkdownStream::whole(&deep, &Highlighter::off());
    assert!(stream.lines(40, &theme()).len() < 1000);
    let text = rendered(&"- ".repeat(40), 60);
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn a_new_width_or_theme_lays_out_anew_and_release_forgets() {
    let mut stream = MarkdownStream::whole("one two three", &Highlighter::off());
    assert_eq!(stream.lines(7, &theme()).len(), 2);
    assert_eq!(stream.lines(20, &theme()).len(), 1);
    assert_eq!(stream.lines(20, &Theme::no_color()).len(), 1);
    stream.release();
    assert_eq!(stream.lines(5, &theme()).len(), 3);
    assert!(!stream.is_empty());
}

#[test]
fn code_is_coloured_when_the_syntaxes_arrive() {
    let (sender, loaded) = std::sync::mpsc::sync_channel(1);
    let highlighter = Highlighter::new(move || {
        let _ = sender.send(());
    });
    let text = "```rust\nlet x = 1; /* a\nb */ let y = 2;\n```\n";
    let mut early = MarkdownStream::new(&highlighter);
    early.push(&text[..20]);
    early.lines(40, &theme());
    loaded.recv().unwrap();
    let keyword = theme().keyword;
    let has_keyword = |lines: &[Line<'_>]| {
        lines.iter().flat_map(|line| &line.spans).any(|span| span.style == keyword)
    };
    assert!(has_keyword(early.lines(40, &theme())));
    early.push(&text[20..]);
    early.finish();
    let mut whole = MarkdownStream::whole(text, &highlighter);
    assert_eq!(early.lines(40, &theme()), whole.lines(40, &theme()));
}

/// Streams `text` in pieces of 8 bytes and renders after each; returns the bytes processed.
fn work(text: &str) -> usize {
    let mut stream = MarkdownStream::new(&Highlighter::off());
    let mut work = 0;
    for delta in text.as_bytes().chunks(8) {
        stream.push(std::str::from_utf8(delta).unwrap());
        let before = stream.reader.work;
        let tail = stream.tail_reader();
        work += tail.work - before;
        stream.lines(60, &theme());
    }
    stream.finish();
    stream.lines(60, &theme());
    work + stream.reader.work + stream.cache.layout.work
}

/// A name, a function that makes a text of n pieces, and the allowed work per byte.
type WorkCase = (&'static str, fn(usize) -> String, usize);

#[test]
fn work_is_linear_in_the_length_of_the_text() {
    let kinds: [WorkCase; 8] = [
        ("list", |n| "- an item with `code` and **words** in it\n".repeat(n), 30),
        ("fence", |n| format!("```\n{}```\n", "let x = call(42); // code\n".repeat(n)), 10),
        ("paragraph", |n| "plain words that never end in one line ".repeat(n), 300),
        (
            "open emphasis",
            |n| format!("**{}", "never closed anywhere at all, not once ".repeat(n)),
            400,
        ),
        (
            "table",
            |n| format!("| a | b |\n|---|---|\n{}", "| cell | **other** cell |\n".repeat(n)),
            20,
        ),
        (
            "widening tables",
            |n| {
                let rows = (1..=14).map(|row| format!("| {} | b |\n", "cell ".repeat(row)));
                format!("| a | b |\n|---|---|\n{}\ntext\n\n", rows.collect::<String>())
                    .repeat(n / 10)
            },
            60,
        ),
        (
            "a widening table",
            |n| {
                let rows = (1..=n).map(|row| format!("| {} | b |\n", "x".repeat(row.min(60))));
                format!("| a | b |\n|---|---|\n{}", rows.collect::<String>())
            },
            200,
        ),
        ("nested", |n| "> - a quote\n>   - with items\n>     1. in items\n".repeat(n), 10),
    ];
    for (name, make, bound) in kinds {
        let (small, large) = (make(100), make(200));
        let (one, two) = (work(&small), work(&large));
        assert!(
            two <= one * 9 / 4,
            "{name}: {one} for {} bytes, {two} for twice that",
            small.len()
        );
        assert!(two <= large.len() * bound, "{name}: {} bytes of work each", two / large.len());
    }
}

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        "(#{1,3} |- |\\* |1\\. |2\\) |> |```|```rust|~~~|    |  |\t|---|===|\\| a \\| b \\||\\|---\\|---\\||- \\[x\\] )",
        "[a-z ]{1,12}",
        "(\\*\\*|\\*|_|`|~~|\\[x\\]\\(y z\\)|<b>|&amp;|&#27;|\\\\|\r|\x1b\\[1m|日本|👩\u{200d}💻|e\u{301})",
        Just("word ".repeat(130)),
        Just("x".repeat(2100)),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn streaming_comes_to_the_same_lines_as_the_whole(
        text in markdown(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        cells in 1u16..70,
    ) {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| {
            let mut at = cut.index(text.len() + 1);
            while !text.is_char_boundary(at) { at -= 1; }
            at
        }).collect();
        ends.push(text.len());
        ends.sort_unstable();
        let mut stream = MarkdownStream::new(&Highlighter::off());
        let mut from = 0;
        for end in ends {
            stream.push(&text[from..end]);
            from = end;
            for line in stream.lines(cells, &theme()) {
                let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
                prop_assert!(used <= usize::from(cells), "{line:?} is wider than {cells}");
                prop_assert!(!line.spans.iter().any(|span| span.content.contains(char::is_control)));
            }
        }
        stream.finish();
        let mut whole = MarkdownStream::whole(&text, &Highlighter::off());
        prop_assert_eq!(stream.lines(cells, &theme()), whole.lines(cells, &theme()));
    }
}

#[test]
fn a_later_row_of_a_table_that_does_not_fit_widens_all_rows() {
    let mut text = String::from("| name | n |\n|---|--:|\n");
    for row in 0..14 {
        text.push_str(&format!("| row {row} | {} |\n", row * 13));
    }
    let mut stream = MarkdownStream::new(&Highlighter::off());
    for letter in text.chars() {
        stream.push(&letter.to_string());
        stream.lines(80, &theme());
    }
    stream.finish();
    let lines: Vec<String> = stream.lines(80, &theme()).iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 16, "{lines:#?}");
    assert!(lines.iter().any(|line| line == "row 13 │ 169"), "{lines:#?}");
    let bar = |line: &String| line.find(['│', '┼']).map(|at| line[..at].chars().count());
    assert!(lines.iter().all(|line| bar(line) == bar(&lines[0])), "{lines:#?}");
}
