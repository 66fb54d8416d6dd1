//! Links that change while a question is open.

use super::*;

#[tokio::test]
async fn a_line_whose_names_lead_elsewhere_by_now_does_not_run() {
    let bench = GateFixture::new(true);
    let (agent, cwd) = (bench.agent("main"), bench.gate.0.places.project.clone());
    for folder in ["d", "elsewhere"] {
        fs::create_dir(cwd.join(folder)).unwrap();
        fs::write(cwd.join(folder).join("f"), "").unwrap();
    }
    let confirm = |line: &str, approval: &Approval| {
        with_call(line, &cwd, |call| agent.confirm(call, Some(approval)))
    };
    for line in ["rm d/f", "touch d/new", "cp elsewhere/f d"] {
        let approval = bench.approved(&agent, line, Answer::Once).await;
        assert_eq!(confirm(line, &approval), Ok(None), "{line}");
        fs::rename(cwd.join("d"), cwd.join("old")).unwrap();
        std::os::unix::fs::symlink("elsewhere", cwd.join("d")).unwrap();
        let why = confirm(line, &approval).unwrap_err().to_string();
        assert!(why.contains("has changed since it was allowed"), "{line}: {why}");
        assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
        fs::remove_file(cwd.join("d")).unwrap();
        fs::rename(cwd.join("old"), cwd.join("d")).unwrap();
        // The files that it names are the same again.
        assert_eq!(confirm(line, &approval), Ok(None), "{line}");
    }
}

#[tokio::test]
async fn a_link_that_a_glob_matches_since_the_question_is_not_followed() {
    let bench = GateFixture::new(true);
    let (agent, cwd) = (bench.agent("main"), bench.gate.0.places.project.clone());
    fs::create_dir_all(cwd.join("d/a")).unwrap();
    fs::create_dir(cwd.join("elsewhere")).unwrap();
    let confirm = |line: &str, approval: &Approval| {
        with_call(line, &cwd, |call| agent.confirm(call, Some(approval)))
    };
    for line in ["rm -r d/*/", "touch d/*", "for f in d/*; do echo > $f; done", "make > d/*"] {
        let approval = bench.approved(&agent, line, Answer::Once).await;
        fs::create_dir(cwd.join("d/file")).unwrap();
        assert_eq!(confirm(line, &approval), Ok(None), "{line}: a new folder is matched");
        fs::remove_dir(cwd.join("d/file")).unwrap();
        std::os::unix::fs::symlink(cwd.join("elsewhere"), cwd.join("d/zz")).unwrap();
        let why = confirm(line, &approval).expect_err(line).to_string();
        assert!(why.contains("has changed since it was allowed"), "{line}: {why}");
        assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
        fs::remove_file(cwd.join("d/zz")).unwrap();
    }
}

#[tokio::test]
async fn a_program_whose_name_leads_elsewhere_by_now_does_not_run() {
    use std::os::unix::fs::symlink;

    let bench = GateFixture::new(true);
    let (agent, cwd) = (bench.agent("main"), bench.gate.0.places.project.clone());
    for folder in ["one", "two"] {
        fs::create_dir(cwd.join(folder)).unwrap();
        fs::write(cwd.join(folder).join("run"), "").unwrap();
    }
    let confirm = |line: &str, approval: &Approval| {
        with_call(line, &cwd, |call| agent.confirm(call, Some(approval)))
    };
    symlink("one/run", cwd.join("link")).unwrap();
    symlink("one", cwd.join("folder")).unwrap();
    for (line, link, to) in [("./link", "link", "two/run"), ("A=1 folder/run x", "folder", "two")] {
        let approval = bench.approved(&agent, line, Answer::Once).await;
        assert_eq!(confirm(line, &approval), Ok(None), "{line}");
        fs::remove_file(cwd.join(link)).unwrap();
        symlink(to, cwd.join(link)).unwrap();
        let why = confirm(line, &approval).expect_err(line).to_string();
        assert!(why.contains("has changed since it was allowed"), "{line}: {why}");
        assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
    }
}

#[tokio::test]
async fn a_link_in_a_name_that_braces_or_variables_give_is_compared_too() {
    let bench = GateFixture::new(true);
    let (agent, cwd) = (bench.agent("main"), bench.gate.0.places.project.clone());
    for folder in ["d", "lib", "elsewhere"] {
        fs::create_dir(cwd.join(folder)).unwrap();
        fs::write(cwd.join(folder).join("b"), "").unwrap();
    }
    fs::write(cwd.join("elsewhere/o"), "").unwrap();
    let confirm = |line: &str, approval: &Approval| {
        with_call(line, &cwd, |call| agent.confirm(call, Some(approval)))
    };
    let mut followed = Vec::new();
    for line in [
        "cp {lib/b,d}",
        "cp {-t,d,lib/b}",
        "x=-t; cp $x d lib/b",
        "x='lib/b d'; cp $x",
        "env {-C,d,tee,o}",
        "x='-C d'; env $x tee o",
        "x=cd; $x d; tee o",
        "x='cd d'; $x; tee o",
        "y='d lib'; for x in $y; do tee ${x}/o; done",
        "env X=d bash -c 'tee $X/o'",
    ] {
        let approval = bench.approved(&agent, line, Answer::Once).await;
        assert_eq!(confirm(line, &approval), Ok(None), "{line}");
        fs::rename(cwd.join("d"), cwd.join("old")).unwrap();
        std::os::unix::fs::symlink("elsewhere", cwd.join("d")).unwrap();
        match confirm(line, &approval) {
            Ok(_) => followed.push(line),
            Err(why) => {
                assert!(why.to_string().contains("has changed since"), "{line}: {why}");
                assert!(matches!(bench.next().await.kind, EventKind::PermissionDenied { .. }));
            }
        }
        fs::remove_file(cwd.join("d")).unwrap();
        fs::rename(cwd.join("old"), cwd.join("d")).unwrap();
    }
    assert_eq!(followed, [""; 0]);
}
