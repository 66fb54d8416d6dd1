use crate::permission::judge::Decision::{self, Allow, Ask, Deny};
use crate::permission::judge::testing::JudgeFixture;
use crate::protocol::PermissionMode;

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
fn a_file_and_an_option_count_in_each_spelling() {
    each(
        &[
            ("Bash(python3 manage.py migrate:*)", "python3 ./manage.py migrate"),
            ("Bash(node scripts/deploy.js:*)", "node .//scripts/deploy.js prod"),
            ("Bash(rm important.txt:*)", "rm ./important.txt"),
            ("Bash(pytest tests/slow:*)", "pytest tests/slow/"),
            ("Bash(go run ./cmd/wipe:*)", "go run cmd/wipe"),
            ("Bash(kubectl apply -f prod.yaml:*)", "kubectl apply -f ./prod.yaml"),
            ("Bash(rm -rf build:*)", "rm -rf ./build"),
            ("Bash(rm -rf build:*)", "rm -rf build/"),
            ("Bash(npm publish --access public:*)", "npm publish --access=public"),
            ("Bash(npm run deploy:*)", "npm run --silent=deploy"),
            ("Bash(npm publish:*)", "npm --json=publish"),
            ("Bash(npm publish:*)", "npm -s=publish --dry-run"),
            ("Bash(pnpm publish:*)", "pnpm --silent=publish"),
        ],
        Deny,
    );
    each(
        &[
            ("Bash(python3 manage.py migrate:*)", "python3 /srv/app/manage.py migrate"),
            ("Bash(node scripts/deploy.js:*)", "cd scripts && node deploy.js"),
            ("Bash(make -f Makefile.prod:*)", "make -fMakefile.prod"),
            ("Bash(make -f Makefile.prod:*)", "make --file=Makefile.prod all"),
            ("Bash(git push --force:*)", "git push origin +main"),
            ("Bash(git push --delete:*)", "git push origin :old"),
            ("Bash(curl -X DELETE:*)", "curl -XDELETE u"),
            ("Bash(curl -X DELETE:*)", "curl -s --request DELETE u"),
            ("Bash(curl -X DELETE:*)", "curl --request=DELETE u"),
            ("Bash(sed -i:*)", "sed -i.bak s/a/b/ x"),
            ("Bash(sed -i:*)", "sed --in-place s/a/b/ x"),
            ("Bash(kubectl --context prod:*)", "kubectl --context=prod get x"),
            ("Bash(aws --profile prod:*)", "aws --profile=prod s3 ls"),
            ("Bash(tar -xf:*)", "tar xf a"),
            ("Bash(docker compose down -v:*)", "docker compose down --volumes"),
            ("Bash(docker compose down --volumes:*)", "docker compose down -v"),
            ("Bash(kubectl apply -k:*)", "kubectl apply --kustomize x"),
            ("Bash(terraform apply -auto-approve:*)", "terraform apply --auto-approve"),
            ("Bash(curl --insecure:*)", "curl -k u"),
            ("Bash(git switch --discard-changes:*)", "git switch -f main"),
            ("Bash(git rebase -i:*)", "git rebase --interactive main"),
            ("Bash(git diff --staged:*)", "git diff --cached"),
            ("Bash(git log -p:*)", "git log --patch"),
            ("Bash(git branch -m:*)", "git branch --move a b"),
            ("Bash(gh pr merge --squash:*)", "gh pr merge -s 1"),
            ("Bash(kubectl get secret:*)", "kubectl get secrets"),
            ("Bash(kubectl delete pods:*)", "kubectl delete pod/x"),
            ("Bash(tar -xf:*)", "tar --extract -f a"),
            ("Bash(sudo -u root:*)", "sudo --user root id"),
            ("Bash(sudo -u root:*)", "sudo -uroot id"),
            ("Bash(rm -rf build:*)", "rm -rf /srv/build"),
            ("Bash(docker compose -f prod.yml:*)", "docker compose --file prod.yml up"),
            ("Bash(psql -h prod:*)", "psql -hprod"),
            ("Bash(python3 -m http.server:*)", "python3 -mhttp.server"),
            ("Bash(python3 manage.py migrate:*)", "python3 -u ./manage.py migrate"),
            ("Bash(make -f Makefile.prod:*)", "make --file=./Makefile.prod"),
            ("Bash(make -f Makefile.prod:*)", "make -f./Makefile.prod"),
            ("Bash(python3 manage.py migrate:*)", "python3 $PWD/manage.py migrate"),
            ("Bash(python3 manage.py migrate:*)", "python3 \"$PWD\"/manage.py migrate"),
            ("Bash(python3 manage.py migrate:*)", "python3 ~+/manage.py migrate"),
            ("Bash(python3 manage.py migrate:*)", "python3 -u $PWD/manage.py migrate"),
            ("Bash(python3 manage.py migrate:*)", "x=.; python3 $x/manage.py migrate"),
            ("Bash(python3 tools/deploy.py:*)", "python3 ~/../p/tools/deploy.py"),
            ("Bash(python3 tools/deploy.py:*)", "python3 \"$(pwd)\"/tools/deploy.py"),
            ("Bash(python3 tools/deploy.py:*)", "python3 $PWD/tools/deploy.py"),
            ("Bash(rm -rf build:*)", "rm -rf $PWD/build"),
            ("Bash(rm -rf build:*)", "rm -rf ./*/build"),
            ("Bash(cat secret.txt:*)", "cat $PWD/secret.txt"),
            ("Bash(make -f Makefile.prod:*)", "make -f $PWD/Makefile.prod"),
            ("Bash(make -f Makefile.prod:*)", "make --file=$PWD/Makefile.prod"),
            ("Bash(make -f Makefile.prod:*)", "make -f$PWD/Makefile.prod"),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(python3 manage.py migrate:*)", "python3 manage.py test"),
            ("Bash(make -f Makefile.prod:*)", "make -f Makefile.dev"),
            ("Bash(git push --force:*)", "git push origin main"),
            ("Bash(curl -X DELETE:*)", "curl -s u"),
            ("Bash(curl -X DELETE:*)", "curl -X POST u"),
            ("Bash(sed -i:*)", "sed -n 1,2p x"),
            ("Bash(kubectl --context prod:*)", "kubectl --context=dev get x"),
            ("Bash(python3 manage.py migrate:*)", "python3 $PWD/manage.py test"),
            ("Bash(python3 manage.py migrate:*)", "python3 $PWD/other.py migrate"),
            ("Bash(rm -rf build:*)", "rm -rf $PWD/dist"),
            ("Bash(npm publish:*)", "npm test --silent=true"),
            ("Bash(npm publish:*)", "npm run build --workspace=web"),
            ("Bash(npm publish:*)", "npm test -- $PWD/src/publish.test.js"),
        ],
        Allow,
    );
}

#[test]
fn a_placeholder_of_a_runner_is_known_only_at_run_time() {
    each(
        &[
            ("Bash(kubectl delete:*)", "echo delete | xargs -I{} kubectl {} pod"),
            ("Bash(kubectl delete:*)", "echo delete | xargs -I % kubectl % pod"),
            ("Bash(kubectl delete:*)", "xargs -i kubectl {} pod < f"),
            ("Bash(kubectl delete:*)", "xargs --replace=Q kubectl Q pod <<< delete"),
            ("Bash(kubectl delete:*)", "xargs -n1 -IX kubectl del'X' pod"),
            ("Bash(kubectl delete:*)", "find delete -maxdepth 0 -exec kubectl {} pod ';'"),
            ("Bash(python3 tools/deploy.py:*)", "find tools -name deploy.py -exec python3 {} ';'"),
            ("Bash(python3 tools/deploy.py:*)", "fd deploy -x python3 {}"),
            ("Bash(python3 tools/deploy.py:*)", "fd deploy -x python3 {//}/deploy.py"),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(kubectl delete:*)", "echo a | xargs -I{} kubectl get {}"),
            ("Bash(kubectl delete:*)", "echo a | xargs -I{} echo {}"),
        ],
        Allow,
    );
}

#[test]
fn what_npx_and_its_like_run_is_no_sub_command() {
    each(
        &[
            ("Bash(rm:*)", "npx -c 'rm x'"),
            ("Bash(rm:*)", "npx --call 'rm x'"),
            ("Bash(rm:*)", "npx rm x"),
            ("Bash(npm publish:*)", "npx npm publish"),
            ("Bash(git push:*)", "npx -c 'git push'"),
            ("Bash(git push:*)", "pnpm git push"),
            ("Bash(curl:*)", "yarn curl x"),
        ],
        Ask,
    );
    each(&[("Bash(rm:*)", "npx eslint ."), ("Bash(rm:*)", "npm run build")], Allow);
}

#[test]
fn a_sub_command_is_denied_behind_the_options_that_its_program_takes() {
    each(
        &[
            ("Bash(kubectl delete:*)", "kubectl -n prod delete pod x"),
            ("Bash(kubectl delete:*)", "kubectl --namespace prod --context=a delete pod x"),
            ("Bash(kubectl delete:*)", "kubectl -nprod delete pod x"),
            ("Bash(npm publish:*)", "npm --prefix . publish"),
            ("Bash(npm publish:*)", "npm --loglevel silent -w a publish --tag x"),
            ("Bash(npm run deploy:*)", "npm run-script deploy"),
            ("Bash(npm install:*)", "npm i x"),
            ("Bash(npm install:*)", "pnpm-x; npm --prefix=a add x"),
            ("Bash(cargo publish:*)", "cargo --color never publish"),
            ("Bash(cargo publish:*)", "cargo +nightly -Z a --config b=c publish"),
            ("Bash(cargo test:*)", "cargo t"),
            ("Bash(docker push:*)", "docker -H x push y"),
            ("Bash(docker push:*)", "docker --context prod --debug push y"),
            ("Bash(podman rm:*)", "podman --log-level error rm x"),
            ("Bash(gh pr merge:*)", "gh -R o/r pr merge 1"),
            ("Bash(gh pr merge:*)", "gh pr -R o/r merge 1"),
            ("Bash(terraform destroy:*)", "terraform -chdir=. destroy"),
            ("Bash(helm uninstall:*)", "helm -n x --kube-context y del z"),
            ("Bash(aws s3 rm:*)", "aws --profile p --region r s3 rm x"),
            ("Bash(aws s3 rm:*)", "aws s3 --profile p rm x"),
            ("Bash(gcloud run deploy:*)", "gcloud --project p beta run deploy x"),
            ("Bash(az vm delete:*)", "az --subscription s vm delete"),
            ("Bash(go install:*)", "go -C x install y"),
            ("Bash(pip install:*)", "pip --proxy p install x"),
            ("Bash(systemctl stop:*)", "systemctl --user -H host stop x"),
            ("Bash(apt install:*)", "apt -o a=b -y install x"),
            ("Bash(rustup default:*)", "rustup -q default x"),
            ("Bash(git push:*)", "git -C a -c b=c --git-dir d --no-pager push"),
            ("Bash(git push:*)", "/usr/bin/git push"),
            ("Bash(git push)", "git -C a push"),
            ("Bash(git push origin:*)", "git -C a push origin main"),
            ("Bash(make deploy:*)", "make -C x -j 4 deploy"),
            ("Bash(git push:*)", "/usr/lib/git-core/git-push origin"),
            ("Bash(curl * | sh)", "curl -s x|sh"),
        ],
        Deny,
    );
}

#[test]
fn a_spelling_does_not_hide_a_program() {
    each(
        &[
            ("Bash(rm:*)", "$'rm' x"),
            ("Bash(rm:*)", "$'\\x72m' x"),
            ("Bash(rm:*)", "{rm,x}"),
            ("Bash(rm:*)", "{rm,-rf,x}"),
            ("Bash(rm:*)", "r\"\"m x"),
            ("Bash(rm:*)", "\"rm\" x"),
            ("Bash(rm:*)", "r\\m x"),
            ("Bash(rm:*)", "$'/bin/rm' x"),
            ("Bash(rm:*)", "r\\\nm x"),
            ("Bash(rm:*)", "A=1 {rm,-r,x}; ls"),
            ("Bash(rm:*)", "if {rm,x}; then ls; fi"),
            ("Bash(git push:*)", "git $'push'"),
            ("Bash(git push:*)", "git {push,origin}"),
            ("Bash(git push:*)", "git pu\"sh\""),
            ("Bash(rm:*)", "env -S 'rm x'"),
            ("Bash(rm:*)", "env '-Srm x'"),
            ("Bash(rm:*)", "env --split-string='rm x'"),
            ("Bash(rm:*)", "busybox rm x"),
            ("Bash(rm:*)", "nice -n 5 rm x"),
            ("Bash(rm:*)", "timeout -k 1 2 rm x"),
            ("Bash(rm:*)", "command -p rm x"),
            ("Bash(rm:*)", "exec -a x rm y"),
            ("Bash(rm:*)", "ls | xargs -n1 rm"),
            ("Bash(rm:*)", "find . -exec rm {} +"),
            ("Bash(rm:*)", "su -c 'rm x'"),
            ("Bash(rm:*)", "watch 'rm x'"),
            ("Bash(git push:*)", "sudo -u me git -C x push"),
            ("Bash(git push:*)", "bash -c 'git -C x push'"),
        ],
        Deny,
    );
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
fn a_program_that_an_unknown_one_may_run_asks() {
    each(
        &[
            ("Bash(rm:*)", "prlimit --cpu=5 rm v"),
            ("Bash(rm:*)", "setpriv --no-new-privs rm v"),
            ("Bash(rm:*)", "split --filter='rm v' f"),
            ("Bash(rm:*)", "GIT_EDITOR='rm v' git commit --allow-empty"),
            ("Bash(rm:*)", "git grep -Orm x"),
            ("Bash(rm:*)", "make -f - <<< 'x: ; rm v'"),
            ("Bash(rm:*)", "fd foo -x rm"),
            ("Bash(rm:*)", "lerna exec -- rm -rf dist"),
            ("Bash(rm:*)", "pipenv run rm x"),
            ("Bash(npm publish:*)", "mise exec -- npm publish"),
            ("Bash(npm publish:*)", "op run -- npm publish"),
            ("Bash(kubectl delete:*)", "aws-vault exec p -- kubectl delete pod x"),
            ("Bash(kubectl delete:*)", "minikube kubectl -- delete pod x"),
            ("Bash(curl:*)", "proxychains curl x"),
            ("Bash(rm:*)", "unbuffer rm x"),
            ("Bash(rm:*)", "pkexec rm x"),
            ("Bash(rm:*)", "gosu root rm x"),
            ("Bash(rm:*)", "hyperfine 'rm x'"),
            ("Bash(rm:*)", "docker-compose exec web rm x"),
            ("Bash(rm:*)", "rg --pre rm x"),
            ("Bash(rm:*)", "sort --compress-program=rm f"),
            ("Bash(rm:*)", "p=rm; timeout 5 $p x"),
            ("Bash(git push:*)", "git log -1 \\\n --oneline; python3 -c \"run('git push')\""),
            ("Bash(git push:*)", "eval git status; python3 -c \"run('git push')\""),
        ],
        Ask,
    );
}

#[test]
fn a_program_in_an_expansion_is_found() {
    each(
        &[
            ("Bash(rm:*)", "${x:-rm} v"),
            ("Bash(rm:*)", "${x-rm} v"),
            ("Bash(rm:*)", "x=1; ${x:+rm} v"),
            ("Bash(rm:*)", "x=1; ${x+rm} v"),
            ("Bash(rm:*)", "${x:=rm} v"),
            ("Bash(rm:*)", "${x:-r\"\"m} v"),
            ("Bash(rm:*)", "\"${x:-rm}\" v"),
            ("Bash(rm:*)", "${1:-rm} v"),
            ("Bash(rm:*)", "${@:-rm} v"),
            ("Bash(rm:*)", "${!x:-rm} v"),
            ("Bash(rm:*)", "${x[0]-rm} v"),
            ("Bash(rm:*)", "${x:-${y:-rm}} v"),
            ("Bash(rm:*)", "y=${x:-rm}; $y v"),
            ("Bash(rm:*)", "env ${x:-rm} v"),
            ("Bash(git push:*)", "${g:-git} push origin"),
            ("Bash(git push:*)", "git ${g:-push} origin"),
            ("Bash(rm:*)", "command $(echo rm) v"),
            ("Bash(rm:*)", "env $(echo rm) v"),
            ("Bash(rm:*)", "sudo $(echo rm) v"),
            ("Bash(rm:*)", "timeout 5 $(echo rm) v"),
            ("Bash(rm:*)", "ls | xargs $(echo rm)"),
            ("Bash(rm:*)", "find . -exec $(echo rm) {} +"),
            ("Bash(rm:*)", "a=r b=m; $a$b v"),
            ("Bash(rm:*)", "a=r; b=m; \"$a${b}\" v"),
            ("Bash(rm:*)", "a=r b=m; command $a$b v"),
            ("Bash(rm:*)", "for a in r; do ${a}m v; done"),
            ("Bash(rm:*)", "IFS=_; x=rm_v; $x"),
            ("Bash(rm:*)", "a=rmx; ${a%x} v"),
            ("Bash(rm:*)", "a=r; b=${a}m; command $b v"),
            ("Bash(rm:*)", "/bin/[r][m] v"),
            ("Bash(rm:*)", "/bin/[r]* v"),
            ("Bash(rm:*)", "cd /bin; ./?? v"),
            ("Bash(rm:*)", "env /bin/[r][m] v"),
            ("Bash(rm:*)", "set -- r m; $1$2 v"),
            ("Bash(rm:*)", "set -- rm v; \"$@\""),
            ("Bash(rm:*)", "f() { $1$2; }; f r m"),
            ("Bash(rm:*)", "${u:-r}${u:-m} v"),
            ("Bash(rm:*)", "read -r x y <<< 'r m'; $x$y v"),
            ("Bash(rm:*)", "printf -v x %s%s r m; $x v"),
            ("Bash(rm:*)", ": ${x:=r}; : ${y=m}; $x$y v"),
            ("Bash(rm:*)", "x=r; eval $x'm v'"),
            ("Bash(rm:*)", "x=r; eval \"$x\"m v"),
            ("Bash(rm:*)", "x=r; bash -c \"$x\"m"),
            ("Bash(rm:*)", "x=r; sh -c \"$x\"\"m v\""),
            ("Bash(rm:*)", "x=r; trap \"$x\"m EXIT"),
            ("Bash(rm:*)", "x=r; sh <<< \"$x\"m"),
            ("Bash(rm:*)", "x=r; echo $x'm' | sh"),
            ("Bash(rm:*)", "x=r; . <(echo \"$x\"m)"),
            ("Bash(rm:*)", "x=r; $x\\m v"),
            ("Bash(/bin/rm:*)", "x=r; ${x}m v"),
            ("Bash(rm:*)", "echo r{m,} v | sh"),
            ("Bash(rm -rf:*)", "x=-rf; rm $x v"),
            ("Bash(rm -rf:*)", "x=-rf; rm \"$x\" v"),
            ("Bash(rm -rf:*)", "x=-r; y=-f; rm $x $y v"),
            ("Bash(git reset --hard:*)", "x=--hard; git reset $x"),
            ("Bash(git push --force:*)", "x='origin --force'; git push $x"),
            ("Bash(git push --force:*)", "for x in --force; do git push $x; done"),
            ("Bash(git push --force:*)", "git push ${x:---force}"),
            ("Bash(git push --force:*)", "git push $(echo --force)"),
            ("Bash(git push:*)", "x='. push'; git -C $x"),
            ("Bash(kubectl delete:*)", "x='p delete po'; kubectl -n $x"),
            ("Bash(rm:*)", "/bin/[\\r]m v"),
            ("Bash(rm:*)", "/bin/[\"r\"]m v"),
            ("Bash(rm:*)", "/bin/[[=r=]]m v"),
            ("Bash(rm:*)", "x='/bin/r?'; $x v"),
            ("Bash(rm:*)", "${u:-/bin/r?} v"),
            ("Bash(rm:*)", "${u:-r${w:-m}} v"),
            ("Bash(rm:*)", "$'rm\\0\\ud800' v"),
            ("Bash(rm:*)", "bash -c $'r\\x6d v #\\U110000'"),
            ("Bash(rm:*)", "eval eval eval eval \"'x=r; ${x}m v'\""),
            (
                "Bash(rm:*)",
                "sh -c \"sh -c 'sh -c \\\"sh -c \\\\\\\"x=r; \\\\\\\\\\\\\\${x}m v\\\\\\\"\\\"'\"",
            ),
            ("Bash(rm:*)", "declare \"x=rm\"; $x v"),
            ("Bash(rm:*)", "read x <<< $y; $x v"),
            ("Bash(rm:*)", "set -e -- rm; $1 v"),
            ("Bash(rm:*)", "set -o pipefail r m; $1$2 v"),
            ("Bash(rm:*)", "perl -e 'system @ARGV' r{m,}"),
            ("Bash(rm:*)", "bash <<'E'\nx=r; ${x}m v\nE"),
            ("Bash(rm:*)", "x=r bash <<'E'\n${x}m v\nE"),
            ("Bash(rm:*)", "bash <<< '/bin/r? v'"),
            ("Bash(rm:*)", "shopt -s nocaseglob; /bin/R[m] v"),
            ("Bash(rm:*)", "bash -O extglob -c '/bin/@(r)m v'"),
            ("Bash(rm -rf:*)", "echo -rf; rm $_ v"),
            ("Bash(rm -rf:*)", "set -- -rf; rm $1 v"),
            ("Bash(rm -rf:*)", "set -- -rf; rm \"$@\" v"),
            ("Bash(rm -rf:*)", "read x <<< -rf; rm $x v"),
            ("Bash(rm -rf:*)", "bash -c 'rm $0 v' -rf"),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(rm:*)", "cat ${x:-rm}"),
            ("Bash(rm:*)", "for f in *.sh; do ./$f; done"),
            ("Bash(rm:*)", "for i in {1..100}; do ./t$i; done"),
            ("Bash(rm:*)", "a=farm; $a x"),
            ("Bash(rm:*)", "a=/opt/farm; ${a}/bin/app x"),
            ("Bash(rm:*)", "bin=$PWD/app; $bin -v"),
            ("Bash(rm:*)", "command -v $x"),
            ("Bash(rm:*)", "c='cargo test'; $c"),
            ("Bash(rm:*)", "set -euo pipefail; \"$PYTHON\" -m x"),
            ("Bash(rm:*)", "set -e; $CC a.c; set +o posix; ${EDITOR:-vi} f"),
            ("Bash(rm:*)", "B=target/debug/x; set -e; $B --help"),
            ("Bash(rm:*)", "trap 'kill %1' EXIT; $SERVER &"),
            ("Bash(rm:*)", "export A=1 B; local c=2; read -r f; $CC \"$f\""),
            ("Bash(rm:*)", "timeout 5 ./target/*/app"),
        ],
        Allow,
    );
}

#[test]
fn an_option_that_is_not_known_leaves_open_where_the_program_of_a_runner_stands() {
    each(
        &[
            ("Bash(rm:*)", "strace --trace file rm v"),
            ("Bash(git push:*)", "strace --trace file git push"),
            ("Bash(rm:*)", "ls | xargs --process-slot echo rm v"),
            ("Bash(rm:*)", "env --chd echo rm ../v"),
            ("Bash(rm:*)", "sudo --promp echo rm v"),
            ("Bash(rm:*)", "sudo -u$x echo rm v"),
            ("Bash(rm:*)", "nice --adj echo rm v"),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(rm:*)", "/usr/bin/time -f echo rm v"),
            ("Bash(rm:*)", "env -a echo rm v"),
            ("Bash(rm:*)", "env -iS'rm v'"),
            ("Bash(rm:*)", "strace -fe file rm v"),
            ("Bash(rm:*)", "timeout --odd 5 rm v"),
        ],
        Deny,
    );
    each(
        &[
            ("Bash(rm:*)", "ls | xargs -0 -n1 -P 4 -I{} grep rm {}"),
            ("Bash(rm:*)", "sudo -E -u me apt-get install rm"),
            ("Bash(rm:*)", "timeout -s KILL --foreground 5 grep rm x"),
            ("Bash(rm:*)", "env -u X -C sub A=1 grep rm x"),
            ("Bash(rm:*)", "nice -n 5 grep rm x"),
            ("Bash(rm:*)", "stdbuf -oL grep rm x"),
        ],
        Allow,
    );
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
fn a_command_of_git_that_runs_others_is_looked_into() {
    each(
        &[
            ("Bash(git push:*)", "git for-each-repo --config=a.b push origin"),
            ("Bash(git push:*)", "git -C x for-each-repo --config=a.b -- push origin"),
            ("Bash(git push:*)", "git for-each-repo --config=a.b $x origin"),
            ("Bash(git push:*)", "git submodule foreach git push"),
            ("Bash(git push:*)", "git bisect run git push"),
            ("Bash(rm:*)", "git grep -O'rm v' S"),
            ("Bash(rm:*)", "git grep -vO'rm v' S"),
        ],
        Ask,
    );
    each(&[("Bash(rm:*)", "compgen -W '$(r\"\"m v)'")], Deny);
    each(
        &[
            ("Bash(git push:*)", "git for-each-repo --config=a.b fetch"),
            ("Bash(git push:*)", "git submodule update --init"),
            ("Bash(rm:*)", "gcc -farm x.c"),
        ],
        Allow,
    );
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
fn what_env_makes_of_one_text_is_compared() {
    each(
        &[
            ("Bash(rm:*)", "env -S 'rm\\_v'"),
            ("Bash(rm:*)", "env -Srm\\\\_v"),
            ("Bash(rm:*)", "env -vS 'A=1\\_rm\\_v'"),
            ("Bash(rm:*)", "env --split-string='rm\\tv'"),
            ("Bash(rm:*)", "env --split='rm\\_v'"),
            ("Bash(rm:*)", "env -S rm v"),
            ("Bash(rm:*)", "sh <<< 'rm x'"),
            ("Bash(rm:*)", "$'r\\x{6d}' v"),
            ("Bash(rm:*)", "bash -c $': \\xz;rm v'"),
            ("Bash(rm:*)", "bash -c $'#\\c\\\\\\nrm v'"),
            ("Bash(rm:*)", "bash <<< 'r{m,} v'"),
            ("Bash(rm:*)", "bash <<'EOF'\nrm x\nEOF"),
            ("Bash(git push:*)", "env -S git push"),
            ("Bash(git push:*)", "env -S 'git\\_push'"),
        ],
        Deny,
    );
    each(&[("Bash(rm:*)", "env -S 'r${x}m v'")], Ask);
    each(&[("Bash(rm:*)", "env -S 'ls\\_-l'"), ("Bash(rm:*)", "env -S 'ls -l'")], Allow);
}

#[test]
fn a_program_in_what_another_command_puts_out_is_a_doubt_where_its_reader_may_run_it() {
    each(
        &[
            ("Bash(rm:*)", "echo rm v | rbash"),
            ("Bash(rm:*)", "echo rm v |& rbash"),
            ("Bash(rm:*)", "echo rm v | tee f | rbash"),
            ("Bash(rm:*)", "echo rm v | { rbash; }"),
            ("Bash(rm:*)", "echo rm v | script -q"),
            ("Bash(rm:*)", "echo rm v | unshare -U"),
            ("Bash(rm:*)", "echo rm v | setpriv bash"),
            ("Bash(rm:*)", "echo rm v | setarch x86_64"),
            ("Bash(rm:*)", "echo rm v | nsenter"),
            ("Bash(rm:*)", "echo rm v | xargs env"),
            ("Bash(rm:*)", "echo rm | xargs -I% % v"),
            ("Bash(rm:*)", "echo 'x: ; rm v' | make -f -"),
            ("Bash(rm:*)", "rbash <(echo rm v)"),
            ("Bash(rm:*)", "echo rm v > >(rbash)"),
            ("Bash(rm:*)", "x=r; x+=m; $x v"),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(rm:*)", "git log --grep rm | head"),
            ("Bash(rm:*)", "grep -rn rm src | sort | uniq -c"),
            ("Bash(rm:*)", "echo rm | xargs grep -l x"),
            ("Bash(rm:*)", "ls | rbash"),
            ("Bash(git push:*)", "git log --oneline | more"),
            ("Bash(rm:*)", "cargo build 2>&1 | more; echo rm"),
        ],
        Allow,
    );
}

#[test]
fn letters_of_a_value_are_no_options() {
    let lines = [
        ("Bash(git commit --no-verify:*)", "git commit -mnew"),
        ("Bash(git commit -n:*)", "git commit -amnew"),
        ("Bash(git commit -n:*)", "git -C x commit -mnew"),
        ("Bash(git push --force:*)", "git push -ofix"),
        ("Bash(git push -f:*)", "git push -ofix"),
        ("Bash(git tag -d:*)", "git tag -madd v1"),
        ("Bash(git branch -D:*)", "git branch -udef"),
        ("Bash(git * --force:*)", "git commit -mfix"),
        ("Bash(make -f:*)", "make -jf"),
    ];
    each(&lines, Decision::Allow);
    let doubts = [
        ("Bash(git commit --no-verify:*)", "git commit -nmew"),
        ("Bash(git commit -n:*)", "git commit -an -mx"),
        ("Bash(git push --force:*)", "git push -fofix"),
        ("Bash(git stash show -p:*)", "git stash show -mp"),
        ("Bash(git rebase -i:*)", "git rebase -mi"),
        ("Bash(git clean -f:*)", "git clean -mf commit"),
    ];
    each(&doubts, Decision::Ask);
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
fn a_program_that_functions_and_shells_get_as_a_text_is_a_doubt_unless_the_text_is_certain() {
    each(
        &[
            ("Bash(rm:*)", "x=r; f() { \"$@\"; }; f ${x}m v"),
            ("Bash(rm:*)", "f() { $1 $2; }; f r{m,} v"),
            ("Bash(rm:*)", "echo r{m,}; $_ v"),
            ("Bash(rm:*)", "x=r; test -v \"a[\\$(${x}m v)]\""),
            ("Bash(rm:*)", "x=r; PS4='$(${x}m v)'; set -x; :"),
            ("Bash(rm:*)", "echo ${u:-r}m v | bash"),
            ("Bash(rm:*)", ": ${x:=r}; echo ${x}m v | bash"),
            ("Bash(rm:*)", "read x <<< r; echo ${x}m v | sh"),
            ("Bash(rm:*)", ". <(echo \"${u:-r}m v\")"),
            ("Bash(rm:*)", "bash -c \"${u:-r}m v\""),
            ("Bash(rm:*)", "eval \"$setup\""),
            ("Bash(rm:*)", "git -c alias.z=\"!${u:-r}m v\" z"),
            ("Bash(rm:*)", "perl -e \"system(qq(${u:-r}m v))\""),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(rm:*)", "source <(kubectl completion bash)"),
            ("Bash(rm:*)", "bash build.sh \"$target\""),
            ("Bash(rm:*)", "bash build.sh -c \"$target\""),
            ("Bash(rm:*)", "cat > run.sh <<'E'\nls\nE\nbash run.sh \"$x\""),
            ("Bash(rm:*)", "f() { ls \"$1\"; }; f src"),
            ("Bash(rm:*)", "while read -r f; do wc -l \"$f\"; done < list"),
            ("Bash(rm:*)", "curl -s https://example.com/install | sh"),
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

#[test]
fn a_package_counts_with_a_version_too() {
    each(
        &[
            ("Bash(vercel:*)", "npx vercel@latest deploy"),
            ("Bash(vercel:*)", "npx -y vercel@latest deploy"),
            ("Bash(vercel:*)", "npm exec vercel@latest"),
            ("Bash(vercel:*)", "pnpm dlx vercel@latest"),
            ("Bash(vercel:*)", "bunx @a/vercel@1"),
            ("Bash(npm publish:*)", "npx npm@9 publish"),
            ("Bash(wrangler deploy:*)", "npx wrangler@3 deploy"),
            ("Bash(twine:*)", "uv tool run twine@5 upload"),
            ("Bash(twine:*)", "pipx run twine==5 upload"),
            ("Bash(npx prisma migrate:*)", "npx prisma@5 migrate"),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(vercel:*)", "npx vercels@latest deploy"),
            ("Bash(npx prisma migrate:*)", "npx prisma@5 generate"),
        ],
        Allow,
    );
}
