//! Reads a notebook (`.ipynb`) as its cells and their outputs.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::image::prepare;
use crate::protocol::{EscapeReader, ResultBlock, count};

/// The most characters of one cell's outputs.
const MAX_OUTPUT: usize = 10_000;

/// The most images of a notebook.
const MAX_IMAGES: usize = 8;

/// The content of a notebook for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct NotebookContent {
    pub blocks: Vec<ResultBlock>,
    pub cells: usize,
}

/// Reads a notebook. `max_text` bounds its text in bytes. Blocks.
///
/// # Errors
///
/// If it is not one; the error reads on after the name of a file and "is".
pub fn read_notebook(bytes: &[u8], max_text: usize) -> Result<NotebookContent, String> {
    let broken = |why: &str| format!("a broken notebook: {why}");
    let notebook: Value =
        serde_json::from_slice(bytes).map_err(|error| broken(&error.to_string()))?;
    let cells = notebook["cells"].as_array().ok_or_else(|| broken("it has no list of cells"))?;
    let mut builder = NotebookBuilder { max_text, ..NotebookBuilder::default() };
    for (at, cell) in cells.iter().enumerate() {
        if builder.length > max_text {
            let left = count(cells.len() - at, "more cell");
            builder
                .text(&format!("({left} left out; read the file as JSON with offset and limit)\n"));
            break;
        }
        builder.cell(at, cell);
    }
    if cells.is_empty() {
        builder.text("(the notebook has no cells)");
    }
    Ok(NotebookContent { blocks: builder.finish(), cells: cells.len() })
}

#[derive(Default)]
struct NotebookBuilder {
    blocks: Vec<ResultBlock>,
    text: String,
    /// Bytes of all texts.
    length: usize,
    images: usize,
    max_text: usize,
}

impl NotebookBuilder {
    fn text(&mut self, text: &str) {
        self.length += text.len();
        self.text.push_str(text);
    }

    fn cell(&mut self, at: usize, cell: &Value) {
        let kind = cell["cell_type"].as_str();
        let kind = kind.filter(|kind| ["code", "markdown", "raw"].contains(kind));
        let kind = kind.unwrap_or("unknown");
        let id = match cell["id"].as_str() {
            Some(id) => clean(id),
            None => format!("cell-{at}"),
        };
        let source = cut(&lines(&cell["source"]), self.max_text);
        self.text(&format!("<cell id=\"{id}\" type=\"{kind}\">\n{source}\n"));
        let mut left = MAX_OUTPUT;
        for output in cell["outputs"].as_array().into_iter().flatten() {
            let text = cut(&output_text(output), left);
            left = left.saturating_sub(text.len());
            if !text.trim().is_empty() {
                self.text(&format!("<output>\n{}\n</output>\n", text.trim_end()));
            }
            self.image(&output["data"]);
        }
        self.text("</cell>\n");
    }

    fn image(&mut self, data: &Value) {
        let found =
            ["image/png", "image/jpeg", "image/gif", "image/webp"].iter().find_map(|kind| {
                (!data[*kind].is_null())
                    .then(|| lines(&data[*kind]).split_whitespace().collect::<String>())
            });
        let Some(encoded) = found else { return };
        if self.images == MAX_IMAGES {
            return self.text("[image: not shown, too many]\n");
        }
        let image = STANDARD.decode(encoded).map_err(|error| error.to_string());
        match image.and_then(|bytes| prepare(&bytes).map_err(|error| error.to_string())) {
            Ok(image) => {
                self.images += 1;
                self.flush();
                self.blocks.push(ResultBlock::Image { source: image.source });
            }
            Err(why) => self.text(&format!("[image: not shown, {why}]\n")),
        }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.blocks.push(ResultBlock::text(std::mem::take(&mut self.text)));
        }
    }

    fn finish(mut self) -> Vec<ResultBlock> {
        self.flush();
        self.blocks
    }
}

/// Returns the text of an output: a stream, a result, or an error with its trace.
fn output_text(output: &Value) -> String {
    let mut text = lines(&output["text"]);
    text.push_str(&lines(&output["data"]["text/plain"]));
    if let Some(name) = output["ename"].as_str() {
        let _ = write!(text, "{name}: {}", output["evalue"].as_str().unwrap_or_default());
        for line in output["traceback"].as_array().into_iter().flatten() {
            let _ = write!(text, "\n{}", line.as_str().unwrap_or_default());
        }
    }
    clean(&text)
}

/// Returns a text that may be a list of lines.
fn lines(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Removes terminal escapes, which traces have for colour.
fn clean(text: &str) -> String {
    let mut reader = EscapeReader::default();
    text.chars().filter(|letter| reader.is_text(*letter)).collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.len() > most {
        true => format!("{}… (cut)", &text[..text.floor_char_boundary(most)]),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::super::image::sample_png;
    use super::*;

    fn read(notebook: &Value) -> Vec<String> {
        let content = read_notebook(notebook.to_string().as_bytes(), 10_000).unwrap();
        let short = |block: &ResultBlock| match block {
            ResultBlock::Text { text } => text.clone(),
            block => block.label(),
        };
        content.blocks.iter().map(short).collect()
    }

    #[test]
    fn cells_are_read_with_their_outputs_and_images() {
        let png = STANDARD.encode(sample_png(4, 3));
        let notebook = json!({"nbformat": 4, "cells": [
            {"cell_type": "markdown", "id": "ab", "source": ["# One\n", "two"]},
            {"cell_type": "code", "source": "plot()", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["3\n"]},
                {"output_type": "display_data", "data": {"image/png": format!("{png}\n"), "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": ["\u{1b}[31mline 1\u{1b}[0m"]},
            ]},
        ]});
        assert_eq!(
            read(&notebook),
            [
                "<cell id=\"ab\" type=\"markdown\">\n# One\ntwo\n</cell>\n\
                 <cell id=\"cell-1\" type=\"code\">\nplot()\n<output>\n3\n</output>\n\
                 <output>\n<Figure>\n</output>\n",
                "[image/png · 108 bytes]",
                "<output>\nKeyError: 'x'\nline 1\n</output>\n</cell>\n",
            ]
        );
    }

    #[test]
    fn what_is_no_notebook_is_refused_and_a_long_one_is_cut() {
        let why = |text: &str| read_notebook(text.as_bytes(), 100).unwrap_err();
        assert!(why("{").starts_with("a broken notebook: "));
        assert_eq!(why("{}"), "a broken notebook: it has no list of cells");
        let cell = json!({"cell_type": "raw", "source": "x".repeat(150)});
        let long = read_notebook(json!({"cells": [cell, cell]}).to_string().as_bytes(), 100);
        let text = ResultBlock::joined_text(&long.unwrap().blocks);
        assert!(text.contains("x… (cut)\n</cell>\n(1 more cell left out; "), "{text}");
        let broken = json!({"data": {"image/png": "AAAA"}});
        let cell = json!({"cell_type": "code", "source": "", "outputs": [broken]});
        let text = read(&json!({"cells": [cell]})).concat();
        assert!(text.contains("[image: not shown, not an image that models can read"), "{text}");
    }
}
