//! Which variables may be set before or beside a command that a rule allows.

use crate::permission::script::Word;

/// These change how a program talks, not what it does: colours, logging, time zone, language, number of threads.
const HARMLESS: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "FORCE_COLOR",
    "LC_ALL",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TZ",
];

/// Whether the assignment changes nothing that a rule relies on. An absent value is one that cannot be told.
pub fn is_harmless(name: &str, value: Option<&Word>) -> bool {
    if is_private(name) {
        return true;
    }
    // Without a slash it cannot name a file of its own choosing.
    let plain = |word: &Word| word.literal && !word.text.contains('/');
    HARMLESS.contains(&name) && value.is_some_and(plain)
}

/// Whether a variable is the script's own: programs and the shell read settings from upper-case names and a few others.
pub fn is_private(name: &str) -> bool {
    let lower =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
    lower
        && !name.is_empty()
        && !name.ends_with("_proxy")
        && !matches!(name, "histchars" | "auto_resume")
}

/// Whether bash takes the text for the name of a variable.
pub fn is_name(text: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(letters) && text.chars().next().is_some_and(|c| !c.is_ascii_digit())
}
