//! One agent's permissions besides the shared rules: its grants, its folders, and how its mode
//! follows from the session's.

use std::sync::Arc;

use parking_lot::Mutex;

use super::bounds::{BoundRules, ToolBounds};
use super::places::Places;
use super::rule::Rule;
use crate::protocol::PermissionMode;

/// Allow rules of one agent. Clones are the same grants.
#[derive(Clone, Default)]
pub(super) struct Grants(Arc<Mutex<Arc<Vec<Rule>>>>);

impl Grants {
    pub fn get(&self) -> Arc<Vec<Rule>> {
        self.0.lock().clone()
    }

    pub fn add(&self, rules: Vec<Rule>) {
        let mut grants = self.0.lock();
        Arc::make_mut(&mut grants).extend(rules);
    }
}

/// How an agent's mode follows from the session's, which may change at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModePolicy {
    /// The session's mode.
    #[default]
    Session,
    /// The session's mode, but never freer than this.
    AtMost(PermissionMode),
    /// This mode, whatever the session's is.
    Own(PermissionMode),
}

impl ModePolicy {
    /// The effective mode.
    pub fn resolve(self, session: PermissionMode) -> PermissionMode {
        match self {
            Self::Session => session,
            Self::AtMost(most) => stricter(most, session),
            Self::Own(own) => own,
        }
    }

    /// Combines it with the limit of an agent below: both apply.
    pub fn combine(self, below: Self) -> Self {
        match (self, below) {
            (above, Self::Session) => above,
            (_, Self::Own(own)) => Self::Own(own),
            (Self::Session, below) => below,
            (Self::AtMost(one), Self::AtMost(other)) => Self::AtMost(stricter(one, other)),
            (Self::Own(own), Self::AtMost(most)) => Self::Own(stricter(own, most)),
        }
    }
}

/// The mode that allows less.
pub(super) fn stricter(one: PermissionMode, other: PermissionMode) -> PermissionMode {
    if freedom(one) <= freedom(other) { one } else { other }
}

fn freedom(mode: PermissionMode) -> u8 {
    match mode {
        PermissionMode::Plan => 0,
        PermissionMode::DontAsk => 1,
        PermissionMode::Default => 2,
        PermissionMode::AcceptEdits => 3,
        PermissionMode::BypassPermissions => 4,
    }
}

/// The permissions of one agent, besides the shared rules.
#[derive(Clone)]
pub(super) struct AgentPermissions {
    pub grants: Grants,
    pub places: Arc<Places>,
    pub mode: ModePolicy,
    /// Call rules in the definitions of the agent and its ancestors.
    pub bounds: Arc<Vec<BoundRules>>,
}

impl AgentPermissions {
    /// Creates the main agent's permissions, in these places.
    pub fn new(places: Arc<Places>) -> Self {
        Self {
            grants: Grants::default(),
            places,
            mode: ModePolicy::default(),
            bounds: Arc::default(),
        }
    }
}

/// The rights that a sub-agent gets from its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InheritedPermissions {
    /// Whether the parent's grants, now and later, apply to it.
    pub shares_grants: bool,
    pub mode: ModePolicy,
    pub bounds: ToolBounds,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_a_definition_only_narrows_the_mode_and_below_it_stays_narrow() {
        let plan = ModePolicy::AtMost(PermissionMode::Plan);
        assert_eq!(plan.resolve(PermissionMode::BypassPermissions), PermissionMode::Plan);
        let free = ModePolicy::AtMost(PermissionMode::BypassPermissions);
        assert_eq!(free.resolve(PermissionMode::Default), PermissionMode::Default);
        assert_eq!(
            free.resolve(PermissionMode::Plan),
            PermissionMode::Plan,
            "a change of the session's mode counts"
        );
        assert_eq!(plan.combine(free).resolve(PermissionMode::Default), PermissionMode::Plan);
        assert_eq!(plan.combine(ModePolicy::Session), plan);
        assert_eq!(
            ModePolicy::Own(PermissionMode::AcceptEdits).resolve(PermissionMode::Plan),
            PermissionMode::AcceptEdits
        );
    }
}
