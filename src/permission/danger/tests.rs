use std::os::unix::fs::symlink;

use super::super::judge::Decision::{Allow, Ask};
use super::super::judge::testing::Bench;

mod programs;
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
    for (rule, line) in [
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
    ] {
        assert_eq!(Bench::new().allow(rule).bash(line), Allow, "{rule} ~ {line}");
    }
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
    ]);
    for (rule, line) in [
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
    ] {
        assert_eq!(Bench::new().allow(rule).bash(line), Allow, "{rule} ~ {line}");
    }
}

#[test]
fn a_path_counts_by_where_it_really_leads() {
    let bench = |rule: &str| {
        let bench = Bench::new().allow(rule);
        let project = bench.root.join("project");
        symlink(project.join(".git"), project.join("hidden")).unwrap();
        symlink("../../outside", project.join("src/up")).unwrap();
        bench
    };
    for (rule, line) in [
        ("Bash(tar:*)", "tar xf a.tar -C escape"),
        ("Bash(tar:*)", "tar xf a.tar --directory=escape/new"),
        ("Bash(tar:*)", "tar xf a.tar -C esc*"),
        ("Bash(tar:*)", "tar xf a.tar -C src -C up"),
        ("Bash(tar:*)", "tar xf a.tar -C hidden"),
        ("Bash(tar:*)", "tar cf escape/a.tar src"),
        ("Bash(tar:*)", "d=src; tar xf a.tar -C $d -C up"),
        ("Bash(tar:*)", "for d in src escape; do tar xf a.tar -C $d; done"),
        ("Bash(tar:*)", "cd src && tar xf ../a.tar -C up"),
        ("Bash(gcc:*)", "gcc -o escape/x a.c"),
        ("Bash(gcc:*)", "gcc -oescape/x a.c"),
        ("Bash(gcc:*)", "gcc -o src/dangling a.c"),
        ("Bash(gcc:*)", "gcc -o hidden/hooks/pre-commit a.c"),
        ("Bash(gcc:*)", "gcc -MD -MFescape/x a.c"),
        ("Bash(gcc:*)", "gcc -MD -MF../x a.c"),
        ("Bash(gcc:*)", "gcc -aux-info=../x a.c"),
        ("Bash(gcc:*)", "gcc -o e*/x a.c"),
        ("Bash(gcc:*)", "gcc -o \"src/$(cat f)\" a.c"),
        ("Bash(gcc:*)", "d=escape; gcc -o $d/x a.c"),
        ("Bash(clang:*)", "clang -working-directory=.. -o x a.c"),
        ("Bash(go build:*)", "go build -o escape/x"),
        ("Bash(go test:*)", "go test -coverprofile=escape/x"),
        ("Bash(go test:*)", "go test -test.cpuprofile=../x"),
        ("Bash(go build:*)", "go build -o ../a=b"),
        ("Bash(go build:*)", "go build -tags -o -o=../x"),
        ("Bash(gcc:*)", "gcc -D -o -o/x a.c"),
        ("Bash(tar:*)", "tar xf a.tar --exclude -C -C/x"),
        ("Bash(tar:*)", "tar xf a.tar --exclude -T -C/x"),
        ("Bash(docker run:*)", "docker run -uv -v/:/x image"),
        ("Bash(go test:*)", "go test -outputdir src -coverprofile up/x"),
        ("Bash(docker run:*)", "docker run -v ./escape:/x image"),
        ("Bash(docker run:*)", "docker run -itv ./src/up:/x image"),
        ("Bash(podman run:*)", "podman run --volume=escape/x:/x image"),
        ("Bash(docker run:*)", "docker run --mount type=bind,src=./escape,dst=/x image"),
        ("Bash(nerdctl run:*)", "nerdctl run -v escape:/x image"),
    ] {
        assert_eq!(bench(rule).bash(line), Ask, "{rule} ~ {line}");
    }
    for (rule, line) in [
        ("Bash(tar:*)", "tar xf a.tar -C src"),
        ("Bash(tar:*)", "tar xf escape/a.tar -C src/new -C more"),
        ("Bash(tar:*)", "for d in src lib; do tar xf a.tar -C $d; done"),
        ("Bash(gcc:*)", "gcc -MD -MFsrc/x.d -o ./src/new/x a.c"),
        ("Bash(go build:*)", "go build -o bin/"),
        ("Bash(docker run:*)", "docker run -v .:/app -v cache:/cache -v \"$PWD/src\":/x:ro image"),
        ("Bash(docker run:*)", "docker run --rm -it -v /data image"),
    ] {
        let judgement = bench(rule).bash_judgement(line);
        assert_eq!(judgement.decision, Allow, "{rule} ~ {line}: {}", judgement.why);
    }
}

#[test]
fn a_mount_is_covered_where_all_of_it_is_understood() {
    for line in [
        "docker run --mount type=bind,Source=/,dst=/x image",
        "docker run --mount type=bind,SRC=/,dst=/x image",
        "docker run --mount 'type=bind,\"source=/\",dst=/x' image",
        "docker run --mount '\"type=bind\",source=./src,dst=/x' image",
        "docker run --mount=type=bind,source=/,dst=/x image",
        "docker run --mount type=bind,source=../x,dst=/x image",
        "docker run --mount type=volume,dst=/x,volume-opt=device=/ image",
        "docker run --mount type=bind,source=src,dst=/x,bind-propagation=rshared image",
        "docker run --mount type=glob,source=/*,dst=/x image",
        "docker run --mount type=bind,source=src,dst=/x,new=/ image",
        "docker run -v '\\/:/x' image",
        "docker run -v=/:/x image",
        "podman run -v ./src:/x:O,upperdir=/home image",
        "docker run -v ./src:/x:rshared image",
        "docker volume create --opt type=none --opt device=/ x",
        "podman run --rootfs / sh",
        "docker-compose run -v /:/x web",
    ] {
        let program = line.split(' ').next().unwrap();
        let rule = format!("Bash({program}:*)");
        assert_eq!(Bench::new().allow(&rule).bash(line), Ask, "{line}");
    }
    for line in [
        "docker run --mount type=bind,source=./src,target=/x,readonly image",
        "docker run --mount type=bind,src=src,dst=/x,ro=true image",
        "docker run --mount source=cache,destination=/x,volume-nocopy image",
        "docker run --mount type=tmpfs,dst=/x,tmpfs-size=64m image",
        "docker volume create x",
        "docker-compose run -v ./src:/x web",
    ] {
        let program = line.split(' ').next().unwrap();
        let judgement = Bench::new().allow(&format!("Bash({program}:*)")).bash_judgement(line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
    }
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
        ("Bash(tar:*)", "tar xzf a.tar -C tmp/I"),
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
