//! Files that import each other, found over the paths in the code. There are none: the order of the
//! files of a folder can be seen.

use std::collections::{BTreeMap, BTreeSet};

use super::arrows::{ROOTS, uses};
use super::source::Source;

/// The circles. A name that a `mod.rs` re-exports leads to that `mod.rs`.
pub fn problems(sources: &[Source]) -> Vec<String> {
    let circles = circles(&graph(sources));
    circles
        .iter()
        .map(|circle| format!("these files import each other: {}", circle.join(" ")))
        .collect()
}

type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Each module with those that it uses.
fn graph(sources: &[Source]) -> Graph<'_> {
    let modules: BTreeSet<&str> = sources.iter().map(module).collect();
    let edges = |source: &Source| {
        let own = module(source);
        let paths = paths(own, &source.code);
        let used = paths.iter().filter_map(|path| nearest(&modules, path));
        used.filter(|used| *used != own).collect()
    };
    sources.iter().map(|source| (module(source), edges(source))).collect()
}

/// `tool/mcp` for `tool/mcp/mod.rs` and for `tool/mcp.rs`.
fn module(source: &Source) -> &str {
    let path = source.path.trim_end_matches(".rs");
    path.strip_suffix("/mod").unwrap_or(path)
}

/// All paths of the code into this crate, from its root, with slashes. A child counts where it is
/// imported or re-exported.
fn paths(own: &str, code: &str) -> Vec<String> {
    let mut bases: Vec<(String, String)> =
        ROOTS.iter().map(|root| ((*root).to_owned(), String::new())).collect();
    bases.push(("self::".to_owned(), format!("{own}/")));
    let parents = std::iter::successors(parent(own), |folder| parent(folder));
    bases.extend(parents.zip(1..).map(|(folder, up)| ("super::".repeat(up), format!("{folder}/"))));
    let children = code.lines().filter_map(|line| {
        let (visibility, name) = line.trim().strip_suffix(';')?.split_once("mod ")?;
        (visibility.is_empty() || visibility.starts_with("pub")).then_some(name)
    });
    bases.extend(children.map(|child| (format!("use {child}::"), format!("{own}/{child}/"))));
    let below = |(prefix, base): &(String, String)| -> Vec<String> {
        let names = uses(code, &[prefix]).into_iter().filter(|path| !path.starts_with("super::"));
        names.map(|path| format!("{base}{}", path.replace("::", "/"))).collect()
    };
    bases.iter().flat_map(below).collect()
}

/// The module around this one, if it is not the root.
fn parent(module: &str) -> Option<&str> {
    module.rsplit_once('/').map(|(parent, _)| parent)
}

/// The longest beginning of the path that is a module.
fn nearest<'a>(modules: &BTreeSet<&'a str>, path: &str) -> Option<&'a str> {
    let mut path = path;
    loop {
        if let Some(module) = modules.get(path) {
            return Some(module);
        }
        path = parent(path)?;
    }
}

/// The groups of modules in which each reaches each.
fn circles<'a>(graph: &Graph<'a>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (*module, reach(graph, module))).collect();
    let circle = |module: &&'a str| -> Vec<&'a str> {
        graph
            .keys()
            .copied()
            .filter(|other| reached[module].contains(other) && reached[other].contains(module))
            .collect()
    };
    let all: BTreeSet<Vec<&str>> =
        graph.keys().map(circle).filter(|circle| circle.len() > 1).collect();
    all.into_iter().collect()
}

/// All modules that lie behind this one.
fn reach<'a>(graph: &Graph<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = graph[from].iter().copied().collect();
    while let Some(module) = open.pop() {
        if seen.insert(module) {
            open.extend(&graph[module]);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, code)| Source::new(path, code)).collect();
        circles(&graph(&sources)).iter().map(|circle| circle.join(" ")).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let files = [
            ("tool/mod.rs", "mod read;\npub use read::Read;"),
            ("tool/read.rs", "use super::{Tool, write::Write};"),
            ("tool/write.rs", "use crate::agent::run;"),
            ("agent.rs", "let x = crate::tool::write::open();"),
        ];
        assert_eq!(found(&files), ["agent tool/write", "tool tool/read"]);
    }

    #[test]
    fn an_order_is_no_circle() {
        let files = [
            ("tool/mod.rs", "mod api;\nmod read;\npub use api::Tool;"),
            ("tool/api.rs", "pub trait Tool {}"),
            ("tool/read.rs", "use super::api::Tool; use super::super::disk;"),
            ("disk.rs", ""),
        ];
        assert!(found(&files).is_empty());
    }
}
