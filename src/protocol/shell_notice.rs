//! The message about the end of a background command, which its agent reads.

use std::fmt;

use super::event::ShellEnd;
use super::ids::ShellId;

/// The text after the description of the end.
const ADVICE: &str = ". BashOutput shows what it printed.]";

/// That a background command has ended. Its text is what the agent reads and what a session keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellNotice {
    pub id: ShellId,
    /// The beginning of the command.
    pub command: String,
    /// How it ended, as [`ShellEnd`] says it.
    pub end: String,
}

impl fmt::Display for ShellNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, command, end } = self;
        write!(f, "[{id} ({command}) has ended: {end}{ADVICE}")
    }
}

impl ShellNotice {
    /// Parses the text of a notice.
    pub fn parse(text: &str) -> Option<Self> {
        let (head, end) = text.strip_suffix(ADVICE)?.rsplit_once(") has ended: ")?;
        let (id, command) = head.strip_prefix('[')?.split_once(" (")?;
        let number = ShellId::new(id).number()?;
        let (id, command) = (ShellId::from_number(number), command.to_owned());
        Some(Self { id, command, end: end.to_owned() })
    }

    /// Whether the command ended otherwise than with exit code 0.
    pub fn failed(&self) -> bool {
        self.end != "exit code 0"
    }
}

/// The line of a result about a command that has ended: `[bash-1 ended: exit code 3]`.
pub fn shell_end_line(id: &ShellId, end: &ShellEnd) -> String {
    format!("[{id} ended: {end}]")
}

/// Parses the line about a command that has ended, which is the last one of a result.
pub fn parse_shell_end_line(text: &str) -> Option<(ShellId, ShellEnd)> {
    let line = text.lines().next_back()?.strip_prefix('[')?.strip_suffix(']')?;
    let (id, end) = line.split_once(" ended: ")?;
    Some((ShellId::new(id), ShellEnd::parse(end)?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_end_of_a_command_is_read_as_it_was_written() {
        let limit = Duration::from_millis(1500);
        for end in [
            ShellEnd::Code { code: 0 },
            ShellEnd::Code { code: -3 },
            ShellEnd::Signal { name: "SIGKILL".to_owned() },
            ShellEnd::TimedOut { limit },
            ShellEnd::Killed,
        ] {
            assert_eq!(ShellEnd::parse(&end.to_string()), Some(end.clone()));
            let id = ShellId::from_number(2);
            let line = shell_end_line(&id, &end);
            assert_eq!(parse_shell_end_line(&format!("out\n{line}")), Some((id, end)));
        }
        for other in ["", "[bash-1 is running]", "[bash-1 ended: well]", "exit code x"] {
            assert_eq!((ShellEnd::parse(other), parse_shell_end_line(other)), (None, None));
        }
    }

    #[test]
    fn a_notice_is_read_as_it_was_written_and_other_texts_are_none() {
        let notice = ShellNotice {
            id: ShellId::from_number(2),
            command: "echo ')'; (exit 3)".to_owned(),
            end: "exit code 3".to_owned(),
        };
        assert_eq!(ShellNotice::parse(&notice.to_string()), Some(notice));
        for text in [
            "",
            "bash-1 has ended",
            "[bash-1 (ls) has ended: exit code 0]",
            "[x (y) has ended: z. BashOutput shows what it printed.]",
        ] {
            assert_eq!(ShellNotice::parse(text), None, "{text}");
        }
    }
}
