//! The error of a model request: its kind decides what the retry policy and the agent do, its
//! message tells the user what happened, at which host, and what to do about it.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

use crate::protocol::{ApiError, Failure};

/// A failed model request. Never holds a key.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    pub kind: ErrorKind,
    /// One line for the user: what happened, at which endpoint. From a decoder, the server's words.
    pub message: String,
    /// The HTTP status of the refusal; absent if there was none.
    pub status: Option<u16>,
    /// The server's name of a failure of its own that it reported inside its answer; empty if it
    /// gave none.
    pub class: Option<String>,
    /// How long the server asked us to wait.
    pub retry_after: Option<Duration>,
    /// The server's own advice on retrying the request, if any.
    pub should_retry: Option<bool>,
}

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// 401, 403, or no key at all.
    Auth,
    /// 402, or a spend limit.
    Billing,
    /// 429.
    RateLimit,
    /// 503, 529.
    Overloaded,
    /// 500, 502, 504, 408, 409 and an `error` event of that kind.
    Server,
    /// Nothing came for longer than the idle timeout.
    Timeout,
    /// Refused, reset, name not found, cut in the middle.
    Connection,
    /// The conversation is longer than the model's window.
    ContextFull,
    /// 400, 413, 422: the server rejects the content of the request.
    InvalidRequest,
    /// Other 4xx, or no such model or provider: retrying cannot help.
    BadRequest,
    /// An answer that does not fit this wire, such as an HTML page.
    Protocol,
}

impl ProviderError {
    /// Creates an error without advice on waiting.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message, status: None, class: None, retry_after: None, should_retry: None }
    }

    /// Creates the error of a server that failed inside its answer, with its name of the failure.
    pub(super) fn failed_inside(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self { class: Some(class.into()), ..Self::new(ErrorKind::Server, message) }
    }

    /// Returns how the server named the failure.
    pub fn api_error(&self) -> ApiError {
        ApiError { status: self.status, class: self.class.clone() }
    }

    /// Creates the error of a request that cannot succeed, such as one to an unknown model.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadRequest, message)
    }

    /// Creates the error of a missing or invalid key.
    pub fn auth(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Auth, message)
    }

    /// Creates the error of data that could not be decoded.
    pub(super) fn malformed(why: impl Display) -> Self {
        Self::new(ErrorKind::Protocol, why.to_string())
    }

    /// Creates the error of an answer that ended too early.
    pub(super) fn cut() -> Self {
        Self::new(ErrorKind::Connection, "the answer was cut off")
    }

    /// Whether the request was rejected for its content. Another request with the same content fails
    /// too.
    pub fn is_about_content(&self) -> bool {
        matches!(self.kind, ErrorKind::ContextFull | ErrorKind::InvalidRequest)
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.should_retry.unwrap_or(matches!(
            self.kind,
            ErrorKind::RateLimit
                | ErrorKind::Overloaded
                | ErrorKind::Server
                | ErrorKind::Timeout
                | ErrorKind::Connection
        ))
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Auth => Self::Auth,
            ErrorKind::RateLimit => Self::RateLimit,
            ErrorKind::Overloaded | ErrorKind::Server => Self::Overloaded,
            ErrorKind::Timeout => Self::Timeout,
            ErrorKind::Connection => Self::Connection,
            ErrorKind::ContextFull => Self::ContextFull,
            ErrorKind::Billing | ErrorKind::InvalidRequest | ErrorKind::BadRequest => {
                Self::BadRequest
            }
            ErrorKind::Protocol => Self::BadAnswer,
        }
    }
}

/// Returns the innermost cause of an error, which says most.
pub(super) fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
