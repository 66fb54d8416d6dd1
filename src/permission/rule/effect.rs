//! What rules about files say of a command line: of the files it names, of folders above them, of its input.

use std::path::Path;

use crate::permission::facts::{Facts, Shell, Unit};
use crate::permission::git_store;
use crate::permission::mentions::Files;
use crate::permission::path::{Places, Target};
use crate::permission::pattern::PathPattern;
use crate::permission::recursive;
use crate::permission::restriction::Restriction;
use crate::permission::writers::{Handled, How};

/// What a rule about files is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Writes,
}

impl Effect {
    /// The files that a command line may name to this effect.
    pub fn files(self, shell: &Shell) -> &Files {
        let mentioned = shell.mentioned();
        match self {
            Self::Reads => &mentioned.all,
            Self::Writes => &mentioned.by_writers,
        }
    }

    /// Whether a command has this effect on a file of the pattern because it handles a folder above
    /// it: what it moves or links has another name for the rest of the line, and for the next one.
    pub fn by_folder(
        self,
        pattern: &PathPattern,
        shell: &Shell,
        facts: &Facts,
        places: &Places,
    ) -> Restriction {
        let starts = pattern.starts(facts.starts(places));
        let effect = |handled: &Handled| {
            let folder = &handled.target;
            let is_certain = match (self, handled.how) {
                (Self::Writes, How::Removed | How::Moved) => true,
                (Self::Writes, How::Changed) if handled.program == "find" && facts.all_commands => {
                    return Restriction::No;
                }
                (Self::Writes, How::Changed | How::Linked) => false,
                (Self::Reads, How::Moved | How::Linked) => false,
                (Self::Reads, How::Removed | How::Changed | How::Filled) => return Restriction::No,
                (Self::Writes, How::Filled) => {
                    let is_above = folder.names().any(|name| pattern.lies_below(name, &starts));
                    return match is_above {
                        true => self.handles(handled, &folder.written, places),
                        false => Restriction::No,
                    };
                }
            };
            if !folder.resolved.as_deref().is_some_and(Path::is_dir)
                || !folder.names().any(|name| pattern.may_lie_in(name, &starts))
            {
                return Restriction::No;
            }
            match recursive::find(folder, true, pattern, &starts) {
                recursive::Search::Nothing => Restriction::No,
                recursive::Search::Found(_) if is_certain => Restriction::Yes,
                recursive::Search::Found(file) => self.handles(handled, &file, places),
                recursive::Search::TooMany => self.handles(handled, &folder.written, places),
            }
        };
        Restriction::strongest(shell.mentioned().handled.iter().map(effect))
    }

    fn handles(self, handled: &Handled, file: &Path, places: &Places) -> Restriction {
        let effect = match self {
            Self::Reads => "give another name to",
            Self::Writes => "change",
        };
        let (program, name) = (&handled.program, places.show(file));
        Restriction::Maybe(format!("`{program}` may {effect} {name}"))
    }

    /// Why a command may have this effect on a file of the pattern whose name the line does not
    /// give to it as a whole: it stands in the input of the command, or the folder in which the
    /// command runs is not known.
    pub fn unseen(
        self,
        pattern: &PathPattern,
        shell: &Shell,
        facts: &Facts,
        places: &Places,
    ) -> Restriction {
        let starts = pattern.starts(facts.starts(places));
        let mentioned = shell.mentioned();
        let input = match self {
            Self::Reads => &mentioned.in_input,
            Self::Writes => &mentioned.changed_in_input,
        };
        let is_meant = |file: &&Target| pattern.restricts(file, &starts) == Restriction::Yes;
        if let Some(file) = input.targets.iter().find(is_meant) {
            let name = places.show(&file.written);
            return Restriction::Maybe(format!("a command may take {name} from its input"));
        }
        let names = &self.files(shell).names;
        match shell.bases.is_open && names.iter().any(|name| pattern.may_end_in(name, &starts)) {
            true => {
                Restriction::Maybe("which folder it runs in is only known when it runs".to_owned())
            }
            false => Restriction::No,
        }
    }

    /// Whether the call reads a file in which git keeps the content of others. Where the user has let
    /// every command run, a line that does so raises no doubt.
    pub fn in_git_store(
        self,
        pattern: &PathPattern,
        facts: &Facts,
        places: &Places,
    ) -> Restriction {
        if self == Self::Writes || facts.shell.is_some() && facts.all_commands {
            return Restriction::No;
        }
        let starts = pattern.starts(facts.starts(places));
        let is_store = |target: &&Target| {
            let path = target.resolved.as_deref();
            path.is_some_and(|path| git_store::may_hold(path, &facts.cwd, pattern, &starts))
        };
        let read = facts.units.iter().filter_map(|unit| match unit {
            Unit::Read(target) => Some(target),
            _ => None,
        });
        // Commands that go into folders are looked at by themselves.
        let named = facts
            .shell
            .iter()
            .flat_map(|shell| shell.read.iter().chain(&self.files(shell).targets));
        let named = named.filter(|target| !target.resolved.as_deref().is_some_and(Path::is_dir));
        read.chain(named).find(is_store).map_or(Restriction::No, |file| {
            let name = places.show(&file.written);
            Restriction::Maybe(format!("git may keep such a file in {name}"))
        })
    }

    /// Why a command may have this effect on a file of the pattern without being known for it.
    /// Where the user has let every command run, that is no doubt: it is as much an answer to this.
    pub fn doubt(
        self,
        pattern: &PathPattern,
        shell: &Shell,
        facts: &Facts,
        places: &Places,
    ) -> Restriction {
        if facts.all_commands {
            return Restriction::No;
        }
        let starts = pattern.starts(facts.starts(places));
        match self {
            Self::Reads => {
                let mut shown = shell.mentioned().shown.iter();
                let doubt = shown.find_map(|shown| shown.doubt(pattern, &starts, places));
                doubt.map_or(Restriction::No, Restriction::Maybe)
            }
            Self::Writes => {
                let mut named = shell.mentioned().by_unknown.iter();
                let meant =
                    named.find(|(_, file)| pattern.restricts(file, &starts) != Restriction::No);
                meant.map_or(Restriction::No, |(program, file)| {
                    let name = places.show(&file.written);
                    Restriction::Maybe(format!("`{program}` may write {name}"))
                })
            }
        }
    }
}

/// Why a line may name a file that none of its known names is. Where the user has let every command
/// run, a word that is only known later raises no doubt: such a command may read any file, named or
/// not, and each second line has such a word. Too many names do all the same, or they would hide
/// one among them.
pub fn doubt(files: &Files, facts: &Facts) -> Restriction {
    match &files.open {
        _ if files.unbounded => {
            Restriction::Maybe("caliban cannot tell which files the line names".to_owned())
        }
        Some(word) if !facts.all_commands => {
            Restriction::Maybe(format!("which file `{word}` names is only known when it runs"))
        }
        _ => Restriction::No,
    }
}

pub fn restricts_paths(
    effect: Effect,
    pattern: Option<&PathPattern>,
    facts: &Facts,
    places: &Places,
) -> Restriction {
    let mut targets: Vec<&Target> = Vec::new();
    for unit in &facts.units {
        match (unit, effect) {
            (Unit::Read(target), Effect::Reads) | (Unit::Write(target), Effect::Writes) => {
                targets.push(target);
            }
            _ => {}
        }
    }
    if let Some(shell) = &facts.shell {
        match effect {
            Effect::Reads => targets.extend(&shell.read),
            Effect::Writes => targets.extend(&shell.written),
        }
        // A command that names a file may well read it.
        if pattern.is_some() {
            targets.extend(&effect.files(shell).targets);
        }
    }
    match pattern {
        Some(pattern) => {
            let starts = pattern.starts(facts.starts(places));
            Restriction::strongest(targets.iter().map(|target| pattern.restricts(target, &starts)))
        }
        None => Restriction::certain(!targets.is_empty()),
    }
}
