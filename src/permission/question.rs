//! A call that waits for a person's word, and what can be wrong with an answer.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use super::gate::Verdict;
use super::judge::{Advice, Call, Judgement};
use super::rule::RuleError;
use super::standing::Standing;
use crate::protocol::{Access, ToolUseId, printable_path};

/// An answer that cannot be carried out. The question stays open.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(
        "with these rules the call would still not run: {why}; change them, or answer otherwise"
    )]
    NotCovered { why: String },
    #[error(
        "cannot write {}: {source}; mend that, or allow it for this session only",
        printable_path(path)
    )]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "cannot add a rule to {}: {problem}; mend the file, or allow it for this session only",
        printable_path(path)
    )]
    Config { path: PathBuf, problem: String },
}

/// A question that is open.
pub(super) struct Waiting {
    pub asked: Arc<Asked>,
    pub reply: oneshot::Sender<Verdict>,
}

/// A question that the user answered with yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    reasons: Vec<String>,
    warnings: Vec<String>,
}

impl Approval {
    /// Approves what this judgement asks about.
    pub(super) fn of(judgement: &Judgement) -> Self {
        let Judgement { reasons, warnings, .. } = judgement;
        Self { reasons: reasons.clone(), warnings: warnings.clone() }
    }

    /// Whether the user said yes to all that this judgement asks about. Rules that came with the
    /// answer can leave less to ask about; what is asked about for another reason, such as a new
    /// rule, was not approved.
    pub(super) fn covers(&self, judgement: &Judgement) -> bool {
        judgement.warnings == self.warnings
            && judgement.reasons.iter().all(|reason| self.reasons.contains(reason))
    }
}

/// All that is needed to judge the call again.
pub(super) struct Asked {
    pub standing: Standing,
    /// Holds once the user has said yes.
    pub approval: Approval,
    /// The rules that the question offered.
    pub rules: Vec<String>,
    id: ToolUseId,
    tool: String,
    input: Value,
    access: Access,
    cwd: PathBuf,
    advice: Advice,
}

impl Asked {
    /// Keeps the call, which is asked about because of this judgement.
    pub fn new(call: &Call<'_>, judgement: &Judgement, standing: Standing) -> Self {
        Self {
            standing,
            approval: Approval::of(judgement),
            rules: judgement.suggestions.clone(),
            id: call.id.clone(),
            tool: call.tool.to_owned(),
            input: call.input.clone(),
            access: call.access.clone(),
            cwd: call.cwd.to_owned(),
            advice: call.advice.clone(),
        }
    }

    pub fn call(&self) -> Call<'_> {
        Call {
            id: &self.id,
            tool: &self.tool,
            input: &self.input,
            access: &self.access,
            cwd: &self.cwd,
            advice: self.advice.clone(),
        }
    }
}
