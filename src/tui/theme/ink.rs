//! The colour of text on a ground. A ground with the terminal's own colour on it may hide the text, since
//! the terminal's background may be the opposite of what the theme is for.

use ratatui::style::{Color, Modifier, Style};

use super::depth::{ColorDepth, approximate_rgb};

/// The colours of text on a dark and on a light ground.
const LIGHT_INK: [u8; 3] = [236, 236, 240];
const DARK_INK: [u8; 3] = [28, 28, 32];

/// The colour of text on this ground, of the same kind as the ground; `None` on the terminal's own.
fn ink(ground: Color) -> Option<Color> {
    let [red, green, blue] = approximate_rgb(ground)?.map(f32::from);
    // Perceived brightness, on the usual weights.
    let is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 127.0;
    let [red, green, blue] = if is_light { DARK_INK } else { LIGHT_INK };
    match (ground, is_light) {
        (Color::Rgb(..), _) => Some(Color::Rgb(red, green, blue)),
        (Color::Indexed(_), _) => ColorDepth::Ansi256.nearest(Color::Rgb(red, green, blue)),
        (_, true) => Some(Color::Black),
        (_, false) => Some(Color::White),
    }
}

/// Marks a style whose colour of the text follows from the ground, rather than from the theme's file. On the
/// screen it changes nothing, since no text is hidden.
const INKED: Modifier = Modifier::HIDDEN;

fn is_inked(style: Style) -> bool {
    style.sub_modifier.contains(INKED)
}

/// Gives a style with a ground a colour for the text, if it has none.
pub(super) fn add_ink(style: &mut Style) {
    if let (None, Some(ink)) = (style.fg, style.bg.and_then(ink)) {
        *style = style.fg(ink).remove_modifier(INKED);
    }
}

/// Takes away a colour that follows from the ground.
pub(super) fn remove_ink(style: &mut Style) {
    if is_inked(*style) {
        style.fg = None;
        style.sub_modifier.remove(INKED);
    }
}

/// Puts text on a ground. The text keeps a colour that it has, unless the theme's file gives the ground
/// one for its text.
pub fn on_ground(text: Style, ground: Style) -> Style {
    let own = text.fg.filter(|color| *color != Color::Reset && is_inked(ground));
    let whole = text.patch(ground);
    Style { fg: own.or(whole.fg), ..whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_its_colour_on_a_ground_that_names_none() {
        let mut named = Style::new().bg(Color::Blue);
        add_ink(&mut named);
        assert_eq!(named.fg, Some(Color::White));
        let green = Style::new().fg(Color::Green);
        let looks = |style: Style| (style.fg, style.bg);
        assert_eq!(looks(on_ground(green, named)), (Some(Color::Green), Some(Color::Blue)));
        assert_eq!(looks(on_ground(Style::new(), named)), (Some(Color::White), Some(Color::Blue)));
        assert_eq!(on_ground(Style::reset(), named).fg, Some(Color::White));

        let chosen = Style::new().fg(Color::Black).bg(Color::Yellow).bold();
        assert_eq!(on_ground(green, chosen), chosen);
        remove_ink(&mut named);
        assert_eq!(named, Style::new().bg(Color::Blue));
    }
}
