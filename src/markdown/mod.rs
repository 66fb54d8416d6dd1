//! The files that people write for agents: Markdown, often with front matter. Read within bounds,
//! since a project may bring anything under such a name, and looked at cheaply to see whether one
//! has changed.

pub mod file;
pub mod fingerprint;
pub mod folder;
pub mod front_matter;
mod listing;

pub use file::Unreadable;
pub use fingerprint::Fingerprint;
pub use listing::listing;
