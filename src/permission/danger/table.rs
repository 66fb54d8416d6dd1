//! The options, program by program.

/// Programs (separated by blanks; after a slash, a word that must be in the command) and their
/// options: `--long` with all its short forms, `-x` alone and in a cluster, `-word` as is, a bare
/// word as is, `start*`. Anything but options, such as scripts and settings among the words, is
/// handled by the functions beside this table.
///
/// Two kinds of words exempt what the others would cover, within their own row:
///
/// - `=abc` lists the letters that take the rest of the word as a value in every program of the row,
///   so that no letter after them is an option. `=*` says that the programs have no letter clusters.
///   Never list a letter that is a flag in any version of one of the programs: everything after it
///   would go unseen.
/// - `!--name` is an option of these programs that is a prefix of a longer one in the row, or that is
///   harmless although its name suggests otherwise.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "git",
        "!--text --output --ext-diff --textconv --open-files-in-pager --upload-pack --receive-pack \
         --upload-archive --exec --output-directory --config-env --extcmd --export-marks --export-pack-edges \
         --unsafe-paths --build-fake-ancestor",
    ),
    ("git/read-tree", "--index-output"),
    ("git/interpret-trailers", "--in-place"),
    ("git/push", "--repo"),
    ("git/bundle", "create"),
    ("git/gc git/repack", "--expire-to --filter-to"),
    ("git/maintenance", "start register"),
    ("git/help", "-w --web -i --info"),
    ("git/checkout-index", "--prefix"),
    ("git/grep", "=ABCefm -O"),
    ("git/clone", "=bjo -u -c --config --template --separate-git-dir"),
    ("git/init", "--template --separate-git-dir"),
    ("git/archive git/format-patch git/bugreport git/diagnose", "-o --remote"),
    ("git/format-patch", "--range-diff --interdiff"),
    ("git/rebase", "=CsX -x"),
    ("git/difftool", "-x -t --tool"),
    ("git/mergetool", "-t --tool"),
    ("git/bisect", "run view visualize"),
    ("git/submodule", "foreach"),
    ("git/hook", "run"),
    ("git/send-email", "--smtp-server --sendmail-cmd --to-cmd --cc-cmd --header-cmd"),
    ("find", "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls -files0-from"),
    ("du wc", "--files0-from"),
    ("fd fdfind", "=cdeEjSt -x -X --exec --exec-batch"),
    ("rg", "--pre --hostname-bin"),
    ("sort", "=kStT -o --output --compress-program --files0-from"),
    ("split", "--filter"),
    ("time gtime", "=fo -o --output"),
    ("uniq tree iconv shuf xmllint objcopy base64 base32 basenc", "-o --output"),
    (
        "patch gpatch",
        "=DFipVx -o -e -r -d -g -B -Y -z --output --ed --reject-file --directory --get --prefix --basename-prefix \
         --suffix",
    ),
    ("file", "=Fm -C -f --compile --files-from"),
    ("sdiff diff3", "=IFw -o --output --diff-program"),
    ("info", "=dfkn -o --output --dribble --restore --init-file"),
    ("ugrep ug", "--filter --pager --view --save-config"),
    ("ssh-keygen", "=bCfNPt -D -w"),
    ("ssh-add", "-s -S"),
    ("nc ncat netcat", "=ipsw -e -c -o --exec --sh-exec --lua-exec --output --hex-dump"),
    ("nmap", "=* -oN -oX -oG -oS -oA -oM --script* --datadir --servicedb --versiondb --resume"),
    ("tcpdump", "=Bcirsy -w -z"),
    ("tshark dumpcap", "=cfirs -w -X"),
    ("lynx", "=* -cfg -lss -cmd_script -cmd_log -editor -sessionout -session"),
    ("w3m", "=* -o -config"),
    (
        "aria2c",
        "-d -o -i -l --dir --out --on-* --log --conf-path --save-session --input-file --save-cookies",
    ),
    ("http https xh xhs", "=aAps -o -d --output --download --session"),
    ("zstd brotli", "-o --output --output-dir-flat --output-dir-mirror --trace"),
    ("cpio", "=CEHMR -F -O -D --file --rsh-command --directory"),
    ("journalctl", "!--output --cursor-file"),
    (
        "curl",
        "=AbCdeEFHmPQrtuUwxXyYz -T --upload-file --unix-socket --abstract-unix-socket -o -O -J -K -c -D --expand-* --output --remote-name \
         --remote-name-all --remote-header-name --output-dir \
         --create-dirs --config --cookie-jar --dump-header --trace --trace-ascii --stderr --libcurl --hsts \
         --alt-svc --etag-save --engine --ssl-sessions",
    ),
    (
        "wget",
        "=ABDIlQRtTUwX -o -O -a -P -e --output-document --output-file --append-output --directory-prefix --execute \
         --use-askpass --config --save-cookies --hsts-file --warc-file --rejected-log \
         -i --input-file",
    ),
    (
        "tar bsdtar gtar",
        "=bCfHKLNTVX -I -F -T -g -P --absolute-names --one-top-level --index-file --listed-incremental \
         --volno-file --checkpoint-action --to-command --use-compress-program --rsh-command --info-script \
         --new-volume-script --rmt-command --remove-files",
    ),
    ("zip", "-T -@ --unzip-command --test"),
    ("ssh", "=BbceiJLlmOopQRWwD -F -I -E -S"),
    ("scp", "=ciJloP -F -S -D"),
    ("sftp", "=BciJloPRs -F -S -D -b"),
    (
        "rsync",
        "=BTf !--partial -e -M --rsh --rsync-path --remote-option --log-file --config --write-batch --only-write-batch \
         --backup-dir --temp-dir --partial-dir --daemon --dparam \
         --files-from",
    ),
    ("man", "-P -H -X -C --pager --html --gxditview --preprocessor --config-file"),
    (
        "gdb",
        "=* -ex -ix -iex -eix -eiex -x -eval-command -command -init-command -init-eval-command -early-init-command \
         -early-init-eval-command -data-directory",
    ),
    ("lldb", "-o -O -s -S -k -K --one-line* --source*"),
    ("expect", "-c"),
    ("less more", "-o -O -k --log-file --lesskey-* --LOG-FILE +*"),
    ("vi vim nvim view ex", "-c -S -s -u -U -i -w -W --cmd --startuptime --listen +*"),
    ("ed", "!*"),
    ("emacs", "-l -f -q --eval --execute --load --funcall --script --batch --insert"),
    ("nano", "-B -C -s --speller --backupdir --rcfile"),
    ("sed gsed", "=e -i -f --in-place --file"),
    (
        "awk gawk mawk nawk",
        "=Fve -f -i -l -E -o --file --include --load --exec --pretty-print --dump-variables --profile",
    ),
    ("yq", "=op -i -s --inplace --in-place --split-exp --split-exp-file"),
    ("jq", "-L -f --from-file"),
    ("go", "=* -exec -compiler -toolexec -overlay -modfile -vettool -C -pkgdir -debug-* generate"),
    ("go/env", "-w -u"),
    (
        "cargo",
        "=Fjp !--target --config --manifest-path --target-dir --logfile --out-dir --artifact-dir -C -Z --codegen @*",
    ),
    ("cargo/clippy", "-o --emit"),
    ("cargo/doc cargo/rustdoc", "--open"),
    (
        "cargo/nextest",
        "--extract-to --archive-file --tool-config-file --config-file --debugger --tracer",
    ),
    ("rustc clippy-driver", "-C -Z --codegen --sysroot"),
    ("rustdoc", "-C -Z --codegen --sysroot --test-builder --test-runtool --runtool"),
    (
        "gcc g++ cc c++ cpp gfortran clang clang++ clang-cpp",
        "=* -wrapper -fplugin -fpass-plugin -iplugindir -specs -B -load -plugin -ccc-* -gcc-toolchain \
         -prefix -for-linker -for-assembler -gcc-install-dir -ld-path -config* -working-directory* --working-directory",
    ),
    (
        "clang-tidy clang-check opt llc",
        "=* -load -load-pass-plugin -export-fixes -store-check-profile",
    ),
    ("nm ranlib", "--plugin"),
    ("objcopy", "--dump-section"),
    ("strip", "=KR -o --output"),
    ("as", "=Io -a* --MD"),
    ("ar", "-M --output --plugin"),
    (
        "ld ld.bfd ld.gold ld.lld ld.mold ld64.lld lld gold mold",
        "=* -plugin -load-pass-plugin -error-handling-script -run -c -mri-script -Map -dependency-file -out-implib -reproduce -time-trace",
    ),
    ("dlltool dllwrap windres windmc", "-S --as --preprocessor --driver-name"),
    ("nvcc", "=* -ccbin -compiler-bindir -optf -options-file -fplugin -wrapper"),
    ("ghc", "=* -pgm* -F -fplugin* -ghci-script"),
    ("ocamlc ocamlopt ocamldep ocamlfind", "=* -pp -ppx -cc -args -args0 -plugin"),
    (
        "javac javadoc jar javap jdeps jlink jmod kotlinc scalac groovyc",
        "=* -J* -processor -processorpath --processor-path --processor-module-path -Xplugin* -doclet -docletpath \
         -taglet -tagletpath",
    ),
    ("protoc", "--plugin --descriptor_set_out --dependency_out"),
    (
        "cppcheck",
        "--addon* --clang --output-file --plist-output --cppcheck-build-dir --checkers-report",
    ),
    (
        "golangci-lint",
        "=DEpj -c --config --cpu-profile-path --mem-profile-path --trace-path --out-*",
    ),
    (
        "npm pnpm yarn bun npx",
        "--script-shell --prefix -C --dir --cwd --userconfig --globalconfig --node-options --registry --shell \
         --git --viewer --editor --init-module --preload --use-yarnrc --logs-dir --cache",
    ),
    ("npx npm/exec npm/x pnpm/dlx bunx", "-c -p --call --package --shell"),
    ("make gmake", "=jlo -f -C -I -E --file --makefile --directory --eval --include-dir"),
    (
        "just",
        "-f -d -c --justfile --working-directory --shell --shell-arg --set --chooser --command --dotenv-path",
    ),
    (
        "pip pip3",
        "=cr !--pre -i -f -t --index-url --extra-index-url --find-links --trusted-host --target --prefix --root --python \
         --proxy --log --config-settings --build-option --global-option --default-index --index",
    ),
    (
        "uv",
        "!--pre -i -f -t --index-url --extra-index-url --find-links --trusted-host --target --prefix --root --python \
         --proxy --log --config-settings --build-option --global-option --default-index --index",
    ),
    ("apt apt-get aptitude apt-cache", "=t -o -c --option --config-file"),
    ("dnf yum", "=x -c --config --setopt --installroot"),
    ("dpkg", "--pre-invoke --post-invoke --admindir --root --instdir --status-logger"),
    ("rpm", "-D -E --define --eval --pipe --load --macros --rcfile --root --dbpath"),
    ("pacman", "-r -b --config --hookdir --root --sysroot --dbpath --gpgdir"),
    ("pip/config pip3/config", "edit set unset --editor"),
    (
        "pytest py.test",
        "=kmnWpr !--co -c -o --override-ini --config-file --rootdir --basetemp --pdbcls --confcutdir --junitxml \
         --junit-xml --log-file --report-log --debug --html --json-report-file --pastebin \
         --result-log --csv --tx --trace --pdb --alluredir --cov-config --benchmark-json --benchmark-storage --benchmark-save \
         --benchmark-autosave --profile-svg --gherkin-terminal-reporter --md-report-output --snapshot-dir",
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
    (
        "dotnet msbuild",
        "=* @* -a -d -e -s --test-adapter-path --settings --diag --environment --packages --lock-file-path --configfile --source",
    ),
    (
        "kubectl oc",
        "!--output !--command --kubeconfig --cache-dir --log-file --profile-output --output-directory --enable-helm \
         --enable-exec --enable-alpha-plugins --helm-command --exec-command",
    ),
    ("kubectl/kustomize oc/kustomize", "=n -o --output"),
    (
        "helm",
        "!--output --kubeconfig --post-renderer* --output-dir --untardir --repository-cache --repository-config \
         --registry-config",
    ),
    ("helm/pull helm/fetch helm/package", "=nf -d --destination --untardir"),
    (
        "docker podman nerdctl docker-compose podman-compose",
        "--privileged --entrypoint --config --host --device --pid --security-opt --cap-add --iidfile --cidfile \
         --metadata-file --rootfs --cache-to",
    ),
    (
        "docker/build podman/build nerdctl/build docker/save podman/save nerdctl/save",
        "=ft -o --output --dest",
    ),
    ("docker/container podman/container nerdctl/container", "cp export"),
    // A volume can be a local folder.
    ("docker/volume podman/volume nerdctl/volume", "=d export import -o --opt"),
    ("terraform tofu", "=* -chdir -plugin-dir -out -state -state-out -backup -generate-config-out"),
    (
        "eslint",
        "!--cache -c -o -f --config --rulesdir --plugin --parser --resolve-plugins-relative-to --output-file --format \
         --cache-location --cache-file",
    ),
    (
        "prettier stylelint",
        "!--cache --config --plugin --plugin-search-dir --custom-syntax --custom-formatter -o --output-file --cache-location \
         --rulesdir",
    ),
    (
        "mocha",
        "=fgnORtu -O -n --ui --file --reporter-option* --reporterOption* --node-option* --nodeOption* --experimental-*",
    ),
    (
        "jest vitest mocha",
        "!--cache !--coverage !--run !--watch -c -r --config --require --globalSetup --globalTeardown --setupFiles --setupFilesAfterEnv --reporters \
         --coverageReporters --coverage-reporters --runner --resolver --outputFile* --testRunner --testEnvironment --testSequencer --testResultsProcessor \
         --filter --transform --watchPlugins --dependencyExtractor --cacheDirectory --coverageDirectory --rootDir \
         --global-setup --global-teardown --setup-files --setup-files-after-env --output-file* --test-runner \
         --test-environment --env --environment --test-sequencer --test-results-processor --watch-plugins \
         --dependency-extractor --cache-directory --coverage-directory --root-dir --snapshotSerializers \
         --snapshot-serializers --moduleNameMapper --module-name-mapper --preset --import --loader -R \
         --coverage.* --attachmentsDir --typecheck.* --execArgv --exec-argv --poolOptions* --pool-options* \
         --browser.* --json --outputJson",
    ),
    ("psql", "=cdFhPpRTUv !--command -f -o -L --file --output --log-file"),
    (
        "mysql mariadb",
        "!--execute --pager --tee --init-command --defaults-file --defaults-extra-file --plugin-dir",
    ),
    ("sqlite3", "-init -cmd"),
    ("pg_dump pg_dumpall pg_restore", "=FhjpSU -f -L --file"),
    (
        "mysqldump mariadb-dump",
        "=hPpu -r -T --result-file --tab --log-error --defaults-file --defaults-extra-file --plugin-dir",
    ),
    ("redis-cli valkey-cli", "--rdb --functions-rdb --eval"),
    (
        "pandoc",
        "=ftrwVMDH -o -F -L -d --output --filter --lua-filter --pdf-engine --extract-media --log --defaults --data-dir",
    ),
    ("dot neato fdp sfdp twopi circo", "=AEGKNTl -o -O"),
    ("xsltproc", "=* -o -output -writesubtree"),
    ("exiftool", "=* -if -p -w -W -o -config -@ -userParam"),
    ("cloc", "--extract-with --out --report-file --write-lang-def --config --list-file"),
    ("ctags uctags", "-o -f -L --options"),
    (
        "tsc",
        "-p -b --build --out --outFile --outDir --declarationDir --generateTrace --generateCpuProfile --tsBuildInfoFile --project",
    ),
    (
        "mypy",
        "--python-executable --config-file --cache-dir --junit-xml --any-exprs-report --cobertura-xml-report \
         --html-report --linecount-report --linecoverage-report --lineprecision-report --txt-report --xml-report \
         --xslt-html-report --xslt-txt-report --timing-stats --line-checking-stats",
    ),
    (
        "pylint",
        "=dejrs -f --init-hook --evaluation --rcfile --load-plugins --output --output-format --output-file --config \
         --pythonpath --import-graph --ext-import-graph --int-import-graph",
    ),
    (
        "flake8 pyright",
        "-p -f --output --output-format --output-file --config --append-config --pythonpath --rcfile",
    ),
    (
        "black isort ruff rustfmt gofmt",
        "--config --settings-file --settings-path --output-file --config-path -cpuprofile",
    ),
    ("ruff", "-o --cache-dir"),
    ("bun/test", "-r --require --import --coverage-dir --reporter-outfile"),
    (
        "phpunit",
        "=d -c --bootstrap --configuration --include-path --extension --printer --log-* --coverage-* --testdox-* \
         --generate-baseline --cache-directory --list-tests-xml --prepend",
    ),
    ("rspec", "=eftP -r -O -o -I --require --options --out --default-path --deprecation-out"),
    ("tox nox", "=ep -c -f --conf --noxfile --workdir --force-dep"),
    ("ninja", "=djklw -f -C -t"),
    (
        "ctest",
        "=* -S -SP -O -D -T -M --script --output-log --output-junit --build-and-test --test-dir --overwrite --test-action \
         --test-model --launch --script-new-process --dashboard --extra-submit --add-notes -A",
    ),
    ("gh/download", "=R -O -D --output --dir"),
    ("gh/auth", "=h -t --show-token"),
    ("gh/config", "set"),
    ("gh/alias", "set import delete"),
    ("gh/extension gh/extensions gh/ext", "install exec upgrade create remove"),
];

/// Programs that read more options from a file when a word such as `@file` names one, so the file
/// decides what they load, run and write. Names with a target or a version, such as `llvm-nm-15`,
/// count as well.
pub const OPTION_FILES: &str = "\
    addr2line ar as c++filt dlltool dllwrap dwp elfedit gcov gcov-tool gold gprof ld ld.bfd ld.gold ld.lld \
    ld.mold ld64.lld lld mold nm objcopy objdump ranlib readelf size strings strip windmc windres \
    c++ cc clang clang++ clang-check clang-cpp clang-format clang-tidy clippy-driver cpp dmd em++ emcc fpc g++ gcc \
    gdc gfortran ghc ldc2 llc nvcc opt rustc rustdoc swiftc zig \
    aapt2 checkstyle csc d8 detekt google-java-format groovyc jar javac javadoc jlink jmod kotlinc ktlint \
    mcs r8 scalac vbc \
    buck2 codespell dmypy mypy protoc py.test pytest ruff stubgen tsc";

/// The same for every program that is not in the table.
pub const ANYWHERE: &str = "!--compress !--edit !--output !--page !--plug !--post !--script --exec --exec-batch --execute --eval --output --output-file --outfile --out-file \
    --to-command --rsh --shell --script-shell --pager --editor --plugin --compress-program \
    --use-compress-program --post-renderer --run_under";

/// Letters that tar takes without a dash in its first word.
pub const TAR_LETTERS: &[&str] = &["-I", "-F", "-g", "-P"];
