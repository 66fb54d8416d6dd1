//! The source of the gate's rules while agents run.

use std::path::Path;

use super::rule::RuleSet;

/// The configured rules, which may change at any time. Called before every decision, so it must be
/// nearly free; it may wait for the disk.
pub trait RuleSource: Send {
    /// Returns all configured rules if they changed since the last call. Unreadable rules are no
    /// change: the source reports them to the user.
    fn changed(&mut self) -> Option<RuleSet>;

    /// Is notified of allow rules that the user's answer added to this file.
    fn wrote(&mut self, file: &Path, rules: &[String]);

    /// Receives the part of a change that waits for the next start: new allow rules, and ask and
    /// deny rules removed from the files.
    fn deferred(&mut self, rules: &RuleSet);
}
