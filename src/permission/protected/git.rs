//! Git's own folders, found as git finds them: their settings and hooks name programs that git runs.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ProtectedPlace, Reason};

/// A longer file is none that git writes here. Bytes.
const MAX_FILE: u64 = 1 << 20;

/// The folder of git's that holds the path: one that looks to git like a repository. The search ends at a checkout,
/// which can lie in such a folder.
pub(super) fn folder_of(path: &Path) -> Option<PathBuf> {
    for folder in path.ancestors().skip(1) {
        if folder.join(".git").symlink_metadata().is_ok() {
            return None;
        }
        let holds = |name: &str| folder.join(name).symlink_metadata().is_ok();
        if holds("HEAD") && (holds("objects") || holds("commondir")) {
            return Some(folder.to_owned());
        }
    }
    None
}

/// The folders that the `.git` of the checkout around `dir` names, and what git's settings there name: the folder of
/// the hooks, and files with more settings.
pub(super) fn places(dir: &Path, home: Option<&Path>) -> Vec<ProtectedPlace> {
    let checkout = dir.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let Some(checkout) = checkout else { return Vec::new() };
    let dot_git = checkout.join(".git");
    let link = text(&dot_git);
    let link = link.as_deref().and_then(|text| text.strip_prefix("gitdir:"));
    let own = link.map_or(dot_git, |link| checkout.join(link.trim()));
    let common = text(&own.join("commondir")).map(|common| own.join(common.trim()));
    let shared = common.as_ref().unwrap_or(&own);
    let at_home = home.into_iter();
    let at_home =
        at_home.flat_map(|home| [".gitconfig", ".config/git/config"].map(|f| home.join(f)));
    let configs = at_home.chain([shared.join("config"), own.join("config.worktree")]);
    let named = configs.flat_map(|config| configured_paths(&config, checkout, home));
    let named: Vec<ProtectedPlace> =
        named.map(|path| ProtectedPlace::below(path, Reason::Git)).collect();
    let folders = std::iter::once(own).chain(common);
    let folders = folders.map(|path| ProtectedPlace::unless_inside(path, Reason::Git));
    folders.chain(named).collect()
}

/// The folder of hooks and the included files that a settings file of git names.
fn configured_paths(config: &Path, checkout: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(text) = text(config) else { return Vec::new() };
    let mut section = String::new();
    let mut paths = Vec::new();
    for line in text.lines() {
        // A key can stand on the line of its section.
        let (head, rest) = line.rsplit_once(']').unwrap_or(("", line));
        if let Some(name) = head.trim_start().strip_prefix('[') {
            section = name.to_ascii_lowercase();
        }
        let Some((key, value)) = rest.split_once('=') else { continue };
        let base = match key.trim().to_ascii_lowercase().as_str() {
            "hookspath" => checkout,
            "path" if section.starts_with("include") => config.parent().unwrap_or(checkout),
            _ => continue,
        };
        let value = value.trim().trim_matches('"');
        paths.push(match (value.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => base.join(value),
        });
    }
    paths
}

/// The text of a small file; `None` for everything else.
fn text(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    if !found.is_file() || found.len() > MAX_FILE {
        return None;
    }
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}
