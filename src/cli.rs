//! The command line: clap types, nothing else.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, Parser, ValueEnum};

use crate::config::models::ThinkingOverride;
use crate::config::{Overrides, SettingSources, list, schema::LEVELS};
use crate::protocol::{PermissionMode, SessionId};

mod command;
mod drive;
mod print;

pub use command::{
    AgentsAction, AuthAction, CliCommand, ConfigAction, ExportFormat, McpAction, McpAddArgs,
    McpKind, PermissionsAction, SessionsAction,
};
pub use drive::{
    DriveArgs, InputFormat, PermissionPrompts, PromptTool, reads_frames, summarize_error,
};
pub use print::{OutputFormat, PrintArgs};

const USAGE: &str = "caliban [OPTIONS] [PROMPT]\n       caliban [OPTIONS] <COMMAND>";

const EXAMPLES: &str = "\
Examples:
  caliban                              start in this directory
  caliban \"fix the failing test\"       start with a prompt
  caliban -p \"explain src/main.rs\"     print the answer and exit
  git diff | caliban -p \"review this\"  append stdin to the prompt
  caliban -c                           resume the newest session of this directory
  caliban demo                         three agents at work: no key, no network

To use the name of a command as the prompt, put it after --: caliban -- demo";

/// A terminal coding agent whose sub-agents run live, side by side, on your screen.
#[derive(Clone, Debug, Parser)]
#[command(name = "caliban", version, about, override_usage = USAGE, after_help = EXAMPLES)]
#[command(disable_version_flag = true)]
pub struct Cli {
    /// Print the version.
    #[arg(short = 'V', visible_short_alias = 'v', long, action = ArgAction::Version)]
    pub version: (),

    #[command(subcommand)]
    pub command: Option<CliCommand>,

    /// The first prompt, sent at once; a ! at its start is text.
    pub prompt: Option<String>,

    #[command(flatten)]
    pub print: PrintArgs,

    #[command(flatten)]
    pub drive: DriveArgs,

    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub tools: ToolArgs,

    #[command(flatten)]
    pub session: SessionArgs,

    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options for the model, its system prompt and its limits.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// The model to use.
    #[arg(long)]
    pub model: Option<String>,

    /// The provider to use: built-in or configured, such as anthropic, openai, gemini or ollama.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,

    /// The reasoning effort, in the provider's words, such as low or high.
    #[arg(long, value_name = "LEVEL")]
    pub effort: Option<String>,

    /// Whether the model thinks: as much as it decides, or not at all.
    #[arg(long, value_name = "HOW")]
    pub thinking: Option<ThinkingMode>,

    /// Limit thinking to this many tokens; 0 turns it off.
    #[arg(long, value_name = "N", conflicts_with = "thinking")]
    pub max_thinking_tokens: Option<u32>,

    /// Use this model while the main one is overloaded.
    #[arg(long, value_name = "MODEL")]
    pub fallback_model: Option<String>,

    /// Use this definition for the main agent: its prompt, tools, model and mode.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,

    /// Use this system prompt instead of the built-in one.
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,

    /// Read the system prompt from this file.
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt")]
    pub system_prompt_file: Option<PathBuf>,

    /// Append this to the system prompt.
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,

    /// Stop after this many turns.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Stop after spending this many US dollars, sub-agents included.
    #[arg(long, value_name = "X", value_parser = parse_dollars)]
    pub max_budget_usd: Option<f64>,
}

/// Whether the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThinkingMode {
    /// As much as it decides.
    #[value(alias = "enabled")]
    Adaptive,
    /// Not at all.
    Disabled,
}

/// Options for tools and permissions. LISTs are separated by commas or spaces: "Bash(git diff:*),Read".
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tools")]
pub struct ToolArgs {
    /// Also allow tools to work in this directory; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<String>,

    /// Offer only these tools; "" is none, default is all.
    #[arg(long, value_name = "LIST")]
    pub tools: Option<Vec<ToolList>>,

    /// Run these without asking, such as "Bash(git diff:*),Read".
    #[arg(long, value_name = "LIST", alias = "allowedTools")]
    pub allowed_tools: Vec<ToolList>,

    /// Never run these.
    #[arg(long, value_name = "LIST", alias = "disallowedTools")]
    pub disallowed_tools: Vec<ToolList>,

    /// The permission mode.
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<PermissionMode>,

    /// Run everything that no rule denies: same as --permission-mode bypassPermissions.
    #[arg(long)]
    pub dangerously_skip_permissions: bool,

    /// Allow a driving program to switch to the mode bypassPermissions later. Does not turn it on.
    #[arg(long)]
    pub allow_dangerously_skip_permissions: bool,

    /// Define sub-agents for this run: {"NAME": {"description": "when to use it", "prompt": "who it is"}}.
    #[arg(long, value_name = "JSON")]
    pub agents: Option<String>,

    /// Permissions, hooks and env for this run: a file in the format of settings.json, or its JSON itself.
    #[arg(long, value_name = "FILE|JSON")]
    pub settings: Option<String>,

    /// Of the files shared with other programs, read only these sources: user, project, local
    /// (comma-separated); "" is none.
    #[arg(long, value_name = "LIST")]
    pub setting_sources: Option<SettingSources>,

    /// Offer no sub-agents.
    #[arg(long)]
    pub no_sub_agent: bool,

    /// Add MCP servers: files or JSON in the format of .mcp.json.
    #[arg(long, value_name = "FILE|JSON", num_args = 1..)]
    pub mcp_config: Vec<String>,

    /// Use only the MCP servers of --mcp-config.
    #[arg(long)]
    pub strict_mcp_config: bool,
}

/// Options for the session.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// Resume the newest session of this directory.
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub continue_newest: bool,

    /// Resume a session (by its name or the start of its id), or pick one from a list.
    #[arg(short, long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,

    /// With --continue or --resume: copy the history into a new session instead of adding to the old one.
    #[arg(long)]
    pub fork_session: bool,

    /// Use this id for the new session.
    #[arg(long, value_name = "UUID")]
    pub session_id: Option<SessionId>,

    /// Don't store the session on disk.
    #[arg(long, alias = "no-session-persistence", conflicts_with_all = ["continue_newest", "resume", "session_id"])]
    pub no_session: bool,
}

/// Options of every command, before or after its name.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Program")]
pub struct CommonArgs {
    /// Work in this directory.
    #[arg(short = 'C', long, value_name = "DIR", global = true)]
    pub cd: Option<PathBuf>,

    /// The level of the log file.
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS, global = true)]
    pub log_level: Option<String>,

    /// Log everything: same as --log-level debug.
    #[arg(long, global = true, conflicts_with = "log_level")]
    pub debug: bool,

    /// Also write the log, at the level of --debug, to this file.
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "log_level")]
    pub debug_file: Option<PathBuf>,

    /// The colour theme.
    #[arg(long, value_name = "NAME", global = true)]
    pub theme: Option<String>,

    /// Don't use colours; NO_COLOR does the same.
    #[arg(long, global = true)]
    pub no_color: bool,

    /// Print lines that screen readers can follow, instead of drawing a screen.
    #[arg(long, global = true)]
    pub screen_reader: bool,
}

/// The tools or rules of one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolList(Vec<String>);

impl std::str::FromStr for ToolList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        list::parse(text).map(Self)
    }
}

impl ToolArgs {
    /// Returns the tools to offer; `None` means all.
    pub fn offered(&self) -> Option<Vec<String>> {
        self.tools.as_deref().map(flatten).filter(|tools| tools != &["default"])
    }
}

impl ModelArgs {
    /// Returns how these arguments override thinking.
    fn thinking(&self) -> Option<ThinkingOverride> {
        let mode = self.thinking.map(|mode| match mode {
            ThinkingMode::Adaptive => ThinkingOverride::Adaptive,
            ThinkingMode::Disabled => ThinkingOverride::Disabled,
        });
        mode.or(self.max_thinking_tokens.map(ThinkingOverride::Tokens))
    }
}

impl CommonArgs {
    /// Returns the level of the log.
    fn level(&self) -> Option<String> {
        let debug = self.debug || self.debug_file.is_some();
        self.log_level.clone().or_else(|| debug.then(|| "debug".to_owned()))
    }
}

/// `help sessions` as `sessions --help`. Without a command behind it, `help` is that of caliban.
fn help_last(mut args: Vec<OsString>) -> Vec<OsString> {
    let is_command =
        |word: &OsString| Cli::command().get_subcommands().any(|it| **word == *it.get_name());
    if args.get(1).is_some_and(|word| word == "help") && args.get(2).is_none_or(is_command) {
        args.remove(1);
        args.push("--help".into());
    }
    args
}

impl Cli {
    /// Parses the arguments, including the program's name. A command must stand alone: next to a
    /// prompt or `--print` it is more likely part of the prompt.
    pub fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut cli = Self::try_parse_from(help_last(args.into_iter().collect()))?;
        cli.print.print |= cli.drive.input_format == Some(InputFormat::StreamJson);
        let SessionArgs { continue_newest, resume, fork_session, session_id, .. } = &cli.session;
        let stored = *continue_newest || resume.is_some();
        if *fork_session && !stored {
            let message =
                "--fork-session needs --continue or --resume: they select the session to copy";
            return Err(Self::command().error(ErrorKind::MissingRequiredArgument, message));
        }
        if session_id.is_some() && stored && !fork_session {
            let message = "--session-id names a new session: with --continue or --resume it needs --fork-session";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        if let Some(flag) = cli.misplaced_option() {
            let message = format!("{flag} needs --print");
            return Err(Self::command().error(ErrorKind::MissingRequiredArgument, message));
        }
        if cli.command.is_some() && (cli.print.print || cli.prompt.is_some()) {
            let message = "a command takes no prompt and no --print before it; \
                           to send its name as a prompt, put -- in front: caliban -p -- agents";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        Ok(cli)
    }

    /// Returns an option that has no effect with a screen.
    fn misplaced_option(&self) -> Option<&'static str> {
        let print = match &self.command {
            Some(CliCommand::Demo(print)) => print,
            _ => &self.print,
        };
        let given =
            [("--output-format", print.output_format.is_some()), ("--verbose", print.verbose)];
        let mut given = given.into_iter().chain(self.drive.given());
        let stray = given.find(|(_, given)| *given && !print.print);
        stray.map(|(flag, _)| flag)
    }

    /// Returns the configuration values that the command line overrides.
    pub fn overrides(&self) -> Overrides {
        let Self { model, tools, common, .. } = self;
        Overrides {
            provider: model.provider.clone(),
            model: model.model.clone(),
            effort: model.effort.clone(),
            permission_mode: tools.permission_mode,
            skip_permissions: tools.dangerously_skip_permissions,
            allow: flatten(&tools.allowed_tools),
            deny: flatten(&tools.disallowed_tools),
            additional_dirs: tools.add_dir.clone(),
            max_turns: model.max_turns,
            max_usd: model.max_budget_usd,
            log_level: common.level(),
            debug_file: common.debug_file.clone(),
            thinking: model.thinking(),
            fallback_model: model.fallback_model.clone(),
            theme: common.theme.clone(),
            screen_reader: common.screen_reader,
            no_sub_agent: tools.no_sub_agent,
            settings: tools.settings.clone(),
            setting_sources: tools.setting_sources.unwrap_or_default(),
            mcp_config: tools.mcp_config.clone(),
            strict_mcp_config: tools.strict_mcp_config,
        }
    }
}

fn flatten(lists: &[ToolList]) -> Vec<String> {
    lists.iter().flat_map(|list| list.0.iter().cloned()).collect()
}

fn parse_dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("an amount above 0, such as 0.50".to_owned()),
    }
}

#[cfg(test)]
mod tests;
