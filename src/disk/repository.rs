//! The repository that git finds from a folder, and whether git may start a program there when it only looks.
//!
//! A clone brings no settings of git, but a folder that was unpacked, shared or written by an agent
//! can: its `.git` may name programs, and may be another repository's. So nothing counts that is
//! not in a known form: the `.git`, the folder that it leads to, each setting, and the same for
//! each repository within.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, access};

use super::normalize;
use crate::protocol::printable_line;

mod config_file;
mod drivers;
mod entries;
mod index;
mod inert;
mod keys;
mod settings;
mod user;

pub use drivers::is_plain_filter;
pub use index::TrackedFiles;
pub use inert::{check_starts_nothing, check_within, check_without_repository};
pub use user::GitConfigPaths;

use super::resolve::{passes_link, resolve};
use settings::Settings;
use user::{GitSettings, expand};

/// More repositories within one another, or side by side in one, are not looked into.
const MAX_REPOSITORIES: usize = 64;

/// More folders of a checkout are not looked through.
const MAX_FOLDERS: usize = 20_000;

/// The longest file that holds nothing but a path. Bytes.
const MAX_PATH_FILE: u64 = 64 * 1024;
/// A longer `.git` file is no link that git makes. Bytes.
const MAX_LINK_FILE: u64 = 16 << 20;
/// Bytes of the name of an object in a repository that says nothing else.
const SHA1_BYTES: usize = 20;

/// The longest file that can name a branch, and the longest name of one. Bytes.
const MAX_HEAD: u64 = 1024;
const MAX_BRANCH: usize = 200;

/// The hook that git starts when a command that looks has written the index anew.
const INDEX_HOOK: &str = "post-index-change";

const NO_REPOSITORY: &str = "the folder it runs in has no git repository of its own";

/// Whether the repository around `dir` has a remote by this name, which git takes for a path
/// otherwise. `None` where its settings are not all understood.
#[must_use]
pub fn has_remote(dir: &Path, name: &str) -> Option<bool> {
    let (_, settings) = read_settings(checkout_of(dir)?).ok()?;
    Some(settings.has_remote(name))
}

/// Whether git, started in `dir`, finds a repository by its `.git`. A folder that merely looks like
/// a bare repository can be part of any checkout, and its settings can name programs to run.
#[must_use]
pub fn has_own_repository(dir: &Path) -> bool {
    checkout_of(dir).is_some()
}

/// Checks that git starts no program when it looks at the checkout around `dir`, and that what it
/// shows is that checkout's own. `home` is the user's. Of the programs that `user_config` names, those
/// count that may run what lies in the checkout; those that show contents only where the command
/// does.
///
/// # Errors
///
/// What stands in the way, such as the setting that may start a program.
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
        let within = look_into(&checkout, home, &users, shows_contents)?;
        // Git leaves alone what is not filled.
        let within = within.into_iter().map(|path| checkout.join(path));
        pending.extend(within.filter(|path| has_dot_git(path)));
    }
    Ok(())
}

/// The checkout around `dir`, unless it holds the user's home and `dir` does not.
fn own_checkout<'a>(dir: &'a Path, home: Option<&Path>) -> Result<&'a Path, String> {
    let checkout = checkout_of(dir).ok_or(NO_REPOSITORY)?;
    if checkout != dir && holds_home(checkout, home) {
        return Err("the repository around it holds your whole home folder".to_owned());
    }
    Ok(checkout)
}

/// Checks that git starts no program and writes nowhere else when it adds a worktree to the
/// repository around `dir`, with hooks turned off and nothing fetched: not even where a filter of
/// the user's has git fetch.
///
/// # Errors
///
/// What stands in the way, such as the setting that may start a program.
pub fn check_checkout(dir: &Path) -> Result<(), String> {
    let (_, settings) = read_settings(checkout_of(dir).ok_or(NO_REPOSITORY)?)?;
    settings.check_fetching()
}

/// The branch that is checked out around `dir`, or the beginning of the commit's hash. It goes to
/// the model, so it is read from the repository's own file alone, and only where that says nothing
/// else.
#[must_use]
pub fn branch(dir: &Path) -> Option<String> {
    let checkout = checkout_of(dir)?;
    let mut git = GitDir::find(checkout).ok()?;
    if git.link == Link::Unchecked {
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

/// Whether git takes the name for a branch, and it can be seen in full.
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

fn is_hash(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

/// The regular files that git tracks in the checkout at `root`, by its index.
///
/// # Errors
///
/// Why the repository or its index does not say so: its `.git` or its settings have an unusual
/// form, or belong to another checkout.
pub fn tracked_files(root: &Path) -> Result<TrackedFiles, String> {
    let (git, settings) = read_settings(root)?;
    Ok(index::files(&git.index(), settings.hash_length())?)
}

/// Whether git tracks a file of such a name, from the top of the checkout at `root`. Links and
/// repositories in it count as well. It starts nothing, so most settings do not matter.
///
/// # Errors
///
/// Why the repository or its index does not say so: they have an unusual form.
pub fn tracks(root: &Path, is_it: impl Fn(&[u8]) -> bool) -> Result<bool, String> {
    let git = GitDir::find(root)?;
    // Names of another length move the entries.
    let config = fs::read(git.common.join("config")).unwrap_or_default();
    if config.to_ascii_lowercase().windows(12).any(|part| part == b"objectformat") {
        return Err("git's index has a form that is not understood".to_owned());
    }
    Ok(!index::all_names(&git.index(), SHA1_BYTES, |name| !is_it(name))?)
}

/// Whether a folder that the index of the checkout at `root` names has become a link: git goes
/// through it to the files below. An index that cannot be read may name any.
#[must_use]
pub fn has_entry_behind_link(root: &Path) -> bool {
    if !has_dot_git(root) {
        return false;
    }
    let Ok(git) = GitDir::find(root) else { return true };
    let mut last = PathBuf::new();
    // The index is sorted, so that nearly all of a folder comes in a row.
    let is_real = |name: &[u8]| {
        let folder = Path::new(OsStr::from_bytes(name)).parent().unwrap_or(Path::new(""));
        let mut unseen = folder.ancestors().take_while(|above| !last.starts_with(above));
        let is_real = !unseen.any(|folder| root.join(folder).is_symlink());
        last = folder.to_owned();
        is_real
    };
    !index::all_names(&git.index(), SHA1_BYTES, is_real).unwrap_or(false)
}

/// The folder with git's own files for the checkout, and the one that all worktrees share where the
/// first names one. Nothing is checked: they need not be git's, or exist.
#[must_use]
pub fn named_git_dirs(checkout: &Path) -> (PathBuf, Option<PathBuf>) {
    let dot_git = checkout.join(".git");
    let path = |file: &Path, start: &[u8]| {
        let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
        if found.len() > MAX_LINK_FILE {
            // Git may make anything of it, so it stands for the whole checkout.
            return Some(PathBuf::new());
        }
        let text = fs::read(file).ok()?;
        let text = text.strip_prefix(start)?;
        let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
        Some(PathBuf::from(OsStr::from_bytes(&text[..end])))
    };
    let own = path(&dot_git, b"gitdir: ").map_or(dot_git, |own| checkout.join(own));
    let common = path(&own.join("commondir"), b"").map(|common| own.join(common));
    (own, common)
}

/// The file in which git keeps the index of the checkout at `root`.
#[must_use]
pub fn index_file(root: &Path) -> Option<PathBuf> {
    GitDir::of(root).ok().map(|git| git.index())
}

/// Whether the folder has a `.git`: a folder, a file or a link, wherever that leads and whatever
/// git makes of it.
#[must_use]
pub fn has_dot_git(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// The nearest folder with a `.git`, from `dir` upwards.
#[must_use]
pub fn checkout_around(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|folder| has_dot_git(folder))
}

/// The checkout around `dir`, or `dir` itself where there is none.
#[must_use]
pub fn checkout_root(dir: &Path) -> PathBuf {
    checkout_around(dir).unwrap_or(dir).to_owned()
}

/// The root of the repository around `dir`: the nearest folder with a `.git`. One that holds the
/// whole home is none, unless `dir` is that very folder: what was unpacked somewhere in the home is
/// not part of it. An empty `home` may be any folder, so each one above `dir` may hold it.
#[must_use]
pub fn repository_root<'a>(dir: &'a Path, home: Option<&Path>) -> Option<&'a Path> {
    let root = checkout_around(dir)?;
    (root == dir || !holds_home(root, home)).then_some(root)
}

/// Whether the folder holds the whole home, which is in any folder where its path is empty.
fn holds_home(folder: &Path, home: Option<&Path>) -> bool {
    let Some(home) = home else { return false };
    home.as_os_str().is_empty()
        || fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()).starts_with(folder)
}

/// The folders of the checkouts around `dir`, and of those whose linked worktrees they are, without
/// links. What lies in one is the project's, wherever in it an agent works. A checkout that holds
/// the user's home is no project.
#[must_use]
pub fn roots_around(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    // Only one that names this worktree too: any folder can name a repository of the user's. A bare
    // repository has no checkout.
    let main = |folder: &Path| {
        let common = common_git_dir(folder).filter(|common| common.ends_with(".git"))?;
        common.parent().map(Path::to_owned)
    };
    let mut roots = Vec::new();
    for folder in dir.ancestors().filter(|folder| has_dot_git(folder)) {
        let both = [Some(folder.to_owned()), main(folder)].into_iter().flatten();
        roots.extend(both.filter_map(|root| fs::canonicalize(root).ok()));
    }
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    roots.retain(|root| !home.as_ref().is_some_and(|home| home.starts_with(root)));
    roots
}

/// Whether a link on the way of a path leads out of the folder in which it lies. The links in the
/// user's home folder and above it are the user's own.
#[must_use]
pub fn leaves_folder(path: &Path, home: Option<&Path>) -> bool {
    let real_home = home.and_then(resolve);
    passes_link(path, |link| {
        let folder = link.parent().unwrap_or(link);
        let is_users = real_home.as_ref().is_some_and(|home| home.starts_with(folder));
        let end = resolve(link);
        !is_users && !end.is_some_and(|end| end.starts_with(folder))
    })
}

/// The folders that belong to the repository around `dir`: the checkout, and those with git's own
/// files. Without links. None where the checkout holds the whole home, and is not `dir` itself.
#[must_use]
pub fn folders_of_repository(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(root) = repository_root(dir, home) else { return Vec::new() };
    let mut folders = vec![root.to_owned()];
    // Where they name each other: a `.git` can lead to any repository.
    if let Ok((git, _)) = read_settings(root) {
        folders.extend([git.own, git.common]);
    }
    folders.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect()
}

/// The folder with git's own files that all worktrees of a repository share. `None` where
/// `checkout` has no `.git`, where that is a link, and where it names a repository that does not
/// name it.
#[must_use]
pub fn common_git_dir(checkout: &Path) -> Option<PathBuf> {
    let git = GitDir::find(checkout).ok()?;
    (git.link == Link::Checked).then_some(git.common)
}

/// The checkout around `dir`, where git finds no other repository first: a folder below its root
/// that has a `HEAD` can be a bare one, and git takes the nearest.
fn checkout_of(dir: &Path) -> Option<&Path> {
    let checkout = checkout_around(dir)?;
    let mut below = dir.ancestors().take_while(|folder| *folder != checkout);
    below.all(|folder| folder.join("HEAD").symlink_metadata().is_err()).then_some(checkout)
}

/// Checks one checkout, and returns the folders in it that are repositories of their own.
fn look_into(
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
    if !hooks.iter().all(|folder| is_missing(&folder.join(INDEX_HOOK))) {
        return Err(format!("the repository has a hook {INDEX_HOOK}, which git may start"));
    }
    drivers::check(&git, settings.hash_length(), users, shows_contents)?;
    if shows_contents && drivers::may_fetch(users) {
        settings.check_fetching()?;
    }
    Ok(index::commits(&git.index(), settings.hash_length())?)
}

/// The git folder of a checkout and its settings, where both have a form that starts nothing.
fn read_settings(checkout: &Path) -> Result<(GitDir, Settings), String> {
    let git = GitDir::of(checkout)?;
    // The folder of a linked worktree lies in there, too.
    entries::check(&git.common)?;
    let mut settings = Settings::default();
    settings.add(&git.common.join("config"))?;
    let own = git.own.join("config.worktree");
    // Git passes over one that no setting names.
    if !is_missing(&own) && !settings.has_worktree_file {
        return Err("the repository has a config.worktree, and no setting that names it".to_owned());
    }
    // Git stays in the folder where it starts, so that each relative path means another one.
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
    let real = |path: &Path| fs::canonicalize(path).ok();
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
    // Else any `.git` could show the files of any repository.
    if settings.worktrees.is_empty() && git.link == Link::Unchecked {
        return Err("its .git leads to a repository that does not name this folder".to_owned());
    }
    Ok((git, settings))
}

/// The folders with git's own files for one checkout.
struct GitDir {
    own: PathBuf,
    /// Shared by all worktrees of the repository.
    common: PathBuf,
    link: Link,
}

/// How a checkout and its git folder belong together.
#[derive(PartialEq)]
enum Link {
    /// The folder is in the checkout, or names it.
    Checked,
    /// Only a setting can say so.
    Unchecked,
}

impl GitDir {
    /// Those of the checkout, where git takes them for a repository.
    fn of(checkout: &Path) -> Result<Self, String> {
        let git = Self::find(checkout)?;
        if !git.is_valid() {
            return Err("its .git is not a whole repository".to_owned());
        }
        Ok(git)
    }

    /// Those of the checkout, read byte for byte as git does.
    fn find(checkout: &Path) -> Result<Self, String> {
        let dot_git = checkout.join(".git");
        let unusual = || "its .git has a form that git may read otherwise".to_owned();
        let metadata = dot_git.symlink_metadata().map_err(|_| unusual())?;
        if metadata.is_dir() {
            if dot_git.join("commondir").symlink_metadata().is_ok() {
                return Err(unusual());
            }
            Ok(Self { own: dot_git.clone(), common: dot_git, link: Link::Checked })
        } else if metadata.is_file() {
            let text = read_short(&dot_git).ok_or_else(unusual)?;
            let own = text.strip_prefix(b"gitdir: ").and_then(path_of).ok_or_else(unusual)?;
            Self::linked(&dot_git, checkout.join(own)).ok_or_else(unusual)
        } else {
            Err(unusual())
        }
    }

    /// A git folder elsewhere: of a worktree, whose repository has to name this `.git`, or another one.
    fn linked(dot_git: &Path, own: PathBuf) -> Option<Self> {
        let common = own.join("commondir");
        if common.symlink_metadata().is_err() {
            return Some(Self { common: own.clone(), own, link: Link::Unchecked });
        }
        let named = |file: &str| Some(own.join(path_of(&read_short(&own.join(file))?)?));
        let real = |path: PathBuf| fs::canonicalize(path).ok();
        let common = real(named("commondir")?)?;
        let is_of_common = real(own.clone())?.parent() == Some(&common.join("worktrees"));
        let names_this = real(named("gitdir")?)? == real(dot_git.to_owned())?;
        (is_of_common && names_this).then_some(Self { own, common, link: Link::Checked })
    }

    fn index(&self) -> PathBuf {
        self.own.join("index")
    }

    /// Whether git takes the folders for a repository, and all objects in it are its own.
    fn is_valid(&self) -> bool {
        let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let head = self.own.join("HEAD");
        let has_head = head.symlink_metadata().is_ok_and(|found| found.is_file())
            && fs::read(head).is_ok_and(|text| {
                text.starts_with(b"ref: refs/") || is_hash(text.trim_ascii_end())
            });
        let objects = self.common.join("objects");
        let refs = self.common.join("refs");
        // Git passes over a folder that it may not enter, and looks for a repository above it.
        let may_enter = |path: &Path| is_dir(path) && access(path, AccessFlags::X_OK).is_ok();
        has_head
            && may_enter(&refs)
            && may_enter(&objects)
            && is_missing(&objects.join("info/alternates"))
    }
}

/// Whether the system says that there is nothing by this name; it may be kept from telling.
fn is_missing(path: &Path) -> bool {
    path.symlink_metadata()
        .is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// Whether there is no such folder, or nothing in it.
fn is_empty(folder: &Path) -> bool {
    is_missing(folder) || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The content of a file that holds a path, unless it is no regular file or longer than any path.
fn read_short(path: &Path) -> Option<Vec<u8>> {
    let found = path.metadata().ok()?;
    (found.is_file() && found.len() <= MAX_PATH_FILE).then(|| fs::read(path).ok())?
}

/// The path in the file's text: only ends of lines at its end are no part of it.
fn path_of(text: &[u8]) -> Option<PathBuf> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    let text = &text[..end];
    (!text.contains(&0) && !text.contains(&b'\n')).then(|| PathBuf::from(OsStr::from_bytes(text)))
}

#[cfg(test)]
mod tests;
