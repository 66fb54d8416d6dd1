//! The effects of a call, split into the items that rules and modes decide on.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use url::Url;

use super::base_dirs::BaseDirs;
use super::call::Call;
use super::doubt::doubt;
use super::mentions::MentionedFiles;
use super::mentions::readings::{Readings, readings};
use super::path::PathTarget;
use super::pattern_roots::AgentRoots;
use super::places::Places;
use super::read_only::ReadRules;
use super::script::{Script, SimpleCommand, Word};
use super::shell;
use super::spelling::file_in_home;
use crate::protocol::{Access, BashVersion};
use crate::tool::canonical_name;

/// One effect of a call. A call runs freely only if every item of it may.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessItem {
    /// No effect outside the agent.
    Nothing,
    Read(PathTarget),
    Write(PathTarget),
    /// One simple command of the line.
    Command(SimpleCommand),
    /// A part of a line that cannot be judged, and why.
    Unclear(String),
    /// A request to this host; absent if the address has none.
    Fetch(Option<String>),
    Agent(String),
    /// Loading the text of this skill.
    Skill(String),
    /// Questions or a plan for the user.
    AskUser,
    /// Something known only by its tool's name.
    Other,
}

/// A call, split into its effects.
#[derive(Clone, Debug, PartialEq)]
pub struct CallAccess {
    /// The tool's canonical name.
    pub tool: String,
    pub items: Vec<AccessItem>,
    /// For shell commands: the line and its parts.
    pub shell: Option<ShellLine>,
    /// The agent's base directory.
    pub cwd: PathBuf,
    /// The rules that restrict reading: with any, commands that show more than the files they name are not free.
    pub read_rules: ReadRules,
    /// Whether the user has allowed every command, by a rule or by the mode.
    pub all_commands: bool,
    pattern_roots: OnceCell<AgentRoots>,
}

/// The parts of a shell line that restrictions examine.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellLine {
    pub line: String,
    pub script: Script,
    /// Folders that the line's relative names may refer to.
    pub bases: BaseDirs,
    home: Option<PathBuf>,
    /// Files that the words of its commands may name; looked up on demand.
    mentioned: OnceCell<MentionedFiles>,
    /// The readings that bash may give each of its commands; looked up on demand.
    readings: OnceCell<Vec<Readings>>,
    /// Why it may contain any command; computed on demand.
    doubt: OnceCell<Option<String>>,
    /// Files that it redirects to and from, also inside texts that it runs.
    pub written: Vec<PathTarget>,
    pub read: Vec<PathTarget>,
    /// Where a link in the project leads it; looked up on demand.
    link_escape: OnceCell<Option<String>>,
    /// Where one may lead a word that is known only at run time; looked up on demand.
    open_escape: OnceCell<Option<String>>,
    /// Why its git is not the project's, for rules of the project and for those of all projects.
    pub other_git: [OnceCell<Option<String>>; 2],
}

impl ShellLine {
    /// Files that the words of its commands may name.
    pub fn mentioned(&self) -> &MentionedFiles {
        let home = self.home.as_deref();
        self.mentioned
            .get_or_init(|| MentionedFiles::from_script(&self.script, &self.bases.all, home))
    }

    /// The files that the line names: by its words, in its redirects, and as programs.
    pub fn named_targets(&self) -> Vec<PathTarget> {
        let MentionedFiles { all, by_writers, .. } = self.mentioned();
        let programs = self.script.all_commands();
        let programs = programs.into_iter().filter_map(|command| command.words.first());
        let programs = programs.filter(|word| word.text.contains('/'));
        let programs = programs.flat_map(|word| self.targets(word));
        all.targets.iter().chain(&by_writers.targets).cloned().chain(programs).collect()
    }

    /// The files that a word names, one for each folder that the line may run in.
    pub fn targets(&self, word: &Word) -> Vec<PathTarget> {
        let file =
            self.file_in_home(word).unwrap_or_else(|| expand_home(word, self.home.as_deref()));
        self.bases.shell.iter().map(|base| PathTarget::new(base, &file)).collect()
    }

    /// The file that a word names by its place in the home, with no other expansion.
    pub fn file_in_home(&self, word: &Word) -> Option<PathBuf> {
        file_in_home(word, self.home.as_deref())
    }

    /// The commands that bash may make of this one of the line.
    pub fn readings(&self, command: &SimpleCommand) -> Option<&Readings> {
        let BaseDirs { shell, is_open, .. } = &self.bases;
        let all = self
            .readings
            .get_or_init(|| readings(&self.script, shell, !is_open, self.home.as_deref()));
        let at = self.script.commands.iter().position(|own| own == command)?;
        all.get(at)
    }

    /// Why the line may contain any command, whatever a rule names.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.get_or_init(|| doubt(&self.script)).as_deref()
    }

    /// Why a file that the line may name, by its words, its variables or a text that it runs, may
    /// not be the intended one: a link in the project leads outside, or to a place where edits need
    /// approval.
    pub fn link_escape(&self, places: &Places) -> Option<&str> {
        let look = || {
            let MentionedFiles { all, by_writers, .. } = self.mentioned();
            let files = [all, by_writers];
            if files.iter().any(|files| files.unbounded) {
                return Some("caliban cannot tell which files the line names".to_owned());
            }
            let words = files.into_iter().flat_map(|files| &files.targets);
            let targets = words.chain(&self.written).chain(&self.read);
            let target = places.find_escape(targets, &self.bases.shell)?;
            let name = places.show(&target.written);
            Some(format!("a link of the project leads {name} elsewhere"))
        };
        self.link_escape.get_or_init(look).as_deref()
    }

    /// The same for a rule that was not written with the project in mind: a word whose value is
    /// not known may be any link in the project.
    pub fn any_link_escape(&self, places: &Places) -> Option<&str> {
        let look = || {
            let MentionedFiles { read_list, changed_list, open_word, .. } = self.mentioned();
            if let Some(word) = read_list.as_ref().or(changed_list.as_ref()) {
                return Some(format!("`{word}` takes names of files from a list"));
            }
            let word = open_word.as_ref()?;
            places.holds_escape(&self.bases.shell).then(|| {
                format!(
                    "a link of the project may lead `{word}`, which is known only at run time, \
                     elsewhere"
                )
            })
        };
        self.link_escape(places).or_else(|| self.open_escape.get_or_init(look).as_deref())
    }
}

impl CallAccess {
    /// Splits a call into its effects. Parses a shell line, and looks up paths on disk.
    pub fn from_call(call: &Call<'_>, places: &Places, read_rules: ReadRules) -> Self {
        let mut shell = None;
        let targets = |paths: &[PathTarget], item: fn(PathTarget) -> AccessItem| {
            paths.iter().cloned().map(item).collect()
        };
        let items = match call.access {
            Access::Nothing => vec![AccessItem::Nothing],
            Access::Read { paths } => targets(paths, AccessItem::Read),
            Access::Write { paths } => targets(paths, AccessItem::Write),
            Access::Command { line, cwd } => {
                let (items, parts) = shell_items(line, cwd, places);
                shell = Some(parts);
                items
            }
            Access::Fetch { url } => vec![AccessItem::Fetch(host(url))],
            Access::Agent { name } => vec![AccessItem::Agent(name.clone())],
            Access::Skill { name } => vec![AccessItem::Skill(name.clone())],
            Access::AskUser { .. } | Access::ExitPlan { .. } => vec![AccessItem::AskUser],
            Access::Other => vec![AccessItem::Other],
        };
        let (tool, cwd) = (canonical_name(call.tool).to_owned(), call.cwd.to_owned());
        let (all_commands, starts) = (false, OnceCell::new());
        Self { tool, items, shell, cwd, read_rules, all_commands, pattern_roots: starts }
    }

    /// Where relative patterns of restricting rules start; resolved on first use.
    pub fn pattern_roots(&self, places: &Places) -> &AgentRoots {
        let bases = self.shell.as_ref().map_or(&[][..], |shell| shell.bases.shell.as_slice());
        self.pattern_roots.get_or_init(|| AgentRoots::new(places, &self.cwd, bases))
    }
}

fn shell_items(line: &str, cwd: &Path, places: &Places) -> (Vec<AccessItem>, ShellLine) {
    let mut script = shell::split(line);
    let home = places.shell_home.as_deref();
    let bases = BaseDirs::from_script(&script, cwd, home);
    let is_relative = |word: &Word| !Path::new(&word.text).is_absolute();
    if script.needs_bash > BashVersion::default() && places.bash_version() < script.needs_bash {
        script.set_unclear("this system's bash may read a substitution in it differently");
    }
    if !bases.is_certain && script.writes.iter().any(is_relative) {
        script.set_unclear("which folder it writes to is known only at run time");
    }
    let at_bases = |word: &Word| -> Vec<PathTarget> {
        bases.shell.iter().map(|base| PathTarget::new(base, &expand_home(word, home))).collect()
    };
    let mut items: Vec<AccessItem> =
        script.commands.iter().cloned().map(AccessItem::Command).collect();
    items.extend(script.writes.iter().flat_map(at_bases).map(AccessItem::Write));
    items.extend(script.unclear.clone().map(AccessItem::Unclear));
    if !bases.is_certain {
        // Nothing in the line is known to stay inside; the built-in list of readers must not apply.
        let unclear =
            AccessItem::Unclear("which folder it runs in is known only at run time".to_owned());
        items.push(unclear);
    }
    // Bash itself reads an input without a command.
    if items.is_empty() || script.is_fed_without_command() {
        items.push(AccessItem::Nothing);
    }
    // Files read by a redirection count for the reader, not against a rule for the command.
    items.extend(script.reads.iter().flat_map(at_bases).map(AccessItem::Read));
    let (writes, reads) = script.all_redirects();
    let written = writes.into_iter().flat_map(at_bases).collect();
    let read = reads.into_iter().flat_map(at_bases).collect();
    let home = places.shell_home.clone();
    let line = line.to_owned();
    let (mentioned, doubt, readings) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
    let (link_escape, open_escape) = (OnceCell::new(), OnceCell::new());
    let other_git = [const { OnceCell::new() }; 2];
    let shell = ShellLine {
        line,
        script,
        bases,
        home,
        mentioned,
        readings,
        doubt,
        written,
        read,
        link_escape,
        open_escape,
        other_git,
    };
    (items, shell)
}

/// The path that bash makes of a word: expands an unquoted `~` or `$HOME`.
fn expand_home(word: &Word, home: Option<&Path>) -> PathBuf {
    let names_home = |start: &&str| {
        let raw = word.raw.strip_prefix('"').filter(|_| start.starts_with('$'));
        !word.literal && raw.unwrap_or(&word.raw).starts_with(start)
    };
    let start = ["~/", "$HOME/", "${HOME}/"].into_iter().find(names_home);
    let below = start.and_then(|start| word.text.strip_prefix(start));
    match (below, home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(&word.text),
    }
}

fn host(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
    (matches!(url.scheme(), "http" | "https") && !host.is_empty()).then_some(host)
}
