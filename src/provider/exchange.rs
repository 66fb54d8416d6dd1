//! One request and its answer as a stream of events, the same for every wire.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::time::timeout;

use super::api::EventStream;
use super::endpoint::Endpoint;
use super::error::{ErrorKind, ProviderError};
use super::http::HttpClient;
use super::sse::SseDecoder;
use crate::protocol::StreamEvent;

/// How long to wait for the end of a body after its last event: a body read to its end frees its
/// connection for the next request, but the answer is not held back for that.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);
/// How long to wait for more after everything that matters has arrived.
const TAIL_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an answer in one piece, in bytes.
const JSON_LIMIT: usize = 16 * 1024 * 1024;

/// A wire's decoder of event data. The message of its errors is the server's own words.
pub(super) trait EventDecoder: Send + 'static {
    /// Decodes the data of one event and appends the events that it means.
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// Returns how far the answer has come.
    fn progress(&self) -> AnswerProgress;

    /// Handles the end of the answer. An incomplete answer is [cut](ProviderError::cut).
    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerProgress {
    Underway,
    /// Everything that matters has arrived; something useful may follow.
    Complete,
    /// Nothing can follow.
    Over,
}

/// Decodes one event. Data of another shape may be an error report of the server.
pub(super) fn parse_event<T: DeserializeOwned>(data: &str) -> Result<T, ProviderError> {
    if let Ok(piece) = serde_json::from_str(data) {
        return Ok(piece);
    }
    let body: Value = serde_json::from_str(data).map_err(ProviderError::malformed)?;
    Err(match body.get("error").or_else(|| body.get(0)) {
        Some(_) => ProviderError::reported(&body),
        None => ProviderError::malformed("an unknown format"),
    })
}

/// Sends `body` to `model` at the endpoint, and streams the answer. A failure is the stream's first
/// item.
pub(super) fn run<D: EventDecoder>(
    http: &HttpClient,
    endpoint: Endpoint,
    model: &str,
    body: Vec<u8>,
    decode: D,
) -> EventStream {
    let exchange = Exchange {
        http: http.clone(),
        endpoint,
        model: model.to_owned(),
        decode,
        phase: ExchangePhase::Ask(body),
        ready: VecDeque::new(),
        events: Vec::new(),
    };
    stream::unfold(exchange, |mut exchange| async {
        exchange.next().await.map(|item| (item, exchange))
    })
    .boxed()
}

/// Creates a stream that fails at once.
pub(super) fn fail(error: ProviderError) -> EventStream {
    stream::iter([Err(error)]).boxed()
}

struct Exchange<D> {
    http: HttpClient,
    endpoint: Endpoint,
    /// For errors.
    model: String,
    decode: D,
    phase: ExchangePhase,
    ready: VecDeque<StreamEvent>,
    /// Reused between chunks.
    events: Vec<StreamEvent>,
}

enum ExchangePhase {
    Ask(Vec<u8>),
    Read(Response, BodyShape),
    Fail(ProviderError),
    Over,
}

/// The form of a body.
enum BodyShape {
    /// Only white space so far, and the header promises no events.
    Unknown,
    Events(SseDecoder),
    /// The whole answer as one object, from servers that do not stream.
    Object(Vec<u8>),
}

impl<D: EventDecoder> Exchange<D> {
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            self.phase = match std::mem::replace(&mut self.phase, ExchangePhase::Over) {
                ExchangePhase::Over => return None,
                ExchangePhase::Fail(error) => return Some(Err(error)),
                ExchangePhase::Ask(body) => self.ask(body).await,
                ExchangePhase::Read(response, shape) => self.read(response, shape).await,
            };
            self.ready.extend(self.events.drain(..));
        }
    }

    async fn ask(&mut self, body: Vec<u8>) -> ExchangePhase {
        let asked = post(&self.http, &self.endpoint, body);
        match timeout(self.endpoint.idle_timeout, asked).await {
            Err(_) => self.silent(),
            Ok(Err(error)) => ExchangePhase::Fail(error),
            Ok(Ok(response)) if !response.status().is_success() => ExchangePhase::Fail(
                ProviderError::rejected(response, &self.endpoint, Some(&self.model)).await,
            ),
            Ok(Ok(response)) => {
                let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
                let promised = kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"));
                let shape = if promised {
                    BodyShape::Events(SseDecoder::default())
                } else {
                    BodyShape::Unknown
                };
                ExchangePhase::Read(response, shape)
            }
        }
    }

    /// Reads one chunk. Events go to `self.events`.
    async fn read(&mut self, mut response: Response, mut shape: BodyShape) -> ExchangePhase {
        let complete = self.decode.progress() == AnswerProgress::Complete;
        let idle = self.endpoint.idle_timeout;
        let limit = if complete { idle.min(TAIL_TIMEOUT) } else { idle };
        let chunk = match timeout(limit, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return self.finish(shape),
            Err(_) | Ok(Err(_)) if complete => return self.finish(shape),
            Ok(Err(_)) => {
                return ExchangePhase::Fail(ProviderError::cut().with_host(&self.endpoint));
            }
            Err(_) => return self.silent(),
        };
        let status = response.status().as_u16();
        if let Err(error) = self.push_chunk(&chunk, &mut shape, status) {
            return ExchangePhase::Fail(error);
        }
        if self.decode.progress() == AnswerProgress::Over {
            if is_framed(&response) {
                let _ = timeout(DRAIN_TIMEOUT, drain(&mut response)).await;
            }
            return self.end();
        }
        ExchangePhase::Read(response, shape)
    }

    fn push_chunk(
        &mut self,
        chunk: &[u8],
        shape: &mut BodyShape,
        status: u16,
    ) -> Result<(), ProviderError> {
        if let BodyShape::Unknown = shape {
            *shape = match chunk.trim_ascii_start().first() {
                None => return Ok(()),
                Some(b'<') => {
                    return Err(ProviderError::web_page(status, &self.endpoint));
                }
                Some(b'{' | b'[') => BodyShape::Object(Vec::new()),
                Some(_) => BodyShape::Events(SseDecoder::default()),
            };
        }
        match shape {
            BodyShape::Unknown => Ok(()),
            BodyShape::Object(object) if object.len() + chunk.len() > JSON_LIMIT => {
                Err(ProviderError::malformed("the answer is too large").with_host(&self.endpoint))
            }
            BodyShape::Object(object) => {
                object.extend_from_slice(chunk);
                Ok(())
            }
            BodyShape::Events(sse) => {
                let mut data = Vec::new();
                let pushed = sse.push(chunk, &mut data);
                for data in data {
                    self.event(&data)?;
                }
                pushed.map_err(|error| ProviderError::malformed(error).with_host(&self.endpoint))
            }
        }
    }

    fn event(&mut self, data: &str) -> Result<(), ProviderError> {
        if self.decode.progress() == AnswerProgress::Over || data.trim().is_empty() {
            return Ok(());
        }
        self.decode.event(data, &mut self.events).map_err(|error| error.with_host(&self.endpoint))
    }

    /// Handles the end of the body, or the decision not to wait for more of it.
    fn finish(&mut self, shape: BodyShape) -> ExchangePhase {
        match shape {
            BodyShape::Unknown => {}
            BodyShape::Events(mut sse) => {
                if let Ok(Some(data)) = sse.finish()
                    && is_whole(&data)
                    && let Err(error) = self.event(&data)
                {
                    return ExchangePhase::Fail(error);
                }
            }
            BodyShape::Object(object) => {
                let text = String::from_utf8_lossy(&object);
                if let Err(error) = self.event(&text) {
                    return ExchangePhase::Fail(error);
                }
            }
        }
        self.end()
    }

    fn silent(&self) -> ExchangePhase {
        let error = ProviderError::new(ErrorKind::Timeout, "no data");
        ExchangePhase::Fail(error.with_host(&self.endpoint))
    }

    fn end(&mut self) -> ExchangePhase {
        match self.decode.end(&mut self.events) {
            Ok(()) => ExchangePhase::Over,
            Err(error) => ExchangePhase::Fail(error.with_host(&self.endpoint)),
        }
    }
}

async fn post(
    http: &HttpClient,
    endpoint: &Endpoint,
    body: Vec<u8>,
) -> Result<Response, ProviderError> {
    let request = http
        .client(&endpoint.url)
        .await?
        .post(endpoint.url.clone())
        .headers(endpoint.headers.clone())
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    let sent = request.send().await;
    sent.map_err(|error| ProviderError::unreachable(&error, endpoint, http.connect_timeout()))
}

/// Whether the last data of a body is more than the start of an event.
fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok()
}

/// Whether the body marks its end, so that the connection can be reused.
fn is_framed(response: &Response) -> bool {
    response.headers().contains_key(TRANSFER_ENCODING) || response.content_length().is_some()
}

async fn drain(response: &mut Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}

#[cfg(test)]
mod tests;
