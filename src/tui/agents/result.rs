//! The line that says what came of an agent.

use crate::tui::agents::AgentState;
use crate::tui::text::one_line;

/// The first line of an agent's result that says something, without marks of Markdown: not a heading, and
/// not words that only announce what follows, unless there is nothing else.
pub fn result_line(agent: &AgentState) -> Option<String> {
    telling_line(&agent.outcome.as_ref()?.text)
}

fn telling_line(text: &str) -> Option<String> {
    let mut lines = text.lines().map(one_line).filter(|line| !is_rule(line));
    let first = lines.clone().map(|line| plain(&line)).find(|line| !line.is_empty());
    let telling = lines.find_map(|line| {
        let told = plain(told(&line)?);
        Some(told).filter(|told| !told.is_empty())
    });
    telling.or(first)
}

/// The part of a line that says something: nothing of a heading, and no last sentence with a colon at its
/// end.
fn told(line: &str) -> Option<&str> {
    let is_bold = |mark: &str| {
        let inner = line.strip_prefix(mark).and_then(|line| line.strip_suffix(mark));
        inner.is_some_and(|inner| !inner.contains(mark))
    };
    if line.starts_with('#') || is_bold("**") || is_bold("__") {
        return None;
    }
    if !line.trim_end_matches(['*', '_', '`', ' ']).ends_with(':') {
        return Some(line);
    }
    let ends = [". ", "! ", "? "].map(|end| line.rfind(end));
    ends.into_iter().flatten().max().map(|end| &line[..=end])
}

/// Whether a line has no letters and no digits, such as the border of code or of a table.
fn is_rule(line: &str) -> bool {
    let is_fence = line.starts_with("```") || line.starts_with("~~~");
    is_fence || !line.contains(char::is_alphanumeric)
}

/// A line without marks of Markdown.
fn plain(line: &str) -> String {
    let line = line.trim_start_matches(['#', '*', '-', '>', '|', ' ']);
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match digits.strip_prefix(". ") {
        Some(item) if digits.len() < line.len() => item,
        _ => line,
    };
    line.trim_end_matches(['|', ' ']).replace(['`', '*'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn tells(text: &str, line: &str) {
        assert_eq!(telling_line(text).as_deref(), Some(line), "{text}");
    }

    #[test]
    fn a_heading_or_an_announcement_gives_way_to_what_follows() {
        tells("Two route tables.\nMore.", "Two route tables.");
        tells("# Result\n\nTwo `route` tables.", "Two route tables.");
        tells("**Result**\n\n- **Fix:** one index", "Fix: one index");
        tells(
            "Found by searching every script:\n\n- Callers: bin/price.sh:12",
            "Callers: bin/price.sh:12",
        );
        tells("**Fix:** one **index**", "Fix: one index");
        tells("**Summary:**\n1. The token has no index", "The token has no index");
        tells("Result:\n\n---\n```sh\necho hi\n```", "echo hi");
        tells("Parts:\n| Agent | Found |\n|---|---|", "Agent | Found");
    }

    #[test]
    fn a_sentence_before_an_announcement_stays() {
        tells("Login reads it twice. The places:\n- src/a.rs", "Login reads it twice.");
        tells("v1.2 is affected. See **below**:\n- a", "v1.2 is affected.");
    }

    #[test]
    fn a_text_that_only_announces_is_better_than_none() {
        tells("# Result", "Result");
        tells("The places:\n\n```\n```", "The places:");
        assert_eq!(telling_line("\n---\n"), None);
        assert_eq!(telling_line(""), None);
    }
}
