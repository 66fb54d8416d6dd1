//! Commands that an allow rule names, run where the names mean something else.
//!
//! A rule names no folder. `Bash(./run.sh)` was written for the script of the project, and
//! `Bash(git commit:*)` for its repository and hooks: an agent that goes into a folder which was
//! unpacked there must not run what lies in it by those names.

use std::path::{Path, PathBuf};

use crate::disk::{
    check_starts_nothing, check_within, check_without_repository, checkout_around, checkout_root,
    common_git_dir, has_dot_git, resolve,
};
use crate::permission::facts::{Facts, Shell};
use crate::permission::path::{Places, Target};
use crate::permission::read_only;
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::wrapper;

/// Programs that run a file or a folder which they are given, by names without version numbers.
const INTERPRETERS: [&str; 12] = [
    "bun", "deno", "lua", "node", "nodejs", "perl", "php", "pypy", "python", "ruby", "ts-node",
    "tsx",
];

/// Programs that run git in the folder where they start, besides those with git in their name.
const FRONT_ENDS: [&str; 13] = [
    "cz",
    "gh",
    "glab",
    "gt",
    "hub",
    "husky",
    "jj",
    "lefthook",
    "pre-commit",
    "prek",
    "repo",
    "stg",
    "tig",
];

/// Error for a command that may run anywhere.
const UNKNOWN_FOLDER: &str = "the folder that it runs in is only known when the line runs";

/// How the rule can be made to hold.
const OWN_RULE: &str = "to allow it here, put the rule into the project's own settings";

/// What a rule says of a command.
#[derive(Clone, Copy)]
pub struct RuleMatch {
    /// How many words of the command are the rule's.
    pub words: usize,
    /// It is for all projects, and nobody thought of this one.
    pub is_general: bool,
}

/// Why a rule does not mean for this command what it means in the project.
pub fn elsewhere(
    command: &SimpleCommand,
    named: RuleMatch,
    shell: &Shell,
    facts: &Facts,
    places: &Places,
) -> Option<String> {
    let tops = tops(facts, places);
    let known = shell.bases.known();
    if named.is_general && known.is_none() {
        return Some(UNKNOWN_FOLDER.to_owned());
    }
    let bases = known.unwrap_or_default();
    let is_at_top = !bases.is_empty() && bases.iter().all(|base| is_top(base, &tops));
    let is_other = |word: &Word| match runs_files(command) {
        true => is_other_entry(word, bases, &tops),
        false => is_other_file(word, bases, &tops),
    };
    let mut words = command.words.iter().take(named.words).filter(|_| !is_at_top);
    if let Some(word) = words.find(|word| is_other(word)) {
        return Some(format!("{} is not the project's own there", word.raw));
    }
    if bases.iter().any(|base| !base.is_dir()) && (names_git(command) || names_file(command, named))
    {
        return Some("the line itself makes the folder that it runs in".to_owned());
    }
    if named.is_general
        && let Some(target) = led_away(shell, places)
    {
        let name = places.show(&target.written);
        return Some(format!("a link of the project leads {name} elsewhere ({OWN_RULE})"));
    }
    if named.is_general
        && let Some(why) = other_program(command, bases, places)
    {
        return Some(format!("{why} ({OWN_RULE})"));
    }
    let runs_git = names_git(command) || named.is_general && may_run_git(command);
    if !runs_git {
        return None;
    }
    if bases.is_empty() {
        return Some(UNKNOWN_FOLDER.to_owned());
    }
    other_git(bases, &tops, named, places)
}

/// A file that the line may name, by its words, its variables or a text that it runs, and where a
/// link of the project leads to a place outside, or to one where edits are asked about.
pub fn led_away<'a>(shell: &'a Shell, places: &Places) -> Option<&'a Target> {
    let mentioned = shell.mentioned();
    let words = mentioned.all.targets.iter().chain(&mentioned.in_input.targets);
    let mut targets = words.chain(&shell.written).chain(&shell.read);
    targets.find(|target| places.leads_away(target, &shell.bases.shell))
}

/// Why a program that a rule for all projects names may be another one in this project.
fn other_program(command: &SimpleCommand, bases: &[PathBuf], places: &Places) -> Option<String> {
    let mut programs = programs(command);
    let first = command.words.first()?;
    // Also one with its whole path starts others.
    if places.has_start_file && (programs.len() > 1 || !read_only::is_builtin(&first.text)) {
        return Some("your BASH_ENV file may lead PATH into the project".to_owned());
    }
    if places.has_libraries_of_project(bases) {
        return Some(read_only::LIBRARIES.to_owned());
    }
    programs.retain(|program| places.shadows_yours(&program.text, bases));
    let program = programs.first()?;
    Some(format!("the project has a program {} that PATH finds before yours", program.raw))
}

/// Why a command of git in one of `bases` may work on another repository than that of the project,
/// or start what one brings.
fn other_git(
    bases: &[PathBuf],
    tops: &[PathBuf],
    named: RuleMatch,
    places: &Places,
) -> Option<String> {
    let home = places.home.as_deref();
    let own: Vec<PathBuf> = tops.iter().map(|top| checkout_root(top)).collect();
    let mut roots = bases.iter().map(|base| checkout_root(base));
    if let Some(other) = roots.find(|root| is_other_repository(root, &own)) {
        return Some(format!(
            "{} is a repository of its own (--add-dir {} lets rules hold there)",
            places.show(&other),
            other.display()
        ));
    }
    if !named.is_general {
        let within = |base: &PathBuf| check_within(base, home, &places.git, tops).err();
        let why = bases.iter().find_map(within)?;
        return Some(format!("{why} (--add-dir trusts it)"));
    }
    if places.has_programs_of_project(bases) {
        return Some("PATH leads into the project, where git may find programs".to_owned());
    }
    let check = |base: &PathBuf| match checkout_around(base) {
        Some(_) => check_starts_nothing(base, home, &places.git),
        None => check_without_repository(base, home, &places.git),
    };
    let why = bases.iter().find_map(|base| check(base).err())?;
    Some(format!("{why} ({OWN_RULE})"))
}

/// Whether the file of a redirect is the one that the line names: no link of the project leads
/// elsewhere.
pub fn is_as_named(target: &Target, bases: &[PathBuf]) -> bool {
    let below = bases.iter().find_map(|base| Some((base, target.written.strip_prefix(base).ok()?)));
    below.is_none_or(|(base, name)| {
        target.resolved.is_some() && target.resolved == resolve(base).map(|base| base.join(name))
    })
}

/// Whether the checkout has git files of its own, and not those of one of the `own` ones.
fn is_other_repository(root: &Path, own: &[PathBuf]) -> bool {
    let common = |root: &Path| resolve(&common_git_dir(root)?);
    let shares = || {
        let git = common(root);
        git.is_some() && own.iter().any(|own| common(own) == git)
    };
    has_dot_git(root) && !is_top(root, own) && !shares()
}

/// Whether a line starts where the rules were written for.
pub fn starts_in_project(shell: &Shell, facts: &Facts, places: &Places) -> bool {
    let tops = tops(facts, places);
    shell.bases.shell.first().is_some_and(|start| is_top(start, &tops))
}

/// The folders for which rules are written: the working directories, the project and the agent's own folder.
fn tops(facts: &Facts, places: &Places) -> Vec<PathBuf> {
    let others = [&places.project, &facts.cwd].into_iter().filter_map(|dir| resolve(dir));
    // One that has become a link since is not the folder that the rules were written for.
    let others = others.filter(|dir| places.contains(dir));
    places.dirs.resolved().cloned().chain(others).collect()
}

fn is_top(folder: &Path, tops: &[PathBuf]) -> bool {
    resolve(folder).is_some_and(|folder| tops.contains(&folder))
}

/// Whether the word may name a file in one of `bases` which is not the one that it names in a
/// folder of `tops`. Without `bases`, that may be any folder.
fn is_other_file(word: &Word, bases: &[PathBuf], tops: &[PathBuf]) -> bool {
    let name = Path::new(&word.text);
    if name.is_absolute() || word.text.starts_with('-') || !word.literal {
        return false;
    }
    if bases.is_empty() {
        let is_own = |top: &PathBuf| top.join(name).is_file();
        return word.text.contains('/') || tops.iter().any(is_own);
    }
    let own: Vec<PathBuf> = tops.iter().filter_map(|top| resolve(&top.join(name))).collect();
    let is_other = |base: &PathBuf| {
        let file = base.join(name);
        file.is_file() && !resolve(&file).is_some_and(|file| own.contains(&file))
    };
    bases.iter().any(is_other)
}

/// Whether a word of the rule says where a file is.
fn names_file(command: &SimpleCommand, named: RuleMatch) -> bool {
    let mut words = command.words.iter().take(named.words);
    runs_files(command) || words.any(|word| word.text.contains('/') && !word.text.starts_with('/'))
}

/// Whether the program may run what a word names in a way of its own: a folder, or a file without
/// the end of its name.
fn runs_files(command: &SimpleCommand) -> bool {
    let name = |word: &Word| {
        wrapper::base_name(&word.text)
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
            .to_owned()
    };
    let mut programs = wrapper::views(command).into_iter().filter_map(|words| words.first());
    programs.any(|word| INTERPRETERS.contains(&name(word).as_str()))
}

/// The words by which the command starts programs.
fn programs(command: &SimpleCommand) -> Vec<&Word> {
    wrapper::views(command).into_iter().filter_map(|words| words.first()).collect()
}

/// Whether the command runs git or a program that works with it, or hands its name on to another
/// program, which may run it.
fn names_git(command: &SimpleCommand) -> bool {
    let is_git = |text: &str| {
        let name = wrapper::base_name(text);
        name == "git" || name.starts_with("git-")
    };
    let is_part = |c: char| !(c.is_ascii_alphanumeric() || "._-/".contains(c));
    let programs = programs(command);
    let mut names = programs.iter().map(|word| wrapper::base_name(&word.text));
    names.any(|name| is_git(name) || FRONT_ENDS.contains(&name))
        || !command.words.first().is_some_and(|word| read_only::is_reader(&word.text))
            && command.words.iter().any(|word| word.text.split(is_part).any(is_git))
}

/// Whether the command may run git in a script that it gets, or by a name that is only known when it
/// runs.
fn may_run_git(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter();
    words.any(|word| word.text.contains("git") || word.raw.contains("git"))
        || command.words.first().is_some_and(|word| !word.literal)
}

/// Whether the word may lead an interpreter to anything that is not the project's own.
fn is_other_entry(word: &Word, bases: &[PathBuf], tops: &[PathBuf]) -> bool {
    let name = Path::new(&word.text);
    if name.is_absolute() || word.text.starts_with('-') || !word.literal {
        return false;
    }
    let is_other = |base: &PathBuf| {
        let entry = resolve(&base.join(name));
        let is_own = tops.iter().any(|top| entry.is_some() && resolve(&top.join(name)) == entry);
        (word.text.contains('/') || base.join(name).exists()) && !is_own
    };
    bases.is_empty() || bases.iter().any(is_other)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use crate::disk::GitConfigPaths;
    use crate::permission::judge::Decision::{Allow, Ask};
    use crate::permission::judge::testing::Bench;
    use crate::permission::rule::{Base, List, Origin};
    use crate::protocol::EnvOverlay;

    fn repository(at: &Path) {
        for folder in ["objects", "refs"] {
            fs::create_dir_all(at.join(".git").join(folder)).unwrap();
        }
        fs::write(at.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    fn bench() -> Bench {
        let bench = Bench::new();
        let project = bench.root.join("project");
        let files = ["run.sh", "check.py", "unpacked/run.sh", "unpacked/check.py", "src/a"];
        for file in files.into_iter().chain(["build.mk", "unpacked/build.mk"]) {
            fs::create_dir_all(project.join(file).parent().unwrap()).unwrap();
            fs::write(project.join(file), "").unwrap();
        }
        repository(&project.join("unpacked"));
        [
            "./run.sh",
            "python3 check.py",
            "make -f build.mk",
            "python3 src",
            "node ./tools/build",
            "npm test",
            "git commit:*",
            "git push:*",
            "ssh-agent git:*",
            "prlimit sh -c 'cd .; git gc'",
            "for f in a; do ./run.sh; done",
        ]
        .into_iter()
        .fold(bench, |bench, rule| bench.allow(&format!("Bash({rule})")))
    }

    #[test]
    fn a_rule_means_the_files_and_the_repository_of_the_project() {
        let bench = bench();
        for line in
            ["./run.sh", "python3 check.py", "git commit -m x", "for f in a; do ./run.sh; done"]
        {
            assert_eq!(bench.bash(line), Allow, "{line}");
            let judgement = bench.bash_in("unpacked", line);
            assert_eq!(judgement.decision, Ask, "{line}: {}", judgement.why);
            assert_eq!(bench.bash(&format!("cd unpacked && {line}")), Ask, "{line}");
        }
        fs::create_dir_all(bench.root.join("project/unpacked/src")).unwrap();
        bench.asks(["cd new && ./run.sh", "cd new && git commit -m x"]);
        assert_eq!(bench.bash("make -f build.mk"), Allow);
        bench.asks(["make -f build.mk; echo CDPATH"]);
        assert_eq!(bench.bash("cd new && npm test"), Allow);
        for line in ["python3 src", "node ./tools/build"] {
            assert_eq!(bench.bash(line), Allow, "{line}");
            assert_eq!(bench.bash_in("unpacked", line).decision, Ask, "{line}");
        }
        fs::create_dir_all(bench.root.join("project/unpacked/sub")).unwrap();
        std::os::unix::fs::symlink("unpacked/sub", bench.root.join("project/link")).unwrap();
        bench.asks(["cd link && git commit -m x", "git -C link commit"]);
        assert_eq!(bench.bash("cd link && git status"), Allow);
        let filter = "[filter \"f\"]\n\tclean = ./x\n";
        fs::write(bench.root.join("project/unpacked/.git/config"), filter).unwrap();
        bench.asks(["cd link && git status", "cd link && git commit -m x", "git commit -m x"]);
        bench.asks(["cd src && git commit -m x"]);
        fs::write(bench.root.join("project/unpacked/.git/config"), "").unwrap();
        for line in ["ssh-agent git push", "prlimit sh -c 'cd .; git gc'"] {
            assert_eq!(bench.bash(line), Allow, "{line}");
            assert_eq!(bench.bash_in("unpacked", line).decision, Ask, "{line}");
        }
        let why = bench.bash_in("unpacked", "git push").why;
        assert!(why.contains("unpacked is a repository of its own (--add-dir "), "{why}");
        let why = bench.bash_in("unpacked", "./run.sh").why;
        assert!(why.contains("./run.sh is not the project's own there"), "{why}");
    }

    #[test]
    fn a_rule_holds_in_the_folders_of_the_project_and_in_additional_directories() {
        let mut bench = bench();
        for line in ["git commit -m x", "npm test", "../run.sh"] {
            let judgement = bench.bash_in("src", line);
            assert_eq!(
                judgement.decision == Allow,
                line != "../run.sh",
                "{line}: {}",
                judgement.why
            );
        }
        assert_eq!(bench.bash("cd src && git commit -m x && git push"), Allow);
        assert_eq!(bench.bash_in("unpacked", "npm test").decision, Allow);
        let project = bench.root.join("project");
        bench.places.dirs = vec![project.clone(), project.join("unpacked")].into();
        for line in ["./run.sh", "python3 check.py", "git commit -m x"] {
            let judgement = bench.bash_in("unpacked", line);
            assert_eq!(judgement.decision, Allow, "{line}: {}", judgement.why);
        }
    }

    #[test]
    fn a_rule_for_all_projects_has_its_conditions_also_where_it_names_the_whole_line() {
        let mut bench = Bench::new();
        let origin = Origin::UserFile(bench.root.join("home/config.toml"));
        let project = bench.places.project.clone();
        let base = Base { project: &project, home: None };
        let rules = [
            "Bash(git stash)",
            "Bash(ls -la; git tag x)",
            "Bash(echo $(date))",
            "Bash(sh -c 'git stash')",
            "Bash(gh pr create:*)",
            "Bash(trap 'git stash' EXIT)",
        ];
        bench.rules.add(List::Allow, &rules, &origin, base).unwrap();
        let redirects = [
            "make > all.txt",
            "make < src/in.txt",
            "tar cf all.txt src",
            "tar -c --file=all.txt src",
            "sort -oall.txt a.txt",
            "date > ../project/all.txt",
            "sh -c 'date > all.txt'",
            "o=all.txt; date > $o",
            "cat al?.txt",
            "eval 'date > all.txt'",
        ];
        let lines = redirects.map(|line| format!("Bash({line})"));
        bench.rules.add(List::Allow, &lines, &origin, base).unwrap();
        bench.allows(redirects);
        let outside = bench.root.join("outside");
        std::os::unix::fs::symlink(outside.join("all.txt"), project.join("all.txt")).unwrap();
        std::os::unix::fs::symlink(outside.join("in.txt"), project.join("src/in.txt")).unwrap();
        bench.asks(redirects);
        let handed_on = EnvOverlay::from_iter([("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='x'")]);
        let plain = std::mem::take(&mut bench.places.git);
        bench.places.git = GitConfigPaths::new(&handed_on);
        bench.asks(["gh pr create", "git stash"]);
        // No attribute picks it yet: what git checks out may.
        let home = bench.root.join("home");
        let filter = "[filter \"x\"]\n\tclean = python3 -m x\n";
        fs::write(home.join(".gitconfig"), filter).unwrap();
        let env = [("HOME", home.as_os_str()), ("PATH", OsStr::new("/usr/bin:/bin"))];
        bench.places.git = GitConfigPaths::new(&EnvOverlay::from_iter(env));
        bench.asks(["git stash"]);
        fs::write(home.join(".gitconfig"), filter.replace("python3 -m x", "cat")).unwrap();
        bench.allows(["git stash"]);
        bench.places.git = plain;
        bench.allows(["gh pr create", "git stash", "ls -la; git tag x", "echo $(date)"]);
        fs::create_dir_all(project.join(".git/hooks")).unwrap();
        fs::write(project.join(".git/hooks/reference-transaction"), "").unwrap();
        bench.asks([
            "gh pr create",
            "git stash",
            "ls -la; git tag x",
            "sh -c 'git stash'",
            "trap 'git stash' EXIT",
        ]);
        bench.allows(["echo $(date)"]);
    }

    #[test]
    fn a_rule_for_all_projects_has_its_conditions_also_where_there_is_no_repository() {
        let mut bench = Bench::new();
        let origin = Origin::UserFile(bench.root.join("home/config.toml"));
        let project = bench.places.project.clone();
        let base = Base { project: &project, home: None };
        bench.rules.add(List::Allow, &["Bash(git:*)"], &origin, base).unwrap();
        fs::remove_dir_all(project.join(".git")).unwrap();
        let home = bench.root.join("home");
        let elsewhere = format!("core hooksPath {}", home.join("hooks").display());
        for (setting, is_allowed) in [
            ("user name Ann", true),
            ("diff external python3 -m x", false),
            ("include path ~ann/x", false),
            ("core hooksPath .githooks", false),
            (&elsewhere, true),
        ] {
            let (section, setting) = setting.split_once(' ').unwrap();
            let (key, value) = setting.split_once(' ').unwrap();
            let settings = format!("[{section}]\n\t{key} = {value}\n");
            fs::write(home.join(".gitconfig"), settings).unwrap();
            let env = [("HOME", home.as_os_str()), ("PATH", OsStr::new("/usr/bin:/bin"))];
            bench.places.git = GitConfigPaths::new(&EnvOverlay::from_iter(env));
            for line in ["git diff a b", "git apply x.diff"] {
                let judgement = bench.bash_judgement(line);
                assert_eq!(judgement.decision == Allow, is_allowed, "{setting}: {}", judgement.why);
            }
        }
        // `git init sub` makes a repository of a folder that has brought its own hooks.
        fs::create_dir_all(project.join("sub/.git/hooks")).unwrap();
        fs::write(project.join("sub/.git/hooks/reference-transaction"), "").unwrap();
        bench.asks(["git diff a b"]);
    }

    #[test]
    fn a_rule_for_all_projects_trusts_no_settings_and_no_hooks_of_the_one_at_hand() {
        let with = |list_file: &str| {
            let mut bench = Bench::new();
            let file = bench.root.join(list_file);
            let is_users = list_file.starts_with("home");
            let origin = if is_users { Origin::UserFile(file) } else { Origin::File(file) };
            let base = Base { project: &bench.places.project.clone(), home: None };
            bench.rules.add(List::Allow, &["Bash(git commit:*)"], &origin, base).unwrap();
            bench
        };
        let (mut general, own) =
            (with("home/config.toml"), with("project/.claude/settings.local.json"));
        for bench in [&general, &own] {
            assert_eq!(bench.bash("git commit -m x"), Allow, "a plain repository");
            let git = bench.root.join("project/.git");
            fs::create_dir(git.join("hooks")).unwrap();
            fs::write(git.join("hooks/pre-commit.sample"), "").unwrap();
            assert_eq!(bench.bash("git commit -m x"), Allow, "with git's examples");
            fs::write(git.join("hooks/pre-commit"), "").unwrap();
        }
        let judgement = general.bash_judgement("git commit -m x");
        assert_eq!(judgement.decision, Ask);
        assert!(
            judgement.why.contains("hooks that git may start, such as pre-commit"),
            "{}",
            judgement.why
        );
        assert_eq!(own.bash("git commit -m x"), Allow);
        fs::remove_file(general.root.join("project/.git/hooks/pre-commit")).unwrap();
        fs::create_dir_all(general.root.join("home/x/hooks")).unwrap();
        fs::write(general.root.join("home/x/hooks/pre-commit"), "").unwrap();
        fs::write(general.root.join("project/.git/config"), "[core]\n\thooksPath = ~/x/hooks\n")
            .unwrap();
        assert_eq!(general.bash("git commit -m x"), Ask);
        let settings = "[filter \"f\"]\n\tclean = ./x\n";
        fs::write(general.root.join("project/.git/config"), settings).unwrap();
        assert_eq!(general.bash("git commit -m x"), Ask);
        // A program in the project that PATH finds before the user's.
        let mut shadowed = with("home/config.toml");
        let bin = shadowed.root.join("project/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("git"), "").unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let system = shadowed.places.programs.clone();
        shadowed.places.programs = std::iter::once(bin).chain(system.iter().cloned()).collect();
        let file = Origin::UserFile(shadowed.root.join("home/config.toml"));
        let base = Base { project: &shadowed.places.project.clone(), home: None };
        let rules = ["Bash(timeout 60 git:*)"];
        shadowed.rules.add(List::Allow, &rules, &file, base).unwrap();
        assert_eq!(shadowed.bash("timeout 60 git commit -m x"), Ask);
        let why = shadowed.bash_judgement("git commit -m x").why;
        assert!(
            why.contains("the project has a program git that PATH finds before yours"),
            "{why}"
        );
        fs::write(general.root.join("project/.git/config"), "").unwrap();
        let users = Origin::UserFile(general.root.join("home/config.toml"));
        let base = Base { project: &general.places.project.clone(), home: None };
        let rules = ["Bash(date)", "Bash(/usr/bin/date)", "Bash(timeout 9 /usr/bin/date)"];
        general.rules.add(List::Allow, &rules, &users, base).unwrap();
        let lines = ["git commit -m x", "date", "timeout 9 /usr/bin/date"];
        general.allows(lines.into_iter().chain(["/usr/bin/date"]));
        // Nothing holds for folders that nobody knows.
        general.asks(["date; echo CDPATH", "git commit -m x; echo CDPATH"]);
        general.places.has_start_file = true;
        general.asks(lines.into_iter().chain(["/usr/bin/date"]));
        general.places.has_start_file = false;
        general.places.libraries = [general.root.join("project/lib")].into();
        general.asks(lines.into_iter().chain(["/usr/bin/date"]));
        general.places.libraries = [].into();
        // What only a command that changes something starts.
        for settings in ["[core]\n\teditor = ./x\n", "[remote \"origin\"]\n\turl = ./up.git\n"] {
            fs::write(general.root.join("project/.git/config"), settings).unwrap();
            assert_eq!(general.bash("git commit -m x"), Ask, "{settings}");
            assert_eq!(general.bash("git status"), Allow, "{settings}");
        }
        // A repository within, which a command may make a submodule, whoever has written the rule.
        for bench in [&general, &own] {
            fs::write(bench.root.join("project/.git/config"), "").unwrap();
            let inner = bench.root.join("project/src");
            repository(&inner);
            assert_eq!(bench.bash("git commit -m x"), Allow);
            let filter = "[filter \"f\"]\n\tclean = ./x\n";
            fs::write(inner.join(".git/config"), filter).unwrap();
            assert_eq!(bench.bash("git commit -m x"), Ask);
            fs::remove_dir_all(inner.join(".git")).unwrap();
        }
        // In the place of a remote that no setting names.
        fs::write(general.root.join("project/.git/config"), "").unwrap();
        assert_eq!(general.bash("git commit -m x"), Allow);
        fs::create_dir_all(general.root.join("project/origin/hooks")).unwrap();
        assert_eq!(general.bash("git commit -m x"), Ask);
    }
}
