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

/// The mode that the user has chosen for one agent at the end of its plan mode, with the number of
/// changes of the session's mode before that. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct AfterPlan(Arc<Mutex<Option<(PermissionMode, u64)>>>);

impl AfterPlan {
    pub fn set(&self, mode: PermissionMode, changes: u64) {
        *self.0.lock() = Some((mode, changes));
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
    /// Whether it follows the session's mode.
    pub fn is_of_session(self) -> bool {
        !matches!(self, Self::Own(_))
    }

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
    pub after_plan: AfterPlan,
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
            after_plan: AfterPlan::default(),
            bounds: Arc::default(),
        }
    }

    /// The mode, given the session's and how often that has changed. A mode that the user has chosen
    /// after a plan replaces plan mode until the next change.
    pub fn mode(&self, session: PermissionMode, changes: u64) -> PermissionMode {
        let mode = self.mode.resolve(session);
        match *self.after_plan.0.lock() {
            Some((chosen, at)) if mode == PermissionMode::Plan && at == changes => match session {
                PermissionMode::DontAsk => session,
                _ => chosen,
            },
            _ => mode,
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
    fn a_mode_after_a_plan_replaces_only_plan_mode_and_only_until_the_next_change() {
        let mode = |policy, session, changes| {
            let agent = AgentPermissions { mode: policy, ..AgentPermissions::new(Arc::default()) };
            agent.after_plan.set(PermissionMode::AcceptEdits, 3);
            agent.mode(session, changes)
        };
        let plan = ModePolicy::AtMost(PermissionMode::Plan);
        assert_eq!(mode(ModePolicy::Session, PermissionMode::Plan, 3), PermissionMode::AcceptEdits);
        assert_eq!(mode(plan, PermissionMode::Plan, 3), PermissionMode::AcceptEdits);
        assert_eq!(mode(plan, PermissionMode::Default, 3), PermissionMode::AcceptEdits);
        assert_eq!(mode(plan, PermissionMode::DontAsk, 3), PermissionMode::DontAsk);
        assert_eq!(mode(ModePolicy::Session, PermissionMode::Plan, 4), PermissionMode::Plan);
        assert_eq!(mode(plan, PermissionMode::Default, 4), PermissionMode::Plan);
        let own = ModePolicy::Own(PermissionMode::Default);
        assert_eq!(mode(own, PermissionMode::Plan, 3), PermissionMode::Default);
    }

    #[test]
    fn a_definition_only_narrows_the_mode_and_below_it_stays_narrow() {
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
