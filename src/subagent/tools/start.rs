//! The tools that start a sub-agent. They differ in their input and in how they report the agent;
//! the spawner does the work.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Value, json};

use super::input::{AgentInput, DelegateInput, ForkInput, HOST_MODE, IN_BACKGROUND, SpawnInput};
use super::names::SEND_TOOL;
use super::status::json_outcome;
use crate::config::AgentToolset;
use crate::markdown::format_listing;
use crate::protocol::{Access, AgentId, ToolDetails};
use crate::subagent::child_spec::ChildSpec;
use crate::subagent::definition::Definition;
use crate::subagent::report::end_text;
use crate::subagent::spawn::{AgentRef, SpawnOutcome, Spawner};
use crate::subagent::tree::{AgentResult, AgentStatus};
use crate::tool::{
    InvalidInput, PreparedCall, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec,
};

/// When to delegate, and when not to; the list of agents follows it.
const AGENT_TEXT: &str = include_str!("../../../assets/prompts/delegation.md");

const SPAWN_TEXT: &str = "Starts a sub-agent in the background with a fresh context, and returns at once. Use it for independent work beside your own; not for what a few calls do, nor when you need the result next. Its result comes to you as a message: never poll, never start an agent to watch another.";

const FORK_TEXT: &str = "Starts a copy of you in the background: it knows this whole conversation and works on `prompt`. Use it for a side task that needs this conversation; agent_spawn is cheaper for everything else. Its result comes to you as a message: never poll.";

const DELEGATE_TEXT: &str = "Starts this sub-agent with a fresh context and waits for its report, a JSON object. The prompt is all it knows. Not for what a few calls of your own can do; results arrive by themselves.";

/// Lengths to which agent descriptions are cut, tried in order until the list fits. Characters.
const DESCRIPTION_CHARS: [usize; 4] = [usize::MAX, 300, 150, 80];

/// The size limit of the agent list, which is part of every request. Bytes.
const MAX_AGENT_LIST_BYTES: usize = 24 * 1024;

/// A tool that starts a sub-agent.
pub(super) struct StartTool {
    spawner: Spawner,
    spec: ToolSpec,
    kind: StartKind,
}

/// The kinds of these tools.
enum StartKind {
    /// `AgentTool`: waits for the agent's final text.
    Agent,
    /// `agent_spawn`: starts an agent in the background that knows only its prompt.
    Spawn,
    /// `agent_fork`: starts a copy of its caller in the background.
    Fork,
    /// `delegate_to_NAME`: one tool per definition, for models that choose better between tools
    /// than between names.
    Delegate(Arc<Definition>),
}

impl StartTool {
    /// Creates `AgentTool`, with the available agents in its description.
    pub fn agent(spawner: &Spawner) -> Self {
        let settings = &spawner.factory().parts.settings;
        let description = with_agents(AGENT_TEXT, spawner);
        let mut spec = ToolSpec::new::<AgentInput>(settings.config.tool_name.name(), &description);
        if !settings.offers(AgentToolset::Lifecycle) {
            spec = spec.without_field(IN_BACKGROUND);
        }
        Self { spawner: spawner.clone(), spec, kind: StartKind::Agent }
    }

    /// Creates `agent_spawn`.
    pub fn spawn(spawner: &Spawner) -> Self {
        let settings = &spawner.factory().parts.settings;
        // The list of agents is long: include it only once.
        let description = match settings.offers(AgentToolset::Agent) {
            true => {
                let tool = settings.config.tool_name.name();
                format!("{SPAWN_TEXT} The agents are those of {tool}.")
            }
            false => with_agents(SPAWN_TEXT, spawner),
        };
        let mut spec =
            ToolSpec::new::<SpawnInput>("agent_spawn", &description).with_bare_field("budget");
        if let Some(text) = models_text(spawner) {
            spec = spec.with_field_text("model", &text);
        }
        if !settings.config.comms {
            spec = spec.without_field(HOST_MODE);
        }
        Self { spawner: spawner.clone(), spec, kind: StartKind::Spawn }
    }

    /// Creates `agent_fork`.
    pub fn fork(spawner: &Spawner) -> Self {
        let spec = ToolSpec::new::<ForkInput>("agent_fork", FORK_TEXT).with_bare_field("budget");
        Self { spawner: spawner.clone(), spec, kind: StartKind::Fork }
    }

    /// Creates the tool that delegates to one agent.
    pub fn delegate(spawner: &Spawner, definition: Arc<Definition>) -> Self {
        let description = format!("{}\n{DELEGATE_TEXT}", definition.description);
        let spec = ToolSpec::new::<DelegateInput>(&definition.tool_name(), &description);
        Self { spawner: spawner.clone(), spec, kind: StartKind::Delegate(definition) }
    }

    /// Reports what became of the agent.
    fn report(&self, outcome: &SpawnOutcome) -> Result<ToolOutcome, ToolError> {
        match (outcome, &self.kind) {
            (SpawnOutcome::Ended(ended), StartKind::Delegate(_)) => json_report(ended),
            (SpawnOutcome::Ended(ended), _) => ended.tool_outcome(),
            (SpawnOutcome::InBackground(agent), kind) => Ok(match kind {
                StartKind::Agent => ToolOutcome::text(
                    format!(
                        "{} ({}) runs in the background. Its result will come to you as a message: do not wait or ask for it.",
                        agent.name, agent.id
                    ),
                    "in the background",
                )
                .with_details(ToolDetails::ForModel),
                StartKind::Delegate(_) => running(
                    agent,
                    "It runs in the background: its result will come to you as a message.",
                    "in the background",
                ),
                StartKind::Spawn | StartKind::Fork => self.ids(agent),
            }),
            (SpawnOutcome::Detached(agent), StartKind::Delegate(_)) => Ok(running(
                agent,
                "The user moved it to the background: its result will come to you as a message.",
                "moved to the background",
            )),
            (SpawnOutcome::Detached(agent), _) => Ok(ToolOutcome::text(
                format!(
                    "{} ({}) now runs in the background: the user moved it there. Its result will come to you as a message: do not start it again, and do not wait for it.",
                    agent.name, agent.id
                ),
                "moved to the background",
            )
            .with_details(ToolDetails::ForModel)),
        }
    }

    /// The ids with which the lifecycle tools find the agent.
    fn ids(&self, agent: &AgentRef) -> ToolOutcome {
        #[derive(Serialize)]
        struct StartAnswer<'a> {
            agent_id: AgentId,
            name: &'a str,
            state: AgentStatus,
            /// The tool to send it messages.
            #[serde(skip_serializing_if = "Option::is_none")]
            message_with: Option<&'static str>,
        }
        let factory = self.spawner.factory();
        let state = factory.parts.tree.look_up(agent.id).map(|agent| agent.status());
        let answer = StartAnswer {
            agent_id: agent.id,
            name: &agent.name,
            state: state.unwrap_or(AgentStatus::Running),
            message_with: factory.parts.settings.config.comms.then_some(SEND_TOOL),
        };
        json_outcome(&answer, "in the background", false)
    }
}

impl Tool for StartTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let settings = &self.spawner.factory().parts.settings;
        let request = match &self.kind {
            StartKind::Agent => {
                let has_background = self.spec.has_field(IN_BACKGROUND);
                self.spec.parse::<AgentInput>(input)?.request(has_background)?
            }
            StartKind::Spawn => {
                self.spec.parse::<SpawnInput>(input)?.request(settings.config.comms)?
            }
            StartKind::Fork => self.spec.parse::<ForkInput>(input)?.request()?,
            StartKind::Delegate(definition) => {
                self.spec.parse::<DelegateInput>(input)?.request(definition)
            }
        };
        let spec = self.spawner.resolve(request)?;
        Ok(Box::new(StartCall { tool: self, spec }))
    }
}

/// A call that may start its agent.
struct StartCall {
    tool: Arc<StartTool>,
    spec: ChildSpec,
}

#[async_trait]
impl PreparedCall for StartCall {
    fn summary(&self) -> String {
        self.spec.request.title()
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Agent { name: self.spec.definition.name.clone() }
    }

    /// An agent has its own limits.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// A cancelled agent ends as soon as its own tools have ended, then reports.
    fn grace(&self) -> Option<Duration> {
        None
    }

    fn only_waits(&self) -> bool {
        true
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Self { tool, spec } = *self;
        let outcome = Box::pin(tool.spawner.run(spec, &cx)).await?;
        tool.report(&outcome)
    }
}

/// Appends the list of agents to a tool's description.
fn with_agents(description: &str, spawner: &Spawner) -> String {
    let agents: Vec<_> = spawner.factory().offered().collect();
    let lines = agents.iter().map(|agent| (agent.name.as_str(), agent.description.as_str()));
    let list = format_listing(lines, &DESCRIPTION_CHARS, MAX_AGENT_LIST_BYTES);
    format!("{}{list}", description.trim())
}

/// Lists the allowed models if the configuration limits them, or else some of the catalogue.
fn models_text(spawner: &Spawner) -> Option<String> {
    let models = &spawner.factory().parts.models;
    let allowed = models.allowed();
    let lists =
        allowed.iter().map(|(provider, models)| format!("{provider}: {}", models.join(", ")));
    let lists: Vec<_> = lists.collect();
    if !lists.is_empty() {
        return Some(format!("Default: your own. Allowed: {}.", lists.join("; ")));
    }
    let own = spawner.parent().model.get();
    let (provider, models) = models.examples(own.provider.name())?;
    Some(format!("Default: your own. Of {provider}, for example: {}.", models.join(", ")))
}

/// The report of an agent that has ended, as a JSON object.
fn json_report(ended: &AgentResult) -> Result<ToolOutcome, ToolError> {
    // A failure that ends the run is an error here too.
    let outcome = ended.tool_outcome()?;
    let report = &ended.report;
    let answer = json!({
        "agent_id": report.agent_id, "name": report.name, "status": AgentStatus::from_end(&report.status),
        "end": end_text(&report.status), "text": ended.text, "duration_ms": report.duration_ms,
        "turns": report.turns, "tool_calls": report.tool_uses, "usage": report.usage,
        "cost_usd": (!report.cost.incomplete).then_some(report.cost.usd),
    });
    let details = outcome.details;
    Ok(ToolOutcome { details, ..json_outcome(&answer, &outcome.summary, outcome.is_error) })
}

/// The same for an agent that runs in the background.
fn running(agent: &AgentRef, text: &str, summary: &str) -> ToolOutcome {
    let answer = json!({
        "agent_id": agent.id, "name": agent.name, "status": AgentStatus::Running, "text": text,
    });
    json_outcome(&answer, summary, false)
}
