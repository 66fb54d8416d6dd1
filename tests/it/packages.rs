//! The packages that the program is built from: one copy of the big ones, and only free licences.

use std::process::Command;

use serde_json::Value;

/// Two copies of these cost megabytes, or break types that pass between crates.
const SINGLE: &[&str] =
    &["reqwest", "rustls", "tokio", "crossterm", "ratatui-core", "unicode-width"];

const LICENCES: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Zlib",
    "0BSD",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "MPL-2.0",
    "CC0-1.0",
    "Unlicense",
    "WTFPL",
    "CDLA-Permissive-2.0",
    "NCSA",
    "bzip2-1.0.6",
];

#[test]
fn there_is_one_copy_of_each_big_package() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")).unwrap();
    let lock: toml::Table = toml::from_str(&lock).unwrap();
    let names: Vec<_> = lock["package"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    let names: Vec<_> = names.iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(not_single(&names), Vec::<String>::new());
}

#[test]
fn every_licence_is_permissive() {
    let packages = packages();
    assert!(packages.len() > 50, "the packages were not found");
    let bad: Vec<_> = packages
        .iter()
        .filter(|package| !is_free(package["license"].as_str().unwrap_or_default()))
        .map(|package| {
            format!("{} {}: {}", package["name"], package["version"], package["license"])
        })
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

fn not_single(names: &[&str]) -> Vec<String> {
    let count = |single: &str| names.iter().filter(|name| **name == single).count();
    let copies = SINGLE.iter().map(|single| (single, count(single))).filter(|(_, n)| *n != 1);
    copies.map(|(single, count)| format!("{count} copies of {single}")).collect()
}

fn packages() -> Vec<Value> {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Whether an SPDX expression can be satisfied with licences of the list.
fn is_free(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let free = either(&mut rest);
    free && rest.is_empty()
}

fn either(words: &mut &[&str]) -> bool {
    let mut free = both(words);
    while words.first() == Some(&"OR") {
        *words = &words[1..];
        free |= both(words);
    }
    free
}

fn both(words: &mut &[&str]) -> bool {
    let mut free = one(words);
    while words.first() == Some(&"AND") {
        *words = &words[1..];
        free &= one(words);
    }
    free
}

fn one(words: &mut &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    *words = rest;
    if *first == "(" {
        let free = either(words);
        *words = words.get(1..).unwrap_or_default();
        return free;
    }
    if let ["WITH", exception, rest @ ..] = *words {
        *words = rest;
        return LICENCES.contains(&format!("{first} WITH {exception}").as_str());
    }
    LICENCES.contains(first)
}

#[test]
fn a_second_copy_is_found() {
    let once = ["reqwest", "rustls", "tokio", "crossterm", "ratatui-core", "unicode-width"];
    assert_eq!(not_single(&once), Vec::<String>::new());
    let twice = [&once[..], &["tokio"]].concat();
    assert_eq!(not_single(&twice), ["2 copies of tokio"]);
}

#[test]
fn licence_expressions_are_understood() {
    for free in ["MIT", "MIT OR GPL-3.0", "(MIT OR Apache-2.0) AND Unicode-3.0", "MIT/Apache-2.0"] {
        assert!(is_free(free), "{free}");
    }
    for not in ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-2.0 OR AGPL-3.0) AND MIT", "AGPL-3.0-only"]
    {
        assert!(!is_free(not), "{not}");
    }
    assert!(is_free("Apache-2.0 WITH LLVM-exception OR GPL-3.0"));
    assert!(!is_free("GPL-2.0 WITH Classpath-exception-2.0"));
}
