//! Prompts of `--input-format stream-json`: one line of stdin into what it asks for. Pure: reads no file.

use serde::Deserialize;
use serde_json::Value;

/// What one line asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Prompt(Asked),
    /// A request that waits for an answer by its id; none is supported.
    Control {
        id: Value,
        subtype: String,
    },
    /// Nothing, such as an answer to a request of ours.
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
    ControlRequest { request_id: Value, request: ControlRequest },
    ControlResponse {},
    ControlCancelRequest {},
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

#[derive(Deserialize)]
struct ControlRequest {
    subtype: String,
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
            Frame::ControlRequest { request_id, request } => {
                Self::Control { id: request_id, subtype: request.subtype }
            }
            Frame::ControlResponse {} | Frame::ControlCancelRequest {} => Self::Nothing,
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
        let control = Line::Control { id: json!("r1"), subtype: "initialize".to_owned() };
        assert_eq!(parse(&request), Ok(control));
        assert_eq!(parse(&json!({"type": "control_response", "response": {}})), Ok(Line::Nothing));
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
