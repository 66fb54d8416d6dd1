//! Parses a hook's answer: its exit code and output, or JSON.

use serde::Deserialize;
use serde_json::Value;

use super::misplaced;
use super::output::{HookOutput, PermissionDecision};
use crate::exec::{CommandExit, FilterOutput};
use crate::protocol::{HookEvent, UniqueKeys, seconds};

/// The exit code that blocks.
const BLOCK_EXIT_CODE: i32 = 2;

/// The maximum length of a text that is passed on, in characters.
const MAX_TEXT_CHARS: usize = 10_000;

/// One hook's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HookAnswer {
    pub output: HookOutput,
    /// Lines for the user.
    pub lines: Vec<String>,
}

/// Parses the exit code and output of a command that has ended and read `input`. The error is a few words for
/// the user.
pub(super) fn from_exit(
    event: HookEvent,
    done: &FilterOutput,
    input: &Value,
) -> Result<HookAnswer, String> {
    let stdout = done.stdout.text();
    // The denial may follow.
    let is_open = done.stdout.is_cut && !is_plain_context(event, &stdout);
    if done.exit == CommandExit::Code(0) && is_open && denies_unread(event) {
        return unread(event, "its answer is too long to be read".to_owned());
    }
    let mut answer = match done.exit {
        CommandExit::Code(0) => match from_stdout(event, &stdout)? {
            answer if answer.output.allows() && has_words_of_allowance(input) => {
                without_allowance(event, answer)?
            }
            answer => answer,
        },
        CommandExit::Code(BLOCK_EXIT_CODE) => from_block(event, &done.stderr.text())?,
        exit => return Err(describe_failure(exit, &done.stderr.text())),
    };
    for (name, output) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
        if output.is_cut {
            let read = output.bytes.len() >> 10;
            answer.lines.push(format!("too much output: only {read} KiB of its {name} were read"));
        }
    }
    Ok(answer)
}

/// Whether the output is meant to be a JSON answer.
fn is_json(stdout: &str) -> bool {
    stdout.trim_start_matches(is_blank).starts_with('{')
}

/// Whether the beginning of an output is text for the model, and no JSON answer.
fn is_plain_context(event: HookEvent, stdout: &str) -> bool {
    takes_text(event) && !is_json(stdout) && !stdout.chars().all(is_blank)
}

/// Whether plain text is for the model. For other events, it is just the program's own output.
fn takes_text(event: HookEvent) -> bool {
    matches!(event, HookEvent::UserPromptSubmit | HookEvent::SessionStart)
}

/// Whether the hook's input has the words of an answer that lets a call run. The model wrote that input, and a
/// hook may print it, also in parts or changed.
fn has_words_of_allowance(input: &Value) -> bool {
    // JSON can write any letter as `\u0061`.
    if has_escape(input) {
        return true;
    }
    let mut letters = String::new();
    collect_letters(input, &mut letters);
    let has = |words: &[&str]| words.iter().any(|word| letters.contains(word));
    has(&["updatedinput"]) || has(&["decision", "behavior"]) && has(&["approve", "allow"])
}

fn has_escape(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("\\u"),
        Value::Array(items) => items.iter().any(has_escape),
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| key.contains("\\u") || has_escape(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn collect_letters(value: &Value, letters: &mut String) {
    let add = |text: &str, letters: &mut String| {
        let all = text.chars().filter(char::is_ascii_alphabetic);
        letters.extend(all.map(|letter| letter.to_ascii_lowercase()));
    };
    match value {
        Value::String(text) => add(text, letters),
        Value::Array(items) => items.iter().for_each(|item| collect_letters(item, letters)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            add(key, letters);
            collect_letters(value, letters);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The same answer without what it allows: the rules decide. Where it changes the call, it is a denial, since
/// the call as it is may be what the hook would keep from running.
fn without_allowance(event: HookEvent, mut answer: HookAnswer) -> Result<HookAnswer, String> {
    let why =
        "its allowance does not count: the call has the words of one, and may be what it printed";
    if answer.output.input.is_some() {
        return unread(event, why.to_owned());
    }
    answer.output.decision = None;
    answer.lines.push(why.to_owned());
    Ok(answer)
}

/// Whether the character may stand before or after a JSON answer. Some programs write a byte order mark.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

/// Returns the answer for one that cannot be read. If it may deny, it counts as a denial: whether it
/// can be read may depend on the input, which the model chooses.
///
/// # Errors
///
/// For other events, `why`.
pub(super) fn unread(event: HookEvent, why: String) -> Result<HookAnswer, String> {
    match denies_unread(event) {
        true => Ok(HookAnswer { output: denial(event, why.clone()), lines: vec![why] }),
        false => Err(why),
    }
}

/// Whether an answer that cannot be read denies.
fn denies_unread(event: HookEvent) -> bool {
    matches!(
        event,
        HookEvent::PreToolUse | HookEvent::PermissionRequest | HookEvent::UserPromptSubmit
    )
}

fn from_stdout(event: HookEvent, stdout: &str) -> Result<HookAnswer, String> {
    let text = stdout.trim_matches(is_blank);
    let is_context = takes_text(event);
    let mut answer = HookAnswer::default();
    if is_json(text) {
        match serde_json::from_str(text) {
            Ok(UniqueKeys(json)) => return from_json(event, json),
            // Plain text that begins with a brace.
            Err(_) if is_context && !text.ends_with('}') => {}
            Err(_) if event == HookEvent::SessionStart => {}
            Err(error) => return unread(event, format!("its answer is not valid JSON: {error}")),
        }
    }
    if is_context && !text.is_empty() {
        answer.output.context.push(clip(text));
    }
    match misplaced::find_in_text(text).filter(|_| denies_unread(event) && !is_context) {
        Some(_) => unread(event, "invalid answer: JSON must stand alone on stdout".to_owned()),
        None => Ok(answer),
    }
}

/// Turns exit code 2 into an answer. If the event cannot be blocked, the reason is only reported.
fn from_block(event: HookEvent, stderr: &str) -> Result<HookAnswer, String> {
    let why = match stderr.trim() {
        "" => "no reason given".to_owned(),
        why => clip(why),
    };
    match can_block(event) {
        true => Ok(HookAnswer { output: denial(event, why), lines: Vec::new() }),
        false => Err(first_line(&why)),
    }
}

fn can_block(event: HookEvent) -> bool {
    match event {
        HookEvent::PreToolUse
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure
        | HookEvent::PostToolBatch
        | HookEvent::PermissionRequest
        | HookEvent::UserPromptSubmit
        | HookEvent::SubagentStop
        | HookEvent::Stop
        | HookEvent::PreCompact => true,
        HookEvent::SubagentStart
        | HookEvent::SessionStart
        | HookEvent::SessionEnd
        | HookEvent::Notification => false,
    }
}

fn denial(event: HookEvent, why: String) -> HookOutput {
    match event {
        HookEvent::PreToolUse | HookEvent::PermissionRequest => {
            HookOutput { decision: Some(PermissionDecision::Deny { why }), ..HookOutput::default() }
        }
        // The call has already failed, so there is nothing left to block.
        HookEvent::PostToolUseFailure => HookOutput { context: vec![why], ..HookOutput::default() },
        HookEvent::PostToolBatch => {
            HookOutput { stop: Some(first_line(&why)), ..HookOutput::default() }
        }
        _ => HookOutput { block: Some(why), ..HookOutput::default() },
    }
}

fn describe_failure(exit: CommandExit, stderr: &str) -> String {
    let words = match exit {
        CommandExit::TimedOut(limit) => {
            return format!("timed out after {}; killed with all its processes", seconds(limit));
        }
        exit => exit.describe().unwrap_or_default(),
    };
    match first_line(stderr.trim()) {
        line if line.is_empty() => words,
        line => format!("{words}: {line}"),
    }
}

/// Parses a JSON answer. The error is a few words for the user.
pub(super) fn from_json(event: HookEvent, json: Value) -> Result<HookAnswer, String> {
    if let Some(path) = misplaced::find(event, &json).filter(|_| denies_unread(event)) {
        let (path, example) = (first_line(&path), misplaced::example(event));
        let why = format!("invalid answer: {path} has no meaning there; to deny, write {example}");
        return unread(event, why);
    }
    let reply: HookReply = match serde_path_to_error::deserialize(json) {
        Ok(reply) => reply,
        Err(error) => {
            let path = error.path().to_string();
            return unread(event, format!("invalid answer: {path}: {}", error.inner()));
        }
    };
    let HookReply { go_on, stop_reason, system_message, decision, reason, specific } = reply;
    let specific = specific.unwrap_or_default();
    if let Some(name) = specific.hook_event_name.filter(|name| name != event.name()) {
        let name = first_line(&name);
        let why = format!("invalid answer: hookEventName is {name}, not {}", event.name());
        return unread(event, why);
    }
    let reason = reason.filter(|reason| !reason.trim().is_empty()).map(|reason| clip(&reason));
    let why = |own: Option<String>| {
        own.map(|own| clip(&own))
            .or_else(|| reason.clone())
            .unwrap_or_else(|| "no reason given".to_owned())
    };
    let mut said = match decision {
        Some(ReplyDecision::Block) if can_block(event) => denial(event, why(None)),
        Some(ReplyDecision::Approve) if event == HookEvent::PreToolUse => {
            HookOutput { decision: Some(PermissionDecision::Allow), ..HookOutput::default() }
        }
        _ => HookOutput::default(),
    };
    if event == HookEvent::PreToolUse {
        let because = || why(specific.permission_decision_reason.clone());
        said.decision = match specific.permission_decision {
            // One answer in both forms: the denial counts.
            Some(_) if matches!(said.decision, Some(PermissionDecision::Deny { .. })) => {
                said.decision
            }
            Some(PermissionAnswer::Allow) => Some(PermissionDecision::Allow),
            Some(PermissionAnswer::Ask) => Some(PermissionDecision::Ask { why: because() }),
            Some(PermissionAnswer::Deny) => Some(PermissionDecision::Deny { why: because() }),
            Some(PermissionAnswer::Defer) | None => said.decision,
        };
        said.input = specific.updated_input.map(Value::Object);
    }
    let mut lines: Vec<_> = system_message.iter().map(|text| first_line(text)).collect();
    if let Some(decision) = specific.decision.filter(|_| event == HookEvent::PermissionRequest) {
        lines.extend(decision.apply(&mut said));
    }
    if go_on == Some(false) {
        said.stop = Some(stop_reason.map(|why| first_line(&why)).unwrap_or_default());
    }
    let context = specific.additional_context.filter(|text| !text.trim().is_empty());
    let context = context.map(|text| clip(&text));
    match event {
        // An agent that must read something before it stops has to continue.
        HookEvent::Stop | HookEvent::SubagentStop => said.block = said.block.or(context),
        _ => said.context.extend(context),
    }
    Ok(HookAnswer { output: said, lines })
}

/// The fields of a JSON answer. Keys for other events and programs are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookReply {
    #[serde(rename = "continue")]
    go_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<ReplyDecision>,
    reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    specific: Option<HookSpecificOutput>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReplyDecision {
    Approve,
    Block,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HookSpecificOutput {
    hook_event_name: Option<String>,
    permission_decision: Option<PermissionAnswer>,
    permission_decision_reason: Option<String>,
    updated_input: Option<serde_json::Map<String, Value>>,
    additional_context: Option<String>,
    /// The answer to a question.
    decision: Option<QuestionDecision>,
}

/// A hook's answer to a permission question, in place of the user's.
#[derive(Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum QuestionDecision {
    Allow {
        updated_input: Option<serde_json::Map<String, Value>>,
        updated_permissions: Option<Vec<Value>>,
    },
    Deny {
        message: Option<String>,
        interrupt: Option<bool>,
    },
}

impl QuestionDecision {
    /// Adds the decision to the hook's output. Returns a line for the user about the part that is ignored.
    fn apply(self, said: &mut HookOutput) -> Option<String> {
        match self {
            Self::Allow { updated_input, updated_permissions } => {
                said.decision = Some(PermissionDecision::Allow);
                said.input = updated_input.map(Value::Object);
                let kept = updated_permissions.is_some_and(|updates| !updates.is_empty());
                kept.then(|| {
                    "updatedPermissions is ignored in a hook: it allows only this call".to_owned()
                })
            }
            Self::Deny { message, interrupt } => {
                let message = message.filter(|message| !message.trim().is_empty());
                let why = message.map_or_else(|| "no reason given".to_owned(), |why| clip(&why));
                if interrupt == Some(true) {
                    said.stop = Some(first_line(&why));
                }
                said.decision = Some(PermissionDecision::Deny { why });
                None
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PermissionAnswer {
    Allow,
    Ask,
    Deny,
    /// Leaves the decision to the rules.
    Defer,
}

/// Truncates a text that a model or the user reads.
fn clip(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => {
            format!("{}\n[truncated at {MAX_TEXT_CHARS} characters]", &text[..end])
        }
        None => text.to_owned(),
    }
}

/// Returns the first line of a text, truncated to fit the screen.
pub(super) fn first_line(text: &str) -> String {
    const MAX_LINE_CHARS: usize = 300;
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MAX_LINE_CHARS).collect()
}
