//! `tool_access`: which tools a call hands on, as an object or as the same in a JSON string.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

use crate::subagent::order::ToolAccess;

/// The input field. A broken one is an error and never `inherit`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AccessInput(ToolAccess);

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    policy: Policy,
    tools: Option<Vec<String>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Policy {
    Inherit,
    AllowList,
    DenyList,
}

impl AccessInput {
    /// What it says.
    pub fn access(&self) -> ToolAccess {
        self.0.clone()
    }
}

/// What is allowed, for every error.
const ALLOWED: &str = "`tool_access` must be {\"policy\": \"inherit\"}, or {\"policy\": \"allow_list\" or \"deny_list\", \"tools\": [names]}";

fn read(value: &Value) -> Result<ToolAccess, String> {
    let value = match value {
        Value::String(text) => Cow::Owned(
            serde_json::from_str(text)
                .map_err(|error| format!("{ALLOWED}; as a string it is no valid JSON: {error}"))?,
        ),
        other => Cow::Borrowed(other),
    };
    if !value.is_object() {
        return Err(format!("{ALLOWED}, not {value}"));
    }
    let plain = Plain::deserialize(&*value).map_err(|error| format!("{ALLOWED}: {error}"))?;
    match (plain.policy, plain.tools) {
        (Policy::Inherit, None) => Ok(ToolAccess::Inherit),
        (Policy::Inherit, Some(_)) => Err(format!("{ALLOWED}: `inherit` takes no `tools`")),
        (_, None) => Err(format!("{ALLOWED}: `tools` is missing")),
        (Policy::AllowList, Some(tools)) => Ok(ToolAccess::Allow(tools)),
        (Policy::DenyList, Some(tools)) => Ok(ToolAccess::Deny(tools)),
    }
}

impl<'de> Deserialize<'de> for AccessInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        read(&value).map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for AccessInput {
    fn schema_name() -> Cow<'static, str> {
        "ToolAccess".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "policy": {"type": "string", "enum": ["inherit", "allow_list", "deny_list"]},
                "tools": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["policy"],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(value: Value) -> Result<ToolAccess, String> {
        serde_json::from_value::<AccessInput>(value).map(|it| it.0).map_err(|e| e.to_string())
    }

    #[test]
    fn s3_11_the_object_and_the_same_as_a_string_are_equal() {
        let object = json!({"policy": "allow_list", "tools": ["Read"]});
        assert_eq!(parsed(object.clone()), Ok(ToolAccess::Allow(vec!["Read".to_owned()])));
        assert_eq!(parsed(json!(object.to_string())), parsed(object));
        assert_eq!(parsed(json!("{\"policy\":\"inherit\"}")), Ok(ToolAccess::Inherit));
    }

    #[test]
    fn t25_a_broken_restriction_never_becomes_inherit() {
        for broken in [
            json!("allow_list"),
            json!("{\"policy\": \"allow_list\", \"tools\": [\"Re"),
            json!(json!({"policy": "inherit"}).to_string()).to_string().into(),
            json!({"policy": "allowlist", "tools": ["Read"]}),
            json!({"policy": "allow_list"}),
            json!({"policy": "allow_list", "tools": null}),
            json!({"policy": "allow_list", "tools": "Read"}),
            json!({"policy": "inherit", "tools": ["Read"]}),
            json!({"policy": "deny_list", "tools": ["Bash"], "more": 1}),
            json!({"tools": ["Read"]}),
            json!(["Read"]),
            json!(7),
        ] {
            let error = parsed(broken.clone()).unwrap_err();
            assert!(error.starts_with("`tool_access` must be "), "{broken}: {error}");
        }
    }
}
