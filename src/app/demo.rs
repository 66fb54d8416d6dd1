//! The demo: the same program with a scripted model, in a temporary copy of the sample project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::headless::{self, HeadlessParts, OutputOptions};
use super::parts::FrontendOptions;
use super::screen::{self, Screen, ScreenStart};
use super::{AppError, Setup, parts};
use crate::cli::{Cli, PrintArgs};
use crate::command::demo::{SCENARIO, demo_rules, unpack};
use crate::config::models::{Catalogue, ModelInfo, Price, Pricing};
use crate::config::{Dirs, Overrides};
use crate::headless::{ControlBackend, EVENT_CAPACITY, PromptSource};
use crate::protocol::{EnvOverlay, EventQueue, SessionId};
use crate::provider::scripted::{MODEL, Scripted};
use crate::provider::{ChildModel, Model, ModelSource, ProviderError, RetryPolicy};
use crate::runtime::OpenRequest;
use crate::tui::PendingInput;

/// Runs the demo, on the screen or headless.
pub(super) fn run(cli: &Cli, env: &EnvOverlay, args: &PrintArgs) -> Result<u8, AppError> {
    let print = args.print;
    let temp_root = env.non_empty("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    if !print {
        screen::check_terminal(env)?;
    }
    let project = unpack(&temp_root)?;
    let setup = setup(cli, env, project.root(), print)?;
    setup.check_depth()?;
    let scripted = Scripted::from_toml(SCENARIO, Path::new("assets/demo/scenario.toml"))
        .map_err(|error| AppError::Usage(error.to_string()))?
        .with_speed(if print { 0.0 } else { 1.0 });
    let prompt = scripted.prompt().to_owned();
    let catalogue = Arc::new(Catalogue::built_in());
    let model = Model {
        provider: Arc::new(scripted),
        name: MODEL.to_owned(),
        info: ModelInfo { pricing: Pricing::Known(Price::FREE), ..catalogue.get(MODEL) },
        wanted_tokens: setup.loaded.config.model.max_tokens,
        effort: None,
        retry: RetryPolicy::default(),
        fallback: None,
    };
    let events =
        if print { EventQueue::with_capacity(EVENT_CAPACITY) } else { EventQueue::unbounded() };
    let gate = setup.gate(!print, &events)?;
    let open = OpenRequest::New(SessionId::generate());
    if print {
        let wishes = FrontendOptions {
            stored: false,
            ..FrontendOptions::from_cli(cli, events, setup.mcp(None))?
        };
        let parts = setup.parts(wishes, gate, Some(model.clone()), Arc::new(DemoModel), catalogue);
        let face = OutputOptions::from_args(args);
        let info = headless::info(&setup, &parts, &model, face.format);
        let backend = HeadlessParts {
            info,
            parts,
            open,
            control: Arc::new(DemoModel),
            asker: None,
            state_reader: None,
            replays: false,
        };
        return parts::block_on(headless::serve(backend, PromptSource::One(prompt), face));
    }
    let mcp = setup.mcp(None);
    let wishes = FrontendOptions {
        stored: false,
        ..FrontendOptions::from_cli(cli, events.clone(), mcp.clone())?
    };
    let parts =
        setup.parts(wishes, gate.clone(), Some(model), Arc::new(DemoModel), catalogue.clone());
    let start = ScreenStart {
        prompt: Some(prompt),
        no_color: cli.common.no_color,
        stored: false,
        pick_session: false,
        scripted: true,
        typed: PendingInput::default(),
    };
    screen::show(
        &setup,
        async { parts },
        Screen { events, catalogue, models: None, gate, open, start, mcp },
    )
}

/// Returns a setup that neither reads nor writes any files of the user.
fn setup(cli: &Cli, env: &EnvOverlay, root: &Path, print: bool) -> Result<Setup, AppError> {
    let home = root.with_file_name("home");
    let env = env.with([("CALIBAN_HOME", home)]).without([
        "CALIBAN_PROVIDER",
        "CALIBAN_MODEL",
        "ANTHROPIC_BASE_URL",
        "OPENAI_BASE_URL",
    ]);
    let overrides = Overrides {
        allow: demo_rules(print).into_iter().map(str::to_owned).collect(),
        theme: cli.common.theme.clone(),
        log_level: cli.common.log_level.clone(),
        ..Overrides::default()
    };
    let dirs = Dirs { claude: None, shared: None, ..Dirs::new(&env, root)? };
    Setup::with_dirs(dirs, root.into(), env, &overrides)
}

/// The source of the demo's only model.
struct DemoModel;

#[async_trait]
impl ModelSource for DemoModel {
    async fn resolve(&self, _provider: Option<&str>, model: &str) -> Result<Model, ProviderError> {
        Err(ProviderError::bad_request(format!(
            "The demo only has a scripted model: to use {model}, run caliban itself."
        )))
    }

    /// Uses the same script for every sub-agent.
    async fn child(&self, ask: ChildModel<'_>) -> Result<Model, ProviderError> {
        Ok(ask.parent.clone())
    }

    fn allowed(&self) -> Vec<(String, Vec<String>)> {
        Vec::new()
    }

    fn examples(&self, _parent: &str) -> Option<(String, Vec<String>)> {
        None
    }
}

/// Nobody sends control requests to the demo.
#[async_trait]
impl ControlBackend for DemoModel {
    async fn check_model(&self, name: &str) -> Result<(), String> {
        self.resolve(None, name).await.map(drop).map_err(|error| error.to_string())
    }

    fn mcp_servers(&self) -> Vec<Value> {
        Vec::new()
    }
}
