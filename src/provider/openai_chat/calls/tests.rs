use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::protocol::{Accumulator, ContentBlock};

/// Returns the calls made of lists of pieces: `(id, name, input)` each, the id empty if it was generated.
fn calls(lists: &[Value]) -> Vec<(String, String, Value)> {
    let (mut calls, mut next, mut out) = (OpenCalls::default(), 0, Vec::new());
    for list in lists {
        let pieces: Vec<CallDelta> = serde_json::from_value(list.clone()).unwrap();
        for (position, piece) in pieces.into_iter().enumerate() {
            calls.push(piece, position, &mut next, &mut out);
        }
    }
    calls.end(&mut next, &mut out);
    let mut accumulator = Accumulator::default();
    for event in &out {
        accumulator.push(event);
    }
    let blocks = accumulator.into_reply().content.into_iter();
    blocks
        .map(|block| match block {
            ContentBlock::ToolUse { id, name, input, malformed } => {
                assert_eq!(malformed, None);
                let id = id.as_str();
                let made_up = id.len() == 37 && id.starts_with("call_");
                (if made_up { String::new() } else { id.to_owned() }, name, *input)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

fn expected(calls: &[(&str, &str, Value)]) -> Vec<(String, String, Value)> {
    calls
        .iter()
        .map(|(id, name, input)| ((*id).to_owned(), (*name).to_owned(), input.clone()))
        .collect()
}

#[test]
fn pieces_are_joined_by_their_index() {
    let lists = [
        json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "Read", "arguments": ""}}]),
        json!([{"index": 0, "function": {"arguments": "{\"p\":"}}]),
        json!([{"index": 1, "id": "b", "function": {"name": "Grep", "arguments": "{\"q\""}}]),
        json!([{"index": 0, "function": {"arguments": "\"}\"}"}}, {"index": 1, "function": {"arguments": ":2}"}}]),
    ];
    let both = [("a", "Read", json!({"p": "}"})), ("b", "Grep", json!({"q": 2}))];
    assert_eq!(calls(&lists), expected(&both));
}

#[test]
fn index_0_for_every_call_still_gives_every_call() {
    let whole = |id: &str, name: &str| json!([{"index": 0, "id": id, "function": {"name": name, "arguments": "{\"p\":1}"}}]);
    let one = json!({"p": 1});
    let with_ids = [("a", "Read", one.clone()), ("b", "Read", one.clone())];
    assert_eq!(calls(&[whole("a", "Read"), whole("b", "Read")]), expected(&with_ids));
    let without = [("", "Read", one.clone()), ("", "Read", one.clone()), ("", "Grep", one.clone())];
    assert_eq!(
        calls(&[whole("", "Read"), whole("", "Read"), whole("", "Grep")]),
        expected(&without)
    );
    let same_id = [("a", "Read", one.clone()), ("", "Read", one)];
    assert_eq!(calls(&[whole("a", "Read"), whole("a", "Read")]), expected(&same_id));
}

#[test]
fn calls_without_arguments_are_told_apart_by_their_names() {
    let lists = [
        json!([{"index": 0, "function": {"name": "list"}}]),
        json!([{"index": 0, "function": {"name": "count", "arguments": null}}]),
    ];
    assert_eq!(calls(&lists), expected(&[("", "list", json!({})), ("", "count", json!({}))]));
}

#[test]
fn ids_and_names_repeated_in_every_piece_begin_nothing_new() {
    let piece = |id: &str, arguments: &str| json!([{"index": 0, "id": id, "function": {"name": "Read", "arguments": arguments}}]);
    let one = [("a", "Read", json!({"p": 1}))];
    let repeated = [piece("a", "{\"p\""), piece("a", ":1}"), piece("a", "")];
    assert_eq!(calls(&repeated), expected(&one));
    // A new id per piece, but no name.
    let renewed =
        [piece("a", "{\"p\""), json!([{"index": 0, "id": "z", "function": {"arguments": ":1}"}}])];
    assert_eq!(calls(&renewed), expected(&one));
}

#[test]
fn arguments_may_be_an_object_and_the_index_may_be_missing() {
    let lists = [json!([
        {"id": "", "function": {"name": "Read", "arguments": {"p": {"q": [1]}}}},
        {"function": {"name": "Grep", "arguments": {}}},
    ])];
    let both = [("", "Read", json!({"p": {"q": [1]}})), ("", "Grep", json!({}))];
    assert_eq!(calls(&lists), expected(&both));
}

#[test]
fn a_name_may_come_late_or_never() {
    let late = [
        json!([{"index": 0, "id": "a", "function": {"arguments": "{\"p\":"}}]),
        json!([{"index": 0, "function": {"name": "Read", "arguments": "1}"}}]),
    ];
    assert_eq!(calls(&late), expected(&[("a", "Read", json!({"p": 1}))]));
    let never = [json!([{"index": 0, "id": "a"}])];
    assert_eq!(calls(&never), expected(&[("a", "", json!({}))]));
}
