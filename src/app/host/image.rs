//! Reads images for the draft: from files, and from the clipboard through the program of the desktop.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::LocalHost;
use crate::disk::programs_named;
use crate::exec::{CommandExit, FilterCommand, FilterOutput, ServiceCommand, child_env};
use crate::media::{self, ImageError, MAX_FILE_BYTES};
use crate::protocol::{EnvOverlay, SizedImage};
use crate::tool::path::display_path;
use crate::tool::read_named_image;
use crate::tui::composer::image_path::ImagePath;

/// How long the program of the clipboard may take.
const CLIPBOARD_LIMIT: Duration = Duration::from_secs(2);

/// The types of images that are taken from the clipboard, the preferred one first.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// A program that prints what the clipboard has.
struct ClipboardProgram {
    name: &'static str,
    /// The package that has it.
    package: &'static str,
    /// Lists the types on offer; without it, an image is asked for at once.
    list: &'static [&'static str],
    /// Prints the image, of the type that follows.
    print: &'static [&'static str],
    /// The arguments behind the type.
    end: &'static [&'static str],
}

const WL_PASTE: ClipboardProgram = ClipboardProgram {
    name: "wl-paste",
    package: "wl-clipboard",
    list: &["--list-types"],
    print: &["--no-newline", "--type"],
    end: &[],
};
const XCLIP: ClipboardProgram = ClipboardProgram {
    name: "xclip",
    package: "it",
    list: &["-selection", "clipboard", "-t", "TARGETS", "-o"],
    print: &["-selection", "clipboard", "-t"],
    end: &["-o"],
};
const PNGPASTE: ClipboardProgram =
    ClipboardProgram { name: "pngpaste", package: "it", list: &[], print: &[], end: &["-"] };

impl LocalHost {
    /// Reads an image file that the draft names, and completes its path. `None` if there is no such file.
    pub(super) async fn image_at(
        &self,
        named: &mut ImagePath,
    ) -> Result<Option<SizedImage>, String> {
        let file = self.path_in_draft(&named.path);
        if let Some(absolute) = file.to_str() {
            named.file = Some(absolute.to_owned());
            named.path = display_path(&file, &self.cwd);
        }
        let unreadable = self.memory.gate.unreadable(&self.cwd, None);
        let (cwd, home) = (self.cwd.clone(), self.memory.home.clone());
        let read = move || {
            read_named_image(&file, &cwd, home.as_deref(), |file| unreadable.contains(file))
        };
        tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
    }

    /// Returns the path that the user means: relative to the working directory, `~` for home.
    fn path_in_draft(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.memory.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.cwd.join(path),
        }
    }

    /// Reads the image in the clipboard. `None` if there is none in it.
    pub(super) async fn image_in_clipboard(&self) -> Result<Option<SizedImage>, String> {
        let env = self.project.without_programs(&child_env(&self.env, 0, &self.secrets));
        let program = clipboard_program(&env)?;
        let folders = env.program_folders().map(Path::to_owned);
        if programs_named(program.name, folders).next().is_none() {
            let ClipboardProgram { name, package, .. } = program;
            return Err(format!("{name} is not installed: install {package}, or paste a path"));
        }
        let began = Instant::now();
        let run = |args: Vec<&'static str>| run(program.name, args, &env, began);
        let kind = match program.list {
            [] => None,
            list => {
                let Some(listed) = run(list.to_vec()).await? else { return Ok(None) };
                let listed = listed.stdout.text().into_owned();
                let offers = |kind: &&&str| listed.lines().any(|line| line.trim() == **kind);
                let Some(kind) = TYPES.iter().find(offers) else { return Ok(None) };
                Some(*kind)
            }
        };
        let args = program.print.iter().copied().chain(kind).chain(program.end.iter().copied());
        let Some(printed) = run(args.collect()).await? else { return Ok(None) };
        if printed.stdout.is_cut {
            let why = ImageError::TooManyBytes(printed.stdout.bytes.len() as u64 + 1);
            return Err(format!("clipboard: {why}"));
        }
        let bytes = printed.stdout.bytes;
        let prepared = tokio::task::spawn_blocking(move || media::prepare(&bytes)).await;
        let image = prepared.map_err(|error| error.to_string())?;
        image.map(Some).map_err(|why| format!("clipboard: {why}"))
    }
}

/// Returns the program that reads the clipboard of this desktop.
fn clipboard_program(env: &EnvOverlay) -> Result<&'static ClipboardProgram, String> {
    if cfg!(target_os = "macos") {
        return Ok(&PNGPASTE);
    }
    if env.non_empty("WAYLAND_DISPLAY").is_some() {
        return Ok(&WL_PASTE);
    }
    if env.non_empty("DISPLAY").is_some() {
        return Ok(&XCLIP);
    }
    Err("no clipboard here: paste or drop the path of an image instead".to_owned())
}

/// Runs the program. `None` if it fails, as it does when the clipboard has nothing for it.
async fn run(
    name: &str,
    args: Vec<&str>,
    env: &EnvOverlay,
    began: Instant,
) -> Result<Option<FilterOutput>, String> {
    let args: Vec<OsString> = args.into_iter().map(OsString::from).collect();
    let command = ServiceCommand {
        program: name,
        args: &args,
        cwd: Path::new("/"),
        env,
        confinement: None,
        supervisor: None,
    };
    let cancel = CancellationToken::new();
    let filter = FilterCommand {
        command,
        input: b"",
        keep: MAX_FILE_BYTES as usize,
        limit: Some(CLIPBOARD_LIMIT.saturating_sub(began.elapsed())),
        cancel: &cancel,
    };
    let done = filter.run().await.map_err(|_| {
        format!("{name} could not be started: install it, or paste the path of an image")
    })?;
    match done.exit {
        CommandExit::Code(0) => Ok(Some(done)),
        CommandExit::TimedOut(_) => {
            Err(format!("{name} did not answer within {} s", CLIPBOARD_LIMIT.as_secs()))
        }
        _ => Ok(None),
    }
}
