//! The command line: clap types, nothing else.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, Parser, ValueEnum};

use crate::config::models::ThinkingOverride;
use crate::config::{Overrides, SettingSources, list, schema::LEVELS};
use crate::protocol::{Mode, SessionId};

mod command;
mod drive;

pub use command::{
    AgentsAction, AuthAction, Command, ConfigAction, ExportFormat, McpAction, McpAddArgs, McpKind,
    PermissionsAction, SessionsAction,
};
pub use drive::{DriveArgs, InputFormat, PermissionPrompts, PromptTool, reads_frames, summary};

const USAGE: &str = "caliban [OPTIONS] [PROMPT]\n       caliban [OPTIONS] <COMMAND>";

const EXAMPLES: &str = "\
Examples:
  caliban                              start in this directory
  caliban \"fix the failing test\"       start with a prompt
  caliban -p \"explain src/main.rs\"     print the answer and end
  git diff | caliban -p \"review this\"  put what stdin says behind the prompt
  caliban -c                           go on with the newest session of this directory
  caliban demo                         three agents at work: no key, no network

A prompt of one word that is also a command goes after --, such as: caliban -- demo";

/// A terminal coding agent whose sub-agents run live, side by side, on your screen.
#[derive(Clone, Debug, Parser)]
#[command(name = "caliban", version, about, override_usage = USAGE, after_help = EXAMPLES)]
#[command(disable_version_flag = true)]
pub struct Cli {
    /// Print the version.
    #[arg(short = 'V', visible_short_alias = 'v', long, action = ArgAction::Version)]
    pub version: (),

    #[command(subcommand)]
    pub command: Option<Command>,

    /// What to do first; sent at once.
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

/// How a run without a screen writes its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct PrintArgs {
    /// Run without a screen: one prompt (argument, stdin, or both), the answer on stdout.
    #[arg(short, long)]
    pub print: bool,

    /// What goes to stdout [default: text].
    #[arg(long, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,

    /// Say more about what is going on, on stderr.
    #[arg(long)]
    pub verbose: bool,
}

/// What a run without a screen writes to stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer.
    #[default]
    Text,
    /// One JSON object: the result.
    Json,
    /// One JSON object a line, as things happen.
    StreamJson,
}

/// Who answers, what it is told, and what it may spend.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// The model that answers.
    #[arg(long)]
    pub model: Option<String>,

    /// Where it answers: a built-in or configured provider, such as anthropic, openai, gemini or ollama.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,

    /// How hard the model thinks, in the provider's words, such as low or high.
    #[arg(long, value_name = "LEVEL")]
    pub effort: Option<String>,

    /// Let the model think: as much as it decides, or not at all.
    #[arg(long, value_name = "HOW")]
    pub thinking: Option<ThinkingMode>,

    /// Let the model think for at most this many tokens; 0 is not at all.
    #[arg(long, value_name = "N", conflicts_with = "thinking")]
    pub max_thinking_tokens: Option<u32>,

    /// Use this model instead while the other one is overloaded.
    #[arg(long, value_name = "MODEL")]
    pub fallback_model: Option<String>,

    /// Be the agent of this definition: its prompt, tools, model and mode.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,

    /// Use this system prompt instead of the built-in one.
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,

    /// The same from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt")]
    pub system_prompt_file: Option<PathBuf>,

    /// Put this behind the system prompt.
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,

    /// Stop after this many turns.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Stop when this many US dollars are spent, sub-agents included.
    #[arg(long, value_name = "X", value_parser = dollars)]
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

/// What may be touched. LISTs are separated by commas or spaces: "Bash(git diff:*),Read".
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tools")]
pub struct ToolArgs {
    /// Tools may also work in this directory; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<String>,

    /// Offer only these tools; "" is none, default is all.
    #[arg(long, value_name = "LIST")]
    pub tools: Option<Vec<ToolList>>,

    /// What runs without a question, such as "Bash(git diff:*),Read".
    #[arg(long, value_name = "LIST", alias = "allowedTools")]
    pub allowed_tools: Vec<ToolList>,

    /// What never runs.
    #[arg(long, value_name = "LIST", alias = "disallowedTools")]
    pub disallowed_tools: Vec<ToolList>,

    /// How freely tools act.
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<Mode>,

    /// Run everything that no rule denies: the same as the mode bypassPermissions.
    #[arg(long)]
    pub dangerously_skip_permissions: bool,

    /// Let a driving program choose the mode bypassPermissions later on. Switches nothing on by itself.
    #[arg(long)]
    pub allow_dangerously_skip_permissions: bool,

    /// Sub-agents for this run: {"NAME": {"description": "when to use it", "prompt": "who it is"}}.
    #[arg(long, value_name = "JSON")]
    pub agents: Option<String>,

    /// Permissions, hooks and env for this run: a file of the settings.json shape, or its JSON itself.
    #[arg(long, value_name = "FILE|JSON")]
    pub settings: Option<String>,

    /// Of the files that other programs share with this one, read only those of user, project and
    /// local (with commas); "" is none.
    #[arg(long, value_name = "LIST")]
    pub setting_sources: Option<SettingSources>,

    /// Offer no sub-agents.
    #[arg(long)]
    pub no_sub_agent: bool,

    /// More MCP servers: files or JSON of the shape that .mcp.json has.
    #[arg(long, value_name = "FILE|JSON", num_args = 1..)]
    pub mcp_config: Vec<String>,

    /// Only the MCP servers of --mcp-config.
    #[arg(long)]
    pub strict_mcp_config: bool,
}

/// Which conversation it is.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// Go on with the newest session of this directory.
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub continue_newest: bool,

    /// Go on with a session (the start of its id is enough), or pick one from a list.
    #[arg(short, long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,

    /// Go on in a new session that begins with the history of the one that --continue or --resume names.
    #[arg(long)]
    pub fork_session: bool,

    /// Give the new session this id.
    #[arg(long, value_name = "UUID")]
    pub session_id: Option<SessionId>,

    /// Keep nothing on disk.
    #[arg(long, alias = "no-session-persistence", conflicts_with_all = ["continue_newest", "resume", "session_id"])]
    pub no_session: bool,
}

/// What every command takes, before or after its name.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Program")]
pub struct CommonArgs {
    /// Work in this directory.
    #[arg(short = 'C', long, value_name = "DIR", global = true)]
    pub cd: Option<PathBuf>,

    /// What the log file keeps.
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS, global = true)]
    pub log_level: Option<String>,

    /// Log everything: the same as --log-level debug.
    #[arg(long, global = true, conflicts_with = "log_level")]
    pub debug: bool,

    /// Write the log to this file as well, as --debug has it.
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "log_level")]
    pub debug_file: Option<PathBuf>,

    /// The colours of the screen.
    #[arg(long, value_name = "NAME", global = true)]
    pub theme: Option<String>,

    /// No colours; NO_COLOR says the same.
    #[arg(long, global = true)]
    pub no_color: bool,
}

/// Tools or rules of one option, as people write them in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolList(Vec<String>);

impl std::str::FromStr for ToolList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        list::parse(text).map(Self)
    }
}

impl ToolArgs {
    /// The tools to offer; `None` is all of them.
    #[must_use]
    pub fn offered(&self) -> Option<Vec<String>> {
        self.tools.as_deref().map(flat).filter(|tools| tools != &["default"])
    }
}

impl ModelArgs {
    /// How these arguments change the way models think.
    fn thinking(&self) -> Option<ThinkingOverride> {
        let mode = self.thinking.map(|mode| match mode {
            ThinkingMode::Adaptive => ThinkingOverride::Adaptive,
            ThinkingMode::Disabled => ThinkingOverride::Disabled,
        });
        mode.or(self.max_thinking_tokens.map(ThinkingOverride::Tokens))
    }
}

impl CommonArgs {
    /// What the log keeps.
    fn level(&self) -> Option<String> {
        let debug = self.debug || self.debug_file.is_some();
        self.log_level.clone().or_else(|| debug.then(|| "debug".to_owned()))
    }
}

impl Cli {
    /// Reads the arguments, the program's name first. A command stands alone: beside a prompt or
    /// `--print` it is more likely the prompt's own word.
    pub fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut cli = Self::try_parse_from(args)?;
        cli.print.print |= cli.drive.input_format == Some(InputFormat::StreamJson);
        let SessionArgs { continue_newest, resume, fork_session, session_id, .. } = &cli.session;
        let stored = *continue_newest || resume.is_some();
        if *fork_session && !stored {
            let message =
                "--fork-session needs --continue or --resume: it names what to begin with";
            return Err(Self::command().error(ErrorKind::MissingRequiredArgument, message));
        }
        if session_id.is_some() && stored && !fork_session {
            let message = "--session-id names a new session: with --continue or --resume it needs --fork-session";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        if let Some(flag) = cli.stray() {
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

    /// An option that means nothing beside a screen.
    fn stray(&self) -> Option<&'static str> {
        let print = match &self.command {
            Some(Command::Demo(print)) => print,
            _ => &self.print,
        };
        let given =
            [("--output-format", print.output_format.is_some()), ("--verbose", print.verbose)];
        let mut given = given.into_iter().chain(self.drive.given());
        let stray = given.find(|(_, given)| *given && !print.print);
        stray.map(|(flag, _)| flag)
    }

    /// What the command line sets in the configuration.
    #[must_use]
    pub fn overrides(&self) -> Overrides {
        let Self { model, tools, common, .. } = self;
        Overrides {
            provider: model.provider.clone(),
            model: model.model.clone(),
            effort: model.effort.clone(),
            permission_mode: tools.permission_mode,
            skip_permissions: tools.dangerously_skip_permissions,
            allow: flat(&tools.allowed_tools),
            deny: flat(&tools.disallowed_tools),
            additional_dirs: tools.add_dir.clone(),
            max_turns: model.max_turns,
            max_usd: model.max_budget_usd,
            log_level: common.level(),
            debug_file: common.debug_file.clone(),
            thinking: model.thinking(),
            fallback_model: model.fallback_model.clone(),
            theme: common.theme.clone(),
            no_sub_agent: tools.no_sub_agent,
            settings: tools.settings.clone(),
            setting_sources: tools.setting_sources.unwrap_or_default(),
            mcp_config: tools.mcp_config.clone(),
            strict_mcp_config: tools.strict_mcp_config,
        }
    }
}

fn flat(lists: &[ToolList]) -> Vec<String> {
    lists.iter().flat_map(|list| list.0.iter().cloned()).collect()
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("an amount above 0, such as 0.50".to_owned()),
    }
}

#[cfg(test)]
mod tests;
