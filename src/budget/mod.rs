//! One ledger of what agents may use: an account per agent, each hung on its parent's, so that the
//! whole tree is under one cap. Money and tokens are counted up the chain, turns and tool calls for
//! the agent alone.
//!
//! Money is set aside before a request and settled after it ([`Budget::reserve`]); a request waits
//! while others hold what it needs. Tokens are compared, before a request, with what was reported
//! so far. Each account has a clock, which stands still while a person is asked.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::select_all;
use tokio::sync::Notify;

use crate::protocol::{Cost, Usage};

mod clock;
mod limits;
mod reserve;
#[cfg(test)]
mod tests;

use clock::Clock;
pub use limits::Limits;
use reserve::DUST;
pub use reserve::{Estimate, Reservation};

/// A handle to an account. Clones are the same account.
#[derive(Clone)]
pub struct Budget(Arc<Account>);

struct Account {
    above: Option<Budget>,
    /// Whether the account above is the same agent's.
    of_run: bool,
    limits: Limits,
    ledger: Mutex<Ledger>,
    clock: Clock,
    /// The limit of a call that ended the time of this account.
    expired: OnceLock<Duration>,
    /// Requests that wait for this account's money stand in this line, first come, first served.
    line: tokio::sync::Mutex<()>,
    /// Of the root: wakes those that wait for a reservation to settle.
    settled: Notify,
}

#[derive(Debug, Default)]
struct Ledger {
    spent: Spent,
    /// US dollars set aside for requests under way, and how many these are.
    reserved: f64,
    reservations: u32,
    turns: u32,
    tool_calls: u32,
}

/// What an agent and all below it have used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub usage: Usage,
    pub cost: Cost,
}

/// A limit that has nothing left. `what` names it: `$1.00`, `50000 tokens`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget of {what} is used up")]
pub struct UsedUp {
    pub what: String,
}

/// Holds the clocks of an account and of all above it. They go on when it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Pause(Budget);

impl Budget {
    /// The account of a whole tree.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::open(None, false, limits)
    }

    /// The account of an agent below this one: what it spends, this one spends too.
    #[must_use]
    pub fn child(&self, limits: Limits) -> Self {
        Self::open(Some(self.clone()), false, limits)
    }

    /// The account of one run of the same agent: its turns and tool calls are this account's as well.
    #[must_use]
    pub fn for_run(&self, limits: Limits) -> Self {
        Self::open(Some(self.clone()), true, limits)
    }

    /// The account of the agent whose run this account is: for what goes on after the run.
    #[must_use]
    pub fn of_agent(&self) -> &Self {
        self.own().last().unwrap_or(self)
    }

    fn open(above: Option<Self>, of_run: bool, limits: Limits) -> Self {
        let clock = Clock::start(limits.wall);
        Self(Arc::new(Account {
            above,
            of_run,
            limits,
            ledger: Mutex::default(),
            clock,
            expired: OnceLock::new(),
            line: tokio::sync::Mutex::default(),
            settled: Notify::new(),
        }))
    }

    /// Books what was spent without a reservation, such as by the earlier runs of a session.
    pub fn charge(&self, usage: Usage, cost: Cost) {
        for account in self.chain() {
            account.lock().book(usage, cost);
        }
    }

    /// Whether there is a limit in dollars, here or above: then a model without a price must not be asked.
    #[must_use]
    pub fn caps_money(&self) -> bool {
        self.chain().any(|account| account.0.limits.usd.is_some())
    }

    /// Names the limit that lets no further request go out; `None` while there is something left.
    #[must_use]
    pub fn used_up(&self) -> Option<String> {
        let shared = self.chain().find_map(|account| {
            let Limits { usd, tokens, .. } = account.0.limits;
            let Spent { usage, cost } = account.spent();
            let money = usd.filter(|limit| cost.usd + DUST >= *limit).map(limits::dollars);
            let spent = tokens.filter(|limit| usage.counted() >= *limit);
            money.or_else(|| spent.map(|limit| limits::count(limit, "token")))
        });
        let own = || {
            self.own().find_map(|account| {
                let limit = account.0.limits.turns?;
                (account.lock().turns >= limit).then(|| limits::count(limit.into(), "turn"))
            })
        };
        shared.or_else(own).map(|used_up| used_up.what)
    }

    /// Sets the clock of this account alone to nothing: its time begins now.
    pub fn begin(&self) {
        self.0.clock.restart();
    }

    /// Takes back a count: the request was refused, and is made again.
    pub fn uncount_turn(&self) {
        for account in self.own() {
            let mut account = account.lock();
            account.turns = account.turns.saturating_sub(1);
        }
    }

    /// Counts a request of this agent. A repetition after a failure is none.
    pub fn count_turn(&self) {
        for account in self.own() {
            account.lock().turns += 1;
        }
    }

    /// How many requests this agent may still make.
    #[must_use]
    pub fn turns_left(&self) -> Option<u32> {
        let left =
            |account: &Self| Some(account.0.limits.turns?.saturating_sub(account.lock().turns));
        self.own().filter_map(left).min()
    }

    /// Counts tool calls of this agent: as many of these as there is room for. Names the limit when
    /// some do not fit.
    pub fn take_tool_calls(&self, wanted: usize) -> (usize, Option<UsedUp>) {
        let left = self.tool_calls_left();
        let fit = left.map_or(wanted, |(left, _)| wanted.min(left as usize));
        let count = u32::try_from(fit).unwrap_or(u32::MAX);
        for account in self.own() {
            let mut ledger = account.lock();
            ledger.tool_calls = ledger.tool_calls.saturating_add(count);
        }
        let short = left.filter(|_| fit < wanted);
        (fit, short.map(|(_, limit)| limits::count(limit.into(), "tool call")))
    }

    /// Names the limit when this agent may call no tool any more.
    #[must_use]
    pub fn no_tool_calls_left(&self) -> Option<UsedUp> {
        let (left, limit) = self.tool_calls_left()?;
        (left == 0).then(|| limits::count(limit.into(), "tool call"))
    }

    /// The tool calls left and the limit that says so.
    fn tool_calls_left(&self) -> Option<(u32, u32)> {
        let left = |account: &Self| {
            let limit = account.0.limits.tool_calls?;
            Some((limit.saturating_sub(account.lock().tool_calls), limit))
        };
        self.own().filter_map(left).min()
    }

    /// Waits until the time of this account or of one above is over; answers with that limit.
    pub async fn out_of_time(&self) -> Duration {
        let timed = self.chain().filter(|account| account.0.limits.wall.is_some());
        let clocks: Vec<_> = timed.map(|account| Box::pin(account.0.clock.run_out())).collect();
        if clocks.is_empty() {
            return std::future::pending().await;
        }
        select_all(clocks).await.0
    }

    /// Waits until so much time has passed, without what a person took to answer questions of this
    /// agent or of one below it.
    pub async fn passes(&self, time: Duration) {
        self.0.clock.runs_for(time).await;
    }

    /// Ends the time of this account: a limit of the call that waits for its agent was reached. It
    /// wakes nobody, and the first one counts.
    pub fn expire(&self, limit: Duration) {
        self.0.expired.get_or_init(|| limit);
    }

    /// The time limit, here or above, that is over.
    #[must_use]
    pub fn time_up(&self) -> Option<Duration> {
        self.chain().find_map(|Self(account)| {
            let over = || account.clock.left().filter(|(_, left)| left.is_zero());
            account.expired.get().copied().or_else(|| over().map(|(limit, _)| limit))
        })
    }

    /// Stops the clocks of this account and of all above it, while a person is asked.
    pub fn pause(&self) -> Pause {
        for account in self.chain() {
            account.0.clock.pause();
        }
        Pause(self.clone())
    }

    /// Returns the rest of each limit, by the strictest here and above. Money that is reserved
    /// counts: it may not be spent after all.
    #[must_use]
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

    /// What was used so far, by this agent and all below it.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.lock().spent
    }

    /// The limits of this account alone.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// This account and all above it, up to the root.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| budget.0.above.as_ref())
    }

    /// The account of the whole tree.
    fn root(&self) -> &Self {
        self.chain().last().unwrap_or(self)
    }

    /// This account and those above it that are of the same agent.
    fn own(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |budget| {
            budget.0.above.as_ref().filter(|_| budget.0.of_run)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// What is left of a limit in dollars, without what is set aside.
    fn left(&self, limit: f64) -> f64 {
        (self.unspent(limit) - self.reserved).max(0.0)
    }

    /// What is left of it with what is set aside.
    fn unspent(&self, limit: f64) -> f64 {
        limit - self.spent.cost.usd
    }

    fn book(&mut self, usage: Usage, cost: Cost) {
        self.spent.usage += usage;
        self.spent.cost += cost;
    }
}

impl Drop for Pause {
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
