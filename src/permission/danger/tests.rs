use super::super::judge::Decision::{Allow, Ask};
use super::super::judge::testing::Bench;

#[test]
fn a_dangerous_option_never_rides_on_a_rule_that_does_not_name_it() {
    let rows = [
        ("Bash(find:*)", "find . -delete"),
        ("Bash(find:*)", "find . -name x -fprintf f %p"),
        ("Bash(find:*)", "find . -fls f"),
        ("Bash(find * -name *)", "find . -name x -delete"),
        ("Bash(git diff:*)", "git diff --output=x"),
        ("Bash(git diff:*)", "git diff --outp x"),
        ("Bash(git diff:*)", "git diff --o=x"),
        ("Bash(git diff:*)", "git diff --stat -- --output=x"),
        ("Bash(git diff:*)", "git diff $'--output=x'"),
        ("Bash(git diff:*)", "git diff --out$x"),
        ("Bash(git diff:*)", "git diff {--output=x,a}"),
        ("Bash(git diff:*)", "git diff --ext-diff"),
        ("Bash(git log:*)", "git log --textconv"),
        ("Bash(git * main)", "git -c alias.x=!cmd x main"),
        ("Bash(git * main)", "git --config-env=alias.x=Y x main"),
        ("Bash(git * main)", "git --exec-path=x log main"),
        ("Bash(git:*)", "git -c core.pager=x log"),
        ("Bash(git:*)", "git -C ../other status"),
        ("Bash(git:*)", "git --git-dir=x status"),
        ("Bash(git:*)", "git -p log"),
        ("Bash(git:*)", "git --paginate log"),
        ("Bash(git:*)", "git $x status"),
        ("Bash(git:*)", "git config core.fsmonitor ./x"),
        ("Bash(git:*)", "git config --global alias.st '!x'"),
        ("Bash(git:*)", "git config --comment user.x core.pager evil"),
        ("Bash(git:*)", "git config --comment=user.x core.pager evil"),
        ("Bash(git:*)", "git config --file user.d/../.git/config core.editor x"),
        ("Bash(git:*)", "git config -f user.x core.editor x"),
        ("Bash(git:*)", "git config --fil=x user.name y"),
        ("Bash(git:*)", "git config --file=src/x user.name y"),
        ("Bash(git:*)", "git config user.name y --file=src/x"),
        ("Bash(git:*)", "git config --file --list core.pager x"),
        ("Bash(git:*)", "git config --default --get core.pager x"),
        ("Bash(git:*)", "git config --type user.x core.pager x"),
        ("Bash(git:*)", "git config --get --no-get core.pager x"),
        ("Bash(git:*)", "git config -- --get core.pager x"),
        ("Bash(git:*)", "git config --rename-section color.x core"),
        ("Bash(git:*)", "git config rename-section color.x core"),
        ("Bash(git:*)", "git config color.x core --rename-section"),
        ("Bash(git:*)", "git config --local --edit"),
        ("Bash(git:*)", "git config set core.pager x user.y"),
        ("Bash(git:*)", "git config set --comment user.y core.pager x"),
        ("Bash(git:*)", "git config $k user.x"),
        ("Bash(git:*)", "git config \"$k\" user.x"),
        ("Bash(git:*)", "git config color.x $(cat f)"),
        ("Bash(git:*)", "git config color.x core \"$(cat f)\""),
        ("Bash(git:*)", "git config {color.x,core} --rename-section"),
        ("Bash(git:*)", "git config pull.twohead x"),
        ("Bash(git -C sub:*)", "git -C sub config core.pager x"),
        ("Bash(git:*)", "git bisect run ./x"),
        ("Bash(git:*)", "git submodule --quiet foreach ./x"),
        ("Bash(git:*)", "git filter-branch --tree-filter x"),
        ("Bash(git fetch:*)", "git fetch --upload-pack=x origin"),
        ("Bash(git fetch:*)", "git fetch --upload x origin"),
        ("Bash(git push:*)", "git push --receive-pack=x origin"),
        ("Bash(git push:*)", "git push --exec=x origin"),
        ("Bash(git clone:*)", "git clone -u ./x a"),
        ("Bash(git clone:*)", "git clone -c core.fsmonitor=x a"),
        ("Bash(git clone:*)", "git clone ext::x a"),
        ("Bash(git grep:*)", "git grep -O x"),
        ("Bash(git grep:*)", "git grep -inO x"),
        ("Bash(git grep:*)", "git grep --open-files-in-pager=x y"),
        ("Bash(git rebase:*)", "git rebase -ix ./x main"),
        ("Bash(git rebase:*)", "git rebase --exec ./x main"),
        ("Bash(git archive:*)", "git archive -o x HEAD"),
        ("Bash(sort:*)", "sort -uo x y"),
        ("Bash(sort:*)", "sort --compress-program=x y"),
        ("Bash(sort:*)", "sort --comp=x y"),
        ("Bash(curl:*)", "curl -sSLo x https://a"),
        ("Bash(curl:*)", "curl -O https://a"),
        ("Bash(curl:*)", "curl -K x"),
        ("Bash(tar:*)", "tar xf a --checkpoint-act=exec=x"),
        ("Bash(tar:*)", "tar -xf a --to-command x"),
        ("Bash(tar:*)", "tar -xI x -f a"),
        ("Bash(tar:*)", "tar xIf x a"),
        ("Bash(tar:*)", "tar -cf a -F x"),
        ("Bash(ssh:*)", "ssh -o ProxyCommand=x host"),
        ("Bash(ssh:*)", "ssh -oLocalCommand=x host"),
        ("Bash(ssh:*)", "ssh -vo ProxyCommand=x host"),
        ("Bash(scp:*)", "scp -S x a host:b"),
        ("Bash(rsync:*)", "rsync -avze x a b"),
        ("Bash(rsync:*)", "rsync --rsh=x a b"),
        ("Bash(zip:*)", "zip a b -TT x"),
        ("Bash(rg:*)", "rg --pre x y"),
        ("Bash(fd:*)", "fd y -X x"),
        ("Bash(man:*)", "man -P x y"),
        ("Bash(less:*)", "less +!x y"),
        ("Bash(vim:*)", "vim -c '!x' y"),
        ("Bash(go test:*)", "go test -exec x ./..."),
        ("Bash(go build:*)", "go build -toolexec=x"),
        ("Bash(go build:*)", "go build --overlay x"),
        ("Bash(go vet:*)", "go vet -vettool=x"),
        ("Bash(go build:*)", "go build -ldflags=-extld=./x"),
        ("Bash(cargo test:*)", "cargo test --config x"),
        ("Bash(cargo:*)", "cargo --config x test"),
        ("Bash(cargo:*)", "cargo +/tmp/x test"),
        ("Bash(npm test:*)", "npm test --script-shell=./x"),
        ("Bash(npm:*)", "npm --prefix ../x test"),
        ("Bash(make all:*)", "make all -f x"),
        ("Bash(make all:*)", "make all -C x"),
        ("Bash(make all:*)", "make all --eval=x"),
        ("Bash(make all:*)", "make all SHELL=./x"),
        ("Bash(make all:*)", "make all 'V=$(shell x)'"),
        ("Bash(pip install:*)", "pip install --index-url https://a b"),
        ("Bash(pip install:*)", "pip install -i https://a b"),
        ("Bash(pytest:*)", "pytest -c x"),
        ("Bash(pytest:*)", "pytest -o x=y"),
        ("Bash(sed -n:*)", "sed -n -i p x"),
        ("Bash(sed -n:*)", "sed -n 'w out' x"),
        ("Bash(sed -n:*)", "sed -n '1e touch out' x"),
        ("Bash(sed -n:*)", "sed -n 's/a/touch out/e' x"),
        ("Bash(sed -n:*)", "sed -n 's,a,b,gw out' x"),
        ("Bash(sed -n:*)", "sed -n p -e '$!w out' x"),
        ("Bash(sed -n:*)", "sed -n p --expression='/a[/]/w out' x"),
        ("Bash(sed -n:*)", "sed -n '/a/ {w out' -e '}' x"),
        ("Bash(sed -n:*)", "sed -n 'p;s/a/b/;W out' x"),
        ("Bash(sed -n:*)", "sed -nz 's/a/b/w out' x"),
        ("Bash(sed -n:*)", "sed -n -- 'w out' x"),
        ("Bash(sed -n:*)", "sed -n \"$s\" x"),
        ("Bash(sed -i:*)", "sed -ie 'w out' p"),
        ("Bash(sed:*)", "sed -se'w out' p"),
        ("Bash(sed:*)", "sed --expr 'w out' p"),
        ("Bash(uniq:*)", "uniq -c in out"),
        ("Bash(uniq:*)", "uniq -f 1 in out"),
        ("Bash(xxd:*)", "xxd -r in out"),
        ("Bash(xxd:*)", "xxd -- - out"),
        ("Bash(tar:*)", "tar -tvf a --index-file out"),
        ("Bash(tar:*)", "tar -cf a -g out b"),
        ("Bash(kubectl get:*)", "kubectl get pods --profile cpu --profile-output out"),
        ("Bash(git fast-export:*)", "git fast-export --export-marks=out --all"),
        ("Bash(git read-tree:*)", "git read-tree --index-output out HEAD"),
        ("Bash(git:*)", "git bundle create ../out HEAD"),
        ("Bash(git bundle:*)", "git bundle create ../out HEAD"),
        ("Bash(git:*)", "git merge-index ./x -a"),
        ("Bash(git:*)", "git maintenance start"),
        ("Bash(git maintenance:*)", "git maintenance start"),
        ("Bash(curl:*)", "curl -w '%output{out}x' https://a"),
        ("Bash(curl:*)", "curl -sw @format https://a"),
        ("Bash(curl:*)", "curl --write-out @format https://a"),
        ("Bash(sed:*)", "sed -l 'w out' x"),
        ("Bash(sed:*)", "sed -le 'w out' x"),
        ("Bash(npx:*)", "npx -p x y"),
        ("Bash(npx:*)", "npx --yes prettier --plugin ./x y"),
        ("Bash(npx jest:*)", "npx jest --config ./x"),
        ("Bash(mytool:*)", "mytool --output=x"),
        ("Bash(mytool:*)", "mytool --exec x"),
        ("Bash(timeout 60 find:*)", "timeout 60 find . -delete"),
        ("Bash(kubectl get:*)", "kubectl get pods --kubeconfig x"),
        ("Bash(git diff:*)", "x=--output=f; git diff $x"),
        ("Bash(git diff:*)", "for x in --output=f; do git diff \"$x\"; done"),
        ("Bash(cargo test:*)", "cargo test x -- --logfile f"),
        ("Bash(go test:*)", "go test -coverprofile=../x"),
        ("Bash(go build:*)", "go build -o .git/hooks/pre-commit"),
        ("Bash(pylint:*)", "pylint --init-hook=x a"),
        ("Bash(git format-patch:*)", "git format-patch -o ../x HEAD"),
        ("Bash(make:*)", "make -$x"),
        ("Bash(git diff:*)", "git diff ${x:---output=F}"),
        ("Bash(git diff:*)", "x=-; git diff $x-output=F"),
        ("Bash(git diff:*)", "x='a --output=F'; git diff $x"),
        ("Bash(git diff:*)", "x=; git diff $x--output=F"),
        ("Bash(git diff:*)", "git diff $(echo opts)"),
        ("Bash(git diff:*)", "git diff a$(echo opts)"),
        ("Bash(git diff:*)", "git diff *"),
        ("Bash(git diff:*)", "git diff $unset"),
        ("Bash(git log:*)", "git log -1 ${x:---output=F}"),
        ("Bash(git grep:*)", "git grep ${x:--O./p} hello"),
        ("Bash(npm run build:*)", "npm run build ${x:---script-shell=./p}"),
        ("Bash(sort:*)", "sort ${x:--oF} a"),
        ("Bash(sort:*)", "sort $(echo o) a"),
        ("Bash(xargs git diff:*)", "echo --output=F | xargs git diff"),
        ("Bash(rg:*)", "rg ${x:---pre=./p} y"),
        ("Bash(rg:*)", "rg x *"),
        ("Bash(cargo test:*)", "cargo test ${x:---config=x}"),
        ("Bash(git bisect:*)", "x=run; git bisect $x ./p"),
        ("Bash(git commit:*)", "git commit -F -m \"$(echo --x)\""),
    ];
    let wrong: Vec<_> =
        rows.iter().filter(|(rule, line)| Bench::new().allow(rule).bash(line) != Ask).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (_, line) in rows {
        assert_eq!(
            Bench::new().allow("Bash").bash(line),
            Allow,
            "everything is everything: {line}"
        );
    }
}

fn asked_about(rows: &[(&str, &str)]) {
    let wrong: Vec<_> =
        rows.iter().filter(|(rule, line)| Bench::new().allow(rule).bash(line) != Ask).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_letter_in_a_word_of_letters_is_not_hidden_by_those_before_it() {
    asked_about(&[
        ("Bash(git grep:*)", "git grep -GO./x y"),
        ("Bash(git grep:*)", "git grep -LO./x y"),
        ("Bash(git grep:*)", "git grep -5O./x y"),
        ("Bash(git rebase:*)", "git rebase -mx ./x HEAD~1"),
        ("Bash(git rebase:*)", "git rebase -Smx ./x HEAD~1"),
        ("Bash(git clone:*)", "git clone -Lu ./x a b"),
        ("Bash(scp:*)", "scp -BS./x a h:b"),
        ("Bash(scp:*)", "scp -pS./x a h:b"),
        ("Bash(scp:*)", "scp -OS./x a h:b"),
        ("Bash(scp:*)", "scp -RoProxyCommand=x a h:b"),
        ("Bash(sftp:*)", "sftp -pS./x h"),
        ("Bash(gradle:*)", "gradle -sIx test"),
        ("Bash(mvn:*)", "mvn -cf x test"),
        ("Bash(sed -n:*)", "sed -n -li.bak p x"),
        ("Bash(curl:*)", "curl -#o x https://a"),
        ("Bash(curl:*)", "curl -#ox https://a"),
        ("Bash(curl:*)", "curl -:O https://a"),
        ("Bash(curl:*)", "curl -hO https://a"),
        ("Bash(curl:*)", "curl -sw@x https://a"),
        ("Bash(curl:*)", "curl --write=@x https://a"),
        ("Bash(tar:*)", "tar xf-I x"),
    ]);
}

#[test]
fn the_beginning_of_an_option_is_that_option_unless_the_program_has_one_of_this_name() {
    asked_about(&[
        ("Bash(sort:*)", "sort --co=./x -S1k a"),
        ("Bash(man:*)", "man --co=x ./y.1"),
        ("Bash(git clone:*)", "git clone --co core.hooksPath=/x . y"),
        ("Bash(git read-tree:*)", "git read-tree --index=out HEAD"),
        ("Bash(wget:*)", "wget --exec x"),
        ("Bash(npm test:*)", "npm test --pre ../x"),
        ("Bash(npm test:*)", "npm test -script-shell=./x"),
        ("Bash(npm test:*)", "npm test ---script-sh ./x"),
        ("Bash(tsc:*)", "tsc -outfile x"),
        ("Bash(tsc:*)", "tsc --OUTFILE x"),
    ]);
}

#[test]
fn a_rule_for_all_of_git_covers_everyday_commands_and_no_others() {
    asked_about(&[
        ("Bash(git:*)", "git remote-ext o ./x <<< 'connect git-upload-pack'"),
        ("Bash(git:*)", "git instaweb -d /x/x-lighttpd"),
        ("Bash(git:*)", "git mailinfo /out a"),
        ("Bash(git:*)", "git mailsplit -o/out a"),
        ("Bash(git:*)", "git worktree add /out"),
        ("Bash(git:*)", "git --no-pager worktree add /out"),
        ("Bash(git * main)", "git worktree add /out main"),
        ("Bash(git:*)", "git submodule--helper foreach x"),
        ("Bash(git:*)", "git fast-import --export-marks=x"),
        ("Bash(git:*)", "git credential-store --file x store"),
        ("Bash(git:*)", "git daemon --access-hook=x"),
        ("Bash(git:*)", "git unknown"),
        ("Bash(timeout 5 git:*)", "timeout 5 git instaweb"),
        ("Bash(xargs git:*)", "ls | xargs git worktree add"),
        ("Bash(git:*)", "git fetch -- 'ext::sh -c x'"),
    ]);
    for (rule, line) in [
        ("Bash(git worktree:*)", "git worktree add /out"),
        ("Bash(git worktree add ../x:*)", "git worktree add ../x main"),
        ("Bash(git -C sub worktree:*)", "git -C sub worktree list"),
        ("Bash(git:*)", "git --version"),
        ("Bash(git:*)", "git log worktree instaweb"),
        ("Bash(git:*)", "git stash pop --index"),
        ("Bash(git:*)", "git push origin main"),
    ] {
        assert_eq!(Bench::new().allow(rule).bash(line), Allow, "{rule} ~ {line}");
    }
}

#[test]
fn what_stands_behind_the_end_of_the_options_counts_where_the_program_runs_it() {
    asked_about(&[
        ("Bash(make:*)", "make -- SHELL=./x all"),
        ("Bash(make:*)", "make -- 'x=$(shell y)'"),
        ("Bash(make:*)", "make -- SHEL$x=./y all"),
        ("Bash(make all:*)", "x=SHELL=./y; make all -- $x"),
        ("Bash(make:*)", "make 'a;./x'"),
        ("Bash(mvn:*)", "mvn -- exec:java"),
        ("Bash(psql:*)", "psql -- '\\! x'"),
        ("Bash(sqlite3:*)", "sqlite3 -- a '.shell x'"),
        ("Bash(ed:*)", "ed -- '!x'"),
    ]);
}

#[test]
fn more_options_that_write_a_file_of_their_own_choice() {
    asked_about(&[
        ("Bash(tar:*)", "tar xPf a"),
        ("Bash(tar:*)", "tar -xPf a"),
        ("Bash(tar:*)", "tar xf a --absolute-names"),
        ("Bash(tar:*)", "tar xgf x a"),
        ("Bash(tar:*)", "tar xf a --one-top=/x"),
        ("Bash(curl:*)", "curl --expand-output x https://a"),
        ("Bash(curl:*)", "curl --ssl-sessions x https://a"),
        ("Bash(mvn:*)", "mvn -l x test"),
    ]);
}

#[test]
fn a_rule_covers_the_options_that_it_names_and_those_that_do_no_harm() {
    let rows = [
        ("Bash(find:*)", "find . -name '*.rs' -print"),
        ("Bash(find * -delete)", "find . -name x -delete"),
        ("Bash(find . -delete:*)", "find . -delete -print"),
        ("Bash(git diff:*)", "git diff --stat HEAD~1 -- src"),
        ("Bash(git diff:*)", "git diff --text a"),
        ("Bash(git diff:*)", "git diff a -- --output=x"),
        ("Bash(git diff --output:*)", "git diff --output x"),
        ("Bash(git diff --output=*)", "git diff --output=x"),
        ("Bash(git:*)", "git --no-pager log -p"),
        ("Bash(git:*)", "git commit -m x"),
        ("Bash(git:*)", "git config --get user.name"),
        ("Bash(git:*)", "git config user.name x"),
        ("Bash(git:*)", "git config --global --add user.name 'A B'"),
        ("Bash(git:*)", "git config set --local user.email a@b"),
        ("Bash(git:*)", "git config --unset user.name"),
        ("Bash(git:*)", "git config --type=bool push.followTags true"),
        ("Bash(git:*)", "git config -f .gitmodules --get-regexp path"),
        ("Bash(git:*)", "git config --global --get core.editor"),
        ("Bash(git:*)", "git config get --file .gitmodules submodule.a.path"),
        ("Bash(git:*)", "git config --list --show-origin"),
        ("Bash(git:*)", "git config -l"),
        ("Bash(git -C sub:*)", "git -C sub config user.name x"),
        ("Bash(git config:*)", "git config core.editor x"),
        ("Bash(git -C sub:*)", "git -C sub status"),
        ("Bash(git * main)", "git push origin main"),
        ("Bash(git push:*)", "git push -u origin x"),
        ("Bash(git fetch:*)", "git fetch --all -u"),
        ("Bash(curl:*)", "curl -sSL -XPOST -H 'A: O' https://a"),
        ("Bash(curl -o:*)", "curl -o x https://a"),
        ("Bash(curl * -o *)", "curl -s -o x https://a"),
        ("Bash(tar:*)", "tar xzf a.tar -C /tmp/I"),
        ("Bash(tar:*)", "tar -czf a.tgz b"),
        ("Bash(ssh:*)", "ssh -p 22 -o ConnectTimeout=5 -oBatchMode=yes host ls"),
        ("Bash(ssh:*)", "ssh host A=b ls"),
        ("Bash(rsync:*)", "rsync -avz --delete a b"),
        ("Bash(kubectl:*)", "kubectl -n prod get pods --output json"),
        ("Bash(gh:*)", "gh -R o/r pr view"),
        ("Bash(cargo:*)", "cargo +nightly test --target x86_64 -- --nocapture"),
        ("Bash(cargo test:*)", "cargo test --lib x -- --exact"),
        ("Bash(npm test:*)", "npm test -- --config x"),
        ("Bash(npm:*)", "npm --silent run build"),
        ("Bash(npm:*)", "npm run build -ws -s"),
        ("Bash(tsc:*)", "tsc -d -t es2020 -w"),
        ("Bash(make:*)", "make -j4 all V=1 CC=clang"),
        ("Bash(go test:*)", "go test -run X -v ./..."),
        ("Bash(go build:*)", "go build -o bin/x ./cmd/x"),
        ("Bash(pip install:*)", "pip install --pre -U x"),
        ("Bash(pytest:*)", "pytest -xvs -k a --co tests"),
        ("Bash(sed:*)", "sed -n -e 's/i/x/p' a"),
        ("Bash(sed:*)", "sed -E 's,(w e),\\1,gI;$!d; 1,/w/p' w.txt e.txt"),
        ("Bash(sed:*)", "sed -e '2q' --expression 'y/we/ab/' a"),
        ("Bash(sed -n:*)", "sed -n '1,5p;10p' a"),
        ("Bash(uniq:*)", "uniq -c -f 1 in"),
        ("Bash(xxd:*)", "xxd -l 64 -c 8 in"),
        ("Bash(curl:*)", "curl -s -w '%{http_code}' https://a"),
        ("Bash(npx:*)", "npx tsc --noEmit"),
        ("Bash(npx:*)", "npx --yes tsc --noEmit"),
        ("Bash(npx:*)", "npx cowsay -p x -c y"),
        ("Bash(sed -i:*)", "sed -i s/a/b/ x"),
        ("Bash(aws:*)", "aws --region x --output table s3 ls"),
        ("Bash(psql:*)", "psql -c 'select 1'"),
        ("Bash(timeout 60 cargo test:*)", "timeout 60 cargo test x"),
        ("Bash(git diff:*)", "for f in a b; do git diff $f; done"),
        ("Bash(docker compose:*)", "docker compose -f x.yml up -d"),
        ("Bash(mvn test:*)", "mvn test -DskipITs -pl a"),
        ("Bash(sort:*)", "sort -t, -k2 -u a"),
        ("Bash(sort:*)", "sort -t: -k3o --count a"),
        ("Bash(curl:*)", "curl -d@o.json -H'A: O' https://a"),
        ("Bash(git grep:*)", "git grep -eFOO -C3 x"),
        ("Bash(git log:*)", "git log -SOption -Gout -n5"),
        ("Bash(make:*)", "make Install foo/bar.o -O"),
        ("Bash(go test:*)", "go test -run=TestCache -count=1 ./..."),
        ("Bash(dotnet test:*)", "dotnet test -v:minimal -c Release"),
        ("Bash(cargo test:*)", "cargo test --target x"),
        ("Bash(gradle:*)", "gradle -Pname=bIg -xcheck test"),
        ("Bash(ssh:*)", "ssh -pIF host"),
        ("Bash(tsc:*)", "tsc --declaration --noEmit"),
        ("Bash(rg:*)", "rg -tpy -C3 x"),
        ("Bash(make:*)", "for n in 4; do make -j$n; done"),
        ("Bash(git log:*)", "for n in 4; do git log -n$n --grep=$n; done"),
        ("Bash(git -C sub:*)", "for n in 4 -5; do git -C sub log -n $n; done"),
        ("Bash(go test:*)", "go test -coverprofile=cover.out ./..."),
        ("Bash(mytool:*)", "mytool -n$x"),
        ("Bash(git diff:*)", "git diff -- *"),
        ("Bash(git diff:*)", "f=a; git diff $f"),
        ("Bash(git diff:*)", "git diff src/*.rs \"a$(echo b)\""),
        ("Bash(git add:*)", "git add \"$PWD/a\" {a,b}/*.rs"),
        ("Bash(git commit:*)", "git commit -a -m \"$(echo b)\""),
    ];
    let wrong: Vec<String> = rows
        .iter()
        .map(|(rule, line)| (rule, line, Bench::new().allow(rule).bash_judgement(line)))
        .filter(|(_, _, judgement)| judgement.decision != Allow)
        .map(|(rule, line, judgement)| format!("{rule} ~ {line}: {}", judgement.why))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_reason_names_the_option_and_the_rule_that_would_cover_it() {
    let rule = "in .caliban/config.toml does not name it";
    for (allowed, line, expected) in [
        (
            "Bash(find:*)",
            "find . -name x -delete",
            format!(
                "no rule allows find with -delete: rule Bash(find:*) {rule}; Bash(find . -name x -delete) would allow it"
            ),
        ),
        (
            "Bash(git diff:*)",
            "git diff --outp=x a",
            format!(
                "no rule allows git with --output: rule Bash(git diff:*) {rule}; Bash(git diff --outp=x a) would allow it"
            ),
        ),
        (
            "Bash(git diff:*)",
            "git diff a --output=x",
            format!(
                "no rule allows git with --output: rule Bash(git diff:*) {rule}; Bash(git diff a --output=x) would allow it"
            ),
        ),
        (
            "Bash(git:*)",
            "git -c a.b=c status",
            format!(
                "no rule allows git with -c: rule Bash(git:*) {rule}; Bash(git -c a.b=c status) would allow it"
            ),
        ),
        (
            "Bash(git:*)",
            "git $x",
            "no rule allows git with words that are only known when it runs: rule Bash(git:*) in \
             .caliban/config.toml does not name it"
                .to_owned(),
        ),
    ] {
        let judgement = Bench::new().allow(allowed).bash_judgement(line);
        assert_eq!(judgement.why, expected, "{line}");
    }
}

#[test]
fn a_suggestion_is_no_wider_than_the_call_unless_the_program_builds_or_tests() {
    for (line, expected) in [
        ("find . -name x", "Bash(find . -name x)"),
        ("find . -name '*.rs'", ""),
        ("xargs ls", ""),
        ("ssh host ls", "Bash(ssh host ls)"),
        ("scp a host:b", "Bash(scp a host:b)"),
        ("rsync -a x y", "Bash(rsync -a x y)"),
        ("tar -xf a", "Bash(tar -xf a)"),
        ("zip a b", "Bash(zip a b)"),
        ("sort -u a", "Bash(sort -u a)"),
        ("split -b 5 a", "Bash(split -b 5 a)"),
        ("tee a", "Bash(tee a)"),
        ("vim a", "Bash(vim a)"),
        ("sqlite3 a 'select 1'", "Bash(sqlite3 a 'select 1')"),
        ("psql -c 'select 1'", "Bash(psql -c 'select 1')"),
        ("git config --get x.y", "Bash(git config --get x.y)"),
        ("git -c a.b=c status", "Bash(git -c a.b=c status)"),
        ("git push origin main", "Bash(git push origin main)"),
        ("git diff --output=x", "Bash(git diff --output=x)"),
        ("awk '{print}' a", "Bash(awk '{print}' a)"),
        ("sed 1d a", "Bash(sed 1d a)"),
        ("curl -o x https://a", "Bash(curl -o x https://a)"),
        ("wget https://a", "Bash(wget https://a)"),
        ("mytool a b", "Bash(mytool a b)"),
        ("make", "Bash(make)"),
        ("make SHELL=./x all", "Bash(make SHELL=./x all)"),
        ("make test", "Bash(make test)"),
        ("cargo fmt --check", "Bash(cargo fmt --check)"),
        ("tsc --noEmit", "Bash(tsc --noEmit)"),
        ("gofmt -l .", "Bash(gofmt -l .)"),
        ("cargo nextest run x", "Bash(cargo nextest run:*)"),
        ("git blame a", "Bash(git blame a)"),
        ("cargo test x", "Bash(cargo test:*)"),
        ("cargo clippy --all", "Bash(cargo clippy:*)"),
        ("cargo --config x test", "Bash(cargo --config x test)"),
        ("cargo test --config x", "Bash(cargo test --config x)"),
        ("cargo publish", "Bash(cargo publish)"),
        ("npm test", "Bash(npm test:*)"),
        ("npm run lint -- --fix", "Bash(npm run lint:*)"),
        ("npm install x", "Bash(npm install x)"),
        ("pnpm build", "Bash(pnpm build:*)"),
        ("go test ./...", "Bash(go test:*)"),
        ("go run x", "Bash(go run x)"),
        ("pytest -k x", "Bash(pytest:*)"),
        ("./gradlew test", "Bash(./gradlew test)"),
        ("dotnet test", "Bash(dotnet test:*)"),
        ("git add x", "Bash(git add:*)"),
        ("git commit -m 'a b'", "Bash(git commit:*)"),
        ("timeout 60 cargo test x", "Bash(timeout 60 cargo test:*)"),
        ("timeout 60 find . -name x", "Bash(timeout 60 find . -name x)"),
    ] {
        let suggestions = Bench::new().bash_judgement(line).suggestions;
        assert_eq!(suggestions.join(","), expected, "{line}");
    }
}
