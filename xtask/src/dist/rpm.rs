//! The package for Fedora, RHEL and SUSE: the format of RPM 3 and 4, which every rpm since 1999 reads.
//!
//! A lead without meaning, a header of digests, a header of everything else, and a compressed cpio archive.
//! A header is a table of (tag, type, offset, count) and a store of values; its first entry marks the part
//! that is signed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{Tree, folders_of};
use super::{About, output, read, write as write_file};

/// Writes the package into a folder.
pub(super) fn write(about: &About, tree: &Tree, folder: &Path) -> Result<PathBuf, String> {
    let files = installed(tree)?;
    let work = folder.join("rpm");
    let archive = work.join("payload.cpio");
    let plain = cpio(about, &files)?;
    write_file(&archive, &plain)?;
    crate::run(Command::new("gzip").args([about.effort, "-n", "-f"]).arg(&archive))?;
    let payload = read(&work.join("payload.cpio.gz"))?;
    let header = main_header(about, &files, &digest(&work, "sha256sum", &payload)?)?.finish(63);
    let mut signed = header.clone();
    signed.extend_from_slice(&payload);
    let mut signature = Header::default();
    signature.text(269, &digest(&work, "sha1sum", &header)?);
    signature.text(273, &digest(&work, "sha256sum", &header)?);
    signature.numbers(1000, &[number(signed.len())?]);
    let md5 = digest(&work, "md5sum", &signed)?;
    signature.bytes(1004, &hex(&md5)?);
    signature.numbers(1007, &[number(plain.len())?]);
    let mut package = lead(about);
    package.extend(signature.finish(62));
    // The header of digests ends on a multiple of eight.
    package.resize(package.len().next_multiple_of(8), 0);
    package.extend(signed);
    let file = folder.join(format!("tallymon-{}-1.x86_64.rpm", about.version));
    write_file(&file, &package)?;
    Ok(file)
}

/// A file or folder of the package.
struct Installed {
    path: String,
    bytes: Vec<u8>,
    mode: u32,
    sha256: String,
}

/// The files, and the folders that belong to no other package, in the order of their paths.
fn installed(tree: &Tree) -> Result<Vec<Installed>, String> {
    let mut all = Vec::new();
    for file in &tree.files {
        let path = place(file);
        let sum = output(Command::new("sha256sum").arg(tree.folder.join(file)))?;
        all.push(Installed {
            mode: if path.starts_with("/usr/bin/") || path.starts_with("/usr/libexec/") {
                0o100_755
            } else {
                0o100_644
            },
            bytes: read(&tree.folder.join(file))?,
            sha256: sum.split(' ').next().unwrap_or_default().to_string(),
            path,
        });
    }
    for folder in folders_of(&tree.files) {
        if folder.ends_with("tallymon") || folder.starts_with("include/tallymon") {
            all.push(Installed {
                path: place(&folder),
                bytes: Vec::new(),
                mode: 0o040_755,
                sha256: String::new(),
            });
        }
    }
    all.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(all)
}

/// Where a file of the tree is on systems with RPM: 64-bit libraries have a folder of their own there, which
/// the profiler, found from the program, and units of systemd have not.
fn place(file: &Path) -> String {
    let text = file.to_string_lossy();
    let is_library = text == "lib/libtallymon.so" || text.starts_with("lib/pkgconfig");
    match text.strip_prefix("lib/").filter(|_| is_library) {
        Some(name) => format!("/usr/lib64/{name}"),
        None => format!("/usr/{text}"),
    }
}

/// The archive: for each file a head of 110 hexadecimal digits, its name and its bytes.
fn cpio(about: &About, files: &[Installed]) -> Result<Vec<u8>, String> {
    let mut archive = Vec::new();
    let mut add = |node: usize, mode: u32, path: &str, bytes: &[u8]| -> Result<(), String> {
        let name = format!("{path}\0");
        let fields = [
            number(node)?,
            mode,
            0,
            0,
            1,
            u32::try_from(about.epoch).map_err(|error| error.to_string())?,
            number(bytes.len())?,
            0,
            0,
            0,
            0,
            number(name.len())?,
            0,
        ];
        let head: String = fields.iter().map(|field| format!("{field:08x}")).collect();
        archive.extend_from_slice(format!("070701{head}{name}").as_bytes());
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend_from_slice(bytes);
        archive.resize(archive.len().next_multiple_of(4), 0);
        Ok(())
    };
    for (node, file) in files.iter().enumerate() {
        add(node.saturating_add(1), file.mode, &format!(".{}", file.path), &file.bytes)?;
    }
    add(0, 0, "TRAILER!!!", &[])?;
    Ok(archive)
}

/// The lead: only its first bytes are read today.
fn lead(about: &About) -> Vec<u8> {
    let mut lead = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1];
    let name = format!("tallymon-{}-1", about.version);
    lead.extend_from_slice(name.as_bytes());
    lead.resize(10 + 66, 0);
    // Linux, and a signature in a header.
    lead.extend_from_slice(&[0, 1, 0, 5]);
    lead.resize(96, 0);
    lead
}

fn main_header(about: &About, files: &[Installed], payload: &str) -> Result<Header, String> {
    let epoch = u32::try_from(about.epoch).map_err(|error| error.to_string())?;
    let folder_of =
        |path: &str| path.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
    let mut folders: Vec<String> = files.iter().map(|file| folder_of(&file.path)).collect();
    folders.sort();
    folders.dedup();
    let mut indexes = Vec::new();
    for file in files {
        indexes.push(number(
            folders.iter().position(|folder| *folder == folder_of(&file.path)).unwrap_or_default(),
        )?);
    }
    let sizes = files.iter().map(|file| number(file.bytes.len())).collect::<Result<Vec<u32>, String>>()?;
    let all = |text: &str| vec![text.to_string(); files.len()];
    let names = files.iter().map(|file| file.path.rsplit('/').next().unwrap_or_default().to_string());
    let mut header = Header::default();
    header.texts(100, &["C".to_string()]);
    header.text(1000, "tallymon");
    header.text(1001, &about.version);
    header.text(1002, "1");
    header.translated(1004, About::SUMMARY);
    header.translated(1005, About::DESCRIPTION);
    header.numbers(1006, &[epoch]);
    header.text(1007, "tallymon");
    header.numbers(1009, &[sizes.iter().fold(0u32, |sum, size| sum.saturating_add(*size))]);
    header.text(1014, About::LICENCE);
    header.text(1015, About::MAINTAINER);
    header.translated(1016, "Applications/System");
    header.text(1020, About::HOMEPAGE);
    header.text(1021, "linux");
    header.text(1022, "x86_64");
    header.numbers(1028, &sizes);
    header.shorts(1030, &files.iter().map(|file| file.mode as u16).collect::<Vec<u16>>());
    header.shorts(1033, &vec![0; files.len()]);
    header.numbers(1034, &vec![epoch; files.len()]);
    header.texts(1035, &files.iter().map(|file| file.sha256.clone()).collect::<Vec<String>>());
    header.texts(1036, &all(""));
    header.numbers(
        1037,
        &files.iter().map(|file| if is_document(&file.path) { 2 } else { 0 }).collect::<Vec<u32>>(),
    );
    header.texts(1039, &all("root"));
    header.texts(1040, &all("root"));
    header.text(1044, &format!("tallymon-{}-1.src.rpm", about.version));
    header.numbers(1045, &vec![u32::MAX; files.len()]);
    header.texts(1047, &["tallymon".to_string(), "libtallymon.so()(64bit)".to_string()]);
    // What it needs: the C library, and of rpm the names of files in three parts and digests of SHA-256.
    let needs = [
        (format!("libc.so.6(GLIBC_{})(64bit)", super::GLIBC), 0, String::new()),
        ("rpmlib(CompressedFileNames)".to_string(), 0x0100_000a, "3.0.4-1".to_string()),
        ("rpmlib(FileDigests)".to_string(), 0x0100_000a, "4.6.0-1".to_string()),
        ("rpmlib(PayloadFilesHavePrefix)".to_string(), 0x0100_000a, "4.0-1".to_string()),
    ];
    header.numbers(1048, &needs.iter().map(|need| need.1).collect::<Vec<u32>>());
    header.texts(1049, &needs.iter().map(|need| need.0.clone()).collect::<Vec<String>>());
    header.texts(1050, &needs.iter().map(|need| need.2.clone()).collect::<Vec<String>>());
    header.numbers(1095, &vec![1; files.len()]);
    let nodes = (1..=files.len()).map(number).collect::<Result<Vec<u32>, String>>()?;
    header.numbers(1096, &nodes);
    header.texts(1097, &all(""));
    header.numbers(1112, &[8, 0]);
    header.texts(1113, &[format!("{}-1", about.version), String::new()]);
    header.numbers(1116, &indexes);
    header.texts(1117, &names.collect::<Vec<String>>());
    header.texts(1118, &folders);
    header.text(1124, "cpio");
    header.text(1125, "gzip");
    header.text(1126, "9");
    header.numbers(5011, &[8]);
    header.texts(5092, &[payload.to_string()]);
    header.numbers(5093, &[8]);
    Ok(header)
}

fn is_document(path: &str) -> bool {
    path.starts_with("/usr/share/doc/") || path.starts_with("/usr/share/man/")
}

/// A header: entries of 16 bytes, sorted by tag, and their values.
#[derive(Default)]
struct Header {
    entries: Vec<(u32, u32, u32, Vec<u8>)>,
}

impl Header {
    fn text(&mut self, tag: u32, text: &str) {
        self.entries.push((tag, 6, 1, format!("{text}\0").into_bytes()));
    }

    /// A text that could have translations.
    fn translated(&mut self, tag: u32, text: &str) {
        self.entries.push((tag, 9, 1, format!("{text}\0").into_bytes()));
    }

    fn texts(&mut self, tag: u32, texts: &[String]) {
        let bytes = texts.iter().flat_map(|text| format!("{text}\0").into_bytes()).collect();
        self.entries.push((tag, 8, texts.len() as u32, bytes));
    }

    fn numbers(&mut self, tag: u32, numbers: &[u32]) {
        let bytes = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        self.entries.push((tag, 4, numbers.len() as u32, bytes));
    }

    fn shorts(&mut self, tag: u32, numbers: &[u16]) {
        let bytes = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        self.entries.push((tag, 3, numbers.len() as u32, bytes));
    }

    fn bytes(&mut self, tag: u32, bytes: &[u8]) {
        self.entries.push((tag, 7, bytes.len() as u32, bytes.to_vec()));
    }

    /// The bytes of the header; `region` is the tag of the entry that covers all the others.
    fn finish(mut self, region: u32) -> Vec<u8> {
        self.entries.sort_by_key(|entry| entry.0);
        let mut index = Vec::new();
        let mut store = Vec::new();
        for (tag, kind, count, bytes) in &self.entries {
            let width = match kind {
                3 => 2,
                4 => 4,
                _ => 1,
            };
            store.resize(store.len().next_multiple_of(width), 0);
            for field in [*tag, *kind, store.len() as u32, *count] {
                index.extend_from_slice(&field.to_be_bytes());
            }
            store.extend_from_slice(bytes);
        }
        let entries = self.entries.len() as u32 + 1;
        // The region's own value is an entry, too: it points back over the whole index.
        let trailer = store.len() as u32;
        for field in [region, 7, (entries * 16).wrapping_neg(), 16] {
            store.extend_from_slice(&field.to_be_bytes());
        }
        let mut bytes = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
        for field in [entries, store.len() as u32, region, 7, trailer, 16] {
            bytes.extend_from_slice(&field.to_be_bytes());
        }
        bytes.extend(index);
        bytes.extend(store);
        bytes
    }
}

fn number(length: usize) -> Result<u32, String> {
    u32::try_from(length).map_err(|_| format!("{length} does not fit into a package of this format"))
}

/// A digest of some bytes, in hexadecimal digits.
fn digest(work: &Path, program: &str, bytes: &[u8]) -> Result<String, String> {
    let file = work.join("digest");
    write_file(&file, bytes)?;
    Ok(output(Command::new(program).arg(&file))?.split(' ').next().unwrap_or_default().to_string())
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let pairs = (0..text.len()).step_by(2).filter_map(|at| text.get(at..at + 2));
    pairs.map(|pair| u8::from_str_radix(pair, 16).map_err(|error| format!("{text}: {error}"))).collect()
}
