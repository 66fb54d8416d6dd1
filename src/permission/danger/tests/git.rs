//! Files given to git commands.

use std::fs;

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
        ("Bash(git blame:*)", "git blame --contents /proc/self/root/x a"),
        ("Bash(git diff:*)", "git diff a /proc/self/cwd/../x"),
        ("Bash(git diff:*)", "git diff a /dev/../proc/thread-self/root/x"),
        ("Bash(git format-patch:*)", "git format-patch -1 --stdout --signature-file=/x"),
        ("Bash(git:*)", "git archive --add-file=/x HEAD"),
        ("Bash(git:*)", "git interpret-trailers /x"),
        ("Bash(git:*)", "git config -f /x -l"),
        ("Bash(git:*)", "git config -f/x -l"),
        ("Bash(git ls-files:*)", "git ls-files -o -i -X /x"),
        ("Bash(git ls-files:*)", "git ls-files -o -i -X../x"),
        ("Bash(git help:*)", "git help gitx/evil.1"),
        ("Bash(git:*)", "git help ./gitx.1"),
        ("Bash(git:*)", "git --help gitx/evil.1"),
        ("Bash(git format-patch:*)", "git format-patch -1"),
        ("Bash(git format-patch:*)", "git format-patch -1 -o --stdout"),
        ("Bash(git format-patch:*)", "git format-patch --stdout --no-stdout -1"),
        ("Bash(git format-patch:*)", "git format-patch --subject-prefix --stdout -1"),
        ("Bash(git mv:*)", "git mv a ../b"),
        ("Bash(git mv:*)", "git mv a .git/hooks/pre-commit"),
        ("Bash(git mv:*)", "git mv a src/../.GIT/config"),
        ("Bash(git mv:*)", "git mv a 'GIT~1/config'"),
        ("Bash(git mv:*)", "git mv .git/config a"),
        ("Bash(git mv:*)", "git mv a $b"),
    ]);
    covered(&[
        ("Bash(git diff:*)", "git diff --no-index /dev/null a"),
        ("Bash(git diff:*)", "git diff main..dev -- src/a ':/b' ./c"),
        ("Bash(git log:*)", "git log --grep /x --format='/%h' -S /y -G'/z' main:/a"),
        ("Bash(git tag:*)", "git tag -m '/x is fixed' v1"),
        ("Bash(git add:*)", "git add /x"),
        ("Bash(git worktree:*)", "git worktree add ../x"),
        ("Bash(git help:*)", "git help log"),
        ("Bash(git format-patch -1)", "git format-patch -1"),
        ("Bash(git format-patch:*)", "git format-patch main..dev --stdout"),
        ("Bash(git format-patch:*)", "git format-patch -3 --stdout --no-signature"),
        ("Bash(git mv:*)", "git mv -f a src/b"),
        ("Bash(git rm:*)", "git rm -r --cached '*.log'"),
        ("Bash(git grep:*)", "git grep -n x -- src"),
        ("Bash(git clone:*)", "git clone https://h/x ../x"),
    ]);
}

#[test]
fn a_name_counts_in_the_folder_and_at_the_top_of_the_checkout() {
    let bench = |rule: &str| {
        let bench = JudgeFixture::new().allow(rule);
        let project = bench.root.join("project");
        fs::create_dir_all(project.join("a/b/c")).unwrap();
        symlink("../outside/key", project.join("key")).unwrap();
        symlink("../..", project.join("a/up")).unwrap();
        symlink("../.git/hooks", project.join("a/hooks")).unwrap();
        bench
    };
    for (rule, line) in [
        ("Bash(git blame:*)", "git blame --contents ../../x g"),
        ("Bash(git blame:*)", "git blame --ignore-revs-file=../../x g"),
        ("Bash(git blame:*)", "git blame -S ../../x g"),
        ("Bash(git:*)", "git interpret-trailers ../../x"),
        ("Bash(git ls-files:*)", "git ls-files -oi -X ../../x"),
        ("Bash(git notes:*)", "git notes add -f -F key"),
        ("Bash(git notes:*)", "git notes add -fFkey"),
        ("Bash(git mv:*)", "git mv f ../../up/x"),
        ("Bash(git mv:*)", "git mv f ../../hooks/x"),
        ("Bash(git mv:*)", "git mv f ../../../.git/x"),
    ] {
        let judgement = bench(rule).bash_in("a/b/c", line);
        assert_eq!(judgement.decision, Ask, "{rule} ~ {line}");
    }
    for (rule, line) in [
        ("Bash(git diff:*)", "git diff main -- ../../x"),
        ("Bash(git log:*)", "git log ../../x"),
        ("Bash(git blame:*)", "git blame ../../x"),
        ("Bash(git grep:*)", "git grep x ../../../src"),
        ("Bash(git mv:*)", "git mv f ../../g"),
        ("Bash(git rm:*)", "git rm ../../g"),
        ("Bash(git notes:*)", "git notes add -F note"),
    ] {
        let judgement = bench(rule).bash_in("a/b/c", line);
        assert_eq!(judgement.decision, Allow, "{rule} ~ {line}: {}", judgement.why);
    }
}
