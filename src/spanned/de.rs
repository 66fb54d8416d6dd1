//! The serde deserializer of values with lines.

use std::fmt;

use serde::de::value::{
    BorrowedStrDeserializer, SeqAccessDeserializer, StrDeserializer, UsizeDeserializer,
};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Scalar, Spanned, Value, ValueError};

/// The name under which a type asks for value and line.
const SPANNED: &str = "$Spanned";
/// The name under which a type asks for a value of any type, numbers as written.
const VALUE: &str = "$Value";

impl Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { line: 0, path: String::new(), is_entry: false, message: message.to_string() }
    }

    /// Leaves out the value, which may be a key.
    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format!("must be {expected}"))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format!("must be one of: {}", expected.join(", ")))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("needs a `{field}`"))
    }
}

impl Spanned<Value> {
    /// Parses the text of a scalar.
    fn parse<T: std::str::FromStr>(&self, expected: &str) -> Result<T, ValueError> {
        let value = self.scalar().and_then(|text| text.trim().parse().ok());
        value.ok_or_else(|| match &self.value {
            // In front matter, each scalar is a text.
            Value::Text(_) => self.error(format!("must be {expected}")),
            _ => self.type_error(expected),
        })
    }
}

impl<'de> Deserializer<'de> for &'de Spanned<Value> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match &self.value {
            Value::Text(text) | Value::Bare(text) => visitor.visit_borrowed_str(text),
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            Value::Table(entries) => {
                let entries = entries.iter().map(|(key, value)| (key.as_str(), value));
                visitor.visit_map(Fields { entries, current: None })
            }
            Value::Unsupported => visitor.visit_unit(),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_bool(self.parse("true or false")?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_f64(self.parse("a number")?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match &self.value {
            Value::Text(_) => self.deserialize_any(visitor),
            _ => Err(self.type_error("a quoted string")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.list()?;
        self.deserialize_any(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.table()?;
        self.deserialize_any(visitor)
    }

    /// Visits only the fields of the struct that are there, each once.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        if name == SPANNED {
            return visitor.visit_seq(LineAndValue { of: self, line_is_next: true });
        }
        self.table()?;
        let entries = fields.iter().filter_map(|field| Some((*field, self.get(field)?)));
        visitor.visit_map(Fields { entries, current: None })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let word: StrDeserializer<'_, ValueError> =
            self.scalar().unwrap_or_default().trim().into_deserializer();
        visitor.visit_enum(word)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match (name, &self.value) {
            (VALUE, Value::Bare(text)) => {
                let text: StrDeserializer<'_, ValueError> = text.as_str().into_deserializer();
                visitor.visit_newtype_struct(text)
            }
            (VALUE, _) => self.deserialize_any(visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str bytes byte_buf unit unit_struct
        tuple tuple_struct identifier ignored_any
    }
}

/// The items of a list.
struct Items<'de>(std::slice::Iter<'de, Spanned<Value>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let item = self.0.next();
        let read =
            item.map(|item| seed.deserialize(item).map_err(|error| error.at(item.line).in_list()));
        read.transpose()
    }
}

/// The entries of a table, and the one whose value comes next.
struct Fields<'de, I> {
    entries: I,
    current: Option<(&'de str, &'de Spanned<Value>)>,
}

impl<'de, I: Iterator<Item = (&'de str, &'de Spanned<Value>)>> MapAccess<'de> for Fields<'de, I> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        self.current = self.entries.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, ValueError> {
        let (key, value) = self.current.ok_or_else(|| ValueError::custom("has no value"))?;
        seed.deserialize(value).map_err(|error| error.at(value.line).below(key))
    }
}

/// The two fields of [`Spanned`].
struct LineAndValue<'de> {
    of: &'de Spanned<Value>,
    line_is_next: bool,
}

impl<'de> SeqAccess<'de> for LineAndValue<'de> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        if std::mem::take(&mut self.line_is_next) {
            let line: UsizeDeserializer<ValueError> = self.of.line.into_deserializer();
            return seed.deserialize(line).map(Some);
        }
        seed.deserialize(self.of).map(Some)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Text(text) | Value::Bare(text) => Ok(Self(text)),
            other => Err(D::Error::custom(other.type_error("a quoted string"))),
        }
    }
}

/// Copies the value. Of other deserializers, it takes only texts.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;

        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Value, D::Error> {
                String::deserialize(deserializer).map(Value::Bare)
            }

            fn visit_unit<E: Error>(self) -> Result<Value, E> {
                Ok(Value::Unsupported)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Value::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Value::Table(entries))
            }
        }

        deserializer.deserialize_newtype_struct(VALUE, ValueVisitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pretty_assertions::assert_eq;

    use super::super::json::parse_json;
    use super::super::non_blank;
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default)]
    struct Sample {
        name: Spanned<String>,
        list: Vec<Spanned<Scalar>>,
        env: BTreeMap<String, Scalar>,
        on: Option<bool>,
        seconds: f64,
        rest: Option<Spanned<Value>>,
    }

    #[derive(Debug, serde::Deserialize)]
    struct Entry {
        #[serde(deserialize_with = "non_blank")]
        command: String,
    }

    #[test]
    fn fields_get_their_lines_and_scalars_stay_as_they_are_written() {
        let text = "{\"name\": \"x\", \"list\": [1.10,\n\"a\"], \"env\": {\"A\": 1e2, \"B\": null}, \"other\": 1,\n\
                    \"on\": \"true\", \"seconds\": 2, \"rest\": {\"a\":\n[null]}, \"name\":\n\"y\"}";
        let scalar = |text: &str| Scalar(text.to_owned());
        let value = parse_json(text).unwrap();
        let expected = Sample {
            name: Spanned { line: 5, value: "y".to_owned() },
            list: vec![
                Spanned { line: 1, value: scalar("1.10") },
                Spanned { line: 2, value: scalar("a") },
            ],
            env: [("A", "1e2"), ("B", "null")].map(|(a, b)| (a.to_owned(), scalar(b))).into(),
            on: Some(true),
            seconds: 2.0,
            rest: value.get("rest").cloned(),
        };
        assert_eq!(value.read::<Sample>().unwrap(), expected);
        let nothing = parse_json("{\"name\": null, \"list\": null, \"on\": null}").unwrap();
        assert_eq!(nothing.read::<Sample>().unwrap(), Sample::default());
        assert_eq!(value.read_keys::<Sample>(&["seconds"]).unwrap().name, Spanned::default());
    }

    #[test]
    fn errors_name_line_and_keys_and_no_text_that_may_be_a_key() {
        for (text, expected) in [
            ("[]", "1: must be an object of keys and values, not a list"),
            ("{\"name\":\n3}", "2: `name` must be a quoted string, not 3"),
            ("{\"list\": [\n[]]}", "2: an entry of `list` must be a quoted string, not a list"),
            ("{\"env\": {\n\"A\\n\": {}}}", "2: `env.A\\n` must be a quoted string, not an object"),
            ("{\"on\":\n\"sk-1\"}", "2: `on` must be true or false"),
            ("{\"seconds\": \"sk-1\"}", "1: `seconds` must be a number"),
            ("{\"list\": \"sk-1\"}", "1: `list` must be a list, not a string"),
        ] {
            let error = parse_json(text).unwrap().read::<Sample>().unwrap_err();
            assert_eq!(format!("{}: {error}", error.line), expected, "{text}");
        }
        for (text, expected) in [
            ("[{\"command\": \"x\"},\n{}]", "2: an entry needs a `command`"),
            ("[{\"command\":\n\" \"}]", "2: `command` must not be empty"),
        ] {
            let error = parse_json(text).unwrap().read::<Vec<Entry>>().unwrap_err();
            assert_eq!(format!("{}: {error}", error.line), expected, "{text}");
        }
        let read = parse_json("[{\"command\": \"x\"}]").unwrap().read::<Vec<Entry>>().unwrap();
        assert_eq!(read[0].command, "x");
    }
}
