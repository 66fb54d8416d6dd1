//! Permission questions and their answers, as they travel between an agent and the user.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::access::{Access, PathTarget};
use super::ids::{AgentPath, QuestionId, ToolUseId};
use super::lossy_path;
use super::printable::printable_path;

/// Maximum bytes of a call that a question can show, its preview included. Previews may be cut
/// above this: a larger call cannot be allowed on the screen.
pub const MAX_SHOWN_BYTES: usize = 1024 * 1024;

/// A tool call that waits for the user's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub id: QuestionId,
    /// The agent that asks.
    pub path: AgentPath,
    /// The agent's name on the screen, such as `main` or `explore-2`.
    pub agent: String,
    pub tool_use_id: ToolUseId,
    pub tool: String,
    /// The call's whole input.
    pub input: Value,
    pub access: Access,
    /// The folder in which the call would act.
    #[serde(with = "lossy_path")]
    pub cwd: PathBuf,
    /// The asker's own worktree, if `cwd` lies in it with all links followed.
    #[serde(default, with = "lossy_path::option")]
    pub worktree: Option<PathBuf>,
    /// The reason for asking: the mode, or the rule and its file, or "no rule allows psql".
    pub reason: String,
    /// Anything special about the call, such as a path outside the working directories; usually empty.
    pub warnings: Vec<String>,
    /// The rules behind "for this session" and "always"; empty if no safe rule covers the call.
    pub rules: Vec<String>,
    /// Whether these rules are worth writing down: none names the asker's own worktree, which is gone with it.
    #[serde(default = "always")]
    pub offers_always: bool,
    /// A diff or other text that shows the effect of the call.
    pub preview: Option<String>,
}

fn always() -> bool {
    true
}

impl Question {
    /// Returns the first file or folder that it is about, with all links resolved.
    pub fn place(&self) -> Option<&Path> {
        let first = self.targets().first()?;
        Some(first.resolved.as_deref().unwrap_or(&first.written))
    }

    /// Returns everything needed to answer besides the call itself: the reason, the targets of
    /// links, and the warnings.
    pub fn explanation(&self) -> String {
        let links = self.targets().iter().filter_map(|target| match &target.resolved {
            None => Some(format!("where {} leads is unknown", printable_path(&target.written))),
            Some(_) => {
                let (written, leads) = (&target.written, target.link_target()?);
                Some(format!("{} leads to {}", printable_path(written), printable_path(leads)))
            }
        });
        let parts = std::iter::once(self.reason.clone()).chain(links);
        parts.chain(self.warnings.iter().cloned()).collect::<Vec<_>>().join("; ")
    }

    fn targets(&self) -> &[PathTarget] {
        match &self.access {
            Access::Read { paths } | Access::Write { paths } => paths,
            _ => &[],
        }
    }
}

/// The user's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Yes, for this call only.
    Once,
    /// Yes, and the agent may make similar calls until it ends.
    Session,
    /// Yes, and the rules are written to the project's configuration.
    Always { rules: Vec<String>, file: RuleFile },
    /// Yes, from a program.
    Allowed(Box<Allowance>),
    /// No. The reason, if any, goes to the model.
    No { reason: Option<String> },
    /// No, from a program: the reason, in words that say who refused.
    Denied { reason: String },
    /// The same, and the turn stops before its agents do anything more.
    Stop { reason: String },
}

/// Details of a program's yes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Replaces the call's own input.
    pub input: Option<Value>,
    /// Allow rules for the agent until it ends.
    pub session: Vec<String>,
    /// Allow rules to write down.
    pub written: Vec<(RuleFile, Vec<String>)>,
}

/// The file that an "always" rule is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleFile {
    /// `.caliban/config.local.toml`: this user, this project.
    #[default]
    Local,
    /// `.caliban/config.toml`: everyone who works on the project.
    Shared,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_detour_of_a_path_is_told_on_one_line_that_hides_nothing() {
        let target = |written: &str, resolved: Option<&str>| PathTarget {
            written: written.into(),
            resolved: resolved.map(PathBuf::from),
        };
        let paths = vec![
            target("/p/plain", Some("/p/plain")),
            // The link is the folder.
            target("/p/docs/a\nb", Some("/etc/\u{202e}x")),
            target("/p/circle\u{1b}[8m", None),
        ];
        let question = Question {
            id: QuestionId(1),
            path: AgentPath::root(),
            agent: "main".to_owned(),
            tool_use_id: ToolUseId::new("call"),
            tool: "Write".to_owned(),
            input: Value::Null,
            access: Access::Write { paths },
            cwd: "/p".into(),
            worktree: None,
            reason: "no rule allows it".to_owned(),
            warnings: vec!["it is protected".to_owned()],
            rules: Vec::new(),
            offers_always: true,
            preview: None,
        };
        assert_eq!(
            question.explanation(),
            "no rule allows it; /p/docs/a\\u{a}b leads to /etc/\\u{202e}x; where /p/circle\\u{1b}[8m leads \
             is unknown; it is protected"
        );
    }
}
