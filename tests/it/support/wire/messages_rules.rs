//! What the Messages API refuses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Issued, Refusal, Thought, ensure, is_tool_name, items, only_fields};

const BODY: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "metadata",
    "stop_sequences",
    "temperature",
    "top_k",
    "top_p",
    "thinking",
    "service_tier",
    "output_config",
    "context_management",
    "cache_control",
];
const TOOL: &[&str] = &[
    "name",
    "description",
    "input_schema",
    "cache_control",
    "type",
    "eager_input_streaming",
    "strict",
    "defer_loading",
    "input_examples",
];
/// Models that take no sampling settings.
const NO_SAMPLING: &[&str] = &["opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "fable"];

/// Models that take no effort, and those that take no `xhigh`.
const NO_EFFORT: &[&str] = &["haiku-4-5", "sonnet-4-5"];
const NO_XHIGH: &[&str] = &["opus-4-5", "opus-4-6", "sonnet-4-6"];

/// Checks one request body.
pub fn check(body: &Value, issued: &Issued) -> Result<(), Refusal> {
    only_fields(body, BODY, "body")?;
    check_settings(body)?;
    check_tools(body)?;
    check_choice(body)?;
    check_system(body)?;
    check_markers(body)?;
    let messages = items(body, "messages")?;
    check_roles(messages)?;
    for (place, message) in messages.iter().enumerate() {
        only_fields(message, &["role", "content"], &format!("messages.{place}"))?;
        check_content(message, place)?;
    }
    check_pairs(messages)?;
    check_thoughts(body, messages, issued)
}

fn check_settings(body: &Value) -> Result<(), Refusal> {
    let model = body["model"].as_str().unwrap_or_default();
    ensure(!model.is_empty(), || "model: Field required".to_owned())?;
    let max_tokens = body["max_tokens"].as_u64().unwrap_or(0);
    ensure(max_tokens > 0, || "max_tokens: Field required".to_owned())?;
    ensure(body["stream"] == true, || "stream: this server only streams".to_owned())?;
    let sampled = ["temperature", "top_p", "top_k"].iter().any(|name| body.get(*name).is_some());
    let refuses = NO_SAMPLING.iter().any(|name| model.contains(name));
    ensure(!(sampled && refuses), || format!("temperature is not supported by {model}"))?;
    check_effort(body, model)?;
    check_thinking(body, model, max_tokens)
}

fn check_effort(body: &Value, model: &str) -> Result<(), Refusal> {
    let config = &body["output_config"];
    if config.is_null() {
        return Ok(());
    }
    only_fields(config, &["effort", "format"], "output_config")?;
    let effort = config["effort"].as_str().unwrap_or_default();
    let is_of = |names: &[&str]| names.iter().any(|name| model.contains(name));
    ensure(!is_of(NO_EFFORT), || "This model does not support the effort parameter.".to_owned())?;
    let known = match effort {
        "low" | "medium" | "high" => true,
        "xhigh" => !is_of(NO_XHIGH),
        "max" => !model.contains("opus-4-5"),
        _ => false,
    };
    ensure(known, || format!("output_config.effort: `{effort}` is not supported by {model}"))
}

fn check_thinking(body: &Value, model: &str, max_tokens: u64) -> Result<(), Refusal> {
    let thinking = &body["thinking"];
    if thinking.is_null() {
        return Ok(());
    }
    let kind = thinking["type"].as_str().unwrap_or_default();
    match kind {
        "adaptive" => {
            ensure(!model.contains("haiku-4-5"), || {
                "adaptive thinking is not supported".to_owned()
            })?;
        }
        "enabled" => {
            let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
            ensure(budget >= 1024, || "thinking.budget_tokens: at least 1024".to_owned())?;
            ensure(budget < max_tokens, || {
                "max_tokens must be greater than the budget".to_owned()
            })?;
        }
        "disabled" => return Ok(()),
        other => return Err(format!("thinking.type: unknown `{other}`")),
    }
    let choice = body["tool_choice"]["type"].as_str().unwrap_or("auto");
    ensure(choice == "auto" || choice == "none", || {
        "Thinking may not be enabled when tool_choice forces tool use.".to_owned()
    })
}

fn check_tools(body: &Value) -> Result<(), Refusal> {
    let mut names = BTreeSet::new();
    for (place, tool) in items(body, "tools")?.iter().enumerate() {
        only_fields(tool, TOOL, &format!("tools.{place}"))?;
        let name = tool["name"].as_str().unwrap_or_default();
        ensure(is_tool_name(name, 128), || format!("tools.{place}.name: bad name `{name}`"))?;
        ensure(names.insert(name), || "tools: Tool names must be unique.".to_owned())?;
        check_schema(&tool["input_schema"], &format!("tools.{place}.input_schema"))?;
    }
    Ok(())
}

fn check_choice(body: &Value) -> Result<(), Refusal> {
    let choice = &body["tool_choice"];
    let (kind, fields): (_, &[&str]) = match choice["type"].as_str() {
        _ if choice.is_null() => return Ok(()),
        Some(kind @ ("auto" | "any")) => (kind, &["type", "disable_parallel_tool_use"]),
        Some(kind @ "tool") => (kind, &["type", "name", "disable_parallel_tool_use"]),
        Some(kind @ "none") => (kind, &["type"]),
        _ => return Err("tool_choice.type: invalid".to_owned()),
    };
    only_fields(choice, fields, "tool_choice")?;
    let tools = items(body, "tools")?;
    ensure(!tools.is_empty(), || "tool_choice: may only be given beside tools".to_owned())?;
    let known = tools.iter().any(|tool| tool["name"] == choice["name"]);
    ensure(kind != "tool" || known, || format!("Tool '{}' not found", choice["name"]))
}

fn check_schema(schema: &Value, place: &str) -> Result<(), Refusal> {
    ensure(schema["type"] == "object", || format!("{place}.type: Input should be 'object'"))?;
    for word in ["oneOf", "allOf", "anyOf"] {
        ensure(schema.get(word).is_none(), || format!("{place}: no {word} at the top level"))?;
    }
    Ok(())
}

fn check_system(body: &Value) -> Result<(), Refusal> {
    match &body["system"] {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => blocks.iter().try_for_each(|block| check_text(block, "system")),
        _ => Err("system: Input should be a valid list".to_owned()),
    }
}

/// At most four cache breakpoints, each on a block that can bear one.
fn check_markers(body: &Value) -> Result<(), Refusal> {
    let mut count = 0;
    count_markers(body, &mut count)?;
    ensure(count <= 4, || format!("A maximum of 4 blocks with cache_control; found {count}."))
}

fn count_markers(value: &Value, count: &mut usize) -> Result<(), Refusal> {
    match value {
        Value::Array(all) => all.iter().try_for_each(|value| count_markers(value, count)),
        Value::Object(fields) => {
            if let Some(marker) = fields.get("cache_control").filter(|marker| !marker.is_null()) {
                *count += 1;
                let known = marker["type"] == "ephemeral";
                ensure(known, || "cache_control.type: Input should be 'ephemeral'".to_owned())?;
                let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
                let bears = kind != "thinking" && kind != "redacted_thinking";
                ensure(bears, || "cache_control cannot be set for thinking blocks".to_owned())?;
            }
            let nested = fields.iter().filter(|(name, _)| {
                !matches!(name.as_str(), "input" | "input_schema" | "cache_control")
            });
            nested.map(|(_, value)| value).try_for_each(|value| count_markers(value, count))
        }
        _ => Ok(()),
    }
}

fn check_roles(messages: &[Value]) -> Result<(), Refusal> {
    ensure(!messages.is_empty(), || "messages: at least one message is required".to_owned())?;
    for (place, message) in messages.iter().enumerate() {
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        ensure(message["role"] == expected, || {
            format!("messages.{place}: roles must alternate; expected \"{expected}\"")
        })?;
    }
    ensure(messages.len() % 2 == 1, || {
        "This model does not support assistant message prefill.".to_owned()
    })
}

fn check_content(message: &Value, place: usize) -> Result<(), Refusal> {
    let user = message["role"] == "user";
    let place = format!("messages.{place}");
    let blocks = match &message["content"] {
        Value::String(text) => {
            return ensure(!text.trim().is_empty(), || format!("{place}: empty text"));
        }
        Value::Array(blocks) if !blocks.is_empty() => blocks,
        _ => return Err(format!("{place}: content must be non-empty")),
    };
    for block in blocks {
        match (block["type"].as_str().unwrap_or_default(), user) {
            ("text", _) => check_text(block, &place)?,
            ("image", true) => check_image(block, &place)?,
            ("tool_result", true) => check_result(block, &place)?,
            ("tool_use", false) => check_call(block, &place)?,
            ("thinking", false) => {
                only_fields(block, &["type", "thinking", "signature"], &place)?;
                ensure(block["thinking"].is_string() && block["signature"].is_string(), || {
                    format!("{place}: thinking.signature: Field required")
                })?;
            }
            ("redacted_thinking", false) => only_fields(block, &["type", "data"], &place)?,
            (other, _) => return Err(format!("{place}: a `{other}` block does not belong here")),
        }
    }
    Ok(())
}

fn check_text(block: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(block, &["type", "text", "cache_control", "citations"], place)?;
    let text = block["text"].as_str().unwrap_or_default();
    ensure(!text.is_empty(), || format!("{place}: text content blocks must be non-empty"))?;
    ensure(!text.trim().is_empty(), || {
        format!("{place}: text content blocks must contain non-whitespace text")
    })
}

fn check_image(block: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(block, &["type", "source", "cache_control"], place)?;
    let media = block["source"]["media_type"].as_str().unwrap_or_default();
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&media);
    ensure(known, || format!("{place}: image.source.media_type: `{media}`"))
}

fn check_document(block: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(
        block,
        &["type", "source", "title", "context", "citations", "cache_control"],
        place,
    )?;
    only_fields(&block["source"], &["type", "media_type", "data"], place)?;
    let media = block["source"]["media_type"].as_str().unwrap_or_default();
    ensure(media == "application/pdf", || format!("{place}: document.source.media_type: `{media}`"))
}

fn check_call(block: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(block, &["type", "id", "name", "input", "cache_control"], place)?;
    let name = block["name"].as_str().unwrap_or_default();
    ensure(is_tool_name(name, 200), || format!("{place}: tool_use.name: bad name `{name}`"))?;
    let id = block["id"].as_str().unwrap_or_default();
    ensure(is_tool_name(id, 200), || format!("{place}: tool_use.id: bad id `{id}`"))?;
    ensure(block["input"].is_object(), || format!("{place}: tool_use.input: not an object"))
}

fn check_result(block: &Value, place: &str) -> Result<(), Refusal> {
    let fields = ["type", "tool_use_id", "content", "is_error", "cache_control"];
    only_fields(block, &fields, place)?;
    let is_error = block["is_error"] == true;
    let empty = match &block["content"] {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(blocks) => {
            for inner in blocks {
                match inner["type"].as_str() {
                    Some("text") => check_text(inner, place)?,
                    Some("image") => check_image(inner, place)?,
                    Some("document") => check_document(inner, place)?,
                    _ => return Err(format!("{place}: tool_result.content: bad block")),
                }
            }
            blocks.is_empty()
        }
        _ => return Err(format!("{place}: tool_result.content: Input should be a list")),
    };
    ensure(!(is_error && empty), || {
        format!("{place}: content cannot be empty if `is_error` is true")
    })
}

/// Every call is answered exactly once, in the next message, before anything else there.
fn check_pairs(messages: &[Value]) -> Result<(), Refusal> {
    let mut all_calls = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        if message["role"] == "assistant" {
            for id in ids(blocks, "tool_use", "id") {
                ensure(all_calls.insert(id), || "`tool_use` ids must be unique".to_owned())?;
                open.insert(id);
            }
            continue;
        }
        check_results_first(blocks, place)?;
        for id in ids(blocks, "tool_result", "tool_use_id") {
            ensure(open.remove(id), || {
                format!("messages.{place}: unexpected `tool_use_id` in `tool_result` blocks: {id}")
            })?;
        }
        ensure(open.is_empty(), || {
            format!(
                "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately \
                 after: {open:?}",
                place.saturating_sub(1)
            )
        })?;
    }
    Ok(())
}

fn check_results_first(blocks: &[Value], place: usize) -> Result<(), Refusal> {
    let is_result = |block: &Value| block["type"] == "tool_result";
    let after_others = blocks.iter().skip_while(|block| is_result(block)).any(is_result);
    ensure(!after_others, || format!("messages.{place}: tool_result blocks must come first"))
}

fn ids<'a>(blocks: &'a [Value], kind: &str, field: &str) -> impl Iterator<Item = &'a str> {
    let of_kind = blocks.iter().filter(move |block| block["type"] == kind);
    of_kind.map(move |block| block[field].as_str().unwrap_or_default())
}

/// Thoughts come back as they were sent, and within a tool loop none is missing. Another model gets
/// none, and cannot think with a budget in the loop.
fn check_thoughts(body: &Value, messages: &[Value], issued: &Issued) -> Result<(), Refusal> {
    for (place, message) in messages.iter().enumerate() {
        for thought in thoughts(message) {
            let known = issued.signatures.get(&thought.signature);
            ensure(known == Some(&thought.text), || {
                format!("messages.{place}: Invalid `signature` in `thinking` block")
            })?;
        }
    }
    let last_prompt = messages.iter().rposition(is_prompt).unwrap_or(0);
    for message in &messages[last_prompt..] {
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        let Some(call) = ids(blocks, "tool_use", "id").last() else { continue };
        let Some(sent) = issued.thinking_before.get(call) else { continue };
        if issued.callers.get(call).is_some_and(|caller| body["model"] != **caller) {
            ensure(thoughts(message).is_empty(), || {
                "Invalid `signature` in `thinking` block of another model".to_owned()
            })?;
            ensure(body["thinking"]["type"] != "enabled", || {
                "Expected `thinking` or `redacted_thinking`, but found `tool_use`".to_owned()
            })?;
            continue;
        }
        ensure(&thoughts(message) == sent, || {
            "`thinking` blocks in the latest assistant message cannot be modified".to_owned()
        })?;
    }
    Ok(())
}

/// A user message that begins a turn, rather than answer calls.
fn is_prompt(message: &Value) -> bool {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    message["role"] == "user" && !blocks.iter().any(|block| block["type"] == "tool_result")
}

fn thoughts(message: &Value) -> Vec<Thought> {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let thinking = blocks.iter().filter(|block| block["type"] == "thinking");
    let owned = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    thinking
        .map(|block| Thought {
            text: owned(&block["thinking"]),
            signature: owned(&block["signature"]),
        })
        .collect()
}
