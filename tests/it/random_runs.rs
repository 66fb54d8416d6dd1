//! Runs random trees of agents in a network that fails, stops them at random moments and resumes
//! them. No request may be invalid, no result lost, no end told twice and no process left behind.
//!
//! A longer run, with other trees each time:
//!
//! ```sh
//! CALIBAN_FUZZ_SECONDS=1800 cargo test --test it random_runs -- --nocapture
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use nix::sys::signal::Signal;
use serde_json::Value;

use self::play::{Plan, Play, Strike, fork_report, report, word};
use crate::support::process;
use crate::support::record::Recorded;
use crate::support::run::Finished;
use crate::support::scene::{DONE, Scene};

mod play;

/// How long the trees of a fixed seed are tried in an ordinary run of the tests.
const USUAL: Duration = Duration::from_secs(12);

/// How many sessions there are at least, however slow the machine is.
const LEAST: u64 = 4;

const CONFIG: &str = "[subagents]\nfaces = [\"agent\", \"lifecycle\"]\nmax_depth = 2\nmax_concurrent_agents = 3\nmax_children_per_agent = 12\n";

const ARGS: [&str; 4] = ["-p", "--output-format", "stream-json", "--dangerously-skip-permissions"];

/// One session: a scene, its models, and what the failures of its checks begin with.
struct Session {
    scene: Scene,
    play: Arc<Play>,
    marker: String,
    seed: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    No,
    BySignal,
    Killed,
}

#[tokio::test]
async fn random_trees_lose_nothing_and_leave_nothing_whatever_stops_them() {
    let (time, mut seed) = match std::env::var("CALIBAN_FUZZ_SECONDS") {
        Ok(seconds) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            (Duration::from_secs(seconds.parse().unwrap()), now.as_secs())
        }
        Err(_) => (USUAL, 0x00ca_11ba),
    };
    let (began, mut sessions) = (Instant::now(), 0);
    while sessions < LEAST || began.elapsed() < time {
        session(seed).await;
        seed += 1;
        sessions += 1;
    }
    println!("{sessions} sessions, the last of seed {}", seed - 1);
}

/// One session from its first run to one that ends well.
async fn session(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let scene = Scene::new();
    scene.world.config(CONFIG);
    let marker = format!("{}{seed}", process::marked_seconds(30));
    let plan = Plan::new(&mut random, &marker);
    let play = Play::start(plan, &mut random, &scene.server);
    let session = Session { scene, play, marker, seed };
    let strikes = random.usize(0..=2);
    let mut prompt = "PARENT-1 go".to_owned();
    let mut before = Stopped::No;
    for run in 0..=strikes {
        let signals = [Signal::SIGKILL, Signal::SIGINT, Signal::SIGTERM];
        let signal = signals[random.usize(0..signals.len())];
        // Nothing is stored before the first request.
        let strike = Strike { at: random.usize(2..12), signal };
        let strike = Some(strike).filter(|_| run < strikes);
        let stopped = session.run(&prompt, run > 0, strike).await;
        session.check(before, stopped);
        before = if before == Stopped::No { stopped } else { before };
        prompt = format!("go on, run {run}");
    }
    session.scene.server.finish();
}

impl Session {
    async fn run(&self, prompt: &str, again: bool, strike: Option<Strike>) -> Stopped {
        let pid = self.play.next_run(strike);
        let args = self.scene.world.run(ARGS).args([prompt]).args(again.then_some("-c"));
        let running = args.start();
        let _ = pid.set(running.pid());
        let run = running.wait().await;
        let left = process::left_after(Duration::from_secs(5), &self.marker).await;
        assert!(left.is_empty(), "{}: processes {left:?} are left\n{run}", self.story());
        match (strike, run.code) {
            (_, Some(0)) => {
                assert_eq!(run.result()["result"], DONE, "{}\n{run}", self.story());
                self.check_frames(&run);
                Stopped::No
            }
            (Some(Strike { signal: Signal::SIGKILL, .. }), None) => Stopped::Killed,
            (Some(Strike { signal: Signal::SIGINT, .. }), Some(130))
            | (Some(Strike { signal: Signal::SIGTERM, .. }), Some(143)) => {
                // The signal may come behind the last answer: then the result is that answer, whole.
                let result = run.result();
                let whole = result["is_error"] == true || result["result"] == DONE;
                assert!(whole, "{}\n{run}", self.story());
                self.check_frames(&run);
                Stopped::BySignal
            }
            (strike, code) => panic!("{}: {code:?} after {strike:?}\n{run}", self.story()),
        }
    }

    /// Each agent that started has ended once, and there is one result, behind them all.
    fn check_frames(&self, run: &Finished) {
        let frames = run.frames();
        let tasks = |subtype: &str| -> Vec<&str> {
            let all = frames.iter().filter(|frame| frame["subtype"] == subtype);
            let mut ids: Vec<_> = all.filter_map(|frame| frame["task_id"].as_str()).collect();
            ids.sort_unstable();
            ids
        };
        let (started, ended) = (tasks("task_started"), tasks("task_notification"));
        assert_eq!(started, ended, "{}\n{run}", self.story());
        let results = frames.iter().filter(|frame| frame["type"] == "result").count();
        assert_eq!(results, 1, "{}\n{run}", self.story());
    }

    /// Looks at what each parent has learned of those below it. `before` is how an earlier run of
    /// the session was stopped, `stopped` how the latest was.
    fn check(&self, before: Stopped, stopped: Stopped) {
        let plan = self.play.plan();
        for agent in 1..plan.agents() {
            self.check_reports(&report(agent), plan.parents[agent], agent, before, stopped);
        }
        for fork in 1..=plan.forks {
            let report = fork_report(fork);
            let counts = self.told(&report, 0);
            assert!(counts.iter().all(|count| *count <= 1), "{}: {report} twice", self.story());
        }
    }

    fn check_reports(
        &self,
        report: &str,
        parent: usize,
        agent: usize,
        before: Stopped,
        stopped: Stopped,
    ) {
        let told = self.told(report, parent);
        assert!(told.iter().all(|count| *count <= 1), "{}: {report} is told twice", self.story());
        if stopped != Stopped::No || !self.was_asked(agent) {
            return;
        }
        let untouched = before == Stopped::No;
        // An end that is in the agent's own transcript reaches its parent after a kill and a resume, too.
        let must = untouched || (parent == 0 && self.is_stored(report));
        let last = told.last().copied().unwrap_or_default();
        assert!(!must || last == 1, "{}: {report} is lost", self.story());
    }

    fn was_asked(&self, agent: usize) -> bool {
        !self.scene.server.requests_of(&word(agent)).is_empty()
    }

    /// Whether an agent's own transcript holds its report.
    fn is_stored(&self, report: &str) -> bool {
        let transcripts = self.scene.world.child_transcripts();
        transcripts.iter().any(|path| std::fs::read_to_string(path).unwrap().contains(report))
    }

    /// How often each request of an agent tells of a report, its forks' requests left out.
    fn told(&self, report: &str, agent: usize) -> Vec<usize> {
        let requests = self.scene.server.requests_of(&word(agent));
        let own = requests.iter().filter(|request| self.play.fork_of(request).is_none());
        own.map(|request| count(request, report)).collect()
    }

    fn story(&self) -> String {
        format!("seed {}\n{:#?}\n{}", self.seed, self.play.plan(), self.scene.server.story())
    }
}

/// How often the user's side of a conversation has a text.
fn count(request: &Recorded, text: &str) -> usize {
    let users = request.messages().iter().filter(|message| message["role"] == "user");
    users.map(|message: &Value| message.to_string().matches(text).count()).sum()
}
