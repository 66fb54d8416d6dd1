//! Starts a headless run: the prompt from the arguments and stdin, the runtime behind it.

use std::io::{IsTerminal, Read};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::parts::{self, Wishes};
use super::{AppError, COMMAND_CAPACITY, Setup, log, session};
use crate::cli::{Cli, InputFormat, OutputFormat, PrintArgs};
use crate::config::KeySource;
use crate::config::models::Catalogue;
use crate::headless::{
    self, EVENT_CAPACITY, Headless, LimitsOf, ModelLimits, PromptSource, SessionInfo,
};
use crate::protocol::{Command, EventQueue};
use crate::provider::{Model, ModelError};
use crate::runtime::{Open, Parts, Runtime};
use crate::subagent::registry::Definitions;

/// More of stdin than this is not a prompt. Bytes.
const STDIN_LIMIT: u64 = 8 << 20;

/// How long a run that is done waits for agents in the background before they are cancelled.
const BACKGROUND_WAIT: Duration = Duration::from_secs(600);

/// Runs the prompts and answers with the exit code.
pub(super) fn run(cli: &Cli, setup: &Setup) -> Result<u8, AppError> {
    setup.check_depth()?;
    let prompts = prompts(cli)?;
    let Some(open) = session(&cli.session, setup)? else {
        return Err(AppError::Usage(
            "--resume needs an id here: caliban sessions lists them".to_owned(),
        ));
    };
    let _log = log::start(setup);
    let catalogue = parts::catalogue(setup)?;
    let events = EventQueue::with_capacity(EVENT_CAPACITY);
    let gate = setup.gate(false, &events)?;
    let models = Arc::new(setup.models(&catalogue));
    let notices = setup.loaded.notices.clone();
    if cli.print.output_format == Some(OutputFormat::StreamJson)
        && let Some(left_out) = setup.trust.notice(&setup.loaded.inert)
    {
        // The frames tell the program; who reads its log has to see it too. When stderr is gone, nobody does.
        let _ = headless::say(&format!("caliban: {left_out}"));
    }
    let patience = Some(BACKGROUND_WAIT);
    let mut wishes = Wishes { notices, patience, ..Wishes::of(cli, events) };
    parts::run(async {
        let model = models.first().await?.ok_or_else(no_model)?;
        wishes.notices.extend(models.notice(&model));
        let parts = setup.parts(wishes, gate, Some(model.clone()), models, catalogue);
        serve(info(setup, &parts, &model), parts, open, prompts, Face::of(&cli.print)).await
    })
}

fn no_model() -> ModelError {
    let why =
        "no model yet: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a server with --provider";
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
    info: SessionInfo,
    parts: Parts,
    open: Open,
    prompts: PromptSource,
    face: Face,
) -> Result<u8, AppError> {
    let (commands, receiver) = mpsc::channel(COMMAND_CAPACITY);
    let Face { format, verbose } = face;
    let events = parts.events.clone();
    let mut runtime = Runtime::new(parts);
    runtime.open(open).await.map_err(AppError::Usage)?;
    let mut backend = tokio::spawn(runtime.serve(receiver));
    let headless = Headless { commands: commands.clone(), events, info, format, verbose };
    let code = tokio::select! {
        code = headless::run(headless, prompts) => code?,
        _ = &mut backend => return Err(AppError::Internal),
    };
    // The runtime may be gone already; then there is nothing left to end.
    let _ = commands.send(Command::Shutdown).await;
    let _ = backend.await;
    Ok(code)
}

/// What the first frame tells of a session.
pub(super) fn info(setup: &Setup, parts: &Parts, model: &Model) -> SessionInfo {
    let agents = Definitions::load(&parts.definitions);
    let source = setup.loaded.config.key_source(model.provider.name(), &setup.env);
    SessionInfo {
        cwd: setup.cwd.display().to_string(),
        model: model.name.clone(),
        mode: parts.gate.mode(),
        tools: parts.tool_names(&agents),
        agents: agents.iter().map(|agent| agent.name.clone()).collect(),
        key_source: match source {
            Some(KeySource::Env { name, .. }) => name,
            Some(KeySource::Command(_)) => "api_key_command".to_owned(),
            Some(KeySource::Missing { .. } | KeySource::NotNeeded) | None => "none".to_owned(),
        },
        limits: limits(model, parts.catalogue.clone()),
        task_name: setup.loaded.config.subagents.compat_task_name,
    }
}

/// What models can take and give. Of the main one more may be known than the catalogue says.
fn limits(main: &Model, catalogue: Arc<Catalogue>) -> LimitsOf {
    let (name, info, wanted) = (main.name.clone(), main.info, main.wanted_tokens);
    LimitsOf::new(move |model| {
        let info = if model == name { info } else { catalogue.get(model) };
        ModelLimits {
            context_window: info.context_window,
            max_output: info.max_output.unwrap_or(wanted),
        }
    })
}

/// Where the prompts come from. What does not fit together is told before anything is read.
fn prompts(cli: &Cli) -> Result<PromptSource, AppError> {
    if cli.input_format.unwrap_or_default() == InputFormat::Text {
        return prompt(cli.prompt.as_deref()).map(PromptSource::One);
    }
    if cli.print.output_format != Some(OutputFormat::StreamJson) {
        let why = "--input-format stream-json needs --output-format stream-json";
        return Err(AppError::Usage(why.to_owned()));
    }
    if cli.prompt.is_some() {
        let why = "with --input-format stream-json prompts come over stdin, not as an argument";
        return Err(AppError::Usage(why.to_owned()));
    }
    Ok(PromptSource::Stdin)
}

/// The prompt: the argument, then what stdin says.
fn prompt(argument: Option<&str>) -> Result<String, AppError> {
    let mut prompt = argument.unwrap_or_default().to_owned();
    let mut stdin = std::io::stdin().lock();
    if !stdin.is_terminal() {
        let mut bytes = Vec::new();
        (&mut stdin).take(STDIN_LIMIT + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > STDIN_LIMIT {
            let mib = STDIN_LIMIT >> 20;
            return Err(AppError::Usage(format!(
                "stdin is longer than {mib} MB: name a file in the prompt instead"
            )));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            AppError::Usage(format!("stdin is not valid UTF-8 text (byte {at})"))
        })?;
        if !prompt.is_empty() && !text.trim().is_empty() {
            prompt.push_str("\n\n");
        }
        prompt.push_str(&text);
    }
    if prompt.trim().is_empty() {
        return Err(AppError::Usage("the prompt is blank: caliban -p \"what to do\"".to_owned()));
    }
    Ok(prompt)
}
