use super::super::judge::Decision::{Allow, Ask, Deny};
use super::super::judge::testing::JudgeFixture;
use super::*;
use crate::protocol::{Access, PermissionMode};

#[test]
fn a_pattern_under_disallowed_tools_is_a_deny_rule_of_the_agent() {
    let bench = JudgeFixture::new().allow("Bash").bound(&[], &["Bash(rm:*)", "Read(secret/**)"]);
    bench.denies(["rm x", "/bin/rm x", "bash -c 'rm x'", "cat secret/a"]);
    assert_eq!((bench.bash("touch x"), bench.read("project/secret/a")), (Allow, Deny));
    let why = bench.bash_judgement("rm x").why;
    assert_eq!(why, "rule Bash(rm:*) from the definition of scout denies it");
    let bypass = JudgeFixture::new()
        .mode(PermissionMode::BypassPermissions)
        .bound(&[], &["Bash(git push:*)"]);
    assert_eq!((bypass.bash("git -C x push"), bypass.bash("git p")), (Deny, Ask));
}

#[test]
fn a_pattern_under_tools_leaves_nothing_else_of_the_tool_and_allows_nothing() {
    let bench = || JudgeFixture::new().bound(&["Read", "Bash(git:*)"], &[]);
    let bypass = bench().mode(PermissionMode::BypassPermissions);
    bypass.denies(["rm x", "git status; rm x", "ls", "git log > x", "git -c a=b log", "$x"]);
    assert_eq!(bypass.bash("git commit -m x"), Allow);
    assert_eq!(bench().bash("git commit -m x"), Ask);
    let why = bypass.bash_judgement("rm x").why;
    assert_eq!(why, "the `tools` of the agent scout allow Bash only for Bash(git:*)");
    let edits =
        JudgeFixture::new().mode(PermissionMode::AcceptEdits).bound(&["Write(src/**)"], &[]);
    assert_eq!((edits.write("project/src/a"), edits.write("project/a")), (Allow, Deny));
    let whole = JudgeFixture::new().allow("Bash").bound(&["Bash", "Bash(git:*)"], &[]);
    assert_eq!(whole.bash("touch x"), Allow);
    let agents = JudgeFixture::new().bound(&["Task(explore)"], &[]);
    let start = |name: &str| Access::Agent { name: name.to_owned() };
    let decide = |name| agents.judge("AgentTool", &start(name)).decision;
    assert_eq!((decide("explore"), decide("other")), (Allow, Deny));
}

#[test]
fn an_entry_that_cannot_be_read_is_refused_and_would_deny_its_whole_tool() {
    for (entry, list, part) in [
        ("Bash(git:* push)", RuleList::Deny, Some("only stand at the end")),
        ("Bash(* --force)", RuleList::Allow, Some("must name the program")),
        ("Bash(* --force)", RuleList::Deny, None),
        ("TodoWrite(x)", RuleList::Deny, Some("takes no pattern")),
        ("mcp__a(x)", RuleList::Allow, Some("no pattern")),
        ("Bash(rm:*)", RuleList::Deny, None),
        ("Unknown(x)", RuleList::Allow, None),
        ("Bash", RuleList::Deny, None),
    ] {
        let error = check(entry, list).err();
        assert_eq!(error.is_some(), part.is_some(), "{entry}: {error:?}");
        assert!(part.is_none_or(|part| error.unwrap().contains(part)), "{entry}");
    }
    let broken = JudgeFixture::new().allow("Bash").bound(&[], &["Bash(git:* push)"]);
    assert_eq!(broken.bash("touch x"), Deny);
}
