//! The person's word on what a project brings: by `caliban trust`, and by a question before a
//! session on the screen.

use std::path::{Path, PathBuf};

use super::{AppError, Setup, parts, screen, working_dir};
use crate::cli::Cli;
use crate::command::{self, Report};
use crate::config::{Dirs, Inert, Origin, Project, ProjectStart, Trust, trust};
use crate::protocol::EnvOverlay;
use crate::tui::{self, TrustAnswer, TrustQuestion, TrustThing, Typed};

/// Accepts what the project of `dir` brings.
pub(super) fn accept(cli: &Cli, env: &EnvOverlay, dir: Option<&Path>) -> Result<Report, AppError> {
    let setup = setup(cli, env, dir)?;
    by_the_person(&setup)?;
    let Setup { trust, loaded, .. } = &setup;
    trust.accept_all(&loaded.inert, &loaded.starts)?;
    Ok(command::trust::accepted(trust.root(), &loaded.inert, &loaded.starts))
}

/// What of the project of `dir` waits for the person's word, and what is accepted. Changes nothing.
pub(super) fn show(cli: &Cli, env: &EnvOverlay, dir: Option<&Path>) -> Result<Report, AppError> {
    let Setup { trust, loaded, .. } = setup(cli, env, dir)?;
    let accepted = trust.accepted()?;
    Ok(command::trust::shown(trust.root(), &loaded.inert, &loaded.starts, &accepted))
}

/// Takes back what was accepted of the project of `dir`.
pub(super) fn revoke(cli: &Cli, env: &EnvOverlay, dir: Option<&Path>) -> Result<Report, AppError> {
    let wanted = wanted(cli, dir);
    // A folder that is gone has no configuration that could be read; its name may come again.
    if let Some(gone) = wanted.as_ref().filter(|dir| !dir.exists()) {
        let here = working_dir(None)?;
        let dirs = Dirs::new(env, &here)?;
        let root: PathBuf = here.join(gone).components().collect();
        let home = env.get_os("HOME").map(Path::new);
        let trust = Trust::new(&dirs, &Project::discover(&root, home), &root);
        return Ok(command::trust::revoked(trust.root(), trust.revoke()?));
    }
    let setup = setup(cli, env, dir)?;
    by_the_person(&setup)?;
    Ok(command::trust::revoked(setup.trust.root(), setup.trust.revoke()?))
}

/// The folder that the arguments name.
fn wanted(cli: &Cli, dir: Option<&Path>) -> Option<PathBuf> {
    match (&cli.common.cd, dir) {
        (Some(cd), Some(dir)) => Some(cd.join(dir)),
        (cd, dir) => cd.clone().or(dir.map(PathBuf::from)),
    }
}

fn setup(cli: &Cli, env: &EnvOverlay, dir: Option<&Path>) -> Result<Setup, AppError> {
    let dir = working_dir(wanted(cli, dir).as_deref())?;
    Setup::in_dir(dir, env.clone(), &cli.overrides())
}

/// An agent's word is none.
fn by_the_person(setup: &Setup) -> Result<(), AppError> {
    match setup.is_started_by_agent()? {
        false => Ok(()),
        true => {
            let why =
                "an agent started this: a project is trusted by you, in a terminal of your own";
            Err(AppError::Usage(why.to_owned()))
        }
    }
}

/// All projects of which something is accepted.
pub(super) fn list(env: &EnvOverlay) -> Result<Report, AppError> {
    let dirs = Dirs::new(env, &working_dir(None)?)?;
    Ok(command::trust::list(&trust::trusted(&dirs)?))
}

/// What comes of the question.
pub(super) enum Settled {
    /// The session starts with this, and with what was typed behind the answer.
    Start(Box<Setup>, Typed),
    /// The program ends with this code.
    Leave(u8),
}

/// Asks about what the project brings, if there is something to ask. What was shown and accepted
/// counts in the setup that comes back, and nothing else: what a file says by then that was not
/// shown stays inert.
pub(super) fn settle(cli: &Cli, setup: Setup) -> Result<Settled, AppError> {
    let Setup { trust, loaded, .. } = &setup;
    // Where nothing can be kept there is nothing to ask; an agent's word is none.
    let nothing = loaded.inert.is_empty() && loaded.starts.is_empty();
    if nothing || trust.problem().is_some() || setup.is_started_by_agent()? {
        return Ok(Settled::Start(Box::new(setup), Typed::default()));
    }
    let question = question(&setup);
    let settings = screen::settings(&setup, cli.common.no_color);
    let (answer, typed) = parts::run(async { Ok(tui::ask_trust(&question, &settings).await?) })?;
    match answer {
        TrustAnswer::NotNow => Ok(Settled::Start(Box::new(setup), typed)),
        TrustAnswer::Quit => Ok(Settled::Leave(0)),
        TrustAnswer::Signal(number) => Ok(Settled::Leave(u8::try_from(128 + number).unwrap_or(1))),
        TrustAnswer::Trust => {
            let accepted = trust.accept_all(&loaded.inert, &loaded.starts);
            let mut setup = Setup::load(cli, setup.env.clone(), &cli.overrides())?;
            if let Err(error) = accepted {
                setup.loaded.notices.push(format!("The project is not trusted: {error}."));
            }
            Ok(Settled::Start(Box::new(setup), typed))
        }
    }
}

fn question(setup: &Setup) -> TrustQuestion {
    let thing = |origin: &Origin, what: String| match origin {
        Origin::File { path, line } => {
            Some(TrustThing { file: path.display().to_string(), line: *line, what })
        }
        _ => None,
    };
    let brought = |it: &Inert| thing(&it.origin, it.what.clone());
    let own = |start: &ProjectStart| thing(&start.origin, start.describe());
    TrustQuestion {
        root: setup.trust.root().display().to_string(),
        changed: setup.trust.accepts_some(),
        things: setup.loaded.inert.iter().filter_map(brought).collect(),
        own: setup.loaded.starts.iter().filter_map(own).collect(),
    }
}
