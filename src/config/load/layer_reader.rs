//! Reads the layers one by one, lowest first, and puts each on the ones before.

use std::path::{Path, PathBuf};

use toml::Value;

use super::{Sources, check, defaults, read};
use crate::config::error::{ConfigError, shown};
use crate::config::hooks::{self, HookConfig};
use crate::config::layers::{Layers, Setting};
use crate::config::overrides;
use crate::config::project::Project;
use crate::config::schema::SCHEMA;
use crate::config::settings_file::{self, Owner, SettingsFile};
use crate::config::settings_layer::{self, Variables};
use crate::config::start::Starts;
use crate::config::untrusted::Untrusted;
use crate::disk::{leaves_folder, normalize, resolve};
use crate::protocol::{RuleFile, printable_path};

/// Reads the layers, and holds what has been read so far.
pub(super) struct LayerReader<'a> {
    sources: Sources<'a>,
    /// The folder above `.claude` of the project's settings files.
    claude_root: &'a Path,
    pub layers: Layers,
    pub untrusted: Untrusted<'a>,
    pub starts: Starts<'a>,
    /// The files that were looked for, and whether each was there.
    pub files: Vec<(PathBuf, bool)>,
    pub settings: Vec<SettingsFile>,
    /// The hooks of settings files that count.
    pub hooks: Vec<HookConfig>,
    /// The variables of settings files that count.
    pub variables: Variables,
    pub notices: Vec<String>,
}

impl<'a> LayerReader<'a> {
    /// All layers of a project, from what is built in to the command line.
    pub fn of(sources: Sources<'a>, project: &'a Project) -> Result<Self, ConfigError> {
        let home = sources.env.get_os("HOME").map(Path::new);
        let mut reader = Self {
            sources,
            claude_root: &project.claude_root,
            layers: Layers::default(),
            untrusted: Untrusted::new(sources.trust, sources.cwd, home),
            starts: Starts::new(sources.trust, project, sources.dirs, sources.cwd),
            files: Vec::new(),
            settings: Vec::new(),
            hooks: Vec::new(),
            variables: Variables::default(),
            notices: Vec::new(),
        };
        reader.layers.add(defaults(&SCHEMA)?);
        let places = settings_file::places(project, sources.dirs);
        let settings = |owner: Owner, reader: &mut Self| {
            let place = places.iter().find(|(whose, _)| *whose == owner);
            place.map_or(Ok(()), |(_, path)| reader.settings_file(owner, path.clone()))
        };
        settings(Owner::Person, &mut reader)?;
        reader.own_file()?;
        settings(Owner::Shared, &mut reader)?;
        reader.project_file(project.file(RuleFile::Shared))?;
        settings(Owner::Local, &mut reader)?;
        reader.project_file(project.file(RuleFile::Local))?;
        reader.command_line()?;
        Ok(reader)
    }

    /// The person's own configuration.
    fn own_file(&mut self) -> Result<(), ConfigError> {
        let path = self.sources.dirs.config_file();
        let settings = read(&path, self.sources.cwd, &SCHEMA)?;
        self.look_for(path, settings.is_some());
        self.add_own(settings.unwrap_or_default());
        Ok(())
    }

    /// A layer from a file of the user's own, without the folders that a link may lead elsewhere which
    /// is not the user's: a relative one counts in all projects, and any other may lie in one.
    fn add_own(&mut self, mut layer: Vec<Setting>) {
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
                        "{origin}: the folder {entry} does not count, because a link leads it to {real}; \
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

    /// One of the project's two configurations.
    fn project_file(&mut self, path: PathBuf) -> Result<(), ConfigError> {
        // With `CALIBAN_HOME` at a project's `.caliban` this is the person's own file, which is read already.
        if path == self.sources.dirs.config_file() {
            return Ok(());
        }
        let settings = read(&path, self.sources.cwd, &SCHEMA)?;
        self.look_for(path, settings.is_some());
        let Some(mut settings) = settings else { return Ok(()) };
        hooks::retain(&mut settings, |hook| self.untrusted.admits(hook.inert()))?;
        let settings = self.untrusted.admit(settings, &self.layers.merged);
        self.layers.add(settings);
        Ok(())
    }

    /// One file of the settings.json shape.
    fn settings_file(&mut self, owner: Owner, path: PathBuf) -> Result<(), ConfigError> {
        let file = settings_file::read(owner, &path, self.sources.cwd)?;
        self.look_for(path, file.is_some());
        file.map_or(Ok(()), |file| self.add_settings(file))
    }

    /// Notes whether a file is there. A link that leads nowhere is named, because the rules behind
    /// it do not hold.
    fn look_for(&mut self, path: PathBuf, is_there: bool) {
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let broken = |path: &&Path| is_link(path) && !path.exists();
        let on_the_way = [Some(path.as_path()), path.parent()].into_iter().flatten();
        if let Some(link) = on_the_way.filter(|_| !is_there).find(broken) {
            let notice = format!(
                "{} is a link that leads nowhere, so no settings or rules are read from it: fix the link or remove it",
                printable_path(&shown(link, self.sources.cwd))
            );
            // Both files of a folder can be behind one link.
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
        self.files.push((path, is_there));
    }

    fn add_settings(&mut self, file: SettingsFile) -> Result<(), ConfigError> {
        self.notices.extend(file.notice());
        let (mut layer, notice) = settings_layer::layer(&file);
        self.notices.extend(notice);
        let own = !file.owner.is_project();
        if own {
            self.add_own(layer);
        } else {
            layer = self.untrusted.admit(layer, &self.layers.merged);
            self.layers.add(layer);
        }
        for variable in settings_layer::variables(&file)? {
            if own || self.untrusted.admits(variable.inert()) {
                self.variables.set(variable);
            }
        }
        for hook in file.hooks.hooks.iter().cloned() {
            match file.owner {
                // Such hooks were written for a program that starts them in the project.
                Owner::Person => {
                    let start = self.starts.of_user(hook.describe(), &hook.origin, true);
                    self.hooks.push(HookConfig { asks_project: true, start, ..hook });
                }
                Owner::Flag => self.hooks.push(hook.in_folder(self.sources.cwd)),
                Owner::Shared | Owner::Local => {
                    if self.untrusted.admits(hook.inert()) {
                        self.hooks.push(hook.in_folder(self.claude_root));
                    }
                }
            }
        }
        self.settings.push(file);
        Ok(())
    }

    /// The environment, the file that the command line names, and the other options.
    fn command_line(&mut self) -> Result<(), ConfigError> {
        let Sources { env, overrides, cwd, .. } = self.sources;
        let variables = overrides::from_env(env);
        let flags = overrides.settings();
        variables.iter().chain(&flags).try_for_each(|setting| check(setting, &SCHEMA))?;
        self.layers.add(variables);
        if let Some(value) = &overrides.settings {
            self.add_settings(settings_file::of_flag(value, cwd)?)?;
        }
        self.layers.add(flags);
        Ok(())
    }
}
