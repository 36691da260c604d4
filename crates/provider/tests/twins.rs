//! The listings of the article in C and the same libraries in Rust give the same bytes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon_provider::library::check::{Rules, check};
use tallymon_provider::library::client::Answered;
use tallymon_provider::library::client::{InProcess, Indexes};
use tallymon_provider::library::protocol::Load;
use tallymon_testkit::peer;

/// `rand` as the C standard has it as its example, in place of the one of the system.
const RAND: &str = "\
#include <stdlib.h>
static unsigned int next_number = 1;
static inline int made_up(void)
{
    next_number = next_number * 1103515245 + 12345;
    return (int)((next_number >> 16) & 0x7fff);
}
#define rand made_up
";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/c")
}

/// Compiles a listing; `None` without a compiler.
fn listing(folder: &Path, name: &str) -> Option<PathBuf> {
    let compiler = peer("g++")?;
    let library = folder.join(format!("lib{name}.so"));
    let rand = folder.join("rand.h");
    fs::write(&rand, RAND).unwrap();
    let output = Command::new(compiler)
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-fshort-wchar", "-include"])
        .arg(&rand)
        .arg("-I")
        .arg(examples().join("../../../capi/include"))
        .arg("-I")
        .arg(examples())
        .arg(examples().join(name).join(format!("{name}.cpp")))
        .arg("-o")
        .arg(&library)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(library)
}

/// The library that cargo makes of an example when it runs all tests of this package; `None` when it did not.
fn twin(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().unwrap();
    let library = own.parent()?.parent()?.join(format!("examples/lib{name}.so"));
    if !library.is_file() {
        tallymon_testkit::skip(&format!(
            "the example {name} is not built; 'cargo test -p tallymon-provider' builds it"
        ));
        return None;
    }
    Some(library)
}

fn load(library: &Path) -> InProcess {
    let name = |name: &str| name.to_string();
    let load = Load {
        library: library.display().to_string(),
        open: name("Open"),
        collect: name("Collect"),
        close: name("Close"),
        context: None,
    };
    let service = "Twin".to_string();
    let mut hash = tallymon_provider::trust::Sha256::new();
    hash.add(&std::fs::read(&load.library).unwrap());
    let indexes = Indexes { service, first_counter: 1848, first_help: 1849, hash: hash.finish() };
    InProcess::load(&load, &indexes).unwrap()
}

fn answer(library: &mut InProcess, query: &str) -> Answered {
    let answered = library.collect(query).unwrap();
    let verdict = check(&answered.returned, &answered.data, "library", "service", Rules::default());
    assert_eq!((verdict.objects, verdict.events), (1, Vec::new()), "{query}");
    answered
}

#[test]
fn both_languages_give_the_same_bytes() {
    let folder = std::env::temp_dir().join(format!("tallymon-twins-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (name, length) in [("myperf1", 184), ("myperf1_inst", 248)] {
        let (Some(c), Some(rust)) = (listing(&folder, name), twin(name)) else { continue };
        let (mut c, mut rust) = (load(&c), load(&rust));
        for query in ["Global", "1848", "Global"] {
            let (c, rust) = (answer(&mut c, query), answer(&mut rust, query));
            assert_eq!(rust.data.len(), length, "{name}");
            assert_eq!(c.returned, rust.returned, "{name} {query}");
            assert_eq!(c.data, rust.data, "{name} {query}");
        }
        // The listings do not look at the request; the library in Rust answers what was asked.
        assert_eq!(rust.collect("Costly").unwrap().returned.objects, 0, "{name}");
        // It is shorter, too.
        let lines = |path: PathBuf| fs::read_to_string(path).unwrap().lines().count();
        let (c, rust) = (
            lines(examples().join(name).join(format!("{name}.cpp"))),
            lines(examples().join("../rust").join(format!("{name}.rs"))),
        );
        assert!(rust.saturating_mul(2) < c, "{rust} lines, {c} in C");
    }
    fs::remove_dir_all(&folder).unwrap();
}
