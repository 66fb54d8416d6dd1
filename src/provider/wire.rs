//! The protocol of an HTTP provider, and what all of them have in common.

use std::marker::PhantomData;

use serde_json::Value;

use super::api::{EventStream, ModelListFuture, ModelRequest, OfferedModel, Provider};
use super::endpoint::Endpoint;
use super::error::ProviderError;
use super::exchange::{self, EventDecoder};
use super::http::HttpClient;
use super::model_list;
use super::settings::ProviderSettings;
use crate::config::models::ModelInfo;

/// The protocol of an HTTP provider: its addresses, the body of a request, the events of an answer.
pub(super) trait Wire: Send + Sync + 'static {
    type Decoder: EventDecoder + Default;

    /// Returns the endpoint that all others are below, with the headers of every request.
    fn base(settings: &ProviderSettings) -> Result<Endpoint, ProviderError> {
        Endpoint::new(settings, &[], None)
    }

    /// Returns the endpoint for requests to `model`.
    fn endpoint(base: &Endpoint, model: &str) -> Endpoint;

    /// Returns the endpoint of the list of models.
    fn model_list(base: &Endpoint) -> Endpoint {
        base.below(&["models"], None)
    }

    /// Encodes the body of a request.
    fn body(request: &ModelRequest<'_>, endpoint: &Endpoint) -> serde_json::Result<Vec<u8>>;

    /// Parses the list of models; `None` if it is not one.
    fn parse_models(body: &Value) -> Option<Vec<OfferedModel>> {
        model_list::parse_ids(body)
    }

    /// Whether a model can be forced to call one tool.
    fn can_force(_model: &ModelInfo) -> bool {
        true
    }
}

/// A provider that speaks the wire `W`. Invalid settings are the error of its first request.
pub(super) struct HttpProvider<W> {
    name: String,
    http: HttpClient,
    base: Result<Endpoint, ProviderError>,
    wire: PhantomData<W>,
}

impl<W: Wire> HttpProvider<W> {
    pub fn new(settings: &ProviderSettings, http: &HttpClient) -> Self {
        Self {
            name: settings.name.clone(),
            http: http.clone(),
            base: W::base(settings),
            wire: PhantomData,
        }
    }
}

impl<W: Wire> Provider for HttpProvider<W> {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: &ModelRequest<'_>) -> EventStream {
        let base = match &self.base {
            Ok(base) => base,
            Err(error) => return exchange::fail(error.clone()),
        };
        let endpoint = W::endpoint(base, request.model);
        match W::body(request, &endpoint) {
            Ok(body) => {
                let decoder = W::Decoder::default();
                exchange::run(&self.http, endpoint, request.model, body, decoder)
            }
            Err(error) => {
                let message = format!("The conversation cannot be sent: {error}");
                exchange::fail(ProviderError::bad_request(message))
            }
        }
    }

    fn models(&self) -> ModelListFuture {
        let endpoint = self.base.as_ref().map(W::model_list).map_err(Clone::clone);
        model_list::fetch_models(&self.http, endpoint, W::parse_models)
    }

    fn can_force(&self, model: &ModelInfo) -> bool {
        W::can_force(model)
    }
}
