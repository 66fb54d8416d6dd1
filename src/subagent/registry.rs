//! All sub-agent definitions that hold in a project, and what is wrong with those that do not.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::definition::{Definition, DefinitionError, Dialect, Source};

const BUILT_IN: [(&str, &str); 3] = [
    ("explore.md", include_str!("../../assets/agents/explore.md")),
    ("general-purpose.md", include_str!("../../assets/agents/general-purpose.md")),
    ("plan.md", include_str!("../../assets/agents/plan.md")),
];

/// A longer file is no prompt. Bytes.
const MAX_FILE: u64 = 256 << 10;

/// The folders that are looked into, highest first. Making it reads nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionSources(Vec<(PathBuf, Dialect)>);

impl DefinitionSources {
    /// `project` are the folders from the working directory up to the repository's root, `own` is the person's folder
    /// of definitions. `.caliban/agents` goes before `.claude/agents`, and in each the nearest folder first.
    #[must_use]
    pub fn new(project: &[PathBuf], own: PathBuf) -> Self {
        let below = |name: &'static str, dialect| {
            project.iter().map(move |folder| (folder.join(name), dialect))
        };
        Self(
            below(".caliban/agents", Dialect::Own)
                .chain(below(".claude/agents", Dialect::Foreign))
                .chain([(own, Dialect::Own)])
                .collect(),
        )
    }
}

/// What came of a file that is not quite right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It does not count at all.
    Refused(DefinitionError),
    /// It counts, but for a part of it.
    Warning(DefinitionError),
}

impl Problem {
    /// What is wrong, and where.
    #[must_use]
    pub fn error(&self) -> &DefinitionError {
        match self {
            Self::Refused(error) | Self::Warning(error) => error,
        }
    }
}

/// A snapshot of the definitions: what is edited later does not change it.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    found: BTreeMap<String, Arc<Definition>>,
    problems: Vec<Problem>,
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
        let mut all = Self::default();
        for (folder, dialect) in &sources.0 {
            all.add_folder(folder, *dialect);
        }
        all.add_built_in();
        all
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

    fn add_built_in(&mut self) {
        for (file, text) in BUILT_IN {
            self.add(Definition::parse(text, Path::new(file), Dialect::Own).map(
                |(definition, warnings)| {
                    (Definition { source: Source::BuiltIn, ..definition }, warnings)
                },
            ));
        }
    }

    fn add_folder(&mut self, folder: &Path, dialect: Dialect) {
        let files = match markdown_files(folder) {
            Ok(files) => files,
            Err(error) => {
                let message = format!("this folder cannot be read: {error}");
                return self.refuse(folder, message);
            }
        };
        let mut here: BTreeMap<String, PathBuf> = BTreeMap::new();
        for file in files {
            let parsed = read(&file).and_then(|text| Definition::parse(&text, &file, dialect));
            if let Ok((definition, _)) = &parsed {
                if let Some(first) = here.get(&definition.name) {
                    let message = format!(
                        "the name {:?} is taken by {}, which is read first",
                        definition.name,
                        first.display()
                    );
                    self.refuse(&file, message);
                    continue;
                }
                here.insert(definition.name.clone(), file.clone());
            }
            self.add(parsed);
        }
    }

    fn add(&mut self, parsed: Result<(Definition, Vec<DefinitionError>), DefinitionError>) {
        match parsed {
            Ok((definition, warnings)) => {
                self.problems.extend(warnings.into_iter().map(Problem::Warning));
                let name = definition.name.clone();
                self.found.entry(name).or_insert_with(|| Arc::new(definition));
            }
            Err(error) => self.problems.push(Problem::Refused(error)),
        }
    }

    fn refuse(&mut self, file: &Path, message: String) {
        self.problems.push(Problem::Refused(whole(file, message)));
    }
}

/// The `.md` files of a folder, by name. No folder: none.
fn markdown_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let markdown = path.extension().is_some_and(|extension| extension == "md");
        // A folder may be named so too; what cannot be looked at is kept, so that reading it says why.
        if markdown && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<String, DefinitionError> {
    let unreadable = |why: String| whole(file, format!("cannot be read: {why}"));
    let found = file.metadata().map_err(|error| unreadable(error.to_string()))?;
    // Opening a named pipe would wait for its other end.
    if !found.is_file() {
        return Err(unreadable("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(unreadable(format!("it is longer than {} KiB", MAX_FILE >> 10)));
    }
    String::from_utf8(bytes).map_err(|_| unreadable("it is not valid UTF-8 text".to_owned()))
}

fn whole(file: &Path, message: String) -> DefinitionError {
    DefinitionError { file: file.to_owned(), line: None, message }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use tempfile::TempDir;

    use super::*;

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
            "home/agents/x.md",
        ];
        for first in 0..levels.len() {
            let files: Vec<(&str, String)> =
                levels[first..].iter().map(|path| (*path, agent("plan", path))).collect();
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            let all = load(&folder(&files));
            assert_eq!(all.get("plan").unwrap().description, levels[first]);
            assert_eq!(all.iter().count(), 3);
        }
    }

    #[test]
    fn a_broken_file_is_reported_and_the_next_source_counts() {
        let top = folder(&[
            ("repo/.caliban/agents/plan.md", "---\nname: plan\n---\nWork."),
            ("repo/.caliban/agents/two.md", &agent("one", "second")),
            ("repo/.caliban/agents/one.md", &agent("one", "first")),
            ("repo/.caliban/agents/notes.txt", "no definition"),
            ("repo/.caliban/agents/deep/er.md", "not looked at"),
            ("home/agents", "a file"),
        ]);
        let all = load(&top);
        assert_eq!(all.get("plan").unwrap().source, Source::BuiltIn);
        assert_eq!(all.get("one").unwrap().description, "first");
        let found = problems(&all, &top);
        assert_eq!(
            found[..2],
            [
                "repo/.caliban/agents/plan.md:1: the front matter needs a `description`",
                "repo/.caliban/agents/two.md: the name \"one\" is taken by repo/.caliban/agents/one.md, which is read first",
            ]
        );
        assert!(found[2].starts_with("home/agents: this folder cannot be read: "), "{found:?}");
        assert_eq!(found.len(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn symlink_loops_and_files_that_are_no_text_are_problems_not_failures() {
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
