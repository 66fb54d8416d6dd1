//! The system prompt, assembled once per agent and then unchanged, so that the provider's cache
//! holds.

use std::fmt::Write as _;
use std::path::Path;

use crate::disk::branch;

/// The environment section of a system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentInfo {
    pub cwd: String,
    /// The day, such as `2026-11-20`, without the time, so that the prompt stays the same across
    /// starts.
    pub date: String,
    /// Such as `linux (x86_64)`.
    pub platform: String,
    /// The checked-out branch, or the short commit; absent outside a repository.
    pub branch: Option<String>,
}

impl EnvironmentInfo {
    /// Inspects the working directory. `date` and `platform` are as in the fields.
    pub fn gather(cwd: &Path, date: &str, platform: &str) -> Self {
        Self {
            cwd: cwd.display().to_string(),
            date: date.to_owned(),
            platform: platform.to_owned(),
            branch: branch(cwd),
        }
    }
}

/// The parts of a system prompt, in order.
#[derive(Clone, Copy, Debug)]
pub struct SystemPrompt<'a> {
    /// The agent's role and rules.
    pub base: &'a str,
    /// The user's addition.
    pub append: Option<&'a str>,
    pub environment: &'a EnvironmentInfo,
    /// The project's own instructions; empty when there are none.
    pub memory: &'a str,
}

impl SystemPrompt<'_> {
    /// The whole text.
    pub fn assemble(&self) -> String {
        let mut text = self.base.trim().to_owned();
        if let Some(append) = self.append {
            text.push_str("\n\n");
            text.push_str(append.trim());
        }
        text.push_str("\n\n# Environment\n");
        let EnvironmentInfo { cwd, date, platform, branch } = self.environment;
        // Writing to a String cannot fail.
        let _ = write!(text, "Working directory: {cwd}\nDate: {date}\nPlatform: {platform}");
        if let Some(branch) = branch {
            let _ = write!(text, "\nGit branch: {branch}");
        }
        if !self.memory.is_empty() {
            text.push_str("\n\n");
            text.push_str(self.memory);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_stand_in_order_and_absent_ones_leave_nothing() {
        let environment = EnvironmentInfo {
            cwd: "/p".to_owned(),
            date: "2026-01-02".to_owned(),
            platform: "linux (x86_64)".to_owned(),
            branch: None,
        };
        let parts = SystemPrompt {
            base: "You work.\n",
            append: Some("Be brief."),
            environment: &environment,
            memory: "",
        };
        assert_eq!(
            parts.assemble(),
            "You work.\n\nBe brief.\n\n# Environment\nWorking directory: /p\nDate: 2026-01-02\nPlatform: linux (x86_64)"
        );
    }
}
