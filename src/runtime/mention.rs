//! Turns `@agent-NAME` in the user's prompt into the call that the main agent must start with.

use super::subagent_tools::SubagentTools;
use super::{ModelSlot, Runtime};
use crate::agent::{ArgMatch, ForcedCall};
use crate::config::AgentToolset;
use crate::protocol::{QueuedPrompt, Sender, mention};
use crate::subagent::definition::Definition;
use crate::subagent::{DEFAULT_AGENT, SubagentSettings};

/// The fields of a call that name the agent.
const AGENT_FIELDS: &[&str] = &["agent", "subagent_type"];

impl Runtime {
    /// Returns the call that a prompt requests by an agent's name. The error is one line for the user.
    pub(super) async fn forced_call(
        &mut self,
        prompt: &QueuedPrompt,
        model: &ModelSlot,
    ) -> Result<Option<ForcedCall>, String> {
        let meaning = prompt.meaning.as_deref().unwrap_or_default();
        let texts = [prompt.text.as_str(), meaning];
        let is_mention = texts.iter().any(|text| text.contains(mention::PREFIX));
        if !is_mention || prompt.from != Sender::Person {
            return Ok(None);
        }
        // Refreshes the definitions.
        let agent = self.take_main(model.clone()).await;
        self.main = Some(agent);
        let offer = self.subagent_tools.as_ref();
        let is_known =
            |name: &str| offer.is_some_and(|offer| offer.definitions().get(name).is_some());
        let names: Vec<&str> =
            texts.into_iter().flat_map(|text| mention::agents(text, is_known)).collect();
        let Some(first) = names.first() else { return Ok(None) };
        let Some(offer) = offer else { return Err(refusal(first, "sub-agents are off")) };
        if !prompt.sub_agents {
            return Err(refusal(first, "this prompt may not start sub-agents"));
        }
        if !offer.settings().may_start(0) {
            return Err(refusal(first, "the depth limit allows no sub-agents here"));
        }
        let definitions = names.iter().map(|name| self.find_agent(offer, name));
        let definitions = definitions.collect::<Result<Vec<_>, _>>()?;
        Ok(definitions.first().and_then(|first| call(offer.settings(), first)))
    }

    fn find_agent<'a>(
        &self,
        offer: &'a SubagentTools,
        name: &str,
    ) -> Result<&'a Definition, String> {
        let Some(definition) = offer.definitions().get(name) else {
            let known: Vec<_> = offer.definitions().iter().map(|it| it.name.as_str()).collect();
            let why = format!("there is no such agent; the agents are {}", known.join(", "));
            return Err(refusal(name, &why));
        };
        if self.parts.gate.denies_agent(name) {
            return Err(refusal(name, "a deny rule blocks this agent"));
        }
        Ok(definition)
    }
}

fn refusal(name: &str, why: &str) -> String {
    format!("{}{name}: {why}. Nothing was sent.", mention::PREFIX)
}

/// Returns the call that starts this agent, using the first kind of agent tool that is enabled.
fn call(settings: &SubagentSettings, definition: &Definition) -> Option<ForcedCall> {
    let name = &definition.name;
    let by_field = |tool: &str| {
        let value = name.clone();
        let wanted = ArgMatch { field: AGENT_FIELDS, is_default: value == DEFAULT_AGENT, value };
        (tool.to_owned(), Some(wanted), format!("{tool} with `agent` {name:?}"))
    };
    let (tool, input, how) = if settings.offers(AgentToolset::Agent) {
        by_field(&settings.tool_name)
    } else if settings.offers(AgentToolset::Delegate) {
        let tool = definition.tool_name();
        (tool.clone(), None, tool)
    } else if settings.offers(AgentToolset::Lifecycle) {
        by_field("agent_spawn")
    } else {
        return None;
    };
    let hint = format!("[The user asks for the agent {name} by name: call {how} first.]");
    let missed = format!("{}{name}: the answer did not start it", mention::PREFIX);
    Some(ForcedCall { tool, input, hint, warning: missed })
}
