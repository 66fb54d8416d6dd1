//! Commands from the front end to the runtime.

use serde::{Deserialize, Serialize};

use super::ids::{AgentId, AgentPath, PromptId, QuestionId, SessionId, ShellId};
use super::image::PromptImage;
use super::permission_mode::PermissionMode;
use super::question::Answer;

/// When a queued prompt is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptTiming {
    /// At the agent's next step, with the results of its running tools.
    #[default]
    NextStep,
    /// When the agent is done, as a prompt of its own.
    Done,
}

/// The author of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Sender {
    /// The user, or the program that drives us.
    #[default]
    Person,
    /// Another agent, by its name on the screen: a message, or its result.
    Agent { name: String },
    /// Something that ran beside the agent and has ended, such as a background command.
    Job { name: String },
}

/// A prompt that waits for its agent to read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedPrompt {
    pub id: PromptId,
    pub text: String,
    #[serde(default)]
    pub images: Vec<PromptImage>,
    /// The paths that the runtime replaces by their images, as they stand in `text`: `@shot.png`. A
    /// text from elsewhere, pasted or piped, names none.
    #[serde(default)]
    pub image_mentions: Vec<String>,
    /// The parts of the text that name agents as `@agent-NAME`; `None` if all of it may. A text from
    /// elsewhere, pasted or piped, names none.
    #[serde(default)]
    pub agent_mentions: Option<Vec<String>>,
    /// The expansion of a slash command in `text`, which the model reads after it. Filled in by the runtime.
    #[serde(default)]
    pub meaning: Option<String>,
    pub when: PromptTiming,
    #[serde(default)]
    pub from: Sender,
    /// Whether the agent may start sub-agents while it works on this.
    #[serde(default = "yes")]
    pub sub_agents: bool,
    /// The sub-agent whose end it reports.
    #[serde(default)]
    pub report: Option<AgentId>,
    /// Whether an idle agent starts to work because of it.
    #[serde(default = "yes")]
    pub wakes: bool,
}

impl QueuedPrompt {
    /// Creates a prompt typed by the user.
    pub fn typed(id: PromptId, text: impl Into<String>, when: PromptTiming) -> Self {
        Self {
            id,
            text: text.into(),
            images: Vec::new(),
            image_mentions: Vec::new(),
            agent_mentions: None,
            meaning: None,
            when,
            from: Sender::Person,
            sub_agents: true,
            report: None,
            wakes: true,
        }
    }
}

fn yes() -> bool {
    true
}

/// A command of the user (or of the program that drives us).
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Send a prompt to the agent at `to`: read at once when the main agent is idle, else queued.
    Prompt { to: AgentPath, prompt: QueuedPrompt },
    /// Retry after a failure, with the conversation unchanged.
    Retry,
    /// Take a queued prompt back. Answered by `PromptReturned`, or not at all when it was already read.
    TakeBack { to: AgentPath, id: PromptId },
    /// Change when a queued prompt is read.
    Requeue { to: AgentPath, id: PromptId, when: PromptTiming },
    /// Cancel one sub-agent and those below it. Its parent continues with the partial text, or reads it
    /// with its next prompt if it is idle.
    Cancel(AgentId),
    /// Move a running foreground sub-agent to the background: its parent continues at once.
    Background(AgentId),
    /// Resume an ended sub-agent of this session, in the background, with its transcript.
    ResumeAgent(AgentId),
    /// Read the stored conversation of an ended sub-agent. Answered by `TranscriptRead`, or by a
    /// notice of that agent.
    ReadTranscript(AgentId),
    /// Kill a background command, by its id such as `bash-1`.
    KillShell(ShellId),
    /// Read the end of what a background command has printed, once there is more than the first `seen`
    /// characters. Answered by `BackgroundShellOutput`, unless another one is asked for first or the command
    /// is gone with its agent.
    ReadShell { id: ShellId, seen: u64 },
    /// Stop the main agent's turn with all its sub-agents.
    CancelTurn,
    /// Answer a permission question.
    Answer { id: QuestionId, answer: Answer },
    /// Change the mode of all agents.
    SetMode {
        mode: PermissionMode,
        /// Whether a freer mode also answers the open questions, rather than count from the next
        /// call on. A stricter one always does.
        answers: bool,
    },
    /// Use another model from the next request on. `provider` absent: keep the current one.
    SetModel { provider: Option<String>, model: String },
    /// Use another effort level from the next request on. Absent: the model's default.
    SetEffort { effort: Option<String> },
    /// Continue in a copy of the session, or in the session itself if another process that wrote to it
    /// has left it. Answered by `SessionOpened`.
    Fork,
    /// Keep a line for the user in the session, which shows it already.
    Note { text: String },
    /// Run a shell command as the user, not as an agent; the next prompt carries its output.
    Shell { line: String },
    /// Kill the running `Shell` command.
    CancelShell,
    /// Replace the main agent's conversation by a summary. `instructions` say what the summary must keep.
    Compact { instructions: Option<String> },
    /// Start an empty session.
    Clear,
    /// Resume a stored session.
    Resume(SessionId),
    /// The user quits: stop everything and end.
    Quit,
    /// Stop everything and end.
    Shutdown,
}
