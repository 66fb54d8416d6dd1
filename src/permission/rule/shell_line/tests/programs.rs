//! Programs that another command runs or may run.

use crate::permission::judge::Decision::{Allow, Ask, Deny};

use super::each;

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
fn a_program_that_values_spell_among_the_arguments_of_another_asks() {
    let words = ["r$z", "\"r${z}\"", "\"/x/bin/r${z}\"", "r${e}m", "\"${x}${z}\"", "--cmd=r\"$z\""];
    for runner in ["valgrind", "flock /tmp/l", "unshare -r", "own", "uv run"] {
        let line = |word: &str| format!("z=m; x=r; e=; {runner} {word} v");
        let lines = words.map(line);
        let cases: Vec<_> = lines.iter().map(|line| ("Bash(rm:*)", line.as_str())).collect();
        each(&cases, Ask);
    }
    each(
        &[
            ("Bash(rm:*)", "z=m; own \"a${z}\" \"$z.o\""),
            ("Bash(rm:*)", "for f in src/a.c src/rm.c; do cat \"$f\"; done"),
            ("Bash(rm:*)", "for f in src/a.c; do own \"$f.o\" \"$f\"; done"),
            ("Bash(rm:*)", "z=m; echo r$z"),
        ],
        Allow,
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
            ("Bash(rm:*)", "for f in *.sh; do ./$f; done"),
            ("Bash(rm:*)", "for i in {1..100}; do ./t$i; done"),
            ("Bash(rm:*)", "a=farm; $a x"),
            ("Bash(rm:*)", "a=/opt/farm; ${a}/bin/app x"),
            ("Bash(rm:*)", "bin=$PWD/app; $bin -v"),
            ("Bash(rm:*)", "command -v $x"),
            ("Bash(rm:*)", "c='cargo test'; $c"),
            ("Bash(rm:*)", "set -euo pipefail; \"$PYTHON\" -m x"),
            ("Bash(rm:*)", "set -e; $CC a.c; set +o posix; $EDITOR f"),
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
