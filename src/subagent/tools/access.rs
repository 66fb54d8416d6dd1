//! `tool_access`: which tools a call hands on, as an object or as the same in a JSON string.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

use crate::subagent::spawn_request::ToolAccess;

/// The input field. A malformed one is an error, never `inherit`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AccessInput(ToolAccess);

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessFields {
    policy: AccessPolicy,
    tools: Option<Vec<String>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum AccessPolicy {
    Inherit,
    AllowList,
    DenyList,
}

impl AccessInput {
    /// The access it requests.
    pub fn into_access(self) -> ToolAccess {
        self.0
    }
}

/// The expected form, for every error.
const EXPECTED: &str = "`tool_access` must be {\"policy\": \"inherit\"}, or {\"policy\": \"allow_list\" or \"deny_list\", \"tools\": [names]}";

fn read(value: &Value) -> Result<ToolAccess, String> {
    let value = match value {
        Value::String(text) => Cow::Owned(
            serde_json::from_str(text)
                .map_err(|error| format!("{EXPECTED}; as a string it is no valid JSON: {error}"))?,
        ),
        other => Cow::Borrowed(other),
    };
    if !value.is_object() {
        return Err(format!("{EXPECTED}, not {value}"));
    }
    let plain =
        AccessFields::deserialize(&*value).map_err(|error| format!("{EXPECTED}: {error}"))?;
    match (plain.policy, plain.tools) {
        (AccessPolicy::Inherit, None) => Ok(ToolAccess::Inherit),
        (AccessPolicy::Inherit, Some(_)) => Err(format!("{EXPECTED}: `inherit` takes no `tools`")),
        (_, None) => Err(format!("{EXPECTED}: `tools` is missing")),
        (AccessPolicy::AllowList, Some(tools)) => Ok(ToolAccess::Allow(tools)),
        (AccessPolicy::DenyList, Some(tools)) => Ok(ToolAccess::Deny(tools)),
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
    fn the_object_and_the_same_as_a_string_are_equal() {
        let object = json!({"policy": "allow_list", "tools": ["Read"]});
        assert_eq!(parsed(object.clone()), Ok(ToolAccess::Allow(vec!["Read".to_owned()])));
        assert_eq!(parsed(json!(object.to_string())), parsed(object));
        assert_eq!(parsed(json!("{\"policy\":\"inherit\"}")), Ok(ToolAccess::Inherit));
    }

    #[test]
    fn a_broken_restriction_never_becomes_inherit() {
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
