//! The colours that a definition can give its agent.

/// The names: those of the themes' list, and those of terminals.
const NAMES: &str = "\
    sky orange green purple yellow vermilion blue gray pink red cyan \
    black magenta white darkgray lightred lightgreen lightyellow lightblue lightmagenta lightcyan lightblack";

/// Whether a text is a colour: a name, a number up to 255, or `#rrggbb`. As in a theme, case and
/// separators do not matter, `grey` is `gray` and `bright` is `light`.
pub fn is_agent_color(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix('#') {
        return digits.len() == 6 && digits.chars().all(|c| c.is_ascii_hexdigit());
    }
    let name = text.replace([' ', '-', '_'], "").replace("bright", "light").replace("grey", "gray");
    text.parse::<u8>().is_ok() || NAMES.split_whitespace().any(|known| known == name)
}
