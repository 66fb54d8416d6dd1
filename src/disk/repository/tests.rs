use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;
use crate::protocol::EnvOverlay;

mod user;

/// A folder of repositories, made by git.
struct RepositoryFixture {
    dir: tempfile::TempDir,
}

impl RepositoryFixture {
    fn new() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        bench.git("", &["init", "-q", "a"]);
        bench.write("a/file", "text\n");
        bench.commit("a");
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, folder: &str, arguments: &[&str]) {
        let user =
            ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
        let output = Command::new("git")
            .args(user)
            .args(arguments)
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn commit(&self, folder: &str) {
        self.git(folder, &["add", "-A"]);
        self.git(folder, &["commit", "-q", "-m", "a"]);
    }

    fn check(&self, folder: &str) -> Result<(), String> {
        self.check_command(folder, true)
    }

    /// The check for a command that shows contents, or for one that does not.
    fn check_command(&self, folder: &str, shows_contents: bool) -> Result<(), String> {
        let home = self.path("home");
        let path = ("PATH", OsStr::new("/usr/bin:/bin"));
        let user = GitConfigPaths::new(&EnvOverlay::from_iter([("HOME", home.as_os_str()), path]));
        check_repository(&self.path(folder), Some(&home), &user, shows_contents)
    }

    fn refuses(&self, folder: &str, words: &str) {
        let why = self.check(folder).expect_err(words);
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn what_git_makes_is_accepted() {
    let bench = RepositoryFixture::new();
    bench.git("", &["init", "-q", "empty"]);
    bench.git("", &["init", "-q", "new", "--object-format=sha256"]);
    bench.write("new/file", "");
    bench.commit("new");
    bench.git("a", &["worktree", "add", "-q", "../w"]);
    bench.git("", &["clone", "-q", "a", "b"]);
    bench.git("b", &["submodule", "--quiet", "add", "../a", "lib"]);
    bench.commit("b");
    fs::create_dir_all(bench.path("a/sub/folder")).unwrap();
    for folder in ["a", "a/sub/folder", "empty", "new", "w", "b", "b/lib"] {
        assert_eq!(bench.check(folder), Ok(()), "{folder}");
    }
    for version in ["2", "3", "4"] {
        bench.git("b", &["update-index", "--index-version", version]);
        assert_eq!(index::commits(&bench.path("b/.git/index"), 20), Ok(vec!["lib".into()]));
    }
}

#[test]
fn settings_count_in_each_file_that_git_reads() {
    let bench = RepositoryFixture::new();
    bench.git("a", &["worktree", "add", "-q", "../w"]);
    bench.git("", &["clone", "-q", "a", "b"]);
    bench.git("b", &["submodule", "--quiet", "add", "../a", "lib"]);
    bench.commit("b");
    bench.git("b/lib", &["config", "filter.x.clean", "y"]);
    bench.refuses("b", "filter.clean");
    bench.refuses("b/lib", "filter.clean");
    bench.write("w/file", "");
    bench.git("w", &["config", "extensions.worktreeConfig", "true"]);
    bench.git("w", &["config", "--worktree", "diff.external", "y"]);
    bench.refuses("w", "diff.external");
    assert_eq!(bench.check("a"), Ok(()));
    bench.git("a", &["config", "diff.external", "y"]);
    bench.refuses("a", "diff.external");
    assert!(check_checkout(&bench.path("a")).is_err());
    bench.git("a", &["config", "--unset", "diff.external"]);
    bench.write("a/.git/hooks/post-index-change", "");
    bench.refuses("a", "post-index-change");
    assert_eq!(check_checkout(&bench.path("a")), Ok(()));
    fs::remove_file(bench.path("a/.git/hooks/post-index-change")).unwrap();
    bench.write("a/.husky/post-index-change", "");
    assert_eq!(bench.check("a"), Ok(()));
    bench.write("home/.gitconfig", "[core]\n\thooksPath = .husky\n");
    bench.refuses("a", "post-index-change");
    bench.write("home/.gitconfig", "[includeIf \"gitdir:~/\"]\n\tpath = ~/more\n");
    bench.write("home/more", "[include]\n\tpath = even/more\n");
    assert_eq!(bench.check("a"), Ok(()));
    bench.write("home/even/more", "[core]\n\thooksPath = .husky\n");
    bench.refuses("a", "post-index-change");
}

#[test]
fn a_git_folder_that_git_may_read_otherwise_or_that_is_anothers_is_refused() {
    let bench = RepositoryFixture::new();
    bench.git("a", &["worktree", "add", "-q", "../w"]);
    fs::create_dir_all(bench.path("a/sub/.git")).unwrap();
    bench.refuses("a/sub", "not a whole repository");
    bench.write("p/file", "");
    for link in ["gitdir: ../a/.git", "gitdir: ../a/.git/worktrees/w\n"] {
        bench.write("p/.git", link);
        assert!(bench.check("p").is_err(), "{link}");
    }
    symlink("/proc/self/cwd", bench.path("p/here")).unwrap();
    for link in
        ["gitdir: /proc/self/cwd/a/.git", "gitdir: here/a/.git", "gitdir: /dev/fd/../cwd/a/.git"]
    {
        bench.write("p/.git", link);
        bench.refuses("p", "its .git has a form");
    }
    for link in ["gitdir: g \n", "gitdir:../a/.git", "gitdir: ../a/.git\nx", "nonsense", ""] {
        bench.write("p/.git", link);
        assert!(bench.check("p").is_err(), "{link:?}");
    }
    fs::remove_file(bench.path("p/.git")).unwrap();
    symlink(bench.path("a/.git"), bench.path("p/.git")).unwrap();
    bench.refuses("p", "its .git has a form");
    // A git folder of the project's own that takes its objects from elsewhere.
    bench.git("", &["init", "-q", "q"]);
    assert_eq!(bench.check("q"), Ok(()));
    bench.write("q/.git/objects/info/alternates", "../../../a/.git/objects\n");
    bench.refuses("q", "not a whole repository");
    fs::remove_file(bench.path("q/.git/objects/info/alternates")).unwrap();
    symlink(bench.path("a/.git/objects/pack"), bench.path("q/.git/objects/00")).unwrap();
    bench.refuses("q", "a symbolic link, \"objects/00\"");
    fs::remove_file(bench.path("q/.git/objects/00")).unwrap();
    bench.write("q/.git/commondir", "../../a/.git");
    bench.refuses("q", "its .git has a form");
    fs::remove_file(bench.path("q/.git/commondir")).unwrap();
    bench.git("q", &["config", "core.worktree", "../../a"]);
    bench.refuses("q", "core.worktree");
    // Behind a link, `..` leads from where the link does.
    symlink(bench.path("a/.git"), bench.path("q/dl")).unwrap();
    bench.git("q", &["config", "core.worktree", "../dl/.."]);
    bench.refuses("q", "core.worktree");
    bench.git("a", &["config", "--file", "../q/.git/config", "core.worktree", ".."]);
    assert_eq!(bench.check("q"), Ok(()));
    bench.git("q", &["config", "core.worktree", "../../a"]);
    // A worktree's folder that only claims to be one.
    let claim = bench.path("c");
    for (file, text) in
        [("HEAD", "ref: refs/heads/x\n"), ("commondir", "../../a/.git\n"), ("gitdir", "../.git\n")]
    {
        bench.write(&format!("c/g/{file}"), text);
    }
    bench.write("c/.git", "gitdir: g\n");
    assert!(check_repository(&claim, None, &GitConfigPaths::default(), true).is_err());
}

#[test]
fn an_index_that_is_not_understood_is_refused() {
    let bench = RepositoryFixture::new();
    bench.git("a", &["update-index", "--split-index"]);
    bench.refuses("a", "git's index");
    bench.write("a/.git/index", "DIRC\0\0\0\u{2}\0\0\0\u{9}");
    bench.refuses("a", "not understood");
    bench.write("a/.git/index", "");
    bench.refuses("a", "not understood");
}

#[test]
fn a_link_to_a_folder_outside_is_found_though_git_does_not_track_it() {
    let bench = RepositoryFixture::new();
    bench.git("", &["init", "-q", "links"]);
    let root = bench.path("links");
    for file in ["links/d/e/f", "out/x"] {
        bench.write(file, "");
    }
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, root.join(at)).unwrap();
    link("d", "inside");
    link("../out/x", "file");
    link("../out/none", "nothing");
    link("../../out", ".git/out");
    assert!(!has_link_out(&root));
    for to in ["../../../out", "../../.git/hooks", "/", "../../inside/../../out"] {
        link(to, "d/e/link");
        assert!(has_link_out(&root), "{to}");
        fs::remove_file(root.join("d/e/link")).unwrap();
    }
    assert!(!has_link_out(&root));
}

#[test]
fn an_entry_behind_a_link_is_found() {
    let bench = RepositoryFixture::new();
    bench.git("", &["init", "-q", "a"]);
    let root = bench.path("a");
    assert!(!has_entry_behind_link(&root));
    assert!(!has_entry_behind_link(&bench.path("")));
    for file in ["a", "d/e/f", "d/g", "x/y/z"] {
        bench.write(&format!("a/{file}"), "");
    }
    std::os::unix::fs::symlink("x", root.join("link")).unwrap();
    bench.git("a", &["add", "."]);
    assert!(!has_entry_behind_link(&root));
    for folder in ["x/y", "x", "d/e", "d"] {
        fs::rename(root.join(folder), bench.path("moved")).unwrap();
        std::os::unix::fs::symlink(bench.path("moved"), root.join(folder)).unwrap();
        assert!(has_entry_behind_link(&root), "{folder}");
        fs::remove_file(root.join(folder)).unwrap();
        assert!(!has_entry_behind_link(&root), "{folder}");
        fs::rename(bench.path("moved"), root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("../elsewhere", root.join("out")).unwrap();
    assert!(!has_entry_behind_link(&root));
    bench.git("a", &["add", "out"]);
    assert!(has_entry_behind_link(&root));
    bench.write("a/.git/index", "DIRC");
    assert!(has_entry_behind_link(&root));
}

#[test]
fn an_index_that_git_reads_otherwise_is_refused() {
    let bench = RepositoryFixture::new();
    let index = bench.path("a/.git/index");
    let plain = fs::read(&index).unwrap();
    assert_eq!(bench.check("a"), Ok(()));
    // The entry of `file`: its name begins at 74 and is padded up to 84.
    let changes: [(usize, &[u8]); 6] = [
        (72, &[0, 1]),
        (79, &[1]),
        (36, &[0, 0, 0x40, 0]),
        (74, b"/ile"),
        (74, b"../x"),
        (74, b".GIT"),
    ];
    for (at, with) in changes {
        let mut bytes = plain.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        fs::write(&index, bytes).unwrap();
        bench.refuses("a", "not understood");
    }
}

#[test]
fn an_index_whose_extensions_lead_elsewhere_is_refused() {
    let bench = RepositoryFixture::new();
    let index = bench.path("a/.git/index");
    bench.git("a", &["config", "index.recordEndOfIndexEntries", "true"]);
    bench.git("a", &["update-index", "--force-write-index"]);
    let plain = fs::read(&index).unwrap();
    assert_eq!(bench.check("a"), Ok(()));
    let at = plain.windows(4).position(|four| four == b"EOIE").unwrap();
    let extension = |name: &[u8], length: u8| {
        let mut bytes = plain[..at].to_vec();
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&[0, 0, 0, length, 1, 2, 3, 4]);
        bytes.extend_from_slice(&plain[at..]);
        bytes
    };
    let mut other_end = plain.clone();
    other_end[at + 11] ^= 0x40;
    // One that git does not write, one that git takes for the whole index, and one that reaches
    // into the checksum.
    for bytes in [other_end, extension(b"ABCD", 4), extension(b"sdir", 4), extension(b"TREE", 60)] {
        fs::write(&index, bytes).unwrap();
        bench.refuses("a", "not understood");
    }
    fs::write(&index, extension(b"TREE", 4)).unwrap();
    assert_eq!(bench.check("a"), Ok(()));
}

#[test]
fn the_length_of_hashes_is_as_git_takes_it() {
    let bench = RepositoryFixture::new();
    let config = bench.path("a/.git/config");
    let plain = fs::read_to_string(&config).unwrap();
    for (more, why) in [
        ("[extensions \"x\"]\n\tobjectformat = sha256\n", "unusual section"),
        ("[core \"x\"]\n\tbare = false\n", "unusual section"),
        ("[extensions]\n\tobjectformat = sha1 # x\n", "unusual value"),
        ("[extensions]\n\tobjectformat = sh\"a1\"\n", "unusual value"),
        ("[extensions]\n\tobjectformat = SHA256\n", "unusual value"),
        ("[extensions]\n\tpartialclone = o # x\n", "unusual value"),
        ("[core]\n\texcludesfile = /etc/passwd\n", "core.excludesfile"),
    ] {
        fs::write(&config, format!("{plain}{more}")).unwrap();
        bench.refuses("a", why);
    }
}

#[test]
fn a_sort_by_signatures_is_refused_as_it_starts_the_program_that_checks_them() {
    let bench = RepositoryFixture::new();
    let check = |kind: &str, value: &str| {
        bench.write("a/.git/config", &format!("[{kind}]\n\tsort = {value}\n"));
        bench.check("a")
    };
    for kind in ["branch", "tag"] {
        for value in ["refname", "-committerdate", "version:refname", "-creatordate:iso8601"] {
            assert_eq!(check(kind, value), Ok(()), "{value}");
        }
        for value in ["signature", "-signature:grade", "*signature", "version:signature"] {
            let why = check(kind, value).unwrap_err();
            assert!(why.contains(&format!("{kind}.sort")), "{why}");
        }
    }
}

#[test]
fn settings_and_files_that_git_reads_otherwise_are_refused() {
    let bench = RepositoryFixture::new();
    let config = bench.path("a/.git/config");
    let plain = fs::read(&config).unwrap();
    for more in [&b"[core]\n\thooksPath = h\xff\n"[..], b"[core]\n\thooksPath = h\0x\n"] {
        fs::write(&config, [&plain[..], more].concat()).unwrap();
        bench.refuses("a", "not plain text");
    }
    fs::write(&config, [&plain[..], b"[core]\n\tworktree = ../x\n\tworktree = ..\n"].concat())
        .unwrap();
    bench.refuses("a", "core.worktree");
    fs::write(&config, [&plain[..], b"[core]\n\tbare = yes\n"].concat()).unwrap();
    bench.refuses("a", "a bare repository");
    fs::write(&config, &plain).unwrap();
    bench.write("a/.git/config.worktree", "[core]\n\tworktree = ..\n");
    bench.refuses("a", "no setting that names it");
    fs::remove_file(bench.path("a/.git/config.worktree")).unwrap();
    fs::create_dir_all(bench.path("a/.git/objects/pack")).unwrap();
    symlink("/nowhere", bench.path("a/.git/objects/pack/pack-0.pack")).unwrap();
    bench.refuses("a", "a symbolic link, \"objects/pack/pack-0.pack\"");
    fs::remove_file(bench.path("a/.git/objects/pack/pack-0.pack")).unwrap();
    bench.git("a", &["config", "remote.o.promisor", "true"]);
    bench.git("a", &["config", "remote.o.url", "https://example.org/a"]);
    bench.refuses("a", "partial clone");
    assert_eq!(check_checkout(&bench.path("a")), Ok(()));
    bench.write("a/.git/remotes/o", "URL: /elsewhere\n");
    bench.refuses("a", "unusual files");
    assert!(check_checkout(&bench.path("a")).is_err());
}

#[test]
fn a_git_folder_holds_files_and_folders_alone() {
    let bench = RepositoryFixture::new();
    bench.git("a", &["worktree", "add", "-q", "../w"]);
    bench.git("", &["clone", "-q", "a", "b"]);
    bench.git("b", &["submodule", "--quiet", "add", "../a", "lib"]);
    bench.commit("b");
    let (text, folder) = (bench.path("a/file"), bench.path("home/out"));
    bench.write("home/out/file", "");
    // As people link their own hooks, and as git's file watcher leaves its socket.
    for hooks in ["a/.git/hooks", "b/.git/modules/lib/hooks"] {
        fs::create_dir_all(bench.path(hooks)).unwrap();
        symlink("../../checks/commit", bench.path(hooks).join("pre-commit")).unwrap();
    }
    let watcher =
        std::os::unix::net::UnixListener::bind(bench.path("a/.git/fsmonitor--daemon.ipc"));
    for checkout in ["a", "w", "b", "b/lib"] {
        assert_eq!(bench.check(checkout), Ok(()), "{checkout}");
    }
    drop(watcher);
    for (checkout, entry, target) in [
        ("a", "a/.git/info/grafts", &text),
        ("a", "a/.git/packed-refs", &text),
        ("a", "a/.git/shallow", &text),
        ("a", "a/.git/new", &text),
        ("a", "a/.git/rebase-apply/head-name", &text),
        ("a", "a/.git/rebase-merge/done", &text),
        ("a", "a/.git/sequencer/todo", &text),
        ("a", "a/.git/logs/refs/heads/new", &text),
        ("a", "a/.git/refs/heads/caliban", &folder),
        ("a", "a/.git/objects/17/0123456789", &text),
        ("a", "a/.git/objects/info/commit-graphs", &folder),
        ("a", "a/.git/modules", &folder),
        ("a", "a/.git/worktrees/w/rebase-merge", &folder),
        ("w", "a/.git/worktrees/w/rebase-merge", &folder),
        ("w", "a/.git/info/grafts", &text),
        ("b", "b/.git/modules/lib/info/grafts", &text),
        ("b/lib", "b/.git/modules/lib/info/grafts", &text),
    ] {
        let entry = bench.path(entry);
        fs::create_dir_all(entry.parent().unwrap()).unwrap();
        symlink(target, &entry).unwrap();
        bench.refuses(checkout, "a symbolic link");
        if checkout != "b" {
            let why = check_checkout(&bench.path(checkout)).unwrap_err();
            assert!(why.contains("a symbolic link"), "{entry:?}: {why}");
        }
        fs::remove_file(&entry).unwrap();
        assert_eq!(bench.check(checkout), Ok(()), "{entry:?}");
    }
    nix::unistd::mkfifo(&bench.path("a/.git/info/grafts"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    bench.refuses("a", "a device, pipe or socket, \"info/grafts\"");
}

#[test]
fn the_roots_around_a_folder_are_its_checkouts_and_those_of_its_worktrees() {
    let bench = RepositoryFixture::new();
    bench.git("a", &["worktree", "add", "-q", "../w"]);
    fs::create_dir_all(bench.path("w/sub")).unwrap();
    let real = |path: &str| fs::canonicalize(bench.path(path)).unwrap();
    assert_eq!(roots_around(&bench.path("w/sub"), None), [real("w"), real("a")]);
    assert_eq!(roots_around(&bench.path("a"), None), [real("a"), real("w")]);
    bench.git("a", &["worktree", "add", "-q", "../v"]);
    assert_eq!(roots_around(&bench.path("v"), None), [real("v"), real("a"), real("w")]);
    // Any repository can name a folder of the user's, which does not name it.
    bench.write("own/.git", "gitdir: /nowhere\n");
    for folder in ["usr/bin", "own"] {
        fs::create_dir_all(bench.path(folder)).unwrap();
        let named = bench.path(folder).join(".git");
        bench.write("a/.git/worktrees/x/gitdir", &format!("{}\n", named.display()));
        assert_eq!(roots_around(&bench.path("a"), None).len(), 3, "{folder}");
    }
    fs::create_dir(bench.path("a/home")).unwrap();
    assert_eq!(roots_around(&bench.path("a"), Some(&bench.path("a/home"))), Vec::<PathBuf>::new());
}

#[test]
fn the_nearest_entry_named_git_bounds_a_checkout_whatever_it_is() {
    let bench = RepositoryFixture::new();
    let [project, dangling, bare] = ["a", "a/dangling", "a/bare"].map(|path| bench.path(path));
    fs::create_dir_all(dangling.join("sub")).unwrap();
    symlink("/nowhere", dangling.join(".git")).unwrap();
    bench.write("a/bare/HEAD", "ref: refs/heads/main\n");
    let around = |dir: &Path| (checkout_around(dir).map(Path::to_owned), checkout_root(dir));
    assert_eq!(around(&dangling.join("sub")), (Some(dangling.clone()), dangling.clone()));
    assert_eq!(repository_root(&dangling.join("sub"), None), Some(dangling.as_path()));
    assert_eq!(around(&bare), (Some(project.clone()), project.clone()));
    assert!(has_own_repository(&project) && !has_own_repository(&bare), "git takes a bare one");
    let outside = bench.path("");
    assert_eq!(around(&outside), (None, outside));
}

#[test]
fn the_branch_is_that_of_the_own_repository_and_nothing_else() {
    let bench = RepositoryFixture::new();
    bench.git("a", &["checkout", "-q", "-b", "fix/größe-#1"]);
    bench.git("a", &["worktree", "add", "-q", "-b", "side", "../b"]);
    bench.git("", &["init", "-q", "-b", "trunk", "--separate-git-dir", "elsewhere", "c"]);
    bench.write("a/src/file", "");
    let branch_of = |folder: &str| branch(&bench.path(folder));
    for folder in ["a", "a/src"] {
        assert_eq!(branch_of(folder).as_deref(), Some("fix/größe-#1"));
    }
    assert_eq!(branch_of("b").as_deref(), Some("side"));
    assert_eq!(branch_of("c"), None, "the folder does not name the checkout");
    bench.git("c", &["config", "core.worktree", bench.path("c").to_str().unwrap()]);
    assert_eq!(branch_of("c").as_deref(), Some("trunk"));
    bench.git("a", &["checkout", "-q", "--detach"]);
    assert_eq!(branch_of("a").unwrap().len(), 12);

    for text in
        ["s3cret-pin", "ref: refs/heads/a b", "ref: refs/heads/a\nb", "ref: refs/x", "", "é"]
    {
        bench.write("a/.git/HEAD", text);
        assert_eq!(branch_of("a"), None, "{text}");
    }
    bench.write("pin", "ref: refs/heads/s3cret");
    fs::remove_file(bench.path("a/.git/HEAD")).unwrap();
    symlink(bench.path("pin"), bench.path("a/.git/HEAD")).unwrap();
    assert_eq!(branch_of("a"), None, "HEAD is a link");
    bench.write("any/HEAD", "ref: refs/heads/s3cret");
    bench.write("d/.git", &format!("gitdir: {}\n", bench.path("any").display()));
    assert_eq!(branch_of("d"), None, "any folder");
}
