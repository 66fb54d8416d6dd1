//! Errors of model requests, in classes that the retry policy and the agent act on.

use std::time::Duration;

use crate::protocol::Failure;

/// A failed model request. Never holds a key.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    pub kind: ErrorKind,
    /// One line for the user: what happened, at which endpoint.
    pub message: String,
    /// The HTTP status of the refusal; absent if there was none.
    pub status: Option<u16>,
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
    /// 400 and other 4xx: retrying cannot help.
    BadRequest,
    /// An answer that does not fit this wire, such as an HTML page.
    Protocol,
}

impl ProviderError {
    /// Creates the error of a stream that ended before the answer did.
    pub fn cut(provider: &str) -> Self {
        Self::new(ErrorKind::Connection, format!("The answer from {provider} was cut off."))
    }

    /// Creates an error without advice on waiting.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message, status: None, retry_after: None, should_retry: None }
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
            ErrorKind::Billing | ErrorKind::BadRequest => Self::BadRequest,
            ErrorKind::Protocol => Self::BadAnswer,
        }
    }
}
