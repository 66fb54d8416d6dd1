//! Images in the draft: from the clipboard, or from a file whose path was pasted or mentioned.

use crate::protocol::SizedImage;
use crate::tui::composer::draft;
use crate::tui::composer::draft_id::DraftId;
use crate::tui::composer::image_path::{ImagePath, NewImage};
use crate::tui::composer::past_prompt::PastImage;
use crate::tui::composer::paste::MAX_IMAGES;
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;

/// The images that the draft waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftImages {
    /// The number of the last one.
    last: usize,
    /// How many are in main's conversation.
    read: usize,
    /// The draft that they are for.
    draft: DraftId,
    /// How many are being read.
    reading: usize,
    /// Whether the draft is sent once they are there.
    pub sends: bool,
    /// The draft that Enter has already looked through for images.
    searched: Option<String>,
}

impl DraftImages {
    /// Whether one is being read.
    pub fn is_reading(&self) -> bool {
        self.reading > 0
    }

    /// The draft that they are for.
    #[cfg(test)]
    pub fn draft(&self) -> DraftId {
        self.draft
    }

    /// Counts one that is being read, and returns the draft that it is for.
    pub fn begin_reading(&mut self) -> DraftId {
        self.reading += 1;
        self.draft
    }

    /// Another draft begins: what is still being read is not for it.
    pub fn begin_draft(&mut self) {
        self.draft = self.draft.next();
        self.reading = 0;
        self.sends = false;
    }

    /// Returns whether Enter has not yet looked through this draft for images, and records that it has.
    pub fn begin_search(&mut self, text: &str) -> bool {
        let is_new = self.searched.as_deref() != Some(text);
        self.searched = Some(text.to_owned());
        is_new
    }

    /// Counts an image in main's conversation, which may be of an earlier process.
    pub fn count_read(&mut self) {
        self.read += 1;
        self.last = self.last.max(self.read);
    }
}

/// Puts an image into the draft, in place of its path. A text that is no image stays as it is. Returns
/// whether the draft is to be sent now.
pub fn arrived(
    model: &mut TuiModel,
    path: Option<&ImagePath>,
    draft: DraftId,
    image: Result<Option<SizedImage>, String>,
    effects: &mut Vec<ScreenEffect>,
) -> bool {
    let images = &mut model.composer.images;
    if images.draft != draft {
        return false;
    }
    images.reading = images.reading.saturating_sub(1);
    model.notice.take_if(|notice| notice.cause == NoticeCause::ImageRead);
    let images = &mut model.composer.images;
    let problem = match image {
        Ok(Some(image)) => {
            images.last += 1;
            let (number, sends) = (images.last, images.sends);
            let fits = model.composer.insert_image(NewImage { number, path, image });
            draft::edited(model, effects);
            model.composer.images.sends = sends;
            (!fits).then(|| format!("not added: a prompt takes {MAX_IMAGES} images at most"))
        }
        Ok(None) => missing(model, path),
        Err(why) => Some(why),
    };
    if let Some(problem) = problem {
        model.composer.images.sends = false;
        let about_draft = !model.composer.is_empty();
        let cause = if about_draft { NoticeCause::Draft } else { NoticeCause::Event };
        model.say_while(cause, problem);
    }
    let images = &mut model.composer.images;
    !images.is_reading() && std::mem::take(&mut images.sends)
}

/// The line about an image that is not there. What looks like a path may be plain text.
fn missing(model: &TuiModel, path: Option<&ImagePath>) -> Option<String> {
    match path {
        None => Some("no image in the clipboard".to_owned()),
        Some(path) => model.composer.past_image(&path.written).map(PastImage::gone),
    }
}
