//! What a call would do, in the units that rules and modes decide on.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use url::Url;

use super::bases::Bases;
use super::judge::Call;
use super::mentions::Mentioned;
use super::path::{Places, Target};
use super::read_only::ReadRules;
use super::restriction;
use super::script::{Script, SimpleCommand, Word};
use super::shell;
use super::starts::Starts;
use crate::protocol::{Access, BashVersion};
use crate::tool::canonical_name;

/// One thing that a call would do. A call runs freely only when every unit of it may.
#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    /// Nothing outside the agent.
    Nothing,
    Read(Target),
    Write(Target),
    /// One simple command of the line.
    Command(SimpleCommand),
    /// A part of a line that cannot be judged, and why.
    Unclear(String),
    /// A request to this host; absent when the address has none.
    Fetch(Option<String>),
    Agent(String),
    /// The text of this skill.
    Skill(String),
    /// Something only its tool's name tells of.
    Other,
}

/// A call, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The tool's name, aliases resolved.
    pub tool: String,
    pub units: Vec<Unit>,
    /// For shell commands: the line and its parts.
    pub shell: Option<Shell>,
    /// The agent's base directory.
    pub cwd: PathBuf,
    /// Which reading the rules restrict: commands that show more than the files they name are not free then.
    pub read_rules: ReadRules,
    /// Whether the user has let every command run, by a rule or by the mode.
    pub all_commands: bool,
    starts: OnceCell<Starts>,
}

/// The parts of a shell line that restrictions look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Shell {
    pub line: String,
    pub script: Script,
    /// Folders in which the line's relative names may be meant.
    pub bases: Bases,
    home: Option<PathBuf>,
    /// Files that the words of its commands may name; looked up when a rule asks for them.
    mentioned: OnceCell<Mentioned>,
    /// Why it may hold any command; looked up when a rule asks for it.
    doubt: OnceCell<Option<String>>,
    /// Files that it redirects to and from, also inside texts that it runs.
    pub written: Vec<Target>,
    pub read: Vec<Target>,
    /// Where a link of the project leads it; looked up when a rule asks for it.
    led_away: OnceCell<Option<String>>,
    /// Why its git is not the project's, for rules of the project and for those of all projects.
    pub other_git: [OnceCell<Option<String>>; 2],
}

impl Shell {
    /// Files that the words of its commands may name.
    pub fn mentioned(&self) -> &Mentioned {
        let home = self.home.as_deref();
        self.mentioned.get_or_init(|| Mentioned::of(&self.script, &self.bases.all, home))
    }

    /// Why the line may hold any command, whatever a rule names.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.get_or_init(|| restriction::doubt(&self.script)).as_deref()
    }

    /// Why a file that the line may name, by its words, its variables or a text that it runs, may
    /// not be the one that is meant: a link of the project leads to a place outside, or to one where
    /// edits are asked about.
    pub fn led_away(&self, places: &Places) -> Option<&str> {
        let look = || {
            let Mentioned { all, by_writers, in_input, .. } = self.mentioned();
            let files = [all, by_writers, in_input];
            if files.iter().any(|files| files.unbounded) {
                return Some("caliban cannot tell which files the line names".to_owned());
            }
            let words = files.into_iter().flat_map(|files| &files.targets);
            let targets = words.chain(&self.written).chain(&self.read);
            let target = places.led_away(targets, &self.bases.shell)?;
            let name = places.show(&target.written);
            Some(format!("a link of the project leads {name} elsewhere"))
        };
        self.led_away.get_or_init(look).as_deref()
    }
}

impl Facts {
    /// Takes a call apart. A shell line is parsed, and paths are looked up on disk.
    #[must_use]
    pub fn of(call: &Call<'_>, places: &Places, read_rules: ReadRules) -> Self {
        let mut shell = None;
        let targets =
            |paths: &[Target], unit: fn(Target) -> Unit| paths.iter().cloned().map(unit).collect();
        let units = match call.access {
            Access::Nothing => vec![Unit::Nothing],
            Access::Read { paths } => targets(paths, Unit::Read),
            Access::Write { paths } => targets(paths, Unit::Write),
            Access::Command { line, cwd } => {
                let (units, parts) = shell_units(line, cwd, places);
                shell = Some(parts);
                units
            }
            Access::Fetch { url } => vec![Unit::Fetch(host(url))],
            Access::Agent { name } => vec![Unit::Agent(name.clone())],
            Access::Skill { name } => vec![Unit::Skill(name.clone())],
            Access::Other => vec![Unit::Other],
        };
        let (tool, cwd) = (canonical_name(call.tool).to_owned(), call.cwd.to_owned());
        let (all_commands, starts) = (false, OnceCell::new());
        Self { tool, units, shell, cwd, read_rules, all_commands, starts }
    }

    /// Where relative patterns of restricting rules start; resolved when the first such rule asks for them.
    pub fn starts(&self, places: &Places) -> &Starts {
        let bases = self.shell.as_ref().map_or(&[][..], |shell| shell.bases.shell.as_slice());
        self.starts.get_or_init(|| Starts::of(places, &self.cwd, bases))
    }
}

fn shell_units(line: &str, cwd: &Path, places: &Places) -> (Vec<Unit>, Shell) {
    let mut script = shell::split(line);
    let home = places.shell_home.as_deref();
    let bases = Bases::of(&script, cwd, home);
    let is_relative = |word: &Word| !Path::new(&word.text).is_absolute();
    if script.needs_bash > BashVersion::default() && places.bash_version() < script.needs_bash {
        script.set_unclear("this system's bash may read a substitution in it differently");
    }
    if !bases.is_certain && script.writes.iter().any(is_relative) {
        script.set_unclear("which folder it writes to is only known when it runs");
    }
    let at_bases = |word: &Word| -> Vec<Target> {
        bases.shell.iter().map(|base| Target::new(base, &expand_home(word, home))).collect()
    };
    let mut units: Vec<Unit> = script.commands.iter().cloned().map(Unit::Command).collect();
    units.extend(script.writes.iter().flat_map(at_bases).map(Unit::Write));
    units.extend(script.unclear.clone().map(Unit::Unclear));
    if !bases.is_certain {
        // Nothing in the line is known to stay inside; the built-in list of readers must not apply.
        let unclear =
            Unit::Unclear("which folder it runs in is only known when it runs".to_owned());
        units.push(unclear);
    }
    if units.is_empty() {
        units.push(Unit::Nothing);
    }
    // Files that a redirection reads count for the reader, not against a rule for the command.
    units.extend(script.reads.iter().flat_map(at_bases).map(Unit::Read));
    let (writes, reads) = script.all_redirects();
    let written = writes.into_iter().flat_map(at_bases).collect();
    let read = reads.into_iter().flat_map(at_bases).collect();
    let home = places.shell_home.clone();
    let line = line.to_owned();
    let (mentioned, doubt, led_away) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
    let other_git = [const { OnceCell::new() }; 2];
    let shell =
        Shell { line, script, bases, home, mentioned, doubt, written, read, led_away, other_git };
    (units, shell)
}

/// The path that a word is for bash: the home in place of `~` or `$HOME`, where these are not quoted.
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
