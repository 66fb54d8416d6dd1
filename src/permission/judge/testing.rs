//! A project on disk to judge calls in.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::bounds::ToolBounds;
use super::super::rule::{RuleBase, RuleList, RuleOrigin};
use super::*;
use crate::disk::ProjectFolders;

/// A project on disk, rules, and a mode.
pub struct JudgeFixture {
    pub _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub places: Places,
    pub rules: RuleSet,
    pub mode: PermissionMode,
    pub interactive: bool,
    pub bounds: Vec<BoundRules>,
}

impl JudgeFixture {
    pub fn new() -> Self {
        // Without a dot in its name, which would protect everything outside the working directories.
        let dir = tempfile::Builder::new().prefix("caliban-").tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let git = ["project/.git/objects", "project/.git/refs"];
        for folder in ["project/src", "outside", "home/.ssh"].into_iter().chain(git) {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("project/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let remote = "[remote \"origin\"]\n\turl = https://example.org/project.git\n";
        fs::write(root.join("project/.git/config"), remote).unwrap();
        symlink(root.join("outside"), root.join("project/escape")).unwrap();
        symlink(root.join("outside/new"), root.join("project/src/dangling")).unwrap();
        let places = Places {
            dirs: vec![root.join("project")].into(),
            session: ProjectFolders::new([root.join("project")], Some(&root.join("home"))),
            home: Some(root.join("home")),
            shell_home: Some(root.join("home")),
            project: root.join("project"),
            programs: ["/usr/bin", "/bin"].map(PathBuf::from).into(),
            has_sandbox: true,
            ..Places::default()
        };
        let (rules, mode) = (RuleSet::default(), PermissionMode::Default);
        Self { _dir: dir, root, places, rules, mode, interactive: true, bounds: Vec::new() }
    }

    pub fn rule(mut self, list: RuleList, text: &str) -> Self {
        let base = RuleBase { project: &self.places.project, home: self.places.home.as_deref() };
        let origin = RuleOrigin::File(self.places.project.join(".caliban/config.toml"));
        self.rules.add(list, &[text], &origin, base).unwrap();
        self
    }

    pub fn allow(self, text: &str) -> Self {
        self.rule(RuleList::Allow, text)
    }

    /// Adds rules to the user's settings, which apply to all projects.
    pub fn allow_everywhere(&mut self, rules: &[&str]) {
        let base = RuleBase { project: &self.places.project, home: self.places.home.as_deref() };
        let origin = RuleOrigin::UserFile(self.root.join("home/config.toml"));
        self.rules.add(RuleList::Allow, rules, &origin, base).unwrap();
    }

    pub fn ask(self, text: &str) -> Self {
        self.rule(RuleList::Ask, text)
    }

    pub fn deny(self, text: &str) -> Self {
        self.rule(RuleList::Deny, text)
    }

    pub fn bound(mut self, tools: &[&str], disallowed: &[&str]) -> Self {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let base = RuleBase { project: &self.places.project, home: self.places.home.as_deref() };
        let bounds = ToolBounds::from_lists("scout", Some(&texts(tools)), &texts(disallowed));
        let bound = bounds.read(base);
        self.bounds.extend(bound);
        self
    }

    pub fn mode(mut self, mode: PermissionMode) -> Self {
        self.mode = mode;
        self
    }

    pub fn judge(&self, tool: &str, access: &Access) -> Judgement {
        self.judge_advised(tool, access, HookAdvice::None)
    }

    pub fn judge_advised(&self, tool: &str, access: &Access, advice: HookAdvice) -> Judgement {
        let (id, input) = (ToolUseId::new("c1"), json!({}));
        let cwd = &self.places.project;
        let call = Call { id: &id, tool, input: &input, access, cwd, advice };
        let policy = Policy {
            mode: self.mode,
            rules: &self.rules,
            grants: &[],
            places: &self.places,
            bounds: &self.bounds,
            interactive: self.interactive,
        };
        judge(&policy, &call)
    }

    pub fn bash(&self, line: &str) -> Decision {
        self.bash_judgement(line).decision
    }

    /// Checks that each of these lines is allowed.
    #[track_caller]
    pub fn allows(&self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        self.decides(Decision::Allow, lines);
    }

    /// Checks that each of these lines needs approval.
    #[track_caller]
    pub fn asks(&self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        self.decides(Decision::Ask, lines);
    }

    /// Checks that each of these lines is denied.
    #[track_caller]
    pub fn denies(&self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        self.decides(Decision::Deny, lines);
    }

    #[track_caller]
    fn decides(&self, decision: Decision, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        for line in lines {
            let line = line.as_ref();
            let judgement = self.bash_judgement(line);
            assert_eq!(judgement.decision, decision, "{line}: {}", judgement.why);
        }
    }

    pub fn bash_judgement(&self, line: &str) -> Judgement {
        let cwd = self.places.project.clone();
        self.judge("Bash", &Access::Command { line: line.to_owned(), cwd })
    }

    /// The decision on a line that runs in a folder of the project.
    pub fn bash_in(&self, folder: &str, line: &str) -> Judgement {
        let cwd = self.places.project.join(folder);
        self.judge("Bash", &Access::Command { line: line.to_owned(), cwd })
    }

    pub fn read(&self, path: &str) -> Decision {
        self.judge("Read", &reading(&self.root.join(path))).decision
    }

    pub fn write(&self, path: &str) -> Decision {
        self.judge("Write", &writing(&self.root.join(path))).decision
    }

    pub fn fetch(&self, url: &str) -> Decision {
        self.judge("WebFetch", &Access::Fetch { url: url.to_owned() }).decision
    }
}

pub fn reading(path: &Path) -> Access {
    Access::Read { paths: vec![PathTarget::new(Path::new("/"), path)] }
}

pub fn writing(path: &Path) -> Access {
    Access::Write { paths: vec![PathTarget::new(Path::new("/"), path)] }
}
