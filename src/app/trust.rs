//! Trust in a project, given with `caliban trust` or by a question before a session on the screen.

use std::path::{Path, PathBuf};

use super::{AppError, Setup, parts, screen, working_dir};
use crate::cli::Cli;
use crate::command::{self, CommandReport};
use crate::config::{Dirs, Origin, Project, ProjectStart, Trust, UntrustedItem, trust};
use crate::protocol::EnvOverlay;
use crate::tui::{self, PendingInput, TrustAnswer, TrustItem, TrustQuestion};

/// Trusts the project of `dir`.
pub(super) fn accept(
    cli: &Cli,
    env: &EnvOverlay,
    dir: Option<&Path>,
) -> Result<CommandReport, AppError> {
    let setup = setup(cli, env, dir)?;
    check_started_by_user(&setup)?;
    let Setup { trust, loaded, .. } = &setup;
    trust.accept_all(&loaded.untrusted, &loaded.starts)?;
    Ok(command::trust::accepted(trust.root(), &loaded.untrusted, &loaded.starts))
}

/// Shows what is trusted of the project of `dir`, and what is not. Changes nothing.
pub(super) fn show(
    cli: &Cli,
    env: &EnvOverlay,
    dir: Option<&Path>,
) -> Result<CommandReport, AppError> {
    let Setup { trust, loaded, .. } = setup(cli, env, dir)?;
    let accepted = trust.accepted()?;
    Ok(command::trust::shown(trust.root(), &loaded.untrusted, &loaded.starts, &accepted))
}

/// Revokes trust in the project of `dir`.
pub(super) fn revoke(
    cli: &Cli,
    env: &EnvOverlay,
    dir: Option<&Path>,
) -> Result<CommandReport, AppError> {
    let wanted = requested_dir(cli, dir);
    // A missing folder has no configuration to read, but may be created again.
    if let Some(gone) = wanted.as_ref().filter(|dir| !dir.exists()) {
        let here = working_dir(None)?;
        let dirs = Dirs::new(env, &here)?;
        let root: PathBuf = here.join(gone).components().collect();
        let home = env.get_os("HOME").map(Path::new);
        let trust = Trust::new(&dirs, &Project::discover(&root, home), &root);
        return Ok(command::trust::revoked(trust.root(), trust.revoke()?));
    }
    let setup = setup(cli, env, dir)?;
    check_started_by_user(&setup)?;
    Ok(command::trust::revoked(setup.trust.root(), setup.trust.revoke()?))
}

/// Returns the folder that the arguments name.
fn requested_dir(cli: &Cli, dir: Option<&Path>) -> Option<PathBuf> {
    match (&cli.common.cd, dir) {
        (Some(cd), Some(dir)) => Some(cd.join(dir)),
        (cd, dir) => cd.clone().or(dir.map(PathBuf::from)),
    }
}

fn setup(cli: &Cli, env: &EnvOverlay, dir: Option<&Path>) -> Result<Setup, AppError> {
    let dir = working_dir(requested_dir(cli, dir).as_deref())?;
    Setup::in_dir(dir, env.clone(), &cli.overrides())
}

/// Refuses if an agent started this program.
fn check_started_by_user(setup: &Setup) -> Result<(), AppError> {
    match setup.is_started_by_agent()? {
        false => Ok(()),
        true => {
            let why =
                "an agent started this command: only you can trust a project, in your own terminal";
            Err(AppError::Usage(why.to_owned()))
        }
    }
}

/// Lists all trusted projects.
pub(super) fn list(env: &EnvOverlay) -> Result<CommandReport, AppError> {
    let dirs = Dirs::new(env, &working_dir(None)?)?;
    Ok(command::trust::list(&trust::trusted_projects(&dirs)?))
}

/// The result of the question.
pub(super) enum TrustOutcome {
    /// Starts the session with this setup, and the keys typed after the answer.
    Start(Box<Setup>, PendingInput),
    /// Exits with this code.
    Exit(u8),
}

/// Asks whether to trust the project, if it has untrusted entries. The returned setup uses exactly
/// the entries that were shown and accepted; later changes of a file stay ignored.
pub(super) fn resolve(cli: &Cli, setup: Setup) -> Result<TrustOutcome, AppError> {
    let Setup { trust, loaded, .. } = &setup;
    // Don't ask if the answer cannot be stored, or if an agent started this program.
    let nothing = loaded.untrusted.is_empty() && loaded.starts.is_empty();
    if nothing || trust.problem().is_some() || setup.is_started_by_agent()? {
        return Ok(TrustOutcome::Start(Box::new(setup), PendingInput::default()));
    }
    let question = question(&setup);
    let settings = screen::settings(&setup, cli.common.no_color);
    let (answer, typed) =
        parts::block_on(async { Ok(tui::ask_trust(&question, &settings).await?) })?;
    match answer {
        TrustAnswer::NotNow => Ok(TrustOutcome::Start(Box::new(setup), typed)),
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

fn question(setup: &Setup) -> TrustQuestion {
    let thing = |origin: &Origin, what: String| match origin {
        Origin::File { path, line } => {
            Some(TrustItem { file: path.display().to_string(), line: *line, what })
        }
        _ => None,
    };
    let brought = |it: &UntrustedItem| thing(&it.origin, it.what.clone());
    let own = |start: &ProjectStart| thing(&start.origin, start.describe());
    TrustQuestion {
        root: setup.trust.root().display().to_string(),
        changed: setup.trust.accepts_any(),
        items: setup.loaded.untrusted.iter().filter_map(brought).collect(),
        own_items: setup.loaded.starts.iter().filter_map(own).collect(),
    }
}
