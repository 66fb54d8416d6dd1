//! Merges layers, lowest first, and records the origin of each value.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use super::error::Origin;
use super::provider::default_model;

/// The key of the table of MCP servers.
pub(super) const SERVERS_KEY: &str = "mcp_servers";

/// Lists that are concatenated across layers, besides those of hooks. For all other values the higher layer wins.
const MERGED_LISTS: [&str; 4] =
    ["permissions.allow", "permissions.ask", "permissions.deny", "permissions.additional_dirs"];

/// One value of one layer. `origins` has one entry, or one per element if the value is a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub path: Vec<String>,
    pub value: Value,
    pub origins: Vec<Origin>,
}

impl Setting {
    /// The dotted path, as used to look up origins.
    pub fn key(&self) -> String {
        self.path.join(".")
    }
}

/// The origins of values, by dotted key such as `model.name`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origins(BTreeMap<String, Vec<Origin>>);

impl Origins {
    /// Returns the origin of a key's value; for a list, of its first entry.
    pub fn get(&self, key: &str) -> &Origin {
        self.get_entry(key, 0)
    }

    /// Returns the origin of one list entry, counted from 0 in the merged list.
    pub fn get_entry(&self, key: &str, index: usize) -> &Origin {
        self.0.get(key).and_then(|origins| origins.get(index)).unwrap_or(&Origin::BuiltIn)
    }

    /// Records that this file sets a key, besides the layers.
    pub fn set_file(&mut self, key: &str, file: &Path) {
        let origin = Origin::File { path: file.to_owned(), line: 1 };
        self.0.insert(key.to_owned(), vec![origin]);
    }

    /// Whether any value below a table, such as `providers.work`, is not a built-in one.
    pub fn is_set_below(&self, table: &str) -> bool {
        let prefix = format!("{table}.");
        let below = self.0.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        below.flat_map(|(_, origins)| origins).any(|origin| *origin != Origin::BuiltIn)
    }

    /// Returns the origin of the first value below a table, such as any key of `providers.work`.
    pub(super) fn first_below(&self, table: &str) -> &Origin {
        let prefix = format!("{table}.");
        let (_, origins) =
            match self.0.range(prefix.clone()..).next().filter(|(key, _)| key.starts_with(&prefix))
            {
                Some(found) => found,
                None => return &Origin::BuiltIn,
            };
        origins.first().unwrap_or(&Origin::BuiltIn)
    }
}

fn is_merged_list(key: &str) -> bool {
    MERGED_LISTS.contains(&key) || key.starts_with("hooks.")
}

/// The layers merged so far.
#[derive(Debug, Default)]
pub(super) struct Layers {
    pub merged: Table,
    pub origins: Origins,
}

impl Layers {
    /// Adds a layer on top.
    pub fn add(&mut self, layer: Vec<Setting>) {
        self.drop_stale_model(&layer);
        self.drop_replaced_servers(&layer);
        for setting in layer {
            self.set(setting);
        }
    }

    /// A model belongs to its provider: a layer that changes only the provider gets that provider's default model.
    fn drop_stale_model(&mut self, layer: &[Setting]) {
        let new = layer.iter().find(|setting| setting.key() == "model.provider");
        let Some(new) = new.and_then(|setting| setting.value.as_str()) else { return };
        let Some(Value::Table(model)) = self.merged.get_mut("model") else { return };
        let changed = model.get("provider").is_some_and(|old| old.as_str() != Some(new));
        if changed && default_model(new).is_some() {
            model.remove("name");
            self.origins.0.remove("model.name");
        }
    }

    /// A server of a higher layer replaces one of the same name entirely; the two are not merged.
    fn drop_replaced_servers(&mut self, layer: &[Setting]) {
        let Some(Value::Table(servers)) = self.merged.get_mut(SERVERS_KEY) else { return };
        for setting in layer {
            if let [table, name, ..] = setting.path.as_slice()
                && table == SERVERS_KEY
                && servers.remove(name).is_some()
            {
                let prefix = format!("{SERVERS_KEY}.{name}.");
                self.origins.0.retain(|key, _| !key.starts_with(&prefix));
            }
        }
    }

    fn set(&mut self, setting: Setting) {
        let key = setting.key();
        let Setting { path, value, origins } = setting;
        let Some((last, tables)) = path.split_last() else { return };
        let mut table = &mut self.merged;
        for name in tables {
            let inner = table.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(inner) = inner else { return };
            table = inner;
        }
        match (table.get_mut(last), value) {
            (Some(Value::Array(all)), Value::Array(more)) if is_merged_list(&key) => {
                all.extend(more);
                self.origins.0.entry(key).or_default().extend(origins);
            }
            (_, value) => {
                table.insert(last.clone(), value);
                self.origins.0.insert(key, origins);
            }
        }
    }
}
