//! A tool call on its way from the model's answer to its result.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::call_order::CallOrder;
use super::run::AgentRun;
use crate::protocol::{Access, Span, ToolUseId};
use crate::tool::{InvalidInput, PreparedCall, SoftKind, Tool, ToolError};

/// The context of a call in a run.
#[derive(Clone, Copy)]
pub(super) struct CallContext<'a> {
    pub span: Span,
    pub run: &'a AgentRun<'a>,
    /// Ends all calls of the message.
    pub cancel: &'a CancellationToken,
    /// The order of the calls of the message.
    pub order: &'a CallOrder,
}

/// One call, as the model wrote it or as a hook or the user changed it.
#[derive(Clone)]
pub(super) struct ToolCall {
    pub id: ToolUseId,
    pub name: String,
    pub input: Value,
    /// The text of an input that is no JSON object; `parse_input` (`protocol/stream.rs`) found it.
    pub malformed: Option<String>,
    /// Where it starts: decided before any call of its message runs, whatever the others do
    /// meanwhile.
    pub directory: Arc<Path>,
    /// Its index in the message.
    pub order: usize,
}

/// A call whose input is valid.
pub(super) struct ValidCall {
    /// Under the tool's own name.
    pub call: ToolCall,
    pub tool: Arc<dyn Tool>,
    pub prepared: Box<dyn PreparedCall>,
    /// Everything that the call would touch, with links resolved as they were when it was checked.
    /// The gate judges this, and the tool gets it.
    pub access: Access,
}

/// The data of a call for the screen and the hooks, filled in while it runs.
#[derive(Default)]
pub(super) struct CallNotes {
    /// Absent if the call did not start.
    pub summary: OnceLock<String>,
    /// When it started to run, after every wait for an answer or for room.
    pub began: OnceLock<Instant>,
    /// Whether hooks on the batch will read `file`.
    pub wants_file: bool,
    /// The file of the call as the model wrote it.
    pub file: OnceLock<PathBuf>,
}

impl CallNotes {
    /// Keeps the file of a call, if hooks will read it.
    pub fn keep_file(&self, valid: &ValidCall) {
        if self.wants_file
            && let Some(file) = valid.file()
        {
            self.file.get_or_init(|| file.to_owned());
        }
    }
}

/// Levels of arrays and objects in an input. What a hook or a program makes of it must be readable:
/// an answer of more than 128 levels is not, and would leave the call undecided.
const MAX_DEPTH: usize = 100;

/// Whether the value has at most `levels` of arrays and objects.
fn is_shallow(value: &Value, levels: usize) -> bool {
    let fits = |inner: &Value| levels > 0 && is_shallow(inner, levels - 1);
    match value {
        Value::Array(values) => levels > 0 && values.iter().all(fits),
        Value::Object(fields) => levels > 0 && fields.values().all(fits),
        _ => true,
    }
}

impl ToolCall {
    /// Parses the model's input, and resolves what the call would touch now.
    pub fn prepare(self, tool: &Arc<dyn Tool>) -> Result<ValidCall, ToolError> {
        self.prepare_with(tool, "", |tool, input| tool.prepare(input))
    }

    /// Prepares the call by `prepare`. An error begins with `why`.
    fn prepare_with(
        self,
        tool: &Arc<dyn Tool>,
        why: &str,
        prepare: impl FnOnce(Arc<dyn Tool>, &Value) -> Result<Box<dyn PreparedCall>, InvalidInput>,
    ) -> Result<ValidCall, ToolError> {
        let invalid = |problem| ToolError::soft(SoftKind::InvalidInput, format!("{why}{problem}"));
        if !is_shallow(&self.input, MAX_DEPTH) {
            return Err(invalid(format!("the input is nested deeper than {MAX_DEPTH} levels")));
        }
        let prepared = prepare(tool.clone(), &self.input);
        let prepared = prepared.map_err(|problem| invalid(problem.to_string()))?;
        let access = prepared.access(&self.directory);
        let call = Self { name: tool.spec().name.clone(), ..self };
        Ok(ValidCall { call, tool: tool.clone(), prepared, access })
    }

    /// The input as the model wrote it, for the log.
    pub fn input_text(&self) -> String {
        self.malformed.clone().unwrap_or_else(|| self.input.to_string())
    }
}

impl ValidCall {
    /// The same call with the input of a hook or the user, or as it is with its paths resolved again.
    /// An error begins with `why`.
    pub fn renew(self, input: Option<Value>, why: &str) -> Result<Self, ToolError> {
        let Self { call, tool, prepared, .. } = self;
        let Some(input) = input else {
            let access = prepared.access(&call.directory);
            return Ok(Self { call, tool, prepared, access });
        };
        ToolCall { input, ..call }
            .prepare_with(&tool, why, |tool, input| tool.prepare_changed(input))
    }

    /// The only file or folder that the tool opens, as the call names it. Hooks read it.
    pub fn file(&self) -> Option<&Path> {
        match &self.access {
            Access::Read { paths } | Access::Write { paths } => match paths.as_slice() {
                [target] => Some(&target.written),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_input_may_be_nested_as_deep_as_the_answers_about_it_can_be_read() {
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(is_shallow(&nested(MAX_DEPTH), MAX_DEPTH));
        assert!(!is_shallow(&nested(MAX_DEPTH + 1), MAX_DEPTH));
        let answer = json!({ "hookSpecificOutput": { "updatedInput": nested(MAX_DEPTH) } });
        assert!(serde_json::from_str::<Value>(&answer.to_string()).is_ok());
    }
}
