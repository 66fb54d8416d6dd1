//! Where an agent works: its folder, its variables, and the bounds that hold there.

use std::path::Path;
use std::sync::Arc;

use crate::exec::ShellReach;
use crate::permission::AgentGate;
use crate::protocol::EnvOverlay;
use crate::tool::{BuiltinSettings, Hidden, RedirectRules};

/// One agent's surroundings. An agent that it starts works in the same place, unless it gets one of its own.
#[derive(Clone, Debug)]
pub struct Workplace {
    /// The base directory, against which relative paths resolve.
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    pub bound: Option<Bound>,
}

/// A folder that an agent cannot leave.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Absolute, without links.
    pub folder: Arc<Path>,
    pub shell: ShellReach,
}

impl Workplace {
    /// The tools' settings for an agent with this gate in this place: what its gate keeps it from
    /// reading is hidden from its searches, and its redirects follow its rules.
    #[must_use]
    pub fn settings(&self, session: &BuiltinSettings, gate: &AgentGate) -> BuiltinSettings {
        let (gate, web) = (gate.clone(), gate.clone());
        let hidden = Hidden::by(move |cwd, place| {
            let unreadable = gate.unreadable(cwd, place);
            move |file| unreadable.contains(file)
        });
        let redirects = RedirectRules::by(move |from, to| web.refused_redirect(from, to));
        let web = session.web.clone().with_redirects(redirects);
        let settings = BuiltinSettings { hidden, web, ..session.clone() };
        match &self.bound {
            Some(Bound { folder, shell }) => {
                settings.bounded(self.cwd.clone(), folder.clone(), shell.clone())
            }
            None => BuiltinSettings { base: self.cwd.clone(), ..settings },
        }
    }

    /// The gate for this place.
    #[must_use]
    pub fn gate(&self, gate: AgentGate) -> AgentGate {
        let gate = gate.with_env(&self.env);
        match &self.bound {
            Some(bound) => gate.bounded(bound.folder.to_path_buf(), self.cwd.to_path_buf()),
            None => gate,
        }
    }
}
