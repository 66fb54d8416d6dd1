//! The folders of system programs.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::resolve::resolve;

/// Folders in which the system's package managers install programs: those that `PATH` names, and
/// the ones that contain the files, links resolved. Elsewhere below `/usr`, others may install
/// theirs.
const SYSTEM_FOLDERS: [(&[&str], &[&str]); 4] = [
    (
        &["/usr/bin", "/usr/sbin", "/bin", "/sbin"],
        &["/usr/bin", "/usr/sbin", "/usr/lib", "/bin", "/sbin"],
    ),
    (&["/opt/homebrew/bin"], &["/opt/homebrew/Cellar"]),
    (&["/usr/local/bin"], &["/usr/local/Cellar"]),
    (&["/opt/local/bin"], &["/opt/local/bin", "/opt/local/libexec"]),
];

/// Immutable stores, with a folder for each package.
const PACKAGE_STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// Whether the program belongs to the system. A program elsewhere may look for another to start in
/// its place, as those of version managers do.
pub fn is_system_program(program: &Path) -> bool {
    let (Some(folder), Some(file)) = (program.parent().and_then(resolve), resolve(program)) else {
        return false;
    };
    let lies_in = |path: &Path, folders: &[&str]| folders.iter().any(|it| path.starts_with(it));
    let is_packaged = |(folders, files): &(&[&str], &[&str])| {
        folders.iter().any(|it| folder == Path::new(it)) && lies_in(&file, files)
    };
    SYSTEM_FOLDERS.iter().any(is_packaged)
        || lies_in(&folder, &PACKAGE_STORES) && lies_in(&file, &PACKAGE_STORES)
}

/// Returns the programs of this name in `folders`, in order. Like bash, skips folders and files
/// that are not executable.
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
        assert!(
            is_system_program(Path::new("/bin/sh")) && is_system_program(Path::new("/usr/bin/git"))
        );
        for path in
            ["/usr/local/share/mise/shims/rg", "/usr/local/bin/rg", "/opt/rg", "/usr/bin/../rg"]
        {
            assert!(!is_system_program(Path::new(path)), "{path}");
        }
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("sh");
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        assert!(!is_system_program(&link), "a link in any other folder");
        assert!(is_system_program(Path::new("/nix/store/x-git-2/bin/git")));
    }
}
