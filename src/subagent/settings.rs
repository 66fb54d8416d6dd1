//! The settings of sub-agents: how deep they nest, and how they are offered.

use crate::config::{AgentToolset, OnViolation, SubagentsConfig};
use crate::protocol::{Failure, ToolDetails, ViolationKind};
use crate::tool::{SoftKind, ToolContext, ToolError};

/// The configuration of sub-agents.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentSettings {
    pub config: SubagentsConfig,
    /// How deep this process already is below the outermost one.
    pub base_depth: u32,
}

impl SubagentSettings {
    /// Whether an agent at `depth` below the main agent may start others.
    pub fn may_start(&self, depth: u32) -> bool {
        self.base_depth + depth < self.config.max_depth
            && (depth == 0 || self.config.allow_nested_spawn)
    }

    /// Whether a set of tools that start agents is offered.
    pub fn offers(&self, tools: AgentToolset) -> bool {
        self.config.faces.contains(&tools)
    }

    /// The most characters of a final text that its parent gets; 0 is no limit.
    pub fn result_max_chars(&self) -> usize {
        usize::try_from(self.config.result_max_chars).unwrap_or(usize::MAX)
    }

    /// The error of a call beyond the depth limit. It is for the operator to know, not for the
    /// model to retry.
    pub(super) fn depth_violation(&self, cx: &ToolContext) -> ToolError {
        let SubagentsConfig { max_depth, allow_nested_spawn, .. } = self.config;
        let depth = self.base_depth + cx.depth;
        let limit = if allow_nested_spawn { max_depth } else { max_depth.min(self.base_depth + 1) };
        let key = if limit == max_depth { "max_depth" } else { "allow_nested_spawn" };
        tracing::error!(
            event = "autonomy_violation", kind = "depth_exceeded", agent = %cx.events.path(), depth, limit,
            "a sub-agent call beyond the depth limit"
        );
        match self.config.on_autonomy_violation {
            OnViolation::Abort => {
                let message = format!(
                    "An agent at depth {depth} tried to start a sub-agent, and the depth limit is {limit} (`{key}`): the run was stopped. Ask for the work without a further level."
                );
                let violation = ViolationKind::DepthExceeded;
                let details = ToolDetails::Violation { violation, depth, limit };
                ToolError::fatal(Failure::Autonomy, message).with_details(details)
            }
            OnViolation::Report => ToolError::soft(
                SoftKind::Denied,
                format!(
                    "The depth limit is {limit} (`{key}`), and this agent is at depth {depth}: it cannot start others. Do the work yourself."
                ),
            ),
        }
    }
}
