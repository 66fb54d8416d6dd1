//! The handshake: what the driving program provides before the first prompt.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::request::ControlRequest;
use crate::protocol::HookEvent;

/// The contents of the handshake.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Initialize {
    /// Definitions of sub-agents by name, in the format of `--agents`.
    pub agents: Option<String>,
    /// In the program's order.
    pub hooks: Vec<HookCallbacks>,
    /// Replaces the built-in prompt.
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// The skills that are offered to models; `None` means all.
    pub skills: Option<Vec<String>>,
    /// Whether frames include the text and thinking of sub-agents, not just their calls.
    pub forward_subagent_text: bool,
    pub servers: HandshakeServers,
    /// Notices for the user about ignored fields.
    pub notices: Vec<String>,
}

/// MCP servers of the handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandshakeServers {
    /// Servers for this program to start or connect to, in the format of `--mcp-config`.
    pub own: Option<String>,
    /// Servers inside the driving program.
    pub sdk: Vec<SdkServer>,
}

/// An MCP server inside the driving program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdkServer {
    pub name: String,
    /// The time limit of a call.
    pub timeout: Option<Duration>,
}

/// Hooks that live in the driving program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCallbacks {
    pub event: HookEvent,
    /// The tools it applies to; `None` means all.
    pub matcher: Option<String>,
    pub callback_ids: Vec<String>,
    pub timeout: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeBody {
    #[serde(rename = "subtype")]
    _subtype: String,
    hooks: Option<Map<String, Value>>,
    agents: Option<Map<String, Value>>,
    system_prompt: Option<PromptTexts>,
    append_system_prompt: Option<String>,
    sdk_mcp_servers: Option<Vec<String>>,
    sdk_mcp_server_configs: Option<BTreeMap<String, SdkServerConfig>>,
    /// Initial answers of such servers. Ignored: the servers are asked themselves.
    #[serde(rename = "sdkMcpServerManifests")]
    _sdk_mcp_server_manifests: Option<Value>,
    mcp_servers: Option<Map<String, Value>>,
    forward_subagent_text: Option<bool>,
    exclude_dynamic_sections: Option<bool>,
    skills: Option<SkillSelection>,
    json_schema: Option<Value>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The settings of a server inside the program.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SdkServerConfig {
    /// Milliseconds.
    timeout: Option<u64>,
    /// Permission policies of its tools.
    tools: Option<Vec<Value>>,
}

/// One text, or several to be joined.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`systemPrompt` must be a text or a list of texts")]
enum PromptTexts {
    One(String),
    Several(Vec<String>),
}

/// Some skills, or all.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`skills` must be a list of names or `all`")]
enum SkillSelection {
    Named(Vec<String>),
    All(AllKeyword),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AllKeyword {
    All,
}

impl PromptTexts {
    fn join(self) -> String {
        match self {
            Self::One(text) => text,
            Self::Several(texts) => texts.join("\n\n"),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CallbackMatcher {
    matcher: Option<String>,
    hook_callback_ids: Vec<String>,
    /// Seconds.
    timeout: Option<f64>,
    on_failure: Option<String>,
}

impl Initialize {
    /// Parses the handshake. The error says what is not supported.
    pub fn read(request: &ControlRequest) -> Result<Self, String> {
        let body = InitializeBody::deserialize(request.body.as_ref().map_err(Clone::clone)?)
            .map_err(|error| format!("initialize: {error}"))?;
        // Each of these would restrict permissions or change the output, so it must not be ignored.
        let present = |field: &str| body.others.get(field).is_some_and(is_set);
        for (field, asked) in [
            ("excludeDynamicSections", body.exclude_dynamic_sections == Some(true)),
            ("jsonSchema", body.json_schema.is_some()),
            ("disallowedTools", present("disallowedTools")),
            ("managedSettings", present("managedSettings")),
            ("plugins", present("plugins")),
            ("settings", present("settings")),
            ("toolAliases", present("toolAliases")),
        ] {
            if asked {
                return Err(format!("initialize: `{field}` is not supported: leave it out"));
            }
        }
        let servers = HandshakeServers {
            own: body.mcp_servers.map(|servers| json!({"mcpServers": servers}).to_string()),
            sdk: sdk_servers(body.sdk_mcp_servers, body.sdk_mcp_server_configs)?,
        };
        let (hooks, strange) = callbacks(body.hooks.unwrap_or_default())?;
        let others = body.others.iter().filter(|(_, value)| is_set(value));
        let others = others.map(|(name, _)| {
            format!("initialize: unknown field `{}` ignored", name.escape_debug())
        });
        let notices = strange.into_iter().chain(others);
        Ok(Self {
            agents: body.agents.map(|agents| Value::Object(agents).to_string()),
            hooks,
            system_prompt: body.system_prompt.map(PromptTexts::join),
            append_system_prompt: body.append_system_prompt,
            forward_subagent_text: body.forward_subagent_text == Some(true),
            skills: match body.skills {
                Some(SkillSelection::Named(names)) => Some(names),
                Some(SkillSelection::All(AllKeyword::All)) | None => None,
            },
            servers,
            notices: notices.collect(),
        })
    }
}

/// Whether a field has a non-default value.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Returns the servers of these names.
fn sdk_servers(
    names: Option<Vec<String>>,
    configs: Option<BTreeMap<String, SdkServerConfig>>,
) -> Result<Vec<SdkServer>, String> {
    let configs = configs.unwrap_or_default();
    let server = |name: String| {
        let config = configs.get(&name);
        let policy = config.and_then(|config| config.tools.as_ref());
        if policy.is_some_and(|tools| !tools.is_empty()) {
            let name = name.escape_debug();
            return Err(format!(
                "initialize: `tools` of the server `{name}` in `sdkMcpServerConfigs` is not supported: \
                 use permission rules such as mcp__{name}__TOOL"
            ));
        }
        let timeout = config.and_then(|config| config.timeout).map(Duration::from_millis);
        Ok(SdkServer { name, timeout })
    };
    names.unwrap_or_default().into_iter().map(server).collect()
}

/// Returns the callbacks for known events, and one line about those for others.
fn callbacks(hooks: Map<String, Value>) -> Result<(Vec<HookCallbacks>, Option<String>), String> {
    let (mut all, mut strange) = (Vec::new(), Vec::new());
    for (name, matchers) in hooks {
        let Some(event) = HookEvent::from_name(&name) else {
            strange.push(name.escape_debug().to_string());
            continue;
        };
        let matchers = Vec::<CallbackMatcher>::deserialize(matchers)
            .map_err(|error| format!("initialize: `hooks` of {name}: {error}"))?;
        for matcher in matchers {
            all.push(matcher.into_callbacks(event)?);
        }
    }
    let known = HookEvent::NAMES.join(", ");
    let notice = (!strange.is_empty()).then(|| {
        format!(
            "initialize: hooks for {} never run; supported events are {known}",
            strange.join(", ")
        )
    });
    Ok((all, notice))
}

impl CallbackMatcher {
    fn into_callbacks(self, event: HookEvent) -> Result<HookCallbacks, String> {
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

    use super::*;

    fn read(fields: &Value) -> Result<Initialize, String> {
        let mut body = json!({"subtype": "initialize"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Initialize::read(&ControlRequest { id: json!("r1"), body: Ok(body) })
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
        let calc = SdkServer { name: "calc".to_owned(), timeout: None };
        assert_eq!(initialize.servers.sdk, [calc]);
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
            (json!({"plugins": [{}]}), "`plugins`"),
            (json!({"disallowedTools": ["Bash"]}), "`disallowedTools`"),
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
        let foreign = read(&hook("PostModelSwitch", "contextOnly", json!(true))).unwrap();
        assert_eq!(foreign.hooks, []);
        assert!(foreign.notices[0].contains("hooks for PostModelSwitch"), "{foreign:?}");
    }
}
