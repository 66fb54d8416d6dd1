//! Checks whether any git command may start a program that a repository brings, not only a command that reads.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::git_dir::{GitDir, is_empty, is_missing, parse_path, read_short};
use super::user::{GitConfigPaths, GitSettings, expand};
use super::{
    MAX_FOLDERS, MAX_REPOSITORIES, NO_REPOSITORY, checkout_around, drivers, has_dot_git,
    inspect_checkout, own_checkout, read_settings,
};
use crate::disk::resolve::{normalize, real, resolve};
use crate::protocol::printable_line;

/// Entries of a git folder after a clone, everyday commands and a merge in progress: git starts
/// nothing because of them, once settings and hooks are checked. Other files hold the state of an
/// unfinished command, with its options, programs and paths.
const ENTRIES: [&str; 31] = [
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "ORIG_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "branches",
    "commondir",
    "config",
    "config.worktree",
    "description",
    "gitdir",
    "gk",
    "hooks",
    "index",
    "index.lock",
    "info",
    "lfs",
    "locked",
    "logs",
    "modules",
    "objects",
    "packed-refs",
    "refs",
    "rr-cache",
    "shallow",
];

/// Such entries of the folder `info`.
const INFO_ENTRIES: [&str; 3] = ["exclude", "refs", "sparse-checkout"];

/// Error for hooks in a folder of the project.
const PROJECT_HOOKS: &str = "git takes hooks from a folder of the project";

/// Error for a checkout with more than `MAX_FOLDERS` folders.
const TOO_LARGE: &str = "the project is too large to look for repositories in it";

/// Checks that no git command starts a program that the checkout around `dir` names in its settings
/// or as a hook, nor one of a local repository that the settings lead to. Includes the repositories
/// within.
///
/// # Errors
///
/// Returns the reason, such as a hook that git may start.
pub fn check_starts_nothing(
    dir: &Path,
    home: Option<&Path>,
    user_config: &GitConfigPaths,
) -> Result<(), String> {
    let checkout = own_checkout(dir, home)?;
    let users = user_config.settings();
    drivers::check_all_plain(&users)?;
    let mut seen = HashSet::new();
    let mut modules = Vec::new();
    // A command may turn one that git does not know yet into a submodule, and use it.
    let top = &real(checkout).ok_or(NO_REPOSITORY)?;
    users.check_lead_nowhere_else(top)?;
    for checkout in checkouts_below(top)? {
        let within = inspect_checkout(&checkout, home, &users, true)?;
        // Git follows a link in place of a submodule.
        let place = within.iter().map(|path| checkout.join(path));
        if place.filter_map(|it| real(&it).map(|real| (it, real))).any(|(it, real)| it != real) {
            return Err("it has a link in the place of a submodule".to_owned());
        }
        let git = check_programs(&checkout, home, &users)?;
        if lies_among_files(&git, top) {
            return Err("its git folder lies among the files of the project".to_owned());
        }
        // Git checks out a submodule from its folder in there, with that folder's settings and
        // hooks. A linked worktree has its own.
        modules.extend(repositories_below(&git.own.join("modules"))?);
        seen.extend(real(&git.common));
    }
    let mut modules = modules.into_iter().filter_map(real);
    match modules.all(|module| seen.contains(&module)) {
        true => Ok(()),
        false => Err("it has the repository of a submodule that is not checked out".to_owned()),
    }
}

/// The same if there is no repository around `dir`: git compares files, applies patches and creates
/// repositories there, using the programs that the user's settings name.
///
/// # Errors
///
/// Returns the reason, such as a hook that git may start.
pub fn check_without_repository(
    dir: &Path,
    home: Option<&Path>,
    user_config: &GitConfigPaths,
) -> Result<(), String> {
    let users = user_config.settings();
    users.check_is_known()?;
    users.check_lead_nowhere_else(dir)?;
    drivers::check_all_plain(&users)?;
    let top = resolve(dir);
    let is_inside = |folder: &PathBuf| {
        let is_elsewhere = |folder: &Path| {
            let real = resolve(folder);
            real.zip(top.as_ref()).is_some_and(|(real, top)| !real.starts_with(top))
        };
        !both_readings(folder).iter().all(|folder| is_elsewhere(folder))
    };
    if users.hook_folders(dir).iter().any(is_inside) {
        return Err(PROJECT_HOOKS.to_owned());
    }
    check_others(checkouts_below(dir)?.iter().skip(1), home, &users)
}

/// Checks that git starts no program when it works in the checkout around `dir` or in a repository
/// within, as it does once that is a submodule, including those that git does not know yet. Skips the
/// `trusted` ones.
///
/// # Errors
///
/// Returns a message that names the repository and the reason. A very large project is not searched.
pub fn check_within(
    dir: &Path,
    home: Option<&Path>,
    user_config: &GitConfigPaths,
    trusted: &[PathBuf],
) -> Result<(), String> {
    let top = checkout_around(dir).unwrap_or(dir);
    let users = user_config.settings();
    let within = match checkouts_below(top) {
        Err(why) if why == TOO_LARGE => return Ok(()),
        within => within?,
    };
    let others = within.iter().filter(|other| has_dot_git(other) && !trusted.contains(other));
    check_others(others, home, &users)
}

/// Checks that git starts no program in these repositories within a folder.
fn check_others<'a>(
    others: impl Iterator<Item = &'a PathBuf>,
    home: Option<&Path>,
    users: &GitSettings,
) -> Result<(), String> {
    for other in others {
        // Git also fetches, checks out and runs hooks in a submodule.
        let looked = inspect_checkout(other, home, users, true);
        if let Err(why) = looked.and_then(|_| check_programs(other, home, users)) {
            let name = printable_line(&other.to_string_lossy());
            return Err(format!("{name} is a repository of its own, and {why}"));
        }
    }
    Ok(())
}

/// Returns the checkout, and all folders below it with a `.git`. Follows no links.
fn checkouts_below(checkout: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![checkout.to_owned()];
    let mut pending = vec![checkout.to_owned()];
    let mut looked_into = 0;
    while let Some(folder) = pending.pop() {
        looked_into += 1;
        if found.len() > MAX_REPOSITORIES {
            return Err("the project holds too many repositories".to_owned());
        }
        if looked_into > MAX_FOLDERS {
            return Err(TOO_LARGE.to_owned());
        }
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.and_then(Iterator::collect::<Result<Vec<_>, _>>),
        };
        // A folder that cannot be listed may still be entered.
        let name = printable_line(&folder.to_string_lossy());
        for entry in entries.map_err(|_| format!("{name} cannot be listed"))? {
            if entry.file_name() == ".git" {
                found.extend((folder != checkout).then(|| folder.clone()));
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// Checks one checkout, and returns its git folders.
fn check_programs(
    checkout: &Path,
    home: Option<&Path>,
    users: &GitSettings,
) -> Result<GitDir, String> {
    let (git, settings) = read_settings(checkout)?;
    settings.check_inert()?;
    // Git takes a name for a remote because of these files, and for a path if nothing else defines it.
    let mut remotes = ["remotes", "branches"].map(|old| git.common.join(old)).to_vec();
    if !settings.has_remote("origin") {
        remotes.extend(["origin", "origin.git"].map(|name| checkout.join(name)));
    }
    let own = users.remotes_without_address().filter(|name| !settings.has_remote(name));
    let folders = |name: &str| [name, &format!("{name}.git")].map(|name| checkout.join(name));
    remotes.extend(own.flat_map(folders));
    if let Some(remote) = remotes.iter().find(|remote| !is_empty(remote)) {
        let name = printable_line(&remote.to_string_lossy());
        return Err(format!("git may take {name} for a remote, and start its hooks"));
    }
    let infos = [&git.own, &git.common].map(|folder| (folder.join("info"), &INFO_ENTRIES[..]));
    let folders = [&git.own, &git.common].map(|folder| (folder.clone(), &ENTRIES[..]));
    for (folder, known) in folders.into_iter().chain(infos) {
        if let Some(name) = unknown_entry(&folder, known) {
            let file = printable_line(&folder.join(name).to_string_lossy());
            return Err(format!("git may take more from {file} than a clone brings"));
        }
    }
    if let Some(name) = misplaced_worktree(&git.common) {
        let name = printable_line(&name.to_string_lossy());
        return Err(format!("its worktree {name} does not refer back to it"));
    }
    let named = settings.hook_folders.iter().map(|path| expand(checkout, home, path));
    let users = users.hook_folders(checkout);
    // A folder that git checks out may contain a hook the next moment.
    let (top, own) = (resolve(checkout), resolve(&git.common));
    let (Some(top), Some(own)) = (top, own) else { return Err(NO_REPOSITORY.to_owned()) };
    let is_elsewhere = |folder: &Path| {
        let Some(real) = resolve(folder) else { return false };
        real.starts_with(&own) || !real.starts_with(&top) && !folder.starts_with(checkout)
    };
    let is_of_checkout =
        |folder: &PathBuf| !both_readings(folder).iter().all(|folder| is_elsewhere(folder));
    // A folder elsewhere is the user's own.
    let hooks: Vec<PathBuf> = named.chain([git.common.join("hooks")]).collect();
    if hooks.iter().chain(&users).any(is_of_checkout) {
        return Err(PROJECT_HOOKS.to_owned());
    }
    match hooks.iter().find_map(|folder| hook_in(folder)) {
        None => Ok(git),
        Some(name) => {
            let name = printable_line(&name.to_string_lossy());
            Err(format!("the repository has hooks that git may start, such as {name}"))
        }
    }
}

/// The path as the system follows it, and without its `..`: a folder of hooks is the user's own if
/// neither leads into the checkout.
fn both_readings(folder: &Path) -> [PathBuf; 2] {
    [folder.to_owned(), normalize(folder)]
}

/// Returns a linked worktree whose checkout does not refer back to it: git writes to the path that
/// the repository names.
fn misplaced_worktree(common: &Path) -> Option<OsString> {
    let names_place = |own: &Path| {
        let dot_git = own.join(parse_path(&read_short(&own.join("gitdir"))?)?);
        let text = read_short(&dot_git)?;
        let named = dot_git.parent()?.join(parse_path(text.strip_prefix(b"gitdir: ")?)?);
        Some(real(named)? == real(own)?)
    };
    let worktrees = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let is_lost = |entry: &DirEntry| names_place(&entry.path()) != Some(true);
    worktrees.filter(is_lost).map(|entry| entry.file_name()).next()
}

/// Whether git itself may write project files into the git folder: it only protects paths below a `.git`.
fn lies_among_files(git: &GitDir, top: &Path) -> bool {
    let Some(top) = real(top) else { return true };
    [&git.own, &git.common].into_iter().any(|folder| {
        // A link on the way may be a file of the project.
        let has_link = real(folder).is_none_or(|real| real != normalize(folder));
        if folder.starts_with(&top) && has_link {
            return true;
        }
        let Some(folder) = real(folder) else { return true };
        let inside = folder.strip_prefix(&top);
        inside.is_ok_and(|inside| !inside.components().any(|part| part.as_os_str() == ".git"))
    })
}

/// Returns an entry of the folder that is not in this list. Worktrees have folders of their own.
fn unknown_entry(folder: &Path, known: &[&str]) -> Option<OsString> {
    let is_known = |entry: &DirEntry| {
        let name = entry.file_name();
        // It lists unresolved merges, and remains when all are resolved.
        let is_done = || name == "MERGE_RR" && entry.metadata().is_ok_and(|it| it.len() == 0);
        known.iter().any(|it| name == *it) || name == "worktrees" || is_done()
    };
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.find(|entry| !is_known(entry)).map(|entry| entry.file_name())
}

/// Returns a file in the folder other than git's samples, or the folder itself if it cannot be read.
fn hook_in(folder: &Path) -> Option<OsString> {
    let is_sample = |name: &OsStr| name.as_bytes().ends_with(b".sample");
    if is_missing(folder) {
        return None;
    }
    let Ok(entries) = fs::read_dir(folder) else { return Some(folder.into()) };
    let mut names = entries.map(|entry| entry.map_or_else(|_| folder.into(), |it| it.file_name()));
    names.find(|name| !is_sample(name))
}

/// Returns the submodules' git folders, whose names may have several parts.
fn repositories_below(modules: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut pending = vec![modules.to_owned()];
    let mut looked_into = 0;
    while let Some(folder) = pending.pop() {
        looked_into += 1;
        if looked_into > MAX_FOLDERS {
            return Err("the repository has too many submodules".to_owned());
        }
        if is_missing(&folder) {
            continue;
        }
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|_| "the repositories of its submodules cannot be read")?;
        let has = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
        if has("HEAD") && (has("objects") || has("commondir")) {
            found.push(folder);
        }
        // One may be nested in another, by the names of submodules and as a submodule of it.
        let folders = entries.iter().filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
        pending.extend(folders.map(DirEntry::path));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
