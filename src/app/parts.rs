//! Builds the parts of the runtime from the configuration and the command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::models::Models;
use super::rules::RuleFiles;
use super::setup::{AppError, Setup, scope};
use crate::budget;
use crate::cli::Cli;
use crate::config::models::Catalogue;
use crate::config::{self, ConfigError, OnViolation};
use crate::disk::ProjectScope;
use crate::exec::{self, Sandbox, Supervisor};
use crate::hook::{HookSet, HookSettings};
use crate::permission::{Gate, GateSettings};
use crate::protocol::{DEPTH_VARIABLE, EventQueue, McpServer, SharedPeer, printable_path};
use crate::provider::{HttpClient, Model, ModelSource};
use crate::runtime::RuntimeParts;
use crate::subagent::{AgentParts, AgentTree, SlotLimits, SubagentSettings};
use crate::tool::mcp::{Mcp, McpSettings};
use crate::tool::{BuiltinSettings, HiddenRules, RedirectRules, WebSettings};

/// The maximum number of queued commands from a front end.
pub(super) const COMMAND_CAPACITY: usize = 64;

/// The options in which the front ends differ.
pub(crate) struct FrontendOptions {
    pub events: EventQueue,
    /// Whether sessions are stored.
    pub stored: bool,
    pub tools: Option<Vec<String>>,
    /// Tools that are not offered.
    pub disallowed_tools: Vec<String>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// How long main, once done, waits for its background agents; `None` if they wake it instead.
    pub background_wait: Option<Duration>,
    /// Notices for the user at startup.
    pub notices: Vec<String>,
    pub mcp: Mcp,
}

impl FrontendOptions {
    /// Returns the options of a command line.
    pub fn from_cli(cli: &Cli, events: EventQueue, mcp: Mcp) -> Result<Self, AppError> {
        let system_prompt = match &cli.model.system_prompt_file {
            Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
                let path = printable_path(path);
                AppError::Usage(format!("--system-prompt-file {path}: {error}"))
            })?),
            None => cli.model.system_prompt.clone(),
        };
        Ok(Self {
            mcp,
            events,
            stored: !cli.session.no_session,
            tools: cli.tools.offered(),
            disallowed_tools: Vec::new(),
            system_prompt,
            append_system_prompt: cli.model.append_system_prompt.clone(),
            background_wait: None,
            notices: Vec::new(),
        })
    }
}

impl Setup {
    /// Builds the gate. It follows changes of the configured rules and reports problems with them to `events`.
    pub fn gate(&self, interactive: bool, events: &EventQueue) -> Result<Gate, AppError> {
        let permissions = &self.loaded.config.permissions;
        let dirs = std::iter::once(self.cwd.to_path_buf());
        let files = RuleFiles::new(self, events.sink());
        let settings = GateSettings {
            mode: permissions.mode,
            rules: files.rules(&self.loaded)?,
            dirs: dirs.chain(permissions.additional_dirs.iter().cloned()).collect(),
            home: self.home(),
            interactive,
            project_dir: self.loaded.project.config_root.clone(),
            project_roots: self.loaded.project.roots(),
            protected: self.protected(),
            env: self.command_env(),
            has_sandbox: Sandbox::for_this_program().is_some(),
            bash: Some(&exec::BASH_VERSION),
            bypass_disabled: self.loaded.bypass_disabled,
        };
        Ok(Gate::with_source(settings, Box::new(files)))
    }

    /// Returns the servers of the session, without starting any. `peer` is the driving program.
    pub(crate) fn mcp(&self, peer: Option<SharedPeer>) -> Mcp {
        let servers = self.loaded.mcp.iter().map(|entry| entry.server.clone());
        self.mcp_with(servers.collect(), peer)
    }

    /// Returns a set of only these servers.
    pub(crate) fn mcp_with(&self, servers: Vec<McpServer>, peer: Option<SharedPeer>) -> Mcp {
        let config = &self.loaded.config;
        let http = HttpClient::new(&self.env);
        Mcp::new(McpSettings {
            servers,
            cwd: self.cwd.clone(),
            starts: self.starts.clone(),
            env: self.loaded.variables.apply_to(&self.env),
            secrets: config.key_variables().into_iter().map(str::to_owned).collect(),
            http: Arc::new(move |url| {
                let http = http.clone();
                Box::pin(async move { http.client(&url).await.map_err(|error| error.message) })
            }),
            peer,
            soften: config.subagents.on_autonomy_violation == OnViolation::Report,
            redactor: self.redactor.clone(),
        })
    }

    /// Returns the files that a project's imports and links may read.
    pub(crate) fn scope(&self) -> ProjectScope {
        scope(&self.loaded, self.env.get_os("HOME").map(Path::new))
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.env.get_os("HOME").map(PathBuf::from)
    }

    /// Returns the configured hooks.
    fn hooks(&self, secrets: &[String]) -> HookSet {
        HookSet::new(HookSettings {
            hooks: self.loaded.hooks.clone(),
            starts: self.starts.clone(),
            env: self.loaded.variables.apply_to(&self.env),
            secrets: secrets.to_vec(),
            redactor: self.redactor.clone(),
        })
    }

    /// Returns the source of models.
    pub fn models(&self, catalogue: &Arc<Catalogue>) -> Models {
        Models::new(self, catalogue)
    }

    /// Builds the parts of a runtime that starts with `model`.
    pub(crate) fn parts(
        &self,
        options: FrontendOptions,
        gate: Gate,
        model: Option<Model>,
        models: Arc<dyn ModelSource>,
        catalogue: Arc<Catalogue>,
    ) -> RuntimeParts {
        let config = &self.loaded.config;
        let secrets: Vec<String> = config.key_variables().into_iter().map(str::to_owned).collect();
        let (judge, web) = (gate.clone(), gate.clone());
        let hidden = HiddenRules::new(move |cwd, named| {
            let unreadable = judge.unreadable(cwd, named);
            move |file| unreadable.contains(file)
        });
        let sandbox = Sandbox::for_this_program();
        let tree = AgentTree::new(SlotLimits::from_config(&config.subagents));
        let builtin = BuiltinSettings {
            home: self.home(),
            secret_env: secrets.clone().into(),
            hidden: hidden.clone(),
            web: WebSettings::default()
                .with_redirects(RedirectRules::new(move |from, to| web.redirect_refusal(from, to))),
            sandbox: sandbox.clone(),
            supervisor: Supervisor::for_this_program(),
            shells: Arc::new(tree.clone()),
            asks_user: gate.is_interactive(),
            redactor: self.redactor.clone(),
            ..BuiltinSettings::new(self.cwd.clone())
        };
        let agents = AgentParts {
            settings: SubagentSettings {
                config: config.subagents.clone(),
                // An invalid value was refused at startup.
                base_depth: self.depth().unwrap_or(0),
            },
            tree,
            gate,
            models,
            builtin,
            tools: options.tools,
            disallowed_tools: options.disallowed_tools,
            mcp: options.mcp,
            env: self.loaded.variables.apply_to(&self.env),
            project: self.starts.project().clone(),
            worktrees: self.dirs.worktrees(),
            sandbox,
            redactor: self.redactor.clone(),
        };
        RuntimeParts {
            pools: self.pools.clone(),
            agents: Arc::new(agents),
            hooks: self.hooks(&secrets),
            events: options.events,
            model,
            catalogue,
            store: options.stored.then(|| self.store()),
            definitions: self.definitions.clone(),
            custom: self.custom().with_hidden(hidden, &self.cwd),
            cwd: self.cwd.clone(),
            date: config::env::today(),
            platform: config::env::platform(),
            notices: options.notices,
            user_dir: self.dirs.config.clone(),
            claude_dir: self.dirs.claude.clone(),
            scope: self.scope(),
            setting_sources: self.loaded.project.sources,
            system_prompt: options.system_prompt,
            append_system_prompt: options.append_system_prompt,
            background_wait: options.background_wait,
            per_run: budget::Limits {
                turns: config.budget.max_turns,
                wall: config.budget.max_wall_s.map(Duration::from_secs),
                ..budget::Limits::default()
            },
            budget: budget::Limits { usd: config.budget.max_usd, ..budget::Limits::default() },
            max_call: config.budget.max_call_s.map(Duration::from_secs),
        }
    }

    /// Returns the depth of this process in a chain of programs that start one another, from
    /// `with_depth`. Without the variable it is 0.
    pub(crate) fn depth(&self) -> Result<u32, AppError> {
        let Some(value) = self.env.get_os(DEPTH_VARIABLE) else { return Ok(0) };
        let wrong =
            || AppError::Usage(format!("{DEPTH_VARIABLE} must be a whole number, not {value:?}"));
        value.to_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)
    }

    /// Whether an agent's command started this program.
    pub(crate) fn is_started_by_agent(&self) -> Result<bool, AppError> {
        Ok(self.depth()? > 0)
    }

    /// Checks that a program at this depth may have agents: one that an agent's command started is
    /// one level deeper than that agent.
    pub(crate) fn check_depth(&self) -> Result<(), AppError> {
        let (depth, limit) = (self.depth()?, self.loaded.config.subagents.max_depth);
        if depth > limit { Err(AppError::TooDeep { depth, limit }) } else { Ok(()) }
    }

    /// Refuses to start if a settings file requires a sandbox.
    pub(crate) fn check_sandbox(&self) -> Result<(), AppError> {
        match &self.loaded.sandbox_required {
            None => Ok(()),
            Some(origin) => Err(AppError::Usage(format!(
                "{origin}: `sandbox.failIfUnavailable` requires a sandbox for commands, but none is available; \
                 nothing was run. Set it to false there, or pass --settings '{{\"sandbox\": {{\"enabled\": false}}}}'"
            ))),
        }
    }
}

/// How long to wait at exit for threads in system calls.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(1);

/// Runs a front end to completion on three threads, because the work is mostly waiting. Threads
/// that hang at the end are abandoned.
pub(crate) fn block_on<T>(
    front_end: impl Future<Output = Result<T, AppError>>,
) -> Result<T, AppError> {
    let tasks = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(exec::BLOCKING_THREADS)
        .enable_all()
        .build()?;
    let result = tasks.block_on(front_end);
    tasks.shutdown_timeout(SHUTDOWN_WAIT);
    result
}

/// Returns the built-in model catalogue, overlaid with the user's.
pub(crate) fn catalogue(setup: &Setup) -> Result<Arc<Catalogue>, AppError> {
    let path = setup.dirs.models_file();
    let read = match std::fs::read_to_string(&path) {
        Ok(text) => Catalogue::with_user_models(&text, &path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Catalogue::built_in(),
        Err(error) => {
            return Err(ConfigError::Unreadable { path, reason: error.to_string() }.into());
        }
    };
    Ok(Arc::new(read))
}
