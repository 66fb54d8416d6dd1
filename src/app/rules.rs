//! The configured rules, also when a file of the configuration changes while agents run.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Setup;
use crate::config::{
    self, Dirs, Inert, Loaded, Overrides, PermissionsConfig, Project, Sources, Trust,
};
use crate::permission::{Base, List, Origin, RuleError, RuleSet, RuleSource};
use crate::protocol::{EnvOverlay, EventSink, NoticeLevel, RuleFile};

/// How the files that may hold rules were when they were last looked at, whether they were there or not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen(Vec<(PathBuf, Option<Stamp>)>);

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    /// Bytes.
    length: u64,
    /// When its text last changed, and when its record did. Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Seen {
    /// Looks at the person's file and at the two of the project; opens none.
    pub fn of(dirs: &Dirs, project: &Project) -> Self {
        let project = [RuleFile::Shared, RuleFile::Local].map(|file| project.file(file));
        let files = std::iter::once(dirs.config_file()).chain(project);
        let with_stamp = |file: PathBuf| {
            let stamp = Stamp::of(&file);
            (file, stamp)
        };
        Self(files.map(with_stamp).collect())
    }

    /// Looks again: whether any of the files has changed.
    fn renew(&mut self) -> bool {
        let mut changed = false;
        for (file, seen) in &mut self.0 {
            let now = Stamp::of(file);
            changed |= std::mem::replace(seen, now) != now;
        }
        changed
    }
}

impl Stamp {
    /// A file that cannot be looked at counts as absent: reading it will tell.
    fn of(file: &Path) -> Option<Self> {
        file.metadata().ok().as_ref().map(Self::from)
    }
}

impl From<&Metadata> for Stamp {
    fn from(of: &Metadata) -> Self {
        Self {
            device: of.dev(),
            inode: of.ino(),
            length: of.len(),
            modified: (of.mtime(), of.mtime_nsec()),
            changed: (of.ctime(), of.ctime_nsec()),
        }
    }
}

/// A configured rule that cannot be read, and the line where it stands.
#[derive(Debug, thiserror::Error)]
#[error("{at}: permission rule `{}`: {}", error.rule, error.problem)]
pub(super) struct BadRule {
    pub at: config::Origin,
    pub error: RuleError,
}

/// The files with rules, and all that it takes to read them as at the start.
pub(super) struct RuleFiles {
    cwd: Arc<Path>,
    env: EnvOverlay,
    dirs: Dirs,
    overrides: Overrides,
    /// That of the start: a new file nearer to the working directory must not hide the restrictions of this one.
    project: Project,
    trust: Trust,
    /// What did nothing at the last look, because the person has not accepted it.
    inert: Vec<Inert>,
    home: Option<PathBuf>,
    seen: Seen,
    events: EventSink,
}

impl RuleFiles {
    /// The files that a program was set up with.
    pub fn of(setup: &Setup, events: EventSink) -> Self {
        Self {
            cwd: setup.cwd.clone(),
            env: setup.env.clone(),
            dirs: setup.dirs.clone(),
            overrides: setup.overrides.clone(),
            project: setup.loaded.project.clone(),
            trust: setup.trust.clone(),
            inert: setup.loaded.inert.clone(),
            home: setup.home(),
            seen: setup.seen.clone(),
            events,
        }
    }

    /// The rules of a configuration, each with the place where it stands.
    pub fn rules(&self, loaded: &Loaded) -> Result<RuleSet, BadRule> {
        let base = Base { project: &self.project.config_root, home: self.home.as_deref() };
        let PermissionsConfig { allow, ask, deny, .. } = &loaded.config.permissions;
        let mut rules = RuleSet::default();
        for (list, name, entries) in
            [(List::Allow, "allow", allow), (List::Ask, "ask", ask), (List::Deny, "deny", deny)]
        {
            for (index, entry) in entries.iter().enumerate() {
                let at = loaded.origins.of_entry(&format!("permissions.{name}"), index);
                rules
                    .add(list, &[entry], &self.origin(at), base)
                    .map_err(|error| BadRule { at: at.clone(), error })?;
            }
        }
        Ok(rules)
    }

    fn origin(&self, at: &config::Origin) -> Origin {
        match at {
            config::Origin::File { path, .. } => Origin::File(self.cwd.join(path)),
            other => Origin::Flag(other.to_string()),
        }
    }

    /// Reads the configuration again. What is wrong with it is one line for the person.
    fn read(&mut self) -> Result<RuleSet, String> {
        let Self { cwd, env, dirs, overrides, trust, .. } = &*self;
        let sources = Sources { dirs, cwd, env, overrides, trust };
        let loaded = config::load_for(&sources, self.project.clone());
        let loaded = loaded.map_err(|error| error.to_string())?;
        let rules = self.rules(&loaded).map_err(|error| error.to_string())?;
        self.tell_of_new(loaded.inert);
        Ok(rules)
    }

    /// Says what a change has brought that does nothing until the person accepts it.
    fn tell_of_new(&mut self, inert: Vec<Inert>) {
        let known = std::mem::replace(&mut self.inert, inert);
        let is_new = |thing: &&Inert| known.iter().all(|before| before.what != thing.what);
        let new: Vec<Inert> = self.inert.iter().filter(is_new).cloned().collect();
        if let Some(told) = self.trust.notice(&new) {
            self.events.notice(NoticeLevel::Warning, told);
        }
    }
}

impl RuleSource for RuleFiles {
    fn wrote(&mut self, file: &Path, rules: &[String]) {
        let thing = |rule: &String| Inert::allow_rule(rule, file);
        let things: Vec<Inert> = rules.iter().map(thing).collect();
        if let Err(error) = self.trust.accept(&things) {
            let told =
                format!("The rule counts until this session reads its files again: {error}.");
            self.events.notice(NoticeLevel::Warning, told);
        }
    }

    fn changed(&mut self) -> Option<RuleSet> {
        // Looked at before it is read: what changes meanwhile is read next time.
        if !self.seen.renew() {
            return None;
        }
        match self.read() {
            Ok(rules) => Some(rules),
            Err(problem) => {
                let told = format!(
                    "{problem}. The permission rules stay as they were until that is mended."
                );
                self.events.notice(NoticeLevel::Warning, told);
                None
            }
        }
    }
}
