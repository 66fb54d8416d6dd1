//! Reads many sessions on several threads: most of the time goes into opening their files.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

use crate::protocol::SessionId;

/// The most threads.
const MAX_THREADS: usize = 4;

/// Returns what `read` makes of each session, without those of which it makes nothing, in no
/// certain order.
pub fn read_each<T: Send>(
    ids: &[SessionId],
    read: impl Fn(SessionId) -> Option<T> + Sync,
) -> Vec<T> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        let mut own = Vec::new();
        while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
            own.extend(read(*id));
        }
        all.lock().append(&mut own);
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    thread::scope(|scope| {
        for _ in 1..threads.min(ids.len()) {
            scope.spawn(work);
        }
        work();
    });
    all.into_inner()
}
