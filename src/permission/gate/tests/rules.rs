//! Rules that change, and those that an answer writes.

use super::*;

/// A source of rules on a disk that answers once it is let go.
struct SlowSource {
    asked: Option<tokio::sync::oneshot::Sender<()>>,
    go: std::sync::mpsc::Receiver<()>,
}

impl RuleSource for SlowSource {
    fn changed(&mut self) -> Option<RuleSet> {
        self.asked.take()?.send(()).unwrap();
        // The limit only ends a test that fails.
        let limit = std::time::Duration::from_secs(5);
        self.go.recv_timeout(limit).expect("nothing else went on");
        None
    }

    fn wrote(&mut self, _file: &Path, _rules: &[String]) {}

    fn deferred(&mut self, _rules: &RuleSet) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_rules_are_on_a_slow_disk_other_work_goes_on() {
    let ((asked, is_asked), (go, wait)) =
        (tokio::sync::oneshot::channel(), std::sync::mpsc::sync_channel(1));
    let source = SlowSource { asked: Some(asked), go: wait };
    let bench = GateFixture::with_source(false, Some(Box::new(source)));
    let agent = bench.agent("main");
    let cwd = bench.gate.0.places.project.clone();
    let call = tokio::spawn(async move { run(&agent, "ls", &cwd, &Default::default()).await });
    is_asked.await.unwrap();
    // The runtime's one thread for tasks is at the disk.
    let other = tokio::spawn(async move { go.send(()) });
    other.await.unwrap().unwrap();
    assert_eq!(call.await.unwrap(), Verdict::Allowed);
}

/// A source with a file that changes once.
struct ChangedSource(Option<RuleSet>);

impl RuleSource for ChangedSource {
    fn changed(&mut self) -> Option<RuleSet> {
        self.0.take()
    }

    fn wrote(&mut self, _file: &Path, _rules: &[String]) {}

    fn deferred(&mut self, _rules: &RuleSet) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_says_that_a_rule_for_it_waits_for_the_next_start() {
    let base = RuleBase { project: Path::new("/p"), home: None };
    let mut read = RuleSet::default();
    read.add(RuleList::Allow, &["Bash(psql:*)"], &RuleOrigin::Session, base).unwrap();
    let bench = GateFixture::with_source(true, Some(Box::new(ChangedSource(Some(read)))));
    let agent = bench.agent("main");
    let open = bench.ask(&agent, "psql -c x").await;
    let reason = open.question.reason;
    assert!(reason.ends_with("; a rule that does takes effect at the next start"), "{reason}");
    let open = bench.ask(&agent, "touch x").await;
    assert!(!open.question.reason.contains("next start"), "{}", open.question.reason);
}

#[tokio::test]
async fn an_always_rule_is_written_and_settles_the_questions_of_all() {
    let bench = GateFixture::new(true);
    let file = bench.dir.path().join(".caliban/config.toml");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, "# ours\n[permissions]\nallow = [] # none yet\n").unwrap();
    let one = bench.ask(&bench.agent("one"), "psql a").await;
    let two = bench.ask(&bench.agent("two"), "psql b | head").await;
    let always =
        |rule: &str| Answer::Always { rules: vec![rule.to_owned()], file: RuleFile::Shared };
    for rule in ["Bash(make:*)", "Bash(psql"] {
        bench.gate.answer(one.question.id, always(rule)).unwrap_err();
    }
    assert!(!one.verdict.is_finished());
    assert!(bench.gate.answer(one.question.id, always("Bash(psql:*)")).unwrap());
    assert_approved(&one.verdict.await.unwrap());
    assert_eq!(two.verdict.await.unwrap(), Verdict::Allowed);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "# ours\n[permissions]\nallow = [\"Bash(psql:*)\"] # none yet\n");
    assert_eq!(bench.now(&bench.agent("three"), "psql c").await, Verdict::Allowed);
}

#[tokio::test]
async fn a_rule_that_cannot_be_written_leaves_the_question_open() {
    let bench = GateFixture::new(true);
    fs::write(bench.dir.path().join(".caliban"), "in the way").unwrap();
    let open = bench.ask(&bench.agent("a"), "psql").await;
    let always = Answer::Always { rules: open.question.rules.clone(), file: RuleFile::Local };
    let error = bench.gate.answer(open.question.id, always).unwrap_err().to_string();
    assert!(error.contains("config.local.toml") && error.contains("this session only"), "{error}");
    assert!(bench.gate.answer(open.question.id, Answer::Once).unwrap());
    assert_approved(&open.verdict.await.unwrap());
}
