//! The characters that the screen is drawn with, and their stand-ins for a terminal with few of them.

/// Signs and lines. Each is one cell wide.
#[derive(Debug, PartialEq, Eq)]
pub struct Glyphs {
    pub(super) name: &'static str,
    /// An agent's states.
    pub queued: &'static str,
    pub waits: &'static str,
    pub asks: &'static str,
    pub done: &'static str,
    pub partial: &'static str,
    pub cancelled: &'static str,
    pub failed: &'static str,
    pub empty: &'static str,
    /// One frame each 200 ms.
    pub spinner: &'static [&'static str],
    /// The mark of the focused pane.
    pub focus: &'static str,
    /// Before the prompt.
    pub prompt: &'static str,
    /// A pane's coloured edge.
    pub bar: &'static str,
    /// Before a tool's line.
    pub tool: &'static str,
    /// Where streamed text ends.
    pub caret: &'static str,
    pub bullet: &'static str,
    /// A to-do or task entry, open and done.
    pub task_open: &'static str,
    pub task_done: &'static str,
    pub rule: &'static str,
    pub vertical: &'static str,
    pub cross: &'static str,
    pub top_left: &'static str,
    pub top_right: &'static str,
    pub bottom_left: &'static str,
    pub bottom_right: &'static str,
    /// A child's and the last child's branch.
    pub branch: &'static str,
    pub last_branch: &'static str,
    /// New lines below.
    pub down: &'static str,
    /// Between the pieces of a line.
    pub dot: &'static str,
    pub more: &'static str,
}

/// For nearly all terminals.
pub static UNICODE: Glyphs = Glyphs {
    name: "unicode",
    queued: "◌",
    waits: "◦",
    asks: "⚑",
    done: "✓",
    partial: "~",
    cancelled: "⊘",
    failed: "✗",
    empty: "∅",
    spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    focus: "▸",
    prompt: "›",
    bar: "▌",
    tool: "▪",
    caret: "▏",
    bullet: "•",
    task_open: "☐",
    task_done: "☑",
    rule: "─",
    vertical: "│",
    cross: "┼",
    top_left: "╭",
    top_right: "╮",
    bottom_left: "╰",
    bottom_right: "╯",
    branch: "├",
    last_branch: "└",
    down: "↓",
    dot: "·",
    more: "⋮",
};

/// For the console of Linux, whose font has little beyond ASCII.
pub static ASCII: Glyphs = Glyphs {
    name: "ascii",
    queued: ".",
    waits: "o",
    asks: "!",
    done: "+",
    partial: "~",
    cancelled: "x",
    failed: "X",
    empty: "0",
    spinner: &["|", "/", "-", "\\"],
    focus: ">",
    prompt: ">",
    bar: "|",
    tool: "*",
    caret: "_",
    bullet: "*",
    task_open: "-",
    task_done: "+",
    rule: "-",
    vertical: "|",
    cross: "+",
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    branch: "|",
    last_branch: "`",
    down: "v",
    dot: "-",
    more: ":",
};

impl Glyphs {
    /// The characters for a terminal of this `TERM`.
    #[must_use]
    pub fn for_terminal(term: Option<&str>) -> &'static Self {
        match term {
            Some("linux" | "dumb" | "vt100" | "vt220") => &ASCII,
            _ => &UNICODE,
        }
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn the_linux_console_gets_ascii_and_all_others_unicode() {
        assert_eq!(Glyphs::for_terminal(Some("linux")), &ASCII);
        assert_eq!(Glyphs::for_terminal(Some("xterm-256color")), &UNICODE);
        assert_eq!(Glyphs::for_terminal(None), &UNICODE);
    }

    #[test]
    fn every_frame_of_the_spinner_is_one_cell() {
        for set in [&UNICODE, &ASCII] {
            assert!(set.spinner.iter().all(|frame| frame.width() == 1));
            assert!(
                [set.asks, set.done, set.task_open, set.task_done]
                    .iter()
                    .all(|sign| sign.width() == 1)
            );
        }
    }
}
