//! Converts a server's results to content for the model.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::exec::{Capture, OutputCleaner};
use crate::media::{image_type, prepare};
use crate::protocol::{Failure, ImageSource, ResultBlock};
use crate::tool::api::{ToolError, ToolOutcome};

/// Maximum characters of all texts of a result together, from the start and from the end.
const TEXT_LIMITS: (usize, usize) = (60_000, 20_000);

/// Maximum size of an image for the model, in bytes.
const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// Maximum images of one result for the model.
const MAX_IMAGES: usize = 8;

/// The image types that models read.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Converts the result of a call. `soften` leaves violations of autonomy to the model instead of ending the run.
///
/// # Errors
///
/// When the server says that the run must end: see [`fatal`].
pub fn outcome(result: &Value, soften: bool) -> Result<ToolOutcome, ToolError> {
    let is_error = result["isError"] == true;
    let mut reading = ResultBuilder::default();
    for block in result["content"].as_array().into_iter().flatten() {
        reading.block(block);
    }
    let structured = &result["structuredContent"];
    if reading.is_empty() && !structured.is_null() {
        reading.text(&structured.to_string());
    }
    let content = reading.finish();
    if is_error && let Some(failure) = fatal(structured) {
        let message = structured["error"]["message"].as_str().unwrap_or("no reason given");
        let message = OutputCleaner::clean(message);
        if failure != Failure::Autonomy || !soften {
            return Err(ToolError::fatal(failure, message));
        }
    }
    let summary = summary(&content, is_error);
    Ok(ToolOutcome { content, is_error, summary, details: None })
}

/// Returns the failure of an error result that the model cannot fix: its structured content says
/// `{"error": {"kind": "autonomy" | "auth", "message": "…"}}`.
fn fatal(structured: &Value) -> Option<Failure> {
    match structured["error"]["kind"].as_str()? {
        "autonomy" => Some(Failure::Autonomy),
        "auth" => Some(Failure::Auth),
        _ => None,
    }
}

/// Makes images as small as models read them. One that cannot be decoded stays as it is. Blocks.
pub fn with_small_images(mut outcome: ToolOutcome) -> ToolOutcome {
    for block in &mut outcome.content {
        if let ResultBlock::Image { source } = block
            && let Ok(bytes) = STANDARD.decode(&*source.data)
            && let Ok(image) = prepare(&bytes)
        {
            *source = image.source;
        }
    }
    outcome
}

fn summary(content: &[ResultBlock], is_error: bool) -> String {
    let images = content.iter().filter(|block| matches!(block, ResultBlock::Image { .. })).count();
    let text = content.iter().find_map(|block| match block {
        ResultBlock::Text { text } => Some(text.as_str()),
        ResultBlock::Image { .. } | ResultBlock::Document { .. } => None,
    });
    let lines = text.map_or(0, |text| text.lines().count());
    match (is_error, images, lines) {
        (true, ..) => "error".to_owned(),
        (_, 0, 0) => "no output".to_owned(),
        (_, 0, 1) => "1 line".to_owned(),
        (_, 0, lines) => format!("{lines} lines"),
        (_, 1, _) => "1 image".to_owned(),
        (_, images, _) => format!("{images} images"),
    }
}

/// The blocks of one result, in order; consecutive texts are joined.
#[derive(Default)]
struct ResultBuilder {
    texts: Vec<String>,
    /// Each image with the number of texts before it.
    images: Vec<(usize, ImageSource)>,
}

impl ResultBuilder {
    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.images.is_empty()
    }

    fn text(&mut self, text: &str) {
        let clean = OutputCleaner::clean(text);
        if !clean.trim().is_empty() {
            self.texts.push(clean);
        }
    }

    fn block(&mut self, block: &Value) {
        let field = |name: &str| block[name].as_str().unwrap_or_default();
        match block["type"].as_str().unwrap_or_default() {
            "text" => self.text(field("text")),
            "image" => self.image(field("mimeType"), field("data")),
            "audio" => self.text(&format!("[audio of type {}: not shown]", field("mimeType"))),
            "resource" => self.resource(&block["resource"]),
            "resource_link" => {
                let about = [field("name"), field("description")].join(" ");
                self.text(&format!("[resource {}: {}]", field("uri"), about.trim()));
            }
            other => self.text(&format!("[content of type {other:?}: not shown]")),
        }
    }

    fn resource(&mut self, resource: &Value) {
        let field = |name: &str| resource[name].as_str().unwrap_or_default();
        let (uri, kind) = (field("uri"), field("mimeType"));
        match (resource["text"].as_str(), resource["blob"].as_str()) {
            (Some(text), _) => self.text(&format!("[resource {uri}]\n{text}")),
            (None, Some(blob)) if IMAGE_TYPES.contains(&kind) => self.image(kind, blob),
            _ => self.text(&format!("[resource {uri} of type {kind}: not shown]")),
        }
    }

    fn image(&mut self, media_type: &str, data: &str) {
        let why = match STANDARD.decode(data) {
            _ if !IMAGE_TYPES.contains(&media_type) => "models cannot read this type",
            _ if self.images.len() == MAX_IMAGES => "too many images",
            Err(_) => "it is not valid base64",
            Ok(bytes) if bytes.is_empty() => "it is empty",
            Ok(bytes) if bytes.len() > MAX_IMAGE_BYTES => "it is larger than 5 MB",
            // A provider refuses an image of another type than declared, and every further request
            // of the conversation with it.
            Ok(bytes) => match image_type(&bytes) {
                None => "it is not an image that models can read",
                Some(found) => {
                    let source = ImageSource { media_type: found.to_owned(), data: data.into() };
                    return self.images.push((self.texts.len(), source));
                }
            },
        };
        self.text(&format!("[image of type {media_type}: not shown, {why}]"));
    }

    fn finish(self) -> Vec<ResultBlock> {
        let total: usize = self.texts.iter().map(|text| text.chars().count()).sum();
        let mut images = self.images.into_iter().peekable();
        let mut content = Vec::new();
        if total > TEXT_LIMITS.0 + TEXT_LIMITS.1 {
            // Positions are lost when the text is cut.
            let mut capture = Capture::new(TEXT_LIMITS);
            self.texts.iter().for_each(|text| {
                capture.push(text);
                capture.push("\n");
            });
            content.push(ResultBlock::text(capture.finish().text));
        } else {
            for (at, text) in self.texts.into_iter().enumerate() {
                while let Some((_, source)) = images.next_if(|(before, _)| *before <= at) {
                    content.push(ResultBlock::Image { source });
                }
                match content.last_mut() {
                    Some(ResultBlock::Text { text: last }) => {
                        last.push('\n');
                        last.push_str(&text);
                    }
                    _ => content.push(ResultBlock::text(text)),
                }
            }
        }
        content.extend(images.map(|(_, source)| ResultBlock::Image { source }));
        content
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(result: &Value) -> ToolOutcome {
        outcome(result, false).unwrap()
    }

    fn texts(outcome: &ToolOutcome) -> Vec<String> {
        let text = |block: &ResultBlock| match block {
            ResultBlock::Text { text } => text.clone(),
            ResultBlock::Image { source } => format!("<{}>", source.media_type),
            ResultBlock::Document { name, .. } => format!("<{name}>"),
        };
        outcome.content.iter().map(text).collect()
    }

    #[test]
    fn every_kind_of_content_is_read_or_named() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n");
        let gif = STANDARD.encode(b"GIF89a");
        let outcome = read(&json!({"content": [
            {"type": "text", "text": "one\u{1b}[31m"},
            {"type": "text", "text": "two"},
            {"type": "image", "mimeType": "image/png", "data": png},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "image/png", "blob": gif}},
            {"type": "resource", "resource": {"uri": "file:///c", "mimeType": "a/b", "blob": png}},
            {"type": "resource_link", "uri": "file:///d", "name": "d", "description": "the d"},
            {"type": "audio", "mimeType": "audio/wav", "data": png},
            {"type": "image", "mimeType": "image/tiff", "data": png},
            {"type": "image", "mimeType": "image/png", "data": "!"},
            {"type": "image", "mimeType": "image/png", "data": STANDARD.encode(b"png")},
            {"type": "hologram"},
        ]}));
        let rest = [
            "[resource file:///c of type a/b: not shown]",
            "[resource file:///d: d the d]",
            "[audio of type audio/wav: not shown]",
            "[image of type image/tiff: not shown, models cannot read this type]",
            "[image of type image/png: not shown, it is not valid base64]",
            "[image of type image/png: not shown, it is not an image that models can read]",
            "[content of type \"hologram\": not shown]",
        ];
        assert_eq!(
            texts(&outcome),
            [
                "one\ntwo",
                "<image/png>",
                "[resource file:///a]\ninside",
                "<image/gif>",
                &rest.join("\n")
            ]
        );
        assert!(!outcome.is_error);
    }

    #[test]
    fn structured_content_stands_in_for_missing_content() {
        let only = read(&json!({"structuredContent": {"a": 1}}));
        assert_eq!(texts(&only), [r#"{"a":1}"#]);
        let both = read(
            &json!({"structuredContent": {"a": 1}, "content": [{"type": "text", "text": "a is 1"}]}),
        );
        assert_eq!(texts(&both), ["a is 1"]);
    }

    #[test]
    fn a_long_result_is_cut_and_says_so() {
        let long = "x".repeat(200_000);
        let outcome = read(&json!({"content": [{"type": "text", "text": long}]}));
        let [text] = texts(&outcome).try_into().unwrap();
        assert!(text.chars().count() < 81_000, "{}", text.len());
        assert!(text.contains("characters (1 lines) left out …") || text.contains("left out …"));
    }

    #[test]
    fn a_typed_error_is_fatal_and_any_other_is_not() {
        let with = |kind: &str, is_error: bool| {
            json!({"isError": is_error, "content": [{"type": "text", "text": "no"}],
                   "structuredContent": {"error": {"kind": kind, "message": "key refused"}}})
        };
        let fatal = |kind| Err(ToolError::fatal(kind, "key refused"));
        assert_eq!(outcome(&with("auth", true), false), fatal(Failure::Auth));
        assert_eq!(outcome(&with("autonomy", true), false), fatal(Failure::Autonomy));
        for (kind, is_error, soften) in
            [("auth", false, false), ("rate_limit", true, false), ("autonomy", true, true)]
        {
            let soft = outcome(&with(kind, is_error), soften).unwrap();
            assert_eq!((texts(&soft), soft.is_error), (vec!["no".to_owned()], is_error), "{kind}");
        }
        assert_eq!(outcome(&with("auth", true), true), fatal(Failure::Auth));
    }
}
