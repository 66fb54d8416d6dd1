//! What the Gemini API refuses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::gemini::is_newer;
use super::{Issued, Refusal, ensure, is_tool_name, items, only_fields};

const BODY: &[&str] = &["contents", "systemInstruction", "tools", "toolConfig", "generationConfig"];
const LEVELS: &[&str] = &["MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"];
/// What the API takes on a call that it did not make.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Checks one request body for a model.
pub fn check(model: &str, body: &Value, issued: &Issued) -> Result<(), Refusal> {
    ensure(!model.is_empty(), || "model is not specified".to_owned())?;
    only_fields(body, BODY, "body")?;
    check_config(model, &body["generationConfig"])?;
    check_tools(body)?;
    check_choice(body)?;
    if let Some(system) = body.get("systemInstruction") {
        only_fields(system, &["parts"], "systemInstruction")?;
        let text = system["parts"][0]["text"].as_str().unwrap_or_default();
        ensure(!text.trim().is_empty(), || "systemInstruction: empty".to_owned())?;
    }
    let contents = items(body, "contents")?;
    check_roles(contents)?;
    for (place, content) in contents.iter().enumerate() {
        check_content(content, &format!("contents[{place}]"))?;
    }
    check_pairs(contents)?;
    let newer = is_newer(model);
    contents.iter().try_for_each(|content| check_signatures(content, newer, issued))
}

fn check_config(model: &str, config: &Value) -> Result<(), Refusal> {
    only_fields(config, &["maxOutputTokens", "thinkingConfig"], "generationConfig")?;
    ensure(config["maxOutputTokens"].as_u64().is_some_and(|most| most > 0), || {
        "generationConfig.maxOutputTokens must be positive".to_owned()
    })?;
    let thinking = &config["thinkingConfig"];
    if thinking.is_null() {
        return Ok(());
    }
    let fields = ["includeThoughts", "thinkingBudget", "thinkingLevel"];
    only_fields(thinking, &fields, "thinkingConfig")?;
    let level = thinking.get("thinkingLevel").map(|level| level.as_str().unwrap_or_default());
    ensure(level.is_none_or(|level| LEVELS.contains(&level)), || {
        format!("Invalid value at 'thinking_level': {level:?}")
    })?;
    let older = model.starts_with("gemini-2.");
    ensure(!(older && level.is_some()), || {
        "Thinking level is not supported for this model.".to_owned()
    })?;
    ensure(!model.starts_with("gemini-2.0"), || {
        "Unable to submit request because Thinking_config is only supported when enable_thinking \
         is true."
            .to_owned()
    })?;
    ensure(level.is_none() || thinking.get("thinkingBudget").is_none(), || {
        "You can only set only one of thinking budget and thinking level.".to_owned()
    })
}

fn declarations(body: &Value) -> Result<Vec<&Value>, Refusal> {
    let mut all = Vec::new();
    for tool in items(body, "tools")? {
        only_fields(tool, &["functionDeclarations"], "tools")?;
        all.extend(items(tool, "functionDeclarations")?);
    }
    Ok(all)
}

fn check_tools(body: &Value) -> Result<(), Refusal> {
    let tools = declarations(body)?;
    ensure(body.get("tools").is_none() || !tools.is_empty(), || "tools: empty".to_owned())?;
    let mut names = BTreeSet::new();
    for tool in tools {
        let fields = ["name", "description", "parametersJsonSchema"];
        only_fields(tool, &fields, "functionDeclarations")?;
        let name = tool["name"].as_str().unwrap_or_default();
        ensure(is_tool_name(name, 128), || format!("Invalid function name: `{name}`"))?;
        ensure(names.insert(name), || format!("Duplicate function declaration found: {name}"))?;
        ensure(tool["parametersJsonSchema"]["type"] == "object", || {
            format!("{name}: parameters schema should be of type OBJECT")
        })?;
    }
    Ok(())
}

fn check_choice(body: &Value) -> Result<(), Refusal> {
    let Some(config) = body.get("toolConfig") else { return Ok(()) };
    only_fields(config, &["functionCallingConfig"], "toolConfig")?;
    let calling = &config["functionCallingConfig"];
    only_fields(calling, &["mode", "allowedFunctionNames"], "functionCallingConfig")?;
    let tools = declarations(body)?;
    if calling["mode"] == "NONE" {
        let names = calling.get("allowedFunctionNames");
        return ensure(!tools.is_empty() && names.is_none(), || {
            format!("functionCallingConfig: {calling}")
        });
    }
    let allowed = items(calling, "allowedFunctionNames")?;
    let known = allowed.iter().all(|name| tools.iter().any(|tool| tool["name"] == *name));
    ensure(calling["mode"] == "ANY" && known, || format!("functionCallingConfig: {calling}"))
}

/// The user begins and ends, and the two speak in turn.
fn check_roles(contents: &[Value]) -> Result<(), Refusal> {
    ensure(contents.len() % 2 == 1, || "contents: must end with the user's turn".to_owned())?;
    for (place, content) in contents.iter().enumerate() {
        let expected = if place % 2 == 0 { "user" } else { "model" };
        ensure(content["role"] == expected, || format!("contents[{place}].role: {expected}"))?;
    }
    Ok(())
}

fn check_content(content: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(content, &["role", "parts"], place)?;
    let parts = items(content, "parts")?;
    ensure(!parts.is_empty(), || format!("{place}: must include at least one parts field"))?;
    let user = content["role"] == "user";
    for part in parts {
        let Some(fields) = part.as_object() else { return Err(format!("{place}: no part")) };
        let data: Vec<_> = fields.keys().filter(|field| *field != "thoughtSignature").collect();
        ensure(data.len() == 1, || format!("{place}: not one kind of data in {part}"))?;
        match (data[0].as_str(), user) {
            ("text", _) => {
                let text = part["text"].as_str().unwrap_or_default();
                let signed = part["thoughtSignature"].is_string();
                ensure(!text.trim().is_empty() || signed, || format!("{place}: empty text"))?;
            }
            ("inlineData", true) => check_image(part, place)?,
            ("functionResponse", true) => check_response(&part["functionResponse"], place)?,
            ("functionCall", false) => check_call(&part["functionCall"], place)?,
            (other, _) => return Err(format!("{place}: a `{other}` does not belong here")),
        }
    }
    Ok(())
}

fn check_image(part: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(&part["inlineData"], &["mimeType", "data"], place)?;
    let kind = part["inlineData"]["mimeType"].as_str().unwrap_or_default();
    let known = kind.starts_with("image/") || kind == "application/pdf";
    ensure(known, || format!("{place}: Unsupported MIME type: {kind}"))
}

fn check_call(call: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(call, &["id", "name", "args"], place)?;
    let name = call["name"].as_str().unwrap_or_default();
    ensure(is_tool_name(name, 128), || format!("{place}: Invalid function name: `{name}`"))?;
    ensure(call["args"].is_object(), || format!("{place}: args must be a Struct"))
}

fn check_response(response: &Value, place: &str) -> Result<(), Refusal> {
    only_fields(response, &["id", "name", "response", "parts"], place)?;
    only_fields(&response["response"], &["output", "error"], place)?;
    let says = response["response"].as_object().is_some_and(|fields| fields.len() == 1);
    ensure(says, || format!("{place}: response: neither output nor error"))?;
    items(response, "parts")?.iter().try_for_each(|part| check_image(part, place))
}

fn data<'a>(content: &'a Value, kind: &'a str) -> Vec<&'a Value> {
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    parts.iter().filter_map(|part| part.get(kind)).collect()
}

/// After calls come their results, first of all, as many and in the same order.
fn check_pairs(contents: &[Value]) -> Result<(), Refusal> {
    let mut ids = BTreeSet::new();
    let mut open: Vec<&Value> = Vec::new();
    for (place, content) in contents.iter().enumerate() {
        let responses = data(content, "functionResponse");
        let led = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
        let led = led.iter().take_while(|part| part.get("functionResponse").is_some()).count();
        let alike = |(call, response): (&&Value, &&Value)| {
            call["name"] == response["name"] && call["id"] == response["id"]
        };
        let fits = responses.len() == open.len() && open.iter().zip(&responses).all(alike);
        ensure(fits && led == responses.len(), || {
            format!(
                "contents[{place}]: Please ensure that the number of function response parts is \
                 equal to the number of function call parts of the function call turn."
            )
        })?;
        open = data(content, "functionCall");
        for id in open.iter().filter_map(|call| call["id"].as_str()) {
            ensure(ids.insert(id), || format!("duplicate id {id}"))?;
        }
    }
    ensure(open.is_empty(), || "a call without its response".to_owned())
}

/// Each signature stands where it stood, and no call lacks the one that it came with.
fn check_signatures(content: &Value, newer: bool, issued: &Issued) -> Result<(), Refusal> {
    let mut first = true;
    for part in content["parts"].as_array().map_or(&[][..], Vec::as_slice) {
        let signature = part["thoughtSignature"].as_str();
        let Some(call) = part.get("functionCall") else {
            let known = signature.is_none_or(|own| issued.text_signatures.contains(own));
            ensure(known, || format!("Corrupted thought signature: {part}"))?;
            continue;
        };
        let (name, first) = (&call["name"], std::mem::replace(&mut first, false));
        let id = call["id"].as_str();
        ensure(newer || id.is_none(), || format!("{name}: this model knows no id `{id:?}`"))?;
        match id.and_then(|id| issued.call_signatures.get(id)) {
            Some(sent) => ensure(signature == sent.as_deref(), || {
                format!("Function call {name} is missing its thought_signature: {signature:?}")
            })?,
            None => {
                ensure(signature.is_some() || !(newer && first), || {
                    format!("Function call {name} is missing a thought_signature.")
                })?;
                let known = |own| {
                    own == UNSIGNED || issued.call_signatures.values().flatten().any(|it| it == own)
                };
                ensure(signature.is_none_or(known), || "Corrupted thought signature.".to_owned())?;
            }
        }
    }
    Ok(())
}
