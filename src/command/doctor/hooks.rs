//! Checks that the programs of hooks exist and are executable, as far as their text tells.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::config::{HookConfig, UntrustedItem};
use crate::protocol::{EnvOverlay, StartDir, printable_path, shell_path};
use crate::tool::path::resolve;

const ABOUT: &str = "hooks";

/// References to the variable with the project's folder.
const PROJECT_VARIABLES: [&str; 4] = [
    "\"$CLAUDE_PROJECT_DIR\"",
    "\"${CLAUDE_PROJECT_DIR}\"",
    "$CLAUDE_PROJECT_DIR",
    "${CLAUDE_PROJECT_DIR}",
];

/// The folders of the project.
#[derive(Clone, Copy, Debug)]
pub struct HookFolders<'a> {
    /// The folder where the user's own hooks start once that is trusted.
    pub root: &'a Path,
    /// The project folder in the environment of hooks that start in an empty folder.
    pub named: &'a Path,
}

/// Returns one line for each hook whose program cannot be run, or one for all, and one for untrusted hooks.
pub fn hooks(
    hooks: &[HookConfig],
    untrusted: &[UntrustedItem],
    places: HookFolders<'_>,
    env: &EnvOverlay,
) -> Vec<Finding> {
    let waiting = untrusted.iter().filter(|thing| thing.is_hook()).count();
    let mut findings = check_programs(hooks, places, env);
    if waiting > 0 {
        findings.retain(|_| !hooks.is_empty());
        let (are, them) = if waiting == 1 { ("is", "it") } else { ("are", "them") };
        let text = format!("{waiting} {are} not trusted: `caliban trust --show` lists {them}");
        findings.push(Finding::note(ABOUT, text));
    }
    findings
}

fn check_programs(hooks: &[HookConfig], places: HookFolders<'_>, env: &EnvOverlay) -> Vec<Finding> {
    let problems: Vec<Finding> = hooks
        .iter()
        .filter_map(|hook| {
            // Check an untrusted one in the folder where it would start.
            let base = match &hook.start {
                StartDir::Project(folder) => Some(&**folder),
                StartDir::Private if hook.wants_project_cwd => Some(places.root),
                StartDir::Private => None,
            };
            let why = problem(&hook.command, base, base.unwrap_or(places.named), env)?;
            Some(Finding::wrong(ABOUT, format!("{}: {}: {why}", hook.origin, hook.describe())))
        })
        .collect();
    match (problems.is_empty(), hooks.len()) {
        (false, _) => problems,
        (true, 0) => vec![Finding::ok(ABOUT, "none")],
        (true, hooks) => vec![Finding::ok(ABOUT, hooks.to_string())],
    }
}

/// Returns why the program of a command cannot be run; `None` if it can, or if its text does not
/// tell. `base` is where it starts; `None` is an empty folder.
fn problem(command: &str, base: Option<&Path>, project: &Path, env: &EnvOverlay) -> Option<String> {
    let home = env.get_os("HOME").map(PathBuf::from);
    let mut command = command.trim().to_owned();
    for name in PROJECT_VARIABLES {
        command = command.replace(name, &project.display().to_string());
    }
    let word = command.split_whitespace().next().unwrap_or_default();
    let word = word.trim_matches(['"', '\'']);
    // Everything else needs bash: variables, builtins, quoted words with spaces.
    let tells =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~' | '+' | '@');
    if !word.contains('/') || !word.chars().all(tells) {
        return None;
    }
    let path = match base {
        Some(base) => resolve(word, base, home.as_deref()),
        None if word.starts_with(['/', '~']) => resolve(word, project, home.as_deref()),
        None => {
            return Some(format!(
                "{word}: it starts in an empty folder, which has no such file: add `cwd = \"project\"` to its entry, or write an absolute path"
            ));
        }
    };
    match path.metadata() {
        Err(error) => Some(format!("{}: {error}", printable_path(&path))),
        Ok(found) if !found.is_file() => Some(format!("{} is not a file", printable_path(&path))),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => Some(format!(
            "{} is not executable: chmod +x {}",
            printable_path(&path),
            shell_path(&path)
        )),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_is_missing_or_not_executable_is_told_of_where_the_text_tells() {
        let top = tempfile::tempdir().unwrap();
        let script = |name: &str, mode: u32| {
            let path = top.path().join(name);
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        script("good.sh", 0o755);
        script("plain.sh", 0o644);
        let env: EnvOverlay = [("HOME", top.path().to_str().unwrap())].into_iter().collect();
        let why = |command: &str| problem(command, Some(top.path()), top.path(), &env);
        for fine in [
            "./good.sh --x",
            "\"$CLAUDE_PROJECT_DIR\"/good.sh",
            "~/good.sh | cat",
            "bash plain.sh",
            "$TOOLS/gone.sh",
            "[ -x ./gone ] && ./gone",
        ] {
            assert_eq!(why(fine), None, "{fine}");
        }
        assert!(why("./gone.sh").unwrap().contains("gone.sh: No such file"));
        assert!(why("./plain.sh x").unwrap().contains("is not executable: chmod +x "));
        let away = |command: &str| problem(command, None, top.path(), &env);
        let advice = away("./good.sh").unwrap();
        assert!(advice.contains("empty folder"), "{advice}");
        assert!(advice.contains("add `cwd = \"project\"` to its entry"), "{advice}");
        assert_eq!((away("$CLAUDE_PROJECT_DIR/good.sh"), away("~/good.sh")), (None, None));
        assert!(why("$CLAUDE_PROJECT_DIR/../").unwrap().ends_with("is not a file"));
    }
}
