//! Files given to git commands.

use std::fs;
use std::process::Command;

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
        ("Bash(git diff:*)", "git diff --no-index ~root/x a"),
        ("Bash(git diff:*)", "cd src && git diff --no-index ~-/x a"),
        ("Bash(git blame:*)", "git blame --contents ~root/x a"),
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
        ("Bash(git clone:*)", "git clone https://h.org/x src/x"),
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

#[test]
fn a_path_counts_as_git_reads_it_too() {
    let rules = ["mv", "blame", "rm", "commit", "add", "stash"];
    let bench = JudgeFixture::new();
    let bench = rules.iter().fold(bench, |bench, name| bench.allow(&format!("Bash(git {name}:*)")));
    let project = bench.root.join("project");
    fs::create_dir_all(project.join("src/deep")).unwrap();
    fs::create_dir_all(project.join("src/lo")).unwrap();
    for (link, to) in [("ld", "src/deep"), ("lo", "../outside"), ("gl", ".git")] {
        symlink(to, project.join(link)).unwrap();
    }
    fs::create_dir_all(project.join("src/gl/hooks")).unwrap();
    // The system goes up from where a link leads, git from where it is.
    bench.asks([
        "git mv src/a ld/../lo/x",
        "git mv src/a ld/../gl/hooks/x",
        "git blame ld/../lo/x",
        "git rm ld/../lo/x",
        "git commit -m x lo/x",
        "git add lo/x",
        "git stash push -- lo/x",
    ]);
    bench.allows([
        "git mv src/a src/deep/../lo/x",
        "git commit -m x src/lo",
        "git add lo",
        "git stash push -- src/lo",
        "git commit -m 'see lo/x'",
    ]);
}

#[test]
fn a_folder_that_has_become_a_link_counts_for_all_that_reads_files() {
    let names = ["commit", "add", "stash", "grep", "diff", "checkout", "reset", "fetch", "log"];
    let bench = JudgeFixture::new();
    let bench = names.iter().fold(bench, |bench, name| bench.allow(&format!("Bash(git {name}:*)")));
    let project = bench.root.join("project");
    fs::remove_dir_all(project.join(".git")).unwrap();
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(&project).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "-q"]);
    fs::create_dir(project.join("d")).unwrap();
    fs::write(project.join("d/x"), "").unwrap();
    git(&["add", "d"]);
    let reads = ["git commit -m x .", "git add --renormalize .", "git stash", "git grep x"];
    let others = ["git reset -q", "git fetch", "git log --oneline"];
    bench.allows(reads);
    fs::rename(project.join("d"), bench.root.join("outside/d")).unwrap();
    symlink("../outside/d", project.join("d")).unwrap();
    bench.asks(reads);
    bench.allows(others);
}

#[test]
fn what_is_behind_the_mark_may_be_an_option_of_another_git_command() {
    asked_about(&[
        ("Bash(git pull:*)", "git pull -- --upload-pack=./e"),
        ("Bash(git pull:*)", "git pull -- origin --uploa=./e"),
        ("Bash(git remote:*)", "git remote update -- --no-multiple --upload-pack=./e"),
        ("Bash(git remote:*)", "git remote add -- --uploa=./e https://example.org"),
        ("Bash(git stash:*)", "git stash list -- --output=x '--format=%H'"),
        ("Bash(git stash:*)", "git stash list -- HEAD --outp=x"),
        ("Bash(git blame:*)", "git blame -- HEAD --output=x"),
        ("Bash(git format-patch:*)", "git format-patch --stdout --range-diff=--output=x HEAD~1"),
    ]);
    covered(&[
        ("Bash(git checkout:*)", "git checkout -- src/a"),
        ("Bash(git stash:*)", "git stash push -- src/a"),
        ("Bash(git pull:*)", "git pull --rebase -- origin main"),
    ]);
    let bench = JudgeFixture::new().allow("Bash(git stash:*)").deny("Read(.env)");
    bench.asks(["git stash list -- -p HEAD", "git stash list -p"]);
    bench.allows(["git stash list"]);
}

#[test]
fn a_folder_counts_before_an_address_of_the_same_name() {
    let bench = JudgeFixture::new().allow("Bash(git clone:*)");
    bench.allows(["git clone host.org:x", "git clone https://example.org/x"]);
    for folder in ["host.org:x", "https:/example.org/x"] {
        fs::create_dir_all(bench.root.join("project").join(folder)).unwrap();
    }
    bench.asks(["git clone host.org:x", "git clone https://example.org/x"]);
}

#[test]
fn git_makes_folders_only_inside_and_never_among_its_own_files() {
    asked_about(&[
        ("Bash(git clone:*)", "git clone https://h.org/x .git/hooks"),
        ("Bash(git clone:*)", "git clone https://h.org/x src/../.git/hooks"),
        ("Bash(git clone:*)", "git clone https://h.org/x ../x"),
        ("Bash(git clone:*)", "git clone https://h.org/x ~/.config/x"),
        ("Bash(git clone:*)", "git clone https://h.org/x escape/x"),
        ("Bash(git clone:*)", "git clone https://h.org/escape"),
        ("Bash(git clone:*)", "git clone h:a/escape.git"),
        ("Bash(git clone:*)", "git clone 'h:a/escape '"),
        ("Bash(git clone:*)", "git clone https://escape:80"),
        ("Bash(git clone:*)", "git clone https://u:p@escape"),
        ("Bash(git clone:*)", "git clone --depth 1 -- https://h.org/x /x"),
        ("Bash(git clone https://h.org/x:*)", "git clone https://h.org/x ../x"),
        ("Bash(git init:*)", "git init ../z"),
        ("Bash(git init:*)", "git init .git/hooks"),
        ("Bash(git worktree:*)", "git worktree add .git/hooks x"),
        ("Bash(git worktree add:*)", "git worktree add -b y .GIT/hooks x"),
        ("Bash(git worktree:*)", "git worktree move x .git/hooks"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y ../z"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y -- --upload-pack=touch"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y -- -u touch"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y -- -c a.b=c"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y z -- --template=lk"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y -- --separate=x"),
        ("Bash(gh repo:*)", "gh repo clone x/y -- --upl=touch"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y -- --bare ../z"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y -- --bare .git/hooks"),
        ("Bash(gh gist:*)", "gh gist clone x ../y"),
        ("Bash(gh gist clone:*)", "gh gist clone x -- --upl=touch"),
        ("Bash(glab repo:*)", "glab repo clone x/y ../z"),
        ("Bash(git lfs:*)", "git lfs clone https://h.org/x ../y"),
        ("Bash(git lfs:*)", "git lfs clone -u ./x https://h.org/x"),
        ("Bash(git svn:*)", "git svn clone https://h.org/x ../y"),
        ("Bash(hub clone:*)", "hub clone x/y ../z"),
        ("Bash(jj git:*)", "jj git clone https://h.org/x ../y"),
        ("Bash(hg clone:*)", "hg clone https://h.org/x ../y"),
        ("Bash(gh repo:*)", "gh repo fork x/y --clone -- --upl=touch"),
        ("Bash(gh:*)", "gh auth status --show-token"),
        ("Bash(gh auth status:*)", "gh auth status -t"),
        ("Bash(gh auth:*)", "gh auth status -at"),
    ]);
    covered(&[
        ("Bash(git clone https://h.org/x ../x:*)", "git clone https://h.org/x ../x"),
        ("Bash(git clone:*)", "git clone -b main https://h.org/x.git src/x"),
        ("Bash(git init:*)", "git init -b main sub"),
        ("Bash(git worktree:*)", "git worktree add -b y ../x main"),
        ("Bash(gh repo clone:*)", "gh repo clone x/y z -- --depth 1"),
        ("Bash(gh repo:*)", "gh repo clone x/y"),
        ("Bash(gh gist clone:*)", "gh gist clone x y"),
        ("Bash(git lfs:*)", "git lfs clone https://h.org/x src/x"),
        ("Bash(git lfs:*)", "git lfs track '*.png'"),
        ("Bash(jj git:*)", "jj git clone https://h.org/x src/x"),
        ("Bash(gh auth status:*)", "gh auth status -h github.com"),
    ]);
}

#[test]
fn no_prefix_covers_git_subtree_whose_words_are_split_again() {
    for line in [
        "git subtree push -P src evil main",
        "git subtree add -P z evil main",
        "git subtree split --onto 'HEAD --output=/x'",
    ] {
        let bench =
            JudgeFixture::new().allow("Bash(git subtree:*)").allow("Bash(git subtree * main)");
        let judgement = bench.allow("Bash(git:*)").bash_judgement(line);
        assert_eq!(judgement.decision, Ask, "{line}");
        assert!(judgement.why.contains("splits its words"), "{}", judgement.why);
    }
    covered(&[("Bash(git subtree pull -P src evil main)", "git subtree pull -P src evil main")]);
}

#[test]
fn git_am_takes_mail_in_no_other_format_than_its_own() {
    asked_about(&[
        ("Bash(git am:*)", "git am --patch-format=stgit-series x"),
        ("Bash(git am:*)", "git am --patch-format stgit-series x"),
        ("Bash(git am:*)", "git am --patch-f=hg x"),
        ("Bash(git am:*)", "git am --p=hg x"),
    ]);
    let bench = JudgeFixture::new().allow("Bash(git am:*)");
    let project = bench.root.join("project");
    fs::remove_file(project.join("escape")).unwrap();
    fs::create_dir_all(project.join("m/new")).unwrap();
    fs::write(project.join("mail"), "From: a\n\nx\n").unwrap();
    let series = "# This series applies on GIT commit x\n../../mail\n";
    fs::write(project.join("series"), series).unwrap();
    bench.allows(["git am mail", "git am --patch-format=mbox x"]);
    bench.asks(["git am m", "git am series"]);
}

#[test]
fn a_patch_follows_no_link_out_of_the_checkout() {
    let names = ["am", "apply", "rebase"];
    let bench = JudgeFixture::new();
    let bench = names.iter().fold(bench, |bench, name| bench.allow(&format!("Bash(git {name}:*)")));
    let project = bench.root.join("project");
    fs::remove_file(project.join("escape")).unwrap();
    fs::write(project.join("x"), "From: a\n\nx\n").unwrap();
    let patches = [
        "git am x",
        "git am < x",
        "git am --continue",
        "git apply --index x",
        "git apply --inde x",
        "git apply -3 x",
        "git apply -R3 x",
        "git apply --3way x",
        "git rebase --apply main",
        "git rebase --whitespace=fix main",
        "git rebase -C1 main",
    ];
    let others = [
        "git am --abort",
        "git apply x",
        "git apply --cached -R x",
        "git apply --stat x",
        "git rebase main",
        "git rebase -Xours -r --autostash main",
        "git rebase --onto main a b",
    ];
    bench.allows(patches);
    for to in ["../outside", ".git/hooks"] {
        fs::create_dir_all(project.join(".git/hooks")).unwrap();
        symlink(bench.root.join("project").join(to), project.join("src/d")).unwrap();
        bench.asks(patches);
        bench.allows(others);
        fs::remove_file(project.join("src/d")).unwrap();
    }
    let judgement = bench.bash_judgement("git am x");
    assert_eq!(judgement.decision, Allow, "{}", judgement.why);
}
