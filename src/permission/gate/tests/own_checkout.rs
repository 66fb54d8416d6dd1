//! Questions of agents that work in a checkout of their own.

use super::*;

/// A project with a checkout beside it, and the gate of an agent that works there.
fn checkout(
    bench: &GateFixture,
    name: &str,
    below: &str,
) -> (AgentGate, PathBuf, tempfile::TempDir) {
    let dir = tempfile::Builder::new().prefix("caliban-").tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir_all(root.join(below).join("src")).unwrap();
    let agent = bench.agent(name).with_bound(root.clone(), root.join(below));
    (agent, root, dir)
}

async fn write(agent: &AgentGate, cwd: &Path, file: &Path, cancel: &CancellationToken) -> Verdict {
    let (id, input) = (ToolUseId::new("c1"), json!({"file_path": file}));
    let access = Access::Write { paths: vec![PathTarget::new(cwd, file)] };
    let advice = HookAdvice::None;
    let call = Call { id: &id, tool: "Write", input: &input, access: &access, cwd, advice };
    decide(agent, &call, || None, cancel).await
}

/// Starts to write a file, and waits until the agent has asked.
async fn ask(bench: &GateFixture, agent: &AgentGate, cwd: &Path, file: &str) -> Question {
    let (agent, cwd, file) = (agent.clone(), cwd.to_owned(), PathBuf::from(file));
    let cancel = CancellationToken::new();
    tokio::spawn(async move { write(&agent, &cwd, &file, &cancel).await });
    bench.next_question().await
}

#[tokio::test]
async fn a_rule_for_its_checkout_is_one_for_the_project_and_covers_the_next_checkout() {
    let bench = GateFixture::new(true);
    let (first, root, _first_dir) = checkout(&bench, "tidy-1", "");
    for (file, rule) in [("level1.md", "Edit(./level1.md)"), ("src/a.rs", "Edit(src/**)")] {
        let question = ask(&bench, &first, &root, file).await;
        assert_eq!(question.reason, format!("no rule allows writing {file}"));
        assert_eq!(question.rules, [rule]);
        assert!(question.offers_always);
        assert_eq!(question.worktree.as_ref(), Some(&root));
        let rules = vec![rule.to_owned()];
        let always = Answer::Always { rules, file: RuleFile::Local };
        assert!(bench.gate.answer(question.id, always).unwrap());
        bench.closed().await;
    }
    let local = fs::read_to_string(bench.dir.path().join(".caliban/config.local.toml")).unwrap();
    assert!(local.contains("\"Edit(src/**)\""), "{local}");
    let (second, other, _second_dir) = checkout(&bench, "tidy-2", "");
    let now = |file: &'static str| {
        let (second, other) = (second.clone(), other.clone());
        async move { write(&second, &other, Path::new(file), &CancellationToken::new()).await }
    };
    assert_eq!(now("src/b.rs").await, Verdict::Allowed);
    assert_eq!(now("level1.md").await, Verdict::Allowed);
    // It allows nothing else there, and nothing outside of it.
    assert_eq!(ask(&bench, &second, &other, "level2.md").await.rules, ["Edit(./level2.md)"]);
    let project = bench.gate.0.places.project.clone();
    let elsewhere = project.join("src/b.rs");
    let cancel = CancellationToken::new();
    let verdict = write(&second, &other, &elsewhere, &cancel).await;
    assert!(denied(verdict).contains(elsewhere.to_str().unwrap()));
}

#[tokio::test]
async fn where_a_relative_rule_would_mean_other_files_of_the_project_nothing_is_written_down() {
    let bench = GateFixture::new(true);
    // The session's folder is one below the project: `src/**` in the project would be other files.
    let (agent, root, _dir) = checkout(&bench, "tidy-1", "part");
    let cwd = root.join("part");
    let question = ask(&bench, &agent, &cwd, "src/a.rs").await;
    assert_eq!(question.rules, [format!("Edit(/{}/**)", cwd.join("src").display())]);
    assert!(!question.offers_always);
    assert_eq!(question.reason, "no rule allows writing src/a.rs");
}

#[tokio::test]
async fn only_what_lies_in_its_checkout_is_named_as_there() {
    let bench = GateFixture::new(true);
    let (agent, root, _dir) = checkout(&bench, "tidy-1", "");
    let project = bench.gate.0.places.project.clone();
    std::os::unix::fs::symlink(&project, root.join("link")).unwrap();
    let reason = |path: PathBuf| {
        let (bench, agent, root) = (&bench, agent.clone(), root.clone());
        async move {
            let access = Access::Read { paths: vec![PathTarget::new(&root, &path)] };
            let (id, input) = (ToolUseId::new("c1"), json!({}));
            let cancel = CancellationToken::new();
            tokio::spawn(async move {
                let (cwd, advice) = (&*root, HookAdvice::None);
                let call =
                    Call { id: &id, tool: "Read", input: &input, access: &access, cwd, advice };
                decide(&agent, &call, || None, &cancel).await
            });
            bench.next_question().await.reason
        }
    };
    for path in [project.join("a"), root.join("link/a"), root.join("../a")] {
        let reason = reason(path).await;
        assert!(reason.starts_with("no rule allows reading /"), "{reason}");
    }
    // A command runs in the folder that it has changed to.
    for (cwd, in_worktree) in
        [(root.clone(), true), (root.join("src"), true), (root.join("link"), false)]
    {
        let (asker, token) = (agent.clone(), CancellationToken::new());
        tokio::spawn(async move { run(&asker, "psql a", &cwd, &token).await });
        let question = bench.next_question().await;
        assert_eq!(question.worktree.is_some(), in_worktree, "{}", question.cwd.display());
    }
}
