//! A call waiting for the user's answer, and errors of an answer.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use super::agent_permissions::AgentPermissions;
use super::call::{Call, HookAdvice};
use super::judge::Judgement;
use super::path::PathTarget;
use super::rule::RuleError;
use crate::config::lock::LockError;
use crate::protocol::{Access, Denial, PermissionMode, ToolUseId, printable_path};

/// An answer that cannot be carried out. The question stays open.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(
        "even with these rules the call would not run: {why}; change them or choose another answer"
    )]
    NotCovered { why: String },
    #[error(
        "cannot write {}: {source}; fix that, or allow the call for this session only",
        printable_path(path)
    )]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "cannot add a rule to {}: {problem}; fix the file, or allow the call for this session only",
        printable_path(path)
    )]
    Config { path: PathBuf, problem: String },
    #[error("{0}, or allow the call for this session only")]
    Lock(#[from] LockError),
}

/// The answer to a question about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Rules or the mode allow it by now.
    Allowed,
    /// Approved by the user, or by a hook in the user's place.
    Approved(Approval),
    /// Approved with this input instead, which the gate must not deny, and in which a name that was
    /// asked about still leads where it did.
    Changed { input: Value, asked: Approval },
    /// Denied, with the reason for the model.
    Denied(Denial),
    /// The run was stopped before a decision.
    Cancelled,
}

impl Verdict {
    /// Whether the call runs.
    pub fn allows(&self) -> bool {
        !matches!(self, Self::Denied(_) | Self::Cancelled)
    }
}

/// An open question.
pub(super) struct QuestionEntry {
    pub asked: Arc<AskedCall>,
    /// The session's mode in which it is asked. A freer one does not answer it.
    pub mode: PermissionMode,
    pub reply: oneshot::Sender<Verdict>,
}

/// A question that the user answered with yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    reasons: Vec<String>,
    warnings: Vec<String>,
    targets: Vec<PathTarget>,
}

impl Approval {
    /// Approves what this judgement asks about.
    pub(super) fn from_judgement(judgement: &Judgement) -> Self {
        let Judgement { reasons, warnings, targets, .. } = judgement;
        Self { reasons: reasons.clone(), warnings: warnings.clone(), targets: targets.clone() }
    }

    /// Whether the user approved everything this judgement asks about. Rules that came with the
    /// answer can leave less to ask about; anything asked for another reason, such as a new rule,
    /// was not approved, and neither was another file that a name leads to by now.
    pub(super) fn covers(&self, judgement: &Judgement) -> bool {
        judgement.warnings == self.warnings
            && judgement.reasons.iter().all(|reason| self.reasons.contains(reason))
            && self.leads_to(&judgement.targets)
    }

    /// Whether names that both ask about lead to the same files.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.leads_to(&other.targets)
    }

    /// Whether the approved names still lead to the same files. A name that is new, because a glob
    /// matches it by now, must be that of a file itself.
    fn leads_to(&self, targets: &[PathTarget]) -> bool {
        let by_name = |target: &PathTarget| (target.written.clone(), target.resolved.clone());
        let approved: HashMap<_, _> = self.targets.iter().map(by_name).collect();
        let is_same = |target: &PathTarget| match approved.get(&target.written) {
            Some(resolved) => *resolved == target.resolved,
            None => target.resolved.as_deref() == Some(&*target.written),
        };
        targets.iter().all(is_same)
    }
}

/// A copy of the call, to judge it again.
pub(super) struct AskedCall {
    pub permissions: AgentPermissions,
    /// Valid once the user has said yes.
    pub approval: Approval,
    /// The rules that the question offered.
    pub rules: Vec<String>,
    id: ToolUseId,
    tool: String,
    input: Value,
    access: Access,
    cwd: PathBuf,
    advice: HookAdvice,
}

impl AskedCall {
    /// Copies the call, which this judgement asks about.
    pub fn new(call: &Call<'_>, judgement: &Judgement, permissions: AgentPermissions) -> Self {
        Self {
            permissions,
            approval: Approval::from_judgement(judgement),
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
