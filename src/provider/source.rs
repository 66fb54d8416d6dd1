//! Resolves model names to models ready for requests.

use async_trait::async_trait;

use super::error::ProviderError;
use super::model::Model;
use crate::protocol::EnvOverlay;

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
    /// An alias or a full name.
    pub model: Option<&'a str>,
    /// The session's environment with the variables of the agent's definition on top; absent if it sets none.
    pub env: Option<&'a EnvOverlay>,
}
