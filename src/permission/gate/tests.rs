use std::fs;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::agent::{AgentGate, GateDecision};
use super::*;
use crate::permission::agent_permissions::{InheritedPermissions, ModePolicy};
use crate::permission::call::HookAdvice;
use crate::permission::question::Approval;
use crate::permission::rule::{RuleBase, RuleList};
use crate::protocol::{
    Access, AgentEvent, AgentId, EnvOverlay, EventKind, EventQueue, Question, RuleFile, ToolUseId,
};

mod links;
mod own_checkout;
mod rules;

struct GateFixture {
    dir: tempfile::TempDir,
    queue: EventQueue,
    gate: Gate,
}

impl GateFixture {
    fn new(interactive: bool) -> Self {
        Self::with_source(interactive, None)
    }

    fn with_source(interactive: bool, source: Option<Box<dyn RuleSource>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project_dir = fs::canonicalize(dir.path()).unwrap();
        let settings = GateSettings {
            mode: PermissionMode::Default,
            rules: RuleSet::default(),
            dirs: vec![project_dir.clone()],
            home: None,
            interactive,
            project_dir,
            project_roots: Vec::new(),
            protected: Vec::new(),
            env: EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]),
            has_sandbox: true,
            bash: None,
            bypass_disabled: false,
        };
        let gate = match source {
            Some(source) => Gate::with_source(settings, source),
            None => Gate::new(settings),
        };
        Self { dir, queue: EventQueue::unbounded(), gate }
    }

    fn agent(&self, name: &str) -> AgentGate {
        self.gate.for_agent(name.to_owned(), self.queue.sink().child(AgentId::generate()))
    }

    /// Starts a call, and waits until it has asked.
    async fn ask(&self, agent: &AgentGate, line: &str) -> OpenDecision {
        let cancel = CancellationToken::new();
        let (agent, token, line) = (agent.clone(), cancel.clone(), line.to_owned());
        let cwd = self.gate.0.places.project.clone();
        let verdict = tokio::spawn(async move { run(&agent, &line, &cwd, &token).await });
        let question = self.next_question().await;
        OpenDecision { question, verdict, cancel }
    }

    async fn next_question(&self) -> Question {
        match self.next().await.kind {
            EventKind::PermissionAsked(question) => *question,
            other => panic!("not a question: {other:?}"),
        }
    }

    async fn next(&self) -> AgentEvent {
        let mut events = Vec::new();
        self.queue.drain(&mut events, 1).await;
        events.remove(0)
    }

    async fn closed(&self) -> (QuestionId, Option<bool>) {
        loop {
            if let EventKind::QuestionClosed { id, allowed } = self.next().await.kind {
                return (id, allowed);
            }
        }
    }

    /// Asks about a call, and approves it.
    async fn approved(&self, agent: &AgentGate, line: &str, answer: Answer) -> Approval {
        let open = self.ask(agent, line).await;
        assert!(self.gate.answer(open.question.id, answer).unwrap());
        self.closed().await;
        match open.verdict.await.unwrap() {
            Verdict::Approved(approval) => approval,
            other => panic!("{other:?}"),
        }
    }

    /// Adds a rule for the whole tree.
    fn rule(&self, text: &str, list: RuleList) {
        let base = RuleBase { project: &self.gate.0.places.project, home: None };
        let rule = Rule::parse(text, list, RuleOrigin::Session, base).unwrap();
        let mut state = self.gate.0.lock();
        let rules = Arc::make_mut(&mut state.rules);
        match list {
            RuleList::Allow => rules.allow.push(rule),
            RuleList::Ask => rules.ask.push(rule),
            RuleList::Deny => rules.deny.push(rule),
        }
        state.revision += 1;
    }

    async fn now(&self, agent: &AgentGate, line: &str) -> Verdict {
        let cwd = self.gate.0.places.project.clone();
        run(agent, line, &cwd, &CancellationToken::new()).await
    }
}

struct OpenDecision {
    question: Question,
    verdict: tokio::task::JoinHandle<Verdict>,
    cancel: CancellationToken,
}

async fn run(agent: &AgentGate, line: &str, cwd: &Path, cancel: &CancellationToken) -> Verdict {
    let (id, input) = (ToolUseId::new("c1"), json!({"command": line}));
    let access = Access::Command { line: line.to_owned(), cwd: cwd.to_owned() };
    let call = Call {
        id: &id,
        tool: "Bash",
        input: &input,
        access: &access,
        cwd,
        advice: HookAdvice::None,
    };
    decide(agent, &call, || None, cancel).await
}

/// Decides on a call, and asks the user with this preview if needed.
async fn decide(
    agent: &AgentGate,
    call: &Call<'_>,
    preview: impl FnOnce() -> Option<String>,
    cancel: &CancellationToken,
) -> Verdict {
    match agent.decide(call) {
        GateDecision::Allow(_) => Verdict::Allowed,
        GateDecision::Deny(denial) => Verdict::Denied(denial),
        GateDecision::Ask(_) => agent.ask(call, preview(), cancel).await,
    }
}

/// Calls `act` with a command, as the gate gets it.
fn with_call<T>(line: &str, cwd: &Path, act: impl FnOnce(&Call<'_>) -> T) -> T {
    let (id, input) = (ToolUseId::new("c1"), json!({"command": line}));
    let access = Access::Command { line: line.to_owned(), cwd: cwd.to_owned() };
    act(&Call {
        id: &id,
        tool: "Bash",
        input: &input,
        access: &access,
        cwd,
        advice: HookAdvice::None,
    })
}

#[track_caller]
fn assert_approved(verdict: &Verdict) {
    assert!(matches!(verdict, Verdict::Approved(_)), "{verdict:?}");
}

fn denied(verdict: Verdict) -> String {
    match verdict {
        Verdict::Denied(denial) => denial.to_string(),
        allowed => panic!("{allowed:?}"),
    }
}

#[tokio::test]
async fn two_agents_ask_at_once_and_each_gets_its_own_answer() {
    let bench = GateFixture::new(true);
    let first = bench.ask(&bench.agent("explore-1"), "psql a").await;
    let second = bench.ask(&bench.agent("explore-2"), "make b").await;
    assert_eq!((first.question.agent.as_str(), first.question.path.depth()), ("explore-1", 1));
    assert_eq!(second.question.rules, ["Bash(make b)"]);
    let no = Answer::No { reason: Some("not now".to_owned()) };
    assert!(bench.gate.answer(second.question.id, no.clone()).unwrap());
    assert_eq!(denied(second.verdict.await.unwrap()), "the user said no: not now");
    assert_eq!(bench.closed().await, (second.question.id, Some(false)));
    assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
    assert!(bench.gate.answer(first.question.id, Answer::Once).unwrap());
    assert_approved(&first.verdict.await.unwrap());
    assert_eq!(bench.closed().await, (first.question.id, Some(true)));
    assert!(!bench.gate.answer(first.question.id, no).unwrap());
}

#[tokio::test]
async fn a_cancelled_or_dropped_call_takes_its_question_along() {
    let bench = GateFixture::new(true);
    let cancelled = bench.ask(&bench.agent("a"), "psql").await;
    cancelled.cancel.cancel();
    assert_eq!(cancelled.verdict.await.unwrap(), Verdict::Cancelled);
    assert_eq!(bench.closed().await, (cancelled.question.id, None));
    assert!(!bench.gate.answer(cancelled.question.id, Answer::Once).unwrap());
    let dropped = bench.ask(&bench.agent("b"), "psql").await;
    dropped.verdict.abort();
    assert_eq!(bench.closed().await, (dropped.question.id, None));
    assert!(bench.gate.0.lock().waiting.is_empty());
}

#[tokio::test]
async fn a_grant_stays_with_its_agent_and_settles_what_that_agent_asks() {
    let bench = GateFixture::new(true);
    let (one, two) = (bench.agent("one"), bench.agent("two"));
    let open = bench.ask(&one, "pytest a").await;
    let same = bench.ask(&one, "pytest a -k").await;
    let other = bench.ask(&two, "pytest a -s").await;
    bench.gate.answer(open.question.id, Answer::Session).unwrap();
    assert_approved(&open.verdict.await.unwrap());
    assert_eq!(same.verdict.await.unwrap(), Verdict::Allowed);
    assert_eq!(bench.now(&one, "pytest a -n").await, Verdict::Allowed);
    assert!(!other.verdict.is_finished());
    assert!(bench.gate.answer(other.question.id, Answer::Once).unwrap());
}

#[tokio::test]
async fn a_program_allows_with_another_input_and_its_rules_count_all_or_none() {
    let bench = GateFixture::new(true);
    let agent = bench.agent("one");
    let file = bench.dir.path().join(".caliban/config.local.toml");
    let changed = json!({"command": "psql other"});
    let allowance = |session: &str, written: &str| {
        Answer::Allowed(Box::new(Allowance {
            input: Some(changed.clone()),
            session: vec![session.to_owned()],
            written: vec![(RuleFile::Local, vec![written.to_owned()])],
        }))
    };
    let bad = bench.ask(&agent, "psql a").await;
    let answer = allowance("Bash(psql:*)", "Bash(make");
    bench.gate.answer(bad.question.id, answer).unwrap_err();
    let verdict = bad.verdict.await.unwrap();
    let is_changed = |input: &Value| *input == changed;
    assert!(
        matches!(&verdict, Verdict::Changed { input, .. } if is_changed(input)),
        "the call itself was allowed: {verdict:?}"
    );
    assert!(!file.exists());
    bench.closed().await;
    let good = bench.ask(&agent, "psql other").await;
    bench.gate.answer(good.question.id, allowance("Bash(psql:*)", "Bash(make:*)")).unwrap();
    // The same input is no change.
    assert_approved(&good.verdict.await.unwrap());
    assert_eq!(bench.now(&agent, "psql b").await, Verdict::Allowed);
    assert_eq!(bench.now(&bench.agent("two"), "make b").await, Verdict::Allowed);
    assert!(fs::read_to_string(file).unwrap().contains("Bash(make:*)"));
}

#[tokio::test]
async fn what_is_denied_stays_denied_with_a_changed_input() {
    let bench = GateFixture::new(true);
    let agent = bench.agent("one");
    let cwd = bench.gate.0.places.project.clone();
    let origin = RuleOrigin::Session;
    let base = RuleBase { project: &cwd, home: None };
    let rule = Rule::parse("Bash(rm:*)", RuleList::Deny, origin, base).unwrap();
    Arc::make_mut(&mut bench.gate.0.lock().rules).deny.push(rule);
    let recheck = |line: &str| with_call(line, &cwd, |call| agent.decide(call));
    let GateDecision::Deny(denial) = recheck("rm -r x") else { panic!("not denied") };
    assert!(denial.to_string().contains("Bash(rm:*)"));
    assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
    let GateDecision::Ask(draft) = recheck("psql") else { panic!("not asked") };
    let approval = draft.approval();
    let confirm = |line: &str| with_call(line, &cwd, |call| agent.confirm(call, Some(&approval)));
    assert_eq!(confirm("psql"), Ok(None), "it was asked about already");
    confirm("make").unwrap_err();
    assert!(matches!(recheck("true"), GateDecision::Allow(_)), "nothing had to be asked");
}

#[tokio::test]
async fn an_approval_holds_until_the_call_runs_and_only_for_the_question_that_was_answered() {
    let bench = GateFixture::new(true);
    let agent = bench.agent("one");
    let cwd = bench.gate.0.places.project.clone();
    let confirm = |line: &str, approval: Option<&Approval>| {
        with_call(line, &cwd, |call| agent.confirm(call, approval))
    };
    assert!(confirm("true", None).unwrap().is_some(), "it only reads");
    let approval = bench.approved(&agent, "psql", Answer::Once).await;
    assert_eq!(confirm("psql", Some(&approval)), Ok(None));
    let why = confirm("psql", None).unwrap_err().to_string();
    assert!(why.contains("has changed since it was allowed"), "{why}");
    confirm("curl localhost", Some(&approval)).unwrap_err();
    bench.rule("Bash(psql:*)", RuleList::Ask);
    let why = confirm("psql", Some(&approval)).unwrap_err().to_string();
    assert!(why.contains("Bash(psql:*)") && why.contains("asks"), "a new reason: {why}");
    bench.rule("Bash(psql:*)", RuleList::Deny);
    let why = confirm("psql", Some(&approval)).unwrap_err().to_string();
    assert!(why.contains("Bash(psql:*)") && why.contains("denies"), "{why}");
}

#[tokio::test]
async fn an_approval_holds_when_rules_that_came_with_it_cover_a_part_of_the_call() {
    let bench = GateFixture::new(true);
    let agent = bench.agent("one");
    let cwd = bench.gate.0.places.project.clone();
    for (line, rule) in
        [("psql a && make b", "Bash(psql:*)"), ("git -c core.pager=x log", "Bash(git:*)")]
    {
        let session = vec![rule.to_owned()];
        let answer = Allowance { input: None, session, written: Vec::new() };
        let approval = bench.approved(&agent, line, Answer::Allowed(Box::new(answer))).await;
        let confirmed = with_call(line, &cwd, |call| agent.confirm(call, Some(&approval)));
        assert_eq!(confirmed, Ok(None), "{line}");
        with_call(line, &cwd, |call| agent.confirm(call, None)).unwrap_err();
        assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
    }
}

#[tokio::test]
async fn a_preview_is_made_once_and_only_for_a_question() {
    let bench = GateFixture::new(true);
    let agent = bench.agent("one");
    let cwd = bench.gate.0.places.project.clone();
    let (id, input) = (ToolUseId::new("c1"), json!({}));
    let cancel = CancellationToken::new();
    let decide = async |line: &str, preview: &dyn Fn()| {
        let access = Access::Command { line: line.to_owned(), cwd: cwd.clone() };
        let (id, input, access, cwd) = (&id, &input, &access, &*cwd);
        let call = Call { id, tool: "Bash", input, access, cwd, advice: HookAdvice::None };
        let preview = || {
            preview();
            Some("what would happen".to_owned())
        };
        super::tests::decide(&agent, &call, preview, &cancel).await
    };
    let made = std::cell::Cell::new(0);
    let rule = || {
        made.set(made.get() + 1);
        bench.rule("Bash(psql:*)", RuleList::Ask);
    };
    assert_eq!(decide("true", &rule).await, Verdict::Allowed);
    assert_eq!(made.get(), 0, "nobody is asked");
    let person = async {
        let question = bench.next_question().await;
        assert_eq!(question.preview.as_deref(), Some("what would happen"));
        assert!(question.reason.contains("Bash(psql:*)"), "{}", question.reason);
        bench.gate.answer(question.id, Answer::Once).unwrap()
    };
    let (verdict, answered) = tokio::join!(decide("psql", &rule), person);
    assert!(answered && made.get() == 1);
    let Verdict::Approved(approval) = verdict else { panic!("{verdict:?}") };
    let confirmed = with_call("psql", &cwd, |call| agent.confirm(call, Some(&approval)));
    assert_eq!(confirmed, Ok(None), "the user approved the rule that came with the preview");
    bench.closed().await;
    let plan = || bench.gate.set_mode(PermissionMode::Plan).unwrap();
    assert!(denied(decide("make", &plan).await).contains("plan mode"));
    assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
    bench.gate.set_mode(PermissionMode::Default).unwrap();
    let stop = || cancel.cancel();
    assert_eq!(decide("make", &stop).await, Verdict::Cancelled);
    assert!(bench.gate.0.lock().waiting.is_empty());
}

#[tokio::test]
async fn a_change_of_mode_counts_at_once_for_every_agent() {
    let bench = GateFixture::new(true);
    let agent = bench.agent("a");
    let open = bench.ask(&agent, "psql").await;
    bench.gate.set_mode(PermissionMode::Plan).unwrap();
    assert!(denied(open.verdict.await.unwrap()).contains("plan mode"));
    assert!(denied(bench.now(&agent, "psql").await).contains("plan mode"));
    bench.gate.set_mode(PermissionMode::BypassPermissions).unwrap();
    assert_eq!(bench.now(&agent, "psql").await, Verdict::Allowed);
}

#[tokio::test]
async fn a_freer_mode_for_new_calls_answers_no_open_question() {
    let bench = GateFixture::new(true);
    let agent = bench.agent("a");
    let edit = bench.gate.0.places.project.join("n1");
    let open = bench.ask(&agent, &format!("echo x > {}", edit.display())).await;
    let other = bench.ask(&agent, "psql").await;
    bench.gate.set_mode_for_new_calls(PermissionMode::AcceptEdits).unwrap();
    // Not by a later answer either, which judges all of them again.
    bench.gate.answer(other.question.id, Answer::Once).unwrap();
    assert_approved(&other.verdict.await.unwrap());
    bench.closed().await;
    assert!(!open.verdict.is_finished(), "it was open before");
    let new = format!("echo x > {}", edit.display());
    assert_eq!(bench.now(&agent, &new).await, Verdict::Allowed);
    assert!(bench.gate.answer(open.question.id, Answer::Once).unwrap());
    assert_approved(&open.verdict.await.unwrap());
    bench.closed().await;
    // Nor does one on the way to another mode refuse any.
    bench.gate.set_mode(PermissionMode::Default).unwrap();
    let open = bench.ask(&agent, "make").await;
    let other = bench.ask(&agent, "psql").await;
    for passed in [PermissionMode::Plan, PermissionMode::DontAsk] {
        bench.gate.set_mode_for_new_calls(passed).unwrap();
        assert!(denied(bench.now(&agent, "cargo build").await).contains(passed.name()));
    }
    bench.gate.answer(other.question.id, Answer::No { reason: None }).unwrap();
    other.verdict.await.unwrap();
    bench.closed().await;
    assert!(!open.verdict.is_finished(), "it stays open");
    bench.gate.set_mode_for_new_calls(PermissionMode::Default).unwrap();
    bench.gate.answer(open.question.id, Answer::Once).unwrap();
    assert_approved(&open.verdict.await.unwrap());
    bench.closed().await;
    // A yes counts only if the mode then allows the call.
    let late = bench.ask(&agent, "cargo doc").await;
    bench.gate.set_mode_for_new_calls(PermissionMode::Plan).unwrap();
    bench.gate.answer(late.question.id, Answer::Once).unwrap();
    let Verdict::Approved(approval) = late.verdict.await.unwrap() else { panic!("approved") };
    bench.closed().await;
    let cwd = bench.gate.0.places.project.clone();
    let confirmed = with_call("cargo doc", &cwd, |call| agent.confirm(call, Some(&approval)));
    assert!(confirmed.is_err(), "plan mode is on");
    assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
    // A program that sets a mode also answers what it was asked.
    bench.gate.set_mode(PermissionMode::Default).unwrap();
    let open = bench.ask(&agent, &new).await;
    bench.gate.set_mode(PermissionMode::AcceptEdits).unwrap();
    assert_eq!(open.verdict.await.unwrap(), Verdict::Allowed);
}

#[tokio::test]
async fn with_nobody_to_ask_the_denial_names_the_rule_that_would_help() {
    let bench = GateFixture::new(false);
    let reason = denied(bench.now(&bench.agent("a"), "psql x").await);
    assert!(reason.starts_with("no rule allows psql"), "{reason}");
    assert!(reason.contains("--allowed-tools 'Bash(psql x)'"), "{reason}");
    match bench.next().await.kind {
        EventKind::PermissionDenied { tool, input, .. } => {
            assert_eq!((tool.as_str(), input), ("Bash", json!({"command": "psql x"}) as Value));
        }
        other => panic!("{other:?}"),
    }
}

/// A gate with these deny and ask rules.
fn ruled(interactive: bool, mode: PermissionMode, deny: &[&str], ask: &[&str]) -> GateFixture {
    let bench = GateFixture::new(interactive);
    let project = bench.gate.0.places.project.clone();
    let base = RuleBase { project: &project, home: None };
    let mut rules = RuleSet::default();
    rules.add(RuleList::Deny, deny, &RuleOrigin::Session, base).unwrap();
    rules.add(RuleList::Ask, ask, &RuleOrigin::Session, base).unwrap();
    {
        let mut state = bench.gate.0.lock();
        (state.rules, state.mode) = (Arc::new(rules), mode);
    }
    bench
}

#[test]
fn searches_come_upon_nothing_that_is_asked_about_unless_the_question_was_about_it() {
    let bench =
        ruled(true, PermissionMode::Default, &["Read(.env)"], &["Read(conf/**)", "Read(*.key)"]);
    let dir = bench.gate.0.places.project.clone();
    fs::create_dir(dir.join("conf")).unwrap();
    let hides = |gate: &Gate, place: Option<&str>, file: &str| {
        let place = place.map(|place| PathTarget::new(&dir, Path::new(place)));
        gate.unreadable(&dir, place.as_ref()).contains(&dir.join(file))
    };
    for (place, file, expected) in [
        (None, "conf/a", true),
        (Some("."), "conf/a", true),
        (Some("conf"), "conf/a", false),
        (Some("conf"), "conf/a.key", true),
        (Some("conf"), "conf/.env", true),
        (Some("a.key"), "a.key", false),
        (Some(".env"), ".env", true),
        (Some("."), "src/a", false),
    ] {
        assert_eq!(hides(&bench.gate, place, file), expected, "{place:?} {file}");
    }
    // In bypass mode, nothing that would need approval is hidden.
    let bypass =
        ruled(false, PermissionMode::BypassPermissions, &["Read(.env)"], &["Read(conf/**)"]);
    let dir = bypass.gate.0.places.project.clone();
    let files = bypass.gate.unreadable(&dir, None);
    assert_eq!([".env", "conf/a"].map(|file| files.contains(&dir.join(file))), [true, false]);
}

#[test]
fn a_redirect_is_refused_where_a_rule_is_about_its_host_and_was_not_asked() {
    let rules =
        ["WebFetch(domain:www.a.org)", "WebFetch(domain:www.b.org)", "WebFetch(domain:c.org)"];
    let refuses = |bench: &GateFixture, host: &str| {
        let (from, to) = (format!("https://{host}/"), format!("https://www.{host}/x"));
        bench.gate.redirect_refusal(&from, &to)
    };
    let bench = ruled(true, PermissionMode::Default, &rules[..1], &rules[1..]);
    let why = |host| refuses(&bench, host);
    assert!(why("a.org").unwrap().ends_with("denies it"));
    assert!(why("b.org").unwrap().ends_with("asks about it. To go there, fetch it"));
    assert_eq!((why("c.org"), why("d.org")), (None, None));
    let bypass = ruled(false, PermissionMode::BypassPermissions, &rules[..1], &rules[1..]);
    assert!(refuses(&bypass, "a.org").is_some());
    assert_eq!(refuses(&bypass, "b.org"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_a_session_that_asks_nobody_an_agent_in_plan_mode_asks_nobody() {
    let bench = GateFixture::new(true);
    let mode = ModePolicy::AtMost(PermissionMode::Plan);
    let rights = InheritedPermissions { mode, ..InheritedPermissions::default() };
    let events = bench.queue.sink().child(AgentId::generate());
    let agent = bench.agent("main").child("plan-1".to_owned(), events, &rights);
    let (id, input, cwd) = (ToolUseId::new("c1"), json!({}), bench.gate.0.places.project.clone());
    for (tool, access) in [
        ("AskUserQuestion", Access::AskUser { answered: false }),
        ("ExitPlanMode", Access::ExitPlan { mode: None }),
        ("WebFetch", Access::Fetch { url: "https://example.org".to_owned() }),
    ] {
        for (session, is_asked) in
            [(PermissionMode::Default, true), (PermissionMode::DontAsk, false)]
        {
            bench.gate.set_mode(session).unwrap();
            let advice = HookAdvice::None;
            let call = Call { id: &id, tool, input: &input, access: &access, cwd: &cwd, advice };
            match agent.decide(&call) {
                GateDecision::Ask(_) => assert!(is_asked, "{tool}"),
                GateDecision::Deny(denial) => {
                    assert!(!is_asked, "{tool}");
                    assert!(format!("{denial:?}").contains("dontAsk mode"), "{denial:?}");
                }
                GateDecision::Allow(_) => panic!("{tool}"),
            }
        }
    }
}
