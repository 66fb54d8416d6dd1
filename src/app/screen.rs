//! Starts the screen: asks about trust, draws the first frame, then starts the backend.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::choices::ChoiceStore;
use super::host::{LocalHost, MemoryPlaces, history};
use super::keys::UserKeymap;
use super::models::Models;
use super::own_command::OwnCommand;
use super::parts::{self, COMMAND_CAPACITY, FrontendOptions};
use super::retention::Retention;
use super::setup::{AppError, Setup, session};
use super::{keys, log, resumed, theme};
use crate::cli::Cli;
use crate::command::CommandReport;
use crate::command::doctor::Doctor;
use crate::config::models::Catalogue;
use crate::config::{Config, LoadedConfig, Origin, ProjectStart, UntrustedItem};
use crate::headless::say_remaining;
use crate::permission::Gate;
use crate::protocol::{
    Charset, Command, EnvOverlay, EventQueue, MotionMode, NoticeLevel, SessionId,
};
use crate::runtime::{OpenRequest, Runtime, RuntimeParts};
use crate::tool::mcp::Mcp;
use crate::tui::FirstRun;
use crate::tui::session::{ScreenRule, ScreenSession};
use crate::tui::settings::{StartInfo, TuiSettings};
use crate::tui::{self, PendingInput, TrustAnswer, TrustItem, TrustQuestion, TuiIo};

/// The prompt history in the data folder.
const HISTORY_FILE: &str = "history.jsonl";

/// How the screen ended.
pub(crate) enum ScreenEnd {
    /// The exit code.
    Exit(u8),
    /// The user wants to see the demo.
    Demo,
}

/// Shows the screen until the user quits.
pub(crate) fn run(cli: &Cli, mut setup: Setup) -> Result<ScreenEnd, AppError> {
    setup.check_depth()?;
    check_terminal(&setup.env)?;
    check_command(cli)?;
    let store = ChoiceStore::new(&setup);
    let choices = store.as_ref().map(ChoiceStore::read).unwrap_or_default();
    choices.apply_theme(&mut setup);
    let (mut setup, typed) = match resolve_trust(cli, setup)? {
        TrustOutcome::Start(setup, typed) => (*setup, typed),
        TrustOutcome::Exit(code) => return Ok(ScreenEnd::Exit(code)),
    };
    setup.check_sandbox()?;
    choices.apply_theme(&mut setup);
    setup.loaded.notices.extend(choices.problem.clone());
    let open = session(&cli.session, &setup)?;
    let pick_session = open.is_none();
    let open = open.unwrap_or_else(|| OpenRequest::New(SessionId::generate()));
    resumed::keep_model(&mut setup, &open, &choices);
    resumed::name_agent_tool(&mut setup, &open, false);
    choices.apply(&mut setup, &open);
    let definition = setup.main_agent(cli)?;
    let events = EventQueue::unbounded();
    let catalogue = parts::catalogue(&setup)?;
    let gate = setup.gate(true, &events)?;
    let start = ScreenStart {
        prompt: cli.prompt.clone(),
        no_color: cli.common.no_color,
        stored: !cli.session.no_session,
        pick_session,
        scripted: false,
        typed,
    };
    let mcp = setup.mcp(None);
    let mut options =
        FrontendOptions::from_cli(cli, events.clone(), mcp.clone())?.with_definition(definition);
    let setup = Arc::new(setup);
    let models = Arc::new(setup.models(&catalogue));
    let (theirs, for_gate, for_catalogue) = (setup.clone(), gate.clone(), catalogue.clone());
    let for_parts = models.clone();
    let parts = async move {
        let models = for_parts;
        let model = models.initial().await.unwrap_or_else(|error| {
            options.events.sink().notice(NoticeLevel::Error, error.to_string());
            None
        });
        options.notices.extend(model.iter().flat_map(|model| models.notices(model)));
        theirs.parts(options, for_gate, model, models, for_catalogue)
    };
    let models = Some(models);
    let (choices, retention) = (store, setup.retention());
    let shown = Screen { choices, retention, events, catalogue, models, gate, open, start, mcp };
    show(&setup, parts, shown)
}

/// Refuses a single word as a prompt where there is no terminal for it: it was meant as a command.
fn check_command(cli: &Cli) -> Result<(), AppError> {
    let word = cli.prompt.as_deref().filter(|prompt| !prompt.contains(char::is_whitespace));
    match word {
        Some(word) if !io::stdout().is_terminal() => Err(AppError::Usage(format!(
            "unknown command {word:?}; caliban --help lists the commands, and caliban -p {word} sends it as a prompt"
        ))),
        _ => Ok(()),
    }
}

/// Refuses a terminal that cannot move its cursor.
pub(crate) fn check_terminal(env: &EnvOverlay) -> Result<(), AppError> {
    if env.get("TERM") != Some("dumb") {
        return Ok(());
    }
    let text = "TERM is \"dumb\", but the screen needs a terminal that can move its cursor; use `caliban -p PROMPT` for \
                an answer without the screen";
    Err(AppError::Usage(text.to_owned()))
}

/// The startup options of a screen.
pub(crate) struct ScreenStart {
    /// Sent at once.
    pub prompt: Option<String>,
    pub no_color: bool,
    /// Whether sessions and prompts are stored.
    pub stored: bool,
    /// Whether the list of sessions opens first.
    pub pick_session: bool,
    pub scripted: bool,
    /// The keys typed before the screen was ready.
    pub typed: PendingInput,
}

/// The parts that the screen and its backend share.
pub(crate) struct Screen {
    /// Where choices are kept; absent in the demo.
    pub choices: Option<ChoiceStore>,
    pub retention: Option<Retention>,
    pub events: EventQueue,
    pub catalogue: Arc<Catalogue>,
    /// The source of the model list.
    pub models: Option<Arc<Models>>,
    pub gate: Gate,
    pub open: OpenRequest,
    pub start: ScreenStart,
    pub mcp: Mcp,
}

/// Shows the screen with a backend of these parts. Does not wait for them.
pub(crate) fn show(
    setup: &Setup,
    parts: impl Future<Output = RuntimeParts> + Send + 'static,
    shown: Screen,
) -> Result<ScreenEnd, AppError> {
    let config = &setup.loaded.config;
    let log = log::start(setup)?;
    let charset = Charset::from_env(&setup.env);
    let Screen { choices, retention, events, catalogue, models, gate, open, mut start, mcp } =
        shown;
    let typed = std::mem::take(&mut start.typed);
    let (commands, receiver) = mpsc::channel(COMMAND_CAPACITY);
    let machine = LocalHost {
        cwd: setup.cwd.clone(),
        project: setup.starts.project().clone(),
        env: setup.env.clone(),
        definitions: setup.definitions.clone(),
        memory: MemoryPlaces {
            own: setup.dirs.config.clone(),
            claude: setup.dirs.claude.clone(),
            home: setup.home(),
            scope: setup.scope(),
            sources: setup.loaded.project.sources,
            gate: gate.clone(),
        },
        custom: setup.custom(),
        doctor: Doctor::new(setup),
        store: setup.store(),
        search: Arc::default(),
        models,
        secrets: config.key_variables().into_iter().map(str::to_owned).collect(),
        history: start.stored.then(|| setup.dirs.data.join(HISTORY_FILE)),
        mcp,
        hooks: setup.loaded.hooks.clone(),
        worktrees: setup.dirs.worktrees(),
        git: setup.pools.git.clone(),
        closing: CancellationToken::new(),
        notify: OwnCommand::from_config(
            setup,
            "notify_command",
            config.tui.notify_command.as_ref(),
        ),
        status_line: OwnCommand::from_config(setup, "status_line", config.tui.status_line.as_ref()),
        choices,
    };
    let window = (!start.scripted).then(|| label(config, setup)).flatten();
    let window = window.map(|name| catalogue.get(catalogue.resolve_alias(&name)).context_window);
    let (keymap, own) = keys::keymap(&setup.dirs)?;
    let settings = settings(setup, start.no_color);
    let mut start = info(setup, &gate, start);
    start.session.context_window = window;
    if let UserKeymap::Invalid(why) = own {
        start.notices.push((NoticeLevel::Warning, why));
    }
    let io = TuiIo {
        commands: commands.clone(),
        events: events.clone(),
        settings,
        history: machine.history.as_deref().map(history::read).unwrap_or_default(),
        keymap,
        pending: typed,
        log: log.is_some().then(|| setup.dirs.logs()),
        start,
    };
    parts::block_on(async {
        let backend =
            tokio::spawn(async move { serve(parts.await, open, receiver, retention).await });
        let exit = Box::pin(tui::run(io, Arc::new(machine))).await;
        // If the runtime is gone, there is nothing left to stop.
        let _ = commands.send(Command::Shutdown).await;
        let _ = backend.await;
        // If the terminal is gone, nobody can be notified.
        let _ = say_remaining(&events, charset);
        let exit = exit?;
        let text = exit.summary.iter().map(|line| format!("{line}\n")).collect();
        let code = CommandReport { text, ..CommandReport::default() }.print(charset);
        Ok(match exit.signal {
            Some(signal) => ScreenEnd::Exit(u8::try_from(128 + signal).unwrap_or(1)),
            None if exit.demo => ScreenEnd::Demo,
            None => ScreenEnd::Exit(code),
        })
    })
}

/// Serves the screen. A session that another process writes to is opened to be read. If it cannot be
/// opened at all, reports that and opens a new one.
async fn serve(
    parts: RuntimeParts,
    open: OpenRequest,
    commands: mpsc::Receiver<Command>,
    retention: Option<Retention>,
) {
    let events = parts.events.sink();
    let mut runtime = Runtime::new(parts);
    if let Err(error) = runtime.open_or_view(open).await {
        events.notice(NoticeLevel::Error, error);
        if let Err(error) = runtime.open(OpenRequest::New(SessionId::generate())).await {
            events.notice(NoticeLevel::Error, error);
        }
    }
    // The session is open now, so it counts as used.
    if let Some(retention) = retention {
        tokio::task::spawn_blocking(move || {
            if let Some(line) = retention.run() {
                events.notice(NoticeLevel::Info, line);
            }
        });
    }
    runtime.serve(commands).await;
}

/// Returns the contents of the first frame. Must not access the network, git or the project's files.
fn info(setup: &Setup, gate: &Gate, start: ScreenStart) -> StartInfo {
    let config = &setup.loaded.config;
    let choice = config.choose_provider(&setup.env);
    let model = if start.scripted { Some("scripted".to_owned()) } else { label(config, setup) };
    let session = ScreenSession {
        cwd: folder(&setup.cwd),
        folder: setup.cwd.to_path_buf(),
        more_folders: config.permissions.additional_dirs.clone(),
        model: model.unwrap_or_default(),
        mode: gate.mode(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scripted: start.scripted,
        max_usd: config.budget.max_usd,
        first_run: (choice.is_none() && !start.scripted).then(FirstRun::default),
        rules: rules(&setup.loaded),
        resumable: start.stored,
        ..ScreenSession::default()
    };
    let notices = notices(setup);
    StartInfo { session, notices, prompt: start.prompt, pick_session: start.pick_session }
}

fn label(config: &Config, setup: &Setup) -> Option<String> {
    config.choose_provider(&setup.env)?.model
}

fn notices(setup: &Setup) -> Vec<(NoticeLevel, String)> {
    let notices = setup.loaded.notices.iter();
    notices.map(|notice| (NoticeLevel::Warning, notice.clone())).collect()
}

/// Returns the configured rules, each with its file and line.
fn rules(loaded: &LoadedConfig) -> Vec<ScreenRule> {
    let lists = &loaded.config.permissions;
    let named = [("deny", &lists.deny), ("ask", &lists.ask), ("allow", &lists.allow)];
    let of_list = |(list, rules): (&str, &Vec<String>)| -> Vec<ScreenRule> {
        let key = format!("permissions.{list}");
        let rule = |(at, rule): (usize, &String)| ScreenRule {
            list: list.to_owned(),
            rule: rule.clone(),
            origin: loaded.origins.get_entry(&key, at).to_string(),
        };
        rules.iter().enumerate().map(rule).collect()
    };
    named.into_iter().flat_map(of_list).collect()
}

/// Returns the folder's name, which serves as the project's name.
fn folder(cwd: &Path) -> String {
    cwd.file_name().unwrap_or(cwd.as_os_str()).to_string_lossy().into_owned()
}

/// Returns the settings of the screen.
pub(crate) fn settings(setup: &Setup, no_color: bool) -> TuiSettings {
    let tui = &setup.loaded.config.tui;
    TuiSettings {
        theme: tui.theme.clone().unwrap_or_default(),
        theme_place: match setup.loaded.origins.get("tui.theme") {
            place @ Origin::File { .. } => Some(place.to_string()),
            _ => None,
        },
        theme_files: theme::files(setup),
        panes: tui.panes,
        motion: if tui.screen_reader { MotionMode::Reduced } else { tui.motion },
        mouse: tui.mouse && !tui.screen_reader,
        screen_reader: tui.screen_reader,
        notifications: tui.notifications,
        notify_command: tui.notify_command.is_some(),
        status_line: tui.status_line.is_some(),
        no_color: no_color || setup.env.non_empty("NO_COLOR").is_some(),
        host: nix::unistd::gethostname()
            .ok()
            .and_then(|name| name.into_string().ok())
            .unwrap_or_default(),
        env: setup.env.clone(),
    }
}

/// The result of the question.
enum TrustOutcome {
    /// Starts the session with this setup, and the keys typed after the answer.
    Start(Box<Setup>, PendingInput),
    /// Exits with this code.
    Exit(u8),
}

/// Asks whether to trust the project, if it has untrusted entries. The returned setup uses exactly
/// the entries that were shown and accepted; later changes of a file stay ignored.
fn resolve_trust(cli: &Cli, setup: Setup) -> Result<TrustOutcome, AppError> {
    let Setup { trust, loaded, .. } = &setup;
    // Don't ask if the answer cannot be stored, or if an agent started this program.
    let nothing = loaded.untrusted.is_empty() && loaded.starts.is_empty();
    if nothing || trust.problem().is_some() || setup.is_started_by_agent()? {
        return Ok(TrustOutcome::Start(Box::new(setup), PendingInput::default()));
    }
    let question = trust_question(&setup);
    let settings = settings(&setup, cli.common.no_color);
    let (answer, typed) =
        parts::block_on(async { Ok(tui::ask_trust(&question, &settings).await?) })?;
    match answer {
        TrustAnswer::NotNow => {
            let mut setup = setup;
            // The user has just read what that is.
            let known = setup.trust.notice(&setup.loaded.untrusted);
            setup.loaded.notices.retain(|notice| known.as_ref() != Some(notice));
            if known.is_some() {
                let words = "What you have not trusted stays off. `caliban trust` accepts it.";
                setup.loaded.notices.push(words.to_owned());
            }
            Ok(TrustOutcome::Start(Box::new(setup), typed))
        }
        TrustAnswer::Quit => Ok(TrustOutcome::Exit(0)),
        TrustAnswer::Signal(number) => {
            Ok(TrustOutcome::Exit(u8::try_from(128 + number).unwrap_or(1)))
        }
        TrustAnswer::Trust => {
            let accepted = trust.accept_all(&loaded.untrusted, &loaded.starts);
            let mut setup = Setup::load(cli, setup.env.clone(), &cli.overrides())?;
            if let Err(error) = accepted {
                setup.loaded.notices.push(format!("The project is not trusted: {error}."));
            }
            Ok(TrustOutcome::Start(Box::new(setup), typed))
        }
    }
}

fn trust_question(setup: &Setup) -> TrustQuestion {
    let thing = |origin: &Origin, what: String| match origin {
        Origin::File { path, line } => {
            Some(TrustItem { file: path.display().to_string(), line: *line, what })
        }
        _ => None,
    };
    let of_project = |it: &UntrustedItem| thing(&it.origin, it.what.clone());
    let own = |start: &ProjectStart| thing(&start.origin, start.describe());
    TrustQuestion {
        root: setup.trust.root().display().to_string(),
        changed: setup.trust.accepts_any(),
        items: setup.loaded.untrusted.iter().filter_map(of_project).collect(),
        own_items: setup.loaded.starts.iter().filter_map(own).collect(),
    }
}
