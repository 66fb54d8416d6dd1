//! A call that was requested by name: the first answer of a run must make it.

use super::AgentRun;
use crate::protocol::{ContentBlock, NoticeLevel};
use crate::tool::canonical_name;

/// A call that the first answer of a run must make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForcedCall {
    /// The tool's name as offered.
    pub tool: String,
    /// The value the input must have; `None` accepts any.
    pub input: Option<ArgMatch>,
    /// The hint for the model, sent with the prompt.
    pub hint: String,
    /// The warning for the user if the answer makes no such call.
    pub warning: String,
}

/// The value that one field of a call's input must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgMatch {
    /// The field, by any of its names.
    pub field: &'static [&'static str],
    pub value: String,
    /// Whether a call without the field matches too.
    pub is_default: bool,
}

impl ForcedCall {
    fn matches(&self, call: &ContentBlock) -> bool {
        let ContentBlock::ToolUse { name, input, .. } = call else { return false };
        let says = |wanted: &ArgMatch| {
            let said = wanted.field.iter().find_map(|field| input.get(*field)?.as_str());
            said.map_or(wanted.is_default, |said| said == wanted.value)
        };
        canonical_name(name) == canonical_name(&self.tool) && self.input.as_ref().is_none_or(says)
    }
}

impl AgentRun<'_> {
    /// Warns if the first answer does not make the requested call. Later answers are the model's
    /// own choice.
    pub(super) fn check_forced(&mut self, calls: &[ContentBlock]) {
        if let Some(forced) = self.forced_call.take()
            && !calls.iter().any(|call| forced.matches(call))
        {
            self.events.notice(NoticeLevel::Warning, forced.warning);
        }
    }
}
