//! Formats numbers for the screen: times, tokens, money, positions in a queue.

use std::borrow::Cow;

use crate::protocol::{ASK_USER_TOOL, Cost, EXIT_PLAN_TOOL, limit_in_usd};
pub use crate::protocol::{clock, count, money};
use crate::tui::transcript::TODO_TOOL;

/// Cells that a time, a number of tokens and an amount of money need in the end, so that those beside it
/// stay where they are: `12:34`, `123k`, `$12.34`.
pub const CLOCK_WIDTH: usize = 5;
pub const TOKENS_WIDTH: usize = 4;
pub const MONEY_WIDTH: usize = 6;

/// The tool that starts an agent.
const AGENT_TOOL: &str = "AgentTool";

/// Formats a number of tokens: `812`, `21k`, `1.4M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..=999 => count.to_string(),
        1_000..=999_999 => format!("{}k", (count + 500) / 1000),
        _ => format!("{}.{}M", count / 1_000_000, count / 100_000 % 10),
    }
}

/// Formats a cost with its limit, if there is one: `$0.03/0.50`.
pub fn spent(cost: Cost, limit: Option<f64>) -> String {
    let spent = money(cost);
    match limit {
        Some(limit) if !spent.is_empty() => format!("{spent}/{}", limit_in_usd(limit)),
        _ => spent,
    }
}

/// The same for a cost with its limit.
pub fn spent_width(limit: Option<f64>) -> usize {
    MONEY_WIDTH + limit.map_or(0, |limit| 1 + limit_in_usd(limit).len())
}

/// Joins figures, without those that are not known.
pub fn join_figures(figures: &[String], between: &str) -> String {
    let known: Vec<&str> =
        figures.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    known.join(between)
}

/// The name of a tool beside what it is called with: that of an MCP server as `server: tool`, and what the
/// user knows by another name by that.
pub fn tool_label(name: &str) -> Cow<'_, str> {
    match name {
        ASK_USER_TOOL => return "Question".into(),
        EXIT_PLAN_TOOL => return "Plan".into(),
        TODO_TOOL => return "To-do".into(),
        AGENT_TOOL => return "Agent".into(),
        _ => {}
    }
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    match parts {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            format!("{server}: {tool}").into()
        }
        _ => name.into(),
    }
}

/// Formats an ordinal: `1st`, `2nd`, `11th`.
pub fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn tools_that_the_user_knows_by_another_name_have_that() {
        for (tool, shown) in [
            ("AskUserQuestion", "Question"),
            ("ExitPlanMode", "Plan"),
            ("AgentTool", "Agent"),
            ("TodoWrite", "To-do"),
            ("Bash", "Bash"),
            ("mcp__notes__add", "notes: add"),
        ] {
            assert_eq!(tool_label(tool), shown);
        }
    }

    #[test]
    fn numbers_read_as_the_panes_show_them() {
        assert_eq!(clock(Duration::from_secs(42)), "0:42");
        assert_eq!(clock(Duration::from_secs(3671)), "1:01:11");
        assert_eq!(tokens(21_400), "21k");
        assert_eq!(tokens(1_430_000), "1.4M");
        assert_eq!(spent(Cost::UNKNOWN, Some(0.5)), "");
        assert_eq!(
            join_figures(&["0:42".to_owned(), String::new(), "9k".to_owned()], " · "),
            "0:42 · 9k"
        );
        assert_eq!(spent(Cost::known(0.03), Some(0.5)), "$0.03/0.50");
        assert_eq!(spent(Cost::known(0.03), None), "$0.03");
        assert_eq!(spent(Cost::known(0.001), Some(0.005)), "<$0.01/0.005");
        assert_eq!(ordinal(2), "2nd");
        assert_eq!(ordinal(12), "12th");
    }
}
