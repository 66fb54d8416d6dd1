//! Time limits: a clock that stands still while a person is asked.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The clock of one account. It runs from the moment at which it is made.
#[derive(Debug)]
pub(super) struct Clock {
    limit: Option<Duration>,
    face: watch::Sender<Face>,
}

/// What a clock shows.
#[derive(Clone, Copy, Debug)]
struct Face {
    /// The time before it was last stopped or set going.
    ran: Duration,
    /// When that was.
    since: Instant,
    /// How many have stopped it and not set it going again.
    pauses: u32,
}

impl Clock {
    pub fn start(limit: Option<Duration>) -> Self {
        let face = Face { ran: Duration::ZERO, since: Instant::now(), pauses: 0 };
        Self { limit, face: watch::Sender::new(face) }
    }

    /// Begins anew.
    pub fn restart(&self) {
        self.face.send_modify(|face| {
            face.ran = Duration::ZERO;
            face.since = Instant::now();
        });
    }

    pub fn pause(&self) {
        self.face.send_modify(|face| face.pause(Instant::now()));
    }

    pub fn resume(&self) {
        self.face.send_modify(|face| face.resume(Instant::now()));
    }

    /// The limit, and what is left of it.
    pub fn left(&self) -> Option<(Duration, Duration)> {
        let limit = self.limit?;
        Some((limit, limit.saturating_sub(self.face.borrow().shows(Instant::now()))))
    }

    /// Waits until the time is over; answers with the limit. For ever when there is none.
    pub async fn run_out(&self) -> Duration {
        match self.limit {
            Some(limit) => {
                self.shows(limit).await;
                limit
            }
            None => std::future::pending().await,
        }
    }

    /// Waits until it has run for so much longer.
    pub async fn runs_for(&self, time: Duration) {
        let now = self.face.borrow().shows(Instant::now());
        self.shows(now + time).await;
    }

    /// Waits until it shows this time.
    async fn shows(&self, time: Duration) {
        let mut face = self.face.subscribe();
        loop {
            let left = time.saturating_sub(self.face.borrow().shows(Instant::now()));
            if left.is_zero() {
                return;
            }
            // It may be stopped in the meantime: then it is looked at again when it goes on. It
            // never runs faster than time does, so that what was left cannot be over before.
            tokio::time::sleep(left).await;
            // Whoever can set it going is still there, because it holds this clock.
            let _ = face.wait_for(|face| face.pauses == 0).await;
        }
    }
}

impl Face {
    fn shows(&self, now: Instant) -> Duration {
        match self.pauses {
            0 => self.ran + now.saturating_duration_since(self.since),
            _ => self.ran,
        }
    }

    fn pause(&mut self, now: Instant) {
        (self.ran, self.since) = (self.shows(now), now);
        self.pauses += 1;
    }

    fn resume(&mut self, now: Instant) {
        (self.ran, self.since) = (self.shows(now), now);
        self.pauses = self.pauses.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t9_a_clock_stands_still_as_long_as_anyone_is_asked() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut face = Face { ran: Duration::ZERO, since: start, pauses: 0 };
        face.pause(at(3));
        face.pause(at(5));
        face.resume(at(100));
        assert_eq!(face.shows(at(200)), Duration::from_secs(3), "one question is still open");
        face.resume(at(300));
        assert_eq!(face.shows(at(304)), Duration::from_secs(7));
    }

    #[tokio::test]
    async fn a_stopped_clock_does_not_run_out_and_goes_on_where_it_stood() {
        let limit = Duration::from_millis(20);
        let clock = Clock::start(Some(limit));
        clock.pause();
        let mut end = Box::pin(clock.run_out());
        let waited = tokio::time::timeout(limit * 3, &mut end).await;
        assert!(waited.is_err(), "it stood still");
        clock.resume();
        assert_eq!(end.await, limit);
        assert_eq!(clock.left(), Some((limit, Duration::ZERO)));
    }
}
