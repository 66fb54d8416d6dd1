//! Compiler words that name a file to write, or that are passed on to a linker or assembler.

use std::path::PathBuf;

use super::Spelling;
use super::place::{leads_out, leads_out_or_is_hidden};

mod passed_through;
mod word;

pub use passed_through::listed;
use word::CompilerWord;

/// Compilers that take the options of gcc, by their names in the table.
const LIKE_GCC: &[&str] =
    &["c++", "cc", "clang", "clang++", "clang-cpp", "cpp", "g++", "gcc", "gfortran"];

/// Other compilers, assemblers and linkers, and their options that name a file or folder to write.
const OTHERS: &[(&str, &str)] = &[
    ("as dmd fpc gas gdc ghc ldc2 nasm nvcc ocamlc ocamlopt swiftc yasm zig", "-o"),
    ("ld ld.bfd ld.gold ld.lld ld.mold ld64.lld lld gold mold", "-o --output"),
    ("groovyc kotlinc scalac", "-d"),
    ("javac javadoc", "-d -h -s"),
];

/// The danger in a word after `before`: a linker or plugin of the caller's choice, an option file,
/// or an output file that is hidden or not below the folder.
pub fn find(
    name: &str,
    word: &Spelling<'_>,
    before: &[Spelling<'_>],
    bases: &[PathBuf],
) -> Option<String> {
    let text = word.outline();
    let found = CompilerWord { word, before, bases };
    match name {
        "go" if text.contains("-extld") => Some("-extld".to_owned()),
        "go" if has_unknown_go_flag(&text, found.previous()) => Some("-ldflags".to_owned()),
        "go" => go_file(&text, found.previous(), |path| found.is_no_output(path)),
        "rustc" | "rustdoc" | "clippy-driver" => found.find_rustc(&text),
        // Arguments that cargo passes on.
        "cargo" => {
            let is_rustc = |word: &Spelling<'_>| {
                ["rustc", "rustdoc", "clippy"].iter().any(|name| word.may_be(name))
            };
            let mark = before.iter().position(|word| word.exact() == Some("--"))?;
            before[..mark].iter().any(is_rustc).then(|| found.find_rustc(&text)).flatten()
        }
        _ if LIKE_GCC.contains(&name) => found.find_gcc(&text),
        _ => {
            let is_name = |names: &str| names.split_whitespace().any(|known| known == name);
            let (_, options) = OTHERS.iter().find(|(names, _)| is_name(names))?;
            found.output(&text, options.split_whitespace())
        }
    }
}

/// Whether a partly known word may contain such a danger.
pub fn find_open(
    name: &str,
    word: &Spelling<'_>,
    before: &[Spelling<'_>],
    bases: &[PathBuf],
) -> bool {
    word.exact().is_none() && find(name, word, before, bases).is_some()
}

/// Options of gcc and clang that name a file or folder to write, in the next word or joined.
const OUTPUTS: &str = "-o -MF -MJ -J -aux-info -auxbase -dumpbase -dumpdir -time -dependency-file -index-store-path \
    -serialize-diagnostics --output --serialize-diagnostics";

/// Options of gcc and clang with a value after `=` that only read or mention what it names.
const READ: &str = "--sysroot -fauto-profile -fdebug-compilation-dir -fdebug-prefix-map -ffile-compilation-dir \
    -ffile-prefix-map -fmacro-prefix-map -fprofile-instr-use -fprofile-prefix-map -fprofile-sample-use -fprofile-use \
    -frandom-seed -fsanitize-blacklist -fsanitize-ignorelist --gcc-toolchain --include --param --std --target";

/// Prefixes of options of gcc and clang that are followed by a file to read.
const FLAGS: &[&str] = &[
    "-ansi",
    "-arch",
    "-D",
    "-f",
    "-g",
    "-i",
    "-I",
    "-l",
    "-L",
    "-m",
    "-MT",
    "-MQ",
    "-no",
    "-O",
    "-pedantic",
    "-pipe",
    "-pthread",
    "-static",
    "-shared",
    "-std",
    "-U",
    "-W",
    "-x",
    "-rdynamic",
    "-rpath",
    "--sysroot",
];

/// The same for options without a value.
const FLAG_WORDS: &str = "-c -C -CC -E -H -M -MD -MG -MM -MMD -MP -P -Q -S -T -e -pie -s -u -v -w -z --verbose --version";

impl CompilerWord<'_> {
    /// Whether a rule for the program does not cover writing there.
    fn is_no_output(&self, path: &str) -> bool {
        leads_out_or_is_hidden(path, self.word, self.bases)
    }

    /// One of `options` with an output file that no rule covers, here or in the previous word.
    fn output<'o>(&self, text: &str, options: impl Iterator<Item = &'o str>) -> Option<String> {
        for option in options {
            // An option of one dash and letters can have its value joined.
            let joined =
                text.strip_prefix(option).map(|rest| rest.strip_prefix('=').unwrap_or(rest));
            let joined = joined.filter(|value| !value.is_empty());
            let joined = joined.filter(|_| !option.starts_with("--") || text.contains('='));
            let value = if self.previous() == option { Some(text) } else { joined };
            if value.is_some_and(|value| self.is_no_output(value)) {
                return Some(option.to_owned());
            }
        }
        None
    }

    /// Whether a value, or a part of it, names a program, or an output file that no rule covers.
    fn has_no_output(&self, value: &str) -> bool {
        value.contains('|') || value.split(['=', ':', ',', ';']).any(|part| self.is_no_output(part))
    }

    fn find_gcc(&self, text: &str) -> Option<String> {
        if let Some(danger) = self.passed_through(text) {
            return danger;
        }
        if text.starts_with("-fuse-ld=") {
            return text.contains('/').then(|| "-fuse-ld".to_owned());
        }
        if let Some(option) = self.output(text, OUTPUTS.split_whitespace()) {
            return Some(option);
        }
        if text.starts_with('-') {
            let (option, value) = text.split_once('=')?;
            let is_file =
                option.starts_with("-f") || option.starts_with("--") || option == "-save-temps";
            let is_read = READ.split_whitespace().any(|known| known == option);
            return (is_file && !is_read && self.has_no_output(value)).then(|| option.to_owned());
        }
        // The argument of an unknown option may be a file that it writes.
        let option = self.previous();
        let is_flag = !option.starts_with('-')
            || option.len() == 1
            || option.contains('=')
            || FLAGS.iter().any(|start| option.starts_with(start))
            || FLAG_WORDS.split_whitespace().any(|flag| flag == option);
        (!is_flag && leads_out(text, self.word, self.bases)).then(|| option.to_owned())
    }

    fn find_rustc(&self, text: &str) -> Option<String> {
        let found = self.output(text, ["-o", "--out-dir"].into_iter());
        let lists = ["--emit", "--print"].into_iter().find_map(|option| {
            let joined = text.strip_prefix(option).and_then(|rest| rest.strip_prefix('='));
            let value = if self.previous() == option { Some(text) } else { joined };
            value.filter(|value| self.has_no_output(value)).map(|_| option.to_owned())
        });
        found.or(lists)
    }
}

/// Options of go that name a file to write. A visible file in the project is harmless.
const GO_FILES: &[&str] = &[
    "-o",
    "-coverprofile",
    "-cpuprofile",
    "-memprofile",
    "-blockprofile",
    "-mutexprofile",
    "-trace",
    "-gocoverdir",
    "-testlogfile",
    "-fuzzcachedir",
];

/// The go option for the folder of the other output files.
const GO_FOLDER: &str = "-outputdir";

/// Flags of go's compiler, linker and assembler that neither name a file nor start a program.
const GO_FLAGS: &[&str] = &["-s", "-w", "-N", "-l", "-m", "-X", "-e", "-race", "-trimpath"];

/// Whether the word, alone or as the value of the option before it, passes a flag on to a go tool
/// that is not one of [`GO_FLAGS`].
fn has_unknown_go_flag(word: &str, previous: &str) -> bool {
    let hands_on = |option: &str| {
        let name = option.trim_start_matches('-');
        option.starts_with('-') && matches!(name, "ldflags" | "gcflags" | "asmflags" | "gccgoflags")
    };
    let value = match word.split_once('=') {
        _ if hands_on(previous) => word,
        Some((name, value)) if hands_on(name) => value,
        _ => return false,
    };
    let mut before = "";
    value.split([' ', '\t', '\n', '\'', '"']).filter(|flag| !flag.is_empty()).any(|flag| {
        // A package pattern may precede the first one.
        let flag = flag.find("=-").filter(|_| before.is_empty()).map_or(flag, |at| &flag[at + 1..]);
        let name = flag.split('=').next().unwrap_or_default();
        let is_known = GO_FLAGS.contains(&name) || before == "-X" && !flag.starts_with('-');
        before = name;
        !is_known
    })
}

fn go_file(word: &str, previous: &str, leads_out: impl Fn(&str) -> bool) -> Option<String> {
    // Each option has one dash or two, and those of tests also have a longer name.
    let bare = |option: &str| {
        let name = option.strip_prefix("--").or_else(|| option.strip_prefix('-'))?;
        Some(format!("-{}", name.strip_prefix("test.").unwrap_or(name)))
    };
    let is_file = |name: &str| name == GO_FOLDER || GO_FILES.contains(&name);
    let behind = bare(previous).filter(|name| is_file(name)).map(|name| (name, word));
    let joined = || word.split_once('=').and_then(|(name, value)| Some((bare(name)?, value)));
    let (name, value) = behind.or_else(joined).filter(|(name, _)| is_file(name))?;
    (name == GO_FOLDER || leads_out(value)).then_some(name)
}
