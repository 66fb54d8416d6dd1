//! Prints the effective configuration as valid TOML, each line with a comment that names its origin.

use std::fmt::Write as _;

use toml::{Table, Value};

use super::LoadedConfig;
use crate::protocol::display_url;

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
                        out.push((format!("  {item},"), origin));
                    }
                    out.push(("]".to_owned(), String::new()));
                }
                _ => {
                    let value = redact(&key, name, value);
                    out.push((format!("{key} = {value}"), self.origins.get(&key).to_string()));
                }
            }
        }
    }
}
