//! A program in C that uses an installed `libtallymon.so`: it finds `tally-host` wherever that is
//! installed, and without one its statuses say so.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon_testkit::{Scratch, peer};

#[allow(dead_code, reason = "here all programs have the shared library")]
mod bench;

use bench::provider::{install, tally_host};
use bench::{Bench, lines};

/// `PDH_FILE_NOT_FOUND`: there is no `tally-host`.
const NO_HOST: &str = "added C0000BD1";

/// Words for a way, where the host is, and a variable for the program.
type Way<'p> = (&'p str, Option<&'p str>, Option<(&'p str, &'p Path)>);

/// A program, the library below a prefix, and a registry with one provider.
struct Installed {
    bench: Bench,
    registry: Scratch,
    host: PathBuf,
    program: PathBuf,
}

impl Installed {
    /// Compiles the program with the folder of the library in its RUNPATH. `None` without a compiler or a
    /// host.
    fn new(name: &str) -> Option<Installed> {
        let (Some(gcc), Some(host)) = (peer("gcc"), tally_host()) else { return None };
        let bench = Bench::new(name);
        for folder in ["prefix/lib", "prefix/bin", "prefix/libexec/tallymon", "app/bin", "elsewhere"] {
            fs::create_dir_all(bench.0.join(folder)).unwrap();
        }
        // The library is looked up by its real name, which a hard link has and a symbolic one has not.
        let library = bench.0.join("libtallymon.so");
        fs::hard_link(fs::canonicalize(&library).unwrap(), bench.0.join("prefix/lib/libtallymon.so"))
            .unwrap();
        fs::remove_file(&library).unwrap();
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = bench.0.join("app/bin/program");
        let compiled = Command::new(&gcc)
            .args(["-fshort-wchar", "-Wall", "-Wextra", "-I"])
            .arg(home.join("include"))
            .arg(home.join("tests/c/neighbours.c"))
            .arg("-L")
            .arg(bench.0.join("prefix/lib"))
            .args(["-ltallymon", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../../prefix/lib", "-o"])
            .arg(&program)
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let registry = Scratch::in_memory();
        fs::create_dir(registry.join("calls")).unwrap();
        // Libraries of root have users of their own, and write down their calls here.
        fs::set_permissions(registry.join("calls"), fs::Permissions::from_mode(0o777)).unwrap();
        install(&gcc, &registry, "Healthy", "GOOD", 8000);
        Some(Installed { bench, registry, host, program })
    }

    /// Runs the program with `tally-host` at a place; each status, and whether the library gave a value.
    fn run(&self, host_at: Option<&str>, variable: Option<(&str, &Path)>) -> (Vec<String>, bool) {
        if let Some(place) = host_at {
            fs::hard_link(&self.host, self.bench.0.join(place)).unwrap();
        }
        let mut command = Command::new(&self.program);
        // Neither a search path nor a variable of whoever runs the tests.
        command.env_clear().env("LC_ALL", "C").env("TALLYMON_ROOT", &*self.registry);
        command.env("PATH", self.registry.join("calls")).current_dir(self.bench.0.join("elsewhere"));
        if let Some((name, value)) = variable {
            command.env(name, value);
        }
        let paths = [r"\Healthy Object(one)\Healthy Calls", r"\Memory\Available Bytes"];
        let said = lines(&command.arg("2").args(paths).output().unwrap());
        if let Some(place) = host_at {
            fs::remove_file(self.bench.0.join(place)).unwrap();
        }
        let [healthy, memory, _, _, _, sample, value, bytes] = &said[..] else { panic!("{said:?}") };
        // Other counters of the query do not depend on the host.
        assert_eq!((memory.as_str(), sample.as_str()), ("added 00000000", "sample 00000000"), "{said:?}");
        assert!(bytes.starts_with("value 00000000 "), "{said:?}");
        let counts = value.strip_prefix("value 00000000 ").is_some_and(|calls| calls != "0");
        (vec![healthy.clone(), value.clone()], counts)
    }
}

#[test]
fn the_host_is_found_wherever_it_is_installed() {
    let Some(installed) = Installed::new("installed") else { return };
    let home = &installed.bench.0;
    let at = |place: &str| home.join(place);
    let elsewhere = "elsewhere/tally-host";
    let (in_folder, in_path) = (at("elsewhere"), format!("/none:{}", at("elsewhere").display()));
    let (host, renamed) = (at(elsewhere), at("elsewhere/my-host"));
    let ways: [Way<'_>; 9] = [
        ("beside the library, which RUNPATH names", Some("prefix/lib/tally-host"), None),
        ("in libexec beside the library's folder", Some("prefix/libexec/tallymon/tally-host"), None),
        ("in bin beside the library's folder", Some("prefix/bin/tally-host"), None),
        ("beside the program", Some("app/bin/tally-host"), None),
        ("where TALLY_HOST says", Some(elsewhere), Some(("TALLY_HOST", &host))),
        ("where the older variable says", Some(elsewhere), Some(("TALLYMON_HOST", &host))),
        ("under another name", Some("elsewhere/my-host"), Some(("TALLY_HOST", &renamed))),
        ("in PATH", Some(elsewhere), Some(("PATH", &in_folder))),
        ("in the second folder of PATH", Some(elsewhere), Some(("PATH", Path::new(&in_path)))),
    ];
    for (way, place, variable) in ways {
        let (said, counts) = installed.run(place, variable);
        assert!(counts && said[0] == "added 00000000", "{way}: {said:?}");
    }
}

#[test]
fn a_program_without_a_host_is_told_by_the_status() {
    let Some(installed) = Installed::new("hostless") else { return };
    let elsewhere = "elsewhere/tally-host";
    let nothing = installed.bench.0.join("nothing");
    let ways: [Way<'_>; 5] = [
        ("no host at all", None, None),
        ("in the current folder only", Some(elsewhere), None),
        ("in a relative folder of PATH", Some(elsewhere), Some(("PATH", Path::new(".")))),
        ("in an empty folder of PATH", Some(elsewhere), Some(("PATH", Path::new(":/none")))),
        ("a variable that names no file", None, Some(("TALLY_HOST", &nothing))),
    ];
    for (way, place, variable) in ways {
        let (said, counts) = installed.run(place, variable);
        assert!(!counts && said[0] == NO_HOST, "{way}: {said:?}");
        // It never has a value of 0 that could be taken for a measured one.
        assert!(!said[1].starts_with("value 00000000"), "{way}: {said:?}");
    }
}
