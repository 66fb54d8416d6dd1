//! `caliban trust`: the person's word on what a project brings.

use std::path::{Path, PathBuf};

use super::{AppError, Setup, working_dir};
use crate::cli::Cli;
use crate::command::{self, Report};
use crate::config::{Dirs, trust};
use crate::protocol::EnvOverlay;

/// Accepts what the project of `dir` brings, or takes that back.
pub(super) fn report(
    cli: &Cli,
    env: &EnvOverlay,
    dir: Option<&Path>,
    revoke: bool,
) -> Result<Report, AppError> {
    let dir = match (&cli.common.cd, dir) {
        (Some(cd), Some(dir)) => Some(cd.join(dir)),
        (cd, dir) => cd.clone().or(dir.map(PathBuf::from)),
    };
    let setup = Setup::in_dir(working_dir(dir.as_deref())?, env.clone(), &cli.overrides())?;
    if setup.depth()? > 0 {
        let why = "an agent started this: a project is trusted by you, in a terminal of your own";
        return Err(AppError::Usage(why.to_owned()));
    }
    let Setup { trust, loaded, .. } = &setup;
    if revoke {
        return Ok(command::trust::revoked(trust.root(), trust.revoke()?));
    }
    trust.accept(&loaded.inert)?;
    Ok(command::trust::accepted(trust.root(), &loaded.inert))
}

/// All projects of which something is accepted.
pub(super) fn list(env: &EnvOverlay) -> Result<Report, AppError> {
    let dirs = Dirs::new(env, &working_dir(None)?)?;
    Ok(command::trust::list(&trust::trusted(&dirs)?))
}
