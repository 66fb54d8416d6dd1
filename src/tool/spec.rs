//! A tool as a model sees it: name, description and a small JSON schema generated from the Rust type
//! of its input; and the parser of such inputs, with helpful errors.

use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A tool's description for the model.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: Arc<str>,
    /// A JSON schema of type `object`. Shared by all agents that have the tool.
    pub input_schema: Arc<Value>,
}

/// The error of an invalid input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidInput(pub String);

impl ToolSpec {
    /// Creates the spec of a tool whose input is `T`, with the schema reduced to what a model needs.
    pub fn new<T: JsonSchema>(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.trim().into(),
            input_schema: Arc::new(schema_for::<T>()),
        }
    }

    /// Parses a model's input. The error names the field, the problem and the valid fields.
    ///
    /// # Errors
    ///
    /// When the input is not a `T`.
    pub fn parse<T: DeserializeOwned>(&self, input: &Value) -> Result<T, InvalidInput> {
        serde_path_to_error::deserialize(input).map_err(|error| {
            let path = error.path().to_string();
            let wrong = plain_error(&error.into_inner().to_string());
            // A hand-written parser names its field itself, and more exactly.
            let named = path == "." || wrong.contains(&format!("`{path}"));
            let place = if named { String::new() } else { format!("`{path}`: ") };
            let fields = fields(self);
            InvalidInput(format!("Invalid input for {}: {place}{wrong}. {fields}", self.name))
        })
    }

    /// Removes one of the fields.
    pub fn without_field(mut self, name: &str) -> Self {
        let schema = Arc::make_mut(&mut self.input_schema);
        if let Some(fields) = schema["properties"].as_object_mut() {
            fields.shift_remove(name);
        }
        self
    }

    /// Removes the descriptions inside of one of the fields, if the names are clear enough.
    pub fn with_bare_field(mut self, name: &str) -> Self {
        let schema = Arc::make_mut(&mut self.input_schema);
        let inner = schema["properties"][name]["properties"].as_object_mut();
        for field in inner.into_iter().flat_map(serde_json::Map::values_mut) {
            field.as_object_mut().and_then(|field| field.shift_remove("description"));
        }
        self
    }

    /// Whether the model sees this field.
    pub fn has_field(&self, name: &str) -> bool {
        self.input_schema["properties"].get(name).is_some()
    }

    /// Replaces the description of one of the fields.
    pub fn with_field_text(mut self, name: &str, text: &str) -> Self {
        let schema = Arc::make_mut(&mut self.input_schema);
        if let Some(field) = schema["properties"].get_mut(name) {
            field["description"] = text.into();
        }
        self
    }
}

/// Generates the schema of `T`, inlined and without parts that only validators need: every byte is
/// paid for in every request.
fn schema_for<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shrink(&mut schema);
    schema
}

fn shrink(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for key in ["title", "format", "$schema", "minimum", "maximum", "additionalProperties"]
            {
                // A property may have the name of a keyword: then its value is a schema, not the keyword's.
                if !map.get(key).is_some_and(Value::is_object) {
                    map.shift_remove(key);
                }
            }
            // What an absent field means anyway.
            if map.get("default").is_some_and(|it| it.is_null() || *it == false || *it == "") {
                map.shift_remove("default");
            }
            // The list and the fields of its entries say what they are.
            if let Some(Value::Object(entry)) = map.get_mut("items")
                && entry.contains_key("properties")
            {
                entry.shift_remove("description");
            }
            drop_null(map);
            map.values_mut().for_each(shrink);
        }
        Value::Array(items) => items.iter_mut().for_each(shrink),
        _ => {}
    }
}

/// An optional field is already marked by not being required; `null` as a second type is only noise.
fn drop_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(options)) = map.get_mut("anyOf") {
        options.retain(|option| option.get("type") != Some(&Value::from("null")));
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            map.shift_remove("anyOf");
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
        }
    }
}

/// Rewords an error that uses Rust's terms.
fn plain_error(error: &str) -> String {
    let types = [
        ("expected u64", "expected a whole number of at least 0"),
        ("expected usize", "expected a whole number of at least 0"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list"),
    ];
    let of_rust = types.iter().find(|(rust, _)| error.ends_with(rust));
    of_rust.map_or_else(|| error.to_owned(), |(rust, word)| error.replace(rust, word))
}

/// Lists the fields of a tool in one sentence: `It takes: file_path (string), offset (integer, optional).`
fn fields(spec: &ToolSpec) -> String {
    let required: Vec<&str> = spec.input_schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = spec.input_schema["properties"].as_object() else {
        return "It takes no fields.".to_owned();
    };
    let list = properties.iter().map(|(name, schema)| {
        let kind = schema["type"].as_str().unwrap_or("any");
        let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
        format!("{name} ({kind}{optional})")
    });
    format!("It takes: {}.", list.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema and its errors matter here")]
    struct SampleInput {
        /// Where.
        path: String,
        /// How many.
        limit: Option<u32>,
        order: Option<SampleOrder>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum SampleOrder {
        Up,
        Down,
    }

    #[test]
    fn a_schema_holds_only_what_a_model_needs() {
        let schema = schema_for::<SampleInput>();
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"description": "Where.", "type": "string"},
                "limit": {"description": "How many.", "type": "integer"},
                "order": {"type": "string", "enum": ["up", "down"]},
            },
            "required": ["path"],
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn an_error_names_the_field_and_what_fits_there() {
        #[derive(Debug, Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its errors matter here")]
        struct Outer {
            inner: Vec<SampleInput>,
        }
        let outer = ToolSpec::new::<Outer>("Look", "");
        let inner = ToolSpec::new::<SampleInput>("Look", "");
        let nested = json!({"inner": [{"path": "a", "limit": 5_000_000_000_u64}]});
        let nested = outer.parse::<Outer>(&nested).unwrap_err().to_string();
        let wrong = "`inner[0].limit`: invalid value: integer `5000000000`, expected a whole number from 0 to 4294967295.";
        assert!(nested.contains(wrong), "{nested}");
        for (input, wrong) in [
            (json!({"path": 7}), "`path`: invalid type: integer `7`, expected a string."),
            (json!({"path": "a", "order": "left"}), "`order`: unknown variant `left`"),
            (json!({"path": "a", "of": 1}), "Look: unknown field `of`"),
        ] {
            let error = inner.parse::<SampleInput>(&input).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn a_wrong_input_is_told_what_is_allowed() {
        let spec = ToolSpec::new::<SampleInput>("Look", "");
        let error = spec.parse::<SampleInput>(&json!({"limit": 3})).unwrap_err().to_string();
        assert_eq!(
            error,
            "Invalid input for Look: missing field `path`. It takes: path (string), limit (integer, optional), order (string, optional)."
        );
    }
}
