//! Files that commands of git are given.

use super::*;

#[test]
fn git_reads_a_message_from_a_file_of_the_project_alone() {
    asked_about(&[
        ("Bash(git commit:*)", "git commit -q --allow-empty -F /x"),
        ("Bash(git commit:*)", "git commit -qF/x"),
        ("Bash(git commit:*)", "git commit -F ../x"),
        ("Bash(git commit:*)", "git commit --fil=~/x"),
        ("Bash(git commit:*)", "git commit -t /x"),
        ("Bash(git commit:*)", "git commit --pathspec-from-file=/x"),
        ("Bash(git add:*)", "git add --pathspec-from-file /x"),
        ("Bash(git tag:*)", "git tag -F /x v1"),
        ("Bash(git notes:*)", "git notes add -F /x"),
        ("Bash(git commit:*)", "git commit -F ~/x"),
        ("Bash(git commit:*)", "git commit -F ~-/x"),
        ("Bash(git commit:*)", "git commit -t ~"),
        ("Bash(git commit:*)", "git commit -a --trailer -- -F /x"),
        ("Bash(git cherry-pick:*)", "git cherry-pick -X -- --strategy=x/e origin/other"),
        ("Bash(git add:*)", "git add --pathspec-from-file ~/x"),
    ]);
    covered(&[
        ("Bash(git commit:*)", "git commit -F message.txt"),
        ("Bash(git commit:*)", "git commit -F - <<'E'\nFix it\nE"),
        ("Bash(git commit:*)", "git commit -am 'see /x and -F /y'"),
        ("Bash(git commit:*)", "git commit -m x -- F /x"),
        ("Bash(git commit -F:*)", "git commit -F /x"),
    ]);
}

#[test]
fn a_rule_for_git_is_about_files_of_the_repository() {
    asked_about(&[
        ("Bash(git diff:*)", "git diff --no-index /dev/null /x"),
        ("Bash(git diff:*)", "git diff --no-index -- /dev/null ~/x"),
        ("Bash(git diff:*)", "git diff --no-index a \"$HOME/x\""),
        ("Bash(git blame:*)", "git blame --contents /x a"),
        ("Bash(git blame:*)", "git blame --contents=../x a"),
        ("Bash(git format-patch:*)", "git format-patch -1 --stdout --signature-file=/x"),
        ("Bash(git:*)", "git archive --add-file=/x HEAD"),
        ("Bash(git:*)", "git interpret-trailers /x"),
        ("Bash(git:*)", "git config -f /x -l"),
        ("Bash(git:*)", "git config -f/x -l"),
        ("Bash(git ls-files:*)", "git ls-files -o -i -X /x"),
        ("Bash(git ls-files:*)", "git ls-files -o -i -X../x"),
    ]);
    covered(&[
        ("Bash(git diff:*)", "git diff --no-index /dev/null a"),
        ("Bash(git diff:*)", "git diff main..dev -- src/a ':/b' ./c"),
        ("Bash(git log:*)", "git log --grep /x --format='/%h' -S /y -G'/z' main:/a"),
        ("Bash(git tag:*)", "git tag -m '/x is fixed' v1"),
        ("Bash(git add:*)", "git add /x"),
        ("Bash(git worktree:*)", "git worktree add ../x"),
        ("Bash(git clone:*)", "git clone https://h/x ../x"),
    ]);
}
