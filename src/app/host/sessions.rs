//! Lists, searches, follows, names and exports the stored sessions.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::LocalHost;
use crate::cli::ExportFormat;
use crate::command::sessions::export_session;
use crate::protocol::{AgentEvent, SessionId, lossy_path, printable_path};
use crate::session::{SessionPreview, SessionSummary, StoreError};
use crate::tui::host::{SessionChoice, SessionEnd, SessionHits};
use crate::tui::slash::update::NOTHING_TO_NAME;

/// The most bytes of session files that are read to add up costs.
const PREVIEW_BYTES: u64 = 24 << 20;

/// The most characters of a last answer.
const ANSWER_CHARS: usize = 1_200;

/// How often the file of a session that another process writes to is looked at, and the time between.
const GROWTH_LOOKS: usize = 10;
const GROWTH_PAUSE: Duration = Duration::from_millis(500);

/// Reading such a file takes at most one part of the time in so many.
const READING_PART: u32 = 5;

/// The answer to `/export` while nothing is stored.
const NOTHING_TO_EXPORT: &str = "nothing to export yet: it is stored with its first prompt";

impl LocalHost {
    pub(super) async fn sessions(
        &self,
        everywhere: bool,
        most: Option<usize>,
    ) -> Vec<SessionChoice> {
        let (store, cwd) = (self.store.clone(), self.cwd.clone());
        let list = move || {
            let here = (!everywhere).then_some(&*cwd);
            let listed = store.newest(here, most.unwrap_or(usize::MAX));
            let now = Timestamp::now();
            let choice = |session: SessionSummary| SessionChoice {
                id: session.id,
                title: session.title().to_owned(),
                age: age(now, session.last),
                agents: session.agents,
                elsewhere: !lossy_path::is_same(&session.cwd, &cwd),
                folder: session.cwd,
                branch: session.branch,
                open: store.check_unused(session.id).is_err(),
                end: SessionEnd::default(),
            };
            listed.into_iter().map(choice).collect()
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    pub(super) async fn session_previews(&self, ids: &[SessionId]) -> Vec<SessionEnd> {
        let (store, ids) = (self.store.clone(), ids.to_vec());
        let end = |preview: SessionPreview| SessionEnd {
            cost: preview.cost,
            answer: preview.answer.chars().take(ANSWER_CHARS).collect(),
        };
        let read = move || store.previews(&ids, PREVIEW_BYTES).into_iter().map(end).collect();
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    /// Waits until the files of a session have another size, and reads them then, or until the process
    /// that writes to them has left, or another has come. Looks no more often than it takes to read them
    /// several times.
    pub(super) async fn session_growth(
        &self,
        id: SessionId,
        size: &mut u64,
        left: &mut bool,
    ) -> Option<Vec<Vec<AgentEvent>>> {
        for _ in 0..GROWTH_LOOKS {
            let (store, before) = (self.store.clone(), *size);
            let began = Instant::now();
            let read = move || {
                let (left, size) = (store.check_unused(id).is_ok(), store.size(id));
                (left, (size != before).then(|| (size, store.events_so_far(id))))
            };
            let (is_left, read) = tokio::task::spawn_blocking(read).await.ok()?;
            let was_left = std::mem::replace(left, is_left);
            if let Some((grown, files)) = read {
                *size = grown;
                // At first nothing is shown yet.
                if before > 0 {
                    tokio::time::sleep(began.elapsed() * READING_PART).await;
                }
                return files.ok();
            }
            if is_left != was_left {
                return None;
            }
            tokio::time::sleep(GROWTH_PAUSE).await;
        }
        None
    }

    pub(super) async fn search_sessions(&self, query: &str, everywhere: bool) -> SessionHits {
        let (store, query, search) = (self.store.clone(), query.to_owned(), self.search.clone());
        let cwd = (!everywhere).then(|| self.cwd.clone());
        let run = move || search.run(&store, cwd.as_deref(), &query);
        tokio::task::spawn_blocking(run).await.unwrap_or_default()
    }

    /// Writes the session to the named file, or to one beside the project's; returns its path.
    pub(super) async fn export(&self, session: SessionId, path: &str) -> Result<PathBuf, String> {
        let named = Path::new(path);
        let format = match named.extension().is_some_and(|extension| extension == "json") {
            true => ExportFormat::Json,
            false => ExportFormat::Markdown,
        };
        let file = match path.is_empty() {
            true => self.cwd.join(format!("caliban-{session}.md")),
            false => self.cwd.join(named),
        };
        let store = self.store.clone();
        let write = move || {
            if !store.transcript(session).exists() {
                return Err(NOTHING_TO_EXPORT.to_owned());
            }
            let text =
                export_session(session, &store, format).map_err(|error| error.to_string())?;
            write_new(&file, &text).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => {
                    format!("{} exists: name another file", printable_path(&file))
                }
                _ => format!("cannot write {}: {error}", printable_path(&file)),
            })?;
            Ok(file)
        };
        tokio::task::spawn_blocking(write).await.map_err(|error| error.to_string())?
    }

    pub(super) async fn session_name(&self, session: SessionId) -> Option<String> {
        let store = self.store.clone();
        tokio::task::spawn_blocking(move || store.name(session)).await.ok()?
    }

    /// Names a session, or takes its name away.
    pub(super) async fn rename(
        &self,
        session: SessionId,
        name: &str,
    ) -> Result<Option<String>, String> {
        let (store, name) = (self.store.clone(), name.to_owned());
        let rename = move || {
            let others = || store.named(&name).into_iter().filter(|id| *id != session);
            match !name.trim().is_empty() && others().next().is_some() {
                true => Err(format!("another session has the name {name}: choose another one")),
                false => Ok(store.rename(session, &name)),
            }
        };
        let renamed = tokio::task::spawn_blocking(rename).await;
        renamed.map_err(|error| error.to_string())??.map_err(|error| match error {
            StoreError::Write { source, .. } if source.kind() == ErrorKind::NotFound => {
                NOTHING_TO_NAME.to_owned()
            }
            error => error.to_string(),
        })
    }
}

/// Writes a file that only the user can read, unless there is one.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create_new(true).write(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Returns how long ago something was: `2 min ago`, after a week the date.
fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        172_800..604_800 => format!("{} days ago", seconds / 86_400),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_the_largest_unit() {
        let now: Timestamp = "2026-05-20T12:00:00Z".parse().unwrap();
        let ago =
            |seconds: i64| age(now, Timestamp::from_second(now.as_second() - seconds).unwrap());
        assert_eq!(ago(-5), "just now", "the clock was set back");
        assert_eq!((ago(59), ago(60)), ("just now".to_owned(), "1 min ago".to_owned()));
        assert_eq!((ago(7_300), ago(90_000)), ("2 h ago".to_owned(), "yesterday".to_owned()));
        assert_eq!(
            (ago(200_000), ago(864_000)),
            ("2 days ago".to_owned(), "2026-05-10".to_owned())
        );
    }
}
