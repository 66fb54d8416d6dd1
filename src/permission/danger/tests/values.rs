//! Dangers that depend on an option's value, through the judge.

use super::super::super::judge::Decision::{Allow, Ask};
use super::super::super::judge::testing::JudgeFixture;
use super::asked_about;
use super::programs::allowed;

#[test]
fn properties_of_dotnet_are_covered_by_name_in_any_case_and_in_lists() {
    for line in [
        "dotnet build -p:postbuildevent=x",
        "dotnet build -P:PostBuildEvent=x",
        "dotnet build -p:a=b",
        "dotnet build '-p:Configuration=Release;PostBuildEvent=touch x'",
        "dotnet build -p:Configuration=Release,PostBuildEvent=x",
        "dotnet build '-p:NoWarn=1;2;PostBuildEvent=x'",
        "dotnet build /p:PostBuildEvent=x",
        "dotnet build /Property:PostBuildEvent=x",
        "dotnet build --property:PostBuildEvent=x",
        "dotnet build --property=PostBuildEvent=x",
        "dotnet build --property PostBuildEvent=x",
        "dotnet build -p PostBuildEvent=x",
        "dotnet build -rp:PostBuildEvent=x",
        "dotnet build -restoreproperty:PostBuildEvent=x",
        "dotnet build '-p:Configuration=../../x'",
        "dotnet build '-p:Configuration=$(X)'",
        "dotnet build '-p:Configuration=%2e%2e%2fx'",
        "dotnet build '-p:PreBuild%45vent=x'",
        "dotnet build '\"-p:PostBuildEvent=x\"'",
        "dotnet build '-\"p\":PostBuildEvent=x'",
        "dotnet build '-p:Configuration=\"a;PostBuildEvent=x\"'",
        "dotnet build -p:CscToolPath=true",
        "dotnet build -p:OutDir=/x",
        "dotnet build -p:Version=$(cat f)",
        "x='1;PostBuildEvent=x'; dotnet build -p:Version=$x",
        "x=PostBuildEvent; dotnet build -p:$x=y",
        "dotnet build @file.rsp",
        "dotnet build '\"@file.rsp\"'",
        "dotnet build -LOGGER:x.dll",
        "dotnet build -l:trx",
        "dotnet build -dl:x.dll",
        "dotnet build -pp:/x",
        "dotnet build -ts:/x",
        "dotnet build -bl:/x.binlog",
        "dotnet build -bl:LogFile=/x.binlog",
        "dotnet build -bl:escape/x.binlog",
        "dotnet build '-flp:LogFile=/x'",
        "dotnet build -flp1:LogFile=/x",
        "dotnet build -getResultOutputFile:/x",
        "dotnet build -orc:/x",
        "dotnet build -prof:/x",
        "dotnet test --results-directory:/x",
    ] {
        assert_eq!(JudgeFixture::new().allow("Bash(dotnet:*)").bash(line), Ask, "{line}");
    }
    for line in [
        "dotnet build -c Release",
        "dotnet build -p:Configuration=Release -p:Platform=x64",
        "dotnet build '-p:Configuration=Release;Platform=x64' -p:Version=1.2.3-ci.4+a.b",
        "dotnet build /p:TreatWarningsAsErrors=true /nologo /m:4",
        "dotnet build '-p:NoWarn=CS1591;CS0618' -p:DefineConstants=A%3BB",
        "dotnet build -p:EnableNETAnalyzers=true -p:UseSharedCompilation=false",
        "dotnet build -p:ContinuousIntegrationBuild=true",
        "dotnet build --property Configuration=Release",
        "dotnet build '-t:Clean;Build'",
        "dotnet msbuild -getProperty:Version -v:m",
        "dotnet build /home/x/App.csproj",
        "dotnet build -bl -bl:out/a.binlog",
        "dotnet publish -r linux-x64 -p:PublishSingleFile=true --self-contained",
        "dotnet test --collect:'XPlat Code Coverage' --filter FullyQualifiedName~X",
        "dotnet test -v:minimal --no-build",
        "dotnet run --project App -- -p:x",
        "for v in 1.0 2.0; do dotnet build -p:Version=$v; done",
    ] {
        let judgement = JudgeFixture::new().allow("Bash(dotnet:*)").bash_judgement(line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
    }
    let rule = "Bash(dotnet build -p:Custom=1:*)";
    allowed(&[(rule, "dotnet build -p:Custom=1")]);
    asked_about(&[(rule, "dotnet build -p:Custom=1 '-p:Custom=1;PostBuildEvent=x'")]);
}

#[test]
fn a_value_that_a_program_has_itself_is_no_module_and_no_file() {
    allowed(&[
        ("Bash(mocha:*)", "mocha -R spec"),
        ("Bash(mocha:*)", "mocha --reporter dot test/*.js"),
        ("Bash(mocha:*)", "mocha --reporter=json -b"),
        ("Bash(npx mocha:*)", "npx mocha -R spec"),
        ("Bash(dotnet test:*)", "dotnet test --logger trx"),
        ("Bash(dotnet test:*)", "dotnet test --logger 'console;verbosity=detailed'"),
        ("Bash(dotnet test:*)", "dotnet test -l 'trx;LogFileName=a.trx' --logger:html"),
        ("Bash(jest:*)", "jest --env=node"),
        ("Bash(jest:*)", "jest --env jsdom --ci --coverage"),
        ("Bash(jest:*)", "jest --reporters=default --reporters=github-actions"),
        ("Bash(jest:*)", "jest --reporters default summary --ci"),
        ("Bash(jest:*)", "jest --coverage --coverageReporters=lcov text"),
        ("Bash(jest:*)", "jest --watch --cache"),
        ("Bash(pylint:*)", "pylint -f json a"),
        ("Bash(pylint:*)", "pylint --output-format=colorized a"),
        ("Bash(eslint:*)", "eslint -f stylish ."),
        ("Bash(eslint:*)", "eslint --cache --format json ."),
        ("Bash(prettier:*)", "prettier --cache --check ."),
        ("Bash(stylelint:*)", "stylelint -f string a.css"),
        ("Bash(pytest:*)", "pytest -p no:cacheprovider --color=yes"),
        ("Bash(vitest:*)", "vitest --run --environment node"),
        ("Bash(vitest:*)", "vitest run --environment=jsdom --reporter verbose --coverage"),
        ("Bash(phpunit:*)", "phpunit --testdox"),
    ]);
    asked_about(&[
        ("Bash(mocha:*)", "mocha -R ./spec"),
        ("Bash(mocha:*)", "mocha -R spec,dot"),
        ("Bash(mocha:*)", "mocha -R spec -R ./x"),
        ("Bash(mocha:*)", "mocha --reporter mochawesome"),
        ("Bash(mocha:*)", "mocha -R $x"),
        ("Bash(mocha:*)", "mocha -R xunit -O output=/x"),
        ("Bash(mocha:*)", "mocha -R xunit --reporter-options output=/x"),
        ("Bash(mocha:*)", "mocha -R xunit --reporterOption output=/x"),
        ("Bash(mocha:*)", "mocha -r spec"),
        ("Bash(mocha:*)", "mocha -R"),
        ("Bash(dotnet test:*)", "dotnet test --logger junit"),
        ("Bash(dotnet test:*)", "dotnet test --logger 'trx;LogFileName=/x'"),
        ("Bash(dotnet test:*)", "dotnet test -logger:trx"),
        ("Bash(dotnet test:*)", "dotnet test -l ./x.dll"),
        ("Bash(jest:*)", "jest --env=./x"),
        ("Bash(jest:*)", "jest --reporters=default ./x"),
        ("Bash(jest:*)", "jest --reporters default ./x"),
        ("Bash(jest:*)", "jest --coverageReporters=./x"),
        ("Bash(jest:*)", "jest --coverageReporters text ./x"),
        ("Bash(pylint:*)", "pylint -f json:/x a"),
        ("Bash(pylint:*)", "pylint -f json,a.B a"),
        ("Bash(eslint:*)", "eslint -f ./stylish ."),
        ("Bash(eslint:*)", "eslint -f json -o /x ."),
        ("Bash(eslint:*)", "eslint --cache-location=/x ."),
        ("Bash(vitest:*)", "vitest --environment ./x"),
        ("Bash(vitest:*)", "vitest --reporter=./x"),
        ("Bash(vitest:*)", "vitest --reporter=junit --outputFile.junit=/x"),
    ]);
}

#[test]
fn letters_behind_one_that_takes_a_value_are_that_value() {
    allowed(&[
        ("Bash(pylint:*)", "pylint -dfixme a"),
        ("Bash(pip install:*)", "pip install -rrequirements.txt -cconstraints.txt"),
        ("Bash(tox:*)", "tox -epyfoo"),
        ("Bash(phpunit:*)", "phpunit -dxdebug.mode=coverage"),
        ("Bash(cargo:*)", "cargo test -pCore -FZlib"),
        ("Bash(git rebase:*)", "git rebase -Xpatience-x main"),
        ("Bash(git grep -nO:*)", "git grep -nO x"),
    ]);
    // Such letters name no option either, in a line or in a rule.
    asked_about(&[
        ("Bash(pylint:*)", "pylint -Ef x a"),
        ("Bash(pip install:*)", "pip install -Ui https://a b"),
        ("Bash(git rebase:*)", "git rebase -mfix main"),
        ("Bash(git grep -eFOO:*)", "git grep -eFOO -O./x y"),
        ("Bash(sort -tfoo:*)", "sort -tfoo -o /x y"),
        ("Bash(gcc -lfoo:*)", "gcc -lfoo -o /x y.c"),
    ]);
}

#[test]
fn what_a_compiler_writes_stays_below_the_folder() {
    asked_about(&[
        ("Bash(gcc:*)", "gcc -Wl,--error-handling-script=./x a.c"),
        ("Bash(ld:*)", "ld --error-handling-script=x a.o"),
        ("Bash(gcc:*)", "gcc -Wl,-Map=/x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-Map,/x a.c"),
        ("Bash(gcc -Wl,-Map=a.map:*)", "gcc -Wl,-Map=a.map,-o,/x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,--Map=../x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-Map=escape/x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-Map=.git/hooks/pre-commit a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-o,/x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-o/x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-o -Wl,/x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-o -O2 /x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,--reproduce=/x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,--new-option,/x a.c"),
        ("Bash(gcc:*)", "gcc -Xlinker -Map=/x a.c"),
        ("Bash(gcc:*)", "gcc -Xlinker -Map -Xlinker /x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-Map -Xlinker /x a.c"),
        ("Bash(gcc:*)", "gcc -Wa,-o,/x a.c"),
        ("Bash(gcc:*)", "gcc -Wa,-al=/x a.c"),
        ("Bash(gcc:*)", "gcc -Wa,--MD,/x a.c"),
        ("Bash(gcc:*)", "gcc -Xassembler --MD=/x a.c"),
        ("Bash(gcc:*)", "gcc -Wp,-MD,/x a.c"),
        ("Bash(gcc:*)", "gcc -Wp,-MMD,../x a.c"),
        ("Bash(gcc:*)", "gcc -dumpdir /x a.c"),
        ("Bash(gcc:*)", "gcc -dumpbase /x a.c"),
        ("Bash(gcc:*)", "gcc -MD -MF /x a.c"),
        ("Bash(gcc:*)", "gcc -fdump-tree-all=/x a.c"),
        ("Bash(gcc:*)", "gcc -fprofile-dir=/x a.c"),
        ("Bash(gcc:*)", "gcc -fdiagnostics-add-output=sarif:file=/x a.c"),
        ("Bash(gcc:*)", "gcc '-fmodule-mapper=|./x' a.c"),
        ("Bash(gcc:*)", "gcc -new-option /x a.c"),
        ("Bash(gfortran:*)", "gfortran -J/x a.f90"),
        ("Bash(clang:*)", "clang -MJ /x a.c"),
        ("Bash(clang:*)", "clang --serialize-diagnostics /x a.c"),
        ("Bash(clang:*)", "clang -ftime-trace=/x a.c"),
        ("Bash(clang:*)", "clang -Xclang -dependency-file -Xclang /x a.c"),
        ("Bash(gcc:*)", "x=/y; gcc -Wl,-Map=$x a.c"),
        ("Bash(rustc:*)", "rustc --emit dep-info=/x a.rs"),
        ("Bash(rustc:*)", "rustc --emit=link=/x a.rs"),
        ("Bash(rustc:*)", "rustc --emit=metadata,link=../x a.rs"),
        ("Bash(rustc:*)", "rustc --print native-static-libs=/x a.rs"),
        ("Bash(cargo rustc:*)", "cargo rustc -- --emit=link=/x"),
        ("Bash(cargo rustc:*)", "cargo rustc --lib -- -o /x"),
        ("Bash(javac:*)", "javac -d /x A.java"),
        ("Bash(javac:*)", "javac -s ../x A.java"),
        ("Bash(kotlinc:*)", "kotlinc -d /x a.kt"),
        ("Bash(as:*)", "as -o /x a.s"),
        ("Bash(ld:*)", "ld -o/x a.o"),
        ("Bash(nasm:*)", "nasm -o ../x a.s"),
    ]);
    allowed(&[
        ("Bash(gcc -Wl,-Map=/x:*)", "gcc -Wl,-Map=/x a.c"),
        ("Bash(gcc -Wl,-s,-Map,/x:*)", "gcc -Wl,-s,-Map,/x a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-Map=out.map -Wl,-z,now,--gc-sections a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-rpath,/usr/lib -Wl,-rpath=/opt/x -Wl,-L/usr/lib a.c"),
        ("Bash(gcc:*)", "gcc '-Wl,-rpath,$ORIGIN/../lib' -Wl,--version-script=../x.map a.c"),
        ("Bash(gcc:*)", "gcc -Wl,--whole-archive,/usr/lib/liba.a,--no-whole-archive a.c"),
        ("Bash(gcc:*)", "gcc -Wl,--as-needed -Wl,--start-group -la -lb -Wl,--end-group a.c"),
        ("Bash(gcc:*)", "gcc -Xlinker -rpath -Xlinker /usr/lib a.c"),
        ("Bash(gcc:*)", "gcc -Wl,-soname,liba.so.1 -shared -fPIC -o liba.so a.c"),
        ("Bash(gcc:*)", "gcc -Wp,-MMD,out.d -c /usr/src/a.c"),
        ("Bash(gcc:*)", "gcc -O2 -Wall -g /usr/src/a.c -I/usr/include -isystem /opt/x -L/usr/lib"),
        ("Bash(gcc:*)", "gcc -ffile-prefix-map=/src=. -fsanitize=address,undefined -std=c11 a.c"),
        ("Bash(gcc:*)", "gcc --sysroot=/opt/x -include /usr/include/a.h -T /x.ld a.c"),
        ("Bash(gcc:*)", "gcc -D_FORTIFY_SOURCE=2 -DX=\"/usr\" a.c -lm"),
        ("Bash(clang:*)", "clang --target=aarch64-linux-gnu -ftime-trace=out.json -MJ a.json a.c"),
        ("Bash(clang:*)", "clang -mllvm -inline-threshold=100 -Xclang -disable-llvm-passes a.c"),
        ("Bash(rustc:*)", "rustc --emit=metadata,dep-info=out/x.d --edition 2021 a.rs"),
        ("Bash(cargo rustc:*)", "cargo rustc --lib -- --emit asm"),
        ("Bash(javac:*)", "javac -cp /usr/share/x.jar -d out A.java"),
        ("Bash(ld:*)", "ld -r -o a.o /usr/lib/b.o"),
    ]);
}
