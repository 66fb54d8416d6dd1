//! Where the user's own hooks and servers start. They hold for all projects, so none starts in a
//! project that the user has not accepted for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{Origin, shown};
use super::inert::one_line;
use super::project::Project;
use super::trust::Trust;
use super::{Dirs, Loaded};
use crate::protocol::{McpServer, McpTransport, RuleFile, StartDir};

/// `cwd` of a hook or a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryCwd {
    Project,
}

/// A hook or server of the user's own that asks to start in the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectStart {
    /// All that it does in one line, as in `hook PreToolUse(Bash): ./check.sh`.
    pub entry: String,
    /// The file and the line where it stands.
    pub origin: Origin,
}

impl ProjectStart {
    /// The line that the user accepts: `hook PreToolUse(Bash): ./check.sh (your config.toml) starts
    /// in this project`.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.origin {
            Origin::File { path, .. } => describe(&self.entry, path),
            _ => format!("{} starts in this project", self.entry),
        }
    }

    /// Whether it is an MCP server of a configuration file.
    #[must_use]
    pub fn is_server(&self) -> bool {
        self.entry.starts_with("MCP server ")
    }

    /// Its name, without any part that may be long or secret: `hook PreToolUse(Bash)`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entry.split_once(": ").map_or(self.entry.as_str(), |(name, _)| name)
    }
}

/// The line for an entry of a file of the user's.
#[must_use]
pub fn describe(entry: &str, file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!("{entry} (your {}) starts in this project", one_line(&name, None))
}

/// Decides for each entry of the configuration where it starts.
pub(super) struct Starts<'a> {
    trust: &'a Trust,
    /// The project's own files as origins name them. What stands elsewhere is the user's.
    project: Vec<PathBuf>,
    /// The folder above `.caliban` of these files.
    folder: Arc<Path>,
    /// Entries that ask to start in the project and may not yet.
    pub waiting: Vec<ProjectStart>,
}

impl<'a> Starts<'a> {
    pub fn new(trust: &'a Trust, project: &Project, dirs: &Dirs, cwd: &Path) -> Self {
        let files = project_files(project, dirs, cwd);
        let folder = project.config_root.as_path().into();
        Self { trust, project: files, folder, waiting: Vec::new() }
    }

    /// Where an entry of our own files starts; `asks` is whether it says `cwd = "project"`.
    pub fn of_table(&mut self, entry: String, origin: &Origin, asks: bool) -> StartDir {
        if self.is_projects(origin) {
            return StartDir::Project(self.folder.clone());
        }
        self.of_user(entry, origin, asks)
    }

    /// Whether an entry of our own files stands in one of the project.
    pub fn is_projects(&self, origin: &Origin) -> bool {
        is_in(&self.project, origin)
    }

    /// Where an entry of the user's own starts.
    pub fn of_user(&mut self, entry: String, origin: &Origin, asks: bool) -> StartDir {
        if !asks {
            return StartDir::Private;
        }
        let start = ProjectStart { entry, origin: origin.clone() };
        self.trust.start_dir(start, &mut self.waiting)
    }
}

impl Loaded {
    /// Where the command starts that is the value of this key: above `.caliban` if it stands in one
    /// of the project's own files.
    #[must_use]
    pub fn start_of(&self, key: &str, dirs: &Dirs, cwd: &Path) -> StartDir {
        match is_in(&project_files(&self.project, dirs, cwd), self.origins.of(key)) {
            true => StartDir::project(&self.project.config_root),
            false => StartDir::Private,
        }
    }
}

/// The project's own configuration files, as origins name them.
fn project_files(project: &Project, dirs: &Dirs, cwd: &Path) -> Vec<PathBuf> {
    let files = [RuleFile::Shared, RuleFile::Local].map(|file| project.file(file));
    // With `CALIBAN_HOME` at a project's `.caliban` this is the user's own file.
    let of_project = files.into_iter().filter(|file| *file != dirs.config_file());
    of_project.map(|file| shown(&file, cwd)).collect()
}

/// Whether an origin is one of these files.
fn is_in(files: &[PathBuf], origin: &Origin) -> bool {
    matches!(origin, Origin::File { path, .. } if files.contains(path))
}

/// The first word of a server that names a file relative to where the program starts. `exists` says
/// whether a word that does not look like a path is the name of a file.
#[must_use]
pub fn relative_word<'a>(server: &'a McpServer, exists: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    let McpTransport::Stdio { command, args, env } = &server.transport else { return None };
    let is_relative = |word: &str| has_relative_form(word) || exists(word);
    let by_path = |word: &str| word.contains('/') && !word.starts_with(['/', '~', '$']);
    // A name without a slash is looked up in PATH, whatever lies here.
    let command = Some(command.as_str()).filter(|word| by_path(word));
    let args = args.iter().map(String::as_str).filter(|word| is_relative(value(word)));
    let values = env.values().map(String::as_str).filter(|word| has_relative_form(word));
    command.into_iter().chain(args).chain(values).next()
}

/// The value in `--option=value`, else the word itself.
fn value(word: &str) -> &str {
    match word.split_once('=') {
        Some((option, value)) if option.starts_with('-') => value,
        _ => word,
    }
}

fn has_relative_form(word: &str) -> bool {
    matches!(word, "." | "..") || word.starts_with("./") || word.starts_with("../")
}

/// Names the ways to write a relative word for a server of the user's own.
#[must_use]
pub fn ways(name: &str) -> String {
    format!(
        "write the folder as '${{CALIBAN_PROJECT_DIR}}', put `cwd = \"project\"` into [mcp_servers.{name}] of your config.toml, or keep the server with one project: --scope project"
    )
}

/// One line about a server of the user's that starts in a private folder and names a file relative
/// to that. Where a project has a file of a word with a slash or a dot in it, the word counts too.
pub(super) fn server_notice(server: &McpServer, origin: &Origin, cwd: &Path) -> Option<String> {
    let exists = |word: &str| word.contains(['/', '.']) && names_file(word, cwd);
    let word = relative_word(server, &exists).filter(|_| server.start == StartDir::Private)?;
    Some(format!(
        "{origin}: MCP server {} starts in an empty folder, where `{}` is no file of this project: {}",
        server.name,
        one_line(word, None),
        ways(&server.name)
    ))
}

/// Whether a word names a file below a folder that is there.
#[must_use]
pub fn names_file(word: &str, folder: &Path) -> bool {
    let path = Path::new(word);
    !word.is_empty() && path.is_relative() && folder.join(path).symlink_metadata().is_ok()
}

/// Programs whose work depends on the folder that they start in.
const LOCAL_PROGRAMS: [&str; 22] = [
    "black", "bun", "bundle", "cargo", "deno", "eslint", "fd", "find", "git", "go", "gradle",
    "just", "ls", "make", "mvn", "npm", "pnpm", "pytest", "rg", "ruff", "tsc", "yarn",
];

/// One line about a hook of the user's that starts in a private folder although its text shows that
/// it means the project's; `None` where the text does not show that.
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
        if is_local || has_relative_form(value(plain)) {
            found = Some(plain);
            break;
        }
        let ends = part.len() > word.len() && !part.ends_with([' ', '\t']);
        begins = ends || (begins && word.is_empty());
    }
    let word = one_line(found?, None);
    Some(format!(
        "{origin}: {name} starts in an empty folder, and `{word}` depends on where it starts: write `cwd = \"project\"` into its entry to start it in projects that you accept for it, or name the project's folder as \"$CALIBAN_PROJECT_DIR\""
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
