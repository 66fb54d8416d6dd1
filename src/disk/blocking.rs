//! Work on files in asynchronous code.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task;

/// Runs work that may wait for the disk in a task whose data it borrows. Meanwhile the other tasks
/// go on, on another thread, if the runtime has several.
pub fn block_in_place<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => task::block_in_place(work),
        _ => work(),
    }
}
