//! Text for the screen: sanitised, measured in cells, wrapped, rendered from Markdown and diffs.
//!
//! Takes raw text of models, tools and files, and returns text that is safe to draw.

mod clipboard;
mod diff;
mod filter;
mod highlight;
mod markdown;
mod sanitize;
mod sgr;
mod styled;
mod width;
mod wrap;
mod written;

pub use clipboard::{COPY_LIMIT, CopyError, osc52};
pub use diff::{DiffFile, DiffLimit, count_changes, diff_lines, whole_diff};
pub use filter::TextFilter;
pub use highlight::Highlighter;
pub use markdown::{MarkdownStream, MarkdownWords, Widths};
pub use sanitize::{marked_line, one_line, reveal, reveal_line, sanitize};
pub use sgr::styled_line;
pub use width::{
    column_width, first_of_joined, most_columns, padded, truncate, truncate_line, unjoined, width,
};
pub use wrap::{hard_wrap, tail_lines, wrap_hanging, wrap_line, wrap_text};
pub use written::wrap_written;
