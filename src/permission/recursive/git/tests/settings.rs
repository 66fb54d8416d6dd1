//! Settings that make git show more.

use super::*;

#[test]
fn a_command_of_git_is_a_doubt_if_a_setting_makes_it_show_content() {
    for (key, value, lines) in [
        ("commit.verbose", "2", vec!["git commit -m x", "git commit --dry-run -a"]),
        ("commit.template", ".env", vec!["git commit --no-edit"]),
        ("blame.ignoreRevsFile", ".env", vec!["git blame src/a"]),
        ("branch.main.mergeOptions", "--log", vec!["git merge main", "git pull"]),
        ("pull.twohead", "ours", vec!["git pull", "git merge main"]),
        ("stash.index", "true", vec!["git stash pop", "git stash apply", "git merge main"]),
        ("rebase.backend", "apply", vec!["git rebase main", "git pull --rebase", "git pull"]),
        ("diff.submodule", "diff", vec!["git diff", "git diff src", "git diff -- docs/b"]),
    ] {
        let bench = bench(&[]).deny("Read(.env)");
        bench.allows(lines.clone());
        let project = bench.root.join("project");
        git(&project, &["config", key, "false"]);
        bench.allows(lines.clone());
        git(&project, &["config", key, value]);
        for line in lines {
            let judgement = bench.bash_judgement(line);
            assert_eq!(judgement.decision, Ask, "{line}");
            let name = key.to_lowercase().replace(".main.", ".");
            assert!(judgement.why.to_lowercase().contains(&name), "{}", judgement.why);
        }
    }
}

#[test]
fn a_setting_that_is_not_known_to_show_nothing_makes_every_command_of_git_a_doubt() {
    let lines = ["git status", "git fetch", "git log --stat", "git diff", "git push"];
    for key in ["fetch.fsck.skipList", "fsck.skipList", "mailmap.blob", "core.notesRef", "new.key"]
    {
        let bench = bench(&[]).deny("Read(.env)");
        bench.allows(lines);
        git(&bench.root.join("project"), &["config", key, ".env"]);
        for line in lines {
            let judgement = bench.bash_judgement(line);
            assert_eq!(judgement.decision, Ask, "{key}: {line}");
            let section = key.split('.').next().unwrap();
            assert!(judgement.why.contains(section), "{}", judgement.why);
        }
        // Nothing that the rule is about lies there.
        let elsewhere = super::super::tests::bench(&[]).deny("Read(~/.ssh/**)");
        git(&elsewhere.root.join("project"), &["config", key, ".env"]);
        elsewhere.allows(lines);
    }
}

#[test]
fn a_setting_that_follows_renames_makes_the_history_of_any_file_a_doubt() {
    let bench = bench(&[]).deny("Read(/.env)");
    let project = bench.root.join("project");
    let lines = ["git log -p -- docs/b", "git log -p HEAD docs"];
    bench.allows(lines);
    git(&project, &["config", "log.follow", "true"]);
    doubts(&bench, &lines);
    bench.allows(["git log -- docs/b", "git diff -- docs/b", "git status"]);
}

#[test]
fn a_setting_that_names_a_file_of_a_rule_is_a_doubt() {
    for key in ["core.attributesFile", "mailmap.file", "gpg.ssh.allowedSignersFile"] {
        let bench = bench(&[]).deny("Read(/secret/key)");
        let project = bench.root.join("project");
        for value in ["secret/key", "./secret/key"] {
            git(&project, &["config", key, "~/names"]);
            bench.allows(["git status", "git log"]);
            git(&project, &["config", key, value]);
            bench.asks(["git status", "git log"]);
            git(&project, &["config", key, &project.join("secret/key").to_string_lossy()]);
            bench.asks(["git status", "git log"]);
        }
        std::os::unix::fs::symlink("secret/key", project.join("link")).unwrap();
        git(&project, &["config", key, "link"]);
        bench.asks(["git status"]);
    }
}

#[test]
fn everyday_settings_are_no_doubt() {
    let bench = bench(&[]).deny("Read(/.env)");
    let project = bench.root.join("project");
    for (key, value) in [
        ("user.name", "A"),
        ("user.signingKey", "ABC"),
        ("init.defaultBranch", "main"),
        ("core.editor", "vim"),
        ("core.pager", "delta"),
        ("core.autocrlf", "input"),
        ("core.excludesFile", "~/.ignored"),
        ("core.attributesFile", "~/.attributes"),
        ("core.commentString", "%"),
        ("color.ui", "auto"),
        ("color.diff.new", "green"),
        ("column.ui", "auto"),
        ("alias.st", "status"),
        ("pull.rebase", "true"),
        ("push.default", "simple"),
        ("push.autoSetupRemote", "true"),
        ("fetch.prune", "true"),
        ("fetch.fsckObjects", "true"),
        ("fetch.fsck.missingEmail", "ignore"),
        ("transfer.fsckObjects", "true"),
        ("remote.origin.url", "https://example.org/x.git"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
        ("branch.sort", "-committerdate"),
        ("rerere.enabled", "true"),
        ("commit.gpgSign", "false"),
        ("gpg.format", "ssh"),
        ("tag.sort", "version:refname"),
        ("merge.conflictStyle", "zdiff3"),
        ("merge.tool", "vimdiff"),
        ("mergetool.vimdiff.cmd", "vimdiff"),
        ("diff.algorithm", "histogram"),
        ("diff.colorMoved", "plain"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.renames", "copies"),
        ("diff.bin.textconv", "hexdump"),
        ("log.date", "iso"),
        ("log.follow", "false"),
        ("format.pretty", "oneline"),
        ("pretty.own", "%h %s"),
        ("credential.helper", "store"),
        ("credential.https://example.org.username", "a"),
        ("url.https://example.org/.insteadOf", "x:"),
        ("filter.lfs.clean", "git-lfs clean -- %f"),
        ("http.postBuffer", "1"),
        ("includeIf.gitdir:~/x.path", "~/other"),
        ("safe.directory", "*"),
        ("rebase.autoSquash", "true"),
        ("stash.showPatch", "true"),
        ("status.short", "true"),
        ("submodule.recurse", "true"),
        ("interactive.diffFilter", "delta"),
        ("delta.navigate", "true"),
        ("gui.encoding", "utf-8"),
        ("lfs.url", "https://example.org/x"),
        ("maintenance.auto", "false"),
        ("pager.log", "less"),
        ("advice.detachedHead", "false"),
        ("extensions.worktreeConfig", "true"),
        ("help.autoCorrect", "1"),
        ("trace2.eventNesting", "false"),
    ] {
        git(&project, &["config", key, value]);
    }
    no_doubts(
        &bench,
        &[
            "git status",
            "git diff",
            "git log",
            "git log -p -- docs/b",
            "git show --stat HEAD",
            "git fetch",
            "git pull",
            "git push",
            "git commit -m x",
            "git blame src/a",
            "git checkout main",
        ],
    );
}
