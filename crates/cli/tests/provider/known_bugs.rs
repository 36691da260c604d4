//! What goes wrong with name tables on Windows beside single mistakes in a file, and does not here.

use std::fs;

use super::support::Place;

/// The article that tells of a bug with Object List does not say which. Here the list has each object once,
/// whatever languages, order and case its lines are in, and however often they are there.
#[test]
fn an_object_list_has_each_object_once() {
    for (objects, wanted) in [
        ("SYMBOL0_009_NAME=\nSYMBOL0_019_NAME=\n", &[1848][..]),
        ("SYMBOL2_009_NAME=x\nsymbol0_009_name =\nSYMBOL2_009_NAME=\n", &[1848, 1852]),
        ("; SYMBOL2_009_NAME=\nSYMBOL1_009_NAME=\n", &[1850]),
        ("", &[]),
    ] {
        let place = Place::new();
        let text = fs::read_to_string(place.ini("One", 2)).unwrap();
        let text = text.replace("009=English\n", "009=English\n019=\n");
        let text = text.replace("[objects]\nSYMBOL0_009_NAME=\n", &format!("[objects]\n{objects}"));
        place.ok(&["provider", "add", &place.file("list.ini", text + "SYMBOL0_019_NAME=x\n")]);
        let installed = place.installed();
        let service = installed.system.service("One").unwrap();
        let found: Vec<u32> = service.object_list.iter().map(|object| object.0).collect();
        assert_eq!(found, wanted, "{objects:?}");
    }
}

/// KB 300956 rebuilds the tables by hand: the texts of the system are put back, and every INI file is
/// installed again. All indexes and texts are as before then, also those in a language that came from
/// `perfc012.dat`.
#[test]
fn a_manual_rebuild_restores_the_table() {
    let place = Place::new();
    let files = ["One", "Two", "Three"].map(|service| place.ini(service, 3));
    let path = |name: &str| place.0.join(name).display().to_string();
    let (names, helps) = (path("perfc012.dat"), path("perfh012.dat"));
    files.iter().for_each(|file| drop(place.ok(&["provider", "add", file])));
    let line = place.file("korean.tsv", "1850\t하나\n");
    place.ok(&["lodctr", "/L:012", &format!("/C:{line}")]);
    place.ok(&["dump", "Counter 012", "--raw", &names]);
    place.ok(&["dump", "Help 012", "--raw", &helps]);
    let before = place.installed();
    fs::remove_dir_all(place.0.join("registry")).unwrap();
    assert!(place.installed().system.service("Two").is_none());
    files.iter().for_each(|file| drop(place.ok(&["provider", "add", file])));
    place.ok(&["lodctr", "/L:012", &format!("/C:{names}"), &format!("/H:{helps}")]);
    assert_eq!(place.installed(), before);
}

/// A table with an index that is not a number makes readers on Windows fail ("invalid index '' was read from
/// the registry"), and `lodctr /R` there succeeds at the second call only. Here the line is named, and the
/// first call is enough.
#[test]
fn a_damaged_table_is_rebuilt_by_one_call() {
    let place = Place::new();
    place.ok(&["provider", "add", &place.ini("One", 1)]);
    place.ok(&["provider", "add", &place.ini("Two", 1)]);
    let current = place.0.join("registry").join(fs::read_link(place.0.join("registry/current")).unwrap());
    fs::write(current.join("009.tsv"), "\tan empty index\n").unwrap();
    let (code, _, err) = place.run(&["provider", "list"]);
    assert!(code == 7 && err.contains("009.tsv:1: "), "{code} {err}");
    place.ok(&["lodctr", "/R"]);
    let after = place.installed();
    assert!(after.system.service("One").is_some(), "the version before the last one is whole");
    place.ok(&["lodctr", "/R"]);
    assert_eq!(place.installed(), after, "with nothing to repair it does nothing");
}
