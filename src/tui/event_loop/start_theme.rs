//! Resolves the theme of the first frame.

use crate::tui::settings::TuiSettings;
use crate::tui::theme::{TerminalBackground, Theme, ThemeError};
use crate::tui::themes::ThemeSet;

/// The themes for this terminal, and the name of each file of the user with mistakes, with a line about it.
pub fn load_themes(settings: &TuiSettings) -> (ThemeSet, Vec<(String, String)>) {
    let env = match settings.no_color {
        true => &settings.env.with([("NO_COLOR", "1")]),
        false => &settings.env,
    };
    ThemeSet::new(&settings.theme_files, env)
}

/// The theme of the first frame, before the terminal may have said what its background is.
pub fn first_theme(settings: &TuiSettings, themes: &ThemeSet) -> Result<Theme, ThemeError> {
    themes.get(&settings.theme, TerminalBackground::from_env(&settings.env).unwrap_or_default())
}

/// Checks that the theme of the settings exists and can be read.
///
/// # Errors
/// If it does not; the message lists the themes.
pub fn check_theme(settings: &TuiSettings) -> Result<(), ThemeError> {
    resolve_theme(settings).map(drop)
}

/// Returns a line for each theme file of the user with mistakes.
pub fn theme_problems(settings: &TuiSettings) -> Vec<String> {
    load_themes(settings).1.into_iter().map(|(_, line)| line).collect()
}

/// Resolves the theme from the settings and the terminal.
pub fn resolve_theme(settings: &TuiSettings) -> Result<Theme, ThemeError> {
    let themes = load_themes(settings).0;
    match first_theme(settings, &themes) {
        Err(_) if settings.theme_place.is_some() => {
            first_theme(&TuiSettings { theme: String::new(), ..settings.clone() }, &themes)
        }
        theme => theme,
    }
}
