//! Runs the examples of the guide, `docs/subagents.md`, and checks the index of requirements in
//! `tests/it/README.md` against the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::after_calls;
use crate::support::pty::Screen;
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent_with};
use crate::support::script::text;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn guide() -> String {
    fs::read_to_string(root().join("docs/subagents.md")).unwrap()
}

/// The code blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let guide = guide();
    let parts = guide.split("```").skip(1).step_by(2);
    let blocks = parts.filter_map(|part| part.strip_prefix(language)?.strip_prefix('\n'));
    blocks.map(str::to_owned).collect()
}

/// A world with the guide's first definition and its limits in the project, in which the agent has
/// worked once.
async fn after_a_run() -> (Scene, String) {
    let scene = Scene::new();
    let [first]: [String; 1] = blocks("markdown").try_into().unwrap();
    let [limits]: [String; 1] = blocks("yaml").try_into().unwrap();
    let definition = first.replace("\n---\n", &format!("\n{limits}---\n"));
    assert!(definition.contains(&limits), "{definition}");
    scene.world.write(".caliban/agents/reviewer.md", &definition);
    scene.parent_calls([agent_with("CHILD-A", "agent", "reviewer".into())]);
    scene.server.when("CHILD-A").reply(text("no problems"));
    scene.go().await;
    let id = scene.world.session().file_name().unwrap().to_str().unwrap().to_owned();
    (scene, id)
}

async fn shell_line(scene: &Scene, line: &str) -> Finished {
    let words = shell_words(line);
    assert_eq!(words[0], "caliban", "{line}");
    scene.world.run(words[1..].iter().map(String::as_str)).finish().await
}

/// Words between spaces; single quotes hold one together.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[tokio::test]
async fn the_guides_definition_works_as_it_stands() {
    let (scene, _) = after_a_run().await;
    let child = &scene.server.requests_of("CHILD-A")[0];
    assert!(child.system().contains("Name each problem as path:line"));
    assert_eq!(child.tool_names(), ["Read", "Glob", "Grep"]);
    assert!(child.model().contains("haiku"), "{}", child.model());
    assert_eq!(after_calls(&scene).tool_result().text, "no problems");
    scene.server.finish();
}

#[tokio::test]
async fn the_guides_commands_run() {
    let (scene, id) = after_a_run().await;
    let lines: Vec<String> = blocks("sh").concat().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 7, "{lines:?}");
    for line in lines {
        if line.contains("--resume") {
            let line = line.replace("ID", &id);
            let words = shell_words(&line);
            let args = words[1..].iter().map(String::as_str);
            let screen = Screen::start(&scene.world, args, 100, 30);
            screen.wait_for(DONE);
            continue;
        }
        let finished = shell_line(&scene, &line.replace("ID", &id)).await;
        finished.assert_code(0);
        let expected = match line.as_str() {
            line if line.contains("check") => "",
            line if line.contains("sessions show") => "no problems",
            line if line.contains("sessions") => &id[..8],
            _ => "reviewer",
        };
        assert!(finished.stdout.contains(expected), "{line}\n{finished}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn the_guides_settings_are_taken() {
    let settings = blocks("toml");
    assert_eq!(settings.len(), 2);
    for toml in settings {
        let scene = Scene::new();
        scene.world.config(&toml);
        scene.server.when(PARENT).reply(text(DONE));
        scene.go().await;
        let main = &scene.server.requests_of(PARENT)[0];
        let offered = main.tool_names();
        if toml.contains("faces") {
            for tool in ["AgentTool", "agent_spawn", "agent_fork", "delegate_to_explore"] {
                assert!(offered.contains(&tool), "{tool}: {offered:?}");
            }
        } else {
            let list = main.tool("AgentTool").unwrap()["description"].as_str().unwrap();
            assert!(list.contains("- explore:") && !list.contains("- plan:"), "{list}");
        }
        scene.server.finish();
    }
}

/// The rows of the index: each id with its tests.
fn table() -> Vec<(String, String)> {
    let index = fs::read_to_string(root().join("tests/it/README.md")).unwrap();
    let rows = index.lines().skip_while(|line| !line.starts_with("| id | test |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let mut found = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 2, "{row}");
        found.push((cells[0].to_owned(), cells[1].to_owned()));
    }
    found
}

/// All ids, in the order of the table.
fn ids() -> Vec<String> {
    let series =
        [("S0.", 29), ("S1.", 21), ("S2.", 33), ("S3.", 40), ("S4.", 31), ("C", 26), ("T", 35)];
    let ids = series.iter().flat_map(|(name, last)| (1..=*last).map(move |n| format!("{name}{n}")));
    ids.collect()
}

/// The names of all tests of this program.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders: Vec<PathBuf> = vec![root().join("src"), root().join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                found.extend(tests_of(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}

/// The functions of a file that stand behind a test attribute, or within `proptest!`.
fn tests_of(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        if let Some(name) = name.filter(|_| is_test) {
            found.push(name.split(['(', '<']).next().unwrap().to_owned());
        }
        is_test = line.starts_with("#[test]")
            || line.starts_with("#[tokio::test")
            || is_test && (line.starts_with("#[") || line.starts_with("///"));
    }
    found
}

#[test]
fn every_requirement_has_a_row_that_names_a_test_which_is_there() {
    let table = table();
    let rows: Vec<_> = table.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(rows, ids(), "one row for each id, in order");
    let tests = tests();
    let mut missing = BTreeMap::new();
    for (id, cell) in &table {
        let names: Vec<_> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!cell.starts_with("open") && !names.is_empty(), "{id} names no test");
        for name in names.into_iter().filter(|name| !tests.contains(*name)) {
            missing.insert(id.clone(), name.to_owned());
        }
    }
    assert_eq!(missing, BTreeMap::new(), "no such tests");
}
