//! Files of sub-agents: their ends, their open calls and what they cost.

use super::*;

#[tokio::test]
async fn sub_agents_have_files_of_their_own() {
    let bench = StoreFixture::new();
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

/// Stores a session in which main waits for an agent that has spent $0.10 and is in a call.
pub(super) async fn agent_in_a_call(
    bench: &StoreFixture,
) -> (SessionId, AgentId, Arc<dyn Journal>, Arc<dyn Journal>) {
    let (id, journal) = bench.create();
    let agent = AgentId::generate();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), None).await.unwrap();
    let own = journal.child(child(agent, "c1"));
    own.append(&Message::user_text("look"), None).await.unwrap();
    own.spent(spent(1, 0.1)).await.unwrap();
    own.append(&call("d1"), Some("m")).await.unwrap();
    (id, agent, journal, own)
}

#[tokio::test]
async fn resuming_closes_open_calls_and_ends_cut_off_sub_agents_once() {
    let bench = StoreFixture::new();
    let (id, agent, journal, below) = agent_in_a_call(&bench).await;
    drop((journal, below));
    let untouched = bench.load(id);
    assert_eq!(bench.store.agents(id)[0].end, None);
    let opened = bench.open(id);
    assert_eq!(opened.transcript.messages.len(), untouched.messages.len());
    let text = format!("{:?}", opened.transcript.messages.last().unwrap());
    assert!(text.contains(&format!("{agent} was interrupted")), "{text}");
    let end = opened.agents[0].end.clone().unwrap();
    assert_eq!((end.end, end.turns, end.cost), (RunEnd::Interrupted, 1, Cost::known(0.1)));
    drop(opened);
    let before = fs::read(bench.file(id)).unwrap();
    let again = bench.open(id);
    assert_eq!((again.transcript.missing, again.transcript.warnings), (None, vec![]));
    assert_eq!(fs::read(bench.file(id)).unwrap(), before);
    let below = bench.load_agent(id, agent);
    assert_eq!((below.messages.len(), below.missing), (3, None));
}

#[tokio::test]
async fn a_sub_agent_goes_on_in_its_file_with_its_open_calls_closed_and_is_found_by_its_id() {
    let bench = StoreFixture::new();
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
    assert_eq!(found, Ok(IdMatch::Agent { session: id, agent }));
    assert_eq!(bench.store.find_any(&id.to_string()), Ok(IdMatch::Session(id)));
}

#[tokio::test]
async fn results_that_came_before_a_kill_stay_and_a_sub_agents_own_end_is_its_result() {
    let bench = StoreFixture::new();
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
    let on_screen = match &results[0] {
        ContentBlock::ToolResult { summary, .. } => summary,
        other => panic!("{other:?}"),
    };
    assert_eq!(on_screen, "interrupted");
    let shown = results.iter().map(|block| match block {
        ContentBlock::ToolResult { content, is_error, .. } => match &content[0] {
            ResultBlock::Text { text } => (text.clone(), *is_error),
            other => panic!("{other:?}"),
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
    let bench = StoreFixture::new();
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
        let report = ContentBlock::Text {
            text: "it is done".into(),
            aside: false,
            report: Some(agent),
            summary: false,
            shell: None,
        };
        journal.append(&Message::user(vec![report]), None).await.unwrap();
    };
    let lost = || {
        let agents = bench.store.agents(id);
        let lost = lost_reports(&bench.store.dir(id), &agents, &AgentPath::root(), &bench.load(id));
        lost.into_iter().map(|lost| lost.id).collect::<Vec<_>>()
    };
    end("look").await;
    assert_eq!(lost(), [agent]);
    read().await;
    assert_eq!(lost(), []);
    // Resumed, and ended again.
    end("go on").await;
    assert_eq!(lost(), [agent]);
    read().await;
    assert_eq!(lost(), []);
}

#[tokio::test]
async fn every_dollar_counts_whatever_became_of_the_request_and_of_the_agent() {
    let bench = StoreFixture::new();
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
    assert_eq!((end.end, end.cost.usd), (RunEnd::Interrupted, 28.0), "with those below it");
}

#[tokio::test]
async fn a_cost_that_is_booked_behind_an_end_does_not_hide_it() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let agent = AgentId::generate();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), None).await.unwrap();
    let own = journal.child(child(agent, "c1"));
    own.append(&Message::user_text("look"), None).await.unwrap();
    own.begun(spent(1, 0.25)).await.unwrap();
    own.append(&said("done"), None).await.unwrap();
    own.finish(&outcome()).await.unwrap();
    let ended = bench.store.agents(id).remove(0);
    assert_eq!(ended.end, Some(outcome()));
    drop((own, journal));
    let OpenSession { history, agents, spent_by_agents: (_, cost), .. } = bench.open(id);
    assert_eq!((&agents[0].end, agents[0].last), (&ended.end, ended.last));
    assert_eq!(cost.usd, 0.25, "it was booked");
    let told = told(&history, agent);
    assert_eq!(told[told.len() - 2..], ["finished: Completed", "$0.25"]);
}

/// Formats the events that these tests check, by agent.
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
    let bench = StoreFixture::new();
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
            RunEnd::Completed
        } else {
            RunEnd::Cancelled { before_start: true }
        };
        let outcome = RunOutcome { end, ..outcome() };
        let summary = AgentSummary {
            meta: child(agent, "c"),
            version: VERSION,
            started: Timestamp::now(),
            last: Timestamp::now(),
            end: Some(outcome),
            messages: 1,
        };
        let AgentCallResult { text, is_error, details } = worded(&summary).unwrap();
        (vec![ResultBlock::text(text)], is_error, Some(Box::new(details)))
    });
    let [first, last] = results;
    let content = [("c1", first), ("c2", (Vec::new(), false, None)), ("c3", last)].map(
        |(id, (content, is_error, details))| ContentBlock::ToolResult {
            tool_use_id: ToolUseId::new(id),
            content,
            is_error,
            call: String::new(),
            summary: String::new(),
            details,
        },
    );
    journal.append(&Message::user(content.into()), None).await.unwrap();
    // One continues, in the background by then.
    let again = bench.store.open_agent(id, waited_for, &worded).unwrap();
    again.journal.append(&Message::user_text("go on"), None).await.unwrap();
    again.journal.spent(spent(2, 2.0)).await.unwrap();
    drop((again, journal));
    let OpenSession { history, spent_by_agents: (_, cost), .. } = bench.open(id);
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
    let starts = history
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Started(_) | EventKind::Reported { .. }));
    let started: Vec<_> = starts.filter_map(|event| event.path.id()).take(3).collect();
    assert_eq!(started, [waited_for, moved, never_began], "in the order of the calls");
    assert_eq!(cost.usd, 4.0);
    let times: Vec<_> = history.iter().map(|event| event.at).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(bench.open(id).history.len(), history.len(), "a second resume tells the same");
}

#[tokio::test]
async fn a_history_has_the_worktree_of_an_agent_and_whether_it_is_gone() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), Some("m")).await.unwrap();
    let agent = AgentId::generate();
    let path = bench.dir.path().join("tree");
    let info = WorktreeInfo { path: path.clone(), branch: "b".to_owned(), start: "c".to_owned() };
    let own = journal.child(child(agent, "c1"));
    own.works_in(&info).await;
    own.append(&Message::user_text("look"), None).await.unwrap();
    own.finish(&outcome()).await.unwrap();
    drop((own, journal));
    let worktrees = |history: &[AgentEvent]| {
        let kinds = history.iter().map(|event| &event.kind);
        let kinds = kinds.filter_map(|kind| match kind {
            EventKind::WorktreeEntered(worktree) => Some(Some(worktree.path.clone())),
            EventKind::WorktreeRemoved => Some(None),
            _ => None,
        });
        kinds.collect::<Vec<_>>()
    };
    fs::create_dir(&path).unwrap();
    assert_eq!(worktrees(&bench.open(id).history), [Some(path.clone())]);
    let so_far = bench.store.events_so_far(id).unwrap();
    fs::remove_dir(&path).unwrap();
    assert_eq!(worktrees(&bench.open(id).history), [Some(path), None]);
    let counts = |files: &[Vec<AgentEvent>]| files.iter().map(Vec::len).collect::<Vec<_>>();
    let later = bench.store.events_so_far(id).unwrap();
    assert_eq!(counts(&later), counts(&so_far), "a list only grows with its file");
}

#[tokio::test]
async fn what_another_program_works_on_is_not_interrupted_for_who_reads_or_copies_it() {
    let bench = StoreFixture::new();
    let (id, agent, journal, own) = agent_in_a_call(&bench).await;
    let ends = || {
        let (_, events) = bench.store.replay_agent(id, agent, &worded).unwrap();
        events.iter().filter(|kind| matches!(kind, EventKind::ToolFinished { .. })).count()
    };
    assert_eq!(ends(), 0, "its call goes on");
    let copied = || {
        let copy = bench.store.fork(id, bench.session(SessionId::generate()), &worded).unwrap();
        let ContentBlock::ToolResult { content, summary, .. } =
            copy.transcript.messages.last().unwrap().content[0].clone()
        else {
            panic!()
        };
        (format!("{content:?}"), summary)
    };
    let (text, summary) = copied();
    assert!(text.contains("goes on in the session that was copied"), "{text}");
    assert_eq!(summary, "at work in the original");
    drop((journal, own));
    assert_eq!(ends(), 1);
    let (text, _) = copied();
    assert!(text.contains(&format!("{agent} was interrupted")), "as after a resume: {text}");
}

#[tokio::test]
async fn an_agent_that_never_began_keeps_its_place_among_those_that_did() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let [never_began, second] = [(); 2].map(|()| AgentId::generate());
    let mut calls = call("c1");
    calls.content.extend(call("c2").content);
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&calls, Some("m")).await.unwrap();
    let own = journal.child(ChildMeta { background: Some(false), ..child(second, "c2") });
    own.append(&Message::user_text("look"), None).await.unwrap();
    own.finish(&outcome()).await.unwrap();
    let end = RunEnd::Cancelled { before_start: true };
    let summary = AgentSummary {
        meta: child(never_began, "c1"),
        version: VERSION,
        started: Timestamp::now(),
        last: Timestamp::now(),
        end: Some(RunOutcome { end, ..outcome() }),
        messages: 1,
    };
    let AgentCallResult { text, is_error, details } = worded(&summary).unwrap();
    let result = |id: &str, content, details| ContentBlock::ToolResult {
        tool_use_id: ToolUseId::new(id),
        content,
        is_error,
        call: String::new(),
        summary: String::new(),
        details,
    };
    let first = result("c1", vec![ResultBlock::text(text)], Some(details.into()));
    let content = vec![first, result("c2", Vec::new(), None)];
    journal.append(&Message::user(content), None).await.unwrap();
    drop((own, journal));
    let history = bench.open(id).history;
    let starts = history
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Started(_) | EventKind::Reported { .. }));
    let started: Vec<_> = starts.filter_map(|event| event.path.id()).collect();
    assert_eq!(started, [never_began, second]);
}

#[tokio::test]
async fn a_history_has_the_numbers_of_agents_their_changed_lines_and_the_output_of_commands() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let agent = AgentId::generate();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), Some("m")).await.unwrap();
    let own = journal.child(ChildMeta { number: 7, ..child(agent, "c1") });
    own.append(&Message::user_text("look"), None).await.unwrap();
    own.append(&call("d1"), Some("m")).await.unwrap();
    let details = ToolDetails::Diff {
        path: "docs/new.md".into(),
        diff: "@@ -0,0 +1,3 @@".to_owned(),
        added: 3,
        removed: 0,
    };
    let result = ContentBlock::ToolResult {
        tool_use_id: ToolUseId::new("d1"),
        content: vec![ResultBlock::text("written")],
        is_error: false,
        call: "docs/new.md".to_owned(),
        summary: "+3".to_owned(),
        details: Some(Box::new(details)),
    };
    own.append(&Message::user(vec![result]), None).await.unwrap();
    let details = ToolDetails::Command { exit_code: Some(0), cwd: "docs".into() };
    let output = |id: &str, text: &str, details| ContentBlock::ToolResult {
        tool_use_id: ToolUseId::new(id),
        content: vec![ResultBlock::text(text)],
        is_error: false,
        call: String::new(),
        summary: String::new(),
        details,
    };
    let results = vec![
        output("d2", "7 passed, 0 failed", Some(Box::new(details))),
        output("d3", "a whole file", None),
    ];
    own.append(&Message::user(results), None).await.unwrap();
    own.finish(&outcome()).await.unwrap();
    drop((own, journal));
    let history = bench.open(id).history;
    let of_agent = history.iter().filter(|event| event.path.id() == Some(agent));
    let (mut seen, mut printed) = ((0, Vec::new()), Vec::new());
    for event in of_agent {
        match &event.kind {
            EventKind::Started(info) => seen.0 = info.number,
            EventKind::ToolFinished {
                details: Some(ToolDetails::Diff { path, added, removed, .. }),
                ..
            } => seen.1.push((path.clone(), *added, *removed)),
            EventKind::ToolFinished { content, .. } => {
                printed.push(ResultBlock::joined_text(content));
            }
            _ => {}
        }
    }
    assert_eq!(seen, (7, vec![("docs/new.md".into(), 3, 0)]));
    assert_eq!(printed, ["7 passed, 0 failed"]);
}

#[tokio::test]
async fn an_agent_killed_during_a_call_has_not_asked_its_model_again() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    let [in_call, asking] = [(); 2].map(|()| AgentId::generate());
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), Some("m")).await.unwrap();
    for agent in [in_call, asking] {
        let own = journal.child(child(agent, "c1"));
        own.append(&Message::user_text("look"), None).await.unwrap();
        own.append(&call("d1"), Some("m")).await.unwrap();
        if agent == asking {
            own.append(&result("d1", "here", false), None).await.unwrap();
        }
    }
    drop(journal);
    let history = bench.open(id).history;
    let last_turn = |agent| {
        let told = told(&history, agent).into_iter();
        told.rev().find(|told| told.starts_with("turn")).unwrap()
    };
    assert_eq!([in_call, asking].map(last_turn), ["turn 1", "turn 2"]);
}

/// Returns how often this thread has read from files.
#[cfg(target_os = "linux")]
fn read_count() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let reads = counters.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
    reads.parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn resuming_reads_ten_times_as_much_after_ten_times_as_many_agents_were_cut_off() {
    let reads = async |agents: usize| {
        let bench = StoreFixture::new();
        let (id, journal) = bench.create();
        journal.append(&Message::user_text("go"), None).await.unwrap();
        let mut path = AgentPath::root();
        for number in 0..agents {
            let agent = AgentId::generate();
            // Each has one agent below it.
            path = if number % 2 == 0 { AgentPath::root() } else { path }.child(agent);
            let meta = ChildMeta { path: path.clone(), ..child(agent, "c1") };
            let journal = journal.child(meta);
            journal.append(&Message::user_text("look"), None).await.unwrap();
        }
        drop(journal);
        let before = read_count();
        let opened = bench.open(id);
        let reads = read_count() - before;
        assert_eq!(opened.agents, bench.store.agents(id));
        let is_interrupted = |agent: &AgentSummary| {
            agent.end.as_ref().is_some_and(|outcome| outcome.end == RunEnd::Interrupted)
        };
        assert!(opened.agents.iter().all(is_interrupted));
        reads
    };
    let (few, many) = (reads(10).await, reads(100).await);
    assert!(many < 12 * few, "{few} reads, then {many}");
}

#[tokio::test]
async fn a_copy_of_a_killed_session_has_the_last_requests_figures_and_the_agents_turns() {
    let bench = StoreFixture::new();
    let (id, journal) = bench.create();
    journal.append(&Message::user_text("go"), None).await.unwrap();
    journal.append(&call("c1"), None).await.unwrap();
    let below = journal.child(child(AgentId::generate(), "c1"));
    below.append(&Message::user_text("look"), None).await.unwrap();
    journal.begun(spent(9, 0.5)).await.unwrap();
    drop((journal, below));
    let copied = bench.store.fork(id, bench.session(SessionId::generate()), &worded).unwrap();
    let tokens = copied.history.iter().find_map(|event| match &event.kind {
        EventKind::TurnFinished { usage, .. } => Some(usage.output_tokens),
        _ => None,
    });
    assert_eq!(tokens, Some(9), "{:#?}", copied.history);
    let reported = copied.history.iter().find_map(|event| match &event.kind {
        EventKind::Reported { outcome, .. } => Some((outcome.end.clone(), outcome.turns)),
        _ => None,
    });
    assert_eq!(reported, Some((RunEnd::Interrupted, 1)), "{:#?}", copied.history);
    let end = bench.open(id).agents[0].end.clone().unwrap();
    assert_eq!((end.end, end.turns), (RunEnd::Interrupted, 1));
}
