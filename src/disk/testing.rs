//! Runs real git in unit tests, with no settings but those of the repository.

use std::path::Path;
use std::process::Command;

/// Runs git in `dir` and returns its output. Submodules may come from local folders.
pub fn git(dir: &Path, words: &[&str]) -> String {
    let settings = ["user.name=A", "user.email=a@example.com", "protocol.file.allow=always"];
    let output = Command::new("git")
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .args(words)
        .current_dir(dir)
        .env_clear()
        .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nowhere")])
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
