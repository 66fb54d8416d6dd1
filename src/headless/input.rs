//! Lines of `--input-format stream-json`: one line of stdin into what it is. Pure: reads no file.
//!
//! What cannot be read goes to the one whom it concerns all the same, as far as the line says who
//! that is: only what may have been meant as a prompt is one that failed.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;
use serde_json::{Value, json};

use super::claim::Claim;
use super::control::Request;
use super::stdin::RawLine;
use crate::protocol::ImageSource;

/// The most of what is wrong with a line that is told. Characters.
const WHY_LIMIT: usize = 300;

/// What models can see.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What one line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    /// A prompt, or what is wrong with the line that may have been meant as one.
    Prompt(Result<Asked, String>),
    /// A request that waits for an answer by its id.
    Request(Request),
    /// An answer to a question of ours.
    Answer { id: String, answer: Result<Value, String> },
    /// Nothing, such as a blank line.
    Nothing,
    /// No prompt, and nobody knows whom it concerns: why it cannot be used.
    Useless(String),
}

/// A prompt as a program sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub text: String,
    pub images: Vec<ImageSource>,
    /// Whether sub-agents may be started for it.
    pub sub_agents: bool,
    /// Who the program says has written it; its result says so again.
    pub origin: Option<Value>,
    /// The id that its sender gave it.
    pub uuid: Option<String>,
}

impl Asked {
    /// A prompt of nothing but a text.
    pub fn text(text: String) -> Self {
        Self { text, images: Vec::new(), sub_agents: true, origin: None, uuid: None }
    }

    /// The content of the message that it came in: a text, or blocks if there are images.
    pub fn content(&self) -> Value {
        if self.images.is_empty() {
            return self.text.as_str().into();
        }
        let text = (!self.text.is_empty()).then(|| json!({"type": "text", "text": self.text}));
        let images = self.images.iter().map(|image| json!({"type": "image", "source": image}));
        text.into_iter().chain(images).collect()
    }
}

/// The frames that may come in.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Frame {
    User(UserFrame),
    ControlRequest {
        request_id: Value,
        request: Value,
    },
    ControlResponse {
        response: Response,
    },
    /// Takes a request back. Each is answered at once, so this comes too late.
    ControlCancelRequest {},
    KeepAlive {},
}

#[derive(Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Response {
    Success {
        request_id: String,
        #[serde(default)]
        response: Value,
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
    role: Role,
    content: Content,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`content` must be a text or a list of blocks")]
enum Content {
    Text(String),
    Blocks(Vec<Value>),
}

impl Line {
    /// Reads one line.
    pub fn of(line: &RawLine) -> Self {
        match line {
            RawLine::Whole(line) if line.trim_ascii().is_empty() => Self::Nothing,
            RawLine::Whole(line) => match serde_json::from_slice::<Frame>(line) {
                Ok(frame) => frame.line(),
                Err(error) => Self::unread(line, &words(&error)),
            },
            RawLine::Cut(limit, head) => Self::unread(head, &format!("longer than {limit} MB")),
            RawLine::Failed(why) => Self::Prompt(Err(why.clone())),
        }
    }

    /// A line that cannot be read, of which this is the beginning or all.
    fn unread(line: &[u8], why: &str) -> Self {
        let why: String = why.chars().take(WHY_LIMIT).collect();
        let Claim { kind, id } = Claim::of(line);
        match (kind.as_deref(), id) {
            (None | Some("user"), _) => Self::Prompt(Err(why)),
            (Some("control_request"), Some(id)) => Self::Request(Request { id, body: Err(why) }),
            (Some("control_response"), Some(Value::String(id))) => {
                Self::Answer { id, answer: Err(format!("the answer cannot be read: {why}")) }
            }
            (Some(_), _) => Self::Useless(why),
        }
    }
}

fn words(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => format!("not a JSON object: {error}"),
    }
}

impl Frame {
    fn line(self) -> Line {
        match self {
            Self::User(frame) => Line::Prompt(frame.prompt()),
            Self::ControlRequest { request_id: id, request } => {
                Line::Request(Request { id, body: Ok(request) })
            }
            Self::ControlResponse { response } => match response {
                Response::Success { request_id: id, response } => {
                    Line::Answer { id, answer: Ok(response) }
                }
                Response::Error { request_id: id, error } => {
                    Line::Answer { id, answer: Err(error) }
                }
            },
            Self::ControlCancelRequest {} | Self::KeepAlive {} => Line::Nothing,
        }
    }
}

impl UserFrame {
    fn prompt(self) -> Result<Asked, String> {
        let Role::User = self.message.role;
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
        Ok(Asked { text, images, sub_agents, origin, uuid: self.uuid })
    }
}

impl Content {
    /// The text and the images.
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

/// An image that came with its bytes.
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
    match BASE64_STANDARD.decode(&image.data) {
        Ok(bytes) if !bytes.is_empty() => Ok(image),
        Ok(_) => Err("an image is empty".to_owned()),
        Err(error) => Err(format!("the data of an image is not base64: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Line {
        Line::of(&RawLine::Whole(text.into()))
    }

    fn parse(line: &Value) -> Line {
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
            Line::Prompt(Ok(Asked { sub_agents, ..Asked::text(text.to_owned()) }))
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
            let Line::Prompt(Ok(asked)) = parse(&user(&blocks)) else { panic!("{blocks}") };
            assert_eq!((asked.text.as_str(), asked.images[0].data.as_str()), (text, "iVBORw0="));
        }
    }

    #[test]
    fn control_frames_are_told_apart_and_blank_lines_are_nothing() {
        let request = json!({
            "type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"},
        });
        let body = json!({"subtype": "initialize"});
        assert_eq!(parse(&request), Line::Request(Request { id: json!("r1"), body: Ok(body) }));
        let response = |body: Value| parse(&json!({"type": "control_response", "response": body}));
        let answer = |answer| Line::Answer { id: "c1".to_owned(), answer };
        assert_eq!(
            response(json!({"subtype": "success", "request_id": "c1", "response": {"a": 1}})),
            answer(Ok(json!({"a": 1})))
        );
        assert_eq!(
            response(json!({"subtype": "error", "request_id": "c1", "error": "no"})),
            answer(Err("no".to_owned()))
        );
        let cancel = json!({"type": "control_cancel_request", "request_id": "r1"});
        assert_eq!(parse(&cancel), Line::Nothing);
        assert_eq!(whole(" \r"), Line::Nothing);
    }

    #[test]
    fn what_cannot_be_read_goes_to_the_one_whom_it_concerns() {
        let prompt = |line: Line| matches!(line, Line::Prompt(Err(_)));
        let asked = |line: Line| match line {
            Line::Request(Request { id, body: Err(_) }) => id,
            other => panic!("{other:?}"),
        };
        let asker = |line: Line| match line {
            Line::Answer { id, answer: Err(why) } if why.contains("cannot be read") => id,
            other => panic!("{other:?}"),
        };
        let nobody = |line: Line| matches!(line, Line::Useless(_));
        let response = |body: Value| parse(&json!({"type": "control_response", "response": body}));
        assert_eq!(asker(response(json!({"subtype": "odd", "request_id": "c1"}))), "c1");
        assert_eq!(asker(response(json!({"subtype": "error", "request_id": "c1"}))), "c1");
        let cut = |head: &str| Line::of(&RawLine::Cut(16, head.into()));
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
        let Line::Useless(why) = parse(&json!({"type": long})) else { panic!("{long}") };
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
            let Line::Prompt(Err(error)) = parse(&line) else { panic!("{line}") };
            assert!(error.contains(expected), "{line}: {error}");
        }
        for line in ["{\"type\": ".into(), b"\xff".to_vec()] {
            let Line::Prompt(Err(error)) = Line::of(&RawLine::Whole(line)) else { panic!() };
            assert!(error.starts_with("not a JSON object"), "{error}");
        }
    }
}
