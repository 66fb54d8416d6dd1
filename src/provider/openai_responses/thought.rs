//! Reasoning items as the signature of a thinking block. The server refuses an item that it cannot
//! decrypt, so the item is kept as it came.

use serde_json::Value;

/// The fields of an item that a request may hold.
const KEPT: [&str; 5] = ["type", "id", "summary", "content", "encrypted_content"];

/// The item as a signature. One without its encrypted content says nothing to a server that keeps
/// nothing: `None`.
pub(super) fn seal(item: &Value) -> Option<String> {
    item["encrypted_content"].as_str().filter(|text| !text.is_empty())?;
    let mut item = item.as_object()?.clone();
    item.retain(|field, value| KEPT.contains(&field.as_str()) && !value.is_null());
    Some(Value::Object(item).to_string())
}

/// The item that a signature stands for; `None` for what other wires signed.
pub(super) fn open(signature: &str) -> Option<Value> {
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
        assert_eq!(open(&seal(&item).unwrap()).unwrap(), expected);
    }

    #[test]
    fn what_the_server_could_not_read_is_not_kept() {
        for content in [json!(null), json!("")] {
            assert_eq!(seal(&json!({"type": "reasoning", "encrypted_content": content})), None);
        }
        for signature in ["", "EqoB", "call:Ab==", r#"{"type":"message"}"#] {
            assert_eq!(open(signature), None, "{signature}");
        }
    }
}
