//! Fills in `${VAR}` and `${VAR:-default}`.

use std::collections::BTreeMap;

use crate::protocol::{EnvOverlay, McpTransport};

/// A variable that is needed and not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the variable {0} is not set: set it, or give a default with ${{{0}:-…}}")]
pub struct Unset(String);

/// The transport with all variables filled in.
pub fn transport(transport: &McpTransport, env: &EnvOverlay) -> Result<McpTransport, Unset> {
    Ok(match transport {
        McpTransport::Stdio { command, args, env: variables } => McpTransport::Stdio {
            command: text(command, env)?,
            args: args.iter().map(|arg| text(arg, env)).collect::<Result<_, _>>()?,
            env: values(variables, env)?,
        },
        McpTransport::Http { url, headers } => {
            McpTransport::Http { url: text(url, env)?, headers: values(headers, env)? }
        }
        McpTransport::Peer => McpTransport::Peer,
    })
}

fn values(
    map: &BTreeMap<String, String>,
    env: &EnvOverlay,
) -> Result<BTreeMap<String, String>, Unset> {
    map.iter().map(|(name, value)| Ok((name.clone(), text(value, env)?))).collect()
}

/// One text. A default counts for an unset variable and for an empty one; what is no reference stays as it is.
fn text(text: &str, env: &EnvOverlay) -> Result<String, Unset> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        // A reference without an end is text.
        let Some((inner, after)) = rest[start + 2..].split_once('}') else { break };
        out.push_str(&rest[..start]);
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if is_variable(name) {
            let value = match default {
                Some(default) => env.non_empty(name).unwrap_or(default),
                None => env.get(name).ok_or_else(|| Unset(name.to_owned()))?,
            };
            out.push_str(value);
        } else {
            out.push_str(&rest[start..start + inner.len() + 3]);
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
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
