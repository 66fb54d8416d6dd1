//! What the Responses API refuses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::responses::reasoning;
use super::{Issued, Refusal, Thought, check_function, ensure, is_tool_name, items, only_fields};

const BODY: &[&str] = &[
    "model",
    "input",
    "instructions",
    "max_output_tokens",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "include",
    "store",
    "stream",
    "metadata",
    "service_tier",
    "text",
    "truncation",
];
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Checks one request body.
pub fn check(body: &Value, issued: &Issued) -> Result<(), Refusal> {
    only_fields(body, BODY, "body")?;
    check_settings(body)?;
    check_tools(body)?;
    check_choice(body)?;
    let input = items(body, "input")?;
    for (place, item) in input.iter().enumerate() {
        check_item(item, &format!("input[{place}]"))?;
    }
    check_ends(input)?;
    check_pairs(input)?;
    check_thoughts(input, issued)
}

fn check_settings(body: &Value) -> Result<(), Refusal> {
    let model = body["model"].as_str().unwrap_or_default();
    ensure(!model.is_empty(), || "Missing required parameter: 'model'.".to_owned())?;
    ensure(body["stream"] == true, || "this server only streams".to_owned())?;
    ensure(body["store"] == false, || "this server stores nothing".to_owned())?;
    let most = body["max_output_tokens"].as_u64().unwrap_or(0);
    ensure(most >= 16, || "Invalid 'max_output_tokens': integer below minimum value".to_owned())?;
    let reasons = !model.starts_with("gpt-4");
    let wants_thoughts = items(body, "include")?.iter().any(|i| i == "reasoning.encrypted_content");
    ensure(wants_thoughts == reasons, || {
        format!("include: encrypted content with {model}: {wants_thoughts}")
    })?;
    let reasoning = &body["reasoning"];
    if reasoning.is_null() {
        return Ok(());
    }
    ensure(reasons, || format!("Unsupported parameter: 'reasoning' with {model}"))?;
    only_fields(reasoning, &["effort", "summary"], "reasoning")?;
    let effort = reasoning.get("effort").map(|effort| effort.as_str().unwrap_or_default());
    ensure(effort.is_none_or(|effort| EFFORTS.contains(&effort)), || {
        format!("Invalid value: {effort:?} at 'reasoning.effort'")
    })
}

fn check_tools(body: &Value) -> Result<(), Refusal> {
    let mut names = BTreeSet::new();
    for (place, tool) in items(body, "tools")?.iter().enumerate() {
        let place = format!("tools[{place}]");
        let fields = ["type", "name", "description", "parameters", "strict"];
        only_fields(tool, &fields, &place)?;
        ensure(tool["type"] == "function", || format!("{place}.type"))?;
        ensure(tool["strict"] == false, || format!("{place}: the schema is not a strict one"))?;
        check_function(tool, &place, &mut names)?;
    }
    Ok(())
}

fn check_choice(body: &Value) -> Result<(), Refusal> {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    if let Some(word) = choice.as_str() {
        let known = ["auto", "none", "required"].contains(&word);
        return ensure(known, || format!("Invalid value for tool_choice: '{word}'"));
    }
    only_fields(choice, &["type", "name"], "tool_choice")?;
    let known = items(body, "tools")?.iter().any(|tool| tool["name"] == choice["name"]);
    ensure(choice["type"] == "function" && known, || {
        format!("Tool choice '{}' not found in 'tools' parameter.", choice["name"])
    })
}

fn check_item(item: &Value, place: &str) -> Result<(), Refusal> {
    match item["type"].as_str() {
        Some("message") => check_message(item, place),
        Some("reasoning") => {
            only_fields(item, &["type", "id", "summary", "content", "encrypted_content"], place)
        }
        Some("function_call") => {
            only_fields(item, &["type", "id", "call_id", "name", "arguments"], place)?;
            let name = item["name"].as_str().unwrap_or_default();
            ensure(is_tool_name(name, 64), || format!("{place}.name: `{name}`"))?;
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let parsed: Result<Value, _> = serde_json::from_str(arguments);
            ensure(parsed.is_ok_and(|value| value.is_object()), || {
                format!("{place}.arguments: no JSON object: {arguments:?}")
            })
        }
        Some("function_call_output") => {
            only_fields(item, &["type", "call_id", "output"], place)?;
            match &item["output"] {
                Value::String(_) => Ok(()),
                output => check_parts(output, place),
            }
        }
        other => Err(format!("{place}.type: Invalid value: {other:?}")),
    }
}

fn check_message(item: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(item, &["type", "role", "content"], place)?;
    match (item["role"].as_str(), &item["content"]) {
        (Some("user"), Value::Array(_)) => check_parts(&item["content"], place),
        (Some("user" | "assistant"), Value::String(text)) => {
            ensure(!text.trim().is_empty(), || format!("{place}.content: empty"))
        }
        (role, _) => Err(format!("{place}: content that {role:?} cannot say")),
    }
}

fn check_parts(parts: &Value, place: &str) -> Result<(), Refusal> {
    let parts = parts.as_array().filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| format!("{place}: expected text or a list of parts"))?;
    parts.iter().try_for_each(|part| match part["type"].as_str() {
        Some("input_text") => {
            only_fields(part, &["type", "text"], place)?;
            ensure(part["text"].as_str().is_some_and(|text| !text.is_empty()), || {
                format!("{place}: empty text")
            })
        }
        Some("input_image") => {
            only_fields(part, &["type", "image_url", "detail"], place)?;
            let url = part["image_url"].as_str().unwrap_or_default();
            ensure(url.starts_with("data:image/"), || format!("{place}: invalid image_url"))
        }
        Some("input_file") => {
            only_fields(part, &["type", "filename", "file_data", "detail"], place)?;
            let data = part["file_data"].as_str().unwrap_or_default();
            let named = part["filename"].as_str().is_some_and(|name| name.ends_with(".pdf"));
            let ok = named && data.starts_with("data:application/pdf;base64,");
            ensure(ok, || format!("{place}: invalid file_data"))
        }
        other => Err(format!("{place}: Invalid value: {other:?}")),
    })
}

fn is_user(item: &Value) -> bool {
    item["type"] == "message" && item["role"] == "user"
}

fn check_ends(input: &[Value]) -> Result<(), Refusal> {
    ensure(input.first().is_some_and(is_user), || "input: begins without the user".to_owned())?;
    let last = input.last().is_some_and(|i| is_user(i) || i["type"] == "function_call_output");
    ensure(last, || "input: ends with the model's own words".to_owned())
}

/// Every call is answered exactly once, before anything but further calls follows.
fn check_pairs(input: &[Value]) -> Result<(), Refusal> {
    let mut all_calls = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (place, item) in input.iter().enumerate() {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("function_call") => {
                ensure(!id.is_empty() && id.len() <= 64, || format!("input[{place}].call_id"))?;
                ensure(all_calls.insert(id), || format!("duplicate call_id `{id}`"))?;
                open.insert(id);
            }
            Some("function_call_output") => ensure(open.remove(id), || {
                format!("No tool call found for function call output with call_id {id}.")
            })?,
            _ if is_user(item) => check_answered(&open)?,
            _ => {}
        }
    }
    check_answered(&open)
}

fn check_answered(open: &BTreeSet<&str>) -> Result<(), Refusal> {
    ensure(open.is_empty(), || format!("No tool output found for function calls {open:?}."))
}

/// Thoughts come back as they were sent, none without what followed it, and within a tool loop none
/// is missing.
fn check_thoughts(input: &[Value], issued: &Issued) -> Result<(), Refusal> {
    for (place, item) in input.iter().enumerate() {
        if item["type"] != "reasoning" {
            continue;
        }
        let signature = item["encrypted_content"].as_str().unwrap_or_default();
        let known = issued.signatures.get(signature);
        ensure(known.is_some_and(|text| reasoning(text, signature) == *item), || {
            format!("input[{place}]: The encrypted content could not be verified: {item}")
        })?;
        let follows = input
            .get(place + 1)
            .is_some_and(|next| !is_user(next) && next["type"] != "function_call_output");
        ensure(follows, || {
            format!("input[{place}]: 'reasoning' was provided without its required following item")
        })?;
    }
    let last_prompt = input.iter().rposition(is_user).unwrap_or(0);
    for (place, item) in input.iter().enumerate().skip(last_prompt) {
        let call = item["call_id"].as_str().unwrap_or_default();
        let Some(sent) = issued.thinking_before.get(call) else { continue };
        if item["type"] == "function_call" {
            ensure(&thoughts_before(&input[..place]) == sent, || {
                format!("input[{place}]: provided without its required 'reasoning' item")
            })?;
        }
    }
    Ok(())
}

/// The thoughts of the answer that ends here.
fn thoughts_before(input: &[Value]) -> Vec<Thought> {
    let own = input.iter().rev().take_while(|i| !is_user(i) && i["type"] != "function_call_output");
    let mut thoughts: Vec<_> = own
        .filter(|item| item["type"] == "reasoning")
        .map(|item| Thought {
            text: item["summary"][0]["text"].as_str().unwrap_or_default().to_owned(),
            signature: item["encrypted_content"].as_str().unwrap_or_default().to_owned(),
        })
        .collect();
    thoughts.reverse();
    thoughts
}
