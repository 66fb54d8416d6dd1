//! Retention: which sessions go, and what stays.

use jiff::ToSpan;

use super::*;
use crate::protocol::WorktreeInfo;
use crate::session::PruneMode;

fn in_an_hour() -> Timestamp {
    Timestamp::now() + 1.hour()
}

async fn stored(fixture: &StoreFixture) -> (SessionId, Arc<dyn Journal>) {
    let (id, journal) = fixture.create();
    journal.append(&Message::user_text("PROMPT-1"), None).await.unwrap();
    (id, journal)
}

#[tokio::test]
async fn only_sessions_that_are_old_and_closed_go() {
    let fixture = StoreFixture::new();
    let (closed, journal) = stored(&fixture).await;
    drop(journal);
    let (open, _journal) = stored(&fixture).await;
    let early = fixture.store.prune(Timestamp::now() - 1.hour(), PruneMode::All);
    assert!(early.removed.is_empty() && early.in_use == 0, "{early:?}");
    let planned = fixture.store.prune(in_an_hour(), PruneMode::DryRun);
    assert_eq!(planned.removed.len(), 1);
    assert!(fixture.file(closed).exists());
    let report = fixture.store.prune(in_an_hour(), PruneMode::All);
    let [gone] = &report.removed[..] else { panic!("{report:?}") };
    assert_eq!((gone.id, &*gone.title, report.in_use), (closed, "PROMPT-1", 1));
    assert!(gone.bytes > 100, "{gone:?}");
    assert!(!fixture.store.dir(closed).exists() && fixture.file(open).exists());
}

#[tokio::test]
async fn worktrees_that_are_there_are_named_and_stay() {
    let fixture = StoreFixture::new();
    let (_, journal) = stored(&fixture).await;
    let tree = fixture.dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for path in [tree.clone(), fixture.dir.path().join("gone")] {
        let info = WorktreeInfo { path, branch: "b".to_owned(), start: "c".to_owned() };
        journal.works_in(&info).await;
    }
    journal.append(&Message::user_text("PROMPT-2"), None).await.unwrap();
    drop(journal);
    let report = fixture.store.prune(in_an_hour(), PruneMode::All);
    assert_eq!(report.removed[0].worktrees, std::slice::from_ref(&tree));
    assert!(tree.is_dir());
}

#[tokio::test]
async fn a_removal_that_was_cut_off_is_finished_by_the_next_one() {
    let fixture = StoreFixture::new();
    let (id, journal) = stored(&fixture).await;
    drop(journal);
    let half = fixture.store.root.join(format!(".removed-{id}"));
    fs::rename(fixture.store.dir(id), &half).unwrap();
    assert!(fixture.store.list().is_empty());
    assert_eq!(fixture.store.prune(Timestamp::now() - 1.hour(), PruneMode::All).removed.len(), 0);
    assert!(!half.exists());
}
