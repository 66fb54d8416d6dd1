use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct IgnoreFixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl IgnoreFixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        let place = Self { _folder: folder, root };
        for (name, text) in files {
            place.write(name, text);
        }
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the files with the ending `.f` that a walk of `folder` finds.
    fn found(&self, folder: &str, ignored: IgnoreFiles) -> String {
        let top = self.root.join(folder);
        let names = walk(&top, ignored, Override::empty()).build().flatten().filter_map(|entry| {
            let name = entry.path().strip_prefix(&top).ok()?.to_str()?.to_owned();
            name.ends_with(".f").then_some(name)
        });
        names.collect::<Vec<_>>().join(" ")
    }

    fn agent(&self, folder: &str) -> String {
        self.found(folder, IgnoreFiles::for_agent(HiddenFiles::default()))
    }

    fn user(&self, folder: &str) -> String {
        let global = GitignoreBuilder::new(&self.root).build().unwrap();
        let ignored = IgnoreFiles { global, ..IgnoreFiles::for_user(&self.root.join(folder)) };
        self.found(folder, ignored)
    }
}

#[test]
fn the_nearest_pattern_decides_and_ignore_comes_before_gitignore() {
    let place = IgnoreFixture::new(&[
        (".gitignore", "\u{feff}a.f\nb.f\n/top.f\nout/\n"),
        (".ignore", "!b.f\nc.f\n"),
        ("sub/.gitignore", "!a.f\nd.f\n"),
        ("sub/.ignore", "e.f\n"),
    ]);
    for name in ["a", "b", "c", "d", "e", "top"] {
        place.write(&format!("{name}.f"), "");
        place.write(&format!("sub/{name}.f"), "");
        place.write(&format!("out/{name}.f"), "");
    }
    assert_eq!(place.agent(""), "b.f d.f e.f sub/a.f sub/b.f sub/top.f");
    assert_eq!(place.agent("sub"), "a.f b.f top.f", "from a folder below");
    assert_eq!(place.agent("out"), "b.f d.f e.f top.f", "an ignored folder that is asked for");
    fs::remove_file(place.root.join("sub/.gitignore")).unwrap();
    assert_eq!(place.agent(""), "b.f d.f e.f sub/b.f sub/d.f sub/top.f");
}

#[test]
fn the_exclude_file_of_a_repository_counts_also_in_its_worktrees() {
    let place = IgnoreFixture::new(&[
        ("main/.git/info/exclude", "a.f\n"),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("w/b.f", ""),
        ("w/a.f", ""),
        ("main/a.f", ""),
        ("main/b.f", ""),
        ("main/c.f", ""),
        ("main/.gitignore", "b.f"),
    ]);
    let root = place.root.display();
    place.write("main/.git/worktrees/w/gitdir", &format!("{root}/w/.git\n"));
    place.write("w/.git", &format!("gitdir: {root}/main/.git/worktrees/w\n"));
    assert_eq!(place.agent("main"), "c.f");
    assert_eq!(place.agent("w"), "b.f");
    place.write("other/a.f", "");
    place.write("other/.git", &format!("gitdir: {root}/main/.git/worktrees/w\n"));
    assert_eq!(place.agent("other"), "a.f", "a repository that does not name the folder");
    fs::rename(place.root.join("main/.git/info/exclude"), place.root.join("list")).unwrap();
    symlink("../../../list", place.root.join("main/.git/info/exclude")).unwrap();
    assert_eq!(place.agent("main"), "a.f c.f");
}

#[test]
fn the_users_list_takes_gits_files_only_from_the_repository_and_leaves_out_dot_files() {
    let place = IgnoreFixture::new(&[
        (".gitignore", "a.f\n"),
        (".ignore", "b.f\n"),
        ("a.f", ""),
        ("repo/.git/HEAD", ""),
        ("repo/.gitignore", "c.f\n!.kept.f\n"),
        ("repo/.other.f", ""),
        ("repo/.kept.f", ""),
        ("repo/a.f", ""),
        ("repo/b.f", ""),
        ("repo/c.f", ""),
    ]);
    assert_eq!(place.user("repo"), ".kept.f a.f");
    assert_eq!(place.agent("repo"), ".kept.f .other.f");
    assert_eq!(place.user(""), "a.f repo/.kept.f repo/a.f", "outside of a repository");
}

#[test]
fn links_and_what_is_no_file_do_not_count() {
    for name in [".ignore", ".gitignore"] {
        let place = IgnoreFixture::new(&[("list", "a.f\n"), ("p/a.f", ""), ("p/b.f", "")]);
        let file = place.root.join("p").join(name);
        for target in ["../list", "list", "/dev/zero", "nowhere"] {
            let _ = fs::remove_file(&file);
            symlink(target, &file).unwrap();
            assert_eq!(place.agent("p"), "a.f b.f", "{name} -> {target}");
            assert_eq!(place.user("p"), "a.f b.f", "{name} -> {target}");
        }
        fs::remove_file(&file).unwrap();
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(place.agent("p"), "a.f b.f", "{name} is a pipe");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(place.agent("p"), "a.f b.f", "{name} is a folder");
    }
}

#[test]
fn a_file_that_is_hidden_from_the_search_does_not_count() {
    let place = IgnoreFixture::new(&[("p/.gitignore", "a.f\n"), ("p/a.f", ""), ("p/b.f", "")]);
    assert_eq!(place.agent("p"), "b.f");
    let hidden = crate::tool::HiddenRules::new(|_, _| |file: &Path| file.ends_with(".gitignore"));
    let ignored = IgnoreFiles::for_agent(hidden.for_reading(&place.root));
    assert_eq!(place.found("p", ignored), "a.f b.f");
}

#[test]
fn the_length_of_all_that_counts_in_a_folder_is_bounded() {
    let long = |bytes: u64| {
        let comment = format!("#{}\n", "x".repeat(998));
        comment.repeat(usize::try_from(bytes / 1000).unwrap())
    };
    let place = IgnoreFixture::new(&[("a/a.f", ""), ("a/b.f", ""), ("b/a.f", "")]);
    place.write(".gitignore", &format!("{}a.f\n", long(MAX_IGNORE_BYTES - 2000)));
    assert_eq!(place.agent(""), "a/b.f");
    place.write("a/.gitignore", &format!("{}b.f\n", long(4000)));
    assert_eq!(place.agent(""), "a/b.f", "no room is left for the second one");
    place.write(".gitignore", "#\n");
    assert_eq!(place.agent(""), "a/a.f b/a.f");
    place.write(".gitignore", &format!("a.f\n{}", long(MAX_IGNORE_BYTES + 2000)));
    assert_eq!(place.agent(""), "a/a.f b/a.f", "too long");
}
