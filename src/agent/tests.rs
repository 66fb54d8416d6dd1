//! The loop under limits that only sub-agents have, with a scripted model.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::conversation::holds_results;
use super::*;
use crate::budget::{Budget, Limits};
use crate::config::models::ModelInfo;
use crate::permission::{Gate, GateSettings, RuleSet};
use crate::protocol::{
    Access, Answer, BlockStart, Delta, EnvOverlay, EventQueue, NoJournal, PermissionMode, PromptId,
    QueuedPrompt, Redactor, Span, StreamEvent, ToolUseId, Usage,
};
use crate::provider::{
    EventStream, Model, ModelRequest, ModelSlot, Provider, RetryPolicy, ToolChoice,
};
use crate::tool::{
    BlockingPools, InvalidInput, PreparedCall, Tool, ToolContext, ToolError, ToolOutcome,
    ToolRegistry, ToolSpec,
};

mod files;

/// A model with scripted answers, and the requests it got.
#[derive(Default)]
struct ScriptedModel {
    answers: Mutex<VecDeque<Vec<StreamEvent>>>,
    /// Whether tools were offered, and the last message.
    asked: Mutex<Vec<(bool, String)>>,
}

impl Provider for ScriptedModel {
    fn name(&self) -> &str {
        "script"
    }

    fn stream(&self, request: &ModelRequest<'_>) -> EventStream {
        let last = serde_json::to_string(&request.messages.last()).unwrap();
        let may_call = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        self.asked.lock().unwrap().push((may_call, last));
        let answer = self.answers.lock().unwrap().pop_front().expect("no answer is left");
        futures_util::stream::iter(answer.into_iter().map(Ok)).boxed()
    }
}

/// An answer with this text and `calls` calls: 100 input tokens, 10 output, 1000 from the cache.
fn answer(text: &str, calls: usize) -> Vec<StreamEvent> {
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 10,
        cache_read_input_tokens: 1000,
        ..Usage::default()
    };
    let start = StreamEvent::MessageStart { id: "m".into(), model: "m".into(), usage };
    let mut events = vec![start];
    let mut block = |index: usize, block: BlockStart, delta: Delta| {
        events.push(StreamEvent::BlockStart { index, block });
        events.push(StreamEvent::BlockDelta { index, delta });
        events.push(StreamEvent::BlockStop { index });
    };
    block(0, BlockStart::Text, Delta::Text(text.to_owned()));
    for index in 1..=calls {
        let id = ToolUseId::new(format!("{text}-{index}"));
        let call = BlockStart::ToolUse { id, name: "Count".to_owned() };
        block(index, call, Delta::Input("{}".to_owned()));
    }
    events.push(StreamEvent::MessageDelta { stop_reason: None, usage });
    events.push(StreamEvent::MessageStop);
    events
}

/// A tool that counts its prepared calls and those that ran.
#[derive(Clone)]
struct CountTool {
    spec: ToolSpec,
    prepared: Arc<AtomicU32>,
    ran: Arc<AtomicU32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoInput {}

impl Tool for CountTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        self.spec.parse::<NoInput>(input)?;
        self.prepared.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new((*self).clone()))
    }
}

#[async_trait]
impl PreparedCall for CountTool {
    fn summary(&self) -> String {
        String::new()
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Other
    }

    async fn run(self: Box<Self>, _cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        self.ran.fetch_add(1, Ordering::Relaxed);
        Ok(ToolOutcome::text("counted", "counted"))
    }
}

fn gate(mode: PermissionMode, dirs: Vec<PathBuf>) -> Gate {
    Gate::new(GateSettings {
        mode,
        rules: RuleSet::default(),
        dirs,
        home: None,
        interactive: true,
        project_dir: "/".into(),
        project_roots: Vec::new(),
        protected: Vec::new(),
        env: EnvOverlay::default(),
        has_sandbox: true,
        bash: None,
        bypass_disabled: false,
    })
}

struct AgentFixture {
    agent: Agent,
    script: Arc<ScriptedModel>,
    prepared: Arc<AtomicU32>,
    ran: Arc<AtomicU32>,
    queue: EventQueue,
    gate: Gate,
}

impl AgentFixture {
    fn new(
        per_run: Limits,
        mode: PermissionMode,
        answers: impl IntoIterator<Item = Vec<StreamEvent>>,
    ) -> Self {
        let script = Arc::new(ScriptedModel::default());
        script.answers.lock().unwrap().extend(answers);
        let queue = EventQueue::unbounded();
        let (prepared, ran) = (Arc::<AtomicU32>::default(), Arc::<AtomicU32>::default());
        let gate = gate(mode, Vec::new());
        let info = ModelInfo { known: true, context_window: 100_000, ..ModelInfo::default() };
        let model = Model {
            provider: script.clone(),
            name: "m".to_owned(),
            info,
            wanted_tokens: Some(1000),
            effort: None,
            retry: RetryPolicy::default(),
            fallback: None,
        };
        let spec = ToolSpec::new::<NoInput>("Count", "Counts.");
        let count = CountTool { spec, prepared: prepared.clone(), ran: ran.clone() };
        let agent = Agent::new(AgentSetup {
            name: "main".to_owned(),
            model: ModelSlot::new(model),
            system: "".into(),
            tools: ToolRegistry::new([Arc::new(count) as Arc<dyn crate::tool::Tool>]),
            gate: gate.for_agent("main".to_owned(), queue.sink()),
            hooks: crate::hook::Hooks::default(),
            journal: Arc::new(NoJournal),
            inbox: Inbox::default(),
            background_wait: None,
            slot: None,
            budget: Budget::new(Limits::default()),
            per_run,
            concurrency: ConcurrencyLimit::new(8, BlockingPools::default()),
            cwd: Path::new("/").into(),
            env: EnvOverlay::default(),
            history: Vec::new(),
            span: Span::root(),
            redactor: Redactor::default(),
            reasoning_model: None,
        });
        Self { agent, script, prepared, ran, queue, gate }
    }

    async fn run(&mut self) -> RunOutcome {
        let from = Sender::default();
        let prompt = Prompt { from, ..Prompt::new("go".to_owned()) };
        self.agent.run(Some(prompt), &self.queue.sink(), &CancellationToken::new()).await
    }

    fn asked(&self) -> Vec<(bool, String)> {
        self.script.asked.lock().unwrap().clone()
    }

    fn ran(&self) -> u32 {
        self.ran.load(Ordering::Relaxed)
    }
}

fn calls(limit: u32) -> Limits {
    Limits { tool_calls: Some(limit), ..Limits::default() }
}

fn used_up(what: &str) -> RunEnd {
    RunEnd::Budget { what: what.to_owned() }
}

#[tokio::test]
async fn tool_calls_stop_at_the_limit_and_one_turn_is_left_for_the_summary() {
    let answers = [answer("one", 2), answer("two", 2), answer("summary", 1)];
    let mut bench = AgentFixture::new(calls(3), PermissionMode::BypassPermissions, answers);
    let outcome = bench.run().await;
    assert_eq!((&outcome.end, &*outcome.text), (&used_up("3 tool calls"), "summary"));
    assert_eq!(
        (bench.ran(), outcome.turns),
        (3, 3),
        "the fourth call, and that of the summary, did not run"
    );
    let prepared = bench.prepared.load(Ordering::Relaxed);
    assert_eq!(prepared, 3, "without hooks on the batch, a refused call is not prepared");
    let asked = bench.asked();
    assert_eq!(asked.iter().map(|(tools, _)| *tools).collect::<Vec<_>>(), [true, true, false]);
    let told = &asked[2].1;
    assert!(told.contains("not run: the budget of 3 tool calls is used up"), "{told}");
    assert!(told.contains("your last turn"), "{told}");
    let last = bench.agent.history.last().unwrap();
    assert!(holds_results(last), "a call of the summary is answered: {last:?}");
}

#[tokio::test]
async fn an_agent_that_is_done_before_its_calls_are_used_up_completed() {
    let answers = [answer("one", 2), answer("done", 0)];
    let mut bench = AgentFixture::new(calls(3), PermissionMode::BypassPermissions, answers);
    assert_eq!(bench.run().await.end, RunEnd::Completed);
    let answers = [answer("one", 3), answer("summary", 0)];
    let mut bench = AgentFixture::new(calls(3), PermissionMode::BypassPermissions, answers);
    assert_eq!(bench.run().await.end, used_up("3 tool calls"), "nobody knows what it still wanted");
}

#[tokio::test]
async fn tokens_are_checked_before_a_request_against_what_was_reported() {
    let limits = Limits { tokens: Some(250), ..Limits::default() };
    let answers = ["one", "two", "three", "four"].map(|text| answer(text, 1));
    let mut bench = AgentFixture::new(limits, PermissionMode::BypassPermissions, answers);
    let outcome = bench.run().await;
    assert_eq!(outcome.end, used_up("250 tokens"));
    assert_eq!((outcome.turns, bench.ran()), (3, 3), "110, 220, 330: cache reads do not count");
    assert!(bench.asked().iter().all(|(tools, _)| *tools), "no request for a summary");
}

#[tokio::test]
async fn the_wait_for_an_answer_is_not_charged_to_the_time() {
    let limit = Duration::from_millis(200);
    let limits = Limits { wall: Some(limit), ..Limits::default() };
    let mut bench =
        AgentFixture::new(limits, PermissionMode::Default, [answer("one", 1), answer("done", 0)]);
    let (queue, gate) = (bench.queue.clone(), bench.gate.clone());
    let person = async {
        loop {
            let mut events = Vec::new();
            queue.drain(&mut events, 1).await;
            if let EventKind::PermissionAsked(question) = &events[0].kind {
                // The test is about the time that passes here.
                tokio::time::sleep(limit * 2).await;
                return gate.answer(question.id, Answer::Once);
            }
        }
    };
    let (outcome, answered) = tokio::join!(bench.run(), person);
    assert_eq!(answered.ok(), Some(true));
    assert_eq!((outcome.end, bench.ran()), (RunEnd::Completed, 1));
    assert!(outcome.took > limit);
}

#[tokio::test]
async fn a_question_that_a_change_of_mode_settles_is_not_approved_by_the_user() {
    let answers = [answer("one", 1), answer("done", 0)];
    let mut bench = AgentFixture::new(Limits::default(), PermissionMode::Default, answers);
    let operations = ConcurrencyLimit::new(1, BlockingPools::default());
    bench.agent.setup.concurrency = operations.clone();
    let (queue, gate) = (bench.queue.clone(), bench.gate.clone());
    let modes = async {
        let (cancel, mut place) = (CancellationToken::new(), None);
        loop {
            let mut events = Vec::new();
            queue.drain(&mut events, 1).await;
            match &events[0].kind {
                EventKind::PermissionAsked(_) => {
                    // Keeps the call from running when it is permitted.
                    place = operations.acquire(&cancel).await;
                    gate.set_mode(PermissionMode::BypassPermissions).unwrap();
                }
                EventKind::QuestionClosed { .. } => {
                    gate.set_mode(PermissionMode::Default).unwrap();
                    return drop(place.take());
                }
                _ => {}
            }
        }
    };
    let (outcome, ()) = tokio::join!(bench.run(), modes);
    assert_eq!((outcome.end, bench.ran()), (RunEnd::Completed, 0));
    let told = &bench.asked()[1].1;
    assert!(told.contains("has changed since it was allowed"), "{told}");
}

#[tokio::test]
async fn a_model_without_a_price_is_not_asked_under_a_cap() {
    let limits = Limits { usd: Some(1.0), ..Limits::default() };
    let mut bench = AgentFixture::new(limits, PermissionMode::BypassPermissions, []);
    let end = bench.run().await.end;
    assert!(
        matches!(&end, RunEnd::Failed { message, .. } if message.contains("No price")),
        "{end:?}"
    );
    assert_eq!(bench.asked(), []);
}

#[tokio::test]
async fn a_run_that_was_stopped_before_its_time_was_over_was_stopped_and_not_overdue() {
    let limit = Duration::from_millis(20);
    let budget = Budget::new(Limits { wall: Some(limit), ..Limits::default() });
    let (cancel, stop) = (CancellationToken::new(), CancellationToken::new());
    cancel.cancel();
    // Stopping takes longer than its time limit.
    let slow = async {
        budget.timed_out().await;
        RunEnd::Cancelled { before_start: false }
    };
    let end = run_within_limit(&budget, &cancel, &stop, slow).await;
    assert_eq!(end, RunEnd::Cancelled { before_start: false });
    let late = async { RunEnd::Cancelled { before_start: false } };
    assert_eq!(run_within_limit(&budget, &cancel, &stop, late).await, RunEnd::TimeLimit { limit });
}

#[tokio::test]
async fn messages_that_wake_an_agent_together_are_read_in_their_order() {
    let mut bench =
        AgentFixture::new(Limits::default(), PermissionMode::Default, [answer("done", 0)]);
    let from = || Sender::Agent { name: "slow-1".to_owned() };
    let newer = QueuedPrompt::typed(PromptId(2), "newer", crate::protocol::PromptTiming::NextStep);
    bench.agent.setup.inbox.push(QueuedPrompt { from: from(), ..newer });
    let older = Prompt { from: from(), ..Prompt::new("older".to_owned()) };
    bench.agent.run(Some(older), &bench.queue.sink(), &CancellationToken::new()).await;
    let texts: Vec<_> =
        bench.agent.history[0].content.iter().filter_map(ContentBlock::as_text).collect();
    assert_eq!(texts, ["older", "newer"]);
}

#[tokio::test]
async fn what_is_overdue_in_the_background_is_ended_told_of_and_not_waited_for_again() {
    let mut bench =
        AgentFixture::new(Limits::default(), PermissionMode::Default, [answer("done", 0)]);
    let patience = Duration::from_millis(20);
    bench.agent.setup.background_wait = Some(patience);
    let (inbox, ended) = (bench.agent.setup.inbox.clone(), CancellationToken::new());
    let announcement = inbox.announce(ended.clone());
    let work = tokio::spawn(async move {
        ended.cancelled().await;
        let late =
            QueuedPrompt::typed(PromptId(1), "partial", crate::protocol::PromptTiming::NextStep);
        inbox.push(QueuedPrompt { from: Sender::Agent { name: "slow-1".to_owned() }, ..late });
        drop(announcement);
    });
    let outcome = bench.run().await;
    work.await.unwrap();
    assert_eq!((outcome.end, outcome.turns), (RunEnd::Completed, 1));
    assert!(outcome.took >= patience, "{:?}", outcome.took);
    let mut events = Vec::new();
    bench.queue.drain_ready(&mut events, 100);
    let notices = events.into_iter().filter_map(|event| match event.kind {
        EventKind::Notice { text, .. } => Some(text),
        _ => None,
    });
    let told = "1 still running in the background after 0:00: cancelled";
    assert_eq!(notices.collect::<Vec<_>>(), [told]);
}
