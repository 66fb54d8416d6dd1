//! Time limits: a clock that is paused while the user is asked.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The clock of one account. It runs from its creation.
#[derive(Debug)]
pub(super) struct Clock {
    limit: Option<Duration>,
    state: watch::Sender<ClockState>,
}

/// The state of a clock.
#[derive(Clone, Copy, Debug)]
struct ClockState {
    /// The time it had run before it was last paused or resumed.
    ran: Duration,
    /// When it was last paused or resumed.
    since: Instant,
    /// The number of pauses not resumed yet.
    pauses: u32,
}

impl Clock {
    pub fn start(limit: Option<Duration>) -> Self {
        let face = ClockState { ran: Duration::ZERO, since: Instant::now(), pauses: 0 };
        Self { limit, state: watch::Sender::new(face) }
    }

    /// Restarts from zero.
    pub fn restart(&self) {
        self.state.send_modify(|face| {
            face.ran = Duration::ZERO;
            face.since = Instant::now();
        });
    }

    pub fn pause(&self) {
        self.state.send_modify(|face| face.pause(Instant::now()));
    }

    pub fn resume(&self) {
        self.state.send_modify(|face| face.resume(Instant::now()));
    }

    /// The limit, and the rest of it.
    pub fn left(&self) -> Option<(Duration, Duration)> {
        let limit = self.limit?;
        Some((limit, limit.saturating_sub(self.state.borrow().elapsed(Instant::now()))))
    }

    /// Waits until the time is over; returns the limit. Waits forever when there is none.
    pub async fn expired(&self) -> Duration {
        match self.limit {
            Some(limit) => {
                self.reach(limit).await;
                limit
            }
            None => std::future::pending().await,
        }
    }

    /// Waits until it has run for `time` longer.
    pub async fn sleep(&self, time: Duration) {
        let now = self.state.borrow().elapsed(Instant::now());
        self.reach(now + time).await;
    }

    /// Waits until it shows this time.
    async fn reach(&self, time: Duration) {
        let mut face = self.state.subscribe();
        loop {
            let left = time.saturating_sub(self.state.borrow().elapsed(Instant::now()));
            if left.is_zero() {
                return;
            }
            // It may be paused in the meantime: then this looks again once it is resumed. It never
            // runs faster than real time, so the rest cannot be over sooner.
            tokio::time::sleep(left).await;
            // Whoever can resume it still exists, because it holds this clock.
            let _ = face.wait_for(|face| face.pauses == 0).await;
        }
    }
}

impl ClockState {
    fn elapsed(&self, now: Instant) -> Duration {
        match self.pauses {
            0 => self.ran + now.saturating_duration_since(self.since),
            _ => self.ran,
        }
    }

    fn pause(&mut self, now: Instant) {
        (self.ran, self.since) = (self.elapsed(now), now);
        self.pauses += 1;
    }

    fn resume(&mut self, now: Instant) {
        (self.ran, self.since) = (self.elapsed(now), now);
        self.pauses = self.pauses.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_stands_still_as_long_as_anyone_is_asked() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut face = ClockState { ran: Duration::ZERO, since: start, pauses: 0 };
        face.pause(at(3));
        face.pause(at(5));
        face.resume(at(100));
        assert_eq!(face.elapsed(at(200)), Duration::from_secs(3), "one question is still open");
        face.resume(at(300));
        assert_eq!(face.elapsed(at(304)), Duration::from_secs(7));
    }

    #[tokio::test]
    async fn a_stopped_clock_does_not_run_out_and_goes_on_where_it_stood() {
        let limit = Duration::from_millis(20);
        let clock = Clock::start(Some(limit));
        clock.pause();
        let mut end = Box::pin(clock.expired());
        let waited = tokio::time::timeout(limit * 3, &mut end).await;
        assert!(waited.is_err(), "it stood still");
        clock.resume();
        assert_eq!(end.await, limit);
        assert_eq!(clock.left(), Some((limit, Duration::ZERO)));
    }
}
