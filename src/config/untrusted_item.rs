//! Project settings that run code or widen permissions, ignored until the user trusts them.

use std::path::Path;

use super::error::Origin;
use crate::protocol::{certain_columns, is_seen};

/// A hook, server, rule or setting that needs trust.
#[derive(Clone, Debug, PartialEq)]
pub struct UntrustedItem {
    /// Description in one line for the user: its name, then `: ` and the rest, as in `hook
    /// PreToolUse: ./lint.sh`. Items that do different things must have different lines, because
    /// the line is what the user accepts.
    pub what: String,
    /// The file and line of the item.
    pub origin: Origin,
}

impl UntrustedItem {
    /// An allow rule in this file.
    pub fn allow_rule(rule: &str, file: &Path) -> Self {
        Self {
            what: one_line(&format!("allow rule {rule}"), None),
            origin: Origin::File { path: file.to_owned(), line: 1 },
        }
    }

    /// The full text of a definition that replaces a user's or built-in agent of the same name.
    pub fn replacing_agent(name: &str, whose: &str, text: &str, file: &Path) -> Self {
        Self {
            what: format!("agent {name} in place of {whose}: {}", one_line(text.trim_end(), None)),
            origin: Origin::File { path: file.to_owned(), line: 1 },
        }
    }

    /// Whether the item is a hook.
    pub fn is_hook(&self) -> bool {
        self.what.starts_with("hook ")
    }

    /// Returns the name, without the part that may be long or secret: `hook PreToolUse`.
    pub fn name(&self) -> &str {
        self.what.split_once(": ").map_or(self.what.as_str(), |(name, _)| name)
    }
}

/// Returns the text on one line. Invisible characters, and a character that starts `end`, become
/// `\u{…}`. Different texts stay different: a backslash that could be mistaken for the start of an
/// escape is doubled.
pub(super) fn one_line(text: &str, end: Option<&str>) -> String {
    let shows = |c: char| {
        matches!(c, ' ' | '"' | '\'') || (c.escape_debug().count() == 1 && !c.is_whitespace())
    };
    let mut line = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let behind = rest.trim_start_matches('\\');
        let slashes = &rest[..rest.len() - behind.len()];
        let Some(next) = behind.chars().next() else { return line + slashes };
        let is_seen = is_seen(line.chars().next_back(), next, None);
        let stays = is_seen
            && certain_columns(next).is_some()
            && shows(next)
            && !end.is_some_and(|end| behind.starts_with(end));
        line.push_str(slashes);
        if !stays || behind.starts_with("u{") {
            line.push_str(slashes);
        }
        match stays {
            true => line.push(next),
            false => line.extend(next.escape_unicode()),
        }
        rest = &behind[next.len_utf8()..];
    }
    line
}
