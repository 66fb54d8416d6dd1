//! Finds what seems to be a decision in a hook's answer, in a place where none is read.

use serde_json::{Deserializer, Value};

use crate::protocol::HookEvent;

/// The keys of an answer, for all events.
const ANSWER_KEYS: &str =
    "continue stopReason systemMessage suppressOutput decision reason hookSpecificOutput";

/// The keys of `hookSpecificOutput.decision`, which answers a question.
const QUESTION_KEYS: &str = "behavior message interrupt updatedInput updatedPermissions";

/// Keys of a hook's input: some hooks print it.
const INPUT_KEYS: &str = "permission_mode permission_suggestions tool_input tool_response prompt";

/// Parts of a key that seems to be one of a decision, in small letters.
const KEY_PARTS: &str = "decision permission behavior continue allow approve deny denied block reject updatedinput hookspecific";

/// Values that seem to be decisions, in small letters.
const VALUES: &str = "ask deny denied block blocked reject rejected";

/// Returns the path of a key that seems to be one of a decision and is not read.
pub(super) fn find(event: HookEvent, answer: &Value) -> Option<String> {
    const SPECIFIC: &str = "hookSpecificOutput";
    unread(answer, "", ANSWER_KEYS).or_else(|| {
        let specific = &answer[SPECIFIC];
        unread(specific, "hookSpecificOutput.", specific_keys(event)).or_else(|| {
            unread(&specific["decision"], "hookSpecificOutput.decision.", QUESTION_KEYS)
        })
    })
}

/// Returns the path of such a key in JSON at the beginning of a line of other text.
pub(super) fn find_in_text(text: &str) -> Option<String> {
    let starts = text.char_indices().filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
    starts.map(|(at, _)| text[at..].trim_start()).filter(|it| it.starts_with(['{', '['])).find_map(
        |rest| {
            let value = Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()?;
            decision_in("", &value)
        },
    )
}

/// Returns an answer that denies.
pub(super) fn example(event: HookEvent) -> &'static str {
    match event {
        HookEvent::PreToolUse => {
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why"}}"#
        }
        HookEvent::PermissionRequest => {
            r#"{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "why"}}}"#
        }
        _ => r#"{"decision": "block", "reason": "why"}"#,
    }
}

/// The keys of `hookSpecificOutput`.
fn specific_keys(event: HookEvent) -> &'static str {
    match event {
        HookEvent::PreToolUse => {
            "hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext"
        }
        HookEvent::PermissionRequest => "hookEventName decision additionalContext",
        _ => "hookEventName additionalContext",
    }
}

/// Returns the path of a key of a decision among those that are not `known`.
fn unread(object: &Value, path: &str, known: &str) -> Option<String> {
    let mut others = object.as_object()?.iter().filter(|(key, _)| !lists(known, key));
    others.find_map(|(key, value)| decision_in(&format!("{path}{key}"), value))
}

/// Returns the path of a key of a decision: this one, or one below it.
fn decision_in(path: &str, value: &Value) -> Option<String> {
    let key = path.rsplit('.').next().unwrap_or_default();
    if value.is_null() || lists(INPUT_KEYS, key) {
        return None;
    }
    let letters = key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    let letters: String = letters.collect();
    if KEY_PARTS.split(' ').any(|part| letters.contains(part)) {
        return Some(path.to_owned());
    }
    match value {
        Value::String(text) if lists(VALUES, &text.trim().to_lowercase()) => Some(path.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| decision_in(path, item)),
        Value::Object(_) if path.is_empty() => unread(value, "", ""),
        Value::Object(_) => unread(value, &format!("{path}."), ""),
        _ => None,
    }
}

fn lists(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}
