use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::Instant;

use super::*;
use crate::config::lock::LOCK_WAIT;

struct TrustFixture {
    top: tempfile::TempDir,
}

impl TrustFixture {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("repo/.git")).unwrap();
        fs::create_dir_all(top.path().join("repo/sub/inner/.git")).unwrap();
        Self { top }
    }

    fn dirs(&self) -> Dirs {
        let home = self.top.path().join("home");
        Dirs {
            config: home.clone(),
            data: home.join("data"),
            state: home,
            claude: None,
            shared: None,
        }
    }

    /// A process that starts in this folder.
    fn trust(&self, cwd: &str) -> Trust {
        let cwd = self.top.path().join(cwd).canonicalize().unwrap();
        Trust::new(&self.dirs(), &Project::discover(&cwd, None), &cwd)
    }

    fn file(&self) -> PathBuf {
        self.dirs().data.join("trust.json")
    }

    fn put(&self, text: &str) {
        fs::create_dir_all(self.dirs().data).unwrap();
        fs::write(self.file(), text).unwrap();
    }
}

fn thing(what: &str, path: impl Into<PathBuf>) -> UntrustedItem {
    UntrustedItem { what: what.to_owned(), origin: Origin::File { path: path.into(), line: 3 } }
}

#[test]
fn what_was_accepted_counts_in_later_processes_wherever_in_the_project_they_start() {
    let world = TrustFixture::new();
    let hook = thing("hook Stop: ./x.sh", ".claude/settings.json");
    let here = world.trust("repo");
    assert!(!here.accepts(&hook));
    here.accept(std::slice::from_ref(&hook)).unwrap();
    assert!(here.accepts(&hook), "in the process that asked");
    let absolute = world.trust("repo").root().join(".claude/settings.json");
    assert!(world.trust("repo").accepts(&hook));
    assert!(world.trust("repo/sub").accepts(&thing(&hook.what, absolute)));
    for other in [
        thing("hook Stop: ./y.sh", ".claude/settings.json"),
        thing(&hook.what, ".claude/settings.local.json"),
        thing(&hook.what, "sub/.claude/settings.json"),
        thing(&hook.what, "/elsewhere/.claude/settings.json"),
        UntrustedItem { origin: Origin::BuiltIn, ..hook.clone() },
    ] {
        assert!(!world.trust("repo").accepts(&other), "{other:?}");
    }
}

#[test]
fn trust_is_not_inherited_from_a_folder_above_or_below() {
    let world = TrustFixture::new();
    let rule = thing("allow rule Bash", ".caliban/config.toml");
    world.trust("repo").accept(std::slice::from_ref(&rule)).unwrap();
    assert!(!world.trust("repo/sub/inner").accepts(&rule), "a repository of its own");
    assert!(!world.trust(".").accepts(&rule));
    let above = Trust::new(&world.dirs(), &Project::discover(Path::new("/"), None), Path::new("/"));
    above.accept(std::slice::from_ref(&rule)).unwrap();
    assert!(!world.trust("repo/sub/inner").accepts(&rule), "the root of all files");
}

#[test]
fn more_is_added_to_what_was_accepted_and_all_of_it_can_be_taken_back() {
    let world = TrustFixture::new();
    let [one, two] = ["one", "two"].map(|what| thing(what, ".mcp.json"));
    world.trust("repo").accept(std::slice::from_ref(&one)).unwrap();
    world.trust("repo").accept(std::slice::from_ref(&two)).unwrap();
    let other = world.trust("repo/sub/inner");
    other.accept(std::slice::from_ref(&one)).unwrap();
    assert!(world.trust("repo").accepts(&one) && world.trust("repo").accepts(&two));
    let counts: Vec<usize> =
        trusted_projects(&world.dirs()).unwrap().iter().map(|(_, all)| *all).collect();
    assert_eq!(counts, [2, 1]);
    let trust = world.trust("repo");
    assert_eq!((trust.revoke().unwrap(), trust.revoke().unwrap()), (true, false));
    assert!(!trust.accepts(&one) && !world.trust("repo").accepts(&two));
    assert!(world.trust("repo/sub/inner").accepts(&one));
}

#[test]
fn the_file_is_for_its_owner_alone_and_nothing_is_left_beside_it() {
    let world = TrustFixture::new();
    world.trust("repo").accept(&[thing("env KEY: sk-1", ".claude/settings.json")]).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&world.file()), mode(&world.dirs().data)), (0o600, 0o700));
    let mut names: Vec<_> =
        fs::read_dir(world.dirs().data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["trust.json", "trust.lock"]);
}

#[test]
fn a_file_that_is_not_ours_trusts_nothing_says_so_in_one_line_and_is_left_alone() {
    let root = |world: &TrustFixture| world.trust("repo").root().display().to_string();
    let good = |world: &TrustFixture, version: u32| {
        let root = root(world);
        format!(r#"{{"version": {version}, "projects": {{"{root}": {{".mcp.json": ["x"]}}}}}}"#)
    };
    let world = TrustFixture::new();
    world.put(&good(&world, 1));
    let known = thing("x", ".mcp.json");
    assert!(world.trust("repo").accepts(&known), "the form that is broken below");
    let texts = [
        good(&world, 2),
        good(&world, 1).replace("[\"x\"]", "\"x\""),
        good(&world, 1).replace("\"version\"", "\"more\": 1, \"version\""),
        good(&world, 1)[1..].to_owned(),
        String::new(),
        "\u{0}\u{0}".to_owned(),
    ];
    for text in texts {
        world.put(&text);
        let trust = world.trust("repo");
        assert!(!trust.accepts(&known), "{text}");
        let notice = trust.notice(std::slice::from_ref(&known)).unwrap();
        let file = world.file().display().to_string();
        assert!(notice.contains(&file) && notice.contains("fixed or removed"), "{notice}");
        assert_eq!(notice.lines().count(), 1, "{notice}");
        let error = trust.accept(std::slice::from_ref(&known)).unwrap_err();
        assert!(matches!(error, TrustError::Broken { .. }), "{error}");
        assert!(trust.revoke().is_err() && trusted_projects(&world.dirs()).is_err());
        assert_eq!(fs::read_to_string(world.file()).unwrap(), text);
    }
    fs::remove_file(world.file()).unwrap();
    symlink("trust.json", world.file()).unwrap();
    assert!(!world.trust("repo").accepts(&known), "a loop");
    fs::remove_file(world.file()).unwrap();
    fs::create_dir(world.file()).unwrap();
    assert!(!world.trust("repo").accepts(&known), "a folder");
}

#[test]
fn where_nothing_can_be_kept_nothing_counts() {
    let world = TrustFixture::new();
    fs::create_dir_all(world.dirs().data.parent().unwrap()).unwrap();
    fs::write(world.dirs().data, "a file where the folder should be").unwrap();
    let trust = world.trust("repo");
    let hook = thing("hook Stop: ./x.sh", ".claude/settings.json");
    assert!(matches!(trust.accept(std::slice::from_ref(&hook)), Err(TrustError::Lock(_))));
    assert!(!trust.accepts(&hook));
}

#[test]
fn the_notice_names_things_without_what_may_be_secret_and_counts_the_rest() {
    let world = TrustFixture::new();
    let trust = world.trust("repo");
    assert_eq!(trust.notice(&[]), None);
    let mut things = vec![thing("env TOKEN: sk-secret", ".claude/settings.json")];
    let notice = trust.notice(&things).unwrap();
    let root = trust.root().display();
    assert_eq!(
        notice,
        format!(
            "Ignored until you trust it: env TOKEN (.claude/settings.json:3). Run `caliban trust {root}` to accept, `caliban trust --show {root}` to review."
        )
    );
    let forged = thing(&format!("allow rule x\n\u{1b}[31mTrusted{}", "y".repeat(500)), "a");
    let notice = trust.notice(&[forged]).unwrap();
    assert!(notice.contains(r"allow rule x\u{a}\u{1b}[31mTrustedyyy"), "{notice}");
    assert!(notice.lines().count() == 1 && notice.len() < 400, "{notice}");
    things.extend((0..9).map(|number| thing(&format!("env V{number}: x"), "a")));
    let notice = trust.notice(&things).unwrap();
    assert!(notice.contains("env V6 (a:3) and 2 more.") && !notice.contains("V7"), "{notice}");
}

#[test]
fn processes_that_accept_at_the_same_time_lose_nothing() {
    let world = TrustFixture::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let trust = world.trust("repo");
            let hook = thing(&format!("hook {number}"), ".mcp.json");
            scope.spawn(move || trust.accept(&[hook]).unwrap());
        }
    });
    let trust = world.trust("repo");
    assert!((0..8).all(|number| trust.accepts(&thing(&format!("hook {number}"), ".mcp.json"))));
}

#[test]
fn a_process_that_does_not_let_go_is_waited_for_2_seconds_and_its_file_is_named() {
    let world = TrustFixture::new();
    let hook = thing("hook Stop: ./x.sh", ".mcp.json");
    world.put("{\"version\": 1, \"projects\": {}}");
    let path = world.file().with_extension("lock");
    let held = File::create(&path).unwrap();
    held.lock().unwrap();
    let (trust, began) = (world.trust("repo"), Instant::now());
    let error = trust.accept(std::slice::from_ref(&hook)).unwrap_err().to_string();
    assert!(began.elapsed() >= LOCK_WAIT);
    let expected = format!("another process has held {} for 2 s", path.display());
    assert!(error.starts_with(&expected), "{error}");
    assert!(!trust.accepts(&hook));
    drop(held);
    trust.accept(std::slice::from_ref(&hook)).unwrap();
}

fn start(entry: &str, path: impl Into<PathBuf>) -> ProjectStart {
    ProjectStart { entry: entry.to_owned(), origin: Origin::File { path: path.into(), line: 3 } }
}

#[test]
fn an_entry_of_the_users_own_starts_in_the_project_for_which_it_was_accepted_alone() {
    let world = TrustFixture::new();
    let file = world.dirs().config_file();
    let hook = start("hook Stop: ./x.sh", &file);
    let here = world.trust("repo");
    let mut waiting = Vec::new();
    assert_eq!(here.start_dir(hook.clone(), &mut waiting), StartDir::Private);
    assert_eq!(waiting, std::slice::from_ref(&hook));
    here.accept_all(&[], &waiting).unwrap();
    assert!(here.accepts_start(&hook) && world.trust("repo/sub").accepts_start(&hook));
    assert!(!here.accepts_any(), "nothing that the project brings");
    for other in [start("hook Stop: ./y.sh", &file), start(&hook.entry, "/else/config.toml")] {
        assert!(!world.trust("repo").accepts_start(&other), "{other:?}");
    }
    for project in ["repo/sub/inner", "."] {
        assert!(!world.trust(project).accepts_start(&hook), "{project}");
    }
    let line = "hook Stop: ./x.sh (your config.toml) starts in this project";
    let accepted = world.trust("repo").accepted().unwrap();
    assert_eq!(accepted, [(file.display().to_string(), line.to_owned())]);
    assert!(world.trust("repo").revoke().unwrap());
    assert!(!world.trust("repo").accepts_start(&hook));
}

#[test]
fn what_a_project_brings_and_what_the_user_has_are_not_one_thing_also_in_one_file_and_with_one_line()
 {
    let world = TrustFixture::new();
    let file = ".caliban/config.toml";
    let (thing, start) = (thing("hook Stop: ./x.sh", file), start("hook Stop: ./x.sh", file));
    world.trust("repo").accept(std::slice::from_ref(&thing)).unwrap();
    assert!(!world.trust("repo").accepts_start(&start));
    world.trust("repo").revoke().unwrap();
    world.trust("repo").accept_all(&[], std::slice::from_ref(&start)).unwrap();
    assert!(world.trust("repo").accepts_start(&start) && !world.trust("repo").accepts(&thing));
}

#[test]
fn the_notice_of_starts_names_entries_without_what_may_be_secret() {
    let world = TrustFixture::new();
    let trust = world.trust("repo");
    assert_eq!(trust.start_notice(&[]), None);
    let server = start("MCP server x: x (TOKEN=sk-secret)", "/home/ann/config.toml");
    let root = trust.root().display();
    assert_eq!(
        trust.start_notice(&[server]).unwrap(),
        format!(
            "Started in an empty folder, not in this project: MCP server x (/home/ann/config.toml:3). Run `caliban trust {root}` to start them here, `caliban trust --show {root}` to review."
        )
    );
}
