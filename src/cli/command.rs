//! The sub-commands and what each takes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::PrintArgs;
use crate::config::McpScope;

/// The commands beside the agent itself.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
#[command(disable_help_subcommand = true)]
pub enum Command {
    /// Watch three agents work on a sample project with a scripted model: no key, no network.
    #[command(mut_arg("print", |print| print.help("Run without a screen, the answer on stdout")))]
    Demo(PrintArgs),
    /// Sub-agent definitions: where each was found, its tools and model, what is wrong with a broken one.
    Agents {
        #[command(subcommand)]
        action: Option<AgentsAction>,
    },
    /// Stored sessions and their sub-agents' transcripts.
    Sessions {
        #[command(subcommand)]
        action: Option<SessionsAction>,
    },
    /// The configuration in effect, and where each value came from.
    Config {
        #[command(subcommand)]
        action: Option<ConfigAction>,
    },
    /// Let a project's hooks, servers, allow rules and the like count, and your own entries start
    /// in it: trusts both, and lists them.
    Trust {
        /// A folder of the project [default: this one].
        dir: Option<PathBuf>,
        /// Only look: what waits for your trust, and what is trusted. Changes nothing.
        #[arg(long, conflicts_with = "revoke")]
        show: bool,
        /// Trust nothing of it any more.
        #[arg(long)]
        revoke: bool,
        /// The projects of which something is trusted.
        #[arg(long, conflicts_with_all = ["dir", "revoke", "show"])]
        list: bool,
    },
    /// MCP servers: which there are and how they stand; add and remove them.
    Mcp {
        #[command(subcommand)]
        action: Option<McpAction>,
    },
    /// Permission rules: which one decides a call, and why.
    Permissions {
        #[command(subcommand)]
        action: PermissionsAction,
    },
    /// Whether the chosen provider has a key, and where it comes from; exit code 1 when there is none.
    Auth {
        #[command(subcommand)]
        action: AuthAction,
    },
    /// Check keys, endpoints, terminal, files: each line says ok or what to do; exit code 1 when
    /// something is wrong.
    Doctor,
    /// Print shell completions.
    Completions { shell: clap_complete::Shell },
    /// Become a program that can write, or also read, only below the given folders.
    #[command(hide = true)]
    Sandbox {
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
    /// The provider and the place of its key, never the key.
    Status {
        /// As one JSON object.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum AgentsAction {
    /// All of them, one a line.
    #[default]
    List,
    /// One of them, with its prompt.
    Show { name: String },
    /// What is wrong with any, and what to write instead; exit code 1 when one is refused.
    Check,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum SessionsAction {
    /// All of them, newest first.
    #[default]
    List,
    /// One of them as text; the start of its id is enough.
    Show { id: String },
    /// One of them with all its sub-agents as one file, on stdout; the start of its id is enough.
    Export {
        id: String,
        #[arg(long, value_name = "FORMAT", default_value = "json")]
        format: ExportFormat,
    },
    /// Remove one of them for good, with its sub-agents' transcripts; the start of its id is enough.
    Rm { id: String },
}

/// The shape of an exported session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Everything, for programs.
    #[default]
    Json,
    /// What was said and done, for people.
    Markdown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum ConfigAction {
    /// Every value in effect with its origin, as TOML.
    #[default]
    Show,
    /// The files that are read, lowest first.
    Path,
    /// The JSON schema of a configuration file, for editors.
    Schema,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum PermissionsAction {
    /// What becomes of a call, such as 'Bash(git push)' or 'Edit(src/main.rs)'.
    Test { call: String },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum McpAction {
    /// All of them, each connected to: its state, how many tools it has, where it is defined.
    #[default]
    List,
    /// One of them: its definition without values of variables and headers, its state, its tools.
    Get { name: String },
    /// Define one: a program with its arguments, those that begin with a dash after --, or an address.
    Add(McpAddArgs),
    /// Take one out of the file in which it stands.
    Remove {
        name: String,
        /// Out of your own files, or out of the project's.
        #[arg(short, long)]
        scope: Option<McpScope>,
    },
}

/// A server to be defined.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct McpAddArgs {
    /// How it is reached [default: http for an address, else stdio].
    #[arg(short, long)]
    pub transport: Option<McpKind>,

    /// Where it is written: your own config.toml, or the project's .mcp.json.
    #[arg(short, long, default_value = "user")]
    pub scope: McpScope,

    /// A variable of the program; may be repeated, and ${VAR} in it is filled in at the start.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub env: Vec<String>,

    /// A header of each request, such as 'Authorization: Bearer ${TOKEN}'; may be repeated.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,

    /// What it is called: letters, digits, - and _.
    pub name: String,

    /// The program, or the address of a server over HTTP.
    pub command_or_url: String,

    /// The program's arguments.
    pub args: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum McpKind {
    Stdio,
    Http,
}
