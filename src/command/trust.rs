//! `caliban trust [DIR]`: what a project brings, what was accepted of it, and what of all.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{Report, columns};
use crate::config::{Inert, Origin, ProjectStart};
use crate::protocol::{escaped_lines, printable_line, printable_path, shell_path};

/// What has just been accepted.
#[must_use]
pub fn accepted(root: &Path, things: &[Inert], starts: &[ProjectStart]) -> Report {
    let name = printable_path(root);
    if things.is_empty() && starts.is_empty() {
        return Report::text(format!("{name} brings nothing that waits for your trust.\n"));
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
        "Trusted: {}. What is new or changed later is asked about again; `caliban trust --revoke {}` takes it back.",
        counted(things.len() + starts.len()),
        shell_path(root),
    );
    Report::text(text)
}

/// What waits for the person's word, and what is accepted: each line with its file.
#[must_use]
pub fn shown(
    root: &Path,
    waiting: &[Inert],
    starts: &[ProjectStart],
    accepted: &[(String, String)],
) -> Report {
    let name = printable_path(root);
    if waiting.is_empty() && starts.is_empty() && accepted.is_empty() {
        return Report::text(format!("{name} brings nothing that needs your trust.\n"));
    }
    let mut text = String::new();
    if !waiting.is_empty() {
        text = format!(
            "Not trusted, so it does nothing ({}); `caliban trust {}` lets it count:\n{}",
            counted(waiting.len()),
            shell_path(root),
            listed(waiting),
        );
    }
    if !starts.is_empty() {
        text.push_str(&format!(
            "Your own entries, started in an empty folder until you accept that they start here ({}); `caliban trust {}` does:\n{}",
            counted(starts.len()),
            shell_path(root),
            listed_own(starts),
        ));
    }
    if !accepted.is_empty() {
        text.push_str(&format!(
            "Trusted ({}), as long as it stands there so:\n",
            counted(accepted.len())
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
    Report::text(text)
}

/// Whether something was taken back.
#[must_use]
pub fn revoked(root: &Path, some: bool) -> Report {
    let name = printable_path(root);
    Report::text(match some {
        true => format!("{name} is not trusted any more; sessions that run keep what they have.\n"),
        false => format!("{name} was not trusted.\n"),
    })
}

/// All projects of which something is accepted.
#[must_use]
pub fn list(projects: &[(PathBuf, usize)]) -> Report {
    if projects.is_empty() {
        return Report::text("Nothing of any project is trusted.\n");
    }
    let row = |(root, things): &(PathBuf, usize)| [printable_path(root), counted(*things)];
    Report::text(columns(&projects.iter().map(row).collect::<Vec<_>>()))
}

/// The things by their files, each with its line.
fn listed(things: &[Inert]) -> String {
    lines(things.iter().map(|thing| (thing.what.clone(), &thing.origin)))
}

/// The same for entries of the user's own.
fn listed_own(starts: &[ProjectStart]) -> String {
    lines(starts.iter().map(|start| (start.describe(), &start.origin)))
}

fn lines<'a>(things: impl Iterator<Item = (String, &'a Origin)>) -> String {
    let mut text = String::new();
    let mut last: Option<&Path> = None;
    for (what, origin) in things {
        let Origin::File { path, line } = origin else { continue };
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

fn counted(things: usize) -> String {
    format!("{things} thing{}", if things == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(what: &str, path: &str, line: usize) -> Inert {
        Inert { what: what.to_owned(), origin: Origin::File { path: path.into(), line } }
    }

    #[test]
    fn what_is_accepted_is_shown_by_file_and_cannot_steer_the_terminal() {
        let things = [
            thing("allow rule Bash", ".caliban/config.toml", 3),
            thing("hook Stop: a\u{1b}[2J\nb", ".caliban/config.toml", 12),
            thing("env A: b", ".claude/settings.json", 1),
        ];
        let expected = "/p brings:\n  .caliban/config.toml\n       3  allow rule Bash\n      \
                        12  hook Stop: a\\u{1b}[2J\n          b\n  .claude/settings.json\n       1  env A: b\n\
                        Trusted: 3 things. What is new or changed later is asked about again; \
                        `caliban trust --revoke /p` takes it back.\n";
        assert_eq!(accepted(Path::new("/p"), &things, &[]).text, expected);
        assert_eq!(
            accepted(Path::new("/p"), &[], &[]).text,
            "/p brings nothing that waits for your trust.\n"
        );
    }
}
