//! The user's themes, and whether the configuration names one that exists.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::setup::Setup;
use crate::protocol::printable_path;
use crate::tui;
use crate::tui::settings::TuiSettings;
use crate::tui::themes::ThemeSource;

/// The most bytes of a theme file.
const MAX_THEME_BYTES: u64 = 64 * 1024;

/// Checks that the configured theme exists and can be read. The error is one line.
pub(crate) fn check(setup: &Setup) -> Result<(), String> {
    // Without a choice, there is nothing to read.
    if setup.loaded.config.tui.theme.as_deref().unwrap_or_default().is_empty() {
        return Ok(());
    }
    let origin = setup.loaded.origins.get("tui.theme");
    tui::check_theme(&settings(setup)).map_err(|error| format!("{origin}: {error}"))
}

/// Returns a line for each theme file with mistakes.
pub(crate) fn problems(setup: &Setup) -> Vec<String> {
    tui::theme_problems(&settings(setup))
}

fn settings(setup: &Setup) -> TuiSettings {
    TuiSettings {
        theme: setup.loaded.config.tui.theme.clone().unwrap_or_default(),
        theme_files: files(setup),
        env: setup.env.clone(),
        ..TuiSettings::default()
    }
}

/// Reads the user's theme files, in the order of their names.
pub(crate) fn files(setup: &Setup) -> Vec<ThemeSource> {
    let (folder, home) = (setup.dirs.themes(), setup.home());
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|name| name == "toml") && path.is_file());
    paths.sort();
    let source = |path: &PathBuf| {
        let name = path.file_stem()?.to_str()?.to_owned();
        let text = read_theme(path).map_err(|error| error.to_string());
        let below = home.as_deref().and_then(|home| path.strip_prefix(home).ok());
        let shown = below.map_or_else(|| path.clone(), |below| Path::new("~").join(below));
        Some(ThemeSource { name, path: printable_path(&shown), text })
    };
    paths.iter().filter_map(source).collect()
}

/// Reads a theme file. Bounded, since it is read before the first frame.
fn read_theme(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_THEME_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
