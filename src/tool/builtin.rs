//! The built-in tools, a fresh set for each agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::api::Tool;
use super::ask_user::AskUser;
use super::bash::Bash;
use super::bash_output::BashOutput;
use super::edit::Edit;
use super::exit_plan_mode::ExitPlanMode;
use super::file::FileToolState;
use super::glob::Glob;
use super::grep::Grep;
use super::kill_shell::KillShell;
use super::ledger::ReadLedger;
use super::path::Paths;
use super::read::Read;
use super::search::HiddenRules;
use super::shells::{ShellRegister, Shells};
use super::todo_write::TodoWrite;
use super::web_fetch::{WebFetch, WebSettings};
use super::write::Write;
use crate::exec::{Sandbox, Shell, ShellReach, Supervisor};
use crate::protocol::Redactor;

/// Settings of one agent's built-in tools. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BuiltinSettings {
    /// The shell's initial directory.
    pub base: Arc<Path>,
    /// The expansion of `~`.
    pub home: Option<PathBuf>,
    /// Variables, beside the well-known provider keys, that commands must not see.
    pub secret_env: Arc<[String]>,
    /// Files that searches skip.
    pub hidden: HiddenRules,
    pub web: WebSettings,
    /// Background commands; the same for all agents of a session.
    pub shells: Arc<dyn ShellRegister>,
    /// Permissions of the shell.
    pub shell: ShellReach,
    /// Confines read-only commands, where the system supports it.
    pub sandbox: Option<Sandbox>,
    /// The supervisor of its commands, where the system has it.
    pub supervisor: Option<Supervisor>,
    /// The only folder that file tools write in, if bounded. Absolute, without links.
    pub bound: Option<Arc<Path>>,
    /// Whether there is somebody to ask.
    pub asks_user: bool,
    /// Masks keys in what the user sees of background commands.
    pub redactor: Redactor,
}

impl BuiltinSettings {
    /// Creates settings for an agent that works in `base`.
    pub fn new(base: Arc<Path>) -> Self {
        Self {
            base,
            home: None,
            secret_env: Arc::from([]),
            hidden: HiddenRules::default(),
            web: WebSettings::default(),
            shells: Arc::new(Shells::default()),
            shell: ShellReach::default(),
            sandbox: None,
            supervisor: None,
            bound: None,
            asks_user: true,
            redactor: Redactor::default(),
        }
    }

    /// Changes these settings for an agent that works in `base` and can write only in `bound`, with this shell.
    pub fn bounded(self, base: Arc<Path>, bound: Arc<Path>, shell: ShellReach) -> Self {
        Self { base, bound: Some(bound), shell, ..self }
    }
}

/// Creates a fresh set of tools for one agent, in the order shown to models.
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
        asks_user,
        redactor,
    } = settings;
    let paths = Paths { base: base.clone(), home: home.clone() };
    let files =
        FileToolState { paths: paths.clone(), ledger: ReadLedger::default(), bound: bound.clone() };
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
        tools.push(Arc::new(Bash::new(shell, shells.clone(), redactor.clone())));
        tools.push(Arc::new(BashOutput::new(shells.clone())));
        tools.push(Arc::new(KillShell::new(shells.clone())));
    }
    tools.push(Arc::new(WebFetch::new(web.clone())));
    tools.push(Arc::new(TodoWrite));
    if *asks_user {
        tools.push(Arc::new(AskUser));
        tools.push(Arc::new(ExitPlanMode));
    }
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
        assert!(json.len() <= 4700, "{} bytes: {json}", json.len());
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
            "AskUserQuestion",
            "ExitPlanMode",
        ];
        assert_eq!(names, expected);
    }
}
