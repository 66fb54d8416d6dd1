//! Lines of `--input-format stream-json`: one line of stdin into what it is. Pure: reads no file.

use serde::Deserialize;
use serde_json::Value;

use super::control::Request;

/// What one line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Prompt(Asked),
    /// A request that waits for an answer by its id.
    Request(Request),
    /// An answer to a question of ours.
    Answer {
        id: String,
        answer: Result<Value, String>,
    },
    /// Nothing, such as a blank line.
    Nothing,
}

/// A prompt as a program sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub text: String,
    /// Whether sub-agents may be started for it.
    pub sub_agents: bool,
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
    /// Reads one line; blank ones ask for nothing. The error says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        if line.trim_ascii().is_empty() {
            return Ok(Self::Nothing);
        }
        let frame: Frame =
            serde_json::from_slice(line).map_err(|error| match error.classify() {
                serde_json::error::Category::Data => error.to_string(),
                _ => format!("not a JSON object: {error}"),
            })?;
        Ok(match frame {
            Frame::User(frame) => Self::Prompt(frame.prompt()?),
            Frame::ControlRequest { request_id: id, request: body } => {
                Self::Request(Request { id, body })
            }
            Frame::ControlResponse { response } => match response {
                Response::Success { request_id: id, response } => {
                    Self::Answer { id, answer: Ok(response) }
                }
                Response::Error { request_id: id, error } => {
                    Self::Answer { id, answer: Err(error) }
                }
            },
            Frame::ControlCancelRequest {} | Frame::KeepAlive {} => Self::Nothing,
        })
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
        let text = self.message.content.text()?;
        if text.trim().is_empty() {
            return Err("the prompt is blank".to_owned());
        }
        Ok(Asked { text, sub_agents: self.subagents.unwrap_or(true) })
    }
}

impl Content {
    fn text(self) -> Result<String, String> {
        let blocks = match self {
            Self::Text(text) => return Ok(text),
            Self::Blocks(blocks) => blocks,
        };
        let texts =
            blocks.iter().map(|block| match (block["type"].as_str(), block["text"].as_str()) {
                (Some("text"), Some(text)) => Ok(text),
                (kind, _) => Err(format!(
                    "a block of type {} cannot be read: only text can",
                    kind.unwrap_or("unknown")
                )),
            });
        let texts: Vec<_> = texts.collect::<Result<_, _>>()?;
        Ok(texts.join("\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(line: &Value) -> Result<Line, String> {
        Line::parse(line.to_string().as_bytes())
    }

    fn user(content: &Value) -> Value {
        json!({
            "type": "user", "message": {"role": "user", "content": content},
            "parent_tool_use_id": null, "session_id": "default",
        })
    }

    #[test]
    fn a_user_frame_is_a_prompt_whichever_way_its_text_is_written() {
        let asked =
            |text: &str, sub_agents| Ok(Line::Prompt(Asked { text: text.to_owned(), sub_agents }));
        assert_eq!(parse(&user(&json!("go"))), asked("go", true));
        let blocks = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        assert_eq!(parse(&user(&blocks)), asked("a\n\nb", true));
        let mut without = user(&json!("go"));
        without["subagents"] = json!(false);
        assert_eq!(parse(&without), asked("go", false));
    }

    #[test]
    fn control_frames_are_told_apart_and_blank_lines_are_nothing() {
        let request = json!({
            "type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"},
        });
        let body = json!({"subtype": "initialize"});
        assert_eq!(parse(&request), Ok(Line::Request(Request { id: json!("r1"), body })));
        let response = |body: Value| parse(&json!({"type": "control_response", "response": body}));
        let answer = |answer| Ok(Line::Answer { id: "c1".to_owned(), answer });
        assert_eq!(
            response(json!({"subtype": "success", "request_id": "c1", "response": {"a": 1}})),
            answer(Ok(json!({"a": 1})))
        );
        assert_eq!(
            response(json!({"subtype": "error", "request_id": "c1", "error": "no"})),
            answer(Err("no".to_owned()))
        );
        response(json!({})).unwrap_err();
        let cancel = json!({"type": "control_cancel_request", "request_id": "r1"});
        assert_eq!(parse(&cancel), Ok(Line::Nothing));
        assert_eq!(Line::parse(b" \r"), Ok(Line::Nothing));
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
            (json!({"type": "usr"}), "unknown variant `usr`"),
            (json!({"message": "x"}), "missing field `type`"),
            (json!([1]), "invalid type"),
            (user(&json!(7)), "`content` must be a text or a list of blocks"),
            (user(&json!(" \n")), "the prompt is blank"),
            (user(&json!([])), "the prompt is blank"),
            (user(&json!([{"type": "image"}])), "a block of type image cannot be read"),
            (flag, "expected a boolean"),
            (parent, "`parent_tool_use_id` must be null"),
            (role, "unknown variant `assistant`"),
        ];
        for (line, expected) in table {
            let error = parse(&line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
        let error = Line::parse(b"{\"type\": ").unwrap_err();
        assert!(error.starts_with("not a JSON object"), "{error}");
        assert!(Line::parse(b"\xff").is_err());
    }
}
