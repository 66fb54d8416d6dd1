//! What has come over stdin and was not worked on yet. Answers to our own questions never wait
//! here: they go to the one who asked at once, so that a queue of prompts cannot hold them up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::control::{Client, Delivered, Request};
use super::input::{Asked, Line};
use super::stdin::RawLine;

/// How many prompts may wait for their turn before the rest is left on stdin, where nothing else
/// can come over it.
const WAITING_LIMIT: usize = 32;

/// How many may wait where answers to our questions come over stdin too, and how many bytes. What
/// comes then is refused.
const HARD_LIMIT: usize = 1024;
const BYTES_LIMIT: usize = 64 << 20;

/// How many control requests may wait before the rest is left on stdin.
const REQUEST_LIMIT: usize = 64;

/// How many remarks may wait: what a program repeats without end needs not be told without end.
const REMARK_LIMIT: usize = 64;

/// A prompt that waits, or what is wrong with the line that should have been one.
pub(super) type Entry = Result<Asked, String>;

/// What is to be dealt with next.
pub(super) enum Next {
    Prompt(Entry),
    Request(Request),
}

/// Prompts and requests in the order in which they came.
pub(super) struct Intake {
    shared: Arc<Shared>,
    /// Reads stdin.
    router: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Tells that something is there, or that nothing more can come.
    filled: Notify,
    /// Tells that there is room again.
    drained: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Of the prompts that wait.
    bytes: usize,
    /// How many prompts have come, and how many of them were taken.
    came: usize,
    taken: usize,
    /// Each with the number of prompts that had come before it.
    requests: VecDeque<(usize, Request)>,
    /// What is to be said on stderr.
    remarks: Vec<String>,
    /// Nothing more can come.
    over: bool,
}

enum Waiting {
    Entry(Entry),
    /// So many prompts were left out here, because too many waited.
    LeftOut(usize),
}

/// Where a router begins.
pub(super) struct Start {
    pub lines: mpsc::Receiver<RawLine>,
    /// A line that was read before, and is no handshake.
    pub first: Option<RawLine>,
    pub client: Client,
    /// Whether a line was read before, by which the program has introduced itself: then it need not
    /// send a prompt.
    pub introduced: bool,
    /// Whether the program at the other end answers questions of ours.
    pub driven: bool,
}

impl Intake {
    /// One prompt, and nothing more.
    pub fn one(text: String) -> Self {
        let mut state = State { over: true, ..State::default() };
        state.push(Ok(Asked::text(text)));
        let state = Mutex::new(state);
        Self { shared: Arc::new(Shared { state, ..Shared::default() }), router: None }
    }

    /// Begins to read.
    pub fn start(start: Start) -> Self {
        let shared = Arc::new(Shared::default());
        let Start { lines, first, client, introduced, driven } = start;
        let line = usize::from(introduced);
        let router = Router { shared: shared.clone(), line, any: introduced, driven };
        Self { shared, router: Some(tokio::spawn(router.run(lines, first, client))) }
    }

    /// Waits until something has come, or nothing more can.
    pub async fn changed(&self) {
        self.shared.filled.notified().await;
    }

    /// What came first of what can be dealt with: a prompt only while there is no other (`idle`),
    /// the refusal of one only once the frame that tells of it can be written (`open`), a request
    /// also before prompts that have to wait.
    pub fn next(&self, idle: bool, open: bool) -> Option<Next> {
        let next = self.shared.lock().next(idle, open)?;
        self.shared.drained.notify_one();
        Some(next)
    }

    /// Puts a prompt back that could not be worked on yet.
    pub fn put_back(&self, asked: Asked) {
        let mut state = self.shared.lock();
        let entry = Ok(asked);
        state.bytes += size(&entry);
        state.taken = state.taken.saturating_sub(1);
        state.waiting.push_front(Waiting::Entry(entry));
    }

    /// What there is to say on stderr.
    pub fn take_remarks(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().remarks)
    }

    /// Whether there is nothing left, and nothing can come.
    pub fn is_over(&self) -> bool {
        let state = self.shared.lock();
        state.over && state.waiting.is_empty() && state.requests.is_empty()
    }

    /// Forgets all that waits, and reads no further.
    pub fn stop(&mut self) {
        if let Some(router) = self.router.take() {
            router.abort();
        }
        *self.shared.lock() = State { over: true, ..State::default() };
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings each line of stdin to where it belongs.
struct Router {
    shared: Arc<Shared>,
    /// The number of the latest line, counted from 1.
    line: usize,
    /// Whether a prompt, readable or not, has come at all, or need not come.
    any: bool,
    driven: bool,
}

impl Router {
    async fn run(
        mut self,
        mut lines: mpsc::Receiver<RawLine>,
        mut first: Option<RawLine>,
        client: Client,
    ) {
        loop {
            self.room().await;
            let line = match first.take() {
                Some(line) => Some(line),
                None => lines.recv().await,
            };
            let Some(line) = line else { break };
            self.line += 1;
            self.route(Line::of(&line), &client);
            self.shared.filled.notify_one();
        }
        client.end();
        let mut state = self.shared.lock();
        if !self.any {
            let why = "stdin ended without a prompt".to_owned();
            state.push(Err(why));
        }
        state.over = true;
        drop(state);
        self.shared.filled.notify_one();
    }

    /// Waits until another line may be taken in.
    async fn room(&self) {
        loop {
            let drained = self.shared.drained.notified();
            if self.has_room() {
                return;
            }
            drained.await;
        }
    }

    fn has_room(&self) -> bool {
        let state = self.shared.lock();
        let prompts_fit = self.driven || state.waiting.len() < WAITING_LIMIT;
        prompts_fit && state.requests.len() < REQUEST_LIMIT
    }

    fn route(&mut self, line: Line, client: &Client) {
        match line {
            Line::Nothing => {}
            Line::Prompt(asked) => {
                self.any = true;
                let entry = asked.map_err(|why| format!("line {} of stdin: {why}", self.line));
                self.shared.lock().push(entry);
            }
            Line::Request(request) => {
                let mut state = self.shared.lock();
                let before = state.came;
                state.requests.push_back((before, request));
            }
            Line::Answer { id, answer } => {
                if client.deliver(&id, answer) == Delivered::Foreign {
                    let id: String = id.chars().take(80).collect();
                    self.remark(&format!("answers `{id}`, which was never asked"));
                }
            }
            Line::Useless(why) => self.remark(&format!("counts for nothing: {why}")),
        }
    }

    /// Tells the person of a line that nobody else waits for.
    fn remark(&self, what: &str) {
        let remarks = &mut self.shared.lock().remarks;
        if remarks.len() < REMARK_LIMIT {
            remarks.push(format!("line {} of stdin {what}", self.line));
        }
    }
}

impl State {
    fn next(&mut self, idle: bool, open: bool) -> Option<Next> {
        let first = self.requests.front().is_some_and(|(before, _)| *before <= self.taken);
        let asked = |waiting: &Waiting| matches!(waiting, Waiting::Entry(Ok(_)));
        let waits = !idle || !open && !self.waiting.front().is_some_and(asked);
        if first || waits {
            return self.requests.pop_front().map(|(_, request)| Next::Request(request));
        }
        self.take().map(Next::Prompt)
    }

    fn take(&mut self) -> Option<Entry> {
        let waiting = self.waiting.pop_front()?;
        self.taken += 1;
        Some(match waiting {
            Waiting::Entry(entry) => {
                self.bytes -= size(&entry);
                entry
            }
            Waiting::LeftOut(count) => {
                if count > 1 {
                    self.waiting.push_front(Waiting::LeftOut(count - 1));
                }
                let why = "too many prompts were waiting, so this one was left out: send it again when there are results";
                Err(why.to_owned())
            }
        })
    }

    /// Takes a prompt in; where too many wait it only counts it.
    fn push(&mut self, entry: Entry) {
        let size = size(&entry);
        self.came += 1;
        if self.waiting.len() < HARD_LIMIT && self.bytes + size <= BYTES_LIMIT {
            self.bytes += size;
            self.waiting.push_back(Waiting::Entry(entry));
        } else if let Some(Waiting::LeftOut(count)) = self.waiting.back_mut() {
            *count += 1;
        } else {
            self.waiting.push_back(Waiting::LeftOut(1));
        }
    }
}

/// In memory, about. Bytes.
fn size(entry: &Entry) -> usize {
    match entry {
        Ok(asked) => {
            asked.text.len() + asked.images.iter().map(|image| image.data.len()).sum::<usize>()
        }
        Err(why) => why.len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stdout::Pieces;
    use super::*;

    fn user(text: &str) -> RawLine {
        let message = json!({"role": "user", "content": text});
        RawLine::Whole(json!({"type": "user", "message": message}).to_string().into_bytes())
    }

    async fn filled(count: usize) -> Intake {
        let (sender, lines) = mpsc::channel(4);
        let (pieces, _lines) = Pieces::channel();
        let client = Client::new(pieces);
        let intake =
            Intake::start(Start { lines, first: None, client, introduced: true, driven: true });
        for number in 0..count {
            sender.send(user(&number.to_string())).await.unwrap();
        }
        drop(sender);
        while !intake.shared.lock().over {
            intake.changed().await;
        }
        intake
    }

    /// The next thing, which is a prompt.
    fn prompt(intake: &Intake) -> Option<Result<String, String>> {
        match intake.next(true, true)? {
            Next::Prompt(entry) => Some(entry.map(|asked| asked.text)),
            Next::Request(request) => panic!("{request:?}"),
        }
    }

    #[test]
    fn a_request_comes_in_its_turn_or_before_prompts_that_wait() {
        let request = |id: u64| Request { id: json!(id), body: Ok(json!({})) };
        let asked = |text: &str| Ok(Asked::text(text.to_owned()));
        let mut state = State::default();
        state.push(asked("a"));
        state.requests.push_back((1, request(1)));
        state.push(asked("b"));
        state.requests.push_back((2, request(2)));
        let mut next = |idle| match state.next(idle, true) {
            Some(Next::Prompt(entry)) => entry.unwrap().text,
            Some(Next::Request(request)) => request.id.to_string(),
            None => "-".to_owned(),
        };
        assert_eq!([next(true), next(true)], ["a", "1"], "in order");
        assert_eq!(
            [next(false), next(false)],
            ["2", "-"],
            "the prompt waits, the request does not"
        );
        assert_eq!([next(true), next(true)], ["b", "-"]);
    }

    #[test]
    fn a_refusal_waits_for_the_frame_that_tells_of_it_and_holds_no_request_up() {
        let mut state = State::default();
        state.push(Ok(Asked::text("a".to_owned())));
        state.push(Err("WHY-1".to_owned()));
        state.requests.push_back((2, Request { id: json!(1), body: Ok(json!({})) }));
        assert!(matches!(state.next(true, false), Some(Next::Prompt(Ok(_)))));
        assert!(matches!(state.next(true, false), Some(Next::Request(_))));
        assert!(state.next(true, false).is_none());
        assert!(matches!(state.next(true, true), Some(Next::Prompt(Err(_)))));
    }

    #[tokio::test]
    async fn a_flood_of_prompts_is_bounded_and_each_that_is_left_out_is_told_in_its_place() {
        let intake = filled(HARD_LIMIT + 3).await;
        assert_eq!(intake.shared.lock().waiting.len(), HARD_LIMIT + 1, "three in one entry");
        for number in 0..HARD_LIMIT {
            assert_eq!(prompt(&intake), Some(Ok(number.to_string())));
        }
        for _ in 0..3 {
            assert!(prompt(&intake).unwrap().unwrap_err().contains("send it again"));
        }
        assert!(prompt(&intake).is_none() && intake.is_over());
        assert_eq!(intake.shared.lock().bytes, 0);
    }

    #[tokio::test]
    async fn where_only_prompts_come_the_rest_stays_on_stdin_and_none_is_lost() {
        let (sender, lines) = mpsc::channel(1);
        let (pieces, _lines) = Pieces::channel();
        let (client, first) = (Client::new(pieces), Some(user("first")));
        let start = Start { lines, first, client, introduced: false, driven: false };
        let intake = Intake::start(start);
        let writer = tokio::spawn(async move {
            for number in 0..200 {
                sender.send(user(&number.to_string())).await.unwrap();
            }
        });
        let mut taken = Vec::new();
        while !intake.is_over() {
            match prompt(&intake) {
                Some(text) => taken.push(text.unwrap()),
                None => intake.changed().await,
            }
            assert!(intake.shared.lock().waiting.len() <= WAITING_LIMIT);
        }
        writer.await.unwrap();
        assert_eq!((taken.len(), taken[0].as_str(), taken[200].as_str()), (201, "first", "199"));
    }
}
