//! Parses lines of `--input-format stream-json`. Pure: reads no file.
//!
//! An unreadable line still goes to its recipient, if the line says who that is. It counts as a
//! failed prompt only if it may have been one.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::control::ControlRequest;
use super::stdin::RawLine;
use crate::protocol::prompt::mentioned_paths;
use crate::protocol::{ImageSource, PeerError, UniqueKeys};

/// The maximum length of an error about a line, in characters.
const MAX_ERROR_CHARS: usize = 300;

/// The image types that models accept.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A parsed line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum InputLine {
    /// A prompt, or the error of a line that may have been one.
    Prompt(Result<PromptInput, String>),
    /// A request that expects an answer with its id.
    Request(ControlRequest),
    /// An answer to one of our requests.
    Answer { id: String, answer: Result<Value, PeerError> },
    /// Nothing to do, such as a blank line.
    Nothing,
    /// Not a prompt, and its recipient is unknown. Holds the error.
    Ignored(String),
}

/// A prompt from stdin or the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptInput {
    pub(super) text: String,
    pub(super) images: Vec<ImageSource>,
    /// See [`QueuedPrompt::image_mentions`](crate::protocol::QueuedPrompt::image_mentions).
    pub(super) image_mentions: Vec<String>,
    /// See [`QueuedPrompt::agent_mentions`](crate::protocol::QueuedPrompt::agent_mentions).
    pub(super) agent_mentions: Option<Vec<String>>,
    /// Whether it may start sub-agents.
    pub(super) sub_agents: bool,
    /// Its origin as given by the program, repeated in its result.
    pub(super) origin: Option<Value>,
    /// Its sender's id.
    pub(super) uuid: Option<String>,
}

impl PromptInput {
    /// Creates a prompt that is only text.
    pub fn text(text: String) -> Self {
        Self {
            text,
            images: Vec::new(),
            image_mentions: Vec::new(),
            agent_mentions: None,
            sub_agents: true,
            origin: None,
            uuid: None,
        }
    }

    /// Means the images and agents that `typed`, a part of its text, mentions, and no others.
    #[must_use]
    pub fn with_mentions_of(self, typed: &str) -> Self {
        let images = mentioned_paths(typed).map(|(mark, _)| mark.to_owned()).collect();
        let agent_mentions = Some(vec![typed.to_owned()]);
        Self { image_mentions: images, agent_mentions, ..self }
    }

    /// Returns the content of its message: a text, or blocks if there are images.
    pub fn content(&self) -> Value {
        if self.images.is_empty() {
            return self.text.as_str().into();
        }
        let text = (!self.text.is_empty()).then(|| json!({"type": "text", "text": self.text}));
        let images = self.images.iter().map(|image| json!({"type": "image", "source": image}));
        text.into_iter().chain(images).collect()
    }
}

/// The supported frames.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputFrame {
    User(UserFrame),
    ControlRequest {
        request_id: Value,
        request: UniqueKeys,
    },
    ControlResponse {
        response: ControlResponse,
    },
    /// Cancels a request. Requests are answered at once, so this is always too late.
    ControlCancelRequest {},
    KeepAlive {},
}

#[derive(Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum ControlResponse {
    Success {
        request_id: String,
        #[serde(default)]
        response: UniqueKeys,
    },
    Error {
        request_id: String,
        error: String,
    },
}

#[derive(Deserialize)]
struct UserFrame {
    message: UserMessage,
    parent_tool_use_id: Option<String>,
    subagents: Option<bool>,
    origin: Option<Value>,
    uuid: Option<String>,
}

#[derive(Deserialize)]
struct UserMessage {
    role: UserRole,
    content: UserContent,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum UserRole {
    User,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`content` must be a text or a list of blocks")]
enum UserContent {
    Text(String),
    Blocks(Vec<Value>),
}

impl InputLine {
    /// Parses one line.
    pub fn parse(line: &RawLine) -> Self {
        match line {
            RawLine::Whole(line) if line.trim_ascii().is_empty() => Self::Nothing,
            RawLine::Whole(line) => match serde_json::from_slice::<InputFrame>(line) {
                Ok(frame) => frame.into_line(),
                Err(error) => Self::unreadable(line, &describe_error(&error)),
            },
            RawLine::Cut(limit, head) => Self::unreadable(head, &format!("longer than {limit} MB")),
            RawLine::Failed(why) => Self::Prompt(Err(why.clone())),
        }
    }

    /// Classifies an unreadable line by all or the beginning of it.
    fn unreadable(line: &[u8], why: &str) -> Self {
        let why: String = why.chars().take(MAX_ERROR_CHARS).collect();
        let PartialFrame { kind, id } = PartialFrame::parse(line);
        match (kind.as_deref(), id) {
            (None | Some("user"), _) => Self::Prompt(Err(why)),
            (Some("control_request"), Some(id)) => {
                Self::Request(ControlRequest { id, body: Err(why) })
            }
            (Some("control_response"), Some(Value::String(id))) => {
                let error = PeerError::Unread(format!("the answer cannot be read: {why}"));
                Self::Answer { id, answer: Err(error) }
            }
            (Some(_), _) => Self::Ignored(why),
        }
    }
}

fn describe_error(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => format!("not a JSON object: {error}"),
    }
}

impl InputFrame {
    fn into_line(self) -> InputLine {
        match self {
            Self::User(frame) => InputLine::Prompt(frame.into_prompt()),
            Self::ControlRequest { request_id: id, request } => {
                InputLine::Request(ControlRequest { id, body: Ok(request.0) })
            }
            Self::ControlResponse { response } => match response {
                ControlResponse::Success { request_id: id, response } => {
                    InputLine::Answer { id, answer: Ok(response.0) }
                }
                ControlResponse::Error { request_id: id, error } => {
                    InputLine::Answer { id, answer: Err(PeerError::Refused(error)) }
                }
            },
            Self::ControlCancelRequest {} | Self::KeepAlive {} => InputLine::Nothing,
        }
    }
}

impl UserFrame {
    fn into_prompt(self) -> Result<PromptInput, String> {
        let UserRole::User = self.message.role;
        if self.parent_tool_use_id.is_some() {
            return Err(
                "`parent_tool_use_id` must be null: prompts go to the main agent".to_owned()
            );
        }
        let (text, images) = self.message.content.read()?;
        if text.trim().is_empty() && images.is_empty() {
            return Err("the prompt is blank".to_owned());
        }
        let sub_agents = self.subagents.unwrap_or(true);
        let origin = self.origin.filter(Value::is_object);
        let uuid = self.uuid;
        Ok(PromptInput { images, sub_agents, origin, uuid, ..PromptInput::text(text) })
    }
}

impl UserContent {
    /// Returns the text and the images.
    fn read(self) -> Result<(String, Vec<ImageSource>), String> {
        let blocks = match self {
            Self::Text(text) => return Ok((text, Vec::new())),
            Self::Blocks(blocks) => blocks,
        };
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for mut block in blocks {
            match (block["type"].as_str(), block["text"].as_str()) {
                (Some("text"), Some(text)) => texts.push(text.to_owned()),
                (Some("image"), _) => images.push(image(block["source"].take())?),
                (kind, _) => {
                    let kind = kind.unwrap_or("unknown").escape_debug();
                    return Err(format!(
                        "a block of type {kind} cannot be read: only text and image can"
                    ));
                }
            }
        }
        Ok((texts.join("\n\n"), images))
    }
}

/// Parses an image, which must contain its data.
fn image(source: Value) -> Result<ImageSource, String> {
    if source["type"] != "base64" {
        return Err(
            "the source of an image must be of type base64, with the bytes in it".to_owned()
        );
    }
    let image: ImageSource =
        serde_json::from_value(source).map_err(|error| format!("an image: {error}"))?;
    if !IMAGE_TYPES.contains(&image.media_type.as_str()) {
        let known = IMAGE_TYPES.join(", ");
        let given = image.media_type.escape_debug();
        return Err(format!("an image cannot be of media_type `{given}`: only {known}"));
    }
    match BASE64_STANDARD.decode(&*image.data) {
        Ok(bytes) if !bytes.is_empty() => Ok(image),
        Ok(_) => Err("an image is empty".to_owned()),
        Err(error) => Err(format!("the data of an image is not base64: {error}")),
    }
}

/// The fields that identify a line.
#[derive(Clone, Debug, Default, PartialEq)]
struct PartialFrame {
    /// Its `type`.
    kind: Option<String>,
    /// Its `request_id`, which in an answer is inside `response`.
    id: Option<Value>,
}

impl PartialFrame {
    /// Parses the fields up to where the bytes break off, if they do.
    fn parse(line: &[u8]) -> Self {
        if let Ok(frame) = serde_json::from_slice::<Value>(line) {
            let ids = [&frame["request_id"], &frame["response"]["request_id"]];
            return Self {
                kind: frame["type"].as_str().map(str::to_owned),
                id: ids.into_iter().find(|id| !id.is_null()).cloned(),
            };
        }
        let mut fields = Self::default();
        let mut json = serde_json::Deserializer::from_slice(line);
        // Ignore the error at the end: the fields before it are valid.
        let _ =
            PartialFrameReader { fields: &mut fields, in_response: false }.deserialize(&mut json);
        fields
    }
}

/// Reads the fields of an object in order.
struct PartialFrameReader<'a> {
    fields: &'a mut PartialFrame,
    in_response: bool,
}

impl<'de> DeserializeSeed<'de> for PartialFrameReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PartialFrameReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { fields, in_response } = self;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "type" if !in_response => fields.kind = Some(map.next_value()?),
                "request_id" => fields.id = Some(map.next_value()?),
                "response" if !in_response => {
                    map.next_value_seed(PartialFrameReader {
                        fields: &mut *fields,
                        in_response: true,
                    })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> InputLine {
        InputLine::parse(&RawLine::Whole(text.into()))
    }

    fn parse(line: &Value) -> InputLine {
        whole(&line.to_string())
    }

    fn user(content: &Value) -> Value {
        json!({
            "type": "user", "message": {"role": "user", "content": content},
            "parent_tool_use_id": null, "session_id": "default",
        })
    }

    #[test]
    fn a_user_frame_is_a_prompt_whichever_way_its_text_is_written() {
        let asked = |text: &str, sub_agents| {
            InputLine::Prompt(Ok(PromptInput { sub_agents, ..PromptInput::text(text.to_owned()) }))
        };
        assert_eq!(parse(&user(&json!("go"))), asked("go", true));
        let blocks = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        assert_eq!(parse(&user(&blocks)), asked("a\n\nb", true));
        let mut without = user(&json!("go"));
        without["subagents"] = json!(false);
        assert_eq!(parse(&without), asked("go", false));
    }

    fn image(media_type: &str, data: &str) -> Value {
        let source = json!({"type": "base64", "media_type": media_type, "data": data});
        json!({"type": "image", "source": source})
    }

    #[test]
    fn an_image_may_come_with_a_text_or_alone() {
        let png = image("image/png", "iVBORw0=");
        for (text, blocks) in [
            ("what is it?", json!([png, {"type": "text", "text": "what is it?"}])),
            ("", json!([png])),
        ] {
            let InputLine::Prompt(Ok(asked)) = parse(&user(&blocks)) else { panic!("{blocks}") };
            assert_eq!((asked.text.as_str(), &*asked.images[0].data), (text, "iVBORw0="));
        }
    }

    #[test]
    fn control_frames_are_told_apart_and_blank_lines_are_nothing() {
        let request = json!({
            "type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"},
        });
        let body = json!({"subtype": "initialize"});
        assert_eq!(
            parse(&request),
            InputLine::Request(ControlRequest { id: json!("r1"), body: Ok(body) })
        );
        let response = |body: Value| parse(&json!({"type": "control_response", "response": body}));
        let answer = |answer| InputLine::Answer { id: "c1".to_owned(), answer };
        assert_eq!(
            response(json!({"subtype": "success", "request_id": "c1", "response": {"a": 1}})),
            answer(Ok(json!({"a": 1})))
        );
        assert_eq!(
            response(json!({"subtype": "error", "request_id": "c1", "error": "no"})),
            answer(Err(PeerError::Refused("no".to_owned())))
        );
        // Which of the two counts would be up to the reader.
        let doubled = r#"{"behavior": "deny", "message": "m", "behavior": "allow"}"#;
        let response =
            r#"{"type": "control_response", "response": {"subtype": "success", "request_id": "c1""#;
        let InputLine::Answer { id, answer: Err(PeerError::Unread(why)) } =
            whole(&format!("{response}, \"response\": {doubled}}}}}"))
        else {
            panic!()
        };
        assert!(id == "c1" && why.contains("`behavior` occurs twice"), "{why}");
        let cancel = json!({"type": "control_cancel_request", "request_id": "r1"});
        assert_eq!(parse(&cancel), InputLine::Nothing);
        assert_eq!(whole(" \r"), InputLine::Nothing);
    }

    #[test]
    fn what_cannot_be_read_goes_to_the_one_whom_it_concerns() {
        let prompt = |line: InputLine| matches!(line, InputLine::Prompt(Err(_)));
        let asked = |line: InputLine| match line {
            InputLine::Request(ControlRequest { id, body: Err(_) }) => id,
            other => panic!("{other:?}"),
        };
        let asker = |line: InputLine| match line {
            InputLine::Answer { id, answer: Err(PeerError::Unread(_)) } => id,
            other => panic!("{other:?}"),
        };
        let nobody = |line: InputLine| matches!(line, InputLine::Ignored(_));
        let response = |body: Value| parse(&json!({"type": "control_response", "response": body}));
        assert_eq!(asker(response(json!({"subtype": "odd", "request_id": "c1"}))), "c1");
        assert_eq!(asker(response(json!({"subtype": "error", "request_id": "c1"}))), "c1");
        let cut = |head: &str| InputLine::parse(&RawLine::Cut(16, head.into()));
        let response = r#"{"type": "control_response", "response": {"request_id": "c1", "resp"#;
        assert_eq!(asker(cut(response)), "c1");
        assert_eq!(asked(whole(r#"{"request_id": "r1", "type": "control_request"}"#)), "r1");
        assert_eq!(asked(whole(r#"{"type": "control_request", "request_id": 7, "requ"#)), 7);
        for line in [
            r#"{"type": "control_response"}"#,
            r#"{"type": "control_response", "response": {"request_id": 1}}"#,
            r#"{"type": "control_request", "request": {}}"#,
            r#"{"type": "keep_alive", "#,
            r#"{"type": "usr"}"#,
        ] {
            assert!(nobody(whole(line)), "{line}");
        }
        for line in ["[1]", "5", "{", r#"{"type": 5}"#, r#"{"type": "user"}"#, "\u{1}"] {
            assert!(prompt(whole(line)), "{line}");
        }
        assert!(prompt(cut(r#"{"type": "user", "message"#)));
        let long = "x".repeat(9000);
        let InputLine::Ignored(why) = parse(&json!({"type": long})) else { panic!("{long}") };
        assert!(why.len() < 400, "{why}");
    }

    #[test]
    fn every_mistake_says_what_it_is() {
        let mut flag = user(&json!("go"));
        flag["subagents"] = json!("no");
        let mut parent = user(&json!("go"));
        parent["parent_tool_use_id"] = json!("toolu_1");
        let mut role = user(&json!("go"));
        role["message"]["role"] = json!("assistant");
        let table = [
            (json!({"message": "x"}), "missing field `type`"),
            (json!([1]), "invalid type"),
            (user(&json!(7)), "`content` must be a text or a list of blocks"),
            (user(&json!(" \n")), "the prompt is blank"),
            (user(&json!([])), "the prompt is blank"),
            (user(&json!([{"type": "audio"}])), "a block of type audio cannot be read"),
            (user(&json!([{"type": "image"}])), "must be of type base64"),
            (user(&json!([image("image/tiff", "AAAA")])), "`image/tiff`"),
            (user(&json!([image("image/png", "A~")])), "not base64"),
            (user(&json!([image("image/png", "")])), "empty"),
            (flag, "expected a boolean"),
            (parent, "`parent_tool_use_id` must be null"),
            (role, "unknown variant `assistant`"),
        ];
        for (line, expected) in table {
            let InputLine::Prompt(Err(error)) = parse(&line) else { panic!("{line}") };
            assert!(error.contains(expected), "{line}: {error}");
        }
        for line in ["{\"type\": ".into(), b"\xff".to_vec()] {
            let InputLine::Prompt(Err(error)) = InputLine::parse(&RawLine::Whole(line)) else {
                panic!()
            };
            assert!(error.starts_with("not a JSON object"), "{error}");
        }
    }
}
