//! What OpenAI-compatible servers refuse, the strictest of them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Refusal, check_function, ensure, is_tool_name, items, only_fields};

const BODY: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "parallel_tool_calls",
    "reasoning_effort",
    "store",
    "user",
    "metadata",
];

/// Checks one request body.
pub fn check(body: &Value) -> Result<(), Refusal> {
    only_fields(body, BODY, "body")?;
    let model = body["model"].as_str().unwrap_or_default();
    ensure(!model.is_empty(), || "you must provide a model parameter".to_owned())?;
    ensure(body["stream"] == true, || "this server only streams".to_owned())?;
    ensure(body["stream_options"]["include_usage"] == true, || {
        "stream_options.include_usage: expected true".to_owned()
    })?;
    let effort = body["reasoning_effort"].as_str();
    ensure(effort.is_none() || !model.starts_with("gpt-4"), || {
        "Unrecognized request argument supplied: reasoning_effort".to_owned()
    })?;
    check_tools(body)?;
    check_choice(body)?;
    let messages = items(body, "messages")?;
    for (place, message) in messages.iter().enumerate() {
        check_message(message, place)?;
    }
    check_order(messages)?;
    check_pairs(messages)
}

fn check_tools(body: &Value) -> Result<(), Refusal> {
    let tools = items(body, "tools")?;
    let present = body.get("tools").is_some();
    ensure(!present || !tools.is_empty(), || "[] is too short - 'tools'".to_owned())?;
    let mut names = BTreeSet::new();
    for (place, tool) in tools.iter().enumerate() {
        only_fields(tool, &["type", "function"], &format!("tools[{place}]"))?;
        ensure(tool["type"] == "function", || format!("tools[{place}].type"))?;
        let function = &tool["function"];
        let fields = ["name", "description", "parameters", "strict"];
        only_fields(function, &fields, &format!("tools[{place}].function"))?;
        check_function(function, &format!("tools[{place}].function"), &mut names)?;
    }
    Ok(())
}

fn check_choice(body: &Value) -> Result<(), Refusal> {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    let tools = items(body, "tools")?;
    ensure(!tools.is_empty(), || "'tool_choice' is only allowed beside 'tools'".to_owned())?;
    if let Some(word) = choice.as_str() {
        let known = ["auto", "none", "required"].contains(&word);
        return ensure(known, || format!("Invalid value for tool_choice: '{word}'"));
    }
    only_fields(choice, &["type", "function"], "tool_choice")?;
    only_fields(&choice["function"], &["name"], "tool_choice.function")?;
    ensure(choice["type"] == "function", || "tool_choice.type: invalid".to_owned())?;
    let name = &choice["function"]["name"];
    let known = tools.iter().any(|tool| tool["function"]["name"] == *name);
    ensure(known, || format!("tool_choice: the function {name} is not in 'tools'"))
}

fn check_message(message: &Value, place: usize) -> Result<(), Refusal> {
    let fields: &[&str] = match message["role"].as_str() {
        Some("system" | "developer" | "user") => &["role", "content", "name"],
        Some("assistant") => &["role", "content", "tool_calls", "reasoning_content", "refusal"],
        Some("tool") => &["role", "content", "tool_call_id"],
        _ => return Err(format!("messages[{place}].role: invalid")),
    };
    only_fields(message, fields, &format!("messages[{place}]"))?;
    let calls = items(message, "tool_calls")?;
    let present = message.get("tool_calls").is_some_and(|calls| !calls.is_null());
    ensure(!present || !calls.is_empty(), || format!("messages[{place}].tool_calls: empty"))?;
    calls.iter().try_for_each(|call| check_call(call, place))?;
    check_content(message, !calls.is_empty(), place)
}

fn check_content(message: &Value, has_calls: bool, place: usize) -> Result<(), Refusal> {
    let is_tool = message["role"] == "tool";
    match &message["content"] {
        Value::Null => ensure(has_calls, || format!("messages[{place}].content: expected text")),
        Value::String(text) => {
            let may_be_empty = is_tool || has_calls;
            ensure(may_be_empty || !text.trim().is_empty(), || {
                format!("messages[{place}].content: empty")
            })
        }
        Value::Array(parts) => {
            ensure(!parts.is_empty(), || format!("messages[{place}].content: empty list"))?;
            parts.iter().try_for_each(|part| match part["type"].as_str() {
                Some("text") => {
                    ensure(part["text"].as_str().is_some_and(|t| !t.is_empty()), || {
                        format!("messages[{place}]: empty text part")
                    })
                }
                Some("image_url") if message["role"] == "user" => Ok(()),
                _ => Err(format!("messages[{place}].content: invalid part")),
            })
        }
        _ => Err(format!("messages[{place}].content: expected text or a list of parts")),
    }
}

fn check_call(call: &Value, place: usize) -> Result<(), Refusal> {
    only_fields(call, &["id", "type", "function"], &format!("messages[{place}].tool_calls"))?;
    ensure(call["type"] == "function", || format!("messages[{place}]: tool call without a type"))?;
    let id = call["id"].as_str().unwrap_or_default();
    ensure(!id.is_empty(), || format!("messages[{place}]: tool call without an id"))?;
    let function = &call["function"];
    let name = function["name"].as_str().unwrap_or_default();
    ensure(is_tool_name(name, 64), || format!("messages[{place}]: bad function name `{name}`"))?;
    let arguments = function["arguments"].as_str().unwrap_or_default();
    let parsed: Result<Value, _> = serde_json::from_str(arguments);
    ensure(parsed.is_ok_and(|value| value.is_object()), || {
        format!("messages[{place}]: arguments must be the text of a JSON object: {arguments:?}")
    })
}

/// System messages first, then user and assistant in turn; results may stand between.
fn check_order(messages: &[Value]) -> Result<(), Refusal> {
    let is_system = |m: &Value| m["role"] == "system" || m["role"] == "developer";
    let rest: Vec<_> = messages.iter().skip_while(|message| is_system(message)).collect();
    ensure(!rest.iter().any(|message| is_system(message)), || {
        "System message must be at the beginning.".to_owned()
    })?;
    ensure(rest.first().is_some_and(|first| first["role"] == "user"), || {
        "the first message after the system prompt must be from the user".to_owned()
    })?;
    for pair in rest.windows(2) {
        let alike = pair[0]["role"] == pair[1]["role"] && pair[0]["role"] != "tool";
        ensure(!alike, || format!("Conversation roles must alternate: {} twice", pair[0]["role"]))?;
    }
    let last = rest.last().map(|last| &last["role"]);
    ensure(last.is_some_and(|role| role != "assistant"), || {
        "the last message must not be the assistant's".to_owned()
    })
}

/// Every call is answered exactly once, before anything else follows.
fn check_pairs(messages: &[Value]) -> Result<(), Refusal> {
    let mut all_calls = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            ensure(open.remove(id), || {
                format!("messages[{place}]: no preceding message with tool_calls of id `{id}`")
            })?;
            continue;
        }
        check_answered(&open)?;
        for call in items(message, "tool_calls")? {
            let id = call["id"].as_str().unwrap_or_default();
            ensure(all_calls.insert(id), || format!("duplicate tool call id `{id}`"))?;
            open.insert(id);
        }
    }
    check_answered(&open)
}

fn check_answered(open: &BTreeSet<&str>) -> Result<(), Refusal> {
    ensure(open.is_empty(), || {
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding \
             to each 'tool_call_id'. Missing: {open:?}"
        )
    })
}
