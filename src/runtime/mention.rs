//! `@agent-NAME` in the person's prompt: which call the main agent has to begin with.

use super::offer::Offer;
use super::{ModelSlot, Runtime};
use crate::agent::{Forced, Wanted};
use crate::config::Face;
use crate::protocol::{QueuedPrompt, Sender, mention};
use crate::subagent::definition::Definition;
use crate::subagent::{DEFAULT_AGENT, Settings};

/// The fields by which a call says which agent it wants.
const AGENT: &[&str] = &["agent", "subagent_type"];

impl Runtime {
    /// The call that a prompt asks for by an agent's name. The error is one line for the person.
    pub(super) async fn mentioned(
        &mut self,
        prompt: &QueuedPrompt,
        model: &ModelSlot,
    ) -> Result<Option<Forced>, String> {
        let meaning = prompt.meaning.as_deref().unwrap_or_default();
        let texts = [prompt.text.as_str(), meaning];
        let is_mention = texts.iter().any(|text| text.contains(mention::PREFIX));
        if !is_mention || prompt.from != Sender::Person {
            return Ok(None);
        }
        // The definitions that count are those of this moment.
        let agent = self.take_main(model.clone()).await;
        self.main = Some(agent);
        let offer = self.offer.as_ref();
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
            return Err(refusal(first, "the depth limit lets no sub-agent start here"));
        }
        let definitions = names.iter().map(|name| self.wanted(offer, name));
        let definitions = definitions.collect::<Result<Vec<_>, _>>()?;
        Ok(definitions.first().and_then(|first| call(offer.settings(), first)))
    }

    fn wanted<'a>(&self, offer: &'a Offer, name: &str) -> Result<&'a Definition, String> {
        let Some(definition) = offer.definitions().get(name) else {
            let known: Vec<_> = offer.definitions().iter().map(|it| it.name.as_str()).collect();
            let why = format!("there is no such agent; the agents are {}", known.join(", "));
            return Err(refusal(name, &why));
        };
        if self.parts.gate.withholds_agent(name) {
            return Err(refusal(name, "a deny rule keeps this agent from being started"));
        }
        Ok(definition)
    }
}

fn refusal(name: &str, why: &str) -> String {
    format!("{}{name}: {why}. Nothing was sent.", mention::PREFIX)
}

/// The call that starts this agent, by the first face that there is.
fn call(settings: &Settings, definition: &Definition) -> Option<Forced> {
    let name = &definition.name;
    let by_field = |tool: &str| {
        let value = name.clone();
        let wanted = Wanted { field: AGENT, is_default: value == DEFAULT_AGENT, value };
        (tool.to_owned(), Some(wanted), format!("{tool} with `agent` {name:?}"))
    };
    let (tool, input, how) = if settings.has(Face::Agent) {
        by_field(&settings.tool_name)
    } else if settings.has(Face::Delegate) {
        let tool = definition.tool_name();
        (tool.clone(), None, tool)
    } else if settings.has(Face::Lifecycle) {
        by_field("agent_spawn")
    } else {
        return None;
    };
    let hint = format!("[The user asks for the agent {name} by name: call {how} first.]");
    let missed = format!("{}{name}: the answer did not start it", mention::PREFIX);
    Some(Forced { tool, input, hint, missed })
}
