//! The log file: NDJSON, one file a day, the newest few kept.

use std::io::{self, Write};
use std::sync::Arc;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::filter::EnvFilter;

use super::Setup;

/// How many days' files are kept.
const FILES: usize = 7;

/// A shorter value is no key, and masking it would mask ordinary words.
const SHORTEST_KEY: usize = 8;

/// Masks keys in what goes through it, whatever record they got into.
struct Redacting<W> {
    inner: W,
    keys: Arc<[String]>,
}

impl<W: Write> Write for Redacting<W> {
    /// Each call carries one whole record.
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        if self.keys.is_empty() {
            return self.inner.write(record);
        }
        let mut text = String::from_utf8_lossy(record).into_owned();
        for key in self.keys.iter() {
            if text.contains(key.as_str()) {
                text = text.replace(key.as_str(), "***");
            }
        }
        self.inner.write_all(text.as_bytes())?;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Starts the log; what is still buffered is written when the guard is dropped.
/// Without a place to write there is no log, and that is no reason not to work.
pub(super) fn start(setup: &Setup) -> Option<WorkerGuard> {
    let config = &setup.loaded.config;
    let filter = config.log.level.as_str();
    if filter == "off" {
        return None;
    }
    let folder = setup.dirs.logs();
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
    let values = config.key_variables().into_iter().filter_map(|name| setup.env.get(name));
    let keys: Arc<[String]> =
        values.filter(|key| key.len() >= SHORTEST_KEY).map(str::to_owned).collect();
    let writer = move || Redacting { inner: writer.clone(), keys: keys.clone() };
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
