//! Choices made on the screen that later sessions begin with: the theme of all projects; the model,
//! the effort and plan mode of each.
//!
//! The file `choices.json` in the state folder holds them. Configuration files, the environment and
//! options take precedence. A freer mode than the configured one is never kept.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::setup::Setup;
use crate::config::lock::lock_beside;
use crate::config::replace::write_atomic;
use crate::config::{KeySource, Origin};
use crate::protocol::{PermissionMode, printable_line, printable_path};
use crate::runtime::OpenRequest;
use crate::tui::host::KeptChoice;

/// The most bytes of the file that are read, at each start.
const MAX_FILE: u64 = 256 * 1024;

/// The most projects whose choices are kept.
const MAX_PROJECTS: usize = 500;

/// The file's content. Unknown keys are those of a newer version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredChoices {
    theme: Option<String>,
    /// By the project's root.
    projects: BTreeMap<String, ProjectChoices>,
}

/// The choices for one project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct ProjectChoices {
    model: Option<ChosenModel>,
    effort: Option<String>,
    plan: bool,
    /// When one of them last changed.
    at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ChosenModel {
    provider: String,
    name: String,
    at: Timestamp,
}

/// The file of the choices, for one project.
#[derive(Clone, Debug)]
pub(crate) struct ChoiceStore {
    file: PathBuf,
    /// The project's root.
    project: String,
    /// The keys that something else sets, each with the place: choices of them are not kept.
    fixed: Vec<(&'static str, Origin)>,
    /// The choices to write, in the order in which they were made.
    queue: Arc<Mutex<VecDeque<KeptChoice>>>,
}

/// The choices that a session begins with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    theme: Option<String>,
    project: ProjectChoices,
    /// The file, named by an error about its theme.
    file: PathBuf,
    /// Why there are none.
    pub problem: Option<String>,
}

impl ChoiceStore {
    /// Creates the store of a project's choices. `None` if the project's path is no valid UTF-8.
    pub fn new(setup: &Setup) -> Option<Self> {
        let keys =
            ["tui.theme", "model.name", "model.provider", "model.effort", "permissions.mode"];
        let origin = |key| (key, setup.loaded.origins.get(key).clone());
        Some(Self {
            file: setup.dirs.state.join("choices.json"),
            project: setup.loaded.project.root().to_str()?.to_owned(),
            queue: Arc::default(),
            fixed: keys
                .map(origin)
                .into_iter()
                .filter(|(_, origin)| *origin != Origin::BuiltIn)
                .collect(),
        })
    }

    /// Reads the choices. If the file cannot be used there are none, and one line says so.
    pub fn read(&self) -> Choices {
        let stored = self.stored();
        let problem = stored.as_ref().err().map(|why| {
            let file = printable_path(&self.file);
            format!(
                "{file}: {why}. The choices kept there are ignored; the next one replaces them."
            )
        });
        let mut stored = stored.unwrap_or_default();
        let project = stored.projects.remove(&self.project).unwrap_or_default();
        Choices { theme: stored.theme, project, file: self.file.clone(), problem }
    }

    /// Takes a choice to write. If something else sets its key, returns the place and what that means
    /// instead.
    pub fn take(&self, choice: &KeptChoice) -> Option<String> {
        let keys: &[&str] = match choice {
            KeptChoice::Theme(_) => &["tui.theme"],
            KeptChoice::Model { .. } => &["model.name", "model.provider"],
            KeptChoice::Effort(_) => &["model.effort"],
            KeptChoice::Plan(_) => &["permissions.mode"],
        };
        if let Some((_, place)) = self.fixed.iter().find(|(key, _)| keys.contains(key)) {
            return Some(match place {
                Origin::Flag { name } => format!("not kept, since {name} was given"),
                place => format!("{place} sets it for later ones"),
            });
        }
        self.queue.lock().push_back(choice.clone());
        None
    }

    /// Writes the choices that were taken. May block for long.
    ///
    /// # Errors
    /// Fails with one line if they cannot be written.
    pub fn write(&self) -> Result<(), String> {
        let _one_at_a_time = lock_beside(&self.file).map_err(|error| error.to_string())?;
        // A file that cannot be used is replaced, as its notice says.
        let before = self.stored().ok();
        let mut stored = before.clone().unwrap_or_default();
        for choice in std::mem::take(&mut *self.queue.lock()) {
            self.apply(&mut stored, &choice);
        }
        if before.as_ref() != Some(&stored) {
            let failed = |error: std::io::Error| {
                format!("cannot write {}: {error}", printable_path(&self.file))
            };
            let text = serde_json::to_vec_pretty(&stored).map_err(|error| failed(error.into()))?;
            write_atomic(&self.file, &text, PermissionsExt::from_mode(0o600)).map_err(failed)?;
        }
        Ok(())
    }

    fn apply(&self, stored: &mut StoredChoices, choice: &KeptChoice) {
        if let KeptChoice::Theme(name) = choice {
            stored.theme = Some(name.clone()).filter(|name| name != "auto");
            return;
        }
        let old = stored.projects.remove(&self.project).unwrap_or_default();
        let at = Timestamp::now();
        let mut new = old.clone();
        match choice {
            KeptChoice::Theme(_) => {}
            KeptChoice::Model { provider, name } => {
                let (provider, name) = (provider.clone(), name.clone());
                new.model = Some(ChosenModel { provider, name, at });
            }
            KeptChoice::Effort(effort) => new.effort.clone_from(effort),
            KeptChoice::Plan(plan) => new.plan = *plan,
        }
        if new != old {
            new.at = Some(at);
        }
        if new != ProjectChoices::default() {
            stored.projects.insert(self.project.clone(), new);
        }
        while stored.projects.len() > MAX_PROJECTS {
            let oldest = stored.projects.iter().min_by_key(|(_, choices)| choices.at);
            let Some(oldest) = oldest.map(|(project, _)| project.clone()) else { break };
            stored.projects.remove(&oldest);
        }
    }

    fn stored(&self) -> Result<StoredChoices, String> {
        match self.file.metadata() {
            Ok(found) if found.is_file() && found.len() <= MAX_FILE => {}
            Ok(_) => return Err("it is not a file that caliban wrote".to_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(StoredChoices::default());
            }
            Err(error) => return Err(format!("it cannot be read ({error})")),
        }
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&self.file);
        file.and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes))
            .map_err(|error| format!("it cannot be read ({error})"))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| format!("it is not what caliban writes there ({error})"))
    }
}

impl Choices {
    /// Applies the theme, unless a file or an option names one.
    pub fn apply_theme(&self, setup: &mut Setup) {
        if let Some(name) = self.theme.as_ref().filter(|_| is_unset(setup, "tui.theme")) {
            setup.loaded.config.tui.theme = Some(name.clone());
            setup.loaded.origins.set_file("tui.theme", &self.file);
        }
    }

    /// Returns the name of the model that the user has chosen for this project since then, unless it is
    /// this one.
    pub fn other_model_since(&self, then: Timestamp, provider: &str, name: &str) -> Option<&str> {
        let model = self.project.model.as_ref().filter(|model| model.at > then)?;
        (model.provider != provider || model.name != name).then_some(model.name.as_str())
    }

    /// Applies the choices for the project, each unless its key is set. A stored session keeps its
    /// own model.
    pub fn apply(&self, setup: &mut Setup, open: &OpenRequest) {
        let ProjectChoices { model, effort, plan, .. } = &self.project;
        if *plan && is_unset(setup, "permissions.mode") {
            setup.loaded.config.permissions.mode = PermissionMode::Plan;
        }
        if let Some(effort) = effort.as_ref().filter(|_| is_unset(setup, "model.effort")) {
            setup.loaded.config.model.effort = Some(effort.clone());
        }
        let model = model.as_ref().filter(|_| matches!(open, OpenRequest::New(_)));
        let is_named = ["model.name", "model.provider"].iter().any(|key| !is_unset(setup, key));
        if let Some(model) = model.filter(|_| !is_named) {
            use_model(setup, model);
        }
    }
}

/// Uses the chosen model, or says why that is not possible.
fn use_model(setup: &mut Setup, chosen: &ChosenModel) {
    let ChosenModel { provider, name, .. } = chosen;
    let missing = match setup.loaded.config.key_source(provider, &setup.env) {
        Some(KeySource::Missing { wanted }) => format!("{wanted} is not set"),
        None => format!("no provider {} is configured", printable_line(provider)),
        Some(KeySource::Env { .. } | KeySource::Command(_) | KeySource::NotNeeded) => {
            let model = &mut setup.loaded.config.model;
            (model.provider, model.name) = (Some(provider.clone()), Some(name.clone()));
            return;
        }
    };
    let name = printable_line(name);
    setup.loaded.notices.push(format!(
        "The model chosen here before, {name}, is not used: {missing}. Fix that, or choose another with /model."
    ));
}

/// Whether nothing but the program itself sets this key.
fn is_unset(setup: &Setup, key: &str) -> bool {
    *setup.loaded.origins.get(key) == Origin::BuiltIn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Overrides;
    use crate::protocol::EnvOverlay;

    #[test]
    fn choices_are_kept_in_their_order_whoever_writes_them() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("home");
        let env: EnvOverlay = [("CALIBAN_HOME", home.to_str().unwrap())].into_iter().collect();
        let setup = Setup::in_dir(top.path().into(), env, &Overrides::default()).unwrap();
        let store = ChoiceStore::new(&setup).unwrap();
        let effort = |word: Option<&str>| KeptChoice::Effort(word.map(str::to_owned));
        for choice in [effort(Some("high")), effort(None), effort(Some("low"))] {
            assert_eq!(store.take(&choice), None);
        }
        let (first, second) = (store.clone(), store.clone());
        std::thread::scope(|scope| {
            for one in [&first, &second] {
                scope.spawn(|| one.write().unwrap());
            }
        });
        assert_eq!(store.read().project.effort.as_deref(), Some("low"));
        assert_eq!(std::fs::metadata(&store.file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
