//! Runs lines in a real bash that can do no harm: in a temporary folder, under the launcher that
//! lets it write nowhere else, and as an ordinary user.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whoever owns nothing. Only root can become this user, and only root needs to.
const NOBODY: u32 = 65_534;

/// Runs each line of a file, in which a zero byte ends a line.
const DRIVER: &str = r#"
while IFS= read -r -d '' line; do
    timeout -k 1 5 bash -c "$line" </dev/null >/dev/null 2>&1
done <"$1"
"#;

/// All files and folders with what is in the files.
type Snapshot = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// A folder with programs, files to read, and a working directory.
pub struct Playground {
    root: tempfile::TempDir,
    launcher: PathBuf,
    is_root: bool,
    before: Snapshot,
}

impl Playground {
    /// Makes the folder. `launcher` is the program whose sub-command `sandbox` confines.
    pub fn new(launcher: &Path) -> Self {
        let root = tempfile::tempdir().unwrap();
        let is_root = std::fs::metadata(root.path()).unwrap().uid() == 0;
        let mut playground =
            Self { root, launcher: launcher.to_owned(), is_root, before: Snapshot::new() };
        for folder in ["project/src", "project/.git/objects", "project/.git/refs", "bin", "temp"] {
            std::fs::create_dir_all(playground.path(folder)).unwrap();
        }
        playground.file("project/a.txt", "needle\n", 0o644);
        playground.file("project/src/a.txt", "needle\n", 0o644);
        playground.file("project/.git/HEAD", "ref: refs/heads/main\n", 0o644);
        playground.file("bin/safe", "#!/bin/sh\n", 0o755);
        let payload = format!("#!/bin/sh\n: >{}/ran.$$\n", playground.path("temp").display());
        playground.file("bin/pwn", &payload, 0o755);
        playground.file("project/pwn", &payload, 0o755);
        if is_root {
            std::fs::set_permissions(playground.root.path(), mode(0o755)).unwrap();
            let files = ["project", "project/a.txt", "project/src", "project/src/a.txt", "temp"];
            let git = [".git", ".git/HEAD", ".git/objects", ".git/refs"]
                .map(|it| format!("project/{it}"));
            for place in files.into_iter().chain(git.iter().map(String::as_str)) {
                chown(playground.path(place), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        playground.before = playground.snapshot();
        playground
    }

    /// The working directory of the lines.
    pub fn project(&self) -> PathBuf {
        self.path("project").canonicalize().unwrap()
    }

    /// Runs the lines one after the other. Says whether anything ran that leaves a mark, or was written.
    pub fn leaves_traces(&self, lines: &[String]) -> bool {
        let mut batch = tempfile::NamedTempFile::new_in(self.root.path()).unwrap();
        for line in lines {
            batch.write_all(line.as_bytes()).unwrap();
            batch.write_all(b"\0").unwrap();
        }
        batch.as_file().set_permissions(mode(0o644)).unwrap();
        let mut command = Command::new(&self.launcher);
        command.args(["sandbox", "--write"]).arg(self.path("project"));
        command.arg("--write").arg(self.path("temp")).arg("--");
        if self.is_root {
            let nobody = NOBODY.to_string();
            command.args(["setpriv", "--reuid", &nobody, "--regid", &nobody, "--clear-groups"]);
        }
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("bin").display());
        let status = command
            .args(["bash", "-c", DRIVER, "driver"])
            .arg(batch.path())
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.path("temp"))
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(status.code().is_some(), "the lines were not run: {status}");
        drop(batch);
        self.restore()
    }

    /// Puts everything back as it was. Says whether anything had changed.
    fn restore(&self) -> bool {
        let now = self.snapshot();
        for (path, content) in now.iter().rev().filter(|(path, _)| !self.before.contains_key(*path))
        {
            match content {
                Some(_) => std::fs::remove_file(path).unwrap(),
                None => std::fs::remove_dir(path).unwrap(),
            }
        }
        for (path, content) in &self.before {
            match content {
                Some(content) if now.get(path) != Some(&Some(content.clone())) => {
                    std::fs::write(path, content).unwrap();
                }
                _ => {}
            }
        }
        now != self.before
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn file(&self, name: &str, content: &str, bits: u32) {
        std::fs::write(self.path(name), content).unwrap();
        std::fs::set_permissions(self.path(name), mode(bits)).unwrap();
    }

    fn snapshot(&self) -> Snapshot {
        let mut found = Snapshot::new();
        collect(self.root.path(), &mut found);
        found
    }
}

fn mode(bits: u32) -> std::fs::Permissions {
    std::fs::Permissions::from_mode(bits)
}

fn collect(folder: &Path, found: &mut Snapshot) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, found);
            found.insert(path, None);
        } else {
            let content = std::fs::read(&path).unwrap_or_default();
            found.insert(path, Some(content));
        }
    }
}
