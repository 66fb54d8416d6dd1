use std::os::unix::fs::symlink;

use super::super::judge::Decision::{Allow, Ask};
use super::super::judge::testing::JudgeFixture;

mod coverage;
mod git;
mod place;
mod programs;
mod run_time;
mod values;

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
        ("Bash(git log:*)", "git log $'\\x{2d}-output=/x'"),
        ("Bash(git log:*)", "git log -$'\\x{2d}output=/x'"),
        ("Bash(tar:*)", "tar xf a.tar $'\\x{2d}-to-command=./x'"),
        ("Bash(gcc:*)", "gcc $'-wrapper\\0\\ud800' ./x f.c"),
        ("Bash(git log:*)", "git log $x--output=/x; x=a"),
        ("Bash(git log:*)", "git log -p $x--output=/x # x=a"),
        ("Bash(tar:*)", "tar xf a.tar $x--to-command=./x # x=a"),
        ("Bash(tar:*)", "x='--to*'; tar xf a.tar $x"),
        ("Bash(cargo test:*)", "x='-- --log*'; cargo test $x"),
        ("Bash(git log:*)", "u=;git log $u-$'-output=/x'"),
        ("Bash(git log:*)", "u=;git log $u--out\"${w:-put}\"=/x"),
        ("Bash(git log:*)", "u=;git log $u--\"$(echo output=/x)\""),
        ("Bash(git diff:*)", "u=;git diff \"$u\"--out\"$@\"put=/x"),
        ("Bash(sort:*)", "u=;sort f $u-$'o'/x"),
        ("Bash(gcc:*)", "u=;gcc $u-$'wrapper' ./x f.c"),
        ("Bash(gcc:*)", "gcc --prefix=./ f.c"),
        ("Bash(gcc:*)", "gcc --prefix ./ f.c"),
        ("Bash(gcc:*)", "gcc --for-linker -Map=/x f.c"),
        ("Bash(gcc:*)", "gcc --for-assembler -al=/x f.s"),
        ("Bash(gcc:*)", "gcc -Wl,--mri-script=x f.c"),
        ("Bash(ld:*)", "ld --dependency-f=/x f.o"),
        ("Bash(ld:*)", "ld --depe=/x f.o"),
        ("Bash(ld:*)", "ld -depe=/x f.o"),
        ("Bash(ld:*)", "ld --Ma=/x f.o"),
        ("Bash(ld:*)", "ld -error-ha=./x f.o"),
        ("Bash(gcc:*)", "gcc -Wl,--error-h=./x f.c"),
        ("Bash(gcc:*)", "gcc -Wl,-plu,./x.so f.c"),
        ("Bash(gcc:*)", "gcc -Xlinker --Ma -Xlinker /x f.c"),
        ("Bash(as:*)", "as -al=/x f.s"),
        ("Bash(as:*)", "as --MD /x f.s"),
        ("Bash(less:*)", "less '--lesskey-content=#env' f"),
        ("Bash(bison:*)", "bison --outp=/x f"),
        ("Bash(objdump:*)", "objdump --plugi=./x.so f"),
        ("Bash(go test:*)", "go test -debug-trace=/x ./..."),
        ("Bash(npm test:*)", "npm test --logs-dir=/x"),
        ("Bash(sed -n:*)", "sed -n -i p x"),
        ("Bash(sed -n:*)", "sed -n 'w out' x"),
        ("Bash(sed -n:*)", "sed -n '1e touch out' x"),
        ("Bash(sed -n:*)", "sed -n 's/a/touch out/e' x"),
        ("Bash(sed -n:*)", "sed -n 's,a,b,gw out' x"),
        ("Bash(sed -n:*)", "sed -n p -e '$!w out' x"),
        ("Bash(sed -n:*)", "sed -n p --expression='/a[/]/w out' x"),
        ("Bash(sed -n:*)", "sed -n 's/[^]/]/p;s/e;#/x/' x"),
        ("Bash(sed -n:*)", "sed -n 's/[]/]/p;s/e;#/x/' x"),
        ("Bash(sed -n:*)", "sed -n 's/[[:alpha:]/]/p;s/e;#/x/' x"),
        ("Bash(sed -n:*)", "sed -n 's/[a\\]/]/p;s/e;#/x/' x"),
        ("Bash(sed -n:*)", "sed -n 's]a]b]e' x"),
        ("Bash(sed:*)", "sed 's^a^[^e;#]^' x"),
        ("Bash(sed:*)", "sed 's^.*^touch out #[^e;#]^p' x"),
        ("Bash(sed:*)", "sed 'y^a[^X]^;1e touch out;#^' x"),
        ("Bash(sed:*)", "sed 's^$^;:[^w out;#]^' x"),
        ("Bash(sed:*)", "sed 's/[[.z.]/]/p;s/e;#/x/' x"),
        ("Bash(sed:*)", "sed 's/[[=z=]/]/p;s/e;#/x/' x"),
        ("Bash(sed:*)", "sed -lep '1e touch out' x"),
        ("Bash(sed:*)", "sed -l1ep x"),
        ("Bash(sed:*)", "sed -nlep x"),
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
        ("Bash(git gc:*)", "git gc --cruft --expire-to=../out"),
        ("Bash(git repack:*)", "git repack --filter-to ../out"),
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
    let wrong: Vec<_> = rows
        .iter()
        .filter(|(rule, line)| JudgeFixture::new().allow(rule).bash(line) != Ask)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (_, line) in rows {
        assert_eq!(
            JudgeFixture::new().allow("Bash").bash(line),
            Allow,
            "everything is everything: {line}"
        );
    }
}

fn covered(rows: &[(&str, &str)]) {
    for (rule, line) in rows {
        assert_eq!(JudgeFixture::new().allow(rule).bash(line), Allow, "{rule} ~ {line}");
    }
}

fn asked_about(rows: &[(&str, &str)]) {
    let wrong: Vec<_> = rows
        .iter()
        .filter(|(rule, line)| JudgeFixture::new().allow(rule).bash(line) != Ask)
        .collect();
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
        ("Bash(npm test:*)", "npm test --C ../x"),
        ("Bash(mocha:*)", "mocha -n import=data:text/javascript,x"),
        ("Bash(mocha:*)", "mocha --experimental-loader=./x.mjs"),
        ("Bash(vitest:*)", "vitest --execArgv=--import=./x.mjs"),
        ("Bash(vitest:*)", "vitest --poolOptions.forks.execArgv=--import=./x.mjs"),
        ("Bash(cargo nextest run:*)", "cargo nextest run --debugger id"),
        ("Bash(cargo nextest run:*)", "cargo nextest run --tracer=id"),
        ("Bash(ctest:*)", "ctest --overwrite MemoryCheckCommand=./x -T memcheck"),
        ("Bash(pytest:*)", "pytest --cov-report=html:/x"),
        ("Bash(pytest:*)", "pytest --cov-report xml:../x"),
        ("Bash(pytest:*)", "pytest --benchmark-json=/x"),
        ("Bash(dotnet build:*)", "dotnet build -o ../x"),
        ("Bash(dotnet build:*)", "dotnet build --artifacts-path /x"),
        ("Bash(npm test:*)", "npm test ---C=../x"),
        ("Bash(npm test:*)", "npm test 'CC=touch x; true'"),
        ("Bash(npm test:*)", "npm test -- -n require=./x.js"),
        ("Bash(yarn test:*)", "yarn test -n require=./x.js"),
        ("Bash(npm run build:*)", "npm run build SHELL=./x"),
        ("Bash(ctest:*)", "ctest --launch -- sh -c x"),
        ("Bash(dotnet build:*)", "dotnet build -c 'Release;PreBuildEvent=x'"),
        ("Bash(dotnet build:*)", "dotnet build --framework:'net8;PreBuildEvent=x'"),
        ("Bash(npm exec prettier:*)", "npm exec prettier -- --plugin=./plug.js ."),
        ("Bash(pnpm exec jest:*)", "pnpm exec jest -- --globalSetup=./x"),
        ("Bash(tar -czf:*)", "tar -czf x.tgz --remove-files /x"),
        ("Bash(dotnet test:*)", "dotnet test -d /x"),
        ("Bash(pytest:*)", "pytest --trace"),
        ("Bash(cargo nextest run:*)", "cargo nextest run --config-file x"),
        ("Bash(npm test:*)", "npm test -- --import 'data:text/javascript,x'"),
        ("Bash(npm test:*)", "npm test -- --config x"),
        ("Bash(npm run build:*)", "npm run build -- --outDir /x"),
        ("Bash(npm run build:*)", "npm run -s build -- -o /x"),
        ("Bash(pnpm build:*)", "pnpm build --outDir /x"),
        ("Bash(yarn run test:*)", "yarn run test --require ./x"),
        ("Bash(bun run build:*)", "bun run build --outdir /x"),
        ("Bash(npm test:*)", "npm test --sC ../x"),
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
    covered(&[
        ("Bash(git worktree:*)", "git worktree add /out"),
        ("Bash(git worktree add ../x:*)", "git worktree add ../x main"),
        ("Bash(git -C sub worktree:*)", "git -C sub worktree list"),
        ("Bash(git:*)", "git --version"),
        ("Bash(git:*)", "git log worktree instaweb"),
        ("Bash(git:*)", "git stash pop --index"),
        ("Bash(git:*)", "git push origin main"),
    ]);
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
fn a_file_of_options_is_named_by_the_rule_or_asked_about() {
    asked_about(&[
        ("Bash(nm:*)", "nm @file"),
        ("Bash(nm:*)", "nm -- @file"),
        ("Bash(nm:*)", "nm '@file'"),
        ("Bash(nm:*)", "nm {a.o,@file}"),
        ("Bash(nm:*)", "nm \"@$x\""),
        ("Bash(nm:*)", "nm @*"),
        ("Bash(nm:*)", "nm *"),
        ("Bash(nm:*)", "x=@file; nm $x"),
        ("Bash(nm:*)", "x=file; nm -- @$x"),
        ("Bash(nm:*)", "nm ${x:-@file}"),
        ("Bash(xargs nm:*)", "echo @file | xargs nm"),
        ("Bash(xargs nm --:*)", "echo @file | xargs nm --"),
        ("Bash(nm @other:*)", "nm @other @file"),
        ("Bash(llvm-nm-15:*)", "llvm-nm-15 @file"),
        ("Bash(x86_64-linux-gnu-objdump:*)", "x86_64-linux-gnu-objdump @file"),
        ("Bash(/usr/bin/gcc-12:*)", "/usr/bin/gcc-12 @file"),
        ("Bash(gcc-12:*)", "gcc-12 -wrapper x a.c"),
        ("Bash(gcc -c:*)", "gcc -c a.c -Wl,-s,@file"),
        ("Bash(clang:*)", "clang -Xassembler @file a.s"),
        ("Bash(strings:*)", "strings @file"),
        ("Bash(c++filt:*)", "c++filt @file"),
        ("Bash(ar:*)", "ar t @file"),
        ("Bash(ld:*)", "ld @file"),
        ("Bash(rustc:*)", "rustc @file"),
        ("Bash(cargo rustc:*)", "cargo rustc -- @file"),
        ("Bash(javac:*)", "javac @file"),
        ("Bash(tsc:*)", "tsc @file"),
        ("Bash(dotnet build:*)", "dotnet build @file"),
        ("Bash(mypy:*)", "mypy @file"),
        ("Bash(pytest:*)", "pytest @file"),
        ("Bash(ruff check:*)", "ruff check @file"),
        ("Bash(protoc:*)", "protoc @file"),
        ("Bash(strings:*)", "strings --output=x"),
    ]);
    covered(&[
        ("Bash(nm @file:*)", "nm @file"),
        ("Bash(nm @*)", "nm @file"),
        ("Bash(nm:*)", "nm -C target/a.o"),
        ("Bash(nm:*)", "for f in a b; do nm $f; done"),
        ("Bash(nm:*)", "nm src/*.o"),
        ("Bash(strings:*)", "strings -n 8 a@b"),
        ("Bash(c++filt:*)", "c++filt _Z1fv@GLIBC"),
        ("Bash(cargo install:*)", "cargo install x@1"),
        ("Bash(curl:*)", "curl -d @file https://a"),
        ("Bash(gcc:*)", "gcc -O2 -Wl,-rpath,lib -o build/a a.c"),
        ("Bash(gcc-12:*)", "gcc-12 -c a.c"),
        ("Bash(gcc:*)", "for f in a b; do gcc -o $f $f.c; done"),
        ("Bash(git-size:*)", "git-size a"),
    ]);
}

#[test]
fn programs_that_look_or_convert_have_options_that_write_or_run_too() {
    asked_about(&[
        ("Bash(patch:*)", "patch -o x a.c a.diff"),
        ("Bash(patch:*)", "patch -No x -i a.diff"),
        ("Bash(patch:*)", "patch --out=x a.c a.diff"),
        ("Bash(patch:*)", "patch -e a.c a.ed"),
        ("Bash(patch:*)", "patch -Ne a.c a.ed"),
        ("Bash(patch:*)", "patch --ed a.c a.ed"),
        ("Bash(patch:*)", "patch -d / -p1 -i a.diff"),
        ("Bash(patch:*)", "patch -r x -p1 -i a.diff"),
        ("Bash(patch:*)", "patch -g 1 a.c"),
        ("Bash(patch:*)", "patch -bB ../x/ -i a.diff"),
        ("Bash(file:*)", "file -C -m magic"),
        ("Bash(file:*)", "file -bC -m magic"),
        ("Bash(file:*)", "file --compile -m magic"),
        ("Bash(file:*)", "file --comp -m magic"),
        ("Bash(nm:*)", "nm --plugin=./x.so a.o"),
        ("Bash(ar:*)", "ar --plugin ./x.so t a.a"),
        ("Bash(objcopy:*)", "objcopy --dump-section .text=x a.o"),
        ("Bash(strip:*)", "strip -so x a.o"),
        ("Bash(ld:*)", "ld --plugin x.so a.o"),
        ("Bash(ld:*)", "ld -plugin=x.so a.o"),
        ("Bash(gcc:*)", "gcc -Wl,-plugin,./x.so a.c"),
        ("Bash(gcc:*)", "gcc -Xlinker -plugin -Xlinker ./x.so a.c"),
        ("Bash(gcc:*)", "gcc -o .git/hooks/pre-commit a.c"),
        ("Bash(gcc:*)", "gcc -o../x a.c"),
        ("Bash(gcc:*)", "gcc -MD -MF ~/x a.c"),
        ("Bash(gcc:*)", "gcc -o a/*/../../x a.c"),
        ("Bash(go build:*)", "go build -o ~/x"),
        ("Bash(gcc:*)", "gcc -Wl,@* a.c"),
        ("Bash(clang:*)", "clang -Xclang -load -Xclang ./x.so a.c"),
        ("Bash(clang:*)", "clang -fpass-plugin=./x.so a.c"),
        ("Bash(clang:*)", "clang --config=x a.c"),
        ("Bash(clang:*)", "clang -fuse-ld=./x a.c"),
        ("Bash(rustc:*)", "rustc --codegen linker=./x a.rs"),
        ("Bash(javac:*)", "javac -J-javaagent:x.jar A.java"),
        ("Bash(javac:*)", "javac -processorpath x A.java"),
        ("Bash(dotnet build:*)", "dotnet build -p:CustomBeforeMicrosoftCommonTargets=x"),
        ("Bash(dotnet build:*)", "dotnet build -p:PreBuildEvent=x"),
        ("Bash(dotnet build:*)", "dotnet build -logger:x.dll"),
        ("Bash(jest:*)", "jest --global-setup ./x"),
        ("Bash(mocha:*)", "mocha -R ./x"),
        ("Bash(pylint:*)", "pylint --evaluation=x a.py"),
        ("Bash(sdiff:*)", "sdiff -o x a b"),
        ("Bash(diff3:*)", "diff3 --diff-program=./x a b c"),
        ("Bash(dc:*)", "dc -e '!x'"),
        ("Bash(pandoc:*)", "pandoc --lua-filter x.lua a.md"),
        ("Bash(pandoc:*)", "pandoc -t x.lua a.md"),
        ("Bash(yq:*)", "yq -s .name a.yml"),
        ("Bash(gpg:*)", "gpg --status-file x --verify a"),
        ("Bash(ssh-keygen:*)", "ssh-keygen -D ./x.so"),
        ("Bash(tcpdump:*)", "tcpdump -r a -z ./x"),
        ("Bash(aria2c:*)", "aria2c --on-download-complete=./x https://a"),
        ("Bash(ghc:*)", "ghc -pgmF ./x A.hs"),
        ("Bash(less:*)", "less +*"),
        ("Bash(cargo clippy:*)", "cargo clippy -- -o /x"),
        ("Bash(cargo clippy:*)", "cargo clippy -- --emit=link=/x"),
        ("Bash(cargo nextest run:*)", "cargo nextest run --extract-to /x"),
        ("Bash(ruff check:*)", "ruff check -o /x"),
        ("Bash(phpunit:*)", "phpunit --coverage-html /x"),
        ("Bash(vitest:*)", "vitest --coverage.reportsDirectory=/x"),
        ("Bash(vitest:*)", "vitest --typecheck.checker=./x"),
        ("Bash(bun test:*)", "bun test -r ./x"),
        ("Bash(pytest:*)", "pytest --tx popen//python=./x"),
    ]);
    covered(&[
        ("Bash(patch -o:*)", "patch -o x a.c a.diff"),
        ("Bash(patch:*)", "patch -p1 -i a.diff"),
        ("Bash(patch:*)", "patch -p1 --dry-run < a.diff"),
        ("Bash(patch:*)", "patch -Np1 -F3 --forward -i demo.diff"),
        ("Bash(file:*)", "file -bi -F, a"),
        ("Bash(file:*)", "file --mime-type --brief a"),
        ("Bash(objdump:*)", "objdump -d -M intel --private-headers a.o"),
        ("Bash(ar:*)", "ar rcs liba.a a.o"),
        ("Bash(ld:*)", "ld -r -o a.o b.o"),
        ("Bash(clang:*)", "clang -fuse-ld=lld -c a.c"),
        ("Bash(javac:*)", "javac -d out src/A.java"),
        ("Bash(dotnet build:*)", "dotnet build -p:Configuration=Release"),
        ("Bash(yq:*)", "yq -ojson .a a.yml"),
        ("Bash(gpg:*)", "gpg --verify a.sig a"),
        ("Bash(base64:*)", "base64 -d a"),
        ("Bash(vitest:*)", "vitest --coverage --run"),
        ("Bash(ruff check:*)", "ruff check --fix src"),
        ("Bash(cargo clippy:*)", "cargo clippy --all-targets -- -D warnings"),
    ]);
}

#[test]
fn an_option_counts_behind_a_runner_and_behind_a_variable() {
    asked_about(&[
        ("Bash(python3 -m pytest:*)", "python3 -m pytest -p evil"),
        ("Bash(python3 -m pytest:*)", "python3 -m pytest @file"),
        ("Bash(python3.12 -m pytest:*)", "python3.12 -m pytest --basetemp=/x"),
        ("Bash(coverage run -m pytest:*)", "coverage run -m pytest -c x"),
        ("Bash(uv run pytest:*)", "uv run pytest -p evil"),
        ("Bash(uv run:*)", "uv run --with ruff pytest -p evil"),
        ("Bash(poetry run pytest:*)", "poetry run pytest -o x=y"),
        ("Bash(pnpm exec eslint:*)", "pnpm exec eslint --rulesdir x"),
        ("Bash(yarn jest:*)", "yarn jest --globalSetup=./x"),
        ("Bash(foo:*)", "foo $x--log-file=/out"),
        ("Bash(foo:*)", "foo \"$x\"--log-file=/out"),
        ("Bash(foo:*)", "x=--log-; foo ${x}file=/out"),
        ("Bash(gcc:*)", "echo -wrapper; gcc \"$_\" ./x f.c # _=a"),
        ("Bash(git:*)", "echo -O./x; git grep \"$_\" -e data -- f -O./x # _=a"),
    ]);
    covered(&[
        ("Bash(python3 -m pytest:*)", "python3 -m pytest -x -q tests/test_a.py"),
        ("Bash(uv run pytest:*)", "uv run pytest -k name"),
        ("Bash(foo:*)", "foo \"$x\" $y --name=$z"),
        ("Bash(foo:*)", "foo \"$dir/out-file.txt\""),
        ("Bash(echo:*)", "echo \"$name-command\" \"${x}file=$y\""),
        ("Bash(pnpm add:*)", "pnpm add -D vitest --filter web"),
        ("Bash(echo:*)", "x=1; y=2; echo \"$x $y\""),
    ]);
}

#[test]
fn words_that_vanish_or_come_in_pairs_hide_no_option() {
    asked_about(&[
        ("Bash(sed:*)", "sed {,} '1e ./evil' f"),
        ("Bash(tar:*)", "tar -cf {,} /x/w f"),
        ("Bash(git commit:*)", "git commit -aF {,} /x"),
        ("Bash(git commit:*)", "x=; git commit -aF $x /x"),
        ("Bash(tar:*)", "x=; tar -C $x /x -xf a.tar"),
        ("Bash(ssh:*)", "x=-o; y=ProxyCommand=./evil; ssh $x $y h"),
        ("Bash(tar:*)", "x=-cf; y=/x/w; tar $x $y f"),
        ("Bash(git commit:*)", "x=F; y=/x; git commit -a$x $y"),
        ("Bash(git stash:*)", "x=-; git stash show -m \"$x-output=/x\""),
        ("Bash(npx eslint:*)", "npx eslint --rulesdir ./evil src/{a,b}.js"),
        ("Bash(npx:*)", "npx eslint@8 --rulesdir ./evil src"),
        ("Bash(npx eslint@8:*)", "npx eslint@8 -o /x src"),
        ("Bash(uvx:*)", "uvx pytest@8 -p x"),
        ("Bash(python3 -m pytest:*)", "python3 -m pytest -p evil src/{a,b}.py"),
        ("Bash(tar:*)", "tar -xf a.tar -T list"),
        ("Bash(tsc:*)", "tsc --build /x"),
        ("Bash(go build:*)", "go build -ldflags=-o=/x"),
        ("Bash(go build:*)", "go build -gcflags '-cpuprofile=/x'"),
        ("Bash(go build:*)", "go build -compiler gccgo '-gccgoflags=-wrapper ./evil'"),
    ]);
    covered(&[
        ("Bash(go build:*)", "go build -ldflags '-s -w -X main.version=1' ./..."),
        ("Bash(go build:*)", "go build -gcflags='all=-N -l' ./..."),
        ("Bash(npx eslint:*)", "npx eslint src/{a,b}.js"),
        ("Bash(python3 -m pytest:*)", "python3 -m pytest -q tests/{a,b}.py"),
    ]);
}

#[test]
fn an_option_in_a_rule_is_covered_at_its_place_alone() {
    asked_about(&[
        ("Bash(make -C sub:*)", "make -C sub -C /x"),
        ("Bash(npm --prefix web:*)", "npm --prefix web run build --prefix /x"),
        ("Bash(git -c core.pager=cat:*)", "git -c core.pager=cat -c diff.external=./evil diff"),
        ("Bash(docker run --rm -v .:/src:*)", "docker run --rm -v .:/src -v /:/h a"),
        ("Bash(curl -s -o /dev/null -w:*)", "curl -s -o /dev/null -w x http://a -o /x http://a"),
        ("Bash(tar -C sub -xf:*)", "tar -C sub -xf a.tar -C /"),
    ]);
    covered(&[
        ("Bash(make -C sub:*)", "make -C sub all"),
        ("Bash(git -C sub:*)", "git -C sub log"),
        ("Bash(find . -delete:*)", "find . -delete"),
        ("Bash(tar -czf:*)", "tar -czf a.tgz src"),
    ]);
}

#[test]
fn a_builtin_that_changes_the_rest_of_the_line_is_asked_about() {
    asked_about(&[
        ("Bash(printf:*)", "printf %n PATH; cat a.txt"),
        ("Bash(printf:*)", "printf '%s%n' x PATH; cat a.txt"),
        ("Bash(printf:*)", "printf -- '%-3.2hhn' PATH; cat a.txt"),
        ("Bash(printf:*)", "printf $'%\\x6e' PATH; cat a.txt"),
        ("Bash(set:*)", "set -k; cat a.txt"),
        ("Bash(set:*)", "set -o keyword; cat a.txt"),
        ("Bash(set:*)", "set -H -o history"),
        ("Bash(set -e:*)", "set -e -k"),
        ("Bash(set -euo pipefail:*)", "set -euo pipefail -k"),
        ("Bash(jobs:*)", "jobs -x id"),
        ("Bash(history:*)", "history -w /x"),
    ]);
    covered(&[
        ("Bash(printf:*)", "printf '%s\\n' name"),
        ("Bash(printf:*)", "printf '100%% new\\n'"),
        ("Bash(set:*)", "set -euo pipefail"),
        ("Bash(set:*)", "set +x"),
        ("Bash(jobs:*)", "jobs -l"),
        ("Bash(history:*)", "history 20"),
    ]);
}

#[test]
fn runners_of_runners_are_looked_behind_up_to_a_bound() {
    for runner in ["npm ", "npx "] {
        let line = runner.repeat(4_000);
        let start = std::time::Instant::now();
        let judgement =
            JudgeFixture::new().allow(&format!("Bash({}:*)", runner.trim())).bash(&line);
        assert_eq!(judgement, Ask, "{runner}");
        assert!(start.elapsed().as_secs() < 10, "{runner}");
    }
}
