//! Settings files: their rules and variables, and their precedence among our own files.

use pretty_assertions::assert_eq;

use super::*;

/// A typical file for Claude Code.
const CLAUDE: &str = r#"{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": ["Bash(npm run lint)", "Bash(npm run test:*)", "mcp__github__get_issue"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Read(./.env)", "Read(./secrets/**)", "WebFetch"],
    "additionalDirectories": ["../docs/"],
    "defaultMode": "acceptEdits"
  },
  "env": {"NODE_ENV": "test", "RETRIES": 3},
  "model": "opus",
  "statusLine": {"type": "command", "command": "~/.claude/statusline.sh"},
  "includeCoAuthoredBy": false
}"#;

fn variable(loaded: &LoadedConfig, name: &str) -> Option<String> {
    let env = loaded.variables.apply_to(&EnvOverlay::default());
    env.get(name).map(str::to_owned)
}

#[test]
fn a_settings_json_of_a_project_narrows_at_once_and_widens_when_it_is_accepted() {
    let world = LoadFixture::new(&[("repo/.claude/settings.json", CLAUDE)]);
    let loaded = world.load().unwrap();
    let permissions = &loaded.config.permissions;
    assert_eq!(permissions.deny, ["Read(./.env)", "Read(./secrets/**)", "WebFetch"]);
    assert_eq!(
        (&permissions.ask[..], permissions.mode),
        (&["Bash(git push:*)".to_owned()][..], PermissionMode::Default)
    );
    assert!(permissions.allow.is_empty() && permissions.additional_dirs.is_empty());
    assert_eq!(variable(&loaded, "NODE_ENV"), None);
    let docs = world.top.path().canonicalize().unwrap().join("docs");
    let shown = world.plain(&docs.display().to_string());
    let expected = [
        "4: allow rule Bash(npm run lint)".to_owned(),
        "4: allow rule Bash(npm run test:*)".to_owned(),
        "4: allow rule mcp__github__get_issue".to_owned(),
        format!("7: additional folder ../docs/: {shown}"),
        "8: permissions.mode: acceptEdits".to_owned(),
        "10: env NODE_ENV: test".to_owned(),
        "10: env RETRIES: 3".to_owned(),
    ];
    assert_eq!(
        world.untrusted(&loaded),
        expected.map(|line| format!(".claude/settings.json:{line}"))
    );

    let loaded = world.load_trusted();
    let permissions = &loaded.config.permissions;
    assert_eq!((permissions.allow.len(), permissions.mode), (3, PermissionMode::AcceptEdits));
    assert_eq!(permissions.additional_dirs, [docs]);
    assert_eq!(variable(&loaded, "RETRIES").as_deref(), Some("3"));
    assert_eq!(world.origin(&loaded, "permissions.mode"), ".claude/settings.json:8");
}

#[test]
fn settings_files_stand_below_our_own_file_of_the_same_owner_and_the_flag_above_both() {
    let mode = |mode: &str| {
        format!(r#"{{"permissions": {{"defaultMode": "{mode}"}}, "env": {{"WHO": "{mode}"}}}}"#)
    };
    let mut world = LoadFixture::new(&[
        ("ann/.claude/settings.json", &mode("acceptEdits")),
        ("repo/.claude/settings.json", &mode("default")),
        ("repo/.claude/settings.local.json", &mode("dontAsk")),
    ]);
    world.dirs.claude = Some(world.top.path().join("ann/.claude"));
    let told = |world: &LoadFixture| {
        let loaded = world.load_trusted();
        let mode = loaded.config.permissions.mode;
        (mode, world.origin(&loaded, "permissions.mode"), variable(&loaded, "WHO").unwrap())
    };
    let is = |mode, origin: &str, who: &str| (mode, origin.to_owned(), who.to_owned());
    assert_eq!(
        told(&world),
        is(PermissionMode::DontAsk, ".claude/settings.local.json:1", "dontAsk")
    );
    fs::remove_file(world.top.path().join("repo/.claude/settings.local.json")).unwrap();
    assert_eq!(told(&world), is(PermissionMode::Default, ".claude/settings.json:1", "default"));
    fs::remove_file(world.top.path().join("repo/.claude/settings.json")).unwrap();
    assert_eq!(
        told(&world),
        is(PermissionMode::AcceptEdits, "ann/.claude/settings.json:1", "acceptEdits")
    );
    fs::create_dir_all(world.top.path().join("home")).unwrap();
    fs::write(world.dirs.config_file(), "permissions.mode = \"plan\"").unwrap();
    assert_eq!(told(&world), is(PermissionMode::Plan, "home/config.toml:1", "acceptEdits"));
    world.overrides.settings = Some(mode("bypassPermissions"));
    assert_eq!(
        told(&world),
        is(PermissionMode::BypassPermissions, "--settings", "bypassPermissions")
    );
    world.overrides.permission_mode = Some(PermissionMode::Default);
    assert_eq!(told(&world), is(PermissionMode::Default, "--permission-mode", "bypassPermissions"));
}

#[test]
fn variables_that_cannot_be_set_are_errors_and_an_unknown_mode_is_a_notice() {
    let error = |env: &str| {
        let text = format!("{{\"env\":\n{{\"{env}\": \"x\"}}}}");
        let mut world = LoadFixture::new(&[("ann/.claude/settings.json", &text)]);
        world.dirs.claude = Some(world.top.path().join("ann/.claude"));
        world.error()
    };
    let start = "ann/.claude/settings.json:2: `env.CALIBAN_DEPTH` counts agent levels";
    assert!(error("CALIBAN_DEPTH").starts_with(start), "{}", error("CALIBAN_DEPTH"));
    for name in ["", "A=B", "1A", "A\\n"] {
        assert!(error(name).contains("is not a valid variable name"), "{name}");
    }
    let mode = "{\"permissions\": {\"defaultMode\": \"auto\"}}";
    let loaded = LoadFixture::new(&[("repo/.claude/settings.json", mode)]).load().unwrap();
    assert_eq!(
        (loaded.config.permissions.mode, loaded.untrusted.len()),
        (PermissionMode::Default, 0)
    );
    assert_eq!(loaded.notices, [".claude/settings.json:1: unknown permission mode auto ignored"]);
}

#[test]
fn a_mistake_of_a_project_in_what_needs_trust_leaves_that_out_and_one_in_a_restriction_is_an_error()
{
    let load = |text: &str| LoadFixture::new(&[("repo/.claude/settings.json", text)]).load();
    let text = "{\"env\": {\n\"1A\": \"x\",\n\"B\": [],\n\"C\": \"c\",\n\"CALIBAN_DEPTH\": 0},\n\
                \"permissions\": {\"allow\": [\n3,\n\"Read\"], \"additionalDirectories\":\n\"x\", \"defaultMode\":\n{},\n\
                \"deny\": [\"WebFetch\"]}}";
    let loaded = load(text).unwrap();
    let told = [
        "3: `env.B` must be a quoted string, not a list",
        "7: an entry of `permissions.allow` must be a quoted string, not 3",
        "9: `permissions.additionalDirectories` must be a list, not a string",
        "10: `permissions.defaultMode` must be a quoted string, not an object",
        "2: `env.1A` is not a valid variable name: use letters, digits and _, not starting with a digit",
        "5: `env.CALIBAN_DEPTH` counts agent levels and must not be set",
    ];
    let told = told.map(|line| {
        format!(".claude/settings.json:{line}; it is left out until the file is corrected")
    });
    assert_eq!(loaded.notices, told);
    let untrusted: Vec<&str> = loaded.untrusted.iter().map(|thing| &*thing.what).collect();
    assert_eq!(untrusted, ["allow rule Read", "env C: c"]);
    assert_eq!(loaded.config.permissions.deny, ["WebFetch"]);
    let loaded = load("{\"env\":\n3}").unwrap();
    let line = ".claude/settings.json:2: `env` must be an object of keys and values, not 3";
    assert!(loaded.notices[0].starts_with(line), "{:?}", loaded.notices);
    for text in [
        "{\"permissions\": {\"deny\": [3]}}",
        "{\"permissions\": {\"ask\": 3}}",
        "{\"permissions\": 3}",
        "{\"permissions\": {\"disableBypassPermissionsMode\": 3}}",
        "{\"sandbox\": {\"failIfUnavailable\": 3}}",
        "{\"disabledMcpjsonServers\": 3}",
        "{\"permissions\": ",
    ] {
        load(text).unwrap_err();
    }
}

#[test]
fn each_value_is_shown_in_one_line_of_its_file_in_which_everything_can_be_seen() {
    let strings = [
        "a\nmode = \"default\"  # ~/.config/caliban/config.toml:3",
        "a \"quoted\" word",
        "tab\t\u{1b}[31m\u{202e}\u{7f} \\ ü",
    ];
    let rules: Vec<String> = strings.iter().map(|text| format!("Bash({text})")).collect();
    let deny = serde_json::to_string(&rules).unwrap();
    let text = format!("{{\"permissions\": {{\"deny\": {deny}}}}}");
    let hook = "[[hooks.Stop]]\ncommand = \"x\\ny\"\n";
    let world =
        LoadFixture::new(&[("repo/.claude/settings.json", &text), ("home/config.toml", hook)]);
    let shown = world.load().unwrap().show();
    for line in shown.lines() {
        let has_origin = line.contains("  # ") && !line.starts_with("mode");
        assert!(has_origin || line.ends_with(" = [") || line == "]", "{line}");
    }
    assert_eq!(crate::protocol::printable(&shown), shown);
    let read: Table = toml::from_str(&shown).unwrap();
    let texts = |value: &Value| -> Vec<String> { value.clone().try_into().unwrap() };
    assert_eq!(texts(&read["permissions"]["deny"]), rules);
    assert_eq!(read["hooks"]["Stop"][0]["command"].as_str(), Some("x\ny"));
}
