//! `caliban trust [DIR]`: reports trusted and untrusted entries of a project, and all trusted projects.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::CommandReport;
use crate::app::setup::{AppError, Setup, working_dir};
use crate::cli::Cli;
use crate::config::{Dirs, Origin, Project, ProjectStart, Trust, UntrustedItem, trust};
use crate::protocol::{
    EnvOverlay, count, escaped_lines, printable_line, printable_path, shell_path,
};

/// Trusts the project of `dir`.
pub(crate) fn accept(
    cli: &Cli,
    env: &EnvOverlay,
    dir: Option<&Path>,
) -> Result<CommandReport, AppError> {
    let setup = setup(cli, env, dir)?;
    check_started_by_user(&setup)?;
    let Setup { trust, loaded, .. } = &setup;
    trust.accept_all(&loaded.untrusted, &loaded.starts)?;
    Ok(report_accepted(trust.root(), &loaded.untrusted, &loaded.starts))
}

/// Shows what is trusted of the project of `dir`, and what is not. Changes nothing.
pub(crate) fn show(
    cli: &Cli,
    env: &EnvOverlay,
    dir: Option<&Path>,
) -> Result<CommandReport, AppError> {
    let Setup { trust, loaded, .. } = setup(cli, env, dir)?;
    let accepted = trust.accepted()?;
    Ok(report_shown(trust.root(), &loaded.untrusted, &loaded.starts, &accepted))
}

/// Revokes trust in the project of `dir`.
pub(crate) fn revoke(
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
        return Ok(report_revoked(trust.root(), trust.revoke()?));
    }
    let setup = setup(cli, env, dir)?;
    check_started_by_user(&setup)?;
    Ok(report_revoked(setup.trust.root(), setup.trust.revoke()?))
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
pub(crate) fn list(env: &EnvOverlay) -> Result<CommandReport, AppError> {
    let dirs = Dirs::new(env, &working_dir(None)?)?;
    Ok(report_list(&trust::trusted_projects(&dirs)?))
}

/// Reports the newly trusted entries.
fn report_accepted(
    root: &Path,
    things: &[UntrustedItem],
    starts: &[ProjectStart],
) -> CommandReport {
    let name = printable_path(root);
    if things.is_empty() && starts.is_empty() {
        return CommandReport::text(format!("{name} has nothing to trust.\n"));
    }
    let mut text = String::new();
    if !things.is_empty() {
        text = format!("{name} brings:\n{}", listed(things));
    }
    if !starts.is_empty() {
        text.push_str(&format!("Your own entries that start in {name}:\n{}", listed_own(starts)));
    }
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "Trusted: {}. New or changed entries need your trust again; `caliban trust --revoke {}` revokes it.",
        count(things.len() + starts.len(), "thing"),
        shell_path(root),
    );
    CommandReport::text(text)
}

/// Lists untrusted and trusted entries by file.
fn report_shown(
    root: &Path,
    waiting: &[UntrustedItem],
    starts: &[ProjectStart],
    accepted: &[(String, String)],
) -> CommandReport {
    let name = printable_path(root);
    if waiting.is_empty() && starts.is_empty() && accepted.is_empty() {
        return CommandReport::text(format!("{name} has nothing to trust.\n"));
    }
    let mut text = String::new();
    if !waiting.is_empty() {
        text = format!(
            "Ignored until you trust it ({}); run `caliban trust {}` to accept:\n{}",
            count(waiting.len(), "thing"),
            shell_path(root),
            listed(waiting),
        );
    }
    if !starts.is_empty() {
        text.push_str(&format!(
            "Your own entries, which start in an empty folder until you trust this project ({}); run `caliban trust {}` to accept:\n{}",
            count(starts.len(), "thing"),
            shell_path(root),
            listed_own(starts),
        ));
    }
    if !accepted.is_empty() {
        text.push_str(&format!(
            "Trusted ({}), as long as it is unchanged:\n",
            count(accepted.len(), "thing")
        ));
        let mut last = "";
        for (file, what) in accepted {
            if last != file {
                text.push_str(&format!("  {}\n", printable_line(file)));
                last = file;
            }
            for line in escaped_lines(what) {
                text.push_str(&format!("    {}\n", printable_line(line)));
            }
        }
    }
    CommandReport::text(text)
}

/// Reports whether trust was revoked.
fn report_revoked(root: &Path, some: bool) -> CommandReport {
    let name = printable_path(root);
    CommandReport::text(match some {
        true => format!("{name} is no longer trusted; running sessions keep what they have.\n"),
        false => format!("{name} was not trusted.\n"),
    })
}

/// Lists all trusted projects.
fn report_list(projects: &[(PathBuf, usize)]) -> CommandReport {
    if projects.is_empty() {
        return CommandReport::text("No project is trusted.\n");
    }
    let row = |(root, things): &(PathBuf, usize)| [printable_path(root), count(*things, "thing")];
    CommandReport::table(&projects.iter().map(row).collect::<Vec<_>>())
}

/// Formats entries by file, each with its line.
fn listed(things: &[UntrustedItem]) -> String {
    lines(things.iter().map(|thing| (thing.what.clone(), &thing.origin)))
}

/// Formats the user's own entries in the same way.
fn listed_own(starts: &[ProjectStart]) -> String {
    lines(starts.iter().map(|start| (start.describe(), &start.origin)))
}

fn lines<'a>(things: impl Iterator<Item = (String, &'a Origin)>) -> String {
    let mut text = String::new();
    let mut last: Option<&Path> = None;
    let mut files: Vec<&Path> = Vec::new();
    let mut things: Vec<_> = things
        .filter_map(|(what, origin)| {
            let Origin::File { path, line } = origin else { return None };
            let known = files.iter().position(|file| *file == path);
            let file = known.unwrap_or_else(|| {
                files.push(path);
                files.len() - 1
            });
            Some((file, *line, what))
        })
        .collect();
    // In the order of each file's lines.
    things.sort_by_key(|(file, line, _)| (*file, *line));
    for (file, line, what) in things {
        let path = files[file];
        if last != Some(path) {
            let _ = writeln!(text, "  {}", printable_path(path));
            last = Some(path);
        }
        let mut number = format!("{line:>4}");
        for what in escaped_lines(&what) {
            let _ = writeln!(text, "    {number}  {}", printable_line(what));
            number = " ".repeat(4);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(what: &str, path: &str, line: usize) -> UntrustedItem {
        UntrustedItem { what: what.to_owned(), origin: Origin::File { path: path.into(), line } }
    }

    #[test]
    fn what_is_accepted_is_shown_by_file_and_cannot_steer_the_terminal() {
        let things = [
            thing("allow rule Bash", ".caliban/config.toml", 3),
            thing("env A: b", ".claude/settings.json", 1),
            thing("hook Stop: a\u{1b}[2J\nb", ".caliban/config.toml", 12),
        ];
        let expected = "/p brings:\n  .caliban/config.toml\n       3  allow rule Bash\n      \
                        12  hook Stop: a\\u{1b}[2J\n          b\n  .claude/settings.json\n       1  env A: b\n\
                        Trusted: 3 things. New or changed entries need your trust again; \
                        `caliban trust --revoke /p` revokes it.\n";
        assert_eq!(report_accepted(Path::new("/p"), &things, &[]).text, expected);
        assert_eq!(report_accepted(Path::new("/p"), &[], &[]).text, "/p has nothing to trust.\n");
    }
}
