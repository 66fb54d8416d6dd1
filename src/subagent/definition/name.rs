//! Names of agents: which are allowed, and the tool names made from them.

use super::fields::{Definition, DefinitionFormat};

/// The prefix of a tool that delegates to one agent, before the agent's name.
pub(super) const TOOL_PREFIX: &str = "delegate_to_";

/// The longest tool name that model APIs accept.
const MAX_TOOL_NAME: usize = 64;

/// The longest agent name whose tool name still fits. Characters.
const MAX_NAME_CHARS: usize = MAX_TOOL_NAME - TOOL_PREFIX.len();

/// Names that agents may not have, because a rule or call could mean either.
pub(super) const RESERVED_NAMES: [&str; 23] = [
    "Read",
    "Write",
    "Edit",
    "Glob",
    "Grep",
    "Bash",
    "BashOutput",
    "KillShell",
    "WebFetch",
    "TodoWrite",
    "AskUserQuestion",
    "ExitPlanMode",
    "Skill",
    "AgentTool",
    "Agent",
    "Task",
    "agent_spawn",
    "agent_fork",
    "agent_status",
    "agent_wait",
    "agent_cancel",
    "agent_list",
    "agent_send",
];

/// The name of the tool that delegates to the agent `name`. Only lower-case letters, digits and
/// `_`, so that names which differ only in case and separators have the same.
pub fn tool_name(name: &str) -> String {
    format!("{TOOL_PREFIX}{}", name.to_ascii_lowercase().replace(['-', '.'], "_"))
}

/// The name of a built-in tool, given in any case.
pub(super) fn known_tool(name: &str) -> Option<&'static str> {
    RESERVED_NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

impl Definition {
    /// The name of the tool that delegates to this agent alone.
    pub fn tool_name(&self) -> String {
        tool_name(&self.name)
    }
}

/// Checks an agent's name. Files of other programs may also use capitals and dots.
pub(super) fn check(name: &str, dialect: DefinitionFormat) -> Result<(), String> {
    let foreign = dialect == DefinitionFormat::Foreign;
    let plain = |c: char| {
        c.is_ascii_lowercase()
            || c.is_ascii_digit()
            || matches!(c, '-' | '_')
            || foreign && (c.is_ascii_uppercase() || c == '.')
    };
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || name.len() > MAX_NAME_CHARS || !name.chars().all(plain) {
        let allowed = match dialect {
            DefinitionFormat::Own => "lower-case letters, digits and hyphens",
            DefinitionFormat::Foreign => "letters, digits, hyphens and dots",
        };
        return Err(format!(
            "the name {name:?} is not allowed: use {allowed}, at most {MAX_NAME_CHARS}, the first a letter or digit"
        ));
    }
    if name.eq_ignore_ascii_case("main") {
        return Err("the name \"main\" is that of the agent you talk to: choose another".to_owned());
    }
    if let Some(tool) = RESERVED_NAMES.iter().find(|tool| same_letters(tool, name)) {
        return Err(format!(
            "the name {name:?} is that of the tool {tool}: choose another, such as {name}-expert"
        ));
    }
    Ok(())
}

/// Whether two names differ only in case and separators.
fn same_letters(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '-' | '_' | '.')).map(|c| c.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tool::{BuiltinSettings, builtin};

    #[test]
    fn the_tools_name_has_only_letters_digits_and_underscores_and_is_never_too_long() {
        assert_eq!(tool_name("db-scout_2"), "delegate_to_db_scout_2");
        let longest = "a".repeat(52);
        assert_eq!(
            (check(&longest, DefinitionFormat::Own), tool_name(&longest).len()),
            (Ok(()), 64)
        );
        assert!(check(&"a".repeat(53), DefinitionFormat::Own).unwrap_err().contains("at most 52"));
        assert!(check("main", DefinitionFormat::Own).unwrap_err().contains("you talk to"));
        for wrong in ["", "-x", "_x", "Scout", "a b", "é", "a.b", "a/b"] {
            assert!(
                check(wrong, DefinitionFormat::Own).unwrap_err().contains("is not allowed"),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn files_of_other_programs_may_name_agents_with_capitals_and_dots() {
        for name in ["dotnet-4.8-Expert", "4.1-Beast", "x"] {
            assert_eq!(check(name, DefinitionFormat::Foreign), Ok(()), "{name}");
        }
        assert_eq!(tool_name("dotnet-4.8-Expert"), "delegate_to_dotnet_4_8_expert");
        for wrong in [".x", "a b", "é", "a/b", "Main", "Agent.Tool", "READ"] {
            assert!(check(wrong, DefinitionFormat::Foreign).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_agent_is_never_named_like_a_tool() {
        for name in ["read", "bash", "agenttool", "agent-tool", "agent", "task", "agent-list"] {
            let why = check(name, DefinitionFormat::Own).unwrap_err();
            assert!(why.contains("is that of the tool"), "{name}: {why}");
        }
        for name in ["reader", "bash-expert", "tasks"] {
            assert_eq!(check(name, DefinitionFormat::Own), Ok(()), "{name}");
        }
        let settings = BuiltinSettings::new(Path::new("/").into());
        for tool in builtin(&settings) {
            assert!(RESERVED_NAMES.contains(&tool.spec().name.as_str()), "{}", tool.spec().name);
        }
    }
}
