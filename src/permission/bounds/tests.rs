use super::super::judge::Decision::{Allow, Ask, Deny};
use super::super::judge::testing::Bench;
use super::*;
use crate::protocol::{Access, Mode};

#[test]
fn a_pattern_under_disallowed_tools_is_a_deny_rule_of_the_agent() {
    let bench = Bench::new().allow("Bash").bound(&[], &["Bash(rm:*)", "Read(secret/**)"]);
    bench.denies(["rm x", "/bin/rm x", "bash -c 'rm x'", "cat secret/a"]);
    assert_eq!((bench.bash("touch x"), bench.read("project/secret/a")), (Allow, Deny));
    let why = bench.bash_judgement("rm x").why;
    assert_eq!(why, "rule Bash(rm:*) from the definition of scout denies it");
    let bypass = Bench::new().mode(Mode::BypassPermissions).bound(&[], &["Bash(git push:*)"]);
    assert_eq!((bypass.bash("git -C x push"), bypass.bash("git p")), (Deny, Ask));
}

#[test]
fn a_pattern_under_tools_leaves_nothing_else_of_the_tool_and_allows_nothing() {
    let bench = || Bench::new().bound(&["Read", "Bash(git:*)"], &[]);
    let bypass = bench().mode(Mode::BypassPermissions);
    bypass.denies(["rm x", "git status; rm x", "ls", "git log > x", "git -c a=b log", "$x"]);
    assert_eq!(bypass.bash("git commit -m x"), Allow);
    assert_eq!(bench().bash("git commit -m x"), Ask);
    let why = bypass.bash_judgement("rm x").why;
    assert_eq!(why, "the `tools` of the agent scout allow Bash only for Bash(git:*)");
    let edits = Bench::new().mode(Mode::AcceptEdits).bound(&["Write(src/**)"], &[]);
    assert_eq!((edits.write("project/src/a"), edits.write("project/a")), (Allow, Deny));
    let whole = Bench::new().allow("Bash").bound(&["Bash", "Bash(git:*)"], &[]);
    assert_eq!(whole.bash("touch x"), Allow);
    let agents = Bench::new().bound(&["Task(explore)"], &[]);
    let start = |name: &str| Access::Agent { name: name.to_owned() };
    let decide = |name| agents.judge("AgentTool", &start(name)).decision;
    assert_eq!((decide("explore"), decide("other")), (Allow, Deny));
}

#[test]
fn an_entry_that_cannot_be_read_is_refused_and_would_deny_its_whole_tool() {
    for (entry, list, part) in [
        ("Bash(git:* push)", List::Deny, Some("only stand at the end")),
        ("Bash(* --force)", List::Allow, Some("must name the program")),
        ("Bash(* --force)", List::Deny, None),
        ("TodoWrite(x)", List::Deny, Some("takes no pattern")),
        ("mcp__a(x)", List::Allow, Some("no pattern")),
        ("Bash(rm:*)", List::Deny, None),
        ("Unknown(x)", List::Allow, None),
        ("Bash", List::Deny, None),
    ] {
        let error = check(entry, list).err();
        assert_eq!(error.is_some(), part.is_some(), "{entry}: {error:?}");
        assert!(part.is_none_or(|part| error.unwrap().contains(part)), "{entry}");
    }
    let broken = Bench::new().allow("Bash").bound(&[], &["Bash(git:* push)"]);
    assert_eq!(broken.bash("touch x"), Deny);
}
