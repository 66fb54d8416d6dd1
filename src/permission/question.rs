//! A call that waits for a person's word, and what can be wrong with an answer.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use super::gate::Verdict;
use super::judge::{Advice, Call};
use super::rule::RuleError;
use super::standing::Standing;
use crate::protocol::{Access, ToolUseId};

/// An answer that cannot be carried out. The question stays open.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(
        "with these rules the call would still not run: {why}; change them, or answer otherwise"
    )]
    NotCovered { why: String },
    #[error("cannot write {}: {source}; mend that, or allow it for this session only", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot add a rule to {}: {problem}; mend the file, or allow it for this session only", path.display())]
    Config { path: PathBuf, problem: String },
}

/// A question that is open.
pub(super) struct Waiting {
    pub asked: Arc<Asked>,
    pub reply: oneshot::Sender<Verdict>,
}

/// All that is needed to judge the call again.
pub(super) struct Asked {
    pub standing: Standing,
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
    pub fn new(call: &Call<'_>, rules: Vec<String>, standing: Standing) -> Self {
        Self {
            standing,
            rules,
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
            preview: None,
            advice: self.advice.clone(),
        }
    }
}
