//! The spellings of programs, sub-commands, options and packages.

use crate::permission::judge::Decision::{Allow, Ask, Deny};

use super::each;

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
            ("Bash(make deploy:*)", "echo deploy | xargs -IT own make T"),
            ("Bash(make deploy:*)", "echo deploy | xargs -0i% own make %"),
            ("Bash(make deploy:*)", "echo deploy | xargs --replace=T own make T"),
            ("Bash(make deploy:*)", "echo deploy | sudo xargs -I T own make T"),
            ("Bash(make deploy:*)", "echo deploy | parallel -I T own make T"),
            ("Bash(make deploy:*)", "echo deploy | parallel --rpl 'T s/x/y/' own make T"),
            ("Bash(make deploy:*)", "echo deploy | parallel --rpl 'T s/x/y/' -j4 make T"),
            ("Bash(make deploy:*)", "echo deploy | parallel --bnr T make T"),
            ("Bash(make deploy:*)", "echo deploy | parallel -kU T make T"),
            ("Bash(make deploy:*)", "echo deploy | parallel --plus make '{,,}'"),
            ("Bash(kubectl delete:*)", "find delete -maxdepth 0 -exec kubectl {} pod ';'"),
            ("Bash(python3 tools/deploy.py:*)", "find tools -name deploy.py -exec python3 {} ';'"),
            ("Bash(python3 tools/deploy.py:*)", "fd deploy -x python3 {}"),
            ("Bash(python3 tools/deploy.py:*)", "fd deploy -x python3 {//}/deploy.py"),
            ("Bash(kubectl delete:*)", "echo le | xargs -I{} kubectl de{}te pod"),
            ("Bash(kubectl delete:*)", "echo le | xargs -0I% kubectl de%te pod"),
            ("Bash(kubectl delete:*)", "find le -maxdepth 0 -exec kubectl de{}te pod ';'"),
            ("Bash(kubectl delete:*)", "find kube -maxdepth 0 -exec {}ctl delete pod ';'"),
            ("Bash(kubectl delete:*)", "echo delete | xargs -I% sh -c 'kubectl % pod'"),
            ("Bash(kubectl delete:*)", "xargs -IX env bash -c 'kubectl X pod' <<< delete"),
            ("Bash(kubectl delete:*)", "fd delete -x kubectl {/} pod"),
            ("Bash(kubectl delete:*)", "fd delete -X kubectl {.} pod"),
            ("Bash(kubectl delete:*)", "fd le -x kubectl de{}te"),
            ("Bash(kubectl delete:*)", "parallel 'kubectl {}' ::: delete"),
            ("Bash(kubectl delete:*)", "parallel kubectl de{}te ::: le"),
            ("Bash(kubectl delete:*)", "parallel kubectl {.} ::: delete.x"),
        ],
        Ask,
    );
    each(
        &[
            ("Bash(kubectl delete:*)", "echo a | xargs -I{} kubectl get {}"),
            ("Bash(kubectl delete:*)", "echo a | xargs -I{} echo {}"),
            ("Bash(kubectl delete:*)", "find . -name '*.o' -exec mv {} {}.bak ';'"),
            ("Bash(kubectl delete:*)", "find . -name '*.o' -exec sh -c 'mv \"$1\" x' _ {} ';'"),
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
    each(&lines, Allow);
    let doubts = [
        ("Bash(git commit --no-verify:*)", "git commit -nmew"),
        ("Bash(git commit -n:*)", "git commit -an -mx"),
        ("Bash(git push --force:*)", "git push -fofix"),
        ("Bash(git stash show -p:*)", "git stash show -mp"),
        ("Bash(git rebase -i:*)", "git rebase -mi"),
        ("Bash(git clean -f:*)", "git clean -mf commit"),
    ];
    each(&doubts, Ask);
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
            ("Bash(rm:*)", "$'r\\x{6d}' v"),
            ("Bash(rm:*)", "bash -c $': \\xz;rm v'"),
            ("Bash(rm:*)", "bash -c $'#\\c\\\\\\nrm v'"),
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
