use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use serde_json::json;

use super::find::{FindError, IdMatch};
use super::*;
use crate::protocol::{
    AgentPath, AgentReport, ChildMeta, Compaction, ContentBlock, Cost, EventKind, Message,
    RequestCost, ResultBlock, ShellId, ShellRun, SpendingJournal, ToolDetails, ToolUseId,
    TranscriptEntry, Usage, remark,
};
use crate::session::{AgentCallResult, SessionPreview};

mod prune;
mod shells;
mod sub_agents;
mod summary;

struct StoreFixture {
    dir: tempfile::TempDir,
    store: SessionStore,
}

impl StoreFixture {
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
        NewSession {
            id,
            cwd,
            model: "m".to_owned(),
            provider: "p".to_owned(),
            agent_tool: None,
            branch: None,
        }
    }

    fn file(&self, id: SessionId) -> PathBuf {
        transcript_file(&self.store.dir(id))
    }
}

fn call(id: &str) -> Message {
    Message::assistant(vec![ContentBlock::ToolUse {
        id: ToolUseId::new(id),
        name: "AgentTool".to_owned(),
        input: Box::new(json!({"prompt": "look"})),
        malformed: None,
    }])
}

fn result(id: &str, text: &str, is_error: bool) -> Message {
    Message::user(vec![ContentBlock::result(
        ToolUseId::new(id),
        vec![ResultBlock::text(text)],
        is_error,
    )])
}

fn child(id: AgentId, call: &str) -> ChildMeta {
    ChildMeta::for_test(id, ToolUseId::new(call))
}

/// Formats an end for these tests.
fn worded(agent: &AgentSummary) -> Option<AgentCallResult> {
    let RunOutcome { end, text, .. } = agent.end.as_ref()?;
    let report = AgentReport {
        agent_id: agent.meta.id,
        name: agent.meta.name.clone(),
        number: 0,
        status: end.clone(),
        turns: 1,
        tool_uses: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        duration_ms: 1,
        shown: 0,
        total: 0,
        with_parent: false,
    };
    let is_error = *end != RunEnd::Completed;
    let text = if is_error { format!("{} was interrupted", agent.meta.id) } else { text.clone() };
    Some(AgentCallResult { text, is_error, details: ToolDetails::Agent(Box::new(report)) })
}

fn outcome() -> RunOutcome {
    RunOutcome {
        end: RunEnd::Completed,
        api_error: None,
        rejected: false,
        text: "done".to_owned(),
        turns: 1,
        tool_uses: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        took: Duration::from_secs(1),
    }
}

fn spent(output_tokens: u64, usd: f64) -> RequestCost<'static> {
    let usage = Usage { output_tokens, ..Usage::default() };
    RequestCost { usage, cost: Cost::known(usd), model: "m", agent: None }
}

impl StoreFixture {
    fn load(&self, id: SessionId) -> Transcript {
        self.store.load(id, &worded).unwrap()
    }

    fn load_agent(&self, id: SessionId, agent: AgentId) -> Transcript {
        self.store.load_agent(id, agent, &worded).unwrap()
    }

    fn open(&self, id: SessionId) -> OpenSession {
        self.store.open(id, &worded).unwrap()
    }
}

fn said(text: &str) -> Message {
    Message::assistant(vec![ContentBlock::text(text)])
}

#[tokio::test]
async fn what_is_written_is_read_again_and_nothing_is_there_before_the_first_message() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.finish(&outcome()).await.unwrap();
    assert!(!bench.dir.path().join("sessions").exists());
    let usage = Usage { output_tokens: 7, ..Usage::default() };
    let spent = RequestCost { usage, cost: Cost::known(0.5), model: "m", agent: None };
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
async fn a_list_has_the_last_answer_and_the_cost_of_what_is_small_enough() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let usage = Usage { output_tokens: 7, ..Usage::default() };
    let spent = RequestCost { usage, cost: Cost::known(0.5), model: "m", agent: None };
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&said("first"), Some("m")).await.unwrap();
    journal.spent(spent).await.unwrap();
    journal.append(&said("**last**"), Some("m")).await.unwrap();
    journal.append(&call("c1"), Some("m")).await.unwrap();
    journal.append(&result("c1", "found", false), None).await.unwrap();
    journal.finish(&outcome()).await.unwrap();
    let size = fs::metadata(bench.file(id)).unwrap().len();
    let previews = bench.store.previews(&[id, id], size + 1);
    assert_eq!(
        previews[0],
        SessionPreview { answer: "**last**".to_owned(), cost: Some(spent.cost) }
    );
    assert_eq!((previews[1].answer.as_str(), previews[1].cost), ("**last**", None));
}

#[tokio::test]
async fn the_last_answer_is_found_above_turns_that_were_stopped() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&said("answer"), Some("m")).await.unwrap();
    for _ in 0..10 {
        journal.append(&Message::user_text("more"), None).await.unwrap();
        journal.finish(&outcome()).await.unwrap();
    }
    assert_eq!(bench.store.previews(&[id], 1 << 20)[0].answer, "answer");
}

#[tokio::test]
async fn a_request_under_way_when_the_program_was_killed_is_booked_once() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let file = bench.file(id).with_extension("request");
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.begun(spent(1, 0.25)).await.unwrap();
    let begun = fs::read(&file).unwrap();
    journal.spent(spent(2, 0.5)).await.unwrap();
    assert!(!file.exists());
    drop(journal);
    // The kill came between the line in the transcript and the removal of this file.
    fs::write(&file, &begun).unwrap();
    let opened = bench.open(id);
    assert_eq!((opened.transcript.cost.usd, file.exists()), (0.5, false));
    // The next request is another attempt.
    opened.journal.begun(spent(1, 0.25)).await.unwrap();
    drop(opened);
    assert_eq!(bench.open(id).transcript.cost.usd, 0.75);
    // An earlier version did not name attempts.
    let mut old: serde_json::Value = serde_json::from_slice(&begun).unwrap();
    assert!(old.as_object_mut().unwrap().remove("attempt").is_some());
    fs::write(&file, old.to_string()).unwrap();
    assert_eq!((bench.open(id).transcript.cost.usd, file.exists()), (1.0, false));
}

#[tokio::test]
async fn the_last_note_of_a_request_under_way_counts() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.begun(spent(1, 0.25)).await.unwrap();
    journal.begun(spent(9, 0.5)).await.unwrap();
    drop(journal);
    let transcript = bench.open(id).transcript;
    assert_eq!((transcript.usage.output_tokens, transcript.cost.usd), (9, 0.5));
}

#[tokio::test]
async fn a_crash_at_any_point_leaves_a_session_that_can_go_on() {
    let bench = StoreFixture::new();
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
async fn lines_of_other_versions_and_broken_lines_are_passed_over() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    drop(journal);
    let mut file = fs::OpenOptions::new().append(true).open(bench.file(id)).unwrap();
    file.write_all(b"{\"type\":\"from_the_future\",\"x\":1}\n{broken}\n\n").unwrap();
    let opened = bench.open(id);
    assert_eq!(opened.transcript.messages, [Message::user_text("go")]);
    assert_eq!(opened.transcript.warnings.len(), 1);
    assert!(opened.transcript.warnings[0].starts_with("line 4 skipped"));
    assert_eq!(bench.store.list()[0].messages, 1);
    let old = json!({
        "id": AgentId::generate(), "path": [], "agent": "a", "name": "a-1", "description": "",
        "tool_use_id": "c", "model": "m",
    });
    assert_eq!(serde_json::from_value::<ChildMeta>(old).unwrap().depth, 0);
}

#[tokio::test]
async fn a_full_disk_is_an_error_that_names_the_file_and_the_way_out() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    fs::create_dir_all(bench.store.dir(id)).unwrap();
    symlink("/dev/full", bench.file(id)).unwrap();
    drop(journal);
    let journal = bench.store.create(bench.session(id)).unwrap();
    let error = journal.append(&Message::user_text("go"), None).await.unwrap_err().to_string();
    assert!(error.contains("transcript.jsonl") && error.contains("free some space"), "{error}");
}

#[tokio::test]
async fn a_run_that_was_cut_off_ended_with_the_last_that_was_stored() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let below = AgentId::generate();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), Some("m")).await.unwrap();
    let agent = journal.child(child(below, "c1"));
    agent.append(&Message::user_text("look"), None).await.unwrap();
    agent.append(&Message::assistant(vec![ContentBlock::text("hm")]), None).await.unwrap();
    drop((journal, agent));
    // All of it is an hour old.
    let aged = |path: &Path| {
        let hour = jiff::SignedDuration::from_hours(1);
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            for key in ["at", "created"] {
                if let Some(at) = line.get_mut(key) {
                    let then: Timestamp = at.as_str().unwrap().parse().unwrap();
                    *at = json!(then - hour);
                }
            }
            format!("{line}\n")
        });
        let text = lines.collect::<String>();
        fs::write(path, text).unwrap();
    };
    aged(&bench.file(id));
    aged(&agent_file(&bench.store.dir(id), below, "jsonl"));
    let ended = |session: &OpenSession| {
        let ends = session
            .history
            .iter()
            .filter(|event| event.path.is_root() && matches!(event.kind, EventKind::Finished(_)));
        let result = session.history.iter().position(|event| {
            event.path.is_root() && matches!(event.kind, EventKind::ToolFinished { .. })
        });
        let end_of_agent = session.history.iter().position(|event| {
            !event.path.is_root() && matches!(event.kind, EventKind::Finished(_))
        });
        assert!(end_of_agent < result, "a result follows the end of its agent");
        ends.map(|event| Timestamp::now().duration_since(event.at)).collect::<Vec<_>>()
    };
    for time in 0..2 {
        let session = bench.open(id);
        let ages = ended(&session);
        assert_eq!(ages.len(), 1);
        assert!(ages[0].as_mins() >= 59, "{time}: {ages:?}");
        drop(session);
    }
    let session = bench.open(id);
    session.journal.append(&Message::user_text("again"), None).await.unwrap();
    drop(session);
    let ages = ended(&bench.open(id));
    assert!(ages.len() == 2 && ages[0].as_mins() >= 59, "{ages:?}");
}

#[tokio::test]
async fn only_one_process_at_a_time_writes_to_a_session() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    let error = bench.store.open(id, &worded).err().unwrap().to_string();
    assert!(
        error.contains("is open in another caliban") && error.contains("--fork-session"),
        "{error}"
    );
    assert!(matches!(bench.store.check_unused(id), Err(StoreError::InUse(_))));
    assert!(bench.store.remove(id).is_err());
    assert!(matches!(bench.store.create(bench.session(id)), Err(StoreError::Exists(_))));
    drop(journal);
    bench.store.check_unused(id).unwrap();
    bench.open(id);
    bench.store.remove(id).unwrap();
    assert!(matches!(bench.store.open(id, &worded), Err(StoreError::Read { .. })));
}

#[tokio::test]
async fn a_history_has_no_remarks_of_the_program_for_the_model() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let asides = [remark::STOPPED_NOTICE, "a hook has said this"].map(ContentBlock::aside);
    let prompt = asides.into_iter().chain([ContentBlock::text("go on")]).collect();
    journal.append(&Message::user(prompt), None).await.unwrap();
    drop(journal);
    let told = bench.open(id).history.into_iter().filter_map(|event| match event.kind {
        EventKind::Aside { text } => Some(text),
        EventKind::PromptRead { text, .. } => Some(text.to_string()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), ["a hook has said this", "go on"]);
}

#[tokio::test]
async fn a_command_of_the_user_stands_where_it_began() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&said("well"), Some("m")).await.unwrap();
    let began = Some(Timestamp::now());
    journal.finish(&outcome()).await.unwrap();
    let run = ShellRun { line: "echo hi".to_owned(), status: String::new(), began };
    let blocks = vec![ContentBlock::shell_run(run, "hi"), ContentBlock::text("more")];
    journal.append(&Message::user(blocks), None).await.unwrap();
    drop(journal);
    let order = bench.open(id).history.into_iter().filter_map(|event| match event.kind {
        EventKind::PromptRead { text, .. } => Some(text.to_string()),
        EventKind::ShellFinished { line, text, .. } => Some(format!("! {line}: {text}")),
        EventKind::Finished(outcome) if outcome.end == RunEnd::Completed => Some("end".to_owned()),
        _ => None,
    });
    assert_eq!(order.collect::<Vec<_>>(), ["go", "! echo hi: hi", "end", "more"]);
}

#[tokio::test]
async fn a_fork_begins_with_the_history_and_leaves_the_original_alone() {
    let bench = StoreFixture::new();
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
async fn a_copy_counts_the_agents_whose_results_it_has() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), None).await.unwrap();
    let agent = AgentId::generate();
    let below = journal.child(child(agent, "c1"));
    below.append(&Message::user_text("look"), None).await.unwrap();
    let summary = AgentSummary { end: Some(outcome()), ..bench.store.agents(id).remove(0) };
    let mut message = result("c1", "done", false);
    let told = worded(&summary).unwrap();
    if let [ContentBlock::ToolResult { details, .. }] = &mut message.content[..] {
        *details = Some(Box::new(told.details));
    }
    journal.append(&message, None).await.unwrap();
    let copy = SessionId::generate();
    let opened = bench.store.fork(id, bench.session(copy), &worded).unwrap();
    opened.journal.append(&Message::user_text("on"), None).await.unwrap();
    let agents = |id| list::summarize_session(&bench.store.dir(id)).unwrap().agents;
    assert_eq!((agents(id), agents(copy)), (1, 1));
}

#[tokio::test]
async fn sessions_are_found_by_prefix_and_by_directory() {
    let bench = StoreFixture::new();
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
    bench.store.rename(first, "Slow login").unwrap();
    assert_eq!(bench.store.find("slow LOGIN").unwrap(), first);
    bench.store.rename(second, "slow login").unwrap();
    assert_eq!(bench.store.named(" Slow  login "), bench.store.ids());
    assert!(matches!(bench.store.find("slow login"), Err(FindError::Named { count: 2, .. })));
    let newer = std::time::SystemTime::now() + Duration::from_secs(60);
    fs::OpenOptions::new()
        .append(true)
        .open(bench.file(first))
        .unwrap()
        .set_modified(newer)
        .unwrap();
    assert_eq!(bench.store.latest_in(here), Some(first));
    assert_eq!(bench.store.latest_in(Path::new("/")), None);
    let list = bench.store.list();
    assert_eq!((list[0].id, list[1].id, list.len()), (second, first, 2));
    assert!(list[1].first_prompt.starts_with("find the bug bug"));
    assert_eq!(list[1].first_prompt.chars().count(), 200);
    assert_eq!((list[1].messages, list[1].agents), (1, 0));
}

#[tokio::test]
async fn a_session_in_a_directory_that_is_not_utf_8_is_stored_and_found() {
    use std::os::unix::ffi::OsStrExt as _;
    let bench = StoreFixture::new();
    let cwd = bench.dir.path().join(std::ffi::OsStr::from_bytes(b"a\xffb"));
    let id = SessionId::generate();
    let journal = bench.store.create(NewSession { cwd: cwd.clone(), ..bench.session(id) }).unwrap();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    assert_eq!(bench.store.latest_in(&cwd), Some(id));
    assert_eq!(bench.store.latest_in(bench.dir.path()), None);
    serde_json::to_value(bench.store.list()).unwrap();
}
