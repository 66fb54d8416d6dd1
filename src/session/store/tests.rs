use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::*;
use crate::protocol::{
    AgentPath, ChildMeta, Compaction, ContentBlock, Cost, Message, Past, ResultBlock, Spent, Terms,
    Usage,
};

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
        NewSession { id, cwd, model: "m".to_owned(), provider: "p".to_owned() }
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
        depth: 1,
        terms: Terms::default(),
        inherited: 0,
    }
}

fn outcome() -> Outcome {
    Outcome {
        end: End::Completed,
        text: "done".to_owned(),
        turns: 1,
        tool_uses: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        took: Duration::from_secs(1),
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
    let spent = Spent { usage, cost: Cost::known(0.5), model: "m" };
    journal.append(&Message::user_text("hello\nthere"), None).await.unwrap();
    journal.append(&said("hi"), Some(spent)).await.unwrap();
    journal.finish(&outcome()).await.unwrap();
    let transcript = bench.store.load(id).unwrap();
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
    let transcript = bench.store.load_agent(id, one).unwrap();
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
        let opened = bench.store.open(id).unwrap();
        let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count() - 1;
        assert!(opened.transcript.messages.len() >= lines, "cut at {cut}");
        opened.journal.append(&Message::user_text("on"), None).await.unwrap();
        drop(opened);
        let again = bench.store.open(id).unwrap().transcript;
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
    below
        .append(
            &call("d1"),
            Some(Spent { usage: Usage::default(), cost: Cost::known(0.1), model: "m" }),
        )
        .await
        .unwrap();
    drop((journal, below));
    let untouched = bench.store.load(id).unwrap();
    assert_eq!(bench.store.agents(id)[0].end, None);
    let opened = bench.store.open(id).unwrap();
    assert_eq!(opened.transcript.messages, untouched.messages);
    let text = format!("{:?}", opened.transcript.messages.last().unwrap());
    assert!(text.contains("ended before this call finished") && text.contains(&agent.to_string()));
    let end = opened.agents[0].end.clone().unwrap();
    assert_eq!((end.end, end.turns, end.cost), (End::Interrupted, 1, Cost::known(0.1)));
    drop(opened);
    let before = fs::read(bench.file(id)).unwrap();
    let again = bench.store.open(id).unwrap();
    assert_eq!((again.transcript.missing, again.transcript.warnings), (None, vec![]));
    assert_eq!(fs::read(bench.file(id)).unwrap(), before);
    let below = bench.store.load_agent(id, agent).unwrap();
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
    let opened = bench.store.open(id).unwrap();
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
    let error = bench.store.open(id).err().unwrap().to_string();
    assert!(error.contains("another caliban is writing"), "{error}");
    assert!(bench.store.remove(id).is_err());
    assert!(matches!(bench.store.create(bench.session(id)), Err(StoreError::Exists(_))));
    drop(journal);
    bench.store.open(id).unwrap();
    bench.store.remove(id).unwrap();
    assert!(matches!(bench.store.open(id), Err(StoreError::Read { .. })));
}

#[tokio::test]
async fn a_fork_begins_with_the_history_and_leaves_the_original_alone() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), None).await.unwrap();
    let before = fs::read(bench.file(id)).unwrap();
    let copy = SessionId::generate();
    let opened = bench.store.fork(id, bench.session(copy)).unwrap();
    assert!(!bench.store.dir(copy).exists());
    opened.journal.append(&Message::user_text("on"), None).await.unwrap();
    let transcript = bench.store.load(copy).unwrap();
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
    let spent = |tokens| Spent {
        usage: Usage { output_tokens: tokens, ..Usage::default() },
        cost: Cost::known(0.5),
        model: "m",
    };
    let (go, summary) = (Message::user_text("go"), Message::user_text("summary"));
    journal.append(&go, None).await.unwrap();
    journal.append(&call("c1"), Some(spent(1))).await.unwrap();
    journal.append(&result("c1", "ok", false), None).await.unwrap();
    let kept = [summary.clone(), call("c1"), result("c1", "ok", false)];
    let compaction =
        Compaction { messages: &kept, before_tokens: 900, after_tokens: 70, spent: spent(2) };
    journal.compacted(compaction).await.unwrap();
    // Nothing follows yet: what is kept is the whole conversation.
    assert_eq!(bench.store.load(id).unwrap().messages, kept);
    journal.append(&said("done"), Some(spent(4))).await.unwrap();
    journal.finish(&outcome()).await.unwrap();
    let transcript = bench.store.load(id).unwrap();
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
    let opened = bench.store.fork(id, bench.session(fork)).unwrap();
    opened.journal.append(&Message::user_text("more"), None).await.unwrap();
    assert_eq!(bench.store.load(fork).unwrap().messages[0], summary);
}

#[tokio::test]
async fn a_summary_that_is_joined_with_the_next_prompt_hides_none_of_it() {
    let bench = Bench::new();
    let (id, journal) = bench.create();
    let spent = Spent { usage: Usage::default(), cost: Cost::default(), model: "m" };
    let (go, next) = (Message::user_text("go"), Message::user_text("next"));
    journal.append(&go, None).await.unwrap();
    journal.append(&said("done"), None).await.unwrap();
    let messages = &[Message::user_text("summary")];
    let compaction = Compaction { messages, before_tokens: 9, after_tokens: 7, spent };
    journal.compacted(compaction).await.unwrap();
    journal.append(&next, None).await.unwrap();
    let transcript = bench.store.load(id).unwrap();
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
    assert!(bench.store.open_agent(id, agent).is_err(), "its file has one writer");
    drop(child_journal);
    let opened = bench.store.open_agent(id, agent).unwrap();
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
