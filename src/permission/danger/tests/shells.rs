//! Shells among the words of a command, and programs that run their words.

use std::fs;

use super::*;

#[test]
fn no_prefix_rule_covers_a_shell_wherever_it_stands() {
    asked_about(&[
        ("Bash(uv run:*)", "uv run sh -c 'touch x'"),
        ("Bash(uv:*)", "uv run --with x bash ./x"),
        ("Bash(uv run bash:*)", "uv run bash x"),
        ("Bash(uv run bash:*)", "uv run bash -c x"),
        ("Bash(uv run *)", "uv run /bin/sh x"),
        ("Bash(uv * test)", "uv run sh test"),
        ("Bash(poetry run:*)", "poetry run 'sh' x"),
        ("Bash(poetry run:*)", "poetry run {sh,-c,x}"),
        ("Bash(poetry run:*)", "poetry run $'s\\x68' x"),
        ("Bash(poetry run:*)", "s=sh; poetry run $s x"),
        ("Bash(poetry run:*)", "for s in dash; do poetry run \"$s\" x; done"),
        ("Bash(poetry run:*)", "poetry run $SHELL -c x"),
        ("Bash(poetry run:*)", "poetry run \"${SHELL}\" -c x"),
        ("Bash(poetry run:*)", "poetry run $0 -c x"),
        ("Bash(poetry run:*)", "poetry run sh$x -c x"),
        ("Bash(poetry run:*)", "poetry run ~/bin/sh x"),
        ("Bash(npx:*)", "npx bash -c x"),
        ("Bash(npx:*)", "npx bash@5 -c x"),
        ("Bash(bundle exec:*)", "bundle exec zsh x"),
        ("Bash(conda run:*)", "conda run -n x sh x"),
        ("Bash(mise exec:*)", "mise exec -- sh x"),
        ("Bash(direnv exec:*)", "direnv exec . sh x"),
        ("Bash(pipenv run:*)", "pipenv run ksh93 x"),
        ("Bash(hatch run:*)", "hatch run fish -c x"),
        ("Bash(nix shell:*)", "nix shell -c bash-5.2 x"),
        ("Bash(nix develop:*)", "nix develop --command=bash"),
        ("Bash(own:*)", "own --run busybox ash x"),
        ("Bash(own:*)", "own pwsh -Command x"),
        ("Bash(own:*)", "own ./sh.exe x"),
        ("Bash(xargs poetry run:*)", "echo sh -c x | xargs poetry run"),
        ("Bash(timeout 60 uv run:*)", "timeout 60 uv run sh x"),
        ("Bash(mksh:*)", "mksh x"),
        ("Bash(bash5.2:*)", "bash5.2 x"),
        ("Bash(nu:*)", "nu -c x"),
        ("Bash(docker:*)", "docker --context x volume sh"),
        ("Bash(git rebase:*)", "git rebase sh"),
    ]);
    covered(&[
        ("Bash(uv run:*)", "uv run pytest -q"),
        ("Bash(uv:*)", "uv add sh"),
        ("Bash(npx:*)", "npx tsc"),
        ("Bash(conda run:*)", "conda run -n x pytest -q"),
        ("Bash(nix develop:*)", "nix develop -c cargo test"),
        ("Bash(npx:*)", "npx bashate"),
        ("Bash(docker exec:*)", "docker exec c sh -c ls"),
        ("Bash(docker:*)", "docker compose exec web bash"),
        ("Bash(docker run:*)", "docker run --rm x sh -c ls"),
        ("Bash(podman run:*)", "podman run -it x bash"),
        ("Bash(kubectl:*)", "kubectl -n prod exec p -- sh -c ls"),
        ("Bash(ssh:*)", "ssh host bash -lc ls"),
        ("Bash(git commit:*)", "git commit -m sh"),
        ("Bash(git commit:*)", "git commit -m 'run sh -c x' -- bin/bash"),
        ("Bash(grep:*)", "grep -rn bash /x"),
        ("Bash(cargo test:*)", "cargo test fish"),
        ("Bash(pip install:*)", "pip install dash"),
        ("Bash(npm install:*)", "npm install sh"),
        ("Bash(apt-get install:*)", "apt-get install zsh"),
        ("Bash(shellcheck:*)", "shellcheck -s bash run.sh"),
        ("Bash(own:*)", "own run.sh --mode=none 'sh -c x'"),
        ("Bash(uv run sh x)", "uv run sh x"),
    ]);
    let bench = JudgeFixture::new().allow("Bash(poetry run:*)");
    fs::write(bench.root.join("project/sh"), "").unwrap();
    bench.asks(["poetry run ./s?", "poetry run s*"]);
    let bench = bench.allow("Bash(which:*)");
    bench.asks(["poetry run $(which sh) -c x"]);
    let bench = bench.allow("Bash(own:*)");
    bench.asks(["own $(which sh) -c x"]);
    bench.asks([
        "poetry run \"s$(cat f)\" -c x",
        "poetry run \"./$(cat f)\"",
        "poetry run a \"$b\"",
    ]);
    bench.allows(["own x $(which own) a$y \"$PWD/x.sh\"", "for x in a b; do own \"$x\"; done"]);
    let bench = bench.allow("Bash(tar:*)").allow("Bash(mkdir:*)");
    bench.asks(["tar \"c$(cat f)\" x.tar y a", "tar xv\"$(cat f)\""]);
    bench.allows(["mkdir \"a/$(cat f)\""]);
    fs::create_dir(bench.root.join("project/many")).unwrap();
    for name in (0..300).map(|n| format!("shx{n}")).chain(["sh".to_owned()]) {
        fs::write(bench.root.join("project/many").join(name), "").unwrap();
    }
    bench.asks(["cd many; poetry run s*", "own many/*", "for y in s; do own many/$y*; done"]);
    bench.allows(["own many/shx*"]);
}

#[test]
fn a_shell_that_a_word_is_joined_to_counts() {
    let mut bench = JudgeFixture::new();
    let runners = "uv run|poetry run|bundle exec|npx|pipx run|mise exec --|conda run -n x|nix run|uvx|dotenv --\
                   |cross-env|coverage run|own";
    for runner in runners.split('|') {
        bench = bench.allow(&format!("Bash({runner}:*)"));
    }
    for runner in runners.split('|') {
        bench.asks(
            [
                "q=; uv run \"/bin/s${q}h\" -c y",
                "q=; uv run s\"$q\"h -c y",
                "y=s; uv run \"/bin/${y}h\" -c y",
                "y=h; uv run \"/bin/s$y\" -c y",
                "y=s; z=h; uv run \"$y$z\" -c y",
                "for y in s; do uv run \"/bin/${y}h\" -c y; done",
                "y=t; uv run \"/usr/bin/${y}imeout\" 5 touch y",
                "y=timeout; uv run $y 5 touch y",
                "y='sh x'; uv run $y -c y",
                "y=s; uv run --x=\"/bin/${y}h\"",
            ]
            .map(|line| line.replace("uv run", runner)),
        );
    }
    bench.allows([
        "y=a; uv run \"src/${y}.py\" --fast",
        "for f in src/a.c src/b.c; do own \"$f\" \"out/${f}.o\"; done",
    ]);
    let many = bench.root.join("project/many");
    fs::create_dir(&many).unwrap();
    for name in (0..300).map(|at| format!("f{at}.png")).chain(["s".to_owned()]) {
        fs::write(many.join(name), "").unwrap();
    }
    for line in
        ["for f in s*; do own \"${f}h\" -c y; done", "for f in *; do own \"/bin/${f}h\" -c y; done"]
    {
        assert_eq!(bench.bash_in("many", line).decision, Ask, "{line}");
    }
    for line in [
        "for f in f*.png; do own \"$f\" \"$f.jpg\"; done",
        "for f in f1?.png; do npx own \"$f\" \"$f.jpg\"; done",
        "for f in f*; do own \"$f\" \"out/$f\" \"$f.bak\"; done",
    ] {
        let judgement = bench.bash_in("many", line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
    }
}

#[test]
fn a_wrapper_behind_a_runner_is_named_with_what_it_starts() {
    asked_about(&[
        ("Bash(uv run:*)", "uv run env -S 'sh -c x'"),
        ("Bash(uv run:*)", "uv run env '-Ssh -c x'"),
        ("Bash(uv run:*)", "uv run env -iSsh x"),
        ("Bash(uv run:*)", "uv run env --split-string='sh -c x'"),
        ("Bash(uv run:*)", "uv run env -S 'sh\\_-c\\_x'"),
        ("Bash(uv run:*)", "uv run /usr/bin/env -S '${SHELL} -c x'"),
        ("Bash(uv run:*)", "uv run -- e{n,n}v -S 'python -c x'"),
        ("Bash(uv run env:*)", "uv run env -S 'sh -c x'"),
        ("Bash(uvx:*)", "uvx env -S 'sh -c x'"),
        ("Bash(npx:*)", "npx watch 'touch x'"),
        ("Bash(bundle exec:*)", "bundle exec script -c 'touch x' f"),
        ("Bash(own:*)", "own --run flock f -c 'touch x'"),
        ("Bash(poetry run:*)", "poetry run su -c 'touch x'"),
        ("Bash(poetry run:*)", "echo sh -c x | poetry run xargs env"),
        ("Bash(poetry run:*)", "poetry run xargs -a f env"),
        ("Bash(poetry run:*)", "echo sh -c x | poetry run parallel"),
        ("Bash(poetry run:*)", "poetry run hyperfine 'touch x'"),
        ("Bash(poetry run:*)", "poetry run sudo ls"),
        ("Bash(poetry run:*)", "w=sudo; poetry run $w ls"),
        ("Bash(poetry run xargs:*)", "poetry run xargs env"),
        ("Bash(poetry run timeout:*)", "poetry run timeout 60 pytest"),
        ("Bash(npm exec:*)", "npm exec -- env -S 'sh -c x'"),
        ("Bash(uv run:*)", "uv run script"),
        ("Bash(uv run:*)", "uv run --with own script ../x"),
        ("Bash(uv run:*)", "uv run time -o ../x id"),
        ("Bash(poetry run:*)", "poetry run time --out=../x id"),
    ]);
    covered(&[
        ("Bash(poetry run timeout 60 pytest:*)", "poetry run timeout 60 pytest -q"),
        ("Bash(poetry env:*)", "poetry env use python3.12"),
        ("Bash(conda env:*)", "conda env create -n 'my env'"),
        ("Bash(npm run:*)", "npm run watch -- -t 'adds numbers'"),
        ("Bash(cargo:*)", "cargo watch -x 'test -p own'"),
        ("Bash(npm install:*)", "npm install nohup"),
        ("Bash(pip install:*)", "pip install hyperfine"),
        ("Bash(docker exec:*)", "docker exec c env -S 'ls -l'"),
        ("Bash(git push:*)", "git push origin parallel"),
        ("Bash(make:*)", "make valgrind"),
        ("Bash(uv run:*)", "uv run env"),
        ("Bash(uv run:*)", "uv run time pytest"),
        ("Bash(uv run:*)", "uv run pytest script"),
        ("Bash(npm run:*)", "npm run script"),
        ("Bash(uv run:*)", "uv run pytest tests/time -k own"),
    ]);
}

#[test]
fn a_glob_joined_with_unknown_text_may_become_a_shell_in_the_folder() {
    let bench = JudgeFixture::new().allow("Bash(own:*)");
    let lines = ["own b*\"$w\" x", "own run b*${w} x", "own ./b*\"$w\" x", "own src/d\"$w\"*h x"];
    bench.allows(lines);
    for shell in ["bash", "src/dash"] {
        fs::write(bench.root.join("project").join(shell), "").unwrap();
    }
    bench.asks(lines);
    bench.allows(["own c*\"$w\" x", "own src/b*\"$w\" x"]);
}

#[test]
fn the_question_says_that_there_is_a_shell() {
    let judgement = JudgeFixture::new().allow("Bash(uv run:*)").bash_judgement("uv run sh x");
    assert!(judgement.why.contains("uv with a shell among its words"), "{}", judgement.why);
    assert_eq!(judgement.suggestions, ["Bash(uv run sh x)"]);
    let suggestions = JudgeFixture::new().bash_judgement("npm run sh x").suggestions;
    assert_eq!(suggestions, ["Bash(npm run sh x)"]);
}

#[test]
fn a_rule_for_a_program_that_runs_its_words_names_both() {
    let lines = [
        "setpriv --reuid 1 ./x",
        "prlimit --nofile=1 ./x",
        "linux32 ./x",
        "x86_64 ./x",
        "choom -n 1 -- ./x",
        "fakeroot ./x",
        "bwrap --bind / / ./x",
        "firejail ./x",
        "tini ./x",
        "dumb-init ./x",
        "faketime now ./x",
        "proxychains4 ./x",
        "torsocks ./x",
        "xvfb-run -a ./x",
        "dbus-run-session ./x",
        "valgrind ./x",
        "hyperfine ./x",
        "entr ./x",
        "unbuffer ./x",
        "toybox ls",
        "perf stat ./x",
        "perf record -g ./x",
        "gdb --args ./x",
        "gdb -ex 'shell ./x'",
        "lldb -o 'platform shell x'",
        "expect -c 'spawn ./x'",
        "ssh-agent ./x",
    ];
    for line in lines {
        let program = line.split(' ').next().unwrap();
        let bench = JudgeFixture::new().allow(&format!("Bash({program}:*)"));
        bench.asks([line]);
    }
    covered(&[
        ("Bash(fakeroot make:*)", "fakeroot make all"),
        ("Bash(faketime now make:*)", "faketime now make all"),
        ("Bash(valgrind ./x:*)", "valgrind ./x y"),
        ("Bash(xvfb-run npm test:*)", "xvfb-run npm test"),
        ("Bash(perf stat make:*)", "perf stat make all"),
        ("Bash(perf report:*)", "perf report --stdio"),
        ("Bash(perf:*)", "perf list"),
        ("Bash(gdb --args ./x:*)", "gdb --args ./x y"),
        ("Bash(gdb:*)", "gdb ./x core"),
    ]);
    asked_about(&[
        ("Bash(fakeroot make:*)", "fakeroot make -f x"),
        ("Bash(fakeroot:*)", "fakeroot fakeroot make"),
        ("Bash(valgrind sh:*)", "valgrind sh x"),
    ]);
}

#[test]
fn a_bracket_does_not_hide_a_shell() {
    let bench = JudgeFixture::new().allow("Bash(uv run:*)");
    for line in [
        "uv run /[[.b.]]in/sh -c x",
        "uv run /b[[=i=]]n/sh -c x",
        "uv run /b['i']n/sh -c x",
        "uv run /b[\"i\"]n/sh",
        "uv run \"/b\"['i']n/sh",
        "uv run /b[i\\]]n/sh",
        "uv run ./q[x/]/../../../../bin/sh",
        "uv run --x=/b[[.i.]]n/sh",
        "uv run /usr/[[=b=]]in/timeout 5 sh -c x",
        "uv run /bin/[$y]h",
        "x='/b[i]n/s\\h'; uv run $x -c x",
        "x='/b[i]n/\\sh'; uv run $x -c x",
    ] {
        assert_eq!(bench.bash(line), Ask, "{line}");
    }
}
