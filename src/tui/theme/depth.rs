//! The terminal's colour depth, and the nearest colour that it can show.

use ratatui::style::Color;

use crate::protocol::EnvOverlay;

/// The number of colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    None,
    Ansi16,
    Ansi256,
    True,
}

/// Colours 1 to 14 with their usual values, to find the nearest; black and white are left to the
/// background.
const ANSI: [(Color, [u8; 3]); 14] = [
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 85, 85]),
    (Color::LightGreen, [85, 255, 85]),
    (Color::LightYellow, [255, 255, 85]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 85, 255]),
    (Color::LightCyan, [85, 255, 255]),
];

impl ColorDepth {
    /// Detects the depth from `NO_COLOR`, `COLORTERM` and `TERM`, without querying the terminal.
    pub fn from_env(env: &EnvOverlay) -> Self {
        let term = env.get("TERM").unwrap_or_default();
        if env.non_empty("NO_COLOR").is_some() || term == "dumb" {
            return Self::None;
        }
        let colorterm = env.get("COLORTERM").unwrap_or_default();
        if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
            return Self::True;
        }
        if term.contains("256color")
            || matches!(term, "xterm-kitty" | "alacritty" | "xterm-ghostty")
        {
            return Self::Ansi256;
        }
        Self::Ansi16
    }

    /// The nearest colour at this depth; `None` if there are no colours.
    pub fn nearest(self, color: Color) -> Option<Color> {
        match (self, color) {
            (Self::None, _) => None,
            (Self::Ansi256, Color::Rgb(r, g, b)) => {
                Some(Color::Indexed(nearest_indexed([r, g, b])))
            }
            (Self::Ansi16, Color::Rgb(r, g, b)) => Some(nearest_ansi([r, g, b])),
            (Self::Ansi16, Color::Indexed(index)) => Some(nearest_ansi(indexed_rgb(index))),
            _ => Some(color),
        }
    }
}

/// The six levels of the 256-colour cube.
const CUBE_LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The index of the nearest colour of the cube or the grey ramp.
fn nearest_indexed(rgb: [u8; 3]) -> u8 {
    let level = |value: u8| {
        (0..6u8).min_by_key(|at| CUBE_LEVELS[usize::from(*at)].abs_diff(value)).unwrap_or_default()
    };
    let [r, g, b] = rgb.map(level);
    let in_cube = 16 + 36 * r + 6 * g + b;
    let mean = rgb.iter().map(|value| u32::from(*value)).sum::<u32>() / 3;
    let grey = 232 + (mean.saturating_sub(3) / 10).min(23) as u8;
    if distance(indexed_rgb(grey), rgb) < distance(indexed_rgb(in_cube), rgb) {
        grey
    } else {
        in_cube
    }
}

/// The colour of the 256-colour cube with the hue of a ground, and a stronger one.
pub(super) fn tints(ground: Color) -> (Color, Color) {
    let Color::Rgb(r, g, b) = ground else { return (ground, ground) };
    let rgb = [r, g, b];
    let strongest = r.max(g).max(b);
    let is_dark = strongest < 128;
    let pick = |step: u8| {
        let level = |value: u8| match is_dark {
            // The darkest colours with a hue.
            true if value == strongest => step,
            true => 0,
            false if value < strongest => 5 - step,
            false => 5,
        };
        let [r, g, b] = rgb.map(level);
        Color::Indexed(16 + 36 * r + 6 * g + b)
    };
    (pick(1), pick(2))
}

/// Black for a dark ground, white for a light one.
pub(super) fn nearest_extreme(ground: Color) -> Option<Color> {
    let [red, green, blue] = approximate_rgb(ground)?.map(u32::from);
    Some(if red + green + blue < 3 * 128 { Color::Black } else { Color::White })
}

fn indexed_rgb(index: u8) -> [u8; 3] {
    match index {
        0 => [0, 0, 0],
        15 => [255, 255, 255],
        1..=14 => ANSI[usize::from(index) - 1].1,
        16..=231 => {
            let index = index - 16;
            [index / 36, index / 6 % 6, index % 6].map(|level| CUBE_LEVELS[usize::from(level)])
        }
        232..=255 => [8 + 10 * (index - 232); 3],
    }
}

/// The usual value of a colour; `None` for the terminal's own.
pub(super) fn approximate_rgb(color: Color) -> Option<[u8; 3]> {
    match color {
        Color::Reset => None,
        Color::Rgb(red, green, blue) => Some([red, green, blue]),
        Color::Indexed(index) => Some(indexed_rgb(index)),
        Color::Black => Some([0, 0, 0]),
        Color::White => Some([255, 255, 255]),
        named => ANSI.iter().find(|(known, _)| *known == named).map(|(_, value)| *value),
    }
}

fn nearest_ansi(rgb: [u8; 3]) -> Color {
    let nearest = ANSI.iter().min_by_key(|(_, value)| distance(*value, rgb));
    nearest.map_or(Color::Reset, |(color, _)| *color)
}

fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(pairs: &[(&str, &str)]) -> ColorDepth {
        ColorDepth::from_env(&pairs.iter().copied().collect())
    }

    #[test]
    fn the_environment_tells_the_depth() {
        assert_eq!(depth(&[("COLORTERM", "truecolor"), ("TERM", "xterm")]), ColorDepth::True);
        assert_eq!(depth(&[("TERM", "screen-256color")]), ColorDepth::Ansi256);
        assert_eq!(depth(&[("TERM", "linux")]), ColorDepth::Ansi16);
        assert_eq!(depth(&[("TERM", "dumb"), ("COLORTERM", "truecolor")]), ColorDepth::None);
        assert_eq!(depth(&[("NO_COLOR", "1"), ("COLORTERM", "24bit")]), ColorDepth::None);
        assert_eq!(depth(&[("NO_COLOR", ""), ("COLORTERM", "24bit")]), ColorDepth::True);
    }

    #[test]
    fn colours_fall_back_to_the_nearest() {
        let orange = Color::Rgb(0xE6, 0x9F, 0x00);
        assert_eq!(ColorDepth::True.nearest(orange), Some(orange));
        assert_eq!(ColorDepth::Ansi256.nearest(orange), Some(Color::Indexed(178)));
        assert_eq!(
            ColorDepth::Ansi256.nearest(Color::Rgb(128, 128, 128)),
            Some(Color::Indexed(244))
        );
        assert_eq!(ColorDepth::Ansi16.nearest(orange), Some(Color::Yellow));
        assert_eq!(ColorDepth::Ansi16.nearest(Color::Red), Some(Color::Red));
        assert_eq!(ColorDepth::None.nearest(Color::Red), None);
    }
}
