//! From a document's keys to a definition. Every error names the place, the key and what to write instead.

use std::collections::BTreeMap;
use std::path::Path;

use super::budget::BudgetSpec;
use super::field::{Document, Key, node};
use super::source::{DefinitionError, Source};
use super::{
    Accepted, Definition, Dialect, Isolation, Memory, Parsed, Returns, advice, name, servers,
};
use crate::config::{
    HookConfig, INHERIT, Inert, Origin, ProjectStart, mcp, read_hooks, relative_word,
};
use crate::permission::{List, check_bound};
use crate::protocol::{DEPTH_VARIABLE, HookEvent, McpServer, McpWish, Mode, StartDir};

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

/// Keys that other tools have and that would be missed here.
const NOT_YET: [&str; 1] = ["skills"];

const MODES: [Mode; 5] =
    [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::DontAsk, Mode::BypassPermissions];

/// Turns a document into a definition.
pub(super) struct Reader<'a> {
    pub source: &'a Source,
    pub dialect: Dialect,
    pub document: &'a Document,
    /// The name when no key gives one.
    pub name: String,
    /// What the person has accepted of the project; nothing where it is absent.
    pub accepted: Option<&'a Accepted>,
    /// Where hooks and servers start that need no word on that: the folder of a project's
    /// definition, or the working directory for one of the command line. `None` for the user's own.
    pub folder: Option<&'a Path>,
}

impl<'a> Reader<'a> {
    pub fn read(self) -> Result<Parsed, DefinitionError> {
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
            tools: self.tools("tools", List::Allow)?.filter(|tools| *tools != ["*"]),
            disallowed_tools: self.tools("disallowedTools", List::Deny)?.unwrap_or_default(),
            model,
            provider,
            max_turns,
            budget,
            own_mode: self.own_mode(permission_mode, &mut inert)?,
            permission_mode,
            memory: self.choice("memory", &Memory::WORDS, &mut warnings)?,
            color: self.key("color").text()?,
            background: self.key("background").flag()?,
            isolation: self
                .choice("isolation", &Isolation::WORDS, &mut warnings)?
                .unwrap_or_default(),
            env: self.env(&mut inert)?,
            hooks: self.hooks(&mut inert, &mut starts, &mut warnings)?,
            returns: self.key("return").one_of(&Returns::WORDS)?.unwrap_or_default(),
            mcp_servers: self.servers(&mut inert, &mut starts, &mut odd)?,
            source: self.source.clone(),
        };
        let mut advice = advice::of(
            &definition,
            self.key("description"),
            self.key("tools"),
            self.key("disallowedTools"),
        );
        advice.extend(inert.iter().map(|thing| self.waits(thing)));
        advice.extend(starts.iter().map(|start| self.starts_elsewhere(start)));
        advice.extend(odd);
        Ok(Parsed { definition, warnings, advice, inert, starts })
    }

    fn key(&self, name: &'a str) -> Key<'a> {
        Key { source: self.source, name, field: self.document.get(name) }
    }

    /// A list of tools. Entries with a pattern are rules, and have to be readable as such.
    fn tools(&self, name: &'a str, list: List) -> Result<Option<Vec<String>>, DefinitionError> {
        let key = self.key(name);
        let entries = key.list()?;
        for entry in entries.iter().flatten() {
            check_bound(entry, list).map_err(|why| key.error(format!("`{name}`: {why}")))?;
        }
        Ok(entries)
    }

    /// A mistake in the definition as a whole.
    fn error(&self, message: impl Into<String>) -> DefinitionError {
        let line = self.source.path().map(|_| 1);
        DefinitionError { place: self.source.clone(), line, message: message.into() }
    }

    /// Refuses keys that do not exist, or warns of them in a file that was written for other tools.
    fn unknown_keys(&self) -> Result<Vec<DefinitionError>, DefinitionError> {
        let own_name = (*self.source != Source::Flag).then_some("name");
        let mut warnings = Vec::new();
        for (name, field) in &self.document.fields {
            let name = name.as_str();
            if KEYS.contains(&name) || own_name == Some(name) {
                continue;
            }
            let key = Key { source: self.source, name, field: Some(field) };
            let foreign = self.dialect == Dialect::Foreign;
            let error = if NOT_YET.contains(&name) {
                let then = if foreign { " and passed over" } else { ": leave it out" };
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

    /// The agent's name. Where a file of another program has one that is not allowed here, that of
    /// the file counts, with a warning.
    fn name_and_warning(&self) -> Result<(String, Option<DefinitionError>), DefinitionError> {
        let key = self.key("name");
        let given = if *self.source == Source::Flag { None } else { key.text()? };
        let check = |name: &str| name::check(name, self.dialect);
        let Some(name) = given else {
            let name = self.name.clone();
            return check(&name).map(|()| (name, None)).map_err(|why| self.error(why));
        };
        match check(&name) {
            Ok(()) => Ok((name, None)),
            Err(why) if self.dialect == Dialect::Foreign && check(&self.name).is_ok() => {
                let why = format!("{why}; the file's name counts instead: {}", self.name);
                Ok((self.name.clone(), Some(key.error(why))))
            }
            Err(why) => Err(key.error(why)),
        }
    }

    fn prompt(&self) -> Result<String, DefinitionError> {
        if self.document.prompt.is_empty() {
            let message = "the text after the front matter is empty: it is the agent's prompt";
            return Err(DefinitionError { line: self.document.prompt_line, ..self.error(message) });
        }
        Ok(self.document.prompt.clone())
    }

    /// `maxTurns` and `budget`; of two turn limits the smaller one counts, and stands in both.
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

    /// One of a few words. Other tools know other words for these keys: then the default holds,
    /// with a warning.
    fn choice<T: Copy>(
        &self,
        name: &'a str,
        words: &[(&str, T)],
        warnings: &mut Vec<DefinitionError>,
    ) -> Result<Option<T>, DefinitionError> {
        match (self.key(name).one_of(words), self.dialect) {
            (Err(error), Dialect::Foreign) => {
                let message = format!("{}; left out", error.message);
                warnings.push(DefinitionError { message, ..error });
                Ok(None)
            }
            (result, _) => result,
        }
    }

    /// Servers of its own that a project brings would run code. The names of the session's servers
    /// only narrow.
    fn servers(
        &self,
        inert: &mut Vec<Inert>,
        starts: &mut Vec<ProjectStart>,
        odd: &mut Vec<DefinitionError>,
    ) -> Result<Option<Vec<McpWish>>, DefinitionError> {
        let key = self.key("mcpServers");
        let Some(wishes) = servers::read(key)? else { return Ok(None) };
        let mut counted = Vec::new();
        for servers::Wish { server, asks_project } in wishes {
            counted.push(match server {
                McpWish::Named(name) => McpWish::Named(name),
                McpWish::Own(server) => {
                    let line = mcp::line(&server);
                    if !self.admits(key, &line, inert)? {
                        continue;
                    }
                    let start = self.start(key, &line, asks_project, starts)?;
                    let server = McpServer { start, ..server };
                    odd.extend(relative(key, &server).filter(|_| !asks_project));
                    McpWish::Own(server)
                }
            });
        }
        Ok(Some(counted))
    }

    /// Where a hook or server of the definition starts. One of the user's own that `asks` to start
    /// in the project, and may not yet, is added to `starts`.
    fn start(
        &self,
        key: Key<'a>,
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
        let path = self.accepted.map_or(path.to_owned(), |accepted| accepted.trust.shown(path));
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
    fn starts_elsewhere(&self, start: &ProjectStart) -> DefinitionError {
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

    /// Whether a part counts that runs code or widens rights: of a project the person has to have
    /// accepted it. `what` says in one line all that the part does; a part that does not count is
    /// added to `inert`.
    fn admits(
        &self,
        key: Key<'a>,
        what: &str,
        inert: &mut Vec<Inert>,
    ) -> Result<bool, DefinitionError> {
        let Some(path) = self.source.path().filter(|_| self.source.is_project()) else {
            return Ok(true);
        };
        let line = key.field.and_then(|field| field.line).unwrap_or(1);
        let path = self.accepted.map_or(path.to_owned(), |accepted| accepted.trust.shown(path));
        let what = format!("agent {} {}: {what}", self.name()?, key.name);
        let thing = Inert { what, origin: Origin::File { path, line } };
        Ok(match self.accepted {
            Some(accepted) => accepted.trust.admit(thing, inert),
            None => {
                inert.push(thing);
                false
            }
        })
    }

    /// What is said of a part that does not count.
    fn waits(&self, thing: &Inert) -> DefinitionError {
        let line = match &thing.origin {
            Origin::File { line, .. } => Some(*line),
            _ => None,
        };
        let message = format!("{} does nothing until you trust it: caliban trust", thing.name());
        DefinitionError { place: self.source.clone(), line, message }
    }

    /// `provider` and `model`. Another provider of a project's file would get the conversation, so
    /// it waits, and with it the model that was meant for it. Even the usual one is not named until
    /// it is accepted: the session may move to another provider, and the agent is to move with it.
    fn provider_and_model(
        &self,
        inert: &mut Vec<Inert>,
    ) -> Result<(Option<String>, Option<String>), DefinitionError> {
        let key = self.key("provider");
        let (provider, model) = (key.text()?, self.key("model").text()?);
        let Some(named) = provider.as_deref().filter(|name| *name != INHERIT) else {
            return Ok((provider, model));
        };
        let shown = named.escape_debug().to_string();
        let usual = self.accepted.and_then(|accepted| accepted.provider.as_deref());
        if self.source.is_project() && usual == Some(named) {
            let counts = self.admits(key, &shown, &mut Vec::new())?;
            return Ok((provider.filter(|_| counts), model));
        }
        Ok(if self.admits(key, &shown, inert)? { (provider, model) } else { (None, None) })
    }

    /// Whether the mode may count without regard to the session's, where the configuration lets
    /// modes do that.
    fn own_mode(
        &self,
        mode: Option<Mode>,
        inert: &mut Vec<Inert>,
    ) -> Result<bool, DefinitionError> {
        let widens = mode.filter(|mode| *mode != Mode::Plan);
        match widens {
            Some(mode) if self.accepted.is_some_and(|accepted| accepted.own_modes) => {
                self.admits(self.key("permissionMode"), mode.name(), inert)
            }
            _ => Ok(!self.source.is_project()),
        }
    }

    fn env(&self, inert: &mut Vec<Inert>) -> Result<BTreeMap<String, String>, DefinitionError> {
        let key = self.key("env");
        let mut variables = BTreeMap::new();
        for (variable, value) in key.table("RUST_LOG: debug")? {
            if !is_variable(variable.name) {
                let name = variable.name.escape_debug();
                let message = format!(
                    "`env.{name}` is no name of a variable: use letters, digits and _, the first no digit"
                );
                return Err(variable.error(message));
            }
            if variable.name == DEPTH_VARIABLE {
                let message =
                    format!("`env.{DEPTH_VARIABLE}` counts the levels of agents and is not to set");
                return Err(variable.error(message));
            }
            if value.contains('\0') {
                let name = variable.name;
                return Err(variable.error(format!("`env.{name}` must not hold a NUL character")));
            }
            variables.insert(variable.name.to_owned(), value.to_owned());
        }
        let pairs: Vec<String> =
            variables.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        if !pairs.is_empty() && !self.admits(key, &pairs.join(", "), inert)? {
            return Ok(BTreeMap::new());
        }
        Ok(variables)
    }
}

impl Reader<'_> {
    /// Hooks for this agent alone, in the shape of settings files. Its end is that of a sub-agent,
    /// however it is named.
    fn hooks(
        &self,
        inert: &mut Vec<Inert>,
        starts: &mut Vec<ProjectStart>,
        warnings: &mut Vec<DefinitionError>,
    ) -> Result<Vec<HookConfig>, DefinitionError> {
        let key = self.key("hooks");
        let Some(field) = key.field else { return Ok(Vec::new()) };
        let at = |line: Option<usize>| match self.source {
            Source::File { path, .. } => {
                Origin::File { path: path.clone(), line: line.unwrap_or(1) }
            }
            Source::Flag => Origin::Flag { name: "--agents" },
            Source::BuiltIn => Origin::BuiltIn,
        };
        let list = read_hooks(&node(field), at).map_err(|misfit| DefinitionError {
            place: self.source.clone(),
            line: misfit.line,
            message: misfit.message,
        })?;
        warnings.extend(list.notice().map(|notice| key.error(notice)));
        let mut own = Vec::new();
        for hook in list.hooks {
            // Each is a thing of its own: two in one line could be taken for one.
            let line = hook.describe();
            if !self.admits(key, &line, inert)? {
                continue;
            }
            let start = self.start(key, &line, hook.asks_project, starts)?;
            let hook = HookConfig { start, ..hook };
            own.push(match hook.event {
                HookEvent::Stop => HookConfig { event: HookEvent::SubagentStop, ..hook },
                _ => hook,
            });
        }
        Ok(own)
    }
}

/// Advice about a server that starts in an empty folder and names a file relative to that.
fn relative(key: Key<'_>, server: &McpServer) -> Option<DefinitionError> {
    let word = relative_word(server, &|_| false).filter(|_| server.start == StartDir::Private)?;
    let name = &server.name;
    Some(key.error(format!(
        "`{}.{name}` starts in an empty folder, where `{word}` is no file of the project: write the folder as ${{CALIBAN_PROJECT_DIR}}, or `cwd: project` to start it in projects that you accept for it",
        key.name
    )))
}

fn modes() -> [(&'static str, Mode); 5] {
    MODES.map(|mode| (mode.name(), mode))
}

fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}
