//! Money set aside for a request before it is sent, so that agents side by side cannot spend the
//! same dollar twice.

use std::sync::MutexGuard;

use super::limits::dollars;
use super::{Budget, Ledger, UsedUp};
use crate::protocol::{Cost, Usage};

/// What sums of floating-point prices may be off by: less than any token costs. US dollars.
pub(super) const DUST: f64 = 1e-9;

/// What a request may cost, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Its input.
    pub input: f64,
    /// An answer of ordinary length. [`Reservation::cover`] sets more aside as a longer one comes.
    pub output: f64,
}

/// Money set aside in an account and in all above it. Dropping it gives back what was not spent.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    /// US dollars.
    grant: f64,
    open: bool,
}

impl Budget {
    /// Sets aside what a request may cost, in this account and all above at once.
    ///
    /// An account without room for all of it lends what is left, if that pays for the input and no
    /// other request is under way there: a budget is used to its end, and only by one request at a
    /// time. While other requests hold the rest, this waits for one of them to settle: money that
    /// is reserved may not be spent after all.
    ///
    /// # The states of a request for money
    /// - *in line*: it waits for those before it, account by account from the leaf to the root. A
    ///   large request cannot be overtaken for ever by small ones, and one that waits at a narrow
    ///   account holds up nobody beside it.
    /// - *at the head*: the account has unspent money for it, but other requests hold it. Each of
    ///   them settles without this one, because nothing that is set aside waits for money or for a
    ///   turn in line.
    /// - *granted*: set aside everywhere; it leaves all lines. Settling or dropping the
    ///   [`Reservation`] wakes those at the heads.
    /// - *refused*: what is not spent cannot pay for its input, whatever the others settle at.
    ///
    /// Dropping the future leaves all lines from any state.
    ///
    /// # The bound
    /// What is spent exceeds a cap by no more than, for each request under way when it is reached,
    /// what its reported usage costs beyond what could be seen: input beyond the estimate, one
    /// piece of the stream, and output tokens beyond one for four characters, up to the request's
    /// `max_tokens`. With estimates that hold, that is the price of one piece of one stream.
    ///
    /// # Errors
    /// Names the limit that is used up.
    pub async fn reserve(&self, estimate: Estimate) -> Result<Reservation, UsedUp> {
        let mut turns = Vec::new();
        for account in self.chain() {
            let Some(limit) = account.0.limits.usd else { continue };
            turns.push(account.0.line.lock().await);
            self.settled_until(|| account.lock().grant(limit, estimate, estimate.sum())).await?;
        }
        self.settled_until(|| self.try_reserve(estimate)).await
    }

    /// Sets the money aside now. `None` while other requests hold too much of it.
    pub(super) fn try_reserve(&self, estimate: Estimate) -> Result<Option<Reservation>, UsedUp> {
        let accounts: Vec<&Self> = self.chain().collect();
        // All are locked before one is looked at, always from the leaf to the root.
        let mut ledgers: Vec<_> = accounts.iter().map(|account| account.lock()).collect();
        let mut grant = estimate.sum();
        for (account, ledger) in accounts.iter().zip(&ledgers) {
            let Some(limit) = account.0.limits.usd else { continue };
            match ledger.grant(limit, estimate, grant)? {
                Some(granted) => grant = granted,
                None => return Ok(None),
            }
        }
        for ledger in &mut ledgers {
            ledger.reservations += 1;
            ledger.reserved += grant;
        }
        drop(ledgers);
        Ok(Some(Reservation { budget: self.clone(), grant, open: true }))
    }

    /// Tries at once, and again after each request of the tree that settles.
    async fn settled_until<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Option<T>, UsedUp>,
    ) -> Result<T, UsedUp> {
        loop {
            // Before the look, so that what settles right after it is not missed.
            let settled = self.root().0.settled.notified();
            match attempt()? {
                Some(done) => return Ok(done),
                None => settled.await,
            }
        }
    }
}

impl Estimate {
    fn sum(self) -> f64 {
        self.input + self.output
    }
}

impl Ledger {
    /// The part of `wanted` that a limit in dollars has room for. `None` while other requests hold
    /// too much of it.
    fn grant(&self, limit: f64, estimate: Estimate, wanted: f64) -> Result<Option<f64>, UsedUp> {
        let left = self.left(limit);
        if left + DUST >= wanted {
            return Ok(Some(wanted));
        }
        let unspent = self.unspent(limit);
        if unspent <= DUST || unspent + DUST < estimate.input {
            return Err(dollars(limit));
        }
        Ok((self.reservations == 0).then_some(left))
    }
}

impl Reservation {
    /// Sees to it that so many US dollars are set aside, more than before if there is room.
    ///
    /// # Errors
    /// Names the limit that has no room: the request must end.
    pub fn cover(&mut self, usd: f64) -> Result<(), UsedUp> {
        let more = usd - self.grant;
        if more <= DUST {
            return Ok(());
        }
        let accounts: Vec<&Budget> = self.budget.chain().collect();
        let mut ledgers: Vec<MutexGuard<'_, Ledger>> =
            accounts.iter().map(|account| account.lock()).collect();
        for (account, ledger) in accounts.iter().zip(&ledgers) {
            if let Some(limit) = account.0.limits.usd
                && ledger.left(limit) + DUST < more
            {
                return Err(dollars(limit));
            }
        }
        for ledger in &mut ledgers {
            ledger.reserved += more;
        }
        self.grant = usd;
        Ok(())
    }

    /// Books what the request came to, in place of what was set aside for it.
    pub fn settle(mut self, usage: Usage, cost: Cost) {
        self.close(usage, cost);
    }

    fn close(&mut self, usage: Usage, cost: Cost) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        for account in self.budget.chain() {
            let mut ledger = account.lock();
            ledger.reservations -= 1;
            // What rounding leaves must not add up.
            ledger.reserved =
                if ledger.reservations == 0 { 0.0 } else { ledger.reserved - self.grant };
            ledger.book(usage, cost);
        }
        self.budget.root().0.settled.notify_waiters();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.close(Usage::default(), Cost::default());
    }
}
