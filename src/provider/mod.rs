//! Model providers: one trait, one file per wire.
//!
//! Each wire is a body on the way out and a decoder of events on the way back; [`HttpClient`] and
//! the rest are shared. A provider turns a [`ModelRequest`] into a stream of events. It makes one
//! attempt: only [`retry`] decides whether a failed request is repeated.

use std::path::Path;
use std::sync::Arc;

use crate::config::ProviderKind;

mod anthropic;
mod api;
mod blocks;
mod dialect;
mod endpoint;
mod error;
mod exchange;
mod gemini;
mod http;
mod model;
mod model_list;
mod openai_chat;
mod openai_responses;
mod readable;
pub mod retry;
pub mod scripted;
mod server_error;
mod settings;
mod sse;
#[cfg(test)]
mod test_server;
mod turns;
mod wire;

pub use api::{EventStream, ModelListFuture, ModelRequest, OfferedModel, Provider, ToolChoice};
pub use endpoint::label;
pub use error::{ErrorKind, ProviderError};
pub use http::{DEFAULT_CONNECT_TIMEOUT, HttpClient};
pub use model::{ChildModel, Model, ModelSlot, ModelSource};
pub use retry::RetryPolicy;
pub use settings::{Credential, DEFAULT_IDLE_TIMEOUT, ProviderSettings};

use anthropic::Anthropic;
use gemini::Gemini;
use openai_chat::OpenaiChat;
use openai_responses::OpenaiResponses;
use scripted::Scripted;
use wire::HttpProvider;

/// Builds the provider. Does nothing until its first request, but reads the file of a scripted one.
pub fn build(
    settings: &ProviderSettings,
    http: &HttpClient,
) -> Result<Arc<dyn Provider>, ProviderError> {
    Ok(match settings.kind {
        ProviderKind::Anthropic => Arc::new(HttpProvider::<Anthropic>::new(settings, http)),
        ProviderKind::OpenaiChat => Arc::new(HttpProvider::<OpenaiChat>::new(settings, http)),
        ProviderKind::OpenaiResponses => {
            Arc::new(HttpProvider::<OpenaiResponses>::new(settings, http))
        }
        ProviderKind::Gemini => Arc::new(HttpProvider::<Gemini>::new(settings, http)),
        ProviderKind::Scripted => Arc::new(scripted(settings)?),
    })
}

fn scripted(settings: &ProviderSettings) -> Result<Scripted, ProviderError> {
    let path = settings.scenario.as_deref().unwrap_or(Path::new(""));
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{}: the scenario cannot be read: {error}", path.display()))
        .map_err(ProviderError::bad_request)?;
    let scripted = Scripted::from_toml(&text, path)
        .map_err(|error| ProviderError::bad_request(error.to_string()))?;
    Ok(scripted.with_name(&settings.name))
}
