//! The log file: NDJSON, one file a day, the newest few kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::EnvFilter;

use super::{AppError, Setup};
use crate::protocol::{Redactor, printable_path};
use daily::DailyFile;

mod daily;

/// More than this of one run is not written. Bytes.
const LIMIT: usize = 64 << 20;

/// How many records may wait to be written; more than that are dropped. The room for all of them is
/// taken and touched at start: the library's own 128,000 cost 4 MB and most of a millisecond.
const WAITING: usize = 2_048;

/// Masks keys in what goes through it, whatever record they got into, and stops at a size.
struct Guarded<W> {
    inner: W,
    redactor: Redactor,
    written: Arc<AtomicUsize>,
}

impl<W: Write> Write for Guarded<W> {
    /// Each call carries one whole record.
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        if self.written.fetch_add(record.len(), Ordering::Relaxed) < LIMIT {
            let text = String::from_utf8_lossy(record);
            self.inner.write_all(self.redactor.mask(&text).as_bytes())?;
        }
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The places that the log is written to. A place that fails does not keep the other from its records.
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

/// Starts the log; what is still buffered is written when the guard is dropped.
/// Without a folder to write to there is no log, and that is no reason not to work.
///
/// # Errors
/// When the file of --debug-file cannot be written.
pub(super) fn start(setup: &Setup) -> Result<Option<WorkerGuard>, AppError> {
    let debug = setup.overrides.debug_file.as_deref().map(|path| debug_file(&setup.cwd.join(path)));
    Ok(start_with(setup, debug.transpose()?))
}

/// Opens a file for the log to be added to, which only its owner can read.
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
    // The level counts for what we say; libraries speak up only when something is wrong.
    let filter = match filter.contains(['=', ',']) {
        true => filter.to_owned(),
        false => format!("warn,caliban={filter}"),
    };
    let (writer, guard) =
        NonBlockingBuilder::default().buffered_lines_limit(WAITING).finish(appender);
    let (redactor, written) = (setup.redactor.clone(), Arc::new(AtomicUsize::new(0)));
    let writer = move || Guarded {
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
