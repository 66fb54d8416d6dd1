//! The queue of prompts and requests from stdin. Answers to our own requests bypass it, so that
//! queued prompts cannot delay them.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::control::{ControlRequest, Delivery, PeerClient};
use super::input::{InputLine, PromptInput};
use super::stdin::RawLine;

/// The number of queued prompts after which the rest is left on stdin, if only prompts arrive there.
const PROMPT_LIMIT: usize = 32;

/// The maximum number and total size of queued prompts if answers to our requests also arrive on
/// stdin. Further prompts are refused.
const HARD_PROMPT_LIMIT: usize = 1024;
const BYTES_LIMIT: usize = 64 << 20;

/// The number of queued control requests after which the rest is left on stdin.
const REQUEST_LIMIT: usize = 64;

/// The maximum number of queued remarks, in case a program repeats a mistake endlessly.
const REMARK_LIMIT: usize = 64;

/// A queued prompt, or the error of a line that should have been one.
pub(super) type PromptResult = Result<PromptInput, String>;

/// The next item of the queue.
pub(super) enum NextInput {
    Prompt(PromptResult),
    Request(ControlRequest),
}

/// Prompts and requests in order of arrival.
pub(super) struct InputQueue {
    shared: Arc<InputQueueShared>,
    /// Reads stdin.
    router: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct InputQueueShared {
    state: Mutex<InputQueueState>,
    /// Signals a new item or the end of the input.
    filled: Notify,
    /// Signals free space.
    drained: Notify,
}

#[derive(Default)]
struct InputQueueState {
    waiting: VecDeque<QueueItem>,
    /// The size of the queued prompts.
    bytes: usize,
    /// The number of prompts received, and of those taken.
    received: usize,
    taken: usize,
    /// Each with the number of prompts received before it.
    requests: VecDeque<(usize, ControlRequest)>,
    /// Lines for stderr.
    remarks: Vec<String>,
    /// Whether the input has ended.
    over: bool,
}

enum QueueItem {
    Entry(PromptResult),
    /// The number of prompts dropped here, because too many were queued.
    LeftOut(usize),
}

/// The parameters of a router.
pub(super) struct RouterSetup {
    pub lines: mpsc::Receiver<RawLine>,
    /// A line that was already read and is not a handshake.
    pub first: Option<RawLine>,
    pub client: PeerClient,
    /// Whether the program has sent a handshake: then it need not send a prompt.
    pub introduced: bool,
    /// Whether the program answers our requests.
    pub driven: bool,
}

impl InputQueue {
    /// Creates a queue of one prompt that reads nothing.
    pub fn single_prompt(prompt: PromptInput) -> Self {
        let mut state = InputQueueState { over: true, ..InputQueueState::default() };
        state.push(Ok(prompt));
        let state = Mutex::new(state);
        Self {
            shared: Arc::new(InputQueueShared { state, ..InputQueueShared::default() }),
            router: None,
        }
    }

    /// Starts reading.
    pub fn start(start: RouterSetup) -> Self {
        let shared = Arc::new(InputQueueShared::default());
        let RouterSetup { lines, first, client, introduced, driven } = start;
        let line = usize::from(introduced);
        let router = InputRouter { shared: shared.clone(), line, had_prompt: introduced, driven };
        Self { shared, router: Some(tokio::spawn(router.run(lines, first, client))) }
    }

    /// Waits for a new item or the end of the input.
    pub async fn changed(&self) {
        self.shared.filled.notified().await;
    }

    /// Takes the first item that can be handled now: a prompt only if none is active (`idle`), a
    /// refused prompt only once its frame can be written (`open`), a request even before queued
    /// prompts.
    pub fn next(&self, idle: bool, open: bool) -> Option<NextInput> {
        let next = self.shared.lock().next(idle, open)?;
        self.shared.drained.notify_one();
        Some(next)
    }

    /// Puts back a prompt that cannot be handled yet.
    pub fn put_back(&self, prompt: PromptInput) {
        let mut state = self.shared.lock();
        let entry = Ok(prompt);
        state.bytes += size(&entry);
        state.taken = state.taken.saturating_sub(1);
        state.waiting.push_front(QueueItem::Entry(entry));
    }

    /// Takes the lines for stderr.
    pub fn take_remarks(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().remarks)
    }

    /// Whether the queue is empty and the input has ended.
    pub fn is_over(&self) -> bool {
        let state = self.shared.lock();
        state.over && state.waiting.is_empty() && state.requests.is_empty()
    }

    /// Clears the queue and stops reading.
    pub fn stop(&mut self) {
        if let Some(router) = self.router.take() {
            router.abort();
        }
        *self.shared.lock() = InputQueueState { over: true, ..InputQueueState::default() };
    }
}

impl Drop for InputQueue {
    fn drop(&mut self) {
        self.stop();
    }
}

impl InputQueueShared {
    fn lock(&self) -> MutexGuard<'_, InputQueueState> {
        self.state.lock()
    }
}

/// Routes each line of stdin to its recipient.
struct InputRouter {
    shared: Arc<InputQueueShared>,
    /// The number of the last line, counted from 1.
    line: usize,
    /// Whether any prompt, readable or not, was received, or none is required.
    had_prompt: bool,
    driven: bool,
}

impl InputRouter {
    async fn run(
        mut self,
        mut lines: mpsc::Receiver<RawLine>,
        mut first: Option<RawLine>,
        client: PeerClient,
    ) {
        loop {
            self.wait_for_room().await;
            let line = match first.take() {
                Some(line) => Some(line),
                None => lines.recv().await,
            };
            let Some(line) = line else { break };
            self.line += 1;
            self.route(InputLine::parse(&line), &client);
            self.shared.filled.notify_one();
        }
        client.end();
        let mut state = self.shared.lock();
        if !self.had_prompt {
            let why = "stdin ended without a prompt".to_owned();
            state.push(Err(why));
        }
        state.over = true;
        drop(state);
        self.shared.filled.notify_one();
    }

    /// Waits until there is space for another line.
    async fn wait_for_room(&self) {
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
        let prompts_fit = self.driven || state.waiting.len() < PROMPT_LIMIT;
        prompts_fit && state.requests.len() < REQUEST_LIMIT
    }

    fn route(&mut self, line: InputLine, client: &PeerClient) {
        match line {
            InputLine::Nothing => {}
            InputLine::Prompt(prompt) => {
                self.had_prompt = true;
                let entry = prompt.map_err(|why| format!("stdin line {}: {why}", self.line));
                self.shared.lock().push(entry);
            }
            InputLine::Request(request) => {
                let mut state = self.shared.lock();
                let before = state.received;
                state.requests.push_back((before, request));
            }
            InputLine::Answer { id, answer } => {
                if client.deliver(&id, answer) == Delivery::Unknown {
                    let id: String = id.chars().take(80).collect();
                    self.remark(&format!("no request has the id `{id}`"));
                }
            }
            InputLine::Ignored(why) => self.remark(&why),
        }
    }

    /// Notifies the user of a line that has no recipient.
    fn remark(&self, what: &str) {
        let remarks = &mut self.shared.lock().remarks;
        if remarks.len() < REMARK_LIMIT {
            remarks.push(format!("stdin line {} ignored: {what}", self.line));
        }
    }
}

impl InputQueueState {
    fn next(&mut self, idle: bool, open: bool) -> Option<NextInput> {
        let first = self.requests.front().is_some_and(|(before, _)| *before <= self.taken);
        let is_prompt = |waiting: &QueueItem| matches!(waiting, QueueItem::Entry(Ok(_)));
        let waits = !idle || !open && !self.waiting.front().is_some_and(is_prompt);
        if first || waits {
            return self.requests.pop_front().map(|(_, request)| NextInput::Request(request));
        }
        self.take().map(NextInput::Prompt)
    }

    fn take(&mut self) -> Option<PromptResult> {
        let waiting = self.waiting.pop_front()?;
        self.taken += 1;
        Some(match waiting {
            QueueItem::Entry(entry) => {
                self.bytes -= size(&entry);
                entry
            }
            QueueItem::LeftOut(count) => {
                if count > 1 {
                    self.waiting.push_front(QueueItem::LeftOut(count - 1));
                }
                let why = "too many queued prompts, so this one was dropped: send it again after the next results";
                Err(why.to_owned())
            }
        })
    }

    /// Queues a prompt; if there are too many, only counts it.
    fn push(&mut self, entry: PromptResult) {
        let size = size(&entry);
        self.received += 1;
        if self.waiting.len() < HARD_PROMPT_LIMIT && self.bytes + size <= BYTES_LIMIT {
            self.bytes += size;
            self.waiting.push_back(QueueItem::Entry(entry));
        } else if let Some(QueueItem::LeftOut(count)) = self.waiting.back_mut() {
            *count += 1;
        } else {
            self.waiting.push_back(QueueItem::LeftOut(1));
        }
    }
}

/// Returns the approximate size in memory, in bytes.
fn size(entry: &PromptResult) -> usize {
    match entry {
        Ok(prompt) => {
            prompt.text.len() + prompt.images.iter().map(|image| image.data.len()).sum::<usize>()
        }
        Err(why) => why.len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stdout::StdoutSender;
    use super::*;

    fn user(text: &str) -> RawLine {
        let message = json!({"role": "user", "content": text});
        RawLine::Whole(json!({"type": "user", "message": message}).to_string().into_bytes())
    }

    async fn filled(count: usize) -> InputQueue {
        let (sender, lines) = mpsc::channel(4);
        let (chunks, _lines) = StdoutSender::channel();
        let client = PeerClient::new(chunks);
        let queue = InputQueue::start(RouterSetup {
            lines,
            first: None,
            client,
            introduced: true,
            driven: true,
        });
        for number in 0..count {
            sender.send(user(&number.to_string())).await.unwrap();
        }
        drop(sender);
        while !queue.shared.lock().over {
            queue.changed().await;
        }
        queue
    }

    /// Takes the next item, which must be a prompt.
    fn prompt(queue: &InputQueue) -> Option<Result<String, String>> {
        match queue.next(true, true)? {
            NextInput::Prompt(entry) => Some(entry.map(|asked| asked.text)),
            NextInput::Request(request) => panic!("{request:?}"),
        }
    }

    #[test]
    fn a_request_comes_in_its_turn_or_before_prompts_that_wait() {
        let request = |id: u64| ControlRequest { id: json!(id), body: Ok(json!({})) };
        let asked = |text: &str| Ok(PromptInput::text(text.to_owned()));
        let mut state = InputQueueState::default();
        state.push(asked("a"));
        state.requests.push_back((1, request(1)));
        state.push(asked("b"));
        state.requests.push_back((2, request(2)));
        let mut next = |idle| match state.next(idle, true) {
            Some(NextInput::Prompt(entry)) => entry.unwrap().text,
            Some(NextInput::Request(request)) => request.id.to_string(),
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
        let mut state = InputQueueState::default();
        state.push(Ok(PromptInput::text("a".to_owned())));
        state.push(Err("WHY-1".to_owned()));
        state.requests.push_back((2, ControlRequest { id: json!(1), body: Ok(json!({})) }));
        assert!(matches!(state.next(true, false), Some(NextInput::Prompt(Ok(_)))));
        assert!(matches!(state.next(true, false), Some(NextInput::Request(_))));
        assert!(state.next(true, false).is_none());
        assert!(matches!(state.next(true, true), Some(NextInput::Prompt(Err(_)))));
    }

    #[tokio::test]
    async fn a_flood_of_prompts_is_bounded_and_each_that_is_left_out_is_told_in_its_place() {
        let queue = filled(HARD_PROMPT_LIMIT + 3).await;
        assert_eq!(queue.shared.lock().waiting.len(), HARD_PROMPT_LIMIT + 1, "three in one entry");
        for number in 0..HARD_PROMPT_LIMIT {
            assert_eq!(prompt(&queue), Some(Ok(number.to_string())));
        }
        for _ in 0..3 {
            assert!(prompt(&queue).unwrap().unwrap_err().contains("send it again"));
        }
        assert!(prompt(&queue).is_none() && queue.is_over());
        assert_eq!(queue.shared.lock().bytes, 0);
    }

    #[tokio::test]
    async fn where_only_prompts_come_the_rest_stays_on_stdin_and_none_is_lost() {
        let (sender, lines) = mpsc::channel(1);
        let (chunks, _lines) = StdoutSender::channel();
        let (client, first) = (PeerClient::new(chunks), Some(user("first")));
        let start = RouterSetup { lines, first, client, introduced: false, driven: false };
        let queue = InputQueue::start(start);
        let writer = tokio::spawn(async move {
            for number in 0..200 {
                sender.send(user(&number.to_string())).await.unwrap();
            }
        });
        let mut taken = Vec::new();
        while !queue.is_over() {
            match prompt(&queue) {
                Some(text) => taken.push(text.unwrap()),
                None => queue.changed().await,
            }
            assert!(queue.shared.lock().waiting.len() <= PROMPT_LIMIT);
        }
        writer.await.unwrap();
        assert_eq!((taken.len(), taken[0].as_str(), taken[200].as_str()), (201, "first", "199"));
    }
}
