//! `AskUserQuestion`: questions for the user, with options to choose from.
//!
//! The answers come into the input from whoever approves the call: the user on the screen, the
//! driving program, or a hook. The tool only words them for the model.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::api::{PreparedCall, Tool, ToolContext, ToolError, ToolOutcome};
use super::spec::{InvalidInput, ToolSpec};
use crate::protocol::{ASK_USER_TOOL, Access, UserOption, UserQuestion, count};

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<AskUserInput>(
        ASK_USER_TOOL,
        "Asks the user 1 to 4 questions and waits. Only for decisions that are theirs and that \
         neither the request, the code nor a sensible default settles.",
    )
});

/// Limits of an input. A question should be readable at a glance.
const MAX_QUESTIONS: usize = 4;
const MIN_OPTIONS: usize = 2;
const MAX_OPTIONS: usize = 4;
const MAX_LABEL_CHARS: usize = 100;
const MAX_TEXT_CHARS: usize = 1000;
const MAX_PREVIEW_CHARS: usize = 10_000;

/// The tool. It keeps nothing.
#[derive(Debug)]
pub struct AskUser;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskUserInput {
    questions: Vec<UserQuestion>,
    /// The user's answers by question: a text, or the labels of the chosen options.
    #[serde(default)]
    #[schemars(skip)]
    answers: Option<Map<String, Value>>,
    /// The user's notes, by question, as programs for other agents send them.
    #[serde(default)]
    #[schemars(skip)]
    annotations: Option<Map<String, Value>>,
    #[serde(default)]
    #[schemars(skip)]
    #[expect(dead_code, reason = "programs for other agents send it")]
    metadata: Option<IgnoredAny>,
}

/// A call with valid questions.
#[derive(Debug)]
struct AskUserCall {
    questions: Vec<AskedQuestion>,
}

#[derive(Debug)]
struct AskedQuestion {
    asked: UserQuestion,
    answer: Option<String>,
    notes: Option<String>,
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: AskUserInput = SPEC.parse(input)?;
        let has_content = |fields: &Option<Map<String, Value>>| {
            fields.as_ref().is_some_and(|fields| !fields.is_empty())
        };
        if has_content(&input.answers) || has_content(&input.annotations) {
            return Err(InvalidInput("Only the user fills in answers: leave them out.".to_owned()));
        }
        Ok(Box::new(AskUserCall::new(input)?))
    }

    fn prepare_changed(
        self: Arc<Self>,
        input: &Value,
    ) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        Ok(Box::new(AskUserCall::new(SPEC.parse(input)?)?))
    }
}

impl AskUserCall {
    fn new(input: AskUserInput) -> Result<Self, InvalidInput> {
        let AskUserInput { questions, answers, annotations, .. } = input;
        check_questions(&questions).map_err(InvalidInput)?;
        let mut answers = answers.unwrap_or_default();
        let annotations = annotations.unwrap_or_default();
        let questions = questions.into_iter().map(|asked| {
            let answer = match answers.shift_remove(&asked.question) {
                None => None,
                Some(value) => answer_text(&value).map_err(|problem| {
                    InvalidInput(format!("The answer to {:?} {problem}.", asked.question))
                })?,
            };
            let notes = annotations.get(&asked.question).and_then(|note| note["notes"].as_str());
            let notes = notes.map(str::trim).filter(|notes| !notes.is_empty()).map(str::to_owned);
            Ok(AskedQuestion { asked, answer, notes })
        });
        let questions = questions.collect::<Result<Vec<_>, InvalidInput>>()?;
        if let Some(unknown) = answers.keys().next() {
            return Err(InvalidInput(format!(
                "There is an answer to {unknown:?}, which was not asked: use the text of a question as the key."
            )));
        }
        Ok(Self { questions })
    }

    fn answered(&self) -> impl Iterator<Item = (&UserQuestion, &str)> {
        let questions = self.questions.iter();
        questions.filter_map(|question| Some((&question.asked, question.answer.as_deref()?)))
    }
}

#[async_trait]
impl PreparedCall for AskUserCall {
    fn summary(&self) -> String {
        match self.questions.as_slice() {
            [only] => only.asked.question.clone(),
            all => count(all.len(), "question"),
        }
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::AskUser { answered: self.answered().next().is_some() }
    }

    fn time_limit(&self) -> Option<Duration> {
        None
    }

    fn only_waits(&self) -> bool {
        true
    }

    async fn run(self: Box<Self>, _cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        if self.answered().next().is_none() {
            return Err(ToolError::failed(
                "The questions were approved without an answer. Decide yourself, and say what you have assumed.",
            ));
        }
        let mut text = "The user answered:".to_owned();
        for AskedQuestion { asked, answer, notes } in &self.questions {
            let answer = answer.as_deref().map_or("no answer".to_owned(), |it| format!("\"{it}\""));
            text.push_str(&format!("\n\"{}\": {answer}", asked.question));
            if let Some(notes) = notes {
                text.push_str(&format!("\n  notes: {notes}"));
            }
        }
        let given = self.answered().map(|(asked, answer)| format!("{}: {answer}", asked.header));
        let summary = given.collect::<Vec<_>>().join(", ");
        Ok(ToolOutcome::text(text, summary))
    }
}

/// The text of an answer; `None` if it is empty.
fn answer_text(answer: &Value) -> Result<Option<String>, &'static str> {
    let wrong = "must be a text or a list of texts";
    let text = match answer {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        Value::Array(labels) => {
            let labels = labels.iter().map(|label| label.as_str().map(str::trim).ok_or(wrong));
            labels.collect::<Result<Vec<_>, _>>()?.join(", ")
        }
        _ => return Err(wrong),
    };
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Checks everything that the types leave open. The error names the field and what is allowed there.
fn check_questions(questions: &[UserQuestion]) -> Result<(), String> {
    if !(1..=MAX_QUESTIONS).contains(&questions.len()) {
        return Err(format!(
            "questions has {} entries: ask 1 to {MAX_QUESTIONS} questions.",
            questions.len()
        ));
    }
    for (index, asked) in questions.iter().enumerate() {
        let at = format!("questions[{index}]");
        check_text(&format!("{at}.question"), &asked.question, MAX_TEXT_CHARS)?;
        check_label(&format!("{at}.header"), &asked.header)?;
        if questions[..index].iter().any(|other| other.question == asked.question) {
            return Err(format!("{at}.question repeats another one: ask it once."));
        }
        check_options(&at, &asked.options)?;
    }
    Ok(())
}

fn check_options(at: &str, options: &[UserOption]) -> Result<(), String> {
    if !(MIN_OPTIONS..=MAX_OPTIONS).contains(&options.len()) {
        return Err(format!(
            "{at}.options has {} entries: give {MIN_OPTIONS} to {MAX_OPTIONS}; the user can always type \
             another answer.",
            options.len()
        ));
    }
    for (index, option) in options.iter().enumerate() {
        let at = format!("{at}.options[{index}]");
        check_label(&format!("{at}.label"), &option.label)?;
        if options[..index].iter().any(|other| other.label.trim() == option.label.trim()) {
            return Err(format!("{at}.label repeats another one: each label must be different."));
        }
        check_length(&format!("{at}.description"), &option.description, MAX_TEXT_CHARS)?;
        let preview = option.preview.as_deref().unwrap_or_default();
        check_length(&format!("{at}.preview"), preview, MAX_PREVIEW_CHARS)?;
    }
    Ok(())
}

/// Checks a label: one short line.
fn check_label(field: &str, label: &str) -> Result<(), String> {
    check_text(field, label, MAX_LABEL_CHARS)?;
    match label.chars().any(char::is_control) {
        true => Err(format!("{field} has control characters: write it as one plain line.")),
        false => Ok(()),
    }
}

fn check_text(field: &str, text: &str, most: usize) -> Result<(), String> {
    match text.trim().is_empty() {
        true => Err(format!("{field} is blank: fill it in.")),
        false => check_length(field, text, most),
    }
}

fn check_length(field: &str, text: &str, most: usize) -> Result<(), String> {
    match text.chars().count() {
        count if count > most => {
            Err(format!("{field} has {count} characters, and at most {most} are allowed."))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{ToolFixture, text};
    use super::*;

    fn question(question: &str, labels: &[&str]) -> Value {
        let options = labels.iter().map(|label| json!({"label": label, "description": "Why."}));
        json!({"question": question, "header": "Library", "options": options.collect::<Vec<_>>()})
    }

    fn one() -> Value {
        json!({"questions": [question("Which library?", &["chrono", "jiff"])]})
    }

    /// The result of a call that somebody has approved with this input.
    async fn answered(input: Value) -> Result<ToolOutcome, ToolError> {
        let fixture = ToolFixture::new();
        let call = Arc::new(AskUser).prepare_changed(&input);
        let call = call.map_err(|error| ToolError::failed(error.to_string()))?;
        let access = call.access(&fixture.base);
        call.run(fixture.context(access)).await
    }

    #[tokio::test]
    async fn the_model_reads_each_question_with_its_answer() {
        let mut input = json!({"questions": [
            question("Which library?", &["chrono", "jiff"]),
            question("Which features?", &["serde", "clock", "std"]),
            question("Which name?", &["one", "two"]),
        ]});
        input["answers"] = json!({
            "Which library?": " my own\ncode ", "Which features?": ["serde", "clock"],
        });
        input["annotations"] = json!({"Which features?": {"notes": "and no more"}});
        input["metadata"] = json!({"source": "x"});
        let outcome = answered(input).await.unwrap();
        assert_eq!(
            text(&outcome),
            "The user answered:\n\"Which library?\": \"my own\ncode\"\n\"Which features?\": \"serde, clock\"\n  \
             notes: and no more\n\"Which name?\": no answer"
        );
        assert_eq!(outcome.summary, "Library: my own\ncode, Library: serde, clock");
    }

    #[tokio::test]
    async fn an_approval_without_an_answer_is_no_answer() {
        for answers in [json!(null), json!({}), json!({"Which library?": " "})] {
            let mut input = one();
            input["answers"] = answers;
            let error = answered(input).await.unwrap_err().to_string();
            assert!(error.starts_with("The questions were approved without an answer."), "{error}");
        }
    }

    #[tokio::test]
    async fn an_answer_must_fit_a_question() {
        for (answers, problem) in [
            (json!({"Which?": "x"}), "There is an answer to \"Which?\", which was not asked"),
            (json!({"Which library?": 1}), "must be a text or a list of texts"),
            (json!({"Which library?": ["a", 1]}), "must be a text or a list of texts"),
        ] {
            let mut input = one();
            input["answers"] = answers;
            let error = answered(input).await.unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[tokio::test]
    async fn a_model_cannot_answer_for_the_user() {
        let fixture = ToolFixture::new();
        for field in ["answers", "annotations"] {
            let mut input = one();
            input[field] = json!({});
            let access = fixture.access(ASK_USER_TOOL, &input);
            assert_eq!(access, Access::AskUser { answered: false });
            input[field] = json!({"Which library?": "chrono"});
            let error = fixture.error(ASK_USER_TOOL, input).await;
            assert_eq!(error, "Only the user fills in answers: leave them out.");
        }
    }

    #[tokio::test]
    async fn questions_of_the_wrong_shape_get_one_clear_error() {
        let fixture = ToolFixture::new();
        let two = ["a", "b"];
        let long = "x".repeat(10_000);
        let mut no_header = question("Q?", &two);
        no_header["header"] = json!(" ");
        let mut long_description = question("Q?", &two);
        long_description["options"][1]["description"] = json!(long);
        let mut unknown = question("Q?", &two);
        unknown["options"][0]["value"] = json!(1);
        for (questions, problem) in [
            (vec![], "questions has 0 entries: ask 1 to 4 questions."),
            (vec![question("Q?", &two); 5], "questions has 5 entries"),
            (vec![question("Q?", &two); 2], "questions[1].question repeats another one"),
            (vec![question(" ", &two)], "questions[0].question is blank"),
            (vec![no_header], "questions[0].header is blank"),
            (vec![question("Q?", &[])], "questions[0].options has 0 entries: give 2 to 4"),
            (vec![question("Q?", &["a"])], "questions[0].options has 1 entries"),
            (vec![question("Q?", &["a", "b", "c", "d", "e"])], "options has 5 entries"),
            (vec![question("Q?", &["a", "a "])], "options[1].label repeats another one"),
            (vec![question("Q?", &["a", &long])], "options[1].label has 10000 characters"),
            (vec![question("Q?", &["a", "\u{1b}[8mb"])], "options[1].label has control characters"),
            (vec![question("Q?", &["a", "b\nc"])], "options[1].label has control characters"),
            (vec![question(&long, &two)], "questions[0].question has 10000 characters"),
            (vec![long_description], "options[1].description has 10000 characters"),
            (vec![unknown], "unknown field `value`"),
        ] {
            let error = fixture.error(ASK_USER_TOOL, json!({"questions": questions})).await;
            assert!(error.contains(problem), "{problem}: {error}");
        }
        let error = fixture.error(ASK_USER_TOOL, json!({"questions": "Which?"})).await;
        assert!(error.contains("`questions`: invalid type"), "{error}");
    }
}
