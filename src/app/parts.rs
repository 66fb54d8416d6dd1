//! The parts of the runtime, as the configuration and the command line have them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::models::Models;
use super::rules::RuleFiles;
use super::{AppError, Setup};
use crate::budget;
use crate::cli::Cli;
use crate::config::models::Catalogue;
use crate::config::{self, ConfigError, Dirs, Loaded, OnViolation};
use crate::disk::ProjectScope;
use crate::exec::{self, Sandbox, StartDirs, StartSettings, Supervisor};
use crate::hook::{HookSet, HookSettings};
use crate::permission::{Gate, GateSettings};
use crate::protocol::{
    DEPTH_VARIABLE, EnvOverlay, EventQueue, McpServer, SharedPeer, printable_path,
};
use crate::provider::{HttpClient, Model, ModelSource};
use crate::runtime::{Parts, SubAgents};
use crate::subagent::{Settings, Slots};
use crate::tool::mcp::{Mcp, McpSettings};
use crate::tool::{BuiltinSettings, Hidden, RedirectRules, WebSettings};

/// What the faces differ in.
pub(super) struct Wishes {
    pub events: EventQueue,
    /// Whether sessions are stored.
    pub stored: bool,
    pub tools: Option<Vec<String>>,
    /// None of these tools.
    pub without: Vec<String>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// How long main, when it is done, waits for its agents in the background; `None` where it is
    /// woken by them.
    pub patience: Option<Duration>,
    /// What the person should know at the start.
    pub notices: Vec<String>,
    pub mcp: Mcp,
}

impl Wishes {
    /// The wishes of a command line.
    pub fn of(cli: &Cli, events: EventQueue, mcp: Mcp) -> Result<Self, AppError> {
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
            without: Vec::new(),
            system_prompt,
            append_system_prompt: cli.model.append_system_prompt.clone(),
            patience: None,
            notices: Vec::new(),
        })
    }
}

/// Where hooks, servers and the commands that print keys start. The user's folder for state comes
/// first: below a folder for temporary files, others may write into the folders above.
pub(super) fn starts(loaded: &Loaded, dirs: &Dirs, cwd: &Path, env: &EnvOverlay) -> StartDirs {
    let project = &loaded.project;
    let work = [project.root(), project.home(), cwd].map(Path::to_owned);
    let more = loaded.config.permissions.additional_dirs.iter().cloned();
    let named = ["XDG_RUNTIME_DIR", "TMPDIR"].map(|name| env.non_empty(name));
    let temp = named.into_iter().flatten().chain(["/tmp", "/var/tmp"]).map(PathBuf::from);
    StartDirs::new(StartSettings {
        project: project.home().to_owned(),
        working: work.into_iter().chain(more).collect(),
        state: dirs.state.clone(),
        temp: temp.collect(),
        home: env.get_os("HOME").map(PathBuf::from),
        supervisor: Supervisor::of_this_program(),
    })
}

/// The means to confine commands, where the kernel has them.
fn sandbox() -> Option<Sandbox> {
    config::env::program().ok().and_then(|program| Sandbox::new(&program))
}

/// The files that a project's imports and links may read.
pub(super) fn scope(loaded: &Loaded, home: Option<&Path>) -> ProjectScope {
    let more = &loaded.config.permissions.additional_dirs;
    ProjectScope::new(&loaded.project.folders, more).within_checkouts(home)
}

impl Setup {
    /// The gate, with the configured rules as they are and as they change. What is wrong with a
    /// change goes to `events`.
    pub fn gate(&self, interactive: bool, events: &EventQueue) -> Result<Gate, AppError> {
        let permissions = &self.loaded.config.permissions;
        let dirs = std::iter::once(self.cwd.to_path_buf());
        let files = RuleFiles::of(self, events.sink());
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
            has_sandbox: sandbox().is_some(),
            bash: Some(&exec::BASH_VERSION),
            bypass_disabled: self.loaded.bypass_disabled,
        };
        Ok(Gate::following(settings, Box::new(files)))
    }

    /// The servers of the session, none of which runs yet. `peer` is the program that drives this one.
    pub(super) fn mcp(&self, peer: Option<SharedPeer>) -> Mcp {
        let servers = self.loaded.mcp.iter().map(|entry| entry.server.clone());
        self.mcp_of(servers.collect(), peer)
    }

    /// The same with these servers alone.
    pub(super) fn mcp_of(&self, servers: Vec<McpServer>, peer: Option<SharedPeer>) -> Mcp {
        let config = &self.loaded.config;
        let http = HttpClient::new(&self.env);
        Mcp::new(McpSettings {
            servers,
            cwd: self.cwd.clone(),
            starts: self.starts.clone(),
            env: self.loaded.variables.over(&self.env),
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

    /// The files that a project's imports and links may read.
    pub(super) fn scope(&self) -> ProjectScope {
        scope(&self.loaded, self.env.get_os("HOME").map(Path::new))
    }

    pub(super) fn home(&self) -> Option<PathBuf> {
        self.env.get_os("HOME").map(PathBuf::from)
    }

    /// The configured hooks.
    fn hooks(&self, secrets: &[String]) -> HookSet {
        HookSet::new(HookSettings {
            hooks: self.loaded.hooks.clone(),
            starts: self.starts.clone(),
            env: self.loaded.variables.over(&self.env),
            secrets: secrets.to_vec(),
            redactor: self.redactor.clone(),
        })
    }

    /// The source of models.
    pub fn models(&self, catalogue: &Arc<Catalogue>) -> Models {
        Models::new(self, catalogue)
    }

    /// The parts of a runtime that asks `model` first.
    pub(super) fn parts(
        &self,
        wishes: Wishes,
        gate: Gate,
        model: Option<Model>,
        models: Arc<dyn ModelSource>,
        catalogue: Arc<Catalogue>,
    ) -> Parts {
        let config = &self.loaded.config;
        let secrets: Vec<String> = config.key_variables().into_iter().map(str::to_owned).collect();
        let (judge, web) = (gate.clone(), gate.clone());
        let hidden = Hidden::by(move |cwd, place| {
            let unreadable = judge.unreadable(cwd, place);
            move |file| unreadable.contains(file)
        });
        let sandbox = sandbox();
        Parts {
            hooks: self.hooks(&secrets),
            events: wishes.events,
            model,
            models,
            catalogue,
            gate,
            store: wishes.stored.then(|| self.store()),
            definitions: self.definitions.clone(),
            custom: self.custom().hiding(hidden.clone(), &self.cwd),
            builtin: BuiltinSettings {
                home: self.home(),
                secret_env: secrets.into(),
                hidden,
                web: WebSettings::default().with_redirects(RedirectRules::by(move |from, to| {
                    web.refused_redirect(from, to)
                })),
                sandbox: sandbox.clone(),
                supervisor: Supervisor::of_this_program(),
                ..BuiltinSettings::new(self.cwd.clone())
            },
            tools: wishes.tools,
            without: wishes.without,
            cwd: self.cwd.clone(),
            env: self.loaded.variables.over(&self.env),
            date: config::env::today(),
            platform: config::env::platform(),
            redactor: self.redactor.clone(),
            notices: wishes.notices,
            user_dir: self.dirs.config.clone(),
            claude_dir: self.dirs.claude.clone(),
            scope: self.scope(),
            setting_sources: self.loaded.project.sources,
            system_prompt: wishes.system_prompt,
            append_system_prompt: wishes.append_system_prompt,
            patience: wishes.patience,
            per_run: budget::Limits {
                turns: config.budget.max_turns,
                wall: config.budget.max_wall_s.map(Duration::from_secs),
                ..budget::Limits::default()
            },
            budget: budget::Limits { usd: config.budget.max_usd, ..budget::Limits::default() },
            max_call: config.budget.max_call_s.map(Duration::from_secs),
            max_operations: usize::try_from(config.subagents.max_concurrent_ops)
                .unwrap_or(usize::MAX),
            subagents: self.subagents(),
            project: self.starts.project().clone(),
            worktrees: self.dirs.worktrees(),
            sandbox,
            mcp: wishes.mcp,
        }
    }

    /// How deep this process is in a chain of programs that start one another, by [`with_depth`].
    /// Without the variable it is the first.
    pub(super) fn depth(&self) -> Result<u32, AppError> {
        let Some(value) = self.env.get_os(DEPTH_VARIABLE) else { return Ok(0) };
        let wrong =
            || AppError::Usage(format!("{DEPTH_VARIABLE} must be a whole number, not {value:?}"));
        value.to_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)
    }

    /// Whether a command of an agent started this program.
    pub(super) fn is_started_by_agent(&self) -> Result<bool, AppError> {
        Ok(self.depth()? > 0)
    }

    /// Whether a program this deep may have agents at all: one that a command of an agent started
    /// is one level deeper than that agent.
    pub(super) fn check_depth(&self) -> Result<(), AppError> {
        let (depth, limit) = (self.depth()?, self.loaded.config.subagents.max_depth);
        if depth > limit { Err(AppError::TooDeep { depth, limit }) } else { Ok(()) }
    }

    /// Refuses to start where a settings file demands a sandbox.
    pub(super) fn check_sandbox(&self) -> Result<(), AppError> {
        match &self.loaded.sandbox_required {
            None => Ok(()),
            Some(origin) => Err(AppError::Usage(format!(
                "{origin}: `sandbox.failIfUnavailable` demands a sandbox for commands, and there is none here, so \
                 nothing was run: set it to false there, or pass --settings '{{\"sandbox\": {{\"enabled\": false}}}}'"
            ))),
        }
    }

    fn subagents(&self) -> SubAgents {
        let config = &self.loaded.config.subagents;
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        SubAgents {
            enabled: config.enabled,
            slots: Slots {
                concurrent: count(config.max_concurrent_agents),
                children: count(config.max_children_per_agent),
                children_ever: config.max_children_total.map(count),
            },
            settings: Settings {
                tool_name: config.tool_name.name().to_owned(),
                max_turns: config.max_turns,
                result_max_chars: count(config.result_max_chars),
                strict_tools: config.strict_tools,
                persist: config.persist,
                faces: config.faces.clone(),
                max_depth: config.max_depth,
                // What cannot be read was refused at the start.
                base_depth: self.depth().unwrap_or(0),
                allow_nested_spawn: config.allow_nested_spawn,
                on_limit: config.on_limit,
                on_autonomy_violation: config.on_autonomy_violation,
                max_usd: config.max_usd,
                max_wall_s: config.max_wall_s,
                default_budget: config.default_budget,
                max_budget_per_agent: config.max_budget_per_agent,
                permissions: config.permissions,
                child_auth: config.child_auth,
                comms: config.comms,
                inherit_tool_instructions: config.inherit_tool_instructions,
            },
        }
    }
}

/// The variables with the depth of this process: an agent can change the variable, but not what the
/// processes above this one were started with.
pub(super) fn with_depth(env: EnvOverlay) -> EnvOverlay {
    let said = env
        .get_os(DEPTH_VARIABLE)
        .map(|value| value.to_str().and_then(|it| it.parse::<u32>().ok()));
    let above = exec::depth_above();
    match said {
        // What is no number is refused.
        Some(None) => env,
        Some(Some(said)) if said >= above => env,
        None if above == 0 => env,
        _ => env.with([(DEPTH_VARIABLE, above.to_string())]),
    }
}

/// How long what still hangs in a system call is waited for at the end.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Runs a face to its end, on this thread and two more: the work is waiting. What hangs then is left behind.
pub(super) fn run<T>(face: impl Future<Output = Result<T, AppError>>) -> Result<T, AppError> {
    let tasks = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(exec::BLOCKING_THREADS)
        .enable_all()
        .build()?;
    let result = tasks.block_on(face);
    tasks.shutdown_timeout(LAST_WAIT);
    result
}

/// The catalogue of models, with the person's own over the built-in one.
pub(super) fn catalogue(setup: &Setup) -> Result<Arc<Catalogue>, AppError> {
    let path = setup.dirs.models_file();
    let read = match std::fs::read_to_string(&path) {
        Ok(text) => Catalogue::with_user(&text, &path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Catalogue::built_in(),
        Err(error) => {
            return Err(ConfigError::Unreadable { path, reason: error.to_string() }.into());
        }
    };
    Ok(Arc::new(read))
}
