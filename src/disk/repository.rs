//! Which repository git would find, and whether its settings make git start programs.

use std::fs;
use std::path::{Path, PathBuf};

/// Keys and sections by which a repository's settings make `git diff`, `log`, `show` or `status` start a program or look
/// elsewhere: filters, drivers for differences, signatures, other files, another working tree.
const PROGRAM_KEYS: [&str; 10] = [
    "clean",
    "command",
    "external",
    "include",
    "includeif",
    "process",
    "program",
    "smudge",
    "textconv",
    "worktree",
];

/// Longer settings are not looked into. Bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// Whether git, started in `dir`, finds a repository by its `.git`. A folder that merely looks like a bare repository
/// can be part of any checkout, and its settings can name programs to run.
#[must_use]
pub fn has_own_repository(dir: &Path) -> bool {
    for folder in dir.ancestors() {
        if folder.join(".git").symlink_metadata().is_ok() {
            return true;
        }
        if folder.join("HEAD").symlink_metadata().is_ok() {
            return false;
        }
    }
    false
}

/// Whether the settings of the repository around `dir` may make git start a program when it only shows something. Goes
/// by the words in them: a name that only looks like such a key counts too.
#[must_use]
pub fn repository_names_programs(dir: &Path) -> bool {
    let Some(folder) = dir.ancestors().find(|folder| folder.join(".git").exists()) else {
        return false;
    };
    let Some(git_dir) = git_dir(folder) else { return true };
    let common = fs::read_to_string(git_dir.join("commondir")).ok();
    let common = common.map_or(git_dir.clone(), |path| git_dir.join(path.trim_end()));
    [common.join("config"), git_dir.join("config.worktree")].iter().any(|path| names_programs(path))
}

/// The folder with git's own files for the checkout in `folder`; `None` when its `.git` cannot be read.
fn git_dir(folder: &Path) -> Option<PathBuf> {
    let link = folder.join(".git");
    if link.is_dir() {
        return Some(link);
    }
    let text = fs::read_to_string(&link).ok()?;
    Some(folder.join(text.trim_end().strip_prefix("gitdir:")?.trim_start()))
}

fn names_programs(config: &Path) -> bool {
    let Ok(metadata) = fs::metadata(config) else { return false };
    let Ok(text) = fs::read_to_string(config) else { return true };
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    metadata.len() > MAX_CONFIG
        || words.any(|word| PROGRAM_KEYS.iter().any(|key| key.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_name_a_program_are_found_in_each_file_that_git_reads() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n";
        write("a/.git/config", plain);
        assert!(!repository_names_programs(&root.join("a")));
        fs::create_dir(root.join("a/sub")).unwrap();
        for setting in [
            "[filter \"x\"]\n\tclean = sh tools/x",
            "[FILTER \"x\"] Process=y",
            "[diff \"x\"]textconv=y",
            "[diff]\nexternal = y",
            "[include]\npath = ../tools/config",
            "[core]\n worktree = /home",
            "[gpg]\nprogram = ./x",
        ] {
            write("a/.git/config", &format!("{plain}{setting}\n"));
            assert!(repository_names_programs(&root.join("a/sub")), "{setting}");
        }
        write("a/.git/config", plain);
        write("a/.git/worktrees/w/commondir", "../..\n");
        write("w/.git", &format!("gitdir: {}\n", root.join("a/.git/worktrees/w").display()));
        assert!(!repository_names_programs(&root.join("w")));
        write("a/.git/worktrees/w/config.worktree", "[diff]\nexternal = y\n");
        assert!(repository_names_programs(&root.join("w")));
        write("w/.git", "nonsense");
        assert!(repository_names_programs(&root.join("w")));
    }
}
