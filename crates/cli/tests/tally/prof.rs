//! The .NET profiler's command, as far as it goes without a runtime; the profiler itself is tested in its own crate.

use super::support::{Folder, has, tally};

#[test]
fn a_program_that_is_no_dotnet_leaves_no_profile() {
    let folder = Folder::new();
    let ran = tally(&["prof", "run", "--output", &folder.file("%p.prof"), "--", "true"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{}", ran.err);
    has(&ran.err, &["true left no profile in", ".prof", "no .NET program"]);
    let missing = folder.file("no-such-program");
    has(&tally(&["prof", "run", "--", &missing]).words(3), &["no-such-program"]);
}

#[test]
fn what_is_no_profile_is_refused() {
    let folder = Folder::new();
    let file = folder.write("x.prof", &[7; 5000]);
    for arguments in [&["prof", "tree", &file][..], &["prof", "export", &file], &["prof", "on", &file]] {
        has(&tally(arguments).words(7), &["x.prof", "byte", "needed"]);
    }
    for arguments in
        [&["prof", "tree", "/nowhere/x"][..], &["prof", "off", "/nowhere/x"], &["prof", "on", "4194305"]]
    {
        tally(arguments).words(3);
    }
    tally(&["prof", "run"]).words(2);
    tally(&["prof", "run", "--size", "1", "--", "true"]).words(2);
}
