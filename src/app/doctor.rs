//! `caliban doctor` and `/doctor`: what is looked at. All of it is read anew each time.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::keys::{self as own_keys, Own};
use super::{AppError, Setup, parts, working_dir};
use crate::cli::Cli;
use crate::command::doctor::{
    Check, Finding, endpoint, examine, files, hooks, keys, lines, machine, mcp, report, terminal,
};
use crate::config::models::Catalogue;
use crate::config::{KeySource, Loaded, Overrides};
use crate::custom::Customs;
use crate::disk::ProjectFolders;
use crate::exec::child_env;
use crate::memory::{Memory, MemorySources};
use crate::protocol::{EnvOverlay, printable_path};
use crate::subagent::registry::{DefinitionSources, Definitions};

/// How long MCP servers may take to answer: with their end, less than a check may.
const MCP_PATIENCE: Duration = Duration::from_secs(5);

/// Variables passed to `git` and `tmux` when they are queried.
const CHECK_VARIABLES: [&str; 7] =
    ["HOME", "LANG", "LC_ALL", "PATH", "TERM", "TMUX", "XDG_CONFIG_HOME"];

/// What an examination starts from. Cheap to clone.
#[derive(Clone)]
pub(super) struct Doctor {
    cwd: Arc<Path>,
    env: EnvOverlay,
    overrides: Overrides,
    /// The definitions of a session that runs.
    definitions: Option<DefinitionSources>,
    /// Those of `--agents`.
    agents: Option<String>,
}

/// Examines and prints; the exit code is 1 when something is wrong.
pub(super) fn run(cli: &Cli, env: &EnvOverlay) -> Result<u8, AppError> {
    let cwd = working_dir(cli.common.cd.as_deref())?;
    let doctor = Doctor {
        cwd,
        env: env.clone(),
        overrides: cli.overrides(),
        definitions: None,
        agents: cli.tools.agents.clone(),
    };
    parts::run(async { Ok(report(&doctor.findings().await).print()) })
}

impl Doctor {
    /// One that looks at what a session was set up with.
    pub fn of(setup: &Setup) -> Self {
        Self {
            cwd: setup.cwd.clone(),
            env: setup.env.clone(),
            overrides: setup.overrides.clone(),
            definitions: Some(setup.definitions.clone()),
            agents: None,
        }
    }

    /// What a person should know of MCP servers that do not count.
    pub async fn mcp_notes(&self) -> Vec<String> {
        let Self { cwd, env, overrides, .. } = self.clone();
        let look = move || Setup::in_dir(cwd, env, &overrides).map(|setup| setup.mcp_notes());
        match tokio::task::spawn_blocking(look).await {
            Ok(Ok(notes)) => notes,
            Ok(Err(error)) => vec![error.to_string()],
            Err(error) => vec![error.to_string()],
        }
    }

    /// What the screen shows.
    pub async fn lines(&self) -> Vec<String> {
        lines(&self.findings().await)
    }

    /// A configuration that cannot be read hides only what depends on it.
    async fn findings(&self) -> Vec<Finding> {
        let load = self.clone();
        let load = move || {
            Setup::in_dir(load.cwd, load.env, &load.overrides)?.with_agents(load.agents.as_deref())
        };
        let setup = match tokio::task::spawn_blocking(load).await {
            Ok(setup) => setup,
            Err(error) => return vec![Finding::wrong("config", error.to_string())],
        };
        let mut checks = Vec::new();
        let project = match setup {
            Ok(setup) => {
                let project = setup.starts.project().clone();
                self.of_setup(&Arc::new(setup), &mut checks);
                project
            }
            Err(error) => {
                let why = vec![Finding::wrong("config", error.to_string())];
                checks.push(Check::new("config", async { why }));
                let home = self.env.get_os("HOME").map(Path::new);
                ProjectFolders::new([self.cwd.to_path_buf()], home)
            }
        };
        self.of_machine(&project, &mut checks);
        examine(checks).await
    }

    fn of_setup(&self, setup: &Arc<Setup>, checks: &mut Vec<Check>) {
        let definitions = self.definitions.clone().unwrap_or_else(|| setup.definitions.clone());
        let look = |about, look: fn(&Setup) -> Vec<Finding>| {
            let setup = setup.clone();
            Check::blocking(about, move || look(&setup))
        };
        checks.extend([
            look("key", |setup| keys::keys(&setup.loaded.config, &setup.env)),
            look("config", config),
            Check::blocking("agents", move || files::agents(&Definitions::load(&definitions))),
            look("commands", |setup| files::customs(&Customs::load(&setup.custom()))),
            look("memory", |setup| files::memory(&memory(setup))),
            look("hooks", |setup| {
                let (loaded, env) = (&setup.loaded, &setup.env);
                let places =
                    hooks::Places { root: setup.trust.root(), named: loaded.project.home() };
                hooks::hooks(&loaded.hooks, &loaded.inert, places, env)
            }),
            look("trust", |setup| files::trust(&setup.trust, &setup.loaded)),
            look("keymap", keymap),
            look("disk", |setup| {
                machine::disk(&[setup.dirs.data.clone(), setup.dirs.state.clone()])
            }),
        ]);
        let servers = setup.clone();
        checks.push(Check::new(mcp::ABOUT, async move {
            let standings = servers.mcp_standings(MCP_PATIENCE).await;
            mcp::servers(&standings, &servers.mcp_problems().0)
        }));
        // Without a catalogue there are no models; that it cannot be read has a line of its own.
        if let Ok(catalogue) = parts::catalogue(setup) {
            let models = Arc::new(setup.models(&catalogue));
            let asked = endpoints(setup, &catalogue).into_iter();
            checks.extend(asked.map(|(name, model)| {
                let models = models.clone();
                let advice = format!("see that {name} can be reached, and its base_url");
                Check::new(endpoint::ABOUT, async move {
                    let provider = models.provider(&name).await;
                    endpoint::endpoint(&name, provider, model).await
                })
                .or_else(advice)
            }));
        }
    }

    fn of_machine(&self, project: &ProjectFolders, checks: &mut Vec<Check>) {
        // Under which names keys stand is not known where the configuration cannot be read.
        let known = self.env.iter().filter(|(name, _)| CHECK_VARIABLES.iter().any(|it| name == it));
        let env = project.without_programs(&child_env(&known.collect(), 0, &[]));
        let on_terminal = std::io::stdout().is_terminal();
        let look = terminal::variables(&self.env, on_terminal);
        let (cwd, tmux_env) = (self.cwd.clone(), env.clone());
        checks.push(Check::new("terminal", async move {
            let tmux = match on_terminal {
                true => terminal::tmux(tmux_env, &cwd).await,
                false => None,
            };
            look.into_iter().chain(tmux).collect()
        }));
        checks.push(Check::new("git", machine::git(env, self.cwd.to_path_buf())));
        checks.push(Check::blocking("sandbox", || vec![machine::sandbox()]));
    }
}

/// The providers to be asked, each with the model that is wanted of it: the chosen one, and all
/// with a key in a variable. A command that prints a key may ask for a password: only that of the
/// chosen one is run.
fn endpoints(setup: &Setup, catalogue: &Catalogue) -> Vec<(String, Option<String>)> {
    let config = &setup.loaded.config;
    let chosen = config.choose(&setup.env);
    let of = |name: &String| {
        let chosen = chosen.as_ref().filter(|choice| choice.provider == *name);
        let source = config.key_source(name, &setup.env);
        let model = chosen.and_then(|choice| choice.model.clone());
        let model = model.map(|model| catalogue.resolve_alias(&model).to_owned());
        let asked = match source {
            Some(KeySource::Env { .. }) => true,
            Some(KeySource::Missing { .. }) | None => false,
            Some(KeySource::Command(_) | KeySource::NotNeeded) => chosen.is_some(),
        };
        asked.then(|| (name.clone(), model))
    };
    config.providers.keys().filter_map(of).collect()
}

/// What is wrong with the person's keymap; without one there is nothing to say.
fn keymap(setup: &Setup) -> Vec<Finding> {
    match own_keys::keymap(&setup.dirs) {
        Ok((_, Own::Nothing)) => Vec::new(),
        Ok((_, Own::Counts)) => {
            vec![Finding::ok("keymap", printable_path(&setup.dirs.keymap_file()))]
        }
        Ok((_, Own::Wrong(why))) => vec![Finding::wrong("keymap", why)],
        Err(error) => vec![Finding::wrong("keymap", error.to_string())],
    }
}

/// The configuration, with the person's catalogue of models. What waits for trust and what is wrong
/// with servers have lines of their own.
fn config(setup: &Setup) -> Vec<Finding> {
    let Loaded { inert, starts, .. } = &setup.loaded;
    let waits = [setup.trust.notice(inert), setup.trust.start_notice(starts)];
    let mut findings = files::config(&setup.loaded);
    let (broken, _) = setup.mcp_problems();
    findings.retain(|finding| {
        !waits.contains(&Some(finding.text.clone())) && !broken.contains(&finding.text)
    });
    if let Err(error) = parts::catalogue(setup) {
        findings.push(Finding::wrong("config", error.to_string()));
    }
    findings
}

fn memory(setup: &Setup) -> Memory {
    let home = setup.home();
    let sources = MemorySources {
        dir: &setup.cwd,
        own: &setup.dirs.config,
        claude: setup.dirs.claude.as_deref(),
        home: home.as_deref(),
        scope: &setup.scope(),
        project: setup.loaded.project.sources.project,
        local: setup.loaded.project.sources.local,
    };
    Memory::read(&sources, &|_| false)
}
