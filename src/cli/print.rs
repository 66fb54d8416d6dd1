//! Options for the output of a headless run.

use clap::{Args, ValueEnum};

/// Options for the output of a headless run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct PrintArgs {
    /// Run without a screen: read one prompt (argument, stdin, or both), print the answer to stdout.
    #[arg(short, long)]
    pub print: bool,

    /// The format of stdout [default: text].
    #[arg(long, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,

    /// Report progress on stderr.
    #[arg(long)]
    pub verbose: bool,
}

/// The output format of a headless run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer.
    #[default]
    Text,
    /// One JSON object: the result.
    Json,
    /// One JSON object per line, as things happen.
    StreamJson,
}
