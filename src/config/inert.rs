//! What a project brings that runs code or widens rights, and that does nothing until the person accepts it.

use std::path::Path;

use super::error::Origin;

/// One such thing: a hook, a server, a rule, a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Inert {
    /// What it is and does, in one line for the person: its name, then `: ` and the rest, as in
    /// `hook PreToolUse: ./lint.sh`. Two things that do something different have different lines, because the line is
    /// what the person accepts.
    pub what: String,
    /// The file and the line where it stands.
    pub origin: Origin,
}

impl Inert {
    /// A rule for what runs without a question, in this file.
    #[must_use]
    pub fn allow_rule(rule: &str, file: &Path) -> Self {
        Self {
            what: format!("allow rule {rule}"),
            origin: Origin::File { path: file.to_owned(), line: 1 },
        }
    }

    /// What it is, without what may be long or secret: `hook PreToolUse`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.what.split_once(": ").map_or(self.what.as_str(), |(name, _)| name)
    }
}
