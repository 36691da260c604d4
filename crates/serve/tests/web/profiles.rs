//! Profiles of .NET programs: of files, and of a program that runs. The two files are of real runs of
//! `crates/clr/tests/dotnet/programs/shop.cs` under .NET 8, with 2 and with 5 rounds.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use tallymon_clr::export::document;
use tallymon_clr::reader::{Profile, is_profile};
use tallymon_serve::{Options, ProfileAccess};
use tallymon_testkit::{Scratch, attack};

use crate::client::{Running, options};

const SHORT: &[u8] = include_bytes!("../data/shop2.prof.gz");
const LONG: &[u8] = include_bytes!("../data/shop5.prof.gz");

/// The profile file of the program that runs in `a_program_that_runs…`.
static PROGRAM: LazyLock<Mutex<Option<PathBuf>>> = LazyLock::new(Mutex::default);

pub(crate) fn access() -> ProfileAccess {
    ProfileAccess {
        is_profile,
        open: |file| Profile::open(file).map_err(|error| format!("{}: {error}", file.display())),
        running: || {
            let file = PROGRAM.lock().unwrap().clone();
            file.into_iter().filter_map(|file| Some((Profile::open_head(&file).ok()?, file))).collect()
        },
        programs: true,
    }
}

fn unpacked(bytes: &[u8], path: PathBuf) -> PathBuf {
    let mut all = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    std::fs::write(&path, all).unwrap();
    path
}

/// The profile of a program that has ended.
pub(crate) fn profile(scratch: &Scratch) -> PathBuf {
    unpacked(SHORT, scratch.join("shop.prof"))
}

/// The profile of another run.
pub(crate) fn longer_profile(scratch: &Scratch) -> PathBuf {
    unpacked(LONG, scratch.join("longer.prof"))
}

fn serve(logs: &[PathBuf]) -> Running {
    Running::with(Options { logs: logs.to_vec(), profiles: Some(access()), uploads: 256 << 20, ..options() })
}

/// What `tally prof export --format json` writes.
fn exported(path: &Path) -> serde_json::Value {
    let mut text = Vec::new();
    document(&Profile::open(path).unwrap(), &mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn a_profile_is_what_its_export_says_and_differs_from_another_by_their_counts() {
    let scratch = Scratch::new();
    let (short, long) = (profile(&scratch), longer_profile(&scratch));
    let server = serve(&[short.clone(), long.clone()]);
    let list = server.get("/api/v1/profiles");
    let names = ["shop.prof", "longer.prof"].map(|name| serde_json::json!(name));
    assert_eq!([&list["profiles"][0]["name"], &list["profiles"][1]["name"]], [&names[0], &names[1]]);
    assert!(list["profiles"][0]["command"].as_str().unwrap().ends_with("shop.exe 2"));
    // It is not a log.
    assert_eq!(server.get("/api/v1/logs"), serde_json::json!([]));
    let (found, expected) = (server.get("/api/v1/profile?id=file1"), exported(&short));
    assert_eq!(found, expected);
    assert!(found["threads"].as_array().unwrap().iter().any(|thread| thread["events"][0].is_array()));
    // Each round places two orders and searches once on each of two threads.
    let calls = |document: &serde_json::Value, name: &str| {
        let methods = document["methods"].as_array().unwrap().clone();
        let own = methods.into_iter().filter(|method| method["name"] == name);
        own.map(|method| method["calls"].as_u64().unwrap()).sum::<u64>()
    };
    let differences = server.get("/api/v1/profile/differences?before=file1&after=file2");
    let search = "Shop.Orders.Search(string)";
    let changed = differences["methods"].as_array().unwrap().iter().find(|one| one["name"] == search);
    let long = exported(&long);
    assert_eq!(
        changed.unwrap()["calls"],
        serde_json::json!([calls(&expected, search), calls(&long, search)])
    );
    assert!(calls(&expected, search) > 0 && calls(&long, search) > calls(&expected, search));
    assert_eq!(server.get("/api/v1/profile/differences?before=file1&after=file1")["changed"], 0);
    let unknown = server.send(&format!("{}\r\n", server.head("GET", "/api/v1/profile?id=file9")));
    assert!(unknown.status == 404 && unknown.text().contains("/api/v1/profiles lists them"));
}

#[test]
fn what_is_busiest_lies_between_two_looks_at_a_program_that_runs() {
    let scratch = Scratch::new();
    let file = profile(&scratch);
    *PROGRAM.lock().unwrap() = Some(file.clone());
    let server = serve(&[]);
    let list = server.get("/api/v1/profiles");
    let id = list["profiles"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(list["profiles"][0]["running"], true);
    let target = format!("/api/v1/profile/busiest?id={id}");
    assert_eq!(server.get(&target)["seconds"], 0.0);
    let (before, id_at) = (exported(&file), 8 + 4);
    // The program runs on: its file is that of the longer run, under the same process id.
    let mut bytes = std::fs::read(longer_profile(&scratch)).unwrap();
    let pid = std::fs::read(&file).unwrap();
    let at = (id_at..256).find(|at| pid[*at..at + 4] == u32::to_le_bytes(id[3..].parse().unwrap())).unwrap();
    bytes[at..at + 4].copy_from_slice(&pid[at..at + 4]);
    std::fs::write(&file, bytes).unwrap();
    let after = exported(&file);
    let busiest = server.wait(&target, |answer| answer["calls"].as_f64().is_some_and(|calls| calls > 0.0));
    let passed =
        |name: &str| after["process"][name].as_f64().unwrap() - before["process"][name].as_f64().unwrap();
    let (seconds, calls) = (busiest["seconds"].as_f64().unwrap(), busiest["calls"].as_f64().unwrap());
    assert!((seconds - passed("duration") / 1e9).abs() < 1e-6, "{busiest}");
    assert!((calls * seconds - passed("enters")).abs() < 0.5, "{busiest}");
    assert!(busiest["methods"].as_array().unwrap().iter().any(|one| one["name"] == "Shop.Program.Serve()"));
    *PROGRAM.lock().unwrap() = None;
    let gone = server.send(&format!("{}\r\n", server.head("GET", &format!("/api/v1/profile?id={id}"))));
    assert_eq!(gone.status, 404);
}

#[test]
fn attack_profiles_that_are_uploaded() {
    let scratch = Scratch::new();
    let server = serve(&[]);
    let upload = |bytes: &[u8], name: &str| {
        let head = server.head("POST", &format!("/api/v1/logs?name={name}"));
        let mut stream = server.connect();
        std::io::Write::write_all(
            &mut stream,
            &[format!("{head}Content-Length: {}\r\n\r\n", bytes.len()).as_bytes(), bytes].concat(),
        )
        .unwrap();
        crate::client::Reply::read(stream)
    };
    let whole = std::fs::read(profile(&scratch)).unwrap();
    // Cut, and with all regions, counts and offsets overwritten.
    for size in [64, 4096, 100_000, whole.len() / 2] {
        let reply = upload(&whole[..size], "cut.prof");
        assert!(reply.status == 200 || reply.status == 400, "{}", reply.text());
    }
    for at in (40..400).step_by(8) {
        let mut damaged = whole[..200_000].to_vec();
        damaged[at..at + 8].fill(0xff);
        let reply = upload(&damaged, "damaged.prof");
        assert!([200, 400, 429].contains(&reply.status), "{at}: {}", reply.text());
        if let Ok(kept) = serde_json::from_slice::<serde_json::Value>(&reply.body)
            && kept["profile"] == true
        {
            let id = kept["id"].as_str().unwrap();
            let shown =
                server.send(&format!("{}\r\n", server.head("GET", &format!("/api/v1/profile?id={id}"))));
            assert!(shown.status == 200 || shown.status == 400, "{at}: {}", shown.text());
            let closing = server.head("DELETE", &format!("/api/v1/profile?id={id}"));
            assert_eq!(server.send(&format!("{closing}\r\n")).status, 200);
        }
    }
    // It still answers; and the page of profiles may run its own script only, in no frame of others.
    let reply = server.send(&format!("{}\r\n", server.head("GET", "/profile")));
    let rules = reply.header("content-security-policy").unwrap();
    assert!(rules.contains("script-src 'sha256-") && !rules.contains("unsafe"), "{rules}");
    assert!(
        rules.contains("frame-ancestors 'self'") && reply.header("x-frame-options") == Some("SAMEORIGIN")
    );
    attack(
        "pages",
        "a page sends profiles of .NET programs that are cut or damaged anywhere in their headers",
        "each is refused in words or shown as far as it can be read; the server goes on",
    );
}
