//! The environment as data: taken once at start, handed down explicitly, never read again.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// Counts the programs and agents above a process that an agent starts.
pub const DEPTH_VARIABLE: &str = "CALIBAN_DEPTH";

/// The environment variables that one session (or one agent) sees. Cheap to clone; changes make a
/// new overlay.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EnvOverlay(Arc<BTreeMap<OsString, OsString>>);

impl EnvOverlay {
    /// The variable, if it is set and valid UTF-8.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_os(name)?.to_str()
    }

    /// The variable as the system has it.
    #[must_use]
    pub fn get_os(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The variable, taken as absent when it is empty.
    #[must_use]
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// The folders of `PATH`, in order; an empty or relative one counts from where a program runs.
    pub fn program_folders(&self) -> impl Iterator<Item = &Path> {
        let path = self.get_os("PATH").map(OsStr::as_bytes).unwrap_or_default();
        path.split(|byte| *byte == b':').map(OsStr::from_bytes).map(Path::new)
    }

    /// This overlay with the given variables set on top.
    #[must_use]
    pub fn with<N: Into<OsString>, V: Into<OsString>>(
        &self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let mut all = (*self.0).clone();
        all.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        Self(Arc::new(all))
    }

    /// This overlay without the given variables.
    #[must_use]
    pub fn without<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = (*self.0).clone();
        for name in names {
            all.remove(OsStr::new(name));
        }
        Self(Arc::new(all))
    }

    /// The variables that `base` does not have, or has with another value.
    #[must_use]
    pub fn beyond(&self, base: &Self) -> Self {
        let own = |(name, value): &(&OsString, &OsString)| base.0.get(*name) != Some(*value);
        let own = self.0.iter().filter(own);
        Self(Arc::new(own.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }

    /// All variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for EnvOverlay {
    /// Names only: values may be keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for EnvOverlay {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(Arc::new(
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        ))
    }
}
