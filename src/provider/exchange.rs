//! One request and its answer as a stream of events, the same for every wire.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::http::HttpClient;
use super::report::Report;
use super::sse::SseDecoder;
use super::{ErrorKind, EventStream, ProviderError, failure};
use crate::protocol::StreamEvent;

/// How long we wait for the end of a body whose last event has come: a body read to its end frees
/// its connection for the next request, but an answer is not kept back for that.
const DRAIN: Duration = Duration::from_millis(50);
/// How long we wait for more when all that matters has come.
const TAIL: Duration = Duration::from_secs(5);
/// The largest answer that is taken in one piece, in bytes.
const JSON_LIMIT: usize = 16 * 1024 * 1024;

/// What one wire makes of the data of its events.
pub(super) trait Decode: Send + 'static {
    /// Takes the data of one event and appends what it means.
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), Fault>;

    /// How far the answer has come.
    fn progress(&self) -> Progress;

    /// Takes the end of the answer. An answer that was not whole is [`Fault::Cut`].
    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Fault>;
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Underway,
    /// All that matters is there; something useful may follow.
    Complete,
    /// Nothing can follow.
    Over,
}

/// Why an answer cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The server says so.
    Reported(Report),
    /// It makes no sense.
    Senseless(String),
    Cut,
}

/// Reads one event. What has another shape may be what the server says about a failure.
pub(super) fn piece<T: DeserializeOwned>(data: &str) -> Result<T, Fault> {
    if let Ok(piece) = serde_json::from_str(data) {
        return Ok(piece);
    }
    let body: Value =
        serde_json::from_str(data).map_err(|error| Fault::Senseless(error.to_string()))?;
    Err(match body.get("error").or_else(|| body.get(0)) {
        Some(_) => Fault::Reported(Report::parse(&body)),
        None => Fault::Senseless("a piece of an unknown shape".to_owned()),
    })
}

impl Fault {
    fn at(&self, endpoint: &Endpoint) -> ProviderError {
        match self {
            Self::Reported(report) => failure::reported(report, endpoint),
            Self::Senseless(why) => failure::senseless(why, endpoint),
            Self::Cut => failure::cut(endpoint),
        }
    }
}

/// Sends what `body` makes for the endpoint, and streams what comes back. A failure of either is
/// the stream's first item.
pub(super) fn run<D: Decode>(
    http: &HttpClient,
    endpoint: &Result<Arc<Endpoint>, ProviderError>,
    body: impl FnOnce(&Endpoint) -> serde_json::Result<Vec<u8>>,
    decode: D,
) -> EventStream {
    let endpoint = match endpoint {
        Ok(endpoint) => endpoint,
        Err(error) => return failed(error.clone()),
    };
    let body = match body(endpoint) {
        Ok(body) => body,
        Err(error) => {
            let message = format!("The conversation cannot be sent: {error}");
            return failed(ProviderError::new(ErrorKind::BadRequest, message));
        }
    };
    let exchange = Exchange {
        http: http.clone(),
        endpoint: Arc::clone(endpoint),
        decode,
        phase: Phase::Ask(body),
        ready: VecDeque::new(),
        events: Vec::new(),
    };
    stream::unfold(exchange, |mut exchange| async {
        exchange.next().await.map(|item| (item, exchange))
    })
    .boxed()
}

/// A stream that fails at once.
fn failed(error: ProviderError) -> EventStream {
    stream::iter([Err(error)]).boxed()
}

struct Exchange<D> {
    http: HttpClient,
    endpoint: Arc<Endpoint>,
    decode: D,
    phase: Phase,
    ready: VecDeque<StreamEvent>,
    /// Reused between chunks.
    events: Vec<StreamEvent>,
}

enum Phase {
    Ask(Vec<u8>),
    Read(Response, Shape),
    Fail(ProviderError),
    Over,
}

/// What a body is made of.
enum Shape {
    /// Nothing but white space has come, and the header promises no events.
    Unknown,
    Events(SseDecoder),
    /// The whole answer as one object, from servers that do not stream.
    Object(Vec<u8>),
}

impl<D: Decode> Exchange<D> {
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Fail(error) => return Some(Err(error)),
                Phase::Ask(body) => self.ask(body).await,
                Phase::Read(response, shape) => self.read(response, shape).await,
            };
            self.ready.extend(self.events.drain(..));
        }
    }

    async fn ask(&mut self, body: Vec<u8>) -> Phase {
        let asked = post(&self.http, &self.endpoint, body);
        match timeout(self.endpoint.idle_timeout, asked).await {
            Err(_) => Phase::Fail(failure::silent(&self.endpoint)),
            Ok(Err(error)) => Phase::Fail(error),
            Ok(Ok(response)) if !response.status().is_success() => {
                Phase::Fail(failure::rejected(response, &self.endpoint).await)
            }
            Ok(Ok(response)) => {
                let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
                let promised = kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"));
                let shape =
                    if promised { Shape::Events(SseDecoder::default()) } else { Shape::Unknown };
                Phase::Read(response, shape)
            }
        }
    }

    /// Reads one chunk. Events go to `self.events`.
    async fn read(&mut self, mut response: Response, mut shape: Shape) -> Phase {
        let complete = self.decode.progress() == Progress::Complete;
        let idle = self.endpoint.idle_timeout;
        let limit = if complete { idle.min(TAIL) } else { idle };
        let chunk = match timeout(limit, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return self.finish(shape),
            Err(_) | Ok(Err(_)) if complete => return self.finish(shape),
            Ok(Err(_)) => return Phase::Fail(failure::cut(&self.endpoint)),
            Err(_) => return Phase::Fail(failure::silent(&self.endpoint)),
        };
        let status = response.status().as_u16();
        if let Err(error) = self.take(&chunk, &mut shape, status) {
            return Phase::Fail(error);
        }
        if self.decode.progress() == Progress::Over {
            if is_framed(&response) {
                let _ = timeout(DRAIN, drain(&mut response)).await;
            }
            return self.end();
        }
        Phase::Read(response, shape)
    }

    fn take(&mut self, chunk: &[u8], shape: &mut Shape, status: u16) -> Result<(), ProviderError> {
        if let Shape::Unknown = shape {
            *shape = match chunk.trim_ascii_start().first() {
                None => return Ok(()),
                Some(b'<') => {
                    let (kind, message) = failure::web_page(status, &self.endpoint);
                    return Err(ProviderError::new(kind, message));
                }
                Some(b'{' | b'[') => Shape::Object(Vec::new()),
                Some(_) => Shape::Events(SseDecoder::default()),
            };
        }
        match shape {
            Shape::Unknown => Ok(()),
            Shape::Object(object) if object.len() + chunk.len() > JSON_LIMIT => {
                Err(failure::senseless("an answer without end", &self.endpoint))
            }
            Shape::Object(object) => {
                object.extend_from_slice(chunk);
                Ok(())
            }
            Shape::Events(sse) => {
                let mut data = Vec::new();
                let pushed = sse.push(chunk, &mut data);
                for data in data {
                    self.event(&data)?;
                }
                pushed.map_err(|error| failure::senseless(&error.to_string(), &self.endpoint))
            }
        }
    }

    fn event(&mut self, data: &str) -> Result<(), ProviderError> {
        if self.decode.progress() == Progress::Over || data.trim().is_empty() {
            return Ok(());
        }
        self.decode.event(data, &mut self.events).map_err(|fault| fault.at(&self.endpoint))
    }

    /// The body is over, or nothing more of it is waited for.
    fn finish(&mut self, shape: Shape) -> Phase {
        match shape {
            Shape::Unknown => {}
            Shape::Events(mut sse) => {
                if let Ok(Some(data)) = sse.finish()
                    && is_whole(&data)
                    && let Err(error) = self.event(&data)
                {
                    return Phase::Fail(error);
                }
            }
            Shape::Object(object) => {
                let text = String::from_utf8_lossy(&object);
                if let Err(error) = self.event(&text) {
                    return Phase::Fail(error);
                }
            }
        }
        self.end()
    }

    fn end(&mut self) -> Phase {
        match self.decode.end(&mut self.events) {
            Ok(()) => Phase::Over,
            Err(fault) => Phase::Fail(fault.at(&self.endpoint)),
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
    sent.map_err(|error| failure::unreachable(&error, endpoint, http.connect_timeout()))
}

/// Whether the last data of a body is more than the start of an event.
fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok()
}

/// Whether the body has an end of its own, so that the connection can outlive it.
fn is_framed(response: &Response) -> bool {
    response.headers().contains_key(TRANSFER_ENCODING) || response.content_length().is_some()
}

async fn drain(response: &mut Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}

#[cfg(test)]
mod tests;
