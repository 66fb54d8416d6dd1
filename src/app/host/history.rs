//! The prompts of earlier sessions, in one file, oldest first: each on a line, as a JSON string or, with images, as
//! an object.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::replace::write_atomic;
use crate::tui::composer::past_prompt::{PastImage, PastPrompt};

/// The size in bytes from which the older half of the file is dropped.
const MAX_BYTES: u64 = 256 * 1024;

/// The longest prompt that is kept, in bytes. One of the size of the file would push out all others.
const MAX_PROMPT_BYTES: usize = 32 * 1024;

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum HistoryLine {
    Text(String),
    WithImages { text: String, images: Vec<PastImage> },
}

impl From<HistoryLine> for PastPrompt {
    fn from(line: HistoryLine) -> Self {
        match line {
            HistoryLine::Text(text) => Self { text, images: Vec::new() },
            HistoryLine::WithImages { text, images } => Self { text, images },
        }
    }
}

impl From<&PastPrompt> for HistoryLine {
    fn from(prompt: &PastPrompt) -> Self {
        let PastPrompt { text, images } = prompt.clone();
        match images.is_empty() {
            true => Self::Text(text),
            false => Self::WithImages { text, images },
        }
    }
}

/// Reads the prompts; none if there is no file. One that was sent several times in a row is there once, with
/// its last images.
pub fn read(path: &Path) -> Vec<PastPrompt> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let parse = |line| serde_json::from_str::<HistoryLine>(line).ok();
    let mut prompts: Vec<PastPrompt> = Vec::new();
    for prompt in text.lines().filter_map(parse).map(PastPrompt::from) {
        match prompts.last_mut().filter(|last| last.text == prompt.text) {
            Some(last) => *last = prompt,
            None => prompts.push(prompt),
        }
    }
    prompts
}

/// Adds a prompt, unless it is too long.
pub fn append(path: &Path, prompt: &PastPrompt) -> io::Result<()> {
    if prompt.text.len() > MAX_PROMPT_BYTES {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    if path.metadata().is_ok_and(|found| found.len() > MAX_BYTES) {
        let text = fs::read_to_string(path)?;
        write_atomic(path, newest(&text).as_bytes(), Permissions::from_mode(0o600))?;
    }
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let line = serde_json::to_string(&HistoryLine::from(prompt))? + "\n";
    file.write_all(line.as_bytes())
}

/// The last whole lines that fill half of the file, without those that are too long.
fn newest(text: &str) -> String {
    let mut room = (MAX_BYTES / 2) as usize;
    let fitting = |line: &&str| line.len() <= 2 * MAX_PROMPT_BYTES;
    let lines = text.split_inclusive('\n').rev().filter(fitting).take_while(|line| {
        let fits = line.len() <= room;
        room = room.saturating_sub(line.len());
        fits
    });
    let mut lines: Vec<&str> = lines.collect();
    lines.reverse();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &Path) -> Vec<String> {
        read(path).into_iter().map(|prompt| prompt.text).collect()
    }

    #[test]
    fn a_prompt_sent_again_is_there_once_with_its_last_images() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.jsonl");
        let image = PastImage { mark: "[Image #1]".to_owned(), file: None };
        let with_image = PastPrompt { text: "/quit".to_owned(), images: vec![image] };
        for prompt in ["one".into(), "/quit".into(), with_image.clone(), "one".into()] {
            append(&path, &prompt).unwrap();
        }
        assert_eq!(read(&path), [PastPrompt::from("one"), with_image, "one".into()]);
    }

    #[test]
    fn images_are_kept_with_their_prompt_and_a_text_like_a_mark_is_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.jsonl");
        let image = |mark: &str, file: Option<&str>| PastImage {
            mark: mark.to_owned(),
            file: file.map(str::to_owned),
        };
        let images = vec![image("[Image #1: a.png]", Some("/p/a.png")), image("[Image #2]", None)];
        let text = "see [Image #1: a.png] [Image #2]".to_owned();
        let prompts = [PastPrompt { text, images }, "see [Image #1: /etc/a.png]".into()];
        prompts.iter().for_each(|prompt| append(&path, prompt).unwrap());
        assert_eq!(read(&path), prompts);
    }

    #[test]
    fn a_long_prompt_is_left_out_and_pushes_no_other_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder/history.jsonl");
        append(&path, &"first".into()).unwrap();
        append(&path, &PastPrompt::from(&*"x\n".repeat(200_000))).unwrap();
        append(&path, &"second\nline".into()).unwrap();
        assert_eq!(texts(&path), ["first", "second\nline"]);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_newest_prompts_stay_when_the_file_grows_beyond_its_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.jsonl");
        // An older version kept long ones.
        let long = serde_json::to_string(&"x".repeat(300_000)).unwrap();
        fs::write(&path, format!("\"old\"\n{long}\n\"new\"\n")).unwrap();
        append(&path, &"newest".into()).unwrap();
        assert_eq!(texts(&path), ["old", "new", "newest"]);
        for number in 0..300 {
            append(&path, &PastPrompt::from(&*format!("{number} {}", "x".repeat(2_000)))).unwrap();
        }
        let kept = texts(&path);
        assert!(path.metadata().unwrap().len() <= MAX_BYTES + 4_096);
        assert!(kept.len() >= 60 && kept.last().unwrap().starts_with("299 "), "{}", kept.len());
    }
}
