//! A `.git` that came with an unpacked folder: one that makes git run a program, or read what lies
//! elsewhere, is not free to look at, and the same folder without that is.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::run::Run;
use crate::support::scene::{Scene, bash};
use crate::support::script::{text, tool_use};

/// One crafted form of a `.git`.
struct Form {
    name: &'static str,
    /// Prepares the project, in which git has one commit with `file` and `xx/secret`.
    prepare: fn(&Place),
    craft: fn(&Place),
    line: &'static str,
    /// A part of the reason for which the line is denied.
    reason: &'static str,
    effect: Effect,
}

/// The effect of the form when git meets it by itself.
enum Effect {
    /// A program leaves the file `fired`.
    Runs,
    /// The output holds the text of a file outside of the project.
    Shows,
    /// None that this table proves.
    Unproven,
}

const FORMS: &[Form] = &[
    Form {
        name: "an index with a file above the checkout",
        prepare: |_| {},
        craft: |place| place.edit_index(b"xx/secret", b"../secret"),
        line: "git diff",
        reason: "git's index has a form that is not understood",
        effect: Effect::Shows,
    },
    Form {
        name: "an index with a folder that holds a submodule",
        prepare: prepare_submodule,
        craft: hide_submodule,
        line: "git status --short",
        reason: "git's index has a form that is not understood",
        effect: Effect::Runs,
    },
    Form {
        name: "a name that is longer than the index counts",
        prepare: |_| {},
        craft: |place| place.edit_index(b"\x04file", b"\x01file"),
        line: "git status --short",
        reason: "git's index has a form that is not understood",
        effect: Effect::Unproven,
    },
    Form {
        name: "bytes behind a name of the index",
        prepare: |_| {},
        craft: |place| place.edit_index(b"file\0\0", b"file\0x"),
        line: "git status --short",
        reason: "git's index has a form that is not understood",
        effect: Effect::Unproven,
    },
    Form {
        name: "a file in the index that has the name of a git folder",
        prepare: |_| {},
        craft: |place| place.edit_index(b"\x04file", b"\x04.GIT"),
        line: "git status --short",
        reason: "git's index has a form that is not understood",
        effect: Effect::Unproven,
    },
    Form {
        name: "a folder of hooks whose name is no text",
        prepare: |_| {},
        craft: |place| place.add_hooks(b"h\xff", b"h\xff"),
        line: "git status --short",
        reason: "the settings of the repository are not plain text",
        effect: Effect::Runs,
    },
    Form {
        name: "a folder of hooks whose name ends at a NUL",
        prepare: |_| {},
        craft: |place| place.add_hooks(b"h\0x", b"h"),
        line: "git status --short",
        reason: "the settings of the repository are not plain text",
        effect: Effect::Unproven,
    },
    Form {
        name: "settings of a worktree that no setting names",
        prepare: |_| {},
        craft: |place| place.append(".git/config.worktree", b"[core]\n\tworktree = ..\n"),
        line: "git status --short",
        reason: "a config.worktree, and no setting that names it",
        effect: Effect::Unproven,
    },
    Form {
        name: "another working tree, named before the own one",
        prepare: |_| {},
        craft: |place| {
            place.append(".git/config", b"[core]\n\tworktree = ../x\n\tworktree = ..\n");
        },
        line: "git status --short",
        reason: "core.worktree leads to another folder",
        effect: Effect::Unproven,
    },
    Form {
        name: "packs that are links",
        prepare: |_| {},
        craft: link_packs,
        line: "git log -p",
        reason: "its .git holds a symbolic link",
        effect: Effect::Shows,
    },
];

const SECRET: &str = "SECRET-7";

/// A project with a repository, and a file with a secret beside the project.
struct Place {
    scene: Scene,
    project: PathBuf,
    fired: PathBuf,
}

impl Place {
    fn new() -> Self {
        let scene = Scene::new();
        let project = scene.world.project_dir();
        let fired = scene.world.root().join("fired");
        fs::write(scene.world.root().join("secret"), format!("{SECRET}\n")).unwrap();
        let place = Self { scene, project, fired };
        place.init(&place.project, &[("file", "text\n"), ("xx/secret", "a\n")]);
        place
    }

    /// Runs git by itself, with the settings that caliban's commands have.
    fn command(&self, program: &str, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear().env("HOME", self.scene.world.home_dir());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("GIT_CONFIG_COUNT", "2");
        command.env("GIT_CONFIG_KEY_0", "core.fsmonitor").env("GIT_CONFIG_VALUE_0", "false");
        command.env("GIT_CONFIG_KEY_1", "safe.bareRepository");
        command.env("GIT_CONFIG_VALUE_1", "explicit");
        command
    }

    fn output(&self, dir: &Path, words: &[&str]) -> String {
        let user = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        let output = self.command("git", dir).args(user).args(words).output().unwrap();
        assert!(output.status.success(), "git {words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn git(&self, dir: &Path, words: &[&str]) {
        self.output(dir, words);
    }

    /// Makes a repository of these files, with one commit.
    fn init(&self, dir: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = dir.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git(dir, &["init", "-q", "-b", "main"]);
        self.git(dir, &["add", "-A"]);
        self.git(dir, &["commit", "-qm", "first"]);
    }

    /// Replaces bytes that the index has once by as many others.
    fn edit_index(&self, from: &[u8], to: &[u8]) {
        let path = self.project.join(".git/index");
        let mut index = fs::read(&path).unwrap();
        let at = index.windows(from.len()).position(|bytes| bytes == from).unwrap();
        index[at..at + to.len()].copy_from_slice(to);
        fs::write(path, index).unwrap();
    }

    fn append(&self, file: &str, bytes: &[u8]) {
        let path = self.project.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let old = fs::read(&path).unwrap_or_default();
        fs::write(path, [&old[..], bytes].concat()).unwrap();
    }

    /// Names a folder of hooks in the settings. Git starts the hook there when it finds that `file`
    /// is newer than the index says.
    fn add_hooks(&self, setting: &[u8], folder: &[u8]) {
        self.append(".git/config", &[b"[core]\n\thooksPath = ", setting, b"\n"].concat());
        let hook = self.project.join(std::ffi::OsStr::from_bytes(folder)).join("post-index-change");
        fs::create_dir(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", self.fired.display())).unwrap();
        fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
        self.make_older("file");
    }

    fn make_older(&self, file: &str) {
        let file = fs::File::options().write(true).open(self.project.join(file)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }

    /// The result of the line as the only call of a run.
    async fn result(&self, line: &str, prepare: impl FnOnce(Run<'_>) -> Run<'_>) -> (bool, String) {
        let server = &self.scene.server;
        let before = server.requests().len();
        server.when("TASK-1").reply(tool_use("Bash", bash(line))).then(text("ok"));
        let run = prepare(self.scene.world.run(["-p", "TASK-1 go"])).finish().await;
        run.assert_code(0);
        let result = server.requests()[before + 1].tool_result();
        (result.is_error, result.text)
    }

    /// Asserts that git has the effect when it meets the form by itself: else the denial proves nothing.
    fn assert_effect(&self, form: &Form) {
        let words: Vec<&str> = form.line.split(' ').collect();
        let run = || self.command(words[0], &self.project).args(&words[1..]).output().unwrap();
        match form.effect {
            Effect::Runs => {
                let output = run();
                assert!(self.fired.exists(), "{}: {output:?}", form.name);
            }
            Effect::Shows => {
                let output = run();
                assert!(shows(&output), "{}: {output:?}", form.name);
            }
            Effect::Unproven => {}
        }
    }
}

fn shows(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains(SECRET)
}

/// A repository in the folder `d` whose filter runs when git looks whether a file has changed.
fn prepare_submodule(place: &Place) {
    let sub = place.project.join("d/sub");
    place.init(&sub, &[(".gitattributes", "* filter=x\n"), ("t", "t\n")]);
    let filter = format!("touch {}; cat", place.fired.display());
    place.git(&sub, &["config", "filter.x.clean", &filter]);
    place.git(&place.project, &["config", "core.sparseCheckout", "true"]);
    place.make_older("d/sub/t");
}

/// Puts the folder `d` into the index as a whole, so that no entry says that it holds a repository.
fn hide_submodule(place: &Place) {
    let project = &place.project;
    let commit = place.output(&project.join("d/sub"), &["rev-parse", "HEAD"]);
    fs::write(project.join("tree"), format!("160000 commit {commit}\tsub\n")).unwrap();
    let mut make = place.command("git", project);
    make.args(["mktree", "--missing"]).stdin(fs::File::open(project.join("tree")).unwrap());
    let tree = String::from_utf8(make.output().unwrap().stdout).unwrap();
    let entry = format!("100644,{},d_", tree.trim());
    place.git(project, &["update-index", "--add", "--cacheinfo", &entry]);
    place.git(project, &["update-index", "--skip-worktree", "d_"]);
    let path = project.join(".git/index");
    let mut index = fs::read(&path).unwrap();
    let name = index.windows(3).position(|bytes| bytes == b"d_\0").unwrap();
    index[name + 1] = b'/';
    // Behind the mode follow owner, size, hash and flags.
    let mode = name - 4 - 20 - 16;
    index[mode..mode + 4].copy_from_slice(&0o040_000_u32.to_be_bytes());
    // The extension says that the index may hold folders. Git does not check the sum at the end.
    index.truncate(index.len() - 20);
    index.extend_from_slice(b"sdir\0\0\0\0");
    index.extend_from_slice(&[0; 20]);
    fs::write(path, index).unwrap();
}

/// Takes the packs of a repository beside the project, and shows its last commit.
fn link_packs(place: &Place) {
    let other = place.scene.world.root().join("other");
    fs::create_dir(&other).unwrap();
    place.init(&other, &[("file", SECRET)]);
    place.git(&other, &["repack", "-qad"]);
    let pack = place.project.join(".git/objects/pack");
    fs::create_dir_all(&pack).unwrap();
    for file in fs::read_dir(other.join(".git/objects/pack")).unwrap() {
        let file = file.unwrap();
        symlink(file.path(), pack.join(file.file_name())).unwrap();
    }
    let commit = place.output(&other, &["rev-parse", "HEAD"]);
    place.append(".git/refs/heads/other", format!("{commit}\n").as_bytes());
    fs::write(place.project.join(".git/HEAD"), "ref: refs/heads/other\n").unwrap();
}

#[tokio::test]
async fn a_crafted_git_folder_is_not_free_to_look_at() {
    for form in FORMS {
        let place = Place::new();
        (form.prepare)(&place);
        let (is_error, text) = place.result(form.line, |run| run).await;
        assert!(!is_error, "{}, before: {text}", form.name);
        (form.craft)(&place);
        let (is_error, text) = place.result(form.line, |run| run).await;
        assert!(is_error && text.contains(form.reason), "{}: {text}", form.name);
        assert!(!text.contains(SECRET) && !place.fired.exists(), "{}: {text}", form.name);
        place.assert_effect(form);
        place.scene.server.finish();
    }
}

fn by_user(run: Run<'_>) -> Run<'_> {
    run.by_ordinary_user().unwrap()
}

#[tokio::test]
async fn a_git_folder_that_git_may_not_enter_does_not_free_the_one_above() {
    let place = Place::new();
    let root = place.scene.world.root();
    fs::write(root.join("above"), "a\n").unwrap();
    fs::write(root.join(".gitattributes"), "* filter=x\n").unwrap();
    place.git(root, &["init", "-q"]);
    place.git(root, &["add", "above"]);
    let filter = format!("touch {}; cat", place.fired.display());
    place.git(root, &["config", "filter.x.clean", &filter]);
    place.make_older("../above");
    if place.scene.world.run([]).by_ordinary_user().is_none() {
        return;
    }
    let line = "git status --short";
    let (is_error, text) = place.result(line, by_user).await;
    assert!(!is_error && !place.fired.exists(), "before: {text}");
    let refs = place.project.join(".git/refs");
    fs::set_permissions(&refs, PermissionsExt::from_mode(0o600)).unwrap();
    let (is_error, text) = place.result(line, by_user).await;
    assert!(is_error && text.contains("its .git is not a whole repository"), "{text}");
    assert!(!place.fired.exists());
    // By itself git goes on to the repository above.
    let words = ["--reuid=65534", "--regid=65534", "--clear-groups", "git", "status"];
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let mut git = match is_root {
        true => place.command("setpriv", &place.project),
        false => place.command("git", &place.project),
    };
    let output = git.args(if is_root { &words[..] } else { &words[4..] }).output().unwrap();
    fs::set_permissions(&refs, PermissionsExt::from_mode(0o700)).unwrap();
    assert!(place.fired.exists(), "{output:?}");
    place.scene.server.finish();
}
