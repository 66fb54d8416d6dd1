//! The programs that a command may start by the values of variables.

use std::path::{Path, PathBuf};

use super::reader::{MAX_COMMANDS, ScriptReader};
use crate::permission::script::{Script, SimpleCommand, Word};
use crate::permission::wrapper::program_starts;

/// The commands of the script with the values that the line gives to the words that may be programs;
/// `None` if they are too many.
pub fn program_readings(
    script: &Script,
    bases: &[PathBuf],
    home: Option<&Path>,
) -> Option<Vec<SimpleCommand>> {
    let mut commands = script.all_commands();
    commands.retain(|command| open_program(&command.words, 0).is_some());
    if commands.is_empty() {
        return Some(Vec::new());
    }
    let mut reader = ScriptReader::new(script, bases, true, home);
    reader.takes_programs = true;
    let made = commands.into_iter().map(|command| reader.programs(command));
    made.collect::<Option<Vec<_>>>().map(|made| made.concat())
}

/// The first word from `place` on that may be a program and is known only at run time.
fn open_program(words: &[Word], place: usize) -> Option<usize> {
    let (starts, certain) = program_starts(words);
    (place..words.len()).find(|at| !words[*at].literal && (!certain || starts.contains(at)))
}

impl ScriptReader<'_> {
    /// The commands with the values of the words that may be programs, as far as these are known;
    /// `None` for too many.
    pub(super) fn programs(&mut self, command: &SimpleCommand) -> Option<Vec<SimpleCommand>> {
        let (mut open, mut made) = (vec![(command.words.clone(), 0)], Vec::new());
        while let Some((words, from)) = open.pop() {
            let Some(place) = open_program(&words, from) else {
                made.push(SimpleCommand { words, ..command.clone() });
                continue;
            };
            let readings =
                self.word(&words[place]).unwrap_or_else(|| vec![vec![words[place].clone()]]);
            if made.len() + open.len() + readings.len() > MAX_COMMANDS {
                return None;
            }
            for own in readings {
                let next = place + own.len();
                let words = [&words[..place], &own, &words[place + 1..]].concat();
                self.left = self.left.checked_sub(words.len())?;
                open.push((words, next));
            }
        }
        made.retain(|it| it.words != command.words);
        Some(made)
    }
}
