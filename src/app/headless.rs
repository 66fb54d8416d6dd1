//! Starts a headless run: prompts from the arguments and stdin, the runtime behind them.
//!
//! A driven start goes through these states; a handshake gets exactly one answer on every way:
//!
//! | state | next | on failure |
//! |---|---|---|
//! | arguments | setup | `refuse_handshake`: reads the first line and answers it if it is a handshake |
//! | setup, log, session | first line read | the same |
//! | first line is a handshake | backend prepared | `Link::refuse` |
//! | first line is anything else | backend prepared | stderr alone |
//! | backend prepared | accepted, served | results, per prompt |
//!
//! A failed start waits for the first line at most `HANDSHAKE_WAIT`, and not at all on a terminal.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing_appender::non_blocking::WorkerGuard;

use super::ask_tool::AskTool;
use super::models::Models;
use super::parts::{self, Wishes};
use super::{AppError, COMMAND_CAPACITY, Setup, log, resumed, session};
use crate::cli::{Cli, InputFormat, OutputFormat, PrintArgs, PromptTool};
use crate::config::models::Catalogue;
use crate::config::{KeySource, Loaded};
use crate::custom::{Custom, CustomSources, Customs};
use crate::headless::{
    self, Asker, Backstage, EVENT_CAPACITY, Headless, HookCallbacks, Initialize, LimitsOf, Link,
    ModelLimits, PromptSource, Served, SessionInfo, SlashCommand, StateReader,
};
use crate::hook::Hook;
use crate::permission::Gate;
use crate::protocol::{Command, EventQueue, Mode, SharedPeer, Wants};
use crate::provider::{Model, ModelError, ModelSource};
use crate::runtime::{Open, Parts, Runtime};
use crate::subagent::registry::Definitions;
use crate::tool::lists;
use crate::tool::mcp::{Mcp, is_of_server};

/// The variable by which the SDK says that it reads `session_state_changed` itself.
const SDK_READS_STATE: &str = "CLAUDE_CODE_SDK_READS_SESSION_STATE";

/// The variable by which a program behind the SDK asks for these frames.
const EMIT_STATE: &str = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS";

/// How long a start that has failed waits for a handshake to answer.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(5);

/// How long the first frame waits for MCP servers.
const SERVERS_WAIT: Duration = Duration::from_secs(5);

/// How long a run that is done waits for agents in the background before they are cancelled.
const BACKGROUND_WAIT: Duration = Duration::from_secs(600);

/// Runs the prompts and answers with the exit code. A driving program gets the reason of a start
/// that fails as the answer to its handshake too.
pub(super) fn run(cli: &Cli, setup: Result<Setup, AppError>) -> Result<u8, AppError> {
    let is_driven = cli.drive.input_format == Some(InputFormat::StreamJson);
    let begun = setup.and_then(|setup| begin(cli, setup));
    let (setup, open, prompt, _log) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            if is_driven {
                refuse_handshake(&error.to_string());
            }
            return Err(error);
        }
    };
    parts::run(async {
        match prompt {
            Some(prompt) => {
                let backend = Backend::prepare(cli, setup, open, None, None).await?;
                Box::pin(serve(backend, PromptSource::One(prompt), Face::of(&cli.print))).await
            }
            None => Box::pin(driven(cli, setup, open)).await,
        }
    })
}

/// Does everything that comes before the handshake is read.
fn begin(
    cli: &Cli,
    mut setup: Setup,
) -> Result<(Setup, Open, Option<String>, Option<WorkerGuard>), AppError> {
    setup.check_depth()?;
    setup.check_sandbox()?;
    let prompt = prompt_of(cli)?;
    let Some(open) = session(&cli.session, &setup)? else {
        return Err(AppError::Usage(
            "--resume needs an id here: caliban sessions lists them".to_owned(),
        ));
    };
    resumed::keep_model(&mut setup, &open);
    let log = log::start(&setup)?;
    if cli.print.output_format == Some(OutputFormat::StreamJson) {
        let Loaded { inert, starts, .. } = &setup.loaded;
        for line in setup.trust.notice(inert).into_iter().chain(setup.trust.start_notice(starts)) {
            // The frames tell the program; who reads its log has to see it too. When stderr is
            // gone, nobody does.
            let _ = headless::say(&format!("caliban: {line}"));
        }
    }
    Ok((setup, open, prompt, log))
}

/// Answers the handshake of a program that waits for it with an error. Returns at once where
/// nothing can drive this program, and soon where nothing comes.
pub fn refuse_handshake(why: &str) {
    if std::io::stdin().is_terminal() {
        return;
    }
    // The caller reports the same error on stderr.
    let _ = parts::run(async {
        let refused = async {
            let (link, _) = Link::open(false).await;
            link.refuse(why).await;
        };
        Ok(tokio::time::timeout(HANDSHAKE_WAIT, refused).await)
    });
}

/// Runs what another program sends. What it says first may tell what the agents are made of.
async fn driven(cli: &Cli, setup: Setup, open: Open) -> Result<u8, AppError> {
    let (link, introduction) = Link::open(asks_program(cli)).await;
    let prepared = match introduction.transpose() {
        Ok(introduction) => {
            Backend::prepare(cli, setup, open, introduction, Some(link.peer())).await
        }
        Err(why) => Err(AppError::Usage(why)),
    };
    match prepared {
        Ok(backend) => {
            link.accept(greeting(&backend.info)).await;
            Box::pin(serve(backend, PromptSource::Link(Box::new(link)), Face::of(&cli.print))).await
        }
        Err(error) => {
            link.refuse(&error.to_string()).await;
            Err(error)
        }
    }
}

/// Whether permission questions go to the driving program.
fn asks_program(cli: &Cli) -> bool {
    cli.drive.prompt_tool() == Some(&PromptTool::Stdio)
}

/// What the program that introduces itself is told of us.
fn greeting(info: &SessionInfo) -> Value {
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

/// All that a run needs but its prompts.
pub(super) struct Backend {
    pub info: SessionInfo,
    pub parts: Parts,
    pub open: Open,
    pub backstage: Arc<dyn Backstage>,
    /// Who answers permission questions, if not the driving program.
    pub asker: Option<Arc<dyn Asker>>,
    /// The reader of `session_state_changed` frames. Without one, none are written.
    pub state_reader: Option<StateReader>,
    /// Whether it wants each prompt repeated.
    pub replays: bool,
}

impl Backend {
    async fn prepare(
        cli: &Cli,
        mut setup: Setup,
        open: Open,
        introduction: Option<Initialize>,
        peer: Option<SharedPeer>,
    ) -> Result<Self, AppError> {
        resumed::name_agent_tool(&mut setup, &open, introduction.is_some());
        let subagent_text = introduction.as_ref().is_none_or(|it| it.forward_subagent_text);
        let initialize = introduction.unwrap_or_default();
        let hooks = callbacks(initialize.hooks, peer.as_ref())?;
        let setup = setup.with_agents(initialize.agents.as_deref())?;
        let mut setup = setup.with_servers(&initialize.servers)?;
        let definition = setup.main_agent(cli)?;
        let catalogue = parts::catalogue(&setup)?;
        let wants = Wants {
            steps: cli.drive.include_partial_messages,
            hooks: cli.drive.include_hook_events,
            progress: false,
        };
        let events = EventQueue::with_wants(EVENT_CAPACITY, wants);
        let asks = cli.drive.prompt_tool().is_some();
        let gate = setup.gate(asks, &events)?;
        let models = Arc::new(setup.models(&catalogue));
        let mcp = setup.mcp(peer);
        let wishes = Wishes::of(cli, events, mcp.clone())?;
        let wishes = Wishes {
            notices: [setup.loaded.notices.clone(), initialize.notices].concat(),
            patience: Some(BACKGROUND_WAIT),
            system_prompt: initialize.system_prompt.or(wishes.system_prompt),
            append_system_prompt: initialize.append_system_prompt.or(wishes.append_system_prompt),
            ..wishes
        };
        let mut wishes = wishes.with_definition(definition);
        let model = models.first().await?.ok_or_else(no_model)?;
        wishes.notices.extend(models.notices(&model));
        let backstage = Arc::new(Behind {
            models: models.clone(),
            mcp: mcp.clone(),
            may_bypass: cli.tools.allow_dangerously_skip_permissions
                || gate.mode() == Mode::BypassPermissions,
            gate: gate.clone(),
            only: wishes.tools.clone(),
            custom: setup.custom(),
        });
        let mut parts = setup.parts(wishes, gate, Some(model.clone()), models, catalogue);
        if let Some(skills) = initialize.skills {
            offer(&skills, &mut parts);
        }
        parts.hooks.register(hooks);
        let info = info(&setup, &parts, &model, Face::of(&cli.print).format);
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
        let replays = cli.drive.replay_user_messages;
        Ok(Self { info, parts, open, backstage, asker, state_reader, replays })
    }
}

/// Offers models these skills alone, and tells which of them there are not.
fn offer(skills: &[String], parts: &mut Parts) {
    parts.custom = parts.custom.clone().offering(skills);
    let customs = Customs::load(&parts.custom);
    let is_there = |name: &&String| customs.skills().any(|skill| skill.name == **name);
    let missing: Vec<_> =
        skills.iter().filter(|name| !is_there(name)).map(String::as_str).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ").escape_debug().to_string();
        parts.notices.push(format!("initialize: models can be offered no skill named {missing}"));
    }
}

/// Hooks that the driving program runs.
fn callbacks(hooks: Vec<HookCallbacks>, peer: Option<&SharedPeer>) -> Result<Vec<Hook>, AppError> {
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

/// What control requests may ask of the parts.
struct Behind {
    models: Arc<Models>,
    mcp: Mcp,
    gate: Gate,
    /// The program may choose the mode bypassPermissions.
    may_bypass: bool,
    /// Only these tools, when given.
    only: Option<Vec<String>>,
    custom: CustomSources,
}

#[async_trait]
impl Backstage for Behind {
    async fn check_model(&self, name: &str) -> Result<(), String> {
        let found = self.models.resolve(None, name).await;
        found.map(drop).map_err(|error| error.to_string())
    }

    fn check_mode(&self, mode: Mode) -> Result<(), String> {
        self.gate.check_mode(mode).map_err(|why| why.to_string())?;
        if mode == Mode::BypassPermissions && !self.may_bypass {
            let why = "bypassPermissions was not allowed at the start: start with \
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
            let (name, status, tools) = (&server.name, server.state.word(), tools(&server.name));
            json!({"name": name, "status": status, "error": server.error, "tools": tools})
        });
        shown.collect()
    }

    async fn commands(&self) -> Vec<SlashCommand> {
        load(self.custom.clone()).await.callable().map(|custom| slash_command(custom)).collect()
    }

    async fn expands(&self, prompt: &str) -> bool {
        load(self.custom.clone()).await.expand(prompt).is_some()
    }

    async fn served(&self) -> Served {
        let servers = self.mcp.settled_status(SERVERS_WAIT).await;
        let tools = self.mcp.main().offered().tools;
        let names = tools.iter().map(|tool| tool.spec().name.clone());
        let is_listed = |name: &String| {
            self.only.as_ref().is_none_or(|only| only.iter().any(|entry| lists(entry, name)))
        };
        let names = names.filter(|name| is_listed(name) && !self.gate.withholds(name));
        Served { servers, tools: names.collect() }
    }
}

/// Reads the commands and skills as their files are now.
async fn load(sources: CustomSources) -> Customs {
    match tokio::task::spawn_blocking(move || Customs::load(&sources)).await {
        Ok(customs) => customs,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn no_model() -> ModelError {
    let why = "no model yet: set ANTHROPIC_API_KEY (or OPENAI_API_KEY, GEMINI_API_KEY), or name a server with --provider";
    ModelError::Auth(why.to_owned())
}

/// How the answer is written.
#[derive(Clone, Copy)]
pub(super) struct Face {
    pub format: OutputFormat,
    pub verbose: bool,
}

impl Face {
    /// The face that the arguments ask for.
    pub fn of(args: &PrintArgs) -> Self {
        Self { format: args.output_format.unwrap_or_default(), verbose: args.verbose }
    }
}

/// Runs the prompts over a runtime of the given parts.
pub(super) async fn serve(
    backend: Backend,
    prompts: PromptSource,
    face: Face,
) -> Result<u8, AppError> {
    let (commands, receiver) = mpsc::channel(COMMAND_CAPACITY);
    let Backend { info, parts, open, backstage, asker, state_reader, replays } = backend;
    let Face { format, verbose } = face;
    let (events, redactor) = (parts.events.clone(), parts.redactor.clone());
    let mut runtime = Runtime::new(parts);
    runtime.open(open).await.map_err(AppError::Usage)?;
    let mut backend = tokio::spawn(runtime.serve(receiver));
    let headless = Headless {
        commands: commands.clone(),
        events: events.clone(),
        info,
        format,
        verbose,
        backstage,
        asker,
        state_reader,
        replays,
        redactor,
    };
    let code = tokio::select! {
        code = headless::run(headless, prompts) => code,
        _ = &mut backend => return Err(AppError::Internal),
    };
    // Also when nobody reads any more: all that works is ended, and the session is whole. The
    // runtime may be gone already; then there is nothing left to end.
    let _ = commands.send(Command::Shutdown).await;
    let _ = backend.await;
    // When stderr is gone, nobody is there who could be told.
    let _ = headless::say_rest(&events);
    Ok(code?)
}

/// What the first frame tells of a session. Where no frames are written, nobody reads its lists:
/// the folders of agents, commands and skills are not looked at for them then.
pub(super) fn info(
    setup: &Setup,
    parts: &Parts,
    model: &Model,
    format: OutputFormat,
) -> SessionInfo {
    let (agents, customs) = match format {
        OutputFormat::StreamJson => {
            (Definitions::load(&parts.definitions), Customs::load(&parts.custom))
        }
        OutputFormat::Text | OutputFormat::Json => (Definitions::default(), Customs::default()),
    };
    let source = setup.loaded.config.key_source(model.provider.name(), &setup.env);
    SessionInfo {
        cwd: setup.cwd.display().to_string(),
        model: model.name.clone(),
        mode: parts.gate.mode(),
        tools: parts.tool_names(&agents, &customs),
        slash_commands: headless::own_commands()
            .chain(customs.callable().map(|custom| slash_command(custom)))
            .collect(),
        skills: customs.skills().map(|skill| skill.name.clone()).collect(),
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

fn slash_command(custom: &Custom) -> SlashCommand {
    SlashCommand {
        name: custom.name.clone(),
        description: custom.description.clone(),
        argument_hint: custom.argument_hint.clone().unwrap_or_default(),
    }
}

/// What models can take and give. Of the main one more may be known than the catalogue says.
fn limits(main: &Model, catalogue: Arc<Catalogue>) -> LimitsOf {
    let (name, info, wanted) = (main.name.clone(), main.info.clone(), main.wanted_tokens);
    LimitsOf::new(move |model| {
        let info = if model == name { info.clone() } else { catalogue.get(model) };
        ModelLimits {
            context_window: info.context_window,
            max_output: info.max_output.unwrap_or_else(|| info.output_limit(wanted)),
        }
    })
}

/// The prompt; `None` where prompts come as frames over stdin. What does not fit together is told
/// before anything is read.
fn prompt_of(cli: &Cli) -> Result<Option<String>, AppError> {
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
        return super::prompt::read(cli.prompt.as_deref()).map(Some);
    }
    if !frames {
        return refuse("--input-format stream-json needs --output-format stream-json");
    }
    // Programs pass an empty word behind an option without a value.
    if cli.prompt.as_deref().is_some_and(|prompt| !prompt.trim().is_empty()) {
        return refuse(
            "with --input-format stream-json prompts come over stdin, not as an argument",
        );
    }
    Ok(None)
}
