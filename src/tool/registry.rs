//! The tools of one agent, in a stable order.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::api::Tool;
use super::mcp;
use super::spec::ToolSpec;
use crate::protocol::AgentPath;

/// Looks tools up by name and lists them in the same order every time, because a changed order
/// would miss the prompt cache.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    /// Tools that answer when called, but are not offered to the model.
    hidden: Vec<Arc<dyn Tool>>,
    /// From each name and alias, in lower case, to the index in `tools`.
    by_name: BTreeMap<String, usize>,
}

impl ToolRegistry {
    /// Creates a registry with the given tools, in order. A later tool of the same name replaces the earlier one.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut registry = Self::default();
        for tool in tools {
            registry.insert(tool);
        }
        registry
    }

    /// Adds a tool at the end, or in place of one of the same name.
    pub fn insert(&mut self, tool: Arc<dyn Tool>) {
        let name = canonical_name(&tool.spec().name).to_owned();
        match self.by_name.get(&name) {
            Some(&place) => self.tools[place] = tool,
            None => {
                self.by_name.insert(name, self.tools.len());
                self.tools.push(tool);
            }
        }
    }

    /// Adds tools that are not offered, but still answer a model that calls them. Each name exists once.
    pub fn with_hidden(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        for tool in tools {
            self.hidden.retain(|known| known.spec().name != tool.spec().name);
            self.hidden.push(tool);
        }
        self
    }

    /// Returns the tool of this name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let name = canonical_name(name);
        let hidden = || self.hidden.iter().find(|tool| canonical_name(&tool.spec().name) == name);
        self.by_name.get(name).map(|&place| &self.tools[place]).or_else(hidden)
    }

    /// Ends everything that calls of the agent at `owner` have left running.
    pub async fn end(&self, owner: &AgentPath) {
        for tool in &self.tools {
            tool.end(owner).await;
        }
    }

    /// Stops offering the tools that `withhold` selects. They still answer: the refusal explains itself.
    pub fn withholding(&self, withhold: impl Fn(&str) -> bool) -> Self {
        let hidden = self.tools.iter().filter(|tool| withhold(&tool.spec().name)).cloned();
        self.filtered(|name| !withhold(name)).with_hidden(hidden)
    }

    /// Keeps only the tools that `keep` selects, in the same order.
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        let kept = self.tools.iter().filter(|tool| keep(&tool.spec().name)).cloned();
        Self { hidden: self.hidden.clone(), ..Self::new(kept) }
    }

    /// Returns the specs for the model, in order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// Appends the instructions that come with the tools to `base`, each once.
    pub fn system_prompt(&self, base: &Arc<str>) -> Arc<str> {
        let mut parts: Vec<&str> = vec![base];
        for instructions in self.tools.iter().filter_map(|tool| tool.instructions()) {
            if !parts[1..].contains(&instructions) {
                parts.push(instructions);
            }
        }
        if parts.len() == 1 { base.clone() } else { parts.join("\n\n").into() }
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec().name.as_str())
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Whether an entry of a list of tools covers this tool: by its name, by another name of it, or as
/// one of all tools of an MCP server, written `mcp__server` or `mcp__server__*`.
pub fn entry_matches(entry: &str, tool: &str) -> bool {
    canonical_name(entry) == canonical_name(tool) || mcp::is_listed(entry, tool)
}

/// Whether an entry of a list of tools to take away covers this tool: the same, but in any case of
/// letters. `AgentTool` covers every tool that starts agents.
pub fn entry_denies(entry: &str, tool: &str) -> bool {
    let (entry, lower) = (entry.to_ascii_lowercase(), tool.to_ascii_lowercase());
    let is_agent_tool = matches!(&*entry, "agent" | "task" | "agenttool");
    is_agent_tool && starts_agents(tool) || entry == lower || mcp::is_listed(&entry, &lower)
}

/// Returns the canonical name: `Agent` and `Task` are other names of `AgentTool`, wherever a tool is named.
pub fn canonical_name(name: &str) -> &str {
    match name {
        "Agent" | "Task" => "AgentTool",
        other => other,
    }
}

/// Whether a tool of this name starts a sub-agent.
pub fn starts_agents(name: &str) -> bool {
    let name = canonical_name(name);
    matches!(name, "AgentTool" | "agent_spawn" | "agent_fork") || name.starts_with("delegate_to_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::builtin;
    use crate::tool::testing::ToolFixture;

    #[test]
    fn what_is_withheld_again_and_again_is_hidden_once() {
        let bench = ToolFixture::new();
        let withheld = |name: &str| matches!(name, "Read" | "Bash");
        let mut tools = ToolRegistry::default();
        for _ in 0..3 {
            for tool in builtin(&bench.settings) {
                tools.insert(tool);
            }
            tools = tools.withholding(withheld);
        }
        let hidden: Vec<_> = tools.hidden.iter().map(|tool| tool.spec().name.as_str()).collect();
        assert_eq!(hidden, ["Read", "Bash"]);
        assert!(tools.get("Read").is_some() && !tools.names().any(withheld));
    }
}
