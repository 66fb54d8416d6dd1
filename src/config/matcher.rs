//! Hook matchers: which tools, agents or causes a hook is for.

use std::fmt;

use fancy_regex::Regex;
use serde::de::{Deserialize, Deserializer, Error as _};

/// The names that a hook is for, written as in settings files: nothing or `*` for all, one name,
/// several separated by `|`, or else a regular expression that is searched for anywhere in the
/// name.
#[derive(Clone)]
pub struct Matcher {
    text: String,
    kind: MatcherKind,
}

#[derive(Clone)]
enum MatcherKind {
    All,
    Names(Vec<String>),
    Pattern(Regex),
}

impl Matcher {
    /// Parses a matcher. The error continues a sentence that starts with its key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|' | ' ');
        let kind = if matches!(text, "" | "*") {
            MatcherKind::All
        } else if text.chars().all(plain) {
            MatcherKind::Names(text.split('|').map(|name| name.trim().to_owned()).collect())
        } else {
            let pattern = Regex::new(text).map_err(|error| {
                format!(
                    "must be a name, names with | between them, * or a regular expression: {error}"
                )
            })?;
            MatcherKind::Pattern(pattern)
        };
        Ok(Self { text: text.to_owned(), kind })
    }

    /// Whether any of these names matches.
    pub fn matches(&self, names: &[&str]) -> bool {
        match &self.kind {
            MatcherKind::All => true,
            MatcherKind::Names(own) => own.iter().any(|own| names.contains(&own.as_str())),
            // A regex that hits its limits must not disable a guard.
            MatcherKind::Pattern(regex) => {
                names.iter().any(|name| regex.is_match(name).unwrap_or(true))
            }
        }
    }

    /// Returns the matcher as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Default for Matcher {
    /// Matches everything.
    fn default() -> Self {
        Self { text: String::new(), kind: MatcherKind::All }
    }
}

impl<'de> Deserialize<'de> for Matcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matcher({:?})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matchers_are_all_one_name_several_or_an_expression() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("", &["Bash", "x y"], &[]),
            (" * ", &["Bash"], &[]),
            ("Bash", &["Bash"], &["BashOutput", "bash", "KillBash"]),
            ("Bash|Edit", &["Bash", "Edit"], &["Write", "MultiEdit", "Bash|Edit"]),
            ("Edit | Write", &["Edit", "Write"], &["Read"]),
            ("general-purpose", &["general-purpose"], &["general"]),
            ("mcp__memory__.*", &["mcp__memory__get"], &["mcp__files__get"]),
            ("Edit.?", &["Edit", "MultiEdit"], &["Write"]),
            ("^(?!mcp__)", &["Bash"], &["mcp__memory__get"]),
            ("^(Read|Grep)$", &["Read", "Grep"], &["Reader"]),
        ];
        for (text, yes, no) in table {
            let matcher = Matcher::parse(text).unwrap();
            for name in *yes {
                assert!(matcher.matches(&[name]), "{text:?} is for {name}");
            }
            for name in *no {
                assert!(!matcher.matches(&[name]), "{text:?} is not for {name}");
            }
        }
        assert!(Matcher::parse("Task").unwrap().matches(&["AgentTool", "Agent", "Task"]));
    }

    #[test]
    fn a_broken_expression_says_what_is_allowed() {
        let why = Matcher::parse("Bash(").unwrap_err();
        assert!(
            why.starts_with("must be a name, names with | between them, * or a regular"),
            "{why}"
        );
    }
}
