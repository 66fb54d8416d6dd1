//! Incoming control requests.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::protocol::PermissionMode;

/// The supported subtypes, for the error message.
const KNOWN_SUBTYPES: &str = "initialize, interrupt, set_permission_mode, set_model, mcp_status, get_context_usage, stop_task";

/// A request that expects an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlRequest {
    /// As the client wrote it.
    pub id: Value,
    /// Its body, or why that cannot be read.
    pub body: Result<Value, String>,
}

/// The action that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ControlAction {
    Initialize,
    Interrupt,
    SetPermissionMode(PermissionMode),
    /// `None` means the initial model.
    SetModel(Option<String>),
    McpStatus,
    ContextUsage,
    StopTask(String),
}

#[derive(Deserialize)]
struct ModeField {
    mode: PermissionMode,
}

#[derive(Deserialize)]
struct ModelField {
    model: Option<String>,
}

#[derive(Deserialize)]
struct TaskField {
    task_id: String,
}

impl ControlRequest {
    /// Returns the subtype, whether it is supported or not.
    pub fn subtype(&self) -> &str {
        self.body.as_ref().ok().and_then(|body| body["subtype"].as_str()).unwrap_or_default()
    }

    /// Returns the line that answers it.
    pub fn answer(&self, answer: Result<Value, String>) -> Value {
        let response = match answer {
            Ok(response) => {
                json!({"subtype": "success", "request_id": self.id, "response": response})
            }
            Err(error) => json!({"subtype": "error", "request_id": self.id, "error": error}),
        };
        json!({"type": "control_response", "response": response})
    }

    /// Parses the action. The error says what is wrong with it.
    pub(super) fn action(&self) -> Result<ControlAction, String> {
        let body =
            self.body.as_ref().map_err(|why| format!("the request cannot be read: {why}"))?;
        Ok(match self.subtype() {
            "initialize" => ControlAction::Initialize,
            "interrupt" => ControlAction::Interrupt,
            "set_permission_mode" => {
                let ModeField { mode } = self.fields(body)?;
                ControlAction::SetPermissionMode(mode)
            }
            "set_model" => {
                let ModelField { model } = self.fields(body)?;
                ControlAction::SetModel(model.filter(|model| !model.is_empty()))
            }
            "mcp_status" => ControlAction::McpStatus,
            "get_context_usage" => ControlAction::ContextUsage,
            "stop_task" => {
                let TaskField { task_id } = self.fields(body)?;
                ControlAction::StopTask(task_id)
            }
            "rewind_files" => {
                return Err("rewind_files is not supported: caliban keeps no history of \
                            files; use version control"
                    .to_owned());
            }
            other => {
                return Err(format!(
                    "the control request `{}` is not supported; supported are {KNOWN_SUBTYPES}",
                    other.escape_debug()
                ));
            }
        })
    }

    fn fields<'de, T: Deserialize<'de>>(&self, body: &'de Value) -> Result<T, String> {
        T::deserialize(body).map_err(|error| format!("{}: {error}", self.subtype()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(body: Value) -> Result<ControlAction, String> {
        ControlRequest { id: json!("r1"), body: Ok(body) }.action()
    }

    #[test]
    fn each_request_is_told_from_the_others() {
        let mode = json!({"subtype": "set_permission_mode", "mode": "acceptEdits"});
        assert_eq!(ask(mode), Ok(ControlAction::SetPermissionMode(PermissionMode::AcceptEdits)));
        let model = json!({"subtype": "set_model", "model": "m"});
        assert_eq!(ask(model), Ok(ControlAction::SetModel(Some("m".to_owned()))));
        let default = json!({"subtype": "set_model", "model": null});
        assert_eq!(ask(default), Ok(ControlAction::SetModel(None)));
        let stop = json!({"subtype": "stop_task", "task_id": "t"});
        assert_eq!(ask(stop), Ok(ControlAction::StopTask("t".to_owned())));
        assert_eq!(ask(json!({"subtype": "interrupt"})), Ok(ControlAction::Interrupt));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (body, named) in [
            (json!({"subtype": "frobnicate"}), "`frobnicate` is not supported"),
            (json!({"subtype": "rewind_files", "user_message_id": "u"}), "rewind_files"),
            (json!({"subtype": "set_permission_mode", "mode": "auto"}), "unknown variant `auto`"),
            (json!({"subtype": "set_permission_mode"}), "missing field `mode`"),
            (json!({"subtype": "set_model", "model": 5}), "set_model: "),
            (json!({"subtype": "stop_task"}), "missing field `task_id`"),
            (json!({}), "is not supported"),
        ] {
            let error = ask(body.clone()).unwrap_err();
            assert!(error.contains(named), "{body}: {error}");
        }
        let unread = ControlRequest { id: json!("r1"), body: Err("WHY-1".to_owned()) };
        assert_eq!(unread.action(), Err("the request cannot be read: WHY-1".to_owned()));
    }

    #[test]
    fn an_answer_bears_the_id_as_it_was_written() {
        let request = ControlRequest { id: json!(7), body: Ok(json!({"subtype": "interrupt"})) };
        let answer = request.answer(Err("no".to_owned()));
        assert_eq!(answer["response"], json!({"subtype": "error", "request_id": 7, "error": "no"}));
        let answer = request.answer(Ok(json!({})));
        assert_eq!(
            (&answer["type"], &answer["response"]["subtype"]),
            (&json!("control_response"), &json!("success"))
        );
    }
}
