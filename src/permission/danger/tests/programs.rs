//! Dangers of single programs, through the judge.

use std::fs;

use super::super::super::judge::Decision::{Allow, Ask};
use super::super::super::judge::testing::JudgeFixture;
use super::asked_about;

pub fn allowed(rows: &[(&str, &str)]) {
    let judge = |(rule, line): &(&str, &str)| {
        let judgement = JudgeFixture::new().allow(rule).bash_judgement(line);
        (judgement.decision != Allow).then(|| format!("{rule} ~ {line}: {}", judgement.why))
    };
    let wrong: Vec<String> = rows.iter().filter_map(judge).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_repository_on_this_machine_is_named_by_the_rule_or_asked_about() {
    asked_about(&[
        ("Bash(git push:*)", "git push ./fx HEAD:refs/heads/y"),
        ("Bash(git push:*)", "git push /tmp/fx main"),
        ("Bash(git push:*)", "git push ~/fx main"),
        ("Bash(git push:*)", "git push file:///tmp/fx main"),
        ("Bash(git push:*)", "git push FILE:///tmp/fx main"),
        ("Bash(git push:*)", "git push sub/fx main"),
        ("Bash(git push:*)", "git push -uf ./fx main"),
        ("Bash(git push:*)", "git push -o x ./fx main"),
        ("Bash(git push:*)", "git push --some-option ./fx main"),
        ("Bash(git push:*)", "git push -- ./fx main"),
        ("Bash(git push:*)", "git push --repo=./fx"),
        ("Bash(git push:*)", "git push src main"),
        ("Bash(git push:*)", "x=./fx; git push $x main"),
        ("Bash(git push:*)", "git push ./$x main"),
        ("Bash(git -C src:*)", "git -C src push ../fx main"),
        ("Bash(git:*)", "git fetch ./fx"),
        ("Bash(git fetch:*)", "git fetch --depth 1 ./fx"),
        ("Bash(git pull:*)", "git pull -s ort ./fx main"),
        ("Bash(git ls-remote:*)", "git ls-remote ./fx"),
        ("Bash(git clone:*)", "git clone ./fx y"),
        ("Bash(git clone:*)", "git clone -b main file:///x y"),
        ("Bash(git remote:*)", "git remote add x ./fx"),
        ("Bash(git remote:*)", "git remote add x src"),
        ("Bash(git remote:*)", "git remote -v add -t main x ./fx"),
        ("Bash(git remote:*)", "git remote set-url --push origin ./fx"),
        ("Bash(git remote:*)", "git remote show ./fx"),
        ("Bash(git submodule:*)", "git submodule --quiet add ./fx"),
        ("Bash(git submodule:*)", "git submodule set-url a ../fx"),
        ("Bash(git push:*)", "git push ssh://localhost/tmp/fx main"),
        ("Bash(git push:*)", "git push -u git@localhost:/tmp/fx main"),
        ("Bash(git push:*)", "git push laptop:/tmp/fx main"),
        ("Bash(git fetch:*)", "git fetch git://127.0.0.1/fx"),
        ("Bash(git pull:*)", "git pull [::1]:fx main"),
        ("Bash(git ls-remote:*)", "git ls-remote http://localhost:3000/fx"),
        ("Bash(git clone:*)", "git clone foo::https://example.org/fx"),
        ("Bash(git clone:*)", "git clone ssh://example.org@0/fx"),
        ("Bash(git remote:*)", "git remote add x localhost:fx"),
        ("Bash(git remote:*)", "git remote set-url origin https://127.1/fx"),
        ("Bash(git submodule:*)", "git submodule add ssh://localhost/fx lib"),
        ("Bash(gh repo clone:*)", "gh repo clone ssh://localhost/fx"),
    ]);
    let bench = JudgeFixture::new().allow("Bash(git push:*)").allow("Bash(git remote:*)");
    for line in ["git push src main", "git remote add x src"] {
        // Git goes to the top of the checkout before it looks for the folder.
        let judgement = bench.bash_in("src", line);
        assert!(
            judgement.why.contains("a repository on this machine"),
            "{line}: {}",
            judgement.why
        );
    }
    allowed(&[
        ("Bash(git push ./fx:*)", "git push ./fx HEAD:refs/heads/y"),
        ("Bash(git push:*)", "git push"),
        ("Bash(git push:*)", "git push origin feature/x"),
        ("Bash(git push:*)", "git push -u origin src"),
        ("Bash(git push:*)", "git push -fu origin feature/x"),
        ("Bash(git push:*)", "git push -o ci.skip origin feature/x"),
        ("Bash(git push:*)", "git push --force-with-lease origin feature/x"),
        ("Bash(git push:*)", "git push origin --delete feature/x"),
        ("Bash(git push:*)", "git push git@example.com:o/r.git main"),
        ("Bash(git push:*)", "git push https://example.com/o/r main:feature/x"),
        ("Bash(git push:*)", "git push ssh://git@example.com:2222/o/r main:feature/x"),
        ("Bash(git push ssh://localhost/r:*)", "git push ssh://localhost/r main"),
        ("Bash(git submodule:*)", "git submodule add -b main https://example.com/o/r lib"),
        ("Bash(gh repo clone:*)", "gh repo clone o/r"),
        ("Bash(gh repo clone:*)", "gh repo clone https://github.com/o/r"),
        ("Bash(git:*)", "git fetch --all --prune"),
        ("Bash(git fetch:*)", "git fetch --depth 1 origin feature/x"),
        ("Bash(git pull:*)", "git pull --rebase origin feature/x"),
        ("Bash(git clone:*)", "git clone --depth 1 -b a/b https://example.com/o/r r"),
        ("Bash(git remote:*)", "git remote add up git@example.com:o/r.git"),
        ("Bash(git remote:*)", "git remote -v"),
        ("Bash(git submodule:*)", "git submodule update --init src"),
    ]);
}

#[test]
fn a_name_that_git_may_take_for_a_folder_is_asked_about() {
    let bench = || {
        let bench = JudgeFixture::new().allow("Bash(git push:*)");
        let remote = "[remote \"fx\"]\n\turl = https://example.org/fx.git\n";
        fs::write(bench.root.join("project/.git/config"), remote).unwrap();
        bench
    };
    assert_eq!(bench().bash("git push fx main"), Allow);
    // It may be a folder by the time the command runs.
    bench().asks(["git push up main", "git push f? main"]);
    let with_folder = |name: &str| {
        let bench = bench();
        fs::create_dir(bench.places.project.join(name)).unwrap();
        bench
    };
    for name in ["fx", "fx.git"] {
        assert_eq!(with_folder(name).bash("git push fx main"), Ask, "{name}");
    }
    assert_eq!(with_folder("src/fx").bash("git push fx main"), Allow);
    assert_eq!(with_folder("src/fx").bash("cd src && git push fx main"), Ask);
    let why = with_folder("fx").bash_judgement("git push fx main").why;
    assert!(why.starts_with("no rule allows git with a repository on this machine"), "{why}");
    assert!(why.ends_with("Bash(git push fx main) would allow it"), "{why}");
}

#[test]
fn a_strategy_of_a_merge_is_one_of_gits_own() {
    asked_about(&[
        ("Bash(git rebase:*)", "git rebase -s x/e s"),
        ("Bash(git rebase:*)", "git rebase -sx/e s"),
        ("Bash(git rebase:*)", "git rebase -is x/e s"),
        ("Bash(git rebase:*)", "git rebase -Xa -s x/e s"),
        ("Bash(git rebase:*)", "git rebase --strat x/e s"),
        ("Bash(git:*)", "git cherry-pick --strategy=x/e s"),
        ("Bash(git:*)", "git revert --strategy x/e HEAD"),
        ("Bash(git:*)", "git pull --rebase -s x/e origin s"),
        ("Bash(git:*)", "git merge -s x/e s"),
        ("Bash(git merge:*)", "git merge --no-commit -s x/e s"),
        ("Bash(git -C src:*)", "git -C src merge -s x/e s"),
        ("Bash(git merge:*)", "git merge --strategy=$x s"),
        ("Bash(git merge:*)", "x=x/e; git merge -s $x s"),
        ("Bash(git merge:*)", "git merge -s"),
    ]);
    allowed(&[
        ("Bash(git merge:*)", "git merge -s ours s"),
        ("Bash(git merge:*)", "git merge -sort -Xtheirs s"),
        ("Bash(git merge:*)", "git merge --strategy=octopus a b"),
        ("Bash(git merge:*)", "git merge --stat --squash -m 'say so' s"),
        ("Bash(git rebase:*)", "git rebase -X ours main"),
        ("Bash(git rebase:*)", "git rebase --strategy-option=ours main"),
        ("Bash(git cherry-pick:*)", "git cherry-pick -s -x a"),
        ("Bash(git rebase -s:*)", "git rebase -s x/e s"),
    ]);
}

#[test]
fn programs_with_many_options_that_name_files_are_covered_for_those_that_are_known() {
    asked_about(&[
        ("Bash(openssl:*)", "openssl list -provider /x.so -providers"),
        ("Bash(openssl:*)", "openssl list --provider /x.so"),
        ("Bash(openssl:*)", "openssl list -engines"),
        ("Bash(openssl:*)", "openssl dgst -engine ./x.so a"),
        ("Bash(openssl:*)", "openssl engine ./x.so"),
        ("Bash(openssl:*)", "openssl req -newkey rsa:1024 -nodes -keyout x -subj /CN=a"),
        ("Bash(openssl:*)", "openssl x509 -in a -out x"),
        ("Bash(openssl:*)", "openssl rand -writerand x 1"),
        ("Bash(openssl:*)", "openssl s_client -connect h:443 -keylogfile x"),
        ("Bash(openssl:*)", "openssl s_client -connect h:443 -sess_out x"),
        ("Bash(openssl:*)", "openssl x509 -in a -$x b"),
        ("Bash(openssl:*)", "x=-out; openssl x509 -in a $x b"),
        ("Bash(openssl:*)", "openssl rehash x"),
        ("Bash(gpg:*)", "gpg --agent-program ./x -K"),
        ("Bash(gpg:*)", "gpg --agent ./x -K"),
        ("Bash(gpg:*)", "gpg --status-file x --verify a"),
        ("Bash(gpg:*)", "gpg --log-file x -K"),
        ("Bash(gpg:*)", "gpg --output x -d a"),
        ("Bash(gpg:*)", "gpg -do x a"),
        ("Bash(gpg:*)", "gpg -o x -d a"),
    ]);
    allowed(&[
        ("Bash(openssl x509 -in a -out:*)", "openssl x509 -in a -out x"),
        ("Bash(openssl:*)", "openssl x509 -in a.pem -noout -text -dates"),
        ("Bash(openssl:*)", "openssl s_client -connect h:443 -servername h -showcerts"),
        ("Bash(openssl:*)", "openssl rand -base64 32"),
        ("Bash(openssl:*)", "openssl dgst -sha256 a"),
        ("Bash(openssl:*)", "openssl version -a"),
        ("Bash(openssl:*)", "openssl verify -CAfile ca.pem a.pem"),
        ("Bash(openssl:*)", "for f in a b; do openssl x509 -in $f -noout -enddate; done"),
        ("Bash(gpg:*)", "gpg --verify a.sig a"),
        ("Bash(gpg:*)", "gpg --batch --armor --export A"),
        ("Bash(gpg:*)", "gpg -ear someone a"),
        ("Bash(gpg:*)", "gpg --list-secret-keys --keyid-format=long"),
    ]);
}

#[test]
fn a_rule_for_a_program_with_sub_commands_covers_its_everyday_ones() {
    asked_about(&[
        ("Bash(kubectl:*)", "kubectl config set-credentials a --exec-command=./x"),
        ("Bash(kubectl:*)", "kubectl -n prod config use-context a"),
        ("Bash(kubectl config:*)", "kubectl config set-credentials a --exec-command=./x"),
        ("Bash(kubectl:*)", "kubectl cp pod:/a ~/x"),
        ("Bash(kubectl:*)", "kubectl unknown"),
        ("Bash(kubectl:*)", "kubectl cluster-info dump --output-directory=/x"),
        ("Bash(kubectl:*)", "kubectl kustomize --enable-helm --helm-command ./x ."),
        ("Bash(kubectl kustomize:*)", "kubectl kustomize . -o x"),
        ("Bash(kubectl kustomize:*)", "kubectl kustomize . --output=x"),
        ("Bash(kubectl kustomize:*)", "kubectl kustomize --enable-exec ."),
        ("Bash(kubectl kustomize:*)", "kubectl kustomize --enable-alpha-plugins ."),
        ("Bash(helm:*)", "helm plugin install x"),
        ("Bash(helm template:*)", "helm template . --output-dir ../x"),
        ("Bash(helm template:*)", "helm template . --post-renderer ./x"),
        ("Bash(helm pull:*)", "helm pull a/b -d /x"),
        ("Bash(gh:*)", "gh config set pager ./x"),
        ("Bash(gh config:*)", "gh config set editor ./x"),
        ("Bash(gh:*)", "gh alias set x '!y'"),
        ("Bash(gh:*)", "gh extension install o/x"),
        ("Bash(gh:*)", "gh x"),
        ("Bash(gh:*)", "gh release download -D /x"),
        ("Bash(gh release:*)", "gh release download -O /x"),
        ("Bash(gh run download:*)", "gh run download 1 -D /x"),
        ("Bash(docker:*)", "docker save -o /x a"),
        ("Bash(docker save:*)", "docker save -o /x a"),
        ("Bash(docker image:*)", "docker image save -o /x a"),
        ("Bash(docker:*)", "docker cp a:/x ~/y"),
        ("Bash(docker container:*)", "docker container cp a:/x ~/y"),
        ("Bash(docker build:*)", "docker build -o /x ."),
        ("Bash(docker build:*)", "docker build --output=type=local,dest=/x ."),
        ("Bash(docker build:*)", "docker build --iidfile /x ."),
        ("Bash(docker run:*)", "docker run -v /:/h a"),
        ("Bash(docker run:*)", "docker run -itv/:/h a"),
        ("Bash(docker run:*)", "docker run --volume=~/x:/h a"),
        ("Bash(docker run:*)", "docker run --mount type=bind,source=/,target=/h a"),
        ("Bash(docker run:*)", "docker run -v ~/x:/h a"),
        ("Bash(docker run:*)", "docker run -v ~:/h a"),
        ("Bash(docker run:*)", "docker run -v ~root:/h a"),
        ("Bash(docker run:*)", "docker run -itv ~:/h a"),
        ("Bash(cmake --build:*)", "cmake --build b -- SHELL=./x"),
        ("Bash(mvn:*)", "mvn -Dmaven.surefire.debug=x test"),
        ("Bash(bun test:*)", "bun test --import ./x"),
        ("Bash(bun test:*)", "bun test --require=./x"),
        ("Bash(docker run:*)", "docker run -v \"$PWD/../..:/h\" a"),
        ("Bash(docker run:*)", "docker run -v \"$HOME:/h\" a"),
        ("Bash(docker run:*)", "PWD=/; docker run -v \"$PWD:/h\" a"),
        ("Bash(docker run:*)", "x=/; docker run -v $x:/h a"),
    ]);
    allowed(&[
        (
            "Bash(kubectl config set-context:*)",
            "kubectl config set-context --current --namespace=a",
        ),
        ("Bash(kubectl cp:*)", "kubectl cp pod:/a x"),
        ("Bash(kubectl:*)", "kubectl config view --minify"),
        ("Bash(kubectl:*)", "kubectl config get-contexts -o name"),
        ("Bash(kubectl:*)", "kubectl -n prod apply -k overlays/prod"),
        ("Bash(kubectl:*)", "kubectl get pods -o jsonpath='{.items}'"),
        ("Bash(kubectl:*)", "kubectl get pods --output=custom-columns=N:.metadata.name"),
        ("Bash(kubectl:*)", "kubectl run a --image=b --command -- sleep 1"),
        ("Bash(helm:*)", "helm upgrade --install a ./chart -f values.yaml -nprod"),
        ("Bash(gh:*)", "gh pr create --title alias --body 'set x'"),
        ("Bash(gh:*)", "gh config get pager"),
        ("Bash(gh:*)", "gh run download 1"),
        ("Bash(docker:*)", "docker build -t a/b:1 ."),
        ("Bash(docker:*)", "docker run --rm -it -v data:/data -p 80:80 a"),
        ("Bash(docker:*)", "docker run --rm -v \"$PWD:/app\" a"),
        ("Bash(docker:*)", "docker compose up -d"),
        ("Bash(docker:*)", "docker image ls"),
    ]);
}

#[test]
fn settings_of_ssh_do_not_hide_behind_marks_that_ssh_passes_over() {
    asked_about(&[
        ("Bash(ssh:*)", "ssh -o =ProxyCommand=./x h"),
        ("Bash(scp:*)", "scp -o =ProxyCommand=./x f h:b"),
        ("Bash(sftp:*)", "sftp -o =ProxyCommand=./x h"),
        ("Bash(ssh:*)", "ssh -o '=ProxyCommand ./x' h"),
        ("Bash(ssh:*)", "ssh -o ' =ProxyCommand=./x' h"),
        ("Bash(ssh:*)", "ssh -o '\"ProxyCommand\" ./x' h"),
        ("Bash(ssh:*)", "ssh -o=ProxyCommand=./x h"),
        ("Bash(ssh:*)", "ssh -o '' h"),
        ("Bash(ssh:*)", "ssh -S /x -M h"),
    ]);
    allowed(&[
        ("Bash(ssh:*)", "ssh -o ' Port = 22' -o\"User\"=a h"),
        ("Bash(ssh -o:*)", "ssh -o ConnectTimeout=5 h"),
    ]);
}

#[test]
fn archives_stay_below_the_folder() {
    asked_about(&[
        ("Bash(tar:*)", "tar cf /x a"),
        ("Bash(tar:*)", "tar cf ../x a"),
        ("Bash(tar:*)", "tar -czf ~/x a"),
        ("Bash(tar:*)", "tar -cf.git/hooks/x a"),
        ("Bash(tar:*)", "tar -cLf /x a"),
        ("Bash(bsdtar:*)", "bsdtar -cHf ../x a"),
        ("Bash(tar:*)", "tar -c -f a/../../x a"),
        ("Bash(tar:*)", "tar --create --file=/x a"),
        ("Bash(tar:*)", "tar --crea --fil /x a"),
        ("Bash(tar:*)", "tar rbf 20 /x a"),
        ("Bash(tar:*)", "tar cf /*/x a"),
        ("Bash(tar:*)", "tar cf \"$HOME/x\" a"),
        ("Bash(tar:*)", "tar xf a -C ~"),
        ("Bash(tar:*)", "tar xf a -C /x"),
        ("Bash(tar:*)", "tar xCf /x a"),
        ("Bash(tar:*)", "tar xf a --directory ../x"),
        ("Bash(tar:*)", "tar xf a --directory=.git"),
        ("Bash(tar:*)", "tar xf host:a"),
    ]);
    allowed(&[
        ("Bash(tar cf /x:*)", "tar cf /x a"),
        ("Bash(tar:*)", "tar xf /tmp/a.tgz -C out"),
        ("Bash(tar:*)", "tar -tvf ../a.tgz"),
        ("Bash(tar:*)", "tar czf out/a.tgz --exclude .git ."),
        ("Bash(tar:*)", "tar -cf - a"),
    ]);
}

#[test]
fn the_name_of_an_option_says_what_it_does_whatever_program_has_it() {
    asked_about(&[
        ("Bash(xmllint:*)", "xmllint --shell a"),
        ("Bash(mytool:*)", "mytool --log-file=x"),
        ("Bash(mytool:*)", "mytool --Output-Dir x"),
        ("Bash(mytool:*)", "mytool --some_program ./x"),
        ("Bash(mytool:*)", "mytool --junit-xml x"),
        ("Bash(mytool:*)", "mytool --log-file=$x"),
        ("Bash(mytool:*)", "mytool --report-file x"),
        ("Bash(mytool:*)", "x=file; mytool --log-$x y"),
        ("Bash(mytool:*)", "x=--log-file; mytool $x y"),
        ("Bash(pip config:*)", "pip config edit --editor ./x"),
        ("Bash(pip:*)", "pip config --editor ./x edit"),
        ("Bash(cargo:*)", "cargo test --some-editor ./x"),
    ]);
    allowed(&[
        ("Bash(mytool:*)", "mytool --no-pager --filter x"),
        ("Bash(mytool --log-file:*)", "mytool --log-file x"),
        ("Bash(mytool:*)", "mytool --exclude=x --name-only"),
        ("Bash(psql:*)", "psql --command 'select 1'"),
        ("Bash(journalctl:*)", "journalctl --output=short-iso -n 5"),
        ("Bash(mytool:*)", "mytool a -- --log-file=x"),
    ]);
}

#[test]
fn options_of_single_programs_that_write_or_run() {
    asked_about(&[
        ("Bash(git:*)", "git interpret-trailers --in-place --trailer 'x: y' f"),
        ("Bash(git:*)", "git apply --build-fake-ancestor=/x p"),
        ("Bash(curl:*)", "curl -sT x file:///y"),
        ("Bash(curl:*)", "curl --upload-file x https://a"),
        ("Bash(curl:*)", "curl --unix-socket /run/x http://a"),
        ("Bash(rsync:*)", "rsync --daemon '--dparam=pre-xfer exec=./x'"),
        ("Bash(rsync:*)", "rsync --dparam x a b"),
        ("Bash(terraform plan:*)", "terraform plan -out=/x"),
        ("Bash(terraform apply:*)", "terraform apply -state-out=/x"),
        ("Bash(pytest:*)", "pytest --log-file=x"),
        ("Bash(pytest:*)", "pytest --debug=x"),
        ("Bash(pytest:*)", "pytest --report-log x"),
        ("Bash(pytest:*)", "pytest -p x"),
        ("Bash(pytest:*)", "pytest -vpx"),
        ("Bash(pytest:*)", "pytest --basetemp=x"),
        ("Bash(pytest:*)", "pytest --rootdir x"),
        ("Bash(pylint:*)", "pylint --import-graph=x.dot a"),
        ("Bash(pylint:*)", "pylint --load-plugins x a"),
        ("Bash(mypy:*)", "mypy --cobertura-xml-report x a"),
        ("Bash(mypy:*)", "mypy --timing-stats x a"),
        ("Bash(mypy:*)", "mypy --junit-xml=x a"),
        ("Bash(jest:*)", "jest --testRunner ./x"),
        ("Bash(jest:*)", "jest --globalTeardown=./x"),
        ("Bash(jest:*)", "jest --setupFilesAfterEnv ./x"),
        ("Bash(jest:*)", "jest --testEnvironment=./x"),
        ("Bash(jest:*)", "jest --filter ./x"),
        ("Bash(eslint:*)", "eslint --cache-location x a"),
        ("Bash(prettier:*)", "prettier --cache-location=x a"),
        ("Bash(prettier:*)", "prettier --plugin=./x a"),
        ("Bash(ctest:*)", "ctest --output-junit x"),
        ("Bash(npm run test:*)", "npm run test --no-script-shell ./e"),
        ("Bash(npm run test:*)", "npm run test --no-no-script-shell=./e"),
        ("Bash(npm run test:*)", "npm run test -no-script-sh ./e"),
        ("Bash(npm test:*)", "npm test --NO-script-shell ./e"),
        ("Bash(pnpm run test:*)", "pnpm run test --no-script-shell ./e"),
        ("Bash(cargo clippy:*)", "cargo clippy -- --print=cfg=/x"),
        ("Bash(cargo clippy:*)", "cargo clippy -- --print sysroot=/x"),
        ("Bash(tsc:*)", "tsc -P /x"),
        ("Bash(tsc:*)", "tsc -B /x"),
        ("Bash(tsc:*)", "tsc --p /x"),
    ]);
    allowed(&[
        ("Bash(npm run test:*)", "npm run test --no-audit --if-present"),
        ("Bash(cargo clippy:*)", "cargo clippy --all-targets -- -D warnings"),
        ("Bash(tsc:*)", "tsc --noEmit --Pretty"),
        ("Bash(pytest:*)", "pytest -p no:cacheprovider -xvs tests"),
        ("Bash(pytest:*)", "pytest --durations=5 --cov-report=term -n 4"),
        ("Bash(curl:*)", "curl -X PUT -d@x https://a"),
        ("Bash(terraform plan:*)", "terraform plan -var-file=x -no-color"),
        ("Bash(rsync:*)", "rsync -avz --partial --exclude x a b"),
    ]);
}

#[test]
fn a_formatter_is_offered_as_the_exact_call() {
    for line in [
        "black --diff .",
        "black .",
        "gofmt -d .",
        "isort --check-only .",
        "isort -c .",
        "isort --diff .",
        "ruff format --diff",
        "ruff check --diff .",
        "dotnet format --verify-no-changes",
        "terraform fmt -write=false",
        "rustfmt --emit stdout a.rs",
        "cargo fmt",
        "go fmt ./...",
        "git add -n .",
    ] {
        let suggestions = JudgeFixture::new().bash_judgement(line).suggestions;
        assert_eq!(suggestions, [format!("Bash({line})")], "{line}");
    }
    let suggestions = JudgeFixture::new().bash_judgement("pytest --collect-only").suggestions;
    assert_eq!(suggestions, ["Bash(pytest:*)"]);
}

#[test]
fn options_count_behind_runners_of_environments() {
    asked_about(&[
        ("Bash(direnv exec:*)", "direnv exec . sort -o /x a"),
        ("Bash(direnv exec:*)", "direnv exec . make 'a$(touch x)'"),
        ("Bash(conda run:*)", "conda run -n x pytest -c /x"),
        ("Bash(mise exec:*)", "mise exec -- git log --output=/x"),
        ("Bash(nix shell:*)", "nix shell nixpkgs#gnumake -c make -f /x"),
        ("Bash(poetry run:*)", "poetry run $(cat x)"),
        ("Bash(bundle exec:*)", "bundle exec \"$x\""),
        ("Bash(pixi run:*)", "pixi run curl -o /x https://a"),
    ]);
    allowed(&[
        ("Bash(direnv exec:*)", "direnv exec . make test"),
        ("Bash(poetry run:*)", "poetry run pytest tests/*.py"),
        ("Bash(poetry run:*)", "for x in a b; do poetry run pytest $x; done"),
        ("Bash(conda:*)", "conda install -y git pytest"),
        ("Bash(nix build:*)", "nix build .#x --no-link"),
    ]);
}

#[test]
fn a_package_manager_takes_no_settings_and_hooks() {
    asked_about(&[
        ("Bash(apt-get install:*)", "apt-get install -o 'DPkg::Pre-Invoke::=./x' y"),
        ("Bash(apt install:*)", "apt install -y -oDPkg::Pre-Invoke::=./x y"),
        ("Bash(apt-get install:*)", "apt-get install --opt=DPkg::Pre-Invoke::=./x y"),
        ("Bash(apt-get install:*)", "apt-get install -c ./x y"),
        ("Bash(dnf install:*)", "dnf install --setopt=pluginpath=x y"),
        ("Bash(dpkg:*)", "dpkg --pre-invoke=./x -i y"),
        ("Bash(rpm:*)", "rpm -qa --pipe ./x"),
        ("Bash(rpm:*)", "rpm -E '%(./x)'"),
        ("Bash(pacman:*)", "pacman -S --hookdir x y"),
    ]);
    allowed(&[
        ("Bash(apt-get install:*)", "apt-get install -y --no-install-recommends -t stable x"),
        ("Bash(dnf install:*)", "dnf install -y x"),
        ("Bash(dpkg:*)", "dpkg -l x"),
        ("Bash(rpm:*)", "rpm -qa"),
        ("Bash(pacman:*)", "pacman -Syu --noconfirm x"),
    ]);
}

#[test]
fn no_prefix_covers_a_list_of_names_in_a_file() {
    asked_about(&[
        ("Bash(find:*)", "find -files0-from x -name y"),
        ("Bash(du:*)", "du --files0-from=x"),
        ("Bash(wc:*)", "wc -l --files0-from x"),
        ("Bash(wc:*)", "wc --files=x"),
        ("Bash(sort:*)", "sort --files0-from=x"),
        ("Bash(file:*)", "file -bf x"),
        ("Bash(rsync:*)", "rsync -a --files-from=x a b"),
        ("Bash(wget:*)", "wget -qi x"),
        ("Bash(zip:*)", "zip a -@"),
        ("Bash(cloc:*)", "cloc --list-file=x"),
        ("Bash(ctags:*)", "ctags -L x"),
    ]);
    allowed(&[
        ("Bash(du:*)", "du -sh --exclude=x src"),
        ("Bash(wc:*)", "wc -l src/a"),
        ("Bash(file:*)", "file -b src/a"),
        ("Bash(rsync:*)", "rsync -av a b"),
    ]);
    JudgeFixture::new().asks(["wc --files0-from=x", "wc -l --files0-from x"]);
}
