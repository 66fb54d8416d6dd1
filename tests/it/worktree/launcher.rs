//! The launcher that confines a program.

use std::path::Path;

use caliban::exec::Sandbox;

use super::{PROGRAM, output};
use crate::support::skip;

#[test]
fn the_launcher_says_what_is_wrong_and_is_not_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let write = folder.path().join("new/folder").display().to_string();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let new = folder.path().join("new").display().to_string();
    let in_read = folder.path().join("new/g").display().to_string();
    let write_there = format!("echo x > {write}/g");
    let in_file = file.display().to_string();
    let below_file = file.join("x").display().to_string();
    let script = format!("echo made > {write}/f");
    if Sandbox::new(Path::new(PROGRAM)).is_some() {
        for (words, code, said) in [
            (vec!["--write", &write, "--", "sh", "-c", &script], 0, ""),
            (vec!["--write", &write, "--", "sh", "-c", "exit 7"], 7, ""),
            (vec!["--write", &write, "--", "no-such-program"], 127, "cannot run no-such-program"),
            (vec!["--write", &write, "--", "/etc/passwd"], 126, "cannot run /etc/passwd"),
            (vec!["--write", &below_file, "--", "true"], 126, "for writing in the sandbox"),
            (
                vec!["--read-only", "--read", &below_file, "--", "true"],
                126,
                "for reading in the sandbox",
            ),
            (vec!["--read-only", "--read", &new, "--", "sh", "-c", "exit 7"], 7, ""),
            (
                vec!["--read-only", "--read", &new, "--", "chmod", "700", &new],
                1,
                "Operation not permitted",
            ),
            (
                vec!["--read-only", "--read", &new, "--write", &write, "--", "touch", &in_read],
                1,
                "Permission denied",
            ),
            (
                vec![
                    "--read-only",
                    "--read",
                    &new,
                    "--write",
                    &write,
                    "--",
                    "sh",
                    "-c",
                    &write_there,
                ],
                0,
                "",
            ),
            (vec!["--read-only", "--", "cat", &in_file], 1, "Permission denied"),
            (vec!["--read", &new, "--", "true"], 2, "required"),
            (vec!["--write", &write], 2, "required"),
        ] {
            let ended = output(PROGRAM, &[vec!["sandbox"], words.clone()].concat());
            let stderr = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(code), "{words:?}: {stderr}");
            assert!(stderr.contains(said), "{words:?}: {stderr}");
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("new/folder/f")).unwrap(), "made\n");
    } else {
        let ended = output(PROGRAM, &["sandbox", "--write", &write, "--", "sh", "-c", &script]);
        assert_eq!(ended.status.code(), Some(126), "not confined is not run");
        assert!(!folder.path().join("new/folder/f").exists());
    }
    let help = output(PROGRAM, &["--help"]);
    assert!(!String::from_utf8_lossy(&help.stdout).contains("sandbox"));
}

#[test]
fn the_launcher_hands_its_own_descriptor_to_nobody() {
    if Sandbox::new(Path::new(PROGRAM)).is_none() {
        return skip(
            "the_launcher_hands_its_own_descriptor_to_nobody",
            "there is no Landlock here",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let write = folder.path().display().to_string();
    let start = "exec 9</dev/null; exec \"$0\" sandbox \"$@\" -- sh -c 'test -e /proc/$$/fd/9'";
    for (launcher, code) in [(vec!["--launcher", "9"], 1), (vec![], 0)] {
        let words = [vec!["-c", start, PROGRAM, "--write", &write], launcher].concat();
        assert_eq!(output("sh", &words).status.code(), Some(code), "{words:?}");
    }
}
