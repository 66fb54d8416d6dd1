//! Compares the gate with bash: lines are changed at random, and those that the gate allows are run
//! in a real bash. None of them may run a program that the gate did not see, or write anything.
//!
//! A longer run, with other lines each time:
//!
//! ```sh
//! CALIBAN_FUZZ_SECONDS=1800 cargo test --test it shell_fuzz -- --nocapture
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use caliban::permission::{
    Call, Decision, Gate, GateSettings, HookAdvice, RuleBase, RuleList, RuleOrigin, RuleSet,
};
use caliban::protocol::{Access, EnvOverlay, PermissionMode, ToolUseId};
use fastrand::Rng;
use serde_json::Value;

use self::playground::Playground;

mod lines;
mod playground;

/// How long the lines of a fixed seed are tried in an ordinary run of the tests.
const USUAL: Duration = Duration::from_secs(20);

/// How many lines one launcher runs.
const BATCH: usize = 200;

/// How many lines are run at least, however slow the machine is.
const LEAST: u64 = 400;

/// A gate with one rule, `Bash(safe:*)`, for a program that does nothing.
fn gate(project: PathBuf) -> Gate {
    let mut rules = RuleSet::default();
    let base = RuleBase { project: &project, home: None };
    let origin = RuleOrigin::Flag("--allowed-tools".to_owned());
    rules.add(RuleList::Allow, &["Bash(safe:*)"], &origin, base).unwrap();
    Gate::new(GateSettings {
        mode: PermissionMode::Default,
        rules,
        dirs: vec![project.clone()],
        home: None,
        interactive: true,
        project_dir: project,
        project_roots: Vec::new(),
        protected: Vec::new(),
        env: EnvOverlay::from_iter([("PATH", "/usr/bin:/bin")]),
        has_sandbox: true,
        bash: None,
        bypass_disabled: false,
    })
}

fn allows(gate: &Gate, line: &str, project: &std::path::Path) -> bool {
    let access = Access::Command { line: line.to_owned(), cwd: project.to_owned() };
    let call = Call {
        id: &ToolUseId::new("c1"),
        tool: "Bash",
        input: &Value::Null,
        access: &access,
        cwd: project,
        advice: HookAdvice::None,
    };
    !line.contains('\0') && gate.judgement(&call).decision == Decision::Allow
}

#[test]
fn no_allowed_line_runs_or_writes_what_the_gate_did_not_see() {
    let launcher = PathBuf::from(env!("CARGO_BIN_EXE_caliban"));
    if !caliban::exec::sandbox::available() {
        eprintln!("skipped: this kernel cannot confine what the lines run (Landlock)");
        return;
    }
    let (seconds, seed) = match std::env::var("CALIBAN_FUZZ_SECONDS") {
        Ok(seconds) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            (Duration::from_secs(seconds.parse().unwrap()), now.as_secs())
        }
        Err(_) => (USUAL, 0x00ca_11ba),
    };
    let playground = Playground::new(&launcher);
    let traced = |line: &str| playground.leaves_traces(&[line.to_owned()]);
    assert!(traced("safe $(pwn)") && traced("echo a >src/a.txt"), "the playground sees nothing");
    assert!(!traced("safe a; ls"), "the playground sees what is not there");

    let project = playground.project();
    let gate = gate(project.clone());
    let mut random = Rng::with_seed(seed);
    let (mut made, mut run) = (0_u64, 0_u64);
    let mut batch = Vec::new();
    let began = Instant::now();
    while run < LEAST || began.elapsed() < seconds {
        let line = match made % 4 {
            0 => lines::plain(&mut random),
            _ => lines::next(&mut random),
        };
        made += 1;
        if allows(&gate, &line, &project) {
            batch.push(line);
        }
        if batch.len() == BATCH {
            run += BATCH as u64;
            if playground.leaves_traces(&batch) {
                let guilty: Vec<_> = batch.iter().filter(|line| traced(line)).collect();
                panic!("seed {seed}: these lines are allowed and do more: {guilty:#?}");
            }
            batch.clear();
        }
    }
    println!("seed {seed}: {made} lines, {run} of them allowed and run");
}

#[test]
fn every_seed_is_allowed_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap();
    for path in [".git/objects", ".git/refs", "src"] {
        std::fs::create_dir_all(project.join(path)).unwrap();
    }
    std::fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    // A glob counts as what it matches.
    std::fs::write(project.join("a.txt"), "").unwrap();
    let gate = gate(project.clone());
    let asked: Vec<_> = lines::SEEDS.iter().filter(|line| !allows(&gate, line, &project)).collect();
    assert!(asked.is_empty(), "{asked:#?}");
}
