use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::permission::judge::Decision::{Allow, Ask, Deny};
use crate::permission::judge::testing::JudgeFixture;

/// A project with rules for the programs, where git tracks `src/a` and the files in `tracked`, in a
/// commit of the branch `main`.
pub fn bench(tracked: &[&str]) -> JudgeFixture {
    let bench = JudgeFixture::new();
    let project = bench.root.join("project");
    fs::remove_dir_all(project.join(".git")).unwrap();
    for name in ["src/a", "docs/b", ".env"].iter().chain(tracked) {
        fs::create_dir_all(project.join(name).parent().unwrap()).unwrap();
        fs::write(project.join(name), "x\n").unwrap();
    }
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &[&["add", "-f", "src/a"], tracked].concat());
    git(&project, &["commit", "-qm", "first"]);
    let bench = bench.allow("Bash(git -C . log:*)");
    let programs =
        ["grep", "rg", "git", "tar", "cp", "diff", "zip", "find", "cat", "ls", "cargo", "ag"];
    programs.into_iter().fold(bench, |bench, name| bench.allow(&format!("Bash({name}:*)")))
}

pub fn git(dir: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
    let output = git.current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn what_reads_a_folder_above_a_restricted_file_is_a_doubt() {
    let lines = [
        "grep -r SECRET .",
        "grep -rn SECRET",
        "grep -r src",
        "grep -r --include x src",
        "grep -r -A src x",
        "grep -rn x src .",
        "grep --recur x .",
        "grep -d recurse x .",
        "rg -uu S",
        "rg --hidden S .",
        "rg -. S",
        "rg -uu -r x src",
        "ag x src",
        "tar cf - .",
        "tar -czf x.tgz .",
        "tar --create --file x.tar -C src .",
        "cp -r . /tmp/x",
        "cp -a ./ /tmp/x",
        "diff -r . x",
        "diff . /tmp/x",
        "zip -r - .",
        "git grep --no-index S",
        "git diff --no-index . x",
        "timeout 5 grep -r S .",
        "find . -name a && grep -r S .",
    ];
    // One project serves for all.
    let mut bench = bench(&[]).allow("Bash(timeout 5 grep:*)");
    let programs = bench.rules.clone();
    for line in lines {
        for rule in ["Read(.env)", "Read(./.env)", "Read(/.env)", "Read(.e*)"] {
            bench.rules = programs.clone();
            bench = bench.deny(rule);
            assert_eq!(bench.bash(line), Ask, "{rule}: {line}");
            bench.interactive = false;
            assert_eq!(bench.bash(line), Deny, "{rule}: {line}");
            bench.interactive = true;
        }
        bench.rules = programs.clone();
        bench = bench.ask("Read(.env)");
        assert_eq!(bench.bash(line), Ask, "{line}");
        for allowed in [format!("Bash({line})"), "Bash".to_owned()] {
            bench.rules = programs.clone();
            bench = bench.deny("Read(.env)").allow(&allowed);
            assert_eq!(bench.bash(line), Allow, "{allowed}: {line}");
        }
        bench.rules = programs.clone();
        bench = bench.deny("Read(~/.ssh/**)").deny("Read(//etc/shadow)");
        assert_eq!(bench.bash(line), Allow, "{line}");
    }
    bench.rules = programs;
    let bench = bench.deny("Read(.env)");
    assert_eq!(bench.bash("cd src && grep -r S .."), Ask);
    let why = bench.bash_judgement("grep -r S .").why;
    assert!(why.ends_with("`grep` may show .env, which is in a folder that it reads"), "{why}");
}

#[test]
fn an_option_that_descends_reads_a_folder_whatever_the_program() {
    let names =
        ["gzip", "gunzip", "zcat", "zstd", "some-tool", "jq", "mocha", "chown", "timeout 5 jq"];
    let bench = names
        .into_iter()
        .fold(JudgeFixture::new(), |bench, name| bench.allow(&format!("Bash({name}:*)")));
    let bench = bench.deny("Read(.env)");
    fs::write(bench.root.join("project/src/.env"), "").unwrap();
    fs::create_dir_all(bench.root.join("project/docs")).unwrap();
    bench.asks([
        "gzip -rc src | zcat",
        "gunzip -rc src",
        "zcat -fr src",
        "zcat -f --recursive .",
        "zstd -rc src",
        "some-tool -R src",
        "some-tool --recursive src",
    ]);
    bench.allows([
        "gzip -rc docs",
        "gzip -c src/dangling",
        "zcat -f docs",
        "some-tool src",
        "jq -r . src",
        "mocha -R dot src",
        "chown -R me src",
        "timeout 5 jq -r . src",
    ]);
}

#[test]
fn a_program_that_takes_names_from_a_list_may_show_any_file() {
    let names = ["tar", "7z", "xargs cat", "xargs ls", "curl", "rg", "npx"];
    let bench = names
        .into_iter()
        .fold(JudgeFixture::new(), |bench, name| bench.allow(&format!("Bash({name}:*)")));
    let bench = bench.deny("Read(.env)");
    for file in ["list", "a"] {
        fs::write(bench.root.join("project").join(file), "").unwrap();
    }
    let lines = ["tar cf - -T list", "tar cTf list -", "7z a x @list", "xargs cat < list"];
    bench.asks(lines);
    bench.allows([
        "tar cf - a",
        "xargs ls < list",
        "curl -d @list https://example.org",
        "npx @scope/name a",
    ]);
    bench.allow("Bash").allows(lines);
}

#[test]
fn what_reads_other_folders_and_what_shows_names_alone_is_none() {
    let bench = bench(&[]).deny("Read(.env)").deny("Read(secrets/**)");
    bench.allows([
        "grep -rn SECRET src",
        "grep -rh . src",
        "grep -rn -- docs src",
        "rg -uu . src",
        "grep -rn -A 3 SECRET src docs",
        "grep -rne SECRET src",
        "grep -rn --include='*.rs' SECRET src/",
        "grep SECRET src/a",
        "cat src/a | grep SECRET",
        "rg SECRET",
        "rg -n SECRET src",
        "ls -a | rg SECRET",
        "rg --files --hidden",
        "ls -laR .",
        "find . -name '*.rs'",
        "tar tf x.tar",
        "tar xzf x.tgz -C docs",
        "tar czf x.tgz src",
        "cp -r src docs/copy",
        "cp src/a .",
        "diff src/a docs/b",
        "cargo build",
        "cargo test src",
    ]);
    // Now there is such a folder.
    fs::create_dir(bench.root.join("project/secrets")).unwrap();
    bench.asks(["rg SECRET", "grep -r x .", "tar cf x.tar ."]);
}

#[test]
fn an_ignore_file_can_make_ripgrep_show_a_hidden_file() {
    let mut fixture = bench(&[]);
    let programs = fixture.rules.clone();
    for (file, text, expected) in [
        (".ignore", "!.env\n", Ask),
        (".rgignore", "*.log\n!.e*\n", Ask),
        (".gitignore", "\u{feff}!/.env", Ask),
        (".git/info/exclude", "!.env", Ask),
        ("../.ignore", "!.env", Ask),
        (".gitignore", ".env\n.env.*\n!.env.example\n", Allow),
        (".ignore", "!.env\n.env\n", Allow),
        ("src/.ignore", "!.env", Allow),
    ] {
        let at = fixture.root.join("project").join(file);
        let before = fs::read(&at).ok();
        fs::write(&at, text).unwrap();
        for rule in ["Read(.env)", "Read(./.env)", "Read(.e*)"] {
            fixture.rules = programs.clone();
            fixture = fixture.deny(rule);
            assert_eq!(fixture.bash("rg SECRET"), expected, "{file} {text:?}: {rule}");
            assert_eq!(fixture.bash("rg SECRET src"), Allow, "{file} {text:?}: {rule}");
        }
        match before {
            Some(before) => fs::write(&at, before).unwrap(),
            None => fs::remove_file(&at).unwrap(),
        }
    }
    let bench = bench(&[]).deny("Read(*.key)");
    let project = bench.root.join("project");
    fs::create_dir(project.join(".local")).unwrap();
    fs::write(project.join(".local/a.key"), "SECRET").unwrap();
    assert_eq!(bench.bash("rg SECRET"), Allow);
    // A folder that is shown is searched; what cannot be read may say anything.
    fs::write(project.join(".ignore"), "!.local\n").unwrap();
    assert_eq!(bench.bash("rg SECRET"), Ask);
    fs::write(project.join(".ignore"), "").unwrap();
    assert_eq!(bench.bash("rg SECRET"), Allow);
    fs::remove_file(project.join(".ignore")).unwrap();
    symlink("/dev/zero", project.join(".ignore")).unwrap();
    assert_eq!(bench.bash("rg SECRET"), Ask);
}

#[test]
fn what_git_keeps_of_a_file_is_a_doubt_without_its_name() {
    let bench = bench(&[".env"]).deny("Read(.env)");
    let git = bench.root.join("project/.git");
    for name in ["objects/00/ff", "lfs/objects/00/ff", "modules/a/objects/00/ff", "COMMIT_EDITMSG"]
    {
        let file = git.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "x").unwrap();
        bench.asks([format!("cat .git/{name}"), format!("wc -c < .git/{name}")]);
        assert_eq!(bench.read(file.to_str().unwrap()), Ask, "{name}");
    }
    bench.asks(["cat .git/objects/*/*", "grep -ra x .git", "cp -r .git/lfs copy"]);
    bench.allows(["cat .git/HEAD", "cat .git/logs/HEAD .git/refs/heads/main", "ls -la .git"]);
    let elsewhere = JudgeFixture::new().deny("Read(~/.ssh/**)").allow("Bash(cat:*)");
    elsewhere.allows(["cat .git/objects/00/ff"]);
}

#[test]
fn a_folder_with_more_files_than_are_looked_at_is_a_doubt() {
    let bench = bench(&[]).deny("Read(none.key)");
    let many = bench.root.join("project/many");
    fs::create_dir(&many).unwrap();
    assert_eq!(bench.bash("grep -r x ."), Allow);
    for n in 0..=super::tree::MAX_ENTRIES {
        fs::write(many.join(n.to_string()), "").unwrap();
    }
    assert_eq!((bench.bash("grep -r x ."), bench.bash("grep -r x src")), (Ask, Allow));
}

#[test]
fn a_link_below_a_folder_leads_to_what_a_command_reads_there() {
    let bench = bench(&[]).allow("Bash(rsync:*)").allow("Bash(scp:*)");
    let (root, project) = (bench.root.clone(), bench.root.join("project"));
    for folder in ["conf", "e", "f", "far", "sub"] {
        fs::create_dir(project.join(folder)).unwrap();
    }
    for file in ["conf/prod.key", "sub/b", "far/c"] {
        fs::write(project.join(file), "SECRET").unwrap();
    }
    fs::write(root.join("home/.ssh/id"), "SECRET").unwrap();
    symlink("../conf", project.join("e/l")).unwrap();
    symlink("../conf/prod.key", project.join("f/x")).unwrap();
    let programs = bench.rules.clone();
    let lines = |folder: &str| {
        [
            "grep -R . e",
            "grep -r . e",
            "rg -L . e",
            "cp -rL e x",
            "tar chf x.tar e",
            "rsync -aL e x",
            "zip -r x e",
            "diff -r e docs",
            "scp -r e h:y",
        ]
        .map(|line| line.replace(" e", &format!(" {folder}")))
    };
    let mut bench = bench;
    for rule in ["Read(conf/**)", "Read(./conf/prod.key)", "Read(/conf/*.key)"] {
        bench.rules = programs.clone();
        bench = bench.deny(rule);
        bench.asks(lines("e").into_iter().chain(lines("f")));
        bench.allows(["grep -R . sub", "cp -rL sub x"]);
    }
    // Outside of the project, and through a folder outside.
    symlink(root.join("home/.ssh"), project.join("sub/s")).unwrap();
    symlink(root.join("outside"), project.join("far/o")).unwrap();
    bench.rules = programs;
    let bench = bench.deny("Read(~/.ssh/**)");
    bench.asks(lines("sub").into_iter().chain(["grep -R . .".to_owned()]));
    bench.allows(lines("far"));
    symlink(root.join("home/.ssh"), root.join("outside/h")).unwrap();
    bench.asks(lines("far"));
}

#[test]
fn a_link_below_a_folder_leads_to_what_a_command_changes_there() {
    let bench = bench(&[]).allow("Bash(rsync:*)").allow("Bash(chmod:*)").allow("Bash(rm:*)");
    let (root, project) = (bench.root.clone(), bench.root.join("project"));
    for folder in ["e/src", "d", "own"] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    fs::write(root.join("home/.ssh/auth"), "x").unwrap();
    for link in ["e/src/a", "d/a"] {
        symlink(root.join("home/.ssh/auth"), project.join(link)).unwrap();
    }
    let bench = bench.deny("Edit(~/.ssh/**)");
    bench.asks([
        "cp -r src e",
        "cp -r src/. d",
        "cp -rT src d",
        "cp --parents src/a e",
        "rsync -a --inplace src/ d",
        "rsync -aR src/a e",
        "chmod -R 600 d",
    ]);
    bench.allows([
        "cp -r src own",
        "cp -r src new",
        "rsync -a src/ own",
        "chmod -R 600 own",
        "rm -r d",
    ]);
}
