//! Starts the screen: the first frame first, the backend behind it.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::doctor::Doctor;
use super::host::Machine;
use super::keys::Own;
use super::models::Models;
use super::parts::{self, Wishes};
use super::trust::{self, Settled};
use super::{AppError, COMMAND_CAPACITY, Setup, keys, log, resumed, session};
use crate::cli::Cli;
use crate::command::Report;
use crate::config::models::Catalogue;
use crate::config::{self, Config};
use crate::headless::say_rest;
use crate::permission::Gate;
use crate::protocol::{Command, EnvOverlay, EventQueue, NoticeLevel, SessionId};
use crate::runtime::{Open, Parts, Runtime};
use crate::tool::mcp::Mcp;
use crate::tui::settings::{FirstRun, Motion, Panes, StartInfo, TuiSettings};
use crate::tui::{self, TuiIo, Typed};

/// The file in the data folder that remembers prompts.
const HISTORY_FILE: &str = "history.jsonl";

/// Shows the screen until the person leaves, and answers with the exit code.
pub(super) fn run(cli: &Cli, setup: Setup) -> Result<u8, AppError> {
    setup.check_depth()?;
    check_terminal(&setup.env)?;
    let (mut setup, typed) = match trust::settle(cli, setup)? {
        Settled::Start(setup, typed) => (*setup, typed),
        Settled::Leave(code) => return Ok(code),
    };
    setup.check_sandbox()?;
    let open = session(&cli.session, &setup)?;
    if let Some(open) = &open {
        resumed::keep_model(&mut setup, open);
        resumed::name_agent_tool(&mut setup, open, false);
    }
    let definition = setup.main_agent(cli)?;
    let events = EventQueue::unhurried();
    let catalogue = parts::catalogue(&setup)?;
    let gate = setup.gate(true, &events)?;
    let start = Start {
        prompt: cli.prompt.clone(),
        no_color: cli.common.no_color,
        stored: !cli.session.no_session,
        pick_session: open.is_none(),
        scripted: false,
        typed,
    };
    let open = open.unwrap_or_else(|| Open::New(SessionId::generate()));
    let mcp = setup.mcp(None);
    let mut wishes = Wishes::of(cli, events.clone(), mcp.clone())?.with_definition(definition);
    let setup = Arc::new(setup);
    let models = Arc::new(setup.models(&catalogue));
    let (theirs, for_gate, for_catalogue) = (setup.clone(), gate.clone(), catalogue.clone());
    let for_parts = models.clone();
    let parts = async move {
        let models = for_parts;
        let model = models.first().await.unwrap_or_else(|error| {
            wishes.events.sink().notice(NoticeLevel::Error, error.to_string());
            None
        });
        wishes.notices.extend(model.iter().flat_map(|model| models.notices(model)));
        theirs.parts(wishes, for_gate, model, models, for_catalogue)
    };
    show(&setup, parts, Shown { events, catalogue, models: Some(models), gate, open, start, mcp })
}

/// A terminal that cannot move its cursor has no place for a screen.
pub(super) fn check_terminal(env: &EnvOverlay) -> Result<(), AppError> {
    if env.get("TERM") != Some("dumb") {
        return Ok(());
    }
    let text = "TERM is \"dumb\", and the screen needs a terminal that can move its cursor; run `caliban -p PROMPT` for \
                an answer without the screen";
    Err(AppError::Usage(text.to_owned()))
}

/// How a screen starts.
pub(super) struct Start {
    /// Sent at once.
    pub prompt: Option<String>,
    pub no_color: bool,
    /// Whether sessions and prompts are kept.
    pub stored: bool,
    /// Whether the list of sessions opens first.
    pub pick_session: bool,
    pub scripted: bool,
    /// What was typed before the screen was there.
    pub typed: Typed,
}

/// What the screen and its backend have in common.
pub(super) struct Shown {
    pub events: EventQueue,
    pub catalogue: Arc<Catalogue>,
    /// What models can be picked from.
    pub models: Option<Arc<Models>>,
    pub gate: Gate,
    pub open: Open,
    pub start: Start,
    pub mcp: Mcp,
}

/// Shows the screen with the backend that `parts` becomes. What making the parts costs is not waited for.
pub(super) fn show(
    setup: &Setup,
    parts: impl Future<Output = Parts> + Send + 'static,
    shown: Shown,
) -> Result<u8, AppError> {
    let config = &setup.loaded.config;
    let log = log::start(setup)?;
    let Shown { events, catalogue, models, gate, open, mut start, mcp } = shown;
    let typed = std::mem::take(&mut start.typed);
    let (commands, receiver) = mpsc::channel(COMMAND_CAPACITY);
    let machine = Machine {
        cwd: setup.cwd.clone(),
        project: setup.starts.project().clone(),
        env: setup.env.clone(),
        definitions: setup.definitions.clone(),
        custom: setup.custom(),
        doctor: Doctor::of(setup),
        store: setup.store(),
        models,
        secrets: config.key_variables().into_iter().map(str::to_owned).collect(),
        history: start.stored.then(|| setup.dirs.data.join(HISTORY_FILE)),
        mcp,
    };
    let window = (!start.scripted).then(|| label(config, setup)).flatten();
    let window = window.map(|name| catalogue.get(catalogue.resolve_alias(&name)).context_window);
    let (keymap, own) = keys::keymap(&setup.dirs)?;
    let settings = settings(setup, start.no_color);
    let mut start = StartInfo { context_window: window, ..info(setup, &gate, start) };
    if let Own::Wrong(why) = own {
        start.notices.push((NoticeLevel::Warning, why));
    }
    let io = TuiIo {
        commands: commands.clone(),
        events: events.clone(),
        settings,
        history: machine.remembered(),
        keymap,
        typed,
        log: log.is_some().then(|| setup.dirs.logs()),
        start,
    };
    parts::run(async {
        let backend = tokio::spawn(async move { serve(parts.await, open, receiver).await });
        let exit = tui::run(io, Arc::new(machine)).await;
        // A runtime that is gone has nothing left to end.
        let _ = commands.send(Command::Shutdown).await;
        let _ = backend.await;
        // When the terminal is gone, nobody is there who could be told.
        let _ = say_rest(&events);
        let exit = exit?;
        let text = exit.farewell.iter().map(|line| format!("{line}\n")).collect();
        let code = Report { text, ..Report::default() }.print();
        Ok(exit.signal.map_or(code, |signal| u8::try_from(128 + signal).unwrap_or(1)))
    })
}

/// Serves the screen. A session that cannot be opened is told of, and a new one takes its place.
async fn serve(parts: Parts, open: Open, commands: mpsc::Receiver<Command>) {
    let events = parts.events.sink();
    let mut runtime = Runtime::new(parts);
    if let Err(error) = runtime.open(open).await {
        events.notice(NoticeLevel::Error, error);
        if let Err(error) = runtime.open(Open::New(SessionId::generate())).await {
            events.notice(NoticeLevel::Error, error);
        }
    }
    runtime.serve(commands).await;
}

/// What the first frame says. Nothing here may touch the network, git or the project's files.
fn info(setup: &Setup, gate: &Gate, start: Start) -> StartInfo {
    let config = &setup.loaded.config;
    let choice = config.choose(&setup.env);
    let model = if start.scripted { Some("scripted".to_owned()) } else { label(config, setup) };
    StartInfo {
        cwd: folder(&setup.cwd),
        model: model.unwrap_or_default(),
        mode: gate.mode(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scripted: start.scripted,
        first_run: (choice.is_none() && !start.scripted).then(FirstRun::default),
        notices: notices(setup),
        rules: rules(config),
        prompt: start.prompt,
        resumable: start.stored,
        pick_session: start.pick_session,
        ..StartInfo::default()
    }
}

fn label(config: &Config, setup: &Setup) -> Option<String> {
    config.choose(&setup.env)?.model
}

fn notices(setup: &Setup) -> Vec<(NoticeLevel, String)> {
    let notices = setup.loaded.notices.iter();
    notices.map(|notice| (NoticeLevel::Warning, notice.clone())).collect()
}

/// The configured rules, one a line.
fn rules(config: &Config) -> Vec<String> {
    let lists = &config.permissions;
    let named = [("deny", &lists.deny), ("ask", &lists.ask), ("allow", &lists.allow)];
    let lines = named
        .into_iter()
        .flat_map(|(name, rules)| rules.iter().map(move |rule| format!("{name} {rule}")));
    lines.collect()
}

/// The folder's own name, which is what people call a project.
fn folder(cwd: &Path) -> String {
    cwd.file_name().unwrap_or(cwd.as_os_str()).to_string_lossy().into_owned()
}

/// How the screen is to look and move.
pub(super) fn settings(setup: &Setup, no_color: bool) -> TuiSettings {
    let tui = &setup.loaded.config.tui;
    TuiSettings {
        theme: tui.theme.clone().unwrap_or_default(),
        panes: match tui.panes {
            config::Panes::Auto => Panes::Auto,
            config::Panes::Right => Panes::Right,
            config::Panes::Below => Panes::Below,
            config::Panes::Rows => Panes::Rows,
        },
        motion: match tui.motion {
            config::Motion::Full => Motion::Full,
            config::Motion::Reduced => Motion::Reduced,
        },
        mouse: tui.mouse,
        notifications: true,
        no_color: no_color || setup.env.non_empty("NO_COLOR").is_some(),
        env: setup.env.clone(),
    }
}
