//! The log file: NDJSON, one file per day, the newest few kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::EnvFilter;

use super::setup::{AppError, Setup};
use crate::protocol::{Redactor, printable_path};
use daily::DailyFile;

mod daily;

/// The maximum number of bytes that one run writes.
const MAX_RUN_BYTES: usize = 64 << 20;

/// The maximum number of buffered records; further ones are dropped. The buffer is allocated at
/// startup: the library's default of 128,000 costs 4 MB and most of a millisecond.
const MAX_BUFFERED_RECORDS: usize = 2_048;

/// Masks keys in all records, and stops at a maximum size.
struct MaskedWriter<W> {
    inner: W,
    redactor: Redactor,
    written: Arc<AtomicUsize>,
}

impl<W: Write> Write for MaskedWriter<W> {
    /// Writes one record: each call carries a whole one.
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        if self.written.fetch_add(record.len(), Ordering::Relaxed) < MAX_RUN_BYTES {
            let text = String::from_utf8_lossy(record);
            self.inner.write_all(self.redactor.mask(&text).as_bytes())?;
        }
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The files that the log is written to. A failure of one does not affect the other.
struct Tee {
    daily: Option<DailyFile>,
    debug: Option<File>,
}

impl Write for Tee {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let daily = self.daily.as_mut().map_or(Ok(()), |file| file.write_all(record));
        let debug = self.debug.as_mut().map_or(Ok(()), |file| file.write_all(record));
        daily.and(debug).map(|()| record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.daily.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Starts the log. Dropping the guard writes what is still buffered. Without a writable folder
/// there is no log, which is not an error.
///
/// # Errors
/// If the file of --debug-file cannot be written.
pub(super) fn start(setup: &Setup) -> Result<Option<WorkerGuard>, AppError> {
    let debug = setup.overrides.debug_file.as_deref().map(|path| debug_file(&setup.cwd.join(path)));
    Ok(start_with(setup, debug.transpose()?))
}

/// Opens a log file for appending that only its owner can read.
fn debug_file(path: &Path) -> Result<File, AppError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path).map_err(|error| {
        AppError::Usage(format!(
            "--debug-file {}: {error}: name another file",
            printable_path(path)
        ))
    })
}

fn start_with(setup: &Setup, debug: Option<File>) -> Option<WorkerGuard> {
    let config = &setup.loaded.config;
    let filter = config.log.level.as_str();
    if filter == "off" {
        return None;
    }
    let daily = DailyFile::open(&setup.dirs.logs()).ok();
    if daily.is_none() && debug.is_none() {
        return None;
    }
    let appender = Tee { daily, debug };
    // The level applies to our own records; libraries only log warnings.
    let filter = match filter.contains(['=', ',']) {
        true => filter.to_owned(),
        false => format!("warn,caliban={filter}"),
    };
    let (writer, guard) =
        NonBlockingBuilder::default().buffered_lines_limit(MAX_BUFFERED_RECORDS).finish(appender);
    let (redactor, written) = (setup.redactor.clone(), Arc::new(AtomicUsize::new(0)));
    let writer = move || MaskedWriter {
        inner: writer.clone(),
        redactor: redactor.clone(),
        written: written.clone(),
    };
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
