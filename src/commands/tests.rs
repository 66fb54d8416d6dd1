//! Commands and skills over real folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;

fn world(files: &[(&str, &str)]) -> TempDir {
    let top = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = top.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    top
}

/// Loads as from `repo/app` in a repository at `repo`, with the user's `own` and `home/.claude`.
fn sources(top: &TempDir) -> CommandSources {
    let path = |name: &str| top.path().join(name);
    let project = [path("repo/app"), path("repo")];
    let claude = path("home/.claude");
    CommandSources::new(&project, &path("own"), Some(&claude), &["clear", "init"])
        .with_shared_home(Some(&path("home/.agents")))
}

fn load(top: &TempDir) -> CommandSet {
    CommandSet::load(&sources(top))
}

fn problems(all: &CommandSet, top: &TempDir) -> Vec<String> {
    let prefix = format!("{}/", top.path().display());
    all.problems().iter().map(|it| it.error().to_string().replace(&prefix, "")).collect()
}

fn names<'a>(commands: impl Iterator<Item = &'a Arc<CommandDef>>) -> Vec<&'a str> {
    commands.map(|command| command.name.as_str()).collect()
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.")
}

#[test]
fn the_nearest_command_of_a_name_counts_and_sub_folders_are_a_part_of_it() {
    let levels = [
        "repo/app/.caliban/commands/x.md",
        "repo/.caliban/commands/x.md",
        "repo/app/.claude/commands/x.md",
        "repo/.claude/commands/x.md",
        "own/commands/x.md",
        "home/.claude/commands/x.md",
    ];
    for first in 0..levels.len() {
        let files: Vec<_> = levels[first..].iter().map(|path| (*path, *path)).collect();
        let top = world(&files);
        assert_eq!(load(&top).find_callable("x").unwrap().body, levels[first]);
    }
    let top = world(&[
        ("repo/.claude/commands/front/part.md", "of front"),
        ("repo/.claude/commands/a/b/deep.md", "deep"),
        ("repo/.claude/commands/one/both.md", "1"),
        ("repo/.claude/commands/two/both.md", "2"),
        ("repo/.claude/commands/notes.txt", "no command"),
    ]);
    let all = load(&top);
    assert_eq!(
        names(all.callable()),
        ["a:b:deep", "front:part", "init", "one:both", "review", "two:both"]
    );
    assert_eq!(all.find_callable("part").unwrap().body, "of front");
    assert_eq!(all.find_callable("both"), None, "either could be meant");
    assert_eq!(problems(&all, &top), Vec::<String>::new());
}

#[test]
fn files_of_other_programs_are_read_as_they_are_and_ours_strictly() {
    let front = "---\ndescription: Fix it: fast\nargument-hint: [issue] [priority]\n\
                 allowed-tools: Bash(git add:*), Read\nmodel: haiku\neffort: high\n---\nFix $1.";
    let top = world(&[
        ("repo/.claude/commands/fix.md", front),
        ("repo/.claude/commands/bare.md", "# Say hello\n\nto all"),
        ("repo/.claude/commands/hint.md", "---\nargument-hint: [issue]\n---\nx"),
        ("repo/.caliban/commands/ours.md", "---\nallowed-tools: Bash\n---\nx"),
        ("own/commands/typo.md", "---\ndescripton: x\n---\nx"),
    ]);
    let all = load(&top);
    let fix = all.find_callable("fix").unwrap();
    assert_eq!(
        (fix.description.as_str(), fix.argument_hint.as_deref()),
        ("Fix it: fast", Some("[issue] [priority]"))
    );
    assert_eq!(fix.ignored_keys, ["allowed-tools", "model", "effort"]);
    assert_eq!(all.find_callable("bare").unwrap().description, "Say hello");
    assert_eq!(all.find_callable("hint").unwrap().argument_hint.as_deref(), Some("[issue]"));
    assert_eq!(
        problems(&all, &top),
        [
            "repo/.caliban/commands/ours.md:2: `allowed-tools`: it is not supported: use permission rules; remove it",
            "repo/.claude/commands/fix.md:4: `allowed-tools`: it is not supported: use permission rules; ignored",
            "repo/.claude/commands/fix.md:5: `model`: it is not supported: choose the model with /model or --model; ignored",
            "repo/.claude/commands/fix.md:6: unknown key `effort`; allowed: description, argument-hint; ignored",
            "own/commands/typo.md:2: unknown key `descripton`; allowed: description, argument-hint; remove it",
        ]
    );
    let why = all.expand("/ours").unwrap().unwrap_err();
    assert!(why.contains("ours.md:2: ") && why.ends_with("Nothing was sent."), "{why}");
    assert_eq!(all.expand("/nothing of ours"), None);
    let Expansion { text, notices } = all.expand("/fix 12").unwrap().unwrap();
    assert!(text.ends_with("says:]\n\nFix 12."), "{text}");
    assert!(notices[0].ends_with("fix.md: allowed-tools, model, effort"), "{notices:?}");
}

#[test]
fn links_between_folders_multiply_nothing_and_lead_no_folder_out_of_the_project() {
    let top = world(&[("repo/.claude/commands/good.md", "fine"), ("else/x.md", "secret")]);
    let at = |name: String| top.path().join("repo/.claude/commands").join(name);
    for one in 0..40 {
        fs::create_dir(at(format!("z{one}"))).unwrap();
        for other in 0..40 {
            symlink(format!("../z{other}"), at(format!("z{one}/l{other}"))).unwrap();
        }
    }
    symlink("../../../else", at("else".to_owned())).unwrap();
    let all = load(&top);
    assert_eq!(all.find_callable("good").unwrap().body, "fine");
    let problems = problems(&all, &top);
    let start = "repo/.claude/commands: not fully read: ";
    assert!(problems[0].starts_with(start), "{problems:?}");
    assert!(problems[0].ends_with(" lies more than 8 folders deep"), "{problems:?}");
    assert_eq!(
        problems[1..],
        ["repo/.claude/commands/else: this folder is a link that leads out of the project",]
    );
}

#[test]
fn a_command_of_the_users_goes_through_no_link_that_leads_out_of_the_project() {
    let top =
        world(&[("repo/ai/fine.md", "fine"), ("home/key", "KEY"), ("own/commands/x.md", "x")]);
    let link = |target: &str, link: &str| symlink(target, top.path().join(link)).unwrap();
    link("../../home/key", "repo/ai/key.md");
    link("../../repo/ai/key.md", "own/commands/key.md");
    link("../../repo/ai/fine.md", "own/commands/fine.md");
    let all = load(&top);
    assert_eq!(all.find_callable("fine").unwrap().body, "fine");
    assert_eq!(all.find_callable("key"), None);
    let why = "own/commands/key.md: cannot be read: it is a link that leads out of the project";
    assert_eq!(problems(&all, &top), [why]);
    // The whole folder may be a link into the project, as with dot files that lie in a repository.
    fs::remove_dir_all(top.path().join("own/commands")).unwrap();
    link("../repo/ai", "own/commands");
    let all = load(&top);
    assert_eq!(all.find_callable("fine").unwrap().body, "fine");
    assert_eq!(problems(&all, &top), [why]);
}

#[test]
fn what_is_no_command_is_one_line_each_and_hurts_no_other() {
    let top = world(&[
        ("repo/.git/x", ""),
        ("secret", "SECRET"),
        ("repo/.claude/commands/clear.md", "mine"),
        ("repo/.claude/commands/blank.md", "---\ndescription: x\n---\n \n"),
        ("repo/.claude/commands/open.md", "---\ndescription: x"),
        ("repo/.claude/commands/two words.md", "x"),
        ("repo/.claude/commands/list.md", "---\ndescription: [a, b]\n---\nx"),
        ("repo/.claude/commands/good.md", "fine"),
        ("own/commands", "a file"),
    ]);
    let at = |name: &str| top.path().join("repo/.claude/commands").join(name);
    symlink("../../../secret", at("leak.md")).unwrap();
    symlink("nowhere", at("lost.md")).unwrap();
    fs::write(at("bytes.md"), b"\xff\xfe").unwrap();
    fs::write(at("long.md"), "x".repeat(300 * 1024)).unwrap();
    nix::unistd::mkfifo(&at("pipe.md"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink(".", at("loop")).unwrap();
    let all = load(&top);
    assert_eq!(all.find_callable("good").unwrap().body, "fine");
    assert_eq!(all.find_callable("clear"), None);
    let found = problems(&all, &top);
    let starts = [
        "blank.md:4: there is no text",
        "bytes.md: cannot be read: it is not valid UTF-8",
        "clear.md: /clear is a built-in command: rename the file",
        "leak.md: cannot be read: it is a link that leads out of the project",
        "list.md:2: `description` must be a text",
        "long.md: cannot be read: it is longer than 256 KiB",
        "lost.md: cannot be read: No such file",
        "open.md:1: the front matter is not closed",
        "pipe.md: cannot be read: it is not a regular file",
        "two words.md: the name \"two words\" is not allowed",
    ];
    for (line, start) in found.iter().zip(starts) {
        assert!(line.starts_with(&format!("repo/.claude/commands/{start}")), "{line}");
    }
    assert!(found[10].starts_with("own/commands: this folder cannot be read"), "{found:?}");
    assert_eq!(found.len(), 11);
}

#[test]
fn skills_are_folders_whose_name_and_description_are_checked() {
    let top = world(&[
        ("repo/.claude/skills/pdf/SKILL.md", &skill("pdf", "Reads PDF files.")),
        ("repo/.claude/skills/named/SKILL.md", &skill("Other Name", "x")),
        ("repo/.claude/skills/mute/SKILL.md", "---\nname: mute\n---\nx"),
        ("repo/.claude/skills/bare/SKILL.md", "no front matter"),
        ("repo/.claude/skills/empty/notes.md", "no skill"),
        (
            "repo/.claude/skills/hand/SKILL.md",
            "---\ndescription: by hand\ndisable-model-invocation: true\nlicense: MIT\n---\nx",
        ),
        (
            "repo/.claude/skills/auto/SKILL.md",
            "---\ndescription: by itself\nuser-invocable: false\n---\nx",
        ),
        ("own/skills/pdf/SKILL.md", &skill("pdf", "another")),
        ("own/skills/wrong/SKILL.md", &skill("Wrong Name", "x")),
        ("own/skills/clear/SKILL.md", &skill("clear", "x")),
    ]);
    let all = load(&top);
    assert_eq!(names(all.skills()), ["auto", "clear", "named", "pdf"]);
    assert_eq!(names(all.callable()), ["init", "review", "hand", "named", "pdf"]);
    assert_eq!(all.skill("pdf").unwrap().description, "Reads PDF files.");
    let found = problems(&all, &top);
    let rule = "is not allowed: use up to 64 letters, digits, `-`, `_` and `.`, starting with a letter or digit";
    assert_eq!(
        found,
        [
            "repo/.claude/skills/bare/SKILL.md:1: there is no front matter: the first line must be ---".to_owned(),
            "repo/.claude/skills/mute/SKILL.md:1: `description` is missing: it says what the skill is for and when to use it".to_owned(),
            format!("repo/.claude/skills/named/SKILL.md:2: the name \"Other Name\" {rule}; the folder's name counts instead"),
            "own/skills/clear/SKILL.md: /clear is a built-in command: only models can use this skill".to_owned(),
            format!("own/skills/wrong/SKILL.md:2: the name \"Wrong Name\" {rule}"),
        ]
    );
    let text = all.skill("pdf").unwrap().text("a.pdf");
    let folder = top.path().join("repo/.claude/skills/pdf").display().to_string();
    assert!(text.contains(&folder) && text.ends_with("Do it.\n\nARGUMENTS: a.pdf"), "{text}");
}

#[test]
fn the_nearest_skill_of_a_name_counts_and_the_shared_folders_come_after_the_others() {
    let levels = [
        "repo/app/.caliban/skills/x/SKILL.md",
        "repo/app/.claude/skills/x/SKILL.md",
        "repo/.claude/skills/x/SKILL.md",
        "repo/app/.agents/skills/x/SKILL.md",
        "repo/.agents/skills/x/SKILL.md",
        "own/skills/x/SKILL.md",
        "home/.claude/skills/x/SKILL.md",
        "home/.agents/skills/x/SKILL.md",
    ];
    for first in 0..levels.len() {
        let texts: Vec<_> = levels.iter().map(|path| (*path, skill("x", path))).collect();
        let files: Vec<_> = texts[first..].iter().map(|(path, text)| (*path, &**text)).collect();
        let all = load(&world(&files));
        assert_eq!(all.skill("x").unwrap().description, levels[first]);
    }
}

#[test]
fn shared_folders_have_no_commands_and_their_unknown_keys_are_passed_over() {
    let top = world(&[
        ("repo/.agents/commands/x.md", "x"),
        ("repo/.agents/skills/pdf/SKILL.md", "---\ndescription: d\nallowed-tools: Bash\n---\nx"),
    ]);
    let all = load(&top);
    assert_eq!(names(all.callable()), ["init", "review", "pdf"]);
    assert_eq!(all.skill("pdf").unwrap().ignored_keys, ["allowed-tools"]);
    assert_eq!(CommandSet::load(&sources(&top).without_foreign()).skills().count(), 0);
}

#[test]
fn models_are_told_of_skills_in_few_words_however_many_there_are() {
    let files: Vec<(String, String)> = (0..400)
        .map(|number| {
            let name = format!("skill-with-a-longish-name-{number:03}");
            (format!("own/skills/{name}/SKILL.md"), skill(&name, &"word ".repeat(100)))
        })
        .collect();
    let told = |count: usize| {
        let files: Vec<(&str, &str)> =
            files[..count].iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let top = world(&files);
        skill_tool(&sources(&top), &load(&top)).map(|tool| tool.spec().description.to_string())
    };
    assert_eq!(told(0), None);
    let one = told(1).unwrap();
    assert!(one.len() < 550 && one.contains("-000: word word") && one.ends_with("word…"), "{one}");
    for (count, end) in [(60, "word…"), (200, "-199"), (400, "more are not listed")] {
        let text = told(count).unwrap();
        assert!(text.len() < 8500 && text.ends_with(end), "{count}: {} {text}", text.len());
    }
}

#[test]
fn a_fingerprint_changes_with_every_skill_and_with_no_command() {
    let top = world(&[("own/skills/a/SKILL.md", "x"), ("own/commands/b.md", "x")]);
    let look = || sources(&top).fingerprint();
    let before = look();
    fs::write(top.path().join("own/commands/b.md"), "longer").unwrap();
    assert_eq!(look(), before);
    fs::write(top.path().join("own/skills/a/SKILL.md"), "longer").unwrap();
    assert_ne!(look(), before);
    fs::create_dir(top.path().join("own/skills/b")).unwrap();
    let between = look();
    fs::write(top.path().join("own/skills/b/SKILL.md"), "x").unwrap();
    assert_ne!(look(), between);
}
