//! Writes rules into the project's configuration, with as few changes to the file as possible.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::question::AnswerError;
use crate::config::replace::{lock_in_project, replace_in_project};
use crate::protocol::RuleFile;

/// The file that an answer names.
pub fn path(project: &Path, file: RuleFile) -> PathBuf {
    project.join(".caliban").join(match file {
        RuleFile::Local => "config.local.toml",
        RuleFile::Shared => "config.toml",
    })
}

/// Adds the rules to `[permissions] allow`. Keeps comments and order; replaces the file entirely or not at all.
pub fn add_allow_rules(path: &Path, rules: &[String]) -> Result<(), AnswerError> {
    let failed = |source: io::Error| AnswerError::Write { path: path.to_owned(), source };
    let _one_at_a_time = lock_in_project(path)?;
    let old = match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let not_toml = |problem: String| AnswerError::Config { path: path.to_owned(), problem };
    let new = with_rules(old.as_deref().unwrap_or_default(), rules).map_err(not_toml)?;
    if old.as_deref() == Some(new.as_str()) {
        return Ok(());
    }
    replace_in_project(path, &new).map_err(failed)
}

/// The configuration text with the rules added.
fn with_rules(text: &str, rules: &[String]) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.to_string().trim().to_owned())?;
    let permissions = document.entry("permissions").or_insert_with(|| Item::Table(Table::new()));
    let permissions =
        permissions.as_table_like_mut().ok_or("`permissions` is not a table there")?;
    let allow = permissions.entry("allow").or_insert_with(|| Item::Value(Array::new().into()));
    let allow = allow.as_array_mut().ok_or("`permissions.allow` is not a list there")?;
    for rule in rules {
        if !allow.iter().any(|known| known.as_str() == Some(rule)) {
            push_like_the_last(allow, rule);
        }
    }
    Ok(document.to_string())
}

/// Appends with the line break and indent of the list's last entry.
fn push_like_the_last(list: &mut Array, rule: &str) {
    let blank = |text: &str| {
        // A comment before the last entry belongs to that entry.
        let line = text.rfind('\n').map_or(text, |place| &text[place..]);
        line.to_owned()
    };
    let last = list.iter().last().and_then(|value| value.decor().prefix()?.as_str()).map(blank);
    match last
        .filter(|_| list.len() > 1 || list.trailing().as_str().is_some_and(|t| t.contains('\n')))
    {
        Some(prefix) => list.push_formatted(Value::from(rule).decorated(prefix, "")),
        None => list.push(rule),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_added_and_everything_else_stays() {
        let rules = ["Bash(psql:*)".to_owned()];
        for (old, new) in [
            ("", "[permissions]\nallow = [\"Bash(psql:*)\"]\n"),
            (
                "# mine\n[model]\nname = \"x\" # best\n",
                "# mine\n[model]\nname = \"x\" # best\n\n[permissions]\nallow = [\"Bash(psql:*)\"]\n",
            ),
            (
                "[permissions]\nmode = \"plan\"\nallow = [\"Read\"] # why\n",
                "[permissions]\nmode = \"plan\"\nallow = [\"Read\", \"Bash(psql:*)\"] # why\n",
            ),
            (
                "[permissions]\nallow = [\n    # look\n    \"Read\",\n]\n",
                "[permissions]\nallow = [\n    # look\n    \"Read\",\n    \"Bash(psql:*)\",\n]\n",
            ),
            (
                "[permissions]\nallow = [\"Bash(psql:*)\"]\n",
                "[permissions]\nallow = [\"Bash(psql:*)\"]\n",
            ),
        ] {
            assert_eq!(with_rules(old, &rules).unwrap(), new);
        }
        assert!(with_rules("[permissions]\nallow = \"Read\"\n", &rules).is_err());
        assert!(with_rules("[permissions\n", &rules).is_err());
    }

    #[test]
    fn rules_that_are_added_at_the_same_time_are_all_there() {
        let dir = tempfile::tempdir().unwrap();
        let local = path(dir.path(), RuleFile::Local);
        let rule = |thread: u32, number: u32| format!("Bash(t{thread} n{number})");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let local = &local;
                scope.spawn(move || {
                    for number in 0..8 {
                        add_allow_rules(local, &[rule(thread, number)]).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(&local).unwrap();
        let all = (0..4).flat_map(|thread| (0..8).map(move |number| rule(thread, number)));
        let lost: Vec<String> = all.filter(|rule| !text.contains(rule)).collect();
        assert_eq!(lost, Vec::<String>::new());
        let names = fs::read_dir(local.parent().unwrap()).unwrap();
        assert_eq!(names.count(), 1, "nothing else is left in the project");
    }

    #[test]
    fn a_link_in_place_of_the_file_is_refused_and_nothing_is_written_behind_it() {
        let dir = tempfile::tempdir().unwrap();
        let (local, own) = (path(dir.path(), RuleFile::Local), dir.path().join("own.toml"));
        fs::create_dir(dir.path().join(".caliban")).unwrap();
        fs::write(&own, "# mine\n").unwrap();
        std::os::unix::fs::symlink(&own, &local).unwrap();
        let error = add_allow_rules(&local, &["Bash(x:*)".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(fs::read_to_string(&own).unwrap(), "# mine\n");
    }

    #[test]
    fn the_file_is_made_with_its_folder_and_a_broken_one_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let local = path(dir.path(), RuleFile::Local);
        add_allow_rules(&local, &["Edit(src/**)".to_owned()]).unwrap();
        assert!(fs::read_to_string(&local).unwrap().contains("\"Edit(src/**)\""));
        fs::write(&local, "nonsense =").unwrap();
        assert!(add_allow_rules(&local, &["Read".to_owned()]).is_err());
        assert_eq!(fs::read_to_string(&local).unwrap(), "nonsense =");
    }
}
