//! Options that name a place: where it really leads, and what a mount exposes.

use super::*;

#[test]
fn a_path_counts_by_where_it_really_leads() {
    let bench = |rule: &str| {
        let bench = JudgeFixture::new().allow(rule);
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
        ("Bash(gcc:*)", "gcc -aux-info ../x a.c"),
        ("Bash(gcc:*)", "gcc -time=../x a.c"),
        ("Bash(gcc:*)", "gcc -dumpdir ../x a.c"),
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
        assert_eq!(JudgeFixture::new().allow(&rule).bash(line), Ask, "{line}");
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
        let judgement =
            JudgeFixture::new().allow(&format!("Bash({program}:*)")).bash_judgement(line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
    }
}
