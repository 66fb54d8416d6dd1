//! What one agent stands on besides the rules that all share: its grants, its folders, and how its
//! mode follows from the session's.

use std::sync::{Arc, Mutex, PoisonError};

use super::bounds::{Bound, Bounds};
use super::path::Places;
use super::rule::Rule;
use crate::protocol::Mode;

/// Allow rules of one agent. Clones are the same grants.
#[derive(Clone, Default)]
pub(super) struct Grants(Arc<Mutex<Arc<Vec<Rule>>>>);

impl Grants {
    pub fn get(&self) -> Arc<Vec<Rule>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn add(&self, rules: Vec<Rule>) {
        let mut grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut grants).extend(rules);
    }
}

/// How an agent's mode follows from the session's, which may change at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModeOf {
    /// It is the session's.
    #[default]
    Session,
    /// It is the session's, but never freer than this.
    AtMost(Mode),
    /// It is this, whatever the session's is.
    Own(Mode),
}

impl ModeOf {
    /// The mode that counts.
    #[must_use]
    pub fn given(self, session: Mode) -> Mode {
        match self {
            Self::Session => session,
            Self::AtMost(most) => narrower(most, session),
            Self::Own(own) => own,
        }
    }

    /// For an agent below: both limits hold.
    #[must_use]
    pub fn and(self, below: Self) -> Self {
        match (self, below) {
            (above, Self::Session) => above,
            (_, Self::Own(own)) => Self::Own(own),
            (Self::Session, below) => below,
            (Self::AtMost(one), Self::AtMost(other)) => Self::AtMost(narrower(one, other)),
            (Self::Own(own), Self::AtMost(most)) => Self::Own(narrower(own, most)),
        }
    }
}

fn narrower(one: Mode, other: Mode) -> Mode {
    if freedom(one) <= freedom(other) { one } else { other }
}

fn freedom(mode: Mode) -> u8 {
    match mode {
        Mode::Plan => 0,
        Mode::DontAsk => 1,
        Mode::Default => 2,
        Mode::AcceptEdits => 3,
        Mode::BypassPermissions => 4,
    }
}

/// What the calls of one agent are judged by, beside the rules.
#[derive(Clone)]
pub(super) struct Standing {
    pub grants: Grants,
    pub places: Arc<Places>,
    pub mode: ModeOf,
    /// Rules for single calls in the definitions of the agent and of those above it.
    pub bounds: Arc<Vec<Bound>>,
}

impl Standing {
    /// Main's, in these places.
    pub fn new(places: Arc<Places>) -> Self {
        Self { grants: Grants::default(), places, mode: ModeOf::default(), bounds: Arc::default() }
    }
}

/// What a sub-agent has of its parent's rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Whether the parent's grants, now and later, are its own.
    pub shares_grants: bool,
    pub mode: ModeOf,
    pub bounds: Bounds,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_a_definition_only_narrows_the_mode_and_below_it_stays_narrow() {
        let plan = ModeOf::AtMost(Mode::Plan);
        assert_eq!(plan.given(Mode::BypassPermissions), Mode::Plan);
        let free = ModeOf::AtMost(Mode::BypassPermissions);
        assert_eq!(free.given(Mode::Default), Mode::Default);
        assert_eq!(free.given(Mode::Plan), Mode::Plan, "a change of the session's mode counts");
        assert_eq!(plan.and(free).given(Mode::Default), Mode::Plan);
        assert_eq!(plan.and(ModeOf::Session), plan);
        assert_eq!(ModeOf::Own(Mode::AcceptEdits).given(Mode::Plan), Mode::AcceptEdits);
    }
}
