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
    MAX_FOLDERS, MAX_REPOSITORIES, NO_REPOSITORY, checkout_around, drivers, inspect_checkout,
    own_checkout, read_settings,
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

/// Checks that git starts no program when it works in a repository within the checkout around
/// `dir`, as it does once that is a submodule, including those that git does not know yet. Skips
/// those in `trusted` folders.
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
    let others = within.iter().skip(1).filter(|other| !trusted.contains(other));
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
mod tests {
    use super::*;
    use crate::disk::testing::git;
    use crate::protocol::EnvOverlay;

    /// A repository with a submodule `lib`, both with addresses elsewhere.
    fn with_submodule(root: &Path) -> PathBuf {
        let [library, project] = ["library", "project"].map(|name| root.join(name));
        for dir in [&library, &project] {
            git(root, &["init", "-q", "-b", "main", dir.to_str().unwrap()]);
            git(dir, &["commit", "-q", "--allow-empty", "-m", "first"]);
        }
        git(&project, &["submodule", "--quiet", "add", library.to_str().unwrap(), "lib"]);
        git(&project, &["config", "submodule.lib.url", "https://example.org/lib.git"]);
        git(&project.join("lib"), &["remote", "set-url", "origin", "https://example.org/lib.git"]);
        project
    }

    fn check(project: &Path, user: &EnvOverlay) -> Result<(), String> {
        check_starts_nothing(project, None, &GitConfigPaths::new(user))
    }

    #[test]
    fn submodules_start_as_little_as_the_repository_around_them() {
        let root = tempfile::tempdir().unwrap();
        let project = with_submodule(&fs::canonicalize(root.path()).unwrap());
        let nobody = EnvOverlay::default();
        assert_eq!(check(&project, &nobody), Ok(()));
        let module = project.join(".git/modules/lib");
        git(&project.join("lib"), &["config", "core.sshCommand", "x"]);
        let why = check(&project, &nobody).unwrap_err();
        assert!(why.contains("core.sshcommand"), "{why}");
        git(&project.join("lib"), &["config", "--unset", "core.sshCommand"]);
        fs::write(module.join("hooks/post-checkout"), "").unwrap();
        assert_eq!(
            check(&project, &nobody),
            Err("the repository has hooks that git may start, such as post-checkout".to_owned())
        );
        // Not checked out: git would check it out from there.
        fs::remove_dir_all(project.join("lib")).unwrap();
        std::os::unix::fs::symlink(root.path(), project.join("lib")).unwrap();
        let why = check(&project, &nobody).unwrap_err();
        assert!(why.contains("a link in the place of a submodule"), "{why}");
        fs::remove_file(project.join("lib")).unwrap();
        fs::create_dir(project.join("lib")).unwrap();
        let why = check(&project, &nobody).unwrap_err();
        assert!(why.contains("a submodule that is not checked out"), "{why}");
        fs::remove_dir_all(&module).unwrap();
        assert_eq!(check(&project, &nobody), Ok(()));
        // By the name of a submodule, one lies in another.
        fs::create_dir_all(module.join("other/objects")).unwrap();
        fs::write(module.join("other/HEAD"), "").unwrap();
        assert!(check(&project, &nobody).is_err());
    }

    #[test]
    fn a_repository_within_counts_before_git_knows_it() {
        let root = tempfile::tempdir().unwrap();
        let project = fs::canonicalize(root.path()).unwrap().join("project");
        let inner = project.join("a/b");
        git(root.path(), &["init", "-q", project.to_str().unwrap()]);
        git(root.path(), &["init", "-q", inner.to_str().unwrap()]);
        let config = GitConfigPaths::default();
        assert_eq!(check_starts_nothing(&project, None, &config), Ok(()));
        git(&inner, &["config", "filter.x.clean", "x"]);
        let why = check_starts_nothing(&project, None, &config).unwrap_err();
        assert!(why.contains("filter.clean"), "{why}");
    }

    #[test]
    fn settings_of_the_user_lead_nowhere_else() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let project = root.join("project");
        git(&root, &["init", "-q", project.to_str().unwrap()]);
        let user = EnvOverlay::from_iter([("HOME", root.as_path())]);
        let with = |settings: &str| {
            fs::write(root.join(".gitconfig"), settings).unwrap();
            check(&project, &user)
        };
        let blame = "[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n";
        assert_eq!(with(blame), Ok(()));
        fs::write(root.join("secret"), "").unwrap();
        fs::write(project.join("revs"), "").unwrap();
        std::os::unix::fs::symlink("revs", project.join(".git-blame-ignore-revs")).unwrap();
        assert_eq!(with(blame), Ok(()));
        fs::remove_file(project.join("revs")).unwrap();
        std::os::unix::fs::symlink("../secret", project.join("revs")).unwrap();
        let why = with(blame).unwrap_err();
        assert!(why.contains("blame.ignorerevsfile names a link"), "{why}");
        for base in [
            "/srv/",
            "file:",
            "",
            "x:",
            "./a",
            "ext::",
            "ssh://localhost/",
            "git@[::1]:",
            "http://127.0.0.1:3000/",
        ] {
            for key in ["insteadOf", "pushInsteadOf"] {
                let why = with(&format!("[url \"{base}\"]\n\t{key} = work:\n")).unwrap_err();
                assert!(why.contains("a repository on this machine"), "{base}: {why}");
            }
        }
        for base in
            ["git@github.com:", "https://github.com/", "ssh://git@h/", "git://h/", "https://"]
        {
            assert_eq!(with(&format!("[url \"{base}\"]\n\tinsteadOf = gh:\n")), Ok(()), "{base}");
        }
    }

    #[test]
    fn a_remote_without_an_address_is_a_path() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let project = root.join("project");
        git(&root, &["init", "-q", project.to_str().unwrap()]);
        fs::write(root.join(".gitconfig"), "[remote \"up\"]\n\tprune = true\n").unwrap();
        let user = EnvOverlay::from_iter([("HOME", root.as_path())]);
        assert_eq!(check(&project, &user), Ok(()));
        fs::create_dir(project.join("up")).unwrap();
        fs::write(project.join("up/HEAD"), "").unwrap();
        let why = check(&project, &user).unwrap_err();
        assert!(why.contains("project/up for a remote"), "{why}");
        git(&project, &["config", "remote.up.url", "https://example.org/up"]);
        assert_eq!(check(&project, &user), Ok(()));
        git(&project, &["config", "remote.other.fetch", "+refs/heads/*:refs/remotes/o/*"]);
        let why = check(&project, &user).unwrap_err();
        assert!(why.contains("\"other\", which is not a remote with an address"), "{why}");
    }

    #[test]
    fn a_remote_that_the_user_chooses_may_be_a_folder_of_the_project() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let project = root.join("project");
        git(&root, &["init", "-q", project.to_str().unwrap()]);
        let user = EnvOverlay::from_iter([("HOME", root.as_path())]);
        for (setting, folder) in [
            ("[remote]\n\tpushDefault = fork\n", "fork"),
            ("[remote]\n\tpushDefault = fork\n", "fork.git"),
            ("[branch \"main\"]\n\tremote = fork\n", "fork"),
            ("[branch \"main\"]\n\tpushRemote = fork\n", "fork"),
        ] {
            fs::write(root.join(".gitconfig"), setting).unwrap();
            assert_eq!(check(&project, &user), Ok(()));
            fs::create_dir(project.join(folder)).unwrap();
            fs::write(project.join(folder).join("HEAD"), "").unwrap();
            let why = check(&project, &user).unwrap_err();
            assert!(why.contains("for a remote"), "{why}");
            fs::remove_dir_all(project.join(folder)).unwrap();
        }
    }

    #[test]
    fn a_folder_that_cannot_be_listed_may_hold_a_repository() {
        let root = tempfile::tempdir().unwrap();
        let project = fs::canonicalize(root.path()).unwrap().join("project");
        git(root.path(), &["init", "-q", project.to_str().unwrap()]);
        // Root lists every folder; nobody lists a file.
        let links = project.join("f");
        fs::write(&links, "").unwrap();
        assert_eq!(checkouts_below(&project), Ok(vec![project]));
        assert!(checkouts_below(&links).unwrap_err().contains("cannot be listed"));
    }

    #[test]
    fn a_git_folder_among_the_files_of_the_project_is_not_gits_alone() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let project = root.join("project");
        for (store, is_allowed) in [(root.join("store"), true), (project.join("store"), false)] {
            let words = ["init", "-q", "--separate-git-dir", store.to_str().unwrap()];
            git(&root, &[&words[..], &[project.to_str().unwrap()]].concat());
            git(&project, &["config", "core.worktree", project.to_str().unwrap()]);
            let checked = check(&project, &EnvOverlay::default());
            assert_eq!(checked.is_ok(), is_allowed, "{checked:?}");
            fs::remove_dir_all(&project).unwrap();
        }
    }

    #[test]
    fn a_worktree_and_its_place_name_each_other() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let project = with_submodule(&root);
        git(&project, &["worktree", "add", "-q", "../tree"]);
        for checkout in [&project, &root.join("tree")] {
            assert_eq!(check(checkout, &EnvOverlay::default()), Ok(()));
        }
        fs::write(
            project.join(".git/worktrees/tree/gitdir"),
            root.join("x/.git").as_os_str().as_encoded_bytes(),
        )
        .unwrap();
        let why = check(&project, &EnvOverlay::default()).unwrap_err();
        assert!(why.contains("its worktree tree"), "{why}");
    }

    #[test]
    fn what_is_left_of_a_command_counts() {
        let root = tempfile::tempdir().unwrap();
        let project = fs::canonicalize(root.path()).unwrap().join("project");
        git(root.path(), &["init", "-q", "-b", "main", project.to_str().unwrap()]);
        fs::write(project.join("f"), "one").unwrap();
        git(&project, &["add", "f"]);
        git(&project, &["commit", "-qm", "first"]);
        git(&project, &["checkout", "-q", "-b", "other"]);
        git(&project, &["commit", "-q", "--allow-empty", "-m", "second"]);
        git(&project, &["merge", "-q", "--no-commit", "--no-ff", "main"]);
        assert_eq!(check(&project, &EnvOverlay::default()), Ok(()));
        for file in [
            "rebase-apply/apply-opt",
            "rebase-merge/git-rebase-todo",
            "sequencer/todo",
            "MERGE_RR",
            "info/attributes",
        ] {
            let file = project.join(".git").join(file);
            let had_folder = file.parent().unwrap().exists();
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "x").unwrap();
            let why = check(&project, &EnvOverlay::default()).unwrap_err();
            assert!(why.contains("than a clone brings"), "{why}");
            match had_folder {
                true => fs::remove_file(file).unwrap(),
                false => fs::remove_dir_all(file.parent().unwrap()).unwrap(),
            }
        }
    }

    #[test]
    fn hooks_in_the_checkout_count_also_where_the_users_settings_name_them() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let project = root.join("project");
        git(&root, &["init", "-q", project.to_str().unwrap()]);
        fs::create_dir(root.join("hooks")).unwrap();
        fs::write(root.join("hooks/pre-commit"), "").unwrap();
        for (folder, is_allowed) in [(root.join("hooks"), true), (".githooks".into(), false)] {
            let settings = format!("[core]\nhooksPath = {}\n", folder.display());
            fs::write(root.join(".gitconfig"), settings).unwrap();
            let user = EnvOverlay::from_iter([("HOME", root.as_path())]);
            // Also one that is not there: a checkout may bring it.
            assert_eq!(check(&project, &user).is_ok(), is_allowed, "{}", folder.display());
        }
        let nobody = EnvOverlay::default();
        let through_proc = ["/dev/fd/../cwd/hk", "/proc/self/cwd/hk", "/dev/../dev/fd/./../cwd"];
        for folder in [".git/hooks", "../hooks", "checks"].into_iter().chain(through_proc) {
            git(&project, &["config", "core.hooksPath", folder]);
            let checked = check(&project, &nobody);
            assert_eq!(checked.is_ok(), folder == ".git/hooks", "{folder}: {checked:?}");
        }
        git(&project, &["config", "--unset", "core.hooksPath"]);
        fs::remove_dir_all(project.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink("../checks", project.join(".git/hooks")).unwrap();
        assert!(check(&project, &nobody).is_err());
    }
}
