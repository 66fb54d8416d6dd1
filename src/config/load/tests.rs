//! The layers end to end: files on disk, the environment and flags in, a configuration with origins out.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::Value as Schema;
use tempfile::TempDir;

use super::super::trust_filter;
use super::*;
use crate::config::layers::Setting;
use crate::config::overrides::Overrides;
use crate::config::schema::SCHEMA;
use crate::config::trust::Trust;
use crate::protocol::{EnvOverlay, PermissionMode};

mod hooks;
mod project;
mod settings_file;

/// A temporary home and repository with files.
struct LoadFixture {
    top: TempDir,
    dirs: Dirs,
    env: EnvOverlay,
    overrides: Overrides,
}

impl LoadFixture {
    /// `files` are written below `home` (the user's configuration) and `repo`.
    fn new(files: &[(&str, &str)]) -> Self {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("repo/.git")).unwrap();
        for (name, text) in files {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let env: EnvOverlay =
            [("CALIBAN_HOME", top.path().join("home")), ("HOME", "/home/ann".into())]
                .into_iter()
                .collect();
        let dirs = Dirs::new(&env, top.path()).unwrap();
        Self { top, dirs, env, overrides: Overrides::default() }
    }

    fn load(&self) -> Result<LoadedConfig, ConfigError> {
        self.load_with(&self.trust())
    }

    fn load_with(&self, trust: &Trust) -> Result<LoadedConfig, ConfigError> {
        let cwd = self.top.path().join("repo");
        let Self { dirs, env, overrides, .. } = self;
        load(&ConfigSources { dirs, cwd: &cwd, env, overrides, trust })
    }

    /// Returns the current trust.
    fn trust(&self) -> Trust {
        let cwd = self.top.path().join("repo");
        Trust::new(&self.dirs, &Project::discover(&cwd, None), &cwd)
    }

    /// Loads, accepts all untrusted items, and loads again, as a later start does.
    fn load_trusted(&self) -> LoadedConfig {
        self.trust().accept(&self.load().unwrap().untrusted).unwrap();
        self.load().unwrap()
    }

    /// Returns the untrusted items, each with its origin.
    fn untrusted(&self, loaded: &LoadedConfig) -> Vec<String> {
        let line = |thing: &UntrustedItem| self.plain(&format!("{}: {}", thing.origin, thing.what));
        loaded.untrusted.iter().map(line).collect()
    }

    /// Returns a message without the temporary folder's name.
    fn plain(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.top.path().display()), "")
    }

    fn error(&self) -> String {
        self.plain(&self.load().unwrap_err().to_string())
    }

    fn origin(&self, loaded: &LoadedConfig, key: &str) -> String {
        self.plain(&loaded.origins.get(key).to_string())
    }
}

#[test]
fn the_built_in_defaults_are_valid_and_as_documented() {
    let config = Config::built_in().unwrap();
    assert_eq!((config.model.max_tokens, config.model.provider.as_deref()), (None, None));
    assert_eq!((config.subagents.max_concurrent_agents, config.subagents.max_turns), (8, 20));
    assert_eq!(
        config.providers.keys().collect::<Vec<_>>(),
        ["anthropic", "gemini", "llamacpp", "ollama", "openai", "vllm"]
    );
    let anthropic = &config.providers["anthropic"];
    assert_eq!((anthropic.idle_timeout().as_secs(), anthropic.max_retries), (120, 8));
}

#[test]
fn a_higher_layer_wins_and_each_value_keeps_its_origin() {
    let mut world = LoadFixture::new(&[
        (
            "home/config.toml",
            "[model]\nname = \"user\"\nmax_tokens = 3\neffort = \"low\"\n[tui]\nmouse = false",
        ),
        ("repo/.caliban/config.toml", "[model]\nname = \"shared\"\nmax_tokens = 2"),
        ("repo/.caliban/config.local.toml", "[model]\nname = \"local\"\nmax_tokens = 1"),
    ]);
    world.env = world.env.with([("CALIBAN_MODEL", "env"), ("CALIBAN_PROVIDER", "")]);
    world.overrides.model = Some("flag".to_owned());
    let loaded = world.load().unwrap();
    let model = &loaded.config.model;
    assert_eq!((model.name.as_deref(), model.max_tokens), (Some("flag"), Some(1)));
    assert_eq!((model.effort.as_deref(), loaded.config.tui.mouse), (Some("low"), false));
    assert_eq!(world.origin(&loaded, "model.name"), "--model");
    assert_eq!(world.origin(&loaded, "model.max_tokens"), ".caliban/config.local.toml:3");
    assert_eq!(world.origin(&loaded, "model.effort"), "home/config.toml:4");
    assert_eq!(world.origin(&loaded, "tui.panes"), "built in");

    world.overrides.model = None;
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config.model.name.as_deref(), Some("env"));
    assert_eq!(world.origin(&loaded, "model.name"), "CALIBAN_MODEL");
}

#[test]
fn rules_of_all_layers_add_up_and_each_keeps_its_origin() {
    let mut world = LoadFixture::new(&[
        (
            "home/config.toml",
            "[permissions]\nallow = [\"Read\",\n\"Grep\"]\nadditional_dirs = [\"~/notes\", \"../x\"]",
        ),
        ("repo/.caliban/config.toml", "[permissions]\ndeny = [\"Bash(rm:*)\"]\nask = [\"Edit\"]"),
        ("repo/.caliban/config.local.toml", "[permissions]\nallow = [\"Bash(ls:*)\"]"),
    ]);
    world.overrides.allow = vec!["Glob".to_owned()];
    world.overrides.deny = vec!["WebFetch".to_owned()];
    let loaded = world.load_trusted();
    let permissions = &loaded.config.permissions;
    assert_eq!(permissions.allow, ["Read", "Grep", "Bash(ls:*)", "Glob"]);
    assert_eq!(permissions.deny, ["Bash(rm:*)", "WebFetch"]);
    let origins: Vec<String> = (0..4)
        .map(|index| world.plain(&loaded.origins.get_entry("permissions.allow", index).to_string()))
        .collect();
    assert_eq!(
        origins,
        [
            "home/config.toml:2",
            "home/config.toml:3",
            ".caliban/config.local.toml:2",
            "--allowed-tools"
        ]
    );
    let cwd = world.top.path().join("repo");
    assert_eq!(permissions.additional_dirs, [PathBuf::from("/home/ann/notes"), cwd.join("../x")]);
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
}

#[test]
fn changing_the_provider_alone_takes_its_default_model() {
    let mut world = LoadFixture::new(&[(
        "home/config.toml",
        "[model]\nprovider = \"anthropic\"\nname = \"claude-opus-5\"",
    )]);
    let name = |world: &LoadFixture| world.load().unwrap().config.model.name;
    world.overrides.provider = Some("anthropic".to_owned());
    assert_eq!(name(&world).as_deref(), Some("claude-opus-5"));
    world.overrides.provider = Some("openai".to_owned());
    assert_eq!(name(&world), None);
    world.overrides.model = Some("gpt-5.4".to_owned());
    assert_eq!(name(&world).as_deref(), Some("gpt-5.4"));
}

#[test]
fn flags_and_environment_reach_their_keys() {
    let mut world = LoadFixture::new(&[]);
    world.env = world.env.with([
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ("CALIBAN_LOG", "warn,caliban=debug"),
    ]);
    world.overrides = Overrides {
        permission_mode: Some(PermissionMode::Plan),
        skip_permissions: true,
        max_turns: Some(3),
        max_usd: Some(0.5),
        theme: Some("dark".to_owned()),
        no_sub_agent: true,
        ..Overrides::default()
    };
    let loaded = world.load().unwrap();
    let config = &loaded.config;
    assert_eq!(config.permissions.mode, PermissionMode::BypassPermissions);
    assert_eq!(world.origin(&loaded, "permissions.mode"), "--dangerously-skip-permissions");
    assert_eq!((config.budget.max_turns, config.budget.max_usd), (Some(3), Some(0.5)));
    assert_eq!((config.subagents.enabled, config.tui.theme.as_deref()), (false, Some("dark")));
    assert_eq!(config.log.level, "warn,caliban=debug");
    let url = |name: &str| config.providers[name].base_url.as_ref().unwrap().as_str();
    assert_eq!(url("anthropic"), "http://127.0.0.1:9");
    assert_eq!(url("openai"), "http://127.0.0.1:9/v1");
}

#[test]
fn mistakes_name_the_place_and_the_remedy() {
    let table: [(&[(&str, &str)], &str); 12] = [
        (
            &[("home/config.toml", "\n[model]\n\nmodle = \"x\"")],
            "home/config.toml:4: unknown key `modle` in [model]; allowed: name, provider, max_tokens, effort",
        ),
        (
            &[("home/config.toml", "[providers.work]\nbase_url = \"http://h/v1\"")],
            "home/config.toml:2: [providers.work] needs a `kind`: anthropic, openai_chat, openai_responses, gemini or scripted",
        ),
        (
            &[("home/config.toml", "[providers.work]\nkind = \"openai_chat\"")],
            "home/config.toml:2: [providers.work] of kind openai_chat needs a `base_url`, such as \"http://127.0.0.1:8080/v1\"",
        ),
        (
            &[("home/config.toml", "[providers.x]\nkind = \"scripted\"")],
            "home/config.toml:2: [providers.x] of kind scripted needs a `scenario`, the file with its answers",
        ),
        (
            &[("home/config.toml", "[providers.openai]\nbase_url = \"ftp://h\"")],
            "home/config.toml:2: `providers.openai.base_url` must start with http:// or https:// and a host",
        ),
        (
            &[("home/config.toml", "[providers.openai]\nbase_url = \"https://me:pw@h\"")],
            "home/config.toml:2: `providers.openai.base_url` must not contain a user name or password; use api_key_env",
        ),
        (
            &[("home/config.toml", "[providers.openai]\nbase_url = \"https://h/?key=k\"")],
            "home/config.toml:2: `providers.openai.base_url` must not contain `?` or `#`: request paths are appended to it",
        ),
        (
            &[("home/config.toml", "[providers.openai]\napi_key_env = \"sk-secret\"")],
            "home/config.toml:2: `providers.openai.api_key_env` must be the name of an environment variable, not the key itself",
        ),
        (
            &[("home/config.toml", "[model]\nprovider = \"antropic\"")],
            "home/config.toml:2: there is no provider \"antropic\"; defined: anthropic, gemini, llamacpp, ollama, openai, vllm",
        ),
        (
            &[("home/config.toml", "[subagents]\ndefault_provider = \"gemeni\"")],
            "home/config.toml:2: there is no provider \"gemeni\"; defined: anthropic, gemini, llamacpp, ollama, openai, vllm",
        ),
        (
            &[("home/config.toml", "[subagents.allowed_models]\nopenia = [\"gpt-5.5\"]")],
            "home/config.toml:2: there is no provider \"openia\"; defined: anthropic, gemini, llamacpp, ollama, openai, vllm",
        ),
        (&[("home/config.toml/x", "")], "home/config.toml: cannot be read: it is not a file"),
    ];
    for (files, expected) in table {
        assert_eq!(LoadFixture::new(files).error(), expected);
    }
}

#[test]
fn bad_flags_and_variables_are_named() {
    let mut world = LoadFixture::new(&[]);
    world.overrides.model = Some(" ".to_owned());
    assert_eq!(world.error(), "--model: must not be empty");
    world.overrides = Overrides::default();
    world.env = world.env.with([("ANTHROPIC_BASE_URL", "localhost")]);
    let error = "ANTHROPIC_BASE_URL: `providers.anthropic.base_url` must be a URL, such as \"https://host/v1\"";
    assert_eq!(world.error(), error);
    world.env = world.env.without(["ANTHROPIC_BASE_URL"]).with([("CALIBAN_LOG", "caliban=loud")]);
    let error = "CALIBAN_LOG: must be a level or a filter, such as debug or warn,caliban=debug";
    assert_eq!(world.error(), error);
}

#[test]
fn files_that_are_no_text_or_too_long_are_refused_with_a_reason() {
    let world = LoadFixture::new(&[("home/config.toml", "")]);
    let file = world.dirs.config_file();
    fs::write(&file, b"[model]\nname = \"\xff\"").unwrap();
    assert_eq!(world.error(), "home/config.toml:2: not valid UTF-8 text");
    fs::write(&file, vec![b'#'; (1 << 20) + 1]).unwrap();
    assert_eq!(world.error(), "home/config.toml: cannot be read: it is longer than 1024 KiB");
}

#[test]
fn a_scenario_is_found_beside_the_file_that_names_it() {
    let text =
        "[providers.mock]\nkind = \"scripted\"\nscenario = \"s/one.json\"\nidle_timeout_s = 0.2";
    let world = LoadFixture::new(&[("home/config.toml", text)]);
    let config = world.load().unwrap().config;
    let expected = world.top.path().join("home/s/one.json");
    assert_eq!(config.providers["mock"].scenario.as_deref(), Some(expected.as_path()));
    assert_eq!(config.providers["mock"].idle_timeout().as_millis(), 200);
}

#[test]
fn the_shown_configuration_is_toml_with_origins_and_without_secrets() {
    let text = "[permissions]\nallow = [\"Read\"]\n\
                [providers.anthropic]\napi_key_command = \"echo top-secret\"\n\
                [providers.mock]\nkind = \"scripted\"\nscenario = \"x\"";
    let world = LoadFixture::new(&[("home/config.toml", text)]);
    let loaded = world.load().unwrap();
    let shown = world.plain(&loaded.show());
    let found: Vec<&str> = shown.lines().filter(|line| line.contains("home/")).collect();
    let words: Vec<String> =
        found.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        words,
        [
            "providers.anthropic.api_key_command = \"(hidden)\" # home/config.toml:4",
            "providers.mock.kind = \"scripted\" # home/config.toml:6",
            "providers.mock.scenario = \"x\" # home/config.toml:7",
            "\"Read\", # home/config.toml:2",
        ]
    );
    assert!(!shown.contains("top-secret"));
    toml::from_str::<toml::Table>(&shown).unwrap();
}

/// Returns all keys of the schema that have a value of their own, with dots; a user-defined name is `NAME`.
fn keys(schema: &Schema, above: &str) -> Vec<String> {
    let below = |name: &str, inner: &Schema| {
        keys(inner, &if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") })
    };
    match (schema["properties"].as_object(), schema.get("additionalProperties")) {
        (Some(all), _) => all.iter().flat_map(|(name, inner)| below(name, inner)).collect(),
        (None, Some(inner @ Schema::Object(_))) => below("NAME", inner),
        _ => vec![above.to_owned()],
    }
}

#[test]
fn a_link_that_leads_nowhere_in_the_place_of_rules_is_named() {
    for link in [".caliban", ".claude", ".caliban/config.toml"] {
        let world = LoadFixture::new(&[]);
        let path = world.top.path().join("repo").join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("nowhere", path).unwrap();
        let notices = world.load().unwrap().notices;
        let [notice] = &notices[..] else { panic!("{notices:?}") };
        assert!(notice.starts_with(&format!("{link} is a broken link")), "{notice}");
    }
}
