//! What the models of a random run say: a tree of agents with nested ones, forks and commands, in a
//! network that fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fastrand::Rng;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::process;
use crate::support::record::Recorded;
use crate::support::scene::{DONE, PARENT, bash};
use crate::support::script::{Reply, dynamic, error, text};
use crate::support::server::Server;

/// How many agents may be below main, forks not counted.
const MAX_AGENTS: usize = 6;

/// The word in the prompt of an agent; main is the first.
pub fn word(agent: usize) -> String {
    if agent == 0 { PARENT.to_owned() } else { format!("NODE-{agent:02}") }
}

/// What an agent says at its end.
pub fn report(agent: usize) -> String {
    format!("REPORT-N{agent:02}")
}

fn fork_word(fork: usize) -> String {
    format!("FORK-{fork:02}")
}

/// What a fork says at its end.
pub fn fork_report(fork: usize) -> String {
    format!("REPORT-F{fork:02}")
}

/// One call of an agent.
#[derive(Clone, Debug)]
enum Call {
    Bash(String),
    Agent { agent: usize, background: bool },
    Fork(usize),
}

/// The turns of each agent, by its number: what it calls in each. A report follows the last.
#[derive(Debug, Default)]
pub struct Plan {
    turns: Vec<Vec<Vec<Call>>>,
    /// Who has started each agent.
    pub parents: Vec<usize>,
    pub forks: usize,
}

impl Plan {
    /// A plan whose commands sleep for `marked` seconds at most.
    pub fn new(random: &mut Rng, marked: &str) -> Self {
        let mut plan = Self { turns: vec![Vec::new()], parents: vec![0], forks: 0 };
        plan.fill(0, 0, random, marked);
        plan
    }

    fn fill(&mut self, agent: usize, depth: usize, random: &mut Rng, marked: &str) {
        let least = usize::from(depth == 0);
        for _ in 0..random.usize(least..=2) {
            let calls = (0..random.usize(1..=3)).map(|_| self.call(agent, depth, random, marked));
            let calls = calls.collect();
            self.turns[agent].push(calls);
        }
    }

    fn call(&mut self, agent: usize, depth: usize, random: &mut Rng, marked: &str) -> Call {
        match random.u8(0..10) {
            // Only main waits for agents in the background, and a fork is one.
            0 if depth == 0 => {
                self.forks += 1;
                Call::Fork(self.forks)
            }
            1..=6 if depth < 2 && self.turns.len() <= MAX_AGENTS => {
                let child = self.turns.len();
                self.turns.push(Vec::new());
                self.parents.push(agent);
                self.fill(child, depth + 1, random, marked);
                Call::Agent { agent: child, background: depth == 0 && random.bool() }
            }
            7 => Call::Bash(format!("sleep {marked} & echo started")),
            8 => Call::Bash(format!("timeout 0.05 sleep {marked}; echo slept")),
            _ => Call::Bash("echo ran".to_owned()),
        }
    }

    /// How many agents there are, main included.
    pub fn agents(&self) -> usize {
        self.turns.len()
    }

    fn reply(&self, agent: usize, turn: usize) -> Reply {
        let Some(calls) = self.turns[agent].get(turn) else {
            return text(if agent == 0 { DONE.to_owned() } else { report(agent) });
        };
        calls.iter().fold(text("on it"), |reply, call| match call {
            Call::Bash(line) => reply.tool_use("Bash", bash(line)),
            Call::Agent { agent, background } => {
                let prompt = format!("{} look around", word(*agent));
                let input = json!({ "prompt": prompt, "run_in_background": background });
                reply.tool_use("AgentTool", input)
            }
            Call::Fork(fork) => {
                let prompt = format!("{} look around", fork_word(*fork));
                reply.tool_use("agent_fork", json!({ "prompt": prompt }))
            }
        })
    }
}

/// A signal that the program gets when it has made so many requests.
#[derive(Clone, Copy, Debug)]
pub struct Strike {
    pub at: usize,
    pub signal: Signal,
}

/// The models, which all runs of one session ask.
#[derive(Debug)]
pub struct Play {
    plan: Plan,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: Rng,
    /// Answers that each agent was given.
    turns: BTreeMap<String, usize>,
    requests: usize,
    strike: Option<Strike>,
    pid: Arc<OnceLock<u32>>,
    /// Whether requests fail.
    trouble: bool,
}

impl Play {
    /// The models of this plan, behind the server.
    pub fn start(plan: Plan, random: &mut Rng, server: &Server) -> Arc<Self> {
        let state = State {
            random: Rng::with_seed(random.u64(..)),
            turns: BTreeMap::new(),
            requests: 0,
            strike: None,
            pid: Arc::default(),
            trouble: true,
        };
        let play = Arc::new(Self { plan, state: Mutex::new(state) });
        for agent in 0..play.plan.agents() {
            let answering = play.clone();
            let answer = move |request: &Recorded| answering.answer(agent, request);
            server.when(&word(agent)).forever(dynamic(answer));
        }
        play
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Prepares for another run of the program. Answers with the place for its process id.
    pub fn next_run(&self, strike: Option<Strike>) -> Arc<OnceLock<u32>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests = 0;
        state.strike = strike;
        state.trouble = strike.is_some() || state.random.bool();
        state.pid = Arc::default();
        state.pid.clone()
    }

    /// The fork that asks, if one does: its conversation is main's, with its own task behind.
    pub fn fork_of(&self, request: &Recorded) -> Option<usize> {
        let users = request.messages().iter().filter(|message| message["role"] == "user");
        let blocks = users.filter_map(|message| message["content"].as_array()).flatten();
        let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
        (1..=self.plan.forks).find(|fork| texts.iter().any(|text| text.contains(&fork_word(*fork))))
    }

    fn answer(&self, agent: usize, request: &Recorded) -> Reply {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests += 1;
        if let Some(strike) = state.strike
            && strike.at == state.requests
            && let Some(pid) = state.pid.get()
        {
            process::signal(*pid, strike.signal);
        }
        match state.random.u8(0..20) {
            0 | 1 if state.trouble => {
                return error(529, "overloaded_error", "busy").header("retry-after-ms", "1");
            }
            2 if state.trouble => return text("half of an answ").cut(),
            _ => {}
        }
        if let Some(fork) = self.fork_of(request) {
            return text(fork_report(fork));
        }
        let turn = state.turns.entry(word(agent)).or_default();
        *turn += 1;
        self.plan.reply(agent, *turn - 1)
    }
}
