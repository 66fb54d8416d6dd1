//! Turns a document's keys into a definition. Every mistake is named with its place, its key and
//! what to write instead.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::budget::BudgetSpec;
use super::fields::{Definition, DefinitionFormat, DefinitionTrust, ParsedDefinition};
use super::keys::{DefinitionKeys, Names, Text};
use super::source::{
    DefinitionError, DefinitionErrors, DefinitionNotes, DefinitionSource, NamedServer,
};
use super::{advice, name, servers};
use crate::config::{
    HookConfig, INHERIT, Origin, ProjectStart, UntrustedItem, describe_server, read_hooks,
    relative_word,
};
use crate::markdown::front_matter::{self, Document};
use crate::permission::{RuleList, check_bound, entry_tool};
use crate::protocol::{
    DEPTH_VARIABLE, HookEvent, MCP_PREFIX, McpSelection, McpServer, PermissionMode, Secret,
    StartDir,
};
use crate::spanned::{Scalar, Spanned, Value, ValueError};

/// The keys that a definition may have, besides its name and its prompt.
const KEYS: &str = "\
    description tools disallowedTools model provider maxTurns budget permissionMode memory color background \
    isolation env hooks return mcpServers";

/// The key of the MCP servers.
const SERVERS: &str = "mcpServers";

/// Keys of other tools that are not supported here yet.
const UNSUPPORTED_KEYS: [&str; 1] = ["skills"];

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
    pub found: Findings,
}

impl Definition {
    /// Parses a file's text. Its path is for messages, and gives the name if the front matter has
    /// none. In a project's file, parts that widen rights apply only if the user has `accepted`
    /// them.
    pub fn parse(
        text: &str,
        source: &DefinitionSource,
        dialect: DefinitionFormat,
        accepted: Option<&DefinitionTrust>,
    ) -> Result<ParsedDefinition, DefinitionErrors> {
        let document = front_matter::parse(text, dialect == DefinitionFormat::Foreign)
            .map_err(|error| source.error(Some(error.line), error.to_string()))?;
        let stem = source.path().and_then(Path::file_stem);
        let name = stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let (document, folder) = (&document, source.project_folder());
        let found = Findings::default();
        DefinitionReader { source, dialect, document, name, accepted, folder, found }.read()
    }
}

/// Messages to the user about a definition: mistakes, and what [`ParsedDefinition`] has.
#[derive(Default)]
pub(super) struct Findings {
    errors: Vec<DefinitionError>,
    warnings: Vec<DefinitionError>,
    advice: Vec<DefinitionError>,
    untrusted: Vec<UntrustedItem>,
    starts: Vec<ProjectStart>,
    servers: Vec<NamedServer>,
}

impl DefinitionReader<'_> {
    /// Reads all keys. The errors are in the order of their lines.
    pub fn read(mut self) -> Result<ParsedDefinition, DefinitionErrors> {
        let (definition, keys) = self.definition();
        let advice = advice::advise(&definition, &keys);
        let errors = DefinitionErrors::from_all(std::mem::take(&mut self.found.errors));
        let Some(errors) = errors else { return Ok(self.with_findings(definition, advice)) };
        let Findings { mut warnings, advice: more, servers, .. } = self.found;
        warnings.extend(advice.into_iter().chain(more));
        let notes = Box::new(DefinitionNotes { warnings, servers });
        Err(DefinitionErrors { notes, ..errors })
    }

    /// The definition without the keys that have a mistake.
    fn definition(&mut self) -> (Definition, DefinitionKeys) {
        self.check_keys();
        let keys = self.keys();
        let fields = &self.document.fields;
        if fields
            .read_keys(&["description"])
            .is_ok_and(|it: DefinitionKeys| it.description.is_none())
        {
            let message =
                "`description` is missing: it says what the agent does and when to use it";
            self.found.errors.push(self.error(message));
        }
        let (max_turns, budget) = self.limits(&keys);
        let name = self.set_name(keys.name.as_ref());
        self.value_or_default(name);
        let permission_mode = self.choice("permissionMode", keys.permission_mode.as_ref());
        let (provider, model) = self.provider_and_model(&keys);
        let tools = self.tools("tools", keys.tools.as_ref(), RuleList::Allow);
        let definition = Definition {
            name: self.name.clone(),
            description: keys.description.as_ref().map(|it| it.value.0.clone()).unwrap_or_default(),
            prompt: self.prompt(),
            tools: tools.filter(|tools| *tools != ["*"]),
            disallowed_tools: self.disallowed_tools(keys.disallowed_tools.as_ref()),
            model,
            provider,
            max_turns,
            budget,
            own_mode: self.own_mode(permission_mode, keys.permission_mode.as_ref()),
            permission_mode,
            memory: self.choice("memory", keys.memory.as_ref()),
            color: keys.color.as_ref().map(|color| color.value.0.clone()),
            background: keys.background,
            isolation: self.choice("isolation", keys.isolation.as_ref()).unwrap_or_default(),
            env: self.env(&keys),
            hooks: self.hooks(&keys),
            returns: keys.returns,
            mcp_servers: self.servers(&keys),
            source: self.source.clone(),
        };
        (definition, keys)
    }

    /// Adds what the user should know about a definition without mistakes, besides this advice.
    fn with_findings(
        mut self,
        definition: Definition,
        mut advice: Vec<DefinitionError>,
    ) -> ParsedDefinition {
        let Findings { warnings, advice: more, untrusted, starts, servers, .. } =
            std::mem::take(&mut self.found);
        advice.extend(untrusted.iter().map(|thing| {
            let what = "is ignored until you trust it: run `caliban trust`";
            self.notice(&thing.origin, format!("{} {what}", thing.name()))
        }));
        advice.extend(starts.iter().map(|start| {
            let what = "starts in an empty folder until you run `caliban trust` here";
            self.notice(&start.origin, format!("{} {what}", start.name()))
        }));
        advice.extend(more);
        ParsedDefinition { definition, warnings, advice, untrusted, starts, servers }
    }

    /// Reads each key by itself, so that every wrong one is reported.
    fn keys(&mut self) -> DefinitionKeys {
        let fields = &self.document.fields;
        let mut sound = Vec::new();
        for key in KEYS.split(' ').chain(["name"]) {
            match fields.read_keys::<DefinitionKeys>(&[key]) {
                Ok(_) => sound.push(key),
                Err(error) => self.found.errors.push(self.value_error(&error)),
            }
        }
        let keys = fields.read_keys(&sound).map_err(|error| self.value_error(&error));
        self.value_or_default(keys)
    }

    /// The value; if there is a mistake instead, it is recorded and the default takes its place.
    fn value_or_default<T: Default>(&mut self, read: Result<T, DefinitionError>) -> T {
        read.unwrap_or_else(|error| {
            self.found.errors.push(error);
            T::default()
        })
    }

    /// Checks a list of tools. Entries with a pattern are rules, and must be valid as such.
    fn tools(
        &mut self,
        key: &str,
        tools: Option<&Spanned<Names>>,
        list: RuleList,
    ) -> Option<Vec<String>> {
        let tools = tools?;
        let source = self.source;
        let wrong = tools.value.0.iter().filter_map(|entry| {
            let why = check_bound(entry, list).err()?;
            Some(source.error(Some(tools.line), format!("`{key}`: {why}")))
        });
        self.found.errors.extend(wrong);
        Some(tools.value.0.clone())
    }

    /// Checks the list of tools that are taken away, and writes their names as they are. An unknown one is
    /// an error, but in a file written for other programs, which may have such a tool.
    fn disallowed_tools(&mut self, tools: Option<&Spanned<Names>>) -> Vec<String> {
        const KEY: &str = "disallowedTools";
        let Some(tools) = tools else { return Vec::new() };
        let mut names = tools.value.0.clone();
        for entry in &mut names {
            let bare = entry_tool(entry).to_owned();
            if let Some(known) = name::known_tool(&bare) {
                entry.replace_range(..bare.len(), known);
            } else if !bare.starts_with(MCP_PREFIX) && !bare.starts_with(name::TOOL_PREFIX) {
                let bare = bare.escape_debug();
                let message =
                    format!("`{KEY}` lists {bare}, which is not a tool: fix the name or remove it");
                let error = self.source.error(Some(tools.line), message);
                self.not_ours(error);
            }
        }
        let names = Spanned { line: tools.line, value: Names(names) };
        self.tools(KEY, Some(&names), RuleList::Deny).unwrap_or_default()
    }

    /// An error in the definition as a whole.
    fn error(&self, message: impl Into<String>) -> DefinitionError {
        self.source.error(self.source.path().map(|_| 1), message)
    }

    fn value_error(&self, error: &ValueError) -> DefinitionError {
        self.source.error(Some(error.line), error.to_string())
    }

    /// Records something unknown: a mistake, or a warning in a file written for other programs.
    fn not_ours(&mut self, error: DefinitionError) {
        match self.dialect {
            DefinitionFormat::Own => self.found.errors.push(error),
            DefinitionFormat::Foreign => self.found.warnings.push(error),
        }
    }

    /// Rejects unknown keys, or warns about them in a file written for other tools.
    fn check_keys(&mut self) {
        let own_name = (*self.source != DefinitionSource::Flag).then_some("name");
        for (name, field) in self.document.fields.table().unwrap_or_default() {
            let name = name.as_str();
            let allowed = own_name.into_iter().chain(KEYS.split(' '));
            if allowed.clone().any(|key| key == name) {
                continue;
            }
            let foreign = self.dialect == DefinitionFormat::Foreign;
            let error = if UNSUPPORTED_KEYS.contains(&name) {
                let then = if foreign { " and ignored" } else { ": remove it" };
                format!("`{name}` is not supported yet{then}")
            } else {
                let allowed: Vec<&str> = allowed.collect();
                let name = name.escape_debug();
                format!("unknown key `{name}`; allowed: {}", allowed.join(", "))
            };
            self.not_ours(self.source.error(Some(field.line), error));
        }
    }

    /// Sets the agent's name, if a key has it. If a file of another program has one that is not
    /// allowed here, the file's name is used instead, with a warning.
    fn set_name(&mut self, given: Option<&Spanned<Text>>) -> Result<(), DefinitionError> {
        let check = |name: &str| name::check(name, self.dialect);
        let Some(Spanned { line, value: Text(given) }) = given else {
            return check(&self.name).map_err(|why| self.error(why));
        };
        let error = |why: String| self.source.error(Some(*line), why);
        match check(given) {
            Ok(()) => self.name.clone_from(given),
            Err(why) if self.dialect == DefinitionFormat::Foreign && check(&self.name).is_ok() => {
                let why = format!("{why}; using the file's name instead: {}", self.name);
                self.found.warnings.push(error(why));
            }
            Err(why) => return Err(error(why)),
        }
        Ok(())
    }

    fn prompt(&mut self) -> String {
        if self.document.prompt.is_empty() {
            let message = "there is no text after the front matter: write the agent's prompt there";
            let line = self.document.prompt_line;
            self.found.errors.push(DefinitionError { line, ..self.error(message) });
        }
        self.document.prompt.clone()
    }

    /// `maxTurns` and `budget`; the smaller of two turn limits applies, and is set in both.
    fn limits(&mut self, keys: &DefinitionKeys) -> (Option<u32>, BudgetSpec) {
        let turns = keys.max_turns.as_ref().map(|count| count.0);
        let mut budget = BudgetSpec::default();
        for (limit, Spanned { line, value: Scalar(text) }) in &keys.budget {
            if let Err(error) = budget.set(limit, text.trim().parse().ok()) {
                self.found.errors.push(self.source.error(Some(*line), error.to_string()));
            }
        }
        let budget = budget.min(BudgetSpec { max_turns: turns, ..BudgetSpec::default() });
        (budget.max_turns, budget)
    }

    /// One of the words that a key may have. Other tools have other words for these keys: then the
    /// default applies, with a warning.
    fn choice<T: DeserializeOwned>(
        &mut self,
        key: &str,
        word: Option<&Spanned<Value>>,
    ) -> Option<T> {
        let read = word?.read();
        match read.map_err(|error| self.value_error(&error.below(key))) {
            Err(error) if self.dialect == DefinitionFormat::Foreign => {
                let message = format!("{}; ignored", error.message);
                self.found.warnings.push(DefinitionError { message, ..error });
                None
            }
            result => self.value_or_default(result.map(Some)),
        }
    }

    /// Reads the servers. A project's own servers would run code; the names of the session's
    /// servers only narrow.
    fn servers(&mut self, keys: &DefinitionKeys) -> Option<Vec<McpSelection>> {
        let field = keys.mcp_servers.as_ref()?;
        let entries = servers::read(field).map_err(|error| self.value_error(&error.below(SERVERS)));
        let entries = self.value_or_default(entries);
        let mut counted = Vec::new();
        for servers::ServerEntry { server, asks_project } in entries {
            counted.push(match server {
                McpSelection::Named(name) => {
                    self.name_server(&name, field.line);
                    McpSelection::Named(name)
                }
                McpSelection::Own(server) => {
                    let line = describe_server(&server);
                    if !self.is_accepted(SERVERS, field.line, &line) {
                        continue;
                    }
                    let start = self.start(SERVERS, field.line, &line, asks_project);
                    let server = McpServer { start, ..server };
                    let advice = relative_path_advice(&server).filter(|_| !asks_project);
                    let advice = advice.map(|advice| self.source.error(Some(field.line), advice));
                    self.found.advice.extend(advice);
                    McpSelection::Own(server)
                }
            });
        }
        Some(counted)
    }

    /// Records the name of a server of the session.
    fn name_server(&mut self, name: &str, line: usize) {
        let shown = name.escape_debug();
        let message = format!(
            "`{SERVERS}` names {shown}, which is not a server of this session: fix the name, or add the server with `caliban mcp add`"
        );
        let warning = self.source.error(Some(line), message);
        self.found.servers.push(NamedServer { name: name.to_owned(), warning });
    }

    /// The directory where a hook or server of the definition starts. One of the user's own that
    /// `asks` to start in the project, and may not yet, is recorded.
    fn start(&mut self, key: &str, line: usize, what: &str, asks: bool) -> StartDir {
        if let Some(folder) = self.folder {
            return StartDir::project(folder);
        }
        let Some(path) = self.source.path().filter(|_| asks) else {
            return StartDir::Private;
        };
        let start = ProjectStart {
            entry: format!("agent {} {key}: {what}", self.name),
            origin: self.shown_origin(path, line),
        };
        match self.accepted {
            Some(accepted) => accepted.trust.start_dir(start, &mut self.found.starts),
            None => {
                self.found.starts.push(start);
                StartDir::Private
            }
        }
    }

    /// A line of the definition's file, as it is shown to the user.
    fn shown_origin(&self, path: &Path, line: usize) -> Origin {
        let path =
            self.accepted.map_or(path.to_owned(), |accepted| accepted.trust.display_path(path));
        Origin::File { path, line }
    }

    /// A notice about a part that does not apply as it is written there.
    fn notice(&self, part: &Origin, message: String) -> DefinitionError {
        let line = match part {
            Origin::File { line, .. } => Some(*line),
            _ => None,
        };
        self.source.error(line, message)
    }

    /// Whether a part that runs code or widens rights applies: the user must have accepted it if it
    /// is a project's. `what` describes everything the part does in one line; a part that does not
    /// apply is recorded.
    fn is_accepted(&mut self, key: &str, line: usize, what: &str) -> bool {
        let Some(path) = self.source.path().filter(|_| self.source.is_project()) else {
            return true;
        };
        let thing = UntrustedItem {
            what: format!("agent {} {key}: {what}", self.name),
            origin: self.shown_origin(path, line),
        };
        match self.accepted {
            Some(accepted) => accepted.trust.admit(thing, &mut self.found.untrusted),
            None => {
                self.found.untrusted.push(thing);
                false
            }
        }
    }

    /// `provider` and `model`. Another provider in a project's file would get the conversation, so
    /// it needs acceptance, and so does the model meant for it. Even the usual provider is not set
    /// until it is accepted: the session may move to another provider, and the agent moves with it.
    fn provider_and_model(&mut self, keys: &DefinitionKeys) -> (Option<String>, Option<String>) {
        let provider = keys.provider.as_ref().map(|provider| provider.value.0.clone());
        let model = keys.model.as_ref().map(|model| model.0.clone());
        let Some(Spanned { line, value: Text(named) }) =
            keys.provider.as_ref().filter(|provider| provider.value.0 != INHERIT)
        else {
            return (provider, model);
        };
        let shown = named.escape_debug().to_string();
        let usual = self.accepted.and_then(|accepted| accepted.provider.as_deref());
        if self.source.is_project() && usual == Some(named) {
            let waiting = self.found.untrusted.len();
            let counts = self.is_accepted("provider", *line, &shown);
            self.found.untrusted.truncate(waiting);
            return (provider.filter(|_| counts), model);
        }
        match self.is_accepted("provider", *line, &shown) {
            true => (provider, model),
            false => (None, None),
        }
    }

    /// Whether the mode may apply regardless of the session's, if the configuration allows that.
    fn own_mode(&mut self, mode: Option<PermissionMode>, written: Option<&Spanned<Value>>) -> bool {
        let widens = mode.filter(|mode| *mode != PermissionMode::Plan);
        match widens.zip(written) {
            Some((mode, written)) if self.accepted.is_some_and(|accepted| accepted.own_modes) => {
                self.is_accepted("permissionMode", written.line, mode.name())
            }
            _ => !self.source.is_project(),
        }
    }

    fn env(&mut self, keys: &DefinitionKeys) -> Secret<BTreeMap<String, String>> {
        let Some(Spanned { line: first, value: entries }) = &keys.env else {
            return Secret::default();
        };
        let mut variables = Secret::<BTreeMap<_, _>>::default();
        for (name, Spanned { line, value: Scalar(value) }) in entries.iter() {
            let shown = name.escape_debug();
            let problem = if !is_variable(name) {
                "is not a variable name: use letters, digits and _, not starting with a digit"
            } else if name == DEPTH_VARIABLE {
                "counts the levels of agents and cannot be set"
            } else if value.contains('\0') {
                "must not contain a NUL character"
            } else {
                variables.insert(name.clone(), value.trim().to_owned());
                continue;
            };
            let message = format!("`env.{shown}` {problem}");
            self.found.errors.push(self.source.error(Some(*line), message));
        }
        let pairs: Vec<String> =
            variables.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let counts = pairs.is_empty() || self.is_accepted("env", *first, &pairs.join(", "));
        if counts { variables } else { Secret::default() }
    }

    /// Hooks for this agent alone, in the format of settings files. `Stop` means the end of this
    /// sub-agent.
    fn hooks(&mut self, keys: &DefinitionKeys) -> Vec<HookConfig> {
        let Some(field) = &keys.hooks else { return Vec::new() };
        let file = match self.source {
            DefinitionSource::File { path, .. } => Origin::File { path: path.clone(), line: 1 },
            DefinitionSource::Flag => Origin::Flag { name: "--agents" },
            DefinitionSource::BuiltIn => Origin::BuiltIn,
        };
        let list = match read_hooks(field, &file) {
            Ok(list) => list,
            Err(error) => {
                self.found.errors.push(self.value_error(&error.below("hooks")));
                return Vec::new();
            }
        };
        let notice = list.notice().map(|notice| self.source.error(Some(field.line), notice));
        self.found.warnings.extend(notice);
        let mut own = Vec::new();
        for hook in list.hooks {
            // Each is accepted separately: two in one line could be taken for one.
            let line = hook.describe();
            if !self.is_accepted("hooks", field.line, &line) {
                continue;
            }
            let start = self.start("hooks", field.line, &line, hook.wants_project_cwd);
            let hook = HookConfig { start, ..hook };
            own.push(match hook.event {
                HookEvent::Stop => HookConfig { event: HookEvent::SubagentStop, ..hook },
                _ => hook,
            });
        }
        own
    }
}

/// Advice about a server that starts in an empty folder and names a file relative to it.
fn relative_path_advice(server: &McpServer) -> Option<String> {
    let word = relative_word(server, &|_| false).filter(|_| server.start == StartDir::Private)?;
    let name = &server.name;
    Some(format!(
        "`{SERVERS}.{name}` starts in an empty folder, where `{word}` is not a file of the project: write the project folder as ${{CALIBAN_PROJECT_DIR}}, or set `cwd: project` to start it in projects that you accept for it"
    ))
}

fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}
