use std::fs;
use std::os::unix::fs::symlink;

use crate::permission::judge::Decision::{Allow, Ask, Deny};
use crate::permission::judge::testing::JudgeFixture;
use crate::protocol::PermissionMode;

/// A project with `a/b/keep` and other folders.
fn bench(mode: PermissionMode) -> JudgeFixture {
    let bench = JudgeFixture::new();
    let project = bench.root.join("project");
    for folder in ["a/b", "x/b", "docs"] {
        fs::create_dir_all(project.join(folder)).unwrap();
        fs::write(project.join(folder).join("keep"), "x\n").unwrap();
    }
    bench.allow("Bash").mode(mode)
}

#[test]
fn a_command_that_removes_or_moves_a_folder_edits_all_below_it() {
    for mode in [PermissionMode::Default, PermissionMode::BypassPermissions] {
        let bench = bench(mode).deny("Edit(a/b/**)").deny("Edit(*.key)");
        bench.denies([
            "rm -r a",
            "rm -rf ./a docs",
            "rm --recursive a",
            "sudo rm -r a",
            "mv a z",
            "mv -t docs a",
            "git mv a z",
            "git rm -rqf a",
            "mv x/b a",
            "cp x/b/keep a/b",
            "cp -t a/b docs/keep",
            "cp -ft a/b docs/keep",
            "cp -fta/b docs/keep",
            "cp --target=a/b docs/keep",
        ]);
        bench.asks([
            "cp -r x/. a",
            "cp -rT x a",
            "cp -rt a x/.",
            "cp -rta x/.",
            "cp -r --t a x/.",
            "rsync -a x/. a",
            "chmod -R a-w a",
            "gzip -r a",
            "ln -s a z; touch z/b/keep",
            "git checkout -- .",
            "git checkout HEAD -- ':!x'",
            "git checkout HEAD -- a",
            "git restore .",
            "git restore ':(icase)A'",
            "git restore -WS a",
            "git clean -fdx",
            "git stash push a",
            "git stash push .",
            "git stash push -- a",
            "git stash push -k -m docs a",
            "git stash -- a",
            "git stash push ':!x'",
        ]);
        bench.allows([
            "rm -rf docs",
            "rm -rf target x",
            "mv docs y",
            "cp -r docs y",
            "cp docs/keep .",
            "mv docs/keep .",
            "install -m 0755 -t docs x/b/keep",
            "cp -r docs a",
            "mkdir -p a/c",
            "touch a/new",
            "chmod a+x docs/keep",
            "git restore docs",
            "git restore --staged .",
            "git stash",
            "git stash -u",
            "git stash push -m a",
            "git stash push docs",
            "git stash pop",
            "git checkout main",
            "git checkout -b new",
        ]);
        fs::write(bench.root.join("project/docs/x.key"), "").unwrap();
        assert_eq!((bench.bash("rm -r docs"), bench.bash("chmod -R a+r docs")), (Deny, Ask));
    }
}

#[test]
fn what_unpacks_into_a_folder_is_a_doubt_for_rules_about_it() {
    let bench = ["unzip", "wget", "npx", "eslint", "uv run", "npm exec", "python -m", "npm test"]
        .into_iter()
        .fold(JudgeFixture::new(), |bench, name| bench.allow(&format!("Bash({name}:*)")));
    let bench = bench.deny("Edit(src/**)");
    bench.asks([
        "cd src && unzip ../x.zip",
        "cd src && wget https://a/b",
        "npx prettier --write src/a",
        "eslint --fix src/a",
        "uv run rm src/a",
        "npm exec -- rm src/a",
        "python -m black src/a",
        "npx rimraf src/a",
        "npx prettier --write .",
        "eslint --fix .",
    ]);
    bench.allows(["npx eslint src/a", "uv run pytest src/a", "npm test src/a"]);
    let elsewhere = JudgeFixture::new().deny("Edit(*.lock)").allow("Bash(wget:*)");
    elsewhere.allows(["wget https://a/b"]);
}

#[test]
fn a_command_whose_files_stand_in_an_archive_or_a_list_may_change_any() {
    let names = ["ar", "cpio", "git", "patch", "rsync", "tar", "unzip", "xargs", "zip", "7z"];
    let bench = names
        .into_iter()
        .fold(JudgeFixture::new(), |bench, name| bench.allow(&format!("Bash({name}:*)")));
    fs::remove_file(bench.root.join("project/escape")).unwrap();
    fs::create_dir_all(bench.root.join("project/src/sub")).unwrap();
    fs::write(bench.root.join("project/src/a"), "x\n").unwrap();
    let bench = bench.allow("Bash(xargs rm:*)").allow("Bash(xargs ls:*)").deny("Edit(/src/a)");
    let lines = [
        "tar xf a.tar",
        "tar -x -f a.tar",
        "tar --extract --file=a.tar",
        "tar --extract --exclude=b --file=a.tar",
        "tar -fc -x",
        "m=xf; tar $m a.tar",
        "unzip a.zip",
        "unzip -Ppl a.zip",
        "7z x a.7z",
        "ar x a.a",
        "patch -p1 < a.patch",
        "patch -i --dry-run",
        "git apply a.patch",
        "git apply --stat --apply a.patch",
        "git apply --stat --no-stat a.patch",
        "git apply --directory --check a.patch",
        "git -c core.pager=cat am a.mbox",
    ];
    bench.asks(lines);
    let from_elsewhere = [
        "cpio -i < list",
        "zip -@ a.zip < list",
        "rsync -a --files-from=list x y",
        "git restore --pathspec-from-file=list",
        "git restore --pathspec-fr list",
        "git checkout HEAD --pathspec-from-file list",
        "xargs -a list rm",
        "xargs rm < list",
    ];
    bench.asks(from_elsewhere);
    let in_every_mode = [
        "git restore --pathspec-from-file=- <<< src",
        "git restore --pathspec-from-file=- <<< src/sub/..",
        "printf 'src\\n' | xargs rm -r",
        "zip -rm a.zip src",
        "rsync -a --remove-source-files src host:backup",
        "tar cf a.tar --remove-files src",
    ];
    bench.asks(in_every_mode);
    bench.allows([
        "tar tf a.tar",
        "tar czf a.tar docs",
        "tar -czf a.tar --exclude=x docs",
        "unzip -l a.zip",
        "ar t a.a",
        "patch --dry-run -p1 < a.patch",
        "git apply --check a.patch",
        "git apply --stat a.patch",
        "git add --pathspec-from-file=list",
        "xargs ls < list",
    ]);
    let free = bench.allow("Bash");
    free.allows(lines);
    free.allows(from_elsewhere);
    free.asks(in_every_mode);
    JudgeFixture::new().allow("Bash(unzip:*)").deny("Read(.env)").allows(["unzip a.zip"]);
}

#[test]
fn git_patterns_reach_from_a_folder_to_the_top_of_the_checkout() {
    let bench = bench(PermissionMode::Default).deny("Edit(/a/b/**)").deny("Edit(.env)");
    fs::write(bench.root.join("project/.env"), "x\n").unwrap();
    for line in [
        "git checkout HEAD -- :/a",
        "git checkout HEAD -- ':(top)a/b/keep'",
        "git restore ':(top).env'",
        "git clean -fdx :/",
    ] {
        assert_eq!(bench.bash_in("docs", line).decision, Ask, "{line}");
    }
    for line in ["git rm -rf :/a", "git rm -f ':(top).env'", "git rm -f ':(icase).ENV'"] {
        assert_eq!(bench.bash_in("docs", line).decision, Deny, "{line}");
        assert_eq!(bench.bash(line), Deny, "{line}");
    }
    for line in ["git checkout HEAD -- keep", "git restore .", "git rm -f keep"] {
        let judgement = bench.bash_in("docs", line);
        assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
    }
}

#[test]
fn a_folder_with_another_name_is_a_doubt_for_reading_what_is_below_it() {
    for mode in [PermissionMode::Default, PermissionMode::BypassPermissions] {
        let bench = bench(mode).deny("Read(a/b/**)");
        bench.asks([
            "mv a z; cat z/b/keep",
            "mv a z",
            "git mv a z; cat z/b/keep",
            "ln -s a z; cat z/b/keep",
            "ln -s \"$PWD/a\" z && cat z/b/keep",
        ]);
        bench.allows(["mv docs z; cat z/keep", "ln -s docs z", "rm -r docs", "ls a"]);
    }
}

#[test]
fn a_relative_link_means_the_file_that_it_leads_to_from_its_own_folder() {
    for mode in [PermissionMode::Default, PermissionMode::BypassPermissions] {
        let bench = bench(mode).deny("Read(a/b/**)").deny("Read(.env)").deny("Edit(docs/keep)");
        bench.denies([
            "ln -s ../.env x/l; cat x/l",
            "ln -s ../.env -t x; cat x/.env",
            "cp -s ../.env x/l; cat x/l",
            "ln -s ../a/b/keep x/l; cat x/l",
            "ln -s b/keep a/l; cat a/l",
            "ln -s ../docs/keep x/l; echo x >> x/l",
            "cd docs && ln -sf ../x/b/keep",
        ]);
        bench.asks([
            "ln -s ../a x/l; cat x/l/b/keep",
            "ln -s b/keep l; mv l a/l; cat a/l",
            "ln -s b/keep l && cp -P l a/l && cat a/l",
        ]);
        bench.allows(["ln -s ../b x/l", "ln -s new docs/l; cat x/b/keep"]);
    }
}

#[test]
fn a_link_that_is_moved_means_another_file() {
    let bench = bench(PermissionMode::Default).deny("Read(a/b/**)");
    let project = bench.root.join("project");
    symlink("b/keep", project.join("l")).unwrap();
    symlink("../b/keep", project.join("docs/l")).unwrap();
    bench.denies(["mv l a/l; cat a/l", "cp -P l a; cat a/l", "mv -t a l"]);
    bench.asks(["mv docs a/; cat a/docs/l"]);
    bench.allows(["mv x z; cat z/b/keep", "mv l x/l"]);
}

#[test]
fn what_is_copied_lands_below_the_target_under_its_own_names() {
    let bench = ["cp", "rsync", "mv", "scp"]
        .into_iter()
        .fold(JudgeFixture::new(), |bench, name| bench.allow(&format!("Bash({name}:*)")));
    let project = bench.root.join("project");
    for file in ["d/keep.txt", "e/d/keep.txt", "e/a/b/c", "other/d/x", "g/keep.txt", "keep.txt"] {
        fs::create_dir_all(project.join(file).parent().unwrap()).unwrap();
        fs::write(project.join(file), "").unwrap();
    }
    symlink("../g", project.join("other/l")).unwrap();
    let bench = bench.deny("Edit(keep.txt)").deny("Edit(/a/b/**)").deny("Edit(/new/c)");
    bench.asks([
        "cp -r e/. .",
        "cp -r e/d .",
        "cp -a e/d .",
        "cp -R e/d/ .",
        "cp -rt . e/d",
        "cp --recursive e/d .",
        "cp --arch e/d .",
        "cp -r e/d/. d",
        "cp -rT e/d d",
        "cd e && cp -r d ..",
        "cp -r g/{.,} .",
        "cp -r e/* .",
        "cp -rL other x",
        "cp -r e/a .",
        "cp -r e/a/b new",
        "cp -r --parents e/d other",
        "mv e/a .",
        "mv e/a/b new",
        "rsync -a e/d .",
        "rsync -r e/d/ other",
        "scp -r e/d .",
    ]);
    bench.allows([
        "cp -r other x",
        "cp -r other/d .",
        "cp -r e/a other",
        "cp e/a/b/c .",
        "rsync -a other/d .",
        "mv other/d x",
    ]);
}

#[test]
fn git_applies_a_patch_to_the_file_that_an_option_names() {
    let bench = JudgeFixture::new().allow("Bash(git:*)").deny("Edit(keep.txt)");
    fs::remove_file(bench.root.join("project/escape")).unwrap();
    bench.denies([
        "git apply --include=keep.txt x.patch",
        "git apply --inc keep.txt x.patch",
        "git am --include=keep.txt x.patch",
    ]);
    bench.asks(["git apply x.patch", "git apply --include=other.txt keep.txt"]);
}

#[test]
fn a_program_that_values_of_the_line_name_has_its_effect_on_files() {
    let bench = JudgeFixture::new().deny("Edit(/src/a)").deny("Read(/docs/b)");
    for file in ["src/a", "docs/b"] {
        fs::create_dir_all(bench.root.join("project/docs")).unwrap();
        fs::write(bench.root.join("project").join(file), "x\n").unwrap();
    }
    let bench = bench.mode(PermissionMode::BypassPermissions);
    bench.denies([
        "x=rm; $x -r src",
        "x=rm; \"$x\" src/a",
        "x='rm -r'; $x src",
        "x=sudo; y=rm; $x $y -r src",
        "for c in ls rm; do $c -r src; done",
        "x=rm; a=$(timeout 5 $x -r src)",
        "x=r; ${x}m src/a",
    ]);
    bench.asks([
        "${x:-rm} src/a",
        "x=rmz; \"${x%z}\" -r src",
        "x=rmz; sudo \"${x%z}\" -r src",
        "x=rmz; flock f \"${x%z}\" -r src",
        "x=rmz; flock \"$f\" \"${x%z}\" -r src",
    ]);
    bench.asks(["x=mv; $x docs y", "x=chmodz; \"${x%z}\" -R a-w src"]);
    bench.allows(["x=ls; $x src", "x=rm; $x -r other", "x=rmz; own \"${x%z}\" src"]);
}
