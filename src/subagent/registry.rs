//! All sub-agent definitions that hold in a project, and what is wrong with those that do not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::definition::{
    Accepted, Definition, DefinitionError, Dialect, Parsed, Source, flag, tool_name,
};
use super::folder;
use crate::config::{Inert, ProjectStart};
use crate::disk::{ProjectFiles, ProjectScope};
use crate::markdown::Fingerprint;
use crate::markdown::folder::FolderError;
use crate::markdown::front_matter;

const BUILT_IN: [(&str, &str); 3] = [
    ("explore", include_str!("../../assets/agents/explore.md")),
    ("general-purpose", include_str!("../../assets/agents/general-purpose.md")),
    ("plan", include_str!("../../assets/agents/plan.md")),
];

/// The names and sources of definitions that no project replaces without the user's word, by the names of their tools.
type Kept = BTreeMap<String, (String, Source)>;

/// Where definitions are looked for. Making it reads nothing.
#[derive(Clone, Debug)]
pub struct DefinitionSources {
    /// From the command line; they go before all files.
    flag: Definitions,
    /// Highest first.
    folders: Vec<Folder>,
    /// What links of the project may lead to.
    scope: ProjectScope,
    /// What the person has accepted of the project; nothing where it is absent.
    accepted: Option<Accepted>,
}

#[derive(Clone, Debug)]
struct Folder {
    path: PathBuf,
    dialect: Dialect,
    /// Whether it comes with the project, whose links may not lead everywhere.
    project: bool,
}

/// A folder of definitions with what its files say, each read once.
struct ReadFolder<'a> {
    folder: &'a Folder,
    files: Vec<ReadFile>,
}

/// One file of definitions: its text and what that means.
struct ReadFile {
    source: Source,
    parsed: Result<(String, Parsed), Problem>,
}

impl Folder {
    fn read(&self, accepted: Option<&Accepted>, scope: &ProjectFiles<'_>) -> ReadFolder<'_> {
        let Self { path, dialect, project } = self;
        let scope = project.then_some(scope);
        let files = folder::files(path, scope).into_iter().filter_map(|entry| {
            let file = |path| Source::File { path, project: *project };
            let source = match entry {
                Ok(path) => file(path),
                Err(FolderError { path, message }) => {
                    let source = file(path);
                    let error = DefinitionError { place: source.clone(), line: None, message };
                    return Some(ReadFile { source, parsed: Err(Problem::Refused(error)) });
                }
            };
            let text = match folder::read(&source, scope) {
                Ok(text) => text,
                Err(error) => {
                    return Some(ReadFile { source, parsed: Err(Problem::Refused(error)) });
                }
            };
            if source.path().is_some_and(|path| folder::is_readme(path, &text)) {
                return None;
            }
            let problem = match dialect {
                Dialect::Foreign if !front_matter::begins(&text) => Problem::Warning,
                _ => Problem::Refused,
            };
            let parsed = Definition::parse(&text, &source, *dialect, accepted);
            let parsed = parsed.map(|parsed| (text, parsed)).map_err(problem);
            Some(ReadFile { source, parsed })
        });
        ReadFolder { folder: self, files: files.collect() }
    }
}

impl DefinitionSources {
    /// `project` are the folders from the working directory up to the repository's root, `own` is the person's folder
    /// of definitions. `.caliban/agents` goes before `.claude/agents`, and in each the nearest folder first.
    #[must_use]
    pub fn new(project: &[PathBuf], own: PathBuf) -> Self {
        let below = |name: &'static str, dialect| {
            let folder =
                move |above: &PathBuf| Folder { path: above.join(name), dialect, project: true };
            project.iter().map(folder)
        };
        let own = Folder { path: own, dialect: Dialect::Own, project: false };
        let folders = below(".caliban/agents", Dialect::Own)
            .chain(below(".claude/agents", Dialect::Foreign))
            .chain([own])
            .collect();
        let scope = ProjectScope::new(project, &[]);
        Self { flag: Definitions::default(), folders, scope, accepted: None }
    }

    /// The same where links of the project may lead to what this scope has.
    #[must_use]
    pub fn in_scope(self, scope: ProjectScope) -> Self {
        Self { scope, ..self }
    }

    /// The same without the project's `.claude/agents`.
    #[must_use]
    pub fn without_claude(mut self) -> Self {
        self.folders.retain(|folder| !folder.project || folder.dialect != Dialect::Foreign);
        self
    }

    /// The same, with the `agents` of the user's `.claude` folder after all others.
    #[must_use]
    pub fn with_claude_home(mut self, claude: Option<&Path>) -> Self {
        self.folders.extend(claude.map(|claude| Folder {
            path: claude.join("agents"),
            dialect: Dialect::Foreign,
            project: false,
        }));
        self
    }

    /// The same, with what the person has accepted of the project.
    #[must_use]
    pub fn with_accepted(self, accepted: Accepted) -> Self {
        Self { accepted: Some(accepted), ..self }
    }

    /// Reads every folder, each file once. A folder of the user's that lies in the project, as it does in the home
    /// folder, is the user's alone.
    fn read(&self) -> Vec<ReadFolder<'_>> {
        let real = |folder: &Folder| folder.path.canonicalize().ok();
        let own: Vec<_> = self.folders.iter().filter(|it| !it.project).filter_map(real).collect();
        let is_own = |folder: &Folder| real(folder).is_some_and(|real| own.contains(&real));
        let folders = self.folders.iter().filter(|folder| !folder.project || !is_own(folder));
        let scope = self.scope.files();
        folders.map(|folder| folder.read(self.accepted.as_ref(), &scope)).collect()
    }

    /// One line for the person about such parts; `None` when there are none.
    #[must_use]
    pub fn notice(&self, inert: &[Inert]) -> Option<String> {
        self.accepted.as_ref()?.trust.notice(inert)
    }

    /// The same, with the definitions of `--agents` before all others, behind those that were given before. Their hooks
    /// and servers start in `cwd`.
    ///
    /// # Errors
    /// With the agent and the key of the first mistake.
    pub fn with_flag(self, json: &str, cwd: &Path) -> Result<Self, DefinitionError> {
        let mut all = self.flag;
        for parsed in flag::parse(json, cwd)? {
            let Definition { name, .. } = &parsed.definition;
            if let Some(why) = all.taken(&parsed.definition) {
                let message = format!("{name}: {why}");
                return Err(DefinitionError { place: Source::Flag, line: None, message });
            }
            all.add(Ok(parsed));
        }
        Ok(Self { flag: all, ..self })
    }

    /// What the files look like from outside. While it stays the same, loading again finds the same.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let scope = self.scope.files();
        let folders = self.folders.iter();
        folder::fingerprint(folders.map(|it| (it.path.as_path(), it.project.then_some(&scope))))
    }
}

/// What came of a file that is not quite right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It does not count at all.
    Refused(DefinitionError),
    /// It does not count until the user accepts it.
    Untrusted(DefinitionError),
    /// It counts, but for a part of it; or it lies among other programs' definitions and is none.
    Warning(DefinitionError),
}

impl Problem {
    /// What is wrong, and where.
    #[must_use]
    pub fn error(&self) -> &DefinitionError {
        match self {
            Self::Refused(error) | Self::Untrusted(error) | Self::Warning(error) => error,
        }
    }
}

/// A snapshot of the definitions: what is edited later does not change it.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    found: BTreeMap<String, Arc<Definition>>,
    problems: Vec<Problem>,
    advice: Vec<DefinitionError>,
    inert: Vec<Inert>,
    starts: Vec<ProjectStart>,
}

impl Definitions {
    /// Those inside the program.
    #[must_use]
    pub fn built_in() -> Self {
        let mut all = Self::default();
        all.add_built_in();
        all
    }

    /// Reads all folders. Of one name the highest source counts; nothing that is wrong with a file is fatal.
    #[must_use]
    pub fn load(sources: &DefinitionSources) -> Self {
        let mut all = sources.flag.clone();
        let folders = sources.read();
        let kept = kept(&folders);
        for folder in folders {
            all.add_folder(folder, sources.accepted.as_ref(), &kept);
        }
        all.add_built_in();
        all
    }

    /// The same, where what runs programs or widens rights is what it was in `start`: a file that changes while a session
    /// runs, perhaps by an agent's hand, starts nothing. Second: the agents that lost something by this.
    #[must_use]
    pub fn with_starts_of(mut self, start: &Self) -> (Self, Vec<String>) {
        let mut held = Vec::new();
        for (name, definition) in &mut self.found {
            let before = start.found.get(name).map(|before| &**before);
            let (now, changed) = definition.with_starts_of(before);
            *definition = now;
            held.extend(changed.then(|| name.clone()));
        }
        (self, held)
    }

    /// The same without those whose file `hides` says yes to.
    #[must_use]
    pub fn without_hidden(mut self, hides: impl Fn(&Path) -> bool) -> Self {
        let is_hidden = |source: &Source| source.is_project() && source.path().is_some_and(&hides);
        let hidden: Vec<_> =
            self.found.values().filter(|it| is_hidden(&it.source)).cloned().collect();
        for definition in hidden {
            self.found.remove(&definition.name);
            let why = "a permission rule forbids to read it".to_owned();
            self.refuse(definition.source.clone(), why);
        }
        self
    }

    /// The definition of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.found.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.found.values()
    }

    /// What is wrong, in the order in which files are looked at.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What counts and could be better, in the same order.
    #[must_use]
    pub fn advice(&self) -> &[DefinitionError] {
        &self.advice
    }

    /// Parts of the project's definitions that do nothing until the person accepts them.
    #[must_use]
    pub fn inert(&self) -> &[Inert] {
        &self.inert
    }

    /// The hooks and servers of the user's own definitions that start in an empty folder, because the user has not
    /// accepted that they start in this project.
    #[must_use]
    pub fn starts(&self) -> &[ProjectStart] {
        &self.starts
    }

    fn add_built_in(&mut self) {
        for (name, text) in BUILT_IN {
            // A file's source gives the text its name; then it is ours.
            let source = Source::File { path: Path::new(name).to_owned(), project: false };
            let parsed = Definition::parse(text, &source, Dialect::Own, None).map(|parsed| {
                let definition = Definition { source: Source::BuiltIn, ..parsed.definition };
                Parsed { definition, ..parsed }
            });
            self.add(parsed);
        }
    }

    fn add_folder(
        &mut self,
        ReadFolder { folder, files }: ReadFolder<'_>,
        accepted: Option<&Accepted>,
        kept: &Kept,
    ) {
        let mut here: BTreeMap<String, Source> = BTreeMap::new();
        for ReadFile { source, parsed } in files {
            let (text, parsed) = match parsed {
                Ok(read) => read,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let definition = &parsed.definition;
            // Beside a built-in one no other agent may have its tool at all, which is looked at below.
            let replaces = |(name, other): &&(String, Source)| {
                folder.project && (*name == definition.name || *other != Source::BuiltIn)
            };
            if let Some((_, other)) = kept.get(&definition.tool_name()).filter(replaces)
                && !self.may_replace(&parsed, other, &text, accepted)
            {
                continue;
            }
            let name = &definition.name;
            if let Some(first) = here.get(name) {
                let why = format!(
                    "the name {name:?} is taken by {first}, which is read first: give one of them another name"
                );
                self.refuse(source, why);
                continue;
            }
            if let Some(why) = self.taken(definition) {
                self.refuse(source, why);
                continue;
            }
            here.insert(name.clone(), source);
            self.add(Ok(parsed));
        }
    }

    /// Whether the user lets a project's definition replace `other`, one of the user's or a built-in one. What the user
    /// accepts is the whole text, because it decides what an agent of a known name does.
    fn may_replace(
        &mut self,
        parsed: &Parsed,
        other: &Source,
        text: &str,
        accepted: Option<&Accepted>,
    ) -> bool {
        let Definition { name, source, .. } = &parsed.definition;
        let Some(path) = source.path() else { return true };
        let path = accepted.map_or(path.to_owned(), |accepted| accepted.trust.shown(path));
        let whose = if *other == Source::BuiltIn { "the built-in one" } else { "yours" };
        let thing = Inert::replacing_agent(name, whose, text, &path);
        if accepted.is_some_and(|accepted| accepted.trust.accepts(&thing)) {
            return true;
        }
        self.inert.push(thing);
        // All of the file is accepted together.
        self.inert.extend(parsed.inert.iter().cloned());
        let message = format!(
            "not trusted, so it does not replace the agent {name} ({other}): give it another name, or accept it with \
             `caliban trust`"
        );
        let error = DefinitionError { place: source.clone(), line: None, message };
        self.problems.push(Problem::Untrusted(error));
        false
    }

    /// Why this definition cannot stand beside those already found: one tool must not stand for two agents.
    fn taken(&self, definition: &Definition) -> Option<String> {
        let tool = definition.tool_name();
        let other = |name: &str| name != definition.name && tool == tool_name(name);
        let found = self.found.values().find(|found| other(&found.name));
        let built_in = BUILT_IN.iter().find(|(name, _)| other(name));
        let (name, place) = found
            .map(|found| (found.name.as_str(), &found.source))
            .or(built_in.map(|(name, _)| (*name, &Source::BuiltIn)))?;
        Some(format!(
            "the name {:?} is too close to {name:?} ({place}), since the tool of both would be {tool}: choose another",
            definition.name
        ))
    }

    fn add(&mut self, parsed: Result<Parsed, DefinitionError>) {
        match parsed {
            Ok(Parsed { definition, warnings, advice, inert, starts }) => {
                self.inert.extend(inert);
                self.starts.extend(starts);
                self.problems.extend(warnings.into_iter().map(Problem::Warning));
                self.advice.extend(advice);
                let name = definition.name.clone();
                self.found.entry(name).or_insert_with(|| Arc::new(definition));
            }
            Err(error) => self.problems.push(Problem::Refused(error)),
        }
    }

    fn refuse(&mut self, place: Source, message: String) {
        self.problems.push(Problem::Refused(DefinitionError { place, line: None, message }));
    }
}

/// The definitions of the user and the built-in ones: of one tool the first counts.
fn kept(folders: &[ReadFolder<'_>]) -> Kept {
    let built_in = BUILT_IN.map(|(name, _)| (tool_name(name), name));
    let mut kept = Kept::new();
    let own = folders.iter().filter(|read| !read.folder.project).flat_map(|read| &read.files);
    for ReadFile { source, parsed } in own {
        let Ok((_, Parsed { definition, .. })) = parsed else { continue };
        let tool = definition.tool_name();
        // One that is too close to a built-in one does not count itself.
        if built_in.iter().all(|(other, name)| *other != tool || *name == definition.name) {
            kept.entry(tool).or_insert_with(|| (definition.name.clone(), source.clone()));
        }
    }
    for (tool, name) in built_in {
        kept.entry(tool).or_insert_with(|| (name.to_owned(), Source::BuiltIn));
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;
    use tempfile::TempDir;

    use super::*;
    use crate::config::{Dirs, Project, Trust};
    use crate::protocol::EnvOverlay;

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let top = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        top
    }

    fn agent(name: &str, description: &str) -> String {
        format!("---\nname: {name}\ndescription: {description}\n---\nWork.")
    }

    /// Loads as from `repo/app` in a repository at `repo`, with `home/agents` as the person's own.
    fn load(top: &TempDir) -> Definitions {
        let project = [top.path().join("repo/app"), top.path().join("repo")];
        Definitions::load(&DefinitionSources::new(&project, top.path().join("home/agents")))
    }

    fn problems(all: &Definitions, top: &TempDir) -> Vec<String> {
        let prefix = format!("{}/", top.path().display());
        all.problems().iter().map(|it| it.error().to_string().replace(&prefix, "")).collect()
    }

    #[test]
    fn the_built_in_agents_are_valid_short_and_say_what_to_report() {
        let all = Definitions::built_in();
        assert_eq!(all.problems(), []);
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["explore", "general-purpose", "plan"]);
        for definition in all.iter() {
            assert!(definition.prompt.len() < 700, "{}", definition.name);
            assert!(
                definition.prompt.contains("Only your last message reaches the one who asked.")
            );
            assert_eq!(definition.source, Source::BuiltIn);
            assert_eq!(all.advice(), []);
        }
        let tools = |name: &str| all.get(name).unwrap().tools.clone();
        assert_eq!(tools("explore").unwrap(), ["Read", "Grep", "Glob"]);
        assert_eq!(tools("general-purpose"), None);
    }

    #[test]
    fn the_highest_source_of_a_name_counts() {
        let levels = [
            "repo/app/.caliban/agents/x.md",
            "repo/.caliban/agents/x.md",
            "repo/app/.claude/agents/x.md",
            "repo/.claude/agents/x.md",
        ];
        for first in 0..levels.len() {
            let files: Vec<(&str, String)> =
                levels[first..].iter().map(|path| (*path, agent("scout", path))).collect();
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            let all = load(&folder(&files));
            assert_eq!(all.get("scout").unwrap().description, levels[first]);
            assert_eq!(all.iter().count(), 4);
        }
        let top = folder(&[("home/agents/x.md", &agent("plan", "the user's"))]);
        assert_eq!(load(&top).get("plan").unwrap().description, "the user's");
    }

    #[test]
    fn a_project_brings_only_definitions_that_lie_in_it_and_may_be_read() {
        let top = folder(&[
            ("outside/x.md", &agent("outside", "elsewhere")),
            ("repo/secrets/y.md", &agent("hidden", "denied")),
            ("repo/shared/z.md", &agent("shared", "linked")),
        ]);
        let agents = top.path().join("repo/.claude/agents");
        fs::create_dir_all(&agents).unwrap();
        for target in ["outside/x.md", "repo/secrets/y.md", "repo/shared/z.md"] {
            let link = agents.join(Path::new(target).file_name().unwrap());
            std::os::unix::fs::symlink(top.path().join(target), link).unwrap();
        }
        let secrets = top.path().join("repo/secrets").canonicalize().unwrap();
        let hides = |file: &Path| file.canonicalize().unwrap().starts_with(&secrets);
        let all = load(&top).without_hidden(hides);
        assert!(all.get("shared").is_some());
        assert!(all.get("outside").is_none() && all.get("hidden").is_none());
        let why: Vec<_> = all.problems().iter().map(|it| it.error().message.clone()).collect();
        assert_eq!(
            why,
            [
                "cannot be read: it is a link that leads out of the project",
                "a permission rule forbids to read it"
            ]
        );
    }

    #[test]
    fn an_untrusted_project_replaces_neither_a_built_in_agent_nor_one_of_the_user() {
        let top = folder(&[
            ("repo/.caliban/agents/a.md", &agent("explore", "theirs")),
            ("repo/.claude/agents/b.md", &agent("db-scout", "theirs")),
            ("repo/.claude/agents/c.md", &agent("mine", "theirs")),
            ("repo/.claude/agents/d.md", &agent("new", "theirs")),
            ("home/agents/m.md", &agent("mine", "the user's")),
            ("home/agents/s.md", &agent("db_scout", "the user's")),
        ]);
        let all = load(&top);
        assert_eq!(all.get("explore").unwrap().source, Source::BuiltIn);
        assert_eq!(all.get("new").unwrap().description, "theirs");
        for name in ["mine", "db_scout"] {
            assert_eq!(all.get(name).unwrap().description, "the user's");
        }
        assert!(all.get("db-scout").is_none());
        let lines = problems(&all, &top);
        assert_eq!(lines.len(), 3, "{lines:?}");
        let first = "repo/.caliban/agents/a.md: not trusted, so it does not replace the agent explore (built in): ";
        assert!(lines[0].starts_with(first), "{lines:?}");
        let things: Vec<_> = all.inert().iter().map(|thing| thing.what.as_str()).collect();
        let whole = "---\\u{a}name: explore\\u{a}description: theirs\\u{a}---\\u{a}Work.";
        assert_eq!(things[0], format!("agent explore in place of the built-in one: {whole}"));
        assert!(things[1].starts_with("agent db-scout in place of yours: "), "{things:?}");
    }

    #[test]
    fn what_the_user_has_accepted_replaces_an_agent_until_its_text_changes() {
        let top = folder(&[("repo/.caliban/agents/a.md", &agent("explore", "theirs"))]);
        let project = top.path().join("repo");
        let sources = || {
            let env = EnvOverlay::from_iter([("CALIBAN_HOME", top.path().join("home"))]);
            let dirs = Dirs::new(&env, &project).unwrap();
            let trust = Trust::new(&dirs, &Project::discover(&project, None), &project);
            DefinitionSources::new(std::slice::from_ref(&project), dirs.agents())
                .with_accepted(Accepted { trust, own_modes: false, provider: None })
        };
        let is_theirs =
            || Definitions::load(&sources()).get("explore").unwrap().source.is_project();
        assert!(!is_theirs());
        let first = sources();
        let trust = &first.accepted.as_ref().unwrap().trust;
        trust.accept(Definitions::load(&first).inert()).unwrap();
        assert!(is_theirs());
        assert_eq!(Definitions::load(&sources()).inert(), []);
        let file = project.join(".caliban/agents/a.md");
        fs::write(&file, agent("explore", "theirs") + " And more.").unwrap();
        assert!(!is_theirs());
    }

    #[test]
    fn sub_folders_count_by_the_rules_of_their_folder() {
        let top = folder(&[
            ("repo/.claude/agents/core/a.md", &agent("explore", "theirs")),
            ("repo/.claude/agents/core/deep/b.md", &agent("new", "theirs")),
            ("repo/.claude/agents/core/README.md", "# Agents"),
            ("repo/.claude/agents/core/NOTES.md", "# Notes"),
            ("repo/.caliban/agents/x/d.md", &agent("own", "theirs")),
            ("out/c.md", &agent("outside", "elsewhere")),
        ]);
        let link = top.path().join("repo/.claude/agents/core/out");
        std::os::unix::fs::symlink(top.path().join("out"), link).unwrap();
        let all = load(&top);
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["explore", "general-purpose", "new", "own", "plan"]);
        assert_eq!(all.get("explore").unwrap().source, Source::BuiltIn);
        assert_eq!(all.inert().len(), 1);
        let found = problems(&all, &top);
        let starts = [
            "repo/.claude/agents/core/NOTES.md:1: there is no front matter",
            "repo/.claude/agents/core/a.md: not trusted, so it does not replace",
            "repo/.claude/agents/core/out: this folder is a link that leads out of the project",
        ];
        assert_eq!(found.len(), starts.len(), "{found:?}");
        for (problem, start) in found.iter().zip(starts) {
            assert!(problem.starts_with(start), "{problem}");
        }
        assert!(matches!(all.problems()[0], Problem::Warning(_)));
    }

    #[test]
    fn the_users_claude_folder_comes_last_and_is_theirs_also_where_it_is_the_projects() {
        let top = folder(&[
            ("home/.claude/agents/team/a.md", &agent("scout", "of .claude")),
            ("home/.claude/agents/team/b.md", &agent("plan", "the user's")),
            ("own/agents/a.md", &agent("mine", "of the configuration")),
            ("home/.claude/agents/c.md", &agent("mine", "of .claude")),
        ]);
        let home = top.path().join("home");
        for project in [vec![], vec![home.clone()]] {
            let sources = DefinitionSources::new(&project, top.path().join("own/agents"))
                .with_claude_home(Some(&home.join(".claude")));
            for sources in [sources.clone().without_claude(), sources] {
                let all = Definitions::load(&sources);
                assert_eq!(all.problems(), []);
                assert_eq!(all.get("scout").unwrap().description, "of .claude");
                assert_eq!(all.get("plan").unwrap().description, "the user's");
                assert_eq!(all.get("mine").unwrap().description, "of the configuration");
            }
        }
    }

    #[test]
    fn a_broken_file_is_reported_and_the_next_source_counts() {
        let top = folder(&[
            ("repo/.caliban/agents/plan.md", "---\nname: plan\n---\nWork."),
            ("repo/.caliban/agents/two.md", &agent("one", "second")),
            ("repo/.caliban/agents/one.md", &agent("one", "first")),
            ("repo/.caliban/agents/notes.txt", "no definition"),
            ("repo/.caliban/agents/deep/README.md", "about the folder"),
            ("home/agents", "a file"),
        ]);
        let all = load(&top);
        assert_eq!(all.get("plan").unwrap().source, Source::BuiltIn);
        assert_eq!(all.get("one").unwrap().description, "first");
        let found = problems(&all, &top);
        assert_eq!(
            found[..2],
            [
                "repo/.caliban/agents/plan.md:1: `description` is missing: it says what the agent does and when to use it",
                "repo/.caliban/agents/two.md: the name \"one\" is taken by repo/.caliban/agents/one.md, which is read first: give one of them another name",
            ]
        );
        assert!(found[2].starts_with("home/agents: this folder cannot be read: "), "{found:?}");
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn s4_29_two_names_that_make_one_tool_do_not_both_count() {
        let top = folder(&[
            ("repo/.caliban/agents/a.md", &agent("db-scout", "first")),
            ("repo/.caliban/agents/b.md", &agent("db_scout", "second")),
            ("repo/.caliban/agents/c.md", &agent("general_purpose", "close to a built-in one")),
        ]);
        let all = load(&top);
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["db-scout", "explore", "general-purpose", "plan"]);
        let tool = "since the tool of both would be delegate_to_db_scout: choose another";
        let first =
            "the name \"db_scout\" is too close to \"db-scout\" (repo/.caliban/agents/a.md)";
        assert_eq!(
            problems(&all, &top),
            [
                format!("repo/.caliban/agents/b.md: {first}, {tool}"),
                "repo/.caliban/agents/c.md: the name \"general_purpose\" is too close to \"general-purpose\" (built in), since the tool of both would be delegate_to_general_purpose: choose another".to_owned(),
            ]
        );
    }

    #[test]
    fn the_flag_goes_before_all_files_and_none_of_its_own_may_collide() {
        let top = folder(&[("repo/.caliban/agents/plan.md", &agent("plan", "file"))]);
        let with_flag = |json: &str| {
            let project = top.path().join("repo");
            let own = top.path().join("home/agents");
            DefinitionSources::new(std::slice::from_ref(&project), own).with_flag(json, &project)
        };
        let one = r#"{"description": "flag", "prompt": "p"}"#;
        let all = Definitions::load(&with_flag(&format!(r#"{{"plan": {one}}}"#)).unwrap());
        let plan = all.get("plan").unwrap();
        assert_eq!((plan.description.as_str(), &plan.source), ("flag", &Source::Flag));
        assert_eq!(all.advice()[0].to_string().split(':').next(), Some("--agents"));
        for (other, place) in [("a-b", "--agents"), ("general-purpose", "built in")] {
            let close = other.replace('-', "_");
            let json = match place {
                "built in" => format!(r#"{{"{close}": {one}}}"#),
                _ => format!(r#"{{"{other}": {one}, "{close}": {one}}}"#),
            };
            let error = with_flag(&json).unwrap_err().to_string();
            let start = format!(
                "--agents: {close}: the name \"{close}\" is too close to \"{other}\" ({place}), "
            );
            assert!(error.starts_with(&start), "{error}");
        }
    }

    #[test]
    fn what_is_edited_shows_in_the_fingerprint_and_in_the_next_load_alone() {
        let top = folder(&[("home/agents/x.md", &agent("x", "before"))]);
        let sources = DefinitionSources::new(&[], top.path().join("home/agents"));
        let (seen, before) = (sources.fingerprint(), Definitions::load(&sources));
        assert_eq!(sources.fingerprint(), seen);
        fs::write(top.path().join("home/agents/x.md"), agent("x", "afterwards")).unwrap();
        assert_ne!(sources.fingerprint(), seen);
        assert_eq!(before.get("x").unwrap().description, "before");
        assert_eq!(Definitions::load(&sources).get("x").unwrap().description, "afterwards");
    }

    #[cfg(unix)]
    #[test]
    fn t29_symlink_loops_and_files_that_are_no_text_are_problems_not_failures() {
        use std::os::unix::fs::symlink;

        let top = folder(&[("repo/.caliban/agents/good.md", &agent("good", "fine"))]);
        let agents = top.path().join("repo/.caliban/agents");
        symlink("loop.md", agents.join("loop.md")).unwrap();
        symlink("nowhere.md", agents.join("gone.md")).unwrap();
        fs::write(agents.join("bytes.md"), b"---\n\xff").unwrap();
        fs::write(agents.join("long.md"), vec![b' '; (256 << 10) + 1]).unwrap();
        fs::create_dir_all(top.path().join("home")).unwrap();
        symlink("agents", top.path().join("home/agents")).unwrap();

        let all = load(&top);
        assert!(all.get("good").is_some());
        let found = problems(&all, &top);
        let starts = [
            "repo/.caliban/agents/bytes.md: cannot be read: it is not valid UTF-8 text",
            "repo/.caliban/agents/gone.md: cannot be read: ",
            "repo/.caliban/agents/long.md: cannot be read: it is longer than 256 KiB",
            "repo/.caliban/agents/loop.md: cannot be read: ",
            "home/agents: this folder cannot be read: ",
        ];
        assert_eq!(found.len(), starts.len(), "{found:?}");
        for (problem, start) in found.iter().zip(starts) {
            assert!(problem.starts_with(start), "{problem}");
        }
    }
}
