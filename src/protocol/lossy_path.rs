//! Paths in frames and files, which are UTF-8 text: bytes that are not become `\u{fffd}`.
//!
//! serde itself refuses such a path, and one refused field would lose the whole frame or line. Each
//! path of a type that is serialized goes through here: `#[serde(with = "lossy_path")]`, and for
//! options and lists their own module.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serializer};

/// Whether `stored`, which was written and read again, is `path`.
#[must_use]
pub fn is_same(stored: &Path, path: &Path) -> bool {
    stored == path || stored.as_os_str() == path.to_string_lossy().as_ref()
}

/// Writes a path.
///
/// # Errors
/// Only those of the format.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Reads a path.
///
/// # Errors
/// When there is no string.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    PathBuf::deserialize(deserializer)
}

/// The same for a path that may be absent.
pub mod option {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a path, if there is one.
    ///
    /// # Errors
    /// Only those of the format.
    // serde hands over what it has: a reference to the option.
    #[allow(clippy::ref_option)]
    pub fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
    }

    /// Reads a path, if there is one.
    ///
    /// # Errors
    /// When there is something else than a string.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Option::deserialize(deserializer)
    }
}

/// The same for a list of paths.
pub mod list {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the paths.
    ///
    /// # Errors
    /// Only those of the format.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
    }

    /// Reads the paths.
    ///
    /// # Errors
    /// When there is something else than a list of strings.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        Vec::deserialize(deserializer)
    }
}
