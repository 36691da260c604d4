//! The files with which Windows takes over the names and the library: an INI file and its symbol file for
//! `lodctr`, and the registration for `reg import`.

use std::fmt::Write;
use std::path::Path;

use super::{LIBRARY, Numbers, SERVICE};

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl Numbers {
    /// The name of the INI file.
    pub fn ini_name() -> String {
        with_extension("ini")
    }

    /// The symbol file, the INI file and the registration, in an order in which an INI file never names a
    /// symbol that is not written yet. `library` is the full path of the library, and `ini` that of the INI file.
    pub fn files(&self, library: &Path, ini: &Path) -> [File; 3] {
        let file = |extension, bytes| File { name: with_extension(extension), bytes };
        [
            file("h", self.symbols().into_bytes()),
            file("ini", utf16(&self.ini())),
            file("reg", utf16(&registration(library, ini))),
        ]
    }

    fn ini(&self) -> String {
        let mut text =
            format!("[info]\ndrivername={SERVICE}\nsymbolfile={}\n\n[languages]\n", with_extension("h"));
        for language in self.languages() {
            let _ = writeln!(text, "{0}={0}", language.code());
        }
        text.push_str("\n[objects]\n");
        for title in self.titles().filter(|title| title.is_object) {
            let _ = writeln!(text, "{}_009_NAME=", title.symbol);
        }
        text.push_str("\n[text]\n");
        for title in self.titles() {
            for (kind, words) in [("NAME", &title.names), ("HELP", &title.helps)] {
                for (language, words) in words {
                    let _ = writeln!(text, "{}_{}_{kind}={words}", title.symbol, language.code());
                }
            }
        }
        text
    }

    fn symbols(&self) -> String {
        let line = |text: String, title: &crate::registry::PackageTitle| {
            text + &format!("#define {} {}\r\n", title.symbol, title.offset)
        };
        self.titles().fold(String::new(), line)
    }
}

/// The keys of the service, with the path of the INI file as the text that Open gets.
fn registration(library: &Path, ini: &Path) -> String {
    let key = format!(r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\{SERVICE}");
    let library = library.display().to_string().replace('\\', r"\\").replace('"', "\\\"");
    // One text and the end of the list.
    let units = ini.display().to_string().encode_utf16().chain([0, 0]).collect::<Vec<u16>>();
    let bytes: Vec<String> =
        units.iter().flat_map(|unit| unit.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect();
    format!(
        "Windows Registry Editor Version 5.00\n\n[{key}]\n\n[{key}\\Linkage]\n\"Export\"=hex(7):{}\n\n\
         [{key}\\Performance]\n\"Library\"=\"{library}\"\n\"Open\"=\"Open\"\n\"Collect\"=\"Collect\"\n\
         \"Close\"=\"Close\"\n",
        bytes.join(",")
    )
}

fn with_extension(extension: &str) -> String {
    Path::new(LIBRARY).with_extension(extension).display().to_string()
}

/// UTF-16 with its mark, and lines as Windows ends them.
fn utf16(text: &str) -> Vec<u8> {
    let text = text.replace('\n', "\r\n");
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}
