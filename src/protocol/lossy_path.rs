//! Paths in frames and files, which are UTF-8 text: other bytes become `\u{fffd}`.
//!
//! serde itself refuses such a path, and one refused field would lose the whole frame or line. Each
//! path of a serialized type goes through here: `#[serde(with = "lossy_path")]`, with submodules
//! for options and lists.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serializer};

/// Whether `stored`, a path that was written and read back, is `path`.
pub fn is_same(stored: &Path, path: &Path) -> bool {
    stored == path || stored.as_os_str() == path.to_string_lossy().as_ref()
}

/// Writes a path.
///
/// # Errors
///
/// Only those of the format.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Reads a path.
///
/// # Errors
///
/// When the value is not a string.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    PathBuf::deserialize(deserializer)
}

/// For a path that may be absent.
pub mod option {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a path, if any.
    ///
    /// # Errors
    ///
    /// Only those of the format.
    // serde passes what it has: a reference to the option.
    #[allow(clippy::ref_option)]
    pub fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
    }

    /// Reads a path, if any.
    ///
    /// # Errors
    ///
    /// When the value is neither null nor a string.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Option::deserialize(deserializer)
    }
}

/// For a list of paths.
pub mod list {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the paths.
    ///
    /// # Errors
    ///
    /// Only those of the format.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
    }

    /// Reads the paths.
    ///
    /// # Errors
    ///
    /// When the value is not a list of strings.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        Vec::deserialize(deserializer)
    }
}
