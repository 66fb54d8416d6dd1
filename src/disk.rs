//! Resolves paths, and opens files and folders without following links.
//!
//! The gate judges a resolved path, and the tool opens exactly that path: [`resolve`] is the only
//! function that follows links, and [`Folder`] and [`open`] refuse any link. If a link appears in
//! between, the open fails, so the path that was judged is the path that is used.

mod blocking;
mod folder;
mod found_file;
mod links;
mod list;
mod programs;
mod project_folders;
mod repository;
mod resolve;
mod scope;
#[cfg(test)]
pub mod testing;

pub use blocking::block_in_place;
pub use folder::{Folder, open};
pub use found_file::FoundFile;
pub use links::has_link;
pub use list::list_folder;
pub use programs::{is_system_program, programs_named};
pub use project_folders::ProjectFolders;
pub use repository::drivers::is_plain_filter;
pub use repository::start_checks::{check_starts_nothing, check_within, check_without_repository};
pub use repository::user::{GitConfigPaths, GitSettings};
pub use repository::{
    AddressHost, branch, check_checkout, check_repository, checkout_around, checkout_root,
    common_git_dir, folders_of_repository, has_dot_git, has_entry_behind_link, has_link_out,
    has_own_repository, has_remote, leaves_folder, named_git_dirs, repository_root, roots_around,
    tracks,
};
pub use resolve::{leads_outside, link_names, normalize, passes_link, resolve, resolve_from};
pub use scope::{ProjectFiles, ProjectScope, ScopeError};
