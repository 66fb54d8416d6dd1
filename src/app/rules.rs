//! The configured rules, which follow changes of the files while agents run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::rule_stamps::RuleFileStamps;
use super::setup::{RuleFileError, Setup};
use crate::config::{
    self, ConfigSources, Dirs, LoadedConfig, Overrides, PermissionsConfig, Project, Trust,
    UntrustedItem,
};
use crate::permission::{Rule, RuleBase, RuleList, RuleOrigin, RuleSet, RuleSource};
use crate::protocol::{EnvOverlay, EventQueue, EventSink, NoticeLevel, printable_path};

/// The files with rules, and everything needed to reload them as at startup.
pub(crate) struct RuleFiles {
    cwd: Arc<Path>,
    env: EnvOverlay,
    dirs: Dirs,
    overrides: Overrides,
    /// The project at startup: a new file closer to the working directory must not hide its restrictions.
    project: Project,
    trust: Trust,
    /// The untrusted entries at the last load.
    untrusted: Vec<UntrustedItem>,
    /// The allow rules of other programs that could not be parsed at the last load.
    unread: Vec<String>,
    /// The deferred rules that were already announced.
    announced: BTreeSet<String>,
    home: Option<PathBuf>,
    stamps: RuleFileStamps,
    events: EventSink,
}

impl Setup {
    /// Checks that the configured rules can be parsed.
    ///
    /// # Errors
    /// For the first one that cannot, with which nothing starts.
    pub(crate) fn check_rules(&self) -> Result<(), RuleFileError> {
        let events = EventQueue::unbounded();
        RuleFiles::new(self, events.sink()).rules(&self.loaded).map(drop)
    }
}

impl RuleFiles {
    /// Creates the source of a setup's rules.
    pub fn new(setup: &Setup, events: EventSink) -> Self {
        Self {
            cwd: setup.cwd.clone(),
            env: setup.env.clone(),
            dirs: setup.dirs.clone(),
            overrides: setup.overrides.clone(),
            project: setup.loaded.project.clone(),
            trust: setup.trust.clone(),
            untrusted: setup.loaded.untrusted.clone(),
            unread: setup.unread_rules(),
            announced: BTreeSet::new(),
            home: setup.home(),
            stamps: setup.rule_stamps.clone(),
            events,
        }
    }

    /// Returns the rules of a configuration, each with its place.
    pub fn rules(&self, loaded: &LoadedConfig) -> Result<RuleSet, RuleFileError> {
        let home = self.home.as_deref();
        let base = RuleBase { project: &self.project.config_root, home };
        let of_settings = RuleBase { project: &self.project.claude_root, home };
        let mut rules = RuleSet::default();
        for (list, entry, at) in entries(loaded) {
            let is_of_settings = is_foreign(loaded, at) && self.is_of_project(at);
            let base = if is_of_settings { of_settings } else { base };
            let added = rules.add(list, &[entry], &self.origin(at), base);
            match added {
                Err(_) if list == RuleList::Allow && is_foreign(loaded, at) => {}
                added => added.map_err(|error| RuleFileError { at: at.clone(), error })?,
            }
        }
        self.allow_skills(&mut rules, base);
        Ok(rules)
    }

    /// Allows reading the files next to the user's own skills, which their texts refer to.
    fn allow_skills(&self, rules: &mut RuleSet, base: RuleBase<'_>) {
        let Dirs { config, claude, shared, .. } = &self.dirs;
        for folder in std::iter::once(config).chain(claude).chain(shared) {
            let rule = format!("Read(/{}/skills/**)", folder.display());
            if let Err(error) = rules.add(RuleList::Allow, &[rule], &RuleOrigin::Skills, base) {
                tracing::warn!(%error, "files beside skills are asked about");
            }
        }
    }

    /// Whether the place is in a project's file.
    fn is_of_project(&self, at: &config::Origin) -> bool {
        matches!(self.origin(at), RuleOrigin::File(_))
    }

    fn origin(&self, at: &config::Origin) -> RuleOrigin {
        match at {
            config::Origin::File { path, .. } => {
                let file = self.cwd.join(path);
                let mut own = std::iter::once(&self.dirs.config).chain(&self.dirs.claude);
                let is_users = own.any(|folder| file.starts_with(folder));
                if is_users { RuleOrigin::UserFile(file) } else { RuleOrigin::File(file) }
            }
            other => RuleOrigin::Flag(other.to_string()),
        }
    }

    /// Reloads the configuration. The error is one line for the user.
    fn read(&mut self) -> Result<RuleSet, String> {
        let Self { cwd, env, dirs, overrides, trust, .. } = &*self;
        let sources = ConfigSources { dirs, cwd, env, overrides, trust };
        let loaded = config::load_project(&sources, self.project.clone());
        let loaded = loaded.map_err(|error| error.to_string())?;
        let rules = self.rules(&loaded).map_err(|error| error.to_string())?;
        let unread = unread(&loaded, &self.project, self.home.as_deref());
        self.notify_new(loaded.untrusted);
        let known = std::mem::replace(&mut self.unread, unread);
        let new: Vec<&String> = self.unread.iter().filter(|rule| !known.contains(rule)).collect();
        if let Some(notice) = unread_notice(&new) {
            self.events.notice(NoticeLevel::Warning, notice);
        }
        Ok(rules)
    }

    /// Returns the rules of a list that were not announced yet, formatted for a notice.
    fn take_unannounced(&mut self, list: &str, rules: &[Rule]) -> Vec<String> {
        let named =
            |rule: &Rule| format!("{list} rule {} ({})", rule.text(), self.display_origin(rule));
        let texts: Vec<String> = rules.iter().map(named).collect();
        texts.into_iter().filter(|text| self.announced.insert(text.clone())).collect()
    }

    fn display_origin(&self, rule: &Rule) -> String {
        match rule.origin() {
            RuleOrigin::File(path) | RuleOrigin::UserFile(path) => {
                printable_path(&self.trust.display_path(path))
            }
            other => other.to_string(),
        }
    }

    /// Notifies the user of new entries that are ignored until trusted.
    fn notify_new(&mut self, untrusted: Vec<UntrustedItem>) {
        let known = std::mem::replace(&mut self.untrusted, untrusted);
        let is_new = |thing: &&UntrustedItem| known.iter().all(|before| before.what != thing.what);
        let new: Vec<UntrustedItem> = self.untrusted.iter().filter(is_new).cloned().collect();
        if let Some(notice) = self.trust.notice(&new) {
            self.events.notice(NoticeLevel::Warning, notice);
        }
    }
}

impl Setup {
    /// Returns the allow rules in files of other programs that cannot be parsed, each with its
    /// place. They are ignored.
    fn unread_rules(&self) -> Vec<String> {
        unread(&self.loaded, &self.loaded.project, self.home().as_deref())
    }

    /// Returns a notice about these rules; `None` if there are none.
    pub(crate) fn unread_notice(&self) -> Option<String> {
        unread_notice(&self.unread_rules().iter().collect::<Vec<_>>())
    }
}

/// Returns all configured rules, with their lists and places.
fn entries(loaded: &LoadedConfig) -> impl Iterator<Item = (RuleList, &String, &config::Origin)> {
    let PermissionsConfig { allow, ask, deny, .. } = &loaded.config.permissions;
    let lists = [
        (RuleList::Allow, "allow", allow),
        (RuleList::Ask, "ask", ask),
        (RuleList::Deny, "deny", deny),
    ];
    lists.into_iter().flat_map(move |(list, name, entries)| {
        let key = format!("permissions.{name}");
        let at = move |index| loaded.origins.get_entry(&key, index);
        entries.iter().enumerate().map(move |(index, entry)| (list, entry, at(index)))
    })
}

/// Whether the place is in a file in the format of settings.json, which may belong to another program.
fn is_foreign(loaded: &LoadedConfig, at: &config::Origin) -> bool {
    loaded.settings.iter().any(|file| file.origin == at.at_line(1))
}

fn unread(loaded: &LoadedConfig, project: &Project, home: Option<&Path>) -> Vec<String> {
    let base = RuleBase { project: &project.config_root, home };
    let broken = |(list, entry, at): (RuleList, &String, &config::Origin)| {
        let foreign = list == RuleList::Allow && is_foreign(loaded, at);
        let origin = RuleOrigin::Flag(String::new());
        let error = || Rule::parse(entry, list, origin, base).err();
        let error = foreign.then(error).flatten()?;
        Some(format!("{} ({at}: {})", error.rule, error.problem))
    };
    entries(loaded).filter_map(broken).collect()
}

fn unread_notice(rules: &[&String]) -> Option<String> {
    let rules: Vec<&str> = rules.iter().map(|rule| rule.as_str()).collect();
    (!rules.is_empty()).then(|| {
        format!("Ignored allow rules that caliban does not understand: {}", rules.join(", "))
    })
}

impl Setup {
    /// Returns notices about deny and ask rules with a path that was probably meant to be absolute,
    /// but is relative to the project.
    pub(crate) fn misplaced_rules(&self) -> Vec<String> {
        let home = self.home();
        let base = RuleBase { project: &self.loaded.project.config_root, home: home.as_deref() };
        let restricting = entries(&self.loaded).filter(|(list, ..)| *list != RuleList::Allow);
        let notice = |(list, entry, at): (RuleList, &String, &config::Origin)| {
            let rule = Rule::parse(entry, list, RuleOrigin::Session, base).ok()?;
            let absolute = rule.absolute_spelling()?;
            Some(format!(
                "{at}: {entry} is relative to the project, which has no such folder; for a path from the root of the \
                 file system write {absolute}"
            ))
        };
        restricting.filter_map(notice).collect()
    }
}

impl RuleSource for RuleFiles {
    fn wrote(&mut self, file: &Path, rules: &[String]) {
        let thing = |rule: &String| UntrustedItem::allow_rule(rule, file);
        let things: Vec<UntrustedItem> = rules.iter().map(thing).collect();
        if let Err(error) = self.trust.accept(&things) {
            let notice =
                format!("The rule only holds until this session reloads its files: {error}.");
            self.events.notice(NoticeLevel::Warning, notice);
        }
    }

    fn deferred(&mut self, rules: &RuleSet) {
        let new = self.take_unannounced("allow", &rules.allow);
        let mut gone = self.take_unannounced("ask", &rules.ask);
        gone.extend(self.take_unannounced("deny", &rules.deny));
        let parts = [
            ("Takes effect at the next start, because it allows more", new),
            ("Removed from the files, but holds until the next start", gone),
        ];
        let parts = parts.iter().filter(|(_, rules)| !rules.is_empty());
        let lines: Vec<String> =
            parts.map(|(what, rules)| format!("{what}: {}.", rules.join(", "))).collect();
        if !lines.is_empty() {
            self.events.notice(NoticeLevel::Warning, lines.join(" "));
        }
    }

    fn changed(&mut self) -> Option<RuleSet> {
        // Update the state before reading, so that a change in between is noticed next time.
        if !self.stamps.refresh() {
            return None;
        }
        match self.read() {
            Ok(rules) => Some(rules),
            Err(problem) => {
                let notice =
                    format!("{problem}. The permission rules stay unchanged until that is fixed.");
                self.events.notice(NoticeLevel::Warning, notice);
                None
            }
        }
    }
}
