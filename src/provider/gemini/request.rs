//! Conversations as bodies of the Gemini API.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::super::api::{ModelRequest, ToolChoice};
use super::super::turns::{Turn, result_pieces, turns};
use super::bare;
use super::signature::SignedContent;
use crate::config::models::Thinking;
use crate::protocol::{ContentBlock, ImageSource, ResultBlock, Role, ToolUseId};
use crate::tool::ToolSpec;

/// Name prefixes of models that do not insist on signatures, and accept no images in results.
const LEGACY_MODELS: [&str; 2] = ["gemini-1", "gemini-2"];

/// The signature that the API documents for a call that it did not make itself.
const SKIP_SIGNATURE: &str = "skip_thought_signature_validator";

/// Builds the body of a request.
pub(super) fn body(request: &ModelRequest<'_>) -> serde_json::Result<Vec<u8>> {
    let mut contents =
        ContentsBuilder { is_newer: is_newer(request.model), ..ContentsBuilder::default() };
    for turn in turns(request.messages, is_sent) {
        match turn.role {
            Role::User => contents.user(&turn),
            Role::Assistant => contents.model(&turn),
        }
    }
    let has_system = !request.system.trim().is_empty();
    let body = GeminiRequest {
        system_instruction: has_system
            .then(|| GeminiParts::build(GeminiPart::text(request.system))),
        tools: GeminiTool::build(request.tools),
        tool_config: tool_config(request),
        generation_config: GenerationConfig {
            max_output_tokens: request.max_tokens,
            thinking_config: thinking(request),
        },
        contents: contents.all,
    };
    serde_json::to_vec(&body)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<GeminiParts<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[GeminiTool<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Value>,
    generation_config: GenerationConfig,
    contents: Vec<GeminiContent<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTool<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

impl<'a> GeminiTool<'a> {
    fn build(tools: &'a [ToolSpec]) -> Option<[Self; 1]> {
        let declare = |tool: &'a ToolSpec| {
            let ToolSpec { name, description, input_schema } = tool;
            FunctionDeclaration { name, description, parameters_json_schema: input_schema }
        };
        let function_declarations: Vec<_> = tools.iter().map(declare).collect();
        (!tools.is_empty()).then_some([Self { function_declarations }])
    }
}

#[derive(Serialize)]
struct GeminiParts<'a> {
    parts: Vec<GeminiPart<'a>>,
}

impl<'a> GeminiParts<'a> {
    fn build(part: GeminiPart<'a>) -> Self {
        Self { parts: vec![part] }
    }
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    role: &'static str,
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(flatten)]
    data: GeminiPartData<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum GeminiPartData<'a> {
    Text(&'a str),
    #[serde(rename = "inlineData")]
    Image(Blob<'a>),
    FunctionCall(FunctionCall<'a>),
    FunctionResponse(FunctionResponse<'a>),
}

impl<'a> From<GeminiPartData<'a>> for GeminiPart<'a> {
    fn from(data: GeminiPartData<'a>) -> Self {
        Self { data, thought_signature: None }
    }
}

impl<'a> GeminiPart<'a> {
    fn text(text: &'a str) -> Self {
        GeminiPartData::Text(text).into()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: &'a Value,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: FunctionOutcome,
    /// Images, for models that accept them here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum FunctionOutcome {
    Output(String),
    Error(String),
}

/// The conversation as it grows.
#[derive(Default)]
struct ContentsBuilder<'a> {
    is_newer: bool,
    /// Tool names of the calls so far.
    names: HashMap<&'a ToolUseId, &'a str>,
    all: Vec<GeminiContent<'a>>,
}

impl<'a> ContentsBuilder<'a> {
    /// Adds the results first, in the order of their calls, then the rest.
    fn user(&mut self, turn: &Turn<'a>) {
        let (mut parts, mut rest) = (Vec::new(), Vec::new());
        for block in &turn.blocks {
            match block {
                ContentBlock::ToolResult { tool_use_id, content, is_error, .. } => {
                    let (text, mut images) = result(content);
                    if !self.is_newer {
                        rest.append(&mut images);
                    }
                    parts.push(GeminiPart::from(GeminiPartData::FunctionResponse(
                        FunctionResponse {
                            id: provider_id(tool_use_id),
                            name: self.names.get(tool_use_id).copied().unwrap_or("unknown"),
                            response: if *is_error {
                                FunctionOutcome::Error(text)
                            } else {
                                FunctionOutcome::Output(text)
                            },
                            parts: images,
                        },
                    )));
                }
                ContentBlock::Text { text, .. } => rest.push(GeminiPart::text(text)),
                ContentBlock::Image { source, .. } => rest.push(image(source)),
                _ => {}
            }
        }
        parts.append(&mut rest);
        match self.all.last_mut() {
            Some(last) if last.role == "user" => last.parts.append(&mut parts),
            _ => self.all.push(GeminiContent { role: "user", parts }),
        }
    }

    fn model(&mut self, turn: &Turn<'a>) {
        let mut parts = Vec::new();
        let mut signature = None;
        let mut says = false;
        for block in &turn.blocks {
            match block {
                ContentBlock::Thinking { signature: sealed, .. } => {
                    match SignedContent::decode(sealed) {
                        Some(SignedContent::Call(own)) => signature = Some(own),
                        Some(SignedContent::Text(own)) => {
                            parts.push(GeminiPart {
                                data: GeminiPartData::Text(""),
                                thought_signature: Some(own),
                            });
                        }
                        None => {}
                    }
                }
                ContentBlock::Text { text, .. } => {
                    says = true;
                    parts.push(GeminiPart::text(text));
                }
                ContentBlock::ToolUse { id, name, input, .. } => {
                    says = true;
                    self.names.insert(id, name);
                    let data = GeminiPartData::FunctionCall(FunctionCall {
                        id: provider_id(id),
                        name,
                        args: input,
                    });
                    parts.push(GeminiPart { data, thought_signature: signature.take() });
                }
                _ => {}
            }
        }
        if self.is_newer {
            sign_first_call(&mut parts);
        }
        // A signature alone is no answer.
        if says {
            self.all.push(GeminiContent { role: "model", parts });
        }
    }
}

/// Newer models refuse an answer whose first call has no signature, as one from elsewhere.
fn sign_first_call(parts: &mut [GeminiPart<'_>]) {
    let first = parts.iter_mut().find(|part| matches!(part.data, GeminiPartData::FunctionCall(_)));
    if let Some(part) = first {
        part.thought_signature.get_or_insert(SKIP_SIGNATURE);
    }
}

/// Thoughts themselves are not sent back, only the parts they signed.
fn is_sent(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Thinking { signature, .. } => SignedContent::decode(signature).is_some(),
        ContentBlock::RedactedThinking { .. } => false,
        _ => true,
    }
}

fn is_newer(model: &str) -> bool {
    let model = bare(model);
    model.starts_with("gemini") && !LEGACY_MODELS.iter().any(|older| model.starts_with(older))
}

/// Returns the id from the server: older models give none, and expect none.
fn provider_id(id: &ToolUseId) -> Option<&str> {
    (!id.is_generated()).then(|| id.as_str())
}

/// Returns the text of a result for the model, and its images and documents.
fn result(content: &[ResultBlock]) -> (String, Vec<GeminiPart<'_>>) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for piece in result_pieces(content) {
        match piece {
            ResultBlock::Text { text } => texts.push(text.as_str()),
            ResultBlock::Image { source } => {
                texts.push("(The image is attached to this text.)");
                images.push(image(source));
            }
            ResultBlock::Document { source, .. } => {
                texts.push("(The PDF is attached to this text.)");
                images.push(image(source));
            }
        }
    }
    let text = if texts.is_empty() { "(no output)".to_owned() } else { texts.join("\n") };
    (text, images)
}

fn image(source: &ImageSource) -> GeminiPart<'_> {
    let ImageSource { media_type, data } = source;
    GeminiPartData::Image(Blob { mime_type: media_type, data }).into()
}

/// Forces the given tool, if the request offers it, or forbids all.
fn tool_config(request: &ModelRequest<'_>) -> Option<Value> {
    match request.tool_choice {
        ToolChoice::Tool(name) if request.offers(name) => Some(json!({
            "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": [name] },
        })),
        ToolChoice::None if request.forbids_calls() => {
            Some(json!({ "functionCallingConfig": { "mode": "NONE" } }))
        }
        ToolChoice::Tool(_) | ToolChoice::None | ToolChoice::Auto => None,
    }
}

/// The API accepts a level or a budget, not both: the user's setting wins over the catalogue's.
fn thinking(request: &ModelRequest<'_>) -> Option<ThinkingConfig> {
    let level = request.effort.map(str::to_ascii_uppercase);
    let budget = match request.thinking {
        Thinking::Budget(budget) if level.is_none() => Some(budget),
        _ => None,
    };
    let include_thoughts = request.thinking.is_on();
    let asked = include_thoughts || level.is_some();
    asked.then_some(ThinkingConfig {
        include_thoughts,
        thinking_budget: budget,
        thinking_level: level,
    })
}

#[cfg(test)]
mod tests;
