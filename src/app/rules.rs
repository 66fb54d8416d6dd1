//! The configured rules, also when a file of the configuration changes while agents run.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Setup;
use crate::config::{
    self, Dirs, Inert, Loaded, Overrides, PermissionsConfig, Project, Sources, Trust,
};
use crate::permission::{Base, List, Origin, Rule, RuleError, RuleSet, RuleSource};
use crate::protocol::{EnvOverlay, EventSink, NoticeLevel, printable_path};

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
    /// Looks at the files that may hold rules; opens none.
    pub fn of(sources: &Sources<'_>, project: &Project) -> Self {
        let files = config::rule_files(sources, project).into_iter();
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
pub struct BadRule {
    pub at: config::Origin,
    pub error: RuleError,
}

/// The files with rules, and all that it takes to read them as at the start.
pub(super) struct RuleFiles {
    cwd: Arc<Path>,
    env: EnvOverlay,
    dirs: Dirs,
    overrides: Overrides,
    /// That of the start: a new file nearer to the working directory must not hide the restrictions
    /// of this one.
    project: Project,
    trust: Trust,
    /// What did nothing at the last look, because the person has not accepted it.
    inert: Vec<Inert>,
    /// The allow rules of other programs that could not be read at the last look.
    unread: Vec<String>,
    /// The deferred rules that a notice has named.
    named: BTreeSet<String>,
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
            unread: setup.unread_rules(),
            named: BTreeSet::new(),
            home: setup.home(),
            seen: setup.seen.clone(),
            events,
        }
    }

    /// The rules of a configuration, each with the place where it stands.
    pub fn rules(&self, loaded: &Loaded) -> Result<RuleSet, BadRule> {
        let home = self.home.as_deref();
        let base = Base { project: &self.project.config_root, home };
        let of_settings = Base { project: &self.project.claude_root, home };
        let mut rules = RuleSet::default();
        for (list, entry, at) in entries(loaded) {
            let is_of_settings = is_foreign(loaded, at) && self.is_of_project(at);
            let base = if is_of_settings { of_settings } else { base };
            let added = rules.add(list, &[entry], &self.origin(at), base);
            match added {
                Err(_) if list == List::Allow && is_foreign(loaded, at) => {}
                added => added.map_err(|error| BadRule { at: at.clone(), error })?,
            }
        }
        self.allow_skills(&mut rules, base);
        Ok(rules)
    }

    /// The texts of the person's own skills name files beside them: these may be read.
    fn allow_skills(&self, rules: &mut RuleSet, base: Base<'_>) {
        for folder in std::iter::once(&self.dirs.config).chain(&self.dirs.claude) {
            let rule = format!("Read(/{}/skills/**)", folder.display());
            if let Err(error) = rules.add(List::Allow, &[rule], &Origin::Skills, base) {
                tracing::warn!(%error, "files beside skills are asked about");
            }
        }
    }

    /// Whether the place is in a file of the project's.
    fn is_of_project(&self, at: &config::Origin) -> bool {
        matches!(self.origin(at), Origin::File(_))
    }

    fn origin(&self, at: &config::Origin) -> Origin {
        match at {
            config::Origin::File { path, .. } => {
                let file = self.cwd.join(path);
                let mut own = std::iter::once(&self.dirs.config).chain(&self.dirs.claude);
                let is_users = own.any(|folder| file.starts_with(folder));
                if is_users { Origin::UserFile(file) } else { Origin::File(file) }
            }
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
        let unread = unread(&loaded, &self.project, self.home.as_deref());
        self.tell_of_new(loaded.inert);
        let known = std::mem::replace(&mut self.unread, unread);
        let new: Vec<&String> = self.unread.iter().filter(|rule| !known.contains(rule)).collect();
        if let Some(told) = unread_notice(&new) {
            self.events.notice(NoticeLevel::Warning, told);
        }
        Ok(rules)
    }

    /// The rules of one list that no notice has named yet, as one names them.
    fn unnamed(&mut self, list: &str, rules: &[Rule]) -> Vec<String> {
        let named = |rule: &Rule| format!("{list} rule {} ({})", rule.text(), self.place(rule));
        let texts: Vec<String> = rules.iter().map(named).collect();
        texts.into_iter().filter(|text| self.named.insert(text.clone())).collect()
    }

    fn place(&self, rule: &Rule) -> String {
        match rule.origin() {
            Origin::File(path) | Origin::UserFile(path) => printable_path(&self.trust.shown(path)),
            other => other.to_string(),
        }
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

impl Setup {
    /// The allow rules in files of other programs that cannot be read here, each with its place.
    /// They do nothing.
    fn unread_rules(&self) -> Vec<String> {
        unread(&self.loaded, &self.loaded.project, self.home().as_deref())
    }

    /// One line about these rules; `None` when there are none.
    pub(super) fn unread_notice(&self) -> Option<String> {
        unread_notice(&self.unread_rules().iter().collect::<Vec<_>>())
    }
}

/// All configured rules, with their lists and places.
fn entries(loaded: &Loaded) -> impl Iterator<Item = (List, &String, &config::Origin)> {
    let PermissionsConfig { allow, ask, deny, .. } = &loaded.config.permissions;
    let lists =
        [(List::Allow, "allow", allow), (List::Ask, "ask", ask), (List::Deny, "deny", deny)];
    lists.into_iter().flat_map(move |(list, name, entries)| {
        let key = format!("permissions.{name}");
        let at = move |index| loaded.origins.of_entry(&key, index);
        entries.iter().enumerate().map(move |(index, entry)| (list, entry, at(index)))
    })
}

/// Whether the place is in a file of the settings.json shape, which may be written for another program.
fn is_foreign(loaded: &Loaded, at: &config::Origin) -> bool {
    let place = match at {
        config::Origin::File { path, .. } => path.display().to_string(),
        other => other.to_string(),
    };
    loaded.settings.iter().any(|file| file.place == place)
}

fn unread(loaded: &Loaded, project: &Project, home: Option<&Path>) -> Vec<String> {
    let base = Base { project: &project.config_root, home };
    let broken = |(list, entry, at): (List, &String, &config::Origin)| {
        let foreign = list == List::Allow && is_foreign(loaded, at);
        let origin = Origin::Flag(String::new());
        let error = || Rule::parse(entry, list, origin, base).err();
        let error = foreign.then(error).flatten()?;
        Some(format!("{entry} ({at}: {})", error.problem))
    };
    entries(loaded).filter_map(broken).collect()
}

fn unread_notice(rules: &[&String]) -> Option<String> {
    let rules: Vec<&str> = rules.iter().map(|rule| rule.as_str()).collect();
    (!rules.is_empty())
        .then(|| format!("Allow rules that mean nothing here and do nothing: {}", rules.join(", ")))
}

impl Setup {
    /// Notices about deny and ask rules that seem to mean a path of the file system and name one of
    /// the project.
    pub(super) fn misplaced_rules(&self) -> Vec<String> {
        let home = self.home();
        let base = Base { project: &self.loaded.project.config_root, home: home.as_deref() };
        let restricting = entries(&self.loaded).filter(|(list, ..)| *list != List::Allow);
        let notice = |(list, entry, at): (List, &String, &config::Origin)| {
            let rule = Rule::parse(entry, list, Origin::Session, base).ok()?;
            let absolute = rule.absolute_spelling()?;
            Some(format!(
                "{at}: {entry} starts in the project, where there is no such folder; for the path from the root of the \
                 file system write {absolute}"
            ))
        };
        restricting.filter_map(notice).collect()
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

    fn deferred(&mut self, rules: &RuleSet) {
        let new = self.unnamed("allow", &rules.allow);
        let mut gone = self.unnamed("ask", &rules.ask);
        gone.extend(self.unnamed("deny", &rules.deny));
        let parts = [
            ("Counts from the next start, because it allows more", new),
            ("Gone from the files, and still holds until the next start", gone),
        ];
        let parts = parts.iter().filter(|(_, rules)| !rules.is_empty());
        let lines: Vec<String> =
            parts.map(|(what, rules)| format!("{what}: {}.", rules.join(", "))).collect();
        if !lines.is_empty() {
            self.events.notice(NoticeLevel::Warning, lines.join(" "));
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
