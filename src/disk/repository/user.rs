//! The settings that git reads besides a repository's own: those of the user and the system, and
//! all that they include.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::config_file::{self, Setting};
use crate::disk::resolve;
use crate::protocol::EnvOverlay;

/// Variables that lead git to files of settings.
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

/// How deep files of settings include others, as git has it.
const MAX_DEPTH: usize = 10;

/// More files are not read at once.
const MAX_FILES: usize = 128;

/// A longer file is none that git writes here. Bytes.
const MAX_FILE: u64 = 1 << 20;

/// Where git finds the settings of a user and of the system. Looking them up touches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitConfigPaths {
    /// The folder that `~` means.
    home: Option<PathBuf>,
    /// The files that git reads first, whether they are there or not. Absolute.
    files: Vec<PathBuf>,
    /// The folder in which git looks for more files of the user. Absolute.
    folder: Option<PathBuf>,
    /// Settings from environment variables.
    in_env: Vec<Setting>,
    /// The environment has settings in a form that only git reads.
    has_unread: bool,
    /// The folders of `PATH`.
    programs: Vec<PathBuf>,
}

/// Settings, and the files that they are from.
#[derive(Debug, Default)]
pub struct GitSettings {
    /// All files that git may read, also those that are not there.
    pub files: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// Each with the folder of its file.
    settings: Vec<(PathBuf, Setting)>,
    /// There are others, in a form that only git reads.
    has_unread: bool,
    /// The folders of `PATH`, in which git finds the programs that settings name.
    pub programs: Vec<PathBuf>,
}

impl GitConfigPaths {
    /// The paths for a git that runs with this environment. A file counts also where another one
    /// takes its place.
    pub fn new(env: &EnvOverlay) -> Self {
        let set = |name: &str| {
            let path = env.get_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = set("HOME");
        let own = set("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let folder = own.map(|own| own.join("git"));
        // Git looks beside the folder that it was installed in, whichever of `PATH` that is.
        let prefixes = env.program_folders().filter(|folder| folder.ends_with("bin"));
        let prefixes = prefixes.filter(|folder| folder.is_absolute()).filter_map(Path::parent);
        let mut system = vec![PathBuf::from("/etc")];
        system.extend(prefixes.map(|prefix| prefix.join("etc")));
        let mut files: Vec<_> = system.iter().map(|folder| folder.join("gitconfig")).collect();
        files.extend(set("GIT_CONFIG_SYSTEM"));
        files.extend(set("GIT_CONFIG_GLOBAL"));
        files.extend(home.as_ref().map(|home| home.join(".gitconfig")));
        files.extend(folder.as_ref().map(|folder| folder.join("config")));
        // Git reads a relative one in the folder where it runs.
        let is_relative = |name: &&str| {
            let path = env.get_os(name).map(Path::new);
            path.is_some_and(|path| !path.as_os_str().is_empty() && path.is_relative())
        };
        let is_set = |name: &&str| env.get_os(name).is_some_and(|value| !value.is_empty());
        let has_unread =
            PLACE_VARIABLES.iter().any(is_set) || PATH_VARIABLES.iter().any(is_relative);
        let programs = env.program_folders().map(Path::to_owned).collect();
        Self { home, files, folder, in_env: settings_in(env), has_unread, programs }
    }

    /// The paths of a user with this home, where no more is known.
    pub fn at_home(home: Option<&Path>) -> Self {
        Self::new(&EnvOverlay::from_iter(home.map(|home| ("HOME", home))))
    }

    /// A file by this name that git reads when no setting names another one.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(name))
    }

    /// Reads the settings of the user and the system.
    pub fn settings(&self) -> GitSettings {
        self.settings_with([])
    }

    /// The same, with the files of a repository, which git reads with them.
    pub fn settings_with(&self, own: impl IntoIterator<Item = PathBuf>) -> GitSettings {
        let mut all = GitSettings {
            home: self.home.clone(),
            has_unread: self.has_unread,
            programs: self.programs.clone(),
            ..GitSettings::default()
        };
        let in_env = self.in_env.iter().cloned();
        all.settings.extend(in_env.map(|setting| (PathBuf::from("/"), setting)));
        let included = all.included(0).into_iter().map(|file| (file, 1));
        let first = self.files.iter().cloned().chain(own).map(|file| (file, 0));
        let mut pending: VecDeque<(PathBuf, usize)> = first.chain(included).collect();
        let mut seen = HashSet::new();
        // Each file at its lowest depth, so that files which include each other come to an end.
        while let Some((file, depth)) = pending.pop_front() {
            if seen.len() == MAX_FILES {
                all.has_unread = true;
                break;
            }
            if !seen.insert(resolve(&file).unwrap_or_else(|| file.clone())) {
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
    /// Says which forms these are.
    pub fn check_is_known(&self) -> Result<(), String> {
        let why = "your git settings have values that only git reads: a variable such as GIT_DIR or \
                   GIT_CONFIG_PARAMETERS, a relative HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL or \
                   GIT_CONFIG_SYSTEM, a path with ~NAME or %(prefix), or files that are too long or \
                   too many";
        if self.has_unread { Err(why.to_owned()) } else { Ok(()) }
    }

    /// The folders of hooks, for a repository with this checkout.
    pub fn hook_folders(&self, checkout: &Path) -> Vec<PathBuf> {
        let named = self.all().filter(|it| is_set(it, "core") && it.key == "hookspath");
        let path = |it: &Setting| expand(checkout, self.home.as_deref(), Path::new(&it.value));
        named.map(path).collect()
    }

    /// All settings, in the order in which git reads them.
    pub fn all(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().map(|(_, setting)| setting)
    }

    /// The files that settings with these sections and keys name.
    pub fn files_of(&self, keys: &[(&str, &str)]) -> Vec<PathBuf> {
        self.paths(0, |section, key| keys.contains(&(section, key))).collect()
    }

    /// The files that settings from `first` on include.
    fn included(&self, first: usize) -> Vec<PathBuf> {
        let is_include =
            |section: &str, key: &str| matches!(section, "include" | "includeif") && key == "path";
        self.paths(first, is_include).collect()
    }

    /// The paths from `first` on that start beside the file that names them.
    fn paths(
        &self,
        first: usize,
        is_named: impl Fn(&str, &str) -> bool,
    ) -> impl Iterator<Item = PathBuf> {
        let named = self.settings[first..]
            .iter()
            .filter(move |(_, it)| !it.value.is_empty() && is_named(section(it), &it.key));
        named.map(|(folder, it)| expand(folder, self.home.as_deref(), Path::new(&it.value)))
    }

    /// Adds the settings of a small file. One that is not there has none, and those of any other are
    /// not known.
    fn read(&mut self, file: &Path) {
        let Ok(found) = file.metadata() else { return };
        let is_small = found.is_file() && found.len() <= MAX_FILE;
        let text = if is_small { fs::read(file).ok() } else { None };
        let Some(text) = text else {
            // Git takes an empty device, which some name to have no settings, for an empty file.
            self.has_unread |= file != Path::new("/dev/null");
            return;
        };
        let folder = file.parent().unwrap_or(file);
        for setting in config_file::parse(&String::from_utf8_lossy(&text)) {
            self.has_unread |= is_path(&setting) && !is_plain_path(&setting.value);
            self.settings.push((folder.to_owned(), setting));
        }
    }
}

/// The settings that variables hold: `GIT_CONFIG_COUNT` says how many pairs of `GIT_CONFIG_KEY_n`
/// and `GIT_CONFIG_VALUE_n` there are, and one setting has a variable of its own.
fn settings_in(env: &EnvOverlay) -> Vec<Setting> {
    let value = |name: &str| env.get_os(name).map(|value| value.to_string_lossy().into_owned());
    let setting = |section: &str, key: &str, value| {
        let (section, key) = (section.to_owned(), key.to_owned());
        Setting { section, key, value }
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

/// The first word of the section, without the name of a subsection.
fn section(setting: &Setting) -> &str {
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    setting.section.split(is_other).next().unwrap_or_default()
}

fn is_set(setting: &Setting, name: &str) -> bool {
    section(setting) == name && !setting.value.is_empty()
}

/// Whether the value is a path that leads to more settings or hooks.
fn is_path(setting: &Setting) -> bool {
    let section = section(setting);
    matches!(section, "include" | "includeif") && setting.key == "path"
        || section == "core" && setting.key == "hookspath"
}

/// Whether [`expand`] finds what git finds: git also knows the homes of others, and where it was
/// installed.
fn is_plain_path(path: &str) -> bool {
    !path.starts_with("%(") && (!path.starts_with('~') || path == "~" || path.starts_with("~/"))
}

/// A path from a setting: relative ones start at `base`.
pub fn expand(base: &Path, home: Option<&Path>, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => base.join(path),
    }
}
