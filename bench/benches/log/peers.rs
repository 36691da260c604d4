//! The same series in a PCP archive, and sar's file, which has its own counters and cannot hold ours.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::made_up::{SERIES, rows};
use crate::size;

pub(crate) fn run(folder: &Path) {
    println!("\npeers");
    pcp(folder);
    sar(folder);
}

/// 20 counters of 100 instances, as in the other formats.
fn pcp(folder: &Path) {
    let program = folder.join("pcparchive");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/pcparchive.c");
    let built = Command::new("cc")
        .arg("-O2")
        .arg(source)
        .args(["-lpcp_import", "-lpcp", "-o"])
        .arg(&program)
        .status();
    if !built.is_ok_and(|status| status.success()) {
        println!("PCP's archive: not measured, its libraries are not here (libpcp-import1-dev)");
        return;
    }
    let archive = folder.join("pcp");
    let mut child = Command::new(&program)
        .arg(&archive)
        .args(["20", &(SERIES / 20).to_string(), "1700000000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("what was built just now starts");
    let mut input = child.stdin.take().expect("it has an input");
    for row in rows() {
        let bytes: Vec<u8> = row.iter().flat_map(|value| value.to_le_bytes()).collect();
        input.write_all(&bytes).expect("it reads its input");
    }
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [values, found, written, read] = numbers[..] else { panic!("its answer is {text:?}") };
    assert_eq!(values, found, "all values are read");
    let parts = ["0", "meta", "index"].map(|end| folder.join(format!("pcp.{end}")));
    let bytes: u64 = parts.iter().map(|part| size(part)).sum();
    println!(
        "PCP's archive {:9.3} B/value, written {:.1} M/s, read {:.1} M/s",
        bytes as f64 / values,
        values / written / 1e6,
        values / read / 1e6
    );
    let mut all = Vec::new();
    for part in &parts {
        all.extend(std::fs::read(part).expect("it was written"));
    }
    let packed = zstd::bulk::compress(&all, 3).expect("memory is there");
    println!("  with zstd -3 when it is complete {:9.3} B/value", packed.len() as f64 / values);
    parts.iter().for_each(|part| drop(std::fs::remove_file(part)));
}

fn sar(folder: &Path) {
    let file = folder.join("sar");
    let sadc = ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc", "/usr/lib/sa/sadc"];
    let Some(sadc) = sadc.iter().find(|path| Path::new(path).exists()) else {
        println!("sar's file: not measured, sysstat is not here");
        return;
    };
    let recorded = Command::new(sadc).args(["-S", "ALL", "1", "31"]).arg(&file).status();
    let shown = Command::new("sadf").args(["-p", "--"]).args(["-A"]).arg(&file).output();
    let (true, Ok(shown)) = (recorded.is_ok_and(|status| status.success()), shown) else {
        println!("sar's file: not measured, it could not be written");
        return;
    };
    // One line per value.
    let values = shown.stdout.iter().filter(|byte| **byte == b'\n').count();
    println!(
        "sar's file, 30 seconds of its own counters: {values} values that it shows, {:.2} B each",
        size(&file) as f64 / values as f64
    );
}
