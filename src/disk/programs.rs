//! Where programs lie.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::resolve;

/// Where package managers of the system put programs: the folders that `PATH` names, and what lies
/// there or what links there lead to. Elsewhere below `/usr`, others may install theirs.
const SYSTEM: [(&[&str], &[&str]); 4] = [
    (
        &["/usr/bin", "/usr/sbin", "/bin", "/sbin"],
        &["/usr/bin", "/usr/sbin", "/usr/lib", "/bin", "/sbin"],
    ),
    (&["/opt/homebrew/bin"], &["/opt/homebrew/Cellar"]),
    (&["/usr/local/bin"], &["/usr/local/Cellar"]),
    (&["/opt/local/bin"], &["/opt/local/bin", "/opt/local/libexec"]),
];

/// Folders in which nothing ever changes, with a folder for each package.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// Whether the program is the system's own. One elsewhere may look for another to start in its
/// place, as those of version managers do.
#[must_use]
pub fn is_of_system(program: &Path) -> bool {
    let (Some(folder), Some(file)) = (program.parent().and_then(resolve), resolve(program)) else {
        return false;
    };
    let lies_in = |path: &Path, folders: &[&str]| folders.iter().any(|it| path.starts_with(it));
    let is_packaged = |(folders, files): &(&[&str], &[&str])| {
        folders.iter().any(|it| folder == Path::new(it)) && lies_in(&file, files)
    };
    SYSTEM.iter().any(is_packaged) || lies_in(&folder, &STORES) && lies_in(&file, &STORES)
}

/// The programs of this name in `folders`, in their order. Bash passes over folders, and over files
/// that it may not run.
pub fn programs_named(
    name: &str,
    folders: impl IntoIterator<Item = PathBuf>,
) -> impl Iterator<Item = PathBuf> {
    let files = folders.into_iter().map(move |folder| folder.join(name));
    files.filter(|file| file.is_file() && access(file, AccessFlags::X_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_count_as_the_systems_only_in_folders_that_packages_fill() {
        assert!(is_of_system(Path::new("/bin/sh")) && is_of_system(Path::new("/usr/bin/git")));
        for path in
            ["/usr/local/share/mise/shims/rg", "/usr/local/bin/rg", "/opt/rg", "/usr/bin/../rg"]
        {
            assert!(!is_of_system(Path::new(path)), "{path}");
        }
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("sh");
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        assert!(!is_of_system(&link), "a link in any other folder");
        assert!(is_of_system(Path::new("/nix/store/x-git-2/bin/git")));
    }
}
