//! The composition root: configuration in, a running program out. The only module that knows all others.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::{AuthAction, Cli, CliCommand, ConfigAction, PermissionsAction, SessionArgs};
use crate::command;
use crate::commands::CommandSources;
use crate::config::models::ModelsError;
use crate::config::trust::TrustError;
use crate::config::{
    self, ChildPermissions, ConfigError, ConfigSources, Dirs, LoadedConfig, McpEditError,
    Overrides, Project, Trust,
};
use crate::exec::StartDirs;
use crate::exec::sandbox::{ProcessBounds, ReadBounds};
use crate::protocol::{EnvOverlay, Redactor, SessionId, printable_path};
use crate::provider::{ErrorKind, ProviderError};
use crate::runtime::OpenRequest;
use crate::session::{FindError, SessionStore, StoreError};
use crate::subagent::definition::{DefinitionError, DefinitionTrust};
use crate::subagent::registry::{DefinitionSources, Definitions};
use crate::tui::{self, TuiError};

mod ask_tool;
mod demo;
mod doctor;
mod handshake;
mod headless;
mod host;
mod keys;
mod log;
mod main_agent;
mod mcp;
mod models;
mod parts;
mod permissions;
mod prompt;
mod protected;
mod resumed;
mod rules;
mod screen;
mod sessions;
mod trust;

pub use headless::refuse_handshake;

/// The maximum number of queued commands from a front end.
const COMMAND_CAPACITY: usize = 64;

/// An error that keeps the program from starting.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("cannot work in {}: {source}", printable_path(path))]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("{0}")]
    Rule(#[from] rules::RuleFileError),
    #[error("{0}")]
    Agents(#[from] DefinitionError),
    #[error("{0}")]
    Trust(#[from] TrustError),
    #[error("{0}")]
    Servers(#[from] McpEditError),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Session(#[from] FindError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Catalogue(#[from] ModelsError),
    #[error("{0}")]
    Model(#[from] ProviderError),
    #[error(
        "an agent started this program at depth {depth}, and the depth limit is {limit}: nothing was run; \
         `max_depth` under [subagents] sets the limit"
    )]
    TooDeep { depth: u32, limit: u32 },
    #[error("the backend stopped unexpectedly: this is a bug; see the log")]
    Internal,
    #[error("{0}")]
    Demo(#[from] command::demo::DemoError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Screen(#[from] TuiError),
}

impl AppError {
    /// Returns the exit code for the kind of error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Model(error) if error.kind == ErrorKind::Auth => 3,
            Self::Config(_)
            | Self::Directory { .. }
            | Self::Rule(_)
            | Self::Agents(_)
            | Self::Trust(_)
            | Self::Servers(_)
            | Self::Usage(_)
            | Self::Session(_)
            | Self::Store(_)
            | Self::Catalogue(_)
            | Self::Model(_)
            | Self::Screen(TuiError::Theme(_) | TuiError::Keymap(_)) => 2,
            Self::TooDeep { .. } => 4,
            Self::Internal | Self::Demo(_) | Self::Io(_) | Self::Screen(_) => 1,
        }
    }
}

/// Carries out the command line and returns the exit code.
///
/// # Errors
/// If it cannot start; errors during a run are reported by the run itself.
pub fn run(cli: &Cli, env: &EnvOverlay) -> Result<u8, AppError> {
    let setup = || Setup::load(cli, env.clone(), &cli.overrides());
    let report = match &cli.command {
        None if cli.print.print => return headless::run(cli, setup()),
        None => return screen::run(cli, setup()?),
        Some(CliCommand::Demo(print)) => return demo::run(cli, env, print),
        Some(CliCommand::Doctor) => return doctor::run(cli, env),
        Some(CliCommand::Sandbox { write, read_only, read, project, git, program }) => {
            let bounds = ReadBounds { folders: read, project, uses_git: *git, env };
            let read = read_only.then_some(bounds);
            let bounds = ProcessBounds { write, read };
            return Ok(command::sandbox::become_restricted(&bounds, program));
        }
        Some(CliCommand::Auth { action: AuthAction::Status { json } }) => {
            let setup = setup()?;
            command::auth::status(&setup.loaded.config, &setup.env, *json)
        }
        Some(CliCommand::Completions { shell }) => command::completions::completions(*shell),
        Some(CliCommand::Agents { action }) => {
            let definitions = Definitions::load(&setup()?.definitions);
            command::agents::agents(&action.clone().unwrap_or_default(), &definitions)
        }
        Some(CliCommand::Sessions { action }) => {
            sessions::report(&action.clone().unwrap_or_default(), &setup()?)
        }
        Some(CliCommand::Mcp { action }) => {
            mcp::report(cli, env, &action.clone().unwrap_or_default())?
        }
        Some(CliCommand::Trust { list: true, .. }) => trust::list(env)?,
        Some(CliCommand::Trust { dir, show: true, .. }) => trust::show(cli, env, dir.as_deref())?,
        Some(CliCommand::Trust { dir, revoke: true, .. }) => {
            trust::revoke(cli, env, dir.as_deref())?
        }
        Some(CliCommand::Trust { dir, .. }) => trust::accept(cli, env, dir.as_deref())?,
        Some(CliCommand::Permissions { action: PermissionsAction::Test { call } }) => {
            permissions::test(call, &setup()?)?
        }
        // Must work even if the configuration cannot be read: an editor needs it to fix one.
        Some(CliCommand::Config { action: Some(ConfigAction::Schema) }) => {
            command::config::schema()
        }
        Some(CliCommand::Config { action }) => {
            let setup = setup()?;
            command::config::config(&action.clone().unwrap_or_default(), &setup.loaded, &setup.env)
        }
    };
    Ok(report.print())
}

/// The common base of all front ends: the folders and the configuration.
pub(crate) struct Setup {
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    pub dirs: Dirs,
    pub loaded: LoadedConfig,
    /// The entries of the project that the user has trusted.
    pub trust: Trust,
    pub overrides: Overrides,
    /// The state of the configuration files when they were read.
    pub rule_stamps: rules::RuleFileStamps,
    /// The sources of sub-agent definitions; no file is read yet.
    pub definitions: DefinitionSources,
    /// The folders where hooks, servers and the commands that print keys start.
    pub starts: StartDirs,
    /// Masks the keys of this process.
    pub redactor: Redactor,
}

impl Setup {
    fn load(cli: &Cli, env: EnvOverlay, overrides: &Overrides) -> Result<Self, AppError> {
        let setup = Self::in_dir(working_dir(cli.common.cd.as_deref())?, env, overrides)?;
        setup.with_agents(cli.tools.agents.as_deref())
    }

    /// Adds these definitions of sub-agents, which take precedence over files.
    fn with_agents(self, json: Option<&str>) -> Result<Self, AppError> {
        let Some(json) = json else { return Ok(self) };
        Ok(Self { definitions: self.definitions.with_flag(json, &self.cwd)?, ..self })
    }

    fn in_dir(cwd: Arc<Path>, env: EnvOverlay, overrides: &Overrides) -> Result<Self, AppError> {
        let mut dirs = Dirs::new(&env, &cwd)?;
        if !overrides.setting_sources.user {
            (dirs.claude, dirs.shared) = (None, None);
        }
        Self::with_dirs(dirs, cwd, env, overrides)
    }

    fn with_dirs(
        dirs: Dirs,
        cwd: Arc<Path>,
        env: EnvOverlay,
        overrides: &Overrides,
    ) -> Result<Self, AppError> {
        let env = parts::with_depth(env);
        let project = Project::with_sources(
            &cwd,
            env.get_os("HOME").map(Path::new),
            overrides.setting_sources,
        );
        let trust = Trust::new(&dirs, &project, &cwd);
        let sources = ConfigSources { dirs: &dirs, cwd: &cwd, env: &env, overrides, trust: &trust };
        // Taken before they are read, so that a change in between is noticed later.
        let seen = rules::RuleFileStamps::read(&sources, &project);
        let mut loaded = config::load_project(&sources, project)?;
        let own_modes = loaded.config.subagents.permissions == ChildPermissions::Own;
        let definitions = DefinitionSources::new(&loaded.project.folders, dirs.agents())
            .with_claude_home(dirs.claude.as_deref());
        let definitions = match loaded.project.sources.project {
            true => definitions,
            false => definitions.without_claude(),
        };
        let definitions =
            definitions.in_scope(parts::scope(&loaded, env.get_os("HOME").map(Path::new)));
        let definitions = definitions.with_accepted(DefinitionTrust {
            trust: trust.clone(),
            own_modes,
            provider: loaded.config.subagent_provider(&env),
        });
        let found = Definitions::load(&definitions);
        loaded.untrusted.extend(found.inert().iter().cloned());
        loaded.starts.extend(found.starts().iter().cloned());
        loaded.notices.extend(trust.notice(&loaded.untrusted));
        loaded.notices.extend(trust.start_notice(&loaded.starts));
        let redactor = Redactor::default();
        for name in loaded.config.key_variables() {
            redactor.add(env.get(name).unwrap_or_default());
        }
        proxy_passwords(&env).iter().for_each(|password| redactor.suspect(password));
        let overrides = overrides.clone();
        let starts = parts::start_dirs(&loaded, &dirs, &cwd, &env);
        let mut setup = Self {
            cwd,
            env,
            dirs,
            loaded,
            trust,
            overrides,
            rule_stamps: seen,
            definitions,
            starts,
            redactor,
        };
        let unread = setup.unread_notice();
        setup.loaded.notices.extend(unread);
        let misplaced = setup.misplaced_rules();
        setup.loaded.notices.extend(misplaced);
        Ok(setup)
    }

    /// Returns the sources of commands and skills; no file is read yet.
    fn custom(&self) -> CommandSources {
        let reserved: Vec<&str> = tui::update::COMMANDS.iter().map(|(name, _)| *name).collect();
        let (project, own) = (&self.loaded.project.folders, &self.dirs.config);
        let sources = CommandSources::new(project, own, self.dirs.claude.as_deref(), &reserved);
        let sources = sources.with_shared_home(self.dirs.shared.as_deref());
        let sources = sources.with_scope(self.scope());
        if self.loaded.project.sources.project { sources } else { sources.without_foreign() }
    }

    fn store(&self) -> SessionStore {
        SessionStore::new(&self.dirs.data)
    }
}

/// Returns the passwords in proxy URLs.
fn proxy_passwords(env: &EnvOverlay) -> Vec<String> {
    let names =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let urls = names.iter().filter_map(|name| url::Url::parse(env.non_empty(name)?).ok());
    urls.filter_map(|url| url.password().map(str::to_owned)).collect()
}

/// Returns the working directory: absolute, existing, without symbolic links.
fn working_dir(wanted: Option<&Path>) -> Result<Arc<Path>, AppError> {
    let path = match wanted {
        Some(wanted) => config::env::current_dir().unwrap_or_default().join(wanted),
        None => config::env::current_dir()?,
    };
    let failed = |source| AppError::Directory { path: path.clone(), source };
    let real = path.canonicalize().map_err(failed)?;
    if !real.is_dir() {
        return Err(failed(std::io::ErrorKind::NotADirectory.into()));
    }
    Ok(real.into())
}

/// Returns the session that the arguments select. `None` lets the user pick one from a list.
fn session(args: &SessionArgs, setup: &Setup) -> Result<Option<OpenRequest>, AppError> {
    let new = || args.session_id.unwrap_or_else(SessionId::generate);
    let stored = if args.continue_newest {
        let missing = || AppError::Usage("there is no session in this directory yet".to_owned());
        setup.store().latest_in(&setup.cwd).ok_or_else(missing)?
    } else {
        match args.resume.as_deref() {
            None => return Ok(Some(OpenRequest::New(new()))),
            Some("") if args.fork_session => {
                let why = "--fork-session needs an id after --resume: caliban sessions lists them";
                return Err(AppError::Usage(why.to_owned()));
            }
            Some("") => return Ok(None),
            Some(prefix) => setup.store().find(prefix)?,
        }
    };
    Ok(Some(match args.fork_session {
        true => OpenRequest::Fork { from: stored, to: new() },
        false => OpenRequest::Stored(stored),
    }))
}
