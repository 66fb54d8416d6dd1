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
fn a_mistake_in_a_hook_of_the_person_names_the_file_and_the_line() {
    let broken = "\n[[hooks.Stop]]\nmatcher = \"(\"\ncommand = \"x\"";
    let mut world = LoadFixture::new(&[("home/config.toml", broken)]);
    let error = world.error();
    let start = "home/config.toml:2: `hooks.Stop.matcher` must be a name, names with |";
    assert!(error.starts_with(start), "{error}");
    let settings = "{\n\"hooks\": {\"Stop\": 3}}";
    world = LoadFixture::new(&[("ann/.claude/settings.json", settings)]);
    world.dirs.claude = Some(world.top.path().join("ann/.claude"));
    assert_eq!(world.error(), "ann/.claude/settings.json:2: `hooks.Stop` must be a list, not 3");
    world = LoadFixture::new(&[]);
    world.overrides.settings = Some(settings.to_owned());
    assert_eq!(world.error(), "--settings: `hooks.Stop` must be a list, not 3");
}

#[test]
fn a_mistake_in_a_hook_of_the_project_leaves_out_that_hook_and_is_told() {
    let settings = "{\"hooks\": {\"Stop\": [\n{\"matcher\": \"[\\n\\u001b[2J\", \"hooks\": [{\"command\": \"x\"}]},\n\
                    {\"hooks\": [\n{\"command\": 3},\n{\"command\": \"y\", \"timeout\": 0},\n{\"command\": \"z\"}]},\n\
                    4], \"PreToolUse\":\n5}}";
    let ours = format!("\n[[hooks.Stop]]\nmatcher = \"(\"\ncommand = \"x\"\n{ENTRY}");
    let world = LoadFixture::new(&[
        ("repo/.claude/settings.json", settings),
        ("repo/.claude/settings.local.json", "{\"hooks\":\n[]}"),
        ("repo/.caliban/config.toml", &ours),
    ]);
    let loaded = world.load().unwrap();
    let start = |line: &String| {
        assert_eq!(line.lines().count(), 1, "{line}");
        let end = "; it is left out until the file is corrected";
        let rest = line.strip_suffix(end).unwrap_or_else(|| panic!("{line}"));
        rest.split_once(", ").map_or(rest, |(start, _)| start).to_owned()
    };
    let told: Vec<String> = loaded.notices.iter().map(start).collect();
    let expected = [
        ".claude/settings.json:2: `hooks.Stop.matcher` must be a name",
        ".claude/settings.json:4: `hooks.Stop.hooks.command` must be a quoted string",
        ".claude/settings.json:5: `hooks.Stop.hooks.timeout` must be a number of seconds above 0",
        ".claude/settings.json:7: an entry of `hooks.Stop` must be an object of keys and values",
        ".claude/settings.json:8: `hooks.PreToolUse` must be a list",
        ".caliban/config.toml:2: `hooks.Stop.matcher` must be a name",
        ".claude/settings.local.json:2: `hooks` must be an object of keys and values",
    ];
    assert_eq!(told, expected);
    let rest = [
        ".claude/settings.json:6: hook Stop: z",
        ".caliban/config.toml:5: hook PreToolUse(Bash): ./lint.sh",
    ];
    assert_eq!(world.untrusted(&loaded), rest);
}

#[test]
fn many_mistakes_of_a_project_are_few_lines() {
    let hooks = vec!["{\"hooks\": 3}"; 100].join(", ");
    let settings = format!("{{\"hooks\": {{\"Stop\": [{hooks}]}}}}");
    let world = LoadFixture::new(&[("repo/.claude/settings.json", &settings)]);
    let notices = world.load().unwrap().notices;
    assert_eq!(notices.len(), 9);
    assert_eq!(notices[8], "and 92 more mistakes of this kind there");
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
