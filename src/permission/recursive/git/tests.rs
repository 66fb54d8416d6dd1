use std::fs;

use crate::permission::judge::Decision::{Allow, Ask, Deny};
use crate::permission::judge::testing::JudgeFixture;
use crate::permission::recursive::tests::{bench, git};

mod names;
mod settings;

/// The reason of a judgement where git may show a file that a rule covers.
const DOUBT: &str = "git may show such a file";

/// Checks that a Read rule makes each of the lines ask.
#[track_caller]
fn doubts(bench: &JudgeFixture, lines: &[&str]) {
    let is_doubt = |line: &&str| {
        let judgement = bench.bash_judgement(line);
        judgement.decision == Ask && judgement.why.contains(DOUBT)
    };
    let others: Vec<_> = lines.iter().filter(|line| !is_doubt(line)).collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// Checks that no Read rule makes one of the lines ask; other rules may.
#[track_caller]
fn no_doubts(bench: &JudgeFixture, lines: &[&str]) {
    let reasons = lines.iter().map(|line| (line, bench.bash_judgement(line).why));
    let doubts: Vec<_> = reasons.filter(|(_, why)| why.contains("may deny")).collect();
    assert!(doubts.is_empty(), "{doubts:#?}");
}

#[test]
fn everyday_commands_of_git_are_no_doubt_though_it_tracks_the_file() {
    let tracked = bench(&[".env"]).deny("Read(.env)").deny("Read(/.env)");
    git(&tracked.root.join("project"), &["branch", "feature/x"]);
    no_doubts(
        &tracked,
        &[
            "git --version",
            "git version",
            "git status",
            "git --no-pager status",
            "git -C . status",
            "git status -sb -uno",
            "git status --porcelain=v2 --branch",
            "git status src",
            "git add -A",
            "git add .",
            "git add src/a docs/b",
            "git add src/*",
            "git add 'src/*'",
            "git commit -m 'a text -p'",
            "git commit -am \"fix $x\"",
            "git commit -m \"$(cat <<'EOF'\ndon't -p\n\n- a\nEOF\n)\"",
            "git commit --message=\"a $x\"",
            "git commit -qam x --no-verify",
            "git commit --amend --no-edit",
            "git commit --allow-empty -m x -- src/a",
            "git push",
            "git push origin main",
            "git push -u origin feature/x",
            "git push --force-with-lease",
            "git push --force-with-lease=main origin main",
            "git push --tags",
            "git fetch",
            "git fetch --all --prune",
            "git fetch -q origin main",
            "git checkout main",
            "git checkout -",
            "git checkout origin/main",
            "git checkout 9eed597f",
            "git checkout -b new",
            "git checkout -qb new origin/main",
            "git checkout -t origin/x",
            "git checkout -- src/a",
            "git checkout -- .",
            "git checkout src/a",
            "git checkout src/a docs/b",
            "git checkout HEAD~1 -- src/a docs/b",
            "git checkout main src/a",
            "git checkout --ours -- src/a",
            "git switch main",
            "git switch -",
            "git switch -c new main",
            "git branch",
            "git branch -a",
            "git branch -vv --sort=-committerdate",
            "git branch --show-current",
            "git branch -D feature/x",
            "git branch -m old new",
            "git log",
            "git log -5 --oneline",
            "git log --oneline -n 5 origin/main..HEAD",
            "git log --oneline --graph --decorate --all",
            "git log --stat --since=yesterday --author A",
            "git log --format='%h %s' main -- src",
            "git log --name-only --follow src/a",
            "git diff --stat",
            "git diff --stat HEAD~3",
            "git diff --name-only main...HEAD",
            "git diff --cached --name-status",
            "git diff --staged --shortstat",
            "git diff --quiet",
            "git diff src/a",
            "git diff -- src",
            "git diff -U9 -w src/a docs/b",
            "git show --stat",
            "git show --stat HEAD",
            "git show --name-only HEAD~2",
            "git show -s --format=%B main",
            "git show --stat feature/x -- src",
            "git show HEAD:src/a",
            "git show feature/x:./src/a",
            "git stash",
            "git stash -u",
            "git stash push -m x",
            "git stash push -q -u -m 'a text'",
            "git stash list",
            "git stash drop",
            "git stash drop stash@{0}",
            "git tag",
            "git tag -l 'v*'",
            "git tag v1",
            "git tag -a v1 -m 'a text' main",
            "git tag -d v1",
            "git remote",
            "git remote -v",
            "git remote add other https://example.org/x.git",
            "git rev-parse HEAD",
            "git rev-parse --show-toplevel",
            "git rev-parse --abbrev-ref HEAD",
            "git rev-list --count HEAD",
            "git ls-files",
            "git ls-files -o --exclude-standard src",
            "git ls-tree -r HEAD --name-only",
            "git restore src/a",
            "git restore --staged src/a",
            "git restore -s HEAD~1 src/a",
            "git restore --source=main -SW src/a",
            "git reset",
            "git reset src/a",
            "git reset -q HEAD src/a",
            "git reset --hard origin/main",
            "git reset --soft HEAD~1",
            "git rm src/a",
            "git rm -r --cached docs",
            "git mv src/a src/c",
            "git clean -nd",
            "git init",
            "git init -b main",
            "git config --get user.name",
            "git config user.name A",
            "git config --list",
            "git merge-base main HEAD",
            "git describe --tags --always",
            "git blame src/a",
            "git blame -L 1,20 HEAD -- src/a",
            "git reflog",
            "git reflog -5",
            "git shortlog -sn HEAD",
        ],
    );
}

#[test]
fn a_command_of_git_is_a_doubt_without_the_form_of_an_everyday_one() {
    // A rule that is certain where its file lies, so that names of other files are none.
    let tracked = bench(&[".env"]).deny("Read(/.env)");
    let project = tracked.root.join("project");
    git(&project, &["branch", "src/a"]);
    git(&project, &["tag", "v1"]);
    for name in ["list", "show", "main", "v1", "HEAD~1", "0", "stash"] {
        fs::write(project.join(name), "x\n").unwrap();
    }
    git(&project, &["branch", "only"]);
    fs::write(project.join("docs/only"), "x\n").unwrap();
    doubts(
        &tracked,
        &[
            "git st",
            "git -c core.pager=cat log",
            "git --git-dir=.git status",
            "git --work-tree . status",
            "git --icase-pathspecs diff -- src/A",
            "git status -v",
            "git status -sv",
            "git add -p",
            "git add -p docs/b",
            "git add -up",
            "git add -i",
            "git add -e",
            "git add -- -p",
            "git commit -v",
            "git commit -nv -m x",
            "git commit --verbose --dry-run",
            "git commit -p",
            "git commit -F docs/b",
            "git commit -C HEAD",
            "git commit -t docs/b",
            "git push origin HEAD:refs/heads/x",
            "git push --mirror",
            "git fetch origin +refs/replace/a:refs/replace/a",
            "git fetch origin 'refs/*:refs/*'",
            "git checkout -p",
            "git checkout -p docs/b",
            "git checkout main -p",
            "git checkout --patch HEAD~1",
            "git checkout -m only",
            "git checkout --conflict=diff3 docs/b",
            "git checkout 9eed597f -- docs/b",
            "git checkout v1 docs/b",
            "git checkout HEAD:docs docs/b",
            "git checkout main --",
            "git restore -p",
            "git restore -p -s docs/b",
            "git restore -s docs/b src/a",
            "git restore -s v1 src/a",
            "git restore -Ws9eed597f src/a",
            "git restore --source=9eed597f src/a",
            "git restore --sou HEAD src/a",
            "git reset -p",
            "git reset 9eed597f docs/b",
            "git reset -q v1 -- docs/b",
            "git branch --format='%(contents)'",
            "git tag -n",
            "git tag -F docs/b v1",
            "git log -p",
            "git log -p only",
            "git log -p main --",
            "git log -p v1 --",
            "git log -p -- 'docs/*'",
            "git log -p HEAD~1 -- docs/b",
            "git log -p v1 -- docs/b",
            "git log -L1,2:docs/b",
            "git log -S x",
            "git log -p --follow docs/b",
            "git log -p --full-diff -- docs/b",
            "git log --stat --cc",
            "git log --author -- -p",
            "git reflog -p",
            "git reflog show -p",
            "git reflog show",
            "git diff -q",
            "git diff -q --exit-code",
            "git diff",
            "git diff --cached",
            "git diff HEAD",
            "git diff main --",
            "git diff main only --",
            "git diff v1 -- docs/b",
            "git diff v1..only docs/b",
            "git diff --check",
            "git diff --stat -p",
            "git diff --submodule=diff docs/b",
            "git diff --no-index docs/b src",
            "git diff docs/b ../outside",
            "git show",
            "git show v1",
            "git show --stat v1",
            "git show --stat v1..only",
            "git show --stat 9eed597f",
            "git show --stat main",
            "git show --stat --all",
            "git show --stat --branches",
            "git show only --",
            "git show docs/b --",
            "git show :docs/b",
            "git show v1:docs/b",
            "git show 9eed597f:key",
            "git show only:docs/../docs/b",
            "git show only:docs/b --",
            "git show 'HEAD^{/fix:x}'",
            "git show ':^README'",
            "git show ':(top)'",
            "git cat-file -p only:docs/b",
            "git stash -p",
            "git stash -S",
            "git stash push docs/b",
            "git stash push -- docs/b",
            "git stash push -k .",
            "git stash save x",
            "git stash list -p",
            "git stash list --patch",
            "git stash list --format=%h -p",
            "git stash list -p --",
            "git stash show",
            "git stash show -p",
            "git stash show -u -p",
            "git stash show -p 0",
            "git stash show --color",
            "git stash branch new",
            "git stash pop --index",
            "git stash export --print",
            "git merge -Xsubtree=docs only",
            "git merge -s ours only",
            "git rebase --apply main",
            "git rebase --whitespace=fix main",
            "git rebase --show-current-patch",
            "git rebase -x 'git show' main",
            "git cherry-pick -Xsubtree=docs only",
            "git config --blob abcdef1 -l",
            "git config --file docs/b -l",
            "git remote add --mirror=fetch x https://example.org/x.git",
            "git blame --contents docs/b src/a",
            "git blame --ignore-revs-file docs/b src/a",
            "git symbolic-ref refs/replace/a refs/tags/v1",
            "git update-ref refs/replace/a v1",
            "git replace a v1",
            "git notes show",
            "git grep x",
            "git grep x HEAD~1",
            "git archive HEAD",
            "git format-patch -1 --stdout",
            "git apply x.patch",
            "git am x.mbox",
            "git bisect view",
            "git worktree add ../x",
            "git submodule update",
            "git rerere diff",
            "git difftool",
            "git merge-tree HEAD~1 HEAD",
            "git update-index --add --cacheinfo 100644,9eed597f,a2",
            "git read-tree v1",
            "git commit-tree 9eed597f -m x",
            "git hash-object -w -t tree docs/b",
            "git for-each-ref --format='%(raw)'",
            "git fsck --lost-found",
            // A branch has the name of the file, or may have it where git runs.
            "git log -p src/a",
            "git diff src/a",
            "git show src/a",
            "git reset src/a docs/b",
            "cd docs && git log -p only",
            "cd docs && git diff b",
            "x=-p; git checkout \"$x\"",
        ],
    );
    no_doubts(
        &tracked,
        &[
            "git log -p -- docs/b",
            "git log -p docs/b",
            "git log -p only -- docs",
            "git log -p -3 HEAD docs",
            "git diff HEAD -- docs/b",
            "git diff only...HEAD -- docs src/a",
            "git diff --cached docs/b",
            "git show only -- docs/b",
            "git show @ -- docs/b",
            "git show --stat only~2",
            "cd docs && git log -p -- b",
            "cd docs && git diff -- b",
        ],
    );
}

#[test]
fn what_restores_changes_is_a_doubt_if_git_tracks_the_file() {
    let (untracked, tracked) = (bench(&[]).deny("Read(.env)"), bench(&[".env"]).deny("Read(.env)"));
    for line in [
        "git diff",
        "git diff -U9 -w",
        "git diff -- ':!src/a'",
        "git merge main",
        "git merge --no-ff -m 'a text' main",
        "git merge --abort",
        "git pull",
        "git pull --rebase origin main",
        "git rebase main",
        "git rebase --continue",
        "git cherry-pick 9eed597f",
        "git revert --no-edit HEAD",
        "git stash pop",
        "git stash apply -q stash@{1}",
    ] {
        doubts(&tracked, &[line]);
        no_doubts(&untracked, &[line]);
        let elsewhere = bench(&[".env"]).deny("Read(~/.ssh/**)");
        no_doubts(&elsewhere, &[line, "git log -p", "git grep x HEAD~1", "git cat-file -p 9eed"]);
    }
    let index = tracked.root.join("project/.git/index");
    fs::write(index, "DIRC????").unwrap();
    doubts(&tracked, &["git diff", "git diff src"]);
}

#[test]
fn a_rebase_under_way_is_a_doubt_if_it_applies_patches() {
    let bench = bench(&[]).deny("Read(.env)");
    bench.allows(["git rebase --skip"]);
    fs::create_dir(bench.root.join("project/.git/rebase-apply")).unwrap();
    bench.asks(["git rebase --skip", "git rebase --continue"]);
}

#[test]
fn an_index_or_a_git_folder_of_an_unusual_form_may_track_any_file() {
    let split = bench(&[".env"]).deny("Read(.env)");
    let project = split.root.join("project");
    git(&project, &["update-index", "--split-index"]);
    assert_eq!(split.bash("git diff"), Ask);
    let blank = bench(&[".env"]).deny("Read(.env)");
    let project = blank.root.join("project");
    fs::rename(project.join(".git"), project.join(" real")).unwrap();
    fs::write(project.join(".git"), "gitdir:  real\n").unwrap();
    git(&project, &["config", "core.worktree", ".."]);
    assert_eq!(blank.bash("git diff"), Ask);
}
