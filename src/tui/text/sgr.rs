//! Colours and styles in the output of the user's own programs (SGR); every other sequence is dropped.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::sanitize::one_line;
use super::sanitize::sanitize;

/// Reads one line with its styles. The text is sanitised as all text on the screen.
pub fn styled_line(text: &str) -> Line<'static> {
    let mut pieces = text.split('\x1b');
    let mut spans = vec![Span::raw(sanitize(pieces.next().unwrap_or_default()).into_owned())];
    let mut style = Style::default();
    for piece in pieces {
        let text = match sgr_parameters(piece) {
            Some((parameters, rest)) => {
                style = apply(style, parameters);
                sanitize(rest).into_owned()
            }
            None => sanitize(&format!("\x1b{piece}")).into_owned(),
        };
        spans.push(Span::styled(text, style));
    }
    for span in &mut spans {
        if span.content.contains('\n') {
            span.content = one_line(&span.content).into();
        }
    }
    spans.retain(|span| !span.content.is_empty());
    Line::from(spans)
}

/// The parameters of `[31m`, and the text behind it.
fn sgr_parameters(piece: &str) -> Option<(&str, &str)> {
    let body = piece.strip_prefix('[')?;
    let end = body.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    Some((&body[..end], body[end..].strip_prefix('m')?))
}

fn apply(mut style: Style, parameters: &str) -> Style {
    let mut numbers = parameters.split([';', ':']).map(|number| match number {
        "" => Some(0),
        number => number.parse::<u8>().ok(),
    });
    while let Some(number) = numbers.next() {
        let on = |modifier| style.add_modifier(modifier);
        let off = |modifier| style.remove_modifier(modifier);
        style = match number {
            Some(0) => Style::default(),
            Some(1) => on(Modifier::BOLD),
            Some(2) => on(Modifier::DIM),
            Some(3) => on(Modifier::ITALIC),
            Some(4) => on(Modifier::UNDERLINED),
            Some(7) => on(Modifier::REVERSED),
            Some(9) => on(Modifier::CROSSED_OUT),
            Some(22) => off(Modifier::BOLD | Modifier::DIM),
            Some(23) => off(Modifier::ITALIC),
            Some(24) => off(Modifier::UNDERLINED),
            Some(27) => off(Modifier::REVERSED),
            Some(29) => off(Modifier::CROSSED_OUT),
            Some(number @ 30..=37) => style.fg(Color::Indexed(number - 30)),
            Some(number @ 90..=97) => style.fg(Color::Indexed(number - 90 + 8)),
            Some(number @ 40..=47) => style.bg(Color::Indexed(number - 40)),
            Some(number @ 100..=107) => style.bg(Color::Indexed(number - 100 + 8)),
            Some(39) => Style { fg: None, ..style },
            Some(49) => Style { bg: None, ..style },
            Some(38) => extended(&mut numbers).map_or(style, |color| style.fg(color)),
            Some(48) => extended(&mut numbers).map_or(style, |color| style.bg(color)),
            _ => style,
        };
    }
    style
}

/// The colour behind 38 or 48: `5;N` or `2;R;G;B`.
fn extended(numbers: &mut impl Iterator<Item = Option<u8>>) -> Option<Color> {
    match numbers.next()?? {
        5 => Some(Color::Indexed(numbers.next()??)),
        2 => Some(Color::Rgb(numbers.next()??, numbers.next()??, numbers.next()??)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_styles_are_kept() {
        let line = styled_line("a\x1b[1;31mb\x1b[38;5;208mc\x1b[48;2;1;2;3md\x1b[0me\x1b[39;mf");
        let bold = Style::default().add_modifier(Modifier::BOLD);
        let orange = bold.fg(Color::Indexed(208));
        let expected = [
            Span::raw("a"),
            Span::styled("b", bold.fg(Color::Indexed(1))),
            Span::styled("c", orange),
            Span::styled("d", orange.bg(Color::Rgb(1, 2, 3))),
            Span::raw("e"),
            Span::raw("f"),
        ];
        assert_eq!(line.spans, expected);
    }

    #[test]
    fn nothing_else_reaches_the_terminal() {
        for (text, shown) in [
            ("a\x1b]0;EVIL\x07b", "ab"),
            ("a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\c", "abc"),
            ("\x1b[2Jx\x1b[10;10Hy\x1b[31", "xy"),
            ("a\u{9b}31mb\u{202e}c", "ab⟨U+202E⟩c"),
            ("a\x1b[999;5:3mb\x1b[38;5mc\x1b[38;7;7md", "abcd"),
            ("\x07a\tb", "␇a  b"),
        ] {
            let line = styled_line(text);
            let all: String = line.spans.iter().map(|span| &*span.content).collect();
            assert_eq!(all, shown, "{text:?}");
        }
    }
}
