//! `BashOutput`: reads the output of a background command.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::api::{PreparedCall, Tool, ToolContext, ToolError, ToolOutcome};
use super::shells::ShellRegister;
use super::spec::{InvalidInput, ToolSpec};
use crate::exec::{BackgroundShell, ShellState, UnreadOutput};
use crate::protocol::{Access, AgentPath, ShellId, shell_end_line};

/// Maximum characters of a result; older output is dropped.
const MAX_CHARS: usize = 30_000;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<BashOutputInput>(
        "BashOutput",
        "Reads what a background command printed since the last read.",
    )
});

/// The tool.
#[derive(Debug)]
pub struct BashOutput {
    shells: Arc<dyn ShellRegister>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashOutputInput {
    bash_id: String,
    /// Regex; drops other lines
    filter: Option<String>,
}

impl BashOutput {
    /// Creates a reader of the commands in `shells`.
    pub fn new(shells: Arc<dyn ShellRegister>) -> Self {
        Self { shells }
    }
}

impl Tool for BashOutput {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let BashOutputInput { bash_id, filter } = SPEC.parse(input)?;
        let wrong = |error| {
            InvalidInput(format!("filter is not a regular expression (Rust syntax): {error}"))
        };
        let regex = filter.as_deref().filter(|filter| !filter.is_empty());
        let regex = regex.map(|filter| Regex::new(filter).map_err(wrong)).transpose()?;
        let summary = match &filter {
            Some(filter) => format!("{} \"{filter}\"", bash_id.trim()),
            None => bash_id.trim().to_owned(),
        };
        Ok(Box::new(BashOutputCall { shells: self.shells.clone(), summary, bash_id, regex }))
    }
}

/// A call with a valid input.
struct BashOutputCall {
    shells: Arc<dyn ShellRegister>,
    summary: String,
    bash_id: String,
    /// Selects lines.
    regex: Option<Regex>,
}

#[async_trait]
impl PreparedCall for BashOutputCall {
    fn summary(&self) -> String {
        self.summary.clone()
    }

    /// An agent reads only the output of its own commands, which were permitted.
    fn access(&self, _cwd: &Path) -> Access {
        Access::Nothing
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let (id, shell) = find(self.shells.as_ref(), cx.events.path(), &self.bash_id)?;
        let (unread, state) = match &self.regex {
            Some(_) => shell.unread_lines(),
            None => shell.unread(),
        };
        let printed = FilteredOutput::new(unread, self.regex.as_ref());
        let summary = format!("{}, {}", count(printed.lines), words(state));
        let stands = match state.end() {
            None => format!("[{id} is running]"),
            Some(end) => {
                self.shells.mark_end_read(&id);
                shell_end_line(&id, &end)
            }
        };
        Ok(ToolOutcome::text(format!("{}{stands}", printed.text), summary))
    }
}

/// Output for the model, with a line end unless it is empty.
struct FilteredOutput {
    text: String,
    lines: usize,
}

impl FilteredOutput {
    fn new(unread: UnreadOutput, filter: Option<&Regex>) -> Self {
        let UnreadOutput { text, mut left_out } = unread;
        let matched = match filter {
            Some(filter) => text.lines().filter(|line| filter.is_match(line)).collect(),
            None => text.lines().collect::<Vec<_>>(),
        };
        let (lines, mut text) = (matched.len(), matched.join("\n"));
        let excess = text.chars().count().saturating_sub(MAX_CHARS);
        if excess > 0 {
            let end = text.char_indices().nth(excess).map_or(text.len(), |(at, _)| at);
            text.drain(..end);
            left_out += excess;
        }
        if left_out > 0 {
            text.insert_str(0, &format!("… {left_out} older characters left out …\n"));
        }
        if lines == 0 {
            let none = if filter.is_some() { "no new line matches" } else { "no new output" };
            text.push_str(&format!("({none})"));
        }
        text.push('\n');
        Self { text, lines }
    }
}

/// Returns the command `id` of the agent at `owner`, or an error that lists the existing ones.
pub fn find(
    shells: &dyn ShellRegister,
    owner: &AgentPath,
    id: &str,
) -> Result<(ShellId, Arc<BackgroundShell>), ToolError> {
    let id = ShellId::new(id);
    if let Some(shell) = shells.get(owner, &id) {
        return Ok((id, shell));
    }
    let known: Vec<_> = shells.ids(owner).iter().map(ShellId::to_string).collect();
    let known = match known.as_slice() {
        [] => "You have none. Start one with Bash and run_in_background.".to_owned(),
        known => format!("Yours are: {}.", known.join(", ")),
    };
    Err(ToolError::failed(format!("There is no background command {id}. {known}")))
}

/// Describes the state of a command: `running`, `exit code 1`.
pub fn words(state: ShellState) -> String {
    state.end().map_or_else(|| "running".to_owned(), |end| end.to_string())
}

fn count(lines: usize) -> String {
    if lines == 1 { "1 new line".to_owned() } else { format!("{lines} new lines") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str, left_out: usize, filter: Option<&str>) -> String {
        let filter = filter.map(|filter| Regex::new(filter).unwrap());
        FilteredOutput::new(UnreadOutput { text: text.to_owned(), left_out }, filter.as_ref()).text
    }

    #[test]
    fn a_filter_keeps_whole_lines_and_nothing_is_said_to_be_nothing() {
        assert_eq!(printed("one\ntwo\nthree\n", 0, Some("^t")), "two\nthree\n");
        assert_eq!(printed("one\n", 0, Some("^t")), "(no new line matches)\n");
        assert_eq!(printed("", 0, None), "(no new output)\n");
        assert_eq!(printed("a\n\nb", 0, None), "a\n\nb\n");
    }

    #[test]
    fn what_is_too_long_loses_its_beginning_and_says_how_much() {
        let long = format!("{}é", "x".repeat(MAX_CHARS + 1));
        let expected = format!("… 9 older characters left out …\n{}é\n", "x".repeat(MAX_CHARS - 1));
        assert_eq!(printed(&long, 7, None), expected);
    }
}
