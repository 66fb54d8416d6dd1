//! The environment as data: read once at start, then passed on explicitly.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;

/// Counts the programs and agents above a process that an agent starts.
pub const DEPTH_VARIABLE: &str = "CALIBAN_DEPTH";

/// Variables that a command line sets for itself, besides a single lower-case letter. Commands get none of
/// them from outside, so that no program sees what the line sets.
pub const LINE_VARIABLES: [&str; 7] = ["arg", "dir", "file", "item", "line", "name", "word"];

/// Variables by which the loader finds libraries for every program: folders of libraries, or libraries themselves.
const LIBRARY_VARIABLES: [&str; 11] = [
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_FRAMEWORK_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "DYLD_FALLBACK_FRAMEWORK_PATH",
    "DYLD_VERSIONED_LIBRARY_PATH",
    "DYLD_VERSIONED_FRAMEWORK_PATH",
    // Text conversions, which git loads for commits in other encodings.
    "GCONV_PATH",
];

/// The environment variables of one session or agent. Cheap to clone; changes make a new overlay.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EnvOverlay(Arc<BTreeMap<OsString, OsString>>);

impl EnvOverlay {
    /// Returns the variable, if it is set and valid UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_os(name)?.to_str()
    }

    /// Returns the variable as the system has it.
    pub fn get_os(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns the variable; an empty one counts as absent.
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Returns the folders of `PATH`, in order; an empty or relative one counts from where a program runs.
    pub fn program_folders(&self) -> impl Iterator<Item = &Path> {
        let path = self.get_os("PATH").map(OsStr::as_bytes).unwrap_or_default();
        path.split(|byte| *byte == b':').map(OsStr::from_bytes).map(Path::new)
    }

    /// Returns the absolute paths by which the loader finds libraries for every program: folders and files.
    pub fn library_paths(&self) -> impl Iterator<Item = &Path> {
        let values = LIBRARY_VARIABLES.iter().flat_map(|name| self.libraries(name));
        values.map(OsStr::from_bytes).map(Path::new).filter(|path| path.is_absolute())
    }

    /// Returns this overlay with only those loader paths that `keep` accepts, and without names
    /// that the loader looks up in library folders.
    pub fn with_library_paths(&self, keep: impl Fn(&Path) -> bool) -> Self {
        let kept = LIBRARY_VARIABLES.iter().filter_map(|name| {
            let is_name =
                |part: &[u8]| !part.is_empty() && !part.contains(&b'/') && !name.ends_with("_PATH");
            let keep = |part: &&[u8]| is_name(part) || keep(Path::new(OsStr::from_bytes(part)));
            let parts: Vec<&[u8]> = self.libraries(name).filter(keep).collect();
            (!parts.is_empty()).then(|| (*name, OsString::from_vec(parts.join(&b':'))))
        });
        self.without(LIBRARY_VARIABLES).with(kept)
    }

    /// Returns the paths and names in a variable of the loader.
    fn libraries(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let value = self.get_os(name).map(OsStr::as_bytes);
        // Each loader has its own separators.
        let ends_at_blanks = name == "LD_PRELOAD";
        let is_end =
            move |byte: &u8| b":;\n".contains(byte) || ends_at_blanks && byte.is_ascii_whitespace();
        value.into_iter().flat_map(move |value| value.split(is_end))
    }

    /// Returns this overlay with the given variables set on top.
    pub fn with<N: Into<OsString>, V: Into<OsString>>(
        &self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let mut all = (*self.0).clone();
        all.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        Self(Arc::new(all))
    }

    /// Returns this overlay without the given variables.
    pub fn without<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = (*self.0).clone();
        for name in names {
            all.remove(OsStr::new(name));
        }
        Self(Arc::new(all))
    }

    /// Returns the variables that `base` does not have, or has with another value.
    pub fn difference(&self, base: &Self) -> Self {
        let own = |(name, value): &(&OsString, &OsString)| base.0.get(*name) != Some(*value);
        let own = self.0.iter().filter(own);
        Self(Arc::new(own.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }

    /// Returns all variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for EnvOverlay {
    /// Prints names only: values may be keys.
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
