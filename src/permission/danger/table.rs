//! The options, program by program.

/// Programs (separated by blanks; behind a slash a word that has to stand in the command) and their options: `--long`
/// with all its short forms, `-x` alone and in a cluster, `-word` as it is, a bare word as it is, `start*`.
///
/// Two kinds of words free what the others would cover, and hold for the options of their own row alone:
///
/// - `=abc` lists the letters that every program of the row certainly gives the rest of the word as a value, so that
///   no letter behind them is an option. `=*` says that the programs know no clusters. A letter that is a flag for one
///   of the programs, in one of their versions, does not belong there: everything behind it would go unseen.
/// - `!--name` is an option of these programs that a longer one in the row begins with.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "git",
        "!--text --output --ext-diff --textconv --open-files-in-pager --upload-pack --receive-pack \
         --upload-archive --exec --output-directory --config-env --extcmd --export-marks --export-pack-edges \
         --unsafe-paths",
    ),
    ("git/read-tree", "--index-output"),
    ("git/bundle", "create"),
    ("git/maintenance", "start register"),
    ("git/help", "-w --web -i --info"),
    ("git/checkout-index", "--prefix"),
    ("git/grep", "=ABCefm -O"),
    ("git/clone", "=bjo -u -c --config --template --separate-git-dir"),
    ("git/init", "--template --separate-git-dir"),
    ("git/archive git/format-patch git/bugreport git/diagnose", "-o --remote"),
    ("git/rebase", "-x"),
    ("git/difftool", "-x -t --tool"),
    ("git/mergetool", "-t --tool"),
    ("git/bisect", "run view visualize"),
    ("git/submodule", "foreach"),
    ("git/hook", "run"),
    ("git/send-email", "--smtp-server --sendmail-cmd --to-cmd --cc-cmd --header-cmd"),
    ("find", "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls"),
    ("fd fdfind", "=cdeEjSt -x -X --exec --exec-batch"),
    ("rg", "--pre --hostname-bin"),
    ("sort", "=kStT -o --output --compress-program"),
    ("split", "--filter"),
    ("uniq tree iconv shuf xmllint gpg objcopy", "-o --output"),
    (
        "curl",
        "=AbCdeEFHmPQrTtuUwxXyYz -o -O -J -K -c -D --expand-* --output --remote-name \
         --remote-name-all --remote-header-name --output-dir \
         --create-dirs --config --cookie-jar --dump-header --trace --trace-ascii --stderr --libcurl --hsts \
         --alt-svc --etag-save --engine --ssl-sessions",
    ),
    (
        "wget",
        "=ABDiIlQRtTUwX -o -O -a -P -e --output-document --output-file --append-output --directory-prefix --execute \
         --use-askpass --config --save-cookies --hsts-file --warc-file --rejected-log",
    ),
    (
        "tar bsdtar",
        "=bCfHKLNTVX -I -F -g -P --absolute-names --one-top-level --index-file --listed-incremental \
         --volno-file --checkpoint-action --to-command --use-compress-program --rsh-command --info-script \
         --new-volume-script --rmt-command",
    ),
    ("zip", "-T --unzip-command --test"),
    ("ssh", "=BbceiJLlmOopQRSWwD -F -I -E"),
    ("scp", "=ciJloP -F -S -D"),
    ("sftp", "=BciJloPRs -F -S -D -b"),
    (
        "rsync",
        "=BTf -e -M --rsh --rsync-path --remote-option --log-file --config --write-batch --only-write-batch \
         --backup-dir",
    ),
    ("man", "-P -H -X -C --pager --html --gxditview --preprocessor --config-file"),
    ("less more", "-o -O -k --log-file --lesskey-file --lesskey-src --LOG-FILE +*"),
    ("vi vim nvim view ex", "-c -S -s -u -U -i -w -W --cmd --startuptime --listen +*"),
    ("ed", "!*"),
    ("emacs", "-l -f -q --eval --execute --load --funcall --script --batch --insert"),
    ("nano", "-B -C -s --speller --backupdir --rcfile"),
    ("sed gsed", "=e -i -f --in-place --file"),
    (
        "awk gawk mawk nawk",
        "=Fve -f -i -l -E -o --file --include --load --exec --pretty-print --dump-variables --profile",
    ),
    ("yq", "-i --inplace --in-place"),
    ("jq", "-L -f --from-file"),
    ("go", "=* -exec -toolexec -overlay -modfile -vettool -C generate"),
    ("go/env", "-w -u"),
    (
        "cargo",
        "!--target --config --manifest-path --target-dir --logfile --out-dir --artifact-dir -C -Z",
    ),
    ("rustc", "-C --sysroot"),
    ("gcc g++ cc c++ clang clang++", "=* -wrapper -fplugin -specs -B"),
    (
        "npm pnpm yarn bun npx",
        "--script-shell --prefix -C --dir --cwd --userconfig --globalconfig --node-options --registry --shell \
         --git --viewer --editor --init-module --preload --use-yarnrc",
    ),
    ("npx npm/exec npm/x pnpm/dlx bunx", "-c -p --call --package --shell"),
    ("make gmake", "=jlo -f -C -I -E --file --makefile --directory --eval --include-dir"),
    (
        "just",
        "-f -d -c --justfile --working-directory --shell --shell-arg --set --chooser --command --dotenv-path",
    ),
    (
        "pip pip3 uv",
        "!--pre -i -f -t --index-url --extra-index-url --find-links --trusted-host --target --prefix --root --python \
         --proxy --log --config-settings --build-option --global-option --default-index --index",
    ),
    (
        "pytest py.test",
        "=kmnWpr !--co -c -o --override-ini --config-file --rootdir --basetemp --pdbcls --confcutdir --junitxml \
         --junit-xml",
    ),
    (
        "mvn mvnw",
        "=bDPpT -f -s -gs -t -l --log-file --file --settings --global-settings --toolchains exec:*",
    ),
    (
        "gradle gradlew",
        "=DPx -I -p -b -c -g --init-script --project-dir --build-file --settings-file --gradle-user-home \
         --include-build -Dorg.gradle.jvmargs -Dorg.gradle.java.home",
    ),
    ("dotnet", "=* -a --test-adapter-path --settings --diag -p:CustomBefore* -p:CustomAfter*"),
    ("kubectl oc helm", "--kubeconfig --cache-dir --post-renderer --log-file --profile-output"),
    (
        "docker podman",
        "--privileged --entrypoint --config --host --device --pid --security-opt --cap-add",
    ),
    ("terraform tofu", "-chdir -plugin-dir"),
    (
        "eslint",
        "-c -o -f --config --rulesdir --plugin --parser --resolve-plugins-relative-to --output-file --format",
    ),
    (
        "prettier stylelint",
        "--config --plugin --plugin-search-dir --custom-syntax --custom-formatter -o --output-file",
    ),
    (
        "jest vitest mocha",
        "-c -r --config --require --globalSetup --setupFiles --reporters --runner --resolver --outputFile",
    ),
    ("psql", "=cdFhPpRTUv -f -o -L --file --output --log-file"),
    (
        "mysql mariadb",
        "--pager --tee --init-command --defaults-file --defaults-extra-file --plugin-dir",
    ),
    ("sqlite3", "-init -cmd"),
    (
        "tsc",
        "-p -b --outFile --outDir --declarationDir --generateTrace --generateCpuProfile --tsBuildInfoFile --project",
    ),
    (
        "mypy",
        "--python-executable --config-file --cache-dir --junit-xml --html-report --txt-report --xml-report",
    ),
    (
        "pylint flake8 pyright",
        "-p --init-hook --rcfile --load-plugins --output --output-file --config --append-config --pythonpath",
    ),
    (
        "black isort ruff rustfmt gofmt",
        "--config --settings-file --settings-path --output-file --config-path -cpuprofile",
    ),
    ("phpunit", "-c --bootstrap --configuration --include-path --extension --log-junit --printer"),
    ("rspec", "=eftP -r -O -o -I --require --options --out --default-path"),
    ("tox nox", "-c -f --conf --noxfile --workdir --force-dep"),
    ("ninja", "=djklw -f -C -t"),
    ("ctest", "=* -S -SP -O -D --script --output-log --build-and-test --test-dir"),
    ("openssl", "-out -engine -provider-path -config"),
    ("gh", "--extension alias extension"),
];

/// The same for every program that is not in the table.
pub const ANYWHERE: &str = "--exec --exec-batch --execute --eval --output --output-file --outfile --out-file \
    --to-command --rsh --shell --script-shell --pager --editor --plugin --compress-program \
    --use-compress-program --post-renderer";

/// Letters that tar takes without a dash in its first word.
pub const TAR_LETTERS: &[&str] = &["-I", "-F", "-g", "-P"];
