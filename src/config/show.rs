//! The effective configuration as text: valid TOML, each line with a comment that says where its
//! value came from.

use std::fmt::Write as _;

use toml::{Table, Value};

use super::Loaded;
use crate::protocol::shown_url;

/// Keys whose values are not printed: a command line may hold a secret.
const HIDDEN: [&str; 1] = ["api_key_command"];

/// Whether a value may be a secret.
fn is_hidden(key: &str, name: &str) -> bool {
    HIDDEN.contains(&name)
        || is_of_server(key) && (key.contains(".env.") || key.contains(".headers."))
}

fn is_of_server(key: &str) -> bool {
    key.starts_with("mcp_servers.")
}

/// A value without what may be a secret in it.
fn shown(key: &str, name: &str, value: &Value) -> Value {
    match value {
        _ if is_hidden(key, name) => Value::from("(hidden)"),
        Value::String(url) if is_of_server(key) && name == "url" => Value::from(shown_url(url)),
        _ => value.clone(),
    }
}

impl Loaded {
    /// Every value in effect, one per line, with its origin. Never holds a key.
    #[must_use]
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
                        let origin = self.origins.of_entry(&key, index).to_string();
                        out.push((format!("  {item},"), origin));
                    }
                    out.push(("]".to_owned(), String::new()));
                }
                _ => {
                    let value = shown(&key, name, value);
                    out.push((format!("{key} = {value}"), self.origins.of(&key).to_string()));
                }
            }
        }
    }
}
