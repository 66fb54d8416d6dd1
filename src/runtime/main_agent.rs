//! Builds the main agent of a session, and the tools that start its sub-agents.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::parts::RuntimeParts;
use super::project_context::{LoadedCommands, ProjectContext};
use super::session::RuntimeSession;
use super::subagent_tools::SubagentTools;
use crate::agent::system_prompt::EnvironmentInfo;
use crate::agent::{Agent, AgentSetup, ConcurrencyLimit, Inbox};
use crate::exec::child_env;
use crate::git::{self, GitContext, SNAPSHOT_HEAD};
use crate::permission::{Call, Decision, HookAdvice};
use crate::protocol::{Access, ContentBlock, EventSink, Message, Span, ToolUseId};
use crate::provider::ModelSlot;
use crate::subagent::{Factory, ParentContext, Workspace};
use crate::tool::ToolRegistry;

/// How long a first prompt waits for git's description of the repository.
const MAX_GIT_WAIT: Duration = Duration::from_millis(500);

/// A main agent, and the state that is kept with it between runs.
pub(super) struct MainAgent {
    pub agent: Agent,
    /// Starts its sub-agents; absent if it may not have any.
    pub subagent_tools: Option<SubagentTools>,
    pub project: ProjectContext,
}

/// Builds the main agent of a session and the tools that start its sub-agents. Reads the project's
/// files, so it may block; do not call it during startup.
pub(super) fn main_agent(
    parts: &Arc<RuntimeParts>,
    session: RuntimeSession,
    model: ModelSlot,
    inbox: Inbox,
    commands: Option<LoadedCommands>,
    events: &EventSink,
) -> MainAgent {
    let agents = &parts.agents;
    let environment = EnvironmentInfo::gather(&parts.cwd, &parts.date, &parts.platform);
    let is_new = |text: &String| !was_told(&session.history, text);
    let repository = repository(parts).filter(is_new);
    let project = ProjectContext::read(parts, environment.clone(), repository, commands, events);
    let shared = project.for_agents();
    let max_ops = agents.settings.config.max_concurrent_ops;
    let max_ops = usize::try_from(max_ops).unwrap_or(usize::MAX);
    let concurrency =
        ConcurrencyLimit::new(max_ops, parts.pools.clone()).with_call_limit(parts.max_call);
    let gate = agents.gate.for_agent("main".to_owned(), events.clone()).with_env(&agents.env);
    let own = agents.make_tools(&agents.builtin, shared.skill.as_ref(), Vec::new());
    let own = ToolRegistry::new(own);
    let subagent_tools = parts.offers_subagents().then(|| {
        let main = ParentContext {
            name: "main".to_owned(),
            model: model.clone(),
            journal: session.journal.clone(),
            inbox: inbox.clone(),
            gate: gate.clone(),
            workspace: Workspace { cwd: parts.cwd.clone(), env: agents.env.clone(), bound: None },
            tools: None,
        };
        let factory = |definitions| Factory {
            parts: agents.clone(),
            shared,
            definitions,
            hooks: session.hooks.clone(),
            environment,
            concurrency: concurrency.clone(),
        };
        SubagentTools::new(parts, main, own.clone(), factory, events)
    });
    let tools = match &subagent_tools {
        Some(subagent_tools) => subagent_tools.tools(),
        None => parts.main_tools(&own),
    };
    let agent = Agent::new(AgentSetup {
        name: "main".to_owned(),
        model,
        system: project.system().into(),
        tools,
        gate,
        hooks: session.hooks,
        journal: session.journal,
        inbox,
        background_wait: parts.background_wait,
        slot: None,
        budget: session.budget,
        per_run: parts.per_run,
        concurrency,
        cwd: parts.cwd.clone(),
        env: agents.env.clone(),
        history: session.history,
        span: Span::root(),
        redactor: agents.redactor.clone(),
        reasoning_model: session.model,
    });
    MainAgent { agent, subagent_tools, project }
}

/// Whether the last description of the repository in the conversation is this one.
fn was_told(history: &[Message], description: &str) -> bool {
    let blocks = history.iter().rev().flat_map(|message| message.content.iter().rev());
    let last = blocks.filter_map(|block| match block {
        ContentBlock::Text { text, aside: true, .. } => text.strip_prefix(SNAPSHOT_HEAD),
        _ => None,
    });
    // Other news of the same prompt come behind it.
    let news = description.strip_prefix(SNAPSHOT_HEAD).unwrap_or(description);
    let rest = last.take(1).find_map(|last| last.strip_prefix(news));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("\n\n"))
}

/// Describes the repository around the working directory to main; `None` if there is none, if main may not
/// ask git itself without a question, or if git takes too long. May block.
fn repository(parts: &RuntimeParts) -> Option<String> {
    let agents = &parts.agents;
    let may_run = |line: &str| {
        let access = Access::Command { line: line.to_owned(), cwd: parts.cwd.to_path_buf() };
        let call = Call {
            id: &ToolUseId::new(""),
            tool: "Bash",
            input: &Value::Null,
            access: &access,
            cwd: &parts.cwd,
            advice: HookAdvice::None,
        };
        agents.gate.judgement(&call).decision == Decision::Allow
    };
    if !agents.allows("Bash") || !["git status", "git log"].into_iter().all(may_run) {
        return None;
    }
    let stop = CancellationToken::new();
    let _timer = {
        let stop = stop.clone();
        let timer = async move {
            tokio::time::sleep(MAX_GIT_WAIT).await;
            stop.cancel();
        };
        AbortOnDropHandle::new(Handle::current().spawn(timer))
    };
    let env = child_env(&agents.env, 0, &agents.builtin.secret_env);
    let context = GitContext { env: agents.project.without_programs(&env), stop };
    let snapshot = git::snapshot(&parts.cwd, agents.sandbox.as_ref(), &context).ok()?;
    Some(snapshot.describe())
}
