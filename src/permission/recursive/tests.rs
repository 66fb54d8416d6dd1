use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::permission::judge::Decision::{Allow, Ask, Deny};
use crate::permission::judge::testing::JudgeFixture;

/// A project with rules for the programs, where git tracks `src/a` and the files in `tracked`.
fn bench(tracked: &[&str]) -> JudgeFixture {
    let bench = JudgeFixture::new();
    let project = bench.root.join("project");
    fs::remove_dir_all(project.join(".git")).unwrap();
    for name in ["src/a", "docs/b", ".env"].iter().chain(tracked) {
        fs::create_dir_all(project.join(name).parent().unwrap()).unwrap();
        fs::write(project.join(name), "x\n").unwrap();
    }
    git(&project, &["init", "-q"]);
    git(&project, &[&["add", "-f", "src/a"], tracked].concat());
    let bench = bench.allow("Bash(git -C . log:*)");
    let programs =
        ["grep", "rg", "git", "tar", "cp", "diff", "zip", "find", "cat", "ls", "cargo", "ag"];
    programs.into_iter().fold(bench, |bench, name| bench.allow(&format!("Bash({name}:*)")))
}

fn git(dir: &Path, words: &[&str]) {
    let output = Command::new("git").args(words).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn git_finds_files_from_the_top_of_the_checkout_and_by_their_ids() {
    let bench = bench(&["secret/key", ".env"]).deny("Read(/secret/**)").deny("Read(.env)");
    for line in
        ["git show HEAD:secret/key", "git cat-file -p HEAD:secret/key", "git show :secret/key"]
    {
        assert_eq!(bench.bash_in("src", line).decision, Deny, "{line}");
    }
    bench.asks([
        "git show 9eed597f -- src/a",
        "git diff 9eed597f src/a",
        "git diff 9eed597f..9eed5980 src/a",
        "git show some-tag src/a",
        "git log -p --full-diff -- src/a",
        "git log -p --follow -- src/a",
        "git diff --tags HEAD -- src/a",
        "git show HEAD:src/a --all",
        "git diff --cached",
        "git diff HEAD",
        "git status -v",
        "git commit -v --dry-run",
        "git diff --submodule=diff",
        "git grep -eSECRET HEAD~1",
        "git grep -f src/a HEAD~1",
        "git grep --no-ind SECRET",
        "git grep --no-exclude-standard --untr SECRET",
        "git grep --recurse-submodules SECRET",
    ]);
    let heads = bench.root.join("project/.git/refs/heads");
    fs::create_dir_all(heads.join("feature")).unwrap();
    fs::write(heads.join("feature/x"), "9eed597f9eed597f9eed597f9eed597f9eed597f\n").unwrap();
    let packed = "9eed597f9eed597f9eed597f9eed597f9eed597f refs/heads/main\n\
                  9eed597f9eed597f9eed597f9eed597f9eed597f refs/remotes/origin/main\n";
    fs::write(heads.join("../../packed-refs"), packed).unwrap();
    // A remote branch, a tag and a symbolic reference may be any object.
    fs::write(heads.join("y"), "ref: refs/tags/zz\n").unwrap();
    fs::write(heads.join("same"), "9eed597f9eed597f9eed597f9eed597f9eed597f\n").unwrap();
    fs::write(heads.join("../tags/same"), "9eed597f9eed597f9eed597f9eed597f9eed597f\n").unwrap();
    bench.asks([
        "git diff origin/main -- src/a",
        "git diff y -- src/a",
        "git diff same -- src/a",
        "git show --stat same",
        "git show --stat --tags",
        "git show -s --all",
        "git show --name-only --remotes",
        "git show 9eed597f:key",
        "git show zz:key",
        "git cat-file -p 9eed597f:key",
        "git checkout 9eed597f -- key",
        "git checkout 9eed597f key",
        "git checkout zz key",
        "git checkout HEAD~0:docs key",
        "git restore -s 9eed597f key",
        "git restore -Ws9eed597f key",
        "git restore --source=9eed597f src/a",
        "git restore --sou 9eed597f src/a",
        "git reset 9eed597f key",
        "git reset -q zz -- key",
        "git update-index --add --cacheinfo 100644,9eed597f,a2",
        "git update-index --cachei 100644,9eed597f,a2",
        "git update-index --index-info < src/a",
        "git commit-tree 9eed597f -m x",
        "git mktree < src/a",
        "git hash-object -w -t tree src/a",
        "git apply x.patch",
        "git am x.mbox",
        "git merge -Xsubtree=docs feature/x",
    ]);
    bench.allows([
        "git diff main -- src/a",
        "git diff HEAD~2 src/a",
        "git diff feature/x..HEAD -- src/a",
        "git diff feature/x~1... src/a",
        "git show @ -- src/a",
        "git show HEAD:src/a",
        "git show feature/x:src/a",
        "git show --stat main",
        "git log --stat --all",
        "git checkout main",
        "git checkout -b new origin/main",
        "git checkout -qb new 9eed597f",
        "git checkout --detach origin/main",
        "git checkout HEAD~1 -- src/a docs/b",
        "git checkout -- src/a",
        "git checkout feature/x src/a",
        "git restore --staged src/a",
        "git restore -s HEAD~1 src/a",
        "git restore --source=main src/a",
        "git reset --hard origin/main",
        "git reset HEAD~1",
        "git reset HEAD src/a",
        "git update-index --refresh",
        "git am --abort",
    ]);
}

#[test]
fn what_reads_a_folder_above_a_restricted_file_is_a_doubt() {
    let lines = [
        "grep -r SECRET .",
        "grep -rn SECRET",
        "grep -r src",
        "grep -r --include x src",
        "grep -r -A src x",
        "grep -rn x src .",
        "grep --recur x .",
        "grep -d recurse x .",
        "rg -uu S",
        "rg --hidden S .",
        "rg -. S",
        "rg -uu -r x src",
        "ag x src",
        "tar cf - .",
        "tar -czf x.tgz .",
        "tar --create --file x.tar -C src .",
        "cp -r . /tmp/x",
        "cp -a ./ /tmp/x",
        "diff -r . x",
        "diff . /tmp/x",
        "zip -r - .",
        "git grep --no-index S",
        "git diff --no-index . x",
        "timeout 5 grep -r S .",
        "find . -name a && grep -r S .",
    ];
    // One project serves for all.
    let mut bench = bench(&[]).allow("Bash(timeout 5 grep:*)");
    let programs = bench.rules.clone();
    for line in lines {
        for rule in ["Read(.env)", "Read(./.env)", "Read(/.env)", "Read(.e*)"] {
            bench.rules = programs.clone();
            bench = bench.deny(rule);
            assert_eq!(bench.bash(line), Ask, "{rule}: {line}");
            bench.interactive = false;
            assert_eq!(bench.bash(line), Deny, "{rule}: {line}");
            bench.interactive = true;
        }
        bench.rules = programs.clone();
        bench = bench.ask("Read(.env)");
        assert_eq!(bench.bash(line), Ask, "{line}");
        for allowed in [format!("Bash({line})"), "Bash".to_owned()] {
            bench.rules = programs.clone();
            bench = bench.deny("Read(.env)").allow(&allowed);
            assert_eq!(bench.bash(line), Allow, "{allowed}: {line}");
        }
        bench.rules = programs.clone();
        bench = bench.deny("Read(~/.ssh/**)").deny("Read(//etc/shadow)");
        assert_eq!(bench.bash(line), Allow, "{line}");
    }
    bench.rules = programs;
    let bench = bench.deny("Read(.env)");
    assert_eq!(bench.bash("cd src && grep -r S .."), Ask);
    let why = bench.bash_judgement("grep -r S .").why;
    assert!(why.ends_with("`grep` may show .env, which is in a folder that it reads"), "{why}");
}

#[test]
fn git_compares_untracked_files_too_where_it_may_take_a_path_for_another() {
    let bench = bench(&[]).deny("Read(.env)");
    fs::create_dir(bench.root.join("project/src/deep")).unwrap();
    std::os::unix::fs::symlink("src/deep", bench.root.join("project/dl")).unwrap();
    // `dl/../..` is the project to the system, and the folder above it to git.
    bench.asks(["git diff dl/../.. docs", "git diff docs dl/../..", "git diff docs -- dl/../../."]);
    bench.allows(["git diff src docs", "git diff ./src docs", "git diff docs dl"]);
    assert_eq!(bench.bash_in("src", "git diff ../docs deep").decision, Allow);
    // Without a repository, git tracks nothing and compares everything.
    fs::remove_dir_all(bench.root.join("project/.git")).unwrap();
    fs::write(bench.root.join("project/src/.env"), "").unwrap();
    bench.asks(["git diff docs src"]);
}

#[test]
fn what_reads_other_folders_and_what_shows_names_alone_is_none() {
    let bench = bench(&[]).deny("Read(.env)").deny("Read(secrets/**)");
    bench.allows([
        "grep -rn SECRET src",
        "grep -rh . src",
        "grep -rn -- docs src",
        "rg -uu . src",
        "grep -rn -A 3 SECRET src docs",
        "grep -rne SECRET src",
        "grep -rn --include='*.rs' SECRET src/",
        "grep SECRET src/a",
        "cat src/a | grep SECRET",
        "rg SECRET",
        "rg -n SECRET src",
        "ls -a | rg SECRET",
        "rg --files --hidden",
        "ls -laR .",
        "find . -name '*.rs'",
        "tar tf x.tar",
        "tar xzf x.tgz -C docs",
        "tar czf x.tgz src",
        "cp -r src docs/copy",
        "cp src/a .",
        "diff src/a docs/b",
        "cargo build",
        "cargo test src",
    ]);
    // Now there is such a folder.
    fs::create_dir(bench.root.join("project/secrets")).unwrap();
    bench.asks(["rg SECRET", "grep -r x .", "tar cf x.tar ."]);
}

#[test]
fn an_ignore_file_can_make_ripgrep_show_a_hidden_file() {
    let mut fixture = bench(&[]);
    let programs = fixture.rules.clone();
    for (file, text, expected) in [
        (".ignore", "!.env\n", Ask),
        (".rgignore", "*.log\n!.e*\n", Ask),
        (".gitignore", "\u{feff}!/.env", Ask),
        (".git/info/exclude", "!.env", Ask),
        ("../.ignore", "!.env", Ask),
        (".gitignore", ".env\n.env.*\n!.env.example\n", Allow),
        (".ignore", "!.env\n.env\n", Allow),
        ("src/.ignore", "!.env", Allow),
    ] {
        let at = fixture.root.join("project").join(file);
        let before = fs::read(&at).ok();
        fs::write(&at, text).unwrap();
        for rule in ["Read(.env)", "Read(./.env)", "Read(.e*)"] {
            fixture.rules = programs.clone();
            fixture = fixture.deny(rule);
            assert_eq!(fixture.bash("rg SECRET"), expected, "{file} {text:?}: {rule}");
            assert_eq!(fixture.bash("rg SECRET src"), Allow, "{file} {text:?}: {rule}");
        }
        match before {
            Some(before) => fs::write(&at, before).unwrap(),
            None => fs::remove_file(&at).unwrap(),
        }
    }
    let bench = bench(&[]).deny("Read(*.key)");
    let project = bench.root.join("project");
    fs::create_dir(project.join(".local")).unwrap();
    fs::write(project.join(".local/a.key"), "SECRET").unwrap();
    assert_eq!(bench.bash("rg SECRET"), Allow);
    // A folder that is shown is searched; what cannot be read may say anything.
    fs::write(project.join(".ignore"), "!.local\n").unwrap();
    assert_eq!(bench.bash("rg SECRET"), Ask);
    fs::write(project.join(".ignore"), "").unwrap();
    assert_eq!(bench.bash("rg SECRET"), Allow);
    fs::remove_file(project.join(".ignore")).unwrap();
    symlink("/dev/zero", project.join(".ignore")).unwrap();
    assert_eq!(bench.bash("rg SECRET"), Ask);
}

#[test]
fn what_git_keeps_of_a_file_is_a_doubt_without_its_name() {
    let bench = bench(&[".env"]).deny("Read(.env)");
    let git = bench.root.join("project/.git");
    for name in ["objects/00/ff", "lfs/objects/00/ff", "modules/a/objects/00/ff", "COMMIT_EDITMSG"]
    {
        let file = git.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "x").unwrap();
        bench.asks([format!("cat .git/{name}"), format!("wc -c < .git/{name}")]);
        assert_eq!(bench.read(file.to_str().unwrap()), Ask, "{name}");
    }
    bench.asks(["cat .git/objects/*/*", "grep -ra x .git", "cp -r .git/lfs copy"]);
    bench.allows(["cat .git/HEAD", "cat .git/logs/HEAD .git/refs/heads/main", "ls -la .git"]);
    let elsewhere = JudgeFixture::new().deny("Read(~/.ssh/**)").allow("Bash(cat:*)");
    elsewhere.allows(["cat .git/objects/00/ff"]);
}

#[test]
fn git_is_a_doubt_for_what_it_tracks_and_for_what_commits_may_hold() {
    let shows_tracked = ["git diff", "git diff -U9 -w", "git grep x", "git grep -niA3 x"];
    let shows_commits = [
        "git log -p",
        "git -C . log -p",
        "git log -L1,2:src/a",
        "git show",
        "git show HEAD^{/fix:x}",
        "git diff HEAD~3",
        "git diff --cached -U9",
        "git diff HEAD",
        "git diff main...HEAD -- src",
        "git grep x HEAD~1",
        "git archive HEAD",
        "git format-patch -1 --stdout",
        "git stash show -p",
    ];
    let shows_none = [
        "git status",
        "git log --oneline -5",
        "git log --stat --since=yesterday",
        "git diff --stat HEAD~3",
        "git diff --name-only main",
        "git show --stat HEAD",
        "git diff src/a",
        "git diff HEAD~1 -- src/a",
        "git show HEAD:src/a",
        "git log -p -- src/a",
        "git diff -- src",
        "git add -A",
        "git commit -m \"keep .env out\"",
    ];
    let (untracked, tracked) = (bench(&[]).deny("Read(.env)"), bench(&[".env"]).deny("Read(.env)"));
    for line in shows_tracked {
        assert_eq!((untracked.bash(line), tracked.bash(line)), (Allow, Ask), "{line}");
    }
    for line in shows_commits {
        assert_eq!((untracked.bash(line), tracked.bash(line)), (Ask, Ask), "{line}");
        let elsewhere = bench(&[".env"]).deny("Read(~/.ssh/**)");
        assert_eq!(elsewhere.bash(line), Allow, "{line}");
    }
    untracked.allows(shows_none);
    let index = tracked.root.join("project/.git/index");
    fs::write(index, "DIRC????").unwrap();
    assert_eq!(tracked.bash("git diff"), Ask, "an index that cannot be read");
}

#[test]
fn a_folder_with_more_files_than_are_looked_at_is_a_doubt() {
    let bench = bench(&[]).deny("Read(none.key)");
    let many = bench.root.join("project/many");
    fs::create_dir(&many).unwrap();
    assert_eq!(bench.bash("grep -r x ."), Allow);
    for n in 0..=super::tree::MAX_ENTRIES {
        fs::write(many.join(n.to_string()), "").unwrap();
    }
    assert_eq!((bench.bash("grep -r x ."), bench.bash("grep -r x src")), (Ask, Allow));
}

#[test]
fn a_pattern_that_git_takes_for_paths_is_no_list_of_names() {
    let patterns = [
        "':!a'",
        "':^a'",
        "':(icase).ENV'",
        "':(top).e*v'",
        "':(attr:!x)'",
        "'.en\\v'",
        "'*nv'",
        "'?env'",
    ];
    let (untracked, tracked) = (bench(&[]).deny("Read(.env)"), bench(&[".env"]).deny("Read(.env)"));
    for pattern in patterns {
        for command in ["git diff", "git diff --cached", "git diff HEAD"] {
            let line = format!("{command} -- {pattern}");
            assert_ne!(tracked.bash(&line), Allow, "{line}");
        }
    }
    assert_eq!(tracked.bash("git --icase-pathspecs diff -- src/A"), Ask);
    let shows = tracked.allow("Bash(git show:*)");
    shows.asks(["git show ':^README'", "git show ':^'", "git show ':!a'", "git show ':(top)'"]);
    let tracked = shows;
    assert_eq!(untracked.bash("git diff -- ':!src/a'"), Allow);
    tracked.allows(["git diff -- src/a", "git diff HEAD -- src/a docs/b"]);
}

#[test]
fn a_command_of_git_is_a_doubt_unless_it_is_known_to_show_no_content() {
    let tracked = bench(&[".env"]).deny("Read(.env)");
    tracked.asks([
        "git status -v",
        "git status -vv",
        "git status -sv",
        "git commit --dry-run -v",
        "git commit -nv",
        "git commit --verbose --dry-run",
        "git add -p",
        "git add -up",
        "git add -i",
        "git checkout -p",
        "git checkout --patch HEAD~1",
        "git reset -p",
        "git restore -p",
        "git stash -p",
        "git stash list -p",
        "git merge-tree HEAD~1 HEAD",
        "git diff-pairs",
        "git rebase --show-current-patch",
        "git rebase --apply main",
        "git rebase --app main",
        "git rebase -C2 main",
        "git rebase --whitespace=fix main",
        "git stash pop --index",
        "git stash apply -q --index",
        "git stash apply --ind",
        "git stash branch new",
        "git stash export --print",
        "git am --skip",
        "git am --continue",
        "git am --show-current-patch=diff",
        "git bisect view",
        "git for-each-ref --format='%(raw)'",
        "git config --blob abcdef1 -l",
        "git notes show",
        "git fsck --lost-found",
    ]);
    let patch = bench(&[]).deny("Read(.env)").allow("Bash(git add:*)");
    assert_eq!(patch.bash("git add -p"), Allow);
    for line in [
        "git status",
        "git status -sb -uno",
        "git status --porcelain=v2",
        "git add -A",
        "git add src/a",
        "git add -p src/a",
        "git commit -m '- a text' --no-verify",
        "git commit -qam x -m -v",
        "git commit --amend --no-edit",
        "git checkout -b new",
        "git checkout main",
        "git switch main",
        "git branch -vv",
        "git tag -l",
        "git push origin main",
        "git pull --rebase",
        "git fetch --all",
        "git merge main",
        "git rebase main",
        "git stash",
        "git stash push -m x",
        "git stash pop",
        "git stash apply -q",
        "git stash list",
        "git am --abort",
        "git reset --hard HEAD~1",
        "git rev-parse HEAD",
        "git ls-files",
        "git blame src/a",
        "git remote -v",
        "git worktree list",
        "git config --get user.name",
        "git --version",
    ] {
        let judgement = tracked.bash_judgement(line);
        assert!(!judgement.why.contains("may deny"), "{line}: {}", judgement.why);
    }
}

#[test]
fn a_stash_of_some_changes_is_a_doubt() {
    let tracked = bench(&[".env"]).deny("Read(.env)");
    for line in [
        "git stash push .",
        "git stash push -k .",
        "git stash push ':/'",
        "git stash push -- ':!d'",
        "git stash -- .",
        "git stash push -km x .",
        "git stash --staged",
        "git stash push -S",
        "git stash push -kS",
        "git stash save --staged x",
    ] {
        let judgement = tracked.bash_judgement(line);
        assert_eq!(judgement.decision, Ask, "{line}");
    }
    tracked.allows(vec![
        "git stash push src/a",
        "git stash push -m 'a message' -- src/a",
        "git stash push -u -m x",
        "git stash save some words",
    ]);
}

#[test]
fn a_command_of_git_is_a_doubt_if_a_setting_makes_it_show_content() {
    for (key, value, lines) in [
        ("commit.verbose", "2", vec!["git commit -m x", "git commit --dry-run -a"]),
        ("commit.template", ".env", vec!["git commit --no-edit"]),
        ("stash.showPatch", "true", vec!["git stash show"]),
        ("blame.ignoreRevsFile", ".env", vec!["git blame src/a", "git annotate src/a"]),
        ("stash.index", "true", vec!["git stash pop", "git stash apply", "git merge main"]),
        ("rebase.backend", "apply", vec!["git rebase main", "git pull --rebase", "git pull"]),
        ("submodule.recurse", "true", vec!["git grep x"]),
        ("grep.fallbackToNoIndex", "true", vec!["git grep -n x"]),
    ] {
        let tracked: &[&str] = if lines[0].starts_with("git grep") { &[] } else { &[".env"] };
        let bench = bench(tracked).deny("Read(.env)");
        bench.allows(lines.clone());
        let project = bench.root.join("project");
        git(&project, &["config", key, "false"]);
        bench.allows(lines.clone());
        git(&project, &["config", key, value]);
        for line in lines {
            let judgement = bench.bash_judgement(line);
            assert_eq!(judgement.decision, Ask, "{line}");
            assert!(
                judgement.why.to_lowercase().contains(&key.to_lowercase()),
                "{}",
                judgement.why
            );
        }
    }
}

#[test]
fn a_rebase_under_way_is_a_doubt_if_it_applies_patches() {
    let bench = bench(&[".env"]).deny("Read(.env)");
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

#[test]
fn a_link_below_a_folder_leads_to_what_a_command_reads_there() {
    let bench = bench(&[]).allow("Bash(rsync:*)").allow("Bash(scp:*)");
    let (root, project) = (bench.root.clone(), bench.root.join("project"));
    for folder in ["conf", "e", "f", "far", "sub"] {
        fs::create_dir(project.join(folder)).unwrap();
    }
    for file in ["conf/prod.key", "sub/b", "far/c"] {
        fs::write(project.join(file), "SECRET").unwrap();
    }
    fs::write(root.join("home/.ssh/id"), "SECRET").unwrap();
    symlink("../conf", project.join("e/l")).unwrap();
    symlink("../conf/prod.key", project.join("f/x")).unwrap();
    let programs = bench.rules.clone();
    let lines = |folder: &str| {
        [
            "grep -R . e",
            "grep -r . e",
            "rg -L . e",
            "cp -rL e x",
            "tar chf x.tar e",
            "rsync -aL e x",
            "zip -r x e",
            "diff -r e docs",
            "scp -r e h:y",
        ]
        .map(|line| line.replace(" e", &format!(" {folder}")))
    };
    let mut bench = bench;
    for rule in ["Read(conf/**)", "Read(./conf/prod.key)", "Read(/conf/*.key)"] {
        bench.rules = programs.clone();
        bench = bench.deny(rule);
        bench.asks(lines("e").into_iter().chain(lines("f")));
        bench.allows(["grep -R . sub", "cp -rL sub x"]);
    }
    // Outside of the project, and through a folder outside.
    symlink(root.join("home/.ssh"), project.join("sub/s")).unwrap();
    symlink(root.join("outside"), project.join("far/o")).unwrap();
    bench.rules = programs;
    let bench = bench.deny("Read(~/.ssh/**)");
    bench.asks(lines("sub").into_iter().chain(["grep -R . .".to_owned()]));
    bench.allows(lines("far"));
    symlink(root.join("home/.ssh"), root.join("outside/h")).unwrap();
    bench.asks(lines("far"));
}

#[test]
fn a_link_below_a_folder_leads_to_what_a_command_changes_there() {
    let bench = bench(&[]).allow("Bash(rsync:*)").allow("Bash(chmod:*)").allow("Bash(rm:*)");
    let (root, project) = (bench.root.clone(), bench.root.join("project"));
    for folder in ["e/src", "d", "own"] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    fs::write(root.join("home/.ssh/auth"), "x").unwrap();
    for link in ["e/src/a", "d/a"] {
        symlink(root.join("home/.ssh/auth"), project.join(link)).unwrap();
    }
    let bench = bench.deny("Edit(~/.ssh/**)");
    bench.asks([
        "cp -r src e",
        "cp -r src/. d",
        "cp -rT src d",
        "cp --parents src/a e",
        "rsync -a --inplace src/ d",
        "rsync -aR src/a e",
        "chmod -R 600 d",
    ]);
    bench.allows([
        "cp -r src own",
        "cp -r src new",
        "rsync -a src/ own",
        "chmod -R 600 own",
        "rm -r d",
    ]);
}
