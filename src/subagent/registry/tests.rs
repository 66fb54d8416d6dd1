//! Tests of which definition of a name applies, and of the problems with the others.

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;
use crate::config::{Dirs, Project, Trust};
use crate::disk::ProjectScope;
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

/// Loads as from `repo/app` in a repository at `repo`, with `home/agents` as the user's own.
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
        assert!(definition.prompt.contains("Only your last message reaches whoever asked."));
        assert_eq!(definition.source, DefinitionSource::BuiltIn);
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
    let own = top.path().join("home/agents");
    fs::create_dir_all(&own).unwrap();
    std::os::unix::fs::symlink(agents.join("x.md"), own.join("x.md")).unwrap();
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
            "cannot be read: it is a link that leads out of the project",
            "a permission rule forbids reading it"
        ]
    );
}

#[test]
fn an_agent_of_the_users_that_lies_in_the_project_is_the_projects() {
    let top = folder(&[
        ("repo/.git/HEAD", ""),
        ("repo/agents/a.md", &agent("one", "linked")),
        ("repo/agents/b.md", &agent("two", "linked")),
        ("home/agents/c.md", &agent("own", "its own")),
    ]);
    let link = |target: &str, link: &str| {
        std::os::unix::fs::symlink(target, top.path().join(link)).unwrap();
    };
    link("../../repo/agents/a.md", "home/agents/a.md");
    link("../../repo/agents", "home/agents/team");
    fs::create_dir(top.path().join("repo/app")).unwrap();
    let project = [top.path().join("repo/app"), top.path().join("repo")];
    let home = top.path().join("home");
    let scope = ProjectScope::new(&project, &[]).within_checkouts(Some(&home));
    let sources = DefinitionSources::new(&project, home.join("agents")).in_scope(scope);
    let all = Definitions::load(&sources);
    let is_projects = |name: &str| all.get(name).unwrap().source.is_project();
    assert!(is_projects("one") && is_projects("two") && !is_projects("own"));
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
    assert_eq!(all.get("explore").unwrap().source, DefinitionSource::BuiltIn);
    assert_eq!(all.get("new").unwrap().description, "theirs");
    for name in ["mine", "db_scout"] {
        assert_eq!(all.get(name).unwrap().description, "the user's");
    }
    assert!(all.get("db-scout").is_none());
    let lines = problems(&all, &top);
    assert_eq!(lines.len(), 3, "{lines:?}");
    let first = "repo/.caliban/agents/a.md: not trusted, so it does not replace the agent explore (built in): ";
    assert!(lines[0].starts_with(first), "{lines:?}");
    let things: Vec<_> = all.untrusted().iter().map(|thing| thing.what.as_str()).collect();
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
            .with_accepted(DefinitionTrust { trust, own_modes: false, provider: None })
    };
    let is_theirs = || Definitions::load(&sources()).get("explore").unwrap().source.is_project();
    assert!(!is_theirs());
    let first = sources();
    let trust = &first.accepted.as_ref().unwrap().trust;
    trust.accept(Definitions::load(&first).untrusted()).unwrap();
    assert!(is_theirs());
    assert_eq!(Definitions::load(&sources()).untrusted(), []);
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
    assert_eq!(all.get("explore").unwrap().source, DefinitionSource::BuiltIn);
    assert_eq!(all.untrusted().len(), 1);
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
    assert!(matches!(all.problems()[0], DefinitionProblem::Warning(_)));
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
    assert_eq!(all.get("plan").unwrap().source, DefinitionSource::BuiltIn);
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
fn two_names_that_make_one_tool_do_not_both_count() {
    let top = folder(&[
        ("repo/.caliban/agents/a.md", &agent("db-scout", "first")),
        ("repo/.caliban/agents/b.md", &agent("db_scout", "second")),
        ("repo/.caliban/agents/c.md", &agent("general_purpose", "close to a built-in one")),
    ]);
    let all = load(&top);
    let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["db-scout", "explore", "general-purpose", "plan"]);
    let tool = "since both would get the tool delegate_to_db_scout: choose another";
    let first = "the name \"db_scout\" is too close to \"db-scout\" (repo/.caliban/agents/a.md)";
    assert_eq!(
        problems(&all, &top),
        [
            format!("repo/.caliban/agents/b.md: {first}, {tool}"),
            "repo/.caliban/agents/c.md: the name \"general_purpose\" is too close to \"general-purpose\" (built in), since both would get the tool delegate_to_general_purpose: choose another".to_owned(),
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
    assert_eq!((plan.description.as_str(), &plan.source), ("flag", &DefinitionSource::Flag));
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
