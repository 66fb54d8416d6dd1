//! The limits on sub-agents that run at the same time, and the error when one is reached.

use crate::config::SubagentsConfig;

/// How many sub-agents may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLimits {
    /// In the whole tree.
    pub concurrent: usize,
    /// Of one parent.
    pub children: usize,
    /// Of one parent, over its whole life; `None` is any number.
    pub children_total: Option<usize>,
}

impl SlotLimits {
    /// The configured limits.
    pub fn from_config(config: &SubagentsConfig) -> Self {
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            concurrent: count(config.max_concurrent_agents),
            children: count(config.max_children_per_agent),
            children_total: config.max_children_total.map(count),
        }
    }
}

/// A reached limit that a sub-agent may not wait out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{limit}` is {value}, and {count} {}", self.hint())]
pub struct LimitError {
    /// The key of the configuration.
    pub limit: &'static str,
    pub value: usize,
    pub count: usize,
}

impl LimitError {
    fn hint(&self) -> &'static str {
        match self.limit {
            CHILDREN_TOTAL_KEY => "were started: no more are allowed. Do the work yourself.",
            _ => "exist: wait for one to end, or cancel one.",
        }
    }
}

/// The limit that stays reached when agents end.
pub(super) const CHILDREN_TOTAL_KEY: &str = "max_children_total";
