//! The sample project of `caliban demo`: a temporary copy, and the rules that its run needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The script of the demo's model.
pub const SCENARIO: &str = include_str!("../../assets/demo/scenario.toml");

/// The name of the project's folder, which the screen shows.
const PROJECT_NAME: &str = "shop";

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../assets/demo/project/", $path)))),+]
    };
}

const PROJECT_FILES: &[(&str, &str)] = files![
    "AGENTS.md",
    "README.md",
    "bin/price.sh",
    "bin/receipt.sh",
    "data/cart.txt",
    "data/prices.txt",
    "lib/catalog.sh",
    "lib/discount.sh",
    "lib/line.sh",
    "lib/money.sh",
    "tests/run.sh",
];

/// A copy of the sample project. Dropping it removes the copy.
#[derive(Debug)]
pub struct DemoProject {
    root: PathBuf,
    _dir: TempDir,
}

impl DemoProject {
    /// Returns the project's folder: absolute, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The error of writing the copy.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the sample project to {}: {error}; set TMPDIR to a folder that can be written", path.display()
)]
pub struct DemoError {
    path: PathBuf,
    error: io::Error,
}

/// Writes the sample project into a new folder below `temp_root`.
pub fn unpack(temp_root: &Path) -> Result<DemoProject, DemoError> {
    let failed = |path: &Path, error| DemoError { path: path.to_owned(), error };
    let dir = tempfile::Builder::new()
        .prefix("caliban-demo-")
        .tempdir_in(temp_root)
        .map_err(|error| failed(temp_root, error))?;
    let root = dir.path().join(PROJECT_NAME);
    for (name, text) in PROJECT_FILES {
        let path = root.join(name);
        write(&path, text).map_err(|error| failed(&path, error))?;
    }
    let root = root.canonicalize().map_err(|error| failed(&root, error))?;
    Ok(DemoProject { root, _dir: dir })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Returns the allow rules of a demo run. On the screen they exclude the edit, so that one question
/// with its diff is asked; headless nobody could answer it.
pub fn demo_rules(headless: bool) -> Vec<&'static str> {
    let mut rules = vec!["AgentTool", "Bash(bash bin/price.sh tea 10)", "Bash(bash tests/run.sh)"];
    if headless {
        rules.push("Edit(lib/**)");
    }
    rules
}

#[cfg(test)]
mod tests;
