//! The account of one agent, below its parent's.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::select_all;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::clock::Clock;
use super::limits::{BudgetExhausted, Limits, ROUNDING_USD, count_exhausted, usd_exhausted};
use crate::protocol::{Cost, Usage};

/// A handle to an account. Clones share it.
#[derive(Clone)]
pub struct Budget(pub(super) Arc<Account>);

pub(super) struct Account {
    parent: Option<Budget>,
    /// Whether the parent account belongs to the same agent.
    of_run: bool,
    pub limits: Limits,
    ledger: Mutex<BudgetLedger>,
    clock: Clock,
    /// The limit of a call that ended this account's time.
    expired: OnceLock<Duration>,
    /// The queue of requests that wait for this account's money, first come, first served.
    pub queue: tokio::sync::Mutex<()>,
    /// Used in the root: wakes requests that wait for a reservation to settle.
    pub settled: Notify,
}

#[derive(Debug, Default)]
pub(super) struct BudgetLedger {
    spent: Spending,
    /// US dollars reserved for running requests, and the number of these.
    pub reserved: f64,
    pub reservations: u32,
    turns: u32,
    tool_calls: u32,
}

/// The usage of an agent and all below it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    pub usage: Usage,
    pub cost: Cost,
}

/// Pauses the clocks of an account and of all above it until dropped.
#[derive(Debug)]
pub struct ClockPause(Budget);

impl Budget {
    /// Opens the account of a whole tree.
    pub fn new(limits: Limits) -> Self {
        Self::with_parent(None, false, limits)
    }

    /// Opens the account of an agent below this one: what it spends, this one spends too.
    pub fn child(&self, limits: Limits) -> Self {
        Self::with_parent(Some(self.clone()), false, limits)
    }

    /// Opens the account of one run of the same agent: its turns and tool calls count here too.
    pub fn for_run(&self, limits: Limits) -> Self {
        Self::with_parent(Some(self.clone()), true, limits)
    }

    /// The account of the agent whose run this account is, for work that continues after the run.
    pub fn agent_account(&self) -> &Self {
        self.agent_accounts().last().unwrap_or(self)
    }

    fn with_parent(above: Option<Self>, of_run: bool, limits: Limits) -> Self {
        let clock = Clock::start(limits.wall);
        Self(Arc::new(Account {
            parent: above,
            of_run,
            limits,
            ledger: Mutex::default(),
            clock,
            expired: OnceLock::new(),
            queue: tokio::sync::Mutex::default(),
            settled: Notify::new(),
        }))
    }

    /// Books spending without a reservation, such as that of earlier runs of a session.
    pub fn charge(&self, usage: Usage, cost: Cost) {
        for account in self.chain() {
            account.lock().record(usage, cost);
        }
    }

    /// Whether there is a dollar limit, here or above: then a model without a price must not be
    /// used.
    pub fn caps_money(&self) -> bool {
        self.chain().any(|account| account.0.limits.usd.is_some())
    }

    /// Names the limit that allows no further request; `None` while something is left, of which
    /// [`Budget::reserve`] may still refuse a part.
    pub fn used_up(&self) -> Option<String> {
        let shared = self.chain().find_map(|account| {
            let Limits { usd, tokens, .. } = account.0.limits;
            let Spending { usage, cost } = account.spent();
            let money = usd.filter(|limit| cost.usd + ROUNDING_USD >= *limit).map(usd_exhausted);
            let spent = tokens.filter(|limit| usage.counted() >= *limit);
            money.or_else(|| spent.map(|limit| count_exhausted(limit, "token")))
        });
        let own = || {
            self.agent_accounts().find_map(|account| {
                let limit = account.0.limits.turns?;
                (account.lock().turns >= limit).then(|| count_exhausted(limit.into(), "turn"))
            })
        };
        shared.or_else(own).map(|used_up| used_up.what)
    }

    /// Restarts the clock of this account alone: its time begins now.
    pub fn begin(&self) {
        self.0.clock.restart();
    }

    /// Takes back a count: the request was refused and is repeated.
    pub fn uncount_turn(&self) {
        for account in self.agent_accounts() {
            let mut account = account.lock();
            account.turns = account.turns.saturating_sub(1);
        }
    }

    /// Counts a request of this agent. Retries after a failure do not count.
    pub fn count_turn(&self) {
        for account in self.agent_accounts() {
            account.lock().turns += 1;
        }
    }

    /// How many requests this agent may still make.
    pub fn turns_left(&self) -> Option<u32> {
        let left =
            |account: &Self| Some(account.0.limits.turns?.saturating_sub(account.lock().turns));
        self.agent_accounts().filter_map(left).min()
    }

    /// Counts tool calls of this agent, as many of `wanted` as fit. Names the limit if some do not
    /// fit.
    pub fn take_tool_calls(&self, wanted: usize) -> (usize, Option<BudgetExhausted>) {
        let left = self.tool_calls_left();
        let fit = left.map_or(wanted, |(left, _)| wanted.min(left as usize));
        let count = u32::try_from(fit).unwrap_or(u32::MAX);
        for account in self.agent_accounts() {
            let mut ledger = account.lock();
            ledger.tool_calls = ledger.tool_calls.saturating_add(count);
        }
        let short = left.filter(|_| fit < wanted);
        (fit, short.map(|(_, limit)| count_exhausted(limit.into(), "tool call")))
    }

    /// Names the limit if this agent may not call tools any more.
    pub fn no_tool_calls_left(&self) -> Option<BudgetExhausted> {
        let (left, limit) = self.tool_calls_left()?;
        (left == 0).then(|| count_exhausted(limit.into(), "tool call"))
    }

    /// The tool calls left, and their limit.
    fn tool_calls_left(&self) -> Option<(u32, u32)> {
        let left = |account: &Self| {
            let limit = account.0.limits.tool_calls?;
            Some((limit.saturating_sub(account.lock().tool_calls), limit))
        };
        self.agent_accounts().filter_map(left).min()
    }

    /// Waits until the time of this account or of one above is over; returns that limit.
    pub async fn timed_out(&self) -> Duration {
        let timed = self.chain().filter(|account| account.0.limits.wall.is_some());
        let clocks: Vec<_> = timed.map(|account| Box::pin(account.0.clock.expired())).collect();
        if clocks.is_empty() {
            return std::future::pending().await;
        }
        select_all(clocks).await.0
    }

    /// Sleeps, not counting the time that the user took to answer questions of this agent or of one
    /// below it.
    pub async fn sleep(&self, time: Duration) {
        self.0.clock.sleep(time).await;
    }

    /// Ends the time of this account because the call that waits for its agent reached a limit.
    /// Wakes nothing, and the first limit counts.
    pub fn expire(&self, limit: Duration) {
        self.0.expired.get_or_init(|| limit);
    }

    /// The time limit, here or above, that is over.
    pub fn time_up(&self) -> Option<Duration> {
        self.chain().find_map(|Self(account)| {
            let over = || account.clock.left().filter(|(_, left)| left.is_zero());
            account.expired.get().copied().or_else(|| over().map(|(limit, _)| limit))
        })
    }

    /// Pauses the clocks of this account and of all above it while the user is asked.
    pub fn pause(&self) -> ClockPause {
        for account in self.chain() {
            account.0.clock.pause();
        }
        ClockPause(self.clone())
    }

    /// Returns the rest of each limit, by the strictest here and above. Reserved money counts as
    /// left: it may not be spent after all.
    pub fn left(&self) -> Limits {
        let shared = self.chain().fold(Limits::default(), |least, account| {
            let limits = account.0.limits;
            let ledger = account.lock();
            let counted = ledger.spent.usage.counted();
            least.min(Limits {
                usd: limits.usd.map(|limit| ledger.unspent(limit).max(0.0)),
                tokens: limits.tokens.map(|limit| limit.saturating_sub(counted)),
                wall: account.0.clock.left().map(|(_, left)| left),
                ..Limits::default()
            })
        });
        let tool_calls = self.tool_calls_left().map(|(left, _)| left);
        Limits { turns: self.turns_left(), tool_calls, ..shared }
    }

    /// The usage so far of this agent and all below it.
    pub fn spent(&self) -> Spending {
        self.lock().spent
    }

    /// The limits of this account alone.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// This account and all above it, up to the root.
    pub(super) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| budget.0.parent.as_ref())
    }

    /// The account of the whole tree.
    pub(super) fn root(&self) -> &Self {
        self.chain().last().unwrap_or(self)
    }

    /// This account and those above it of the same agent.
    fn agent_accounts(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| {
            budget.0.parent.as_ref().filter(|_| budget.0.of_run)
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BudgetLedger> {
        self.0.ledger.lock()
    }
}

impl BudgetLedger {
    /// The rest of a dollar limit, excluding reserved money.
    pub(super) fn unreserved(&self, limit: f64) -> f64 {
        (self.unspent(limit) - self.reserved).max(0.0)
    }

    /// The rest of a dollar limit, including reserved money.
    pub(super) fn unspent(&self, limit: f64) -> f64 {
        limit - self.spent.cost.usd
    }

    pub(super) fn record(&mut self, usage: Usage, cost: Cost) {
        self.spent.usage += usage;
        self.spent.cost += cost;
    }
}

impl Drop for ClockPause {
    fn drop(&mut self) {
        for account in self.0.chain() {
            account.0.clock.resume();
        }
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
