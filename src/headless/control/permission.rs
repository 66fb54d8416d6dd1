//! Asks permission questions without a screen, in the SDK's format.

use std::collections::HashMap;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::{AbortHandle, JoinSet};

use crate::protocol::{
    Allowance, Answer, PeerRequest, PermissionMode, Question, QuestionId, RuleFile, SharedPeer,
};

/// Answers permission questions without a screen. The answer is JSON in the SDK's format:
/// `{"behavior": "allow" | "deny", …}`.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Asks and waits. Dropping the future withdraws the question. The error is one line.
    async fn ask(&self, question: Question) -> Result<Value, String>;

    /// Describes who answers, for the model.
    fn who(&self) -> String;
}

/// Asks the driving program.
pub struct PeerAsker(pub SharedPeer);

#[async_trait]
impl Asker for PeerAsker {
    async fn ask(&self, question: Question) -> Result<Value, String> {
        let asked = self.0.ask(PeerRequest::CanUseTool(Box::new(question))).await;
        asked.map_err(|error| error.to_string())
    }

    fn who(&self) -> String {
        "the program that drives caliban".to_owned()
    }
}

/// The open questions.
pub struct PendingQuestions {
    answers: JoinSet<(QuestionId, Result<Value, String>)>,
    open: HashMap<QuestionId, AbortHandle>,
    asker: Arc<dyn Asker>,
}

impl PendingQuestions {
    /// Creates an empty set whose questions go to `asker`.
    pub fn new(asker: Arc<dyn Asker>) -> Self {
        Self { answers: JoinSet::new(), open: HashMap::new(), asker }
    }

    /// Whether one is open.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Asks a question.
    pub fn ask(&mut self, question: &Question) {
        let (id, asker, question) = (question.id, self.asker.clone(), question.clone());
        let asking = self.answers.spawn(async move { (id, asker.ask(question).await) });
        self.open.insert(id, asking);
    }

    /// Withdraws a question that needs no answer any more.
    pub fn close(&mut self, id: QuestionId) {
        if let Some(asking) = self.open.remove(&id) {
            asking.abort();
        }
    }

    /// Waits for the next answer; forever if no question is open.
    pub async fn next_answer(&mut self) -> (QuestionId, PeerAnswer) {
        loop {
            match self.answers.join_next().await {
                None => return pending().await,
                Some(Ok((id, answer))) => {
                    self.open.remove(&id);
                    return (id, parse_answer(answer, &self.asker.who()));
                }
                // It was withdrawn.
                Some(Err(_)) => {}
            }
        }
    }
}

/// Parses an answer. An unreadable one denies: nothing runs that was not allowed.
fn parse_answer(answer: Result<Value, String>, who: &str) -> PeerAnswer {
    let why = match answer {
        Ok(answer) => match read(answer, who) {
            Ok(answer) => return answer,
            Err(why) => format!("the answer to the permission question is not understood: {why}"),
        },
        Err(error) => format!("the permission question was not answered: {error}"),
    };
    let answer = Answer::Denied { reason: why.clone() };
    PeerAnswer { answer, mode: None, problem: Some(why) }
}

/// A parsed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAnswer {
    pub answer: Answer,
    /// The new mode, if it changes.
    pub mode: Option<PermissionMode>,
    /// The part of the answer that is ignored, and why.
    pub problem: Option<String>,
}

/// Builds the body of `can_use_tool`.
pub(super) fn request(question: &Question) -> Value {
    json!({
        "subtype": "can_use_tool",
        "tool_name": question.tool,
        "input": question.input,
        "cwd": question.cwd.to_string_lossy(),
        "tool_use_id": question.tool_use_id,
        "agent_id": question.path.id(),
        "permission_suggestions": suggestions(&question.rules),
        "blocked_path": question.place().map(Path::to_string_lossy),
        "decision_reason": question.explanation(),
        "description": question.preview,
    })
}

/// Returns the rules that would allow similar calls, as one update for the session.
fn suggestions(rules: &[String]) -> Value {
    if rules.is_empty() {
        return json!([]);
    }
    let rules = rules.iter().map(|rule| match rule.split_once('(') {
        Some((tool, content)) => {
            let content = content.strip_suffix(')').unwrap_or(content);
            json!({"toolName": tool, "ruleContent": content})
        }
        None => json!({"toolName": rule}),
    });
    let rules: Vec<_> = rules.collect();
    json!([{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}])
}

#[derive(Deserialize)]
#[serde(tag = "behavior", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum PermissionResult {
    Allow { updated_input: Option<Map<String, Value>>, updated_permissions: Option<Vec<Value>> },
    Deny { message: Option<String>, interrupt: Option<bool> },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum PermissionUpdate {
    AddRules {
        rules: Vec<RuleValue>,
        behavior: AllowBehavior,
        destination: UpdateDestination,
    },
    SetMode {
        mode: PermissionMode,
        #[serde(rename = "destination")]
        _destination: SessionDestination,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleValue {
    tool_name: String,
    rule_content: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum AllowBehavior {
    Allow,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum SessionDestination {
    Session,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum UpdateDestination {
    Session,
    LocalSettings,
    ProjectSettings,
}

/// Parses an answer of `who`. The error says what is wrong with it.
fn read(answer: Value, who: &str) -> Result<PeerAnswer, String> {
    let behavior: PermissionResult =
        serde_json::from_value(answer).map_err(|error| error.to_string())?;
    let (updated_input, updates) = match behavior {
        PermissionResult::Deny { message, interrupt } => {
            let message = message.filter(|message| !message.trim().is_empty());
            let why = message.map(|message| format!(": {}", message.trim())).unwrap_or_default();
            let reason = format!("denied by {who}{why}");
            let answer = match interrupt {
                Some(true) => Answer::Stop { reason },
                _ => Answer::Denied { reason },
            };
            return Ok(PeerAnswer { answer, mode: None, problem: None });
        }
        PermissionResult::Allow { updated_input, updated_permissions } => {
            (updated_input, updated_permissions.unwrap_or_default())
        }
    };
    let (kept, problem) = match parse_updates(updates) {
        Ok(kept) => (kept, None),
        Err(problem) => (PermissionUpdates::default(), Some(problem)),
    };
    let PermissionUpdates { session, written, mode } = kept;
    let allowance = Allowance { input: updated_input.map(Value::Object), session, written };
    let answer = Answer::Allowed(Box::new(allowance));
    Ok(PeerAnswer { answer, mode, problem })
}

/// The lasting changes of an answer.
#[derive(Default)]
struct PermissionUpdates {
    session: Vec<String>,
    written: Vec<(RuleFile, Vec<String>)>,
    mode: Option<PermissionMode>,
}

/// Parses all updates. The error says what is wrong with one of them.
fn parse_updates(updates: Vec<Value>) -> Result<PermissionUpdates, String> {
    let mut kept = PermissionUpdates::default();
    for (index, update) in updates.into_iter().enumerate() {
        let update = serde_json::from_value(update).map_err(|error| {
            format!(
                "updatedPermissions[{index}] is invalid, so all of them are ignored: {error}; \
                 supported are addRules with behavior allow, for session, localSettings or projectSettings, \
                 and setMode for session"
            )
        })?;
        match update {
            PermissionUpdate::SetMode { mode, .. } => kept.mode = Some(mode),
            PermissionUpdate::AddRules { rules, behavior: AllowBehavior::Allow, destination } => {
                let rules = rules.into_iter().map(RuleValue::text);
                match destination {
                    UpdateDestination::Session => kept.session.extend(rules),
                    UpdateDestination::LocalSettings => {
                        kept.written.push((RuleFile::Local, rules.collect()));
                    }
                    UpdateDestination::ProjectSettings => {
                        kept.written.push((RuleFile::Shared, rules.collect()));
                    }
                }
            }
        }
    }
    Ok(kept)
}

impl RuleValue {
    fn text(self) -> String {
        match self.rule_content.filter(|content| !content.is_empty()) {
            Some(content) => format!("{}({content})", self.tool_name),
            None => self.tool_name,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::protocol::{Access, AgentPath, QuestionId, ToolUseId};

    fn question(rules: &[&str]) -> Question {
        Question {
            id: QuestionId(1),
            path: AgentPath::root(),
            agent: "main".to_owned(),
            tool_use_id: ToolUseId::new("c1"),
            tool: "Bash".to_owned(),
            input: json!({"command": "make b"}),
            access: Access::Command { line: "make b".to_owned(), cwd: PathBuf::from("/w") },
            cwd: PathBuf::from("/w"),
            worktree: None,
            reason: "no rule allows make".to_owned(),
            warnings: Vec::new(),
            rules: rules.iter().map(|&rule| rule.to_owned()).collect(),
            offers_always: true,
            preview: None,
        }
    }

    fn allowed(answer: Value) -> (Allowance, Option<PermissionMode>) {
        let said = read(answer, "who").unwrap();
        assert_eq!(said.problem, None);
        match said.answer {
            Answer::Allowed(allowance) => (*allowance, said.mode),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_offers_its_rules_and_its_own_offer_can_be_taken() {
        let body = request(&question(&["Bash(make b:*)", "WebSearch"]));
        assert_eq!((&body["tool_name"], &body["agent_id"]), (&json!("Bash"), &Value::Null));
        assert_eq!(body["cwd"], "/w");
        assert_eq!(body["decision_reason"], "no rule allows make");
        let offer = &body["permission_suggestions"];
        assert_eq!(
            offer[0]["rules"],
            json!([{"toolName": "Bash", "ruleContent": "make b:*"}, {"toolName": "WebSearch"}])
        );
        let (allowance, _) = allowed(json!({"behavior": "allow", "updatedPermissions": offer}));
        assert_eq!(allowance.session, ["Bash(make b:*)", "WebSearch"]);
        assert_eq!(request(&question(&[]))["permission_suggestions"], json!([]));
    }

    #[test]
    fn yes_can_change_the_input_the_mode_and_the_files() {
        let (allowance, mode) = allowed(json!({
            "behavior": "allow", "updatedInput": {"command": "true"}, "updatedPermissions": [
                {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
                {"type": "addRules", "behavior": "allow", "destination": "localSettings",
                 "rules": [{"toolName": "Bash", "ruleContent": "make:*"}]},
                {"type": "addRules", "behavior": "allow", "destination": "projectSettings",
                 "rules": [{"toolName": "Read", "ruleContent": ""}]},
            ],
        }));
        assert_eq!(allowance.input, Some(json!({"command": "true"})));
        assert_eq!(mode, Some(PermissionMode::AcceptEdits));
        let written = [(RuleFile::Local, "Bash(make:*)"), (RuleFile::Shared, "Read")];
        assert_eq!(allowance.written, written.map(|(file, rule)| (file, vec![rule.to_owned()])));
        assert_eq!(allowed(json!({"behavior": "allow"})).0, Allowance::default());
    }

    #[test]
    fn an_update_that_cannot_be_kept_takes_the_others_along_but_not_the_yes() {
        let good = json!({"type": "addRules", "behavior": "allow", "destination": "session",
                          "rules": [{"toolName": "Read"}]});
        for bad in [
            json!({"type": "addDirectories", "directories": ["/x"], "destination": "session"}),
            json!({"type": "addRules", "rules": [], "behavior": "deny", "destination": "session"}),
            json!({"type": "addRules", "rules": [], "behavior": "allow", "destination": "userSettings"}),
            json!({"type": "setMode", "mode": "yolo", "destination": "session"}),
            json!("x"),
        ] {
            let said = read(json!({"behavior": "allow", "updatedPermissions": [good, bad]}), "who")
                .unwrap();
            assert_eq!(said.answer, Answer::Allowed(Box::default()), "{bad}");
            assert!(said.problem.unwrap().contains("updatedPermissions[1]"), "{bad}");
        }
    }

    #[test]
    fn no_has_a_reason_and_may_stop_the_turn_and_anything_else_is_no_answer() {
        let said = json!({"behavior": "deny", "message": "not here", "interrupt": true});
        let said = read(said, "who");
        let answer = Answer::Stop { reason: "denied by who: not here".to_owned() };
        assert_eq!(said, Ok(PeerAnswer { answer, mode: None, problem: None }));
        let list = json!({"behavior": "allow", "updatedInput": ["touch x", 1000]});
        for bad in [json!({}), json!({"behavior": "maybe"}), json!(null), json!("allow"), list] {
            read(bad, "who").unwrap_err();
        }
    }
}
