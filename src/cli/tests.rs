use super::*;

fn try_parse(line: &[&str]) -> Result<Cli, clap::Error> {
    Cli::from_args([&["caliban"], line].concat().into_iter().map(OsString::from))
}

fn parse(line: &[&str]) -> Cli {
    try_parse(line).unwrap()
}

fn refused(line: &[&str]) -> ErrorKind {
    let error = try_parse(line).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    error.kind()
}

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn a_sentence_is_a_prompt_and_a_command_is_a_command() {
    let prompt = |line: &[&str]| (parse(line).prompt, parse(line).command);
    let sentence = |text: &str| (Some(text.to_owned()), None);
    assert_eq!(prompt(&["fix the tests"]), sentence("fix the tests"));
    assert_eq!(prompt(&["agents of change"]), sentence("agents of change"));
    assert_eq!(prompt(&["--", "agents"]), sentence("agents"));
    assert_eq!(prompt(&["--model", "m", "-p", "hello"]), sentence("hello"));
    let agents = CliCommand::Agents { action: None };
    assert_eq!(prompt(&["agents"]), (None, Some(agents.clone())));
    assert_eq!(prompt(&["-C", "/x", "agents"]), (None, Some(agents)));
    let show = Some(AgentsAction::Show { name: "plan".to_owned() });
    assert_eq!(
        prompt(&["agents", "show", "plan"]),
        (None, Some(CliCommand::Agents { action: show }))
    );
    let print = PrintArgs { print: true, ..PrintArgs::default() };
    assert_eq!(prompt(&["demo", "--print"]), (None, Some(CliCommand::Demo(print))));
}

#[test]
fn print_may_stand_alone_or_before_or_after_the_prompt() {
    for (line, prompt) in [
        (vec!["-p"], None),
        (vec!["-p", "hello"], Some("hello")),
        (vec!["hello", "--print"], Some("hello")),
    ] {
        let cli = parse(&line);
        assert_eq!((cli.print.print, cli.prompt.as_deref()), (true, prompt), "{line:?}");
    }
    let cli = parse(&["-p", "--output-format", "stream-json", "--verbose", "x"]);
    assert_eq!(cli.print.output_format, Some(OutputFormat::StreamJson));
}

#[test]
fn frames_on_stdin_imply_print_and_what_is_for_programs_needs_it() {
    let frames = ["--input-format", "stream-json", "--output-format", "stream-json"];
    assert!(parse(&frames).print.print);
    for flag in [["--permission-prompt-tool", "stdio"], ["--input-format", "text"]] {
        assert_eq!(refused(&flag), ErrorKind::MissingRequiredArgument, "{flag:?}");
    }
    assert_eq!(refused(&["--include-partial-messages"]), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused(&["demo", "--verbose"]), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused(&["-p", "--permission-prompt-tool", "x"]), ErrorKind::ValueValidation);
    let tool = parse(&["-p", "--permission-prompt-tool", "mcp__a__ask"]).drive;
    assert_eq!(tool.permission_prompt_tool, Some(PromptTool::Mcp("mcp__a__ask".to_owned())));
    for flag in ["-v", "-V", "--version"] {
        assert_eq!(try_parse(&[flag]).unwrap_err().kind(), ErrorKind::DisplayVersion);
    }
}

#[test]
fn lists_take_commas_spaces_both_spellings_and_repetition() {
    let cli = parse(&[
        "--allowedTools",
        "Bash(git diff:*),Read",
        "--allowed-tools",
        "Grep Glob",
        "--disallowedTools=WebFetch",
        "--tools",
        "",
    ]);
    let Overrides { allow, deny, .. } = cli.overrides();
    assert_eq!(allow, ["Bash(git diff:*)", "Read", "Grep", "Glob"]);
    assert_eq!(deny, ["WebFetch"]);
    assert_eq!(cli.tools.offered(), Some(vec![]));
    assert_eq!(parse(&[]).tools.offered(), None);
    assert_eq!(parse(&["--tools", "default"]).tools.offered(), None);
}

#[test]
fn resume_takes_an_id_or_none() {
    assert_eq!(parse(&[]).session.resume, None);
    assert_eq!(parse(&["-r"]).session.resume.as_deref(), Some(""));
    assert_eq!(parse(&["--resume", "0199"]).session.resume.as_deref(), Some("0199"));
    assert_eq!(parse(&["-r", "-p", "go on"]).session.resume.as_deref(), Some(""));
}

#[test]
fn a_wrong_number_of_days_says_what_is_meant() {
    let joined = ["abc", "-3", "1.5"].map(|days| vec![format!("--older-than={days}")]);
    let apart = ["-1", "abc"].map(|days| vec!["--older-than".to_owned(), days.to_owned()]);
    for days in joined.into_iter().chain(apart) {
        let line: Vec<&str> =
            ["sessions", "prune"].into_iter().chain(days.iter().map(String::as_str)).collect();
        let error = try_parse(&line).unwrap_err();
        assert!(error.to_string().contains("a number of days, such as 30"), "{error}");
    }
}

#[test]
fn help_before_a_command_is_the_help_of_that_command() {
    for line in [vec!["help"], vec!["help", "sessions"], vec!["help", "sessions", "prune"]] {
        let error = try_parse(&line).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{error}");
        let named = format!("Usage: caliban {}", line[1..].join(" "));
        assert!(error.to_string().contains(&named), "{error}");
    }
    assert_eq!(parse(&["help me"]).prompt.as_deref(), Some("help me"));
    assert_eq!(parse(&["-p", "help"]).prompt.as_deref(), Some("help"));
    assert_eq!(parse(&["--", "help"]).prompt.as_deref(), Some("help"));
}

#[test]
fn what_cannot_be_is_a_usage_error() {
    let conflict = ErrorKind::ArgumentConflict;
    let invalid = ErrorKind::ValueValidation;
    for (line, kind) in [
        (vec!["--no-such-flag"], ErrorKind::UnknownArgument),
        (vec!["-c", "-r", "x"], conflict),
        (vec!["--no-session", "-c"], conflict),
        (vec!["-c", "--session-id", "01990000-0000-7000-8000-000000000001"], conflict),
        (vec!["--fork-session"], ErrorKind::MissingRequiredArgument),
        (vec!["--session-id", "12"], invalid),
        (vec!["--max-turns", "0"], invalid),
        (vec!["--max-budget-usd", "nan"], invalid),
        (vec!["--allowed-tools", "Bash(git"], invalid),
        (vec!["--permission-mode", "yolo"], ErrorKind::InvalidValue),
        (vec!["--output-format", "json", "x"], ErrorKind::MissingRequiredArgument),
        (vec!["-p", "agents"], conflict),
        (vec!["look at", "agents"], conflict),
        (vec!["one", "two"], ErrorKind::UnknownArgument),
    ] {
        assert_eq!(refused(&line), kind, "{line:?}");
    }
}
