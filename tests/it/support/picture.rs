//! Images as files.

use std::io::Cursor;

use image::{ImageFormat, Rgb, RgbImage};
use serde_json::Value;

/// The size of an image in base64.
pub fn size_of(data: &str) -> (u32, u32) {
    use base64::Engine as _;

    let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    let picture = image::load_from_memory(&bytes).unwrap();
    (picture.width(), picture.height())
}

/// What a message has, in order: its texts, and `<image WIDTHxHEIGHT>`.
pub fn outline(content: &Value) -> Vec<String> {
    let blocks = content.as_array().unwrap().iter();
    let block = |block: &Value| match block["type"].as_str().unwrap() {
        "text" => block["text"].as_str().unwrap().to_owned(),
        "image" => {
            let (width, height) = size_of(block["source"]["data"].as_str().unwrap());
            format!("<image {width}x{height}>")
        }
        other => format!("<{other}>"),
    };
    blocks.map(block).collect()
}

/// A PNG of this size.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let shade = |x, y| Rgb([u8::try_from(x % 256).unwrap(), u8::try_from(y % 256).unwrap(), 7]);
    let mut bytes = Cursor::new(Vec::new());
    let picture = RgbImage::from_fn(width, height, shade);
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}
