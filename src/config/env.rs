//! The one place that reads the process's environment: once, at start. Everyone else gets what is taken here.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use directories::ProjectDirs;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::protocol::EnvOverlay;

/// All environment variables as they are now. `HOME` is looked up in the system's user list when it
/// is not set or empty.
#[must_use]
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

/// The directory that the program was started in.
pub fn current_dir() -> io::Result<PathBuf> {
    env::current_dir()
}

/// The folders that the system gives this program, by the rules of the platform; `None` for a
/// person without a home.
#[must_use]
pub(super) fn project_dirs() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "caliban")
}

/// The file of this program.
pub fn program() -> io::Result<PathBuf> {
    env::current_exe()
}

/// The arguments of the program, its own name first.
pub fn args() -> impl Iterator<Item = OsString> {
    env::args_os()
}

/// The day where the person is, such as `2026-11-20`. Asks the environment and the system for the time zone.
#[must_use]
pub fn today() -> String {
    Timestamp::now().to_zoned(time_zone()).date().to_string()
}

/// The time zone of the person. The system's rules are read as they are: to find them by name,
/// which the date does not need, the library would first list the whole folder of time zones.
fn time_zone() -> TimeZone {
    if env::var_os("TZ").is_none()
        && let Ok(rules) = fs::read("/etc/localtime")
        && let Ok(zone) = TimeZone::tzif("local", &rules)
    {
        return zone;
    }
    TimeZone::system()
}

/// The system that the program runs on, such as `linux (x86_64)`.
#[must_use]
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
