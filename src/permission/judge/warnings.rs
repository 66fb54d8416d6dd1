//! Warnings in a question.

use std::collections::HashSet;

use crate::permission::call_access::{AccessItem, CallAccess};
use crate::permission::lookalike;
use crate::permission::places::Places;
use crate::permission::program::base_name;
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::wrapper::{program_starts, strip_wrappers};
use crate::protocol::Access;

/// Programs whose purpose is to talk to other machines.
const NETWORK: &[&str] =
    &["curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet", "ftp", "gh"];

/// Programs that delete the files they are given.
const DELETERS: &[&str] = &["rm", "rmdir", "shred", "unlink"];

/// Programs that change the files they are given, or make them.
const CHANGERS: &[&str] = &["chgrp", "chmod", "chown", "mkdir", "mv", "tee", "touch", "truncate"];

/// Programs that change the last of the files they are given.
const COPIERS: &[&str] = &["cp", "install", "ln"];

/// Programs that run a command as another user.
const AS_OTHERS: &[&str] = &["doas", "pkexec", "runuser", "su", "sudo"];

/// Programs that run what they read if they are given no file.
const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];
const INTERPRETERS: &[&str] = &["node", "perl", "php", "python", "python3", "ruby"];

/// The special circumstances of a call.
pub fn warnings(effects: &CallAccess, access: &Access, places: &Places) -> Vec<String> {
    let mut warnings = Vec::new();
    for item in &effects.items {
        match item {
            AccessItem::Read(target) | AccessItem::Write(target) => {
                let name = places.show(&target.written);
                if !target.is_inside(places) {
                    let leads = match &target.resolved {
                        Some(resolved) if *resolved != target.written => {
                            format!(" (it leads to {})", places.show(resolved))
                        }
                        _ => String::new(),
                    };
                    warnings.push(format!("{name} is outside the working directories{leads}"));
                }
                let protections = match item {
                    AccessItem::Write(_) => places.protections(target),
                    _ => Vec::new(),
                };
                if let Some(protection) = protections.first() {
                    warnings.push(format!("{name} is protected: {}", protection.reason));
                }
            }
            AccessItem::Fetch(_) => warnings.push("uses the network".to_owned()),
            // With those of the texts that the line runs, below.
            AccessItem::Command(_) => {}
            AccessItem::Unclear(why) => warnings.push(why.clone()),
            AccessItem::Nothing
            | AccessItem::Agent(_)
            | AccessItem::Skill(_)
            | AccessItem::AskUser
            | AccessItem::Other => {}
        }
    }
    let commands = effects.shell.as_ref().map(|shell| shell.script.all_commands());
    for command in commands.into_iter().flatten() {
        warnings.extend(command_warnings(command, effects, places));
    }
    warnings.extend(access_texts(access).iter().flat_map(|text| lookalike::warnings(text)));
    let mut known = HashSet::new();
    warnings.retain(|warning| known.insert(warning.clone()));
    warnings
}

/// The warnings about a command of a line, and about each command that it runs.
fn command_warnings(command: &SimpleCommand, effects: &CallAccess, places: &Places) -> Vec<String> {
    let mut warnings = Vec::new();
    for start in program_starts(&command.words).0 {
        let Some([program, arguments @ ..]) = command.words.get(start..) else { continue };
        let words = strip_wrappers(&command.words[start..]);
        let remote = matches!(words.as_slice(), ["git", "push" | "pull" | "fetch" | "clone", ..]);
        if remote || words.first().is_some_and(|program| NETWORK.contains(program)) {
            warnings.push("uses the network".to_owned());
        }
        let name = base_name(&program.text);
        if command.is_fed && runs_input(name, arguments) {
            warnings.push(format!("runs in {name} what another command prints"));
        }
        if AS_OTHERS.contains(&name) {
            warnings.push("runs as another user".to_owned());
        }
        let operands = arguments.iter().filter(|word| !word.text.starts_with('-'));
        let (verb, files): (_, Vec<&Word>) = match name {
            "find" if arguments.iter().any(|word| word.text == "-delete") => {
                let is_folder = |word: &&Word| !word.text.starts_with(['-', '(', '!']);
                ("deletes", arguments.iter().take_while(is_folder).collect())
            }
            _ if DELETERS.contains(&name) => ("deletes", operands.collect()),
            _ if CHANGERS.contains(&name) => ("changes", operands.collect()),
            _ if COPIERS.contains(&name) => {
                ("changes", operands.skip(1).last().into_iter().collect())
            }
            _ => continue,
        };
        warnings.extend(files.iter().flat_map(|word| file_warnings(verb, word, effects, places)));
    }
    warnings
}

/// Whether a program with these arguments runs its input.
fn runs_input(name: &str, arguments: &[Word]) -> bool {
    let is_shell = SHELLS.contains(&name);
    if !is_shell && !INTERPRETERS.contains(&name) {
        return false;
    }
    for word in arguments {
        let Some(option) = word.text.strip_prefix('-') else { return false };
        let has = |letters: &[char]| !option.starts_with('-') && option.contains(letters);
        match option {
            "" => return true,
            _ if is_shell && has(&['s']) => return true,
            _ if has(&['c']) || !is_shell && has(&['e', 'm']) => return false,
            _ => {}
        }
    }
    true
}

/// The warnings about a file that a command deletes or changes.
fn file_warnings(verb: &str, word: &Word, effects: &CallAccess, places: &Places) -> Vec<String> {
    let Some(shell) = &effects.shell else { return Vec::new() };
    let mut warnings = Vec::new();
    for target in shell.targets(word) {
        if target.written.starts_with("/dev") {
            continue;
        }
        let name = places.show(&target.written);
        if !target.is_inside(places) {
            warnings.push(format!("{verb} {name}, outside the working directories"));
        }
        let protection = places.protections(&target).into_iter().next();
        warnings.extend(protection.map(|it| format!("{name} is protected: {}", it.reason)));
    }
    let is_open = !word.literal && word.raw.contains(['$', '`']);
    if warnings.is_empty() && is_open && shell.file_in_home(word).is_none() {
        warnings.push(format!("{verb} {}, which is known only at run time", word.raw));
    }
    warnings
}

/// The texts of a call that the user reads before answering.
fn access_texts(access: &Access) -> Vec<String> {
    match access {
        Access::Command { line, .. } => vec![line.clone()],
        Access::Read { paths } | Access::Write { paths } => {
            paths.iter().map(|path| path.written.display().to_string()).collect()
        }
        Access::Fetch { url } => vec![url.clone()],
        Access::Nothing
        | Access::Agent { .. }
        | Access::Skill { .. }
        | Access::AskUser { .. }
        | Access::ExitPlan { .. }
        | Access::Other => Vec::new(),
    }
}
