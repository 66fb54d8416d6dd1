//! `caliban demo`: the same program with a scripted model, in a temporary copy of the sample project.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tempfile::TempDir;

use crate::app::headless::{self, HeadlessParts};
use crate::app::parts::{self, FrontendOptions};
use crate::app::screen::{self, Screen, ScreenEnd, ScreenStart};
use crate::app::setup::{AppError, Setup};
use crate::cli::{Cli, PrintArgs};
use crate::config::models::{Catalogue, ModelInfo, Price, Pricing};
use crate::config::{Dirs, Overrides};
use crate::headless::{
    ControlBackend, EVENT_CAPACITY, HeadlessSettings, PromptInput, PromptSource,
};
use crate::protocol::{Charset, EnvOverlay, EventQueue, SessionId};
use crate::provider::scripted::{MODEL, Scripted};
use crate::provider::{ChildModel, Model, ModelSource, ProviderError, RetryPolicy};
use crate::runtime::OpenRequest;
use crate::tui::PendingInput;

/// The script of the demo's model.
pub const SCENARIO: &str = include_str!("../../assets/demo/scenario.toml");

/// The name of the project's folder, which the screen shows.
const PROJECT_NAME: &str = "shop";

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../assets/demo/project/", $path)))),+]
    };
}

const PROJECT_FILES: &[(&str, &str)] = files![
    "AGENTS.md",
    "README.md",
    "bin/price.sh",
    "bin/receipt.sh",
    "data/cart.txt",
    "data/prices.txt",
    "lib/catalog.sh",
    "lib/discount.sh",
    "lib/line.sh",
    "lib/money.sh",
    "tests/run.sh",
];

/// Runs the demo, on the screen or headless.
pub(crate) fn run(cli: &Cli, env: &EnvOverlay, args: &PrintArgs) -> Result<u8, AppError> {
    let print = args.print;
    let temp_root = env.non_empty("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    if !print {
        screen::check_terminal(env)?;
    }
    let project = unpack(&temp_root)?;
    let setup = setup(cli, env, project.root(), print)?;
    setup.check_depth()?;
    let catalogue = Arc::new(Catalogue::built_in());
    let (model, prompt) = scripted_model(&setup, &catalogue, if print { 0.0 } else { 1.0 })?;
    let events =
        if print { EventQueue::with_capacity(EVENT_CAPACITY) } else { EventQueue::unbounded() };
    let gate = setup.gate(!print, &events)?;
    let open = OpenRequest::New(SessionId::generate());
    if print {
        let options = FrontendOptions {
            stored: false,
            ..FrontendOptions::from_cli(cli, events, setup.mcp(None))?
        };
        let parts = setup.parts(options, gate, Some(model.clone()), Arc::new(DemoModel), catalogue);
        let format = args.output_format.unwrap_or_default();
        let settings = HeadlessSettings {
            info: headless::info(&setup, &parts, &model, format),
            format,
            verbose: args.verbose,
            charset: Charset::from_env(env),
            backend: Arc::new(DemoModel),
            asker: None,
            state_reader: None,
            replays: false,
        };
        let parts = HeadlessParts { parts, open, settings };
        return parts::block_on(headless::serve(
            parts,
            PromptSource::One(PromptInput::text(prompt)),
        ));
    }
    let mcp = setup.mcp(None);
    let options = FrontendOptions {
        stored: false,
        ..FrontendOptions::from_cli(cli, events.clone(), mcp.clone())?
    };
    let parts =
        setup.parts(options, gate.clone(), Some(model), Arc::new(DemoModel), catalogue.clone());
    let start = ScreenStart {
        prompt: Some(prompt),
        no_color: cli.common.no_color,
        stored: false,
        pick_session: false,
        scripted: true,
        typed: PendingInput::default(),
    };
    let shown = Screen {
        choices: None,
        retention: None,
        events,
        catalogue,
        models: None,
        gate,
        open,
        start,
        mcp,
    };
    match screen::show(&setup, async { parts }, shown)? {
        ScreenEnd::Exit(code) => Ok(code),
        // The demo has a model, and so no list that offers it.
        ScreenEnd::Demo => Ok(0),
    }
}

/// Returns the model that plays the script, and the prompt that the script begins with.
fn scripted_model(
    setup: &Setup,
    catalogue: &Catalogue,
    speed: f64,
) -> Result<(Model, String), AppError> {
    let scripted = Scripted::from_toml(SCENARIO, Path::new("assets/demo/scenario.toml"))
        .map_err(|error| AppError::Usage(error.to_string()))?
        .with_speed(speed);
    let prompt = scripted.prompt().to_owned();
    let model = Model {
        provider: Arc::new(scripted),
        name: MODEL.to_owned(),
        info: ModelInfo { pricing: Pricing::Known(Price::FREE), ..catalogue.get(MODEL) },
        wanted_tokens: setup.loaded.config.model.max_tokens,
        effort: None,
        retry: RetryPolicy::default(),
        fallback: None,
    };
    Ok((model, prompt))
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
        screen_reader: cli.common.screen_reader,
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

/// A copy of the sample project. Dropping it removes the copy.
#[derive(Debug)]
pub struct DemoProject {
    root: PathBuf,
    _dir: TempDir,
}

impl DemoProject {
    /// Returns the project's folder: absolute, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Writes the sample project into a new folder below `temp_root`.
pub fn unpack(temp_root: &Path) -> Result<DemoProject, AppError> {
    let failed = |path: &Path, source| AppError::Demo { path: path.to_owned(), source };
    let dir = tempfile::Builder::new()
        .prefix("caliban-demo-")
        .tempdir_in(temp_root)
        .map_err(|error| failed(temp_root, error))?;
    let root = dir.path().join(PROJECT_NAME);
    for (name, text) in PROJECT_FILES {
        let path = root.join(name);
        write(&path, text).map_err(|error| failed(&path, error))?;
    }
    let root = root.canonicalize().map_err(|error| failed(&root, error))?;
    Ok(DemoProject { root, _dir: dir })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Returns the allow rules of a demo run. On the screen they leave out the edit, so that the demo
/// shows one question with its diff; in a headless run nobody could answer it.
pub fn demo_rules(headless: bool) -> Vec<&'static str> {
    let mut rules = vec!["AgentTool", "Bash(bash bin/price.sh tea 10)", "Bash(bash tests/run.sh)"];
    if headless {
        rules.push("Edit(lib/**)");
    }
    rules
}

#[cfg(test)]
mod tests;
