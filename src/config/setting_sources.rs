//! `--setting-sources`: which files of other programs are read.

use std::str::FromStr;

/// The files that are read besides our own; all of them by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingSources {
    /// The `.claude` and `.agents` folders in the user's home.
    pub user: bool,
    /// The project's `AGENTS.md`, `CLAUDE.md`, `.mcp.json`, `.claude` and `.agents`, except the local files.
    pub project: bool,
    /// The user's own files in a project: `CLAUDE.local.md`, `.claude/settings.local.json`.
    pub local: bool,
}

impl Default for SettingSources {
    fn default() -> Self {
        Self { user: true, project: true, local: true }
    }
}

impl FromStr for SettingSources {
    type Err = String;

    /// Parses comma-separated names; a blank text selects none.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut sources = Self { user: false, project: false, local: false };
        if text.trim().is_empty() {
            return Ok(sources);
        }
        for name in text.split(',').map(str::trim) {
            match name {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                _ => {
                    let name = name.escape_debug();
                    return Err(format!(
                        "`{name}` must be user, project or local; \"\" reads none of them"
                    ));
                }
            }
        }
        Ok(sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_between_commas_and_a_blank_text_is_none() {
        let of = |user, project, local| Ok(SettingSources { user, project, local });
        for (text, expected) in [
            ("", of(false, false, false)),
            (" ", of(false, false, false)),
            ("user", of(true, false, false)),
            ("local, project", of(false, true, true)),
            ("user,project,local", Ok(SettingSources::default())),
        ] {
            assert_eq!(text.parse(), expected, "{text:?}");
        }
        for text in ["managed", "user,", "User"] {
            let error = text.parse::<SettingSources>().unwrap_err();
            assert!(error.ends_with("must be user, project or local; \"\" reads none of them"));
        }
    }
}
