//! Requests of images that the draft names.

use crate::protocol::prompt::mentioned_paths;
use crate::tui::composer::image_path::ImagePath;
use crate::tui::composer::past_prompt::PastImage;
use crate::tui::host::HostRequest;
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;

/// Asks for the image at a path in the draft, or for that in the clipboard.
pub fn request(model: &mut TuiModel, path: Option<ImagePath>, effects: &mut Vec<ScreenEffect>) {
    let what = if path.is_some() { "image" } else { "clipboard" };
    model.say_while(NoticeCause::ImageRead, format!("reading the {what} …"));
    let draft = model.composer.images.begin_reading();
    effects.push(ScreenEffect::Ask(HostRequest::Image { path, draft, image: Ok(None) }));
}

/// Asks for the images of a prompt of the history that is now the draft: only for those that the history
/// knows as images, since a text that looks like the mark of one may be anybody's.
pub fn request_past(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let about_draft = [NoticeCause::Draft, NoticeCause::ImageRead];
    model.notice.take_if(|notice| about_draft.contains(&notice.cause));
    let (files, lost): (Vec<_>, Vec<_>) =
        model.composer.unread_images().into_iter().partition(|image| image.file.is_some());
    if let Some(lost) = lost.first() {
        model.say_while(NoticeCause::Draft, lost.gone());
    }
    for PastImage { mark, file } in files {
        let path = file.map(|file| ImagePath::from_past(&mark, &file));
        request(model, path, effects);
    }
}

/// Asks for the image that the word before the cursor mentions, which the user has just ended. What a
/// paste mentions stays text: it may be anybody's.
pub fn request_ended_mention(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let buffer = &model.composer.buffer;
    if !buffer.is_typed() {
        return;
    }
    let head = buffer.text()[..buffer.cursor()].trim_end();
    let mention = mentioned_paths(head).last().filter(|(mark, _)| head.ends_with(mark));
    let path = mention.and_then(|(mark, path)| ImagePath::from_mention(mark, path));
    if let Some(path) = path.filter(|_| !model.composer.is_shell_line()) {
        request(model, Some(path), effects);
    }
}

/// Asks for the images that the draft mentions, once for each text. Returns whether there are any: then
/// the draft is sent once they are there. What a paste mentions stays text: it may be anybody's.
pub fn request_mentions(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) -> bool {
    let buffer = &model.composer.buffer;
    let text = buffer.text();
    if !buffer.is_typed() || !model.composer.images.begin_search(text) {
        return false;
    }
    let mut paths: Vec<_> = mentioned_paths(text)
        .filter_map(|(mark, path)| ImagePath::from_mention(mark, path))
        .collect();
    // The last of equal ones is replaced first.
    paths.reverse();
    let any = !paths.is_empty();
    paths.into_iter().for_each(|path| request(model, Some(path), effects));
    model.composer.images.sends |= any;
    any
}
