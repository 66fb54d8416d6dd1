//! Expands `${VAR}` and `${VAR:-default}`.

use std::collections::BTreeMap;

use crate::protocol::{EnvOverlay, McpTransport, Secret};

/// A required variable that is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the variable {0} is not set: set it, or give a default with ${{{0}:-…}}")]
pub struct UnsetVariable(String);

/// Expands all variables in a transport.
pub fn transport(
    transport: &McpTransport,
    env: &EnvOverlay,
) -> Result<McpTransport, UnsetVariable> {
    Ok(match transport {
        McpTransport::Stdio { command, args, env: variables } => McpTransport::Stdio {
            command: text(command, env)?,
            args: args.iter().map(|arg| text(arg, env)).collect::<Result<_, _>>()?,
            env: values(variables, env)?,
        },
        McpTransport::Http { url, headers } => {
            McpTransport::Http { url: text(url, env)?.into(), headers: values(headers, env)? }
        }
        McpTransport::Peer => McpTransport::Peer,
    })
}

fn values(
    map: &BTreeMap<String, String>,
    env: &EnvOverlay,
) -> Result<Secret<BTreeMap<String, String>>, UnsetVariable> {
    map.iter().map(|(name, value)| Ok((name.clone(), text(value, env)?))).collect()
}

/// Expands one text. A default applies to unset and empty variables; anything that is not a
/// reference stays unchanged.
fn text(text: &str, env: &EnvOverlay) -> Result<String, UnsetVariable> {
    pieces(text).iter().map(|piece| piece.value(env)).collect()
}

/// Returns the variables that a text refers to, each with its value. Unset ones are left out.
pub fn expanded_variables<'a>(text: &'a str, env: &'a EnvOverlay) -> Vec<(&'a str, &'a str)> {
    let variable = |piece: &TextSegment<'a>| match *piece {
        TextSegment::Variable { name, .. } => piece.value(env).ok().map(|value| (name, value)),
        TextSegment::Text(_) => None,
    };
    pieces(text).iter().filter_map(variable).collect()
}

/// A part of a text.
#[derive(Clone, Copy)]
enum TextSegment<'a> {
    Text(&'a str),
    Variable { name: &'a str, default: Option<&'a str> },
}

impl<'a> TextSegment<'a> {
    fn value(&self, env: &'a EnvOverlay) -> Result<&'a str, UnsetVariable> {
        match *self {
            Self::Text(text) => Ok(text),
            Self::Variable { name, default: Some(default) } => {
                Ok(env.non_empty(name).unwrap_or(default))
            }
            Self::Variable { name, default: None } => {
                env.get(name).ok_or_else(|| UnsetVariable(name.to_owned()))
            }
        }
    }
}

fn pieces(text: &str) -> Vec<TextSegment<'_>> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        // An unterminated reference is text.
        let Some((inner, after)) = rest[start + 2..].split_once('}') else { break };
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if is_variable(name) {
            all.extend([
                TextSegment::Text(&rest[..start]),
                TextSegment::Variable { name, default },
            ]);
        } else {
            all.push(TextSegment::Text(&rest[..start + inner.len() + 3]));
        }
        rest = after;
    }
    all.push(TextSegment::Text(rest));
    all
}

fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_defaults_are_filled_in_and_all_else_stays() {
        let env = EnvOverlay::from_iter([("A", "one"), ("EMPTY", "")]);
        for (raw, expected) in [
            ("plain", "plain"),
            ("${A}", "one"),
            ("x${A}y${A}z", "xoneyonez"),
            ("${B:-two}", "two"),
            ("${A:-two}", "one"),
            ("${EMPTY:-two}", "two"),
            ("${EMPTY}", ""),
            ("${B:-}", ""),
            ("${B:-http://x:1/y}", "http://x:1/y"),
            ("$A", "$A"),
            ("${not a name}", "${not a name}"),
            ("a${A", "a${A"),
            ("${A}b${A", "oneb${A"),
            ("é${A}ü", "éoneü"),
        ] {
            assert_eq!(text(raw, &env), Ok(expected.to_owned()), "{raw}");
        }
    }

    #[test]
    fn an_unset_variable_without_a_default_is_named() {
        let error = text("a ${NOT_HERE} b", &EnvOverlay::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "the variable NOT_HERE is not set: set it, or give a default with ${NOT_HERE:-…}"
        );
    }
}
