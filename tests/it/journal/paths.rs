//! Directories whose names are not UTF-8: frames and files tell of them as well as they can, and
//! nothing breaks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::BYPASS;
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{text, tool_use};

const ENTER: &str = "mkdir -p \"$(printf 'a\\377b')\" && cd \"$(printf 'a\\377b')\" && echo OUT-66";

#[tokio::test]
async fn a_command_may_go_to_a_directory_whose_name_is_not_utf_8() {
    let scene = Scene::new();
    let script = scene.server.when(PARENT).reply(tool_use("Bash", bash(ENTER)));
    script.then(tool_use("Bash", bash("echo OUT-77"))).then(text(DONE)).then(text(DONE));
    let run = scene.go().await;
    let of_tools: Vec<_> = run
        .frames()
        .into_iter()
        .filter_map(|frame| frame["tool_use_result"]["cwd"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(of_tools.len(), 2, "{run}");
    assert!(of_tools[1].ends_with("project/a\u{fffd}b"), "{of_tools:?}");
    let requests = scene.server.requests();
    assert!(requests[1].tool_result().text.contains("OUT-66"));
    assert!(requests[2].tool_result().text.contains("OUT-77"));
    // Its transcript can be read again.
    scene.world.run(["-c", "-p", "go on", BYPASS]).finish().await.assert_code(0);
    assert_eq!(scene.server.requests().pop().unwrap().messages().len(), 7);
    scene.server.finish();
}

#[tokio::test]
async fn the_program_works_in_a_directory_whose_name_is_not_utf_8() {
    let scene = Scene::new();
    let folder = scene.world.project_dir().join(OsStr::from_bytes(b"a\xffb"));
    std::fs::create_dir(&folder).unwrap();
    let script = scene.server.when(PARENT).reply(tool_use("Bash", bash("echo OUT-66 > made.txt")));
    script.then(text(DONE)).then(text(DONE));
    let run = scene.run().within(&folder).finish().await;
    run.assert_code(0);
    assert!(run.frames()[0]["cwd"].as_str().unwrap().ends_with("project/a\u{fffd}b"), "{run}");
    assert_eq!(std::fs::read_to_string(folder.join("made.txt")).unwrap(), "OUT-66\n");
    scene.world.run(["-c", "-p", "go on"]).within(&folder).finish().await.assert_code(0);
    assert_eq!(scene.server.requests().pop().unwrap().messages().len(), 5, "the same session");
    let id = scene.world.session().file_name().unwrap().to_str().unwrap().to_owned();
    for args in
        [["sessions", "list"].as_slice(), &["sessions", "show", &id], &["sessions", "export", &id]]
    {
        let run = scene.world.run(args.iter().copied()).within(&folder).finish().await;
        assert!(run.assert_code(0).stdout.contains("go"), "{run}");
    }
    let elsewhere = scene.world.run(["-c", "-p", "x"]).finish().await;
    elsewhere.assert_code(2);
    scene.server.finish();
}
