//! A provider as agents see it: a trait, its request, and the stream of its answer.

use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::error::ProviderError;
use crate::config::models::{ModelInfo, Thinking};
use crate::protocol::{Message, StreamEvent};
use crate::tool::ToolSpec;

/// The events of one answer. Dropping the stream closes its connection: that *is* the cancel.
pub type EventStream = BoxStream<'static, Result<StreamEvent, ProviderError>>;

/// One model that an endpoint offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedModel {
    /// The name in requests.
    pub name: String,
    /// The context window in tokens, if the endpoint gives it.
    pub context_window: Option<u64>,
}

impl OfferedModel {
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), context_window: None }
    }
}

/// The models of a provider, or the error of the request.
pub type ModelListFuture = BoxFuture<'static, Result<Vec<OfferedModel>, ProviderError>>;

/// A service that answers model requests. Shared by all agents that use it, with its connections.
pub trait Provider: Send + Sync {
    /// The name in the configuration, such as `anthropic`.
    fn name(&self) -> &str;

    /// Sends one request, once. The request is serialized before this returns. Failures, including
    /// those of the connection, are the stream's first item.
    fn stream(&self, request: &ModelRequest<'_>) -> EventStream;

    /// Lists its models: one cheap request, which also checks the address and the key.
    fn models(&self) -> ModelListFuture {
        let message = format!("{} does not list its models", self.name());
        Box::pin(std::future::ready(Err(ProviderError::bad_request(message))))
    }

    /// Whether a model of this provider supports [`ToolChoice::Tool`].
    fn can_force(&self, _model: &ModelInfo) -> bool {
        false
    }
}

/// The choice of tools that the model has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice<'a> {
    /// The model decides.
    #[default]
    Auto,
    /// It must call the tool of this name. Only for a model that [can be forced](Provider::can_force).
    Tool(&'a str),
    /// It may call none. The tools are still sent: without them the server misses its cache
    /// for the conversation, and gateways refuse the calls and results in it.
    None,
}

/// One request to a model. Borrowed: nothing is copied except into the body.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    pub model: &'a str,
    /// The static system prompt: byte-identical from turn to turn, so that caches hold.
    pub system: &'a str,
    pub messages: &'a [Message],
    pub tools: &'a [ToolSpec],
    pub tool_choice: ToolChoice<'a>,
    /// Maximum tokens of the answer, thinking included.
    pub max_tokens: u32,
    pub thinking: Thinking,
    /// The model's effort level; absent: its default.
    pub effort: Option<&'a str>,
}

impl ModelRequest<'_> {
    /// Whether the tool of this name can be called.
    pub(super) fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// Whether calls are forbidden. Without tools, no wire accepts a tool choice.
    pub(super) fn forbids_calls(&self) -> bool {
        self.tool_choice == ToolChoice::None && !self.tools.is_empty()
    }

    /// Returns a key shared by the requests of one conversation and its forks, but no others: with
    /// it the server routes them to the machine that has the conversation cached.
    pub(super) fn cache_key(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.system.hash(&mut hasher);
        if let Some(Ok(first)) = self.messages.first().map(serde_json::to_vec) {
            first.hash(&mut hasher);
        }
        format!("caliban-{:016x}", hasher.finish())
    }
}
