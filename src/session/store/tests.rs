use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::*;
use crate::protocol::event::AgentReport;
use crate::protocol::{
    AgentPath, ChildMeta, Compaction, ContentBlock, Cost, Message, Past, ResultBlock,
    SpendingJournal, Spent, Terms, ToolDetails, ToolUseId, Usage,
};
use crate::session::CallResult;

struct Bench {
    dir: tempfile::TempDir,
    store: SessionStore,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = SessionStore::new(dir.path());
        Self { dir, store }
    }

    fn create(&self) -> (SessionId, Arc<dyn Journal>) {
        let id = SessionId::generate();
        (id, self.store.create(self.session(id)).unwrap())
    }

    fn session(&self, id: SessionId) -> NewSession {
        let cwd = self.dir.path().to_owned();
        NewSession { id, cwd, model: "m".to_owned(), provider: "p".to_owned(), agent_tool: None }
    }

    fn file(&self, id: SessionId) -> PathBuf {
        transcript_file(&self.store.dir(id))
    }
}

fn call(id: &str) -> Message {
    Message::assistant(vec![ContentBlock::ToolUse {
        id: ToolUseId::new(id),
        name: "AgentTool".to_owned(),
        input: json!({"prompt": "look"}),
        malformed: None,
    }])
}

fn result(id: &str, text: &str, is_error: bool) -> Message {
    Message::user(vec![ContentBlock::ToolResult {
        tool_use_id: ToolUseId::new(id),
        content: vec![ResultBlock::text(text)],
        is_error,
        details: None,
    }])
}

fn child(id: AgentId, call: &str) -> ChildMeta {
    ChildMeta {
        id,
        path: AgentPath::root().child(id),
        agent: "explore".to_owned(),
        name: "explore-1".to_owned(),
        description: "look around".to_owned(),
        tool_use_id: ToolUseId::new(call),
        model: "m".to_owned(),
        max_turns: None,
        color: None,
        background: None,
        depth: 1,
        terms: Terms::default(),
        inherited: 0,
    }
}

fn outcome() -> Outcome {
    Outcome {
        end: End::Completed,
        api_error: None,
        text: "done".to_owned(),
        turns: 1,
        tool_uses: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        took: Duration::from_secs(1),
    }
}

fn spent(output_tokens: u64, usd: f64) -> Spent<'static> {
    let usage = Usage { output_tokens, ..Usage::default() };
    Spent { usage, cost: Cost::known(usd), model: "m", agent: None }
}

/// An end in the words of these tests.
fn worded(agent: &AgentSummary) -> Option<CallResult> {
    let Outcome { end, text, .. } = agent.end.as_ref()?;
    let report = AgentReport {
        agent_id: agent.meta.id,
        name: agent.meta.name.clone(),
        status: end.clone(),
        turns: 1,
        tool_uses: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        duration_ms: 1,
        shown: 0,
        total: 0,
    };
    let is_error = *end != End::Completed;
    let text = if is_error { format!("{} was interrupted", agent.meta.id) } else { text.clone() };
    Some(CallResult { text, is_error, details: ToolDetails::Agent(Box::new(report)) })
}

impl Bench {
    fn load(&self, id: SessionId) -> Transcript {
        self.store.load(id, &worded).unwrap()
    }

    fn load_agent(&self, id: SessionId, agent: AgentId) -> Transcript {
        self.store.load_agent(id, agent, &worded).unwrap()
    }

    fn open(&self, id: SessionId) -> Opened {
        self.store.open(id, &worded).unwrap()
    }
}

fn said(text: &str) -> Message {
    Message::assistant(vec![ContentBlock::text(text)])
}

#[tokio::test]
async fn what_is_written_is_read_again_and_nothing_is_there_before_the_first_message() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    journal.finish(&outcome()).await.unwrap();
    assert!(!bench.dir.path().join("sessions").exists());
    let usage = Usage { output_tokens: 7, ..Usage::default() };
    let spent = Spent { usage, cost: Cost::known(0.5), model: "m", agent: None };
    journal.append(&Message::user_text("hello\nthere"), None).await.unwrap();
    journal.spent(spent).await.unwrap();
    journal.append(&said("hi"), Some("m")).await.unwrap();
    journal.finish(&outcome()).await.unwrap();
    let transcript = bench.load(id);
    assert_eq!(transcript.messages, [Message::user_text("hello\nthere"), said("hi")]);
    assert_eq!((transcript.usage, transcript.cost), (spent.usage, spent.cost));
    assert_eq!((transcript.end, transcript.warnings), (Some(outcome()), vec![]));
    assert_eq!(transcript.session.unwrap().cwd, bench.dir.path());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&bench.file(id)), mode(&bench.store.dir(id))), (0o600, 0o700));
}

#[tokio::test]
async fn sub_agents_have_files_of_their_own() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    let (one, two) = (AgentId::generate(), AgentId::generate());
    let first = journal.child(child(one, "c1"));
    journal.child(child(two, "c2")).finish(&outcome()).await.unwrap();
    first.append(&Message::user_text("look"), None).await.unwrap();
    first.append(&said("seen"), None).await.unwrap();
    first.finish(&outcome()).await.unwrap();
    let agents = bench.store.agents(id);
    assert_eq!(agents.len(), 1);
    assert_eq!((&agents[0].meta, &agents[0].end), (&child(one, "c1"), &Some(outcome())));
    assert_eq!(agents[0].messages, 2);
    drop(first);
    let again = journal.child(child(one, "c1"));
    again.append(&Message::user_text("more"), None).await.unwrap();
    let transcript = bench.load_agent(id, one);
    assert_eq!((transcript.messages.len(), transcript.end), (3, None));
    assert_eq!(bench.store.agents(id)[0].messages, 3);
}

#[tokio::test]
async fn a_crash_at_any_point_leaves_a_session_that_can_go_on() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let messages =
        [Message::user_text("go"), call("c1"), result("c1", "ok", false), call("c2"), said("end")];
    for message in messages {
        journal.append(&message, None).await.unwrap();
    }
    drop(journal);
    let whole = fs::read(bench.file(id)).unwrap();
    let header = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    for cut in (header..=whole.len()).step_by(7) {
        fs::write(bench.file(id), &whole[..cut]).unwrap();
        let opened = bench.open(id);
        let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count() - 1;
        assert!(opened.transcript.messages.len() >= lines, "cut at {cut}");
        opened.journal.append(&Message::user_text("on"), None).await.unwrap();
        drop(opened);
        let again = bench.open(id).transcript;
        assert_eq!(again.missing, None, "cut at {cut}");
        let odd: Vec<_> = again.warnings.iter().filter(|text| !text.contains("c2")).collect();
        assert!(odd.is_empty(), "cut at {cut}: {odd:?}");
    }
}

#[tokio::test]
async fn resuming_closes_open_calls_and_ends_cut_off_sub_agents_once() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let agent = AgentId::generate();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), None).await.unwrap();
    let below = journal.child(child(agent, "c1"));
    below.append(&Message::user_text("look"), None).await.unwrap();
    below.spent(spent(1, 0.1)).await.unwrap();
    below.append(&call("d1"), Some("m")).await.unwrap();
    drop((journal, below));
    let untouched = bench.load(id);
    assert_eq!(bench.store.agents(id)[0].end, None);
    let opened = bench.open(id);
    assert_eq!(opened.transcript.messages.len(), untouched.messages.len());
    let text = format!("{:?}", opened.transcript.messages.last().unwrap());
    assert!(text.contains(&format!("{agent} was interrupted")), "{text}");
    let end = opened.agents[0].end.clone().unwrap();
    assert_eq!((end.end, end.turns, end.cost), (End::Interrupted, 1, Cost::known(0.1)));
    drop(opened);
    let before = fs::read(bench.file(id)).unwrap();
    let again = bench.open(id);
    assert_eq!((again.transcript.missing, again.transcript.warnings), (None, vec![]));
    assert_eq!(fs::read(bench.file(id)).unwrap(), before);
    let below = bench.load_agent(id, agent);
    assert_eq!((below.messages.len(), below.missing), (3, None));
}

#[tokio::test]
async fn lines_of_other_versions_and_broken_lines_are_passed_over() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    drop(journal);
    let mut file = fs::OpenOptions::new().append(true).open(bench.file(id)).unwrap();
    file.write_all(b"{\"type\":\"from_the_future\",\"x\":1}\n{broken}\n\n").unwrap();
    let opened = bench.open(id);
    assert_eq!(opened.transcript.messages, [Message::user_text("go")]);
    assert_eq!(opened.transcript.warnings.len(), 1);
    assert!(opened.transcript.warnings[0].starts_with("line 4 is left out"));
    assert_eq!(bench.store.list()[0].messages, 1);
    let old = json!({
        "id": AgentId::generate(), "path": [], "agent": "a", "name": "a-1", "description": "",
        "tool_use_id": "c", "model": "m",
    });
    assert_eq!(serde_json::from_value::<ChildMeta>(old).unwrap().depth, 0);
}

#[tokio::test]
async fn a_full_disk_is_an_error_that_names_the_file_and_the_way_out() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    fs::create_dir_all(bench.store.dir(id)).unwrap();
    symlink("/dev/full", bench.file(id)).unwrap();
    drop(journal);
    let journal = bench.store.create(bench.session(id)).unwrap();
    let error = journal.append(&Message::user_text("go"), None).await.unwrap_err().to_string();
    assert!(error.contains("transcript.jsonl") && error.contains("free some space"), "{error}");
}

#[tokio::test]
async fn only_one_process_at_a_time_writes_to_a_session() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    let error = bench.store.open(id, &worded).err().unwrap().to_string();
    assert!(error.contains("another caliban is writing"), "{error}");
    assert!(bench.store.remove(id).is_err());
    assert!(matches!(bench.store.create(bench.session(id)), Err(StoreError::Exists(_))));
    drop(journal);
    bench.open(id);
    bench.store.remove(id).unwrap();
    assert!(matches!(bench.store.open(id, &worded), Err(StoreError::Read { .. })));
}

#[tokio::test]
async fn a_fork_begins_with_the_history_and_leaves_the_original_alone() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), None).await.unwrap();
    let before = fs::read(bench.file(id)).unwrap();
    let copy = SessionId::generate();
    let opened = bench.store.fork(id, bench.session(copy), &worded).unwrap();
    assert!(!bench.store.dir(copy).exists());
    opened.journal.append(&Message::user_text("on"), None).await.unwrap();
    let transcript = bench.load(copy);
    assert_eq!(transcript.session.unwrap().forked_from, Some(id));
    assert_eq!(transcript.messages[..2], opened.transcript.messages[..2]);
    assert_eq!(fs::read(bench.file(id)).unwrap(), before);
}

#[tokio::test]
async fn sessions_are_found_by_prefix_and_by_directory() {
    let bench = Bench::new();
    let (first, one) = bench.create();
    let (second, two) = bench.create();
    let prompt = Message::user_text(format!("  find\n the {}", "bug ".repeat(100)));
    one.append(&prompt, None).await.unwrap();
    two.append(&Message::user_text("x"), None).await.unwrap();
    let here = bench.dir.path();
    assert_eq!(bench.store.find(&first.to_string()).unwrap(), first);
    let shared = &first.to_string()[..3];
    match bench.store.find(shared) {
        Err(FindError::Ambiguous { count: 2, ids, .. }) => {
            assert_eq!(ids, [first.to_string(), second.to_string()]);
        }
        other => panic!("{other:?}"),
    }
    for prefix in ["", "zzz"] {
        assert!(matches!(bench.store.find(prefix), Err(FindError::None { .. })));
    }
    let newer = std::time::SystemTime::now() + Duration::from_secs(60);
    fs::OpenOptions::new()
        .append(true)
        .open(bench.file(first))
        .unwrap()
        .set_modified(newer)
        .unwrap();
    assert_eq!(bench.store.newest_in(here), Some(first));
    assert_eq!(bench.store.newest_in(Path::new("/")), None);
    let list = bench.store.list();
    assert_eq!((list[0].id, list[1].id, list.len()), (second, first, 2));
    assert!(list[1].first_prompt.starts_with("find the bug bug"));
    assert_eq!(list[1].first_prompt.chars().count(), 200);
    assert_eq!((list[1].messages, list[1].agents), (1, 0));
}

#[tokio::test]
async fn a_compacted_session_goes_on_from_its_summary_and_keeps_all_for_the_person() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let (go, summary) = (Message::user_text("go"), Message::user_text("summary"));
    journal.append(&go, None).await.unwrap();
    journal.spent(spent(1, 0.5)).await.unwrap();
    journal.append(&call("c1"), Some("m")).await.unwrap();
    journal.append(&result("c1", "ok", false), None).await.unwrap();
    let kept = [summary.clone(), call("c1"), result("c1", "ok", false)];
    journal.spent(spent(2, 0.5)).await.unwrap();
    let compaction =
        Compaction { messages: &kept, before_tokens: 900, after_tokens: 70, model: Some("m") };
    journal.compacted(compaction).await.unwrap();
    // Nothing follows yet: what is kept is the whole conversation.
    assert_eq!(bench.load(id).messages, kept);
    journal.spent(spent(4, 0.5)).await.unwrap();
    journal.append(&said("done"), Some("m")).await.unwrap();
    journal.finish(&outcome()).await.unwrap();
    let transcript = bench.load(id);
    assert_eq!(transcript.messages, [&kept[..], &[said("done")]].concat());
    let message = |message: &Message| Past::Message(message.clone());
    let mark = Past::Compacted { before_tokens: 900, after_tokens: 70 };
    let past = [message(&go), message(&kept[1]), message(&kept[2]), mark, message(&said("done"))];
    assert_eq!(transcript.past(), past);
    assert_eq!((transcript.turns(), transcript.tool_uses()), (2, 1));
    assert_eq!((transcript.usage.output_tokens, transcript.cost.usd), (7, 1.5));
    assert_eq!(transcript.warnings, Vec::<String>::new());
    assert_eq!(bench.store.list()[0].messages, 4);
    drop(journal);
    // A fork begins with the summary.
    let fork = SessionId::generate();
    let opened = bench.store.fork(id, bench.session(fork), &worded).unwrap();
    opened.journal.append(&Message::user_text("more"), None).await.unwrap();
    assert_eq!(bench.load(fork).messages[0], summary);
}

#[tokio::test]
async fn a_summary_that_is_joined_with_the_next_prompt_hides_none_of_it() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let (go, next) = (Message::user_text("go"), Message::user_text("next"));
    journal.append(&go, None).await.unwrap();
    journal.append(&said("done"), None).await.unwrap();
    let messages = &[Message::user_text("summary")];
    let compaction = Compaction { messages, before_tokens: 9, after_tokens: 7, model: None };
    journal.compacted(compaction).await.unwrap();
    journal.append(&next, None).await.unwrap();
    let transcript = bench.load(id);
    assert_eq!(transcript.messages.len(), 1);
    let mark = Past::Compacted { before_tokens: 9, after_tokens: 7 };
    let past = [Past::Message(go), Past::Message(said("done")), mark, Past::Message(next)];
    assert_eq!(transcript.past(), past);
}

#[tokio::test]
async fn a_sub_agent_goes_on_in_its_file_with_its_open_calls_closed_and_is_found_by_its_id() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    let agent = AgentId::generate();
    let child_journal = journal.child(child(agent, "t1"));
    child_journal.append(&Message::user_text("look"), None).await.unwrap();
    child_journal.append(&call("t2"), None).await.unwrap();
    child_journal.finish(&outcome()).await.unwrap();
    assert!(bench.store.open_agent(id, agent, &worded).is_err(), "its file has one writer");
    drop(child_journal);
    let opened = bench.store.open_agent(id, agent, &worded).unwrap();
    assert_eq!((opened.meta.id, opened.transcript.end), (agent, Some(outcome())));
    assert_eq!(opened.transcript.messages.len(), 3);
    opened.journal.append(&Message::user_text("go on"), None).await.unwrap();
    opened.journal.finish(&outcome()).await.unwrap();
    let summary = bench.store.agents(id).remove(0);
    assert_eq!((summary.messages, summary.end), (4, Some(outcome())));
    let found = bench.store.find_any(&agent.to_string());
    assert_eq!(found, Ok(Found::Agent { session: id, agent }));
    assert_eq!(bench.store.find_any(&id.to_string()), Ok(Found::Session(id)));
}

fn thought(model: &str, text: &str) -> Message {
    let thinking = format!("a thought of {model}");
    let thinking = ContentBlock::Thinking { thinking, signature: "signed".to_owned() };
    Message::assistant(vec![thinking, ContentBlock::text(text)])
}

fn has_thoughts(transcript: &Transcript) -> bool {
    let mut blocks = transcript.messages.iter().flat_map(|message| &message.content);
    blocks.any(|block| matches!(block, ContentBlock::Thinking { .. }))
}

#[tokio::test]
async fn the_past_stays_whole_after_a_summary_and_a_change_of_the_model() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let (go, kept) = (Message::user_text("go"), thought("m", "kept"));
    journal.append(&go, None).await.unwrap();
    journal.append(&kept, Some("m")).await.unwrap();
    let messages = &[Message::user_text("summary"), kept.clone()];
    let compaction = Compaction { messages, before_tokens: 9, after_tokens: 7, model: Some("m") };
    journal.compacted(compaction).await.unwrap();
    let later = [Message::user_text("on"), said("first"), Message::user_text("more"), said("last")];
    for message in &later {
        let model = (message.role == Role::Assistant).then_some("other");
        journal.append(message, model).await.unwrap();
    }
    let transcript = bench.load(id);
    assert!(!has_thoughts(&transcript), "the other model does not get them");
    let message = |message: &Message| Past::Message(message.clone());
    let mark = Past::Compacted { before_tokens: 9, after_tokens: 7 };
    let mut past = vec![message(&go), message(&kept), mark];
    past.extend(later.iter().map(message));
    assert_eq!(transcript.past(), past);
    assert_eq!((transcript.turns(), transcript.messages.len()), (3, 6));
}

#[tokio::test]
async fn a_fork_remembers_whose_thoughts_its_history_holds() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&thought("m", "hm"), Some("m")).await.unwrap();
    let copy = SessionId::generate();
    let opened = bench.store.fork(id, bench.session(copy), &worded).unwrap();
    opened.journal.append(&Message::user_text("on"), None).await.unwrap();
    assert!(has_thoughts(&bench.load(copy)), "the same model may have them");
    assert_eq!(bench.load(copy).model.as_deref(), Some("m"));
    opened.journal.append(&said("other"), Some("other")).await.unwrap();
    assert!(!has_thoughts(&bench.load(copy)));
}

#[tokio::test]
async fn results_that_came_before_a_kill_stay_and_a_sub_agents_own_end_is_its_result() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let calls = ["c1", "c2", "c3", "c4"].map(|id| call(id).content.remove(0));
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&Message::assistant(calls.to_vec()), Some("m")).await.unwrap();
    let early = result("c2", "early", false).content.remove(0);
    journal.result(&early).await.unwrap();
    // c3 had started an agent that is done, c4 one that is not. A call of c3's own has the id of main's.
    let (done, cut, below) = (AgentId::generate(), AgentId::generate(), AgentId::generate());
    for (agent, call, ends) in [(done, "c3", true), (cut, "c4", false)] {
        let journal = journal.child(child(agent, call));
        journal.append(&Message::user_text("look"), None).await.unwrap();
        if ends {
            journal.finish(&outcome()).await.unwrap();
        }
    }
    let meta = ChildMeta { path: AgentPath::root().child(done).child(below), ..child(below, "c1") };
    let grandchild = journal.child(meta);
    grandchild.append(&Message::user_text("look"), None).await.unwrap();
    grandchild.finish(&outcome()).await.unwrap();
    drop((journal, grandchild));
    let opened = bench.open(id);
    let results = &opened.transcript.messages[2].content;
    let shown = results.iter().map(|block| match block {
        ContentBlock::ToolResult { content, is_error, .. } => match &content[0] {
            ResultBlock::Text { text } => (text.clone(), *is_error),
            ResultBlock::Image { .. } => panic!("an image"),
        },
        other => panic!("{other:?}"),
    });
    let interrupted = "interrupted: the program ended before this call finished".to_owned();
    let expected = [
        (interrupted, true),
        ("early".to_owned(), false),
        ("done".to_owned(), false),
        (format!("{cut} was interrupted"), true),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert_eq!(opened.lost_reports, [], "both ends are results now");
    drop(opened);
    let again = bench.open(id);
    assert_eq!((again.transcript.missing, again.transcript.warnings), (None, vec![]));
}

#[tokio::test]
async fn an_end_that_main_has_not_read_of_is_found_until_it_has() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let agent = AgentId::generate();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), None).await.unwrap();
    journal.append(&result("c1", "it works in the background", false), None).await.unwrap();
    let end = async |text: &str| {
        let journal = journal.child(child(agent, "c1"));
        journal.append(&Message::user_text(text), None).await.unwrap();
        journal.finish(&outcome()).await.unwrap();
    };
    let read = async || {
        let report =
            ContentBlock::Text { text: "it is done".to_owned(), aside: false, report: Some(agent) };
        journal.append(&Message::user(vec![report]), None).await.unwrap();
    };
    let lost = || {
        let agents = bench.store.agents(id);
        let lost = lost_reports(&bench.store.dir(id), &agents, &bench.load(id));
        lost.into_iter().map(|lost| lost.id).collect::<Vec<_>>()
    };
    end("look").await;
    assert_eq!(lost(), [agent]);
    read().await;
    assert_eq!(lost(), []);
    // It is resumed, and ends again.
    end("go on").await;
    assert_eq!(lost(), [agent]);
    read().await;
    assert_eq!(lost(), []);
}

#[tokio::test]
async fn every_dollar_counts_whatever_became_of_the_request_and_of_the_agent() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let (one, two) = (AgentId::generate(), AgentId::generate());
    let path = AgentPath::root().child(one);
    journal.append(&Message::user_text("go"), None).await.unwrap();
    // Nothing came of it.
    journal.spent(spent(1, 1.0)).await.unwrap();
    let first = journal.child(child(one, "c1"));
    for _ in 0..2 {
        first.append(&Message::user_text("look"), None).await.unwrap();
        first.spent(spent(10, 2.0)).await.unwrap();
        first.finish(&outcome()).await.unwrap();
    }
    first.append(&Message::user_text("look"), None).await.unwrap();
    let below = first.child(ChildMeta { path: path.child(two), ..child(two, "c2") });
    below.append(&Message::user_text("look"), None).await.unwrap();
    below.spent(spent(100, 8.0)).await.unwrap();
    // One that is not kept.
    let unkept = SpendingJournal { above: below.clone(), path: path.child(two) };
    unkept.child(child(two, "c3")).spent(spent(1000, 16.0)).await.unwrap();
    drop((journal, first, below));
    let opened = bench.open(id);
    assert_eq!((opened.transcript.usage.output_tokens, opened.transcript.cost.usd), (1, 1.0));
    let (usage, cost) = opened.spent_by_agents;
    assert_eq!((usage.output_tokens, cost.usd), (1120, 28.0));
    let end = opened.agents.iter().find(|agent| agent.meta.id == one).unwrap().end.clone().unwrap();
    assert_eq!((end.end, end.cost.usd), (End::Interrupted, 28.0), "with those below it");
}

#[tokio::test]
async fn a_session_in_a_directory_that_is_not_utf_8_is_stored_and_found() {
    use std::os::unix::ffi::OsStrExt as _;
    let bench = Bench::new();
    let cwd = bench.dir.path().join(std::ffi::OsStr::from_bytes(b"a\xffb"));
    let id = SessionId::generate();
    let journal = bench.store.create(NewSession { cwd: cwd.clone(), ..bench.session(id) }).unwrap();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    assert_eq!(bench.store.newest_in(&cwd), Some(id));
    assert_eq!(bench.store.newest_in(bench.dir.path()), None);
    serde_json::to_value(bench.store.list()).unwrap();
}

/// The words for events that these tests are about, by the agent that they are of.
fn told(events: &[AgentEvent], agent: AgentId) -> Vec<String> {
    let own = events.iter().filter(|event| event.path.id() == Some(agent));
    own.map(|event| match &event.kind {
        EventKind::Started(info) if info.background => "started in the background".to_owned(),
        EventKind::Started(_) => "started".to_owned(),
        EventKind::MovedToBackground => "moved".to_owned(),
        EventKind::TurnStarted { turn, .. } => format!("turn {turn}"),
        EventKind::TurnFinished { cost, .. } => format!("${}", cost.usd),
        EventKind::Finished(outcome) => format!("finished: {:?}", outcome.end),
        EventKind::Reported { outcome, .. } => format!("reported: {}", outcome.text),
        other => format!("{other:?}"),
    })
    .collect()
}

#[tokio::test]
async fn a_history_has_each_agent_with_its_turns_ends_and_costs() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let [waited_for, moved, never_began] = [(); 3].map(|()| AgentId::generate());
    let mut calls = call("c1");
    calls.content.extend(call("c2").content);
    calls.content.extend(call("c3").content);
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&calls, Some("m")).await.unwrap();
    for (agent, call) in [(waited_for, "c1"), (moved, "c2")] {
        let meta = ChildMeta { background: Some(false), ..child(agent, call) };
        let own = journal.child(meta);
        own.append(&Message::user_text("look"), None).await.unwrap();
        own.spent(spent(1, 1.0)).await.unwrap();
        own.append(&Message::assistant(vec![ContentBlock::text("done")]), None).await.unwrap();
        own.finish(&outcome()).await.unwrap();
    }
    let results = [waited_for, never_began].map(|agent| {
        let end = if agent == waited_for {
            End::Completed
        } else {
            End::Cancelled { before_start: true }
        };
        let outcome = Outcome { end, ..outcome() };
        let summary = AgentSummary {
            meta: child(agent, "c"),
            version: VERSION,
            started: Timestamp::now(),
            last: Timestamp::now(),
            end: Some(outcome),
            messages: 1,
        };
        let CallResult { text, is_error, details } = worded(&summary).unwrap();
        (vec![ResultBlock::text(text)], is_error, Some(details))
    });
    let [first, last] = results;
    let content = [("c1", first), ("c2", (Vec::new(), false, None)), ("c3", last)].map(
        |(id, (content, is_error, details))| ContentBlock::ToolResult {
            tool_use_id: ToolUseId::new(id),
            content,
            is_error,
            details,
        },
    );
    journal.append(&Message::user(content.into()), None).await.unwrap();
    // One goes on, in the background by then.
    let again = bench.store.open_agent(id, waited_for, &worded).unwrap();
    again.journal.append(&Message::user_text("go on"), None).await.unwrap();
    again.journal.spent(spent(2, 2.0)).await.unwrap();
    drop((again, journal));
    let Opened { history, spent_by_agents: (_, cost), .. } = bench.open(id);
    assert_eq!(
        told(&history, waited_for),
        [
            "started",
            "turn 1",
            "$1",
            "finished: Completed",
            "started in the background",
            "turn 1",
            "$2",
            "finished: Interrupted",
        ]
    );
    let ended = ["started", "turn 1", "$1", "finished: Completed"];
    assert_eq!(told(&history, moved)[..4], ended, "it ended before main was told");
    assert_eq!(told(&history, never_began), ["reported: "]);
    assert_eq!(cost.usd, 4.0);
    let times: Vec<_> = history.iter().map(|event| event.at).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(bench.open(id).history.len(), history.len(), "a second resume tells the same");
}
