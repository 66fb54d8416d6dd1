//! Rules about files, applied to a command line: to the files it names, the folders above them, and its input.

use std::path::Path;

use crate::permission::call_access::{AccessItem, CallAccess, ShellLine};
use crate::permission::git_store;
use crate::permission::mentions::named::NamedFiles;
use crate::permission::path::PathTarget;
use crate::permission::pattern::{PathPattern, Restriction};
use crate::permission::places::Places;
use crate::permission::recursive;
use crate::permission::writers::copies::CopiedTree;
use crate::permission::writers::folders::{HandledPath, PathChange};

/// The effect that a rule about files restricts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileEffect {
    Reads,
    Writes,
}

impl FileEffect {
    /// The files that a command line may name with this effect.
    pub fn files(self, shell: &ShellLine) -> &NamedFiles {
        let mentioned = shell.mentioned();
        match self {
            Self::Reads => &mentioned.all,
            Self::Writes => &mentioned.by_writers,
        }
    }

    /// Whether a command has this effect on a file of the pattern because it handles a folder above
    /// it: anything it moves or links has another name for the rest of the line, and for the next
    /// one.
    pub fn by_folder(
        self,
        pattern: &PathPattern,
        shell: &ShellLine,
        effects: &CallAccess,
        places: &Places,
    ) -> Restriction {
        let starts = pattern.roots(effects.pattern_roots(places));
        let behind_links = |handled: &HandledPath| {
            let folder = &handled.target;
            if !folder.resolved.as_deref().is_some_and(Path::is_dir) {
                return Restriction::No;
            }
            match handled.links().find(true, pattern, &starts) {
                recursive::SearchOutcome::Nothing => Restriction::No,
                recursive::SearchOutcome::Found(file) => self.handles(handled, &file, places),
                recursive::SearchOutcome::TooMany => self.handles(handled, &folder.written, places),
            }
        };
        let effect = |handled: &HandledPath| {
            let folder = &handled.target;
            let is_certain = match (self, handled.how) {
                (Self::Writes, PathChange::Removed | PathChange::Moved) => true,
                (Self::Writes, PathChange::Changed)
                    if handled.program == "find" && effects.all_commands =>
                {
                    return Restriction::No;
                }
                (Self::Writes, PathChange::Changed | PathChange::Linked) => false,
                (Self::Reads, PathChange::Moved | PathChange::Linked) => false,
                (Self::Reads, _) => return Restriction::No,
                (Self::Writes, PathChange::Downloaded) if effects.all_commands => {
                    return Restriction::No;
                }
                (Self::Writes, PathChange::Downloaded) => {
                    let may_meet =
                        |name| pattern.is_anchored() && pattern.may_lie_in(name, &starts);
                    return match folder.names().any(may_meet) {
                        true => self.handles(handled, &folder.written, places),
                        false => Restriction::No,
                    };
                }
                (Self::Writes, PathChange::Filled) => {
                    let is_above = folder.names().any(|name| pattern.lies_below(name, &starts));
                    return match is_above {
                        true => self.handles(handled, &folder.written, places),
                        false => behind_links(handled),
                    };
                }
            };
            if !folder.resolved.as_deref().is_some_and(Path::is_dir) {
                return Restriction::No;
            }
            // Git writes through no link, and what is removed or gets another name is the link.
            let follows = handled.how == PathChange::Changed && handled.program != "git";
            let is_near = folder.names().any(|name| pattern.may_lie_in(name, &starts));
            let found = match is_near {
                true => recursive::find(folder, true, pattern, &starts),
                false => recursive::SearchOutcome::Nothing,
            };
            match found {
                recursive::SearchOutcome::Nothing if follows => behind_links(handled),
                recursive::SearchOutcome::Nothing => Restriction::No,
                recursive::SearchOutcome::Found(_) if is_certain => Restriction::Yes,
                recursive::SearchOutcome::Found(file) => self.handles(handled, &file, places),
                recursive::SearchOutcome::TooMany => self.handles(handled, &folder.written, places),
            }
        };
        let copied = |tree: &CopiedTree| {
            if self == Self::Reads || !tree.to.names().any(|to| pattern.may_lie_in(to, &starts)) {
                return Restriction::No;
            }
            match tree.find(|path| pattern.restricts_name(path, &starts)) {
                recursive::SearchOutcome::Nothing => Restriction::No,
                recursive::SearchOutcome::Found(file) => self.changes(&tree.program, &file, places),
                recursive::SearchOutcome::TooMany => {
                    self.changes(&tree.program, &tree.to.written, places)
                }
            }
        };
        let mentioned = shell.mentioned();
        let handled = mentioned.handled_paths.iter().map(effect);
        Restriction::strongest(handled.chain(mentioned.copied_trees.iter().map(copied)))
    }

    fn handles(self, handled: &HandledPath, file: &Path, places: &Places) -> Restriction {
        self.changes(&handled.program, file, places)
    }

    fn changes(self, program: &str, file: &Path, places: &Places) -> Restriction {
        let effect = match self {
            Self::Reads => "give another name to",
            Self::Writes => "change",
        };
        let name = places.show(file);
        Restriction::Maybe(format!("`{program}` may {effect} {name}"))
    }

    /// Why a command may have this effect on a file of the pattern although the line does not give
    /// it the whole name: the name is in a list, or the folder it runs in is unknown.
    pub fn unseen(
        self,
        pattern: &PathPattern,
        shell: &ShellLine,
        effects: &CallAccess,
        places: &Places,
    ) -> Restriction {
        let starts = pattern.roots(effects.pattern_roots(places));
        let mentioned = shell.mentioned();
        let list = match self {
            Self::Reads => &mentioned.read_list,
            Self::Writes => &mentioned.changed_list,
        };
        // Elsewhere, names of files come from a program or a file.
        let may_be_any = effects.all_commands && !mentioned.holds_input;
        if let Some(word) = list.as_ref().filter(|_| !may_be_any) {
            return Restriction::Maybe(format!("`{word}` takes names of files from a list"));
        }
        let names = &self.files(shell).names;
        match shell.bases.is_open && names.iter().any(|name| pattern.may_end_in(name, &starts)) {
            true => {
                Restriction::Maybe("which folder it runs in is known only at run time".to_owned())
            }
            false => Restriction::No,
        }
    }

    /// Whether the call reads a file in which git keeps the content of others. If the user has
    /// allowed every command, such a line raises no doubt.
    pub fn in_git_store(
        self,
        pattern: &PathPattern,
        effects: &CallAccess,
        places: &Places,
    ) -> Restriction {
        if self == Self::Writes || effects.shell.is_some() && effects.all_commands {
            return Restriction::No;
        }
        let starts = pattern.roots(effects.pattern_roots(places));
        let is_store = |target: &&PathTarget| {
            let path = target.resolved.as_deref();
            path.is_some_and(|path| git_store::may_hold(path, &effects.cwd, pattern, &starts))
        };
        let read = effects.items.iter().filter_map(|item| match item {
            AccessItem::Read(target) => Some(target),
            _ => None,
        });
        // Commands that descend into folders are examined by themselves.
        let named = effects
            .shell
            .iter()
            .flat_map(|shell| shell.read.iter().chain(&self.files(shell).targets));
        let named = named.filter(|target| !target.resolved.as_deref().is_some_and(Path::is_dir));
        read.chain(named).find(is_store).map_or(Restriction::No, |file| {
            let name = places.show(&file.written);
            Restriction::Maybe(format!("git may keep such a file in {name}"))
        })
    }

    /// Why a command not known to have this effect may have it on a file of the pattern. If the
    /// user has allowed every command, that is no doubt: that answer covers this, too.
    pub fn doubt(
        self,
        pattern: &PathPattern,
        shell: &ShellLine,
        effects: &CallAccess,
        places: &Places,
    ) -> Restriction {
        if effects.all_commands {
            return Restriction::No;
        }
        let starts = pattern.roots(effects.pattern_roots(places));
        match self {
            Self::Reads => {
                let mut shown = shell.mentioned().shown_folders.iter();
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

/// Why a line may name a file besides its known ones. If the user has allowed every command, a word
/// known only later raises no doubt: such a command may read any file, named or not, and every
/// other line has such a word. Too many names still do, or they would hide one among them.
pub fn doubt(files: &NamedFiles, effects: &CallAccess) -> Restriction {
    match &files.open {
        _ if files.unbounded => {
            Restriction::Maybe("caliban cannot tell which files the line names".to_owned())
        }
        Some(word) if !effects.all_commands => {
            Restriction::Maybe(format!("which file `{word}` names is known only at run time"))
        }
        _ => Restriction::No,
    }
}

pub fn restricts_paths(
    effect: FileEffect,
    pattern: Option<&PathPattern>,
    effects: &CallAccess,
    places: &Places,
) -> Restriction {
    let mut targets: Vec<&PathTarget> = Vec::new();
    for item in &effects.items {
        match (item, effect) {
            (AccessItem::Read(target), FileEffect::Reads)
            | (AccessItem::Write(target), FileEffect::Writes) => {
                targets.push(target);
            }
            _ => {}
        }
    }
    if let Some(shell) = &effects.shell {
        match effect {
            FileEffect::Reads => targets.extend(&shell.read),
            FileEffect::Writes => targets.extend(&shell.written),
        }
        // A command that names a file may well read it.
        if pattern.is_some() {
            targets.extend(&effect.files(shell).targets);
        }
    }
    match pattern {
        Some(pattern) => {
            let starts = pattern.roots(effects.pattern_roots(places));
            Restriction::strongest(targets.iter().map(|target| pattern.restricts(target, &starts)))
        }
        None => Restriction::certain(!targets.is_empty()),
    }
}
