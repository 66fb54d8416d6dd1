//! Setup hints for when no model is available.

use ratatui::style::Style;
use ratatui::text::Line;

use crate::tui::format::count;
use crate::tui::host::LocalServer;
use crate::tui::settings::FirstRun;
use crate::tui::text::{one_line, wrap_hanging};

/// Ways to get a model, with the local servers found so far.
pub fn lines(first: &FirstRun, style: Style, width: u16) -> Vec<Line<'static>> {
    let mut words = vec![
        "No model yet. One of these is enough:".to_owned(),
        "  export ANTHROPIC_API_KEY=…   (or OPENAI_API_KEY, GEMINI_API_KEY), then start again"
            .to_owned(),
    ];
    match &first.found {
        None => words.push("  a local server: looking for one".to_owned()),
        Some(found) if found.is_empty() => words.push(
            "  a local server: none on 127.0.0.1:11434 (Ollama), :8080 (llama.cpp), :8000 (vLLM)"
                .to_owned(),
        ),
        Some(found) => words.extend(found.iter().map(server_line)),
    }
    words.push("  caliban demo: three agents on a sample project, no key, no network".to_owned());
    let (first, rest) = (Line::raw("  "), Line::raw("      "));
    let wrapped = words
        .into_iter()
        .flat_map(|words| wrap_hanging(&Line::styled(words, style), width, &first, &rest));
    wrapped.collect()
}

/// The line for a server that answered.
fn server_line(server: &LocalServer) -> String {
    let name = one_line(&server.name);
    match server.models.len() {
        0 => format!("  found {name} without a model: pull one, then /model"),
        many => format!("  found {name} with {}: /model picks one", count(many, "model")),
    }
}
