//! A provider library for the programs of the tests, and the program that loads it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon::registry::{Package, PerflibSetting, Roots, Scope, Service, Writer};
use tallymon_testkit::skip;

/// The program that loads libraries, which lies beside the command.
pub(crate) fn tally_host() -> Option<PathBuf> {
    let program = std::env::current_exe().unwrap().parent()?.parent()?.join("tally-host");
    if !program.is_file() {
        skip("tally-host is not built (cargo build -p tallymon-cli)");
        return None;
    }
    Some(program)
}

/// Compiles the provider of the command's tests with a fault, and registers it.
pub(crate) fn install(gcc: &Path, folder: &Path, service: &str, fault: &str, deadline: u32) {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = folder.join(format!("{service}.so"));
    let define = |name: &str, end: &str| format!("-D{name}=\"{}/calls/{service}.{end}\"", folder.display());
    let compiled = Command::new(gcc)
        .args(["-std=gnu11", "-O1", "-w", "-fshort-wchar", "-shared", "-fPIC", "-I"])
        .arg(home.join("include"))
        .args([&define("LOG", "calls"), &define("SICK_FILE", "sick"), &format!("-DFAULT={fault}")])
        .arg(home.join("../cli/tests/library/provider.c"))
        .arg("-o")
        .arg(&library)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    fs::write(folder.join(format!("{service}.h")), "#define OBJECT 0\n#define COUNTER 2\n").unwrap();
    let ini = folder.join(format!("{service}.ini"));
    let text = format!(
        "[info]\ndrivername={service}\nsymbolfile={service}.h\n[languages]\n009=English\n[objects]\n\
         OBJECT_009_NAME=\n[text]\nOBJECT_009_NAME={service} Object\nCOUNTER_009_NAME={service} Calls\n"
    );
    fs::write(&ini, text).unwrap();
    let name = |name: &str| Some(name.to_string());
    let registration = Service {
        library: Some(library.display().to_string()),
        open: name("Open"),
        collect: name("Collect"),
        close: name("Close"),
        deadline: Some(deadline),
        ..Service::default()
    };
    let writer = Writer::open(&Roots::in_folder(folder), Some(Scope::System)).unwrap();
    writer.install(&Package::read(&ini, None).unwrap(), &registration).unwrap();
    writer.set_perflib(PerflibSetting::OpenWait, Some(8000)).unwrap();
}
