//! Reasoning items as the signature of a thinking block. The server refuses an item that it cannot
//! decrypt, so the item is kept unchanged.

use serde_json::Value;

/// The fields of an item that a request may hold.
const KEPT_FIELDS: [&str; 5] = ["type", "id", "summary", "content", "encrypted_content"];

/// Encodes the item as a signature. `None` without its encrypted content: it is useless to a server
/// that stores nothing.
pub(super) fn encode(item: &Value) -> Option<String> {
    item["encrypted_content"].as_str().filter(|text| !text.is_empty())?;
    let mut item = item.as_object()?.clone();
    item.retain(|field, value| KEPT_FIELDS.contains(&field.as_str()) && !value.is_null());
    Some(Value::Object(item).to_string())
}

/// Decodes the item from a signature; `None` if another wire signed it.
pub(super) fn decode(signature: &str) -> Option<Value> {
    let item: Value = serde_json::from_str(signature).ok()?;
    (item["type"] == "reasoning").then_some(item)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_comes_back_as_it_went_without_its_state() {
        let item = json!({
            "id": "rs_1", "type": "reasoning", "status": "completed", "content": null,
            "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA",
        });
        let expected = json!({
            "id": "rs_1", "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA",
        });
        assert_eq!(decode(&encode(&item).unwrap()).unwrap(), expected);
    }

    #[test]
    fn what_the_server_could_not_read_is_not_kept() {
        for content in [json!(null), json!("")] {
            assert_eq!(encode(&json!({"type": "reasoning", "encrypted_content": content})), None);
        }
        for signature in ["", "EqoB", "call:Ab==", r#"{"type":"message"}"#] {
            assert_eq!(decode(signature), None, "{signature}");
        }
    }
}
