//! A rule's scope, parsed from its text.

use super::effect::FileEffect;
use super::origin::{RuleBase, RuleList};
use crate::permission::pattern::{CommandPattern, DomainPattern, PathPattern};
use crate::protocol::{MCP_PREFIX, likeness, mcp_name};
use crate::tool::canonical_name;

/// Built-in tools, to detect a misspelled one.
pub const KNOWN_TOOLS: &[&str] = &[
    "AgentTool",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "Read",
    "Skill",
    "TodoWrite",
    "WebFetch",
    "Write",
];

/// How much of a name has to be that of a tool to be a misspelled one: two letters of four that have
/// changed places still are.
const MISSPELLED: f32 = 0.75;

/// Prefix of tools that each start one sub-agent.
pub const DELEGATE_PREFIX: &str = "delegate_to_";

/// The calls that a rule is about.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleScope {
    /// The tool of this name, whatever it does.
    Tool(String),
    /// Every tool whose name has this prefix.
    Tools(String),
    Command(CommandPattern),
    Path {
        effect: FileEffect,
        /// Set if the rule is for this tool only.
        tool: Option<String>,
        pattern: Option<PathPattern>,
    },
    Domain(DomainPattern),
    /// Sub-agents: the named one, or all.
    Agent(Option<String>),
    /// The named skill.
    Skill(String),
}

/// Parses the text of a rule for this list.
pub fn parse_scope(text: &str, list: RuleList, base: RuleBase<'_>) -> Result<RuleScope, String> {
    let (name, pattern) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(pattern) => (name, Some(pattern.trim())),
            None => {
                return Err("the closing parenthesis is missing; write Tool(pattern)".to_owned());
            }
        },
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(
            "not a tool's name; write Tool or Tool(pattern), such as Bash(git diff:*)".to_owned()
        );
    }
    if pattern == Some("") {
        return Err(format!("the parentheses are empty; write {name} alone to cover every call"));
    }
    if name.starts_with(MCP_PREFIX) {
        return mcp(name, pattern);
    }
    if name.contains('*') {
        return Err(
            "`*` can only stand in the name of an MCP tool, as in mcp__server__*".to_owned()
        );
    }
    // One tool per sub-agent: the same as a rule about that sub-agent.
    if let (Some(agent), None) = (name.strip_prefix(DELEGATE_PREFIX), pattern) {
        return Ok(RuleScope::Agent(Some(agent.to_owned())));
    }
    let name = canonical_name(name);
    if let Some(known) = KNOWN_TOOLS.iter().find(|known| known.eq_ignore_ascii_case(name))
        && *known != name
    {
        return Err(format!("no tool has this name; did you mean {known}?"));
    }
    let path = |effect, tool: Option<&str>| -> Result<RuleScope, String> {
        let pattern = match pattern {
            None => None,
            // For reading or writing everything, write the tool's name alone.
            Some("*" | "**") if list != RuleList::Allow => None,
            Some(text) => Some(PathPattern::parse(text, base.project, base.home)?),
        };
        // A file restricted for one tool is restricted for all with the same effect, including commands.
        let tool = tool.filter(|_| list == RuleList::Allow);
        Ok(RuleScope::Path { effect, tool: tool.map(str::to_owned), pattern })
    };
    match (name, pattern) {
        ("Read", _) => path(FileEffect::Reads, None),
        ("Edit", _) => path(FileEffect::Writes, None),
        ("Glob" | "Grep", Some(_)) => path(FileEffect::Reads, Some(name)),
        ("Write", Some(_)) => path(FileEffect::Writes, Some(name)),
        // It covers no protected file.
        ("Write", None) if list == RuleList::Allow => path(FileEffect::Writes, Some(name)),
        ("AgentTool", None | Some("*")) => Ok(RuleScope::Agent(None)),
        ("AgentTool", Some(agent)) => Ok(RuleScope::Agent(Some(check_name(name, agent)?))),
        ("Skill", Some("*")) => Ok(RuleScope::Tool(name.to_owned())),
        // Other programs write a pattern for the arguments after the name; a skill is one text, whatever its arguments.
        ("Skill", Some(text)) => {
            let skill = text.strip_suffix(":*").or(text.strip_suffix(" *")).unwrap_or(text);
            Ok(RuleScope::Skill(check_name(name, skill.trim_start_matches('/'))?))
        }
        ("Bash", Some(text)) => command(text, list),
        (_, None) if let Some(meant) = misspelled(name) => {
            Err(format!("no tool has this name; did you mean {meant}?"))
        }
        ("WebFetch", Some("*")) | (_, None) => Ok(RuleScope::Tool(name.to_owned())),
        ("WebFetch", Some(text)) => Ok(RuleScope::Domain(DomainPattern::parse(text)?)),
        _ if !KNOWN_TOOLS.contains(&name) && !name.starts_with("agent_") => {
            Err(format!("there is no tool {name}"))
        }
        _ => Err(format!(
            "{name} takes no pattern; Bash, Read, Glob, Grep, Edit, Write, WebFetch, AgentTool and Skill do"
        )),
    }
}

/// The built-in tool that a name almost is. Another name may be that of a tool of another program.
fn misspelled(name: &str) -> Option<&'static str> {
    let is_close = |known: &&str| likeness(known, name) >= MISSPELLED;
    match KNOWN_TOOLS.contains(&name) {
        true => None,
        false => KNOWN_TOOLS.iter().copied().find(is_close),
    }
}

/// A name in a rule of the tool, without wildcards: no name contains one.
fn check_name(tool: &str, name: &str) -> Result<String, String> {
    match name.contains('*') {
        true => {
            Err(format!("`*` does not work in a name; write one rule for each, or {tool} for all"))
        }
        false => Ok(name.to_owned()),
    }
}

fn command(text: &str, list: RuleList) -> Result<RuleScope, String> {
    let Some(pattern) = CommandPattern::parse(text)? else {
        return Ok(RuleScope::Tool("Bash".to_owned()));
    };
    if list == RuleList::Allow && pattern.leaves_program_open() {
        return Err("a rule that allows must name the program, as in Bash(git * main)".to_owned());
    }
    Ok(RuleScope::Command(pattern))
}

fn mcp(name: &str, pattern: Option<&str>) -> Result<RuleScope, String> {
    if pattern.is_some() {
        return Err("rules for MCP tools take no pattern; write mcp__server or mcp__server__tool"
            .to_owned());
    }
    let stars = name.matches('*').count();
    let parts = mcp_name::parts(name).filter(|(server, _)| !server.contains('*'));
    let Some((server, tool)) = parts.filter(|_| stars == 0 || stars == 1 && name.ends_with('*'))
    else {
        return Err("write mcp__server, mcp__server__* or mcp__server__tool".to_owned());
    };
    Ok(match tool.map(|tool| (tool, tool.strip_suffix('*'))) {
        None => RuleScope::Tools(mcp_name::server_prefix(server)),
        Some((_, Some(start))) => RuleScope::Tools(mcp_name::tool_prefix(server, start)),
        Some((tool, None)) => RuleScope::Tool(mcp_name::tool_name(server, tool)),
    })
}
