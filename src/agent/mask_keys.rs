//! Keeps the keys of this process out of what models read and transcripts keep.
//!
//! A request is masked in two places. Its system prompt and tools come from files, definitions and
//! servers, and are masked when the request is made. Messages are masked when they join the
//! conversation, because what the user typed and the model wrote stays unchanged: a changed
//! thinking block is refused, and a changed call is another call.

use std::borrow::Cow;

use crate::protocol::{Failure, Redactor, ResultBlock, ToolDetails};
use crate::tool::{ToolOutcome, ToolSpec};

/// Tells the model about the mask, so that it does not write the mask over the key.
const MASK_NOTE: &str = "[An API key of this session is shown as ***. The original is unchanged: do not write *** in its place.]";

/// Why a call ends the whole run.
type FatalError = Option<(Failure, String)>;

/// Masks keys in all texts of a result. Text without keys is not copied.
pub(super) fn mask_outcome(
    redactor: &Redactor,
    mut outcome: ToolOutcome,
    fatal: FatalError,
) -> (ToolOutcome, FatalError) {
    let mut found = false;
    for block in &mut outcome.content {
        if let ResultBlock::Text { text } = block {
            found |= mask(redactor, text);
        }
    }
    if found {
        outcome.content.push(ResultBlock::text(MASK_NOTE));
    }
    mask(redactor, &mut outcome.summary);
    match &mut outcome.details {
        Some(ToolDetails::Diff { diff, .. }) => {
            mask(redactor, diff);
        }
        Some(ToolDetails::Todos { items }) => {
            for item in items {
                mask(redactor, &mut item.content);
            }
        }
        Some(
            ToolDetails::Command { cwd, exit_code: _ } | ToolDetails::Background { cwd, id: _ },
        ) => {
            if let Cow::Owned(masked) = redactor.mask_keys(&cwd.to_string_lossy()) {
                *cwd = masked.into();
            }
        }
        Some(ToolDetails::Plan { plan }) => {
            mask(redactor, plan);
        }
        Some(ToolDetails::Denied(denial)) => {
            if let Some(reason) = &mut denial.reason {
                mask(redactor, reason);
            }
        }
        // Numbers, and data from results that were masked already.
        Some(
            ToolDetails::Agent(_)
            | ToolDetails::Reported { .. }
            | ToolDetails::Violation { .. }
            | ToolDetails::ForModel,
        )
        | None => {}
    }
    (outcome, fatal.map(|(failure, why)| (failure, redactor.without_keys(why))))
}

/// Masks keys in tool specs. Specs without keys are not copied.
pub(super) fn mask_specs<'a>(redactor: &Redactor, specs: &'a [ToolSpec]) -> Cow<'a, [ToolSpec]> {
    let mut masked = Cow::Borrowed(specs);
    for (index, ToolSpec { name: _, description, input_schema }) in specs.iter().enumerate() {
        if let Cow::Owned(description) = redactor.mask_keys(description) {
            masked.to_mut()[index].description = description.into();
        }
        if let Cow::Owned(input_schema) = redactor.mask_json(input_schema) {
            masked.to_mut()[index].input_schema = input_schema.into();
        }
    }
    masked
}

/// Masks keys in place; returns whether there were any.
fn mask(redactor: &Redactor, text: &mut String) -> bool {
    let Cow::Owned(masked) = redactor.mask_keys(text) else { return false };
    *text = masked;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_result_keeps_a_key() {
        let redactor = Redactor::default();
        let key = "sk-0123456789";
        redactor.add(key);
        let outcome = ToolOutcome {
            content: vec![ResultBlock::text(format!("a {key} b")), ResultBlock::text("c")],
            is_error: false,
            summary: key.to_owned(),
            details: Some(ToolDetails::Diff {
                path: "f".into(),
                diff: format!("+{key}"),
                added: 1,
                removed: 0,
            }),
        };
        let fatal = Some((Failure::Internal, key.to_owned()));
        let (masked, fatal) = mask_outcome(&redactor, outcome, fatal);
        assert!(!format!("{masked:?} {fatal:?}").contains(key), "{masked:?}");
        let expected = ["a *** b", "c", MASK_NOTE].map(ResultBlock::text);
        assert_eq!(masked.content, expected);
        let plain = ToolOutcome::text("nothing", "1 line");
        assert_eq!(mask_outcome(&redactor, plain.clone(), None), (plain, None));
    }
}
