//! `Skill`: loads the text of a skill for a model.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::set::CommandSet;
use super::sources::CommandSources;
use crate::markdown::format_listing;
use crate::protocol::{Access, count};
use crate::tool::{
    InvalidInput, PreparedCall, SoftKind, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec,
};

/// The name of the tool.
pub const SKILL_TOOL: &str = "Skill";

const TOOL_DESCRIPTION: &str = "Loads a skill: instructions for one kind of task. If one of these fits your task, load it before you begin.";

/// Maximum length of a description, if there is room. Characters.
const DESCRIPTION_CHARS: usize = 300;

/// Maximum length of a description otherwise. Characters.
const SHORT_CHARS: usize = 80;

/// Maximum size of the list, in bytes.
const MAX_LIST_BYTES: usize = 8 * 1024;

/// The tool. It reads the files again at each call, so that an edited skill takes effect at once.
#[derive(Debug)]
struct SkillTool {
    sources: CommandSources,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillInput {
    /// The skill's name, from the list above.
    skill: String,
    /// Arguments, if the skill takes any.
    args: Option<String>,
}

/// Creates the tool for the skills of a snapshot; `None` if there are none, to save tokens.
pub fn skill_tool(sources: &CommandSources, commands: &CommandSet) -> Option<Arc<dyn Tool>> {
    let skills = commands.skills();
    let skills: Vec<_> = skills.map(|it| (it.name.as_str(), it.description.as_str())).collect();
    if skills.is_empty() {
        return None;
    }
    let lengths = [DESCRIPTION_CHARS, SHORT_CHARS];
    let list = format_listing(skills.into_iter(), &lengths, MAX_LIST_BYTES);
    let spec = ToolSpec::new::<SkillInput>(SKILL_TOOL, &format!("{TOOL_DESCRIPTION}{list}"));
    Some(Arc::new(SkillTool { sources: sources.clone(), spec }))
}

impl SkillInput {
    /// Returns the name to judge and load, without a leading slash that the model may have added.
    fn name(&self) -> &str {
        self.skill.trim().trim_start_matches('/')
    }
}

impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input = self.spec.parse(input)?;
        Ok(Box::new(SkillCall { sources: self.sources.clone(), input }))
    }
}

/// A call with a valid input.
struct SkillCall {
    sources: CommandSources,
    input: SkillInput,
}

#[async_trait]
impl PreparedCall for SkillCall {
    fn summary(&self) -> String {
        self.input.name().to_owned()
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Skill { name: self.input.name().to_owned() }
    }

    async fn run(self: Box<Self>, _cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Self { sources, input } = *self;
        let commands = tokio::task::spawn_blocking(move || CommandSet::load(&sources)).await;
        let commands = commands.map_err(|error| ToolError::failed(error.to_string()))?;
        let name = input.name();
        match commands.skill(name) {
            Some(skill) if !skill.user_only => {
                let text = skill.text(input.args.unwrap_or_default().trim());
                let lines = text.lines().count();
                Ok(ToolOutcome::text(text, count(lines, "line")))
            }
            Some(_) => {
                let why = format!("Only the user can call the skill {name}, as /{name}.");
                Err(ToolError::soft(SoftKind::Denied, why))
            }
            None => {
                let known: Vec<&str> = commands.skills().map(|skill| skill.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let why = format!("There is no skill {name:?}. The skills are: {known}.");
                Err(ToolError::soft(SoftKind::InvalidInput, why))
            }
        }
    }
}
