//! `caliban doctor` and `/doctor`: checks what works, and says how to fix what does not. Reads
//! everything again each time, changes nothing and shows no key.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::mcp::ServerRow;
use crate::app::keys::{self, UserKeymap};
use crate::app::parts;
use crate::app::setup::{AppError, Setup, working_dir};
use crate::app::theme;
use crate::cli::Cli;
use crate::commands::CommandSet;
use crate::config::models::Catalogue;
use crate::config::{KeySource, LoadedConfig, Overrides};
use crate::disk::ProjectFolders;
use crate::exec::child_env;
use crate::memory::{Memory, MemorySources};
use crate::protocol::{Charset, EnvOverlay, McpState, count, printable_path};
use crate::subagent::registry::{DefinitionSources, Definitions};
use crate::tui::page::PageLine;

mod files;
mod finding;
mod hooks;
mod machine;
mod providers;
mod terminal;

use finding::{Check, Finding, FindingState, examine, page, report};

/// The timeout for MCP servers to answer. Including their shutdown, it is less than that of a check.
const MCP_TIMEOUT: Duration = Duration::from_secs(5);

/// Variables passed to `git` and `tmux` when they are queried.
const CHECK_VARIABLES: [&str; 7] =
    ["HOME", "LANG", "LC_ALL", "PATH", "TERM", "TMUX", "XDG_CONFIG_HOME"];

/// The inputs of an examination. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Doctor {
    cwd: Arc<Path>,
    env: EnvOverlay,
    overrides: Overrides,
    /// The definitions of a running session.
    definitions: Option<DefinitionSources>,
    /// The value of `--agents`.
    agents: Option<String>,
}

/// Examines and prints. The exit code is 1 if something is wrong.
pub(crate) fn run(cli: &Cli, env: &EnvOverlay) -> Result<u8, AppError> {
    let cwd = working_dir(cli.common.cd.as_deref())?;
    let doctor = Doctor {
        cwd,
        env: env.clone(),
        overrides: cli.overrides(),
        definitions: None,
        agents: cli.tools.agents.clone(),
    };
    parts::block_on(async { Ok(report(&doctor.findings().await).print(Charset::from_env(env))) })
}

impl Doctor {
    /// Creates a doctor for a session's setup.
    pub fn new(setup: &Setup) -> Self {
        Self {
            cwd: setup.cwd.clone(),
            env: setup.env.clone(),
            overrides: setup.overrides.clone(),
            definitions: Some(setup.definitions.clone()),
            agents: None,
        }
    }

    /// Returns notes for the user about MCP servers that are ignored.
    pub async fn mcp_notes(&self) -> Vec<String> {
        let Self { cwd, env, overrides, .. } = self.clone();
        let look = move || Setup::in_dir(cwd, env, &overrides).map(|setup| setup.mcp_notes());
        match tokio::task::spawn_blocking(look).await {
            Ok(Ok(notes)) => notes,
            Ok(Err(error)) => vec![error.to_string()],
            Err(error) => vec![error.to_string()],
        }
    }

    /// Returns the findings as lines for the screen.
    pub async fn page(&self) -> Vec<PageLine> {
        page(&self.findings().await)
    }

    /// Runs all checks. An unreadable configuration only skips those that depend on it.
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
                self.add_setup_checks(&Arc::new(setup), &mut checks);
                project
            }
            Err(error) => {
                let why = vec![Finding::wrong("config", error.to_string())];
                checks.push(Check::new("config", async { why }));
                let home = self.env.get_os("HOME").map(Path::new);
                ProjectFolders::new([self.cwd.to_path_buf()], home)
            }
        };
        self.add_machine_checks(&project, &mut checks);
        examine(checks).await
    }

    fn add_setup_checks(&self, setup: &Arc<Setup>, checks: &mut Vec<Check>) {
        let definitions = self.definitions.clone().unwrap_or_else(|| setup.definitions.clone());
        let look = |about, look: fn(&Setup) -> Vec<Finding>| {
            let setup = setup.clone();
            Check::blocking(about, move || look(&setup))
        };
        checks.extend([
            look("key", |setup| providers::keys(&setup.loaded.config, &setup.env)),
            look("config", config),
            Check::blocking("agents", move || files::agents(&Definitions::load(&definitions))),
            look("commands", |setup| files::commands(&CommandSet::load(&setup.custom()))),
            look("memory", |setup| files::memory(&memory(setup))),
            look("hooks", |setup| {
                let (loaded, env) = (&setup.loaded, &setup.env);
                let places = hooks::HookFolders {
                    root: setup.trust.root(),
                    named: loaded.project.project_dir(),
                };
                hooks::hooks(&loaded.hooks, &loaded.untrusted, places, env)
            }),
            look("trust", |setup| files::trust(&setup.trust, &setup.loaded)),
            look("keymap", keymap),
            look("disk", |setup| {
                machine::disk(&[setup.dirs.data.clone(), setup.dirs.state.clone()])
            }),
        ]);
        let servers = setup.clone();
        checks.push(Check::new("mcp", async move {
            let rows = servers.mcp_rows(MCP_TIMEOUT).await;
            check_servers(&rows, &servers.mcp_problems().0)
        }));
        // Without a catalogue there are no models; an unreadable one is reported elsewhere.
        if let Ok(catalogue) = parts::catalogue(setup) {
            let models = Arc::new(setup.models(&catalogue));
            let asked = endpoints(setup, &catalogue).into_iter();
            checks.extend(asked.map(|(name, model)| {
                let models = models.clone();
                let advice = format!("check that {name} can be reached, and its base_url");
                Check::new("endpoint", async move {
                    let provider = models.provider(&name).await;
                    providers::endpoint(&name, provider, model).await
                })
                .or_else(advice)
            }));
        }
    }

    fn add_machine_checks(&self, project: &ProjectFolders, checks: &mut Vec<Check>) {
        // If the configuration cannot be read, the names of variables with keys are unknown, so
        // pass only these.
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

/// Returns the providers to query, each with its requested model: the chosen one, and all with a
/// key in a variable. A command that prints a key may ask for a password, so only that of the
/// chosen provider is run.
fn endpoints(setup: &Setup, catalogue: &Catalogue) -> Vec<(String, Option<String>)> {
    let config = &setup.loaded.config;
    let chosen = config.choose_provider(&setup.env);
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

/// Checks the user's keymap, if there is one.
fn keymap(setup: &Setup) -> Vec<Finding> {
    match keys::keymap(&setup.dirs) {
        Ok((_, UserKeymap::Missing)) => Vec::new(),
        Ok((_, UserKeymap::Used)) => {
            vec![Finding::ok("keymap", printable_path(&setup.dirs.keymap_file()))]
        }
        Ok((_, UserKeymap::Invalid(why))) => vec![Finding::wrong("keymap", why)],
        Err(error) => vec![Finding::wrong("keymap", error.to_string())],
    }
}

/// Checks the configuration and the user's model catalogue. Untrusted entries and problems with
/// servers have their own lines.
fn config(setup: &Setup) -> Vec<Finding> {
    let LoadedConfig { untrusted, starts, .. } = &setup.loaded;
    let waits = [setup.trust.notice(untrusted), setup.trust.start_notice(starts)];
    let mut findings = files::config(&setup.loaded);
    let (broken, _) = setup.mcp_problems();
    let rules = setup.check_rules().err().map(|error| error.to_string());
    let wrong: Vec<String> = theme::check(setup).err().into_iter().chain(rules).collect();
    if !wrong.is_empty() {
        findings.retain(|finding| finding.state != FindingState::Ok);
    }
    findings.extend(wrong.into_iter().map(|why| Finding::wrong("config", why)));
    findings.extend(theme::problems(setup).into_iter().map(|why| Finding::note("config", why)));
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

/// Returns one line for each server, and for each `broken` definition that is left out.
fn check_servers(servers: &[ServerRow], broken: &[String]) -> Vec<Finding> {
    if servers.is_empty() && broken.is_empty() {
        return vec![Finding::ok("mcp", "none")];
    }
    let finding = |row: &ServerRow| {
        let name = &row.entry.server.name;
        let (state, origin) = (row.state(), &row.entry.origin);
        match &row.status {
            None => Finding::note("mcp", format!("{name} ({origin}): {state}")),
            Some(status) if status.state == McpState::Connected => {
                let tools = count(status.tools.len(), "tool");
                Finding::ok("mcp", format!("{name}: {state}, {tools}"))
            }
            Some(_) => {
                let error = row.error();
                let why = if error.is_empty() { String::new() } else { format!(": {error}") };
                Finding::wrong("mcp", format!("{name} ({origin}): {state}{why}"))
            }
        }
    };
    let broken = broken.iter().map(|why| Finding::wrong("mcp", why.clone()));
    servers.iter().map(finding).chain(broken).collect()
}
