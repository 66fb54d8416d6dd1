//! Memory over real folders.

use std::fs;
use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;

/// A folder with these files; `repo` is a repository, `own` the user's folder, `home` too.
fn world(files: &[(&str, &str)]) -> TempDir {
    let top = tempfile::tempdir().unwrap();
    for folder in ["repo/.git", "own", "home"] {
        fs::create_dir_all(top.path().join(folder)).unwrap();
    }
    for (name, text) in files {
        let path = top.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    top
}

fn read_in(top: &TempDir, dir: &str) -> Memory {
    read_with(top, dir, &[])
}

/// `more` are additional working directories.
fn read_with(top: &TempDir, dir: &str, more: &[&str]) -> Memory {
    read_hiding(top, dir, more, &|file| file.ends_with("hidden.md"))
}

fn read_hiding(
    top: &TempDir,
    dir: &str,
    more: &[&str],
    hides: &dyn Fn(&std::path::Path) -> bool,
) -> Memory {
    let path = |name: &str| top.path().join(name);
    let (dir, own, home) = (path(dir), path("own"), path("home"));
    let claude = home.join(".claude");
    let more: Vec<_> = more.iter().map(|name| path(name)).collect();
    let root = repository_root(&dir, Some(&home)).unwrap_or(&dir).to_owned();
    let sources = MemorySources {
        scope: &ProjectScope::new(&[dir.clone(), root], &more).within_checkouts(Some(&home)),
        dir: &dir,
        own: &own,
        claude: Some(&claude),
        home: Some(&home),
        project: true,
        local: true,
    };
    Memory::read(&sources, hides)
}

fn read(top: &TempDir) -> Memory {
    read_in(top, "repo")
}

/// Returns the files that count, and the notices, without the folder's name.
fn told(memory: &Memory, top: &TempDir) -> (Vec<String>, Vec<String>) {
    let plain = |text: String| text.replace(&format!("{}/", top.path().display()), "");
    let files = memory.sections.iter().map(|section| plain(section.path.display().to_string()));
    (files.collect(), memory.notices.iter().cloned().map(plain).collect())
}

#[test]
fn memory_goes_from_the_person_over_the_repository_root_down_to_the_working_directory() {
    let top = world(&[
        ("AGENTS.md", "outside"),
        ("repo/AGENTS.md", "general"),
        ("repo/CLAUDE.md", "general"),
        ("repo/crate/CLAUDE.md", "special"),
        ("repo/crate/.claude/CLAUDE.md", "folder"),
        ("repo/crate/CLAUDE.local.md", "mine here"),
        ("own/AGENTS.md", "mine"),
        ("home/.claude/CLAUDE.md", "brought along"),
    ]);
    let memory = read_in(&top, "repo/crate");
    let expected = [
        "own/AGENTS.md",
        "home/.claude/CLAUDE.md",
        "repo/AGENTS.md",
        "repo/crate/CLAUDE.md",
        "repo/crate/.claude/CLAUDE.md",
        "repo/crate/CLAUDE.local.md",
    ];
    assert_eq!(told(&memory, &top), (expected.map(str::to_owned).to_vec(), vec![]));
    assert!(memory.text().starts_with("# Project instructions\n\n## "), "{}", memory.text());
    fs::remove_dir(top.path().join("repo/.git")).unwrap();
    let outside = told(&read_in(&top, "repo/crate"), &top).0;
    assert!(!outside.contains(&"repo/AGENTS.md".to_owned()), "outside of a repository");
}

#[test]
fn two_names_of_one_file_and_files_that_import_each_other_count_once() {
    let top =
        world(&[("repo/AGENTS.md", "say please\n"), ("repo/sub/CLAUDE.md", "@../AGENTS.md\n")]);
    symlink("AGENTS.md", top.path().join("repo/CLAUDE.md")).unwrap();
    let only = vec!["repo/AGENTS.md".to_owned()];
    assert_eq!(told(&read_in(&top, "repo/sub"), &top), (only, vec![]));
    let top = world(&[("repo/AGENTS.md", "A @CLAUDE.md"), ("repo/CLAUDE.md", "B\n\n@AGENTS.md")]);
    let files = ["repo/AGENTS.md", "repo/CLAUDE.md"].map(str::to_owned).to_vec();
    let circle =
        "repo/CLAUDE.md:3: @AGENTS.md was not read: the files import each other; each is read once";
    assert_eq!(told(&read(&top), &top), (files, vec![circle.to_owned()]));
}

#[test]
fn imports_are_relative_to_their_file_and_go_five_deep() {
    let top = world(&[
        ("repo/AGENTS.md", "@docs/1.md"),
        ("repo/docs/1.md", "one @2.md"),
        ("repo/docs/2.md", "two @./3.md"),
        ("repo/docs/3.md", "three @more/4.md"),
        ("repo/docs/more/4.md", "four @../5.md"),
        ("repo/docs/5.md", "five @6.md"),
        ("repo/docs/6.md", "six"),
    ]);
    let memory = read(&top);
    let (files, notices) = told(&memory, &top);
    let expected = ["1.md", "2.md", "3.md", "more/4.md", "5.md"];
    assert_eq!(files, expected.map(|name| format!("repo/docs/{name}")));
    assert_eq!(notices, ["repo/docs/5.md:1: @6.md was not read: imports may nest only 5 deep"]);
    let repo = top.path().join("repo").display().to_string();
    assert!(
        memory.text().contains(&format!("## {repo}/docs/2.md (imported by {repo}/docs/1.md)\ntwo")),
        "{}",
        memory.text()
    );
}

#[test]
fn a_project_brings_in_nothing_from_outside_of_it_and_a_person_what_they_like() {
    let secret = ("home/notes.md", "NOTES");
    let top = world(&[secret, ("repo/AGENTS.md", "x @~/notes.md\n@../home/notes.md @docs/out.md")]);
    fs::create_dir(top.path().join("repo/docs")).unwrap();
    symlink("../../home/notes.md", top.path().join("repo/docs/out.md")).unwrap();
    let (files, notices) = told(&read(&top), &top);
    assert_eq!(files, ["repo/AGENTS.md"]);
    let why = "it lies outside the project, which may not import it";
    assert_eq!(
        notices,
        [
            format!("repo/AGENTS.md:1: @~/notes.md was not read: {why}"),
            format!("repo/AGENTS.md:2: @../home/notes.md was not read: {why}"),
            "repo/AGENTS.md:2: @docs/out.md was not read: it is a link that leads out of the project".to_owned(),
        ]
    );
    let top = world(&[
        secret,
        ("own/CLAUDE.md", "x @~/notes.md @../repo/deep.md"),
        ("repo/deep.md", "y @../home/else.md"),
        ("home/else.md", "ELSE"),
    ]);
    let (files, notices) = told(&read(&top), &top);
    assert_eq!(files, ["own/CLAUDE.md", "home/notes.md", "repo/deep.md"]);
    assert_eq!(notices, [format!("repo/deep.md:1: @../home/else.md was not read: {why}")]);
}

#[test]
fn a_file_of_an_additional_directory_brings_in_no_more_than_one_of_the_project() {
    let top = world(&[
        ("own/CLAUDE.md", "x @../notes/agents.md"),
        ("notes/agents.md", "y @../home/key @more.md"),
        ("notes/more.md", "MORE"),
        ("home/key", "KEY"),
    ]);
    symlink("../notes/linked.md", top.path().join("own/AGENTS.md")).unwrap();
    fs::write(top.path().join("notes/linked.md"), "z @../home/key").unwrap();
    let (files, _) = told(&read(&top), &top);
    assert!(files.contains(&"home/key".to_owned()), "{files:?}");
    let (files, notices) = told(&read_with(&top, "repo", &["notes"]), &top);
    assert!(files.iter().any(|file| file == "notes/more.md"), "{files:?}");
    assert!(!files.iter().any(|file| file == "home/key"), "{files:?}");
    assert_eq!(notices.len(), 2, "{notices:?}");
}

#[test]
fn a_link_of_the_project_leads_a_file_of_the_users_no_further_than_one_of_its_own() {
    let link = |top: &TempDir, target: &str, link: &str| {
        symlink(target, top.path().join(link)).unwrap();
    };
    let own = ("own/CLAUDE.md", "x @../repo/rules.md @../repo/ai/key @../repo/fine.md");
    let top = world(&[own, ("repo/deep/fine.md", "FINE"), ("home/key", "KEY"), ("home/k", "K")]);
    link(&top, "../home/key", "repo/rules.md");
    link(&top, "../home", "repo/ai");
    link(&top, "deep/fine.md", "repo/fine.md");
    link(&top, "../repo/ai/k", "own/AGENTS.md");
    let (files, notices) = told(&read(&top), &top);
    assert_eq!(files, ["own/CLAUDE.md", "repo/fine.md"]);
    let why = "was not read: it is a link that leads out of the project";
    assert_eq!(
        notices,
        [
            format!("own/AGENTS.md {why}"),
            format!("own/CLAUDE.md:1: @../repo/rules.md {why}"),
            format!("own/CLAUDE.md:1: @../repo/ai/key {why}"),
        ]
    );
    // Also in the checkout around an additional directory.
    let top =
        world(&[("own/CLAUDE.md", "x @../other/rules.md @../other/up.md"), ("home/key", "KEY")]);
    for folder in ["other/.git", "other/pkg"] {
        fs::create_dir_all(top.path().join(folder)).unwrap();
    }
    fs::write(top.path().join("other/plain.md"), "PLAIN @../home/key").unwrap();
    link(&top, "../home/key", "other/rules.md");
    link(&top, "plain.md", "other/up.md");
    let (files, _) = told(&read_with(&top, "repo", &["other/pkg"]), &top);
    assert_eq!(files, ["own/CLAUDE.md", "other/up.md"]);
    // In the home, the user's own links lie in the project.
    let top = world(&[("elsewhere/rules.md", "RULES")]);
    fs::create_dir_all(top.path().join("home/.claude")).unwrap();
    link(&top, "../../elsewhere/rules.md", "home/.claude/CLAUDE.md");
    let (files, notices) = told(&read_in(&top, "home"), &top);
    assert_eq!((files, notices), (vec!["home/.claude/CLAUDE.md".to_owned()], vec![]));
}

#[test]
fn a_checkout_that_the_user_imports_from_brings_in_its_own_files_alone() {
    let top = world(&[
        ("own/CLAUDE.md", "x @../clone/n.md @../clone/l.md"),
        ("clone/n.md", "n @../home/key @more.md"),
        ("clone/more.md", "MORE"),
        ("home/key", "KEY"),
    ]);
    fs::create_dir_all(top.path().join("clone/.git")).unwrap();
    symlink("../home/key", top.path().join("clone/l.md")).unwrap();
    let (files, notices) = told(&read(&top), &top);
    assert_eq!(files, ["own/CLAUDE.md", "clone/n.md", "clone/more.md"]);
    let why = "was not read: it is outside the checkout that brings it in";
    let expected = [
        format!("clone/n.md:1: @../home/key {why}"),
        format!("own/CLAUDE.md:1: @../clone/l.md {why}"),
    ];
    assert_eq!(notices, expected);
}

#[test]
fn what_is_no_readable_text_is_one_line_each() {
    let top = world(&[
        ("repo/AGENTS.md", "x @docs @gone.md @alice @image @hidden.md @pipe"),
        ("repo/docs/x", ""),
        ("repo/image", "\u{0}PNG"),
        ("repo/hidden.md", "HIDDEN"),
        ("repo/CLAUDE.md/folder", ""),
    ]);
    let mode = nix::sys::stat::Mode::S_IRWXU;
    nix::unistd::mkfifo(&top.path().join("repo/pipe"), mode).unwrap();
    nix::unistd::mkfifo(&top.path().join("repo/CLAUDE.local.md"), mode).unwrap();
    fs::write(top.path().join("own/AGENTS.md"), b"fine\nbroken \xff here").unwrap();
    let memory = read(&top);
    let (files, notices) = told(&memory, &top);
    assert_eq!(files, ["own/AGENTS.md", "repo/AGENTS.md"]);
    let import = |path: &str, why: &str| format!("repo/AGENTS.md:1: @{path} was not read: {why}");
    assert_eq!(
        notices,
        [
            "own/AGENTS.md:2: not valid UTF-8: unreadable bytes show as �".to_owned(),
            import("docs", "it is not a regular file"),
            import("gone.md", "there is no such file"),
            import("image", "it is not text"),
            import("hidden.md", "a permission rule denies it or asks about it"),
            import("pipe", "it is not a regular file"),
            "repo/CLAUDE.md was not read: it is not a regular file".to_owned(),
            "repo/CLAUDE.local.md was not read: it is not a regular file".to_owned(),
        ]
    );
    assert!(memory.text().contains("broken � here"));
}

#[test]
fn a_hidden_name_is_not_read_wherever_it_leads() {
    let top = world(&[("repo/AGENTS.md", "x @hidden.md"), ("repo/notes.md", "NOTES")]);
    symlink("notes.md", top.path().join("repo/hidden.md")).unwrap();
    let memory = read(&top);
    let (files, notices) = told(&memory, &top);
    assert_eq!((files, notices.len()), (vec!["repo/AGENTS.md".to_owned()], 1), "{notices:?}");
}

#[test]
fn a_device_or_a_link_that_leads_out_of_the_repository_is_not_read() {
    let top = world(&[("key", "secret")]);
    symlink("../key", top.path().join("repo/AGENTS.md")).unwrap();
    symlink("/dev/zero", top.path().join("repo/CLAUDE.md")).unwrap();
    let memory = read(&top);
    assert_eq!((memory.text(), memory.notices.len()), (String::new(), 2));
}

#[test]
fn long_files_are_cut_and_all_together_stay_below_the_limit() {
    let long = |letter: &str| letter.repeat(40 * 1024 / letter.len());
    let top = world(&[("repo/AGENTS.md", &long("é"))]);
    let memory = read(&top);
    assert!(memory.text().len() <= 32 * 1024 + 200);
    let cut = "repo/AGENTS.md is long: only its first 32 KB are used";
    assert_eq!(told(&memory, &top).1, [cut]);
    let imports: String = (0..6).map(|number| format!("@{number}.md ")).collect();
    let files: Vec<(String, String)> =
        (0..6).map(|number| (format!("repo/{number}.md"), long(&number.to_string()))).collect();
    let mut files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("repo/AGENTS.md", &imports));
    let memory = read(&world(&files));
    assert!(memory.text().len() <= 128 * 1024 + 1000, "{}", memory.text().len());
    assert!(memory.notices.iter().any(|notice| notice.ends_with("already take 128 KB")));
}

#[test]
fn a_change_of_any_file_shows_and_its_text_alone_is_news() {
    let top = world(&[
        ("repo/AGENTS.md", "one @gone.md @part.md"),
        ("repo/part.md", "PART"),
        ("own/AGENTS.md", "mine"),
    ]);
    let before = read(&top);
    assert!(before.is_current());
    assert_eq!(before.update_since(&before), None);
    for (file, text) in [("repo/part.md", "NEW PART"), ("repo/gone.md", "CAME"), ("repo/sub", "")] {
        let old = read(&top);
        fs::write(top.path().join(file), text).unwrap();
        assert_eq!(old.is_current(), file == "repo/sub", "{file}");
    }
    fs::remove_file(top.path().join("own/AGENTS.md")).unwrap();
    let now = read(&top);
    let news = now.update_since(&before).unwrap();
    for (part, there) in [("NEW PART", true), ("CAME", true), ("one @gone", false), ("mine", false)]
    {
        assert_eq!(news.contains(part), there, "{part}: {news}");
    }
    assert!(news.ends_with("own/AGENTS.md no longer apply.]"), "{news}");
    assert_eq!(now.changed_since(&before).len(), 3);
}

#[test]
fn imports_and_lines_about_them_are_counted() {
    let missing: String = (0..600).map(|number| format!("@./gone{number} ")).collect();
    let files = [("repo/AGENTS.md", &*missing), ("repo/CLAUDE.md", &*format!("x {missing}"))];
    let memory = read(&world(&files));
    assert_eq!(memory.notices.len(), 21);
    assert_eq!(memory.notices[20], "981 more notices about memory files");
}

#[test]
fn a_file_that_becomes_a_link_after_the_check_is_not_read() {
    let top = world(&[
        ("repo/AGENTS.md", "project @notes.md @m/style.md"),
        ("repo/notes.md", "notes"),
        ("repo/m/style.md", "style"),
        ("secret/style.md", "secret"),
    ]);
    // The permission rules are asked between the check of a link and the reading.
    let swap = |file: &std::path::Path| {
        let [notes, folder] = ["repo/notes.md", "repo/m"].map(|path| top.path().join(path));
        let (place, target) = match file {
            _ if file == notes => (notes, top.path().join("secret/style.md")),
            _ if file == folder.join("style.md") => (folder, top.path().join("secret")),
            _ => return false,
        };
        if !place.is_symlink() {
            fs::rename(&place, place.with_extension("old")).unwrap();
            symlink(target, &place).unwrap();
        }
        false
    };
    let memory = read_hiding(&top, "repo", &[], &swap);
    let why = "was not read: it became a symbolic link after it was checked; try again";
    let notices =
        ["@notes.md", "@m/style.md"].map(|import| format!("repo/AGENTS.md:1: {import} {why}"));
    assert_eq!(told(&memory, &top), (vec!["repo/AGENTS.md".to_owned()], notices.to_vec()));
}

#[test]
fn a_link_in_a_checkout_leads_not_into_another_one() {
    let top = world(&[
        ("own/AGENTS.md", "mine @~/clone/notes/a.md @~/clone/other/b.md"),
        ("home/clone/.git/HEAD", ""),
        ("home/clone/text/a.md", "theirs"),
        ("home/private/.git/HEAD", ""),
        ("home/private/b.md", "secret"),
    ]);
    symlink("text", top.path().join("home/clone/notes")).unwrap();
    symlink("../private", top.path().join("home/clone/other")).unwrap();
    let (files, notices) = told(&read(&top), &top);
    assert_eq!(files, ["own/AGENTS.md", "home/clone/notes/a.md"]);
    let why = "was not read: it is outside the checkout that brings it in";
    assert_eq!(notices, [format!("own/AGENTS.md:1: @~/clone/other/b.md {why}")]);
}
