//! Reads git's settings other than the repository's own: those of the user and the system, and all that they include.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::address::AddressHost;
use super::config_file::{self, GitSetting};
use crate::disk::resolve::{passes_link, resolve, resolve_from};
use crate::protocol::EnvOverlay;

/// Variables that locate git's settings files.
const PATH_VARIABLES: [&str; 4] =
    ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

/// Variables that point git at another repository, at other parts of one, or at other programs and
/// hooks of its own.
const PLACE_VARIABLES: [&str; 16] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
];

/// Maximum include depth of settings files, as in git.
const MAX_DEPTH: usize = 10;

/// Maximum number of files to read.
const MAX_FILES: usize = 128;

/// Maximum size of a settings file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The locations of the user's and system's git settings. Looking them up touches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitConfigPaths {
    /// The folder that `~` stands for.
    home: Option<PathBuf>,
    /// The files that git reads first, existing or not. Absolute.
    files: Vec<PathBuf>,
    /// The folder in which git searches for more files of the user. Absolute.
    folder: Option<PathBuf>,
    /// Settings from environment variables.
    in_env: Vec<GitSetting>,
    /// Whether the environment has settings that only git can read.
    has_unread: bool,
    /// The folders of `PATH`.
    programs: Vec<PathBuf>,
}

/// Settings, and the files they come from.
#[derive(Debug, Default)]
pub struct GitSettings {
    /// All files that git may read, existing or not.
    pub files: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// Each with the folder of its file.
    settings: Vec<(PathBuf, GitSetting)>,
    /// Whether there are others that only git can read.
    has_unread: bool,
    /// The folders of `PATH`, in which git finds the programs that settings name.
    pub programs: Vec<PathBuf>,
}

impl GitConfigPaths {
    /// Returns the paths for a git that runs with this environment. A file counts even if another one overrides it.
    pub fn new(env: &EnvOverlay) -> Self {
        let set = |name: &str| {
            let path = env.get_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = set("HOME");
        let own = set("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let folder = own.map(|own| own.join("git"));
        // Git looks next to the folder it was installed in, which may be any of `PATH`.
        let prefixes = env.program_folders().filter(|folder| folder.ends_with("bin"));
        let prefixes = prefixes.filter(|folder| folder.is_absolute()).filter_map(Path::parent);
        let mut system = vec![PathBuf::from("/etc")];
        system.extend(prefixes.map(|prefix| prefix.join("etc")));
        let mut files: Vec<_> = system.iter().map(|folder| folder.join("gitconfig")).collect();
        files.extend(set("GIT_CONFIG_SYSTEM"));
        files.extend(set("GIT_CONFIG_GLOBAL"));
        files.extend(home.as_ref().map(|home| home.join(".gitconfig")));
        files.extend(folder.as_ref().map(|folder| folder.join("config")));
        // Git resolves a relative one in the folder where it runs.
        let is_relative = |name: &&str| {
            let path = env.get_os(name).map(Path::new);
            path.is_some_and(|path| !path.as_os_str().is_empty() && path.is_relative())
        };
        let is_set = |name: &&str| env.get_os(name).is_some_and(|value| !value.is_empty());
        let has_unread =
            PLACE_VARIABLES.iter().any(is_set) || PATH_VARIABLES.iter().any(is_relative);
        let programs = env.program_folders().map(Path::to_owned).collect();
        Self { home, files, folder, in_env: settings_from_env(env), has_unread, programs }
    }

    /// Returns the paths of a user with this home, if no more is known.
    pub fn with_home(home: Option<&Path>) -> Self {
        Self::new(&EnvOverlay::from_iter(home.map(|home| ("HOME", home))))
    }

    /// Returns the file of this name that git reads if no setting names another one.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(name))
    }

    /// Reads the settings of the user and the system.
    pub fn settings(&self) -> GitSettings {
        self.settings_with([])
    }

    /// Reads the same settings, plus the files of a repository, which git reads with them.
    pub fn settings_with(&self, own: impl IntoIterator<Item = PathBuf>) -> GitSettings {
        let mut all = GitSettings {
            home: self.home.clone(),
            has_unread: self.has_unread,
            programs: self.programs.clone(),
            ..GitSettings::default()
        };
        for setting in &self.in_env {
            all.add(Path::new("/"), setting.clone());
        }
        let included = all.included(0).into_iter().map(|file| (file, 1));
        let first = self.files.iter().cloned().chain(own).map(|file| (file, 0));
        let mut pending: VecDeque<(PathBuf, usize)> = first.chain(included).collect();
        let mut seen = HashSet::new();
        // Reads each file at its lowest depth, so that include cycles end.
        while let Some((file, depth)) = pending.pop_front() {
            if seen.len() == MAX_FILES {
                all.has_unread = true;
                break;
            }
            // Relative names in a file mean other files under another of its names.
            if !seen.insert(file.clone()) {
                continue;
            }
            let before = all.settings.len();
            all.read(&file);
            if depth < MAX_DEPTH {
                let included = all.included(before).into_iter();
                pending.extend(included.map(|path| (path, depth + 1)));
            }
            all.files.push(file);
        }
        all
    }
}

impl GitSettings {
    /// Checks that no setting has a form that only git reads.
    ///
    /// # Errors
    ///
    /// Returns a message that lists these forms.
    pub fn check_is_known(&self) -> Result<(), String> {
        let why = "your git settings have values that only git reads: a variable such as GIT_DIR or \
                   GIT_CONFIG_PARAMETERS, a relative HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL or \
                   GIT_CONFIG_SYSTEM, a path with ~NAME or %(prefix), a relative init.templateDir, \
                   characters other than letters and signs, or files that are too long or too many";
        if self.has_unread { Err(why.to_owned()) } else { Ok(()) }
    }

    /// Checks that git takes what the settings name where they say: no value is the path of a link in
    /// `top` that leads out of it, and no address is made one of this machine.
    ///
    /// # Errors
    ///
    /// Returns a message that names the setting.
    pub fn check_lead_nowhere_else(&self, top: &Path) -> Result<(), String> {
        let (top, written) = (resolve(top).unwrap_or_else(|| top.to_owned()), top);
        let leads_out = |it: &&GitSetting| {
            let path = top.join(&*it.value);
            let is_within = !it.value.is_empty() && path.starts_with(&top);
            is_within
                && passes_link(&path, |link| link.starts_with(&top) || link.starts_with(written))
                && resolve(&path).is_none_or(|end| !end.starts_with(&top))
        };
        let name = |it: &GitSetting| format!("{}.{}", section(it), it.key);
        if let Some(setting) = self.all().find(leads_out) {
            return Err(format!(
                "your git setting {} names a link of the project that leads out of it",
                name(setting)
            ));
        }
        let is_rewritten = |it: &&GitSetting| {
            section(it) == "url"
                && matches!(&*it.key, "insteadof" | "pushinsteadof")
                && !is_network_address(subsection(it))
        };
        match self.all().find(is_rewritten) {
            Some(setting) => Err(format!(
                "your git setting {} may turn an address into a repository on this machine",
                name(setting)
            )),
            None => Ok(()),
        }
    }

    /// Returns the folders of hooks, for a repository with this checkout.
    pub fn hook_folders(&self, checkout: &Path) -> Vec<PathBuf> {
        let named = self.all().filter(|it| is_set(it, "core") && it.key == "hookspath");
        let path = |it: &GitSetting| expand(checkout, self.home.as_deref(), Path::new(&*it.value));
        named.map(path).collect()
    }

    /// Returns the remotes that have settings, or that others name, but no address, so that git takes
    /// their names for paths.
    pub fn remotes_without_address(&self) -> impl Iterator<Item = &str> {
        let remotes = || self.all().filter(|it| section(it) == "remote");
        let has_address =
            move |name: &str| remotes().any(|it| it.key == "url" && subsection(it) == name);
        let chosen = self.all().filter(|it| {
            let name = (section(it), it.key.as_str());
            matches!(name, ("remote", "pushdefault") | ("branch", "remote" | "pushremote"))
        });
        let names = remotes().map(subsection).chain(chosen.map(|it| it.value.as_str()));
        names.filter(move |name| !matches!(*name, "" | ".") && !has_address(name))
    }

    /// Returns the checkouts that `core.worktree` names, for a repository with this git folder.
    pub fn worktrees(&self, git: &Path) -> Vec<PathBuf> {
        let named = self.all().filter(|it| is_set(it, "core") && it.key == "worktree");
        named.map(|it| expand(git, self.home.as_deref(), Path::new(&*it.value))).collect()
    }

    /// Returns all settings, in the order in which git reads them.
    pub fn all(&self) -> impl Iterator<Item = &GitSetting> {
        self.settings.iter().map(|(_, setting)| setting)
    }

    /// Returns the section, key and value of each setting that is not switched off, without its
    /// subsection.
    pub fn switched_on(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let is_off = |value: &str| matches!(value, "false" | "no" | "off" | "0");
        let all = self.all().map(|it| (section(it), it.key.as_str(), it.value.as_str()));
        all.filter(move |(.., value)| !is_off(value))
    }

    /// Returns the path that a value means to a git that runs in `base`; `None` if only git knows.
    pub fn path(&self, base: &Path, value: &str) -> Option<PathBuf> {
        is_plain_path(value).then(|| expand(base, self.home.as_deref(), Path::new(value)))
    }

    /// Returns the files that settings with these sections and keys name.
    pub fn files_named_by(&self, keys: &[(&str, &str)]) -> Vec<PathBuf> {
        self.paths(0, |section, key| keys.contains(&(section, key))).collect()
    }

    /// Returns the files that settings from `first` on include.
    fn included(&self, first: usize) -> Vec<PathBuf> {
        let is_include =
            |section: &str, key: &str| matches!(section, "include" | "includeif") && key == "path";
        self.paths(first, is_include).collect()
    }

    /// Returns the paths from `first` on, relative to the file that names them.
    fn paths(
        &self,
        first: usize,
        is_named: impl Fn(&str, &str) -> bool,
    ) -> impl Iterator<Item = PathBuf> {
        let named = self.settings[first..]
            .iter()
            .filter(move |(_, it)| !it.value.is_empty() && is_named(section(it), &it.key));
        named.map(|(folder, it)| expand(folder, self.home.as_deref(), Path::new(&*it.value)))
    }

    /// Adds the settings of a small file. A missing file has none; the settings of any other are unknown.
    fn read(&mut self, file: &Path) {
        if resolve(file).is_none() && resolve_from(Path::new("/"), file).is_some() {
            // Through a link in `/proc`, git reads another file than this program would.
            self.has_unread = true;
            return;
        }
        let Ok(found) = file.metadata() else { return };
        let is_small = found.is_file() && found.len() <= MAX_FILE;
        let text = if is_small { fs::read(file).ok() } else { None };
        let Some(text) = text else {
            // Git treats a null device, which some name to have no settings, as an empty file.
            self.has_unread |= file != Path::new("/dev/null");
            return;
        };
        self.has_unread |= !str::from_utf8(&text).is_ok_and(config_file::is_plain);
        let folder = file.parent().unwrap_or(file);
        for setting in config_file::parse(&String::from_utf8_lossy(&text)) {
            self.add(folder, setting);
        }
    }

    /// Adds a setting of a file in this folder.
    fn add(&mut self, folder: &Path, setting: GitSetting) {
        self.has_unread |= is_path(&setting) && !is_plain_path(&setting.value);
        // Relative to the folder in which `git init` runs.
        self.has_unread |= is_template_folder(&setting) && is_relative(&setting.value);
        self.settings.push((folder.to_owned(), setting));
    }
}

/// Returns the settings in variables: `GIT_CONFIG_COUNT` is the number of pairs `GIT_CONFIG_KEY_n`
/// and `GIT_CONFIG_VALUE_n`, and one setting has a variable of its own.
fn settings_from_env(env: &EnvOverlay) -> Vec<GitSetting> {
    let value = |name: &str| env.get_os(name).map(|value| value.to_string_lossy().into_owned());
    let setting = |section: &str, key: &str, value: String| {
        let (section, key) = (section.to_owned(), key.to_owned());
        GitSetting { section, key, value: value.into() }
    };
    let count = value("GIT_CONFIG_COUNT").and_then(|count| count.trim().parse().ok());
    // Git refuses to run where a pair is missing.
    let pair = |at: usize| {
        let key = value(&format!("GIT_CONFIG_KEY_{at}"))?.to_lowercase();
        let (section, key) = key.rsplit_once('.')?;
        Some(setting(section, key, value(&format!("GIT_CONFIG_VALUE_{at}"))?))
    };
    let external = value("GIT_EXTERNAL_DIFF").filter(|program| !program.is_empty());
    let external = external.map(|program| setting("diff", "external", program));
    (0..count.unwrap_or(0)).map_while(pair).chain(external).collect()
}

/// Returns the section without its subsection.
fn section(setting: &GitSetting) -> &str {
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    setting.section.split(is_other).next().unwrap_or_default()
}

/// Returns the subsection, such as the name of a remote.
fn subsection(setting: &GitSetting) -> &str {
    setting.section[section(setting).len()..].trim_matches([' ', '\t', '"', '.'])
}

fn is_set(setting: &GitSetting, name: &str) -> bool {
    section(setting) == name && !setting.value.is_empty()
}

/// Whether the value is a path to more settings or hooks.
fn is_path(setting: &GitSetting) -> bool {
    let section = section(setting);
    matches!(section, "include" | "includeif") && setting.key == "path"
        || section == "core" && setting.key == "hookspath"
        || is_template_folder(setting)
}

fn is_template_folder(setting: &GitSetting) -> bool {
    is_set(setting, "init") && setting.key == "templatedir"
}

/// Whether an address that begins like this is certainly one of another machine.
fn is_network_address(start: &str) -> bool {
    match AddressHost::parse(start) {
        Some(AddressHost::Domain) => true,
        // The address that it begins is judged by itself.
        Some(AddressHost::Missing) => start.contains("://"),
        Some(AddressHost::Name) => start.contains("://") || start.contains('@'),
        Some(AddressHost::Other) | None => false,
    }
}

fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '~'])
}

/// Whether [`expand`] finds what git finds: git also knows the homes of other users, and its installation folder.
fn is_plain_path(path: &str) -> bool {
    !path.starts_with("%(")
        && !path.starts_with(":(")
        && (!path.starts_with('~') || path == "~" || path.starts_with("~/"))
}

/// Expands a path from a setting; relative ones start at `base`.
pub fn expand(base: &Path, home: Option<&Path>, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => base.join(path),
    }
}
