//! The folders in which the user's hooks and servers start. They apply to all projects, so none
//! starts in a project until the user accepts that.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dirs::Dirs;
use super::error::{Origin, display_path};
use super::project::Project;
use super::project_start::ProjectStart;
use super::trust::Trust;
use super::untrusted_item::one_line;
use crate::protocol::{McpServer, McpTransport, RuleFile, StartDir, printable_line};

/// Decides in which folder each entry of the configuration starts.
pub(super) struct StartResolver<'a> {
    trust: &'a Trust,
    /// The project's own files, as named in origins. All other files are the user's.
    project: Vec<PathBuf>,
    /// The folder above their `.caliban`.
    folder: Arc<Path>,
    /// Entries that ask to start in the project but are not accepted yet.
    pub waiting: Vec<ProjectStart>,
}

impl<'a> StartResolver<'a> {
    pub fn new(trust: &'a Trust, project: &Project, dirs: &Dirs, cwd: &Path) -> Self {
        let files = project_files(project, dirs, cwd);
        let folder = project.config_root.as_path().into();
        Self { trust, project: files, folder, waiting: Vec::new() }
    }

    /// Returns where an entry of our own files starts; `asks` is whether it sets `cwd = "project"`.
    pub fn start_of_table(&mut self, entry: String, origin: &Origin, asks: bool) -> StartDir {
        if self.is_from_project(origin) {
            return StartDir::Project(self.folder.clone());
        }
        self.start_of_user(entry, origin, asks)
    }

    /// Whether an entry comes from one of the project's own files.
    pub fn is_from_project(&self, origin: &Origin) -> bool {
        is_one_of(&self.project, origin)
    }

    /// Returns where an entry of the user's starts.
    pub fn start_of_user(&mut self, entry: String, origin: &Origin, asks: bool) -> StartDir {
        if !asks {
            return StartDir::Private;
        }
        let start = ProjectStart { entry, origin: origin.clone() };
        self.trust.start_dir(start, &mut self.waiting)
    }
}

/// Returns the project's own configuration files, as named in origins.
pub(super) fn project_files(project: &Project, dirs: &Dirs, cwd: &Path) -> Vec<PathBuf> {
    let files = [RuleFile::Shared, RuleFile::Local].map(|file| project.file(file));
    // With `CALIBAN_HOME` at a project's `.caliban`, this is the user's own file.
    let of_project = files.into_iter().filter(|file| *file != dirs.config_file());
    of_project.map(|file| display_path(&file, cwd)).collect()
}

/// Whether an origin is one of these files.
pub(super) fn is_one_of(files: &[PathBuf], origin: &Origin) -> bool {
    matches!(origin, Origin::File { path, .. } if files.contains(path))
}

/// Returns the first word of a server that names a file relative to where the program starts.
/// `exists` tells whether a word that does not look like a path names a file.
pub fn relative_word<'a>(server: &'a McpServer, exists: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    let McpTransport::Stdio { command, args, env } = &server.transport else { return None };
    let is_relative = |word: &str| has_relative_form(word) || exists(word);
    let by_path = |word: &str| word.contains('/') && !word.starts_with(['/', '~', '$']);
    // A name without a slash is looked up in PATH.
    let command = Some(command.as_str()).filter(|word| by_path(word));
    let args = args.iter().map(String::as_str).filter(|word| is_relative(option_value(word)));
    let values = env.values().map(String::as_str).filter(|word| has_relative_form(word));
    command.into_iter().chain(args).chain(values).next()
}

/// Returns the value in `--option=value`, else the word itself.
fn option_value(word: &str) -> &str {
    match word.split_once('=') {
        Some((option, value)) if option.starts_with('-') => value,
        _ => word,
    }
}

fn has_relative_form(word: &str) -> bool {
    matches!(word, "." | "..") || word.starts_with("./") || word.starts_with("../")
}

/// Explains how to write a relative word for one of the user's servers.
pub fn relative_word_hint(name: &str) -> String {
    format!(
        "write the folder as '${{CALIBAN_PROJECT_DIR}}', put `cwd = \"project\"` into [mcp_servers.{name}] of your config.toml, or keep the server with one project: --scope project"
    )
}

/// Returns a notice if a server of the user's starts in a private folder but names a relative file.
/// A word with a slash or dot also counts if the project has such a file.
pub(super) fn server_notice(server: &McpServer, origin: &Origin, cwd: &Path) -> Option<String> {
    let exists = |word: &str| word.contains(['/', '.']) && names_file(word, cwd);
    let word = relative_word(server, &exists).filter(|_| server.start == StartDir::Private)?;
    Some(format!(
        "{origin}: MCP server {} starts in an empty folder, where `{}` is not a file of this project: {}",
        printable_line(&server.name),
        one_line(word, None),
        relative_word_hint(&printable_line(&server.name))
    ))
}

/// Whether a word names an existing file below the folder.
pub fn names_file(word: &str, folder: &Path) -> bool {
    let path = Path::new(word);
    !word.is_empty() && path.is_relative() && folder.join(path).symlink_metadata().is_ok()
}

/// Programs that depend on the folder they start in.
const LOCAL_PROGRAMS: [&str; 22] = [
    "black", "bun", "bundle", "cargo", "deno", "eslint", "fd", "find", "git", "go", "gradle",
    "just", "ls", "make", "mvn", "npm", "pnpm", "pytest", "rg", "ruff", "tsc", "yarn",
];

/// Returns a notice if a hook of the user's starts in a private folder but its command apparently
/// expects the project's.
pub(super) fn hook_notice(name: &str, command: &str, origin: &Origin) -> Option<String> {
    if command.contains("CALIBAN_PROJECT_DIR") || command.contains("CLAUDE_PROJECT_DIR") {
        return None;
    }
    let mut begins = true;
    let mut found = None;
    let parts = command.split_inclusive([' ', '\t', '\n', ';', '|', '&', '(', ')', '`']);
    for part in parts {
        let word = part.trim_end_matches([' ', '\t', '\n', ';', '|', '&', '(', ')', '`']);
        let plain = word.trim_matches(['"', '\'']);
        let is_local = begins && LOCAL_PROGRAMS.contains(&plain);
        if is_local || has_relative_form(option_value(plain)) {
            found = Some(plain);
            break;
        }
        let ends = part.len() > word.len() && !part.ends_with([' ', '\t']);
        begins = ends || (begins && word.is_empty());
    }
    let word = one_line(found?, None);
    Some(format!(
        "{origin}: {name} starts in an empty folder, and `{word}` depends on the folder it starts in: write `cwd = \"project\"` into its entry to start it in projects you accept for it, or write the project's folder as \"$CALIBAN_PROJECT_DIR\""
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(command: &str, args: &[&str], env: &[(&str, &str)]) -> McpServer {
        McpServer::new(
            "x",
            McpTransport::Stdio {
                command: command.to_owned(),
                args: args.iter().map(|&arg| arg.to_owned()).collect(),
                env: env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
            },
        )
    }

    #[test]
    fn a_word_that_names_a_file_relative_to_the_start_is_found_wherever_it_stands() {
        let here = |word: &str| word == "docs";
        for (server, expected) in [
            (server("npx", &["-y", "pkg", "."], &[]), Some(".")),
            (server("npx", &["-y", "pkg", ".."], &[]), Some("..")),
            (server("node", &["./s.js"], &[]), Some("./s.js")),
            (server("node", &["../s.js"], &[]), Some("../s.js")),
            (server("node", &["--root=./x"], &[]), Some("--root=./x")),
            (server("node", &["docs"], &[]), Some("docs")),
            (server("node", &["--root=docs"], &[]), Some("--root=docs")),
            (server("./serve", &[], &[]), Some("./serve")),
            (server("tools/serve", &[], &[]), Some("tools/serve")),
            (server("x", &[], &[("ROOT", ".")]), Some(".")),
            (server("docs", &[], &[]), None),
            (server("npx", &["-y", "@scope/pkg", "${HOME}/x", "/abs"], &[]), None),
            (server("npx", &["${CALIBAN_PROJECT_DIR}", "...", ".hidden"], &[]), None),
            (server("/opt/serve", &["--fast", "a=./b"], &[("LEVEL", "info")]), None),
        ] {
            assert_eq!(relative_word(&server, &here), expected, "{}", server.about());
        }
    }

    #[test]
    fn a_hook_whose_text_means_the_project_is_named_and_no_other() {
        let origin = Origin::BuiltIn;
        let named = |command: &str| hook_notice("hook Stop", command, &origin).is_some();
        for command in [
            "./check.sh",
            "git diff --check",
            "jq .x; git status",
            "true && rg TODO",
            "cd /x; (cargo fmt)",
            "bash ./x.sh",
            "prettier --check .",
            "\"./check.sh\"",
        ] {
            assert!(named(command), "{command}");
        }
        for command in [
            "/opt/guard",
            "~/bin/guard --strict",
            "jq -r .tool_input.command",
            "notify-send git",
            "cd \"$CALIBAN_PROJECT_DIR\" && git diff",
            "echo ...",
        ] {
            assert!(!named(command), "{command}");
        }
    }
}
