//! Permission questions and their answers, as they travel between an agent and the person.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::access::{Access, Target};
use super::ids::{AgentPath, QuestionId, ToolUseId};
use super::lossy_path;
use super::printable::printable_path;

/// How freely tools may act. Named as on the command line.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
#[value(rename_all = "camelCase")]
pub enum Mode {
    /// Reading is free, everything else is asked.
    #[default]
    Default,
    /// Edits inside the working directories run without asking.
    AcceptEdits,
    /// Nothing may change: explore and plan.
    Plan,
    /// What no rule allows is denied without asking.
    DontAsk,
    /// Everything runs but what a rule denies.
    BypassPermissions,
}

impl Mode {
    /// The name as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::BypassPermissions => "bypassPermissions",
        }
    }
}

/// Bytes of a call that a question can show, its preview included. Whoever makes a preview may stop
/// behind them: a call that is larger cannot be allowed on the screen.
pub const MAX_SHOWN: usize = 1024 * 1024;

/// One tool call that waits for a person's word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub id: QuestionId,
    /// Who asks.
    pub path: AgentPath,
    /// The asker's name as the screen shows it, such as `main` or `explore-2`.
    pub agent: String,
    pub tool_use_id: ToolUseId,
    pub tool: String,
    /// The call's whole input.
    pub input: Value,
    pub access: Access,
    /// Where the call would act.
    #[serde(with = "lossy_path")]
    pub cwd: PathBuf,
    /// Why it is asked: the mode, or the rule and its file, or "no rule allows psql".
    pub reason: String,
    /// What is special about it, such as a path outside the working directories; empty as a rule.
    pub warnings: Vec<String>,
    /// What "for this session" and "always" would allow, as rules; empty when no safe rule covers the call.
    pub rules: Vec<String>,
    /// A diff or other text that shows what would happen.
    pub preview: Option<String>,
}

impl Question {
    /// The first file or folder that it is about, where every link leads.
    #[must_use]
    pub fn place(&self) -> Option<&Path> {
        let first = self.targets().first()?;
        Some(first.resolved.as_deref().unwrap_or(&first.written))
    }

    /// All that has to be known for an answer besides the call itself: the reason, where links
    /// lead, and the warnings.
    #[must_use]
    pub fn explanation(&self) -> String {
        let links = self.targets().iter().filter_map(|target| match &target.resolved {
            None => Some(format!("where {} leads cannot be told", printable_path(&target.written))),
            Some(_) => {
                let (written, leads) = (&target.written, target.detour()?);
                Some(format!("{} leads to {}", printable_path(written), printable_path(leads)))
            }
        });
        let parts = std::iter::once(self.reason.clone()).chain(links);
        parts.chain(self.warnings.iter().cloned()).collect::<Vec<_>>().join("; ")
    }

    fn targets(&self) -> &[Target] {
        match &self.access {
            Access::Read { paths } | Access::Write { paths } => paths,
            _ => &[],
        }
    }
}

/// A person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Yes, this one call.
    Once,
    /// Yes, and the asker may do the like until it ends.
    Session,
    /// Yes, and the rules are written to the project's configuration.
    Always { rules: Vec<String>, file: RuleFile },
    /// Yes, as a program says it.
    Allowed(Box<Allowance>),
    /// No. The reason, if any, is told to the model.
    No { reason: Option<String> },
    /// No, as a program says it: why, in words that tell who says so.
    Denied { reason: String },
    /// The same, and the turn stops before its agents do anything more.
    Stop { reason: String },
}

/// What a program says with its yes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// What the call runs with instead of its own input.
    pub input: Option<Value>,
    /// Allow rules for the asker until it ends.
    pub session: Vec<String>,
    /// Allow rules to write down.
    pub written: Vec<(RuleFile, Vec<String>)>,
}

/// Where an "always" rule is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleFile {
    /// `.caliban/config.local.toml`: this person, this project.
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
        let target = |written: &str, resolved: Option<&str>| Target {
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
            reason: "no rule allows it".to_owned(),
            warnings: vec!["it is protected".to_owned()],
            rules: Vec::new(),
            preview: None,
        };
        assert_eq!(
            question.explanation(),
            "no rule allows it; /p/docs/a\\u{a}b leads to /etc/\\u{202e}x; where /p/circle\\u{1b}[8m leads \
             cannot be told; it is protected"
        );
    }
}
