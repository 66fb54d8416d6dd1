//! `Skill`: loads the text of a skill when a model wants to use it.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{CustomSources, Customs, listing};
use crate::protocol::{Access, count};
use crate::tool::{SoftKind, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

/// The name of the tool.
pub const TOOL: &str = "Skill";

const ABOUT: &str = "Loads a skill: instructions for one kind of task. When one of these fits what you are to do, load it before you begin.";

/// The tool. It reads the files anew at each call, so that an edited skill counts at once.
#[derive(Debug)]
struct Skill {
    sources: CustomSources,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Its name in the list above.
    skill: String,
    /// What it is to be used on, if it takes arguments.
    args: Option<String>,
}

/// The tool for the skills of a snapshot; `None` when there are none, so that nobody pays for it.
#[must_use]
pub fn tool(sources: &CustomSources, customs: &Customs) -> Option<Arc<dyn Tool>> {
    let skills: Vec<_> = customs.skills().map(AsRef::as_ref).collect();
    if skills.is_empty() {
        return None;
    }
    let list = listing::of(&skills);
    let spec = ToolSpec::of::<Input>(TOOL, &format!("{ABOUT}{list}"));
    Some(Arc::new(Skill { sources: sources.clone(), spec }))
}

impl Input {
    /// The name that rules judge and that is loaded, without a slash that the model may have put before it.
    fn name(&self) -> &str {
        self.skill.trim().trim_start_matches('/')
    }
}

#[async_trait]
impl TypedTool for Skill {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &Input) -> String {
        input.name().to_owned()
    }

    fn access(&self, input: &Input, _cwd: &Path) -> Access {
        Access::Skill { name: input.name().to_owned() }
    }

    async fn run(&self, input: Input, _cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let sources = self.sources.clone();
        let customs = tokio::task::spawn_blocking(move || Customs::load(&sources)).await;
        let customs = customs.map_err(|error| ToolError::failed(error.to_string()))?;
        let name = input.name();
        match customs.skill(name) {
            Some(skill) if !skill.only_person => {
                let text = skill.text(input.args.unwrap_or_default().trim());
                let lines = text.lines().count();
                Ok(ToolOutcome::text(text, count(lines, "line")))
            }
            Some(_) => {
                let why = format!("The skill {name} is the user's alone to call, as /{name}.");
                Err(ToolError::soft(SoftKind::Denied, why))
            }
            None => {
                let known: Vec<&str> = customs.skills().map(|skill| skill.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let why = format!("There is no skill {name:?}. The skills are: {known}.");
                Err(ToolError::soft(SoftKind::InvalidInput, why))
            }
        }
    }
}
