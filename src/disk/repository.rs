//! Finds the repository around a folder, and checks whether git may start a program there when it only reads.
//!
//! A clone brings no git settings, but a folder that was unpacked, shared or written by an agent
//! can: its `.git` may name programs, and may belong to another repository. So only known forms are
//! accepted: of the `.git`, the folder that it leads to, each setting, and the same for each
//! repository within.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use nix::fcntl::OFlag;

use crate::protocol::printable_line;

mod address;
mod config_file;
pub mod drivers;
mod entries;
mod git_dir;
pub mod index;
mod keys;
mod settings;
pub mod start_checks;
pub mod user;

pub use address::AddressHost;

use super::links::has_link;
use super::list::list_folder;
use super::resolve::{MAX_NAME, normalize, passes_link, real, resolve};
use git_dir::{GitDir, GitLink, is_empty, is_hash, is_missing, parse_path, read_short};
use index::{IndexEntry, TrackedFiles};
use settings::RepositorySettings;
use user::{GitConfigPaths, GitSettings, expand};

/// Maximum number of nested or neighbouring repositories to check.
const MAX_REPOSITORIES: usize = 64;

/// Maximum number of folders of a checkout to search.
const MAX_FOLDERS: usize = super::links::MAX_FOLDERS;

/// Maximum size of a `.git` file that links to a folder, in bytes.
const MAX_LINK_FILE: u64 = 16 << 20;
/// Length of an object name in a repository that does not say otherwise, in bytes.
const SHA1_BYTES: usize = 20;

/// Maximum size of a file that names a branch, and of a branch's name, in bytes.
const MAX_HEAD: u64 = 1024;
const MAX_BRANCH: usize = 200;

/// Maximum number of linked worktrees of a repository that are looked up.
const MAX_WORKTREES: usize = 1_000;

/// The hook that git runs after a read-only command has rewritten the index.
const INDEX_HOOK: &str = "post-index-change";

const NO_REPOSITORY: &str = "the folder it runs in has no git repository of its own";

/// Whether the repository around `dir` has a remote of this name; otherwise git treats the name as
/// a path. Returns `None` if its settings are not fully understood.
pub fn has_remote(dir: &Path, name: &str) -> Option<bool> {
    let (_, settings) = read_settings(own_checkout_around(dir)?).ok()?;
    Some(settings.has_remote(name))
}

/// Whether git, started in `dir`, finds a repository by its `.git`. A folder that merely looks like
/// a bare repository can be part of any checkout, and its settings can name programs to run.
pub fn has_own_repository(dir: &Path) -> bool {
    own_checkout_around(dir).is_some()
}

/// Checks that git starts no program when it reads the checkout around `dir`, and that its output
/// comes from that checkout. `home` is the user's. Of the programs that `user_config` names, those
/// count that may run code of the checkout; those that show contents only if the command shows
/// contents.
///
/// # Errors
///
/// Returns the reason, such as the setting that may start a program.
pub fn check_repository(
    dir: &Path,
    home: Option<&Path>,
    user_config: &GitConfigPaths,
    shows_contents: bool,
) -> Result<(), String> {
    let users = user_config.settings();
    let mut pending = vec![own_checkout(dir, home)?.to_owned()];
    let mut seen = 0;
    while let Some(checkout) = pending.pop() {
        seen += 1;
        if seen > MAX_REPOSITORIES {
            return Err("the repository holds too many others".to_owned());
        }
        let within = inspect_checkout(&checkout, home, &users, shows_contents)?;
        // Git ignores submodules that are not checked out.
        let within = within.into_iter().map(|path| checkout.join(path));
        pending.extend(within.filter(|path| has_dot_git(path)));
    }
    Ok(())
}

/// Returns the checkout around `dir`, unless it contains the user's home and `dir` does not.
fn own_checkout<'a>(dir: &'a Path, home: Option<&Path>) -> Result<&'a Path, String> {
    let checkout = own_checkout_around(dir).ok_or(NO_REPOSITORY)?;
    if checkout != dir && holds_home(checkout, home) {
        return Err("the repository around it holds your whole home folder".to_owned());
    }
    Ok(checkout)
}

/// Checks that git starts no program and writes nowhere else when it adds a worktree to the
/// repository around `dir`, with hooks disabled and nothing fetched, not even if a filter of the
/// user's makes git fetch.
///
/// # Errors
///
/// Returns the reason, such as the setting that may start a program.
pub fn check_checkout(dir: &Path) -> Result<(), String> {
    let (_, settings) = read_settings(own_checkout_around(dir).ok_or(NO_REPOSITORY)?)?;
    settings.check_fetching()
}

/// Returns the branch checked out around `dir`, or the abbreviated commit hash. The model sees it,
/// so it is read only from the repository's own file, and only if that contains nothing else.
pub fn branch(dir: &Path) -> Option<String> {
    let checkout = own_checkout_around(dir)?;
    let mut git = GitDir::find(checkout).ok()?;
    if git.link == GitLink::Unchecked {
        (git, _) = read_settings(checkout).ok()?;
    }
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let head = fs::OpenOptions::new().read(true).custom_flags(flags).open(git.own.join("HEAD"));
    let head = head.ok().filter(|head| head.metadata().is_ok_and(|found| found.is_file()))?;
    let mut text = String::new();
    head.take(MAX_HEAD).read_to_string(&mut text).ok()?;
    let text = text.trim_end();
    match text.strip_prefix("ref: refs/heads/") {
        Some(name) => is_branch_name(name).then(|| name.to_owned()),
        None => is_hash(text.as_bytes()).then(|| text[..12].to_owned()),
    }
}

/// Whether git accepts the name as a branch, and it is fully visible.
fn is_branch_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
    };
    let is_sign = |c: char| c.is_whitespace() || r"~^:?*[\".contains(c);
    name.len() <= MAX_BRANCH
        && name.split('/').all(is_part)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(is_sign)
        && printable_line(name) == name
}

/// Returns the regular files that git tracks in the checkout at `root`, according to its index.
///
/// # Errors
///
/// Returns the reason if they are unknown: the `.git` or its settings have an unusual form, or
/// belong to another checkout.
pub fn tracked_files(root: &Path) -> Result<TrackedFiles, String> {
    let (git, settings) = read_settings(root)?;
    Ok(index::files(&git.index(), settings.hash_length())?)
}

/// Whether git tracks a file with such a name, relative to the checkout at `root`. Links and
/// submodules count as well. This starts nothing, so most settings do not matter.
///
/// # Errors
///
/// Returns the reason if that is unknown: the repository or its index has an unusual form.
pub fn tracks(root: &Path, is_it: impl Fn(&[u8]) -> bool) -> Result<bool, String> {
    let git = GitDir::find(root)?;
    // Object names of another length move the entries.
    let config = fs::read(git.common.join("config")).unwrap_or_default();
    if config.to_ascii_lowercase().windows(12).any(|part| part == b"objectformat") {
        return Err("git's index has a form that is not understood".to_owned());
    }
    Ok(!index::all_names(&git.index(), SHA1_BYTES, |name| !is_it(name))?)
}

/// Whether git may follow a link from the checkout at `root` to files elsewhere: a folder named in
/// the index has become a link, or a link in the index leads out, whose name may be a folder's in
/// another commit. An unreadable index may name any folder.
pub fn has_entry_behind_link(root: &Path) -> bool {
    if !has_dot_git(root) {
        return false;
    }
    let (Ok(git), Some(real)) = (GitDir::find(root), resolve(root)) else { return true };
    let mut last = PathBuf::new();
    // The index is sorted, so the files of a folder are mostly adjacent.
    let is_inside = |entry: IndexEntry, name: &[u8]| {
        let file = Path::new(OsStr::from_bytes(name));
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut unseen = folder.ancestors().take_while(|above| !last.starts_with(above));
        let is_real = !unseen.any(|folder| root.join(folder).is_symlink());
        last = folder.to_owned();
        let stays = |target: Option<PathBuf>| target.is_some_and(|it| it.starts_with(&real));
        is_real && (entry != IndexEntry::Link || stays(resolve(&root.join(file))))
    };
    !index::all_entries(&git.index(), SHA1_BYTES, is_inside).unwrap_or(false)
}

/// Whether a link in the checkout at `root`, tracked or not, leads to a folder that is outside or
/// among git's own files. One with too many folders to search may hold such a link.
pub fn has_link_out(root: &Path) -> bool {
    let Some(real) = resolve(root) else { return true };
    let is_git = |name: &OsStr| name.eq_ignore_ascii_case(".git");
    let leads_out = |link: &Path| {
        let target = resolve(link);
        let below = target.as_deref().and_then(|target| target.strip_prefix(&real).ok());
        below.is_none_or(|below| below.iter().any(is_git))
    };
    has_link(&real, is_git, |link| link.is_dir() && leads_out(link))
}

/// Returns the checkout's git folder, and the one shared by all worktrees if the first names one.
/// Nothing is checked: they may not be git's, or not exist.
pub fn named_git_dirs(checkout: &Path) -> (PathBuf, Option<PathBuf>) {
    let dot_git = checkout.join(".git");
    let path = |file: &Path, start: &[u8]| {
        let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
        if found.len() > MAX_LINK_FILE {
            // Git may read it as anything, so it stands for the whole checkout.
            return Some(PathBuf::new());
        }
        let text = fs::read(file).ok()?;
        if text.contains(&0) {
            return Some(PathBuf::new());
        }
        let text = text.strip_prefix(start)?;
        let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
        Some(PathBuf::from(OsStr::from_bytes(&text[..end])))
    };
    let own = path(&dot_git, b"gitdir: ").map_or(dot_git, |own| checkout.join(own));
    let common =
        path(&own.join("commondir"), b"").map(|common| match common.as_os_str().is_empty() {
            true => checkout.to_owned(),
            false => own.join(common),
        });
    (own, common)
}

/// Returns the path of the index of the checkout at `root`.
pub fn index_file(root: &Path) -> Option<PathBuf> {
    GitDir::open(root).ok().map(|git| git.index())
}

/// Whether the folder has a `.git`: a folder, file or link, valid or not. Where that cannot be looked up, such as
/// behind a path that is too long for the system, a program that has entered the folder may find one.
pub fn has_dot_git(folder: &Path) -> bool {
    let is_name = |part: &OsStr| part.len() <= MAX_NAME;
    !is_missing(&folder.join(".git")) && folder.iter().all(is_name)
}

/// Returns the nearest folder with a `.git`, from `dir` upwards.
pub fn checkout_around(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|folder| has_dot_git(folder))
}

/// Returns the checkout around `dir`, or `dir` itself if there is none.
pub fn checkout_root(dir: &Path) -> PathBuf {
    checkout_around(dir).unwrap_or(dir).to_owned()
}

/// Returns the root of the repository around `dir`: the nearest folder with a `.git`. One that
/// contains the whole home does not count, unless it is `dir` itself: what was unpacked somewhere
/// in the home is not part of it. An empty `home` may be any folder, so each folder above `dir` may
/// contain it.
pub fn repository_root<'a>(dir: &'a Path, home: Option<&Path>) -> Option<&'a Path> {
    let root = checkout_around(dir)?;
    (root == dir || !holds_home(root, home)).then_some(root)
}

/// Whether the folder contains the whole home. If the home's path is empty, any folder may.
fn holds_home(folder: &Path, home: Option<&Path>) -> bool {
    let Some(home) = home else { return false };
    home.as_os_str().is_empty()
        || fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()).starts_with(folder)
}

/// Returns the resolved folders of the checkouts around `dir`, and of the main checkout and all
/// linked worktrees of their repositories. Everything in them is the project's, wherever in it an
/// agent works. A checkout that contains the user's home is no project. If the worktrees of one cannot be
/// listed, they may be anywhere below `/`.
pub fn roots_around(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let home = home.and_then(real);
    let is_project = |root: &Path| !home.as_ref().is_some_and(|home| home.starts_with(root));
    let mut roots: Vec<PathBuf> = Vec::new();
    for folder in dir.ancestors().filter(|folder| has_dot_git(folder)) {
        if !real(folder).is_some_and(|folder| is_project(&folder)) {
            continue;
        }
        let Some(others) = common_git_dir(folder).map_or(Some(Vec::new()), |it| checkouts_of(&it))
        else {
            return vec!["/".into()];
        };
        let all = std::iter::once(folder.to_owned()).chain(others);
        for root in all.filter_map(real) {
            if is_project(&root) && !roots.contains(&root) {
                roots.push(root);
            }
        }
    }
    roots
}

/// Returns the main checkout of a repository and its linked worktrees. Only those that name it in
/// turn: a repository can name any folder of the user's. A bare one has no main checkout. `None` if they cannot
/// be listed.
fn checkouts_of(common: &Path) -> Option<Vec<PathBuf>> {
    let main = common.parent().filter(|_| common.ends_with(".git")).map(Path::to_owned);
    let worktrees = common.join("worktrees");
    let all: Vec<_> =
        list_folder(&worktrees)?.take(MAX_WORKTREES + 1).map(|it| it.path()).collect();
    let is_unread = |own: &PathBuf| {
        let named = own.join("gitdir");
        read_short(&named).is_none() && !is_missing(&named)
    };
    if all.len() > MAX_WORKTREES || all.iter().any(is_unread) {
        return None;
    }
    let linked = all.into_iter().filter_map(|own| {
        let dot_git = own.join(parse_path(&read_short(&own.join("gitdir"))?)?);
        let checkout = dot_git.parent()?.to_owned();
        (real(common_git_dir(&checkout)?)? == real(common)?).then_some(checkout)
    });
    Some(main.into_iter().chain(linked).collect())
}

/// Whether a link on the path leads out of the folder that contains it. Links in the user's home
/// folder and above it are the user's own.
pub fn leaves_folder(path: &Path, home: Option<&Path>) -> bool {
    let real_home = home.and_then(resolve);
    passes_link(path, |link| {
        let folder = link.parent().unwrap_or(link);
        let is_users = real_home.as_ref().is_some_and(|home| home.starts_with(folder));
        let end = resolve(link);
        !is_users && !end.is_some_and(|end| end.starts_with(folder))
    })
}

/// Returns the resolved folders of the repository around `dir`: the checkout and its git folders.
/// None if the checkout contains the whole home and is not `dir` itself.
pub fn folders_of_repository(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(root) = repository_root(dir, home) else { return Vec::new() };
    let mut folders = vec![root.to_owned()];
    // Only if they name each other: a `.git` can lead to any repository.
    if let Ok((git, _)) = read_settings(root) {
        folders.extend([git.own, git.common]);
    }
    folders.iter().filter_map(real).collect()
}

/// Returns the git folder shared by all worktrees of a repository. `None` if `checkout` has no
/// `.git`, if that is a link, or if it names a repository that does not name it.
pub fn common_git_dir(checkout: &Path) -> Option<PathBuf> {
    let git = GitDir::find(checkout).ok()?;
    (git.link == GitLink::Checked).then_some(git.common)
}

/// Returns the checkout around `dir`, unless git finds another repository first: a folder below its
/// root with a `HEAD` can be a bare one, and git takes the nearest.
fn own_checkout_around(dir: &Path) -> Option<&Path> {
    let checkout = checkout_around(dir)?;
    let mut below = dir.ancestors().take_while(|folder| *folder != checkout);
    below.all(|folder| folder.join("HEAD").symlink_metadata().is_err()).then_some(checkout)
}

/// Checks one checkout, and returns the submodules in it.
fn inspect_checkout(
    checkout: &Path,
    home: Option<&Path>,
    users: &GitSettings,
    shows_contents: bool,
) -> Result<Vec<PathBuf>, String> {
    users.check_is_known()?;
    let (git, settings) = read_settings(checkout)?;
    if settings.is_partial() {
        return Err(
            "the repository is a partial clone, and git may fetch what is missing".to_owned()
        );
    }
    let mut hooks = vec![git.common.join("hooks")];
    hooks.extend(settings.hook_folders.iter().map(|path| expand(checkout, home, path)));
    hooks.extend(users.hook_folders(checkout));
    if hooks.iter().any(|folder| resolve(folder).is_none()) {
        return Err("the folder from which git takes its hooks cannot be followed".to_owned());
    }
    if !hooks.iter().all(|folder| is_missing(&folder.join(INDEX_HOOK))) {
        return Err(format!("the repository has a hook {INDEX_HOOK}, which git may start"));
    }
    drivers::check(&git, settings.hash_length(), users, shows_contents)?;
    if shows_contents && drivers::may_fetch(users) {
        settings.check_fetching()?;
    }
    Ok(index::commits(&git.index(), settings.hash_length())?)
}

/// Reads the git folder of a checkout and its settings, if both have a form that starts nothing.
fn read_settings(checkout: &Path) -> Result<(GitDir, RepositorySettings), String> {
    let git = GitDir::open(checkout)?;
    // A linked worktree's folder is in there, too.
    entries::check(&git.common)?;
    let mut settings = RepositorySettings::default();
    settings.add(&git.common.join("config"))?;
    let own = git.own.join("config.worktree");
    // Git ignores it unless a setting enables it.
    if !is_missing(&own) && !settings.has_worktree_file {
        return Err("the repository has a config.worktree, and no setting that names it".to_owned());
    }
    // Git does not change to the checkout's root, so each relative path means something else.
    if settings.is_bare && git.own == git.common {
        return Err("its .git is that of a bare repository".to_owned());
    }
    let sha256 = settings.sha256;
    settings.add(&own)?;
    let remotes = ["remotes", "branches"].map(|old| git.common.join(old));
    if settings.sha256 != sha256
        || settings.is_partial() && !remotes.iter().all(|old| is_empty(old))
    {
        return Err("the settings of the repository are in unusual files".to_owned());
    }
    // A link on the way may be a file of the project, which git writes; `..` behind one leads from
    // where the link does. Git itself writes it in front alone.
    let is_plain = |path: &Path| {
        let mut names = path.components().skip_while(|it| !matches!(it, Component::Normal(_)));
        names.all(|it| matches!(it, Component::Normal(_)))
    };
    let leads_here = |path: &PathBuf| {
        real(&git.own)
            .filter(|_| is_plain(path))
            .map(|own| normalize(&own.join(path)))
            .is_some_and(|it| Some(it) == real(checkout))
    };
    if !settings.worktrees.iter().all(leads_here) {
        return Err("the repository's setting core.worktree leads to another folder".to_owned());
    }
    // Otherwise any `.git` could expose the files of any repository.
    if settings.worktrees.is_empty() && git.link == GitLink::Unchecked {
        return Err("its .git leads to a repository that does not name this folder".to_owned());
    }
    Ok((git, settings))
}

#[cfg(test)]
mod tests;
