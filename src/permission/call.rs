//! A call as the judge gets it.

use std::path::Path;

use serde_json::Value;

use crate::protocol::{Access, ToolUseId};

/// A valid tool call that is about to run.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub id: &'a ToolUseId,
    pub tool: &'a str,
    pub input: &'a Value,
    /// Its effects, as reported by the tool.
    pub access: &'a Access,
    /// The agent's base directory.
    pub cwd: &'a Path,
    /// The hooks' decision on it.
    pub advice: HookAdvice,
}

/// The hooks' decision on a call. It ranks below the rules: deny rules and ask rules hold whatever hooks allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HookAdvice {
    /// None: rules and mode decide.
    #[default]
    None,
    /// It may run without a question.
    Allow,
    /// It needs approval.
    Ask { why: String },
}
