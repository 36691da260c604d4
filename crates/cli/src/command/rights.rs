//! `tally doctor --grant` and `--revoke`: gives the program file capabilities, or takes them away, after a question.
//!
//! The kernel keeps them in the attribute `security.capability` of the file: `vfs_cap_data` of
//! `linux/capability.h`, version 2. Whoever runs the file has them then; a copy of it has not, nor has the file
//! when somebody has written to it.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use crate::arguments::Doctor;
use crate::border;
use crate::command::capabilities::CAPABILITIES;
use crate::exit::{Failure, Kind};
use crate::messages::in_language;
use crate::question::is_wanted;
use crate::words::{note, say};

const ATTRIBUTE: &str = "security.capability";
/// Version 2, whose capabilities count as soon as the program runs.
const VERSION_2_EFFECTIVE: u32 = 0x0200_0001;
/// The length of version 2: a number, and twice a half of what is permitted and of what is inherited.
const LENGTH: usize = 20;

pub(crate) fn run(doctor: &Doctor) -> Result<(), Failure> {
    let path = std::env::current_exe().and_then(fs::canonicalize)?;
    let program = ProgramFile::open(path)?;
    let now = program.permitted()?;
    let all = CAPABILITIES.iter().fold(0, |all, (_, bit, _)| all | 1u64 << bit);
    let wanted = if doctor.grant { now | (all & bounds()) } else { now & !all };
    if wanted == now {
        let words = match doctor.grant {
            true => "has all rights already that a program can have here",
            false => "has none of these rights",
        };
        let mut out = border::stdout();
        writeln!(out, "{} {words}", program.path.display())?;
        return Ok(out.flush()?);
    }
    if !doctor.yes && !io::stdin().is_terminal() {
        return Err(Failure::new(Kind::Usage, "nobody can be asked here: add --yes"));
    }
    if doctor.grant {
        program.is_safe()?;
        say("whoever may run this program gets these rights with it:");
    } else {
        say("the program loses these rights:");
    }
    for (name, _, use_of) in CAPABILITIES.iter().filter(|(_, bit, _)| (now ^ wanted) >> bit & 1 == 1) {
        note(format_args!("  {name}: {}", in_language((*use_of).to_string())));
    }
    if !doctor.yes && !is_wanted(&format!("Change {}?", program.path.display()))? {
        return Err(Failure::new(Kind::Other, "nothing was changed"));
    }
    program.set(wanted)?;
    let mut out = border::stdout();
    let words = if doctor.grant { "rights given" } else { "rights taken away" };
    writeln!(out, "{}: {words}", program.path.display())?;
    Ok(out.flush()?)
}

/// The capabilities that a program can have here. A file that permits others cannot be run at all.
fn bounds() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapBnd:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

/// The file of this program.
struct ProgramFile {
    path: PathBuf,
    file: File,
}

impl ProgramFile {
    fn open(path: PathBuf) -> Result<ProgramFile, Failure> {
        let file = File::open(&path).map_err(|error| Failure::file(&path, &error))?;
        Ok(ProgramFile { path, file })
    }

    /// The capabilities that the file gives now, as bits.
    fn permitted(&self) -> Result<u64, Failure> {
        let mut bytes = [0; 64];
        match fgetxattr(&self.file, ATTRIBUTE, &mut bytes) {
            Ok(length) => permitted(bytes.get(..length).unwrap_or(&bytes)).ok_or_else(|| {
                let words = "its rights are of a kind that tally does not write; change them with setcap";
                Failure::new(Kind::Other, format_args!("{}: {words}", self.path.display()))
            }),
            Err(Errno::NODATA) => Ok(0),
            Err(error) => Err(Failure::file(&self.path, &error.into())),
        }
    }

    /// Only its owner and root may write to a file that has rights.
    fn is_safe(&self) -> Result<(), Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let others_may_write = |mode: u32| mode & 0o022 != 0;
        let open = if others_may_write(self.file.metadata()?.mode()) {
            Some(self.path.as_path())
        } else {
            others_may_write(fs::metadata(folder)?.mode()).then_some(folder)
        };
        match open {
            Some(path) => {
                let words = "others may write to it, so that they could get these rights; chmod go-w first";
                Err(Failure::new(Kind::Usage, format_args!("{}: {words}", path.display())))
            }
            None => Ok(()),
        }
    }

    fn set(&self, permitted: u64) -> Result<(), Failure> {
        let done = match permitted {
            0 => fremovexattr(&self.file, ATTRIBUTE),
            permitted => fsetxattr(&self.file, ATTRIBUTE, &attribute(permitted), XattrFlags::empty()),
        };
        match done {
            Ok(()) => Ok(()),
            Err(Errno::PERM) => {
                let words = "only root gives rights to a file: run this with sudo";
                Err(Failure::new(Kind::AccessDenied, format_args!("{}: {words}", self.path.display())))
            }
            Err(error) => Err(Failure::file(&self.path, &error.into())),
        }
    }
}

/// The bits of what an attribute permits; `None` for other versions, and where something is inherited, which
/// would be lost.
fn permitted(attribute: &[u8]) -> Option<u64> {
    let attribute: &[u8; LENGTH] = attribute.try_into().ok()?;
    let (numbers, _) = attribute.as_chunks::<4>();
    let &[version, low, inherited_low, high, inherited_high] =
        &*numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect::<Vec<_>>()
    else {
        return None;
    };
    let is_known = version & !1 == VERSION_2_EFFECTIVE & !1 && inherited_low | inherited_high == 0;
    is_known.then_some(u64::from(high) << 32 | u64::from(low))
}

/// The attribute that permits some capabilities.
fn attribute(permitted: u64) -> Vec<u8> {
    let [low, high] = [permitted & u64::from(u32::MAX), permitted >> 32];
    [u64::from(VERSION_2_EFFECTIVE), low, 0, high, 0]
        .into_iter()
        .flat_map(|number| u32::try_from(number).unwrap_or_default().to_le_bytes())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_those_of_setcap() {
        // `setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep FILE; getfattr -n security.capability -e hex FILE`
        let bytes = [1, 0, 0, 2, 0, 0, 8, 0, 0, 0, 0, 0, 0xC0, 0, 0, 0, 0, 0, 0, 0];
        let all = CAPABILITIES.iter().fold(0, |all, (_, bit, _)| all | 1u64 << bit);
        assert_eq!(attribute(all), bytes);
        assert_eq!(permitted(&bytes), Some(all));
        for wrong in [&bytes[..19], &[&bytes[..], &[0; 4]].concat(), &[0; 20], &[]] {
            assert_eq!(permitted(wrong), None, "{wrong:?}");
        }
        let mut inherits = bytes;
        inherits[8] = 1;
        assert_eq!(permitted(&inherits), None);
    }
}
