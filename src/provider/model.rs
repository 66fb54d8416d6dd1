//! A model ready for requests: its provider, the catalogue's facts about it, and how its name is resolved.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use crate::config::models::{Catalogue, EffortScale, ModelInfo, Pricing, Reasoning};
use crate::protocol::{Cost, EnvOverlay, EventKind, Message, ModelCause, Usage};
use crate::tool::ToolSpec;

use super::api::{EventStream, ModelRequest, Provider, ToolChoice};
use super::error::ProviderError;
use super::readable::without_images;
use super::retry::RetryPolicy;

/// One model at one provider.
#[derive(Clone)]
pub struct Model {
    pub provider: Arc<dyn Provider>,
    /// The id on the wire.
    pub name: String,
    pub info: ModelInfo,
    /// Maximum tokens of an answer, as the user set it; `None`: as in the catalogue.
    pub wanted_tokens: Option<u32>,
    /// The effort level, as the user set it. Sent only if the model supports it.
    pub effort: Option<String>,
    pub retry: RetryPolicy,
    /// The model to use while this one stays overloaded.
    pub fallback: Option<Arc<Model>>,
}

impl Model {
    /// Sends one request, once. The model decides which tools it calls.
    pub fn stream(&self, system: &str, messages: &[Message], tools: &[ToolSpec]) -> EventStream {
        self.stream_choosing(system, messages, tools, ToolChoice::Auto)
    }

    /// Sends one request, once, with a choice of tools.
    pub fn stream_choosing(
        &self,
        system: &str,
        messages: &[Message],
        tools: &[ToolSpec],
        tool_choice: ToolChoice<'_>,
    ) -> EventStream {
        let Reasoning { thinking, effort } = self.info.reasoning(self.effort.as_deref());
        let messages = match self.info.is_text_only {
            true => without_images(messages),
            false => messages.into(),
        };
        self.provider.stream(&ModelRequest {
            model: &self.name,
            system,
            messages: &messages,
            tools,
            tool_choice,
            max_tokens: self.max_tokens(),
            thinking,
            effort,
        })
    }

    /// Whether it can be forced to call one tool. If not, the prompt has to ask for it.
    pub fn can_force(&self) -> bool {
        self.provider.can_force(&self.info)
    }

    /// Returns the maximum tokens of an answer.
    pub fn max_tokens(&self) -> u32 {
        self.info.output_limit(self.wanted_tokens)
    }

    /// Returns the cost of one request.
    pub fn cost(&self, usage: Usage) -> Cost {
        self.info.cost(usage)
    }

    /// Describes the model as the one that requests use from now on.
    pub fn changed_event(&self, cause: ModelCause) -> EventKind {
        let words = |scale: &EffortScale| scale.words().into_iter().map(str::to_owned).collect();
        EventKind::ModelChanged {
            provider: self.provider.name().to_owned(),
            model: self.name.clone(),
            context_window: Some(self.info.context_window),
            effort: self.effort.clone().filter(|effort| self.takes_effort(effort)),
            efforts: self.info.effort.as_deref().map(words),
            cause,
        }
    }

    /// Whether an effort level reaches the model. If its levels are unknown, all do.
    fn takes_effort(&self, effort: &str) -> bool {
        self.info.effort.as_ref().is_none_or(|scale| scale.takes(effort))
    }

    /// Returns the same model with another effort level.
    ///
    /// # Errors
    /// One line for the user if the model does not take it.
    pub fn with_effort(&self, effort: Option<String>) -> Result<Self, String> {
        match (&self.info.effort, effort) {
            (Some(scale), Some(effort)) if !self.takes_effort(&effort) => {
                let words = scale.words();
                let name = &self.name;
                Err(match words.is_empty() {
                    true => format!("{name} has no effort levels: nothing was changed"),
                    false => format!(
                        "{name} has no effort {effort}: choose {}, or default",
                        words.join(", ")
                    ),
                })
            }
            (_, effort) => Ok(Self { effort, ..self.clone() }),
        }
    }

    /// Returns notices for the user about this model: a setting that it does not support, a price that is a guess.
    pub fn notices(&self) -> Vec<String> {
        let name = &self.name;
        let mut notices = Vec::new();
        if let (Some(scale), Some(effort)) = (&self.info.effort, &self.effort)
            && !self.takes_effort(effort)
        {
            let takes = scale.words();
            let takes = if takes.is_empty() { "none".to_owned() } else { takes.join(", ") };
            notices.push(format!(
                "Effort \"{effort}\" is not sent to {name}, which does not support it. Efforts of this model: {takes}."
            ));
        }
        if let Pricing::Family(range) = self.info.pricing {
            let (least, most) = (range.least.rates, range.most.rates);
            notices.push(format!(
                "No price is known for {name}. Its family costs ${} to ${} per million tokens of input and ${} to ${} of output; the \
                 highest price is used. Add its price to models.toml for exact costs.",
                least.input, most.input, least.output, most.output
            ));
        }
        notices
    }

    /// Returns another model at the same provider, with the same settings.
    pub fn sibling(&self, name: &str, catalogue: &Catalogue) -> Self {
        let name = catalogue.resolve_alias(name).to_owned();
        let info = catalogue.get(&name);
        Self { info, name, ..self.clone() }
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider.name(), self.name)
    }
}

/// The current model of an agent. The user may change it while the agent works: the next request uses it.
#[derive(Clone, Debug)]
pub struct ModelSlot(Arc<Mutex<Arc<Model>>>);

impl ModelSlot {
    /// Creates a slot with `model`.
    pub fn new(model: Model) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(model))))
    }

    /// Returns the model of the next request.
    pub fn get(&self) -> Arc<Model> {
        self.0.lock().clone()
    }

    /// Changes the model from the next request on to the one that `change` returns for the present
    /// one. Returns whether it returned one. No other change comes in between, so what `change`
    /// emits is emitted in the order of the changes.
    pub fn update(&self, change: impl FnOnce(&Model) -> Option<Model>) -> bool {
        let mut slot = self.0.lock();
        let changed = change(&slot);
        let has_changed = changed.is_some();
        if let Some(model) = changed {
            *slot = Arc::new(model);
        }
        has_changed
    }
}

/// Resolves model names.
#[async_trait]
pub trait ModelSource: Send + Sync {
    /// Returns the model at the given provider, or at the configured one.
    async fn resolve(&self, provider: Option<&str>, model: &str) -> Result<Model, ProviderError>;

    /// Returns the model of a sub-agent. Makes no request; a missing key is an error here already.
    async fn child(&self, ask: ChildModel<'_>) -> Result<Model, ProviderError>;

    /// Returns the models that sub-agents may use, as `(provider, models)`, in a stable order. A
    /// provider that is not listed has no limit.
    fn allowed(&self) -> Vec<(String, Vec<String>)>;

    /// Returns some models that sub-agents may name, and the provider that they use if a call names
    /// none and `parent` is their parent's. `None` if none is known.
    fn examples(&self, parent: &str) -> Option<(String, Vec<String>)>;
}

/// The model that a sub-agent asks for. A name that is absent or `inherit` is the configured
/// default, and then the parent's.
#[derive(Clone, Copy, Debug)]
pub struct ChildModel<'a> {
    pub parent: &'a Model,
    /// A key of `providers`.
    pub provider: Option<&'a str>,
    /// Whether the call named the provider, rather than the user's configuration or definition.
    pub by_call: bool,
    /// An alias or a full name.
    pub model: Option<&'a str>,
    /// The session's environment with the variables of the agent's definition on top; absent if it sets none.
    pub env: Option<&'a EnvOverlay>,
}
