//! `caliban permissions test 'TOOL(…)'`: which rule decides a call, and why.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use url::Url;

use super::CommandReport;
use crate::app::setup::{AppError, Setup};
use crate::permission::{Call, Decision, HookAdvice, Judgement};
use crate::protocol::{
    ASK_USER_TOOL, Access, EXIT_PLAN_TOOL, EventQueue, PathTarget, ToolUseId, printable,
};
use crate::tool::canonical_name;

/// Tools that access nothing outside the agent.
const HARMLESS_TOOLS: [&str; 8] = [
    "TodoWrite",
    "BashOutput",
    "KillShell",
    "agent_status",
    "agent_wait",
    "agent_cancel",
    "agent_list",
    "agent_send",
];

/// The default sub-agent.
const DEFAULT_AGENT: &str = "general-purpose";

/// Returns the decision of main's gate on the call.
pub(crate) fn test(call: &str, setup: &Setup) -> Result<CommandReport, AppError> {
    let home = setup.home();
    let call = TestedCall::parse(call, &setup.cwd, home.as_deref()).map_err(AppError::Usage)?;
    let gate = setup.gate(true, &EventQueue::unbounded())?;
    let judgement = gate.judgement(&Call {
        id: &ToolUseId::new("test"),
        tool: &call.tool,
        input: &Value::Null,
        access: &call.access,
        cwd: &setup.cwd,
        advice: HookAdvice::None,
    });
    Ok(report(&judgement, setup.trust.notice(&setup.loaded.untrusted).as_deref()))
}

/// A call as the user writes it in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TestedCall {
    tool: String,
    access: Access,
}

impl TestedCall {
    /// Parses `Bash(git status)`, `Edit(src/main.rs)`, `WebFetch(https://example.org)`,
    /// `mcp__server__tool` and the like.
    ///
    /// # Errors
    /// Says what is missing, with an example.
    fn parse(text: &str, cwd: &Path, home: Option<&Path>) -> Result<Self, String> {
        let (name, subject) = match text.trim().split_once('(') {
            None => (text.trim(), ""),
            Some((name, rest)) => match rest.strip_suffix(')') {
                // Other whitespace is part of a word for a shell.
                Some(subject) => (name.trim(), subject.trim_matches([' ', '\t', '\n'])),
                None => return Err(format!("`(` without `)` at the end of `{text}`")),
            },
        };
        let tool = canonical_name(name);
        let needs = |what: &str, example: &str| match subject {
            "" => Err(format!("{tool} needs {what}, such as {tool}({example})")),
            subject => Ok(subject.to_owned()),
        };
        let path = |subject: &str| -> Vec<PathTarget> {
            let below = Path::new(subject).strip_prefix("~").ok();
            let path = match (below, home) {
                (Some(below), Some(home)) => home.join(below),
                _ => cwd.join(subject),
            };
            vec![PathTarget::new(cwd, &path)]
        };
        let agent = || if subject.is_empty() { DEFAULT_AGENT } else { subject };
        let access = match tool {
            "Bash" => Access::Command { line: needs("a command", "git status")?, cwd: cwd.into() },
            "Read" => Access::Read { paths: path(&needs("a file", "src/main.rs")?) },
            "Glob" | "Grep" => Access::Read { paths: path(subject) },
            "Edit" | "Write" => Access::Write { paths: path(&needs("a file", "src/main.rs")?) },
            "WebFetch" => {
                Access::Fetch { url: address(&needs("an address", "https://example.org")?) }
            }
            "AgentTool" | "agent_spawn" | "agent_fork" => {
                Access::Agent { name: agent().to_owned() }
            }
            "Skill" => Access::Skill { name: needs("a skill", "release")? },
            ASK_USER_TOOL => Access::AskUser { answered: false },
            EXIT_PLAN_TOOL => Access::ExitPlan { mode: None },
            name if HARMLESS_TOOLS.contains(&name) => Access::Nothing,
            name if name.starts_with("mcp__") => Access::Other,
            name => match name.strip_prefix("delegate_to_") {
                Some(agent) => Access::Agent { name: agent.to_owned() },
                None => return Err(unknown(name)),
            },
        };
        Ok(Self { tool: tool.to_owned(), access })
    }
}

/// Returns the URL; a bare host becomes an https one. Keeps whatever the tool accepts as a URL.
fn address(subject: &str) -> String {
    let host = subject.strip_prefix("domain:").unwrap_or(subject);
    let is_web = Url::parse(host).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if is_web || host.contains("://") { host.to_owned() } else { format!("https://{host}/") }
}

fn unknown(name: &str) -> String {
    format!(
        "there is no tool {name:?}; write a call such as Bash(git status), Read(src/main.rs), Edit(src/main.rs), \
         WebFetch(https://example.org), AgentTool(explore), mcp__server__tool"
    )
}

/// Reports the decision, its reason and warnings. `notice` is about ignored rules.
fn report(judgement: &Judgement, notice: Option<&str>) -> CommandReport {
    let word = match judgement.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    let mut text = format!("{word}: {}\n", judgement.why);
    // Writing to a String cannot fail.
    for warning in &judgement.warnings {
        let _ = writeln!(text, "  ! {warning}");
    }
    if judgement.decision == Decision::Ask {
        text.push_str("  without a screen nobody can be asked, so it is denied there\n");
        if !judgement.suggestions.is_empty() {
            let rules = judgement.suggestions.join(", ");
            let _ = writeln!(text, "  a rule that would allow it: {rules}");
        }
    }
    if let Some(notice) = notice {
        let _ = writeln!(text, "{notice}");
    }
    CommandReport::text(printable(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(text: &str) -> Result<Access, String> {
        let home = Path::new("/home/ann");
        TestedCall::parse(text, Path::new("/p"), Some(home)).map(|call| call.access)
    }

    fn fetch_of(url: &str) -> Result<Access, String> {
        Ok(Access::Fetch { url: url.to_owned() })
    }

    #[test]
    fn calls_of_every_built_in_tool_can_be_tested() {
        let settings = crate::tool::BuiltinSettings::new(Path::new("/p").into());
        for tool in crate::tool::builtin(&settings) {
            let call = format!("{}(x)", tool.spec().name);
            assert!(access(&call).is_ok(), "`TestedCall::parse` does not know {call}");
        }
    }

    #[test]
    fn calls_are_read_as_people_write_them() {
        let target = |path: &str| vec![PathTarget::new(Path::new("/"), Path::new(path))];
        let read = |path: &str| Access::Read { paths: target(path) };
        let agent = |name: &str| Access::Agent { name: name.to_owned() };
        assert_eq!(access(r"WebFetch(http:\\example.com)"), fetch_of(r"http:\\example.com"));
        assert_eq!(access("WebFetch(localhost:80)"), fetch_of("https://localhost:80/"));
        let fetch = |url: &str| Access::Fetch { url: url.to_owned() };
        let line = "echo (a) && (b)".to_owned();
        for (text, expected) in [
            ("Bash(echo (a) && (b))", Access::Command { line, cwd: "/p".into() }),
            ("Read(src/x)", read("/p/src/x")),
            (" Read( ~/x ) ", read("/home/ann/x")),
            ("Grep", read("/p/")),
            ("Write(/etc/x)", Access::Write { paths: target("/etc/x") }),
            ("WebFetch(domain:a.org)", fetch("https://a.org/")),
            ("WebFetch(http://a.org/b)", fetch("http://a.org/b")),
            ("Task(explore)", agent("explore")),
            ("AgentTool", agent("general-purpose")),
            ("delegate_to_explore", agent("explore")),
            ("TodoWrite", Access::Nothing),
            ("mcp__db__query", Access::Other),
        ] {
            assert_eq!(access(text).unwrap(), expected, "{text}");
        }
        for (text, part) in [
            ("Bash", "Bash needs a command, such as Bash(git status)"),
            ("Edit()", "Edit needs a file"),
            ("Bash(ls", "without `)`"),
            ("bash(ls)", "there is no tool \"bash\"; write a call such as"),
            ("", "there is no tool \"\""),
        ] {
            assert!(access(text).unwrap_err().contains(part), "{text}");
        }
    }
}
