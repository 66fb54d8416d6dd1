//! What a project brings that runs code or widens rights, and that does nothing until the person trusts the project.

use super::error::Origin;

/// One such thing: a hook, a server, a rule, a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Inert {
    /// What it is and does, in one line for the person: `hook PreToolUse: ./lint.sh`. Two things that do something
    /// different have different lines.
    pub what: String,
    /// The file and the line where it stands.
    pub origin: Origin,
}
