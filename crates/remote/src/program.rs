//! Which machines a program for Linux runs on: its processor, and the C library that it needs.

use std::fmt;

/// Names of processors as `uname -m` prints them, by their numbers in a program.
const PROCESSORS: [(u16, &[&str]); 5] = [
    (62, &["x86_64", "amd64"]),
    (183, &["aarch64", "arm64"]),
    (243, &["riscv64"]),
    (21, &["ppc64le", "ppc64"]),
    (22, &["s390x"]),
];

/// A dynamic program names its loader in such a part.
const INTERPRETER: u32 = 3;

/// What comes before the number of a version of glibc in a program.
const GLIBC: &[u8] = b"GLIBC_2.";

/// What a program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    processor: u16,
    /// The loader of a dynamic program.
    pub loader: Option<String>,
    /// The newest glibc 2 that it asks for.
    pub glibc: Option<u32>,
}

/// What is known about another machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The system, such as `Linux`.
    pub system: String,
    /// The processor, such as `x86_64`.
    pub processor: String,
    /// The version of glibc 2; `None` if there is none.
    pub glibc: Option<u32>,
    /// The version of the program that is there already, where it will be put.
    pub installed: Option<String>,
    /// Whether the folder is there, and whether the user may write in it.
    pub folder: Folder,
}

/// What a folder is for the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Folder {
    /// It does not exist.
    #[default]
    Missing,
    /// Others may write there only.
    Closed,
    /// The user may write there.
    Open,
}

impl Program {
    /// Reads what a program needs.
    ///
    /// # Errors
    ///
    /// The bytes are no program for Linux on 64 bits.
    pub fn parse(bytes: &[u8]) -> Result<Program, String> {
        let no = |why: &str| Err(format!("it is no program for Linux: {why}"));
        if bytes.get(..4) != Some(b"\x7fELF") {
            return no("it does not begin with the letters ELF");
        }
        if bytes.get(4) != Some(&2) || bytes.get(5) != Some(&1) {
            return no("it is not for 64 bits with the least significant byte first");
        }
        let (Some(processor), Some(first), Some(size), Some(count)) =
            (u16_at(bytes, 18), u64_at(bytes, 32), u16_at(bytes, 54), u16_at(bytes, 56))
        else {
            return no("it ends in its head");
        };
        let mut loader = None;
        for number in 0..count {
            let at = usize::from(number).saturating_mul(size.into()).saturating_add(first);
            if u32_at(bytes, at) == Some(INTERPRETER) {
                let (from, length) =
                    (u64_at(bytes, at.saturating_add(8)), u64_at(bytes, at.saturating_add(32)));
                let text = from
                    .zip(length)
                    .and_then(|(from, length)| bytes.get(from..from.checked_add(length.min(4096))?));
                let text = text.map(|text| text.split(|byte| *byte == 0).next().unwrap_or_default());
                loader = text.map(|text| String::from_utf8_lossy(text).into_owned());
            }
        }
        let glibc = loader.as_ref().and_then(|_| newest_glibc(bytes));
        Ok(Program { processor, loader, glibc })
    }

    /// Why it does not run on a machine; `None` if it should.
    pub fn obstacle(&self, machine: &Machine) -> Option<String> {
        if machine.system != "Linux" {
            return Some(format!("it is for Linux, and the host has {}", machine.system));
        }
        let names = PROCESSORS.iter().find(|(number, _)| *number == self.processor).map(|(_, names)| *names);
        let names = names.unwrap_or_default();
        if !names.contains(&machine.processor.as_str()) {
            let own = names.first().map_or_else(|| format!("number {}", self.processor), ToString::to_string);
            return Some(format!("it is for the processor {own}, and the host has {}", machine.processor));
        }
        let loader = self.loader.as_deref()?;
        let is_musl = loader.contains("musl");
        match (machine.glibc, self.glibc) {
            (None, _) if !is_musl => {
                Some("it needs glibc, and the host has none: take a static one".to_string())
            }
            (Some(theirs), Some(ours)) if theirs < ours => {
                Some(format!("it needs glibc 2.{ours}, and the host has 2.{theirs}: take a static one"))
            }
            (Some(_), _) if is_musl => {
                Some("it needs musl, and the host has glibc: take a static one".to_string())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = PROCESSORS.iter().find(|(number, _)| *number == self.processor);
        let name = names.and_then(|(_, names)| names.first()).unwrap_or(&"another processor");
        match (&self.loader, self.glibc) {
            (None, _) => write!(f, "static, {name}"),
            (Some(_), Some(glibc)) => write!(f, "needs glibc 2.{glibc}, {name}"),
            (Some(loader), None) => write!(f, "needs {loader}, {name}"),
        }
    }
}

impl Machine {
    /// Reads what the probe printed: lines of a word, `=` and a value.
    pub fn parse(text: &str) -> Machine {
        let mut machine = Machine::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once('=') else { continue };
            let value: String =
                value.trim().chars().filter(|letter| !letter.is_control()).take(200).collect();
            match name {
                "system" => machine.system = value,
                "processor" => machine.processor = value,
                // `glibc 2.36`, or what ldd says in its first line.
                "glibc" => {
                    machine.glibc = value
                        .split(|letter: char| !letter.is_ascii_digit() && letter != '.')
                        .find_map(|word| word.strip_prefix("2.")?.split('.').next()?.parse().ok());
                }
                "installed" if !value.is_empty() => machine.installed = Some(value),
                "folder" => {
                    machine.folder = match value.as_str() {
                        "open" => Folder::Open,
                        "closed" => Folder::Closed,
                        _ => Folder::Missing,
                    };
                }
                _ => {}
            }
        }
        machine
    }
}

/// The largest number behind the name of a version of glibc.
fn newest_glibc(bytes: &[u8]) -> Option<u32> {
    let starts = bytes.windows(GLIBC.len()).enumerate().filter(|(_, window)| *window == GLIBC);
    starts
        .filter_map(|(at, _)| {
            let rest = bytes.get(at.saturating_add(GLIBC.len())..)?;
            let digits: Vec<u8> =
                rest.iter().take(4).take_while(|byte| byte.is_ascii_digit()).copied().collect();
            std::str::from_utf8(&digits).ok()?.parse().ok()
        })
        .max()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with one part that names its loader.
    fn program(processor: u8, loader: &str, names: &str) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64, 0);
        bytes[18] = processor;
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = u8::from(!loader.is_empty());
        bytes.extend([3, 0, 0, 0, 0, 0, 0, 0, 120]);
        bytes.resize(64 + 32, 0);
        bytes.push(u8::try_from(loader.len()).unwrap());
        bytes.resize(120, 0);
        bytes.extend_from_slice(loader.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(names.as_bytes());
        bytes
    }

    const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

    #[test]
    fn what_runs_where() {
        let dynamic = program(62, LOADER, "GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_2.\0");
        let fixed = program(62, "", "GLIBC_2.99\0");
        let musl = program(183, "/lib/ld-musl-aarch64.so.1", "");
        let debian = "system=Linux\nprocessor=x86_64\nglibc=glibc 2.36\nfolder=open\n";
        let old = "system=Linux\nprocessor=x86_64\nglibc=ldd (GNU libc) 2.17\n";
        let alpine = "system=Linux\nprocessor=aarch64\nglibc=\n";
        for (program, machine, obstacle) in [
            (&dynamic, debian, None),
            (&dynamic, old, Some("it needs glibc 2.34, and the host has 2.17")),
            (&dynamic, "system=Linux\nprocessor=x86_64\n", Some("it needs glibc, and the host has none")),
            (&dynamic, alpine, Some("it is for the processor x86_64, and the host has aarch64")),
            (&dynamic, "system=Darwin\nprocessor=arm64\n", Some("it is for Linux, and the host has Darwin")),
            (&fixed, old, None),
            (&fixed, "system=Linux\nprocessor=x86_64\n", None),
            (&musl, alpine, None),
            (&musl, "system=Linux\nprocessor=aarch64\nglibc=2.36\n", Some("it needs musl")),
        ] {
            let found = Program::parse(program).unwrap().obstacle(&Machine::parse(machine));
            match (found, obstacle) {
                (None, None) => {}
                (Some(found), Some(obstacle)) => assert!(found.starts_with(obstacle), "{found}"),
                other => panic!("{machine}: {other:?}"),
            }
        }
        assert_eq!(Program::parse(&dynamic).unwrap().to_string(), "needs glibc 2.34, x86_64");
        assert_eq!(Program::parse(&fixed).unwrap().to_string(), "static, x86_64");
    }

    #[test]
    fn no_byte_of_a_program_makes_a_panic() {
        let whole = program(62, LOADER, "GLIBC_2.34\0");
        for end in 0..whole.len() {
            let _ = Program::parse(&whole[..end]);
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 127, 255] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = Program::parse(&changed);
            }
        }
        assert!(Program::parse(b"MZ").unwrap_err().contains("ELF"));
    }

    #[test]
    fn what_a_host_says_is_cut_and_cleaned() {
        let said = format!("system=Linux\x1b[2J\nnonsense\ninstalled={}\nfolder=closed", "x".repeat(999));
        let machine = Machine::parse(&said);
        assert_eq!((machine.system.as_str(), machine.folder), ("Linux[2J", Folder::Closed));
        assert_eq!(machine.installed.unwrap().len(), 200);
    }
}
