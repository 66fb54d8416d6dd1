//! Merging layers, lowest first, and remembering where each value came from.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::Origin;
use super::mcp::SERVERS;
use super::provider::default_model;

/// The lists whose entries from all layers add up, besides those of hooks. Everything else is
/// replaced by a higher layer.
const ADDED_UP: [&str; 4] =
    ["permissions.allow", "permissions.ask", "permissions.deny", "permissions.additional_dirs"];

/// One value of one layer. `origins` has one entry, or one per element when the value is a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub path: Vec<String>,
    pub value: Value,
    pub origins: Vec<Origin>,
}

impl Setting {
    /// The path with dots, as origins are looked up.
    pub fn key(&self) -> String {
        self.path.join(".")
    }
}

/// Where values came from, by dotted key such as `model.name`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origins(BTreeMap<String, Vec<Origin>>);

impl Origins {
    /// Where the value of a key was written. Of a list: its first entry.
    #[must_use]
    pub fn of(&self, key: &str) -> &Origin {
        self.of_entry(key, 0)
    }

    /// Where one entry of a list was written, counted from 0 in the merged list.
    #[must_use]
    pub fn of_entry(&self, key: &str, index: usize) -> &Origin {
        self.0.get(key).and_then(|origins| origins.get(index)).unwrap_or(&Origin::BuiltIn)
    }

    /// The first value below a table, such as any key of `providers.work`.
    pub(super) fn below(&self, table: &str) -> &Origin {
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

fn adds_up(key: &str) -> bool {
    ADDED_UP.contains(&key) || key.starts_with("hooks.")
}

/// All layers so far as one table.
#[derive(Debug, Default)]
pub(super) struct Layers {
    pub merged: Table,
    pub origins: Origins,
}

impl Layers {
    /// Puts a layer on top.
    pub fn add(&mut self, layer: Vec<Setting>) {
        self.forget_other_providers_model(&layer);
        self.forget_replaced_servers(&layer);
        for setting in layer {
            self.set(setting);
        }
    }

    /// A model belongs to its provider: a layer that only changes the provider gets that provider's
    /// default model.
    fn forget_other_providers_model(&mut self, layer: &[Setting]) {
        let new = layer.iter().find(|setting| setting.key() == "model.provider");
        let Some(new) = new.and_then(|setting| setting.value.as_str()) else { return };
        let Some(Value::Table(model)) = self.merged.get_mut("model") else { return };
        let changed = model.get("provider").is_some_and(|old| old.as_str() != Some(new));
        if changed && default_model(new).is_some() {
            model.remove("name");
            self.origins.0.remove("model.name");
        }
    }

    /// A server of a higher layer takes the place of one of the same name as a whole: half of one
    /// and half of another is neither.
    fn forget_replaced_servers(&mut self, layer: &[Setting]) {
        let Some(Value::Table(servers)) = self.merged.get_mut(SERVERS) else { return };
        for setting in layer {
            if let [table, name, ..] = setting.path.as_slice()
                && table == SERVERS
                && servers.remove(name).is_some()
            {
                let prefix = format!("{SERVERS}.{name}.");
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
            (Some(Value::Array(all)), Value::Array(more)) if adds_up(&key) => {
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
