//! Finds possible keys in the configuration of a server, with its variables expanded.

use std::collections::BTreeSet;

use serde_json::Value;

use super::expand;
use crate::protocol::{EnvOverlay, McpTransport, Redactor, Secret};

/// Name endings of headers, variables and query parameters that hold keys.
const KEY_SUFFIXES: [&str; 9] = [
    "auth",
    "authorization",
    "cookie",
    "credentials",
    "key",
    "passwd",
    "password",
    "secret",
    "token",
];

/// Variables that never hold a key. Their values appear all over ordinary text.
const HARMLESS_VARIABLES: [&str; 9] = [
    "CALIBAN_PROJECT_DIR",
    "CLAUDE_PROJECT_DIR",
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "PWD",
    "SHELL",
    "USER",
];

/// Minimum length of the run of letters and digits that makes a value a key whatever its name.
const MIN_RANDOM: usize = 20;

/// The keys of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerKeys {
    /// Values of variables and headers, each of the words of a header, the query and password of an
    /// address, and values of expanded variables: any may be a key.
    pub possible: Secret<BTreeSet<String>>,
    /// Those whose name or form says that they are keys.
    pub certain: Secret<BTreeSet<String>>,
}

impl ServerKeys {
    /// Finds the keys of a configured transport, in the environment of the agent that uses it.
    pub fn from_transport(written: &McpTransport, env: &EnvOverlay) -> Self {
        let mut keys = Self::default();
        for (field, text) in fields(written) {
            for (variable, value) in expand::expanded_variables(&text, env) {
                keys.add(&[&field, variable], value, env);
            }
        }
        // One that cannot be expanded is not started.
        if let Ok(whole) = expand::transport(written, env) {
            for (field, text) in fields(&whole) {
                keys.add(&[&field], &text, env);
            }
        }
        keys
    }

    fn add(&mut self, names: &[&str], value: &str, env: &EnvOverlay) {
        if value.is_empty() || HARMLESS_VARIABLES.iter().any(|name| env.get(name) == Some(value)) {
            return;
        }
        let is_id = |name: &&str| name.to_ascii_lowercase().ends_with("id");
        let is_unnamed = is_random(value) && !names.iter().any(is_id);
        if is_unnamed || names.iter().any(|name| is_key_name(name)) {
            self.certain.insert(value.to_owned());
        }
        self.possible.insert(value.to_owned());
    }
}

/// Masks the keys in all texts of a value.
pub fn mask(value: &mut Value, keys: &Redactor) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(masked) = keys.mask(text) {
                *text = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, keys)),
        Value::Object(fields) => fields.values_mut().for_each(|field| mask(field, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a value looks random. One that is named like a key may be a path, a word or a simple
/// password, which appear in ordinary text too.
pub fn is_token(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic();
    let has = |kind: fn(&char) -> bool| value.chars().any(|c| kind(&c));
    let path = value.starts_with(['/', '~', '.']) || value.contains("://");
    let mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    value.chars().all(plain) && mixed && !path
}

/// Whether a value is random whatever its name: long, with letters of both cases and digits among
/// them in one run. A path, an address, a date and a hash in hexadecimal digits are none.
fn is_random(value: &str) -> bool {
    let is_part = |c: char| !c.is_ascii_alphanumeric();
    let has = |text: &str, kind: fn(&char) -> bool| text.chars().any(|c| kind(&c));
    let is_mixed = |run: &str| {
        run.len() >= MIN_RANDOM
            && run.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).count()
                > 1
            && has(run, char::is_ascii_lowercase)
            && has(run, char::is_ascii_uppercase)
    };
    is_token(value) && value.split(is_part).any(is_mixed)
}

fn is_key_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // One of several may have a number: `TOKEN2`, `api_key_1`.
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '_' | '-'));
    KEY_SUFFIXES.iter().any(|end| name.ends_with(end))
}

/// Returns the values that may be keys, each with its name.
fn fields(transport: &McpTransport) -> Vec<(String, String)> {
    let mut all = Vec::new();
    match transport {
        McpTransport::Stdio { env, .. } => {
            all.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        McpTransport::Http { url, headers } => {
            for (name, value) in headers.iter() {
                let words = value.split(' ').chain([&**value]);
                all.extend(words.map(|word| (name.clone(), word.to_owned())));
            }
            let (place, query) = url.split_once('?').unwrap_or((url, ""));
            all.extend(query.split('&').map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or(("", pair));
                (name.to_owned(), value.to_owned())
            }));
            let host = place.split_once("://").and_then(|(_, rest)| rest.split('/').next());
            let person = host.and_then(|host| host.rsplit_once('@')).map(|(person, _)| person);
            if let Some((_, password)) = person.and_then(|person| person.split_once(':')) {
                all.push(("password".to_owned(), password.to_owned()));
            }
        }
        McpTransport::Peer => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pairs<'a, T: FromIterator<(String, String)>>(pairs: &[(&'a str, &'a str)]) -> T {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn keys(transport: &McpTransport) -> (Vec<String>, Vec<String>) {
        let env =
            EnvOverlay::from_iter([("TOKEN", "tok"), ("HOME", "/home/me"), ("PLACE", "lair")]);
        let ServerKeys { possible, certain } = ServerKeys::from_transport(transport, &env);
        (possible.iter().cloned().collect(), certain.iter().cloned().collect())
    }

    #[test]
    fn what_may_be_a_key_is_found_in_headers_and_addresses_as_written_and_filled_in() {
        let http = McpTransport::Http {
            url: "https://me:pw-${TOKEN}@h/${PLACE}?api_key=sk-1&flag&at=${PLACE}&b=${NO:-sk-4}"
                .to_owned()
                .into(),
            headers: pairs(&[("Authorization", "Bearer ${TOKEN}"), ("X-Org", "sk-2")]),
        };
        let (possible, certain) = keys(&http);
        assert_eq!(
            possible,
            ["Bearer", "Bearer tok", "flag", "lair", "pw-tok", "sk-1", "sk-2", "sk-4", "tok"]
        );
        assert_eq!(certain, ["Bearer", "Bearer tok", "pw-tok", "sk-1", "tok"]);
        let whole = McpTransport::Http {
            url: "${AT:-https://h?key=sk-5}".to_owned().into(),
            headers: pairs(&[]),
        };
        assert_eq!(keys(&whole).1, ["sk-5"]);
    }

    #[test]
    fn what_may_be_a_key_is_found_in_variables_and_what_is_everywhere_is_none() {
        let env = pairs(&[
            ("AUTH", "Bearer ${TOKEN}"),
            ("DIR", "${PLACE}"),
            ("EMPTY", ""),
            ("HOME", "${HOME}"),
            ("LITERAL", "sk-3"),
            ("NOTES", "${HOME}/notes"),
            ("TOKEN2", "second"),
            ("api_key_3", "third"),
        ]);
        let args = vec!["${PLACE}".to_owned()];
        let program = McpTransport::Stdio { command: "c".to_owned(), args, env };
        let (possible, certain) = keys(&program);
        assert_eq!(
            possible,
            ["/home/me/notes", "Bearer tok", "lair", "second", "sk-3", "third", "tok"]
        );
        assert_eq!(certain, ["Bearer tok", "second", "third", "tok"]);
    }

    #[test]
    fn a_random_value_is_a_key_whatever_the_name_of_its_variable_but_an_id() {
        let random = "q9X7vLm2Tz8RkW4pYb6N";
        let others = [
            "2024-01-01T00:00:00Z",
            "0123456789abcdef0123456789abcdef",
            "a1B2c3",
            "MyServiceConfiguration2024",
        ];
        let names = ["GITHUB_PAT", "TOK", "PASSPHRASE", "BEARER", "SECRET_ACCESS", "SHEET_ID"];
        let env = names.iter().map(|name| (*name, random));
        let env = env.chain(["A", "B", "C", "D"].into_iter().zip(others)).collect::<Vec<_>>();
        for (name, value) in env {
            let program = McpTransport::Stdio {
                command: "c".to_owned(),
                args: Vec::new(),
                env: pairs(&[(name, value)]),
            };
            let expected = value == random && name != "SHEET_ID";
            assert_eq!(!keys(&program).1.is_empty(), expected, "{name}={value}");
        }
    }

    #[test]
    fn keys_are_masked_in_all_texts_of_a_value() {
        let redactor = Redactor::default();
        redactor.add("sk-secret-1");
        let mut value = json!({"a": ["x sk-secret-1", 1], "b": {"c": "sk-secret-1"}});
        mask(&mut value, &redactor);
        assert_eq!(value, json!({"a": ["x ***", 1], "b": {"c": "***"}}));
    }
}
