//! The message about the end of a background command, which its agent reads.

use std::fmt;

use super::ids::ShellId;

/// The text after the description of the end.
const ADVICE: &str = ". BashOutput shows what it printed.]";

/// That a background command has ended. Its text is what the agent reads and what a session keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellNotice {
    pub id: ShellId,
    /// The beginning of the command.
    pub command: String,
    /// How it ended, as [`ShellEnd`](super::ShellEnd) says it.
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
        let number: u32 = id.strip_prefix("bash-")?.parse().ok()?;
        let (id, command) = (ShellId::from_number(number), command.to_owned());
        Some(Self { id, command, end: end.to_owned() })
    }

    /// Whether the command ended otherwise than with exit code 0.
    pub fn failed(&self) -> bool {
        self.end != "exit code 0"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
