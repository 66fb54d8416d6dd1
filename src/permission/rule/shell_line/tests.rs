//! Whole lines and the rules that restrict them.

use crate::permission::judge::Decision::{self, Allow, Ask, Deny};
use crate::permission::judge::testing::JudgeFixture;
use crate::protocol::PermissionMode;

mod programs;
mod spelling;

fn bypass(rule: &str) -> JudgeFixture {
    JudgeFixture::new().deny(rule).mode(PermissionMode::BypassPermissions)
}

fn each(rows: &[(&str, &str)], expected: Decision) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(rule, line)| (rule, line, bypass(rule).bash_judgement(line)))
        .filter(|(_, _, judgement)| judgement.decision != expected)
        .map(|(rule, line, judgement)| format!("{rule} ~ {line}: {judgement:?}"))
        .collect();
    assert!(wrong.is_empty(), "expected {expected:?}:\n{}", wrong.join("\n"));
}

#[test]
fn what_may_be_meant_asks_and_is_denied_where_nobody_can_be_asked() {
    let rows = [
        ("Bash(git push:*)", "git --unknown x push"),
        ("Bash(git push:*)", "git -c alias.p=push p"),
        ("Bash(git push:*)", "git --config-env=alias.p=X p"),
        ("Bash(git push:*)", "git p"),
        ("Bash(git push:*)", "git $x"),
        ("Bash(git push:*)", "git \"$x\""),
        ("Bash(git push:*)", "x=push; git $x origin"),
        ("Bash(git push:*)", "echo push | xargs git"),
        ("Bash(git push --force:*)", "git push origin main --force"),
        ("Bash(git push --force:*)", "git push --force-with-lease=x --force"),
        ("Bash(git push --force:*)", "git push --forc"),
        ("Bash(git push --force:*)", "git push origin --forc main"),
        ("Bash(git push --force:*)", "git push -f origin"),
        ("Bash(git push --force:*)", "git push -fu origin main"),
        ("Bash(git push --force:*)", "git push -4f origin"),
        ("Bash(git push --force:*)", "git push -f6 origin"),
        ("Bash(git push -f:*)", "git push -46f origin"),
        ("Bash(git push -f:*)", "git push origin --force"),
        ("Bash(git clean -fd:*)", "git clean -df"),
        ("Bash(git clean -fd:*)", "git clean -f -d"),
        ("Bash(git clean -fd:*)", "git clean -ffdx"),
        ("Bash(git reset --hard:*)", "git reset HEAD~1 --har"),
        ("Bash(git branch -D:*)", "git branch -d --force x"),
        ("Bash(docker system prune -a:*)", "docker system prune -f --all"),
        ("Bash(npm publish:*)", "npm publ"),
        ("Bash(npm publish:*)", "npm --odd value publish"),
        ("Bash(docker push:*)", "docker image push x"),
        ("Bash(mytool deploy:*)", "mytool --env prod deploy"),
        ("Bash(cargo publish:*)", "cargo --config 'alias.p=\"publish\"' p"),
        ("Bash(rm -rf:*)", "rm -r -f x"),
        ("Bash(rm -rf:*)", "rm -fr x"),
        ("Bash(rm -rf:*)", "rm --recursive --force x"),
        ("Bash(rm -rf:*)", "rm x -rf"),
        ("Bash(./deploy.sh:*)", "/p/deploy.sh"),
        ("Bash(rm:*)", "/bin/r? x"),
        ("Bash(rm:*)", "r${nothing}m x"),
        ("Bash(rm:*)", "RM=rm; $RM x"),
        ("Bash(rm:*)", "p=rm; $p x"),
        ("Bash(rm:*)", "echo 'rm x' | sh"),
        ("Bash(rm:*)", "echo 'r''m x' | /bin/bash -s"),
        ("Bash(rm:*)", "printf 'rm x' > s; . ./s"),
        ("Bash(rm:*)", "python3 -c 'import os; os.system(\"rm x\")'"),
        ("Bash(rm:*)", "ssh host rm x"),
        ("Bash(rm:*)", "git submodule foreach 'rm x'"),
        ("Bash(rm:*)", "git rebase -x 'rm x' main"),
        ("Bash(rm:*)", "docker run image rm x"),
        ("Bash(git push:*)", "export X=1; git status"),
        ("Bash(git push:*)", "perl -e 'exec qw(git push)'"),
    ];
    each(&rows, Ask);
    for (rule, line) in &rows {
        for mode in
            [PermissionMode::Default, PermissionMode::BypassPermissions, PermissionMode::DontAsk]
        {
            let bench =
                JudgeFixture { interactive: false, ..JudgeFixture::new().allow("Bash").deny(rule) };
            let judgement = bench.mode(mode).bash_judgement(line);
            assert_eq!(judgement.decision, Deny, "{rule} ~ {line} in {mode:?}");
            assert!(judgement.why.contains(rule), "{}", judgement.why);
        }
        let ask = JudgeFixture::new().allow("Bash").ask(rule).bash_judgement(line);
        assert_eq!(ask.decision, Ask, "{rule} ~ {line}");
    }
    let why = bypass("Bash(docker push:*)").bash_judgement("docker image push").why;
    let rule = "rule Bash(docker push:*) in .caliban/config.toml";
    assert_eq!(why, format!("{rule} may deny it: `push` is among its arguments"));
}

#[test]
fn what_is_plainly_something_else_is_left_alone() {
    each(
        &[
            ("Bash(git push:*)", "git status"),
            ("Bash(git push:*)", "git commit -m 'push it'"),
            ("Bash(git push:*)", "git commit -m \"$(cat <<'EOF'\npush it\nEOF\n)\""),
            ("Bash(git push:*)", "git checkout -- push"),
            ("Bash(git push:*)", "git -C $d status"),
            ("Bash(git push:*)", "git rebase main"),
            ("Bash(git push:*)", "for f in a b; do git add $f; done"),
            ("Bash(git push:*)", "bash -c 'git status'"),
            ("Bash(git push:*)", "bash build.sh && git status"),
            ("Bash(git push:*)", "export X=1; ls"),
            ("Bash(git push)", "git push origin"),
            ("Bash(rm:*)", "git rm x"),
            ("Bash(rm:*)", "docker rm x"),
            ("Bash(rm:*)", "npm rm x"),
            ("Bash(rm:*)", "echo rm"),
            ("Bash(rm:*)", "rmdir x"),
            ("Bash(rm:*)", "python3 rm.py"),
            ("Bash(rm:*)", "cat rm.txt a-rm"),
            ("Bash(rm:*)", "$x y"),
            ("Bash(rm -rf:*)", "rm x"),
            ("Bash(rm -rf:*)", "rm -f x"),
            ("Bash(rm -rf:*)", "rm \"$x\""),
            ("Bash(git push --force:*)", "git push -u origin main"),
            ("Bash(git clean -fd:*)", "git clean -n"),
            ("Bash(git push -f:*)", "git push --follow-tags"),
            ("Bash(git commit -a:*)", "git commit --amend"),
            ("Bash(git reset --hard:*)", "git reset --soft HEAD~1"),
            ("Bash(git branch -D:*)", "git branch -d x"),
            ("Bash(docker run --privileged:*)", "docker run -p 80:80 x"),
            ("Bash(npm publish:*)", "npm test"),
            ("Bash(npm publish:*)", "npm run build"),
            ("Bash(kubectl delete:*)", "kubectl -n prod get pods"),
            ("Bash(cargo publish:*)", "cargo test --workspace"),
            ("Bash(python3 -m pip:*)", "python3 x.py"),
        ],
        Allow,
    );
}

#[test]
fn an_allow_rule_for_exactly_the_line_answers_the_question_and_no_other_does() {
    let stash = || JudgeFixture::new().deny("Bash(git push:*)").deny("Bash(docker push:*)");
    assert_eq!(stash().allow("Bash(docker image push)").bash("docker image push"), Allow);
    assert_eq!(stash().allow("Bash(docker image:*)").bash("docker image push"), Ask);
    assert_eq!(stash().allow("Bash").bash("docker image push"), Ask);
    assert_eq!(stash().allow("Bash(git push)").bash("git push"), Deny);
    let fed = "python3 - <<'EOF'\nimport os; os.system('git push')\nEOF";
    assert_eq!(stash().allow("Bash(python3 -)").bash(fed), Ask);
    assert_eq!(
        stash()
            .allow("Bash(docker image push)")
            .allow("Bash(true)")
            .bash("docker image push; true"),
        Ask
    );
    let line = "export X=1; git status";
    assert_eq!(stash().allow(&format!("Bash({line})")).bash(line), Allow);
}

#[test]
fn what_is_beyond_a_limit_is_asked_about() {
    let deep = r#"bash -c "bash -c 'bash -c \"bash -c \\\"rm v\\\"\"'""#;
    let four = "-exec true {} \\; ".repeat(4);
    let many = "-exec true {} \\; ".repeat(80);
    each(
        &[
            ("Bash(rm:*)", deep),
            ("Bash(rm:*)", &format!("find . {many} -exec rm {{}} +")),
            ("Bash(rm:*)", &format!("bash -c 'ls' {} 'rm v'", "a ".repeat(20))),
        ],
        Ask,
    );
    each(&[("Bash(rm:*)", &format!("find . {four} -exec rm {{}} +"))], Deny);
    each(&[("Bash(rm:*)", "bash -c 'bash -c \"ls x\"'")], Allow);
}

#[test]
fn words_that_are_data_to_a_command_are_left_alone() {
    each(
        &[
            ("Bash(curl:*)", "time grep curl x"),
            ("Bash(curl:*)", "sudo apt-get install -y curl"),
            ("Bash(rm:*)", "timeout 5 grep rm x"),
            ("Bash(rm:*)", "ls | xargs grep -l rm"),
            ("Bash(curl:*)", "env X=1 pip install curl"),
            ("Bash(curl:*)", "command -v curl"),
            ("Bash(git push:*)", "find src -exec grep -l 'git push' {} +"),
            ("Bash(curl:*)", "find . -name curl -exec ls -l {} \\;"),
            ("Bash(git push:*)", "git stash push -m x"),
            ("Bash(git push:*)", "git checkout push"),
            ("Bash(git push:*)", "git log --grep push"),
            ("Bash(git push:*)", "git help push"),
            ("Bash(rm:*)", "docker image rm x"),
            ("Bash(npm publish:*)", "mise exec -- npm test"),
            ("Bash(git push:*)", "hyperfine 'git status'"),
        ],
        Allow,
    );
}

#[test]
fn a_long_line_is_compared_in_reasonable_time() {
    let bench = || bypass("Bash(git push:*)").allow("Bash(git:*)");
    for line in [
        format!("xargs {}", "git ".repeat(15_000)),
        format!("git {}", "$x ".repeat(20_000)),
        format!("git {}", "[".repeat(60_000)),
        format!("git {}", "{a,b}".repeat(10_000)),
        format!("git {}", "\"$(".repeat(15_000)),
        format!("echo {} | sh", "git".repeat(20_000)),
    ] {
        let start = std::time::Instant::now();
        bench().bash(&line);
        let taken = start.elapsed();
        assert!(taken.as_secs() < 20, "{} took {taken:?}", &line[..20]);
    }
}

#[test]
fn a_line_that_the_grammar_cannot_read_may_hold_any_command() {
    each(
        &[
            ("Bash(rm:*)", "x=r >f; ${x}m v"),
            ("Bash(rm:*)", "x=r </dev/null; ${x}m v"),
            ("Bash(rm:*)", "</dev/null x=r; ${x}m v"),
            ("Bash(rm:*)", "x=r &>/dev/null; eval ${x}m v"),
            ("Bash(rm:*)", "bash -c '{r,}m v'"),
            ("Bash(rm:*)", "echo $({r,}m v)"),
            ("Bash(rm:*)", "eval '{r,}m v'"),
            ("Bash(rm:*)", "bash <<< '{r,}m v'"),
            ("Bash(rm:*)", "q=r; BASH_CMDS[z]=/bin/${q}m; z v"),
            ("Bash(rm:*)", "x=r; a[$(${x}m v)]=1"),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(rm:*)", "export A B; make"),
            ("Bash(rm:*)", "n=1; n=$((n+1)); echo $((n*2))"),
            ("Bash(rm:*)", "i=0; while [ $i -lt 5 ]; do i=$((i+1)); done"),
            ("Bash(rm:*)", "cat <<'EOF' > f\nx\nEOF"),
            ("Bash(rm:*)", "cat <<EOF | kubectl apply -f -\nx\nEOF"),
            ("Bash(rm:*)", "cd /tmp && python - <<'EOF'\nprint(1)\nEOF"),
            ("Bash(rm:*)", "bash -c 'echo OK'"),
            ("Bash(rm:*)", "find . -name '*.sh' -exec bash -n {} \\;"),
            ("Bash(rm:*)", "find . -exec sh -c 'wc -l \"$1\"' _ {} \\;"),
            ("Bash(rm:*)", "a[0]=1; ls"),
            ("Bash(rm:*)", "x=1; y=2; echo \"$x $y\""),
            ("Bash(rm:*)", "for f in a b; do echo \"$f  $f\" >> out; done"),
        ],
        Allow,
    );
}

#[test]
fn without_a_rule_that_restricts_nothing_is_in_doubt() {
    for line in [
        "x=r >f; ${x}m v",
        "bash -c \"cat $x\"",
        "eval \"$setup\"",
        "f() { \"$@\"; }; f ls",
        "mkdir -p a && cd $_",
        "set -- a b; cat $1",
    ] {
        assert_eq!(JudgeFixture::new().allow("Bash").bash(line), Allow, "{line}");
    }
}
