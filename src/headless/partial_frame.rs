//! Extracts the type and id of a line that cannot be parsed: broken, truncated, or of the wrong shape.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The fields that identify a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PartialFrame {
    /// Its `type`.
    pub kind: Option<String>,
    /// Its `request_id`, which in an answer is inside `response`.
    pub id: Option<Value>,
}

impl PartialFrame {
    /// Parses the fields up to where the bytes break off, if they do.
    pub fn parse(line: &[u8]) -> Self {
        if let Ok(frame) = serde_json::from_slice::<Value>(line) {
            let ids = [&frame["request_id"], &frame["response"]["request_id"]];
            return Self {
                kind: frame["type"].as_str().map(str::to_owned),
                id: ids.into_iter().find(|id| !id.is_null()).cloned(),
            };
        }
        let mut claim = Self::default();
        let mut json = serde_json::Deserializer::from_slice(line);
        // Ignore the error at the end: the fields before it are valid.
        let _ = PartialFrameReader { claim: &mut claim, in_response: false }.deserialize(&mut json);
        claim
    }
}

/// Reads the fields of an object in order.
struct PartialFrameReader<'a> {
    claim: &'a mut PartialFrame,
    in_response: bool,
}

impl<'de> DeserializeSeed<'de> for PartialFrameReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PartialFrameReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { claim, in_response } = self;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "type" if !in_response => claim.kind = Some(map.next_value()?),
                "request_id" => claim.id = Some(map.next_value()?),
                "response" if !in_response => {
                    map.next_value_seed(PartialFrameReader {
                        claim: &mut *claim,
                        in_response: true,
                    })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
