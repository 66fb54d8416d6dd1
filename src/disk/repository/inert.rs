//! Whether any command of git may start what a repository brings, not only one that looks.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::user::{GitConfigPaths, GitSettings, expand};
use super::{
    GitDir, MAX_REPOSITORIES, NO_REPOSITORY, is_empty, is_missing, look_into, own_checkout,
    read_settings, read_short,
};
use crate::disk::{normalize, resolve};
use crate::protocol::printable_line;

/// The steps of a rebase, a revert or a pick that start no program, in full and as one letter.
const STEPS: [&str; 22] = [
    "pick",
    "p",
    "revert",
    "reword",
    "r",
    "edit",
    "e",
    "squash",
    "s",
    "fixup",
    "f",
    "drop",
    "d",
    "noop",
    "label",
    "l",
    "reset",
    "t",
    "update-ref",
    "u",
    "break",
    "b",
];

/// The most folders of a checkout in which repositories are looked for.
const MAX_FOLDERS: usize = 20_000;

/// Checks that no command of git starts a program that the checkout around `dir` names, by its
/// settings or as a hook, nor one of a repository on this machine that the settings lead to. The
/// same for the repositories within.
///
/// # Errors
///
/// Returns the reason why git may start a program, such as a hook.
pub fn check_starts_nothing(
    dir: &Path,
    home: Option<&Path>,
    user_config: &GitConfigPaths,
) -> Result<(), String> {
    let checkout = own_checkout(dir, home)?;
    let users = user_config.settings();
    let mut seen = HashSet::new();
    let mut modules = Vec::new();
    // A command may make a submodule of one that git does not know yet, and look into it.
    for checkout in checkouts_below(checkout)? {
        look_into(&checkout, home, &users)?;
        let git = look_for_programs(&checkout, home, &users)?;
        // Git fills a submodule from its folder in there, with the settings and hooks of that one.
        modules.extend(repositories_below(&git.common.join("modules"))?);
        seen.extend(fs::canonicalize(git.common));
    }
    let mut modules = modules.into_iter().filter_map(|module| fs::canonicalize(module).ok());
    match modules.all(|module| seen.contains(&module)) {
        true => Ok(()),
        false => Err("it has the repository of a submodule that is not checked out".to_owned()),
    }
}

/// The checkout, and all folders below it that have a `.git`. Follows no link.
fn checkouts_below(checkout: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![checkout.to_owned()];
    let mut pending = vec![checkout.to_owned()];
    let mut looked_into = 0;
    while let Some(folder) = pending.pop() {
        looked_into += 1;
        if looked_into > MAX_FOLDERS || found.len() > MAX_REPOSITORIES {
            return Err("the project is too large to look for repositories in it".to_owned());
        }
        // What cannot be read here, git cannot read either.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_name() == ".git" {
                found.extend((folder != checkout).then(|| folder.clone()));
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// Looks at one checkout, and returns where its git files are.
fn look_for_programs(
    checkout: &Path,
    home: Option<&Path>,
    users: &GitSettings,
) -> Result<GitDir, String> {
    let (git, settings) = read_settings(checkout)?;
    settings.check_inert()?;
    // Git takes a name for a remote by these files, and for a path where nothing else has it.
    let mut remotes = ["remotes", "branches"].map(|old| git.common.join(old)).to_vec();
    if !settings.has_remote("origin") {
        remotes.extend(["origin", "origin.git"].map(|name| checkout.join(name)));
    }
    if let Some(remote) = remotes.iter().find(|remote| !is_empty(remote)) {
        let name = printable_line(&remote.to_string_lossy());
        return Err(format!("git may take {name} for a remote, and start its hooks"));
    }
    for folder in ["rebase-merge", "rebase-apply", "sequencer"].map(|name| git.own.join(name)) {
        if !is_plain_sequence(&folder) {
            return Err("it is in the middle of a rebase that may start programs".to_owned());
        }
    }
    let named = settings.hook_folders.iter().map(|path| expand(checkout, home, path));
    let users = users.hook_folders(checkout);
    // What git fills with files may hold a hook the next moment.
    let real = |path: &Path| resolve(&normalize(path));
    let (top, own) = (real(checkout), real(&git.common));
    let (Some(top), Some(own)) = (top, own) else { return Err(NO_REPOSITORY.to_owned()) };
    let is_of_checkout = |folder: &PathBuf| {
        let Some(real) = real(folder) else { return true };
        !real.starts_with(&own) && (real.starts_with(&top) || folder.starts_with(checkout))
    };
    // A folder of the user's elsewhere is the user's own.
    let hooks: Vec<PathBuf> = named.chain([git.common.join("hooks")]).collect();
    if hooks.iter().chain(&users).any(is_of_checkout) {
        return Err("git takes hooks from a folder of the project".to_owned());
    }
    match hooks.iter().all(|folder| has_no_hooks(folder)) {
        true => Ok(git),
        false => Err("it has hooks, which git may start".to_owned()),
    }
}

/// Whether what git has yet to do, by its files in the folder, starts no program: a list may name
/// commands, and the options a strategy, which is a program.
fn is_plain_sequence(folder: &Path) -> bool {
    let is_step = |line: &str| {
        let word = line.split_whitespace().next();
        word.is_none_or(|word| word.starts_with('#') || STEPS.contains(&word))
    };
    let is_plain_list = |name: &str| {
        let file = folder.join(name);
        let text = read_short(&file).and_then(|text| String::from_utf8(text).ok());
        is_missing(&file) || text.is_some_and(|text| text.lines().all(is_step))
    };
    is_missing(folder)
        || ["git-rebase-todo", "todo"].into_iter().all(is_plain_list)
            && ["opts", "strategy", "strategy_opts"]
                .iter()
                .all(|name| is_missing(&folder.join(name)))
}

/// Whether nothing lies in the folder but git's examples.
fn has_no_hooks(folder: &Path) -> bool {
    let is_sample = |name: &OsStr| name.as_bytes().ends_with(b".sample");
    is_missing(folder)
        || fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| is_sample(&entry.file_name())))
        })
}

/// The repositories of submodules, whose names may have several parts.
fn repositories_below(modules: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut pending = vec![modules.to_owned()];
    let mut looked_into = 0;
    while let Some(folder) = pending.pop() {
        looked_into += 1;
        if looked_into > MAX_REPOSITORIES {
            return Err("the repository has too many submodules".to_owned());
        }
        if is_missing(&folder) {
            continue;
        }
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|_| "the repositories of its submodules cannot be read")?;
        match entries.iter().any(|entry| entry.file_name() == "HEAD") {
            true => {
                // A submodule has submodules of its own.
                pending.push(folder.join("modules"));
                found.push(folder);
            }
            false => pending.extend(entries.iter().map(fs::DirEntry::path)),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::protocol::EnvOverlay;

    fn git(dir: &Path, words: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
            .args(["-c", "protocol.file.allow=always"])
            .args(words)
            .current_dir(dir)
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nowhere")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

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
        assert_eq!(check(&project, &nobody), Err("it has hooks, which git may start".to_owned()));
        // Not checked out: git would fill it from there.
        fs::remove_dir_all(project.join("lib")).unwrap();
        fs::create_dir(project.join("lib")).unwrap();
        let why = check(&project, &nobody).unwrap_err();
        assert!(why.contains("a submodule that is not checked out"), "{why}");
        fs::remove_dir_all(&module).unwrap();
        assert_eq!(check(&project, &nobody), Ok(()));
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
    fn a_rebase_under_way_counts_by_its_steps() {
        let root = tempfile::tempdir().unwrap();
        let project = fs::canonicalize(root.path()).unwrap().join("project");
        git(root.path(), &["init", "-q", project.to_str().unwrap()]);
        for (folder, file, text, is_allowed) in [
            ("rebase-merge", "git-rebase-todo", "pick 1234 a\nf 2345 b\n\n# exec x\n", true),
            ("rebase-merge", "git-rebase-todo", "pick 1234 a\nexec x\n", false),
            ("rebase-merge", "git-rebase-todo", "x y\n", false),
            ("rebase-merge", "strategy", "x", false),
            ("sequencer", "todo", "pick 1234 a\n", true),
            ("sequencer", "opts", "[options]\nstrategy = x\n", false),
            ("rebase-apply", "next", "1", true),
        ] {
            let folder = project.join(".git").join(folder);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
            let checked = check(&project, &EnvOverlay::default());
            assert_eq!(checked.is_ok(), is_allowed, "{file}: {text}: {checked:?}");
            fs::remove_dir_all(folder).unwrap();
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
        for folder in [".git/hooks", "../hooks", "checks"] {
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
