//! Decides when a failed request is repeated on the same model.

use std::time::Duration;

use super::error::ProviderError;

const FIRST_DELAY: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(8);
/// If a server asks for a longer wait than this, the run fails now instead of hanging.
pub(super) const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

/// How often, and after what wait, to retry a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    pub max_retries: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: 8 }
    }
}

impl RetryPolicy {
    /// Returns the wait before retry number `attempt` (the first is 1); `None` to give up.
    pub fn next(&self, attempt: u32, error: &ProviderError) -> Option<Duration> {
        if attempt > self.max_retries || !error.is_retryable() {
            return None;
        }
        match error.retry_after {
            Some(wait) if wait > MAX_RETRY_AFTER => None,
            Some(wait) if !wait.is_zero() => Some(wait),
            _ => Some(backoff(attempt)),
        }
    }
}

/// Doubles from [`FIRST_DELAY`] to [`MAX_DELAY`], minus up to a quarter so that agents do not all
/// retry at the same moment.
fn backoff(attempt: u32) -> Duration {
    // More doublings would overflow.
    let doublings = attempt.saturating_sub(1).min(16);
    let full = (FIRST_DELAY * 2_u32.pow(doublings)).min(MAX_DELAY);
    full.mul_f64(1.0 - 0.25 * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::super::error::ErrorKind;
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy { max_retries: 8 };

    fn error(kind: ErrorKind) -> ProviderError {
        ProviderError::new(kind, "failed")
    }

    #[test]
    fn waits_double_from_half_a_second_to_eight_with_a_quarter_of_jitter() {
        for (attempt, full) in [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0), (8, 8.0)] {
            for _ in 0..50 {
                let wait = POLICY.next(attempt, &error(ErrorKind::Overloaded)).unwrap();
                let seconds = wait.as_secs_f64();
                assert!(seconds <= full && seconds >= full * 0.75, "{attempt}: {seconds}");
            }
        }
    }

    #[test]
    fn repeats_end_at_the_limit() {
        let error = error(ErrorKind::Connection);
        assert!(POLICY.next(8, &error).is_some());
        assert_eq!(POLICY.next(9, &error), None);
        assert_eq!(RetryPolicy { max_retries: 0 }.next(1, &error), None);
        assert!(RetryPolicy { max_retries: u32::MAX }.next(u32::MAX, &error).is_some());
    }

    #[test]
    fn the_server_sets_the_wait_up_to_ten_minutes() {
        let asked = |seconds| ProviderError {
            retry_after: Some(Duration::from_secs(seconds)),
            ..error(ErrorKind::RateLimit)
        };
        assert_eq!(POLICY.next(1, &asked(2)), Some(Duration::from_secs(2)));
        assert_eq!(POLICY.next(7, &asked(600)), Some(Duration::from_secs(600)));
        assert_eq!(POLICY.next(1, &asked(601)), None);
        assert!(POLICY.next(1, &asked(0)).unwrap() >= Duration::from_millis(375));
    }

    #[test]
    fn only_what_may_pass_is_repeated_unless_the_server_says_otherwise() {
        use ErrorKind::{
            Auth, BadRequest, Billing, Connection, ContextFull, Overloaded, Protocol, RateLimit,
            Server, Timeout,
        };
        for kind in [RateLimit, Overloaded, Server, Timeout, Connection] {
            assert!(POLICY.next(1, &error(kind)).is_some(), "{kind:?}");
            let told = ProviderError { should_retry: Some(false), ..error(kind) };
            assert_eq!(POLICY.next(1, &told), None, "{kind:?}");
        }
        for kind in [Auth, Billing, ContextFull, BadRequest, Protocol] {
            assert_eq!(POLICY.next(1, &error(kind)), None, "{kind:?}");
            let told = ProviderError { should_retry: Some(true), ..error(kind) };
            assert!(POLICY.next(1, &told).is_some(), "{kind:?}");
        }
    }
}
