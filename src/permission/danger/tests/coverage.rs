//! The coverage of rules, and the text and suggestions of questions.

use super::*;

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
        ("Bash(npm test:*)", "npm test -- --coverage -t 'a b' src/a.test.js"),
        ("Bash(npm test -- --config:*)", "npm test -- --config x"),
        ("Bash(pnpm build:*)", "pnpm build --watch"),
        ("Bash(yarn test:*)", "yarn test --runInBand src"),
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
        ("Bash(sed:*)", "sed -E 's/[^a-z]/x/' a"),
        ("Bash(sed:*)", "sed 's/[[:space:]]*$//;s,[]a],x,;s/[\\t ]/ /g' a"),
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
        ("Bash(git diff:*)", "git diff -- *.md"),
        ("Bash(git diff:*)", "f=a; git diff $f"),
        ("Bash(git diff:*)", "git diff src/*.rs \"a$(echo b)\""),
        ("Bash(git add:*)", "git add \"$PWD/a\" {a,b}/*.rs"),
        ("Bash(git commit:*)", "git commit -a -m \"$(echo b)\""),
    ];
    let wrong: Vec<String> = rows
        .iter()
        .map(|(rule, line)| (rule, line, JudgeFixture::new().allow(rule).bash_judgement(line)))
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
            "no rule allows git with words known only at run time: rule Bash(git:*) in \
             .caliban/config.toml does not name it"
                .to_owned(),
        ),
    ] {
        let judgement = JudgeFixture::new().allow(allowed).bash_judgement(line);
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
        let suggestions = JudgeFixture::new().bash_judgement(line).suggestions;
        assert_eq!(suggestions.join(","), expected, "{line}");
    }
}
