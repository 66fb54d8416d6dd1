//! Reserves money for a request before it is sent, so that concurrent agents cannot spend the same
//! dollar twice.

use parking_lot::MutexGuard;

use super::account::{Budget, BudgetLedger};
use super::limits::{BudgetExhausted, ROUNDING_USD, usd_exhausted};
use crate::protocol::{Cost, Usage};

/// The estimated cost of a request, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The cost of its input.
    pub input: f64,
    /// The cost of an answer of ordinary length. [`Reservation::reserve_for`] reserves more as a longer
    /// one comes.
    pub output: f64,
}

/// Money reserved in an account and in all above it. Dropping it releases what was not spent.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    /// US dollars.
    grant: f64,
    open: bool,
}

impl Budget {
    /// Reserves what a request may cost, in this account and all above it at once.
    ///
    /// If an account lacks room for all of it, it grants what is left, provided that this pays for
    /// the input and no other request is running there: a budget is used to its end, but only by
    /// one request at a time. While other requests hold the rest, this waits for one of them to
    /// settle, since reserved money may not be spent after all.
    ///
    /// # The states of a request for money
    /// - *queued*: it waits for those before it, account by account from the leaf to the root.
    ///   Small requests cannot overtake a large one forever, and one that waits at a narrow account
    ///   blocks none beside it.
    /// - *at the head*: the account has unspent money for it, but other requests hold it. Each of
    ///   them settles without this one, because nothing reserved waits for money or for a place in
    ///   the queue.
    /// - *granted*: reserved everywhere; it leaves all queues. Settling or dropping the
    ///   [`Reservation`] wakes the requests at the heads.
    /// - *refused*: the unspent money cannot pay for its input, whatever the others settle at.
    ///
    /// Dropping the future leaves all queues, in any state.
    ///
    /// # The bound
    /// Spending exceeds a cap by no more than this for each request running when it is reached: the
    /// cost of its reported usage beyond what could be seen, that is input beyond the estimate, one
    /// piece of the stream, and output tokens beyond one per four characters, up to the request's
    /// `max_tokens`. If the estimates hold, that is the price of one piece of one stream.
    ///
    /// # Errors
    /// Names the limit that is used up.
    pub async fn reserve(&self, estimate: Estimate) -> Result<Reservation, BudgetExhausted> {
        let mut turns = Vec::new();
        for account in self.chain() {
            let Some(limit) = account.0.limits.usd else { continue };
            turns.push(account.0.queue.lock().await);
            self.retry_on_settle(|| account.lock().grant(limit, estimate, estimate.sum())).await?;
        }
        self.retry_on_settle(|| self.try_reserve(estimate)).await
    }

    /// Checks that there is money for a request, whatever those that run settle at.
    ///
    /// # Errors
    /// Names the limit that is used up: [`Self::reserve`] would refuse the request.
    pub fn check(&self, estimate: Estimate) -> Result<(), BudgetExhausted> {
        for account in self.chain() {
            if let Some(limit) = account.0.limits.usd {
                account.lock().grant(limit, estimate, estimate.sum())?;
            }
        }
        Ok(())
    }

    /// Reserves the money now. `None` while other requests hold too much of it.
    pub(super) fn try_reserve(
        &self,
        estimate: Estimate,
    ) -> Result<Option<Reservation>, BudgetExhausted> {
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

    /// Tries now, and again after each request of the tree settles.
    async fn retry_on_settle<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Option<T>, BudgetExhausted>,
    ) -> Result<T, BudgetExhausted> {
        loop {
            // Before the attempt, so that one that settles right after it is not missed.
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

impl BudgetLedger {
    /// The part of `wanted` that a dollar limit has room for. `None` while other requests hold too
    /// much of it.
    fn grant(
        &self,
        limit: f64,
        estimate: Estimate,
        wanted: f64,
    ) -> Result<Option<f64>, BudgetExhausted> {
        let left = self.unreserved(limit);
        if left + ROUNDING_USD >= wanted {
            return Ok(Some(wanted));
        }
        let unspent = self.unspent(limit);
        if unspent <= ROUNDING_USD || unspent + ROUNDING_USD < estimate.input {
            return Err(usd_exhausted(limit));
        }
        Ok((self.reservations == 0).then_some(left))
    }
}

impl Reservation {
    /// Raises the reservation to `usd` dollars if it is lower and there is room.
    ///
    /// # Errors
    /// Names the limit that has no room: the request must end.
    pub fn reserve_for(&mut self, usd: f64) -> Result<(), BudgetExhausted> {
        let more = usd - self.grant;
        if more <= ROUNDING_USD {
            return Ok(());
        }
        let accounts: Vec<&Budget> = self.budget.chain().collect();
        let mut ledgers: Vec<MutexGuard<'_, BudgetLedger>> =
            accounts.iter().map(|account| account.lock()).collect();
        for (account, ledger) in accounts.iter().zip(&ledgers) {
            if let Some(limit) = account.0.limits.usd
                && ledger.unreserved(limit) + ROUNDING_USD < more
            {
                return Err(usd_exhausted(limit));
            }
        }
        for ledger in &mut ledgers {
            ledger.reserved += more;
        }
        self.grant = usd;
        Ok(())
    }

    /// Books the actual cost of the request in place of the reservation.
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
            // Rounding errors must not add up.
            ledger.reserved =
                if ledger.reservations == 0 { 0.0 } else { ledger.reserved - self.grant };
            ledger.record(usage, cost);
        }
        self.budget.root().0.settled.notify_waiters();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.close(Usage::default(), Cost::default());
    }
}
