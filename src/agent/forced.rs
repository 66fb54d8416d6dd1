//! A call that was asked for by name: the first answer of a run is to make it.

use super::Run;
use crate::protocol::{ContentBlock, NoticeLevel};
use crate::tool::canonical_name;

/// A call that the first answer of a run is to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forced {
    /// The tool's name, as it is offered.
    pub tool: String,
    /// What the call's input must say; absent where any will do.
    pub input: Option<Wanted>,
    /// What the model is told with the prompt.
    pub hint: String,
    /// What the person is told when the answer makes no such call.
    pub missed: String,
}

/// A value that one field of a call's input must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The field, by any of its names.
    pub field: &'static [&'static str],
    pub value: String,
    /// Whether a call without the field means the same.
    pub is_default: bool,
}

impl Forced {
    fn is(&self, call: &ContentBlock) -> bool {
        let ContentBlock::ToolUse { name, input, .. } = call else { return false };
        let says = |wanted: &Wanted| {
            let said = wanted.field.iter().find_map(|field| input.get(*field)?.as_str());
            said.map_or(wanted.is_default, |said| said == wanted.value)
        };
        canonical_name(name) == canonical_name(&self.tool) && self.input.as_ref().is_none_or(says)
    }
}

impl Run<'_> {
    /// Looks whether the first answer makes the call that was asked for. What comes later is the
    /// model's own choice.
    pub(super) fn check_forced(&mut self, calls: &[ContentBlock]) {
        if let Some(forced) = self.forced.take()
            && !calls.iter().any(|call| forced.is(call))
        {
            self.events.notice(NoticeLevel::Warning, forced.missed);
        }
    }
}
