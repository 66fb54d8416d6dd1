//! What a project brings that runs code or widens rights, and that does nothing until the person accepts it.

use std::path::Path;

use super::error::Origin;
use crate::protocol::is_seen;

/// One such thing: a hook, a server, a rule, a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Inert {
    /// What it is and does, in one line for the person: its name, then `: ` and the rest, as in
    /// `hook PreToolUse: ./lint.sh`. Two things that do something different have different lines,
    /// because the line is what the person accepts.
    pub what: String,
    /// The file and the line where it stands.
    pub origin: Origin,
}

impl Inert {
    /// A rule for what runs without a question, in this file.
    #[must_use]
    pub fn allow_rule(rule: &str, file: &Path) -> Self {
        Self {
            what: one_line(&format!("allow rule {rule}"), None),
            origin: Origin::File { path: file.to_owned(), line: 1 },
        }
    }

    /// The whole text of a definition that takes the place of the user's or a built-in agent of its name.
    #[must_use]
    pub fn replacing_agent(name: &str, whose: &str, text: &str, file: &Path) -> Self {
        Self {
            what: format!("agent {name} in place of {whose}: {}", one_line(text.trim_end(), None)),
            origin: Origin::File { path: file.to_owned(), line: 1 },
        }
    }

    /// Whether it is a hook.
    #[must_use]
    pub fn is_hook(&self) -> bool {
        self.what.starts_with("hook ")
    }

    /// What it is, without what may be long or secret: `hook PreToolUse`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.what.split_once(": ").map_or(self.what.as_str(), |(name, _)| name)
    }
}

/// A text as it stands, on one line: a character that does not show, or with which `end` begins,
/// becomes `\u{…}`. Different texts stay different: a backslash that could be taken for the
/// beginning of such a one is doubled.
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
        let stays = is_seen && shows(next) && !end.is_some_and(|end| behind.starts_with(end));
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
