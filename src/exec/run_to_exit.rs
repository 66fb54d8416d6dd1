//! Follows a command until it is over, however it ends.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::group::ProcessGroup;
use super::outcome::{CommandExit, ExecError};
use super::pump::OutputSource;

/// How long a command has to end by itself after it was asked to.
pub const GRACE: Duration = Duration::from_secs(1);
/// How long output is still read after the shell ended while another process holds its pipe.
const DRAIN: Duration = Duration::from_millis(100);

/// Conditions that stop a command early.
#[derive(Debug)]
pub struct StopConditions {
    pub began: Instant,
    /// Time limit.
    pub limit: Option<Duration>,
    pub cancel: CancellationToken,
}

impl StopConditions {
    /// Waits until the command has to stop, and returns why.
    async fn wait_stop(&self) -> CommandExit {
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
            () = self.cancel.cancelled() => CommandExit::Cancelled,
            limit = late => CommandExit::TimedOut(limit),
        }
    }
}

/// Reads and waits until the command is over and everything left in its group has ended.
pub async fn run_to_exit(
    group: &mut ProcessGroup,
    output: &mut impl OutputSource,
    leave: &StopConditions,
) -> Result<CommandExit, ExecError> {
    let mut stopped = None;
    let mut status: Option<ExitStatus> = None;
    let mut give_up = None;
    while status.is_none() || !output.is_closed() {
        tokio::select! {
            biased;
            stop = leave.wait_stop(), if stopped.is_none() && status.is_none() => {
                stopped = Some(stop);
                give_up = Some(Instant::now() + GRACE);
                group.terminate();
            }
            () = sleep_until(give_up) => break,
            ended = group.wait(), if status.is_none() => {
                status = Some(ended.map_err(ExecError::Wait)?);
                give_up = give_up.or_else(|| Some(Instant::now() + DRAIN));
            }
            () = output.step() => {}
        }
    }
    group.end(GRACE).await;
    Ok(stopped.or_else(|| status.map(CommandExit::from_status)).unwrap_or(CommandExit::Cancelled))
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
