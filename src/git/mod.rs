//! Our own calls of git: what starts it, and what it says about a working tree.

mod changes;
mod run;

pub use self::changes::{ChangesError, changes, changes_since};
pub use self::run::{Git, GitContext, GitError, WorktreeGit};
