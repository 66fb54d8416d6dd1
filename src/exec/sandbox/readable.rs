//! Files that programs need to read besides the user's: the system's programs and libraries, those
//! of the user, and the settings of git. A project can decide nothing here.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::{GitConfigPaths, leads_outside};
use crate::protocol::EnvOverlay;

/// Folders of installed programs and of the files they load.
const SYSTEM_FOLDERS: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix",
    "/gnu",
    "/etc/alternatives",
    "/run/current-system",
];

/// Files that libraries read at startup, or to name users and times.
const SYSTEM_FILES: [&str; 10] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/ld-musl-x86_64.path",
    "/etc/ld-musl-aarch64.path",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/locale.alias",
    "/etc/gitattributes",
];

/// Variables that name folders with the user's own files.
const USERS_FOLDERS: [&str; 5] =
    ["CALIBAN_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// Folders beside a `bin` in which its programs keep the files they load.
const BESIDE_BIN: [&str; 5] = ["lib", "lib64", "libexec", "etc", "Cellar"];

/// Git settings that name a file.
const GIT_FILES: [(&str, &str); 4] = [
    ("core", "excludesfile"),
    ("core", "attributesfile"),
    ("mailmap", "file"),
    ("blame", "ignorerevsfile"),
];

/// Files and folders that may be read wherever a command runs.
#[derive(Debug, Default)]
pub struct ReadableFiles {
    /// Readable with everything below. Programs in there may be started.
    pub folders: Vec<PathBuf>,
    pub files: Vec<PathBuf>,
}

/// Collects the files that the command's environment leads to, including git's if `uses_git`: its
/// settings hold addresses with passwords, which no other program needs. Folders of `PATH` that lie
/// in `working` or hold the user's home do not count.
pub fn files(working: &[PathBuf], env: &EnvOverlay, uses_git: bool) -> ReadableFiles {
    let set = |name: &str| env.get_os(name).filter(|value| !value.is_empty());
    let home = set("HOME").map(PathBuf::from);
    let real_home = home.as_ref().and_then(|home| fs::canonicalize(home).ok());
    let is_for_programs = |folder: &Path| {
        let Ok(real) = fs::canonicalize(folder) else { return false };
        leads_outside(folder, |path| working.iter().any(|working| path.starts_with(working)))
            && !real_home.as_ref().is_some_and(|home| home.starts_with(&real))
    };
    let path: Vec<&Path> = env.program_folders().filter(|folder| is_for_programs(folder)).collect();
    let programs = path.iter().flat_map(|folder| with_libraries(folder, home.as_deref()));
    let mut folders: Vec<PathBuf> = SYSTEM_FOLDERS.into_iter().map(PathBuf::from).collect();
    folders.extend(programs.filter(|folder| is_for_programs(folder)));
    // The user's folders may lie among the programs, as in images whose home is a folder of /opt.
    let named = USERS_FOLDERS.into_iter().filter_map(set);
    let named = named.filter_map(|folder| fs::canonicalize(folder).ok());
    let others: Vec<PathBuf> = working.iter().chain(&real_home).cloned().chain(named).collect();
    let folders = folders.into_iter().flat_map(|folder| without(folder, &others)).collect();
    let mut files: Vec<PathBuf> = SYSTEM_FILES.into_iter().map(PathBuf::from).collect();
    if uses_git {
        // Git has settings beside its folder of programs, too.
        let path = path.iter().map(|folder| folder.as_os_str()).collect::<Vec<_>>();
        files.extend(git_files(&env.with([("PATH", path.join(OsStr::new(":")))])));
    }
    ReadableFiles { folders, files }
}

/// Returns the folder, or its entries except those that lead to one of `others`: files there are
/// the project's or the user's, not installed programs.
fn without(folder: PathBuf, others: &[PathBuf]) -> Vec<PathBuf> {
    let Ok(real) = fs::canonicalize(&folder) else { return Vec::new() };
    if others.contains(&real) {
        return Vec::new();
    }
    let holds_one = others.iter().any(|it| it.starts_with(&real));
    if !holds_one {
        return vec![folder];
    }
    let entries = fs::read_dir(&real).into_iter().flatten().flatten();
    // A link may lead anywhere; its target inside the folder is an entry itself.
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let plain = plain.map(|entry| entry.path()).filter(|entry| !others.contains(entry));
    plain.flat_map(|entry| without(entry, others)).collect()
}

/// Returns a folder of programs, with those beside it that the programs load from.
fn with_libraries(folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    // Everybody's files lie beside `/bin`, and the user's beside `~/bin`.
    let real = |path: &Path| fs::canonicalize(path).ok();
    let is_home =
        |prefix: &Path| home.is_some_and(|home| home == prefix || real(home) == real(prefix));
    let is_prefix = |prefix: &&Path| prefix.parent().is_some() && !is_home(prefix);
    if folder.ends_with("bin")
        && let Some(prefix) = folder.parent().filter(is_prefix)
    {
        folders.extend(BESIDE_BIN.map(|name| prefix.join(name)));
    }
    folders
}

/// Returns git's settings files of the user and the system, and the files that they name.
fn git_files(env: &EnvOverlay) -> Vec<PathBuf> {
    let user = GitConfigPaths::new(env);
    let settings = user.settings();
    let mut files: Vec<_> =
        ["ignore", "attributes"].iter().filter_map(|it| user.file(it)).collect();
    files.extend(settings.files_named_by(&GIT_FILES));
    files.extend(settings.files);
    files
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn programs_lie_outside_of_the_project_and_beside_the_home() {
        let root = TempDir::new().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for folder in ["home/bin", "home/lib", "home/.keys", "project/bin", "brew/bin", "brew/lib"]
        {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("project/bin"), root.join("link")).unwrap();
        // Links beside a project's programs may lead anywhere.
        std::os::unix::fs::symlink("../home/.keys", root.join("project/lib")).unwrap();
        let named = ["home/bin", "home", "project/bin", "link", "brew/bin", "gone/bin", ""];
        let path = named.map(|folder| root.join(folder).display().to_string()).join(":");
        let home = root.join("home").display().to_string();
        let env = EnvOverlay::from_iter([("PATH", format!("{path}:bin")), ("HOME", home)]);
        let readable = files(&[root.join("project")], &env, false);
        let own = readable.folders.iter().filter_map(|folder| folder.strip_prefix(&root).ok());
        let own: Vec<&Path> = own.collect();
        assert_eq!(own, ["home/bin", "brew/bin", "brew/lib"].map(Path::new));
        assert!(readable.folders.iter().all(|folder| folder.is_absolute()));
        for settings in ["project/etc/gitconfig", "brew/etc/gitconfig"] {
            let file = root.join(settings);
            let with_git = files(&[root.join("project")], &env, true).files;
            assert_eq!(with_git.contains(&file), settings.starts_with("brew"), "{settings}");
        }
    }

    #[test]
    fn a_home_among_the_folders_of_the_system_is_none_of_them() {
        for home in
            ["/usr/share", "/opt"].into_iter().filter_map(|home| fs::canonicalize(home).ok())
        {
            let variable = if home.ends_with("opt") { "CALIBAN_HOME" } else { "HOME" };
            let readable = files(&[], &EnvOverlay::from_iter([(variable, &home)]), false);
            assert!(
                readable
                    .folders
                    .iter()
                    .any(|folder| folder.ends_with("usr/bin") || folder.ends_with("usr"))
            );
            assert!(!readable.folders.iter().any(|folder| home.starts_with(folder)));
        }
    }

    #[test]
    fn a_home_behind_a_link_is_the_home() {
        let root = TempDir::new().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for folder in ["users/ann/bin", "users/ann/lib", "users/ann/etc"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("users", root.join("home")).unwrap();
        for (home, bin) in [("home/ann", "users/ann/bin"), ("users/ann", "home/ann/bin")] {
            let [home, bin] = [home, bin].map(|path| root.join(path));
            let env = EnvOverlay::from_iter([("PATH", &bin), ("HOME", &home)]);
            let readable = files(&[], &env, false);
            let own = readable.folders.iter().filter(|folder| folder.starts_with(&root));
            assert_eq!(own.collect::<Vec<_>>(), [&bin]);
        }
    }

    #[test]
    fn no_program_of_a_project_that_lies_among_programs_may_be_started() {
        let root = TempDir::new().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for folder in ["home", "brew/bin", "brew/lib/project/bin", "brew/lib/other"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("brew/lib/libz.so"), "").unwrap();
        for (target, link) in [("project/bin", "brew/lib/link"), ("../../home", "brew/lib/home")] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let path = root.join("brew/bin").display().to_string();
        let env = EnvOverlay::from_iter([("PATH", path.as_str())]);
        let readable = files(&[root.join("brew/lib/project")], &env, false);
        let own = readable.folders.iter().filter_map(|folder| folder.strip_prefix(&root).ok());
        let mut own: Vec<&Path> = own.collect();
        own.sort_unstable();
        assert_eq!(own, ["brew/bin", "brew/lib/libz.so", "brew/lib/other"].map(Path::new));
    }

    #[test]
    fn the_users_git_settings_name_files_but_no_more_settings_than_that() {
        let home = TempDir::new().unwrap();
        let home = home.path();
        let write = |name: &str, text: &str| fs::write(home.join(name), text).unwrap();
        write(".gitconfig", "[include]\npath = a\n[includeIf \"gitdir:x\"]\npath = ~/b\n");
        write("a", "[include]\npath = .gitconfig\n[core]\nexcludesFile = /x/ignore\n");
        write("b", "[core]\nattributesFile = attributes\nsshCommand = /x/ssh\n");
        let env = EnvOverlay::from_iter([("HOME", home)]);
        let readable = files(&[], &env, false);
        assert!(!readable.files.iter().any(|file| file.starts_with(home)));
        let readable = files(&[], &env, true);
        let is_named = |path: PathBuf| readable.files.contains(&path);
        for name in [".gitconfig", "a", "b", "attributes", ".config/git/ignore"] {
            assert!(is_named(home.join(name)), "{name}");
        }
        assert!(is_named("/x/ignore".into()) && !is_named("/x/ssh".into()));
        let own = readable.files.iter().filter(|file| file.ends_with(".gitconfig"));
        assert_eq!(own.count(), 1, "they include one another");
    }
}
