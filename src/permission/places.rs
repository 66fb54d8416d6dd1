//! The places that paths are judged by: the working directories, the project, and the programs that
//! `PATH` finds.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::path::{PathTarget, resolve};
use super::protected::{ProtectedPlaces, Protection, ProtectionReason, WorkingDirs};
use crate::disk::{
    GitConfigPaths, ProjectFolders, folders_of_repository, has_link, is_system_program,
    leads_outside, passes_link, programs_named, roots_around,
};
use crate::protocol::{BashVersion, EnvOverlay, ReadOnly, quoted_name};

/// The folders that agents work in, the project, the home, and related settings.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The working directories: reading inside is free. Absolute.
    pub dirs: WorkingDirs,
    /// The session's working directories, where relative patterns of deny and ask rules start even
    /// for an agent that works in a folder of its own. Absolute.
    pub starts: Arc<[PathBuf]>,
    /// The user's home, for `~` in rules.
    pub home: Option<PathBuf>,
    /// The `HOME` that the agent's commands have.
    pub shell_home: Option<PathBuf>,
    /// Git's settings when the agent's commands run it.
    pub git: GitConfigPaths,
    /// The folders of the session, even if an agent works in its own.
    pub session: ProjectFolders,
    /// The project directory. Relative patterns start here, and paths in messages are shown relative to it.
    pub project: PathBuf,
    /// Folders above or below the project's that count as the project in other rule files: deny and
    /// ask rules that start in the project start in these as well. Absolute.
    pub roots: Arc<[PathBuf]>,
    /// The only folder that file tools may write to, whatever the rules and the mode. Absolute, without links.
    pub bound: Option<PathBuf>,
    /// The places where edits always need approval.
    pub protected: Arc<ProtectedPlaces>,
    /// The folders of `PATH`, in order; a relative one is resolved from the folder a command runs in.
    pub programs: Arc<[PathBuf]>,
    /// Bash reads a startup file of the user before each unconfined command. It may set another `PATH`.
    pub has_start_file: bool,
    /// The paths in which the loader looks for libraries of every program. Absolute.
    pub libraries: Arc<[PathBuf]>,
    /// The kernel confines read-only commands.
    pub has_sandbox: bool,
    /// The version of bash, looked up when a line depends on it. Absent: a current one.
    pub bash: Option<&'static LazyLock<BashVersion>>,
}

impl Places {
    /// These places for commands that run with `env`: its `PATH` and `HOME` decide what a line
    /// means, and it determines git's settings.
    pub fn with_env(&self, env: &EnvOverlay) -> Self {
        let git = GitConfigPaths::new(env);
        // Other git settings name other files.
        let dirs = if git == self.git { self.dirs.clone() } else { self.dirs.unprotected() };
        Self {
            dirs,
            git,
            shell_home: env.get_os("HOME").map(PathBuf::from),
            programs: env.program_folders().map(PathBuf::from).collect(),
            libraries: env.library_paths().map(PathBuf::from).collect(),
            has_start_file: env.non_empty("BASH_ENV").is_some(),
            ..self.clone()
        }
    }

    /// The version of the bash that runs commands.
    pub(super) fn bash_version(&self) -> BashVersion {
        self.bash.map_or(BashVersion::PARSES, |version| **version)
    }

    /// Whether a resolved path lies in one of the working directories.
    pub fn contains(&self, resolved: &Path) -> bool {
        self.dirs.containing(resolved).is_some()
    }

    /// Whether a read-only command may start the program that `PATH` finds by this name: the
    /// system's own, or if commands are confined, any that no agent and no checkout can supply.
    pub fn finds_reader(&self, program: &str, bases: &[PathBuf]) -> bool {
        match self.has_sandbox {
            true => self.finds_outside(program, bases),
            false => self.finds_in_system(program, bases),
        }
    }

    /// Whether `PATH` finds a file by the program's name outside the working directories and the
    /// checkouts around them, or none.
    fn finds_outside(&self, program: &str, bases: &[PathBuf]) -> bool {
        !self.has_other_folder_on_path() && bases.iter().all(|base| self.finds_from(base, program))
    }

    /// Whether bash resolves a folder of `PATH` to another one: in a user's home, by a leading `~`,
    /// or by a link of the process itself.
    fn has_other_folder_on_path(&self) -> bool {
        let is_other = |folder: &PathBuf| {
            folder.as_os_str().as_encoded_bytes().starts_with(b"~")
                || folder.starts_with("/proc")
                || folder.starts_with("/dev")
                || folder.is_absolute() && folder.components().any(|it| it == Component::ParentDir)
        };
        self.programs.iter().any(is_other)
    }

    /// Whether a program may find others to start in the project, since `PATH` leads there.
    pub fn has_programs_of_project(&self, bases: &[PathBuf]) -> bool {
        // Also into a folder that does not exist yet.
        let is_of_project = |base: &PathBuf| {
            self.programs.iter().any(|folder| !self.is_outside(base, &base.join(folder)))
        };
        bases.iter().any(is_of_project)
    }

    /// Whether every program, including bash, may load a library that lies in the project.
    pub fn has_libraries_of_project(&self, bases: &[PathBuf]) -> bool {
        let is_of_project =
            |base: &PathBuf| self.libraries.iter().any(|path| !self.is_outside(base, path));
        bases.iter().any(is_of_project)
    }

    /// Whether a command finds the system's own program by this name. One elsewhere may look for
    /// another to start in its place, as those of version managers do.
    pub fn finds_in_system(&self, program: &str, bases: &[PathBuf]) -> bool {
        let is_found = |base: &PathBuf| {
            let found = self.programs_named(program, base).next();
            found.is_some_and(|file| is_system_program(&file) && self.is_outside(base, &file))
        };
        !self.has_other_folder_on_path() && bases.iter().all(is_found)
    }

    /// Whether `PATH` finds a program in the project that has the name of one outside, which the user means by it.
    pub fn shadows_user_program(&self, program: &str, bases: &[PathBuf]) -> bool {
        let is_outside = |base: &Path, file: PathBuf| self.is_outside(base, &file);
        self.has_other_folder_on_path()
            || bases.iter().any(|base| {
                let mut found = self.programs_named(program, base);
                found.next().is_some_and(|first| !is_outside(base, first))
                    && found.any(|other| is_outside(base, other))
            })
    }

    /// The same for a command that runs in `base`.
    fn finds_from(&self, base: &Path, program: &str) -> bool {
        self.programs_named(program, base).next().is_none_or(|file| self.is_outside(base, &file))
    }

    /// The programs of this name, in the order of `PATH`.
    fn programs_named(&self, program: &str, base: &Path) -> impl Iterator<Item = PathBuf> {
        let folders: Vec<PathBuf> = self.programs.iter().map(|folder| base.join(folder)).collect();
        programs_named(program, folders)
    }

    fn is_outside(&self, base: &Path, file: &Path) -> bool {
        let roots = self.roots([base]);
        leads_outside(file, |path| self.is_of_project(path, &roots))
    }

    /// The first of these files that lies outside the session's folders, or where edits need
    /// approval, because of a link in the project or a checkout around it. `bases` are the folders
    /// that the command may run in.
    pub fn find_escape<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a PathTarget>,
        bases: &[PathBuf],
    ) -> Option<&'a PathTarget> {
        let roots = self.roots(bases.iter().map(PathBuf::as_path));
        let passes = |target: &PathTarget| {
            passes_link(&target.written, |link| self.is_of_project(link, &roots))
                // A `..` after a link, which the name as written does not show.
                || target.resolved != resolve(&target.written)
        };
        // The surrounding checkouts are not trusted either: the project may be a part of them.
        let is_away = |target: &PathTarget| {
            !target.resolved.as_ref().is_some_and(|end| self.is_of_session(end))
                || self.protects(target)
        };
        targets.into_iter().find(|target| passes(target) && is_away(target))
    }

    /// Whether a link that a command in one of `bases` may meet leads out of the session's folders,
    /// or out of the checkout around them that holds it.
    pub fn holds_escape(&self, bases: &[PathBuf]) -> bool {
        let places: Vec<&PathBuf> = self.dirs.resolved().chain(bases).collect();
        let is_around = |root: &PathBuf| places.iter().any(|place| place.starts_with(root));
        let mut roots = self.roots(bases.iter().map(PathBuf::as_path));
        roots.retain(is_around);
        roots.extend(places.iter().filter_map(|place| resolve(place)));
        roots.sort_unstable();
        roots.dedup();
        roots.iter().any(|root| {
            has_link(
                root,
                |_| false,
                |link| {
                    let end = resolve(link);
                    let stays = end.is_some_and(|end| {
                        self.is_of_session(&end)
                            || end.starts_with(root) && !self.is_of_session(link)
                    });
                    !stays
                },
            )
        })
    }

    /// Whether a path without links lies where the session's rules were written for.
    pub(super) fn is_of_session(&self, resolved: &Path) -> bool {
        self.contains(resolved) || self.session.contains(resolved)
    }

    /// The folders of the session, and the checkouts around these folders.
    fn roots<'a>(&'a self, bases: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
        let home = self.home.as_deref();
        let mut roots = self.session.roots();
        roots.extend(bases.into_iter().flat_map(|base| roots_around(base, home)));
        roots
    }

    fn is_of_project(&self, path: &Path, roots: &[PathBuf]) -> bool {
        self.contains(path) || roots.iter().any(|root| path.starts_with(root))
    }

    /// The bounds of a command that runs in one of `bases` and only reads.
    pub fn read_only(&self, bases: &[PathBuf], uses_git: bool) -> ReadOnly {
        let project = self.roots(bases.iter().map(PathBuf::as_path)).into();
        ReadOnly { folders: self.readable(bases), write: [].into(), project, uses_git }
    }

    /// The folders that such a command reads: the working directories, and the repositories around
    /// it, which git and ripgrep search. Absolute, without links.
    fn readable(&self, bases: &[PathBuf]) -> Arc<[PathBuf]> {
        let home = self.home.as_deref();
        let mut folders: Vec<PathBuf> = self.dirs.resolved().cloned().collect();
        folders.extend(bases.iter().flat_map(|base| folders_of_repository(base, home)));
        folders.retain(|folder| folder.is_dir());
        folders.sort_unstable();
        folders.dedup();
        folders.into()
    }

    /// Whether the path lies in the agent's own checkout, both as it is named and with all links followed.
    pub fn is_in_own_checkout(&self, path: &Path) -> bool {
        let Some(bound) = &self.bound else { return false };
        let is_below = path
            .strip_prefix(bound)
            .is_ok_and(|below| below.components().all(|it| matches!(it, Component::Normal(_))));
        is_below && resolve(path).is_some_and(|path| path.starts_with(bound))
    }

    /// The folder that is the project in the agent's own checkout, if the agent works in it: relative
    /// patterns mean the same files there as in the project. Absolute, without links.
    pub fn own_project(&self) -> Option<PathBuf> {
        let bound = self.bound.as_ref()?;
        let roots = [&self.project].into_iter().chain(&*self.roots);
        let repository = roots.min_by_key(|root| root.as_os_str().len())?;
        let project = bound.join(self.project.strip_prefix(repository).ok()?);
        self.dirs.resolved().any(|dir| *dir == project).then_some(project)
    }

    /// The path for messages, in quotes unless it is a plain word: relative to the project if inside. For an
    /// agent in its own checkout, relative to the folder there that it works in, and absolute elsewhere,
    /// also in the project.
    pub fn show(&self, path: &Path) -> String {
        let Some(_) = &self.bound else { return self.show_in_project(path) };
        let own = self.dirs.resolved().next().filter(|_| self.is_in_own_checkout(path));
        let inside = own.and_then(|own| path.strip_prefix(own).ok());
        show_relative(path, inside)
    }

    /// The path for messages about files of the project: relative to the project if inside.
    pub fn show_in_project(&self, path: &Path) -> String {
        show_relative(path, path.strip_prefix(&self.project).ok())
    }

    /// All reasons why edits of the target need approval; empty if the mode decides alone.
    pub fn protections(&self, target: &PathTarget) -> Vec<Protection> {
        let Some(resolved) = &target.resolved else {
            // No rule can contain this name.
            return vec![Protection { name: "/".to_owned(), reason: ProtectionReason::Unknown }];
        };
        let at = |path: &Path| {
            self.protected.protections(path, &self.dirs, self.home.as_deref(), &self.git)
        };
        let protections = at(resolved);
        if protections.is_empty() { at(&target.written) } else { protections }
    }

    /// Looks for protected places added since the last edit was judged.
    pub(super) fn renew_protected(&self) {
        self.protected.renew();
        self.dirs.renew_protected(self.home.as_deref(), &self.git);
    }

    /// Whether writing there needs approval even where edits are free.
    pub fn protects(&self, target: &PathTarget) -> bool {
        !self.protections(target).is_empty()
    }
}

/// The path in quotes unless it is a plain word: its name inside of a folder, if it has one.
fn show_relative(path: &Path, inside: Option<&Path>) -> String {
    let name = match inside {
        Some(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        // Not the home.
        Some(inside) if inside.starts_with("~") => format!("./{}", inside.display()),
        Some(inside) => inside.display().to_string(),
        None => path.display().to_string(),
    };
    quoted_name(&name).into_owned()
}

impl PathTarget {
    /// Whether the target certainly lies inside the working directories.
    pub fn is_inside(&self, places: &Places) -> bool {
        self.resolved.as_deref().is_some_and(|path| places.contains(path))
    }
}
