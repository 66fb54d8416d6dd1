//! What a hook says: its exit code and output, or JSON.

use serde::Deserialize;
use serde_json::Value;

use super::said::{Opinion, Said};
use crate::exec::{Exit, Filtered};
use crate::protocol::HookEvent;

/// The exit code that blocks.
const BLOCK: i32 = 2;

/// The most of a text that is handed on. Characters.
const MOST: usize = 10_000;

/// One hook's word.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub said: Said,
    /// Lines for the person.
    pub lines: Vec<String>,
}

/// What a command that ended says with its exit code and its output. The error is a few words for the person.
pub(super) fn of_command(event: HookEvent, done: &Filtered) -> Result<Answer, String> {
    let mut answer = match done.exit {
        Exit::Code(0) => of_stdout(event, &done.stdout.text())?,
        Exit::Code(BLOCK) => blocked(event, &done.stderr.text())?,
        exit => return Err(ended_badly(exit, &done.stderr.text())),
    };
    for (name, output) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
        if output.is_cut {
            let read = output.bytes.len() >> 10;
            answer.lines.push(format!("printed too much: of its {name} {read} KiB were read"));
        }
    }
    Ok(answer)
}

fn of_stdout(event: HookEvent, stdout: &str) -> Result<Answer, String> {
    let text = stdout.trim();
    // Elsewhere plain text is a program's own talk.
    let is_context = matches!(event, HookEvent::UserPromptSubmit | HookEvent::SessionStart);
    let mut answer = Answer::default();
    if text.starts_with('{') {
        match serde_json::from_str(text) {
            Ok(json) => return of_json(event, json),
            Err(_) if is_context => {}
            // A no that cannot be read must not go unnoticed.
            Err(error) => answer.lines.push(format!("its answer is not valid JSON: {error}")),
        }
    }
    if is_context && !text.is_empty() {
        answer.said.context.push(head(text));
    }
    Ok(answer)
}

/// The word of exit code 2. Where nothing can be blocked it is only told.
fn blocked(event: HookEvent, stderr: &str) -> Result<Answer, String> {
    let why = match stderr.trim() {
        "" => "it gave no reason".to_owned(),
        why => head(why),
    };
    match can_block(event) {
        true => Ok(Answer { said: no(event, why), lines: Vec::new() }),
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

fn no(event: HookEvent, why: String) -> Said {
    match event {
        HookEvent::PreToolUse | HookEvent::PermissionRequest => {
            Said { opinion: Some(Opinion::Deny { why }), ..Said::default() }
        }
        // The call has failed already, so there is nothing left to object to.
        HookEvent::PostToolUseFailure => Said { context: vec![why], ..Said::default() },
        HookEvent::PostToolBatch => Said { stop: Some(first_line(&why)), ..Said::default() },
        _ => Said { block: Some(why), ..Said::default() },
    }
}

fn ended_badly(exit: Exit, stderr: &str) -> String {
    let words = match exit {
        Exit::TimedOut(limit) => {
            return format!("took longer than {limit:?} and was ended, with all that it started");
        }
        exit => exit.words().unwrap_or_default(),
    };
    match first_line(stderr.trim()) {
        line if line.is_empty() => words,
        line => format!("{words}: {line}"),
    }
}

/// What JSON says. The error is a few words for the person.
pub(super) fn of_json(event: HookEvent, json: Value) -> Result<Answer, String> {
    let reply: Reply = serde_path_to_error::deserialize(json).map_err(|error| {
        let place = error.path().to_string();
        format!("its answer is not understood: {place}: {}", error.inner())
    })?;
    let Reply { go_on, stop_reason, system_message, decision, reason, specific } = reply;
    let specific = specific.unwrap_or_default();
    if let Some(name) = specific.hook_event_name.filter(|name| name != event.name()) {
        return Err(format!(
            "its answer is not understood: hookEventName is {}, not {}",
            first_line(&name),
            event.name()
        ));
    }
    let reason = reason.filter(|reason| !reason.trim().is_empty()).map(|reason| head(&reason));
    let why = |own: Option<String>| {
        own.map(|own| head(&own))
            .or_else(|| reason.clone())
            .unwrap_or_else(|| "it gave no reason".to_owned())
    };
    let mut said = match decision {
        Some(Decision::Block) if can_block(event) => no(event, why(None)),
        Some(Decision::Approve) if event == HookEvent::PreToolUse => {
            Said { opinion: Some(Opinion::Allow), ..Said::default() }
        }
        _ => Said::default(),
    };
    if event == HookEvent::PreToolUse {
        let because = || why(specific.permission_decision_reason.clone());
        said.opinion = match specific.permission_decision {
            Some(Permission::Allow) => Some(Opinion::Allow),
            Some(Permission::Ask) => Some(Opinion::Ask { why: because() }),
            Some(Permission::Deny) => Some(Opinion::Deny { why: because() }),
            Some(Permission::Defer) | None => said.opinion,
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
    let context = context.map(|text| head(&text));
    match event {
        // Who is to read something before it ends has to go on.
        HookEvent::Stop | HookEvent::SubagentStop => said.block = said.block.or(context),
        _ => said.context.extend(context),
    }
    Ok(Answer { said, lines })
}

/// All that JSON can say; keys of other events and of other programs are passed over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    #[serde(rename = "continue")]
    go_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<Decision>,
    reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    specific: Option<Specific>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Approve,
    Block,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Specific {
    hook_event_name: Option<String>,
    permission_decision: Option<Permission>,
    permission_decision_reason: Option<String>,
    updated_input: Option<serde_json::Map<String, Value>>,
    additional_context: Option<String>,
    /// The answer to a question.
    decision: Option<QuestionDecision>,
}

/// What a hook answers in the user's place.
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
    /// Puts the decision into what the hook says. Returns a line for the user about what does not count.
    fn apply(self, said: &mut Said) -> Option<String> {
        match self {
            Self::Allow { updated_input, updated_permissions } => {
                said.opinion = Some(Opinion::Allow);
                said.input = updated_input.map(Value::Object);
                let kept = updated_permissions.is_some_and(|updates| !updates.is_empty());
                kept.then(|| {
                    "updatedPermissions does nothing in a hook: it allows this call alone"
                        .to_owned()
                })
            }
            Self::Deny { message, interrupt } => {
                let message = message.filter(|message| !message.trim().is_empty());
                let why = message.map_or_else(|| "it gave no reason".to_owned(), |why| head(&why));
                if interrupt == Some(true) {
                    said.stop = Some(first_line(&why));
                }
                said.opinion = Some(Opinion::Deny { why });
                None
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Permission {
    Allow,
    Ask,
    Deny,
    /// Leaves it to the rules.
    Defer,
}

/// The beginning of a text that a model or a person is to read.
fn head(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => {
            format!("{}\n[cut: the text was longer than {MOST} characters]", &text[..end])
        }
        None => text.to_owned(),
    }
}

/// Enough of a text for one line on the screen.
pub(super) fn first_line(text: &str) -> String {
    const LINE: usize = 300;
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(LINE).collect()
}
