//! Where an agent works: its folder, its variables, and the bounds that apply there.

use std::path::Path;
use std::sync::Arc;

use crate::exec::ShellReach;
use crate::permission::AgentGate;
use crate::protocol::EnvOverlay;
use crate::tool::{BuiltinSettings, HiddenRules, RedirectRules};

/// One agent's place of work. A sub-agent works in its parent's unless it gets its own.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The base directory for relative paths.
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    pub bound: Option<FolderBound>,
}

/// A folder that an agent cannot leave.
#[derive(Clone, Debug)]
pub struct FolderBound {
    /// Absolute, without links.
    pub folder: Arc<Path>,
    pub shell: ShellReach,
}

impl Workspace {
    /// The tool settings for an agent with this gate in this place: its searches skip what the gate
    /// forbids it to read, and its redirects follow the gate's rules.
    pub fn settings(&self, session: &BuiltinSettings, gate: &AgentGate) -> BuiltinSettings {
        let (gate, web) = (gate.clone(), gate.clone());
        let hidden = HiddenRules::new(move |cwd, named| {
            let unreadable = gate.unreadable(cwd, named);
            move |file| unreadable.contains(file)
        });
        let redirects = RedirectRules::new(move |from, to| web.redirect_refusal(from, to));
        let web = session.web.clone().with_redirects(redirects);
        let settings = BuiltinSettings { hidden, web, ..session.clone() };
        match &self.bound {
            Some(FolderBound { folder, shell }) => {
                settings.bounded(self.cwd.clone(), folder.clone(), shell.clone())
            }
            None => BuiltinSettings { base: self.cwd.clone(), ..settings },
        }
    }

    /// The gate for this place.
    pub fn gate(&self, gate: AgentGate) -> AgentGate {
        let gate = gate.with_env(&self.env);
        match &self.bound {
            Some(bound) => gate.with_bound(bound.folder.to_path_buf(), self.cwd.to_path_buf()),
            None => gate,
        }
    }
}
