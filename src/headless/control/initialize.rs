//! The handshake: what the driving program brings along before the first prompt.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Request;
use crate::protocol::HookEvent;

/// What the program asks for at the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Initialize {
    /// Definitions of sub-agents by their names, as `--agents` takes them.
    pub agents: Option<String>,
    /// In the order in which the program names them.
    pub hooks: Vec<HookCallbacks>,
    /// Replaces the built-in prompt.
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// The skills that models are offered; absent: all.
    pub skills: Option<Vec<String>>,
    /// Whether frames tell what sub-agents write and think, besides their calls.
    pub forward_subagent_text: bool,
    /// What does not count, for the person.
    pub notices: Vec<String>,
}

/// Hooks that live in the driving program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCallbacks {
    pub event: HookEvent,
    /// Which tools it is for; absent: all.
    pub matcher: Option<String>,
    pub callback_ids: Vec<String>,
    pub timeout: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(rename = "subtype")]
    _subtype: String,
    hooks: Option<BTreeMap<String, Vec<Matcher>>>,
    agents: Option<Map<String, Value>>,
    system_prompt: Option<Texts>,
    append_system_prompt: Option<String>,
    /// Servers that live in the program come with `--mcp-config` all the same.
    #[serde(rename = "sdkMcpServers")]
    _sdk_mcp_servers: Option<Vec<String>>,
    forward_subagent_text: Option<bool>,
    exclude_dynamic_sections: Option<bool>,
    skills: Option<Skills>,
    json_schema: Option<Value>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// One text, or several that stand one below the other.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`systemPrompt` must be a text or a list of texts")]
enum Texts {
    One(String),
    Several(Vec<String>),
}

/// Some skills, or each that there is.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`skills` must be a list of names or `all`")]
enum Skills {
    Named(Vec<String>),
    All(All),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum All {
    All,
}

impl Texts {
    fn joined(self) -> String {
        match self {
            Self::One(text) => text,
            Self::Several(texts) => texts.join("\n\n"),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Matcher {
    matcher: Option<String>,
    hook_callback_ids: Vec<String>,
    /// Seconds.
    timeout: Option<f64>,
    on_failure: Option<String>,
}

impl Initialize {
    /// Reads the handshake; the error says what cannot be done.
    pub(in crate::headless) fn read(request: &Request) -> Result<Self, String> {
        let body = Body::deserialize(request.body.as_ref().map_err(Clone::clone)?)
            .map_err(|error| format!("initialize: {error}"))?;
        for (field, asked) in [
            ("excludeDynamicSections", body.exclude_dynamic_sections == Some(true)),
            ("jsonSchema", body.json_schema.is_some()),
        ] {
            if asked {
                return Err(format!("initialize: `{field}` is not supported: leave it out"));
            }
        }
        let mut hooks = Vec::new();
        for (event, matchers) in body.hooks.unwrap_or_default() {
            for matcher in matchers {
                hooks.push(matcher.of(&event)?);
            }
        }
        let said = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        let others = body.others.iter().filter(|(_, value)| said(value));
        let notices = others.map(|(name, _)| {
            format!("`{}` in initialize is not known and does nothing", name.escape_debug())
        });
        Ok(Self {
            agents: body.agents.map(|agents| Value::Object(agents).to_string()),
            hooks,
            system_prompt: body.system_prompt.map(Texts::joined),
            append_system_prompt: body.append_system_prompt,
            forward_subagent_text: body.forward_subagent_text == Some(true),
            skills: match body.skills {
                Some(Skills::Named(names)) => Some(names),
                Some(Skills::All(All::All)) | None => None,
            },
            notices: notices.collect(),
        })
    }
}

impl Matcher {
    fn of(self, event: &str) -> Result<HookCallbacks, String> {
        let Some(event) = HookEvent::named(event) else {
            let known = HookEvent::ALL.map(HookEvent::name).join(", ");
            let event = event.escape_debug();
            return Err(format!("initialize: there is no hook event `{event}`; there are {known}"));
        };
        if self.on_failure.as_deref().is_some_and(|wanted| wanted != "continue") {
            let name = event.name();
            return Err(format!(
                "initialize: `onFailure` of a {name} hook must be \"continue\": a hook that fails never blocks here"
            ));
        }
        let timeout = self.timeout.map(|seconds| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|error| format!("initialize: `timeout` of a hook: {error}"))
        });
        Ok(HookCallbacks {
            event,
            matcher: self.matcher,
            callback_ids: self.hook_callback_ids,
            timeout: timeout.transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn read(fields: &Value) -> Result<Initialize, String> {
        let mut body = json!({"subtype": "initialize"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Initialize::read(&Request { id: json!("r1"), body: Ok(body) })
    }

    #[test]
    fn agents_and_hooks_are_taken_as_they_come() {
        let initialize = read(&json!({
            "hooks": {"PreToolUse": [
                {"matcher": "Bash", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 2.5},
                {"matcher": null, "hookCallbackIds": ["hook_2"]},
            ]},
            "agents": {"scout": {"description": "d", "prompt": "p"}},
            "sdkMcpServers": ["calc"], "forwardSubagentText": true, "somethingNew": false,
        }))
        .unwrap();
        let agents: Value = serde_json::from_str(&initialize.agents.unwrap()).unwrap();
        assert_eq!(agents["scout"]["prompt"], "p");
        let hook = |matcher: Option<&str>, ids: &[&str], timeout| HookCallbacks {
            event: HookEvent::PreToolUse,
            matcher: matcher.map(str::to_owned),
            callback_ids: ids.iter().map(|&id| id.to_owned()).collect(),
            timeout,
        };
        let first = hook(Some("Bash"), &["hook_0", "hook_1"], Some(Duration::from_millis(2500)));
        assert_eq!(initialize.hooks, [first, hook(None, &["hook_2"], None)]);
        assert_eq!(initialize.notices, [""; 0]);
        assert!(initialize.forward_subagent_text);
        assert_eq!(read(&json!({"hooks": null})), Ok(Initialize::default()));
        for (skills, expected) in [
            (json!(["a"]), Some(vec!["a".to_owned()])),
            (json!([]), Some(Vec::new())),
            (json!("all"), None),
        ] {
            assert_eq!(read(&json!({"skills": skills})).unwrap().skills, expected);
        }
        for (prompt, expected) in
            [(json!("a"), "a"), (json!(["a", "b"]), "a\n\nb"), (json!([""]), "")]
        {
            let read = read(&json!({"systemPrompt": prompt})).unwrap();
            assert_eq!(read.system_prompt.as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_what_is_unknown_is_told() {
        let hook = |event: &str, field: &str, value: Value| {
            let mut matcher = json!({"hookCallbackIds": ["h"]});
            matcher[field] = value;
            json!({"hooks": {event: [matcher]}})
        };
        for (fields, named) in [
            (hook("PostModelSwitch", "matcher", json!("x")), "no hook event `PostModelSwitch`"),
            (hook("Stop", "onFailure", json!("block")), "`onFailure`"),
            (hook("Stop", "timeout", json!(-1)), "`timeout`"),
            (hook("Stop", "colour", json!("red")), "colour"),
            (json!({"skills": "some"}), "`skills` must be"),
            (json!({"excludeDynamicSections": true}), "`excludeDynamicSections`"),
            (json!({"jsonSchema": {}}), "`jsonSchema`"),
            (json!({"agents": []}), "initialize: "),
            (json!({"systemPrompt": 5}), "`systemPrompt` must be"),
        ] {
            let error = read(&fields).unwrap_err();
            assert!(error.contains(named), "{fields}: {error}");
        }
        let told = read(&json!({"somethingNew": 1})).unwrap().notices;
        assert!(told[0].contains("`somethingNew`"), "{told:?}");
    }
}
