//! Compares the command of a deny or ask rule with the commands of a line. Besides yes and no there
//! is a third outcome: the rule may apply, because the words don't say for certain what the line
//! runs.

use crate::permission::call_access::ShellLine;
use crate::permission::interpreter::{interprets, takes_data};
use crate::permission::pattern::{CommandPattern, Restriction};
use crate::permission::program::base_name;
use crate::permission::script::{Script, SimpleCommand, Word};
use crate::permission::spelling::{segments, separate_defaults, unquoted};
use crate::permission::wrapper;

mod mention;
mod placeholder;
mod value;

use mention::occurrences;
use placeholder::APPENDERS;

/// Compares a rule for commands with the line and every command in it.
pub fn compare_line(pattern: &CommandPattern, shell: &ShellLine) -> Restriction {
    if pattern.restricts_line(&shell.line) {
        return Restriction::Yes;
    }
    let commands = shell.script.all_commands();
    let found = commands.iter().map(|command| compare_starts(pattern, command));
    match Restriction::strongest(found) {
        Restriction::Yes => Restriction::Yes,
        _ if matches_rough_reading(pattern, shell) => Restriction::Yes,
        Restriction::No => find_hidden(pattern, shell),
        found => found,
    }
}

/// Compares the rule with the programs that the command certainly starts.
fn compare_starts(pattern: &CommandPattern, command: &SimpleCommand) -> Restriction {
    let appends = APPENDERS.contains(&base_name(command.program()));
    let (starts, _) = wrapper::program_starts(&command.words);
    let found = starts.into_iter().filter_map(|start| {
        let (runner, words) = command.words.split_at_checked(start)?;
        if words.first().is_some_and(|program| placeholder::is_in(runner, program)) {
            let why = "which program a command starts is known only at run time";
            return Some(Restriction::Maybe(why.to_owned()));
        }
        Some(pattern.restricts(&placeholder::open(runner, words), appends))
    });
    Restriction::strongest(found)
}

/// Whether a second, rough reading finds the rule's command in a line that the grammar cannot parse.
fn matches_rough_reading(pattern: &CommandPattern, shell: &ShellLine) -> bool {
    if unclear(&shell.script).is_none() || shell.line.contains("<<") {
        return false;
    }
    let commands = segments(&shell.line).into_iter();
    let mut commands = commands.map(|words| SimpleCommand { words, ..SimpleCommand::default() });
    commands.any(|command| compare_starts(pattern, &command) == Restriction::Yes)
}

/// Looks for the rule's program in parts of the line that cannot be read as commands.
fn find_hidden(pattern: &CommandPattern, shell: &ShellLine) -> Restriction {
    let Some(program) = pattern.program() else { return Restriction::No };
    if let Some(why) = shell.doubt() {
        return Restriction::Maybe(why.to_owned());
    }
    if value::may_start(&shell.script, base_name(program)) {
        return Restriction::Maybe(format!("a variable may turn the command into `{program}`"));
    }
    let tokens: Vec<&str> = pattern.arguments().collect();
    if value::may_give(&shell.script, base_name(program), &tokens) {
        return Restriction::Maybe(format!(
            "a word that is known only at run time may be one of `{}`",
            tokens.join(" ")
        ));
    }
    if shell.script.all_commands().iter().any(|command| placeholder::is_in_script(command)) {
        let why = "a program puts text that it reads into a script";
        return Restriction::Maybe(why.to_owned());
    }
    let plain = separate_defaults(&unquoted(&shell.line));
    let named = occurrences(&plain, program);
    if let Some(why) = unclear(&shell.script)
        && (named > 0
            || occurrences(&shell.line, program) > 0
            || value::spells(&shell.line, &shell.script, program))
    {
        return Restriction::Maybe(format!("{why}, and `{program}` is in the line"));
    }
    let commands = shell.script.all_commands();
    // Each top-level word counts once: substitutions in it are commands of their own.
    let within: usize = shell.script.commands.iter().map(|it| mention::count(it, program)).sum();
    let is_outside = named > within;
    let is_mentioned = commands.iter().any(|command| mention::is_argument(command, program));
    let runs = commands
        .iter()
        .flat_map(|command| possible_starts(command))
        .find(|words| interprets(words))
        .and_then(<[Word]>::first);
    if let Some(word) = runs.filter(|_| is_mentioned || is_outside) {
        return Restriction::Maybe(format!(
            "`{}` can run commands that it is given as text, and `{program}` is in the line",
            base_name(&word.text)
        ));
    }
    if let Some(command) = runs_input(&shell.line, &commands, is_outside, program) {
        return Restriction::Maybe(format!(
            "`{}` may run what it reads, and `{program}` is in the line",
            base_name(command.program())
        ));
    }
    let in_value =
        shell.script.all_values().iter().any(|value| mention::holds(&value.word, program));
    if in_value && commands.iter().any(|command| mention::sees_values(command)) {
        return Restriction::Maybe(format!("a variable holds `{program}`, and a command gets it"));
    }
    if let Some(command) = gets_joined(&shell.script, &commands, program) {
        return Restriction::Maybe(format!(
            "values of the line may join to `{program}` in an argument of `{}`",
            base_name(command.program())
        ));
    }
    let arguments = commands.iter().map(|command| mention::in_arguments(pattern, program, command));
    Restriction::strongest(arguments)
}

/// The command that may run its input, if that names the program: a document, a here-string, the
/// output of a preceding command, or that of a substitution.
fn runs_input<'a>(
    line: &str,
    commands: &[&'a SimpleCommand],
    is_outside: bool,
    program: &str,
) -> Option<&'a SimpleCommand> {
    let from_text = is_outside && line.contains("<<");
    let from_substitution = line.contains("<(") || line.contains(">(");
    let names = |command: &&SimpleCommand| mention::is_argument(command, program);
    let first = commands.iter().position(names);
    let mut all = commands.iter().enumerate();
    let found = all.find(|(at, command)| {
        let is_behind = first.is_some_and(|first| first < *at) && command.is_fed;
        let is_given = is_behind || from_text || from_substitution && first.is_some();
        is_given && !takes_data(&command.words)
    });
    found.map(|(_, command)| *command)
}

/// The command that may run its arguments, if values of the line may join to the program in one.
fn gets_joined<'a>(
    script: &Script,
    commands: &[&'a SimpleCommand],
    program: &str,
) -> Option<&'a SimpleCommand> {
    let values = value::values_of(script);
    let mut gets = commands.iter().filter(|command| mention::sees_values(command));
    gets.find(|command| value::may_pass(command, program, &values)).copied()
}

fn unclear(script: &Script) -> Option<&str> {
    let own = script.unclear.as_deref();
    own.or_else(|| script.nested.iter().find_map(unclear))
}

/// The runs of words that the command may start: only the certain ones if its words determine them.
fn possible_starts(command: &SimpleCommand) -> Vec<&[Word]> {
    match wrapper::program_starts(&command.words) {
        (starts, true) => {
            starts.into_iter().filter_map(|start| command.words.get(start..)).collect()
        }
        _ => wrapper::possible_commands(command),
    }
}

#[cfg(test)]
mod tests;
