//! Markdown files for agents, often with front matter. They are read within bounds, since a project
//! may put anything there, and checked cheaply for changes.

pub mod file;
mod fingerprint;
pub mod folder;
pub mod front_matter;
mod listing;

pub use file::TextFileError;
pub use fingerprint::Fingerprint;
pub use listing::format_listing;
