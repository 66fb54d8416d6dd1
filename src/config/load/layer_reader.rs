//! Reads the layers one by one, lowest first, and merges each on top of the previous ones.

use std::path::{Path, PathBuf};

use serde_json::Value as Schema;
use toml::Value;
use tracing_subscriber::EnvFilter;

use crate::config::document::{self, DocumentMistake};
use crate::config::error::{ConfigError, Origin, display_path, file_origin};
use crate::config::hooks::{self, HookConfig};
use crate::config::layers::{Layers, Setting};
use crate::config::overrides;
use crate::config::project::Project;
use crate::config::schema::SCHEMA;
use crate::config::settings_file::{self, SettingsFile, SettingsOwner};
use crate::config::settings_layer::{self, Variables};
use crate::config::sources::{ConfigSources, read_text};
use crate::config::start::StartResolver;
use crate::config::trust_filter::{TrustFilter, is_users_alone};
use crate::disk::{leaves_folder, normalize, resolve};
use crate::protocol::{RuleFile, printable_line, printable_path};

const DEFAULTS: &str = include_str!("../../../config/default.toml");

/// The state of reading the layers.
pub(super) struct LayerReader<'a> {
    sources: ConfigSources<'a>,
    /// A file of our own, and the text to read in place of its own.
    replaced: Option<(&'a Path, &'a str)>,
    /// The folder above the project's `.claude`.
    claude_root: &'a Path,
    pub layers: Layers,
    pub trust_filter: TrustFilter<'a>,
    pub starts: StartResolver<'a>,
    /// The files that were looked for, and whether each exists.
    pub files: Vec<(PathBuf, bool)>,
    pub settings: Vec<SettingsFile>,
    /// The settings files' hooks that count.
    pub hooks: Vec<HookConfig>,
    /// The settings files' variables that count.
    pub variables: Variables,
    pub notices: Vec<String>,
}

impl<'a> LayerReader<'a> {
    /// Reads all layers of a project, from the defaults to the command line.
    pub fn read(
        sources: ConfigSources<'a>,
        project: &'a Project,
        replaced: Option<(&'a Path, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let home = sources.env.get_os("HOME").map(Path::new);
        let mut reader = Self {
            sources,
            replaced,
            claude_root: &project.claude_root,
            layers: Layers::default(),
            trust_filter: TrustFilter::new(sources.trust, sources.cwd, home),
            starts: StartResolver::new(sources.trust, project, sources.dirs, sources.cwd),
            files: Vec::new(),
            settings: Vec::new(),
            hooks: Vec::new(),
            variables: Variables::default(),
            notices: Vec::new(),
        };
        reader.layers.add(default_settings()?);
        let files = settings_file::settings_paths(project, sources.dirs);
        let settings = |owner: SettingsOwner, reader: &mut Self| {
            let file = files.iter().find(|(whose, _)| *whose == owner);
            file.map_or(Ok(()), |(_, path)| reader.read_settings_file(owner, path.clone()))
        };
        settings(SettingsOwner::User, &mut reader)?;
        reader.read_user_file()?;
        settings(SettingsOwner::Shared, &mut reader)?;
        reader.read_project_file(project.file(RuleFile::Shared))?;
        settings(SettingsOwner::Local, &mut reader)?;
        reader.read_project_file(project.file(RuleFile::Local))?;
        reader.read_command_line()?;
        Ok(reader)
    }

    /// Reads the user's configuration.
    fn read_user_file(&mut self) -> Result<(), ConfigError> {
        let path = self.sources.dirs.config_file();
        let settings = self.read_settings(&path)?;
        self.note_file(path, settings.is_some());
        self.add_user_layer(settings.unwrap_or_default());
        Ok(())
    }

    /// Adds a layer from one of the user's files, without additional folders that a link may
    /// redirect to a place the user did not choose: a relative folder applies to all projects, and
    /// any other may be inside one.
    fn add_user_layer(&mut self, mut layer: Vec<Setting>) {
        let cwd = self.sources.cwd;
        let home = self.sources.env.get_os("HOME").map(Path::new);
        let named = |text: &str| resolve(cwd).map(|cwd| normalize(&cwd.join(text)));
        let leads_to = |text: &str| {
            let below_home =
                text.strip_prefix("~/").zip(home).map(|(below, home)| home.join(below));
            let is_relative = !Path::new(text).is_absolute() && !text.starts_with('~');
            let path = below_home.unwrap_or_else(|| cwd.join(text));
            let real = resolve(&path)?;
            let is_led_away = match is_relative {
                true => Some(&real) != named(text).as_ref(),
                false => leaves_folder(&path, home),
            };
            is_led_away.then_some(real)
        };
        for setting in layer.iter_mut().filter(|it| it.key() == "permissions.additional_dirs") {
            let Value::Array(entries) = &mut setting.value else { continue };
            let origins = std::mem::take(&mut setting.origins);
            for (entry, origin) in std::mem::take(entries).into_iter().zip(origins) {
                if let Some(real) = entry.as_str().and_then(leads_to) {
                    let real = printable_path(&real);
                    self.notices.push(format!(
                        "{origin}: the folder {entry} is ignored because a link leads it to {real}; \
                         to add that folder, write its full path"
                    ));
                } else {
                    entries.push(entry);
                    setting.origins.push(origin);
                }
            }
        }
        self.layers.add(layer);
    }

    /// Reads one of the project's two configuration files.
    fn read_project_file(&mut self, path: PathBuf) -> Result<(), ConfigError> {
        // With `CALIBAN_HOME` at a project's `.caliban`, this is the user's own file, which has been read already.
        if path == self.sources.dirs.config_file() {
            return Ok(());
        }
        // A text that is about to be written has no mistakes.
        let is_new = self.replaced.is_some_and(|(file, _)| file == path);
        let read = self.read_own_text(&path);
        let text = self.project_file(read)?;
        let is_there = text.is_some();
        let origin = file_origin(&path, self.sources.cwd);
        self.note_file(path, is_there);
        let Some(text) = text else { return Ok(()) };
        let (mut settings, wrong) = match is_new {
            true => (document::parse(&text, &SCHEMA, &origin)?, Vec::new()),
            false => document::parse_project(&text, &SCHEMA, &origin, self.is_trusted())?,
        };
        self.drop_users_settings(&mut settings);
        let note = |DocumentMistake { path, error }| {
            self.trust_filter.note_left_out(&path);
            error
        };
        let wrong = wrong.into_iter().map(note).collect();
        self.leave_out(is_new, wrong)?;
        let admits = |hook: &HookConfig| self.trust_filter.admit_item(hook.untrusted_item());
        let mistakes = hooks::retain(&mut settings, admits);
        self.leave_out(is_new, mistakes)?;
        let settings = self.trust_filter.filter_settings(settings, &self.layers.merged);
        self.layers.add(settings);
        Ok(())
    }

    /// Drops what only the user's own file can set, with a notice.
    fn drop_users_settings(&mut self, settings: &mut Vec<Setting>) {
        let notices = &mut self.notices;
        settings.retain(|setting| {
            let is_users = is_users_alone(&setting.path);
            if let Some(origin) = setting.origins.first().filter(|_| is_users) {
                let key = setting.key();
                notices
                    .push(format!("{origin}: {key} is ignored; only your own config.toml sets it"));
            }
            !is_users
        });
    }

    /// Reads the settings of one file of our own; `None` if it does not exist.
    fn read_settings(&self, path: &Path) -> Result<Option<Vec<Setting>>, ConfigError> {
        let origin = file_origin(path, self.sources.cwd);
        let text = self.read_own_text(path)?;
        text.map(|text| document::parse(&text, &SCHEMA, &origin)).transpose()
    }

    /// Reads one file of our own; `None` if it does not exist.
    fn read_own_text(&self, path: &Path) -> Result<Option<String>, ConfigError> {
        match self.replaced {
            Some((file, text)) if file == path => Ok(Some(text.to_owned())),
            _ => read_text(path, self.sources.cwd),
        }
    }

    /// Reads one settings.json file.
    fn read_settings_file(
        &mut self,
        owner: SettingsOwner,
        path: PathBuf,
    ) -> Result<(), ConfigError> {
        let read = settings_file::read(owner, &path, self.sources.cwd);
        let file = match owner.is_project() {
            true => self.project_file(read)?,
            false => read?,
        };
        self.note_file(path, file.is_some());
        file.map_or(Ok(()), |file| self.add_settings(file))
    }

    /// Whether the user has accepted anything of the project.
    fn is_trusted(&self) -> bool {
        self.sources.trust.accepts_any()
    }

    /// Returns what was read of a project's file. Anything else in its place can hold no restriction: it
    /// is left out with a notice, unless the user trusts the project.
    fn project_file<T>(
        &mut self,
        read: Result<Option<T>, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        match read {
            Err(error @ ConfigError::NotAFile { .. }) if !self.is_trusted() => {
                self.notices.push(printable_line(&format!("{error}, so it is left out")));
                Ok(None)
            }
            read => read,
        }
    }

    /// Records whether a file exists. Reports a broken link, because the rules behind it do not apply.
    fn note_file(&mut self, path: PathBuf, is_there: bool) {
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let broken = |path: &&Path| is_link(path) && !path.exists();
        let on_the_way = [Some(path.as_path()), path.parent()].into_iter().flatten();
        if let Some(link) = on_the_way.filter(|_| !is_there).find(broken) {
            let notice = format!(
                "{} is a broken link, so no settings or rules are read from it; fix or remove it",
                printable_path(&display_path(link, self.sources.cwd))
            );
            // Both files of a folder can be behind one link.
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
        self.files.push((path, is_there));
    }

    fn add_settings(&mut self, file: SettingsFile) -> Result<(), ConfigError> {
        self.notices.extend(file.notices());
        let (mut layer, notice) = settings_layer::permissions_layer(&file);
        self.notices.extend(notice);
        let own = !file.owner.is_project();
        if own {
            self.add_user_layer(layer);
        } else {
            layer = self.trust_filter.filter_settings(layer, &self.layers.merged);
            self.layers.add(layer);
        }
        let (variables, mistakes) = settings_layer::variables(&file);
        self.leave_out(own, mistakes)?;
        for variable in variables {
            if own || self.trust_filter.admit_item(variable.untrusted_item()) {
                self.variables.set(variable);
            }
        }
        for hook in file.hooks.hooks.iter().cloned() {
            match file.owner {
                // These hooks were written for a program that starts them in the project.
                SettingsOwner::User => {
                    let start = self.starts.start_of_user(hook.describe(), &hook.origin, true);
                    self.hooks.push(HookConfig { wants_project_cwd: true, start, ..hook });
                }
                SettingsOwner::Flag => self.hooks.push(hook.in_folder(self.sources.cwd)),
                SettingsOwner::Shared | SettingsOwner::Local => {
                    if self.trust_filter.admit_item(hook.untrusted_item()) {
                        self.hooks.push(hook.in_folder(self.claude_root));
                    }
                }
            }
        }
        self.settings.push(file);
        Ok(())
    }

    /// Notes what these mistakes leave out. In the user's own files, the first is an error.
    fn leave_out(&mut self, own: bool, mistakes: Vec<ConfigError>) -> Result<(), ConfigError> {
        if !own {
            self.notices.extend(ConfigError::left_out(&mistakes));
            return Ok(());
        }
        mistakes.into_iter().next().map_or(Ok(()), Err)
    }

    /// Adds the environment, the file given on the command line, and the other options.
    fn read_command_line(&mut self) -> Result<(), ConfigError> {
        let ConfigSources { env, overrides, cwd, .. } = self.sources;
        let variables = overrides::from_env(env);
        let flags = overrides.settings();
        variables.iter().chain(&flags).try_for_each(check_setting)?;
        self.layers.add(variables);
        if let Some(value) = &overrides.settings {
            self.add_settings(settings_file::from_flag(value, cwd)?)?;
        }
        self.layers.add(flags);
        Ok(())
    }
}

pub(super) fn default_settings() -> Result<Vec<Setting>, ConfigError> {
    document::parse(DEFAULTS, &SCHEMA, &Origin::BuiltIn)
}

/// Checks one value of the environment or the command line like those of files.
fn check_setting(setting: &Setting) -> Result<(), ConfigError> {
    let origin = setting.origins.first().unwrap_or(&Origin::BuiltIn);
    // The variable may contain a whole filter, while files and flags name a level.
    if *origin == (Origin::Env { name: "CALIBAN_LOG" }) {
        let filter = setting.value.as_str().unwrap_or_default();
        return match EnvFilter::try_new(filter) {
            Ok(_) => Ok(()),
            Err(_) => Err(ConfigError::invalid(
                origin,
                "must be a level or a filter, such as debug or warn,caliban=debug",
            )),
        };
    }
    let schema = setting.path.iter().fold(&*SCHEMA, |schema, key| match &schema["properties"] {
        Schema::Null => &schema["additionalProperties"],
        properties => &properties[key],
    });
    document::check_value(&setting.value, schema).map_err(|why| ConfigError::invalid(origin, why))
}
