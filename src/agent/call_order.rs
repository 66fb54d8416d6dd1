//! The order of the calls of one message: they run side by side, but one that changes files waits for
//! those before it, and those after it wait for it. So a command that tests a change runs on the
//! changed file. Sub-agents wait for nothing and nothing waits for them.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::protocol::Access;

/// The calls of one message so far.
#[derive(Debug, Default)]
pub(super) struct CallOrder(Mutex<Vec<PlacedCall>>);

/// A call that keeps its place.
#[derive(Debug)]
struct PlacedCall {
    changes_files: bool,
    /// Cancelled at its end.
    ended: CancellationToken,
}

/// The place of a call in its message, held until the call has ended.
#[derive(Debug)]
pub(super) struct CallPlace {
    /// The ends of the calls to wait for.
    before: Vec<CancellationToken>,
    _end: Option<DropGuard>,
}

impl CallOrder {
    /// Takes the next place, for a call that touches this. The calls of a message must do so in their
    /// order.
    pub fn place(&self, access: &Access) -> CallPlace {
        if matches!(access, Access::Agent { .. }) {
            return CallPlace { before: Vec::new(), _end: None };
        }
        let changes_files = matches!(access, Access::Write { .. });
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = calls.iter().filter(|call| changes_files || call.changes_files);
        let before = before.map(|call| call.ended.clone()).collect();
        let ended = CancellationToken::new();
        calls.push(PlacedCall { changes_files, ended: ended.clone() });
        CallPlace { before, _end: Some(ended.drop_guard()) }
    }
}

impl CallPlace {
    /// Waits until it is this call's turn.
    pub async fn turn(&self) {
        for call in &self.before {
            call.cancelled().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_change_waits_for_all_calls_before_it_and_those_after_it_wait_for_it() {
        let (write, read) = (Access::Write { paths: vec![] }, Access::Read { paths: vec![] });
        let command = Access::Command { line: "make".to_owned(), cwd: "/".into() };
        let agent = Access::Agent { name: "explore".to_owned() };
        let order = CallOrder::default();
        let all = [&command, &read, &agent, &write, &command, &read, &agent, &write];
        let mut places: Vec<_> = all.map(|access| Some(order.place(access))).into();
        let ready = |places: &[Option<CallPlace>]| -> Vec<usize> {
            let is_ready = |place: &CallPlace| place.turn().now_or_never().is_some();
            let places = places.iter().enumerate();
            places
                .filter_map(|(at, it)| it.as_ref().filter(|it| is_ready(it)).map(|_| at))
                .collect()
        };
        assert_eq!(ready(&places), [0, 1, 2, 6]);
        places[0] = None;
        assert_eq!(ready(&places), [1, 2, 6]);
        places[1] = None;
        assert_eq!(ready(&places), [2, 3, 6]);
        places[3] = None;
        assert_eq!(ready(&places), [2, 4, 5, 6]);
        (places[4], places[5]) = (None, None);
        assert_eq!(ready(&places), [2, 6, 7]);
    }
}
