//! The profiler, attached to a running program by the runtime's own command: it is refused, and nothing
//! stays.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};

use super::dotnet::{compiled, runtimes};
use super::support::{Folder, TALLY, clean};

/// The class of the profiler, in the order of bytes that the protocol wants.
const CLASS: [u8; 16] =
    [0xf2, 0x38, 0x2b, 0x9e, 0x55, 0x73, 0x61, 0x4c, 0xa5, 0x4f, 0x43, 0x4b, 0x7a, 0xc2, 0x66, 0xc0];

/// "Unsupported for an attaching profiler".
const UNSUPPORTED: u32 = 0x8013_136f;

/// Ended when the test is over.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The diagnostics socket of a program.
fn socket(pid: u32) -> UnixStream {
    let begin = format!("dotnet-diagnostic-{pid}-");
    let files = std::fs::read_dir("/tmp").unwrap().flatten();
    let mut files = files.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&begin) && name.ends_with("-socket")
    });
    // Those of killed programs stay.
    files.find_map(|file| UnixStream::connect(file).ok()).unwrap()
}

/// Command 1 of set 3 with the library; the set, the command and the code of the answer.
fn attach(pid: u32, library: &Path) -> (u8, u8, u32) {
    let path: Vec<u16> = library.to_str().unwrap().encode_utf16().chain([0]).collect();
    let mut body = 5_000_u32.to_le_bytes().to_vec();
    body.extend(CLASS);
    body.extend(u32::try_from(path.len()).unwrap().to_le_bytes());
    body.extend(path.iter().flat_map(|unit| unit.to_le_bytes()));
    body.extend(0_u32.to_le_bytes());
    let mut message = b"DOTNET_IPC_V1\0".to_vec();
    message.extend(u16::try_from(20 + body.len()).unwrap().to_le_bytes());
    message.extend([3, 1, 0, 0]);
    message.extend(body);
    let mut socket = socket(pid);
    socket.write_all(&message).unwrap();
    let mut answer = [0; 24];
    socket.read_exact(&mut answer).unwrap();
    (answer[16], answer[17], u32::from_le_bytes(answer[20..].try_into().unwrap()))
}

#[test]
fn attaching_the_profiler_is_refused_with_the_reason_of_the_runtime() {
    let folder = Folder::new();
    let Some(file) = compiled(&folder, "forever") else { return };
    let library = Path::new(TALLY).with_file_name("libtallymon_clr.so");
    assert!(library.is_file());
    for (version, dotnet) in runtimes::runtimes() {
        let mut command = clean(&dotnet);
        command.args(["exec", &file]).current_dir(folder.path()).env_remove("TMPDIR");
        let child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut running = Running(child);
        let mut output = BufReader::new(running.0.stdout.take().unwrap());
        let mut line = |expected: &str| {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), expected, ".NET {version}");
        };
        line("ready");
        let pid = running.0.id();
        // A second time as the first: nothing stands in the way of another profiler.
        for _ in 0..2 {
            assert_eq!(attach(pid, &library), (0xff, 0xff, UNSUPPORTED), ".NET {version}");
            writeln!(running.0.stdin.as_mut().unwrap(), "x").unwrap();
            line("done x");
        }
        let files = std::fs::read_dir(folder.path()).unwrap().flatten();
        let profiles = files.filter(|entry| entry.path().to_string_lossy().contains(".prof"));
        assert_eq!(profiles.count(), 0, ".NET {version}");
    }
}
