//! Files that must outlive a power loss: all those of a turn, once its answer is out.

use crate::support::scene::{DONE, PARENT, Scene, agent};
use crate::support::script::text;

/// Notes each call that puts a file onto the disk: a line with its path.
const SYNC_SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void note(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    char *log = getenv("SYNC_LOG");
    if (length <= 0 || !log) return;
    path[length] = 0;
    int out = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (out >= 0) {
        dprintf(out, "%s\n", path);
        close(out);
    }
}
int fdatasync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    note(file);
    return real(file);
}
int fsync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    note(file);
    return real(file);
}
"#;

#[tokio::test]
async fn a_turn_is_put_onto_the_disk_with_its_sub_agents_when_it_is_over() {
    let scene = Scene::new();
    let folder = scene.world.settings_dir();
    let (source, shim) = (folder.join("shim.c"), folder.join("shim.so"));
    std::fs::write(&source, SYNC_SHIM).unwrap();
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .args([&shim, &source])
        .arg("-ldl")
        .status();
    if !built.is_ok_and(|status| status.success()) {
        let name = "a_turn_is_put_onto_the_disk_with_its_sub_agents_when_it_is_over";
        crate::support::skip(name, "there is no C compiler");
        return;
    }
    let log = folder.join("sync.log");
    scene.server.when(PARENT).reply(crate::support::scene::calls([agent("CHILD-A")]));
    scene.server.when(PARENT).reply(text(DONE));
    scene.server.when("CHILD-A").reply(text("REPORT-66"));
    let run = scene.run().env("LD_PRELOAD", shim.to_str().unwrap());
    run.env("SYNC_LOG", log.to_str().unwrap()).finish().await.assert_code(0);
    let synced = std::fs::read_to_string(&log).unwrap_or_default();
    let session = std::fs::canonicalize(scene.world.session()).unwrap();
    let child = scene.world.child_transcripts().remove(0);
    let expected = [
        session.join("transcript.jsonl"),
        session.join("agents").join(child.file_name().unwrap()),
        session.join("agents"),
        session,
    ];
    for path in expected {
        let path = path.to_str().unwrap();
        assert!(synced.lines().any(|line| line == path), "{path} is not in\n{synced}");
    }
    scene.server.finish();
}
