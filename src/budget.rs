//! What agents may spend: one account per agent, each hung on its parent's, so that the whole tree is under one cap.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::protocol::{Cost, Usage};

/// A handle to an agent's account. Clones are the same account.
#[derive(Clone)]
pub struct Budget(Arc<Account>);

struct Account {
    above: Option<Budget>,
    limits: Limits,
    spent: Mutex<Spent>,
}

/// What an account may come to; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub turns: Option<u32>,
    pub tool_calls: Option<u32>,
    pub wall: Option<std::time::Duration>,
}

/// What an agent and all below it have used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub usage: Usage,
    pub cost: Cost,
}

impl Budget {
    /// The account of a whole tree.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Account { above: None, limits, spent: Mutex::default() }))
    }

    /// An account below this one: what it spends, this one spends too.
    #[must_use]
    pub fn child(&self, limits: Limits) -> Self {
        Self(Arc::new(Account { above: Some(self.clone()), limits, spent: Mutex::default() }))
    }

    /// Books one request here and on all accounts above.
    pub fn charge(&self, usage: Usage, cost: Cost) {
        for account in self.chain() {
            let mut spent = account.lock();
            spent.usage += usage;
            spent.cost += cost;
        }
    }

    /// Names the limit, here or above, that is used up; `None` while there is something left.
    #[must_use]
    pub fn used_up(&self) -> Option<String> {
        self.chain().find_map(|account| {
            let limit = account.0.limits.usd?;
            (account.spent().cost.usd >= limit).then(|| format!("${limit:.2}"))
        })
    }

    /// What was used so far, by this agent and all below it.
    #[must_use]
    pub fn spent(&self) -> Spent {
        *self.lock()
    }

    /// What is left.
    #[must_use]
    pub fn left(&self) -> Limits {
        self.0.limits
    }

    /// The limits of this account alone.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| budget.0.above.as_ref())
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        self.0.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("limits", &self.0.limits)
            .field("spent", &self.spent())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_spends_its_parents_money() {
        let tree = Budget::new(Limits { usd: Some(1.0), ..Limits::default() });
        let child = tree.child(Limits::default());
        child.charge(Usage { output_tokens: 7, ..Usage::default() }, Cost::known(0.4));
        assert_eq!((tree.spent().usage.output_tokens, child.used_up()), (7, None));
        tree.charge(Usage::default(), Cost::known(0.6));
        assert_eq!(child.used_up().as_deref(), Some("$1.00"));
    }
}
