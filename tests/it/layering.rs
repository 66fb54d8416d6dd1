//! The invariants of the architecture, read off the source: who may use what, and where.

mod arrows;
mod circles;
mod rules;
mod source;

use source::Source;

/// A broken invariant: the file, and what is wrong there.
fn report(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn crates_are_used_only_where_they_belong() {
    report(&check(rules::misplaced_crates));
}

#[test]
fn names_that_the_glossary_replaced_stay_away() {
    report(&check(rules::retired_names));
}

#[test]
fn comments_and_debug_output_name_what_exists() {
    report(&rules::stale_names(&source::all()));
}

#[test]
fn the_loop_does_not_know_that_sub_agents_exist() {
    report(&check(rules::agent_names_subagent));
}

#[test]
fn the_environment_is_read_in_one_file_and_the_directory_never_changes() {
    report(&check(rules::process_state));
}

#[test]
fn nothing_is_global_and_no_channel_is_unbounded() {
    report(&check(rules::global_state));
}

#[test]
fn only_the_faces_print() {
    report(&check(rules::prints));
}

#[test]
fn the_screen_touches_no_files_and_no_processes() {
    report(&check(rules::screen_effects));
}

#[test]
fn what_changes_the_screen_does_not_draw_it() {
    report(&check(rules::screen_purity));
}

#[test]
fn modules_use_only_what_lies_below_them() {
    report(&check(arrows::problems));
}

#[test]
fn no_files_import_each_other() {
    report(&circles::problems(&source::all()));
}

#[test]
fn paths_are_written_as_text_that_cannot_fail() {
    report(&check(rules::serialized_paths));
}

#[test]
fn fields_of_variables_and_headers_are_secrets() {
    report(&check(rules::bare_secrets));
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    report(&check(rules::shape));
}

fn check(rule: impl Fn(&Source) -> Vec<String>) -> Vec<String> {
    let sources = source::all();
    assert!(sources.len() > 20, "the sources were not found");
    sources.iter().flat_map(rule).collect()
}
