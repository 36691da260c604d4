//! Libraries that another user could change, and what a trusted one is.

use std::fs;
use std::io::{Seek, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use tallymon::LibraryOptions;
use tallymon::registry::{Service, Trust};
use tallymon_testkit::{Scratch, attack, other_user};

use crate::listings::{ok, tally};
use crate::support::{Place, Provider, ask, objects, options};

#[test]
fn attack_library_that_others_can_change() {
    let Some(other) = other_user() else { return };
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let library = place.0.join("MyPerf.so");
    let mut host = place.host();
    for (owner, mode) in [(other, 0o755), (0, 0o757), (0, 0o755)] {
        chown(&library, Some(owner), None).unwrap();
        fs::set_permissions(&library, fs::Permissions::from_mode(mode)).unwrap();
        let found = objects(&ask(&mut host, &index.to_string()));
        if (owner, mode) == (0, 0o755) {
            // Nothing has to be restarted when it is right again.
            assert_eq!(found, [index]);
            continue;
        }
        assert_eq!(found, [] as [u32; 0]);
        assert_eq!(place.calls("MyPerf"), [] as [&str; 0]);
        let status = host.libraries();
        let status = status.first().unwrap();
        let trouble = status.trouble.clone().unwrap();
        let words = if owner == other { "belongs to user 61003" } else { "can be written by every user" };
        assert!(trouble.contains(words) && trouble.contains("MyPerf.so"), "{trouble}");
        assert!(status.process.is_none() && status.trust == Trust::Unmarked, "{status:?}");
    }
    assert_eq!(place.events(), [1023, 1023], "one for each of the two reasons");
    attack(
        "other users",
        "own or be able to write a library that root has registered",
        "it is not loaded; an event, doctor and provider list name the file and its owner or mode",
    );
}

/// `provider add` says at once what is unsafe, and `list` and `check` say it later.
#[test]
fn places_are_told_when_they_are_registered() {
    let place = Place::new();
    if place.install(&Provider::default()).is_none() {
        return;
    }
    let library = place.0.join("MyPerf.so");
    let ini = place.0.join("MyPerf.ini").display().to_string();
    let shown = library.display().to_string();
    let add = ["provider", "add", &ini, "--library", &shown, "--system"];
    let add = [&add[..], &["--open", "Open", "--collect", "Collect", "--close", "Close"]].concat();
    let mode = |path: &Path, bits| fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    let add = |more: &[&str]| {
        ok(&place, &["provider", "remove", "MyPerf", "--system"]);
        tally(&place, &[&add[..], more].concat()).2
    };
    let err = add(&[]);
    assert!(!err.contains("not loaded as it is now") && !err.contains("is loaded as this user"), "{err}");
    mode(&library, 0o757);
    let err = add(&[]);
    let words = format!("{shown} is not loaded as it is now: {shown} can be written by every user");
    assert!(err.contains(&words), "{err}");
    for command in [&["provider", "list"][..], &["provider", "check", "MyPerf"]] {
        let (_, out, err) = tally(&place, command);
        assert!(out.contains("can be written by every user"), "{command:?}: {out} {err}");
    }
    mode(&library, 0o755);
    mode(&place.0, 0o700);
    let folder = place.0.display().to_string();
    let err = add(&[]);
    let words = format!("{shown} is loaded as this user, not as one of its own: others cannot read {folder}");
    assert!(err.contains(&words), "{err}");
    let out = ok(&place, &["provider", "list"]);
    assert!(out.contains(&format!("runs as the user who reads it: others cannot read {folder}")), "{out}");
    let err = add(&["--as-caller"]);
    assert!(!err.contains("is loaded as this user"), "{err}");
}

#[test]
fn attack_program_of_another_user_for_libraries() {
    let Some(other) = other_user() else { return };
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let theirs = Scratch::new();
    let program = theirs.join("tally-host");
    fs::write(&program, "#!/bin/sh\ntouch \"$0.ran\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    chown(&program, Some(other), None).unwrap();
    let options = LibraryOptions { program: Some(program), ..options() };
    let mut host = tallymon::Host::of("here", Vec::new()).with_libraries(place.roots(), options);
    assert_eq!(objects(&ask(&mut host, &index.to_string())), [] as [u32; 0]);
    let trouble = host.libraries().first().and_then(|status| status.trouble.clone()).unwrap();
    assert!(trouble.contains("belongs to user 61003"), "{trouble}");
    assert!(!theirs.join("tally-host.ran").exists());
    attack(
        "other users",
        "root runs with TALLYMON_HOST or PATH of a user",
        "the program is not started; the message names its owner",
    );
}

#[test]
fn attack_trusted_library_through_an_old_descriptor() {
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let library = place.0.join("MyPerf.so");
    // Somebody could write the file once, and still has it open.
    let mut old = fs::File::options().write(true).open(&library).unwrap();
    let in_process = Service { name: "MyPerf".to_string(), in_process: true, ..Service::default() };
    place.writer().register(&[in_process]).unwrap();
    assert_eq!(place.writer().trust("MyPerf").unwrap(), Trust::Trusted);
    let mut host = place.host();
    assert_eq!(objects(&ask(&mut host, &index.to_string())), [index]);
    assert!(host.libraries().iter().all(|status| status.in_process));
    // It is overwritten under the reader, which runs the copy that was compared.
    let length = usize::try_from(fs::metadata(&library).unwrap().len()).unwrap();
    let before = fs::read(&library).unwrap();
    old.write_all(&vec![0; length]).unwrap();
    assert_eq!(objects(&ask(&mut host, &index.to_string())), [index]);
    // Another reader does not load what is there now.
    let mut second = place.host();
    assert_eq!(objects(&ask(&mut second, &index.to_string())), [] as [u32; 0]);
    let status = second.libraries();
    assert!(status.iter().all(|one| !one.in_process && one.trust == Trust::Changed), "{status:?}");
    old.rewind().unwrap();
    old.write_all(&before).unwrap();
    assert_eq!(objects(&ask(&mut place.host(), &index.to_string())), [index]);
    attack(
        "other users",
        "overwrite a trusted library through a descriptor from before",
        "the reader goes on with its sealed copy; another reader finds other contents and does not load them \
         into its process",
    );
}
