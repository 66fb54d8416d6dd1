//! What a rule covers, read from its text.

use super::effect::Effect;
use super::{Base, List};
use crate::permission::pattern::{CommandPattern, DomainPattern, PathPattern};
use crate::protocol::{MCP_PREFIX, mcp_name};
use crate::tool::canonical_name;

/// Built-in tools, to tell a wrong spelling of one.
pub const KNOWN: &[&str] = &[
    "AgentTool",
    "Bash",
    "BashOutput",
    "Edit",
    "Glob",
    "Grep",
    "KillShell",
    "Read",
    "Skill",
    "TodoWrite",
    "WebFetch",
    "Write",
];

/// What names of tools begin with that start one sub-agent each.
pub const DELEGATE: &str = "delegate_to_";

/// The calls that a rule is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Covers {
    /// The tool of this name, whatever it does.
    Tool(String),
    /// Every tool whose name begins so.
    Tools(String),
    Command(CommandPattern),
    Path {
        effect: Effect,
        /// The rule is for this tool alone.
        tool: Option<String>,
        pattern: Option<PathPattern>,
    },
    Domain(DomainPattern),
    /// Sub-agents: the named one, or all.
    Agent(Option<String>),
    /// The named skill.
    Skill(String),
}

/// Reads the text of a rule for this list.
pub fn covers(text: &str, list: List, base: Base<'_>) -> Result<Covers, String> {
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
    if let (Some(agent), None) = (name.strip_prefix(DELEGATE), pattern) {
        return Ok(Covers::Agent(Some(agent.to_owned())));
    }
    let name = canonical_name(name);
    if let Some(known) = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(name))
        && *known != name
    {
        return Err(format!("no tool has this name; did you mean {known}?"));
    }
    let path = |effect, tool: Option<&str>| -> Result<Covers, String> {
        let pattern = match pattern {
            None => None,
            // For reading and writing everything, the tool's name stands alone.
            Some("*" | "**") if list != List::Allow => None,
            Some(text) => Some(PathPattern::parse(text, base.project, base.home)?),
        };
        // What keeps a file from one tool keeps it from all that have the same effect, commands included.
        let tool = tool.filter(|_| list == List::Allow);
        Ok(Covers::Path { effect, tool: tool.map(str::to_owned), pattern })
    };
    match (name, pattern) {
        ("Read", _) => path(Effect::Reads, None),
        ("Edit", _) => path(Effect::Writes, None),
        ("Glob" | "Grep", Some(_)) => path(Effect::Reads, Some(name)),
        ("Write", Some(_)) => path(Effect::Writes, Some(name)),
        ("AgentTool", None | Some("*")) => Ok(Covers::Agent(None)),
        ("AgentTool", Some(agent)) => Ok(Covers::Agent(Some(one_name(name, agent)?))),
        ("Skill", Some("*")) => Ok(Covers::Tool(name.to_owned())),
        // Other programs write the arguments' pattern behind the name; a skill is one text,
        // whatever they are.
        ("Skill", Some(text)) => {
            let skill = text.strip_suffix(":*").or(text.strip_suffix(" *")).unwrap_or(text);
            Ok(Covers::Skill(one_name(name, skill.trim_start_matches('/'))?))
        }
        ("Bash", Some(text)) => command(text, list),
        ("WebFetch", Some("*")) | (_, None) => Ok(Covers::Tool(name.to_owned())),
        ("WebFetch", Some(text)) => Ok(Covers::Domain(DomainPattern::parse(text)?)),
        _ if !KNOWN.contains(&name) && !name.starts_with("agent_") => {
            Err(format!("there is no tool {name}"))
        }
        _ => Err(format!(
            "{name} takes no pattern; Bash, Read, Glob, Grep, Edit, Write, WebFetch, AgentTool and Skill do"
        )),
    }
}

/// A name in a rule of the tool, without wildcards: nothing would have such a name.
fn one_name(tool: &str, name: &str) -> Result<String, String> {
    match name.contains('*') {
        true => {
            Err(format!("`*` does not work in a name; write one rule for each, or {tool} for all"))
        }
        false => Ok(name.to_owned()),
    }
}

fn command(text: &str, list: List) -> Result<Covers, String> {
    let Some(pattern) = CommandPattern::parse(text)? else {
        return Ok(Covers::Tool("Bash".to_owned()));
    };
    if list == List::Allow && pattern.leaves_program_open() {
        return Err("a rule that allows must name the program, as in Bash(git * main)".to_owned());
    }
    Ok(Covers::Command(pattern))
}

fn mcp(name: &str, pattern: Option<&str>) -> Result<Covers, String> {
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
        None => Covers::Tools(mcp_name::of_server(server)),
        Some((_, Some(start))) => Covers::Tools(mcp_name::beginning(server, start)),
        Some((tool, None)) => Covers::Tool(mcp_name::of_tool(server, tool)),
    })
}
