//! Tests of files that appear whole.

use std::fs;
use std::io::Write;
use std::path::Path;

use tallymon_testkit::Scratch;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_old_file_stays_until_the_new_one_is_complete() {
    let folder = Scratch::in_memory();
    let path = folder.join("a");
    write_file(&path, Overwrite::Never, b"one").unwrap();
    let error = write_file(&path, Overwrite::Never, b"two").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    let new = NewFile::create(&path, Overwrite::Replace).unwrap();
    new.file().unwrap().write_all(b"three").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    drop(new);
    assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"one".to_vec(), vec!["a".to_owned()]));
    write_file(&path, Overwrite::Replace, b"four").unwrap();
    assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"four".to_vec(), vec!["a".to_owned()]));
}

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let folder = Scratch::in_memory();
    let path = folder.join("a");
    let new = NewFile::create(&path, Overwrite::Never).unwrap();
    fs::write(&path, "somebody's").unwrap();
    assert_eq!(new.keep().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"somebody's".to_vec(), vec!["a".to_owned()]));
}

#[test]
fn an_interrupted_process_removes_what_it_writes() {
    // Other tests of this process write too, so this one looks at its own list of names.
    let folder = Scratch::in_memory();
    let new = NewFile::create(&folder.join("a"), Overwrite::Never).unwrap();
    let part = new.path().to_path_buf();
    assert!(UNFINISHED.lock().unwrap().contains(&part));
    drop(new);
    assert!(!UNFINISHED.lock().unwrap().contains(&part));
}

#[test]
fn a_part_that_a_killed_process_left_is_no_obstacle() {
    let folder = Scratch::in_memory();
    let path = folder.join("a");
    let part = NewFile::create(&path, Overwrite::Never).unwrap().path().to_path_buf();
    fs::write(&part, "left").unwrap();
    write_file(&path, Overwrite::Never, b"new").unwrap();
    assert_eq!((fs::read(&path).unwrap(), fs::read(&part).unwrap()), (b"new".to_vec(), b"left".to_vec()));
}

#[test]
fn names_that_no_file_can_have_are_refused() {
    let folder = Scratch::in_memory();
    fs::create_dir(folder.join("sub")).unwrap();
    fs::write(folder.join("file"), "x").unwrap();
    for (name, words) in [
        ("sub", "a folder of that name exists"),
        ("none/a", "no file can be created in the folder"),
        ("sub/..", "a folder of that name exists"),
        ("file/a", if cfg!(unix) { "Not a directory" } else { "no file can be created in the folder" }),
    ] {
        for overwrite in [Overwrite::Never, Overwrite::Replace] {
            let error = NewFile::create(&folder.join(name), overwrite).unwrap_err().to_string();
            assert!(error.contains(words), "{name}: {error}");
        }
    }
    assert_eq!(names(&folder), ["file", "sub"]);
}

#[test]
fn the_longest_name_that_a_file_can_have_is_taken() {
    let folder = Scratch::in_memory();
    for letter in ["x", "\u{e9}", "\u{1f600}"] {
        let name = letter.repeat(255 / letter.len());
        write_file(&folder.join(&name), Overwrite::Never, b"new").unwrap();
        write_file(&folder.join(&name), Overwrite::Replace, b"newer").unwrap();
    }
    assert_eq!(names(&folder).len(), 3);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_replaced_file_keeps_its_rights_and_a_new_one_has_the_usual_ones() {
        let folder = Scratch::in_memory();
        let (new, usual) = (folder.join("new"), folder.join("usual"));
        write_file(&new, Overwrite::Never, b"x").unwrap();
        fs::write(&usual, "x").unwrap();
        assert_eq!(mode(&new), mode(&usual));
        for rights in [0o600, 0o640, 0o666, 0o755] {
            fs::set_permissions(&new, fs::Permissions::from_mode(rights)).unwrap();
            // The contents of a private file are never readable by others, not even for a moment.
            let part = NewFile::create(&new, Overwrite::Replace).unwrap();
            assert_eq!(mode(part.path()), rights);
            part.keep().unwrap();
            assert_eq!(mode(&new), rights);
        }
    }

    #[test]
    fn the_file_behind_links_is_replaced_and_the_links_stay() {
        let folder = Scratch::in_memory();
        fs::create_dir(folder.join("other")).unwrap();
        symlink("other/second", folder.join("first")).unwrap();
        symlink("file", folder.join("other/second")).unwrap();
        write_file(&folder.join("first"), Overwrite::Never, b"one").unwrap();
        write_file(&folder.join("first"), Overwrite::Replace, b"two").unwrap();
        assert_eq!(fs::read(folder.join("other/file")).unwrap(), b"two");
        assert_eq!(names(&folder), ["first", "other"]);
        assert_eq!(names(&folder.join("other")), ["file", "second"]);
        symlink("turning", folder.join("turning")).unwrap();
        assert!(NewFile::create(&folder.join("turning"), Overwrite::Replace).is_err());
    }

    /// In such a folder somebody else could exchange the link between two looks at it.
    #[test]
    fn a_link_in_a_folder_of_everybody_is_not_followed() {
        let folder = Scratch::in_memory();
        fs::create_dir(folder.join("shared")).unwrap();
        fs::set_permissions(folder.join("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
        symlink("../file", folder.join("shared/link")).unwrap();
        fs::write(folder.join("file"), "old").unwrap();
        let error = write_file(&folder.join("shared/link"), Overwrite::Replace, b"new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read(folder.join("file")).unwrap(), b"old");
    }

    #[test]
    fn one_file_has_many_names() {
        let folder = Scratch::in_memory();
        let file = folder.join("file");
        fs::write(&file, "x").unwrap();
        fs::write(folder.join("copy"), "x").unwrap();
        symlink("file", folder.join("soft")).unwrap();
        fs::hard_link(&file, folder.join("hard")).unwrap();
        let folder_of = |name: &str| -> std::path::PathBuf { folder.join(name) };
        for (name, is_same) in [
            ("file", true),
            ("./file", true),
            ("soft", true),
            ("hard", true),
            ("copy", false),
            ("none", false),
        ] {
            assert_eq!(is_same_file(&file, &folder_of(name)), is_same, "{name}");
        }
    }

    #[test]
    fn devices_are_written_directly() {
        let new = NewFile::create(Path::new("/dev/null"), Overwrite::Never).unwrap();
        assert!(!new.is_file());
        new.keep().unwrap();
        assert!(fs::metadata("/dev/null").unwrap().permissions().mode() & 0o666 == 0o666);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
