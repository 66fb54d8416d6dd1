//! The composition root: configuration in, a running program out. The only module that knows all others.

use screen::ScreenEnd;
use setup::{AppError, Setup};

use crate::cli::{AuthAction, Cli, CliCommand, ConfigAction, PermissionsAction, PrintArgs};
use crate::command;
use crate::exec::sandbox::{ProcessBounds, ReadBounds};
use crate::protocol::{Charset, EnvOverlay};
use crate::subagent::registry::Definitions;

mod ask_tool;
mod choices;
mod handshake;
pub(crate) mod headless;
mod host;
pub(crate) mod keys;
mod log;
mod main_agent;
mod models;
mod own_command;
pub(crate) mod parts;
mod prompt;
mod protected;
mod resumed;
mod retention;
mod rule_stamps;
mod rules;
pub(crate) mod screen;
mod session_search;
pub(crate) mod setup;
pub(crate) mod theme;

pub use headless::refuse_handshake;

/// Carries out the command line and returns the exit code.
///
/// # Errors
/// If it cannot start; errors during a run are reported by the run itself.
pub fn run(cli: &Cli, env: &EnvOverlay) -> Result<u8, AppError> {
    let setup = || Setup::load(cli, env.clone(), &cli.overrides());
    let report = match &cli.command {
        None if cli.print.print => return headless::run(cli, setup()),
        None => {
            return match screen::run(cli, setup()?)? {
                ScreenEnd::Exit(code) => Ok(code),
                ScreenEnd::Demo => command::demo::run(cli, env, &PrintArgs::default()),
            };
        }
        Some(CliCommand::Demo(print)) => return command::demo::run(cli, env, print),
        Some(CliCommand::Doctor) => return command::doctor::run(cli, env),
        Some(CliCommand::Sandbox { launcher, write, read_only, read, project, git, program }) => {
            let bounds = ReadBounds { folders: read, project, uses_git: *git, env };
            let read = read_only.then_some(bounds);
            let bounds = ProcessBounds { write, read };
            return Ok(command::internal::become_restricted(*launcher, &bounds, program));
        }
        Some(CliCommand::Auth { action }) => {
            let setup = setup()?;
            let AuthAction::Status { json } = action.unwrap_or_default();
            command::auth::status(&setup.loaded.config, &setup.env, json)
        }
        Some(CliCommand::Completions { shell }) => command::completions::completions(*shell),
        Some(CliCommand::Agents { action }) => {
            let setup = setup()?;
            let definitions = Definitions::load(&setup.definitions);
            let action = action.clone().unwrap_or_default();
            command::agents::agents(&action, &definitions, &setup.loaded.mcp)
        }
        Some(CliCommand::Sessions { action }) => {
            let setup = setup()?;
            let keep_days = setup.loaded.config.session.keep_days;
            let action = action.clone().unwrap_or_default();
            command::sessions::sessions(&action, &setup.store(), keep_days)
        }
        Some(CliCommand::Mcp { action }) => {
            command::mcp::mcp(cli, env, &action.clone().unwrap_or_default())?
        }
        Some(CliCommand::Trust { list: true, .. }) => command::trust::list(env)?,
        Some(CliCommand::Trust { dir, show: true, .. }) => {
            command::trust::show(cli, env, dir.as_deref())?
        }
        Some(CliCommand::Trust { dir, revoke: true, .. }) => {
            command::trust::revoke(cli, env, dir.as_deref())?
        }
        Some(CliCommand::Trust { dir, .. }) => command::trust::accept(cli, env, dir.as_deref())?,
        Some(CliCommand::Permissions { action: PermissionsAction::Test { call } }) => {
            command::permissions::test(call, &setup()?)?
        }
        // Must work even if the configuration cannot be read: an editor needs it to fix one.
        Some(CliCommand::Config { action: Some(ConfigAction::Schema) }) => {
            command::config::schema()
        }
        Some(CliCommand::Config { action }) => {
            let mut setup = setup()?;
            let problem = theme::check(&setup).err();
            setup.loaded.notices.extend(problem);
            command::config::config(&action.clone().unwrap_or_default(), setup)?
        }
    };
    Ok(report.print(Charset::from_env(env)))
}
