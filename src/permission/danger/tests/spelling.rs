//! How options are written, and where they stand.

use super::*;

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
