//! Our own calls of git: what starts it, and what it says about a working tree.

mod changes;
mod run;
mod snapshot;

pub use self::changes::{ChangesError, changes, changes_since};
pub use self::run::{Git, GitContext, GitError, WorktreeGit};
pub use self::snapshot::{RepositorySnapshot, SNAPSHOT_HEAD, snapshot};
