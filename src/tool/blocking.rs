//! Runs work on files away from the threads that serve the screen.

use tokio_util::sync::CancellationToken;

use super::{SoftKind, ToolContext, ToolError};
use crate::protocol::Failure;

/// Runs `work` on a thread of the pool for files. Its token fires when the call is cancelled and
/// when the future is dropped.
pub async fn blocking<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let token = cx.cancel.child_token();
    let _stop_when_dropped = token.clone().drop_guard();
    match cx.files.run(move || work(&token)).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => {
            Err(ToolError::fatal(Failure::Internal, format!("A tool crashed: {error}.")))
        }
        Err(_) => Err(ToolError::soft(SoftKind::Cancelled, "The program is shutting down.")),
    }
}
