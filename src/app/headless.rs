//! Starts a headless run: prompts from the arguments and stdin, the runtime behind them.
//!
//! A driven start goes through these states. On every path a handshake gets exactly one answer:
//!
//! | state | next | on failure |
//! |---|---|---|
//! | arguments | setup | `refuse_handshake`: reads the first line and answers it if it is a handshake |
//! | setup, log, session | first line read | the same |
//! | first line is a handshake | backend prepared | `StdioTransport::refuse` |
//! | first line is anything else | backend prepared | stderr alone |
//! | backend prepared | accepted, served | results, per prompt |
//!
//! A failed start waits up to `HANDSHAKE_WAIT` for the first line, and not at all on a terminal.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing_appender::non_blocking::WorkerGuard;

use super::ask_tool::AskTool;
use super::choices::Choices;
use super::models::Models;
use super::parts::{self, COMMAND_CAPACITY, FrontendOptions};
use super::setup::{AppError, Setup, session};
use super::{log, resumed, theme};
use crate::cli::{Cli, InputFormat, OutputFormat, PromptTool};
use crate::commands::{CommandDef, CommandSet, CommandSources};
use crate::config::models::Catalogue;
use crate::config::{KeySource, LoadedConfig};
use crate::headless::{
    self, ControlBackend, EVENT_CAPACITY, Headless, HeadlessSettings, HookCallbacks, Initialize,
    LimitsLookup, McpInventory, ModelLimits, PromptInput, PromptSource, SessionInfo, SlashCommand,
    StateReader, StdioTransport,
};
use crate::hook::Hook;
use crate::permission::Gate;
use crate::protocol::{Charset, Command, EventFilter, EventQueue, PermissionMode, SharedPeer};
use crate::provider::{Model, ModelSource, ProviderError};
use crate::runtime::{OpenRequest, Runtime, RuntimeParts};
use crate::subagent::registry::Definitions;
use crate::tool::entry_matches;
use crate::tool::mcp::{Mcp, is_of_server};

/// The variable that says that the SDK reads `session_state_changed` itself.
const SDK_READS_STATE: &str = "CLAUDE_CODE_SDK_READS_SESSION_STATE";

/// The variable with which a program that uses the SDK requests these frames.
const EMIT_STATE: &str = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS";

/// How long a failed start waits for a handshake to answer.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(5);

/// How long the first frame waits for MCP servers.
const SERVERS_WAIT: Duration = Duration::from_secs(5);

/// How long a finished run waits for background agents before cancelling them.
const BACKGROUND_WAIT: Duration = Duration::from_secs(600);

/// Runs the prompts and returns the exit code. If the start fails, a driving program also gets the
/// reason as the answer to its handshake.
pub(crate) fn run(cli: &Cli, setup: Result<Setup, AppError>) -> Result<u8, AppError> {
    let is_driven = cli.drive.input_format == Some(InputFormat::StreamJson);
    let start = setup.and_then(|setup| prepare_start(cli, setup));
    let (setup, open, prompt, _log) = match start {
        Ok(start) => start,
        Err(error) => {
            if is_driven {
                refuse_handshake(&error.to_string());
            }
            return Err(error);
        }
    };
    parts::block_on(async {
        match prompt {
            Some(prompt) => {
                let parts = HeadlessParts::prepare(cli, setup, open, None, None).await?;
                Box::pin(serve(parts, PromptSource::One(prompt))).await
            }
            None => Box::pin(run_driven(cli, setup, open)).await,
        }
    })
}

/// Does everything that happens before the handshake is read.
fn prepare_start(
    cli: &Cli,
    mut setup: Setup,
) -> Result<(Setup, OpenRequest, Option<PromptInput>, Option<WorkerGuard>), AppError> {
    setup.check_depth()?;
    setup.check_sandbox()?;
    setup.loaded.notices.extend(theme::check(&setup).err());
    let prompt = read_prompt(cli)?;
    let Some(open) = session(&cli.session, &setup)? else {
        return Err(AppError::Usage(
            "--resume needs an id here: caliban sessions lists them".to_owned(),
        ));
    };
    resumed::keep_model(&mut setup, &open, &Choices::default());
    let log = log::start(&setup)?;
    if cli.print.output_format == Some(OutputFormat::StreamJson) {
        let charset = Charset::from_env(&setup.env);
        let LoadedConfig { untrusted, starts, .. } = &setup.loaded;
        for line in
            setup.trust.notice(untrusted).into_iter().chain(setup.trust.start_notice(starts))
        {
            // The frames notify the program; readers of its log must see it too. If stderr is gone,
            // nobody reads it.
            let _ = headless::say(&format!("caliban: {line}"), charset);
        }
    }
    Ok((setup, open, prompt, log))
}

/// Answers the handshake of a waiting program with an error. Returns at once on a terminal, and
/// after a timeout if no line arrives.
pub fn refuse_handshake(why: &str) {
    if std::io::stdin().is_terminal() {
        return;
    }
    // The caller reports the same error on stderr.
    let _ = parts::block_on(async {
        let refused = async {
            let (transport, _) = StdioTransport::open(false).await;
            transport.refuse(why).await;
        };
        Ok(tokio::time::timeout(HANDSHAKE_WAIT, refused).await)
    });
}

/// Runs the prompts of a driving program. Its handshake may define agents, hooks and servers.
async fn run_driven(cli: &Cli, setup: Setup, open: OpenRequest) -> Result<u8, AppError> {
    let (transport, introduction) = StdioTransport::open(asks_program(cli)).await;
    let prepared = match introduction.transpose() {
        Ok(introduction) => {
            HeadlessParts::prepare(cli, setup, open, introduction, Some(transport.peer())).await
        }
        Err(why) => Err(AppError::Usage(why)),
    };
    match prepared {
        Ok(parts) => {
            transport.accept(handshake_response(&parts.settings.info)).await;
            Box::pin(serve(parts, PromptSource::Stdio(Box::new(transport)))).await
        }
        Err(error) => {
            transport.refuse(&error.to_string()).await;
            Err(error)
        }
    }
}

/// Whether permission questions go to the driving program.
fn asks_program(cli: &Cli) -> bool {
    cli.drive.prompt_tool() == Some(&PromptTool::Stdio)
}

/// Returns the answer to a handshake.
fn handshake_response(info: &SessionInfo) -> Value {
    let command = |command: &SlashCommand| {
        let SlashCommand { name, description, argument_hint } = command;
        json!({"name": name, "description": description, "argumentHint": argument_hint})
    };
    let commands: Vec<_> = info.slash_commands.iter().map(command).collect();
    let agents: Vec<_> = info.agents.iter().map(|name| json!({"name": name})).collect();
    json!({
        "commands": commands, "agents": agents, "output_style": info.output_style,
        "available_output_styles": ["default"],
        "models": [{"value": info.model, "displayName": info.model, "description": ""}],
        "account": {}, "pid": std::process::id(), "mcp_servers_applied": true,
    })
}

/// Everything that a run needs except its prompts.
pub(crate) struct HeadlessParts {
    pub parts: RuntimeParts,
    pub open: OpenRequest,
    pub settings: HeadlessSettings,
}

impl HeadlessParts {
    async fn prepare(
        cli: &Cli,
        mut setup: Setup,
        open: OpenRequest,
        introduction: Option<Initialize>,
        peer: Option<SharedPeer>,
    ) -> Result<Self, AppError> {
        resumed::name_agent_tool(&mut setup, &open, introduction.is_some());
        let subagent_text = introduction.as_ref().is_none_or(|it| it.forward_subagent_text);
        let initialize = introduction.unwrap_or_default();
        let hooks = callback_hooks(initialize.hooks, peer.as_ref())?;
        let setup = setup.with_agents(initialize.agents.as_deref())?;
        let mut setup = setup.with_servers(&initialize.servers)?;
        let definition = setup.main_agent(cli)?;
        let catalogue = parts::catalogue(&setup)?;
        let wants = EventFilter {
            steps: cli.drive.include_partial_messages,
            hooks: cli.drive.include_hook_events,
            progress: false,
        };
        let events = EventQueue::with_filter(EVENT_CAPACITY, wants);
        let asks = cli.drive.prompt_tool().is_some();
        let gate = setup.gate(asks, &events)?;
        let models = Arc::new(setup.models(&catalogue));
        let mcp = setup.mcp(peer);
        let options = FrontendOptions::from_cli(cli, events, mcp.clone())?;
        let options = FrontendOptions {
            notices: [setup.loaded.notices.clone(), initialize.notices].concat(),
            background_wait: Some(BACKGROUND_WAIT),
            system_prompt: initialize.system_prompt.or(options.system_prompt),
            append_system_prompt: initialize.append_system_prompt.or(options.append_system_prompt),
            ..options
        };
        let mut options = options.with_definition(definition);
        let model = models.initial().await?.ok_or_else(no_model)?;
        options.notices.extend(models.notices(&model));
        let backend = Arc::new(AppControl {
            models: models.clone(),
            mcp: mcp.clone(),
            may_bypass: cli.tools.allow_dangerously_skip_permissions
                || gate.mode() == PermissionMode::BypassPermissions,
            gate: gate.clone(),
            only: options.tools.clone(),
            custom: setup.custom(),
        });
        let mut parts = setup.parts(options, gate, Some(model.clone()), models, catalogue);
        if let Some(skills) = initialize.skills {
            restrict_skills(&skills, &mut parts);
        }
        parts.hooks.register(hooks);
        let format = cli.print.output_format.unwrap_or_default();
        let charset = Charset::from_env(&setup.env);
        let info = info(&setup, &parts, &model, format);
        let info = SessionInfo { subagent_text, ..info };
        let is_set = |name: &str| setup.env.non_empty(name).is_some();
        let state_reader = match (is_set(EMIT_STATE), is_set(SDK_READS_STATE)) {
            (true, _) => Some(StateReader::Program),
            (false, true) => Some(StateReader::Sdk),
            (false, false) => None,
        };
        let asker = match cli.drive.prompt_tool() {
            Some(PromptTool::Mcp(name)) => Some(AskTool::named(name, mcp)),
            _ => None,
        };
        let settings = HeadlessSettings {
            info,
            format,
            verbose: cli.print.verbose,
            charset,
            backend,
            asker,
            state_reader,
            replays: cli.drive.replay_user_messages,
        };
        Ok(Self { parts, open, settings })
    }
}

/// Offers only these skills to models, and adds a notice about missing ones.
fn restrict_skills(skills: &[String], parts: &mut RuntimeParts) {
    parts.custom = parts.custom.clone().with_offered(skills);
    let commands = CommandSet::load(&parts.custom);
    let is_there = |name: &&String| commands.skills().any(|skill| skill.name == **name);
    let missing: Vec<_> =
        skills.iter().filter(|name| !is_there(name)).map(String::as_str).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ").escape_debug().to_string();
        parts.notices.push(format!("initialize: there is no skill named {missing}"));
    }
}

/// Creates hooks for the callbacks of the driving program.
fn callback_hooks(
    hooks: Vec<HookCallbacks>,
    peer: Option<&SharedPeer>,
) -> Result<Vec<Hook>, AppError> {
    let Some(peer) = peer else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for HookCallbacks { event, matcher, callback_ids, timeout } in hooks {
        for id in callback_ids {
            let hook = Hook::callback(event, matcher.as_deref(), timeout, id, peer.clone());
            all.push(hook.map_err(|why| {
                AppError::Usage(format!("initialize: a {} hook: {why}", event.name()))
            })?);
        }
    }
    Ok(all)
}

/// Implements control requests with the parts of the runtime.
struct AppControl {
    models: Arc<Models>,
    mcp: Mcp,
    gate: Gate,
    /// Whether the program may switch to the mode bypassPermissions.
    may_bypass: bool,
    /// If present, only these tools are offered.
    only: Option<Vec<String>>,
    custom: CommandSources,
}

#[async_trait]
impl ControlBackend for AppControl {
    async fn check_model(&self, name: &str) -> Result<(), String> {
        let found = self.models.resolve(None, name).await;
        found.map(drop).map_err(|error| error.to_string())
    }

    fn check_mode(&self, mode: PermissionMode) -> Result<(), String> {
        self.gate.check_mode(mode).map_err(|why| why.to_string())?;
        if mode == PermissionMode::BypassPermissions && !self.may_bypass {
            let why = "bypassPermissions is not allowed in this run: start with \
                       --allow-dangerously-skip-permissions, or in that mode";
            return Err(why.to_owned());
        }
        Ok(())
    }

    fn mcp_servers(&self) -> Vec<Value> {
        let offered = self.mcp.main().offered().tools;
        let tools = |server: &str| -> Vec<Value> {
            let names = offered.iter().map(|tool| &tool.spec().name);
            let own = names.filter(|name| is_of_server(server, name));
            own.map(|name| json!({"name": name})).collect()
        };
        let servers = self.mcp.status().into_iter();
        let shown = servers.map(|server| {
            let (name, status, tools) = (&server.name, server.state.label(), tools(&server.name));
            json!({"name": name, "status": status, "error": server.error, "tools": tools})
        });
        shown.collect()
    }

    async fn commands(&self) -> Vec<SlashCommand> {
        load_commands(self.custom.clone())
            .await
            .callable()
            .map(|command| slash_command(command))
            .collect()
    }

    async fn is_command(&self, prompt: &str) -> bool {
        load_commands(self.custom.clone()).await.expand(prompt).is_some()
    }

    async fn mcp_inventory(&self) -> McpInventory {
        let servers = self.mcp.wait_status(SERVERS_WAIT).await;
        let tools = self.mcp.main().offered().tools;
        let names = tools.iter().map(|tool| tool.spec().name.clone());
        let is_listed = |name: &String| {
            self.only
                .as_ref()
                .is_none_or(|only| only.iter().any(|entry| entry_matches(entry, name)))
        };
        let names = names.filter(|name| is_listed(name) && !self.gate.denies_tool(name));
        McpInventory { servers, tools: names.collect() }
    }
}

/// Reads the current commands and skills.
async fn load_commands(sources: CommandSources) -> CommandSet {
    match tokio::task::spawn_blocking(move || CommandSet::load(&sources)).await {
        Ok(commands) => commands,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn no_model() -> ProviderError {
    let why = "no model yet: set ANTHROPIC_API_KEY (or OPENAI_API_KEY, GEMINI_API_KEY), or name a server with --provider";
    ProviderError::auth(why)
}

/// Runs the prompts on a runtime of the given parts.
pub(crate) async fn serve(parts: HeadlessParts, prompts: PromptSource) -> Result<u8, AppError> {
    let (commands, receiver) = mpsc::channel(COMMAND_CAPACITY);
    let HeadlessParts { parts, open, settings } = parts;
    let charset = settings.charset;
    let (events, redactor) = (parts.events.clone(), parts.agents.redactor.clone());
    let mut runtime = Runtime::new(parts);
    runtime.open(open).await.map_err(AppError::Usage)?;
    let mut backend = tokio::spawn(runtime.serve(receiver));
    let headless =
        Headless { commands: commands.clone(), events: events.clone(), redactor, settings };
    let code = tokio::select! {
        code = headless::run(headless, prompts) => code,
        _ = &mut backend => return Err(AppError::Internal),
    };
    // Even if nobody reads any more, shut down so that the session is complete. The runtime may
    // already be gone.
    let _ = commands.send(Command::Shutdown).await;
    let _ = backend.await;
    // If stderr is gone, nobody can be notified.
    let _ = headless::say_remaining(&events, charset);
    Ok(code?)
}

/// Returns the contents of the first frame. Without frames nobody reads its lists, so the folders
/// of agents, commands and skills are not read.
pub(crate) fn info(
    setup: &Setup,
    parts: &RuntimeParts,
    model: &Model,
    format: OutputFormat,
) -> SessionInfo {
    let (agents, commands) = match format {
        OutputFormat::StreamJson => {
            (Definitions::load(&parts.definitions), CommandSet::load(&parts.custom))
        }
        OutputFormat::Text | OutputFormat::Json => (Definitions::default(), CommandSet::default()),
    };
    let source = setup.loaded.config.key_source(model.provider.name(), &setup.env);
    SessionInfo {
        cwd: setup.cwd.display().to_string(),
        model: model.name.clone(),
        mode: parts.agents.gate.mode(),
        tools: parts.tool_names(&agents, &commands),
        slash_commands: headless::own_commands()
            .chain(commands.callable().map(|command| slash_command(command)))
            .collect(),
        skills: commands.skills().map(|skill| skill.name.clone()).collect(),
        agents: agents.iter().map(|agent| agent.name.clone()).collect(),
        key_source: match source {
            Some(KeySource::Env { name, .. }) => name,
            Some(KeySource::Command(_)) => "api_key_command".to_owned(),
            Some(KeySource::Missing { .. } | KeySource::NotNeeded) | None => "none".to_owned(),
        },
        limits: limits(model, parts.catalogue.clone()),
        agent_tool: setup.loaded.config.subagents.tool_name.name().to_owned(),
        task_name: setup.loaded.config.subagents.compat_task_name,
        output_style: setup.loaded.output_style().unwrap_or("default").to_owned(),
        subagent_text: true,
    }
}

fn slash_command(command: &CommandDef) -> SlashCommand {
    SlashCommand {
        name: command.name.clone(),
        description: command.description.clone(),
        argument_hint: command.argument_hint.clone().unwrap_or_default(),
    }
}

/// Returns the limits of models. For the main model, more may be known than the catalogue says.
fn limits(main: &Model, catalogue: Arc<Catalogue>) -> LimitsLookup {
    let (name, info, wanted) = (main.name.clone(), main.info.clone(), main.wanted_tokens);
    LimitsLookup::new(move |model| {
        let info = if model == name { info.clone() } else { catalogue.get(model) };
        ModelLimits {
            context_window: info.context_window,
            max_output: info.max_output.unwrap_or_else(|| info.output_limit(wanted)),
        }
    })
}

/// Reads the prompt; `None` if prompts arrive as frames on stdin. Reports conflicting options
/// before reading anything.
fn read_prompt(cli: &Cli) -> Result<Option<PromptInput>, AppError> {
    let refuse = |why: &str| Err(AppError::Usage(why.to_owned()));
    let frames = cli.print.output_format == Some(OutputFormat::StreamJson);
    if cli.drive.include_partial_messages && !frames {
        return refuse("--include-partial-messages needs --output-format stream-json");
    }
    if cli.drive.include_hook_events && !frames {
        return refuse("--include-hook-events needs --output-format stream-json");
    }
    if cli.drive.input_format.unwrap_or_default() == InputFormat::Text {
        if cli.drive.replay_user_messages {
            return refuse("--replay-user-messages needs --input-format stream-json");
        }
        if asks_program(cli) {
            return refuse("--permission-prompt-tool stdio needs --input-format stream-json");
        }
        return super::prompt::read(cli).map(Some);
    }
    if !frames {
        return refuse("--input-format stream-json needs --output-format stream-json");
    }
    // Programs pass an empty argument after an option without a value.
    if cli.prompt.as_deref().is_some_and(|prompt| !prompt.trim().is_empty()) {
        return refuse(
            "with --input-format stream-json prompts come over stdin, not as an argument",
        );
    }
    Ok(None)
}
