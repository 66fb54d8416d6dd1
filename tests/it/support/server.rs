//! A scripted model server on loopback, as strict as the real ones. One per test.
//!
//! A request that the vendor would refuse gets the vendor's error, and fails the test at the end.
//! Which script answers is decided by a unique word in the conversation's first user text.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use super::record::{Recorded, StreamEnd};
use super::script::Reply;
use super::watched::{TooLate, Watched};
use super::wire::Issued;
use super::{DEADLINE, http};

/// The server. Dropping it fails the test when a request was invalid.
#[derive(Debug)]
pub struct Server {
    state: Watched<State>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the server knows.
#[derive(Debug, Default)]
pub struct State {
    pub scripts: Vec<Script>,
    pub requests: Vec<Recorded>,
    pub violations: Vec<String>,
    pub open_gates: BTreeSet<String>,
    /// How many answers have come to each gate.
    pub at_gate: BTreeMap<String, usize>,
    pub issued: Issued,
    /// Tool calls made so far: their ids are numbered through.
    pub calls: usize,
    /// What is answered to who asks for the models; without it nobody may ask.
    pub offer: Option<Offer>,
    /// The paths of such requests.
    pub lists: Vec<String>,
    /// Whether requests come without any key, rather than with one.
    pub keyless: bool,
}

/// The answer to a request for the models.
#[derive(Clone, Debug)]
pub enum Offer {
    Models(Vec<String>),
    /// An error with this status.
    Error(u16),
}

/// The answers to one agent, in order.
#[derive(Debug)]
pub struct Script {
    pub word: String,
    pub replies: VecDeque<Reply>,
    /// What comes when `replies` is empty.
    pub forever: Option<Reply>,
}

/// Adds to a script.
#[derive(Debug)]
pub struct Scripting<'a> {
    server: &'a Server,
    word: String,
}

impl Scripting<'_> {
    /// The next answer.
    pub fn reply(self, reply: Reply) -> Self {
        self.server.with_script(&self.word, |script| script.replies.push_back(reply));
        self
    }

    /// The next answer; reads better after `reply`.
    pub fn then(self, reply: Reply) -> Self {
        self.reply(reply)
    }

    /// The answer to everything after the ones in order.
    pub fn forever(self, reply: Reply) {
        self.server.with_script(&self.word, |script| script.forever = Some(reply));
    }
}

impl Server {
    /// Listens on a free port of loopback, on a thread of its own.
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Watched::new(State::default());
        let (stop, stopped) = oneshot::channel();
        let shared = state.clone();
        let thread = std::thread::spawn(move || http::serve(listener, shared, stopped));
        Self { state, address, stop: Some(stop), thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The script of the agent whose first user text has this word.
    pub fn when(&self, word: &str) -> Scripting<'_> {
        Scripting { server: self, word: word.to_owned() }
    }

    /// Lets through what waits at the gate, and all that comes to it later.
    pub fn open(&self, gate: &str) {
        self.state.update(|state| state.open_gates.insert(gate.to_owned()));
    }

    /// Waits until an answer has come to the gate.
    pub async fn reached(&self, gate: &str) {
        self.reached_by(gate, 1).await;
    }

    /// Waits until `count` answers have come to the gate.
    pub async fn reached_by(&self, gate: &str, count: usize) {
        let arrived =
            |state: &State| (state.at_gate.get(gate).copied().unwrap_or(0) >= count).then_some(());
        let waited = self.state.wait(arrived).await;
        self.in_time(waited, &format!("{count} answers to come to the gate `{gate}`"));
    }

    /// Offers these models to who asks for them.
    pub fn offer(&self, models: &[&str]) {
        let models = models.iter().copied().map(str::to_owned).collect();
        self.state.update(|state| state.offer = Some(Offer::Models(models)));
    }

    /// Answers with an error to who asks for the models.
    pub fn offer_error(&self, status: u16) {
        self.state.update(|state| state.offer = Some(Offer::Error(status)));
    }

    /// The paths of all requests for the models so far.
    pub fn lists(&self) -> Vec<String> {
        self.state.read(|state| state.lists.clone())
    }

    /// From now on a request with a key is invalid, rather than one without.
    pub fn keyless(&self) {
        self.state.update(|state| state.keyless = true);
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.read(|state| state.requests.clone())
    }

    /// The requests of one agent.
    pub fn requests_of(&self, word: &str) -> Vec<Recorded> {
        self.state.read(|state| of(state, word).cloned().collect())
    }

    /// Waits until there are `count` requests in all.
    pub async fn wait_for(&self, count: usize) -> Vec<Recorded> {
        let enough =
            |state: &State| (state.requests.len() >= count).then(|| state.requests.clone());
        let waited = self.state.wait(enough).await;
        self.in_time(waited, &format!("{count} requests"))
    }

    /// Waits until one agent has made `count` requests.
    pub async fn wait_for_of(&self, word: &str, count: usize) -> Vec<Recorded> {
        let enough = |state: &State| {
            (of(state, word).count() >= count).then(|| of(state, word).cloned().collect::<Vec<_>>())
        };
        let waited = self.state.wait(enough).await;
        self.in_time(waited, &format!("{count} requests of {word}"))
    }

    /// Waits until the answer to the agent's newest request has ended; says how and when.
    pub async fn ended(&self, word: &str) -> (StreamEnd, Instant) {
        let end = |state: &State| of(state, word).last().and_then(|request| request.end);
        let waited = self.state.wait(end).await;
        self.in_time(waited, &format!("the end of {word}'s answer"))
    }

    /// Takes the violations, for tests that mean them.
    pub fn take_violations(&self) -> Vec<String> {
        self.state.update(|state| std::mem::take(&mut state.violations))
    }

    /// Ends the server; fails the test when a request was invalid or a scripted answer was never asked for.
    pub fn finish(self) {
        self.assert_valid();
        let unused = self.state.read(|state| {
            let waiting = state.scripts.iter().filter(|script| !script.replies.is_empty());
            waiting.map(|s| format!("{} of {}", s.replies.len(), s.word)).collect::<Vec<_>>()
        });
        assert!(unused.is_empty(), "answers that nobody asked for: {unused:?}\n{}", self.story());
    }

    /// What happened, for the message of a failed test.
    pub fn story(&self) -> String {
        self.state.read(|state| {
            let lines = state.requests.iter().map(|request| {
                let last = request.messages().last().map(ToString::to_string).unwrap_or_default();
                let last: String = last.chars().take(600).collect();
                let who = request.agent.as_deref().unwrap_or("?");
                let (status, end) = (request.status, request.end.map(|(end, _)| end));
                format!("#{} {who} status {status:?} end {end:?}\n    last: {last}", request.index)
            });
            format!(
                "requests so far:\n{}\ninvalid: {:#?}",
                lines.collect::<Vec<_>>().join("\n"),
                state.violations
            )
        })
    }

    fn with_script(&self, word: &str, change: impl FnOnce(&mut Script)) {
        self.state.update(|state| {
            let place = state.scripts.iter().position(|script| script.word == word);
            let place = place.unwrap_or_else(|| {
                let word = word.to_owned();
                state.scripts.push(Script { word, replies: VecDeque::new(), forever: None });
                state.scripts.len() - 1
            });
            change(&mut state.scripts[place]);
        });
    }

    fn assert_valid(&self) {
        let violations = self.state.read(|state| state.violations.clone());
        assert!(violations.is_empty(), "invalid requests: {violations:#?}\n{}", self.story());
    }

    fn in_time<R>(&self, waited: Result<R, TooLate>, what: &str) -> R {
        waited.unwrap_or_else(|TooLate| {
            panic!("waited {DEADLINE:?} in vain for {what}\n{}", self.story())
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if !std::thread::panicking() {
            self.assert_valid();
        }
    }
}

fn of<'a>(state: &'a State, word: &'a str) -> impl Iterator<Item = &'a Recorded> {
    state.requests.iter().filter(move |request| request.agent.as_deref() == Some(word))
}
