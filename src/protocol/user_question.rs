//! Questions that an agent asks the user, and the answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The tool that asks the user.
pub const ASK_USER_TOOL: &str = "AskUserQuestion";

/// The tool that shows the user a plan, whose approval ends plan mode.
pub const EXIT_PLAN_TOOL: &str = "ExitPlanMode";

/// The error of a plan that needs no approval.
pub const NO_PLAN_MODE: &str =
    "Plan mode is off, so there is nothing to approve: carry out the plan.";

/// One question, with the options to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserQuestion {
    pub question: String,
    /// At most 12 characters
    pub header: String,
    /// 2 to 4; the user can also type an answer
    pub options: Vec<UserOption>,
    #[serde(default, rename = "multiSelect")]
    pub multi_select: bool,
}

/// One option of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserOption {
    /// 1 to 5 words
    pub label: String,
    #[serde(default)]
    pub description: String,
    /// Mock-up or code to compare
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

impl UserQuestion {
    /// Returns the questions in an input of the tool.
    pub fn from_input(input: &Value) -> Option<Vec<Self>> {
        let questions = input.get("questions")?;
        Vec::deserialize(questions).ok().filter(|questions: &Vec<Self>| !questions.is_empty())
    }
}

/// Adds the answers to an input of the tool. Each is the text for one question: a label, several
/// labels joined with `, `, or words of the user's own.
pub fn with_answers<'a>(
    input: &Value,
    answers: impl IntoIterator<Item = (&'a UserQuestion, String)>,
) -> Value {
    let answers =
        answers.into_iter().map(|(asked, answer)| (asked.question.clone(), answer.into()));
    let answers: Map<String, Value> = answers.collect();
    let mut answered = input.clone();
    answered["answers"] = answers.into();
    answered
}
