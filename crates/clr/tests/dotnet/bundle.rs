//! A runtime of .NET 10 for programs of our own, out of a program that carries one in its single file.
//!
//! Such a file is a host with the runtime in it, then the parts one after another, and a list of them at the
//! end; eight bytes in the host say where the list begins. We keep the host and the framework's parts, and
//! write a list without the program: the host then runs the program that lies beside it. The compilers here
//! refer to `mscorlib` and `System.Core`, which are not among the parts; two that say where their types are
//! now are compiled.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the host runs, by a name that is in its code.
pub(crate) const PROGRAM: &str = "azmcp.dll";

/// What stands behind the eight bytes: the format's mark, which is in no other place.
const MARK: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, //
    0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// The only version of the list that we know.
const VERSION: u32 = 6;

const ASSEMBLY: u8 = 1;
const DEPENDENCIES: u8 = 3;
const CONFIG: u8 = 4;

/// One of the parts: its kind, its name, and what is in it.
struct Part {
    kind: u8,
    name: String,
    bytes: Vec<u8>,
}

/// The host with the framework of the single file `program`, written once into `folder`; `mcs` is the
/// compiler.
pub(crate) fn own_host(program: &Path, mcs: &Path, folder: &Path) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clr/tests/dotnet/programs");
    let sources = ["mscorlib", "System.Core"].map(|name| (name, programs.join(format!("{name}.cs"))));
    let host = folder.join("azmcp");
    let made_of = [&sources[0].1, &sources[1].1, &programs.join("../bundle.rs")];
    let written = |file: &Path| file.metadata().and_then(|data| data.modified()).ok();
    if written(&host).is_some_and(|host| made_of.into_iter().all(|source| written(source).unwrap() < host)) {
        return host;
    }
    // Tests run at the same time: each writes into a folder of its own, and the last to be ready stays.
    let own = folder.join(std::process::id().to_string());
    std::fs::create_dir_all(&own).unwrap();
    let (mut bytes, mut parts) = parts_of(&std::fs::read(program).unwrap());
    parts.retain(|part| part.kind == ASSEMBLY && part.name.starts_with("System."));
    let mut compiler = vec!["-target:library".to_string(), "-nostdlib".into(), "-noconfig".into()];
    for needed in ["System.Private.CoreLib.dll", "System.Console.dll", "System.Linq.dll"] {
        let part = parts.iter().find(|part| part.name == needed).expect(needed);
        std::fs::write(own.join(needed), &part.bytes).unwrap();
        compiler.push(format!("-r:{needed}"));
    }
    for (name, source) in sources {
        let library = format!("{name}.dll");
        let mut command = Command::new(mcs);
        command.current_dir(&own).args(&compiler).arg(format!("-out:{library}")).arg(source);
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let bytes = std::fs::read(own.join(&library)).unwrap();
        parts.push(Part { kind: ASSEMBLY, name: library, bytes });
    }
    write(&mut bytes, parts);
    let new = own.join("azmcp");
    std::fs::write(&new, bytes).unwrap();
    super::runtimes::make_executable(&new);
    std::fs::rename(new, &host).unwrap();
    std::fs::remove_dir_all(own).unwrap();
    host
}

/// Reads little-endian numbers and texts one after another.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, length: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn long(&mut self) -> usize {
        u64::from_le_bytes(self.take(8).try_into().unwrap()).try_into().unwrap()
    }

    fn int(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        // The length has seven bits in each byte but never needs a second one here.
        let length = self.take(1)[0];
        assert!(length < 0x80, "a name of {length} bytes or more");
        String::from_utf8(self.take(length.into()).to_vec()).unwrap()
    }
}

/// Where in the host the place of the list is.
fn place(host: &[u8]) -> usize {
    host.windows(MARK.len()).position(|bytes| bytes == MARK).expect("a single file") - 8
}

/// The host and the parts behind it.
fn parts_of(file: &[u8]) -> (Vec<u8>, Vec<Part>) {
    let at = place(file);
    let start = Reader(&file[at..]).long();
    let mut list = Reader(&file[start..]);
    assert_eq!(list.int(), VERSION);
    list.int();
    let count = list.int();
    list.text();
    // Two places that the list has too, each with a length, and marks.
    list.take(5 * 8);
    let mut end = start;
    let mut parts = Vec::new();
    for _ in 0..count {
        let (offset, length, packed) = (list.long(), list.long(), list.long());
        assert_eq!(packed, 0, "the parts are not compressed");
        let (kind, bytes) = (list.take(1)[0], file[offset..offset + length].to_vec());
        parts.push(Part { kind, name: list.text(), bytes });
        end = end.min(offset);
    }
    (file[..end].to_vec(), parts)
}

/// Puts the parts behind the host with the two files that say what there is, and the list.
fn write(file: &mut Vec<u8>, parts: Vec<Part>) {
    let names: Vec<String> = parts.iter().map(|part| format!("\"{}\":{{}}", part.name)).collect();
    let (target, library) = (".NETCoreApp,Version=v10.0/linux-x64", "framework/10.0.0");
    let dependencies = format!(
        "{{\"runtimeTarget\":{{\"name\":\"{target}\"}},\"targets\":{{\"{target}\":{{\"{library}\":{{\"runtime\":\
         {{{},\"{PROGRAM}\":{{}}}}}}}}}},\"libraries\":{{\"{library}\":{{\"type\":\"package\",\"serviceable\":false,\
         \"sha512\":\"\"}}}}}}",
        names.join(",")
    );
    let config = r#"{"runtimeOptions":{"includedFrameworks":[{"name":"Microsoft.NETCore.App","version":"10.0.0"}],
        "configProperties":{"System.Globalization.Invariant":true}}}"#;
    let says = |kind, name: &str, text: &str| Part { kind, name: name.into(), bytes: text.into() };
    let mut all = vec![
        says(DEPENDENCIES, "azmcp.deps.json", &dependencies),
        says(CONFIG, "azmcp.runtimeconfig.json", config),
    ];
    all.extend(parts);
    let mut places = Vec::new();
    for part in &all {
        // The runtime maps the parts and wants them aligned.
        file.resize(file.len().next_multiple_of(16), 0);
        places.push([file.len(), part.bytes.len()].map(|it| (it as u64).to_le_bytes()).concat());
        file.extend(&part.bytes);
    }
    let start = file.len() as u64;
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    file.extend(VERSION.to_le_bytes());
    file.extend(0_u32.to_le_bytes());
    file.extend((all.len() as u32).to_le_bytes());
    file.extend(text("tallymon"));
    file.extend(places[..2].concat());
    file.extend(0_u64.to_le_bytes());
    for (part, place) in all.iter().zip(places) {
        file.extend(place);
        file.extend(0_u64.to_le_bytes());
        file.push(part.kind);
        file.extend(text(&part.name));
    }
    let at = place(file);
    file[at..at + 8].copy_from_slice(&start.to_le_bytes());
}
