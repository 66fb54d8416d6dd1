//! Git's own folders, found as git finds them: their settings and hooks name programs that git runs.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{ProtectedPlace, Reason, fold, resolve};
use crate::disk::parse_git_config;

/// How deep files of settings include others, as git has it.
const MAX_DEPTH: usize = 10;

/// A longer file is none that git writes here. Bytes.
const MAX_FILE: u64 = 1 << 20;

/// Names of files and folders that make a repository of a folder with a file `HEAD`.
const PARTS: &[&str] = &["commondir", "config", "objects", "refs"];

/// The folder of git's that holds the path: one that looks to git like a repository, or begins to with this file. So
/// the file that completes one is protected, whichever it is. The search ends at a checkout, which can lie in such a
/// folder.
pub(super) fn folder_of(path: &Path) -> Option<PathBuf> {
    for folder in path.ancestors().skip(1) {
        if folder.join(".git").symlink_metadata().is_ok() {
            return None;
        }
        let entry = path.strip_prefix(folder).ok().and_then(|below| below.iter().next());
        let entry = fold(&entry.unwrap_or_default().to_string_lossy());
        let holds =
            |name: &str| entry == fold(name) || folder.join(name).symlink_metadata().is_ok();
        if holds("HEAD") && PARTS.iter().any(|part| holds(part)) {
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
    let mut named = Named { checkout, home, paths: Vec::new(), seen: HashSet::new() };
    for config in configs {
        named.read(&config, 0);
    }
    let named = named.paths.into_iter().map(|path| ProtectedPlace::below(path, Reason::Git));
    let folders = std::iter::once(own).chain(common);
    let folders = folders.map(|path| ProtectedPlace::unless_inside(path, Reason::Git));
    folders.chain(named).collect()
}

/// Paths that files of settings name: folders of hooks, and included files.
struct Named<'a> {
    checkout: &'a Path,
    home: Option<&'a Path>,
    paths: Vec<PathBuf>,
    /// The files that were read, each with the depth at which it was.
    seen: HashSet<(PathBuf, usize)>,
}

impl Named<'_> {
    /// Reads one file and those that it includes, whatever the conditions for that are.
    fn read(&mut self, config: &Path, depth: usize) {
        // By its one real name: files that include each other must come to an end.
        let real = resolve(config).unwrap_or_else(|| config.to_owned());
        if !self.seen.insert((real, depth)) {
            return;
        }
        let Some(text) = text(config) else { return };
        for setting in parse_git_config(&text) {
            if setting.value.is_empty() {
                continue;
            }
            match setting.key.as_str() {
                "hookspath" => {
                    let path = self.path(self.checkout, &setting.value);
                    self.paths.push(path);
                }
                "path" if setting.section.starts_with("include") => {
                    let path = self.path(config.parent().unwrap_or(self.checkout), &setting.value);
                    self.paths.push(path.clone());
                    if depth < MAX_DEPTH {
                        self.read(&path, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    fn path(&self, base: &Path, value: &str) -> PathBuf {
        match (value.strip_prefix("~/"), self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => base.join(value),
        }
    }
}

/// The text of a small file; `None` for everything else.
fn text(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    if !found.is_file() || found.len() > MAX_FILE {
        return None;
    }
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}
