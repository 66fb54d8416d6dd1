//! A prompt on its way to main: received, prepared with everything that main reads with it, run.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::images;
use super::project_context::LoadedCommands;
use super::serve::{EndedRun, MainRun, Runtime};
use super::servers::MainTools;
use super::start_hooks::SessionStartHooks;
use super::subagent_tools::SubagentTools;
use crate::agent::{Agent, ArgMatch, ForcedCall, Prompt, PromptContext};
use crate::commands::Expansion;
use crate::config::AgentToolset;
use crate::protocol::{
    AgentPath, EventKind, EventSink, NoticeLevel, PromptId, PromptTiming, QueuedPrompt,
    RAISE_BUDGET, Sender, prompt,
};
use crate::provider::ModelSlot;
use crate::subagent::definition::Definition;
use crate::subagent::{DEFAULT_AGENT, SubagentSettings, tools};

/// The fields of a call that name the agent.
const AGENT_FIELDS: &[&str] = &["agent", "subagent_type"];

impl Runtime {
    /// Receives a prompt and expands its slash command. A prompt for main starts a run if main is
    /// idle and nothing holds it up. Any other waits for the next step of its agent.
    pub(super) async fn receive(&mut self, to: AgentPath, prompt: QueuedPrompt) {
        let Some(prompt) = self.add_images(&to, prompt).await else { return };
        let Some((prompt, commands)) = self.expand(&to, prompt).await else { return };
        match (to.is_root(), self.run.is_none()) {
            (true, true) if self.holds_prompts() => self.queue(prompt),
            (true, true) => self.start(prompt, commands).await,
            (true, false) => self.queue(prompt),
            (false, _) => self.steer(&to, prompt),
        }
    }

    /// Adds the images that a prompt names. `None` if the prompt was refused because of one.
    async fn add_images(&self, to: &AgentPath, mut prompt: QueuedPrompt) -> Option<QueuedPrompt> {
        if let Err(why) = images::add_mentioned(&self.parts, &mut prompt).await {
            let QueuedPrompt { id, text, .. } = prompt;
            let events = self.parts.events.sink_at(to.clone());
            events.emit(EventKind::PromptRefused { id, text, why });
            return None;
        }
        let model = self.model.as_ref().map(ModelSlot::get).filter(|_| to.is_root());
        if let Some(model) = model.filter(|model| model.info.is_text_only)
            && !prompt.images.is_empty()
        {
            let why = format!("{} reads no images: it gets a line of text instead", model.name);
            self.events.notice(NoticeLevel::Warning, why);
        }
        Some(prompt)
    }

    /// Expands `/name` at the start of a prompt to the text of the command or skill of that name.
    /// Reads the files each time, so edits take effect at once, and returns what it read. `None` if
    /// the prompt was refused because the file is broken.
    async fn expand(
        &self,
        to: &AgentPath,
        prompt: QueuedPrompt,
    ) -> Option<(QueuedPrompt, Option<LoadedCommands>)> {
        if prompt.from != Sender::Person || !prompt.text.trim_start().starts_with('/') {
            return Some((prompt, None));
        }
        let (parts, text) = (self.parts.clone(), prompt.text.clone());
        let expand = move || {
            let commands = LoadedCommands::read(&parts);
            (commands.set.expand(&text), commands)
        };
        let (expanded, commands) = match tokio::task::spawn_blocking(expand).await {
            Ok(expanded) => expanded,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let events = self.parts.events.sink_at(to.clone());
        let meaning = match expanded {
            None => None,
            Some(Ok(Expansion { text, notices })) => {
                for notice in notices {
                    events.notice(NoticeLevel::Warning, notice);
                }
                Some(text)
            }
            Some(Err(why)) => {
                let QueuedPrompt { id, text, .. } = prompt;
                events.emit(EventKind::PromptRefused { id, text, why });
                return None;
            }
        };
        Some((QueuedPrompt { meaning, ..prompt }, Some(commands)))
    }

    /// Whether prompts for main wait although it is idle: for the user's own command, whose output
    /// it reads with the prompt, or for the model that the user has just chosen.
    pub(super) fn holds_prompts(&self) -> bool {
        self.shell.is_running() || self.choice.is_pending()
    }

    /// Queues a prompt for main, which is at work or held up.
    fn queue(&mut self, prompt: QueuedPrompt) {
        self.events.emit(EventKind::PromptQueued { id: prompt.id });
        match &self.run {
            Some(run) if !run.cancel.is_cancelled() => self.inbox.push(prompt),
            // A stopped run gives its queue back; prompts sent after the stop are for the next one.
            _ => self.next.push(prompt),
        }
    }

    /// Goes on after the end of the user's own command: starts a prompt that waits for it.
    pub(super) async fn shell_ended(&mut self) {
        if self.run.is_none() && !self.next.is_empty() {
            self.start_waiting().await;
        }
    }

    /// Starts the prompts that wait for the next run, unless something else holds them up.
    pub(super) async fn start_waiting(&mut self) {
        if !self.holds_prompts() {
            std::mem::take(&mut self.next).into_iter().for_each(|prompt| self.inbox.push(prompt));
        }
        self.start_next().await;
    }

    /// Returns prompts to the user that will not be read.
    pub(super) fn return_prompts(&self, prompts: impl IntoIterator<Item = QueuedPrompt>) {
        for QueuedPrompt { id, text, .. } in prompts {
            self.events.emit(EventKind::PromptReturned { id, text });
        }
    }

    /// Queues a prompt for a sub-agent.
    fn steer(&self, to: &AgentPath, prompt: QueuedPrompt) {
        let (id, events) = (prompt.id, self.parts.events.sink_at(to.clone()));
        match self.tree.inbox(to) {
            Some(inbox) => {
                inbox.push(prompt);
                events.emit(EventKind::PromptQueued { id });
            }
            None => events.emit(EventKind::PromptReturned { id, text: prompt.text }),
        }
    }

    pub(super) fn take_back(&mut self, to: &AgentPath, id: PromptId) {
        let index = self.next.iter().position(|prompt| prompt.id == id);
        let waiting = index.map(|index| self.next.remove(index));
        let queued = || self.tree.inbox(to).and_then(|inbox| inbox.take_back(id));
        if let Some(prompt) = waiting.or_else(queued) {
            let events = self.parts.events.sink_at(to.clone());
            events.emit(EventKind::PromptReturned { id, text: prompt.text });
        }
    }

    /// Changes when a waiting prompt is read.
    pub(super) fn requeue(&mut self, to: &AgentPath, id: PromptId, when: PromptTiming) {
        if let Some(prompt) = self.next.iter_mut().find(|prompt| prompt.id == id) {
            prompt.when = when;
        } else if let Some(inbox) = self.tree.inbox(to) {
            inbox.requeue(id, when);
        }
    }

    /// Starts a run of main with a prompt. `commands` are those of its expansion.
    async fn start(&mut self, prompt: QueuedPrompt, commands: Option<LoadedCommands>) {
        let (id, text) = (prompt.id, prompt.text.clone());
        let Some(model) = self.model.clone() else {
            self.events.emit(EventKind::PromptReturned { id, text });
            let why = "No model yet: your text stays here · /model";
            self.events.notice(NoticeLevel::Error, why);
            return;
        };
        match self.prepare(prompt, commands, model).await {
            Ok((agent, prompt)) => self.run_main(agent, Some(prompt)),
            Err(why) => self.events.emit(EventKind::PromptRefused { id, text, why }),
        }
    }

    /// Prepares main, with the current files, and everything that it reads with a prompt. The hooks
    /// add their output when the run starts. The error is one line for the user.
    async fn prepare(
        &mut self,
        prompt: QueuedPrompt,
        commands: Option<LoadedCommands>,
        model: ModelSlot,
    ) -> Result<(Box<Agent>, Prompt), String> {
        let may_start = prompt.sub_agents;
        let mentions = prompt.agent_mentions.clone();
        let prompt = Prompt::from(prompt);
        let mut agent = self.take_main(model, commands).await;
        let refusal = agent.refusal(&prompt).or_else(|| self.spent_budget(&agent, &prompt));
        let forced_call = match refusal {
            Some(why) => Err(why),
            None => self.mentioned_call(&prompt, mentions.as_deref(), may_start),
        };
        let forced_call = match forced_call {
            Ok(forced_call) => forced_call,
            Err(why) => {
                self.main = Some(agent);
                return Err(why);
            }
        };
        self.sub_agents = may_start;
        let context = PromptContext {
            shell_runs: self.shell.take_finished(),
            project: self.project.as_mut().and_then(|project| project.take_news(&mut agent)),
            forced_call,
            ..prompt.context
        };
        Ok((agent, Prompt { context, ..prompt }))
    }

    /// Returns why no prompt can be sent any more, in one line: the session's money is spent. A run
    /// without a user at the screen ends with a result that says so instead.
    fn spent_budget(&self, agent: &Agent, prompt: &Prompt) -> Option<String> {
        if prompt.from != Sender::Person || self.parts.background_wait.is_some() {
            return None;
        }
        let what = agent.spent_budget(prompt)?;
        Some(format!("The budget of {what} is spent: quit, then {RAISE_BUDGET}"))
    }

    /// Keeps what goes with a prompt for the next one: this one was rejected.
    pub(super) fn put_back(&mut self, context: PromptContext) {
        self.shell.put_back(context.shell_runs);
        if let (Some(project), Some(_)) = (&mut self.project, context.project) {
            project.put_back_news();
        }
    }

    /// Retries after a failure, with an unchanged conversation.
    pub(super) async fn retry(&mut self) {
        if self.run.is_none()
            && let Some(model) = self.model.clone()
        {
            let agent = self.take_main(model, None).await;
            self.run_main(agent, None);
        }
    }

    fn run_main(&mut self, mut agent: Box<Agent>, prompt: Option<Prompt>) {
        self.halted = false;
        let (may_start, tools) = (self.sub_agents, self.main_tools());
        let cancel = CancellationToken::new();
        let (token, events) = (cancel.clone(), self.events.clone());
        let before = self.start_hooks.clone();
        let task = tokio::spawn(async move {
            if let Some(tools) = tools {
                tools.give_to(&mut agent, &events, &token).await;
            }
            agent.withhold(|name| !may_start && tools::is_agent_tool(name));
            let unread = run(&mut agent, prompt, before, &events, &token).await;
            EndedRun { agent, unread }
        });
        self.run = Some(MainRun { task, cancel });
    }

    /// Returns the builder of main's tools; `None` without servers, where the tools do not change.
    fn main_tools(&self) -> Option<MainTools> {
        let tools =
            || MainTools { parts: self.parts.clone(), subagent_tools: self.subagent_tools.clone() };
        (!self.parts.agents.mcp.is_empty()).then(tools)
    }

    /// Takes main's next prompt. If main waits for its agents, or a background failure has halted
    /// it, only a prompt of the user wakes it: other messages are read with the next one, as is the
    /// partial text of an agent that the user has cancelled.
    fn next_prompt(&self) -> Option<QueuedPrompt> {
        match self.parts.background_wait {
            None if !self.halted => self.inbox.take_first_waking(),
            _ => self.inbox.take_first_typed(),
        }
    }

    /// Starts the next queued prompt, once a chosen model is in use. A refused prompt does not block those after it.
    pub(super) async fn start_next(&mut self) {
        while self.run.is_none()
            && !self.choice.is_pending()
            && self.session.block.is_none()
            && let Some(next) = self.next_prompt()
        {
            self.start(next, None).await;
        }
    }

    /// Returns the call that main must start with if the user's prompt has `@agent-NAME` in it, in one of
    /// the `mentions` if there are such, or in the text of its command. The error is one line for the user.
    fn mentioned_call(
        &self,
        prompt: &Prompt,
        mentions: Option<&[String]>,
        may_start: bool,
    ) -> Result<Option<ForcedCall>, String> {
        let expansion = prompt.context.command.as_deref().unwrap_or_default();
        let text = prompt.text.as_str();
        let parts = mentions.map_or(vec![text], |parts| parts.iter().map(String::as_str).collect());
        let has_mention = |text: &str| text.contains(prompt::AGENT_PREFIX);
        let is_mentioned = parts.iter().copied().chain([expansion]).any(has_mention);
        if !is_mentioned || prompt.from != Sender::Person {
            return Ok(None);
        }
        let agents = self.subagent_tools.as_ref();
        let is_known =
            |name: &str| agents.is_some_and(|agents| agents.definitions().get(name).is_some());
        let names_in = |text| prompt::mentioned_agents(text, is_known);
        let in_text: Vec<&str> = names_in(text).collect();
        // The expansion has the arguments too.
        let of_command = names_in(expansion).filter(|name| !in_text.contains(name));
        let names: Vec<&str> = parts.into_iter().flat_map(names_in).chain(of_command).collect();
        let Some(first) = names.first() else { return Ok(None) };
        let Some(agents) = agents else { return Err(refusal(first, "sub-agents are off")) };
        if !may_start {
            return Err(refusal(first, "this prompt may not start sub-agents"));
        }
        if !agents.settings().may_start(0) {
            return Err(refusal(first, "the depth limit allows no sub-agents here"));
        }
        let definitions = names.iter().map(|name| self.find_agent(agents, name));
        let definitions = definitions.collect::<Result<Vec<_>, _>>()?;
        Ok(definitions.first().and_then(|first| start_call(agents.settings(), first)))
    }

    fn find_agent<'a>(
        &self,
        agents: &'a SubagentTools,
        name: &str,
    ) -> Result<&'a Definition, String> {
        let Some(definition) = agents.definitions().get(name) else {
            let known: Vec<_> = agents.definitions().iter().map(|it| it.name.as_str()).collect();
            let why = format!("there is no such agent; the agents are {}", known.join(", "));
            return Err(refusal(name, &why));
        };
        if self.parts.agents.gate.denies_agent(name) {
            return Err(refusal(name, "a deny rule blocks this agent"));
        }
        Ok(definition)
    }
}

/// Runs main once, with its prompt hooks. The `SessionStart` hooks finish before those of the first
/// prompt start. Returns what main was to read with the prompt if the hooks reject it.
async fn run(
    agent: &mut Agent,
    prompt: Option<Prompt>,
    start_hooks: Option<SessionStartHooks>,
    events: &EventSink,
    cancel: &CancellationToken,
) -> Option<PromptContext> {
    let prompt = match prompt {
        Some(mut prompt) => {
            let context = match &start_hooks {
                Some(hooks) => hooks.wait_for_context(events, cancel).await,
                None => None,
            };
            prompt.context.hooks.extend(context.clone());
            match agent.run_prompt_hooks(prompt, events, cancel).await {
                Ok(prompt) => Some(prompt),
                Err(unread) => {
                    if let (Some(hooks), Some(context)) = (start_hooks, context) {
                        hooks.put_back_context(context);
                    }
                    return Some(*unread);
                }
            }
        }
        None => None,
    };
    let run = AssertUnwindSafe(agent.run(prompt, events, cancel)).catch_unwind();
    if let Err(panic) = Box::pin(run).await {
        // Hooks are notified of the end of a run, whatever caused it.
        agent.notify_end("", events);
        std::panic::resume_unwind(panic);
    }
    None
}

fn refusal(name: &str, why: &str) -> String {
    format!("{}{name}: {why}. Nothing was sent.", prompt::AGENT_PREFIX)
}

/// Returns the call that starts this agent, using the first kind of agent tool that is enabled.
fn start_call(settings: &SubagentSettings, definition: &Definition) -> Option<ForcedCall> {
    let name = &definition.name;
    let by_field = |tool: &str| {
        let value = name.clone();
        let field = ArgMatch { field: AGENT_FIELDS, is_default: value == DEFAULT_AGENT, value };
        (tool.to_owned(), Some(field), format!("{tool} with `agent` {name:?}"))
    };
    let (tool, input, how) = if settings.offers(AgentToolset::Agent) {
        by_field(settings.config.tool_name.name())
    } else if settings.offers(AgentToolset::Delegate) {
        let tool = definition.tool_name();
        (tool.clone(), None, tool)
    } else if settings.offers(AgentToolset::Lifecycle) {
        by_field("agent_spawn")
    } else {
        return None;
    };
    let hint = format!("[The user asks for the agent {name} by name: call {how} first.]");
    let warning = format!("{}{name}: the answer did not start it", prompt::AGENT_PREFIX);
    Some(ForcedCall { tool, input, hint, warning })
}
