//! The built-in tools, made anew for each agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Tool;
use super::bash::Bash;
use super::bash_output::BashOutput;
use super::edit::Edit;
use super::file::Files;
use super::glob::Glob;
use super::grep::Grep;
use super::kill_shell::KillShell;
use super::ledger::Ledger;
use super::path::Paths;
use super::read::Read;
use super::search::Hidden;
use super::shells::{ShellRegister, Shells};
use super::todo_write::TodoWrite;
use super::web_fetch::{WebFetch, WebSettings};
use super::write::Write;
use crate::exec::{Sandbox, Shell, ShellReach, Supervisor};

/// What the built-in tools of one agent need to know. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BuiltinSettings {
    /// Where the shell begins.
    pub base: Arc<Path>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// Variables, beside the well-known provider keys, that commands must not see.
    pub secret_env: Arc<[String]>,
    /// What searches pass over.
    pub hidden: Hidden,
    pub web: WebSettings,
    /// Commands in the background; the same for all agents of a session.
    pub shells: Arc<dyn ShellRegister>,
    /// What the shell may do.
    pub shell: ShellReach,
    /// What confines commands that only read, where the system has it.
    pub sandbox: Option<Sandbox>,
    /// What its commands run below, where the system has it.
    pub supervisor: Option<Supervisor>,
    /// The only folder that file tools write in, if there is such a bound. Absolute, without links.
    pub bound: Option<Arc<Path>>,
}

impl BuiltinSettings {
    /// Settings for an agent that works in `base`.
    #[must_use]
    pub fn new(base: Arc<Path>) -> Self {
        Self {
            base,
            home: None,
            secret_env: Arc::from([]),
            hidden: Hidden::default(),
            web: WebSettings::default(),
            shells: Arc::new(Shells::default()),
            shell: ShellReach::default(),
            sandbox: None,
            supervisor: None,
            bound: None,
        }
    }

    /// These settings for an agent that works in `base` and can write only in `bound`, with this shell.
    #[must_use]
    pub fn bounded(self, base: Arc<Path>, bound: Arc<Path>, shell: ShellReach) -> Self {
        Self { base, bound: Some(bound), shell, ..self }
    }
}

/// A fresh set of tools for one agent, in the order in which models are told of them.
#[must_use]
pub fn builtin(settings: &BuiltinSettings) -> Vec<Arc<dyn Tool>> {
    let BuiltinSettings {
        base,
        home,
        secret_env,
        hidden,
        web,
        shells,
        shell,
        sandbox,
        supervisor,
        bound,
    } = settings;
    let paths = Paths { base: base.clone(), home: home.clone() };
    let files = Files { paths: paths.clone(), ledger: Ledger::default(), bound: bound.clone() };
    let free = Shell::new(base.clone(), secret_env.clone())
        .with_sandbox(sandbox.as_ref())
        .supervised(supervisor.clone());
    let shell = match shell {
        ShellReach::Anywhere => Some(free),
        ShellReach::Confined(confine) => Some(free.confined(confine.clone())),
        ShellReach::Withheld => None,
    };
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Read::new(files.clone())),
        Arc::new(Write::new(files.clone())),
        Arc::new(Edit::new(files)),
        Arc::new(Glob::new(paths.clone(), hidden.clone())),
        Arc::new(Grep::new(paths, hidden.clone())),
    ];
    if let Some(shell) = shell {
        tools.push(Arc::new(Bash::new(shell, shells.clone())));
        tools.push(Arc::new(BashOutput::new(shells.clone())));
        tools.push(Arc::new(KillShell::new(shells.clone())));
    }
    tools.push(Arc::new(WebFetch::new(web.clone())));
    tools.push(Arc::new(TodoWrite));
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_specs_together_stay_small() {
        let tools = builtin(&BuiltinSettings::new(Path::new("/w").into()));
        let specs: Vec<_> = tools.iter().map(|tool| tool.spec()).collect();
        let json = serde_json::to_string(&specs).unwrap();
        assert!(json.len() <= 3600, "{} bytes: {json}", json.len());
    }

    #[test]
    fn the_order_is_fixed() {
        let tools = builtin(&BuiltinSettings::new(Path::new("/w").into()));
        let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let expected = [
            "Read",
            "Write",
            "Edit",
            "Glob",
            "Grep",
            "Bash",
            "BashOutput",
            "KillShell",
            "WebFetch",
            "TodoWrite",
        ];
        assert_eq!(names, expected);
    }
}
