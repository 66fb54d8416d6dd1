//! Where a rule comes from, and what that says about it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::permission::places::Places;

/// Where a rule comes from, so that the user can find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOrigin {
    /// A file of the project.
    File(PathBuf),
    /// A file of the user, for all projects.
    UserFile(PathBuf),
    /// The user's own skills folder; its texts name files beside them.
    Skills,
    /// A command-line option, such as `--allowed-tools`.
    Flag(String),
    /// The user's answer in this session.
    Session,
}

impl RuleOrigin {
    /// Formats it for messages; files of the project by their short name.
    pub(super) fn show(&self, places: &Places) -> String {
        match self {
            Self::File(path) | Self::UserFile(path) => {
                format!("in {}", places.show_in_project(path))
            }
            Self::Skills => "from your skills folder".to_owned(),
            Self::Flag(name) => format!("from {name}"),
            Self::Session => "granted in this session".to_owned(),
        }
    }
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(&Places::default()))
    }
}

/// The list a rule belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleList {
    Allow,
    Ask,
    Deny,
}

/// The folders that relative and `~` patterns of a rule start from.
#[derive(Clone, Copy, Debug)]
pub struct RuleBase<'a> {
    pub project: &'a Path,
    pub home: Option<&'a Path>,
}
