//! The ends of sub-agents that were interrupted: what they had done, and what it cost.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::protocol::{AgentPath, Cost, Role, RunEnd, RunOutcome};
use crate::session::list::{self, AgentSummary};
use crate::session::repair::{EndAsResult, interrupted_result, missing_results};
use crate::session::transcript::Transcript;
use crate::session::writer::agent_file;

/// Reads the run of the sub-agent at this index, which has no end. Agents below it have an end by
/// now. A request without an answer counts as a turn, as it did while it ran.
pub(super) fn interrupted_run(
    dir: &Path,
    agents: &[AgentSummary],
    at: usize,
    cost: Cost,
    end_as_result: &EndAsResult<'_>,
) -> io::Result<(Transcript, RunOutcome)> {
    let agent = &agents[at];
    let unanswered = missing_results(agents, &agent.meta.path, end_as_result, interrupted_result);
    let transcript = Transcript::read(&agent_file(dir, agent.meta.id, "jsonl"), unanswered)?;
    let is_asking = transcript.closing_record().is_none()
        && transcript.messages.last().is_some_and(|last| last.role == Role::User);
    let took = agent.last.duration_since(agent.started);
    let outcome = RunOutcome {
        text: transcript.last_text(),
        turns: transcript.turns() + u32::from(is_asking),
        tool_uses: transcript.tool_uses(),
        usage: transcript.usage,
        cost,
        took: Duration::try_from(took).unwrap_or_default(),
        ..RunOutcome::without_work(RunEnd::Interrupted)
    };
    Ok((transcript, outcome))
}

/// Returns the cost of each agent without an end and all below it, in all of their runs. Each dollar
/// is in one file.
pub(super) fn interrupted_costs(dir: &Path, agents: &[AgentSummary]) -> HashMap<AgentPath, Cost> {
    let interrupted = agents.iter().filter(|agent| agent.end.is_none());
    let mut costs: HashMap<_, _> =
        interrupted.map(|agent| (agent.meta.path.clone(), Cost::default())).collect();
    for AgentSummary { meta, .. } in agents {
        let from_here_up = std::iter::successors(Some(meta.path.clone()), AgentPath::parent);
        let above: Vec<_> = from_here_up.filter(|path| costs.contains_key(path)).collect();
        if above.is_empty() {
            continue;
        }
        // An unreadable file has no data about its agent either.
        let cost = list::agent_cost(&agent_file(dir, meta.id, "jsonl")).unwrap_or_default();
        for path in above {
            *costs.entry(path).or_default() += cost;
        }
    }
    costs
}
