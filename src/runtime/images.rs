//! Images that a prompt names as `@shot.png`.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::parts::RuntimeParts;
use crate::media;
use crate::permission::UnreadableFiles;
use crate::protocol::prompt::mentioned_paths;
use crate::protocol::{PromptImage, QueuedPrompt};
use crate::tool::path::{display_path, resolve};
use crate::tool::read_named_image;

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
    let named = mentions(parts, std::mem::take(&mut prompt.image_mentions));
    if named.is_empty() && prompt.images.is_empty() {
        return Ok(());
    }
    let (cwd, home) = (parts.cwd.clone(), parts.agents.builtin.home.clone());
    let unreadable = parts.agents.gate.unreadable(&cwd, None);
    let given = std::mem::take(&mut prompt.images);
    let read = move || {
        let given = given.into_iter().map(|image| Ok(Some(with_small_image(image))));
        given
            .chain(named.into_iter().map(|named| read(named, &cwd, home.as_deref(), &unreadable)))
            .collect()
    };
    let read: Result<Vec<Option<PromptImage>>, String> = match parts.pools.files.run(read).await {
        Ok(images) => images,
        Err(lost) => return Err(format!("the images could not be read: {lost}")),
    };
    prompt.images = read?.into_iter().flatten().collect();
    match prompt.images.len() {
        0..=MAX_IMAGES => Ok(()),
        count => Err(format!("{count} images: a prompt takes {MAX_IMAGES} at most")),
    }
}

fn mentions(parts: &RuntimeParts, marks: Vec<String>) -> Vec<Mention> {
    let home = parts.agents.builtin.home.as_deref();
    let mut named: Vec<Mention> = Vec::new();
    for mark in marks {
        let is_new = !named.iter().any(|known| known.mark == mark);
        let path = mentioned_paths(&mark).next().map(|(_, path)| path);
        if let Some(path) = path.filter(|path| is_new && media::has_image_name(Path::new(path))) {
            let file = resolve(path, &parts.cwd, home);
            named.push(Mention { mark, file });
        }
    }
    named
}

/// Makes an image of a driving program as small as models read it; the screen's are. One that cannot
/// be decoded stays as it is.
fn with_small_image(image: PromptImage) -> PromptImage {
    if !image.mark.is_empty() {
        return image;
    }
    let bytes = STANDARD.decode(&*image.source.data).unwrap_or_default();
    match media::prepare(&bytes) {
        Ok(small) => PromptImage::marked(image.mark, "image", small),
        Err(_) => image,
    }
}

/// Reads an image, unless there is no such file.
fn read(
    named: Mention,
    cwd: &Path,
    home: Option<&Path>,
    unreadable: &UnreadableFiles,
) -> Result<Option<PromptImage>, String> {
    let Mention { mark, file } = named;
    let image = read_named_image(&file, cwd, home, |file| unreadable.contains(file))
        .map_err(|why| format!("{why}. Nothing was sent."));
    Ok(image?.map(|image| PromptImage::marked(mark, &display_path(&file, cwd), image)))
}
