//! What a hook listens for: the names of tools, of agents, or of causes.

use std::fmt;

use fancy_regex::Regex;

/// Which names a hook is for. Written as in settings files: nothing or `*` for all, one name,
/// several with `|` between them, or else a regular expression that is looked for anywhere in the
/// name.
#[derive(Clone)]
pub struct Matcher {
    text: String,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    All,
    Names(Vec<String>),
    Pattern(Regex),
}

impl Matcher {
    /// Reads a matcher. The error continues a sentence that starts with its key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|' | ' ');
        let kind = if matches!(text, "" | "*") {
            Kind::All
        } else if text.chars().all(plain) {
            Kind::Names(text.split('|').map(|name| name.trim().to_owned()).collect())
        } else {
            let pattern = Regex::new(text).map_err(|error| {
                format!(
                    "must be a name, names with | between them, * or a regular expression: {error}"
                )
            })?;
            Kind::Pattern(pattern)
        };
        Ok(Self { text: text.to_owned(), kind })
    }

    /// Whether one of the names of a thing is meant.
    pub fn matches(&self, names: &[&str]) -> bool {
        match &self.kind {
            Kind::All => true,
            Kind::Names(own) => own.iter().any(|own| names.contains(&own.as_str())),
            // An expression that gives up half-way must not be what switches a guard off.
            Kind::Pattern(regex) => names.iter().any(|name| regex.is_match(name).unwrap_or(true)),
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
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
