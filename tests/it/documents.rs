//! The documents, held against what they speak of.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The keys of the configuration as `docs/configuration.md` lists them, each with the default that
/// stands there.
fn documented() -> BTreeMap<String, String> {
    let text = read("docs/configuration.md");
    let (_, keys) = text.split_once("\n## Keys\n").unwrap();
    let rows = keys.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let mut table = String::new();
    let mut found = BTreeMap::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (names, default) = (cells.next().unwrap(), cells.next().unwrap());
        for name in names.split('`').skip(1).step_by(2) {
            match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                Some(name) => table = name.to_owned(),
                None => {
                    let default = default.trim_matches('`').to_owned();
                    assert_eq!(
                        found.insert(format!("{table}.{name}"), default),
                        None,
                        "{name} stands twice"
                    );
                }
            }
        }
    }
    found
}

/// The keys that the program accepts.
fn accepted(schema: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (name, inner) in properties {
            accepted(
                inner,
                &if path.is_empty() { name.clone() } else { format!("{path}.{name}") },
                found,
            );
        }
    } else if schema["additionalProperties"].is_object() {
        accepted(&schema["additionalProperties"], &format!("{path}.NAME"), found);
    } else {
        found.push(path.to_owned());
    }
}

#[test]
fn every_key_of_the_configuration_is_documented_and_no_other() {
    let schema = serde_json::from_str(&read("config/schema.json")).unwrap();
    let mut keys = Vec::new();
    accepted(&schema, "", &mut keys);
    keys.sort();
    assert_eq!(documented().into_keys().collect::<Vec<_>>(), keys);
}

#[test]
fn documented_defaults_are_those_of_the_program() {
    let defaults: toml::Table = toml::from_str(&read("config/default.toml")).unwrap();
    for (key, documented) in documented() {
        let (table, name) = key.rsplit_once('.').unwrap();
        let Some(value) = defaults.get(table).and_then(|table| table.get(name)) else { continue };
        let value = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Array(list) if list.is_empty() => "empty".to_owned(),
            other => other.to_string(),
        };
        assert_eq!(documented, value, "{key}");
    }
}

#[test]
fn links_lead_somewhere() {
    let mut documents = vec![PathBuf::from("README.md"), PathBuf::from("CONTRIBUTING.md")];
    for folder in ["docs", "docs/adr"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        documents.extend(entries.map(|entry| Path::new(folder).join(entry.unwrap().file_name())));
    }
    documents.retain(|document| document.extension().is_some_and(|extension| extension == "md"));
    assert!(documents.len() > 8, "the documents were not found");
    for document in documents {
        let text = read(document.to_str().unwrap());
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let there =
                file.starts_with("http") || root().join(&document).with_file_name(file).exists();
            assert!(there, "{}: {link} leads nowhere", document.display());
        }
    }
}
