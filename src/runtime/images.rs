//! Images that a prompt names as `@shot.png`.

use std::path::{Path, PathBuf};

use super::parts::RuntimeParts;
use crate::media::{self, ImageError};
use crate::permission::UnreadableFiles;
use crate::protocol::prompt::mentioned_paths;
use crate::protocol::{PromptImage, QueuedPrompt, Sender, printable_path};
use crate::tool::path::{display_path, resolve};

/// The most images of one prompt.
const MAX_IMAGES: usize = 20;

/// A mention of an existing image.
struct Mention {
    mark: String,
    file: PathBuf,
}

/// Adds the images that the user's prompt names. A name without such a file is plain text. The error
/// is one line for the user.
pub(super) async fn add_mentioned(
    parts: &RuntimeParts,
    prompt: &mut QueuedPrompt,
) -> Result<(), String> {
    let named = mentions(parts, prompt);
    if named.is_empty() {
        return Ok(());
    }
    let cwd = parts.cwd.clone();
    let unreadable = parts.agents.gate.unreadable(&cwd, None);
    let read = move || named.into_iter().map(|named| read(named, &cwd, &unreadable)).collect();
    let images: Result<Vec<_>, String> = match tokio::task::spawn_blocking(read).await {
        Ok(images) => images,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    };
    prompt.images.extend(images?.into_iter().flatten());
    match prompt.images.len() {
        0..=MAX_IMAGES => Ok(()),
        count => Err(format!("{count} images: a prompt takes {MAX_IMAGES} at most")),
    }
}

fn mentions(parts: &RuntimeParts, prompt: &QueuedPrompt) -> Vec<Mention> {
    let home = parts.agents.builtin.home.as_deref();
    let mut named: Vec<Mention> = Vec::new();
    if prompt.from != Sender::Person {
        return named;
    }
    for (mark, path) in mentioned_paths(&prompt.text) {
        let is_new = !named.iter().any(|known| known.mark == mark);
        if is_new && media::has_image_name(Path::new(path)) {
            let file = resolve(path, &parts.cwd, home);
            named.push(Mention { mark: mark.to_owned(), file });
        }
    }
    named
}

/// Reads an image, unless there is no such file.
fn read(
    named: Mention,
    cwd: &Path,
    unreadable: &UnreadableFiles,
) -> Result<Option<PromptImage>, String> {
    let Mention { mark, file } = named;
    if std::fs::symlink_metadata(&file).is_err() {
        return Ok(None);
    }
    if unreadable.contains(&file) {
        return Err(format!("{mark}: a deny rule forbids reading it. Nothing was sent."));
    }
    let failed = |why: ImageError| format!("{}: {why}. Nothing was sent.", printable_path(&file));
    let image = media::read(&file).map_err(failed)?;
    Ok(Some(PromptImage::marked(mark, &display_path(&file, cwd), image)))
}
