//! Reads the process's environment, once, at start. All other code gets the values captured here.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use directories::ProjectDirs;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::protocol::EnvOverlay;

/// Captures all environment variables. If `HOME` is unset or empty, it is looked up in the system's user database.
pub fn capture() -> EnvOverlay {
    let overlay: EnvOverlay = env::vars_os().collect();
    if overlay.non_empty("HOME").is_some() {
        return overlay;
    }
    match env::home_dir() {
        Some(home) if !home.as_os_str().is_empty() => overlay.with([("HOME", home)]),
        _ => overlay,
    }
}

/// The directory in which the program was started.
pub fn current_dir() -> io::Result<PathBuf> {
    env::current_dir()
}

/// The folders that the platform defines for this program; `None` if the user has no home.
pub(super) fn project_dirs() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "caliban")
}

/// The program's arguments, starting with its own name.
pub fn args() -> impl Iterator<Item = OsString> {
    env::args_os()
}

/// Today's date in the user's time zone, such as `2026-11-20`. Reads the time zone from the environment and the system.
pub fn today() -> String {
    Timestamp::now().to_zoned(time_zone()).date().to_string()
}

/// Returns the user's time zone. Reads the system's rules directly: finding them by name, which the
/// date does not need, would make the library list all time zones first.
fn time_zone() -> TimeZone {
    if env::var_os("TZ").is_none()
        && let Ok(rules) = fs::read("/etc/localtime")
        && let Ok(zone) = TimeZone::tzif("local", &rules)
    {
        return zone;
    }
    TimeZone::system()
}

/// The platform, such as `linux (x86_64)`.
pub fn platform() -> String {
    format!("{} ({})", env::consts::OS, env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_that_are_read_directly_are_those_of_the_systems_time_zone() {
        let now = Timestamp::now();
        assert_eq!(time_zone().to_offset(now), TimeZone::system().to_offset(now));
    }
}
