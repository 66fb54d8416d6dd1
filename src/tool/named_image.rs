//! Reads the images that the user names, for a prompt.

use std::path::Path;

use crate::disk::{passes_link, repository_root};
use crate::media::{self, ImageError};
use crate::protocol::{SizedImage, printable_path};

/// Reads an image that the user names. `None` if there is no such file. `hides` returns whether the
/// rules hide a file. The project is the repository around `cwd`, unless that holds the whole `home`.
/// Blocks.
///
/// # Errors
/// One line for the user. A link of the project is an error if it leads elsewhere: what the user sees
/// and names must be what is read.
pub fn read_named_image(
    file: &Path,
    cwd: &Path,
    home: Option<&Path>,
    hides: impl Fn(&Path) -> bool,
) -> Result<Option<SizedImage>, String> {
    if std::fs::symlink_metadata(file).is_err() {
        return Ok(None);
    }
    let name = printable_path(file);
    if hides(file) {
        return Err(format!("{name}: a rule for Read hides it"));
    }
    let failed = |why: ImageError| format!("{name}: {why}");
    let real = |path: &Path| {
        path.canonicalize().map_err(|error| failed(ImageError::Unreadable(error.to_string())))
    };
    let (target, cwd) = (real(file)?, real(cwd)?);
    let project = repository_root(&cwd, home).unwrap_or(&cwd);
    if passes_link(file, |link| link.starts_with(project)) && !target.starts_with(&cwd) {
        let target = printable_path(&target);
        return Err(format!("{name} is a link to {target}: name that path to send it"));
    }
    media::read(&target).map(Some).map_err(failed)
}
