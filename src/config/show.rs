//! Prints the effective configuration as valid TOML, each line with a comment that names its origin.

use std::fmt::Write as _;

use toml::{Table, Value};

use super::LoadedConfig;
use crate::protocol::{display_url, is_seen, printable_line};

/// Keys whose values are hidden: a command line may contain a secret.
const HIDDEN_KEYS: [&str; 1] = ["api_key_command"];

/// Whether a value may be a secret.
fn is_hidden(key: &str, name: &str) -> bool {
    HIDDEN_KEYS.contains(&name)
        || is_server_key(key) && (key.contains(".env.") || key.contains(".headers."))
}

fn is_server_key(key: &str) -> bool {
    key.starts_with("mcp_servers.")
}

/// Returns a value without possible secrets.
fn redact(key: &str, name: &str, value: &Value) -> Value {
    match value {
        _ if is_hidden(key, name) => Value::from("(hidden)"),
        Value::String(url) if is_server_key(key) && name == "url" => Value::from(display_url(url)),
        _ => value.clone(),
    }
}

/// Returns a value in one line of TOML, in which everything can be seen.
fn one_line(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let plain = value.to_string();
            if printable_line(&plain) == plain { plain } else { quoted(text) }
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", "))
        }
        Value::Table(table) => {
            let entry = |(key, value): (&String, &Value)| format!("{key} = {}", one_line(value));
            format!("{{ {} }}", table.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

/// Quotes a text as TOML does, with escapes for everything that cannot be seen.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if is_seen(out.chars().next_back(), c, rest.clone().next()) => out.push(c),
            _ => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out + "\""
}

impl LoadedConfig {
    /// Returns every effective value, one per line, with its origin. Never contains a key.
    pub fn show(&self) -> String {
        let mut lines = Vec::new();
        self.lines(&self.merged, "", &mut lines);
        let width = lines.iter().map(|(text, _)| text.chars().count()).filter(|width| *width < 60);
        let width = width.max().unwrap_or_default();
        let mut out = String::new();
        for (text, origin) in lines {
            if origin.is_empty() {
                out.push_str(&text);
                out.push('\n');
            } else {
                // Writing to a String cannot fail.
                let _ = writeln!(out, "{text:width$}  # {origin}");
            }
        }
        out
    }

    /// Collects each value's text and its origin.
    fn lines(&self, table: &Table, above: &str, out: &mut Vec<(String, String)>) {
        for (name, value) in table {
            let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
            match value {
                Value::Table(inner) => self.lines(inner, &key, out),
                Value::Array(items) if !items.is_empty() => {
                    out.push((format!("{key} = ["), String::new()));
                    for (index, item) in items.iter().enumerate() {
                        let origin = self.origins.get_entry(&key, index).to_string();
                        out.push((format!("  {},", one_line(item)), origin));
                    }
                    out.push(("]".to_owned(), String::new()));
                }
                _ => {
                    let value = redact(&key, name, value);
                    let text = format!("{key} = {}", one_line(&value));
                    out.push((text, self.origins.get(&key).to_string()));
                }
            }
        }
    }
}
