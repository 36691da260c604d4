//! Tests: a change is stopped at every single step, and another process then reads the registry.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use tallymon_core::title::Language;
use tallymon_testkit::Scratch;

use super::super::contents::Texts;
use super::super::service::Service;
use super::*;

fn store_in(folder: &Path) -> Store<'static> {
    Store::new(Scope::System, folder)
}

/// Files that stop working at some step, like those of a killed process. A step can also stop in the middle.
///
/// Nothing is synchronised, which would take most of the time of a change: what a process has passed to the
/// kernel survives its death, and a loss of power cannot be tested here.
struct Stopping {
    left: Cell<u32>,
    half: bool,
}

impl Stopping {
    fn after(steps: u32, half: bool) -> Stopping {
        Stopping { left: Cell::new(steps), half }
    }

    /// Whether the next step is done.
    fn goes(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }

    fn step<T>(&self, step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.goes() { step() } else { Err(killed()) }
    }
}

fn killed() -> io::Error {
    io::Error::other("killed")
}

impl Files for Stopping {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.step(|| SystemFiles.read(path))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.step(|| SystemFiles.list(folder))
    }

    fn read_link(&self, path: &Path) -> io::Result<String> {
        self.step(|| SystemFiles.read_link(path))
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        self.step(|| SystemFiles.create_folders(path))
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let last = self.left.get() == 0;
        if last && self.half {
            SystemFiles.create(path, &bytes[..bytes.len() / 2])?;
        }
        self.step(|| SystemFiles.create(path, bytes))
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.step(|| fs::metadata(path).map(|_| ()))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.step(|| fs::metadata(path).map(|_| ()))
    }

    fn link(&self, target: &str, path: &Path) -> io::Result<()> {
        self.step(|| SystemFiles.link(target, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|| SystemFiles.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step(|| SystemFiles.remove_file(path))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.step(|| SystemFiles.remove_folder(path))
    }
}

fn install(name: &str) -> impl FnOnce(&Contents) -> Result<Contents, RegistryError> {
    move |old| {
        let mut new = old.clone();
        let text = Texts {
            names: BTreeMap::from([(Language::ENGLISH, format!("name of {name}"))]),
            helps: BTreeMap::from([(Language::ENGLISH, format!("help of {name}"))]),
        };
        let titles = new.allocate(&BTreeMap::from([(0, text.clone()), (2, text)]), 0).unwrap();
        new.insert(Service { name: name.into(), titles: Some(titles), ..Service::default() });
        new.change = format!("install {name}");
        Ok(new)
    }
}

fn remove(name: &str) -> impl FnOnce(&Contents) -> Result<Contents, RegistryError> {
    move |old| {
        let mut new = old.clone();
        new.remove(name).unwrap();
        new.change = format!("remove {name}");
        Ok(new)
    }
}

fn names(contents: &Contents) -> Vec<&str> {
    contents.services().map(|service| service.name.as_str()).collect()
}

#[test]
fn a_change_stopped_anywhere_leaves_the_old_or_the_new_version() {
    // So many versions that the oldest is taken apart by the change.
    let prepare = |folder: &Path| {
        let quick = Stopping::after(u32::MAX, false);
        let store = Store { scope: Scope::System, root: folder.to_path_buf(), files: &quick };
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            store.change(install(name)).unwrap();
        }
    };
    for (what, half) in [("install", false), ("install", true), ("remove", false), ("rollback", false)] {
        let (mut old_seen, mut new_seen, mut steps) = (0, 0, 0);
        loop {
            let folder = Scratch::new();
            prepare(&folder);
            let (_, old) = store_in(&folder).read().unwrap();
            let stopping = Stopping::after(steps, half);
            let store = Store { scope: Scope::System, root: folder.to_path_buf(), files: &stopping };
            let result = match what {
                "install" => store.change(install("x")).map(|_| ()),
                "remove" => store.change(remove("e")).map(|_| ()),
                _ => store.rollback(None).map(|_| ()),
            };
            let finished = result.is_ok();
            let (_, now) = store_in(&folder).read().unwrap();
            let mut wanted = names(&old);
            match what {
                "install" => wanted.push("x"),
                "remove" => wanted.retain(|name| *name != "e"),
                _ => wanted.retain(|name| *name != "i"),
            }
            if now == old {
                assert!(!finished, "{what} reports success at step {steps} and nothing changed");
                old_seen += 1;
            } else {
                assert_eq!(names(&now), wanted, "{what} stopped at step {steps}");
                new_seen += 1;
            }
            // The next change works whatever was left behind, and every listed version is complete.
            let quick = Stopping::after(u32::MAX, false);
            let next = Store { scope: Scope::System, root: folder.to_path_buf(), files: &quick };
            next.change(install("y")).unwrap();
            let (_, after) = store_in(&folder).read().unwrap();
            assert!(after.service("y").is_some());
            let versions = store_in(&folder).versions().unwrap();
            assert!(versions.iter().all(|version| version.change.is_ok()), "{versions:?}");
            let left = fs::read_dir(&folder).unwrap().count();
            assert_eq!(left, versions.len() + 2, "only versions, current and the lock's folder are left");
            // Pruning may fail without failing the change, so success does not mean that all steps were made.
            if finished && stopping.left.get() > 0 {
                break;
            }
            steps += 1;
        }
        assert!(old_seen >= 4 && new_seen >= 1, "{what}: {old_seen} old, {new_seen} new of {steps} steps");
    }
}

#[test]
fn the_first_change_stopped_anywhere_leaves_nothing_or_the_first_version() {
    let (mut none, mut first) = (0, 0);
    for steps in 0.. {
        let folder = Scratch::new();
        let stopping = Stopping::after(steps, true);
        let store = Store { scope: Scope::System, root: folder.to_path_buf(), files: &stopping };
        let finished = store.change(install("x")).is_ok();
        let (number, now) = store_in(&folder).read().unwrap();
        if number == 0 {
            assert!(!finished);
            none += 1;
        } else {
            assert_eq!(names(&now), ["x"]);
            first += 1;
        }
        if finished && stopping.left.get() > 0 {
            break;
        }
    }
    assert!(none > 5 && first > 1, "{none} without, {first} with");
}

#[test]
fn rollback_reaches_eight_versions() {
    let folder = Scratch::new();
    let store = store_in(&folder);
    for number in 1..=20 {
        assert_eq!(store.change(install(&format!("s{number}"))).unwrap(), number);
    }
    let numbers = |store: &Store<'_>| store.versions().unwrap().iter().map(|v| v.number).collect::<Vec<_>>();
    assert_eq!(numbers(&store), (13..=20).collect::<Vec<_>>());
    assert_eq!(store.rollback(None).unwrap(), (20, 19));
    assert_eq!(store.read().unwrap().1.services().count(), 19);
    assert_eq!(store.rollback(Some(13)).unwrap(), (19, 13));
    assert_eq!(store.rollback(Some(12)).unwrap_err().kind, RegistryErrorKind::NotFound);
    assert_eq!(store.read().unwrap().0, 13);
    // Numbers are not used again, and the version in use is never removed.
    assert_eq!(store.change(install("other")).unwrap(), 21);
    assert_eq!(numbers(&store), (14..=21).collect::<Vec<_>>());
    assert_eq!(
        store.rollback(None).unwrap_err().kind,
        RegistryErrorKind::NotFound,
        "13 was made into 21 and is gone"
    );
    let words: Vec<String> = store.versions().unwrap().into_iter().map(|v| v.change.unwrap()).collect();
    assert_eq!(words.last().unwrap(), "install other");
}

#[test]
fn damage_is_reported_and_repaired_by_rollback() {
    let folder = Scratch::new();
    let store = store_in(&folder);
    assert!(store.repair().unwrap().is_none());
    store.change(install("one")).unwrap();
    store.change(install("two")).unwrap();
    store.change(install("three")).unwrap();
    assert!(store.repair().unwrap().is_none());
    let damages: [(&str, &[u8], &str); 4] = [
        ("v000003/registry.conf", b"last counter = x\n", "registry.conf:1:"),
        ("v000003/009.tsv", b"1848\tname\n\xff\n", "009.tsv:2:"),
        ("v000003/service-one.conf", b"", "service-one.conf:"),
        ("v000003/service-two.conf", b"service = two\nfirst counter = 1\n", "service-two.conf:"),
    ];
    for (name, bytes, words) in damages {
        let path = folder.join(name);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        let error = store.read().unwrap_err();
        assert_eq!(error.kind, RegistryErrorKind::Damaged, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(store.change(install("four")).is_err(), "nothing is built upon damage");
        assert_eq!(store.repair().unwrap(), Some((3, 2)), "{name}");
        assert_eq!(names(&store.read().unwrap().1), ["one", "two"]);
        fs::write(&path, whole).unwrap();
        store.rollback(Some(3)).unwrap();
    }
    fs::remove_file(folder.join("v000003/009.tsv")).unwrap();
    assert_eq!(store.read().unwrap_err().kind, RegistryErrorKind::Damaged);
    fs::remove_file(folder.join("current")).unwrap();
    store.files.link("../elsewhere", &folder.join("current")).unwrap();
    let error = store.read().unwrap_err();
    assert!(error.to_string().contains("leads to \"../elsewhere\""), "{error}");
}

/// Readers hold no lock: each answer must be one whole version while another thread changes it all the time.
#[test]
fn many_read_while_one_writes() {
    let folder = Scratch::new();
    store_in(&folder).change(install("base")).unwrap();
    let done = AtomicBool::new(false);
    let seen: Vec<u32> = std::thread::scope(|scope| {
        let read = || {
            let store = store_in(&folder);
            let (mut count, mut last) = (0, 0);
            while !done.load(Ordering::Relaxed) || count == 0 {
                let (number, contents) = store.read().unwrap();
                assert!(number >= last, "a reader never goes back in time");
                // An even number of changes has removed what the odd one installed.
                assert_eq!(contents.service("x").is_some(), number % 2 == 0, "version {number}");
                assert_eq!(contents.last_counter, if number % 2 == 0 { 1854 } else { 1850 });
                last = number;
                count += 1;
            }
            count
        };
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
        // A writer that fails must not leave the readers reading for ever.
        let written = std::panic::catch_unwind(|| {
            let store = store_in(&folder);
            for _ in 0..60 {
                store.change(install("x")).unwrap();
                store.change(remove("x")).unwrap();
            }
        });
        done.store(true, Ordering::Relaxed);
        assert!(written.is_ok());
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn names_of_versions() {
    for (name, number) in [
        ("v000001", Some(1)),
        ("v1234567", Some(1_234_567)),
        ("v4294967295", Some(u32::MAX)),
        ("v4294967296", None),
        ("v00001", None),
        ("v+00001", None),
        ("v0000001", None),
        ("w000001", None),
        ("v", None),
    ] {
        assert_eq!(version_number(name), number, "{name}");
    }
}
