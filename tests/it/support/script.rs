//! What the scripted model says: replies made of steps, in the order in which they go onto the wire.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::record::Recorded;

/// One answer of the model to one request.
#[derive(Clone, Debug)]
pub enum Reply {
    Stream(Stream),
    /// Any other HTTP answer: an error, a page.
    Http(Http),
    /// Made from the request when it comes.
    Dynamic(Dynamic),
}

/// A plain HTTP answer.
#[derive(Clone, Debug)]
pub struct Http {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Body,
}

/// What a plain HTTP answer says.
#[derive(Clone, Debug)]
pub enum Body {
    /// In the error shape of the wire that was spoken.
    Error {
        kind: String,
        message: String,
    },
    Raw(String),
}

/// Builds a reply from the recorded request.
#[derive(Clone)]
pub struct Dynamic(pub Arc<dyn Fn(&Recorded) -> Reply + Send + Sync>);

impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dynamic")
    }
}

/// A streamed answer.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub steps: Vec<Step>,
    /// Overrides the stop reason that follows from the blocks; in Anthropic's words.
    pub stop: Option<String>,
    pub usage: Tokens,
    /// Gate that is passed before the status line goes out.
    pub before_headers: Option<String>,
    /// Cut the SSE bytes into pieces of this size.
    pub piece: Option<usize>,
    /// Cut the connection after so many SSE bytes.
    pub cut_at: Option<usize>,
}

/// The usage figures of one answer.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input: 100, output: 10, cache_read: 0, cache_write: 0 }
    }
}

/// One thing that goes onto the wire, or happens there.
#[derive(Clone, Debug)]
pub enum Step {
    Text(String),
    /// More of the open block, as a delta of its own.
    More(String),
    Thinking {
        text: String,
        signature: String,
    },
    /// `id` is empty until the server gives one; `json` is what streams, in pieces.
    ToolUse {
        id: String,
        name: String,
        json: Vec<String>,
    },
    /// Ends the open block now rather than when the next begins.
    EndBlock,
    /// Waits, with the stream open, until the test opens the gate.
    Gate(String),
    Ping,
    /// An `error` event in mid-stream.
    Error {
        kind: String,
        message: String,
    },
    /// The connection breaks.
    Cut,
    /// Nothing more comes, and the stream stays open.
    Stall,
}

/// An answer of one text.
pub fn text(text: impl Into<String>) -> Reply {
    Reply::stream().text(text)
}

/// An answer of one tool call.
pub fn tool_use(name: &str, input: Value) -> Reply {
    Reply::stream().tool_use(name, input)
}

/// An answer that begins with a thought.
pub fn thinking(text: &str, signature: &str) -> Reply {
    Reply::stream().thinking(text, signature)
}

/// An HTTP error in the vendor's shape.
pub fn error(status: u16, kind: &str, message: &str) -> Reply {
    let body = Body::Error { kind: kind.to_owned(), message: message.to_owned() };
    Reply::Http(Http { status, headers: Vec::new(), body })
}

/// An HTML page where an answer should be, as proxies send it.
pub fn html(status: u16, page: &str) -> Reply {
    let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
    Reply::Http(Http { status, headers, body: Body::Raw(page.to_owned()) })
}

/// An answer made from the request.
pub fn dynamic(make: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Reply {
    Reply::Dynamic(Dynamic(Arc::new(make)))
}

impl Reply {
    /// An answer without blocks.
    pub fn stream() -> Self {
        Self::Stream(Stream::default())
    }

    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(Step::Text(text.into()))
    }

    /// Continues the open text block.
    pub fn more(self, text: impl Into<String>) -> Self {
        self.step(Step::More(text.into()))
    }

    pub fn thinking(self, text: &str, signature: &str) -> Self {
        self.step(Step::Thinking { text: text.to_owned(), signature: signature.to_owned() })
    }

    /// A tool call whose input streams in small pieces.
    pub fn tool_use(self, name: &str, input: Value) -> Self {
        let letters: Vec<char> = input.to_string().chars().collect();
        let json = letters.chunks(23).map(|piece| piece.iter().collect()).collect();
        self.step(Step::ToolUse { id: String::new(), name: name.to_owned(), json })
    }

    /// A tool call whose input is this text, valid JSON or not.
    pub fn tool_use_raw(self, name: &str, json: &str) -> Self {
        let json = vec![json.to_owned()];
        self.step(Step::ToolUse { id: String::new(), name: name.to_owned(), json })
    }

    pub fn end_block(self) -> Self {
        self.step(Step::EndBlock)
    }

    pub fn gate(self, name: &str) -> Self {
        self.step(Step::Gate(name.to_owned()))
    }

    pub fn ping(self) -> Self {
        self.step(Step::Ping)
    }

    pub fn error_event(self, kind: &str, message: &str) -> Self {
        self.step(Step::Error { kind: kind.to_owned(), message: message.to_owned() })
    }

    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    pub fn stop(self, reason: &str) -> Self {
        self.with(|stream| stream.stop = Some(reason.to_owned()))
    }

    pub fn usage(self, input: u64, output: u64) -> Self {
        self.with(|stream| {
            stream.usage.input = input;
            stream.usage.output = output;
        })
    }

    pub fn cache(self, read: u64, write: u64) -> Self {
        self.with(|stream| {
            stream.usage.cache_read = read;
            stream.usage.cache_write = write;
        })
    }

    /// Not even the status line comes before the test opens the gate.
    pub fn before_headers(self, gate: &str) -> Self {
        self.with(|stream| stream.before_headers = Some(gate.to_owned()))
    }

    pub fn pieces_of(self, bytes: usize) -> Self {
        self.with(|stream| stream.piece = Some(bytes))
    }

    pub fn cut_at(self, bytes: usize) -> Self {
        self.with(|stream| stream.cut_at = Some(bytes))
    }

    /// A header of a plain HTTP answer.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self {
            Self::Http(http) => http.headers.push((name.to_owned(), value.to_owned())),
            other => panic!("a scripted stream has no extra headers: {other:?}"),
        }
        self
    }

    fn step(self, step: Step) -> Self {
        self.with(|stream| stream.steps.push(step))
    }

    fn with(mut self, change: impl FnOnce(&mut Stream)) -> Self {
        match &mut self {
            Self::Stream(stream) => change(stream),
            other => panic!("only a streamed reply has steps: {other:?}"),
        }
        self
    }
}
