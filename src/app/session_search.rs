//! Searches the texts of stored sessions.
//!
//! There is no index: the files are searched as they are, newest first, on several threads. A line that
//! has a word somewhere is then read, so that only what the user or the model has written counts.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use regex::bytes::{Regex, RegexBuilder};

use crate::protocol::{ContentBlock, lossy_path};
use crate::session::{Record, SessionStore, read_each};
use crate::tui::host::SessionHits;

/// Time after which older sessions are left out.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// The newest search; an older one ends early.
#[derive(Debug, Default)]
pub(super) struct SessionSearch {
    newest: AtomicU64,
}

impl SessionSearch {
    /// Returns the sessions whose texts have all words, in any order; with `cwd`, only those of that
    /// working directory. May block for long.
    pub fn run(&self, store: &SessionStore, cwd: Option<&Path>, query: &str) -> SessionHits {
        let turn = self.newest.fetch_add(1, Ordering::Relaxed) + 1;
        self.run_as(turn, store, cwd, query)
    }

    /// Like [`Self::run`], as the search with this number.
    fn run_as(
        &self,
        turn: u64,
        store: &SessionStore,
        cwd: Option<&Path>,
        query: &str,
    ) -> SessionHits {
        let words: Vec<Word> = query.split_whitespace().filter_map(Word::new).collect();
        if words.is_empty() {
            return SessionHits::default();
        }
        let (began, cut) = (Instant::now(), AtomicBool::new(false));
        let ids = read_each(&store.newest_ids(), |id| {
            if began.elapsed() > TIME_LIMIT || self.newest.load(Ordering::Relaxed) != turn {
                cut.store(true, Ordering::Relaxed);
                return None;
            }
            let bytes = read_if_of(&store.transcript(id), cwd).ok()??;
            words.iter().all(|word| word.is_in(&bytes)).then_some(id)
        });
        SessionHits { ids, cut: cut.into_inner() }
    }
}

/// A word to find, whatever its case.
struct Word {
    /// Finds it in a file, where JSON may have escaped it.
    in_file: Regex,
    /// Finds it in a text.
    in_text: Regex,
}

impl Word {
    fn new(word: &str) -> Option<Self> {
        let escaped = serde_json::to_string(word).ok()?;
        let escaped = escaped.strip_prefix('"')?.strip_suffix('"')?;
        let regex = |text: &str| {
            RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().ok()
        };
        Some(Self { in_file: regex(escaped)?, in_text: regex(word)? })
    }

    /// Whether a message in the file has the word.
    fn is_in(&self, file: &[u8]) -> bool {
        let mut from = 0;
        while let Some(hit) = self.in_file.find_at(file, from) {
            let start =
                file[..hit.start()].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let end = file[hit.start()..].iter().position(|byte| *byte == b'\n');
            let end = end.map_or(file.len(), |at| hit.start() + at);
            if self.is_in_message(&file[start..end]) {
                return true;
            }
            if end >= file.len() {
                return false;
            }
            from = end + 1;
        }
        false
    }

    fn is_in_message(&self, line: &[u8]) -> bool {
        let Ok(Record::Message(record)) = Record::parse(line) else { return false };
        record.message.content.iter().any(|block| match block {
            ContentBlock::Text { text, aside: false, .. } => self.in_text.is_match(text.as_bytes()),
            _ => false,
        })
    }
}

/// Reads the file of a session; with `cwd`, only if it is of that working directory, which its
/// first line says.
fn read_if_of(path: &Path, cwd: Option<&Path>) -> io::Result<Option<Vec<u8>>> {
    let mut file = BufReader::new(File::open(path)?);
    let mut bytes = Vec::new();
    file.read_until(b'\n', &mut bytes)?;
    let is_here = cwd.is_none_or(|cwd| {
        matches!(Record::parse(&bytes), Ok(Record::Session(header)) if lossy_path::is_same(&header.cwd, cwd))
    });
    if !is_here {
        return Ok(None);
    }
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;
    use crate::protocol::{Message, SessionId};
    use crate::session::NewSession;

    async fn stored(store: &SessionStore, cwd: &str, said: &str) -> SessionId {
        let id = SessionId::generate();
        let (model, provider) = ("m".to_owned(), "p".to_owned());
        let (agent_tool, branch) = (None, None);
        let new = NewSession { id, cwd: cwd.into(), model, provider, agent_tool, branch };
        let journal = store.create(new).unwrap();
        journal.append(&Message::user_text(said), None).await.unwrap();
        id
    }

    #[tokio::test]
    async fn sessions_are_found_by_what_was_written_in_them_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path());
        let one = stored(&store, "/shop", "Why is \"login\" slow?\nSee C:\\new").await;
        let two = stored(&store, "/shop", "Die Tür ist LOGIN-frei").await;
        let far = stored(&store, "/site", "login page").await;
        let search = SessionSearch::default();
        let found = |cwd: Option<&str>, query: &str| {
            let mut found = search.run(&store, cwd.map(Path::new), query);
            assert!(!found.cut);
            found.ids.sort();
            found.ids
        };
        assert_eq!(found(Some("/shop"), "login"), [one, two]);
        assert_eq!(found(None, "login"), [one, two, far]);
        assert_eq!(found(None, "slow LOGIN"), [one], "all words, in any order");
        assert_eq!(found(None, "\"login\""), [one], "as it is written, not as JSON has it");
        assert_eq!(found(None, "C:\\new"), [one]);
        assert_eq!(found(None, "TÜR"), [two]);
        for outside in ["text", "message", "user", "shop", ".*"] {
            assert_eq!(found(None, outside), [], "{outside}");
        }
        assert_eq!(found(None, " "), []);
    }

    #[tokio::test]
    async fn of_a_session_elsewhere_only_the_first_line_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path());
        let file = store.transcript(stored(&store, "/site", "login page").await);
        let header = fs::read_to_string(&file).unwrap().lines().next().unwrap().to_owned();
        // In its place, a pipe that knows how far it was read.
        fs::remove_file(&file).unwrap();
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let writer = std::thread::spawn(move || {
            let mut pipe = File::options().write(true).open(&file).unwrap();
            pipe.write_all(format!("{header}\n").as_bytes()).unwrap();
            pipe.write_all(&vec![b'x'; 1 << 20])
        });
        let hits = SessionSearch::default().run(&store, Some(Path::new("/shop")), "login");
        assert_eq!(hits.ids, []);
        assert_eq!(writer.join().unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_newer_search_ends_an_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path());
        stored(&store, "/shop", "login").await;
        let search = SessionSearch::default();
        // Another search began in the meantime.
        let older = search.newest.fetch_add(1, Ordering::Relaxed) + 1;
        search.newest.fetch_add(1, Ordering::Relaxed);
        let hits = search.run_as(older, &store, None, "login");
        assert_eq!(hits, SessionHits { ids: Vec::new(), cut: true });
    }
}
