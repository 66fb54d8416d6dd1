//! What is allowed in a definition, and still unlikely to do what was meant.

use super::field::Key;
use super::name::TOOLS;
use super::{Definition, DefinitionError};
use crate::tool::canonical_name;

/// A shorter description says too little to choose by. Characters.
const MIN_DESCRIPTION: usize = 20;

/// Words that are true of every agent, and so tell none from another.
const GENERIC: &str = "\
    a agent agents all an and any anything are assist assistant assists bot can do does every everything \
    for general generic good handle handles help helper helpful helps i in is it job jobs kind kinds \
    many me misc my needed of or other purpose something sort sorts stuff sub subagent task tasks that \
    the thing things this to tool use used useful user various very when whatever which with work works \
    you your";

/// What could be said better in a definition that was read from these keys.
pub(super) fn of(
    definition: &Definition,
    description: Key<'_>,
    tools: Key<'_>,
    disallowed_tools: Key<'_>,
) -> Vec<DefinitionError> {
    let mut found = Vec::new();
    if let Some(what) = vague(&definition.description) {
        let message = format!(
            "`description` {what}: write what the agent does and when to use it, such as \"Reviews a change for mistakes. Use it after edits.\""
        );
        found.push(description.error(message));
    }
    for name in definition.tools.iter().flatten() {
        let bare = name.split('(').next().unwrap_or_default();
        if canonical_name(bare) == "AgentTool" {
            let message = format!(
                "`tools` lists {bare}: that alone lets the agent start no others, the depth limit decides; without others to start leave it out"
            );
            found.push(tools.error(message));
        } else if !is_tool(bare) {
            let bare = bare.escape_debug();
            let message = format!(
                "`tools` lists {bare}, which is no tool here: mend the name, or leave it out"
            );
            found.push(tools.error(message));
        }
    }
    for name in &definition.disallowed_tools {
        let bare = name.split('(').next().unwrap_or_default();
        if canonical_name(bare) != "AgentTool" && !is_tool(bare) {
            let message = format!(
                "`disallowedTools` lists {}, which is no tool here: it takes nothing away",
                bare.escape_debug()
            );
            found.push(disallowed_tools.error(message));
        }
    }
    found
}

/// Whether a tool may have this name: one of ours, one of a server, or a pattern for these.
fn is_tool(name: &str) -> bool {
    TOOLS.contains(&name) || name.starts_with("mcp__")
}

/// Why a model could not choose by this description.
fn vague(description: &str) -> Option<&'static str> {
    if description.chars().count() < MIN_DESCRIPTION {
        return Some("is too short to choose the agent by");
    }
    let lower = description.to_lowercase();
    let generic = |word: &str| GENERIC.split(' ').any(|known| known == word);
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(generic).then_some("fits every agent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_13_a_description_is_vague_when_it_is_short_or_says_what_all_agents_do() {
        for text in ["helper", "does stuff", "general agent", "Reviews code"] {
            assert_eq!(vague(text), Some("is too short to choose the agent by"), "{text}");
        }
        for text in [
            "A general-purpose helper agent.",
            "A helpful assistant that helps you with all kinds of things.",
            "Handles various tasks; useful for anything.",
        ] {
            assert_eq!(vague(text), Some("fits every agent"), "{text}");
        }
        for text in [
            "Reviews a diff for bugs",
            "Findet Stellen im Code",
            "検索して関数の定義を見つけ、呼び出し元を一覧にする",
        ] {
            assert_eq!(vague(text), None, "{text}");
        }
    }
}
