//! The file format of a scenario: texts and tool calls, and when they are played.
//!
//! ```toml
//! prompt = "the user's question"         # sent automatically if the scenario is a show
//! pace = 9.0                             # words a second; 0: at once
//!
//! [says]
//! unmatched = "the answer to a prompt that is in no script"
//! stuck = "the answer when no further reply fits what the tools said"
//! aside = "said before a reply when a message came in while the tools ran"
//!
//! [[agent]]                              # the first one whose pattern matches the prompt plays
//! match = "the user's question"
//! [[agent.reply]]                        # in order; skipped if the conditions do not hold
//! pause = 0.5                            # seconds before the first word
//! thinking = "…"
//! text = "…"
//! [[agent.reply.call]]
//! tool = "Grep"
//! as = "hits"                            # the name of its result in slots and conditions below
//! input = { pattern = "…" }
//! [[agent.reply]]
//! when = { ok = ["hits"], found = { hits = "lib/" } }   # also: failed, missing
//! text = "Found {{hits ~ ^lib/.*}}."
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::template::{LinePattern, ScriptedResults, Template, TemplateError};

/// A whole scenario, checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    #[serde(default)]
    pub prompt: String,
    /// Words a second; 0 for no waiting between words.
    pub pace: f64,
    pub says: FallbackTexts,
    #[serde(default, rename = "agent")]
    pub agents: Vec<ScriptedAgent>,
}

/// Texts outside of the scripts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FallbackTexts {
    pub unmatched: String,
    pub stuck: String,
    pub aside: String,
}

/// The script of one agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedAgent {
    #[serde(rename = "match")]
    pub pattern: LinePattern,
    #[serde(rename = "reply")]
    pub replies: Vec<ScriptedReply>,
}

/// One answer of the model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedReply {
    #[serde(default)]
    pub when: ReplyCondition,
    /// Seconds before the first word.
    #[serde(default)]
    pub pause: f64,
    #[serde(default)]
    pub thinking: Template,
    #[serde(default)]
    pub text: Template,
    #[serde(default, rename = "call")]
    pub calls: Vec<ScriptedCall>,
}

/// Conditions for playing a reply. All must hold; without any it always plays.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyCondition {
    /// These calls succeeded.
    pub ok: Vec<String>,
    /// These calls were made and failed.
    pub failed: Vec<String>,
    /// The pattern is found in the result, whether it is a failure or not.
    pub found: BTreeMap<String, LinePattern>,
    /// The pattern is not found, or there is no result.
    pub missing: BTreeMap<String, LinePattern>,
}

/// A tool call within a reply.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    pub tool: String,
    /// The name of its result in the rest of the script.
    #[serde(rename = "as")]
    pub name: String,
    pub input: InputTemplate,
}

/// The input of a call, with slots in its strings.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub enum InputTemplate {
    Text(Template),
    List(Vec<Self>),
    Table(Vec<(String, Self)>),
    /// A number or boolean.
    Plain(Value),
}

/// The error of an invalid scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("{}:{line}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
    #[error(
        "{}: agent {agent}, reply {reply} names the result `{name}`, but no earlier call has that `as`",
        path.display()
    )]
    UnknownResult { path: PathBuf, agent: usize, reply: usize, name: String },
    #[error("{}: agent {agent} uses `as = \"{name}\"` twice; give each call its own", path.display())]
    SameName { path: PathBuf, agent: usize, name: String },
    #[error("{}: {what} is {value}; it must be 0 or more", path.display())]
    Number { path: PathBuf, what: &'static str, value: f64 },
}

impl Scenario {
    /// Parses and checks a scenario. `path` is only for errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
            let message = error.message().replace('\n', " ");
            ScenarioError::Syntax { path: path.to_owned(), line, message }
        })?;
        check_number(path, "pace", scenario.pace)?;
        for (index, agent) in scenario.agents.iter().enumerate() {
            agent.check(index + 1, path)?;
        }
        Ok(scenario)
    }
}

impl ScriptedAgent {
    fn check(&self, agent: usize, path: &Path) -> Result<(), ScenarioError> {
        let mut known = BTreeSet::new();
        for (index, reply) in self.replies.iter().enumerate() {
            check_number(path, "pause", reply.pause)?;
            if let Some(name) = reply.names().into_iter().find(|name| !known.contains(name)) {
                let (path, name) = (path.to_owned(), name.to_owned());
                return Err(ScenarioError::UnknownResult { path, agent, reply: index + 1, name });
            }
            for call in &reply.calls {
                if !known.insert(call.name.as_str()) {
                    let (path, name) = (path.to_owned(), call.name.clone());
                    return Err(ScenarioError::SameName { path, agent, name });
                }
            }
        }
        Ok(())
    }
}

fn check_number(path: &Path, what: &'static str, value: f64) -> Result<(), ScenarioError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(ScenarioError::Number { path: path.to_owned(), what, value })
}

impl ScriptedReply {
    /// Returns the results that the reply refers to.
    fn names(&self) -> Vec<&str> {
        let when = &self.when;
        let mut names: Vec<&str> = when.ok.iter().chain(&when.failed).map(String::as_str).collect();
        names.extend(when.found.keys().chain(when.missing.keys()).map(String::as_str));
        names.extend(self.thinking.names().chain(self.text.names()));
        for call in &self.calls {
            call.input.names(&mut names);
        }
        names
    }
}

impl ReplyCondition {
    /// Whether a reply with this condition may be played now.
    pub fn holds(&self, results: &ScriptedResults<'_>) -> bool {
        let failed = |name: &String| results.get(name.as_str()).map(|result| result.failed);
        let found = |(name, pattern): (&String, &LinePattern)| {
            results.get(name.as_str()).is_some_and(|result| pattern.is_match(&result.text))
        };
        self.ok.iter().all(|name| failed(name) == Some(false))
            && self.failed.iter().all(|name| failed(name) == Some(true))
            && self.found.iter().all(found)
            && !self.missing.iter().any(found)
    }
}

impl InputTemplate {
    /// Returns the input as JSON with all slots filled; `None` if one cannot be.
    pub fn fill(&self, results: &ScriptedResults<'_>) -> Option<Value> {
        Some(match self {
            Self::Text(template) => Value::String(template.fill(results)?),
            Self::List(items) => {
                Value::Array(items.iter().map(|item| item.fill(results)).collect::<Option<_>>()?)
            }
            Self::Table(fields) => {
                let fields =
                    fields.iter().map(|(key, field)| Some((key.clone(), field.fill(results)?)));
                Value::Object(fields.collect::<Option<Map<_, _>>>()?)
            }
            Self::Plain(value) => value.clone(),
        })
    }

    fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Text(template) => names.extend(template.names()),
            Self::List(items) => items.iter().for_each(|item| item.names(names)),
            Self::Table(fields) => fields.iter().for_each(|(_, field)| field.names(names)),
            Self::Plain(_) => {}
        }
    }
}

impl TryFrom<Value> for InputTemplate {
    type Error = TemplateError;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::try_from(text)?),
            Value::Array(items) => {
                Self::List(items.into_iter().map(Self::try_from).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields =
                    fields.into_iter().map(|(key, field)| Ok((key, Self::try_from(field)?)));
                Self::Table(fields.collect::<Result<_, Self::Error>>()?)
            }
            plain => Self::Plain(plain),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAYS: &str = "pace = 0\nsays = { unmatched = '-', stuck = '-', aside = '-' }\n";

    fn refusal(agents: &str) -> String {
        let text = format!("{SAYS}{agents}");
        Scenario::parse(&text, Path::new("play.toml")).unwrap_err().to_string()
    }

    #[test]
    fn a_mistake_is_refused_with_its_place() {
        let unknown = refusal("[[agent]]\nmatch = 'x'\n[[agent.reply]]\nsay = 'hello'\n");
        assert!(unknown.starts_with("play.toml:6: unknown field `say`"), "{unknown}");
        let broken = refusal("[[agent]]\nmatch = 'x'\n[[agent.reply]]\ntext = '{{hits'\n");
        assert!(
            broken.starts_with("play.toml:6: ") && broken.contains("close the slot"),
            "{broken}"
        );
    }

    #[test]
    fn a_reply_can_only_name_results_that_earlier_calls_have() {
        let reply = "[[agent.reply]]\ntext = '{{hits}}'\n";
        let call = "[[agent.reply]]\n[[agent.reply.call]]\ntool = 'T'\nas = 'hits'\ninput = {}\n";
        let early = refusal(&format!("[[agent]]\nmatch = 'x'\n{reply}{call}"));
        assert!(early.contains("reply 1 names the result `hits`"), "{early}");
        let twice = refusal(&format!("[[agent]]\nmatch = 'x'\n{call}{call}"));
        assert!(twice.contains("twice"), "{twice}");
    }
}
