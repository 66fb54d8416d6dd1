//! The log file: NDJSON, one file a day, the newest few kept.

use std::path::Path;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::filter::EnvFilter;

/// How many days' files are kept.
const FILES: usize = 7;

/// Starts the log; what is still buffered is written when the guard is dropped.
/// Without a place to write there is no log, and that is no reason not to work.
pub fn start(state_dir: &Path, filter: &str) -> Option<WorkerGuard> {
    if filter == "off" {
        return None;
    }
    let folder = state_dir.join("logs");
    std::fs::create_dir_all(&folder).ok()?;
    // The level counts for what we say; libraries speak up only when something is wrong.
    let filter = match filter.contains(['=', ',']) {
        true => filter.to_owned(),
        false => format!("warn,caliban={filter}"),
    };
    let appender = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("caliban")
        .filename_suffix("ndjson")
        .max_log_files(FILES)
        .build(folder)
        .ok()?;
    let (writer, guard) = tracing_appender::non_blocking(appender);
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_env_filter(EnvFilter::try_new(filter).ok()?)
        .with_writer(writer)
        .finish();
    tracing::subscriber::set_global_default(subscriber).ok()?;
    Some(guard)
}
