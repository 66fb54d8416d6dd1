//! Hooks of all files, and the mistakes in them.

use pretty_assertions::assert_eq;

use super::*;

fn hooks(loaded: &LoadedConfig) -> Vec<String> {
    let shown = |hook: &HookConfig| format!("{} {}", hook.origin, hook.describe());
    loaded.hooks.iter().map(shown).collect()
}

const ENTRY: &str = "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = \"./lint.sh\"\n";

const SETTINGS: &str =
    r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./done.sh"}]}]}}"#;

#[test]
fn hooks_of_the_person_count_and_those_of_the_project_wait_for_trust() {
    let mut world = LoadFixture::new(&[
        ("home/config.toml", ENTRY),
        ("ann/.claude/settings.json", SETTINGS),
        ("repo/.caliban/config.toml", ENTRY),
        ("repo/.caliban/config.local.toml", &format!("\n{ENTRY}{ENTRY}")),
        ("repo/.claude/settings.json", SETTINGS),
        ("repo/.claude/settings.local.json", SETTINGS),
    ]);
    world.dirs.claude = Some(world.top.path().join("ann/.claude"));
    world.overrides.settings = Some(SETTINGS.replace("done", "flag"));
    let plain = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| world.plain(line)).collect()
    };
    let ours = [
        "home/config.toml:1 hook PreToolUse(Bash): ./lint.sh",
        "ann/.claude/settings.json:1 hook Stop: ./done.sh",
        "--settings hook Stop: ./flag.sh",
    ];
    let theirs = [
        ".caliban/config.toml:1 hook PreToolUse(Bash): ./lint.sh",
        ".caliban/config.local.toml:2 hook PreToolUse(Bash): ./lint.sh",
        ".caliban/config.local.toml:5 hook PreToolUse(Bash): ./lint.sh",
        ".claude/settings.json:1 hook Stop: ./done.sh",
        ".claude/settings.local.json:1 hook Stop: ./done.sh",
    ];
    let loaded = world.load().unwrap();
    assert_eq!(plain(hooks(&loaded)), ours);
    let untrusted = loaded.untrusted.iter().map(|thing| format!("{} {}", thing.origin, thing.what));
    assert_eq!(plain(untrusted.collect()), [3, 0, 4, 1, 2].map(|index: usize| theirs[index]));
    let shown = loaded.show();
    assert_eq!(shown.matches("lint.sh").count(), 1, "{shown}");

    let trusted = world.load_trusted();
    assert_eq!(trusted.untrusted, []);
    let all = [&ours[..1], &theirs[..3], &ours[1..2], &theirs[3..], &ours[2..]].concat();
    assert_eq!(plain(hooks(&trusted)), all);
    assert!(trusted.show().parse::<Table>().is_ok(), "{}", trusted.show());
}

#[test]
fn a_mistake_in_a_hook_names_the_file_and_the_line_also_of_a_project_that_is_not_trusted() {
    let broken = "\n[[hooks.Stop]]\nmatcher = \"(\"\ncommand = \"x\"";
    let world = LoadFixture::new(&[("repo/.caliban/config.toml", broken)]);
    let error = world.error();
    let start = ".caliban/config.toml:2: `hooks.Stop.matcher` must be a name, names with |";
    assert!(error.starts_with(start), "{error}");
    let world = LoadFixture::new(&[("repo/.claude/settings.json", "{\n\"hooks\": {\"Stop\": 3}}")]);
    assert_eq!(world.error(), ".claude/settings.json:2: `hooks.Stop` must be a list, not 3");
}

#[test]
fn hooks_that_are_not_run_here_are_named_in_one_notice() {
    let world = LoadFixture::new(&[(
        "repo/.claude/settings.json",
        "{\"hooks\": {\"PermissionDenied\": [],\n\"Stop\": [{\"hooks\": [{\"type\": \"prompt\"}]}]}}",
    )]);
    let loaded = world.load().unwrap();
    let [notice] = &loaded.notices[..] else { panic!("{:?}", loaded.notices) };
    let named = ".claude/settings.json: hooks skipped: PermissionDenied (line 1), a Stop hook of type prompt (line 2)";
    let means = "; supported are hooks of type command, without `if`, for PreToolUse, ";
    assert!(notice.starts_with(&format!("{named}{means}")), "{notice}");
}

#[test]
fn a_hook_of_our_own_files_has_no_keys_of_settings_files() {
    for key in ["args = [\"x\"]", "async = true", "timeout = 5", "colour = 1"] {
        let world = LoadFixture::new(&[("home/config.toml", &format!("{ENTRY}{key}\n"))]);
        let (error, name) = (world.error(), key.split(' ').next().unwrap());
        assert!(error.contains(&format!(":4: unknown key `{name}`")), "{error}");
    }
}
