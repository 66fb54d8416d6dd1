//! The sub-commands and their arguments.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::print::PrintArgs;
use crate::config::ConfigScope;
use crate::protocol::Secret;

/// The sub-commands.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
#[command(disable_help_subcommand = true)]
pub enum CliCommand {
    /// Watch three agents work on a sample project with a scripted model: no key, no network.
    #[command(mut_arg("print", |print| print.help("Run without a screen, the answer on stdout")))]
    Demo(PrintArgs),
    /// Show sub-agent definitions: sources, tools, models and errors.
    Agents {
        #[command(subcommand)]
        action: Option<AgentsAction>,
    },
    /// Manage stored sessions and their sub-agents' transcripts.
    Sessions {
        #[command(subcommand)]
        action: Option<SessionsAction>,
    },
    /// Show the effective configuration and the origin of each value; set one.
    Config {
        #[command(subcommand)]
        action: Option<ConfigAction>,
    },
    /// Trust a project: accept its hooks, servers and allow rules, and let your own entries start in it.
    Trust {
        /// A folder of the project [default: the current one].
        dir: Option<PathBuf>,
        /// List what is trusted and what is not, without changing anything.
        #[arg(long, conflicts_with = "revoke")]
        show: bool,
        /// Revoke all trust in the project.
        #[arg(long)]
        revoke: bool,
        /// List all trusted projects.
        #[arg(long, conflicts_with_all = ["dir", "revoke", "show"])]
        list: bool,
    },
    /// Manage MCP servers: list, show, add, remove.
    Mcp {
        #[command(subcommand)]
        action: Option<McpAction>,
    },
    /// Test permission rules: which one decides a call, and why.
    Permissions {
        #[command(subcommand)]
        action: PermissionsAction,
    },
    /// Show whether the chosen provider has a key, and where it comes from; exit code 1 if there is none.
    Auth {
        #[command(subcommand)]
        action: Option<AuthAction>,
    },
    /// Check keys, endpoints, terminal and files, and say how to fix problems; exit code 1 if there are any.
    Doctor,
    /// Print shell completions.
    Completions {
        /// The shell to print them for.
        shell: clap_complete::Shell,
    },
    /// Execute a program that can only write, or also read, below the given folders.
    #[command(hide = true)]
    Sandbox {
        /// The descriptor that this program was started from. The program does not get it.
        #[arg(long, value_name = "FD")]
        launcher: Option<RawFd>,
        #[arg(long, value_name = "DIR")]
        write: Vec<PathBuf>,
        #[arg(long)]
        read_only: bool,
        #[arg(long, value_name = "DIR", requires = "read_only")]
        read: Vec<PathBuf>,
        #[arg(long, value_name = "DIR", requires = "read_only")]
        project: Vec<PathBuf>,
        #[arg(long, requires = "read_only")]
        git: bool,
        #[arg(last = true, required = true)]
        program: Vec<OsString>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum AuthAction {
    /// Show the provider and the source of its key, never the key itself.
    Status {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

impl Default for AuthAction {
    fn default() -> Self {
        Self::Status { json: false }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum AgentsAction {
    /// List all definitions, one per line.
    #[default]
    List,
    /// Show one definition with its prompt.
    Show {
        /// The name of a definition, as `list` has it.
        name: String,
    },
    /// List problems and how to fix them; exit code 1 if a definition is refused.
    Check,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum SessionsAction {
    /// List all sessions, newest first.
    #[default]
    List,
    /// Show a session as text.
    Show {
        /// Its name, or the start of its id.
        id: String,
    },
    /// Write a session with all its sub-agents to stdout as one file.
    Export {
        /// Its name, or the start of its id.
        id: String,
        /// All of it for programs, or a text to read.
        #[arg(long, value_name = "FORMAT", default_value = "json")]
        format: ExportFormat,
    },
    /// Delete a session and its sub-agents' transcripts.
    Rm {
        /// Its name, or the start of its id.
        id: String,
    },
    /// Delete the sessions that have not been used for many days; those that are open stay.
    Prune {
        /// Delete those last used more than so many days ago [default: session.keep_days, 30].
        #[arg(long, value_name = "DAYS", value_parser = parse_days, allow_negative_numbers = true)]
        older_than: Option<u32>,
        /// Only list them.
        #[arg(long)]
        dry_run: bool,
    },
}

/// The format of an exported session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Everything, for programs.
    #[default]
    Json,
    /// A readable transcript.
    Markdown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum ConfigAction {
    /// Show every effective value with its origin, as TOML.
    #[default]
    Show,
    /// List the configuration files, lowest priority first.
    Path,
    /// Print the JSON schema of a configuration file, for editors.
    Schema,
    /// Set one key in a file, such as `model.effort high`. Comments and the rest of the file stay.
    Set {
        /// The file to write: your own config.toml, or the project's .caliban/config.toml.
        #[arg(short, long, default_value = "user")]
        scope: ConfigScope,
        /// The table and the name of the key, with a dot between them.
        key: String,
        /// A list is written in brackets: '["Bash(rm:*)", "Bash(git push:*)"]'.
        #[arg(allow_hyphen_values = true)]
        value: Secret<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum PermissionsAction {
    /// Show the decision on a call, such as 'Bash(git push)' or 'Edit(src/main.rs)'.
    Test {
        /// The tool, and in parentheses what it would run or touch.
        call: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum McpAction {
    /// Connect to all servers and list their state, number of tools and origin.
    #[default]
    List,
    /// Show a server's definition (values of variables and headers hidden), its state and its tools.
    Get {
        /// The name of a server, as `list` has it.
        name: String,
    },
    /// Define a server: a program with its arguments (put -- before those that start with a dash), or a URL.
    Add(McpAddArgs),
    /// Remove a server from the file that defines it.
    Remove {
        /// The name of a server, as `list` has it.
        name: String,
        /// Remove it from your own files, or from the project's.
        #[arg(short, long)]
        scope: Option<ConfigScope>,
    },
}

/// The arguments of `mcp add`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct McpAddArgs {
    /// The transport [default: http for a URL, else stdio].
    #[arg(short, long)]
    pub transport: Option<McpKind>,

    /// The file to write: your own config.toml, or the project's .mcp.json.
    #[arg(short, long, default_value = "user")]
    pub scope: ConfigScope,

    /// A variable of the program; may be repeated. ${VAR} is expanded when the server starts.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub env: Vec<Secret<String>>,

    /// A header of each request, such as 'Authorization: Bearer ${TOKEN}'; may be repeated.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<Secret<String>>,

    /// Its name: letters, digits, - and _.
    pub name: String,

    /// The program, or the URL of an HTTP server.
    pub command_or_url: Secret<String>,

    /// The program's arguments.
    pub args: Vec<String>,
}

/// The transport of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum McpKind {
    Stdio,
    Http,
}

fn parse_days(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "a number of days, such as 30".to_owned())
}
