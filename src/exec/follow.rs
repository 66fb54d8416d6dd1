//! Stays with a command until it is over, in whatever way.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::group::Group;
use super::outcome::Exit;
use super::pump::Output;
use super::shell::ExecError;

/// How long a command has to end by itself after it was asked to.
pub const GRACE: Duration = Duration::from_secs(1);
/// How long output is still read after the shell ended while something else holds its pipe.
const DRAIN: Duration = Duration::from_millis(100);

/// What ends a command before its own end.
#[derive(Debug)]
pub struct Leave {
    pub began: Instant,
    /// How long it may take.
    pub limit: Option<Duration>,
    pub cancel: CancellationToken,
}

impl Leave {
    /// Waits until the command has to end, and says why.
    async fn over(&self) -> Exit {
        let late = async {
            match self.limit {
                Some(limit) => {
                    tokio::time::sleep_until(self.began + limit).await;
                    limit
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Exit::Cancelled,
            limit = late => Exit::TimedOut(limit),
        }
    }
}

/// Reads and waits until the command is over; what it left in its group has then ended too.
pub async fn follow(
    group: &mut Group,
    output: &mut impl Output,
    leave: &Leave,
) -> Result<Exit, ExecError> {
    let mut stopped = None;
    let mut status: Option<ExitStatus> = None;
    let mut give_up = None;
    while status.is_none() || !output.is_closed() {
        tokio::select! {
            biased;
            stop = leave.over(), if stopped.is_none() && status.is_none() => {
                stopped = Some(stop);
                give_up = Some(Instant::now() + GRACE);
                group.terminate();
            }
            () = until(give_up) => break,
            ended = group.wait(), if status.is_none() => {
                status = Some(ended.map_err(ExecError::Wait)?);
                give_up = give_up.or_else(|| Some(Instant::now() + DRAIN));
            }
            () = output.step() => {}
        }
    }
    group.end(GRACE).await;
    Ok(stopped.or_else(|| status.map(Exit::of)).unwrap_or(Exit::Cancelled))
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
