//! Advice about definitions that are valid but unlikely to do what was meant.

use super::fields::Definition;
use super::keys::DefinitionKeys;
use super::name::RESERVED_NAMES;
use super::source::DefinitionError;
use crate::protocol::is_agent_color;
use crate::tool::canonical_name;

/// The length below which a description says too little to choose by. Characters.
const MIN_DESCRIPTION_CHARS: usize = 20;

/// Words that apply to every agent, and so distinguish none.
const GENERIC_WORDS: &str = "\
    a agent agents all an and any anything are assist assistant assists bot can do does every everything \
    for general generic good handle handles help helper helpful helps i in is it job jobs kind kinds \
    many me misc my needed of or other purpose something sort sorts stuff sub subagent task tasks that \
    the thing things this to tool use used useful user various very when whatever which with work works \
    you your";

/// Returns advice about a definition that was read from these keys.
pub(super) fn advise(definition: &Definition, keys: &DefinitionKeys) -> Vec<DefinitionError> {
    let at = |line: Option<usize>, message: String| definition.source.error(line, message);
    let description = keys.description.as_ref().map(|key| key.line);
    let tools = keys.tools.as_ref().map(|key| key.line);
    let mut found = Vec::new();
    // Without one, it is an error.
    if let Some(what) = description.and_then(|_| why_vague(&definition.description)) {
        let message = format!(
            "`description` {what}: write what the agent does and when to use it, such as \"Reviews a change for mistakes. Use it after edits.\""
        );
        found.push(at(description, message));
    }
    for name in definition.tools.iter().flatten() {
        let bare = name.split('(').next().unwrap_or_default();
        if canonical_name(bare) == "AgentTool" {
            let message = format!(
                "`tools` lists {bare}: that alone does not let the agent start others, since the depth limit decides; remove it if the agent starts none"
            );
            found.push(at(tools, message));
        } else if !is_tool(bare) {
            let bare = bare.escape_debug();
            let message =
                format!("`tools` lists {bare}, which is not a tool: fix the name or remove it");
            found.push(at(tools, message));
        }
    }
    if let Some(color) = keys.color.as_ref().filter(|color| !is_agent_color(&color.value.0)) {
        let message = format!(
            "`color` is not a colour, {:?}: use a name such as sky, orange or green, a number up to 255, or #rrggbb",
            color.value.0
        );
        found.push(at(Some(color.line), message));
    }
    found
}

/// Whether a tool may have this name: one of ours, one of a server, or a pattern for these.
fn is_tool(name: &str) -> bool {
    RESERVED_NAMES.contains(&name) || name.starts_with("mcp__")
}

/// Why a model could not choose by this description.
fn why_vague(description: &str) -> Option<&'static str> {
    if description.chars().count() < MIN_DESCRIPTION_CHARS {
        return Some("is too short to choose the agent by");
    }
    let lower = description.to_lowercase();
    let generic = |word: &str| GENERIC_WORDS.split(' ').any(|known| known == word);
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(generic).then_some("fits every agent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_vague_when_it_is_short_or_says_what_all_agents_do() {
        for text in ["helper", "does stuff", "general agent", "Reviews code"] {
            assert_eq!(why_vague(text), Some("is too short to choose the agent by"), "{text}");
        }
        for text in [
            "A general-purpose helper agent.",
            "A helpful assistant that helps you with all kinds of things.",
            "Handles various tasks; useful for anything.",
        ] {
            assert_eq!(why_vague(text), Some("fits every agent"), "{text}");
        }
        for text in [
            "Reviews a diff for bugs",
            "Findet Stellen im Code",
            "検索して関数の定義を見つけ、呼び出し元を一覧にする",
        ] {
            assert_eq!(why_vague(text), None, "{text}");
        }
    }
}
