//! The first screen while there is no model: a list of ways to get one.

pub mod draw;
pub mod update;

use crate::tui::format::count;
use crate::tui::host::LocalServer;
use crate::tui::text::one_line;

/// The state while no model is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstRun {
    /// Servers found on this machine; `None` until the search is done.
    pub found: Option<Vec<LocalServer>>,
    pub selected: usize,
    /// Whether the user has asked for another search, so its result is said.
    pub asked: bool,
}

/// A way to begin without a configured model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupWay {
    Demo,
    Key,
    /// A server on this machine has models.
    LocalModel,
    /// None was found that has a model.
    NoServer,
}

/// A row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupRow {
    pub way: SetupWay,
    pub label: &'static str,
    pub detail: String,
    /// The effect of Enter.
    pub action: &'static str,
}

impl FirstRun {
    /// The rows of the list.
    pub fn rows(&self) -> Vec<SetupRow> {
        let demo = SetupRow {
            way: SetupWay::Demo,
            label: "watch the demo",
            detail: "three agents fix a bug in 30 s, no key, no network".to_owned(),
            action: "starts it",
        };
        let key = SetupRow {
            way: SetupWay::Key,
            label: "use an API key",
            detail: "ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY".to_owned(),
            action: "shows how",
        };
        vec![demo, key, self.local_row()]
    }

    fn local_row(&self) -> SetupRow {
        let label = "use a local server";
        let again = |detail: String| SetupRow {
            way: SetupWay::NoServer,
            label,
            detail,
            action: "looks again",
        };
        let Some(found) = &self.found else {
            return again("looking for one …".to_owned());
        };
        if found.is_empty() {
            let usual = "none on ports 11434 Ollama, 8080 llama.cpp, 8000 vLLM";
            return again(usual.to_owned());
        }
        let models: usize = found.iter().map(|server| server.models.len()).sum();
        let servers = found.iter().map(|server| match server.models.len() {
            0 => format!("{} without a model", one_line(&server.name)),
            many => format!("{} with {}", one_line(&server.name), count(many, "model")),
        });
        let detail = format!("found {}", servers.collect::<Vec<_>>().join(" · "));
        match models {
            0 => again(detail),
            _ => SetupRow { way: SetupWay::LocalModel, label, detail, action: "picks a model" },
        }
    }
}
