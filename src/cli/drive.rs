//! Options for a program that drives a headless run.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

/// Options for a program that drives a headless run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Driven by a program")]
pub struct DriveArgs {
    /// How prompts are read without a screen [default: text]; stream-json implies --print.
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,

    /// With --output-format stream-json: also write frames with partial answers as they stream.
    #[arg(long)]
    pub include_partial_messages: bool,

    /// With --output-format stream-json: also write frames for the start and end of each hook.
    #[arg(long)]
    pub include_hook_events: bool,

    /// With --input-format stream-json: repeat each prompt as a frame when the agent reads it.
    #[arg(long)]
    pub replay_user_messages: bool,

    /// Send permission questions to an MCP tool such as mcp__approver__ask, or to stdio, the
    /// program that writes to stdin.
    #[arg(long, value_name = "NAME")]
    pub permission_prompt_tool: Option<PromptTool>,

    /// Whether permission questions are asked: host, of --permission-prompt-tool, or none, which
    /// denies them all [default: host].
    #[arg(long, value_name = "WHO")]
    pub permission_prompts: Option<PermissionPrompts>,

    /// Read only the handshake before starting; --input-format stream-json always does.
    #[arg(long, hide = true)]
    pub await_initialize: bool,
}

impl DriveArgs {
    /// Returns each option and whether it was given.
    pub(super) fn given(&self) -> [(&'static str, bool); 7] {
        let Self {
            input_format,
            include_partial_messages,
            include_hook_events,
            replay_user_messages,
            permission_prompt_tool,
            permission_prompts,
            await_initialize,
        } = self;
        [
            ("--input-format", input_format.is_some()),
            ("--include-partial-messages", *include_partial_messages),
            ("--include-hook-events", *include_hook_events),
            ("--replay-user-messages", *replay_user_messages),
            ("--permission-prompt-tool", permission_prompt_tool.is_some()),
            ("--permission-prompts", permission_prompts.is_some()),
            ("--await-initialize", *await_initialize),
        ]
    }

    /// Returns the tool that answers permission questions; `None` denies them all.
    pub fn prompt_tool(&self) -> Option<&PromptTool> {
        let host = self.permission_prompts != Some(PermissionPrompts::None);
        self.permission_prompt_tool.as_ref().filter(|_| host)
    }
}

/// The tool that answers permission questions without a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptTool {
    /// The program at the other end of stdin and stdout.
    Stdio,
    /// A tool of an MCP server, by its name on the wire.
    Mcp(String),
}

impl std::str::FromStr for PromptTool {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "stdio" => Ok(Self::Stdio),
            name if name.starts_with("mcp__") => Ok(Self::Mcp(name.to_owned())),
            _ => Err("stdio, or an MCP tool such as mcp__approver__ask".to_owned()),
        }
    }
}

/// Whether anybody answers permission questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PermissionPrompts {
    /// The one that --permission-prompt-tool names.
    Host,
    /// Nobody: questions are denied.
    None,
}

/// The format of prompts in a headless run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// One prompt: the argument, stdin, or both.
    #[default]
    Text,
    /// One JSON object per line on stdin, each a prompt; needs --output-format stream-json.
    StreamJson,
}

/// Whether these arguments request JSON lines on stdin, even if they cannot be parsed.
pub fn reads_frames(args: &[OsString]) -> bool {
    let (flag, value) = ("--input-format", "stream-json");
    let options: Vec<_> = args.iter().take_while(|word| *word != "--").collect();
    let joined = format!("{flag}={value}");
    options.iter().any(|word| **word == *joined)
        || options.windows(2).any(|pair| *pair[0] == *flag && *pair[1] == *value)
}

/// Sums up an error about arguments in one line, without the usage text.
pub fn summarize_error(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}
