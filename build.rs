//! Prepares two files for the program, which reads them at its start: the model catalogue as JSON
//! instead of TOML, which people read, takes a tenth of the time, and the schema of the configuration
//! without its descriptions a third.

use std::error::Error;
use std::path::Path;

use serde_json::Value;

const CATALOGUE: &str = "config/models.toml";
const SCHEMA: &str = "config/schema.json";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    println!("cargo::rerun-if-changed={SCHEMA}");
    let folder = std::env::var("OUT_DIR")?;
    let catalogue: toml::Table = toml::from_str(&std::fs::read_to_string(CATALOGUE)?)?;
    std::fs::write(Path::new(&folder).join("models.json"), serde_json::to_string(&catalogue)?)?;
    let mut schema = serde_json::from_str(&std::fs::read_to_string(SCHEMA)?)?;
    remove_descriptions(&mut schema);
    std::fs::write(Path::new(&folder).join("schema.json"), serde_json::to_string(&schema)?)?;
    Ok(())
}

/// Removes the descriptions from a schema. A key named `description` has a schema, not a text.
fn remove_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            fields.values_mut().for_each(remove_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_descriptions),
        _ => {}
    }
}
