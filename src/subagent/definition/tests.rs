//! Tests of definition files and the errors about them.

use std::path::Path;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;
use crate::config::{Dirs, HookConfig, Matcher, Origin, Project, Trust};
use crate::protocol::{HookEvent, PermissionMode, Secret, StartDir};

fn scout(project: bool) -> DefinitionSource {
    DefinitionSource::File { path: ".caliban/agents/scout.md".into(), project }
}

fn parse(text: &str, dialect: DefinitionFormat) -> Result<ParsedDefinition, String> {
    Definition::parse(text, &scout(false), dialect, None).map_err(|error| error.to_string())
}

fn own(text: &str) -> Definition {
    parse(text, DefinitionFormat::Own).unwrap().definition
}

/// The messages without the file's name.
fn messages(errors: &[DefinitionError]) -> Vec<String> {
    let plain =
        |error: &DefinitionError| error.to_string().replace(".caliban/agents/scout.md:", "");
    errors.iter().map(plain).collect()
}

const EVERY_KEY: &str = "\
---
name: db-scout
description: Finds queries.
tools: Read, Grep
disallowedTools:
  - Bash
  - WebFetch
model: inherit
provider: openai
maxTurns: 5
budget:
  max_usd: 0.5
  max_tokens: 50000
  max_turns: 9
  max_tool_calls: 30
  max_wall_s: 600
permissionMode: dontAsk
memory: none
color: green
background: true
isolation: worktree
env: { RUST_LOG: debug, EMPTY: '' }
hooks:
  PreToolUse:
    - matcher: Grep
      hooks:
        - type: command
          command: ./look.sh
          timeout: 5
  Stop:
    - hooks:
        - command: ./done.sh
return: verbatim
---

Look.

---
Then report.
";

fn hook(event: HookEvent, matcher: &str, command: &str, seconds: u64, line: usize) -> HookConfig {
    HookConfig {
        event,
        matcher: Matcher::parse(matcher).unwrap(),
        is_async: false,
        command: command.to_owned(),
        timeout: Duration::from_secs(seconds),
        origin: Origin::File { path: ".caliban/agents/scout.md".into(), line },
        wants_project_cwd: false,
        start: StartDir::Private,
    }
}

#[test]
fn every_key_is_read() {
    let texts = |list: &[&str]| list.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    let expected = Definition {
        name: "db-scout".to_owned(),
        description: "Finds queries.".to_owned(),
        prompt: "Look.\n\n---\nThen report.".to_owned(),
        tools: Some(texts(&["Read", "Grep"])),
        disallowed_tools: texts(&["Bash", "WebFetch"]),
        model: Some("inherit".to_owned()),
        provider: Some("openai".to_owned()),
        max_turns: Some(5),
        budget: BudgetSpec {
            max_usd: Some(0.5),
            max_tokens: Some(50_000),
            max_turns: Some(5),
            max_tool_calls: Some(30),
            max_wall_s: Some(600),
        },
        permission_mode: Some(PermissionMode::DontAsk),
        own_mode: true,
        memory: Some(MemoryScope::None),
        color: Some("green".to_owned()),
        background: true,
        isolation: Isolation::Worktree,
        env: [("EMPTY", ""), ("RUST_LOG", "debug")]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        hooks: vec![
            hook(HookEvent::PreToolUse, "Grep", "./look.sh", 5, 28),
            hook(HookEvent::SubagentStop, "", "./done.sh", 60, 32),
        ],
        returns: ReturnMode::Verbatim,
        mcp_servers: None,
        source: scout(false),
    };
    assert_eq!(own(EVERY_KEY), expected);
    assert_eq!(expected.tool_name(), "delegate_to_db_scout");
    assert!(!format!("{expected:?}").contains("debug"), "values of variables may be keys");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let windows = format!("\u{feff}{}", EVERY_KEY.replace('\n', "\r\n"));
    assert_eq!(own(&windows), own(EVERY_KEY));
    let folded = "---\r\ndescription: >-\r\n  Finds\r\n  things.\r\n---\r\nLook.\r\n";
    assert_eq!(own(folded).description, "Finds things.");
}

#[test]
fn what_is_left_out_takes_its_default() {
    let definition =
        own("---\ndescription: Finds.\nmodel:\ntools: \"*\"\nbudget:\nenv: {}\n---\nLook.");
    let expected = Definition {
        name: "scout".to_owned(),
        description: "Finds.".to_owned(),
        prompt: "Look.".to_owned(),
        tools: None,
        disallowed_tools: Vec::new(),
        model: None,
        provider: None,
        max_turns: None,
        budget: BudgetSpec::default(),
        permission_mode: None,
        own_mode: true,
        memory: None,
        color: None,
        background: false,
        isolation: Isolation::None,
        env: Secret::default(),
        hooks: Vec::new(),
        returns: ReturnMode::Summary,
        mcp_servers: None,
        source: scout(false),
    };
    assert_eq!(definition, expected);
    assert_eq!(own("---\ndescription: Finds.\ntools: []\n---\nLook.").tools, Some(vec![]));
    assert_eq!(
        own("---\ndescription: Finds.\nbudget: { max_turns: 3 }\n---\nLook.").max_turns,
        Some(3)
    );
}

#[test]
fn a_file_without_sound_front_matter_is_told_what_it_lacks() {
    let cases = [
        ("Look.", "1: there is no front matter: the first line must be ---"),
        ("", "1: there is no front matter: the first line must be ---"),
        ("---\ndescription: d\n", "1: the front matter is not closed: a line --- is missing"),
        (
            "---\n---\nLook.",
            "1: `description` is missing: it says what the agent does and when to use it",
        ),
        (
            "---\ndescription: d\n---\n \n",
            "4: there is no text after the front matter: write the agent's prompt there",
        ),
        ("---\ndescription: d\ndescription: e\n---\nLook.", "3: duplicate key `description`"),
        ("---\n- description\n---\nLook.", "2: the front matter must be lines of `key: value`"),
    ];
    for (text, expected) in cases {
        let error = parse(text, DefinitionFormat::Own).unwrap_err();
        assert_eq!(error, format!(".caliban/agents/scout.md:{expected}"), "{text:?}");
    }
}

#[test]
fn every_mistake_names_file_line_and_what_is_allowed() {
    let turns = "3: `maxTurns` must be a whole number of at least 1";
    let list = "3: `tools` must be a list of names, such as Read, Grep";
    let usd = "4: `budget.max_usd` must be an amount above 0, such as 0.50";
    let cases = [
        ("description: ' '", "3: duplicate key `description`"),
        ("model: ' '", "3: `model` must not be empty"),
        ("model: [a]", "3: `model` must be a text"),
        ("skills: x", "3: `skills` is not supported yet: remove it"),
        ("hooks: x", "3: `hooks` must be an object of keys and values, not a string"),
        ("hooks:\n  Stop:\n    - matcher: x", "5: an entry of `hooks.Stop` needs a `hooks` list"),
        (
            "mcpServers: [[x]]",
            "3: `mcpServers` must be a list of names and of servers, such as [github, { files: { command: … } }]",
        ),
        ("mcpServers:\n  - x:\n      args: [a]", "4: `mcpServers.x` needs a `command` or a `url`"),
        (
            "\nprompt: x",
            "4: unknown key `prompt`; allowed: name, description, tools, disallowedTools, model, provider, maxTurns, budget, permissionMode, memory, color, background, isolation, env, hooks, return, mcpServers",
        ),
        (
            "name: Db Scout",
            "3: the name \"Db Scout\" is not allowed: use lower-case letters, digits and hyphens, at most 52, the first a letter or digit",
        ),
        (
            "name: bash",
            "3: the name \"bash\" is that of the tool Bash: choose another, such as bash-expert",
        ),
        ("maxTurns: 0", turns),
        ("maxTurns: -1", turns),
        ("maxTurns: many", turns),
        ("maxTurns: [1]", turns),
        ("tools:\n  - Read\n  - {a: b}", list),
        ("tools: {a: b}", list),
        ("tools: Bash(git", "3: `tools` has `(` without `)` in `Bash(git`"),
        (
            "tools: Read\ndisallowedTools: Bash(rm:* x)",
            "4: `disallowedTools`: `Bash(rm:* x)`: `:*` can only stand at the end, as in Bash(git diff:*)",
        ),
        (
            "tools: TodoWrite(x)",
            "3: `tools`: `TodoWrite(x)`: TodoWrite takes no pattern; Bash, Read, Glob, Grep, Edit, Write, WebFetch, AgentTool and Skill do",
        ),
        ("budget: 5", "3: `budget` must be an object of keys and values, not a string"),
        ("budget: [max_usd]", "3: `budget` must be an object of keys and values, not a list"),
        ("budget: { max_usd: [1] }", "3: `budget.max_usd` must be a quoted string, not a list"),
        (
            "budget: { max_usd: {a: b} }",
            "3: `budget.max_usd` must be a quoted string, not an object",
        ),
        ("budget:\n  max_usd: 0", usd),
        ("budget:\n  max_usd: -1", usd),
        ("budget:\n  max_usd: nan", usd),
        ("budget:\n  max_usd: 1\n  max_usd: 2", "5: duplicate key `max_usd`"),
        (
            "budget:\n  max_usd: 1\n  max_turns: 1.5",
            "5: `budget.max_turns` must be a whole number of at least 1",
        ),
        (
            "budget:\n  usd: 1",
            "4: unknown key `budget.usd`; allowed: max_usd, max_tokens, max_turns, max_tool_calls, max_wall_s",
        ),
        (
            "permissionMode: auto",
            "3: `permissionMode` must be one of: default, acceptEdits, plan, dontAsk, bypassPermissions",
        ),
        ("memory: user", "3: `memory` must be one of: project, none"),
        ("isolation: [worktree]", "3: `isolation` must be one of: none, worktree"),
        ("return: all", "3: `return` must be one of: summary, verbatim"),
        ("background: 1", "3: `background` must be true or false"),
        ("env: A=1", "3: `env` must be an object of keys and values, not a string"),
        ("env:\n  A: [1]", "4: `env.A` must be a quoted string, not a list"),
        (
            "env:\n  A: 1\n  A-B: 2",
            "5: `env.A-B` is not a variable name: use letters, digits and _, not starting with a digit",
        ),
        (
            "env:\n  1A: 1",
            "4: `env.1A` is not a variable name: use letters, digits and _, not starting with a digit",
        ),
        (
            "env:\n  CALIBAN_DEPTH: 0",
            "4: `env.CALIBAN_DEPTH` counts the levels of agents and cannot be set",
        ),
        ("env:\n  A: \"\\0\"", "4: `env.A` must not contain a NUL character"),
    ];
    for (line, expected) in cases {
        let text = format!("---\ndescription: d\n{line}\n---\nLook.");
        let error = parse(&text, DefinitionFormat::Own).unwrap_err();
        assert_eq!(error, format!(".caliban/agents/scout.md:{expected}"), "{text:?}");
    }
}

#[test]
fn invalid_yaml_names_its_line_and_the_likely_remedy() {
    let text = "---\nname: scout\ndescription: Use it so: often\n---\nLook.";
    let error = parse(text, DefinitionFormat::Own).unwrap_err();
    assert!(error.starts_with(".caliban/agents/scout.md:3: the front matter is not valid YAML: "));
    assert!(error.ends_with("quote text that contains `: ` or ` #`"), "{error}");
    let (open, close) = ("[".repeat(20), "]".repeat(20));
    let deep = format!("---\ndescription: d\ntools: {open}{close}\n---\nLook.");
    assert!(parse(&deep, DefinitionFormat::Own).unwrap_err().contains("nests more than 16 deep"));
}

#[test]
fn files_for_other_tools_are_read_with_warnings_where_they_say_more() {
    let text = "---\nname: scout\ndescription: Use it so: often. user: \"find x\"\nskills: a\nhooks:\n  TaskCreated: []\n  Stop: []\n\
                memory: user\npermissionMode: auto\nisolation: remote\neffort: high\nbackground: true\nmaxTurns: 3\n---\nLook.";
    let ParsedDefinition { definition, warnings, .. } =
        parse(text, DefinitionFormat::Foreign).unwrap();
    assert_eq!(definition.description, "Use it so: often. user: \"find x\"");
    assert_eq!((definition.max_turns, definition.background), (Some(3), true));
    assert_eq!((definition.memory, definition.permission_mode), (None, None));
    let warnings = messages(&warnings);
    assert_eq!(warnings[..1], ["4: `skills` is not supported yet and ignored"]);
    assert!(warnings[1].starts_with("11: unknown key `effort`; allowed: "), "{warnings:?}");
    assert!(
        warnings[2].starts_with("9: `permissionMode` must be one of: default, "),
        "{warnings:?}"
    );
    assert_eq!(
        warnings[3..5],
        [
            "8: `memory` must be one of: project, none; ignored",
            "10: `isolation` must be one of: none, worktree; ignored",
        ]
    );
    assert!(warnings[5].starts_with("5: hooks skipped: TaskCreated (line 6); "), "{warnings:?}");
    assert_eq!(warnings.len(), 6);
}

#[test]
fn what_narrows_an_agent_is_never_skipped_in_files_for_other_tools() {
    for line in ["tools: {a: b}", "disallowedTools: Bash(", "maxTurns: x", "budget: x"] {
        let text = format!("---\ndescription: d\n{line}\n---\nLook.");
        assert!(
            parse(&text, DefinitionFormat::Foreign).unwrap_err().contains("scout.md:3: `"),
            "{line}"
        );
    }
}

/// The user's acceptance of the project at `top`.
fn accepted(top: &Path, own_modes: bool) -> DefinitionTrust {
    let dirs = Dirs {
        config: top.join("home"),
        data: top.join("home"),
        state: top.join("home"),
        claude: None,
        shared: None,
    };
    let trust = Trust::new(&dirs, &Project::discover(top, None), top);
    DefinitionTrust { trust, own_modes, provider: Some("openai".to_owned()) }
}

#[test]
fn a_projects_variables_and_hooks_count_once_they_are_accepted_and_not_when_they_change() {
    let top = tempfile::tempdir().unwrap();
    let source =
        DefinitionSource::File { path: top.path().join(".claude/agents/scout.md"), project: true };
    let read = |text: &str| {
        let accepted = accepted(top.path(), false);
        Definition::parse(text, &source, DefinitionFormat::Own, Some(&accepted)).unwrap()
    };
    let before = read(EVERY_KEY);
    assert_eq!((before.definition.env, before.definition.hooks), (Secret::default(), vec![]));
    let [thing, look, done] = &before.untrusted[..] else { panic!("{:?}", before.untrusted) };
    for (hook, command) in
        [(look, "hook PreToolUse[5 s](Grep): ./look.sh"), (done, "hook Stop: ./done.sh")]
    {
        let line = format!("{} {}", hook.origin, hook.what);
        assert_eq!(line, format!(".claude/agents/scout.md:23 agent db-scout hooks: {command}"));
    }
    let line = format!("{} {}", thing.origin, thing.what);
    let env = own(EVERY_KEY).env;
    let (name, value) = env.first_key_value().unwrap();
    let start = format!(".claude/agents/scout.md:22 agent db-scout env: {name} = {value:?}");
    assert!(line.starts_with(&start), "{line}");

    accepted(top.path(), false).trust.accept(&before.untrusted).unwrap();
    let after = read(EVERY_KEY);
    assert_eq!((after.definition.env, after.untrusted), (env.clone(), vec![]));
    assert_eq!(after.definition.hooks.len(), 2);
    let changed = read(&EVERY_KEY.replace(&format!("{name}:"), "OTHER:"));
    assert_eq!((changed.definition.env.len(), changed.untrusted.len()), (0, 1));
    let unknown = Definition::parse(EVERY_KEY, &scout(true), DefinitionFormat::Own, None).unwrap();
    assert_eq!((unknown.definition.env.len(), unknown.untrusted.len()), (0, 4));
}

#[test]
fn a_projects_provider_counts_once_it_is_accepted_and_its_model_waits_with_it() {
    let top = tempfile::tempdir().unwrap();
    let source =
        DefinitionSource::File { path: top.path().join(".claude/agents/scout.md"), project: true };
    let read = |lines: &str| {
        let text = format!("---\ndescription: d\n{lines}\n---\nLook.");
        let accepted = accepted(top.path(), false);
        let parsed =
            Definition::parse(&text, &source, DefinitionFormat::Own, Some(&accepted)).unwrap();
        let Definition { provider, model, .. } = parsed.definition;
        ((provider, model), parsed.untrusted)
    };
    let some = |text: &str| Some(text.to_owned());
    let (route, untrusted) = read("provider: vllm\nmodel: m");
    assert_eq!((route, untrusted[0].what.as_str()), ((None, None), "agent scout provider: vllm"));
    // It follows the session's provider.
    assert_eq!(read("provider: openai\nmodel: m"), ((None, some("m")), vec![]));
    assert_eq!(read("provider: inherit\nmodel: m"), ((some("inherit"), some("m")), vec![]));
    assert_eq!(read("model: m"), ((None, some("m")), vec![]));
    accepted(top.path(), false).trust.accept(&untrusted).unwrap();
    assert_eq!(read("provider: vllm\nmodel: n"), ((some("vllm"), some("n")), vec![]));
    assert_eq!(read("provider: ollama\nmodel: n").0, (None, None));
}

#[test]
fn a_projects_mode_counts_alone_only_where_modes_may_and_it_is_accepted() {
    let top = tempfile::tempdir().unwrap();
    let source =
        DefinitionSource::File { path: top.path().join(".claude/agents/scout.md"), project: true };
    let read = |mode: &str, own_modes: bool| {
        let text = format!("---\ndescription: d\npermissionMode: {mode}\n---\nLook.");
        let accepted = accepted(top.path(), own_modes);
        let parsed =
            Definition::parse(&text, &source, DefinitionFormat::Own, Some(&accepted)).unwrap();
        assert_eq!(parsed.definition.permission_mode.unwrap().name(), mode, "it always narrows");
        (parsed.definition.own_mode, parsed.untrusted)
    };
    assert_eq!(read("acceptEdits", false), (false, vec![]), "it only narrows");
    let (own, untrusted) = read("acceptEdits", true);
    assert_eq!(
        (own, untrusted[0].what.as_str()),
        (false, "agent scout permissionMode: acceptEdits")
    );
    assert_eq!(read("plan", true), (false, vec![]));
    accepted(top.path(), true).trust.accept(&untrusted).unwrap();
    assert_eq!(read("acceptEdits", true), (true, vec![]));
    assert!(!read("bypassPermissions", true).0);
}

#[test]
fn advice_names_the_line_and_what_to_write() {
    let text = "---\ndescription: does stuff\ntools: Read, Task, Agent(x), Bsah, mcp__a__b\ndisallowedTools: Agent, Bash(rm:*), mcp__a__c\n---\nLook.";
    let parsed = parse(text, DefinitionFormat::Own).unwrap();
    let listed = |name: &str| {
        format!(
            "3: `tools` lists {name}: that alone does not let the agent start others, since the depth limit decides; remove it if the agent starts none"
        )
    };
    assert_eq!(
        messages(&parsed.advice),
        [
            "2: `description` is too short to choose the agent by: write what the agent does and when to use it, such as \"Reviews a change for mistakes. Use it after edits.\"".to_owned(),
            listed("Task"),
            listed("Agent"),
            "3: `tools` lists Bsah, which is not a tool: fix the name or remove it".to_owned(),
        ]
    );
    assert_eq!(parsed.warnings, []);
}

#[test]
fn a_list_of_tools_to_take_away_knows_them_in_any_case_and_nothing_else() {
    let read = |list: &str, dialect| {
        let text = format!(
            "---\ndescription: Looks for bugs in a change.\ndisallowedTools: {list}\n---\nLook."
        );
        parse(&text, dialect)
    };
    for dialect in [DefinitionFormat::Own, DefinitionFormat::Foreign] {
        let parsed =
            read("bash, WRITE(.env), edit, task, mcp__a__b, delegate_to_x", dialect).unwrap();
        assert_eq!((messages(&parsed.warnings), messages(&parsed.advice)), (vec![], vec![]));
        assert_eq!(
            parsed.definition.disallowed_tools,
            ["Bash", "Write(.env)", "Edit", "Task", "mcp__a__b", "delegate_to_x"]
        );
    }
    let why = "3: `disallowedTools` lists Edti, which is not a tool: fix the name or remove it";
    for list in ["Edti", "Edti(.env)"] {
        let error = read(list, DefinitionFormat::Own).unwrap_err();
        assert!(error.ends_with(why), "{error}");
        // Another program may have such a tool.
        let parsed = read(list, DefinitionFormat::Foreign).unwrap();
        assert_eq!(messages(&parsed.warnings), [why]);
    }
}
