//! The common base of all front ends and sub-commands: the folders, the configuration, and the
//! errors that keep the program from starting.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::rule_stamps::RuleFileStamps;
use crate::cli::{Cli, InputFormat, SessionArgs};
use crate::commands::CommandSources;
use crate::config::models::ModelsError;
use crate::config::trust::TrustError;
use crate::config::{
    self, ChildPermissions, ConfigEditError, ConfigError, ConfigSources, Dirs, LoadedConfig,
    McpEntry, Overrides, Project, Trust,
};
use crate::disk::ProjectScope;
use crate::exec::{self, BlockingPools, StartDirs, StartSettings, Supervisor};
use crate::permission::{Rule, RuleError};
use crate::protocol::{
    DEPTH_VARIABLE, EnvOverlay, Redactor, SessionId, mcp_name, printable_path, quoted_name,
};
use crate::provider::{ErrorKind, ProviderError};
use crate::runtime::OpenRequest;
use crate::session::{FindError, SessionStore, StoreError};
use crate::subagent::definition::{DefinitionError, DefinitionTrust};
use crate::subagent::registry::{DefinitionSources, Definitions};
use crate::tool::path::resolve;
use crate::tui::{self, TuiError};

/// An error that keeps the program from starting.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("cannot work in {}: {source}", printable_path(path))]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("{0}")]
    Rule(#[from] RuleFileError),
    #[error("{0}")]
    Agents(#[from] DefinitionError),
    #[error("{0}")]
    Trust(#[from] TrustError),
    #[error("{0}")]
    Edit(#[from] ConfigEditError),
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
    #[error(
        "cannot write the sample project to {}: {source}; set TMPDIR to a folder that can be written", path.display()
    )]
    Demo { path: PathBuf, source: std::io::Error },
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
            | Self::Edit(_)
            | Self::Usage(_)
            | Self::Session(_)
            | Self::Store(_)
            | Self::Catalogue(_)
            | Self::Model(_)
            | Self::Screen(TuiError::Theme(_) | TuiError::Keymap(_)) => 2,
            Self::TooDeep { .. } => 4,
            Self::Internal | Self::Demo { .. } | Self::Io(_) | Self::Screen(_) => 1,
        }
    }
}

/// A configured rule that cannot be parsed, and its place.
#[derive(Debug, thiserror::Error)]
#[error("{at}: permission rule `{}`: {}", error.rule, error.problem)]
pub struct RuleFileError {
    pub at: config::Origin,
    pub error: RuleError,
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
    pub rule_stamps: RuleFileStamps,
    /// The sources of sub-agent definitions; no file is read yet.
    pub definitions: DefinitionSources,
    /// The folders where hooks, servers and the commands that print keys start.
    pub starts: StartDirs,
    /// Masks the keys of this process.
    pub redactor: Redactor,
    /// The threads for blocking work.
    pub pools: BlockingPools,
}

impl Setup {
    pub(crate) fn load(
        cli: &Cli,
        env: EnvOverlay,
        overrides: &Overrides,
    ) -> Result<Self, AppError> {
        let cwd = working_dir(cli.common.cd.as_deref())?;
        check_added(&cli.tools.add_dir, &cwd, env.get_os("HOME").map(Path::new))?;
        let mut setup = Self::in_dir(cwd, env, overrides)?;
        setup.loaded.notices.extend(unknown_tools(cli));
        let servers = unknown_servers(cli, &setup.loaded.mcp);
        setup.loaded.notices.extend(servers);
        setup.with_agents(cli.tools.agents.as_deref())
    }

    /// Adds these definitions of sub-agents, which take precedence over files.
    pub(crate) fn with_agents(self, json: Option<&str>) -> Result<Self, AppError> {
        let Some(json) = json else { return Ok(self) };
        Ok(Self { definitions: self.definitions.with_flag(json, &self.cwd)?, ..self })
    }

    pub(crate) fn in_dir(
        cwd: Arc<Path>,
        env: EnvOverlay,
        overrides: &Overrides,
    ) -> Result<Self, AppError> {
        let mut dirs = Dirs::new(&env, &cwd)?;
        if !overrides.setting_sources.user {
            (dirs.claude, dirs.shared) = (None, None);
        }
        Self::with_dirs(dirs, cwd, env, overrides)
    }

    pub(crate) fn with_dirs(
        dirs: Dirs,
        cwd: Arc<Path>,
        env: EnvOverlay,
        overrides: &Overrides,
    ) -> Result<Self, AppError> {
        let env = with_depth(env);
        let project = Project::with_sources(
            &cwd,
            env.get_os("HOME").map(Path::new),
            overrides.setting_sources,
        );
        let trust = Trust::new(&dirs, &project, &cwd);
        let sources = ConfigSources { dirs: &dirs, cwd: &cwd, env: &env, overrides, trust: &trust };
        // Taken before they are read, so that a change in between is noticed later.
        let seen = RuleFileStamps::read(&sources, &project);
        let mut loaded = config::load_project(&sources, project)?;
        let own_modes = loaded.config.subagents.permissions == ChildPermissions::Own;
        let definitions = DefinitionSources::new(&loaded.project.folders, dirs.agents())
            .with_claude_home(dirs.claude.as_deref());
        let definitions = match loaded.project.sources.project {
            true => definitions,
            false => definitions.without_claude(),
        };
        let definitions = definitions.in_scope(scope(&loaded, env.get_os("HOME").map(Path::new)));
        let definitions = definitions.with_accepted(DefinitionTrust {
            trust: trust.clone(),
            own_modes,
            provider: loaded.config.subagent_provider(&env),
        });
        let found = Definitions::load(&definitions);
        loaded.untrusted.extend(found.untrusted().iter().cloned());
        loaded.starts.extend(found.starts().iter().cloned());
        loaded.notices.extend(trust.notice(&loaded.untrusted));
        loaded.notices.extend(trust.start_notice(&loaded.starts));
        let redactor = Redactor::default();
        for name in loaded.config.key_variables() {
            redactor.add(env.get(name).unwrap_or_default());
        }
        proxy_passwords(&env).iter().for_each(|password| redactor.suspect(password));
        let overrides = overrides.clone();
        let starts = start_dirs(&loaded, &dirs, &cwd, &env);
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
            pools: BlockingPools::default(),
        };
        let unread = setup.unread_notice();
        setup.loaded.notices.extend(unread);
        let misplaced = setup.misplaced_rules();
        setup.loaded.notices.extend(misplaced);
        Ok(setup)
    }

    /// Returns the sources of commands and skills; no file is read yet.
    pub(crate) fn custom(&self) -> CommandSources {
        let reserved: Vec<&str> = tui::slash::COMMANDS.iter().map(|command| command.name).collect();
        let (project, own) = (&self.loaded.project.folders, &self.dirs.config);
        let sources = CommandSources::new(project, own, self.dirs.claude.as_deref(), &reserved);
        let sources = sources.with_shared_home(self.dirs.shared.as_deref());
        let sources = sources.with_scope(self.scope());
        if self.loaded.project.sources.project { sources } else { sources.without_foreign() }
    }

    pub(crate) fn store(&self) -> SessionStore {
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
pub(crate) fn working_dir(wanted: Option<&Path>) -> Result<Arc<Path>, AppError> {
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

/// Returns a notice for each entry of `--tools` that names no tool.
fn unknown_tools(cli: &Cli) -> Vec<String> {
    let starts_agents = |name: &str| name.starts_with("agent_") || name.starts_with("delegate_to_");
    let mut names = cli.tools.offered().unwrap_or_default();
    names.retain(|name| !name.is_empty() && !Rule::knows_tool(name) && !starts_agents(name));
    let notice =
        |name: String| format!("--tools: unknown tool {}; check its spelling", quoted_name(&name));
    names.into_iter().map(notice).collect()
}

/// Returns a notice for each entry of an option that names a server which is not defined. A program that
/// drives this one may bring servers of its own.
fn unknown_servers(cli: &Cli, servers: &[McpEntry]) -> Vec<String> {
    if cli.drive.input_format == Some(InputFormat::StreamJson) {
        return Vec::new();
    }
    let known: Vec<String> =
        servers.iter().map(|entry| mcp_name::server_prefix(&entry.server.name)).collect();
    let Overrides { allow, deny, .. } = cli.overrides();
    let offered = cli.tools.offered().unwrap_or_default();
    let lists = [("--tools", offered), ("--allowed-tools", allow), ("--disallowed-tools", deny)];
    let named = lists.iter().flat_map(|(flag, names)| names.iter().map(move |name| (flag, name)));
    let unknown = named.filter_map(|(flag, name)| {
        let (server, _) = mcp_name::parts(name)?;
        let is_known = server.contains('*') || known.contains(&mcp_name::server_prefix(server));
        (!is_known).then(|| {
            format!("{flag}: no MCP server is named {}; check its spelling", quoted_name(server))
        })
    });
    unknown.collect()
}

/// Checks that the directories of `--add-dir` exist: a rule for a misspelled one has no effect.
fn check_added(added: &[String], cwd: &Path, home: Option<&Path>) -> Result<(), AppError> {
    match added.iter().find(|dir| !resolve(dir, cwd, home).is_dir()) {
        Some(dir) => {
            let dir = quoted_name(dir);
            Err(AppError::Usage(format!(
                "--add-dir: {dir} is not a directory; name one that exists"
            )))
        }
        None => Ok(()),
    }
}

/// Returns the folders where hooks, servers and the commands that print keys start. The user's
/// state folder comes first: others may write to the parents of a temporary folder.
fn start_dirs(loaded: &LoadedConfig, dirs: &Dirs, cwd: &Path, env: &EnvOverlay) -> StartDirs {
    let project = &loaded.project;
    let work = [project.root(), project.project_dir(), cwd].map(Path::to_owned);
    let more = loaded.config.permissions.additional_dirs.iter().cloned();
    let named = ["XDG_RUNTIME_DIR", "TMPDIR"].map(|name| env.non_empty(name));
    let temp = named.into_iter().flatten().chain(["/tmp", "/var/tmp"]).map(PathBuf::from);
    StartDirs::new(StartSettings {
        project: project.project_dir().to_owned(),
        working: work.into_iter().chain(more).collect(),
        state: dirs.state.clone(),
        temp: temp.collect(),
        home: env.get_os("HOME").map(PathBuf::from),
        supervisor: Supervisor::for_this_program(),
    })
}

/// Returns the files that a project's imports and links may read.
pub(super) fn scope(loaded: &LoadedConfig, home: Option<&Path>) -> ProjectScope {
    let more = &loaded.config.permissions.additional_dirs;
    ProjectScope::new(&loaded.project.folders, more).within_checkouts(home)
}

/// Adds the depth of this process to the variables. An agent can change the variable, but not the
/// one that this process's ancestors were started with.
fn with_depth(env: EnvOverlay) -> EnvOverlay {
    let said = env
        .get_os(DEPTH_VARIABLE)
        .map(|value| value.to_str().and_then(|it| it.parse::<u32>().ok()));
    let above = exec::depth_above();
    match said {
        // An invalid value is refused later.
        Some(None) => env,
        Some(Some(said)) if said >= above => env,
        None if above == 0 => env,
        _ => env.with([(DEPTH_VARIABLE, above.to_string())]),
    }
}

/// Returns the session that the arguments select. `None` lets the user pick one from a list.
pub(super) fn session(args: &SessionArgs, setup: &Setup) -> Result<Option<OpenRequest>, AppError> {
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
