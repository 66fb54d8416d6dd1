//! The brightness of the terminal's background, from the environment or the terminal's answer.

use crate::protocol::EnvOverlay;

/// Whether the terminal's background is dark or light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminalBackground {
    #[default]
    Dark,
    Light,
}

impl TerminalBackground {
    /// Reads `COLORFGBG`, such as `15;0` or `0;default;15`, whose last number is the background.
    pub fn from_env(env: &EnvOverlay) -> Option<Self> {
        let last = env.get("COLORFGBG")?.rsplit(';').next()?;
        match last.trim().parse().ok()? {
            7 | 9..=15 => Some(Self::Light),
            0..=6 | 8 => Some(Self::Dark),
            16u8.. => None,
        }
    }

    /// Parses a colour as terminals write it: `rgb:1e1e/1e1e/1e1e`, `rgba:…` or `#1e1e1e`.
    pub fn from_color(text: &str) -> Option<Self> {
        let parts: Vec<f32> = match text.strip_prefix('#') {
            Some(digits) if !digits.is_empty() && digits.len() % 3 == 0 && digits.is_ascii() => {
                let size = digits.len() / 3;
                (0..3).filter_map(|at| channel(&digits[at * size..(at + 1) * size])).collect()
            }
            Some(_) => return None,
            None => {
                let rest = text.strip_prefix("rgba:").or_else(|| text.strip_prefix("rgb:"))?;
                rest.split('/').map_while(channel).collect()
            }
        };
        let [red, green, blue, ..] = parts[..] else { return None };
        // Perceived brightness, on the usual weights.
        let brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
        Some(if brightness > 0.5 { Self::Light } else { Self::Dark })
    }
}

/// One to four hexadecimal digits as a part of 1.
fn channel(digits: &str) -> Option<f32> {
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return None;
    }
    let value = u16::from_str_radix(digits, 16).ok()?;
    let most = (1u32 << (4 * digits.len())) - 1;
    Some(f32::from(value) / most as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_of_colorfgbg_is_the_background() {
        let background = |value: &str| {
            TerminalBackground::from_env(&[("COLORFGBG", value)].into_iter().collect())
        };
        for light in ["0;15", "0;default;15", "0;7", "0;11"] {
            assert_eq!(background(light), Some(TerminalBackground::Light), "{light}");
        }
        for dark in ["15;0", "7;8", "15;default;0"] {
            assert_eq!(background(dark), Some(TerminalBackground::Dark), "{dark}");
        }
        for rubbish in ["", ";", "default;default", "15;-1", "15;300", "15;99"] {
            assert_eq!(background(rubbish), None, "{rubbish}");
        }
        assert_eq!(TerminalBackground::from_env(&EnvOverlay::default()), None);
    }

    #[test]
    fn a_terminals_colour_is_dark_or_light_or_rubbish() {
        for light in ["rgb:ffff/ffff/ffff", "rgb:f/f/f", "#fbfbfa", "rgba:ff/ff/ff/ff", "#fff"] {
            assert_eq!(
                TerminalBackground::from_color(light),
                Some(TerminalBackground::Light),
                "{light}"
            );
        }
        for dark in ["rgb:1e1e/1e1e/2e2e", "#000", "rgb:00/2b/36", "#000000000000"] {
            assert_eq!(
                TerminalBackground::from_color(dark),
                Some(TerminalBackground::Dark),
                "{dark}"
            );
        }
        for rubbish in
            ["", "?", "rgb:", "rgb:ff/ff", "rgb:fffff/0/0", "rgb:+f/0/0", "#", "#ff", "#é00"]
        {
            assert_eq!(TerminalBackground::from_color(rubbish), None, "{rubbish}");
        }
    }
}
