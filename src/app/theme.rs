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
    let settings = TuiSettings {
        theme: setup.loaded.config.tui.theme.clone().unwrap_or_default(),
        theme_files: files(&setup.dirs.themes()),
        env: setup.env.clone(),
        ..TuiSettings::default()
    };
    tui::check_theme(&settings).map_err(|error| format!("{origin}: {error}"))
}

/// Reads the user's theme files, in the order of their names.
pub(crate) fn files(folder: &Path) -> Vec<ThemeSource> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|name| name == "toml") && path.is_file());
    paths.sort();
    let source = |path: &PathBuf| {
        let name = path.file_stem()?.to_str()?.to_owned();
        let text = read_theme(path).map_err(|error| error.to_string());
        Some(ThemeSource { name, path: printable_path(path), text })
    };
    paths.iter().filter_map(source).collect()
}

/// Reads a theme file. Bounded, since it is read before the first frame.
fn read_theme(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_THEME_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
