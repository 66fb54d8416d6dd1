//! Turns a document's keys into a definition. Every error names the place, the key and what to
//! write instead.

use std::collections::BTreeMap;
use std::path::Path;

use super::budget::BudgetSpec;
use super::field::{DefinitionKey, Document, node};
use super::source::{DefinitionError, DefinitionSource};
use super::{
    Definition, DefinitionFormat, DefinitionTrust, Isolation, MemoryScope, ParsedDefinition,
    ReturnMode, advice, name, servers,
};
use crate::config::{
    HookConfig, INHERIT, Origin, ProjectStart, UntrustedItem, mcp, read_hooks, relative_word,
};
use crate::permission::{RuleList, check_bound};
use crate::protocol::{
    DEPTH_VARIABLE, HookEvent, McpSelection, McpServer, PermissionMode, StartDir,
};

/// The keys that a definition may have, besides its name and its prompt.
const KEYS: [&str; 16] = [
    "description",
    "tools",
    "disallowedTools",
    "model",
    "provider",
    "maxTurns",
    "budget",
    "permissionMode",
    "memory",
    "color",
    "background",
    "isolation",
    "env",
    "hooks",
    "return",
    "mcpServers",
];

/// Keys of other tools that are not supported here yet.
const UNSUPPORTED_KEYS: [&str; 1] = ["skills"];

const MODES: [PermissionMode; 5] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
    PermissionMode::DontAsk,
    PermissionMode::BypassPermissions,
];

/// Turns a document into a definition.
pub(super) struct DefinitionReader<'a> {
    pub source: &'a DefinitionSource,
    pub dialect: DefinitionFormat,
    pub document: &'a Document,
    /// The name when no key gives one.
    pub name: String,
    /// The parts of the project that the user has accepted; `None` is nothing.
    pub accepted: Option<&'a DefinitionTrust>,
    /// The folder where hooks and servers start that need no acceptance for it: the folder of a
    /// project's definition, or the working directory for one of the command line. `None` for the
    /// user's own.
    pub folder: Option<&'a Path>,
}

impl<'a> DefinitionReader<'a> {
    pub fn read(self) -> Result<ParsedDefinition, DefinitionError> {
        let mut warnings = self.unknown_keys()?;
        let (mut inert, mut starts, mut odd) = (Vec::new(), Vec::new(), Vec::new());
        let Some(description) = self.key("description").text()? else {
            let message =
                "`description` is missing: it says what the agent does and when to use it";
            return Err(self.error(message));
        };
        let (max_turns, budget) = self.limits()?;
        let (name, renamed) = self.name_and_warning()?;
        warnings.extend(renamed);
        let permission_mode = self.choice("permissionMode", &modes(), &mut warnings)?;
        let (provider, model) = self.provider_and_model(&mut inert)?;
        let definition = Definition {
            name,
            description,
            prompt: self.prompt()?,
            tools: self.tools("tools", RuleList::Allow)?.filter(|tools| *tools != ["*"]),
            disallowed_tools: self.tools("disallowedTools", RuleList::Deny)?.unwrap_or_default(),
            model,
            provider,
            max_turns,
            budget,
            own_mode: self.own_mode(permission_mode, &mut inert)?,
            permission_mode,
            memory: self.choice("memory", &MemoryScope::WORDS, &mut warnings)?,
            color: self.key("color").text()?,
            background: self.key("background").flag()?,
            isolation: self
                .choice("isolation", &Isolation::WORDS, &mut warnings)?
                .unwrap_or_default(),
            env: self.env(&mut inert)?,
            hooks: self.hooks(&mut inert, &mut starts, &mut warnings)?,
            returns: self.key("return").one_of(&ReturnMode::WORDS)?.unwrap_or_default(),
            mcp_servers: self.servers(&mut inert, &mut starts, &mut odd)?,
            source: self.source.clone(),
        };
        let mut advice = advice::advise(
            &definition,
            self.key("description"),
            self.key("tools"),
            self.key("disallowedTools"),
        );
        advice.extend(inert.iter().map(|thing| self.untrusted_notice(thing)));
        advice.extend(starts.iter().map(|start| self.start_notice(start)));
        advice.extend(odd);
        Ok(ParsedDefinition { definition, warnings, advice, inert, starts })
    }

    fn key(&self, name: &'a str) -> DefinitionKey<'a> {
        DefinitionKey { source: self.source, name, field: self.document.get(name) }
    }

    /// A list of tools. Entries with a pattern are rules, and must be valid as such.
    fn tools(&self, name: &'a str, list: RuleList) -> Result<Option<Vec<String>>, DefinitionError> {
        let key = self.key(name);
        let entries = key.list()?;
        for entry in entries.iter().flatten() {
            check_bound(entry, list).map_err(|why| key.error(format!("`{name}`: {why}")))?;
        }
        Ok(entries)
    }

    /// An error in the definition as a whole.
    fn error(&self, message: impl Into<String>) -> DefinitionError {
        let line = self.source.path().map(|_| 1);
        DefinitionError { place: self.source.clone(), line, message: message.into() }
    }

    /// Rejects unknown keys, or warns about them in a file written for other tools.
    fn unknown_keys(&self) -> Result<Vec<DefinitionError>, DefinitionError> {
        let own_name = (*self.source != DefinitionSource::Flag).then_some("name");
        let mut warnings = Vec::new();
        for (name, field) in &self.document.fields {
            let name = name.as_str();
            if KEYS.contains(&name) || own_name == Some(name) {
                continue;
            }
            let key = DefinitionKey { source: self.source, name, field: Some(field) };
            let foreign = self.dialect == DefinitionFormat::Foreign;
            let error = if UNSUPPORTED_KEYS.contains(&name) {
                let then = if foreign { " and ignored" } else { ": remove it" };
                key.error(format!("`{name}` is not supported yet{then}"))
            } else {
                let allowed: Vec<&str> = own_name.into_iter().chain(KEYS).collect();
                let name = name.escape_debug();
                key.error(format!("unknown key `{name}`; allowed: {}", allowed.join(", ")))
            };
            if !foreign {
                return Err(error);
            }
            warnings.push(error);
        }
        Ok(warnings)
    }

    fn name(&self) -> Result<String, DefinitionError> {
        Ok(self.name_and_warning()?.0)
    }

    /// The agent's name. If a file of another program has one that is not allowed here, the file's
    /// name is used instead, with a warning.
    fn name_and_warning(&self) -> Result<(String, Option<DefinitionError>), DefinitionError> {
        let key = self.key("name");
        let given = if *self.source == DefinitionSource::Flag { None } else { key.text()? };
        let check = |name: &str| name::check(name, self.dialect);
        let Some(name) = given else {
            let name = self.name.clone();
            return check(&name).map(|()| (name, None)).map_err(|why| self.error(why));
        };
        match check(&name) {
            Ok(()) => Ok((name, None)),
            Err(why) if self.dialect == DefinitionFormat::Foreign && check(&self.name).is_ok() => {
                let why = format!("{why}; using the file's name instead: {}", self.name);
                Ok((self.name.clone(), Some(key.error(why))))
            }
            Err(why) => Err(key.error(why)),
        }
    }

    fn prompt(&self) -> Result<String, DefinitionError> {
        if self.document.prompt.is_empty() {
            let message = "there is no text after the front matter: write the agent's prompt there";
            return Err(DefinitionError { line: self.document.prompt_line, ..self.error(message) });
        }
        Ok(self.document.prompt.clone())
    }

    /// `maxTurns` and `budget`; the smaller of two turn limits applies, and is set in both.
    fn limits(&self) -> Result<(Option<u32>, BudgetSpec), DefinitionError> {
        let turns = self.key("maxTurns").count()?;
        let mut budget = BudgetSpec::default();
        for (key, text) in self.key("budget").table("max_usd: 0.50")? {
            budget
                .set(key.name, text.parse().ok())
                .map_err(|error| key.error(error.to_string()))?;
        }
        let budget = budget.min(BudgetSpec { max_turns: turns, ..BudgetSpec::default() });
        Ok((budget.max_turns, budget))
    }

    /// One of these words. Other tools have other words for these keys: then the default applies,
    /// with a warning.
    fn choice<T: Copy>(
        &self,
        name: &'a str,
        words: &[(&str, T)],
        warnings: &mut Vec<DefinitionError>,
    ) -> Result<Option<T>, DefinitionError> {
        match (self.key(name).one_of(words), self.dialect) {
            (Err(error), DefinitionFormat::Foreign) => {
                let message = format!("{}; ignored", error.message);
                warnings.push(DefinitionError { message, ..error });
                Ok(None)
            }
            (result, _) => result,
        }
    }

    /// Reads the servers. A project's own servers would run code; the names of the session's
    /// servers only narrow.
    fn servers(
        &self,
        inert: &mut Vec<UntrustedItem>,
        starts: &mut Vec<ProjectStart>,
        odd: &mut Vec<DefinitionError>,
    ) -> Result<Option<Vec<McpSelection>>, DefinitionError> {
        let key = self.key("mcpServers");
        let Some(wishes) = servers::read(key)? else { return Ok(None) };
        let mut counted = Vec::new();
        for servers::ServerEntry { server, asks_project } in wishes {
            counted.push(match server {
                McpSelection::Named(name) => McpSelection::Named(name),
                McpSelection::Own(server) => {
                    let line = mcp::describe_server(&server);
                    if !self.is_accepted(key, &line, inert)? {
                        continue;
                    }
                    let start = self.start(key, &line, asks_project, starts)?;
                    let server = McpServer { start, ..server };
                    odd.extend(relative_path_advice(key, &server).filter(|_| !asks_project));
                    McpSelection::Own(server)
                }
            });
        }
        Ok(Some(counted))
    }

    /// The directory where a hook or server of the definition starts. One of the user's own that
    /// `asks` to start in the project, and may not yet, is added to `starts`.
    fn start(
        &self,
        key: DefinitionKey<'a>,
        what: &str,
        asks: bool,
        starts: &mut Vec<ProjectStart>,
    ) -> Result<StartDir, DefinitionError> {
        if let Some(folder) = self.folder {
            return Ok(StartDir::project(folder));
        }
        let Some(path) = self.source.path().filter(|_| asks) else {
            return Ok(StartDir::Private);
        };
        let line = key.field.and_then(|field| field.line).unwrap_or(1);
        let path =
            self.accepted.map_or(path.to_owned(), |accepted| accepted.trust.display_path(path));
        let entry = format!("agent {} {}: {what}", self.name()?, key.name);
        let start = ProjectStart { entry, origin: Origin::File { path, line } };
        Ok(match self.accepted {
            Some(accepted) => accepted.trust.start_dir(start, starts),
            None => {
                starts.push(start);
                StartDir::Private
            }
        })
    }

    /// Says that a part starts in an empty folder although it asks for the project.
    fn start_notice(&self, start: &ProjectStart) -> DefinitionError {
        let line = match &start.origin {
            Origin::File { line, .. } => Some(*line),
            _ => None,
        };
        let message = format!(
            "{} starts in an empty folder until you run `caliban trust` here",
            start.name()
        );
        DefinitionError { place: self.source.clone(), line, message }
    }

    /// Whether a part that runs code or widens rights applies: the user must have accepted it if it
    /// is a project's. `what` describes everything the part does in one line; a part that does not
    /// apply is added to `inert`.
    fn is_accepted(
        &self,
        key: DefinitionKey<'a>,
        what: &str,
        inert: &mut Vec<UntrustedItem>,
    ) -> Result<bool, DefinitionError> {
        let Some(path) = self.source.path().filter(|_| self.source.is_project()) else {
            return Ok(true);
        };
        let line = key.field.and_then(|field| field.line).unwrap_or(1);
        let path =
            self.accepted.map_or(path.to_owned(), |accepted| accepted.trust.display_path(path));
        let what = format!("agent {} {}: {what}", self.name()?, key.name);
        let thing = UntrustedItem { what, origin: Origin::File { path, line } };
        Ok(match self.accepted {
            Some(accepted) => accepted.trust.admit(thing, inert),
            None => {
                inert.push(thing);
                false
            }
        })
    }

    /// The notice about a part that does not apply.
    fn untrusted_notice(&self, thing: &UntrustedItem) -> DefinitionError {
        let line = match &thing.origin {
            Origin::File { line, .. } => Some(*line),
            _ => None,
        };
        let message =
            format!("{} is ignored until you trust it: run `caliban trust`", thing.name());
        DefinitionError { place: self.source.clone(), line, message }
    }

    /// `provider` and `model`. Another provider in a project's file would get the conversation, so
    /// it needs acceptance, and so does the model meant for it. Even the usual provider is not set
    /// until it is accepted: the session may move to another provider, and the agent moves with it.
    fn provider_and_model(
        &self,
        inert: &mut Vec<UntrustedItem>,
    ) -> Result<(Option<String>, Option<String>), DefinitionError> {
        let key = self.key("provider");
        let (provider, model) = (key.text()?, self.key("model").text()?);
        let Some(named) = provider.as_deref().filter(|name| *name != INHERIT) else {
            return Ok((provider, model));
        };
        let shown = named.escape_debug().to_string();
        let usual = self.accepted.and_then(|accepted| accepted.provider.as_deref());
        if self.source.is_project() && usual == Some(named) {
            let counts = self.is_accepted(key, &shown, &mut Vec::new())?;
            return Ok((provider.filter(|_| counts), model));
        }
        Ok(if self.is_accepted(key, &shown, inert)? { (provider, model) } else { (None, None) })
    }

    /// Whether the mode may apply regardless of the session's, if the configuration allows that.
    fn own_mode(
        &self,
        mode: Option<PermissionMode>,
        inert: &mut Vec<UntrustedItem>,
    ) -> Result<bool, DefinitionError> {
        let widens = mode.filter(|mode| *mode != PermissionMode::Plan);
        match widens {
            Some(mode) if self.accepted.is_some_and(|accepted| accepted.own_modes) => {
                self.is_accepted(self.key("permissionMode"), mode.name(), inert)
            }
            _ => Ok(!self.source.is_project()),
        }
    }

    fn env(
        &self,
        inert: &mut Vec<UntrustedItem>,
    ) -> Result<BTreeMap<String, String>, DefinitionError> {
        let key = self.key("env");
        let mut variables = BTreeMap::new();
        for (variable, value) in key.table("RUST_LOG: debug")? {
            if !is_variable(variable.name) {
                let name = variable.name.escape_debug();
                let message = format!(
                    "`env.{name}` is not a variable name: use letters, digits and _, not starting with a digit"
                );
                return Err(variable.error(message));
            }
            if variable.name == DEPTH_VARIABLE {
                let message =
                    format!("`env.{DEPTH_VARIABLE}` counts the levels of agents and cannot be set");
                return Err(variable.error(message));
            }
            if value.contains('\0') {
                let name = variable.name;
                return Err(
                    variable.error(format!("`env.{name}` must not contain a NUL character"))
                );
            }
            variables.insert(variable.name.to_owned(), value.to_owned());
        }
        let pairs: Vec<String> =
            variables.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        if !pairs.is_empty() && !self.is_accepted(key, &pairs.join(", "), inert)? {
            return Ok(BTreeMap::new());
        }
        Ok(variables)
    }
}

impl DefinitionReader<'_> {
    /// Hooks for this agent alone, in the format of settings files. `Stop` means the end of this
    /// sub-agent.
    fn hooks(
        &self,
        inert: &mut Vec<UntrustedItem>,
        starts: &mut Vec<ProjectStart>,
        warnings: &mut Vec<DefinitionError>,
    ) -> Result<Vec<HookConfig>, DefinitionError> {
        let key = self.key("hooks");
        let Some(field) = key.field else { return Ok(Vec::new()) };
        let at = |line: Option<usize>| match self.source {
            DefinitionSource::File { path, .. } => {
                Origin::File { path: path.clone(), line: line.unwrap_or(1) }
            }
            DefinitionSource::Flag => Origin::Flag { name: "--agents" },
            DefinitionSource::BuiltIn => Origin::BuiltIn,
        };
        let list = read_hooks(&node(field), at).map_err(|misfit| DefinitionError {
            place: self.source.clone(),
            line: misfit.line,
            message: misfit.message,
        })?;
        warnings.extend(list.notice().map(|notice| key.error(notice)));
        let mut own = Vec::new();
        for hook in list.hooks {
            // Each is accepted separately: two in one line could be taken for one.
            let line = hook.describe();
            if !self.is_accepted(key, &line, inert)? {
                continue;
            }
            let start = self.start(key, &line, hook.wants_project_cwd, starts)?;
            let hook = HookConfig { start, ..hook };
            own.push(match hook.event {
                HookEvent::Stop => HookConfig { event: HookEvent::SubagentStop, ..hook },
                _ => hook,
            });
        }
        Ok(own)
    }
}

/// Advice about a server that starts in an empty folder and names a file relative to it.
fn relative_path_advice(key: DefinitionKey<'_>, server: &McpServer) -> Option<DefinitionError> {
    let word = relative_word(server, &|_| false).filter(|_| server.start == StartDir::Private)?;
    let name = &server.name;
    Some(key.error(format!(
        "`{}.{name}` starts in an empty folder, where `{word}` is not a file of the project: write the project folder as ${{CALIBAN_PROJECT_DIR}}, or set `cwd: project` to start it in projects that you accept for it",
        key.name
    )))
}

fn modes() -> [(&'static str, PermissionMode); 5] {
    MODES.map(|mode| (mode.name(), mode))
}

fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}
