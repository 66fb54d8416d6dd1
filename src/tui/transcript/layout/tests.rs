use ratatui::text::Line;

use super::*;
use crate::tui::keymap::{Action, Keymap};
use crate::tui::text::Highlighter;
use crate::tui::theme::Theme;
use crate::tui::transcript::draw::ItemStyle;
use crate::tui::transcript::{Scroll, SearchDirection, TranscriptState};

const AREA: Rect = Rect { x: 0, y: 0, width: 60, height: 20 };

fn long(messages: usize) -> TranscriptState {
    let mut transcript = TranscriptState::default();
    for at in 0..messages {
        let text = format!("question {at}").into();
        transcript.push(ItemKind::Prompt { text, task: false });
        let text = format!("Answer {at}. {}\n\n- one\n- two\n\nend {at}", "many words ".repeat(40));
        transcript.text_finished(text);
    }
    transcript
}

fn draw(
    layout: &mut LayoutCache,
    transcript: &TranscriptState,
    scroll: Scroll,
    area: Rect,
) -> (Extent, Vec<String>) {
    let (theme, highlighter) = (Theme::default(), Highlighter::off());
    let style = ItemStyle {
        theme: &theme,
        width: area.width,
        prose: area.width,
        full: false,
        keymap: &Keymap::default(),
        rest: Some(Action::Expand),
        highlighter: &highlighter,
    };
    let cx = RenderContext {
        head: vec![Line::from("head")],
        ..RenderContext::new(style, &highlighter, transcript, scroll)
    };
    let mut buffer = Buffer::empty(area);
    let extent = layout.draw(&cx, area.as_position(), area.height, &mut buffer);
    let row = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (extent, (0..area.height).map(|y| row(y).trim_end().to_owned()).collect())
}

fn at(top: usize) -> Scroll {
    Scroll { top: Some(top), ..Scroll::default() }
}

#[test]
fn a_long_history_lays_out_only_what_is_seen_at_the_end_and_at_the_beginning() {
    let (transcript, mut layout) = (long(1000), LayoutCache::default());
    let (end, lines) = draw(&mut layout, &transcript, Scroll::default(), AREA);
    assert_eq!(lines.last().map(String::as_str), Some("  end 999"));
    assert!(layout.exact_count() < 10, "{}", layout.exact_count());
    assert!(end.total > 10_000);
    let (_, lines) = draw(&mut layout, &transcript, at(0), AREA);
    assert_eq!(lines[..3], ["head", "", "› question 0"]);
    assert!(layout.exact_count() < 20, "{}", layout.exact_count());
}

#[test]
fn scrolling_through_guessed_heights_moves_by_exactly_the_lines_asked_for() {
    let (transcript, mut layout) = (long(300), LayoutCache::default());
    let (mut extent, mut lines) = draw(&mut layout, &transcript, Scroll::default(), AREA);
    for _ in 0..100 {
        let (next, seen) = draw(&mut layout, &transcript, at(extent.top - 7), AREA);
        assert_eq!(seen[7..], lines[..13]);
        (extent, lines) = (next, seen);
    }
    for _ in 0..50 {
        let (next, seen) = draw(&mut layout, &transcript, at(extent.top + 7), AREA);
        assert_eq!(seen[..13], lines[7..]);
        (extent, lines) = (next, seen);
    }
}

#[test]
fn the_place_holds_at_another_width_and_while_text_comes_below() {
    let (mut transcript, mut layout) = (long(300), LayoutCache::default());
    draw(&mut layout, &transcript, Scroll::default(), AREA);
    let there = Scroll::at_item(200);
    let (extent, lines) = draw(&mut layout, &transcript, there, AREA);
    assert_eq!(lines[1], "› question 100");
    transcript.push(ItemKind::Prompt { text: "later".into(), task: false });
    let (later, same) = draw(&mut layout, &transcript, at(extent.top), AREA);
    assert_eq!((&same, later.grown - extent.grown), (&lines, 2));
    // Within an item, the line at the top begins with the same words, or those before them.
    let inside = at(extent.top + 4);
    let (_, lines) = draw(&mut layout, &transcript, inside, AREA);
    let narrow = Rect { width: 33, ..AREA };
    let (_, rewrapped) = draw(&mut layout, &transcript, inside, narrow);
    assert!(
        lines[0].starts_with("  many words") && rewrapped[0].starts_with("  "),
        "{rewrapped:?}"
    );
    draw(&mut layout, &transcript, at(later.top), AREA);
    let narrow = Rect { width: 40, ..AREA };
    let (_, lines) = draw(&mut layout, &transcript, at(later.top), narrow);
    assert_eq!(lines[1], "› question 100");
}

#[test]
fn a_search_lays_out_only_what_may_match() {
    let (mut transcript, mut layout) = (long(1000), LayoutCache::default());
    transcript.text_finished("The **nee**dle is here, [here](there) and in a&#98;c.");
    transcript.text_finished("1. first\n1. second\n");
    transcript.push(ItemKind::Prompt { text: "later".into(), task: false });
    let (theme, highlighter) = (Theme::default(), Highlighter::off());
    let (width, prose, full) = (AREA.width, AREA.width, true);
    let keymap = &Keymap::default();
    let (rest, highlighter) = (Some(Action::Expand), &highlighter);
    let style = ItemStyle { theme: &theme, width, prose, full, keymap, rest, highlighter };
    for query in ["NEEDLE is", "abc", "question 700", "2. second"] {
        let seek = Some(SearchDirection::Forward);
        let cx = RenderContext {
            find: Some(FindRequest { query, hit: None, seek }),
            ..RenderContext::new(style, highlighter, &transcript, Scroll::default())
        };
        let mut buffer = Buffer::empty(AREA);
        layout.draw(&cx, AREA.as_position(), AREA.height, &mut buffer);
        assert_eq!(layout.found().map(|found| found.total), Some(1), "{query}");
        assert!(layout.exact_count() < 60, "{}", layout.exact_count());
    }
}
